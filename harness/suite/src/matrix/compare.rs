//! Compares a case of a toolchain with that of its reference.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::Serialize;
use sframe_engine::Abi;
use sframe_judge::finding::{Address, Blame, Confidence, Finding, KnownFault, Said};
use sframe_judge::vocabulary::{End, Verdict};
use sframe_kit::text::grouped;

use super::fit::{Fitted, InFiles, WrongInFile, base_name};
use crate::case::{CaseReport, Outcome, SeenKnown};
use crate::identity::Identity;

/// What findings in the code of different compilers have in common.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[non_exhaustive]
pub struct Kind {
    /// What is wrong.
    pub verdict: String,
    /// The library; `None` for the executable.
    pub image: Option<String>,
    /// The function, without the suffixes that compilers add to the names of
    /// parts and copies: `f` for `f.cold`.
    pub function: Option<String>,
    /// The fault whose signs all findings of this kind have, if they have such: the same verdict in the same function may
    /// have another cause.
    #[serde(skip)]
    pub by_signs: Option<String>,
}

impl Kind {
    /// This kind, whatever the cause.
    fn of_any_cause(&self) -> Self {
        Self { by_signs: None, ..self.clone() }
    }
}

impl Comparison {
    /// Whether there is something to reproduce.
    #[must_use]
    pub fn is_remarkable(&self) -> bool {
        !self.worse.is_empty() || matches!(self.standing, Standing::Broken | Standing::Lost)
    }
}

impl std::fmt::Display for Kind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.verdict)?;
        match (&self.image, &self.function) {
            (Some(image), Some(function)) => write!(f, " in {image}: {function}"),
            (None, Some(function)) => write!(f, " in {function}"),
            (Some(image), None) => write!(f, " in {image}"),
            (None, None) => Ok(()),
        }
    }
}

/// A kind of findings in one case.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct KindDetail {
    /// The kind.
    #[serde(flatten)]
    pub kind: Kind,
    /// The starts of the rows, in bytes from the start of the function.
    pub rows: BTreeSet<Address>,
    /// The likely cause of the first of them.
    pub blame: Blame,
    /// How sure that is.
    pub confidence: Confidence,
    /// The first finding, in a sentence.
    pub message: String,
    /// Why the reference has it, if its spec gives a reason.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The fault that it comes from, if the reference's spec names one, or a page describes it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fault: Option<String>,
    /// What the page says that describes the first finding, in short.
    #[serde(skip)]
    pub page: Option<String>,
}

/// How a case compares with the reference's, ordered from best to worst.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Standing {
    /// Its spec says not to run it.
    Skipped,
    /// It has the same kinds of findings as the reference.
    Same,
    /// Some of the reference's kinds, and no others.
    Better,
    /// The reference has no such case to compare with.
    NoReference,
    /// The bench could not do its work here, but could with the reference.
    Broken,
    /// Kinds of findings that the reference does not have.
    Worse,
    /// The reference has such a build, and this toolchain has made none, one without `.sframe`, or one of which hardly
    /// anything ran.
    Lost,
}

/// The result of comparing a case.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Comparison {
    /// The case: `<spec>/<toolchain>/<abi>/<variant>`.
    pub id: String,
    /// The build's name in the work folder.
    pub build: String,
    /// The ABI.
    pub abi: Abi,
    /// Version of the section.
    pub sframe_version: u8,
    /// The reference's build, if there is one.
    pub reference: Option<String>,
    /// The outcome of the comparison.
    pub standing: Standing,
    /// Why it is broken, skipped, or has no reference.
    pub reason: Option<String>,
    /// Kinds that the reference does not have; without a reference, all that
    /// the spec does not explain.
    pub worse: Vec<KindDetail>,
    /// Kinds that only the reference has.
    pub better: Vec<KindDetail>,
    /// What can't be judged, because it depends on how a compiler generates
    /// code.
    pub not_checked: Vec<String>,
    /// The command that reproduces what is worse or broken.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reproduce: Option<String>,
    /// Instructions at which backtrace and call stack were compared.
    pub comparisons: u64,
    /// Rows that cover at least one byte.
    pub rows_total: u64,
    /// Rows that the topmost frame used.
    pub rows_exercised: u64,
    /// Rows of the reference that cover at least one byte.
    pub reference_rows_total: u64,
    /// Rows that the reference's topmost frame used.
    pub reference_rows_exercised: u64,
}

/// Which part of what was compared of the reference has to be, however code is generated.
const HARDLY: u64 = 10;

/// A case of the reference, with what the files of its build show.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reference<'r> {
    pub(super) report: &'r CaseReport,
    pub(super) files: &'r InFiles,
}

