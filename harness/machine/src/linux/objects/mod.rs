//! What the kernel keeps: files, tasks, memory, signals, time.

pub(crate) mod clock;
pub(crate) mod descriptions;
pub(crate) mod disk;
pub(crate) mod memory;
pub(crate) mod programs;
pub(crate) mod random;
pub(crate) mod signals;
pub(crate) mod special;
pub(crate) mod tasks;
pub(crate) mod timers;
