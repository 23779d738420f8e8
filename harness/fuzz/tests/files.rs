//! The properties of files, on changed files of the repository.

#![cfg(feature = "files")]

mod kept;

use std::path::{Path, PathBuf};

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use sframe_elf::object_file::{ObjectFile, SectionBytes};
use sframe_engine::Section;
use sframe_fuzz::files;

/// Small files of a folder, and of those below it.
fn small(folder: &str, limit: u64) -> Vec<PathBuf> {
    let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(folder)];
    let mut found = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.metadata().expect("a file").len() <= limit {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

fn read(path: &Path) -> Vec<u8> {
    std::fs::read(path).expect("a file")
}

/// Replacements for bytes: significant numbers, and random ones.
fn number() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        vec(any::<u8>(), 1..9),
        (
            select(vec![0, 1, 8, 0xff, 0x1000, 1 << 31, 1 << 32, 1 << 40, u64::MAX, u64::MAX - 7, 1 << 63]),
            1..9_usize,
            any::<bool>()
        )
            .prop_map(|(number, width, is_big): (u64, usize, bool)| {
                if is_big {
                    number.to_be_bytes()[8 - width..].to_vec()
                } else {
                    number.to_le_bytes()[..width].to_vec()
                }
            }),
    ]
}

/// A file with some numbers changed, most of them in the headers and tables at
/// both ends.
fn elf(paths: Vec<PathBuf>) -> impl Strategy<Value = Vec<u8>> {
    let place = prop_oneof![
        (0..0x300_usize).prop_map(Ok),
        (0..0x800_usize).prop_map(|back| Err(Some(back))),
        Just(Err(None))
    ];
    let change = (place, any::<Index>(), number());
    (select(paths), vec(change, 0..6), any::<Index>(), 0..20_u8).prop_map(|(path, changes, end, is_cut)| {
        let mut bytes = read(&path);
        for (place, anywhere, number) in changes {
            let at = match place {
                Ok(at) => at,
                Err(Some(back)) => bytes.len().saturating_sub(back),
                Err(None) => anywhere.index(bytes.len()),
            };
            // Tables have their fields at multiples of their widths.
            let at = at / number.len() * number.len();
            if let Some(place) = bytes.get_mut(at..).and_then(|rest| rest.get_mut(..number.len())) {
                place.copy_from_slice(&number);
            }
        }
        if is_cut == 0 {
            bytes.truncate(end.index(bytes.len()));
        }
        bytes
    })
}

/// A spec with lines and characters removed, duplicated, or replaced.
fn spec(paths: Vec<PathBuf>) -> impl Strategy<Value = Vec<u8>> {
    let junk = select(vec![
        "",
        "\t",
        "\n",
        "  ",
        "[",
        "]",
        "{",
        "}",
        ":",
        ": ",
        "- ",
        "? ",
        "'",
        "\"",
        "#",
        "&a ",
        "*a ",
        "!t ",
        "|\n",
        ">",
        "%",
        "---\n",
        "...\n",
        "\0",
        "\u{e9}",
        "\u{feff}",
        "<<: ",
        "0",
        "-1",
        "1e999",
        ".nan",
        "null",
        "~",
        "99999999999999999999",
    ]);
    let change = (any::<Index>(), 0..4_usize, junk, any::<bool>());
    (select(paths), vec(change, 0..5)).prop_map(|(path, changes)| {
        let mut text = String::from_utf8(read(&path)).expect("UTF-8");
        for (at, len, junk, is_line) in changes {
            let places: Vec<usize> = text
                .char_indices()
                .map(|(at, _)| at)
                .filter(|at| !is_line || *at == 0 || text.as_bytes()[at - 1] == b'\n')
                .chain([text.len()])
                .collect();
            let start = at.index(places.len());
            let end = (start + len).min(places.len() - 1);
            let gone = text[places[start]..places[end]].to_owned();
            // Lines are moved or duplicated.
            let put = if is_line { gone.repeat(len) + junk } else { junk.to_owned() };
            text.replace_range(places[start]..places[end], &put);
        }
        text.into_bytes()
    })
}

fn cases() -> ProptestConfig {
    // `PROPTEST_CASES` sets the number, if more are wanted.
    let cases =
        if std::env::var_os("PROPTEST_CASES").is_some() { ProptestConfig::default().cases } else { 1024 };
    ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() }
}

fn builds() -> Vec<PathBuf> {
    let mut found = small("corpus/builds", 9000);
    found.extend(
        small("corpus/dumps/odd", 9000)
            .into_iter()
            .filter(|path| path.extension().is_some_and(|it| it == "o")),
    );
    found
}

fn specs() -> Vec<PathBuf> {
    small("specs", 4000).into_iter().filter(|path| path.extension().is_some_and(|it| it == "yaml")).collect()
}

proptest! {
    #![proptest_config(cases())]

    #[test]
    fn any_elf_file_is_loaded_or_refused(data in elf(builds())) {
        files::load(&data);
    }

    #[test]
    fn any_text_is_a_spec_or_refused(data in spec(specs())) {
        files::spec(&data);
    }
}

/// Inputs that once broke a property, including those of the engine, and the files that others
/// are made of.
#[test]
fn regressions_stay_fixed_and_sound_files_pass() {
    let (builds, specs) = (builds(), specs());
    assert!(builds.len() > 100 && specs.len() > 20, "{} {}", builds.len(), specs.len());
    let seeds = builds.iter().step_by(50).chain(specs.iter().step_by(5)).cloned();
    let kept = small("harness/fuzz/regressions", u64::MAX);
    for path in seeds.chain(kept) {
        for (_, property) in files::PROPERTIES {
            property(&read(&path));
        }
    }
}

/// What libFuzzer has kept for the code that it reaches.
#[test]
fn kept_inputs_pass() {
    for (target, property) in files::PROPERTIES {
        let kept = kept::inputs(target);
        assert!(kept.len() >= 100, "{} inputs kept for {target}", kept.len());
        kept.iter().for_each(|input| property(input));
    }
}

/// Each build's section, and each of its addresses: all versions and byte orders.
#[test]
fn look_ups_find_what_interpreting_every_row_finds() {
    let (mut addresses, mut indexed) = (0, 0);
    for path in small("corpus/builds", u64::MAX) {
        let bytes = read(&path);
        let Ok(object) = ObjectFile::parse(&*bytes) else { continue };
        let Some(SectionBytes { data, address }) = object.sframe else { continue };
        let section = Section::parse(data, address).expect("a section of the corpus");
        addresses += sframe_fuzz::look_up_everywhere(&section);
        indexed += u32::from(sframe_engine::Index::new(&section).memory() > 0);
    }
    assert!(indexed > 1000, "{indexed} sections have an index");
    assert!(addresses > 1_000_000, "{addresses} addresses");
}
