//! `check --known` and `--write-known`: findings that a person has explained.

use std::path::{Path, PathBuf};
use std::process::Output;
use std::sync::LazyLock;

use rstest::rstest;
use serde_json::Value;

use crate::command::{bench_in, conclusion, json, status};
use crate::common::repository;
use crate::known_causes::pushing;

pub(crate) const REASON: &str = "GCC's epilogue of a realigned function, in a test.";

pub(crate) fn path(id: &str) -> String {
    repository().join("corpus/builds").join(id).display().to_string()
}

/// A build with four findings in two functions, and no debug information that says whose bug it is.
pub(crate) fn realign() -> String {
    static COPY: LazyLock<String> = LazyLock::new(|| {
        let mut bytes = std::fs::read(path("gnu-2.47/amd64/realign.O2")).expect("a build");
        let name = b".debug_info\0";
        let at = bytes.windows(name.len()).position(|bytes| bytes == name).expect("its name");
        bytes[at + 1] = b'x';
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("known-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder");
        std::fs::write(folder.join("realign.O2"), bytes).expect("a file");
        folder.join("realign.O2").display().to_string()
    });
    COPY.clone()
}

fn crossing() -> String {
    path("gnu-2.47/amd64/crossing.O2-dynamic")
}

pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Runs `check` in a folder.
pub(crate) fn check(folder: &Path, file: &str, more: &[&str]) -> Output {
    bench_in(folder, &[&["check", file], more].concat())
}

/// Writes the findings of a program as known ones, explained, and returns the file's
/// text.
fn explained(folder: &Path, file: &str, more: &[&str]) -> String {
    let written = check(folder, file, &[more, &["--write-known=known.yaml"]].concat());
    assert!(status(&written) < 2, "{}", text(&written.stderr));
    let known = std::fs::read_to_string(folder.join("known.yaml")).expect("a file");
    let known = known.replace("reason: ''", &format!("reason: {REASON}"));
    std::fs::write(folder.join("known.yaml"), &known).expect("a file");
    known
}

/// Checks with a file of known findings: the status, and the verdicts and messages of
/// what is not known.
fn check_known(file: &str, known: &str) -> (i32, Vec<(String, String)>) {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("known.yaml"), known).expect("a file");
    let output = check(folder.path(), file, &["--known=known.yaml", "--json"]);
    assert!(status(&output) < 2, "{}", text(&output.stderr));
    let report = json(&output);
    let word = |finding: &Value, key: &str| finding[key].as_str().expect("text").to_owned();
    let findings = report["findings"].as_array().expect("a list").iter();
    (status(&output), findings.map(|finding| (word(finding, "verdict"), word(finding, "message"))).collect())
}

/// Findings are written, refused until they are explained, and then known, in every
/// report.
#[test]
fn written_findings_are_known_once_they_are_explained() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    let output = check(folder, &realign(), &["--write-known=known.yaml"]);
    let asked =
        "known.yaml: 4 entries need a reason: what is wrong, whose fault it is, and where it is reported\n";
    assert_eq!((status(&output), &*text(&output.stderr)), (1, asked));
    let output = check(folder, &realign(), &["--known=known.yaml"]);
    let error = text(&output.stderr);
    assert_eq!(status(&output), 2, "{error}");
    assert_eq!(error.matches("error: the reason is missing").count(), 4, "{error}");
    assert!(error.contains("reason: ''") && output.stdout.is_empty(), "{error}");

    std::fs::remove_file(folder.join("known.yaml")).expect("a file");
    explained(folder, &realign(), &[]);
    let output = check(folder, &realign(), &["--known=known.yaml", "--report=report", "-v"]);
    let summary = text(&output.stdout);
    assert_eq!(status(&output), 0, "{summary}{}", text(&output.stderr));
    assert!(summary.contains(&format!("\nknown       4 findings: {REASON}\n")), "{summary}");
    assert!(conclusion(&summary).ends_with(" checked, all correct but 4 known findings"), "{summary}");
    let read = |name: &str| std::fs::read_to_string(folder.join("report").join(name)).expect("a report");
    let report: Value = serde_json::from_str(&read("report.json")).expect("JSON");
    assert_eq!(report["findings"], Value::Array(Vec::new()));
    assert_eq!(report["summary"]["verdicts"], Value::Object(serde_json::Map::new()));
    let known = report["known"].as_array().expect("a list");
    let told: Vec<_> = known.iter().map(|known| [&known["function"], &known["reason"]]).collect();
    let [aligned, realigned] = ["aligned_and_variable", "realigned"].map(|name| [name, REASON]);
    assert_eq!(told, [aligned, aligned, realigned, realigned]);
    let sarif: Value = serde_json::from_str(&read("report.sarif")).expect("JSON");
    let results = sarif["runs"][0]["results"].as_array().expect("results");
    assert_eq!(results.len(), 4);
    assert!(results.iter().all(|result| result["suppressions"][0]["justification"] == REASON), "{results:?}");
    let markdown = read("summary.md");
    assert!(markdown.starts_with("# SFrame test bench: PASS\n"), "{markdown}");
    assert!(markdown.contains(&format!("\n## Known\n\n- `4 findings: {REASON}`\n")), "{markdown}");
}

