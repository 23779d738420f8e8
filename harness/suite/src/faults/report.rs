//! Everything about faults: the document of `faults --json`.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::Serialize;

use sframe_corpus::faults::{ObserveError, Observed, Reproduction, build_of};
use sframe_corpus::spec::{Fault, Faults};
use sframe_links::{LinkPage, LinkPages};

use super::reach::{Reach, reaches};

use crate::suite::{Suite, SuiteError};

/// Version of the document's format.
const SCHEMA: u32 = 1;

/// Faults, and what their examples showed.
#[derive(Debug, Serialize)]
pub struct FaultsReport<'s> {
    /// Version of this format.
    pub schema: u32,
    /// The faults, by name.
    pub faults: Vec<FaultReport<'s>>,
    /// Those of linkers, and of what rewrites files, that cases of `corpus/links` show.
    pub links: Vec<LinkPage>,
    /// Their examples, made by toolchains that were asked for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub reproductions: Vec<Reproduction>,
}

/// A fault: its page, and what is derived.
#[derive(Debug, Serialize)]
pub struct FaultReport<'s> {
    /// Its name.
    pub name: &'s str,
    /// Its page.
    #[serde(flatten)]
    pub fault: &'s Fault,
    /// How far it reaches.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reach: Option<Reach>,
    /// The committed build of its example. None if the component crashes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub build: Option<PathBuf>,
    /// What `dump` prints of the example's function in that build. Empty if it has no FDE, or if
    /// another section is wrong.
    pub dump: Vec<String>,
}

impl<'s> FaultsReport<'s> {
    /// Reports the faults that `is_wanted` selects by name, with what a suite shows of them, if there is one.
    ///
    /// # Errors
    /// The suite's cases can't be selected.
    pub fn new(
        faults: &'s Faults,
        suite: Option<&Suite>,
        links: &LinkPages,
        is_wanted: impl Fn(&str) -> bool,
    ) -> Result<Self, SuiteError> {
        let mut reaches: Option<BTreeMap<String, Reach>> = suite.map(reaches).transpose()?;
        let faults = faults.iter().filter(|(name, ..)| is_wanted(name));
        let report = |(name, fault, _): (&'s str, &'s Fault, _)| FaultReport {
            name,
            fault,
            reach: reaches.as_mut().map(|reaches| reaches.remove(name).unwrap_or_default()),
            build: suite
                .filter(|_| !fault.example.is_crash())
                .map(|suite| build_of(suite.corpus(), name, &fault.example)),
            dump: Vec::new(),
        };
        let links = links.values().filter(|page| is_wanted(&page.name)).cloned().collect();
        Ok(Self { schema: SCHEMA, faults: faults.map(report).collect(), links, reproductions: Vec::new() })
    }
}

impl FaultReport<'_> {
    /// Adds what `dump` prints of the committed build.
    ///
    /// # Errors
    /// The build can't be judged.
    pub fn with_dump(mut self) -> Result<Self, ObserveError> {
        if let Some(build) = &self.build {
            let observed = Observed::of(build, &self.fault.example, self.fault.section)?;
            self.dump = observed.dump().to_vec();
        }
        Ok(self)
    }
}
