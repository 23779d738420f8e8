//! The cases of a toolchain's builds.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use sframe_corpus::corpus::Build;
use sframe_corpus::spec::{BuildFacts, Producer, Spec};
use sframe_corpus::yaml::Source;
use sframe_engine::InstructionPointer;
use sframe_inspect::diff::diff_file;
use sframe_judge::target::{Linked, Target};

use crate::case::{Case, stand_in};

/// A spec for a build of another toolchain.
#[derive(Debug)]
pub(super) struct Fitted<'s> {
    pub(super) spec: Spec,
    pub(super) source: &'s Source,
    pub(super) build: &'s Build,
    /// The producer of the build, as the spec sees it.
    producer: Arc<Producer>,
    /// The id of the build that it is compared with, which need not exist.
    pub(super) reference: Option<String>,
    /// The demands of the spec that do not apply to this build.
    pub(super) left_out: Vec<String>,
    /// The functions of the build, and whether they have an FDE.
    pub(super) functions: Arc<BTreeMap<String, bool>>,
    /// Those that lack an FDE.
    pub(super) missing: Arc<BTreeSet<String>>,
}

impl Fitted<'_> {
    pub(super) fn case(&self) -> Case<'_> {
        let Self { spec, source, build, producer, .. } = self;
        Case { spec, source, build, producer }
    }
}

/// Returns those of some specs that apply to a build, as they are.
pub(super) fn whole<'s>(
    specs: impl Iterator<Item = &'s (Spec, Source)>,
    build: &'s Build,
    producer: Producer,
) -> Vec<Fitted<'s>> {
    let Build { abi, variant, sframe_version, .. } = build;
    let producer = Arc::new(producer);
    let facts = BuildFacts { producer: &producer, abi: *abi, variant, sframe_version: *sframe_version };
    let applying = specs.filter(|(spec, _)| spec.applies_to(&facts));
    let as_it_is = |(spec, source): &'s (Spec, Source)| Fitted {
        spec: spec.clone(),
        source,
        build,
        producer: Arc::clone(&producer),
        reference: None,
        left_out: Vec::new(),
        functions: Arc::default(),
        missing: Arc::default(),
    };
    applying.map(as_it_is).collect()
}

/// Returns the specs of a build's program that apply to it.
pub(super) fn fit<'s>(
    specs: impl Iterator<Item = &'s (Spec, Source)>,
    build: &'s Build,
    producer: Producer,
    folder: &Path,
) -> Vec<Fitted<'s>> {
    let Build { abi, variant, sframe_version, .. } = build;
    let producer = Arc::new(producer);
    let facts = BuildFacts { producer: &producer, abi: *abi, variant, sframe_version: *sframe_version };
    // A build that can't be opened is broken, which its case will report.
    let files = build.files(folder).ok();
    let target = files.as_ref().and_then(|files| Target::open_files(files).ok());
    let functions = Arc::new(target.as_ref().map(functions_of).unwrap_or_default());
    let missing = Arc::new(missing_of(build, folder));
    let reference = producer.toolchain.as_ref();
    let reference = reference.map(|name| format!("{name}/{}/{}.{}", build.abi, build.program, build.variant));
    let mut fitted = Vec::new();
    for (spec, source) in specs.filter(|(spec, _)| spec.applies_to(&facts)) {
        let mut spec = spec.clone();
        let left_out = stand_in::fit(&mut spec, &facts, target.as_ref());
        fitted.push(Fitted {
            spec,
            source,
            build,
            producer: Arc::clone(&producer),
            reference: reference.clone(),
            left_out,
            functions: Arc::clone(&functions),
            missing: Arc::clone(&missing),
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
                let pc = InstructionPointer::from(module.loaded(Linked(address)));
                target.sections.lookup_fde(pc).is_ok_and(|fde| fde.is_some())
            });
            *functions.entry(base_name(name).to_owned()).or_insert(false) |= is_described;
        }
    }
    functions
}

/// The functions of a build whose call frame information can be expressed, and that have no FDE. Those of a file that
/// can't be compared are none: its case says why.
pub(super) fn missing_of(build: &Build, folder: &Path) -> BTreeSet<String> {
    let Ok(files) = build.files(folder) else { return BTreeSet::new() };
    let libraries = files.libraries.iter().map(|(_, bytes)| bytes);
    let all = std::iter::once(&files.executable).chain(libraries);
    let reports = all.filter_map(|bytes| diff_file(&bytes[..], &build.id).ok());
    let names = reports.flat_map(|report| report.missing).flat_map(|missing| missing.functions);
    names.map(|extent| base_name(&extent.function).to_owned()).collect()
}

/// A function without the suffixes that compilers add to the names of parts and
/// copies: `f` for `f.cold` and `f.constprop.0`.
pub(super) fn base_name(function: &str) -> &str {
    match function.find('.') {
        None | Some(0) => function,
        Some(end) => &function[..end],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sframe_corpus::corpus::Manifest;

    #[test]
    fn functions_that_could_have_an_fde_are_found_without_running_them() {
        let corpus = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../corpus"));
        let manifest = Manifest::load(corpus).expect("a manifest");
        let missing = |id: &str| missing_of(manifest.get(id).expect("a build"), corpus);
        let bare: Vec<String> = missing("gnu-2.47/amd64/mixed_objects.O2").into_iter().collect();
        assert_eq!(bare, ["bare_leaf", "bare_middle"]);
        assert!(missing("gnu-2.47/amd64/leaf.O2").is_empty());
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
