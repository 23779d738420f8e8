//! The place where one toolchain works: its root, a scratch folder in it with a
//! copy of the sources, and the commands that run there.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{Seek, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use object::{Object, ObjectSymbol};
use tempfile::TempDir;

use super::program::{START, runtime_functions};
use super::steps::{Part, Place, Step, Steps, shell};
use super::toolchain::AbiTools;
use super::{Error, Program, ProgramObject, Toolchain, Variant};

/// The folder below a root in which scratch folders are made.
const SCRATCH: &str = "build";

/// One toolchain, ready to compile.
pub(super) struct Workshop {
    toolchain: Toolchain,
    /// The root to change into, if the toolchain has one.
    root: Option<PathBuf>,
    /// Holds the sources in `programs` and what comes out in `out`.
    scratch: TempDir,
    /// The scratch folder as seen from inside the root.
    inside: PathBuf,
    /// The functions of the runtime, and the source of each.
    runtime: BTreeMap<String, String>,
}

/// One build to make: a program, and everything that decides how it is compiled.
pub(super) struct Order<'a> {
    pub(super) id: &'a str,
    pub(super) tools: &'a AbiTools,
    pub(super) program: &'a Program,
    pub(super) variant: &'static Variant,
}

/// What the compiler of one ABI calls itself.
#[derive(Debug, Clone)]
pub(super) struct Versions {
    pub(super) compiler: String,
    pub(super) binutils: String,
    pub(super) rust: Option<String>,
}

/// What a compiler made.
pub(super) struct Product {
    /// The ELF file.
    pub(super) bytes: Vec<u8>,
    /// The command, as the manifest has it.
    pub(super) command: String,
    /// The sources of the program and of what it uses of the runtime.
    pub(super) sources: Vec<String>,
    /// What the compiler, the assembler and the linker complained about.
    pub(super) warnings: Vec<String>,
    /// The libraries that it is linked with, by the names of their files.
    pub(super) libraries: Vec<(String, Product)>,
}

impl Workshop {
    /// Copies the sources of `corpus_dir` to where `toolchain` can see them.
    pub(super) fn open(
        toolchain: Toolchain,
        corpus_dir: &Path,
        toolchains_dir: &Path,
    ) -> Result<Self, Error> {
        let root = match &toolchain.root {
            None => None,
            Some(_) => {
                let path = toolchains_dir.join(&toolchain.name);
                if !path.join("usr/bin").is_dir() {
                    return Err(Error::NoRoot { toolchain: toolchain.name, path });
                }
                Some(path)
            }
        };
        let parent = match &root {
            Some(root) => root.join(SCRATCH),
            None => std::env::temp_dir(),
        };
        std::fs::create_dir_all(&parent).map_err(write_error(&parent))?;
        let scratch =
            tempfile::Builder::new().prefix("corpus-").tempdir_in(&parent).map_err(write_error(&parent))?;
        let inside = match (&root, scratch.path().file_name()) {
            (Some(_), Some(name)) => Path::new("/").join(SCRATCH).join(name),
            _ => scratch.path().to_path_buf(),
        };

        copy_tree(&corpus_dir.join("programs"), &scratch.path().join("programs"))?;
        let out = scratch.path().join("out");
        std::fs::create_dir(&out).map_err(write_error(&out))?;
        let runtime = runtime_functions(&scratch.path().join("programs"))?;
        Ok(Self { toolchain, root, scratch, inside, runtime })
    }

    pub(super) fn toolchain(&self) -> &Toolchain {
        &self.toolchain
    }

    /// Asks the tools of one ABI which ones they are.
    pub(super) fn versions(&self, tools: &AbiTools) -> Result<Versions, Error> {
        let binutils = match &tools.linker {
            Some(linker) => linker.clone(),
            None => self.first_line(&[&tools.compiler, "-print-prog-name=as"])?,
        };
        let rust = tools.rust.as_ref().map(|rust| self.first_line(&[rust, "--version"]));

        Ok(Versions {
            compiler: self.first_line(&[&tools.compiler, "--version"])?,
            binutils: self.first_line(&[&binutils, "--version"])?,
            rust: rust.transpose()?,
        })
    }

