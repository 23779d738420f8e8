//! The manifest: the origin of each committed build.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::origins::Origins;
use super::records::Records;
use super::{Build, Error};

/// What is known of the builds: `corpus/manifest.yaml`, with what follows from the
/// programs and the toolchains.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Manifest {
    /// All builds, sorted by id.
    pub builds: Vec<Build>,
}

impl Manifest {
    /// Reads the manifest of a corpus.
    ///
    /// # Errors
    ///
    /// The file cannot be read or is invalid, or a build is of a program, toolchain
    /// or variant that is not there or cannot be read.
    pub fn load(corpus_dir: &Path) -> Result<Self, Error> {
        let records = Records::load(corpus_dir)?;
        let origins = Origins::load(corpus_dir, &records)?;
        let builds = records.ids().map(|id| origins.build(id, &records));
        Ok(Self { builds: builds.collect::<Result<_, _>>()? })
    }

    /// Writes the manifest of a corpus.
    ///
    /// # Errors
    ///
    /// The file cannot be written.
    pub fn write(&self, corpus_dir: &Path) -> Result<(), Error> {
        self.builds.iter().collect::<Records>().write(corpus_dir)
    }

    /// Checks that the files of the builds are exactly those in the manifest: none
    /// is missing, and there are no others. Hidden files are not builds.
    ///
    /// # Errors
    ///
    /// One is missing or has no entry, or the folder cannot be read.
    pub fn check_files(&self, corpus_dir: &Path) -> Result<(), Error> {
        let folder = corpus_dir.join("builds");
        let mut files = BTreeSet::new();
        list_files(&folder, &mut files)?;
        for build in &self.builds {
            let libraries = build.libraries.iter().map(|library| build.library_path(corpus_dir, library));
            for path in std::iter::once(build.path(corpus_dir)).chain(libraries) {
                if !files.remove(&path) {
                    let message = format!("the manifest has the build {}, but its file is missing", build.id);
                    return Err(Error::Invalid { path, message });
                }
            }
        }
        match files.pop_first() {
            None => Ok(()),
            Some(path) => {
                let more =
                    if files.is_empty() { String::new() } else { format!(", nor {} more", files.len()) };
                let message = format!("the manifest has no build of this file{more}: it would never be run");
                Err(Error::Invalid { path, message })
            }
        }
    }

    /// Returns where a corpus keeps its manifest.
    #[must_use]
    pub fn path(corpus_dir: &Path) -> PathBuf {
        Records::path(corpus_dir)
    }

    /// Returns the build with that id.
    #[must_use]
    pub fn get(&self, id: &str) -> Option<&Build> {
        self.builds
            .binary_search_by(|build| build.id.as_str().cmp(id))
            .ok()
            .and_then(|index| self.builds.get(index))
    }
}

fn list_files(folder: &Path, files: &mut BTreeSet<PathBuf>) -> Result<(), Error> {
    let failed = |source| Error::Read { path: folder.to_owned(), source };
    for entry in std::fs::read_dir(folder).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let path = entry.path();
        if entry.file_name().as_encoded_bytes().starts_with(b".") {
            continue;
        }
        if path.is_dir() {
            list_files(&path, files)?;
        } else {
            files.insert(path);
        }
    }
    Ok(())
}
