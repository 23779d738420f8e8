use std::fmt::Write as _;

use rstest::rstest;

use super::*;
use sframe_elf::cfi::CfiInput;

const ADVANCE: u8 = 0x40;
const OFFSET: u8 = 0x80;
const SET_LOC: u8 = 0x01;
const ADVANCE_LOC4: u8 = 0x04;
const UNDEFINED: u8 = 0x07;
const SAME_VALUE: u8 = 0x08;
const REGISTER: u8 = 0x09;
const DEF_CFA: u8 = 0x0c;
const DEF_CFA_OFFSET: u8 = 0x0e;
const DEF_CFA_EXPRESSION: u8 = 0x0f;
const EXPRESSION: u8 = 0x10;
const VAL_OFFSET: u8 = 0x14;
const VAL_EXPRESSION: u8 = 0x16;
const NEGATE_RA_STATE: u8 = 0x2d;

/// The CFA of PLT entries: `rsp + 8 + ((rip & 15) >= 11) * 8`, as GNU ld writes it.
const OF_PLT: [u8; 13] = [DEF_CFA_EXPRESSION, 11, 0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22];

/// An FDE: start, size, augmentation of its CIE, instructions.
type Entry<'a> = (u64, u64, &'a str, &'a [u8]);

/// Returns a section of CIE and FDE pairs. Offsets are in units of -8, and each
/// function begins with the CFA that its ABI's calls leave.
fn eh_frame(abi: Abi, entries: &[Entry<'_>]) -> Vec<u8> {
    frame(abi, entries, CfiSection::EhFrame)
}

fn frame(abi: Abi, entries: &[Entry<'_>], of: CfiSection) -> Vec<u8> {
    let is_little = abi.byte_order() == ByteOrder::Little;
    let number = |width: usize, value: u64| -> Vec<u8> {
        if is_little {
            value.to_le_bytes()[..width].to_vec()
        } else {
            value.to_be_bytes()[8 - width..].to_vec()
        }
    };
    let byte = |number: u32| u8::try_from(number).expect("a byte");
    let (ra, cfa) = (byte(abi.ra_column().0), abi.cfa_offset_at_entry());
    let [low, high] = [cfa & 0x7f | 0x80, cfa >> 7].map(|part| u8::try_from(part).expect("a byte"));
    let mut initial = vec![DEF_CFA, byte(abi.sp().0), low, high];
    if abi.fixed_ra_offset().is_some() {
        initial.extend([OFFSET | ra, 1]);
    }
    let mut section = Vec::new();
    let add = |section: &mut Vec<u8>, id: u64, rest: &[&[u8]]| {
        let mut body = number(4, id);
        body.extend(rest.concat());
        body.resize(body.len().next_multiple_of(8) + 4, 0);
        section.extend(number(4, body.len() as u64));
        section.extend(body);
    };
    for (start, size, augmentation, instructions) in entries {
        let cie = section.len();
        let id = if of == CfiSection::EhFrame { 0 } else { 0xffff_ffff };
        add(&mut section, id, &[&[1], augmentation.as_bytes(), &[0, 1, 0x78, ra, 0], &initial]);
        let back = if of == CfiSection::EhFrame { section.len() + 4 - cie } else { cie } as u64;
        add(&mut section, back, &[&number(8, *start), &number(8, *size), &[0], instructions]);
    }
    section
}

fn synthesize(abi: Abi, version: Version, entries: &[Entry<'_>]) -> Synthesized {
    let input = CfiInput {
        abi,
        eh_frame: Some((eh_frame(abi, entries), 0)),
        debug_frame: None,
        errors: Vec::new(),
        text: 0,
        got: 0,
    };
    let cfi = CallFrameInfo::read(input);
    assert_eq!(cfi.errors(), []);
    let implication = Synthesis {
        cfi: &cfi,
        abi,
        executable: &[0..0x10, 0x100..1 << 62],
        version,
        byte_order: abi.byte_order(),
    };
    let implied = implication.synthesize().expect("an ABI of the version");
    // What is reported as expressible can be written.
    implied.section.write(0x1000).expect("a section");
    implied
}

/// Returns functions and their rows, as one text.
fn text(implied: &Synthesized) -> String {
    let mut text = String::new();
    for function in &implied.section.functions {
        let _ = write!(text, "{:#x}+{:#x}", function.start, function.size);
        if function.pc_type == PcType::Mask {
            let _ = write!(text, " mask {}", function.rep_size.unwrap_or(0));
        }
        for (is_so, name) in [
            (function.fde_type == FdeType::Flex, " flex"),
            (function.signal, " signal"),
            (function.pauth_key == PauthKey::B, " key B"),
        ] {
            text += if is_so { name } else { "" };
        }
        for row in &function.rows {
            let _ = write!(text, " | {:#x} {row}", row.start);
        }
        text += "\n";
    }
    for left_out in &implied.left_out {
        for Unsupported { row, reason } in &left_out.refusals {
            let _ = write!(text, "no {:#x}", left_out.range.start);
            if let Some(row) = row {
                let _ = write!(text, " row {} at {:#x}", row.index, row.address);
            }
            let _ = writeln!(text, ": {reason}");
        }
    }
    text
}

/// What one function at 0x100, of 0x20 bytes, becomes in versions 1 (except for
/// s390x), 2 and 3.
#[rstest]
#[case::rules_of_the_entry(Abi::Amd64, "z", &[], [
    "0x100+0x20 | 0x0 CFA = SP+8, RA = *(CFA-8), FP unchanged"; 3])]
