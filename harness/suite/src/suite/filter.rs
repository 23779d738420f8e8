//! Which cases to run.

use sframe_engine::Abi;

use crate::case::Case;

/// Which cases to run. An empty list restricts nothing.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    /// Patterns of spec names.
    pub specs: Vec<glob::Pattern>,
    /// ABIs.
    pub abis: Vec<Abi>,
    /// Names of toolchains.
    pub toolchains: Vec<String>,
    /// Names of variants.
    pub variants: Vec<String>,
    /// IDs of cases: see [`Case::id`].
    pub cases: Vec<String>,
}

impl Filter {
    /// Selects specs by name.
    #[must_use]
    pub fn of_specs(specs: Vec<glob::Pattern>) -> Self {
        Self { specs, ..Self::default() }
    }

    /// Whether nothing is restricted.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        !self.names_specs() && self.abis.is_empty() && self.toolchains.is_empty() && self.variants.is_empty()
    }

    /// Whether it names specs, or cases of them: then mistakes in other specs do not matter.
    #[must_use]
    pub const fn names_specs(&self) -> bool {
        !self.specs.is_empty() || !self.cases.is_empty()
    }

    /// Whether it selects cases of a spec.
    #[must_use]
    pub fn selects_spec(&self, name: &str) -> bool {
        let is_of_it = |case: &String| case.split('/').next() == Some(name);
        (self.specs.is_empty() || self.specs.iter().any(|pattern| pattern.matches(name)))
            && (self.cases.is_empty() || self.cases.iter().any(is_of_it))
    }

    /// Whether it selects a case of a spec that it selects.
    pub(super) fn selects(&self, case: &Case<'_>) -> bool {
        let listed = |list: &[String], name: &str| list.is_empty() || list.iter().any(|item| item == name);
        (self.abis.is_empty() || self.abis.contains(&case.build.abi))
            && listed(&self.toolchains, &case.build.toolchain)
            && listed(&self.variants, &case.build.variant)
            && (self.cases.is_empty() || self.cases.contains(&case.id()))
    }
}
