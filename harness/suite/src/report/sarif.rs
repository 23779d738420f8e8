//! `report.sarif`: findings for SARIF 2.1.0 readers, such as code review.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde_json::{Value, json};
use sframe_judge::examine::coverage::Explored;
use sframe_judge::examine::listings::{Listings, SourceLine};
use sframe_judge::finding::{Finding, Group, groups};
use sframe_judge::vocabulary::Verdict;
use sframe_kit::sarif::{artifact, document, message, uri};
use sframe_kit::text::counted;
use sframe_links::{LinkFault, LinkOutcome, LinksTable};
use sframe_samples::report::SamplesReport;

use super::diagnostic::in_a_line;
use super::document::{MISSING_FDE, MISSING_FDE_MEANS};
use super::format::{Document, Format, Written};
use super::html::verdicts_of_findings;
use super::summary::command_for;
use super::{CheckReport, ExploreReport, ExploredFiles, Report, file_name, fingerprint, omission};
use crate::case::{CaseReport, Outcome, SeenKnown};
use crate::meanings::meanings;
use crate::provenance::Provenance;

/// The most findings of a case that become results; a notification counts the others.
const OF_A_CASE: usize = 1000;

pub(super) const FORMAT: Format = Format { files: &["report.sarif"], write };

fn write(document: &Document<'_>) -> Option<Written> {
    let mut log = match *document {
        Document::Run { report, listings, corpus } => sarif(report, listings, corpus),
        Document::Check { report, listings } => sarif_of_check(report, listings),
        Document::Explore { report } => sarif_of_exploration(report),
        Document::Files { files } => sarif_of_files(files),
        Document::Links { table } => sarif_of_links(table),
        Document::Samples { report } => sarif_of_samples(report),
        Document::Matrix { .. } => return None,
    };
    if let Some(provenance) = document.provenance() {
        describe(&mut log, provenance);
    }
    log["runs"][0]["properties"]["verdict"] = json!(document.ending());
    Some(("report.sarif", super::json::text(&log)))
}

/// Adds where the log comes from (3.18.5, 3.20).
fn describe(log: &mut Value, provenance: &Provenance) {
    let run = &mut log["runs"][0];
    run["tool"]["driver"]["version"] = json!(provenance.maker());
    run["invocations"][0]["commandLine"] = json!(provenance.command);
    run["invocations"][0]["startTimeUtc"] = json!(provenance.started);
    if let Some(ended) = provenance.ended() {
        run["invocations"][0]["endTimeUtc"] = json!(ended);
    }
    run["properties"] = json!({ "host": provenance.host, "sha256": provenance.digests });
    if !provenance.parts.is_empty() {
        run["properties"]["parts"] = json!(provenance.parts);
    }
}

/// The findings of a run, known ones and those of its baseline as suppressed results. `corpus` is the
/// folder of its builds.
#[must_use]
pub fn sarif(report: &Report, listings: &Listings, corpus: &Path) -> Value {
    let mut log = Log::default();
    if report.has_compared_nothing() {
        log.broken("run", "nothing was compared");
    }
    let (mut shown, baseline) = (BTreeSet::new(), report.baseline_name());
    for case in &report.cases {
        let CaseReport { id, build, .. } = case;
        let file = corpus.join("builds").join(build).display().to_string();
        log.reproduce = command_for(case);
        let first = log.results.len();
        log.add(id, build, &file, &case.findings, &case.findings_omitted, listings);
        for (group, result) in groups(&case.findings).iter().zip(&mut log.results[first..]) {
            if report.has_in_baseline(id, group.first) {
                result["suppressions"] = accepted(&format!("as in the {baseline}"));
            } else {
                shown.insert(id.as_str());
            }
        }
        log.add_known(id, build, &file, &case.known, listings);
        case.excluded.iter().for_each(|place| log.warning(&format!("{id}: {}", place.line())));
        if case.outcome == Outcome::Broken {
            let reason = case.reason.as_deref().unwrap_or_default();
            let reason = format!("{reason} (reproduce with: {})", command_for(case));
            if report.is_as_in_baseline(case) {
                log.warning(&format!("{id}: as in the {baseline}: {reason}"));
            } else {
                log.broken(id, &reason);
            }
        }
    }
    // What no result shows.
    for (case, worse) in report.worse().filter(|(case, _)| !shown.contains(case)) {
        log.broken(case, &format!("{}: {}", report.worse_words(), worse.join("; ")));
    }
    log.document()
}

/// The findings of a check, known ones as suppressed results.
#[must_use]
pub fn sarif_of_check(report: &CheckReport, listings: &Listings) -> Value {
    let mut log = Log { reproduce: report.command(), ..Log::default() };
    let file = &report.file;
    log.add(file, file_name(file), file, &report.findings, &report.findings_omitted, listings);
    log.add_known(file, file_name(file), file, &report.known, listings);
    report.excluded.iter().for_each(|place| log.warning(&format!("{file}: {}", place.line())));
    report.missing_line().into_iter().for_each(|line| log.warning(&format!("{file}: {line}")));
    report.wrong_rows_that_did_not_run().for_each(|row| log.warning(&format!("{file}: {row}")));
    if let Some(sample) = report.sample() {
        log.warning(&format!("{file}: {sample}"));
    }
    if let Some(unmet) = &report.unmet {
        let finding = Finding::of_spec(Verdict::NoFde, MISSING_FDE, "", unmet.clone());
        let mut result = log.result(file, file_name(file), file, &finding, listings);
        result["ruleId"] = json!(MISSING_FDE);
        log.results.push(result);
    }
    if let Some(reason) = report.no_result() {
        log.broken(file, &reason);
    }
    log.document()
}

