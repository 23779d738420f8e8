//! How often a run has moved control in which way.

/// Numbers of events, as the witness has seen them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ControlFlow {
    /// Calls.
    pub calls: u64,
    /// Returns to where the caller goes on.
    pub returns: u64,
    /// Return instructions that led elsewhere.
    pub computed_returns: u64,
    /// Calls to the next instruction, by which code finds its own address.
    pub pc_fetches: u64,
    /// Calls that skip a speculation trap, in retpolines and return thunks.
    pub speculation_traps: u64,
    /// Returns with another SP than at the call: of prologues and epilogues
    /// that are functions of their own.
    pub outlined_frames: u64,
    /// Frames that ended without returning.
    pub frames_given_up: u64,
    /// Branches into a frame that gave up those above it.
    pub nonlocal_exits: u64,
    /// Frames that went on with SP on another stack.
    pub stack_moves: u64,
    /// Contexts that began on a stack of their own.
    pub contexts_begun: u64,
    /// Switches to a context that had been left before.
    pub contexts_resumed: u64,
    /// Signals delivered.
    pub signals: u64,
    /// Those of them whose handler ran on an alternate stack.
    pub alternate_stacks: u64,
    /// Returns from a handler to the interrupted instruction.
    pub signal_returns: u64,
    /// Calls bound when they were first made.
    pub lazy_bindings: u64,
    /// Return addresses signed with key A.
    pub signed_with_key_a: u64,
    /// Return addresses signed with key B.
    pub signed_with_key_b: u64,
}
