//! The instructions of a program: where they are, what they do to the
//! registers that unwinding is about, and how an assembler writes them.
//!
//! What an instruction does is read from the decoder's operands, groups and
//! instruction numbers, or from the encoding, and never from printed text. Each
//! architecture has one file.

mod aarch64;
mod amd64;
mod disassembly;
mod instruction;
mod s390x;

pub use disassembly::{Disassembly, starts};
pub use instruction::{Destination, Flow, Instruction, Operation, Place, Registers, Value};
