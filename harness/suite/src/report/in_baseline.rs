//! What is worse in a run than in its baseline, as its reports show it.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use sframe_judge::finding::Finding;
use sframe_kit::conclusion::Ending;

use super::Report;
use crate::identity::Identity;
use crate::matrix::{MadeAs, MatrixReport, Standing, kind_of, nothing_compared};

/// What a baseline has of a run's cases.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct InBaseline {
    /// What is worse, by case. A case may be there no more.
    pub(super) worse: BTreeMap<String, Vec<String>>,
    /// What is worse of findings, by case; of each that the baseline has.
    #[serde(skip)]
    pub(super) findings: BTreeMap<String, BTreeSet<Identity>>,
    /// The verdict, if these are the cases of toolchains, and what they are compared with are the cases of others.
    #[serde(skip)]
    pub(super) verdict: Option<Ending>,
}

impl InBaseline {
    /// What it is called.
    pub(super) const fn name(&self) -> &'static str {
        if self.verdict.is_some() { "reference" } else { "baseline" }
    }
}

impl Report {
    /// Adds how the cases of toolchains compare with those of their references, and the verdict on that: reports then say
    /// which failures the references have as well. `demands_all` says that each build has to be made, with a section.
    pub fn set_against_references(&mut self, matrix: &MatrixReport, verdict: Ending, demands_all: bool) {
        let mut of_references = InBaseline { verdict: Some(verdict), ..InBaseline::default() };
        let InBaseline { worse, findings, .. } = &mut of_references;
        for toolchain in &matrix.toolchains {
            for case in &toolchain.cases {
                let reason = case.reason.clone().unwrap_or_default();
                let lines: Vec<String> = match case.standing {
                    Standing::Lost => vec![format!("lost: {reason}")],
                    Standing::Broken => vec![format!("broken: {reason}")],
                    _ => case
                        .worse
                        .iter()
                        .map(|detail| format!("{}: {}", detail.kind, detail.message))
                        .collect(),
                };
                if lines.is_empty() {
                    findings.insert(case.id.clone(), BTreeSet::new());
                } else {
                    worse.insert(case.id.clone(), lines);
                }
            }
            let links = toolchain.links.iter().flat_map(|links| links.open());
            worse.extend(links.map(|(case, says)| (format!("links/{}/{case}", toolchain.name), vec![says])));
            let is_open = |made| demands_all && matches!(made, MadeAs::Refused | MadeAs::NoSection);
            let open = toolchain.builds.iter().filter(|build| is_open(build.result));
            worse.extend(
                open.map(|build| (build.id.clone(), vec!["there is no build with a section".to_owned()])),
            );
            let nothing = nothing_compared(toolchain);
            worse.extend(nothing.map(|why| (toolchain.name.clone(), vec![why])));
        }
        let cases = matrix.toolchains.iter().flat_map(|toolchain| &toolchain.cases);
        let kinds: BTreeMap<&str, BTreeSet<_>> =
            cases.map(|case| (&*case.id, case.worse.iter().map(|detail| &detail.kind).collect())).collect();
        for case in self.cases.iter().filter(|case| worse.contains_key(&case.id)) {
            let kinds = kinds.get(&*case.id);
            let is_worse = |finding: &&Finding| kinds.is_none_or(|kinds| kinds.contains(&kind_of(finding)));
            let own = case.findings.iter().filter(is_worse).map(Identity::of);
            findings.insert(case.id.clone(), own.collect());
        }
        self.baseline = Some(of_references);
    }
}
