//! `dump`: its text against that of objdump, its JSON against its text, and
//! what it says of malformed sections.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Output;

use rayon::prelude::*;
use rstest::rstest;
use serde_json::Value;
use sframe_elf::sframe_section::{FileFormat, Input};
use sframe_inspect::dump::{Document, Dump, text};
use sframe_kit::text::Text;

use crate::common::{files, inspect, repository};

/// A set of files with reference dumps.
#[derive(Clone, Copy)]
struct References {
    /// Where the files are.
    files: &'static str,
    /// Where the dumps are.
    dumps: &'static str,
}

/// Toolchains and ABIs of which there are references.
const FOLDERS: [&str; 10] = [
    "gnu-2.40/aarch64",
    "gnu-2.40/aarch64_be",
    "gnu-2.40/amd64",
    "gnu-2.44/aarch64",
    "gnu-2.44/aarch64_be",
    "gnu-2.44/amd64",
    "gnu-2.47/aarch64",
    "gnu-2.47/aarch64_be",
    "gnu-2.47/amd64",
    "gnu-2.47/s390x",
];

const BUILDS: References = References { files: "corpus/builds", dumps: "corpus/dumps" };
const ODD: References = References { files: "corpus/dumps/odd", dumps: "corpus/dumps/odd" };

impl References {
    /// The reference dumps of a toolchain and ABI, by file name.
    fn of(self, toolchain: &str, abi: &str) -> BTreeMap<String, String> {
        let path = repository().join(self.dumps).join(toolchain).join(format!("{abi}.txt"));
        let all = std::fs::read_to_string(&path).unwrap_or_else(|_| unpacked(&path.with_extension("txt.gz")));
        let mut found: BTreeMap<String, String> = BTreeMap::new();
        let mut name = None;
        // Each dump starts with an empty line and the file's name.
        for (line, next) in all.split_inclusive('\n').zip(all.split_inclusive('\n').skip(1).chain([""])) {
            if let Some((file, _)) = next.split_once(":     file format ") {
                assert_eq!(line, "\n");
                name = Some(file.to_owned());
            }
            found.entry(name.clone().expect("a name first")).or_default().push_str(line);
        }
        found
    }

    fn bytes(self, toolchain: &str, file: &str) -> Vec<u8> {
        // Builds are named by their ids, which have the toolchain in them.
        let folder = repository().join(self.files);
        let path = if file.contains('/') { folder.join(file) } else { folder.join(toolchain).join(file) };
        std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    }
}

/// The text in a file that gzip has written with `-n`.
fn unpacked(path: &Path) -> String {
    let bytes = std::fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    // RFC 1952, 2.3: without a name, the header has 10 bytes.
    assert_eq!(bytes[..4], [0x1f, 0x8b, 8, 0], "{}", path.display());
    let text = miniz_oxide::inflate::decompress_to_vec(&bytes[10..]).expect("compressed text");
    String::from_utf8(text).expect("text")
}

fn dumped(name: &str, bytes: &[u8]) -> (String, Value, usize) {
    let input = Input::open(bytes, None).unwrap_or_else(|error| panic!("{name}: {error}"));
    let dump = Dump::decode(&input.data, input.address).unwrap_or_else(|error| panic!("{name}: {error}"));
    let document = serde_json::to_value(Document::new(name, &input, &dump)).expect("JSON");
    let text: Text = text(name, input.format, &dump).collect();
    (text.to_string(), document, dump.faults().errors.len())
}

/// Where the section lies in a file.
fn section(bytes: &[u8]) -> std::ops::Range<usize> {
    let subject = sframe_elf::object_file::ObjectFile::parse(bytes).expect("an ELF file");
    let data = subject.sframe.expect("a section").data;
    let start = data.as_ptr() as usize - bytes.as_ptr() as usize;
    start..start + data.len()
}