/// One list serves many programs if what a program need not reach is optional.
#[test]
fn optional_findings_need_not_be_seen() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    let known = explained(folder, &realign(), &[]);
    let elsewhere = repository().join("corpus/builds/gnu-2.47/amd64/leaf.O2");
    let elsewhere = elsewhere.to_str().expect("a path");
    let output = check(folder, elsewhere, &["--known=known.yaml"]);
    assert_eq!(status(&output), 1, "{output:?}");
    assert!(text(&output.stdout).contains("unexpected-pass"), "{output:?}");
    let optional = known.replace("  reason:", "  optional: true\n    reason:");
    assert_eq!(optional.matches("optional").count(), 4, "{optional}");
    std::fs::write(folder.join("known.yaml"), &optional).expect("a file");
    assert_eq!(status(&check(folder, elsewhere, &["--known=known.yaml"])), 0);
    let again = check(folder, &realign(), &["--known=known.yaml", "--write-known=known.yaml"]);
    assert_eq!(status(&again), 0, "{again:?}");
    let kept = std::fs::read_to_string(folder.join("known.yaml")).expect("a file");
    assert_eq!(kept.matches("optional: true").count(), 4, "{kept}");
    // What is for other programs and other commands is kept.
    let lists = format!("lint:\n- rule: SF409\n  places: 1\n  reason: {REASON}\n");
    std::fs::write(folder.join("known.yaml"), kept + &lists).expect("a file");
    let again = check(folder, elsewhere, &["--known=known.yaml", "--write-known=known.yaml"]);
    assert_eq!(status(&again), 0, "{again:?}");
    let kept = std::fs::read_to_string(folder.join("known.yaml")).expect("a file");
    assert_eq!(kept.matches("optional: true").count(), 4, "{kept}");
    assert!(kept.ends_with(&lists), "{kept}");
}

const PAGE: &str = "\
title: FP is said to be in its slot after the pop
component: {compiler: gcc}
summary: The directives come after the return.
example:
  abi: amd64
  toolchain: gnu-2.47
  sources: {f.c: 'int f;'}
  commands: [gcc -o f f.c]
  program: f
  function: f
  row: 0x1
  verdict: wrong-fp
  wrong: FP = *(FP)
  right: CFA = r10, RA = *(CFA-8), FP unchanged
witnesses: {run: FP is another}
upstream: {state: unreported}
";

