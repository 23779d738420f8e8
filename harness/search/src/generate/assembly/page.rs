//! Writes a cause as the page of a fault, with all that the corpus needs of it: the page and its build, and
//! a program with a spec.

use std::fmt::Write as _;
use std::path::Path;

use sframe_engine::Abi;
use sframe_inspect::text::with_causes;
use sframe_judge::vocabulary::Verdict;
use sframe_suite::corpus::{MadeExample, Maker};
use sframe_suite::faults::{filled_in, keep};
use sframe_suite::spec::{
    self, Assembler, Component, Fault, FaultySection, NO_ROW, ToolRange, Upstream, UpstreamState,
};
use sframe_suite::yaml;

use super::SOURCE;
use super::dialect::Dialect;
use super::found::Example;
use super::plan::{Action, FunctionPlan};
use super::reduce::Reduced;
use super::state::{Source, Wrong};
use crate::generate::Elsewhere;
use crate::generate::draft::{self, observed, program_name, range, write_files};

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
    /// which `bless --known` completes once the program is built. `others` are all toolchains that the example
    /// was tried with.
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
        let toolchain = maker.toolchain();
        let filled = |arguments: &[u8]| -> Result<_, String> {
            let draft = self.draft(maker, others, arguments)?;
            let made =
                MadeExample::make_instead(self.name, &draft.example, toolchain, toolchain, toolchains_dir)
                    .map_err(|error| with_causes(&error))?;
            Ok((filled_in(draft, made.program(), &|_| true)?, made))
        };
        // One path is enough for most.
        let all: Vec<u8> = (0..=self.example.reduced.program.last_argument).collect();
        let one = all.iter().find_map(|argument| filled(&[*argument]).ok());
        let (fault, made) = one.map_or_else(|| filled(&all), Ok)?;
        let lines: usize = fault.example.sources.values().map(|source| source.lines().count()).sum();
        if lines > spec::MAX_LINES {
            return Err(format!(
                "the smallest program has {lines} lines, and pages at most {}",
                spec::MAX_LINES
            ));
        }
        let program = program_name(self.name);
        let component = match &fault.component {
            Component::Assembler(range) => range.to_string(),
            _ => return Err("only assemblers' faults are generated".to_owned()),
        };
        let page =
            format!("# yaml-language-server: $schema=../fault.schema.json\n{}", yaml::to_string(&fault)?);
        let (abi, function) = (fault.example.abi, &fault.example.function);
        let mut spec = format!(
            "# yaml-language-server: $schema=spec.schema.json\nprogram: {program}\nsummary: >-\n  {}.\n\
             targets: [{abi}]\nsweep:\n  min_instructions: 10\nknown:\n  - where: {{assembler: {component}}}\n",
            self.title
        );
        let Fault { example: of, .. } = &fault;
        let _ = write!(
            spec,
            "    verdict: {}\n    blame: {}\n    function: {function}\n    fault: {}\n",
            of.verdict,
            fault.blame(),
            self.name
        );
        spec.push_str(&self.unreached(maker, &fault)?);
        let files = [
            (format!("specs/faults/{}.yaml", self.name), page),
            (format!("specs/{program}.yaml"), spec),
            (format!("corpus/programs/{program}.yaml"), format!("targets: [{abi}]\nvariants: [O2]\n")),
            (format!("corpus/programs/{program}.S"), for_corpus(&self.functions(false))),
            (format!("corpus/programs/{program}.c"), caller(self.title, function, &all)),
        ];
        write_files(folder, &files)?;
        let corpus = folder.join("corpus");
        keep(&corpus, self.name, &fault.example, made.program()).map_err(|error| with_causes(&error))
    }

    /// The exception of a spec for rows that no argument reaches.
    fn unreached(&self, maker: &Maker, fault: &Fault) -> Result<String, String> {
        let Reduced { program, plan, .. } = &self.example.reduced;
        let made = maker.make(program.abi, &[(SOURCE.to_owned(), program.source.clone())], &[]);
        let made = made.map_err(|error| with_causes(&error))?;
        let observed = observed(&made.bytes, fault)?;
        let names = observed.unexercised().iter();
        let functions: Vec<&str> =
            names.map(String::as_str).filter(|name| *name != "_start" && *name != "leaf").collect();
        if functions.is_empty() {
            return Ok(String::new());
        }
        let is_dead =
            |function: &FunctionPlan| function.body.iter().any(|part| matches!(part.what, Action::Unreached));
        let reason = if plan.functions.iter().any(is_dead) {
            "By construction, nothing reaches a part of its code."
        } else {
            "None of the arguments that it is called with reaches a part of its code."
        };
        Ok(format!(
            "unreached:\n  - where: {{assembler: {}}}\n    functions: [{}]\n    reason: {reason}\n",
            fault.component,
            functions.join(", ")
        ))
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
        let mut commands = maker.command(abi, &[]).map_err(|error| with_causes(&error))?;
        // Each machine has its own.
        commands.retain(|word| !word.starts_with("-B"));
        let source = format!("{}.s", self.name);
        commands.extend(["-o".to_owned(), self.name.to_owned(), source.clone()]);
        let command =
            shlex::try_join(commands.iter().map(String::as_str)).map_err(|error| error.to_string())?;
        let mut summary = format!(
            "Program {program} of the seed {} has it, reduced. Before `{code}`, the section says: {says}. By \
             construction it is: {truth}.",
            self.seed
        );
        for (toolchain, result) in elsewhere {
            let _ = write!(summary, " {toolchain}: {result}.");
        }
        Ok(Fault {
            title: self.title.to_owned(),
            component: Component::Assembler(versions(assembler, abi, others, elsewhere)),
            summary,
            section: match fault.source {
                Source::Sframe => FaultySection::Sframe,
                Source::Cfi => FaultySection::EhFrame,
                Source::DebugFrame => return Err("it is in .debug_frame, which no page is about".to_owned()),
            },
            sites: Vec::new(),
            generated: Vec::new(),
            example: spec::Example {
                abi,
                toolchain: maker.toolchain().name.clone(),
                sources: [(source, self.source(arguments))].into(),
                commands: vec![command],
                program: self.name.to_owned(),
                function: format!("f{}", fault.function),
                row: None,
                verdict: if fault.wrong == Wrong::LeftOut { Verdict::NoFde } else { Verdict::WrongCfa },
                wrong: NO_ROW.to_owned(),
                right: truth.replace("SP+0,", "SP,"),
            },
            witnesses: std::collections::BTreeMap::new(),
            upstream: Upstream { state: UpstreamState::Unreported, link: None, version: None },
        })
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

/// The same, visible to other objects.
fn for_corpus(functions: &str) -> String {
    let names = functions.lines().filter_map(|line| line.trim().strip_prefix(".type f")?.split(',').next());
    let globals: String = names.map(|number| format!("\t.globl f{number}\n")).collect();
    let functions = sites_left_out(functions);
    format!("{globals}\t.text\n{functions}\t.section .note.GNU-stack,\"\",%progbits\n")
}

/// Puts labels in front of what they name.
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

/// The versions of an assembler that were seen to have a fault.
fn versions(
    name: Assembler,
    abi: Abi,
    makers: &[Maker],
    elsewhere: &std::collections::BTreeMap<String, Elsewhere>,
) -> ToolRange<Assembler> {
    let (mut with, mut without) = (Vec::new(), Vec::new());
    for maker in makers {
        let tool = maker.producer(abi).ok().and_then(|producer| producer.assembler);
        let Some(tool) = tool.filter(|tool| tool.name == name) else { continue };
        match elsewhere.get(&maker.toolchain().name) {
            // It is the one that has it.
            None | Some(Elsewhere::Same) => with.push(tool.version.clone()),
            Some(Elsewhere::Unjudged { .. }) => {}
            Some(_) => without.push(tool.version.clone()),
        }
    }
    range(name, &with, &without)
}

/// The name of a cause's fault, of what it is in and what is wrong.
#[must_use]
pub fn name_of(maker: &Maker, abi: Abi, cause: &super::Cause) -> String {
    let assembler = maker.producer(abi).ok().and_then(|producer| producer.assembler);
    let assembler = assembler.map_or_else(|| maker.toolchain().name.clone(), |tool| tool.name.to_string());
    draft::name(&format!("{assembler}-{abi}-{}-{}", cause.wrong, cause.after.join("-")))
}
