//! Looks for what no spec expects.
//!
//! [`generate`] draws programs and sections, and finds what a toolchain or a reader does
//! wrong with them; [`mutate`] changes rows of the corpus, and finds what the suite does
//! not notice.

pub mod generate;
pub mod mutate;
