//! The linter on files: each rule on ELF files by a file that breaks it, the
//! whole corpus, the command line, and the page of rules.

use object::{Object as _, ObjectSection as _, ObjectSymbol as _};
use serde_json::Value;
use sframe_elf::object_file::ObjectFile;
use sframe_engine::Section;
use sframe_inspect::diff::diff_file;
use sframe_inspect::lint::{ELF_RULES, LintReport, all_rules, lint_file, page};
use sframe_kit::percent::Percent;
use sframe_kit::{Blame, Confidence};

use crate::common::{build, files, inspect, link_object, repository, status};

/// A position-independent amd64 build with a section of version 3.
const BUILD: &str = "gnu-2.47/amd64/recursion.O2-pie";

fn report(bytes: &[u8]) -> LintReport {
    lint_file(bytes, "file").expect("a file that can be linted")
}

/// The rules that a file breaks, and that of coverage.
fn rules(bytes: &[u8]) -> Vec<&'static str> {
    let mut report = report(bytes);
    if let Ok(diff) = diff_file(bytes, "file") {
        report.require_coverage(&diff, Percent::ALL);
    }
    let mut rules: Vec<_> = report.findings.iter().map(|finding| finding.rule).collect();
    rules.sort_unstable();
    rules.dedup();
    rules
}

/// A little-endian file whose parts can be changed.
struct Elf(Vec<u8>);

impl Elf {
    fn number(&self, offset: usize, width: usize) -> usize {
        let mut bytes = [0; 8];
        bytes[..width].copy_from_slice(&self.0[offset..offset + width]);
        usize::from_le_bytes(bytes)
    }

    fn put(mut self, offset: usize, bytes: &[u8]) -> Vec<u8> {
        self.0[offset..offset + bytes.len()].copy_from_slice(bytes);
        self.0
    }

    /// Where the header of a section is.
    fn section_header(&self, name: &str) -> usize {
        let file = object::File::parse(&*self.0).expect("an ELF file");
        let index = file.section_by_name(name).expect("a section").index().0;
        self.number(0x28, 8) + index * 64
    }

    /// Where the PT_GNU_SFRAME program header is.
    fn program_header(&self) -> usize {
        self.program_header_of(0x6474_e554)
    }

    /// Where the first program header of a type is.
    fn program_header_of(&self, kind: usize) -> usize {
        let first = self.number(0x20, 8);
        let headers = (0..self.number(0x38, 2)).map(|index| first + index * 56);
        headers.into_iter().find(|at| self.number(*at, 4) == kind).expect("a program header")
    }

    /// Where the program header of the loaded segment is that holds the section.
    fn load_of_sframe(&self) -> usize {
        let address = self.number(self.section_header(".sframe") + 0x10, 8);
        let first = self.number(0x20, 8);
        let headers = (0..self.number(0x38, 2)).map(|index| first + index * 56);
        let is_its = |at: &usize| {
            let start = self.number(*at + 0x10, 8);
            self.number(*at, 4) == 1 && (start..start + self.number(*at + 0x28, 8)).contains(&address)
        };
        headers.into_iter().find(is_its).expect("a loaded segment")
    }

    /// Where the .sframe section is.
    fn sframe(&self) -> usize {
        self.number(self.section_header(".sframe") + 0x18, 8)
    }
}

fn elf() -> Elf {
    Elf(build(BUILD))
}

fn in_section_header(field: usize, bytes: &[u8]) -> Vec<u8> {
    let at = elf().section_header(".sframe") + field;
    elf().put(at, bytes)
}

