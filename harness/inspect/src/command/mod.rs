//! The commands, as used by any program: arguments, output, exit statuses.

mod convert;
#[cfg(feature = "disassembly")]
mod diff;
mod dump;
mod each;
mod exit;
pub mod help;
pub mod interrupt;
mod lint;
pub mod program;
mod subject;
mod volume;

pub use convert::Convert;
#[cfg(feature = "disassembly")]
pub use diff::{Diff, PointOut};
pub use dump::Dump;
pub use each::{Inspect, Show, Stop, execute as each_file};
pub use exit::{Failure, Status};
pub use lint::Lint;
pub use subject::{Subject, SubjectError, Unusable, is_archive};
pub use volume::{Volume, VolumeOptions, detail, detail_since, note, volume};

use std::borrow::Borrow;
use std::io::{self, BufWriter, Write};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use sframe_engine::Version;

use sframe_kit::conclusion::{Concluded, Ending};
use sframe_kit::json;
use sframe_kit::text::Text;

/// Runs a program: parses its arguments and executes what they ask for. Whatever
/// happens, the exit status is a documented one; `defect` says whose fault a panic is.
pub fn run<A: clap::Parser>(
    defect: &str,
    execute: impl FnOnce(A) -> Result<Status, Failure> + std::panic::UnwindSafe,
) -> ExitCode {
    let prefix = format!("error: {defect}");
    std::panic::set_hook(Box::new(move |panic| tell_line(format_args!("{prefix}: {panic}"))));
    // A file that would be too large is an error of the write, and no reason to die without a word. A
    // handler, unlike an ignored signal, is not inherited. Without it everything works but that.
    let _ = signal_hook::flag::register(signal_hook::consts::SIGXFSZ, Arc::default());
    let status = std::panic::catch_unwind(|| {
        let matches = with_negative_numbers(A::command()).try_get_matches();
        let executed = match matches.and_then(|matches| A::from_arg_matches(&matches)) {
            Ok(arguments) => execute(arguments),
            Err(error) => usage(&error),
        };
        executed.unwrap_or_else(|failure| failure.report())
    });
    // A panic has already printed its message.
    status.unwrap_or(Status::Broken).into()
}

/// Lets options see `-1` as they see other values, so that they say what is allowed.
fn with_negative_numbers(command: clap::Command) -> clap::Command {
    let takes = |arg: &clap::Arg| !arg.is_positional() && arg.get_action().takes_values();
    command
        .mut_args(|arg| if takes(&arg) { arg.allow_negative_numbers(true) } else { arg })
        .mut_subcommands(with_negative_numbers)
}

/// Prints clap's message: help and the version to standard output, errors in the
/// arguments to standard error.
fn usage(error: &clap::Error) -> Result<Status, Failure> {
    let mut text = Text::default();
    text.quote("", &error.render().to_string());
    if error.use_stderr() {
        return Err(Failure::unusable_text(text));
    }
    print(&text)?;
    Ok(Status::AsExpected)
}

/// Parses a version number of the format.
///
/// # Errors
/// There is no such version.
pub fn parse_version(text: &str) -> Result<Version, String> {
    let version = text.parse().ok().and_then(Version::from_number);
    version.ok_or_else(|| {
        let known = Version::ALL.map(|version| version.number().to_string());
        format!("the versions are {}", known.join(", "))
    })
}

/// Writes text to standard output. A reader that has gone away is not an error.
///
/// # Errors
/// It can't be written.
pub fn print(text: &Text) -> Result<(), Failure> {
    print_parts([text])
}

/// Writes parts of a text to standard output, each as soon as it is ready.
///
/// # Errors
/// They can't be written.
pub fn print_parts(parts: impl IntoIterator<Item = impl Borrow<Text>>) -> Result<(), Failure> {
    print_with(|out| parts.into_iter().try_for_each(|part| out.write_all(part.borrow().as_bytes())))
}

