//! Reading files that may be anything.

use std::io::Read as _;
use std::path::Path;
use std::{fs, io};

/// The largest file that is read, in bytes.
pub const MAX_BYTES: u64 = 4 << 30;

/// Reads a file of at most `limit` bytes. It must be a regular one: pipes and
/// devices may never begin, or never end.
///
/// # Errors
/// There is no such file, it is something else, it is larger, or it can't be read.
pub fn read(path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    let metadata = fs::metadata(path)?;
    if metadata.is_dir() {
        return Err(io::Error::new(io::ErrorKind::IsADirectory, "this is a directory"));
    }
    if !metadata.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "this is not a regular file"));
    }
    let mut bytes = Vec::new();
    // It may grow while it is read, and some tell no size.
    if metadata.len() <= limit {
        fs::File::open(path)?.take(limit + 1).read_to_end(&mut bytes)?;
    }
    if metadata.len() > limit || bytes.len() as u64 > limit {
        let message = format!("this is larger than {limit} bytes, too large to be read");
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, message));
    }
    Ok(bytes)
}
