//! What the instructions of a function do to its frame: the distances of SP and
//! FP from the CFA, and where RA and the caller's FP are saved.
//!
//! It is derived from the code alone, without unwind data and without running
//! it. What cannot be determined is unknown.

use std::fmt;

use sframe_engine::{Abi, Base, DwarfRegister, Recovery, RecoveryRule, RowRules};

use super::{Instruction, Operation, Place, Value};

/// Where a value of the caller is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SavedLocation {
    /// In its own register.
    InRegister,
    /// On the stack, at an offset in bytes from the CFA.
    OnStack(i64),
    /// Unknown.
    Unknown,
}

/// The frame before an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameLayout {
    /// CFA - SP.
    pub sp: Option<i64>,
    /// CFA - FP.
    pub fp: Option<i64>,
    /// Where the return address is.
    pub ra: SavedLocation,
    /// Where the caller's FP is.
    pub caller_fp: SavedLocation,
}

/// What a layout gives of a frame and its caller, each if it is known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FrameValues {
    /// The CFA.
    pub cfa: Option<u64>,
    /// The return address, as it is found: it may be signed.
    pub ra: Option<u64>,
    /// The caller's FP.
    pub fp: Option<u64>,
}

impl FrameLayout {
    /// Returns the values that the registers and memory give. `link` is what the return address register holds.
    #[must_use]
    pub fn values(
        &self,
        sp: u64,
        fp: Option<u64>,
        link: Option<u64>,
        memory: &dyn Fn(u64) -> Option<u64>,
    ) -> FrameValues {
        let from = |base: Option<u64>, offset: Option<i64>| Some(base?.wrapping_add_signed(offset?));
        let cfa = from(Some(sp), self.sp).or_else(|| from(fp, self.fp));
        let value = |saved, register| match saved {
            SavedLocation::InRegister => register,
            SavedLocation::OnStack(offset) => memory(cfa?.wrapping_add_signed(offset)),
            SavedLocation::Unknown => None,
        };
        FrameValues { cfa, ra: value(self.ra, link), fp: value(self.caller_fp, fp) }
    }

    /// The frame before a function's first instruction.
    #[must_use]
    pub fn at_entry(abi: Abi) -> Self {
        let on_stack = |offset: i8| SavedLocation::OnStack(offset.into());
        let ra = abi.fixed_ra_offset().map_or(SavedLocation::InRegister, on_stack);
        Self { sp: Some(abi.cfa_offset_at_entry()), fp: None, ra, caller_fp: SavedLocation::InRegister }
    }

    /// The distance of a register below the CFA.
    fn distance(self, abi: Abi, register: DwarfRegister) -> Option<i64> {
        if register == abi.sp() {
            self.sp
        } else if register == abi.fp() {
            self.fp
        } else {
            None
        }
    }

    /// The offset of a place from the CFA.
    pub(super) fn offset_from_cfa(self, abi: Abi, place: &Place) -> Option<i64> {
        Some(place.offset - self.distance(abi, place.base)?)
    }

    /// Returns where an instruction stores a word, as an offset from the CFA. `None` if it stores none, or the place is
    /// unknown.
    #[must_use]
    pub fn stored(self, abi: Abi, instruction: &Instruction) -> Option<i64> {
        match &instruction.operation {
            Operation::Store { place: Some(place), size: 8, .. } => self.offset_from_cfa(abi, place),
            _ => None,
        }
    }

    /// Returns the register that an instruction loads the return address into, from where it is saved.
    pub(super) fn loads_ra(self, abi: Abi, instruction: &Instruction) -> Option<DwarfRegister> {
        let Operation::Load { values, place: Some(place), size: 8 } = &instruction.operation else {
            return None;
        };
        let at = self.offset_from_cfa(abi, place)?;
        let loaded = (at..).step_by(8).zip(values.iter());
        loaded.into_iter().find_map(|(at, value)| match value {
            Value::Register(register) if self.ra == SavedLocation::OnStack(at) => Some(*register),
            _ => None,
        })
    }

    /// Sets SP or FP, to a distance below the CFA if that is known.
    fn set(&mut self, abi: Abi, register: DwarfRegister, distance: Option<i64>) {
        if register == abi.sp() {
            self.sp = distance;
        } else if register == abi.fp() {
            self.fp = distance;
            if self.caller_fp == SavedLocation::InRegister {
                self.caller_fp = SavedLocation::Unknown;
            }
        }
    }

    /// Stores a value at an offset from the CFA.
    fn store(&mut self, abi: Abi, value: Value, offset: Option<i64>) {
        let (Value::Register(register), Some(offset)) = (value, offset) else { return };
        let saved = if register == abi.fp() {
            &mut self.caller_fp
        } else if abi.ra() == Some(register) {
            &mut self.ra
        } else {
            return;
        };
        if *saved == SavedLocation::InRegister {
            *saved = SavedLocation::OnStack(offset);
        }
    }

    /// Loads a register from an offset from the CFA.
    fn load(&mut self, abi: Abi, register: DwarfRegister, offset: Option<i64>) {
        let loaded = |saved: SavedLocation| match (saved, offset) {
            (SavedLocation::OnStack(at), Some(offset)) if at == offset => SavedLocation::InRegister,
            (SavedLocation::InRegister, _) => SavedLocation::Unknown,
            (saved, _) => saved,
        };
        if register == abi.fp() {
            self.fp = None;
            self.caller_fp = loaded(self.caller_fp);
        } else if abi.ra() == Some(register) {
            self.ra = loaded(self.ra);
        }
    }

