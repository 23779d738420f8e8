//! `matrix`: compares any toolchain with a reference.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use sframe_corpus::corpus::{
    Attempt, AttemptOptions, AttemptResult, Attempts, Error, Maker, Properties, Toolchain, VARIANTS,
    WorkFolder,
};
use sframe_corpus::failure::of_documents;
use sframe_corpus::spec::{Faults, parse_abi};
use sframe_corpus::yaml::Source;
use sframe_engine::Abi;
use sframe_inspect::command::{Failure, Status, detail, note, print, print_verdict, volume};
use sframe_judge::examine::listings::Listings;
use sframe_judge::examine::stop::StopRequest;
use sframe_judge::vocabulary::suggest::hint;
use sframe_kit::text::{Text, counted, neutral};
use sframe_links::{LinkCases, LinksReport, Selection, Subject, ToolchainLinker};
use sframe_suite::case::{CaseReport, Outcome};
use sframe_suite::matrix::{MatrixReport, Plan, References, Scope, ToolchainResult, programs_of, summary};
use sframe_suite::provenance::Began;
use sframe_suite::report::{Document, Report};
use sframe_suite::suite::{Filter, Suite};

use super::definitions::{self, failure};
use super::interrupt::{Work, wait_for_end};
use super::isolation::workers_of_strangers;
use super::numbers;
use super::options::{Folders, MachineOptions, parse_jobs, set_jobs};
use super::report;
use super::reproduce::Invocation;
use super::run::{place, progress_bar, split};

#[derive(Args)]
pub(crate) struct Matrix {
    /// Definitions of toolchains (see corpus/README.md for the format), or names of toolchains of the corpus.
    #[arg(required = true, value_name = "FILE|NAME")]
    definitions: Vec<PathBuf>,
    #[command(flatten)]
    folders: Folders,
    #[command(flatten)]
    machine: MachineOptions,
    /// Only specs whose name matches this pattern, and their programs (repeatable).
    #[arg(long, value_name = "GLOB")]
    spec: Vec<glob::Pattern>,
    /// Only this ABI (repeatable).
    #[arg(long, value_name = "ABI", value_parser = parse_abi)]
    abi: Vec<Abi>,
    /// Only this variant (repeatable).
    #[arg(long, value_name = "NAME")]
    variant: Vec<String>,
    /// The toolchain of the corpus to compare with, whatever the definitions say; specs apply as for that
    /// one.
    #[arg(long, value_name = "NAME")]
    reference: Option<String>,
    /// Folder with one root folder for each toolchain of the corpus, as made by
    /// ci/toolchains.
    #[arg(long, value_name = "DIR", default_value = "target/toolchains")]
    toolchains: PathBuf,
    /// Where builds are kept.
    #[arg(long, value_name = "DIR", default_value = "target/matrix")]
    work: PathBuf,
    /// Go on with what was interrupted: finished builds from the same sources are not repeated if the tools have the same
    /// versions, sizes and times. What else they consist of is not known, such as their libraries.
    #[arg(long)]
    resume: bool,
    /// Time limit for each command.
    #[arg(long, value_name = "SECONDS", default_value_t = 120, value_parser = numbers::seconds::<u32>(numbers::SECONDS))]
    timeout: u32,
    /// How many compilers, and then cases, to run at once; 0 for one per processor.
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = parse_jobs)]
    jobs: usize,
    /// Write matrix.md and matrix.json into this folder, and for the toolchains' own cases the files of
    /// `run --report`.
    #[arg(long, value_name = "DIR")]
    report: Option<PathBuf>,
    /// Count builds that are refused, or have no section, as findings.
    #[arg(long)]
    strict: bool,
    /// Print the comparison as JSON instead of the summary.
    #[arg(long)]
    json: bool,
}

