//! Findings: what is not as it should be, and what everybody says of it.

use serde::{Deserialize, Serialize};
pub use sframe_inspect::{Address, Blame, Confidence, FindingRow, Witness};

use crate::spec::Verdict;

/// With whom a witness agrees about what a finding is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Side {
    /// With the call stack.
    CallStack,
    /// With the section under test.
    Section,
    /// With neither.
    Neither,
}

/// What a witness says.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct Evidence {
    /// Who.
    pub witness: Witness,
    /// What, in a sentence.
    pub says: String,
    /// With whom it agrees; none where it does not tell.
    pub agrees_with: Option<Side>,
}

/// An instruction near the one that a finding is about.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct ListedInstruction {
    /// Its address, without the load bias.
    pub pc: Address,
    /// As an assembler writes it.
    pub text: String,
    /// Start of its row, in bytes from the start of the function. None
    /// without FDE or row.
    pub row: Option<Address>,
}

/// A word of the stack.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct Slot {
    /// Its address.
    pub address: Address,
    /// What is in it; none where it can't be read.
    pub value: Option<Address>,
    /// What it is: `SP`, `RA`, and what is claimed of it.
    pub marks: Vec<String>,
}

/// The stack at the moment when a finding was first seen.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
pub struct StackView {
    /// The frame's SP.
    pub sp: Address,
    /// The frame's FP.
    pub fp: Address,
    /// Words of the frame and around it, by ascending addresses. Where they
    /// leave some out, there is a gap in the addresses.
    pub slots: Vec<Slot>,
}

/// Something that is not as it should be.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct Finding {
    /// What kind.
    pub verdict: Verdict,
    /// PC of the frame whose rules are wrong, without its image's load bias.
    pub pc: Option<Address>,
    /// The library that it lies in; none for the executable.
    pub image: Option<String>,
    /// The function there.
    pub function: Option<String>,
    /// The frame, 0 for the topmost. The smallest, where there are several.
    pub frame: Option<usize>,
    /// How often it was seen.
    pub hits: u64,
    /// The row that gave the value.
    pub row: Option<FindingRow>,
    /// What the call stack, or the spec, says.
    pub expected: String,
    /// What the unwinder, or the run, says.
    pub got: String,
    /// The instruction at the PC.
    pub instruction: Option<String>,
    /// Who is to blame.
    pub blame: Blame,
    /// How sure that is.
    pub confidence: Confidence,
    /// What other witnesses say.
    pub evidence: Vec<Evidence>,
    /// The instructions around the PC.
    pub listing: Vec<ListedInstruction>,
    /// The stack when it was first seen in that frame.
    pub stack: Option<StackView>,
    /// All of it in a sentence.
    pub message: String,
}

impl Finding {
    /// A finding that is about a spec's expectation, not about a row.
    #[must_use]
    pub fn of_spec(verdict: Verdict, expected: String, got: String, message: String) -> Self {
        Self {
            verdict,
            pc: None,
            image: None,
            function: None,
            frame: None,
            hits: 1,
            row: None,
            expected,
            got,
            instruction: None,
            blame: Blame::Unknown,
            confidence: Confidence::Low,
            evidence: Vec::new(),
            listing: Vec::new(),
            stack: None,
            message,
        }
    }
}
