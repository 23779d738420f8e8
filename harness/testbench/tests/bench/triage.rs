//! Each finding is blamed on the component that needs the fix: faults are put
//! into builds, unwinders and the witness, one at a time.

use std::collections::BTreeSet;

use object::{Object, ObjectSection};
use rstest::rstest;
use sframe_engine::{InstructionPointer, StepError};
use sframe_judge::examine::Examination;
use sframe_judge::finding::{Blame, Confidence, Finding, Side, Witness};
use sframe_judge::target::Target;
use sframe_judge::unwind::{Backtrace, End, MakeUnwinder, Unwinder, sframe_unwinder};
use sframe_judge::vocabulary::Verdict;
use sframe_machine::{Options, WitnessFaults};
use sframe_suite::case::{CaseReport, Outcome};
use sframe_suite::suite::{Filter, Suite};

use crate::common;
use crate::doctor::{Changed, adds_8_to_the_cfa, build, check, patch_first_row, section_offset};
use crate::rows;

/// The blame and its confidence, which are the same for all findings.
fn only_blame(examination: &Examination) -> (Blame, Confidence) {
    let blames: BTreeSet<_> =
        examination.findings.iter().map(|finding| (finding.blame, finding.confidence)).collect();
    assert_eq!(blames.len(), 1, "{blames:?}");
    blames.into_iter().next().expect("one")
}

fn says(finding: &Finding, witness: Witness) -> Option<Side> {
    let all = || finding.evidence.iter().filter(|evidence| evidence.witness == witness);
    assert!(all().count() > 0, "{witness} was not asked: {:?}", finding.evidence);
    all().find_map(|evidence| evidence.agrees_with)
}

#[rstest]
#[case("gnu-2.40/amd64/recursion.O2")]
#[case("gnu-2.44/aarch64/recursion.O2")]
#[case("gnu-2.44/aarch64_be/recursion.O2")]
#[case("gnu-2.47/s390x/recursion.O2")]
fn a_row_that_is_wrong_where_cfi_is_right_is_blamed_on_the_assembler(#[case] id: &str) {
    let mut bytes = build(id);
    patch_first_row(&mut bytes, "leaf");
    let examination = check(&bytes, &sframe_unwinder);
    assert_eq!(only_blame(&examination), (Blame::ProducerAssembler, Confidence::High));
    for finding in &examination.findings {
        assert_eq!(says(finding, Witness::Reader), Some(Side::Section));
        assert_eq!(says(finding, Witness::Cfi), Some(Side::CallStack));
        assert_eq!(says(finding, Witness::Instructions), Some(Side::CallStack));
        assert!(finding.instruction.is_some() && finding.listing.len() > 1);
    }
    let stack = examination.findings[0].stack.as_ref().expect("the stack");
    let marks: Vec<&str> = stack.slots.iter().flat_map(|slot| &slot.marks).map(String::as_str).collect();
    assert!(marks.contains(&"SP") && marks.contains(&"true CFA"), "{marks:?}");
    assert!(marks.contains(&"CFA by the section"), "{marks:?}");
}

/// What rewrites files in place changes code and call frame information, and leaves rows as they were.
#[test]
fn a_row_that_is_wrong_where_cfi_is_right_in_a_rewritten_file_is_blamed_on_what_rewrote_it() {
    let mut bytes = build("gnu-2.47/amd64/recursion.O2");
    patch_first_row(&mut bytes, "leaf");
    let name = b".debug_rnglists";
    let at = bytes.windows(name.len()).rposition(|bytes| bytes == name).expect("the name of a section");
    bytes[at..at + name.len()].copy_from_slice(b".note.bolt_info");
    assert_eq!(only_blame(&check(&bytes, &sframe_unwinder)), (Blame::Rewriter, Confidence::Medium));
}

