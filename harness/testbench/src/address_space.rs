//! The address space that this process may have.

use std::io;
use std::sync::{Mutex, PoisonError};

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// One at a time takes the limit away.
static UNLIMITED: Mutex<()> = Mutex::new(());

/// Limits this process's address space, in bytes, and has it leave no core dump: one
/// of each case of a run would fill the disk.
///
/// # Errors
/// The system's.
pub fn limit(bytes: u64) -> io::Result<()> {
    setrlimit(Resource::Core, Rlimit { current: Some(0), maximum: Some(0) })?;
    // A limit that is there already can only be lowered.
    let maximum = getrlimit(Resource::As).maximum;
    let current = Some(bytes.min(maximum.unwrap_or(u64::MAX)));
    setrlimit(Resource::As, Rlimit { current, maximum })?;
    Ok(())
}

/// Starts a process that is not to have the limit of this one.
///
/// # Errors
/// Those of `start`, and the system's.
pub(crate) fn unlimited<T>(start: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
    let _one = UNLIMITED.lock().unwrap_or_else(PoisonError::into_inner);
    let limit = getrlimit(Resource::As);
    setrlimit(Resource::As, Rlimit { current: limit.maximum, ..limit })?;
    let started = start();
    setrlimit(Resource::As, limit)?;
    started
}
