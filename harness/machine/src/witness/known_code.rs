//! What calls have shown of the code, and where they have returned to.

use std::collections::BTreeSet;
use std::hash::Hash;
use std::ops::Range;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::call_stack::Record;

/// First instructions of functions, as calls have shown them.
#[derive(Clone, Debug, Default)]
pub(super) struct Callees {
    all: FxHashSet<u64>,
    sorted: BTreeSet<u64>,
    /// The function that was asked for last, to where the next one begins.
    last: Range<u64>,
}

impl Callees {
    pub(super) fn insert(&mut self, callee: u64) {
        if self.all.insert(callee) {
            self.sorted.insert(callee);
            self.last = 0..0;
        }
    }

    /// Returns whether an address is in one of them, as far as is known.
    #[inline]
    pub(super) fn is_in(&mut self, pc: u64, callee: u64) -> bool {
        if self.last.start != callee || self.last.is_empty() {
            let next = self.sorted.range(callee.saturating_add(1)..).next();
            self.last = callee..next.copied().unwrap_or(u64::MAX);
        }
        self.last.contains(&pc)
    }

    /// Returns the function that an address is in, as far as is known.
    pub(super) fn at(&self, pc: u64) -> Option<u64> {
        self.sorted.range(..=pc).next_back().copied()
    }
}

/// No function has parts that are further apart, in bytes: a branch that leads further leads to
/// another function.
pub(super) const FARTHEST_PART: u64 = 1 << 24;

/// What functions without a frame have last branched to in other images, as entries of procedure
/// PLTs do.
#[derive(Clone, Debug, Default)]
pub(super) struct Stubs(Memory<u64, u64>);

impl Stubs {
    pub(super) fn insert(&mut self, from: u64, to: u64) {
        self.0.insert(from, to);
    }

    /// Returns whether a call has entered a function, by such a branch or directly.
    pub(super) fn runs(&self, call: &Record, function: u64) -> bool {
        call.callee == function || self.0.get(&call.callee) == Some(function)
    }
}

/// A frame that is running or waits for a callee: the number of calls below it, and when the
/// innermost of these was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Frame {
    pub(super) depth: usize,
    pub(super) since: u64,
}

/// The frame that a call has returned to last, by return address and SP.
pub(super) type Returned = Memory<(u64, u64), Frame>;

/// A function that has made a call without having a frame: by the place that the call returned
/// to, its own call, and the frame that had made that.
pub(super) type Frameless = Memory<(u64, u64), (Record, Frame)>;

/// What has been seen lately, in bounded memory.
#[derive(Clone, Debug)]
pub(super) struct Memory<K, V>(FxHashMap<K, V>);

impl<K, V> Default for Memory<K, V> {
    fn default() -> Self {
        Self(FxHashMap::default())
    }
}

impl<K: Eq + Hash, V: Copy> Memory<K, V> {
    /// When it has this many entries, it is cleared.
    const LIMIT: usize = 1 << 19;

    pub(super) fn insert(&mut self, key: K, value: V) {
        if self.0.len() >= Self::LIMIT {
            self.0.clear();
        }
        self.0.insert(key, value);
    }

    pub(super) fn get(&self, key: &K) -> Option<V> {
        self.0.get(key).copied()
    }

    pub(super) fn clear(&mut self) {
        self.0.clear();
    }
}