impl Matrix {
    pub(crate) fn execute(&self) -> Result<Status, Failure> {
        let then = match self.report {
            None => "finished builds are kept: with --resume, they are not made again",
            Some(_) => {
                "no report is written; finished builds are kept: with --resume, they are not made again"
            }
        };
        let done = Work::begin(self.json, then);
        set_jobs(self.jobs)?;
        let began = Began::now();
        self.report.as_deref().map_or(Ok(()), report::begin)?;
        let filter = Filter::of_specs(self.spec.clone());
        let suite = self.folders.open(&filter)?;
        // A pattern that matches no spec is an error, as in `run`.
        suite.cases(&filter)?;
        self.check_variants()?;
        let all = Toolchain::load_all(&self.folders.corpus).map_err(failure)?;
        let definitions = self.load(&suite, &all)?;
        let references = References::of(&suite, &all);
        let work = WorkFolder::open(&self.work).map_err(failure)?;
        let files: BTreeMap<String, String> = definitions
            .iter()
            .map(|(path, toolchain)| (toolchain.name.clone(), path.display().to_string()))
            .collect();
        let attempts = self.open(&suite, definitions, &work, done.stop.clone())?;
        let machine = self.machine.options();
        let scope = Scope {
            suite: &suite,
            specs: &self.spec,
            options: &machine,
            is_listed: self.report.is_some(),
            isolation: Some(workers_of_strangers()),
        };
        let invocation = Invocation::of_this_process();
        let command = |id: &str, toolchain: &str, abi: Abi| {
            let spec = id.split('/').next().unwrap_or_default();
            let variant = id.rsplit('/').next().unwrap_or_default();
            let file = files.get(toolchain).map_or(toolchain, String::as_str);
            invocation.instead(file, &[("spec", spec), ("abi", abi.name()), ("variant", variant)])
        };
        let (mut results, mut cases) = (Vec::new(), Vec::new());
        for attempts in &attempts {
            self.hold_properties(attempts.toolchain(), &done.stop)?;
            let made = make(attempts, &done)?;
            let kept = made.iter().filter(|attempt| attempt.kept).count();
            if kept > 0 {
                let builds = counted(kept as u64, "build");
                note(format_args!("{}: existed already: {builds}", attempts.toolchain().name));
            }
            let plan = Plan::new(&scope, attempts.toolchain(), &references, &made, work.path());
            let bar = progress_bar(plan.count() as u64, "cases");
            let (mut comparisons, seen) = plan.run(&scope, work.path(), &|report: &CaseReport| {
                if report.outcome == Outcome::Broken {
                    bar.println(neutral(&format!("broken: {}", report.id)));
                }
                done.has_run();
                bar.inc(1);
            });
            bar.finish_and_clear();
            let name = &attempts.toolchain().name;
            for comparison in comparisons.iter_mut().filter(|comparison| comparison.is_remarkable()) {
                comparison.reproduce = Some(command(&comparison.id, name, comparison.abi));
            }
            let mut result = ToolchainResult::new(attempts.toolchain(), attempts.tools(), &made, comparisons);
            if self.spec.is_empty() && self.variant.is_empty() {
                result.links = self.links(attempts.toolchain(), &result, suite.faults(), &done.stop)?;
            }
            results.push(result);
            cases.extend(seen);
        }
        let provenance = began.ended(suite.digests());
        let mut matrix = MatrixReport::new(results);
        matrix.provenance = Some(provenance.clone());
        if let Some(folder) = &self.report {
            report::write(
                folder,
                &Document::Matrix { report: &matrix, ending: self.status(&matrix).into() },
            )?;
            let (reports, listings) = split(cases);
            let report = Report::new(reports).with_faults(suite.faults()).made(provenance);
            let mut report = report.reproduced_by(|case| command(&case.id, &case.toolchain, case.abi));
            report.set_against_references(&matrix, self.status(&matrix).into(), self.strict);
            let listings = Listings::of(report.cases.iter().map(|case| case.id.as_str()), listings);
            let listings = listings.map_err(|error| Failure::broken(format!("error: {error}")))?;
            let corpus = work.path();
            report::write(folder, &Document::Run { report: &report, listings: &listings, corpus })?;
        }
        self.tell(&matrix)?;
        Ok(self.status(&matrix))
    }

