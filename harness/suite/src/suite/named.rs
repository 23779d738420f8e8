//! What specs name: whether there are such toolchains, and whether builds can have the faults, and
//! pages can be checked.

use std::collections::BTreeSet;

use sframe_corpus::corpus::example_folder;
use sframe_corpus::spec::{OneOrMany, Spec};
use sframe_corpus::yaml::{Error, Source};
use sframe_judge::vocabulary::suggest::{closest, unknown};

use super::Suite;

impl Suite {
    /// Reports errors for toolchains that are not in the corpus.
    pub(super) fn unknown_toolchains(&self, spec: &Spec, source: &Source) -> Vec<Error> {
        let mut errors = Vec::new();
        let mut check = |path: &[String], names: &mut dyn Iterator<Item = &String>| {
            for (index, name) in names.enumerate().filter(|(_, name)| !self.producers.contains_key(*name)) {
                let path: Vec<String> = path.iter().cloned().chain([index.to_string()]).collect();
                let message = unknown("toolchain", name, self.producers.keys().map(String::as_str));
                errors.push(source.error_at(source.span(&path), message, None::<&str>));
            }
        };
        check(&["toolchains".to_owned()], &mut spec.toolchains.iter().flatten());
        let known = spec.known.iter().map(|known| &known.selector).enumerate();
        let skipped = spec.skip.iter().map(|skip| &skip.selector).enumerate();
        let known = known.map(|(index, selector)| ("known", index, selector));
        let all = known.chain(skipped.map(|(index, selector)| ("skip", index, selector)));
        for (key, index, selector) in all {
            let path = [key, &index.to_string(), "where", "toolchain"].map(str::to_owned);
            check(&path, &mut selector.toolchain.iter().flat_map(OneOrMany::iter));
        }
        for stop in &spec.stops {
            let path: Vec<String> =
                stop.path_of("where").into_iter().chain(["toolchain".to_owned()]).collect();
            let selector = stop.selector.iter();
            check(&path, &mut selector.flat_map(|by| &by.toolchain).flat_map(OneOrMany::iter));
        }
        errors
    }

    /// What to do about a spec that applies to no build of the corpus.
    pub(super) fn help_without_builds(&self, spec: &Spec) -> Option<String> {
        let programs: BTreeSet<&str> =
            self.manifest.builds.iter().map(|build| build.program.as_str()).collect();
        if programs.contains(spec.program.as_str()) {
            let builds = self.manifest.builds.iter().filter(|build| build.program == spec.program);
            let kinds: BTreeSet<String> =
                builds.map(|build| format!("{}/{}", build.toolchain, build.abi)).collect();
            return Some(format!("it has builds by {}", kinds.into_iter().collect::<Vec<_>>().join(", ")));
        }
        let sources = self.corpus.join("programs");
        let is_there = ["c", "S", "yaml"].iter().any(|ending| {
            let name = format!("{}.{ending}", spec.program);
            sources.join(name).is_file()
        });
        if is_there {
            return Some(format!(
                "`sframe-testbench try {}` builds it with the tools of this machine, and runs the spec",
                spec.program
            ));
        }
        closest(&spec.program, programs).map(|close| format!("did you mean `{close}`?"))
    }

    /// Which builds of its program a spec can select.
    pub(super) fn help_with_builds(&self, spec: &Spec) -> Option<String> {
        let builds = self.manifest.builds.iter().filter(|build| build.program == spec.program);
        let variants: BTreeSet<&str> = builds.map(|build| build.variant.as_str()).collect();
        let variants: Vec<&str> = variants.into_iter().collect();
        Some(format!("{}, of the variants {}", self.help_without_builds(spec)?, variants.join(", ")))
    }

    /// Reports errors for entries that select a build by a tool that does not have the fault.
    pub(super) fn misplaced(&self, spec: &Spec, source: &Source) -> Vec<Error> {
        let mut errors = Vec::new();
        let named = spec.known.iter().enumerate();
        let named = named.filter_map(|(index, known)| Some((index, known, known.fault.as_deref()?)));
        for (index, known, name) in named {
            let Some(fault) = self.faults.get(name) else { continue };
            let cases = self.cases_of(spec, source).into_iter();
            let mut selected = cases.filter(|case| known.selector.matches(&case.facts()));
            let Some(case) = selected.find(|case| !fault.component.contains(case.producer)) else { continue };
            let tool = fault.component.tool_of(case.producer).unwrap_or_else(|| "another tool".to_owned());
            let message = format!("{} is by {tool}: `{name}` is a bug of {}", case.build.id, fault.component);
            let span = source.span(&["known", &index.to_string(), "where"]);
            errors.push(source.error_at(span, message, Some("narrow `where`, or correct the page")));
        }
        errors
    }

    /// Reports errors for pages whose example is by a toolchain that is not in the corpus, or that
    /// does not have the fault.
    pub(super) fn not_made(&self) -> Vec<Error> {
        let mut errors = Vec::new();
        for (_, fault, source) in self.faults.iter() {
            let name = &fault.example.toolchain;
            let (message, help) = match self.producer(name) {
                None => (unknown("toolchain", name, self.producers.keys().map(String::as_str)), None),
                Some(producer) if fault.component.contains(producer) => continue,
                Some(producer) => {
                    let tool = fault.component.tool_of(producer).unwrap_or_else(|| "another tool".to_owned());
                    let message = format!("`{name}` has {tool}, and this is a bug of {}", fault.component);
                    (message, Some("name a toolchain that has it"))
                }
            };
            errors.push(source.error_at(source.span(&["example", "toolchain"]), message, help));
        }
        errors
    }

    /// Reports errors for pages that nothing checks: no spec names them, and there is no build of
    /// their example. Another corpus than the committed one may have no such builds at all.
    pub(super) fn stale(&self) -> Vec<Error> {
        if !example_folder(&self.corpus, "").is_dir() {
            return Vec::new();
        }
        let known = self.specs.iter().flat_map(|(spec, _)| &spec.known);
        let named: BTreeSet<&str> = known.filter_map(|known| known.fault.as_deref()).collect();
        let mut errors = Vec::new();
        for (name, fault, source) in
            self.faults.iter().filter(|(name, fault, _)| !named.contains(name) && !fault.example.is_crash())
        {
            if !example_folder(&self.corpus, name).join(&fault.example.program).is_file() {
                let message = "no spec names this fault, and the corpus has no build of its example";
                let help = format!("remove the page, or keep a build in faults/{name} of the corpus");
                errors.push(source.error_at(source.span(&["title"]), message, Some(&help)));
            }
        }
        errors
    }
}