#[case::equal_rows_are_one(Abi::Amd64, "z",
    &[ADVANCE | 1, OFFSET | 3, 2, ADVANCE | 1, DEF_CFA, 7, 16, ADVANCE | 1, DEF_CFA, 7, 16], [
    "0x100+0x20 | 0x0 CFA = SP+8, RA = *(CFA-8), FP unchanged | 0x2 CFA = SP+16, RA = *(CFA-8), FP unchanged"; 3])]
#[case::undefined_ra(Abi::Amd64, "z", &[UNDEFINED, 16], [
    "no 0x100 row 0 at 0x100: version 1 can't express an undefined RA",
    "0x100+0x20 | 0x0 RA undefined",
    "0x100+0x20"])]
#[case::undefined_for_a_while(Abi::Aarch64, "z", &[ADVANCE | 4, UNDEFINED, 30, ADVANCE | 4, SAME_VALUE, 30], [
    "no 0x100 row 1 at 0x104: version 1 can't express an undefined RA",
    "0x100+0x20 | 0x0 CFA = SP, RA unchanged, FP unchanged | 0x4 RA undefined | 0x8 CFA = SP, RA unchanged, FP unchanged",
    "0x100+0x20 | 0x0 CFA = SP, RA unchanged, FP unchanged | 0x4 RA undefined | 0x8 CFA = SP, RA unchanged, FP unchanged"])]
#[case::undefined_fp(Abi::Amd64, "z", &[ADVANCE | 1, UNDEFINED, 6], [
    "no 0x100 row 1 at 0x101: no version can express an undefined FP"; 3])]
#[case::unchanged_ra_of_amd64(Abi::Amd64, "z", &[SAME_VALUE, 16], [
    "no 0x100 row 0 at 0x100: a default FDE can't express this RA rule",
    "no 0x100 row 0 at 0x100: a default FDE can't express this RA rule",
    "no 0x100 row 0 at 0x100: a flex FDE can't express one of the rules"])]
#[case::ra_in_register(Abi::Amd64, "z", &[REGISTER, 16, 11], [
    "no 0x100 row 0 at 0x100: a default FDE can't express this RA rule",
    "no 0x100 row 0 at 0x100: a default FDE can't express this RA rule",
    "0x100+0x20 flex | 0x0 CFA = SP+8, RA = r11, FP unchanged"])]
#[case::fp_is_the_cfa(Abi::Amd64, "z", &[VAL_OFFSET, 6, 0], [
    "no 0x100 row 0 at 0x100: a default FDE can't express this FP rule",
    "no 0x100 row 0 at 0x100: a default FDE can't express this FP rule",
    "0x100+0x20 flex | 0x0 CFA = SP+8, RA = *(CFA-8), FP = SP+8"])]
