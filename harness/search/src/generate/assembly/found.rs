//! What is found in generated assembly, and what other toolchains make of that.

use std::collections::BTreeMap;
use std::fmt;

use serde::Serialize;
use sframe_corpus::corpus::{Error, Maker};
use sframe_engine::Abi;

use super::directive::Directive;
use super::judge::{Fault, Judged, judge};
use super::reduce::Reduced;
use super::state::{Source, Wrong};
use super::writer::{Program, parts};
use crate::generate::outcome::{Outcome, complaint};
use crate::generate::{Elsewhere, Programs, Terms, Tried};

/// What seems to be one cause.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Cause {
    /// The section that is wrong.
    pub source: Source,
    /// What is wrong.
    pub wrong: &'static str,
    /// The directives before the first instruction that is affected; of a function that is left out, all.
    pub after: Vec<&'static str>,
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let source = match self.source {
            Source::Sframe => ".sframe",
            Source::Cfi => ".eh_frame",
            Source::DebugFrame => ".debug_frame",
        };
        let after = if self.after.is_empty() { "no directive".to_owned() } else { self.after.join(" ") };
        if self.wrong == Wrong::LeftOut.name() {
            return write!(f, "left out of {source}, with {after}");
        }
        write!(f, "{} in {source} after {after}", self.wrong)
    }
}

/// One case of a cause.
#[derive(Clone, Debug, Serialize)]
pub struct Example {
    /// The program, by its number.
    pub program: u64,
    /// The function.
    pub function: u32,
    /// The instruction.
    pub code: String,
    /// What the section says.
    pub says: String,
    /// What is true.
    pub truth: String,
    /// The smallest program with it, in assembly.
    pub source: String,
    /// How many instructions that has, without those that call it.
    pub instructions: usize,
    /// What other toolchains make of it, by name, if they were asked.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub elsewhere: BTreeMap<String, Tried>,
    /// Whether the tools do not make it.
    #[serde(skip)]
    pub refused: bool,
    /// The program itself, and its fault.
    #[serde(skip)]
    pub reduced: Reduced,
}

/// What was made of one toolchain and ABI, and judged.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Counts {
    /// Programs that were made.
    pub programs: u64,
    /// Functions in them.
    pub functions: u64,
    /// Functions that `.sframe` leaves out.
    pub left_out: u64,
    /// Functions whose CFI is wrong on purpose, of which a run has found that.
    #[serde(skip_serializing_if = "sframe_kit::json::is_zero")]
    pub noticed: u64,
    /// Instructions that were compared.
    pub compared: u64,
    /// How often each form of a directive was used.
    pub forms: BTreeMap<&'static str, u64>,
}

/// Functions in assembly.
#[derive(Clone, Copy, Debug)]
pub struct Assembly;

impl Terms for Assembly {
    type Counts = Counts;
    type Cause = Cause;
    type Example = Example;
    type Error = Error;

    fn size(example: &Example) -> usize {
        example.instructions
    }
}

impl Programs for Assembly {
    fn try_with(maker: &Maker, _: Abi, example: &Example) -> Result<Option<Tried>, Error> {
        let program = &example.reduced.program;
        let result = match Outcome::of(program.make(maker), |bytes| judge(program, bytes))? {
            Outcome::Judged(judged) => elsewhere(&judged, example),
            Outcome::Unjudged(why) => Elsewhere::Unjudged { why },
            Outcome::Refused(stderr) => match complaint(&stderr) {
                says if example.refused && says == example.says => Elsewhere::Same,
                says => Elsewhere::Refused { says },
            },
        };
        Ok(Some(Tried { result, without: Vec::new() }))
    }

    fn elsewhere(example: &mut Example) -> &mut BTreeMap<String, Tried> {
        &mut example.elsewhere
    }
}

fn elsewhere(judged: &Judged, example: &Example) -> Elsewhere {
    let Some(fault) = &example.reduced.fault else { return Elsewhere::Right };
    let of_section = |other: &&Fault| other.source == fault.source;
    let mut others = judged.faults.iter().filter(of_section);
    match judged.faults.iter().filter(of_section).find(|other| other.site == fault.site) {
        Some(other) if other.says == fault.says => Elsewhere::Same,
        Some(other) => Elsewhere::Other { says: other.says.clone() },
        None if fault.source == Source::Sframe && judged.left_out.contains(&fault.function) => {
            Elsewhere::LeftOut
        }
        None => others.next().map_or(Elsewhere::Right, |other| Elsewhere::Other { says: other.says.clone() }),
    }
}

/// The cause of a fault, of the directives that matter for it.
pub(super) fn cause(fault: &Fault, declared: &[Directive]) -> Cause {
    // For the CFA, those of registers do not matter, however many.
    let matters = |form: &&str| {
        fault.wrong != Wrong::Cfa
            || form.contains("cfa")
            || form.contains("CFA_def")
            || form.contains("state")
    };
    let mut after: Vec<_> = declared.iter().map(|directive| directive.form).filter(matters).collect();
    after.dedup();
    Cause { source: fault.source, wrong: fault.wrong.name(), after }
}

/// The directives that matter for a fault: those before the instruction, or all of a part that is left out.
pub(super) fn declared(program: &Program, fault: &Fault) -> Vec<Directive> {
    let part = parts(program).into_iter().find(|part| part.contains(&fault.site));
    let sites = match part {
        Some(part) if fault.wrong == Wrong::LeftOut => part,
        _ => fault.site..fault.site + 1,
    };
    let sites = program.sites.get(sites).unwrap_or_default();
    sites.iter().flat_map(|site| &site.declared).cloned().collect()
}
