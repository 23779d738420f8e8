//! Builds of a toolchain that may fail: the result of each, and those that already
//! exist.
//!
//! The work folder has the layout of a corpus: `builds/<id>`, and next to it
//! `finished/<id>.json`, which is written last and records what the build was made
//! of. So a run that is interrupted at any time leaves nothing incomplete that a
//! later run would take for complete.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

use object::Object as _;
use rayon::prelude::*;
use rustix::fs::{FlockOperation, flock};
use serde::{Deserialize, Serialize};
use sframe_elf::abi::abi_of_bytes;
use sframe_engine::Abi;
use sframe_judge::examine::stop::StopRequest;

use super::build::{build_id, sha256};
use super::made::Made;
use super::order::Order;
use super::rebuild::make_build;
use super::scratch::{scratch_parent, write_error};
use super::steps::is_rust;
use super::toolchain::AbiTools;
use super::workshop::{Versions, Workshop};
use super::{Build, Error, Program, Toolchain, Variant};
use crate::yaml;

/// The folder below the work folder for unfinished files.
const SCRATCH: &str = "scratch";
/// What the names of all files and folders there start with.
const PREFIX: &str = "matrix-";

/// The maximum length of tool output that is kept.
const SAID: usize = 4000;

/// What to build, and where.
#[derive(Debug, Clone)]
pub struct AttemptOptions {
    /// The corpus: `programs`.
    pub corpus_dir: PathBuf,
    /// Contains one root for each toolchain that is made of packages.
    pub toolchains_dir: PathBuf,
    /// Only these ABIs; all if empty.
    pub abis: Vec<Abi>,
    /// Only these variants; all if empty.
    pub variants: Vec<String>,
    /// Only these programs; all if empty.
    pub programs: BTreeSet<String>,
    /// The time limit of each command.
    pub limit: Duration,
    /// What ends the commands earlier.
    pub stop: StopRequest,
    /// Whether builds that are there are taken, if the tools seem to be what they were: not all that they are made of is
    /// known.
    pub resumes: bool,
}

/// A folder of builds with the layout of a corpus. Only one process can use it at a
/// time.
#[derive(Debug)]
pub struct WorkFolder {
    folder: PathBuf,
    /// Held while the folder is in use.
    _lock: std::fs::File,
}

impl WorkFolder {
    /// Creates a folder if it does not exist, and removes unfinished files of runs
    /// that were killed.
    ///
    /// # Errors
    ///
    /// It can't be written, or is in use.
    pub fn open(folder: &Path) -> Result<Self, Error> {
        std::fs::create_dir_all(folder).map_err(write_error(folder))?;
        let canonical = folder.canonicalize().map_err(write_error(folder))?;
        let lock = lock(folder)?;
        let scratch = canonical.join(SCRATCH);
        std::fs::create_dir_all(&scratch).map_err(write_error(&scratch))?;
        remove_left_over(&scratch, PREFIX)?;
        Ok(Self { folder: canonical, _lock: lock })
    }

    /// Returns its path.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.folder
    }

    /// Replaces a file atomically.
    fn replace(&self, path: &Path, bytes: &[u8]) -> Result<(), Error> {
        let write = || -> std::io::Result<()> {
            std::fs::create_dir_all(path.parent().unwrap_or(Path::new(".")))?;
            let folder = self.folder.join(SCRATCH);
            let mut file = tempfile::Builder::new().prefix(PREFIX).tempfile_in(folder)?;
            file.write_all(bytes)?;
            file.persist(path)?;
            Ok(())
        };
        write().map_err(write_error(path))
    }
}

/// One requested build of a toolchain.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Attempt {
    /// The build's id.
    pub id: String,
    /// The program.
    pub program: String,
    /// The ABI.
    pub abi: Abi,
    /// The variant.
    pub variant: String,
    /// The result.
    pub result: AttemptResult,
    /// Whether it existed already.
    pub kept: bool,
}