    /// Compiles one build: its libraries, then the program.
    pub(super) fn compile(&self, order: &Order<'_>) -> Result<Product, Error> {
        let Order { program, variant, .. } = order;
        let name = format!("{}.{}", program.name, variant.name);
        let file_of = |library: &str| format!("{name}.{library}.so");
        let mut libraries = Vec::new();
        for library in &program.libraries {
            let name = file_of(&library.name);
            let mut ldflags = library.ldflags.clone();
            ldflags.push(format!("-Wl,-soname,{name}"));
            let part = Part {
                id: order.id,
                name: name.clone(),
                sources: &library.sources,
                start: None,
                objects: &[],
                variant,
                flags: variant.library_flags.unwrap_or_default(),
                cflags: &library.cflags,
                ldflags,
                libraries: library.needed.iter().map(|needed| file_of(needed)).collect(),
            };
            libraries.push((name, self.compile_part(order, &part)?));
        }
        let part = Part {
            id: order.id,
            name: name.clone(),
            sources: &program.sources,
            start: Some(START),
            objects: &program.objects,
            variant,
            flags: variant.flags,
            cflags: &program.cflags,
            ldflags: program.ldflags.clone(),
            libraries: libraries.iter().map(|(name, _)| name.clone()).collect(),
        };
        Ok(Product { libraries, ..self.compile_part(order, &part)? })
    }

    fn compile_part(&self, order: &Order<'_>, part: &Part<'_>) -> Result<Product, Error> {
        let sources = self.sources(order, part)?;
        let (bytes, command, stderr) = self.make(order, part, |steps| steps.link(&sources))?;
        let apart = part.objects.iter().flat_map(|object| object.sources.iter().cloned());
        Ok(Product {
            bytes,
            command,
            sources: sources.iter().cloned().chain(apart).collect(),
            warnings: warnings(&stderr),
            libraries: Vec::new(),
        })
    }

    /// The sources that one file needs: its own, the entry point of programs,
    /// and of the runtime the functions that these use, or those use in turn.
    ///
    /// Only the compiler knows: it calls `memcpy` where no source does. A
    /// function that nothing calls would be one that no run ever exercises.
    fn sources(&self, order: &Order<'_>, part: &Part<'_>) -> Result<Vec<String>, Error> {
        let mut sources = part.sources.to_vec();
        sources.extend(part.start.map(str::to_owned));
        let given = sources.len();
        let mut seen = 0;
        let needs = |functions: BTreeSet<String>, sources: &mut Vec<String>| {
            for needed in functions.iter().filter_map(|function| self.runtime.get(function)) {
                if !sources.contains(needed) {
                    sources.push(needed.clone());
                }
            }
        };

        for object in part.objects {
            for source in &object.sources {
                needs(self.undefined(order, part, source, Some(object))?, &mut sources);
            }
        }
        while let Some(source) = sources.get(seen).cloned() {
            needs(self.undefined(order, part, &source, None)?, &mut sources);
            seen += 1;
        }
        if let Some(runtime) = sources.get_mut(given..) {
            runtime.sort();
        }
        Ok(sources)
    }

    /// The symbols that one source uses and does not define.
    fn undefined(
        &self,
        order: &Order<'_>,
        part: &Part<'_>,
        source: &str,
        object: Option<&ProgramObject>,
    ) -> Result<BTreeSet<String>, Error> {
        let (bytes, ..) = self.make(order, part, |steps| steps.compile(source, object))?;
        let file = object::File::parse(bytes.as_slice())
            .map_err(|error| Error::NotElf { build: order.id.to_owned(), message: error.to_string() })?;

        let undefined = file.symbols().filter(|symbol| symbol.is_undefined());
        Ok(undefined.filter_map(|symbol| Some(symbol.name().ok()?.to_owned())).collect())
    }

