//! Which cases to run.

use sframe_engine::Abi;

/// Which cases to run. An empty list restricts nothing.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    /// Patterns of spec names.
    pub specs: Vec<glob::Pattern>,
    /// ABIs.
    pub abis: Vec<Abi>,
    /// Names of toolchains.
    pub toolchains: Vec<String>,
}

impl Filter {
    /// Whether nothing is restricted.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.specs.is_empty() && self.abis.is_empty() && self.toolchains.is_empty()
    }
}
