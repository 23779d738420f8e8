//! The committed builds of examples: `corpus/faults/NAME`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use sframe_judge::target::files::{Files, LibraryFolders};
use sha2::{Digest as _, Sha256};

use super::observe::ObserveError;
use crate::corpus::example_folder;
use crate::spec::Example;

/// The list of what builds were made of, beside their folders: a name and a digest in each line.
const DIGESTS: &str = "sources.sha256";

/// The digest of what a build was made of, by the list of its folder.
#[must_use]
pub fn recorded(folder: &Path, name: &str) -> Option<String> {
    digests(folder).remove(name)
}

/// Enters the digest of what a build was made of into the list of its folder.
///
/// # Errors
/// The list can't be written.
pub fn record(folder: &Path, name: &str, digest: String) -> std::io::Result<()> {
    static WRITING: Mutex<()> = Mutex::new(());
    let _writing = WRITING.lock();
    let mut digests = digests(folder);
    digests.insert(name.to_owned(), digest);
    let lines: String = digests.iter().map(|(name, digest)| format!("{name} {digest}\n")).collect();
    std::fs::write(folder.join(DIGESTS), lines)
}

fn digests(folder: &Path) -> BTreeMap<String, String> {
    let text = std::fs::read_to_string(folder.join(DIGESTS)).unwrap_or_default();
    let lines = text.lines().filter_map(|line| line.split_once(' '));
    lines.map(|(name, digest)| (name.to_owned(), digest.to_owned())).collect()
}

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
    recorded(&example_folder(corpus, ""), name) == Some(digest_of(example))
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
    let all = example_folder(corpus, "");
    record(&all, name, digest_of(example))
        .map_err(|source| KeepError::Write { path: all.join(DIGESTS), source })
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