/// What is wrong with a build, and what has no FDE.
struct Ours<'c> {
    kinds: &'c BTreeMap<Kind, KindDetail>,
    uncovered: &'c BTreeMap<Kind, KindDetail>,
    /// The functions of the build, and whether they have an FDE.
    functions: &'c BTreeMap<String, bool>,
}

impl Ours<'_> {
    /// What only the reference has wrong, and what of that could not be judged here: without code, or without an FDE for it,
    /// nothing is better.
    fn better_than(&self, theirs: &BTreeMap<Kind, KindDetail>) -> (Vec<KindDetail>, Vec<String>) {
        let of_any_cause: BTreeSet<Kind> = self.kinds.keys().map(Kind::of_any_cause).collect();
        let only_theirs = theirs.iter().filter(|(kind, _)| {
            let is_named = kind.function.is_some() || kind.image.is_some();
            let verdict = |own: &Kind| own.verdict == kind.verdict;
            if is_named {
                !of_any_cause.contains(&kind.of_any_cause())
            } else {
                !of_any_cause.iter().any(verdict)
            }
        });
        // Without code, or without an FDE for it, nothing is better.
        let (mut better, mut no_code, mut no_rows) = (Vec::new(), Vec::new(), Vec::new());
        for detail in only_theirs.map(|(_, detail)| detail.clone()) {
            let Kind { verdict, function, .. } = &detail.kind;
            let without_fde = no_fde(function.as_ref());
            // What linkers generate has no symbol.
            let is_described = function.as_ref().map(|name| match self.functions.get(name) {
                None if name.contains(['@', '.', '!']) => Some(true),
                described => described.copied(),
            });
            let is_without = function.is_some() && self.uncovered.contains_key(&without_fde)
                || is_described == Some(Some(false));
            if is_described == Some(None) {
                no_code.push(format!("{} of the reference: there is no such function", detail.kind));
            } else if *verdict != without_fde.verdict && is_without {
                no_rows.push(format!("{} of the reference: code of it has no FDE", detail.kind));
            } else {
                better.push(detail);
            }
        }
        no_code.append(&mut no_rows);
        (better, no_code)
    }
}

/// Compares a case with its reference's, and removes what can't be judged from
/// the report.
pub(super) fn compare(
    fitted: &Fitted<'_>,
    report: &mut CaseReport,
    reference: Option<Reference<'_>>,
) -> Comparison {
    let nothing = InFiles::default();
    let in_theirs = reference.map_or(&nothing, |reference| reference.files);
    let reference = reference.map(|reference| reference.report);
    let mut not_checked = fitted.left_out.clone();
    settle(report, &mut not_checked);
    let mut comparison = Comparison {
        id: report.id.clone(),
        build: report.build.clone(),
        abi: report.abi,
        sframe_version: report.sframe_version,
        reference: reference.map(|reference| reference.build.clone()),
        standing: Standing::Same,
        reason: report.reason.clone(),
        worse: Vec::new(),
        better: Vec::new(),
        not_checked,
        reproduce: None,
        comparisons: report.counts.comparisons,
        rows_total: report.rows.total,
        rows_exercised: report.rows.exercised,
        reference_rows_total: reference.map_or(0, |reference| reference.rows.total),
        reference_rows_exercised: reference.map_or(0, |reference| reference.rows.exercised),
    };
    let is_usable = |case: &&CaseReport| !matches!(case.outcome, Outcome::Broken | Outcome::Skipped);
    let usable = reference.filter(is_usable);
    match (report.outcome, usable) {
        (Outcome::Skipped, _) => comparison.standing = Standing::Skipped,
        (Outcome::Broken, None) if reference.is_some_and(|reference| reference.reason == report.reason) => {
            comparison.standing = Standing::Same;
        }
        (Outcome::Broken, _) => comparison.standing = Standing::Broken,
        (_, None) if reference.is_some_and(|reference| reference.outcome == Outcome::Broken) => {
            let reason = |reference: &CaseReport| {
                format!("{} is broken: {}", reference.id, reference.reason.as_deref().unwrap_or_default())
            };
            comparison.reason = reference.map(reason);
            comparison.standing = Standing::Broken;
        }
        _ if fitted.files.functions.is_empty() => {
            let reason =
                "stripped: findings can't be matched with the reference's, which are known by function";
            report.outcome = Outcome::Broken;
            report.reason = Some(reason.to_owned());
            comparison.reason.clone_from(&report.reason);
            comparison.standing = Standing::Broken;
        }
        (_, None) => {
            comparison.reason = Some(match (reference, &fitted.reference) {
                (Some(reference), _) => format!("{} is {}", reference.id, reference.outcome.name()),
                (None, Some(id)) => {
                    format!("{} has no such build", id.split('/').next().unwrap_or_default())
                }
                (None, None) => format!("no reference writes version {}", report.sframe_version),
            });
            comparison.standing = Standing::NoReference;
            let mut own = of_findings(report.findings.iter());
            add_missing(&fitted.files, in_theirs, &mut own);
            comparison.worse = own.into_values().collect();
        }
        (_, Some(reference)) => {
            let (mut own, mut theirs) = (kinds(report), kinds(reference));
            let wrong = of_findings(
                findings(report).filter(|finding| !is_theirs(finding, (reference, in_theirs), &theirs)),
            );
            // What a spec excepts is nobody's fault; if only the reference has it, the other has an
            // advantage.
            add_uncovered(reference, &mut theirs);
            let mut uncovered = BTreeMap::new();
            add_uncovered(report, &mut uncovered);
            own.extend(uncovered.clone().into_iter().filter(|(kind, _)| theirs.contains_key(kind)));
            let mut missing = BTreeMap::new();
            add_missing(&fitted.files, in_theirs, &mut missing);
            missing.retain(|kind, _| !theirs.contains_key(kind));
            add_wrong(&fitted.files, in_theirs, &theirs, &mut missing);
            own.extend(missing.clone());
            comparison.worse =
                missing.into_iter().chain(wrong).collect::<BTreeMap<_, _>>().into_values().collect();
            let ours = Ours { kinds: &own, uncovered: &uncovered, functions: &fitted.files.functions };
            let (better, not_checked) = ours.better_than(&theirs);
            comparison.not_checked.extend(not_checked);
            comparison.better = better;
            comparison.standing = match (comparison.worse.is_empty(), comparison.better.is_empty()) {
                (false, _) => Standing::Worse,
                (true, false) => Standing::Better,
                (true, true) => Standing::Same,
            };
            let (ran, theirs) = (report.counts.comparisons, reference.counts.comparisons);
            if ran < theirs / HARDLY {
                comparison.standing = Standing::Lost;
                let (ran, theirs) = (grouped(ran), grouped(theirs));
                comparison.reason =
                    Some(format!("{ran} instructions were compared, {theirs} of the reference"));
            }
        }
    }
    comparison
}

