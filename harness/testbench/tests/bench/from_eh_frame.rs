//! The section implied by call frame information, for every build of the
//! corpus: at every PC it has the same meaning as the section written by
//! assembler and linker, except for the differences that `from_eh_frame.yaml`
//! explains.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::{Command, Output};

use glob::Pattern;
use object::elf::{FileHeader64, PT_GNU_SFRAME, PT_NULL, SHT_PROGBITS};
use object::read::elf::{FileHeader as _, ProgramHeader as _, SectionHeader as _};
use object::{Endianness, U32};
use rayon::prelude::*;
use rstest::rstest;
use serde::Deserialize;
use sframe_corpus::corpus::Build;
use sframe_corpus::yaml;
use sframe_elf::object_file::{ObjectFile, SectionBytes};
use sframe_engine::constants::{SFRAME_F_FDE_FUNC_START_PCREL, SFRAME_F_FDE_SORTED};
use sframe_engine::{
    Base, Flags, InstructionPointer, PauthKey, PcType, Recovery, RecoveryRule, Row, Section, Version,
};
use sframe_inspect::convert::layout::Layout;
use sframe_inspect::convert::{ConvertError, Request};
use sframe_inspect::dump::{Dump, Faults};
use sframe_inspect::lint::lint_file;
use sframe_judge::target::Target;
use sframe_judge::target::files::Files;

use crate::command::{bench_in, json};
use crate::common;

fn request(version: u8) -> Request {
    let version = Version::from_number(version).expect("a version");
    Request { version, byte_order: None, layout: Layout::default() }
}

/// A section's meaning at a PC, in a normalised form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Meaning {
    /// CFA, RA and FP, with the CFA substituted where possible.
    rules: Option<[RecoveryRule; 3]>,
    mangled: bool,
    key: PauthKey,
    signal: bool,
    row: Row,
}

fn meaning(section: &Section<'_>, pc: u64) -> Option<Meaning> {
    let found = section.lookup(InstructionPointer(pc)).expect("a sound section")?;
    let abi = section.header().abi;
    let rules = found.row.cfa.map(|cfa| {
        let value = |recovery, own| match recovery {
            Recovery::Undefined => panic!("undefined with a CFA"),
            Recovery::Unchanged => RecoveryRule { base: own, offset: 0, dereference: false },
            Recovery::Rule(rule) if rule.base == Base::Cfa && !cfa.dereference => {
                RecoveryRule { base: cfa.base, offset: cfa.offset + rule.offset, ..rule }
            }
            Recovery::Rule(rule) => rule,
        };
        let ra = abi.ra().map_or(Base::Cfa, Base::Register);
        [cfa, value(found.row.ra, ra), value(found.row.fp, Base::Fp)]
    });
    let (mangled, key, signal) = (found.row.mangled_ra, found.fde.pauth_key, found.fde.signal);
    Some(Meaning { rules, mangled, key, signal, row: found.row })
}

/// The names of what differs.
fn differences(implied: Option<&Meaning>, written: Option<&Meaning>) -> Vec<&'static str> {
    let (implied, written) = match (implied, written) {
        (None, None) => return Vec::new(),
        (Some(_), None) => return vec!["only-cfi"],
        (None, Some(_)) => return vec!["only-sframe"],
        (Some(implied), Some(written)) => (implied, written),
    };
    let mut names = Vec::new();
    match (implied.rules, written.rules) {
        (Some(one), Some(other)) => {
            let rules = ["cfa", "ra", "fp"].into_iter().zip(one.iter().zip(&other));
            names.extend(rules.filter(|(_, (one, other))| one != other).map(|(name, _)| name));
            // Slots are located from the CFA: if that differs, so do their contents.
            if one[0] != other[0] {
                names.retain(|name| match *name {
                    "ra" => implied.row.ra != written.row.ra,
                    "fp" => implied.row.fp != written.row.fp,
                    _ => true,
                });
            }
        }
        (None, None) => {}
        _ => names.push("outermost"),
    }
    for (name, differs) in [
        ("mangled", implied.mangled != written.mangled),
        ("key", implied.key != written.key),
        ("signal", implied.signal != written.signal),
    ] {
        if differs {
            names.push(name);
        }
    }
    names
}