#[case::fp_where_fp_points(Abi::Amd64, "z", &[DEF_CFA, 6, 16, EXPRESSION, 6, 2, 0x76, 0], [
    "0x100+0x20 | 0x0 CFA = FP+16, RA = *(CFA-8), FP = *(CFA-16)"; 3])]
#[case::fp_is_fp(Abi::Amd64, "z", &[DEF_CFA, 6, 16, VAL_OFFSET, 6, 2], [
    "0x100+0x20 | 0x0 CFA = FP+16, RA = *(CFA-8), FP unchanged"; 3])]
#[case::cfa_in_register_and_memory(Abi::Amd64, "z",
    &[DEF_CFA, 10, 0, ADVANCE | 4, DEF_CFA_EXPRESSION, 3, 0x76, 0x78, 0x06], [
    "no 0x100 row 0 at 0x100: a default FDE can't express this CFA rule\nno 0x100 row 1 at 0x104: a default FDE can't express this CFA rule",
    "no 0x100 row 0 at 0x100: a default FDE can't express this CFA rule\nno 0x100 row 1 at 0x104: a default FDE can't express this CFA rule",
    "0x100+0x20 flex | 0x0 CFA = r10, RA = *(CFA-8), FP unchanged | 0x4 CFA = *(FP-8), RA = *(CFA-8), FP unchanged"])]
// DW_OP_lit0, and DW_OP_breg6 0, DW_OP_breg7 0, DW_OP_plus.
#[case::constant(Abi::Amd64, "z", &[DEF_CFA_EXPRESSION, 1, 0x30], [
    "no 0x100 row 0 at 0x100: CFA = a constant"; 3])]
#[case::sum_of_registers(Abi::Amd64, "z", &[VAL_EXPRESSION, 6, 5, 0x76, 0, 0x77, 0, 0x22], [
    "no 0x100 row 0 at 0x100: FP = a DWARF expression other than a register plus an offset"; 3])]
#[case::sp_is_the_cfa(Abi::Amd64, "z", &[VAL_OFFSET, 7, 0], [
    "0x100+0x20 | 0x0 CFA = SP+8, RA = *(CFA-8), FP unchanged"; 3])]
#[case::sp_is_not_the_cfa(Abi::Amd64, "z", &[VAL_OFFSET, 7, 1], [
    "no 0x100 row 0 at 0x100: the caller's SP is not the one that the CFA implies"; 3])]
#[case::sp_is_saved(Abi::Aarch64, "z", &[OFFSET | 31, 2], [
    "no 0x100 row 0 at 0x100: the caller's SP is not the one that the CFA implies"; 3])]
#[case::sp_is_the_same(Abi::Aarch64Be, "z", &[SAME_VALUE, 31], [
    "0x100+0x20 | 0x0 CFA = SP, RA unchanged, FP unchanged"; 3])]
#[case::sp_is_the_same_and_not_the_cfa(Abi::Aarch64, "z", &[SAME_VALUE, 31, DEF_CFA, 31, 16], [
    "no 0x100 row 0 at 0x100: the caller's SP is not the one that the CFA implies"; 3])]
#[case::frame_record(Abi::Aarch64Be, "z", &[ADVANCE | 4, DEF_CFA, 31, 16, OFFSET | 29, 2, OFFSET | 30, 1], [
    "0x100+0x20 | 0x0 CFA = SP, RA unchanged, FP unchanged | 0x4 CFA = SP+16, RA = *(CFA-8), FP = *(CFA-16)"; 3])]
#[case::ra_without_fp(Abi::Aarch64, "z", &[OFFSET | 30, 1], [
    "0x100+0x20 | 0x0 CFA = SP, RA = *(CFA-8), FP unchanged"; 3])]
#[case::fp_without_ra(Abi::Aarch64, "z", &[OFFSET | 29, 1], [
    "no 0x100 row 0 at 0x100: a default FDE can't express this RA rule",
    "no 0x100 row 0 at 0x100: a default FDE can't express this RA rule",
    "0x100+0x20 flex | 0x0 CFA = SP, RA unchanged, FP = *(CFA-8)"])]
