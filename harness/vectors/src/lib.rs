//! Conformance vectors for readers of SFrame: hand-made sections, and what a
//! reader must answer when it is asked about them.
//!
//! The vectors are in `corpus/vectors`, one YAML file each; the `README.md`
//! there is the manual of their format. Their answers come from the text of the
//! specification. This crate loads the files, encodes the sections, checks that
//! no vector forgets a question, and compares answers. It knows no reader
//! but the project's own ([`engine`]).
//!
//! ```
//! use std::path::Path;
//! use sframe_vectors::Suite;
//!
//! let clauses = Path::new("../../specs/clauses.yaml");
//! let suite = Suite::load(Path::new("../../corpus/vectors"), clauses).expect("sound vectors");
//! for vector in &suite.vectors {
//!     let question = vector.question();
//!     // Open `question.bytes`, loaded at `question.address`, with the reader,
//!     // and compare its `SectionAnswer` by `compare`.
//! #   let _ = question;
//! }
//! ```

mod accept;
mod alternative;
mod answer;
mod boundary;
mod catalogue;
mod change;
mod compare;
mod encode;
pub mod engine;
mod equation;
mod expect;
mod load;
pub mod model;
mod names;
mod number;
mod profile;
mod query;
mod question;
mod read;
mod recipe;
mod schema;
mod section;
mod step;
pub mod suggest;
mod vector;
pub mod words;
mod yaml;

pub use accept::{Accepted, Asked, Class, Pattern};
pub use alternative::{Alternative, reading_of};
pub use answer::{SectionAnswer, SectionPart, StepAnswer};
pub use boundary::boundaries;
pub use catalogue::{AlternativeEntry, Catalogue, MistakeEntry, Mistakes, ReadingEntry, Readings};
pub use change::{Change, without_numbers};
pub use compare::{
    Compared, Comparison, Difference, compare, is_answered, is_failure, is_refused, is_same_answer,
};
pub use encode::EncodeError;
pub use equation::{Base, Equation, EquationError, Recovery};
pub use expect::{Answer, Fde, Header, Lookup, Question, Reject, Row, Rules};
pub use load::{Suite, documents};
pub use names::{BaseRegister, FdeType, Flag, FreType, PauthKey, PcType, RejectKind};
pub use number::{Address, Hex};
pub use profile::{Profile, Profiles, Starts, Version};
pub use query::{AnswerPart, Query};
pub use question::{SectionQuestion, StepQuestion};
pub use read::Unreadable;
pub use section::{FdeSource, RawFde, RawHeader, RawRow, RowSource, SectionSource};
pub use sframe_engine::{Abi, ByteOrder};
pub use step::{Caller, End, Frame, PcKind, Step, Tracked};
pub use vector::Vector;
pub use yaml::Error;
