//! Follows the calls of a run: asks where they may be read in two ways, and writes down what control then shows.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};
use sframe_engine::LookupAddress;
use sframe_machine::{Answer, Answered, Answers, CallStack, Event, Exit, Moment, Question, Record};

use super::known::{Departure, Known, Landing};
use super::questions::Asked;
use super::rule::Rule;
use super::rules::branch_that_calls::branch;
use super::rules::call_within_function::is_within_function;
use super::rules::{branch_that_calls, call_within_function, landing, return_past_frames};
use crate::target::Target;
use crate::target::sections::Sections;
use crate::truth::stores::LastStores;

/// After this many runs, what is still otherwise than in the one before is not resolved. Two have always been enough.
const MOST_RUNS: u32 = 8;

/// A frame: by the call that has made it, or by its context if nothing has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum FrameOf {
    Call(Event),
    Context(u32),
}

impl FrameOf {
    fn innermost(call_stack: &CallStack) -> Self {
        let last = call_stack.records().last();
        last.map_or(Self::Context(call_stack.context()), |call| Self::Call(call.event))
    }
}

/// The calls of a thread.
#[derive(Clone, Debug, Default)]
struct Thread {
    /// The questions that are open, by the frame with which each ends.
    open: FxHashMap<FrameOf, Vec<Asked>>,
    /// Calls that have ended, until control has left them: with whether each was the innermost one.
    leaving: Vec<(Record, bool)>,
    /// When SP moved past frames that control has not left, and where.
    departed: Option<(Event, u64)>,
    /// When SP left frames for where control has not landed yet, and the calls of those.
    landing: Option<(Event, Vec<Record>)>,
    /// Where control has last returned to.
    returned_to: u64,
}

/// A process while a copy of it runs: when that was made, the number of the thread that executed, and all of them.
#[derive(Debug)]
struct Process {
    event: Event,
    number: u32,
    thread: Thread,
    others: FxHashMap<u32, Thread>,
}

/// Follows the calls of a run.
///
/// What becomes of a call in a copy of the process that was made before the copy says nothing of it: copies may end in
/// ways of their own, and how the call is left is seen in the process itself.
#[derive(Debug)]
pub(crate) struct Calls {
    known: Rc<Known>,
    number: u32,
    thread: Thread,
    others: FxHashMap<u32, Thread>,
    /// What was so before a copy of the process was made.
    process: Option<Process>,
    /// Whether calls lead to code within the function that makes them, by return address and callee.
    within: FxHashMap<(u64, u64), bool>,
    /// The callees of those that have returned: they are called, also where control then leaves them otherwise.
    returning: FxHashSet<u64>,
    outcomes: Vec<Answered>,
    departures: FxHashMap<Event, Vec<Departure>>,
    landings: FxHashMap<Event, Option<Landing>>,
    /// Functions that were left otherwise than by a return, if runs differ.
    left: FxHashSet<u64>,
    /// The calls whose ends, and the landings, that something depends on.
    asked: Rc<RefCell<FxHashSet<Event>>>,
    asked_landings: RefCell<FxHashSet<Event>>,
    /// Whether all is written down: nothing is judged.
    surveys: bool,
    is_surprised: Cell<bool>,
    /// The rule that is switched off, to see that it is needed.
    without: Option<&'static str>,
}

impl Calls {
    /// Those of a run. `surveys` is whether nothing is judged in it.
    pub(crate) fn new(known: Known, surveys: bool, without: Option<&'static str>) -> Self {
        Self {
            known: Rc::new(known),
            number: 0,
            thread: Thread::default(),
            others: FxHashMap::default(),
            process: None,
            within: FxHashMap::default(),
            returning: FxHashSet::default(),
            outcomes: Vec::new(),
            departures: FxHashMap::default(),
            landings: FxHashMap::default(),
            left: FxHashSet::default(),
            asked: Rc::default(),
            asked_landings: RefCell::default(),
            surveys,
            is_surprised: Cell::new(false),
            without,
        }
    }

    /// What the calls of the run are, as far as that is known.
    pub(crate) fn answers(&self) -> Arc<Answers> {
        Arc::clone(&self.known.answers)
    }

