//! The format: what loads, what doesn't and why, and the bytes of sections.

use std::path::Path;

use sframe_vectors::{Catalogue, Suite, Vector, boundaries};

const FOLDER: &str = "../../corpus/vectors";
const CLAUSES: &str = "../../specs/clauses.yaml";

fn suite() -> Suite {
    Suite::load(Path::new(FOLDER), Path::new(CLAUSES)).unwrap_or_else(|errors| panic!("{errors:#?}"))
}

fn text(id: &str) -> String {
    std::fs::read_to_string(format!("{FOLDER}/{id}.yaml")).expect("a vector")
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
        ("name: v3-amd64", "name: other", "its name is `other`"),
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
    for name in ids.iter().map(|id| format!("{id}.yaml")).chain(LISTS.map(str::to_owned)) {
        let text = std::fs::read_to_string(format!("{FOLDER}/{name}")).expect("a file");
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
