//! The manifest: the origin of each committed build.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use sframe_engine::Abi;
use sframe_judge::target::files::Files;
use sha2::{Digest, Sha256};

use super::Error;

/// The version of the manifest format that this code reads and writes.
const SCHEMA: u32 = 1;

/// `corpus/manifest.yaml`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Manifest {
    /// All builds, sorted by id.
    pub builds: Vec<Build>,
}

/// The file as written.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    schema: u32,
    builds: Vec<Build>,
}

/// One program, compiled by one toolchain for one ABI in one variant.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Build {
    /// `<toolchain>/<abi>/<program>.<variant>`.
    pub id: String,
    /// The program's name.
    pub program: String,
    /// The ABI.
    pub abi: Abi,
    /// The toolchain's name.
    pub toolchain: String,
    /// The variant's name.
    pub variant: String,
    /// The version of SFrame that the toolchain writes.
    pub sframe_version: u8,
    /// The sources, relative to `corpus/programs`.
    pub sources: Vec<String>,
    /// The compiler's version line.
    pub compiler: String,
    /// The assembler's version line, or the linker's if the compiler has an
    /// integrated assembler.
    pub binutils: String,
    /// The Rust compiler's version line, if it was needed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rust: Option<String>,
    /// The commands, as a shell in `corpus/programs` would run them.
    pub command: String,
    /// The build whose section was converted to make this one, if it was not compiled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub derived_from: Option<String>,
    /// The SHA-256 of the file, in hexadecimal.
    pub sha256: String,
    /// The libraries that it was linked with.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub libraries: Vec<LibraryBuild>,
}

/// A shared library of a build. Its file is next to the build's, under its name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct LibraryBuild {
    /// `<program>.<variant>.<library>.so`: the name of the file, under which the
    /// program requests it.
    pub name: String,
    /// The sources, relative to `corpus/programs`.
    pub sources: Vec<String>,
    /// The command, as a shell in `corpus/programs` would run it.
    pub command: String,
    /// The SHA-256 of the file, in hexadecimal.
    pub sha256: String,
}

impl Manifest {
    /// Reads the manifest of a corpus.
    ///
    /// # Errors
    ///
    /// The file cannot be read, has unknown keys or another schema, or is not
    /// sorted by unique ids.
    pub fn load(corpus_dir: &Path) -> Result<Self, Error> {
        let path = Self::path(corpus_dir);
        let document: Document = crate::yaml::read(&path)?;

        if document.schema != SCHEMA {
            return Err(Error::Invalid {
                path,
                message: format!("schema {} is unknown; this bench reads {SCHEMA}", document.schema),
            });
        }
        for build in &document.builds {
            let id = build_id(&build.toolchain, build.abi, &build.program, &build.variant);
            if build.id != id {
                return Err(Error::Invalid {
                    path,
                    message: format!("build `{}` should have the id `{id}`", build.id),
                });
            }
        }
        let mut neighbours = document.builds.iter().zip(document.builds.iter().skip(1));
        if let Some((_, later)) = neighbours.find(|(earlier, later)| earlier.id >= later.id) {
            return Err(Error::Invalid {
                path,
                message: format!("build `{}` is listed twice, or out of order", later.id),
            });
        }
        Ok(Self { builds: document.builds })
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
        corpus_dir.join("manifest.yaml")
    }

    /// Returns the build with that id.
    #[must_use]
    pub fn get(&self, id: &str) -> Option<&Build> {
        self.builds
            .binary_search_by(|build| build.id.as_str().cmp(id))
            .ok()
            .and_then(|index| self.builds.get(index))
    }

    /// Returns the text of the file.
    pub(super) fn to_text(&self, corpus_dir: &Path) -> Result<String, Error> {
        let document = Document { schema: SCHEMA, builds: self.builds.clone() };
        let yaml = crate::yaml::to_string(&document)
            .map_err(|message| Error::Encode { path: Self::path(corpus_dir), message })?;

        Ok(format!("# Written by ci/corpus. Do not edit.\n{yaml}"))
    }
}

impl Build {
    /// Returns the path of the build's file.
    #[must_use]
    pub fn path(&self, corpus_dir: &Path) -> PathBuf {
        corpus_dir.join("builds").join(&self.id)
    }

    /// Returns the path of a library of the build.
    #[must_use]
    pub fn library_path(&self, corpus_dir: &Path, library: &LibraryBuild) -> PathBuf {
        self.path(corpus_dir).with_file_name(&library.name)
    }

    /// Reads the build's file, and checks that it and the libraries are the right ones.
    ///
    /// # Errors
    ///
    /// A file cannot be read, or its SHA-256 is not the manifest's.
    pub fn read(&self, corpus_dir: &Path) -> Result<Vec<u8>, Error> {
        self.files(corpus_dir).map(|files| files.executable)
    }

    /// Reads the build's file and its libraries, and checks that they are the right
    /// ones.
    ///
    /// # Errors
    ///
    /// As for [`Self::read`].
    pub fn files(&self, corpus_dir: &Path) -> Result<Files, Error> {
        let read = |path: PathBuf, expected: &str| {
            let bytes = std::fs::read(&path).map_err(|source| Error::Read { path: path.clone(), source })?;
            let (found, expected) = (sha256(&bytes), expected.to_owned());
            if found == expected {
                return Ok(bytes);
            }
            Err(Error::Checksum { build: self.id.clone(), path, expected, found })
        };
        let executable = read(self.path(corpus_dir), &self.sha256)?;
        let library = |library: &LibraryBuild| {
            let bytes = read(self.library_path(corpus_dir, library), &library.sha256)?;
            Ok((library.name.clone(), bytes))
        };
        let libraries = self.libraries.iter().map(library).collect::<Result<_, Error>>()?;
        Ok(Files { executable, libraries, own: None })
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

/// Returns the id of a build.
pub(super) fn build_id(toolchain: &str, abi: Abi, program: &str, variant: &str) -> String {
    format!("{toolchain}/{abi}/{program}.{variant}")
}

/// Returns the SHA-256 of `bytes`, in hexadecimal.
pub(super) fn sha256(bytes: &[u8]) -> String {
    format!("{:x}", Sha256::digest(bytes))
}