/// Collects the addresses at which a section's meaning may change.
fn changes(section: &Section<'_>, changes: &mut BTreeSet<u64>) {
    for fde in section.fdes() {
        let fde = fde.expect("an FDE");
        let end = fde.start + u64::from(fde.size);
        changes.extend([fde.start, end]);
        match (fde.pc_type, fde.rep_size) {
            (PcType::Inc, _) => {
                changes
                    .extend(section.rows(&fde).map(|row| fde.start + u64::from(row.expect("a row").start)));
            }
            (PcType::Mask, Some(size)) => {
                for block in (fde.start..end).step_by(size.into()) {
                    changes
                        .extend(section.rows(&fde).map(|row| block + u64::from(row.expect("a row").start)));
                }
            }
            // The start of a row is a bit mask.
            (PcType::Mask, None) => changes.extend(fde.start..end),
        }
    }
}

/// Where two sections differ.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Difference {
    function: String,
    name: &'static str,
    /// The first PC, and the two meanings there.
    example: String,
}

/// Compares the section implied by a file's information with its own. Returns
/// the number of PCs, and the differences. `is_instruction` is true for
/// addresses at which instructions start.
fn compare(version: u8, file: &[u8], is_instruction: &dyn Fn(u64) -> bool) -> (u64, Vec<Difference>) {
    let subject = ObjectFile::parse(file).expect("an ELF file");
    let sframe = subject.sframe.expect("a section");
    let written = Section::parse(sframe.data, sframe.address).expect("a sound section");
    let converted = request(version).synthesize(file).expect("call frame information");
    assert_eq!(converted.errors, []);
    let bytes = converted.section().expect("a section");
    let implied = Section::parse(&bytes, sframe.address).expect("a sound section");
    let mut addresses = BTreeSet::new();
    changes(&written, &mut addresses);
    changes(&implied, &mut addresses);
    let is_mask = |pc: u64| {
        let fde = written.lookup_fde(InstructionPointer(pc)).expect("a sound section");
        fde.is_some_and(|fde| fde.pc_type == PcType::Mask && fde.rep_size.is_none())
    };
    let mut pcs = 0;
    let mut found = BTreeMap::new();
    let addresses: Vec<u64> = addresses.into_iter().collect();
    for pair in addresses.windows(2) {
        let (pc, end) = (pair[0], pair[1]);
        // Bit masks are only right where instructions start.
        if written.header().version == Version::V1 && is_mask(pc) && !is_instruction(pc) {
            continue;
        }
        let (one, other) = (meaning(&implied, pc), meaning(&written, pc));
        if one.is_some() && other.is_some() {
            pcs += end - pc;
        }
        for name in differences(one.as_ref(), other.as_ref()) {
            let function =
                subject.symbols.at(pc).map_or_else(|| format!("{pc:#x}"), |(name, _)| name.to_owned());
            let rules = |meaning: Option<Meaning>| {
                meaning.map_or_else(|| "nothing".to_owned(), |meaning| meaning.row.to_string())
            };
            let example = format!("{pc:#x}: {} implied, {} written", rules(one), rules(other));
            found.entry((function, name)).or_insert(example);
        }
    }
    let found = found.into_iter().map(|((function, name), example)| Difference { function, name, example });
    (pcs, found.collect())
}

/// An entry of the list of differences.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    programs: Vec<String>,
    #[serde(default)]
    toolchains: Vec<String>,
    #[serde(default)]
    abis: Vec<String>,
    functions: Vec<String>,
    differences: Vec<String>,
    reason: String,
}

impl Entry {
    /// What in the entry a difference is an example of; `None` if the entry does
    /// not apply.
    fn explains(&self, build: &Build, difference: &Difference) -> Option<Vec<String>> {
        let is_free =
            |names: &[String], name: &str| names.is_empty() || names.iter().any(|other| other == name);
        let function = self
            .functions
            .iter()
            .find(|name| Pattern::new(name).expect("a pattern").matches(&difference.function))?;
        // A derived build has the faults of its source.
        let made_by = build.derived_from.as_deref().and_then(|id| id.split('/').next());
        let toolchain = made_by.unwrap_or(&build.toolchain);
        let is_meant = self.programs.contains(&build.program)
            && is_free(&self.toolchains, toolchain)
            && is_free(&self.abis, build.abi.name())
            && is_free(&self.differences, difference.name);
        let parts = [&build.program, toolchain, build.abi.name(), function, difference.name];
        is_meant.then(|| parts.into_iter().map(str::to_owned).collect())
    }

    fn parts(&self) -> impl Iterator<Item = &String> {
        [&self.programs, &self.toolchains, &self.abis, &self.functions, &self.differences]
            .into_iter()
            .flatten()
    }
}

