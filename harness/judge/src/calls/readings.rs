//! What walks are held against: the call stack, and what rows may describe as well while control is under way.

use std::cell::RefCell;
use std::rc::Rc;

use rustc_hash::FxHashSet;
use sframe_engine::Abi;
use sframe_machine::{CallStack, Event, Moment};

use super::Calls;
use super::excluded::{ExclusionReason, Kind};
use super::known::{Known, Landing};
use super::rule::Rule;
use super::rules::unresolved;
use super::rules::{
    departed, elsewhere, landed, new_context, return_hook, rewritten, row_of_jump, saved_fp, trap,
};
use crate::compare::{Disagreement, Rules, Truth, WalkEnd, Walked, disagreements, reliability};
use crate::target::Target;
use crate::target::sections::Sections;
use crate::vocabulary::{Reliability, Verdict};

/// What a moment's walks are held against, besides the call stack of the witness.
#[derive(Debug)]
pub struct Readings {
    known: Rc<Known>,
    /// The calls whose ends something depends on, for another run.
    asked: Rc<RefCell<FxHashSet<Event>>>,
    abi: Option<Abi>,
    pushed: u64,
    /// Other call stacks that rows may be of, and why.
    others: Vec<(&'static Rule, CallStack)>,
    /// Those of which the run does not show whether they are the right ones.
    unresolved: Vec<CallStack>,
    /// Where control has not landed yet: what it has not left, and where it lands. The inner `None` if the run does not
    /// show it; the outer one if only another run will know.
    under_way: Option<(Option<CallStack>, Option<Option<Landing>>)>,
    /// The frames whose saved FP a callee has replaced.
    replaced: Vec<usize>,
    /// Those whose return address is nowhere.
    hooked: Vec<usize>,
    /// Whether the topmost frame's row takes for the return address what the function itself has put into its register:
    /// going there is no return, but a jump.
    has_lost_ra: bool,
    without: Option<&'static str>,
}

/// What has come of holding a walk against the calls.
#[derive(Debug)]
pub struct Judged {
    /// How the walk ended.
    pub end: WalkEnd,
    /// What is wrong.
    pub found: Vec<Disagreement>,
    /// What is wrong, and nobody's fault.
    pub(crate) excused: Vec<Disagreement>,
    /// Where it says nothing, and why.
    pub(crate) excluded: Vec<(u64, Kind)>,
    /// What it was held against, if that is not the call stack of the witness.
    pub(crate) call_stack: Option<CallStack>,
}

impl Judged {
    /// A walk that was only held against the call stack of the witness.
    pub(crate) const fn by_call_stack(end: WalkEnd, found: Vec<Disagreement>) -> Self {
        Self { end, found, excused: Vec::new(), excluded: Vec::new(), call_stack: None }
    }

    /// Returns what the walk is worth, at a moment with this call stack, unless it says nothing.
    #[must_use]
    pub fn worth(&self, recorded: &CallStack) -> Option<Reliability> {
        let depth = if self.end == WalkEnd::Departing { 1 } else { self.held_against(recorded).depth() };
        if self.end == WalkEnd::Unsettled {
            return None;
        }
        Some(match &self.excused[..] {
            excused if self.found.is_empty() && !excused.is_empty() => {
                reliability(WalkEnd::Disagreed, excused, depth, None)
            }
            _ => reliability(self.end, &self.found, depth, None),
        })
    }

    /// Returns what it was held against, at a moment with this call stack.
    #[must_use]
    pub fn held_against<'c>(&'c self, recorded: &'c CallStack) -> &'c CallStack {
        self.call_stack.as_ref().unwrap_or(recorded)
    }

    /// Whether nothing but a caller's frame was excluded, if anything was.
    pub(crate) fn says_something_of_topmost(&self) -> bool {
        !self.excluded.is_empty() && self.excluded.iter().all(|(_, kind)| kind.as_caller)
    }

