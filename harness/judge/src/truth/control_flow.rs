//! How control was transferred, in all runs of a program.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sframe_machine::ControlFlow;

use crate::vocabulary::Feature;

/// How often control was transferred in each way. Ways that did not occur are
/// absent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(transparent)]
pub struct Features(BTreeMap<Feature, u64>);

impl Features {
    /// How often control was transferred in a way.
    #[must_use]
    pub fn of(&self, feature: Feature) -> u64 {
        self.0.get(&feature).copied().unwrap_or(0)
    }

    pub(crate) fn count(&mut self, feature: Feature) {
        *self.0.entry(feature).or_default() += 1;
    }

    /// Adds the counts of a run.
    pub(crate) fn add(&mut self, run: &ControlFlow) {
        let ControlFlow {
            calls,
            returns,
            computed_returns,
            pc_fetches,
            speculation_traps,
            outlined_frames,
            discarded_frames,
            nonlocal_exits,
            stack_moves,
            contexts_begun,
            contexts_resumed,
            signals,
            alternate_stacks,
            signal_returns,
            lazy_bindings,
            signed_with_key_a,
            signed_with_key_b,
        } = *run;
        for (feature, count) in [
            (Feature::Calls, calls),
            (Feature::Returns, returns),
            (Feature::ComputedReturns, computed_returns),
            (Feature::PcFetches, pc_fetches),
            (Feature::SpeculationTraps, speculation_traps),
            (Feature::OutlinedFrames, outlined_frames),
            (Feature::DiscardedFrames, discarded_frames),
            (Feature::NonlocalExits, nonlocal_exits),
            (Feature::StackMoves, stack_moves),
            (Feature::ContextsBegun, contexts_begun),
            (Feature::ContextsResumed, contexts_resumed),
            (Feature::Signals, signals),
            (Feature::AlternateStacks, alternate_stacks),
            (Feature::SignalReturns, signal_returns),
            (Feature::LazyBindings, lazy_bindings),
            (Feature::SignedWithKeyA, signed_with_key_a),
            (Feature::SignedWithKeyB, signed_with_key_b),
        ] {
            if count > 0 {
                *self.0.entry(feature).or_default() += count;
            }
        }
    }
}
