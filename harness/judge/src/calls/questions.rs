//! A question about calls, and what answers it.

use std::cell::Cell;

use sframe_inspect::instructions::MOST_REMOVED;
use sframe_machine::{Answer, Answered, CallStack, Event, Exit, Moment, Question, Record};

/// A question that is open.
#[derive(Clone, Debug)]
pub(super) struct Asked {
    pub(super) question: Question,
    pub(super) event: Event,
    /// The call that it is about.
    pub(super) call: Record,
    /// For a landing: how many calls are below the frame that control may have landed in.
    pub(super) frame: usize,
    /// For a landing that has brought frames back: when SP had moved past them, and where.
    pub(super) departed: Option<(Event, u64)>,
    /// For a branch: the time since its return address was put where it is.
    pub(super) lag: u64,
    /// Whether a comparison has disagreed since.
    pub(super) matters: Cell<bool>,
}

impl Asked {
    pub(super) fn new(question: Question, moment: &Moment<'_>, call: &Record, frame: usize) -> Self {
        let lag = moment.time.saturating_sub(call.since);
        let (event, departed, matters) = (moment.event, None, Cell::new(false));
        Self { question, event, call: *call, frame, departed, lag, matters }
    }

    /// What it has turned out to be.
    pub(super) fn answered(&self, answer: Option<Answer>) -> Vec<Answered> {
        let Self { question, event, departed, .. } = *self;
        let departure = departed.map(|(event, at)| Answered {
            question: Question::Departure { at },
            event,
            // They have not ended before they came back unless they have ended after that.
            answer: if answer.is_none() { Some(Answer::Otherwise { lag: 0 }) } else { None },
        });
        std::iter::once(Answered { question, event, answer }).chain(departure).collect()
    }

    /// Whether a moment at which its frame is the innermost shows that a branch was a call: control has returned to the
    /// address that it has left, with SP as it was, or above arguments that the callee has removed.
    pub(super) fn is_returned_from(&self, moment: &Moment<'_>) -> bool {
        let removed = moment.sp.checked_sub(self.call.caller_sp);
        matches!(self.question, Question::Branch { .. })
            && moment.pc == self.call.return_address
            && removed.is_some_and(|removed| removed <= MOST_REMOVED)
    }

    /// Returns what ends a frame's question with it, given how that was left.
    pub(super) fn end(&self, exit: Option<Exit>, returned: bool) -> Option<Answer> {
        match self.question {
            // Nobody returns any more.
            Question::Branch { .. } if matches!(exit, Some(Exit::Landing { .. })) => Some(Answer::Unresolved),
            Question::Branch { .. } | Question::Departure { .. } => None,
            Question::Call { .. } | Question::Landing { .. } if returned => None,
            Question::Call { .. } | Question::Landing { .. } => Some(Answer::Otherwise { lag: 0 }),
        }
    }

    /// Returns the call stack if it is otherwise than assumed.
    pub(super) fn otherwise(&self, recorded: &CallStack) -> CallStack {
        let position = recorded.records().iter().position(|call| call.event == self.call.event);
        match (self.question, position) {
            (Question::Call { .. }, Some(position)) => recorded.without(position..position + 1),
            (Question::Landing { .. }, Some(position)) => recorded.without(self.frame..position + 1),
            (Question::Branch { .. }, _) => recorded.with(self.frame, self.call),
            _ => recorded.clone(),
        }
    }
}
