//! Options shared by several commands.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use sframe_corpus::failure::of_documents;
use sframe_corpus::spec::Faults;
use sframe_corpus::yaml::Error;
use sframe_inspect::command::{Failure, note};
use sframe_machine::{Options, Pattern};
use sframe_suite::suite::{Filter, Suite};

use super::numbers;

/// The heading of options that few need.
pub(super) const ADVANCED: &str = "Advanced";

/// Where corpus and specs are.
#[derive(Args)]
pub(super) struct Folders {
    /// The folder of the corpus [default: corpus, here or in the bench's home].
    #[arg(long, value_name = "DIR", default_value_os_t = at_home("corpus"), hide_default_value = true)]
    pub(super) corpus: PathBuf,
    /// The folder of the specs [default: specs, here or in the bench's home].
    #[arg(long, value_name = "DIR", default_value_os_t = at_home("specs"), hide_default_value = true)]
    pub(super) specs: PathBuf,
}

/// The variable that names the bench's home: a clone, with the corpus and the specs.
const HOME: &str = "SFRAME_TESTBENCH_HOME";

/// The bench's home, if one is named.
fn home() -> Option<PathBuf> {
    std::env::var_os(HOME).filter(|home| !home.is_empty()).map(PathBuf::from)
}

/// What a release has beside the folder of its programs, if this is one.
fn installed() -> Option<PathBuf> {
    let program = std::env::current_exe().ok()?;
    Some(program.parent()?.parent()?.join("share/sframe-testbench"))
}

/// A folder of a clone: the one in the current directory, or else that of the bench's home; without a home, that of the
/// release, or of the clone that the bench was built from.
pub(super) fn at_home(name: &str) -> PathBuf {
    let here = PathBuf::from(name);
    // A project may have folders of these names for something else.
    if ["manifest.yaml", "vectors", "clauses.yaml", "faults"].iter().any(|own| here.join(own).exists()) {
        return here;
    }
    if let Some(home) = home() {
        return home.join(name);
    }
    // A release does not say where it was built: so two builds are the same.
    let built_from = match option_env!("SFRAME_RELEASED") {
        None => Some(Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")),
        Some(_) => None,
    };
    let mut folders = installed().into_iter().chain(built_from).map(|folder| folder.join(name));
    folders.find(|folder| folder.is_dir()).unwrap_or(here)
}

/// Checks that a folder of a clone is there, `corpus` or `specs`, which is also the name of its option.
pub(super) fn demand(name: &str, folder: &Path) -> Result<(), Failure> {
    if folder.is_dir() {
        return Ok(());
    }
    let path = folder.display();
    Err(Failure::unusable(if folder == Path::new(name) {
        format!(
            "error: there is no folder `{name}` here: change to a clone of the bench, name one with {HOME}, or \
             give --{name} DIR"
        )
    } else if home().is_some_and(|home| folder == home.join(name)) {
        format!("error: {path}: there is no such folder; {HOME} has to name a clone of the bench")
    } else {
        format!(
            "error: {path}: there is no such folder; give that of a clone of the bench with --{name}, or name \
             the clone with {HOME}"
        )
    }))
}

/// The pages of known bugs: those in a folder of specs that was asked for, or else those of the bench's home or of a clone,
/// or else those that are built in. What is under test may have a folder `specs` of its own: only one with pages counts, and
/// where a home is named, none but that.
pub(super) fn pages(specs: Option<&Path>) -> Result<Faults, Failure> {
    let own = home().map_or_else(|| at_home("specs"), |home| home.join("specs"));
    let loaded = match specs {
        Some(specs) => {
            demand("specs", specs)?;
            Faults::load(specs)
        }
        None if Faults::folder(&own).is_dir() => Faults::load(&own),
        None => {
            // A home that is named has to be there.
            home().filter(|home| !home.is_dir()).map_or(Ok(()), |_| demand("specs", &own))?;
            Ok(Faults::built_in())
        }
    };
    loaded.map_err(|errors| of_documents(&errors))
}

impl Folders {
    /// Whether the folders are those of a clone, or were asked for.
    pub(super) fn are_there(&self) -> bool {
        let is_missing = home().is_some_and(|home| !home.is_dir());
        let is_named = |folder: &Path, name: &str| is_missing || folder != at_home(name) || folder.is_dir();
        is_named(&self.corpus, "corpus") || is_named(&self.specs, "specs")
    }

    /// Checks that the folders exist.
    pub(super) fn check(&self) -> Result<(), Failure> {
        demand("corpus", &self.corpus)?;
        demand("specs", &self.specs)
    }

    /// Opens the suite. If the filter names specs, mistakes in others are only warnings.
    pub(super) fn open(&self, filter: &Filter) -> Result<Suite, Failure> {
        self.check()?;
        let (suite, others) = Suite::open_selected(&self.corpus, &self.specs, filter)?;
        warn(&others);
        Ok(suite)
    }

    /// Opens the suite as [`Self::open`] does, but programs need not have builds.
    pub(super) fn open_without_builds(&self, filter: &Filter) -> Result<Suite, Failure> {
        self.check()?;
        let (suite, others) = Suite::open_without_builds(&self.corpus, &self.specs, filter)?;
        warn(&others);
        Ok(suite)
    }
}

/// Warns of mistakes in specs that are not used: a line for each file.
fn warn(mistakes: &[Error]) {
    let mut by_file: BTreeMap<&Path, Vec<&Error>> = BTreeMap::new();
    for mistake in mistakes {
        by_file.entry(mistake.path()).or_default().push(mistake);
    }
    for mistakes in by_file.values() {
        let Some((first, others)) = mistakes.split_first() else { continue };
        let more = if others.is_empty() { String::new() } else { format!("; and {} more", others.len()) };
        note(format_args!("warning: not used: {first}{more}"));
    }
}

/// How programs are started.
#[derive(Args)]
pub(super) struct MachineOptions {
    /// Instruction limit: a program that executes more is broken.
    #[arg(long, value_name = "INSTRUCTIONS", default_value_t = Options::default().budget,
          value_parser = numbers::count::<u64>(numbers::POSITIVE, "instructions"), help_heading = ADVANCED)]
    pub(super) budget: u64,
    /// What uninitialised registers and stack hold. Verdicts must not depend on it. With zeroes,
    /// which Linux has on the stack, wrong rows may agree by accident.
    #[arg(long, value_enum, default_value_t = PatternName::First, help_heading = ADVANCED)]
    pattern: PatternName,
}

#[derive(Clone, Copy, ValueEnum)]
enum PatternName {
    First,
    Second,
    Zeroes,
}

impl MachineOptions {
    pub(super) fn options(&self) -> Options {
        let pattern = match self.pattern {
            PatternName::First => Pattern::First,
            PatternName::Second => Pattern::Second,
            PatternName::Zeroes => Pattern::Zeroes,
        };
        Options { budget: self.budget, pattern, ..Options::default() }
    }
}

/// Parses a reasonable number of threads.
pub(super) fn parse_jobs(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(jobs) if jobs <= 1024 => Ok(jobs),
        _ => Err("it must be a number from 0 to 1024".to_owned()),
    }
}

/// Sets the number of threads; 0 for one per processor.
pub(super) fn set_jobs(jobs: usize) -> Result<(), Failure> {
    rayon::ThreadPoolBuilder::new()
        .num_threads(jobs)
        .build_global()
        .map_err(|error| Failure::broken(format!("no threads: {error}")))
}
