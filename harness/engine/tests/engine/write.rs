//! Writing: what each version can't express is refused by name, and widths
//! are the smallest that fit.

use std::collections::BTreeMap;

use sframe_engine::lint::{Linkage, Severity, lint};
use sframe_engine::write::{Function, Layout, Section, Target, WriteError, WriteErrorKind};
use sframe_engine::{
    Abi, Base, ByteOrder, DataWordSize, DwarfRegister, FdeType, Flags, FreType, PauthKey, PcType,
};
use sframe_engine::{Recovery, RecoveryRule, Row, Version};

const VERSIONS: [Version; 3] = [Version::V1, Version::V2, Version::V3];

fn rule(base: Base, offset: i64, dereference: bool) -> RecoveryRule {
    RecoveryRule { base, offset, dereference }
}

fn at_cfa(offset: i64) -> Recovery {
    Recovery::Rule(rule(Base::Cfa, offset, true))
}

/// A row for the ABI's first instruction, whose CFA is `offset` bytes above SP.
fn row(abi: Abi, start: u32, offset: i64) -> Row {
    Row {
        start,
        end: 0,
        cfa: Some(rule(Base::Sp, offset, false)),
        ra: if abi == Abi::Amd64 { at_cfa(-8) } else { Recovery::Unchanged },
        fp: Recovery::Unchanged,
        mangled_ra: false,
    }
}

fn function(rows: &[Row]) -> Function {
    Function {
        start: 0x1000,
        size: 0x40,
        fre_type: None,
        pc_type: PcType::Inc,
        fde_type: FdeType::Default,
        pauth_key: PauthKey::A,
        signal: false,
        rep_size: Some(0),
        rows_position: 0,
        rows: rows.to_vec(),
        wide_rows: BTreeMap::new(),
    }
}

fn section(version: Version, abi: Abi, functions: &[Function]) -> Section {
    let mut functions = functions.to_vec();
    if version == Version::V1 {
        functions.iter_mut().for_each(|function| function.rep_size = None);
    }
    Section {
        version,
        flags: Flags(1),
        abi,
        fixed_fp_offset: None,
        fixed_ra_offset: (abi == Abi::Amd64).then_some(-8),
        auxiliary: Vec::new(),
        functions,
    }
}

fn refusal(section: &Section) -> WriteError {
    section.write(0x8000).expect_err("the version can't express this")
}

/// What is written reads back the same.
fn survives(section: &Section) -> Section {
    let bytes = section.write(0x8000).expect("a section");
    let read = sframe_engine::Section::parse(&bytes, 0x8000).expect("a sound section");
    Section::from_read(&read).expect("sound rows")
}

#[test]
fn what_is_written_reads_back_in_every_version_and_abi() {
    for version in VERSIONS {
        for abi in Abi::ALL {
            if version == Version::V1 && abi == Abi::S390x {
                continue;
            }
            let first = row(abi, 0, 160);
            let mut second = row(abi, 4, 320);
            second.fp = at_cfa(-72);
            if abi != Abi::Amd64 {
                second.ra = at_cfa(-48);
            }
            let mut one = function(&[first, second]);
            one.pauth_key = PauthKey::B;
            let two = Function { start: 0x2000, size: 0x100, rows_position: 1, ..function(&[first]) };
            let mut section = section(version, abi, &[one, two]);
            section.auxiliary = vec![7, 8];
            let again = survives(&section);
            assert_eq!(again.functions.len(), 2);
            for (again, function) in again.functions.iter().zip(&section.functions) {
                let rules =
                    |function: &Function| function.rows.iter().map(ToString::to_string).collect::<Vec<_>>();
                assert_eq!(rules(again), rules(function), "{version} {abi}");
                assert_eq!((again.start, again.size), (function.start, function.size));
                assert_eq!(again.pauth_key, function.pauth_key);
            }
            assert_eq!(again.auxiliary, [7, 8]);
        }
    }
}

