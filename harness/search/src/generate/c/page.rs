//! Writes a cause as the page of a fault, with all that the corpus needs of it: the page and its build, and a
//! program with a spec.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::Path;

use sframe_corpus::corpus::{Error, Maker};
use sframe_corpus::faults::{Observed, filled_in};
use sframe_corpus::spec::{self, Assembler, Component, Fault, FaultySection, Linker, Producer};
use sframe_engine::Abi;
use sframe_judge::finding::Finding;
use sframe_kit::Blame;

use super::example::{Complete, complaint, complete, files, shortened};
use super::expected_rules::expected_rules;
use super::flags::{COMMON, Compiler};
use super::found::Example;
use super::known::Place;
use super::reduce::Reduced;
use super::shape::{Cause, Section, operation_before};
use crate::generate::Elsewhere;
use crate::generate::draft::{self, observed, program_name, write_files};
use crate::generate::outcome::Outcome;
use sframe_corpus::signs::without_numbers;

/// What a compiler must not say of an example: it would not do what it seems to.
const SOUND: [&str; 3] =
    ["-Werror=return-type", "-Werror=uninitialized", "-Werror=implicit-function-declaration"];

/// What is written about a cause.
#[derive(Clone, Copy, Debug)]
pub struct Page<'p> {
    /// The ABI.
    pub abi: Abi,
    /// The cause.
    pub cause: &'p Cause,
    /// The smallest program that shows it.
    pub example: &'p Example,
    /// The instructions where functions are wrong.
    pub places: &'p BTreeSet<Place>,
    /// The seed of its program.
    pub seed: u64,
}

/// What was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Written {
    /// A page with its build, a program and a spec.
    Page,
    /// A program and a spec; why no page.
    Program(String),
}

/// A program that shows the cause, and how it is made.
struct Shown {
    complete: Complete,
    flags: Vec<String>,
    observed: Observed,
}

