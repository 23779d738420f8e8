//! The cases for linkers: what is committed belongs together, and the page of results is complete.

use std::collections::BTreeSet;
use std::path::Path;

use rstest::rstest;
use sframe_corpus::spec::Faults;
use sframe_links::{LinkCases, Subject};

use crate::common::repository;

fn names(folder: &Path, ending: &str) -> BTreeSet<String> {
    let files = std::fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let name = |file: std::fs::DirEntry| Some(file.file_name().to_str()?.strip_suffix(ending)?.to_owned());
    files.filter_map(|file| name(file.expect("an entry"))).collect()
}

fn text(path: &str) -> String {
    std::fs::read_to_string(repository().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

fn subjects() -> BTreeSet<String> {
    let mut subjects = names(&repository().join("corpus/links/linkers"), ".yaml");
    subjects.remove("toolchain");
    subjects
}

#[test]
fn each_source_is_assembled_and_used() {
    let links = repository().join("corpus/links");
    let sources = names(&links.join("sources"), ".S");
    let cases = LinkCases::load(&links).unwrap_or_else(|error| panic!("{error}"));
    let objects: BTreeSet<&str> = cases.objects().collect();
    let sets = sframe_engine::Abi::ALL.iter().flat_map(|abi| {
        // Old assemblers write nothing for s390x.
        let kinds = if abi.name() == "s390x" { &["v3", "plain"][..] } else { &["v1", "v2", "v3", "plain"] };
        kinds.iter().map(move |kind| format!("{kind}/{abi}"))
    });
    for set in sets {
        let missing = sources.iter().find(|name| !objects.contains(&*format!("{set}/{name}.o")));
        assert_eq!(missing, None, "{set}");
    }
    let used: BTreeSet<String> = cases
        .cases
        .iter()
        .flat_map(|case| {
            let patched = case.patched.values().map(|patch| patch.of.clone());
            case.steps.iter().flat_map(|step| step.of.clone()).chain(patched)
        })
        .map(|name| name.rsplit(':').next().unwrap_or_default().to_owned())
        .collect();
    let unused: Vec<_> = sources.difference(&used).collect();
    assert!(unused.is_empty(), "{unused:?}");
}

#[test]
fn the_page_has_all_cases_and_linkers_and_explains_what_is_wrong() {
    let page = text("harness/results/links.md");
    let cases = LinkCases::load(&repository().join("corpus/links")).unwrap_or_else(|error| panic!("{error}"));
    for case in &cases.cases {
        assert!(page.contains(&format!("\n| {} |", case.name)), "{}: run ci/links", case.name);
    }
    assert!(!page.contains("**wrong**"), "something is wrong that no description of a linker knows");
    let script = text("ci/links");
    for subject in subjects() {
        assert!(page.contains(&format!("\n- {subject}: ")), "{subject}: run ci/links");
        assert!(script.contains(&format!(" {subject}")), "ci/links does not try {subject}");
    }
}

#[test]
fn what_is_known_of_linkers_names_pages_of_faults() {
    let faults = Faults::load(&repository().join("specs")).expect("pages of faults");
    let cases = LinkCases::load(&repository().join("corpus/links")).unwrap_or_else(|error| panic!("{error}"));
    let mut unused: BTreeSet<&str> = cases.pages.keys().map(String::as_str).collect();
    let both: Vec<_> = unused.iter().filter(|name| faults.get(name).is_some()).collect();
    assert!(both.is_empty(), "two pages have one name: {both:?}");
    for name in subjects() {
        // The root need not be installed.
        let path = repository().join(format!("corpus/links/linkers/{name}.yaml"));
        let subject = Subject::parse(&path, &cases, &faults).unwrap_or_else(|error| panic!("{error}"));
        for known in &subject.known {
            unused.remove(&*known.fault);
        }
    }
    assert!(unused.is_empty(), "no case shows {unused:?}");
}

/// What a description names has to be there, and an error says what was meant.
#[rstest]
#[case("fault: ld-gc-sections\n", "fault: ld-gc-section\n", "did you mean `ld-gc-sections`?")]
#[case(
    "toolchain: gnu-2.40",
    "toolchain: gnu-2.400",
    "unknown toolchain `gnu-2.400`; did you mean `gnu-2.40`?"
)]
#[case("toolchain: gnu-2.40", "toolchain: gnu-2.40", "this toolchain is not installed: there is no folder")]
fn a_description_that_names_nothing_says_what_was_meant(
    #[case] from: &str,
    #[case] to: &str,
    #[case] says: &str,
) {
    let faults = Faults::load(&repository().join("specs")).expect("pages of faults");
    let cases = LinkCases::load(&repository().join("corpus/links")).unwrap_or_else(|error| panic!("{error}"));
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("ld.yaml");
    std::fs::write(&path, text("corpus/links/linkers/ld-2.40.yaml").replacen(from, to, 1)).expect("a file");
    let error = Subject::read(&path, folder.path(), &cases, &faults).expect_err("a mistake");
    assert!(error.to_string().contains(says), "{error}");
}
