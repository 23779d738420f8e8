//! The page of an explored file.

use std::collections::BTreeMap;

use serde::Serialize;
use sframe_judge::examine::listings::Listings;
use sframe_judge::explore::{Certainty, ExploredFinding, FunctionRows};
use sframe_judge::finding::Address;
use sframe_kit::text::counted;

use super::{CaseView, FindingEntry, Head, IN_FULL, Summary, page, show_known};
use crate::case::SeenKnown;
use crate::report::ExploreReport;

/// How sure a finding is.
#[derive(Clone, Serialize)]
pub(super) struct Proof<'r> {
    certainty: Certainty,
    /// Why it is not proved, in words.
    doubts: Vec<&'static str>,
    assumptions: &'r [String],
}

impl<'r> Proof<'r> {
    fn of(found: &'r ExploredFinding) -> Self {
        let doubts = found.doubts.iter().map(|doubt| doubt.says()).collect();
        Self { certainty: found.certainty, doubts, assumptions: &found.assumptions }
    }
}

/// A function with rows that don't agree.
#[derive(Serialize)]
pub(super) struct FunctionView<'r> {
    name: &'r str,
    pc: Address,
    /// All rows, those judged, those that are wrong, and those that may be.
    rows: [u64; 4],
    /// Why others were not judged.
    reasons: Vec<String>,
}

impl<'r> FunctionView<'r> {
    fn of(function: &'r FunctionRows) -> Option<Self> {
        let rows = &function.rows;
        let name = function.function.as_deref().unwrap_or_default();
        let reason = |(why, count): (&sframe_judge::explore::Undecided, &u64)| {
            format!("{}: {}", counted(*count, "row"), why.says())
        };
        let in_part = (rows.partly > 0)
            .then(|| format!("{}: not at all instructions", counted(rows.partly, "row")))
            .into_iter();
        (rows.agree < rows.total).then(|| Self {
            name,
            pc: function.pc,
            rows: [rows.total, rows.checked, rows.wrong, rows.possible],
            reasons: in_part.chain(rows.undecided.iter().map(reason)).collect(),
        })
    }
}

/// Renders the page of an explored file.
///
/// # Errors
/// The data can't be written as JSON.
pub(super) fn html_of_exploration(report: &ExploreReport) -> Result<String, serde_json::Error> {
    let findings = report.findings.iter().enumerate().take(IN_FULL);
    let mut shown: Vec<FindingEntry<'_>> = findings
        .map(|(rank, found)| FindingEntry {
            case: 0,
            rank,
            findings: 1,
            places: found.finding.places,
            hits: found.finding.hits,
            known: None,
            proof: Some(Proof::of(found)),
            finding: &found.finding,
        })
        .collect();
    show_known(&mut shown, 0, &report.known);
    let functions = report.functions.iter().filter_map(FunctionView::of).collect();
    let cases = vec![CaseView::of_exploration(report)];
    page(
        Head {
            summary: Summary::Explore(&report.summary),
            conclusion: Some(report.conclusion().sentence()),
            worse: BTreeMap::new(),
            baseline: "baseline",
            worse_words: String::new(),
            provenance: report.provenance.as_ref(),
        },
        &report.faults,
        cases,
        shown,
        functions,
        &Listings::default(),
    )
}

impl<'r> CaseView<'r> {
    fn of_exploration(report: &'r ExploreReport) -> Self {
        let summary = &report.summary;
        let known = SeenKnown::count(&report.known);
        Self {
            instructions: summary.instructions,
            rows: [summary.rows_total, summary.rows_checked, 0],
            unexplained: summary.verdicts.values().sum(),
            count: report.findings.len() as u64 + known,
            without_result: report.without_result(),
            command: report.command(),
            sections: report.section_line().into_iter().collect(),
            program_did: report.open_lines(),
            ..Self::of_file(&report.file, report.abi, report.sframe_version, report.outcome())
        }
    }
}