#[test]
fn a_wrong_row_of_a_plt_entry_is_blamed_on_the_linker() {
    let mut bytes = build("gnu-2.47/amd64/plt.O2-shared");
    let names = {
        let target = Target::open(&bytes).expect("a target");
        let names = target.executable().subject.symbols.names();
        names.filter(|name| name.ends_with("@plt")).map(str::to_owned).collect::<Vec<_>>()
    };
    patch_first_row(&mut bytes, names.first().expect("an entry"));
    assert_eq!(only_blame(&check(&bytes, &sframe_unwinder)).0, Blame::ProducerLinker);
}

#[test]
fn an_fde_that_begins_elsewhere_than_that_of_the_cfi_is_blamed_on_the_linker() {
    let mut bytes = build("gnu-2.44/aarch64/recursion.O2");
    let index = {
        let target = Target::open(&bytes).expect("a target");
        let start = InstructionPointer::from(target.addresses_of("descend")[0]);
        let fde = target.sections.lookup_fde(start);
        fde.expect("a sound section").expect("an FDE").index as usize
    };
    // Version 2: FDEs of 20 bytes, each of which begins with its start address.
    let field = section_offset(&bytes) + 28 + index * 20;
    let start = bytes[field..][..4].first_chunk::<4>().copied().expect("four bytes");
    bytes[field..field + 4].copy_from_slice(&(i32::from_le_bytes(start) + 4).to_le_bytes());
    let examination = check(&bytes, &sframe_unwinder);
    assert_eq!(only_blame(&examination), (Blame::ProducerLinker, Confidence::Medium));
}

#[test]
fn without_cfi_nobody_can_be_blamed() {
    let id = "gnu-2.44/amd64/recursion.O2";
    let cfi_at = |bytes: &[u8]| {
        let elf = object::File::parse(bytes).expect("an ELF file");
        let section = elf.section_by_name(".eh_frame").expect("call frame information");
        usize::try_from(section.file_range().expect("bytes").0).expect("an offset")
    };
    let mut bytes = build(id);
    patch_first_row(&mut bytes, "leaf");
    let offset = cfi_at(&bytes);
    // An entry of length 0 ends the section.
    bytes[offset..offset + 4].fill(0);
    let examination = check(&bytes, &sframe_unwinder);
    assert_eq!(only_blame(&examination), (Blame::Unknown, Confidence::Medium));
    // Unreadable CFI is no better, and no reason to give up.
    bytes[offset..offset + 4].fill(0xee);
    assert_eq!(only_blame(&check(&bytes, &sframe_unwinder)).0, Blame::Unknown);
}

fn loses_fp<'a>(target: &Target<'a>) -> Box<dyn Unwinder + 'a> {
    let change = |backtrace: &mut Backtrace| {
        for frame in backtrace.frames.iter_mut().skip(1) {
            frame.fp = Ok(0x1234);
        }
    };
    Box::new(Changed { inner: sframe_unwinder(target), change })
}

fn sees_no_fde<'a>(target: &Target<'a>) -> Box<dyn Unwinder + 'a> {
    let change = |backtrace: &mut Backtrace| {
        backtrace.frames.truncate(1);
        backtrace.end = End::Failed(StepError::NoFde);
    };
    Box::new(Changed { inner: sframe_unwinder(target), change })
}

fn jumps_a_frame<'a>(target: &Target<'a>) -> Box<dyn Unwinder + 'a> {
    let change = |backtrace: &mut Backtrace| {
        if backtrace.frames.len() > 2 {
            backtrace.frames.remove(1);
        }
    };
    Box::new(Changed { inner: sframe_unwinder(target), change })
}

#[rstest]
#[case::cfa(&adds_8_to_the_cfa)]
#[case::fp(&loses_fp)]
#[case::ra(&jumps_a_frame)]
#[case::fde(&sees_no_fde)]
fn an_unwinder_that_does_not_follow_right_rows_is_to_blame(#[case] make: &MakeUnwinder) {
    for id in ["gnu-2.40/aarch64/recursion.O2", "gnu-2.44/amd64/recursion.O2", "gnu-2.47/s390x/recursion.O2"]
    {
        let examination = check(&build(id), make);
        assert!(!examination.findings.is_empty());
        assert_eq!(only_blame(&examination), (Blame::Consumer, Confidence::High), "{id}");
    }
}

