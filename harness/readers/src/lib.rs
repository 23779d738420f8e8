//! What readers of `.sframe` are put to without the bench's runs: the vectors, moments of runs, and files of both for
//! readers that are tested on their own.
//!
//! The format of vectors, and what is right about them, is in `sframe_vectors`.

pub mod export;
pub mod stacks;
pub mod vectors;
