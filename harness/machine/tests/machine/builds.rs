//! Builds of the corpus.

use std::path::{Path, PathBuf};

/// All builds of a program.
pub(crate) fn builds_of(program: &str) -> Vec<PathBuf> {
    let builds = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus/builds");
    let folders = |path: &Path| {
        let entries = std::fs::read_dir(path).expect("a folder");
        entries.map(|entry| entry.expect("an entry").path()).collect::<Vec<_>>()
    };
    let mut found: Vec<_> = folders(&builds)
        .iter()
        .flat_map(|toolchain| folders(toolchain))
        .flat_map(|abi| folders(&abi))
        .filter(|path| path.file_stem().is_some_and(|stem| stem == program))
        .collect();
    found.sort();
    found
}