#[test]
fn every_rule_on_files_is_reported_for_a_file_that_breaks_it() {
    let sh_addr = elf().number(elf().section_header(".sframe") + 0x10, 8);
    let fde_size = elf().sframe() + 28 + 8;
    let changed = [
        ("SF401", in_section_header(0x20, &[0; 8])),
        ("SF402", elf().put(0x12, &[183, 0])),
        ("SF403", in_section_header(4, &[1, 0, 0, 0])),
        ("SF405", in_section_header(8, &[0; 8])),
        ("SF405", {
            // The file's part of the segment that holds it ends too early, or begins elsewhere.
            let at = elf().load_of_sframe() + 0x20;
            let short = elf().number(elf().section_header(".sframe") + 0x18, 8) + 10
                - elf().number(elf().load_of_sframe() + 8, 8);
            elf().put(at, &(short as u64).to_le_bytes())
        }),
        ("SF405", {
            let at = elf().section_header(".sframe") + 0x18;
            elf().put(at, &(elf().sframe() as u64 + 4).to_le_bytes())
        }),
        ("SF417", in_section_header(8, &3_u64.to_le_bytes())),
        ("SF417", in_section_header(8, &0x802_u64.to_le_bytes())),
        ("SF417", in_section_header(8, &0x202_u64.to_le_bytes())),
        ("SF406", {
            let at = elf().section_header(".eh_frame") + 4;
            elf().put(at, &0x6fff_fff4_u32.to_le_bytes())
        }),
        ("SF407", {
            let at = elf().program_header();
            elf().put(at, &[0; 4])
        }),
        ("SF408", {
            let at = elf().program_header() + 0x10;
            elf().put(at, &(sh_addr as u64 + 8).to_le_bytes())
        }),
        ("SF408", {
            let at = elf().program_header() + 8;
            elf().put(at, &(elf().sframe() as u64 + 8).to_le_bytes())
        }),
        ("SF418", {
            let at = elf().program_header() + 4;
            elf().put(at, &7_u32.to_le_bytes())
        }),
        ("SF419", {
            // It was linked with --emit-relocs.
            let elf = Elf(link_object("v3/amd64/linked"));
            // The first one is at the start of the second FDE.
            let at = elf.number(elf.section_header(".rela.sframe") + 0x18, 8);
            let address = elf.number(at, 8) as u64 + 16;
            elf.put(at, &address.to_le_bytes())
        }),
        ("SF410", in_section_header(0x10, &(sh_addr as u64 + 1).to_le_bytes())),
        ("SF410", in_section_header(0x30, &[1])),
        ("SF420", {
            // In place of PT_GNU_STACK.
            let stack = elf().program_header_of(0x6474_e551);
            elf().put(stack, &0x6474_e554_u32.to_le_bytes())
        }),
        ("SF411", elf().put(fde_size, &[0; 4])),
        ("SF412", elf().put(fde_size, &[1, 0, 0, 0])),
        ("SF413", {
            // The relocation of a slot of the PLT, put into the section.
            let elf = Elf(build("gnu-2.47/amd64/crossing.O2-dynamic"));
            let header = elf.section_header(".sframe");
            let end = elf.number(header + 0x10, 8) + elf.number(header + 0x20, 8);
            let at = elf.number(elf.section_header(".rela.plt") + 0x18, 8);
            elf.put(at, &(end as u64 - 8).to_le_bytes())
        }),
        ("SF414", {
            let elf = Elf(build("gnu-2.44/amd64/recursion.O2"));
            let sframe = elf.sframe();
            let fields = (0..elf.number(sframe + 8, 4)).map(|fde| 28 + 20 * fde);
            let convert = |elf: Elf, field: usize| {
                let start = elf.number(sframe + field, 4).wrapping_sub(field);
                Elf(elf.put(sframe + field, &start.to_le_bytes()[..4]))
            };
            fields.fold(elf, convert).0
        }),
        ("SF415", moved_by_bolt(&[0, 1, 2])),
    ];
    // What GNU ld does itself.
    let as_is = [
        ("SF404", build("gnu-2.44/amd64/recursion.O2-pie")),
        ("SF409", build(BUILD)),
        // One of its objects is without a section on purpose.
        ("SF416", build("gnu-2.47/amd64/mixed_objects.O2")),
    ];
    let sound = rules(&build(BUILD));
    for (rule, _) in &changed {
        assert!(!sound.contains(rule), "{rule}");
    }
    for (rule, bytes) in changed.iter().chain(&as_is) {
        let found = rules(bytes);
        assert!(found.contains(rule), "{rule} is not in {found:?}");
    }
    for rule in ELF_RULES {
        let exercised = changed.iter().chain(&as_is).any(|(id, _)| *id == rule.id);
        assert!(exercised, "no file breaks {} {}", rule.id, rule.name);
    }
}

/// The new names of sections, which follow those that the file has.
const NEW_NAMES: [&str; 3] = [".bolt.org.text", ".text", ".note.bolt_info"];

