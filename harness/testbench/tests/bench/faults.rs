//! Pages of faults: what they say is what their committed builds show, and what the toolchains
//! that are there make of their sources.

use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use rayon::prelude::*;
use rstest::rstest;
use serde_json::Value;
use sframe_corpus::corpus::{MadeExample, Toolchain};
use sframe_corpus::faults::{
    Observed, Reproduced, Reproduction, build_of, differences, is_current, keep, reproduce,
};
use sframe_corpus::spec::{Component, Fault, Faults, FaultySection};
use sframe_judge::examine::stop::StopRequest;
use sframe_links::LinkPage;
use sframe_suite::suite::{Suite, SuiteError};

use crate::command::{are_installed, bench, bench_in, copy_repository, json, status, toolchains};
use crate::common::{repository, suite};

/// Makes the committed builds, which needs the toolchains.
const UPDATE: &str = "UPDATE_FAULTS";

fn corpus() -> PathBuf {
    repository().join("corpus")
}

fn fault(name: &str) -> Fault {
    suite().faults().get(name).expect("a page").clone()
}

fn toolchain(name: &str) -> Toolchain {
    Toolchain::load(&Toolchain::path_in(&corpus(), name)).expect("a toolchain")
}

fn committed(name: &str, fault: &Fault) -> Observed {
    let build = build_of(&corpus(), name, &fault.example);
    Observed::of(&build, &fault.example, fault.section).unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn make(name: &str, fault: &Fault) {
    let toolchain = toolchain(&fault.example.toolchain);
    let made = MadeExample::make(name, &fault.example, &toolchain, &toolchains(), &StopRequest::default());
    let made = made.unwrap_or_else(|error| panic!("{name}: {}", sframe_kit::text::with_causes(&error)));
    keep(&corpus(), name, &fault.example, made.program()).unwrap_or_else(|error| panic!("{name}: {error}"));
}

#[test]
fn each_page_says_what_its_committed_build_shows() {
    if std::env::var_os(UPDATE).is_some_and(|value| value == "1") {
        // Suites refuse a new page without its build.
        let faults = Faults::load(&repository().join("specs")).expect("pages");
        let stale = faults.iter().filter(|(name, fault, _)| {
            !fault.example.is_crash() && !is_current(&corpus(), name, &fault.example)
        });
        stale.for_each(|(name, fault, _)| make(name, fault));
    }
    let mut wrong = Vec::new();
    for (name, fault, _) in suite().faults().iter() {
        // There is no program: `toolchains_have_the_faults_that_pages_say` has the assembler crash again.
        if fault.example.is_crash() {
            continue;
        }
        if !is_current(&corpus(), name, &fault.example) {
            wrong.push(format!("{name}: the build is of other sources: {UPDATE}=1, with the toolchain"));
        }
        let lines = differences(fault, &committed(name, fault));
        wrong.extend(lines.into_iter().map(|line| format!("{name}: {line}")));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Pages with signs whose committed builds do not show that it is this fault, and why.
const UNNAMED: &[(&str, &str)] = &[
    ("clang-swift-async", "made of LLVM's assembly, whose file names no compiler"),
    ("clang-tailcc-arguments", "made of LLVM's assembly, whose file names no compiler"),
    ("ld-gc-sections-plt", "what is left out is no finding"),
    ("ld-ibt-plt", "GNU ld leaves no version, and later ones are mended"),
    ("ld-plt-got-missing", "what is left out is no finding"),
    ("ld-plt-first-input", "what is left out is no finding"),
    ("ld-traditional-format", "the file does not show the flag"),
];

/// Builds that show another page's fault as well.
const ALSO: &[(&str, &str)] = &[
    ("clang-expression-forgotten", "clang-argument-pointer-epilogue"),
    ("gcc-renamed-cfa-register", "gcc-popped-frame-pointer"),
];

/// Signs are those of one fault: a build of a page's example is named by that page, and by no other one.
#[test]
fn findings_in_committed_builds_are_named_by_their_page() {
    let suite = suite();
    let pages: Vec<_> = suite.faults().iter().filter(|(_, fault, _)| !fault.example.is_crash()).collect();
    let wrong = pages.into_par_iter().flat_map_iter(|(name, fault, _)| {
        let build = build_of(&corpus(), name, &fault.example).display().to_string();
        let source = if fault.section == FaultySection::Sframe { "sframe" } else { "eh-frame" };
        let report = json(&bench(&["check", "--no-explore", "--json", "--from", source, &build]));
        let findings = report["findings"].as_array().expect("findings").iter();
        let mut names: Vec<_> = findings.filter_map(|finding| finding["fault"]["name"].as_str()).collect();
        names.sort_unstable();
        names.dedup();
        let is_library = matches!(fault.component, Component::Library(_));
        let is_named =
            !fault.signs.is_empty() && !is_library && UNNAMED.iter().all(|(page, _)| *page != name);
        let also = ALSO.iter().filter(|(page, _)| *page == name).map(|(_, other)| *other);
        let mut expected: Vec<_> = is_named.then_some(name).into_iter().chain(also).collect();
        expected.sort_unstable();
        (names != expected)
            .then(|| format!("{name}: {names:?} and not {expected:?}"))
            .into_iter()
            .collect::<Vec<_>>()
    });
    let wrong: Vec<String> = wrong.collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A layout that one flag leads to, or something else, gives a hint and no name where the flags are not known.
#[rstest]
#[case::of_a_finding("ld-traditional-format", "both", &["check", "--no-explore"])]
#[case::of_what_is_left_out("ld-gc-sections-plt", "plt", &["diff"])]
#[case::of_one_of_two_pages("ld-plt-first-input", "plt", &["diff"])]
fn a_layout_of_unknown_flags_is_a_hint(#[case] page: &str, #[case] file: &str, #[case] command: &[&str]) {
    let build = corpus().join("faults").join(page).join(file).display().to_string();
    let report = bench(&[command, &["--json", &build]].concat());
    let said = text(&report.stdout);
    assert!(said.contains(&format!("this matches {page}, a bug of ld")), "{said}");
    assert!(said.contains("the file does not say how it was linked"), "{said}");
    assert!(!said.contains("\"fault\": \"ld"), "{said}");
    assert_eq!(status(&bench(&[command, &["--known-faults", &build]].concat())), 1);
}

/// What a spec does not list is named as well, by what the corpus says of the toolchain.
#[test]
fn unknown_findings_of_a_run_are_named_by_pages() {
    let folder = tempfile::tempdir().expect("a folder");
    copy_repository(folder.path());
    let spec = folder.path().join("specs/crossing_ibt.yaml");
    let text = std::fs::read_to_string(&spec).expect("a spec");
    let (rest, _) = text.split_once("\nknown:\n").expect("known findings at the end");
    std::fs::write(&spec, format!("{rest}\n")).expect("a spec");
    for (toolchain, page) in [("gnu-2.47", "ld-plt-got"), ("gnu-2.40", "ld-ibt-plt")] {
        let output =
            bench_in(folder.path(), &["run", "--json", "--spec", "crossing_ibt", "--toolchain", toolchain]);
        let report = json(&output);
        let cases = report["cases"].as_array().expect("cases").iter();
        let findings = cases.flat_map(|case| case["findings"].as_array().expect("findings"));
        let names: Vec<_> = findings.map(|finding| &finding["fault"]["name"]).collect();
        assert!(names.contains(&&Value::from(page)), "{toolchain}: {names:?}");
        assert!(names.iter().all(|name| name.is_null() || **name == page), "{toolchain}: {names:?}");
    }
}

const CRASH: &str = "gas-register-before-first-row";

const STATE: &str = "gas-one-remembered-state";

/// What a page may say wrongly.
#[rstest]
#[case::the_function(STATE, "function", "_start", "_start has no FDE")]
#[case::the_row(STATE, "row", "0x2", "wrong-cfa in f, row +0x2")]
#[case::the_verdict(STATE, "verdict", "wrong-ra", "wrong-ra in f, row +0x5")]
#[case::the_wrong_rules(STATE, "wrong", "CFA = SP+24", "seen: wrong-cfa: f+0x5 (0x40100c)")]
#[case::a_witness(STATE, "run", "nothing", "on the page: nothing")]
#[case::a_witness_that_says_nothing(STATE, "oracle", "yes", "oracle says: nothing; on the page: yes")]
#[case::the_component(STATE, "component", "lld-sections-not-merged", "triage blames producer-assembler")]
#[case::the_right_fp(
    "gas-fp-by-expression",
    "right",
    "CFA = SP+16, RA = *(CFA-8), FP = *(CFA-8)",
    "and not 0xa5a5"
)]
#[case::the_right_cfa("gcc-return-thunk", "right", "CFA = SP+24, RA = *(CFA-8), FP unchanged", "gives 0x")]
#[case::what_nobody_says(
    "gas-restores-first-row",
    "right",
    "CFA = SP+8, RA unchanged, FP unchanged",
    "no witness says"
)]
#[case::what_the_cfi_does_not_say(
    "lld-sections-not-merged",
    "right",
    "CFA = SP+24, RA = *(CFA-8), FP unchanged",
    "not what the CFI says"
)]
#[case::a_function_with_an_fde(
    "ld-gc-sections-plt",
    "function",
    "_start",
    "no-fde in _start, with no row: not seen"
)]
#[case::the_count_of_instructions("ld-gc-sections-plt", "run", "1 instruction", "executed without an FDE")]
#[case::what_the_cfi_says_there("ld-gc-sections-plt", "right", "CFA = SP+16", "not what the CFI says")]
#[case::the_cfi_of_no_fde("ld-gc-sections-plt", "CFI", "nothing", "CFI says: .eh_frame")]
fn what_a_page_says_wrongly_is_noticed(
    #[case] name: &str,
    #[case] key: &str,
    #[case] value: &str,
    #[case] message: &str,
) {
    let mut page = fault(name);
    let observed = committed(name, &page);
    assert_eq!(differences(&page, &observed), Vec::<String>::new());
    let example = &mut page.example;
    match key {
        "function" => value.clone_into(&mut example.function),
        "row" => example.row = Some(value.parse().expect("a row")),
        "verdict" => example.verdict = value.parse().expect("a verdict"),
        "wrong" => value.clone_into(&mut example.wrong),
        "right" => value.clone_into(&mut example.right),
        "component" => page.component = fault(value).component,
        witness => drop(page.witnesses.insert(witness.to_owned(), value.to_owned())),
    }
    let lines = differences(&page, &observed);
    assert!(lines.iter().any(|line| line.contains(message)), "{lines:?}");
}