/// What the text must show of a row, from the JSON document alone.
fn columns(document: &Value, fde: &Value, row: &Value) -> Vec<String> {
    let start = row["start"].as_str().expect("an address").trim_start_matches("0x");
    let mut columns = vec![format!("{start:0>16}")];
    if row["outermost"] == true && row["cfa"].is_null() {
        columns.push("RA undefined".to_owned());
        return columns;
    }
    let flex = fde["fde_type"] == "flex";
    let rule = |rule: &Value| {
        let name = match (rule["base"].as_str(), rule["register"].as_u64()) {
            (Some("register"), Some(register)) => format!("r{register}"),
            (Some("CFA"), _) => "c".to_owned(),
            (base, _) => base.expect("a base").to_lowercase(),
        };
        let offset = rule["offset"].as_i64().expect("an offset");
        // objdump computes in 32 bits.
        let offset = i32::from_le_bytes(offset.to_le_bytes()[..4].try_into().expect("4 bytes"));
        let shown = format!("{name}{offset:+}");
        // The text hides the dereference bit of rules on the CFA.
        if flex && name != "c" && rule["dereference"] == true { format!("({shown})") } else { shown }
    };
    let cfa = &row["cfa"];
    columns.push(match flex {
        true => rule(cfa),
        false => rule(cfa).replace("sp-", "sp+-").replace("fp-", "fp+-"),
    });
    let words = row["data_words"].as_array().expect("words");
    let is_v1 = document["version"] == 1;
    let fixed_ra = !document["fixed_ra"].is_null();
    let fp_is_stored = match (flex, fixed_ra) {
        (true, _) if words.get(2) == Some(&0.into()) => words.len() > 3,
        (true, _) => words.len() > 4,
        (false, true) => words.len() > 1,
        (false, false) => words.len() > 2,
    };
    columns.push(if fp_is_stored { rule(&row["fp"]) } else { "u".to_owned() });
    let ra_word = words.get(if flex { 2 } else { 1 });
    let ra = match (flex || !fixed_ra, ra_word) {
        (false, _) if is_v1 => "u".to_owned(),
        (false, _) => "f".to_owned(),
        (true, None) if fixed_ra => "f".to_owned(),
        (true, None) => "u".to_owned(),
        (true, Some(word)) if *word == 0 && !is_v1 => "U".to_owned(),
        (true, Some(_)) => rule(&row["ra"]),
    };
    columns.push(ra + if row["mangled_ra"] == true { "[s]" } else { "" });
    columns
}

/// The whole index of functions as the text must have it, from the JSON document alone.
fn lines(document: &Value) -> Vec<Vec<String>> {
    let mut lines = Vec::new();
    for fde in document["fdes"].as_array().expect("FDEs") {
        lines.push(vec![
            format!("func idx [{}]: pc = {},", fde["index"], fde["start"].as_str().expect("an address")),
            format!("size = {} bytes", fde["size"]),
        ]);
        let rows = fde["rows"].as_array().expect("rows");
        lines.extend(rows.iter().map(|row| columns(document, fde, row)));
    }
    lines
}

/// The text says the same, in its order, and has no other functions and rows.
fn assert_agree(name: &str, text: &str, document: &Value) {
    let shown: Vec<&str> = text
        .lines()
        .skip_while(|line| !line.contains("Function Index"))
        .skip(1)
        .filter(|line| !line.is_empty() && !line.contains("STARTPC"))
        .collect();
    let expected = lines(document);
    assert_eq!(shown.len(), expected.len(), "{name}");
    for (shown, expected) in shown.iter().zip(expected) {
        let mut rest = *shown;
        for column in &expected {
            let trimmed = rest.trim_start();
            rest = trimmed
                .strip_prefix(column.as_str())
                .unwrap_or_else(|| panic!("{name}: {expected:?} is not what {shown:?} says"));
        }
        let attributes = rest.is_empty() || rest.starts_with(", ") || rest.trim().is_empty();
        assert!(attributes, "{name}: {shown:?} says more than {expected:?}");
    }
}

#[rstest]
#[case::builds(BUILDS)]
#[case::odd(ODD)]
fn every_dump_is_what_objdump_prints_and_agrees_with_the_json(#[case] references: References) {
    FOLDERS.par_iter().for_each(|folder| every_dump_of_a_folder(references, folder));
}

fn every_dump_of_a_folder(references: References, folder: &str) {
    let (toolchain, abi) = folder.split_once('/').expect("two names");
    let dumps = references.of(toolchain, abi);
    assert!(dumps.len() >= 2, "{} dumps", dumps.len());
    for (name, expected) in &dumps {
        let (text, document, errors) = dumped(name, &references.bytes(toolchain, name));
        // Those of builds are kept without the padding of their lines.
        let found = if references.dumps == BUILDS.dumps { without_padding(&text) } else { text.clone() };
        assert!(found == *expected, "{name} differs; expected:\n{expected}\nfound:\n{found}");
        assert_eq!(errors, 0, "{name}");
        assert_agree(name, &text, &document);
    }
}

