//! How any search goes: what is tried, what ends it, and what is reduced.

use std::ops::Range;

use rayon::prelude::*;
use sframe_corpus::corpus::Error;
use sframe_judge::examine::stop::StopRequest;

/// Which of a seed's programs or sections are tried.
#[derive(Clone, Debug)]
pub struct Search {
    /// The seed.
    pub seed: u64,
    /// The numbers of the programs or sections.
    pub numbers: Range<u64>,
    /// Ends the search: what was found by then is told, and not reduced.
    pub stop: StopRequest,
}

/// How a search has ended.
pub(super) enum End<E> {
    /// All numbers were tried.
    Complete,
    /// Numbers are missing.
    Interrupted,
    /// Nothing more could be tried.
    Failed(E),
}

/// How many numbers one judge tries.
#[derive(Clone, Copy)]
pub(super) enum Share {
    One,
    /// As many as there are for each processor.
    Equal,
}

/// Numbers that are tried before what came of them is added, for each processor.
const BATCH: usize = 1000;

impl Search {
    fn is_stopped(&self) -> bool {
        self.stop.reason().is_some()
    }

    /// Tries all numbers, each with one of some judges, which are started for a share of the numbers, and adds
    /// what came of each, in order. `done` is called after each number.
    ///
    /// # Errors
    /// A judge can't be started.
    pub(super) fn run<J, T: Send, E: Send>(
        &self,
        share: Share,
        start: &(dyn Fn() -> Result<J, E> + Sync),
        attempt: &(dyn Fn(&mut J, u64) -> Result<T, E> + Sync),
        add: &mut dyn FnMut(T) -> Result<(), E>,
        done: &(dyn Fn() + Sync),
    ) -> Result<End<E>, E> {
        let attempts = |numbers: &[u64]| {
            let mut trials = Vec::new();
            if self.is_stopped() {
                return Ok((trials, None));
            }
            let mut judge = start()?;
            for number in numbers {
                let trial = attempt(&mut judge, *number);
                done();
                // An interrupt may have ended what judges, too.
                if self.is_stopped() {
                    break;
                }
                match trial {
                    Ok(trial) => trials.push(trial),
                    Err(why) => return Ok((trials, Some(why))),
                }
            }
            Ok((trials, None))
        };
        let processors = rayon::current_num_threads().max(1);
        let mut left = self.numbers.clone();
        loop {
            let numbers: Vec<u64> = left.by_ref().take(BATCH * processors).collect();
            if numbers.is_empty() {
                return Ok(End::Complete);
            }
            let share = match share {
                Share::One => 1,
                Share::Equal => numbers.len().div_ceil(processors),
            };
            let shares: Vec<_> = numbers.par_chunks(share).map(attempts).collect::<Result<_, E>>()?;
            let (mut tried, mut failed) = (0, None);
            for (trials, why) in shares {
                tried += trials.len();
                let added = trials.into_iter().try_for_each(&mut *add);
                failed = why.or(added.err()).or(failed);
            }
            match failed {
                Some(why) if !self.is_stopped() => return Ok(End::Failed(why)),
                None if tried == numbers.len() => {}
                _ => return Ok(End::Interrupted),
            }
        }
    }

    /// Searches with programs, which toolchains make. Returns whether some are missing.
    ///
    /// # Errors
    /// A toolchain can't be used.
    pub(super) fn programs<T: Send>(
        &self,
        attempt: impl Fn(u64) -> Result<T, Error> + Sync,
        mut add: impl FnMut(T),
        done: &(dyn Fn() + Sync),
    ) -> Result<bool, Error> {
        let mut add = |trial| {
            add(trial);
            Ok(())
        };
        match self.run(Share::One, &|| Ok(()), &|(), number| attempt(number), &mut add, done)? {
            End::Complete => Ok(false),
            End::Interrupted => Ok(true),
            End::Failed(error) => Err(error),
        }
    }

    /// Reduces what was found in programs, unless the search was interrupted.
    ///
    /// # Errors
    /// A toolchain can't be used.
    pub(super) fn reduced<C: Send, R: Send>(
        &self,
        cases: impl IntoParallelIterator<Item = C>,
        reduce: impl Fn(&C) -> Result<Option<R>, Error> + Sync,
    ) -> Result<Vec<(C, Option<R>)>, Error> {
        let reduced = |case: C| {
            let reduced = if self.is_stopped() { None } else { reduce(&case)? };
            Ok((case, reduced))
        };
        cases.into_par_iter().map(reduced).collect()
    }
}
