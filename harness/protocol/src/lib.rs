//! The protocol between the test bench and an unwinder in a separate process.
//! `README.md` describes it for authors in any language; in Rust, implement
//! [`Unwinder`] and call [`serve`].
//!
//! ```no_run
//! use sframe_protocol::{Backtrace, End, EndKind, Frame, Hello, Memory, Open, Stop, Unwinder, serve};
//!
//! /// Knows the topmost frame, and nothing else.
//! struct Nothing;
//!
//! impl Unwinder for Nothing {
//!     fn hello(&self) -> Hello {
//!         Hello::new("nothing", "1.0", "sframe")
//!     }
//!
//!     fn open(&mut self, _: &Open) -> Result<(), String> {
//!         Ok(())
//!     }
//!
//!     fn unwind(&mut self, stop: &Stop, _: &mut Memory<'_>) -> Backtrace {
//!         let topmost = Frame { pc: stop.pc, ..Frame::default() };
//!         Backtrace::new(vec![topmost], End::of(EndKind::NoFde))
//!     }
//! }
//!
//! fn main() -> std::io::Result<()> {
//!     serve(Nothing)
//! }
//! ```

mod message;
mod serve;

pub use message::{
    Answer, Backtrace, End, EndKind, Fp, Frame, Hello, Image, MAX_FRAMES, MAX_LINE, MAX_READ, Mangled, Open,
    Range, Read, Reply, Request, RequestHello, Stack, Stop, Unmapped, VERSION,
};
pub use serve::{Memory, Unwinder, serve};
pub use sframe_vectors::{
    Address, Hex, Question, SectionAnswer, SectionPart, SectionQuestion, StepAnswer, StepQuestion,
};
