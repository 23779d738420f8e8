//! Which answers to each question of a vector are accepted, and why.

use serde::Serialize;

use crate::alternative::{Alternative, reading_of};
use crate::answer::StepAnswer;
use crate::equation::{Equation, Recovery};
use crate::expect::{Answer, Fde, Header, Lookup, Reject, Row, Rules};
use crate::names::RejectKind;
use crate::query::Query;
use crate::step::End;
use crate::vector::Vector;

/// Why an answer is accepted.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Class {
    /// The text says so; or it is open, and the vector's own reading says so.
    Must,
    /// The text is open, and these alternatives say so.
    Reading(Vec<String>),
    /// The text does not forbid it, but there is a better answer: the first one.
    Quality,
}

/// What an answer must be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Pattern {
    /// Any answer.
    Anything,
    /// The section can be opened.
    Opens,
    /// It is rejected here, with this reason and, if both have one, at this offset.
    Reject(Reject),
    /// It is rejected for whatever reason: here, or with something that contains it. A section that is opened is
    /// rejected if any part of it is.
    Refused,
    /// This header.
    Header(Header),
    /// This function, whose rows are other questions, and the number of its rows if all can be read.
    Fde(Fde, Option<usize>),
    /// This row.
    Row(Row),
    /// This result of a look-up.
    Lookup(Lookup),
    /// No row for whatever reason, but not because the frame is outermost.
    NoRow,
    /// This result of a step.
    Step(StepAnswer),
    /// No caller for whatever reason, but not because the frame is outermost.
    NoCaller,
}

/// An answer that is accepted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Accepted {
    /// What it must be.
    pub pattern: Pattern,
    /// Why.
    pub class: Class,
}

/// A question with the answers that are accepted; the first is the vector's own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Asked {
    /// The question.
    pub query: Query,
    /// The answers.
    pub accepted: Vec<Accepted>,
}

impl Asked {
    fn new(query: Query, own: Pattern) -> Self {
        Self { query, accepted: vec![Accepted { pattern: own, class: Class::Must }] }
    }

    /// Adds an answer, unless it is accepted already.
    fn also(&mut self, pattern: Pattern, class: Class) {
        if !self.accepted.iter().any(|accepted| accepted.pattern == pattern) {
            self.accepted.push(Accepted { pattern, class });
        }
    }
}

impl Vector {
    /// Whether part of the section is faulty, though it can be opened. A reader may refuse all of it, then.
    #[must_use]
    pub fn is_faulty(&self) -> bool {
        self.fdes.iter().any(|fde| fde.reject.is_some() || fde.rows.iter().any(Row::is_rejected))
    }

    /// Returns the vector for a reader that has chosen how it reads the text: with alternatives, as
    /// `reading/alternative`, or as the vectors do, as `reading`. Nothing else is accepted where they matter.
    #[must_use]
    pub fn chosen(&self, choices: &[String]) -> Self {
        let is_chosen = |taken: &String| choices.contains(taken);
        let is_decided = |taken: &String| {
            let reading = reading_of(taken);
            choices.iter().any(|choice| reading_of(choice) == reading)
        };
        let mut vector = Self { alternatives: Vec::new(), ..self.clone() };
        let is_taken = |alternative: &Alternative| alternative.take.iter().all(is_chosen);
        let taken: Vec<(usize, &Alternative)> =
            self.alternatives.iter().enumerate().filter(|(_, alternative)| is_taken(alternative)).collect();
        taken.iter().for_each(|(_, alternative)| vector.take(alternative));
        // Of a section that is refused now, nothing else is asked.
        if taken.iter().any(|(_, alternative)| alternative.refused) {
            return vector;
        }
        for (position, alternative) in self.alternatives.iter().enumerate() {
            let is_open = |taken: &String| is_chosen(taken) || !is_decided(taken);
            if is_taken(alternative) || !alternative.take.iter().all(is_open) {
                continue;
            }
            let mut alternative = alternative.clone();
            alternative.take.retain(|taken| !is_chosen(taken));
            // The last one counts, and that is chosen already.
            for (_, later) in taken.iter().filter(|(at, _)| *at > position) {
                alternative.leave_to(later);
            }
            if !alternative.is_empty() {
                vector.alternatives.push(alternative);
            }
        }
        vector
    }

