//! The conformance suite: each case is a test of its id, `<spec>/<toolchain>/<abi>/<variant>`.
//!
//! A new spec or build becomes new tests without a change here, and without compiling anything.

mod common;

use std::process::ExitCode;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use libtest_mimic::{Arguments, Failed, Trial};
use sframe_engine::Abi;
use sframe_judge::unwind::sframe_unwinder;
use sframe_kit::text::Text;
use sframe_machine::Options;
use sframe_suite::case::{Case, CaseReport, Outcome, spec_name};
use sframe_suite::report::{Report, Style, is_alike, run_summary};
use sframe_suite::suite::{Filter, Suite};

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    // What is wrong with specs is said once, and not by each test.
    if common::suite_if_right().is_none() {
        return ExitCode::FAILURE;
    }
    let suite = common::suite();
    let cases = match suite.cases(&Filter::default()) {
        Ok(cases) => cases,
        Err(error) => {
            eprintln!("error: {error}");
            return ExitCode::FAILURE;
        }
    };
    let tests = cases.iter().map(|case| {
        let case = *case;
        Trial::test(case.id(), move || backtraces_are_the_call_stack(suite, &case))
    });
    let whole: [(&str, Whole); 2] = [
        ("every_build_is_run_by_a_spec", every_build_is_run_by_a_spec),
        ("every_spec_has_cases_of_each_abi", every_spec_has_cases_of_each_abi),
    ];
    let whole = whole.map(|(name, test)| {
        let cases = cases.clone();
        Trial::test(name, move || test(suite, &cases))
    });
    libtest_mimic::run(&arguments, tests.chain(whole).collect()).exit_code()
}

/// A test of all cases together.
type Whole = fn(&Suite, &[Case<'_>]) -> Result<(), Failed>;

/// Cases that have failed.
static FAILED: Mutex<Vec<CaseReport>> = Mutex::new(Vec::new());

fn backtraces_are_the_call_stack(suite: &Suite, case: &Case<'_>) -> Result<(), Failed> {
    let reports = suite.run(std::slice::from_ref(case), &Options::default(), &sframe_unwinder, &|_| ());
    let [report] = <[CaseReport; 1]>::try_from(reports).map_err(|_| "not one report")?;
    match report.outcome {
        Outcome::Agree | Outcome::Known if report.counts.comparisons > 0 => return Ok(()),
        Outcome::Skipped => return Ok(()),
        Outcome::Agree | Outcome::Known => return Err("nothing was compared".into()),
        Outcome::Unexpected | Outcome::Broken => {}
    }
    // One mistake of a spec may fail all of its cases: it is shown once.
    let mut failed = FAILED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(other) = failed.iter().find(|other| is_alike(other, &report)) {
        return Err(format!("as {}", other.id).into());
    }
    failed.push(report.clone());
    drop(failed);
    let summary = run_summary(&Report::new(vec![report]), Duration::ZERO, &Text::default(), Style::default());
    Err(summary.to_string().into())
}

/// Builds of an ABI may be missing, and a spec that is for it would prove nothing there.
fn every_spec_has_cases_of_each_abi(suite: &Suite, cases: &[Case<'_>]) -> Result<(), Failed> {
    for (spec, source) in suite.specs() {
        let name = spec_name(source);
        let has_case = |abi| cases.iter().any(|case| spec_name(case.source) == name && case.build.abi == abi);
        if let Some(abi) = Abi::ALL.into_iter().find(|abi| spec.targets.contains(*abi) && !has_case(*abi)) {
            return Err(format!("{name} is for {abi}, but the corpus has no such build").into());
        }
    }
    Ok(())
}

/// A program without a spec would be compiled, committed and never run.
fn every_build_is_run_by_a_spec(suite: &Suite, cases: &[Case<'_>]) -> Result<(), Failed> {
    for build in &suite.manifest().builds {
        if !cases.iter().any(|case| case.build.id == build.id) {
            return Err(format!("no spec runs {}", build.id).into());
        }
    }
    if cases.len() < 300 {
        return Err(format!("{} cases", cases.len()).into());
    }
    Ok(())
}
