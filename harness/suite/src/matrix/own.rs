//! Specs on a toolchain's builds by themselves, without a reference to compare them with.

use std::path::Path;

use sframe_corpus::corpus::{Attempt, Build, Toolchain};
use sframe_corpus::spec::{Faults, Producer, Spec};
use sframe_corpus::yaml::Source;
use sframe_judge::external::isolation::Isolation;
use sframe_judge::unwind::sframe_unwinder;
use sframe_machine::Options;

use super::fit::{self, Fitted};
use super::references::References;
use crate::case::{Case, CaseReport, CaseResult, Demands, UnderTest};
use crate::suite::{self, Suite};

/// The specs of some builds that a toolchain has made.
#[derive(Debug)]
pub struct OwnCases<'s> {
    /// Each spec as it is.
    whole: Vec<Fitted<'s>>,
    /// Specs that were written for other builds of their programs, without what holds only for
    /// those.
    fitted: Vec<Fitted<'s>>,
    /// The faults whose pages may describe what is found.
    faults: &'s Faults,
}

/// Whether a spec is held in full. It is, unless it was written for builds of the corpus, and this
/// is not one by a toolchain of the corpus.
fn is_whole(suite: &Suite, toolchain: &Toolchain, spec: &Spec) -> bool {
    let is_of_corpus = suite.producer(&toolchain.name).is_some();
    is_of_corpus || !suite.manifest().builds.iter().any(|build| build.program == spec.program)
}

impl<'s> OwnCases<'s> {
    /// Finds the cases of a toolchain's builds, which are below `folder`.
    #[must_use]
    pub fn new(
        suite: &'s Suite,
        specs: &[&'s (Spec, Source)],
        toolchain: &Toolchain,
        references: &References,
        made: &'s [Attempt],
        folder: &Path,
    ) -> Self {
        let mut cases = Self { whole: Vec::new(), fitted: Vec::new(), faults: suite.faults() };
        for build in made.iter().filter_map(Attempt::build) {
            let producer = producer(suite, toolchain, references, build);
            let own = specs.iter().copied().filter(|(spec, _)| spec.program == build.program);
            let (whole, other): (Vec<_>, Vec<_>) =
                own.partition(|(spec, _)| is_whole(suite, toolchain, spec));
            cases.whole.extend(fit::whole(whole.into_iter(), build, producer.clone()));
            cases.fitted.extend(fit::fit(other.into_iter(), build, producer, folder));
        }
        cases
    }

    /// How many there are.
    #[must_use]
    pub fn count(&self) -> usize {
        self.whole.len() + self.fitted.len()
    }

    /// Those that hold the whole of a spec.
    #[must_use]
    pub fn whole(&self) -> Vec<Case<'_>> {
        self.whole.iter().map(Fitted::case).collect()
    }

    /// Whether some of a spec is not held, because it was written for other builds.
    #[must_use]
    pub fn is_any_fitted(&self) -> bool {
        !self.fitted.is_empty()
    }

    /// Runs all of them. `done` is called after each, in no particular order.
    #[must_use]
    pub fn run(
        &self,
        options: &Options,
        isolation: Option<Isolation>,
        folder: &Path,
        done: &(dyn Fn(&CaseReport) + Sync),
    ) -> Vec<CaseResult> {
        let plan = suite::Plan {
            isolation,
            faults: Some(self.faults),
            ..suite::Plan::new(options.clone(), UnderTest::Rust(&sframe_unwinder))
        };
        let mut results = Vec::new();
        for (cases, is_fitted) in [(&self.whole, false), (&self.fitted, true)] {
            let demands = Demands { settles_late: is_fitted, ..plan.demands };
            let plan = suite::Plan { is_fitted, demands, ..plan.clone() };
            let cases: Vec<Case<'_>> = cases.iter().map(Fitted::case).collect();
            // Without a journal, nothing interrupts a run.
            results.extend(
                suite::execute(folder, &cases, &plan, done).unwrap_or_else(|interrupted| interrupted.results),
            );
        }
        results
    }
}

/// The producer of a build as specs see it: that of the corpus, if it has this toolchain.
fn producer(suite: &Suite, toolchain: &Toolchain, references: &References, build: &Build) -> Producer {
    match suite.producer(&toolchain.name) {
        Some(producer) => producer.clone(),
        None => references.producer_of(suite, toolchain, build),
    }
}
