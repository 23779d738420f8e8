//! Where what is said of a program contradicts itself.

use serde::Serialize;
use sframe_engine::InstructionPointer;
use sframe_judge::examine::coverage::Explored;
use sframe_judge::finding::{Finding, Message};
use sframe_judge::target::{Linked, Target};
use sframe_judge::vocabulary::Verdict;
use sframe_kit::{Blame, Confidence};

use super::oracle::{Item, Seen, Witness};
use crate::generate::outcome::is_of_value;

/// Where the bench contradicts itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Contradiction {
    /// What contradicts what.
    pub kind: String,
    /// What is said of the place.
    pub says: String,
}

impl Seen {
    /// Where the run and the exploration contradict each other, and what only the bench can be blamed for.
    pub(super) fn contradictions(&self, section: &str) -> Vec<Contradiction> {
        let mut all = Vec::new();
        let mut add = |kind: &str, says: &Message| {
            all.push(Contradiction { kind: format!("{section}: {kind}"), says: says.to_string() });
        };
        for item in &self.items {
            let message = &item.finding.message;
            if item.finding.blame == Blame::Bench {
                add("the bench is to blame", message);
            }
            let Some(row) = item.row else { continue };
            if item.is_run() {
                // Exploring compares the topmost frame only, and not where it does not come. Of functions of
                // the same file it assumes that they change no register, as their compiler may know.
                let is_on_top = item.finding.frame == Some(0) && !item.needs_register;
                let agrees = matches!(self.rows.get(&row), Some((Explored::Agrees, _)));
                if is_on_top && agrees && self.agreed.contains(&item.pc()) {
                    add("a run finds what exploring does not", message);
                }
                continue;
            }
            let is_found = self.items.iter().any(|other| other.is_run() && other.row == Some(row));
            if self.compared.contains(&item.pc()) && !is_found {
                add("exploring proves what a run does not find", message);
            }
        }
        all
    }

    /// Whether a witness finds something at an instruction, with some verdict or any.
    fn finds(&self, witness: Witness, pc: u64, verdict: Option<Verdict>) -> bool {
        let is_it = |item: &&Item| {
            item.witness == witness
                && item.pc() == pc
                && verdict.is_none_or(|verdict| item.finding.verdict == verdict)
        };
        self.items.iter().any(|item| is_it(&item))
    }

    /// Whether a witness has seen that nothing is wrong at an instruction.
    fn clears(&self, witness: Witness, pc: u64) -> bool {
        match witness {
            Witness::Run => !self.finds(witness, pc, None),
            Witness::Exploration => self.agreed.contains(&pc),
            Witness::Comparison => false,
        }
    }
}

/// Where a finding's blame contradicts what the other section shows.
pub(super) fn blames(sframe: &Seen, cfi: &Seen, of_cfi: &Target<'_>) -> Vec<Contradiction> {
    let mut all = Vec::new();
    let mut add = |kind: &str, says: &Message| {
        all.push(Contradiction { kind: kind.to_owned(), says: says.to_string() });
    };
    for item in sframe.items.iter().filter(|item| is_of_value(item.finding.verdict)) {
        let Finding { blame, confidence, message, verdict, .. } = &item.finding;
        let (pc, witness) = (item.pc(), item.witness);
        let loaded = of_cfi.executable().loaded(Linked(pc)).0;
        let is_described =
            of_cfi.sections.lookup_fde(InstructionPointer(loaded)).is_ok_and(|fde| fde.is_some());
        if !is_described {
            continue;
        }
        let who = if item.is_run() { "a run" } else { "exploring" };
        if *blame == Blame::CompilerOrCfi && cfi.clears(witness, pc) {
            add(&format!("CFI is blamed, and {who} finds nothing in it"), message);
        }
        if (*blame, *confidence) == (Blame::ProducerAssembler, Confidence::High)
            && cfi.finds(witness, pc, Some(*verdict))
        {
            add(&format!("the assembler is blamed by {who}, and CFI is as wrong"), message);
        }
    }
    all
}
