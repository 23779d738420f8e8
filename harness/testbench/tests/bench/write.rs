//! Writing and converting every section of the corpus, and replacing the
//! sections of files.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

use object::elf::{PT_GNU_SFRAME, PT_LOAD, SHT_GNU_SFRAME, SHT_PROGBITS};
use object::read::elf::{FileHeader as _, ProgramHeader as _, SectionHeader as _};
use object::{Endianness, Object as _};
use sframe_elf::object_file::ObjectFile;
use sframe_elf::replace_section::{EmbedError, embed};
use sframe_engine::write::{self, Skipped, Target};
use sframe_engine::{ByteOrder, InstructionPointer, Section, Version};
use sframe_inspect::convert::Request;
use sframe_inspect::convert::layout::Layout;

use crate::command::bench_in;
use crate::common;

/// Calls `each` with the name and the section of every build that a toolchain wrote.
fn each_section(mut each: impl FnMut(&str, &[u8], &Section<'_>)) {
    let suite = common::suite();
    for build in suite.manifest().builds.iter().filter(|build| build.derived_from.is_none()) {
        let bytes = build.read(suite.corpus()).expect("a build");
        let subject = ObjectFile::parse(&bytes).expect("an ELF file");
        let sframe = subject.sframe.expect("a section");
        let section = Section::parse(sframe.data, sframe.address).expect("a sound section");
        each(&build.id, sframe.data, &section);
    }
}

#[test]
fn reading_and_writing_gives_the_same_bytes_for_every_section_that_gnu_ld_wrote() {
    let mut versions = BTreeMap::new();
    each_section(|name, data, section| {
        // LLD concatenates sections.
        if !name.starts_with("gnu-") {
            return;
        }
        let owned = write::Section::from_read(section).expect("sound rows");
        let written = owned.write(section.address()).expect("what was read can be written");
        assert!(written == data, "{name}");
        *versions.entry(section.header().version).or_insert(0) += 1;
    });
    assert_eq!(versions.keys().copied().collect::<Vec<_>>(), [Version::V1, Version::V2, Version::V3]);
    assert!(versions.values().all(|count| *count > 100), "{versions:?}");
}

/// A section's rules at each row's first and last PC, as text.
fn says(section: &Section<'_>) -> Vec<String> {
    let mut answers = Vec::new();
    for fde in section.fdes() {
        let fde = fde.expect("an FDE");
        for pc in (fde.start..fde.start + u64::from(fde.size)).step_by(2) {
            let found = section.lookup(InstructionPointer(pc)).expect("sound rows");
            let row = found.map_or_else(|| "none".into(), |found| found.row.to_string());
            answers.push(format!("{pc:#x} {row} {:?} {:?}", fde.pauth_key, fde.signal));
        }
    }
    answers.sort();
    answers
}

/// The same without the functions that are left out.
fn says_without(section: &Section<'_>, owned: &write::Section, left_out: &[Skipped]) -> Vec<String> {
    let gone = |answer: &String| {
        left_out.iter().any(|gone| {
            let function = &owned.functions[gone.function];
            let end = function.start + u64::from(function.size);
            let pc = answer.split(' ').next().expect("a PC").trim_start_matches("0x");
            let pc = u64::from_str_radix(pc, 16).expect("a PC");
            (function.start..end).contains(&pc)
        })
    };
    says(section).into_iter().filter(|answer| !gone(answer)).collect()
}

#[test]
fn a_conversion_says_the_same_but_of_the_functions_that_it_lists() {
    let mut left_out = BTreeMap::new();
    let (mut conversions, mut whole) = (0, 0);
    each_section(|name, _, section| {
        // The large functions take long, and add nothing here.
        if name.contains("large_function") {
            return;
        }
        let owned = write::Section::from_read(section).expect("sound rows");
        for version in [Version::V1, Version::V2, Version::V3] {
            for byte_order in [ByteOrder::Little, ByteOrder::Big] {
                let Ok(conversion) = owned.convert(Target { version, byte_order }) else { continue };
                conversions += 1;
                let written = conversion.section.write(section.address());
                if name.contains("/far_text.") && version != Version::V3 {
                    // 32 bits do not reach its functions.
                    let kind = written.expect_err("functions out of reach").kind;
                    assert!(matches!(kind, write::WriteErrorKind::StartOutOfReach(_)), "{kind:?}");
                    continue;
                }
                let bytes = written.expect("a section in reach");
                let converted = Section::parse(&bytes, section.address()).expect("a sound section");
                assert_eq!(converted.header().version, version, "{name}");
                let expected = says_without(section, &owned, &conversion.left_out);
                assert_eq!(says(&converted), expected, "{name} to {version}");
                whole += u32::from(conversion.left_out.is_empty());
                for gone in conversion.left_out {
                    for error in gone.errors {
                        *left_out.entry(format!("{:?}", error.kind)).or_insert(0) += 1;
                    }
                }
            }
        }
    });
    assert!(conversions > 1500 && whole > 1000, "{conversions} conversions, {whole} whole: {left_out:?}");
    // Version 1 can't mark an outermost frame, and only version 3 has DRAP.
    for kind in ["UndefinedRaNotInVersion", "CfaNotInDefault", "RepSizeMismatch(V1)"] {
        assert!(left_out.contains_key(kind), "{left_out:?}");
    }
}

/// A build of the corpus.
fn build(id: &str) -> Vec<u8> {
    std::fs::read(common::repository().join("corpus/builds").join(id)).expect("a build")
}

/// A file's loaded bytes by their addresses.
fn memory(file: &[u8]) -> BTreeMap<u64, u8> {
    let header = object::elf::FileHeader64::<Endianness>::parse(file).expect("an ELF file");
    let endian = header.endian().expect("a byte order");
    let segments = header.program_headers(endian, file).expect("program headers");
    let mut memory = BTreeMap::new();
    for segment in segments.iter().filter(|segment| segment.p_type(endian) == PT_LOAD) {
        let data = segment.data(endian, file).expect("a segment within the file");
        memory.extend((segment.p_vaddr(endian)..).zip(data.iter().copied()));
    }
    memory
}

/// Checks that everything mapped stays where it is, except for the headers and
/// the section.
fn assert_loaded_alike(name: &str, old: &[u8], new: &[u8]) {
    let section = ObjectFile::parse(old).expect("an ELF file").sframe.expect("a section");
    let replaced = section.address..section.address + section.data.len() as u64;
    let (before, after) = (memory(old), memory(new));
    let first = *before.keys().next().expect("something is loaded");
    let header = object::elf::FileHeader64::<Endianness>::parse(old).expect("an ELF file");
    let endian = header.endian().expect("a byte order");
    let headers = 64 + 56 * u64::from(header.e_phnum.get(endian));
    for (address, byte) in before.iter().filter(|(address, _)| **address >= first + headers) {
        let padding = *address < replaced.end + 0x100 && *address >= replaced.start;
        assert!(padding || after.get(address) == Some(byte), "{name} at {address:#x}");
    }
}

/// Checks what the loader's and the linker's headers say about the section.
fn assert_found_alike(name: &str, file: &[u8]) {
    let header = object::elf::FileHeader64::<Endianness>::parse(file).expect("an ELF file");
    let endian = header.endian().expect("a byte order");
    let segments = header.program_headers(endian, file).expect("program headers");
    let mut found = segments.iter().filter(|segment| segment.p_type(endian) == PT_GNU_SFRAME);
    let segment = found.next().expect("a segment");
    assert!(found.next().is_none(), "{name}");
    let sections = header.sections(endian, file).expect("sections");
    let (_, section) = sections.section_by_name(endian, b".sframe").expect("a section");
    let of_segment = (segment.p_vaddr(endian), segment.p_offset(endian), segment.p_filesz(endian));
    assert_eq!(of_segment, (section.sh_addr(endian), section.sh_offset(endian), section.sh_size(endian)));
    assert_eq!(segment.p_memsz(endian), segment.p_filesz(endian), "{name}");
    let version = section.data(endian, file).expect("the bytes")[2];
    let kind = if version == 1 { SHT_PROGBITS } else { SHT_GNU_SFRAME };
    assert_eq!(section.sh_type(endian), kind, "{name}");
    // The loader requires this order.
    let loaded: Vec<_> = segments.iter().filter(|segment| segment.p_type(endian) == PT_LOAD).collect();
    assert!(loaded.is_sorted_by_key(|segment| segment.p_vaddr(endian)), "{name}");
    let memory = memory(file);
    let data = section.data(endian, file).expect("the bytes");
    for (address, byte) in (section.sh_addr(endian)..).zip(data) {
        assert_eq!(memory.get(&address), Some(byte), "{name}: the section is not loaded");
    }
}

#[test]
fn a_derived_build_says_what_the_build_does_that_it_is_made_of() {
    let suite = common::suite();
    let (mut count, mut grown) = (0, 0);
    for build in &suite.manifest().builds {
        let Some(from) = &build.derived_from else { continue };
        let from = suite.manifest().get(from).expect("a build that was compiled");
        assert_eq!(from.derived_from, None, "{}", build.id);
        let (old, new) =
            (from.files(suite.corpus()).expect("files"), build.files(suite.corpus()).expect("files"));
        let libraries = old.libraries.iter().zip(&new.libraries).map(|((_, old), (_, new))| (old, new));
        for (old, new) in std::iter::once((&old.executable, &new.executable)).chain(libraries) {
            assert_loaded_alike(&build.id, old, new);
            assert_found_alike(&build.id, new);
            grown += usize::from(new.len() > old.len());
            let read = |bytes| ObjectFile::parse(bytes).expect("an ELF file").sframe.expect("a section");
            let (before, after) = (read(old), read(new));
            let before = Section::parse(before.data, before.address).expect("a sound section");
            let after = Section::parse(after.data, after.address).expect("a sound section");
            let owned = write::Section::from_read(&before).expect("sound rows");
            let target =
                Target { version: after.header().version, byte_order: before.header().abi.byte_order() };
            let conversion = owned.convert(target).expect("a conversion");
            assert_eq!(says(&after), says_without(&before, &owned, &conversion.left_out), "{}", build.id);
            assert_eq!(after.header().version.number(), build.sframe_version);
            count += 1;
        }
    }
    assert!(count > 300 && grown > 50, "{count} files, {grown} of them grown");
}

/// The command in the manifest, run in its documented folder.
#[test]
fn a_derived_build_is_what_its_command_makes() {
    let suite = common::suite();
    let folder = tempfile::tempdir().expect("a folder");
    let mut seen = BTreeSet::new();
    for build in suite.manifest().builds.iter().filter(|build| build.derived_from.is_some()) {
        if !seen.insert((&build.toolchain, &build.abi, &build.variant)) {
            continue;
        }
        let bytes = build.read(suite.corpus()).expect("a build");
        let libraries = build.libraries.iter().map(|library| {
            (&library.command, std::fs::read(build.library_path(suite.corpus(), library)).expect("a library"))
        });
        for (command, expected) in std::iter::once((&build.command, bytes)).chain(libraries) {
            let output = folder.path().join("output");
            let words: Vec<String> = command
                .split(' ')
                .skip(1)
                .map(|word| match word.strip_prefix("--elf=") {
                    Some(_) => format!("--elf={}", output.display()),
                    None => word.to_owned(),
                })
                .collect();
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            let made = bench_in(&suite.corpus().join("programs"), &words);
            assert!(matches!(made.status.code(), Some(0 | 1)), "{command}");
            assert!(std::fs::read(&output).expect("a file") == expected, "{command}");
        }
    }
    assert!(seen.len() > 30, "{seen:?}");
}

/// A layout that makes the section larger than the space in the file.
const LARGE: [&str; 2] = ["--header-gap=4000", "--data-words=4"];

#[test]
fn a_converted_section_goes_back_into_its_file_which_runs_as_before() {
    let folder = tempfile::tempdir().expect("a folder");
    let output = folder.path().join("output").display().to_string();
    for id in [
        "gnu-2.47/amd64/plt.O2-shared",
        "gnu-2.47/s390x/handwritten.O2-pie",
        "gnu-2.44/aarch64_be/pauth.O2",
        "gnu-2.40/aarch64/recursion.O0",
    ] {
        let original = common::repository().join("corpus/builds").join(id).display().to_string();
        for layout in [&[][..], &LARGE] {
            let arguments = [&["convert", &original, "--to=2", "--elf", &output], layout].concat();
            let made = bench_in(folder.path(), &arguments);
            assert_eq!(made.status.code(), Some(0), "{}", String::from_utf8_lossy(&made.stderr));
            let (old, new) = (build(id), std::fs::read(&output).expect("a file"));
            assert_loaded_alike(id, &old, &new);
            assert_found_alike(id, &new);
            assert_eq!(new.len() > old.len() + 3000, !layout.is_empty(), "{id}");
            let check = bench_in(folder.path(), &["check", &output]);
            assert_eq!(check.status.code(), Some(0), "{id}: {}", String::from_utf8_lossy(&check.stdout));
            let lint = bench_in(folder.path(), &["lint", &output]);
            assert_eq!(lint.status.code(), Some(0), "{id}: {}", String::from_utf8_lossy(&lint.stdout));
        }
    }
}

/// The emulated machine is one loader; the kernel is another.
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
#[test]
fn the_kernel_loads_files_with_another_section() {
    use std::os::unix::fs::PermissionsExt as _;

    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("output");
    for id in ["leaf.O0", "leaf.O2-pie", "plt.O2-shared", "signals.O2"] {
        let original =
            common::repository().join("corpus/builds/gnu-2.47/amd64").join(id).display().to_string();
        let output = path.display().to_string();
        let arguments = [&["convert", &original, "--to=3", "--elf", &output][..], &LARGE].concat();
        assert_eq!(bench_in(folder.path(), &arguments).status.code(), Some(0), "{id}");
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).expect("permissions");
        let status = Command::new(&path).status().expect("the program starts");
        assert_eq!(status.code(), Some(0), "{id}");
    }
}

