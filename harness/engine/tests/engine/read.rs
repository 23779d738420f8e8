//! Reading and look-up, by version and clause.

use crate::builder::{ADDRESS, Builder, Fre, Function, PCREL, SORTED, fre, function};
use sframe_engine::{Abi, Error, InstructionPointer, PauthKey, PcType, ReturnAddress, Section, Version};

const VERSIONS: [Version; 3] = [Version::V1, Version::V2, Version::V3];

fn parse<'a>(bytes: &'a [u8]) -> Section<'a> {
    Section::parse(bytes, ADDRESS).expect("a sound section")
}

/// Returns the row for an instruction pointer as equations, or what there is instead.
fn rules(section: &Section<'_>, pc: u64) -> String {
    match section.lookup(InstructionPointer(pc)) {
        Ok(Some(found)) => found.row.to_string(),
        Ok(None) => "none".into(),
        Err(error) => error.to_string(),
    }
}

fn all_abis(version: Version) -> Vec<Abi> {
    // s390x came with errata 1 of version 2 (2.2.1).
    Abi::ALL.into_iter().filter(|abi| version != Version::V1 || *abi != Abi::S390x).collect()
}

/// 2.1, 2.2: every field of the header, in both byte orders.
#[test]
fn the_header_is_read_in_every_version_and_byte_order() {
    for version in VERSIONS {
        for abi in all_abis(version) {
            let mut builder = Builder::new(version, abi, &[function(0x1000, 4, &[fre(0, true, 1, &[8])])]);
            builder.fixed_fp = -16;
            builder.auxiliary = vec![1, 2, 3];
            let bytes = builder.bytes();
            let section = parse(&bytes);
            let header = section.header();
            assert_eq!((header.version, header.abi), (version, abi));
            assert_eq!(header.fixed_fp_offset, Some(-16));
            assert_eq!(header.fixed_ra_offset, (abi == Abi::Amd64).then_some(-8));
            assert_eq!((header.num_fdes, header.num_fres, header.auxhdr_len), (1, 1, 3));
            assert!(header.flags.sorted() && !header.flags.frame_pointer());
            // 2.2: the sub-sections count from the end of the auxiliary header.
            assert_eq!(header.end(), 31);
            assert_eq!(section.fde(0).map(|fde| (fde.start, fde.size)), Ok((0x1000, 4)), "{version} {abi}");
        }
    }
}

/// 2.3.1: relative to the section, or to the field itself. Functions lie on
/// either side of the section.
#[test]
fn start_addresses_are_relative_to_the_section_or_to_their_field() {
    let functions =
        [function(0x1000, 4, &[fre(0, true, 1, &[8])]), function(0x9_0000, 4, &[fre(0, true, 1, &[8])])];
    for (version, flags) in [
        (Version::V1, SORTED),
        (Version::V2, SORTED),
        (Version::V2, SORTED | PCREL),
        (Version::V3, 0),
        (Version::V3, PCREL),
    ] {
        for abi in all_abis(version) {
            let bytes = Builder::new(version, abi, &functions).flags(flags).bytes();
            let starts: Vec<_> = parse(&bytes).fdes().map(|fde| fde.expect("an FDE").start).collect();
            assert_eq!(starts, [0x1000, 0x9_0000], "{version} {abi} {flags}");
        }
    }
}

/// Version 1 does not have the flag; its bit means nothing there.
#[test]
fn version_1_ignores_the_pcrel_bit() {
    let mut bytes =
        Builder::new(Version::V1, Abi::Amd64, &[function(0x1000, 4, &[fre(0, true, 1, &[8])])]).bytes();
    bytes[3] |= PCREL;
    assert_eq!(parse(&bytes).fde(0).map(|fde| fde.start), Ok(0x1000));
}

/// 2.3.1: a start may be further away than 32 bits in version 3.
#[test]
fn version_3_reaches_the_whole_address_space() {
    let functions = [function(0xffff_ffff_8000_0000, 4, &[fre(0, true, 1, &[8])])];
    for flags in [0, PCREL] {
        let bytes = Builder::new(Version::V3, Abi::S390x, &functions).flags(flags).bytes();
        assert_eq!(parse(&bytes).fde(0).map(|fde| fde.start), Ok(0xffff_ffff_8000_0000));
    }
}