fn without_padding(text: &str) -> String {
    text.lines().map(|line| line.trim_end_matches(' ').to_owned() + "\n").collect()
}

#[test]
fn every_build_has_a_reference() {
    let folder = repository().join(BUILDS.files);
    let mut builds: BTreeMap<(String, String), BTreeSet<String>> = BTreeMap::new();
    for path in files(&folder) {
        let id = path.strip_prefix(&folder).expect("a file of it").to_str().expect("a name");
        // A vendor's toolchain has no reference here.
        if let [toolchain, abi, _] = *id.split('/').collect::<Vec<_>>()
            && toolchain.starts_with("gnu-")
        {
            builds.entry((toolchain.to_owned(), abi.to_owned())).or_default().insert(id.to_owned());
        }
    }
    for ((toolchain, abi), ids) in &builds {
        let dumps = BUILDS.of(toolchain, abi);
        assert!(dumps.keys().eq(ids), "{toolchain}/{abi}: run ci/dumps");
    }
    let folders: Vec<_> = builds.keys().map(|(toolchain, abi)| format!("{toolchain}/{abi}")).collect();
    assert_eq!(folders, FOLDERS);
}

#[test]
fn every_byte_of_a_section_shows_in_the_json() {
    FOLDERS.par_iter().for_each(|folder| every_byte_shows(folder));
}

fn every_byte_shows(folder: &str) {
    let (toolchain, abi) = folder.split_once('/').expect("two names");
    let mut bytes = ODD.bytes(toolchain, &format!("{abi}.exe"));
    let (sound_text, sound, _) = dumped("", &bytes);
    let range = section(&bytes);
    let mut texts_that_differ = 0;
    for at in range.clone() {
        for bit in 0..8 {
            bytes[at] ^= 1 << bit;
            if let Ok(input) = Input::open(&bytes, None) {
                let dump = Dump::decode(&input.data, input.address).expect("the header can be read");
                let document = serde_json::to_value(Document::new("", &input, &dump)).expect("JSON");
                assert_ne!(document, sound, "bit {bit} at offset {:#x}", at - range.start);
                let text: Text = text("", input.format, &dump).collect();
                let is_told = *text != *sound_text || !dump.faults().errors.is_empty();
                texts_that_differ += usize::from(is_told);
            } else {
                texts_that_differ += 1;
            }
            bytes[at] ^= 1 << bit;
        }
    }
    // The text does not show padding, unused bits and the size of repeated blocks.
    assert!(texts_that_differ * 2 > range.len() * 8, "{texts_that_differ} of {}", range.len() * 8);
}

#[test]
fn a_wrong_row_is_not_what_objdump_printed() {
    let id = "gnu-2.47/amd64/recursion.O2";
    let expected = BUILDS.of("gnu-2.47", "amd64").remove(id).expect("a reference");
    let mut bytes = BUILDS.bytes("gnu-2.47", id);
    let at = section(&bytes).start + {
        let (_, document, _) = dumped(id, &bytes);
        let row = &document["fdes"][0]["rows"][0];
        usize::try_from(row["offset"].as_u64().expect("an offset")).expect("a small one") + 2
    };
    assert_eq!(without_padding(&dumped(id, &bytes).0), expected);
    bytes[at] ^= 0x10;
    let text = without_padding(&dumped(id, &bytes).0);
    assert_ne!(text, expected);
    assert_eq!(text.lines().zip(expected.lines()).filter(|(a, b)| a != b).count(), 1, "{text}");
}

#[test]
fn a_raw_section_dumps_as_it_does_within_its_file() {
    for (toolchain, abi) in [("gnu-2.40", "amd64"), ("gnu-2.44", "aarch64_be"), ("gnu-2.47", "s390x")] {
        let bytes = BUILDS.bytes(toolchain, &format!("{toolchain}/{abi}/recursion.O2"));
        let elf = Input::open(&bytes, None).expect("an ELF file");
        let raw = Input::open(&elf.data, Some(elf.address)).expect("a section");
        assert_eq!(raw.format, FileFormat::Raw);
        let print = |input: &Input<'_>| {
            let dump = Dump::decode(&input.data, input.address).expect("a section");
            let mut document = serde_json::to_value(Document::new("", input, &dump)).expect("JSON");
            document["format"].take();
            let text: Text = text("", input.format, &dump).collect();
            (text.lines().skip(2).map(str::to_owned).collect::<Vec<_>>(), document)
        };
        assert_eq!(print(&elf), print(&raw));
        // Elsewhere its functions are elsewhere.
        let moved = Input::open(&elf.data, Some(elf.address + 0x10)).expect("a section");
        assert_ne!(print(&elf).0, print(&moved).0);
    }
}

