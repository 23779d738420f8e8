//! Slots of FP that have been popped, by who has made the code.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sframe_kit::percent::share;
use sframe_kit::text::first_of;

use crate::target::Module;

/// How often FP is below SP in the topmost row, by the compilers that the topmost frame's file names.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
pub struct PoppedSlots(pub BTreeMap<String, Popped>);

/// Walks that began in code of some compilers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
pub struct Popped {
    /// All of them.
    pub walks: u64,
    /// Those in whose topmost row FP is below SP.
    pub below_sp: u64,
}

impl PoppedSlots {
    /// The compilers of an image, as it names them.
    #[must_use]
    pub fn compilers(module: &Module<'_>) -> String {
        /// A file may name any number, at any length, and with lines of their own.
        const MOST: usize = 3;
        const LONGEST: usize = 100;
        let shown = |name: &String| name.chars().filter(|c| !c.is_control()).take(LONGEST).collect();
        let named: Vec<String> = module.subject.compilers().iter().map(shown).collect();
        if named.is_empty() { "no compiler named".to_owned() } else { first_of(&named, MOST) }
    }

    /// Counts more walks.
    pub fn add(&mut self, compilers: &str, more: Popped) {
        let own = self.0.entry(compilers.to_owned()).or_default();
        own.walks = own.walks.saturating_add(more.walks);
        own.below_sp = own.below_sp.saturating_add(more.below_sp);
    }

    /// The compilers, with the walks and the share of those with FP below SP, the largest first.
    #[must_use]
    pub fn shares(&self) -> Vec<(&str, u64, String)> {
        let mut all: Vec<_> = self.0.iter().filter(|(_, of)| of.walks > 0).collect();
        all.sort_by_key(|(_, of)| std::cmp::Reverse((of.below_sp, of.walks)));
        all.into_iter().map(|(name, of)| (name.as_str(), of.walks, share(of.below_sp, of.walks))).collect()
    }
}
