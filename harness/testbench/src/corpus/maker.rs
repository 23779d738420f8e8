//! Makes programs of sources that are given, one after another, with one toolchain.

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use sframe_engine::Abi;

use super::command::Ran;
use super::scratch::{Scratch, write_error};
use super::{Error, Toolchain};

/// The time limit of each command.
const LIMIT: Duration = Duration::from_secs(60);
/// The program's name beside its sources.
const PROGRAM: &str = "program";

/// A toolchain at work. Programs can be made on several threads at once.
pub struct Maker {
    scratch: Scratch,
    made: AtomicU64,
}

/// A program that was made.
#[derive(Debug, Clone)]
pub struct MadeProgram {
    /// The ELF file.
    pub bytes: Vec<u8>,
    /// What the tools said.
    pub said: String,
}

impl Maker {
    /// Prepares a toolchain.
    ///
    /// # Errors
    /// Its root is not there, or no folder can be made.
    pub fn open(toolchain: Toolchain, toolchains_dir: &Path) -> Result<Self, Error> {
        let root = toolchain.root_dir(toolchains_dir)?;
        let scratch = Scratch::open(toolchain, root, &std::env::temp_dir(), "generated-", Some(LIMIT))?;
        let folder = scratch.sources();
        std::fs::create_dir(&folder).map_err(write_error(&folder))?;
        Ok(Self { scratch, made: AtomicU64::new(0) })
    }

    /// Its definition.
    #[must_use]
    pub fn toolchain(&self) -> &Toolchain {
        self.scratch.toolchain()
    }

    /// The words of the command that makes a program of some sources, without where they are.
    ///
    /// # Errors
    /// The toolchain does not compile for the ABI.
    pub fn command(&self, abi: Abi, flags: &[String]) -> Result<Vec<String>, Error> {
        let toolchain = self.toolchain();
        let none = || Error::NoCompiler { toolchain: toolchain.name.clone(), abi };
        let tools = toolchain.abis.get(&abi).ok_or_else(none)?;
        let mut words = vec![tools.compiler.clone()];
        words.extend(["-nostdlib", "-static", "-no-pie"].map(str::to_owned));
        words.extend(toolchain.sframe_flags.iter().cloned());
        // Those of the toolchain are for the sources of the corpus, which need a header.
        let mut own = toolchain.flags.iter();
        while let Some(flag) = own.next() {
            if flag == "-include" {
                own.next();
            } else {
                words.push(flag.clone());
            }
        }
        words.extend(tools.flags.iter().cloned());
        if tools.chosen().next().is_some() {
            words.push(format!("-B{}/", self.scratch.tools_inside(abi).display()));
        }
        words.extend(flags.iter().cloned());
        Ok(words)
    }

    /// Makes a program of sources, by name, with flags of its own.
    ///
    /// # Errors
    /// The toolchain does not compile for the ABI, can't be started, or fails.
    pub fn make(
        &self,
        abi: Abi,
        sources: &[(String, String)],
        flags: &[String],
    ) -> Result<MadeProgram, Error> {
        let number = self.made.fetch_add(1, Ordering::Relaxed).to_string();
        let folder = self.scratch.sources().join(&number);
        std::fs::create_dir(&folder).map_err(write_error(&folder))?;
        let made = self.make_in(&folder, &number, abi, sources, flags);
        let _ = std::fs::remove_dir_all(&folder);
        made
    }

    fn make_in(
        &self,
        folder: &Path,
        number: &str,
        abi: Abi,
        sources: &[(String, String)],
        flags: &[String],
    ) -> Result<MadeProgram, Error> {
        let mut words = self.command(abi, flags)?;
        words.extend(["-o".to_owned(), format!("{number}/{PROGRAM}")]);
        for (name, text) in sources {
            let path = folder.join(name);
            std::fs::write(&path, text).map_err(write_error(&path))?;
            words.push(format!("{number}/{name}"));
        }
        let Ran { ended, stderr, .. } = self.scratch.run(&words, None)?;
        let said = stderr.replace(&format!("{number}/"), "");
        if !ended.is_success() {
            return Err(Error::Compiler {
                build: format!("{}/{abi}/generated", self.toolchain().name),
                step: "make".to_owned(),
                command: words.join(" "),
                ended: ended.to_string(),
                stderr: said.trim().to_owned(),
            });
        }
        let path = folder.join(PROGRAM);
        let bytes = std::fs::read(&path).map_err(|source| Error::Read { path, source })?;
        Ok(MadeProgram { bytes, said })
    }
}
