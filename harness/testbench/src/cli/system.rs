//! What surrounds a program under test.

use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use sframe_elf::file::{MAX_BYTES, read};
use sframe_inspect::command::Failure;
use sframe_machine::System;

/// The largest file that a program may have as its standard input, in bytes: it is kept in memory.
const STDIN_LIMIT: u64 = 1 << 30;

#[derive(Args)]
#[command(next_help_heading = "The program's surroundings")]
pub(super) struct SystemOptions {
    /// The folder that the program sees as `/`, with its interpreter and libraries. It is only
    /// read; what the program writes is kept in memory. Nothing else of the host is visible.
    #[arg(long, value_name = "DIR")]
    root: Option<PathBuf>,
    /// A variable of the program's environment.
    #[arg(long = "env", value_name = "NAME=VALUE", value_parser = parse_variable)]
    environment: Vec<String>,
    /// A file with the program's standard input [default: nothing].
    #[arg(long, value_name = "FILE")]
    stdin: Option<PathBuf>,
    /// The program's working folder, below the root.
    #[arg(long, value_name = "DIR", default_value = "/", requires = "root")]
    cwd: PathBuf,
    /// A file with the standard output that the program must write.
    #[arg(long, value_name = "FILE")]
    expect_stdout: Option<PathBuf>,
}

fn parse_variable(text: &str) -> Result<String, String> {
    match text.split_once('=') {
        Some((name, _)) if !name.is_empty() && !text.contains('\0') => Ok(text.to_owned()),
        _ => Err("NAME=VALUE is expected".to_owned()),
    }
}

impl SystemOptions {
    /// Returns what surrounds an executable.
    pub(super) fn system(&self, executable: &Path, arguments: &[String]) -> Result<System, Failure> {
        let mut system = System::with_arguments(arguments);
        system.environment.extend(self.environment.iter().map(|variable| variable.as_bytes().to_vec()));
        system.input = self
            .stdin
            .as_deref()
            .map(|path| read_file("--stdin", path, STDIN_LIMIT))
            .transpose()?
            .map(Arc::new);
        let Some(root) = &self.root else { return Ok(system) };
        let root = real(root).map_err(|failure| failure.of_option("--root"))?;
        if !root.is_dir() {
            return Err(Failure::unusable(format!("error: --root {}: not a folder", root.display())));
        }
        let program = real(executable)?;
        // One that is not below the root is put there.
        let inside =
            program.strip_prefix(&root).unwrap_or_else(|_| program.file_name().map_or(&program, Path::new));
        system.program = Path::new("/").join(inside).as_os_str().as_bytes().to_vec();
        // A link is followed below the root, and there is always a folder for temporary files.
        let folder = root.join(self.cwd.strip_prefix("/").unwrap_or(&self.cwd));
        if self.cwd != Path::new("/tmp") && folder.symlink_metadata().is_err() {
            let (cwd, root) = (self.cwd.display(), root.display());
            return Err(Failure::unusable(format!(
                "error: --cwd {cwd}: there is no such folder below {root}"
            )));
        }
        system.folder = Path::new("/").join(&self.cwd).as_os_str().as_bytes().to_vec();
        system.root = Some(root);
        Ok(system)
    }

    /// Returns what the program has to write to its standard output.
    pub(super) fn expected_output(&self) -> Result<Option<Vec<u8>>, Failure> {
        self.expect_stdout.as_deref().map(|path| read_file("--expect-stdout", path, MAX_BYTES)).transpose()
    }
}

fn read_file(option: &str, path: &Path, limit: u64) -> Result<Vec<u8>, Failure> {
    let unusable = |error| Failure::unusable(format!("error: {option} {}: {error}", path.display()));
    read(path, limit).map_err(unusable)
}

fn real(path: &Path) -> Result<PathBuf, Failure> {
    path.canonicalize().map_err(|error| Failure::unusable(format!("error: {}: {error}", path.display())))
}
