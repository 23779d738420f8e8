//! `generate assembly`: functions whose true unwind state is known by construction.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use clap::Args;
use sframe_engine::Abi;
use sframe_inspect::command::{Failure, Status, print, print_json};
use sframe_inspect::text::{Text, neutral};
use sframe_testbench::generate::assembly::{CampaignOptions, Found, Group, Plan, campaign, write};

use super::programs::Programs;

#[derive(Args)]
pub(super) struct Assembly {
    #[command(flatten)]
    of: Programs,
    /// How many functions each has.
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=1000))]
    functions: u32,
}

impl Assembly {
    pub(super) fn execute(&self) -> Result<Status, Failure> {
        if let Some(abi) = self.of.printed() {
            let program = write(&Plan::random(abi, self.of.seed, self.of.first, self.functions));
            let mut text = Text::default();
            program.source.lines().for_each(|line| text.line(line.replace('\t', "        ")));
            print(&text)?;
            return Ok(Status::AsExpected);
        }
        let options =
            CampaignOptions { seed: self.of.seed, programs: self.of.numbers(), functions: self.functions };
        let all = self.of.campaigns(|maker, abi, done| campaign(maker, abi, &options, done))?;
        if self.of.json {
            print_json(&all)?;
        } else {
            print(&text(&all))?;
        }
        let mut founds = all.values().flat_map(BTreeMap::values);
        let contradicts = founds.clone().any(|found| !found.contradictions.is_empty());
        let made = founds.clone().any(|found| found.programs > 0);
        Ok(match () {
            () if contradicts => Status::Broken,
            () if founds.any(|found| found.has_unknown()) => Status::Finding,
            () if made => Status::AsExpected,
            () => Status::NothingCompared,
        })
    }
}

fn text(all: &BTreeMap<String, BTreeMap<Abi, Found>>) -> Text {
    let mut text = Text::default();
    for (toolchain, abis) in all {
        for (abi, found) in abis {
            text.line(format!(
                "{}, {abi}: {} programs, {} functions, {} of them not in .sframe, {} instructions compared",
                neutral(toolchain),
                found.programs,
                found.functions,
                found.left_out,
                found.compared
            ));
            for (page, group) in &found.known {
                text.line(format!("  known, {page}: {} functions", group.count));
            }
            for (cause, group) in &found.causes {
                text.line(format!("  {cause}: {} functions", group.count));
                example(group, &mut text);
            }
            for (said, group) in &found.refused {
                text.line(format!("  {} programs not made: {}", group.count, neutral(said)));
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
