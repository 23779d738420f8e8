//! The place where one toolchain works: its root, a scratch folder in it with a
//! copy of the sources, and the commands that run there.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use object::{Object, ObjectSymbol};
use sframe_engine::Abi;
use tempfile::TempDir;

use super::command::{Ran, run};
use super::program::{START, runtime_functions};
use super::steps::{Part, Place, Step, Steps, shell};
use super::toolchain::AbiTools;
use super::{Error, Program, ProgramObject, Toolchain, Variant};

/// The folder below a root in which scratch folders are created.
const SCRATCH: &str = "build";

/// The maximum size of a file that a compiler makes.
const MAX_OUTPUT: u64 = 1 << 30;

/// One toolchain, ready to compile.
pub(super) struct Workshop {
    toolchain: Toolchain,
    /// The root to change into, if the toolchain has one.
    root: Option<PathBuf>,
    /// Contains the sources in `programs` and the output in `out`.
    scratch: TempDir,
    /// The scratch folder as seen from inside the root.
    inside: PathBuf,
    /// The functions of the runtime, and the source of each.
    runtime: BTreeMap<String, String>,
    /// The time limit of each command.
    limit: Option<Duration>,
}

/// One build to make: a program, and everything that determines how it is compiled.
pub(super) struct Order<'a> {
    pub(super) id: &'a str,
    pub(super) abi: Abi,
    pub(super) tools: &'a AbiTools,
    pub(super) program: &'a Program,
    pub(super) variant: &'static Variant,
}

/// The version lines of the tools of one ABI.
#[derive(Debug, Clone)]
pub(super) struct Versions {
    pub(super) compiler: String,
    pub(super) binutils: String,
    pub(super) rust: Option<String>,
}

/// The output of a compiler.
pub(super) struct Product {
    /// The ELF file.
    pub(super) bytes: Vec<u8>,
    /// The command, as in the manifest.
    pub(super) command: String,
    /// The sources of the program and of the parts of the runtime that it uses.
    pub(super) sources: Vec<String>,
    /// Complaints of the compiler, the assembler and the linker.
    pub(super) warnings: Vec<String>,
    /// The libraries that it is linked with, by file name.
    pub(super) libraries: Vec<(String, Product)>,
}

impl Workshop {
    /// Copies the sources of `corpus_dir` to a place that `toolchain` can see.
    pub(super) fn open(
        toolchain: Toolchain,
        corpus_dir: &Path,
        toolchains_dir: &Path,
    ) -> Result<Self, Error> {
        let root = toolchain.root_dir(toolchains_dir)?;
        Self::open_in(toolchain, corpus_dir, root, &std::env::temp_dir(), "corpus-", None)
    }

    /// The same, with scratch folders whose names start with `prefix`, in `parent`
    /// or otherwise in the root, and a time limit for each command.
    pub(super) fn open_in(
        toolchain: Toolchain,
        corpus_dir: &Path,
        root: Option<PathBuf>,
        parent: &Path,
        prefix: &str,
        limit: Option<Duration>,
    ) -> Result<Self, Error> {
        let parent = Self::scratch_parent(root.as_deref(), parent);
        std::fs::create_dir_all(&parent).map_err(write_error(&parent))?;
        let scratch =
            tempfile::Builder::new().prefix(prefix).tempdir_in(&parent).map_err(write_error(&parent))?;
        let inside = match (&root, scratch.path().file_name()) {
            (Some(_), Some(name)) => Path::new("/").join(SCRATCH).join(name),
            _ => scratch.path().to_path_buf(),
        };

        copy_tree(&corpus_dir.join("programs"), &scratch.path().join("programs"))?;
        let out = scratch.path().join("out");
        std::fs::create_dir(&out).map_err(write_error(&out))?;
        for (abi, tools) in &toolchain.abis {
            let folder = scratch.path().join(tools_folder(*abi));
            for (name, tool) in tools.chosen() {
                std::fs::create_dir_all(&folder).map_err(write_error(&folder))?;
                let link = folder.join(name);
                std::os::unix::fs::symlink(tool, &link).map_err(write_error(&link))?;
            }
        }
        let runtime = runtime_functions(&scratch.path().join("programs"))?;
        Ok(Self { toolchain, root, scratch, inside, runtime, limit })
    }

    /// Returns where scratch folders are created.
    pub(super) fn scratch_parent(root: Option<&Path>, parent: &Path) -> PathBuf {
        root.map_or_else(|| parent.to_path_buf(), |root| root.join(SCRATCH))
    }

    pub(super) fn toolchain(&self) -> &Toolchain {
        &self.toolchain
    }

