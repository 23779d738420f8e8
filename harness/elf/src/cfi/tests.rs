use std::path::Path;

use rstest::rstest;

use sframe_engine::{Abi, Base, DwarfRegister, RecoveryRule};

use super::{CallFrameInfo, CfiError, CfiFde, CfiInput, Inexpressible, Rules};
use crate::object_file::ObjectFile;

/// Returns the information of a build of the corpus, and the start of one of its
/// functions.
fn build(path: &str, function: &str) -> (CallFrameInfo, u64) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus/builds").join(path);
    let bytes = std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let subject = ObjectFile::parse(&bytes).expect("a build of the corpus");
    let cfi = subject.call_frame_info().expect("a known machine");
    assert_eq!(cfi.errors(), []);
    let start = subject.symbols.addresses_of(function);
    let [start] = start[..] else { panic!("{function} is at {start:x?}") };
    (cfi, start)
}

fn rules(cfi: &CallFrameInfo, address: u64) -> Rules {
    let row = cfi.row_at(address).expect("well-formed").expect("an FDE");
    cfi.rules(&row, address)
}

#[rstest]
#[case("gnu-2.47/amd64/leaf.O2", "CFA = SP+8, RA = *(CFA-8), FP unchanged")]
#[case("gnu-2.40/aarch64/leaf.O2", "CFA = SP, RA unchanged, FP unchanged")]
#[case("gnu-2.44/aarch64_be/leaf.O2", "CFA = SP, RA unchanged, FP unchanged")]
#[case("gnu-2.47/s390x/leaf.O2", "CFA = SP+160, RA unchanged, FP unchanged")]
fn a_function_begins_with_the_rules_of_its_abi(#[case] path: &str, #[case] expected: &str) {
    let (cfi, main) = build(path, "main");
    assert_eq!(rules(&cfi, main).to_string(), expected);
}

/// A CIE and an FDE as gas writes them: `.cfi_signal_frame`, a push after the first
/// instruction, `.cfi_def_cfa_offset 16` and `.cfi_offset 6, -16`.
#[test]
fn an_augmentation_without_data_is_read_in_debug_frame() {
    let cie = b"\x14\0\0\0\xff\xff\xff\xff\x01S\0\x01\x78\x10\x0c\x07\x08\x90\x01\0\0\0\0\0";
    let fde = b"\x1c\0\0\0\0\0\0\0\0\x10\0\0\0\0\0\0\x08\0\0\0\0\0\0\0\x41\x0e\x10\x86\x02\0\0\0";
    let cfi = CallFrameInfo::read(CfiInput {
        abi: Abi::Amd64,
        eh_frame: None,
        debug_frame: Some([&cie[..], &fde[..]].concat()),
        errors: Vec::new(),
        text: 0,
        got: 0,
    });
    assert_eq!(cfi.errors(), []);
    assert!(cfi.fdes().iter().all(|fde| fde.is_signal));
    assert_eq!(rules(&cfi, 0x1000).to_string(), "CFA = SP+8, RA = *(CFA-8), FP unchanged");
    assert_eq!(rules(&cfi, 0x1001).to_string(), "CFA = SP+16, RA = *(CFA-8), FP = *(CFA-16)");
}

/// Of an object that was linked before others, such as the last one of a toolchain's start files.
#[rstest]
#[case::between(&[0, 0, 0, 0], &[])]
#[case::several(&[0; 12], &[])]
#[case::at_the_start(&[], &[0, 0, 0, 0])]
fn a_terminator_between_entries_hides_nothing(#[case] between: &[u8], #[case] before: &[u8]) {
    let cie = b"\x14\0\0\0\0\0\0\0\x01zR\0\x01\x78\x10\x01\x00\x0c\x07\x08\x90\x01\0\0";
    let fde = |start: u8| {
        let mut fde = *b"\x18\0\0\0\x1c\0\0\0\0\x10\0\0\0\0\0\0\x08\0\0\0\0\0\0\0\0\x41\x0e\x10";
        fde[9] = start;
        fde
    };
    let mut second = fde(0x20);
    second[4] += u8::try_from(28 + between.len()).expect("few");
    let cfi = CallFrameInfo::read(CfiInput {
        abi: Abi::Amd64,
        eh_frame: Some(([before, cie, &fde(0x10), between, &second, &[0; 4]].concat(), 0x8000)),
        debug_frame: None,
        errors: Vec::new(),
        text: 0,
        got: 0,
    });
    if before.is_empty() {
        assert_eq!((cfi.errors(), cfi.fdes().len()), (&[][..], 2));
        assert_eq!(rules(&cfi, 0x1007).to_string(), "CFA = SP+16, RA = *(CFA-8), FP unchanged");
        assert_eq!(rules(&cfi, 0x2001).to_string(), "CFA = SP+16, RA = *(CFA-8), FP unchanged");
    } else {
        assert!(matches!(cfi.errors(), [CfiError::Unreadable { .. }]), "{:?}", cfi.errors());
    }
}