/// Entries may name faults whose pages are beside the specs.
#[test]
fn known_findings_may_name_a_fault() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    std::fs::create_dir_all(folder.join("specs/faults")).expect("a folder");
    std::fs::write(folder.join("specs/faults/gcc-popped.yaml"), PAGE).expect("a page");
    let reason = format!("reason: {REASON}");
    let known = explained(folder, &realign(), &[]).replace(&reason, "fault: gcc-popped");
    std::fs::write(folder.join("known.yaml"), &known).expect("a file");

    let known_options = ["--known=known.yaml", "--report=report", "--write-known=known.yaml", "-v"];
    let output = check(folder, &realign(), &known_options);
    let summary = text(&output.stdout);
    assert_eq!(status(&output), 0, "{summary}{}", text(&output.stderr));
    let why = "FP is said to be in its slot after the pop (fault gcc-popped)";
    assert!(summary.contains(&format!("\nknown       4 findings: {why}\n")), "{summary}");
    let read = |name: &str| std::fs::read_to_string(folder.join(name)).expect("a file");
    assert_eq!(read("known.yaml"), known, "faults are kept");
    let report: Value = serde_json::from_str(&read("report/report.json")).expect("JSON");
    for known in report["known"].as_array().expect("a list") {
        assert_eq!((&known["fault"], &known["reason"]), (&"gcc-popped".into(), &why[..42].into()));
    }
    assert_eq!(report["faults"]["gcc-popped"]["component"]["compiler"], "gcc");
    let sarif: Value = serde_json::from_str(&read("report/report.sarif")).expect("JSON");
    for result in sarif["runs"][0]["results"].as_array().expect("results") {
        assert_eq!(result["suppressions"][0]["justification"], why);
        assert_eq!(result["properties"]["fault"], "gcc-popped");
    }
    assert!(read("report/summary.md").contains(&format!("- `4 findings: {why}`\n")));

    // What exploring proves is known in the same way.
    let explored = bench_in(folder, &["explore", &realign(), "--known=known.yaml", "--json"]);
    let explored = json(&explored);
    assert_eq!(explored["known"][0]["fault"], "gcc-popped", "{explored}");
    assert_eq!(explored["faults"]["gcc-popped"]["component"]["compiler"], "gcc");

    std::fs::write(folder.join("known.yaml"), known.replace("gcc-popped", "gcc-poped")).expect("a file");
    let output = check(folder, &realign(), &["--known=known.yaml"]);
    let error = text(&output.stderr);
    assert_eq!(status(&output), 2, "{error}");
    assert!(error.contains("unknown fault `gcc-poped`; did you mean `gcc-popped`?"), "{error}");
    assert!(error.contains(" --> known.yaml:11:12"), "{error}");
    let output = check(folder, &realign(), &["--known=known.yaml", "--specs=nowhere"]);
    assert!(text(&output.stderr).contains("nowhere: there is no such folder"), "{}", text(&output.stderr));
    std::fs::create_dir(folder.join("empty")).expect("a folder");
    let output = check(folder, &realign(), &["--known=known.yaml", "--specs=empty"]);
    assert!(text(&output.stderr).contains("there is no folder `faults`"), "{}", text(&output.stderr));
}

#[test]
fn findings_that_are_not_listed_are_reported() {
    let folder = tempfile::tempdir().expect("a folder");
    let known = explained(folder.path(), &realign(), &[]);
    assert_eq!(check_known(&realign(), &known), (0, Vec::new()));
    let (first, _) = known.rsplit_once("  # ").expect("a second entry");
    let (status, findings) = check_known(&realign(), first);
    assert_eq!((status, findings.len()), (1, 1), "{findings:?}");
    assert!(
        findings.iter().all(|(verdict, message)| verdict == "wrong-fp" && message.starts_with("realigned+"))
    );
    assert_eq!(check_known(&realign(), "known: []\n").1.len(), 4);
    // Two rows that exchange what is wrong with them.
    let exchanged =
        known.replace("'0x6f'", "row").replace("'0x74'", "'0x6f'").replace("row: row", "row: '0x74'");
    assert!(exchanged != known, "{known}");
    assert_eq!(check_known(&realign(), &exchanged).0, 1);
    // The code says which function of the name is meant, and the name which one of the code.
    let [code] =
        ["code: "].map(|key| known.split(key).nth(1).and_then(|rest| rest.split_whitespace().next()));
    let other = known.replace(code.expect("a digest"), "0123456789abcdef");
    assert_eq!(
        check_known(&realign(), &other).0,
        0,
        "it is the only one of its name, and may have been compiled again"
    );
    let other = known.replace("function: aligned_and_variable", "function: another");
    assert_eq!(check_known(&realign(), &other).0, 1);
}