const BUILD: &str = "gnu-2.47/amd64/recursion.O2-pie";

/// A version 3 section of a given length for an address. Its contents are never
/// read.
fn section_of(len: usize) -> impl Fn(u64) -> Result<Vec<u8>, write::WriteError> {
    move |address| {
        let mut bytes = vec![0xe2, 0xde, 3, 1, 3, 0, 0xf8, 0];
        bytes.resize(28, 0);
        bytes.extend(address.to_le_bytes());
        bytes.resize(len.max(36), 0xee);
        Ok(bytes)
    }
}

/// The positions of the header of the `.sframe` section and of the
/// `PT_GNU_SFRAME` header in a little-endian file.
fn headers(file: &[u8]) -> (usize, usize) {
    let number = |offset: usize, width: usize| {
        let mut bytes = [0; 8];
        bytes[..width].copy_from_slice(&file[offset..offset + width]);
        usize::from_le_bytes(bytes)
    };
    let index = object::File::parse(file).expect("an ELF file");
    let index = index.section_by_name(".sframe").map(|section| object::ObjectSection::index(&section).0);
    let first = number(0x20, 8);
    let segments = (0..number(0x38, 2)).map(|index| first + index * 56);
    let segment = segments.into_iter().find(|at| number(*at, 4) == 0x6474_e554).expect("PT_GNU_SFRAME");
    (number(0x28, 8) + index.expect("a section") * 64, segment)
}

