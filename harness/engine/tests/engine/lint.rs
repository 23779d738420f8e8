//! The linter: each rule by a section that breaks it, and any bytes at all.

use crate::builder::{ADDRESS, Builder, Fre, Function, PCREL, SORTED, fre, function};
use sframe_engine::lint::{Finding, Linkage, RULES, Severity, Value, lint};
use sframe_engine::{Abi, Section, Version};

const LINKED: Linkage<'_> = Linkage::Linked { executable: None };

fn findings(bytes: &[u8], linkage: Linkage<'_>) -> Vec<Finding> {
    let mut found = Vec::new();
    let mut scratch = vec![0; bytes.len() / 16];
    lint(bytes, ADDRESS, linkage, &mut scratch, &mut |finding| found.push(finding));
    found
}

/// A section, and the rules that it breaks.
struct Case {
    bytes: Vec<u8>,
    linkage: Linkage<'static>,
    rules: &'static [&'static str],
}

fn case(rules: &'static [&'static str], bytes: Vec<u8>) -> Case {
    Case { bytes, linkage: LINKED, rules }
}

fn row() -> Fre {
    fre(0, true, 1, &[8])
}

fn section(version: Version, abi: Abi, functions: &[Function]) -> Vec<u8> {
    Builder::new(version, abi, functions).bytes()
}

/// One amd64 function with these rows.
fn amd64(version: Version, rows: &[Fre]) -> Vec<u8> {
    section(version, Abi::Amd64, &[function(0x1000, 16, rows)])
}

fn one(version: Version, abi: Abi, words: &[i32]) -> Vec<u8> {
    section(version, abi, &[function(0x1000, 16, &[fre(0, true, 1, words)])])
}

/// One flex function with one row.
fn flex(abi: Abi, words: &[i32]) -> Vec<u8> {
    flex_wide(abi, 1, words)
}

fn flex_wide(abi: Abi, width: u8, words: &[i32]) -> Vec<u8> {
    let rows = [fre(0, false, width, words)];
    section(Version::V3, abi, &[Function { info2: 1, ..function(0x1000, 16, &rows) }])
}

fn changed(mut bytes: Vec<u8>, offset: usize, values: &[u8]) -> Vec<u8> {
    bytes[offset..offset + values.len()].copy_from_slice(values);
    bytes
}

/// Control words.
const FP: i32 = 6 << 3 | 1;
const R10: i32 = 10 << 3 | 1;
const SAVED: i32 = 2;