/// The files of a build: the executable and its libraries.
fn each_file(files: &Files) -> impl Iterator<Item = &[u8]> {
    std::iter::once(&*files.executable).chain(files.libraries.iter().map(|(_, file)| &**file))
}

#[test]
fn the_implied_section_says_what_the_written_one_does() {
    let suite = common::suite();
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/bench/from_eh_frame.yaml");
    let entries: Vec<Entry> = yaml::read(&path).unwrap_or_else(|error| panic!("{error}"));
    let compared: Vec<(&Build, u64, Vec<Difference>)> = suite
        .manifest()
        .builds
        .par_iter()
        .map(|build| {
            let files = build.files(suite.corpus()).expect("files");
            let target = Target::open_files(&files).expect("a target");
            let (mut pcs, mut differences) = (0, Vec::new());
            for (file, module) in each_file(&files).zip(&target.modules) {
                let is_instruction = |pc: u64| module.code().at(pc.wrapping_add(module.image.bias)).is_some();
                let (count, found) = compare(build.sframe_version, file, &is_instruction);
                pcs += count;
                differences.extend(found);
            }
            (build, pcs, differences)
        })
        .collect();

    let mut seen = vec![BTreeSet::new(); entries.len()];
    let mut unexplained = Vec::new();
    for (build, pcs, differences) in &compared {
        assert!(*pcs > 0, "{}: nothing was compared", build.id);
        for difference in differences {
            let mut is_explained = false;
            for (entry, seen) in entries.iter().zip(&mut seen) {
                if let Some(parts) = entry.explains(build, difference) {
                    seen.extend(parts);
                    is_explained = true;
                }
            }
            if !is_explained {
                unexplained.push(format!("{} {difference:?}", build.id));
            }
        }
    }
    assert!(unexplained.is_empty(), "{} differences:\n{}", unexplained.len(), unexplained.join("\n"));
    for (entry, seen) in entries.iter().zip(&seen) {
        let idle: Vec<&String> = entry.parts().filter(|part| !seen.contains(*part)).collect();
        assert!(idle.is_empty(), "nothing is found with {idle:?}: {}", entry.reason);
        assert!(entry.reason.len() >= 20, "a reason is needed, not {:?}", entry.reason);
    }
    let (count, pcs) = (compared.len(), compared.iter().map(|(_, pcs, _)| pcs).sum::<u64>());
    assert!(count > 2500 && pcs > 5_500_000, "{count} builds, {pcs} PCs");
}

/// Linter rules broken by a section that is larger than necessary.
const NEEDLESS: [&str; 6] = ["SF227", "SF306", "SF312", "SF320", "SF329", "SF330"];

#[test]
fn each_implied_section_is_sound_and_small_and_goes_into_its_file() {
    let suite = common::suite();
    let grown: Vec<usize> = suite
        .manifest()
        .builds
        .par_iter()
        .map(|build| {
            let files = build.files(suite.corpus()).expect("files");
            let mut grown = 0;
            for file in each_file(&files) {
                let converted =
                    request(build.sframe_version).synthesize(file).expect("call frame information");
                let new = converted.file().expect("a place for the section");
                let report = lint_file(&new, &build.id).expect("an ELF file");
                let wrong = report
                    .findings
                    .iter()
                    .filter(|finding| finding.severity == "error" || NEEDLESS.contains(&finding.rule));
                assert_eq!(wrong.map(|finding| &finding.message).next(), None, "{}", build.id);
                let (old, sframe) = (sframe_of(file), sframe_of(&new));
                let dump = Dump::decode(sframe.data, sframe.address).expect("a section");
                assert_eq!(
                    (dump.functions().is_some(), dump.faults()),
                    (true, Faults::default()),
                    "{}",
                    build.id
                );
                let section = Section::parse(sframe.data, sframe.address).expect("a section");
                let header = section.header();
                let old = Section::parse(old.data, old.address).expect("a section");
                assert_eq!(header.num_fdes as usize, converted.section.functions.len());
                let fixed = |section: &Section<'_>| {
                    (section.header().fixed_ra_offset, section.header().fixed_fp_offset)
                };
                assert_eq!(fixed(&section), fixed(&old), "{}", build.id);
                let pcrel = if header.version == Version::V3 { SFRAME_F_FDE_FUNC_START_PCREL } else { 0 };
                assert_eq!(header.flags, Flags(SFRAME_F_FDE_SORTED | pcrel), "{}", build.id);
                // LLD does not sort, and derived builds exist for other flags.
                if build.toolchain.starts_with("gnu-") {
                    assert_eq!(header.flags, old.header().flags, "{}", build.id);
                }
                grown += usize::from(new.len() > file.len());
            }
            grown
        })
        .collect();
    assert!(grown.iter().sum::<usize>() > 20, "sections that are longer than the old ones");
}

