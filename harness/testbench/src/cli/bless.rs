//! `bless`: writes the call stacks of a run, or the rules of known failures,
//! into specs.
//!
//! Frames come from the call stack, never from the unwinder under test.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use clap::Args;
use rayon::prelude::*;
use sframe_corpus::spec::bless;
use sframe_inspect::command::{Failure, Status, print, write_file};
use sframe_judge::unwind::sframe_unwinder;
use sframe_kit::text::Text;
use sframe_machine::Options;
use sframe_suite::case::{Case, spec_name};
use sframe_suite::suite::Filter;

use super::options::{Folders, MachineOptions};

/// Rules, each with its number of places.
type Rules = BTreeMap<String, u64>;

#[derive(Args)]
pub(crate) struct Bless {
    #[command(flatten)]
    folders: Folders,
    #[command(flatten)]
    machine: MachineOptions,
    /// The specs to bless, by name.
    #[arg(required = true, value_name = "GLOB")]
    patterns: Vec<glob::Pattern>,
    /// Write the rules and places of known failures, and leave frames
    /// unchanged.
    #[arg(long)]
    known: bool,
    /// Show the difference without writing anything.
    #[arg(long)]
    dry_run: bool,
}

impl Bless {
    pub(crate) fn execute(&self) -> Result<Status, Failure> {
        if !self.dry_run {
            refuse_under_ci()?;
        }
        let options = self.machine.options();
        let filter = Filter::of_specs(self.patterns.clone());
        let suite = self.folders.open(&filter)?;
        let cases = suite.cases(&filter)?;
        let mut edits: Vec<(PathBuf, String, String)> = Vec::new();
        for (_, source) in suite.specs() {
            let cases: Vec<&Case<'_>> =
                cases.iter().filter(|case| case.source.path() == source.path()).collect();
            if cases.is_empty() {
                continue;
            }
            let text = if self.known {
                bless::set_rules(source, &rules(suite.corpus(), &options, &cases)?)?
            } else {
                bless::set_frames(source, &frames(suite.corpus(), &options, &cases)?)?
            };
            edits.push((source.path().to_owned(), source.text().to_owned(), text));
        }
        for (path, old, new) in edits.iter().filter(|(_, old, new)| old != new) {
            print(&bless::diff(path, old, new))?;
            if !self.dry_run {
                write_file(path, new)?;
            }
        }
        Ok(Status::AsExpected)
    }
}

/// Specs are a person's statements, so no machine changes them.
pub(super) fn refuse_under_ci() -> Result<(), Failure> {
    if std::env::var_os("CI").is_none() {
        return Ok(());
    }
    Err(Failure::unusable(
        "error: specs are not blessed under CI (the variable CI is set): a person has to look at them",
    ))
}

/// The rules of each known failure that a build shows, in all their
/// variants.
pub(super) fn rules(
    corpus: &Path,
    options: &Options,
    cases: &[&Case<'_>],
) -> Result<Vec<(usize, Vec<Rules>)>, Failure> {
    let shown: Result<Vec<_>, Failure> = cases
        .par_iter()
        .filter(|case| case.spec.known_for(&case.facts()).next().is_some())
        .map(|case| {
            case.known_rules(corpus, options, &sframe_unwinder)
                .map_err(|reason| Failure::broken(format!("error: {}: {}", case.id(), reason.text())))
        })
        .collect();
    let mut entries: BTreeMap<usize, BTreeSet<Rules>> = BTreeMap::new();
    for (entry, rules) in shown?.into_iter().flatten() {
        entries.entry(entry).or_default().insert(rules);
    }
    Ok(entries.into_iter().map(|(entry, rules)| (entry, rules.into_iter().collect())).collect())
}

/// The frames of each stop, which must be the same in every build.
pub(super) fn frames(
    corpus: &Path,
    options: &Options,
    cases: &[&Case<'_>],
) -> Result<Vec<(usize, Vec<String>)>, Failure> {
    let mut blessed: Vec<(usize, Vec<String>, String)> = Vec::new();
    for case in cases {
        let arrivals = case
            .arrivals(corpus, options, &sframe_unwinder)
            .map_err(|reason| Failure::broken(format!("error: {}: {}", case.id(), reason.text())))?;
        for (stop, frames) in arrivals {
            match blessed.iter().find(|(known, ..)| *known == stop) {
                None => blessed.push((stop, frames, case.id())),
                Some((_, known, first)) if *known != frames => {
                    let mut text = Text::of(format_args!(
                        "error: {}: stop {} has different call stacks, so one list of frames can't fit; \
                         split it with `where`",
                        spec_name(case.source),
                        stop + 1,
                    ));
                    text.line(format_args!("  {first}: [{}]", known.join(", ")));
                    text.line(format_args!("  {}: [{}]", case.id(), frames.join(", ")));
                    return Err(Failure::unusable_text(text));
                }
                Some(_) => {}
            }
        }
    }
    Ok(blessed.into_iter().map(|(stop, frames, _)| (stop, frames)).collect())
}
