//! Where sections come from.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Module;

/// Where a section comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Origin {
    /// It is the file's `.sframe` section.
    Sframe,
    /// It was made from the file's `.eh_frame` section.
    EhFrame,
    /// The image has no section: its code has no FDEs.
    None,
}

impl Origin {
    /// That of an image.
    #[must_use]
    pub fn of(module: &Module<'_>) -> Self {
        match (&module.section, module.made()) {
            (None, _) => Self::None,
            (Some(_), None) => Self::Sframe,
            (Some(_), Some(_)) => Self::EhFrame,
        }
    }
}
