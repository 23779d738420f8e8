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
    /// The name of a call, if there is one with this number.
    pub(crate) name: fn(usize) -> Option<&'static str>,
    /// The processor, as `uname` names it.
    pub(crate) machine: &'static str,
    /// `O_DIRECTORY` and `O_NOFOLLOW`.
    pub(crate) folder_flags: [u64; 2],
    /// The arguments of `clone`, in their order.
    pub(crate) clone: [CloneArgument; 5],
    /// Where the data is in `struct epoll_event`, and the length of the structure, in bytes.
    pub(crate) epoll_event: (u64, usize),
    /// `struct stat`.
    pub(crate) stat: &'static [Stat],
    /// Whether `struct statfs` has 4 bytes for the type, the block and others, and not 8.
    pub(crate) has_short_statfs: bool,
}

impl SystemCalls {
    /// Returns the name of a call, if there is one with this number.
    pub(crate) fn name(&self, number: u64) -> Option<&'static str> {
        (self.name)(usize::try_from(number).ok()?)
    }
}

/// An argument of `clone`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CloneArgument {
    Flags,
    Stack,
    ParentWord,
    ChildWord,
    ThreadPointer,
}

/// A field of `struct stat`. What is not of 4 bytes has 8.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stat {
    Inode,
    /// The mode, of 4 bytes.
    Mode,
    /// The owner, or the group, of 4 bytes.
    User,
    Len,
    Blocks,
    /// Three times, of 16 bytes each.
    Times,
    /// A constant.
    Word(u64),
    /// A constant of 4 bytes.
    Half(u32),
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

#[cfg(test)]
mod tests {
    use sframe_engine::Abi;

    use crate::cpu::Cpu;

    #[test]
    fn the_same_call_has_its_own_number_in_each_abi() {
        let name = |abi, number| Cpu::of(abi).system_calls.name(number);
        for (abi, number) in [(Abi::Amd64, 1), (Abi::Aarch64, 64), (Abi::Aarch64Be, 64), (Abi::S390x, 4)] {
            assert_eq!(name(abi, number), Some("write"), "{abi}");
            assert_eq!(name(abi, 4000), None);
            assert_eq!(name(abi, u64::MAX), None);
        }
        assert_eq!(name(Abi::Amd64, 158), Some("arch_prctl"));
    }
}
