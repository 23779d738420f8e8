//! `faults`: the pages of known bugs, and which toolchains have them.

use std::path::PathBuf;

use clap::Args;
use rayon::prelude::*;
use sframe_corpus::corpus::Toolchain;
use sframe_corpus::faults::{Reproduced, Reproduction, reproduce};
use sframe_corpus::spec::Fault;
use sframe_inspect::command::{Failure, Status, print, print_json, tell_line};
use sframe_kit::text::{Text, with_causes};
use sframe_links::LinkPage;
use sframe_suite::faults::{
    FaultReport, FaultsReport, link_markdown, link_page, list, markdown, page, reproductions,
};
use sframe_suite::suite::{Filter, Suite};

use super::definitions::{failure, load};
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
    /// Print pages as Markdown, for a report to the developers of the component.
    #[arg(long, conflicts_with_all = ["json", "toolchain"])]
    markdown: bool,
    /// Print everything as JSON.
    #[arg(long)]
    json: bool,
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
            faults.get(name).is_some_and(|fault| fault.component.name() == wanted)
                || component == Some(wanted)
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
        let is_list = !self.name.iter().any(|name| is_known(name)) && !self.json && !self.markdown;
        if !is_list && self.toolchain.is_empty() {
            report.faults = report.faults.into_iter().map(with_dump).collect::<Result<_, _>>()?;
        }
        if self.json {
            print_json(&report)?;
        } else if self.markdown {
            let pages = report.faults.iter().map(markdown).chain(report.links.iter().map(link_markdown));
            print(&Text::made_neutral(pages.collect::<Vec<_>>().join("\n")))?;
        } else if !self.toolchain.is_empty() {
            print(&reproductions(&report.reproductions))?;
            if report.reproductions.is_empty() {
                let names: Vec<_> = self.toolchain.iter().map(|given| given.display().to_string()).collect();
                tell_line(format_args!(
                    "nothing was made: by its `properties`, which say the versions of its tools, {} has none of the components \
                     of these faults",
                    names.join(", ")
                ));
            }
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
        Ok(self.status(&report.reproductions))
    }

    /// Makes the examples with all toolchains that were asked for.
    fn reproduce(&self, suite: &Suite, report: &FaultsReport<'_>) -> Result<Vec<Reproduction>, Failure> {
        if self.toolchain.is_empty() {
            return Ok(Vec::new());
        }
        let all = Toolchain::load_all(suite.corpus()).map_err(failure)?;
        let asked = self.toolchain.iter().map(|given| load(given, suite.corpus(), &all));
        let asked = asked.collect::<Result<Vec<_>, _>>()?;
        let pairs: Vec<(&FaultReport<'_>, &Toolchain)> =
            asked.iter().flat_map(|(_, it)| report.faults.iter().map(move |fault| (fault, it))).collect();
        let tried = pairs.par_iter().map(|(FaultReport { name, fault, .. }, it)| {
            let written_for = written_for(name, fault, &all)?;
            reproduce(name, fault, written_for, it, &self.toolchains).map_err(failure)
        });
        let tried = tried.collect::<Result<Vec<_>, _>>()?;
        Ok(tried.into_iter().flatten().collect())
    }

    fn status(&self, tried: &[Reproduction]) -> Status {
        let is_failed = |tried: &Reproduction| matches!(tried.result, Reproduced::Failed { .. });
        if tried.iter().any(|tried| !tried.is_as_expected() && !is_failed(tried)) {
            Status::Finding
        } else if tried.iter().any(is_failed) {
            Status::Broken
        } else if tried.is_empty() && !self.toolchain.is_empty() {
            Status::NothingCompared
        } else {
            Status::AsExpected
        }
    }
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
