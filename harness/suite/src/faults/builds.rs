//! The committed builds of examples: `corpus/faults/NAME`.

use std::path::{Path, PathBuf};

use sframe_judge::target::files::{Files, LibraryFolders};
use sha2::{Digest as _, Sha256};

use super::observe::ObserveError;
use crate::corpus::example_folder;
use crate::spec::Example;

/// The file with the digest of what a build was made of.
const DIGEST: &str = "source.sha256";

/// The committed build of a fault's example.
#[must_use]
pub fn build_of(corpus: &Path, name: &str, example: &Example) -> PathBuf {
    example_folder(corpus, name).join(&example.program)
}

/// SHA-256 of all that a build is made of: toolchain, ABI, sources and commands.
#[must_use]
pub fn digest_of(example: &Example) -> String {
    let Example { abi, toolchain, sources, commands, .. } = example;
    let abi = abi.to_string();
    let sources = sources.iter().flat_map(|(name, text)| [name, text]);
    let parts = [toolchain, &abi].into_iter().chain(sources).chain(commands);
    let mut digest = Sha256::new();
    for part in parts {
        digest.update((part.len() as u64).to_le_bytes());
        digest.update(part);
    }
    format!("{:x}", digest.finalize())
}

/// Whether the committed build was made of what the page has now.
#[must_use]
pub fn is_current(corpus: &Path, name: &str, example: &Example) -> bool {
    let read = std::fs::read_to_string(example_folder(corpus, name).join(DIGEST));
    read.is_ok_and(|digest| digest.trim() == digest_of(example))
}

/// Keeps a build, with the libraries that it needs, as the committed one.
///
/// # Errors
/// The build can't be read, or the folder can't be written.
pub fn keep(corpus: &Path, name: &str, example: &Example, program: &Path) -> Result<(), KeepError> {
    let folder = example_folder(corpus, name);
    let write = |name: &str, bytes: &[u8]| {
        let path = folder.join(name);
        std::fs::write(&path, bytes).map_err(|source| KeepError::Write { path, source })
    };
    let files = Files::find(program, LibraryFolders::default()).map_err(ObserveError::from)?;
    if folder.exists() {
        std::fs::remove_dir_all(&folder)
            .map_err(|source| KeepError::Write { path: folder.clone(), source })?;
    }
    std::fs::create_dir_all(&folder).map_err(|source| KeepError::Write { path: folder.clone(), source })?;
    write(&example.program, &files.executable)?;
    for (name, bytes) in &files.libraries {
        write(name, bytes)?;
    }
    write(DIGEST, format!("{}\n", digest_of(example)).as_bytes())
}

/// Why a build can't be kept.
#[derive(Debug, thiserror::Error)]
pub enum KeepError {
    /// It can't be read.
    #[error(transparent)]
    Read(#[from] ObserveError),
    /// The folder can't be written.
    #[error("{}: {source}", path.display())]
    Write {
        /// What can't be written.
        path: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
}
