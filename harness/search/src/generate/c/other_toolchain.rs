//! What another toolchain makes of the smallest program with a fault.

use object::{Object as _, ObjectSymbol as _};
use serde::Serialize;
use sframe_corpus::corpus::{Error, Maker};
use sframe_engine::Abi;

use super::build::{Build, Level, build};
use super::flags::knows;
use super::judge::{Fault, Judged, judge};
use super::oracle::OF_FILE;
use super::reduce::Reduced;
use super::shape::{Section, complaint};
use crate::generate::Elsewhere;
use crate::generate::outcome::Outcome;

/// What a toolchain makes of an example.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Tried {
    /// What it makes of it.
    #[serde(flatten)]
    pub result: Elsewhere,
    /// The flags that it does not know, and was not given.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub without: Vec<String>,
}

impl std::fmt::Display for Tried {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.result.fmt(f)?;
        if self.without.is_empty() { Ok(()) } else { write!(f, " (without {})", self.without.join(" ")) }
    }
}

/// Makes the smallest program with a fault with another toolchain, at the same level.
///
/// # Errors
/// The toolchain does not compile for the ABI, or can't be started.
pub fn try_with(
    maker: &Maker,
    abi: Abi,
    level: Level,
    reduced: &Reduced,
    fault: &Fault,
) -> Result<Tried, Error> {
    let (plan, mut how, mut without) = (&reduced.plan, reduced.build.clone(), Vec::new());
    if maker.toolchain().one_unit {
        how.link.objects.truncate(1);
    }
    // What is said of the fault needs the file, too.
    let make = |how: &Build| {
        let judge = |bytes: &[u8]| judge(bytes).map(|judged| of(&judged, bytes, fault));
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

fn of(judged: &Judged, bytes: &[u8], fault: &Fault) -> Elsewhere {
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
        let says = |judged: &Judged| of(judged, b"", &Fault::of("f1", "wrong-fp"));
        assert_eq!(says(&wrong(vec![Fault::of("f1.cold", "wrong-fp")])), Elsewhere::Same);
        assert!(matches!(says(&wrong(vec![Fault::of("f1", "wrong-cfa")])), Elsewhere::Other { .. }));
        let other = wrong(vec![Fault::of("f10", "wrong-fp")]);
        assert!(matches!(says(&other), Elsewhere::Unjudged { why } if why == "it has no function f1"));
        assert_eq!(of(&other, b"", &Fault::of(OF_FILE, "decode-error")), Elsewhere::Right);
        let left_out = Judged { without_fde: ["f1".to_owned()].into(), ..Judged::default() };
        assert_eq!(says(&left_out), Elsewhere::LeftOut);
    }
}
