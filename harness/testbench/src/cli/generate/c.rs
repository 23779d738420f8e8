//! `generate c`: programs in C whose frames are hard to unwind.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use clap::Args;
use sframe_inspect::command::{Failure, Status, print, print_verdict, tell};
use sframe_kit::text::{Text, counted, grouped};
use sframe_search::generate::c::{
    self as programs, CampaignOptions, Counts, Example, Page, Shows, Written, campaign, draw, write,
};

use super::programs::{Programs, Searched};
use super::report::{Pages, Shown, conclusion, show_elsewhere, verdict};
use crate::cli::interrupt::requests_here;
use crate::cli::numbers;

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
        let stop = requests_here();
        let options = CampaignOptions {
            search: self.of.numbers(&stop),
            functions: self.functions,
            links: self.links,
            reduces: !self.no_reduce,
        };
        let faults = self.of.faults()?;
        let asks_others = (!self.no_reduce).then_some(false);
        let searched = self
            .of
            .search(&stop, asks_others, |maker, abi, done| campaign(maker, abi, &options, &faults, done))?;
        if let Some(folder) = self.pages.as_ref().filter(|_| !searched.is_stopped) {
            tell(&self.write_pages(&searched, folder));
        }
        let differ = differ_between(&searched);
        let causes = counted(searched.sum(|found| found.causes().count() as u64), "unknown cause");
        let (programs, builds) =
            (searched.sum(|found| found.counts.programs), searched.sum(|found| found.counts.builds));
        let status = searched.status(!differ.is_empty(), builds > 0);
        if self.of.json {
            print_verdict(
                verdict(status, searched.is_stopped),
                &serde_json::json!({ "toolchains": searched.all, "differ_between": differ }),
            )?;
        } else {
            let mut text = searched.text(made);
            for (program, checksums) in &differ {
                text.line(format!("program {program} computes different numbers: {}", list(checksums)));
            }
            let made = format!("{}, {}", counted(programs, "program"), counted(builds, "build"));
            conclusion(status, searched.stopped(programs), vec![causes, made]).show(&mut text);
            print(&text)?;
        }
        Ok(status)
    }

    /// Writes the pages of all causes. Returns what was written, and what could not be.
    fn write_pages(&self, searched: &Searched<programs::C>, folder: &Path) -> Text {
        let (mut pages, none) = (Pages::default(), BTreeSet::new());
        for (maker, abi, found) in searched.each() {
            for (cause, group) in found.causes() {
                let Some(example) = &group.first else { continue };
                let places = found.counts.places.get(cause).unwrap_or(&none);
                let page = Page { abi, cause, example, places, seed: self.of.seed };
                pages.add(page.name(maker), (maker, abi), |_| {
                    let written = page.write(maker, &self.of.roots, &searched.makers, folder)?;
                    Ok(match written {
                        Written::Page => None,
                        Written::Program(why) => Some(why),
                    })
                });
            }
        }
        pages.notes
    }
}

/// The programs that compute something else with another toolchain or for another ABI.
fn differ_between(searched: &Searched<programs::C>) -> BTreeMap<u64, BTreeMap<String, u64>> {
    let mut programs: BTreeMap<u64, BTreeMap<String, u64>> = BTreeMap::new();
    for (toolchain, abis) in &searched.all {
        for (abi, found) in abis {
            for (program, checksum) in &found.counts.checksums {
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

fn made(counts: &Counts, more: &mut Text) -> String {
    for (reason, functions) in &counts.left_out {
        more.line(format!("  not in .sframe: {} ({reason})", counted(*functions, "function")));
    }
    format!(
        "{}, {}; {}, {} of them exercised, {} explored; {} compared",
        counted(counts.programs, "program"),
        counted(counts.builds, "build"),
        counted(counts.rows, "row"),
        grouped(counts.exercised),
        grouped(counts.explored),
        counted(counts.comparisons, "instruction"),
    )
}

impl Shown for programs::C {
    const OF: &'static str = "function";

    fn show(example: &Example, text: &mut Text) {
        let place = format!("      program {}, {}", example.program, example.level);
        match &example.shows {
            Shows::Fault(fault) => {
                text.line(format!("{place}: {}", fault.message));
                for line in &fault.listing {
                    text.line(format!("        {line}"));
                }
                fault.evidence.iter().for_each(|line| text.line(format!("      {line}")));
            }
            Shows::Says { says } => text.line(format!("{place}: {says}")),
            Shows::Differs { checksums, stops } => {
                text.line(format!("      {}", list(checksums)));
                for (level, why) in stops {
                    text.line(format!("      {level}: {why}"));
                }
            }
        }
        show_elsewhere(&example.elsewhere, text);
        show_source(text, &example.flags, &example.source);
    }
}

fn show_source(text: &mut Text, flags: &[String], source: &[String]) {
    text.line(format!("      flags: {}", flags.join(" ")));
    for file in source {
        let code = file.lines().filter(|line| !line.is_empty() && !line.starts_with("#include"));
        code.for_each(|line| text.line(format!("      |{line}")));
    }
}