/// The section of a file.
fn sframe_of(file: &[u8]) -> SectionBytes<'_> {
    ObjectFile::parse(file).expect("an ELF file").sframe.expect("a section")
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Returns the file without its section: neither the linker's table nor the loader's
/// has it.
pub(crate) fn without_section(file: &[u8]) -> Vec<u8> {
    let header = FileHeader64::<Endianness>::parse(file).expect("an ELF file");
    let endian = header.endian().expect("a byte order");
    let mut new = file.to_vec();
    let mut put = |offset: u64, value: u32| {
        let offset = usize::try_from(offset).expect("an offset");
        new[offset..offset + 4].copy_from_slice(object::pod::bytes_of(&U32::new(endian, value)));
    };
    for (index, segment) in (0..).zip(header.program_headers(endian, file).expect("segments")) {
        if segment.p_type(endian) == PT_GNU_SFRAME {
            put(header.e_phoff.get(endian) + 56 * index, PT_NULL.0);
        }
    }
    let sections = header.sections(endian, file).expect("sections");
    let (index, _) = sections.section_by_name(endian, b".sframe").expect("a section");
    let entry = header.e_shoff.get(endian) + 64 * index.0 as u64;
    put(entry, 0);
    put(entry + 4, SHT_PROGBITS.0);
    assert!(ObjectFile::parse(&new).expect("an ELF file").sframe.is_none());
    new
}

/// Writes the files of a build into a folder, with sections made from call
/// frame information. Returns the path of the executable.
fn imply_all(folder: &Path, build: &Build, to: &str, change: fn(&[u8]) -> Vec<u8>) -> String {
    let files = build.files(common::suite().corpus()).expect("files");
    let name = build.path(Path::new("")).file_name().expect("a name").to_string_lossy().into_owned();
    let libraries = files.libraries.iter().map(|(name, file)| (name.clone(), &**file));
    for (name, file) in std::iter::once((name.clone(), &*files.executable)).chain(libraries) {
        let (old, new) = (folder.join("old"), folder.join(&name).display().to_string());
        std::fs::write(&old, change(file)).expect("a file");
        let old = old.display().to_string();
        let made = bench_in(folder, &["convert", "--from=eh-frame", &old, "--to", to, "--elf", &new]);
        assert_eq!(made.status.code(), Some(0), "{}: {}", build.id, stderr(&made));
    }
    folder.join(name).display().to_string()
}

/// Returns status, verdicts and figures of a check.
fn checked(path: &str) -> (Option<i32>, serde_json::Value) {
    let output = bench_in(Path::new("."), &["check", "--json", path]);
    (output.status.code(), json(&output)["summary"].clone())
}

/// For each ABI: static, position-independent and dynamic, in each version.
#[rstest]
#[case("gnu-2.40/amd64/recursion.O2-pie", "1")]
#[case("gnu-2.40/aarch64/shrink_wrap.O2", "1")]
#[case("gnu-2.40/aarch64_be/pauth.O0", "1")]
#[case("gnu-2.44/amd64/plt.O2-shared", "2")]
#[case("gnu-2.44/aarch64/crossing.O2-dynamic-pie", "2")]
#[case("gnu-2.44/aarch64_be/pauth.O2", "2")]
#[case("llvm-22/amd64/cplusplus.O2", "2")]
#[case("gnu-2.47/amd64/realign.O2", "3")]
#[case("gnu-2.47/amd64/plt.O2-shared", "3")]
#[case("gnu-2.47/aarch64/bti_code_key_b.O2", "3")]
#[case("gnu-2.47/aarch64_be/crossing.O2-dynamic", "3")]
#[case("gnu-2.47/s390x/saved_fprs.O2", "3")]
#[case("gnu-2.47/s390x/crossing.O2-dynamic-now", "3")]
fn a_file_with_the_implied_section_is_checked_as_before(#[case] id: &str, #[case] to: &str) {
    let suite = common::suite();
    let build = suite.manifest().get(id).expect("a build");
    let original = checked(&build.path(suite.corpus()).display().to_string());
    for change in [<[u8]>::to_vec, without_section] {
        let folder = tempfile::tempdir().expect("a folder");
        let (status, mut summary) = checked(&imply_all(folder.path(), build, to, change));
        // Assemblers sometimes write the same row twice.
        for figure in ["rows_total", "rows_exercised", "rows_exercised_as_caller", "rows_explored"] {
            if let Some(value) = original.1.get(figure) {
                summary[figure] = value.clone();
            }
        }
        assert_eq!((status, summary), original, "{id}");
    }
}

