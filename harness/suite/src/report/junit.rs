//! `junit.xml`: a run as test cases, for CI systems.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use chrono::DateTime;
use quick_junit::{NonSuccessKind, Report as Junit, TestCase, TestCaseStatus, TestSuite};
use sframe_judge::examine::excluded::Exclusion;
use sframe_judge::finding::{Finding, groups};
use sframe_judge::vocabulary::Verdict;
use sframe_kit::conclusion::Ending;
use sframe_kit::text::{Text, neutral};
use sframe_links::{LinkOutcome, LinksTable};

use super::diagnostic::Described;
use super::diagnostic::not_shown;
use super::format::{Document, Format, Written};
use super::summary::command_for;
use super::{CheckReport, ExploreReport, NoResult, RefusedFile, Report};
use crate::case::{CaseReport, Outcome};
use crate::provenance::Provenance;

/// The most rows with findings that a failure describes; report.json has all of
/// them.
const OF_A_CASE: usize = 64;

pub(super) const FORMAT: Format = Format { files: &["junit.xml"], write };

fn write(document: &Document<'_>) -> Option<Written> {
    let suites = match *document {
        Document::Run { report, .. } => of_run(report),
        Document::Check { report, .. } => of_check(report),
        Document::Links { table } => of_links(table),
        Document::Explore { report } => of_files(std::slice::from_ref(report), &[], None),
        Document::Files { files } => of_files(&files.reports, &files.refused, files.left()),
        Document::Matrix { .. } | Document::Samples { .. } => return None,
    };
    Some(("junit.xml", suites.xml(document.ending()).map_err(Into::into)))
}

/// What is written: suites, where they come from, and for how long they ran.
struct Suites<'r> {
    suites: Vec<TestSuite>,
    provenance: Option<&'r Provenance>,
    time: Duration,
    /// How many tests are skipped.
    skipped: u64,
}

/// What was tested.
struct Tested<'r> {
    name: &'r str,
    class: &'r str,
    outcome: Outcome,
    /// What a baseline is called here, and what is said of what is worse.
    baseline: &'static str,
    worse_words: String,
    /// Whether the baseline has it as well: then it is no failure of this run.
    is_as_in_baseline: bool,
    /// What is worse than in the baseline.
    worse: &'r [String],
    reason: Option<&'r str>,
    findings: &'r [Finding],
    findings_omitted: &'r BTreeMap<Verdict, u64>,
    /// What is worth saying whatever became of it.
    notes: Vec<String>,
    command: String,
    time: Duration,
}

/// Formats a run as JUnit XML.
///
/// # Errors
/// The XML can't be written.
pub fn junit(report: &Report) -> Result<String, quick_junit::SerializeError> {
    of_run(report).xml(report.ending())
}

