//! The functions of a file with other sections than its own, in one emulator.

use sframe_machine::MachineError;
use sframe_machine::explore::{Class, Explored, Function, Leaving, Observer, Point};

use super::batches::Batches;
use super::conclusion::Parts;
use super::exploration::ExploredFinding;
use super::judge::Judge;
use super::options::ExploreOptions;
use super::partial::Partial;
use super::roots::Roots;
use super::run::{All, explore_batches, observe};
use crate::examine::stop::StopRequest;
use crate::target::Target;

/// A file with another section that has the same functions.
pub struct Variant<'v, 'a> {
    /// The file with the other section.
    pub target: &'v Target<'a>,
    /// Its functions, as the other section has them.
    pub roots: &'v Roots,
    /// The entries of those to explore.
    pub entries: Vec<u64>,
    /// Is shown every instruction of every path before its row is judged.
    pub watch: &'v mut dyn Watch,
}

/// Looks at paths.
pub trait Watch {
    /// Called before each instruction.
    fn instruction(&mut self, point: &Point<'_>);
}

/// What exploring a file has shown of each function.
pub struct Baseline<'r, 'a> {
    target: &'r Target<'a>,
    roots: &'r Roots,
    options: ExploreOptions,
    /// Entries, and what was seen on the paths from there.
    shown: Vec<(u64, Partial)>,
    /// What is known of all functions and does not depend on rows.
    all: Partial,
}

impl<'r, 'a> Baseline<'r, 'a> {
    /// Explores a file.
    ///
    /// # Errors
    /// The machine can't be set up.
    pub fn of(
        target: &'r Target<'a>,
        roots: &'r Roots,
        options: ExploreOptions,
    ) -> Result<Self, MachineError> {
        let mut one_by_one = OneByOne { roots, next: 0, shown: Vec::new() };
        explore_batches(target, roots, &options, &mut one_by_one)?;
        let shown = one_by_one.shown;
        let ways = shown.iter().flat_map(|(_, partial)| &partial.ways).copied().collect();
        let entered = shown.iter().flat_map(|(_, partial)| &partial.entered_with_frame).copied();
        let all = Partial { ways, entered_with_frame: entered.collect(), ..Partial::default() };
        Ok(Self { target, roots, options, shown, all })
    }

    /// Returns the entries from which a path leads to a row of an FDE.
    #[must_use]
    pub fn leading_to(&self, fde: u32) -> Vec<u64> {
        let is_seen = |(_, partial): &&(u64, Partial)| partial.rows().any(|(of, _)| of == fde);
        self.shown.iter().filter(is_seen).map(|(entry, _)| *entry).collect()
    }

    /// Returns what was found on the paths from some entries.
    #[must_use]
    pub fn findings(&self, entries: &[u64]) -> Vec<ExploredFinding> {
        let mut parts = Parts::default();
        parts.add(self.all.clone());
        let wanted = self.shown.iter().filter(|(entry, _)| entries.contains(entry));
        wanted.for_each(|(_, partial)| parts.add(partial.clone()));
        parts.conclude(self.target, self.roots).findings()
    }

    /// Explores variants one after another, and returns what was found in each. If an end is asked for, nothing is found in
    /// those that are left.
    ///
    /// # Errors
    /// The machine can't be set up.
    pub fn try_variants(
        &self,
        mut variants: Vec<Variant<'_, '_>>,
        stop: &StopRequest,
    ) -> Result<Vec<Vec<ExploredFinding>>, MachineError> {
        let take = |variant: &mut Variant<'_, '_>| All::new(std::mem::take(&mut variant.entries));
        let mut batches: Vec<All> = variants.iter_mut().map(take).collect();
        let files: Vec<_> = variants.iter().map(|variant| (variant.target, variant.roots)).collect();
        let tries = variants.into_iter().zip(&mut batches);
        let tries = tries.take_while(|_| stop.reason().is_none()).map(|(variant, batches)| {
            let Variant { target, roots, watch, .. } = variant;
            (Judge::new(target, roots, &self.options, batches), watch)
        });
        observe(self.target, self.roots, &mut Turns { tries, current: None })?;
        let conclude = |(all, (target, roots)): (All, (&Target<'_>, &Roots))| {
            let mut parts = all.into_parts();
            parts.add(self.all.clone());
            parts.conclude(target, roots).findings()
        };
        Ok(batches.into_iter().zip(files).map(conclude).collect())
    }
}

/// Each function as a batch.
struct OneByOne<'r> {
    roots: &'r Roots,
    next: usize,
    shown: Vec<(u64, Partial)>,
}

impl Batches for OneByOne<'_> {
    fn next(&mut self) -> Option<Vec<u64>> {
        let root = self.roots.roots.get(self.next)?;
        self.next += 1;
        Some(vec![root.entry])
    }

    fn explored(&mut self, partial: Partial) {
        let last = self.next.checked_sub(1).and_then(|last| self.roots.roots.get(last));
        self.shown.extend(last.map(|root| (root.entry, partial)));
    }
}

/// Judges that take turns: the next one begins when the one before it has no more functions.
struct Turns<'t, 'a, 'w, I> {
    tries: I,
    current: Option<(Judge<'t, 'a>, &'w mut dyn Watch)>,
}

impl<'t, 'a, 'w, I> Observer for Turns<'t, 'a, 'w, I>
where
    I: Iterator<Item = (Judge<'t, 'a>, &'w mut dyn Watch)>,
{
    fn next(&mut self) -> Option<Function> {
        loop {
            if let Some((judge, _)) = &mut self.current
                && let Some(function) = judge.next()
            {
                return Some(function);
            }
            self.current = Some(self.tries.next()?);
        }
    }

    fn instruction(&mut self, point: &Point<'_>) -> Class {
        let Some((judge, watch)) = &mut self.current else { return Class::default() };
        watch.instruction(point);
        judge.instruction(point)
    }

    fn leaves(&mut self, point: &Point<'_>, leaving: Leaving) {
        self.current.iter_mut().for_each(|(judge, _)| judge.leaves(point, leaving));
    }

    fn returns_from_label(&mut self, label: u64) {
        self.current.iter_mut().for_each(|(judge, _)| judge.returns_from_label(label));
    }

    fn explored(&mut self, function: &Function, result: &Explored) {
        self.current.iter_mut().for_each(|(judge, _)| judge.explored(function, result));
    }
}
