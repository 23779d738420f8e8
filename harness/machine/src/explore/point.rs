//! What an observer is shown.

use sframe_engine::DwarfRegister;

use super::assumption::Assumption;
use super::code::{Code, Naming, Write};
use super::journal::{Journal, LastStore};
use crate::address_space::AddressSpace;
use crate::observer::Moment;

/// What an observer says of a state. States of different classes are not merged.
pub type Class = u8;

/// What a register holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content {
    /// A [narrow](sframe_isa::Instruction::narrow) number, or a floating-point one: no
    /// address.
    Number,
    /// A value of the caller's own: callees preserve the register, and the path has not written it. The
    /// frame pointer, which has a meaning for both, does not count.
    OfCaller,
    /// Anything else.
    Other,
}

/// A state on a path, before an instruction executes.
pub struct Point<'p> {
    /// Registers, memory, and the call stack: one call, by the made-up caller.
    pub moment: Moment<'p>,
    /// The function's first instruction.
    pub entry: u64,
    /// What the path assumes, oldest first.
    pub assumptions: &'p [Assumption],
    /// What the observer said at the path's previous instruction; 0 at its first.
    pub class: Class,
    /// If the instruction is a call: where its callee returns to.
    pub return_address: Option<u64>,
    /// Whether the path comes directly from a call that was stepped over.
    pub is_after_call: bool,
    /// Where calls within the function have led to that have not returned: to no function's first instruction.
    pub labels: &'p [u64],
    /// The return address of the last instruction, if that was a call that skips a speculation trap: what it has led to
    /// removes or replaces it, and until then the frame may as well be that of a callee.
    pub skipped: Option<u64>,
    /// The instructions of the path, oldest first. This one is the last.
    pub trace: &'p [u64],
    /// Places where FP or the return address have been stored.
    pub(super) saved: &'p [u64],
    pub(super) journal: &'p Journal,
    pub(super) code: &'p Code,
    pub(super) space: &'p AddressSpace,
}

impl Point<'_> {
    /// Returns by how many bytes SP is above where the caller has left it.
    #[must_use]
    pub fn above_caller(&self) -> u64 {
        let caller = self.moment.call_stack.records().last();
        caller.map_or(0, |call| self.moment.sp.saturating_sub(call.caller_sp))
    }

    /// Whether the path has stored something else where the return address was, and has it nowhere else,
    /// as functions do that return elsewhere.
    #[must_use]
    pub fn has_overwritten_return_address(&self) -> bool {
        let Some(call) = self.moment.call_stack.records().last() else { return false };
        let is_it = |value| call.is_return_address(value);
        let has_lost =
            |address: &u64| call.return_addresses().any(|value| self.overwriting(*address, value).is_some());
        !self.saved.iter().any(|address| self.space.read_u64(*address).is_some_and(is_it))
            && self.saved.iter().any(has_lost)
    }

    /// Whether FP or the return address is in a place where the function has saved it, given its value.
    #[must_use]
    pub fn has_saved(&self, value: u64) -> bool {
        self.saved.iter().any(|address| {
            let is_in_frame = |store: LastStore| store.is_in_frame;
            self.space.read_u64(*address) == Some(value) && self.last_store(*address).is_some_and(is_in_frame)
        })
    }

    /// Returns the last store of the path to the word at an address of the stack; `None` if there
    /// was none since the function was called.
    #[must_use]
    pub fn last_store(&self, address: u64) -> Option<LastStore> {
        let (pc, _) = self.journal.last(self.space, address)?;
        Some(LastStore { pc, is_in_frame: self.is_in_frame(pc) })
    }

    /// Returns the last store of the path that has overwritten a value in the word at an address.
    #[must_use]
    pub fn overwriting(&self, address: u64, value: u64) -> Option<LastStore> {
        let pc = self.journal.overwriting(self.space, address, value)?;
        Some(LastStore { pc, is_in_frame: self.is_in_frame(pc) })
    }

    /// Whether code that was not followed may have stored to the frame: callees, or further rounds of a loop.
    #[must_use]
    pub fn may_have_stored_more(&self) -> bool {
        let is_call = |assumption: &Assumption| matches!(assumption, Assumption::Call { .. });
        self.assumptions.iter().any(is_call) || self.has_cut_stores()
    }

    /// Whether further rounds of a loop may have stored to the frame: the path has stored to a place that it computes,
    /// and was forced to go on somewhere.
    fn has_cut_stores(&self) -> bool {
        let is_cut = |assumption: &Assumption| {
            matches!(assumption, Assumption::Forced { .. } | Assumption::Shortened { .. })
        };
        self.assumptions.iter().any(is_cut) && self.trace.iter().any(|pc| self.code.stores_to_computed(*pc))
    }

    /// Whether a register may have been loaded with what further rounds of a loop have stored.
    #[must_use]
    pub fn may_have_loaded_more(&self, register: DwarfRegister) -> bool {
        let before = self.trace.split_last().map_or(&[][..], |(_, before)| before);
        before.iter().rev().find_map(|pc| self.code.loads(*pc, register)) == Some(true)
            && self.has_cut_stores()
    }

    /// What a register other than SP holds, by the instruction of the path that has last written it.
    #[must_use]
    pub fn content(&self, register: DwarfRegister) -> Content {
        let before = self.trace.split_last().map_or(&[][..], |(_, before)| before);
        let of_write = |pc: &u64| self.code.write(*pc, register);
        match before.iter().rev().find_map(of_write) {
            Some(Write::Number) => Content::Number,
            Some(Write::Other) => Content::Other,
            // No ABI passes an address there.
            None if self.code.is_floating_point(register) => Content::Number,
            None if self.code.is_preserved(register) => Content::OfCaller,
            None => Content::Other,
        }
    }

    /// Whether a store is to a fixed place in the frame.
    fn is_in_frame(&self, pc: u64) -> bool {
        match self.code.stores(pc) {
            Naming::BySp => true,
            Naming::ByFp => !self.journal.moves(pc),
            Naming::Otherwise => false,
        }
    }
}
