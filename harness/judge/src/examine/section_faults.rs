//! Faults of sections as a whole, independent of what executes.

use std::collections::BTreeSet;

use sframe_elf::merge_faults::{MergeFault, MergeFaultKind};
use sframe_engine::{Fde, InstructionPointer, Section};

use crate::finding::{Address, Answer, Evidence, Finding, Said, Witness};
use crate::target::{Linked, Loaded, Module, Target};
use crate::vocabulary::{LayoutFact, Verdict};

impl Module<'_> {
    /// Returns what is wrong with the section as a whole. Linkers have not seen
    /// one that was made from `.eh_frame`.
    fn merge_faults(&self) -> Vec<MergeFault> {
        let Some(section) = self.section.as_ref().filter(|_| !self.is_made()) else { return Vec::new() };
        // Symbols and relocations have addresses without load bias.
        let Linked(address) = self.linked(Loaded(section.address()));
        let section = Section::parse(section.data(), address);
        section.map_or_else(|_| Vec::new(), |section| self.subject.merge_faults(&section))
    }

    /// Returns the faults of the section as a whole, one finding for each. Mere
    /// consequences of a merge fault are left out.
    fn section_faults(&self) -> Vec<Finding> {
        let faults = self.merge_faults();
        let is_spoilt = |fde: &Fde| faults.iter().any(|fault| fault.spoilt.contains(&fde.index));
        let mut findings: Vec<Finding> = faults.iter().map(|fault| self.finding_of_merging(fault)).collect();
        findings.extend(self.stray_fdes(is_spoilt));
        findings
    }

    fn finding_of_merging(&self, fault: &MergeFault) -> Finding {
        let name = self.name.as_deref().map_or_else(String::new, |name| format!("{name}: "));
        let (fact, expected, got) = match fault.kind {
            MergeFaultKind::Concatenated { sections, .. } => (
                LayoutFact::ConcatenatedSections,
                "one section with one header",
                format!("{} sections", sections.saturating_add(1)),
            ),
            MergeFaultKind::MisplacedRelocations { relocations, .. } => (
                LayoutFact::MisplacedRelocations,
                "relocations at the starts of FDEs",
                format!("{relocations} elsewhere, the first at offset {:#x}", fault.offset),
            ),
            MergeFaultKind::UnconvertedStarts { starts } => (
                LayoutFact::UnconvertedStarts,
                "starts that count from the section's start",
                format!("{starts} that count from their own fields"),
            ),
            MergeFaultKind::Stale { fdes, .. } => {
                (LayoutFact::StaleFdes, "FDEs of functions that are there", format!("{fdes} of none"))
            }
        };
        let (blame, confidence) = fault.blame();
        let evidence = Evidence {
            answer: Some(Answer::Layout(fact)),
            ..Evidence::new(Witness::Layout, fault.evidence(), None)
        };
        Finding {
            image: self.name.clone(),
            blame,
            confidence,
            evidence: vec![evidence],
            ..Finding::of_spec(
                Verdict::DecodeError,
                Said::words(expected),
                Said::words(got),
                format!("{name}{fault}"),
            )
        }
    }

    /// Returns a finding for FDEs that describe addresses outside the image.
    fn stray_fdes(&self, is_known: impl Fn(&Fde) -> bool) -> Option<Finding> {
        let range = self.image.range();
        let is_stray = |fde: &Fde| {
            let end = fde.start.wrapping_add(fde.size.into());
            let is_within = range.contains(&fde.start) && end > fde.start && end <= range.end;
            fde.size > 0 && !is_within && !is_known(fde)
        };
        let fdes = || self.section.iter().flat_map(Section::fdes).flatten().filter(is_stray);
        let first = fdes().next()?;
        let start = self.linked(Loaded(first.start));
        let (got, count) = (Address(start.0), fdes().count());
        let name = self.name.as_deref().map_or_else(String::new, |name| format!("{name}: "));
        let others = if count > 1 { format!(", and so do {} others", count - 1) } else { String::new() };
        let message = format!(
            "{name}FDE {} ({} bytes at {got}) reaches outside the image{others}; no address there is looked up in it",
            first.index, first.size
        );
        let expected = "addresses of the image";
        let finding = Finding::of_spec(Verdict::DecodeError, expected, Said::Address(got), message);
        Some(Finding { image: self.name.clone(), ..finding })
    }
}

impl Target<'_> {
    /// Returns the faults of sections as a whole, independent of what executes:
    /// sections that the linker did not merge, and FDEs for addresses outside their
    /// images.
    #[must_use]
    pub fn section_faults(&self) -> Vec<Finding> {
        self.modules.iter().flat_map(Module::section_faults).collect()
    }

    /// Returns which findings merely follow from a fault of [`Self::section_faults`]: those about rows
    /// that a linker has overwritten or moved.
    pub fn consequences(&self) -> impl Fn(&Finding) -> bool {
        let spoilt_of = |module: &Module<'_>| -> BTreeSet<u32> {
            module.merge_faults().into_iter().flat_map(|fault| fault.spoilt).collect()
        };
        let spoilt: Vec<_> = self.modules.iter().map(spoilt_of).collect();
        move |finding| {
            let Some(pc) = finding.pc else { return false };
            // A caller's row is that of its call, which may be the last instruction of a range.
            let before = pc.0.wrapping_sub(u64::from(finding.frame.is_some_and(|frame| frame > 0)));
            self.modules.iter().zip(&spoilt).filter(|(_, spoilt)| !spoilt.is_empty()).any(
                |(module, spoilt)| {
                    let is_spoilt = |pc: u64| {
                        let address = InstructionPointer::from(module.loaded(Linked(pc)));
                        let fde = module.section.as_ref().map(|section| section.lookup_fde(address));
                        matches!(fde, Some(Ok(Some(fde))) if spoilt.contains(&fde.index))
                    };
                    finding.image == module.name && (is_spoilt(pc.0) || is_spoilt(before))
                },
            )
        }
    }
}
