//! Relocations: what each one stores.

use goblin::elf::reloc::{Reloc, r_to_str};
use goblin::elf::section_header::SHN_UNDEF;

use super::symbols::{Definition, Reference, Scope};
use super::{Copy, Indirect, Plan};
use crate::cpu::Cpu;
use crate::image::dynamic::Tables;
use crate::image::{Image, LoadError, malformed};

/// Records the results of the relocations of an image.
pub(crate) fn image(scope: &Scope<'_, '_>, index: usize, plan: &mut Plan) -> Result<(), LoadError> {
    let (image, tables) = (&scope.images[index].1, &scope.tables[index]);
    let Some(dynamic) = &image.dynamic else { return Ok(()) };
    for &offset in &tables.relative {
        let word = image.initial_word(offset).ok_or_else(|| outside(offset))?;
        plan.words.push((image.loaded(offset), image.loaded(word)));
    }
    let relocate = Relocate { scope, index, image, sign: false };
    for relocation in &tables.relocations {
        relocate.one(relocation, plan)?;
    }
    if tables.plt_relocations.is_empty() {
        return Ok(());
    }
    let signing = image.cpu.linking.signing.as_ref();
    let sign = signing.is_some_and(|signing| dynamic.get(signing.tag).is_some());
    let relocate = Relocate { sign, ..relocate };
    if dynamic.binds_now() {
        for relocation in &tables.plt_relocations {
            relocate.one(relocation, plan)?;
        }
        return Ok(());
    }
    for relocation in &tables.plt_relocations {
        relocate.lazily(relocation, plan)?;
    }
    if plan.slots.are_lazy(index) {
        let table = dynamic.plt_got().ok_or_else(|| {
            malformed("calls are bound lazily, but the address of the global offset table is missing")
        })?;
        // Its second and third word belong to the dynamic linker.
        if !image.holds(table, 24) {
            return Err(outside(table));
        }
        let table = image.loaded(table);
        plan.words.push((table.wrapping_add(8), plan.places.token(index)));
        plan.words.push((table.wrapping_add(16), plan.places.resolver(sign)));
    }
    Ok(())
}

/// Returns the words that a dynamic linker would store into an image with nothing but the image itself:
/// the address of each, and its value.
///
/// # Errors
/// Its tables are malformed.
pub fn own_words(image: &Image<'_>) -> Result<Vec<(u64, u64)>, LoadError> {
    let tables = Tables::read(image)?;
    let types = &image.cpu.linking.relocations;
    let relative = tables.relative.iter().filter_map(|offset| Some((*offset, image.initial_word(*offset)?)));
    let mut words: Vec<(u64, u64)> = relative.collect();
    for relocation in tables.relocations.iter().chain(&tables.plt_relocations) {
        let (kind, offset) = (relocation.r_type, relocation.r_offset);
        let addend = relocation.r_addend.unwrap_or(0).cast_unsigned();
        let refers = kind == types.glob_dat || kind == types.absolute || kind == types.jump_slot;
        let symbol = tables.symbols.get(relocation.r_sym);
        let defined = symbol.filter(|symbol| symbol.st_shndx != SHN_UNDEF as usize && relocation.r_sym != 0);
        let value = if kind == types.relative {
            addend
        } else if refers && let Some(symbol) = defined {
            symbol.st_value.wrapping_add(addend)
        } else if kind == types.jump_slot
            && let Some(back) = image.initial_word(offset)
        {
            // Back into the PLT.
            back
        } else {
            continue;
        };
        words.push((offset, value));
    }
    let is_inside = |(address, _): &(u64, u64)| image.holds(*address, 8);
    let loaded = |(address, value)| (image.loaded(address), image.loaded(value));
    Ok(words.into_iter().filter(is_inside).map(loaded).collect())
}

fn outside(address: u64) -> LoadError {
    malformed(format!("a relocation changes {address:#x}, which is outside the image"))
}

struct Relocate<'r, 's, 'a> {
    scope: &'r Scope<'s, 'a>,
    index: usize,
    image: &'r Image<'a>,
    /// Returns whether the slots of the PLT are signed.
    sign: bool,
}

