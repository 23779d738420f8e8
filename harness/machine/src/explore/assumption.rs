//! What has to be true for a path to be one that a program takes.

use sframe_elf::kernel::Why;

/// A callee of a call that is stepped over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Callee {
    /// The function with this first instruction.
    Function(u64),
    /// The function whose address is in this word.
    Slot(u64),
    /// A function whose address was computed.
    Unknown,
}

/// Whether a callee returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Returns {
    /// Some path from its first instruction leads to a return.
    Sometimes,
    /// None does, or it is one of those that are known not to return.
    Never,
    /// It is elsewhere, or not all of its code is known.
    Unknown,
}

/// Something that a path assumes, by the address of the instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Assumption {
    /// A branch can go this way, although it went the other way.
    Forced {
        /// The branch.
        at: u64,
        /// Where the path continues.
        to: u64,
    },
    /// A callee keeps the ABI: it returns with the registers and the stack that callees preserve.
    Call {
        /// The call.
        at: u64,
        /// The callee.
        callee: Callee,
        /// Whether it returns.
        returns: Returns,
        /// How many bytes of arguments it removes from the stack when it does. `None` if its code does not show it:
        /// then it removes none, as the ABI says.
        removes: Option<u64>,
        /// Whether its code shows that it may go on elsewhere than right after the call, as what takes data after the
        /// call does.
        passes: bool,
    },
    /// A jump through a table can go here.
    Table {
        /// The jump.
        at: u64,
        /// Where the path continues.
        to: u64,
        /// Whether the number of the table's elements is known.
        is_bounded: bool,
    },
    /// An exception leaves a call and continues at its landing pad.
    LandingPad {
        /// The call.
        at: u64,
        /// Where the path continues.
        to: u64,
    },
    /// An instruction that can't be executed changes nothing but the registers that it names as its
    /// results.
    Skipped {
        /// The instruction.
        at: u64,
        /// Whether it is privileged, or has no result in a register that exploring follows: what it does is unknown, and
        /// it may never go on.
        is_system: bool,
        /// Whether it may store something.
        may_store: bool,
    },
    /// A kernel's tables say that control goes from an instruction elsewhere.
    Detour {
        /// The instruction.
        at: u64,
        /// Where the path continues.
        to: u64,
        /// Why.
        why: Why,
    },
    /// A kernel's tracer returns with all registers that functions use.
    Traced {
        /// The call.
        at: u64,
    },
    /// A system call returns.
    SystemCall {
        /// The instruction.
        at: u64,
    },
    /// A string instruction was repeated fewer times than it would have been.
    Shortened {
        /// The instruction.
        at: u64,
    },
    /// A call to a place within the function that is no function's first instruction.
    Internal {
        /// The call.
        at: u64,
    },
    /// The function goes on in what its unwind information has as another one.
    RunsInto {
        /// Where.
        to: u64,
    },
    /// The jump leads to another function's first instruction while this one has a frame.
    JumpWithFrame {
        /// The jump's target.
        to: u64,
    },
}

impl Assumption {
    /// Whether it is about a callee whose code does not show what it does to SP.
    #[must_use]
    pub const fn is_unknown_to_sp(&self) -> bool {
        matches!(self, Self::Call { removes: None, .. })
    }
}
