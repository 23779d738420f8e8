//! The dynamic section of an image, and the tables that it refers to.

use std::collections::HashMap;
use std::ops::Range;

use goblin::container::{Container, Ctx, Endian};
use goblin::elf::dynamic::{
    DT_BIND_NOW, DT_FLAGS, DT_FLAGS_1, DT_GNU_HASH, DT_HASH, DT_INIT, DT_INIT_ARRAY, DT_INIT_ARRAYSZ,
    DT_JMPREL, DT_NEEDED, DT_PLTGOT, DT_PLTREL, DT_PLTRELSZ, DT_PREINIT_ARRAY, DT_PREINIT_ARRAYSZ, DT_REL,
    DT_RELA, DT_RELASZ, DT_RPATH, DT_RUNPATH, DT_SONAME, DT_STRSZ, DT_STRTAB, DT_SYMBOLIC, DT_SYMTAB,
    DT_VERSYM, Dynamic as Entries,
};
use goblin::elf::program_header::ProgramHeader;
use goblin::elf::reloc::Reloc;
use goblin::elf::{RelocSection, Sym, Symtab};

use crate::cpu::Cpu;
use crate::image::{Image, LoadError, Segment, malformed};

// From <elf.h>; goblin does not have them.
const DT_RELRSZ: u64 = 35;
const DT_RELR: u64 = 36;
const DF_SYMBOLIC: u64 = 2;
const DF_BIND_NOW: u64 = 8;
const DF_1_NOW: u64 = 1;

/// The limit for all names of a dynamic section together, in bytes: any number of entries may
/// name the same string.
const NAMES_LIMIT: usize = 1 << 18;

/// What an image requires of a dynamic linker.
#[derive(Clone, Debug, Default)]
pub struct Dynamic {
    /// Names of the libraries that it needs, in order (`DT_NEEDED`).
    pub needed: Vec<String>,
    /// Its own name (`DT_SONAME`).
    pub soname: Option<String>,
    /// Folders to look for libraries in (`DT_RUNPATH`), separated by colons.
    pub runpath: Option<String>,
    /// Folders to look for libraries in, in the older form (`DT_RPATH`).
    pub rpath: Option<String>,
    entries: Vec<(u64, u64)>,
}

/// The tables of an image that is linked.
#[derive(Debug)]
pub(crate) struct Tables<'a> {
    pub(crate) symbols: Vec<Sym>,
    strings: &'a [u8],
    /// Symbols that others may refer to, by name.
    pub(crate) exported: HashMap<&'a [u8], usize>,
    /// Words that the load bias is added to.
    pub(crate) relative: Vec<u64>,
    pub(crate) relocations: Vec<Reloc>,
    pub(crate) plt_relocations: Vec<Reloc>,
}

impl Dynamic {
    /// Reads the dynamic section of an executable or library, if it has one.
    ///
    /// # Errors
    /// As for [`Image::parse`].
    pub fn read(bytes: &[u8]) -> Result<Option<Self>, LoadError> {
        Image::parse_headers(bytes).map(|image| image.dynamic)
    }

    /// Reads the section's entries, with their names.
    pub(crate) fn parse(
        bytes: &[u8],
        headers: &[ProgramHeader],
        segments: &[Segment],
        bias: u64,
        cpu: &Cpu,
    ) -> Result<Option<Self>, LoadError> {
        let parsed = Entries::parse(bytes, headers, context(cpu));
        let Some(found) = parsed.map_err(|error| malformed(format!("the dynamic section: {error}")))? else {
            return Ok(None);
        };
        let mut dynamic = Self {
            entries: found.dyns.iter().map(|entry| (entry.d_tag, entry.d_val)).collect(),
            ..Self::default()
        };
        let wants_names = |tag: &u64| matches!(*tag, DT_NEEDED | DT_SONAME | DT_RUNPATH | DT_RPATH);
        if !dynamic.entries.iter().any(|(tag, _)| wants_names(tag)) {
            return Ok(Some(dynamic));
        }
        let strings = dynamic.strings(bytes, segments, bias)?;
        let mut left = NAMES_LIMIT;
        for &(tag, value) in &dynamic.entries {
            if !wants_names(&tag) {
                continue;
            }
            let name = string(strings, value).ok_or_else(|| {
                malformed(format!(
                    "a name of the dynamic section, at {value:#x}, lies outside the string table"
                ))
            })?;
            left = left.checked_sub(name.len() + 1).ok_or_else(|| {
                malformed(format!("the names of the dynamic section have more than {NAMES_LIMIT} bytes"))
            })?;
            let name = String::from_utf8_lossy(name).into_owned();
            match tag {
                DT_NEEDED => dynamic.needed.push(name),
                DT_SONAME => dynamic.soname = Some(name),
                DT_RUNPATH => dynamic.runpath = Some(name),
                _ => dynamic.rpath = Some(name),
            }
        }
        Ok(Some(dynamic))
    }