fn header_cases() -> Vec<Case> {
    let v2 = || amd64(Version::V2, &[row()]);
    let v3 = || amd64(Version::V3, &[row()]);
    let mut auxiliary = Builder::new(Version::V2, Abi::Amd64, &[function(0x1000, 16, &[row()])]);
    auxiliary.auxiliary = vec![0; 4];
    let mut crooked = auxiliary.clone();
    crooked.auxiliary = vec![0; 3];
    let mut fixed_fp = Builder::new(Version::V2, Abi::Amd64, &[function(0x1000, 16, &[row()])]);
    fixed_fp.fixed_fp = -16;
    let mut gap = v2();
    gap.splice(28..28, [0; 4]);
    let gap = changed(changed(gap, 20, &[4]), 24, &[24]);
    let mut trailing = v2();
    trailing.extend([0; 5]);
    let v1 = |flags| {
        let builder = Builder::new(Version::V1, Abi::Amd64, &[function(0x1000, 16, &[row()])]);
        builder.flags(flags).bytes()
    };
    vec![
        case(&["SF101"], changed(v2(), 0, &[0xad, 0xde])),
        case(&["SF102"], changed(v2(), 2, &[4])),
        case(&["SF103"], v2()[..20].to_vec()),
        case(&["SF103"], Vec::new()),
        case(&["SF104"], changed(v2(), 4, &[9])),
        case(&["SF105", "SF112", "SF331"], changed(v2(), 4, &[1])),
        case(
            &["SF106", "SF107"],
            section(Version::V1, Abi::S390x, &[function(0x1000, 16, &[fre(0, true, 1, &[0])])]),
        ),
        case(&["SF107"], v1(SORTED)),
        case(&["SF108"], changed(v2(), 3, &[0x81])),
        case(&["SF109"], changed(v3(), 3, &[3])),
        case(&["SF107", "SF110"], changed(v1(SORTED), 3, &[5])),
        case(&["SF111"], auxiliary.bytes()),
        case(&["SF112"], changed(v2(), 6, &[0])),
        case(&["SF113"], fixed_fp.bytes()),
        case(&["SF114", "SF301"], changed(v2(), 16, &[40])[..50].to_vec()),
        case(&["SF115", "SF119", "SF225", "SF310"], changed(v2(), 24, &[18])),
        case(&["SF116"], gap),
        case(&["SF111", "SF117"], crooked.bytes()),
        case(&["SF118"], changed(v2(), 12, &[2])),
        case(&["SF119"], trailing),
        case(&["SF120"], section(Version::V3, Abi::Amd64, &[])),
        case(&["SF121"], [v2(), v2()].concat()),
        // Padding, and sections of other objects, whatever their version.
        case(&["SF121"], [v3(), vec![0; 7], v2(), v3()].concat()),
        // Whether or not it counts FDEs, and however much of it is left.
        case(&["SF121"], [v2(), section(Version::V2, Abi::Amd64, &[])].concat()),
        case(&["SF121"], [v2(), vec![7; 5], v2()[..40].to_vec()].concat()),
        case(&["SF121"], [v2(), v2()[..4].to_vec()].concat()),
        // Another ABI, a version that there is not, and half a preamble are no header.
        case(&["SF119"], [v2(), changed(v2(), 4, &[2])].concat()),
        case(&["SF119"], [v2(), changed(v2(), 2, &[9])].concat()),
        case(&["SF119"], [v2(), v2()[..2].to_vec()].concat()),
    ]
}

