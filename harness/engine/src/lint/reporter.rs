//! The places of findings, and their destination.

use crate::lint::finding::{Finding, Value};
use crate::lint::rule::Rule;

/// The place of a finding.
#[derive(Clone, Copy)]
pub(super) struct Place {
    pub(super) offset: usize,
    pub(super) fde: Option<u32>,
    pub(super) row: Option<u32>,
}

impl Place {
    pub(super) const fn at(offset: usize) -> Self {
        Self { offset, fde: None, row: None }
    }

    pub(super) const fn with_offset(self, offset: usize) -> Self {
        Self { offset, ..self }
    }
}

/// The destination of findings.
pub(super) struct Reporter<'r> {
    pub(super) sink: &'r mut dyn FnMut(Finding),
}

impl Reporter<'_> {
    pub(super) fn report<const N: usize, V: Into<Value>>(
        &mut self,
        rule: &'static Rule,
        place: Place,
        values: [V; N],
    ) {
        let mut all = [Value::None; 3];
        for (slot, value) in all.iter_mut().zip(values) {
            *slot = value.into();
        }
        let Place { offset, fde, row } = place;
        (self.sink)(Finding { rule, offset, fde, row, values: all });
    }

    /// Reports a rule whose message has no values.
    pub(super) fn say(&mut self, rule: &'static Rule, place: Place) {
        self.report(rule, place, [Value::None; 0]);
    }
}
