//! Which builds an entry of a spec is about.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sframe_engine::Abi;

use super::de::present;
use super::{Ability, Assembler, Compiler, Linker, OneOrMany, Producer, ToolRange};

/// Which builds an entry is about: those for which every key that is given
/// holds. At least one key must be given.
///
/// Each key takes one value or a list. A list matches any of its values, except for `can` and `cannot`, where
/// each of them counts.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(extend("minProperties" = 1))]
#[serde(
    deny_unknown_fields,
    expecting = "a mapping with `abi`, `variant`, `sframe_version`, `compiler`, `assembler`, `linker`, \
                 `can`, `cannot`, `derived` or `toolchain`"
)]
pub struct Selector {
    /// Names of toolchains, as in the corpus. What matters about them is better
    /// said by the other keys: those hold for the next release too.
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
    /// What compiled the C code: `gcc >= 14`.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "OneOrMany<ToolRange<Compiler>>")]
    pub compiler: Option<OneOrMany<ToolRange<Compiler>>>,
    /// What wrote the sections of objects: `gas < 2.47`.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "OneOrMany<ToolRange<Assembler>>")]
    pub assembler: Option<OneOrMany<ToolRange<Assembler>>>,
    /// What joined them, and wrote those of its own code: `lld`.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "OneOrMany<ToolRange<Linker>>")]
    pub linker: Option<OneOrMany<ToolRange<Linker>>>,
    /// What the sections can express, each of it.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "OneOrMany<Ability>")]
    pub can: Option<OneOrMany<Ability>>,
    /// What the sections can't express, none of it.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "OneOrMany<Ability>")]
    pub cannot: Option<OneOrMany<Ability>>,
    /// Whether the sections were converted from those that the tools wrote.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "bool")]
    pub derived: Option<bool>,
}

/// What a selector looks at in a build.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BuildFacts<'a> {
    /// Who made it.
    pub producer: &'a Producer,
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
        let Producer { toolchain, is_derived, compiler, assembler, linker, can } = build.producer;
        named(self.toolchain.as_ref(), |name| Some(name) == toolchain.as_ref())
            && named(self.abi.as_ref(), |&abi| abi == build.abi)
            && named(self.variant.as_ref(), |name| name == build.variant)
            && named(self.sframe_version.as_ref(), |&version| version == build.sframe_version)
            && named(self.compiler.as_ref(), |range| compiler.as_ref().is_some_and(|it| range.contains(it)))
            && named(self.assembler.as_ref(), |range| assembler.as_ref().is_some_and(|it| range.contains(it)))
            && named(self.linker.as_ref(), |range| linker.as_ref().is_some_and(|it| range.contains(it)))
            && self.can.iter().flatten().all(|ability| can.contains(ability))
            && !self.cannot.iter().flatten().any(|ability| can.contains(ability))
            && self.derived.is_none_or(|derived| derived == *is_derived)
    }

    /// Whether no key is given.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// A normal form that selects the same builds, to compare selectors.
    pub(super) fn normalised(&self) -> Self {
        Self {
            toolchain: sorted(self.toolchain.as_ref()),
            abi: sorted(self.abi.as_ref()),
            variant: sorted(self.variant.as_ref()),
            sframe_version: sorted(self.sframe_version.as_ref()),
            compiler: sorted(self.compiler.as_ref()),
            assembler: sorted(self.assembler.as_ref()),
            linker: sorted(self.linker.as_ref()),
            can: sorted(self.can.as_ref()),
            cannot: sorted(self.cannot.as_ref()),
            derived: self.derived,
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

    fn gnu() -> Producer {
        Producer {
            toolchain: Some("gnu-2.40".to_owned()),
            is_derived: false,
            compiler: Some("gcc 12.2".parse().expect("a tool")),
            assembler: Some("gas 2.40".parse().expect("a tool")),
            linker: Some("ld 2.40".parse().expect("a tool")),
            can: [Ability::Outermost].into(),
        }
    }

    fn selects(text: &str, producer: &Producer) -> bool {
        selector(text).matches(&BuildFacts { producer, abi: Abi::S390x, variant: "O2", sframe_version: 2 })
    }

    fn selector(text: &str) -> Selector {
        crate::yaml::from_str(Path::new("s"), text).expect("a selector")
    }

    #[test]
    fn every_key_must_match() {
        assert!(selects("{abi: s390x, toolchain: gnu-2.40}", &gnu()));
        assert!(!selects("{abi: s390x, toolchain: gnu-2.41}", &gnu()));
        assert!(!selects("{abi: amd64}", &gnu()));
        assert!(!selects("{variant: O3}", &gnu()));
        assert!(selects("{compiler: gcc >= 12, linker: ld, derived: false}", &gnu()));
        assert!(!selects("{compiler: gcc >= 12, linker: lld}", &gnu()));
        assert!(!selects("{compiler: gcc, derived: true}", &gnu()));
        assert!(!selects("{assembler: gas < 2.40}", &gnu()));
    }

    #[test]
    fn one_of_a_list_must_match() {
        assert!(selects("{abi: [amd64, s390x], sframe_version: [2, 3]}", &gnu()));
        assert!(!selects("{sframe_version: [1, 3]}", &gnu()));
        assert!(selects("{variant: [O0, O2]}", &gnu()));
        assert!(selects("{assembler: [llvm, gas < 2.41]}", &gnu()));
        assert!(!selects("{assembler: [llvm, gas >= 2.41]}", &gnu()));
    }

    #[test]
    fn all_abilities_of_a_list_count() {
        assert!(selects("{can: outermost, cannot: [flex, signal-frames]}", &gnu()));
        assert!(!selects("{can: [outermost, flex]}", &gnu()));
        assert!(!selects("{cannot: [outermost, flex]}", &gnu()));
    }

    #[test]
    fn what_is_not_known_of_a_producer_is_not_selected() {
        for text in ["{toolchain: gnu-2.40}", "{compiler: gcc}", "{assembler: gas}", "{linker: ld}"] {
            assert!(!selects(text, &Producer::default()), "{text}");
        }
    }

    #[test]
    fn order_and_repetition_do_not_distinguish_selectors() {
        let one = selector("{abi: [amd64, s390x, amd64], linker: [lld, ld  >=  2.40]}");
        assert_eq!(
            one.normalised(),
            selector("{abi: [s390x, amd64], linker: [ld >= 2.40, lld]}").normalised()
        );
    }
}