/// 2.4.1: one width for all words of a row, the smallest that holds them.
#[test]
fn data_words_are_as_wide_as_the_widest_needs() {
    for (offset, width) in
        [(127, 1), (128, 2), (-128, 1), (-129, 2), (32767, 2), (32768, 4), (-32768, 2), (-32769, 4)]
    {
        let bytes = section(Version::V2, Abi::Amd64, &[function(&[row(Abi::Amd64, 0, offset)])])
            .write(0x8000)
            .expect("a section");
        // Header, FDE, and a row of start, info and one word.
        assert_eq!(bytes.len(), 28 + 20 + 2 + width, "{offset}");
    }
}

/// GNU as chooses by the size of the function, whatever its rows.
#[test]
fn row_starts_are_as_wide_as_the_size_of_the_function_needs() {
    for (size, fre_type) in [
        (0, FreType::Addr1),
        (0xff, FreType::Addr1),
        (0x100, FreType::Addr2),
        (0xffff, FreType::Addr2),
        (0x1_0000, FreType::Addr4),
    ] {
        assert_eq!(Function::usual_fre_type(size), fre_type);
        let one = Function { size, ..function(&[row(Abi::Amd64, 0, 8)]) };
        let bytes = section(Version::V3, Abi::Amd64, &[one]).write(0x8000).expect("a section");
        assert_eq!(bytes.len(), 28 + 16 + 5 + fre_type.width() + 2);
    }
}

