//! Reading YAML files.

use std::fs;
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;

use crate::number::NO_PAIRS;
use crate::suggest::{hint, quoted_list};
use crate::words::{Reworded, Unknown, reword};

/// A file that can't be used.
#[derive(Debug, thiserror::Error)]
#[error(
    "{}{}: {message}{}",
    path.display(),
    at.map_or_else(String::new, |(line, column)| format!(":{line}:{column}")),
    help.as_ref().map_or_else(String::new, |help| format!(" ({help})"))
)]
pub struct Error {
    /// The file or folder.
    pub path: PathBuf,
    /// The line and the column, from 1, if the mistake is at one place.
    pub at: Option<(usize, usize)>,
    /// What is wrong.
    pub message: String,
    /// What would have been allowed.
    pub help: Option<String>,
}

impl Error {
    pub(crate) fn new(path: &Path, message: impl Into<String>) -> Self {
        Self { path: path.into(), at: None, message: message.into(), help: None }
    }

    /// The mistake, where its text has this many lines before it.
    pub(crate) fn below(self, before: usize) -> Self {
        Self { at: self.at.map(|(line, column)| (before + line, column)), ..self }
    }

    /// What the library says of a text, as authors of YAML would.
    pub(crate) fn of_yaml(path: &Path, text: &str, error: &serde_yaml::Error) -> Self {
        let place = error.location().map(|place| (place.line(), place.column()));
        let said = error.to_string();
        let said = match place {
            Some((line, column)) => said.replace(&format!(" at line {line} column {column}"), ""),
            None => said,
        };
        let Reworded { mut message, unknown } = reword(&said);
        if let Some(Unknown { given, allowed }) = &unknown {
            message += &hint(given, allowed.iter().copied());
        }
        let help = unknown.as_ref().map(|Unknown { allowed, .. }| {
            let allowed =
                if allowed.is_empty() { "none".to_owned() } else { quoted_list(allowed.iter().copied()) };
            format!("allowed here: {allowed}")
        });
        // Values that a recipe has made have no places: their keys have.
        let of_key = |key: &str| {
            let is_it = |line: &str| line.trim_start_matches([' ', '-', '{']).starts_with(&format!("{key}:"));
            let (index, line) = text.lines().enumerate().find(|(_, line)| is_it(line))?;
            Some((index + 1, line.find(key)? + 1))
        };
        // What is wrong with a value is told at the start of what it is part of, which may be the whole document.
        let of_value = |first: usize| {
            let value = message.split('`').nth(1)?;
            let lines = || text.lines().enumerate().skip(first - 1);
            let is_it =
                |(_, line): &(usize, &str)| line.split_once(": ").is_some_and(|(_, own)| own.trim() == value);
            if let Some((index, _)) = lines().find(is_it) {
                return Some((index + 1, 1));
            }
            // It may be part of one that has several lines.
            lines().find_map(|(index, line)| {
                let at =
                    line.split([' ', '"']).find(|piece| !value.is_empty() && piece.starts_with(value))?;
                Some((index + 1, line.find(at)? + 1))
            })
        };
        let place = place.and_then(|(line, column)| match (line, column) {
            (1, 1) => of_value(1).or(place),
            // Of bytes in a section, the place is that of the section.
            _ if message.ends_with(NO_PAIRS) => of_value(line).or(place),
            _ => place,
        });
        Self { path: path.into(), at: place.or_else(|| of_key(unknown?.given)), message, help }
    }
}

pub(crate) fn read_yaml<T: DeserializeOwned>(path: &Path) -> Result<T, Error> {
    let text = read(path)?;
    let is_content = |line: &str| !matches!(line.trim(), "" | "---" | "...") && !line.trim().starts_with('#');
    if !text.lines().any(is_content) {
        return Err(Error { at: Some((1, 1)), ..Error::new(path, "the file is empty") });
    }
    serde_yaml::from_str(&text).map_err(|error| Error::of_yaml(path, &text, &error))
}

pub(crate) fn read(path: &Path) -> Result<String, Error> {
    fs::read_to_string(path).map_err(|error| Error::new(path, format!("cannot be read: {error}")))
}
