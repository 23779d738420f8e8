//! The clauses that moments are about.

use std::collections::BTreeSet;

/// Parts of what a moment covers, and the names, without the version, of the clauses that a walk has to follow there.
const CLAUSES: &[(&str, &[&str])] = &[
    (" topmost ", &["lookup", "step", "step-first", "loaded"]),
    (" caller ", &["caller-lookup", "step", "step-sp"]),
    (" interrupted ", &["caller-lookup", "step", "step-sp"]),
    (" inc", &["pc-inc", "row-extent", "fre-start"]),
    (" mask", &["pc-mask", "rep-size"]),
    (" default ", &["fde-type-default", "default-fde"]),
    (" flex ", &["fde-type-flex", "flex-fde", "flex-pairs", "flex-control-word", "flex-offset", "step-flex"]),
    (" signal ", &["signal-frame"]),
    (" caller of a signal frame", &["signal-frame", "caller-lookup"]),
    ("CFA=SP", &["cfa-sp", "cfa-base"]),
    ("CFA=FP", &["cfa-fp", "cfa-base"]),
    ("=*(FP)", &["flex-dereference", "flex-base"]),
    ("=*(register)", &["flex-dereference", "flex-base"]),
    ("=register", &["flex-base"]),
    ("RA=*(CFA)", &["step-ra"]),
    ("RA=unchanged", &["ra-unchanged", "ra-unchanged-topmost"]),
    ("FP=*(CFA)", &["step-fp", "fp-in-frame"]),
    ("FP=unchanged", &["fp-unchanged"]),
    ("RA=undefined", &["ra-undefined"]),
    (" no rows", &["outermost-fde"]),
    ("mangled", &["mangled-ra"]),
    ("key A", &["pauth-key-a"]),
    ("key B", &["pauth-key-b"]),
    ("from the field", &["flag-pcrel"]),
    ("from the section", &["start-from-section"]),
    ("1-byte starts", &["fre-addr1"]),
    ("2-byte starts", &["fre-addr2"]),
    ("4-byte starts", &["fre-addr4"]),
    ("amd64 ", &["abi-amd64"]),
    ("aarch64 ", &["abi-aarch64-le"]),
    ("aarch64_be ", &["abi-aarch64-be"]),
    ("s390x ", &["abi-s390x", "s390x-cfa-scaling", "s390x-sp", "s390x-start"]),
];

/// Returns the names of the clauses that what moments cover is about, of those that there are.
pub(super) fn clauses<'c>(
    covered: impl Iterator<Item = &'c str>,
    known: &BTreeSet<String>,
) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for covered in covered {
        let Some(version) = covered.split(' ').nth(1) else { continue };
        let about = CLAUSES.iter().filter(|(part, _)| covered.contains(part));
        found.extend(about.flat_map(|(_, names)| *names).map(|name| format!("{version}-{name}")));
    }
    found.retain(|name| known.contains(name));
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_name_is_a_clause_of_a_version() {
        let catalogue = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../specs/clauses.yaml");
        let catalogue = sframe_corpus::spec::catalogue::Catalogue::load(&catalogue).expect("the catalogue");
        let known: BTreeSet<String> = catalogue.clauses.into_iter().map(|clause| clause.id).collect();
        for name in CLAUSES.iter().flat_map(|(_, names)| *names) {
            assert!((1..=3).any(|version| known.contains(&format!("v{version}-{name}"))), "{name}");
        }
    }

    #[test]
    fn a_clause_is_of_the_version_that_was_seen() {
        let known: BTreeSet<String> = ["v2-pc-mask", "v3-pc-mask"].map(str::to_owned).into();
        let found = clauses(["amd64 v2 topmost default mask CFA=SP"].into_iter(), &known);
        assert_eq!(found, ["v2-pc-mask".to_owned()].into());
    }
}
