//! Instructions before which hardly anything has changed.
//!
//! Most instructions neither call nor return, and store to nothing that a step of
//! the walk has read. Then the callers' frames are as they were, and so is what
//! comparing them says. After a call, there is one more of them, and after a return
//! one fewer. If the rows of the topmost frame and of the new callers lead to the
//! call stack's frames, by values in reliable places, all of the comparison ends as
//! the last one in full did. Whatever is not as plain as that is compared in full.

use sframe_engine::{DwarfRegister, InstructionPointer, LookupAddress, ReturnAddress};
use sframe_machine::{Moment, PcMap, Record};

use crate::compare::WalkEnd;
use crate::truth::stores::LastStores;
use crate::unwind::{DEPTH_LIMIT, PlainRow, Saved, Stepper};

/// The result of a comparison that found nothing.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Agreement {
    /// How the walk ended.
    pub(crate) end: WalkEnd,
    /// The number of frames in it.
    pub(crate) frames: usize,
    /// The depth of the call stack.
    pub(crate) depth: usize,
}

/// A caller's frame that agrees: the bounds of the words that hold its RA and FP.
#[derive(Clone, Copy, Debug)]
struct Caller {
    low: u64,
    high: u64,
    /// The lowest word of this one and of those further out.
    lowest: u64,
    /// Whether the words of each one lie below those further out.
    is_sorted: bool,
}

/// What is known of the moments since the last comparison in full.
#[derive(Debug, Default)]
pub(crate) struct Steady {
    last: Option<Agreement>,
    /// The number of callers that were compared in full, and have not changed.
    walked: usize,
    /// Those since then, the outermost first.
    callers: Vec<Caller>,
    /// When the topmost frame's call was made.
    since: u64,
    /// Addresses of words that are known to hold what the row says, stored
    /// there by the function: where RA is, and where FP is.
    words: [Option<u64>; 2],
    rows: PcMap<Option<PlainRow>>,
    /// The rows of callers, by return address.
    caller_rows: PcMap<Option<PlainRow>>,
}

/// More calls at once than this are compared in full.
const MOST_NEW_CALLERS: usize = 4;

impl Steady {
    /// Begins another run of the same program.
    pub(crate) fn start(&mut self) {
        self.compared(None);
        (self.since, self.words) = (0, [None; 2]);
    }

    /// Records a comparison in full; `None` if it found anything.
    pub(crate) fn compared(&mut self, agreement: Option<Agreement>) {
        self.last = agreement;
        self.walked = agreement.map_or(0, |agreement| agreement.depth - 1);
        self.callers.clear();
    }

    /// Returns the row of a topmost frame, if there is no more to it than it says.
    #[inline(always)]
    pub(crate) fn row(&mut self, pc: u64, stepper: &mut dyn Stepper) -> Option<PlainRow> {
        *self.rows.get_or_insert_with(pc, || stepper.plain_row(InstructionPointer(pc).into()))
    }

    /// Records a store to memory. `is_read` says whether the walk has read there. Returns whether all is as it was that a
    /// comparison depends on.
    pub(crate) fn stored(&mut self, address: u64, len: u64, is_read: bool) -> bool {
        let end = address.saturating_add(len);
        let mut is_kept = true;
        for word in &mut self.words {
            if word.is_some_and(|word| address < word + 8 && word < end) {
                *word = None;
                is_kept = false;
            }
        }
        if is_read || self.is_read(address, end) {
            self.last = None;
        }
        is_kept && self.last.is_some()
    }

    /// Takes note of calls and returns. `kept` is the number of oldest calls that have not
    /// changed since the previous instruction, compared or not.
    pub(crate) fn keep(&mut self, kept: usize) {
        if kept < self.walked {
            self.walked = kept;
            self.callers.clear();
            // The frame at which the walk ended may be gone. New ones may have come since, as
            // many as before, if nothing was compared in between.
            self.last = self.last.filter(|last| last.end.is_whole());
        } else {
            self.callers.truncate(kept - self.walked);
        }
    }

