//! Specs speak of the reference toolchains by name. For another toolchain, what
//! they say of its reference is what holds, as far as any compiler can be held
//! to it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::case::resolve;
use crate::corpus::Build;
use crate::spec::{BuildFacts, Location, OneOrMany, Selector, Spec};
use crate::target::Target;

/// Which toolchain of the corpus another one stands in for.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub struct StandIn {
    /// The one that its definition names.
    pub named: Option<String>,
    /// Without that: by the version of a build's section.
    pub by_version: BTreeMap<u8, String>,
}

impl StandIn {
    /// The toolchain that a build is compared with.
    #[must_use]
    pub fn reference(&self, build: &Build) -> Option<&str> {
        self.named.as_ref().or_else(|| self.by_version.get(&build.sframe_version)).map(String::as_str)
    }

    /// Has a spec mean a build, and gives what of it the build can't be asked.
    /// None if it does not apply to the build. A build that can't be opened has no
    /// `target`.
    pub(crate) fn fit(
        &self,
        spec: &mut Spec,
        build: &Build,
        target: Option<&Target<'_>>,
    ) -> Option<Vec<String>> {
        stand_in(spec, &build.toolchain, self.reference(build));
        loosen(spec);
        let Build { toolchain, variant, sframe_version, .. } = build;
        let facts = BuildFacts { toolchain, abi: build.abi, variant, sframe_version: *sframe_version };
        let applies = spec.applies_to(&facts);
        applies.then(|| target.map(|target| leave_out(spec, &facts, target)).unwrap_or_default())
    }
}

/// Lets a toolchain be meant wherever its reference is, and nowhere else: what a
/// spec says of a toolchain that happens to have the same name is of no account.
fn stand_in(spec: &mut Spec, toolchain: &str, reference: Option<&str>) {
    let meant = |list: &mut Vec<String>| {
        let is_meant = reference.is_some_and(|reference| list.iter().any(|name| name == reference));
        list.retain(|name| name != toolchain);
        if is_meant {
            list.push(toolchain.to_owned());
        }
    };
    spec.toolchains.as_mut().map(meant);
    let select = |selector: &mut Selector| {
        if let Some(list) = &selector.toolchain {
            let mut list: Vec<String> = list.iter().cloned().collect();
            meant(&mut list);
            selector.toolchain = Some(list.into());
        }
    };
    spec.stops.iter_mut().filter_map(|stop| stop.selector.as_mut()).for_each(select);
    spec.uncovered.iter_mut().filter_map(|entry| entry.selector.as_mut()).for_each(select);
    spec.unreached.iter_mut().filter_map(|entry| entry.selector.as_mut()).for_each(select);
    spec.ends.iter_mut().filter_map(|entry| entry.selector.as_mut()).for_each(select);
    spec.signals.iter_mut().filter_map(|signal| signal.selector.as_mut()).for_each(select);
    spec.known.iter_mut().map(|known| &mut known.selector).for_each(select);
    spec.skip.iter_mut().map(|skip| &mut skip.selector).for_each(select);
}

/// Takes out what holds for the code of one compiler only: floors, counts of
/// instructions, and rows with their rules.
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

/// Takes out the places that a build does not have: a function that is inlined,
/// a line without code.
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

#[cfg(test)]
mod tests {
    use std::path::Path;

    use sframe_engine::Abi;

    use super::*;

    fn spec(entries: &str) -> Spec {
        let text = format!("program: leaf\nsummary: x\nstops: [{{at: leaf}}]\n{entries}");
        crate::yaml::from_str(Path::new("leaf.yaml"), &text).unwrap()
    }

    fn selected(spec: &Spec, toolchain: &str) -> usize {
        let facts = BuildFacts { toolchain, abi: Abi::Amd64, variant: "O2", sframe_version: 2 };
        spec.known_for(&facts).count()
    }

    #[test]
    fn what_is_said_of_the_reference_holds_and_nothing_else_by_name() {
        let known = |toolchain: &str| {
            format!(
                "- {{where: {toolchain}, verdict: wrong-fp, blame: unknown, function: f, row: 0x4, \
                 reason: A reason of some length.}}\n"
            )
        };
        let entries = format!(
            "known:\n{}{}{}",
            known("{toolchain: [gnu-2.44, gnu-2.47]}"),
            known("{toolchain: mine}"),
            known("{abi: amd64}")
        );
        // Named after a toolchain that specs know, or after none: the same.
        for (reference, expected) in [(Some("gnu-2.44"), 2), (Some("gnu-2.40"), 1), (None, 1)] {
            let mut spec = spec(&entries);
            stand_in(&mut spec, "mine", reference);
            assert_eq!(selected(&spec, "mine"), expected, "{reference:?}");
        }
        // One that is its own reference is itself.
        let mut spec = spec(&entries);
        stand_in(&mut spec, "mine", Some("mine"));
        assert_eq!(selected(&spec, "mine"), 2);
    }

    #[test]
    fn a_spec_that_is_about_some_toolchains_is_about_who_is_compared_with_them() {
        for (reference, applies) in [(Some("gnu-2.47"), true), (Some("gnu-2.40"), false), (None, false)] {
            let mut spec = spec("toolchains: [gnu-2.47]\n");
            stand_in(&mut spec, "mine", reference);
            let facts = BuildFacts { toolchain: "mine", abi: Abi::Amd64, variant: "O2", sframe_version: 3 };
            assert_eq!(spec.applies_to(&facts), applies);
        }
    }
}
