//! Moments of programs as data: what a walk of the stack needs, and what it has to find, so that
//! an unwinder can be tested where nothing is emulated.

mod coverage;
mod data;
mod record;
mod walk;

pub use coverage::Covered;
pub use data::{
    Bottom, End, Frame, Image, Memory, Moment, Program, SCHEMA, SectionData, Stacks, StacksError,
};
pub use record::{Candidate, Recorder};
