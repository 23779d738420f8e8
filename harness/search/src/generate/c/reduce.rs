//! The smallest program that shows something: parts of it are dropped while that stays.

use sframe_corpus::corpus::{Error, Maker};
use sframe_engine::Abi;

use super::build::{Build, Level, build};
use super::judge::{Fault, Judged, judge};
use super::known::KnownCauses;
use super::links::{Form, Link, ObjectForm};
use super::oracle::NotJudged;
use super::plan::{Attribute, Convention, Ending, FunctionPlan, Hint, Plan, Statement, each};
use super::shape::Cause;
use crate::generate::outcome::Outcome;
use crate::generate::reduction::{self, Smaller};
use sframe_corpus::signs::without_addresses;

/// What must stay when a program gets smaller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Symptom {
    /// A fault of a cause.
    Fault(Cause),
    /// A contradiction of a kind.
    Contradiction(String),
    /// Another checksum than at another level.
    Differs(Level),
    /// It can't be judged, for a reason.
    Unjudged(String),
    /// It stops, for a reason, and does not at another level.
    Stops(String, Level),
}

/// A program that was reduced.
#[derive(Clone, Debug)]
pub struct Reduced {
    /// The program.
    pub plan: Plan,
    /// How it is made.
    pub build: Build,
    /// What is known of it.
    pub judged: Judged,
}

impl Reduced {
    /// The fault of a cause in it.
    #[must_use]
    pub fn fault(&self, cause: &Cause) -> Option<&Fault> {
        self.judged.faults.iter().find(|fault| fault.cause == *cause)
    }
}

/// The maximum number of programs that are made for one.
const MOST_TRIES: u32 = 400;

/// Reduces a program. Returns `None` if it does not show the symptom.
///
/// # Errors
/// The toolchain can't be started. A program that it refuses shows nothing.
pub fn reduce(
    maker: &Maker,
    abi: Abi,
    plan: &Plan,
    build: &Build,
    level: Level,
    symptom: &Symptom,
    known: &KnownCauses<'_>,
) -> Result<Option<Reduced>, Error> {
    let trial = Trial { maker, abi, level, symptom, known };
    let whole = [(plan.clone(), build.clone())];
    let is_one_unit = maker.toolchain().one_unit;
    let shows = |(plan, build): &(Plan, Build)| trial.shown(plan, build);
    let reduced = reduction::reduce(whole, MOST_TRIES, |whole| smaller(whole, is_one_unit), shows)?;
    Ok(reduced.map(|((plan, build), judged)| Reduced { plan, build, judged }))
}

/// What a program becomes by one change. What is dropped first takes the most with it.
fn smaller(whole: &(Plan, Build), is_one_unit: bool) -> Vec<(Plan, Build)> {
    let mut all = Smaller::than(whole);
    plainer_builds(&mut all, &whole.1);
    smaller_functions(&mut all, &whole.0);
    let mut statements = 0;
    for function in &whole.0.functions {
        each(&function.body, &mut |_| statements += 1);
    }
    let mut change = |with: fn(&mut Vec<Statement>, usize)| {
        (0..statements).for_each(|number| all.with(|(plan, _)| change_nth(plan, number, with)));
    };
    change(|body, position| drop(body.remove(position)));
    // What a statement holds, instead of it.
    change(|body, position| {
        let inner: Vec<Statement> = body[position].blocks().into_iter().flatten().cloned().collect();
        if !inner.is_empty() {
            body.splice(position..=position, inner);
        }
    });
    plainer_functions(&mut all, whole.0.functions.len());
    (0..statements).for_each(|number| {
        all.with(|(plan, _)| change_nth(plan, number, |body, position| plainer(&mut body[position])));
    });
    let mut plans = all.plans();
    for (plan, build) in &mut plans {
        plan.drop_unused();
        if is_one_unit {
            build.link.objects.truncate(1);
        }
    }
    plans
}

fn plainer_builds(all: &mut Smaller<'_, (Plan, Build)>, build: &Build) {
    let Link { flags, objects, .. } = &build.link;
    all.with(|(_, build)| build.link = Link::plain(objects.len()));
    all.with(|(_, build)| build.link.form = Form::Static);
    all.with(|(_, build)| build.link.objects.fill(ObjectForm::PLAIN));
    all.with(|(_, build)| build.link.flags.clear());
    (0..flags.len()).for_each(|index| all.with(|(_, build)| drop(build.link.flags.remove(index))));
    (0..objects.len()).for_each(|index| all.with(|(_, build)| build.link.objects[index] = ObjectForm::PLAIN));
    all.with(|(_, build)| build.flags.clear());
    (0..build.flags.len()).for_each(|index| all.with(|(_, build)| drop(build.flags.remove(index))));
}

