//! What really happened, besides the call stack: who stored the words of
//! frames, which other traces of the calls there are, how control was
//! transferred.

pub mod control_flow;
pub mod cross_check;
pub mod stores;