#[case::signed(Abi::Aarch64, "z", &[ADVANCE | 4, NEGATE_RA_STATE], [
    "0x100+0x20 | 0x0 CFA = SP, RA unchanged, FP unchanged | 0x4 CFA = SP, RA unchanged (mangled), FP unchanged"; 3])]
#[case::key_b(Abi::Aarch64Be, "zB", &[], [
    "0x100+0x20 key B | 0x0 CFA = SP, RA unchanged, FP unchanged"; 3])]
#[case::signal(Abi::Aarch64, "zS", &[], [
    "no 0x100: version 1 can't mark a signal frame",
    "no 0x100: version 2 can't mark a signal frame",
    "0x100+0x20 signal | 0x0 CFA = SP, RA unchanged, FP unchanged"])]
#[case::outermost_signal(Abi::Amd64, "zS", &[UNDEFINED, 16], [
    "no 0x100: version 1 can't mark a signal frame",
    "no 0x100: version 2 can't mark a signal frame",
    "0x100+0x20 signal | 0x0 RA undefined"])]
#[case::saved_fpr(Abi::S390x, "z", &[REGISTER, 14, 16, REGISTER, 15, 17], [
    "",
    "0x100+0x20 | 0x0 CFA = SP+160, RA = r16, FP unchanged",
    "0x100+0x20 flex | 0x0 CFA = SP+160, RA = r16, FP unchanged"])]
#[case::saved_fp_only(Abi::S390x, "z", &[OFFSET | 11, 9, OFFSET | 15, 5], [
    "",
    "0x100+0x20 | 0x0 CFA = SP+160, RA unchanged, FP = *(CFA-72)",
    "0x100+0x20 | 0x0 CFA = SP+160, RA unchanged, FP = *(CFA-72)"])]
#[case::sp_160_below(Abi::S390x, "z", &[VAL_OFFSET, 15, 20], [
    "",
    "0x100+0x20 | 0x0 CFA = SP+160, RA unchanged, FP unchanged",
    "0x100+0x20 | 0x0 CFA = SP+160, RA unchanged, FP unchanged"])]
#[case::sp_not_160_below(Abi::S390x, "z", &[VAL_OFFSET, 15, 0], [
    "",
    "no 0x100 row 0 at 0x100: the caller's SP is not the one that the CFA implies",
    "no 0x100 row 0 at 0x100: the caller's SP is not the one that the CFA implies"])]
#[case::cfa_that_scaling_loses(Abi::S390x, "z", &[DEF_CFA, 15, 0xa4, 1], [
    "",
    "no 0x100 row 0 at 0x100: the offset 164 can't be encoded",
    "no 0x100 row 0 at 0x100: the offset 164 can't be encoded"])]
fn a_function_says_what_the_information_does(
    #[case] abi: Abi,
    #[case] augmentation: &str,
    #[case] instructions: &[u8],
    #[case] expected: [&str; 3],
) {
    for (version, expected) in [Version::V1, Version::V2, Version::V3].into_iter().zip(expected) {
        if abi != Abi::S390x || version != Version::V1 {
            let implied = synthesize(abi, version, &[(0x100, 0x20, augmentation, instructions)]);
            assert_eq!(text(&implied).trim_end(), expected, "version {version}");
        }
    }
}