    /// Returns the value of a tag; the last one counts.
    pub(crate) fn get(&self, tag: u64) -> Option<u64> {
        self.entries.iter().rev().find(|(found, _)| *found == tag).map(|(_, value)| *value)
    }

    /// Returns whether calls are bound before the program starts.
    pub(crate) fn binds_now(&self) -> bool {
        let has = |tag, bit| self.get(tag).is_some_and(|flags| flags & bit != 0);
        self.get(DT_BIND_NOW).is_some() || has(DT_FLAGS, DF_BIND_NOW) || has(DT_FLAGS_1, DF_1_NOW)
    }

    /// Returns whether the image looks its symbols up in itself first.
    pub(crate) fn is_symbolic(&self) -> bool {
        self.get(DT_SYMBOLIC).is_some() || self.get(DT_FLAGS).is_some_and(|flags| flags & DF_SYMBOLIC != 0)
    }

    /// Returns the global offset table of the PLT, without load bias.
    pub(crate) fn plt_got(&self) -> Option<u64> {
        self.get(DT_PLTGOT)
    }

    /// Returns the function that initialises the image, and the table of further ones as
    /// address and length in bytes, all without load bias.
    pub(crate) fn initialisers(&self) -> (Option<u64>, Option<(u64, u64)>) {
        let array = self.get(DT_INIT_ARRAY).zip(self.get(DT_INIT_ARRAYSZ));
        (self.get(DT_INIT).filter(|init| *init != 0), array)
    }

    /// Returns the table of functions that run before any initialiser.
    pub(crate) fn preinitialisers(&self) -> Option<(u64, u64)> {
        self.get(DT_PREINIT_ARRAY).zip(self.get(DT_PREINIT_ARRAYSZ))
    }

    fn strings<'a>(&self, bytes: &'a [u8], segments: &[Segment], bias: u64) -> Result<&'a [u8], LoadError> {
        let (Some(address), Some(len)) = (self.get(DT_STRTAB), self.get(DT_STRSZ)) else {
            return Err(malformed("the dynamic section has names, but no string table"));
        };
        let range = file_range(segments, bias, address, len)
            .ok_or_else(|| malformed(format!("the string table at {address:#x} lies outside the file")))?;
        Ok(bytes.get(range).unwrap_or_default())
    }
}

impl<'a> Tables<'a> {
    /// Reads symbols and relocations.
    pub(crate) fn read(image: &Image<'a>) -> Result<Self, LoadError> {
        let mut tables = Self {
            symbols: Vec::new(),
            strings: &[],
            exported: HashMap::new(),
            relative: Vec::new(),
            relocations: Vec::new(),
            plt_relocations: Vec::new(),
        };
        let Some(dynamic) = &image.dynamic else { return Ok(tables) };
        if dynamic.get(DT_REL).is_some() || dynamic.get(DT_PLTREL).is_some_and(|form| form != DT_RELA) {
            return Err(malformed("there are relocations without addends, which no ABI here has"));
        }
        let relocations = |table, size| {
            let (Some(address), Some(len)) = (dynamic.get(table), dynamic.get(size)) else {
                return Ok(Vec::new());
            };
            let range = image.table(address, len, "relocation table")?;
            RelocSection::parse(image.bytes, range.start, range.len(), true, context(image.cpu))
                .map(|table| table.to_vec())
                .map_err(|error| malformed(format!("the relocation table at {address:#x}: {error}")))
        };
        tables.relocations = relocations(DT_RELA, DT_RELASZ)?;
        tables.plt_relocations = relocations(DT_JMPREL, DT_PLTRELSZ)?;
        if let Some(address) = dynamic.get(DT_SYMTAB) {
            const SYMBOL: u64 = 24;
            tables.strings = dynamic.strings(image.bytes, &image.segments, image.bias)?;
            let hashed = hashed_symbols(image, dynamic)?;
            // Symbols that are only referred to may not be in any hash table.
            let all = tables.relocations.iter().chain(&tables.plt_relocations);
            let referred = all.map(|relocation| relocation.r_sym as u64 + 1).max().unwrap_or(0);
            let len = hashed.max(referred).saturating_mul(SYMBOL);
            let range = image.table(address, len, "symbol table")?;
            let parsed = Symtab::parse(image.bytes, range.start, range.len() / 24, context(image.cpu));
            tables.symbols =
                parsed.map_err(|error| malformed(format!("the symbol table: {error}")))?.to_vec();
            let versions = match dynamic.get(DT_VERSYM) {
                None => None,
                Some(address) => {
                    Some(&image.bytes[image.table(address, hashed * 2, "table of symbol versions")?])
                }
            };
            let hashed = usize::try_from(hashed).unwrap_or(usize::MAX);
            tables.export(hashed, versions, image.cpu.abi.is_big_endian())?;
        }
        if let (Some(address), Some(len)) = (dynamic.get(DT_RELR), dynamic.get(DT_RELRSZ)) {
            let range = image.table(address, len, "table of relative relocations")?;
            // Each word is in the file.
            tables.relative = relative_words(image.words(range), image.bytes.len() / 8).ok_or_else(|| {
                malformed(format!(
                    "the table of relative relocations at {address:#x} has more words than the file"
                ))
            })?;
        }
        Ok(tables)
    }

