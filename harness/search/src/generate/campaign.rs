//! How any search goes: what is tried, what ends it, and what becomes of what is found.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::ops::Range;

use rayon::prelude::*;
use sframe_judge::examine::stop::StopRequest;

use super::found::{Found, Group, Kind, Terms};

/// What is searched: the programs that a toolchain makes, or the sections that a reader answers about.
pub(super) trait Subject: Sync {
    /// What is found.
    type Terms: Terms;
    /// What judges, one for each share of the numbers.
    type Judge;
    /// What came of one number.
    type Trial: Send;
    /// What can be reduced.
    type Case: Send + Sync;

    /// Whether a judge is worth keeping for as many numbers as there are for each processor.
    const KEEPS_JUDGES: bool;

    /// Starts a judge.
    fn start(&self) -> Result<Self::Judge, ErrorOf<Self>>;

    /// Draws a number's plan, and judges what it becomes.
    fn attempt(&self, judge: &mut Self::Judge, number: u64) -> Result<Self::Trial, ErrorOf<Self>>;

    /// Counts a trial, and returns what was found. The judge is the same for all.
    fn add(
        &self,
        judge: &mut Self::Judge,
        trial: Self::Trial,
        counts: &mut <Self::Terms as Terms>::Counts,
    ) -> Result<Vec<Finding<Self>>, ErrorOf<Self>>;

    /// Reduces a case. Returns what it is one of then, and what is to be shown; `None` if it stays as it was
    /// found.
    fn reduce(&self, kind: &KindOf<Self>, case: &Self::Case) -> Result<Option<Shown<Self>>, ErrorOf<Self>>;
}

pub(super) type ErrorOf<S> = <<S as Subject>::Terms as Terms>::Error;
pub(super) type KindOf<S> = Kind<<<S as Subject>::Terms as Terms>::Cause>;
pub(super) type ExampleOf<S> = <<S as Subject>::Terms as Terms>::Example;
/// What a case is one of, and what is shown of it.
pub(super) type Shown<S> = (KindOf<S>, ExampleOf<S>);

/// Something that was found in one program or section.
pub(super) struct Finding<S: Subject + ?Sized> {
    /// What it is one of.
    pub(super) kind: KindOf<S>,
    /// How often it is there.
    pub(super) count: u64,
    /// Of which kind of section.
    pub(super) of: Option<String>,
    /// What is shown if it is not reduced.
    pub(super) example: Option<ExampleOf<S>>,
    /// What is reduced, if that is possible.
    pub(super) case: Option<S::Case>,
}

impl<S: Subject + ?Sized> Finding<S> {
    /// Something of which nothing is shown.
    pub(super) const fn of(kind: KindOf<S>, count: u64) -> Self {
        Self { kind, count, of: None, example: None, case: None }
    }
}

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

/// Numbers that are tried before what came of them is added, for each processor.
const BATCH: usize = 1000;

/// What came of some numbers, and why nothing more could be tried, if so.
type Tried<S> = (Vec<<S as Subject>::Trial>, Option<ErrorOf<S>>);

/// What is known of a group before it is reduced: how often it was seen, and its first case.
struct Seen<S: Subject> {
    group: Group<ExampleOf<S>>,
    case: Option<S::Case>,
}

impl Search {
    fn is_stopped(&self) -> bool {
        self.stop.reason().is_some()
    }

    /// Tries all numbers, groups what is found, and reduces the first case of each group. `done` is called
    /// after each number.
    ///
    /// # Errors
    /// A judge can't be started, or what was found can't be reduced.
    pub(super) fn run<S: Subject>(
        &self,
        subject: &S,
        done: &(dyn Fn() + Sync),
    ) -> Result<Found<S::Terms>, ErrorOf<S>> {
        let mut found = Found::<S::Terms>::default();
        let mut groups: BTreeMap<KindOf<S>, Seen<S>> = BTreeMap::new();
        let mut judge = subject.start()?;
        let mut add = |trial: S::Trial| {
            for finding in subject.add(&mut judge, trial, &mut found.counts)? {
                let Finding { kind, count, of, example, case } = finding;
                let of = of.map(|of| (of, count)).into_iter().collect();
                let seen = Seen { group: Group { count, of, first: example }, case };
                match groups.entry(kind) {
                    Entry::Vacant(vacant) => _ = vacant.insert(seen),
                    Entry::Occupied(mut first) => first.get_mut().join(seen),
                }
            }
            Ok(())
        };
        let processors = rayon::current_num_threads().max(1);
        let mut left = self.numbers.clone();
        loop {
            let numbers: Vec<u64> = left.by_ref().take(BATCH * processors).collect();
            if numbers.is_empty() {
                break;
            }
            let share = if S::KEEPS_JUDGES { numbers.len().div_ceil(processors) } else { 1 };
            let attempts = |numbers: &[u64]| self.attempts(subject, numbers, done);
            let shares: Vec<_> = numbers.par_chunks(share).map(attempts).collect::<Result<_, _>>()?;
            let mut tried = 0;
            for (trials, why) in shares {
                tried += trials.len();
                let added = trials.into_iter().try_for_each(&mut add);
                found.failed = why.or(added.err()).or(found.failed.take());
            }
            if self.is_stopped() {
                found.failed = None;
            }
            found.interrupted = found.failed.is_none() && tried < numbers.len();
            if found.interrupted || found.failed.is_some() {
                break;
            }
        }
        let reduce = |(kind, seen): (KindOf<S>, Seen<S>)| {
            let case = seen.case.as_ref().filter(|_| !self.is_stopped());
            let reduced = case.map(|case| subject.reduce(&kind, case)).transpose()?.flatten();
            let Group { count, of, first } = seen.group;
            Ok(match reduced {
                Some((kind, example)) => (kind, Group { count, of, first: Some(example) }),
                None => (kind, Group { count, of, first }),
            })
        };
        if found.failed.is_some() {
            groups.values_mut().for_each(|seen| seen.case = None);
        }
        let groups: Vec<_> = groups.into_par_iter().map(reduce).collect::<Result<_, ErrorOf<S>>>()?;
        for (kind, group) in groups {
            found.groups.entry(kind).or_default().join(group, S::Terms::size);
        }
        Ok(found)
    }

    /// Tries some numbers with a judge of their own, until nothing more can be tried.
    fn attempts<S: Subject>(
        &self,
        subject: &S,
        numbers: &[u64],
        done: &(dyn Fn() + Sync),
    ) -> Result<Tried<S>, ErrorOf<S>> {
        let mut trials = Vec::new();
        if self.is_stopped() {
            return Ok((trials, None));
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
                Ok(trial) => trials.push(trial),
                Err(why) => return Ok((trials, Some(why))),
            }
        }
        Ok((trials, None))
    }
}

impl<S: Subject> Seen<S> {
    /// Counts another case. The first one that can be reduced stands for all, or else the smallest one.
    fn join(&mut self, other: Self) {
        let Self { mut group, case } = other;
        if self.case.is_some() {
            group.first = None;
        } else if case.is_some() {
            (self.case, self.group.first) = (case, group.first.take());
        }
        self.group.join(group, S::Terms::size);
    }
}