impl Attempt {
    /// Returns the build, if it exists.
    #[must_use]
    pub fn build(&self) -> Option<&Build> {
        match &self.result {
            AttemptResult::Built(build) => Some(build),
            _ => None,
        }
    }
}

/// The result of a requested build.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AttemptResult {
    /// The files exist.
    Built(Box<Build>),
    /// A command failed.
    Refused(Refusal),
    /// All commands succeeded, but a file has no `.sframe`, or an empty one.
    NoSection,
    /// The definition excludes it.
    Excluded(String),
}

/// Why a build does not exist.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Refusal {
    /// What the command was for, such as `link`.
    pub step: String,
    /// How it ended, such as `exit status: 1`.
    pub ended: String,
    /// The command, as a shell in `programs` would run it, if there was one.
    pub command: Option<String>,
    /// The tool's output, its beginning and end.
    pub said: String,
}

/// The tool versions of one ABI.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct ToolVersions {
    /// The compiler's version line, or its fault.
    pub compiler: String,
    /// The version line of the assembler or linker, or its fault.
    pub binutils: String,
}

/// `finished/<id>.json`.
#[derive(Serialize, Deserialize)]
struct Finished {
    /// Digest of everything that determines the build.
    fingerprint: String,
    build: Build,
}

/// A toolchain that is ready to build.
pub struct Attempts<'w> {
    work: &'w WorkFolder,
    options: AttemptOptions,
    workshop: Workshop,
    programs: Vec<Program>,
    versions: BTreeMap<Abi, Versions>,
    /// Everything but the program that determines an ABI's builds.
    tools: BTreeMap<Abi, String>,
    /// Everything but the tools that determines a program's builds.
    sources: BTreeMap<String, String>,
}

impl std::fmt::Debug for Attempts<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Attempts").field("toolchain", &self.workshop.toolchain().name).finish_non_exhaustive()
    }
}

impl<'w> Attempts<'w> {
    /// Prepares a toolchain. `path` is the path of its definition.
    ///
    /// # Errors
    ///
    /// The corpus is invalid, the definition excludes something that does not
    /// exist, none of the toolchain's compilers can be started, or a chosen
    /// assembler or linker can't be.
    pub fn open(
        toolchain: Toolchain,
        path: &Path,
        work: &'w WorkFolder,
        options: AttemptOptions,
    ) -> Result<Self, Error> {
        let programs = Program::load_all(&options.corpus_dir)?;
        toolchain.check_excluded(path, &programs)?;
        let root = toolchain.root_dir(&options.toolchains_dir)?;
        // A root may have scratch folders of other work folders.
        let digest = sha256(work.folder.join(&toolchain.name).as_os_str().as_encoded_bytes());
        let prefix = format!("{PREFIX}{}-", digest.get(..8).unwrap_or_default());
        let parent = work.folder.join(SCRATCH);
        remove_left_over(&scratch_parent(root.as_deref(), &parent), &prefix)?;
        let limit = Some(options.limit);
        let workshop = Workshop::open_in(
            toolchain,
            &options.corpus_dir,
            root.clone(),
            (&parent, &prefix),
            limit,
            &options.stop,
        )?;
        let mut attempts = Self {
            work,
            options,
            workshop,
            programs,
            versions: BTreeMap::new(),
            tools: BTreeMap::new(),
            sources: BTreeMap::new(),
        };
        if let Err(error) = attempts.ask(root.as_deref()) {
            let Error::NoTools { is_wrapper, .. } = error else { return Err(error) };
            if is_wrapper {
                return Err(yaml::mistake_in(path, &["wrapper", "0"], error.to_string()).into());
            }
            let abis = &attempts.options.abis;
            let first = attempts.workshop.toolchain().abis.keys().find(|abi| wanted(abis, abi));
            let keys = ["abis", first.map_or("", |abi| abi.name()), "compiler"];
            return Err(yaml::mistake_in(path, &keys, error.to_string()).into());
        }
        attempts.hash_sources()?;
        Ok(attempts)
    }

