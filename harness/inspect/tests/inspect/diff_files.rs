//! `diff` of files of every kind, on the command line, and with what exploring says of rows.

use crate::common::{build, inspect, repository};
use object::{Object as _, ObjectSection as _};
use rayon::prelude::*;
use rstest::rstest;
use serde_json::Value;
use sframe_elf::object_file::ObjectFile;
use sframe_engine::Section;
use sframe_inspect::diff::{Field, diff_file};
use sha2::{Digest as _, Sha256};
use std::process::Output;

use crate::diff::{diff, found, position, relocatable, with_section};

fn json(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).expect("one JSON document on standard output")
}

#[test]
fn the_command_ends_with_0_or_1_and_its_document_has_the_promised_keys() {
    let output = inspect(&["diff", "--json", "corpus/builds/gnu-2.47/amd64/recursion.O2"]);
    assert_eq!(output.status.code(), Some(0));
    let report = json(&output);
    assert_eq!((&report["schema"], &report["sframe_version"]), (&1.into(), &3.into()));
    assert!(report["compared"].as_u64() > Some(20) && report["agree"] == report["compared"]);
    let output = inspect(&["diff", "--json", "corpus/builds/gnu-2.47/amd64/remember_restore.O2"]);
    assert_eq!(output.status.code(), Some(1));
    let report = json(&output);
    for key in ["functions", "pcs", "compared", "agree"] {
        assert!(report[key].as_u64() > Some(0), "{key}");
    }
    assert!(report["findings"][0]["evidence"][0]["says"].is_string());
    for key in
        ["pc", "function", "field", "sframe", "eh_frame", "message", "blame", "confidence", "cfi_section"]
    {
        assert!(report["findings"][0][key].is_string(), "{key}");
    }
    let output = inspect(&["diff", "corpus/builds/gnu-2.47/amd64/remember_restore.O2"]);
    assert_eq!(output.status.code(), Some(1));
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(text.contains("difference: cfa of many_epilogues+0x36 (0x400247), 2 instructions"), "{text}");
    assert!(text.contains("> 0x400247 | add eax, 0x64"), "{text}");
}

/// Where a section's header is in a little-endian file.
fn header_of(bytes: &[u8], name: &str) -> usize {
    let index = object::File::parse(bytes).expect("ELF").section_by_name(name).expect("it").index().0;
    let table = u64::from_le_bytes(bytes[0x28..0x30].try_into().expect("8 bytes"));
    usize::try_from(table).expect("small") + index * 64
}

/// Sets the size of a section in a little-endian file.
fn with_size(id: &str, name: &str, size: u64) -> Vec<u8> {
    let mut bytes = build(id);
    let header = header_of(&bytes, name);
    bytes[header + 0x20..header + 0x28].copy_from_slice(&size.to_le_bytes());
    bytes
}

/// A build with `.eh_frame` compressed, as its header says, into a size that it is said to have.
fn with_compressed_cfi(id: &str, kind: u32, said: impl Fn(usize) -> u64) -> Vec<u8> {
    with_compressed(id, kind, &cfi_of(&build(id)), said)
}

fn with_compressed(id: &str, kind: u32, data: &[u8], said: impl Fn(usize) -> u64) -> Vec<u8> {
    let mut bytes = build(id);
    let header = header_of(&bytes, ".eh_frame");
    // Elf64_Chdr: type, reserved, size, alignment.
    let mut compressed: Vec<u8> = [kind, 0].iter().flat_map(|word| word.to_le_bytes()).collect();
    compressed.extend([said(data.len()), 8].iter().flat_map(|word| word.to_le_bytes()));
    compressed.extend(miniz_oxide::deflate::compress_to_vec_zlib(data, 6));
    let (flags, offset) = (object::elf::SHF_COMPRESSED.0, bytes.len() as u64);
    for (at, value) in [(8, flags), (0x18, offset), (0x20, compressed.len() as u64)] {
        bytes[header + at..header + at + 8].copy_from_slice(&value.to_le_bytes());
    }
    bytes.extend(compressed);
    bytes
}

