//! Relocations of symbols that are not there.

use object::elf::ET_REL;
use object::read::elf::FileHeader as _;
use object::{Object as _, ObjectSection as _, RelocationTarget};

use crate::bounded::File;

/// A relocation names a symbol that is not there: the file is malformed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a relocation of {section} at offset {offset:#x} names symbol {symbol}, and the file has {symbols}")]
pub struct UnknownSymbol {
    /// The section.
    pub section: String,
    /// The offset in it.
    pub offset: u64,
    /// The index of the symbol.
    pub symbol: usize,
    /// The number of symbols.
    pub symbols: usize,
}

impl UnknownSymbol {
    /// Finds the first one of a relocatable file.
    pub fn check(elf: &File<'_>) -> Result<(), Self> {
        if elf.elf_header().e_type(elf.endian()) != ET_REL {
            return Ok(());
        }
        let symbols = elf.elf_symbol_table().len();
        for section in elf.sections() {
            let unknown = section.relocations().find_map(|(offset, relocation)| match relocation.target() {
                RelocationTarget::Symbol(symbol) if symbol.0 >= symbols => Some((offset, symbol.0)),
                _ => None,
            });
            if let Some((offset, symbol)) = unknown {
                let section = section.name().unwrap_or_default().to_owned();
                return Err(Self { section, offset, symbol, symbols });
            }
        }
        Ok(())
    }
}
