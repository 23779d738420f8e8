//! Identifies the run of a report.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::case::UnderTest;
use crate::provenance::started;
use crate::suite::{Filter, Plan, Suite};

/// Everything that determines the results of a run, on any machine. Reports
/// with a different identity come from another run, and are neither joined nor
/// compared with it.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
pub struct RunIdentity {
    /// Version of the bench.
    pub bench: String,
    /// SHA-256 of everything in the corpus's manifest, in hexadecimal.
    pub corpus: String,
    /// SHA-256 of the specs with their names, in hexadecimal.
    pub specs: String,
    /// Which cases are selected.
    pub selection: Selection,
    /// How programs are started.
    pub options: RunOptions,
    /// The unwinder under test.
    pub unwinder: UnwinderIdentity,
    /// The UTC date on which the run began, as `2026-01-31`: that of
    /// `SOURCE_DATE_EPOCH`, if it is set. The shards of a run may have several.
    pub date: String,
}

/// Which cases a run has; an empty list restricts nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
pub struct Selection {
    /// Patterns of spec names.
    pub spec: Vec<String>,
    /// ABIs.
    pub abi: Vec<String>,
    /// Names of toolchains.
    pub toolchain: Vec<String>,
    /// Names of variants.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub variant: Vec<String>,
    /// IDs of cases.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub case: Vec<String>,
}

/// How programs are started.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
pub struct RunOptions {
    /// The instruction limit: a program that executes more is broken.
    pub budget: u64,
    /// What uninitialised registers and stack hold: `first` or `second`.
    pub pattern: String,
    /// Size of the stack in bytes, unless a spec overrides it.
    pub stack_size: u64,
    /// Whether backtraces that are not complete are findings.
    #[serde(default)]
    pub require_reliable: bool,
}

/// The identity that an unwinder reports.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
pub struct UnwinderIdentity {
    /// Its name; `sframe-engine` for this project's.
    pub name: String,
    /// Its version.
    pub version: String,
    /// At how many stops of a case it is asked; `None` for all.
    pub stops_per_case: Option<String>,
}

impl Selection {
    /// The selection of a filter.
    #[must_use]
    pub fn of(filter: &Filter) -> Self {
        Self {
            spec: filter.specs.iter().map(ToString::to_string).collect(),
            abi: filter.abis.iter().map(ToString::to_string).collect(),
            toolchain: filter.toolchains.clone(),
            variant: filter.variants.clone(),
            case: filter.cases.clone(),
        }
    }

    /// Whether another one selects the same, in whatever order it says so.
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        fn lists(selection: &Selection) -> [BTreeSet<&str>; 5] {
            let Selection { spec, abi, toolchain, variant, case } = selection;
            [spec, abi, toolchain, variant, case].map(|list| list.iter().map(String::as_str).collect())
        }
        lists(self) == lists(other)
    }

    /// Whether all cases are selected.
    #[must_use]
    pub fn is_everything(&self) -> bool {
        [&self.spec, &self.abi, &self.toolchain, &self.variant, &self.case].iter().all(|list| list.is_empty())
    }
}

/// Formats it as options of the command line.
impl std::fmt::Display for Selection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.is_everything() {
            return f.write_str("everything");
        }
        let lists = [
            ("spec", &self.spec),
            ("abi", &self.abi),
            ("toolchain", &self.toolchain),
            ("variant", &self.variant),
            ("case", &self.case),
        ];
        let words = lists.into_iter().flat_map(|(name, list)| list.iter().map(move |word| (name, word)));
        for (index, (name, word)) in words.enumerate() {
            let space = if index == 0 { "" } else { " " };
            write!(f, "{space}--{name} {}", super::diagnostic::quoted(word))?;
        }
        Ok(())
    }
}

impl RunIdentity {
    /// The identity of a run that begins now.
    #[must_use]
    pub fn of(suite: &Suite, filter: &Filter, plan: &Plan<'_>) -> Self {
        let unwinder = match plan.unwinder {
            UnderTest::Rust(_) => UnwinderIdentity {
                name: "sframe-engine".to_owned(),
                version: env!("CARGO_PKG_VERSION").to_owned(),
                stops_per_case: None,
            },
            UnderTest::External(external) => UnwinderIdentity {
                name: external.hello().name.clone(),
                version: external.hello().version.clone(),
                stops_per_case: Some(external.stops_per_case.to_string()),
            },
        };
        Self {
            bench: env!("CARGO_PKG_VERSION").to_owned(),
            corpus: suite.corpus_digest(),
            specs: suite.specs_digest(),
            selection: Selection::of(filter),
            options: RunOptions {
                budget: plan.options.budget,
                pattern: format!("{:?}", plan.options.pattern).to_lowercase(),
                stack_size: plan.options.stack_size,
                require_reliable: plan.demands.requires_reliable,
            },
            unwinder,
            date: started().date_naive().to_string(),
        }
    }

    /// The differences, each as `name: this / other`. Runs of different days
    /// may be parts of one.
    #[must_use]
    pub fn differences(&self, other: &Self) -> Vec<String> {
        let aspects = self.aspects().into_iter().zip(other.aspects());
        let differing = aspects.filter(|((_, this), (_, other))| this != other);
        differing.map(|((name, this), (_, other))| format!("{name}: {this} / {other}")).collect()
    }

    fn aspects(&self) -> [(&'static str, String); 9] {
        let digest = |digest: &str| digest.chars().take(16).collect::<String>();
        let UnwinderIdentity { name, version, stops_per_case } = &self.unwinder;
        let stops = stops_per_case.as_ref().map(|stops| format!(" --stops-per-case {stops}"));
        [
            ("bench", self.bench.clone()),
            ("corpus", digest(&self.corpus)),
            ("specs", digest(&self.specs)),
            ("selection", self.selection.to_string()),
            ("budget", self.options.budget.to_string()),
            ("pattern", self.options.pattern.clone()),
            ("stack size", self.options.stack_size.to_string()),
            ("require-reliable", self.options.require_reliable.to_string()),
            ("unwinder", format!("{name} {version}{}", stops.unwrap_or_default())),
        ]
    }
}
