//! Conformance vectors for readers of SFrame: hand-made sections, and what a
//! reader must answer when it is asked about them.
//!
//! The vectors lie in `corpus/vectors`, one YAML file each, and the manual of
//! their format is the `README.md` there. Their answers come from the text of
//! the specification. This crate knows no reader: it loads the files, encodes
//! the sections, and checks that no vector forgets a question. To test a
//! reader, load the vectors, ask it, and compare.
//!
//! ```
//! use std::path::Path;
//! use sframe_vectors::Suite;
//!
//! let clauses = Path::new("../../specs/clauses.yaml");
//! let suite = Suite::load(Path::new("../../corpus/vectors"), clauses).expect("sound vectors");
//! for vector in &suite.vectors {
//!     let bytes: &[u8] = &vector.bytes;
//!     // Open `bytes`, loaded at `vector.address`, with the reader; then compare
//!     // with `vector.reject`, `vector.header`, `vector.fdes` and so on.
//! #   let _ = bytes;
//! }
//! ```

mod boundary;
mod catalogue;
mod encode;
mod equation;
mod expect;
mod load;
mod names;
mod number;
mod section;
mod step;

pub use boundary::{Question, boundaries};
pub use catalogue::{Catalogue, ReadingEntry};
pub use encode::EncodeError;
pub use equation::{Base, Equation, EquationError, Recovery};
pub use expect::{Answer, Fde, Header, Lookup, Reject, Row, Rules};
pub use load::{Error, Suite, Vector};
pub use names::{Abi, BaseRegister, ByteOrder, FdeType, Flag, FreType, PauthKey, PcType, RejectKind};
pub use number::{Address, Hex};
pub use section::{FdeSource, RawFde, RawHeader, RawRow, RowSource, SectionSource};
pub use step::{Caller, End, Frame, PcKind, Step, Tracked};
