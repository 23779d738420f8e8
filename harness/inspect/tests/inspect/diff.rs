//! `.sframe` against call frame information: the whole corpus, each field's
//! difference put into a section on purpose, and hazards.

use std::collections::BTreeMap;
use std::path::Path;

use object::elf::SHT_GNU_SFRAME;
use object::{Object as _, ObjectSection as _};
use rayon::prelude::*;
use rstest::rstest;
use serde::Deserialize;
use sframe_elf::object_file::ObjectFile;
use sframe_elf::replace_section::embed;
use sframe_engine::write::Section;
use sframe_engine::{PauthKey, Recovery, RecoveryRule};
use sframe_inspect::diff::{DiffError, DiffReport, Field, Objects, Reason, diff_file};
use sframe_inspect::hazard::HazardKind;
use sframe_inspect::lint::lint_file;
use sframe_kit::percent::Percent;
use sframe_kit::{Blame, Confidence};

use crate::common::{build, files, link_object, repository};

pub(crate) fn diff(bytes: &[u8]) -> DiffReport {
    diff_file(bytes, "file").expect("a file that can be compared")
}

// The corpus.

/// `diff.yaml`: what differs, and why.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Known {
    differences: Vec<Entry>,
    uncovered: Vec<Entry>,
    only_sframe: Vec<Entry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    programs: Vec<String>,
    toolchains: Vec<String>,
    abis: Vec<String>,
    functions: Vec<String>,
    #[serde(default)]
    fields: Vec<Field>,
    blame: Option<Blame>,
    reason: String,
}

/// A difference, or a function that one of the two does not describe.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Fact {
    program: String,
    toolchain: String,
    abi: String,
    function: String,
    field: Option<Field>,
    blame: Option<Blame>,
}

impl Entry {
    fn explains(&self, fact: &Fact) -> bool {
        self.programs.contains(&fact.program)
            && self.toolchains.contains(&fact.toolchain)
            && self.abis.contains(&fact.abi)
            && self.functions.contains(&fact.function)
            && fact.field.is_none_or(|field| self.fields.contains(&field))
            && fact.blame == self.blame
    }

    /// What of the entry no fact needs.
    fn needless(&self, facts: &[Fact]) -> Vec<String> {
        let explained: Vec<&Fact> = facts.iter().filter(|fact| self.explains(fact)).collect();
        let needless = |values: &[String], of: fn(&Fact) -> &String| -> Vec<String> {
            let is_used = |value: &&String| !explained.iter().any(|fact| of(fact) == *value);
            values.iter().filter(is_used).cloned().collect()
        };
        let fields =
            self.fields.iter().filter(|field| !explained.iter().any(|fact| fact.field == Some(**field)));
        [
            needless(&self.programs, |fact| &fact.program),
            needless(&self.toolchains, |fact| &fact.toolchain),
            needless(&self.abis, |fact| &fact.abi),
            needless(&self.functions, |fact| &fact.function),
            fields.map(ToString::to_string).collect(),
        ]
        .concat()
    }
}

/// What the entries leave unexplained, and what of them is needless.
fn check(entries: &[Entry], facts: &[Fact]) -> Vec<String> {
    let unexplained = facts.iter().filter(|fact| !entries.iter().any(|entry| entry.explains(fact)));
    let unexplained = unexplained.map(|fact| format!("unexplained: {fact:?}"));
    let needless = entries.iter().flat_map(|entry| {
        let words = entry.reason.split_whitespace().take(8).collect::<Vec<_>>().join(" ");
        entry.needless(facts).into_iter().map(move |value| format!("needless: {value} of `{words} ...`"))
    });
    unexplained.chain(needless).collect()
}

#[test]
fn every_difference_of_the_corpus_is_explained() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/inspect/diff.yaml");
    let known: Known = serde_yaml::from_slice(&std::fs::read(path).expect("a table")).expect("entries");
    let folder = repository().join("corpus/builds");
    let paths = files(&folder);
    let reports: Vec<(Vec<String>, DiffReport)> = paths
        .par_iter()
        .map(|path| {
            let id = path.strip_prefix(&folder).expect("a build").display().to_string();
            let bytes = std::fs::read(path).expect("a build");
            let report = diff_file(&bytes, &id).unwrap_or_else(|error| panic!("{id}: {error}"));
            assert_eq!(report.errors, [""; 0], "{id}");
            (id.split('/').map(str::to_owned).collect(), report)
        })
        .collect();

    let (mut differences, mut uncovered, mut only) = (Vec::new(), Vec::new(), Vec::new());
    let mut counts = [0, 0, 0];
    let mut hazards: BTreeMap<HazardKind, [u64; 2]> = BTreeMap::new();
    for (id, report) in &reports {
        let fact = |function: &str, field, blame| Fact {
            toolchain: id[0].clone(),
            abi: id[1].clone(),
            program: id[2].split('.').next().unwrap_or_default().to_owned(),
            function: function.to_owned(),
            field,
            blame,
        };
        let findings = report.findings.iter();
        differences.extend(findings.map(|found| fact(&found.function, Some(found.field), Some(found.blame))));
        assert!(report.findings.iter().all(|found| !found.evidence.is_empty()), "{id:?}");
        let without_reason = report.uncovered.iter().filter(|uncovered| uncovered.reason.is_none());
        uncovered.extend(without_reason.map(|uncovered| fact(&uncovered.extent.function, None, None)));
        only.extend(report.only_sframe.iter().map(|extent| fact(&extent.function, None, None)));
        for (sum, count) in counts.iter_mut().zip([report.pcs, report.compared, report.agree]) {
            *sum += count;
        }
        for hazard in &report.hazards {
            let sums = hazards.entry(hazard.kind).or_default();
            *sums = [sums[0] + 1, sums[1] + hazard.instructions];
        }
    }
    let wrong = [
        check(&known.differences, &differences),
        check(&known.uncovered, &uncovered),
        check(&known.only_sframe, &only),
    ]
    .concat();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));

    let [pcs, compared, agree] = counts;
    println!("{} files: {pcs} instructions, {compared} compared, {agree} agree", reports.len());
    println!("hazards, rows and instructions: {hazards:?}");
    assert!(reports.len() > 2599 && compared > 2_200_000, "{compared} in {}", reports.len());
    assert!(agree < compared && pcs > compared, "{agree} of {compared} of {pcs}");
    // Only a run has values of FP.
    let is_static = |kind: &&HazardKind| **kind != HazardKind::UnknownFp;
    assert_eq!(hazards.len(), HazardKind::ALL.iter().filter(is_static).count(), "{hazards:?}");
}