    /// Asks each compiler for its version.
    fn ask(&mut self, root: Option<&Path>) -> Result<(), Error> {
        let toolchain = self.workshop.toolchain();
        let (mut unusable, mut is_wrapper) = (Vec::new(), false);
        for (abi, tools) in toolchain.abis.iter().filter(|(abi, _)| wanted(&self.options.abis, abi)) {
            let compiler = self.workshop.first_line(&[&tools.compiler, "--version"]);
            if let Err(error) = &compiler
                && is_missing(error, toolchain)
            {
                // What starts a process is the first word.
                is_wrapper |= !toolchain.wrapper.is_empty() && matches!(error, Error::Start { .. });
                unusable.push(format!(
                    "{} ({abi}): {}",
                    tools.compiler,
                    sframe_kit::text::with_causes(error)
                ));
            }
            // The compiler would silently use another one.
            for (_, tool) in tools.chosen() {
                if let Err(error) = self.workshop.first_line(&[tool, "--version"])
                    && is_missing(&error, toolchain)
                {
                    let why = format!("{tool} ({abi}): {}", sframe_kit::text::with_causes(&error));
                    return Err(Error::NoTool { toolchain: toolchain.name.clone(), why });
                }
            }
            let versions = self.workshop.versions(tools);
            let said = |error: &Error| format!("unknown: {}", short(&sframe_kit::text::with_causes(error)));
            let failed = compiler.is_err();
            let versions = versions.unwrap_or_else(|error| Versions {
                compiler: compiler.unwrap_or_else(|error| said(&error)),
                // Once is enough.
                binutils: if failed { "unknown".to_owned() } else { said(&error) },
                rust: None,
            });
            let identity = identity(&self.workshop, tools, &versions, root);
            self.tools.insert(*abi, identity);
            self.versions.insert(*abi, versions);
        }
        if !self.versions.is_empty() && unusable.len() == self.versions.len() {
            return Err(Error::NoTools { toolchain: toolchain.name.clone(), tried: unusable, is_wrapper });
        }
        Ok(())
    }

    fn hash_sources(&mut self) -> Result<(), Error> {
        let folder = self.options.corpus_dir.join("programs");
        let mut sources = BTreeMap::new();
        for program in self.programs.iter().filter(|program| self.is_wanted(program)) {
            let mut text = format!("{program:?}\n");
            for source in sources_of(program, &folder)? {
                let path = folder.join(&source);
                let bytes = std::fs::read(&path).map_err(|error| Error::Read { path, source: error })?;
                let _ = writeln!(text, "{source} {}", sha256(&bytes));
            }
            sources.insert(program.name.clone(), sha256(text.as_bytes()));
        }
        self.sources = sources;
        Ok(())
    }

    fn is_wanted(&self, program: &Program) -> bool {
        self.options.programs.is_empty() || self.options.programs.contains(&program.name)
    }

    /// Returns the definition.
    #[must_use]
    pub fn toolchain(&self) -> &Toolchain {
        self.workshop.toolchain()
    }

    /// Returns the tools of each ABI.
    #[must_use]
    pub fn tools(&self) -> BTreeMap<Abi, ToolVersions> {
        let tools = self.versions.iter().map(|(abi, versions)| {
            let Versions { compiler, binutils, .. } = versions.clone();
            (*abi, ToolVersions { compiler, binutils })
        });
        tools.collect()
    }

    fn orders(&self) -> Vec<(String, Abi, &Program, &'static Variant)> {
        let toolchain = self.workshop.toolchain();
        let mut orders = Vec::new();
        for program in self.programs.iter().filter(|program| self.is_wanted(program)) {
            for (abi, variant) in toolchain.candidates(program) {
                if wanted(&self.options.abis, &abi) && wanted(&self.options.variants, variant.name) {
                    let id = build_id(&toolchain.name, abi, &program.name, variant.name);
                    orders.push((id, abi, program, variant));
                }
            }
        }
        orders
    }

