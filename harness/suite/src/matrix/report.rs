//! The document: `matrix.json`. Keys are only ever added.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;
use sframe_corpus::corpus::{Attempt, AttemptResult, Refusal, ToolVersions, Toolchain};
use sframe_engine::Abi;
use sframe_links::LinksReport;

use super::compare::{Comparison, Standing};
use crate::provenance::Provenance;

/// The version of the document format. What is `not_checked` was `not_judged` in version 1.
pub const SCHEMA: u32 = 2;

/// `matrix.json`: toolchains compared with their references.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct MatrixReport {
    /// [`SCHEMA`].
    pub schema: u32,
    /// Where the report comes from.
    pub provenance: Option<Provenance>,
    /// Each toolchain.
    pub toolchains: Vec<ToolchainResult>,
}

/// One toolchain compared with its reference.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct ToolchainResult {
    /// Its name.
    pub name: String,
    /// Its description.
    pub summary: String,
    /// The references that its builds were compared with.
    pub references: Vec<String>,
    /// Its tools, by ABI.
    pub tools: BTreeMap<Abi, ToolVersions>,
    /// Builds in numbers, by ABI.
    pub abis: BTreeMap<Abi, Counts>,
    /// Each build.
    pub builds: Vec<BuildResult>,
    /// Each case.
    pub cases: Vec<Comparison>,
    /// What its linker makes of the cases for linkers; `known` is what the reference's does as well. `None` if it was
    /// not tried.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub links: Option<LinksReport>,
}

/// Numbers of builds. A build that was made counts as its worst case.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Counts {
    /// Excluded by the definition.
    pub excluded: u64,
    /// A command failed, or its output is not for the ABI.
    pub refused: u64,
    /// A file has no `.sframe`.
    pub no_section: u64,
    /// Made, with sections. The sum of the fields below.
    pub built: u64,
    /// As the reference.
    pub same: u64,
    /// Better than the reference.
    pub better: u64,
    /// Worse than the reference.
    pub worse: u64,
    /// There is nothing to compare them with.
    pub no_reference: u64,
    /// The bench could not do its work.
    pub broken: u64,
    /// No spec runs them.
    pub skipped: u64,
    /// Of those refused or without a section: the reference has them; and of those made: hardly anything ran.
    pub lost: u64,
}

impl Counts {
    pub(super) fn add(&mut self, other: &Self) {
        let Self {
            excluded,
            refused,
            no_section,
            built,
            same,
            better,
            worse,
            no_reference,
            broken,
            skipped,
            lost,
        } = other;
        self.excluded += excluded;
        self.refused += refused;
        self.no_section += no_section;
        self.built += built;
        self.same += same;
        self.better += better;
        self.worse += worse;
        self.no_reference += no_reference;
        self.broken += broken;
        self.skipped += skipped;
        self.lost += lost;
    }
}

/// The result of making a build.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct BuildResult {
    /// `<toolchain>/<abi>/<program>.<variant>`.
    pub id: String,
    /// The result.
    pub result: MadeAs,
    /// The definition's reason, if it excludes the build.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Why it was refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refusal: Option<Refusal>,
    /// Version of the section.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sframe_version: Option<u8>,
    /// SHA-256 of the file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sha256: Option<String>,
    /// The commands, as a shell in `programs` would run them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
}

/// The result of making a build.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum MadeAs {
    /// Made, with a section.
    Built,
    /// A command failed, or its output is not for the ABI.
    Refused,
    /// A file has no `.sframe`.
    NoSection,
    /// Excluded by the definition.
    Excluded,
}

impl MatrixReport {
    /// Makes the document of some toolchains.
    #[must_use]
    pub fn new(toolchains: Vec<ToolchainResult>) -> Self {
        Self { schema: SCHEMA, provenance: None, toolchains }
    }

    /// All builds together.
    #[must_use]
    pub fn totals(&self) -> Counts {
        let mut totals = Counts::default();
        self.toolchains.iter().for_each(|toolchain| totals.add(&toolchain.totals()));
        totals
    }