/// Calls `write` with standard output. A reader that has gone away is not an error.
fn print_with(write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<(), Failure> {
    HAS_PRINTED.store(true, Ordering::Relaxed);
    let mut out = BufWriter::with_capacity(OUTPUT_BUFFER, io::stdout().lock());
    match write(&mut out).and_then(|()| out.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(Failure::broken(format!("error: standard output: {error}")))
        }
        _ => Ok(()),
    }
}

/// Whether anything was written to standard output, or is about to be.
static HAS_PRINTED: AtomicBool = AtomicBool::new(false);

/// Whether anything was written to standard output, or is about to be.
fn has_printed() -> bool {
    HAS_PRINTED.load(Ordering::Relaxed)
}

/// The size of the output buffer in bytes.
const OUTPUT_BUFFER: usize = 1 << 16;

/// Writes text to standard error. If that is full or closed, no message is possible, and the command
/// continues: its status shows the result.
pub fn tell(text: &Text) {
    let _ = io::stderr().lock().write_all(text.as_bytes());
}

/// Writes a line to standard error.
pub fn tell_line(line: impl std::fmt::Display) {
    tell(&Text::of(line));
}

/// Writes a document to standard output.
///
/// # Errors
/// It can't be written.
pub fn print_json(document: &impl serde::Serialize) -> Result<(), Failure> {
    let mut failure = None;
    print_with(|mut out| match json::write_pretty(&mut out, document) {
        Err(error) if !error.is_io() => {
            failure = Some(error);
            Ok(())
        }
        written => written.map_err(io::Error::from),
    })?;
    failure.map_or(Ok(()), |error| Err(not_json(&error)))
}

/// Prints a document as JSON, after how the command ends.
///
/// # Errors
/// It can't be written.
pub fn print_verdict(verdict: Ending, document: &impl serde::Serialize) -> Result<(), Failure> {
    print_json(&Concluded { verdict, document })
}

/// Returns a document as the text of a file.
///
/// # Errors
/// It can't be written as JSON.
pub fn json_text(document: &impl serde::Serialize) -> Result<Text, Failure> {
    json::pretty(document).map_err(|error| not_json(&error))
}

fn not_json(error: &serde_json::Error) -> Failure {
    Failure::broken(format!("error: the report can't be written as JSON: {error}"))
}

/// Replaces a file, whole or not at all.
///
/// # Errors
/// It can't be written.
pub fn write_file(path: &std::path::Path, text: &str) -> Result<(), Failure> {
    sframe_elf::file::replace(path, text.as_bytes())
        .map_err(|error| Failure::broken(format!("error: {} can't be written: {error}", path.display())))
}

/// Writes the file that a command is for. A path that no file can have is the user's mistake; a full disk is not.
///
/// # Errors
/// It can't be written.
pub fn write_output(path: &std::path::Path, bytes: &[u8]) -> Result<(), Failure> {
    use std::io::ErrorKind;

    sframe_elf::file::replace(path, bytes).map_err(|error| {
        let message = format!("error: {}: {error}", path.display());
        match error.kind() {
            ErrorKind::NotFound
            | ErrorKind::PermissionDenied
            | ErrorKind::IsADirectory
            | ErrorKind::NotADirectory
            | ErrorKind::ReadOnlyFilesystem => Failure::unusable(message),
            _ => Failure::broken(message),
        }
    })
}

/// Checks that a file can be written where it is wanted, before the work that it is to hold.
///
/// # Errors
/// There is no such folder, or the file can't be written.
pub fn has_place(path: &std::path::Path) -> Result<(), Failure> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.unwrap_or(std::path::Path::new("."));
    let why = match sframe_elf::file::can_be_written(path) {
        Ok(()) => return Ok(()),
        Err(_) if !folder.is_dir() => format!("there is no folder {}", folder.display()),
        Err(error) => error.to_string(),
    };
    Err(Failure::unusable(format!("error: {} can't be written: {why}", path.display())))
}

/// Returns the final status of a run or check.
#[must_use]
pub const fn status(findings: bool, broken: bool, compared: bool) -> Status {
    match (findings, broken, compared) {
        (_, true, _) => Status::Broken,
        (true, ..) => Status::Finding,
        (_, _, false) => Status::NothingCompared,
        _ => Status::AsExpected,
    }
}
