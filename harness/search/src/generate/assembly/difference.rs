//! What `diff` says of a generated program, held to what is true by construction.
//!
//! `diff` compares the two sections and knows nothing else. Where one of them is
//! wrong and the other is not, it must find a difference; where both say the same,
//! none; and it must list the functions that `.sframe` leaves out.

use sframe_inspect::diff::{DiffError, DiffReport, Difference, Field, diff_file};

use super::state::{Claim, Wrong};

/// What a section says of an instruction, and what of that is wrong.
#[derive(Clone, Debug)]
pub(super) struct Said {
    pub(super) claim: Claim,
    pub(super) wrong: Vec<Wrong>,
}

/// What the sections say of an instruction. `None` where one has no row.
#[derive(Clone, Debug)]
pub(super) struct SiteSaid {
    pub(super) address: u64,
    /// Whether `.sframe` has a function there.
    pub(super) has_fde: bool,
    /// Of a function that is left out: whether rows can express it, if that is known and the CFI is right.
    pub(super) is_expressible: Option<bool>,
    pub(super) sframe: Option<Said>,
    /// `.eh_frame`, or else `.debug_frame`.
    pub(super) cfi: Option<Said>,
}

impl SiteSaid {
    /// Nothing yet.
    pub(super) const fn at(address: u64) -> Self {
        Self { address, has_fde: false, is_expressible: None, sframe: None, cfi: None }
    }
}

/// Returns where `diff` contradicts what is known.
pub(super) fn contradictions(bytes: &[u8], sites: &[SiteSaid]) -> Vec<String> {
    let report = match diff_file(bytes, "program") {
        Ok(report) => report,
        // Then there is nothing to compare, and a missing section has been told.
        Err(DiffError::NoCfi | DiffError::NoSection(_)) => return Vec::new(),
        Err(error) => return vec![format!("diff can't compare what can be judged: {error}")],
    };
    sites.iter().filter_map(|site| contradiction(site, &report)).collect()
}

fn contradiction(site: &SiteSaid, report: &DiffReport) -> Option<String> {
    let address = site.address;
    let covers = |found: &&Difference| {
        found.field == Field::Section || (found.pc.0..=found.last_pc.0).contains(&address)
    };
    let mut found = report.findings.iter().filter(covers);
    match (&site.sframe, &site.cfi) {
        (Some(sframe), Some(cfi)) => {
            let is_said = |wrong: &Wrong| match wrong {
                Wrong::Key => cfi.claim.key_b.is_some(),
                Wrong::Signal => cfi.claim.signal.is_some(),
                Wrong::Cfa | Wrong::Ra | Wrong::Fp => true,
                // Then it says nothing.
                Wrong::Row | Wrong::LeftOut | Wrong::Section => false,
            };
            let is_one_wrong = sframe.wrong.iter().any(is_said) != cfi.wrong.iter().any(is_said);
            if is_one_wrong && found.clone().next().is_none() && !is_lost(cfi) {
                return Some(format!("diff finds nothing at {address:#x}, where one section is wrong"));
            }
            let first = found.find(|found| found.pc.0 == address)?;
            let same = sframe.claim.agrees(&cfi.claim);
            same.then(|| format!("diff finds a difference where there is none: {}", first.message))
        }
        (None, Some(_)) if !site.has_fde => {
            let listed = report.uncovered.iter().find(|left_out| {
                let start = left_out.extent.start.0;
                (start..start.saturating_add(left_out.extent.size)).contains(&address)
            });
            let Some(listed) = listed else {
                return Some(format!("diff does not say that .sframe leaves out {address:#x}"));
            };
            match (site.is_expressible, listed.reason) {
                (Some(true), Some(reason)) => Some(format!(
                    "diff says that {address:#x} may be left out, and it need not be: {}",
                    reason.text()
                )),
                (Some(false), None) => {
                    Some(format!("diff does not say why .sframe leaves out {address:#x}, and it may"))
                }
                _ => None,
            }
        }
        _ => None,
    }
}

