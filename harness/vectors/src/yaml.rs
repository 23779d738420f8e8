//! Reading YAML files.

use std::fs;
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;

/// A file that can't be used.
#[derive(Debug, thiserror::Error)]
#[error("{}: {message}", path.display())]
pub struct Error {
    /// The file or folder.
    pub path: PathBuf,
    /// What is wrong.
    pub message: String,
}

impl Error {
    pub(crate) fn new(path: &Path, message: impl Into<String>) -> Self {
        Self { path: path.into(), message: message.into() }
    }
}

pub(crate) fn read_yaml<T: DeserializeOwned>(path: &Path) -> Result<T, Error> {
    serde_yaml::from_str(&read(path)?).map_err(|error| Error::new(path, error.to_string()))
}

pub(crate) fn read(path: &Path) -> Result<String, Error> {
    fs::read_to_string(path).map_err(|error| Error::new(path, format!("cannot be read: {error}")))
}