/// A program without a section gets one, and the kernel runs it as before.
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
#[test]
fn a_program_with_the_implied_section_is_still_a_program() {
    use std::os::unix::fs::PermissionsExt as _;

    let folder = tempfile::tempdir().expect("a folder");
    for id in ["gnu-2.40/amd64/recursion.O2", "gnu-2.44/amd64/leaf.O2-pie", "gnu-2.47/amd64/plt.O2-shared"] {
        let old = folder.path().join("old");
        std::fs::write(&old, without_section(&sound(id).1)).expect("a file");
        std::fs::set_permissions(&old, std::fs::Permissions::from_mode(0o750)).expect("permissions");
        let made = bench_in(folder.path(), &["convert", "--from=eh-frame", "old", "--to=3", "--elf=new"]);
        assert_eq!(made.status.code(), Some(0), "{}", stderr(&made));
        let new = folder.path().join("new");
        let mode = std::fs::metadata(&new).expect("a file").permissions().mode();
        assert_eq!(mode & 0o777, 0o750, "{id}");
        assert_eq!(Command::new(&new).status().expect("the program starts").code(), Some(0), "{id}");
    }
}

/// If the producer is at fault, as listed in `from_eh_frame.yaml`, the implied section is
/// right.
#[rstest]
#[case("gnu-2.47/amd64/crossing.O2-dynamic", "3")]
#[case("gnu-2.40/amd64/crossing_ibt.O2-dynamic-pie", "1")]
#[case("gnu-2.40/aarch64/remember_restore.O2", "1")]
#[case("gnu-2.44/aarch64_be/signed_rows.O2", "2")]
#[case("gnu-2.47/s390x/remember_restore.O2", "3")]
fn the_implied_section_lacks_the_faults_of_the_written_one(#[case] id: &str, #[case] to: &str) {
    let suite = common::suite();
    let build = suite.manifest().get(id).expect("a build");
    assert_eq!(checked(&build.path(suite.corpus()).display().to_string()).0, Some(1), "{id}");
    let folder = tempfile::tempdir().expect("a folder");
    let (status, summary) = checked(&imply_all(folder.path(), build, to, <[u8]>::to_vec));
    assert_eq!(status, Some(0), "{id}: {summary}");
}

/// The position of the `.eh_frame` section in a file.
pub(crate) fn eh_frame(file: &[u8]) -> std::ops::Range<usize> {
    let header = FileHeader64::<Endianness>::parse(file).expect("an ELF file");
    let endian = header.endian().expect("a byte order");
    let sections = header.sections(endian, file).expect("sections");
    let (_, section) = sections.section_by_name(endian, b".eh_frame").expect("a section");
    let (start, len) = section.file_range(endian).expect("bytes");
    let start = usize::try_from(start).expect("an offset");
    start..start + usize::try_from(len).expect("a length")
}

/// The version and the file of a build.
pub(crate) fn sound(id: &str) -> (u8, Vec<u8>) {
    let suite = common::suite();
    let build = suite.manifest().get(id).expect("a build");
    (build.sframe_version, build.read(suite.corpus()).expect("a file"))
}

/// The same, with the first occurrence of some bytes in `.eh_frame` replaced.
pub(crate) fn doctored(id: &str, from: &[u8], to: &[u8]) -> (u8, Vec<u8>) {
    let (version, mut file) = sound(id);
    let section = eh_frame(&file);
    let position = file[section.clone()].windows(from.len()).position(|bytes| bytes == from);
    let at = section.start + position.expect("these bytes");
    file[at..at + to.len()].copy_from_slice(to);
    (version, file)
}