/// The proved findings of an exploration, known ones as suppressed results.
#[must_use]
fn sarif_of_exploration(report: &ExploreReport) -> Value {
    let mut log = Log::default();
    log.add_exploration(report);
    log.document()
}

/// The proved findings of all files.
fn sarif_of_files(files: &ExploredFiles) -> Value {
    let mut log = Log::default();
    files.reports.iter().for_each(|report| log.add_exploration(report));
    files.refused.iter().for_each(|refused| log.broken(&refused.file, &refused.error));
    log.document()
}

#[derive(Default)]
struct Log {
    results: Vec<Value>,
    notifications: Vec<Value>,
    is_broken: bool,
    /// The command that reproduces the results that are added.
    reproduce: String,
}

impl Log {
    /// Adds what exploring a file has proved.
    fn add_exploration(&mut self, report: &ExploreReport) {
        self.reproduce = report.command();
        let (file, listings) = (&report.file, Listings::default());
        for found in report.proved().take(OF_A_CASE) {
            let mut result = self.result(file, file_name(file), file, &found.finding, &listings);
            result["properties"]["certainty"] = json!(found.certainty);
            result["properties"]["assumptions"] = json!(found.assumptions);
            self.results.push(result);
        }
        if let Some(more) = report.proved().count().checked_sub(OF_A_CASE).filter(|more| *more > 0) {
            self.warning(&format!("{file}: {more} more findings are in report.json"));
        }
        self.add_known(file, file_name(file), file, &report.known, &listings);
        report.open_lines().iter().for_each(|line| self.warning(&format!("{file}: {line}")));
        if let Some(why) = report.without_result() {
            self.broken(file, why.as_str());
        }
    }

    fn result(&self, case: &str, build: &str, file: &str, finding: &Finding, listings: &Listings) -> Value {
        let mut result = result(case, build, file, finding, listings);
        result["properties"]["reproduce"] = json!(self.reproduce);
        result
    }

    fn add(
        &mut self,
        case: &str,
        build: &str,
        file: &str,
        findings: &[Finding],
        omitted: &BTreeMap<Verdict, u64>,
        listings: &Listings,
    ) {
        let groups = groups(findings);
        for group in groups.iter().take(OF_A_CASE) {
            let result = self.result(case, build, file, &group.finding(), listings);
            self.results.push(result);
        }
        if let Some(more) = groups.len().checked_sub(OF_A_CASE).filter(|more| *more > 0) {
            self.warning(&format!("{case}: {more} more findings are in report.json"));
        }
        if let Some(omission) = omission(omitted) {
            self.warning(&format!("{case}: {omission}"));
        }
    }

    fn add_known(&mut self, case: &str, build: &str, file: &str, known: &[SeenKnown], listings: &Listings) {
        for seen in SeenKnown::accepted(known) {
            let mut result = self.result(case, build, file, &seen.finding, listings);
            result["suppressions"] = accepted(&seen.explanation());
            result["occurrenceCount"] = json!(seen.places.max(1));
            result["properties"]["places"] = json!(seen.places.max(1));
            if let Some(fault) = &seen.fault {
                result["properties"]["fault"] = json!(fault);
            }
            self.results.push(result);
        }
    }

    fn warning(&mut self, text: &str) {
        self.notifications.push(json!({ "level": "warning", "message": message(text) }));
    }

    fn broken(&mut self, case: &str, reason: &str) {
        self.is_broken = true;
        let text = format!("{case}: {reason}");
        self.notifications.push(json!({ "level": "error", "message": message(&text) }));
    }

    fn document(self) -> Value {
        let meanings = meanings::<Verdict>();
        let rules: Vec<Value> = verdicts_of_findings()
            .iter()
            .map(|verdict| {
                let meaning = meanings.get(verdict.as_str()).map(String::as_str).unwrap_or_default();
                json!({
                    "id": verdict,
                    "shortDescription": { "text": meaning },
                    "help": { "text": format!("{meaning} {HELP}") },
                    "defaultConfiguration": { "level": level(*verdict) },
                })
            })
            .chain([json!({
                "id": MISSING_FDE,
                "shortDescription": { "text": MISSING_FDE_MEANS },
                "help": { "text": MISSING_FDE_MEANS },
                "defaultConfiguration": { "level": "error" },
            })])
            .collect();
        document("sframe-testbench", &rules, &self.results, &self.notifications, self.is_broken)
    }
}

/// The suppression of a result that is accepted.
fn accepted(why: &str) -> Value {
    json!([{ "kind": "external", "status": "accepted", "justification": why }])
}

