//! Specs are written for the code of the corpus. To builds of other toolchains they
//! apply as far as is fair to any compiler.

use sframe_corpus::spec::{BuildFacts, Location, OneOrMany, Selector, Spec};
use sframe_judge::target::Target;

use crate::case::resolve;

/// Removes from a spec what does not apply to a build, and returns the places among
/// it. A build that can't be opened has no `target`.
pub(crate) fn fit(spec: &mut Spec, facts: &BuildFacts<'_>, target: Option<&Target<'_>>) -> Vec<String> {
    loosen(spec);
    target.map(|target| leave_out(spec, facts, target)).unwrap_or_default()
}

/// Removes what applies to one compiler's code only: minimums, instruction counts,
/// and rows with their rules.
fn loosen(spec: &mut Spec) {
    spec.sweep = None;
    for entry in &mut spec.uncovered {
        entry.instructions = None;
    }
    for known in &mut spec.known {
        known.row = None;
        known.any_rules = true;
    }
}

/// Removes the places that a build does not have: a function that is inlined, a
/// line without code.
fn leave_out(spec: &mut Spec, facts: &BuildFacts<'_>, target: &Target<'_>) -> Vec<String> {
    let mut left_out = Vec::new();
    let is_for = |selector: &Option<Selector>| selector.as_ref().is_none_or(|by| by.matches(facts));
    let mut is_there = |location: &Location, whole: bool| match resolve(location, target) {
        Ok(start) if !whole || target.extent(start).is_some() => true,
        Ok(_) => {
            left_out.push(format!("`{location}` has no size"));
            false
        }
        Err(error) => {
            left_out.push(error.to_string());
            false
        }
    };
    spec.stops.retain(|stop| is_for(&stop.selector) && is_there(&stop.at, false));
    spec.signals.retain_mut(|signal| {
        if !is_for(&signal.selector) {
            return false;
        }
        let Some(functions) = &signal.during else {
            return signal.at.as_ref().is_none_or(|at| is_there(at, false));
        };
        let is_whole = |name: &&String| is_there(&Location::function(name), true);
        let functions: Vec<String> = functions.iter().filter(is_whole).cloned().collect();
        let is_any = !functions.is_empty();
        signal.during = Some(OneOrMany::from(functions));
        is_any
    });
    left_out.sort();
    left_out.dedup();
    left_out
}
