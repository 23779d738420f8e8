//! The journal of a run: each case as soon as it is finished. A run that was
//! killed resumes from it, and the shards of a run use it to carry their
//! listings.
//!
//! It is a file of JSON lines: first a [`Header`], then the cases in the order in
//! which they finished. A line counts only if it is terminated; if a case has two,
//! the later one counts.

use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io::{BufRead as _, BufReader, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rustix::fs::{FlockOperation, flock};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sframe_corpus::shard::Shard;
use sframe_judge::examine::listings::Listing;
use sframe_judge::external::isolation::LONGEST_LINE;
use sframe_kit::json::SCHEMA;

use super::filter::Filter;
use super::made_of;
use super::plan::Plan;
use crate::case::{Case, CaseReport, CaseResult, Outcome, UnderTest};

/// Its name in a report folder.
pub const FILE_NAME: &str = "cases.jsonl";

/// The version of the journal format.
const FORM: u32 = 1;

/// How many characters of a value are shown.
const SHOWN: usize = 60;

/// How often a journal that is in use is tried, every 20 ms.
const LOCK_ATTEMPTS: u32 = 50;

/// What determines the results of a run, except for specs and builds, which
/// each case records separately.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub struct Header {
    /// The version of the format.
    journal: u32,
    /// [`SCHEMA`].
    report: u32,
    /// Which bench it is: its commit, or SHA-256 of its executable.
    bench: String,
    budget: u64,
    pattern: String,
    stack_size: u64,
    /// The command of an unwinder in a separate process, the identity it
    /// reports, and the SHA-256 of each file that the command names.
    unwinder: Option<Value>,
    spec: Vec<String>,
    abi: Vec<String>,
    toolchain: Vec<String>,
    #[serde(default)]
    variant: Vec<String>,
    #[serde(default)]
    case: Vec<String>,
    shard: Option<Shard>,
    /// Whether the cases have listings.
    listings: bool,
    /// Whether backtraces that are not complete are findings.
    #[serde(default)]
    require_reliable: bool,
    /// Whether rows that did not run are left alone.
    #[serde(default)]
    no_explore: bool,
}

/// A finished case.
#[derive(Debug, Deserialize)]
struct Line {
    /// [`Case::inputs`].
    inputs: String,
    report: CaseReport,
    listing: Option<Listing>,
}

/// A line of the journal, for writing.
#[derive(Serialize)]
struct LineOf<'r> {
    inputs: String,
    report: &'r CaseReport,
    #[serde(skip_serializing_if = "Option::is_none")]
    listing: Option<&'r Listing>,
}

/// Why a journal can't be used.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    /// It can't be opened, read or written.
    #[error("{}: {error}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The system's error.
        error: std::io::Error,
    },
    /// The file is not a journal.
    #[error("{}: this is not a journal of a run: {why}", path.display())]
    Other {
        /// The file.
        path: PathBuf,
        /// What is wrong with its first line.
        why: String,
    },
    /// The run would have different results.
    #[error("{}: the journal is of a run with another {}: it can't be resumed", path.display(), what.join(", "))]
    Differs {
        /// The file.
        path: PathBuf,
        /// The keys of its header with different values.
        what: Vec<String>,
    },
    /// A terminated line is not a line of a journal.
    #[error("{}:{line}: this is not a case of a journal: {why}", path.display())]
    Line {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: u64,
        /// What is wrong with it.
        why: String,
    },
    /// Another run is writing it.
    #[error("{}: another run is writing this journal", path.display())]
    Busy {
        /// The file.
        path: PathBuf,
    },
}

/// A journal being written by a run.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    file: Mutex<File>,
    finished: Mutex<HashMap<String, Line>>,
}