/// Other information gives other rows, and the comparison sees that.
#[rstest]
// DW_CFA_def_cfa_offset 16 becomes 24.
#[case("gnu-2.40/amd64/recursion.O2", &[0x0e, 16], &[0x0e, 24], &["cfa"])]
// DW_CFA_offset of rbp, x30, x29 to another slot.
#[case("gnu-2.44/amd64/recursion.O0", &[0x86, 2], &[0x86, 4], &["fp"])]
#[case("gnu-2.44/aarch64/recursion.O0", &[0x9e, 1], &[0x9e, 5], &["ra"])]
#[case("gnu-2.47/s390x/recursion.O2", &[0x8e, 6], &[0x8e, 8], &["ra"])]
// DW_CFA_AARCH64_negate_ra_state becomes DW_CFA_nop.
#[case("gnu-2.40/aarch64_be/pauth.O2", &[0x2d], &[0], &["mangled"])]
// Key B in a CIE's augmentation becomes tagged stacks, and then a signal frame.
#[case("gnu-2.44/aarch64/bti_code_key_b.O2", b"zRB", b"zRG", &["key"])]
#[case("gnu-2.47/aarch64/bti_code_key_b.O2", b"zRB", b"zRS", &["key", "signal"])]
// DW_CFA_undefined of the return address becomes DW_CFA_same_value; amd64 can't express that.
#[case("gnu-2.47/aarch64/leaf.O2", &[0x07, 30], &[0x08, 30], &["outermost"])]
#[case("gnu-2.47/amd64/leaf.O2", &[0x07, 16], &[0x08, 16], &["only-sframe"])]
fn doctored_information_gives_the_doctored_rules(
    #[case] id: &str,
    #[case] from: &[u8],
    #[case] to: &[u8],
    #[case] expected: &[&str],
) {
    let (version, file) = sound(id);
    assert_eq!(compare(version, &file, &|_| true).1, [], "{id}");
    let (version, file) = doctored(id, from, to);
    let (_, differences) = compare(version, &file, &|_| true);
    let names: BTreeSet<&str> = differences.iter().map(|difference| difference.name).collect();
    assert_eq!(names.into_iter().collect::<Vec<_>>(), expected, "{id}: {differences:?}");
}

#[test]
fn what_is_left_out_is_listed_with_each_row_and_reason() {
    let folder = tempfile::tempdir().expect("a folder");
    let build = |id: &str| common::repository().join("corpus/builds").join(id).display().to_string();
    let synthesize = |id: &str, to: &str| {
        bench_in(
            folder.path(),
            &["convert", "--from", "eh-frame", &build(id), "--to", to, "-o", "out", "--json"],
        )
    };
    for (id, to, function, pc, rules, reason) in [
        ("gnu-2.47/amd64/realign.O2", "2", "realigned", "0x4001e5", "CFA = r10, ", "CFA rule"),
        (
            "gnu-2.47/amd64/undefined_ra.O2",
            "1",
            "thread_start",
            "0x400256",
            "RA undefined",
            "an undefined RA",
        ),
    ] {
        let output = synthesize(id, to);
        assert_eq!(output.status.code(), Some(1), "{id}");
        let report = json(&output);
        let left_out = report["left_out"].as_array().expect("a list");
        let text = |entry: &serde_json::Value, key: &str| entry[key].as_str().unwrap_or_default().to_owned();
        let entry = left_out.iter().find(|entry| text(entry, "pc") == pc).expect("the row");
        assert_eq!(text(entry, "function"), function);
        assert!(text(entry, "rules").starts_with(rules) && text(entry, "reason").contains(reason), "{entry}");
        let starts: BTreeSet<String> = left_out.iter().map(|entry| text(entry, "start")).collect();
        let carried_over = report["functions"].as_u64().expect("a number") - starts.len() as u64;
        assert_eq!(report["carried_over"], carried_over);
        let lines = stderr(&output);
        assert_eq!(lines.lines().count(), left_out.len(), "{lines}");
        assert!(lines.contains(function) && lines.contains(pc) && lines.contains(reason), "{lines}");
    }
    let output = synthesize("gnu-2.47/s390x/leaf.O2", "1");
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("version 1 does not know s390x"));
}

