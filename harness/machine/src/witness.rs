//! The call-stack witness: what calls and returns have really happened.
//!
//! It sees the PC, SP and FP of each instruction before it executes, and how
//! the instruction before could move control. It knows nothing of symbols,
//! debug information or unwind tables, so its stack can judge them.

use crate::cpu::{Control, Cpu};

/// A call that has not returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record {
    /// Where the caller goes on.
    pub return_address: u64,
    /// Canonical frame address of the callee: SP at the call, and 160 more on s390x.
    pub cfa: u64,
    /// The caller's SP at the call.
    pub caller_sp: u64,
    /// The caller's frame pointer register at the call.
    pub caller_fp: u64,
    /// First instruction of the callee.
    pub callee: u64,
}

/// The calls that have not returned, the oldest first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CallStack {
    records: Vec<Record>,
}

impl CallStack {
    /// The calls, the oldest first.
    #[must_use]
    pub fn records(&self) -> &[Record] {
        &self.records
    }

    /// Number of frames: one for each call, and the one the program started in.
    #[must_use]
    pub fn depth(&self) -> usize {
        self.records.len() + 1
    }

    /// The calls from the innermost frame outwards.
    pub fn innermost_first(&self) -> impl Iterator<Item = &Record> {
        self.records.iter().rev()
    }
}

/// The instruction that executed last.
#[derive(Clone, Copy, Debug)]
struct Previous {
    control: Control,
    sp: u64,
    fp: u64,
}

/// Follows the program and keeps its [`CallStack`].
#[derive(Debug)]
pub(crate) struct Witness {
    cfa_above_sp: u64,
    previous: Previous,
    stack: CallStack,
}

impl Witness {
    pub(crate) fn new(cpu: &Cpu) -> Self {
        Self {
            cfa_above_sp: cpu.cfa_above_sp,
            previous: Previous { control: Control::Other, sp: 0, fp: 0 },
            stack: CallStack::default(),
        }
    }

    pub(crate) const fn stack(&self) -> &CallStack {
        &self.stack
    }

    /// Whether the last instruction was a call, so that [`Self::enter`] has to
    /// be told its return address before [`Self::follow`].
    pub(crate) fn was_call(&self) -> bool {
        self.previous.control == Control::Call
    }

    /// Records the call that the last instruction made.
    pub(crate) fn enter(&mut self, callee: u64, return_address: u64) {
        let Previous { sp, fp, .. } = self.previous;
        self.stack.records.push(Record {
            return_address,
            cfa: sp.wrapping_add(self.cfa_above_sp),
            caller_sp: sp,
            caller_fp: fp,
            callee,
        });
    }

    /// Takes note of the next instruction, before it executes. Calls that the
    /// last one has ended are taken off the stack.
    ///
    /// A call has ended when the stack has moved past it: a landing pad or
    /// `longjmp` gives up frames like that. Strictly past, for a callee that
    /// pops its own return address has SP there and is still running. It has
    /// also ended when an indirect branch arrives at the return address with
    /// SP where it was at the call; ABIs return by more than one instruction,
    /// and conditionally too.
    pub(crate) fn follow(&mut self, pc: u64, sp: u64, fp: u64, control: Control) {
        while self.stack.records.last().is_some_and(|top| sp > top.caller_sp) {
            self.stack.records.pop();
        }
        if self.previous.control == Control::Indirect {
            let returns = |top: &Record| top.return_address == pc && top.caller_sp == sp;
            if self.stack.records.last().is_some_and(returns) {
                self.stack.records.pop();
            }
        }
        self.previous = Previous { control, sp, fp };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cpu::{AARCH64, AMD64, S390X};

    /// Runs (pc, sp, control) steps; a call's return address is its PC + 4.
    fn run(cpu: &Cpu, steps: &[(u64, u64, Control)]) -> Vec<Vec<u64>> {
        let mut witness = Witness::new(cpu);
        let mut last_pc = 0;
        let mut stacks = Vec::new();
        for &(pc, sp, control) in steps {
            if witness.was_call() {
                witness.enter(pc, last_pc + 4);
            }
            witness.follow(pc, sp, 0, control);
            last_pc = pc;
            stacks.push(witness.stack().records().iter().map(|record| record.callee).collect());
        }
        stacks
    }

    use Control::{Call, Indirect, Other};

    #[test]
    fn a_call_is_on_the_stack_until_its_return_has_executed() {
        let stacks =
            run(&AMD64, &[(0x10, 80, Call), (0x100, 72, Other), (0x104, 72, Indirect), (0x14, 80, Other)]);
        assert_eq!(stacks, [vec![], vec![0x100], vec![0x100], vec![]]);
    }

    #[test]
    fn a_callee_that_pops_its_return_address_is_still_running() {
        let stacks = run(
            &AMD64,
            &[
                (0x10, 80, Call),
                (0x100, 72, Other),    // pop %rcx
                (0x101, 80, Indirect), // jmp *%rcx
                (0x14, 80, Other),
            ],
        );
        assert_eq!(stacks, [vec![], vec![0x100], vec![0x100], vec![]]);
    }

    #[test]
    fn a_tail_call_leaves_the_stack_as_it_is_and_its_return_ends_the_first_call() {
        let stacks = run(
            &AARCH64,
            &[
                (0x10, 80, Call),
                (0x100, 80, Other),    // b 0x200
                (0x200, 64, Indirect), // br x16: a tail call by register
                (0x300, 80, Indirect), // ret
                (0x14, 80, Other),
            ],
        );
        assert_eq!(stacks, [vec![], vec![0x100], vec![0x100], vec![0x100], vec![]]);
    }

    #[test]
    fn a_jump_past_several_frames_ends_all_of_them() {
        let stacks = run(
            &S390X,
            &[
                (0x10, 800, Call),
                (0x100, 640, Call),
                (0x200, 480, Call),
                (0x300, 320, Indirect), // longjmp
                (0x500, 800, Other),    // somewhere in the first frame, which called at this SP
                (0x504, 808, Other),
            ],
        );
        assert_eq!(stacks[3].len(), 3);
        assert_eq!(stacks[4], [0x100], "SP equal to the call's is not past it");
        assert_eq!(stacks[5], Vec::<u64>::new());
    }

    #[test]
    fn recursion_returns_one_level_at_a_time() {
        let stacks = run(
            &AMD64,
            &[
                (0x10, 80, Call),
                (0x100, 72, Call),
                (0x100, 64, Indirect),
                (0x104, 72, Indirect),
                (0x14, 80, Other),
            ],
        );
        assert_eq!(stacks.iter().map(Vec::len).collect::<Vec<_>>(), [0, 1, 2, 1, 0]);
    }

    #[test]
    fn the_cfa_of_s390x_lies_160_bytes_above_sp_at_the_call() {
        let mut witness = Witness::new(&S390X);
        witness.follow(0x10, 800, 7, Call);
        witness.enter(0x100, 0x16);
        let expected = Record { return_address: 0x16, cfa: 960, caller_sp: 800, caller_fp: 7, callee: 0x100 };
        assert_eq!(witness.stack().records(), [expected]);
    }
}
