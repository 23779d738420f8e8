//! Toolchains: how each is obtained and called.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;

use super::program::{ABIS, files_of, stem};
use super::{Error, Program};

/// One release of compiler, assembler and linker: a file of
/// `corpus/toolchains`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Toolchain {
    /// Its name, which is also the name of the file: `gnu-2.44`.
    pub name: String,
    /// What it is, in one line.
    pub summary: String,
    /// The version of SFrame that it writes.
    pub sframe_version: u8,
    /// Where its programs live. Without a root they are those of this machine.
    pub root: Option<Root>,
    /// Flags of every command, for all ABIs.
    #[serde(default)]
    pub flags: Vec<String>,
    /// How to compile for each ABI.
    pub abis: BTreeMap<String, AbiTools>,
}

/// A folder tree with a whole toolchain in it, made from Debian packages.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Root {
    /// The Debian release.
    pub suite: String,
    /// The packages beyond a minimal system.
    pub packages: Vec<String>,
}

/// How a toolchain compiles for one ABI.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct AbiTools {
    /// The compiler driver, which also assembles and links.
    pub compiler: String,
    /// Flags that choose the ABI.
    #[serde(default)]
    pub flags: Vec<String>,
}

impl Toolchain {
    /// Reads one toolchain.
    ///
    /// # Errors
    ///
    /// A file that cannot be read, has unknown keys, or names things that do
    /// not exist.
    pub fn load(path: &Path) -> Result<Self, Error> {
        let toolchain: Self = crate::yaml::read(path)?;
        let invalid = |message: String| Error::Invalid { path: path.to_path_buf(), message };

        if Some(toolchain.name.as_str()) != stem(path) {
            return Err(invalid(format!(
                "the toolchain's name is `{}`, which is not the name of the file",
                toolchain.name
            )));
        }
        if !(1..=3).contains(&toolchain.sframe_version) {
            return Err(invalid(format!("SFrame has no version {}", toolchain.sframe_version)));
        }
        if let Some(abi) = toolchain.abis.keys().find(|abi| !ABIS.contains(&abi.as_str())) {
            return Err(invalid(format!("unknown ABI `{abi}`; there are {}", ABIS.join(", "))));
        }
        Ok(toolchain)
    }

    /// Reads all toolchains of a corpus, in the order of their names.
    ///
    /// # Errors
    ///
    /// See [`Toolchain::load`].
    pub fn load_all(corpus_dir: &Path) -> Result<Vec<Self>, Error> {
        files_of(&corpus_dir.join("toolchains"))?
            .iter()
            .filter(|path| path.extension().is_some_and(|ext| ext == "yaml"))
            .map(|path| Self::load(path))
            .collect()
    }

    /// The ABIs for which this toolchain compiles `program`.
    pub(super) fn abis_of<'a>(
        &'a self,
        program: &'a Program,
    ) -> impl Iterator<Item = (&'a str, &'a AbiTools)> {
        self.abis
            .iter()
            .map(|(abi, tools)| (abi.as_str(), tools))
            .filter(|(abi, _)| program.targets.iter().any(|target| target == abi))
    }
}
