//! Malformed sections: a typed error with offset and clause, or a value; never
//! a panic.

use crate::builder::{ADDRESS, Builder, Function, fre, function};
use sframe_engine::{Abi, Clause, Error, ErrorKind, InstructionPointer, PauthMask, Section, Version};

fn sound(version: Version, abi: Abi) -> Vec<u8> {
    let words: &[i32] = if abi == Abi::Amd64 { &[16, -16] } else { &[16, -8, -16] };
    let rows = [fre(0, true, 1, &[8]), fre(2, true, 2, words), fre(4, false, 4, words)];
    let functions = [
        function(0x1000, 16, &rows),
        Function { info: 1, ..function(0x1010, 16, &rows) },
        Function { info: 0x10, rep_size: 16, ..function(0x1020, 64, &rows) },
        function(0x1060, 16, &[]),
    ];
    Builder::new(version, abi, &functions).bytes()
}

/// Everything that can be asked of a section.
fn ask_everything(bytes: &[u8]) -> Result<(), Error> {
    let section = Section::parse(bytes, ADDRESS)?;
    let mut result = Ok(());
    for fde in section.fdes() {
        match fde {
            Ok(fde) => result = result.and(section.rows(&fde).try_for_each(|row| row.map(drop))),
            Err(error) => result = result.and(Err(error)),
        }
    }
    for pc in [0, 0xfff, 0x1000, 0x1011, 0x102b, 0x1067, u64::MAX] {
        let _ = section.lookup(InstructionPointer(pc));
        let frame = sframe_engine::Frame::topmost(InstructionPointer(pc), 0x7000, 0x7100);
        let registers = |_| Some(u64::MAX);
        let memory = |address: u64| address.is_multiple_of(16).then_some(address);
        let _ = section.step(&frame, Some(&registers), &memory, PauthMask::for_address_bits(39));
    }
    result
}

fn error(bytes: &[u8]) -> Error {
    ask_everything(bytes).expect_err("the section is malformed")
}

#[test]
fn each_fault_is_named_with_its_offset_and_clause() {
    let v2 = sound(Version::V2, Abi::Amd64);
    let v3 = sound(Version::V3, Abi::Amd64);
    let changed = |bytes: &[u8], offset: usize, values: &[u8]| {
        let mut bytes = bytes.to_vec();
        bytes[offset..offset + values.len()].copy_from_slice(values);
        bytes
    };
    let v2_table = 28;
    let v2_rows = v2_table + 4 * 20;
    let v3_rows = v2_table + 4 * 16;
    for (bytes, kind, offset, clause) in [
        (
            Vec::new(),
            ErrorKind::Truncated { needed: 2, available: 0, clause: Clause::Preamble },
            0,
            Clause::Preamble,
        ),
        (
            v2[..3].to_vec(),
            ErrorKind::Truncated { needed: 28, available: 3, clause: Clause::Header },
            0,
            Clause::Header,
        ),
        (
            v2[..27].to_vec(),
            ErrorKind::Truncated { needed: 28, available: 27, clause: Clause::Header },
            0,
            Clause::Header,
        ),
        (changed(&v2, 0, &[0xad, 0xde]), ErrorKind::BadMagic(0xdead), 0, Clause::Magic),
        (changed(&v2, 0, &[0xde, 0xe2]), ErrorKind::WrongByteOrder(Abi::Amd64), 0, Clause::Magic),
        (changed(&v2, 2, &[0]), ErrorKind::UnknownVersion(0), 2, Clause::Version),
        (changed(&v2, 2, &[4]), ErrorKind::UnknownVersion(4), 2, Clause::Version),
        (changed(&v2, 4, &[0]), ErrorKind::UnknownAbi(0), 4, Clause::AbiArch),
        (changed(&v2, 4, &[5]), ErrorKind::UnknownAbi(5), 4, Clause::AbiArch),
        (
            changed(&v2, 8, &[0xff, 0xff, 0xff, 0xff]),
            ErrorKind::SubSectionOutOfBounds { end: 28 + 20 * 0xffff_ffff, len: v2.len() },
            20,
            Clause::Header,
        ),
        (
            changed(&v2, 16, &[0, 0, 0, 0x80]),
            ErrorKind::SubSectionOutOfBounds { end: v2_rows as u64 + 0x8000_0000, len: v2.len() },
            24,
            Clause::Header,
        ),
        (
            changed(&v2, v2_table + 8, &[0xff, 0xff]),
            ErrorKind::FreOffsetOutOfBounds(0xffff),
            v2_table + 8,
            Clause::FdeIndex,
        ),
        (changed(&v2, v2_table + 16, &[3]), ErrorKind::UnknownFreType(3), v2_table + 16, Clause::FreType),
        (changed(&v3, v3_rows + 2, &[0xf]), ErrorKind::UnknownFreType(15), v3_rows + 2, Clause::FreType),
        (changed(&v3, v3_rows + 3, &[2]), ErrorKind::UnknownFdeType(2), v3_rows + 3, Clause::FdeType),
        (changed(&v2, v2_table + 16, &[0x10]), ErrorKind::ZeroRepSize, v2_table + 16, Clause::PcType),
        (changed(&v2, v2_rows + 1, &[0x63]), ErrorKind::UnknownDataWordSize, v2_rows + 1, Clause::FreInfo),
        (changed(&v2, v2_rows + 1, &[0x07]), ErrorKind::BadDataWordCount(3), v2_rows + 1, Clause::DefaultFde),
        (changed(&v3, v3_rows + 3, &[1]), ErrorKind::BadFlexWordCount(1), v3_rows + 5 + 1, Clause::FlexFde),
    ] {
        let error = error(&bytes);
        assert_eq!((error.kind, error.offset, error.clause()), (kind, offset, clause));
        let text = error.to_string();
        assert!(text.contains(&format!("offset {offset:#x}")) && text.contains(clause.title()), "{text}");
    }
}

