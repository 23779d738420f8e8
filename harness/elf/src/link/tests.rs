use std::collections::BTreeSet;
use std::path::Path;
use std::time::{Duration, Instant};

use object::elf::*;
use object::read::elf::ProgramHeader as _;
use object::{ObjectSection as _, ObjectSymbol as _};
use rstest::rstest;
use sframe_engine::Abi;

use super::*;
use crate::object_file::ObjectFile;
use layout::PAGE;
use relocatable::{Other, Relocatable};

mod relocatable;

/// Where the symbols of a [`Relocatable`] are, where its GOT is, and the place that is
/// relocated.
const THERE: u64 = 0x4000_2004;
const OUTSIDE: u64 = 0x4000_0050;
const GOT: u64 = 0x4000_2020;
const PLACE: u64 = 0x4000_0010;

/// Their indices.
const NONE: u32 = 0;
const TO_THERE: u32 = 1;
const TO_OUTSIDE: u32 = 2;

fn linked(relocatable: &Relocatable) -> Linked {
    link(&relocatable.bytes()).expect("a sound file").expect("a relocatable file")
}

/// Returns the content of a section of a linked file, and its address.
fn content(linked: &Linked, name: &str) -> (u64, Vec<u8>) {
    let file = object::File::parse(&*linked.file).expect("an ELF file");
    let section = file.section_by_name(name).expect("the section");
    (section.address(), section.data().expect("content").to_vec())
}

/// Returns what becomes of some bytes at [`PLACE`] by one relocation, and what could not
/// be applied.
fn relocated(
    abi: Abi,
    before: &[u8],
    (r_type, symbol, addend): (RelocationType, u32, i64),
) -> (Vec<u8>, Vec<Unapplied>) {
    let mut relocatable = Relocatable::new(abi);
    relocatable.text[16..16 + before.len()].copy_from_slice(before);
    relocatable.relocations.push((16, r_type.0, symbol, addend));
    let linked = linked(&relocatable);
    let (address, text) = content(&linked, ".text");
    let start = usize::try_from(PLACE - address).expect("in the section");
    let (inside, around) = (start..start + before.len(), [&text[..start], &text[start + before.len()..]]);
    assert!(around.concat().iter().all(|byte| *byte == 0), "{r_type:?}");
    (text[inside].to_vec(), linked.unapplied)
}

/// The bytes of a number, in the order of data.
fn data(abi: Abi, width: usize, value: u64) -> Vec<u8> {
    let bytes = value.to_be_bytes()[8 - width..].to_vec();
    if abi.is_big_endian() { bytes } else { bytes.into_iter().rev().collect() }
}

#[test]
fn data_of_amd64_is_relocated() {
    for (what, width, value) in [
        ((R_X86_64_64, TO_THERE, 1), 8, THERE + 1),
        ((R_X86_64_32, TO_THERE, 0), 4, THERE),
        ((R_X86_64_32S, TO_THERE, 0), 4, THERE),
        ((R_X86_64_32S, NONE, -5), 4, 0xffff_fffb),
        ((R_X86_64_16, NONE, 0x1234), 2, 0x1234),
        ((R_X86_64_8, NONE, -1), 1, 0xff),
        ((R_X86_64_PC64, TO_THERE, 0), 8, THERE - PLACE),
        ((R_X86_64_PC32, TO_THERE, -4), 4, THERE - PLACE - 4),
        ((R_X86_64_PLT32, TO_OUTSIDE, -4), 4, OUTSIDE - PLACE - 4),
        ((R_X86_64_PC16, TO_OUTSIDE, 0), 2, OUTSIDE - PLACE),
        ((R_X86_64_PC8, TO_OUTSIDE, 0), 1, OUTSIDE - PLACE),
        ((R_X86_64_GOTPCREL, TO_THERE, -4), 4, GOT - PLACE - 4),
        ((R_X86_64_GOTPCRELX, TO_THERE, -4), 4, GOT - PLACE - 4),
        ((R_X86_64_REX_GOTPCRELX, TO_OUTSIDE, -4), 4, GOT - PLACE - 4),
        ((R_X86_64_GOT64, TO_THERE, 0), 8, 0),
        ((R_X86_64_GOTOFF64, TO_THERE, 0), 8, THERE.wrapping_sub(GOT)),
        ((R_X86_64_GOTPC32, NONE, 0), 4, GOT - PLACE),
        ((R_X86_64_SIZE32, TO_THERE, 0), 4, 8),
        ((R_X86_64_SIZE64, TO_THERE, 1), 8, 9),
        ((R_X86_64_TLSGD, TO_THERE, -4), 4, GOT - PLACE - 4),
        ((R_X86_64_TPOFF32, TO_THERE, 0), 4, 0),
    ] {
        let (bytes, unapplied) = relocated(Abi::Amd64, &vec![0; width], what);
        assert_eq!((bytes, unapplied), (data(Abi::Amd64, width, value), vec![]), "{what:?}");
    }
}