/// What a sample leaves out is neither gone nor changed; what it has beyond the list is.
#[rstest]
#[case::every(&["--every=1e6"])]
#[case::from_a_function(&["--from-function=_start", "--every=1e6"])]
#[case::per_place(&["--per-place=1", "--every=1e6"])]
fn a_sample_proves_nothing_about_what_it_leaves_out(#[case] sample: &[&str]) {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    let known = explained(folder, &realign(), &[]);
    let with = |more: &[&str]| check(folder, &realign(), &[&["--known=known.yaml"], more].concat());
    let output = with(sample);
    let shown = text(&output.stdout);
    assert!(status(&output) != 1 && !shown.contains("unexpected-pass"), "{shown}");
    assert!(shown.contains("4 known findings were not looked for"), "{shown}");
    // At fewer places than the entry says.
    let more = known.replacen("FP = *(FP): 1", "FP = *(FP): 7", 1);
    assert!(more != known, "{known}");
    std::fs::write(folder.join("known.yaml"), &more).expect("a file");
    assert_eq!(status(&with(&[])), 1);
    let output = with(&["--per-place=1"]);
    assert_eq!(status(&output), 0, "{}", text(&output.stdout));
    assert!(!text(&output.stdout).contains("not looked for"), "{}", text(&output.stdout));
    // With other rules.
    let other = known.replacen("FP = *(FP): 1", "FP = *(FP-8): 1", 1);
    std::fs::write(folder.join("known.yaml"), &other).expect("a file");
    let output = with(&["--per-place=1"]);
    assert!(status(&output) == 1 && text(&output.stdout).contains("changed-failure"), "{output:?}");
    // Without one of the entries.
    let (first, _) = known.rsplit_once("  # ").expect("a second entry");
    std::fs::write(folder.join("known.yaml"), first).expect("a file");
    assert_eq!(status(&with(&["--per-place=1"])), 1);
    // A list of a sample would not be one of all.
    let output = check(folder, &realign(), &[sample, &["--write-known=new.yaml"]].concat());
    assert!(status(&output) == 2 && !folder.join("new.yaml").exists(), "{output:?}");
    assert!(text(&output.stderr).contains("--write-known lists all findings"), "{}", text(&output.stderr));
    assert_eq!(status(&check(folder, &realign(), &["--every=1", "--write-known=new.yaml"])), 1);
}

/// Entries of functions that are not asked for are left alone.
#[test]
fn entries_of_other_functions_are_left_alone() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    let explore = |more: &[&str]| bench_in(folder, &[&["explore", &realign()], more].concat());
    assert_eq!(status(&explore(&["--write-known=known.yaml"])), 1);
    let known = std::fs::read_to_string(folder.join("known.yaml")).expect("a file");
    let known = known.replace("reason: ''", &format!("reason: {REASON}"));
    let write = |known: &str| std::fs::write(folder.join("known.yaml"), known).expect("a file");
    let with = |function: &str| {
        let output = explore(&["--known=known.yaml", "--functions", function]);
        (status(&output), conclusion(&text(&output.stdout)) + &text(&output.stdout))
    };
    write(&known);
    let (asked, shown) = with("realigned");
    assert_eq!(asked, 0, "{shown}");
    assert!(shown.contains("; 2 known findings were not looked for") && !shown.contains("gone"), "{shown}");
    // One about a function that is asked for is gone, or has changed.
    let line = "function: aligned_and_variable";
    write(&known.replacen(line, "function: main", 1));
    assert_eq!(with("realigned").0, 0);
    let (asked, shown) = with("main");
    assert!(asked == 1 && shown.starts_with("FAIL: 1 known finding gone"), "{shown}");
    assert!(shown.contains("unexpected-pass") && !shown.contains("proved finding"), "{shown}");
    write(&known.replace(": 1\n", ": 7\n"));
    let (asked, shown) = with("realigned");
    assert!(asked == 1 && shown.starts_with("FAIL: 2 known findings changed"), "{shown}");
    let output = explore(&["--functions=realigned", "--write-known=new.yaml"]);
    assert!(status(&output) == 2 && !folder.join("new.yaml").exists(), "{output:?}");
    // The page for job summaries says the same.
    write(&known.replacen(line, "function: main", 1));
    explore(&["--known=known.yaml", "--functions=main", "--report=report"]);
    let markdown = std::fs::read_to_string(folder.join("report/summary.md")).expect("a file");
    assert!(markdown.starts_with("# SFrame test bench: FAIL\n"), "{markdown}");
}

