//! What the exported moments cover, of what the runs have shown.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use sframe_judge::moments::{Covered, Stacks};
use sframe_kit::text::{Text, counted, grouped};

use super::clauses::clauses;

/// The coverage of exported moments.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Coverage {
    /// Programs that were run.
    pub programs_run: u64,
    /// Programs with chosen moments.
    pub programs: u64,
    /// Chosen moments, by ABI.
    pub moments: BTreeMap<String, u64>,
    /// The frames of all of them.
    pub frames: u64,
    /// The most frames of one.
    pub max_depth: u64,
    /// The ends of their walks.
    pub ends: BTreeMap<String, u64>,
    /// Kinds of rows, marks, ends and depths that the runs have shown, or that such sections should show.
    pub kinds_shown: u64,
    /// Those that the chosen moments show.
    pub kinds: u64,
    /// Those that they do not show.
    pub missing: Vec<String>,
    /// Rows of the sections.
    pub rows_total: u64,
    /// Rows that walks use.
    pub rows: u64,
    /// The clauses that walks follow.
    pub clauses: BTreeSet<String>,
    /// The length of the document, in bytes.
    pub bytes: u64,
    /// Its length when it is compressed.
    pub compressed: u64,
}

impl Coverage {
    pub(super) fn new(
        stacks: &Stacks,
        runs: u64,
        shown: &BTreeSet<String>,
        known: &BTreeSet<String>,
        document: &str,
    ) -> Self {
        let (mut covered, mut wanted) = (BTreeSet::new(), shown.clone());
        let (mut moments, mut ends) = (BTreeMap::new(), BTreeMap::new());
        let (mut frames, mut max_depth, mut rows_total, mut rows) = (0, 0, 0, 0);
        for program in &stacks.programs {
            // It was opened when it was made.
            let Ok(sections) = program.sections() else { continue };
            let places = Covered::new(sections.clone());
            wanted.extend(places.wanted());
            let mut used = BTreeSet::new();
            for moment in &program.moments {
                *moments.entry(program.abi.to_string()).or_default() += 1;
                *ends.entry(moment.end.name().to_owned()).or_default() += 1;
                frames += moment.frames.len() as u64;
                max_depth = max_depth.max(moment.frames.len() as u64);
                covered.extend(moment.covers.iter().cloned());
                let call_stack = moment.call_stack();
                let truth = moment.truth(&call_stack);
                used.extend((0..call_stack.depth()).filter_map(|frame| places.place(truth.address(frame))));
            }
            rows += used.len() as u64;
            rows_total += sections
                .iter()
                .flat_map(|section| section.fdes().flatten().map(|fde| u64::from(fde.num_rows).max(1)))
                .sum::<u64>();
        }
        Self {
            programs_run: runs,
            programs: stacks.programs.len() as u64,
            moments,
            frames,
            max_depth,
            ends,
            kinds_shown: wanted.len() as u64,
            kinds: wanted.intersection(&covered).count() as u64,
            missing: wanted.difference(&covered).cloned().collect(),
            rows_total,
            rows,
            clauses: clauses(covered.iter().map(String::as_str), known),
            bytes: document.len() as u64,
            compressed: miniz_oxide::deflate::compress_to_vec(document.as_bytes(), 9).len() as u64,
        }
    }

    /// For people.
    #[must_use]
    pub fn text(&self) -> Text {
        let mut text = Text::default();
        let list = |counts: &BTreeMap<String, u64>| {
            let one = |(name, count): (&String, &u64)| format!("{name} {}", grouped(*count));
            counts.iter().map(one).collect::<Vec<_>>().join(", ")
        };
        text.line(format_args!(
            "{} of {} of {}: {}",
            counted(self.moments.values().sum(), "moment"),
            counted(self.programs, "program"),
            grouped(self.programs_run),
            list(&self.moments)
        ));
        text.line(format_args!(
            "    {}, at most {} deep; they end: {}",
            counted(self.frames, "frame"),
            self.max_depth,
            list(&self.ends)
        ));
        text.line(format_args!(
            "    {} of {} kinds of rows, marks, ends and depths; {} of {}",
            grouped(self.kinds),
            grouped(self.kinds_shown),
            grouped(self.rows),
            counted(self.rows_total, "row")
        ));
        text.line(format_args!("    {} that walks follow", counted(self.clauses.len() as u64, "clause")));
        for missing in &self.missing {
            text.line(format_args!("    not shown: {missing}"));
        }
        text.line(format_args!("    {} bytes, {} compressed", grouped(self.bytes), grouped(self.compressed)));
        text
    }
}
