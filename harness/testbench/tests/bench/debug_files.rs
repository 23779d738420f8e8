//! Separate debug files, which name the functions of stripped files.

use std::path::Path;

use object::elf::{SHT_NOTE, SHT_NULL, SHT_PROGBITS, SHT_SYMTAB, SectionHeader64, SectionType};
use object::endian::{LittleEndian, U32, U64};
use object::pod::slice_from_bytes_mut;
use object::read::elf::{FileHeader as _, SectionHeader as _};
use rstest::rstest;

use crate::command::{bench, json, status};
use crate::common::repository;

/// The build whose symbols are taken out, and a function of it that has rows and is not exported.
const BUILD: &str = "corpus/builds/gnu-2.47/amd64/leaf.O2";
const FUNCTION: &str = "main";
const DEBUG_FILE: &str = "leaf.debug";
const BUILD_ID: [u8; 4] = [0xab, 0x01, 0x02, 0x03];

/// How a stripped file says which debug file is its own.
#[derive(Clone, Copy)]
enum Says {
    /// `.gnu_debuglink`, with this name, and the checksum of these bytes.
    Link(&'static str),
    BuildId,
}

/// Replaces the section `.debug_aranges` by another one.
fn with_section(bytes: &mut Vec<u8>, name: &str, kind: SectionType, content: &[u8]) {
    let header = object::elf::FileHeader64::<LittleEndian>::parse(&**bytes).expect("an ELF file");
    let sections = header.sections(LittleEndian, &**bytes).expect("sections");
    let (replaced, _) = sections.section_by_name(LittleEndian, b".debug_aranges").expect("a section");
    let names = header.shstrndx(LittleEndian, &**bytes).expect("an index") as usize;
    let old_names = sections.section(object::SectionIndex(names)).expect("names");
    let mut new_names = old_names.data(LittleEndian, &**bytes).expect("names").to_vec();
    let sh_name = new_names.len();
    new_names.extend(name.bytes().chain([0]));
    let names_at = append(bytes, &new_names);
    let content_at = append(bytes, content);
    each_section(bytes, |index, section| {
        if index == names {
            section.sh_offset = U64::new(LittleEndian, names_at);
            section.sh_size = U64::new(LittleEndian, new_names.len() as u64);
        } else if index == replaced.0 {
            section.sh_name = U32::new(LittleEndian, u32::try_from(sh_name).expect("a short table"));
            section.sh_type = U32::new(LittleEndian, kind);
            section.sh_addralign = U64::new(LittleEndian, 4);
            section.sh_offset = U64::new(LittleEndian, content_at);
            section.sh_size = U64::new(LittleEndian, content.len() as u64);
        }
    });
}

fn append(bytes: &mut Vec<u8>, content: &[u8]) -> u64 {
    bytes.resize(bytes.len().next_multiple_of(8), 0);
    let at = bytes.len() as u64;
    bytes.extend(content);
    at
}

fn each_section(bytes: &mut [u8], mut change: impl FnMut(usize, &mut SectionHeader64<LittleEndian>)) {
    let header = object::elf::FileHeader64::<LittleEndian>::parse(&*bytes).expect("an ELF file");
    let start = usize::try_from(header.e_shoff(LittleEndian)).expect("a small file");
    let count = header.e_shnum(LittleEndian).into();
    let (sections, _) = slice_from_bytes_mut(&mut bytes[start..], count).expect("a section table");
    sections.iter_mut().enumerate().for_each(|(index, section)| change(index, section));
}

fn note(id: &[u8]) -> Vec<u8> {
    let size = u32::try_from(id.len()).expect("a short ID");
    let words = [4, size, 3].into_iter().flat_map(u32::to_le_bytes);
    words.chain(*b"GNU\0").chain(id.iter().copied()).collect()
}

/// Takes the symbols out of a build. Returns it and its debug file.
fn stripped(says: Says) -> (Vec<u8>, Vec<u8>) {
    stripped_into(std::fs::read(repository().join(BUILD)).expect("a build"), says)
}

/// Takes the symbols out of a build whose debug file is this one.
fn stripped_into(mut debug: Vec<u8>, says: Says) -> (Vec<u8>, Vec<u8>) {
    let mut file = std::fs::read(repository().join(BUILD)).expect("a build");
    match says {
        Says::Link(name) => {
            let mut link: Vec<u8> = name.bytes().chain([0]).collect();
            link.resize(link.len().next_multiple_of(4), 0);
            link.extend(crc32fast::hash(&debug).to_le_bytes());
            with_section(&mut file, ".gnu_debuglink", SHT_PROGBITS, &link);
        }
        Says::BuildId => {
            for bytes in [&mut file, &mut debug] {
                with_section(bytes, ".note.gnu.build-id", SHT_NOTE, &note(&BUILD_ID));
            }
        }
    }
    each_section(&mut file, |_, section| {
        if section.sh_type(LittleEndian) == SHT_SYMTAB {
            section.sh_type = U32::new(LittleEndian, SHT_NULL);
        }
    });
    (file, debug)
}

fn write(folder: &Path, name: &str, bytes: &[u8]) -> String {
    let path = folder.join(name);
    std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
    std::fs::write(&path, bytes).expect("a file");
    path.display().to_string()
}

/// Explores the function by its name, with a root for debug files. Returns the status and standard error, but for what it
/// says of a function that nothing names.
fn explored(file: &str, root: &Path) -> (i32, String) {
    let root = root.display().to_string();
    let output = bench(&["explore", "--json", "--functions", FUNCTION, "--debug-root", &root, file]);
    let mut told = String::from_utf8_lossy(&output.stderr).into_owned();
    let nothing = format!("error: {file}: it has no function `{FUNCTION}`");
    match told.find(&nothing) {
        Some(at) => told.truncate(at),
        None => assert!(json(&output)["summary"]["rows_agree"].as_u64() > Some(0), "{output:?}"),
    }
    (status(&output), told)
}

#[rstest]
#[case::beside(Says::Link(DEBUG_FILE), "bin/leaf.debug")]
#[case::in_a_folder_beside(Says::Link(DEBUG_FILE), "bin/.debug/leaf.debug")]
#[case::below_the_root(Says::Link(DEBUG_FILE), "usr/lib/debug/bin/leaf.debug")]
#[case::by_build_id(Says::BuildId, "usr/lib/debug/.build-id/ab/010203.debug")]
fn a_debug_file_names_the_functions_of_a_stripped_file(#[case] says: Says, #[case] place: &str) {
    let folder = tempfile::tempdir().expect("a folder");
    let root = folder.path();
    let (file, debug) = stripped(says);
    let file = write(root, "bin/leaf", &file);
    assert_eq!(explored(&file, root), (2, String::new()), "nothing names the function");

    let debug = write(root, place, &debug);
    assert_eq!(explored(&file, root), (0, String::new()));
    // A program that is run is named in the same way, with libraries of its own or below a root.
    let as_root = root.display().to_string();
    for option in ["--debug-root", "--root"] {
        let output = bench(&["-v", "check", option, &as_root, &file]);
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(status(&output), 0, "{told}");
        assert!(told.contains(&format!("functions of {file} are named by {debug}")), "{told}");
    }
}

/// A section `.debug_frame` for a function that leaves the stack pointer alone.
fn debug_frame(start: u64, size: u64) -> Vec<u8> {
    // Version 1, no augmentation, alignments of 1 and -8, RA is 16; CFA is RSP+8, RA at CFA-8.
    let cie = [1, 0, 1, 0x78, 16, 0x0c, 7, 8, 0x90, 1, 0, 0];
    let mut bytes = [16, u32::MAX].into_iter().flat_map(u32::to_le_bytes).chain(cie).collect::<Vec<u8>>();
    bytes.extend([20_u32, 0].into_iter().flat_map(u32::to_le_bytes));
    bytes.extend([start, size].into_iter().flat_map(u64::to_le_bytes));
    bytes
}

#[test]
fn the_debug_frame_of_a_debug_file_says_what_the_file_does_not() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut debug = std::fs::read(repository().join(BUILD)).expect("a build");
    with_section(&mut debug, ".debug_frame", SHT_PROGBITS, &debug_frame(0x40_0140, 12));
    let (mut file, debug) = stripped_into(debug, Says::Link(DEBUG_FILE));
    let header = object::elf::FileHeader64::<LittleEndian>::parse(&*file).expect("an ELF file");
    let sections = header.sections(LittleEndian, &*file).expect("sections");
    let (eh_frame, _) = sections.section_by_name(LittleEndian, b".eh_frame").expect("a section");
    each_section(&mut file, |index, section| {
        if index == eh_frame.0 {
            section.sh_size = U64::new(LittleEndian, 0);
        }
    });
    let file = write(folder.path(), "leaf", &file);
    let root = folder.path().display().to_string();
    for command in ["explore", "check"] {
        let asked = [command, "--json", "--from", "eh-frame", "--debug-root", &root, &file];
        let without = bench(&asked);
        let said = String::from_utf8_lossy(&without.stderr).into_owned();
        assert!(status(&without) == 2 && said.contains("no call frame information"), "{command}: {said}");
        let place = write(folder.path(), DEBUG_FILE, &debug);
        let report = json(&bench(&asked)).to_string();
        assert!(report.contains(r#""rows_agree":1"#) || report.contains(r#""rows_exercised":1"#), "{report}");
        std::fs::remove_file(place).expect("a file");
    }
}

#[rstest]
#[case::of_another_build(|debug: &mut Vec<u8>| debug.push(0), "it is of another build")]
#[case::no_elf_file(|debug: &mut Vec<u8>| debug.truncate(3), "Invalid ELF header")]
fn a_debug_file_that_is_not_usable_is_told_and_not_used(#[case] spoil: fn(&mut Vec<u8>), #[case] why: &str) {
    let folder = tempfile::tempdir().expect("a folder");
    let (file, mut debug) = stripped(Says::Link(DEBUG_FILE));
    spoil(&mut debug);
    let file = write(folder.path(), "leaf", &file);
    write(folder.path(), DEBUG_FILE, &debug);
    let (status, told) = explored(&file, folder.path());
    assert!(status == 2 && told.contains("is not used: ") && told.contains(why), "{told}");
}

#[rstest]
#[case("../leaf.debug")]
#[case("..")]
#[case("/leaf.debug")]
fn a_debug_file_is_a_name_and_no_path(#[case] name: &'static str) {
    let folder = tempfile::tempdir().expect("a folder");
    let (file, debug) = stripped(Says::Link(name));
    let file = write(folder.path(), "bin/leaf", &file);
    write(folder.path(), DEBUG_FILE, &debug);
    assert_eq!(explored(&file, folder.path()), (2, String::new()));
}