/// 2.3.3.3 and 2.4.1: all widths of row starts and of data words.
#[test]
fn row_starts_and_data_words_have_three_widths_each() {
    for version in VERSIONS {
        for abi in [Abi::Amd64, Abi::Aarch64Be] {
            for (fre_type, last_start) in [(0_u8, 0xf0), (1, 0xfff0), (2, 0xf_fff0)] {
                let big = |sp_based, width, offset| match abi {
                    Abi::Amd64 => fre(last_start, sp_based, width, &[offset, -16]),
                    _ => fre(last_start, sp_based, width, &[offset, -8, -16]),
                };
                for (width, offset) in
                    [(1, 127), (2, 32767), (4, i32::MAX), (1, -128), (2, -32768), (4, i32::MIN)]
                {
                    let rows = [fre(0, true, 1, &[16]), big(false, width, offset)];
                    let functions = [Function { info: fre_type, ..function(0x1000, 0x10_0000, &rows) }];
                    let bytes = Builder::new(version, abi, &functions).bytes();
                    let section = parse(&bytes);
                    let before = rules(&section, 0x1000 + u64::from(last_start) - 1);
                    assert!(before.starts_with("CFA = SP+16"), "{version} {abi} {before}");
                    let expected = format!("CFA = FP{offset:+}, RA = *(CFA-8), FP = *(CFA-16)");
                    assert_eq!(rules(&section, 0x1000 + u64::from(last_start)), expected, "{version} {abi}");
                }
            }
        }
    }
}

/// 2.1.3: sorted sections are searched by bisection, others linearly; the answers are the same,
/// at every boundary.
#[test]
fn sorted_and_unsorted_sections_give_the_same_answers() {
    let starts = [0x1000_u64, 0x1010, 0x1020, 0x1040, 0x1044, 0x2000];
    let functions: Vec<_> = starts
        .iter()
        .map(|start| function(*start, 0x10, &[fre(0, true, 1, &[8]), fre(4, true, 1, &[16])]))
        .collect();
    for version in VERSIONS {
        let sorted = Builder::new(version, Abi::Amd64, &functions).bytes();
        let mut shuffled = functions.clone();
        shuffled.swap(0, 4);
        shuffled.swap(1, 3);
        let unsorted = Builder::new(version, Abi::Amd64, &shuffled).flags(0).bytes();
        for pc in 0xff0..0x2020 {
            // 0x1040 and 0x1044 overlap, which a section must not do.
            if (0x1044..0x1050).contains(&pc) {
                continue;
            }
            let expected = starts.iter().find(|start| (**start..**start + 0x10).contains(&pc)).map(|start| {
                if pc - start < 4 {
                    "CFA = SP+8, RA = *(CFA-8), FP unchanged"
                } else {
                    "CFA = SP+16, RA = *(CFA-8), FP unchanged"
                }
            });
            let expected = expected.unwrap_or("none");
            assert_eq!(rules(&parse(&sorted), pc), expected, "{version} {pc:#x}");
            assert_eq!(rules(&parse(&unsorted), pc), expected, "{version} {pc:#x}");
        }
    }
}

/// Real sections have functions of size 0 that share their start with the next one.
#[test]
fn a_function_of_size_0_does_not_hide_the_one_it_shares_its_start_with() {
    let empty = function(0x1010, 0, &[fre(0, true, 1, &[32])]);
    let real = function(0x1010, 0x10, &[fre(0, true, 1, &[8])]);
    let first = function(0x1000, 0x10, &[fre(0, true, 1, &[16])]);
    for order in [[&first, &empty, &real], [&first, &real, &empty]] {
        for version in VERSIONS {
            let bytes = Builder::new(version, Abi::Amd64, &order.map(Clone::clone)).bytes();
            let section = parse(&bytes);
            assert!(rules(&section, 0x100f).starts_with("CFA = SP+16"));
            assert!(rules(&section, 0x1010).starts_with("CFA = SP+8,"));
            assert!(rules(&section, 0x101f).starts_with("CFA = SP+8,"));
            assert_eq!(rules(&section, 0x1020), "none");
        }
    }
}

/// A call that never returns can be the last instruction of its function.
#[test]
fn return_addresses_are_looked_up_by_the_call_before_them() {
    let functions =
        [function(0x1000, 0x10, &[fre(0, true, 1, &[16])]), function(0x1010, 0x10, &[fre(0, true, 1, &[8])])];
    for version in VERSIONS {
        let bytes = Builder::new(version, Abi::Amd64, &functions).bytes();
        let section = parse(&bytes);
        let start = |found: Result<Option<sframe_engine::Found>, Error>| {
            found.map(|found| found.map(|found| found.fde.start))
        };
        assert_eq!(start(section.lookup(InstructionPointer(0x1010))), Ok(Some(0x1010)));
        assert_eq!(start(section.lookup(ReturnAddress(0x1010))), Ok(Some(0x1000)));
        assert_eq!(start(section.lookup(ReturnAddress(0x1020))), Ok(Some(0x1010)));
        assert_eq!(start(section.lookup(ReturnAddress(0x1000))), Ok(None));
        assert_eq!(start(section.lookup(ReturnAddress(0))), Ok(None));
    }
}