/// What linkers have done. A result is at the file of its case.
fn sarif_of_links(table: &LinksTable) -> Value {
    let meanings = meanings::<LinkFault>();
    let rules = LinkFault::ALL.iter().map(|kind| {
        let meaning = meanings.get(kind.as_str()).map(String::as_str).unwrap_or_default();
        json!({ "id": kind, "shortDescription": { "text": meaning }, "defaultConfiguration": { "level": "error" } })
    });
    let rules: Vec<Value> = rules.collect();
    let mut results = Vec::new();
    let mut log = Log::default();
    for report in &table.reports {
        report.without_result().for_each(|why| log.broken(&report.linker, &why));
        for result in &report.results {
            for finding in &result.findings {
                let location = json!({ "physicalLocation": {
                    "artifactLocation": artifact(&format!("corpus/links/{}.yaml", result.case)),
                    "region": { "startLine": 1 },
                } });
                let mut entry = json!({
                    "ruleId": finding.kind,
                    "level": "error",
                    "message": message(&format!("{}: {}: {}", report.linker, result.abi, finding.message)),
                    "locations": [location],
                    "properties": {
                        "linker": report.linker,
                        "case": result.case,
                        "abi": result.abi,
                        "functions": finding.functions,
                        "commands": result.commands,
                    },
                });
                if result.outcome == LinkOutcome::Known {
                    entry["suppressions"] = accepted(&result.known.join(" "));
                }
                results.push(entry);
            }
        }
    }
    document("sframe-testbench", &rules, &results, &log.notifications, log.is_broken)
}

/// The rows that are proved to be wrong where stacks were sampled.
fn sarif_of_samples(report: &SamplesReport) -> Value {
    let rule = json!({
        "id": "wrong-row",
        "shortDescription": { "text": "SFrame differs from CFI in a sample, and exploring proves the row to be wrong." },
        "defaultConfiguration": { "level": "error" },
    });
    let wrong = report.differences.iter().filter(|it| it.explored == Explored::Wrong);
    let results: Vec<Value> = wrong
        .map(|it| {
            let reason = it.reason.as_deref().unwrap_or_default();
            let said = format!("{}: {} ({})", it.place, reason, counted(it.samples, "sample"));
            let region = json!({ "startLine": 1 });
            json!({
                "ruleId": "wrong-row",
                "level": "error",
                "message": message(&said),
                "locations": [{ "physicalLocation": { "artifactLocation": artifact(&it.file), "region": region } }],
            })
        })
        .collect();
    let mut log = Log::default();
    if report.interrupted || !report.is_enough() {
        log.broken(&report.recordings.join(", "), &report.conclusion().sentence());
    }
    document("sframe-testbench", &[rule], &results, &log.notifications, log.is_broken)
}

const HELP: &str = "The call stack is observed from executed calls and returns alone; the row is what the \
                    unwinder looked up at the address. report.html, beside this file, has the instructions, \
                    the stack at that moment, and what other witnesses say.";

const fn level(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::ByLuck => "warning",
        _ => "error",
    }
}

fn result(case: &str, build: &str, file: &str, finding: &Finding, listings: &Listings) -> Value {
    // The file has no lines, but tools that show results beside code want one.
    let mut physical = json!({ "artifactLocation": artifact(file), "region": { "startLine": 1 } });
    if let Some(pc) = finding.pc {
        physical["address"] = json!({ "fullyQualifiedName": pc, "kind": "instruction" });
        if let Ok(absolute) = i64::try_from(pc.0) {
            physical["address"]["absoluteAddress"] = json!(absolute);
        }
    }
    let mut location = json!({ "physicalLocation": physical });
    if let Some(function) = &finding.function {
        let qualified = match &finding.image {
            Some(image) => format!("{image}!{function}"),
            None => function.clone(),
        };
        location["logicalLocations"] =
            json!([{ "name": function, "fullyQualifiedName": qualified, "kind": "function" }]);
    }
    let mut result = json!({
        "ruleId": finding.verdict,
        "level": level(finding.verdict),
        "message": message(&in_a_line(&Group::alone(finding))),
        "locations": [location],
        "partialFingerprints": { "functionRowVerdict/v2": fingerprint(build, finding) },
        "occurrenceCount": finding.hits.clamp(1, i32::MAX as u64),
        "properties": {
            "case": case,
            // sarif-tools uses `blame` for the author of a line.
            "responsible": finding.blame,
            "confidence": finding.confidence,
            "places": finding.places,
            "row": finding.row,
            "expected": finding.expected,
            "got": finding.got,
            "instruction": finding.instruction,
            "library": finding.image,
            "frame": finding.frame,
            "evidence": finding.evidence,
            "hint": finding.hint,
            "fault": finding.fault,
        },
    });
    if let Some(SourceLine { file, line }) = listings.pool().line(case, finding) {
        result["relatedLocations"] = json!([{
            "physicalLocation": {
                "artifactLocation": { "uri": uri(file) },
                "region": { "startLine": (*line).max(1) },
            },
            "message": { "text": "the line of the source, by the line table" },
        }]);
    }
    result
}