impl Header {
    /// The header of a run with this plan.
    ///
    /// # Errors
    /// The bench's executable, or a file of the unwinder under test, can't be
    /// read.
    pub fn new(plan: &Plan<'_>, filter: &Filter, shard: Option<Shard>) -> std::io::Result<Self> {
        let unwinder = match plan.unwinder {
            UnderTest::Rust(_) => None,
            UnderTest::External(external) => {
                Some(serde_json::json!([external, made_of::unwinder(external)?]))
            }
        };
        Ok(Self {
            journal: FORM,
            report: SCHEMA,
            bench: made_of::bench()?,
            budget: plan.options.budget,
            pattern: format!("{:?}", plan.options.pattern).to_lowercase(),
            stack_size: plan.options.stack_size,
            unwinder,
            spec: filter.specs.iter().map(ToString::to_string).collect(),
            abi: filter.abis.iter().map(ToString::to_string).collect(),
            toolchain: filter.toolchains.clone(),
            variant: filter.variants.clone(),
            case: filter.cases.clone(),
            shard,
            listings: plan.demands.is_listed,
            require_reliable: plan.demands.requires_reliable,
            no_explore: plan.explorer.is_none(),
        })
    }

    /// The keys that have different values, with both values.
    fn differences(&self, other: &Self) -> Vec<String> {
        let values = |header: &Self| serde_json::to_value(header).unwrap_or_default();
        let (one, other) = (values(self), values(other));
        let keys = one.as_object().into_iter().flat_map(|object| object.keys());
        let value = |header: &Value, key: &str| {
            let text = header.get(key).map(ToString::to_string).unwrap_or_default();
            // A hash, or everything known about an unwinder, need not be shown whole.
            match text.char_indices().nth(SHOWN) {
                Some((end, _)) => format!("{}...", &text[..end]),
                None => text,
            }
        };
        let differing = keys.filter(|key| one.get(*key) != other.get(*key));
        differing.map(|key| format!("{key} ({} / {})", value(&one, key), value(&other, key))).collect()
    }
}

impl Journal {
    /// Begins a journal in a report folder, replacing any that is there.
    ///
    /// # Errors
    /// The file can't be written, or another run is writing it.
    pub fn create(folder: &Path, header: &Header) -> Result<Self, JournalError> {
        let path = folder.join(FILE_NAME);
        let file = open(&path)?;
        begin(file, header).map(|file| Self::new(&path, file, HashMap::new())).map_err(at(&path))
    }

    /// Opens the journal of a run that was killed, or begins one. An
    /// unterminated last line is dropped.
    ///
    /// # Errors
    /// The file can't be read or written, is not a journal, or belongs to a run
    /// that would have different results; or another run is writing it.
    pub fn resume(folder: &Path, header: &Header) -> Result<Self, JournalError> {
        let path = folder.join(FILE_NAME);
        let mut file = open(&path)?;
        if begins(&mut file, header).map_err(at(&path))? {
            return begin(file, header).map(|file| Self::new(&path, file, HashMap::new())).map_err(at(&path));
        }
        let mut finished = HashMap::new();
        let Read { header: found, len } = read_lines(&path, &file, |line| {
            finished.insert(line.report.id.clone(), line);
        })?;
        let what = found.differences(header);
        if !what.is_empty() {
            return Err(JournalError::Differs { path, what });
        }
        file.set_len(len).and_then(|()| file.seek(SeekFrom::End(0))).map_err(at(&path))?;
        Ok(Self::new(&path, file, finished))
    }

    fn new(path: &Path, file: File, finished: HashMap<String, Line>) -> Self {
        Self { path: path.to_owned(), file: Mutex::new(file), finished: Mutex::new(finished) }
    }

    /// How many finished cases have not been taken.
    #[must_use]
    pub fn finished(&self) -> usize {
        lock(&self.finished).len()
    }

    /// Takes the result of a case. `None` if the case has to run: it is not
    /// finished, its spec or build has changed, or it was broken, which may be
    /// due to limits that have changed since. `corpus` is the folder of its build.
    pub(crate) fn take(&self, case: &Case<'_>, corpus: &Path) -> Option<CaseResult> {
        let line = lock(&self.finished).remove(&case.id())?;
        let Line { inputs, report, listing } = line;
        (report.outcome != Outcome::Broken && inputs == case.inputs() && case.build.files(corpus).is_ok())
            .then_some(CaseResult { report, listing })
    }

    /// Writes the result of a case.
    pub(crate) fn add(&self, case: &Case<'_>, result: &CaseResult) -> Result<(), JournalError> {
        let CaseResult { report, listing } = result;
        let line = LineOf { inputs: case.inputs(), report, listing: listing.as_ref() };
        let line = line_of(&line).map_err(at(&self.path))?;
        lock(&self.file).write_all(&line).map_err(at(&self.path))
    }
}