/// A row without data words has no meaning in version 1.
#[test]
fn version_1_has_no_undefined_ra() {
    let functions = [function(0x1000, 4, &[fre(0, true, 1, &[])])];
    let bytes = Builder::new(Version::V1, Abi::Amd64, &functions).bytes();
    assert_eq!(error(&bytes).kind, ErrorKind::BadDataWordCount(0));
}

#[test]
fn flex_rows_must_be_whole_pairs() {
    for words in
        [&[6 << 3 | 1][..], &[6 << 3 | 1, 16, 2], &[6 << 3 | 1, 16, 0, 2], &[6 << 3 | 1, 16, 0, 0, 9]]
    {
        let functions = [Function { info2: 1, ..function(0x1000, 4, &[fre(0, true, 1, words)]) }];
        let bytes = Builder::new(Version::V3, Abi::Amd64, &functions).bytes();
        assert!(matches!(error(&bytes).kind, ErrorKind::BadFlexWordCount(_)), "{words:?}");
    }
}

#[test]
fn a_flex_cfa_needs_a_base_register() {
    for words in [&[0, 16][..], &[2, 16], &[0]] {
        let functions = [Function { info2: 1, ..function(0x1000, 4, &[fre(0, true, 1, words)]) }];
        let bytes = Builder::new(Version::V3, Abi::Amd64, &functions).bytes();
        assert_eq!(error(&bytes).kind, ErrorKind::FlexCfaWithoutRegister, "{words:?}");
    }
}

#[test]
fn more_rows_than_bytes_end_at_the_end_of_the_sub_section() {
    let mut bytes = sound(Version::V2, Abi::Amd64);
    bytes[28 + 12..28 + 16].fill(0xff); // sfde_func_num_fres
    bytes.extend([0; 64]); // not part of the sub-section
    let section = Section::parse(&bytes, ADDRESS).expect("a sound header");
    let fde = section.fde(0).expect("an FDE");
    assert!(section.rows(&fde).count() < 100);
    assert!(section.rows(&fde).last().expect("rows").is_err());
}

#[test]
fn a_section_cut_anywhere_is_an_error_or_a_value() {
    let (mut sections, mut errors) = (0, 0);
    for version in [Version::V1, Version::V2, Version::V3] {
        for abi in [Abi::Amd64, Abi::Aarch64Be] {
            let bytes = sound(version, abi);
            assert_eq!(ask_everything(&bytes), Ok(()), "{version} {abi}");
            for len in 0..bytes.len() {
                sections += 1;
                errors += usize::from(ask_everything(&bytes[..len]).is_err());
            }
        }
    }
    assert_eq!(errors, sections, "a shorter section can't be whole");
}

#[test]
fn any_byte_may_hold_any_value() {
    let (mut errors, mut values) = (0, 0);
    for version in [Version::V1, Version::V2, Version::V3] {
        for abi in [Abi::Amd64, Abi::Aarch64Be, Abi::S390x] {
            let original = sound(version, abi);
            for offset in 0..original.len() {
                for value in 0..=u8::MAX {
                    let mut bytes = original.clone();
                    bytes[offset] = value;
                    match ask_everything(&bytes) {
                        Ok(()) => values += 1,
                        Err(_) => errors += 1,
                    }
                }
            }
        }
    }
    assert!(errors > 10_000 && values > 10_000, "{errors} errors, {values} values");
}

/// s390x came with errata 1 of version 2.
#[test]
fn version_1_does_not_support_s390x() {
    let bytes =
        Builder::new(Version::V1, Abi::S390x, &[function(0x1000, 4, &[fre(0, true, 1, &[0])])]).bytes();
    let error = error(&bytes);
    assert_eq!((error.kind, error.offset), (ErrorKind::UnknownAbi(4), 4));
}

/// The error belongs to the row that is cut off, not to the complete row before it.
#[test]
fn a_row_before_a_cut_one_is_read() {
    let functions = [function(0x1000, 16, &[fre(0, true, 1, &[8]), fre(4, true, 1, &[16])])];
    let mut bytes = Builder::new(Version::V2, Abi::Amd64, &functions).bytes();
    bytes[16] = 3; // sfh_fre_len: the first row
    let section = Section::parse(&bytes, ADDRESS).expect("a sound header");
    let rows: Vec<_> = section.rows(&section.fde(0).expect("an FDE")).map(|row| row.is_ok()).collect();
    assert_eq!(rows, [true, false]);
}