#[test]
fn a_table_must_explain_everything_and_nothing_else() {
    let fact = |function: &str, field| Fact {
        program: "leaf".into(),
        toolchain: "gnu-2.47".into(),
        abi: "amd64".into(),
        function: function.into(),
        field: Some(field),
        blame: Some(Blame::ProducerAssembler),
    };
    let entry = |functions: &[&str], fields: Vec<Field>| Entry {
        programs: vec!["leaf".into()],
        toolchains: vec!["gnu-2.47".into()],
        abis: vec!["amd64".into()],
        functions: functions.iter().map(|function| (*function).to_owned()).collect(),
        fields,
        blame: Some(Blame::ProducerAssembler),
        reason: "A reason".into(),
    };
    let facts = [fact("main", Field::Cfa)];
    assert_eq!(check(&[entry(&["main"], vec![Field::Cfa])], &facts), [""; 0]);
    assert_eq!(check(&[entry(&["main", "leaf"], vec![Field::Cfa])], &facts).len(), 1);
    assert_eq!(check(&[entry(&["main"], vec![Field::Cfa, Field::Ra])], &facts).len(), 1);
    assert!(check(&[entry(&["main"], vec![Field::Ra])], &facts)[0].starts_with("unexplained"));
    let linker = Entry { blame: Some(Blame::ProducerLinker), ..entry(&["main"], vec![Field::Cfa]) };
    assert!(check(&[linker], &facts)[0].starts_with("unexplained"));
}

// A difference in each field.

/// A build with another section.
pub(crate) fn with_section(id: &str, change: impl Fn(&mut Section)) -> Vec<u8> {
    of_section(&build(id), change)
}

fn of_section(bytes: &[u8], change: impl Fn(&mut Section)) -> Vec<u8> {
    let subject = ObjectFile::parse(bytes).expect("a build");
    let sframe = subject.sframe.expect("a section");
    let read = sframe_engine::Section::parse(sframe.data, sframe.address).expect("a sound section");
    let mut section = Section::from_read(&read).expect("a sound section");
    change(&mut section);
    embed(bytes, SHT_GNU_SFRAME, |address| section.write(address)).expect("room for the section")
}

/// The position of a function in a section.
pub(crate) fn position(id: &str, section: &Section, name: &str) -> usize {
    let bytes = build(id);
    let addresses = ObjectFile::parse(&bytes).expect("a build").symbols.addresses_of(name);
    section.functions.iter().position(|function| addresses.contains(&function.start)).expect("an FDE")
}

/// Removes the functions at other starts, and closes the gaps that their rows leave.
fn keep(section: &mut Section, is_kept: impl Fn(u64) -> bool) {
    section.functions.retain(|function| is_kept(function.start));
    let mut functions: Vec<_> = section.functions.iter_mut().collect();
    functions.sort_by_key(|function| function.rows_position);
    for (position, function) in (0..).zip(functions) {
        function.rows_position = position;
    }
}

/// A build with another row in a function.
fn with_row(id: &str, name: &str, row: usize, change: impl Fn(&mut sframe_engine::Row)) -> Vec<u8> {
    with_section(id, |section| {
        let function = position(id, section, name);
        change(&mut section.functions[function].rows[row]);
    })
}

/// The function, offset, number of instructions and field of each finding.
pub(crate) fn found(report: &DiffReport) -> Vec<(&str, u64, u64, Field)> {
    let findings = report.findings.iter();
    findings.map(|found| (found.function.as_str(), found.offset.0, found.pcs, found.field)).collect()
}

fn move_rule(recovery: &mut Recovery) {
    let Recovery::Rule(RecoveryRule { offset, .. }) = recovery else { panic!("{recovery}") };
    *offset -= 8;
}

#[rstest]
fn another_cfa_is_found(
    #[values(
        "gnu-2.47/amd64/recursion.O2",
        "gnu-2.44/amd64/recursion.O2",
        "gnu-2.40/amd64/recursion.O2",
        "gnu-2.47/aarch64/recursion.O2",
        "gnu-2.40/aarch64_be/recursion.O2",
        "gnu-2.47/s390x/recursion.O2"
    )]
    id: &str,
) {
    assert_eq!(found(&diff(&build(id))), []);
    let changed = with_row(id, "descend", 1, |row| {
        row.cfa.as_mut().expect("a CFA").offset += 8;
    });
    let report = diff(&changed);
    let findings = found(&report);
    assert!(findings.contains(&("descend", findings[0].1, findings[0].2, Field::Cfa)), "{findings:?}");
    assert!(findings.iter().all(|(function, ..)| *function == "descend"));
    assert_eq!(report.compared, report.agree + findings[0].2);
    let [first, ..] = &report.findings[..] else { panic!("no finding") };
    assert_ne!(first.sframe, first.eh_frame);
    assert!(first.instructions.iter().any(|line| line.differs) && !first.instructions[0].differs);
    assert!(first.message.contains("descend+0x") && first.message.contains(&first.sframe));
    assert!(report.text().contains("difference: cfa"), "{}", report.text());
}

