//! Cases in separate processes: workers, each of which runs one case after
//! another. If one crashes, runs out of memory or takes too long, that case is
//! broken, and the next one gets a new worker.
//!
//! Requests and answers are lines in JSON: first a `Setup`, which has no
//! answer, then `Question`s, each of which is answered by a [`CaseResult`].

use std::collections::BTreeMap;
use std::io::{BufRead as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use rustix::process::{Signal, set_parent_process_death_signal};
use serde::{Deserialize, Serialize};
use sframe_corpus::corpus::Build;
use sframe_corpus::spec::{BuildFacts, Known, Producer, Spec};
use sframe_corpus::yaml::Source;
use sframe_judge::examine::stop::StopRequest;
use sframe_judge::external::External;
use sframe_judge::external::isolation::{Isolation, LONGEST_LINE};
use sframe_judge::external::process::{Fault, Process};
use sframe_judge::process::address_space;
use sframe_judge::target::Target;
use sframe_judge::unwind::MakeUnwinder;
use sframe_judge::vocabulary::Verdict;
use sframe_machine::{Options, Pattern};

use super::guard::run_guarded;
use super::plan::Plan;
use crate::case::{BrokenReason, Case, CaseResult, Demands, NoWorker, UnderTest, stand_in};

/// The first message to a worker.
#[derive(Deserialize, Serialize)]
struct Setup {
    corpus: PathBuf,
    is_second_pattern: bool,
    budget: u64,
    stack_size: u64,
    unwinder: Option<External>,
    demands: Demands,
    is_fitted: bool,
    memory: u64,
}

/// A case.
#[derive(Deserialize, Serialize)]
struct Question {
    spec: PathBuf,
    text: String,
    build: Build,
    producer: Producer,
    /// The titles of the faults that the spec names.
    #[serde(default)]
    titles: BTreeMap<String, String>,
}

/// Why a worker can't work.
#[derive(Debug, thiserror::Error)]
pub enum WorkerError {
    /// It can't read or write.
    #[error(transparent)]
    Stream(#[from] std::io::Error),
    /// Its input was not written by this bench.
    #[error(transparent)]
    Json(#[from] serde_json::Error),
    /// A spec is invalid, although the other process could read it.
    #[error(transparent)]
    Spec(#[from] sframe_corpus::yaml::Error),
}

/// The workers of a run.
pub(crate) struct Workers<'w> {
    isolation: &'w Isolation,
    setup: Setup,
    idle: Mutex<Vec<Process>>,
    /// Ends what is at work.
    stop: StopRequest,
}

impl<'w> Workers<'w> {
    pub(crate) fn new(isolation: &'w Isolation, corpus: &Path, plan: &Plan<'_>) -> Self {
        let Options { pattern, budget, stack_size, .. } = plan.options;
        let unwinder = match plan.unwinder {
            UnderTest::Rust(_) => None,
            UnderTest::External(external) => Some(external.clone()),
        };
        let setup = Setup {
            corpus: corpus.to_owned(),
            is_second_pattern: pattern == Pattern::Second,
            budget,
            stack_size,
            unwinder,
            demands: plan.demands,
            is_fitted: plan.is_fitted,
            memory: isolation.memory,
        };
        Self { isolation, setup, idle: Mutex::default(), stop: plan.stop.clone() }
    }

    /// Runs a case in a worker.
    pub(crate) fn run(&self, case: &Case<'_>) -> CaseResult {
        let mut process = match self.process() {
            Ok(process) => process,
            Err(error) => return case.broken(BrokenReason::NoWorker(error)).into(),
        };
        match ask(&mut process, case) {
            Ok(result) => {
                self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(process);
                result
            }
            Err(fault) => {
                process.kill();
                case.broken(self.reason(fault)).into()
            }
        }
    }

    fn process(&self) -> Result<Process, NoWorker> {
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        // If a worker ends between two cases, neither is at fault.
        if let Some(mut process) = idle
            && !process.has_ended()
        {
            return Ok(process);
        }
        let Isolation { worker, timeout, .. } = self.isolation;
        let mut process = Process::start("the worker", worker, *timeout, LONGEST_LINE)?;
        process.stop = self.stop.clone();
        process.send(&self.setup)?;
        Ok(process)
    }

    fn reason(&self, fault: Fault) -> BrokenReason {
        let Isolation { memory, timeout, .. } = *self.isolation;
        match fault.verdict {
            Verdict::TimedOut => BrokenReason::TimedOut(timeout),
            _ if fault.out_of_memory => BrokenReason::OutOfMemory { memory, fault },
            _ => BrokenReason::Worker(fault),
        }
    }
}

fn ask(process: &mut Process, case: &Case<'_>) -> Result<CaseResult, Fault> {
    let Case { source, build, producer, .. } = case;
    let titles = |known: &Known| Some((known.fault.clone()?, known.title.clone()?));
    let question = Question {
        titles: case.spec.known.iter().filter_map(titles).collect(),
        spec: source.path().to_owned(),
        text: source.text().to_owned(),
        build: (*build).clone(),
        producer: (*producer).clone(),
    };
    process.send(&question)?;
    let deadline = process.deadline();
    process.receive(deadline)
}

/// Runs as a worker: runs cases until standard input ends.
///
/// # Errors
/// Standard input has something other than cases, or standard output is closed.
pub fn serve(make_unwinder: &MakeUnwinder) -> Result<(), WorkerError> {
    // A run that is killed takes its workers with it.
    set_parent_process_death_signal(Some(Signal::KILL)).map_err(std::io::Error::from)?;
    let mut lines = std::io::stdin().lock().lines();
    let Some(setup) = lines.next().transpose()? else { return Ok(()) };
    let setup: Setup = serde_json::from_str(&setup)?;
    address_space::limit(setup.memory)?;
    let options = Options {
        pattern: if setup.is_second_pattern { Pattern::Second } else { Pattern::First },
        budget: setup.budget,
        stack_size: setup.stack_size,
        ..Options::default()
    };
    let unwinder = setup.unwinder.as_ref().map_or(UnderTest::Rust(make_unwinder), UnderTest::External);
    let mut stdout = std::io::stdout().lock();
    for line in lines {
        let Question { spec, text, build, producer, titles } = serde_json::from_str(&line?)?;
        let source = Source::new(&spec, &text);
        let mut spec = Spec::from_source(&source)?;
        for known in &mut spec.known {
            known.title = known.fault.as_ref().and_then(|fault| titles.get(fault)).cloned();
        }
        if setup.is_fitted {
            let files = build.files(&setup.corpus).ok();
            let target = files.as_ref().and_then(|files| Target::open_files(files).ok());
            let Build { abi, variant, sframe_version, .. } = &build;
            let facts =
                BuildFacts { producer: &producer, abi: *abi, variant, sframe_version: *sframe_version };
            stand_in::fit(&mut spec, &facts, target.as_ref());
        }
        let case = Case { spec: &spec, source: &source, build: &build, producer: &producer };
        let result = run_guarded(&case, &setup.corpus, &options, unwinder, setup.demands);
        let mut answer = serde_json::to_vec(&result)?;
        answer.push(b'\n');
        stdout.write_all(&answer)?;
        stdout.flush()?;
    }
    Ok(())
}