fn smaller_functions(all: &mut Smaller<'_, (Plan, Build)>, plan: &Plan) {
    // First any function that the others call.
    for function in plan.functions.iter().rev() {
        all.with(|(plan, _)| plan.roots = vec![function.number]);
    }
    for index in 0..plan.functions.len() {
        all.with(|(plan, _)| {
            plan.functions[index].body.clear();
            plan.functions[index].ending = Ending::Value;
        });
    }
    for (index, function) in plan.functions.iter().enumerate() {
        all.with(|(plan, _)| {
            plan.functions.remove(index);
            plan.roots.retain(|root| *root != function.number);
        });
    }
    all.with(|(plan, build)| {
        plan.files = 1;
        for function in &mut plan.functions {
            (function.file, function.is_visible) = (0, false);
        }
        build.link.objects.truncate(1);
    });
}

fn plainer_functions(all: &mut Smaller<'_, (Plan, Build)>, count: usize) {
    for index in 0..count {
        let mut with =
            |change: fn(&mut FunctionPlan)| all.with(|(plan, _)| change(&mut plan.functions[index]));
        with(|function| function.ending = Ending::Value);
        with(|function| function.convention = Convention::Plain);
        with(|function| function.attribute = Attribute::None);
        with(|function| function.is_visible = false);
        with(|function| match &mut function.convention {
            Convention::Many(more) => *more /= 2,
            Convention::Structure(words) => *words = (*words / 2).max(1),
            _ => {}
        });
    }
}

fn plainer(statement: &mut Statement) {
    match statement {
        Statement::Compute(number) | Statement::Float(number) => *number %= 5,
        Statement::Call { inner, .. } => *inner = None,
        Statement::Indirect(callees) => callees.truncate(1),
        Statement::Allocate(words) | Statement::VariableArray { words, .. } => *words = 1,
        Statement::Array { words: words @ 2.., .. } => *words /= 2,
        Statement::Array { align, .. } => *align = 4,
        Statement::If { hint, otherwise, .. } => {
            *hint = Hint::None;
            otherwise.clear();
        }
        Statement::Loop { turns, .. } => *turns = 1,
        Statement::Switch(cases) | Statement::Goto(cases) => _ = cases.pop(),
        Statement::Jump { levels } => *levels = 0,
        Statement::Registers(which) => *which = 0,
        _ => {}
    }
}

/// Changes the statement of a number, by its list and its position there. Those in the blocks of others
/// count.
fn change_nth(plan: &mut Plan, mut number: usize, with: impl Fn(&mut Vec<Statement>, usize)) {
    fn change(
        body: &mut Vec<Statement>,
        left: &mut usize,
        with: &dyn Fn(&mut Vec<Statement>, usize),
    ) -> bool {
        for position in 0..body.len() {
            if *left == 0 {
                with(body, position);
                return true;
            }
            *left -= 1;
            if body[position].blocks_mut().into_iter().any(|block| change(block, left, with)) {
                return true;
            }
        }
        false
    }
    plan.functions.iter_mut().any(|function| change(&mut function.body, &mut number, &with));
}

/// How programs are made, and what they have to show.
struct Trial<'t> {
    maker: &'t Maker,
    abi: Abi,
    level: Level,
    symptom: &'t Symptom,
    known: &'t KnownCauses<'t>,
}

impl Trial<'_> {
    /// What is known of a program if it shows the symptom.
    fn shown(&self, plan: &Plan, build: &Build) -> Result<Option<Judged>, Error> {
        let judged = match self.judged(plan, build, self.level)? {
            Outcome::Judged(judged) => judged,
            Outcome::Refused(_) => return Ok(None),
            Outcome::Unjudged(why) => {
                let is_shown = match (self.symptom, &why) {
                    (Symptom::Unjudged(symptom), _) => *symptom == without_addresses(why.why()),
                    (Symptom::Stops(symptom, other), NotJudged::Stops(why)) => {
                        *symptom == without_addresses(why)
                            && matches!(self.judged(plan, build, other)?, Outcome::Judged(_))
                    }
                    _ => false,
                };
                return Ok(is_shown.then(Judged::default));
            }
        };
        let is_shown = match self.symptom {
            Symptom::Unjudged(_) | Symptom::Stops(..) => false,
            Symptom::Fault(cause) => {
                let flags = build.words(self.level);
                let shown = self.known.causes_of(&judged.faults, &flags);
                shown.iter().any(|(page, fault)| page.is_none() && fault.cause == *cause)
            }
            Symptom::Contradiction(kind) => judged.contradictions.iter().any(|found| found.kind == *kind),
            Symptom::Differs(other) => {
                let other = self.judged(plan, build, other)?;
                matches!(other, Outcome::Judged(other) if other.checksum != judged.checksum)
            }
        };
        Ok(is_shown.then_some(judged))
    }

    fn judged(&self, plan: &Plan, how: &Build, level: Level) -> Result<Outcome<Judged, NotJudged>, Error> {
        Outcome::of(build(self.maker, self.abi, plan, how, level), judge)
    }
}
