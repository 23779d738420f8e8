//! What linkers do to a section as a whole: input sections that are concatenated,
//! and relocations of starts that are written elsewhere. Each is one finding of
//! `lint`, of `diff` and of `check`, with the linker as the culprit.

use std::path::Path;

use object::elf::SHT_GNU_SFRAME;
use object::{Object as _, ObjectSection as _};
use rstest::rstest;
use sframe_elf::object_file::ObjectFile;
use sframe_elf::replace_section::embed;
use sframe_engine::PcType;
use sframe_engine::write::Section;
use sframe_inspect::diff::{DiffReport, Field, Reason, diff_file};
use sframe_inspect::lint::{LintReport, lint_file};
use sframe_judge::examine::{ExamineOptions, examine};
use sframe_judge::explore::{Certainty, ExploreOptions, ExploredFile, Roots, explore};
use sframe_judge::finding::{Blame, Confidence, Finding};
use sframe_judge::target::{SectionSource, Target};
use sframe_judge::unwind::sframe_unwinder;
use sframe_judge::vocabulary::Verdict;

use crate::command::{bench, json};
use crate::common::repository;

fn build(id: &str) -> Vec<u8> {
    let builds = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus/builds");
    std::fs::read(builds.join(id)).expect("a build")
}

fn section_of(bytes: &[u8]) -> Section {
    let sframe = ObjectFile::parse(bytes).expect("a build").sframe.expect("a section");
    let read = sframe_engine::Section::parse(sframe.data, sframe.address).expect("a sound section");
    Section::from_read(&read).expect("a sound section")
}

fn lint(bytes: &[u8]) -> LintReport {
    lint_file(bytes, "file").expect("a file that can be linted")
}

/// The rules of a severity that a file breaks, one for each time it does.
fn broken(bytes: &[u8], severity: &str) -> Vec<&'static str> {
    let report = lint(bytes);
    report
        .findings
        .iter()
        .filter(|finding| finding.severity == severity)
        .map(|finding| finding.rule)
        .collect()
}

fn diff(bytes: &[u8]) -> DiffReport {
    diff_file(bytes, "file").expect("a file that can be compared")
}

fn check(bytes: &[u8]) -> Vec<Finding> {
    let target = Target::open(bytes).expect("an executable with a section");
    let mut unwinder = sframe_unwinder(&target);
    let examination = examine(&target, &mut *unwinder, &ExamineOptions::default(), &Default::default());
    examination.expect("a machine").findings
}

/// What exploring shows, and of that what is about a section as a whole.
fn explored(bytes: &[u8]) -> Vec<(Verdict, Blame, bool)> {
    let target = Target::open(bytes).expect("an executable with a section");
    let exploration = explore(&target, &Roots::of(&target), &ExploreOptions::default()).expect("a machine");
    let findings = exploration.with_section_faults(&target).findings();
    let proved = findings.iter().filter(|found| found.certainty == Certainty::Proved);
    proved.map(|found| (found.finding.verdict, found.finding.blame, found.finding.pc.is_none())).collect()
}

/// One finding of exploring, about the section, with the linker as the culprit.
const ONE_FAULT: [(Verdict, Blame, bool); 1] = [(Verdict::DecodeError, Blame::ProducerLinker, true)];

/// Splits a section as if it came from two objects.
fn halves(section: &Section) -> [Section; 2] {
    let half = section.functions.len() / 2;
    [&section.functions[..half], &section.functions[half..]].map(|functions| {
        let mut functions = functions.to_vec();
        let mut order: Vec<usize> = (0..functions.len()).collect();
        order.sort_by_key(|index| functions[*index].rows_position);
        for (position, index) in (0..).zip(order) {
            functions[index].rows_position = position;
        }
        Section { functions, ..section.clone() }
    })
}

/// A build with the sections of two objects, one after the other.
fn concatenated(bytes: &[u8]) -> Vec<u8> {
    let [first, second] = halves(&section_of(bytes));
    let written = embed(bytes, SHT_GNU_SFRAME, |address| {
        let mut data = first.write(address)?;
        data.resize(data.len().next_multiple_of(8), 0);
        let rest = second.write(address + data.len() as u64)?;
        data.extend(rest);
        Ok(data)
    });
    written.expect("room for the section")
}

