//! The next release of a toolchain needs one new file, and no change to a spec.

use std::collections::BTreeSet;
use std::path::Path;

use sframe_corpus::corpus::{Manifest, Toolchain};
use sframe_corpus::spec::{Assembler, Compiler, Linker, Spec, Tool};
use sframe_judge::unwind::sframe_unwinder;
use sframe_machine::Options;
use sframe_suite::case::{Case, Outcome};
use sframe_suite::suite::{Filter, Suite};
use tempfile::TempDir;

use crate::common::{repository, suite};

const LATEST: &str = "gnu-2.47";
const NEXT: &str = "gnu-2.48";

/// The committed corpus with one more toolchain: the latest release's builds
/// under the name of the next one, whose tools all have new versions.
fn corpus_with_next_release() -> TempDir {
    let (from, folder) = (repository().join("corpus"), tempfile::tempdir().expect("a folder"));
    let corpus = folder.path();
    std::fs::create_dir(corpus.join("toolchains")).expect("a folder");
    for entry in std::fs::read_dir(from.join("toolchains")).expect("a folder") {
        let path = entry.expect("an entry").path();
        std::fs::copy(&path, corpus.join("toolchains").join(path.file_name().expect("a name")))
            .expect("a copy");
    }
    let definition = std::fs::read_to_string(Toolchain::path_in(corpus, LATEST)).expect("a definition");
    let mut next = definition.replace(&format!("name: {LATEST}"), &format!("name: {NEXT}"));
    for (old, new) in [("gcc 16.2", "gcc 17.1"), ("gas 2.47.50", "gas 2.48"), ("ld 2.47.50", "ld 2.48")] {
        assert!(next.contains(old), "{old} is not what {LATEST} has");
        next = next.replace(old, new);
    }
    std::fs::write(Toolchain::path_in(corpus, NEXT), next).expect("a definition");

    std::os::unix::fs::symlink(
        from.join("programs").canonicalize().expect("programs"),
        corpus.join("programs"),
    )
    .expect("a link");
    let mut manifest = Manifest::load(&from).expect("the manifest");
    let builds = &mut manifest.builds;
    for index in 0..builds.len() {
        if builds[index].toolchain == LATEST {
            let mut build = builds[index].clone();
            build.id = build.id.replacen(LATEST, NEXT, 1);
            NEXT.clone_into(&mut build.toolchain);
            builds.push(build);
        }
    }
    builds.sort_by(|one, other| one.id.cmp(&other.id));
    manifest.write(corpus).expect("a manifest");
    std::fs::create_dir(corpus.join("builds")).expect("a folder");
    let latest = from.join("builds").join(LATEST).canonicalize().expect("builds");
    std::os::unix::fs::symlink(latest, corpus.join("builds").join(NEXT)).expect("a link");
    folder
}

fn open(corpus: &Path) -> Suite {
    Suite::open(corpus, &repository().join("specs")).expect("a suite")
}

/// Everything in a spec that applies to a build.
fn selected(case: &Case<'_>) -> impl PartialEq + std::fmt::Debug + use<> {
    let (spec, facts) = (case.spec, case.facts());
    let exceptions = |list| -> Vec<_> { Spec::exceptions_for(list, &facts).cloned().collect() };
    (
        spec.stops_for(&facts).map(|(index, _)| index).collect::<Vec<_>>(),
        spec.sweep_for(&facts).cloned(),
        exceptions(&spec.uncovered),
        exceptions(&spec.unreached),
        spec.ends_for(&facts).to_vec(),
        spec.signals_for(&facts).map(|(index, _)| index).collect::<Vec<_>>(),
        spec.known_for(&facts).map(|(index, _)| index).collect::<Vec<_>>(),
        spec.skip_for(&facts).cloned(),
    )
}

