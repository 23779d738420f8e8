//! ELF files that are made to be expensive: small, and sound in each part, but
//! with tables that repeat each other. Every command ends soon, with a
//! documented status, and takes a small multiple of the file's size.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use rstest::rstest;
use sframe_elf::cfi::Registers;
use sframe_elf::object_file::ObjectFile;
use sframe_engine::PauthMask;

/// Address space of the bench, in KiB. The emulator alone reserves more than 1 GiB.
const MEMORY: u32 = 6 << 20;
/// CPU seconds; most need less than one.
const SECONDS: u32 = 60;

/// Runs the bench with limits.
fn bench(arguments: &[&str]) -> Output {
    let limited = format!("ulimit -v {MEMORY} && ulimit -t {SECONDS} && exec \"$0\" \"$@\"");
    Command::new("sh")
        .args(["-c", &limited, env!("CARGO_BIN_EXE_sframe-testbench")])
        .args(arguments)
        .env("RAYON_NUM_THREADS", "2")
        .output()
        .expect("the bench runs")
}

/// Returns the status and the message: one error, without internals.
#[track_caller]
fn ended(output: &Output) -> (i32, String) {
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    let status = output.status.code().unwrap_or_else(|| panic!("{}: {error:.1000}", output.status));
    assert!((0..=4).contains(&status) && !error.contains("panicked"), "{status}: {error:.1000}");
    if status == 2 {
        assert!(error.starts_with("error: ") && error.lines().count() == 1, "{error:.1000}");
        assert!(error.len() < 1000 && output.stdout.is_empty(), "{error:.1000}");
    }
    (status, error)
}

/// A section, and its load address.
#[derive(Clone)]
struct Section {
    name: &'static str,
    kind: u32,
    flags: u64,
    address: u64,
    /// The declared length; that of the data, if not given.
    size: Option<u64>,
    link: u32,
    info: u32,
    data: Vec<u8>,
}

impl Section {
    fn new(name: &'static str, kind: u32, address: u64, data: Vec<u8>) -> Self {
        // Loaded sections are flagged so; code is executable.
        let flags = if address == 0 { 0 } else { 2 }
            | if name.starts_with(".text") || name == ".plt" { 4 } else { 0 };
        Self { name, kind, flags, address, size: None, link: 0, info: 0, data }
    }

    fn linked(mut self, link: u32) -> Self {
        self.link = link;
        self
    }
}

