//! What a search has found, for people, and how it ends.

use std::collections::BTreeMap;
use std::fmt::Display;

use sframe_corpus::corpus::Maker;
use sframe_engine::Abi;
use sframe_inspect::command::Status;
use sframe_kit::conclusion::{Conclusion, Ending};
use sframe_kit::text::{Text, counted, grouped};
use sframe_search::generate::{Found, Kind, Terms, Tried};

/// What is shown of what is found.
pub(super) trait Shown: Terms<Cause: Display> {
    /// What has a cause.
    const OF: &'static str;

    /// Shows an example.
    fn show(example: &Self::Example, text: &mut Text);
}

/// Shows all groups, each with its example.
pub(super) fn show<S: Shown>(found: &Found<S>, text: &mut Text) {
    for (kind, group) in &found.groups {
        let count = |of| counted(group.count, of);
        text.line(match kind {
            Kind::Known(page) => format!("  known, {page}: {}", count("case")),
            Kind::Cause(cause) => format!("  {cause}: {}", count(S::OF)),
            Kind::Differs(program) => format!("  program {program} depends on its level:"),
            Kind::Crashed(said) => {
                format!("  {} not made, a tool crashes: {said}", count("program"))
            }
            Kind::Refused(said) => format!("  {} not made, refused: {said}", count("program")),
            Kind::Unjudged(why) => format!("  NOT JUDGED: {}: {why}", count("program")),
            Kind::Contradiction(kind) => format!("  CONTRADICTION at {}: {kind}", count("place")),
        });
        if !group.of.is_empty() {
            let of = group.of.iter().map(|(of, count)| format!("{of} {}", grouped(*count)));
            text.line(format!("      {}", of.collect::<Vec<_>>().join(", ")));
        }
        if let (Some(example), false) = (&group.first, matches!(kind, Kind::Known(_))) {
            S::show(example, text);
        }
    }
}

/// Shows what other toolchains make of an example.
pub(super) fn show_elsewhere(elsewhere: &BTreeMap<String, Tried>, text: &mut Text) {
    for (toolchain, tried) in elsewhere {
        text.line(format!("      with {toolchain}: {tried}"));
    }
}

/// The pages of what is found.
#[derive(Default)]
pub(super) struct Pages {
    /// Those that are there, with the toolchain and the ABI that they were written for.
    written: BTreeMap<String, String>,
    /// What was written, and what could not be.
    pub(super) notes: Text,
}

impl Pages {
    /// Writes one, and says why it is a program and a spec alone. What can't be written is reported, and not
    /// an error.
    pub(super) fn add(
        &mut self,
        name: String,
        (maker, abi): (&Maker, Abi),
        write: impl FnOnce(&str) -> Result<Option<String>, String>,
    ) {
        // One page is about all toolchains and ABIs.
        if let Some(first) = self.written.get(&name) {
            return self.notes.line(format!("{name}: written for {first}"));
        }
        self.notes.line(match write(&name) {
            Ok(None) => format!("{name}: written"),
            Ok(Some(why)) => {
                format!("{name}: a program and a spec, but no page: {why}")
            }
            Err(why) => return self.notes.line(format!("{name}: no page: {why}")),
        });
        self.written.insert(name, format!("{}, {abi}", maker.toolchain().name));
    }
}

/// How a search ends; if it was stopped, how many of all programs or sections were tried.
pub(super) fn conclusion(
    status: Status,
    stopped: Option<(u64, u64, &str)>,
    mut facts: Vec<String>,
) -> Conclusion {
    if let Some((tried, of, what)) = stopped {
        let tried = format!("{} of {} tried", grouped(tried), counted(of, what));
        facts.insert(0, format!("{tried}, and nothing is reduced"));
    }
    Conclusion { ending: verdict(status, stopped.is_some()), facts }
}

/// The verdict on a search.
pub(super) fn verdict(status: Status, is_stopped: bool) -> Ending {
    if is_stopped { Ending::Interrupted } else { status.into() }
}