fn cfi_of(bytes: &[u8]) -> Vec<u8> {
    let file = object::File::parse(bytes).expect("ELF");
    file.section_by_name(".eh_frame").expect("it").data().expect("its bytes").to_vec()
}

/// As debuggers' sections often are.
#[test]
fn compressed_cfi_is_read_or_said_to_be_unreadable() {
    const BUILD: &str = "gnu-2.47/amd64/remember_restore.O2";
    const ZLIB: u32 = 1;
    let whole = |len| len as u64;
    let compressed = diff(&with_compressed_cfi(BUILD, ZLIB, whole));
    assert_eq!(found(&compressed), found(&diff(&build(BUILD))));
    assert!(compressed.compared > 20 && !compressed.findings.is_empty());
    // A small file that would take gigabytes.
    let repetitive = vec![0; 8 << 20];
    let damaged = {
        let mut bytes = with_compressed_cfi(BUILD, ZLIB, whole);
        let last = bytes.len() - 1;
        bytes[last] ^= 1;
        bytes
    };
    for (bytes, message) in [
        (damaged, "it is compressed, and damaged"),
        (with_compressed_cfi(BUILD, ZLIB, |len| len as u64 - 1), "it is compressed, and damaged"),
        (with_compressed_cfi(BUILD, ZLIB, |_| 1 << 40), "would have 1099511627776 bytes"),
        (with_compressed_cfi(BUILD, 2, whole), "its compression is unknown: Zstandard"),
        (with_compressed(BUILD, ZLIB, &repetitive, whole), "would have 8388608, as nothing sound does"),
    ] {
        let error = diff_file(&bytes, "file").expect_err("it can't be read").to_string();
        assert!(error.starts_with(".eh_frame can't be read: ") && error.contains(message), "{error}");
    }
}

/// Older tools give it another name then, and say it in the content.
#[test]
fn cfi_that_was_compressed_by_older_tools_is_read() {
    let mut bytes = build("gnu-2.47/amd64/leaf.O2");
    let sframe = ObjectFile::parse(&bytes).expect("a build").sframe.expect("a section");
    let fdes = Section::parse(sframe.data, sframe.address).expect("a sound section");
    let fde = fdes.fdes().flatten().max_by_key(|fde| fde.size).expect("an FDE");
    // A CIE with CFA = SP+8, RA = *(CFA-8), and an FDE.
    let cie: [&[u8]; 3] =
        [&[20, 0, 0, 0], &[0xff; 4], &[1, 0, 1, 0x78, 16, 12, 7, 8, 0x90, 1, 0, 0, 0, 0, 0, 0]];
    let own: [&[u8]; 4] =
        [&[20, 0, 0, 0], &[0; 4], &fde.start.to_le_bytes(), &u64::from(fde.size).to_le_bytes()];
    let data = [cie.concat(), own.concat()].concat();
    let deflated = miniz_oxide::deflate::compress_to_vec_zlib(&data, 6);
    let content = [&b"ZLIB"[..], &(data.len() as u64).to_be_bytes(), &deflated].concat();
    let names = object::File::parse(&*bytes).expect("ELF").section_by_name(".shstrtab").expect("it").data();
    let names = [names.expect("its bytes"), b".zdebug_frame\0"].concat();
    let name = u32::try_from(names.len() - 14).expect("small");
    let headers = [".eh_frame", ".shstrtab"].map(|name| header_of(&bytes, name));
    for (header, content) in headers.into_iter().zip([content, names]) {
        let place = [bytes.len() as u64, content.len() as u64];
        for (at, value) in [(0x18, place[0]), (0x20, place[1])] {
            bytes[header + at..header + at + 8].copy_from_slice(&value.to_le_bytes());
        }
        bytes.extend(content);
    }
    bytes[headers[0]..headers[0] + 4].copy_from_slice(&name.to_le_bytes());
    bytes[headers[0] + 4..headers[0] + 24].fill(0);
    bytes[headers[0] + 4] = 1;
    let report = diff(&bytes);
    assert!(report.compared > 0 && report.compared < report.pcs, "{report:?}");
}

