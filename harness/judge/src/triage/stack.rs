//! The stack as a picture: its words, and what is known about them.

use std::collections::BTreeMap;

use sframe_engine::Recovery;

use super::inquiry::{Inquiry, place_of};
use crate::finding::{Address, Slot, StackView};

/// How many words are shown on either side of each annotated one.
const AROUND: u64 = 2;

/// A frame smaller than this is shown whole.
const WHOLE: u64 = 32;

pub(super) fn view(inquiry: &Inquiry<'_, '_>) -> StackView {
    let (state, truth, section) = (&inquiry.state, &inquiry.truth, &inquiry.section);
    let mut marks: BTreeMap<u64, Vec<String>> = BTreeMap::new();
    let mut mark = |address: u64, text: &str| {
        let word = address & !7;
        let within = if address == word { String::new() } else { format!(" (+{})", address - word) };
        marks.entry(word).or_default().push(format!("{text}{within}"));
    };
    mark(state.sp, "SP");
    if let Ok(fp) = state.fp {
        mark(fp, "FP");
    }
    match (truth.cfa, section.cfa) {
        (Some(cfa), Some(claimed)) if cfa == claimed => mark(cfa, "CFA"),
        (cfa, claimed) => {
            if let Some(cfa) = cfa {
                mark(cfa, "true CFA");
            }
            if let Some(claimed) = claimed {
                mark(claimed, "CFA by the section");
            }
        }
    }
    if let Some(found) = &inquiry.row {
        for (name, recovery) in [("RA", found.row.ra), ("FP", found.row.fp)] {
            if let Recovery::Rule(rule) = recovery
                && rule.dereference
                && let Some(place) = place_of(&rule, section.cfa.or(truth.cfa), state)
            {
                mark(place, &format!("caller's {name} by the section"));
            }
        }
    }
    let top = marks.keys().next().copied().unwrap_or(state.sp & !7);
    let bottom = truth.cfa.unwrap_or(top) & !7;
    // Where the call stack's values are stored.
    if bottom.saturating_sub(top) / 8 <= 1 << 12 {
        for address in (top..=bottom.saturating_add(16)).step_by(8) {
            let Some(value) = inquiry.word(address) else { continue };
            let ra = truth.ra.flatten();
            if ra.is_some_and(|ra| inquiry.scene.target.pauth().strip(value) == ra) {
                marks.entry(address).or_default().push("true RA".to_owned());
            }
            if truth.fp == Some(value) && value != 0 {
                marks.entry(address).or_default().push("the caller's FP".to_owned());
            }
        }
    }
    let mut words: Vec<u64> = if bottom.saturating_sub(top) / 8 <= WHOLE {
        (top..=bottom.saturating_add(8)).step_by(8).collect()
    } else {
        Vec::new()
    };
    for address in marks.keys() {
        let around = AROUND * 8;
        words.extend((address.saturating_sub(around)..=address.saturating_add(around)).step_by(8));
    }
    words.sort_unstable();
    words.dedup();
    let slot = |address: u64| Slot {
        address: Address(address),
        value: inquiry.word(address).map(Address),
        marks: marks.get(&address).cloned().unwrap_or_default(),
    };
    StackView {
        sp: Address(state.sp),
        fp: Address(state.fp.unwrap_or_default()),
        slots: words.into_iter().map(slot).collect(),
    }
}