#[rstest]
fn sections_that_are_concatenated_are_one_finding_of_each_command(
    #[values(
        "gnu-2.40/amd64/recursion.O2",
        "gnu-2.44/aarch64/recursion.O2-pie",
        "gnu-2.40/aarch64_be/recursion.O2",
        "gnu-2.47/s390x/recursion.O2",
        "gnu-2.47/amd64/recursion.O2-pie"
    )]
    id: &str,
) {
    let merged = build(id);
    assert_eq!((broken(&merged, "error"), diff(&merged).findings, check(&merged)), (vec![], vec![], vec![]));
    let bytes = concatenated(&merged);
    let whole = section_of(&merged).functions.len();
    let [first, second] = halves(&section_of(&merged)).map(|section| section.functions.len());
    assert!(first > 0 && second > 1 && first + second == whole);

    assert_eq!(broken(&bytes, "error"), ["SF121"]);
    let report = lint(&bytes);
    let finding = report.findings.iter().find(|finding| finding.rule == "SF121").expect("it");
    assert!(finding.message.contains(&second.to_string()), "{}", finding.message);
    // No function lacks an FDE for another reason, and the bytes are more than padding.
    let other = |bytes: &[u8]| {
        let mut notes = broken(bytes, "note");
        notes.retain(|rule| ["SF119", "SF411", "SF412"].contains(rule));
        notes
    };
    let of_padding =
        |rules: Vec<&'static str>| rules.into_iter().filter(|rule| *rule != "SF119").collect::<Vec<_>>();
    assert_eq!(other(&bytes), of_padding(other(&merged)));

    let report = diff(&bytes);
    let [finding] = &report.findings[..] else { panic!("{:?}", report.findings) };
    assert_eq!((finding.field, finding.blame), (Field::Section, Blame::ProducerLinker));
    assert_eq!(finding.confidence, Confidence::High);
    assert!(!finding.evidence.is_empty());
    let lost: Vec<_> = report.uncovered.iter().filter(|one| one.reason == Some(Reason::NotMerged)).collect();
    assert_eq!(finding.pcs, lost.iter().map(|one| one.extent.pcs).sum::<u64>());
    assert_eq!(
        report.uncovered.iter().filter(|one| one.reason.is_none()).count(),
        0,
        "{:?}",
        report.uncovered
    );
    assert!(finding.pcs > 0 && report.compared + finding.pcs == diff(&merged).compared);
    assert!(report.text().contains("difference: section, "), "{}", report.text());
    assert!(report.text().contains("likely cause: producer-linker"), "{}", report.text());

    assert_eq!(explored(&bytes), ONE_FAULT);
    let found = check(&bytes);
    let [finding] = &found[..] else { panic!("{found:?}") };
    assert_eq!((finding.verdict, finding.blame), (Verdict::DecodeError, Blame::ProducerLinker));
    assert!(finding.message.to_string().contains(&format!("{second} FDEs")), "{}", finding.message);
}

/// The section of a build with one start unrelocated, and its relocation applied to
/// the rows of another function.
fn with_relocation_in_a_row(bytes: &[u8], width: usize) -> (Vec<u8>, String) {
    let subject = ObjectFile::parse(bytes).expect("a build");
    let sframe = subject.sframe.expect("a section");
    let read = sframe_engine::Section::parse(sframe.data, sframe.address).expect("a sound section");
    let named = |name: &str| {
        let start = subject.symbols.addresses_of(name)[0];
        read.fdes().flatten().find(|fde| fde.start == start).expect("an FDE")
    };
    let (moved, hit) = (named("leaf"), named("descend"));
    let header = read.header();
    let field = header.end() + header.fdeoff as usize + moved.index as usize * header.version.fde_size();
    let file = object::File::parse(bytes).expect("ELF");
    let (at, _) = file.section_by_name(".sframe").expect("it").file_range().expect("bytes");
    let at = usize::try_from(at).expect("small");
    let mut bytes = bytes.to_vec();
    bytes[at + field..at + field + width].fill(0);
    // Past the first row's start and info byte.
    let place = hit.rows_offset + 2;
    let value = moved.start.wrapping_sub(sframe.address + place as u64);
    let is_little = header.abi.byte_order() == sframe_engine::ByteOrder::Little;
    let value = if is_little { value.to_le_bytes() } else { value.to_be_bytes() };
    let value = if is_little { &value[..width] } else { &value[8 - width..] };
    bytes[at + place..at + place + width].copy_from_slice(value);
    (bytes, format!("{place:#x}"))
}

