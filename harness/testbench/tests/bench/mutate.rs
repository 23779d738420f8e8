//! The score of the bench: mutants of the corpus are noticed, and a bench with
//! a fault has a lower score.

use rstest::rstest;
use sframe_engine::Abi;
use sframe_judge::explore::Doubt;
use sframe_machine::Options;
use sframe_search::mutate::{Counts, MutateError, MutationReport, Operator, Plan, Reason, mutate};
use sframe_suite::suite::Filter;

use crate::common;
use crate::doctor::stride;

/// Tries mutants of the builds of some specs.
fn score(specs: &[&str], toolchain: &str, abi: Abi, plan: &Plan) -> MutationReport {
    try_score(specs, toolchain, abi, plan).expect("a score")
}

fn try_score(specs: &[&str], toolchain: &str, abi: Abi, plan: &Plan) -> Result<MutationReport, MutateError> {
    let suite = common::suite();
    let filter = Filter {
        specs: specs.iter().map(|spec| glob::Pattern::new(spec).expect("a pattern")).collect(),
        abis: vec![abi],
        toolchains: vec![toolchain.to_owned()],
        ..Filter::default()
    };
    let cases = suite.cases(&filter).expect("cases");
    mutate(&cases, suite.corpus(), &Options::default(), plan, &|| ())
}

fn assert_all_noticed(report: &MutationReport) {
    assert!(report.survived.is_empty(), "{:#?}", report.survived);
    assert_eq!(report.score, Some(100.0));
    let total = report.total;
    assert_eq!(total.mutants, total.killed + total.equivalent + total.not_exercised);
}

#[test]
fn every_mutant_of_every_version_is_noticed() {
    let plan = Plan::default();
    for (toolchain, abi) in [
        ("gnu-2.40", Abi::Amd64),
        ("gnu-2.44", Abi::Aarch64Be),
        ("gnu-2.47", Abi::Aarch64),
        ("gnu-2.47", Abi::S390x),
        ("derived-v2", Abi::S390x),
        ("llvm-22", Abi::Amd64),
    ] {
        let report = score(&["leaf"], toolchain, abi, &plan);
        assert_all_noticed(&report);
        assert!(report.total.killed > 500, "{toolchain}: {:?}", report.total);
    }
}