    /// Returns how many builds there will be.
    #[must_use]
    pub fn count(&self) -> usize {
        self.orders().len()
    }

    /// Makes all builds on as many threads as rayon has. `done` is called after
    /// each, in no particular order; the result is sorted by id.
    ///
    /// # Errors
    ///
    /// The work folder can't be written, or an end was asked for.
    pub fn make(&self, done: &(dyn Fn(&Attempt) + Sync)) -> Result<Vec<Attempt>, Error> {
        let orders = self.orders();
        let mut made: Vec<Attempt> = orders
            .par_iter()
            .map(|(id, abi, program, variant)| {
                let (result, kept) = self.attempt(id, *abi, program, variant)?;
                let attempt = Attempt {
                    id: id.clone(),
                    program: program.name.clone(),
                    abi: *abi,
                    variant: variant.name.to_owned(),
                    result,
                    kept,
                };
                done(&attempt);
                Ok(attempt)
            })
            .collect::<Result<_, Error>>()?;
        made.sort_by(|one, other| one.id.cmp(&other.id));
        Ok(made)
    }

    fn attempt(
        &self,
        id: &str,
        abi: Abi,
        program: &Program,
        variant: &'static Variant,
    ) -> Result<(AttemptResult, bool), Error> {
        let toolchain = self.workshop.toolchain();
        let (Some(tools), Some(versions)) = (toolchain.abis.get(&abi), self.versions.get(&abi)) else {
            return Ok((AttemptResult::Excluded("the definition has no such ABI".to_owned()), false));
        };
        if let Some(reason) = toolchain.exclusion(program, variant, abi) {
            return Ok((AttemptResult::Excluded(reason.to_owned()), false));
        }
        if is_rust(&program.sources) && tools.rust.is_none() {
            let reason = "the definition names no Rust compiler for the ABI".to_owned();
            return Ok((AttemptResult::Excluded(reason), false));
        }
        let fingerprint = self.fingerprint(abi, program, variant);
        // What a wrapper leads to, such as a container, may have changed behind the same version line.
        if self.options.resumes
            && toolchain.wrapper.is_empty()
            && let Some(build) = self.finished(id, &fingerprint)
        {
            return Ok((AttemptResult::Built(Box::new(build)), true));
        }
        let order = Order { id, abi, tools, program, variant };
        let made = make_build(&self.workshop, &order, versions).and_then(|made| {
            demand_machine(&made, abi)?;
            Ok(made)
        });
        match made {
            Ok(made) => {
                self.keep(&made, fingerprint)?;
                Ok((AttemptResult::Built(Box::new(made.build)), false))
            }
            Err(Error::NoSframe { .. }) => Ok((AttemptResult::NoSection, false)),
            Err(error @ (Error::Write { .. } | Error::Interrupted)) => Err(error),
            Err(error) => Ok((AttemptResult::Refused(Refusal::of(error)), false)),
        }
    }

    /// Returns the digest of everything that determines the build.
    fn fingerprint(&self, abi: Abi, program: &Program, variant: &Variant) -> String {
        let tools = self.tools.get(&abi).cloned().unwrap_or_default();
        let sources = self.sources.get(&program.name).cloned().unwrap_or_default();
        let bench = env!("CARGO_PKG_VERSION");
        sha256(format!("2 {bench}\n{tools}\n{sources}\n{variant:?}\n").as_bytes())
    }

    /// Returns an existing build if it is complete and made of the same things.
    fn finished(&self, id: &str, fingerprint: &str) -> Option<Build> {
        let text = std::fs::read(self.finished_path(id)).ok()?;
        let Finished { fingerprint: found, build } = serde_json::from_slice(&text).ok()?;
        let is_it = found == fingerprint && build.id == id && build.files(&self.work.folder).is_ok();
        is_it.then_some(build)
    }

    fn finished_path(&self, id: &str) -> PathBuf {
        self.work.folder.join("finished").join(format!("{id}.json"))
    }

