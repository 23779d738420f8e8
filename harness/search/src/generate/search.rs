//! How any search goes: what is tried, what ends it, and what is reduced. What is generated, and how that is
//! judged, is up to the search's subject.

use std::ops::Range;

use rayon::prelude::*;
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

/// What is generated, and how it is judged.
pub(super) trait Subject: Sync {
    /// What judges: it is started once for several numbers, and not shared.
    type Judge;
    /// What came of one number.
    type Trial: Send;
    /// What was found by all.
    type Found;
    /// Something that was found, to be reduced in the end.
    type Case: Send + Sync;
    /// The same, reduced.
    type Reduced: Send;
    /// Why nothing more can be tried.
    type Error: Send;

    /// How many of some numbers one judge is started for.
    fn share(&self, _count: usize) -> usize {
        1
    }

    /// Starts a judge.
    fn start(&self) -> Result<Self::Judge, Self::Error>;

    /// Generates and judges what has a number.
    fn attempt(&self, judge: &mut Self::Judge, number: u64) -> Result<Self::Trial, Self::Error>;

    /// Adds what came of a number, in order.
    fn add(&self, found: &mut Self::Found, trial: Self::Trial) -> Result<(), Self::Error>;

    /// Tells what was found until nothing more could be tried, if that is of use.
    fn give_up(&self, _found: &mut Self::Found, why: Self::Error) -> Result<(), Self::Error> {
        Err(why)
    }

    /// What is to be reduced, when all numbers have been tried.
    fn cases(&self, _found: &mut Self::Found) -> Vec<Self::Case> {
        Vec::new()
    }

    /// Reduces a case; `None` if that is not wanted, or the case does not show itself again.
    fn reduce(&self, _case: &Self::Case) -> Result<Option<Self::Reduced>, Self::Error> {
        Ok(None)
    }

    /// Adds a case, and how it is reduced, if it is.
    fn show(&self, _found: &mut Self::Found, _case: Self::Case, _reduced: Option<Self::Reduced>) {}
}

/// Numbers that are tried before what came of them is added, for each processor.
const BATCH: usize = 1000;

/// What came of the numbers that one judge was started for.
struct Share<S: Subject> {
    trials: Vec<S::Trial>,
    failed: Option<S::Error>,
}

impl Search {
    /// Whether the search is to end.
    pub(super) fn is_stopped(&self) -> bool {
        self.stop.reason().is_some()
    }

    /// Tries all numbers, adds what is found, and reduces it. `done` is called after each number. Returns
    /// whether the search was interrupted: numbers are missing then.
    ///
    /// # Errors
    /// A judge can't be started, or the subject can't go on.
    pub(super) fn run<S: Subject>(
        &self,
        subject: &S,
        found: &mut S::Found,
        done: &(dyn Fn() + Sync),
    ) -> Result<bool, S::Error> {
        let mut left = self.numbers.clone();
        let mut is_interrupted = false;
        let batch = BATCH * rayon::current_num_threads().max(1);
        while !is_interrupted {
            let numbers: Vec<u64> = left.by_ref().take(batch).collect();
            if numbers.is_empty() {
                break;
            }
            let shares: Vec<Share<S>> = numbers
                .par_chunks(subject.share(numbers.len()).max(1))
                .map(|numbers| self.share(subject, numbers, done))
                .collect::<Result<_, _>>()?;
            let (mut tried, mut failed) = (0, None);
            for share in shares {
                tried += share.trials.len();
                let added = share.trials.into_iter().try_for_each(|trial| subject.add(found, trial));
                failed = share.failed.or(added.err()).or(failed);
            }
            match failed {
                Some(why) if !self.is_stopped() => {
                    subject.give_up(found, why)?;
                    break;
                }
                failed => is_interrupted = failed.is_some() || tried < numbers.len(),
            }
        }
        let reduced: Vec<_> = subject
            .cases(found)
            .into_par_iter()
            .map(|case| {
                let reduced = if self.is_stopped() { None } else { subject.reduce(&case)? };
                Ok((case, reduced))
            })
            .collect::<Result<_, _>>()?;
        for (case, reduced) in reduced {
            subject.show(found, case, reduced);
        }
        Ok(is_interrupted)
    }

    fn share<S: Subject>(
        &self,
        subject: &S,
        numbers: &[u64],
        done: &(dyn Fn() + Sync),
    ) -> Result<Share<S>, S::Error> {
        let mut share = Share { trials: Vec::new(), failed: None };
        if self.is_stopped() {
            return Ok(share);
        }
        let mut judge = subject.start()?;
        for number in numbers {
            let trial = subject.attempt(&mut judge, *number);
            done();
            // An interrupt may have ended what judges, too.
            if self.is_stopped() {
                break;
            }
            match trial {
                Ok(trial) => share.trials.push(trial),
                Err(why) => {
                    share.failed = Some(why);
                    break;
                }
            }
        }
        Ok(share)
    }
}
