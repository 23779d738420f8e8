//! What the report of a run proves of an unwinder: for which parts of the corpus it may claim to be right.
//!
//! A report is proof if it is of this corpus, of these specs and of this version of the bench, and says nothing that
//! contradicts itself. A part is an ABI with a version of the format: it may be claimed if each of its cases has run, and
//! none has failed, except those that a waiver names.

use std::collections::BTreeMap;

use chrono::NaiveDate;
use serde::Deserialize;
use sframe_engine::Abi;
use sframe_judge::external::StopsPerCase;
use sframe_kit::conclusion::{Conclusion, Ending};
use sframe_kit::text::{Text, counted, first_of, grouped};

use super::{Baseline, Report, RunIdentity, UnfitReport};
use crate::case::{Case, CaseReport, Outcome};
use crate::provenance::started;
use crate::suite::Suite;

/// The most cases that are named.
const NAMED: usize = 3;

/// Failing cases that may be there until a day.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Waiver {
    /// The cases, as a pattern of their IDs.
    case: String,
    /// Why they may fail.
    reason: String,
    /// Where that is discussed.
    link: String,
    /// The last day on which they may.
    expires: NaiveDate,
}

/// Why a report proves nothing.
#[derive(Debug, thiserror::Error)]
pub enum NoProof {
    /// It has another format, or covers only a part of a run.
    #[error(transparent)]
    Unfit(#[from] UnfitReport),
    /// `matrix`, or an older bench, has written it.
    #[error("it does not say of which run it is: only reports of `run` and `merge` are proof")]
    NoRun,
    /// It is of something else.
    #[error("it is of another {what}: {theirs}; this is {ours}")]
    Other {
        /// Of what.
        what: &'static str,
        /// What the report says.
        theirs: String,
        /// What is here.
        ours: String,
    },
    /// Less was asked than what a claim takes.
    #[error("the run had {0}: it may not have seen what is wrong")]
    TooLittle(String),
    /// A case is not in the corpus, or is said to be what it is not.
    #[error("case {case}: {why}")]
    Case {
        /// Its ID.
        case: String,
        /// What is wrong.
        why: String,
    },
    /// A waiver is no waiver.
    #[error("waivers: {0}")]
    Waiver(String),
}

/// What is known of a part of the corpus, without the cases that specs exclude from running.
#[derive(Debug, Default)]
struct Part {
    right: u64,
    /// Those of them whose sections are known to be wrong.
    known: u64,
    /// Those of them in which the unwinder was not asked about everything: it does not follow sections that programs register.
    partly: u64,
    failing: Vec<String>,
    waived: Vec<String>,
    missing: Vec<String>,
}

impl Part {
    fn was_run(&self) -> bool {
        self.right > 0 || !self.failing.is_empty() || !self.waived.is_empty()
    }

    fn may_be_claimed(&self) -> bool {
        self.right > 0 && self.failing.is_empty() && self.missing.is_empty()
    }

    fn says(&self) -> String {
        let Self { right, known, partly, failing, waived, missing } = self;
        let cases = *right + [failing, waived, missing].map(Vec::len).into_iter().sum::<usize>() as u64;
        let list = |what: &str, ids: &[String]| {
            let count = counted(ids.len() as u64, "case");
            (!ids.is_empty()).then(|| format!("{count} {what}: {}", first_of(ids, NAMED)))
        };
        if !self.was_run() {
            return "not run".to_owned();
        }
        let right = format!("{} of {} right", grouped(*right), counted(cases, "case"));
        let of_them =
            |count: u64, what: &str| (count > 0).then(|| format!("{} of them {what}", grouped(count)));
        let known = of_them(*known, "with sections that are known to be wrong");
        let partly = of_them(*partly, "without the sections that they register, which it does not follow");
        let others = [list("waived", waived), list("failing", failing), list("missing", missing)];
        let others = [known, partly].into_iter().chain(others).flatten();
        std::iter::once(right).chain(others).collect::<Vec<_>>().join("; ")
    }
}

/// What an unwinder may claim.
#[derive(Debug)]
pub struct Claim<'r> {
    run: &'r RunIdentity,
    parts: BTreeMap<(u8, Abi), Part>,
    /// Waivers that don't hold, and why.
    void: Vec<String>,
}