/// A run: one suite for each toolchain and ABI. A
/// failure's message is its first finding, and its text has the others too. What
/// was excluded is the output of a case, whatever its outcome.
/// Times are those of the cases, each in a separate process.
fn of_run(report: &Report) -> Suites<'_> {
    let mut suites: Vec<TestSuite> = Vec::new();
    for case in &report.cases {
        let name = neutral(&format!("{}/{}", case.toolchain, case.abi)).into_owned();
        let index = suites.iter().position(|suite| suite.name.as_str() == name).unwrap_or_else(|| {
            suites.push(TestSuite::new(name));
            suites.len() - 1
        });
        let suite = &mut suites[index];
        suite.set_time(suite.time.unwrap_or_default() + time(case));
        suite.add_test_case(test_case(&Tested {
            name: &case.id,
            class: &case.build,
            outcome: case.outcome,
            baseline: report.baseline_name(),
            worse_words: report.worse_words(),
            is_as_in_baseline: report.is_as_in_baseline(case),
            worse: report.worse_of(&case.id),
            reason: case.reason.as_deref(),
            findings: &case.findings,
            findings_omitted: &case.findings_omitted,
            notes: case.excluded.iter().map(Exclusion::line).collect(),
            command: command_for(case),
            time: time(case),
        }));
    }
    let ids: BTreeSet<&str> = report.cases.iter().map(|case| case.id.as_str()).collect();
    let mut gone = TestSuite::new("run");
    for (case, worse) in report.worse().filter(|(case, _)| !ids.contains(case)) {
        let mut test =
            TestCase::new(neutral(case).into_owned(), worse_than_baseline(&report.worse_words(), worse));
        test.set_classname(report.baseline_name());
        gone.add_test_case(test);
    }
    if report.has_compared_nothing() {
        gone.add_test_case(without_result("run", "nothing was compared"));
    }
    suites.extend(Some(gone).filter(|gone| !gone.test_cases.is_empty()));
    let is_skipped = |case: &&CaseReport| match case.outcome {
        Outcome::Broken => report.is_as_in_baseline(case),
        outcome => outcome == Outcome::Skipped && report.worse_of(&case.id).is_empty(),
    };
    let skipped = report.cases.iter().filter(is_skipped).count() as u64;
    let time = report.cases.iter().map(time).sum();
    Suites { suites, provenance: report.provenance.as_ref(), time, skipped }
}

/// A check: one test, in a suite for the ABI. Checks of several files can be merged by what reads them.
fn of_check(report: &CheckReport) -> Suites<'_> {
    let seconds = report.provenance.as_ref().map_or(0.0, |provenance| provenance.seconds);
    let time = Duration::try_from_secs_f64(seconds).unwrap_or_default();
    let mut suite = TestSuite::new(format!("check/{}", report.abi));
    suite.set_time(time);
    suite.add_test_case(test_case(&Tested {
        name: &report.file,
        class: "check",
        outcome: report.outcome(),
        baseline: "baseline",
        worse_words: String::new(),
        is_as_in_baseline: false,
        worse: &[],
        reason: report.reason().as_deref(),
        findings: &report.findings,
        findings_omitted: &report.findings_omitted,
        notes: report
            .excluded
            .iter()
            .map(Exclusion::line)
            .chain(report.missing_line().map(str::to_owned))
            .chain(report.wrong_rows_that_did_not_run())
            .collect(),
        command: report.command(),
        time,
    }));
    Suites { suites: vec![suite], provenance: report.provenance.as_ref(), time, skipped: 0 }
}

/// Files that were explored: a test for each.
fn of_files<'r>(reports: &'r [ExploreReport], refused: &[RefusedFile], left: Option<&str>) -> Suites<'r> {
    let mut suite = TestSuite::new("explore");
    let mut all = Duration::ZERO;
    for report in reports {
        let seconds = report.provenance.as_ref().map_or(0.0, |provenance| provenance.seconds);
        let time = Duration::try_from_secs_f64(seconds).unwrap_or_default();
        all += time;
        let findings: Vec<Finding> = report.proved().map(|found| found.finding.clone()).collect();
        suite.add_test_case(test_case(&Tested {
            name: &report.file,
            class: "explore",
            outcome: report.outcome(),
            baseline: "baseline",
            worse_words: String::new(),
            is_as_in_baseline: false,
            worse: &[],
            reason: report.without_result().map(NoResult::as_str),
            findings: &findings,
            findings_omitted: &BTreeMap::new(),
            notes: report.open_lines(),
            command: report.command(),
            time,
        }));
    }
    for RefusedFile { file, error } in refused {
        let mut test = without_result("explore", error);
        test.name = neutral(file).into_owned().into();
        suite.add_test_case(test);
    }
    suite.add_test_cases(left.map(|why| without_result("explore", why)));
    suite.set_time(all);
    let provenance = if let [report] = reports { report.provenance.as_ref() } else { None };
    Suites { suites: vec![suite], provenance, time: all, skipped: 0 }
}