/// A right section shows nothing: those of .sframe are, where .eh_frame is wrong.
#[test]
fn a_build_without_the_fault_shows_nothing() {
    let page = fault("llvm-adjusts-last-offset");
    let build = build_of(&corpus(), "llvm-adjusts-last-offset", &page.example);
    let of = |section| Observed::of(&build, &page.example, section).expect("a build");
    assert!(of(FaultySection::EhFrame).shows(&page.example));
    assert!(!of(FaultySection::Sframe).shows(&page.example));
}

#[test]
fn another_source_needs_another_build() {
    let mut page = fault("gas-one-remembered-state");
    let is_current = |page: &Fault| is_current(&corpus(), "gas-one-remembered-state", &page.example);
    assert!(is_current(&page));
    let command = page.example.commands[0].clone();
    page.example.commands[0] += " -g";
    assert!(!is_current(&page));
    page.example.commands[0] = command;
    page.example.sources.values_mut().for_each(|source| source.push('\n'));
    assert!(!is_current(&page));
}

/// Builds of no page would never be looked at.
#[test]
fn each_folder_of_builds_has_its_page() {
    let entries = std::fs::read_dir(corpus().join("faults")).expect("a folder");
    let folders = entries.map(|entry| entry.expect("an entry").path()).filter(|path| path.is_dir());
    let mut names: Vec<String> =
        folders.map(|path| path.file_name().expect("a name").to_str().expect("text").to_owned()).collect();
    names.sort();
    for name in &names {
        assert!(suite().faults().get(name).is_some(), "{name}");
    }
    let list = std::fs::read_to_string(corpus().join("faults/sources.sha256")).expect("a list");
    assert!(list.lines().map(|line| line.split(' ').next().unwrap_or_default()).eq(&names), "{list}");
}

