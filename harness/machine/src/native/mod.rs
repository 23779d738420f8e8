//! Programs on the host's own processor, one instruction after the other, by `ptrace`.
//!
//! It executes what the emulator can't, and it is no sandbox: a program does what it does to the host. Addresses are not
//! randomised, so that two runs mostly execute the same instructions; [`Outcome::digest`](crate::Outcome::digest) says
//! whether they did.
//!
//! One thread executes at a time, on one processor core. What is stored is known where an instruction's code says it, as of
//! most: after any other one, and after a system call, anything may have been. Processes that the program makes run free, and
//! nothing is seen of them.

mod abi;
mod error;
mod maps;
mod memory;
mod output;
mod process;
mod ptrace;
mod registers;
mod run;
mod signals;
mod stores;
mod survey;
mod threads;

pub use abi::{HostProcessor, host_processor};
pub use error::NativeError;
pub(crate) use run::run;
pub use survey::{Surveyed, survey};
