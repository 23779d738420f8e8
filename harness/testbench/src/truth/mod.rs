//! What really happened, beside the call stack: who stored the words of frames,
//! which other traces of the calls there are, how control moved.

pub mod control_flow;
pub mod cross_check;
pub(crate) mod stores;