fn fde_cases() -> Vec<Case> {
    let with = |version, change: &dyn Fn(&mut Function)| {
        let mut one = function(0x1000, 16, &[row()]);
        change(&mut one);
        section(version, Abi::Amd64, &[one])
    };
    let two = |first: Function, second: Function, flags: u8| {
        Builder::new(Version::V3, Abi::Amd64, &[first, second]).flags(flags).bytes()
    };
    let plain = |start| function(start, 16, &[row()]);
    let (v2, v3) = (|| amd64(Version::V2, &[row()]), || amd64(Version::V3, &[row()]));
    let v2_info = 28 + 16;
    let v3_attribute = 28 + 16;
    let executable: &'static [std::ops::Range<u64>] = &[0x100..0x200, 0x1008..0x1018];
    let in_segment = |rules, start| Case {
        linkage: Linkage::Linked { executable: Some(executable) },
        ..case(rules, with(Version::V3, &|one| one.start = start))
    };
    // The second FDE's rows are the first one's, and the second's belong to none.
    let shared = changed(two(plain(0x1000), plain(0x1010), SORTED | PCREL), 28 + 16 + 12, &[0]);
    let unused = changed(v2(), 28 + 12, &[0]);
    // Twenty FDEs with the row data of the first.
    let many: Vec<Function> = (0..20).map(|index| plain(0x1000 + index * 16)).collect();
    let mut many = section(Version::V2, Abi::Amd64, &many);
    for index in 0..20 {
        many[28 + 20 * index + 8..28 + 20 * index + 12].copy_from_slice(&[0, 0, 0, 0]);
    }
    many.truncate(28 + 20 * 20 + 3);
    let many = changed(many, 16, &[3]);
    let aarch64_v1 = [Function { info: 0x20, ..function(0x1000, 16, &[fre(0, true, 1, &[0])]) }];
    let mask = |size, rep_size| {
        with(Version::V2, &|one| (one.info, one.size, one.rep_size) = (0x10, size, rep_size))
    };
    let wide = fre(0, true, 1, &[8]);
    let code = |abi: Abi, start, size| {
        let frame = if abi == Abi::Amd64 { 8 } else { 0 };
        section(Version::V3, abi, &[function(start, size, &[fre(0, true, 1, &[frame])])])
    };
    // The first FDE's second row is the attribute of the second one.
    let one_row_more = two(plain(0x1000), plain(0x1010), SORTED | PCREL);
    let one_row_more = changed(changed(one_row_more, 12, &[3]), 28 + 2 * 16, &[2]);
    vec![
        case(&["SF201"], two(plain(0x1010), plain(0x1000), SORTED)),
        case(&["SF202"], two(plain(0x1000), plain(0x1010), 0)),
        case(&["SF203"], two(plain(0x1000), plain(0x1008), SORTED)),
        case(&["SF202", "SF203"], two(plain(0x1008), plain(0x1000), PCREL)),
        case(&["SF204"], with(Version::V2, &|one| one.size = 0)),
        in_segment(&["SF205"], 0x1000),
        in_segment(&["SF206"], 0x1010),
        case(&["SF207"], changed(v2(), 28 + 8, &[99])),
        case(&["SF208"], changed(v3(), 28 + 12, &[6])),
        case(&["SF209"], changed(v2(), v2_info, &[3])),
        case(&["SF210"], changed(v3(), v3_attribute + 3, &[2])),
        case(&["SF211"], changed(v2(), v2_info, &[0x40])),
        case(&["SF212"], changed(v3(), v3_attribute + 3, &[0x20])),
        case(&["SF213"], changed(v2(), v2_info, &[0x20])),
        case(&["SF107", "SF214"], section(Version::V1, Abi::Aarch64Be, &aarch64_v1)),
        case(&["SF215"], changed(v2(), 28 + 18, &[1])),
        case(&["SF216"], changed(v3(), v3_attribute + 2, &[0x10])),
        case(&["SF217"], changed(v3(), v3_attribute + 4, &[16])),
        case(&["SF218"], mask(40, 16)),
        case(&["SF219"], with(Version::V2, &|one| (one.info, one.start, one.rep_size) = (0x10, 0x1008, 16))),
        case(&["SF220"], with(Version::V2, &|one| one.rows.clear())),
        case(&["SF221"], with(Version::V3, &|one| one.rows.clear())),
        case(&["SF222"], with(Version::V3, &|one| one.info = 0x80)),
        case(&["SF223"], with(Version::V3, &|one| (one.info2, one.rows) = (1, Vec::new()))),
        case(&["SF224", "SF225"], shared),
        case(&["SF118", "SF220", "SF225"], unused),
        case(&["SF224", "SF226"], many),
        case(&["SF227"], with(Version::V2, &|one| one.info = 1)),
        case(&["SF229"], code(Abi::Aarch64, 0x1002, 16)),
        case(&["SF229"], code(Abi::S390x, 0x1001, 16)),
        case(&[], code(Abi::S390x, 0x1002, 14)),
        case(&["SF230"], code(Abi::Aarch64Be, 0x1000, 14)),
        case(&["SF230"], code(Abi::S390x, 0x1000, 15)),
        case(&[], code(Abi::Amd64, 0x1001, 15)),
        case(&["SF231"], with(Version::V3, &|one| one.start = u64::MAX - 14)),
        // Its last byte is the last address.
        case(&[], with(Version::V3, &|one| one.start = u64::MAX - 15)),
        case(&["SF232", "SF310"], one_row_more),
        case(&["SF228"], section(Version::V2, Abi::Amd64, &[function(0x1000, 0x101, &[wide])])),
    ]
}

