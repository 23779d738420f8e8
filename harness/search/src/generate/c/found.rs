//! What a campaign has found.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::build::Level;
use super::contradictions::Contradiction;
use super::judge::Fault;
use super::known::Place;
use super::other_toolchain::Tried;
use super::reduce::Reduced;
use super::shape::Cause;
use crate::generate::outcome::listed;

/// The first case of a cause.
#[derive(Clone, Debug, Serialize)]
pub struct Example {
    /// The program, by its number.
    pub program: u64,
    /// The level that it was found at.
    pub level: Level,
    /// What is wrong there, and who says so.
    #[serde(flatten)]
    pub fault: Fault,
    /// The flags of the compiler and the linker.
    pub flags: Vec<String>,
    /// The files of the smallest program, without what all have. Empty if it was not reduced.
    pub source: Vec<String>,
    /// What other toolchains make of the smallest program, by name, if they were asked.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub elsewhere: BTreeMap<String, Tried>,
    /// The smallest program, if it was reduced.
    #[serde(skip)]
    pub reduced: Option<Reduced>,
}

/// Cases with one cause.
#[derive(Clone, Debug, Serialize)]
pub struct Group {
    /// How many functions have it.
    pub functions: u64,
    /// The first of them.
    pub first: Example,
    /// The instructions where they are wrong.
    #[serde(skip)]
    pub places: BTreeSet<Place>,
}

/// Where the bench contradicts itself.
#[derive(Clone, Debug, Serialize)]
pub struct Contradicts {
    /// The first program.
    pub program: u64,
    /// Its level.
    pub level: Level,
    /// What contradicts what.
    #[serde(flatten)]
    pub found: Contradiction,
    /// At how many places.
    pub places: u64,
    /// The flags of the compiler and the linker.
    pub flags: Vec<String>,
    /// The files of the smallest program, without what all have. Empty if it was not reduced.
    pub source: Vec<String>,
}

/// A program that computes something else at some level.
#[derive(Clone, Debug, Serialize)]
pub struct Differs {
    /// The program.
    pub program: u64,
    /// What it computes.
    pub checksums: BTreeMap<Level, u64>,
    /// How it ends where it does not come to its end.
    pub stops: BTreeMap<Level, String>,
    /// The flags of the compiler and the linker, without the level.
    pub flags: Vec<String>,
    /// The files of the smallest program, without what all have. Empty if it was not reduced.
    pub source: Vec<String>,
}

/// Builds that could not be judged.
#[derive(Clone, Debug, Serialize)]
pub struct Unjudged {
    /// How many.
    pub builds: u64,
    /// The first program.
    pub program: u64,
    /// Its level.
    pub level: Level,
    /// The flags of the compiler and the linker.
    pub flags: Vec<String>,
    /// The files of the smallest program, without what all have. Empty if it was not reduced.
    pub source: Vec<String>,
}

/// Builds that were not made.
#[derive(Clone, Debug, Serialize)]
pub struct Refused {
    /// How many.
    pub builds: u64,
    /// Whether a tool has crashed; otherwise, it may have refused what it does not know.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub crash: bool,
    /// The first program.
    pub program: u64,
    /// Its level.
    pub level: Level,
    /// The flags of the compiler and the linker.
    pub flags: Vec<String>,
}

/// What a campaign has found of one toolchain and ABI.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Found {
    /// Whether the search was interrupted, and programs are missing.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub interrupted: bool,
    /// Programs of which at least one build was judged.
    pub programs: u64,
    /// Builds that were judged.
    pub builds: u64,
    /// Their rows in `.sframe`.
    pub rows: u64,
    /// Those that runs have used.
    pub exercised: u64,
    /// Those that exploring judges.
    pub explored: u64,
    /// Instructions at which runs compared.
    pub comparisons: u64,
    /// Functions that `.sframe` leaves out, by reason.
    pub left_out: BTreeMap<String, u64>,
    /// Faults that have a page, by its name: how many functions have them.
    pub known: BTreeMap<String, u64>,
    /// What is wrong besides, by cause.
    #[serde(serialize_with = "listed")]
    pub causes: BTreeMap<Cause, Group>,
    /// Programs that compute something else at some level.
    pub differ: Vec<Differs>,
    /// Where the bench contradicts itself, by kind.
    pub contradictions: Vec<Contradicts>,
    /// Builds that could not be judged, by reason.
    pub unjudged: BTreeMap<String, Unjudged>,
    /// Builds that were not made, by what the tools said.
    pub refused: BTreeMap<String, Refused>,
    /// How often programs do what.
    pub statements: BTreeMap<&'static str, u64>,
    /// How many flags the compiler knows of those that can be drawn.
    pub flags: usize,
    /// What programs compute, by number, where all levels agree.
    #[serde(skip)]
    pub checksums: BTreeMap<u64, u64>,
}