impl<'r> Claim<'r> {
    /// What may be claimed by a report.
    ///
    /// # Errors
    /// It is no proof.
    pub fn of(
        report: &'r Report,
        suite: &Suite,
        cases: &[Case<'_>],
        waivers: &[Waiver],
    ) -> Result<Self, NoProof> {
        Baseline::check(report)?;
        report.is_whole().map_err(UnfitReport::from)?;
        let run = report.run.as_ref().ok_or(NoProof::NoRun)?;
        is_of_this(run, suite)?;
        let given: BTreeMap<&str, &CaseReport> =
            report.cases.iter().map(|case| (case.id.as_str(), case)).collect();
        let known: BTreeMap<String, &Case<'_>> = cases.iter().map(|case| (case.id(), case)).collect();
        for (id, case) in &given {
            let own = known.get(*id).ok_or_else(|| "it is not in the corpus".to_owned());
            let sound = own.and_then(|own| contradiction(case, own, run).map_or(Ok(()), Err));
            sound.map_err(|why| NoProof::Case { case: (*id).to_owned(), why })?;
        }
        let mut waivers = Waivers::new(waivers)?;
        let mut parts: BTreeMap<(u8, Abi), Part> = BTreeMap::new();
        for (id, case) in known {
            let part = parts.entry((case.build.sframe_version, case.build.abi)).or_default();
            let given = given.get(id.as_str());
            let unwinder = given.and_then(|case| case.unwinder.as_ref());
            part.partly += u64::from(unwinder.is_some_and(|unwinder| unwinder.not_followed > 0));
            match given.map(|case| case.outcome) {
                Some(Outcome::Skipped) => {}
                None => part.missing.push(id),
                Some(Outcome::Agree) => part.right += 1,
                Some(Outcome::Known) => (part.right, part.known) = (part.right + 1, part.known + 1),
                Some(Outcome::Unexpected | Outcome::Broken) if waivers.takes(&id) => part.waived.push(id),
                Some(Outcome::Unexpected | Outcome::Broken) => part.failing.push(id),
            }
        }
        Ok(Self { run, parts, void: waivers.void() })
    }

    /// Who claims, and what is known of each part.
    #[must_use]
    pub fn text(&self) -> Text {
        let RunIdentity { unwinder, bench, corpus, specs, date, .. } = self.run;
        let mut text = Text::default();
        text.line(format_args!("unwinder: {} {}", unwinder.name, unwinder.version));
        unwinder.files.iter().for_each(|file| text.line(format_args!("SHA-256 of its file: {file}")));
        let asked = match unwinder.stops_per_case.as_deref() {
            None | Some("all") => "at every instruction".to_owned(),
            Some(stops) => format!("with --stops-per-case {stops}"),
        };
        text.line(format_args!("asked {asked}, by sframe-testbench {bench}, on {date}"));
        text.line(format_args!("SHA-256 of corpus: {corpus}"));
        text.line(format_args!("SHA-256 of specs: {specs}"));
        text.line("");
        for (part, known) in &self.parts {
            text.wrap("", &format!("{}: {}", name(*part), known.says()), "    ");
        }
        text.line("");
        text
    }

    /// What may be claimed, and why the rest may not.
    #[must_use]
    pub fn conclusion(&self) -> Conclusion {
        let claimed = self.named(Part::may_be_claimed);
        let refused = self.named(|part| part.was_run() && !part.may_be_claimed());
        let not_run = self.named(|part| !part.was_run());
        let waived: usize = self.parts.values().map(|part| part.waived.len()).sum();
        let ending = match () {
            () if !refused.is_empty() || !self.void.is_empty() => Ending::Fail,
            () if claimed.is_empty() => Ending::Inconclusive,
            () => Ending::Pass,
        };
        let with = match waived as u64 {
            0 => String::new(),
            count => format!(", with {} waived", counted(count, "case")),
        };
        let of_parts = |says: &str, parts: Vec<String>| {
            (!parts.is_empty()).then(|| format!("{says}: {}", parts.join("; ")))
        };
        let mut facts: Vec<String> = self.void.clone();
        facts.extend(of_parts("can't be claimed", refused));
        facts.extend(of_parts(&format!("may be claimed{with}"), claimed));
        facts.extend(of_parts("not run", not_run));
        Conclusion { ending, facts }
    }

    /// Names some parts: the ABIs of each version.
    fn named(&self, is_it: impl Fn(&Part) -> bool) -> Vec<String> {
        let mut versions: BTreeMap<u8, Vec<&str>> = BTreeMap::new();
        for ((version, abi), _) in self.parts.iter().filter(|(_, part)| is_it(part)) {
            versions.entry(*version).or_default().push(abi.name());
        }
        versions.iter().map(|(version, abis)| format!("SFrame V{version} on {}", abis.join(", "))).collect()
    }
}

fn name((version, abi): (u8, Abi)) -> String {
    format!("SFrame V{version} on {abi}")
}

/// Whether a run is of this bench, its corpus and its specs, and has asked enough.
fn is_of_this(run: &RunIdentity, suite: &Suite) -> Result<(), NoProof> {
    let all = [
        ("version of the bench", &run.bench, env!("CARGO_PKG_VERSION").to_owned()),
        ("corpus", &run.corpus, suite.corpus_digest()),
        ("set of specs", &run.specs, suite.specs_digest()),
    ];
    for (what, theirs, ours) in all {
        if *theirs != ours {
            return Err(NoProof::Other { what, theirs: theirs.clone(), ours });
        }
    }
    let StopsPerCase::AtMost(fewest) = StopsPerCase::DEFAULT else { return Ok(()) };
    match run.unwinder.stops_per_case.as_deref() {
        _ if run.options.pattern == "zeroes" => Err(NoProof::TooLittle("--pattern zeroes".to_owned())),
        None | Some("all") => Ok(()),
        Some(stops) if stops.parse::<u64>().is_ok_and(|stops| stops >= fewest) => Ok(()),
        Some(stops) => Err(NoProof::TooLittle(format!("--stops-per-case {stops}"))),
    }
}

/// What a report says of a case that can't be.
fn contradiction(report: &CaseReport, case: &Case<'_>, run: &RunIdentity) -> Option<String> {
    let CaseReport { outcome, findings, .. } = report;
    if (report.abi, report.sframe_version) != (case.build.abi, case.build.sframe_version) {
        let (version, abi) = (report.sframe_version, report.abi);
        return Some(format!("it is said to be of {}", name((version, abi))));
    }
    if *outcome == Outcome::Skipped {
        return case.spec.skip_for(&case.facts()).is_none().then(|| "its spec does not skip it".to_owned());
    }
    if *outcome == Outcome::Broken {
        return None;
    }
    if *outcome != report.outcome_of_findings() {
        let found = counted(findings.len() as u64, "finding");
        return Some(format!("it is said to be {}, and has {found}", outcome.name()));
    }
    let reads_sframe = match (&run.unwinder.stops_per_case, &report.unwinder) {
        (None, None) => true,
        (Some(_), Some(unwinder)) => unwinder.data == "sframe",
        _ => false,
    };
    match () {
        () if !reads_sframe => Some("the unwinder does not read SFrame there".to_owned()),
        () if report.counts.comparisons == 0 => Some("nothing was compared".to_owned()),
        () if *outcome == Outcome::Agree && report.agree != report.counts.comparisons => {
            Some("it is said to agree, and some comparisons do not".to_owned())
        }
        () => None,
    }
}

/// Waivers, and how many cases each has been needed for.
struct Waivers<'w>(Vec<(&'w Waiver, glob::Pattern, u64)>);

