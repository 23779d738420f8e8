//! `generate`: programs whose true unwind state is known by construction.

use std::collections::BTreeMap;
use std::path::PathBuf;

use clap::Args;
use sframe_engine::Abi;
use sframe_inspect::command::{Failure, Status, print, print_json};
use sframe_inspect::text::{Text, neutral};
use sframe_testbench::corpus::{Maker, Toolchain};
use sframe_testbench::generate::assembly::{Plan, write};
use sframe_testbench::generate::campaign::{CampaignOptions, Found, campaign};
use sframe_testbench::spec::parse_abi;

use super::definitions;
use super::options::{parse_jobs, set_jobs};
use super::run::progress_bar;

#[derive(Args)]
pub(crate) struct Generate {
    /// A toolchain: the name of one of the corpus, or the path of a definition (repeatable; all of the
    /// corpus that compile, by default).
    #[arg(long = "toolchain", value_name = "NAME|FILE")]
    toolchains: Vec<PathBuf>,
    /// Only this ABI (repeatable).
    #[arg(long = "abi", value_name = "ABI", value_parser = parse_abi)]
    abis: Vec<Abi>,
    /// The same seed generates the same programs.
    #[arg(long, value_name = "S", default_value_t = 0)]
    seed: u64,
    /// The number of the first program of the seed.
    #[arg(long, value_name = "N", default_value_t = 0)]
    first: u64,
    /// How many programs to generate for each toolchain and ABI.
    #[arg(long, value_name = "N", default_value_t = 10)]
    programs: u64,
    /// How many functions each has.
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=1000))]
    functions: u32,
    /// Print the first program in assembly, and make nothing.
    #[arg(long, requires = "abis")]
    source: bool,
    /// The folder of the corpus.
    #[arg(long, value_name = "DIR", default_value = "corpus")]
    corpus: PathBuf,
    /// The folder with the roots of toolchains that are made of packages.
    #[arg(long = "toolchains", value_name = "DIR", default_value = "target/toolchains")]
    roots: PathBuf,
    /// How many programs to work on at once; 0 for one per processor.
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = parse_jobs)]
    jobs: usize,
    /// Print the report as JSON instead of the summary.
    #[arg(long)]
    json: bool,
}

impl Generate {
    pub(crate) fn execute(&self) -> Result<Status, Failure> {
        if let (true, Some(abi)) = (self.source, self.abis.first()) {
            let program = write(&Plan::random(*abi, self.seed, self.first, self.functions));
            let mut text = Text::default();
            program.source.lines().for_each(|line| text.line(line.replace('\t', "        ")));
            print(&text)?;
            return Ok(Status::AsExpected);
        }
        set_jobs(self.jobs)?;
        let mut work = Vec::new();
        for toolchain in self.definitions()? {
            let maker = Maker::open(toolchain, &self.roots).map_err(definitions::failure)?;
            let abis: Vec<Abi> =
                maker.toolchain().abis.keys().copied().filter(|abi| self.wants(*abi)).collect();
            work.push((maker, abis));
        }
        let count = work.iter().map(|(_, abis)| abis.len() as u64).sum::<u64>() * self.programs;
        let bar = progress_bar(count, "programs");
        let options = CampaignOptions {
            seed: self.seed,
            programs: self.first..self.first.saturating_add(self.programs),
            functions: self.functions,
        };
        let mut all: BTreeMap<String, BTreeMap<Abi, Found>> = BTreeMap::new();
        for (maker, abis) in &work {
            for abi in abis {
                let found = campaign(maker, *abi, &options, &|| bar.inc(1));
                let found = found.map_err(definitions::failure)?;
                all.entry(maker.toolchain().name.clone()).or_default().insert(*abi, found);
            }
        }
        bar.finish_and_clear();
        if self.json {
            print_json(&all)?;
        } else {
            print(&text(&all))?;
        }
        let mut founds = all.values().flat_map(BTreeMap::values);
        let contradicts = founds.clone().any(|found| !found.contradictions.is_empty());
        let made = founds.clone().any(|found| found.programs > 0);
        Ok(match () {
            () if contradicts => Status::Broken,
            () if founds.any(|found| !found.causes.is_empty()) => Status::Finding,
            () if made => Status::AsExpected,
            () => Status::NothingCompared,
        })
    }

    fn wants(&self, abi: Abi) -> bool {
        self.abis.is_empty() || self.abis.contains(&abi)
    }

    fn definitions(&self) -> Result<Vec<Toolchain>, Failure> {
        let all = Toolchain::load_all(&self.corpus).map_err(definitions::failure)?;
        if self.toolchains.is_empty() {
            return Ok(all.into_iter().filter(|toolchain| toolchain.derive.is_none()).collect());
        }
        let named = |given| definitions::load(given, &self.corpus, &all).map(|(_, toolchain)| toolchain);
        self.toolchains.iter().map(|given| named(given)).collect()
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
            for (cause, (functions, example)) in &found.causes {
                text.line(format!("  {cause}: {functions} functions"));
                let place =
                    format!("program {}, f{}, before {}", example.program, example.function, example.code);
                text.line(format!("      {place}: {}; it is: {}", example.says, example.truth));
                for line in example.source.iter().flat_map(|source| shown(source)) {
                    text.line(format!("      |{}", line.replace('\t', "    ")));
                }
            }
            for (said, count) in &found.refused {
                text.line(format!("  {count} programs not made: {}", neutral(said)));
            }
            for (program, message) in &found.contradictions {
                text.line(format!("  CONTRADICTION in program {program}: {}", neutral(message)));
            }
        }
    }
    text
}

/// The lines of a program's functions: not those that call them, and where instructions are.
fn shown(source: &str) -> impl Iterator<Item = &str> {
    let lines = source
        .lines()
        .skip_while(|line| !line.contains(".type f"))
        .take_while(|line| !line.contains("_start,"));
    lines.filter(|line| !line.starts_with(".Lsite"))
}