impl Page<'_> {
    /// The fault's name.
    #[must_use]
    pub fn name(&self, maker: &Maker) -> String {
        let Cause { wrong, section, row, after, .. } = self.cause;
        let section = if *section == Section::EhFrame { "-eh-frame" } else { "" };
        let component = self.component(maker, &[]);
        let component = component.map_or_else(|_| "unknown".to_owned(), |component| component.to_string());
        let component = component.split(' ').next().unwrap_or_default();
        draft::name(&format!("{component}-{}-{wrong}{section}-{after}-{row}", self.abi))
    }

    /// Writes it below a folder that is laid out as the repository is, as `generate assembly` does. `others`
    /// are all toolchains that the example was tried with.
    ///
    /// # Errors
    /// Nothing is written: the cause was not reduced, nothing can be blamed for it, or a run does not show it in
    /// a complete program; in a sentence.
    pub fn write(
        &self,
        maker: &Maker,
        toolchains_dir: &Path,
        others: &[Maker],
        folder: &Path,
    ) -> Result<Written, String> {
        let Some(reduced) = &self.example.reduced else {
            return Err("its program was not reduced".to_owned());
        };
        let name = self.name(maker);
        let draft = self.draft(maker, others, &name)?;
        let shown = self.shown(maker, reduced, &draft)?;
        let page = self.page(maker, toolchains_dir, folder, &draft, &shown);
        write_files(folder, &self.program(&name, &draft, reduced, &shown, &page))?;
        Ok(page.map_or_else(Written::Program, |()| Written::Page))
    }

    fn title(&self) -> String {
        let Cause { wrong, section, row, after, .. } = self.cause;
        let title = format!("{wrong} in {section} after {after}: {row}");
        title.chars().take(100).collect::<String>().trim_end_matches('.').to_owned()
    }

    /// The component that is to blame, in the versions that were seen to have the fault.
    fn component(&self, maker: &Maker, others: &[Maker]) -> Result<Component, String> {
        let (abi, elsewhere) = (self.abi, &self.example.elsewhere);
        let is_clang = Compiler::of(maker, abi) == Compiler::Clang;
        let own = &maker.toolchain().properties;
        let makers: Vec<&Maker> = std::iter::once(maker).chain(others).collect();
        // Of one that has another fault, or refuses the program, nothing is known.
        let has = |toolchain: &str| match elsewhere.get(toolchain).map(|tried| &tried.result) {
            _ if toolchain == maker.toolchain().name => Some(true),
            Some(Elsewhere::Same) => Some(true),
            Some(Elsewhere::Right) => Some(false),
            _ => None,
        };
        Ok(match self.cause.blame {
            Blame::CompilerOrCfi => {
                let usual = if is_clang { spec::Compiler::Clang } else { spec::Compiler::Gcc };
                let name = own.compiler.as_ref().map_or(usual, |tool| tool.name);
                Component::Compiler(draft::versions(name, abi, &makers, &|producer| producer.compiler, &has))
            }
            Blame::ProducerAssembler => {
                let usual = if is_clang { Assembler::Llvm } else { Assembler::Gas };
                let name = own.assembler.as_ref().map_or(usual, |tool| tool.name);
                let tool = |producer: Producer| producer.assembler;
                Component::Assembler(draft::versions(name, abi, &makers, &tool, &has))
            }
            Blame::ProducerLinker => {
                let usual = if is_clang { Linker::Lld } else { Linker::Ld };
                let name = own.linker.as_ref().map_or(usual, |tool| tool.name);
                Component::Linker(draft::versions(name, abi, &makers, &|producer| producer.linker, &has))
            }
            blame => return Err(format!("no component is to blame: {blame}")),
        })
    }

    /// The page as far as it is known without a program.
    fn draft(&self, maker: &Maker, others: &[Maker], name: &str) -> Result<Fault, String> {
        let Example { program, level, elsewhere, .. } = self.example;
        let Some(fault) = self.example.fault() else {
            return Err("it is not about a place".to_owned());
        };
        let known = format!(
            "Program {program} of the seed {} has it at {level}, reduced: {}.",
            self.seed, fault.message
        );
        let section = match self.cause.section {
            Section::EhFrame => FaultySection::EhFrame,
            Section::Sframe | Section::Both => FaultySection::Sframe,
        };
        let component = self.component(maker, others)?;
        let blank = draft::blank((maker, self.abi), name, fault.function.clone(), component);
        let (title, summary) = (self.title(), draft::summary(known, elsewhere));
        let places: BTreeSet<Place> = self.places.iter().cloned().chain(Place::of(fault)).collect();
        let signs = places.iter().map(|place| place.known(self.abi, self.cause)).collect();
        Ok(Fault { title, summary, section, signs, ..blank })
    }

    /// Whether a finding is of the cause.
    fn is_it(&self, finding: &Finding) -> bool {
        let Cause { wrong, row, after, .. } = self.cause;
        let rules = finding
            .row
            .as_ref()
            .map_or_else(|| "none".to_owned(), |row| without_numbers(&row.rules.to_string()));
        let is_entry = after == "the entry";
        finding.verdict.as_str() == wrong
            && rules == *row
            && finding.image.is_none()
            && (is_entry || operation_before(finding, false) == *after)
    }

    /// The smallest complete program.
    fn shown(&self, maker: &Maker, reduced: &Reduced, draft: &Fault) -> Result<Shown, String> {
        let level = self.example.level;
        let all = complete(maker, self.abi, level, reduced)?;
        let mut plain = vec![level.to_owned()];
        plain.extend(reduced.build.flags.iter().flatten().cloned());
        plain.extend(reduced.build.link.flags.iter().cloned());
        let common = COMMON.iter().filter(|flag| **flag != "-w").map(|flag| (*flag).to_owned());
        let usual: Vec<String> = plain.iter().cloned().chain(common).chain(["-fno-pie".to_owned()]).collect();
        let sound = |flags: &[String]| [flags, &SOUND.map(str::to_owned)].concat();
        let ways = [
            (sound(&plain), &plain),
            (sound(&usual), &usual),
            (plain.clone(), &plain),
            (usual.clone(), &usual),
        ];
        for (strict, flags) in &ways {
            let mut shows = |complete: &Complete| Ok(self.observe(maker, draft, complete, strict)?.is_some());
            let shortened = shortened(all.clone(), spec::MAX_LINES, &mut shows).map_err(complaint)?;
            let Some(complete) = shortened else { continue };
            if let Some(observed) = self.observe(maker, draft, &complete, flags).map_err(complaint)? {
                return Ok(Shown { complete, flags: flags.to_vec(), observed });
            }
        }
        Err("a run of the program by itself does not show it".to_owned())
    }

    /// What a check of a program shows, if that is the cause.
    fn observe(
        &self,
        maker: &Maker,
        draft: &Fault,
        complete: &Complete,
        flags: &[String],
    ) -> Result<Option<Observed>, Error> {
        let sources: Vec<(String, String)> = sources(complete, &draft.example.program).into_iter().collect();
        let made = maker.make(self.abi, &sources, flags);
        let Outcome::Judged(shown) = Outcome::of(made, |bytes| observed(bytes, draft))? else {
            return Ok(None);
        };
        let is_it = |finding: &Finding| {
            finding.function.as_deref() == Some(&*draft.example.function)
                && finding.blame == draft.blame()
                && self.is_it(finding)
        };
        Ok(Some(shown).filter(|observed| observed.findings().iter().any(is_it)))
    }

    /// Writes the page and its build.
    fn page(
        &self,
        maker: &Maker,
        toolchains_dir: &Path,
        folder: &Path,
        draft: &Fault,
        shown: &Shown,
    ) -> Result<(), String> {
        draft::fits(shown.complete.count())?;
        let mut draft = draft.clone();
        let sources = sources(&shown.complete, &draft.example.program);
        draft::set_sources(&mut draft.example, maker, sources, &shown.flags)?;
        let made = draft::make(&draft.example, maker, toolchains_dir)?;
        let finding = shown.observed.findings().iter().find(|finding| {
            finding.function.as_deref() == Some(&*draft.example.function) && self.is_it(finding)
        });
        let candidates = finding.map(expected_rules).unwrap_or_default();
        let mut why = "no witness says what the row should be".to_owned();
        for right in candidates {
            let mut fault = draft.clone();
            fault.example.right = right.to_string();
            match filled_in(fault, made.program(), &|finding| self.is_it(finding)) {
                Ok(fault) => return draft::write_page(folder, &fault, made.program()),
                Err(error) => why = error,
            }
        }
        Err(why)
    }

    /// The program of the corpus, and its spec, by path.
    fn program(
        &self,
        name: &str,
        draft: &Fault,
        reduced: &Reduced,
        shown: &Shown,
        page: &Result<(), String>,
    ) -> Vec<(String, String)> {
        let (program, title, abi) = (program_name(name), self.title(), self.abi);
        let level = self.example.level.trim_start_matches('-');
        let mut parts = files(&shown.complete.lines).into_iter();
        let first = parts.next().unwrap_or_default();
        let main = shown.complete.main();
        let text = format!("/* {title}: generated. */\n\n#include \"runtime/runtime.h\"\n\n{first}\n{main}");
        let mut all = vec![(format!("corpus/programs/{program}.c"), text)];
        let mut names = vec![format!("{program}.c")];
        for (number, part) in parts.enumerate() {
            let part_name = format!("{program}/part{}.c", number + 1);
            all.push((format!("corpus/programs/{part_name}"), part));
            names.push(part_name);
        }
        let quoted = |words: &[String]| -> String {
            let all: Vec<String> = words.iter().map(|word| format!("{word:?}")).collect();
            all.join(", ")
        };
        let (compile, link) = (reduced.build.flags.concat(), &reduced.build.link.flags);
        let mut how = format!("targets: [{abi}]\nvariants: [{level}]\n");
        if names.len() > 1 {
            let _ = writeln!(how, "sources: [{}]", names.join(", "));
        }
        if !compile.is_empty() {
            let _ = writeln!(how, "cflags: [{}]", quoted(&compile));
        }
        if !link.is_empty() {
            let _ = writeln!(how, "ldflags: [{}]", quoted(link));
        }
        all.push((format!("corpus/programs/{program}.yaml"), how));
        let why = match page {
            Ok(()) => ("fault", name.to_owned()),
            Err(why) => {
                let reason = format!("A bug of {} without a page: {why}.", draft.component);
                ("reason", format!("{reason:?}"))
            }
        };
        let exceptions = if draft.section == FaultySection::EhFrame {
            // What only .eh_frame says is judged by no spec.
            let reason = format!(".sframe leaves it out, and its CFI is wrong ({name}).");
            let functions = format!("[{}]", draft.example.function);
            vec![draft::exception("uncovered", draft, &[("functions", functions), ("reason", reason)])]
        } else {
            let unexercised: BTreeSet<&str> = shown
                .observed
                .unexercised()
                .iter()
                .map(String::as_str)
                .filter(|name| *name != "_start")
                .collect();
            let reason = "The smallest program has paths that it does not take.";
            vec![
                draft::known(draft, &self.cause.wrong, why),
                draft::unreached(draft, &Vec::from_iter(unexercised), reason),
            ]
        };
        let text = draft::spec(&title, draft, &exceptions);
        all.push((format!("specs/{program}.yaml"), text));
        all
    }
}

/// The files of an example, by name.
fn sources(complete: &Complete, name: &str) -> BTreeMap<String, String> {
    let mut all = BTreeMap::new();
    for (number, mut text) in files(&complete.lines).into_iter().enumerate() {
        if number == 0 {
            text.push_str(&complete.start());
            all.insert(format!("{name}.c"), text);
        } else {
            all.insert(format!("{name}.{number}.c"), text);
        }
    }
    all
}
