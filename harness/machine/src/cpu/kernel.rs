//! The part of Linux that programs see: system calls and signal frames.

/// `si_code`: sent by the kernel.
pub(crate) const SI_KERNEL: i32 = 0x80;

/// How programs make system calls, and what exceptions they see.
#[derive(Debug)]
pub(crate) struct SystemCalls {
    pub(crate) number: i32,
    pub(crate) arguments: [i32; 6],
    pub(crate) result: i32,
    /// The length of the instruction, in bytes.
    pub(crate) len: u64,
    /// Whether the number may be in the instruction.
    pub(crate) is_in_instruction: bool,
    /// Registers that it changes besides the result.
    pub(crate) clobbered: &'static [i32],
    /// `AT_HWCAP`: what the CPU has, as far as programs should use it.
    pub(crate) hardware: u64,
    /// The length of a scalable vector, in bytes, if it has them.
    pub(crate) vector_len: Option<u64>,
    /// Unicorn's numbers of exceptions, with the signal and its code that Linux sends. For all
    /// others it is `SIGILL`.
    pub(crate) exceptions: &'static [(u32, u64, i32)],
    /// Those after which the program continues after the instruction.
    pub(crate) traps: &'static [u32],
    /// The instruction by which debuggers stop a program, if it has no exception of its own: Linux
    /// sends `SIGTRAP`.
    pub(crate) breakpoint: Option<&'static [u8]>,
    /// What a handler of signals returns to that brings nothing of its own: it calls
    /// `rt_sigreturn`.
    pub(crate) restorer: &'static [u8],
    /// Whether `mmap` takes a pointer to its arguments, in its old form.
    pub(crate) mmap_takes_pointer: bool,
    /// Whether `struct statfs` has 4 bytes for the type, the block and others, and not 8.
    pub(crate) has_short_statfs: bool,
}

/// The layout of a signal frame, in bytes from its start.
#[derive(Debug)]
pub(crate) struct SignalFrame {
    /// Length of the frame.
    pub(crate) len: u64,
    /// Bytes below SP that belong to the interrupted function.
    pub(crate) red_zone: u64,
    /// Room between frame and stack for what is outside the frame.
    pub(crate) above: u64,
    /// The frame's address is a multiple of this,
    pub(crate) alignment: u64,
    /// plus this number of bytes.
    pub(crate) misalignment: u64,
    /// `siginfo_t`.
    pub(crate) info: u64,
    /// `ucontext_t`; `uc_stack` is 16 bytes further.
    pub(crate) context: u64,
    /// `uc_sigmask`.
    pub(crate) mask: u64,
    /// Where a fault's address is, beside `siginfo_t`.
    pub(crate) fault: Option<u64>,
    /// The registers that it holds.
    pub(crate) registers: &'static [(u64, i32)],
    /// Where the restorer's SP points to.
    pub(crate) restorer_sp: u64,
    /// What unwinders without tables find in the frame.
    pub(crate) chain: Chain,
}

/// How a signal frame is linked to the frames below it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Chain {
    /// Not at all. The return address of the handler is at its start.
    ReturnAddress,
    /// By a frame record above it, to which FP points.
    FrameRecord,
    /// By the interrupted SP, at its start.
    Backchain,
}