    /// Opens what is to be built by each toolchain.
    fn open<'w>(
        &self,
        suite: &Suite,
        definitions: Vec<(PathBuf, Toolchain)>,
        work: &'w WorkFolder,
        stop: StopRequest,
    ) -> Result<Vec<Attempts<'w>>, Failure> {
        let options = AttemptOptions {
            corpus_dir: self.folders.corpus.clone(),
            toolchains_dir: self.toolchains.clone(),
            abis: self.abi.clone(),
            variants: self.variant.clone(),
            programs: programs_of(suite, &self.spec),
            limit: Duration::from_secs(self.timeout.into()),
            stop,
            resumes: self.resume,
        };
        let open = |(path, toolchain): (PathBuf, Toolchain)| {
            let opened = Attempts::open(toolchain, &path, work, options.clone()).map_err(failure)?;
            let name = &opened.toolchain().name;
            match opened.count() {
                0 => Err(Failure::unusable(format!("error: `{name}` builds none of the selected programs"))),
                _ => Ok(opened),
            }
        };
        definitions.into_iter().map(open).collect()
    }

    fn tell(&self, matrix: &MatrixReport) -> Result<(), Failure> {
        if self.json {
            return print_verdict(self.status(matrix).into(), matrix);
        }
        let mut places = Text::of(format_args!("builds: {}", self.work.join("builds").display()));
        places.append(&place(self.report.as_deref()));
        print(&summary(matrix, self.status(matrix).into(), &places, volume()).demangled())
    }

    /// Warns of properties that are not what the tools say.
    fn hold_properties(&self, toolchain: &Toolchain, stop: &StopRequest) -> Result<(), Failure> {
        let maker = Maker::open(toolchain.clone(), &self.toolchains, stop).map_err(failure)?;
        let mut told = BTreeSet::new();
        for abi in toolchain.abis.keys().filter(|abi| self.abi.is_empty() || self.abi.contains(abi)) {
            told.extend(maker.contradictions(*abi).map_err(failure)?);
        }
        for sentence in told {
            note(format_args!("warning: {}: {sentence}; specs apply by what is declared", toolchain.name));
        }
        Ok(())
    }

    /// Tries the linker of a toolchain, and compares it with that of the reference, as this is described.
    fn links(
        &self,
        toolchain: &Toolchain,
        result: &ToolchainResult,
        faults: &Faults,
        stop: &StopRequest,
    ) -> Result<Option<LinksReport>, Failure> {
        let folder = self.folders.corpus.join("links");
        // A corpus of one's own need not have any.
        let Some(reference) = result.references.first().filter(|_| folder.is_dir()) else { return Ok(None) };
        let cases = LinkCases::load(&folder)?;
        let Some(known) = Subject::of_toolchain(reference, &folder, &cases, faults)? else { return Ok(None) };
        let maker = Maker::open(toolchain.clone(), &self.toolchains, stop).map_err(failure)?;
        let linker = ToolchainLinker::of(maker);
        let abis: Vec<Abi> =
            linker.abis().filter(|abi| self.abi.is_empty() || self.abi.contains(abi)).collect();
        if abis.is_empty() {
            return Ok(None);
        }
        let versions = result.builds.iter().filter_map(|build| build.sframe_version);
        let sframe_version = versions.max().unwrap_or(known.sframe_version);
        let selection = Selection { abis, sframe_version, ..Selection::default() };
        let tried = sframe_links::run(&cases, &linker, &known.known, &selection)
            .map_err(|error| Failure::broken(format!("error: {}: {error}", toolchain.name)))?;
        let name = format!("linker of {}", toolchain.name);
        // What is known is known with objects of one version.
        let is_alike = known.sframe_version == sframe_version;
        let compared_with = if is_alike { &known.known[..] } else { &[] };
        Ok(Some(LinksReport::compared(&name, &toolchain.summary, tried.results, compared_with)))
    }

    fn status(&self, matrix: &MatrixReport) -> Status {
        let totals = matrix.totals();
        let is_incomplete = self.strict && totals.refused + totals.no_section > 0;
        if matrix.has_worse() || is_incomplete {
            Status::Finding
        } else if matrix.has_broken() {
            Status::Broken
        } else if matrix.has_compared() {
            Status::AsExpected
        } else {
            Status::NothingCompared
        }
    }

    fn check_variants(&self) -> Result<(), Failure> {
        let names = || VARIANTS.iter().map(|variant| variant.name);
        match self.variant.iter().find(|name| !names().any(|known| known == **name)) {
            None => Ok(()),
            Some(name) => {
                Err(Failure::unusable(format!("error: no variant `{name}`{}", hint(name, names()))))
            }
        }
    }

    /// Reads the definitions, and checks that what they name exists.
    fn load(&self, suite: &Suite, all: &[Toolchain]) -> Result<Vec<(PathBuf, Toolchain)>, Failure> {
        let known = || suite.manifest().builds.iter().map(|build| build.toolchain.as_str());
        let mut loaded: Vec<(PathBuf, Toolchain)> = Vec::new();
        for given in &self.definitions {
            let (path, mut toolchain) = definitions::load(given, &self.folders.corpus, all)?;
            let wrong = |message: String| Failure::unusable(format!("error: {}: {message}", path.display()));
            if loaded.iter().any(|(_, other)| other.name == toolchain.name) {
                return Err(wrong(format!("another definition has the name `{}`", toolchain.name)));
            }
            if self.reference.is_some() {
                toolchain.reference.clone_from(&self.reference);
                // It is held to what specs say about the reference.
                toolchain.properties = Properties::default();
            }
            if let Some(name) =
                toolchain.reference.as_ref().filter(|name| !known().any(|known| known == **name))
            {
                let message =
                    format!("the corpus has no build by the reference `{name}`{}", hint(name, known()));
                return Err(match (&self.reference, Source::read(&path)) {
                    (None, Ok(source)) => {
                        let span = source.span(&["reference"]);
                        of_documents(&[source.error_at(span, message, None::<&str>)])
                    }
                    _ => wrong(message),
                });
            }
            if let Some(abi) = self.abi.iter().find(|abi| !toolchain.abis.contains_key(abi)) {
                return Err(wrong(format!("it has no ABI `{abi}`")));
            }
            loaded.push((path, toolchain));
        }
        Ok(loaded)
    }
}

/// Makes all builds of a toolchain.
pub(super) fn make(attempts: &Attempts<'_>, work: &Work) -> Result<Vec<Attempt>, Failure> {
    let name = &attempts.toolchain().name;
    let bar = progress_bar(attempts.count() as u64, &format!("builds by {name}"));
    let made = attempts.make(&|attempt: &Attempt| {
        detail(|| {
            if attempt.kept {
                format!("built before: {}", attempt.id)
            } else {
                format!("built: {}", attempt.id)
            }
        });
        if let AttemptResult::Refused(refusal) = &attempt.result {
            bar.println(neutral(&format!("refused: {}: {}: {}", attempt.id, refusal.step, refusal.ended)));
        }
        work.has_built();
        bar.inc(1);
    });
    bar.finish_and_clear();
    match made {
        Err(Error::Interrupted) => wait_for_end(),
        made => made.map_err(failure),
    }
}