/// What linkers have done: a suite for each linker, a test for each case and ABI.
fn of_links(table: &LinksTable) -> Suites<'_> {
    let mut skipped = 0;
    let suites = table.reports.iter().map(|report| {
        let mut suite = TestSuite::new(neutral(&report.linker).into_owned());
        for result in &report.results {
            let status = match result.outcome {
                LinkOutcome::Right | LinkOutcome::Known => TestCaseStatus::success(),
                LinkOutcome::Unsupported => {
                    skipped += 1;
                    let mut status = TestCaseStatus::skipped();
                    status.set_message(neutral(result.reason.as_deref().unwrap_or_default()).into_owned());
                    status
                }
                LinkOutcome::Wrong => {
                    let mut lines = Text::default();
                    for finding in &result.findings {
                        lines.line(format!("{}: {}", finding.kind, finding.message));
                    }
                    let first = lines.lines().next().unwrap_or_default().to_owned();
                    result.commands.iter().for_each(|command| lines.line(command));
                    let mut status = TestCaseStatus::non_success(NonSuccessKind::Failure);
                    status.set_message(first);
                    status.set_description(lines.trim_end());
                    status
                }
            };
            let mut test = TestCase::new(format!("{}/{}", result.case, result.abi), status);
            test.set_classname("links");
            if !result.known.is_empty() {
                let mut lines = Text::default();
                result.known.iter().for_each(|cause| lines.line(format!("known: {cause}")));
                test.set_system_out(lines.trim_end());
            }
            suite.add_test_case(test);
        }
        suite.add_test_cases(report.without_result().map(|why| without_result("links", &why)));
        suite
    });
    let suites = suites.collect();
    Suites { suites, provenance: None, time: Duration::ZERO, skipped }
}

/// A failure of the whole.
fn without_result(class: &str, why: &str) -> TestCase {
    let mut status = TestCaseStatus::non_success(NonSuccessKind::Error);
    status.set_message(neutral(why).into_owned());
    let mut test = TestCase::new("result", status);
    test.set_classname(class);
    test
}

impl Suites<'_> {
    /// Formats them as JUnit XML, each with how the command ends.
    fn xml(self, ending: Ending) -> Result<String, quick_junit::SerializeError> {
        let Self { mut suites, provenance, time, skipped } = self;
        for suite in &mut suites {
            suite.add_property(("verdict", &*ending.to_string()));
            if let Some(provenance) = provenance {
                describe(suite, provenance);
            }
        }
        // The report counts a suite's cases when the suite is added.
        let mut junit = Junit::new("sframe-testbench");
        junit.set_time(time);
        junit.add_test_suites(suites);
        // Jenkins's schema has this count only in suites. The first one is ours.
        Ok(junit.to_string()?.replacen(&format!(" skipped=\"{skipped}\""), "", 1))
    }
}

/// Adds where the results come from.
fn describe(suite: &mut TestSuite, provenance: &Provenance) {
    if let Ok(started) = DateTime::parse_from_rfc3339(&provenance.started) {
        suite.set_timestamp(started);
    }
    let own = [
        ("version", provenance.maker()),
        ("command", provenance.command.clone()),
        ("host", provenance.host.clone()),
        ("seconds", provenance.seconds.to_string()),
    ];
    for (name, value) in own {
        suite.add_property((name, &*neutral(&value)));
    }
    for (name, digest) in &provenance.digests {
        suite.add_property((&*neutral(&format!("sha256 of {name}")), &*neutral(digest)));
    }
    for (index, part) in provenance.parts.iter().enumerate() {
        suite.add_property((&*format!("part {}", index + 1), &*neutral(&part.line())));
    }
}

fn time(case: &CaseReport) -> Duration {
    Duration::try_from_secs_f64(case.seconds).unwrap_or_default()
}

