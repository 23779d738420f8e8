//! Sets of registers.

use sframe_engine::DwarfRegister;

/// A set of registers, by their DWARF numbers below 64.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Registers(u64);

impl Registers {
    /// Every register.
    pub const ALL: Self = Self(u64::MAX);

    const fn bit(register: DwarfRegister) -> u64 {
        if register.0 < 64 { 1 << register.0 } else { 0 }
    }

    /// Adds a register. Larger numbers are ignored.
    pub const fn insert(&mut self, register: DwarfRegister) {
        self.0 |= Self::bit(register);
    }

    /// Removes a register.
    pub const fn remove(&mut self, register: DwarfRegister) {
        self.0 &= !Self::bit(register);
    }

    /// Whether a register is in the set.
    #[must_use]
    pub const fn contains(self, register: DwarfRegister) -> bool {
        self.0 & Self::bit(register) != 0
    }

    /// Whether it is empty.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Returns the registers that are in both sets.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// Returns the registers that are in either set.
    #[must_use]
    pub const fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Returns those that are not in another set.
    #[must_use]
    pub const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// Returns the register, if it is a single one.
    #[must_use]
    pub fn only(self) -> Option<DwarfRegister> {
        let mut registers = self.iter();
        registers.next().filter(|_| registers.next().is_none())
    }

    /// Returns the registers, sorted by number.
    pub fn iter(self) -> impl Iterator<Item = DwarfRegister> {
        let mut rest = self.0;
        std::iter::from_fn(move || {
            let lowest = DwarfRegister(rest.trailing_zeros());
            (rest != 0).then(|| rest &= rest - 1).map(|()| lowest)
        })
    }
}

impl Extend<DwarfRegister> for Registers {
    fn extend<T: IntoIterator<Item = DwarfRegister>>(&mut self, registers: T) {
        registers.into_iter().for_each(|register| self.insert(register));
    }
}

impl FromIterator<DwarfRegister> for Registers {
    fn from_iter<T: IntoIterator<Item = DwarfRegister>>(registers: T) -> Self {
        let mut set = Self::default();
        set.extend(registers);
        set
    }
}