#[test]
fn a_file_without_a_section_gets_one() {
    let mut file = build(BUILD);
    let (section, segment) = headers(&file);
    // There is no section of this name any more, and no segment.
    file[section + 4..section + 8].copy_from_slice(&8_u32.to_le_bytes());
    file[segment..segment + 4].fill(0);
    assert!(ObjectFile::parse(&file).expect("an ELF file").sframe.is_none());
    let new = embed(&file, SHT_GNU_SFRAME, section_of(100)).expect("a file");
    let found = ObjectFile::parse(&new).expect("an ELF file").sframe.expect("a section");
    assert_eq!((found.data.len(), &found.data[28..36]), (100, &found.address.to_le_bytes()[..]));
    // The old one, of the same name and without bytes, is not found first.
    let names = object::File::parse(&*new).expect("an ELF file");
    assert_eq!(
        names.sections().filter(|section| object::ObjectSection::name(section) == Ok(".sframe")).count(),
        2
    );

    // Without a section table, the segment is sufficient.
    let mut stripped = build(BUILD);
    stripped[0x28..0x30].fill(0);
    stripped[0x3c..0x40].fill(0);
    for len in [100, 5000] {
        let new = embed(&stripped, SHT_GNU_SFRAME, section_of(len)).expect("a file");
        let found = ObjectFile::parse(&new).expect("an ELF file").sframe.expect("a section");
        assert_eq!((found.data.len(), &found.data[28..36]), (len, &found.address.to_le_bytes()[..]));
        assert_eq!(new.len() > stripped.len(), len == 5000);
        assert_loaded_alike("stripped", &stripped, &new);
    }
}