    /// What was known before the run, of which nothing is learnt.
    pub(crate) fn known_before(self) -> Known {
        Rc::unwrap_or_clone(self.known)
    }

    /// Whether nothing is judged: either in all of the run, or since something was otherwise than assumed. Then it has to
    /// be made once more.
    #[inline]
    pub(crate) const fn only_follows(&self) -> bool {
        self.surveys || self.is_surprised.get()
    }

    /// Another trace of the calls contradicts the call stack. Returns whether that may be because something is otherwise
    /// than assumed: then another run will show it.
    pub(crate) fn doubt(&self) -> bool {
        let is_open = !self.thread.open.is_empty() || self.thread.departed.is_some();
        if is_open && self.known.runs == 0 {
            self.is_surprised.set(true);
        }
        is_open && self.known.runs == 0
    }

    /// Whether the calls of the function that is looked up at an address are what its instructions say: otherwise one is
    /// none, or a branch is one.
    pub(crate) fn are_as_called(&self, address: LookupAddress, sections: &Sections<'_>) -> bool {
        if !self.known.answers.is_any() {
            return true;
        }
        let function = sections.lookup_fde(address).ok().flatten();
        let function = function.map(|fde| fde.start..fde.start.wrapping_add(fde.size.into()));
        !function.is_some_and(|function| self.known.answers.are_in(&function))
    }

    /// Follows what is about to execute. `begins` is whether a function begins there.
    #[inline]
    pub(crate) fn follow(
        &mut self,
        moment: &Moment<'_>,
        begins: bool,
        stores: &LastStores,
        target: &Target<'_>,
    ) {
        let call_stack = moment.call_stack;
        if moment.thread != self.number {
            self.go_to_thread(moment.thread);
        }
        let Thread { open, leaving, departed, landing, .. } = &self.thread;
        let is_quiet = call_stack.ended().is_empty()
            && leaving.is_empty()
            && call_stack.exit().is_none()
            && call_stack.restored().is_none()
            && (*departed, call_stack.departed_at()) == (None, None)
            && landing.is_none()
            && (!call_stack.has_arrived() || open.is_empty());
        if !is_quiet {
            self.follow_ends(moment);
        }
        if call_stack.has_called() {
            self.ask_of_call(moment, target);
        } else if begins && call_stack.exit() != Some(Exit::Return) || call_stack.linked().is_some() {
            self.ask_of_branch(moment, stores, target);
        }
        if let Some(Exit::Landing { or: Some(frame), .. }) = call_stack.exit() {
            self.ask_of_landing(moment, frame, begins);
        }
    }

    #[cold]
    fn go_to_thread(&mut self, number: u32) {
        let next = self.others.remove(&number).unwrap_or_default();
        self.others.insert(self.number, std::mem::replace(&mut self.thread, next));
        self.number = number;
    }

    #[cold]
    fn follow_ends(&mut self, moment: &Moment<'_>) {
        let call_stack = moment.call_stack;
        let ended = call_stack.ended();
        let innermost = ended.iter().map(|call| call.event).max();
        self.thread.leaving.extend(ended.iter().map(|call| (*call, Some(call.event) == innermost)));
        if let Some((event, at)) = call_stack.restored() {
            let is_back =
                |call: &Record| call_stack.records().iter().any(|record| record.event == call.event);
            self.thread.leaving.retain(|(call, _)| !is_back(call));
            self.thread.departed = None;
            if call_stack.exit() == Some(Exit::Return) {
                let answer = Some(Answer::Otherwise { lag: 0 });
                self.conclude(&[Answered { question: Question::Departure { at }, event, answer }], true);
            }
        }
        self.follow_departure(call_stack);
        self.follow_landing(moment);
        let is_gone = call_stack.exit().is_some() || call_stack.has_called();
        if is_gone && !self.thread.leaving.is_empty() {
            let leaving = std::mem::take(&mut self.thread.leaving);
            leaving.into_iter().for_each(|(call, is_innermost)| self.end(&call, is_innermost, moment));
        }
        if let Some(Exit::Landing { or: Some(frame), .. }) = call_stack.exit()
            && let Some(top) = call_stack.records().last()
            && call_stack.records().len() == frame + 1
            && top.caller_sp == moment.sp
            && let Some(detour) = Departure::of(moment, true, true)
        {
            self.note_departure(top.event, detour);
        }
        if call_stack.exit() == Some(Exit::Return) {
            self.thread.returned_to = moment.pc;
        }
        if call_stack.has_arrived() && !self.thread.open.is_empty() {
            self.arrive(moment);
        }
    }

