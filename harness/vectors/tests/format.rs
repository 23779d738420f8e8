//! The format: what loads, what doesn't and why, and the bytes of sections.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound::{Excluded, Unbounded};
use std::path::Path;

use sframe_vectors::model::Ways;
use sframe_vectors::{
    Base, Catalogue, End, Equation, FdeType, Lookup, PcKind, PcType, Question, Recovery, Row,
    SectionQuestion, Step, Suite, Vector, boundaries, documents,
};

const FOLDER: &str = "../../corpus/vectors";
const CLAUSES: &str = "../../specs/clauses.yaml";

fn suite() -> Suite {
    Suite::load(Path::new(FOLDER), Path::new(CLAUSES)).unwrap_or_else(|errors| panic!("{errors:#?}"))
}

/// The text of a vector alone.
fn text(id: &str) -> String {
    let (group, name) = id.split_once('/').expect("a group");
    let files = std::fs::read_dir(format!("{FOLDER}/{group}")).expect("a group");
    let texts = files.map(|file| std::fs::read_to_string(file.expect("an entry").path()).expect("vectors"));
    let texts: Vec<String> = texts.collect();
    let head = format!("name: {name}\n");
    let mut all = texts.iter().flat_map(|text| documents(text)).map(|(_, text)| text);
    all.find(|text| text.starts_with(&head)).unwrap_or_else(|| panic!("no vector {id}")).to_owned()
}