/// Each says at which line.
#[test]
fn entries_that_are_gone_or_have_changed_are_reported() {
    let folder = tempfile::tempdir().expect("a folder");
    let known = explained(folder.path(), &realign(), &[]);
    let line = |text: &str, of: &str| {
        let before = text.find(of).expect("the entry");
        text[..before].rfind("- verdict").map(|at| text[..at].lines().count()).expect("an entry")
    };
    let stale =
        known.clone() + &known[known.rfind("  - verdict").expect("an entry")..].replace("realigned", "fixed");
    let (status, findings) = check_known(&realign(), &stale);
    let [(verdict, message)] = &findings[..] else { panic!("{findings:?}") };
    assert_eq!((status, verdict.as_str()), (1, "unexpected-pass"));
    assert!(message.contains("the known wrong-fp in fixed, row +0x61 was not seen"), "{message}");
    let place = format!(" (known.yaml:{})", line(&stale, "function: fixed"));
    assert!(message.ends_with(&place), "{message}, not {place}");

    for (from, to, what) in [
        ("FP = *(FP): 1", "FP = *(FP): 2", "happens with"),
        ("FP = *(FP): 1", "FP = *(FP-8): 1", "happens with"),
        ("blame: compiler-or-cfi", "blame: bench", "the entry blames bench, and triage compiler-or-cfi"),
        ("verdict: wrong-fp", "verdict: wrong-ra", "it has changed"),
    ] {
        assert!(known.contains(from), "{from}: {known}");
        let (status, findings) = check_known(&realign(), &known.replacen(from, to, 1));
        assert_eq!(status, 1, "{to}");
        let changed = findings.iter().find(|(verdict, _)| verdict == "changed-failure").expect(to);
        let place = format!(" (known.yaml:{})", line(&known, "function: aligned_and_variable"));
        assert!(changed.1.contains(what) && changed.1.ends_with(&place), "{to}: {findings:?}");
    }
}

#[rstest]
#[case("crossing.O2-dynamic.first.so!first_leaf@plt", true)]
#[case("first.so!first_leaf@plt", true)]
#[case("first_leaf@plt", true)]
#[case("first.so!", true)]
#[case("second.so!first_leaf@plt", false)]
#[case("second.so!", false)]
#[case("!first_leaf@plt", false)]
#[case("st.so!first_leaf@plt", false)]
fn findings_of_libraries_are_named_with_them(#[case] function: &str, #[case] is_it: bool) {
    let folder = tempfile::tempdir().expect("a folder");
    let known = explained(folder.path(), &crossing(), &[]);
    let written = "function: crossing.O2-dynamic.first.so!first_leaf@plt\n";
    assert!(known.contains(written), "{known}");
    let known = known.replace(written, &format!("function: '{function}'\n"));
    let (status, findings) = check_known(&crossing(), &known);
    let verdicts: Vec<&str> = findings.iter().map(|(verdict, _)| verdict.as_str()).collect();
    let expected: &[&str] = if is_it { &[] } else { &["wrong-cfa", "unexpected-pass"] };
    assert_eq!((status, &verdicts[..]), (i32::from(!is_it), expected), "{findings:?}");
}

#[test]
fn findings_of_made_sections_may_be_known() {
    let folder = tempfile::tempdir().expect("a folder");
    explained(folder.path(), &realign(), &["--from=eh-frame"]);
    let check = |from: &str| check(folder.path(), &realign(), &["--from", from, "--known=known.yaml"]);
    assert_eq!(status(&check("eh-frame")), 0);
}

