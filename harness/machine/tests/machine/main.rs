//! The machine and its witness, as one program: the emulator is linked once.

#[path = "../common/executable.rs"]
mod executable;

mod blocks;
mod builds;
mod call_shapes;
mod ends;
mod explore;
mod forks;
mod link;
mod malformed;
mod native;
mod programs;
mod signals;
mod stores;
mod straight;
mod tables;
mod witness;