#[test]
fn functions_of_an_object_file_name_their_section() {
    for (toolchain, start) in [("gnu-2.40", "0x0"), ("gnu-2.47", "0x1")] {
        let (_, document, _) = dumped("", &ODD.bytes(toolchain, "amd64.o"));
        let last = document["fdes"].as_array().and_then(|fdes| fdes.last()).expect("an FDE");
        assert_eq!(last["place"], serde_json::json!({"name": ".text.other", "offset": 1}));
        // Binutils 2.40 does not relocate, later ones do.
        assert_eq!(last["start"], start);
    }
}

#[test]
fn the_json_tells_what_the_text_hides() {
    let (text, document, _) = dumped("", &ODD.bytes("gnu-2.47", "amd64.exe"));
    assert!(text.contains("  c-24  "), "{text}");
    let fdes = document["fdes"].as_array().expect("FDEs");
    let equations: Vec<&str> = fdes
        .iter()
        .flat_map(|fde| fde["rows"].as_array().expect("rows"))
        .filter_map(|row| row["ra"]["equation"].as_str())
        .collect();
    assert!(equations.contains(&"*(CFA-24)"), "{equations:?}");
    let of = |test: &dyn Fn(&Value) -> bool| fdes.iter().filter(|fde| test(fde)).count();
    assert_eq!(of(&|fde| fde["signal"] == true), 2);
    assert_eq!(of(&|fde| fde["outermost"] == true && fde["rows"] == serde_json::json!([])), 1);
    assert_eq!(of(&|fde| fde["fde_type"] == "flex"), 3);
    let row = &fdes[0]["rows"][2];
    assert_eq!((&row["data_word_size"], &row["data_words"]), (&4.into(), &serde_json::json!([0x07ff_fff0])));
    let end = &fdes[0]["rows"][3]["start"];
    assert_eq!(&row["end"], end);

    let (_, document, _) = dumped("", &ODD.bytes("gnu-2.47", "aarch64.exe"));
    let keys = document["fdes"].as_array().expect("FDEs").iter().map(|fde| &fde["pauth_key"]);
    assert_eq!(keys.filter(|key| *key == "B").count(), 1);
}

#[test]
fn offsets_of_more_than_32_bits_are_whole_in_the_json() {
    let (text, document, _) = dumped("", &ODD.bytes("gnu-2.47", "s390x.exe"));
    assert!(text.contains("sp+-8 "), "{text}");
    let rows = document["fdes"].as_array().expect("FDEs").iter().flat_map(|fde| fde["rows"].as_array());
    let offsets: Vec<i64> = rows.flatten().filter_map(|row| row["cfa"]["offset"].as_i64()).collect();
    assert!(offsets.contains(&0x2_0000_0000) && offsets.contains(&0x3_ffff_fff8), "{offsets:?}");
}

/// Runs `dump` on a file of the given bytes.
fn dump(folder: &Path, bytes: &[u8], options: &[&str]) -> Output {
    let path = folder.join("file");
    std::fs::write(&path, bytes).expect("a file");
    inspect(&[&["dump", path.to_str().expect("a name")], options].concat())
}

