//! The instructions of a program: where they are, how they affect the registers
//! used for unwinding, and their assembly text.
//!
//! What an instruction does is derived from the decoder's operands, groups and
//! instruction numbers, or from the encoding, but never from printed text. Each
//! architecture has one file, and one in its folder for what is computed and compared.

mod aarch64;
mod amd64;
mod disassembly;
mod frame_layout;
mod instruction;
mod known_lengths;
mod operation;
mod registers;
mod removal;
mod s390x;
mod stored;
#[cfg(test)]
mod tests;

pub use disassembly::{Disassembly, starts};
pub use frame_layout::{FrameLayout, FrameValues, SavedLocation};
pub use instruction::{Destination, Flow, Instruction};
pub use operation::{Comparand, Condition, Extension, Operation, Place, Relation, Value, Width};
pub use registers::Registers;
pub use removal::{Code, MOST_REMOVED, Removals};
pub use stored::Stored;