/// What can be read is written; what is malformed is listed.
#[test]
fn malformed_information_is_listed_and_the_rest_is_written() {
    let id = "gnu-2.44/amd64/recursion.O2";
    let whole = request(2).synthesize(&sound(id).1).expect("sound information").section.functions.len();

    // No vendor uses DW_CFA_hi_user.
    let (_, file) = doctored(id, &[0x0e, 16], &[0x3f, 16]);
    let converted = request(2).synthesize(&file).expect("other functions");
    assert_eq!(converted.section.functions.len(), whole - 1);
    let reasons: Vec<&String> = converted.left_out.iter().map(|left_out| &left_out.reason).collect();
    assert!(matches!(&reasons[..], [one] if one.contains("can't be executed")), "{reasons:?}");
    assert_eq!(converted.errors, []);
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("file"), &file).expect("a file");
    for (command, says) in [
        (
            &["check", "--from=eh-frame", "--no-explore"][..],
            "call frame information of 1 function can't be read",
        ),
        (
            &["explore", "--from=eh-frame", "--coverage=all"],
            "call frame information of 1 function can't be read",
        ),
    ] {
        let output = bench_in(folder.path(), &[command, &["file"]].concat());
        let said = String::from_utf8_lossy(&output.stdout);
        let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!((output.status.code(), said.contains(says)), (Some(3), true), "{command:?}: {said}");
    }

    // An entry that is longer than the section: those after it can't be found.
    let (_, sound) = sound(id);
    let section = eh_frame(&sound);
    let length = |at: usize| u32::from_le_bytes(sound[at..at + 4].try_into().expect("4 bytes")) as usize;
    let second = section.start + 4 + length(section.start);
    let third = second + 4 + length(second);
    for (at, functions) in [(third, 1), (second, 0), (section.start, 0)] {
        let mut file = sound.clone();
        file[at..at + 4].copy_from_slice(&0x7fff_0000_u32.to_le_bytes());
        match request(2).synthesize(&file) {
            Ok(converted) => {
                assert_eq!((converted.section.functions.len(), converted.errors.len()), (functions, 1));
                assert!(whole > functions);
            }
            Err(error) => {
                assert!(matches!(error, ConvertError::Cfi(_)), "{error}");
                assert_eq!(functions, 0);
            }
        }
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::write(folder.path().join("file"), &file).expect("a file");
        let output = bench_in(folder.path(), &["convert", "--from=eh-frame", "file", "--to=2", "-o=out"]);
        assert_eq!(output.status.code(), Some(if functions > 0 { 1 } else { 2 }));
        assert!(stderr(&output).contains(".eh_frame can't be read past offset"), "{}", stderr(&output));
        assert_eq!(stderr(&output).lines().count(), 1);
        assert_eq!(folder.path().join("out").exists(), functions > 0);
        // What runs and is not read is too much to pass, and so is what may be there and is not read.
        for command in [&["check", "--from=eh-frame", "--no-explore"][..], &["explore", "--from=eh-frame"]] {
            let output = bench_in(folder.path(), &[command, &["file"]].concat());
            let said = String::from_utf8_lossy(&output.stdout);
            let status = if functions > 0 { 3 } else { 2 };
            assert_eq!(output.status.code(), Some(status), "{said}{}", stderr(&output));
            assert!(functions == 0 || said.contains(".eh_frame can't be read"), "{said}");
        }
    }
}

/// Information that can't be read is no better than none, where it would say that a function has lost its FDE.
#[test]
fn damaged_information_hides_no_missing_fde() {
    let lost = std::fs::read(common::repository().join("corpus/constructed/one-function-without-fde/amd64"))
        .expect("a file");
    let section = eh_frame(&lost);
    let folder = tempfile::tempdir().expect("a folder");
    let checked = |bytes: &[u8], command: &[&str]| {
        std::fs::write(folder.path().join("file"), bytes).expect("a file");
        bench_in(folder.path(), &[command, &["file"]].concat()).status.code()
    };
    for command in [&["check", "--no-explore", "--coverage=all"][..], &["diff"]] {
        assert_eq!(checked(&lost, command), Some(1));
        for at in section.clone().step_by(4) {
            let mut damaged = lost.clone();
            damaged[at..(at + 40).min(section.end)].fill(0xf5);
            assert_ne!(checked(&damaged, command), Some(0), "{command:?}: {:#x}", at - section.start);
        }
    }
}

#[test]
fn files_that_imply_nothing_are_one_error() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = |name: &str, bytes: &[u8]| {
        std::fs::write(folder.path().join(name), bytes).expect("a file");
        name.to_owned()
    };
    let (_, build) = sound("gnu-2.44/aarch64/leaf.O2");
    let mut empty = build.clone();
    empty[eh_frame(&build)].fill(0);
    let mut foreign = build.clone();
    foreign[0x12] = 8;
    let raw = file("raw", sframe_of(&build).data);
    let object = common::repository().join("corpus/dumps/odd/gnu-2.44/aarch64.o").display().to_string();
    for (name, message) in [
        (file("empty", &empty), "there is no call frame information in .eh_frame or .debug_frame"),
        (file("foreign", &foreign), "the ELF file is for machine 8, not for amd64, aarch64 or s390x"),
        (object, "this is a relocatable object; call frame information is taken from linked files only"),
        (raw, "can't be read"),
        (file("short", &build[..100]), "can't be read"),
        (file("nothing", b""), "can't be read"),
    ] {
        let output = bench_in(folder.path(), &["convert", "--from=eh-frame", &name, "--to=3", "--elf=out"]);
        let error = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{name}: {error}");
        assert!(error.contains(message), "{name}: {error}");
        assert_eq!(error.lines().count(), 1, "{error}");
        assert!(output.stdout.is_empty() && !folder.path().join("out").exists());
    }
}