/// That of a case that the reference has, and for which there is no build.
pub(super) fn lost(report: &CaseReport, reference: &str) -> Comparison {
    Comparison {
        id: report.id.clone(),
        build: report.build.clone(),
        abi: report.abi,
        sframe_version: report.sframe_version,
        reference: Some(reference.to_owned()),
        standing: Standing::Lost,
        reason: report.reason.clone(),
        worse: Vec::new(),
        better: Vec::new(),
        not_checked: Vec::new(),
        reproduce: None,
        comparisons: 0,
        rows_total: 0,
        rows_exercised: 0,
        reference_rows_total: 0,
        reference_rows_exercised: 0,
    }
}

/// Removes findings from a report that another compiler is not responsible for,
/// or that only show that the spec was written for another one.
fn settle(report: &mut CaseReport, not_judged: &mut Vec<String>) {
    report.findings.retain(|finding| match finding.verdict {
        // A failure of the reference that this one does not have.
        Verdict::UnexpectedPass | Verdict::ChangedFailure => false,
        Verdict::NotReached | Verdict::UnexpectedFrames => {
            not_judged.push(finding.message.to_string());
            false
        }
        Verdict::WrongEnd => is_worse_end(finding),
        _ => true,
    });
    if report.outcome == Outcome::Unexpected {
        report.outcome = report.outcome_of_findings();
    }
}

/// Ranks an end by its distance from the best, a mark as outermost.
fn rank(end: End) -> u8 {
    match end {
        End::Outermost => 0,
        End::Unmarked | End::Context => 1,
        End::NoFde | End::InRegister | End::NoProgress => 2,
    }
}

/// The rank of the worst of what is expected, or was seen, except for some ends; `None` if nothing is left.
fn worst(said: &Said, except: &[End]) -> Option<u8> {
    match said {
        Said::Ends(ends) => ends.iter().filter(|end| !except.contains(end)).map(|end| rank(*end)).max(),
        Said::WholeBacktrace | Said::AnotherEnd => Some(1),
        Said::Address(_) | Said::Words(_) => Some(2),
    }
}