#[test]
fn files_without_room_for_a_section_are_refused_by_name() {
    let file = build(BUILD);
    let large = |file: &[u8]| embed(file, SHT_GNU_SFRAME, section_of(5000)).expect_err("no place");
    let changed = |offset: usize, bytes: &[u8]| {
        let mut file = file.clone();
        file[offset..offset + bytes.len()].copy_from_slice(bytes);
        file
    };
    assert!(matches!(large(&changed(0x10, &[1, 0])), EmbedError::NotLinked(1)));
    assert!(matches!(large(&changed(0x38, &[0xff, 0xff])), EmbedError::TooManyHeaders));
    assert!(matches!(large(b"no file"), EmbedError::Object(_)));
    // The second header is that of the last loaded segment.
    let second = 0x40 + 56;
    assert!(matches!(large(&changed(second + 0x28, &(1_u64 << 30).to_le_bytes())), EmbedError::TooFar(_)));
    for (field, value) in
        [(0x28, u64::MAX), (0x20, u64::MAX), (0x30, 3 << 12), (0x30, 1 << 40), (0x10, !0xfff)]
    {
        let error = large(&changed(second + field, &value.to_le_bytes()));
        assert!(matches!(error, EmbedError::Malformed(_)), "{field:#x}: {error}");
    }
    let uneven = |address: u64| section_of(if address < 0x1000 { 40 } else { 5000 })(address);
    assert!(embed(&file, SHT_GNU_SFRAME, uneven).is_ok());
    let uneven = |address: u64| section_of(if address < 0x1000 { 5000 } else { 40 })(address);
    assert!(matches!(embed(&file, SHT_GNU_SFRAME, uneven), Err(EmbedError::Length(5000, 40))));
}