#[test]
fn a_table_of_equal_entries_is_a_block_that_repeats() {
    let first: &[u8] = &[DEF_CFA, 7, 16, ADVANCE | 6, DEF_CFA, 7, 24, ADVANCE | 10];
    let table = [first, &OF_PLT].concat();
    let entries: &[Entry<'_>] = &[(0x100, 0x40, "z", &table)];
    let of_first = "0x100+0x10 | 0x0 CFA = SP+16, RA = *(CFA-8), FP unchanged | 0x6 CFA = SP+24, RA = *(CFA-8), FP unchanged";
    let block = "mask 16 | 0x0 CFA = SP+8, RA = *(CFA-8), FP unchanged | 0xb CFA = SP+16, RA = *(CFA-8), FP unchanged";
    for version in [Version::V2, Version::V3] {
        assert_eq!(
            text(&synthesize(Abi::Amd64, version, entries)),
            format!("{of_first}\n0x110+0x30 {block}\n")
        );
    }
    // No block size, a single entry, or one that does not begin where the address says.
    let starts = |version, start, size, instructions: &[u8]| {
        let implied = synthesize(Abi::Amd64, version, &[(start, size, "z", instructions)]);
        let [function] = &implied.section.functions[..] else { panic!("{}", text(&implied)) };
        assert_eq!(function.pc_type, PcType::Inc);
        function.rows.iter().map(|row| row.start).collect::<Vec<_>>()
    };
    assert_eq!(starts(Version::V1, 0x100, 0x40, &table), [0, 6, 16, 27, 32, 43, 48, 59]);
    assert_eq!(starts(Version::V2, 0x100, 0x20, &table), [0, 6, 16, 27]);
    assert_eq!(starts(Version::V3, 0x108, 0x20, &OF_PLT), [0, 3, 8, 19, 24]);
    assert_eq!(starts(Version::V3, 0x100, 0x2c, &OF_PLT), [0, 11, 16, 27, 32, 43]);
}

#[test]
fn the_overlapping_fde_that_starts_last_counts() {
    let cfa: &[&[u8]] =
        &[&[DEF_CFA, 7, 16], &[DEF_CFA, 7, 24], &[ADVANCE | 8, DEF_CFA, 7, 32], &[DEF_CFA, 7, 40], &[]];
    let entries = [
        (0x100, 0x40, "z", cfa[0]),
        (0x110, 0x10, "z", cfa[1]),
        (0x130, 0x20, "z", cfa[2]),
        (0x130, 0x18, "z", cfa[3]),
        (0x138, 0x4, "z", cfa[4]),
    ];
    let implied = synthesize(Abi::Amd64, Version::V3, &entries);
    let rest = ", RA = *(CFA-8), FP unchanged";
    let expected = [
        "0x100+0x10 | 0x0 CFA = SP+16",
        "0x110+0x10 | 0x0 CFA = SP+24",
        "0x120+0x10 | 0x0 CFA = SP+16",
        "0x130+0x8 | 0x0 CFA = SP+8",
        "0x138+0x4 | 0x0 CFA = SP+8",
        "0x13c+0x14 | 0x0 CFA = SP+32",
    ];
    let expected: String = expected.iter().map(|line| format!("{line}{rest}\n")).collect();
    assert_eq!(text(&implied), format!("{expected}no 0x130: other FDEs cover the code\n"));
    assert_eq!(implied.fdes, 5);
}

#[test]
fn what_no_section_has_room_for_is_left_out() {
    let reason = |entry: Entry<'_>| {
        let implied = synthesize(Abi::Amd64, Version::V2, &[(0x100, 0x10, "z", &[]), entry]);
        assert_eq!(implied.section.functions.len(), 1, "the other function");
        text(&implied).lines().last().unwrap_or_default().to_owned()
    };
    let far = 1_u64 << 40;
    assert_eq!(
        reason((far, 1 << 32, "z", &[])),
        format!("no {far:#x}: 4294967296 bytes of code don't fit in 32 bits")
    );
    let too_many = format!("no {far:#x}: expressions would have to be evaluated at too many addresses");
    assert_eq!(reason((far, 1 << 26, "z", &OF_PLT)), too_many);
    // There would be too many rows within the limit.
    assert_eq!(reason((far + 8, 1 << 24, "z", &OF_PLT)), too_many.replacen("00:", "08:", 1));
    assert_eq!(reason((0x8, 0x10, "z", &[])), "no 0x8: the code is in no executable segment");
    assert_eq!(reason((0x90, 0x80, "z", &[])), "no 0x90: the code is in no executable segment");
    let malformed = reason((0x200, 0x10, "z", &[SET_LOC, 0, 0, 0, 0, 0, 0, 0, 0]));
    assert!(malformed.starts_with("no 0x200: the FDE at offset "), "{malformed}");

    // As many rows as version 3 can count, and one more.
    for (count, kept) in [(0xffff, 1), (0x1_0000, 0)] {
        let instructions: Vec<u8> = (1..count)
            .flat_map(|index: u32| [ADVANCE | 1, DEF_CFA, 7, if index.is_multiple_of(2) { 8 } else { 16 }])
            .collect();
        let implied = synthesize(Abi::Amd64, Version::V3, &[(0x100, 0x2_0000, "z", &instructions)]);
        assert_eq!(implied.section.functions.len(), kept);
        assert_eq!(implied.left_out.len(), 1 - kept);
    }
}