/// Reads the listings of all cases of a journal.
///
/// # Errors
/// The file can't be read, or is not a journal.
pub fn listings(path: &Path) -> Result<HashMap<String, Listing>, JournalError> {
    let file = File::open(path).map_err(at(path))?;
    let mut listings = HashMap::new();
    read_lines(path, &file, |Line { report, listing, .. }| {
        match listing {
            Some(listing) => listings.insert(report.id, listing),
            None => listings.remove(&report.id),
        };
    })?;
    Ok(listings)
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // A panic while this is locked leaves nothing half done.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn at(path: &Path) -> impl Fn(std::io::Error) -> JournalError {
    move |error| JournalError::File { path: path.to_owned(), error }
}

fn line_of(document: &impl Serialize) -> std::io::Result<Vec<u8>> {
    let mut line = serde_json::to_vec(document)?;
    line.push(b'\n');
    Ok(line)
}

/// Opens a journal for exclusive use by this run.
fn open(path: &Path) -> Result<File, JournalError> {
    let mut options = OpenOptions::new();
    let file = options.read(true).write(true).create(true).truncate(false).open(path).map_err(at(path))?;
    // A process that was being started when the run was killed holds the lock too, until it
    // executes its program.
    for _ in 0..LOCK_ATTEMPTS {
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Err(rustix::io::Errno::WOULDBLOCK) => std::thread::sleep(Duration::from_millis(20)),
            // Some file systems have no locks.
            _ => return Ok(file),
        }
    }
    Err(JournalError::Busy { path: path.to_owned() })
}

fn begin(mut file: File, header: &Header) -> std::io::Result<File> {
    // Devices have no length to set.
    if file.metadata()?.len() > 0 {
        file.set_len(0)?;
    }
    file.rewind()?;
    file.write_all(&line_of(header)?)?;
    Ok(file)
}

/// Whether the run was killed before the header was complete, or before anything was
/// written.
fn begins(file: &mut File, header: &Header) -> std::io::Result<bool> {
    let whole = line_of(header)?;
    let mut start = Vec::new();
    file.take(whole.len() as u64).read_to_end(&mut start)?;
    file.rewind()?;
    Ok(start.len() < whole.len() && whole.starts_with(&start))
}

struct Read {
    header: Header,
    /// Number of bytes up to the end of the last whole line.
    len: u64,
}

/// Reads a journal.
fn read_lines(path: &Path, file: &File, mut case: impl FnMut(Line)) -> Result<Read, JournalError> {
    let other = |why: String| JournalError::Other { path: path.to_owned(), why };
    let mut file = BufReader::with_capacity(1 << 16, file);
    let mut line = Vec::new();
    let mut next = |line: &mut Vec<u8>| {
        line.clear();
        let limit = LONGEST_LINE as u64;
        (&mut file).take(limit).read_until(b'\n', line).map_err(at(path))
    };
    next(&mut line)?;
    if line.last() != Some(&b'\n') {
        return Err(other("its first line has no end".to_owned()));
    }
    let form: Value = serde_json::from_slice(&line).map_err(|error| other(error.to_string()))?;
    match form.get("journal").and_then(Value::as_u64) {
        Some(form) if form == u64::from(FORM) => {}
        Some(form) => return Err(other(format!("it has format {form}, and this bench reads {FORM}"))),
        None => return Err(other("its first line names no format".to_owned())),
    }
    let header = serde_json::from_value(form).map_err(|error| other(error.to_string()))?;
    let mut len = line.len() as u64;
    for number in 2.. {
        let read = next(&mut line)?;
        let has_end = line.last() == Some(&b'\n');
        if !has_end && read < LONGEST_LINE {
            break;
        }
        let wrong = |why: String| JournalError::Line { path: path.to_owned(), line: number, why };
        if !has_end {
            return Err(wrong(format!("it has more than {LONGEST_LINE} bytes")));
        }
        case(serde_json::from_slice(&line).map_err(|error| wrong(error.to_string()))?);
        len += read as u64;
    }
    Ok(Read { header, len })
}
