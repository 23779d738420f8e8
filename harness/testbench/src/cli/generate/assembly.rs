//! `generate assembly`: functions whose true unwind state is known by construction.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use clap::Args;
use sframe_corpus::corpus::Maker;
use sframe_engine::Abi;
use sframe_inspect::command::{Failure, Status, print, print_json, tell};
use sframe_kit::text::{Text, counted, neutral};
use sframe_search::generate::ask_others;
use sframe_search::generate::assembly::{
    CampaignOptions, Cause, Found, Group, Page, Plan, campaign, name_of, try_with, write,
};

use super::programs::{All, Programs, each};
use super::stop::{conclusion, stop_request};
use crate::cli::{definitions, numbers};

#[derive(Args)]
pub(super) struct Assembly {
    #[command(flatten)]
    of: Programs,
    /// How many functions each has.
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = numbers::count::<u32>(1..=1000, "functions"))]
    functions: u32,
    /// Make the CFI wrong on purpose: in each function the CFA, the return address or FP, throughout. A run
    /// must find each of these functions; one that it misses is a contradiction.
    #[arg(long, conflicts_with = "pages")]
    wrong: bool,
    /// Write each cause that has no page into this folder: its page, the page's build, and a program with a
    /// spec, laid out as in the repository.
    #[arg(long, value_name = "DIR")]
    pages: Option<PathBuf>,
    /// Also reduce programs with faults that have a page, and with --pages write their pages.
    #[arg(long)]
    known: bool,
}

impl Assembly {
    pub(super) fn execute(&self) -> Result<Status, Failure> {
        if let Some(abi) = self.of.printed() {
            let draw = if self.wrong { Plan::misdeclared } else { Plan::random };
            let program = write(&draw(abi, self.of.seed, self.of.first, self.functions));
            let mut text = Text::default();
            program.source.lines().for_each(|line| text.line(line.replace('\t', "        ")));
            print(&text)?;
            return Ok(Status::AsExpected);
        }
        let stop = stop_request()?;
        let options = CampaignOptions {
            search: self.of.search(&stop),
            functions: self.functions,
            misdeclares: self.wrong,
            reduces_known: self.known,
        };
        let faults = self.of.faults()?;
        let mut all =
            self.of.campaigns(&stop, |maker, abi, done| campaign(maker, abi, &options, &faults, done))?;
        let makers = self.of.all_that_are_there()?;
        let is_stopped = || stop.reason().is_some();
        for (toolchain, abis) in &mut all {
            for found in abis.values_mut().filter(|_| !is_stopped()) {
                verify(found, toolchain, &makers, self.known)?;
            }
        }
        if let Some(folder) = self.pages.as_ref().filter(|_| !is_stopped()) {
            let mut pages =
                Pages { of: self, makers: &makers, folder, written: BTreeMap::new(), notes: Text::default() };
            each(&all, &makers).for_each(|(maker, abi, found)| pages.write(abi, found, maker));
            tell(&pages.notes);
        }
        let mut founds = all.values().flat_map(BTreeMap::values);
        let contradicts = founds.clone().any(|found| !found.contradictions.is_empty());
        let sum = |of: fn(&Found) -> u64| founds.clone().map(of).sum::<u64>();
        let causes = counted(sum(|found| found.causes.len() as u64), "unknown cause");
        let programs = sum(|found| found.programs);
        let facts = vec![causes, counted(programs, "program")];
        let status = match () {
            () if contradicts || is_stopped() => Status::Broken,
            () if founds.any(|found| found.has_unknown()) => Status::Finding,
            () if programs > 0 => Status::AsExpected,
            () => Status::NothingCompared,
        };
        if self.of.json {
            print_json(&all)?;
        } else {
            let mut text = text(&all);
            conclusion(status, is_stopped(), facts).show(&mut text);
            print(&text)?;
        }
        Ok(status)
    }
}

/// The pages of what is found.
struct Pages<'p> {
    of: &'p Assembly,
    makers: &'p [Maker],
    folder: &'p Path,
    /// Those that are there, with the toolchain and the ABI that they were written for.
    written: BTreeMap<String, String>,
    /// What was written, and what could not be.
    notes: Text,
}