/// The unexpected reports of a spec whose call stacks a faulty witness has followed.
fn with_a_faulty_witness(spec: &str, faults: WitnessFaults) -> Vec<CaseReport> {
    let suite = common::suite();
    let specs = vec![glob::Pattern::new(spec).expect("a pattern")];
    let filter = Filter { specs, toolchains: vec!["gnu-2.47".to_owned()], ..Filter::default() };
    let cases = suite.cases(&filter).expect("cases");
    let options = Options { witness_faults: faults, ..Options::default() };
    let mut reports = suite.run(&cases, &options, &sframe_unwinder, &|_| ());
    reports.retain(|report| report.outcome == Outcome::Unexpected);
    assert!(!reports.is_empty());
    reports
}

fn of_rows(reports: &[CaseReport]) -> Vec<&Finding> {
    let findings = reports.iter().flat_map(|report| &report.findings);
    findings.filter(|finding| finding.stack.is_some()).collect()
}

/// A wrong call stack: rows, CFI and instructions agree with one another. If
/// the instructions are inconclusive, the compiler is suspected too.
#[test]
fn a_wrong_call_stack_is_blamed_on_the_bench() {
    let faults = WitnessFaults { misses_nonlocal_exits: true, ..WitnessFaults::default() };
    let reports = with_a_faulty_witness("nonlocal_goto", faults);
    let findings = of_rows(&reports);
    assert!(findings.iter().any(|finding| finding.blame == Blame::Bench));
    // Where CFI and the section agree, nothing is certain.
    assert!(findings.iter().all(|finding| finding.confidence != Confidence::High), "{findings:#?}");
    let suspects = [Blame::Bench, Blame::CompilerOrCfi];
    assert!(findings.iter().all(|finding| suspects.contains(&finding.blame)));
}

/// Known bugs of the corpus: their specs name the culprit, which each run
/// compares. This test checks that each kind of producer is among them.
#[test]
fn each_kind_of_producer_has_a_fault_in_the_corpus() {
    let suite = common::suite();
    let specs = ["cold_paths", "crossing_ibt", "leaf"];
    let specs = specs.iter().map(|name| glob::Pattern::new(name).expect("a pattern")).collect();
    let cases = suite.cases(&Filter { specs, ..Filter::default() }).expect("cases");
    let reports = suite.run(&cases, &Options::default(), &sframe_unwinder, &|_| ());
    let known = reports.iter().flat_map(|report| &report.known);
    let blames: BTreeSet<Blame> = known.map(|known| known.finding.blame).collect();
    let producers = [Blame::ProducerAssembler, Blame::ProducerLinker, Blame::CompilerOrCfi];
    assert_eq!(blames, BTreeSet::from(producers));
}

/// Wrong CFI does not excuse a row that differs from it.
#[test]
fn a_row_that_is_not_a_copy_of_wrong_cfi_is_blamed_on_the_assembler() {
    let id = "gnu-2.47/s390x/leaf.O2";
    let bytes = build(id);
    let of_row = |examination: &Examination| {
        let is_it = |finding: &&Finding| {
            finding.verdict == Verdict::WrongCfa && finding.function.as_deref() == Some("leaf_with_locals")
        };
        let found: Vec<Finding> = examination.findings.iter().filter(is_it).cloned().collect();
        assert!(!found.is_empty());
        found
    };
    for finding in of_row(&check(&bytes, &sframe_unwinder)) {
        assert_eq!(finding.blame, Blame::CompilerOrCfi);
    }
    let rows = rows::rows_of(&bytes, "leaf_with_locals");
    let mut changed = 0;
    for at in rows {
        let mut bytes = bytes.clone();
        // CFA = SP+160 is written as (160 - 160) / 8 where CFI is wrong.
        if bytes[at] != 0 {
            continue;
        }
        bytes[at] = 2;
        let Ok(target) = Target::open(&bytes) else { continue };
        drop(target);
        let examination = check(&bytes, &sframe_unwinder);
        for finding in examination.findings {
            let is_new =
                finding.row.as_ref().is_some_and(|row| row.rules.to_string().starts_with("CFA = SP+176"));
            if finding.verdict == Verdict::WrongCfa && is_new {
                assert_ne!(finding.blame, Blame::CompilerOrCfi, "{}", finding.message);
                changed += 1;
            }
        }
    }
    assert!(changed > 0);
}

