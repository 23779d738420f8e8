//! `--debug-root`: separate debug files, which name the functions of stripped files.

use std::path::{Path, PathBuf};

use clap::Args;
use sframe_elf::debug_file::{DebugFile, DebugFileError};
use sframe_inspect::command::{Failure, detail, note};

use super::options::ADVANCED;

#[derive(Args)]
pub(super) struct DebugOptions {
    /// Where separate debug files, which name the functions of stripped files, are found: beside the files, or below
    /// DIR/usr/lib/debug [default: the --root, or /].
    #[arg(long, value_name = "DIR", help_heading = ADVANCED)]
    debug_root: Option<PathBuf>,
}

/// What `--debug-root` means where no program runs below a root.
pub(super) const OF_FILES: &str = "Where separate debug files, which name the functions of stripped files, are found: \
                                   beside the files, or below DIR/usr/lib/debug [default: /]";

impl DebugOptions {
    /// Returns the folder below which debug files are looked for.
    pub(super) fn root<'o>(&'o self, root: Option<&'o Path>) -> Result<&'o Path, Failure> {
        match &self.debug_root {
            Some(given) if !given.is_dir() => {
                Err(Failure::unusable(format!("error: --debug-root: {} is not a folder", given.display())))
            }
            given => Ok(given.as_deref().or(root).unwrap_or(Path::new("/"))),
        }
    }
}

/// Tells which debug file names a file's functions, or why it does not.
pub(super) fn tell(name: &str, found: Result<&DebugFile, &DebugFileError>) {
    match found {
        Ok(debug) => detail(|| format!("functions of {name} are named by {}", debug.path.display())),
        Err(error) => note(format_args!("note: {name}: {error}")),
    }
}
