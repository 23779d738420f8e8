//! What can go wrong with the corpus.

use std::path::PathBuf;

use thiserror::Error;

/// A corpus that cannot be used, or cannot be built.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Error {
    /// A file or folder of the corpus cannot be read.
    #[error("cannot read {}", path.display())]
    Read {
        /// What should have been read.
        path: PathBuf,
        /// Why that failed.
        source: std::io::Error,
    },
    /// A file or folder cannot be written or removed.
    #[error("cannot write {}", path.display())]
    Write {
        /// What should have been written.
        path: PathBuf,
        /// Why that failed.
        source: std::io::Error,
    },
    /// A YAML file is not a valid manifest, toolchain or program.
    #[error(transparent)]
    Yaml(#[from] crate::yaml::Error),
    /// The manifest cannot be expressed as YAML.
    #[error("cannot write {}: {message}", path.display())]
    Encode {
        /// The file that should have been written.
        path: PathBuf,
        /// The YAML library's message.
        message: String,
    },
    /// A file is well-formed, but wrong.
    #[error("{}: {message}", path.display())]
    Invalid {
        /// The file.
        path: PathBuf,
        /// The fault.
        message: String,
    },
    /// A build is not the one that the manifest describes.
    #[error(
        "{}: the manifest says that build {build} has sha256 {expected}, but the file has {found}",
        path.display()
    )]
    Checksum {
        /// The build's id.
        build: String,
        /// The file.
        path: PathBuf,
        /// The checksum in the manifest.
        expected: String,
        /// The checksum of the file.
        found: String,
    },
    /// A toolchain has not been installed.
    #[error(
        "toolchain {toolchain} is not at {}: run ci/toolchains, or name the folder that has it",
        path.display()
    )]
    NoRoot {
        /// The toolchain's name.
        toolchain: String,
        /// Where its root should be.
        path: PathBuf,
    },
    /// A command cannot be started.
    #[error("cannot start `{command}`")]
    Start {
        /// The command.
        command: String,
        /// Why that failed.
        source: std::io::Error,
    },
    /// A compiler cannot report its version.
    #[error("toolchain {toolchain}: `{command}` failed ({ended}): {stderr}")]
    Tool {
        /// The toolchain's name.
        toolchain: String,
        /// The command.
        command: String,
        /// How it ended.
        ended: String,
        /// What it wrote to standard error.
        stderr: String,
    },
    /// A build that does not compile or link.
    #[error("build {build}: `{command}` failed ({ended}): {stderr}")]
    Compiler {
        /// The build's id.
        build: String,
        /// What the command was for, such as `link`.
        step: String,
        /// The command.
        command: String,
        /// How it ended, such as `exit status: 1`.
        ended: String,
        /// What it wrote to standard error.
        stderr: String,
    },
    /// A program in Rust, but no compiler for it.
    #[error("build {build}: its toolchain compiles no Rust for this ABI and variant")]
    NoRust {
        /// The build's id.
        build: String,
    },
    /// A build in which the bench would have nothing to check.
    #[error("build {build} has no .sframe section, or an empty one")]
    NoSframe {
        /// The build's id.
        build: String,
    },
    /// An end was asked for before all builds were made.
    #[error("interrupted")]
    Interrupted,
    /// A compiler wrote something that is not an ELF file.
    #[error("build {build} is not an ELF file: {message}")]
    NotElf {
        /// The build's id.
        build: String,
        /// The fault.
        message: String,
    },
    /// A command succeeded without writing its file.
    #[error("build {build}: `{command}` succeeded, but wrote no file")]
    NoOutput {
        /// The build's id.
        build: String,
        /// What the command was for.
        step: String,
        /// The command.
        command: String,
    },
    /// A compiler wrote a file for another machine.
    #[error("build {build} is for another machine than its ABI's: {found}")]
    OtherMachine {
        /// The build's id.
        build: String,
        /// The file's architecture and byte order.
        found: String,
    },
    /// A toolchain does not compile for an ABI.
    #[error("toolchain {toolchain} has no compiler for {abi}")]
    NoCompiler {
        /// The toolchain's name.
        toolchain: String,
        /// The ABI.
        abi: sframe_engine::Abi,
    },
    /// None of a toolchain's compilers can be started.
    #[error("toolchain {toolchain}: no compiler can be used: {}", tried.join("; "))]
    NoTools {
        /// The toolchain's name.
        toolchain: String,
        /// Each compiler, and its fault.
        tried: Vec<String>,
        /// Whether what they are called through could not be started.
        is_wrapper: bool,
    },
    /// A tool that compilers should call can't be started.
    #[error("toolchain {toolchain}: {why}")]
    NoTool {
        /// The toolchain's name.
        toolchain: String,
        /// Which one, and its fault.
        why: String,
    },
    /// Another process uses the work folder.
    #[error("{} is in use by another run", path.display())]
    Locked {
        /// The folder.
        path: PathBuf,
    },
    /// The source of a derived build does not exist.
    #[error("build {build} is derived from {from}, which is not in the corpus")]
    NothingToDerive {
        /// The build's id.
        build: String,
        /// The source's id.
        from: String,
    },
    /// A build can't be derived.
    #[error("build {build}: the section of {from} can't be converted")]
    Derive {
        /// The build's id.
        build: String,
        /// The file, by its path under `builds`.
        from: String,
        /// The reason.
        source: Box<sframe_inspect::convert::ConvertError>,
    },
    /// The filter leaves nothing to build.
    #[error("no build has `{only}` in its id")]
    NothingToBuild {
        /// The filter.
        only: String,
    },
    /// The worker threads cannot be started.
    #[error("cannot start the worker threads: {message}")]
    Threads {
        /// The thread pool's message.
        message: String,
    },
}

/// Whether what a tool has said is of a crash, and not of its input: what compilers, assemblers and linkers
/// say when one of their processes ends by a signal or by a failed check of its own.
#[must_use]
pub fn is_crash(stderr: &str) -> bool {
    const WORDS: [&str; 9] = [
        "Internal error",
        "internal error",
        "internal compiler error",
        "PLEASE submit a bug report",
        "error in backend",
        "due to signal",
        "assertion fail",
        "Assertion `",
        "panicked at",
    ];
    WORDS.iter().any(|words| stderr.contains(words))
}
