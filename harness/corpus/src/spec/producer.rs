//! Who made a build, as far as specs distinguish builds by it.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use sframe_engine::Version;
use sframe_judge::vocabulary::named;

use super::{Assembler, Compiler, Linker, Tool};

named! {
    /// What a producer of SFrame can express, and another can't.
    pub enum Ability, "ability" {
        /// A CFA, FP or return address that is in any register, or stored:
        /// the rules of flexible FDEs.
        Flex = "flex",
        /// That a frame is the outermost one.
        Outermost = "outermost",
        /// That a function is returned to from a signal handler.
        SignalFrames = "signal-frames",
    }
}

impl Ability {
    /// Whether a version of the format has something to express it by.
    #[must_use]
    pub const fn is_expressible_in(self, version: Version) -> bool {
        match self {
            Self::Flex => version.has_flex_fdes(),
            Self::Outermost => version.marks_outermost_rows() || version.marks_outermost_functions(),
            Self::SignalFrames => version.marks_signal_frames(),
        }
    }
}

/// Who made a build. What is not known of it is selected by no spec.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Producer {
    /// The toolchain of the corpus that it is, or in whose place it stands.
    pub toolchain: Option<String>,
    /// Whether the sections were converted from those that the toolchain wrote.
    pub is_derived: bool,
    /// What compiled the C code.
    pub compiler: Option<Tool<Compiler>>,
    /// What wrote the sections of objects.
    pub assembler: Option<Tool<Assembler>>,
    /// What joined them, and wrote those of its own code.
    pub linker: Option<Tool<Linker>>,
    /// What the sections can express.
    pub can: BTreeSet<Ability>,
}

impl Producer {
    /// The producer of the same code with sections converted to a version. Abilities that the version lacks
    /// are dropped.
    #[must_use]
    pub fn derived(&self, toolchain: &str, version: Version) -> Self {
        let can = self.can.iter().copied().filter(|ability| ability.is_expressible_in(version)).collect();
        Self { toolchain: Some(toolchain.to_owned()), is_derived: true, can, ..self.clone() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_conversion_keeps_the_tools_and_loses_what_its_version_lacks() {
        let from = Producer {
            toolchain: Some("gnu-2.47".to_owned()),
            compiler: Some("gcc 16.2".parse().expect("a tool")),
            can: Ability::ALL.iter().copied().collect(),
            ..Producer::default()
        };
        for (version, can) in
            [(Version::V1, &[][..]), (Version::V2, &[Ability::Outermost][..]), (Version::V3, Ability::ALL)]
        {
            let derived = from.derived("d", version);
            assert_eq!(derived.toolchain.as_deref(), Some("d"));
            assert!(derived.is_derived);
            assert_eq!(derived.compiler, from.compiler);
            assert!(derived.can.iter().eq(can), "{version}: {:?}", derived.can);
        }
    }
}
