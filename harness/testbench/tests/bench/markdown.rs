//! `summary.md`, rendered as GitHub and GitLab do, whatever names the files have.

use std::path::Path;
use std::sync::LazyLock;

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};
use rstest::rstest;
use sframe_corpus::spec::Blame;
use sframe_judge::calls::ExclusionReason;
use sframe_judge::examine::excluded::Exclusion;
use sframe_judge::finding::{Address, Confidence, Finding, FindingRow, Message};
use sframe_judge::vocabulary::Verdict;
use sframe_kit::text::neutral;
use sframe_suite::case::{CaseReport, Outcome};
use sframe_suite::report::{Report, junit, markdown};

use crate::command::bench;

/// A case that agrees, for tests to make worse.
fn case() -> CaseReport {
    static CASE: LazyLock<CaseReport> = LazyLock::new(|| {
        let run = ["run", "--spec", "leaf", "--toolchain", "gnu-2.44", "--abi", "amd64", "--json"];
        let report: Report = serde_json::from_slice(&bench(&run).stdout).expect("a report");
        report.cases.into_iter().next().expect("a case")
    });
    CASE.clone()
}

fn finding(function: &str, row: u64) -> Finding {
    Finding {
        verdict: Verdict::WrongCfa,
        pc: Some(Address(0x104)),
        image: None,
        function: Some(function.to_owned()),
        code: None,
        frame: Some(0),
        hits: 1,
        places: 1,
        row_pc: None,
        row: Some(FindingRow {
            start: Address(row),
            rules: "CFA = SP+8, RA = *(CFA-8), FP unchanged".parse().expect("rules"),
        }),
        expected: "0x10".into(),
        got: "0x8".into(),
        varies: false,
        instruction: None,
        blame: Blame::ProducerAssembler,
        confidence: Confidence::High,
        evidence: Vec::new(),
        hint: None,
        fault: None,
        listing: Vec::new(),
        stack: None,
        message: Message::at(format!("{function}+0x4 (0x104)"), "CFA is 0x8, the call stack has 0x10"),
    }
}

/// What a reader of GitHub's Markdown sees: cells of tables by rows, code, and
/// all other text.
#[derive(Default)]
struct Seen {
    rows: Vec<Vec<String>>,
    code: String,
    text: String,
}

fn read(markdown: &str) -> Seen {
    let mut seen = Seen::default();
    let (mut in_block, mut in_cell) = (false, false);
    let mut options = Options::all();
    // GitHub does not treat a line of `---` at the top as metadata.
    options.remove(Options::ENABLE_YAML_STYLE_METADATA_BLOCKS);
    for event in Parser::new_ext(markdown, options) {
        match event {
            Event::Start(Tag::CodeBlock(_)) => in_block = true,
            Event::End(TagEnd::CodeBlock) => in_block = false,
            Event::Start(Tag::TableHead | Tag::TableRow) => seen.rows.push(Vec::new()),
            Event::Start(Tag::TableCell) => {
                in_cell = true;
                seen.rows.last_mut().expect("a row").push(String::new());
            }
            Event::End(TagEnd::TableCell) => in_cell = false,
            Event::Text(text) if in_block => seen.code += &text,
            Event::Code(text) | Event::Text(text) if in_cell => {
                *seen.rows.last_mut().and_then(|row| row.last_mut()).expect("a cell") += &text;
            }
            Event::Code(text) => {
                seen.code.push_str(&text);
                seen.code.push('\n');
            }
            Event::Text(text) => seen.text += &text,
            Event::Html(_) | Event::InlineHtml(_) | Event::Start(Tag::Link { .. } | Tag::Image { .. }) => {
                panic!("{event:?}:\n{markdown}")
            }
            _ => {}
        }
    }
    seen
}