#[test]
fn each_thing_that_a_version_cannot_express_is_refused_by_name() {
    let amd64 =
        |function: Function| move |version| section(version, Abi::Amd64, std::slice::from_ref(&function));
    let plain = || function(&[row(Abi::Amd64, 0, 8)]);
    let one_row = |change: fn(&mut Row)| {
        let mut row = row(Abi::Amd64, 0, 8);
        change(&mut row);
        function(&[row])
    };
    use WriteErrorKind as Kind;
    let check = |section: Section, kind: Kind| {
        let error = refusal(&section);
        assert_eq!(error.kind, kind, "{error}");
        assert!(!error.to_string().is_empty());
    };

    let s390x = section(Version::V1, Abi::S390x, &[]);
    check(s390x, Kind::AbiNotInVersion(Abi::S390x, Version::V1));
    for (version, flag) in [(Version::V1, 4), (Version::V2, 8), (Version::V3, 2)] {
        let mut section = amd64(plain())(version);
        section.flags = Flags(1 | flag);
        check(section, Kind::FlagNotInVersion(flag, version));
    }
    let mut long = amd64(plain())(Version::V2);
    long.auxiliary = vec![0; 256];
    check(long, Kind::AuxiliaryHeaderTooLong(256));
    let twice = [plain(), plain()];
    check(section(Version::V2, Abi::Amd64, &twice), Kind::BadRowsPosition(0));
    let mut zero = amd64(plain())(Version::V2);
    zero.fixed_ra_offset = Some(0);
    check(zero, Kind::ZeroFixedOffset);

    let far = Function { start: 0x1_0000_0000, ..plain() };
    check(amd64(far.clone())(Version::V1), Kind::StartOutOfReach(far.start));
    check(amd64(far.clone())(Version::V2), Kind::StartOutOfReach(far.start));
    assert!(amd64(far)(Version::V3).write(0x8000).is_ok());

    let many = Function { rows: vec![row(Abi::Amd64, 0, 8); 0x1_0000], ..plain() };
    check(amd64(many.clone())(Version::V3), Kind::TooManyRows(0x1_0000));
    assert!(amd64(many)(Version::V2).write(0x8000).is_ok());

    let signal = Function { signal: true, ..plain() };
    let flex = Function { fde_type: FdeType::Flex, ..plain() };
    for version in [Version::V1, Version::V2] {
        check(amd64(signal.clone())(version), Kind::SignalNotInVersion(version));
        check(amd64(flex.clone())(version), Kind::FlexNotInVersion(version));
    }
    assert!(amd64(signal)(Version::V3).write(0x8000).is_ok());
    assert!(amd64(flex)(Version::V3).write(0x8000).is_ok());

    let mask = Function { pc_type: PcType::Mask, rep_size: Some(0), ..plain() };
    for version in [Version::V2, Version::V3] {
        check(amd64(mask.clone())(version), Kind::RepSizeMismatch(version));
    }
    let mut mask = section(Version::V1, Abi::Amd64, &[mask]);
    assert!(mask.write(0x8000).is_ok());
    mask.functions[0].rep_size = Some(16);
    check(mask, Kind::RepSizeMismatch(Version::V1));

    let undefined =
        one_row(|row| (row.cfa, row.ra, row.fp) = (None, Recovery::Undefined, Recovery::Undefined));
    check(amd64(undefined.clone())(Version::V1), Kind::UndefinedRaNotInVersion);
    assert!(amd64(undefined)(Version::V2).write(0x8000).is_ok());

    let late = Function { fre_type: Some(FreType::Addr1), ..function(&[row(Abi::Amd64, 0x100, 8)]) };
    check(amd64(late)(Version::V2), Kind::StartTooLarge(0x100));
    for offset in [1 << 31, -(1 << 31) - 1] {
        let mut far = function(&[row(Abi::Amd64, 0, offset)]);
        check(amd64(far.clone())(Version::V2), Kind::OffsetNotEncodable(offset));
        far.rows[0] = row(Abi::S390x, 0, offset & !7);
        // Scaled, it fits.
        let scaled = section(Version::V3, Abi::S390x, &[far.clone()]);
        assert_eq!(survives(&scaled).functions[0].rows[0].cfa, far.rows[0].cfa);
        far.rows[0] = row(Abi::S390x, 0, (offset & !7) + 4);
        check(section(Version::V3, Abi::S390x, &[far]), Kind::OffsetNotEncodable((offset & !7) + 4));
    }
    let other_base = one_row(|row| row.cfa = Some(rule(Base::Register(DwarfRegister(10)), 0, false)));
    check(amd64(other_base)(Version::V3), Kind::CfaNotInDefault);
    let loaded = one_row(|row| row.cfa = Some(rule(Base::Fp, -8, true)));
    check(amd64(loaded)(Version::V3), Kind::CfaNotInDefault);
    check(amd64(one_row(|row| row.ra = at_cfa(-16)))(Version::V3), Kind::RaNotInDefault);
    check(amd64(one_row(|row| row.ra = Recovery::Unchanged))(Version::V3), Kind::RaNotInDefault);
    let in_register =
        one_row(|row| row.fp = Recovery::Rule(rule(Base::Register(DwarfRegister(3)), 0, false)));
    check(amd64(in_register)(Version::V3), Kind::FpNotInDefault);
    // AArch64 has no word for an RA that has not moved, s390x has 0.
    let mut only_fp = row(Abi::Aarch64, 0, 160);
    only_fp.fp = at_cfa(-16);
    check(section(Version::V3, Abi::Aarch64, &[function(&[only_fp])]), Kind::RaNotInDefault);
    assert!(section(Version::V3, Abi::S390x, &[function(&[only_fp])]).write(0x8000).is_ok());
    // A saved RA at CFA+0 would be read as not saved.
    let mut ra_at_0 = row(Abi::S390x, 0, 160);
    ra_at_0.ra = at_cfa(0);
    check(section(Version::V3, Abi::S390x, &[function(&[ra_at_0])]), Kind::RaNotInDefault);
    // 3.2: RA = CFA + 0 has the control word that is padding.
    let mut padding = flex_function();
    padding.rows[0].ra = Recovery::Rule(rule(Base::Cfa, 0, false));
    check(section(Version::V3, Abi::Amd64, &[padding]), Kind::RuleNotInFlex);
    let mut on_cfa = flex_function();
    on_cfa.rows[0].cfa = Some(rule(Base::Cfa, 16, false));
    check(section(Version::V3, Abi::Amd64, &[on_cfa]), Kind::RuleNotInFlex);
}