/// A build as BOLT leaves it: `main` is in another section, and the section that it was in has another name. What marks
/// that are the sections with these indices in [`NEW_NAMES`].
fn moved_by_bolt(marks: &[usize]) -> Vec<u8> {
    const MOVED_TO: u64 = 0x10_0000;
    let mut elf = elf();
    let names = elf.section_header(".shstrtab");
    let (offset, size) = (elf.number(names + 0x18, 8), elf.number(names + 0x20, 8));
    let (end, mut table) = (elf.0.len() as u64, elf.0[offset..offset + size].to_vec());
    let renamed = [".text", ".debug_aranges", ".debug_rnglists"].map(|name| elf.section_header(name));
    let first = elf.number(0x28, 8);
    let index = u16::try_from((renamed[1] - first) / 64).expect("few sections");
    let (number, address) = {
        let file = object::File::parse(&*elf.0).expect("an ELF file");
        let main = file.symbols().find(|symbol| symbol.name() == Ok("main")).expect("main");
        (main.index().0, main.address())
    };
    let main = elf.number(elf.section_header(".symtab") + 0x18, 8) + 24 * number;
    assert_eq!(elf.0[main + 8..main + 16], address.to_le_bytes());
    for mark in marks {
        let name = u32::try_from(table.len()).expect("a small table");
        table.extend(NEW_NAMES[*mark].bytes().chain([0]));
        elf = Elf(elf.put(renamed[*mark], &name.to_le_bytes()));
    }
    // SHT_PROGBITS, SHF_ALLOC and SHF_EXECINSTR, its address.
    for (at, number) in [(4, 1_u32.into()), (8, 6), (0x10, MOVED_TO)] {
        let width = if at == 4 { 4 } else { 8 };
        elf = Elf(elf.put(renamed[1] + at, &u64::to_le_bytes(number)[..width]));
    }
    elf = Elf(elf.put(main + 6, &index.to_le_bytes()));
    elf = Elf(elf.put(main + 8, &MOVED_TO.to_le_bytes()));
    elf.0.extend(&table);
    for (at, number) in [(0x18, end), (0x20, table.len() as u64)] {
        elf = Elf(elf.put(names + at, &number.to_le_bytes()));
    }
    elf.0
}

#[test]
fn what_was_moved_and_left_its_rows_behind_is_stale() {
    let bytes = moved_by_bolt(&[0, 1, 2]);
    assert!(!rules(&build(BUILD)).contains(&"SF415"));
    assert!(rules(&bytes).contains(&"SF415"));
    let file = ObjectFile::parse(&bytes[..]).expect("an ELF file");
    let bytes = file.section().expect(".sframe");
    let section = Section::parse(bytes.data, bytes.address).expect("a section");
    let [fault] = &file.merge_faults(&section)[..] else { panic!("one fault") };
    assert_eq!(fault.blame(), (Blame::Rewriter, Confidence::High));
    assert!(fault.to_string().contains("1 FDE in the code from which BOLT has moved functions"), "{fault}");
    // Without the note, or without code where it moves functions to, the names mean nothing.
    for marks in [&[0, 1][..], &[0, 2], &[1, 2]] {
        assert!(!rules(&moved_by_bolt(marks)).contains(&"SF415"), "{marks:?}");
    }
    // A file without symbols does not say which functions were moved: all, where none is described in the code that is used.
    let stripped = |marks: &[usize]| {
        let elf = Elf(moved_by_bolt(marks));
        let kind = elf.section_header(".symtab") + 4;
        rules(&elf.put(kind, &1_u32.to_le_bytes())).contains(&"SF415")
    };
    assert!(stripped(&[0, 1, 2]));
    for marks in [&[0, 1][..], &[0, 2], &[1, 2]] {
        assert!(!stripped(marks), "{marks:?}");
    }
}

/// GNU ld's segment is longer than the section, so it is cut.
#[test]
fn no_rule_on_files_is_reported_for_a_file_that_keeps_them_all() {
    let (segment, section) = (elf().program_header(), elf().section_header(".sframe"));
    let size = (elf().number(section + 0x20, 8) as u64).to_le_bytes();
    let kept = Elf(elf().put(segment + 0x20, &size)).put(segment + 0x28, &size);
    let found = rules(&kept);
    for rule in ELF_RULES {
        assert!(!found.contains(&rule.id), "{} {}", rule.id, rule.name);
    }
}

#[test]
fn ids_and_names_of_rules_are_unique() {
    let mut names: Vec<&str> = all_rules().flat_map(|rule| [rule.id, rule.name]).collect();
    let count = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), count);
}

/// Relocatable files have no segments and no final addresses.
#[test]
fn rules_that_need_linked_addresses_are_off_in_relocatable_files() {
    let found = rules(&elf().put(0x10, &[1, 0]));
    for rule in ["SF202", "SF203", "SF205", "SF407", "SF408", "SF409", "SF411"] {
        assert!(!found.contains(&rule), "{rule}");
    }
    let two = Elf(in_section_header(4, &[1, 0, 0, 0])).put(0x10, &[1, 0]);
    assert!(rules(&two).contains(&"SF403"), "rules on the section itself stay");
}

