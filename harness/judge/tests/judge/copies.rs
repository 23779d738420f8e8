//! Copies of the process to which signals are delivered.

use sframe_judge::examine::{ExamineOptions, Signals, examine};
use sframe_judge::target::Target;
use sframe_judge::unwind::{Backtrace, SframeUnwinder, Unwinder, Viewpoint};
use sframe_machine::Options;

use crate::doctor::build;

/// An unwinder that counts the runs.
struct Counted<'a> {
    unwinder: SframeUnwinder<'a>,
    runs: usize,
}

impl Unwinder for Counted<'_> {
    fn unwind(&mut self, viewpoint: &Viewpoint<'_>, backtrace: &mut Backtrace) {
        self.unwinder.unwind(viewpoint, backtrace);
    }

    fn restart(&mut self) {
        self.runs += 1;
    }
}

/// The handler leaves its stack, in each copy of the process for another state of it. That says nothing of how the process
/// itself leaves its calls: one run shows that, and the next one is judged by it.
#[test]
fn copies_that_end_in_different_ways_need_no_more_runs() {
    for id in ["gnu-2.47/aarch64/signal_stack.O2", "gnu-2.47/s390x/signal_stack.O2"] {
        let bytes = build(id);
        let target = Target::open(&bytes).expect("a target");
        let extents = ["compute", "leaf", "push_and_pop"].map(|name| target.addresses_of(name));
        let ranges = extents.iter().flatten().filter_map(|start| target.extent(*start)).collect();
        let signals = vec![Signals { signal: 10, ranges, hits: 1 }];
        let look = ExamineOptions { signals, ..ExamineOptions::default() };
        let mut options = Options { stack_size: 131_072, ..Options::default() };
        options.system.arguments = vec!["escape".into()];
        let unwinder =
            SframeUnwinder::new(target.sections.clone(), target.executable().image.cpu.address_bits);
        let mut counted = Counted { unwinder, runs: 0 };
        let examination = examine(&target, &mut counted, &look, &options).expect("a run");
        assert!(examination.deliveries[0].delivered > 30, "{id}: {:?}", examination.deliveries);
        // One without signals, and up to three with those; then one with all of them.
        assert!(counted.runs <= 5, "{id}: {} runs", counted.runs);
    }
}