fn row_cases() -> Vec<Case> {
    let v2 = |rows: &[Fre]| amd64(Version::V2, rows);
    let info = 28 + 20 + 1;
    let many = |count: usize| one(Version::V3, Abi::Amd64, &vec![8; count]);
    let s390x = |version, words: &[i32]| one(version, Abi::S390x, words);
    // A row within a function.
    let in_code = |abi: Abi, start| {
        let frame = if abi == Abi::Amd64 { 8 } else { 0 };
        let rows = [fre(0, true, 1, &[frame]), fre(start, true, 1, &[frame + 16])];
        section(Version::V3, abi, &[function(0x1000, 16, &rows)])
    };
    let cfa_from_fp = [fre(0, false, 1, &[16, -8])];
    vec![
        case(&["SF118", "SF301"], changed(v2(&[row()]), 28 + 12, &[2])),
        case(&["SF302"], changed(v2(&[row()]), info, &[0x63])),
        case(&["SF303"], v2(&[fre(1, true, 1, &[8])])),
        case(&["SF304"], v2(&[row(), fre(4, true, 1, &[16]), fre(2, true, 1, &[24])])),
        case(&["SF305"], v2(&[row(), fre(0, true, 1, &[16])])),
        case(&["SF306"], v2(&[row(), fre(4, true, 1, &[8])])),
        case(&["SF307"], v2(&[row(), fre(16, true, 1, &[16])])),
        case(&["SF308"], many(3)),
        case(&["SF107", "SF308"], one(Version::V1, Abi::Amd64, &[])),
        case(&["SF308"], one(Version::V2, Abi::Aarch64, &[16, -8, -16, -24])),
        case(&["SF309"], one(Version::V2, Abi::Aarch64, &[16, -8])),
        case(&["SF310"], one(Version::V3, Abi::Amd64, &[])),
        case(&["SF311"], changed(v2(&[row()]), info, &[0x83])),
        case(&["SF312"], v2(&[fre(0, true, 2, &[8])])),
        case(&["SF313"], one(Version::V2, Abi::Amd64, &[0])),
        case(&["SF313"], s390x(Version::V3, &[-1])),
        case(&["SF314"], v2(&[fre(0, false, 1, &[16, 0])])),
        case(&["SF315"], v2(&cfa_from_fp)),
        case(&["SF316"], v2(&[fre(0, true, 1, &[8, -16])])),
        case(&["SF317"], s390x(Version::V3, &[0, -47])),
        case(&["SF317"], v2(&[fre(0, true, 1, &[24, -20])])),
        case(&["SF317"], one(Version::V3, Abi::Aarch64Be, &[32, -8, -20])),
        case(&["SF318"], s390x(Version::V2, &[0, 32 << 1 | 1])),
        case(&["SF319"], s390x(Version::V3, &[0, 0, -72])),
        case(&["SF320"], s390x(Version::V2, &[0, 0])),
        case(
            &["SF321"],
            section(Version::V2, Abi::S390x, &[function(0x1000, 16, &[fre(0, true, 4, &[0x2000_0000])])]),
        ),
        case(&["SF322"], s390x(Version::V2, &[0, 16 << 1 | 1])),
        case(&["SF322"], flex(Abi::Amd64, &[R10, 16])),
        case(&["SF323"], flex(Abi::Amd64, &[FP | SAVED, -8, SAVED])),
        case(&["SF323"], flex(Abi::Amd64, &[FP | SAVED, -8, SAVED, -8, SAVED, -16, 0])),
        case(&["SF324"], flex(Abi::Amd64, &[SAVED, -8])),
        case(&["SF324"], flex(Abi::Amd64, &[0, SAVED, -8])),
        case(&["SF325"], flex(Abi::Amd64, &[FP | SAVED | 4, -8])),
        case(&["SF326"], flex_wide(Abi::Amd64, 2, &[99 << 3 | 1, -8])),
        case(&["SF327"], flex(Abi::Amd64, &[FP | SAVED, -8, 0, 3 << 3 | SAVED, -16])),
        case(&["SF328"], flex(Abi::Amd64, &[FP | SAVED, -8, 7 << 3 | 1, 8])),
        case(&["SF329"], flex(Abi::Amd64, &[FP, 16])),
        case(&["SF330"], flex(Abi::Amd64, &[FP | SAVED, -8, 0])),
        case(&["SF331"], v2(&[fre(0, true, 1, &[12])])),
        case(&["SF331"], v2(&[fre(0, false, 1, &[12])])),
        case(&["SF331"], one(Version::V2, Abi::Aarch64, &[24])),
        // From FP, it need not be a multiple of 16.
        case(&[], section(Version::V3, Abi::Aarch64, &[function(0x1000, 16, &[fre(0, false, 1, &[24])])])),
        // From another register, and from memory, nothing is known.
        case(&["SF322"], flex(Abi::Amd64, &[R10, 12])),
        case(&["SF332"], in_code(Abi::Aarch64Be, 6)),
        case(&["SF332"], in_code(Abi::S390x, 5)),
        case(&[], in_code(Abi::S390x, 6)),
        case(&[], in_code(Abi::Amd64, 5)),
    ]
}

