//! Findings: what is wrong, and what each witness says about it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
pub use sframe_inspect::{Address, Blame, Confidence, FindingRow, Witness};

use crate::spec::Verdict;

/// Which side a witness agrees with about the subject of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Side {
    /// With the call stack.
    CallStack,
    /// With the section under test.
    Section,
    /// With neither.
    Neither,
}

/// A witness's statement.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
pub struct Evidence {
    /// The witness.
    pub witness: Witness,
    /// Its statement, in a sentence.
    pub says: String,
    /// The side it agrees with; `None` if that is unknown.
    pub agrees_with: Option<Side>,
}

impl Evidence {
    /// Says with whom the witness agrees, if that is known.
    #[must_use]
    pub fn side(&self) -> Option<String> {
        let agrees = match self.witness {
            Witness::FramePointers | Witness::Instructions => "agree",
            Witness::Reader | Witness::Cfi | Witness::Layout | Witness::Exploration => "agrees",
        };
        match self.agrees_with? {
            Side::CallStack => Some(format!("{agrees} with the call stack")),
            // The section agrees with itself.
            Side::Section if self.witness == Witness::Reader => None,
            Side::Section => Some(format!("{agrees} with the section")),
            Side::Neither => Some(format!("{agrees} with neither")),
        }
    }
}

/// An instruction near the one that a finding is about.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
pub struct ListedInstruction {
    /// Its address, without the load bias.
    pub pc: Address,
    /// As an assembler writes it.
    pub text: String,
    /// Start of its row, in bytes from the start of the function. `None`
    /// without FDE or row.
    pub row: Option<Address>,
}

/// A word of the stack.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
pub struct Slot {
    /// Its address.
    pub address: Address,
    /// Its contents; `None` if it can't be read.
    pub value: Option<Address>,
    /// What it is: `SP`, `RA`, and any claims about it.
    pub marks: Vec<String>,
}

/// The stack at the moment when a finding was first seen.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
pub struct StackView {
    /// The frame's SP.
    pub sp: Address,
    /// The frame's FP.
    pub fp: Address,
    /// Words of the frame and around it, by ascending addresses. Words that are
    /// left out show as gaps in the addresses.
    pub slots: Vec<Slot>,
}

/// Something that is wrong.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
pub struct Finding {
    /// The kind of finding.
    pub verdict: Verdict,
    /// PC of the frame whose rules are wrong, without its image's load bias.
    pub pc: Option<Address>,
    /// The library that contains it; `None` for the executable.
    pub image: Option<String>,
    /// The function there.
    pub function: Option<String>,
    /// The frame, 0 for the topmost. The smallest, if there are several.
    pub frame: Option<usize>,
    /// How often it was seen.
    pub hits: u64,
    /// The row that gave the value.
    pub row: Option<FindingRow>,
    /// The value according to the call stack, or the spec.
    pub expected: String,
    /// The value according to the unwinder, or the run.
    pub got: String,
    /// The instruction at the PC.
    pub instruction: Option<String>,
    /// The component that needs the fix.
    pub blame: Blame,
    /// How sure that is.
    pub confidence: Confidence,
    /// What other witnesses say.
    pub evidence: Vec<Evidence>,
    /// The usual mistake that gives the unwinder's answer, if the unwinder is to
    /// blame and one does.
    #[serde(default)]
    pub hint: Option<String>,
    /// The instructions around the PC.
    pub listing: Vec<ListedInstruction>,
    /// The stack when it was first seen in that frame.
    pub stack: Option<StackView>,
    /// The finding in a sentence.
    pub message: String,
}

impl Finding {
    /// Whether a component may be its culprit: the one that is blamed, or any where a function has no FDE and
    /// the file does not tell who has lost it.
    #[must_use]
    pub fn may_be_blamed_on(&self, blame: Blame) -> bool {
        self.blame == blame || self.is_without_culprit()
    }

    /// Whether a function has no FDE, and the file does not tell who has lost it.
    #[must_use]
    pub fn is_without_culprit(&self) -> bool {
        self.verdict == Verdict::NoFde && self.blame == Blame::Unknown
    }

    /// Splits the sentence from the place that it begins with, if it does.
    #[must_use]
    pub fn place_and_rest(&self) -> (&str, &str) {
        let message = self.message.as_str();
        let Some(pc) = self.pc else { return ("", message) };
        // A caller's place is looked up before its return address.
        let ends = [pc.0, pc.0.wrapping_sub(1)].map(|pc| format!("{pc:#x}"));
        let end = ends.iter().find_map(|address| {
            let start = message.find(address)?;
            Some(start + message[start..].find(": ")?)
        });
        end.map_or(("", message), |end| (&message[..end], &message[end + 2..]))
    }

    /// A finding about a spec's expectation, not about a row.
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
            hint: None,
            listing: Vec::new(),
            stack: None,
            message,
        }
    }
}