fn flex_function() -> Function {
    let mut row = row(Abi::Amd64, 0, 0);
    row.cfa = Some(rule(Base::Fp, -8, true));
    row.fp = Recovery::Rule(rule(Base::Fp, 0, true));
    Function { fde_type: FdeType::Flex, ..function(&[row]) }
}

#[test]
fn flex_rows_read_back_and_end_with_the_last_rule_that_is_needed() {
    let section = section(Version::V3, Abi::Amd64, &[flex_function()]);
    let bytes = section.write(0x8000).expect("a section");
    // CFA pair, padding for RA, FP pair.
    assert_eq!(bytes.len(), 28 + 16 + 5 + 2 + 5);
    let again = survives(&section);
    assert_eq!(again.functions[0].rows[0].to_string(), "CFA = *(FP-8), RA = *(CFA-8), FP = *(FP)");
}

/// Version 2 uses odd words where version 3 uses flex FDEs.
#[test]
fn registers_of_s390x_go_from_version_2_to_3_and_back() {
    let mut saved = row(Abi::S390x, 0, 160);
    saved.ra = Recovery::Rule(rule(Base::Register(DwarfRegister(16)), 0, false));
    saved.fp = Recovery::Rule(rule(Base::Register(DwarfRegister(17)), 0, false));
    let v2 = section(Version::V2, Abi::S390x, &[function(&[saved])]);
    let big = |version| Target { version, byte_order: ByteOrder::Big };
    let v3 = v2.convert(big(Version::V3)).expect("an ABI of version 3");
    assert!(v3.left_out.is_empty());
    assert_eq!(v3.section.functions[0].fde_type, FdeType::Flex);
    assert_eq!(survives(&v3.section).functions[0].rows[0].to_string(), saved.to_string());
    let back = v3.section.convert(big(Version::V2)).expect("an ABI of version 2");
    assert_eq!((back.section, back.left_out), (v2, vec![]));
}

#[test]
fn what_cannot_be_carried_over_is_left_out_and_listed() {
    let plain = function(&[row(Abi::Amd64, 0, 8)]);
    let mut drap = flex_function();
    (drap.start, drap.rows_position) = (0x2000, 1);
    drap.rows.push(row(Abi::Amd64, 4, 8));
    drap.rows.push(Row { start: 8, ..drap.rows[0] });
    let outermost = Function { start: 0x3000, rows_position: 2, ..function(&[]) };
    let v3 = section(Version::V3, Abi::Amd64, &[plain, drap, outermost]);
    let little = |version| Target { version, byte_order: ByteOrder::Little };
    let v2 = v3.convert(little(Version::V2)).expect("an ABI of version 2");
    assert_eq!(v2.section.functions.iter().map(|kept| kept.start).collect::<Vec<_>>(), [0x1000, 0x3000]);
    // Version 2 marks the outermost frame by a row.
    assert!(v2.section.functions[1].rows[0].is_outermost());
    assert_eq!(v2.left_out.len(), 1);
    let gone = &v2.left_out[0];
    assert_eq!((gone.start, gone.function), (0x2000, 1));
    // Both rows that stand against it, and not the one between them.
    let rows: Vec<_> = gone.errors.iter().map(|error| (error.function, error.row, error.kind)).collect();
    let kind = WriteErrorKind::CfaNotInDefault;
    assert_eq!(rows, [(Some(1), Some(0), kind), (Some(1), Some(2), kind)]);
    let v1 = v3.convert(little(Version::V1)).expect("an ABI of version 1");
    assert_eq!(v1.left_out.len(), 2);
    let wrong_order = Target { version: Version::V3, byte_order: ByteOrder::Big };
    assert_eq!(
        v3.convert(wrong_order).map_err(|error| error.kind),
        Err(WriteErrorKind::NoSuchByteOrder(Abi::Amd64))
    );
}