    /// Writes a build, and last of all the record that it is finished.
    fn keep(&self, made: &Made, fingerprint: String) -> Result<(), Error> {
        for (path, bytes) in made.files(&self.work.folder) {
            self.work.replace(&path, bytes)?;
        }
        let path = self.finished_path(&made.build.id);
        let finished = Finished { fingerprint, build: made.build.clone() };
        let text = serde_json::to_vec(&finished)
            .map_err(|error| Error::Encode { path: path.clone(), message: error.to_string() })?;
        self.work.replace(&path, &text)
    }
}

impl Refusal {
    fn of(error: Error) -> Self {
        let said = |text: &str| short(text);
        match error {
            Error::Compiler { step, command, ended, stderr, .. } => {
                Self { step, ended, command: Some(command), said: said(&stderr) }
            }
            Error::NoOutput { step, command, .. } => Self {
                step,
                ended: "it succeeded, but wrote no file".to_owned(),
                command: Some(command),
                said: String::new(),
            },
            Error::Start { command, source } => Self {
                step: "start a command".to_owned(),
                ended: format!("cannot start `{command}`"),
                command: Some(command),
                said: source.to_string(),
            },
            Error::NotElf { message, .. } => Self {
                step: "read what was written".to_owned(),
                ended: "it is not an ELF file".to_owned(),
                command: None,
                said: said(&message),
            },
            Error::OtherMachine { found, .. } => Self {
                step: "read what was written".to_owned(),
                ended: "it is for another machine than the ABI's".to_owned(),
                command: None,
                said: format!("{found}; the ABI's `flags` in the definition choose the machine"),
            },
            other => Self {
                step: "build".to_owned(),
                ended: "it can't be created".to_owned(),
                command: None,
                said: said(&sframe_kit::text::with_causes(&other)),
            },
        }
    }
}

fn wanted<T: PartialEq<U>, U: ?Sized>(only: &[T], asked: &U) -> bool {
    only.is_empty() || only.iter().any(|only| only == asked)
}

/// Whether a compiler could not even be started. Through a wrapper or in a root,
/// its exit status shows that.
fn is_missing(error: &Error, toolchain: &Toolchain) -> bool {
    let is_through = toolchain.root.is_some() || !toolchain.wrapper.is_empty();
    matches!(error, Error::Start { .. }) || is_through && matches!(error, Error::Tool { .. })
}

/// Returns what distinguishes a compiler and the programs that it calls from
/// others: its command, its version line, and, if the files are visible, their
/// sizes and times. Compilers under development keep their version number.
fn identity(workshop: &Workshop, tools: &AbiTools, versions: &Versions, root: Option<&Path>) -> String {
    let Toolchain {
        sframe_version,
        path,
        wrapper,
        sframe_flags,
        assembly_flags,
        flags,
        needless_flags,
        one_unit,
        ..
    } = workshop.toolchain();
    let mut text = format!(
        "{tools:?} {versions:?} {root:?} {sframe_version:?} {path:?} {wrapper:?} {sframe_flags:?} {assembly_flags:?} \
         {flags:?} {needless_flags:?} {one_unit}"
    );
    if !wrapper.is_empty() {
        return text;
    }
    let mut programs: Vec<String> = vec![tools.compiler.clone()];
    programs.extend([&tools.rust, &tools.assembler, &tools.linker].into_iter().flatten().cloned());
    for part in ["cc1", "cc1plus", "as", "collect2", "ld", "lto1"] {
        programs.extend(workshop.first_line(&[&tools.compiler, &format!("-print-prog-name={part}")]));
    }
    let mut folders = path.clone();
    match root {
        Some(_) => folders.extend(["/usr/bin", "/bin"].map(PathBuf::from)),
        None => folders.extend(std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default())),
    }
    for program in programs {
        let candidates: Vec<PathBuf> = if program.contains('/') {
            vec![PathBuf::from(&program)]
        } else {
            folders.iter().map(|folder| folder.join(&program)).collect()
        };
        let seen = |path: &PathBuf| match root {
            Some(root) => root.join(path.strip_prefix("/").unwrap_or(path)),
            None => path.clone(),
        };
        let found = candidates.iter().map(seen).find_map(|path| std::fs::metadata(path).ok());
        if let Some(file) = found.filter(std::fs::Metadata::is_file) {
            let time = file.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
            let _ = write!(text, "\n{program} {} {time:?}", file.len());
        }
    }
    text
}

