//! `faults`: the pages of known bugs, and which toolchains have them.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use rayon::prelude::*;
use sframe_corpus::corpus::Toolchain;
use sframe_corpus::faults::{Reproduction, reproduce};
use sframe_corpus::spec::{Fault, Producer, ToolVersion};
use sframe_inspect::command::{Failure, Status, print, print_json, print_verdict, tell_line};
use sframe_kit::text::{Text, with_causes};
use sframe_links::LinkPage;
use sframe_suite::faults::{
    FaultReport, FaultsReport, Form, link_page, link_upstream, list, page, reproductions, tried, upstream,
};
use sframe_suite::suite::{Filter, Suite};

use super::definitions::{failure, load};
use super::interrupt::requests_here;
use super::options::{Folders, pages};

#[derive(Args)]
pub(crate) struct Faults {
    /// Show the pages of these faults; those of a component such as gas, or with names such as 'ld-plt-*', are listed.
    /// Without a name, all are.
    name: Vec<String>,
    #[command(flatten)]
    folders: Folders,
    /// Make the example of each fault with this toolchain, and say whether it has the fault: the file of a
    /// definition (see corpus/README.md for the format), or the name of a toolchain of the corpus (repeatable).
    #[arg(long, value_name = "FILE|NAME")]
    toolchain: Vec<PathBuf>,
    /// Folder with one root folder for each toolchain of the corpus, as made by
    /// ci/toolchains.
    #[arg(long, value_name = "DIR", default_value = "target/toolchains")]
    toolchains: PathBuf,
    /// Write them up as bug reports to the developers of their components, in the form of a tracker.
    #[arg(long, value_name = "FORM", value_enum, conflicts_with_all = ["json", "toolchain"])]
    report: Option<Tracker>,
    /// List those whose pages are about an older version than a toolchain of the corpus has, and are said to be in that as
    /// well: --toolchain tries them again.
    #[arg(long, conflicts_with_all = ["json", "toolchain", "report"])]
    stale: bool,
    /// Print everything as JSON.
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Tracker {
    /// Plain text, with a summary: GNU's.
    Bugzilla,
    /// Markdown: LLVM's, mold's and others'.
    Github,
    /// A letter to a list.
    Mail,
}

impl Tracker {
    const fn form(self) -> Form {
        match self {
            Self::Bugzilla => Form::Bugzilla,
            Self::Github => Form::Github,
            Self::Mail => Form::Mail,
        }
    }
}

impl Faults {
    pub(crate) fn execute(&self) -> Result<Status, Failure> {
        // An installed program has the pages in it, and no corpus whose cases could show them.
        let suite = (self.folders.are_there() || !self.toolchain.is_empty())
            .then(|| self.folders.open(&Filter::default()))
            .transpose()?;
        let built_in = suite.is_none().then(|| pages(None)).transpose()?.unwrap_or_default();
        let faults = suite.as_ref().map_or(&built_in, Suite::faults);
        let links = match &suite {
            Some(suite) => LinkPage::load(&suite.corpus().join("links"))?,
            None => LinkPage::built_in()?,
        };
        let is_known = |name: &str| faults.get(name).is_some() || links.contains_key(name);
        let is_of = |name: &str, wanted: &str| {
            let component = links.get(name).and_then(|page| page.component.split(' ').next());
            faults.get(name).is_some_and(|fault| fault.component.name().eq_ignore_ascii_case(wanted))
                || component.is_some_and(|component| component.eq_ignore_ascii_case(wanted))
                || wanted.contains('*')
                    && glob::Pattern::new(wanted).is_ok_and(|pattern| pattern.matches(name))
        };
        let all = || faults.iter().map(|(name, ..)| name).chain(links.keys().map(String::as_str));
        let means_none = |wanted: &&String| !is_known(wanted) && !all().any(|name| is_of(name, wanted));
        if let Some(name) = self.name.iter().find(means_none) {
            return Err(Failure::unusable(format!("error: {}", faults.unknown(name))));
        }
        let is_wanted = |name: &str| {
            let is_it = |wanted: &String| wanted == name || is_of(name, wanted);
            self.name.is_empty() || self.name.iter().any(is_it)
        };
        let mut report = FaultsReport::new(faults, suite.as_ref(), &links, is_wanted)?;
        if let Some(suite) = &suite {
            report.reproductions = self.reproduce(suite, &report)?;
        }
        if self.stale {
            let Some(suite) = &suite else {
                return Err(Failure::unusable("error: --stale needs the corpus (--corpus)".to_owned()));
            };
            return show_stale(&report, &Toolchain::load_all(suite.corpus()).map_err(failure)?);
        }
        let is_list = !self.name.iter().any(|name| is_known(name)) && !self.json && self.report.is_none();
        if !is_list && self.toolchain.is_empty() {
            report.faults = report.faults.into_iter().map(with_dump).collect::<Result<_, _>>()?;
        }
        let names: Vec<_> = self.toolchain.iter().map(|given| given.display().to_string()).collect();
        let conclusion = tried(&report.reproductions, &names);
        let is_tried = !self.toolchain.is_empty();
        let status = if is_tried { conclusion.ending.into() } else { Status::AsExpected };
        if self.json && !is_tried {
            print_json(&report)?;
        } else if self.json {
            print_verdict(conclusion.ending, &report)?;
        } else if let Some(tracker) = self.report {
            let made = suite.as_ref().map(|suite| Toolchain::load_all(suite.corpus()).map_err(failure));
            let made = made.transpose()?.unwrap_or_default();
            let of = |fault: &FaultReport<'_>| {
                let by = made.iter().find(|toolchain| toolchain.name == fault.fault.example.toolchain);
                upstream(fault, by.map(|toolchain| &*toolchain.summary), tracker.form())
            };
            let of_links = report.links.iter().map(|page| link_upstream(page, tracker.form()));
            let reports: Vec<String> = report.faults.iter().map(of).chain(of_links).collect();
            print(&Text::made_neutral(reports.join("\n")))?;
            if !report.links.is_empty() {
                tell_line(format_args!(
                    "attach what `sframe-testbench links --keep DIR` keeps of the cases that show it"
                ));
            }
        } else if !self.toolchain.is_empty() {
            let mut text = reproductions(&report.reproductions);
            conclusion.show(&mut text);
            print(&text)?;
        } else if is_list {
            print(&list(&report))?;
        } else {
            for (index, shown) in
                report.faults.iter().map(page).chain(report.links.iter().map(link_page)).enumerate()
            {
                let mut text = Text::default();
                if index > 0 {
                    text.blank();
                }
                text.append(&shown);
                print(&text)?;
            }
        }
        Ok(status)
    }