    /// One that says nothing of the topmost frame.
    fn aside(pc: u64, reason: ExclusionReason) -> Self {
        let excluded = vec![(pc, Kind { reason, as_caller: false })];
        Self { excluded, ..Self::by_call_stack(WalkEnd::Unsettled, Vec::new()) }
    }
}

/// Where a moment is.
#[derive(Clone, Copy)]
pub(crate) struct Scene<'s, 'a> {
    pub(crate) target: &'s Target<'a>,
    /// The sections as they are now.
    pub(crate) sections: &'s Sections<'a>,
    /// Whether a function begins there.
    pub(crate) begins: bool,
    /// Whether a row takes for the return address what the function itself has put into its register.
    pub(crate) has_lost_ra: &'s dyn Fn() -> bool,
}

impl Readings {
    /// Those of a moment.
    pub(crate) fn of(calls: &Calls, moment: &Moment<'_>, truth: &Truth<'_>, scene: Scene<'_, '_>) -> Self {
        let Scene { target, sections, begins, has_lost_ra } = scene;
        let known = calls.known();
        let under_way = (!moment.call_stack.is_settled()).then(|| {
            let landing = calls.landing(moment.call_stack).map(Option::<&Landing>::cloned);
            (moment.call_stack.departed().cloned(), landing)
        });
        let without = calls.without();
        let others = [
            (&departed::RULE, departed::call_stack(moment)),
            (&rewritten::RULE, rewritten::call_stack(moment)),
            (&trap::RULE, trap::call_stack(moment, begins)),
        ];
        let others = others.into_iter().filter_map(|(rule, call_stack)| {
            Some((rule, call_stack.filter(|_| without != Some(rule.name))?))
        });
        let departs = |frame: &usize| {
            truth.call_of(*frame).is_some_and(|call| known.departures.contains_key(&call.event))
        };
        let frames = if known.departures.is_empty() { 0 } else { moment.call_stack.depth() };
        let is_hooked = |frame: &usize| return_hook::has_lost_return_address(*frame, truth, moment.memory);
        let is_replaced = |frame: &usize| saved_fp::is_replaced(*frame, truth, moment.memory, sections);
        Self {
            asked: calls.asked(),
            abi: target.executable().subject.abi(),
            pushed: moment.abi().pushed_by_calls(),
            others: others.collect(),
            unresolved: calls.unresolved(moment.call_stack),
            under_way,
            replaced: (0..frames).filter(departs).filter(is_replaced).collect(),
            hooked: (0..frames).filter(departs).filter(is_hooked).collect(),
            has_lost_ra: frames > 0 && departs(&0) && has_lost_ra(),
            without,
            known,
        }
    }

    /// Judges a walk by rows.
    #[must_use]
    pub fn hold(
        &self,
        truth: &Truth<'_>,
        walk: &impl Walked,
        sections: &Sections<'_>,
        target: &Target<'_>,
    ) -> Judged {
        self.judge(truth, walk, sections, disagreements(truth, walk, sections), Some((target, sections)))
    }

    /// Returns the call stacks that walks may be of as well.
    #[must_use]
    pub fn call_stacks(&self) -> Vec<CallStack> {
        let mut all: Vec<CallStack> = self.others.iter().map(|(_, call_stack)| call_stack.clone()).collect();
        if let Some((Some(left), landing)) = &self.under_way {
            all.push(left.clone());
            let landing = landing.iter().flatten();
            all.extend(landing.flat_map(|landing| landing.call_stacks(left.records())));
        }
        all
    }

    /// Whether what is wrong with a walk describes the frame that its function then leaves for.
    #[must_use]
    pub fn leaves(&self, found: &Disagreement, truth: &Truth<'_>) -> bool {
        self.why_excluded(found, truth).is_some()
    }

    fn has(&self, rule: &Rule) -> bool {
        self.without != Some(rule.name)
    }

    /// Whether a walk that disagrees with the call stack of the witness may agree with another one.
    pub(crate) fn are_several(&self) -> bool {
        self.under_way.is_some() || !self.others.is_empty() || !self.unresolved.is_empty()
    }

    /// Judges a walk, given how it compares with the call stack of the witness.
    pub(crate) fn judge(
        &self,
        truth: &Truth<'_>,
        walk: &impl Walked,
        rules: &impl Rules,
        (end, found): (WalkEnd, Vec<Disagreement>),
        code: Option<(&Target<'_>, &Sections<'_>)>,
    ) -> Judged {
        if self.under_way.is_some() {
            return self.judge_under_way(truth, walk, rules);
        }
        let mut judged = Judged::by_call_stack(end, found);
        if judged.found.is_empty() {
            return judged;
        }
        let has_values_of_neither = judged.found.iter().any(|found| found.verdict != Verdict::ByLuck);
        for (rule, call_stack) in &self.others {
            let is_departed = **rule == departed::RULE;
            if is_departed && !has_values_of_neither {
                continue;
            }
            let (end, found) = disagreements(&Truth { call_stack, ..*truth }, walk, rules);
            let agrees = found.is_empty();
            let end = if agrees && is_departed && end.has_compared(call_stack.depth()) {
                WalkEnd::Departing
            } else {
                end
            };
            if agrees || **rule != trap::RULE {
                judged = Judged { call_stack: Some(call_stack.clone()), ..Judged::by_call_stack(end, found) };
            }
            if agrees {
                return judged;
            }
        }
        let is_of_jump = |found: &Disagreement| {
            self.has(&row_of_jump::RULE)
                && code.is_some_and(|(target, sections)| {
                    row_of_jump::explains(found, self.pushed, sections, target)
                })
        };
        let agrees = |call_stack| {
            let (_, found) = disagreements(&Truth { call_stack, ..*truth }, walk, rules);
            found.iter().all(is_of_jump)
        };
        if self.has(&unresolved::RULE) && self.unresolved.iter().any(agrees) {
            return Judged::aside(truth.pc, ExclusionReason::NoLanding);
        }
        judged.excused = judged.found.extract_if(.., |found| is_of_jump(found)).collect();
        if !judged.excused.is_empty() && judged.found.is_empty() {
            judged.end = if judged.end == WalkEnd::Disagreed { WalkEnd::Departing } else { judged.end };
            return judged;
        }
        self.set_departures_aside(truth, &mut judged);
        judged
    }

