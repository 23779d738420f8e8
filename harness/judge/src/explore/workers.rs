//! Functions in separate processes: one that crashes the emulator, or in which it does not come to an
//! end, costs only itself.
//!
//! Requests and answers are lines in JSON: first a [`Setup`], which has no answer, then lists of
//! functions, each of which is answered by what they have shown.

use std::collections::VecDeque;
use std::io::{BufRead as _, Lines, StdinLock, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use rustix::process::{Signal, set_parent_process_death_signal};
use serde::{Deserialize, Serialize};
use sframe_elf::debug_file::DebugFile;
use sframe_engine::InstructionPointer;
use sframe_machine::MachineError;

use super::batches::Batches;
use super::cache::{Cache, Entry};
use super::conclusion::Parts;
use super::error::ExploreError;
use super::exploration::Exploration;
use super::file::ExploredFile;
use super::options::ExploreOptions;
use super::partial::Partial;
use super::progress::Progress;
use super::roots::Roots;
use super::rows::Reach;
use super::run::explore_batches;
use crate::external::isolation::{Isolation, LONGEST_LINE};
use crate::external::process::{Fault, Process};
use crate::process::address_space;
use crate::target::{SectionSource, Target};
use crate::vocabulary::Verdict;

/// How long an interrupt may go unnoticed.
const ATTENTION: Duration = Duration::from_millis(200);
/// Functions that are explored between two answers.
const BATCH: usize = 32;

/// The first message to a worker.
#[derive(Deserialize, Serialize)]
struct Setup {
    file: PathBuf,
    debug: Option<PathBuf>,
    source: SectionSource,
    options: ExploreOptions,
    memory: u64,
}

/// What to explore, and how.
#[derive(Clone, Copy)]
pub struct Job<'j, 'a> {
    /// The file.
    pub file: &'j Path,
    /// The separate debug file that names its functions, if there is one.
    pub debug: Option<&'j DebugFile>,
    /// Which section of it is judged.
    pub source: SectionSource,
    /// The file as it was opened.
    pub target: &'j Target<'a>,
    /// Its functions.
    pub roots: &'j Roots,
    /// How far they are explored.
    pub options: ExploreOptions,
    /// Where it is remembered what they have shown.
    pub cache: Option<&'j Cache>,
}

impl Job<'_, '_> {
    /// Where it is remembered what the functions have shown.
    fn entry<'c>(&self, cache: &'c Cache) -> Entry<'c> {
        let entries: Vec<u64> = self.roots.roots.iter().map(|root| root.entry).collect();
        let question = format!("{:?} {entries:?}", self.options);
        cache.entry(self.target.executable().image.bytes(), self.source, self.debug, &question)
    }
}

/// Explores functions in processes of their own, at most `jobs` at once.
///
/// # Errors
/// No process can be started, or it can't do its work.
pub fn explore_isolated(
    job: &Job<'_, '_>,
    isolation: &Isolation,
    jobs: usize,
    progress: &Progress,
) -> Result<Exploration, ExploreError> {
    let entry = job.cache.map(|cache| job.entry(cache));
    if let Some(known) = entry.as_ref().and_then(Entry::find::<Vec<Partial>>) {
        let mut parts = Parts::default();
        for part in known {
            progress.begin(part.functions);
            progress.add(&part);
            parts.add(part);
        }
        return Ok(parts.conclude(job.target, job.roots));
    }
    let all: Vec<u64> = job.roots.roots.iter().map(|root| root.entry).collect();
    let failures = progress.failures();
    let parts = explore_all(job, isolation, jobs, progress, all, Shown::default())?;
    let left = job.roots.unreached(&parts.all.reached());
    let Shown { all: parts, each } = explore_all(job, isolation, jobs, progress, left, parts)?;
    if let Some(entry) = entry.filter(|_| progress.failures() == failures && !progress.is_stopped()) {
        entry.remember(&each);
    }
    let mut exploration = parts.conclude(job.target, job.roots);
    exploration.was_interrupted = progress.is_stopped();
    Ok(exploration)
}

/// Explores functions, and adds what they show to other parts.
fn explore_all(
    job: &Job<'_, '_>,
    isolation: &Isolation,
    jobs: usize,
    progress: &Progress,
    entries: Vec<u64>,
    parts: Shown,
) -> Result<Shown, ExploreError> {
    let queue = Mutex::new(entries.chunks(BATCH).map(<[u64]>::to_vec).collect::<VecDeque<_>>());
    let parts = Mutex::new(parts);
    let failure = Mutex::new(None);
    progress.begin(entries.len() as u64);
    let threads = jobs.min(entries.len().div_ceil(BATCH)).max(1);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                let worker = Worker { job, isolation, queue: &queue, parts: &parts, progress };
                if let Err(error) = worker.work() {
                    lock(&failure).get_or_insert(error);
                }
            });
        }
    });
    if let Some(error) = lock(&failure).take() {
        return Err(error);
    }
    Ok(parts.into_inner().unwrap_or_else(PoisonError::into_inner))
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What functions have shown.
#[derive(Default)]
struct Shown {
    all: Parts,
    /// The parts of it, if they are to be remembered.
    each: Vec<Partial>,
}

struct Worker<'w, 'j, 'a> {
    job: &'w Job<'j, 'a>,
    isolation: &'w Isolation,
    queue: &'w Mutex<VecDeque<Vec<u64>>>,
    parts: &'w Mutex<Shown>,
    progress: &'w Progress,
}

