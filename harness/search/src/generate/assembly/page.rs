//! Writes a cause as the page of a fault, with all that the corpus needs of it: the page and its build, and
//! a program with a spec.

use std::path::Path;

use sframe_corpus::corpus::Maker;
use sframe_corpus::faults::filled_in;
use sframe_corpus::spec::{Component, Fault, FaultySection};
use sframe_engine::Abi;
use sframe_judge::vocabulary::Verdict;
use sframe_kit::text::with_causes;

use super::dialect::Dialect;
use super::found::Example;
use super::plan::{Action, FunctionPlan};
use super::reduce::Reduced;
use super::state::{Source, Wrong};
use crate::generate::Elsewhere;
use crate::generate::draft::{self, observed, program_name, write_files};

/// What is written about a cause.
#[derive(Clone, Copy, Debug)]
pub struct Page<'p> {
    /// The fault's name.
    pub name: &'p str,
    /// What is wrong, in a line.
    pub title: &'p str,
    /// The smallest program.
    pub example: &'p Example,
    /// The seed that it was made of.
    pub seed: u64,
}

impl Page<'_> {
    /// Writes it below a folder that is laid out as the repository is: the page into `specs/faults`, its
    /// build into `corpus/faults`, a program of the corpus into `corpus/programs`, and its spec into `specs`,
    /// which `bless --known` completes once the program is built. `others` are all toolchains that the
    /// example was tried with.
    ///
    /// # Errors
    /// A run shows nothing, the program is too long for a page, or a file can't be written; in a sentence.
    pub fn write(
        &self,
        maker: &Maker,
        toolchains_dir: &Path,
        others: &[Maker],
        folder: &Path,
    ) -> Result<(), String> {
        let filled = |arguments: &[u8]| -> Result<_, String> {
            let draft = self.draft(maker, others, arguments)?;
            let made = draft::make(&draft.example, maker, toolchains_dir)?;
            Ok((filled_in(draft, made.program(), &|_| true)?, made))
        };
        // One path is enough for most.
        let all: Vec<u8> = (0..=self.example.reduced.program.last_argument).collect();
        let one = all.iter().find_map(|argument| filled(&[*argument]).ok());
        let (fault, made) = one.map_or_else(|| filled(&all), Ok)?;
        draft::fits(fault.example.sources.values().map(|source| source.lines().count()).sum())?;
        let (program, abi) = (program_name(self.name), fault.example.abi);
        let known = draft::known(&fault, &fault.example.verdict, ("fault", self.name.to_owned()));
        let exceptions = [known, self.unreached(maker, &fault)?];
        let caller = caller(self.title, &fault.example.function, &all);
        let files = [
            (format!("specs/{program}.yaml"), draft::spec(self.title, &fault, &exceptions)),
            (format!("corpus/programs/{program}.yaml"), format!("targets: [{abi}]\nvariants: [O2]\n")),
            (format!("corpus/programs/{program}.S"), for_corpus(&self.functions(false))),
            (format!("corpus/programs/{program}.c"), caller),
        ];
        write_files(folder, &files)?;
        draft::write_page(folder, &fault, made.program())
    }

    /// The exception of a spec for rows that no argument reaches.
    fn unreached(&self, maker: &Maker, fault: &Fault) -> Result<String, String> {
        let Reduced { program, plan, .. } = &self.example.reduced;
        let made = program.make(maker).map_err(|error| with_causes(&error))?;
        let observed = observed(&made.bytes, fault)?;
        let names = observed.unexercised().iter();
        let functions: Vec<&str> =
            names.map(String::as_str).filter(|name| *name != "_start" && *name != "leaf").collect();
        let is_dead =
            |function: &FunctionPlan| function.body.iter().any(|part| matches!(part.what, Action::Unreached));
        let reason = if plan.functions.iter().any(is_dead) {
            "By construction, nothing reaches a part of its code."
        } else {
            "None of the arguments that it is called with reaches a part of its code."
        };
        Ok(draft::unreached(fault, &functions, reason))
    }

    /// The page as far as it is known without a build.
    fn draft(&self, maker: &Maker, others: &[Maker], arguments: &[u8]) -> Result<Fault, String> {
        let Example { reduced, program, code, says, truth, elsewhere, .. } = self.example;
        let (Some(fault), abi) = (&reduced.fault, reduced.program.abi) else {
            return Err("it is about a program that was not made".to_owned());
        };
        let producer = maker.producer(abi).map_err(|error| with_causes(&error))?;
        let Some(assembler) = producer.assembler.map(|assembler| assembler.name) else {
            return Err("the toolchain does not say which assembler it has".to_owned());
        };
        let has = |toolchain: &str| match elsewhere.get(toolchain).map(|tried| &tried.result) {
            // It is the one that has it.
            None | Some(Elsewhere::Same) => Some(true),
            Some(Elsewhere::Unjudged { .. }) => None,
            Some(_) => Some(false),
        };
        let makers: Vec<&Maker> = others.iter().collect();
        let versions = draft::versions(assembler, abi, &makers, &|producer| producer.assembler, &has);
        let section = match fault.source {
            Source::Sframe => FaultySection::Sframe,
            Source::Cfi => FaultySection::EhFrame,
            Source::DebugFrame => return Err("it is in .debug_frame, which no page is about".to_owned()),
        };
        let known = format!(
            "Program {program} of the seed {} has it, reduced. Before `{code}`, the section says: {says}. By \
             construction it is: {truth}.",
            self.seed
        );
        let function = format!("f{}", fault.function);
        let blank = draft::blank((maker, abi), self.name, function, Component::Assembler(versions));
        let (title, summary) = (self.title.to_owned(), draft::summary(known, elsewhere));
        let mut draft = Fault { title, summary, section, ..blank };
        let sources = [(format!("{}.s", self.name), self.source(arguments))];
        draft::set_sources(&mut draft.example, maker, sources.into(), &[])?;
        if fault.wrong == Wrong::LeftOut {
            draft.example.verdict = Verdict::NoFde;
        }
        draft.example.right = truth.replace("SP+0,", "SP,");
        Ok(draft)
    }

    /// The program, without what the bench needs to find its instructions.
    fn source(&self, arguments: &[u8]) -> String {
        let Reduced { program, fault, .. } = &self.example.reduced;
        let calls: Vec<_> = fault.iter().map(|fault| (format!("f{}", fault.function), 0)).collect();
        // A section without any function would not be written.
        let is_left_out = fault.as_ref().is_some_and(|fault| fault.wrong == Wrong::LeftOut);
        let start = Dialect::of(program.abi).start(&calls, arguments);
        joined(&format!("{}{}", plain(&start), plain(&self.functions(is_left_out))))
    }

    /// Its functions, without the one that calls them; with `leaf` only if one of them calls it, or if asked.
    fn functions(&self, with_leaf: bool) -> String {
        let source = &self.example.reduced.program.source;
        let end = source.find("\t.globl _start").unwrap_or(source.len());
        let leaf = source.find("\t.type leaf").unwrap_or_default();
        let (head, mut functions) = (&source[..leaf], &source[leaf..end]);
        // Nobody may call it.
        let calls = |line: &str| line.ends_with(" leaf") && !line.starts_with("\t.size ");
        if !with_leaf && !functions.lines().any(calls) {
            functions = functions.find("\t.type f").map_or(functions, |from| &functions[from..]);
        }
        let head = head.replace("\t.text\n", "");
        format!("{head}{functions}")
    }
}

