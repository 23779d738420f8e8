//! The smallest program that shows a fault: parts of a plan are dropped while the fault stays.

use super::judge::{Fault, Judged, Source, judge};
use super::plan::{FunctionPlan, Plan};
use super::state::Wrong;
use super::writer::{Program, write};
use crate::corpus::{Error, Maker};

/// What must stay when a program gets smaller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Symptom {
    source: Source,
    wrong: Option<Wrong>,
    /// Whether the other section is wrong there, too.
    is_alone: bool,
}

/// A program that was reduced.
#[derive(Clone, Debug)]
pub struct Reduced {
    /// The program.
    pub program: Program,
    /// The plan that it is made of.
    pub plan: Plan,
    /// The fault in it.
    pub fault: Fault,
    /// How many programs were made on the way.
    pub tries: u32,
}

/// Reduces a program to one function, and this to the parts that the first fault of it needs.
///
/// # Errors
/// The toolchain can't be started. A program that it refuses shows no fault.
pub fn reduce(maker: &Maker, plan: &Plan, fault: &Fault, judged: &Judged) -> Result<Option<Reduced>, Error> {
    let function = plan.functions.iter().find(|function| function.number == fault.function);
    let Some(function) = function.cloned() else { return Ok(None) };
    let symptom = Symptom { source: fault.source, wrong: fault.wrong, is_alone: is_alone(judged, fault) };
    let mut reduction = Reduction { maker, plan, symptom, best: None, tries: 0 };
    if !reduction.keeps(&function)? {
        return Ok(None);
    }
    let mut function = function;
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
fn is_alone(judged: &Judged, fault: &Fault) -> bool {
    !judged.faults.iter().any(|other| other.function == fault.function && other.source != fault.source)
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
    symptom: Symptom,
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
        let made = match self.maker.make(plan.abi, &sources, &[]) {
            Ok(made) => made,
            Err(Error::Compiler { .. }) => return Ok(false),
            Err(error) => return Err(error),
        };
        let Ok(judged) = judge(&program, &made.bytes) else { return Ok(false) };
        let Symptom { source, wrong, is_alone: alone } = self.symptom;
        let fault = judged.faults.iter().find(|fault| (fault.source, fault.wrong) == (source, wrong));
        let Some(fault) = fault.filter(|fault| is_alone(&judged, fault) == alone).cloned() else {
            return Ok(false);
        };
        self.best = Some((Reduced { program, plan, fault, tries: 0 }, self.tries));
        Ok(true)
    }
}
