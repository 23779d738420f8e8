//! Which component needs the fix, and the evidence for it.

use serde::{Deserialize, Serialize};

/// Which component needs the fix.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Blame {
    /// The assembler: its CFI directives were right, and the rows it wrote are wrong.
    #[serde(rename = "producer-assembler")]
    ProducerAssembler,
    /// The linker: it moved or joined rows wrongly, or wrote wrong rows for its own code.
    #[serde(rename = "producer-linker")]
    ProducerLinker,
    /// A program that has changed the file after the linker: it moved code, and not its rows.
    #[serde(rename = "rewriter")]
    Rewriter,
    /// The compiler, or the author of CFI directives: the assembler wrote what the directives say.
    #[serde(rename = "compiler-or-cfi")]
    CompilerOrCfi,
    /// The unwinder under test: the rows are right, but it does not follow them.
    #[serde(rename = "consumer")]
    Consumer,
    /// The bench: everything that describes the frame agrees except its call stack.
    #[serde(rename = "bench")]
    Bench,
    /// The format: it can't express what is true there, and the backtrace ends. This is no failure.
    #[serde(rename = "format")]
    Format,
    /// The witnesses do not show which of these it is.
    #[serde(rename = "unknown")]
    Unknown,
}

impl Blame {
    /// Every value, in the order of the declaration.
    pub const ALL: &'static [Self] = &[
        Self::ProducerAssembler,
        Self::ProducerLinker,
        Self::Rewriter,
        Self::CompilerOrCfi,
        Self::Consumer,
        Self::Bench,
        Self::Format,
        Self::Unknown,
    ];

    /// The name, as specs and reports write it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::ProducerAssembler => "producer-assembler",
            Self::ProducerLinker => "producer-linker",
            Self::Rewriter => "rewriter",
            Self::CompilerOrCfi => "compiler-or-cfi",
            Self::Consumer => "consumer",
            Self::Bench => "bench",
            Self::Format => "format",
            Self::Unknown => "unknown",
        }
    }
}

impl std::fmt::Display for Blame {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.as_str())
    }
}

/// How certain the blame is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Confidence {
    /// One witness hints at it.
    Low,
    /// Witnesses support it, but another explanation remains.
    Medium,
    /// Independent witnesses support it.
    High,
}

impl std::fmt::Display for Confidence {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
        })
    }
}

/// A source of evidence about a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Witness {
    /// A reader of the section other than the unwinder under test: this project's
    /// engine.
    Reader,
    /// DWARF call frame information.
    Cfi,
    /// The chain of frame records that starts at FP; on s390x, the backchain.
    FramePointers,
    /// The instructions since the function's entry.
    Instructions,
    /// Where the code comes from, and where FDEs begin.
    Layout,
    /// The code, executed from its function's entry on both ways at each branch.
    Exploration,
}

impl std::fmt::Display for Witness {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Reader => "section",
            Self::Cfi => "CFI",
            Self::FramePointers => "frame pointers",
            Self::Instructions => "instructions",
            Self::Layout => "layout",
            Self::Exploration => "exploration",
        })
    }
}
