//! Reads SFrame stack trace sections and walks call stacks with them.
//!
//! SFrame (`.sframe`) is the ELF section that describes, for every program
//! counter of a program, how to find the canonical frame address (CFA), the
//! return address (RA) and the caller's frame pointer (FP). This crate reads
//! versions 1, 2 (with both errata) and 3 of the format for AMD64, AArch64 of
//! either byte order, and s390x.
//!
//! The crate borrows the bytes that it reads, never allocates, and has no
//! dependencies and no unsafe code. Malformed input causes a typed [`Error`]
//! with the offset of the fault and the clause of the specification that it
//! breaks.
//!
//! Getting from bytes to the caller's frame takes three stages, each with its
//! own type:
//!
//! 1. [`Section::parse`] checks the [`Header`] and the extent of the two
//!    sub-sections.
//! 2. [`Section::lookup`] finds the function ([`Fde`]) and the [`Row`] for a
//!    PC. A row is data: its [`RecoveryRule`]s print as equations.
//! 3. [`Found::apply`] evaluates the rules with registers and memory;
//!    [`Section::step`] does look-up and evaluation in one call.
//!
//! A [`Cache`] remembers the look-ups of PCs that come back. With the feature `alloc`, an `Index`
//! makes many look-ups faster. Both find what the section finds, errors included.
//!
//! An [`InstructionPointer`] and a [`ReturnAddress`] are different types, so a
//! look-up can't forget that a return address belongs to the call before it.
//!
//! ```
//! use sframe_engine::{InstructionPointer, Section};
//!
//! // A version 2 section for AMD64 with one function of 4 bytes at 0x1000,
//! // whose CFA is SP + 8. The section itself is at 0x2000.
//! let bytes = [
//!     0xe2, 0xde, 2, 1, 3, 0, 0xf8, 0, // preamble, ABI, fixed FP 0, fixed RA -8
//!     1, 0, 0, 0, 1, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0, 20, 0, 0, 0, // counts, offsets
//!     0x00, 0xf0, 0xff, 0xff, 4, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, // FDE
//!     0, 0x03, 8, // FRE at +0: one 1-byte offset, SP based
//! ];
//! let section = Section::parse(&bytes, 0x2000)?;
//! let found = section.lookup(InstructionPointer(0x1002))?.expect("inside the function");
//! assert_eq!(found.fde.start, 0x1000);
//! assert_eq!(found.row.to_string(), "CFA = SP+8, RA = *(CFA-8), FP unchanged");
//! # Ok::<(), sframe_engine::Error>(())
//! ```

#![no_std]
#![forbid(unsafe_code)]

#[cfg(feature = "alloc")]
extern crate alloc;

mod abi;
mod address;
pub mod constants;
mod error;
pub mod lint;
mod read;
mod rule;
mod step;
mod version;
#[cfg(feature = "alloc")]
pub mod write;

pub use abi::{Abi, ByteOrder, CfaOffsetScaling, DwarfRegister, UnknownAbi};
pub use address::{InstructionPointer, LookupAddress, Pc, ReturnAddress};
pub use error::{Clause, Error, ErrorKind};
#[cfg(feature = "alloc")]
pub use read::Index;
pub use read::{
    Cache, DataWordSize, Fde, FdeType, Fdes, FindRow, Flags, Found, Fre, FreType, Fres, Header, PauthKey,
    PcType, Rows, Section,
};
pub use rule::{Base, ParseRuleError, Recovery, RecoveryRule, Row, RowRules};
pub use step::{Caller, Frame, Mangled, Memory, PauthMask, Registers, Step, StepError, Tracked};
pub use version::Version;

/// Runs the examples of the front page as tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
pub struct FrontPage;
