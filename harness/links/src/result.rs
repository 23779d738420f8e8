//! What became of a case.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sframe_engine::Abi;
use sframe_judge::vocabulary::named;

use crate::judge::LinkFinding;

named! {
    /// What became of a case.
    pub enum LinkOutcome, "outcome" {
        /// The output is right.
        Right = "right",
        /// Something is wrong, and all of it is known.
        Known = "known",
        /// Something is wrong.
        Wrong = "wrong",
        /// The tool can't do what the case needs, with or without `.sframe`.
        Unsupported = "unsupported",
    }
}

/// A case with one ABI.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
pub struct LinkResult {
    /// The case.
    pub case: String,
    /// The ABI.
    pub abi: Abi,
    /// The version of the objects' sections.
    pub sframe_version: u8,
    /// The version of the section in the output, if something is wrong and there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_version: Option<u8>,
    /// What became of it.
    pub outcome: LinkOutcome,
    /// What is wrong.
    pub findings: Vec<LinkFinding>,
    /// The causes of what is known, by sentence.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub known: Vec<String>,
    /// Why it is not judged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The commands, which run in a folder with the objects.
    pub commands: Vec<String>,
    /// The objects: `v3/amd64/two.o` is that of `corpus/links/objects/v3/amd64.a`.
    pub objects: Vec<String>,
    /// What the tools have said.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub said: String,
}

/// What became of cases that were tried.
#[derive(Clone, Debug, Default)]
pub struct Tried {
    /// Each case with each ABI.
    pub results: Vec<LinkResult>,
    /// How many are left since an end was asked for.
    pub left: u64,
}
