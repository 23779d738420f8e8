//! The cases of a toolchain's builds.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use sframe_corpus::corpus::Build;
use sframe_corpus::spec::{BuildFacts, Producer, Spec};
use sframe_corpus::yaml::Source;
use sframe_elf::object_file::ObjectFile;
use sframe_engine::InstructionPointer;
use sframe_inspect::diff::{Difference, Field, diff_file};
use sframe_inspect::lint::lint_file;
use sframe_judge::target::{Linked, Module, Target};
use sframe_judge::vocabulary::Verdict;

use super::compare::Kind;
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
    /// What its files show without being run.
    pub(super) files: Arc<InFiles>,
}

/// What the files of a build show without being run.
#[derive(Clone, Debug, Default)]
pub(super) struct InFiles {
    /// The functions, and whether they have an FDE.
    pub(super) functions: BTreeMap<String, bool>,
    /// Those whose call frame information can be expressed, and that have no FDE.
    pub(super) missing: BTreeSet<String>,
    /// The names of functions with the digests of their code.
    pub(super) codes: BTreeSet<(String, String)>,
    /// What is wrong with their sections, by call frame information and by the linter.
    pub(super) wrong: BTreeMap<Kind, Vec<WrongInFile>>,
}

/// Something that is wrong with a section.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct WrongInFile {
    /// The function, and the digest of its code, if it is in one.
    pub(super) function: Option<(String, String)>,
    /// What is wrong, in a sentence: also where in the function.
    pub(super) says: String,
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
        files: Arc::default(),
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
    let in_files = Arc::new(InFiles::of(build, folder));
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
            files: Arc::clone(&in_files),
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

impl InFiles {
    /// Looks at the files of a build. Of one that can't be opened there is nothing: its case says why.
    pub(super) fn of(build: &Build, folder: &Path) -> Self {
        let Ok(files) = build.files(folder) else { return Self::default() };
        let mut all = Self::default();
        if let Ok(target) = Target::open_files(&files) {
            (all.functions, all.codes) = (functions_of(&target), codes_of(&target));
        }
        all.look(None, &files.executable, &build.id);
        files.libraries.iter().for_each(|(name, bytes)| all.look(Some(name), bytes, &build.id));
        all
    }

    fn look(&mut self, image: Option<&str>, bytes: &[u8], name: &str) {
        let kind = |verdict: &str, function: Option<&str>| Kind {
            verdict: verdict.to_owned(),
            image: image.map(str::to_owned),
            function: function.map(|name| base_name(name).to_owned()),
            by_signs: None,
        };
        if let Ok(report) = diff_file(bytes, name) {
            let functions = report.missing.into_iter().flat_map(|missing| missing.functions);
            self.missing.extend(functions.map(|extent| base_name(&extent.function).to_owned()));
            for Difference { field, function, code, offset, sframe, eh_frame, .. } in &report.findings {
                let verdict = match field {
                    Field::Cfa => Verdict::WrongCfa.as_str(),
                    Field::Ra => Verdict::WrongRa.as_str(),
                    Field::Fp => Verdict::WrongFp.as_str(),
                    _ => field.name(),
                };
                let named = Some(&**function).filter(|name| !name.starts_with("0x"));
                let says =
                    format!("{field} is {sframe}, and {eh_frame} by call frame information, at +{offset}");
                let function = named.zip(code.as_ref());
                let function = function.map(|(name, code)| (name.to_owned(), code.digest.clone()));
                self.wrong.entry(kind(verdict, named)).or_default().push(WrongInFile { function, says });
            }
        }
        if let Ok(report) = lint_file(bytes, name) {
            for finding in report.findings.iter().filter(|finding| finding.severity != "note") {
                let kind = kind(&format!("lint {}", finding.name), None);
                let says = finding.message.clone();
                self.wrong.entry(kind).or_default().push(WrongInFile { function: None, says });
            }
        }
        let Ok(file) = ObjectFile::parse(bytes) else { return };
        if file.sframe.is_none() {
            return;
        }
        let lacks = [
            (!file.has_segment(), "no-segment", "no PT_GNU_SFRAME segment says where the section is"),
            (file.section_size(".sframe").is_none(), "no-name", "no section has the name .sframe"),
        ];
        for (_, name, says) in lacks.into_iter().filter(|(lacks, ..)| *lacks) {
            let says = says.to_owned();
            self.wrong.entry(kind(name, None)).or_default().push(WrongInFile { function: None, says });
        }
    }
}

/// All functions with the digests of their code.
fn codes_of(target: &Target<'_>) -> BTreeSet<(String, String)> {
    let of_module = |module: &Module<'_>| {
        let symbols = &module.subject.symbols;
        let of_name = |name: &str| {
            let codes =
                symbols.addresses_of(name).into_iter().filter_map(|at| module.function_code(Linked(at)));
            codes.map(|code| (name.to_owned(), code.digest)).collect::<Vec<_>>()
        };
        symbols.names().flat_map(of_name).collect::<Vec<_>>()
    };
    target.modules.iter().flat_map(of_module).collect()
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
        let files = |id: &str| InFiles::of(manifest.get(id).expect("a build"), corpus);
        let bare: Vec<String> = files("gnu-2.47/amd64/mixed_objects.O2").missing.into_iter().collect();
        assert_eq!(bare, ["bare_leaf", "bare_middle"]);
        let wrong = |id: &str| files(id).wrong.keys().map(ToString::to_string).collect::<Vec<_>>();
        assert!(files("gnu-2.47/amd64/leaf.O2").missing.is_empty());
        // GNU ld's segments are longer than the sections, which the linter warns of.
        assert_eq!(wrong("gnu-2.47/amd64/leaf.O2"), ["lint segment-longer"]);
        assert_eq!(
            wrong("gnu-2.47/amd64/remember_restore.O2"),
            ["lint segment-longer", "wrong-cfa in many_epilogues", "wrong-cfa in nested_states"]
        );
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
