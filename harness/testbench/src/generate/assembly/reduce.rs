//! The smallest program that shows a fault: parts of a plan are dropped while the fault stays.

use super::judge::{Fault, Judged, Source, judge};
use super::plan::{FunctionPlan, Plan};
use super::quirk::{Quirk, explanation};
use super::state::Wrong;
use super::writer::{Program, write};
use crate::corpus::{Error, Maker};
use crate::spec::Assembler;

/// What must stay when a program gets smaller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Symptom {
    /// A section is wrong in some way that no known mistake explains.
    Unexplained {
        /// The section.
        source: Source,
        /// What is wrong; `None` for no row.
        wrong: Option<Wrong>,
        /// Whether the other section is right.
        is_alone: bool,
    },
    /// A known mistake explains alone what a section says.
    Explained(Source, Quirk),
    /// The tools do not make the program, and say this.
    Refused(String),
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
    /// How many programs were made on the way.
    pub tries: u32,
}

/// Reduces a program to one function, and this to the parts that a symptom needs.
///
/// # Errors
/// The toolchain can't be started. A program that it refuses shows no fault.
pub fn reduce(
    maker: &Maker,
    plan: &Plan,
    functions: &[u32],
    symptom: &Symptom,
) -> Result<Option<Reduced>, Error> {
    let mut reduction = Reduction { maker, plan, symptom, best: None, tries: 0 };
    let mut chosen = None;
    for function in plan.functions.iter().filter(|function| functions.contains(&function.number)) {
        if reduction.keeps(function)? {
            chosen = Some(function.clone());
            break;
        }
    }
    let Some(mut function) = chosen else { return Ok(None) };
    loop {
        let before = reduction.tries_of_success();
        for smaller in smaller(&function) {
            if reduction.keeps(&smaller)? {
                function = smaller;
                break;
            }
        }
        if reduction.tries_of_success() == before {
            break;
        }
    }
    Ok(reduction.best.map(|(mut reduced, _)| {
        reduced.tries = reduction.tries;
        reduced
    }))
}

/// Whether only one section is wrong in a function.
pub(super) fn is_alone(judged: &Judged, fault: &Fault) -> bool {
    !judged.faults.iter().any(|other| other.function == fault.function && other.source != fault.source)
}

/// The known mistakes that explain what is wrong with a function.
pub(super) fn explained(
    maker: &Maker,
    program: &Program,
    judged: &Judged,
    fault: &Fault,
) -> Option<Vec<Quirk>> {
    // What has no row says nothing.
    fault.wrong?;
    let said = judged.said.get(&(fault.source, fault.function))?;
    explanation(program, fault.function, (assembler(maker), fault.source), said)
}

/// The assembler of a toolchain: what it says, or else LLVM's for Clang, and gas.
pub(super) fn assembler(maker: &Maker) -> Assembler {
    let toolchain = maker.toolchain();
    let is_clang = toolchain.abis.values().any(|tools| tools.compiler.contains("clang"));
    let usual = if is_clang { Assembler::Llvm } else { Assembler::Gas };
    toolchain.properties.assembler.as_ref().map_or(usual, |assembler| assembler.name)
}

/// What a function becomes without one part, or with one that is chosen more plainly.
fn smaller(function: &FunctionPlan) -> Vec<FunctionPlan> {
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
    all
}

/// How many seeds are tried in place of one.
const SEEDS: u64 = 12;

struct Reduction<'r> {
    maker: &'r Maker,
    plan: &'r Plan,
    symptom: &'r Symptom,
    best: Option<(Reduced, u32)>,
    tries: u32,
}

impl Reduction<'_> {
    fn tries_of_success(&self) -> u32 {
        self.best.as_ref().map_or(0, |(_, tries)| *tries)
    }

    /// Whether a function shows the symptom. It is the best one then.
    fn keeps(&mut self, function: &FunctionPlan) -> Result<bool, Error> {
        self.tries += 1;
        let plan = Plan { abi: self.plan.abi, functions: vec![function.clone()] };
        let program = write(&plan);
        let sources = [(super::SOURCE.to_owned(), program.source.clone())];
        let fault = match (self.maker.make(plan.abi, &sources, &[]), self.symptom) {
            (Ok(made), _) => match judge(&program, &made.bytes) {
                Ok(judged) => self.shown(&program, &judged).map(Some),
                Err(_) => None,
            },
            (Err(Error::Compiler { stderr, .. }), Symptom::Refused(said)) => {
                (complaint(&stderr) == *said).then_some(None)
            }
            (Err(Error::Compiler { .. }), _) => None,
            (Err(error), _) => return Err(error),
        };
        let Some(fault) = fault else { return Ok(false) };
        self.best = Some((Reduced { program, plan, fault, tries: 0 }, self.tries));
        Ok(true)
    }

    /// The fault that shows the symptom.
    fn shown(&self, program: &Program, judged: &Judged) -> Option<Fault> {
        let shows = |fault: &&Fault| match self.symptom {
            Symptom::Unexplained { source, wrong, is_alone: alone } => {
                (fault.source, fault.wrong) == (*source, *wrong)
                    && is_alone(judged, fault) == *alone
                    && explained(self.maker, program, judged, fault).is_none()
            }
            Symptom::Explained(source, quirk) => {
                fault.source == *source
                    && explained(self.maker, program, judged, fault).is_some_and(|quirks| quirks == [*quirk])
            }
            Symptom::Refused(_) => false,
        };
        judged.faults.iter().find(shows).cloned()
    }
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
    fn complaints_have_no_place() {
        let said = "generated.s: Assembler messages:\ngenerated.s:12: Error: no such instruction: `x'\n";
        assert_eq!(complaint(said), "no such instruction: `x'");
        assert_eq!(complaint("killed"), "killed");
        let crash = "x.s: Assembler messages:\nx.s: Internal error (Segmentation fault).\n";
        assert_eq!(complaint(crash), "x.s: Internal error (Segmentation fault).");
    }
}