/// Whether backtraces end in a worse way than the spec expects. A better end,
/// or one that was not seen, does not count.
fn is_worse_end(finding: &Finding) -> bool {
    let expected: &[End] = match &finding.expected {
        Said::Ends(ends) => ends,
        _ => &[],
    };
    let got = worst(&finding.got, expected);
    got.is_some_and(|got| got > 0 && got >= worst(&finding.expected, &[]).unwrap_or_default())
}

/// All findings that are judged, known or not.
fn findings(report: &CaseReport) -> impl Iterator<Item = &Finding> {
    let known = report.known.iter().flat_map(SeenKnown::explained);
    report.findings.iter().chain(known).filter(|finding| is_judged(finding))
}

/// The kinds of all findings, known or not.
fn kinds(report: &CaseReport) -> BTreeMap<Kind, KindDetail> {
    let mut kinds = of_findings(findings(report));
    for seen in report.known.iter().filter(|seen| is_judged(&seen.finding)) {
        for finding in seen.explained() {
            let kind = kind_of(finding);
            // A fault known in any function may be found in other functions elsewhere.
            let anywhere = Kind { function: None, image: None, ..kind.clone() };
            for kind in [Some(kind), seen.function.is_none().then_some(anywhere)].into_iter().flatten() {
                let detail = kinds.entry(kind.clone()).or_insert_with(|| detail(kind, finding));
                detail.reason.get_or_insert_with(|| seen.explanation());
                detail.fault = detail.fault.take().or_else(|| seen.fault.clone());
            }
        }
    }
    kinds
}

/// Whether the reference has a finding as well: the same one, if its build has the same function with the same code, and else
/// one of its kind. Where signs say what that of the reference comes from, another cause is something else.
fn is_theirs(
    finding: &Finding,
    (reference, in_theirs): (&CaseReport, &InFiles),
    theirs: &BTreeMap<Kind, KindDetail>,
) -> bool {
    let own = Identity::of(finding);
    let function = finding.function.clone().zip(finding.code.as_ref().map(|code| code.digest.clone()));
    if function.is_some_and(|function| in_theirs.codes.contains(&function)) {
        let is_of_code = |their: &&Finding| {
            let digests = [&their.code, &finding.code].map(|code| code.as_ref().map(|code| &code.digest));
            digests[0] == digests[1] && their.function == finding.function
        };
        let is_same =
            |their: Identity| (their.verdict, their.row, their.cfa) == (own.verdict, own.row, own.cfa);
        return findings(reference).filter(is_of_code).map(Identity::of).any(is_same);
    }
    let kind = kind_of(finding);
    let anywhere = Kind { function: None, image: None, ..kind.clone() };
    let kinds = [kind.of_any_cause(), anywhere.of_any_cause(), kind, anywhere];
    kinds.iter().any(|kind| theirs.contains_key(kind))
}

/// Adds the code without an FDE, excepted or not.
fn add_uncovered(report: &CaseReport, kinds: &mut BTreeMap<Kind, KindDetail>) {
    for function in report.uncovered.keys() {
        let message = format!("code of {function} without an FDE");
        let finding = Finding::of_spec(Verdict::NoFde, "", "", message);
        let kind = no_fde(Some(function));
        kinds.entry(kind.clone()).or_insert_with(|| detail(kind, &finding));
    }
}

/// Adds the functions without an FDE, executed or not, that could have one, or have one in the reference.
fn add_missing(own: &InFiles, theirs: &InFiles, kinds: &mut BTreeMap<Kind, KindDetail>) {
    let could = own.missing.difference(&theirs.missing).map(|function| {
        (function, format!("{function}: it has call frame information that can be expressed, and no FDE"))
    });
    let is_described = |name: &String| theirs.functions.get(name) == Some(&true);
    let lost = own.functions.iter().filter(|(name, described)| !**described && is_described(name));
    let lost = lost.map(|(function, _)| (function, format!("{function}: it has no FDE")));
    for (function, message) in could.chain(lost) {
        let kind = no_fde(Some(function));
        let finding = Finding::of_spec(Verdict::NoFde, "", "", message);
        kinds.entry(kind.clone()).or_insert_with(|| detail(kind, &finding));
    }
}

