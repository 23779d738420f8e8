//! Which vectors, rules and specs prove which clause.

use std::collections::BTreeMap;

use serde::Serialize;
use sframe_vectors::Vector;

use super::{Catalogue, Clause, Side};
use crate::case::spec_name;
use crate::suite::Suite;

/// What proves a clause.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(tag = "kind", content = "name", rename_all = "lowercase")]
pub enum Proof {
    /// A spec, on builds of real producers: what both sides must do.
    Spec(String),
    /// A rule of the linter: what a producer must do.
    Lint(String),
    /// A vector: what a consumer must do.
    Vector(String),
}

impl Proof {
    const fn proves(&self, side: Side) -> bool {
        match self {
            Self::Spec(_) => true,
            Self::Lint(_) => matches!(side, Side::Producer),
            Self::Vector(_) => matches!(side, Side::Consumer),
        }
    }
}

/// The state of a clause.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// Proved, for each side that it binds.
    Proved,
    /// Not proved, and the catalogue says why.
    Excused,
    /// Not proved, and the catalogue does not say why.
    Unproved,
    /// Proved, although the catalogue still says why not.
    Stale,
}

impl Verdict {
    /// Whether the clause needs attention.
    #[must_use]
    pub const fn is_finding(self) -> bool {
        matches!(self, Self::Unproved | Self::Stale)
    }
}

/// A clause and its proofs.
#[derive(Clone, Debug)]
pub struct Proved<'a> {
    /// The clause.
    pub clause: &'a Clause,
    /// Ordered by kind and name.
    pub proofs: Vec<Proof>,
    /// The bound sides without a proof.
    pub missing: Vec<Side>,
    /// The result.
    pub verdict: Verdict,
}

/// By the ID of a clause.
pub type Proofs = BTreeMap<String, Vec<Proof>>;

/// Returns each clause with its proofs.
///
/// # Errors
/// Clauses listed by something that can't prove them: unknown ones, and, in
/// vectors, those that bind producers alone.
pub fn prove<'a>(
    catalogue: &'a Catalogue,
    vectors: &[Vector],
    suite: &Suite,
) -> Result<Vec<Proved<'a>>, Vec<String>> {
    let mut proofs = Proofs::new();
    let mut errors = Vec::new();
    for vector in vectors {
        for id in &vector.clauses {
            match catalogue.get(id) {
                None => errors.push(format!("vector {}: {}", vector.id, catalogue.unknown(id))),
                Some(Clause { side: Side::Producer, .. }) => {
                    errors.push(format!("vector {}: no vector can prove what producers do: {id}", vector.id))
                }
                Some(_) => proofs.entry(id.clone()).or_default().push(Proof::Vector(vector.id.clone())),
            }
        }
    }
    for (spec, source) in suite.specs() {
        let name = spec_name(source);
        for id in &spec.clauses {
            match catalogue.get(id) {
                None => errors.push(format!("spec {name}: {}", catalogue.unknown(id))),
                Some(_) => proofs.entry(id.clone()).or_default().push(Proof::Spec(name.to_owned())),
            }
        }
    }
    if !errors.is_empty() {
        return Err(errors);
    }
    Ok(catalogue
        .clauses
        .iter()
        .map(|clause| judge(clause, proofs.remove(&clause.id).unwrap_or_default()))
        .collect())
}

fn judge(clause: &Clause, mut proofs: Vec<Proof>) -> Proved<'_> {
    proofs.extend(clause.lints.iter().cloned().map(Proof::Lint));
    proofs.sort();
    let unproved = |side: &Side| !proofs.iter().any(|proof| proof.proves(*side));
    let missing: Vec<Side> = clause.side.bound().iter().copied().filter(unproved).collect();
    let verdict = match (missing.is_empty(), &clause.unproved) {
        (true, None) => Verdict::Proved,
        (true, Some(_)) => Verdict::Stale,
        (false, Some(_)) => Verdict::Excused,
        (false, None) => Verdict::Unproved,
    };
    Proved { clause, proofs, missing, verdict }
}