    /// Makes the examples with all toolchains that were asked for.
    fn reproduce(&self, suite: &Suite, report: &FaultsReport<'_>) -> Result<Vec<Reproduction>, Failure> {
        if self.toolchain.is_empty() {
            return Ok(Vec::new());
        }
        let stop = requests_here();
        let all = Toolchain::load_all(suite.corpus()).map_err(failure)?;
        let asked = self.toolchain.iter().map(|given| load(given, suite.corpus(), &all));
        let asked = asked.collect::<Result<Vec<_>, _>>()?;
        let pairs: Vec<(&FaultReport<'_>, &Toolchain)> =
            asked.iter().flat_map(|(_, it)| report.faults.iter().map(move |fault| (fault, it))).collect();
        let tried = pairs.par_iter().map(|(FaultReport { name, fault, .. }, it)| {
            let written_for = written_for(name, fault, &all)?;
            reproduce(name, fault, written_for, (it, &self.toolchains), &stop).map_err(failure)
        });
        let tried = tried.collect::<Result<Vec<_>, _>>()?;
        Ok(tried.into_iter().flatten().collect())
    }
}

/// Lists the faults that a newer version has not been tried for.
fn show_stale(report: &FaultsReport<'_>, toolchains: &[Toolchain]) -> Result<Status, Failure> {
    let (mut text, mut is_none) = (Text::default(), true);
    for FaultReport { name, fault, .. } in &report.faults {
        let producer = |of: &Toolchain| of.properties.or_those_of(&Producer::default());
        let tool = |of: &Toolchain| {
            let tool = fault.component.tool_of(&producer(of))?;
            let version: ToolVersion = tool.split_once(' ')?.1.parse().ok()?;
            Some((version, tool))
        };
        let own = written_for(name, fault, toolchains)?;
        let is_newer = |other: &&Toolchain| {
            let is_said =
                fault.component.contains(&producer(other)) && other.abis.contains_key(&fault.example.abi);
            is_said && tool(other).zip(tool(own)).is_some_and(|(other, own)| other.0 > own.0)
        };
        if let Some(newer) = toolchains.iter().find(is_newer)
            && let (Some((_, tried)), Some((_, newest))) = (tool(own), tool(newer))
        {
            is_none = false;
            text.line(format_args!("{name}: the page is about {tried}; {} has {newest}", newer.name));
        }
    }
    if is_none {
        text.line("no page is about an older version than the toolchains of the corpus have");
    }
    print(&text)?;
    Ok(if is_none { Status::AsExpected } else { Status::Finding })
}

/// The toolchain that the commands of a page are for.
fn written_for<'t>(name: &str, fault: &Fault, all: &'t [Toolchain]) -> Result<&'t Toolchain, Failure> {
    let wanted = &fault.example.toolchain;
    let found = all.iter().find(|toolchain| toolchain.name == *wanted);
    found.ok_or_else(|| {
        let message =
            format!("error: the page of {name} names `{wanted}`, which is no toolchain of the corpus");
        Failure::unusable(message)
    })
}

fn with_dump(fault: FaultReport<'_>) -> Result<FaultReport<'_>, Failure> {
    let name = fault.name;
    let unusable =
        |error| Failure::unusable(format!("error: the example of {name}: {}", with_causes(&error)));
    fault.with_dump().map_err(unusable)
}