#[test]
fn files_that_cannot_be_compared_end_with_2_or_3_and_one_message() {
    const BUILD: &str = "gnu-2.47/amd64/recursion.O2";
    let other_machine = {
        let mut bytes = build(BUILD);
        bytes[0x12] = 243;
        bytes
    };
    let of_32_bits = {
        let mut bytes = build(BUILD);
        bytes[4] = 1;
        bytes
    };
    let other_abi = {
        let mut bytes = build(BUILD);
        bytes[0x12] = 183;
        bytes
    };
    let no_functions = with_section(BUILD, |section| section.functions.clear());
    let whole = build(BUILD).len();
    let files: [(&str, Vec<u8>, i32, &str); 12] = [
        ("text", b"no ELF file".to_vec(), 2, "not a 64-bit ELF file"),
        ("nothing", Vec::new(), 2, "not a 64-bit ELF file"),
        ("32 bits", of_32_bits, 2, "not a 64-bit ELF file"),
        ("machine", other_machine, 2, "not for amd64"),
        ("another ABI", other_abi, 2, "is for amd64, the file for aarch64"),
        ("cut", build(BUILD)[..whole / 2].to_vec(), 2, "can't be read"),
        ("no section", with_size(BUILD, ".sframe", 0), 2, ".sframe section (0 bytes at"),
        ("a cut section", with_size(BUILD, ".sframe", 40), 2, ".sframe section (40 bytes at"),
        ("no CFI", with_size(BUILD, ".eh_frame", 0), 2, "neither .eh_frame nor .debug_frame"),
        ("cut CFI", with_size(BUILD, ".eh_frame", 0x2a), 2, ".eh_frame can't be read"),
        ("no FDE", with_size(BUILD, ".eh_frame", 0x18), 3, ""),
        // All of them are missing.
        ("no function", no_functions, 1, ""),
    ];
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("file");
    for (what, bytes, status, message) in files {
        std::fs::write(&path, bytes).expect("a file");
        let output = inspect(&["diff", &path.display().to_string()]);
        let error = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(status), "{what}: {error}");
        assert_eq!(error.lines().count(), usize::from(status == 2), "{what}: {error}");
        assert!(error.contains(message), "{what}: {error}");
    }
    assert_eq!(inspect(&["diff", "no/such/file"]).status.code(), Some(2));
}

/// Functions that share a start, and one within another, keep their own rows.
#[test]
fn overlapping_functions_are_those_that_look_ups_find() {
    let id = "gnu-2.47/aarch64/recursion.O2";
    let changed = with_section(id, |section| {
        let descend = position(id, section, "descend");
        // The first half of the function is another one, with the rows of the whole.
        let mut half = section.functions[descend].clone();
        half.size = (half.size / 8) * 4;
        half.rows.retain(|row| row.start < half.size);
        half.rows_position = u32::try_from(section.functions.len()).expect("few");
        for row in half.rows.iter_mut().skip(1) {
            row.cfa.as_mut().expect("a CFA").offset += 16;
        }
        section.functions.insert(descend + 1, half);
    });
    let report = diff(&changed);
    let half = report.findings.iter().filter(|finding| finding.field == Field::Cfa).count();
    assert!(half > 0, "{:?}", found(&report));
    let whole = diff(&build(id));
    assert_eq!((report.pcs, report.compared), (whole.pcs, whole.compared));
}

/// Nothing in a file makes it panic, or take long.
#[test]
fn any_file_can_be_compared_or_refused() {
    for original in [build("gnu-2.47/amd64/recursion.O2-pie"), relocatable([16, 16])] {
        (0..original.len()).into_par_iter().for_each(|offset| {
            for value in [0, 1, 0x7f, 0xff] {
                let mut bytes = original.clone();
                bytes[offset] = value;
                let _ = diff_file(&bytes, "file").map(|report| report.text());
            }
        });
        for len in (0..original.len()).step_by(41) {
            let _ = diff_file(&original[..len], "file").map(|report| report.text());
        }
    }
}

// Exploring.

