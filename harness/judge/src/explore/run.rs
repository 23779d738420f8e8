//! Explores in this process.

use sframe_machine::explore::{Binary, Observer};
use sframe_machine::{MachineError, own_words};

use super::batches::Batches;
use super::conclusion::Parts;
use super::exploration::Exploration;
use super::judge::Judge;
use super::options::ExploreOptions;
use super::partial::Partial;
use super::roots::Roots;
use crate::target::Target;

/// Explores the functions at some roots, in this process.
///
/// # Errors
/// The machine can't be set up.
pub fn explore(
    target: &Target<'_>,
    roots: &Roots,
    options: &ExploreOptions,
) -> Result<Exploration, MachineError> {
    let entries = roots.roots.iter().map(|root| root.entry).collect();
    let mut all = All::new(entries);
    explore_batches(target, roots, options, &mut all)?;
    let left = roots.unreached(&all.parts.reached());
    if !left.is_empty() {
        all.left = Some(left);
        explore_batches(target, roots, options, &mut all)?;
    }
    Ok(all.parts.conclude(target, roots))
}

/// All functions at once.
pub(super) struct All {
    left: Option<Vec<u64>>,
    parts: Parts,
}

impl All {
    pub(super) fn new(entries: Vec<u64>) -> Self {
        Self { left: Some(entries), parts: Parts::default() }
    }

    pub(super) fn into_parts(self) -> Parts {
        self.parts
    }
}

impl Batches for All {
    fn next(&mut self) -> Option<Vec<u64>> {
        self.left.take()
    }

    fn explored(&mut self, partial: Partial) {
        self.parts.add(partial);
    }
}

pub(super) fn explore_batches(
    target: &Target<'_>,
    roots: &Roots,
    options: &ExploreOptions,
    batches: &mut dyn Batches,
) -> Result<(), MachineError> {
    observe(target, roots, &mut Judge::new(target, roots, options, batches))
}

/// Shows an observer the functions that it names.
pub(super) fn observe(
    target: &Target<'_>,
    roots: &Roots,
    observer: &mut dyn Observer,
) -> Result<(), MachineError> {
    let image = &target.executable().image;
    let binary = Binary {
        image,
        words: own_words(image)?,
        entries: roots.entries.clone(),
        called: roots.called.clone(),
        trampolines: roots.trampolines.clone(),
        aliases: roots.aliases.clone(),
        stubs: roots.stubs.clone(),
        returns: roots.returns.clone(),
        bodies: roots.bodies.clone(),
        landing_pads: roots.exceptions.landing_pads.clone(),
        pushed_arguments: roots.exceptions.pushed_arguments.clone(),
        is_kernel: roots.is_kernel,
        detours: roots.detours.clone(),
        traced: roots.traced.clone(),
    };
    sframe_machine::explore::explore(&binary, observer)
}