#[rstest]
#[case::slots("gnu-2.44/aarch64/recursion.O0", "descend")]
#[case::slots("gnu-2.47/aarch64_be/recursion.O0", "descend")]
#[case::slots("gnu-2.47/s390x/recursion.O0", "descend")]
fn another_ra_and_another_fp_are_found(#[case] id: &str, #[case] function: &str) {
    let sound = diff(&build(id));
    assert_eq!(found(&sound), []);
    let ra = diff(&with_row(id, function, 1, |row| move_rule(&mut row.ra)));
    let findings = found(&ra);
    assert!(matches!(findings[..], [(_, _, 1.., Field::Ra)]), "{findings:?}");
    let fp = diff(&with_row(id, function, 1, |row| move_rule(&mut row.fp)));
    let findings = found(&fp);
    assert!(matches!(findings[..], [(_, _, 1.., Field::Fp)]), "{findings:?}");
    let unchanged = diff(&with_row(id, function, 1, |row| row.fp = Recovery::Unchanged));
    assert!(matches!(found(&unchanged)[..], [(_, _, 1.., Field::Fp)]), "{:?}", found(&unchanged));
}

#[test]
fn another_signature_and_another_key_are_found() {
    for id in ["gnu-2.40/aarch64/pauth.O2", "gnu-2.47/aarch64_be/pauth.O2"] {
        assert_eq!(found(&diff(&build(id))), []);
        let changed = with_section(id, |section| {
            let main = position(id, section, "main");
            let rows = &mut section.functions[main].rows;
            let signed = rows.iter_mut().find(|row| row.mangled_ra).expect("a signed row");
            signed.mangled_ra = false;
        });
        let report = diff(&changed);
        assert!(matches!(found(&report)[..], [("main", _, 1.., Field::RaSignature)]), "{:?}", found(&report));
        let finding = &report.findings[0];
        assert_eq!((&*finding.sframe, &*finding.eh_frame), ("not signed", "signed with key A"));
        let changed = with_section(id, |section| {
            let main = position(id, section, "main");
            section.functions[main].pauth_key = PauthKey::B;
        });
        let report = diff(&changed);
        assert!(report.findings.iter().all(|finding| finding.sframe == "signed with key B"));
        assert!(!report.findings.is_empty(), "{id}");
    }
}

#[test]
fn marks_of_signals_and_outermost_frames_are_found() {
    let id = "gnu-2.47/aarch64/signals_cfi.O2";
    assert_eq!(found(&diff(&build(id))), []);
    let changed = with_section(id, |section| {
        let restorer = section.functions.iter_mut().find(|function| function.signal).expect("a mark");
        restorer.signal = false;
    });
    let report = diff(&changed);
    assert!(matches!(found(&report)[..], [(_, _, 1.., Field::Signal)]), "{:?}", found(&report));

    let id = "gnu-2.47/amd64/recursion.O2";
    let changed = with_section(id, |section| {
        let leaf = position(id, section, "leaf");
        section.functions[leaf].rows.clear();
    });
    let report = diff(&changed);
    assert!(report.findings.iter().all(|finding| finding.field == Field::Outermost));
    assert!(
        report.hazards.iter().any(|hazard| hazard.kind == HazardKind::EndsEarly && hazard.function == "leaf")
    );
    // The other way round: a caller where call frame information has none.
    let changed = with_section(id, |section| {
        let (leaf, start) = (position(id, section, "leaf"), position(id, section, "_start"));
        section.functions[start].rows = vec![section.functions[leaf].rows[0]];
    });
    let report = diff(&changed);
    assert!(!report.findings.is_empty());
    for finding in &report.findings {
        assert_eq!((finding.field, &*finding.eh_frame), (Field::Outermost, "an outermost frame"));
    }
}

/// Whom the findings blame, and why.
fn blamed(report: &DiffReport) -> Vec<(Blame, Confidence, &str)> {
    let findings = report.findings.iter();
    findings.map(|found| (found.blame, found.confidence, &*found.evidence[0].says)).collect()
}

#[test]
fn a_difference_is_blamed_on_whoever_can_have_made_it() {
    const ID: &str = "gnu-2.44/amd64/recursion.O2";
    // A row of the compiler's code, where both FDEs are in place: linkers copy rows.
    let other_row = diff(&with_row(ID, "descend", 1, |row| row.cfa.as_mut().expect("a CFA").offset += 8));
    let [(blame, confidence, _), ..] = blamed(&other_row)[..] else { panic!("no finding") };
    assert_eq!((blame, confidence), (Blame::ProducerAssembler, Confidence::Medium));
    assert!(
        other_row
            .text()
            .contains("    likely cause: producer-assembler (confidence medium)\n      = layout: ")
    );
    // An object, as the assembler wrote it.
    let object = diff(&relocatable([16, 24]));
    assert!(matches!(blamed(&object)[..], [(Blame::ProducerAssembler, Confidence::High, _)]));
    // An FDE that does not begin where its function does.
    let moved = diff(&with_section(ID, |section| {
        let descend = position(ID, section, "descend");
        section.functions[descend].start += 1;
    }));
    let found = blamed(&moved);
    assert!(!found.is_empty());
    for (blame, confidence, says) in found {
        assert_eq!((blame, confidence), (Blame::ProducerLinker, Confidence::Medium), "{says}");
        assert!(says.contains("assemblers start both at one label"), "{says}");
    }
    // A table of the linker's own.
    let table = diff(&build("gnu-2.44/amd64/crossing.O2-dynamic.first.so"));
    assert!(
        matches!(blamed(&table)[..], [(Blame::ProducerLinker, Confidence::High, says)] if says.contains(".plt.got"))
    );
    // A rule given back in a CIE, which GNU as writes: a nop of the filling becomes DW_CFA_restore of rbx.
    let mut bytes = relocatable([16, 16]);
    let cie = bytes.windows(7).position(|window| window == [0x0c, 7, 8, 0x90, 1, 0, 0]).expect("a CIE");
    bytes[cie + 5] = 0xc3;
    let restoring = diff(&bytes);
    let found = blamed(&restoring);
    assert!(!found.is_empty());
    for (blame, confidence, says) in found {
        assert_eq!((blame, confidence), (Blame::ProducerAssembler, Confidence::Medium), "{says}");
        assert!(says.contains("has DW_CFA_restore, which only an FDE can have"), "{says}");
    }
    // CFI that can't be executed, which assemblers do not write.
    let mut bytes = relocatable([16, 16]);
    let at =
        bytes.windows(7).rposition(|window| window == [0x41, 0x0e, 16, 0x41, 0x0e, 8, 0]).expect("an FDE");
    bytes[at + 1..at + 7].copy_from_slice(&[0x0e, 16, 0x07, 6, 0x41, 0x0e]);
    let malformed = diff(&bytes);
    let found = blamed(&malformed);
    assert!(!found.is_empty());
    for (blame, confidence, says) in found {
        assert_eq!((blame, confidence), (Blame::CompilerOrCfi, Confidence::Medium), "{says}");
    }
}

