//! The place where one toolchain works: a scratch folder with a copy of the sources,
//! and the builds that are made there.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::Duration;

use object::{Object, ObjectSymbol};
use sframe_judge::examine::stop::StopRequest;

use super::command::Ran;
use super::order::{Order, Parts};
use super::program::runtime_functions;
use super::scratch::{Scratch, write_error};
use super::steps::{Part, Place, Step, Steps, shell};
use super::toolchain::AbiTools;
use super::{Error, ProgramObject, Toolchain};

/// The maximum size of a file that a compiler makes.
const MAX_OUTPUT: u64 = 1 << 30;

/// One toolchain, ready to compile.
pub(super) struct Workshop {
    /// Contains the sources, and the output in `out`.
    scratch: Scratch,
    /// The functions of the runtime, and the source of each.
    runtime: BTreeMap<String, String>,
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
        stop: &StopRequest,
    ) -> Result<Self, Error> {
        let root = toolchain.root_dir(toolchains_dir)?;
        Self::open_in(toolchain, corpus_dir, root, (&std::env::temp_dir(), "corpus-"), None, stop)
    }

    /// Opens a workshop with scratch folders whose names start with `prefix`, in `parent`
    /// or otherwise in the root, and a time limit for each command.
    pub(super) fn open_in(
        toolchain: Toolchain,
        corpus_dir: &Path,
        root: Option<PathBuf>,
        (parent, prefix): (&Path, &str),
        limit: Option<Duration>,
        stop: &StopRequest,
    ) -> Result<Self, Error> {
        let scratch = Scratch::open(toolchain, root, parent, prefix, limit, stop)?;
        copy_tree(&corpus_dir.join("programs"), &scratch.sources())?;
        let out = scratch.path().join("out");
        std::fs::create_dir(&out).map_err(write_error(&out))?;
        let runtime = runtime_functions(&scratch.sources())?;
        Ok(Self { scratch, runtime })
    }

    pub(super) fn toolchain(&self) -> &Toolchain {
        self.scratch.toolchain()
    }

    /// Returns the first line that a command prints.
    pub(super) fn first_line(&self, words: &[&str]) -> Result<String, Error> {
        self.scratch.first_line(words)
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
        let Parts { libraries, program } = order.parts();
        let libraries = libraries.into_iter().map(|part| {
            let product = self.compile_part(order, &part)?;
            Ok((part.name, product))
        });
        Ok(Product {
            libraries: libraries.collect::<Result<_, Error>>()?,
            ..self.compile_part(order, &program)?
        })
    }

    fn compile_part(&self, order: &Order<'_>, part: &Part<'_>) -> Result<Product, Error> {
        let sources = self.sources(order, part)?;
        let (bytes, command, stderr) = self.make(order, part, |steps| steps.link(&sources))?;
        Ok(Product {
            bytes,
            command,
            sources: part.with_objects(sources),
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
        let mut sources: Vec<String> = part.given_sources().collect();
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
        let commands = steps(Steps::new(self.toolchain(), order.tools, part, &manifest))?;
        // Programs of several toolchains or ABIs have files of the same name.
        let folder = order.id.rsplit_once('/').map_or("", |(folder, _)| folder).replace('/', "-");
        let here = self.scratch.sources_inside().display().to_string();
        let tools = self.scratch.tools_inside(order.abi).display().to_string();
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
            steps(Steps::new(self.toolchain(), order.tools, part, &place))?.iter().zip(&commands)
        {
            let Ran { ended, stderr, .. } = self.scratch.run(&step.arguments, step.input.as_deref())?;
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