#[test]
fn specs_say_of_the_next_release_what_they_say_of_the_latest() {
    let corpus = corpus_with_next_release();
    let suite = open(corpus.path());
    let cases = |name: &str| {
        let filter = Filter { toolchains: vec![name.to_owned()], ..Filter::default() };
        suite.cases(&filter).expect("cases")
    };
    let (latest, next) = (cases(LATEST), cases(NEXT));
    assert_eq!(latest.len(), next.len(), "specs apply to both");
    assert!(latest.len() > 900, "only {} cases", latest.len());
    for (latest, next) in latest.iter().zip(&next) {
        assert_eq!(next.id(), latest.id().replace(LATEST, NEXT));
        assert_eq!(selected(next), selected(latest), "{}", next.id());
    }
}

#[test]
fn cases_of_the_next_release_come_out_as_those_of_the_latest() {
    let corpus = corpus_with_next_release();
    let suite = open(corpus.path());
    let specs = ["leaf", "realign", "remember_restore"];
    let filter = Filter {
        specs: specs.iter().map(|name| name.parse().expect("a pattern")).collect(),
        toolchains: vec![NEXT.to_owned()],
        ..Filter::default()
    };
    let cases = suite.cases(&filter).expect("cases");
    let abis: BTreeSet<_> = cases.iter().map(|case| case.build.abi).collect();
    assert_eq!(abis.len(), 4, "{abis:?}");
    let reports = suite.run(&cases, &Options::default(), &sframe_unwinder, &|_| ());
    for report in &reports {
        let as_expected = matches!(report.outcome, Outcome::Agree | Outcome::Known);
        assert!(as_expected, "{}: {:?} {:?}", report.id, report.reason, report.findings);
    }
    for name in specs {
        let mut of_spec = reports.iter().filter(|report| report.program == name);
        assert!(of_spec.any(|report| report.outcome == Outcome::Known), "{name} has known failures");
    }
}

/// No property of a toolchain shows which Rust compiler it has.
const SELECTED_BY_NAME: [&str; 1] = ["rust_code.yaml"];

#[test]
fn specs_select_by_what_matters_and_not_by_name() {
    let by_name = suite().specs().iter().filter(|(spec, source)| {
        let mut lines = source.text().lines().map(|line| line.split('#').next().unwrap_or_default());
        spec.toolchains.is_some() || lines.any(|line| line.contains("toolchain:"))
    });
    let names: Vec<_> = by_name.filter_map(|(_, source)| source.path().file_name()?.to_str()).collect();
    assert_eq!(names, SELECTED_BY_NAME);
}

/// Whether a tool's own name for itself contains its version as a word,
/// possibly followed by digits that a spec need not know.
fn says<N>(words: &str, is_name: bool, tool: Option<&Tool<N>>) -> bool {
    let version = tool.map(|tool| tool.version.to_string()).unwrap_or_default();
    let is_it = |word: &str| word == version || word.starts_with(&format!("{version}."));
    is_name && words.split([' ', '(', ')']).any(is_it)
}

#[test]
fn toolchains_say_of_themselves_what_their_tools_say() {
    let suite = suite();
    for build in &suite.manifest().builds {
        let producer = suite.producer(&build.toolchain).expect("a producer");
        let (compiler, binutils) = (build.compiler.as_str(), build.binutils.as_str());
        let name = producer.compiler.as_ref().map(|tool| tool.name);
        let is_name = name == Some(if compiler.contains("clang") { Compiler::Clang } else { Compiler::Gcc });
        assert!(says(compiler, is_name, producer.compiler.as_ref()), "{}: {compiler}", build.id);
        let is_lld = binutils.contains("LLD");
        let name = producer.linker.as_ref().map(|tool| tool.name);
        let is_name = name == Some(if is_lld { Linker::Lld } else { Linker::Ld });
        assert!(says(binutils, is_name, producer.linker.as_ref()), "{}: {binutils}", build.id);
        let name = producer.assembler.as_ref().map(|tool| tool.name);
        let is_name = name == Some(if is_lld { Assembler::Llvm } else { Assembler::Gas });
        assert!(says(binutils, is_name, producer.assembler.as_ref()), "{}: {binutils}", build.id);
    }
}
