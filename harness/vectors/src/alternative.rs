//! What another reading answers.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::answer::StepAnswer;
use crate::expect::{Fde, Lookup, Row};

/// Answers that a reader gives who reads the text otherwise, where it is open: those that are not the vector's.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Alternative {
    /// The alternatives that it takes, as `readings.yaml` names them: `reading/alternative`. If there are several,
    /// only all of them together give these answers. They count instead of those of alternatives before it.
    pub take: Vec<String>,
    /// It refuses the section.
    #[serde(default, skip_serializing_if = "is_false")]
    pub refused: bool,
    /// It opens the section, which the vector rejects.
    #[serde(default, skip_serializing_if = "is_false")]
    pub opened: bool,
    /// Functions, by index.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub fdes: BTreeMap<usize, Fde>,
    /// Look-ups.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lookups: Vec<Lookup>,
    /// Steps, by index. A step without caller and end has no caller.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub steps: BTreeMap<usize, StepAnswer>,
}

/// The reading of an alternative, or of a choice that names a reading alone.
#[must_use]
pub fn reading_of(choice: &str) -> &str {
    choice.split('/').next().unwrap_or_default()
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
const fn is_false(is: &bool) -> bool {
    !*is
}

impl Alternative {
    /// Whether it refuses something. Then what contains that may be refused as well, up to the section.
    #[must_use]
    pub fn refuses(&self) -> bool {
        let in_fde = |fde: &Fde| fde.reject.is_some() || fde.rows.iter().any(Row::is_rejected);
        self.refused || self.fdes.values().any(in_fde)
    }

    /// Whether it answers nothing otherwise.
    pub(crate) fn is_empty(&self) -> bool {
        let Self { take: _, refused, opened, fdes, lookups, steps } = self;
        !refused && !opened && fdes.is_empty() && lookups.is_empty() && steps.is_empty()
    }

    /// Leaves out what another one answers.
    pub(crate) fn leave_to(&mut self, other: &Self) {
        self.fdes.retain(|index, _| !other.fdes.contains_key(index));
        self.steps.retain(|index, _| !other.steps.contains_key(index));
        self.lookups.retain(|one| !other.lookups.iter().any(|two| one.question() == two.question()));
    }
}
