//! A program that is run without a spec.

use std::fmt::Display;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use sframe_elf::kernel::sections_of_kernels;
use sframe_elf::object_file::ObjectFile;
use sframe_inspect::command::{Failure, detail};
use sframe_judge::examine::stop::StopRequest;
use sframe_judge::target::files::{Files, FilesError, LibraryFolders};
use sframe_machine::{LoadError, MachineError, Options};
use sframe_suite::check::{Program, WITHOUT_RUNNING};

use super::debug_files::{DebugOptions, tell};
use super::interrupt::not_stopped;
use super::numbers;
use super::options::{ADVANCED, MachineOptions};
use super::system::SystemOptions;

/// The default budget. Specs are for small programs; others may be large.
const BUDGET: &str = "1000000000";

/// How the program runs. These options belong after a command's own ones: those of the
/// surroundings have a heading, which would be that of all options after them.
#[derive(Args)]
#[command(mut_arg("budget", |budget| budget.default_value(BUDGET)))]
pub(super) struct ProgramOptions {
    /// Arguments for the program.
    #[arg(last = true)]
    arguments: Vec<String>,
    /// A folder to search for the executable's libraries, before those that the
    /// files name themselves. The host's libraries are never used. Below a `--root`, the program's
    /// own loader finds them.
    #[arg(long, value_name = "DIR", conflicts_with = "root")]
    library_path: Vec<PathBuf>,
    /// Open libraries wherever the files say (`DT_RUNPATH`), and not only in the executable's
    /// folder and those of `--library-path`: a file from a stranger can name any file.
    #[arg(long, help_heading = ADVANCED)]
    trust_runpath: bool,
    #[command(flatten)]
    debug: DebugOptions,
    #[command(flatten)]
    pub(super) machine: MachineOptions,
    /// The exit status that the program should end with [default: any].
    #[arg(long, value_name = "STATUS", allow_hyphen_values = true, value_parser = numbers::small(0..=255), help_heading = ADVANCED)]
    exit_status: Option<u8>,
    #[command(flatten)]
    system: SystemOptions,
}

impl ProgramOptions {
    /// Finds the program's files; those below a root by running it once.
    pub(super) fn open(
        &self,
        file: &Path,
        mut options: Options,
        stop: &StopRequest,
    ) -> Result<Program, Failure> {
        let name = file.display().to_string();
        if let Some(missing) = self.library_path.iter().find(|folder| !folder.is_dir()) {
            return Err(Failure::unusable(format!(
                "error: --library-path {}: there is no such folder",
                missing.display()
            )));
        }
        options.system = self.system.system(file, &self.arguments)?;
        let expected_output = self.system.expected_output()?;
        let debug_root = Some(self.debug.root(options.system.root.as_deref())?);
        let is_stopped = || stop.reason().is_some();
        let files = if options.native.is_some() {
            options.system.program = file.as_os_str().as_bytes().to_vec();
            let found = Files::native(file, &options, debug_root, &is_stopped);
            not_stopped(stop)?;
            found.map(|(files, native)| {
                options.native = Some(Arc::new(native));
                (files, None)
            })
        } else if options.system.root.is_some() {
            let survey = Files::survey(file, &options, debug_root, &is_stopped);
            not_stopped(stop)?;
            survey.map(|(files, outcome)| (files, Some(outcome.instructions)))
        } else {
            let folders =
                LibraryFolders { first: &self.library_path, anywhere: self.trust_runpath, debug_root };
            Files::find(file, folders).map(|files| (files, None))
        };
        let (files, instructions) = files.map_err(|error| match error {
            FilesError::Missing { .. }
            | FilesError::Outside { .. }
            | FilesError::Interpreter { .. }
            | FilesError::Machine(MachineError::Native(_)) => unusable(&name, &error),
            FilesError::Load { source: LoadError::NotExecutable(_) | LoadError::NoEntry, .. } => {
                Failure::unusable(format!("error: {error}; {WITHOUT_RUNNING}"))
            }
            // These errors name the file that they are about.
            _ => Failure::unusable(format!("error: {error}")),
        })?;
        // Some kernels are linked to addresses of processes. One section may be anything; several are a kernel's.
        if let Ok(object) = ObjectFile::parse(&*files.executable)
            && let [first, second, ..] = sections_of_kernels(&object).collect::<Vec<_>>()[..]
        {
            return Err(Failure::unusable(format!(
                "error: {name}: it has {first} and {second}, as a kernel has: nothing here runs kernels, but `explore` \
                 judges their rows"
            )));
        }
        let shown = |image: &'_ str| if image.is_empty() { name.clone() } else { image.to_owned() };
        for (image, _) in files.iter() {
            detail(|| format!("image: {}", shown(image)));
        }
        files.debug.iter().for_each(|(image, found)| tell(&shown(image), found));
        let exit_status = self.exit_status;
        Ok(Program { name, files, options, instructions, exit_status, expected_output })
    }
}

fn unusable(name: &str, error: &dyn Display) -> Failure {
    Failure::unusable(format!("error: {name}: {error}"))
}