/// For any headers, the result is a file or an error, and no more bytes than allowed.
#[test]
fn any_file_gets_a_section_or_an_error() {
    let request = Request { version: Version::V2, byte_order: None, layout: Layout::default() };
    for id in [BUILD, "gnu-2.47/s390x/crossing.O2-dynamic", "gnu-2.40/aarch64/leaf.O0"] {
        let original = build(id);
        let (mut good, mut bad) = (0, 0);
        let mut attempt = |file: &[u8]| {
            for result in
                [embed(file, SHT_GNU_SFRAME, section_of(40)), embed(file, SHT_GNU_SFRAME, section_of(5000))]
            {
                match result {
                    Ok(new) => {
                        assert!(new.len() <= file.len() + (17 << 20));
                        good += 1;
                    }
                    Err(error) => {
                        assert!(!error.to_string().is_empty());
                        bad += 1;
                    }
                }
            }
            let _ = request.convert(file).and_then(|converted| converted.file());
        };
        let header = object::elf::FileHeader64::<Endianness>::parse(&*original).expect("an ELF file");
        let endian = header.endian().expect("a byte order");
        let sections = usize::try_from(header.e_shoff.get(endian)).expect("an offset");
        for offset in (0..0x40 + 56 * 10).chain(sections..original.len()) {
            for value in [0, 1, 0x7f, 0xff] {
                let mut file = original.clone();
                file[offset] = value;
                attempt(&file);
            }
        }
        for len in (0..original.len()).step_by(37) {
            attempt(&original[..len]);
        }
        assert!(good > 1000 && bad > 300, "{id}: {good} files, {bad} errors");
    }
}