fn words(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

fn doubles(words: &[u64]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

const TEXT: u64 = 0x40_0000;

/// A little-endian file for amd64: a segment for each section with an address,
/// and those in `segments`: type, section by its position, and length in memory
/// if it differs.
fn elf(kind: u16, sections: &[Section], segments: &[(u32, usize, Option<u64>)]) -> Vec<u8> {
    let loaded: Vec<(u32, usize, Option<u64>)> = (0..sections.len())
        .filter(|index| sections[*index].address != 0)
        .map(|index| (1, index, None))
        .collect();
    let segments = [loaded, segments.to_vec()].concat();
    let mut bytes = vec![0; 64 + 56 * segments.len()];
    let (mut names, mut headers) = (vec![0], vec![0; 64]);
    let mut offsets = Vec::new();
    for section in sections {
        // Like pages: addresses and offsets are congruent.
        while bytes.len() as u64 % 4096 != section.address % 4096 {
            bytes.push(0);
        }
        offsets.push(bytes.len() as u64);
        let size = section.size.unwrap_or(section.data.len() as u64);
        headers.extend(words(&[u32::try_from(names.len()).expect("few"), section.kind]));
        headers.extend(doubles(&[section.flags, section.address, bytes.len() as u64, size]));
        headers.extend(words(&[section.link, section.info]));
        headers.extend(doubles(&[1, if matches!(section.kind, 2 | 4 | 11) { 24 } else { 0 }]));
        names.extend(section.name.bytes().chain([0]));
        bytes.extend(&section.data);
    }
    headers.extend(words(&[0, 3]));
    headers.extend(doubles(&[0, 0, bytes.len() as u64, names.len() as u64]));
    headers.extend(words(&[0, 0]));
    headers.extend(doubles(&[1, 0]));
    bytes.extend(&names);
    bytes.resize(bytes.len().next_multiple_of(8), 0);
    let table = bytes.len() as u64;
    bytes.extend(&headers);

    let count = u16::try_from(sections.len() + 2).expect("few");
    let mut header = b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0".to_vec();
    header.extend([kind.to_le_bytes(), 62_u16.to_le_bytes()].concat());
    header.extend(words(&[1]));
    header.extend(doubles(&[TEXT, 64, table]));
    header.extend(words(&[0]));
    let phnum = u16::try_from(segments.len()).expect("few");
    for half in [64, 56, phnum, 64, count, count - 1] {
        header.extend(half.to_le_bytes());
    }
    bytes[..64].copy_from_slice(&header);
    for (index, (kind, section, memory)) in segments.iter().enumerate() {
        let (at, section, len) =
            (offsets[*section], &sections[*section], sections[*section].data.len() as u64);
        let flags = if section.flags & 4 == 0 { 6 } else { 5 };
        let segment = [
            words(&[*kind, flags]),
            doubles(&[at, section.address, section.address, len, memory.unwrap_or(len), 4096]),
        ]
        .concat();
        bytes[64 + 56 * index..][..56].copy_from_slice(&segment);
    }
    bytes
}

/// A section of version 2 with one function that covers all of `.text`, with
/// `rows` rows, every other one of which is wrong.
fn sframe(size: u32, rows: u32) -> Section {
    const ADDRESS: u64 = 0x30_0000;
    let mut data = vec![0xe2, 0xde, 2, 1, 3, 0, 0xf8, 0];
    data.extend(words(&[1, rows, rows * 6, 0, 20]));
    data.extend(words(&[u32::try_from(TEXT - ADDRESS).expect("near"), size, 0, rows, 2]));
    for row in 0..rows {
        data.extend(words(&[row * (size / rows)]));
        data.extend([3, 8 + 8 * u8::from(row % 2 == 1)]);
    }
    Section::new(".sframe", 0x6fff_fff4, ADDRESS, data)
}

/// Call frame information: a CIE with these instructions, and FDEs.
fn eh_frame(cie: &[u8], fdes: &[(u64, u64, Vec<u8>)]) -> Section {
    let entry = |mut body: Vec<u8>| {
        body.resize(body.len().next_multiple_of(8) + 4, 0);
        [words(&[u32::try_from(body.len()).expect("short")]), body].concat()
    };
    let head = [0, 0, 0, 0, 1, b'z', b'R', 0, 1, 0x78, 16, 1, 0];
    let mut data = entry([&head[..], cie].concat());
    for (start, len, instructions) in fdes {
        let back = u32::try_from(data.len() + 4).expect("short");
        data.extend(entry([&words(&[back])[..], &doubles(&[*start, *len]), &[0], instructions].concat()));
    }
    data.extend([0; 4]);
    Section::new(".eh_frame", 1, 0x20_0000, data)
}

/// `CFA = SP+8, RA = *(CFA-8)`.
const USUAL: [u8; 5] = [0x0c, 7, 8, 0x90, 1];

fn text(size: u32) -> Section {
    Section::new(".text", 1, TEXT, vec![0x90; size as usize])
}

/// A symbol table, followed by its names; `at` is its position among the sections.
fn symbols(count: u64, at: u32, name: Vec<u8>) -> [Section; 2] {
    let mut table = vec![0; 24];
    for index in 0..count {
        // A function in `.text`, the first section.
        table.extend([words(&[1]), vec![0x12, 0, 1, 0], doubles(&[TEXT + index, 1])].concat());
    }
    let strings = [vec![0], name].concat();
    // The null section comes before all.
    [Section::new(".symtab", 2, 0, table).linked(at + 2), Section::new(".strtab", 3, 0, strings)]
}

fn sound() -> Vec<Section> {
    vec![text(64), sframe(64, 1), eh_frame(&USUAL, &[(TEXT, 64, Vec::new())])]
}

fn file(folder: &Path, bytes: &[u8]) -> PathBuf {
    let path = folder.join("file");
    std::fs::write(&path, bytes).expect("a file");
    path
}

/// The results of all commands for a file.
fn all(bytes: &[u8]) -> Vec<(&'static str, i32, String)> {
    let folder = tempfile::tempdir().expect("a folder");
    let path = file(folder.path(), bytes);
    let path = path.to_str().expect("UTF-8");
    let out = folder.path().join("out");
    let out = out.to_str().expect("UTF-8");
    let commands: [(&str, &[&str]); 6] = [
        ("check", &["check", "--budget", "1000", "--report", folder.path().to_str().expect("UTF-8"), path]),
        ("dump", &["dump", path]),
        ("lint", &["lint", "--json", path]),
        ("diff", &["diff", "--json", path]),
        ("convert", &["convert", "--to", "3", "--elf", out, path]),
        ("synthesize", &["convert", "--from", "eh-frame", "--to", "3", "-o", out, path]),
    ];
    commands
        .into_iter()
        .map(|(name, arguments)| {
            let started = std::time::Instant::now();
            let (status, error) = ended(&bench(arguments));
            eprintln!("{name}: {status} in {:?}: {error:.200}", started.elapsed());
            (name, status, error)
        })
        .collect()
}

#[test]
fn the_files_are_sound_otherwise() {
    for (name, status, error) in all(&elf(2, &sound(), &[])) {
        // The code runs off its end.
        assert_eq!(status, if name == "check" { 4 } else { 0 }, "{name}: {error}");
    }
}

/// Half a million bytes of names, for each of forty thousand symbols.
#[rstest]
#[case::names([vec![b'a'; 1 << 19], vec![0]].concat())]
#[case::names_without_an_end(vec![b'a'; 1 << 19])]
fn symbols_that_share_a_name_are_refused(#[case] name: Vec<u8>) {
    let mut sections = sound();
    let at = u32::try_from(sections.len()).expect("few");
    sections.extend(symbols(40_000, at, name));
    for (name, status, error) in all(&elf(2, &sections, &[])) {
        // These read no symbols of a linked file.
        if ["dump", "convert"].contains(&name) {
            assert_eq!(status, 0, "{name}: {error}");
            continue;
        }
        assert_eq!(status, 2, "{name}: {error}");
        assert!(error.contains("names of symbols share the same bytes"), "{name}: {error}");
    }
}

/// A file with `count` more section headers, all for the same section: the last
/// but one, a megabyte of `.filler`. `names` is whether its bytes are also the
/// section names. The first header has their number, which may be too large for
/// the file header.
fn repeated(count: u64, names: bool) -> Vec<u8> {
    let mut sections = sound();
    sections.push(Section::new(".filler", 1, 0, [vec![b'a'; 1 << 20], vec![0]].concat()));
    let mut bytes = elf(2, &sections, &[]);
    let table = bytes.len() - 64 * (sections.len() + 2);
    let mut headers = bytes.split_off(table);
    let filler = headers[64 * 4..64 * 5].to_vec();
    if names {
        let place = filler[24..40].to_vec();
        headers[64 * 5 + 24..64 * 5 + 40].copy_from_slice(&place);
    }
    let mut one = filler;
    one[..4].copy_from_slice(&words(&[1]));
    if names {
        one[32..40].fill(0);
    }
    for _ in 0..count {
        headers.extend(&one);
    }
    let total = headers.len() as u64 / 64;
    headers[32..40].copy_from_slice(&total.to_le_bytes());
    bytes[60..62].fill(0);
    [bytes, headers].concat()
}

#[rstest]
#[case::contents(false, "sections share the same bytes")]
#[case::names(true, "names of sections share the same bytes")]
fn sections_that_share_bytes_are_refused(#[case] names: bool, #[case] message: &str) {
    for (name, status, error) in all(&repeated(70_000, names)) {
        assert_eq!(status, 2, "{name}: {error}");
        assert!(error.contains(message), "{name}: {error}");
    }
    // Their number does not matter.
    for (name, status, error) in all(&repeated(3, names)) {
        // Without names there is no `.eh_frame`.
        let expected = match name {
            "check" => 4,
            "diff" | "synthesize" if names => 2,
            _ => 0,
        };
        assert_eq!(status, expected, "{name}: {error}");
    }
}

#[test]
fn a_number_of_sections_that_the_file_has_no_room_for_is_refused() {
    let mut bytes = repeated(3, false);
    let table =
        usize::try_from(u64::from_le_bytes(bytes[40..48].try_into().expect("8 bytes"))).expect("small");
    for count in [1 << 40, u64::MAX, u64::MAX / 64 + 2] {
        bytes[table + 32..table + 40].copy_from_slice(&count.to_le_bytes());
        for (name, status, error) in all(&bytes) {
            assert_eq!(status, 2, "{name}: {error}");
        }
    }
}

/// Each entry of a PLT is named after its slot, and all have the
/// same one.
#[test]
fn entries_that_share_a_slot_have_no_more_names_than_there_is_room_for() {
    let mut sections = sound();
    let table: Vec<u8> = (0..1_u32 << 17).flat_map(|_| [0xff, 0x25, 0, 0, 0, 0, 0x90, 0x90]).collect();
    let slots: Vec<u8> = (0..1_u64 << 17)
        .flat_map(|entry| [doubles(&[0x50_0006 + entry * 8, 1 << 32 | 7, 0])].concat())
        .collect();
    let at = u32::try_from(sections.len()).expect("few");
    let [mut symbols, strings] = symbols(1, at, [vec![b'a'; 1 << 16], vec![0]].concat());
    symbols.kind = 11;
    sections.extend([symbols, strings]);
    sections.push(Section::new(".plt", 1, 0x50_0000, table));
    sections.push(Section::new(".rela.plt", 4, 0x70_0000, slots).linked(at + 1));
    for (name, status, error) in all(&elf(2, &sections, &[])) {
        assert!(matches!(status, 0 | 1 | 4), "{name}: {status} {error}");
    }
}

/// A row for each byte, with all rules of the row before.
#[test]
fn rows_that_repeat_all_rules_take_bounded_time() {
    const SIZE: u32 = 1 << 20;
    // All registers that `gimli` has room for.
    let rules: Vec<u8> = (0..63_u8).flat_map(|register| [0x80 | register, 1]).collect();
    let advances = vec![0x41; SIZE as usize];
    let information = eh_frame(&[&USUAL[..], &rules].concat(), &[(TEXT, SIZE.into(), advances)]);
    for (name, status, error) in all(&elf(2, &[text(SIZE), sframe(SIZE, 1), information], &[])) {
        let expected = if matches!(name, "diff" | "synthesize") { 1..=2 } else { 0..=4 };
        assert!(expected.contains(&status), "{name}: {status} {error}");
    }
}

/// One FDE that covers everything, with many inside it; and only such FDEs.
#[rstest]
#[case::nested(1)]
#[case::equal(0)]
fn fdes_that_overlap_take_bounded_time(#[case] step: u64) {
    const COUNT: u64 = 8_000;
    let mut fdes = vec![(TEXT, 4 * COUNT, Vec::new())];
    fdes.extend(
        (0..COUNT)
            .map(|index| (TEXT + 4 * index * step, if step == 0 { 4 * COUNT } else { 1 }, vec![0x0e, 16])),
    );
    let size = u32::try_from(4 * COUNT).expect("small");
    for (name, status, error) in all(&elf(2, &[text(size), sframe(size, 1), eh_frame(&USUAL, &fdes)], &[])) {
        assert!(matches!(status, 0 | 1 | 4) || name == "synthesize", "{name}: {status} {error}");
    }
}

/// Every other row is wrong, and the function's name is long.
#[test]
fn a_long_name_that_is_printed_often_costs_no_more() {
    const ROWS: u32 = 20_000;
    let mut sections = vec![
        text(ROWS * 4),
        sframe(ROWS * 4, ROWS),
        eh_frame(&USUAL, &[(TEXT, u64::from(ROWS) * 4, Vec::new())]),
    ];
    sections.extend(symbols(1, 3, [vec![b'a'; 1 << 20], vec![0]].concat()));
    for (name, status, error) in all(&elf(2, &sections, &[])) {
        assert!((0..=4).contains(&status) && status != 2, "{name}: {status} {error}");
    }
}

/// A CIE that refers to itself, FDEs that are their own CIE, and a CIE after its
/// FDEs.
#[test]
fn entries_that_refer_to_each_other_are_errors() {
    let mut information = eh_frame(&USUAL, &[(TEXT, 64, Vec::new())]);
    let fde = usize::try_from(u32::from_le_bytes(information.data[..4].try_into().expect("4 bytes")))
        .expect("small")
        + 4;
    for pointer in [4, 0xffff_fff0, 0x7fff_ffff, u32::try_from(fde).expect("small") + 5, 1] {
        information.data[fde + 4..fde + 8].copy_from_slice(&pointer.to_le_bytes());
        let data = information.data.clone();
        let sections = [text(64), sframe(64, 1), Section::new(".eh_frame", 1, 0x20_0000, data)];
        for (name, status, error) in all(&elf(2, &sections, &[])) {
            let is_of_cfi = matches!(name, "diff" | "synthesize");
            assert!(
                if is_of_cfi { status == 2 } else { matches!(status, 0 | 4) },
                "{name}: {status} {error}"
            );
        }
    }
}

/// Expressions that loop, that grow the stack while they do, and that are
/// truncated.
#[rstest]
#[case::skip(&[0x2f, 0xfd, 0xff])]
#[case::bra(&[0x77, 0, 0x31, 0x28, 0xfc, 0xff])]
#[case::growing(&[0x77, 0, 0x12, 0x2f, 0xfc, 0xff])]
#[case::out_of_it(&[0x2f, 0xff, 0x7f])]
#[case::cut(&[0x0e, 1, 2])]
#[case::a_leb128_without_an_end(&[0x77, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff])]
#[case::an_empty_stack(&[0x96, 0x22])]
fn expressions_that_loop_are_given_up(#[case] expression: &[u8]) {
    let len = u8::try_from(expression.len()).expect("short");
    let cfa = [&[0x0f, len], expression].concat();
    let bytes = elf(2, &[text(64), sframe(64, 1), eh_frame(&cfa, &[(TEXT, 64, Vec::new())])], &[]);
    let cfi = ObjectFile::parse(&bytes).expect("a file").call_frame_info().expect("a known machine");
    let registers: Registers = [(7, 0x1000)].into_iter().collect();
    let value = cfi.evaluate(TEXT, &registers, &|address| Some(address), PauthMask::for_address_bits(48));
    assert!(value.is_err(), "{value:?}");
    for (name, status, error) in all(&bytes) {
        let expected = match name {
            "check" => 4,
            "diff" | "synthesize" => 1,
            _ => 0,
        };
        assert_eq!(status, expected, "{name}: {error}");
    }
}

/// Data that claims to be larger than any memory when decompressed is not
/// decompressed.
#[test]
fn compressed_sections_are_not_unpacked_on_trust() {
    let header = [words(&[1, 0]), doubles(&[1 << 40, 1]), vec![0x78, 0x9c, 3, 0, 0, 0, 0, 1]].concat();
    let mut sections = vec![text(64), sframe(64, 1)];
    for name in [".debug_frame", ".debug_line", ".debug_info"] {
        let mut section = Section::new(name, 1, 0, header.clone());
        section.flags = 0x800;
        sections.push(section);
    }
    for (name, status, error) in all(&elf(2, &sections, &[])) {
        let expected = match name {
            "check" => 4,
            "diff" | "synthesize" => 2,
            _ => 0,
        };
        assert_eq!(status, expected, "{name}: {error}");
    }
}

/// An executable segment of 1 GiB of which the file has 64 bytes.
#[test]
fn memory_that_is_nothing_but_zeroes_costs_nothing() {
    let mut bytes = elf(2, &sound(), &[]);
    bytes[64 + 40..64 + 48].copy_from_slice(&(1_u64 << 29).to_le_bytes());
    for (name, status, error) in all(&bytes) {
        let expected = match name {
            "check" => 4,
            // It would have to be placed after that memory.
            "convert" => 2,
            _ => 0,
        };
        assert_eq!(status, expected, "{name}: {error}");
    }
}

/// A dynamic section with these entries, and `name` in its string table.
fn dynamic(entries: &[(u64, u64)], name: Vec<u8>, others: Vec<Section>) -> Vec<u8> {
    const DYNAMIC: u64 = 0x50_0000;
    const STRINGS: u64 = 0x58_0000;
    let strings = [vec![0], name, vec![0]].concat();
    let mut all = vec![(5, STRINGS), (10, strings.len() as u64)];
    all.extend(entries);
    all.push((0, 0));
    let data = all.iter().flat_map(|(tag, value)| doubles(&[*tag, *value])).collect();
    let mut sections = sound();
    sections.push(Section::new(".dynamic", 6, DYNAMIC, data));
    sections.push(Section::new(".dynstr", 3, STRINGS, strings));
    sections.extend(others);
    elf(2, &sections, &[(2, 3, None), (3, 4, None)])
}

#[rstest]
#[case::of_libraries((0..20_000).map(|index| (1, 1 + index % 100)).collect(), vec![b'a'; 10_000], "the names of the dynamic section")]
#[case::of_one_library(vec![(1, 1)], vec![b'a'; 1 << 20], "lies outside the string table")]
#[case::of_itself(vec![(1, 1), (14, 1)], b"self".to_vec(), "needs the library self")]
#[case::without_a_place(vec![(1, u64::MAX)], b"self".to_vec(), "lies outside the string table")]
fn names_in_dynamic_sections_take_bounded_time(
    #[case] entries: Vec<(u64, u64)>,
    #[case] name: Vec<u8>,
    #[case] message: &str,
) {
    for (name, status, error) in all(&dynamic(&entries, name, Vec::new())) {
        assert_eq!(status, if name == "check" { 2 } else { 0 }, "{name}: {error}");
        assert!(name != "check" || error.contains(message), "{error}");
    }
}

/// Tables that claim to be longer than the file, or are.
#[rstest]
#[case::relative_words(vec![(36, 0x60_0000), (35, 1 << 16)], vec![0xff; 1 << 16], "has more words than the file")]
#[case::relative_words_without_end(vec![(36, 0x60_0000), (35, u64::MAX)], vec![0xff; 64], "lies outside the file")]
#[case::relocations(vec![(7, 0x60_0000), (8, 1 << 60)], vec![0xff; 64], "lies outside the file")]
#[case::buckets(vec![(6, 0x60_0000), (0x6fff_fef5, 0x60_0000)], vec![0xff; 64], "lies outside the file")]
#[case::chains(vec![(6, 0x60_0000), (0x6fff_fef5, 0x60_0000)], [words(&[1, 1, 0, 0, 1]), vec![0; 64]].concat(), "lies outside the file")]
#[case::symbols(vec![(6, 0x60_0000), (4, 0x60_0000)], words(&[1, u32::MAX, 0, 0]), "lies outside the file")]
#[case::versions(vec![(6, 0x60_0000), (4, 0x60_0000), (0x6fff_fff0, 0x60_003f)], [words(&[1, 2]), vec![0; 56]].concat(), "lies outside the file")]
fn tables_of_dynamic_sections_take_bounded_time(
    #[case] entries: Vec<(u64, u64)>,
    #[case] table: Vec<u8>,
    #[case] message: &str,
) {
    let bytes = dynamic(&entries, b"name".to_vec(), vec![Section::new(".table", 1, 0x60_0000, table)]);
    for (name, status, error) in all(&bytes) {
        assert_eq!(status, if name == "check" { 2 } else { 0 }, "{name}: {error}");
        assert!(name != "check" || error.contains(message), "{error}");
    }
}

/// Libraries that need each other, and the program.
#[test]
fn libraries_may_need_each_other_and_the_program() {
    let folder = tempfile::tempdir().expect("a folder");
    let one = |needed: &[u64]| {
        let needed: Vec<(u64, u64)> = needed.iter().map(|at| (1, *at)).collect();
        dynamic(&needed, b"a\0b\0file\0./a".to_vec(), Vec::new())
    };
    let library = |needed: &[u64]| {
        let mut bytes = one(needed);
        bytes[16] = 3;
        bytes
    };
    let path = folder.path();
    std::fs::write(path.join("a"), library(&[1, 3, 5])).expect("a file");
    std::fs::write(path.join("b"), library(&[1, 3, 10])).expect("a file");
    let program = file(path, &one(&[1, 3]));
    let folder = path.to_str().expect("UTF-8");
    let program = program.to_str().expect("UTF-8");
    let (status, error) = ended(&bench(&["check", "--library-path", folder, program]));
    assert_eq!(status, 2, "{error}");
    assert!(error.contains("file: this is an executable"), "{error}");
    std::fs::write(path.join("a"), library(&[1, 3, 10])).expect("a file");
    let (status, error) = ended(&bench(&["check", "--library-path", folder, program]));
    assert_eq!(status, 4, "{error}");
}

#[test]
fn more_program_headers_than_a_loader_reads_are_refused() {
    let mut bytes = elf(2, &sound(), &[]);
    let table = bytes.len() as u64;
    let header = bytes[64..120].to_vec();
    for _ in 0..2000 {
        bytes.extend(&header);
    }
    bytes[32..40].copy_from_slice(&table.to_le_bytes());
    bytes[56..58].copy_from_slice(&2000_u16.to_le_bytes());
    let check = all(&bytes).swap_remove(0);
    assert!(check.1 == 2 && check.2.contains("2000 program headers"), "{check:?}");
}

/// A line for each byte, of a file with a long name.
#[test]
fn line_tables_take_no_more_than_a_row_for_each_byte() {
    const ROWS: usize = 1 << 20;
    let mut header = vec![1, 1, 1, 0xfb, 14, 13, 0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1, 0];
    header.extend([vec![b'a'; 1 << 20], vec![0, 0, 0, 0, 0]].concat());
    let mut program = vec![0, 9, 2];
    program.extend(doubles(&[TEXT]));
    program.extend(vec![0x4b; ROWS]);
    program.extend([0, 1, 1]);
    let body = [words(&[u32::try_from(header.len()).expect("short")]), header, program].concat();
    let unit = [words(&[u32::try_from(body.len() + 2).expect("short")]), vec![4, 0], body].concat();
    let mut sections = sound();
    sections.push(Section::new(".debug_line", 1, 0, unit));
    let bytes = elf(2, &sections, &[]);
    let lines = ObjectFile::parse(&bytes).expect("a file").lines().expect("a line table");
    let (file, line, address) = lines.at(TEXT + 5).expect("a line");
    assert!(file.len() <= 4096 && line == 2 && address == TEXT + 4, "{} {line} {address:#x}", file.len());
}

/// Units with thousands of attributes that take no bytes: those that are read name their compiler.
#[test]
fn units_take_no_more_than_their_allowance() {
    const UNITS: u64 = 20_000;
    let mut attributes = vec![1, 0x11, 0, 0x25, 8, 0x11, 1, 0x12, 6];
    attributes.extend([0x3f, 0x19].repeat(20_000));
    attributes.extend([0, 0, 0]);
    let unit = |index: u64| {
        let root = [&[1][..], b"GNU C17 14.2.0\0", &doubles(&[TEXT + 2 * index]), &words(&[2])].concat();
        let length = u32::try_from(root.len() + 7).expect("short");
        [words(&[length]), vec![4, 0, 0, 0, 0, 0, 8], root].concat()
    };
    let mut sections = sound();
    sections.push(Section::new(".debug_abbrev", 1, 0, attributes));
    sections.push(Section::new(".debug_info", 1, 0, (0..UNITS).flat_map(unit).collect()));
    let bytes = elf(2, &sections, &[]);
    let units = ObjectFile::parse(&bytes).expect("a file").compile_units();
    let named = |index| units.producer_at(TEXT + 2 * index + 1).map(|producer| producer.name);
    assert_eq!(
        [named(0), named(9), named(UNITS - 1)],
        [Some("GNU C17 14.2.0"), Some("GNU C17 14.2.0"), None]
    );
    // Ends of code that are past the last address, and tables that are cut.
    let damages: [(&str, usize, &[u8]); 3] =
        [(".debug_info", 27, &[0xff; 12]), (".debug_info", 6, &[0xff; 4]), (".debug_abbrev", 2, &[0xff; 7])];
    for (name, at, damage) in damages {
        let mut sections = sections.clone();
        let section = sections.iter_mut().find(|section| section.name == name).expect("a section");
        section.data[at..at + damage.len()].copy_from_slice(damage);
        let bytes = elf(2, &sections, &[]);
        assert_eq!(ObjectFile::parse(&bytes).expect("a file").compile_units().producer_at(TEXT), None);
    }
}

/// In objects, every relocation names its symbol.
#[test]
fn relocations_that_share_a_name_are_refused() {
    const COUNT: u64 = 100_000;
    let mut section = sframe(64, 1);
    section.address = 0;
    section.data.resize(1 << 20, 0);
    let mut text = text(64);
    text.address = 0;
    let mut sections = vec![text, section];
    sections.extend(symbols(1, 2, [vec![b'a'; 1 << 16], vec![0]].concat()));
    let relocations = (0..COUNT).flat_map(|index| doubles(&[index * 8, 1 << 32 | 2, 0])).collect();
    let mut relocations = Section::new(".rela.sframe", 4, 0, relocations).linked(3);
    relocations.info = 2;
    sections.push(relocations);
    let found = all(&elf(1, &sections, &[]));
    let (_, status, error) = &found[1];
    assert!(*status == 2 && error.contains("names of relocations"), "{found:?}");
}

/// Files that are not regular may never begin, or never end.
#[test]
fn only_regular_files_are_read() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name).to_str().expect("UTF-8").to_owned();
    assert!(Command::new("mkfifo").arg(path("fifo")).status().expect("mkfifo").success());
    let large = std::fs::File::create(path("large")).expect("a file");
    large.set_len(1 << 40).expect("a sparse file");
    std::fs::create_dir(path("folder")).expect("a folder");
    let out = path("out");
    for (file, message) in [
        (path("fifo"), "not a regular file"),
        ("/dev/zero".to_owned(), "not a regular file"),
        (path("large"), "too large to be read"),
        (path("folder"), "this is a directory"),
    ] {
        std::fs::create_dir_all(path("part")).expect("a folder");
        let report = path("part/report.json");
        let _ = std::fs::remove_file(&report);
        std::os::unix::fs::symlink(&file, &report).expect("a link");
        for arguments in [
            &["check", &file][..],
            &["dump", &file],
            &["lint", &file],
            &["diff", &file],
            &["explore", &file],
            &["study", &file],
            &["convert", "--to", "3", "-o", &out, &file],
            &["merge", &path("part")],
            &["baseline", "create", &out, &file],
            &["baseline", "update", &file, &file],
        ] {
            let (status, error) = ended(&bench(arguments));
            let message = match (message, &arguments[..2]) {
                ("this is a directory", ["dump" | "lint" | "diff" | "explore", _]) => {
                    "there is no ELF file in this folder"
                }
                // A folder is the one of a report.
                ("this is a directory", ["baseline", "create"]) => "report.json: No such file",
                _ => message,
            };
            assert_eq!(status, 2, "{arguments:?}: {error}");
            assert!(error.contains(message), "{arguments:?}: {error}");
        }
    }
}

/// Nothing, next to nothing, and each part of a header.
#[test]
fn files_that_end_too_early_are_errors() {
    let bytes = elf(2, &sound(), &[]);
    for len in [0, 1, 4, 15, 16, 63, 64, 100, 120, 200, bytes.len() - 64, bytes.len() - 1] {
        for (name, status, error) in all(&bytes[..len]) {
            assert!(status == 2 || (name == "check" && len > 4096), "{len}: {name}: {status} {error}");
        }
    }
}
