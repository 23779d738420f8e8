//! Why exploring fails.

use sframe_elf::link::{LinkError, ModuleError};
use sframe_machine::MachineError;

use crate::target::TargetError;

/// Why a file can't be explored.
#[derive(Debug, thiserror::Error)]
pub enum ExploreError {
    /// It can't be read, or a worker's streams can't.
    #[error(transparent)]
    Stream(#[from] std::io::Error),
    /// A worker was sent something that no version of it knows.
    #[error(transparent)]
    Json(#[from] serde_json::Error),
    /// It is relocatable, and no executable can be made of it.
    #[error(transparent)]
    Link(#[from] LinkError),
    /// It is no module.
    #[error(transparent)]
    Module(#[from] ModuleError),
    /// It can't be opened.
    #[error(transparent)]
    Target(#[from] TargetError),
    /// The machine can't be set up.
    #[error(transparent)]
    Machine(#[from] MachineError),
    /// A worker can't load the file: what it says of itself is malformed.
    #[error("{0}")]
    Unloadable(String),
    /// A worker can't do its work.
    #[error("{0}")]
    Refused(String),
}