/// Who has broken a row that can't be read, nothing tells.
#[test]
fn a_row_that_cannot_be_read_is_blamed_on_nobody() {
    let mut bytes = build("gnu-2.44/amd64/recursion.O2");
    let subject = ObjectFile::parse(&bytes).expect("a build");
    let sframe = subject.sframe.expect("a section");
    let section = sframe_engine::Section::parse(sframe.data, sframe.address).expect("a sound section");
    let start = subject.symbols.addresses_of("descend")[0];
    let fde = section.fdes().flatten().find(|fde| fde.start == start).expect("an FDE");
    let file = object::File::parse(&*bytes).expect("ELF");
    let section = file.section_by_name(".sframe").expect("it").file_range().expect("bytes").0;
    let at = usize::try_from(section).expect("small") + fde.rows_offset + 1;
    // The width of data words that is reserved.
    bytes[at] |= 0x60;
    let report = diff(&bytes);
    assert!(!report.findings.is_empty());
    for (blame, confidence, says) in blamed(&report) {
        assert_eq!((blame, confidence), (Blame::Unknown, Confidence::Low), "{says}");
    }
}

/// A row that starts one instruction too late is wrong at one instruction.
#[test]
fn a_row_at_another_place_is_found_at_exactly_the_instructions_between() {
    let id = "gnu-2.47/aarch64/recursion.O2";
    let report = diff(&with_row(id, "descend", 1, |row| row.start += 4));
    let findings = found(&report);
    assert!(findings.iter().all(|(function, _, pcs, _)| (*function, *pcs) == ("descend", 1)), "{findings:?}");
    assert_eq!(report.compared - report.agree, 1);
}

#[test]
fn a_missing_row_and_a_missing_fde_are_told() {
    let id = "gnu-2.47/amd64/recursion.O2";
    let sound = diff(&build(id));
    let report = diff(&with_section(id, |section| {
        let descend = position(id, section, "descend");
        section.functions[descend].rows.remove(0);
    }));
    assert!(matches!(found(&report)[..], [("descend", 0, 1.., Field::Row)]), "{:?}", found(&report));
    assert_eq!(report.findings[0].sframe, "no row");

    let report = diff(&with_section(id, |section| {
        let start = section.functions[position(id, section, "descend")].start;
        keep(section, |function| function != start);
    }));
    assert_eq!((found(&report), report.pcs), (vec![], sound.pcs));
    let [uncovered] = &report.uncovered[..] else { panic!("{:?}", report.uncovered) };
    assert_eq!((&*uncovered.extent.function, uncovered.reason), ("descend", None));
    assert_eq!(uncovered.extent.pcs, sound.compared - report.compared);
    // The section could have it, so that it is a finding.
    let [missing] = &report.missing[..] else { panic!("{:?}", report.missing) };
    assert_eq!(
        (&missing.functions[..], missing.blame),
        (std::slice::from_ref(&uncovered.extent), Blame::Unknown)
    );
    assert_eq!(report.expressible(), (uncovered.extent.pcs, sound.compared));
    assert_eq!((&sound.missing[..], sound.expressible()), (&[][..], (0, sound.compared)));
    let early = report.hazards.iter().find(|hazard| hazard.kind == HazardKind::EndsEarly).expect("a hazard");
    assert_eq!((&*early.function, early.instructions, &early.row), ("descend", uncovered.extent.pcs, &None));
}

