//! Lets instructions pass that an observer need not look at one by one.
//!
//! They leave SP alone, and control goes elsewhere only by a jump to a place that the instruction names, or at their end. So
//! the witness would find nothing to do before the last of them has executed, and their hook does no more than to count
//! down.

use std::rc::Rc;

use super::Run;
use crate::cpu::{Control, Effect};
use crate::outcome::{Broken, End};
use crate::straight::{Passing, Straight};
use crate::witness::{Action, Place};

/// The observer sees at least one of this many instructions: it may want to end the run.
const MOST_UNSEEN: u64 = 1024;

impl Run<'_> {
    /// Lets instructions pass after one with some effect, if nothing can happen there that has to be followed.
    #[inline]
    pub(super) fn let_pass(&mut self, effect: &Effect, straight: Rc<Straight>, at: Place) {
        let is_alone = effect.is_passable() && effect.control == Control::Other && !effect.is_conditional;
        if is_alone && straight.start() == Some(at.pc) && self.end.is_none() && self.pause.is_none() {
            self.begin_passing(straight, at, 1, self.last_size);
        }
    }

    /// Lets instructions pass, if those before them have led there by a jump, and the observer knows what it would see.
    #[inline]
    pub(super) fn go_on_passing(&mut self, pc: u64, size: u32) -> bool {
        let Some(Passing { straight, total, sp, fp, .. }) = &mut self.passing else { return false };
        // Control has gone elsewhere than to the next of them.
        *total -= self.gate.close();
        let is_jump = *total < straight.pcs().len() || straight.last == Action::NOTHING;
        let is_due = self.instructions.saturating_sub(self.shown) >= MOST_UNSEEN;
        if !is_jump || is_due || self.end.is_some() || self.pause.is_some() || self.signal_waits {
            return false;
        }
        let at = Place { pc, sp: *sp, fp: *fp };
        self.count_passed();
        let Some(straight) = self.observer.goes_on(pc).filter(|straight| straight.start() == Some(pc)) else {
            return false;
        };
        self.begin_passing(straight, at, 0, size)
    }

    /// Lets instructions pass, except the first ones. Returns whether they do.
    #[inline]
    fn begin_passing(&mut self, straight: Rc<Straight>, at: Place, from: usize, size: u32) -> bool {
        let left = usize::try_from(self.turn_end.saturating_sub(self.instructions)).unwrap_or(usize::MAX);
        let total = straight.pcs().len().min(left.saturating_add(from));
        let last = straight.pcs()[straight.pcs().len() - 1];
        let may_pass = total > from
            && straight.code == self.follower.effects.code()
            && self.follower.witness.is_idle(at, last)
            && !(self.follower.answers.is_any()
                && straight.pcs().iter().any(|pc| self.follower.answers.are_calls(*pc)));
        if may_pass {
            // The first one has begun.
            self.gate.open(total - 1, at.pc.wrapping_add(size.into()));
            self.passing = Some(Passing { straight, from, total, counted: from, sp: at.sp, fp: at.fp });
        }
        may_pass
    }

    /// Counts the instructions that have passed, the last of which is executing.
    pub(super) fn count_passed(&mut self) {
        let Some(passing) = &mut self.passing else { return };
        let begun = passing.total - self.gate.left();
        if begun == passing.counted {
            return;
        }
        let (from, to) = (passing.counted, begun);
        passing.counted = begun;
        let straight = &passing.straight;
        let pcs = &straight.pcs()[from..to];
        self.observer.passed(self.instructions, pcs);
        self.instructions += pcs.len() as u64;
        self.follower.event += pcs.len() as u64;
        self.passed += pcs.len() as u64;
        self.observed = self.instructions - 1;
        pcs.iter().for_each(|pc| self.follower.trail.push(*pc));
        self.last_pc = straight.pcs()[to - 1];
        self.last_size = u32::try_from(straight.size(to - 1)).unwrap_or(0);
    }

    /// No more of them pass.
    #[inline]
    pub(super) fn end_passing(&mut self) {
        if self.passing.is_some() {
            self.follow_passed();
        }
    }

    /// No more of them pass, and what executes next need not come after them.
    pub(super) fn interrupt_passing(&mut self) {
        self.end_passing();
        self.kept = None;
    }

    fn follow_passed(&mut self) {
        self.count_passed();
        self.gate.close();
        let Some(Passing { straight, from, counted, sp, fp, .. }) = self.passing.take() else { return };
        if counted == from {
            return;
        }
        let is_last = counted == straight.pcs().len();
        let action = if is_last { straight.last } else { Action::NOTHING };
        if action.control != Control::Other {
            self.follower.trail.clear();
        }
        let at = Place { pc: self.last_pc, sp, fp };
        self.follower.witness.pass(self.follower.event, at, self.observed, action);
        self.kept = (action == Action::NOTHING && !(is_last && straight.is_last_free)).then_some((sp, fp));
    }

    /// Compares SP and FP with what they were before instructions that have passed: none of these may have changed them.
    #[inline]
    pub(super) fn check_kept(&mut self, kept: (u64, u64), at: Place) {
        if kept != (at.sp, at.fp) {
            let message =
                format!("SP or FP has changed before {:#x}, by an instruction that is not known to", at.pc);
            self.end(End::Broken(Broken::Harness(message)));
        }
    }

    /// Reports a store by an instruction that may have passed: if the observer wants to look again, no more pass.
    pub(super) fn stored_in_passing(&mut self, address: u64, len: u64) {
        self.count_passed();
        self.stored(address, len);
        if let Some(passing) = &mut self.passing
            && !self.observer.still_lets_pass()
        {
            passing.total -= self.gate.close();
        }
    }
}