impl<'w> Waivers<'w> {
    fn new(waivers: &'w [Waiver]) -> Result<Self, NoProof> {
        let read = |waiver: &'w Waiver| {
            let Waiver { case, reason, link, .. } = waiver;
            if reason.trim().is_empty() || link.trim().is_empty() {
                return Err(NoProof::Waiver(format!("{case}: a waiver has a reason and a link")));
            }
            let pattern = glob::Pattern::new(case);
            let pattern = pattern.map_err(|error| NoProof::Waiver(format!("{case}: {error}")))?;
            Ok((waiver, pattern, 0))
        };
        waivers.iter().map(read).collect::<Result<_, _>>().map(Self)
    }

    /// Whether one of them is about a case, and has not expired.
    fn takes(&mut self, case: &str) -> bool {
        let today = started().date_naive();
        let mut is_taken = false;
        for (waiver, pattern, needed) in &mut self.0 {
            if pattern.matches(case) {
                *needed += 1;
                is_taken |= today <= waiver.expires;
            }
        }
        is_taken
    }

    /// Those that don't hold.
    fn void(&self) -> Vec<String> {
        let today = started().date_naive();
        let says = |(waiver, _, needed): &(&Waiver, glob::Pattern, u64)| {
            let Waiver { case, expires, .. } = waiver;
            match needed {
                _ if *expires < today => Some(format!("the waiver of {case} has expired on {expires}")),
                0 => Some(format!("the waiver of {case} is about no case that fails")),
                _ => None,
            }
        };
        self.0.iter().filter_map(says).collect()
    }
}