/// The mistakes in a vector after a replacement in its text.
fn mistakes(catalogue: &Catalogue, id: &str, from: &str, to: &str) -> String {
    let text = text(id);
    assert!(text.contains(from), "{id} has no `{from}`");
    let path = format!("{id}.yaml");
    let errors = Vector::parse(Path::new(&path), &text.replacen(from, to, 1), catalogue);
    let errors = errors.expect_err("a mistake");
    assert!(errors.iter().all(|error| error.to_string().starts_with(&path)), "{errors:?}");
    errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

#[test]
fn mistakes_are_named_with_their_file() {
    let catalogue = suite().catalogue;
    let id = "default/v3-amd64";
    for (from, to, expected) in [
        ("v3-cfa-sp", "v3-nothing", "no clause `v3-nothing`"),
        ("v3-cfa-sp", "v2-cfa-sp", "not of the section's version"),
        ("address:", "readings: [nothing]\naddress:", "no reading `nothing`"),
        ("section:", "sections:", "unknown key `sections`; did you mean `section`? (allowed here: "),
        ("size: 32", "size: 33", "section and bytes differ from offset"),
        ("  fixed_ra: -8\n  fdes", "  fixed_ra: -800\n  fdes", "fixed_ra"),
        ("words: [8]", "words: [256]", "data word 256 does not fit 1 bytes"),
        ("cfa: \"SP+8\"", "cfa: \"rsp+8\"", "`rsp+8` is not an equation"),
        ("ra: \"*(CFA-8)\", fp: unchanged}", "fp: unchanged}", "a row has start, cfa, ra and fp"),
        ("ra: \"*(CFA-8)\"", "ra: undefined", "neither cfa nor fp"),
        ("fde: none", "fde: nowhere", "needs `fde: none`"),
        ("fde: 0, row: 0", "fde: 0, row: 77", "answers with something that the section does not have"),
        ("pc: \"0x1001\", fde", "pc: \"0x1000\", fde", "asks twice for 0x1000, and not after a fault"),
        ("\"0x1001\", fde", "\"0x5000\", fde", "forgets to look up the boundary 0x1001"),
        (
            "\"0x1020\", return_address: true",
            "\"0x5000\", return_address: true",
            "0x1020 as a return address",
        ),
        ("pc: \"0x1000\"", "pc: \"4096\"", "is not an address"),
        ("num_fdes: 1", "num_fdes: 2", "has 2 FDEs, but answers for 1"),
        ("header:\n", "reject: {kind: bad-magic}\nheader:\n", "no other answers than reject"),
        ("    caller:", "    end: {kind: no-fde}\n    caller:", "either caller or end"),
    ] {
        let mistakes = mistakes(&catalogue, id, from, to);
        assert!(mistakes.contains(expected), "{from} -> {to}: {mistakes}");
    }
    let bits = mistakes(&catalogue, "step/v3-aarch64-strip", "address_bits: 39", "address_bits: 255");
    assert!(bits.contains("step 0: `address_bits` is 255, and an address has 1 to 64 bits"), "{bits}");
    let unknown = mistakes(&catalogue, "step/v3-amd64", "{kind: no-fde}", "{kind: no-fde, cfa: \"0x1\"}");
    assert!(unknown.contains("unknown key `cfa` (allowed here: "), "{unknown}");
}

/// A folder of vectors with a few of the files, of which `change` makes other texts.
fn changed(ids: &[&str], change: impl Fn(&str, String) -> String) -> Vec<String> {
    let folder = tempfile::tempdir().expect("a folder");
    let list =
        |name: &str| (name.to_owned(), std::fs::read_to_string(format!("{FOLDER}/{name}")).expect("a list"));
    let vectors = ids.iter().map(|id| (format!("{id}.yaml"), text(id)));
    for (name, text) in vectors.chain(LISTS.map(list)) {
        let path = folder.path().join(&name);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        std::fs::write(path, change(&name, text)).expect("a file");
    }
    let errors = Suite::load(folder.path(), Path::new(CLAUSES)).expect_err("mistakes");
    let prefix = format!("{}/", folder.path().display());
    errors.iter().map(|error| error.to_string().replace(&prefix, "")).collect()
}

const LISTS: [&str; 2] = ["readings.yaml", "mistakes.yaml"];

/// One mistake is one error, whatever follows from it.
#[test]
fn a_reading_that_is_renamed_is_told_once() {
    let ids = ["mask/v2-unaligned", "mask/v3-unaligned"];
    let told = changed(&ids, |name, text| match name {
        "readings.yaml" => text.replace("- name: mask-fdes\n", "- name: masked-fdes\n"),
        _ => text,
    });
    let expected = "mask/v2-unaligned.yaml:5:12: readings.yaml has no reading `mask-fdes`; did you mean \
                    `masked-fdes`? (in 2 vectors)";
    assert_eq!(told, [expected]);
    // An alternative of a reading that there is has an error of its own.
    let told = changed(&ids, |name, text| match name {
        "readings.yaml" => text,
        _ => text.replace("[mask-fdes/pc]", "[mask-fdes/pcs]"),
    });
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(told[0].contains("has no alternative `mask-fdes/pcs` (in 2 vectors)"), "{told:?}");
}

#[test]
fn bytes_that_are_none_are_shown_where_they_are() {
    let ids = ["step/v3-amd64"];
    for (from, to, expected) in [
        ("e48fffff ffffffff", "e48fffff fffffxff", "`fffffxff`: bytes are pairs of hexadecimal digits"),
        ("e48fffff ffffffff", "e48fffff fffffff", "`fffffff`: bytes are pairs of hexadecimal digits"),
    ] {
        let told = changed(&ids, |name, text| match name {
            "step/v3-amd64.yaml" => text.replacen(from, to, 1),
            _ => text,
        });
        let text = text("step/v3-amd64");
        let line = text.lines().position(|line| line.contains(from)).expect("the bytes") + 1;
        assert_eq!(told, [format!("step/v3-amd64.yaml:{line}:12: {expected}")]);
    }
}

/// Where a value of the section is, and not where the section starts.
#[test]
fn what_is_wrong_in_a_section_is_shown_where_it_is() {
    let id = "header/v2-amd64-aux-4";
    for (from, to, expected) in [
        ("aux: \"a1b2c3d4\"", "aux: \"a1b2cgd4\"", "`a1b2cgd4`: bytes are pairs of hexadecimal digits"),
        ("aux: \"a1b2c3d4\"", "aux: a1b2c3d", "`a1b2c3d`: bytes are pairs of hexadecimal digits"),
        ("aux: \"a1b2c3d4\"", "aux: >-\n    a1b2\n    c3dg", "`c3dg`: bytes are pairs of hexadecimal digits"),
    ] {
        let told = changed(&[id], |name, text| text.replacen(from, to, usize::from(name.contains("aux"))));
        let line = text(id).lines().take_while(|line| !line.contains(from)).count() + to.lines().count();
        assert!(
            told[0].starts_with(&format!("{id}.yaml:{line}:")) && told[0].ends_with(expected),
            "{told:?}"
        );
    }
}

/// An answer that readers may give, but not vectors.
#[test]
fn a_vector_gives_a_reason_for_each_rejection() {
    let catalogue = suite().catalogue;
    for (id, kind) in [
        ("opening/v2-bad-magic", "bad-magic"),
        ("fde/v3-amd64-fre-type-3", "unknown-fre-type"),
        ("row/v1-amd64-word-size-3", "unknown-data-word-size"),
    ] {
        let mistakes = mistakes(&catalogue, id, &format!("kind: {kind}"), "kind: unspecified");
        assert!(mistakes.contains("`unspecified`"), "{mistakes}");
    }
}

/// Readers answer in the terms of the vectors.
#[test]
fn answers_are_read_as_they_are_written() {
    fn again<T: serde::Serialize + serde::de::DeserializeOwned>(answer: &T) -> T {
        let text = serde_yaml::to_string(answer).expect("text");
        serde_yaml::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
    }
    for vector in suite().vectors {
        assert_eq!(again(&vector.reject), vector.reject, "{}", vector.id);
        assert_eq!(again(&vector.header), vector.header, "{}", vector.id);
        assert_eq!(again(&vector.fdes), vector.fdes, "{}", vector.id);
        assert_eq!(again(&vector.lookups), vector.lookups, "{}", vector.id);
        for step in &vector.steps {
            assert_eq!((again(&step.caller), again(&step.end)), (step.caller, step.end), "{}", vector.id);
        }
        let bytes = sframe_vectors::Hex(vector.bytes);
        assert_eq!(again(&bytes), bytes);
    }
}

#[test]
fn a_folder_without_vectors_is_an_error() {
    let errors = Suite::load(Path::new("src"), Path::new(CLAUSES)).expect_err("no vectors");
    assert!(errors[0].to_string().contains("readings.yaml: cannot be read"), "{errors:?}");
    let errors = Suite::load(Path::new(FOLDER), Path::new("absent")).expect_err("no clauses");
    assert!(errors[0].to_string().contains("absent: cannot be read"), "{errors:?}");
}

/// The committed bytes and the encoder were written independently.
#[test]
fn sections_encode_to_the_bytes_beside_them() {
    let suite = suite();
    let mut both = 0;
    for vector in &suite.vectors {
        let Some(section) = &vector.section else { continue };
        assert_eq!(section.encode(vector.address).as_ref(), Ok(&vector.bytes), "{}", vector.id);
        both += usize::from(text(&vector.id).contains("\nbytes: "));
    }
    assert!(both >= 600, "{both} vectors with section and bytes");
}

#[test]
fn boundaries_are_those_of_functions_and_rows() {
    let suite = suite();
    let vector = suite.vectors.iter().find(|vector| vector.id == "mask/v3-amd64-16-of-64").expect("a vector");
    let questions: Vec<_> = boundaries(&vector.fdes[..1])
        .into_iter()
        .filter(|question| !question.return_address)
        .map(|question| question.pc.0)
        .collect();
    let rows = [0xfff, 0x1000, 0x1001, 0x100a, 0x100b, 0x100c];
    let last_block = [0x102f, 0x1030, 0x1031, 0x103a, 0x103b, 0x103c, 0x103f, 0x1040];
    assert_eq!(questions, [&rows[..], &last_block].concat());
}

/// The manual names every group and every kind of rejection.
#[test]
fn the_manual_is_complete() {
    let manual = std::fs::read_to_string(format!("{FOLDER}/README.md")).expect("a manual");
    for vector in suite().vectors {
        let group = vector.id.split('/').next().expect("a group");
        assert!(manual.contains(&format!("| {group} ")), "the group {group}");
    }
    for word in sframe_vectors::RejectKind::OF_VECTORS.map(|kind| format!("{kind:?}")) {
        let mut kebab = String::new();
        for letter in word.chars() {
            if letter.is_uppercase() && !kebab.is_empty() {
                kebab.push('-');
            }
            kebab.extend(letter.to_lowercase());
        }
        assert!(manual.contains(&format!("| `{kebab}`")), "the rejection {kebab}");
    }
}

/// What is special about a row where it is asked about: a value for each feature that it has.
type Features = BTreeMap<&'static str, String>;
type Pair = (String, String);

/// Pairs of features that can't meet, or where nothing can go wrong that the text has a word for; and why. `|` is
/// between values, `*` is any. An entry with a place is about that alone.
const APART: &[(&str, &str, &str, &str)] = &[
    ("", "version=1|2", "FDE type=Flex", "version 3 has the type"),
    ("", "version=1|2", "signal=true", "version 3 has the mark"),
    ("", "version=1", "ABI=s390x", "version 2 has the ABI"),
    ("", "version=1|2", "words=no rows", "version 3 has outermost functions"),
    ("", "version=1", "words=0", "version 2 has such rows"),
    ("", "version=1|2", "words=4|5|6", "rows of default type have at most three"),
    ("", "FDE type=Default", "words=4|5|6", "they have at most three"),
    ("", "FDE type=Flex", "words=1", "the CFA alone has two"),
    ("", "FDE type=Flex", "words=no rows", "only functions of default type are outermost without rows"),
    ("", "version=1|2", "CFA=register|load SP|load FP|load register", "only flex rows have them"),
    ("", "version=1|2", "RA=CFA|SP|FP|load SP|load FP|load register", "only flex rows have them"),
    ("", "version=1|2", "FP=CFA|SP|FP|load SP|load FP|load register", "only flex rows have them"),
    ("", "version=1", "RA=register", "on s390x in version 2, and in flex rows"),
    ("", "version=1", "FP=register", "on s390x in version 2, and in flex rows"),
    ("", "FDE type=Default", "CFA=register|load SP|load FP|load register", "only flex rows have them"),
    ("", "FDE type=Default", "RA=CFA|SP|FP|load SP|load FP|load register", "only flex rows have them"),
    ("", "FDE type=Default", "FP=CFA|SP|FP|load SP|load FP|load register", "only flex rows have them"),
    ("", "ABI=amd64", "RA=unchanged", "no register has it"),
    ("", "ABI=amd64|s390x", "key=B", "it has no meaning there"),
    ("", "ABI=amd64|s390x", "mangled=true", "it has no meaning there"),
    ("", "fixed RA=none", "RA=fixed", "the header has none"),
    ("", "fixed RA=-8|other", "RA=unchanged", "the header says where it is"),
    ("", "fixed FP=none", "FP=fixed", "the header has none"),
    ("", "fixed FP=other", "FP=unchanged", "the header says where it is"),
    ("", "offset of RA=*", "RA=fixed|unchanged", "there is no word"),
    ("", "offset of FP=*", "FP=fixed|unchanged", "there is no word"),
    ("", "word size=1", "offset of RA=-16|+16|-32|+32", "too narrow"),
    ("", "word size=1", "offset of FP=-16|+16|-32|+32", "too narrow"),
    ("", "word size=1", "offset of CFA=-32|+32", "too narrow, even scaled"),
    ("", "word size=2", "offset of RA=-32|+32", "too narrow"),
    ("", "word size=2", "offset of FP=-32|+32", "too narrow"),
    ("", "words=0|no rows", "CFA=*", "the frame is outermost"),
    ("", "words=0|no rows", "RA=*", "the frame is outermost"),
    ("", "words=0|no rows", "FP=*", "the frame is outermost"),
    ("", "words=0|no rows", "offset of CFA=*", "the frame is outermost"),
    ("", "words=0|no rows", "offset of RA=*", "the frame is outermost"),
    ("", "words=0|no rows", "offset of FP=*", "the frame is outermost"),
    ("steps", "words=0|no rows", "caller's PC=*", "the frame is outermost"),
    ("", "words=0|no rows", "word size=*", "there is none"),
    ("", "words=no rows", "mangled=*", "a row says it"),
    ("", "words=no rows", "row by offset in function=*", "there is none"),
    ("", "words=1", "CFA=register|load SP|load FP|load register", "only flex rows have them"),
    (
        "",
        "words=1",
        "RA=CFA|SP|FP|register|load CFA|load SP|load FP|load register",
        "the word is that of the CFA",
    ),
    (
        "",
        "words=1",
        "FP=CFA|SP|FP|register|load CFA|load SP|load FP|load register",
        "the word is that of the CFA",
    ),
    ("", "words=1", "offset of RA=*", "the word is that of the CFA"),
    ("", "words=1", "offset of FP=*", "the word is that of the CFA"),
    (
        "",
        "words=2",
        "RA=CFA|SP|FP|register|load SP|load FP|load register",
        "in flex rows, they are those of the CFA",
    ),
    (
        "",
        "words=2",
        "FP=CFA|SP|FP|register|load SP|load FP|load register",
        "in flex rows, they are those of the CFA",
    ),
    ("", "words=3", "CFA=register|load SP|load FP|load register", "in flex rows, the third says nothing"),
    ("", "words=3", "RA=CFA|SP|FP|load SP|load FP|load register", "in flex rows, the third says nothing"),
    ("", "words=3", "FP=CFA|SP|FP|load SP|load FP|load register", "in flex rows, the third says nothing"),
    (
        "",
        "words=4",
        "FP=CFA|SP|FP|register|load CFA|load SP|load FP|load register",
        "they are those of CFA and RA",
    ),
    ("", "words=4", "RA=fixed|unchanged", "they are those of CFA and RA"),
    ("", "words=4", "offset of FP=*", "they are those of CFA and RA"),
    (
        "",
        "words=5",
        "RA=CFA|SP|FP|register|load CFA|load SP|load FP|load register",
        "they are those of CFA and FP",
    ),
    ("", "words=5", "FP=fixed|unchanged", "they are those of CFA and FP"),
    ("", "words=5", "offset of RA=*", "they are those of CFA and FP"),
    ("", "words=6", "RA=fixed|unchanged", "they are those of all three"),
    ("", "words=6", "FP=fixed|unchanged", "they are those of all three"),
    ("look-ups", "row by offset in function=*", "PC type=Inc", "it is the row"),
    ("steps", "row by offset in function=*", "PC type=Inc", "it is the row"),
    ("steps", "frame=caller|interrupted", "CFA=register|load register", "only the topmost frame's are known"),
    (
        "steps",
        "frame=caller|interrupted",
        "RA=register|load register|unchanged",
        "only the topmost frame's are known",
    ),
    ("steps", "frame=caller|interrupted", "FP=register|load register", "only the topmost frame's are known"),
];

/// The half of the address space, and whether it takes more than 32 bits.
fn address(address: u64) -> String {
    let wide = if address >> 32 == 0 { "low" } else { "wide" };
    if address >> 63 == 1 { "upper" } else { wide }.to_owned()
}

/// Sign and width of an offset.
fn extent(offset: i64) -> String {
    let bits = match offset {
        0 => return "0".to_owned(),
        _ if i8::try_from(offset).is_ok() => "8",
        _ if i16::try_from(offset).is_ok() => "16",
        _ => "32",
    };
    format!("{}{bits}", if offset < 0 { "-" } else { "+" })
}

fn base(equation: &Equation) -> String {
    let base = match equation.base {
        Base::Cfa => "CFA",
        Base::Sp => "SP",
        Base::Fp => "FP",
        Base::Register(_) => "register",
    };
    format!("{}{base}", if equation.dereference { "load " } else { "" })
}

/// A fixed offset is often the usual one.
fn fixed(offset: i8) -> &'static str {
    match offset {
        0 => "none",
        -8 => "-8",
        _ => "other",
    }
}