/// On amd64 the return address may be in a register as well: an FDE of the CIE
/// `.cfi_return_column 11`.
#[test]
fn a_column_that_is_a_register_is_read_on_amd64() {
    let cie = b"\x14\0\0\0\xff\xff\xff\xff\x01\0\x01\x78\x0b\x0c\x07\x08\x90\x01\0\0\0\0\0\0";
    let fde = b"\x14\0\0\0\0\0\0\0\0\x10\0\0\0\0\0\0\x08\0\0\0\0\0\0\0";
    let cfi = CallFrameInfo::read(CfiInput {
        abi: Abi::Amd64,
        eh_frame: None,
        debug_frame: Some([&cie[..], &fde[..]].concat()),
        errors: Vec::new(),
        text: 0,
        got: 0,
    });
    assert_eq!(cfi.errors(), []);
    assert_eq!(rules(&cfi, 0x1000).to_string(), "CFA = SP+8, RA = r11, FP unchanged");
}

#[test]
fn the_expression_of_plt_entries_depends_on_the_pc() {
    let (cfi, entry) = build("gnu-2.47/amd64/crossing.O0-dynamic", "first_leaf@plt");
    let cfa = |offset| rules(&cfi, entry + offset).cfa.expect("an expression that is a sum").to_string();
    // After `push $index`, at offset 11, there is one more word.
    assert_eq!([cfa(0), cfa(6), cfa(11)], ["SP+8", "SP+8", "SP+16"]);
}

/// If a CIE names another column, as for GCC's thunks that jump to the address in a
/// register.
#[test]
fn a_return_address_may_be_in_another_register_than_the_abis() {
    let (cfi, _) = build("gnu-2.47/s390x/thunks.O2", "main");
    let rules_of = |register: u16| {
        let row = |fde: &CfiFde| cfi.row_at(fde.range.start).expect("well-formed").expect("a row");
        let row = cfi.fdes().iter().map(row).find(|row| row.ra_column == register).expect("such a CIE");
        cfi.rules(&row, row.range.start).to_string()
    };
    assert_eq!(rules_of(14), "CFA = SP+160, RA unchanged, FP unchanged");
    assert_eq!(rules_of(1), "CFA = SP+160, RA = r1, FP unchanged");
}

#[test]
fn a_signature_is_in_the_rules() {
    let (cfi, main) = build("gnu-2.47/aarch64/pauth.O2", "main");
    let fde = cfi.fde_at(main).expect("an FDE");
    let signed: Vec<bool> = cfi.rows(fde).expect("well-formed").iter().map(|row| row.signed).collect();
    assert!(signed.contains(&true) && signed.contains(&false), "{signed:?}");
}

/// A build's `.eh_frame` with one instruction in place of another.
fn with_instruction(id: &str, function: &str, from: &[u8], to: &[u8]) -> (CallFrameInfo, u64) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus/builds").join(id);
    let bytes = std::fs::read(path).expect("a build");
    let subject = ObjectFile::parse(&bytes[..]).expect("a build");
    let start = subject.symbols.addresses_of(function)[0];
    let file = object::File::parse(&*bytes).expect("ELF");
    let section = object::Object::section_by_name(&file, ".eh_frame").expect("a section");
    let mut data = object::ObjectSection::data(&section).expect("bytes").to_vec();
    let whole = CallFrameInfo::read(CfiInput {
        abi: subject.abi().expect("an ABI"),
        eh_frame: Some((data.clone(), object::ObjectSection::address(&section))),
        debug_frame: None,
        errors: Vec::new(),
        text: 0,
        got: 0,
    });
    let offset = whole.fde_at(start).expect("an FDE").offset;
    let len = u32::from_le_bytes(data[offset..offset + 4].try_into().expect("4 bytes")) as usize;
    let entry = &mut data[offset + 4..offset + 4 + len];
    // Behind the pointers, which may have the same bytes.
    for at in 13..=entry.len() - from.len() {
        if &entry[at..at + from.len()] == from {
            entry[at..at + from.len()].copy_from_slice(to);
        }
    }
    let cfi = CallFrameInfo::read(CfiInput {
        abi: subject.abi().expect("an ABI"),
        eh_frame: Some((data, object::ObjectSection::address(&section))),
        debug_frame: None,
        errors: Vec::new(),
        text: 0,
        got: 0,
    });
    (cfi, start)
}

