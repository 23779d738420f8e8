//! Counts of the control transfers of a run.

/// Numbers of events that the witness has seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ControlFlow {
    /// Calls.
    pub calls: u64,
    /// Returns to the place where the caller continues.
    pub returns: u64,
    /// Return instructions that led elsewhere.
    pub computed_returns: u64,
    /// Calls to the next instruction, by which code finds its own address.
    pub pc_fetches: u64,
    /// Calls that skip a speculation trap, in retpolines and return thunks.
    pub speculation_traps: u64,
    /// Returns with a different SP from that at the call, by outlined prologues and epilogues.
    pub outlined_frames: u64,
    /// Frames that ended without returning.
    pub discarded_frames: u64,
    /// Branches into a frame that discarded those above it.
    pub nonlocal_exits: u64,
    /// Frames that continued with SP on another stack.
    pub stack_moves: u64,
    /// Contexts that began on their own stack.
    pub contexts_begun: u64,
    /// Switches to a context that had been left before.
    pub contexts_resumed: u64,
    /// Signals delivered.
    pub signals: u64,
    /// Signals whose handler ran on an alternate stack.
    pub alternate_stacks: u64,
    /// Returns from a handler to the interrupted instruction.
    pub signal_returns: u64,
    /// Lazily bound calls.
    pub lazy_bindings: u64,
    /// Return addresses signed with key A.
    pub signed_with_key_a: u64,
    /// Return addresses signed with key B.
    pub signed_with_key_b: u64,
}

impl ControlFlow {
    /// Adds the events of another task.
    pub(crate) const fn add(&mut self, other: &Self) {
        self.calls += other.calls;
        self.returns += other.returns;
        self.computed_returns += other.computed_returns;
        self.pc_fetches += other.pc_fetches;
        self.speculation_traps += other.speculation_traps;
        self.outlined_frames += other.outlined_frames;
        self.discarded_frames += other.discarded_frames;
        self.nonlocal_exits += other.nonlocal_exits;
        self.stack_moves += other.stack_moves;
        self.contexts_begun += other.contexts_begun;
        self.contexts_resumed += other.contexts_resumed;
        self.signals += other.signals;
        self.alternate_stacks += other.alternate_stacks;
        self.signal_returns += other.signal_returns;
        self.lazy_bindings += other.lazy_bindings;
        self.signed_with_key_a += other.signed_with_key_a;
        self.signed_with_key_b += other.signed_with_key_b;
    }
}
