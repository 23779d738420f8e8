//! Reading arbitrary files, and writing results.

use std::io::{Read as _, Seek as _, Write as _};
use std::os::fd::AsFd as _;
use std::path::{Path, PathBuf};
use std::{fs, io};

use crate::source::Contents;

/// The largest file that is read, in bytes.
pub const MAX_BYTES: u64 = 4 << 30;

/// Files below this size are read at once. Some of them report a size that is wrong.
const SMALL: u64 = 1 << 16;

/// Reads a file of at most `limit` bytes. It must be a regular file: pipes and
/// devices may never produce data, or never end.
///
/// # Errors
/// The file does not exist, is not a regular file, is too large, or can't be read.
pub fn read(path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    let len = regular_len(path)?;
    let mut bytes = Vec::new();
    // It may grow while it is read, and some files report no size.
    if len <= limit {
        fs::File::open(path)?.take(limit + 1).read_to_end(&mut bytes)?;
    }
    if len > limit || bytes.len() as u64 > limit {
        return Err(too_large(limit));
    }
    Ok(bytes)
}

/// Opens a file of which only parts are needed. They are read on demand.
///
/// # Errors
/// As for [`read`]. Later read errors are in [`Contents::failure`].
pub fn open(path: &Path, limit: u64) -> io::Result<Contents> {
    let len = regular_len(path)?;
    if len <= SMALL.min(limit) {
        return read(path, limit).map(Contents::whole);
    }
    if len > limit {
        return Err(too_large(limit));
    }
    Ok(Contents::in_parts(fs::File::open(path)?, len))
}

/// Opens standard input: a file in parts, and all else as it comes. If that does not begin with what is
/// wanted, the rest of it is not read.
///
/// # Errors
/// It is larger than the limit, or can't be read.
pub fn open_standard_input(limit: u64, is_wanted: impl FnOnce(&[u8]) -> bool) -> io::Result<Contents> {
    let mut file = fs::File::from(io::stdin().as_fd().try_clone_to_owned()?);
    let metadata = file.metadata()?;
    if metadata.is_file() && metadata.len() > SMALL && file.stream_position()? == 0 {
        let len = metadata.len();
        return if len > limit { Err(too_large(limit)) } else { Ok(Contents::in_parts(file, len)) };
    }
    let mut bytes = Vec::new();
    (&mut file).take(SMALL.min(limit)).read_to_end(&mut bytes)?;
    if is_wanted(&bytes) {
        let len = bytes.len() as u64;
        file.take((limit + 1).saturating_sub(len)).read_to_end(&mut bytes)?;
    }
    if bytes.len() as u64 > limit {
        return Err(too_large(limit));
    }
    Ok(Contents::whole(bytes))
}

/// Writes a file: all of it, or nothing. It is written beside its place and then moved there, so that a full disk
/// leaves what was there before. Links are followed, permissions kept, and devices and pipes written to.
///
/// # Errors
/// It can't be written.
pub fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let place = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let there = fs::metadata(&place).ok();
    if there.as_ref().is_some_and(|there| !there.is_file()) {
        return fs::write(&place, bytes);
    }
    let part = beside(&place)?;
    let written = fs::File::create_new(&part).and_then(|mut file| {
        if let Some(there) = &there {
            file.set_permissions(there.permissions())?;
        }
        file.write_all(bytes)?;
        fs::rename(&part, &place)
    });
    match written {
        // A file may be writable where its folder is not.
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied && there.is_some() => {
            fs::write(&place, bytes)
        }
        Err(error) => {
            let _ = fs::remove_file(&part);
            Err(error)
        }
        Ok(()) => Ok(()),
    }
}

/// Checks that a file could be written now, and leaves everything as it is.
///
/// # Errors
/// It could not.
pub fn can_be_written(path: &Path) -> io::Result<()> {
    let place = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    match fs::metadata(&place) {
        Ok(there) if there.is_dir() => Err(io::ErrorKind::IsADirectory.into()),
        Ok(there) if there.is_file() => fs::OpenOptions::new().write(true).open(&place).map(drop),
        Ok(_) => Ok(()),
        Err(_) => {
            let part = beside(&place)?;
            fs::File::create_new(&part)?;
            fs::remove_file(&part)
        }
    }
}

/// Returns a name beside a file that no other process uses.
fn beside(path: &Path) -> io::Result<PathBuf> {
    let name = path.file_name().ok_or(io::ErrorKind::IsADirectory)?;
    let mut part = std::ffi::OsString::from(".");
    part.push(name);
    part.push(format!(".{}.part", std::process::id()));
    Ok(path.with_file_name(part))
}

/// Returns the length that a regular file reports.
fn regular_len(path: &Path) -> io::Result<u64> {
    let metadata = fs::metadata(path)?;
    if metadata.is_dir() {
        return Err(io::Error::new(io::ErrorKind::IsADirectory, "this is a directory"));
    }
    if !metadata.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "this is not a regular file"));
    }
    Ok(metadata.len())
}

fn too_large(limit: u64) -> io::Error {
    let message = format!("this is larger than {limit} bytes, too large to be read");
    io::Error::new(io::ErrorKind::FileTooLarge, message)
}