/// Whatever a released toolchain wrote keeps to the format.
#[test]
fn no_build_of_the_corpus_breaks_the_format() {
    let paths = files(&repository().join("corpus/builds"));
    assert!(paths.len() > 500, "only {} builds", paths.len());
    let mut versions = [0; 3];
    for path in paths {
        let bytes = std::fs::read(&path).expect("a build");
        let report = lint_file(&bytes, &path.display().to_string()).expect("a file that can be linted");
        let errors: Vec<_> = report
            .findings
            .iter()
            .filter(|finding| finding.severity == "error")
            .map(|finding| finding.rule)
            .collect();
        let is_of = |toolchain: &str, programs: &[&str]| {
            let name = path.file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
            path.components().any(|part| part.as_os_str() == toolchain)
                && programs.iter().any(|program| name.starts_with(program))
        };
        let is_aarch64 =
            path.parent().is_some_and(|abi| abi.ends_with("aarch64") || abi.ends_with("aarch64_be"));
        let known: &[&str] = if is_aarch64 && is_of("gnu-2.47", &["odd_registers."]) {
            // gas writes a base register out of thin air for an expression.
            &["SF326"]
        } else if is_of("llvm-22", &["mixed_objects.", "partial_link."]) {
            // LLD does not merge the sections of several objects.
            &["SF121"]
        } else {
            &[]
        };
        assert_eq!(errors, known, "{}", report.text());
        // Compilers align code and stack. One program does not, on purpose, and LLVM does not in leaf functions.
        let aligned = ["SF229", "SF230", "SF317", "SF331", "SF332"];
        let is_crooked = report.findings.iter().any(|found| aligned.contains(&found.rule));
        let is_meant =
            path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("offset_limits."))
                || is_of("llvm-22", &["leaf_no_red_zone."]);
        assert!(is_meant || !is_crooked, "{}", report.text());
        versions[usize::from(report.sframe_version.expect("a version")) - 1] += 1;
    }
    assert!(versions.iter().all(|count| *count > 50), "{versions:?}");
}

/// A function that lacks an FDE for its first bytes only is covered in part.
#[test]
fn a_function_whose_fde_starts_late_is_partly_covered() {
    let fde = elf().sframe() + 28;
    let start = i64::from_le_bytes(elf().0[fde..fde + 8].try_into().expect("8 bytes"));
    let size = u32::from_le_bytes(elf().0[fde + 8..fde + 12].try_into().expect("4 bytes"));
    let late = Elf(elf().put(fde, &(start + 4).to_le_bytes())).put(fde + 8, &(size - 4).to_le_bytes());
    let found = report(&late).findings;
    let of_coverage: Vec<_> = found.iter().filter(|found| ["SF411", "SF412"].contains(&found.rule)).collect();
    let [partly] = &of_coverage[..] else { panic!("{of_coverage:?}") };
    assert_eq!(partly.rule, "SF412");
    assert!(partly.message.contains(" has no FDE from 0x"), "{}", partly.message);
}

/// Nothing in the file's own structures makes the linter panic.
#[test]
fn any_file_can_be_linted() {
    let original = build(BUILD);
    let section = elf().sframe();
    let headers = elf().number(0x28, 8);
    let places = (0..0x40).chain(0x40..0x200).chain(section..section + 60).chain(headers..original.len());
    for offset in places {
        for value in [0, 1, 0x7f, 0xff] {
            let mut bytes = original.clone();
            bytes[offset] = value;
            let _ = lint_file(&bytes, "file").map(|report| report.text());
        }
    }
    for len in (0..original.len()).step_by(61) {
        let _ = lint_file(&original[..len], "file").map(|report| report.text());
    }
}

