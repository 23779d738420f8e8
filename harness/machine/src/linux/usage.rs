//! Which system calls a program has made.

use std::collections::BTreeMap;

/// The system calls of a run, by name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// How often each was made.
    pub calls: BTreeMap<String, u64>,
    /// How often each was answered with `ENOSYS`: the machine does not have it, and programs
    /// have to cope. Calls that Linux does not have either are named by their numbers.
    pub refused: BTreeMap<String, u64>,
}

impl Usage {
    pub(super) fn called(&mut self, name: &str) {
        count(&mut self.calls, name);
    }

    pub(super) fn refused(&mut self, name: &str) {
        count(&mut self.refused, name);
    }

    pub(super) fn unknown(&mut self, number: u64) {
        count(&mut self.refused, &number.to_string());
    }
}

fn count(counts: &mut BTreeMap<String, u64>, name: &str) {
    match counts.get_mut(name) {
        Some(count) => *count += 1,
        None => {
            counts.insert(name.to_owned(), 1);
        }
    }
}
