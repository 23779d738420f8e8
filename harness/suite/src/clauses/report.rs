//! The clauses and their proofs, for people and for programs.

use serde::Serialize;
use sframe_kit::conclusion::{Conclusion, Ending};
use sframe_kit::json::SCHEMA;
use sframe_kit::text::{Text, first_of};

use super::{Proof, Proved, Side, Verdict};

/// At most this many proofs of one kind are named in the text; of more, their
/// number.
const NAMES: usize = 3;

/// What `clauses --json` prints.
#[derive(Clone, Debug, Serialize)]
pub struct ClausesReport<'a> {
    /// [`SCHEMA`].
    pub schema: u32,
    /// The totals.
    pub summary: ClausesSummary,
    /// Each clause.
    pub clauses: Vec<ClauseReport<'a>>,
}

/// The totals.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ClausesSummary {
    /// Number of clauses.
    pub clauses: u64,
    /// Proved for each side that they bind.
    pub proved: u64,
    /// Not proved, with a reason.
    pub excused: u64,
    /// Neither proved nor given a reason.
    pub unproved: u64,
    /// Proved, but still with a reason why not.
    pub stale: u64,
    /// Proved by a spec, among others.
    pub by_specs: u64,
    /// Proved by a linter rule, among others.
    pub by_lints: u64,
    /// Proved by a vector, among others.
    pub by_vectors: u64,
}

/// A clause.
#[derive(Clone, Debug, Serialize)]
pub struct ClauseReport<'a> {
    /// Such as `v3-fre-addr1`.
    pub id: &'a str,
    /// The version of the specification.
    pub version: u8,
    /// The erratum of version 2 that introduced it.
    pub erratum: Option<u8>,
    /// Number, or name, of the section.
    pub section: &'a str,
    /// Title of the section.
    pub title: &'a str,
    /// Who it binds.
    pub side: Side,
    /// What it requires.
    pub summary: &'a str,
    /// The result.
    pub verdict: Verdict,
    /// What proves it.
    pub proofs: &'a [Proof],
    /// The bound sides without a proof.
    pub missing: &'a [Side],
    /// Why nothing proves it.
    pub unproved: Option<&'a str>,
}

impl<'a> ClausesReport<'a> {
    /// Makes the report on these clauses.
    #[must_use]
    pub fn new(clauses: &[&'a Proved<'a>]) -> Self {
        let mut summary = ClausesSummary::default();
        for proved in clauses {
            summary.clauses += 1;
            *match proved.verdict {
                Verdict::Proved => &mut summary.proved,
                Verdict::Excused => &mut summary.excused,
                Verdict::Unproved => &mut summary.unproved,
                Verdict::Stale => &mut summary.stale,
            } += 1;
            let by = |is_it: fn(&Proof) -> bool| u64::from(proved.proofs.iter().any(is_it));
            summary.by_specs += by(|proof| matches!(proof, Proof::Spec(_)));
            summary.by_lints += by(|proof| matches!(proof, Proof::Lint(_)));
            summary.by_vectors += by(|proof| matches!(proof, Proof::Vector(_)));
        }
        let clauses = clauses.iter().map(|proved| ClauseReport {
            id: &proved.clause.id,
            version: proved.clause.version,
            erratum: proved.clause.erratum,
            section: &proved.clause.section,
            title: &proved.clause.title,
            side: proved.clause.side,
            summary: &proved.clause.summary,
            verdict: proved.verdict,
            proofs: &proved.proofs,
            missing: &proved.missing,
            unproved: proved.clause.unproved.as_deref(),
        });
        Self { schema: SCHEMA, summary, clauses: clauses.collect() }
    }

    /// Whether a clause needs attention.
    #[must_use]
    pub const fn has_findings(&self) -> bool {
        self.summary.unproved > 0 || self.summary.stale > 0
    }

    /// How many clauses are proved, and by what.
    #[must_use]
    pub fn conclusion(&self) -> Conclusion {
        let ending = match self.summary {
            _ if self.has_findings() => Ending::Fail,
            ClausesSummary { clauses: 0, .. } => Ending::Inconclusive,
            _ => Ending::Pass,
        };
        let ClausesSummary { clauses, proved, excused, unproved, stale, by_specs, by_lints, by_vectors } =
            self.summary;
        let facts = vec![
            format!(
                "{clauses} clauses: {proved} proved, {excused} not proved for a reason, {unproved} without proof or \
                 reason, {stale} with a stale reason"
            ),
            format!("proved by specs: {by_specs}, by lint rules: {by_lints}, by vectors: {by_vectors}"),
        ];
        Conclusion { ending, facts }
    }

    /// Returns the report as text: each clause under its section, and the
    /// totals.
    #[must_use]
    pub fn text(&self) -> Text {
        let mut text = Text::default();
        let mut section = None;
        for clause in &self.clauses {
            let here = (clause.version, clause.section);
            if section != Some(here) {
                if section.is_some() {
                    text.blank();
                }
                let heading = format!("{} {}", clause.section, clause.title);
                let _ = writeln!(text, "version {}, {}", clause.version, heading.trim_end());
                section = Some(here);
            }
            clause.write(&mut text);
        }
        if !self.clauses.is_empty() {
            text.blank();
        }
        self.conclusion().show(&mut text);
        text
    }
}

impl ClauseReport<'_> {
    fn write(&self, text: &mut Text) {
        let erratum = self.erratum.map_or_else(String::new, |number| format!(", erratum {number}"));
        let _ = writeln!(text, "  {} ({}{erratum}): {}", self.id, self.side, self.summary);
        let mut proofs = Vec::new();
        for kind in ["specs", "rules", "vectors"] {
            let of_it = self.proofs.iter().map(kind_and_name).filter(|(other, _)| *other == kind);
            let names: Vec<&str> = of_it.map(|(_, name)| name).collect();
            if !names.is_empty() {
                proofs.push(format!("{kind} {}", first_of(&names, NAMES)));
            }
        }
        if !proofs.is_empty() {
            let _ = writeln!(text, "      {}", proofs.join("; "));
        }
        let sides: Vec<&str> = self.missing.iter().map(|side| side.as_str()).collect();
        let sides = sides.join(" and ");
        let reason = self.unproved.unwrap_or_default();
        match self.verdict {
            Verdict::Proved => {}
            Verdict::Excused => text.line(format_args!("      not proved for the {sides}: {reason}")),
            Verdict::Unproved => {
                text.line(format_args!("      NOT PROVED for the {sides}, and no reason is given"));
            }
            Verdict::Stale => {
                text.line(format_args!("      STALE: it is proved, but said not to be: {reason}"));
            }
        }
    }
}

fn kind_and_name(proof: &Proof) -> (&'static str, &str) {
    match proof {
        Proof::Spec(name) => ("specs", name),
        Proof::Lint(name) => ("rules", name),
        Proof::Vector(name) => ("vectors", name),
    }
}
