//! What is found in generated programs in C.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use sframe_engine::Abi;
use sframe_suite::corpus::{Error, Maker};

use super::build::Level;
use super::judge::{Fault, Judged};
use super::known::Place;
use super::other_toolchain::try_with;
use super::reduce::Reduced;
use super::shape::Cause;
use crate::generate::{Programs, Terms, Tried};

/// A program that shows something.
#[derive(Clone, Debug, Serialize)]
pub struct Example {
    /// The program, by its number.
    pub program: u64,
    /// The level that it was found at.
    pub level: Level,
    /// What it shows.
    #[serde(flatten)]
    pub shows: Shows,
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

/// What a program shows.
#[derive(Clone, Debug, Serialize)]
#[serde(untagged)]
pub enum Shows {
    /// A fault: what is wrong, and who says so.
    Fault(Box<Fault>),
    /// What is said of it.
    Says {
        /// In a sentence.
        says: String,
    },
    /// That it computes something else at some level.
    Differs {
        /// What it computes.
        checksums: BTreeMap<Level, u64>,
        /// How it ends where it does not come to its end.
        stops: BTreeMap<Level, String>,
    },
}

impl Example {
    /// The fault that it shows, if that is what it does.
    #[must_use]
    pub fn fault(&self) -> Option<&Fault> {
        match &self.shows {
            Shows::Fault(fault) => Some(fault),
            Shows::Says { .. } | Shows::Differs { .. } => None,
        }
    }
}

/// What was made of one toolchain and ABI, and judged.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Counts {
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
    /// How often programs do what.
    pub statements: BTreeMap<&'static str, u64>,
    /// How many flags the compiler knows of those that can be drawn.
    pub flags: usize,
    /// What programs compute, by number, where all levels agree.
    #[serde(skip)]
    pub checksums: BTreeMap<u64, u64>,
    /// The instructions where functions are wrong, by cause.
    #[serde(skip)]
    pub places: BTreeMap<Cause, BTreeSet<Place>>,
}

impl Counts {
    pub(super) fn add(&mut self, judged: &Judged) {
        self.builds += 1;
        self.rows += judged.rows;
        self.exercised += judged.exercised;
        self.explored += judged.explored;
        self.comparisons += judged.comparisons;
        for (reason, count) in &judged.left_out {
            *self.left_out.entry(reason.clone()).or_default() += count;
        }
    }
}

/// Programs in C.
#[derive(Clone, Copy, Debug)]
pub struct C;

impl Terms for C {
    type Counts = Counts;
    type Cause = Cause;
    type Example = Example;
    type Error = Error;

    fn size(example: &Example) -> usize {
        example.source.iter().map(String::len).sum()
    }
}

impl Programs for C {
    fn try_with(maker: &Maker, abi: Abi, example: &Example) -> Result<Option<Tried>, Error> {
        let shown = example.reduced.as_ref().zip(example.fault());
        shown.map(|(reduced, fault)| try_with(maker, abi, example.level, reduced, fault)).transpose()
    }

    fn elsewhere(example: &mut Example) -> &mut BTreeMap<String, Tried> {
        &mut example.elsewhere
    }
}
