//! Which programs are made, and by what.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Instant;

use clap::Args;
use sframe_corpus::corpus::{Error, Maker, Toolchain};
use sframe_corpus::spec::{Faults, parse_abi};
use sframe_engine::Abi;
use sframe_inspect::command::{Failure, Status, detail_since};
use sframe_judge::examine::stop::StopRequest;
use sframe_kit::text::Text;
use sframe_search::generate::{self, Found, Search, Terms, end_of};

use super::report::{Shown, show};
use crate::cli::definitions;
use crate::cli::numbers;
use crate::cli::options::{at_home, demand, pages, parse_jobs, set_jobs};
use crate::cli::run::progress_bar;

/// What a search has found.
pub(super) struct Searched<S: Terms> {
    /// By toolchain and ABI.
    pub(super) all: BTreeMap<String, BTreeMap<Abi, Found<S>>>,
    /// All toolchains that are installed, if they were asked about the smallest programs.
    pub(super) makers: Vec<Maker>,
    /// How many programs were to be tried.
    pub(super) planned: u64,
    /// Whether the search was ended by an interrupt.
    pub(super) is_stopped: bool,
}

impl<S: Shown> Searched<S> {
    /// What was found with each toolchain that was opened again, and for each ABI.
    pub(super) fn each(&self) -> impl Iterator<Item = (&Maker, Abi, &Found<S>)> {
        let maker = |name: &String| self.makers.iter().find(|maker| maker.toolchain().name == *name);
        let there = self.all.iter().filter_map(move |(toolchain, abis)| Some((maker(toolchain)?, abis)));
        there.flat_map(|(maker, abis)| abis.iter().map(move |(abi, found)| (maker, *abi, found)))
    }

    /// Adds a number of all.
    pub(super) fn sum(&self, of: impl Fn(&Found<S>) -> u64) -> u64 {
        self.all.values().flat_map(BTreeMap::values).map(of).sum()
    }

    /// How many programs were tried, and of how many, if it was stopped.
    pub(super) fn stopped(&self, tried: u64) -> Option<(u64, u64, &'static str)> {
        self.is_stopped.then_some((tried, self.planned, "program"))
    }

    /// How the search ends. Something may also be wrong between toolchains.
    pub(super) fn status(&self, differs: bool, has_compared: bool) -> Status {
        end_of(self.all.values().flat_map(BTreeMap::values), (differs, self.is_stopped), has_compared)
    }

    /// Shows all of it, each toolchain and ABI below a line about what was made.
    pub(super) fn text(&self, made: impl Fn(&S::Counts, &mut Text) -> String) -> Text {
        let mut text = Text::default();
        for (toolchain, abis) in &self.all {
            for (abi, found) in abis {
                let mut more = Text::default();
                let made = made(&found.counts, &mut more);
                text.line(format!("{toolchain}, {abi}: {made}"));
                text.append(&more);
                show(found, &mut text);
            }
        }
        text
    }
}

/// Which programs are made, and by what.
#[derive(Args)]
pub(super) struct Programs {
    /// A toolchain: the name of one of the corpus, or the path of a definition (repeatable; all of the
    /// corpus that compile, by default).
    #[arg(long = "toolchain", value_name = "NAME|FILE")]
    pub(super) toolchains: Vec<PathBuf>,
    /// Only this ABI (repeatable).
    #[arg(long = "abi", value_name = "ABI", value_parser = parse_abi)]
    pub(super) abis: Vec<Abi>,
    /// The same seed generates the same programs.
    #[arg(long, value_name = "S", default_value_t = 0, value_parser = numbers::seed)]
    pub(super) seed: u64,
    /// The number of the first program of the seed.
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = numbers::seed)]
    pub(super) first: u64,
    /// How many programs to generate for each toolchain and ABI.
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = numbers::count::<u64>(numbers::FROM_ZERO, "programs"))]
    pub(super) programs: u64,
    /// Print the first program, and make nothing.
    #[arg(long, requires = "abis")]
    pub(super) source: bool,
    /// The folder of the corpus.
    #[arg(long, value_name = "DIR", default_value_os_t = at_home("corpus"), hide_default_value = true)]
    pub(super) corpus: PathBuf,
    /// The folder of the specs, with the pages of faults. A fault that has a page is known.
    #[arg(long, value_name = "DIR", default_value_os_t = at_home("specs"), hide_default_value = true)]
    pub(super) specs: PathBuf,
    /// The folder with the roots of toolchains that are made of packages.
    #[arg(long = "toolchains", value_name = "DIR", default_value = "target/toolchains")]
    pub(super) roots: PathBuf,
    /// How many programs to work on at once; 0 for one per processor.
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = parse_jobs)]
    pub(super) jobs: usize,
    /// Print the report as JSON instead of the summary.
    #[arg(long)]
    pub(super) json: bool,
}

impl Programs {
    /// The ABI whose first program is to be printed, if that is all.
    pub(super) fn printed(&self) -> Option<Abi> {
        self.abis.first().copied().filter(|_| self.source)
    }

