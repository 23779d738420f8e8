//! How often SFrame, CFI and frame pointers give the whole backtrace.

use std::num::NonZeroU64;

use rstest::rstest;
use sframe_judge::compare::{Reliabilities, WalkEnd};
use sframe_judge::examine::{Examination, ExamineOptions, examine};
use sframe_judge::study::{Executed, Study, StudyOptions, Unwinders, Walks};
use sframe_judge::target::Target;
use sframe_judge::unwind::{
    Backtrace, CfiUnwinder, End, Frame, FramePointerUnwinder, Unwinder, Viewpoint, sframe_unwinder,
};
use sframe_judge::vocabulary::Topmost;
use sframe_machine::Options;

use crate::doctor::{self, Changed, patch_first_row};

fn study(bytes: &[u8], every: u64) -> Study {
    let target = Target::open(bytes).expect("a target");
    study_with(&target, Unwinders::of(&target), every)
}

fn study_with(target: &Target<'_>, unwinders: Unwinders<'_>, every: u64) -> Study {
    let every = NonZeroU64::new(every).expect("not 0");
    let options = StudyOptions { every, ..StudyOptions::default() };
    Study::of(target, unwinders, &options, &Options::default()).expect("a machine")
}

fn executable(study: &Study) -> Executed {
    study.images[0].clone()
}

/// The part of the walks that were complete, in per cent.
fn complete(walks: &Walks) -> u64 {
    100 * walks.worth().complete / walks.worth().total()
}

/// What is walked in these builds has rows and CFI that are right, down to the entry function.
#[rstest]
fn sframe_and_cfi_give_the_whole_backtrace_of_sound_builds(
    #[values("recursion", "signals", "tail_calls", "long_jump", "coroutines")] program: &str,
    #[values("amd64", "aarch64", "aarch64_be", "s390x")] abi: &str,
) {
    let bytes = doctor::build(&format!("gnu-2.47/{abi}/{program}.O2"));
    let study = study(&bytes, 1);
    let executed = executable(&study);
    assert_eq!(executed.instructions, study.examination.counts.instructions);
    let walked = executed.instructions - executed.unsettled;
    // Where `longjmp` has left for another frame and is not there yet, it has no FDE.
    let incomplete = if program == "long_jump" { executed.sframe.worth().incomplete } else { 0 };
    assert!(incomplete < 100, "{incomplete}");
    let all = Reliabilities { complete: walked - incomplete, incomplete, ..Reliabilities::default() };
    assert_eq!((executed.sframe.worth(), executed.cfi.worth()), (all, all), "{program}");
    assert!(walked > 1000 && executed.frame_pointers.worth().total() == walked);
}

/// A function that is about to leave for another frame may say so before it has left. That is no
/// fault of a walk, and it is not counted as right either.
#[rstest]
fn walks_that_say_where_a_function_will_go_are_not_wrong(
    #[values("amd64", "s390x")] abi: &str,
    #[values("O0", "O2", "O2-fp")] flags: &str,
) {
    let executed = executable(&study(&doctor::build(&format!("gnu-2.47/{abi}/eh_return.{flags}")), 1));
    for walks in [executed.sframe, executed.cfi] {
        let worth = walks.worth();
        assert!(executed.unsettled > 100 && worth.wrong == 0, "{walks:?}");
        assert_eq!(executed.instructions, executed.unsettled + worth.total());
    }
}

/// It agrees at every instruction, in every frame, in PC, CFA and FP, except where the information
/// itself is wrong: there, the section has the same mistake.
#[rstest]
#[case("amd64/realign.O2", true)]
#[case("amd64/many_epilogues.O2", false)]
#[case("amd64/signal_stack.O2", false)]
#[case("amd64/varargs.O2", false)]
#[case("aarch64/pauth.O2", false)]
#[case("aarch64/signal_stack.O2", false)]
#[case("s390x/saved_fprs.O2", true)]
#[case("s390x/signal_stack.O2", false)]
fn the_cfi_unwinder_finds_no_other_mistakes_than_sframe(#[case] id: &str, #[case] has_mistakes: bool) {
    let bytes = doctor::build(&format!("gnu-2.47/{id}"));
    let target = Target::open(&bytes).expect("a target");
    let of = |unwinder: &mut dyn Unwinder| {
        let seen = check(&target, unwinder);
        let findings = seen.findings.iter().map(|finding| (finding.pc, finding.verdict, finding.got.clone()));
        (findings.collect::<Vec<_>>(), seen.counts.comparisons, seen.counts.walk_ends)
    };
    let (cfi, sframe) = (of(&mut CfiUnwinder::new(&target)), of(&mut *sframe_unwinder(&target)));
    assert!(cfi == sframe && cfi.0.is_empty() != has_mistakes && cfi.1 > 1000, "{cfi:#x?}\n{sframe:#x?}");
}

