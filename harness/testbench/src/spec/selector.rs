//! Which builds an entry of a spec is about.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sframe_engine::Abi;

use super::OneOrMany;
use super::de::present;

/// Which builds an entry is about: those for which every key that is given
/// names the build's own value. At least one key must be given.
///
/// Each key takes one value or a list; a list matches any of its values.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(extend("minProperties" = 1))]
#[serde(deny_unknown_fields, expecting = "a mapping with `toolchain`, `abi`, `variant` or `sframe_version`")]
pub struct Selector {
    /// Names of toolchains, as in the corpus.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "OneOrMany<String>")]
    pub toolchain: Option<OneOrMany<String>>,
    /// ABIs.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "OneOrMany<Abi>")]
    pub abi: Option<OneOrMany<Abi>>,
    /// Names of variants: sets of compiler flags, as in the corpus.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "OneOrMany<String>")]
    pub variant: Option<OneOrMany<String>>,
    /// Versions of the SFrame section: 1, 2 or 3.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "OneOrMany<u8>")]
    pub sframe_version: Option<OneOrMany<u8>>,
}

/// What a selector looks at in a build.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BuildFacts<'a> {
    /// Name of the toolchain.
    pub toolchain: &'a str,
    /// The ABI.
    pub abi: Abi,
    /// Name of the variant.
    pub variant: &'a str,
    /// Version of the SFrame section.
    pub sframe_version: u8,
}

impl Selector {
    /// Whether the build is selected.
    pub fn matches(&self, build: &BuildFacts<'_>) -> bool {
        named(self.toolchain.as_ref(), |name| name == build.toolchain)
            && named(self.abi.as_ref(), |&abi| abi == build.abi)
            && named(self.variant.as_ref(), |name| name == build.variant)
            && named(self.sframe_version.as_ref(), |&version| version == build.sframe_version)
    }

    /// Whether no key is given.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// The same builds, written in one way, to compare selectors.
    pub(super) fn normalised(&self) -> Self {
        Self {
            toolchain: sorted(self.toolchain.as_ref()),
            abi: sorted(self.abi.as_ref()),
            variant: sorted(self.variant.as_ref()),
            sframe_version: sorted(self.sframe_version.as_ref()),
        }
    }
}

/// Whether a key is absent or one of its values is the one.
fn named<T>(key: Option<&OneOrMany<T>>, is_it: impl Fn(&T) -> bool) -> bool {
    key.is_none_or(|values| values.iter().any(is_it))
}

fn sorted<T: Clone + Ord>(key: Option<&OneOrMany<T>>) -> Option<OneOrMany<T>> {
    key.map(|values| {
        let mut values: Vec<T> = values.iter().cloned().collect();
        values.sort();
        values.dedup();
        values.into()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    const BUILD: BuildFacts<'static> =
        BuildFacts { toolchain: "gnu-2.40", abi: Abi::S390x, variant: "O2", sframe_version: 2 };

    fn selector(text: &str) -> Selector {
        crate::yaml::from_str(Path::new("s"), text).expect("a selector")
    }

    #[test]
    fn every_key_must_match() {
        assert!(selector("{abi: s390x, toolchain: gnu-2.40}").matches(&BUILD));
        assert!(!selector("{abi: s390x, toolchain: gnu-2.41}").matches(&BUILD));
        assert!(!selector("{abi: amd64}").matches(&BUILD));
        assert!(!selector("{variant: O3}").matches(&BUILD));
    }

    #[test]
    fn one_of_a_list_must_match() {
        assert!(selector("{abi: [amd64, s390x], sframe_version: [2, 3]}").matches(&BUILD));
        assert!(!selector("{sframe_version: [1, 3]}").matches(&BUILD));
        assert!(selector("{variant: [O0, O2]}").matches(&BUILD));
    }

    #[test]
    fn order_and_repetition_do_not_distinguish_selectors() {
        let one = selector("{abi: [amd64, s390x, amd64]}");
        assert_eq!(one.normalised(), selector("{abi: [s390x, amd64]}").normalised());
    }
}
