//! `generate sections`: sections whose content is known by construction, for readers.

use clap::Args;
use sframe_corpus::spec::parse_abi;
use sframe_engine::{Abi, Version};
use sframe_inspect::command::{Failure, Status, Volume, print, print_verdict, volume};
use sframe_judge::external::{ExternalError, StopsPerCase};
use sframe_kit::text::{Text, counted, grouped};
use sframe_search::generate::sections::{
    self as readers, ALL_PARTS, CampaignOptions, Case, Demands, EngineReader, Example, Reader, SectionPlan,
    Strictness, campaign, vector_file,
};
use sframe_search::generate::{Found, Search, end_of};

use super::report::{Shown, conclusion, show, verdict};
use crate::cli::interrupt::requests_here;
use crate::cli::numbers;
use crate::cli::options::{parse_jobs, set_jobs};
use crate::cli::run::progress_bar;
use crate::cli::unwinder::UnwinderCommand;

#[derive(Args)]
pub(super) struct Sections {
    #[command(flatten)]
    unwinder: UnwinderCommand,
    /// Only sections of this version of the format (repeatable).
    #[arg(long = "format", value_name = "VERSION", value_parser = parse_version)]
    versions: Vec<Version>,
    /// Only this ABI (repeatable).
    #[arg(long = "abi", value_name = "ABI", value_parser = parse_abi)]
    abis: Vec<Abi>,
    /// The same seed generates the same sections.
    #[arg(long, value_name = "S", default_value_t = 0, value_parser = numbers::seed)]
    seed: u64,
    /// The number of the first section of the seed.
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = numbers::seed)]
    first: u64,
    /// How many sections to generate, those of other versions and ABIs included.
    #[arg(long, value_name = "N", default_value_t = 10_000, value_parser = numbers::count::<u64>(numbers::FROM_ZERO, "sections"))]
    sections: u64,
    /// Also ask for what the specification leaves to the reader; the readings of the vectors are right
    /// then.
    #[arg(long)]
    readings: bool,
    /// Print the first section as a file of corpus/vectors, and ask nothing.
    #[arg(long)]
    print: bool,
    /// How many sections to work on at once; 0 for one per processor.
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = parse_jobs)]
    jobs: usize,
    /// Print the report as JSON instead of the summary.
    #[arg(long)]
    json: bool,
}

fn parse_version(text: &str) -> Result<Version, String> {
    let version = text.parse().ok().and_then(Version::from_number);
    version.ok_or_else(|| "the versions are 1, 2 and 3".to_owned())
}

impl Sections {
    pub(super) fn execute(&self) -> Result<Status, Failure> {
        if self.print {
            return self.print_first();
        }
        set_jobs(self.jobs)?;
        let stop = requests_here();
        let external = self.unwinder.start(StopsPerCase::DEFAULT, stop.clone())?;
        let all = ALL_PARTS.to_vec();
        let parts = external.as_ref().map_or(all, |external| external.hello().section.clone());
        let options = CampaignOptions {
            search: Search {
                seed: self.seed,
                numbers: self.first..self.first.saturating_add(self.sections),
                stop,
            },
            versions: self.versions.clone(),
            abis: self.abis.clone(),
            demands: Demands {
                open: self.readings,
                parts,
                strictness: if external.is_some() { Strictness::Answers } else { Strictness::Exact },
            },
        };
        if let Some(external) = external.as_ref().filter(|external| external.hello().section.is_empty()) {
            let name = &external.hello().name;
            sframe_inspect::command::tell_line(format_args!(
                "nothing was compared: {} answers no questions about sections",
                name
            ));
            return Ok(Status::NothingCompared);
        }
        let bar = progress_bar(self.sections, "sections");
        let done = || bar.inc(1);
        let found = match &external {
            None => campaign(&|| Ok(Box::new(EngineReader) as Box<dyn Reader>), &options, &done),
            Some(external) => {
                let start = || external.sections().map(|sections| Box::new(sections) as Box<dyn Reader + '_>);
                campaign(&start, &options, &done)
            }
        };
        bar.finish_and_clear();
        let failed = |error: ExternalError| Failure::broken(format!("error: --unwinder: {error}"));
        let mut found = found.map_err(failed)?;
        let hello = external.as_ref().map(|external| external.hello());
        found.counts.name = hello.map_or("sframe-engine", |hello| &hello.name).to_owned();
        found.counts.version = hello.map_or(env!("CARGO_PKG_VERSION"), |hello| &hello.version).to_owned();
        // A mistake of the engine is one of the bench.
        let is_ours = external.is_none() && found.causes().next().is_some();
        let status = end_of([&found], (false, is_ours), found.counts.sections > 0);
        if self.json {
            print_verdict(verdict(status, found.interrupted), &found)?;
        } else if volume() != Volume::Quiet || status != Status::AsExpected {
            print(&text(&found, status, self.sections))?;
        }
        Ok(status)
    }

    fn print_first(&self) -> Result<Status, Failure> {
        let plan = SectionPlan::random(self.seed, self.first, self.readings);
        let name = format!("generated-{}-{}", self.seed, self.first);
        let case = Case::new(plan, &format!("generated/{name}"), self.readings);
        let case = case.map_err(|error| Failure::broken(format!("error: {error}")))?;
        let mut text = Text::default();
        let file = vector_file(&case.vector, &name, "A section that was generated.");
        file.lines().for_each(|line| text.line(line));
        print(&text)?;
        Ok(Status::AsExpected)
    }
}

fn text(found: &Found<readers::Sections>, status: Status, planned: u64) -> Text {
    let (mut text, counts) = (Text::default(), &found.counts);
    show(found, &mut text);
    for (reason, count) in &counts.skipped {
        text.line(format!("{} sections skipped: {}", grouped(*count), reason));
    }
    if !counts.parts_not_answered.is_empty() {
        let parts = counts.parts_not_answered.join(", ");
        text.line(format!("not asked, because it does not answer them: {parts}"));
    }
    for (rule, count) in &counts.unnoticed {
        text.line(format!("not noticed, and not checked: {rule}, in {}", counted(*count, "section")));
    }
    let gave_up = counts.gave_up.as_ref().map(|reason| format!("given up: {reason}"));
    let causes =
        format!("{} {}: {}", counts.name, counts.version, counted(found.causes().count() as u64, "cause"));
    let sections = format!(
        "{} of {} answered correctly; {} of them break a rule",
        grouped(counts.agree),
        counted(counts.sections, "section"),
        grouped(counts.broken)
    );
    let answers = format!(
        "{} compared, {}",
        counted(counts.compared, "answer"),
        counted(counts.restarts.into(), "restart")
    );
    let facts = gave_up.into_iter().chain([causes, sections, answers]).collect();
    let stopped = found.interrupted.then_some((counts.sections, planned, "section"));
    conclusion(status, stopped, facts).show(&mut text);
    text
}

impl Shown for readers::Sections {
    const OF: &'static str = "section";

    fn show(example: &Example, text: &mut Text) {
        text.line(format!("      section {}: {}", example.section, example.message));
        if !example.readings.is_empty() {
            text.line(format!("      readings: {}", example.readings.join(", ")));
        }
        for line in example.vector.iter().flat_map(|vector| vector.lines()) {
            text.line(format!("      |{line}"));
        }
    }
}
