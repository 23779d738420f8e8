//! Toolchains: how each is obtained and called.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;

use super::program::{ABIS, files_of, stem};
use super::{Derive, Error, Program, Variant};

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
    /// Flags by which the assembler writes SFrame.
    #[serde(default)]
    pub sframe_flags: Vec<String>,
    /// Flags of every command, for all ABIs.
    #[serde(default)]
    pub flags: Vec<String>,
    /// Flags of programs that its compiler does not know, nor needs.
    #[serde(default)]
    pub needless_flags: Vec<String>,
    /// Whether all C and assembly sources of a file are compiled as one
    /// translation unit, because the linker does not merge `.sframe` sections.
    #[serde(default)]
    pub one_unit: bool,
    /// How to compile for each ABI.
    #[serde(default)]
    pub abis: BTreeMap<String, AbiTools>,
    /// What it does not build.
    #[serde(default)]
    pub excluded: Vec<Excluded>,
    /// How to derive builds from those of another toolchain, instead of compiling.
    pub derive: Option<Derive>,
}

/// Builds that a toolchain does not make: those that every key that is there
/// names.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Excluded {
    /// The program; any if there is none.
    pub program: Option<String>,
    /// The variant; any if there is none.
    pub variant: Option<String>,
    /// The ABI; any if there is none.
    pub abi: Option<String>,
    /// Why.
    pub reason: String,
}

impl Excluded {
    fn names(&self, program: &str, variant: &str, abi: &str) -> bool {
        let is = |key: &Option<String>, value: &str| key.as_ref().is_none_or(|key| key == value);
        is(&self.program, program) && is(&self.variant, variant) && is(&self.abi, abi)
    }

    /// What is wrong with it, but for the program's name.
    fn mistake(&self) -> Option<String> {
        let unknown = |name: &String| Variant::named(name).is_none();
        if (&self.program, &self.variant, &self.abi) == (&None, &None, &None) {
            return Some("an exclusion names no program, variant or ABI".to_owned());
        }
        if let Some(name) = self.variant.as_ref().filter(|name| unknown(name)) {
            return Some(format!("unknown variant `{name}`"));
        }
        if let Some(abi) = self.abi.as_ref().filter(|abi| !ABIS.contains(&abi.as_str())) {
            return Some(format!("unknown ABI `{abi}`; there are {}", ABIS.join(", ")));
        }
        (self.reason.trim().len() < 20).then(|| "an exclusion needs a reason".to_owned())
    }
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
    /// The Rust compiler.
    pub rust: Option<String>,
    /// The linker to ask for its version, where the compiler has an assembler of
    /// its own.
    pub linker: Option<String>,
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
        let compiles = toolchain.root.is_some() || !toolchain.flags.is_empty() || !toolchain.abis.is_empty();
        if compiles == toolchain.derive.is_some() {
            return Err(invalid("a toolchain has either `abis` to compile for, or `derive`".to_owned()));
        }
        if compiles && toolchain.sframe_flags.is_empty() {
            return Err(invalid("a toolchain that compiles needs `sframe_flags`".to_owned()));
        }
        if let Some(abi) = toolchain.abis.keys().find(|abi| !ABIS.contains(&abi.as_str())) {
            return Err(invalid(format!("unknown ABI `{abi}`; there are {}", ABIS.join(", "))));
        }
        if let Some(message) = toolchain.excluded.iter().find_map(Excluded::mistake) {
            return Err(invalid(message));
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

    /// The ABIs and variants in which this toolchain compiles `program`.
    pub(super) fn builds_of<'a>(
        &'a self,
        program: &'a Program,
    ) -> impl Iterator<Item = (&'a str, &'static Variant)> {
        let abis = self.abis.keys().filter(|&abi| program.targets.contains(abi));
        abis.flat_map(|abi| program.variants.iter().map(move |&variant| (abi.as_str(), variant))).filter(
            |(abi, variant)| {
                let is_excluded = |excluded: &Excluded| excluded.names(&program.name, variant.name, abi);
                variant.abis.contains(abi) && !self.excluded.iter().any(is_excluded)
            },
        )
    }

    /// Makes sure that whatever is excluded is among `programs`.
    pub(super) fn check_excluded(&self, corpus_dir: &Path, programs: &[Program]) -> Result<(), Error> {
        let is_none = |name: &&String| !programs.iter().any(|program| program.name == **name);
        match self.excluded.iter().filter_map(|excluded| excluded.program.as_ref()).find(is_none) {
            None => Ok(()),
            Some(name) => Err(Error::Invalid {
                path: corpus_dir.join("toolchains").join(format!("{}.yaml", self.name)),
                message: format!("it excludes `{name}`, which is no program"),
            }),
        }
    }
}