#[test]
fn a_run_that_is_as_expected_is_a_headline_figures_and_a_table() {
    let text = markdown(&Report::new(vec![case()]));
    let seen = read(&text);
    assert!(text.starts_with("# SFrame test bench: PASS\n"), "{text}");
    let row = ["gnu-2.44", "amd64", "1", "1", "0", "0", "0", "0", ""];
    assert_eq!(seen.rows[1..], [row.map(str::to_owned)], "{text}");
    assert!(seen.code.starts_with("PASS: 1 case: 1 correct\n"), "{text}");
    assert!(markdown(&Report::new(Vec::new())).starts_with("# SFrame test bench: INCONCLUSIVE\n"));
}

#[test]
fn findings_are_grouped_by_rows_and_say_who_is_to_blame() {
    let mut unexpected = case();
    unexpected.outcome = Outcome::Unexpected;
    unexpected.findings = vec![finding("f", 4), finding("f", 4), finding("g", 4)];
    let mut broken = case();
    broken.id = "other".to_owned();
    broken.outcome = Outcome::Broken;
    broken.reason = Some("the budget is spent".to_owned());
    let mut skipped = case();
    skipped.id = "skipped".to_owned();
    skipped.outcome = Outcome::Skipped;
    skipped.reason = Some("no compiler".to_owned());
    let text = markdown(&Report::new(vec![unexpected, broken, skipped]));
    let seen = read(&text);
    assert!(text.starts_with("# SFrame test bench: ERROR\n"), "{text}");
    assert!(seen.code.starts_with("ERROR: 3 cases: 1 could not finish, 1 unexpected, 1 skipped\n"), "{text}");
    let row = ["gnu-2.44", "amd64", "3", "0", "0", "1", "1", "1", "wrong-cfa 2 at 3 places"];
    assert_eq!(seen.rows[1..], [row.map(str::to_owned)], "{text}");
    for expected in [
        "wrong-cfa in f: likely cause: producer-assembler (confidence high)\n",
        "CFA is 0x8, the call stack has 0x10 (and at 1 more place of this row; 2 times)\n",
        "sframe-testbench run --case leaf/gnu-2.44/amd64/O0\n",
        "the budget is spent\n",
        "no compiler\n",
    ] {
        assert!(seen.code.contains(expected), "{expected}:\n{text}");
    }
}

/// As in every other output, whatever the outcome of the case.
#[test]
fn exclusions_are_the_output_of_a_case_in_junit() {
    let place = Exclusion {
        image: None,
        function: "leaves<\u{1b}".to_owned(),
        pc: Address(0x104),
        reason: ExclusionReason::LeavesElsewhere,
        instructions: 2,
        rows: Vec::new(),
        as_caller: false,
        executed: 3,
        is_stub: false,
    };
    let mut with = case();
    with.excluded = vec![place];
    let xml = junit(&Report::new(vec![case(), with])).expect("XML");
    let said = "<system-out>excluded: 2 of 3 instructions executed in leaves&lt;\\u{1b}, from 0x104 on: the row describes";
    assert_eq!((xml.matches("<system-out>").count(), xml.matches(said).count()), (1, 1), "{xml}");
}

#[test]
fn what_is_left_out_is_counted_and_the_whole_has_bounds() {
    let mut case = case();
    case.outcome = Outcome::Unexpected;
    case.findings = (0..50).map(|row| finding(&"f".repeat(5000), row)).collect();
    let numbered = |number| CaseReport { id: format!("case {number}"), ..case.clone() };
    let cases = (0..300).map(numbered).collect();
    let text = markdown(&Report::new(cases));
    assert!(text.contains("and 42 more rows or findings") && text.contains("And 280 more;"), "no counts");
    assert!(
        text.contains("wrong-cfa   fff") && text.contains("; likely cause: producer-assembler"),
        "no lines"
    );
    // The limit of GitHub for a step's summary.
    assert!(text.len() < 1_000_000, "{}", text.len());
}

