//! How many bytes of arguments functions remove from the stack when they return, from their code alone.
//!
//! By the psABIs, they remove none. Calling conventions that guarantee tail calls have callees remove them,
//! and so have older ones of other systems.

use rustc_hash::{FxHashMap, FxHashSet};
use sframe_engine::{Abi, DwarfRegister};

use super::{Destination, Flow, FrameLayout, Instruction, Operation, Place, Registers, SavedLocation, Value};

/// A function with more instructions than this is not followed.
const MOST_INSTRUCTIONS: usize = 20_000;
/// With its callees, no more than this are looked at to answer one question.
const MOST_TOGETHER: usize = 1 << 17;
/// Callees of callees, and so on, are followed up to this depth.
const DEPTH: usize = 16;
/// No function removes more bytes than this.
pub const MOST_REMOVED: u64 = 1 << 12;

/// Code of which single instructions are asked for.
pub trait Code {
    /// Passes on the instruction at an address; `None` if the decoder does not know it.
    fn look<T>(&self, address: u64, look: impl FnOnce(&Instruction) -> T) -> Option<T>;

    /// Returns where the function begins that a call of an address leads to; `None` if it is not this code's.
    fn callee(&self, called: u64) -> Option<u64>;

    /// Whether a function begins at an address.
    fn is_entry(&self, address: u64) -> bool;

    /// Whether a function is known never to return.
    fn never_returns(&self, entry: u64) -> bool;
}

/// What is known of a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Removal {
    /// It removes this number of bytes at each return.
    Bytes(u64),
    /// Its code does not show that.
    Unknown,
    /// It is being followed. A call of itself returns as it does otherwise.
    Open,
}

/// What is known of functions.
#[derive(Debug, Default)]
pub struct Removals {
    /// By their first instructions.
    known: FxHashMap<u64, Removal>,
    /// The jumps through a register that has the return address.
    returns: FxHashSet<u64>,
    /// The functions that may go on in their caller elsewhere than at the return address, by their first instructions.
    pass: FxHashSet<u64>,
    /// How many more instructions are looked at.
    left: usize,
}

impl Removals {
    /// Whether a jump in the function that begins at an address is a return: the register that it takes has
    /// the return address.
    pub fn returns_by(&mut self, abi: Abi, code: &impl Code, entry: u64, jump: u64) -> bool {
        self.of(abi, code, entry);
        self.returns.contains(&jump)
    }

    /// Whether a function may go on in its caller elsewhere than where its call returns to: it computes the address from
    /// its return address, as what takes data after its call does.
    pub fn passes_return_address(&mut self, abi: Abi, code: &impl Code, called: u64) -> bool {
        self.of(abi, code, called);
        code.callee(called).is_some_and(|entry| self.pass.contains(&entry))
    }

    /// Returns how many bytes the function at an address removes; `None` if its code does not show that it is
    /// the same at each return.
    pub fn of(&mut self, abi: Abi, code: &impl Code, called: u64) -> Option<u64> {
        self.left = MOST_TOGETHER;
        match self.function(abi, code, called, DEPTH) {
            Removal::Bytes(bytes) => Some(bytes),
            Removal::Unknown | Removal::Open => None,
        }
    }

    fn function(&mut self, abi: Abi, code: &impl Code, called: u64, depth: usize) -> Removal {
        // A call of what is no function is part of its own: it reads the PC, or skips data.
        let Some(entry) = code.callee(called).filter(|entry| code.is_entry(*entry)) else {
            return Removal::Unknown;
        };
        if let Some(known) = self.known.get(&entry) {
            return *known;
        }
        let Some(depth) = depth.checked_sub(1) else { return Removal::Unknown };
        self.known.insert(entry, Removal::Open);
        let removed = Search { abi, code, entry, all: self, depth }.removed();
        let found = removed.map_or(Removal::Unknown, Removal::Bytes);
        self.known.insert(entry, found);
        found
    }
}

/// A function that is followed both ways at each branch.
struct Search<'s, C> {
    abi: Abi,
    code: &'s C,
    entry: u64,
    all: &'s mut Removals,
    depth: usize,
}

/// What is known before an instruction.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Before {
    frame: FrameLayout,
    /// A register that has the return address, which was loaded from where it is saved.
    ra: Option<DwarfRegister>,
    /// The registers that may have another address which was computed from it.
    computed: Registers,
    /// The registers that point to where the return address is.
    pointers: Registers,
    /// Whether another address may have been stored there.
    is_replaced: bool,
}

