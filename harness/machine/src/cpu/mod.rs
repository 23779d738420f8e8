//! The CPUs: the differences between the ABIs, in one file each with the same structure.

mod aarch64;
mod amd64;
mod kernel;
mod prstatus;
mod s390x;

use std::cmp::Ordering;

use sframe_engine::Abi;
use unicorn_engine::{Arch, Mode, Unicorn, uc_error};

pub use aarch64::{AARCH64, AARCH64_BE};
pub use amd64::AMD64;
pub(crate) use kernel::{Chain, CloneArgument, SI_KERNEL, SignalFrame, Stat, SystemCalls};
pub use prstatus::of_prstatus;
pub use s390x::S390X;

/// How an instruction can move control, as far as the call stack is concerned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Control {
    /// To the next instruction, or to a place that the instruction names.
    Other,
    /// To a callee, with a return address left behind.
    Call,
    /// To a place that the instruction names, or a register, with a return address left elsewhere than where
    /// calls leave it.
    Link,
    /// To an address from a register or from memory. Every ABI has several
    /// forms of returns, and some of them are among these.
    Indirect,
    /// To such an address, by an instruction that is meant to return.
    Return,
    /// To itself, for ever. Programs that have no system call to exit with do so.
    SelfJump,
}

impl Control {
    /// Returns whether it takes the address from a register or from memory.
    pub(crate) const fn is_indirect(self) -> bool {
        matches!(self, Self::Indirect | Self::Return)
    }
}

/// Where an instruction takes the new value of SP from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StackPointer {
    /// From SP itself, or SP does not change.
    Relative,
    /// From FP, or from memory that SP or FP points to.
    Frame,
    /// From memory or from the instruction itself.
    Loaded,
    /// From another register, by its number in instructions.
    Copied(u8),
}

/// Where an instruction takes the new value of a register from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    /// The register does not change, or changes by some amount.
    Itself,
    /// From SP or FP.
    Stack,
    /// From another register, by its number in instructions.
    Register(u8),
    /// From elsewhere.
    Elsewhere,
}

/// What holds the target of an indirect branch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BranchTarget {
    /// A register, by Unicorn's number.
    Register(i32),
    /// The word at SP.
    Stack,
    /// The target of the instruction at this distance in bytes, which this one executes.
    Instruction(i64),
}

/// A key of aarch64's pointer authentication.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AuthenticationKey {
    /// APIAKey.
    A,
    /// APIBKey.
    B,
}

/// What an instruction can do to control, to SP and to the return address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Effect {
    pub(crate) control: Control,
    /// Whether an indirect transfer of control depends on a condition.
    pub(crate) is_conditional: bool,
    pub(crate) stack_pointer: StackPointer,
    /// The key with which it signs the link register.
    pub(crate) signs: Option<AuthenticationKey>,
    /// Whether only a kernel may execute it.
    pub(crate) is_privileged: bool,
    /// Whether the emulator would execute another instruction in its place.
    pub(crate) is_mistaken: bool,
    /// Whether it makes stores that Unicorn does not report.
    pub(crate) stores_unreported: bool,
}

/// The addresses of an instruction's operands in memory, from its bytes and the values of
/// registers by number.
pub(crate) type MemoryOperands = fn(&[u8], &dyn Fn(usize) -> u64) -> Vec<u64>;

/// Stores of an instruction that Unicorn does not report: some instructions are emulated by
/// copying in the host's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unreported {
    /// Nothing.
    Nothing,
    /// At most `len` bytes from an address on. The address is the value of a register
    /// (Unicorn's number; 0 for none) rounded down to a multiple of `alignment`, plus the
    /// displacement.
    Bytes { base: Option<i32>, alignment: u64, displacement: u64, len: u64 },
    /// The stores of the instruction at this distance in bytes. If there is a register, its lowest byte is
    /// combined with the number of bytes, less one.
    Target(i64, Option<i32>),
    /// Anything.
    Anything,
}

impl Unreported {
    /// Returns the stores of the instruction at an address, or of the one that it executes.
    pub(crate) fn at(pc: u64, decode: impl Fn(u64) -> Self, register: impl Fn(i32) -> Option<u64>) -> Self {
        let (distance, altering) = match decode(pc) {
            Self::Target(distance, altering) => (distance, altering),
            other => return other,
        };
        match decode(pc.wrapping_add_signed(distance)) {
            Self::Bytes { base, alignment, displacement, len } => {
                let altered = altering.map_or(Some(0), register).map_or(u64::MAX, |value| value & 0xff);
                let len = (len.saturating_sub(1) | altered).saturating_add(1);
                Self::Bytes { base, alignment, displacement, len }
            }
            // The target of such an instruction is not itself one.
            Self::Target(..) => Self::Anything,
            other => other,
        }
    }
}

/// Where a call leaves its return address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Link {
    /// On the stack, at SP.
    Stack,
    /// In a register, by Unicorn's number.
    Register(i32),
}

