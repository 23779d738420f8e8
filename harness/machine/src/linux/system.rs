//! What surrounds a program: its root, arguments, environment and input.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use super::objects::disk::{Disk, Entry, path_of};
use super::objects::special::Processes;

/// The surroundings of a program.
#[derive(Clone, Debug)]
pub struct System {
    /// The folder that the program sees as `/`; nothing else of the host is visible. Programs
    /// read what is below it, and their writes are kept in memory. Without a root, there are no
    /// files.
    pub root: Option<PathBuf>,
    /// The path of the program, as it sees it.
    pub program: Vec<u8>,
    /// Arguments after `argv[0]`, which is the path.
    pub arguments: Vec<Vec<u8>>,
    /// The environment: `NAME=VALUE`.
    pub environment: Vec<Vec<u8>>,
    /// The working folder.
    pub folder: Vec<u8>,
    /// The content of standard input; `None` for a null device.
    pub input: Option<Arc<Vec<u8>>>,
}

impl Default for System {
    fn default() -> Self {
        Self {
            root: None,
            program: b"program".to_vec(),
            arguments: Vec::new(),
            environment: vec![b"LC_ALL=C".to_vec()],
            folder: b"/".to_vec(),
            input: None,
        }
    }
}

impl System {
    /// Without files, with arguments after `argv[0]`.
    #[must_use]
    pub fn with_arguments(arguments: &[String]) -> Self {
        let arguments = arguments.iter().map(|argument| argument.as_bytes().to_vec()).collect();
        Self { arguments, ..Self::default() }
    }

    /// Reads a file as the program sees it: a path below the root, through links that stay there.
    ///
    /// # Errors
    /// There is no such file, or it can't be read.
    pub fn read(&self, path: &[u8]) -> io::Result<Arc<[u8]>> {
        let mut disk = Disk::new(self.root.as_deref());
        let processes = Processes::default();
        let path = disk.resolve(&processes, &path_of(&self.folder), &path_of(path), true)?;
        match disk.entry(&processes, &path)? {
            Entry::File(file) => Ok(disk.content(file)?),
            _ => Err(io::ErrorKind::InvalidInput.into()),
        }
    }

    /// Returns all arguments.
    pub(crate) fn all_arguments(&self) -> Vec<Vec<u8>> {
        std::iter::once(&self.program).chain(&self.arguments).cloned().collect()
    }
}