/// The features of a function, which it has even without rows.
fn of_function(vector: &Vector, fde: usize) -> Option<Features> {
    let section = vector.section.as_ref()?;
    let (source, found) = (section.fdes.get(fde)?, vector.fdes.get(fde)?);
    let raw = &source.raw;
    let is_plain = raw.info.is_none() && raw.info2.is_none() && raw.num_fres.is_none();
    if !is_plain || raw.fre_offset.is_some() || vector.only_answered {
        return None;
    }
    Some(Features::from([
        ("version", section.version.to_string()),
        ("ABI", section.abi.to_string()),
        ("auxiliary header", if section.aux.0.is_empty() { "none" } else { "some" }.to_owned()),
        ("starts", format!("{:?}", found.fre_type)),
        ("PC type", format!("{:?}", found.pc_type)),
        ("FDE type", format!("{:?}", found.fde_type)),
        ("key", format!("{:?}", found.pauth_key)),
        ("signal", found.signal.to_string()),
        ("function", address(found.start?.0)),
        ("fixed RA", fixed(section.fixed_ra).to_owned()),
        ("fixed FP", fixed(section.fixed_fp).to_owned()),
        ("words", "no rows".to_owned()),
    ]))
}

/// The features of a row.
fn of_row(vector: &Vector, fde: usize, row: usize) -> Option<Features> {
    let mut features = of_function(vector, fde)?;
    let section = vector.section.as_ref()?;
    let stored = section.fdes.get(fde)?.rows.get(row)?;
    let Row::Rules(rules) = vector.fdes.get(fde)?.rows.get(row)? else { return None };
    if stored.raw.info.is_some() {
        return None;
    }
    features.insert("words", stored.words.len().to_string());
    features.insert("mangled", rules.mangled.to_string());
    let Some(cfa) = rules.cfa else { return Some(features) };
    features.insert("word size", stored.width.to_string());
    features.insert("CFA", base(&cfa));
    features.insert("offset of CFA", extent(cfa.offset));
    // In rows of default type, RA may have no word; in others, no pair.
    let flex = section.fdes[fde].fde_type == FdeType::Flex;
    let has_ra =
        if flex { stored.words.get(2).is_some_and(|word| *word != 0) } else { section.fixed_ra == 0 };
    let fp_word = if flex { if has_ra { 4 } else { 3 } } else { if has_ra { 2 } else { 1 } };
    let has_fp = stored.words.get(fp_word).is_some_and(|word| !flex || *word != 0);
    for (name, offset, rule, has_word) in
        [("RA", "offset of RA", Some(rules.ra), has_ra), ("FP", "offset of FP", rules.fp, has_fp)]
    {
        let how = match rule {
            Some(Recovery::Rule(_)) if !has_word => "fixed".to_owned(),
            Some(Recovery::Rule(rule)) => {
                features.insert(offset, extent(rule.offset));
                base(&rule)
            }
            _ => "unchanged".to_owned(),
        };
        features.insert(name, how);
    }
    Some(features)
}

