//! Many cases: selecting them, and running them in parallel.

mod filter;
mod guard;
pub mod journal;
pub mod made_of;
mod named;
mod plan;
pub mod workers;

pub use filter::Filter;
pub use plan::Plan;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::Instant;

use rayon::prelude::*;
use sframe_corpus::corpus::{self, Build, Manifest};
use sframe_corpus::failure::of_documents;
use sframe_corpus::spec::{Faults, Producer, Selector, Spec, SpecFolder, load_what_can_be};
use sframe_corpus::yaml::Source;
use sframe_inspect::command::Failure;
use sframe_machine::Options;
use sha2::{Digest as _, Sha256};

use crate::case::{Case, CaseReport, CaseResult, UnderTest, spec_name};
use guard::run_guarded;
use journal::JournalError;
use sframe_judge::unwind::MakeUnwinder;
use sframe_kit::text::with_causes;
use workers::Workers;

/// Specs and corpus, as in the repository.
#[derive(Debug)]
pub struct Suite {
    corpus: PathBuf,
    manifest: Manifest,
    /// The producers of the builds, by toolchain.
    producers: BTreeMap<String, Producer>,
    specs: Vec<(Spec, Source)>,
    faults: Faults,
}

/// A run that has ended before all cases were run.
#[derive(Debug)]
pub struct Interrupted {
    /// The results so far, in the order of the cases.
    pub results: Vec<CaseResult>,
    /// Why results can't be saved any more; `None` if the run was stopped.
    pub error: Option<JournalError>,
}

/// Why a suite can't be used.
#[derive(Debug, thiserror::Error)]
pub enum SuiteError {
    /// The corpus's manifest can't be read.
    #[error("{}", with_causes(.0))]
    Corpus(#[from] sframe_corpus::corpus::Error),
    /// Specs are wrong. Each error points into its file.
    #[error("{} of the specs can't be used", .0.len())]
    Specs(Vec<sframe_corpus::yaml::Error>),
    /// A filter names something that does not exist.
    #[error("{0}")]
    Filter(String),
}

impl From<SuiteError> for Failure {
    fn from(error: SuiteError) -> Self {
        match &error {
            SuiteError::Specs(errors) => of_documents(errors),
            SuiteError::Corpus(corpus::Error::Yaml(error)) => of_documents(std::slice::from_ref(error)),
            _ => Self::unusable(format!("error: {error}")),
        }
    }
}

impl Suite {
    /// Opens specs and corpus.
    ///
    /// # Errors
    /// The manifest, the definition of a toolchain or a spec can't be read, a spec names a program
    /// without any build or a fault that a build can't have, or nothing checks the page of a fault.
    pub fn open(corpus: &Path, specs: &Path) -> Result<Self, SuiteError> {
        let (suite, mut errors) = Self::load(corpus, specs)?;
        if errors.is_empty() {
            errors = suite.mistakes();
            errors.extend(suite.not_made());
            errors.extend(suite.stale());
        }
        if errors.is_empty() { Ok(suite) } else { Err(SuiteError::Specs(errors)) }
    }

    /// Opens the suite for the specs that a filter names: all of them, if it names none. Mistakes in other
    /// specs are returned, and what can't be read of these is left out.
    ///
    /// # Errors
    /// As for [`Self::open`], without mistakes in other specs.
    pub fn open_selected(
        corpus: &Path,
        specs: &Path,
        filter: &Filter,
    ) -> Result<(Self, Vec<sframe_corpus::yaml::Error>), SuiteError> {
        if !filter.names_specs() {
            return Ok((Self::open(corpus, specs)?, Vec::new()));
        }
        let (suite, mut errors) = Self::load(corpus, specs)?;
        errors.extend(suite.mistakes());
        let (other, errors): (Vec<_>, Vec<_>) =
            errors.into_iter().partition(|error| is_about_another(error, specs, filter));
        if errors.is_empty() { Ok((suite, other)) } else { Err(SuiteError::Specs(errors)) }
    }

    /// Opens the suite as [`Self::open_selected`] does, but programs need not have any build yet.
    ///
    /// # Errors
    /// As for [`Self::open_selected`], without those for missing builds.
    pub fn open_without_builds(
        corpus: &Path,
        specs: &Path,
        filter: &Filter,
    ) -> Result<(Self, Vec<sframe_corpus::yaml::Error>), SuiteError> {
        let (suite, mut errors) = Self::load(corpus, specs)?;
        errors.extend(suite.specs.iter().flat_map(|(spec, source)| suite.unknown_toolchains(spec, source)));
        let (other, errors): (Vec<_>, Vec<_>) =
            errors.into_iter().partition(|error| is_about_another(error, specs, filter));
        if errors.is_empty() { Ok((suite, other)) } else { Err(SuiteError::Specs(errors)) }
    }