    /// Answers as an alternative does.
    fn take(&mut self, alternative: &Alternative) {
        if alternative.refused {
            *self = Self {
                reject: Some(Reject { kind: RejectKind::Unspecified, offset: None }),
                header: None,
                fdes: Vec::new(),
                lookups: Vec::new(),
                steps: Vec::new(),
                ..self.clone()
            };
            return;
        }
        if alternative.opened {
            self.reject = None;
        }
        for (index, fde) in &alternative.fdes {
            if let Some(own) = self.fdes.get_mut(*index) {
                *own = fde.clone();
            }
        }
        for lookup in &alternative.lookups {
            let question = lookup.question();
            self.lookups
                .iter_mut()
                .filter(|own| own.question() == question)
                .for_each(|own| *own = lookup.clone());
        }
        for (index, answer) in &alternative.steps {
            if let Some(own) = self.steps.get_mut(*index) {
                (own.caller, own.end) = (answer.caller, answer.end);
            }
        }
    }

    /// Returns every question about the section, with the answers that are accepted.
    #[must_use]
    pub fn asked(&self) -> Vec<Asked> {
        let mut all = vec![self.opening()];
        all.extend(self.header.clone().map(|header| Asked::new(Query::Header, Pattern::Header(header))));
        for (index, fde) in self.fdes.iter().enumerate() {
            self.of_fde(index, fde, &mut all);
        }
        all.extend(self.lookups.iter().enumerate().map(|(index, lookup)| self.of_lookup(index, lookup)));
        for (index, step) in self.steps.iter().enumerate() {
            let own = StepAnswer { caller: step.caller, end: step.end };
            let pattern = if own == StepAnswer::default() { Pattern::NoCaller } else { Pattern::Step(own) };
            let mut asked = Asked::new(Query::Step(index), pattern);
            for (alternative, class) in self.alternatives() {
                if let Some(answer) = alternative.steps.get(&index) {
                    let pattern = match answer {
                        StepAnswer { caller: None, end: None } => Pattern::NoCaller,
                        answer if is_failure(answer) => Pattern::NoCaller,
                        answer => Pattern::Step(*answer),
                    };
                    asked.also(pattern, class);
                }
            }
            if is_failure(&own) {
                asked.also(Pattern::NoCaller, Class::Quality);
            }
            all.push(asked);
        }
        // What contains a fault may be refused as a whole, and everything in it with it.
        let all_of_it = self.alternatives().filter(|(alternative, _)| alternative.refuses());
        if self.only_answered {
            for asked in all.iter_mut().filter(|asked| asked.query != Query::Header) {
                asked.accepted = vec![Accepted { pattern: Pattern::Anything, class: Class::Must }];
            }
        }
        // In a section without functions nothing can be found.
        let is_empty = self.header.as_ref().is_some_and(|header| header.num_fdes == 0);
        let faulty = (self.is_faulty() || is_empty || self.only_answered).then_some(Class::Quality);
        if let Some(class) = faulty.or(all_of_it.map(|(_, class)| class).next()) {
            all.iter_mut().for_each(|asked| asked.also(Pattern::Refused, class.clone()));
        }
        all
    }

    /// The register in which calls leave RA.
    fn link_register(&self) -> Option<u32> {
        self.header.as_ref()?.abi.ra().map(|register| register.0)
    }

    fn alternatives(&self) -> impl Iterator<Item = (&Alternative, Class)> {
        self.alternatives.iter().map(|alternative| (alternative, Class::Reading(alternative.take.clone())))
    }