/// The errors of a suite whose only spec is about `leaf`, with one page more or less.
fn errors_of(known: &str, page: Option<(&str, &str)>) -> Vec<String> {
    let folder = tempfile::tempdir().expect("a folder");
    let pages = folder.path().join("faults");
    std::fs::create_dir(&pages).expect("a folder");
    let spec = format!("program: leaf\nsummary: s\ntargets: all\nstops: [{{at: main}}]\n{known}");
    std::fs::write(folder.path().join("leaf.yaml"), spec).expect("a spec");
    let one = std::fs::read_to_string(repository().join("specs/faults/gas-ignores-same-value.yaml"));
    std::fs::write(pages.join("gas-ignores-same-value.yaml"), one.expect("a page")).expect("a page");
    if let Some((name, page)) = page {
        std::fs::write(pages.join(name), page).expect("a page");
    }
    match Suite::open(&corpus(), folder.path()) {
        Err(SuiteError::Specs(errors)) => {
            errors.iter().map(|error| error.render(false).to_string()).collect()
        }
        Err(error) => panic!("{error}"),
        Ok(_) => Vec::new(),
    }
}

#[test]
fn a_known_failure_is_of_builds_that_can_have_the_fault() {
    let known = |range: &str| {
        format!(
            "known:\n  - where: {{assembler: {range}, abi: amd64}}\n    verdict: wrong-fp\n    \
             blame: producer-assembler\n    fault: gas-ignores-same-value\n"
        )
    };
    assert_eq!(errors_of(&known("gas < 2.47"), None), Vec::<String>::new());
    for (range, tool) in [("gas", "gas 2.47.50"), ("[llvm, gas < 2.47]", "another tool")] {
        let errors = errors_of(&known(range), None);
        assert_eq!(errors.len(), 1, "{errors:?}");
        assert!(
            errors[0].contains(&format!("is by {tool}: `gas-ignores-same-value` is a bug of gas < 2.47")),
            "{errors:?}"
        );
        assert!(errors[0].contains("leaf.yaml:6:12"), "{errors:?}");
    }
}

