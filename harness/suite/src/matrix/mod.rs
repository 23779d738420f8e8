//! Compares any toolchain with a reference: builds all programs with it, runs
//! all specs on the builds, and compares each case with that of the same
//! program, variant and ABI by a toolchain of the corpus.
//!
//! What is compared is the set of *kinds* of findings ([`Kind`]): verdict,
//! library and function. Rows start elsewhere in other compilers' code, so they
//! are listed under a kind but are not part of it. What a spec lists as known
//! for the reference, or excepts, counts as a finding of the reference.
//!
//! | file | what |
//! |---|---|
//! | `fit.rs` | the cases: specs without what holds only for the corpus's own code |
//! | `compare.rs` | two cases, and the findings that only one of them has |
//! | `references.rs` | the toolchains that others are compared with, and how specs see their builds |
//! | `own.rs` | specs on builds that are not compared with others' |
//! | `report.rs` | the document: `matrix.json` |
//! | `text.rs`, `markdown.rs` | the same for people |

mod causes;
mod compare;
mod fit;
mod markdown;
mod own;
mod references;
mod report;
mod text;

pub(crate) use causes::shape_of;
pub(crate) use compare::kind_of;
pub(crate) use text::nothing_compared;

use std::collections::{BTreeMap, BTreeSet};

use rayon::prelude::*;
use sframe_corpus::corpus::{Attempt, AttemptResult, Build, Toolchain};
use sframe_corpus::spec::Spec;
use sframe_corpus::yaml::Source;
use sframe_judge::external::isolation::Isolation;
use sframe_judge::unwind::sframe_unwinder;
use sframe_machine::Options;

use crate::case::{Case, CaseReport, CaseResult, Demands, UnderTest, spec_name};
use crate::suite::{self, Suite};

pub use compare::{Comparison, Kind, KindDetail, Standing};
pub use markdown::markdown;
pub use own::OwnCases;
pub use references::References;
pub use report::{BuildResult, Counts, MadeAs, MatrixReport, SCHEMA, ToolchainResult};
pub use text::summary;

use compare::Reference;
use fit::{Fitted, InFiles};

/// Which cases to run, and how.
pub struct Scope<'a> {
    /// The committed corpus with its specs.
    pub suite: &'a Suite,
    /// Only specs whose name matches one of these; all if empty.
    pub specs: &'a [glob::Pattern],
    /// How programs are started.
    pub options: &'a Options,
    /// Whether the code of the toolchain's builds is listed.
    pub is_listed: bool,
    /// The processes in which cases run.
    pub isolation: Option<Isolation>,
}

impl std::fmt::Debug for Scope<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Scope").field("specs", &self.specs).finish_non_exhaustive()
    }
}

/// Cases that are ready to be run.
#[derive(Debug)]
pub struct Plan<'s> {
    /// The toolchain's cases.
    fitted: Vec<Fitted<'s>>,
    /// The reference's, by spec and build.
    references: BTreeMap<(&'s str, &'s str), Case<'s>>,
    /// Those of the reference's for which there is no build.
    lost: Vec<Lost<'s>>,
}

/// A case of the reference for which a toolchain has made no build, or one without a section.
#[derive(Debug)]
struct Lost<'s> {
    of_reference: Case<'s>,
    /// What the build would be.
    build: Build,
    reason: String,
}

impl Lost<'_> {
    /// The report of a case that can't be run.
    fn report(&self) -> CaseReport {
        Case { build: &self.build, ..self.of_reference }.without_build(&self.reason)
    }
}

impl<'s> Plan<'s> {
    /// Finds the cases of a toolchain's builds, and of the builds that they are
    /// compared with.
    #[must_use]
    pub fn new(
        scope: &Scope<'s>,
        toolchain: &Toolchain,
        references: &References,
        made: &'s [Attempt],
        folder: &std::path::Path,
    ) -> Self {
        let built: Vec<&Build> = made.iter().filter_map(Attempt::build).collect();
        let specs = scope.suite.specs().iter().filter(|(_, source)| {
            scope.specs.is_empty() || scope.specs.iter().any(|glob| glob.matches(spec_name(source)))
        });
        let specs: Vec<_> = specs.collect();
        let fitted: Vec<Fitted<'s>> = built
            .par_iter()
            .flat_map_iter(|build| {
                let own = specs.iter().filter(|(spec, _)| spec.program == build.program);
                let producer = references.producer_of(scope.suite, toolchain, build);
                fit::fit(own.copied(), build, producer, folder)
            })
            .collect();
        let version = built.iter().map(|build| build.sframe_version).max();
        let lost = version.map(|version| {
            let name = references.name_of(toolchain, version);
            made.iter().flat_map(|attempt| lost(attempt, name, scope.suite, &specs)).collect()
        });
        let mut plan = Self { fitted, references: BTreeMap::new(), lost: lost.unwrap_or_default() };
        for (spec, source) in &specs {
            for fitted in plan.fitted.iter().filter(|fitted| std::ptr::eq(fitted.source, source)) {
                let build = fitted.reference.as_ref().and_then(|id| scope.suite.manifest().get(id));
                let case = build.and_then(|build| scope.suite.case(spec, source, build));
                if let Some(case) = case.filter(|case| spec.applies_to(&case.facts())) {
                    plan.references.insert((spec_name(source), case.build.id.as_str()), case);
                }
            }
        }
        plan
    }

