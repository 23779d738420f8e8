//! The part of Linux that programs see: their system calls, without the host.
//!
//! The kernel's state is in [`kernel`], made of the [`objects`]; [`calls`] has the system calls by
//! subject. They know nothing of the CPU beyond what a [`user::User`] offers. What needs the
//! CPU's state (signal frames, new tasks, other programs) is an [`answer::Answer`] that the run
//! carries out.
//!
//! Everything is deterministic: time passes with the instructions that are executed, and tasks
//! take turns. Of the host, a program reaches the files below its root, to read them.

pub(crate) mod answer;
mod calls;
pub(crate) mod ids;
pub(crate) mod kernel;
pub(crate) mod objects;
mod system;
#[cfg(test)]
mod tests;
mod usage;
pub(crate) mod user;

pub use system::System;
pub use usage::Usage;