    /// Whether something in a range of addresses may have been read for the callers.
    fn is_read(&self, start: u64, end: u64) -> bool {
        let Some(innermost) = self.callers.last().filter(|caller| caller.lowest < end) else { return false };
        if !innermost.is_sorted {
            return true;
        }
        // The outermost one with a word below the end; the others are below it.
        let first = self.callers.partition_point(|caller| caller.lowest >= end);
        self.callers.get(first).is_some_and(|caller| start < caller.high + 8)
    }

    /// Returns the result of comparing now, if it follows from that of the last comparison in
    /// full, and the number of frames that were compared for it.
    #[inline]
    pub(crate) fn unchanged(
        &mut self,
        moment: &Moment<'_>,
        stores: &LastStores,
        stepper: &mut dyn Stepper,
    ) -> Option<(Agreement, usize)> {
        let last = self.last?;
        let records = moment.call_stack.records();
        let call = records.last()?;
        if !moment.call_stack.is_settled() || call.interrupted {
            return None;
        }
        let depth = moment.call_stack.depth();
        if depth != last.depth && (!last.end.is_whole() || depth >= DEPTH_LIMIT) {
            return None;
        }
        let new = records.len() - self.walked - self.callers.len();
        if new > MOST_NEW_CALLERS {
            return None;
        }
        for position in records.len() - new..records.len() {
            let caller = self.caller(position, records, stores, moment, stepper)?;
            self.callers.push(caller);
        }
        let row = &self.row(moment.pc, stepper)?;
        if call.since != self.since {
            (self.since, self.words) = (call.since, [None; 2]);
        }
        let frames = last.frames + depth - last.depth;
        leads_to_caller(row, &mut self.words, moment, call, stores)
            .then_some((Agreement { end: last.end, frames, depth }, 1 + new))
    }

    /// Looks at the frame that made the call at a position: whether its row leads to its caller,
    /// with nothing that needs a closer look.
    fn caller(
        &mut self,
        position: usize,
        records: &[Record],
        stores: &LastStores,
        moment: &Moment<'_>,
        stepper: &mut dyn Stepper,
    ) -> Option<Caller> {
        let (from, call) = (&records[position], &records[position.checked_sub(1)?]);
        let row = self.caller_rows.get_or_insert_with(from.return_address, || {
            let address: LookupAddress = ReturnAddress(from.return_address).into();
            stepper.plain_row(address)
        });
        let row = (*row)?;
        let base = if row.cfa_from_fp { from.caller_fp } else { from.caller_sp };
        let cfa = base.wrapping_add_signed(row.cfa_offset);
        let is_plain = !from.interrupted
            && !call.interrupted
            && cfa == call.cfa
            && cfa.is_multiple_of(8)
            // The walk makes progress.
            && cfa.wrapping_sub(row.sp_below_cfa) > from.caller_sp
            && from.caller_sp <= cfa;
        if !is_plain {
            return None;
        }
        let holds = |offset: i64, expected: u64, is_fp: bool| {
            let address = cfa.wrapping_add_signed(offset);
            let store = stores.last(address).filter(|store| store.time >= call.since)?;
            let holds = address.is_multiple_of(8)
                && address >= from.caller_sp
                && !(is_fp && store.is_not_fp(call.since))
                && moment.memory.read_u64(address) == Some(expected);
            holds.then_some(address)
        };
        let Saved::At(offset) = row.ra else { return None };
        let ra = holds(offset, call.return_address, false)?;
        let fp = match row.saved_fp {
            Saved::At(offset) => holds(offset, call.caller_fp, true)?,
            Saved::Unchanged => (from.caller_fp == call.caller_fp).then_some(ra)?,
            // Unknown beyond the topmost frame.
            Saved::In(_) => return None,
        };
        let (low, high) = (ra.min(fp), ra.max(fp));
        let outer = self.callers.last();
        Some(Caller {
            low,
            high,
            lowest: outer.map_or(low, |outer| outer.lowest.min(low)),
            is_sorted: outer.is_none_or(|outer| outer.is_sorted && high < outer.low),
        })
    }
}

