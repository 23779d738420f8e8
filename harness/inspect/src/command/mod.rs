//! The commands, as any program offers them: arguments, output, exit statuses.

mod convert;
mod diff;
mod dump;
mod exit;
pub mod help;
mod lint;

pub use convert::Convert;
pub use diff::Diff;
pub use dump::Dump;
pub use exit::{Failure, Status};
pub use lint::Lint;

use sframe_engine::Version;

use crate::json;
use crate::text::Text;

/// Prints what clap has to say: help and the version to standard output, what
/// is wrong with the arguments to standard error.
///
/// # Errors
/// It was an error.
pub fn usage(error: &clap::Error) -> Result<Status, Failure> {
    let mut text = Text::default();
    text.quote("", &error.render().to_string());
    if error.use_stderr() {
        return Err(Failure::unusable_text(text));
    }
    print(&text)?;
    Ok(Status::AsExpected)
}

/// A version of the format, by its number.
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

/// Writes text to standard output. A reader that has gone away is no error.
///
/// # Errors
/// It can't be written.
pub fn print(text: &Text) -> Result<(), Failure> {
    use std::io::Write as _;
    let mut stdout = std::io::stdout().lock();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
            Err(Failure::broken(format!("error: standard output: {error}")))
        }
        _ => Ok(()),
    }
}

/// Writes text to standard error. Where that is full or closed, nobody is there
/// to be told, and the command goes on: its status says what has come of it.
pub fn tell(text: &Text) {
    use std::io::Write as _;
    let _ = std::io::stderr().lock().write_all(text.as_bytes());
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
    print(&json_text(document)?)
}

/// A document as the text of a file.
///
/// # Errors
/// It can't be written as JSON.
pub fn json_text(document: &impl serde::Serialize) -> Result<Text, Failure> {
    json::pretty(document)
        .map_err(|error| Failure::broken(format!("error: the report can't be written as JSON: {error}")))
}

/// Replaces a file.
///
/// # Errors
/// It can't be written.
pub fn write_file(path: &std::path::Path, text: &str) -> Result<(), Failure> {
    std::fs::write(path, text)
        .map_err(|error| Failure::broken(format!("error: {} can't be written: {error}", path.display())))
}

/// The status that a run or check ends with.
#[must_use]
pub const fn status(findings: bool, broken: bool, compared: bool) -> Status {
    match (findings, broken, compared) {
        (_, true, _) => Status::Broken,
        (true, ..) => Status::Finding,
        (_, _, false) => Status::NothingCompared,
        _ => Status::AsExpected,
    }
}
