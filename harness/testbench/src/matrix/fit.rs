//! Specs speak of the reference toolchains by name. For another toolchain, what
//! they say of its reference is what holds, as far as any compiler can be held
//! to it.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use sframe_engine::InstructionPointer;

use crate::case::{Case, resolve};
use crate::corpus::Build;
use crate::spec::{Abi, BuildFacts, Location, OneOrMany, Selector, Spec};
use crate::target::Target;
use crate::yaml::Source;

/// A spec for a build of another toolchain.
#[derive(Debug)]
pub(super) struct Fitted<'s> {
    pub(super) spec: Spec,
    pub(super) source: &'s Source,
    pub(super) build: &'s Build,
    pub(super) abi: Abi,
    /// The id of the build that it is compared with, whether there is one or not.
    pub(super) reference: Option<String>,
    /// What the spec says that this build can't be asked.
    pub(super) left_out: Vec<String>,
    /// The functions of the build, and whether they have an FDE.
    pub(super) functions: Arc<BTreeMap<String, bool>>,
}

impl Fitted<'_> {
    pub(super) fn case(&self) -> Case<'_> {
        Case { spec: &self.spec, source: self.source, build: self.build, abi: self.abi }
    }
}

/// Which toolchain of the corpus another one stands in for.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub struct StandIn {
    /// The one that its definition names.
    pub(super) named: Option<String>,
    /// Without that: by the version of a build's section.
    pub(super) by_version: BTreeMap<u8, String>,
}

impl StandIn {
    fn reference(&self, build: &Build) -> Option<&str> {
        self.named.as_ref().or_else(|| self.by_version.get(&build.sframe_version)).map(String::as_str)
    }

    /// Has a spec mean a build that lies under `folder`, as [`fit`] has it.
    pub(crate) fn fit(&self, spec: &mut Spec, build: &Build, folder: &Path) {
        let Ok(abi) = build.abi.parse() else { return };
        stand_in(spec, &build.toolchain, self.reference(build));
        loosen(spec);
        let files = build.files(folder).ok();
        if let Some(target) = files.as_ref().and_then(|files| Target::open_files(files).ok()) {
            leave_out(spec, &facts_of(build, abi), &target);
        }
    }
}

fn facts_of(build: &Build, abi: Abi) -> BuildFacts<'_> {
    let Build { toolchain, variant, sframe_version, .. } = build;
    BuildFacts { toolchain, abi, variant, sframe_version: *sframe_version }
}

/// The specs of a build's program that apply to it.
pub(super) fn fit<'s>(
    specs: impl Iterator<Item = &'s (Spec, Source)>,
    build: &'s Build,
    by: &StandIn,
    folder: &Path,
) -> Vec<Fitted<'s>> {
    let reference = by.reference(build);
    let Ok(abi) = build.abi.parse::<Abi>() else { return Vec::new() };
    // What can't be opened is broken, which its case will say.
    let files = build.files(folder).ok();
    let target = files.as_ref().and_then(|files| Target::open_files(files).ok());
    let functions = Arc::new(target.as_ref().map(functions_of).unwrap_or_default());
    let mut fitted = Vec::new();
    for (spec, source) in specs {
        let mut spec = spec.clone();
        stand_in(&mut spec, &build.toolchain, reference);
        loosen(&mut spec);
        let facts = facts_of(build, abi);
        if !spec.applies_to(&facts) {
            continue;
        }
        let left_out = target.as_ref().map(|target| leave_out(&mut spec, &facts, target)).unwrap_or_default();
        fitted.push(Fitted {
            spec,
            source,
            build,
            abi,
            reference: reference
                .map(|name| format!("{name}/{}/{}.{}", build.abi, build.program, build.variant)),
            left_out,
            functions: Arc::clone(&functions),
        });
    }
    fitted
}

/// All functions, each with whether a part or copy of it has an FDE.
fn functions_of(target: &Target<'_>) -> BTreeMap<String, bool> {
    let mut functions = BTreeMap::new();
    for module in &target.modules {
        for name in module.subject.symbols.names() {
            let is_described = module.subject.symbols.addresses_of(name).into_iter().any(|address| {
                let pc = InstructionPointer(address.wrapping_add(module.image.bias));
                target.sections.lookup_fde(pc).is_ok_and(|fde| fde.is_some())
            });
            *functions.entry(base_name(name).to_owned()).or_insert(false) |= is_described;
        }
    }
    functions
}

/// A function without what compilers add to the names of its parts and copies:
/// `f` for `f.cold` and `f.constprop.0`.
pub(super) fn base_name(function: &str) -> &str {
    match function.find('.') {
        None | Some(0) => function,
        Some(end) => &function[..end],
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
/// instructions, and the starts of rows.
fn loosen(spec: &mut Spec) {
    spec.sweep = None;
    for entry in &mut spec.uncovered {
        entry.instructions = None;
    }
    for known in &mut spec.known {
        known.row = None;
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
        Err((message, _)) => {
            left_out.push(message);
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

    #[test]
    fn parts_and_copies_of_a_function_have_its_name() {
        for (name, base) in
            [("f", "f"), ("f.cold", "f"), ("f.constprop.0", "f"), (".plt", ".plt"), ("f@plt", "f@plt")]
        {
            assert_eq!(base_name(name), base);
        }
    }
}