fn plt(info: u8, rep_size: u8) -> Function {
    let rows = [fre(0, true, 1, &[8]), fre(11, true, 1, &[16])];
    Function { info, rep_size, ..function(0x1000, 0x40, &rows) }
}

/// 2.3.3.1: rows of a mask FDE repeat with each block.
#[test]
fn mask_rows_repeat_with_each_block() {
    for version in [Version::V2, Version::V3] {
        let bytes = Builder::new(version, Abi::Amd64, &[plt(0x10, 16)]).bytes();
        let section = parse(&bytes);
        assert_eq!(section.fde(0).map(|fde| (fde.pc_type, fde.rep_size)), Ok((PcType::Mask, Some(16))));
        for pc in 0x1000..0x1040 {
            let expected = if pc % 16 < 11 { "CFA = SP+8," } else { "CFA = SP+16," };
            assert!(rules(&section, pc).starts_with(expected), "{version} {pc:#x}");
        }
        assert_eq!(rules(&section, 0x1040), "none");
    }
}

/// The block counts from the function, not from address 0.
#[test]
fn mask_blocks_count_from_the_start_of_the_function() {
    let plt = Function { start: 0x1008, ..plt(0x10, 16) };
    let bytes = Builder::new(Version::V3, Abi::Amd64, &[plt]).bytes();
    let section = parse(&bytes);
    assert!(rules(&section, 0x1008 + 16 + 10).starts_with("CFA = SP+8,"));
    assert!(rules(&section, 0x1008 + 16 + 11).starts_with("CFA = SP+16,"));
}

/// Version 1, 1.3.2: without a block size, the row's start is the mask.
#[test]
fn mask_rows_of_version_1_are_masks_themselves() {
    let bytes = Builder::new(Version::V1, Abi::Amd64, &[plt(0x10, 0)]).bytes();
    let section = parse(&bytes);
    assert_eq!(section.fde(0).map(|fde| fde.rep_size), Ok(None));
    for entry in 0..4 {
        // The instructions of a PLT entry: jmp, push, jmp.
        for (offset, expected) in [(0, "CFA = SP+8,"), (6, "CFA = SP+8,"), (11, "CFA = SP+16,")] {
            let pc = 0x1000 + entry * 16 + offset;
            assert!(rules(&section, pc).starts_with(expected), "{pc:#x}");
        }
    }
}

/// 3.1: what the data words mean, by ABI and number.
#[test]
fn default_rows_mean_what_their_abi_says() {
    for version in VERSIONS {
        for (abi, words, expected) in [
            (Abi::Amd64, &[16][..], "CFA = SP+16, RA = *(CFA-8), FP unchanged"),
            (Abi::Amd64, &[16, -16], "CFA = SP+16, RA = *(CFA-8), FP = *(CFA-16)"),
            (Abi::Aarch64, &[0], "CFA = SP, RA unchanged, FP unchanged"),
            (Abi::Aarch64, &[32, -24, -32], "CFA = SP+32, RA = *(CFA-24), FP = *(CFA-32)"),
            (Abi::Aarch64Be, &[32, -24, -32], "CFA = SP+32, RA = *(CFA-24), FP = *(CFA-32)"),
        ] {
            let functions = [function(0x1000, 4, &[fre(0, true, 1, words)])];
            let bytes = Builder::new(version, abi, &functions).bytes();
            assert_eq!(rules(&parse(&bytes), 0x1000), expected, "{version}");
        }
    }
}

/// 3.1.3: CFA offsets are adjusted by 160 and scaled by 8; an RA word of 0 says that RA has not
/// moved.
#[test]
fn s390x_scales_the_cfa_and_may_leave_ra_unsaved() {
    for version in [Version::V2, Version::V3] {
        for (width, words, expected) in [
            (1, &[0][..], "CFA = SP+160, RA unchanged, FP unchanged"),
            (1, &[20, -48], "CFA = SP+320, RA = *(CFA-48), FP unchanged"),
            (1, &[20, -48, -72], "CFA = SP+320, RA = *(CFA-48), FP = *(CFA-72)"),
            (1, &[20, 0, -72], "CFA = SP+320, RA unchanged, FP = *(CFA-72)"),
            // The real offset needs more than 32 bits.
            (4, &[i32::MAX], "CFA = SP+17179869336, RA unchanged, FP unchanged"),
        ] {
            let functions = [function(0x1000, 4, &[fre(0, true, width, words)])];
            let bytes = Builder::new(version, Abi::S390x, &functions).bytes();
            assert_eq!(rules(&parse(&bytes), 0x1000), expected, "{version}");
        }
    }
}

