//! How somebody tests an unwinder of their own in their own `cargo test`: here
//! one that follows frame pointers and knows nothing else.

use sframe_judge::examine::{ExamineOptions, examine};
use sframe_judge::target::Target;
use sframe_judge::unwind::{Backtrace, End, Frame, Unwinder, Viewpoint};
use sframe_machine::Options;

/// Any code that walks stacks.
struct FramePointers;

impl Unwinder for FramePointers {
    fn unwind(&mut self, viewpoint: &Viewpoint<'_>, backtrace: &mut Backtrace) {
        let (mut pc, mut fp) = (viewpoint.pc, viewpoint.fp);
        loop {
            // The frame is set up, they say, so CFA and caller lie above FP.
            let caller = viewpoint.memory.read_u64(fp).zip(viewpoint.memory.read_u64(fp.wrapping_add(8)));
            let cfa = caller.map(|_| fp.wrapping_add(16));
            backtrace.frames.push(Frame { pc, cfa, fp: Ok(fp), mangled: None, interrupted: None });
            match caller {
                Some((next_fp, ra)) if next_fp > fp => (pc, fp) = (ra, next_fp),
                _ => break,
            }
        }
        backtrace.end = End::Unspecified;
    }
}

pub(crate) fn main() {
    let corpus = concat!(env!("CARGO_MANIFEST_DIR"), "/../../corpus/builds/");
    let bytes = std::fs::read(format!("{corpus}gnu-2.47/amd64/recursion.O0")).expect("a build");
    let target = Target::open(&bytes).expect("an executable with .sframe");
    let seen = examine(&target, &mut FramePointers, &ExamineOptions::default(), &Options::default())
        .expect("a machine");
    for finding in seen.findings.iter().take(5) {
        println!("{}: {}", finding.verdict, finding.message);
    }
    println!("{} of {} instructions agree", seen.agree, seen.counts.comparisons);
    // Prologues and epilogues are where frame pointers fail.
    assert!(seen.agree > 0 && !seen.findings.is_empty());
}