    /// Follows SP past frames, and where that leads.
    fn follow_departure(&mut self, call_stack: &CallStack) {
        let now = call_stack.departed_at();
        if now == self.thread.departed {
            return;
        }
        if let Some((event, at)) = self.thread.departed
            && !self.is_of_process(event)
        {
            let question = Question::Departure { at };
            self.outcomes.push(Answered { question, event, answer: None });
        }
        self.thread.departed = now;
    }

    /// Follows control to where it lands after SP has left frames.
    fn follow_landing(&mut self, moment: &Moment<'_>) {
        let call_stack = moment.call_stack;
        if !call_stack.is_settled() {
            if let (Some((event, _)), Some(left)) = (call_stack.departed_at(), call_stack.departed())
                && self.thread.landing.as_ref().is_none_or(|(last, _)| *last != event)
            {
                self.thread.landing = Some((event, left.records().to_vec()));
            }
        } else if let Some((event, left)) = self.thread.landing.take()
            && !self.is_of_process(event)
        {
            // If a signal has come in between, what is settled is the handler.
            let is_interrupted = |call: &Record| call.interrupted && call.event >= event;
            let landing =
                (!call_stack.records().iter().any(is_interrupted)).then(|| Landing::at(moment, &left));
            let is_other = self.known.landings.get(&event).is_some_and(|known| *known != landing);
            let is_asked = self.asked_landings.get_mut().remove(&event) || is_other;
            if is_asked || self.only_follows() {
                self.landings.insert(event, landing);
                self.surprise(is_asked);
            }
        }
    }

    /// A call has ended.
    fn end(&mut self, call: &Record, is_innermost: bool, moment: &Moment<'_>) {
        let departure = Departure::of(moment, is_innermost, false);
        let returned = departure
            .is_some_and(|departure| departure.exit == Exit::Return && moment.pc == call.return_address);
        if let Some(departure) = departure.filter(|_| !returned) {
            self.note_left(call);
            self.note_departure(call.event, departure);
        } else if !self.is_of_process(call.event)
            && self
                .known
                .departures
                .get(&call.event)
                .is_some_and(|known| known.iter().any(|known| !known.is_detour))
        {
            self.departures.insert(call.event, Vec::new());
            self.surprise(true);
        }
        for asked in self.thread.open.remove(&FrameOf::Call(call.event)).into_iter().flatten() {
            let is_call = matches!(asked.question, Question::Call { .. });
            if is_call && returned {
                self.returning.insert(call.callee);
            }
            let is_known = is_call && self.returning.contains(&call.callee);
            let answer = asked.end(moment.call_stack.exit(), returned).filter(|_| !is_known);
            self.conclude(&asked.answered(answer), asked.matters.get());
        }
    }

    /// Notes how a call's frame was left; what is known already may be of a run with other answers.
    fn note_departure(&mut self, call: Event, departure: Departure) {
        if self.is_of_process(call) {
            return;
        }
        let known = self.known.departures.get(&call);
        let is_other = known.is_some_and(|known| !known.contains(&departure));
        let is_asked = is_other || known.is_none() && self.asked.borrow().contains(&call);
        if is_asked || self.only_follows() {
            self.departures.entry(call).or_default().push(departure);
            self.surprise(is_asked);
        }
    }

    /// If runs differ, a function that was left otherwise than by a return is one also in the next run.
    fn note_left(&mut self, call: &Record) {
        let is_new = self.known.left.as_ref().is_some_and(|left| !left.contains(&call.callee));
        if is_new && self.asked.borrow().contains(&call.event) && self.known.runs + 1 < MOST_RUNS {
            self.left.insert(call.callee);
            self.is_surprised.set(true);
        }
    }

    /// Control has come to an address that was computed: it may have returned from what a branch has called.
    #[cold]
    fn arrive(&mut self, moment: &Moment<'_>) {
        let frame = FrameOf::innermost(moment.call_stack);
        let Some(asked) = self.thread.open.get_mut(&frame) else { return };
        let returned: Vec<Asked> = asked.extract_if(.., |asked| asked.is_returned_from(moment)).collect();
        for asked in returned {
            let answer = Answer::Otherwise { lag: asked.lag };
            self.conclude(&asked.answered(Some(answer)), true);
        }
    }