/// Version 2 errata 1: an odd word names a register. Version 3 has flex FDEs for that.
#[test]
fn s390x_of_version_2_saves_ra_and_fp_in_registers() {
    let functions = [function(0x1000, 4, &[fre(0, true, 1, &[0, 17 << 1 | 1, 16 << 1 | 1])])];
    let bytes = Builder::new(Version::V2, Abi::S390x, &functions).bytes();
    assert_eq!(rules(&parse(&bytes), 0x1000), "CFA = SP+160, RA = r17, FP = r16");
    let bytes = Builder::new(Version::V3, Abi::S390x, &functions).bytes();
    assert_eq!(rules(&parse(&bytes), 0x1000), "CFA = SP+160, RA = *(CFA+35), FP = *(CFA+33)");
}

/// Version 2 errata 2, and 2.4.1: no data words, no return address.
#[test]
fn a_row_without_data_words_has_no_return_address() {
    for version in [Version::V2, Version::V3] {
        for abi in Abi::ALL {
            let functions = [function(0x1000, 8, &[fre(0, true, 1, &[]), fre(4, true, 1, &[8])])];
            let bytes = Builder::new(version, abi, &functions).bytes();
            let section = parse(&bytes);
            assert_eq!(rules(&section, 0x1003), "RA undefined");
            assert!(rules(&section, 0x1004).starts_with("CFA = SP"));
        }
    }
}

/// 1.2: an FDE of default type without rows is an outermost frame.
#[test]
fn a_function_without_rows_is_outermost_in_version_3_only() {
    let functions = [function(0x1000, 8, &[])];
    let bytes = Builder::new(Version::V3, Abi::Aarch64, &functions).bytes();
    let found = parse(&bytes).lookup(InstructionPointer(0x1007)).expect("sound").expect("an FDE");
    assert!(found.fde.outermost && found.row.is_outermost());
    assert_eq!(found.row_index, None);
    for version in [Version::V1, Version::V2] {
        let bytes = Builder::new(version, Abi::Aarch64, &functions).bytes();
        let section = parse(&bytes);
        assert!(section.lookup_fde(InstructionPointer(0x1000)).expect("sound").is_some());
        assert_eq!(rules(&section, 0x1000), "none");
    }
    let flex = [Function { info2: 1, ..function(0x1000, 8, &[]) }];
    let bytes = Builder::new(Version::V3, Abi::Aarch64, &flex).bytes();
    assert_eq!(rules(&parse(&bytes), 0x1000), "none", "only default FDEs mark");
}

/// 2.3.3: the bits of the info byte, in the versions that have them.
#[test]
fn signal_and_pauth_bits_are_read() {
    let row = Fre { info: 0x80 | 3 << 1 | 1, ..fre(0, true, 1, &[16, -8, -16]) };
    let functions = [Function { info: 0x80 | 0x20, ..function(0x1000, 8, &[row]) }];
    for version in VERSIONS {
        let bytes = Builder::new(version, Abi::Aarch64, &functions).bytes();
        let section = parse(&bytes);
        let fde = section.fde(0).expect("an FDE");
        assert_eq!(fde.pauth_key, PauthKey::B);
        assert_eq!(fde.signal, version == Version::V3);
        assert_eq!(rules(&section, 0x1000), "CFA = SP+16, RA = *(CFA-8) (mangled), FP = *(CFA-16)");
    }
}

