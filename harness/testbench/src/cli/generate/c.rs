//! `generate c`: programs in C whose frames are hard to unwind.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use clap::Args;
use sframe_corpus::corpus::Maker;
use sframe_engine::Abi;
use sframe_inspect::command::{Failure, Status, print, print_json, tell};
use sframe_kit::text::{Text, counted, grouped, neutral};
use sframe_search::generate::ask_others;
use sframe_search::generate::c::{
    CampaignOptions, Example, Found, Group, Page, Refused, Written, campaign, draw, try_with, write,
};

use super::programs::{All, Programs, each};
use super::stop::{conclusion, stop_request};
use crate::cli::{definitions, numbers};

#[derive(Args)]
pub(super) struct C {
    #[command(flatten)]
    of: Programs,
    /// How many functions each has.
    #[arg(long, value_name = "N", default_value_t = 12, value_parser = numbers::count::<u32>(1..=200, "functions"))]
    functions: u32,
    /// Link each program in its own way: as several objects, some of them without call frame information,
    /// in archives or linked before, position-independent, with flags for the linker.
    #[arg(long)]
    links: bool,
    /// Show the programs as they were found, without reducing them.
    #[arg(long)]
    no_reduce: bool,
    /// Write each cause that has no page into this folder: its page, the page's build, and a program with a
    /// spec, laid out as in the repository. What can't be written is reported.
    #[arg(long, value_name = "DIR", conflicts_with = "no_reduce")]
    pages: Option<PathBuf>,
}

impl C {
    pub(super) fn execute(&self) -> Result<Status, Failure> {
        if self.of.printed().is_some() {
            let mut text = Text::default();
            for source in write(&draw(self.of.seed, self.of.first, self.functions)) {
                text.line(format!("/* {} */", source.name));
                source.text.lines().for_each(|line| text.line(line));
            }
            print(&text)?;
            return Ok(Status::AsExpected);
        }
        let stop = stop_request()?;
        let options = CampaignOptions {
            search: self.of.search(&stop),
            functions: self.functions,
            links: self.links,
            reduces: !self.no_reduce,
        };
        let faults = self.of.faults()?;
        let mut all =
            self.of.campaigns(&stop, |maker, abi, done| campaign(maker, abi, &options, &faults, done))?;
        let is_stopped = stop.reason().is_some();
        if !self.no_reduce && !is_stopped {
            let makers = self.of.all_that_are_there()?;
            for (toolchain, abis) in &mut all {
                for (abi, found) in abis {
                    verify(found, toolchain, *abi, &makers)?;
                }
            }
            if let Some(folder) = &self.pages {
                tell(&self.write_pages(&all, &makers, folder));
            }
        }
        let differ = differ_between(&all);
        let mut founds = all.values().flat_map(BTreeMap::values);
        let is_broken = |found: &Found| !found.contradictions.is_empty() || !found.unjudged.is_empty();
        let crashes = |found: &Found| found.refused.values().any(|refused| refused.crash);
        let is_wrong = |found: &Found| !found.causes.is_empty() || !found.differ.is_empty() || crashes(found);
        let sum = |of: fn(&Found) -> u64| founds.clone().map(of).sum::<u64>();
        let causes = counted(sum(|found| found.causes.len() as u64), "unknown cause");
        let (programs, builds) = (sum(|found| found.programs), sum(|found| found.builds));
        let made = format!("{}, {}", counted(programs, "program"), counted(builds, "build"));
        let status = match () {
            () if is_stopped || founds.clone().any(is_broken) => Status::Broken,
            () if founds.any(is_wrong) || !differ.is_empty() => Status::Finding,
            () if builds > 0 => Status::AsExpected,
            () => Status::NothingCompared,
        };
        if self.of.json {
            print_json(&serde_json::json!({ "toolchains": all, "differ_between": differ }))?;
        } else {
            let mut text = text(&all);
            for (program, checksums) in &differ {
                text.line(format!("program {program} computes different numbers: {}", list(checksums)));
            }
            conclusion(status, is_stopped, vec![causes, made]).show(&mut text);
            print(&text)?;
        }
        Ok(status)
    }
}

impl C {
    /// Writes the pages of all causes. Returns what was written, and what could not be.
    fn write_pages(&self, all: &All<Found>, makers: &[Maker], folder: &Path) -> Text {
        let mut notes = Text::default();
        for (maker, abi, found) in each(all, makers) {
            for (cause, group) in &found.causes {
                let page = Page { abi, cause, group, seed: self.of.seed };
                let name = page.name(maker);
                let name = neutral(&name);
                match page.write(maker, &self.of.roots, makers, folder) {
                    Ok(Written::Page) => notes.line(format!("{name}: written")),
                    Ok(Written::Program(why)) => {
                        notes.line(format!("{name}: a program and a spec, but no page: {}", neutral(&why)));
                    }
                    Err(why) => notes.line(format!("{name}: no page: {}", neutral(&why))),
                }
            }
        }
        notes
    }
}