#[rstest]
fn code_and_data_of_aarch64_are_relocated(#[values(Abi::Aarch64, Abi::Aarch64Be)] abi: Abi) {
    for (what, width, value) in [
        ((R_AARCH64_ABS64, TO_THERE, 1), 8, THERE + 1),
        ((R_AARCH64_ABS32, TO_THERE, 0), 4, THERE),
        ((R_AARCH64_PREL64, TO_THERE, 0), 8, THERE - PLACE),
        ((R_AARCH64_PREL32, TO_THERE, 0), 4, THERE - PLACE),
        ((R_AARCH64_PREL16, TO_OUTSIDE, 0), 2, OUTSIDE - PLACE),
        ((R_AARCH64_PLT32, TO_OUTSIDE, 0), 4, OUTSIDE - PLACE),
    ] {
        let (bytes, unapplied) = relocated(abi, &vec![0; width], what);
        assert_eq!((bytes, unapplied), (data(abi, width, value), vec![]), "{what:?}");
    }
    for (what, before, after) in [
        ((R_AARCH64_CALL26, TO_OUTSIDE, 0), 0x9400_0000_u32, 0x9400_0010_u32),
        ((R_AARCH64_CALL26, TO_OUTSIDE, -0x44), 0x9400_0000, 0x97ff_ffff),
        ((R_AARCH64_JUMP26, TO_THERE, 0), 0x1400_0000, 0x1400_07fd),
        ((R_AARCH64_CONDBR19, TO_OUTSIDE, 0), 0x5400_0001, 0x5400_0201),
        ((R_AARCH64_TSTBR14, TO_OUTSIDE, 0), 0x3600_0001, 0x3600_0201),
        ((R_AARCH64_LD_PREL_LO19, TO_THERE, 0), 0x5800_0001, 0x5800_ffa1),
        ((R_AARCH64_ADR_PREL_LO21, TO_THERE, 1), 0x1000_0001, 0x3000_ffa1),
        ((R_AARCH64_ADR_PREL_PG_HI21, TO_THERE, 0), 0x9000_0001, 0xd000_0001),
        ((R_AARCH64_ADR_PREL_PG_HI21, TO_OUTSIDE, -0x51), 0x9000_0001, 0xf0ff_ffe1),
        ((R_AARCH64_ADD_ABS_LO12_NC, TO_THERE, 0), 0x9100_0021, 0x9100_1021),
        // What is there is replaced.
        ((R_AARCH64_ADD_ABS_LO12_NC, TO_THERE, 0), 0x913f_fc21, 0x9100_1021),
        ((R_AARCH64_LDST8_ABS_LO12_NC, TO_THERE, 0), 0x3940_0021, 0x3940_1021),
        ((R_AARCH64_LDST16_ABS_LO12_NC, TO_THERE, 0), 0x7940_0021, 0x7940_0821),
        ((R_AARCH64_LDST32_ABS_LO12_NC, TO_THERE, 0), 0xb940_0021, 0xb940_0421),
        ((R_AARCH64_LDST64_ABS_LO12_NC, TO_THERE, 4), 0xf940_0021, 0xf940_0421),
        ((R_AARCH64_LDST128_ABS_LO12_NC, TO_THERE, 12), 0x3dc0_0021, 0x3dc0_0421),
        ((R_AARCH64_MOVW_UABS_G0_NC, TO_THERE, 0), 0xf280_0001, 0xf284_0081),
        ((R_AARCH64_MOVW_UABS_G1, TO_THERE, 0), 0xd2a0_0001, 0xd2a8_0001),
        ((R_AARCH64_ADR_GOT_PAGE, TO_THERE, 0), 0x9000_0001, 0xd000_0001),
        ((R_AARCH64_LD64_GOT_LO12_NC, TO_THERE, 0), 0xf940_0021, 0xf940_1021),
        ((R_AARCH64_LD64_GOTPAGE_LO15, TO_THERE, 0), 0xf940_0021, 0xf940_1021),
        ((R_AARCH64_TLSIE_ADR_GOTTPREL_PAGE21, TO_THERE, 0), 0x9000_0001, 0xd000_0001),
        ((R_AARCH64_TLSLE_ADD_TPREL_HI12, TO_THERE, 0), 0x9140_0021, 0x9140_0021),
    ] {
        // Instructions are little endian in both orders.
        let (bytes, unapplied) = relocated(abi, &before.to_le_bytes(), what);
        assert_eq!((bytes, unapplied), (after.to_le_bytes().to_vec(), vec![]), "{what:?}");
    }
}

