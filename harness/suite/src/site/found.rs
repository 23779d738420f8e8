//! What a run of the corpus has found, by toolchain.

use std::collections::{BTreeMap, BTreeSet};

use sframe_engine::Abi;

use crate::case::Outcome;
use crate::report::Report;

/// What a run has found.
#[derive(Clone, Debug, Default)]
pub struct Found {
    /// By toolchain; what was derived from others is one.
    pub toolchains: BTreeMap<String, OfToolchain>,
    /// How far each fault reaches, by name.
    pub faults: BTreeMap<String, Seen>,
}

/// What was found with one toolchain.
#[derive(Clone, Debug, Default)]
pub struct OfToolchain {
    /// What `run --toolchain` calls it; what was derived has several.
    pub names: BTreeSet<String>,
    /// By ABI.
    pub abis: BTreeMap<Abi, OfAbi>,
    /// How far faults reach, by name and title.
    pub faults: BTreeMap<(String, String), Seen>,
    /// How far that reaches which is known and no fault of a component, by reason.
    pub others: BTreeMap<String, Seen>,
}

/// What was found with one toolchain for one ABI.
#[derive(Clone, Debug, Default)]
pub struct OfAbi {
    /// The number of cases.
    pub cases: u64,
    /// Those that have come out otherwise than their specs say, or not at all.
    pub unexpected: Vec<String>,
    /// The rows of each build.
    rows: BTreeMap<String, u64>,
    /// The faults that were seen, by name.
    pub faults: BTreeSet<String>,
}

impl OfAbi {
    /// The number of rows of all builds.
    #[must_use]
    pub fn rows(&self) -> u64 {
        self.rows.values().sum()
    }
}

/// How far a cause reaches.
#[derive(Clone, Debug, Default)]
pub struct Seen {
    /// The wrong rows; each build's count once.
    pub rows: BTreeSet<String>,
    /// The number of cases.
    pub cases: u64,
    /// Their ABIs.
    pub abis: BTreeSet<Abi>,
}

/// Causes with how far they reach, that with most rows first.
#[must_use]
pub fn by_rows<K: Ord>(causes: BTreeMap<K, Seen>) -> Vec<(K, Seen)> {
    let mut causes: Vec<_> = causes.into_iter().collect();
    causes.sort_by_key(|(_, seen)| std::cmp::Reverse(seen.rows.len()));
    causes
}

impl Found {
    /// Sorts the results of a run.
    #[must_use]
    pub fn of(report: &Report) -> Self {
        let mut found = Self::default();
        for case in &report.cases {
            let derived = case.toolchain.starts_with("derived");
            let name = if derived { "derived" } else { &*case.toolchain };
            let toolchain = found.toolchains.entry(name.to_owned()).or_default();
            toolchain.names.insert(case.toolchain.clone());
            let abi = toolchain.abis.entry(case.abi).or_default();
            abi.cases += 1;
            if matches!(case.outcome, Outcome::Unexpected | Outcome::Broken) {
                abi.unexpected.push(case.id.clone());
            }
            abi.rows.insert(case.build.clone(), case.rows.total);
            abi.faults.extend(case.known.iter().filter_map(|seen| seen.fault.clone()));
            let mut of_case = BTreeSet::new();
            for seen in &case.known {
                let finding = &seen.finding;
                let start = finding.row.as_ref().map(|row| row.start.to_string()).unwrap_or_default();
                let row = format!("{} {:?} {:?} {start}", case.build, finding.image, finding.function);
                let is_first = of_case.insert((&seen.fault, &seen.reason));
                let add = |reached: &mut Seen| {
                    reached.rows.insert(row.clone());
                    reached.abis.insert(case.abi);
                    reached.cases += u64::from(is_first);
                };
                match &seen.fault {
                    Some(fault) => {
                        add(toolchain.faults.entry((fault.clone(), seen.reason.clone())).or_default());
                        add(found.faults.entry(fault.clone()).or_default());
                    }
                    None => add(toolchain.others.entry(seen.reason.clone()).or_default()),
                }
            }
        }
        found
    }
}
