//! What the kernel's objects are called.

/// The number of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct TaskId(pub(crate) u32);

/// The number of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ProcessId(pub(crate) u32);

/// Identifies an address space.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct SpaceId(pub(crate) u32);

/// The number of the first process, of its first task, and of its address space.
pub(crate) const FIRST: u32 = 1000;