#[test]
fn code_and_data_of_s390x_are_relocated() {
    for (what, before, after) in [
        ((R_390_64, TO_THERE, 1), &[0; 8][..], &(THERE + 1).to_be_bytes()[..]),
        ((R_390_32, TO_THERE, 0), &[0; 4], &[0x40, 0, 0x20, 4]),
        ((R_390_PC64, TO_THERE, 0), &[0; 8], &[0, 0, 0, 0, 0, 0, 0x1f, 0xf4]),
        ((R_390_PC32, TO_THERE, 0), &[0; 4], &[0, 0, 0x1f, 0xf4]),
        // In halfwords, from the start of the instruction 2 bytes before.
        ((R_390_PC32DBL, TO_OUTSIDE, 2), &[0; 4], &[0, 0, 0, 0x21]),
        ((R_390_PLT32DBL, TO_OUTSIDE, -0x7e), &[0; 4], &[0xff, 0xff, 0xff, 0xe1]),
        ((R_390_PC16DBL, TO_OUTSIDE, 2), &[0; 2], &[0, 0x21]),
        ((R_390_GOTENT, TO_THERE, 2), &[0; 4], &[0, 0, 0x10, 0x09]),
        ((R_390_GOTPCDBL, NONE, 2), &[0; 4], &[0, 0, 0x10, 0x09]),
        ((R_390_GOTOFF64, TO_THERE, 0), &[0; 8], &THERE.wrapping_sub(GOT).to_be_bytes()),
        ((R_390_GOT12, TO_THERE, 8), &[0x5f, 0xff], &[0x50, 0x08]),
        ((R_390_12, NONE, 0xabc), &[0x50, 0], &[0x5a, 0xbc]),
        ((R_390_20, NONE, 0x1_2345), &[0x20, 0, 0, 4], &[0x23, 0x45, 0x12, 4]),
        ((R_390_20, NONE, -1), &[0x20, 0, 0, 4], &[0x2f, 0xff, 0xff, 4]),
        ((R_390_TLS_IEENT, TO_THERE, 2), &[0; 4], &[0, 0, 0x10, 0x09]),
        ((R_390_TLS_LE64, TO_THERE, 0), &[0; 8], &[0; 8]),
    ] {
        assert_eq!(relocated(Abi::S390x, before, what), (after.to_vec(), vec![]), "{what:?}");
    }
}

#[test]
fn what_is_not_applied_is_counted() {
    for (abi, what, name, reason) in [
        (Abi::Amd64, (R_X86_64_COPY, TO_THERE, 0), "R_X86_64_COPY", Reason::Unknown),
        (Abi::Amd64, (RelocationType(200), TO_THERE, 0), "relocation type 200", Reason::Unknown),
        (Abi::Amd64, (R_X86_64_16, TO_THERE, 0), "R_X86_64_16", Reason::Overflow),
        (Abi::Amd64, (R_X86_64_PC8, TO_THERE, 0), "R_X86_64_PC8", Reason::Overflow),
        (Abi::Amd64, (R_X86_64_32, NONE, -1), "R_X86_64_32", Reason::Overflow),
        (Abi::Amd64, (R_X86_64_32S, NONE, 1 << 31), "R_X86_64_32S", Reason::Overflow),
        (Abi::Aarch64, (R_AARCH64_CALL26, TO_OUTSIDE, 2), "R_AARCH64_CALL26", Reason::Overflow),
        (Abi::Aarch64, (R_AARCH64_CALL26, TO_OUTSIDE, 1 << 27), "R_AARCH64_CALL26", Reason::Overflow),
        (Abi::Aarch64Be, (R_AARCH64_TSTBR14, TO_OUTSIDE, 1 << 15), "R_AARCH64_TSTBR14", Reason::Overflow),
        (Abi::S390x, (R_390_12, NONE, 0x1000), "R_390_12", Reason::Overflow),
        (Abi::S390x, (R_390_20, NONE, 0x8_0000), "R_390_20", Reason::Overflow),
        (Abi::S390x, (R_390_PC32DBL, TO_OUTSIDE, 1), "R_390_PC32DBL", Reason::Overflow),
    ] {
        let (bytes, unapplied) = relocated(abi, &[0; 8], what);
        let expected = Unapplied { relocation: name.to_owned(), reason, count: 1 };
        assert_eq!((bytes, unapplied), (vec![0; 8], vec![expected]), "{what:?}");
    }
    let counts = |relocatable: &Relocatable| {
        let counted = |one: Unapplied| (one.reason, one.count);
        linked(relocatable).unapplied.into_iter().map(counted).collect::<Vec<_>>()
    };
    let mut compressed = Relocatable::new(Abi::Amd64);
    compressed.relocations.push((16, R_X86_64_64.0, TO_THERE, 0));
    compressed.flags |= SHF_COMPRESSED.0;
    assert_eq!(counts(&compressed), [(Reason::Compressed, 1)]);
    let mut implicit = Relocatable::new(Abi::Amd64);
    implicit.relocations.push((16, R_X86_64_64.0, TO_THERE, 0));
    implicit.kind = SHT_REL;
    assert_eq!(counts(&implicit), [(Reason::ImplicitAddend, 1)]);
    let mut twice = Relocatable::new(Abi::Amd64);
    twice.relocations = vec![(0, 200, TO_THERE, 0), (8, R_X86_64_64.0, TO_THERE, 0), (16, 200, TO_THERE, 0)];
    assert_eq!(counts(&twice), [(Reason::Unknown, 2)]);
}