/// As wide as the last row needs, whatever the size of the function.
#[test]
fn starts_of_rows_are_as_narrow_as_can_be() {
    for (last, expected) in [
        (0xff_u32, FreType::Addr1),
        (0x100, FreType::Addr2),
        (0xffff, FreType::Addr2),
        (0x1_0000, FreType::Addr4),
    ] {
        let mut instructions = vec![ADVANCE_LOC4];
        instructions.extend(last.to_le_bytes());
        instructions.extend([DEF_CFA, 7, 16]);
        let implied = synthesize(Abi::Amd64, Version::V2, &[(0x100, 0x10_0000, "z", &instructions)]);
        assert_eq!(implied.section.functions[0].fre_type, Some(expected), "{last:#x}");
        assert_eq!(implied.section.functions[0].rows[1].start, last);
    }
}

/// `.debug_frame` counts where `.eh_frame` says nothing, whatever it says elsewhere.
#[test]
fn both_sections_are_merged() {
    let functions = |eh_frame: &[(u64, u64)], debug_frame: &[(u64, u64)]| {
        let entries = |ranges: &[(u64, u64)], of, offset: u8| {
            // So that each section has its rows.
            let instructions = [DEF_CFA_OFFSET, offset];
            let entries: Vec<Entry<'_>> =
                ranges.iter().map(|(start, size)| (*start, *size, "", &instructions[..])).collect();
            frame(Abi::Amd64, &entries, of)
        };
        let cfi = CallFrameInfo::read(CfiInput {
            abi: Abi::Amd64,
            eh_frame: Some((entries(eh_frame, CfiSection::EhFrame, 16), 0)).filter(|_| !eh_frame.is_empty()),
            debug_frame: Some(entries(debug_frame, CfiSection::DebugFrame, 32))
                .filter(|_| !debug_frame.is_empty()),
            errors: Vec::new(),
            text: 0,
            got: 0,
        });
        assert_eq!(cfi.errors(), []);
        let implication = Synthesis {
            cfi: &cfi,
            abi: Abi::Amd64,
            executable: std::slice::from_ref(&(0..1 << 62)),
            version: Version::V2,
            byte_order: ByteOrder::Little,
        };
        let made = implication.synthesize().expect("a section");
        assert_eq!((made.left_out, made.fdes), (Vec::new(), made.section.functions.len()));
        let cfa = |function: &Function| function.rows[0].cfa.expect("a CFA").offset;
        made.section.functions.iter().map(|it| (it.start, it.size, cfa(it))).collect::<Vec<_>>()
    };
    let both = [(0x100, 0x20), (0x200, 0x10)];
    assert_eq!(functions(&both, &both), [(0x100, 0x20, 16), (0x200, 0x10, 16)]);
    assert_eq!(functions(&both[..1], &both), [(0x100, 0x20, 16), (0x200, 0x10, 32)]);
    assert_eq!(functions(&[], &both), [(0x100, 0x20, 32), (0x200, 0x10, 32)]);
    // One that begins or ends elsewhere is about the same code.
    assert_eq!(functions(&[(0x100, 0x20)], &[(0x110, 0x20), (0xf0, 0x20)]), [(0x100, 0x20, 16)]);
    assert_eq!(functions(&[(0x100, 0x20)], &[(0x120, 8)]), [(0x100, 0x20, 16), (0x120, 8, 32)]);
}
