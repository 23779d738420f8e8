//! Two reports of samples beside one another: before and after a change of a toolchain, or of a program.

use serde::Serialize;
use sframe_judge::examine::coverage::Explored;
use sframe_kit::conclusion::{Conclusion, Ending};
use sframe_kit::percent::share;
use sframe_kit::table::Table;
use sframe_kit::text::{Text, counted, first_of, grouped};

use crate::report::{Difference, SCHEMA, SamplesReport};
use crate::walks::Stop;

/// How many rows are named in a line.
const SHOWN: usize = 3;
/// Of how many standard deviations a share has to have fallen, squared: less is chance.
const DEVIATIONS: u128 = 9;

/// How two reports differ, of the first and of the second one.
#[derive(Clone, Debug, Serialize)]
pub struct SamplesChanges {
    /// The version of this document: [`SCHEMA`].
    pub schema: u32,
    /// The recordings.
    pub recordings: [Vec<String>; 2],
    /// Samples with registers and stack.
    pub samples: [u64; 2],
    /// Complete walks, by method.
    pub complete: Vec<(String, [u64; 2])>,
    /// Where walks by SFrame stop.
    pub stopped: Vec<(Stop, [u64; 2])>,
    /// Samples in whose topmost frame the row has FP below SP.
    pub popped_slots: [u64; 2],
    /// Rows that are proved to be wrong in the second one only.
    pub newly_wrong: Vec<String>,
    /// Rows that are proved to be wrong in the first one only.
    pub no_longer_wrong: Vec<String>,
    /// Whether SFrame leads to the outermost frame less often, by more than chance explains.
    pub less_complete: bool,
    /// Whether both are enough for a verdict.
    pub is_enough: bool,
}

impl SamplesChanges {
    /// Compares two reports.
    #[must_use]
    pub fn between(before: &SamplesReport, after: &SamplesReport) -> Self {
        let sides = [before, after];
        let samples = sides.map(|side| side.samples);
        let complete: Vec<(String, [u64; 2])> = before
            .methods
            .iter()
            .map(|method| {
                let of = |side: &SamplesReport| {
                    side.methods.iter().find(|it| it.name == method.name).map(|it| it.complete)
                };
                (method.name.clone(), sides.map(|side| of(side).unwrap_or_default()))
            })
            .collect();
        let stops = sides.map(|side| side.methods.first().map(|method| &method.stopped));
        let mut kinds: Vec<Stop> = stops.iter().flatten().flat_map(|stops| stops.keys().copied()).collect();
        kinds.sort_unstable();
        kinds.dedup();
        let count = |stop: &Stop| {
            stops.map(|stops| stops.and_then(|stops| stops.get(stop)).map_or(0, |places| places.total()))
        };
        let wrong = sides.map(|side| {
            let wrong = side.differences.iter().filter(|it| it.explored == Explored::Wrong);
            wrong.collect::<Vec<_>>()
        });
        // Another compiler moves rows: what they say, and of which function, stays.
        let is_same = |one: &Difference, other: &Difference| {
            (&one.function, &one.rules) == (&other.function, &other.rules)
        };
        let only = |one: usize, other: usize| {
            let is_new = |it: &&&Difference| !wrong[other].iter().any(|other| is_same(it, other));
            wrong[one].iter().filter(is_new).map(|it| format!("{}{}", it.place, it.row())).collect()
        };
        Self {
            schema: SCHEMA,
            recordings: sides.map(|side| side.recordings.clone()),
            samples,
            less_complete: complete.first().is_some_and(|(_, complete)| has_fallen(*complete, samples)),
            stopped: kinds.into_iter().map(|stop| (stop, count(&stop))).collect(),
            complete,
            popped_slots: sides.map(|side| side.popped_slots.total()),
            newly_wrong: only(1, 0),
            no_longer_wrong: only(0, 1),
            is_enough: sides.iter().all(|side| side.is_enough() && !side.interrupted),
        }
    }