/// Whether the caller's FP is lost according to CFI, which no row can express.
fn is_lost(cfi: &Said) -> bool {
    cfi.claim.fp == Some(sframe_engine::Recovery::Undefined)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use sframe_engine::{Base, Recovery, RecoveryRule};
    use sframe_inspect::diff::{Extent, Reason, Uncovered};
    use sframe_kit::Address;

    use super::*;

    /// A section that restores RA to the first row's rule, and CFI that is right.
    fn report() -> DiffReport {
        let build = "../../corpus/faults/gas-restores-first-row/restore";
        let bytes = std::fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join(build)).expect("a build");
        diff_file(&bytes[..], "restore").expect("a report")
    }

    fn said(ra: Recovery, wrong: &[Wrong]) -> Option<Said> {
        let cfa = Some(RecoveryRule { base: Base::Sp, offset: 0, dereference: false });
        let fp = Some(Recovery::Unchanged);
        let claim = Claim { cfa, ra: Some(ra), fp, signed: false, key_b: None, signal: None };
        Some(Said { claim, wrong: wrong.to_vec() })
    }

    #[test]
    fn a_difference_that_is_missing_or_invented_is_a_contradiction() {
        let report = report();
        let [found] = &report.findings[..] else { panic!("{} findings", report.findings.len()) };
        let slot = RecoveryRule { base: Base::Cfa, offset: -16, dereference: true };
        let (sframe, cfi) = (said(Recovery::Rule(slot), &[Wrong::Ra]), said(Recovery::Unchanged, &[]));
        let site =
            SiteSaid { address: found.pc.0, has_fde: true, is_expressible: None, sframe, cfi: cfi.clone() };
        assert_eq!(contradiction(&site, &report), None);
        let silent = DiffReport { findings: Vec::new(), ..report.clone() };
        let says = contradiction(&site, &silent).expect("a contradiction");
        assert!(says.contains("where one section is wrong"), "{says}");
        // Both say the same.
        let same = SiteSaid { sframe: cfi, ..site.clone() };
        let says = contradiction(&same, &report).expect("a contradiction");
        assert!(says.contains("where there is none"), "{says}");
        assert_eq!(contradiction(&same, &silent), None);
        // A difference elsewhere is none here.
        let elsewhere = SiteSaid { address: found.pc.0 - 4, ..same };
        assert_eq!(contradiction(&elsewhere, &report), None);
    }

    #[test]
    fn diff_has_to_list_each_function_that_is_left_out() {
        let report = DiffReport { findings: Vec::new(), ..report() };
        let cfi = said(Recovery::Unchanged, &[]);
        let site = SiteSaid { cfi: cfi.clone(), ..SiteSaid::at(0x1000) };
        let says = contradiction(&site, &report).expect("a contradiction");
        assert!(says.contains("leaves out 0x1000"), "{says}");
        let site = SiteSaid { has_fde: true, ..site };
        assert_eq!(contradiction(&site, &report), None);
    }

    /// Whether a function may be left out is known by construction.
    #[test]
    fn the_reason_for_leaving_a_function_out_is_checked_against_its_construction() {
        let mut report = report();
        let extent = Extent {
            function: "f0".to_owned(),
            code: None,
            section: None,
            start: Address(0x1000),
            size: 8,
            pcs: 2,
        };
        report.uncovered = vec![Uncovered {
            extent,
            cfi_section: ".eh_frame".to_owned(),
            reason: None,
            offset: None,
            message: String::new(),
        }];
        let site = |is_expressible| SiteSaid {
            is_expressible,
            cfi: said(Recovery::Unchanged, &[]),
            ..SiteSaid::at(0x1004)
        };
        assert_eq!(contradiction(&site(Some(true)), &report), None);
        assert_eq!(contradiction(&site(None), &report), None);
        let says = contradiction(&site(Some(false)), &report).expect("a contradiction");
        assert!(says.contains("does not say why"), "{says}");
        report.uncovered[0].reason = Some(Reason::RaColumn);
        assert_eq!(contradiction(&site(Some(false)), &report), None);
        let says = contradiction(&site(Some(true)), &report).expect("a contradiction");
        assert!(says.contains("need not be"), "{says}");
    }
}