impl Pages<'_> {
    /// Writes those of what one toolchain has for one ABI. What can't be written is reported, and not an
    /// error.
    fn write(&mut self, abi: Abi, found: &Found, maker: &Maker) {
        let known = found.known.iter().filter(|_| self.of.known);
        let known = known.map(|(page, group)| ((*page).to_owned(), format!("Known as {page}"), group));
        let of_cause = |cause: &Cause| {
            let title: String = cause.to_string().chars().take(100).collect();
            (name_of(maker, abi, cause), title)
        };
        let causes = found.causes.iter().map(|(cause, group)| {
            let (name, title) = of_cause(cause);
            (name, title, group)
        });
        for (name, title, group) in causes.chain(known) {
            let Some(example) = &group.first else { continue };
            // One page is about all toolchains and ABIs.
            if let Some(first) = self.written.get(&name) {
                self.notes.line(format!("{}: written for {}", neutral(&name), neutral(first)));
                continue;
            }
            let page = Page { name: &name, title: &title, example, seed: self.of.of.seed };
            match page.write(maker, &self.of.of.roots, self.makers, self.folder) {
                Ok(()) => {
                    self.notes.line(format!("{}: written", neutral(&name)));
                    self.written.insert(name, format!("{}, {abi}", maker.toolchain().name));
                }
                Err(why) => self.notes.line(format!("{}: no page: {}", neutral(&name), neutral(&why))),
            }
        }
    }
}

/// Asks all other toolchains about the smallest programs with what is found.
fn verify(found: &mut Found, toolchain: &str, makers: &[Maker], with_known: bool) -> Result<(), Failure> {
    for example in found.examples(with_known) {
        let abi = example.reduced.program.abi;
        let asked = ask_others(makers, toolchain, abi, |maker| try_with(maker, example));
        example.elsewhere = asked.map_err(definitions::failure)?;
    }
    Ok(())
}

fn text(all: &All<Found>) -> Text {
    let mut text = Text::default();
    for (toolchain, abis) in all {
        for (abi, found) in abis {
            text.line(format!(
                "{}, {abi}: {}, {}, {} of them not in .sframe, {} compared",
                neutral(toolchain),
                counted(found.programs, "program"),
                counted(found.functions, "function"),
                found.left_out,
                counted(found.compared, "instruction")
            ));
            if found.noticed > 0 {
                text.line(format!("  {} wrong on purpose and found", counted(found.noticed, "function")));
            }
            for (page, group) in &found.known {
                text.line(format!("  known, {page}: {}", counted(group.count, "function")));
            }
            for (cause, group) in &found.causes {
                text.line(format!("  {cause}: {}", counted(group.count, "function")));
                example(group, &mut text);
            }
            for (said, group) in &found.refused {
                let why = if group.crash { "a tool crashes" } else { "refused" };
                let programs = counted(group.count, "program");
                text.line(format!("  {programs} not made, {why}: {}", neutral(said)));
                example(group, &mut text);
            }
            for (program, message) in &found.contradictions {
                text.line(format!("  CONTRADICTION in program {program}: {}", neutral(message)));
            }
        }
    }
    text
}

fn example(group: &Group, text: &mut Text) {
    let Some(example) = &group.first else { return };
    let mut place = format!("program {}, f{}", example.program, example.function);
    if !example.says.is_empty() {
        let _ = write!(place, ", before {}: {}; it is: {}", example.code, example.says, example.truth);
    }
    text.line(format!("      {place}"));
    for (toolchain, result) in &example.elsewhere {
        text.line(format!("      with {}: {}", neutral(toolchain), neutral(&result.to_string())));
    }
    for line in shown(&example.source) {
        text.line(format!("      |{}", line.replace('\t', "    ")));
    }
}

/// The lines of a program's functions: not those that call them, and where instructions are.
fn shown(source: &str) -> impl Iterator<Item = &str> {
    let lines = source
        .lines()
        .skip_while(|line| !line.contains(".type f"))
        .take_while(|line| !line.contains("_start,"));
    lines.filter(|line| !line.starts_with(".Lsite"))
}
