//! The functions that were seen to return to their callers.

use std::collections::BTreeSet;

use rustc_hash::FxHashMap;
use sframe_engine::InstructionPointer;
use sframe_judge::target::Target;
use sframe_machine::{Moment, Record};

/// A frame, and the functions that have executed in it: one that another has jumped to goes on in its frame.
struct Frame {
    call: Record,
    functions: BTreeSet<u64>,
}

/// The frames of a thread.
#[derive(Default)]
struct Frames {
    /// Those that have not ended, the oldest first.
    open: Vec<Frame>,
    /// Those that SP has moved past, until control has left them.
    leaving: Vec<Frame>,
}

/// Follows the frames of a run, and notes which functions have executed in one that then returned to its caller.
pub(super) struct Returns<'t> {
    target: &'t Target<'t>,
    /// The starts of the functions that instructions are in.
    functions: FxHashMap<u64, Option<u64>>,
    threads: FxHashMap<u32, Frames>,
    returned: BTreeSet<u64>,
}

impl<'t> Returns<'t> {
    pub(super) fn new(target: &'t Target<'t>) -> Self {
        Self {
            target,
            functions: FxHashMap::default(),
            threads: FxHashMap::default(),
            returned: BTreeSet::new(),
        }
    }

    /// Begins another run.
    pub(super) fn start(&mut self) {
        self.threads.clear();
    }

    /// Whether the function that starts at an address was seen to return.
    pub(super) fn has_returned(&self, start: u64) -> bool {
        self.returned.contains(&start)
    }

    /// Follows an instruction that is about to execute.
    pub(super) fn follow(&mut self, moment: &Moment<'_>) {
        let Frames { open, leaving } = self.threads.entry(moment.thread).or_default();
        let calls = moment.call_stack.records();
        leaving.extend(open.split_off(moment.call_stack.kept().min(open.len())));
        if moment.call_stack.exit().is_some() {
            // What has called it by a jump is left together with it.
            let returns =
                |frame: &Frame| (frame.call.return_address, frame.call.caller_sp) == (moment.pc, moment.sp);
            let returned = leaving.drain(..).filter(returns);
            self.returned.extend(returned.flat_map(|frame| frame.functions));
        }
        let new = calls.iter().skip(open.len());
        open.extend(new.map(|call| Frame { call: *call, functions: BTreeSet::new() }));
        let function = *self.functions.entry(moment.pc).or_insert_with(|| {
            let fde = self.target.sections.lookup_fde(InstructionPointer(moment.pc)).ok().flatten();
            fde.map(|fde| fde.start)
        });
        if let (Some(frame), Some(function)) = (open.last_mut(), function) {
            frame.functions.insert(function);
        }
    }
}