/// An FDE without rows means nothing in version 2, but has a meaning in version 3.
#[test]
fn a_function_without_rows_does_not_become_outermost() {
    let v2 = section(Version::V2, Abi::Amd64, &[function(&[])]);
    let target = Target { version: Version::V3, byte_order: ByteOrder::Little };
    let v3 = v2.convert(target).expect("an ABI of version 3");
    assert!(v3.section.functions.is_empty());
    assert_eq!(v3.left_out[0].errors[0].kind, WriteErrorKind::NoRowsInVersion(Version::V3));
}

#[test]
fn sections_of_aarch64_are_converted_between_byte_orders() {
    let little = section(Version::V3, Abi::Aarch64, &[function(&[row(Abi::Aarch64, 0, 16)])]);
    let target = |byte_order| Target { version: Version::V3, byte_order };
    let big = little.convert(target(ByteOrder::Big)).expect("an ABI").section;
    assert_eq!(big.abi, Abi::Aarch64Be);
    assert_eq!(big.write(0).expect("a section")[..2], [0xde, 0xe2]);
    assert_eq!(big.convert(target(ByteOrder::Little)).expect("an ABI").section, little);
}

/// 2.2: the header says where each sub-section starts; nothing refers to what lies between.
#[test]
fn gaps_lie_where_the_header_says_and_starts_count_from_their_fields() {
    let plain = || function(&[row(Abi::Amd64, 0, 8)]);
    let layout = Layout { header_gap: 12, sub_section_gap: 3, trailing: 5, filler: 0xa5, data_words: None };
    for (version, fde, flags) in [(Version::V1, 17, 1), (Version::V2, 20, 5), (Version::V3, 16, 5)] {
        let mut section = section(version, Abi::Amd64, &[plain()]);
        section.flags = Flags(flags);
        section.auxiliary = vec![1; 4];
        let old = section.write(0x8000).expect("a section");
        let bytes = section.write_with(0x8000, &layout).expect("a section");
        assert_eq!(bytes.len(), old.len() + 12 + 3 + 5);
        assert_eq!(bytes[20..28], [12, 0, 0, 0, 12 + fde + 3, 0, 0, 0]);
        let fdes = 28 + 4 + 12;
        let fres = fdes + usize::from(fde) + 3;
        assert_eq!(bytes[fdes - 12..fdes], [0xa5; 12]);
        assert_eq!(bytes[fres - 3..fres], [0xa5; 3]);
        assert_eq!(bytes[bytes.len() - 5..], [0xa5; 5]);
        assert_eq!(bytes[fres..bytes.len() - 5], old[28 + 4 + usize::from(fde)..]);
        let start = i32::from_le_bytes(bytes[fdes..fdes + 4].try_into().expect("4 bytes"));
        let field = if flags & 4 == 0 { 0 } else { fdes };
        assert_eq!(i64::from(start), 0x1000 - 0x8000 - i64::try_from(field).expect("small"), "{version}");
    }
}

/// Unusual, but no reader may refuse it or read it differently.
#[test]
fn every_layout_reads_back_the_same_and_breaks_no_rule() {
    let widths = [None, Some(DataWordSize::One), Some(DataWordSize::Two), Some(DataWordSize::Four)];
    for (version, abi) in VERSIONS.into_iter().flat_map(|version| Abi::ALL.map(|abi| (version, abi))) {
        if version == Version::V1 && abi == Abi::S390x {
            continue;
        }
        let mut wide = row(abi, 4, 160 + 8 * 300);
        wide.fp = at_cfa(-16);
        if abi != Abi::Amd64 {
            wide.ra = at_cfa(-24);
        }
        // The last function comes first, and its rows last.
        let one = Function { rows_position: 1, start: 0x3000, ..function(&[row(abi, 0, 160), wide]) };
        let two = Function { fre_type: Some(FreType::Addr4), ..function(&[row(abi, 0, 160)]) };
        let mut section = section(version, abi, &[one, two]);
        section.flags = Flags(0);
        let expected = survives(&section);
        for data_words in widths {
            for gap in [0, 4, 4000] {
                let layout =
                    Layout { header_gap: gap, sub_section_gap: gap, trailing: gap, filler: 0xff, data_words };
                let bytes = section.write_with(0x8000, &layout).expect("a section");
                let read = sframe_engine::Section::parse(&bytes, 0x8000).expect("a sound section");
                let mut read = Section::from_read(&read).expect("sound rows");
                // Those are caused by the layout.
                read.functions.iter_mut().for_each(|function| function.wide_rows.clear());
                assert_eq!(read, expected, "{version} {abi} {layout:?}");
                let linkage = Linkage::Linked { executable: None };
                lint(&bytes, 0x8000, linkage, &mut [0; 8], &mut |finding| {
                    assert_ne!(
                        finding.rule.severity,
                        Severity::Error,
                        "{version} {abi} {layout:?} {finding:?}"
                    );
                });
            }
        }
    }
}