/// The findings, each in a line, as far as they are shown.
fn of_findings(case: &Tested<'_>) -> Text {
    let groups = groups(case.findings);
    let mut lines = Text::default();
    for group in groups.iter().take(OF_A_CASE) {
        lines.line(group.sentence());
    }
    for line in not_shown(groups.len(), OF_A_CASE, case.findings_omitted) {
        lines.line(line);
    }
    lines.demangled()
}

/// A failure that only the baseline shows.
fn worse_than_baseline(words: &str, worse: &[String]) -> TestCaseStatus {
    let mut status = TestCaseStatus::non_success(NonSuccessKind::Failure);
    status.set_message(neutral(&format!("{words}: {}", worse.join("; "))).into_owned());
    status
}

fn test_case(case: &Tested<'_>) -> TestCase {
    let failed = |kind, message: String| {
        let mut status = TestCaseStatus::non_success(kind);
        status.set_message(message);
        status
    };
    // XML can't represent most control characters, and some other code points: a name with one of
    // them is shown neutralised, as everywhere.
    let reason = || neutral(case.reason.unwrap_or_default()).into_owned();
    let skipped = |message: String| {
        let mut status = TestCaseStatus::skipped();
        status.set_message(message);
        status
    };
    let mut output = Text::default();
    let status = match case.outcome {
        Outcome::Agree | Outcome::Known | Outcome::Skipped if !case.worse.is_empty() => {
            worse_than_baseline(&case.worse_words, case.worse)
        }
        Outcome::Agree | Outcome::Known => TestCaseStatus::success(),
        Outcome::Skipped => skipped(reason()),
        Outcome::Broken if case.is_as_in_baseline => {
            skipped(format!("broken, as in the {}: {}", case.baseline, reason()))
        }
        Outcome::Unexpected if case.is_as_in_baseline => {
            output.line(format!("as in the {}:", case.baseline));
            output.append(&of_findings(case));
            TestCaseStatus::success()
        }
        Outcome::Broken => {
            let mut lines = of_findings(case);
            lines.line(format!("reproduce with: {}", case.command));
            let mut status = failed(NonSuccessKind::Error, reason());
            status.set_description(lines.trim_end());
            status
        }
        Outcome::Unexpected => {
            let mut lines = of_findings(case);
            // A demand that is not met, beside findings or without any.
            case.reason.iter().for_each(|reason| lines.line(reason));
            let first = lines.lines().next().unwrap_or_default().to_owned();
            lines.line(format!("reproduce with: {}", case.command));
            let mut status = failed(NonSuccessKind::Failure, first);
            status.set_description(lines.trim_end());
            status
        }
    };
    let mut test = TestCase::new(neutral(case.name).into_owned(), status);
    test.set_classname(neutral(case.class).into_owned());
    test.set_time(case.time);
    case.notes.iter().for_each(|note| output.line(note));
    if output != Text::default() {
        test.set_system_out(output.trim_end());
    }
    test
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What was found until then is there as well.
    #[test]
    fn a_broken_case_has_its_findings() {
        let findings =
            [Finding::of_spec(Verdict::Crashed, "a backtrace", "none", "it has crashed".to_owned())];
        let tested = Tested {
            name: "a",
            class: "b",
            outcome: Outcome::Broken,
            baseline: "baseline",
            worse_words: String::new(),
            is_as_in_baseline: false,
            worse: &[],
            reason: Some("restarted too often"),
            findings: &findings,
            findings_omitted: &BTreeMap::new(),
            notes: Vec::new(),
            command: "check a".to_owned(),
            time: Duration::ZERO,
        };
        let mut suite = TestSuite::new("suite");
        suite.add_test_case(test_case(&tested));
        let suites = Suites { suites: vec![suite], provenance: None, time: Duration::ZERO, skipped: 0 };
        let text = suites.xml(Ending::Error).expect("a report");
        assert!(
            text.contains("message=\"restarted too often\"") && text.contains("it has crashed"),
            "{text}"
        );
    }
}
