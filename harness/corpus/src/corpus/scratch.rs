//! A folder that a toolchain can see, and the commands that run in it.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use sframe_engine::Abi;
use sframe_judge::examine::stop::StopRequest;
use tempfile::TempDir;

use super::command::{Ended, Ran, run_until};
use super::{Error, Toolchain};

/// The folder below a root in which scratch folders are created.
const SCRATCH: &str = "build";

/// The folder in it in which commands run.
const SOURCES: &str = "programs";

/// Where commands in a root are looked for.
pub const SEARCH_PATH: &str = "/usr/bin:/bin";

/// Returns where scratch folders are created: below a root, or otherwise in `parent`.
pub fn scratch_parent(root: Option<&Path>, parent: &Path) -> PathBuf {
    root.map_or_else(|| parent.to_path_buf(), |root| root.join(SCRATCH))
}

/// Returns a scratch folder below a root as commands in the root see it.
pub fn scratch_inside(folder: &Path) -> PathBuf {
    Path::new("/").join(SCRATCH).join(folder.file_name().unwrap_or_default())
}

/// Returns a command to which words are to be added, in a folder as a root has it, without this machine's surroundings.
pub fn in_root(root: &Path, folder: &Path, search_path: &OsStr) -> Command {
    let mut command = Command::new("chroot");
    command.arg(root).args(["/usr/bin/env", "-i", "-C"]).arg(folder);
    let mut path = OsString::from("PATH=");
    path.push(search_path);
    command.args(["LC_ALL=C", "SOURCE_DATE_EPOCH=0"]).arg(path);
    command
}

/// A scratch folder of a toolchain: below its root, if it has one.
pub(super) struct Scratch {
    toolchain: Toolchain,
    /// The root to change into, if the toolchain has one.
    root: Option<PathBuf>,
    folder: TempDir,
    /// The scratch folder as seen from inside the root.
    inside: PathBuf,
    /// The time limit of each command.
    limit: Option<Duration>,
    /// What ends the commands.
    stop: StopRequest,
}

impl Scratch {
    /// Creates a folder whose name starts with `prefix`, in `parent` or otherwise in the root. What runs in it has a time limit,
    /// if there is one, and ends as soon as that is asked for.
    pub(super) fn open(
        toolchain: Toolchain,
        root: Option<PathBuf>,
        parent: &Path,
        prefix: &str,
        limit: Option<Duration>,
        stop: &StopRequest,
    ) -> Result<Self, Error> {
        let parent = scratch_parent(root.as_deref(), parent);
        std::fs::create_dir_all(&parent).map_err(write_error(&parent))?;
        let folder =
            tempfile::Builder::new().prefix(prefix).tempdir_in(&parent).map_err(write_error(&parent))?;
        let inside = if root.is_some() { scratch_inside(folder.path()) } else { folder.path().to_path_buf() };
        for (abi, tools) in &toolchain.abis {
            let tools_folder = folder.path().join(tools_folder(*abi));
            for (name, tool) in tools.chosen() {
                std::fs::create_dir_all(&tools_folder).map_err(write_error(&tools_folder))?;
                let link = tools_folder.join(name);
                std::os::unix::fs::symlink(tool, &link).map_err(write_error(&link))?;
            }
        }
        Ok(Self { toolchain, root, folder, inside, limit, stop: stop.clone() })
    }

    pub(super) const fn stop(&self) -> &StopRequest {
        &self.stop
    }

    pub(super) fn toolchain(&self) -> &Toolchain {
        &self.toolchain
    }

    /// The scratch folder.
    pub(super) fn path(&self) -> &Path {
        self.folder.path()
    }

    /// The folder in which commands run. It has to be made.
    pub(super) fn sources(&self) -> PathBuf {
        self.path().join(SOURCES)
    }

    /// The folder of the sources, as commands see it.
    pub(super) fn sources_inside(&self) -> PathBuf {
        self.inside.join(SOURCES)
    }

    /// The folder with the tools that the compiler for an ABI should call, as commands see it.
    pub(super) fn tools_inside(&self, abi: Abi) -> PathBuf {
        self.inside.join(tools_folder(abi))
    }

    /// Runs a command in the folder of the sources, inside the root.
    pub(super) fn run(&self, words: &[String], input: Option<&str>) -> Result<Ran, Error> {
        let command = self.command(words);
        let program = command.get_program().to_string_lossy().into_owned();
        let ran = run_until(command, input, self.limit, &self.stop)
            .map_err(|source| Error::Start { command: program, source })?;
        // What the end has broken off says nothing about the tool.
        if matches!(ran.ended, Ended::Stopped) { Err(Error::Interrupted) } else { Ok(ran) }
    }

    fn command(&self, words: &[String]) -> Command {
        if let Some(root) = &self.root {
            let path = self.search_path(OsStr::new(SEARCH_PATH));
            let mut command = in_root(root, &self.sources_inside(), &path);
            command.args(words);
            return command;
        }
        let words = self.wrapped(words);
        let mut words = words.iter();
        let mut command = Command::new(words.next().map_or("", String::as_str));
        command.args(words);
        command.current_dir(self.sources_inside());
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
        let sources = self.sources_inside().display().to_string();
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
        let words: Vec<String> = words.iter().map(|&word| word.to_owned()).collect();
        let Ran { ended, stdout, stderr } = self.run(&words, None)?;
        let line = stdout.lines().next().map(str::trim).filter(|line| !line.is_empty());

        match line {
            Some(line) if ended.is_success() => Ok(line.to_owned()),
            _ => Err(Error::Tool {
                toolchain: self.toolchain.name.clone(),
                command: self
                    .toolchain
                    .wrapper
                    .iter()
                    .chain(&words)
                    .map(String::as_str)
                    .collect::<Vec<_>>()
                    .join(" "),
                ended: ended.to_string(),
                stderr: match stderr.trim() {
                    "" => "it has printed nothing".to_owned(),
                    said => said.to_owned(),
                },
            }),
        }
    }
}

/// Returns the folder of an ABI's tools that the compiler is made to call.
fn tools_folder(abi: Abi) -> String {
    format!("tools-{abi}")
}

pub(super) fn write_error(path: &Path) -> impl Fn(std::io::Error) -> Error {
    move |source| Error::Write { path: path.to_path_buf(), source }
}
