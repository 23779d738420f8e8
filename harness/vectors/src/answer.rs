//! What a reader answers.

use serde::{Deserialize, Serialize};

use crate::expect::{Fde, Header, Lookup, Reject};
use crate::step::{Caller, End};

/// The parts of the answer to `section`, beside rejections.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SectionPart {
    /// The header.
    Header,
    /// Functions and rows.
    Fdes,
    /// Which function and row a PC has.
    Lookups,
    /// From a frame to its caller.
    Steps,
}

/// The answer to [`SectionQuestion`](crate::SectionQuestion): a rejection of the whole section, or the
/// parts that the unwinder has promised.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SectionAnswer {
    /// Why it can't be opened. Then nothing follows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reject: Option<Reject>,
    /// Its header.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub header: Option<Header>,
    /// Its functions, in the order of the section.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fdes: Option<Vec<Fde>>,
    /// What each look-up finds, in the order of the questions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lookups: Option<Vec<Lookup>>,
    /// What each step comes to, in the order of the questions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub steps: Option<Vec<StepAnswer>>,
}

/// What a step comes to: a caller, or an end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StepAnswer {
    /// The caller.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub caller: Option<Caller>,
    /// Or why there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end: Option<End>,
}
