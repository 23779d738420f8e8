//! Instructions that execute one after the other, and that an observer need not look at one by one.

use std::cell::Cell;
use std::rc::Rc;

use crate::address_space::Memory;
use crate::cpu::{Control, Cpu, Effect, StackPointer};
use crate::effect_cache::decode;
use crate::witness::{Action, Movement};

/// Instructions that execute one after the other: see [`Observer::lets_pass`](crate::Observer::lets_pass).
#[derive(Debug)]
pub struct Straight {
    pcs: Box<[u64]>,
    /// The address after the last one.
    end: u64,
    /// What the last one can do to the call stack.
    pub(crate) last: Action,
    /// Whether the last one may change SP or FP.
    pub(crate) is_last_free: bool,
    /// Of which code they are: it changes.
    pub(crate) code: u32,
}

impl Straight {
    /// Those of the instructions at some addresses, up to one that moves control, that can pass. `end` is the address after
    /// the last one, and `is_last_free` whether that may change SP or FP.
    pub(crate) fn new(
        cpu: &Cpu,
        memory: &dyn Memory,
        code: u32,
        mut pcs: Vec<u64>,
        mut end: u64,
        is_last_free: bool,
    ) -> Self {
        let given = pcs.len();
        let mut last = Action::NOTHING;
        for (index, pc) in pcs.iter().enumerate() {
            let effect = decode(cpu, memory, *pc);
            let next = pcs.get(index + 1).copied().unwrap_or(end);
            if !effect.is_passable() || !memory.is_constant_code(*pc) {
                end = *pc;
                pcs.truncate(index);
                break;
            }
            last = Action {
                control: effect.control,
                movement: Movement::Relative,
                fall_through: effect.is_conditional.then_some(next),
            };
            if last != Action::NOTHING {
                end = next;
                pcs.truncate(index + 1);
                break;
            }
        }
        let is_last_free = is_last_free && pcs.len() == given;
        Self { pcs: pcs.into(), end, last, is_last_free, code }
    }

    /// Their addresses.
    #[must_use]
    pub const fn pcs(&self) -> &[u64] {
        &self.pcs
    }

    /// The address of the first one, if there is one.
    pub(crate) fn start(&self) -> Option<u64> {
        self.pcs.first().copied()
    }

    /// The size of one of them, in bytes.
    pub(crate) fn size(&self, index: usize) -> u64 {
        self.pcs.get(index + 1).copied().unwrap_or(self.end).wrapping_sub(self.pcs[index])
    }
}

impl Effect {
    /// Whether the instruction does nothing that the run has to see before it executes.
    pub(crate) const fn is_passable(&self) -> bool {
        matches!(self.stack_pointer, StackPointer::Relative)
            && !matches!(self.control, Control::Link | Control::SelfJump)
            && self.signs.is_none()
            && !(self.is_privileged || self.is_mistaken || self.stores_unreported)
    }
}

/// Where instructions pass.
#[derive(Debug, Default)]
pub(crate) struct Gate {
    /// How many more.
    left: Cell<usize>,
    /// The next one.
    next: Cell<u64>,
}

impl Gate {
    /// Lets this many pass, from an address on.
    #[inline]
    pub(crate) fn open(&self, left: usize, next: u64) {
        self.left.set(left);
        self.next.set(next);
    }

    /// Lets no more pass. Returns how many could have.
    #[inline]
    pub(crate) const fn close(&self) -> usize {
        self.left.replace(0)
    }

    /// Returns how many more may pass.
    #[inline]
    pub(crate) const fn left(&self) -> usize {
        self.left.get()
    }

    /// Whether an instruction passes.
    #[inline(always)]
    pub(crate) fn passes(&self, pc: u64, size: u32) -> bool {
        let left = self.left.get();
        if left == 0 || pc != self.next.get() {
            return false;
        }
        self.left.set(left - 1);
        self.next.set(pc.wrapping_add(size.into()));
        true
    }
}

/// The instructions that pass now.
#[derive(Debug)]
pub(crate) struct Passing {
    pub(crate) straight: Rc<Straight>,
    /// The first that passes.
    pub(crate) from: usize,
    /// How many of them may have begun, and how many have been counted, or come before that.
    pub(crate) total: usize,
    pub(crate) counted: usize,
    pub(crate) sp: u64,
    pub(crate) fp: u64,
}

impl Passing {
    /// How many of them have begun that have not been counted.
    #[inline]
    pub(crate) fn uncounted(&self, gate: &Gate) -> usize {
        self.total - gate.left() - self.counted
    }
}
