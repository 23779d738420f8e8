//! The smallest program that shows a fault: parts of a plan are dropped while the fault stays.

use sframe_corpus::corpus::{Error, Maker};

use super::judge::{Fault, Judged, judge};
use super::known::Known;
use super::plan::{Column, FunctionPlan, Part, Plan, Setup};
use super::quirk::Quirk;
use super::sections::Sections;
use super::state::{Source, Wrong};
use super::writer::{Program, write};
use crate::generate::outcome::Outcome;
use crate::generate::reduction::Reduction;

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
    let mut shows = |plan: &Plan| shown(maker, known, plan, symptom);
    let alone = plan.functions.iter().filter(|function| functions.contains(&function.number));
    let alone = alone.map(|function| Plan { functions: vec![function.clone()], ..plan.clone() });
    let Some(mut reduction) = Reduction::of(alone.chain([plan.clone()]), u32::MAX, &mut shows)? else {
        return Ok(None);
    };
    let usual = Plan { sections: Sections::USUAL, ..reduction.best().clone() };
    if usual != *reduction.best() {
        reduction.attempt(usual)?;
    }
    reduction.by_first(smaller)?;
    let (plan, (program, fault)) = reduction.end();
    Ok(Some(Reduced { program, plan, fault }))
}

/// Whether only one section is wrong in a function.
pub(super) fn is_alone(judged: &Judged, fault: &Fault) -> bool {
    !judged.faults.iter().any(|other| other.function == fault.function && other.source != fault.source)
}

/// What a program becomes without one function, or with less of one.
fn smaller(plan: &Plan) -> impl Iterator<Item = Plan> + use<> {
    let (plan, count) = (plan.clone(), plan.functions.len());
    let without = |plan: &Plan, index| {
        let mut plan = plan.clone();
        plan.functions.remove(index);
        plan
    };
    let without: Vec<Plan> = (0..count).filter(|_| count > 1).map(|index| without(&plan, index)).collect();
    let with_less = (0..count).flat_map(move |index| {
        let plan = plan.clone();
        smaller_functions(&plan.functions[index]).into_iter().map(move |function| {
            let mut plan = plan.clone();
            plan.functions[index] = function;
            plan
        })
    });
    without.into_iter().chain(with_less)
}

/// What a function becomes without one part, or with one that is chosen more plainly.
fn smaller_functions(function: &FunctionPlan) -> Vec<FunctionPlan> {
    let mut all = Vec::new();
    let mut without = |change: &dyn Fn(&mut FunctionPlan)| {
        let mut smaller = function.clone();
        change(&mut smaller);
        if smaller != *function {
            all.push(smaller);
        }
    };
    without(&|function| function.body.clear());
    for index in 0..function.body.len() {
        without(&|function| {
            function.body.remove(index);
        });
    }
    for index in (0..function.frame.len()).rev() {
        without(&|function| {
            function.frame.remove(index);
        });
    }
    without(&|function| function.escapes = false);
    without(&|function| function.is_simple = false);
    without(&|function| function.column = Column::Usual);
    without(&|function| function.kind.outermost = false);
    without(&|function| function.kind.signal = false);
    without(&|function| function.kind.key_b = false);
    without(&|function| function.leaves_by_fp = false);
    for index in 0..function.frame.len() {
        without(&|function| function.frame[index].what = function.frame[index].what.smallest());
    }
    for index in 0..function.body.len() {
        without(&|function| function.body[index].what = function.body[index].what.smallest());
    }
    // The first seeds choose like others, but all functions have the same ones then.
    let seeds = |current: u64| (0..SEEDS).take_while(move |seed| *seed < current);
    for index in 0..function.frame.len() {
        for seed in seeds(function.frame[index].seed) {
            without(&|function| function.frame[index].seed = seed);
        }
    }
    for index in 0..function.body.len() {
        for seed in seeds(function.body[index].seed) {
            without(&|function| function.body[index].seed = seed);
        }
    }
    for seed in seeds(function.exit) {
        without(&|function| function.exit = seed);
    }
    // With a shorter frame, the ways out draw something else.
    let is_save = |part: &Part<Setup>| matches!(part.what, Setup::Save(_));
    for seed in 0..SEEDS {
        if function.frame.iter().any(is_save) {
            without(&|function| {
                function.frame.retain(|part| !is_save(part));
                function.exit = seed;
            });
            without(&|function| {
                function.frame.retain(|part| !is_save(part));
                function.body.clear();
                function.exit = seed;
            });
        }
        for removed in (0..function.frame.len() + function.body.len()).rev() {
            without(&|function| {
                match removed.checked_sub(function.frame.len()) {
                    Some(part) => _ = function.body.remove(part),
                    None => _ = function.frame.remove(removed),
                }
                function.exit = seed;
            });
        }
    }
    all
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

/// The first complaint of an assembler or linker, without the place.
pub(super) fn complaint(said: &str) -> String {
    let line = said.lines().find(|line| line.contains("rror: ") || line.contains("Internal error"));
    let line = line.or_else(|| said.lines().next());
    let line = line.unwrap_or_default();
    line.rsplit_once("rror: ").map_or(line, |(_, message)| message).trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn complaints_are_reduced_to_what_they_say() {
        let said = "generated.s: Assembler messages:\ngenerated.s:12: Error: no such instruction: `x'\n";
        assert_eq!(complaint(said), "no such instruction: `x'");
        assert_eq!(complaint("killed"), "killed");
        let crash = "x.s: Assembler messages:\nx.s: Internal error (Segmentation fault).\n";
        assert_eq!(complaint(crash), "x.s: Internal error (Segmentation fault).");
    }
}
