//! `try`: builds a program of the corpus with the tools at hand, and runs its specs on that.

mod builds;
mod report;
mod toolchains;

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use builds::{TriedToolchain, check_build};
use clap::Args;
use report::TryReport;
use sframe_corpus::corpus::{AttemptOptions, Attempts, Build, Program, Toolchain, WorkFolder};
use sframe_corpus::failure::of_documents;
use sframe_corpus::spec::{Spec, bless, parse_abi};
use sframe_corpus::yaml::Source;
use sframe_engine::Abi;
use sframe_inspect::command::{Failure, Status, print, print_verdict, status, write_file};
use sframe_judge::examine::stop::StopRequest;
use sframe_judge::vocabulary::suggest::{hint, hint_or_all, quoted_list, unknown};
use sframe_kit::conclusion::Conclusion;
use sframe_kit::text::{Text, counted, grouped};
use sframe_suite::case::{CaseReport, Outcome};
use sframe_suite::matrix::{OwnCases, References};
use sframe_suite::report::{CheckReport, Report, Style, check_summary, run_summary};
use sframe_suite::suite::{Filter, Suite, check_places};
use toolchains::Opened;

use super::bless::{frames, refuse_under_ci, rules};
use super::definitions::failure;
use super::interrupt::Work;
use super::isolation::workers_of_strangers;
use super::matrix::make;
use super::numbers;
use super::options::{Folders, MachineOptions};
use super::reproduce::Invocation;
use super::run::{progress_bar, split};

#[derive(Args)]
pub(crate) struct Try {
    /// Programs of the corpus, by their names or those of their specs.
    #[arg(required = true, value_name = "PROGRAM")]
    programs: Vec<String>,
    #[command(flatten)]
    folders: Folders,
    #[command(flatten)]
    machine: MachineOptions,
    /// A toolchain of the corpus, or the definition of another one (repeatable). By default, this
    /// machine's compiler if there is one, or else the toolchains of the corpus that are there.
    #[arg(long, value_name = "NAME|FILE")]
    toolchain: Vec<PathBuf>,
    /// Only this ABI (repeatable).
    #[arg(long, value_name = "ABI", value_parser = parse_abi)]
    abi: Vec<Abi>,
    /// Only this variant (repeatable).
    #[arg(long, value_name = "NAME")]
    variant: Vec<String>,
    /// First write the frames of stops, and the rules of known failures, into the specs.
    #[arg(long)]
    bless: bool,
    /// Folder with one root folder for each toolchain of the corpus, as made by
    /// ci/toolchains.
    #[arg(long, value_name = "DIR", default_value = "target/toolchains")]
    toolchains: PathBuf,
    /// Where builds are kept: finished builds by the same tools from the same sources are not repeated.
    #[arg(long, value_name = "DIR", default_value = "target/try")]
    work: PathBuf,
    /// Time limit for each command.
    #[arg(long, value_name = "SECONDS", default_value_t = 120, value_parser = numbers::seconds::<u32>(numbers::SECONDS))]
    timeout: u32,
    /// Print the results as JSON instead of the summary.
    #[arg(long)]
    json: bool,
}

/// How the builds without a spec came out.
fn conclusion(checks: &[CheckReport], status: Status) -> Conclusion {
    let count = |is: &dyn Fn(&CheckReport) -> bool| checks.iter().filter(|check| is(check)).count() as u64;
    let has_findings = |check: &CheckReport| !check.findings.is_empty() || !check.findings_omitted.is_empty();
    let broken = count(&|check| check.broken.is_some());
    let wrong = count(&|check| check.broken.is_none() && has_findings(check));
    let right = checks.len() as u64 - broken - wrong;
    let parts = [(broken, "could not finish"), (wrong, "with findings"), (right, "correct")];
    let parts = parts.into_iter().filter(|(count, _)| *count > 0);
    let parts: Vec<String> = match right == checks.len() as u64 {
        true => vec!["all correct".to_owned()],
        false => parts.map(|(count, what)| format!("{} {what}", grouped(count))).collect(),
    };
    let sum = |of: fn(&CheckReport) -> u64| checks.iter().map(of).sum::<u64>();
    let judged = sum(|check| check.summary.counts.comparisons);
    let executed = sum(|check| check.summary.counts.instructions);
    let builds = format!("{}: {}", counted(checks.len() as u64, "build"), parts.join(", "));
    let executed = format!("{} of {} executed instructions checked", grouped(judged), grouped(executed));
    Conclusion { ending: status.into(), facts: vec![builds, executed] }
}