    fn opening(&self) -> Asked {
        let Some(reject) = &self.reject else { return Asked::new(Query::Opening, Pattern::Opens) };
        let mut asked = Asked::new(Query::Opening, Pattern::Reject(reject.clone()));
        for (_, class) in self.alternatives().filter(|(alternative, _)| alternative.opened) {
            asked.also(Pattern::Opens, class);
        }
        asked.also(Pattern::Refused, Class::Quality);
        asked
    }

    fn of_fde(&self, index: usize, fde: &Fde, all: &mut Vec<Asked>) {
        let pattern = |fde: &Fde| match &fde.reject {
            Some(reject) => Pattern::Reject(reject.clone()),
            None => {
                let count = (!fde.rows.iter().any(Row::is_rejected)).then_some(fde.rows.len());
                Pattern::Fde(Fde { rows: Vec::new(), ..fde.clone() }, count)
            }
        };
        let others: Vec<(&Fde, Class)> = self
            .alternatives()
            .filter_map(|(alternative, class)| Some((alternative.fdes.get(&index)?, class)))
            .collect();
        let mut asked = Asked::new(Query::Fde(index), pattern(fde));
        for (other, class) in &others {
            let pattern = if other.reject.is_some() { Pattern::Refused } else { pattern(other) };
            asked.also(pattern, class.clone());
        }
        if fde.reject.is_some() {
            asked.also(Pattern::Refused, Class::Quality);
        }
        all.push(asked);
        let most = others.iter().map(|(other, _)| other.rows.len()).chain([fde.rows.len()]).max();
        for row in 0..most.unwrap_or_default() {
            let pattern = |fde: &Fde| match fde.rows.get(row) {
                Some(Row::Reject(reject)) => Pattern::Reject(reject.clone()),
                Some(rules) => Pattern::Row(rules.clone()),
                // After one that can't be read, or in a function that can't.
                None => Pattern::Refused,
            };
            let mut asked = Asked::new(Query::Row(index, row), pattern(fde));
            // That RA is in the register where calls leave it is that it has not moved.
            if let Some(Row::Rules(rules)) = fde.rows.get(row)
                && let Recovery::Rule(rule) = rules.ra
                && self.link_register().is_some_and(|link| rule == Equation::of_register(link))
            {
                let unchanged = Rules { ra: Recovery::Unchanged, ..*rules };
                asked.also(Pattern::Row(Row::Rules(unchanged)), Class::Must);
            }
            for (other, class) in &others {
                let pattern = match pattern(other) {
                    Pattern::Reject(_) => Pattern::Refused,
                    pattern => pattern,
                };
                asked.also(pattern, class.clone());
            }
            all.push(asked);
        }
    }

    fn of_lookup(&self, index: usize, lookup: &Lookup) -> Asked {
        let is_reject = matches!(lookup.answer, Answer::Reject(_));
        let own = match &lookup.answer {
            Answer::Reject(reject) => Pattern::Reject(reject.clone()),
            _ => Pattern::Lookup(lookup.clone()),
        };
        let mut asked = Asked::new(Query::Lookup(index), own);
        for (alternative, class) in self.alternatives() {
            let same = |other: &&Lookup| other.question() == lookup.question();
            if let Some(other) = alternative.lookups.iter().find(same) {
                let pattern = match &other.answer {
                    Answer::Reject(_) => Pattern::NoRow,
                    _ => Pattern::Lookup(other.clone()),
                };
                asked.also(pattern, class);
            }
        }
        if is_reject {
            asked.also(Pattern::NoRow, Class::Quality);
        }
        // Whether a PC without a row is one of a function makes no difference to a walk.
        if matches!(lookup.answer, Answer::NoRow(_)) {
            asked.also(Pattern::Lookup(Lookup { answer: Answer::NoFde, ..lookup.clone() }), Class::Quality);
        }
        asked
    }
}

/// Whether a step has no caller, but not because the frame is outermost.
fn is_failure(answer: &StepAnswer) -> bool {
    answer.caller.is_none() && answer.end.is_some_and(|end| end != End::Outermost {})
}