impl Before {
    /// What is known where two paths meet.
    fn join(self, other: Self) -> Self {
        Self {
            frame: self.frame.join(other.frame),
            ra: self.ra.filter(|ra| Some(*ra) == other.ra),
            computed: self.computed.or(other.computed),
            pointers: self.pointers.or(other.pointers),
            is_replaced: self.is_replaced || other.is_replaced,
        }
    }

    /// What is known after an instruction, with the frame that it leaves.
    fn after(self, abi: Abi, instruction: &Instruction, frame: FrameLayout) -> Self {
        let kept = self.ra.filter(|ra| !instruction.is_call() && !instruction.defs.contains(*ra));
        let mut computed = self.computed.without(instruction.defs);
        if let Some(to) = self.computes(abi, instruction) {
            computed.insert(to);
        }
        let mut pointers = self.pointers.without(instruction.defs);
        if let Some(to) = self.points_to_ra(abi, instruction) {
            pointers.insert(to);
        }
        Self {
            frame,
            ra: self.frame.loads_ra(abi, instruction).or(kept),
            computed,
            pointers,
            is_replaced: self.is_replaced || self.replaces(abi, instruction),
        }
    }

    /// Whether a register has the return address, or an address that was computed from it.
    fn is_return_address(self, abi: Abi, register: DwarfRegister) -> bool {
        let is_link = self.frame.ra == SavedLocation::InRegister && abi.ra() == Some(register);
        is_link || self.ra == Some(register) || self.computed.contains(register)
    }

    /// The register that an instruction computes from the return address.
    fn computes(self, abi: Abi, instruction: &Instruction) -> Option<DwarfRegister> {
        let is_from = |register| self.is_return_address(abi, register);
        match instruction.operation {
            Operation::Add { to, from, offset } if offset != 0 && is_from(from) => Some(to),
            Operation::Sum { to, left, right, .. } if is_from(left) || is_from(right) => Some(to),
            // Beside what it loads or stores there.
            Operation::Load { place: Some(place), .. } | Operation::Store { place: Some(place), .. }
                if place.writeback != 0 && is_from(place.base) =>
            {
                Some(place.base)
            }
            // What it does with it is not known.
            Operation::Other => {
                let changes = |register: &DwarfRegister| {
                    is_from(*register) && instruction.sources.is_none_or(|all| all.contains(*register))
                };
                instruction.defs.iter().find(changes).filter(|_| instruction.flow == Flow::Next)
            }
            _ => None,
        }
    }

    /// The register that an instruction makes point to where the return address is.
    fn points_to_ra(self, abi: Abi, instruction: &Instruction) -> Option<DwarfRegister> {
        let SavedLocation::OnStack(own) = self.frame.ra else { return None };
        match instruction.operation {
            Operation::Add { to, from, offset } if to != abi.sp() && to != abi.fp() => {
                let at = self.frame.offset_from_cfa(abi, &Place { base: from, offset, writeback: 0 });
                (at == Some(own) || offset == 0 && self.pointers.contains(from)).then_some(to)
            }
            _ => None,
        }
    }

    /// Whether an instruction may replace the return address on the stack by another one. So may a callee that knows
    /// where it is.
    fn replaces(self, abi: Abi, instruction: &Instruction) -> bool {
        let SavedLocation::OnStack(own) = self.frame.ra else { return false };
        let Operation::Store { values, place, .. } = &instruction.operation else {
            return instruction.is_call() && !self.pointers.is_empty();
        };
        let is_pointed_to = |place: Place| place.offset == 0 && self.pointers.contains(place.base);
        let is_ra = |value: &Value| matches!(value, Value::Register(register) if Some(*register) == self.ra);
        (self.frame.stored(abi, instruction) == Some(own) || place.is_some_and(is_pointed_to))
            && !values.iter().all(is_ra)
    }

    /// Whether a jump leads to an address that was computed from the return address.
    fn leaves_past(self, abi: Abi, instruction: &Instruction) -> bool {
        match instruction.flow {
            Flow::Jump { to: Destination::Caller, .. } => {
                let by = if instruction.uses.is_empty() { abi.ra() } else { instruction.uses.only() };
                self.is_replaced || by.is_some_and(|by| self.computed.contains(by))
            }
            Flow::Jump { to: Destination::Indirect, .. } => {
                let is_from = |register| self.is_return_address(abi, register);
                match instruction.operation {
                    Operation::JumpToSum { left, right, .. } => is_from(left) || is_from(right),
                    _ => !self.computed.and(instruction.uses).is_empty(),
                }
            }
            _ => false,
        }
    }
}