    /// How it ends, and what made it so.
    #[must_use]
    pub fn conclusion(&self) -> Conclusion {
        let ending = match () {
            () if self.less_complete || !self.newly_wrong.is_empty() => Ending::Fail,
            () if !self.is_enough => Ending::Inconclusive,
            () => Ending::Pass,
        };
        let rows = |rows: &[String], what| {
            let named = first_of(rows, SHOWN);
            (!rows.is_empty()).then(|| format!("{} {what}: {named}", counted(rows.len() as u64, "row")))
        };
        let facts = [
            rows(&self.newly_wrong, "proved to be wrong, which the first report does not have"),
            self.less_complete.then(|| {
                "SFrame leads to the outermost frame less often than before, by more than chance".to_owned()
            }),
            (!self.is_enough).then(|| "one of the reports has too few comparable samples".to_owned()),
            Some(format!("samples: {}", self.samples.map(grouped).join(", then "))),
            Some(format!(
                "complete by SFrame: {}",
                self.shares(self.complete.first().map_or([0; 2], |(_, of)| *of)).join(", then ")
            )),
            rows(&self.no_longer_wrong, "no longer wrong, or not sampled"),
        ];
        Conclusion { ending, facts: facts.into_iter().flatten().collect() }
    }

    /// For people: where walks by SFrame stop, before and after, and the conclusion.
    #[must_use]
    pub fn text(&self) -> Text {
        let mut text = Text::default();
        for row in self.tables().into_iter().flat_map(|table| table.rows) {
            text.line(format!("{}: {}", row[0], row[1..].join(", then ")));
        }
        self.conclusion().show(&mut text);
        text
    }

    fn shares(&self, counts: [u64; 2]) -> [String; 2] {
        [0, 1].map(|side| share(counts[side], self.samples[side]))
    }

    /// For pages: what was complete, and where the others stop.
    #[must_use]
    pub fn tables(&self) -> Vec<Table> {
        let row = |name: &str, counts: [u64; 2]| [vec![name.to_owned()], self.shares(counts).into()].concat();
        let popped =
            Some(("FP below SP in the topmost row", self.popped_slots)).filter(|(_, of)| *of != [0; 2]);
        let stopped = self.stopped.iter().map(|(stop, of)| (stop.words(), *of)).chain(popped);
        let complete = self.complete.iter().map(|(name, of)| row(name, *of)).collect();
        let tables = [
            ("Complete walks", &["method", "before", "after"], complete),
            (
                "Where walks by SFrame stop",
                &["reason", "before", "after"],
                stopped.map(|(words, of)| row(words, of)).collect::<Vec<_>>(),
            ),
        ];
        tables.into_iter().map(|(title, columns, rows)| Table { title, columns, rows }).collect()
    }
}

/// Whether a share has fallen by more than chance: the difference of two shares, in standard deviations of it where both
/// are samples of one.
fn has_fallen([before, after]: [u64; 2], [of_before, of_after]: [u64; 2]) -> bool {
    let [before, after, of_before, of_after] = [before, after, of_before, of_after].map(u128::from);
    let Some(fall) = before.saturating_mul(of_after).checked_sub(after.saturating_mul(of_before)) else {
        return false;
    };
    let (with, all) = (before + after, of_before + of_after);
    let chance = [with, all.saturating_sub(with), of_before, of_after]
        .into_iter()
        .fold(DEVIATIONS, u128::saturating_mul);
    fall.saturating_mul(fall).saturating_mul(all) > chance
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_has_fallen_if_chance_does_not_explain_it() {
        for (complete, samples, expected) in [
            ([100, 98], [100, 100], false),
            ([100, 90], [100, 100], true),
            ([1_000, 995], [1_000, 1_000], false),
            ([1_000, 985], [1_000, 1_000], true),
            ([90, 100], [100, 100], false),
            ([5, 0], [5, 5], true),
            ([0, 0], [0, 0], false),
            ([u64::MAX, 0], [u64::MAX, u64::MAX], false),
        ] {
            assert_eq!(has_fallen(complete, samples), expected, "{complete:?} of {samples:?}");
        }
    }
}