#[rstest]
#[case::misspelt_key("known: [{veridct: wrong-fp}]", "known.yaml:1:10", "did you mean `verdict`?")]
#[case::builds("known: [{where: {abi: amd64}}]", "known.yaml:1:10", "unknown key `where`")]
#[case::no_list("knwon: []", "known.yaml:1:1", "did you mean `known`?")]
#[case::nothing("", "known.yaml", "the file is empty")]
#[case::misspelt_verdict("known: [{verdict: wrong-pf}]", "known.yaml:1:19", "did you mean `wrong-fp`?")]
#[case::no_rules(
    "known: [{verdict: wrong-fp, blame: bench, reason: a reason of twenty characters}]",
    "known.yaml:1",
    "`rules`"
)]
#[case::empty_rules(
    "known: [{verdict: wrong-fp, blame: bench, rules: {}, reason: a reason of twenty characters}]",
    "known.yaml:1:43",
    "rules that occur at no place"
)]
#[case::no_row(
    "known: [{verdict: wrong-fp, function: f, row: [], blame: bench, rules: {no row: 1}, reason: none is of twenty}]",
    "known.yaml:1:47",
    "the list is empty"
)]
#[case::no_list_of_rules(
    "known: [{verdict: wrong-fp, blame: bench, rules: [], reason: a reason of twenty characters}]",
    "known.yaml:1:50",
    "the list is empty"
)]
#[case::no_rules_of_a_row(
    "known: [{verdict: wrong-fp, blame: bench, rules: {CFA is SP+8: 1}, reason: a reason of twenty characters}]",
    "known.yaml:1:51",
    "`CFA is SP+8` can't be read as the rules of a row"
)]
#[case::no_rules_in_a_list(
    "known: [{verdict: wrong-fp, blame: bench, rules: [{no row: 1}, {no rows: 1}], reason: the second is wrong}]",
    "known.yaml:1:65",
    "`no rows` can't be read as the rules of a row"
)]
#[case::success(
    "known: [{verdict: agree, blame: bench, rules: {no row: 1}, reason: a reason of twenty characters}]",
    "known.yaml:1:19",
    "`agree` cannot be a known failure"
)]
#[case::twice(
    "known:
- {verdict: wrong-fp, blame: bench, rules: {no row: 1}, reason: a reason of twenty characters}
- {verdict: wrong-fp, blame: bench, rules: {no row: 2}, reason: another one for the same finding}",
    "known.yaml:3:3",
    "an earlier entry says the same"
)]
#[case::too_long(&format!("known: []\n#{}", "x".repeat(1 << 20)), "known.yaml: ", "is larger than 1048576 bytes")]
fn a_mistake_is_shown_with_its_line(#[case] known: &str, #[case] place: &str, #[case] message: &str) {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("known.yaml"), known).expect("a file");
    let output = check(folder.path(), &realign(), &["--known=known.yaml"]);
    let error = text(&output.stderr);
    assert_eq!(status(&output), 2, "{error}");
    assert!(error.contains(place) && error.contains(message), "{error}");
    assert!(output.stdout.is_empty());
}

/// Explanations are not overwritten by accident, and kept where they still fit.
#[test]
fn reasons_are_kept_when_findings_are_written_again() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    let known = explained(folder, &realign(), &[]);
    let output = check(folder, &realign(), &["--write-known=known.yaml"]);
    assert_eq!(status(&output), 2);
    assert!(text(&output.stderr).contains("known.yaml exists already"), "{}", text(&output.stderr));

    let (first, _) = known.rsplit_once("  # ").expect("a second entry");
    std::fs::write(folder.join("known.yaml"), first.replace(": 1\n", ": 7\n")).expect("a file");
    let output = check(folder, &realign(), &["--known=known.yaml", "--write-known=known.yaml"]);
    assert_eq!(status(&output), 1, "judged by what the file was");
    let again = std::fs::read_to_string(folder.join("known.yaml")).expect("a file");
    let (explained, todo) = known.split_at(known.rfind(REASON).expect("a reason"));
    assert_eq!(again, format!("{explained}{}", todo.replace(REASON, "''")));
}

/// What a broken run has not shown is not gone, and its findings are not all.
#[test]
fn a_broken_run_proves_nothing_about_known_findings() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    explained(folder, &realign(), &[]);
    let output = check(folder, &realign(), &["--known=known.yaml", "--budget=50", "--json"]);
    assert_eq!((status(&output), &json(&output)["findings"]), (4, &Value::Array(Vec::new())));
    let output = check(folder, &realign(), &["--budget=50", "--write-known=other.yaml"]);
    assert_eq!(status(&output), 4);
    assert!(text(&output.stderr).contains("other.yaml: not written"), "{}", text(&output.stderr));
    assert!(!folder.join("other.yaml").exists());
}