/// The features of what a look-up finds.
fn of_found(vector: &Vector, found: &Lookup) -> Option<Features> {
    let (fde, row) = match found.answer {
        sframe_vectors::Answer::Row(fde, row) => (fde, row),
        sframe_vectors::Answer::Outermost(fde) => return of_function(vector, fde),
        _ => return None,
    };
    let mut features = of_row(vector, fde, row)?;
    let function = vector.fdes.get(fde)?;
    if function.pc_type == PcType::Mask {
        let pc = found.pc.0.wrapping_sub(found.return_address.into());
        let offset = pc.wrapping_sub(function.start?.0);
        let starts_before = |row: &&Row| matches!(row, Row::Rules(rules) if u64::from(rules.start) <= offset);
        let is_same = function.rows.iter().rposition(|row| starts_before(&row)) == Some(row);
        features.insert("row by offset in function", if is_same { "same" } else { "other" }.to_owned());
    }
    Some(features)
}

/// The features of each step that gets to a caller, or ends as the section says.
fn of_steps(vector: &Vector) -> Vec<Features> {
    let lookup =
        |step: &Step| Question { pc: step.frame.pc, return_address: step.frame.kind == PcKind::Return };
    let question = SectionQuestion {
        lookups: vector.steps.iter().map(lookup).collect(),
        steps: Vec::new(),
        ..vector.question()
    };
    let found = sframe_vectors::model::answer(&question, &Ways::new()).lookups.unwrap_or_default();
    let of_step = |(step, found): (&Step, &Lookup)| {
        let mut features = of_found(vector, found)?;
        let frame = match (step.registers.is_some(), step.frame.kind) {
            (true, _) => "topmost",
            (false, PcKind::Instruction) => "interrupted",
            (false, PcKind::Return) => "caller",
        };
        features.insert("frame", frame.to_owned());
        features.insert("address bits", step.address_bits.is_some().to_string());
        features.insert("SP", address(step.frame.sp.0));
        if let Some(End::Outermost {}) = step.end {
            return Some(features);
        }
        let caller = step.caller?;
        features.insert("caller's PC", address(caller.pc.0));
        Some(features)
    };
    vector.steps.iter().zip(&found).filter_map(of_step).collect()
}

