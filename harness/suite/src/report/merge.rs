//! Reports of shards, put together.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use sframe_corpus::shard::Shard;

use super::{Report, RunIdentity, SCHEMA};
use crate::case::CaseReport;

/// Why reports are not the shards of one run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MergeError {
    /// There are no reports.
    #[error("there is no report to merge")]
    Nothing,
    /// One was written by another version of the bench.
    #[error("{name}: the report has format {schema}, and this bench reads {SCHEMA}")]
    Schema {
        /// Its name.
        name: String,
        /// Its format version.
        schema: u32,
    },
    /// One covers a whole run already.
    #[error("{name}: the report is of a whole run, not of a shard of one")]
    Whole {
        /// Its name.
        name: String,
    },
    /// One does not identify its run.
    #[error("{name}: the report does not say which run it is of: it was written by an older bench")]
    Anonymous {
        /// Its name.
        name: String,
    },
    /// Two are from different runs.
    #[error("{first} and {name} are of different runs: {}", differences.join("; "))]
    Run {
        /// The first one.
        first: String,
        /// The other one.
        name: String,
        /// What differs: `name: that of the first / its own`.
        differences: Vec<String>,
    },
    /// Two have different numbers of shards or cases.
    #[error(
        "{name}: the report is of a run of {cases} cases in {of} shards, the first one of {first_cases} in {first_of}"
    )]
    Other {
        /// Its name.
        name: String,
        /// Number of cases of its run.
        cases: u64,
        /// Number of shards of its run.
        of: u32,
        /// Number of cases of the first one's run.
        first_cases: u64,
        /// Number of shards of the first one's run.
        first_of: u32,
    },
    /// Two are the same shard.
    #[error("{name}: shard {shard} is given twice")]
    Twice {
        /// Its name.
        name: String,
        /// The shard.
        shard: Shard,
    },
    /// One is missing.
    #[error("of {of} shards, {} missing: {}", if .missing.len() == 1 { "one is" } else { "some are" },
            .missing.iter().map(u32::to_string).collect::<Vec<_>>().join(", "))]
    Missing {
        /// How many there should be.
        of: u32,
        /// The numbers of the missing ones.
        missing: Vec<u32>,
    },
    /// A case has numbers that no run can produce.
    #[error("{name}: the numbers of case {case} are impossible")]
    Impossible {
        /// Its name.
        name: String,
        /// The case's ID.
        case: String,
    },
    /// The cases of the shards are not those of one run.
    #[error("the shards have {got} different cases together, the run had {expected}")]
    Cases {
        /// How many there are.
        got: u64,
        /// How many there should be.
        expected: u64,
    },
}

/// Why a report is not about all cases of its run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Partial {
    /// It is that of a shard.
    #[error("the report is only of shard {0} of a run: `merge` joins all of them")]
    Shard(Shard),
    /// Cases are missing, or there are others.
    #[error("the report has {got} cases, and its run had {expected}")]
    Cases {
        /// How many there are.
        got: u64,
        /// How many there should be.
        expected: u64,
    },
}

impl Report {
    /// Checks that it is about all cases of its run.
    ///
    /// # Errors
    /// It is not.
    pub fn is_whole(&self) -> Result<(), Partial> {
        let (got, expected) = (self.cases.len() as u64, self.selected);
        match self.shard.filter(|shard| shard.of() > 1) {
            Some(shard) => Err(Partial::Shard(shard)),
            None if got != expected => Err(Partial::Cases { got, expected }),
            None => Ok(()),
        }
    }
}

/// Joins the reports of all shards of a run, each with a name for errors. The
/// result is the report of the run without shards.
///
/// # Errors
/// They are not all shards of one run.
pub fn merge(reports: Vec<(String, Report)>) -> Result<Report, MergeError> {
    let mut numbers: Option<(u32, u64)> = None;
    let mut first_run: Option<(String, RunIdentity)> = None;
    let mut seen = BTreeSet::new();
    let (mut cases, mut faults) = (Vec::new(), BTreeMap::new());
    for (name, report) in reports {
        let Report { schema, run, shard, selected, cases: of_shard, faults: of_its, .. } = report;
        if schema != SCHEMA {
            return Err(MergeError::Schema { name, schema });
        }
        let Some(shard) = shard else { return Err(MergeError::Whole { name }) };
        let Some(run) = run else { return Err(MergeError::Anonymous { name }) };
        let (first, first_run) = first_run.get_or_insert_with(|| (name.clone(), run.clone()));
        let differences = first_run.differences(&run);
        if !differences.is_empty() {
            return Err(MergeError::Run { first: first.clone(), name, differences });
        }
        if run.date < first_run.date {
            first_run.date = run.date;
        }
        let (first_of, first_cases) = *numbers.get_or_insert((shard.of(), selected));
        if (first_of, first_cases) != (shard.of(), selected) {
            let (of, cases) = (shard.of(), selected);
            return Err(MergeError::Other { name, cases, of, first_cases, first_of });
        }
        if !seen.insert(shard.number()) {
            return Err(MergeError::Twice { name, shard });
        }
        if let Some(case) = of_shard.iter().find(|case| !is_possible(case)) {
            return Err(MergeError::Impossible { name, case: case.id.clone() });
        }
        cases.extend(of_shard);
        faults.extend(of_its);
    }
    let (of, expected) = numbers.ok_or(MergeError::Nothing)?;
    // A file may claim that there are millions.
    let missing: Vec<u32> = (1..=of).filter(|number| !seen.contains(number)).take(20).collect();
    if !missing.is_empty() {
        return Err(MergeError::Missing { of, missing });
    }
    let got = cases.iter().map(|case| &case.id).collect::<BTreeSet<_>>().len() as u64;
    if got != expected || got != cases.len() as u64 {
        return Err(MergeError::Cases { got, expected });
    }
    let report = Report { faults, ..Report::new(cases) };
    Ok(match first_run {
        Some((_, run)) => report.of_run(run),
        None => report,
    })
}

/// No run counts higher, and sums of such counts do not overflow.
const MAX_COUNT: u64 = 1 << 44;

/// Whether the counts of a case can be added to others; they come from a file.
fn is_possible(case: &CaseReport) -> bool {
    fn counts(value: &Value) -> bool {
        match value {
            Value::Number(number) => number.as_u64().is_none_or(|number| number <= MAX_COUNT),
            Value::Array(values) => values.iter().all(counts),
            Value::Object(values) => values.values().all(counts),
            _ => true,
        }
    }
    case.unreached.len() as u64 <= case.rows.total
        && serde_json::to_value(case).is_ok_and(|case| counts(&case))
}