/// Whether a row leads to the true caller, with nothing that needs a closer look. `words` are
/// those that are known to hold what the row says.
#[inline(always)]
fn leads_to_caller(
    row: &PlainRow,
    words: &mut [Option<u64>; 2],
    moment: &Moment<'_>,
    call: &Record,
    stores: &LastStores,
) -> bool {
    let base = if row.cfa_from_fp { moment.fp } else { moment.sp };
    let cfa = base.wrapping_add_signed(row.cfa_offset);
    if cfa != call.cfa || !cfa.is_multiple_of(8) || cfa.wrapping_sub(row.sp_below_cfa) < moment.sp {
        return false;
    }
    // FP that was not written, or has been restored, is the caller's.
    let is_callers = || moment.fp == call.caller_fp || !stores.has_written(row.fp, call.since);
    if row.cfa_from_fp && is_callers() {
        return false;
    }
    let protected = moment.sp.wrapping_sub(moment.red_zone());
    let is_protected = |address: u64| address >= protected && moment.sp <= cfa;
    let [ra_word, fp_word] = words;
    let in_register = |register: Option<DwarfRegister>, expected: u64| {
        register.is_some_and(|register| moment.register(register.0) == Some(expected))
    };
    let has_written = |register| stores.has_written(register, call.since);
    let ra = match row.ra {
        Saved::At(offset) => {
            let address = cfa.wrapping_add_signed(offset);
            let is_saved = || is_saved_at(address, call.return_address, false, moment, call, stores);
            is_protected(address) && is_known(ra_word, address, is_saved)
        }
        Saved::Unchanged => in_register(row.ra_register, call.return_address),
        Saved::In(register) => has_written(register) && in_register(Some(register), call.return_address),
    };
    ra && match row.saved_fp {
        Saved::At(offset) => {
            let address = cfa.wrapping_add_signed(offset);
            let is_saved = || is_saved_at(address, call.caller_fp, true, moment, call, stores);
            is_protected(address) && is_known(fp_word, address, is_saved)
        }
        Saved::Unchanged => moment.fp == call.caller_fp && stores.overwritten_fp(call.since).is_none(),
        Saved::In(register) => has_written(register) && in_register(Some(register), call.caller_fp),
    }
}

/// Whether something is true of the word at an address: it is, of the word at `known`.
#[inline(always)]
fn is_known(known: &mut Option<u64>, address: u64, is_true: impl FnOnce() -> bool) -> bool {
    if *known != Some(address) {
        if !is_true() {
            return false;
        }
        *known = Some(address);
    }
    true
}

/// Whether a word holds a value that the function which a call has entered has saved there.
#[inline(never)]
fn is_saved_at(
    address: u64,
    expected: u64,
    is_fp: bool,
    moment: &Moment<'_>,
    call: &Record,
    stores: &LastStores,
) -> bool {
    let store = stores.last(address).filter(|store| store.time >= call.since);
    address.is_multiple_of(8)
        && store.is_some_and(|store| !(is_fp && store.is_not_fp(call.since)))
        && moment.memory.read_u64(address) == Some(expected)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is left of a comparison of 5 frames after some calls have been left.
    fn left(end: WalkEnd, kept: usize) -> (Option<usize>, usize) {
        let mut steady = Steady::default();
        steady.compared(Some(Agreement { end, frames: 5, depth: 5 }));
        steady.keep(kept);
        (steady.last.map(|last| last.depth), steady.walked)
    }

    #[test]
    fn a_walk_is_kept_unless_it_ended_at_a_frame_that_was_left() {
        assert_eq!(left(WalkEnd::Outermost, 4), (Some(5), 4));
        assert_eq!(left(WalkEnd::Outermost, 2), (Some(5), 2));
        assert_eq!(left(WalkEnd::NoFde { frame: 1 }, 4), (Some(5), 4));
        assert_eq!(left(WalkEnd::NoFde { frame: 1 }, 3), (None, 3));
    }
}