/// Returns the sources that may go into a program's builds, with the files that
/// they include.
fn sources_of(program: &Program, folder: &Path) -> Result<BTreeSet<String>, Error> {
    let runtime = super::program::files_of(&folder.join("runtime"))?;
    let names = runtime.iter().filter_map(|path| path.strip_prefix(folder).ok()?.to_str());
    let objects = program.objects.iter().flat_map(|object| &object.sources);
    let libraries = program.libraries.iter().flat_map(|library| &library.sources);
    let mut left: Vec<String> = program.sources.iter().chain(objects).chain(libraries).cloned().collect();
    left.extend(names.map(str::to_owned));
    let mut found = BTreeSet::new();
    while let Some(source) = left.pop() {
        let Ok(bytes) = std::fs::read(folder.join(&source)) else { continue };
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if !found.insert(source.clone()) {
            continue;
        }
        let beside = source.rsplit_once('/').map_or("", |(folder, _)| folder);
        for line in text.lines() {
            let Some((_, rest)) = line.split_once("include") else { continue };
            let Some(name) = rest.trim().strip_prefix('"').and_then(|rest| rest.split('"').next()) else {
                continue;
            };
            left.extend([name.to_owned(), format!("{beside}/{name}").trim_start_matches('/').to_owned()]);
        }
    }
    Ok(found)
}

/// Rejects a file for another machine.
fn demand_machine(made: &Made, abi: Abi) -> Result<(), Error> {
    let not_elf =
        |error: object::Error| Error::NotElf { build: made.build.id.clone(), message: error.to_string() };
    for bytes in std::iter::once(&made.bytes).chain(&made.libraries) {
        let file = object::File::parse(bytes.as_slice()).map_err(not_elf)?;
        if abi_of_bytes(bytes) != Some(abi) {
            let found = format!("{:?}, {:?}-endian", file.architecture(), file.endianness()).to_lowercase();
            return Err(Error::OtherMachine { build: made.build.id.clone(), found });
        }
    }
    Ok(())
}

/// Returns the beginning and end of a tool's output, without characters that a
/// terminal interprets.
fn short(text: &str) -> String {
    let clean: String = text.chars().map(|c| if c.is_control() && c != '\n' { ' ' } else { c }).collect();
    let clean = clean.trim();
    if clean.chars().count() <= SAID {
        return clean.to_owned();
    }
    let start: String = clean.chars().take(SAID / 2).collect();
    let end: Vec<char> = clean.chars().rev().take(SAID / 2).collect();
    format!("{start}\n[...]\n{}", end.into_iter().rev().collect::<String>())
}

/// Locks a work folder against other processes, until the file is closed.
fn lock(folder: &Path) -> Result<std::fs::File, Error> {
    let path = folder.join("lock");
    let file = std::fs::File::create(&path).map_err(write_error(&path))?;
    match flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(file),
        Err(_) => Err(Error::Locked { path: folder.to_path_buf() }),
    }
}

/// Removes scratch folders of runs that were killed.
fn remove_left_over(parent: &Path, prefix: &str) -> Result<(), Error> {
    let Ok(entries) = std::fs::read_dir(parent) else { return Ok(()) };
    for entry in entries.flatten() {
        if entry.file_name().to_string_lossy().starts_with(prefix) {
            let path = entry.path();
            let remove = if path.is_dir() { std::fs::remove_dir_all } else { std::fs::remove_file };
            remove(&path).map_err(write_error(&path))?;
        }
    }
    Ok(())
}
