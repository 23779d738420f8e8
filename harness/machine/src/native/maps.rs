//! What a process has mapped, as `/proc/PID/maps` says.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::ops::Range;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use rustix::process::Pid;

use crate::address_space::Permissions;

/// The code that the kernel offers to programs.
pub(super) const VDSO: &str = "[vdso]";
/// The first stack.
pub(super) const STACK: &str = "[stack]";

/// Consecutive pages with the same permissions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Mapping {
    pub(super) range: Range<u64>,
    pub(super) permissions: Permissions,
    /// Where in the file it begins, in bytes.
    pub(super) offset: u64,
    /// The file, or what the kernel calls it; empty if there is neither.
    pub(super) name: PathBuf,
}

impl Mapping {
    /// Whether a file is mapped there to be executed, or what the kernel offers.
    pub(super) fn is_code(&self) -> bool {
        self.permissions.execute && (self.name.is_absolute() || self.name == Path::new(VDSO))
    }
}

/// Returns what a process has mapped, by address.
pub(super) fn read(process: Pid) -> io::Result<Vec<Mapping>> {
    let text = fs::read(format!("/proc/{}/maps", process.as_raw_nonzero()))?;
    Ok(text.split(|byte| *byte == b'\n').filter_map(mapping).collect())
}

/// Reads a line: `START-END PERMISSIONS OFFSET DEVICE INODE NAME`.
fn mapping(line: &[u8]) -> Option<Mapping> {
    let mut rest = line;
    let mut word = || {
        let start = rest.iter().position(|byte| *byte != b' ')?;
        let word = rest[start..].split(|byte| *byte == b' ').next()?;
        rest = &rest[start + word.len()..];
        std::str::from_utf8(word).ok()
    };
    let number = |text: &str| u64::from_str_radix(text, 16).ok();
    let (start, end) = word()?.split_once('-')?;
    let range = number(start)?..number(end)?;
    let has = word()?.as_bytes();
    let permissions = Permissions {
        read: has.first() == Some(&b'r'),
        write: has.get(1) == Some(&b'w'),
        execute: has.get(2) == Some(&b'x'),
    };
    let offset = number(word()?)?;
    let (_device, _inode) = (word()?, word()?);
    let name = &rest[rest.iter().position(|byte| *byte != b' ').unwrap_or(rest.len())..];
    Some(Mapping { range, permissions, offset, name: PathBuf::from(OsStr::from_bytes(name)) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_addresses_permissions_offset_and_a_name_with_spaces() {
        let line = b"7ffff7c28000-7ffff7db0000 r-xp 00028000 fe:00 1311 /usr/lib/a b.so";
        let found = mapping(line).expect("a mapping");
        assert_eq!(found.range, 0x7fff_f7c2_8000..0x7fff_f7db_0000);
        assert_eq!(
            (found.offset, found.name.as_path(), found.is_code()),
            (0x28000, Path::new("/usr/lib/a b.so"), true)
        );
        let stack =
            mapping(b"7ffffffde000-7ffffffff000 rw-p 00000000 00:00 0                          [stack]");
        assert!(stack.is_some_and(|it| it.name == Path::new(STACK) && !it.is_code()));
        assert!(
            mapping(b"7f00-8000 rwxp 00000000 00:00 0 ")
                .is_some_and(|it| it.name == Path::new("") && !it.is_code())
        );
        assert_eq!(mapping(b""), None);
    }
}