/// A function with a wrong row, and a report of `explore --json` about it.
const EXPLORED: &str = "gnu-2.44/amd64/crossing.O2-dynamic.first.so";

fn report_of_exploring(abi: &str, found: &str, undecided: &str) -> String {
    let provenance = provenance_of(EXPLORED);
    format!(
        r#"{{{provenance}, "abi": "{abi}", "findings": [{found}], "functions": [{{"pc": "0x510"{undecided}}}, {{"pc": "0x520"}}]}}"#
    )
}

/// Says that a report is about a build.
fn provenance_of(build: &str) -> String {
    let bytes = std::fs::read(repository().join("corpus/builds").join(build)).expect("a build");
    format!(r#""provenance": {{"digests": {{"{build}": "{:x}"}}}}"#, Sha256::digest(bytes))
}

/// Runs `diff` with a report of exploring.
fn diff_with(report: &str) -> Output {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("explored.json");
    std::fs::write(&path, report).expect("a file");
    let file = repository().join("corpus/builds").join(EXPLORED);
    inspect(&["diff", "--json", "--explored", &path.display().to_string(), &file.display().to_string()])
}

#[rstest]
#[case(
    r#"{"certainty": "proved", "pc": "0x510", "row": {"start": "0x0", "rules": "RA undefined"}, "message": "it"}"#,
    "",
    "the row of .sframe is proved to be wrong: it"
)]
#[case(
    r#"{"certainty": "possible", "pc": "0x51a", "row": {"start": "0x0", "rules": "RA undefined"}, "message": "it"}"#,
    "",
    "the row of .sframe may be wrong: it"
)]
#[case("", "", "the row of .sframe agrees on every path")]
#[case(
    "",
    r#", "undecided": {"not-reached": 1}"#,
    "nothing is found in the row of .sframe, but not all of its function's are checked"
)]
#[case(
    "",
    r#", "partly": 1"#,
    "nothing is found in the row of .sframe, but not all of its function's are checked"
)]
// Of another row, and of another function.
#[case(
    r#"{"certainty": "proved", "pc": "0x510", "row": {"start": "0x4", "rules": "RA undefined"}, "message": "it"}"#,
    "",
    "the row of .sframe agrees on every path"
)]
#[case(
    r#"{"certainty": "proved", "pc": "0x520", "row": {"start": "0x0", "rules": "RA undefined"}, "message": "it"}"#,
    "",
    "the row of .sframe agrees on every path"
)]
fn what_exploring_says_of_a_row_is_evidence(
    #[case] found: &str,
    #[case] undecided: &str,
    #[case] says: &str,
) {
    let output = diff_with(&report_of_exploring("amd64", found, undecided));
    let report: Value = serde_json::from_slice(&output.stdout).expect("a report");
    let all = report["findings"].as_array().expect("a list");
    let difference = all.iter().find(|found| found["pc"] == "0x510").expect("a difference");
    let evidence = difference["evidence"].as_array().expect("a list").last().expect("evidence");
    assert_eq!((&evidence["witness"], &evidence["says"]), (&"exploration".into(), &says.into()));
}

#[rstest]
#[case(&report_of_exploring("s390x", "", ""), "this is a report about a file for s390x")]
#[case(
    &format!(r#"{{{}, "abi": "amd64", "findings": [], "functions": [], "unapplied": []}}"#, provenance_of(EXPLORED)),
    "this is a report about a relocatable file"
)]
#[case(
    &format!(r#"{{{}, "abi": "amd64", "findings": [], "functions": []}}"#, provenance_of("gnu-2.44/amd64/leaf.O2")),
    "this is a report about another file: gnu-2.44/amd64/leaf.O2 (SHA-256 "
)]
#[case(r#"{"abi": "amd64", "findings": [], "functions": []}"#, "explore --json: missing field `provenance`")]
#[case("[]", "this is no report of explore --json")]
fn a_report_about_another_file_is_refused(#[case] report: &str, #[case] says: &str) {
    let output = diff_with(report);
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.code() == Some(2) && text.contains(says), "{output:?}");
}