/// Where control goes after an instruction, and what is known there.
struct Step {
    next: Vec<(u64, Before)>,
    /// If it leaves the function: how, if that is known.
    exit: Option<Option<Exit>>,
}

/// How a function is left.
#[derive(Clone, Copy, Debug)]
struct Exit {
    /// SP, as an offset from the CFA.
    top: i64,
    /// How many bytes are removed from the stack.
    removed: i64,
}

impl<C: Code> Search<'_, C> {
    /// Where return addresses are on the stack, a return with SP above its own takes another: one that the
    /// function has put there, as its own, or one of its caller, which it then does not return to.
    fn removed(&mut self) -> Option<u64> {
        let mut stored: FxHashSet<i64> = FxHashSet::default();
        let mut before: FxHashMap<u64, Before> = FxHashMap::default();
        let mut exits: FxHashMap<u64, Option<Exit>> = FxHashMap::default();
        let at_entry = Before {
            frame: FrameLayout::at_entry(self.abi),
            ra: None,
            computed: Registers::default(),
            pointers: Registers::default(),
            is_replaced: false,
        };
        let mut open = vec![(self.entry, at_entry)];
        while let Some((at, coming)) = open.pop() {
            let known = before.get(&at).copied();
            let joined = known.map_or(coming, |known| known.join(coming));
            if before.insert(at, joined) == Some(joined) {
                continue;
            }
            self.all.left = self.all.left.checked_sub(1)?;
            if before.len() > MOST_INSTRUCTIONS {
                return None;
            }
            let Step { next, exit } = self.step(at, joined);
            stored.extend(
                self.code.look(at, |instruction| joined.frame.stored(self.abi, instruction)).flatten(),
            );
            open.extend(next);
            if let Some(exit) = exit {
                exits.insert(at, exit);
            }
        }
        let is_to_caller = |exit: &Exit| match self.abi.fixed_ra_offset() {
            Some(own) => exit.top == i64::from(own) || stored.contains(&exit.top),
            None => true,
        };
        let mut exits = exits.into_values().map(|exit| exit.filter(is_to_caller).map(|exit| exit.removed));
        let removed = exits.next()??;
        let is_same = exits.all(|other| other == Some(removed));
        u64::try_from(removed).ok().filter(|removed| is_same && *removed <= MOST_REMOVED)
    }

    fn step(&mut self, at: u64, before: Before) -> Step {
        let abi = self.abi;
        let decoded = self.code.look(at, |instruction| {
            let after = before.after(abi, instruction, before.frame.after(abi, instruction));
            let jumps_to_ra = before.ra.is_some() && before.ra == instruction.uses.only();
            if before.leaves_past(abi, instruction) {
                self.all.pass.insert(self.entry);
            }
            (instruction.flow, instruction.len, instruction.removes, jumps_to_ra, after)
        });
        let nothing = Step { next: Vec::new(), exit: None };
        let Some((flow, len, removes, jumps_to_ra, after)) = decoded else { return nothing };
        let next = at.wrapping_add(len);
        // What comes before another function does not return: control does not fall into that one.
        let is_end = next != self.entry && self.code.is_entry(next);
        let go_on =
            |after| Step { next: (!is_end).then_some((next, after)).into_iter().collect(), exit: None };
        let removing = |bytes| Before { frame: after.frame.without_arguments(bytes), ..after };
        match flow {
            Flow::Next => go_on(after),
            Flow::Trap | Flow::Unknown => nothing,
            // It reads the PC: what comes next is no other function.
            Flow::Call(Some(to)) if to == next => go_on(removing(-abi.pushed_by_calls().cast_signed())),
            Flow::Call(Some(to)) if self.code.never_returns(to) => nothing,
            Flow::Call(to) => match to.map_or(Removal::Unknown, |to| self.callee(to)) {
                Removal::Bytes(removed) => go_on(removing(removed.cast_signed())),
                // As the ABI says.
                Removal::Unknown => go_on(after),
                Removal::Open => nothing,
            },
            Flow::Jump { to, is_conditional } => {
                let mut step = if is_conditional { go_on(after) } else { nothing };
                match to {
                    Destination::Caller => {
                        step.exit = Some(before.frame.sp.map(|sp| Exit {
                            top: -sp,
                            removed: abi.cfa_offset_at_entry() - sp + i64::from(removes),
                        }));
                    }
                    // Also to another function, which then returns for this one.
                    Destination::Address(to) if self.code.never_returns(to) => {}
                    Destination::Address(to) => step.next.push((to, after)),
                    // What calls push has been popped.
                    Destination::Indirect if jumps_to_ra => {
                        self.all.returns.insert(at);
                        let top = abi.fixed_ra_offset().map_or(0, i64::from);
                        let left = abi.cfa_offset_at_entry() - abi.pushed_by_calls().cast_signed();
                        step.exit = Some(before.frame.sp.map(|sp| Exit { top, removed: left - sp }));
                    }
                    // To a case of a table, or to a function: nothing is known of that one.
                    Destination::Indirect => {}
                }
                step
            }
        }
    }

    fn callee(&mut self, called: u64) -> Removal {
        self.all.function(self.abi, self.code, called, self.depth)
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;
    use crate::Disassembly;

    /// Code at address 0, in which functions begin at some addresses.
    struct Bytes<'c> {
        abi: Abi,
        code: &'c [u8],
        entries: &'c [u64],
    }

    impl Code for Bytes<'_> {
        fn look<T>(&self, address: u64, look: impl FnOnce(&Instruction) -> T) -> Option<T> {
            let code = self.code.get(usize::try_from(address).ok()?..)?;
            Disassembly::one(self.abi, address, code).as_ref().map(look)
        }

        fn callee(&self, called: u64) -> Option<u64> {
            (called < 0x1000).then_some(called)
        }

        fn is_entry(&self, address: u64) -> bool {
            self.entries.contains(&address)
        }

        fn never_returns(&self, _: u64) -> bool {
            false
        }
    }

    fn removed(abi: Abi, code: &[u8], entries: &[u64]) -> Option<u64> {
        Removals::default().of(abi, &Bytes { abi, code, entries }, 0)
    }

    #[rstest]
    // ret; ret $16; push %rbp, pop %rbp, ret $8
    #[case(&[0xc3], Some(0))]
    #[case(&[0xc2, 16, 0], Some(16))]
    #[case(&[0x55, 0x5d, 0xc2, 8, 0], Some(8))]
    // jmp to ret $16, also with eight bytes less below the return address
    #[case(&[0xeb, 0, 0xc2, 16, 0], Some(16))]
    #[case(&[0x50, 0x58, 0x59, 0x51, 0xeb, 0, 0xc2, 16, 0], Some(16))]
    // push %rbp; mov %rsp,%rbp; sub %rax,%rsp; leave; ret $8
    #[case(&[0x55, 0x48, 0x89, 0xe5, 0x48, 0x29, 0xc4, 0xc9, 0xc2, 8, 0], Some(8))]
    // Two returns that differ: je 1f; ret; 1: ret $8
    #[case(&[0x74, 1, 0xc3, 0xc2, 8, 0], None)]
    // pop %rcx; pop %rdx; push %rcx; ret; mov (%rsp),%rax; mov %rax,8(%rsp); pop %rcx; ret
    #[case(&[0x59, 0x5a, 0x51, 0xc3], Some(8))]
    #[case(&[0x48, 0x8b, 4, 0x24, 0x48, 0x89, 0x44, 0x24, 8, 0x59, 0xc3], Some(8))]
    // pop %rcx; add $16,%rsp; jmp *%rcx; mov (%rsp),%rcx; lea 24(%rsp),%rsp; jmp *%rcx
    #[case(&[0x59, 0x48, 0x83, 0xc4, 16, 0xff, 0xe1], Some(16))]
    #[case(&[0x48, 0x8b, 0x0c, 0x24, 0x48, 0x8d, 0x64, 0x24, 24, 0xff, 0xe1], Some(16))]
    // The same, but mov (%rax),%rcx in between
    #[case(&[0x59, 0x48, 0x83, 0xc4, 16, 0x48, 0x8b, 8, 0xff, 0xe1], None)]
    // pop %rcx; pop %rdx; ret, to where its caller returns
    #[case(&[0x59, 0x5a, 0xc3], None)]
    // sub %rax,%rsp; ret: nobody knows where SP is.
    #[case(&[0x48, 0x29, 0xc4, 0xc3], None)]
    // jmp *%rax: whatever that one does.
    #[case(&[0xff, 0xe0], None)]
    // call 1f; 1: pop %rax; ret $8, which reads the PC
    #[case(&[0xe8, 0, 0, 0, 0, 0x58, 0xc2, 8, 0], Some(8))]
    // push %rax; push %rax; je 1f; call 0; jmp 2f; 1: pop %rax; pop %rax; 2: ret $16, which calls itself
    #[case(&[0x50, 0x50, 0x74, 7, 0xe8, 0xf7, 0xff, 0xff, 0xff, 0xeb, 2, 0x58, 0x58, 0xc2, 16, 0], Some(16))]
    fn returns_of_amd64_show_what_they_remove(#[case] code: &[u8], #[case] expected: Option<u64>) {
        assert_eq!(removed(Abi::Amd64, code, &[0]), expected, "{code:02x?}");
    }

    #[rstest]
    // pop %rcx; inc %rcx; jmp *%rcx, and with lea 8(%rcx),%rcx
    #[case(&[0x59, 0x48, 0xff, 0xc1, 0xff, 0xe1], true)]
    #[case(&[0x59, 0x48, 0x8d, 0x49, 8, 0xff, 0xe1], true)]
    #[case(&[0x59, 0xff, 0xe1], false)]
    // pop %rcx; movslq (%rcx,%rdi,4),%rax; add %rcx,%rax; jmp *%rax
    #[case(&[0x59, 0x48, 0x63, 4, 0xb9, 0x48, 1, 0xc8, 0xff, 0xe0], true)]
    // incq (%rsp); ret; addq $8,(%rsp); ret
    #[case(&[0x48, 0xff, 4, 0x24, 0xc3], true)]
    #[case(&[0x48, 0x83, 4, 0x24, 8, 0xc3], true)]
    // mov (%rsp),%rcx; add $4,%rcx; mov %rcx,(%rsp); ret
    #[case(&[0x48, 0x8b, 0x0c, 0x24, 0x48, 0x83, 0xc1, 4, 0x48, 0x89, 0x0c, 0x24, 0xc3], true)]
    // push %rbx; incq (%rsp); pop %rbx; ret
    #[case(&[0x53, 0x48, 0xff, 4, 0x24, 0x5b, 0xc3], false)]
    // pop %rcx; push %rcx; ret, and pop %rcx; push %rdx; ret
    #[case(&[0x59, 0x51, 0xc3], false)]
    #[case(&[0x59, 0x52, 0xc3], true)]
    // pop %rsi; lodsb; push %rsi; ret
    #[case(&[0x5e, 0xac, 0x56, 0xc3], true)]
    // pop %rsi; mov %rsi,%rdi; xor %eax,%eax; push %rsi; ret
    #[case(&[0x5e, 0x48, 0x89, 0xf7, 0x31, 0xc0, 0x56, 0xc3], false)]
    // mov %rdx,(%rsp); ret
    #[case(&[0x48, 0x89, 0x14, 0x24, 0xc3], true)]
    // push %rbp; mov %rsp,%rbp; lea 8(%rbp),%rdi; mov %rsi,(%rdi); pop %rbp; ret
    #[case(&[0x55, 0x48, 0x89, 0xe5, 0x48, 0x8d, 0x7d, 8, 0x48, 0x89, 0x37, 0x5d, 0xc3], true)]
    // push %rbp; mov %rsp,%rbp; lea 16(%rbp),%rdi; mov %rsi,(%rdi); pop %rbp; ret, whose argument is there
    #[case(&[0x55, 0x48, 0x89, 0xe5, 0x48, 0x8d, 0x7d, 16, 0x48, 0x89, 0x37, 0x5d, 0xc3], false)]
    fn code_of_amd64_shows_that_it_passes_its_return_address(#[case] code: &[u8], #[case] expected: bool) {
        let code = Bytes { abi: Abi::Amd64, code, entries: &[0] };
        assert_eq!(
            Removals::default().passes_return_address(Abi::Amd64, &code, 0),
            expected,
            "{:02x?}",
            code.code
        );
    }

    #[rstest]
    // add x1,x30,#4; br x1, and with ret x1
    #[case(Abi::Aarch64, &[0xc1, 0x13, 0, 0x91, 0x20, 0, 0x1f, 0xd6], true)]
    #[case(Abi::Aarch64, &[0xc1, 0x13, 0, 0x91, 0x20, 0, 0x5f, 0xd6], true)]
    // ldr w1,[x30],#4; ret
    #[case(Abi::Aarch64, &[0xc1, 0x47, 0x40, 0xb8, 0xc0, 3, 0x5f, 0xd6], true)]
    // stp x29,x30,[sp,#-16]!; add x0,sp,#8; bl elsewhere; ldp x29,x30,[sp],#16; ret
    #[case(Abi::Aarch64, &[0xfd, 0x7b, 0xbf, 0xa9, 0xe0, 0x23, 0, 0x91, 0, 4, 0, 0x94,
                           0xfd, 0x7b, 0xc1, 0xa8, 0xc0, 3, 0x5f, 0xd6], true)]
    // add x30,x30,#4; ret; ldrsw x1,[x30,x0,lsl #2]; add x1,x30,x1; br x1
    #[case(Abi::Aarch64, &[0xde, 0x13, 0, 0x91, 0xc0, 3, 0x5f, 0xd6], true)]
    #[case(Abi::Aarch64, &[0xc1, 0x7b, 0xa0, 0xb8, 0xc1, 3, 1, 0x8b, 0x20, 0, 0x1f, 0xd6], true)]
    // paciasp; autiasp; ret; mov x1,x30; ret x1
    #[case(Abi::Aarch64, &[0x3f, 0x23, 3, 0xd5, 0xbf, 0x23, 3, 0xd5, 0xc0, 3, 0x5f, 0xd6], false)]
    #[case(Abi::Aarch64, &[0xe1, 3, 0x1e, 0xaa, 0x20, 0, 0x5f, 0xd6], false)]
    // aghi %r14,4; br %r14; agr %r1,%r14; br %r1
    #[case(Abi::S390x, &[0xa7, 0xeb, 0, 4, 7, 0xfe], true)]
    #[case(Abi::S390x, &[0xb9, 8, 0, 0x1e, 7, 0xf1], true)]
    #[case(Abi::S390x, &[7, 0xfe], false)]
    fn code_shows_that_it_passes_its_return_address(
        #[case] abi: Abi,
        #[case] code: &[u8],
        #[case] expected: bool,
    ) {
        let code = Bytes { abi, code, entries: &[0] };
        assert_eq!(Removals::default().passes_return_address(abi, &code, 0), expected, "{:02x?}", code.code);
    }

    /// `push %rax` twice, a call of `ret $16`, `ret`. Without the callee's removal the second push is still
    /// there.
    #[test]
    fn arguments_that_callees_remove_are_counted() {
        let code = [0x50, 0x50, 0xe8, 1, 0, 0, 0, 0xc3, 0xc2, 16, 0];
        assert_eq!(removed(Abi::Amd64, &code, &[0, 8]), Some(0));
        assert_eq!(removed(Abi::Amd64, &[&code[..8], &[0xc3]].concat(), &[0, 8]), None);
        // Where no function begins, nothing is called.
        let mut all = Removals::default();
        assert_eq!(all.of(Abi::Amd64, &Bytes { abi: Abi::Amd64, code: &code, entries: &[0] }, 8), None);
    }

    #[test]
    fn control_does_not_fall_into_the_next_function() {
        // call elsewhere; ret $8 of another function.
        let code = [0xe8, 0, 0x10, 0, 0, 0xc2, 8, 0];
        assert_eq!(removed(Abi::Amd64, &code, &[0]), Some(8));
        assert_eq!(removed(Abi::Amd64, &code, &[0, 5]), None);
    }

    #[test]
    fn adding_to_sp_removes_arguments_where_calls_leave_it() {
        let aarch64 = |words: &[u32]| {
            let code: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
            removed(Abi::Aarch64, &code, &[0])
        };
        // add sp,sp,#16; ret
        assert_eq!(aarch64(&[0x9100_43ff, 0xd65f_03c0]), Some(16));
        assert_eq!(aarch64(&[0xd65f_03c0]), Some(0));
        // str x30,[sp,#-16]!; bl to the next instruction, which reads the PC; ldr x30,[sp],#16; ret
        assert_eq!(aarch64(&[0xf81f_0ffe, 0x9400_0001, 0xf841_07fe, 0xd65f_03c0]), Some(0));
        // sub sp,sp,#16; ret: it leaves SP below.
        assert_eq!(aarch64(&[0xd100_43ff, 0xd65f_03c0]), None);
        // aghi %r15,16; br %r14
        assert_eq!(removed(Abi::S390x, &[0xa7, 0xfb, 0, 16, 0x07, 0xfe], &[0]), Some(16));
        // More than there can be.
        assert_eq!(removed(Abi::S390x, &[0xa7, 0xfb, 0x20, 0, 0x07, 0xfe], &[0]), None);
    }
}
