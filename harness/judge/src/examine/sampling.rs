//! Comparing a part of the instructions only, for long runs.
//!
//! The call stack, stores and the other traces of the calls are followed at every
//! instruction in any case. Only walks and comparisons are left out.

use std::fmt;
use std::num::{NonZeroU32, NonZeroU64};

use rustc_hash::FxHashMap;
use schemars::JsonSchema;
use serde::Serialize;
use sframe_kit::text::grouped;
use sframe_machine::{Moment, PcMap, Record};

/// Which instructions are compared: those that every part of this selects. By default,
/// all of them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Sampling {
    /// Only from the first arrival at a function on.
    #[serde(flatten)]
    pub from: Option<Start>,
    /// One instruction in this many. The distance varies, so that no loop is always
    /// compared at the same place.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub every: Option<NonZeroU64>,
    /// Each place at most so many times. A place is a PC with the return address of its
    /// function's caller, or with the instruction that its function, a signal handler, has
    /// interrupted. Every row that runs is compared at least once, as the topmost
    /// frame's and as the caller's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub per_place: Option<NonZeroU32>,
}

/// The function at which comparing begins.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Start {
    /// Its name, for reports.
    #[serde(rename = "from_function")]
    pub function: String,
    /// Its first instruction, with load bias.
    #[serde(skip)]
    pub address: u64,
}

impl Sampling {
    /// Whether all instructions are compared.
    #[must_use]
    pub fn is_everything(&self) -> bool {
        self.from.is_none() && self.stride().is_none() && self.per_place.is_none()
    }

    /// One instruction in how many is compared, if not each.
    fn stride(&self) -> Option<NonZeroU64> {
        self.every.filter(|every| every.get() > 1)
    }
}

/// Names the parts, separated by commas. Names of functions come from files.
impl fmt::Display for Sampling {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let from = self.from.as_ref().map(|start| format!("from `{}` on", start.function));
        let every = self.stride().map(|every| format!("one in {} instructions", grouped(every.get())));
        let per_place = self.per_place.map(|most| match most.get() {
            1 => "each place once".to_owned(),
            most => format!("each place at most {} times", grouped(most.into())),
        });
        let parts: Vec<String> = [from, every, per_place].into_iter().flatten().collect();
        f.write_str(&parts.join(", "))
    }
}

/// Selects instructions.
#[derive(Clone, Debug)]
pub(super) struct Sampler {
    /// The address to arrive at first.
    from: Option<u64>,
    strides: Option<Strides>,
    places: Option<Places>,
    /// Instructions that were left out.
    pub(super) left_out: u64,
}

impl Sampler {
    /// Returns `None` if everything is compared.
    pub(super) fn new(sampling: &Sampling) -> Option<Self> {
        (!sampling.is_everything()).then(|| Self {
            from: sampling.from.as_ref().map(|start| start.address),
            strides: sampling.stride().map(Strides::new),
            places: sampling.per_place.map(Places::new),
            left_out: 0,
        })
    }

    /// Whether to compare before an instruction.
    #[inline]
    pub(super) fn takes(&mut self, moment: &Moment<'_>) -> bool {
        let takes = self.selects(moment);
        self.left_out += u64::from(!takes);
        takes
    }

    fn selects(&mut self, moment: &Moment<'_>) -> bool {
        if self.from.is_some_and(|from| from != moment.pc) {
            return false;
        }
        self.from = None;
        self.strides.as_mut().is_none_or(Strides::takes)
            && self.places.as_mut().is_none_or(|places| {
                places.times(moment.pc, caller(moment.call_stack.records())) < places.most
            })
    }

    /// Counts a comparison. One before an instruction whose frames were not yet settled
    /// does not count: the place has still to be compared.
    pub(super) fn compared(&mut self, moment: &Moment<'_>) {
        if let Some(places) = &mut self.places {
            places.count(moment.pc, caller(moment.call_stack.records()));
        }
    }
}

/// Where the topmost frame's caller continues. That of a signal handler is always the
/// restorer, so that the interrupted instruction says more.
fn caller(records: &[Record]) -> u64 {
    match records {
        [.., interrupted, handler] if interrupted.interrupted && !handler.interrupted => {
            interrupted.return_address
        }
        [.., call] => call.return_address,
        [] => 0,
    }
}

/// One instruction in each block of this many, at a place that a hash of the block's number
/// gives. Whatever the length of a loop, all its instructions are selected in time: regular
/// steps, even by an irrational part of the block, keep missing some in loops of some
/// lengths. Each run of the same program selects the same ones.
#[derive(Clone, Debug)]
pub struct Strides {
    every: u64,
    /// Instructions so far.
    seen: u64,
    /// The number of the next one to take.
    next: u64,
    /// The start of the next block.
    block: u64,
    /// The state of the hash: a multiple of [`Self::STEP`].
    state: u64,
}

impl Strides {
    /// 2^64 / the golden ratio, as in SplitMix64.
    const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

