//! `generate sections`: sections whose content is known by construction, for readers.

use clap::Args;
use sframe_corpus::spec::parse_abi;
use sframe_engine::{Abi, Version};
use sframe_inspect::command::{Failure, Status, Volume, print, print_json, volume};
use sframe_judge::examine::stop::StopRequest;
use sframe_judge::external::{ExternalError, StopsPerCase};
use sframe_kit::text::{Text, counted, grouped, neutral};
use sframe_search::generate::Search;
use sframe_search::generate::sections::{
    ALL_PARTS, CampaignOptions, Case, Cause, Counts, Demands, EngineReader, Example, Found, Reader,
    SectionPlan, Strictness, campaign, vector_file,
};

use super::stop::{conclusion, stop_request};
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
        let external = self.unwinder.start(StopsPerCase::DEFAULT, StopRequest::default())?;
        let all = ALL_PARTS.to_vec();
        let parts = external.as_ref().map_or(all, |external| external.hello().section.clone());
        let options = CampaignOptions {
            search: Search {
                seed: self.seed,
                numbers: self.first..self.first.saturating_add(self.sections),
                stop: stop_request()?,
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
                neutral(name)
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
        found.name = hello.map_or("sframe-engine", |hello| &hello.name).to_owned();
        found.version = hello.map_or(env!("CARGO_PKG_VERSION"), |hello| &hello.version).to_owned();
        let is_ours = external.is_none() && !found.causes.is_empty();
        let status = match () {
            () if found.contradicting > 0 || is_ours || found.gave_up.is_some() || found.interrupted => {
                Status::Broken
            }
            () if !found.causes.is_empty() => Status::Finding,
            () if found.sections > 0 => Status::AsExpected,
            () => Status::NothingCompared,
        };
        if self.json {
            print_json(&found)?;
        } else if volume() != Volume::Quiet || status != Status::AsExpected {
            print(&text(&found, status))?;
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

fn text(found: &Found, status: Status) -> Text {
    let mut text = Text::default();
    for (cause, (counts, first)) in &found.causes {
        cause_text(cause, counts, first, &mut text);
    }
    for (number, message) in &found.contradictions {
        text.line(format!("CONTRADICTION in section {number}: {}", neutral(message)));
    }
    if found.contradicting > found.contradictions.len() as u64 {
        text.line(format!("{} contradictions altogether", grouped(found.contradicting)));
    }
    for (reason, count) in &found.skipped {
        text.line(format!("{} sections skipped: {}", grouped(*count), neutral(reason)));
    }
    if !found.parts_not_answered.is_empty() {
        text.line(format!(
            "not asked, because it does not answer them: {}",
            found.parts_not_answered.join(", ")
        ));
    }
    for (rule, count) in &found.unnoticed {
        text.line(format!("not noticed, and not checked: {rule}, in {}", counted(*count, "section")));
    }
    let gave_up = found.gave_up.as_ref().map(|reason| format!("given up: {}", neutral(reason)));
    let causes = format!(
        "{} {}: {}",
        neutral(&found.name),
        neutral(&found.version),
        counted(found.causes.len() as u64, "cause")
    );
    let sections = format!(
        "{} of {} answered correctly; {} of them break a rule",
        grouped(found.agree),
        counted(found.sections, "section"),
        grouped(found.broken)
    );
    let answers = format!(
        "{} compared, {}",
        counted(found.compared, "answer"),
        counted(found.restarts.into(), "restart")
    );
    let facts = gave_up.into_iter().chain([causes, sections, answers]).collect();
    conclusion(status, found.interrupted, facts).show(&mut text);
    text
}

fn cause_text(cause: &Cause, counts: &Counts, first: &Example, text: &mut Text) {
    let sections: u64 = counts.values().map(|count| count.sections).sum();
    text.line(format!("{cause}: {} sections", grouped(sections)));
    let of =
        counts.iter().map(|((version, abi), count)| format!("v{version} {abi} {}", grouped(count.sections)));
    text.line(format!("    {}", of.collect::<Vec<_>>().join(", ")));
    text.line(format!("    section {}: {}", first.section, neutral(&first.message)));
    if !first.readings.is_empty() {
        text.line(format!("    readings: {}", first.readings.join(", ")));
    }
    for line in first.vector.iter().flat_map(|vector| vector.lines()) {
        text.line(format!("    |{line}"));
    }
}
