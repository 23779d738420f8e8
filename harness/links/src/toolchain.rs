//! The linker of a toolchain: the one that its compiler calls.

use std::collections::BTreeMap;
use std::path::Path;

use sframe_corpus::corpus::{Maker, is_crash};
use sframe_corpus::spec::Faults;
use sframe_corpus::yaml;
use sframe_engine::Abi;
use tempfile::TempDir;

use crate::case::{LinkCases, Tool};
use crate::tools::{Command, Ran, Subject, Tools};

/// The linker of a toolchain.
pub struct ToolchainLinker {
    maker: Maker,
    /// By ABI.
    linkers: BTreeMap<Abi, String>,
}

impl ToolchainLinker {
    /// Asks the compilers of a toolchain for their linkers.
    #[must_use]
    pub fn of(maker: Maker) -> Self {
        let linker = |abi: Abi| Some((abi, maker.linker(abi)?));
        let linkers = Abi::ALL.into_iter().filter_map(linker).collect();
        Self { maker, linkers }
    }

    /// The ABIs that it links for.
    pub fn abis(&self) -> impl Iterator<Item = Abi> {
        self.linkers.keys().copied()
    }
}

impl Tools for ToolchainLinker {
    fn has(&self, tool: Tool, abi: Abi) -> bool {
        tool == Tool::Ld && self.linkers.contains_key(&abi)
    }

    fn folder(&self) -> std::io::Result<TempDir> {
        self.maker.folder()
    }

    fn line(&self, command: &Command) -> String {
        let words = self.words(command);
        shlex::try_join(words.iter().map(String::as_str)).unwrap_or_else(|_| words.join(" "))
    }

    fn run(&self, folder: &Path, command: &Command) -> Result<Ran, String> {
        let ran = self.maker.run_in(folder, &self.words(command)).map_err(|error| error.to_string())?;
        let said = ran.stdout + &ran.stderr;
        let crashed = ran.ended.is_crash() || is_crash(&said);
        Ok(Ran { succeeded: ran.ended.is_success(), crashed, ended: ran.ended.to_string(), said })
    }
}

impl ToolchainLinker {
    fn words(&self, command: &Command) -> Vec<String> {
        let linker = self.linkers.get(&command.abi).cloned().unwrap_or_default();
        std::iter::once(linker).chain(command.arguments()).collect()
    }
}

impl Subject {
    /// The description of the linker of a toolchain of the corpus, if there is one.
    ///
    /// # Errors
    /// A description can't be read, or is malformed.
    pub fn of_toolchain(
        name: &str,
        folder: &Path,
        cases: &LinkCases,
        faults: &Faults,
    ) -> Result<Option<Self>, yaml::Error> {
        let path = folder.join("linkers").join(format!("{}.yaml", name.replacen("gnu-", "ld-", 1)));
        if !path.is_file() {
            return Ok(None);
        }
        let subject = Self::parse(&path, cases, faults)?;
        Ok(Some(subject).filter(|subject| subject.toolchain.as_deref() == Some(name)))
    }
}