/// The only case of a spec that has one known failure.
fn run_known(blame: &str, rules: &str) -> CaseReport {
    let folder = tempfile::tempdir().expect("a folder");
    let text = format!(
        "program: leaf\nsummary: A spec that a test has written.\ntoolchains: [gnu-2.47]\ntargets: [s390x]\n\
         stops: [{{at: main, where: {{variant: O2}}}}]\nskip:\n  - where: {{variant: [O0, O2-fp, O2-pie]}}\n    \
         reason: One build is enough.\nknown:\n  - where: {{variant: O2}}\n    verdict: wrong-cfa\n    \
         blame: {blame}\n    function: leaf_with_locals\n    {rules}reason: The compiler resets the CFA too early.\n"
    );
    std::fs::write(folder.path().join("leaf.yaml"), text).expect("a file");
    let suite = Suite::open(&common::repository().join("corpus"), folder.path()).expect("a suite");
    let cases = suite.cases(&Filter::default()).expect("cases");
    let reports = suite.run(&cases, &Options::default(), &sframe_unwinder, &|_| ());
    let mut ran = reports.into_iter().filter(|report| report.outcome != Outcome::Skipped);
    let report = ran.next().expect("a case");
    assert!(ran.next().is_none() && report.known.len() == 1, "{:?}", report.findings);
    report
}

/// The rules and places of that failure, as in a spec.
fn known_rules() -> (String, u64) {
    let report = run_known("compiler-or-cfi", "");
    let rules = report.known[0].rules.iter();
    let [(rules, count)] = rules.collect::<Vec<_>>()[..] else { panic!("{:?}", report.known[0].rules) };
    (rules.clone(), *count)
}

fn changed(report: &CaseReport) -> Vec<&Finding> {
    report.findings.iter().filter(|finding| finding.verdict == Verdict::ChangedFailure).collect()
}

/// A spec that blames something other than triage does.
#[test]
fn a_known_fault_that_is_blamed_on_somebody_else_has_changed() {
    let (rules, count) = known_rules();
    let rules = format!("rules: {{'{rules}': {count}}}\n    ");
    let as_said = run_known("compiler-or-cfi", &rules);
    assert!(changed(&as_said).is_empty() && !as_said.known[0].changed);
    let report = run_known("producer-linker", &rules);
    let [changed] = changed(&report)[..] else { panic!("{:?}", report.findings) };
    assert!(report.known[0].changed, "it is counted twice");
    assert!(changed.message.to_string().contains("the entry blames producer-linker"), "{}", changed.message);
    assert!(changed.got.to_string().starts_with("compiler-or-cfi"), "{}", changed.got);
}

#[test]
fn a_known_fault_with_other_rules_or_places_has_changed() {
    let (rules, count) = known_rules();
    let mapping = |rules: &str, count: u64| format!("{{'{rules}': {count}}}");
    let (right, more) = (mapping(&rules, count), mapping(&rules, count + 1));
    let other = mapping(&rules.replace("SP", "FP"), count);
    let both = format!("{{'{rules}': {count}, no row: 1}}");
    for (rules, is_known) in [
        (right.clone(), true),
        (format!("[{other}, {right}]"), true),
        (other, false),
        (more, false),
        (both, false),
    ] {
        let report = run_known("compiler-or-cfi", &format!("rules: {rules}\n    "));
        assert_eq!(report.outcome == Outcome::Known, is_known, "{rules}");
        assert_eq!(changed(&report).is_empty(), is_known, "{rules}");
    }
    let report = run_known("compiler-or-cfi", "");
    let [changed] = changed(&report)[..] else { panic!("{:?}", report.findings) };
    assert!(changed.expected.to_string().contains("bless --known"), "{}", changed.expected);
}
