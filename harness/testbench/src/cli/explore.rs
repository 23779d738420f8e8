//! `explore`: judges every row of files without running them.

use std::any::Any;
use std::collections::BTreeSet;
use std::fmt::Display;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::available_parallelism;

use clap::Args;
use sframe_corpus::spec::{Faults, NamePattern};
use sframe_elf::file::{MAX_BYTES, read};
use sframe_inspect::command::{
    Failure, Inspect, Show, Status, Stop, Subject, SubjectError, Volume, each_file, is_archive, print,
    print_verdict, tell_line, volume,
};
use sframe_judge::examine::stop::StopRequest;
use sframe_judge::explore::{ExploreError, ExploreOptions, ExploredFile, Roots, SharedFile};
use sframe_judge::target::{Loaded, TargetError};
use sframe_judge::vocabulary::suggest::{hint, quoted_list};
use sframe_kit::conclusion::{Concluded, Ending};
use sframe_kit::percent::Percent;
use sframe_kit::text::counted;
use sframe_suite::check::with_advice;
use sframe_suite::explore::{FileExplorer, is_named};
use sframe_suite::report::{Document, ExploreReport, ExploredFiles, RefusedFile, Style};

use super::check::JudgedSection;
use super::debug_files::{DebugOptions, OF_FILES, tell};
use super::interrupt::requests_here;
use super::isolation::{CacheOptions, EXPLORER, Limits, MEMORY_SIZES, SECONDS_OF_A_BATCH};
use super::known::{KnownOptions, KnownSoFar};
use super::numbers;
use super::options::parse_jobs;
use super::progress::FunctionsLine;
use super::report;
use super::reproduce::Invocation;

#[derive(Args)]
#[command(mut_arg("debug_root", |option| option.help(OF_FILES)))]
pub(crate) struct Explore {
    /// Executables, shared libraries or object files for amd64, aarch64, aarch64_be or s390x, archives of them, or
    /// folders with any of these.
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Load object files as a kernel loads modules, at its addresses, and sort their FDEs.
    #[arg(long)]
    as_module: bool,
    /// Which section of each file to judge.
    #[arg(long, value_name = "SECTION", value_enum, default_value_t = JudgedSection::Sframe)]
    from: JudgedSection,
    /// Explore only functions with names that match, or at this address. Repeatable.
    #[arg(long, value_name = "GLOB")]
    functions: Vec<NamePattern>,
    #[command(flatten)]
    debug: DebugOptions,
    /// Instruction limit of a function, with each of two sets of arguments.
    #[arg(long, value_name = "INSTRUCTIONS", default_value_t = ExploreOptions::default().budget,
          value_parser = numbers::count::<u64>(numbers::POSITIVE, "instructions"))]
    budget: u64,
    /// Number of processes; 0 for one per processor.
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = parse_jobs)]
    jobs: usize,
    /// Memory of a process, without the addresses that the emulator reserves.
    #[arg(long, value_name = "BYTES", default_value_t = Limits::MEMORY,
          value_parser = numbers::bytes(MEMORY_SIZES))]
    memory: u64,
    /// How long a few functions may take.
    #[arg(long, value_name = "SECONDS", default_value_t = SECONDS_OF_A_BATCH,
          value_parser = numbers::seconds::<u64>(numbers::SECONDS))]
    timeout: u64,
    #[command(flatten)]
    cache: CacheOptions,
    #[command(flatten)]
    known: KnownOptions,
    /// The share of the rows that have a caller which must be checked: `all`, or a percentage. Less ends with status 3.
    #[arg(long, value_name = "SHARE", value_parser = Percent::to_reach, default_value_t = Percent::NINE_TENTHS)]
    coverage: Percent,
    /// Also show findings that are not proved.
    #[arg(long)]
    possible: bool,
    /// Write report.html, report.json, report.sarif, junit.xml and summary.md into this folder: of several files together.
    #[arg(long, value_name = "DIR")]
    report: Option<PathBuf>,
    /// Print the report as JSON instead of the summary.
    #[arg(long)]
    json: bool,
}

impl Explore {
    pub(crate) fn execute(&self) -> Result<Status, Failure> {
        if !self.functions.is_empty() {
            self.known.needs_all_findings("--functions")?;
        }
        let known = self.known.open()?;
        let debug_root = self.debug.root(None)?;
        let stop = requests_here();
        if let [path] = &*self.files
            && !path.is_dir()
            && !is_archive(path)
        {
            return self.alone(path, debug_root, &known, &stop);
        }
        if self.known.writes() {
            return Err(Failure::unusable("error: --write-known takes a single file".to_owned()));
        }
        self.report.as_deref().map_or(Ok(()), report::begin)?;
        let mut files = Files {
            options: self,
            debug_root,
            known: &known,
            stop: &stop,
            asked: Asked::default(),
            names: BTreeSet::new(),
            has_hinted: false,
            accepted: <(u64, BTreeSet<String>)>::default(),
            reports: Vec::new(),
            refused: Vec::new(),
        };
        let status = each_file(&mut files, &self.files, self.json)?;
        if let Some(folder) = &self.report {
            let ending = if stop.reason().is_some() { Ending::Interrupted } else { status.into() };
            let (reports, refused) = (std::mem::take(&mut files.reports), std::mem::take(&mut files.refused));
            let explored = ExploredFiles { ending, reports, refused };
            report::write(folder, &Document::Files { files: &explored })?;
        }
        known.without_file(&files.names).into_iter().for_each(tell_line);
        match files.asked.missing(&self.functions) {
            Some(missing) if stop.reason().is_none() => {
                Err(Failure::unusable(format!("error: no file has a {missing}")))
            }
            _ => Ok(status),
        }
    }