#[test]
fn the_toolchain_of_a_page_has_the_fault() {
    let page = std::fs::read_to_string(repository().join("specs/faults/gas-ignores-same-value.yaml"));
    let page = page.expect("a page");
    for (name, message) in [
        ("gnu-2.47", "`gnu-2.47` has gas 2.47.50, and this is a bug of gas < 2.47"),
        ("gnu-2.4", "unknown toolchain `gnu-2.4`; did you mean `gnu-2.4"),
    ] {
        let page = page.replace("toolchain: gnu-2.44", &format!("toolchain: {name}"));
        let errors = errors_of("", Some(("gas-ignores-same-value.yaml", &page)));
        assert_eq!(errors.len(), 1, "{errors:?}");
        assert!(errors[0].contains(message), "{errors:?}");
    }
}

#[test]
fn a_page_that_nothing_checks_is_an_error() {
    let page = std::fs::read_to_string(repository().join("specs/faults/gas-ignores-same-value.yaml"));
    let page = page.expect("a page");
    let errors = errors_of("", Some(("gas-forgotten.yaml", &page)));
    assert_eq!(errors.len(), 1, "{errors:?}");
    assert!(
        errors[0].contains("no spec names this fault, and the corpus has no build of its example"),
        "{errors:?}"
    );
    assert!(errors[0].contains("gas-forgotten.yaml:2:8"), "{errors:?}");
    let known = "known:\n  - where: {assembler: gas < 2.47, abi: amd64}\n    verdict: wrong-fp\n    \
                 blame: producer-assembler\n    fault: gas-forgotten\n";
    assert_eq!(errors_of(known, Some(("gas-forgotten.yaml", &page))), Vec::<String>::new());
}

