//! Makes programs of sources that are given, one after another, with one toolchain.

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use sframe_engine::Abi;
use sframe_judge::examine::stop::StopRequest;
use tempfile::TempDir;

use super::command::Ran;
use super::scratch::{Scratch, write_error};
use super::toolchain::AbiTools;
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
    /// Prepares a toolchain, whose commands end as soon as that is asked for.
    ///
    /// # Errors
    /// Its root is not there, or no folder can be made.
    pub fn open(toolchain: Toolchain, toolchains_dir: &Path, stop: &StopRequest) -> Result<Self, Error> {
        let root = toolchain.root_dir(toolchains_dir)?;
        let scratch = Scratch::open(toolchain, root, &std::env::temp_dir(), "generated-", Some(LIMIT), stop)?;
        let folder = scratch.sources();
        std::fs::create_dir(&folder).map_err(write_error(&folder))?;
        Ok(Self { scratch, made: AtomicU64::new(0) })
    }

    /// What ends its commands.
    #[must_use]
    pub const fn stop(&self) -> &StopRequest {
        self.scratch.stop()
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
        let own: Vec<String> = ["-nostdlib", "-static", "-no-pie"].map(str::to_owned).to_vec();
        self.words(abi, &own, true, flags)
    }

    /// The first line that a command prints, if it prints one and does not fail.
    pub(super) fn line(&self, words: &[&str]) -> Option<String> {
        self.scratch.first_line(words).ok()
    }

    /// The linker that the compiler for an ABI calls, as it says; `None` if it compiles for no such ABI, or does not say.
    pub fn linker(&self, abi: Abi) -> Option<String> {
        let tools = self.tools(abi).ok()?;
        if let Some(linker) = &tools.linker {
            return Some(linker.clone());
        }
        let flags = || self.toolchain().flags.iter().chain(&tools.flags);
        let kind = flags().filter_map(|flag| flag.strip_prefix("-fuse-ld=")).next_back();
        let name = kind.map_or_else(|| "ld".to_owned(), |kind| format!("ld.{kind}"));
        let asked = format!("-print-prog-name={name}");
        let words = std::iter::once(tools.compiler.as_str()).chain(tools.flags.iter().map(String::as_str));
        self.line(&words.chain([asked.as_str()]).collect::<Vec<_>>())
    }

    /// Makes a folder that the tools see.
    pub fn folder(&self) -> std::io::Result<TempDir> {
        tempfile::Builder::new().prefix("links-").tempdir_in(self.scratch.path())
    }

    /// Runs a command in such a folder.
    pub fn run_in(&self, folder: &Path, words: &[String]) -> Result<Ran, Error> {
        // Commands run in the folder of the sources, beside it.
        let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let enter = ["sh", "-c", "cd \"../$0\" && exec \"$@\"", &name].map(str::to_owned);
        let words: Vec<String> = enter.into_iter().chain(words.iter().cloned()).collect();
        self.scratch.run(&words, None)
    }

    fn tools(&self, abi: Abi) -> Result<&AbiTools, Error> {
        let toolchain = self.toolchain();
        let none = || Error::NoCompiler { toolchain: toolchain.name.clone(), abi };
        toolchain.abis.get(&abi).ok_or_else(none)
    }

    /// The words of a command, with flags before and after those of the toolchain.
    fn words(
        &self,
        abi: Abi,
        before: &[String],
        writes_sframe: bool,
        flags: &[String],
    ) -> Result<Vec<String>, Error> {
        let toolchain = self.toolchain();
        let tools = self.tools(abi)?;
        let mut words = vec![tools.compiler.clone()];
        words.extend(before.iter().cloned());
        if writes_sframe {
            words.extend(toolchain.sframe_flags.iter().cloned());
        }
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
            write_source(folder, name, text)?;
            words.push(format!("{number}/{name}"));
        }
        let said = self.step(abi, number, "make", &words)?;
        Ok(MadeProgram { bytes: read_program(folder)?, said })
    }

    /// Makes a program of objects that are compiled and joined each in its own way.
    ///
    /// # Errors
    /// As for [`Self::make`].
    pub fn link(&self, abi: Abi, recipe: &Recipe) -> Result<MadeProgram, Error> {
        let number = self.made.fetch_add(1, Ordering::Relaxed).to_string();
        let folder = self.scratch.sources().join(&number);
        std::fs::create_dir(&folder).map_err(write_error(&folder))?;
        let made = self.link_in(&folder, &number, abi, recipe);
        let _ = std::fs::remove_dir_all(&folder);
        made
    }

    fn link_in(&self, folder: &Path, number: &str, abi: Abi, recipe: &Recipe) -> Result<MadeProgram, Error> {
        for (name, text) in &recipe.sources {
            write_source(folder, name, text)?;
        }
        let (mut said, mut inputs) = (String::new(), Vec::new());
        for (index, object) in recipe.objects.iter().enumerate() {
            let mut made = Vec::new();
            for source in &object.sources {
                let output = format!("{number}/{source}.o");
                let flags: Vec<String> = recipe.compile.iter().chain(&object.flags).cloned().collect();
                let mut words = self.words(abi, &["-c".to_owned()], object.writes_sframe, &flags)?;
                words.extend(["-o".to_owned(), output.clone(), format!("{number}/{source}")]);
                said.push_str(&self.step(abi, number, "compile", &words)?);
                made.push(output);
            }
            inputs.extend(match object.joint {
                Joint::Apart => made,
                Joint::Relocatable => {
                    let output = format!("{number}/object{index}.o");
                    let before = ["-nostdlib", "-r"].map(str::to_owned);
                    let mut words = self.words(abi, &before, object.writes_sframe, &[])?;
                    words.extend(["-o".to_owned(), output.clone()]);
                    words.extend(made);
                    said.push_str(&self.step(abi, number, "link partially", &words)?);
                    vec![output]
                }
                Joint::Archive => {
                    let output = format!("{number}/lib{index}.a");
                    let mut words = vec![self.archiver(abi)?, "rcs".to_owned(), output.clone()];
                    words.extend(made);
                    said.push_str(&self.step(abi, number, "archive", &words)?);
                    vec![output]
                }
            });
        }
        let flags: Vec<String> = recipe.compile.iter().chain(&recipe.link).cloned().collect();
        let mut words = self.words(abi, &["-nostdlib".to_owned()], true, &flags)?;
        words.extend(["-o".to_owned(), format!("{number}/{PROGRAM}")]);
        // Archives need one another's functions.
        words.push("-Wl,--start-group".to_owned());
        words.extend(inputs);
        words.push("-Wl,--end-group".to_owned());
        said.push_str(&self.step(abi, number, "link", &words)?);
        Ok(MadeProgram { bytes: read_program(folder)?, said })
    }

    /// The program that makes archives: it is named like the compiler.
    fn archiver(&self, abi: Abi) -> Result<String, Error> {
        let compiler = &self.tools(abi)?.compiler;
        let prefix = compiler.rfind("gcc").map_or("", |at| &compiler[..at]);
        Ok(format!("{prefix}ar"))
    }

    /// Runs one command. Returns what it said.
    fn step(&self, abi: Abi, number: &str, what: &str, words: &[String]) -> Result<String, Error> {
        let Ran { ended, stderr, .. } = self.scratch.run(words, None)?;
        let said = stderr.replace(&format!("{number}/"), "");
        if ended.is_success() {
            return Ok(said);
        }
        Err(Error::Compiler {
            build: format!("{}/{abi}/generated", self.toolchain().name),
            step: what.to_owned(),
            command: words.join(" "),
            ended: ended.to_string(),
            stderr: said.trim().to_owned(),
        })
    }
}

/// How a program of several objects is made.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recipe {
    /// All files, by name: sources, and what they include.
    pub sources: Vec<(String, String)>,
    /// What is compiled.
    pub objects: Vec<RecipeObject>,
    /// Flags of the compiler, for all objects and when it links.
    pub compile: Vec<String>,
    /// Flags of the linker.
    pub link: Vec<String>,
}

/// Some sources that are joined before they are linked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecipeObject {
    /// The sources, by name.
    pub sources: Vec<String>,
    /// Flags of their own.
    pub flags: Vec<String>,
    /// Whether the assembler's options make it write SFrame.
    pub writes_sframe: bool,
    /// How they are joined.
    pub joint: Joint,
}

/// How objects are joined before they are linked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Joint {
    /// Not at all.
    Apart,
    /// By the linker, into another object.
    Relocatable,
    /// In an archive.
    Archive,
}

fn write_source(folder: &Path, name: &str, text: &str) -> Result<(), Error> {
    let path = folder.join(name);
    std::fs::write(&path, text).map_err(write_error(&path))
}

fn read_program(folder: &Path) -> Result<Vec<u8>, Error> {
    let path = folder.join(PROGRAM);
    std::fs::read(&path).map_err(|source| Error::Read { path, source })
}