#[rstest]
#[case("gnu-2.44/amd64/recursion.O2", 4)]
#[case("gnu-2.40/aarch64_be/recursion.O2", 4)]
#[case("gnu-2.47/amd64/recursion.O2-pie", 8)]
#[case("gnu-2.47/s390x/recursion.O2", 8)]
fn a_relocation_in_a_row_is_one_finding_of_each_command(#[case] id: &str, #[case] width: usize) {
    let (bytes, place) = with_relocation_in_a_row(&build(id), width);
    assert_eq!(broken(&bytes, "error"), ["SF413"], "{:?}", lint(&bytes).findings);
    assert_eq!(broken(&bytes, "note").iter().filter(|rule| **rule == "SF411").count(), 0);

    let report = diff(&bytes);
    let [finding] = &report.findings[..] else { panic!("{:?}", report.findings) };
    assert_eq!((finding.field, finding.blame), (Field::Section, Blame::ProducerLinker));
    assert!(finding.message.contains(&place), "{}", finding.message);

    assert_eq!(explored(&bytes), ONE_FAULT);
    let found = check(&bytes);
    let [finding] = &found[..] else { panic!("{found:?}") };
    assert_eq!((finding.verdict, finding.blame), (Verdict::DecodeError, Blame::ProducerLinker));
    assert!(finding.message.to_string().contains(&place), "{}", finding.message);
}

/// What follows from a fault of a whole section is no finding of the engine. That takes nothing back of what an unwinder says
/// who reads the section as the engine does.
#[test]
fn an_unwinder_that_reads_a_spoilt_section_has_findings() {
    let bytes = unconverted(&build("gnu-2.40/amd64/recursion.O0"), |_| true);
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("spoilt");
    std::fs::write(&file, bytes).expect("a file");
    let engine = env!("CARGO_BIN_EXE_sframe-engine-unwinder");
    let report = json(&bench(&["check", "--json", "--unwinder", engine, &file.display().to_string()]));
    let findings = report["findings"].as_array().expect("findings").iter();
    let shared = findings.filter(|found| {
        let said = found["message"].as_str().unwrap_or_default();
        said.contains("the engine of this project says the same")
    });
    let verdicts: Vec<_> = shared.map(|found| &found["verdict"]).collect();
    assert!(verdicts.contains(&&"wrong-cfa".into()), "{verdicts:?}: {report}");
}

/// The section of a build with these FDEs' starts as relocations leave them: counted from their
/// own fields.
fn unconverted(bytes: &[u8], is_wanted: impl Fn(u32) -> bool) -> Vec<u8> {
    let subject = ObjectFile::parse(bytes).expect("a build");
    let sframe = subject.sframe.expect("a section");
    let read = sframe_engine::Section::parse(sframe.data, sframe.address).expect("a sound section");
    let header = read.header();
    let is_little = header.abi.byte_order() == sframe_engine::ByteOrder::Little;
    let file = object::File::parse(bytes).expect("ELF");
    let (at, _) = file.section_by_name(".sframe").expect("it").file_range().expect("bytes");
    let at = usize::try_from(at).expect("small");
    let mut bytes = bytes.to_vec();
    for fde in read.fdes().flatten().filter(|fde| is_wanted(fde.index)) {
        let field = header.end() + header.fdeoff as usize + fde.index as usize * header.version.fde_size();
        let value = fde.start.wrapping_sub(sframe.address + field as u64);
        let word = if is_little { value.to_le_bytes() } else { value.to_be_bytes() };
        let word = if is_little { &word[..4] } else { &word[4..] };
        bytes[at + field..at + field + 4].copy_from_slice(word);
    }
    bytes
}

/// Without symbols, the search table of `.eh_frame` says where functions start.
fn stripped(bytes: &[u8]) -> Vec<u8> {
    let file = object::File::parse(bytes).expect("ELF");
    let (at, len) = file.section_by_name(".symtab").expect("it").file_range().expect("bytes");
    let (at, len) = (usize::try_from(at).expect("small"), usize::try_from(len).expect("small"));
    let mut bytes = bytes.to_vec();
    bytes[at..at + len].fill(0);
    assert_eq!(ObjectFile::parse(&bytes).expect("a build").symbols.addresses().count(), 0);
    bytes
}

/// As GNU ld of binutils 2.40 and 2.44 does it with `--traditional-format`.
#[rstest]
fn starts_that_are_not_converted_are_one_finding_of_each_command(
    #[values(
        "gnu-2.40/amd64/recursion.O2",
        "gnu-2.44/aarch64/recursion.O2-pie",
        "gnu-2.40/aarch64_be/recursion.O0"
    )]
    id: &str,
    #[values(false, true)] is_stripped: bool,
) {
    let merged = if is_stripped { stripped(&build(id)) } else { build(id) };
    let bytes = unconverted(&merged, |_| true);
    assert_eq!(broken(&merged, "error"), [""; 0]);
    assert_eq!(broken(&bytes, "error"), ["SF414"], "{:?}", lint(&bytes).findings);
    assert_eq!(broken(&bytes, "note").iter().filter(|rule| **rule == "SF411").count(), 0);

    let report = diff(&bytes);
    let [finding] = &report.findings[..] else { panic!("{:?}", report.findings) };
    assert_eq!((finding.field, finding.blame), (Field::Section, Blame::ProducerLinker));
    assert_eq!(report.uncovered.iter().filter(|one| one.reason.is_none()).count(), 0);

    assert_eq!(explored(&bytes), ONE_FAULT);
    let found = check(&bytes);
    let [finding] = &found[..] else { panic!("{found:?}") };
    assert_eq!((finding.verdict, finding.blame), (Verdict::DecodeError, Blame::ProducerLinker));
    assert!(finding.message.to_string().contains("counted from their own fields"), "{}", finding.message);

    // One start that is wrong may be so by chance, or for another reason.
    let bytes = unconverted(&merged, |fde| fde == 1);
    assert!(!broken(&bytes, "error").contains(&"SF414"), "{:?}", lint(&bytes).findings);
    assert!(diff(&bytes).findings.iter().all(|finding| finding.field != Field::Section));
}

