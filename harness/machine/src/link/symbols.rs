//! Resolution of symbols to definitions.

use goblin::elf::Sym;
use goblin::elf::section_header::{SHN_ABS, SHN_UNDEF};
use goblin::elf::sym::{STB_LOCAL, STB_WEAK, STT_GNU_IFUNC, STT_TLS, STV_DEFAULT};

use crate::image::dynamic::Tables;
use crate::image::{Image, LoadError, malformed};

/// The kinds of reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reference {
    /// To a function that is called: not its entry in the PLT of another
    /// image.
    Call,
    /// To an address.
    Address,
    /// To a variable that the executable takes over, in the image that defines it.
    Copy,
}

/// The definition of a symbol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Definition {
    /// An address, and the size of what is there.
    Address(u64, u64),
    /// The address of a function that returns the address.
    Indirect(u64),
    /// A per-thread variable: its image, and its offset there.
    Thread(usize, u64),
    /// Nothing: a weak symbol that no image defines.
    Nothing,
}

/// The images in the order in which symbols are looked up: the executable,
/// then its libraries breadth first.
pub(crate) struct Scope<'s, 'a> {
    pub(crate) images: &'s [(String, Image<'a>)],
    pub(crate) tables: &'s [Tables<'a>],
}

impl Scope<'_, '_> {
    /// Returns what symbol `index` of an image refers to.
    pub(crate) fn resolve(
        &self,
        image: usize,
        index: usize,
        reference: Reference,
    ) -> Result<Definition, LoadError> {
        let tables = &self.tables[image];
        let symbol = tables.symbols.get(index).ok_or_else(|| {
            malformed(format!(
                "a relocation refers to symbol {index}; there are {} in the symbol table",
                tables.symbols.len()
            ))
        })?;
        let is_defined = symbol.st_shndx != SHN_UNDEF as usize;
        // These can't be preempted.
        if symbol.st_bind() == STB_LOCAL || (is_defined && symbol.st_visibility() != STV_DEFAULT) {
            return Ok(if index == 0 { Definition::Address(0, 0) } else { self.definition(image, symbol) });
        }
        let name = tables.name(symbol)?;
        let is_symbolic = self.images[image].1.dynamic.as_ref().is_some_and(|dynamic| dynamic.is_symbolic());
        let first = is_symbolic.then_some(image);
        for candidate in first.into_iter().chain(0..self.images.len()) {
            if candidate == 0 && reference == Reference::Copy {
                continue;
            }
            let tables = &self.tables[candidate];
            let Some(found) = tables.exported.get(name).and_then(|found| tables.symbols.get(*found)) else {
                continue;
            };
            if found.st_shndx == SHN_UNDEF as usize && reference == Reference::Call {
                continue;
            }
            return Ok(self.definition(candidate, found));
        }
        if symbol.st_bind() == STB_WEAK {
            return Ok(Definition::Nothing);
        }
        let needed_by = &self.images[image].0;
        Err(LoadError::MissingSymbol {
            name: String::from_utf8_lossy(name).into_owned(),
            needed_by: if needed_by.is_empty() { "the executable".to_owned() } else { needed_by.clone() },
        })
    }

    fn definition(&self, image: usize, symbol: &Sym) -> Definition {
        let is_absolute = symbol.st_shndx == SHN_ABS as usize;
        let address =
            if is_absolute { symbol.st_value } else { self.images[image].1.loaded(symbol.st_value) };
        match symbol.st_type() {
            STT_TLS => Definition::Thread(image, symbol.st_value),
            STT_GNU_IFUNC if symbol.st_shndx != SHN_UNDEF as usize => Definition::Indirect(address),
            _ => Definition::Address(address, symbol.st_size),
        }
    }
}