    /// Reads everything, and collects the mistakes in specs and pages of faults.
    fn load(corpus: &Path, specs: &Path) -> Result<(Self, Vec<sframe_corpus::yaml::Error>), SuiteError> {
        let manifest = Manifest::load(corpus)?;
        let producers = manifest.producers(corpus)?;
        let (SpecFolder { specs, faults }, errors) = load_what_can_be(specs).map_err(SuiteError::Specs)?;
        Ok((Self { corpus: corpus.to_owned(), manifest, producers, specs, faults }, errors))
    }

    /// Reports what specs say about builds that the corpus does not have.
    fn mistakes(&self) -> Vec<sframe_corpus::yaml::Error> {
        let of_spec = |(spec, source): &(Spec, Source)| {
            let unknown = self.unknown_toolchains(spec, source);
            let idle = if unknown.is_empty() { self.idle(spec, source) } else { unknown };
            if idle.is_empty() { self.misplaced(spec, source) } else { idle }
        };
        self.specs.iter().flat_map(of_spec).collect()
    }

    /// Reports errors for what applies to no build: the spec, or one of its
    /// entries. It would never be evaluated, and so never fail.
    fn idle(&self, spec: &Spec, source: &Source) -> Vec<sframe_corpus::yaml::Error> {
        let cases = self.cases_of(spec, source);
        if cases.is_empty() {
            let message = format!("the corpus has no build of `{}` that this spec applies to", spec.program);
            return vec![source.error_at(source.span(&["program"]), message, self.help_without_builds(spec))];
        }
        let sweeps = spec.sweep.iter().flatten().map(|sweep| sweep.selector.as_ref());
        let lists: [(&str, Vec<Option<&Selector>>); 7] = [
            ("sweep", sweeps.collect()),
            ("uncovered", spec.uncovered.iter().map(|entry| entry.selector.as_ref()).collect()),
            ("unreached", spec.unreached.iter().map(|entry| entry.selector.as_ref()).collect()),
            ("ends", spec.ends.iter().map(|entry| entry.selector.as_ref()).collect()),
            ("signals", spec.signals.iter().map(|signal| signal.selector.as_ref()).collect()),
            ("known", spec.known.iter().map(|known| Some(&known.selector)).collect()),
            ("skip", spec.skip.iter().map(|skip| Some(&skip.selector)).collect()),
        ];
        let mut errors = idle_clauses(spec, source, &cases);
        let selects = |selector: &Selector| cases.iter().any(|case| selector.matches(&case.facts()));
        let mut idle = |span| {
            let message = format!("the corpus has no build of `{}` that this selects", spec.program);
            errors.push(source.error_at(span, message, self.help_with_builds(spec)));
        };
        for stop in spec.stops.iter().filter(|stop| !stop.selector.as_ref().is_none_or(selects)) {
            idle(source.span(&stop.path_of("where")));
        }
        for (key, selectors) in lists {
            for (index, selector) in selectors.into_iter().enumerate() {
                if selector.is_none_or(selects) {
                    continue;
                }
                // A sweep may be one mapping, which has no positions.
                if source.has(&[key, "where"]) {
                    idle(source.span(&[key, "where"]));
                } else {
                    idle(source.span(&[key, &index.to_string(), "where"]));
                }
            }
        }
        errors
    }

    /// Checks that each build and library of the manifest has its file, and
    /// each file its entry: anything without would never be run.
    ///
    /// # Errors
    /// One is missing, or the folder can't be read.
    pub fn check_files(&self) -> Result<(), SuiteError> {
        Ok(self.manifest.check_files(&self.corpus)?)
    }

    /// SHA-256 of everything in the manifest, and of the producers of the
    /// builds, in hexadecimal.
    #[must_use]
    pub fn corpus_digest(&self) -> String {
        // Both are plain text and numbers, which can always be written.
        let builds = serde_json::to_vec(&(&self.manifest.builds, &self.producers)).unwrap_or_default();
        format!("{:x}", Sha256::digest(builds))
    }

    /// Both digests, by what they are of.
    #[must_use]
    pub fn digests(&self) -> [(String, String); 2] {
        [("corpus".to_owned(), self.corpus_digest()), ("specs".to_owned(), self.specs_digest())]
    }

