//! What a run has shown of its calls, for another run of the same program.
//!
//! Runs are deterministic. Where a call stack may be read in two ways, the witness goes on with what it assumes, and only
//! what control does later shows which it was. Another run with these answers knows it from the beginning.

use std::ops::Range;

use rustc_hash::{FxHashMap, FxHashSet};

/// The number of an instruction, or of a signal, among those of a run that were followed. Unlike a time, it is never the
/// same for two of them: copies of a process that are given up put time back.
pub type Event = u64;

/// What may be read in two ways. Each kind names the place where it is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Question {
    /// Whether a call is one: assumed, and otherwise nobody returns to its return address.
    Call {
        /// Its return address.
        return_address: u64,
        /// What it has led to.
        callee: u64,
    },
    /// Whether a branch that has left a return address is a call: not assumed.
    Branch {
        /// The return address.
        return_address: u64,
        /// What it has led to.
        callee: u64,
    },
    /// Whether control has stayed in the innermost frame: assumed; otherwise it has landed in the one that
    /// [`Exit::Landing`](crate::Exit::Landing) names.
    Landing {
        /// Where.
        at: u64,
    },
    /// Whether the frames have ended that SP has moved past: assumed; otherwise they go on, or return later.
    Departure {
        /// The instruction after the one that has moved SP.
        at: u64,
    },
}

/// An answer that differs from what is assumed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// It was otherwise.
    Otherwise {
        /// For a branch that is a call: the time from when its return address was put where it is, to the call.
        lag: u64,
    },
    /// The run does not show it.
    Unresolved,
}

/// What has become of a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answered {
    /// The question.
    pub question: Question,
    /// When it was asked.
    pub event: Event,
    /// `None` if it was as assumed.
    pub answer: Option<Answer>,
}

/// The answers of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Answers {
    /// Those that are the same whenever they are asked at a place.
    places: FxHashMap<Question, Answer>,
    /// The others.
    events: FxHashMap<(Event, Question), Answer>,
    /// What branches have led to that are calls.
    called: FxHashSet<u64>,
}

impl Answers {
    /// Adds what a run with these answers has shown. Returns whether anything was otherwise than assumed.
    pub fn learn(&mut self, outcomes: &[Answered]) -> bool {
        let mut at: FxHashMap<Question, Option<Option<Answer>>> = FxHashMap::default();
        for outcome in outcomes {
            at.entry(outcome.question)
                .and_modify(|known| *known = known.filter(|known| *known == outcome.answer))
                .or_insert(Some(outcome.answer));
        }
        let mut is_new = false;
        for Answered { question, event, answer } in outcomes {
            let Some(answer) = *answer else { continue };
            if let Question::Branch { callee, .. } = question {
                self.called.insert(*callee);
            }
            let known = match at.get(question) {
                Some(Some(_)) => self.places.insert(*question, answer),
                _ => self.events.insert((*event, *question), answer),
            };
            is_new |= known != Some(answer);
        }
        is_new
    }

    /// Returns what is known of a question.
    #[inline]
    #[must_use]
    pub fn get(&self, event: Event, question: Question) -> Option<Answer> {
        if !self.is_any() {
            return None;
        }
        self.events.get(&(event, question)).or_else(|| self.places.get(&question)).copied()
    }

    /// Whether anything was otherwise than assumed.
    #[inline]
    #[must_use]
    pub fn is_any(&self) -> bool {
        !self.places.is_empty() || !self.events.is_empty()
    }

    /// Whether a call that returns to some code is none, or a branch that returns there, or has led there, is one.
    #[must_use]
    pub fn are_in(&self, code: &Range<u64>) -> bool {
        let questions = self.places.keys().chain(self.events.keys().map(|(_, question)| question));
        questions.into_iter().any(|question| match question {
            Question::Call { return_address, .. } => code.contains(&return_address.wrapping_sub(1)),
            Question::Branch { return_address, callee } => {
                code.contains(&return_address.wrapping_sub(1)) || code.contains(callee)
            }
            Question::Landing { .. } | Question::Departure { .. } => false,
        })
    }

    /// Whether branches to a place are known to be calls.
    #[inline]
    pub(crate) fn are_calls(&self, callee: u64) -> bool {
        !self.called.is_empty() && self.called.contains(&callee)
    }

    /// Whether something is known to have been otherwise than assumed.
    #[inline]
    pub(crate) fn is_otherwise(&self, event: Event, question: Question) -> bool {
        matches!(self.get(event, question), Some(Answer::Otherwise { .. }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HERE: Question = Question::Landing { at: 0x10 };
    const THERE: Question = Question::Departure { at: 0x10 };
    const OTHERWISE: Option<Answer> = Some(Answer::Otherwise { lag: 0 });

    #[test]
    fn what_is_always_the_same_is_known_by_its_place_and_all_else_by_its_event() {
        let outcome = |question, event, answer| Answered { question, event, answer };
        let mut answers = Answers::default();
        assert!(!answers.learn(&[outcome(HERE, 1, None), outcome(THERE, 2, None)]));
        let mixed = [outcome(THERE, 7, None), outcome(THERE, 9, OTHERWISE)];
        assert!(
            answers
                .learn(&[&[outcome(HERE, 3, OTHERWISE), outcome(HERE, 5, OTHERWISE)], &mixed[..]].concat())
        );
        assert_eq!([0, 3, 4].map(|event| answers.get(event, HERE)), [OTHERWISE; 3]);
        assert_eq!([7, 8, 9].map(|event| answers.get(event, THERE)), [None, None, OTHERWISE]);
        assert!(!answers.learn(&mixed), "the same again");
    }
}
