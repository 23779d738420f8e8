//! Samples of the instructions: what is compared, and what is left out.

use std::num::{NonZeroU32, NonZeroU64};

use rayon::prelude::*;
use sframe_judge::examine::sampling::{Sampling, Start};
use sframe_judge::examine::{Examination, ExamineOptions, examine};
use sframe_judge::finding::Finding;
use sframe_judge::target::Target;
use sframe_judge::unwind::{BlackBox, SframeUnwinder, Unwinder, sframe_unwinder};
use sframe_machine::Options;

use crate::doctor::{self, patch_first_row};

fn per_place(most: u32) -> Sampling {
    Sampling { per_place: NonZeroU32::new(most), ..Sampling::default() }
}

fn every(every: u64) -> Sampling {
    Sampling { every: NonZeroU64::new(every), ..Sampling::default() }
}

fn from(target: &Target<'_>, function: &str) -> Option<Start> {
    let address = target.addresses_of(function).first()?.0;
    Some(Start { function: function.to_owned(), address })
}

/// Runs a program, and checks that no instruction is lost.
fn sampled(name: &str, target: &Target<'_>, sampling: Sampling, unwinder: &mut dyn Unwinder) -> Examination {
    let look = ExamineOptions { sampling, observes: true, ..ExamineOptions::default() };
    let options = Options { budget: 6000, ..Options::default() };
    let seen = examine(target, unwinder, &look, &options).expect("a machine");
    let counted = seen.counts.comparisons
        + seen.counts.nothing_compared
        + seen.counts.walk_ends.unsettled
        + seen.left_out;
    assert_eq!(counted, seen.counts.instructions, "{name}, {}", look.sampling);
    seen
}

/// Builds with many kinds of control flow.
fn builds() -> Vec<String> {
    let programs = [
        "call_on_stack",
        "contexts",
        "coroutines",
        "cplusplus",
        "eh_return",
        "landing_pads",
        "long_jump",
        "mutual_recursion",
        "realign",
        "recursion",
        "signals",
        "signal_stack",
        "tail_calls",
    ];
    let mut builds = Vec::new();
    for (abi, variant) in [("amd64", "O2"), ("aarch64", "O0"), ("aarch64_be", "O2"), ("s390x", "O2")] {
        builds.extend(programs.map(|program| format!("gnu-2.44/{abi}/{program}.{variant}")));
    }
    builds.retain(|id| crate::common::repository().join("corpus/builds").join(id).exists());
    builds
}

#[test]
fn a_kept_walk_finds_the_same_as_a_whole_one_across_gaps() {
    let builds = builds();
    assert!(builds.len() > 20, "{builds:?}");
    let left_out: u64 = builds
        .par_iter()
        .map(|id| {
            let bytes = doctor::build(id);
            let target = Target::open(&bytes).expect("a target");
            let main = Sampling { from: from(&target, "main"), ..Sampling::default() };
            let mixed = Sampling { every: NonZeroU64::new(3), ..per_place(4) };
            let samplings = [every(2), every(7), every(50), per_place(1), per_place(3), main, mixed];
            let both_ways = |sampling: Sampling| {
                let kept = sampled(id, &target, sampling.clone(), &mut *sframe_unwinder(&target));
                let bits = target.executable().image.cpu.address_bits;
                let mut unwinder = BlackBox(SframeUnwinder::new(target.sections.clone(), bits));
                let mut whole = sampled(id, &target, sampling.clone(), &mut unwinder);
                whole.counts.frames_derived = kept.counts.frames_derived;
                assert!(kept == whole, "{id}, {sampling}: kept walks\n{kept:#?}\nwhole walks\n{whole:#?}");
                kept.left_out
            };
            samplings.into_iter().map(both_ways).sum::<u64>()
        })
        .sum();
    assert!(left_out > 10_000, "{left_out}");
}

/// What findings say, except for how often.
fn without_hits(findings: &[Finding]) -> Vec<Finding> {
    let mut findings = findings.to_vec();
    findings.iter_mut().for_each(|finding| finding.hits = 0);
    findings
}

/// At most three comparisons at each place show every wrong row, and all rows that run.
#[test]
fn each_place_is_compared_and_no_fault_is_missed() {
    let mut found = 0;
    for id in builds() {
        let sound = doctor::build(&id);
        let mut wrong = sound.clone();
        patch_first_row(&mut wrong, "main");
        for bytes in [sound, wrong] {
            let target = Target::open(&bytes).expect("a target");
            let all = sampled(&id, &target, Sampling::default(), &mut *sframe_unwinder(&target));
            for most in [1, 3] {
                let some = sampled(&id, &target, per_place(most), &mut *sframe_unwinder(&target));
                assert_eq!(without_hits(&some.findings), without_hits(&all.findings), "{id}, {most}");
                assert_eq!(some.coverage, all.coverage, "{id}, {most}");
                assert_eq!(
                    (some.end, some.counts.instructions),
                    (all.end.clone(), all.counts.instructions),
                    "{id}, {most}"
                );
                assert_eq!(some.counts.traces, all.counts.traces, "{id}, {most}");
                assert_eq!(some.features, all.features, "{id}, {most}");
                assert_eq!(some.end_places, all.end_places, "{id}, {most}");
                assert!(some.counts.comparisons < all.counts.comparisons, "{id}, {most}");
                found += some.findings.len();
            }
        }
    }
    assert!(found > 20, "{found}");
}
