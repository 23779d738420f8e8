//! The outcomes of runs.

use std::fmt;

use sframe_kit::text::{counted, grouped};

use crate::control_flow::ControlFlow;
use crate::linux::Usage;

/// Why a run is unusable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Broken {
    /// The instruction budget is spent.
    Budget(u64),
    /// More calls have not returned than in any real program: it calls without end.
    Depth(usize),
    /// Access to memory that is not mapped, or not for this use.
    Fault {
        /// Read, write or fetch.
        access: &'static str,
        /// The memory's address.
        address: u64,
        /// The instruction.
        pc: u64,
    },
    /// The stack is too small: between an address that an instruction can't access and the stack, there is nothing.
    Stack {
        /// The address.
        address: u64,
        /// The instruction.
        pc: u64,
        /// The size of the stack, in bytes.
        size: u64,
    },
    /// A CPU exception other than a system call: a trap, or an instruction
    /// that the emulated CPU does not have.
    Exception {
        /// Unicorn's number, if it gave one.
        number: Option<u32>,
        /// The instruction.
        pc: u64,
        /// The bytes there.
        code: Vec<u8>,
    },
    /// An instruction that only a kernel may execute.
    Privileged {
        /// The instruction.
        pc: u64,
        /// The bytes there.
        code: Vec<u8>,
    },
    /// A system call that the machine does not implement.
    SystemCall {
        /// Its number in the program's ABI.
        number: u64,
        /// Its name.
        name: &'static str,
        /// The instruction.
        pc: u64,
    },
    /// Every task waits for what can't happen.
    Deadlock {
        /// The last instruction of the last one.
        pc: u64,
    },
    /// A signal that can't be delivered.
    Signal {
        /// Its number.
        number: u64,
        /// The instruction before which it was to be delivered.
        pc: u64,
        /// Why it can't be delivered.
        why: &'static str,
    },
    /// The CPU stopped by itself.
    Halted {
        /// The instruction.
        pc: u64,
    },
    /// The program can't be linked: a PLT does not identify the call to
    /// bind, or what it names can't be read or written.
    Linking(String),
    /// The program has executed another one in its place, which is not followed on the host's processor.
    Executed {
        /// The system call.
        pc: u64,
    },
    /// The emulator failed.
    Unicorn(String),
    /// The harness failed within a hook.
    Harness(String),
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Budget(budget) => {
                write!(f, "the budget of {} is spent", counted(*budget, "instruction"))
            }
            Self::Depth(limit) => {
                write!(f, "more than {limit} calls have not returned: the program calls without end")
            }
            Self::Fault { access, address, pc } => {
                write!(f, "the instruction at {pc:#x} can't {access} {address:#x}")
            }
            Self::Stack { address, pc, size } => write!(
                f,
                "the instruction at {pc:#x} accesses {address:#x}, below the stack of {} bytes (--stack-size)",
                grouped(*size)
            ),
            Self::Privileged { pc, code } => {
                write!(f, "the instruction at {pc:#x} ({}) is one that only a kernel may execute", hex(code))
            }
            Self::Exception { number, pc, code } => {
                write!(f, "the instruction at {pc:#x} ({}) traps", hex(code))?;
                match number {
                    Some(number) => write!(f, ", or is not emulated (exception {number})"),
                    None => Ok(()),
                }
            }
            Self::SystemCall { number, name, pc } => {
                write!(f, "the machine does not implement the system call {name} ({number}), made at {pc:#x}")
            }
            Self::Deadlock { pc } => {
                write!(f, "all threads wait, and nothing wakes them; the last call was made at {pc:#x}")
            }
            Self::Signal { number, pc, why } => {
                write!(f, "signal {number} can't be delivered at {pc:#x}: {why}")
            }
            Self::Halted { pc } => write!(f, "the CPU halted at {pc:#x}"),
            Self::Linking(error) => write!(f, "the program can't be linked: {error}"),
            Self::Executed { pc } => write!(
                f,
                "the program has executed another one at {pc:#x}, which is not followed on the host's own processor"
            ),
            Self::Unicorn(error) => write!(f, "Unicorn: {error}"),
            Self::Harness(error) => write!(f, "the harness failed: {error}"),
        }
    }
}

fn hex(code: &[u8]) -> String {
    code.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// How a run ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    /// By `exit` or `exit_group`, with this status.
    Exit(u8),
    /// By a signal that it does not handle and that it, or one of its processes, has sent.
    Killed(u8),
    /// By a jump to itself at this address.
    SelfJump(u64),
    /// The observer asked for it.
    Stopped,
    /// In any other way. What was observed so far is valid, but the program has not shown what
    /// it was run for.
    Broken(Broken),
}

/// The result of a run.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// How it ended.
    pub end: End,
    /// Instructions that started.
    pub instructions: u64,
    /// The control transfers.
    pub control_flow: ControlFlow,
    /// Those of them that were not observed: of other programs that it has executed, and of
    /// copies of it.
    pub unobserved: u64,
    /// Those of them that the observer has let pass.
    pub passed: u64,
    /// Those of them that were followed after their block had executed.
    pub by_block: u64,
    /// The block of instructions within which something has happened that can't be seen after it has executed: see
    /// [`Options::stepped`](crate::Options::stepped). Then all that was seen counts for nothing.
    pub lost: Option<u64>,
    /// What the program wrote to its standard output and error.
    pub output: Vec<u8>,
    /// What it wrote to its standard output.
    pub standard_output: Vec<u8>,
    /// Whether it wrote more than is kept.
    pub is_output_cut: bool,
    /// The system calls that it has made.
    pub system_calls: Usage,
    /// A number that follows from the addresses of all instructions that were observed: for runs on the host's own
    /// processor, which may differ.
    pub digest: Option<u64>,
}