    /// The pages of faults.
    pub(super) fn faults(&self) -> Result<Faults, Failure> {
        pages(Some(&self.specs))
    }

    /// The programs that are tried.
    pub(super) fn numbers(&self, stop: &StopRequest) -> Search {
        let numbers = self.first..self.first.saturating_add(self.programs);
        Search { seed: self.seed, numbers, stop: stop.clone() }
    }

    /// Opens the toolchains, each with the ABIs that are wanted of it.
    fn open(&self, stop: &StopRequest) -> Result<Vec<(Maker, Vec<Abi>)>, Failure> {
        set_jobs(self.jobs)?;
        let mut work = Vec::new();
        for toolchain in self.definitions()? {
            let maker = Maker::open(toolchain, &self.roots, stop).map_err(definitions::failure)?;
            let toolchain = maker.toolchain();
            let is_asked_for =
                |abi: &Abi| self.wants(*abi) && (!self.abis.is_empty() || !toolchain.is_excluded(*abi));
            let abis: Vec<Abi> = toolchain.abis.keys().copied().filter(is_asked_for).collect();
            work.push((maker, abis));
        }
        if work.iter().all(|(_, abis)| abis.is_empty()) {
            let names: Vec<&str> = work.iter().map(|(maker, _)| &*maker.toolchain().name).collect();
            let abis: Vec<&str> = self.abis.iter().map(|abi| abi.name()).collect();
            let (names, abis) = (names.join(", "), abis.join(" or "));
            return Err(Failure::unusable(format!("error: {names} does not support {abis}")));
        }
        Ok(work)
    }

    /// Searches with each toolchain and ABI that is wanted, and asks all others about the smallest programs,
    /// also about those with what is known; `None` to ask nobody. `campaign` gets the function to call after
    /// each program.
    pub(super) fn search<S: generate::Programs>(
        &self,
        stop: &StopRequest,
        asks_about_known: Option<bool>,
        campaign: impl Fn(&Maker, Abi, &(dyn Fn() + Sync)) -> Result<Found<S>, Error>,
    ) -> Result<Searched<S>, Failure> {
        let work = self.open(stop)?;
        let count = work.iter().map(|(_, abis)| abis.len() as u64).sum::<u64>() * self.programs;
        let bar = progress_bar(count, "programs");
        let mut all: BTreeMap<String, BTreeMap<Abi, Found<S>>> = BTreeMap::new();
        for (maker, abis) in &work {
            // What was not begun is not told.
            for abi in abis.iter().take_while(|_| stop.reason().is_none()) {
                let start = Instant::now();
                let mut found = match campaign(maker, *abi, &|| bar.inc(1)) {
                    // What was found before is reported.
                    Err(Error::Interrupted) => break,
                    found => found.map_err(definitions::failure)?,
                };
                if let Some(error) = found.failed.take() {
                    return Err(definitions::failure(error));
                }
                detail_since(start, || format!("{}, {abi}", maker.toolchain().name));
                all.entry(maker.toolchain().name.clone()).or_default().insert(*abi, found);
            }
        }
        bar.finish_and_clear();
        let mut makers = Vec::new();
        if let Some(with_known) = asks_about_known.filter(|_| stop.reason().is_none()) {
            makers = self.all_that_are_there(stop)?;
            for (toolchain, abis) in &mut all {
                for (abi, found) in abis.iter_mut().filter(|_| stop.reason().is_none()) {
                    match found.ask_others((toolchain, *abi), &makers, with_known) {
                        Err(Error::Interrupted) => break,
                        asked => asked.map_err(definitions::failure)?,
                    }
                }
            }
        }
        Ok(Searched { all, makers, planned: count, is_stopped: stop.reason().is_some() })
    }

    /// Opens all toolchains that are installed: the selected ones, and those of the corpus.
    fn all_that_are_there(&self, stop: &StopRequest) -> Result<Vec<Maker>, Failure> {
        let mut all = self.definitions()?;
        for toolchain in Toolchain::load_all(&self.corpus).map_err(definitions::failure)? {
            if toolchain.derive.is_none() && !all.iter().any(|other| other.name == toolchain.name) {
                all.push(toolchain);
            }
        }
        let mut makers = Vec::new();
        for toolchain in all {
            match Maker::open(toolchain, &self.roots, stop) {
                Ok(maker) => makers.push(maker),
                Err(Error::NoRoot { .. }) => {}
                Err(error) => return Err(definitions::failure(error)),
            }
        }
        Ok(makers)
    }

    fn wants(&self, abi: Abi) -> bool {
        self.abis.is_empty() || self.abis.contains(&abi)
    }

    fn definitions(&self) -> Result<Vec<Toolchain>, Failure> {
        demand("corpus", &self.corpus)?;
        let all = Toolchain::load_all(&self.corpus).map_err(definitions::failure)?;
        if self.toolchains.is_empty() {
            return Ok(all.into_iter().filter(|toolchain| toolchain.derive.is_none()).collect());
        }
        let named = |given| definitions::load(given, &self.corpus, &all).map(|(_, toolchain)| toolchain);
        self.toolchains.iter().map(|given| named(given)).collect()
    }
}