#[test]
fn the_command_ends_with_0_1_or_2() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str, bytes: &[u8]| {
        let path = folder.path().join(name);
        std::fs::write(&path, bytes).expect("a file");
        path.display().to_string()
    };
    let sound = inspect(&["lint", &format!("corpus/builds/{BUILD}")]);
    assert_eq!(status(&sound), 0);
    let said = String::from_utf8_lossy(&sound.stdout);
    let lines: Vec<&str> = said.lines().collect();
    assert!(lines[0].ends_with(" (version 3, amd64)"), "{said}");
    assert!(lines.last().is_some_and(|line| line.starts_with("PASS: 0 errors, ")), "{said}");

    let at = elf().sframe();
    let faulty = path("faulty", &elf().put(at + 3, &[0x85]));
    let output = inspect(&["lint", "--json", &faulty]);
    assert_eq!(status(&output), 1);
    let document: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let errors = document["findings"].as_array().expect("findings").iter();
    let errors: Vec<_> = errors.filter(|finding| finding["severity"] == "error").collect();
    assert_eq!(errors.len(), 1, "{document}");
    assert_eq!((&errors[0]["rule"], &errors[0]["offset"]), (&"SF108".into(), &3.into()));
    assert_eq!(errors[0]["clause"], "2.1.3 SFrame Flags");
    assert_eq!(errors[0]["message"], "flag bits 0x80 have no meaning");

    for (name, bytes) in [("text", &b"no section"[..]), ("nothing", b""), ("elf", &elf().0[..0x30])] {
        let output = inspect(&["lint", &path(name, bytes)]);
        assert_eq!(status(&output), 2, "{name}");
        assert_eq!(String::from_utf8_lossy(&output.stderr).lines().count(), 1, "one clear message");
    }
    assert_eq!(status(&inspect(&["lint", "no/such/file"])), 2);
}

#[test]
fn the_bytes_of_a_section_can_be_linted_without_a_file_around_them() {
    let bytes = build(BUILD);
    let data = object::File::parse(&*bytes).expect("an ELF file");
    let data = data.section_by_name(".sframe").expect("a section").data().expect("its bytes").to_vec();
    let report = report(&data);
    assert_eq!((report.sframe_version, report.abi, report.summary.errors), (Some(3), Some("amd64"), 0));
    // Nothing says which functions lack an FDE, and who asks for a share is told.
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("section");
    std::fs::write(&path, &data).expect("a file");
    for (share, expected) in [(&["--coverage", "all"][..], (3, 1)), (&[], (0, 0))] {
        let output = inspect(&[&["lint", &path.display().to_string()], share].concat());
        let said = String::from_utf8_lossy(&output.stdout);
        assert_eq!((status(&output), said.matches("--coverage has nothing to go by").count()), expected);
    }
}

/// Many equal notes are counted.
#[test]
fn the_text_is_short() {
    let mut bytes = build(BUILD);
    let at = elf().sframe();
    let fdes = elf().number(at + 8, 4);
    for fde in 0..fdes {
        bytes[at + 28 + fde * 16 + 8..][..4].fill(0);
    }
    let text = report(&bytes).text();
    assert!(text.contains(&format!("fde-empty (2.3.1 The SFrame FDE Index), {fdes} times")), "{text}");
    assert!(text.contains(&format!("and {} more", fdes - 3)), "{text}");
}

const COMMAND: &str = "UPDATE_LINTS=1 cargo test -p sframe-inspect lints_page";

#[test]
fn the_lints_page_is_current() {
    let path = repository().join("specs/lints.md");
    let current = page();
    assert!(current.contains(COMMAND));
    if std::env::var_os("UPDATE_LINTS").is_some_and(|value| value == "1") {
        std::fs::write(&path, &current).expect("the page is written");
    }
    let committed = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(committed == current, "specs/lints.md is outdated; rewrite it: {COMMAND}");
}

/// What `objcopy --only-keep-debug` leaves of a build.
fn for_debuggers(segment: bool) -> Vec<u8> {
    const NOBITS: [u8; 4] = [8, 0, 0, 0];
    let sframe = elf().section_header(".sframe") + 4;
    let bytes = Elf(elf().put(sframe, &NOBITS));
    let segment_header = bytes.program_header();
    let (field, value) = if segment { (0x20, [0; 8]) } else { (0, [0; 8]) };
    bytes.put(segment_header + field, &value)
}

/// That is no fault of the section, which is in another file.
#[test]
fn a_section_without_contents_is_missing_and_not_malformed() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("file.debug");
    for segment in [true, false] {
        std::fs::write(&path, for_debuggers(segment)).expect("a file");
        for command in ["lint", "dump", "diff"] {
            let output = inspect(&[command, path.to_str().expect("a name")]);
            let error = String::from_utf8_lossy(&output.stderr);
            assert_eq!(output.status.code(), Some(2), "{command}: {error}");
            assert_eq!(error.lines().count(), 1, "{command}: {error}");
            let expected = "the .sframe section has no contents in this file";
            assert!(error.contains(expected) && output.stdout.is_empty(), "{command}: {error}");
        }
    }
}