/// For any information, the result is a sound section or an error.
#[rstest]
#[case("gnu-2.47/amd64/crossing.O2-dynamic")]
#[case("gnu-2.47/amd64/realign.O2")]
#[case("gnu-2.44/aarch64_be/pauth.O2")]
#[case("gnu-2.47/s390x/saved_fprs.O2")]
fn any_information_implies_a_sound_section_or_an_error(#[case] id: &str) {
    let (version, file) = sound(id);
    let section = eh_frame(&file);
    let inputs: Vec<(usize, u8)> =
        section.flat_map(|at| [0, 1, 0x0f, 0x7f, 0xff].map(|value| (at, value))).collect();
    let outcomes: Vec<bool> = inputs
        .into_par_iter()
        .map(|(at, value)| {
            let mut file = file.clone();
            file[at] = value;
            let Ok(converted) = request(version).synthesize(&file) else { return false };
            let Ok(bytes) = converted.section() else { return false };
            let section = Section::parse(&bytes, sframe_of(&file).address).expect("a sound section");
            for fde in section.fdes() {
                let fde = fde.expect("an FDE");
                assert!(section.rows(&fde).all(|row| row.is_ok()), "{id}: {value} at {at:#x}");
            }
            true
        })
        .collect();
    let good = outcomes.iter().filter(|is_good| **is_good).count();
    assert!(good > 1000 && good < outcomes.len(), "{id}: {good} of {}", outcomes.len());
}

/// Versions 1 and 2 have 32 bits for the distance to a function.
#[test]
fn functions_out_of_reach_are_left_out() {
    let (_, mut file) = sound("gnu-2.44/amd64/recursion.O2");
    let near = request(2).synthesize(&file).expect("information").section.functions;
    let header = FileHeader64::<Endianness>::parse(&*file).expect("an ELF file");
    let sections = header.sections(Endianness::Little, &*file).expect("sections");
    let (index, _) = sections.section_by_name(Endianness::Little, b".sframe").expect("a section");
    let field =
        usize::try_from(header.e_shoff.get(Endianness::Little)).expect("an offset") + 64 * index.0 + 0x10;
    // So far past the code that only part of it is close enough for the last field.
    let address = near[near.len() / 2].start + (1 << 31) - 20 * near.len() as u64;
    file[field..field + 8].copy_from_slice(&address.to_le_bytes());
    let converted = request(2).synthesize(&file).expect("information");
    let (kept, gone) = (&converted.section.functions, &converted.left_out);
    assert_eq!(kept.len() + gone.len(), near.len());
    assert!(kept.iter().all(|kept| gone.iter().all(|gone| gone.start < kept.start)));
    assert!(!kept.is_empty() && !gone.is_empty());
    assert!(gone.iter().all(|gone| gone.reason.contains("too far from the section")), "{gone:?}");
    let bytes = converted.section().expect("functions in reach");
    let section = Section::parse(&bytes, address).expect("a sound section");
    let starts: Vec<u64> = section.fdes().map(|fde| fde.expect("an FDE").start).collect();
    assert_eq!(starts, kept.iter().map(|kept| kept.start).collect::<Vec<_>>());
    let mut made = request(3).synthesize(&file).expect("information");
    assert_eq!(made.left_out, []);
    // One of a section that is there already.
    let far = made.section.functions.last_mut().expect("a function");
    far.start += 1 << 33;
    let far = far.start;
    let section = made.section.write(0).expect("a section");
    let converted = request(2).convert(&section[..]).expect("the others");
    assert_eq!(converted.section.functions.len() + 1, made.section.functions.len());
    let [gone] = &converted.left_out[..] else { panic!("{:?}", converted.left_out) };
    assert!(gone.start == far && gone.reason.contains("too far from the section"), "{gone:?}");
    converted.section().expect("functions in reach");
}