/// An unwinder is asked at some stops only: it need not show all that is known, but
/// nothing else.
#[test]
fn findings_of_a_build_are_known_of_any_unwinder() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    let known = explained(folder, &realign(), &[]);
    let unwinder = env!("CARGO_BIN_EXE_sframe-engine-unwinder");
    let ask = || check(folder, &realign(), &["--unwinder", unwinder, "--known=known.yaml", "--json"]);
    let output = ask();
    assert_eq!(status(&output), 0, "{}", text(&output.stderr));
    assert!(json(&output)["known"].as_array().is_some_and(|known| !known.is_empty()));
    let (first, _) = known.rsplit_once("  # ").expect("a second entry");
    std::fs::write(folder.join("known.yaml"), first).expect("a file");
    assert_eq!(status(&ask()), 1);
}

#[test]
fn a_program_without_findings_has_nothing_to_explain() {
    let folder = tempfile::tempdir().expect("a folder");
    let sound = path("gnu-2.47/amd64/recursion.O2");
    let known = explained(folder.path(), &sound, &[]);
    assert!(known.ends_with("\nknown: []\n"), "{known}");
    assert_eq!(check_known(&sound, &known), (0, Vec::new()));
}

/// The page of the fault that is the cause is named where rules, instructions and the compiler in `.comment` say so, and
/// only there.
#[test]
fn findings_name_the_known_fault_that_is_their_cause() {
    let folder = tempfile::tempdir().expect("a folder");
    let page = "gcc-popped-frame-pointer";
    let file = repository().join("corpus/faults").join(page).join("align");
    let names = |file: &Path, more: &[&str]| {
        let report = json(&check(folder.path(), &file.display().to_string(), &[&["--json"], more].concat()));
        let of = |finding: &Value| finding["fault"]["name"].as_str().map(str::to_owned);
        let findings: Vec<_> = report["findings"].as_array().expect("a list").iter().map(of).collect();
        (
            findings,
            report["known"].as_array().map_or(0, Vec::len),
            report["faults"][page]["title"].is_string(),
        )
    };
    let named = Some(page.to_owned());
    assert_eq!(names(&file, &[]), (vec![named.clone(), named], 0, true));
    let shown = check(folder.path(), &file.display().to_string(), &[]);
    let shown = (status(&shown), text(&shown.stdout));
    assert_eq!(shown.0, 1);
    assert!(
        shown.1.contains(&format!("matches known bug {page}, a bug of gcc, unreported: ")),
        "{}",
        shown.1
    );
    assert_eq!(names(&file, &["--known-faults"]), (Vec::new(), 2, true));
    let accepted = check(folder.path(), &file.display().to_string(), &["--known-faults"]);
    assert_eq!(status(&accepted), 0, "{}", text(&accepted.stdout));
    let explored = bench_in(folder.path(), &["explore", &file.display().to_string(), "--known-faults"]);
    assert_eq!(status(&explored), 0, "{}", text(&explored.stdout));

    // Of a file that names no compiler nothing is known, nor of one whose row is wrong in another way.
    let bytes = std::fs::read(&file).expect("a file");
    let changed = |from: &[u8], to: &[u8]| {
        let mut bytes = bytes.clone();
        let at: Vec<usize> =
            (0..bytes.len() - from.len()).filter(|at| bytes[*at..].starts_with(from)).collect();
        assert!(!at.is_empty());
        at.iter().for_each(|at| bytes[*at..at + to.len()].copy_from_slice(to));
        let file = folder.path().join("changed");
        std::fs::write(&file, bytes).expect("a file");
        file
    };
    assert_eq!(names(&changed(b"GCC: (", b"XYZ: ("), &["--known-faults"]), (vec![None, None], 0, false));
    // leave; lea -8(%r10),%rsp becomes leave; lea -16(%r10),%rsp, with other findings after it.
    let file = changed(&[0xc9, 0x49, 0x8d, 0x62, 0xf8], &[0xc9, 0x49, 0x8d, 0x62, 0xf0]);
    let (findings, known, _) = names(&file, &["--known-faults"]);
    assert!(findings.contains(&None) && known <= 2, "{findings:?}");
}