    /// Makes one file, and returns it with the commands as the manifest has
    /// them, and with what the tools said.
    fn make(
        &self,
        order: &Order<'_>,
        part: &Part<'_>,
        steps: impl Fn(Steps<'_>) -> Result<Vec<Step>, Error>,
    ) -> Result<(Vec<u8>, String, String), Error> {
        let manifest = Place::of_manifest();
        let commands = steps(Steps::new(&self.toolchain, order.tools, part, &manifest))?;
        // Programs of several toolchains' ABIs have files of the same name.
        let folder = order.id.rsplit_once('/').map_or("", |(folder, _)| folder).replace('/', "-");
        let here = self.inside.join("programs").display().to_string();
        let place = Place { here, made: format!("../out/{folder}-") };

        let mut said = String::new();
        for step in steps(Steps::new(&self.toolchain, order.tools, part, &place))? {
            let result = self.run(&step)?;
            let stderr = String::from_utf8_lossy(&result.stderr);
            if !result.status.success() {
                return Err(Error::Compiler {
                    build: order.id.to_owned(),
                    command: shell(&commands),
                    stderr: stderr.trim().to_owned(),
                });
            }
            said.push_str(&stderr);
        }
        let path = self.scratch.path().join("out").join(format!("{folder}-{}", part.name));
        let bytes = std::fs::read(&path).map_err(|source| Error::Read { path, source })?;
        Ok((bytes, shell(&commands), said))
    }

    /// Runs a command in the copy of `programs`, inside the root.
    fn run(&self, step: &Step) -> Result<Output, Error> {
        let programs = self.inside.join("programs");
        let mut command = match &self.root {
            Some(root) => {
                let mut command = Command::new("chroot");
                command.arg(root);
                command.args(["/usr/bin/env", "-i", "-C"]);
                command.arg(&programs);
                command.args(["LC_ALL=C", "SOURCE_DATE_EPOCH=0", "PATH=/usr/bin:/bin"]);
                command.args(&step.arguments);
                command
            }
            None => {
                let mut words = step.arguments.iter();
                let mut command = Command::new(words.next().map_or("", String::as_str));
                command.args(words);
                command.current_dir(&programs);
                command.envs([("LC_ALL", "C"), ("SOURCE_DATE_EPOCH", "0")]);
                command
            }
        };
        let program = command.get_program().to_string_lossy().into_owned();
        let start = |source| Error::Start { command: program.clone(), source };
        let Some(input) = &step.input else {
            return command.stdin(Stdio::null()).output().map_err(start);
        };
        // A file, not a pipe: nobody has to write while others read.
        let mut file = tempfile::tempfile().map_err(start)?;
        file.write_all(input.as_bytes()).and_then(|()| file.rewind()).map_err(start)?;
        command.stdin(file).output().map_err(start)
    }

    /// The first line that a command prints.
    fn first_line(&self, words: &[&str]) -> Result<String, Error> {
        let arguments: Vec<String> = words.iter().map(|&word| word.to_owned()).collect();
        let output = self.run(&Step { arguments: arguments.clone(), input: None })?;
        let line = String::from_utf8_lossy(&output.stdout)
            .lines()
            .next()
            .map(|line| line.trim().to_owned())
            .filter(|line| !line.is_empty());

        match line {
            Some(line) if output.status.success() => Ok(line),
            _ => Err(Error::Tool {
                toolchain: self.toolchain.name.clone(),
                command: arguments.join(" "),
                stderr: String::from_utf8_lossy(&output.stderr).trim().to_owned(),
            }),
        }
    }
}

/// What tools complained about, without the names of temporary files.
fn warnings(stderr: &str) -> Vec<String> {
    stderr
        .lines()
        .filter(|line| !line.ends_with(": Assembler messages:"))
        .map(|line| match line.split_once(": Warning: ") {
            Some((_, message)) => message.to_owned(),
            None => line.trim().to_owned(),
        })
        .filter(|line| !line.is_empty())
        .collect()
}

fn copy_tree(from: &Path, to: &Path) -> Result<(), Error> {
    let read_error = |source| Error::Read { path: from.to_path_buf(), source };

    std::fs::create_dir(to).map_err(write_error(to))?;
    for entry in std::fs::read_dir(from).map_err(read_error)? {
        let entry = entry.map_err(read_error)?;
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy_tree(&entry.path(), &target)?;
        } else {
            std::fs::copy(entry.path(), &target).map_err(write_error(&target))?;
        }
    }
    Ok(())
}

pub(super) fn write_error(path: &Path) -> impl Fn(std::io::Error) -> Error {
    move |source| Error::Write { path: path.to_path_buf(), source }
}