#[test]
fn a_signature_that_includes_the_pc_is_a_signature() {
    const BUILD: &str = "gnu-2.47/aarch64/pauth.O2";
    let signed = |(cfi, main): (CallFrameInfo, u64)| {
        let rows = cfi.rows(cfi.fde_at(main).expect("an FDE")).expect("well-formed");
        rows.iter().map(|row| row.signed).collect::<Vec<_>>()
    };
    let plain = signed(with_instruction(BUILD, "main", &[0x2d], &[0x2d]));
    assert!(plain.contains(&true), "{plain:?}");
    assert_eq!(signed(with_instruction(BUILD, "main", &[0x2d], &[0x2c])), plain);
    // Another unknown instruction stays one.
    let (cfi, main) = with_instruction(BUILD, "main", &[0x2d], &[0x3f]);
    assert!(cfi.rows(cfi.fde_at(main).expect("an FDE")).is_err());
}

/// Only the instruction itself is meant, and no operand that has its number.
#[test]
fn an_operand_is_not_a_signature() {
    // Version 1 with a signature rule by expression of a constant: DW_OP_lit1, then DW_OP_lit0 at 0x2c * 4.
    let instructions = [0x16, 34, 1, 0x31, 0x02, 0x2c, 0x16, 34, 1, 0x30, 0x2c];
    let cfi = of_aarch64(&instructions);
    let rows = cfi.rows(&cfi.fdes()[0]);
    // The rule by expression and the instruction can't be mixed, which is told.
    assert!(rows.is_err(), "{rows:?}");
    let cfi = of_aarch64(&instructions[..10]);
    let rows = cfi.rows(&cfi.fdes()[0]).expect("well-formed");
    let signed: Vec<_> = rows.iter().map(|row| (row.range.start, row.signed)).collect();
    assert_eq!(signed, [(0x1000, true), (0x102c, false)]);
    let cfi = of_aarch64(&[0x02, 0x2c, 0x2c, 0x02, 0x2c, 0x2c]);
    let rows = cfi.rows(&cfi.fdes()[0]).expect("well-formed");
    let signed: Vec<_> = rows.iter().map(|row| (row.range.start, row.signed)).collect();
    assert_eq!(signed, [(0x1000, false), (0x102c, true), (0x1058, false)]);
}

/// A `.debug_frame` of aarch64 with one FDE of these instructions.
fn of_aarch64(instructions: &[u8]) -> CallFrameInfo {
    let entry = |content: Vec<u8>| {
        let len = u32::try_from(content.len()).expect("small");
        [len.to_le_bytes().to_vec(), content].concat()
    };
    let cie = entry([&[0xff; 4][..], &[1, 0, 1, 0x78, 30, 0x0c, 31, 0]].concat());
    let code = [0x1000_u64.to_le_bytes(), 0x100_u64.to_le_bytes()].concat();
    let fde = entry([&[0; 4][..], &code, instructions].concat());
    CallFrameInfo::read(CfiInput {
        abi: Abi::Aarch64,
        eh_frame: None,
        debug_frame: Some([cie, fde].concat()),
        errors: Vec::new(),
        text: 0,
        got: 0,
    })
}

/// The CFA is what has been said of it so far, and not what will be.
#[test]
fn a_cfa_is_defined_from_its_instruction_on() {
    // Column 16 without a CFA; after 4, def_cfa SP+32; remembered, and restored, after 8.
    let written = |instructions: &[u8]| {
        let entry = |content: Vec<u8>| {
            let len = u32::try_from(content.len()).expect("small");
            [len.to_le_bytes().to_vec(), content].concat()
        };
        let cie = entry([&[0xff; 4][..], &[1, 0, 1, 0x78, 16]].concat());
        let code = [0x1000_u64.to_le_bytes(), 0x100_u64.to_le_bytes()].concat();
        let fde = entry([&[0; 4][..], &code, instructions].concat());
        let cfi = CallFrameInfo::read(CfiInput {
            abi: Abi::Amd64,
            eh_frame: None,
            debug_frame: Some([cie, fde].concat()),
            errors: Vec::new(),
            text: 0,
            got: 0,
        });
        let rows = cfi.rows(&cfi.fdes()[0]).expect("well-formed");
        rows.iter().map(|row| (row.range.start, row.has_cfa)).collect::<Vec<_>>()
    };
    assert_eq!(written(&[0x44, 0x0c, 7, 32]), [(0x1000, false), (0x1004, true)]);
    assert_eq!(
        written(&[0x0a, 0x44, 0x0c, 7, 32, 0x44, 0x0b]),
        [(0x1000, false), (0x1004, true), (0x1008, false)]
    );
    assert_eq!(written(&[0x0c, 7, 8, 0x44, 0x0e, 16]), [(0x1000, true), (0x1004, true)]);
    assert_eq!(written(&[0x44, 0x90, 1]), [(0x1000, false), (0x1004, false)]);
}