fn sites_left_out(text: &str) -> String {
    let lines = text.lines().filter(|line| !line.starts_with(".Lsite"));
    lines.map(|line| format!("{line}\n")).collect()
}

/// Lines without those that only describe symbols.
fn plain(text: &str) -> String {
    let is_needed = |line: &&str| {
        let line = line.trim();
        !line.starts_with(".type ") && !line.starts_with(".size ")
    };
    sites_left_out(text).lines().filter(is_needed).map(|line| format!("{line}\n")).collect()
}

/// Makes functions visible to other objects.
fn for_corpus(functions: &str) -> String {
    let names = functions.lines().filter_map(|line| line.trim().strip_prefix(".type f")?.split(',').next());
    let globals: String = names.map(|number| format!("\t.globl f{number}\n")).collect();
    let functions = sites_left_out(functions);
    format!("{globals}\t.text\n{functions}\t.section .note.GNU-stack,\"\",%progbits\n")
}

/// Puts labels before what they name.
fn joined(text: &str) -> String {
    let mut joined = String::new();
    for line in text.lines() {
        if joined.ends_with(":\n") && !line.ends_with(':') {
            joined.pop();
        }
        joined.push_str(&line.replace('\t', "    "));
        joined.push('\n');
    }
    joined
}

/// What calls the function as a program of the corpus.
fn caller(title: &str, function: &str, arguments: &[u8]) -> String {
    let calls: String = arguments.iter().map(|argument| format!("    {function}({argument});\n")).collect();
    format!(
        "/* {title}: {function} is generated. */\n\n#include \"runtime/runtime.h\"\n\n\
         unsigned {function}(unsigned path);\n\nint main(void)\n{{\n{calls}    return bench_check(0, 0);\n}}\n"
    )
}

/// The name of a cause's fault, of what it is in and what is wrong.
#[must_use]
pub fn name_of(maker: &Maker, abi: Abi, cause: &super::Cause) -> String {
    let assembler = maker.producer(abi).ok().and_then(|producer| producer.assembler);
    let assembler = assembler.map_or_else(|| maker.toolchain().name.clone(), |tool| tool.name.to_string());
    draft::name(&format!("{assembler}-{abi}-{}-{}", cause.wrong, cause.after.join("-")))
}