/// Each tries to break out of something: code, tables, lines, HTML, links,
/// mentions.
#[rstest]
#[case("a`b``c```d")]
#[case("`")]
#[case("```")]
#[case("a|b")]
#[case("a\\|b\\")]
#[case("</code><script>alert(1)</script><!--")]
#[case("[a](javascript:b) ![c](d) <e:f> https://g.example/")]
#[case("@everyone #1 !2 $x$ :smile: &lt; *b* _i_ ~s~")]
#[case("a\n\n# b\r\n```\n| c |\n|---|\n")]
#[case("````\n")]
#[case("\u{202e}\u{1b}[2J\u{2028}")]
#[case(" ")]
#[case("")]
fn names_stay_what_they_are(#[case] name: &str) {
    let mut case = case();
    case.id = name.to_owned();
    case.toolchain = name.to_owned();
    case.build = name.to_owned();
    case.reason = Some(name.to_owned());
    case.outcome = Outcome::Unexpected;
    case.findings = vec![finding(name, 4); 2];
    let mut broken = case.clone();
    broken.outcome = Outcome::Broken;
    let mut skipped = case.clone();
    skipped.outcome = Outcome::Skipped;
    skipped.findings.clear();
    let text = markdown(&Report::new(vec![case, broken, skipped]));
    let seen = read(&text);
    let printable = neutral(name);
    let shown = if name.trim().is_empty() { "(empty)" } else { &*printable };
    // One row, of nine cells, with the name unchanged.
    let [_, row] = &seen.rows[..] else { panic!("{:?}\n{text}", seen.rows) };
    assert_eq!((row.len(), row[0].as_str()), (9, shown), "{text}");
    assert!(seen.code.contains(&format!("--> {printable}: {printable}+0x4 (0x104)\n")), "{text}");
    // Outside of code there are only our own words.
    let outside = seen.text.replace("(empty)", "");
    assert!(outside.chars().all(|c| c.is_ascii_alphanumeric() || " :,;.".contains(c)), "{outside}\n{text}");
    let headings = text.lines().filter(|line| line.starts_with('#')).count();
    assert_eq!(headings, 6, "{text}");
}

#[test]
fn run_merge_and_check_write_the_summary() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name).display().to_string();
    let bench = |arguments: &[&str]| bench(arguments).status.code().expect("a status");
    let summary =
        |name: &str| std::fs::read_to_string(Path::new(&at(name)).join("summary.md")).expect("a summary");
    let run = ["run", "--spec", "recursion", "--toolchain", "gnu-2.44", "--report"];
    assert_eq!(bench(&[&run[..], &[&at("whole")]].concat()), 0);
    for shard in ["1", "2"] {
        let part = format!("{shard}/2");
        assert_eq!(bench(&[&run[..], &[&at(shard), "--shard", &part]].concat()), 0);
    }
    assert_eq!(bench(&["merge", &at("1"), &at("2"), "--report", &at("merged")]), 0);
    // It ends with where it comes from.
    let results =
        |name: &str| summary(name).split_once("## This report").map(|(results, _)| results.to_owned());
    assert!(results("merged").is_some());
    assert_eq!(results("merged"), results("whole"));
    assert!(summary("1").contains("Shard 1/2 of a run of"), "{}", summary("1"));

    let build = "corpus/builds/gnu-2.47/amd64/realign.O2";
    assert_eq!(bench(&["check", build, "--report", &at("check")]), 1);
    let text = summary("check");
    let seen = read(&text);
    assert!(
        text.starts_with("# SFrame test bench: FAIL\n") && seen.code.starts_with("FAIL: 4 findings\n"),
        "{text}"
    );
    assert_eq!(seen.rows[1..], [["wrong-fp".to_owned(), "4".to_owned()]], "{text}");
    assert!(seen.code.contains("likely cause: compiler-or-cfi"), "{text}");
    assert_eq!(bench(&["check", "corpus/builds/gnu-2.47/amd64/leaf.O2", "--report", &at("sound")]), 0);
    assert!(summary("sound").starts_with("# SFrame test bench: PASS\n"), "{}", summary("sound"));
}
