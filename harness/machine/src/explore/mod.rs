//! Functions executed one by one from their entries, without running the program they belong to.
//!
//! A caller is made up: its CFA, its frame pointer and the return address are known. From there
//! the function is executed both ways at each branch; states that are alike are followed once.
//! Calls are stepped over as the ABI says, and memory that is not mapped appears. The
//! [`Observer`] is shown every instruction of every path, with registers, memory, the call stack
//! of one call, and what the path [assumes](Assumption).
//!
//! Whatever the function is given as arguments and finds in memory is invented, in two
//! versions: see [`Seed`]. So a path may be one that no program takes; which paths those are, only
//! their assumptions tell.

mod arena;
mod assumption;
mod callees;
mod code;
mod emulation;
mod fork;
mod journal;
mod leaving;
mod merging;
mod paths;
mod point;
mod returns;
mod special;
mod tables;

use std::ops::Range;

use rustc_hash::{FxHashMap, FxHashSet};
use sframe_elf::kernel::Why;
use sframe_engine::DwarfRegister;

pub use arena::Seed;
pub use assumption::{Assumption, Callee, Returns};
pub use emulation::explore;
pub use journal::LastStore;
pub use point::{Class, Content, Point};

use crate::image::Image;

/// A binary whose functions are explored, and what its symbols and tables say of its code.
#[derive(Debug)]
pub struct Binary<'a> {
    /// Its segments.
    pub image: &'a Image<'a>,
    /// Words that a dynamic linker would store: address and value.
    pub words: Vec<(u64, u64)>,
    /// First instructions of functions: a jump to one leaves the function.
    pub entries: FxHashSet<u64>,
    /// Those that are called.
    pub called: FxHashSet<u64>,
    /// Code whose indirect jumps are followed: PLTs.
    pub trampolines: Vec<Range<u64>>,
    /// Entries of PLTs that lead to functions of this binary, with those.
    pub aliases: FxHashMap<u64, u64>,
    /// Code that stands for functions of other files, which are unknown.
    pub stubs: Range<u64>,
    /// Whether callees return, by the addresses of their first instructions, and those of words that
    /// hold their addresses, if more is known than their code says.
    pub returns: FxHashMap<u64, Returns>,
    /// The code of functions, sorted. A table whose length is unknown leads to no other one.
    pub bodies: Vec<Range<u64>>,
    /// Where exceptions continue that leave a call: ranges of calls, by address, each with the
    /// address of its landing pad.
    pub landing_pads: Vec<(Range<u64>, u64)>,
    /// The sizes of the arguments that are on the stack there, in bytes: landing pads find them popped.
    /// Ranges of code, sorted.
    pub pushed_arguments: Vec<(Range<u64>, u64)>,
    /// Whether it is code of a kernel, which may execute everything.
    pub is_kernel: bool,
    /// Where control also goes from instructions, by their addresses: what a kernel patches, and where faults continue.
    pub detours: FxHashMap<u64, Vec<(u64, Why)>>,
    /// The calls of a kernel's tracer, which changes no register except those that are for it.
    pub traced: FxHashSet<u64>,
}

/// A function to explore.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Function {
    /// Its first instruction.
    pub entry: u64,
    /// What it is given.
    pub seed: Seed,
    /// It is given up after this number of instructions.
    pub budget: u64,
    /// Whether the system starts the program there.
    pub is_entry_point: bool,
    /// The register that its callers leave the return address in, if it is not the ABI's.
    pub link: Option<DwarfRegister>,
    /// Whether its caller did not call: a signal interrupted it.
    pub is_signal: bool,
}

/// What exploring a function has shown, apart from what the observer saw.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Explored {
    /// Instructions executed.
    pub instructions: u64,
    /// Paths followed.
    pub paths: u64,
    /// Whether a path was given up for want of budget or memory, or because there were too many
    /// states.
    pub is_cut: bool,
    /// Whether the stack pointer left the stack on some path.
    pub lost_stack: bool,
    /// Indirect jumps whose targets are unknown.
    pub unresolved_jumps: u32,
    /// Whether a path has ended with a return from an exception, or from a system call.
    pub returns_from_exception: bool,
    /// The first instruction that was neither executed nor stepped over, as it may change SP, or is not known; perhaps
    /// there is no code.
    pub unknown: Option<u64>,
}

/// Where control goes when a function is left.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Departure {
    /// To the caller, or where a return leads.
    Return,
    /// To another function, which returns to the caller, and which the instruction names.
    DirectJump,
    /// To another function, which the path has computed or run into.
    Otherwise,
}

/// How a function is left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Leaving {
    /// Where control goes.
    pub departure: Departure,
    /// Whether registers and stack are as callees leave them.
    pub is_regular: bool,
    /// The bytes of arguments that a return to the caller removes from the stack; `None` if it is not such a
    /// return, or SP is elsewhere.
    pub removed: Option<u64>,
}

/// Decides what is explored, and observes it.
pub trait Observer {
    /// Returns the next function, or `None` at the end.
    fn next(&mut self) -> Option<Function>;

    /// Called before each instruction of each path. The class that it returns distinguishes states
    /// that are otherwise alike; at the next instruction of the path it is [`Point::class`].
    fn instruction(&mut self, point: &Point<'_>) -> Class;

    /// Called before an instruction that leaves the function, after [`Self::instruction`].
    fn leaves(&mut self, point: &Point<'_>, leaving: Leaving);

    /// Called when a call within the function returns, which has led to an address that is no function's
    /// first instruction.
    fn returns_from_label(&mut self, label: u64) {
        let _ = label;
    }

    /// Called when all paths of a function have been followed.
    fn explored(&mut self, function: &Function, result: &Explored);
}
