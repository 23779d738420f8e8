//! What a run is made by: which bench, and which unwinder.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use sframe_inspect::COMMIT;
use sframe_judge::external::External;
use sha2::{Digest as _, Sha256};

/// Which bench this is: its commit, wherever it was built, or SHA-256 of its executable if that is of none.
///
/// # Errors
/// The executable can't be read.
pub fn bench() -> std::io::Result<String> {
    static BENCH: OnceLock<String> = OnceLock::new();
    if let Some(bench) = BENCH.get() {
        return Ok(bench.clone());
    }
    let bench = match COMMIT.filter(|commit| !commit.contains('+')) {
        Some(commit) => commit.to_owned(),
        None => hash(Path::new("/proc/self/exe"))?,
    };
    Ok(BENCH.get_or_init(|| bench).clone())
}

/// SHA-256 of each file that the command of an unwinder names: the program, or a script for it. `None` for each word that
/// names none.
pub(crate) fn unwinder(external: &External) -> std::io::Result<Vec<Option<String>>> {
    external.words().iter().map(|word| file_of(word).map(|path| hash(&path)).transpose()).collect()
}

/// The file that a word of a command names, if any.
fn file_of(word: &str) -> Option<PathBuf> {
    let is_file = |path: &PathBuf| path.is_file();
    if word.contains('/') {
        return Some(PathBuf::from(word)).filter(is_file);
    }
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(word)).find(is_file)
}

fn hash(path: &Path) -> std::io::Result<String> {
    let mut digest = Sha256::new();
    std::io::copy(&mut File::open(path)?, &mut digest)?;
    Ok(format!("{:x}", digest.finalize()))
}