    /// Excludes what describes the frames that functions then leave for.
    fn set_departures_aside(&self, truth: &Truth<'_>, judged: &mut Judged) {
        let truth = Truth { call_stack: judged.call_stack.as_ref().unwrap_or(truth.call_stack), ..*truth };
        let mut excluded = Vec::new();
        let mut with_fp = Vec::new();
        judged.found.retain(|found| {
            // What follows from an FP with which its function then leaves is where that leaves for.
            let follows = found.after_wrong_fp.is_some_and(|frame| with_fp.contains(&frame));
            let follows = follows.then_some(ExclusionReason::LeavesWithFp);
            let Some(reason) = self.why_excluded(found, &truth).or(follows) else { return true };
            if reason == ExclusionReason::LeavesWithFp && found.verdict == Verdict::WrongFp {
                with_fp.push(found.frame);
            }
            excluded.push((found.pc, Kind { reason, as_caller: found.frame > 0 }));
            false
        });
        if judged.found.is_empty() {
            (judged.end, judged.excluded) = (WalkEnd::Unsettled, excluded);
        }
    }

    fn why_excluded(&self, found: &Disagreement, truth: &Truth<'_>) -> Option<ExclusionReason> {
        let call = truth.call_of(found.frame)?;
        if self.known.left.as_ref().is_some_and(|left| left.contains(&call.callee)) {
            return Some(ExclusionReason::NoLanding);
        }
        let Some(departures) = self.known.departures.get(&call.event) else {
            if matches!(found.verdict, Verdict::WrongCfa | Verdict::WrongRa | Verdict::WrongFp) {
                self.asked.borrow_mut().insert(call.event);
            }
            return None;
        };
        departures.iter().find_map(|departure| {
            let is_hook = self.has(&return_hook::RULE)
                && self.hooked.contains(&found.frame)
                && !(self.has_lost_ra && found.frame == 0)
                && return_hook::describes(found, call, departure);
            let is_elsewhere =
                self.has(&elsewhere::RULE) && elsewhere::describes(found, call, departure, self.abi);
            let is_saved_fp = self.has(&saved_fp::RULE)
                && self.replaced.contains(&found.frame)
                && saved_fp::describes(found, call, departure);
            match (is_hook || is_elsewhere, is_saved_fp) {
                (true, _) => Some(ExclusionReason::LeavesElsewhere),
                (_, true) => Some(ExclusionReason::LeavesWithFp),
                _ => None,
            }
        })
    }

    /// Judges a walk where SP has left the frames of the callers, and control has not landed yet. What was saved is below
    /// SP by now.
    fn judge_under_way(&self, truth: &Truth<'_>, walk: &impl Walked, rules: &impl Rules) -> Judged {
        let nothing = Judged::by_call_stack(WalkEnd::Unsettled, Vec::new());
        let Some((Some(left), landing)) = &self.under_way else { return nothing };
        let truth = Truth { call_stack: left, stores: None, ..*truth };
        let (end, found) = disagreements(&truth, walk, rules);
        let held_against =
            |end, found| Judged { call_stack: Some(left.clone()), ..Judged::by_call_stack(end, found) };
        if found.is_empty() {
            let end = if end.has_compared(left.depth()) { WalkEnd::Departing } else { end };
            return held_against(end, found);
        }
        let landing = match landing {
            None => return nothing,
            Some(None) => return Judged::aside(truth.pc, ExclusionReason::NoLanding),
            Some(Some(landing)) => landing,
        };
        // A function that has returned to its caller in the end is excused by nothing.
        let own = truth.call_of(0).map(|call| (call.return_address, call.caller_sp));
        if own.is_some() && own == landing.returned_to {
            return held_against(end, found);
        }
        if self.has(&landed::RULE)
            && let Some(there) = landed::call_stack(landing, &truth, walk, rules)
        {
            let departing = Judged::by_call_stack(WalkEnd::Departing, Vec::new());
            return Judged { call_stack: Some(there), ..departing };
        }
        // With the CFA with which the frame was then left, its other values may still be those of the caller.
        let cfa = walk.frame(0).and_then(|frame| frame.cfa);
        if self.has(&new_context::RULE) && landing.is_new() && !new_context::is_of_frame_left(&truth, rules) {
            Judged::aside(truth.pc, ExclusionReason::NewContext)
        } else if self.has(&elsewhere::RULE) && landing.cfa.is_some() && cfa == landing.cfa {
            Judged::aside(truth.pc, ExclusionReason::LeavesElsewhere)
        } else {
            held_against(end, found)
        }
    }
}