/// A toolchain whose compiler is a script, and how it fares with an example.
fn try_script(name: &str, script: &str, properties: &str) -> Option<Reproduction> {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name);
    std::fs::write(path("cc"), format!("#!/bin/sh\n{script}\n")).expect("a file");
    std::fs::set_permissions(path("cc"), std::fs::Permissions::from_mode(0o755)).expect("rights");
    let definition = format!(
        "name: fake\nsummary: A script.\nproperties: {properties}\nabis: {{amd64: {{compiler: ./cc, flags: [-m64]}}}}\n"
    );
    std::fs::write(path("fake.yaml"), definition).expect("a file");
    let (page, fake) = (fault(name), Toolchain::load(&path("fake.yaml")).expect("a toolchain"));
    let written_for = toolchain(&page.example.toolchain);
    reproduce(name, &page, &written_for, (&fake, &toolchains()), &StopRequest::default())
        .expect("a toolchain that is there")
}

/// The page's commands are run with another compiler, and its builds are judged.
#[rstest]
#[case::that_has_it(STATE, "gas 2.48", true, Some(&Reproduced::Shown))]
#[case::that_should_not_have_it("gas-ignores-same-value", "gas 2.48", false, Some(&Reproduced::Shown))]
#[case::that_should_have_it("gas-return-address-not-restored", "gas 2.48", true, None)]
fn a_toolchain(
    #[case] name: &str,
    #[case] assembler: &str,
    #[case] expected: bool,
    #[case] result: Option<&Reproduced>,
) {
    // Whatever it is asked to make, it delivers a committed build of the first.
    let build = |name: &str| build_of(&corpus(), name, &fault(name).example).canonicalize().expect("a build");
    let delivered = if result.is_some() { build(name) } else { build(STATE) };
    let script = format!(
        "[ \"$1\" = -m64 ] || exit 1\nwhile [ \"$1\" != -o ]; do shift; done\n[ -f *.s ] && cp {} $2",
        delivered.display()
    );
    let tried = try_script(name, &script, &format!("{{assembler: {assembler}}}")).expect("its assembler");
    assert_eq!((tried.expected, &*tried.tool), (expected, assembler));
    match result {
        Some(result) => assert_eq!(tried.result, *result),
        None => {
            let Reproduced::NotShown { instead } = &tried.result else { panic!("{tried:?}") };
            assert!(instead.iter().any(|line| line.starts_with("wrong-cfa: f+0x5")), "{instead:?}");
        }
    }
    assert_eq!(tried.is_as_expected(), expected == matches!(tried.result, Reproduced::Shown));
}

#[test]
fn a_toolchain_that_fails_is_not_one_without_the_fault() {
    for (script, part) in [
        ("echo no such option >&2; exit 1", "no such option"),
        ("exit 0", "wrote no file"),
        ("while [ \"$1\" != -o ]; do shift; done; echo > $2", "nested"),
    ] {
        let tried = try_script(STATE, script, "{assembler: gas 2.30}").expect("its assembler");
        let Reproduced::Failed { reason } = &tried.result else { panic!("{tried:?}") };
        assert!(reason.contains(part) && !tried.is_as_expected(), "{reason}");
    }
    assert_eq!(try_script(STATE, "exit 1", "{assembler: llvm 22}"), None, "a fault of another assembler");
    assert_eq!(try_script("gas-fp-by-expression", "exit 1", "{assembler: gas 2.47}"), None, "another ABI");
}

/// A crash is shown by what the assembler says, and by nothing else that goes wrong.
#[rstest]
#[case::the_same("echo 'x.s: Internal error (Segmentation fault).' >&2; exit 1", true)]
#[case::another_crash("echo 'x.s: Internal error (Aborted).' >&2; exit 1", false)]
#[case::no_crash("echo 'x.s: Error: no such instruction' >&2; exit 1", false)]
#[case::nothing_said("exit 1", false)]
fn an_assembler_that_crashes(#[case] script: &str, #[case] shows: bool) {
    let tried = try_script(CRASH, script, "{assembler: gas 2.44}").expect("its assembler");
    assert_eq!(tried.result == Reproduced::Shown, shows, "{tried:?}");
    assert!(shows || matches!(tried.result, Reproduced::Failed { .. }));
    assert!(tried.expected);
}

