//! How far a fault reaches: what the specs that name it say.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use sframe_engine::Abi;

use crate::case::spec_name;
use crate::suite::{Filter, Suite, SuiteError};

/// How far a fault reaches in the corpus.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Reach {
    /// The number of builds that have it.
    pub builds: u64,
    /// Their toolchains.
    pub toolchains: BTreeSet<String>,
    /// Their ABIs.
    pub abis: BTreeSet<Abi>,
    /// By spec: the functions that have it, with the rows that the spec names.
    pub specs: BTreeMap<String, BTreeSet<String>>,
}

/// Returns the reach of each fault that a spec names.
///
/// # Errors
/// The suite's cases can't be selected.
pub fn reaches(suite: &Suite) -> Result<BTreeMap<String, Reach>, SuiteError> {
    let mut reaches: BTreeMap<String, Reach> = BTreeMap::new();
    for case in suite.cases(&Filter::default())? {
        let facts = case.facts();
        if case.spec.skip_for(&facts).is_some() {
            continue;
        }
        let mut named = BTreeSet::new();
        for (_, known) in case.spec.known_for(&facts) {
            let Some(fault) = &known.fault else { continue };
            let reach = reaches.entry(fault.clone()).or_default();
            reach.builds += u64::from(named.insert(fault));
            reach.toolchains.insert(case.build.toolchain.clone());
            reach.abis.insert(case.build.abi);
            let places = reach.specs.entry(spec_name(case.source).to_owned()).or_default();
            let function = known.function.as_deref().unwrap_or("any function");
            match &known.row {
                None => drop(places.insert(function.to_owned())),
                Some(rows) => places.extend(rows.iter().map(|row| format!("{function}+{row}"))),
            }
        }
    }
    Ok(reaches)
}
