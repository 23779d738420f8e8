//! What has come of the answers of an unwinder.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;
use sframe_engine::DwarfRegister;
use sframe_protocol::{Hello, Stop};

use super::judge::{FaultFinding, Judge, Judged, unplaced};
use super::pending::Pending;
use super::process::{Fault, shown};
use super::report::{UnwinderExamination, UnwinderReport};
use crate::compare::{ByPc, Disagreement, LastInstructions, Reliabilities, Value, WalkEnd};
use crate::examine::{Examination, WalkEnds};
use crate::finding::{self, Blame, Confidence, Finding};
use crate::target::{Linked, Loaded, Target};
use crate::triage::{Findings, FrameView, Mistakes, Triage};
use crate::vocabulary::Verdict;

/// All answers so far.
#[derive(Default)]
pub(super) struct Answers {
    asked: u64,
    nothing_compared: u64,
    unread: u64,
    /// Walks that are worth nothing: where the function leaves for was not yet settled.
    not_settled: u64,
    agree: u64,
    frames: u64,
    fp_untold: u64,
    cfa_untold: u64,
    told: [u64; 2],
    walk_ends: WalkEnds,
    reliability: ByPc,
    /// Those where the rows are wrong.
    where_rows_are_wrong: Reliabilities,
    /// The complete walks that the unwinder calls reliable.
    called_reliable: u64,
    last_instructions: LastInstructions,
    /// Disagreements that only the unwinder has.
    own: Findings,
    /// Those that the engine also has.
    shared: Findings,
    /// Disagreements where the engine has a different one.
    unclear: Findings,
    /// What is wrong with what it says of its walks, and walks that are not complete where only complete ones will do.
    beyond: BTreeMap<Verdict, (Disagreement, u64)>,
    faults: FxHashMap<(Verdict, u64), FaultFinding>,
    /// The unwinder's words about ends that are findings, by verdict and PC without
    /// bias.
    said: FxHashMap<(Verdict, Linked), String>,
}

/// A stop that was asked about.
pub(super) struct Asked<'a, 't> {
    pub(super) target: &'a Target<'t>,
    pub(super) judge: &'a Judge<'a, 't>,
    pub(super) pending: &'a Pending,
    pub(super) stop: &'a Stop,
    /// Words of memory, as they were then.
    pub(super) memory: &'a dyn Fn(u64) -> Option<u64>,
}

/// What is counted of a session, and not of its answers.
pub(super) struct SessionCounts {
    pub(super) moments: u64,
    pub(super) different: u64,
    pub(super) not_followed: u64,
    pub(super) restarts: u32,
    pub(super) seconds: f64,
}

impl Answers {
    /// Judges an answer, and adds what comes of it.
    pub(super) fn add(&mut self, asked: &Asked<'_, '_>, answer: Result<sframe_protocol::Backtrace, Fault>) {
        let Asked { target, judge, pending, .. } = asked;
        self.asked += 1;
        let depth = pending.call_stack.depth();
        let judged = answer.and_then(|answer| {
            let judged = judge.judge(&pending.truth(), &pending.engine, &answer, Some(&pending.readings))?;
            Ok((judged, answer))
        });
        let (judged, answer) = match judged {
            Ok(judged) => judged,
            Err(fault) => {
                self.walk_ends.count(WalkEnd::Disagreed, 0, 1);
                let found = self.faults.entry((fault.verdict, pending.pc));
                found.or_insert_with(|| FaultFinding::new(pending.pc, depth, fault)).hits += 1;
                return;
            }
        };
        if judged.is_excluded {
            self.nothing_compared += 1;
            self.not_settled += 1;
            self.walk_ends.count(WalkEnd::Unsettled, 0, 1);
            return;
        }
        self.count(&judged, asked);
        if let Some(message) = &answer.end.message {
            for found in judged.own.iter().chain(&judged.unclear) {
                if matches!(found.got, Value::End(_)) {
                    let key = (found.verdict, target.linked(Loaded(found.pc)));
                    self.said.entry(key).or_insert_with(|| shown(message.as_bytes()));
                }
            }
        }
        if let Some(found) = judged.beyond {
            // One finding, however many walks: what they have in common is the word that is false.
            self.beyond.entry(found.verdict).or_insert((found, 0)).1 += 1;
        }
        for found in judged.own {
            let entry = self.own.add_triaged(found, target, |_| Triage::UNKNOWN);
            if judge.reads_sframe() {
                self.own.explain(entry, mistakes(&found, &answer.frames, asked));
            }
        }
        for found in judged.shared {
            self.shared.add_triaged(found, target, |_| pending.triage_of(&found));
        }
        for found in judged.unclear {
            self.unclear.add_triaged(found, target, |_| pending.triage_of(&found));
        }
    }

    /// Counts a walk.
    fn count(&mut self, judged: &Judged, asked: &Asked<'_, '_>) {
        let Asked { target, pending, .. } = asked;
        let depth = pending.call_stack.depth();
        if judged.end.has_compared(depth) {
            self.frames += judged.frames;
            self.fp_untold += judged.fp_untold;
            self.cfa_untold += judged.cfa_untold;
            self.told.iter_mut().zip(judged.told).for_each(|(all, more)| *all += more);
            self.agree += u64::from(judged.end != WalkEnd::Disagreed);
        } else {
            self.nothing_compared += 1;
        }
        let first = [&judged.own, &judged.shared, &judged.unclear].into_iter().flatten();
        let first = first.min_by_key(|found| found.frame).map(std::slice::from_ref);
        let began = self.last_instructions.start(pending.pc, &pending.call_stack, target);
        self.reliability.count(began, first.unwrap_or_default(), judged.reliability, 1);
        self.called_reliable += u64::from(judged.is_called_reliable);
        if judged.are_rows_wrong {
            self.where_rows_are_wrong.count(judged.reliability, 1);
        }
        self.walk_ends.count(judged.end, depth, 1);
    }