/// A spec with its text.
type SpecOf = (Spec, Source);

impl Try {
    pub(crate) fn execute(&self) -> Result<Status, Failure> {
        let done = Work::begin(self.json, "finished builds are kept: the same command goes on with them");
        if self.bless {
            refuse_under_ci()?;
        }
        let mut suite = self.open()?;
        let programs = self.programs(&suite)?;
        let all = Toolchain::load_all(&self.folders.corpus).map_err(failure)?;
        let references = References::of(&suite, &all);
        let work = WorkFolder::open(&self.work).map_err(failure)?;
        let opened = self.toolchains(&all, &work, &programs, done.stop.clone())?;
        let mut tried = Vec::new();
        for Opened { attempts, file } in &opened {
            tried.push(TriedToolchain { attempts, file: file.clone(), made: make(attempts, &done)? });
        }
        if self.bless && self.write_specs(&suite, &references, &tried, &work)? {
            suite = self.open()?;
        }
        self.judge(&suite, &references, &tried, (&work, &done))
    }

    /// Opens the suite. Only the specs of these names have to be right.
    fn open(&self) -> Result<Suite, Failure> {
        let pattern = |name: &String| glob::Pattern::new(&glob::Pattern::escape(name)).ok();
        let filter = Filter::of_specs(self.programs.iter().filter_map(pattern).collect());
        self.folders.open_without_builds(&filter)
    }