#[test]
fn every_operator_makes_mutants_that_are_noticed() {
    // A value may be in two places by chance: a few in ten thousand survive.
    const FLOOR: f64 = 99.5;
    let plan = Plan { sample: Some(4_000), seed: 1, ..Plan::default() };
    let mut seen = std::collections::BTreeSet::new();
    for (specs, abi) in [
        (&["handwritten", "signals_cfi", "realign"][..], Abi::S390x),
        (&["pauth", "signals_cfi"], Abi::Aarch64),
        (&["plt", "realign", "recursion"], Abi::Amd64),
    ] {
        let report = score(specs, "gnu-2.47", abi, &plan);
        assert!(report.score >= Some(FLOOR), "{:?}: {:#?}", report.score, report.survived);
        seen.extend(report.by_operator.iter().filter(|(_, score)| score.killed > 0).map(|(name, _)| *name));
    }
    let missing: Vec<_> = Operator::ALL.iter().filter(|operator| !seen.contains(operator)).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

/// The builds of `long_jump` for an ABI.
const LONG_JUMPS: u64 = 4;

/// A function whose rows are all wrong by as much, and which returns as any other. One that only ever leaves for
/// elsewhere may say so: `bench_longjmp` loads FP with what it will be there, and its rows are as right without FP's
/// slot. What it is killed by is a finding, and not that too much was excluded.
#[test]
fn what_is_wrong_throughout_a_function_is_noticed() {
    let operators = vec![Operator::CfaThroughout, Operator::RaThroughout, Operator::FpThroughout];
    let stride = stride(8);
    let sample = (stride > 1).then_some(160);
    let plan = Plan { operators: operators.clone(), sample, ..Plan::default() };
    for abi in Abi::ALL {
        let report = score(&["recursion", "varargs", "long_jump"], "gnu-2.47", abi, &plan);
        assert_all_noticed(&report);
        // No more than one of each build, of which s390x's are right by other means.
        let left_out = report.equivalent_by.get(&Reason::NoReturn).copied().unwrap_or(0);
        let enough = 400 / stride as u64;
        assert!(
            left_out <= LONG_JUMPS && report.total.killed > enough,
            "{abi}: {left_out}, {:?}",
            report.total
        );
        let of = |operator| report.by_operator.get(operator).map_or(0, |score| score.killed);
        // AMD64 fixes RA's slot.
        let expected =
            operators.iter().filter(|of| abi.fixed_ra_offset().is_none() || **of != Operator::RaThroughout);
        assert!(expected.clone().all(|operator| of(operator) > 0), "{abi}: {:?}", report.by_operator);
        let report = score(&["recursion"], "gnu-2.47", abi, &Plan { explores: true, ..plan.clone() });
        assert!(expected.clone().all(|operator| report.by_operator[operator].killed > 0), "{abi}");
        assert!(report.survived.is_empty(), "{:#?}", report.survived);
    }
}

/// Rows that are used while a signal is handled and not otherwise, and the FDE of what handlers return to: spec and mutants
/// are judged with the signals.
#[rstest]
fn what_is_wrong_in_handlers_of_signals_is_noticed(#[values(Abi::Aarch64, Abi::Aarch64Be)] abi: Abi) {
    let operators = vec![Operator::RaThroughout, Operator::FpThroughout, Operator::FdeRemoved];
    let plan = Plan { operators, ..Plan::default() };
    let report = score(&["signals_plt"], "gnu-2.47", abi, &plan);
    assert_all_noticed(&report);
    assert!(report.total.killed > 50, "{:?}", report.total);
}

#[test]
fn the_same_seed_takes_the_same_mutants() {
    let take = |seed| {
        let plan = Plan { sample: Some(60), seed, ..Plan::default() };
        let report = score(&["recursion"], "gnu-2.44", Abi::Amd64, &plan);
        assert!((1..=60).contains(&report.total.mutants), "{:?}", report.total);
        report.by_operator.iter().map(|(name, score)| (*name, *score)).collect::<Vec<_>>()
    };
    assert_eq!(take(7), take(7));
    assert_ne!(take(7), take(8));
}

#[test]
fn a_comparison_with_a_fault_has_a_lower_score() {
    let operators = vec![Operator::FpOffset, Operator::CfaOffset];
    let plan = Plan { operators, ignores_fp: true, ..Plan::default() };
    let report = score(&["recursion"], "gnu-2.44", Abi::Amd64, &plan);
    assert!(report.score < Some(90.0), "{:?}", report.score);
    let offsets = report.by_operator[&Operator::FpOffset];
    assert!(offsets.survived > 0, "{offsets:?}");
    let survivor = &report.survived[0];
    assert_eq!(survivor.operator, Operator::FpOffset);
    assert!(survivor.function.is_some() && survivor.row.is_some() && !survivor.disassembly.is_empty());
    // The rest of the comparison is unaffected.
    assert_eq!(report.by_operator[&Operator::CfaOffset].survived, 0);
}

#[test]
fn rows_that_nothing_executes_do_not_flatter_the_score() {
    let plan = Plan { operators: vec![Operator::CfaOffset], ..Plan::default() };
    let report = score(&["protector"], "gnu-2.47", Abi::Amd64, &plan);
    assert_all_noticed(&report);
    assert!(report.total.not_exercised > 0, "{:?}", report.total);
}

#[test]
fn reasons_for_equivalence_are_counted() {
    let operators = vec![Operator::PauthKey, Operator::FpDropped, Operator::FixedRa];
    let report = score(&["leaf"], "gnu-2.47", Abi::Amd64, &Plan { operators, ..Plan::default() });
    assert_all_noticed(&report);
    // After `push %rbp`, FP is in its register and in its slot.
    assert!(report.equivalent_by[&Reason::SameValue] > 0, "{:?}", report.equivalent_by);
    let operators = vec![Operator::PauthKey];
    let report = score(&["leaf"], "gnu-2.47", Abi::Aarch64, &Plan { operators, ..Plan::default() });
    // No return address is signed there.
    assert_eq!(report.total.killed, 0);
    assert_eq!(report.equivalent_by.keys().collect::<Vec<_>>(), [&Reason::SameMeaning]);
    assert_eq!(report.score, None);
}

/// What is true at the previous or next instruction is also true at one that
/// does not change it.
#[test]
fn rows_that_stand_for_their_neighbours_are_not_mistakes() {
    let plan = Plan { operators: vec![Operator::RowsSwapped, Operator::RowStart], ..Plan::default() };
    for (spec, abi) in
        [("offset_limits", Abi::Amd64), ("offset_limits", Abi::Aarch64), ("signed_rows", Abi::Aarch64)]
    {
        let report = score(&[spec], "gnu-2.44", abi, &plan);
        assert_all_noticed(&report);
        assert!(report.equivalent_by[&Reason::SameValue] > 0, "{spec}: {:?}", report.equivalent_by);
        assert!(report.total.killed > report.total.equivalent, "{spec}: {:?}", report.total);
    }
}

/// Exploring proves mutants of rows that it reaches to be wrong: of some builds of each toolchain, or of
/// as many mutants of all builds as $EXPLORED_MUTANTS says.
#[test]
fn mutants_of_explored_rows_are_proved_wrong() {
    let sample = std::env::var("EXPLORED_MUTANTS").ok().map(|count| count.parse().expect("a number"));
    let programs = if sample.is_some() { &[][..] } else { &["leaf", "recursion", "pauth"] };
    let suite = common::suite();
    let filter = Filter {
        specs: programs.iter().map(|spec| glob::Pattern::new(spec).expect("a pattern")).collect(),
        ..Filter::default()
    };
    let cases = suite.cases(&filter).expect("cases");
    let plan = Plan { sample: sample.or(Some(4_000)), seed: 1, explores: true, ..Plan::default() };
    let report = mutate(&cases, suite.corpus(), &Options::default(), &plan, &|| ()).expect("a score");
    println!("{:?}: {:?}, {:?}, {:?}", report.score, report.total, report.possible_by, report.survived);
    // Of 40,000 mutants, 99.0 % were proved; few programs may have more functions that raise doubts.
    let floor = if sample.is_some() { 98.9 } else { 98.0 };
    assert!(report.score >= Some(floor), "{:?}: {:?}", report.score, report.possible_by);
    assert_eq!(report.by_abi.len(), 4);
    assert!(report.by_operator.keys().all(|operator| *operator != Operator::FdeRemoved), "only rows change");
    let Counts { mutants, killed, equivalent, not_exercised, possible } = report.total;
    let survived = report.survived.len() as u64;
    assert_eq!(mutants, killed + equivalent + not_exercised + possible + survived);
    assert_eq!(report.unproved.len() as u64, possible);
    assert!(report.unproved.iter().all(|mutant| !mutant.doubts.is_empty()));
    // Fewer than one in a thousand has the right value in two places, with either seed.
    assert!(survived * 1_000 <= mutants, "{:#?}", report.survived);
    // Without a row for the first instructions, nobody knows their caller.
    assert!(report.killed_by["truncated"] > 0, "{:?}", report.killed_by);
}

/// Nothing is proved where there is a doubt: FP as the CFA's base that holds another value.
#[test]
fn what_exploring_only_suspects_counts_against_the_score() {
    let plan = Plan { operators: vec![Operator::CfaBase], explores: true, ..Plan::default() };
    let report = score(&["interleaved_sp"], "gnu-2.44", Abi::Amd64, &plan);
    let suspected = report.possible_by[&Doubt::BaseOffStack];
    assert!(suspected > 0 && suspected == report.total.possible, "{:?}", report.possible_by);
    assert!(report.score < Some(100.0) && report.total.killed > report.total.possible, "{:?}", report.total);
}