#[rstest]
fn entries_of_the_got_have_addresses(
    #[values(Abi::Amd64, Abi::Aarch64, Abi::Aarch64Be, Abi::S390x)] abi: Abi,
) {
    let [entry, thread_local] = match abi {
        Abi::Amd64 => [R_X86_64_GOTPCREL, R_X86_64_GOTTPOFF],
        Abi::Aarch64 | Abi::Aarch64Be => [R_AARCH64_ADR_GOT_PAGE, R_AARCH64_TLSIE_ADR_GOTTPREL_PAGE21],
        Abi::S390x => [R_390_GOTENT, R_390_TLS_IEENT],
    };
    let mut relocatable = Relocatable::new(abi);
    let uses = [(entry, TO_THERE), (entry, TO_OUTSIDE), (entry, TO_THERE), (thread_local, TO_THERE)];
    let places = (0..).step_by(4).zip(uses);
    relocatable.relocations = places.map(|(at, (r_type, symbol))| (at, r_type.0, symbol, 0)).collect();
    let (address, content) = content(&linked(&relocatable), ".got");
    assert_eq!(address, GOT);
    let words: Vec<u64> = content
        .chunks(8)
        .map(|word| match abi.is_big_endian() {
            true => u64::from_be_bytes(word.try_into().expect("a word")),
            false => u64::from_le_bytes(word.try_into().expect("a word")),
        })
        .collect();
    // Each has two words.
    assert_eq!(words, [THERE, 0, OUTSIDE, 0, 0, 0]);
}

#[rstest]
fn an_undefined_symbol_is_code_that_traps(
    #[values(Abi::Amd64, Abi::Aarch64, Abi::Aarch64Be, Abi::S390x)] abi: Abi,
) {
    let linked = linked(&Relocatable::new(abi));
    let read = ObjectFile::parse(&linked.file).expect("an executable");
    assert_eq!(read.abi(), Some(abi));
    assert_eq!(read.symbols.at(OUTSIDE + 15), Some(("outside", 15)));
    assert_eq!(read.symbols.at(OUTSIDE + 16), None);
    assert_eq!(read.section_at(OUTSIDE), Some(".undefined"));
    let (_, code) = read.code().find(|(address, _)| *address == OUTSIDE).expect("the section");
    assert_eq!(code.len(), 16);
    #[cfg(feature = "disassembly")]
    {
        use sframe_isa::{Disassembly, Flow};
        let first = Disassembly::one(abi, OUTSIDE, code).expect("an instruction");
        assert_eq!(first.flow, Flow::Trap, "{}", first.text);
    }
}

