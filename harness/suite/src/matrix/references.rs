//! The toolchains of the corpus that others are compared with.

use std::collections::BTreeMap;

use crate::suite::Suite;
use sframe_corpus::corpus::{Build, Toolchain};
use sframe_corpus::spec::Producer;

/// The toolchains of the corpus that others are compared with.
#[derive(Debug, Default)]
pub struct References {
    /// For each version of the section, the first that both compiles and writes
    /// it.
    by_version: BTreeMap<u8, String>,
}

impl References {
    /// The reference toolchains of a corpus.
    #[must_use]
    pub fn of(suite: &Suite, toolchains: &[Toolchain]) -> Self {
        let has_builds = |name: &str| suite.manifest().builds.iter().any(|build| build.toolchain == name);
        let mut by_version = BTreeMap::new();
        for toolchain in toolchains.iter().filter(|toolchain| toolchain.derive.is_none()) {
            if let Some(version) = toolchain.sframe_version.filter(|_| has_builds(&toolchain.name)) {
                by_version.entry(version).or_insert_with(|| toolchain.name.clone());
            }
        }
        Self { by_version }
    }

    /// The name of the toolchain that those builds of another one are compared with whose sections have a version.
    pub(super) fn name_of<'r>(&'r self, toolchain: &'r Toolchain, version: u8) -> Option<&'r String> {
        toolchain.reference.as_ref().or_else(|| self.by_version.get(&version))
    }

    /// The producer of another toolchain's build as specs see it: what its
    /// definition says, and otherwise its reference.
    pub(super) fn producer_of(&self, suite: &Suite, toolchain: &Toolchain, build: &Build) -> Producer {
        let of_version = self.by_version.get(&build.sframe_version);
        let producer = |name: Option<&String>| name.and_then(|name| suite.producer(name)).cloned();
        let mut reference = producer(self.name_of(toolchain, build.sframe_version)).unwrap_or_default();
        // If the reference writes another version, that can express something else.
        let writes_it = suite.manifest().builds.iter().any(|other| {
            other.sframe_version == build.sframe_version
                && Some(&other.toolchain) == reference.toolchain.as_ref()
        });
        if !writes_it {
            reference.can = producer(of_version).unwrap_or_default().can;
        }
        toolchain.properties.or_those_of(&reference)
    }
}