#[test]
fn an_assembler_that_does_not_crash_makes_the_program() {
    let script = "while [ \"$1\" != -o ]; do shift; done\necho > $2";
    let tried = try_script(CRASH, script, "{assembler: gas 2.47.50}").expect("its assembler");
    assert_eq!(tried.result, Reproduced::NotShown { instead: vec!["it makes the program".to_owned()] });
    assert!(tried.is_as_expected());
}

/// The page of a crash has no rows and no witnesses, and says so in every form.
#[test]
fn the_page_of_a_crash_has_no_program() {
    for (form, part) in [(&[][..], "amd64, by gnu-2.44: no program"), (&["--report", "mail"], "It crashes:")]
    {
        let output = bench(&[&["faults", CRASH], form].concat());
        let page = text(&output.stdout);
        assert_eq!(status(&output), 0, "{}", text(&output.stderr));
        assert!(page.contains(part) && page.contains("Internal error (Segmentation fault)"), "{page}");
    }
    let document = json(&bench(&["faults", CRASH, "--json"]));
    assert_eq!(document["faults"][0]["build"], Value::Null);
}

/// Makes each example with all toolchains that are there: whichever is said to have the fault
/// has it, and no other.
#[test]
fn toolchains_have_the_faults_that_pages_say() {
    let folder = toolchains();
    let all = Toolchain::load_all(&corpus()).expect("toolchains");
    let all: Vec<_> = all.into_iter().filter(|toolchain| toolchain.root.is_some()).collect();
    let are_there = are_installed(all.iter().map(|toolchain| &*toolchain.name));
    let there: Vec<_> =
        all.iter().zip(are_there).filter_map(|(toolchain, is_there)| is_there.then_some(toolchain)).collect();
    let pages: Vec<_> = suite().faults().iter().collect();
    let pairs: Vec<_> = pages.iter().flat_map(|page| there.iter().map(move |it| (page, it))).collect();
    let tried: Vec<Reproduction> = pairs
        .par_iter()
        .filter_map(|((name, fault, _), it)| {
            let written_for = toolchain(&fault.example.toolchain);
            reproduce(name, fault, &written_for, (it, &folder), &StopRequest::default())
                .unwrap_or_else(|error| panic!("{error}"))
        })
        .collect();
    for reproduction in &tried {
        let Reproduction { fault, toolchain, tool, expected, .. } = reproduction;
        println!("{fault}: {tool} of {toolchain} {}", if *expected { "has it" } else { "does not have it" });
    }
    let wrong: Vec<_> = tried.iter().filter(|reproduction| !reproduction.is_as_expected()).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
    let shown = tried.iter().filter(|reproduction| reproduction.result == Reproduced::Shown).count();
    assert!(there.is_empty() || shown >= there.len(), "{tried:?}");
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn all_faults_are_listed_and_each_has_a_page() {
    let output = bench(&["faults"]);
    let list = text(&output.stdout);
    assert_eq!(status(&output), 0, "{}", text(&output.stderr));
    let of_links = LinkPage::load(&corpus().join("links")).expect("pages");
    assert_eq!(list.lines().count(), suite().faults().iter().count() + of_links.len());
    let shown = text(&bench(&["faults", "mold-plt"]).stdout);
    assert!(shown.starts_with("PLTs get no rows (fault mold-plt)\n"), "{shown}");
    let shown = text(&bench(&["faults", "mold-plt", "--report=github"]).stdout);
    assert!(shown.starts_with("# mold: PLTs get no rows\n") && shown.contains("mold 3.0"), "{shown}");
    let line = list.lines().find(|line| line.starts_with("ld-plt-got ")).expect("a line");
    assert!(line.ends_with("pushed a number (ld >= 2.44; unreported; 18 builds)"), "{line}");
    let document = json(&bench(&["faults", "--json"]));
    assert_eq!(document["schema"], 1);
    assert_eq!(document["links"].as_array().map(Vec::len), Some(of_links.len()));
    for fault in document["faults"].as_array().expect("a list") {
        let is_elsewhere = fault["section"] == ".eh_frame"
            || fault["example"]["wrong"] == "no row"
            || fault["example"]["verdict"] == "crashed";
        assert_eq!(fault["dump"] == Value::Array(Vec::new()), is_elsewhere, "{fault}");
    }
}

/// What a maintainer needs is on the page, whatever its form.
#[test]
fn a_page_has_source_command_rows_and_witnesses_in_every_form() {
    let parts = [
        "Entries of .plt.got get the row of an entry that has pushed a number",
        "call    f@plt",
        "$ gcc -nostdlib -no-pie -Wa,--gsframe",
        "CFA = SP+16, RA = *(CFA-8), FP unchanged",
        "CFA = SP+8, RA = *(CFA-8), FP unchanged",
        "0000000000000000  sp+16     u         f",
    ];
    let of_bench = ["agrees with the call stack: .eh_frame: CFA = SP+8", "first_leaf@plt+0x0"];
    let forms = [&[][..], &["--report=bugzilla"], &["--report=github"], &["--report=mail"]];
    for (index, form) in forms.into_iter().enumerate() {
        let output = bench(&[&["faults", "ld-plt-got"], form].concat());
        let page = text(&output.stdout);
        assert_eq!(status(&output), 0, "{}", text(&output.stderr));
        for part in parts {
            assert!(page.contains(part), "{part}: {page}");
        }
        // Maintainers need none of the bench's words.
        assert!(of_bench.iter().all(|part| page.contains(part) == (index == 0)), "{page}");
    }
    let document = json(&bench(&["faults", "ld-plt-got", "--json"]));
    assert_eq!(document["faults"][0]["component"]["linker"], "ld >= 2.44");
    assert_eq!(document["faults"][0]["reach"]["specs"]["crossing"][0], "first_leaf@plt+0x0");
}

/// A component stands for its faults, and a pattern for all that it matches.
#[test]
fn several_faults_are_listed_by_a_word() {
    let listed = |names: &[&str]| {
        let output = bench(&[&["faults"], names].concat());
        assert_eq!(status(&output), 0, "{}", text(&output.stderr));
        text(&output.stdout)
    };
    let of_gas = listed(&["gas"]);
    let all: Vec<&str> = of_gas.lines().filter(|line| line.contains("gas-")).collect();
    assert!(
        all.len() > 10 && !of_gas.contains("gcc-") && of_gas.contains("gas-any-register-is-sp"),
        "{of_gas}"
    );
    let by_pattern = listed(&["ld-plt-*", "gas-any*"]);
    assert!(
        by_pattern.contains("ld-plt-got") && by_pattern.contains("gas-any-register-is-sp"),
        "{by_pattern}"
    );
    assert!(!by_pattern.contains("gas-one-remembered-state"), "{by_pattern}");
}

#[test]
fn an_unknown_fault_is_answered_with_a_known_one() {
    let output = bench(&["faults", "ld-plt-gto"]);
    assert_eq!((status(&output), output.stdout.len()), (2, 0));
    let error = text(&output.stderr);
    assert!(error.contains("unknown fault `ld-plt-gto`; did you mean `ld-plt-got`?"), "{error}");
}

/// Its mistake is in its own source, and no toolchain can be asked.
#[test]
fn the_page_of_a_library_says_where_it_is_wrong() {
    let name = "glibc-addmul-pushes";
    for (form, place) in
        [(&[][..], "__mpn_addmul_1, row +0x0"), (&["--report=mail"], "__mpn_addmul_1, at offset 0x0")]
    {
        let output = bench(&[&["faults", name], form].concat());
        let page = text(&output.stdout).split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(status(&output), 0, "{}", text(&output.stderr));
        for part in [place, "CFA = SP+24, RA = *(CFA-8), FP = *(CFA-24)", "for amd64"] {
            assert!(page.contains(part), "{part}: {page}");
        }
    }
    assert_eq!(try_script(name, "exit 1", "{compiler: gcc 16, assembler: gas 2.47.50}"), None);
}

/// Every bug is written up in every form, in lines that a letter can have, and without a word of the bench.
#[test]
fn all_faults_are_written_up_without_words_of_the_bench() {
    let document = json(&bench(&["faults", "--json"]));
    let count = |kind: &str| document[kind].as_array().expect("a list").len();
    for (form, begins) in [("bugzilla", "Summary: "), ("github", "# "), ("mail", "Subject: ")] {
        let reports = text(&bench(&["faults", "--report", form]).stdout);
        let titles = reports.lines().filter(|line| line.starts_with(begins) && line.contains(": "));
        assert_eq!(titles.count(), count("faults") + count("links"), "{form}");
        for word in ["sframe-testbench", "the call stack", "corpus/", "gnu-2.", "llvm-22", "witness"] {
            assert!(!reports.contains(word), "{form}: {word}");
        }
        let is_prose = |line: &&str| !line.starts_with("    ") && !line.starts_with(begins);
        let longest = reports.lines().filter(is_prose).max_by_key(|line| line.len()).unwrap_or_default();
        assert!(form == "github" || longest.len() <= 76, "{form}: {longest}");
    }
}

/// A page that a newer toolchain of the corpus has not been tried for is stale, and all of a newer one's are not.
#[test]
fn pages_about_older_versions_are_listed() {
    assert_eq!(status(&bench(&["faults", "gas-ignores-same-value", "--stale"])), 0);
    let folder = tempfile::tempdir().expect("a folder");
    copy_repository(folder.path());
    let path = folder.path().join("specs/faults/gas-ignores-same-value.yaml");
    let page = std::fs::read_to_string(&path).expect("a page").replace("gas < 2.47", "gas");
    std::fs::write(&path, page).expect("a page");
    let output = bench_in(folder.path(), &["faults", "gas-*", "--stale"]);
    let said = text(&output.stdout);
    assert_eq!(status(&output), 1, "{said}{}", text(&output.stderr));
    let line = "gas-ignores-same-value: the page is about gas 2.44; gnu-2.47 has gas 2.47";
    assert!(said.lines().any(|said| said.starts_with(line)), "{said}");
}

/// Toolchains are asked in the same way by the command.
#[test]
fn the_command_says_which_toolchains_have_a_fault() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name);
    let build = build_of(&corpus(), STATE, &fault(STATE).example).canonicalize().expect("a build");
    let define = |script: &str, gas: &str| {
        std::fs::write(path("cc"), format!("#!/bin/sh\n{script}\n")).expect("a file");
        std::fs::set_permissions(path("cc"), std::fs::Permissions::from_mode(0o755)).expect("rights");
        let abis = "abis: {amd64: {compiler: ./cc}}";
        let text = format!("name: fake\nsummary: s\nproperties: {{assembler: {gas}}}\n{abis}\n");
        std::fs::write(path("fake.yaml"), text).expect("a file");
    };
    let run = |more: &[&str]| {
        let definition = path("fake.yaml").display().to_string();
        bench(&[&["faults", "--toolchain", &definition], more].concat())
    };
    let deliver = format!("while [ \"$1\" != -o ]; do shift; done\ncp {} $2", build.display());
    define(&deliver, "gas 2.48");
    let output = run(&[STATE]);
    assert_eq!(
        text(&output.stdout),
        format!("{STATE}: gas 2.48 of fake has it\nPASS: 1 example as the pages say\n")
    );
    assert_eq!(status(&output), 0);
    let output = run(&["gas-return-address-not-restored"]);
    assert_eq!(status(&output), 1);
    assert!(text(&output.stdout).contains("does not have it, though the page says that it does"));
    assert!(text(&output.stdout).contains("\nFAIL: 1 example other than the pages say\n"));
    assert_eq!(status(&run(&["ld-plt-got"])), 3);
    define("exit 1", "gas 2.48");
    let output = run(&[STATE, "--json"]);
    assert_eq!(status(&output), 4);
    assert_eq!(json(&output)["reproductions"][0]["result"], "failed");
    let output = bench(&["faults", "--toolchain", "derived-v2"]);
    assert_eq!(status(&output), 2);
    assert!(text(&output.stderr).contains("there is nothing to compile"), "{}", text(&output.stderr));
}