    /// What two paths to an instruction have in common.
    #[must_use]
    pub fn join(self, other: Self) -> Self {
        let either =
            |one: SavedLocation, two: SavedLocation| if one == two { one } else { SavedLocation::Unknown };
        Self {
            sp: self.sp.filter(|_| self.sp == other.sp),
            fp: self.fp.filter(|_| self.fp == other.fp),
            ra: either(self.ra, other.ra),
            caller_fp: either(self.caller_fp, other.caller_fp),
        }
    }

    /// The frame after an instruction. After a call it is that of a callee that leaves SP as it was.
    #[must_use]
    pub fn after(self, abi: Abi, instruction: &Instruction) -> Self {
        let before = self;
        let (sp, fp) = (abi.sp(), abi.fp());
        let mut after = before;
        // Any instruction changes the registers that it writes.
        let mut defs = instruction.defs;
        match &instruction.operation {
            Operation::Add { to, from, offset } if *to == sp || *to == fp => {
                let cfa = before.distance(abi, *from).map(|distance| distance - offset);
                after.set(abi, *to, cfa);
                defs.remove(*to);
            }
            Operation::Store { values, place, size: 8 } => {
                let place = place.and_then(|place| before.offset_from_cfa(abi, &place));
                for (value, at) in values.iter().zip((0..).step_by(8)) {
                    after.store(abi, *value, place.map(|place| place + at));
                }
            }
            Operation::Load { values, place, size: 8 } => {
                let place = place.and_then(|place| before.offset_from_cfa(abi, &place));
                for (value, at) in values.iter().zip((0..).step_by(8)) {
                    let Value::Register(register) = *value else { continue };
                    after.load(abi, register, place.map(|place| place + at));
                    defs.remove(register);
                    // One of several: as when all were saved, at the entry.
                    if register == sp {
                        after.sp = Self::at_entry(abi).sp.filter(|_| values.len() > 1);
                    }
                }
            }
            Operation::Leave => {
                after.load(abi, fp, before.fp.map(|fp| -fp));
                after.sp = before.fp.map(|fp| fp - 8);
                defs.remove(fp);
                defs.remove(sp);
            }
            _ => {}
        }
        if let Operation::Store { place: Some(place), .. } | Operation::Load { place: Some(place), .. } =
            instruction.operation
            && place.writeback != 0
            && defs.contains(place.base)
        {
            after.set(
                abi,
                place.base,
                before.distance(abi, place.base).map(|distance| distance - place.writeback),
            );
            defs.remove(place.base);
        }
        for register in [sp, fp].into_iter().filter(|register| defs.contains(*register)) {
            after.set(abi, register, None);
        }
        // A call that pushes its return address overwrites what has been popped from there.
        let bytes = abi.pushed_by_calls().cast_signed();
        if let Some(sp) = before.sp.filter(|_| instruction.is_call() && bytes > 0) {
            let pushed = SavedLocation::OnStack(-sp - bytes);
            for saved in [&mut after.ra, &mut after.caller_fp].into_iter().filter(|saved| **saved == pushed) {
                *saved = SavedLocation::Unknown;
            }
        }
        // A call leaves its own return address in the link register.
        if abi.ra().is_some_and(|ra| defs.contains(ra)) && after.ra == SavedLocation::InRegister {
            after.ra = SavedLocation::Unknown;
        }
        after
    }

    /// The rules of a row for it; `None` if something is unknown.
    #[must_use]
    pub fn row_rules(&self) -> Option<RowRules> {
        let cfa = match (self.sp, self.fp) {
            (Some(offset), _) => RecoveryRule { base: Base::Sp, offset, dereference: false },
            (None, Some(offset)) => RecoveryRule { base: Base::Fp, offset, dereference: false },
            (None, None) => return None,
        };
        let recovery = |place| match place {
            SavedLocation::InRegister => Some(Recovery::Unchanged),
            SavedLocation::OnStack(offset) => {
                Some(Recovery::Rule(RecoveryRule { base: Base::Cfa, offset, dereference: true }))
            }
            SavedLocation::Unknown => None,
        };
        let (ra, fp) = (recovery(self.ra)?, recovery(self.caller_fp)?);
        Some(RowRules { cfa: Some(cfa), ra, fp, mangled_ra: false })
    }

    /// The frame after a callee has removed arguments from the stack.
    #[must_use]
    pub fn without_arguments(self, bytes: i64) -> Self {
        Self { sp: self.sp.map(|sp| sp - bytes), ..self }
    }
}

impl fmt::Display for FrameLayout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.sp, self.fp) {
            (Some(sp), _) => write!(f, "CFA = SP{sp:+}")?,
            (None, Some(fp)) => write!(f, "CFA = FP{fp:+}")?,
            (None, None) => write!(f, "CFA unknown")?,
        }
        for (name, kept) in [("RA", self.ra), ("FP", self.caller_fp)] {
            match kept {
                SavedLocation::InRegister => write!(f, ", {name} unchanged")?,
                SavedLocation::OnStack(offset) => write!(f, ", {name} = *(CFA{offset:+})")?,
                SavedLocation::Unknown => write!(f, ", {name} unknown")?,
            }
        }
        Ok(())
    }
}
