//! Reading YAML files.

use std::fs;
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;

/// A file that can't be used.
#[derive(Debug, thiserror::Error)]
#[error("{}{}: {message}", path.display(), at.map_or_else(String::new, |(line, column)| format!(":{line}:{column}")))]
pub struct Error {
    /// The file or folder.
    pub path: PathBuf,
    /// The line and the column, from 1, if the mistake is at one place.
    pub at: Option<(usize, usize)>,
    /// What is wrong.
    pub message: String,
}

impl Error {
    pub(crate) fn new(path: &Path, message: impl Into<String>) -> Self {
        Self { path: path.into(), at: None, message: message.into() }
    }

    /// What the library says of a text, as authors of YAML would.
    pub(crate) fn of_yaml(path: &Path, text: &str, error: &serde_yaml::Error) -> Self {
        let place = error.location().map(|place| (place.line(), place.column()));
        let said = error.to_string();
        let said = match place {
            Some((line, column)) => said.replace(&format!(" at line {line} column {column}"), ""),
            None => said,
        };
        let (message, unknown) = reworded(&said);
        // Values that a recipe has made have no places: their keys have.
        let of_key = |key: &str| {
            let is_it = |line: &str| line.trim_start_matches([' ', '-', '{']).starts_with(&format!("{key}:"));
            let (index, line) = text.lines().enumerate().find(|(_, line)| is_it(line))?;
            Some((index + 1, line.find(key)? + 1))
        };
        Self { path: path.into(), at: place.or_else(|| of_key(unknown?)), message }
    }
}

/// Serde's words for those of YAML, and the key that is unknown.
fn reworded(said: &str) -> (String, Option<&str>) {
    for (theirs, ours) in [("unknown field `", "unknown key"), ("unknown variant `", "unknown name")] {
        if let Some((place, rest)) = said.split_once(theirs)
            && let Some((given, allowed)) = rest.split_once("`, ")
        {
            let allowed = allowed.strip_prefix("expected ").unwrap_or("none");
            let allowed = allowed.strip_prefix("one of ").unwrap_or(allowed);
            return (format!("{place}{ours} `{given}` (allowed here: {allowed})"), Some(given));
        }
    }
    let ours = said
        .replace("missing field `", "missing key `")
        .replace("duplicate field `", "duplicate key `")
        .replace("invalid type: map", "invalid type: mapping")
        .replace("invalid type: sequence", "invalid type: list")
        .replace("invalid type: unit value", "invalid type: nothing")
        .replace("expected a sequence", "expected a list");
    let ours = match ours.split_once("expected struct ") {
        Some((start, _)) => format!("{start}expected a mapping"),
        None => ours,
    };
    let numbers = ["u8", "u16", "u32", "u64", "usize", "i8", "i16", "i32", "i64"];
    let number = numbers.iter().find_map(|number| ours.strip_suffix(&format!("expected {number}")));
    (number.map_or_else(|| ours.clone(), |start| format!("{start}expected a whole number")), None)
}

pub(crate) fn read_yaml<T: DeserializeOwned>(path: &Path) -> Result<T, Error> {
    let text = read(path)?;
    serde_yaml::from_str(&text).map_err(|error| Error::of_yaml(path, &text, &error))
}

pub(crate) fn read(path: &Path) -> Result<String, Error> {
    fs::read_to_string(path).map_err(|error| Error::new(path, format!("cannot be read: {error}")))
}
