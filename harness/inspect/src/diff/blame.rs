//! Which component caused a difference, as far as the file shows.
//!
//! Nothing is executed here, so which of the two sections is right does not follow.
//! But usually both have the same origin: assemblers make rows of `.sframe` and of
//! `.eh_frame` from the same directives, and linkers copy both without looking into
//! them, except for their own tables.

use std::collections::BTreeSet;

use serde::Serialize;
use sframe_engine::{Fde, Row};

use super::gaps::Gap;
use super::reason::{Maker, Reason};
use sframe_elf::cfi::{CfiError, CfiFde};
use sframe_elf::merge_faults::MergeFault;
use sframe_kit::{Blame, Confidence, Witness};

/// Evidence about the cause of a difference.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Evidence {
    /// The source of the evidence.
    pub witness: Witness,
    /// The evidence, in a sentence.
    pub says: String,
}

/// Which component needs the fix, and the evidence for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Blamed {
    /// The component.
    pub blame: Blame,
    /// How certain that is.
    pub confidence: Confidence,
    /// The evidence.
    pub evidence: Vec<Evidence>,
}

/// What is known about a difference.
pub(super) struct Dispute<'d> {
    pub(super) fde: &'d Fde,
    pub(super) row: Option<&'d Row>,
    pub(super) cfi: &'d CfiFde,
    /// Where they begin, as in the file.
    pub(super) starts: [String; 2],
    pub(super) malformed_cfi: Option<CfiError>,
    pub(super) malformed_row: bool,
    /// The part of the call frame information that no row can express.
    pub(super) inexpressible: Option<Reason>,
    /// The section of the code, if linkers generate it.
    pub(super) linker_section: Option<&'d str>,
    pub(super) is_assembled: bool,
    /// Whether a program has rewritten code after the linker.
    pub(super) is_rewritten: bool,
}

impl Dispute<'_> {
    pub(super) fn blame(&self) -> Blamed {
        use Confidence::{High, Low, Medium};
        let of = |blame, confidence, witness, says: String| Blamed {
            blame,
            confidence,
            evidence: vec![Evidence { witness, says }],
        };
        let (start, cfi_start) = (self.fde.start, self.cfi.range.start);
        let cfi = self.cfi.section;
        if let Some(section) = self.linker_section {
            let says =
                format!("the code lies in {section}, which linkers make, with its rules in both sections");
            return of(Blame::ProducerLinker, High, Witness::Layout, says);
        }
        if self.malformed_row {
            let says =
                "rows that can't be read do not show whether they were written that way or overwritten"
                    .to_owned();
            return of(Blame::Unknown, Low, Witness::Reader, says);
        }
        if self.is_rewritten {
            let says = "the file says that BOLT has rewritten it, so that rows and code may have been changed since \
                        they were linked";
            return of(Blame::Rewriter, Low, Witness::Layout, says.to_owned());
        }
        if start != cfi_start {
            let says = format!(
                "the FDE begins at {}, that of {cfi} at {}: assemblers start both at one label",
                self.starts[0], self.starts[1]
            );
            return of(Blame::ProducerLinker, Medium, Witness::Layout, says);
        }
        if let Some(row) = self.row.filter(|row| row.start >= self.fde.rows_end().max(1)) {
            let says = format!(
                "the row starts at +{:#x}, past the end of the function, so it belongs to another one",
                row.start
            );
            return of(Blame::ProducerLinker, Medium, Witness::Layout, says);
        }
        if let Some(error @ CfiError::RestoreInCie { .. }) = &self.malformed_cfi {
            let says = format!("{error}: the assembler makes a CIE of a function's first directives");
            return of(Blame::ProducerAssembler, Medium, Witness::Cfi, says);
        }
        if let Some(error) = &self.malformed_cfi {
            let says = format!(
                "{error}: assemblers encode directives correctly, so these bytes were written by hand"
            );
            return of(Blame::CompilerOrCfi, Medium, Witness::Cfi, says);
        }
        let (confidence, origin) = if self.is_assembled {
            (High, "the file is relocatable, and its rows are as the assembler wrote them")
        } else {
            (Medium, "both FDEs start at one label, and linkers copy rows unchanged")
        };
        let mut blamed = of(Blame::ProducerAssembler, confidence, Witness::Layout, origin.to_owned());
        if let Some(reason) = self.inexpressible {
            let says = format!("{}: there should be no FDE, or rules that say so", reason.text());
            blamed.evidence.push(Evidence { witness: Witness::Cfi, says });
        }
        blamed
    }
}

/// Returns whose doing it is that an FDE does not cover all of its function.
#[must_use]
pub fn blame_for_gap(gap: &Gap, is_assembled: bool) -> Blamed {
    let Some((section, _)) = gap.cfi else {
        let says = "only the function's symbol says how far it extends: whether its CFI does is not known"
            .to_owned();
        let evidence = vec![Evidence { witness: Witness::Layout, says }];
        return Blamed { blame: Blame::Unknown, confidence: Confidence::Low, evidence };
    };
    let is_moved = gap.fde.start != gap.function.start;
    let (blame, confidence, why) = match (is_moved, is_assembled) {
        _ if gap.maker == Maker::Linker => {
            (Blame::ProducerLinker, Confidence::High, "linkers make both, and the code")
        }
        (true, false) => (Blame::ProducerLinker, Confidence::Medium, "assemblers start both at one label"),
        (_, true) => (
            Blame::ProducerAssembler,
            Confidence::High,
            "the file is relocatable, and its FDEs are as the assembler wrote them",
        ),
        (false, false) => (
            Blame::ProducerAssembler,
            Confidence::Medium,
            "assemblers write both sizes, and linkers copy them",
        ),
    };
    let evidence = vec![Evidence { witness: Witness::Layout, says: format!("{gap}: {why}") }];
    let covers = Evidence { witness: Witness::Cfi, says: format!("an FDE of {section} covers the code") };
    Blamed { blame, confidence, evidence: [evidence, vec![covers]].concat() }
}

/// Returns whose doing it is that functions have no FDE, though their rules can be expressed. `tables` are the sections
/// of their code that linkers make.
pub(super) fn blame_for_missing(tables: &BTreeSet<&str>, is_assembled: bool) -> Blamed {
    let (blame, confidence, says) = match tables.len() {
        1.. => (
            Blame::ProducerLinker,
            Confidence::High,
            format!(
                "the code lies in {}, which linkers make",
                Vec::from_iter(tables.iter().copied()).join(" and ")
            ),
        ),
        0 if is_assembled => (
            Blame::ProducerAssembler,
            Confidence::High,
            "the file is relocatable, and its FDEs are as the assembler wrote them".to_owned(),
        ),
        0 => (
            Blame::Unknown,
            Confidence::Low,
            "a linker has lost them, or they come from objects without .sframe: `diff --object` tells"
                .to_owned(),
        ),
    };
    Blamed { blame, confidence, evidence: vec![Evidence { witness: Witness::Layout, says }] }
}

/// Returns whose doing it is that functions have no FDE, in a file whose code was moved.
pub(super) fn blame_for_moved(fault: &MergeFault) -> Blamed {
    let (blame, confidence) = fault.blame();
    Blamed { blame, confidence, evidence: evidence_of_merging(fault) }
}

/// Returns why a fault of the section as a whole is whose it is.
pub(super) fn evidence_of_merging(fault: &MergeFault) -> Vec<Evidence> {
    vec![Evidence { witness: Witness::Layout, says: fault.evidence().to_owned() }]
}
