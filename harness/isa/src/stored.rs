//! Where an instruction stores.

use sframe_engine::DwarfRegister;

use super::operation::Extension;

/// The bytes to which an instruction stores: consecutive words, from an address on that its registers say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stored {
    /// The register that is added as it is.
    pub base: Option<DwarfRegister>,
    /// The register that is extended and shifted.
    pub index: Option<DwarfRegister>,
    /// How `index` is extended.
    pub extension: Extension,
    /// The number of bits that it is then shifted by.
    pub shift: u8,
    /// The constant that is added, in bytes. Without registers, it is the address.
    pub displacement: i64,
    /// The size of each word, in bytes: at most 8.
    pub size: u8,
    /// How many words there are.
    pub words: u16,
}

impl Stored {
    /// `size` bytes at a register plus a constant.
    pub(super) const fn at(base: Option<DwarfRegister>, displacement: i64, size: u8) -> Self {
        let (size, words) = if size > 8 { (8, (size / 8) as u16) } else { (size, 1) };
        Self { base, index: None, extension: Extension::NONE, shift: 0, displacement, size, words }
    }

    /// This many bytes at a register plus a constant, one by one.
    #[must_use]
    pub const fn bytes(base: Option<DwarfRegister>, displacement: i64, len: u16) -> Self {
        Self { words: len, ..Self::at(base, displacement, 1) }
    }

    /// How many bytes there are.
    #[must_use]
    pub fn bytes_in_all(&self) -> u64 {
        u64::from(self.size) * u64::from(self.words)
    }

    /// Returns the address of the first word, given the values of the registers before the instruction.
    pub fn address(&self, register: impl Fn(DwarfRegister) -> Option<u64>) -> Option<u64> {
        let value = |of: Option<DwarfRegister>| of.map_or(Some(0), &register);
        Some(self.address_of(value(self.base)?, value(self.index)?))
    }

    /// Returns the same, given the values of its registers; 0 for one that there isn't.
    #[must_use]
    pub fn address_of(&self, base: u64, index: u64) -> u64 {
        let index = self.extension.apply(index) << self.shift;
        base.wrapping_add(index).wrapping_add_signed(self.displacement)
    }
}
