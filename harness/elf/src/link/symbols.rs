//! Where the symbols of an object are defined.

use object::Endianness;
use object::elf::{
    FileHeader64, SHN_ABS, SHN_COMMON, SHN_UNDEF, STB_LOCAL, STT_FUNC, STT_TLS, Sym64, SymbolSection,
};
use object::read::elf::{Sym, SymbolTable};

use crate::object_file::STUBS;
use crate::source::Source;

/// The number of bytes that stand for an undefined function.
pub(super) const STUB: usize = 16;
/// The symbol that stands for the GOT.
const GOT: &[u8] = b"_GLOBAL_OFFSET_TABLE_";

pub(super) type Table<'a> = SymbolTable<'a, FileHeader64<Endianness>, Source<'a>>;

/// Where a symbol is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Definition {
    /// At an address, wherever the sections are.
    Absolute(u64),
    /// At an offset in a section of the file.
    Section(usize, u64),
    /// At an offset in a made section.
    Made(Made, u64),
}

/// A section that is made for what the file does not contain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Made {
    /// Code that traps, with one stub for each undefined symbol.
    Undefined,
    /// Addresses of symbols.
    Got,
    /// Variables whose place linkers choose.
    Common,
}

impl Made {
    pub(super) const ALL: [Self; 3] = [Self::Undefined, Self::Got, Self::Common];

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Undefined => STUBS,
            Self::Got => ".got",
            Self::Common => ".common",
        }
    }
}

/// The symbols, by index.
#[derive(Debug, Default)]
pub(super) struct Symbols {
    pub(super) definitions: Vec<Definition>,
    /// The number of bytes of `.undefined`, and of `.common`, with its alignment.
    pub(super) undefined_len: u64,
    pub(super) common_len: u64,
    pub(super) common_alignment: u64,
    /// Whether one of them stands for the GOT.
    pub(super) names_got: bool,
}

impl Symbols {
    /// Reads them. Returns `None` if common variables do not fit in the address space.
    pub(super) fn read(table: &Table<'_>, endian: Endianness) -> Result<Option<Self>, object::Error> {
        let mut read = Self { common_alignment: 1, ..Self::default() };
        for (index, symbol) in table.enumerate() {
            let value = symbol.st_value(endian);
            let definition = match symbol.st_shndx(endian) {
                // The first one is none.
                SHN_UNDEF if index.0 == 0 => Definition::Absolute(0),
                SHN_UNDEF if table.symbol_name(endian, symbol) == Ok(GOT) => {
                    read.names_got = true;
                    Definition::Made(Made::Got, 0)
                }
                // Thread-local ones have an offset instead of an address.
                SHN_UNDEF if symbol.st_bind() == STB_LOCAL || symbol.st_type() == STT_TLS => {
                    Definition::Absolute(value)
                }
                SHN_UNDEF => {
                    let offset = read.undefined_len;
                    read.undefined_len += STUB as u64;
                    Definition::Made(Made::Undefined, offset)
                }
                SHN_ABS => Definition::Absolute(value),
                SHN_COMMON => {
                    let alignment = value.max(1);
                    let offset = read.common_len.checked_next_multiple_of(alignment);
                    let end = offset.and_then(|offset| offset.checked_add(symbol.st_size(endian)));
                    let (Some(offset), Some(end)) = (offset, end) else { return Ok(None) };
                    read.common_len = end;
                    read.common_alignment = read.common_alignment.max(alignment);
                    Definition::Made(Made::Common, offset)
                }
                _ => match table.symbol_section(endian, symbol, index)? {
                    Some(section) => Definition::Section(section.0, value),
                    None => Definition::Absolute(value),
                },
            };
            read.definitions.push(definition);
        }
        Ok(Some(read))
    }
}

/// Returns a symbol as it is in the linked file. `index` returns that of a made section.
pub(super) fn linked(
    symbol: &Sym64<Endianness>,
    endian: Endianness,
    definition: Definition,
    address: u64,
    index: impl Fn(Made) -> SymbolSection,
) -> Sym64<Endianness> {
    let mut linked = *symbol;
    linked.st_value.set(endian, address);
    if let Definition::Made(made, _) = definition {
        linked.st_shndx.set(endian, index(made));
        if made == Made::Undefined {
            linked.set_st_info(symbol.st_bind(), STT_FUNC);
            linked.st_size.set(endian, STUB as u64);
        }
    }
    linked
}