#[test]
fn the_executable_is_mapped_by_permissions() {
    let mut relocatable = Relocatable::new(Abi::Amd64);
    relocatable.other = Other::zeros(32, 0x10_0000);
    let linked = linked(&relocatable);
    let tables = Tables::parse(Source::from(&linked.file)).expect("tables");
    let endian = tables.endian;
    assert_eq!(tables.header.e_type(endian), ET_EXEC);
    assert_eq!(tables.header.e_entry(endian), 0x4000_0000);
    let segments: Vec<_> = tables
        .segments
        .iter()
        .map(|it| (it.p_flags(endian), it.p_vaddr(endian), it.p_filesz(endian), it.p_memsz(endian)))
        .collect();
    // .data has 16 bytes; .bss comes after a gap.
    assert_eq!(
        segments,
        [(PF_R | PF_X, 0x4000_0000, 0x60, 0x60), (PF_R | PF_W, 0x4000_1000, 0x10, 0x20 + 0x10_0000)]
    );
    assert!(linked.file.len() < 0x4000);
    for segment in tables.segments {
        assert_eq!(segment.p_vaddr(endian) % PAGE, segment.p_offset(endian) % PAGE);
    }
    assert_eq!(content(&linked, ".bss").0, 0x4000_1020);
    assert!(link(&linked.file).expect("a sound file").is_none(), "an executable is not relocatable");
}

#[test]
fn sections_and_symbols_keep_their_names_and_indices() {
    let mut relocatable = Relocatable::new(Abi::S390x);
    // A second section of the same name, as for functions with section groups.
    relocatable.other = Other::new(".text", SHT_PROGBITS, 6, vec![0; 8]);
    relocatable.symbols.push(("function", 0x12, 3, 4, 4));
    relocatable.symbols.push(("shared", 0x11, SHN_COMMON.0, 64, 8));
    relocatable.symbols.push(("number", 0x10, SHN_ABS.0, 77, 0));
    let linked = linked(&relocatable);
    let file = object::File::parse(&*linked.file).expect("an ELF file");
    let sections: Vec<(String, u64)> =
        file.sections().map(|it| (it.name().expect("a name").to_owned(), it.address())).collect();
    let names: Vec<&str> = sections.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(
        names,
        ["", ".text", ".data", ".text", "", ".symtab", ".strtab", ".undefined", ".common"][1..]
    );
    let addresses: Vec<u64> = sections.iter().map(|(_, address)| *address).collect();
    assert_eq!(addresses, [0x4000_0000, 0x4000_1000, 0x4000_0050, 0, 0, 0, 0x4000_0070, 0x4000_1040]);
    let symbols: Vec<(&str, u64)> =
        file.symbols().map(|it| (it.name().expect("a name"), it.address())).collect();
    let expected = [
        ("there", 0x4000_1004),
        ("outside", 0x4000_0070),
        ("function", 0x4000_0054),
        ("shared", 0x4000_1040),
        ("number", 77),
    ];
    assert_eq!(symbols, expected);
}

/// The FDEs of both sections begin at the same functions, in all versions of the format.
#[rstest]
fn what_describes_frames_is_relocated(
    #[values("2.40", "2.44", "2.47")] release: &str,
    #[values("amd64", "aarch64", "aarch64_be")] abi: &str,
) {
    is_relocated(&format!("{release}/{abi}"));
}

#[test]
fn what_describes_frames_is_relocated_on_s390x() {
    is_relocated("2.47/s390x");
}

fn is_relocated(name: &str) {
    let path = format!("{}/../../corpus/dumps/odd/gnu-{name}.o", env!("CARGO_MANIFEST_DIR"));
    let linked = link(&std::fs::read(Path::new(&path)).expect("an object")).expect("a sound file");
    let linked = linked.expect("a relocatable file");
    assert_eq!(linked.unapplied, []);
    let read = ObjectFile::parse(&linked.file).expect("an executable");
    let cfi = read.call_frame_info().expect("a known machine");
    assert_eq!(cfi.errors(), []);
    let described: BTreeSet<u64> = cfi.fdes().iter().map(|fde| fde.range.start).collect();
    let section = read.section().expect("a section").open(0, read.abi().expect("an ABI")).expect("sound");
    let starts = (0..section.header().num_fdes).map(|index| section.fde(index).expect("sound").start);
    let starts: BTreeSet<u64> = starts.collect();
    assert!(!starts.is_empty() && starts.is_subset(&described), "{starts:x?} {described:x?}");
    for start in starts {
        let in_code = |(address, code): (u64, &[u8])| (address..address + code.len() as u64).contains(&start);
        assert!(read.code().any(in_code), "{start:#x}");
    }
}

