//! What the call stack shows about a function's frame before each of its instructions.

use std::fmt;

use sframe_engine::{Abi, PauthMask};

use crate::compare::Truth;
use crate::unwind::Viewpoint;

/// Where the caller's value of a register is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SavedLocations {
    /// Whether the register itself still holds it.
    pub register: bool,
    /// The words that hold it and were stored since the call, as offsets from the
    /// CFA in bytes. If there are more than two, the two closest to the CFA:
    /// another value may be equal by chance.
    pub slots: [Option<i64>; 2],
}

impl SavedLocations {
    const fn add(&mut self, slot: i64) {
        match &mut self.slots {
            [first @ None, _] => *first = Some(slot),
            [_, second @ None] => *second = Some(slot),
            _ => {}
        }
    }
}

impl fmt::Display for SavedLocations {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match (self.register, self.slots[0]) {
            (true, None) => "unchanged",
            (true, Some(_)) => "unchanged and ",
            (false, Some(_)) => "= ",
            (false, None) => "not found",
        })?;
        for (slot, before) in self.slots.iter().flatten().zip(["", " or "]) {
            write!(f, "{before}*(CFA{slot:+})")?;
        }
        Ok(())
    }
}

/// The topmost frame as seen on the call stack.
///
/// Displays in the same form as rows, so that both can be read side by side.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum TrueFrame {
    /// The function has no caller.
    Outermost,
    /// It has a caller.
    Called {
        /// The CFA minus SP, in bytes.
        cfa: i64,
        /// Where the return address is.
        ra: SavedLocations,
        /// Where the caller's frame pointer is.
        fp: SavedLocations,
    },
}

impl fmt::Display for TrueFrame {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Outermost => f.write_str("RA undefined"),
            Self::Called { cfa: 0, ra, fp } => write!(f, "CFA = SP, RA {ra}, FP {fp}"),
            Self::Called { cfa, ra, fp } => write!(f, "CFA = SP{cfa:+}, RA {ra}, FP {fp}"),
        }
    }
}

/// The number of words next to the CFA that are searched for saved registers.
const SEARCHED: u64 = 64;

impl TrueFrame {
    /// Returns the topmost frame at a moment.
    pub(crate) fn of(
        truth: &Truth<'_>,
        viewpoint: &Viewpoint<'_>,
        abi: Option<Abi>,
        pauth: PauthMask,
    ) -> Self {
        let Some(call) = truth.call_of(0) else { return Self::Outermost };
        let link = abi.and_then(Abi::ra).and_then(|register| viewpoint.register(register.0));
        let is_linked = link.is_some_and(|link| pauth.strip(link) == call.return_address);
        let mut ra = SavedLocations { register: is_linked, ..SavedLocations::default() };
        let mut fp = SavedLocations { register: truth.fp == call.caller_fp, ..SavedLocations::default() };
        let top = truth.sp.wrapping_sub(truth.red_zone);
        let mut address = call.cfa & !7;
        for _ in 0..SEARCHED {
            address = address.wrapping_sub(8);
            if address < top || address >= call.cfa {
                break;
            }
            if !truth.stores.is_some_and(|stores| stores.since(address, call.since)) {
                continue;
            }
            let Some(word) = viewpoint.memory.read_u64(address) else { continue };
            let slot = address.wrapping_sub(call.cfa).cast_signed();
            if pauth.strip(word) == call.return_address {
                ra.add(slot);
            }
            // A zero word may have many causes.
            if call.caller_fp != 0 && word == call.caller_fp {
                fp.add(slot);
            }
        }
        Self::Called { cfa: call.cfa.wrapping_sub(truth.sp).cast_signed(), ra, fp }
    }
}

/// An instruction that was executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Observed {
    /// Its address, with load bias.
    pub pc: u64,
    /// How often it was executed.
    pub hits: u64,
    /// Its frame, at the first comparison there.
    pub frame: Option<TrueFrame>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_written_like_rows() {
        let called = |cfa, ra, fp| TrueFrame::Called { cfa, ra, fp }.to_string();
        let kept = |register, slot: Option<i64>| SavedLocations { register, slots: [slot, None] };
        let two = SavedLocations { register: false, slots: [Some(-40), Some(-72)] };
        assert_eq!(two.to_string(), "= *(CFA-40) or *(CFA-72)");
        assert_eq!(
            called(16, kept(false, Some(-8)), kept(true, None)),
            "CFA = SP+16, RA = *(CFA-8), FP unchanged"
        );
        assert_eq!(
            called(0, kept(true, Some(-8)), kept(false, None)),
            "CFA = SP, RA unchanged and *(CFA-8), FP not found"
        );
        assert_eq!(TrueFrame::Outermost.to_string(), "RA undefined");
    }
}
