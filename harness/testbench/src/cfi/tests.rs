use std::path::Path;

use rstest::rstest;

use super::{CallFrameInfo, Rules};
use crate::subject::Subject;

/// The information of a build of the corpus, and the start of one of its functions.
fn build(path: &str, function: &str) -> (CallFrameInfo, u64) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus/builds").join(path);
    let bytes = std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let subject = Subject::parse(&bytes).expect("a build of the corpus");
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

#[test]
fn the_expression_of_plt_entries_depends_on_the_pc() {
    let (cfi, entry) = build("gnu-2.47/amd64/crossing.O0-dynamic", "first_leaf@plt");
    let cfa = |offset| rules(&cfi, entry + offset).cfa.expect("an expression that is a sum").to_string();
    // Behind `push $index`, at offset 11, there is one word more.
    assert_eq!([cfa(0), cfa(6), cfa(11)], ["SP+8", "SP+8", "SP+16"]);
}

#[test]
fn a_signature_is_in_the_rules() {
    let (cfi, main) = build("gnu-2.47/aarch64/pauth.O2", "main");
    let fde = cfi.fde_at(main).expect("an FDE");
    let signed: Vec<bool> = cfi.rows(fde).expect("well-formed").iter().map(|row| row.signed).collect();
    assert!(signed.contains(&true) && signed.contains(&false), "{signed:?}");
}

#[test]
fn a_key_is_in_the_augmentation() {
    let (cfi, main) = build("gnu-2.47/aarch64/bti_code_key_b.O2", "main");
    let keys: Vec<bool> = cfi.fdes().iter().map(|fde| fde.key_b).collect();
    assert!(keys.contains(&true) && keys.contains(&false), "{keys:?}");
    assert!(cfi.fdes().iter().all(|fde| !fde.is_signal));
    assert!(cfi.fde_at(main).is_some());
}