/// What GNU as 2.40 (version 1) and 2.44 (version 2) write for one function of amd64
/// whose CFA offsets and slots of FP lie at the limits of 1 and 2 bytes: -128 gets
/// words of 2 bytes, -32768 of 4.
const AT_LIMITS: [&str; 2] = [
    "e2de01000300f800010000000c000000490000000000000011000000000000000c000000000000000c00000000000308\
     01030802037f03057f8804257f0080ff0525800080ff0625080080ff0725080078ff0825080008800945080000000080\
     ffff0a45ff7f00000080ffff0b45008000000080ffff",
    "e2de02000300f800010000000c000000490000000000000014000000000000000c000000000000000c00000000000000\
     00030801030802037f03057f8804257f0080ff0525800080ff0625080080ff0725080078ff0825080008800945080000\
     000080ffff0a45ff7f00000080ffff0b45008000000080ffff",
];

fn bytes_of(hex: &str) -> Vec<u8> {
    let byte = |pair: &[u8]| u8::from_str_radix(core::str::from_utf8(pair).expect("ASCII"), 16);
    hex.as_bytes().chunks(2).map(|pair| byte(pair).expect("two digits")).collect()
}

#[test]
fn words_that_were_wider_than_needed_stay_so_while_the_row_says_the_same() {
    for hex in AT_LIMITS {
        let bytes = bytes_of(hex);
        let read = sframe_engine::Section::parse(&bytes, 0).expect("a section");
        let mut owned = Section::from_read(&read).expect("sound rows");
        let starts: Vec<u32> = owned.functions[0].wide_rows.keys().copied().collect();
        // -128 with 127 and with 8, -32768 with 8 and with 32767.
        assert_eq!(starts, [4, 6, 9, 10]);
        assert_eq!(owned.write(0).expect("a section"), bytes);

        // In another version too.
        let target = Target { version: Version::V3, byte_order: owned.abi.byte_order() };
        let converted = owned.convert(target).expect("the ABI is known").section;
        let back = converted.convert(Target { version: owned.version, ..target }).expect("as before").section;
        assert_eq!(back.write(0).expect("a section"), bytes);

        // A row with different content gets the width it needs.
        owned.functions[0].rows[4].cfa = Some(rule(Base::Sp, 16, false));
        let changed = owned.write(0).expect("a section");
        assert_eq!(changed.len(), bytes.len() - 2);
        let read = sframe_engine::Section::parse(&changed, 0).expect("a section");
        let fde = read.fde(0).expect("an FDE");
        let widths: Vec<usize> =
            read.fres(&fde).map(|fre| fre.expect("a row").data_word_size().width()).collect();
        assert_eq!(widths, [1, 1, 1, 1, 1, 2, 2, 2, 2, 4, 4, 4]);
        // So does a row that has moved.
        owned.functions[0].rows[9].start = 12;
        owned.functions[0].rows.swap(9, 11);
        assert_eq!(owned.write(0).expect("a section").len(), changed.len() - 4);
    }
}
