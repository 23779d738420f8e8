//! `junit.xml`: a run as test cases, for CI systems.

use quick_junit::{NonSuccessKind, Report as Junit, TestCase, TestCaseStatus, TestSuite};

use super::Report;
use crate::case::{CaseReport, Outcome};
use crate::text::{Text, neutral};

/// A run as JUnit XML: one suite for each toolchain and ABI.
///
/// # Errors
/// The XML can't be written.
pub fn junit(report: &Report) -> Result<String, quick_junit::SerializeError> {
    let mut suites: Vec<TestSuite> = Vec::new();
    for case in &report.cases {
        let name = neutral(&format!("{}/{}", case.toolchain, case.abi)).into_owned();
        let index = suites.iter().position(|suite| suite.name.as_str() == name).unwrap_or_else(|| {
            suites.push(TestSuite::new(name));
            suites.len() - 1
        });
        suites[index].add_test_case(test_case(case));
    }
    // The report counts what a suite holds when it is added.
    let mut junit = Junit::new("sframe-testbench");
    junit.add_test_suites(suites);
    junit.to_string()
}

fn test_case(case: &CaseReport) -> TestCase {
    let failed = |kind, message: String| {
        let mut status = TestCaseStatus::non_success(kind);
        status.set_message(message);
        status
    };
    // XML has no form for most control characters, nor for some other code
    // points: a name that has one is shown as everywhere.
    let reason = || neutral(case.reason.as_deref().unwrap_or_default()).into_owned();
    let status = match case.outcome {
        Outcome::Agree | Outcome::Known => TestCaseStatus::success(),
        Outcome::Skipped => {
            let mut status = TestCaseStatus::skipped();
            status.set_message(reason());
            status
        }
        Outcome::Broken => failed(NonSuccessKind::Error, reason()),
        Outcome::Unexpected => {
            let mut messages = Text::default();
            for finding in &case.findings {
                messages.line(format_args!("{}: {}", finding.verdict, finding.message));
            }
            failed(NonSuccessKind::Failure, messages.trim_end().to_owned())
        }
    };
    let mut test = TestCase::new(neutral(&case.id).into_owned(), status);
    test.set_classname(neutral(&case.build).into_owned());
    test
}