fn lossy(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn the_command_prints_text_and_json() {
    let folder = tempfile::tempdir().expect("a folder");
    let bytes = BUILDS.bytes("gnu-2.47", "gnu-2.47/amd64/recursion.O2");
    let output = dump(folder.path(), &bytes, &[]);
    assert_eq!((output.status.code(), lossy(&output.stderr)), (Some(0), String::new()));
    let name = folder.path().join("file").display().to_string();
    assert_eq!(lossy(&output.stdout), dumped(&name, &bytes).0);

    let output = dump(folder.path(), &bytes, &["--json"]);
    assert_eq!(output.status.code(), Some(0));
    let document: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(document, dumped(&name, &bytes).1);
    assert_eq!(
        (&document["version"], &document["abi"], &document["endian"]),
        (&3.into(), &"amd64".into(), &"little".into())
    );

    let output = dump(folder.path(), &bytes[section(&bytes)], &["--address", "0x400000"]);
    assert_eq!(output.status.code(), Some(0));
    assert!(lossy(&output.stdout).contains("Num FDEs"));
}

#[test]
fn input_without_a_section_is_one_error() {
    let folder = tempfile::tempdir().expect("a folder");
    let bytes = BUILDS.bytes("gnu-2.47", "gnu-2.47/amd64/recursion.O2");
    let range = section(&bytes);
    let changed = |at: usize, to: u8| {
        let mut bytes = bytes.clone();
        bytes[at] = to;
        bytes
    };
    let cases: [(Vec<u8>, &[&str], &str); 8] = [
        (b"not a section".to_vec(), &[], "neither an ELF file nor an SFrame section"),
        (Vec::new(), &[], "neither an ELF file nor an SFrame section"),
        (bytes[range.clone()][..20].to_vec(), &[], "28 bytes are needed, 20 are left"),
        (bytes[..40].to_vec(), &[], "tables can't be read"),
        (changed(4, 1), &[], "tables can't be read"),
        (changed(18, 40), &[], "machine 40"),
        (bytes.clone(), &["--address", "0x1000"], "an ELF file has its own"),
        (
            changed(range.start + 2, 9),
            &["--json"],
            "version 9 is unknown (at offset 0x2; 2.1.2 SFrame Version)",
        ),
    ];
    for (bytes, options, message) in cases {
        let output = dump(folder.path(), &bytes, options);
        let stderr = lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{message}: {stderr}");
        assert!(stderr.contains(message), "{message}: {stderr}");
        assert_eq!((stderr.lines().count(), lossy(&output.stdout)), (1, String::new()), "{stderr}");
    }
}

#[test]
fn the_sound_part_of_a_malformed_section_is_printed() {
    let folder = tempfile::tempdir().expect("a folder");
    let bytes = BUILDS.bytes("gnu-2.47", "gnu-2.47/amd64/recursion.O2");
    let (sound_text, sound, _) = dumped("", &bytes);
    let data = &bytes[section(&bytes)];

    // The second function's FRE type is unknown.
    let mut changed = data.to_vec();
    let at = sound["fdes"][1]["attribute_offset"].as_u64().expect("an offset");
    changed[usize::try_from(at).expect("a small one") + 2] |= 7;
    let output = dump(folder.path(), &changed, &[]);
    let stderr = lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{stderr}");
    let expected = format!("FRE type 7 is unknown (at offset {:#x}; 2.3.3.3 The SFrame FRE Types)", at + 2);
    assert!(stderr.contains(&expected), "{stderr}");
    let stdout = lossy(&output.stdout);
    assert!(!stdout.contains("func idx [1]") && stdout.contains("func idx [2]"), "{stdout}");
    assert_eq!(stdout.matches("func idx").count() + 1, sound_text.matches("func idx").count());
    let output = dump(folder.path(), &changed, &["--json"]);
    assert_eq!(output.status.code(), Some(1));
    let document: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(document["errors"][0], document["fdes"][1]["error"]);
    assert_eq!(document["errors"][0]["offset"], at + 2);
    assert_eq!(document["fdes"][2], {
        // The raw section lies at 0.
        let raw = Dump::decode(data, 0).expect("a section");
        let input = Input::open(data, None).expect("a section");
        serde_json::to_value(Document::new("", &input, &raw)).expect("JSON")["fdes"][2].clone()
    });

    // The FRE sub-section is cut off.
    let output = dump(folder.path(), &data[..data.len() - 4], &[]);
    assert_eq!(output.status.code(), Some(1));
    assert!(lossy(&output.stderr).contains("2.2 SFrame Header"), "{}", lossy(&output.stderr));
    let stdout = lossy(&output.stdout);
    assert!(stdout.contains("Num FDEs") && !stdout.contains("func idx"), "{stdout}");
}

#[test]
fn functions_that_share_all_rows_do_not_fill_the_memory() {
    let count = 20_000_u32;
    let rows = 40_000_u32;
    let mut section = vec![0xe2, 0xde, 2, 0, 3, 0, 0xf8, 0];
    for word in [count, rows, rows * 2, 0, count * 20] {
        section.extend(word.to_le_bytes());
    }
    for _ in 0..count {
        for word in [0, 16, 0, rows, 0] {
            section.extend(word.to_le_bytes());
        }
    }
    section.resize(section.len() + rows as usize * 2, 0);
    let dump = Dump::decode(&section, 0).expect("a section");
    let faults = dump.faults();
    assert!(faults.too_many_rows && faults.errors.is_empty());
    let rows = dump.functions().expect("functions").map(|function| function.rows.len()).sum::<usize>();
    assert!(rows < 1 << 20, "{rows}");
}