/// Whether `name=value` is what an entry of the table says.
fn is_said(said: &str, value: &str) -> bool {
    let (name, values) = said.split_once('=').expect("a feature and its values");
    value.split_once('=').is_some_and(|(it, value)| {
        it == name && (values == "*" || values.split('|').any(|known| known == value))
    })
}

/// A reader that has two features wrong only where they meet is wrong in some vector: in rows, look-ups and steps,
/// each value of a feature meets each value of every other.
#[test]
fn features_meet_in_pairs() {
    let suite = suite();
    // What some readers may refuse is not asked of them.
    let is_refused = |vector: &&Vector| {
        let refusals = vector.alternatives.iter().filter(|it| it.refused);
        refusals.flat_map(|it| &it.take).any(|taken| !taken.starts_with("fixed-ra-offset/"))
    };
    let (mut rows, mut lookups, mut steps) = (Vec::new(), Vec::new(), Vec::new());
    for vector in suite.vectors.iter().filter(|vector| !is_refused(vector)) {
        for (fde, function) in vector.fdes.iter().enumerate().take(300) {
            let of_rows = (0..function.rows.len()).filter_map(|row| of_row(vector, fde, row));
            rows.extend(of_rows);
            rows.extend(function.outermost.then(|| of_function(vector, fde)).flatten());
        }
        lookups.extend(vector.lookups.iter().filter_map(|lookup| of_found(vector, lookup)));
        steps.extend(of_steps(vector));
    }
    let values = |all: &[Features]| -> BTreeSet<String> {
        all.iter().flatten().map(|(name, value)| format!("{name}={value}")).collect()
    };
    let mut known = values(&rows);
    let (mut met_in_all, mut missing, mut idle) = (0, Vec::new(), BTreeSet::new());
    idle.extend(0..APART.len());
    for (place, all) in [("rows", &rows), ("look-ups", &lookups), ("steps", &steps)] {
        known.extend(values(all));
        let mut met = BTreeSet::<Pair>::new();
        for features in all.iter().collect::<BTreeSet<_>>() {
            let values: Vec<String> =
                features.iter().map(|(name, value)| format!("{name}={value}")).collect();
            for (index, one) in values.iter().enumerate() {
                met.extend(values[..index].iter().map(|other| (other.clone(), one.clone())));
            }
        }
        met_in_all += met.len();
        let names = |one: &str, other: &str| one.split('=').next() == other.split('=').next();
        for one in &known {
            for other in known.range::<String, _>((Excluded(one), Unbounded)) {
                let has = |pair: &Pair| met.contains(pair);
                let both = (one.clone(), other.clone());
                let turned = (other.clone(), one.clone());
                if names(one, other) || has(&both) || has(&turned) {
                    continue;
                }
                let entry = APART.iter().position(|(only, first, second, _)| {
                    (only.is_empty() || *only == place)
                        && (is_said(first, one) && is_said(second, other)
                            || is_said(first, other) && is_said(second, one))
                });
                match entry {
                    Some(entry) => drop(idle.remove(&entry)),
                    None => missing.push(format!("{place}: {one} and {other}")),
                }
            }
        }
    }
    let idle: Vec<_> = idle.into_iter().map(|index| APART[index]).collect();
    assert!(missing.is_empty(), "{met_in_all} pairs meet, {} do not:\n{}", missing.len(), missing.join("\n"));
    assert!(idle.is_empty(), "they do meet: {idle:#?}");
}