    fn ask(&mut self, frame: FrameOf, asked: Asked) {
        let same =
            |other: &Asked| other.question == asked.question && other.call.caller_sp == asked.call.caller_sp;
        let open = self.thread.open.entry(frame).or_default();
        let before = open.iter_mut().find(|other| same(other));
        match (before, asked.question) {
            (None, _) => open.push(asked),
            // Nobody has returned to the one before.
            (Some(before), Question::Branch { .. }) => {
                let before = std::mem::replace(before, asked);
                self.conclude(&before.answered(None), false);
            }
            // They end together.
            (Some(_), _) => {}
        }
    }

    /// The last instruction has made a call: it may be none, if it leads into the function that it is in, and nothing says
    /// that a function begins there.
    #[cold]
    fn ask_of_call(&mut self, moment: &Moment<'_>, target: &Target<'_>) {
        let Some(call) = moment.call().filter(|call| !call.interrupted && call.event == moment.event) else {
            return;
        };
        let Record { return_address, callee, event, .. } = *call;
        let is_within =
            self.within.entry((return_address, callee)).or_insert_with(|| is_within_function(call, target));
        let branch = Question::Branch { return_address, callee };
        if *is_within && self.known.answers.get(event, branch).is_none() {
            let question = Question::Call { return_address, callee };
            self.ask(FrameOf::Call(event), Asked::new(question, moment, call, 0));
        }
    }

    #[cold]
    fn ask_of_branch(&mut self, moment: &Moment<'_>, stores: &LastStores, target: &Target<'_>) {
        let Some(call) = branch(moment, self.thread.returned_to, stores, target) else { return };
        let calls = moment.call_stack.records();
        if calls
            .iter()
            .any(|known| (known.return_address, known.caller_sp) == (call.return_address, call.caller_sp))
        {
            return;
        }
        let Record { return_address, callee, .. } = call;
        let question = Question::Branch { return_address, callee };
        self.ask(FrameOf::innermost(moment.call_stack), Asked::new(question, moment, &call, calls.len()));
    }

    /// Control has landed in the innermost frame, and may be in another one. At its first instruction, a function is not
    /// one that has made a call before.
    #[cold]
    fn ask_of_landing(&mut self, moment: &Moment<'_>, frame: usize, begins: bool) {
        let Some(last) = moment.call_stack.records().last() else { return };
        let departed = moment.call_stack.restored();
        let asked =
            Asked { departed, ..Asked::new(Question::Landing { at: moment.pc }, moment, last, frame) };
        if begins {
            self.conclude(&asked.answered(None), departed.is_some());
        } else {
            self.ask(FrameOf::Call(last.event), asked);
        }
    }

    fn conclude(&mut self, answered: &[Answered], matters: bool) {
        for Answered { question, event, answer } in answered {
            let rule = match question {
                Question::Call { .. } => &call_within_function::RULE,
                Question::Branch { .. } => &branch_that_calls::RULE,
                Question::Landing { .. } => &landing::RULE,
                Question::Departure { .. } => &return_past_frames::RULE,
            };
            if !self.has(rule) {
                return;
            }
            if self.is_of_process(*event) {
                continue;
            }
            if answer.is_some() && self.known.answers.get(*event, *question) == *answer {
                continue;
            }
            match answer {
                Some(Answer::Otherwise { .. }) => self.surprise(true),
                Some(Answer::Unresolved) => self.surprise(matters),
                None => {}
            }
        }
        let process = self.process.as_ref().map(|process| process.event);
        self.outcomes.extend(answered.iter().filter(|answered| process < Some(answered.event)));
    }

    fn has(&self, rule: &Rule) -> bool {
        self.without != Some(rule.name)
    }

    fn surprise(&self, is_surprising: bool) {
        if is_surprising && self.known.runs + 1 < MOST_RUNS && self.known.left.is_none() {
            self.is_surprised.set(true);
        }
    }