    /// The specs that the names mean: those of that name, or else all of the program.
    fn specs<'s>(&self, suite: &'s Suite) -> Vec<&'s SpecOf> {
        let named = |source: &Source, name: &str| sframe_suite::case::spec_name(source) == name;
        let is_meant = |(spec, source): &&SpecOf| {
            self.programs.iter().any(|name| named(source, name) || spec.program == *name)
        };
        suite.specs().iter().filter(is_meant).collect()
    }

    /// The programs that the names mean.
    fn programs(&self, suite: &Suite) -> Result<BTreeSet<String>, Failure> {
        let all = Program::load_all(&self.folders.corpus).map_err(failure)?;
        let is_there = |name: &str| all.iter().any(|program| program.name == name);
        let specs = suite.specs();
        let spec_names = || specs.iter().map(|(_, source)| sframe_suite::case::spec_name(source));
        let mut programs = BTreeSet::new();
        for name in &self.programs {
            let of_spec = specs.iter().find(|(_, source)| sframe_suite::case::spec_name(source) == name);
            if let Some((spec, source)) = of_spec.filter(|(spec, _)| !is_there(&spec.program)) {
                let names = all.iter().map(|program| program.name.as_str());
                let error = source.error_at(
                    source.span(&["program"]),
                    unknown("program", &spec.program, names),
                    None::<&str>,
                );
                return Err(of_documents(&[error]));
            }
            let of_spec = of_spec.map(|(spec, _)| &spec.program);
            match of_spec.filter(|_| !is_there(name)).unwrap_or(name) {
                program if is_there(program) => programs.insert(program.clone()),
                program => {
                    let names = all.iter().map(|program| program.name.as_str()).chain(spec_names());
                    let folder = self.folders.corpus.join("programs");
                    let missing = format!("error: there is no program `{program}` in {}", folder.display());
                    // A program's name is that of its file.
                    let stem = Path::new(name).file_stem().and_then(OsStr::to_str).unwrap_or(name);
                    return Err(Failure::unusable(missing + &hint(stem, names)));
                }
            };
        }
        Ok(programs)
    }

    fn options(&self, programs: &BTreeSet<String>, stop: StopRequest) -> Result<AttemptOptions, Failure> {
        let all = Program::load_all(&self.folders.corpus).map_err(failure)?;
        let meant = all.iter().filter(|program| programs.contains(&program.name));
        let names: BTreeSet<&str> =
            meant.flat_map(|program| program.variants.iter().map(|variant| variant.name)).collect();
        if let Some(name) = self.variant.iter().find(|name| !names.contains(&***name)) {
            let programs: Vec<&str> = programs.iter().map(String::as_str).collect();
            let none = if programs.len() == 1 { "has no" } else { "have no" };
            let help = hint_or_all(name, names);
            let programs = quoted_list(programs);
            return Err(Failure::unusable(format!("error: {programs} {none} variant `{name}`{help}")));
        }
        Ok(AttemptOptions {
            corpus_dir: self.folders.corpus.clone(),
            toolchains_dir: self.toolchains.clone(),
            abis: self.abi.clone(),
            variants: self.variant.clone(),
            programs: programs.clone(),
            limit: Duration::from_secs(self.timeout.into()),
            stop,
            resumes: false,
        })
    }

    fn toolchains<'w>(
        &self,
        all: &[Toolchain],
        work: &'w WorkFolder,
        programs: &BTreeSet<String>,
        stop: StopRequest,
    ) -> Result<Vec<Opened<'w>>, Failure> {
        let options = self.options(programs, stop)?;
        let opened = toolchains::open(&self.toolchain, &self.folders.corpus, all, &options, work)?;
        let is_any = |attempts: &Attempts<'_>| attempts.count() > 0;
        if opened.iter().any(|opened| is_any(&opened.attempts)) {
            return Ok(opened.into_iter().filter(|opened| is_any(&opened.attempts)).collect());
        }
        let names: Vec<&str> =
            opened.iter().map(|opened| opened.attempts.toolchain().name.as_str()).collect();
        let message =
            format!("error: none of the selected programs can be built by `{}`", names.join("`, `"));
        Err(Failure::unusable(message))
    }

    /// Blesses the specs by all builds. Returns whether one has changed.
    fn write_specs(
        &self,
        suite: &Suite,
        references: &References,
        tried: &[TriedToolchain<'_, '_>],
        work: &WorkFolder,
    ) -> Result<bool, Failure> {
        let specs = self.specs(suite);
        let own: Vec<OwnCases<'_>> =
            tried.iter().map(|of| of.cases(suite, &specs, references, work)).collect();
        if own.iter().any(OwnCases::is_any_fitted) {
            return Err(Failure::unusable(
                "error: --bless: the spec is for builds of the corpus, and this toolchain is not one of them; \
                 `sframe-testbench bless` writes it by those",
            ));
        }
        let cases: Vec<_> = own.iter().flat_map(OwnCases::whole).collect();
        let options = self.machine.options();
        let mut edits = Vec::new();
        for (spec, source) in specs {
            let of_it: Vec<_> = cases.iter().filter(|case| case.source.path() == source.path()).collect();
            if of_it.is_empty() {
                continue;
            }
            let mut text = bless::set_frames(source, &frames(work.path(), &options, &of_it)?)?;
            if !spec.known.is_empty() {
                let framed = Source::new(source.path(), &text);
                text = bless::set_rules(&framed, &rules(work.path(), &options, &of_it)?)?;
            }
            edits.push((source, text));
        }
        edits.retain(|(source, text)| source.text() != text);
        for (source, text) in &edits {
            if !self.json {
                print(&bless::diff(source.path(), source.text(), text))?;
            }
            write_file(source.path(), text)?;
        }
        Ok(!edits.is_empty())
    }

    /// Runs the specs, or compares at every instruction if there is no spec.
    fn judge(
        &self,
        suite: &Suite,
        references: &References,
        tried: &[TriedToolchain<'_, '_>],
        (work, done): (&WorkFolder, &Work),
    ) -> Result<Status, Failure> {
        let specs = self.specs(suite);
        let machine = self.machine.options();
        let start = Instant::now();
        let (mut reports, mut checks, mut notes) = (Vec::new(), Vec::new(), Text::default());
        for of in tried {
            let own = of.cases(suite, &specs, references, work);
            check_places(work.path(), &own.whole())?;
            let bar = progress_bar(own.count() as u64, "cases");
            let results = own.run(&machine, Some(workers_of_strangers()), work.path(), &|_| {
                done.has_run();
                bar.inc(1);
            });
            bar.finish_and_clear();
            let cases = split(results).0;
            let has_spec = |build: &&Build| specs.iter().any(|(spec, _)| spec.program == build.program);
            let (with, without): (Vec<&Build>, Vec<&Build>) = of.builds().partition(has_spec);
            for build in with.iter().filter(|build| !cases.iter().any(|case| case.build == build.id)) {
                notes.line(format!("no case     {}: its specs are not about such builds", build.id));
            }
            if own.is_any_fitted() {
                let name = &of.attempts.toolchain().name;
                notes.line(format!(
                    "not held    {name}: minimums, counts and rows, which the specs say of builds of the corpus"
                ));
            }
            reports.extend(cases.into_iter().map(|case| (of, case)));
            for build in without {
                checks.push((of, check_build(build, work.path(), &machine)?));
            }
        }
        let elapsed = start.elapsed();
        let command = |of: &TriedToolchain<'_, '_>, name: &str, abi: Abi, variant: &str| {
            let options = [("toolchain", &*of.file), ("abi", abi.name()), ("variant", variant)];
            Invocation::of_this_process().instead(name, &options)
        };
        for (of, case) in &mut reports {
            let spec = case.id.split('/').next().unwrap_or_default();
            case.reproduce = (!matches!(case.outcome, Outcome::Agree | Outcome::Skipped))
                .then(|| command(of, spec, case.abi, &case.variant));
        }
        let checks: Vec<CheckReport> = checks
            .into_iter()
            .map(|(of, (build, check))| {
                let command = command(of, &build.program, build.abi, &build.variant);
                check.reproduced_by(command).with_known(None).by_cause()
            })
            .collect();
        let reports: Vec<CaseReport> = reports.into_iter().map(|(_, case)| case).collect();
        let report = TryReport::new(tried, Report::new(reports).with_faults(suite.faults()), checks);
        if self.json {
            print_verdict(Self::status(&report).into(), &report)?;
        } else {
            self.show(&report, tried, &notes, elapsed)?;
        }
        Ok(Self::status(&report))
    }

    fn show(
        &self,
        report: &TryReport,
        tried: &[TriedToolchain<'_, '_>],
        notes: &Text,
        elapsed: Duration,
    ) -> Result<(), Failure> {
        let style = Style::for_stdout();
        let mut text = Text::default();
        tried.iter().for_each(|of| text.append(&of.text()));
        text.append(notes);
        for case in &report.run.cases {
            if style.is_full() && matches!(case.outcome, Outcome::Agree | Outcome::Known) {
                let outcome = case.outcome.name();
                text.line(format!(
                    "{outcome:<11} {}: {} of {} rows exercised",
                    case.id, case.rows.exercised, case.rows.total
                ));
            }
        }
        if !report.checks.is_empty() {
            let names = report.programs_without_spec().join("`, `");
            text.line(format!(
                "there is no spec of `{names}`: each instruction was compared, as `check` does"
            ));
        }
        if !style.is_brief() {
            print(&text)?;
        }
        let place = Text::of(format_args!("builds: {}", self.work.join("builds").display()));
        for (index, check) in report.checks.iter().enumerate() {
            if index == 0 && report.run.cases.is_empty() && !style.is_brief() {
                print(&place)?;
            }
            print(&check_summary(check, style).demangled())?;
        }
        if report.checks.len() > 1 && !style.is_brief() {
            print(&conclusion(&report.checks, Self::status(report)).text())?;
        }
        if report.run.cases.is_empty() {
            if !report.checks.is_empty() {
                return Ok(());
            }
            let mut text = if style.is_brief() { Text::default() } else { place };
            let facts = vec!["no build could be judged".to_owned()];
            Conclusion { ending: Self::status(report).into(), facts }.show(&mut text);
            return print(&text);
        }
        print(&run_summary(&report.run, elapsed, &place, style).demangled())
    }

    fn status(report: &TryReport) -> Status {
        let run = &report.run.summary;
        let mut findings = run.unexpected > 0;
        let mut broken = run.broken > 0 || !report.has_builds();
        let mut compared = run.counts.comparisons > 0;
        for check in &report.checks {
            findings |= !check.findings.is_empty() || !check.findings_omitted.is_empty();
            broken |= check.broken.is_some();
            compared |= check.summary.counts.comparisons > 0;
        }
        status(findings, broken, compared)
    }
}