/// Reads the word at an address.
pub(crate) type ReadWord<'r> = dyn Fn(u64) -> Option<u64> + 'r;

/// What the dynamic linker needs to know about an ABI.
#[derive(Debug)]
pub(crate) struct Linking {
    pub(crate) relocations: RelocationTypes,
    /// Registers of a function's first arguments, and of its result.
    pub(crate) arguments: [i32; 3],
    pub(crate) result: i32,
    /// Where lazily bound calls arrive after the first entry of the table. The machine puts the
    /// function's address into `target` before the first instruction. The code undoes what that
    /// entry did to the stack, and branches.
    pub(crate) resolver: &'static [u8],
    /// The register that `resolver` branches to.
    pub(crate) target: i32,
    /// Reads which slot a lazily bound call goes through.
    pub(crate) lazy_call: fn(sp: u64, read: &ReadWord<'_>) -> Option<LazyCall>,
    /// Signing of the slots of a PLT, if the ABI has it.
    pub(crate) signing: Option<Signing>,
    /// Each word of DT_HASH, in bytes.
    pub(crate) hash_word: usize,
    /// Whether thread storage is above the thread pointer.
    pub(crate) thread_storage_above: bool,
}

/// Dynamic relocations: their numbers in the ABI.
#[derive(Debug)]
pub(crate) struct RelocationTypes {
    pub(crate) absolute: u32,
    pub(crate) copy: u32,
    pub(crate) glob_dat: u32,
    pub(crate) jump_slot: u32,
    pub(crate) relative: u32,
    pub(crate) irelative: u32,
    /// The offset of a variable from the thread pointer.
    pub(crate) thread_offset: u32,
    /// Names of other relocations, which the machine does not apply.
    pub(crate) others: &'static [(u32, &'static str)],
}

/// How the first entry of a PLT identifies a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LazyCall {
    /// The slot's address.
    Slot(u64),
    /// The image, by the content of its second slot, and the relocation's number.
    Relocation { image: u64, number: u64 },
}

/// Procedure PLTs that authenticate the addresses in their slots.
#[derive(Debug)]
pub(crate) struct Signing {
    /// The dynamic section's tag that says so.
    pub(crate) tag: u64,
    /// As [`Linking::resolver`]; it signs the slot too.
    pub(crate) resolver: &'static [u8],
    /// One instruction that signs the value in `value` for the slot in `slot`.
    pub(crate) sign: [u8; 4],
    pub(crate) value: i32,
    pub(crate) slot: i32,
}

/// What calls do with registers, by their DWARF numbers.
#[derive(Debug)]
pub(crate) struct Convention {
    /// Those of a function's first arguments.
    pub(crate) arguments: &'static [usize],
    /// That of its result.
    pub(crate) result: usize,
    /// Those that a callee may change.
    pub(crate) clobbered: &'static [usize],
    /// Those that a callee preserves, besides SP and FP.
    pub(crate) preserved: &'static [usize],
    /// The register that counts the repetitions of string instructions, by Unicorn's number.
    pub(crate) counter: Option<i32>,
}