    /// Whether a case has findings that its reference does not have, or,
    /// without a reference, that its spec does not explain; or the reference has one of which there is no build.
    #[must_use]
    pub fn has_worse(&self) -> bool {
        let mut links = self.toolchains.iter().filter_map(|toolchain| toolchain.links.as_ref());
        self.cases().any(|case| !case.worse.is_empty() || case.standing == Standing::Lost)
            || links.any(LinksReport::has_wrong)
    }

    /// Whether a case is broken although its reference is not.
    #[must_use]
    pub fn has_broken(&self) -> bool {
        self.cases().any(|case| case.standing == Standing::Broken)
    }

    /// Whether something was compared with the call stack for each toolchain, and enough of what linkers were tried with.
    #[must_use]
    pub fn has_compared(&self) -> bool {
        let mut links = self.toolchains.iter().filter_map(|toolchain| toolchain.links.as_ref());
        let has_compared =
            |toolchain: &ToolchainResult| toolchain.cases.iter().any(|case| case.comparisons > 0);
        self.toolchains.iter().all(has_compared)
            && !self.toolchains.is_empty()
            && links.all(|links| links.too_little.is_none())
    }

    fn cases(&self) -> impl Iterator<Item = &Comparison> {
        self.toolchains.iter().flat_map(|toolchain| &toolchain.cases)
    }
}

impl ToolchainResult {
    /// Makes the result of a toolchain.
    #[must_use]
    pub fn new(
        toolchain: &Toolchain,
        tools: BTreeMap<Abi, ToolVersions>,
        made: &[Attempt],
        mut cases: Vec<Comparison>,
    ) -> Self {
        cases.sort_by(|one, other| one.id.cmp(&other.id));
        let mut standings: BTreeMap<&str, Standing> = BTreeMap::new();
        for case in &cases {
            let worst = standings.entry(&case.build).or_insert(case.standing);
            *worst = (*worst).max(case.standing);
        }
        let mut abis: BTreeMap<Abi, Counts> = BTreeMap::new();
        for attempt in made {
            let counts = abis.entry(attempt.abi).or_default();
            let standing = standings.get(attempt.id.as_str());
            counts.lost += u64::from(standing == Some(&Standing::Lost));
            *match &attempt.result {
                AttemptResult::Excluded(_) => &mut counts.excluded,
                AttemptResult::Refused(_) => &mut counts.refused,
                AttemptResult::NoSection => &mut counts.no_section,
                AttemptResult::Built(_) => {
                    counts.built += 1;
                    match standing {
                        Some(Standing::Same) => &mut counts.same,
                        Some(Standing::Better) => &mut counts.better,
                        Some(Standing::Worse | Standing::Lost) => &mut counts.worse,
                        Some(Standing::NoReference) => &mut counts.no_reference,
                        Some(Standing::Broken) => &mut counts.broken,
                        Some(Standing::Skipped) | None => &mut counts.skipped,
                    }
                }
            } += 1;
        }
        let reference = |case: &Comparison| case.reference.as_ref()?.split('/').next().map(str::to_owned);
        let mut references: Vec<String> = cases.iter().filter_map(reference).collect();
        references.sort();
        references.dedup();
        let builds = made.iter().map(BuildResult::of).collect();
        let (name, summary) = (toolchain.name.clone(), toolchain.summary.clone());
        Self { name, summary, references, tools, abis, builds, cases, links: None }
    }

    /// All ABIs together.
    #[must_use]
    pub fn totals(&self) -> Counts {
        let mut totals = Counts::default();
        self.abis.values().for_each(|counts| totals.add(counts));
        totals
    }
}

impl BuildResult {
    /// The result of an attempt.
    #[must_use]
    pub fn of(attempt: &Attempt) -> Self {
        let build = attempt.build();
        let (result, reason, refusal) = match &attempt.result {
            AttemptResult::Built(_) => (MadeAs::Built, None, None),
            AttemptResult::Refused(refusal) => (MadeAs::Refused, None, Some(refusal.clone())),
            AttemptResult::NoSection => (MadeAs::NoSection, None, None),
            AttemptResult::Excluded(reason) => (MadeAs::Excluded, Some(reason.clone()), None),
        };
        Self {
            id: attempt.id.clone(),
            result,
            reason,
            refusal,
            sframe_version: build.map(|build| build.sframe_version),
            sha256: build.map(|build| build.sha256.clone()),
            command: build.map(|build| build.command.clone()),
        }
    }
}
