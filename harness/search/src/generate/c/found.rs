//! What is found in generated programs in C, and what other toolchains make of that.

use std::collections::{BTreeMap, BTreeSet};

use object::{Object as _, ObjectSymbol as _};
use serde::Serialize;
use sframe_corpus::corpus::{Error, Maker};
use sframe_engine::Abi;

use super::build::{Build, Level, build};
use super::flags::knows;
use super::judge::{Fault, Judged, judge};
use super::known::Place;
use super::oracle::OF_FILE;
use super::reduce::Reduced;
use super::shape::{Cause, Section};
use crate::generate::outcome::{Outcome, complaint};
use crate::generate::{Elsewhere, Programs, Terms, Tried};

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

/// Makes the smallest program with a fault with another toolchain, at the same level.
///
/// # Errors
/// The toolchain does not compile for the ABI, or can't be started.
fn try_with(maker: &Maker, abi: Abi, level: Level, reduced: &Reduced, fault: &Fault) -> Result<Tried, Error> {
    let (plan, mut how, mut without) = (&reduced.plan, reduced.build.clone(), Vec::new());
    if maker.toolchain().one_unit {
        how.link.objects.truncate(1);
    }
    // What is said of the fault needs the file, too.
    let make = |how: &Build| {
        let judge = |bytes: &[u8]| judge(bytes).map(|judged| elsewhere(&judged, bytes, fault));
        Outcome::of(build(maker, abi, plan, how, level), judge)
    };
    let mut outcome = make(&how)?;
    if matches!(outcome, Outcome::Refused(_)) {
        without = drop_unknown(maker, abi, &mut how)?;
        if !without.is_empty() {
            outcome = make(&how)?;
        }
    }
    let result = match outcome {
        Outcome::Judged(result) => result,
        Outcome::Unjudged(why) => Elsewhere::Unjudged { why: why.why().to_owned() },
        Outcome::Refused(stderr) => Elsewhere::Refused { says: complaint(&stderr) },
    };
    Ok(Tried { result, without })
}

/// Drops the flags that a toolchain does not know.
fn drop_unknown(maker: &Maker, abi: Abi, how: &mut Build) -> Result<Vec<String>, Error> {
    let mut dropped = Vec::new();
    let mut is_known = |flags: &[String]| {
        let is_known = knows(maker, abi, flags)?;
        if !is_known {
            dropped.extend_from_slice(flags);
        }
        Ok::<_, Error>(is_known)
    };
    let mut flags = Vec::new();
    for group in std::mem::take(&mut how.flags) {
        if is_known(&group)? {
            flags.push(group);
        }
    }
    how.flags = flags;
    let mut flags = Vec::new();
    for flag in std::mem::take(&mut how.link.flags) {
        if is_known(std::slice::from_ref(&flag))? {
            flags.push(flag);
        }
    }
    how.link.flags = flags;
    Ok(dropped)
}

/// A function's name, without what compilers add to that of a part or a copy.
fn base(name: &str) -> &str {
    match name.find('.') {
        Some(0) | None => name,
        Some(at) => &name[..at],
    }
}

fn elsewhere(judged: &Judged, bytes: &[u8], fault: &Fault) -> Elsewhere {
    let name = base(&fault.function);
    let mut here = judged.faults.iter().filter(|other| base(&other.function) == name);
    if here.clone().any(|other| other.cause == fault.cause) {
        return Elsewhere::Same;
    }
    if let Some(other) = here.next() {
        return Elsewhere::Other { says: other.cause.to_string() };
    }
    if fault.cause.section != Section::EhFrame && judged.without_fde.iter().any(|other| base(other) == name) {
        return Elsewhere::LeftOut;
    }
    let file = object::File::parse(bytes);
    let has_it = file.is_ok_and(|file| {
        let mut names = file.symbols().filter_map(|symbol| symbol.name().ok().map(base));
        names.any(|other| other == name)
    });
    // It may have been inlined. What is wrong with a section as a whole is in no function.
    if has_it || name == OF_FILE {
        Elsewhere::Right
    } else {
        Elsewhere::Unjudged { why: format!("it has no function {name}") }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_faults_in_the_same_function_count() {
        let wrong = |faults| Judged { faults, ..Judged::default() };
        let says = |judged: &Judged| elsewhere(judged, b"", &Fault::of("f1", "wrong-fp"));
        assert_eq!(says(&wrong(vec![Fault::of("f1.cold", "wrong-fp")])), Elsewhere::Same);
        assert!(matches!(says(&wrong(vec![Fault::of("f1", "wrong-cfa")])), Elsewhere::Other { .. }));
        let other = wrong(vec![Fault::of("f10", "wrong-fp")]);
        assert!(matches!(says(&other), Elsewhere::Unjudged { why } if why == "it has no function f1"));
        assert_eq!(elsewhere(&other, b"", &Fault::of(OF_FILE, "decode-error")), Elsewhere::Right);
        let left_out = Judged { without_fde: ["f1".to_owned()].into(), ..Judged::default() };
        assert_eq!(says(&left_out), Elsewhere::LeftOut);
    }
}
