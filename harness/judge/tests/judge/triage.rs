//! Each finding is blamed on the component that needs the fix: faults are put
//! into builds and unwinders, one at a time.

use std::collections::BTreeSet;

use object::{Object, ObjectSection};
use rstest::rstest;
use sframe_engine::{InstructionPointer, StepError};
use sframe_judge::examine::Examination;
use sframe_judge::finding::{Blame, Confidence, Finding, Side, Witness};
use sframe_judge::target::Target;
use sframe_judge::unwind::{Backtrace, End, MakeUnwinder, Unwinder, sframe_unwinder};
use sframe_judge::vocabulary::Verdict;

use crate::doctor::{Changed, adds_8_to_the_cfa, build, check, patch_first_row, rows_of, section_offset};

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
    let rows = rows_of(&bytes, "leaf_with_locals");
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