/// 3.2: pairs of control word and offset; a 0 stands for a pair.
#[test]
fn flex_rows_are_pairs_of_control_word_and_offset() {
    const RBP: i32 = 6 << 3 | 1;
    const DEREFERENCE: i32 = 2;
    for (abi, width, words, expected) in [
        (Abi::Amd64, 1, &[10 << 3 | 1, 0][..], "CFA = r10, RA = *(CFA-8), FP unchanged"),
        (
            Abi::Amd64,
            1,
            &[RBP | DEREFERENCE, -8, 0, RBP | DEREFERENCE, 0],
            "CFA = *(FP-8), RA = *(CFA-8), FP = *(FP)",
        ),
        // After a pair for RA, FP is word 4 (the text; appendix A swaps the branches).
        (
            Abi::Amd64,
            1,
            &[RBP, 16, DEREFERENCE, -24, DEREFERENCE, -32],
            "CFA = FP+16, RA = *(CFA-24), FP = *(CFA-32)",
        ),
        (Abi::Amd64, 2, &[7 << 3 | 1, 300, 0], "CFA = SP+300, RA = *(CFA-8), FP unchanged"),
        // RA = *(CFA+0) can be written: only the whole control word 0 is padding.
        (Abi::Amd64, 1, &[RBP, 16, DEREFERENCE, 0], "CFA = FP+16, RA = *(CFA), FP unchanged"),
        // s390x: adjusted and scaled for any base register, RA and FP in registers.
        (
            Abi::S390x,
            1,
            &[15 << 3 | 1, 0, 14 << 3 | 1, 0, 16 << 3 | 1, 0],
            "CFA = SP+160, RA = r14, FP = r16",
        ),
        (Abi::S390x, 2, &[9 << 3 | 1, 2, 0, 17 << 3 | 1, 0], "CFA = r9+176, RA unchanged, FP = r17"),
        // A control word is unsigned: 1 byte reaches register 31.
        (Abi::S390x, 1, &[(31 << 3 | 1) - 256, 0], "CFA = r31+160, RA unchanged, FP unchanged"),
    ] {
        let functions = [Function { info2: 1, ..function(0x1000, 8, &[fre(0, true, width, words)]) }];
        let bytes = Builder::new(Version::V3, abi, &functions).bytes();
        assert_eq!(rules(&parse(&bytes), 0x1000), expected);
    }
}

/// The last row may start at or past the end of its function, and rows may repeat.
#[test]
fn rows_that_cover_nothing_are_listed_but_never_found() {
    let rows =
        [fre(0, true, 1, &[8]), fre(4, true, 1, &[16]), fre(4, true, 1, &[24]), fre(8, true, 1, &[32])];
    for version in VERSIONS {
        let bytes = Builder::new(version, Abi::Amd64, &[function(0x1000, 8, &rows)]).bytes();
        let section = parse(&bytes);
        let fde = section.fde(0).expect("an FDE");
        let empty: Vec<_> = section.rows(&fde).map(|row| row.expect("a row").is_empty()).collect();
        assert_eq!(empty, [false, true, false, true]);
        assert!(rules(&section, 0x1007).starts_with("CFA = SP+24"));
        assert_eq!(rules(&section, 0x1008), "none");
    }
}

/// Bytes after what the header accounts for are padding.
#[test]
fn a_section_may_be_longer_than_its_header_says() {
    let mut bytes =
        Builder::new(Version::V3, Abi::Amd64, &[function(0x1000, 4, &[fre(0, true, 1, &[8])])]).bytes();
    bytes.extend([0; 7]);
    assert!(rules(&parse(&bytes), 0x1000).starts_with("CFA = SP+8"));
}

/// 2.2: a header accounts for one section. What follows is another section, whose offsets count
/// from its own start.
#[test]
fn a_section_that_follows_another_one_is_read_at_its_own_address() {
    for (version, abi) in
        [(Version::V1, Abi::Aarch64Be), (Version::V2, Abi::Amd64), (Version::V3, Abi::S390x)]
    {
        let first = Builder::new(version, abi, &[function(0x1000, 4, &[fre(0, true, 1, &[8])])]).bytes();
        let padding = vec![0; first.len().next_multiple_of(8) - first.len()];
        let address = ADDRESS + (first.len() + padding.len()) as u64;
        let second = Builder {
            address,
            ..Builder::new(version, abi, &[function(0x2000, 4, &[fre(0, true, 1, &[16])])])
        };
        let bytes = [&first[..], &padding, &second.bytes()].concat();
        let section = parse(&bytes);
        let following = section.following().expect("another section");
        assert_eq!(following.address(), address, "{version} {abi}");
        assert_eq!(following.fde(0).map(|fde| fde.start), Ok(0x2000), "{version} {abi}");
        assert!(following.following().is_none());
        // Readers use the first header.
        assert_eq!(rules(&section, 0x2000), "none");
        assert!(parse(&first).following().is_none());
        // Bytes that belong to none may be between them.
        let junk = [0x5a; 13];
        let bytes_behind = [&first[..], &junk, &second.bytes()].concat();
        let behind = parse(&bytes_behind).following().expect("another section");
        assert_eq!(behind.address(), ADDRESS + (first.len() + junk.len()) as u64, "{version} {abi}");
        assert!(parse(&[&first[..], &junk].concat()).following().is_none());
        assert!(parse(&bytes[..bytes.len() - 1]).following().is_none(), "a truncated section");
    }
}
