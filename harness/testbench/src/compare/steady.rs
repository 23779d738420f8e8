//! Instructions before which only the topmost frame has changed.
//!
//! Most instructions neither call nor return, and store to nothing that a step of
//! the walk has read. Then the callers' frames are as they were, and so is what
//! comparing them says. If the topmost frame's row leads to the same caller, by
//! values in the same reliable places, all of the comparison ends as the last one
//! did. Whatever is not as plain as that is compared in full.

use rustc_hash::FxHashMap;
use sframe_machine::{Moment, Record};

use crate::compare::{Truth, WalkEnd};
use crate::truth::stores::LastStores;
use crate::unwind::{PlainRow, Stepper};

/// The result of a comparison in full that found nothing.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Agreement {
    /// How the walk ended.
    pub(crate) end: WalkEnd,
    /// The number of frames in it.
    pub(crate) frames: usize,
    /// The depth of the call stack.
    pub(crate) depth: usize,
}

/// What is known of the moments since the last comparison in full.
#[derive(Debug, Default)]
pub(crate) struct Steady {
    last: Option<Agreement>,
    /// When the topmost frame's call was made.
    since: u64,
    /// Addresses of words of which it is known that they hold what the row says, stored
    /// there by the function: where RA is, and where FP is.
    words: [Option<u64>; 2],
    rows: FxHashMap<u64, Option<PlainRow>>,
}

impl Steady {
    /// Records a comparison in full; `None` if it found anything.
    pub(crate) fn compared(&mut self, agreement: Option<Agreement>) {
        self.last = agreement;
    }

    /// Records a store to memory. `is_read` says whether the walk has read there.
    pub(crate) fn stored(&mut self, address: u64, len: u64, is_read: bool) {
        if is_read {
            self.last = None;
        }
        for word in &mut self.words {
            if word.is_some_and(|word| address < word + 8 && word < address.saturating_add(len)) {
                *word = None;
            }
        }
    }

    /// Returns the result of comparing now, if it is that of the last comparison in full.
    pub(crate) fn unchanged(
        &mut self,
        truth: &Truth<'_>,
        moment: &Moment<'_>,
        stepper: &mut dyn Stepper,
    ) -> Option<Agreement> {
        let agreement = self.last?;
        let (records, stores) = (truth.call_stack.records(), truth.stores?);
        let call = records.last()?;
        let is_same_stack = truth.call_stack.is_settled()
            && truth.call_stack.kept() == records.len()
            && truth.call_stack.depth() == agreement.depth;
        if !is_same_stack || call.interrupted || truth.ignores_fp {
            return None;
        }
        let row = (*self.rows.entry(truth.pc).or_insert_with(|| stepper.plain_row(truth.pc)))?;
        if call.since != self.since {
            (self.since, self.words) = (call.since, [None; 2]);
        }
        self.leads_to_caller(&row, truth, moment, call, stores).then_some(agreement)
    }

    /// Whether a row leads to the true caller, with nothing that needs a closer look.
    fn leads_to_caller(
        &mut self,
        row: &PlainRow,
        truth: &Truth<'_>,
        moment: &Moment<'_>,
        call: &Record,
        stores: &LastStores,
    ) -> bool {
        let base = if row.cfa_from_fp { truth.fp } else { truth.sp };
        let cfa = base.wrapping_add_signed(row.cfa_offset);
        if cfa != call.cfa || !cfa.is_multiple_of(8) || cfa.wrapping_sub(row.sp_below_cfa) < truth.sp {
            return false;
        }
        if row.cfa_from_fp && !stores.has_written(row.fp, call.since) {
            return false;
        }
        let mut holds = |index: usize, offset: i64, expected: u64| {
            let address = cfa.wrapping_add_signed(offset);
            let is_protected = address >= truth.sp.wrapping_sub(truth.red_zone) && truth.sp <= cfa;
            if !is_protected || !address.is_multiple_of(8) {
                return false;
            }
            if self.words[index] == Some(address) {
                return true;
            }
            let store = stores.last(address).filter(|store| store.time >= call.since);
            let is_saved = store.is_some_and(|store| index == 0 || !store.is_not_fp(call.since));
            let holds = is_saved && moment.memory.read_u64(address) == Some(expected);
            if holds {
                self.words[index] = Some(address);
            }
            holds
        };
        let ra = match row.ra {
            Ok(offset) => holds(0, offset, call.return_address),
            Err(register) => moment.register(register.0) == Some(call.return_address),
        };
        ra && match row.saved_fp {
            Some(offset) => holds(1, offset, call.caller_fp),
            None => truth.fp == call.caller_fp && stores.overwritten_fp(call.since).is_none(),
        }
    }
}
