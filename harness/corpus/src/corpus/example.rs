//! Programs that are not of the corpus: a few sources, and the commands that make one of them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use sframe_judge::examine::stop::StopRequest;

use super::command::Ran;
use super::scratch::{Scratch, write_error};
use super::{Error, Toolchain};
use crate::spec::Example;

/// The time limit of each command.
const LIMIT: Duration = Duration::from_secs(60);

/// The folder of the committed build of an example.
#[must_use]
pub fn example_folder(corpus: &Path, id: &str) -> PathBuf {
    corpus.join("faults").join(id)
}

/// An example that was made. It is removed when this is dropped.
pub struct MadeExample {
    /// Has the program, and is removed with this.
    _scratch: Scratch,
    program: PathBuf,
}

impl MadeExample {
    /// Makes an example in the way that its commands say. `id` is its name in errors.
    ///
    /// # Errors
    /// The toolchain is not there, a command fails, or an end was asked for.
    pub fn make(
        id: &str,
        example: &Example,
        toolchain: &Toolchain,
        toolchains_dir: &Path,
        stop: &StopRequest,
    ) -> Result<Self, Error> {
        Self::make_as(id, example, (toolchain, toolchains_dir), BTreeMap::new(), stop)
    }

    /// Makes the example with another toolchain than the commands are for: in place of the compiler of
    /// `written_for`, this one's is called.
    ///
    /// # Errors
    /// As for [`Self::make`]; the other toolchain does not compile for the ABI.
    pub fn make_instead(
        id: &str,
        example: &Example,
        written_for: &Toolchain,
        (toolchain, toolchains_dir): (&Toolchain, &Path),
        stop: &StopRequest,
    ) -> Result<Self, Error> {
        let none =
            |toolchain: &Toolchain| Error::NoCompiler { toolchain: toolchain.name.clone(), abi: example.abi };
        let from = written_for.abis.get(&example.abi).ok_or_else(|| none(written_for))?;
        let to = toolchain.abis.get(&example.abi).ok_or_else(|| none(toolchain))?;
        let mut compiler = vec![to.compiler.clone()];
        compiler.extend(to.flags.iter().cloned());
        let instead = BTreeMap::from([(&*from.compiler, compiler)]);
        Self::make_as(id, example, (toolchain, toolchains_dir), instead, stop)
    }

    /// Makes it with other words in place of the first one of a command.
    fn make_as(
        id: &str,
        example: &Example,
        (toolchain, toolchains_dir): (&Toolchain, &Path),
        instead: BTreeMap<&str, Vec<String>>,
        stop: &StopRequest,
    ) -> Result<Self, Error> {
        let root = toolchain.root_dir(toolchains_dir)?;
        let parent = std::env::temp_dir();
        let scratch = Scratch::open(toolchain.clone(), root, &parent, "example-", Some(LIMIT), stop)?;
        let folder = scratch.sources();
        std::fs::create_dir(&folder).map_err(write_error(&folder))?;
        for (name, text) in &example.sources {
            let path = folder.join(name);
            std::fs::write(&path, text).map_err(write_error(&path))?;
        }
        let build = format!("{}/{}/{id}", toolchain.name, example.abi);
        for command in &example.commands {
            // Pages are checked when they are read.
            let mut words = shlex::split(command).unwrap_or_default();
            if let Some(compiler) = words.first().and_then(|first| instead.get(&**first)) {
                let chosen = toolchain.abis.get(&example.abi).is_some_and(|tools| tools.chosen().count() > 0);
                let tools = format!("-B{}/", scratch.tools_inside(example.abi).display());
                words.splice(..1, compiler.iter().cloned().chain(chosen.then_some(tools)));
            }
            let Ran { ended, stderr, .. } = scratch.run(&words, None)?;
            if !ended.is_success() {
                let (ended, stderr) = (ended.to_string(), stderr.trim().to_owned());
                return Err(Error::Compiler {
                    build,
                    step: command.clone(),
                    command: words.join(" "),
                    ended,
                    stderr,
                });
            }
        }
        let program = folder.join(&example.program);
        if program.is_file() {
            Ok(Self { _scratch: scratch, program })
        } else {
            let command = example.commands.join(" && ");
            Err(Error::NoOutput { build, step: "link".to_owned(), command })
        }
    }

    /// The program. Its libraries are beside it.
    #[must_use]
    pub fn program(&self) -> &Path {
        &self.program
    }
}
