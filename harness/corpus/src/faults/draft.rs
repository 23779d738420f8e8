//! A page that is begun with its example, and filled in with what the build shows.

use std::path::Path;

use sframe_judge::finding::Finding;
use sframe_judge::vocabulary::Verdict;
use sframe_kit::text::with_causes;

use super::compare::differences;
use super::observe::{Observed, witnesses};
use crate::spec::{Fault, NO_ROW, RowOffset};

/// Fills in what a build shows: the row, its verdict and rules, and what the witnesses say of the first finding that is wanted.
///
/// # Errors
/// The build can't be judged, or shows nothing of the example's function that its component is to blame for,
/// or what it shows is not what the page calls right.
pub fn filled_in(
    mut fault: Fault,
    program: &Path,
    is_wanted: &dyn Fn(&Finding) -> bool,
) -> Result<Fault, String> {
    let observe = |fault: &Fault| {
        Observed::of(program, &fault.example, fault.section).map_err(|error| with_causes(&error))
    };
    let blame = fault.blame();
    let observed = observe(&fault)?;
    let Some(finding) = observed.finding_in(&fault.example.function, blame, is_wanted) else {
        let lines = observed.lines(&fault.example);
        let seen = if lines.is_empty() { "a run finds nothing".to_owned() } else { lines.join("; ") };
        return Err(format!("no finding blames {blame}: {seen}"));
    };
    let example = &mut fault.example;
    example.row = finding.row.as_ref().map(|row| RowOffset(row.start.0));
    example.wrong = finding.row.as_ref().map_or_else(|| NO_ROW.to_owned(), |row| row.rules.to_string());
    example.verdict = finding.verdict;
    // Of a function without rows, a page says what its first one should be.
    let first = observed.first_of_cfi().filter(|_| example.verdict == Verdict::NoFde);
    example.right = first.map_or_else(|| example.right.clone(), |row| row.rules.to_string());
    // What exploring says of the row is known now that the row is.
    let observed = observe(&fault)?;
    if let Some(finding) = observed.finding(&fault.example) {
        fault.witnesses = witnesses(&observed, finding);
    }
    let differences = differences(&fault, &observed);
    if differences.is_empty() { Ok(fault) } else { Err(differences.join("; ")) }
}
