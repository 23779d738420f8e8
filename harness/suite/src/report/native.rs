//! Runs on the host's own processor.

use schemars::JsonSchema;
use serde::Serialize;
use sframe_machine::native::{HostProcessor, host_processor};

/// What executed a program that the emulator did not execute.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct NativeRun {
    /// The processor's model, as Linux names it; empty if it does not.
    pub processor: String,
    /// What it has that lets programs choose other code, by Linux's names.
    pub features: Vec<String>,
    /// Whether two runs of the program have executed different instructions: then what one would have to show for another
    /// is excluded.
    pub runs_differ: bool,
}

impl NativeRun {
    /// A run on this host.
    pub(super) fn here(runs_differ: bool) -> Self {
        let HostProcessor { model, features } = host_processor();
        Self { processor: model, features, runs_differ }
    }

    /// Returns a description in a line.
    pub(super) fn line(&self) -> String {
        let Self { processor, features, runs_differ } = self;
        let model = if processor.is_empty() { "a processor of unknown model" } else { processor };
        let features =
            if features.is_empty() { String::new() } else { format!(" ({})", features.join(", ")) };
        let repeats = match runs_differ {
            true => "two runs executed different instructions: what only a further run can show is excluded",
            false => "unlike in the emulator, another run may execute other instructions",
        };
        format!("executed by this host: {model}{features}; {repeats}")
    }
}
