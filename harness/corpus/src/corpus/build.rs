//! Builds: the files, and where each comes from.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use sframe_engine::Abi;
use sframe_judge::target::files::Files;
use sframe_judge::truth::cross_check::FrameFlags;
use sha2::{Digest, Sha256};

use super::Error;

/// One program, compiled by one toolchain for one ABI in one variant.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
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
    /// The options about frames that its compiler was given; unknown for a derived build.
    pub frames: FrameFlags,
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
        Ok(Files { executable, libraries, ..Files::default() })
    }
}

/// Returns the id of a build.
pub(super) fn build_id(toolchain: &str, abi: Abi, program: &str, variant: &str) -> String {
    format!("{toolchain}/{abi}/{program}.{variant}")
}

/// Returns the SHA-256 of `bytes`, in hexadecimal.
pub(super) fn sha256(bytes: &[u8]) -> String {
    format!("{:x}", Sha256::digest(bytes))
}