impl Relocate<'_, '_, '_> {
    fn one(&self, relocation: &Reloc, plan: &mut Plan) -> Result<(), LoadError> {
        let types = &self.image.cpu.linking.relocations;
        let addend = relocation.r_addend.unwrap_or(0).cast_unsigned();
        let kind = relocation.r_type;
        if kind == 0 {
            return Ok(());
        }
        if kind == types.copy {
            return self.copy(relocation, plan);
        }
        let address = self.place(relocation, 8)?;
        if kind == types.relative {
            plan.words.push((address, self.image.loaded(addend)));
        } else if kind == types.irelative {
            let resolver = self.image.loaded(addend);
            plan.indirect.push(Indirect { address, resolver, sign: self.sign });
        } else if kind == types.glob_dat || kind == types.absolute || kind == types.jump_slot {
            let is_call = kind == types.jump_slot;
            let reference = if is_call { Reference::Call } else { Reference::Address };
            let value = match self.scope.resolve(self.index, relocation.r_sym, reference)? {
                Definition::Address(value, _) => value.wrapping_add(addend),
                Definition::Nothing => addend,
                Definition::Indirect(resolver) => {
                    plan.indirect.push(Indirect { address, resolver, sign: self.sign });
                    return Ok(());
                }
                Definition::Thread(..) => {
                    return Err(self.unknown(relocation, " of a variable of each thread"));
                }
            };
            if self.sign { plan.signed.push((address, value)) } else { plan.words.push((address, value)) }
        } else if kind == types.thread_offset {
            let (image, value) = match relocation.r_sym {
                0 => (self.index, 0),
                symbol => match self.scope.resolve(self.index, symbol, Reference::Address)? {
                    Definition::Thread(image, value) => (image, value),
                    Definition::Nothing => return Ok(()),
                    _ => return Err(self.unknown(relocation, " of no variable of a thread")),
                },
            };
            let Some(block) = plan.thread_storage.offsets.get(image).copied().flatten() else {
                return Err(malformed(
                    "a variable of each thread is defined where there is no thread storage",
                ));
            };
            plan.words.push((address, value.wrapping_add(addend).wrapping_add_signed(block)));
        } else {
            return Err(self.unknown(relocation, ""));
        }
        Ok(())
    }

    /// A slot of the PLT leads back into the table until the first call.
    /// The function is looked up now anyway, so that a missing one is reported before the
    /// program runs.
    fn lazily(&self, relocation: &Reloc, plan: &mut Plan) -> Result<(), LoadError> {
        if relocation.r_type != self.image.cpu.linking.relocations.jump_slot {
            // Other relocations are not for calls, but an ABI may keep them in the same table.
            plan.slots.skip(self.index);
            return self.one(relocation, plan);
        }
        let address = self.place(relocation, 8)?;
        let target = match self.scope.resolve(self.index, relocation.r_sym, Reference::Call)? {
            Definition::Address(target, _) => target.wrapping_add_signed(relocation.r_addend.unwrap_or(0)),
            Definition::Nothing => 0,
            // The program computes it itself; at the first call it would be too late to ask.
            Definition::Indirect(_) => {
                plan.slots.skip(self.index);
                return self.one(relocation, plan);
            }
            Definition::Thread(..) => return Err(self.unknown(relocation, " of a variable of each thread")),
        };
        let back =
            self.image.initial_word(relocation.r_offset).ok_or_else(|| outside(relocation.r_offset))?;
        let back = self.image.loaded(back);
        if self.sign {
            plan.signed.push((address, back))
        } else {
            plan.words.push((address, back))
        }
        plan.slots.add(self.index, address, target);
        Ok(())
    }

    fn copy(&self, relocation: &Reloc, plan: &mut Plan) -> Result<(), LoadError> {
        let own = self.scope.tables[self.index].symbols.get(relocation.r_sym).map_or(0, |own| own.st_size);
        match self.scope.resolve(self.index, relocation.r_sym, Reference::Copy)? {
            Definition::Address(from, size) => {
                let len = own.min(size);
                let to = self.place(relocation, len)?;
                plan.copies.push(Copy { from, to, len });
                Ok(())
            }
            Definition::Nothing => Ok(()),
            _ => Err(self.unknown(relocation, " of no variable")),
        }
    }

    /// Returns the loaded address that a relocation changes.
    fn place(&self, relocation: &Reloc, len: u64) -> Result<u64, LoadError> {
        let offset = relocation.r_offset;
        if self.image.holds(offset, len) {
            return Ok(self.image.loaded(offset));
        }
        Err(outside(offset))
    }

    fn unknown(&self, relocation: &Reloc, of_what: &str) -> LoadError {
        let name = &self.scope.images[self.index].0;
        LoadError::Relocation {
            image: if name.is_empty() { "the executable".to_owned() } else { name.clone() },
            address: relocation.r_offset,
            name: type_name(self.image.cpu, relocation.r_type) + of_what,
        }
    }
}

fn type_name(cpu: &Cpu, number: u32) -> String {
    let others = cpu.linking.relocations.others;
    let name = others.iter().find(|(known, _)| *known == number).map(|(_, name)| *name);
    let name = name.unwrap_or_else(|| r_to_str(number, cpu.elf_machine));
    match name.contains("UNKNOWN") {
        true => number.to_string(),
        false => format!("R_{} ({number})", name.trim_start_matches("R_")),
    }
}