    /// Chooses one walk of each `every`.
    pub fn new(every: NonZeroU64) -> Self {
        let mut strides = Self { every: every.get(), seen: 0, next: 0, block: 0, state: 0 };
        strides.advance();
        strides
    }

    /// Whether to take the next instruction.
    pub fn takes(&mut self) -> bool {
        let takes = self.seen == self.next;
        self.seen += 1;
        if takes {
            self.advance();
        }
        takes
    }

    fn advance(&mut self) {
        self.state = self.state.wrapping_add(Self::STEP);
        // The finaliser of SplitMix64.
        let mut hash = self.state;
        hash = (hash ^ (hash >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        hash = (hash ^ (hash >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        hash ^= hash >> 31;
        let offset = (u128::from(hash) * u128::from(self.every)) >> 64;
        self.next = self.block.saturating_add(u64::try_from(offset).unwrap_or(u64::MAX));
        self.block = self.block.saturating_add(self.every);
    }
}

/// How often each place was compared.
#[derive(Clone, Debug)]
struct Places {
    most: u32,
    /// The first caller at each PC, and how often. Most functions have one caller, or one
    /// that calls them first for long.
    first: PcMap<(u64, u32)>,
    /// The other callers, by PC and caller.
    others: FxHashMap<(u64, u64), u32>,
}

impl Places {
    fn new(most: NonZeroU32) -> Self {
        Self { most: most.get(), first: PcMap::default(), others: FxHashMap::default() }
    }

    /// How often a place was compared.
    fn times(&mut self, pc: u64, caller: u64) -> u32 {
        match self.first.get(pc) {
            None => 0,
            Some((first, times)) if *first == caller => *times,
            Some(_) => self.others.get(&(pc, caller)).copied().unwrap_or(0),
        }
    }

    fn count(&mut self, pc: u64, caller: u64) {
        let (first, times) = self.first.get_or_insert_with(pc, || (caller, 0));
        let times = if *first == caller { times } else { self.others.entry((pc, caller)).or_default() };
        *times = times.saturating_add(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(every: u64, of: u64) -> Vec<u64> {
        let mut strides = Strides::new(NonZeroU64::new(every).expect("not 0"));
        (0..of).filter(|_| strides.takes()).collect()
    }

    #[test]
    fn one_instruction_of_each_block_is_taken() {
        for every in [1, 2, 3, 100, 1000] {
            let taken = taken(every, 500 * every);
            let blocks: Vec<u64> = taken.iter().map(|at| at / every).collect();
            assert_eq!(blocks, (0..500).collect::<Vec<_>>(), "{every}");
        }
        assert!(taken(1_000_000_000, 1_000_000).is_empty());
        assert!(taken(u64::MAX, 1_000_000).is_empty());
    }

    /// Fixed strides would always meet a loop at one place if its length divides them.
    #[test]
    fn every_instruction_of_a_loop_is_taken() {
        for every in [60_u64, 64, 100, 1000] {
            for len in [every / 20, every / 4, every / 2, every, every + 1, 2 * every, 3 * every / 2] {
                let mut places = vec![0_u64; usize::try_from(len).expect("short")];
                let samples = 40 * len;
                for at in taken(every, samples * every) {
                    places[usize::try_from(at % len).expect("short")] += 1;
                }
                let (least, most) = (places.iter().min(), places.iter().max());
                assert!(least >= Some(&10) && most <= Some(&80), "{every}, {len}: {least:?} to {most:?}");
            }
        }
    }

    #[test]
    fn places_are_counted_by_pc_and_caller() {
        let mut places = Places::new(NonZeroU32::MIN);
        for (pc, caller) in [(0x10, 1), (0x10, 2), (0x10, 2), (0x14, 1), (0x10, 1), (0x10, 1)] {
            places.count(pc, caller);
        }
        let times = [(0x10, 1), (0x10, 2), (0x14, 1), (0x14, 2), (0x18, 1)];
        assert_eq!(times.map(|(pc, caller)| places.times(pc, caller)), [3, 2, 1, 0, 0]);
    }

    #[test]
    fn a_sample_is_described_in_words_and_json() {
        let from = Some(Start { function: "main".to_owned(), address: 0x10 });
        let (every, per_place) = (NonZeroU64::new(1000), NonZeroU32::new(3));
        let sampling = Sampling { from, every, per_place };
        assert_eq!(
            sampling.to_string(),
            "from `main` on, one in 1,000 instructions, each place at most 3 times"
        );
        let json = serde_json::json!({ "from_function": "main", "every": 1000, "per_place": 3 });
        assert_eq!(serde_json::to_value(&sampling).expect("JSON"), json);
        let each = Sampling { every: NonZeroU64::new(1), ..Sampling::default() };
        assert!(each.is_everything() && Sampler::new(&each).is_none());
        let each = Sampling { per_place, ..each };
        assert_eq!(each.to_string(), "each place at most 3 times");
        assert_eq!(serde_json::to_value(Sampling::default()).expect("JSON"), serde_json::json!({}));
    }
}
