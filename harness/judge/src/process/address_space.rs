//! The limit on this process's address space.

use std::io;
use std::sync::{Mutex, PoisonError};

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use sframe_machine::RESERVED_ADDRESSES;

const RESERVED: u64 = RESERVED_ADDRESSES as u64;

/// Only one thread at a time removes the limit.
static UNLIMITED: Mutex<()> = Mutex::new(());

/// Limits this process's memory, in bytes, without the addresses that the emulator reserves: their
/// number is not what programs take. Disables core dumps, which could fill the disk if every case
/// of a run left one.
///
/// # Errors
/// The system's error.
pub fn limit(bytes: u64) -> io::Result<()> {
    setrlimit(Resource::Core, Rlimit { current: Some(0), maximum: Some(0) })?;
    // A limit that is already set can only be lowered.
    let maximum = getrlimit(Resource::As).maximum;
    let current = Some(bytes.saturating_add(RESERVED).min(maximum.unwrap_or(u64::MAX)));
    setrlimit(Resource::As, Rlimit { current, maximum })?;
    Ok(())
}

/// The addresses that this process may have at most, in bytes, if these are too few for the emulator
/// and this much memory.
#[must_use]
pub fn too_few_for(bytes: u64) -> Option<u64> {
    getrlimit(Resource::As).maximum.filter(|maximum| *maximum < bytes.saturating_add(RESERVED))
}

/// Starts a process that does not inherit the limit of this one.
///
/// # Errors
/// Errors of `start`, and of the system.
pub fn unlimited<T>(start: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
    let _one = UNLIMITED.lock().unwrap_or_else(PoisonError::into_inner);
    let limit = getrlimit(Resource::As);
    setrlimit(Resource::As, Rlimit { current: limit.maximum, ..limit })?;
    let started = start();
    setrlimit(Resource::As, limit)?;
    started
}