#[test]
fn every_rule_is_reported_for_a_section_that_breaks_just_it() {
    let (mut exercised, mut wrong) = (Vec::new(), Vec::new());
    for case in header_cases().iter().chain(&fde_cases()).chain(&row_cases()) {
        let found = findings(&case.bytes, case.linkage);
        let mut rules: Vec<&str> = found.iter().map(|finding| finding.rule.id).collect();
        rules.sort_unstable();
        rules.dedup();
        let texts: Vec<String> = found.iter().map(ToString::to_string).collect();
        if rules != case.rules {
            wrong.push((case.rules, texts));
        }
        exercised.extend(rules);
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    for rule in RULES {
        assert!(exercised.contains(&rule.id), "no section breaks {} {}", rule.id, rule.name);
    }
}

/// Each rule's summary, and each message with its values.
#[test]
fn rules_and_messages_are_complete() {
    for pair in RULES.windows(2) {
        assert!(pair[0].id < pair[1].id, "{} and {}", pair[0].id, pair[1].id);
    }
    for rule in RULES {
        assert!(
            rule.name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
        );
        assert!(rule.summary.ends_with('.'), "{}", rule.id);
    }
    for case in header_cases().iter().chain(&fde_cases()).chain(&row_cases()) {
        for finding in findings(&case.bytes, case.linkage) {
            let places = finding.rule.message.matches("{}").count();
            let values = finding.values.iter().filter(|value| **value != Value::None).count();
            assert_eq!(places, values, "{finding}");
            if let Some(version) = case.bytes.get(2).filter(|version| (1..=3).contains(*version)) {
                let (first, last) = (finding.rule.versions.first, finding.rule.versions.last);
                assert!((first.number()..=last.number()).contains(version), "{} {version}", finding.rule.id);
            }
        }
    }
}

#[test]
fn a_sound_section_has_no_finding() {
    for version in [Version::V2, Version::V3] {
        for abi in Abi::ALL {
            let words: &[&[i32]] = match abi {
                Abi::Amd64 => &[&[8], &[16, -16]],
                Abi::S390x => &[&[0], &[0, -48, -72]],
                _ => &[&[0], &[16, -8, -16]],
            };
            let rows = [fre(0, true, 1, words[0]), fre(4, true, 1, words[1])];
            let functions = [function(0x1000, 16, &rows), function(0x1010, 0x180, &rows)];
            let functions = functions.map(|one| Function { info: u8::from(one.size > 0xff), ..one });
            let bytes = Builder::new(version, abi, &functions).flags(SORTED | PCREL).bytes();
            let texts: Vec<String> = findings(&bytes, LINKED).iter().map(ToString::to_string).collect();
            assert_eq!(texts, [""; 0], "{version} {abi}");
        }
    }
}

/// A faulty function does not hide what is wrong with the next one.
#[test]
fn the_lint_goes_on_after_faults() {
    let functions = [
        Function { info: 3, ..function(0x1000, 16, &[row()]) },
        function(0x1010, 16, &[fre(0, true, 1, &[8, -16, 8])]),
        function(0x1020, 16, &[fre(1, true, 1, &[8])]),
    ];
    let bytes = section(Version::V2, Abi::Amd64, &functions);
    let found = findings(&changed(bytes, 4, &[9]), LINKED);
    let places: Vec<_> = found.iter().map(|finding| (finding.rule.id, finding.fde, finding.row)).collect();
    assert_eq!(places, [("SF104", None, None), ("SF209", Some(0), None), ("SF303", Some(2), Some(0))]);
}

/// In relocatable files, start addresses are not final.
#[test]
fn rules_on_addresses_are_off_in_relocatable_files() {
    let functions = [function(0x1010, 16, &[row()]), function(0x1010, 16, &[row()])];
    let bytes = Builder::new(Version::V3, Abi::Amd64, &functions).flags(0).bytes();
    assert_eq!(findings(&bytes, Linkage::Relocatable), []);
    assert!(!findings(&bytes, LINKED).is_empty());
}

/// Whatever the reader refuses is an error of the linter.
fn agrees_with_the_reader(bytes: &[u8]) -> bool {
    let read = Section::parse(bytes, ADDRESS).and_then(|section| {
        section.fdes().try_for_each(|fde| section.rows(&fde?).try_for_each(|row| row.map(drop)))
    });
    let errors = findings(bytes, LINKED).iter().any(|finding| finding.rule.severity == Severity::Error);
    if let Err(error) = read {
        assert!(errors, "the reader says: {error}; the linter nothing; {bytes:02x?}");
    }
    errors
}

fn samples() -> impl Iterator<Item = Vec<u8>> {
    let versions = [Version::V1, Version::V2, Version::V3];
    versions.into_iter().flat_map(|version| Abi::ALL.map(|abi| sample(version, abi)))
}

fn sample(version: Version, abi: Abi) -> Vec<u8> {
    let words: &[i32] = if abi == Abi::Amd64 { &[16, -16] } else { &[16, -8, -16] };
    let rows = [fre(0, true, 1, &[8]), fre(2, true, 2, words), fre(4, false, 4, words)];
    let mut functions = vec![
        function(0x1000, 16, &rows),
        Function { info: 0x11, rep_size: 16, ..function(0x1020, 64, &rows) },
        function(0x1060, 16, &[]),
    ];
    if version == Version::V3 {
        let rows = [fre(0, true, 1, &[1, 16, 0, 2, -8])];
        functions.push(Function { info2: 1, ..function(0x1070, 16, &rows) });
    }
    Builder::new(version, abi, &functions).bytes()
}

#[test]
fn a_section_cut_anywhere_is_linted_as_an_error() {
    for bytes in samples() {
        for len in 0..bytes.len() {
            assert!(agrees_with_the_reader(&bytes[..len]), "cut at {len}");
        }
    }
}

#[test]
fn any_byte_may_hold_any_value_when_linted() {
    let (mut errors, mut sections) = (0, 0);
    for original in samples() {
        for offset in 0..original.len() {
            for value in 0..=u8::MAX {
                let mut bytes = original.clone();
                bytes[offset] = value;
                sections += 1;
                errors += usize::from(agrees_with_the_reader(&bytes));
            }
        }
    }
    assert!(errors > 10_000 && errors < sections, "{errors} of {sections}");
}

/// Many FDEs that share long row data: the time must not be their product.
#[test]
fn shared_row_data_is_not_read_again_and_again() {
    let rows: Vec<Fre> = (0..200).map(|start| fre(start, true, 1, &[8])).collect();
    let mut functions = vec![function(0x1000, 0xff, &rows)];
    functions.extend((0..5000).map(|index| function(0x2000 + index * 256, 0xff, &[])));
    let mut bytes = Builder::new(Version::V2, Abi::Amd64, &functions).bytes();
    for fde in bytes[28..28 + 5001 * 20].chunks_exact_mut(20) {
        fde[8..16].copy_from_slice(&[0, 0, 0, 0, 200, 0, 0, 0]);
    }
    let found = findings(&bytes, LINKED);
    assert!(found.iter().any(|finding| finding.rule.id == "SF226"));
    assert!(found.iter().filter(|finding| finding.row.is_some()).count() < 5000);
}
