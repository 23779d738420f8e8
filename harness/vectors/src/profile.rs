//! Profiles: which vectors a reader with certain features must answer.

use std::path::Path;

use serde::{Deserialize, Deserializer, Serialize, de};
use sframe_engine::Abi;

use crate::names::{Flag, RejectKind};
use crate::schema::text_schema;
use crate::vector::Vector;
use crate::yaml::{Error, read_yaml};

/// What a reader can read. A field without a value excludes nothing.
#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Profile {
    /// Its name.
    pub name: String,
    /// Which readers it is for.
    pub summary: String,
    /// The versions.
    #[serde(default, deserialize_with = "some")]
    pub versions: Option<Vec<Version>>,
    /// The ABIs.
    #[serde(default, deserialize_with = "some")]
    pub abis: Option<Vec<Abi>>,
    /// What starts count from.
    pub starts: Option<Starts>,
    /// Whether it reads sorted sections only.
    #[serde(default)]
    pub sorted: bool,
    /// Whether it reads sections with an auxiliary header.
    #[serde(default = "yes")]
    pub aux: bool,
    /// Only vectors with such names.
    #[serde(default)]
    pub only: Vec<Pattern>,
    /// No vectors with such names.
    #[serde(default)]
    pub except: Vec<Pattern>,
}

const fn yes() -> bool {
    true
}

/// A list that excludes everything is a mistake.
fn some<'de, T: Deserialize<'de>, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Vec<T>>, D::Error> {
    let list = Vec::deserialize(deserializer)?;
    if list.is_empty() {
        return Err(de::Error::custom("an empty list excludes everything"));
    }
    Ok(Some(list))
}

/// A version that exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(try_from = "u8")]
pub struct Version(u8);

impl TryFrom<u8> for Version {
    type Error = String;

    fn try_from(version: u8) -> Result<Self, Self::Error> {
        let exists = (1..=3).contains(&version);
        exists.then_some(Self(version)).ok_or_else(|| format!("unknown version {version} (1 to 3 exist)"))
    }
}

/// What starts of functions count from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Starts {
    /// Their own field.
    Field,
    /// The start of the section.
    Section,
}

/// A pattern of names, such as `step/*`.
#[derive(Clone, Debug)]
pub struct Pattern(glob::Pattern);

text_schema!(Pattern, "A pattern of names, in which * stands for any letters.", "^.+$");

impl<'de> Deserialize<'de> for Pattern {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        glob::Pattern::new(&text).map(Self).map_err(de::Error::custom)
    }
}

/// A file of profiles.
#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Profiles {
    /// The profiles.
    pub profiles: Vec<Profile>,
}

impl Profile {
    /// Reads a file of profiles.
    ///
    /// # Errors
    /// It can't be read, or is none.
    pub fn read_all(path: &Path) -> Result<Vec<Self>, Error> {
        read_yaml(path).map(|Profiles { profiles }| profiles)
    }

    /// Returns a pattern that no vector matches, with the key that has it and its index there.
    #[must_use]
    pub fn unmatched<'p>(&'p self, vectors: &[Vector]) -> Option<(&'static str, usize, &'p str)> {
        let of = |key, patterns: &'p [Pattern]| {
            let patterns = patterns.iter().enumerate();
            patterns.map(move |(index, Pattern(pattern))| (key, index, pattern))
        };
        let mut patterns = of("only", &self.only).chain(of("except", &self.except));
        let (key, index, pattern) =
            patterns.find(|(.., pattern)| !vectors.iter().any(|vector| pattern.matches(&vector.id)))?;
        Some((key, index, pattern.as_str()))
    }

    /// Returns the key that excludes all vectors that would be left without it, if none is left. Without a key, it is
    /// several of them together.
    #[must_use]
    pub fn emptied_by(&self, vectors: &[Vector]) -> Option<Option<&'static str>> {
        if vectors.iter().any(|vector| self.has(vector)) {
            return None;
        }
        let without = [
            ("except", Self { except: Vec::new(), ..self.clone() }),
            ("only", Self { only: Vec::new(), ..self.clone() }),
            ("versions", Self { versions: None, ..self.clone() }),
            ("abis", Self { abis: None, ..self.clone() }),
            ("starts", Self { starts: None, ..self.clone() }),
            ("sorted", Self { sorted: false, ..self.clone() }),
        ];
        let excludes = |(_, profile): &&(&str, Self)| vectors.iter().any(|vector| profile.has(vector));
        Some(without.iter().find(excludes).map(|(key, _)| *key))
    }

    /// Returns whether such a reader must answer a vector.
    #[must_use]
    pub fn has(&self, vector: &Vector) -> bool {
        let named = |patterns: &[Pattern]| patterns.iter().any(|pattern| pattern.0.matches(&vector.id));
        if named(&self.except) || !self.only.is_empty() && !named(&self.only) {
            return false;
        }
        let has_version =
            |version| self.versions.as_ref().is_none_or(|versions| versions.contains(&Version(version)));
        let has_abi = |abi| self.abis.as_ref().is_none_or(|abis| abis.contains(&abi));
        // A reader of whatever version has to notice a version that it does not know.
        if vector.reject.as_ref().is_some_and(|reject| reject.kind == RejectKind::UnknownVersion) {
            return true;
        }
        let (section, header) = (vector.section.as_ref(), vector.header.as_ref());
        let version = section.map(|section| section.version).or(header.map(|header| header.version));
        let abi = section.map(|section| section.abi).or(header.map(|header| header.abi));
        let flag = |flag: Flag| match (section, header) {
            (Some(section), _) => section.flags.contains(&flag),
            (None, Some(header)) => header.flags & flag.bit() != 0,
            (None, None) => true,
        };
        let starts = if flag(Flag::Pcrel) { Starts::Field } else { Starts::Section };
        let is_empty = section.is_some_and(|section| section.fdes.is_empty());
        let has_aux = section.is_some_and(|section| !section.aux.0.is_empty())
            || header.is_some_and(|header| header.aux_len > 0);
        version.is_none_or(has_version)
            && abi.is_none_or(has_abi)
            && (is_empty || abi.is_none() || self.starts.is_none_or(|own| own == starts))
            && (flag(Flag::Sorted) || !self.sorted)
            && (self.aux || !has_aux)
    }
}
