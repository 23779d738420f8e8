//! The ways in which control moves.

use super::named::named;

named! {
    /// A way in which control moves, as reports count it and specs demand it.
    pub enum Feature, "control-flow feature" {
        /// Calls.
        Calls = "calls",
        /// Returns to where the caller goes on.
        Returns = "returns",
        /// Jumps to another function that leave the call stack as it is.
        TailCalls = "tail-calls",
        /// Return instructions that lead elsewhere than to the caller.
        ComputedReturns = "computed-returns",
        /// Calls to the next instruction, by which code finds its own address.
        PcFetches = "pc-fetches",
        /// Calls that skip a speculation trap, as retpolines make them.
        SpeculationTraps = "speculation-traps",
        /// Returns with another SP than at the call, where calls leave SP alone:
        /// of prologues and epilogues that are functions of their own.
        OutlinedFrames = "outlined-frames",
        /// Frames that end without returning.
        DiscardedFrames = "frames-given-up",
        /// Jumps into a frame that give up those above it.
        NonlocalExits = "nonlocal-exits",
        /// Frames that go on with SP on another stack.
        StackMoves = "stack-moves",
        /// Contexts that begin on a stack of their own.
        ContextsBegun = "contexts-begun",
        /// Switches to a context that had been left before.
        ContextsResumed = "contexts-resumed",
        /// Signals delivered.
        Signals = "signals",
        /// Signals delivered whose handler runs on an alternate stack.
        AlternateStacks = "alternate-stacks",
        /// Returns from a handler to the interrupted instruction.
        SignalReturns = "signal-returns",
        /// Calls bound when they are first made, through the first entry of a
        /// PLT.
        LazyBindings = "lazy-bindings",
        /// Branches and returns from one image to another.
        ImageCrossings = "image-crossings",
        /// Return addresses signed with key A.
        SignedWithKeyA = "signed-with-key-a",
        /// Return addresses signed with key B.
        SignedWithKeyB = "signed-with-key-b",
    }
}
