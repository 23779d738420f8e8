//! Where look-ups and steps of a reader differ.

use std::collections::BTreeSet;

use sframe_vectors::{Answer, Lookup, PcKind, Question, Step, StepAnswer};

use super::difference::{Comparison, Part, shown};

impl Comparison<'_> {
    pub(super) fn lookups(&mut self, got: Option<&[Lookup]>, expected: &[Lookup]) {
        let mut wrong = BTreeSet::new();
        for (got, expected) in self.pairs(Part::Lookup, got, expected) {
            self.result.compared += 1;
            let (found, answer) = (&got.answer, &expected.answer);
            if (got.pc, got.return_address) != (expected.pc, expected.return_address) {
                self.differ(Part::Lookup, "PC", (None, None), &shown(&expected.pc), &shown(&got.pc));
            }
            if let Answer::Reject(reject) = answer {
                let rejected = match found {
                    Answer::Reject(reject) => Some(reject),
                    _ => None,
                };
                if !self.is_rejected(rejected, reject) {
                    self.differ(Part::Lookup, "not rejected", (None, None), &shown(reject), &shown(got));
                }
                continue;
            }
            if found == answer {
                continue;
            }
            let field = match (answer, found) {
                (_, Answer::Reject(_)) => "rejected",
                (Answer::NoFde, _) => "a function where there is none",
                (_, Answer::NoFde) => "no function",
                _ if function_of(answer) != function_of(found) => "another function",
                (Answer::Outermost(_), _) => "not outermost",
                (Answer::NoRow(_), _) => "a row where there is none",
                (_, Answer::NoRow(_)) => "no row",
                _ => "another row",
            };
            let function = function_of(answer).or(function_of(found));
            if function.is_some_and(|function| self.wrong.contains(&function)) {
                continue;
            }
            wrong.extend(function);
            let row = match answer {
                Answer::Row(_, row) => Some(*row),
                _ => None,
            };
            let message = format!("expected {:?}, got {:?}", shown(expected), shown(got));
            self.add(Part::Lookup, field, (function, row), message);
        }
        self.wrong.extend(wrong);
    }

    pub(super) fn steps(&mut self, got: Option<&[StepAnswer]>, expected: &[Step]) {
        for (got, expected) in self.pairs(Part::Step, got, expected) {
            self.result.compared += 1;
            if (got.caller, got.end) == (expected.caller, expected.end) {
                continue;
            }
            let pc = expected.frame.pc;
            let question = Question { pc, return_address: expected.frame.kind == PcKind::Return };
            let place = match self.case.plan.look_up(question) {
                Some(Answer::Row(function, row)) => (Some(function), Some(row)),
                Some(answer) => (function_of(&answer), None),
                None => (None, None),
            };
            if place.0.is_some_and(|function| self.wrong.contains(&function)) {
                continue;
            }
            let field = match (expected.caller, got.caller) {
                (Some(_), None) => "no caller",
                (None, Some(_)) => "a caller where there is none",
                (None, None) => "another end",
                (Some(expected), Some(got)) if expected.cfa != got.cfa => "CFA",
                (Some(expected), Some(got)) if expected.pc != got.pc => "caller's PC",
                (Some(expected), Some(got)) if expected.kind != got.kind => "kind of PC",
                (Some(expected), Some(got)) if expected.sp != got.sp => "caller's SP",
                (Some(_), Some(_)) => "caller's FP",
            };
            let expected = StepAnswer { caller: expected.caller, end: expected.end };
            let message = format!("from {pc}: expected {:?}, got {:?}", shown(&expected), shown(got));
            self.add(Part::Step, field, place, message);
        }
    }
}

fn function_of(answer: &Answer) -> Option<usize> {
    match answer {
        Answer::NoFde | Answer::Reject(_) => None,
        Answer::NoRow(function) | Answer::Outermost(function) | Answer::Row(function, _) => Some(*function),
    }
}