    /// Explores the only file.
    fn alone(
        &self,
        path: &Path,
        debug_root: &Path,
        known: &KnownSoFar<'_>,
        stop: &StopRequest,
    ) -> Result<Status, Failure> {
        let name = path.display().to_string();
        let unusable =
            |error: &ExploreError| Failure::unusable(format!("error: {name}: {}", in_words(error)));
        let bytes = read(path, MAX_BYTES).map_err(|error| unusable(&error.into()))?;
        let file = self.read(bytes).map_err(|error| unusable(&error))?;
        let file = Self::named(file, &name, debug_root);
        let mut asked = Asked::default();
        asked.look(&self.functions, &file);
        if let (Some(missing), Ok(_)) = (asked.missing(&self.functions), file.open()) {
            return Err(Failure::unusable(format!("error: {name}: it has no {missing}")));
        }
        self.report.as_deref().map_or(Ok(()), report::begin)?;
        let report = self.explore(&name, path, &file, known.faults(), stop).map_err(|error| match error {
            error if is_of_the_file(&error) => unusable(&error),
            error => Failure::broken(format!("error: {name}: {error}")),
        })?;
        let report = known.apply_to_exploration(report)?;
        if let Some(folder) = &self.report {
            report::write(folder, &Document::Explore { report: &report })?;
        }
        if self.json {
            print_verdict(report.ending(), &report)?;
        } else {
            print(&report.text(self.possible, Style::for_stdout()).demangled())?;
        }
        tell_without_result(&report, self.json);
        Ok(report.ending().into())
    }

    /// Takes the contents of a file, or loads them as a module.
    fn read(&self, bytes: Vec<u8>) -> Result<ExploredFile, ExploreError> {
        let source = self.from.source();
        if self.as_module { ExploredFile::of_module(&bytes, source) } else { ExploredFile::of(bytes, source) }
    }

    /// Names a file's functions by its separate debug file, if there is one.
    fn named(file: ExploredFile, name: &str, debug_root: &Path) -> ExploredFile {
        let (file, error) = file.look_for_debug_file(Path::new(name), debug_root);
        let found = file.debug_file().map(Ok).or(error.as_ref().map(Err));
        found.into_iter().for_each(|found| tell(name, found));
        file
    }

    /// Explores a file, which workers find at `path`.
    fn explore(
        &self,
        name: &str,
        path: &Path,
        file: &ExploredFile,
        faults: &Faults,
        stop: &StopRequest,
    ) -> Result<ExploreReport, ExploreError> {
        let cache = self.cache.open();
        let explorer = FileExplorer {
            source: self.from.source(),
            functions: &self.functions,
            options: ExploreOptions { budget: self.budget },
            isolation: Limits::new(self.memory, self.timeout).workers(EXPLORER),
            jobs: match self.jobs {
                0 => available_parallelism().map_or(1, usize::from),
                jobs => jobs,
            },
            cache: cache.as_ref(),
            faults,
            stop,
        };
        let shows = |progress: &Arc<_>| Box::new(FunctionsLine::begin(progress)) as Box<dyn Any>;
        let report = explorer.explore(name, path, file, &shows)?;
        let invocation = Invocation::of_this_process();
        // What was named may be a folder, or one of several files.
        let is_named = matches!(&self.files[..], [file] if file.to_string_lossy() == name);
        let command = if is_named { invocation.again() } else { invocation.instead(name, &[]) };
        Ok(report.reproduced_by(command).demanding(self.coverage))
    }
}

/// Which of the functions that are asked for there are.
#[derive(Default)]
struct Asked {
    /// The indexes of the patterns that have matched.
    found: BTreeSet<usize>,
    /// The names of all functions.
    names: BTreeSet<String>,
}

impl Asked {
    /// Looks for the functions in a file. What is wrong with one that can't be opened is said where it is explored.
    fn look(&mut self, functions: &[NamePattern], file: &ExploredFile) {
        if self.found.len() == functions.len() {
            return;
        }
        let Ok(target) = file.open() else { return };
        for entry in Roots::of(&target).entries {
            let place = target.place(Loaded(entry));
            let address = format!("{:#x}", place.address);
            let patterns = functions.iter().enumerate();
            let named = patterns.filter(|(_, pattern)| is_named(pattern, place.function, &address));
            self.found.extend(named.map(|(index, _)| index));
            self.names.extend(place.function.map(str::to_owned));
        }
    }

