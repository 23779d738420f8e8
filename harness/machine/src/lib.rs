//! Runs ELF executables of four ABIs under Unicorn and records their true call
//! stacks.
//!
//! From file to call stack:
//!
//! 1. [`Image::parse`] reads the program headers and refuses what no loader
//!    should map.
//! 2. [`Machine::new`] maps the image, a stack and thread storage, and puts
//!    the CPU where Linux would have it at the first instruction.
//! 3. [`Machine::run`] executes the program and calls an [`Observer`] before
//!    each instruction, with registers, memory and the [`CallStack`].
//!
//! [`run()`] does the same on the host's own processor, if [`Options::native`] says so: see [`native`].
//!
//! A dynamic executable has several images: [`Images::load`] reads them,
//! assigns their addresses and does the work of a dynamic linker.
//!
//! The call stack comes from executed calls and returns alone. This crate reads
//! neither debug information nor unwind tables, and symbols only to link: the
//! call stack is there to judge what they say.

mod address_space;
mod answers;
mod block;
mod call_stack;
mod control_flow;
mod cpu;
mod effect_cache;
pub mod explore;
mod follow;
mod image;
mod images;
mod link;
mod linux;
mod machine;
pub mod native;
mod observer;
mod options;
mod outcome;
mod pc_map;
mod places;
mod prelude;
mod process;
mod run;
mod straight;
mod witness;

pub use address_space::{AddressSpace, MapError, Memory, Permissions, overlap};
pub use answers::{Answer, Answered, Answers, Event, Question};
pub use call_stack::{Bottom, CallStack, Exit, Record, Signature};
pub use control_flow::ControlFlow;
pub use cpu::{AARCH64, AARCH64_BE, AMD64, AuthenticationKey, Control, Cpu, S390X, of_prstatus};
pub use image::dynamic::Dynamic;
pub use image::{Image, LoadError, Segment};
pub use images::{Images, Library, Loaded, Mapped};
pub use link::own_words;
pub use linux::{System, Usage};
pub use machine::{Machine, MachineError, Survey, run};
pub use observer::{Change, Flow, Moment, Observer, Table};
pub use options::{Native, Options};
pub use outcome::{Broken, End, Outcome};
pub use pc_map::PcMap;
pub use process::Pattern;
#[doc(hidden)]
pub use run::{Hook, RESERVED_ADDRESSES};
pub use straight::Straight;
#[doc(hidden)]
pub use witness::WitnessFaults;
