//! Properties of toolchains, by which specs select their builds.

use serde::Deserialize;
use sframe_engine::Version;

use crate::spec::{Ability, Assembler, Compiler, Linker, Producer, Tool};

/// The declared properties of a toolchain. Toolchains of the corpus must declare
/// all of them. For others, undeclared properties are those of their reference.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Properties {
    /// The C compiler, with its version.
    pub compiler: Option<Tool<Compiler>>,
    /// The program that writes the sections of object files.
    pub assembler: Option<Tool<Assembler>>,
    /// The program that merges them, and writes those for its own code.
    pub linker: Option<Tool<Linker>>,
    /// What its sections can express.
    pub can: Option<Vec<Ability>>,
}

impl Properties {
    /// Returns what is wrong with them.
    pub(super) fn mistake(&self, sframe_version: Option<u8>) -> Option<String> {
        let can = self.can.as_deref().unwrap_or_default();
        if let Some(twice) = can.iter().enumerate().find(|(index, ability)| can[..*index].contains(ability)) {
            return Some(format!("`can` lists `{}` twice", twice.1));
        }
        let version = sframe_version.and_then(Version::from_number)?;
        let lacking = can.iter().find(|ability| !ability.is_expressible_in(version))?;
        Some(format!("`can` lists `{lacking}`, which SFrame version {version} can't express"))
    }

    /// Returns the first key that a toolchain of the corpus lacks.
    pub(super) fn missing(&self) -> Option<&'static str> {
        let Self { compiler, assembler, linker, can } = self;
        let keys = [
            ("compiler", compiler.is_none()),
            ("assembler", assembler.is_none()),
            ("linker", linker.is_none()),
            ("can", can.is_none()),
        ];
        keys.into_iter().find_map(|(key, is_missing)| is_missing.then_some(key))
    }

    /// Returns a producer with these properties, and the other producer's for those
    /// that are not declared.
    #[must_use]
    pub fn or_those_of(&self, reference: &Producer) -> Producer {
        let Self { compiler, assembler, linker, can } = self.clone();
        Producer {
            toolchain: reference.toolchain.clone(),
            is_derived: reference.is_derived,
            compiler: compiler.or_else(|| reference.compiler.clone()),
            assembler: assembler.or_else(|| reference.assembler.clone()),
            linker: linker.or_else(|| reference.linker.clone()),
            can: can.map_or_else(|| reference.can.clone(), |can| can.into_iter().collect()),
        }
    }
}