/// Objects that are at hand say who has lost an FDE; those that have no such function, or say different things, say nothing.
#[test]
fn objects_say_who_has_lost_an_fde() {
    let [library, sound, plain, other] =
        ["v3/amd64/library.so", "v3/amd64/library.o", "plain/amd64/library.o", "v3/amd64/two.o"]
            .map(link_object);
    let lost = of_section(&library, |section| {
        let last = section.functions.iter().map(|function| function.start).max();
        keep(section, |function| Some(function) != last);
    });
    let report = |given: &[(&str, &[u8])]| {
        let mut objects = Objects::default();
        given.iter().for_each(|(name, bytes)| objects.add(*bytes, name).expect("an object"));
        let mut report = diff(&lost);
        report.add_objects(&objects, &lost[..]).expect("objects of the file");
        report
    };
    let told = |given: &[(&str, &[u8])]| {
        let report = report(given);
        assert!(!report.reaches(Percent::ALL));
        let [missing] = &report.missing[..] else { panic!("{:?}", report.missing) };
        (missing.blame, missing.evidence[0].says.clone())
    };
    // Without the last FDE.
    let mut damaged = sound.clone();
    let section = ObjectFile::parse(&sound).expect("an object").sframe.expect("a section").data.to_vec();
    let at = sound.windows(section.len()).position(|bytes| bytes == section).expect("the section");
    damaged[at + 8] -= 1;
    let nothing = told(&[]);
    assert_eq!(nothing.0, Blame::Unknown);
    assert_eq!(told(&[("other.o", &other)]), nothing);
    assert_eq!(told(&[("one.o", &sound), ("two.o", &plain)]), nothing);
    for (object, blame, says) in [
        (&sound, Blame::ProducerLinker, "it.o has this code with FDEs"),
        (&damaged, Blame::ProducerAssembler, "it.o has this code and .sframe, and no FDEs"),
        (&link_object("v2/amd64/library.o"), Blame::Unknown, "it.o has this code, and .sframe of another"),
    ] {
        let (blamed, evidence) = told(&[("other.o", &other), ("it.o", object)]);
        assert!(blamed == blame && evidence.starts_with(says), "{blamed} {evidence}");
    }
    // Nobody has lost what was never asked for.
    let sizeless = {
        let (mut bytes, elf) = (plain.clone(), object::File::parse(&*plain).expect("ELF"));
        let (start, len) = elf.section_by_name(".symtab").expect("symbols").file_range().expect("bytes");
        let [start, end] = [start, start + len].map(|at| usize::try_from(at).expect("small"));
        (start..end).step_by(24).for_each(|symbol| bytes[symbol + 16..symbol + 24].fill(0));
        bytes
    };
    for plain in [&plain, &sizeless] {
        let report = report(&[("other.o", &other), ("it.o", plain)]);
        assert!(report.missing.is_empty() && report.reaches(Percent::ALL), "{:?}", report.missing);
        let [uncovered] = &report.uncovered[..] else { panic!("{:?}", report.uncovered) };
        assert_eq!(uncovered.reason, Some(Reason::NoSection));
        let text = report.text().to_string();
        assert!(text.contains("not in .sframe: 1 function (it.o has no .sframe)\n"), "{text}");
    }
    // Of several definitions, one is kept.
    let weak = |bytes: &[u8]| {
        let (mut bytes, elf) = (bytes.to_vec(), object::File::parse(bytes).expect("ELF"));
        let (start, len) = elf.section_by_name(".symtab").expect("symbols").file_range().expect("bytes");
        let infos = (start + 4..start + len).step_by(24).map(|at| usize::try_from(at).expect("small"));
        infos.for_each(|info| bytes[info] = if bytes[info] & 0xf == 2 { 0x22 } else { bytes[info] });
        bytes
    };
    let (weak_sound, weak_plain) = (weak(&sound), weak(&plain));
    assert_ne!(weak_sound, sound);
    let may_be_plain = report(&[("one.o", &weak_sound), ("two.o", &weak_plain)]);
    assert!(may_be_plain.missing.is_empty(), "{:?}", may_be_plain.missing);
    assert_eq!(may_be_plain.uncovered[0].message, "two.o has no .sframe");
    for given in [
        &[("one.o", &weak_sound), ("other.o", &other)][..],
        &[("one.o", &weak_sound), ("two.o", &weak_sound)],
        &[("one.o", &sound), ("two.o", &weak_plain)],
    ] {
        let given: Vec<(&str, &[u8])> = given.iter().map(|(name, bytes)| (*name, &bytes[..])).collect();
        assert_eq!(told(&given).0, Blame::ProducerLinker);
    }
    // Without names, the code says which function it is; a function of the same name with other code is another one.
    let changed = |bytes: &[u8], from: &[u8], to: &[u8]| {
        let at = bytes.windows(from.len()).position(|it| it == from).expect("the bytes");
        [&bytes[..at], to, &bytes[at + from.len()..]].concat()
    };
    let subject = ObjectFile::parse(&sound).expect("an object");
    let (_, function) = subject.symbols.functions().max_by_key(|(address, _)| *address).expect("a function");
    let name = format!("\0{function}\0");
    let renamed = changed(&sound, name.as_bytes(), name.to_uppercase().as_bytes());
    assert_eq!(told(&[("it.o", &renamed)]), nothing);
    let code = subject.code().find(|(_, code)| !code.is_empty()).expect("code").1;
    let last = [code[code.len() - 1]];
    let other_code = changed(&sound, code, &[&code[..code.len() - 1], &[!last[0]]].concat());
    assert_eq!(told(&[("it.o", &other_code)]), nothing);
    assert!(matches!(Objects::default().add(&library[..], "it"), Err(DiffError::Linked)));
    let mut other_abi = Objects::default();
    other_abi.add(&link_object("v3/s390x/library.o")[..], "it").expect("an object");
    assert!(matches!(other_abi.add(&sound[..], "it"), Err(DiffError::OtherAbi { .. })));
    assert!(matches!(diff(&lost).add_objects(&other_abi, &lost[..]), Err(DiffError::OtherAbi { .. })));
}

/// A build without the FDE of a function, whose entry point is another one.
fn without(id: &str, name: &str, entry: &str) -> Vec<u8> {
    let mut bytes = with_section(id, |section| {
        let start = section.functions[position(id, section, name)].start;
        keep(section, |function| function != start);
    });
    let entry = ObjectFile::parse(&bytes).expect("a build").symbols.addresses_of(entry)[0];
    bytes[0x18..0x20].copy_from_slice(&entry.to_le_bytes());
    bytes
}

/// Every program has the start file of its C library, whose object has no section: that alone is nothing to be told. But
/// what is not where the system starts a program, or has a caller, is missed.
#[test]
fn only_an_outermost_entry_point_needs_no_fde() {
    let id = "gnu-2.47/amd64/recursion.O2";
    let told = |name, entry| {
        let report = diff(&without(id, name, entry));
        let [uncovered] = &report.uncovered[..] else { panic!("{:?}", report.uncovered) };
        assert_eq!(uncovered.extent.function, name);
        (uncovered.reason, report.missing.len())
    };
    assert_eq!(told("_start", "_start"), (Some(Reason::EntryPoint), 0));
    assert_eq!(told("_start", "descend"), (None, 1));
    assert_eq!(told("descend", "descend"), (None, 1));
}