    /// Returns the name of a symbol.
    pub(crate) fn name(&self, symbol: &Sym) -> Result<&'a [u8], LoadError> {
        string(self.strings, symbol.st_name as u64).ok_or_else(|| {
            malformed(format!(
                "the name of a symbol, at {:#x}, lies outside the string table",
                symbol.st_name
            ))
        })
    }

    /// Collects the symbols that others may refer to. Of several versions of a symbol the
    /// default one counts.
    fn export(&mut self, count: usize, versions: Option<&[u8]>, big_endian: bool) -> Result<(), LoadError> {
        use goblin::elf::section_header::SHN_UNDEF;
        use goblin::elf::sym::{STB_GLOBAL, STB_GNU_UNIQUE, STB_WEAK, STV_HIDDEN, STV_INTERNAL};
        const VERSION_LOCAL: u16 = 0;
        const VERSION_HIDDEN: u16 = 0x8000;
        let version = |index: usize| {
            let (pairs, _) = versions?.as_chunks::<2>();
            let pair = *pairs.get(index)?;
            Some(if big_endian { u16::from_be_bytes(pair) } else { u16::from_le_bytes(pair) })
        };
        for (index, symbol) in self.symbols.iter().enumerate().take(count) {
            let is_global = matches!(symbol.st_bind(), STB_GLOBAL | STB_WEAK | STB_GNU_UNIQUE);
            let is_hidden = matches!(symbol.st_visibility(), STV_HIDDEN | STV_INTERNAL);
            // A function that only the executable refers to may still have its address there:
            // that of its entry in the table.
            let has_address = symbol.st_shndx != SHN_UNDEF as usize || symbol.st_value != 0;
            let version = version(index);
            if !is_global || is_hidden || !has_address || version == Some(VERSION_LOCAL) {
                continue;
            }
            let name = self.name(symbol)?;
            if version.is_some_and(|version| version & VERSION_HIDDEN != 0) {
                self.exported.entry(name).or_insert(index);
            } else {
                self.exported.insert(name, index);
            }
        }
        Ok(())
    }
}

pub(crate) fn context(cpu: &Cpu) -> Ctx {
    Ctx::new(Container::Big, if cpu.abi.is_big_endian() { Endian::Big } else { Endian::Little })
}

fn string(strings: &[u8], offset: u64) -> Option<&[u8]> {
    // Every symbol may name the same long string: its length bounds the work.
    const LONGEST: usize = 1 << 14;
    let rest = strings.get(usize::try_from(offset).ok()?..)?;
    rest.get(..rest.iter().take(LONGEST).position(|byte| *byte == 0)?)
}

/// Returns the offset in the file of bytes at an address without load bias, if one segment has
/// them all from the file.
pub(crate) fn file_range(segments: &[Segment], bias: u64, address: u64, len: u64) -> Option<Range<usize>> {
    let address = address.checked_add(bias)?;
    segments.iter().find_map(|segment| {
        let offset = address.checked_sub(segment.address)?;
        let start = segment.file.start.checked_add(usize::try_from(offset).ok()?)?;
        let end = start.checked_add(usize::try_from(len).ok()?)?;
        (start <= end && end <= segment.file.end).then_some(start..end)
    })
}

/// Returns the number of symbols in the hash tables.
fn hashed_symbols(image: &Image<'_>, dynamic: &Dynamic) -> Result<u64, LoadError> {
    if let Some(address) = dynamic.get(DT_GNU_HASH) {
        return gnu_hash_symbols(image, address);
    }
    let Some(address) = dynamic.get(DT_HASH) else { return Ok(0) };
    let word = image.cpu.linking.hash_word;
    let range = image.table(address, 2 * word as u64, "hash table")?;
    let chains = &image.bytes[range.start + word..range.end];
    Ok(number(chains, image.cpu.abi.is_big_endian()))
}