    /// The functions that no file has, and what was probably meant if it is one.
    fn missing(&self, functions: &[NamePattern]) -> Option<String> {
        let missing = functions.iter().enumerate().filter(|(index, _)| !self.found.contains(index));
        let missing: Vec<String> = missing.map(|(_, pattern)| pattern.to_string()).collect();
        let wanted = format!("function {}", quoted_list(missing.iter().map(String::as_str)));
        match &missing[..] {
            [] => None,
            [one] => Some(wanted + &hint(one, self.names.iter().map(String::as_str))),
            _ => Some(wanted),
        }
    }
}

/// Several files, one after another.
struct Files<'f> {
    options: &'f Explore,
    debug_root: &'f Path,
    known: &'f KnownSoFar<'f>,
    stop: &'f StopRequest,
    asked: Asked,
    /// Their names.
    names: BTreeSet<String>,
    /// Whether any of them has pointed at `--verbose`.
    has_hinted: bool,
    /// How many findings are known, and as what.
    accepted: (u64, BTreeSet<String>),
    /// Those that were explored, and those that could not be, if there is to be a report.
    reports: Vec<ExploreReport>,
    refused: Vec<RefusedFile>,
}

impl Inspect for Files<'_> {
    fn section(&self) -> &'static str {
        match self.options.from {
            JudgedSection::Sframe => ".sframe",
            JudgedSection::EhFrame => ".eh_frame",
            JudgedSection::Either => ".sframe or .eh_frame",
        }
    }

    fn refused(&mut self, file: &str, error: &str) {
        self.refused.push(RefusedFile { file: file.to_owned(), error: error.to_owned() });
    }

    fn is_over(&self) -> Option<bool> {
        Some(self.stop.reason().is_some())
    }

    fn facts(&self) -> Vec<String> {
        let (count, pages) = &self.accepted;
        let pages: Vec<&str> = pages.iter().map(String::as_str).collect();
        let named = if pages.is_empty() { String::new() } else { format!(": {}", pages.join(", ")) };
        (*count > 0).then(|| counted(*count, "known finding") + &named).into_iter().collect()
    }

    fn end(&self) -> Option<(Status, Ending)> {
        if self.stop.reason().is_some() {
            return Some((Status::Broken, Ending::Interrupted));
        }
        let missing = self.asked.missing(&self.options.functions).map(|_| (Status::Unusable, Ending::Error));
        missing.or_else(|| self.known.without_file(&self.names).map(|_| (Status::Finding, Ending::Fail)))
    }

    fn inspect(&mut self, file: &Subject, show: &mut impl Show) -> Result<Status, Stop> {
        let source = file.source();
        let bytes = source.bytes(0..source.len()).unwrap_or_default();
        let shared = SharedFile::of(bytes).map_err(|error| Failure::broken(format!("error: {error}")))?;
        let explored = self.options.read(bytes.to_vec()).and_then(|explored| {
            let explored = Explore::named(explored, &file.name, self.debug_root);
            self.asked.look(&self.options.functions, &explored);
            let (path, faults) = (shared.path(), self.known.faults());
            self.options.explore(&file.name, path, &explored, faults, self.stop)
        });
        let explored = match explored {
            Err(error) if !is_of_the_file(&error) => {
                return Err(Failure::broken(format!("error: {}: {error}", file.name)).into());
            }
            explored => explored.map_err(Unused),
        };
        let is_kept = self.options.report.is_some();
        let report = self.known.apply_to_one_of_several(file.checked(explored)?);
        self.names.insert(file.name.clone());
        for (findings, page) in report.accepted() {
            self.accepted.0 += findings;
            self.accepted.1.extend(page.map(str::to_owned));
        }
        let style = Style::for_stdout();
        let is_first = report.has_open_rows() && !self.has_hinted;
        self.has_hinted |= report.has_open_rows();
        let concluded = Concluded { verdict: report.ending(), document: &report };
        show.show(&concluded, || [report.text_with(self.options.possible, is_first, style).demangled()])?;
        tell_without_result(&report, self.options.json);
        let status = report.ending().into();
        self.reports.extend(is_kept.then_some(report));
        Ok(status)
    }
}

/// Why a file is not explored.
struct Unused(ExploreError);

impl Display for Unused {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&in_words(&self.0))
    }
}

impl SubjectError for Unused {
    fn lacks_section(&self) -> bool {
        matches!(self.0, ExploreError::Target(TargetError::NoSection(_) | TargetError::NotMade(_)))
    }
}

fn in_words(error: &ExploreError) -> String {
    match error {
        ExploreError::Target(error) => with_advice(error),
        _ => error.to_string(),
    }
}

/// Whether it is the file that can't be explored; otherwise the bench could not do its work.
const fn is_of_the_file(error: &ExploreError) -> bool {
    use ExploreError::{Link, Module, Target, Unloadable};
    matches!(error, Target(_) | Link(_) | Module(_) | Unloadable(_))
}

/// Says why there is no result, or not all of it, where no last line does.
fn tell_without_result(report: &ExploreReport, is_json: bool) {
    if let Some(why) = report.without_result().filter(|_| is_json || volume() == Volume::Quiet) {
        tell_line(format_args!("{}: {why}", report.file));
    }
}