/// Call frame information says of the entries of a PLT by an expression what rows say: no assembler could, and the
/// linker that writes one writes the other.
#[test]
fn lost_and_cut_fdes_of_linkage_tables_are_told() {
    let id = "gnu-2.47/amd64/plt.O2-shared";
    let subject = build(id);
    let subject = ObjectFile::parse(&subject).expect("a build");
    let of_table = |start| subject.linker_made(start).is_some_and(|name| name == ".plt");
    assert!(diff(&build(id)).missing.iter().all(|missing| missing.blame != Blame::ProducerLinker));

    let report = diff(&with_section(id, |section| {
        keep(section, |function| !of_table(function));
    }));
    let [missing] = &report.missing[..] else { panic!("{:?}", report.missing) };
    assert_eq!((&*missing.functions[0].function, missing.blame), (".plt", Blame::ProducerLinker));

    let report = diff(&with_section(id, |section| {
        let tables = section.functions.iter_mut().filter(|function| of_table(function.start));
        tables.max_by_key(|function| function.start).expect("an FDE of a table").size -= 16;
    }));
    let cut: Vec<_> = report.findings.iter().filter(|found| found.field == Field::NoFde).collect();
    assert!(matches!(cut[..], [found] if found.blame == Blame::ProducerLinker), "{cut:?}");
}

/// Where call frame information refuses, so do assemblers: each function that
/// they left out has the reason that they gave.
#[rstest]
#[case("gnu-2.40/aarch64", &[("cfa_in_memory", Reason::CfaRegister), ("cfa_in_scratch", Reason::CfaRegister),
    ("cfa_on_stack", Reason::CfaExpression), ("both_in_registers", Reason::FpRule),
    ("fp_by_expression", Reason::FpRule), ("fp_in_register", Reason::FpRule), ("fp_is_cfa", Reason::FpRule),
    ("ra_in_register", Reason::RaRule)])]
#[case("gnu-2.44/amd64", &[("cfa_in_memory", Reason::CfaRegister), ("cfa_in_preserved", Reason::CfaRegister),
    ("cfa_in_scratch", Reason::CfaRegister), ("cfa_of_caller", Reason::CfaRegister),
    ("cfa_on_stack", Reason::CfaExpression), ("both_in_registers", Reason::FpRule),
    ("fp_by_expression", Reason::FpRule), ("fp_in_register", Reason::FpRule), ("fp_is_cfa", Reason::FpRule)])]
#[case("gnu-2.47/amd64", &[("cfa_on_stack", Reason::CfaExpression), ("fp_is_cfa", Reason::FpRule)])]
#[case("gnu-2.47/s390x", &[("cfa_in_memory", Reason::CfaExpression), ("cfa_on_stack", Reason::CfaExpression),
    ("fp_by_expression", Reason::FpRule), ("fp_is_cfa", Reason::FpRule)])]
fn reasons_are_those_of_the_assembler(#[case] folder: &str, #[case] expected: &[(&str, Reason)]) {
    let report = diff(&build(&format!("{folder}/odd_registers.O2")));
    let reasons = report.uncovered.iter().map(|uncovered| (&*uncovered.extent.function, uncovered.reason));
    let mut reasons: Vec<_> = reasons.collect();
    let mut expected: Vec<_> = expected.iter().map(|(name, reason)| (*name, Some(*reason))).collect();
    reasons.sort();
    expected.sort();
    assert_eq!(reasons, expected);
}

// Files of other kinds.

/// A file without its section table.
fn without_sections(mut bytes: Vec<u8>) -> Vec<u8> {
    bytes[0x28..0x30].fill(0);
    bytes[0x3c..0x40].fill(0);
    bytes
}

#[rstest]
fn a_file_without_a_section_table_is_compared_by_its_segments(
    #[values(
        "gnu-2.47/amd64/crossing.O2-dynamic",
        "gnu-2.47/s390x/crossing.O2-dynamic",
        "gnu-2.44/aarch64/crossing.O2-dynamic"
    )]
    id: &str,
) {
    let whole = diff(&build(id));
    let stripped = diff(&without_sections(build(id)));
    let numbers =
        |report: &DiffReport| (report.functions, report.compared, report.agree, report.uncovered.len());
    assert_eq!(numbers(&stripped), numbers(&whole));
    assert!(whole.compared > 50);
}

/// An amd64 file with two functions in sections of their own, all at address 0,
/// as an assembler writes it.
pub(crate) fn relocatable(cfa: [u8; 2]) -> Vec<u8> {
    relocatable_at(cfa, None)
}

/// The same with the relocation of the second function's start at another offset.
fn relocatable_at(cfa: [u8; 2], place: Option<u64>) -> Vec<u8> {
    let mut sframe = vec![0xe2, 0xde, 3, 4, 3, 0, 0xf8, 0];
    sframe.extend([2, 0, 0, 0, 6, 0, 0, 0, 28, 0, 0, 0, 0, 0, 0, 0, 32, 0, 0, 0]);
    let mut relocations = Vec::new();
    for function in 0..2_u8 {
        let moved = place.filter(|_| function == 1);
        relocations.push((moved.unwrap_or(sframe.len() as u64), u32::from(function) + 1, 24));
        sframe.extend([0; 8]);
        sframe.extend([3, 0, 0, 0, function * 14, 0, 0, 0]);
    }
    for offset in cfa {
        sframe.extend([3, 0, 0, 0, 0, 0, 3, 8, 1, 3, offset, 2, 3, 8]);
    }
    relocatable_with(sframe, &relocations)
}

