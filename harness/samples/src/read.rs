//! Recordings of any format.

use std::path::Path;

use sframe_elf::file::{MAX_BYTES, read};

use crate::recording::{OpenFile, Recording, RecordingError, place};
use crate::{core_dump, perf};

/// Reads `perf.data` or a core dump. Files that it names are below `root`, if their paths are whole, and otherwise beside it.
///
/// # Errors
/// The file can't be read, is neither, or contradicts itself.
pub fn recording(path: &Path, root: &Path) -> Result<Recording, RecordingError> {
    let open = |name: &str| read(&place(name, root, path), MAX_BYTES).ok();
    recording_of(read(path, MAX_BYTES)?, &open)
}

/// Reads the bytes of such a file, given what opens those that it names.
///
/// # Errors
/// As for [`recording`].
pub fn recording_of(bytes: Vec<u8>, open: &OpenFile<'_>) -> Result<Recording, RecordingError> {
    match bytes.get(..8) {
        Some(b"PERFILE2" | b"2ELIFREP") => perf::read(&bytes),
        Some([0x7f, b'E', b'L', b'F', ..]) => core_dump::read(bytes, open),
        _ => Err(RecordingError::UnknownFormat),
    }
}