    /// A copy of the process is made, of which all will be forgotten.
    pub(crate) fn fork(&mut self, event: Event) {
        let (thread, others) = (self.thread.clone(), self.others.clone());
        self.process = Some(Process { event, number: self.number, thread, others });
    }

    /// Whether a copy of the process runs, and something was so before it was made.
    fn is_of_process(&self, event: Event) -> bool {
        self.process.as_ref().is_some_and(|process| event <= process.event)
    }

    /// The copy is given up.
    pub(crate) fn rewind(&mut self) {
        if self.process.is_some() {
            self.give_up();
        }
        if let Some(Process { number, thread, others, .. }) = self.process.take() {
            (self.number, self.thread, self.others) = (number, thread, others);
        }
    }

    /// Nothing more is seen of what is open.
    pub(crate) fn give_up(&mut self) {
        let threads = std::iter::once(std::mem::take(&mut self.thread))
            .chain(std::mem::take(&mut self.others).into_values());
        let open: Vec<Asked> = threads.flat_map(|thread| thread.open.into_values().flatten()).collect();
        for asked in open {
            self.conclude(&asked.answered(Some(Answer::Unresolved)), asked.matters.get());
        }
        for event in std::mem::take(self.asked_landings.get_mut()) {
            if self.is_of_process(event) {
                self.asked_landings.get_mut().insert(event);
            } else {
                self.landings.insert(event, None);
                self.surprise(true);
            }
        }
    }

    /// Ends the run. Returns what is known now, and whether it has to be made once more: something that counts was
    /// otherwise than assumed.
    pub(crate) fn learn(mut self) -> (Known, bool) {
        self.give_up();
        let mut known = Rc::unwrap_or_clone(self.known);
        let is_new = Arc::make_mut(&mut known.answers).learn(&self.outcomes);
        if self.surveys {
            (known.departures, known.landings) = (self.departures, self.landings);
        } else {
            known.departures.extend(self.departures);
            known.landings.extend(self.landings);
        }
        if let Some(left) = &mut known.left {
            left.extend(self.left);
            known.answers = Arc::default();
            (known.departures, known.landings) = Default::default();
        }
        let runs = known.runs;
        known.runs += 1;
        let again = if self.surveys { is_new && runs + 1 < MOST_RUNS } else { self.is_surprised.get() };
        (known, again)
    }
}

/// What judging depends on.
impl Calls {
    /// What is known of the run from those before it.
    pub(super) fn known(&self) -> Rc<Known> {
        Rc::clone(&self.known)
    }

    /// The calls whose ends something depends on.
    pub(super) fn asked(&self) -> Rc<RefCell<FxHashSet<Event>>> {
        Rc::clone(&self.asked)
    }

    /// The rule that is switched off.
    pub(super) const fn without(&self) -> Option<&'static str> {
        self.without
    }

    /// Returns where control lands that has left frames: the inner `None` if the run does not show it. It is not known yet
    /// if another run has to be made.
    pub(super) fn landing(&self, call_stack: &CallStack) -> Option<Option<&Landing>> {
        let (event, _) = call_stack.departed_at()?;
        let known = self.known.landings.get(&event).map(Option::as_ref);
        let is_last = self.known.runs + 1 >= MOST_RUNS || self.known.left.is_some();
        if known.is_none() && !is_last {
            self.asked_landings.borrow_mut().insert(event);
        }
        known.or(is_last.then_some(None))
    }

    /// Returns what the calls may be as well, since the run never shows it; notes that something depends on what is open.
    pub(super) fn unresolved(&self, call_stack: &CallStack) -> Vec<CallStack> {
        let calls = call_stack.records();
        let is_here = |frame: &FrameOf| match frame {
            FrameOf::Call(event) => calls.binary_search_by_key(event, |call| call.event).is_ok(),
            FrameOf::Context(context) => *context == call_stack.context(),
        };
        let open = self.thread.open.iter().filter(|(frame, _)| is_here(frame)).flat_map(|(_, open)| open);
        let is_unresolved = |asked: &&Asked| {
            asked.matters.set(true);
            self.known.left.is_some()
                || self.known.answers.get(asked.event, asked.question) == Some(Answer::Unresolved)
        };
        open.filter(is_unresolved).map(|asked| asked.otherwise(call_stack)).collect()
    }
}