/// One ABI's CPU: all that differs between the ABIs, so that each is one table. The registers are Unicorn's numbers.
#[derive(Debug)]
pub struct Cpu {
    /// The ABI; its byte order is that of data. Instructions of `aarch64_be` are
    /// little endian all the same.
    pub abi: Abi,
    /// The end of the addresses that Linux gives to a process.
    pub(crate) user_end: u64,
    /// Bits of an address that the emulated CPU has, without translation.
    pub(crate) physical_bits: u32,
    /// Bits of a virtual address; pointer authentication uses those above.
    pub address_bits: u32,
    /// Whether functions return by the branch that also jumps, and by any register.
    pub(crate) returns_by_any_branch: bool,
    /// `e_machine` of its executables.
    pub elf_machine: u16,
    pub(crate) arch: Arch,
    pub(crate) mode: Mode,
    pub(crate) model: Option<i32>,
    pub(crate) pc: i32,
    pub(crate) sp: i32,
    pub(crate) fp: i32,
    pub(crate) link: Link,
    /// By DWARF number.
    pub(crate) registers: &'static [i32],
    /// Registers that the start-up contract leaves undefined, including FP and the link
    /// register. They are poisoned.
    pub(crate) poisoned: &'static [i32],
    /// The register with a function to call at the program's end, or 0, at the first
    /// instruction.
    pub(crate) termination: Option<i32>,
    /// The CFA of a callee, in bytes above SP at the call.
    pub(crate) cfa_above_sp: u64,
    /// The length of the longest instruction, in bytes.
    pub(crate) longest: usize,
    /// All instructions are at multiples of this number of bytes.
    pub(crate) instruction_alignment: u64,
    pub(crate) convention: Convention,
    pub(crate) system_calls: SystemCalls,
    pub(crate) signal_frame: &'static SignalFrame,
    pub(crate) linking: Linking,
    pub(crate) control: fn(&[u8]) -> Control,
    /// Whether an indirect transfer of control may fall through to the next instruction.
    pub(crate) is_conditional: fn(&[u8]) -> bool,
    /// What holds the target of an indirect branch, if its code alone shows it.
    pub(crate) branch_target: fn(&[u8]) -> Option<BranchTarget>,
    /// Whether a call skips a speculation trap: the code between its return address and its
    /// callee only loops or traps, and the first instruction of the callee replaces the return
    /// address, so that nothing returns there.
    pub(crate) skips_speculation_trap: fn(between: &[u8], callee: &[u8]) -> bool,
    /// The length of the end of a retpoline, which replaces its return address and returns to
    /// it.
    pub(crate) retpoline_jump: fn(&[u8]) -> Option<u64>,
    /// The length of a call that names its callee, and the distance of the callee from the
    /// call's end; for ABIs whose calls leave their return address on the stack.
    pub(crate) direct_call: fn(&[u8]) -> Option<(u64, i64)>,
    /// Whether an instruction uses the return address of the call before it as the PC, rather
    /// than being the first of a function.
    pub(crate) fetches_pc: fn(&[u8]) -> bool,
    pub(crate) stack_pointer: fn(&[u8]) -> StackPointer,
    /// The key with which an instruction signs the link register.
    pub(crate) signs: fn(&[u8]) -> Option<AuthenticationKey>,
    /// Whether a return takes a signed address, which it authenticates.
    pub(crate) returns_signed: fn(&[u8]) -> bool,
    /// Where an instruction takes the new value of a register from, for the
    /// instructions by which compilers compute new values of SP.
    pub(crate) source: fn(&[u8], u8) -> Source,
    pub(crate) unreported: fn(&[u8]) -> Unreported,
    /// Whether only a kernel may execute an instruction which the emulator, as set up by
    /// `prepare`, would nevertheless execute.
    pub(crate) is_privileged: fn(&[u8]) -> bool,
    /// Whether an instruction of a kernel returns from an exception or a system call, or goes elsewhere with another
    /// state of the processor.
    pub(crate) returns_from_exception: fn(&[u8]) -> bool,
    /// The register in which functions of a kernel put the return address aside while they are traced, by Unicorn's
    /// number, if calls leave theirs in the same register.
    pub(crate) kept_for_tracer: Option<i32>,
    /// Whether the emulator takes the instruction for another one.
    pub(crate) is_mistaken: fn(&[u8]) -> bool,
    /// Whether an instruction computes with vectors, and does nothing else to the system.
    pub(crate) is_vector: fn(&[u8]) -> bool,
    /// Puts the CPU into the state that user code expects.
    pub(crate) prepare: fn(&mut Unicorn<'_, ()>) -> Result<(), uc_error>,
    /// The addresses of an instruction's operands in memory, if Unicorn does not say which one
    /// has failed. The registers are the general ones.
    pub(crate) memory_operands: Option<MemoryOperands>,
    pub(crate) set_thread_pointer: fn(&mut Unicorn<'_, ()>, u64) -> Result<(), uc_error>,
    /// Sets the flags, or the condition code, as a comparison of two such numbers does.
    pub(crate) set_order: fn(&mut Unicorn<'_, ()>, Ordering) -> Result<(), uc_error>,
}

/// The longest code between a call and what it leads to that may be a speculation trap, in bytes.
pub(crate) const LONGEST_TRAP: usize = 64;

impl Cpu {
    /// Whether a call skips a speculation trap: the code between the call and its callee is one, and the callee's first
    /// instruction replaces or removes the return address.
    #[must_use]
    pub fn skips_trap(&self, between: &[u8], callee: &[u8]) -> bool {
        between.len() <= LONGEST_TRAP && (self.skips_speculation_trap)(between, callee)
    }

    /// Returns how an instruction can move control. `code` starts with it.
    #[must_use]
    pub fn control(&self, code: &[u8]) -> Control {
        (self.control)(code)
    }

    pub(crate) fn effect(&self, code: &[u8]) -> Effect {
        Effect {
            control: (self.control)(code),
            is_conditional: (self.is_conditional)(code),
            stack_pointer: (self.stack_pointer)(code),
            signs: (self.signs)(code),
            is_privileged: (self.is_privileged)(code),
            is_mistaken: (self.is_mistaken)(code),
            stores_unreported: (self.unreported)(code) != Unreported::Nothing,
        }
    }

    /// The CPU of an ABI.
    #[must_use]
    pub fn of(abi: Abi) -> &'static Self {
        match abi {
            Abi::Amd64 => &AMD64,
            Abi::Aarch64 => &AARCH64,
            Abi::Aarch64Be => &AARCH64_BE,
            Abi::S390x => &S390X,
        }
    }
}