/// Adds what is wrong with the files' sections by themselves, whether or not that has run, and not with those of the
/// reference.
fn add_wrong(
    own: &InFiles,
    theirs: &InFiles,
    known: &BTreeMap<Kind, KindDetail>,
    kinds: &mut BTreeMap<Kind, KindDetail>,
) {
    let is_known = |kind: &Kind| {
        let anywhere = Kind { function: None, image: None, ..kind.clone() };
        known.keys().map(Kind::of_any_cause).any(|known| known == *kind || known == anywhere)
    };
    let is_theirs = |kind: &Kind, wrong: &WrongInFile| {
        let of_kind = theirs.wrong.get(kind);
        match &wrong.function {
            // With the same code, the same has to be wrong.
            Some(function) if theirs.codes.contains(function) => {
                of_kind.is_some_and(|all| all.contains(wrong))
            }
            _ => of_kind.is_some() || is_known(kind),
        }
    };
    for (kind, all) in &own.wrong {
        if let Some(wrong) = all.iter().find(|wrong| !is_theirs(kind, wrong)) {
            let finding = Finding::of_spec(Verdict::WrongCfa, "", "", wrong.says.clone());
            kinds.entry(kind.clone()).or_insert_with(|| detail(kind.clone(), &finding));
        }
    }
}

fn is_judged(finding: &Finding) -> bool {
    // What the format can't express, no toolchain can do better.
    finding.blame != Blame::Format
        && !matches!(
            finding.verdict,
            Verdict::UnexpectedPass
                | Verdict::ChangedFailure
                | Verdict::NotReached
                | Verdict::UnexpectedFrames
        )
}

/// Code without an FDE is listed by function alone.
fn no_fde(function: Option<&String>) -> Kind {
    // Without a symbol, coverage gives addresses, which mean nothing in another build.
    let function = function.filter(|name| !name.starts_with("0x")).map(|name| base_name(name).to_owned());
    Kind { verdict: Verdict::NoFde.to_string(), image: None, function, by_signs: None }
}

fn of_findings<'f>(findings: impl Iterator<Item = &'f Finding>) -> BTreeMap<Kind, KindDetail> {
    let mut kinds: BTreeMap<Kind, KindDetail> = BTreeMap::new();
    for finding in findings {
        let kind = kind_of(finding);
        let entry = kinds.entry(kind.clone()).or_insert_with(|| detail(kind, finding));
        entry.rows.extend(finding.row.as_ref().map(|row| row.start));
    }
    kinds
}

/// The kind of a finding.
pub(crate) fn kind_of(finding: &Finding) -> Kind {
    match finding.verdict {
        Verdict::NoFde => no_fde(finding.function.as_ref()),
        verdict => Kind {
            verdict: verdict.to_string(),
            image: finding.image.clone(),
            function: finding.function.as_ref().map(|name| base_name(name).to_owned()),
            by_signs: finding.fault.as_ref().map(|fault| fault.name.clone()),
        },
    }
}

fn detail(kind: Kind, finding: &Finding) -> KindDetail {
    KindDetail {
        kind,
        rows: finding.row.iter().map(|row| row.start).collect(),
        blame: finding.blame,
        confidence: finding.confidence,
        message: finding.message.to_string(),
        reason: None,
        fault: finding.fault.as_ref().map(|fault| fault.name.clone()),
        page: finding.fault.as_ref().map(KnownFault::brief),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn end(expected: &str, got: &str) -> bool {
        // As documents have them.
        let said = |text: &str| serde_json::from_value::<Said>(text.into()).expect("text");
        is_worse_end(&Finding::of_spec(Verdict::WrongEnd, said(expected), said(got), String::new()))
    }

    #[test]
    fn a_function_that_only_this_build_has_no_fde_for_is_worse() {
        let files = |missing: &[&str], functions: &[(&str, bool)]| InFiles {
            functions: functions.iter().map(|(name, described)| ((*name).to_owned(), *described)).collect(),
            missing: missing.iter().map(|name| (*name).to_owned()).collect(),
            ..InFiles::default()
        };
        let mut kinds = BTreeMap::new();
        let own = files(&["lost", "bare"], &[("without_cfi", false), ("kept", true), ("assembly", false)]);
        let theirs = files(&["bare", "other"], &[("without_cfi", true), ("kept", true), ("assembly", false)]);
        add_missing(&own, &theirs, &mut kinds);
        let kinds: Vec<String> = kinds.keys().map(ToString::to_string).collect();
        assert_eq!(kinds, ["no-fde in lost", "no-fde in without_cfi"]);
    }

    #[test]
    fn an_end_is_worse_only_if_it_is_further_from_the_outermost_frame() {
        assert!(end("outermost", "outermost, unmarked"), "a mark is missing");
        assert!(end("unmarked", "unmarked, in-register"));
        assert!(end("a whole backtrace", "no-progress"));
        assert!(end("another end", "no-progress"), "of a signal");
        assert!(!end("unmarked", "outermost"), "a mark that the reference does not have");
        assert!(!end("outermost, context", "outermost"), "an end that was not seen");
        assert!(!end("no-progress", "unmarked"), "whole, but should not be");
    }
}