/// Also where a call is the last instruction that a row without its start covers.
#[test]
fn rows_whose_starts_are_not_converted_are_not_judged() {
    let mut seen = 0;
    for folder in ["gnu-2.44/amd64", "gnu-2.44/aarch64"] {
        let builds = std::fs::read_dir(repository().join("corpus/builds").join(folder)).expect("builds");
        for name in builds.map(|entry| entry.expect("a build").file_name()) {
            let name = name.to_str().expect("a name");
            if !name.ends_with(".O2") {
                continue;
            }
            let bytes = unconverted(&build(&format!("{folder}/{name}")), |_| true);
            if !broken(&bytes, "error").contains(&"SF414") {
                continue;
            }
            let found = check(&bytes);
            let is_of_row = |finding: &&Finding| finding.pc.is_some();
            assert_eq!(found.iter().find(is_of_row), None, "{folder}/{name}");
            seen += 1;
        }
    }
    assert!(seen > 50, "{seen}");
}

/// The size of a table is not proof that anybody enters at a block beyond its end.
#[test]
fn a_table_that_is_said_to_be_longer_has_no_more_functions() {
    let bytes = build("gnu-2.47/amd64/crossing.O2-dynamic");
    let section = section_of(&bytes);
    let longer = embed(&bytes, SHT_GNU_SFRAME, |address| {
        let mut longer = section.clone();
        let table = longer.functions.iter_mut().find(|function| function.pc_type == PcType::Mask);
        table.expect("a PLT").size += 0x100;
        longer.write(address)
    });
    let roots = |bytes: Vec<u8>| {
        let file = ExploredFile::of(bytes, SectionSource::Sframe).expect("a file");
        Roots::of(&file.open().expect("an executable")).roots
    };
    let sound = roots(bytes.clone());
    assert!(sound.len() > 10, "{sound:?}");
    assert_eq!(roots(longer.expect("room for the section")), sound);
}

/// A loader would write into the section.
#[test]
fn a_dynamic_relocation_in_a_section_is_one_finding() {
    let mut bytes = build("gnu-2.47/amd64/crossing.O2-dynamic");
    assert_eq!(broken(&bytes, "error"), [""; 0]);
    let file = object::File::parse(&*bytes).expect("ELF");
    let sframe = file.section_by_name(".sframe").expect("it");
    let end = sframe.address() + sframe.size();
    let rela = file.section_by_name(".rela.plt").expect("it").file_range().expect("bytes").0;
    let rela = usize::try_from(rela).expect("small");
    bytes[rela..rela + 8].copy_from_slice(&(end - 8).to_le_bytes());
    assert_eq!(broken(&bytes, "error"), ["SF413"], "{:?}", lint(&bytes).findings);
    let of_section = diff(&bytes).findings.iter().filter(|found| found.field == Field::Section).count();
    assert_eq!(of_section, 1);
}

/// What linkers do correctly is not a finding: in the whole corpus, only LLD's
/// programs of several objects are not merged.
#[test]
fn builds_of_the_corpus_are_merged_except_by_lld() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus/builds");
    let mut found = Vec::new();
    for toolchain in std::fs::read_dir(&corpus).expect("builds") {
        let toolchain = toolchain.expect("a folder").path();
        for abi in std::fs::read_dir(&toolchain).expect("builds") {
            for file in std::fs::read_dir(abi.expect("a folder").path()).expect("builds") {
                let path = file.expect("a build").path();
                let report = lint(&std::fs::read(&path).expect("a build"));
                if report.findings.iter().any(|finding| ["SF121", "SF413", "SF414"].contains(&finding.rule)) {
                    let name = path.strip_prefix(&corpus).expect("a build").display().to_string();
                    found.push(name);
                }
            }
        }
    }
    let is_known = |id: &String| {
        id.starts_with("llvm-22/") && (id.contains("/mixed_objects.") || id.contains("/partial_link."))
    };
    assert!(!found.is_empty() && found.iter().all(is_known), "{found:?}");
}
