//! The conformance suite: each spec is a test of its name, which runs all cases of the spec.
//!
//! A new spec or build becomes a new test without a change here, and without compiling anything.

mod common;

use std::process::ExitCode;
use std::time::Duration;

use libtest_mimic::{Arguments, Failed, Trial};
use sframe_inspect::text::Text;
use sframe_judge::unwind::sframe_unwinder;
use sframe_machine::Options;
use sframe_suite::case::{Outcome, spec_name};
use sframe_suite::report::{Report, Style, run_summary};
use sframe_suite::suite::{Filter, Suite};

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    // What is wrong with specs is said once, and not by each test.
    if common::suite_if_right().is_none() {
        return ExitCode::FAILURE;
    }
    let suite = common::suite();
    let specs = suite.specs().iter().map(|(_, source)| {
        let name = spec_name(source);
        Trial::test(name, move || backtraces_are_the_call_stack(suite, name))
    });
    let all = Trial::test("every_build_is_run_by_a_spec", move || every_build_is_run_by_a_spec(suite));
    libtest_mimic::run(&arguments, specs.chain([all]).collect()).exit_code()
}

fn backtraces_are_the_call_stack(suite: &Suite, name: &str) -> Result<(), Failed> {
    let pattern = glob::Pattern::new(&glob::Pattern::escape(name))?;
    let cases = suite.cases(&Filter::of_specs(vec![pattern])).map_err(|error| error.to_string())?;
    let (spec, _) =
        suite.specs().iter().find(|(_, source)| spec_name(source) == name).ok_or("the spec is gone")?;
    for abi in sframe_engine::Abi::ALL {
        if spec.targets.contains(abi) && !cases.iter().any(|case| case.build.abi == abi) {
            return Err(format!("{name} is for {abi}, but the corpus has no such build").into());
        }
    }
    let reports = suite.run(&cases, &Options::default(), &sframe_unwinder, &|_| ());
    for abi in sframe_engine::Abi::ALL {
        let of_abi = || reports.iter().filter(|report| report.abi == abi);
        let compared: u64 = of_abi().map(|report| report.counts.comparisons).sum();
        if compared == 0 && of_abi().any(|report| report.outcome != Outcome::Skipped) {
            return Err(format!("nothing was compared for {abi}").into());
        }
    }
    let good = |outcome| matches!(outcome, Outcome::Agree | Outcome::Known | Outcome::Skipped);
    if reports.iter().all(|report| good(report.outcome)) {
        return Ok(());
    }
    let summary = run_summary(&Report::new(reports), Duration::ZERO, &Text::default(), Style::default());
    Err(summary.to_string().into())
}

/// A program without a spec would be compiled, committed and never run.
fn every_build_is_run_by_a_spec(suite: &Suite) -> Result<(), Failed> {
    let cases = suite.cases(&Filter::default()).map_err(|error| error.to_string())?;
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