fn check(target: &Target<'_>, unwinder: &mut dyn Unwinder) -> Examination {
    examine(target, unwinder, &ExamineOptions::default(), &Options::default()).expect("a machine")
}

/// A record is missing in prologues, in epilogues, and on aarch64 in functions that call nothing.
#[rstest]
#[case("amd64/recursion.O0", 80..96)]
#[case("amd64/recursion.O2", 0..2)]
#[case("aarch64/recursion.O0", 80..96)]
#[case("aarch64/recursion.O2", 0..2)]
#[case("s390x/backchain.O2", 50..90)]
#[case("s390x/recursion.O2", 0..2)]
fn frame_pointers_lead_on_where_code_has_them(#[case] id: &str, #[case] expected: std::ops::Range<u64>) {
    let walks = executable(&study(&doctor::build(&format!("gnu-2.47/{id}")), 1)).frame_pointers;
    assert!(expected.contains(&complete(&walks)), "{id}: {walks:?}");
}

/// The code of the innermost function shows its caller where there is no record yet, or no more. Further out, functions
/// without one are still missing.
#[rstest]
// Not of `_start`, where the code does not show that there is no caller.
#[case("amd64/recursion.O0", 99..101)]
#[case("amd64/recursion.O2", 0..30)]
#[case("aarch64/recursion.O0", 100..101)]
#[case("aarch64/leaf_calls.O0", 60..75)]
#[case("s390x/backchain.O2", 95..101)]
fn the_code_of_the_innermost_function_shows_its_caller(
    #[case] id: &str,
    #[case] expected: std::ops::Range<u64>,
) {
    let executed = executable(&study(&doctor::build(&format!("gnu-2.47/{id}")), 1));
    assert!(expected.contains(&complete(&executed.with_code)), "{id}: {:?}", executed.with_code);
    assert!(
        executed.with_code.worth().complete > executed.frame_pointers.worth().complete,
        "{id}: {executed:?}"
    );
}

/// Where a function has made its record, the chain is the call stack: all of the frames that it
/// gives agree, to the bottom.
#[test]
fn a_chain_of_records_has_every_frame() {
    let bytes = doctor::build("gnu-2.47/amd64/recursion.O0");
    let target = Target::open(&bytes).expect("a target");
    let seen = check(&target, &mut FramePointerUnwinder::new(&target));
    let ends = seen.counts.walk_ends;
    assert!(WalkEnd::Unmarked { goes_beyond: true }.is_whole() && ends.unmarked > 5000, "{ends:?}");
    // At the first two instructions and the last of each function, one frame is missing.
    assert!(seen.findings.iter().all(|finding| finding.frame == Some(0)), "{:#?}", seen.findings);
}

type Change = fn(&mut Backtrace);

fn add_8_to_the_cfa(backtrace: &mut Backtrace) {
    backtrace.frames[0].cfa = backtrace.frames[0].cfa.map(|cfa| cfa + 8);
}

fn leave_out_the_caller(backtrace: &mut Backtrace) {
    if backtrace.frames.len() > 1 {
        backtrace.frames.remove(1);
    }
}

fn stop_at_the_topmost(backtrace: &mut Backtrace) {
    backtrace.frames.truncate(1);
}

fn stop_and_say_so(backtrace: &mut Backtrace) {
    backtrace.frames.truncate(1);
    backtrace.end = End::Unspecified;
}

fn add(backtrace: &mut Backtrace, pc: u64) {
    let frame = Frame { pc, cfa: None, fp: Ok(0), mangled: None, interrupted: None };
    backtrace.frames.push(frame);
}

fn add_the_topmost_again(backtrace: &mut Backtrace) {
    add(backtrace, backtrace.frames[0].pc);
}

fn add_what_is_no_code(backtrace: &mut Backtrace) {
    add(backtrace, 0);
}

fn add_two(backtrace: &mut Backtrace) {
    add(backtrace, 0);
    add(backtrace, 0);
}

/// Says nothing at all.
struct Silent;