/// Asks all other toolchains about the smallest program with each cause.
fn verify(found: &mut Found, toolchain: &str, abi: Abi, makers: &[Maker]) -> Result<(), Failure> {
    for Group { first, .. } in found.causes.values_mut() {
        let Some(reduced) = &first.reduced else { continue };
        let ask = |maker: &Maker| try_with(maker, abi, first.level, reduced, &first.fault);
        first.elsewhere = ask_others(makers, toolchain, abi, ask).map_err(definitions::failure)?;
    }
    Ok(())
}

/// The programs that compute something else with another toolchain or for another ABI.
fn differ_between(all: &All<Found>) -> BTreeMap<u64, BTreeMap<String, u64>> {
    let mut programs: BTreeMap<u64, BTreeMap<String, u64>> = BTreeMap::new();
    for (toolchain, abis) in all {
        for (abi, found) in abis {
            for (program, checksum) in &found.checksums {
                let of = programs.entry(*program).or_default();
                of.insert(format!("{toolchain} {abi}"), *checksum);
            }
        }
    }
    programs.retain(|_, of| of.values().any(|checksum| of.values().next() != Some(checksum)));
    programs
}

fn list(checksums: &BTreeMap<impl std::fmt::Display, u64>) -> String {
    let all: Vec<String> = checksums.iter().map(|(of, checksum)| format!("{of}: {checksum:#x}")).collect();
    all.join(", ")
}

fn text(all: &All<Found>) -> Text {
    let mut text = Text::default();
    for (toolchain, abis) in all {
        for (abi, found) in abis {
            text.line(format!(
                "{}, {abi}: {}, {}; {}, {} of them exercised, {} explored; {} compared",
                neutral(toolchain),
                counted(found.programs, "program"),
                counted(found.builds, "build"),
                counted(found.rows, "row"),
                grouped(found.exercised),
                grouped(found.explored),
                counted(found.comparisons, "instruction"),
            ));
            show(&mut text, found);
        }
    }
    text
}

fn show(text: &mut Text, found: &Found) {
    for (reason, functions) in &found.left_out {
        text.line(format!("  not in .sframe: {} ({reason})", counted(*functions, "function")));
    }
    for (page, cases) in &found.known {
        text.line(format!("  known, {}: {}", neutral(page), counted(*cases, "case")));
    }
    for (cause, Group { functions, first, .. }) in &found.causes {
        text.line(format!("  {}: {}", neutral(&cause.to_string()), counted(*functions, "function")));
        show_example(text, first);
    }
    for differs in &found.differ {
        text.line(format!(
            "  program {} depends on its level: {}",
            differs.program,
            list(&differs.checksums)
        ));
        for (level, why) in &differs.stops {
            text.line(format!("      {level}: {}", neutral(why)));
        }
        show_source(text, &differs.flags, &differs.source);
    }
    for (said, Refused { builds, crash, program, level, flags }) in &found.refused {
        let why = if *crash { "a tool crashes" } else { "refused" };
        let builds = counted(*builds, "build");
        text.line(format!("  {builds} not made, {why}: {}", neutral(said)));
        text.line(format!("      the first is program {program}, {level}: {}", neutral(&flags.join(" "))));
    }
    for (why, found) in &found.unjudged {
        let first = format!("the first is program {}, {}", found.program, found.level);
        text.line(format!("  NOT JUDGED: {}: {}; {first}", counted(found.builds, "build"), neutral(why)));
        show_source(text, &found.flags, &found.source);
    }
    for found in &found.contradictions {
        text.line(format!(
            "  CONTRADICTION at {}: {}: program {}, {}: {}",
            counted(found.places, "place"),
            found.found.kind,
            found.program,
            found.level,
            neutral(&found.found.says)
        ));
        show_source(text, &found.flags, &found.source);
    }
}

fn show_example(text: &mut Text, example: &Example) {
    let Example { program, level, fault, .. } = example;
    text.line(format!("      program {program}, {level}: {}", neutral(&fault.message)));
    for line in &fault.listing {
        text.line(format!("        {}", neutral(&line.to_string())));
    }
    for line in &fault.evidence {
        text.line(format!("      {}", neutral(line)));
    }
    for (toolchain, tried) in &example.elsewhere {
        text.line(format!("      with {}: {}", neutral(toolchain), neutral(&tried.to_string())));
    }
    show_source(text, &example.flags, &example.source);
}

fn show_source(text: &mut Text, flags: &[String], source: &[String]) {
    text.line(format!("      flags: {}", neutral(&flags.join(" "))));
    for file in source {
        let code = file.lines().filter(|line| !line.is_empty() && !line.starts_with("#include"));
        code.for_each(|line| text.line(format!("      |{line}")));
    }
}