/// The end of the last chain is the end of the symbols.
fn gnu_hash_symbols(image: &Image<'_>, address: u64) -> Result<u64, LoadError> {
    const HEADER: u64 = 16;
    let word = |address: u64| {
        let range = image.table(address, 4, "hash table")?;
        Ok(number(&image.bytes[range], image.cpu.abi.is_big_endian()))
    };
    let (buckets, first, bloom) =
        (word(address)?, word(address.wrapping_add(4))?, word(address.wrapping_add(8))?);
    let table = address.wrapping_add(HEADER + bloom * 8);
    let range = image.table(table, buckets * 4, "hash table")?;
    let last =
        image.bytes[range].chunks_exact(4).map(|word| number(word, image.cpu.abi.is_big_endian())).max();
    let Some(mut last) = last.filter(|last| *last >= first && *last > 0) else { return Ok(0) };
    let chains = table.wrapping_add(buckets * 4);
    // Each iteration reads another word of the file.
    while word(chains.wrapping_add((last - first) * 4))? & 1 == 0 {
        last += 1;
    }
    Ok(last + 1)
}

fn number(bytes: &[u8], big_endian: bool) -> u64 {
    let join = |value: u64, byte: &u8| value << 8 | u64::from(*byte);
    if big_endian { bytes.iter().fold(0, join) } else { bytes.iter().rev().fold(0, join) }
}

/// Unpacks DT_RELR: an even word is an address, an odd one a bitmap of the next 63 words.
/// Returns `None` if there are more than `most`.
fn relative_words(packed: impl Iterator<Item = u64>, most: usize) -> Option<Vec<u64>> {
    let mut words = Vec::new();
    let mut next = 0_u64;
    for entry in packed {
        if words.len() > most {
            return None;
        }
        if entry & 1 == 0 {
            words.push(entry);
            next = entry.wrapping_add(8);
        } else {
            words.extend(
                (0..63).filter(|bit| entry >> (bit + 1) & 1 == 1).map(|bit| next.wrapping_add(bit * 8)),
            );
            next = next.wrapping_add(63 * 8);
        }
    }
    (words.len() <= most).then_some(words)
}

impl Image<'_> {
    /// Returns the place of a table in the file, or an error that names it.
    fn table(&self, address: u64, len: u64, what: &str) -> Result<Range<usize>, LoadError> {
        // One of no bytes is nowhere: mold gives it the address 0.
        if len == 0 {
            return Ok(0..0);
        }
        file_range(&self.segments, self.bias, address, len).ok_or_else(|| {
            malformed(format!("the {what} at {address:#x} ({len:#x} bytes) lies outside the file"))
        })
    }

    fn words(&self, range: Range<usize>) -> impl Iterator<Item = u64> {
        let big_endian = self.cpu.abi.is_big_endian();
        self.bytes[range].chunks_exact(8).map(move |word| number(word, big_endian))
    }

    /// Returns the 8 bytes that the file has for an address without load bias.
    pub(crate) fn initial_word(&self, address: u64) -> Option<u64> {
        self.words(file_range(&self.segments, self.bias, address, 8)?).next()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_end_within_their_table_and_within_the_limit() {
        assert_eq!(string(b"leaf\0", 1), Some(&b"eaf"[..]));
        assert_eq!(string(b"leaf\0", 4), Some(&b""[..]));
        assert_eq!(string(b"leaf", 0), None);
        assert_eq!(string(b"leaf\0", 5), None);
        assert_eq!(string(b"leaf\0", u64::MAX), None);
        let long = [vec![b'a'; 1 << 15], vec![0]].concat();
        assert_eq!(string(&long, 0), None, "too long to be looked at for every symbol");
        assert_eq!(string(&long, (1 << 15) - 3).map(<[u8]>::len), Some(3));
    }

    #[test]
    fn packed_relative_relocations_are_addresses_and_bitmaps_after_them() {
        let packed = [0x1000, 0b1011, 1 | 1 << 63, 0x3000];
        let words = [0x1000, 0x1008, 0x1018, 0x1008 + 63 * 8 + 62 * 8, 0x3000];
        assert_eq!(relative_words(packed.into_iter(), 5), Some(words.to_vec()));
        assert_eq!(relative_words(packed.into_iter(), 4), None);
        assert_eq!(relative_words(std::iter::repeat(u64::MAX), 1000), None);
    }
}