    /// Asks the tools of one ABI for their versions.
    pub(super) fn versions(&self, tools: &AbiTools) -> Result<Versions, Error> {
        let binutils = match tools.assembler.as_ref().or(tools.linker.as_ref()) {
            Some(tool) => tool.clone(),
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

    /// Returns the sources that one file needs: its own, the entry point of
    /// programs, and the functions of the runtime that these use, directly or
    /// indirectly.
    ///
    /// Only the compiler knows which: it calls `memcpy` where no source does. A
    /// function that nothing calls would never be exercised by any run.
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

    /// Returns the symbols that one source uses and does not define.
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

    /// Makes one file, and returns it with the commands as in the manifest, and the
    /// tools' output.
    fn make(
        &self,
        order: &Order<'_>,
        part: &Part<'_>,
        steps: impl Fn(Steps<'_>) -> Result<Vec<Step>, Error>,
    ) -> Result<(Vec<u8>, String, String), Error> {
        let manifest = Place::of_manifest();
        let commands = steps(Steps::new(&self.toolchain, order.tools, part, &manifest))?;
        // Programs of several toolchains or ABIs have files of the same name.
        let folder = order.id.rsplit_once('/').map_or("", |(folder, _)| folder).replace('/', "-");
        let here = self.inside.join("programs").display().to_string();
        let tools = self.inside.join(tools_folder(order.abi)).display().to_string();
        let place = Place { here, made: format!("../out/{folder}-"), tools };
        let path = self.scratch.path().join("out").join(format!("{folder}-{}", part.name));
        // An existing file is from an earlier command.
        if let Err(error) = std::fs::remove_file(&path)
            && error.kind() != std::io::ErrorKind::NotFound
        {
            return Err(write_error(&path)(error));
        }

        let mut said = String::new();
        let mut last = String::new();
        for (step, command) in
            steps(Steps::new(&self.toolchain, order.tools, part, &place))?.iter().zip(&commands)
        {
            let Ran { ended, stderr, .. } = self.run(step)?;
            if !ended.is_success() {
                return Err(Error::Compiler {
                    build: order.id.to_owned(),
                    step: step.what.clone(),
                    command: shell(std::slice::from_ref(command)),
                    ended: ended.to_string(),
                    stderr: stderr.trim().to_owned(),
                });
            }
            said.push_str(&stderr);
            last.clone_from(&step.what);
        }
        let bytes = match std::fs::metadata(&path) {
            Ok(file) if file.is_file() && file.len() <= MAX_OUTPUT => std::fs::read(&path),
            Ok(_) => Err(std::io::Error::other("no regular file, or one of more than 1 GiB")),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                let command = shell(&commands);
                return Err(Error::NoOutput { build: order.id.to_owned(), step: last, command });
            }
            Err(error) => Err(error),
        };
        let bytes = bytes.map_err(|source| Error::Read { path, source })?;
        Ok((bytes, shell(&commands), said))
    }

    /// Runs a command in the copy of `programs`, inside the root.
    fn run(&self, step: &Step) -> Result<Ran, Error> {
        let command = self.command(&step.arguments);
        let program = command.get_program().to_string_lossy().into_owned();
        run(command, step.input.as_deref(), self.limit)
            .map_err(|source| Error::Start { command: program, source })
    }

    fn command(&self, words: &[String]) -> Command {
        let programs = self.inside.join("programs");
        if let Some(root) = &self.root {
            let mut command = Command::new("chroot");
            command.arg(root);
            command.args(["/usr/bin/env", "-i", "-C"]);
            command.arg(&programs);
            command.args(["LC_ALL=C", "SOURCE_DATE_EPOCH=0"]);
            let mut path = OsString::from("PATH=");
            path.push(self.search_path(OsStr::new("/usr/bin:/bin")));
            command.arg(path);
            command.args(words);
            return command;
        }
        let words = self.wrapped(words);
        let mut words = words.iter();
        let mut command = Command::new(words.next().map_or("", String::as_str));
        command.args(words);
        command.current_dir(&programs);
        command.envs([("LC_ALL", "C"), ("SOURCE_DATE_EPOCH", "0")]);
        if !self.toolchain.path.is_empty() {
            let own = std::env::var_os("PATH").unwrap_or_default();
            command.env("PATH", self.search_path(&own));
        }
        command
    }

    /// Returns the search path with the toolchain's folders first.
    fn search_path(&self, others: &OsStr) -> OsString {
        let mut path = OsString::new();
        for folder in &self.toolchain.path {
            path.push(folder);
            path.push(":");
        }
        path.push(others);
        path
    }

    /// Returns a command with the words of the wrapper around it.
    fn wrapped(&self, words: &[String]) -> Vec<String> {
        let wrapper = &self.toolchain.wrapper;
        let work = self.inside.display().to_string();
        let sources = self.inside.join("programs").display().to_string();
        let command = || shlex::try_join(words.iter().map(String::as_str)).unwrap_or_default();
        let expanded = |word: &String| {
            let word = word.replace("{sources}", &sources).replace("{work}", &work);
            if word.contains("{command}") { word.replace("{command}", &command()) } else { word }
        };
        let mut all: Vec<String> = wrapper.iter().map(expanded).collect();
        if !wrapper.iter().any(|word| word.contains("{command}")) {
            all.extend(words.iter().cloned());
        }
        all
    }

    /// Returns the first line that a command prints.
    pub(super) fn first_line(&self, words: &[&str]) -> Result<String, Error> {
        let arguments: Vec<String> = words.iter().map(|&word| word.to_owned()).collect();
        let step = Step { what: String::new(), arguments, input: None };
        let Ran { ended, stdout, stderr } = self.run(&step)?;
        let line = stdout.lines().next().map(str::trim).filter(|line| !line.is_empty());

        match line {
            Some(line) if ended.is_success() => Ok(line.to_owned()),
            _ => Err(Error::Tool {
                toolchain: self.toolchain.name.clone(),
                command: step.arguments.join(" "),
                ended: ended.to_string(),
                stderr: stderr.trim().to_owned(),
            }),
        }
    }
}

/// Returns the folder of an ABI's tools that the compiler is made to call.
fn tools_folder(abi: Abi) -> String {
    format!("tools-{abi}")
}

/// Returns the tools' complaints, without the names of temporary files.
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
