//! A question about calls, and what answers it.

use std::cell::Cell;
use std::rc::Rc;

use sframe_isa::MOST_REMOVED;
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
    /// Whether a comparison has disagreed since, in a copy of the process or in itself.
    pub(super) matters: Rc<Cell<bool>>,
}

impl Asked {
    pub(super) fn new(question: Question, moment: &Moment<'_>, call: &Record, frame: usize) -> Self {
        let lag = moment.time.saturating_sub(call.since);
        let (event, departed, matters) = (moment.event, None, Rc::default());
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

#[cfg(test)]
mod tests {
    use sframe_machine::Bottom;

    use super::*;

    const CALL: Record = Record {
        return_address: 0x1018,
        cfa: 0x7000,
        caller_sp: 0x6ff8,
        caller_fp: 0,
        callee: 0x1020,
        since: 5,
        event: 3,
        interrupted: false,
        signature: None,
    };
    const CALLER: Record = Record { event: 1, callee: 0x1000, caller_sp: 0x7018, ..CALL };

    fn asked(question: Question, frame: usize) -> Asked {
        Asked { question, event: 3, call: CALL, frame, departed: None, lag: 2, matters: Rc::default() }
    }

    const OF_CALL: Question = Question::Call { return_address: 0x1018, callee: 0x1020 };
    const OF_BRANCH: Question = Question::Branch { return_address: 0x1018, callee: 0x1020 };
    const OF_LANDING: Question = Question::Landing { at: 0x1020 };
    const RETURN: Option<Exit> = Some(Exit::Return);
    const LANDING: Option<Exit> = Some(Exit::Landing { call: None, or: None });

    /// What was assumed is true of a call, and of control that has landed, only if the frame returns; a branch was a call
    /// only if somebody returns to it, which nobody does any more once control has landed elsewhere.
    #[test]
    fn how_a_frame_ends_answers_what_was_asked_of_it() {
        let otherwise = Some(Answer::Otherwise { lag: 0 });
        for (question, exit, returned, answer) in [
            (OF_CALL, RETURN, true, None),
            (OF_CALL, RETURN, false, otherwise),
            (OF_CALL, LANDING, false, otherwise),
            (OF_LANDING, RETURN, true, None),
            (OF_LANDING, LANDING, false, otherwise),
            (OF_BRANCH, RETURN, false, None),
            (OF_BRANCH, LANDING, false, Some(Answer::Unresolved)),
            (Question::Departure { at: 0x1020 }, LANDING, false, None),
        ] {
            assert_eq!(asked(question, 0).end(exit, returned), answer, "{question:?} {exit:?}");
        }
    }

    #[test]
    fn the_other_reading_has_no_call_that_is_none_and_those_that_are() {
        let events = |call_stack: &CallStack| -> Vec<Event> {
            call_stack.records().iter().map(|call| call.event).collect()
        };
        let made = CallStack::new(Bottom::Entry, vec![CALLER, CALL]);
        assert_eq!(events(&asked(OF_CALL, 0).otherwise(&made)), [1]);
        // Control has landed below the frame's call.
        assert_eq!(events(&asked(OF_LANDING, 0).otherwise(&made)), [0; 0]);
        assert_eq!(events(&asked(OF_LANDING, 1).otherwise(&made)), [1]);
        let not_made = CallStack::new(Bottom::Entry, vec![CALLER]);
        assert_eq!(events(&asked(OF_BRANCH, 1).otherwise(&not_made)), [1, 3]);
        assert_eq!(events(&asked(OF_CALL, 0).otherwise(&not_made)), [1]);
    }

    /// Frames that SP has moved past have not ended before they came back, unless they have ended since.
    #[test]
    fn an_answer_about_a_landing_answers_where_sp_moved_too() {
        let back = Asked { departed: Some((2, 0x1010)), ..asked(OF_LANDING, 1) };
        let of_departure = |answer| {
            let answered = back.answered(answer);
            let [landing, departure] = &answered[..] else { panic!("{answered:?}") };
            assert_eq!((landing.question, landing.answer), (OF_LANDING, answer));
            assert_eq!((departure.question, departure.event), (Question::Departure { at: 0x1010 }, 2));
            departure.answer
        };
        assert_eq!(of_departure(None), Some(Answer::Otherwise { lag: 0 }));
        assert_eq!(of_departure(Some(Answer::Otherwise { lag: 0 })), None);
        assert_eq!(asked(OF_LANDING, 1).answered(None).len(), 1);
    }
}
