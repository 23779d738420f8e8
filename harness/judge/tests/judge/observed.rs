//! Values of frames observed without rules match the values of correct rules.

use std::path::Path;

use sframe_engine::{Base, InstructionPointer, Recovery, RecoveryRule};
use sframe_judge::examine::observed::{SavedLocations, TrueFrame};
use sframe_judge::examine::{ExamineOptions, examine};
use sframe_judge::target::Target;
use sframe_judge::unwind::sframe_unwinder;
use sframe_machine::Options;

/// Whether a value is where a rule says. `None` if that is unknown, since the
/// rule does not start from the CFA.
fn is_there(kept: SavedLocations, recovery: Recovery) -> Option<bool> {
    match recovery {
        Recovery::Unchanged => Some(kept.register),
        Recovery::Rule(RecoveryRule { base: Base::Cfa, offset, dereference: true }) => {
            Some(kept.slots.contains(&Some(offset)))
        }
        _ => None,
    }
}

#[test]
fn frames_are_seen_where_the_rows_of_sound_builds_say() {
    for (abi, variant) in [
        ("amd64", "O0"),
        ("amd64", "O2"),
        ("amd64", "O2-fp"),
        ("aarch64", "O0"),
        ("aarch64", "O2"),
        ("aarch64_be", "O2"),
        ("s390x", "O0"),
        ("s390x", "O2"),
    ] {
        let path = format!("../../corpus/builds/gnu-2.47/{abi}/recursion.{variant}");
        let bytes = std::fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).expect("a build");
        let target = Target::open(&bytes).expect("a target");
        let look = ExamineOptions { observes: true, ..ExamineOptions::default() };
        let mut unwinder = sframe_unwinder(&target);
        let examination = examine(&target, &mut *unwinder, &look, &Options::default()).expect("a machine");
        assert!(examination.findings.is_empty());
        assert_eq!(
            examination.observed.iter().map(|seen| seen.hits).sum::<u64>(),
            examination.counts.instructions
        );
        let (mut cfas, mut ras, mut fps, mut unseen) = (0, 0, 0, 0);
        for seen in &examination.observed {
            let found = target.sections.lookup(InstructionPointer(seen.pc)).expect("rows").expect("a row");
            let (row, frame) = (found.row, seen.frame.expect("each is compared"));
            let context = format!("{abi} {variant} {:#x}: {row} / {frame}", seen.pc);
            let TrueFrame::Called { cfa, ra, fp } = frame else {
                assert_eq!(row.ra, Recovery::Undefined, "{context}");
                continue;
            };
            if let Some(RecoveryRule { base: Base::Sp, offset, dereference: false }) = row.cfa {
                assert_eq!(cfa, offset, "{context}");
                cfas += 1;
            }
            assert_eq!(is_there(ra, row.ra), Some(true), "{context}");
            ras += 1;
            match is_there(fp, row.fp) {
                Some(true) => fps += 1,
                // A frame pointer of 0, as in the entry function, is not searched for.
                _ => {
                    assert_eq!(fp.slots, [None; 2], "{context}");
                    unseen += 1;
                }
            }
        }
        assert!(
            cfas > 10 && ras > 20 && fps > 10 && fps > unseen,
            "{abi} {variant}: {cfas} {ras} {fps} {unseen}"
        );
    }
}

#[test]
fn nothing_is_observed_unless_asked_for() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus/builds/gnu-2.47/amd64/leaf.O2");
    let bytes = std::fs::read(path).expect("a build");
    let target = Target::open(&bytes).expect("a target");
    let mut unwinder = sframe_unwinder(&target);
    let examination =
        examine(&target, &mut *unwinder, &ExamineOptions::default(), &Options::default()).expect("a machine");
    assert!(examination.observed.is_empty());
}
