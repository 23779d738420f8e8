//! Builds of the corpus.

use std::path::{Path, PathBuf};

/// All builds of a program.
pub(crate) fn builds_of(program: &str) -> Vec<PathBuf> {
    let builds = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus/builds");
    let mut found: Vec<_> = files(&builds)
        .iter()
        .flat_map(|toolchain| files(toolchain))
        .flat_map(|abi| files(&abi))
        .filter(|path| path.file_stem().is_some_and(|stem| stem == program))
        .collect();
    found.sort();
    found
}

/// Builds of the newest toolchain: those of the others have the same programs.
pub(crate) fn newest_builds() -> Vec<PathBuf> {
    let builds = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus/builds/gnu-2.47");
    files(&builds).iter().flat_map(|abi| files(abi)).collect()
}

fn files(path: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(path).expect("a folder");
    entries.map(|entry| entry.expect("an entry").path()).collect()
}