impl Unwinder for Silent {
    fn unwind(&mut self, _: &Viewpoint<'_>, _: &mut Backtrace) {}
}

#[test]
fn faults_of_an_unwinder_are_noticed() {
    let bytes = doctor::build("gnu-2.47/amd64/mutual_recursion.O2");
    let target = Target::open(&bytes).expect("a target");
    let sound = executable(&study_with(&target, Unwinders::of(&target), 1));
    // What an unwinder with each fault gets, in per cent: complete, incomplete, silent, wrong.
    let faults: [(&str, Change, [u64; 4]); 8] = [
        ("none", |_| {}, [100, 0, 0, 0]),
        ("a wrong CFA", add_8_to_the_cfa, [0, 0, 0, 99]),
        ("a caller is missing", leave_out_the_caller, [0, 0, 5, 94]),
        ("only the topmost frame", stop_at_the_topmost, [0, 0, 99, 0]),
        ("the same, and says so", stop_and_say_so, [0, 99, 0, 0]),
        ("the topmost frame comes again", add_the_topmost_again, [0, 0, 0, 100]),
        ("one frame more that is nowhere", add_what_is_no_code, [100, 0, 0, 0]),
        ("two of them", add_two, [0, 0, 0, 100]),
    ];
    for (fault, change, expected) in faults {
        let Unwinders { sframe, cfi, .. } = Unwinders::of(&target);
        let cfi = Box::new(Changed { inner: cfi, change });
        let unwinders =
            Unwinders { sframe, cfi, frame_pointers: Box::new(Silent), with_code: Box::new(Silent) };
        let found = executable(&study_with(&target, unwinders, 1));
        assert_eq!(found.unsettled, 0, "{fault}");
        let worth = found.cfi.worth();
        let shares = worth.counts().map(|(_, part)| 100 * part / worth.total());
        let is_near = shares.iter().zip(expected).all(|(share, expected)| share.abs_diff(expected) <= 1);
        assert!(is_near, "{fault}: {shares:?} instead of {expected:?}");
        // The others are judged for themselves.
        assert_eq!(found.sframe, sound.sframe, "{fault}");
        let nothing = Reliabilities { incomplete: found.sframe.worth().total(), ..Reliabilities::default() };
        let silent = [found.frame_pointers, found.with_code].map(|walks| walks.worth());
        assert_eq!(silent, [nothing, nothing], "{fault}");
    }
}

#[test]
fn a_wrong_row_takes_walks_from_sframe_alone() {
    let mut bytes = doctor::build("gnu-2.47/amd64/mutual_recursion.O2");
    let sound = executable(&study(&bytes, 1));
    patch_first_row(&mut bytes, "main");
    let executed = executable(&study(&bytes, 1));
    assert_eq!((&executed.cfi, &executed.frame_pointers), (&sound.cfi, &sound.frame_pointers));
    assert!(executed.sframe.worth().wrong > 0 && sound.sframe.worth().wrong == 0, "{executed:?}");
}

/// A sample has about the same shares, and counts all instructions.
#[test]
fn a_sample_is_like_the_whole() {
    let bytes = doctor::build("gnu-2.47/amd64/mutual_recursion.O0");
    let (all, some) = (executable(&study(&bytes, 1)), executable(&study(&bytes, 7)));
    assert_eq!(all.instructions, some.instructions);
    assert_eq!(all.sframe.worth().total().div_ceil(7), some.sframe.worth().total());
    let [all, some] = [all, some].map(|executed| complete(&executed.frame_pointers));
    assert!(all.abs_diff(some) <= 6, "{all} and {some}");
}

/// Where the correct answer is undecidable, all ways to walk are left out: they are compared at the same instructions.
#[rstest]
fn all_ways_have_the_same_walks(
    #[values("traced_returns", "eh_return")] program: &str,
    #[values("amd64", "aarch64", "s390x")] abi: &str,
) {
    let executed = executable(&study(&doctor::build(&format!("gnu-2.47/{abi}/{program}.O2")), 1));
    assert!(executed.unsettled > 10, "{executed:?}");
    let Executed { sframe, cfi, frame_pointers, with_code, .. } = executed;
    let totals = |walks: &Walks| -> Vec<_> {
        let of = |topmost: &Topmost| Some((*topmost, walks.by_topmost.0.get(topmost)?.total()));
        Topmost::ALL.iter().filter_map(of).collect()
    };
    assert!(totals(&sframe).len() > 1);
    for other in [cfi, frame_pointers, with_code] {
        assert_eq!(totals(&sframe), totals(&other));
    }
}