    /// SHA-256 of the specs and the pages of faults with their names, in hexadecimal.
    #[must_use]
    pub fn specs_digest(&self) -> String {
        let mut digest = Sha256::new();
        let specs = self.specs.iter().map(|(_, source)| (spec_name(source), source));
        let pages = self.faults.iter().map(|(name, _, source)| (name, source));
        for (name, source) in specs.chain(pages) {
            for part in [name, source.text()] {
                digest.update((part.len() as u64).to_le_bytes());
                digest.update(part);
            }
        }
        format!("{:x}", digest.finalize())
    }

    /// The corpus's manifest.
    #[must_use]
    pub const fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// The specs with their texts.
    #[must_use]
    pub fn specs(&self) -> &[(Spec, Source)] {
        &self.specs
    }

    /// The faults that known failures may name.
    #[must_use]
    pub const fn faults(&self) -> &Faults {
        &self.faults
    }

    /// The folder of the corpus.
    #[must_use]
    pub fn corpus(&self) -> &Path {
        &self.corpus
    }

    /// The producer of the builds of a toolchain in the manifest.
    #[must_use]
    pub fn producer(&self, toolchain: &str) -> Option<&Producer> {
        self.producers.get(toolchain)
    }

    fn cases_of<'s>(&'s self, spec: &'s Spec, source: &'s Source) -> Vec<Case<'s>> {
        let builds = self.manifest.builds.iter().filter(|build| build.program == spec.program);
        let cases = builds.filter_map(|build| self.case(spec, source, build));
        cases.filter(|case| spec.applies_to(&case.facts())).collect()
    }

    /// Returns a spec on a build of the manifest, whether or not it applies.
    pub(crate) fn case<'s>(
        &'s self,
        spec: &'s Spec,
        source: &'s Source,
        build: &'s Build,
    ) -> Option<Case<'s>> {
        let producer = self.producer(&build.toolchain)?;
        Some(Case { spec, source, build, producer })
    }

    /// Returns the cases that a filter selects, by spec and build.
    ///
    /// # Errors
    /// The filter names a spec, toolchain, variant or case that does not exist.
    pub fn cases(&self, filter: &Filter) -> Result<Vec<Case<'_>>, SuiteError> {
        for pattern in &filter.specs {
            if !self.specs.iter().any(|(_, source)| pattern.matches(spec_name(source))) {
                let names = self.specs.iter().map(|(_, source)| spec_name(source));
                let help = sframe_judge::vocabulary::suggest::hint_or_all(pattern.as_str(), names);
                return Err(SuiteError::Filter(format!("no spec matches `{pattern}`{help}")));
            }
        }
        for toolchain in &filter.toolchains {
            if !self.manifest.builds.iter().any(|build| build.toolchain == *toolchain) {
                let names = self.manifest.builds.iter().map(|build| build.toolchain.as_str());
                let help = sframe_judge::vocabulary::suggest::hint_or_all(toolchain, names);
                return Err(SuiteError::Filter(format!("no build is by the toolchain `{toolchain}`{help}")));
            }
        }
        for variant in &filter.variants {
            if !self.manifest.builds.iter().any(|build| build.variant == *variant) {
                let names = self.manifest.builds.iter().map(|build| build.variant.as_str());
                let help = sframe_judge::vocabulary::suggest::hint_or_all(variant, names);
                return Err(SuiteError::Filter(format!("no build is of the variant `{variant}`{help}")));
            }
        }
        if !filter.cases.is_empty() {
            let all = self.specs.iter().flat_map(|(spec, source)| self.cases_of(spec, source));
            let ids: BTreeSet<String> = all.map(|case| case.id()).collect();
            if let Some(id) = filter.cases.iter().find(|id| !ids.contains(*id)) {
                let help = sframe_judge::vocabulary::suggest::hint(id, ids.iter().map(String::as_str));
                let message = format!("there is no case `{id}`, which is SPEC/TOOLCHAIN/ABI/VARIANT{help}");
                return Err(SuiteError::Filter(message));
            }
        }
        Ok(self
            .specs
            .iter()
            .filter(|(_, source)| filter.selects_spec(spec_name(source)))
            .flat_map(|(spec, source)| self.cases_of(spec, source))
            .filter(|case| filter.selects(case))
            .collect())
    }

    /// Runs cases in this process. `done` is called after each, in no particular
    /// order. The reports are in the order of the cases.
    #[must_use]
    pub fn run(
        &self,
        cases: &[Case<'_>],
        options: &Options,
        make_unwinder: &MakeUnwinder,
        done: &(dyn Fn(&CaseReport) + Sync),
    ) -> Vec<CaseReport> {
        let plan = Plan::new(options.clone(), UnderTest::Rust(make_unwinder));
        let results = self.execute(cases, &plan, done).unwrap_or_else(|interrupted| interrupted.results);
        results.into_iter().map(|result| result.report).collect()
    }

    /// Runs cases as planned: see [`execute`].
    ///
    /// # Errors
    /// As for [`execute`].
    pub fn execute(
        &self,
        cases: &[Case<'_>],
        plan: &Plan<'_>,
        done: &(dyn Fn(&CaseReport) + Sync),
    ) -> Result<Vec<CaseResult>, Interrupted> {
        execute(&self.corpus, cases, plan, done)
    }
}

/// Runs cases as planned, on all of rayon's threads. Their builds are in
/// `corpus`. Cases that the journal has finished are not run again. `done` is
/// called after each case, in no particular order; the results are in the order
/// of the cases.
///
/// # Errors
/// The journal can't be written, or somebody has stopped the run. No further case is begun then.
pub fn execute(
    corpus: &Path,
    cases: &[Case<'_>],
    plan: &Plan<'_>,
    done: &(dyn Fn(&CaseReport) + Sync),
) -> Result<Vec<CaseResult>, Interrupted> {
    let workers = plan.isolation.as_ref().map(|isolation| Workers::new(isolation, corpus, plan));
    let failed = OnceLock::new();
    let run = |case: &Case<'_>| {
        let is_stopped = || plan.stop.reason().is_some();
        if failed.get().is_some() || is_stopped() {
            return None;
        }
        let kept = plan.journal.and_then(|journal| journal.take(case, corpus));
        let start = Instant::now();
        let (mut result, is_kept) = match (kept, &workers) {
            (Some(kept), _) => (kept, true),
            (None, Some(workers)) => (workers.run(case), false),
            (None, None) => (run_guarded(case, corpus, &plan.options, plan.unwinder, plan.demands), false),
        };
        if !is_kept {
            let late = plan.demands.settles_late;
            case.explain(corpus, plan.explorer.as_ref(), plan.faults, late, &mut result.report);
            result.report.seconds = start.elapsed().as_secs_f64();
            // The worker may have been stopped as well.
            if is_stopped() {
                return None;
            }
        }
        if let Some(journal) = plan.journal.filter(|_| !is_kept)
            && let Err(error) = journal.add(case, &result)
        {
            // Other threads may have failed at the same moment: one error is enough.
            let _ = failed.set(error);
        }
        done(&result.report);
        Some(result)
    };
    let results = cases.par_iter().map(run).collect::<Vec<_>>().into_iter().flatten().collect();
    match failed.into_inner() {
        None if plan.stop.reason().is_none() => Ok(results),
        error => Err(Interrupted { results, error }),
    }
}

/// Checks that the first build that each spec is run on has the places that it names.
///
/// # Errors
/// The places that it does not have, each pointing at its line.
pub fn check_places(corpus: &Path, cases: &[Case<'_>]) -> Result<(), SuiteError> {
    let is_run = |case: &&Case<'_>| case.spec.skip_for(&case.facts()).is_none();
    let first: BTreeMap<&Path, &Case<'_>> =
        cases.iter().filter(is_run).rev().map(|case| (case.source.path(), case)).collect();
    let errors = first.par_iter().flat_map_iter(|(_, case)| case.misplaced_places(corpus));
    let errors: Vec<sframe_corpus::yaml::Error> = errors.collect();
    if errors.is_empty() { Ok(()) } else { Err(SuiteError::Specs(errors)) }
}

/// Whether a mistake is in a spec that a filter does not name, or in the page of a fault.
fn is_about_another(error: &sframe_corpus::yaml::Error, specs: &Path, filter: &Filter) -> bool {
    let stem = error.path().file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
    let is_spec = error.path().parent() == Some(specs);
    let is_folder = error.path() == specs;
    filter.names_specs() && !is_folder && !(is_spec && filter.selects_spec(stem))
}

/// Reports errors for clauses of versions that no build being run has.
fn idle_clauses(spec: &Spec, source: &Source, cases: &[Case<'_>]) -> Vec<sframe_corpus::yaml::Error> {
    let run = |case: &&Case<'_>| spec.skip_for(&case.facts()).is_none();
    let versions: BTreeSet<u8> = cases.iter().filter(run).map(|case| case.facts().sframe_version).collect();
    let mut errors = Vec::new();
    for (index, id) in spec.clauses.iter().enumerate() {
        let version = id.strip_prefix('v').and_then(|rest| rest.split('-').next()?.parse::<u8>().ok());
        if version.is_some_and(|version| !versions.contains(&version)) {
            let message =
                format!("no build of `{}` that is run has the version of this clause", spec.program);
            let span = source.span(&["clauses", &index.to_string()]);
            errors.push(source.error_at(span, message, Some("the spec can't prove it")));
        }
    }
    errors
}