    /// Forgets answers that are not of the protocol: why nothing more is asked need not be said for each of them.
    pub(super) fn forget_bad(&mut self) {
        let bad = self.faults.extract_if(|_, found| found.is_malformed);
        let answers: u64 = bad.map(|(_, found)| found.hits).sum();
        self.nothing_compared += answers;
        self.unread += answers;
        self.walk_ends.disagreed = self.walk_ends.disagreed.saturating_sub(answers);
    }

    /// Returns the results, with those of the engine.
    pub(super) fn finish(
        self,
        target: &Target<'_>,
        judge: &Judge<'_, '_>,
        mut examination: Examination,
        (hello, counts): (&Hello, SessionCounts),
        without_stop: &[Fault],
    ) -> UnwinderExamination {
        let of_engine = std::mem::take(&mut examination.findings);
        let of_sections = of_engine.iter().filter(|found| found.blame != Blame::Format);
        let section_findings =
            finding::count(of_sections) + examination.findings_omitted.values().sum::<u64>();
        let SessionCounts { moments, different, not_followed, restarts, seconds } = counts;
        let report = UnwinderReport {
            name: hello.name.clone(),
            version: hello.version.clone(),
            data: hello.data.clone(),
            moments,
            different,
            stops: self.asked,
            nothing_compared: self.nothing_compared,
            unread: self.unread,
            not_followed,
            agree: self.agree,
            frames: self.frames,
            fp_untold: self.fp_untold,
            cfa_untold: self.cfa_untold,
            interrupted_told: self.told[0],
            signed_told: self.told[1],
            walk_ends: self.walk_ends,
            reliability_by_topmost: self.reliability.by_topmost(target),
            where_rows_are_wrong: self.where_rows_are_wrong,
            declares: hello.reliable,
            called_reliable: self.called_reliable,
            not_settled: self.not_settled,
            section_findings,
            restarts,
            seconds,
        };
        examination.findings_omitted.clear();
        for findings in [&self.own, &self.shared, &self.unclear] {
            for (verdict, count) in findings.omitted() {
                *examination.findings_omitted.entry(*verdict).or_default() += count;
            }
        }
        let said = &self.said;
        let quoting = |found: Finding| match found.pc.and_then(|pc| said.get(&(found.verdict, Linked(pc.0))))
        {
            Some(words) => noting(found, &format!("the unwinder says: {words}")),
            None => found,
        };
        // What makes an unwinder fail comes before what it gets wrong.
        let mut faults: Vec<_> = self.faults.into_iter().collect();
        faults.sort_by_key(|((_, pc), found)| (*pc, found.hits));
        let faults = faults.into_iter().map(|((verdict, _), found)| found.finding(verdict, target));
        let mut findings: Vec<Finding> = faults.chain(without_stop.iter().map(unplaced)).collect();
        let own = self.own.into_findings(target).into_iter();
        findings.extend(own.map(|found| judge.blame(quoting(found))));
        findings.extend(self.beyond.into_iter().flat_map(|(verdict, (found, walks))| {
            let mut one = Findings::default();
            one.add_triaged(found, target, |_| Triage::UNKNOWN);
            one.into_findings(target).into_iter().map(move |found| match verdict {
                // Nobody but the unwinder has declared anything.
                Verdict::Silent | Verdict::FalselyReliable => Finding {
                    hits: walks,
                    blame: Blame::Consumer,
                    confidence: Confidence::High,
                    ..noting(found, "the unwinder declares the walk reliable")
                },
                _ => Finding { hits: walks, ..found },
            })
        }));
        let unclear = self.unclear.into_findings(target).into_iter();
        let differently =
            "the engine of this project does not agree with the call stack either, but differently";
        findings.extend(unclear.map(|found| noting(quoting(found), differently)));
        let same = |found| noting(found, "the engine of this project says the same");
        let shared = self.shared.into_findings(target).into_iter().map(same);
        // What no walk shows is wrong for all who read the section.
        let is_of_section = |found: &Finding| {
            judge.reads_sframe() && matches!(found.verdict, Verdict::ByLuck | Verdict::NoFde)
        };
        let shared = shared.chain(of_engine.into_iter().filter(is_of_section)).collect();
        UnwinderExamination { examination, report, shared, findings, error: None }
    }
}

/// Returns the usual mistakes that give an unwinder's answer at a stop.
fn mistakes(found: &Disagreement, answered: &[sframe_protocol::Frame], asked: &Asked<'_, '_>) -> Mistakes {
    let registers = |register: DwarfRegister| asked.stop.registers.get(&register.0).map(|value| value.0);
    let truth = asked.pending.truth();
    let frame = FrameView {
        sections: &asked.target.sections,
        state: truth.state(found.frame),
        call: truth.call_of(found.frame),
        gives_cfa: answered.get(found.frame).is_some_and(|frame| frame.cfa.is_some()),
        caller: answered.get(found.frame + 1).map(|frame| frame.pc.0),
        registers: (found.frame == 0).then_some(&registers),
        memory: asked.memory,
        pauth: asked.target.pauth(),
    };
    Mistakes::of(found, &frame)
}

fn noting(finding: Finding, what: &str) -> Finding {
    let message = finding.message.clone().and(format_args!("; {what}"));
    Finding { message, ..finding }
}
