//! Identifies the run of a report.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sframe_corpus::shard::Shard;

use crate::case::UnderTest;
use crate::provenance::started;
use crate::suite::{Filter, Plan, Suite, made_of};

/// Everything that determines the results of a run, on any machine. Reports
/// with a different identity come from another run, and are neither joined nor
/// compared with it.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
pub struct RunIdentity {
    /// Version of the bench.
    pub bench: String,
    /// Which bench it was: its commit, or SHA-256 of its executable if that is of none, in hexadecimal.
    pub bench_digest: String,
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
    /// Whether rows that did not run are left alone.
    #[serde(default)]
    pub no_explore: bool,
}

/// The identity that an unwinder reports.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
pub struct UnwinderIdentity {
    /// Its name; `sframe-engine` for this project's.
    pub name: String,
    /// Its version.
    pub version: String,
    /// SHA-256 of each file that its command names, in hexadecimal.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<String>,
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

    /// Whether a case is selected, by its ID: see [`Case::id`](crate::case::Case::id).
    #[must_use]
    pub fn selects(&self, case: &str) -> bool {
        let mut parts = case.split('/');
        let mut is_of = |list: &[String], is_it: fn(&str, &str) -> bool| {
            let part = parts.next().unwrap_or_default();
            list.is_empty() || list.iter().any(|word| is_it(word, part))
        };
        let is_same = |word: &str, part: &str| word == part;
        let matches = |word: &str, part: &str| glob::Pattern::new(word).is_ok_and(|glob| glob.matches(part));
        is_of(&self.spec, matches)
            && is_of(&self.toolchain, is_same)
            && is_of(&self.abi, is_same)
            && is_of(&self.variant, is_same)
            && (self.case.is_empty() || self.case.iter().any(|id| id == case))
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

/// What is asked of each case: a run of which less is asked finds less.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Asked {
    /// At how many stops of a case an unwinder is asked; `None` for all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stops_per_case: Option<String>,
    /// Whether backtraces that are not complete are findings.
    #[serde(default)]
    pub require_reliable: bool,
    /// Whether rows that did not run are left alone.
    #[serde(default)]
    pub no_explore: bool,
    /// The share of the executed code that must have an FDE, if one was demanded of a check.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub coverage: Option<String>,
}

impl std::fmt::Display for Asked {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let stops = self.stops_per_case.as_ref().map(|stops| format!("--stops-per-case {stops}"));
        let reliable = self.require_reliable.then(|| "--require-reliable".to_owned());
        let no_explore = self.no_explore.then(|| "--no-explore".to_owned());
        let coverage = self.coverage.as_ref().map(|share| format!("--coverage {share}"));
        let options: Vec<String> = [stops, reliable, no_explore, coverage].into_iter().flatten().collect();
        f.write_str(if options.is_empty() { "no option" } else { "" })?;
        f.write_str(&options.join(" "))
    }
}

impl RunIdentity {
    /// Whether a run should have a case that another has: it selects it, and is no part of a run. `None` is a run of all.
    pub(super) fn expects(run: Option<&Self>, shard: Option<Shard>, case: &str) -> bool {
        shard.is_none_or(|shard| shard.of() == 1) && run.is_none_or(|run| run.selection.selects(case))
    }

    /// What is asked of each of its cases.
    #[must_use]
    pub fn asked(&self) -> Asked {
        let stops_per_case = self.unwinder.stops_per_case.clone();
        let RunOptions { require_reliable, no_explore, .. } = self.options;
        Asked { stops_per_case, require_reliable, no_explore, coverage: None }
    }

    /// The identity of a run that begins now.
    ///
    /// # Errors
    /// The bench's executable, or a file of the unwinder under test, can't be read.
    pub fn of(suite: &Suite, filter: &Filter, plan: &Plan<'_>) -> std::io::Result<Self> {
        let unwinder = match plan.unwinder {
            UnderTest::Rust(_) => UnwinderIdentity {
                name: "sframe-engine".to_owned(),
                version: env!("CARGO_PKG_VERSION").to_owned(),
                files: Vec::new(),
                stops_per_case: None,
            },
            UnderTest::External(external) => UnwinderIdentity {
                name: external.hello().name.clone(),
                version: external.hello().version.clone(),
                files: made_of::unwinder(external)?.into_iter().flatten().collect(),
                stops_per_case: Some(external.stops_per_case.to_string()),
            },
        };
        Ok(Self {
            bench: env!("CARGO_PKG_VERSION").to_owned(),
            bench_digest: made_of::bench()?,
            corpus: suite.corpus_digest(),
            specs: suite.specs_digest(),
            selection: Selection::of(filter),
            options: RunOptions {
                budget: plan.options.budget,
                pattern: format!("{:?}", plan.options.pattern).to_lowercase(),
                stack_size: plan.options.stack_size,
                require_reliable: plan.demands.requires_reliable,
                no_explore: plan.explorer.is_none(),
            },
            unwinder,
            date: started().date_naive().to_string(),
        })
    }

    /// The differences, each as `name: this / other`. Runs of different days
    /// may be parts of one.
    #[must_use]
    pub fn differences(&self, other: &Self) -> Vec<String> {
        let aspects = self.aspects().into_iter().zip(other.aspects());
        let differing = aspects.filter(|((_, this), (_, other))| this != other);
        differing.map(|((name, this), (_, other))| format!("{name}: {this} / {other}")).collect()
    }

    fn aspects(&self) -> [(&'static str, String); 11] {
        let digest = |digest: &str| digest.chars().take(16).collect::<String>();
        let UnwinderIdentity { name, version, files, stops_per_case } = &self.unwinder;
        let files = files.iter().map(|file| format!(" {}", digest(file))).collect::<String>();
        let stops = stops_per_case.as_ref().map(|stops| format!(" --stops-per-case {stops}"));
        [
            ("bench", self.bench.clone()),
            ("build of the bench", digest(&self.bench_digest)),
            ("corpus", digest(&self.corpus)),
            ("specs", digest(&self.specs)),
            ("selection", self.selection.to_string()),
            ("budget", self.options.budget.to_string()),
            ("pattern", self.options.pattern.clone()),
            ("stack size", self.options.stack_size.to_string()),
            ("require-reliable", self.options.require_reliable.to_string()),
            ("no-explore", self.options.no_explore.to_string()),
            ("unwinder", format!("{name} {version}{files}{}", stops.unwrap_or_default())),
        ]
    }
}