    /// The number of cases, including those of references.
    #[must_use]
    pub fn count(&self) -> usize {
        self.fitted.len() + self.references.len()
    }

    /// Runs all of them. `done` is called after each, in no particular order.
    /// Returns the reports of the toolchain's cases.
    #[must_use]
    pub fn run(
        &self,
        scope: &Scope<'_>,
        folder: &std::path::Path,
        done: &(dyn Fn(&CaseReport) + Sync),
    ) -> (Vec<Comparison>, Vec<CaseResult>) {
        let mut plan = suite::Plan {
            isolation: scope.isolation.clone(),
            faults: Some(scope.suite.faults()),
            ..suite::Plan::new(scope.options.clone(), UnderTest::Rust(&sframe_unwinder))
        };
        plan.demands.settles_late = true;
        // Without a journal, nothing interrupts a run.
        let run = |corpus: &std::path::Path, cases: &[Case<'_>], plan: &suite::Plan<'_>| {
            suite::execute(corpus, cases, plan, done).unwrap_or_else(|interrupted| interrupted.results)
        };
        let cases: Vec<Case<'_>> = self.references.values().copied().collect();
        let seen = run(scope.suite.corpus(), &cases, &plan);
        let references: BTreeMap<(&str, &str), &CaseReport> =
            self.references.keys().copied().zip(seen.iter().map(|result| &result.report)).collect();

        let builds: BTreeMap<&str, &Build> =
            cases.iter().map(|case| (case.build.id.as_str(), case.build)).collect();
        let files: BTreeMap<&str, InFiles> =
            builds.par_iter().map(|(id, build)| (*id, InFiles::of(build, scope.suite.corpus()))).collect();

        let plan = suite::Plan {
            demands: Demands { is_listed: scope.is_listed, ..plan.demands },
            is_fitted: true,
            ..plan
        };
        let cases: Vec<Case<'_>> = self.fitted.iter().map(Fitted::case).collect();
        let mut results = run(folder, &cases, &plan);
        let mut comparisons = Vec::new();
        for (fitted, result) in self.fitted.iter().zip(&mut results) {
            let key = fitted.reference.as_deref().map(|id| (spec_name(fitted.source), id));
            let report = key.and_then(|key| references.get(&key).copied());
            let files = report.and_then(|report| files.get(report.build.as_str()));
            let reference = report.zip(files).map(|(report, files)| Reference { report, files });
            comparisons.push(compare::compare(fitted, &mut result.report, reference));
        }
        for lost in &self.lost {
            let report = lost.report();
            comparisons.push(compare::lost(&report, &lost.of_reference.build.id));
            results.push(CaseResult { report, listing: None });
        }
        (comparisons, results)
    }
}

/// The cases of a reference for which an attempt has made no build.
fn lost<'s>(
    attempt: &Attempt,
    reference: Option<&String>,
    suite: &'s Suite,
    specs: &[&'s (Spec, Source)],
) -> Vec<Lost<'s>> {
    let Attempt { id, program, abi, variant, result, .. } = attempt;
    let reason = match result {
        AttemptResult::Refused(refusal) => format!("no build: {}: {}", refusal.step, refusal.ended),
        AttemptResult::NoSection => "its build has no .sframe".to_owned(),
        AttemptResult::Built(_) | AttemptResult::Excluded(_) => return Vec::new(),
    };
    let build = reference.and_then(|name| suite.manifest().get(&format!("{name}/{abi}/{program}.{variant}")));
    let Some(of_reference) = build else { return Vec::new() };
    let toolchain = id.split('/').next().unwrap_or_default().to_owned();
    let build = Build { id: id.clone(), toolchain, ..of_reference.clone() };
    let cases = specs.iter().filter(|(spec, _)| spec.program == *program);
    let cases = cases.filter_map(|(spec, source)| suite.case(spec, source, of_reference));
    let cases = cases
        .filter(|case| case.spec.applies_to(&case.facts()) && case.spec.skip_for(&case.facts()).is_none());
    cases.map(|of_reference| Lost { of_reference, build: build.clone(), reason: reason.clone() }).collect()
}

/// The programs that specs cover.
#[must_use]
pub fn programs_of(suite: &Suite, specs: &[glob::Pattern]) -> BTreeSet<String> {
    let matches = |name: &str| specs.iter().any(|glob| glob.matches(name));
    let named = suite.specs().iter().filter(|(_, source)| specs.is_empty() || matches(spec_name(source)));
    named.map(|(spec, _)| spec.program.clone()).collect()
}
