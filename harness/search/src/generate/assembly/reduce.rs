//! The smallest program that shows a fault: parts of a plan are dropped while the fault stays.

use sframe_corpus::corpus::{Error, Maker};

use super::judge::{Fault, Judged, judge};
use super::known::Known;
use super::plan::{Column, FunctionPlan, Part, Plan, Sections, Setup};
use super::quirk::Quirk;
use super::state::{Source, Wrong};
use super::writer::{Program, write};
use crate::generate::outcome::{Outcome, complaint};
use crate::generate::reduction::{self, Smaller};

/// What must stay when a program gets smaller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Symptom {
    /// A section is wrong in some way that no known mistake explains.
    Unexplained {
        /// The section.
        source: Source,
        /// What is wrong.
        wrong: Wrong,
        /// Whether the other section is right.
        is_alone: bool,
    },
    /// A known mistake explains alone what a section says.
    Explained(Source, Quirk),
    /// The tools do not make the program, and say this.
    Refused(String),
}

impl Symptom {
    /// What the tools say of the program.
    pub(super) fn refused(&self) -> Option<String> {
        match self {
            Self::Refused(said) => Some(said.clone()),
            Self::Unexplained { .. } | Self::Explained(..) => None,
        }
    }
}

/// A program that was reduced.
#[derive(Clone, Debug)]
pub struct Reduced {
    /// The program.
    pub program: Program,
    /// The plan that it is made of.
    pub plan: Plan,
    /// The fault in it; `None` if it is not made.
    pub fault: Option<Fault>,
}

/// Reduces a program to one function that shows a symptom, or else to those that show it together, and these
/// to the parts that it needs. The functions that are said to show it are tried first. Returns `None` if the
/// program does not show it.
///
/// # Errors
/// The toolchain can't be started. A program that it refuses shows no fault.
pub fn reduce(
    maker: &Maker,
    known: &Known,
    plan: &Plan,
    functions: &[u32],
    symptom: &Symptom,
) -> Result<Option<Reduced>, Error> {
    let alone = plan.functions.iter().filter(|function| functions.contains(&function.number));
    let alone = alone.map(|function| Plan { functions: vec![function.clone()], ..plan.clone() });
    let shows = |plan: &Plan| shown(maker, known, plan, symptom);
    let reduced = reduction::reduce(alone.chain([plan.clone()]), u32::MAX, smaller, shows)?;
    Ok(reduced.map(|(plan, (program, fault))| Reduced { program, plan, fault }))
}

/// Whether only one section is wrong in a function.
pub(super) fn is_alone(judged: &Judged, fault: &Fault) -> bool {
    !judged.faults.iter().any(|other| other.function == fault.function && other.source != fault.source)
}

/// What a program becomes without one function, or with one that lacks a part or has one that is chosen more
/// plainly.
fn smaller(plan: &Plan) -> Vec<Plan> {
    let mut all = Smaller::than(plan);
    all.with(|plan| plan.sections = Sections::USUAL);
    let count = plan.functions.len();
    (0..count).filter(|_| count > 1).for_each(|index| all.with(|plan| drop(plan.functions.remove(index))));
    for (index, function) in plan.functions.iter().enumerate() {
        smaller_functions(function, &mut |change| all.with(|plan| change(&mut plan.functions[index])));
    }
    all.plans()
}

/// Tries a change.
type Try<'t> = dyn FnMut(&dyn Fn(&mut FunctionPlan)) + 't;

fn smaller_functions(function: &FunctionPlan, with: &mut Try<'_>) {
    let (frame, body) = (function.frame.len(), function.body.len());
    with(&|function| function.body.clear());
    (0..body).for_each(|index| with(&|function| _ = function.body.remove(index)));
    (0..frame).rev().for_each(|index| with(&|function| _ = function.frame.remove(index)));
    with(&|function| function.escapes = false);
    with(&|function| function.is_simple = false);
    with(&|function| function.column = Column::Usual);
    with(&|function| function.kind.outermost = false);
    with(&|function| function.kind.signal = false);
    with(&|function| function.kind.key_b = false);
    with(&|function| function.leaves_by_fp = false);
    (0..frame).for_each(|index| {
        with(&|function| function.frame[index].what = function.frame[index].what.smallest());
    });
    (0..body).for_each(|index| {
        with(&|function| function.body[index].what = function.body[index].what.smallest());
    });
    // The first seeds choose like others, but all functions have the same ones then.
    let seeds = |current: u64| 0..SEEDS.min(current);
    for (index, part) in function.frame.iter().enumerate() {
        seeds(part.seed).for_each(|seed| with(&|function| function.frame[index].seed = seed));
    }
    for (index, part) in function.body.iter().enumerate() {
        seeds(part.seed).for_each(|seed| with(&|function| function.body[index].seed = seed));
    }
    seeds(function.exit).for_each(|seed| with(&|function| function.exit = seed));
    // With a shorter frame, the ways out draw something else.
    let is_save = |part: &Part<Setup>| matches!(part.what, Setup::Save(_));
    for seed in 0..SEEDS {
        if function.frame.iter().any(is_save) {
            with(&|function| {
                function.frame.retain(|part| !is_save(part));
                function.exit = seed;
            });
            with(&|function| {
                function.frame.retain(|part| !is_save(part));
                function.body.clear();
                function.exit = seed;
            });
        }
        for removed in (0..frame + body).rev() {
            with(&|function| {
                match removed.checked_sub(frame) {
                    Some(part) => _ = function.body.remove(part),
                    None => _ = function.frame.remove(removed),
                }
                function.exit = seed;
            });
        }
    }
}

/// How many seeds are tried in place of one.
const SEEDS: u64 = 24;

/// What a plan is written as if it shows a symptom, and the fault that does.
fn shown(
    maker: &Maker,
    known: &Known,
    plan: &Plan,
    symptom: &Symptom,
) -> Result<Option<(Program, Option<Fault>)>, Error> {
    let program = write(plan);
    let fault = match (Outcome::of(program.make(maker), |bytes| judge(&program, bytes))?, symptom) {
        (Outcome::Judged(judged), _) => fault_of(known, &program, &judged, symptom).map(Some),
        (Outcome::Refused(stderr), Symptom::Refused(said)) => (complaint(&stderr) == *said).then_some(None),
        (Outcome::Unjudged(_) | Outcome::Refused(_), _) => None,
    };
    Ok(fault.map(|fault| (program, fault)))
}

/// The fault that shows a symptom.
fn fault_of(known: &Known, program: &Program, judged: &Judged, symptom: &Symptom) -> Option<Fault> {
    let shows = |fault: &&Fault| match symptom {
        Symptom::Unexplained { source, wrong, is_alone: alone } => {
            (fault.source, fault.wrong) == (*source, *wrong)
                && is_alone(judged, fault) == *alone
                && known.explain(program, judged, fault).is_none()
        }
        Symptom::Explained(source, quirk) => {
            fault.source == *source
                && known.explain(program, judged, fault).is_some_and(|quirks| quirks == [*quirk])
        }
        Symptom::Refused(_) => false,
    };
    judged.faults.iter().find(shows).cloned()
}