/// Where the compiler is not named, a hint is of the same places as the fault where it is: others of the same row have a
/// finding of their own.
#[test]
fn hints_of_explore_are_of_the_places_of_the_fault() {
    let folder = tempfile::tempdir().expect("a folder");
    let body = "push $7; pop %rax; push %rcx; nop; pop %rcx";
    let Some(file) = pushing(folder.path(), "named", &[body]).map(PathBuf::from) else { return };
    let mut bytes = std::fs::read(&file).expect("a file");
    let causes = |file: &Path, of: &dyn Fn(&Value) -> Option<String>| -> Vec<(Option<String>, u64)> {
        let file = file.display().to_string();
        let report = json(&bench_in(folder.path(), &["explore", "--json", "--from", "eh-frame", &file]));
        let findings = report["findings"].as_array().expect("a list").iter();
        let proved = findings.filter(|finding| finding["certainty"] == "proved");
        proved.map(|finding| (of(finding), finding["places"].as_u64().expect("a number"))).collect()
    };
    let named = causes(&file, &|finding| finding["fault"]["name"].as_str().map(str::to_owned));
    assert!(named.len() == 2 && named.iter().filter(|(page, _)| page.is_none()).count() == 1, "{named:?}");
    while let Some(at) = bytes.windows(6).position(|text| text == b"GCC: (") {
        bytes[at..].iter_mut().take_while(|byte| **byte != 0).for_each(|byte| *byte = 0);
    }
    let bare = folder.path().join("bare");
    std::fs::write(&bare, bytes).expect("a file");
    let hinted = causes(&bare, &|finding| {
        let hint = finding["hint"].as_str()?.strip_prefix("this matches ")?;
        Some(hint.split(',').next()?.to_owned())
    });
    assert_eq!(hinted, named);
}

/// Wherever a finding is shown, its page is named.
#[test]
fn every_output_names_the_page_of_a_known_fault() {
    let folder = tempfile::tempdir().expect("a folder");
    let page = "matches known bug ld-plt-got, a bug of ld >= 2.44, unreported";
    let output = check(folder.path(), &crossing(), &["--report=report"]);
    assert_eq!(status(&output), 1, "{}", text(&output.stderr));
    let read = |name: &str| std::fs::read_to_string(folder.path().join("report").join(name)).expect("a file");
    let sarif: Value = serde_json::from_str(&read("report.sarif")).expect("JSON");
    let message = sarif["runs"][0]["results"][0]["message"]["text"].as_str().expect("text");
    assert!(message.ends_with(page), "{message}");
    let junit = read("junit.xml").replace("&gt;", ">");
    assert!(junit.contains(page), "{junit}");
    assert!(read("summary.md").contains("matches known bug ld-plt-got, "), "{}", read("summary.md"));
    // Without running.
    let library = path("gnu-2.47/amd64/crossing.O2-dynamic.first.so");
    let differences = bench_in(folder.path(), &["diff", &library]);
    let differences = text(&differences.stdout);
    assert!(differences.contains("= matches known bug ld-plt-got, a bug of ld >= 2.44, "), "{differences}");
    let document = json(&bench_in(folder.path(), &["diff", "--json", &library]));
    let fault = document["findings"][0]["fault"].as_str().expect("a fault");
    assert!(fault.starts_with("ld-plt-got, "), "{fault}");
}

/// Distributions strip their libraries: a function without a name is known by its code. Not without a toolchain's root.
#[test]
fn findings_in_stripped_libraries_name_their_page() {
    let folder = tempfile::tempdir().expect("a folder");
    let libraries = repository().join("target/toolchains/gnu-2.47/usr");
    for (library, page, least) in [
        ("aarch64-linux-gnu/lib/ld-linux-aarch64.so.1", "glibc-resolve-entry", 20),
        ("aarch64-linux-gnu/lib/ld-linux-aarch64.so.1", "glibc-profile-end", 2),
        ("aarch64-linux-gnu/lib/ld-linux-aarch64.so.1", "glibc-tlsdesc-end", 1),
        ("aarch64-linux-gnu/lib/libc.so.6", "glibc-fork-return-address", 2),
        ("lib/x86_64-linux-gnu/libc.so.6", "glibc-addmul-pushes", 100),
    ] {
        let library = libraries.join(library);
        if !library.exists() {
            continue;
        }
        let library = library.display().to_string();
        let explored =
            bench_in(folder.path(), &["explore", &library, "--from", "either", "--known-faults", "--json"]);
        let report = json(&explored);
        let known = report["known"].as_array().expect("known findings").iter();
        let places = known.filter(|known| known["fault"] == page).map(|known| known["places"].as_u64());
        assert!(places.flatten().sum::<u64>() >= least, "{report}");
    }
}