impl Worker<'_, '_, '_> {
    fn work(&self) -> Result<(), ExploreError> {
        let mut process = None;
        while !self.progress.is_stopped() {
            let Some(batch) = lock(self.queue).pop_front() else { break };
            let running = match &mut process {
                Some(running) => running,
                None => process.insert(self.start()?),
            };
            match ask(running, &batch, || self.progress.is_stopped()) {
                Ok(Answer::Shown(partial)) => {
                    self.progress.add(&partial);
                    let mut shown = lock(self.parts);
                    if self.job.cache.is_some() {
                        shown.each.push((*partial).clone());
                    }
                    shown.all.add(*partial);
                }
                Ok(Answer::Unloadable(reason)) => return Err(ExploreError::Unloadable(reason)),
                Ok(Answer::Refused(reason)) => return Err(ExploreError::Refused(reason)),
                Err(_) => {
                    if let Some(mut process) = process.take() {
                        process.kill();
                    }
                    if !self.progress.is_stopped() {
                        self.split(&batch);
                    }
                }
            }
        }
        Ok(())
    }

    /// Explores the functions of a batch that has failed one by one, or gives one up.
    fn split(&self, batch: &[u64]) {
        if let [only] = batch {
            let fde = self.job.target.sections.lookup_fde(InstructionPointer(*only));
            if let Ok(Some(fde)) = fde {
                lock(self.parts).all.fail(fde.index, Reach { has_failed: true, ..Reach::default() });
            }
            self.progress.failed();
            return;
        }
        let mut queue = lock(self.queue);
        batch.iter().rev().for_each(|entry| queue.push_front(vec![*entry]));
    }

    fn start(&self) -> Result<Process, ExploreError> {
        let Isolation { worker, timeout, memory } = self.isolation;
        let process = Process::start("the worker", worker, *timeout, LONGEST_LINE)?;
        let Job { file, debug, source, options, .. } = *self.job;
        let (file, debug) = (file.to_owned(), debug.map(|debug| debug.path.clone()));
        let sent = process.send(&Setup { file, debug, source, options, memory: *memory });
        sent.map_err(|fault| ExploreError::Refused(fault.message))?;
        Ok(process)
    }
}

#[derive(Deserialize, Serialize)]
enum Answer {
    Shown(Box<Partial>),
    /// What the file says of itself is malformed.
    Unloadable(String),
    /// The worker can't do its work.
    Refused(String),
}

/// Waits for an answer until it is due, or nobody wants it any more.
fn ask(process: &mut Process, batch: &[u64], is_stopped: impl Fn() -> bool) -> Result<Answer, Fault> {
    process.send(&batch)?;
    let deadline = process.deadline();
    loop {
        let now = Instant::now();
        match process.receive(deadline.min(now + ATTENTION)) {
            Err(fault) if fault.verdict == Verdict::TimedOut && now < deadline && !is_stopped() => {}
            answer => return answer,
        }
    }
}

/// Runs as a worker: explores functions until standard input ends.
///
/// # Errors
/// Standard input has something else, or standard output is closed.
pub fn serve() -> Result<(), ExploreError> {
    // A command that is killed takes its workers with it.
    set_parent_process_death_signal(Some(Signal::KILL)).map_err(std::io::Error::from)?;
    let mut lines = std::io::stdin().lock().lines();
    let Some(setup) = lines.next().transpose()? else { return Ok(()) };
    let Setup { file, debug, source, options, memory } = serde_json::from_str(&setup)?;
    address_space::limit(memory)?;
    let mut requests = Requests { lines, failure: None };
    let file = ExploredFile::read(&file, source);
    let explored = file.and_then(|file| {
        let file = file.named_by(debug.map(|debug| DebugFile::read(&debug)).transpose()?);
        let target = file.open()?;
        let roots = Roots::of(&target);
        explore_batches(&target, &roots, &options, &mut requests).map_err(ExploreError::from)
    });
    if let Err(error) = explored {
        let reason = error.to_string();
        let is_of_file = matches!(error, ExploreError::Machine(MachineError::Load(_)));
        requests.answer(&if is_of_file { Answer::Unloadable(reason) } else { Answer::Refused(reason) });
    }
    requests.failure.map_or(Ok(()), Err)
}

/// What the parent asks.
struct Requests<'l> {
    lines: Lines<StdinLock<'l>>,
    failure: Option<ExploreError>,
}

impl Requests<'_> {
    fn answer(&mut self, answer: &Answer) {
        let written = serde_json::to_vec(answer).map_err(ExploreError::from).and_then(|mut line| {
            line.push(b'\n');
            let mut stdout = std::io::stdout().lock();
            Ok(stdout.write_all(&line).and_then(|()| stdout.flush())?)
        });
        self.failure = self.failure.take().or(written.err());
    }
}

impl Batches for Requests<'_> {
    fn next(&mut self) -> Option<Vec<u64>> {
        let line = self.lines.next().filter(|_| self.failure.is_none())?;
        let batch = line.map_err(ExploreError::from).and_then(|line| Ok(serde_json::from_str(&line)?));
        match batch {
            Ok(batch) => Some(batch),
            Err(error) => {
                self.failure = Some(error);
                None
            }
        }
    }

    fn explored(&mut self, partial: Partial) {
        self.answer(&Answer::Shown(Box::new(partial)));
    }
}