/// The same with the sections of two objects, one after the other.
fn relocatable_concatenated() -> Vec<u8> {
    let mut sframe = Vec::new();
    let mut relocations = Vec::new();
    for symbol in [1, 2] {
        sframe.resize(sframe.len().next_multiple_of(8), 0);
        // Starts count from the section that they are in.
        sframe.extend([0xe2, 0xde, 3, 0, 3, 0, 0xf8, 0]);
        sframe.extend([1, 0, 0, 0, 3, 0, 0, 0, 14, 0, 0, 0, 0, 0, 0, 0, 16, 0, 0, 0]);
        relocations.push((sframe.len() as u64, symbol, 24));
        sframe.extend([0, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0]);
        sframe.extend([3, 0, 0, 0, 0, 0, 3, 8, 1, 3, 16, 2, 3, 8]);
    }
    relocatable_with(sframe, &relocations)
}

fn relocatable_with(sframe: Vec<u8>, sframe_relocations: &[(u64, u32, u32)]) -> Vec<u8> {
    // push rbx; pop rbx; ret
    let code = [0x53, 0x5b, 0xc3];
    let mut eh_frame = vec![0x14, 0, 0, 0, 0, 0, 0, 0, 1];
    eh_frame.extend(b"zR\0");
    // Alignments, RA column 16, pointers relative to themselves; CFA = rsp+8, RA at CFA-8.
    eh_frame.extend([1, 0x78, 16, 1, 0x1b, 0x0c, 7, 8, 0x90, 1, 0, 0]);
    let mut eh_relocations = Vec::new();
    for function in 0..2_u8 {
        let at = u8::try_from(eh_frame.len()).expect("small");
        eh_frame.extend([0x14, 0, 0, 0, at + 4, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 0]);
        // Behind the push, 16; behind the pop, 8.
        eh_frame.extend([0x41, 0x0e, 16, 0x41, 0x0e, 8, 0]);
        eh_relocations.push((u64::from(at) + 8, u32::from(function) + 1, 2));
    }
    let sections = [
        ((".text.first", [1, 0, 0], [6, 0]), code.to_vec()),
        ((".text.second", [1, 0, 0], [6, 0]), code.to_vec()),
        ((".eh_frame", [1, 0, 0], [2, 0]), eh_frame),
        ((".rela.eh_frame", [4, 7, 3], [0, 24]), relocations(&eh_relocations)),
        ((".sframe", [0x6fff_fff4, 0, 0], [2, 0]), sframe),
        ((".rela.sframe", [4, 7, 5], [0, 24]), relocations(sframe_relocations)),
        ((".symtab", [2, 8, 1], [0, 24]), symbols()),
        ((".strtab", [3, 0, 0], [0, 0]), b"\0first\0second\0".to_vec()),
    ];
    let mut file = vec![0; 64];
    let mut headers = vec![0; 64];
    let mut names = vec![0];
    let mut header = |names: &mut Vec<u8>, file: &[u8], section: (&str, [u32; 3], [u64; 2]), len: usize| {
        let (name, [kind, link, info], [flags, entry]) = section;
        headers.extend(u32::try_from(names.len()).expect("small").to_le_bytes());
        headers.extend(kind.to_le_bytes());
        for number in [flags, 0, file.len() as u64, len as u64] {
            headers.extend(number.to_le_bytes());
        }
        headers.extend(link.to_le_bytes());
        headers.extend(info.to_le_bytes());
        headers.extend(8_u64.to_le_bytes());
        headers.extend(entry.to_le_bytes());
        names.extend(name.bytes().chain([0]));
    };
    for (section, data) in &sections {
        header(&mut names, &file, *section, data.len());
        file.extend(data);
        file.resize(file.len().next_multiple_of(8), 0);
    }
    let len = names.len() + 10;
    header(&mut names, &file, (".shstrtab", [3, 0, 0], [0, 0]), len);
    file.extend(names);
    file.resize(file.len().next_multiple_of(8), 0);
    let start = file.len() as u64;
    file.extend(headers);
    file[..20].copy_from_slice(&[0x7f, b'E', b'L', b'F', 2, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 62, 0]);
    file[20] = 1;
    file[0x28..0x30].copy_from_slice(&start.to_le_bytes());
    file[0x34] = 64;
    file[0x3a] = 64;
    file[0x3c] = 10;
    file[0x3e] = 9;
    file
}

/// Offset, symbol and type of each; the addend is 0.
fn relocations(entries: &[(u64, u32, u32)]) -> Vec<u8> {
    let entry = |(offset, symbol, kind): &(u64, u32, u32)| {
        [offset.to_le_bytes(), (u64::from(*symbol) << 32 | u64::from(*kind)).to_le_bytes(), [0; 8]].concat()
    };
    entries.iter().flat_map(entry).collect()
}

fn symbols() -> Vec<u8> {
    let symbol = |name: u8, section: u8| {
        let mut symbol = vec![name, 0, 0, 0, 0x12, 0, section, 0];
        symbol.extend([0; 8]);
        symbol.extend([3, 0, 0, 0, 0, 0, 0, 0]);
        symbol
    };
    [vec![0; 24], symbol(1, 1), symbol(7, 2)].concat()
}

#[test]
fn sections_of_a_relocatable_file_are_kept_apart() {
    let report = diff(&relocatable([16, 16]));
    assert_eq!((report.functions, report.pcs, report.compared, report.agree), (2, 6, 6, 6));
    let report = diff(&relocatable([16, 24]));
    assert_eq!(found(&report), [("second", 1, 1, Field::Cfa)]);
    let finding = &report.findings[0];
    assert_eq!((finding.section.as_deref(), finding.pc.0), (Some(".text.second"), 1));
    assert_eq!((&*finding.sframe, &*finding.eh_frame), ("SP+24", "SP+16"));
    assert!(report.text().contains(".text.second: 0x1"), "{}", report.text());
}

