//! `generate assembly`: functions whose true unwind state is known by construction.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use clap::Args;
use sframe_inspect::command::{Failure, Status, print, print_verdict, tell};
use sframe_kit::text::{Text, counted};
use sframe_search::generate::Kind;
use sframe_search::generate::assembly::{
    self as functions, CampaignOptions, Counts, Example, Page, Plan, campaign, name_of, write,
};

use super::programs::{Programs, Searched};
use super::report::{Pages, Shown, conclusion, show_elsewhere, verdict};
use crate::cli::interrupt::requests_here;
use crate::cli::numbers;

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
        let stop = requests_here();
        let options = CampaignOptions {
            search: self.of.numbers(&stop),
            functions: self.functions,
            misdeclares: self.wrong,
            reduces_known: self.known,
        };
        let faults = self.of.faults()?;
        let searched = self.of.search(&stop, Some(self.known), |maker, abi, done| {
            campaign(maker, abi, &options, &faults, done)
        })?;
        if let Some(folder) = self.pages.as_ref().filter(|_| !searched.is_stopped) {
            tell(&self.write_pages(&searched, folder));
        }
        let causes = counted(searched.sum(|found| found.causes().count() as u64), "unknown cause");
        let programs = searched.sum(|found| found.counts.programs);
        let status = searched.status(false, programs > 0);
        if self.of.json {
            print_verdict(
                verdict(status, searched.is_stopped),
                &serde_json::json!({ "toolchains": searched.all }),
            )?;
        } else {
            let mut text = searched.text(made);
            let facts = vec![causes, counted(programs, "program")];
            conclusion(status, searched.stopped(programs), facts).show(&mut text);
            print(&text)?;
        }
        Ok(status)
    }

    /// Writes the pages of all causes, and of what is known, if that is wanted. Returns what was written.
    fn write_pages(&self, searched: &Searched<functions::Assembly>, folder: &Path) -> Text {
        let mut pages = Pages::default();
        for (maker, abi, found) in searched.each() {
            for (kind, group) in &found.groups {
                let (name, title) = match kind {
                    Kind::Cause(cause) => {
                        (name_of(maker, abi, cause), cause.to_string().chars().take(100).collect())
                    }
                    Kind::Known(page) if self.known => (page.clone(), format!("Known as {page}")),
                    _ => continue,
                };
                let Some(example) = &group.first else { continue };
                pages.add(name, (maker, abi), |name| {
                    let page = Page { name, title: &title, example, seed: self.of.seed };
                    page.write(maker, &self.of.roots, &searched.makers, folder).map(|()| None)
                });
            }
        }
        pages.notes
    }
}

fn made(counts: &Counts, more: &mut Text) -> String {
    if counts.noticed > 0 {
        more.line(format!("  {} wrong on purpose and found", counted(counts.noticed, "function")));
    }
    format!(
        "{}, {}, {} of them not in .sframe, {} compared",
        counted(counts.programs, "program"),
        counted(counts.functions, "function"),
        counts.left_out,
        counted(counts.compared, "instruction")
    )
}

impl Shown for functions::Assembly {
    const OF: &'static str = "function";

    fn show(example: &Example, text: &mut Text) {
        let mut place = format!("program {}, f{}", example.program, example.function);
        if !example.code.is_empty() {
            let _ = write!(place, ", before {}: {}; it is: {}", example.code, example.says, example.truth);
        }
        text.line(format!("      {place}"));
        show_elsewhere(&example.elsewhere, text);
        for line in shown(&example.source) {
            text.line(format!("      |{}", line.replace('\t', "    ")));
        }
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