#[test]
fn what_has_no_room_is_refused() {
    let mut aligned = Other::new(".rodata", SHT_PROGBITS, 2, vec![0; 16]);
    aligned.alignment = 1 << 29;
    for other in [Other::zeros(16, 1 << 30), Other::zeros(16, u64::MAX), Other::zeros(1 << 63, 16), aligned] {
        let mut relocatable = Relocatable::new(Abi::Amd64);
        relocatable.other = other;
        let refused = link(&relocatable.bytes());
        assert!(matches!(refused, Err(LinkError::NoRoom)), "{:x?}: {refused:?}", relocatable.other);
    }
    let mut relocatable = Relocatable::new(Abi::Amd64);
    relocatable.symbols.push(("shared", 0x11, SHN_COMMON.0, 1 << 63, u64::MAX));
    assert!(matches!(link(&relocatable.bytes()), Err(LinkError::NoRoom)));
    relocatable = Relocatable::new(Abi::Amd64);
    for (offset, r_type) in [(62, R_X86_64_PC32), (64, R_X86_64_PC32), (u64::MAX, R_X86_64_64)] {
        relocatable.relocations = vec![(offset, r_type.0, TO_THERE, 0)];
        let refused = link(&relocatable.bytes()).map(drop);
        let expected = format!("a relocation of .text at offset {offset:#x} lies outside the section");
        assert_eq!(refused.map_err(|error| error.to_string()), Err(expected));
    }
    let mut foreign = Relocatable::new(Abi::Amd64).bytes();
    foreign[18] = 243;
    assert!(matches!(link(&foreign), Err(LinkError::Machine)));
}

/// Cut off at each byte, and with each byte replaced: an error or an executable, soon.
#[test]
fn a_damaged_file_is_refused_or_linked() {
    let mut relocatable = Relocatable::new(Abi::S390x);
    relocatable.relocations = vec![
        (0, R_390_PC32DBL.0, TO_OUTSIDE, 2),
        (8, R_390_GOTENT.0, TO_THERE, 2),
        (16, R_390_64.0, TO_THERE, 0),
    ];
    let sound = relocatable.bytes();
    let start = Instant::now();
    let mut refused = 0;
    for len in 0..sound.len() {
        refused += usize::from(link(&sound[..len]).is_err());
    }
    assert!(refused > sound.len() / 2, "{refused}");
    for at in 0..sound.len() {
        for byte in [0, 1, 0x7f, 0x80, 0xff] {
            let mut damaged = sound.clone();
            damaged[at] = byte;
            if let Ok(Some(linked)) = link(&damaged) {
                assert!(linked.file.len() as u64 <= (sound.len() as u64) * SHARE + SPARE + (1 << 16));
            }
        }
    }
    assert!(start.elapsed() < Duration::from_secs(20), "{:?}", start.elapsed());
}

/// An FDE of `.text` whose LSDA is after the code.
#[test]
fn landing_pads_are_read_from_what_is_loaded() {
    let mut relocatable = Relocatable::new(Abi::Amd64);
    // 4 to 8, landing at 0x10.
    relocatable.text[32..40].copy_from_slice(&[0xff, 0xff, 1, 4, 4, 4, 0x10, 0]);
    let entry = |content: Vec<u8>| {
        let len = u32::try_from(content.len()).expect("small");
        [&len.to_le_bytes(), &content[..]].concat()
    };
    for (lsda, landing_pad) in [(0x4000_0020_u64, Some(0x4000_0010)), (0x5000_0000, None)] {
        // Version 1; alignments, column 16; pointers of 8 bytes.
        let cie = entry([&[0, 0, 0, 0, 1][..], b"zLR\0", &[1, 0x78, 16, 2, 0, 0, 0x0c, 7, 8]].concat());
        let id = u32::try_from(cie.len() + 4).expect("small").to_le_bytes();
        let range = [0x4000_0000_u64, 0x20].map(u64::to_le_bytes).concat();
        let fde = entry([&id[..], &range, &[8], &lsda.to_le_bytes()].concat());
        relocatable.other = Other::new(".eh_frame", SHT_PROGBITS, 2, [cie, fde].concat());
        let linked = linked(&relocatable);
        let read = ObjectFile::parse(&linked.file).expect("an executable");
        let cfi = read.call_frame_info().expect("a known machine");
        assert_eq!((cfi.errors(), cfi.fdes().len()), (&[][..], 1));
        let pads = read.landing_pads(&cfi);
        assert_eq!(pads.of_call(0x4000_0008), landing_pad);
        assert_eq!(pads.errors().len(), usize::from(landing_pad.is_none()), "{:?}", pads.errors());
    }
}