/// What a linker makes of an instruction is not known in a relocatable file, but what it refers to is. No address is made up.
#[test]
fn instructions_of_a_relocatable_file_name_what_they_refer_to() {
    const CFA_OF_A_ROW: usize = 36;
    let path = repository().join("corpus/constructed/kernel-module/amd64");
    let mut bytes = std::fs::read(path).expect("a module");
    let start = bytes.windows(3).position(|window| window == [0xe2, 0xde, 3]).expect("a section");
    bytes[start + CFA_OF_A_ROW] += 8;
    let text = diff(&bytes).text().to_string();
    assert!(
        text.contains("\n  > 0x15 | call other\n") && text.contains("\n    0x11 | sub rsp, 8\n"),
        "{text}"
    );
    assert!(text.contains("begins at .init.text+0x0, that of .eh_frame at .init.text+0x10"), "{text}");
    assert!(!text.contains("0x100"), "{text}");
}

/// As GNU ld -r of binutils 2.40 and 2.44 does it for all objects but the first; and as LLD does it.
#[test]
fn an_object_that_was_not_merged_is_one_fault_of_the_linker() {
    const IN_FIRST_ROW: u64 = 67;
    let bytes = relocatable_at([16, 16], Some(IN_FIRST_ROW));
    let report = diff(&bytes);
    let [finding] = &report.findings[..] else { panic!("{:?}", found(&report)) };
    assert_eq!((finding.field, finding.blame), (Field::Section, Blame::ProducerLinker));
    assert_eq!((finding.section.as_deref(), finding.pc.0), (Some(".sframe"), IN_FIRST_ROW));
    assert_eq!((report.compared, report.agree, finding.pcs), (3, 3, 3));
    let [lost] = &report.uncovered[..] else { panic!("{:?}", report.uncovered) };
    assert_eq!((&*lost.extent.function, lost.reason), ("second", Some(Reason::NotMerged)));
    assert!(report.only_sframe.is_empty(), "{:?}", report.only_sframe);
    let errors = |bytes: &[u8]| {
        let report = lint_file(bytes, "file").expect("a file that can be linted");
        let errors = report.findings.into_iter().filter(|finding| finding.severity == "error");
        errors.map(|finding| (finding.rule, finding.offset)).collect::<Vec<_>>()
    };
    assert_eq!(errors(&bytes), [("SF413", 67)]);
    assert_eq!(errors(&relocatable([16, 16])), []);

    let bytes = relocatable_concatenated();
    assert_eq!(errors(&bytes), [("SF121", 64)]);
    let report = diff(&bytes);
    let [finding] = &report.findings[..] else { panic!("{:?}", found(&report)) };
    assert_eq!((finding.field, finding.blame, finding.pcs), (Field::Section, Blame::ProducerLinker, 3));
    assert_eq!((report.compared, report.agree, report.uncovered[0].reason), (3, 3, Some(Reason::NotMerged)));
}

/// What SFrame has no form for is no difference.
#[test]
fn a_lost_fp_is_not_a_difference() {
    let mut bytes = relocatable([16, 16]);
    // In the second FDE, the last instruction and the filling become DW_CFA_undefined of rbp.
    let at =
        bytes.windows(7).rposition(|window| window == [0x41, 0x0e, 16, 0x41, 0x0e, 8, 0]).expect("an FDE");
    bytes[at + 1..at + 7].copy_from_slice(&[0x0e, 16, 0x07, 6, 0x41, 0x0e]);
    let report = diff_file(&bytes, "file");
    // The operand of the last one is missing: that is a difference at every instruction.
    let report = report.expect("a file that can be compared");
    assert!(report.findings.iter().all(|finding| finding.field == Field::Row), "{:?}", found(&report));
    assert!(report.findings[0].eh_frame.contains("can't be executed"), "{}", report.findings[0].eh_frame);
    bytes[at + 1..at + 7].copy_from_slice(&[0x07, 6, 0x0e, 16, 0, 0]);
    let report = diff(&bytes);
    assert_eq!(report.lost_fp, 2);
    assert_eq!(found(&report), [("second", 2, 1, Field::Cfa)], "only the CFA, which has not been taken back");
}

// Hazards.

#[rstest]
#[case("gnu-2.47/amd64/discarded_return.O2", &[HazardKind::PoppedSlot])]
#[case("gnu-2.47/aarch64/discarded_return.O2", &[HazardKind::BelowRedZone, HazardKind::LinkRegister])]
#[case("gnu-2.47/amd64/realign.O2", &[HazardKind::PoppedSlot, HazardKind::OtherRegister])]
#[case("gnu-2.47/s390x/leaf.O2", &[HazardKind::OtherRegister, HazardKind::LinkRegister])]
#[case("gnu-2.44/aarch64/leaf.O2", &[HazardKind::LinkRegister])]
#[case("gnu-2.47/amd64/undefined_ra.O2", &[HazardKind::PoppedSlot, HazardKind::EndsEarly])]
#[case("gnu-2.47/amd64/noreturn_call.O2", &[])]
fn hazards_are_those_of_the_rules(#[case] id: &str, #[case] expected: &[HazardKind]) {
    let report = diff(&build(id));
    let mut kinds: Vec<HazardKind> = report.hazards.iter().map(|hazard| hazard.kind).collect();
    kinds.sort_unstable();
    kinds.dedup();
    assert_eq!(kinds, expected, "{id}");
    for hazard in &report.hazards {
        assert!(hazard.instructions > 0 && hazard.message.contains(&hazard.function), "{}", hazard.message);
        assert!(report.text().contains(&format!("hazard: {}", hazard.kind)), "{}", report.text());
    }
}

// The command.