#[test]
fn a_key_is_in_the_augmentation() {
    let (cfi, main) = build("gnu-2.47/aarch64/bti_code_key_b.O2", "main");
    let keys: Vec<bool> = cfi.fdes().iter().map(|fde| fde.key_b).collect();
    assert!(keys.contains(&true) && keys.contains(&false), "{keys:?}");
    assert!(cfi.fdes().iter().all(|fde| !fde.is_signal));
    assert!(cfi.fde_at(main).is_some());
}

/// Returns an `.eh_frame` of one CIE, with the given instructions, and FDEs of 16
/// bytes at the given starts.
fn written(instructions: &[u8], starts: impl Iterator<Item = u64>) -> CallFrameInfo {
    with_ranges(instructions, starts.map(|start| (start, 16)))
}

/// Call frame information whose FDEs have any start and size.
fn with_ranges(instructions: &[u8], ranges: impl Iterator<Item = (u64, u64)>) -> CallFrameInfo {
    let entry = |content: Vec<u8>| {
        let len = u32::try_from(content.len()).expect("small");
        [len.to_le_bytes().to_vec(), content].concat()
    };
    // Version 1 without augmentation; alignments, column 16.
    let head = [0, 0, 0, 0, 1, 0, 1, 0x78, 16];
    let mut data = entry([&head, instructions].concat());
    for (start, size) in ranges {
        let cie = u32::try_from(data.len() + 4).expect("small");
        data.extend(entry([&cie.to_le_bytes()[..], &start.to_le_bytes(), &size.to_le_bytes()].concat()));
    }
    let eh_frame = Some((data, 0x1000));
    CallFrameInfo::read(CfiInput {
        abi: Abi::Amd64,
        eh_frame,
        debug_frame: None,
        errors: Vec::new(),
        text: 0,
        got: 0,
    })
}

#[test]
fn a_missing_cfa_is_not_a_cfa_in_register_0() {
    let cfa = |instructions: &[u8]| rules(&written(instructions, std::iter::once(0x4000)), 0x4000).cfa;
    assert_eq!(cfa(&[0x90, 1]), Err(Inexpressible::Nothing));
    // DW_CFA_def_cfa of rax.
    let rax = Base::Register(DwarfRegister(0));
    assert_eq!(cfa(&[0x0c, 0, 0]), Ok(RecoveryRule { base: rax, offset: 0, dereference: false }));
}

#[test]
fn an_address_between_functions_has_no_fde() {
    let cfi = written(&[0x0c, 7, 8], [0x4000, 0x5000].into_iter());
    let starts = |address| cfi.fde_at(address).map(|fde| fde.range.start);
    assert_eq!(
        [0x3fff, 0x4000, 0x400f, 0x4010, 0x4fff, 0x500f, 0x5010].map(starts),
        [None, Some(0x4000), Some(0x4000), None, None, Some(0x5000), None]
    );
}

/// Ranges that overlap, share starts or ends, are empty, or are nested.
#[test]
fn the_overlapping_fde_that_starts_last_is_found() {
    let mut state = 1_u64;
    let mut below = |limit: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % limit
    };
    for _ in 0..200 {
        let ranges: Vec<(u64, u64)> = (0..below(12)).map(|_| (0x4000 + below(24), below(16))).collect();
        let cfi = with_ranges(&[0x0c, 7, 8], ranges.into_iter());
        for address in 0x3ff8..0x4030 {
            let covers = |fde: &&CfiFde| fde.range.contains(&address);
            let last = cfi.fdes().iter().filter(covers).map(|fde| fde.range.start).max();
            let first_there = cfi.fdes().iter().find(|fde| covers(fde) && Some(fde.range.start) == last);
            assert_eq!(cfi.fde_at(address), first_there, "{address:#x} of {:?}", cfi.fdes());
        }
    }
    // The maximum number in a section, each nested in all before it.
    let nested =
        with_ranges(&[0x0c, 7, 8], (0..100_000).map(|index| (0x10_0000 + index, 400_000 - 2 * index)));
    for index in 0..100_000 {
        let start = nested.fde_at(0x10_0000 + 400_000 - index - 1).map(|fde| fde.range.start);
        assert_eq!(start, Some(0x10_0000 + index));
    }
}

#[test]
fn a_cie_that_would_take_forever_is_an_error() {
    let starts = (0..20_000).map(|index| 0x10_0000 + index * 16);
    let sound = written(&[0; 64], starts.clone());
    assert_eq!((sound.errors(), sound.fdes().len()), (&[][..], 20_000));
    let long = written(&vec![0; 1 << 20], starts);
    assert!(matches!(long.errors(), [CfiError::TooLong { .. }]), "{:?}", long.errors());
}
