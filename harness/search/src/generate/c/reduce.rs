//! The smallest program that shows something: parts of it are dropped while that stays.

use sframe_corpus::corpus::{Error, Maker};
use sframe_corpus::signs::without_addresses;
use sframe_engine::Abi;

use super::build::{Build, Level, build};
use super::judge::{Fault, Judged, judge};
use super::known::KnownCauses;
use super::links::{Form, ObjectForm};
use super::oracle::NotJudged;
use super::plan::{Attribute, Convention, Ending, Hint, Plan, Statement};
use super::shape::Cause;
use crate::generate::outcome::Outcome;
use crate::generate::reduction::Reduction;

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
    let mut shows = |(plan, build): &(Plan, Build)| trial.shown(plan, build);
    let whole = [(plan.clone(), build.clone())];
    let Some(mut reduction) = Reduction::of(whole, MOST_TRIES, &mut shows)? else { return Ok(None) };
    let is_one_unit = maker.toolchain().one_unit;
    reduction.by_kind(&STEPS, |step, (plan, build), number| {
        let (mut plan, mut build) = (plan.clone(), build.clone());
        let is_there = step(&mut plan, &mut build, number);
        plan.drop_unused();
        if is_one_unit {
            build.link.objects.truncate(1);
        }
        is_there.then_some((plan, build))
    })?;
    let ((plan, build), judged) = reduction.end();
    Ok(Some(Reduced { plan, build, judged }))
}

/// Makes the change of a number. Returns whether there is one of that number.
type Step = fn(&mut Plan, &mut Build, usize) -> bool;

/// What is dropped first takes the most with it.
const STEPS: [Step; 9] = [
    plain_link,
    one_root,
    drop_flag,
    empty_function,
    drop_function,
    one_file,
    drop_statement,
    unwrap,
    plainer,
];

fn plain_link(_: &mut Plan, build: &mut Build, index: usize) -> bool {
    let flags = build.link.flags.len();
    match index {
        0 => build.link = super::links::Link::plain(build.link.objects.len()),
        1 => build.link.form = Form::Static,
        2 => build.link.objects.iter_mut().for_each(|object| *object = ObjectForm::PLAIN),
        3 => build.link.flags.clear(),
        index if index - 4 < flags => {
            build.link.flags.remove(index - 4);
        }
        index if index - 4 - flags < build.link.objects.len() => {
            build.link.objects[index - 4 - flags] = ObjectForm::PLAIN;
        }
        _ => return false,
    }
    true
}

fn one_root(plan: &mut Plan, _: &mut Build, index: usize) -> bool {
    // First any function that the others call.
    let Some(function) = plan.functions.len().checked_sub(index + 1) else { return false };
    let number = plan.functions[function].number;
    if plan.roots == [number] {
        return true;
    }
    plan.roots = vec![number];
    true
}

fn drop_flag(_: &mut Plan, build: &mut Build, index: usize) -> bool {
    if index == 0 {
        build.flags.clear();
        return true;
    }
    if index > build.flags.len() {
        return false;
    }
    build.flags.remove(index - 1);
    true
}

fn empty_function(plan: &mut Plan, _: &mut Build, index: usize) -> bool {
    let Some(function) = plan.functions.get_mut(index) else { return false };
    function.body.clear();
    function.ending = Ending::Value;
    true
}

fn drop_function(plan: &mut Plan, _: &mut Build, index: usize) -> bool {
    if index >= plan.functions.len() {
        return false;
    }
    let number = plan.functions.remove(index).number;
    plan.roots.retain(|root| *root != number);
    true
}

fn one_file(plan: &mut Plan, build: &mut Build, index: usize) -> bool {
    if index > 0 {
        return false;
    }
    plan.files = 1;
    for function in &mut plan.functions {
        (function.file, function.is_visible) = (0, false);
    }
    build.link.objects.truncate(1);
    true
}

/// Changes the statement of a number, with those before it counted, and the blocks in them. The change
/// takes the list and the position.
fn change(
    body: &mut Vec<Statement>,
    left: &mut usize,
    with: &mut dyn FnMut(&mut Vec<Statement>, usize),
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

fn change_nth(plan: &mut Plan, index: usize, with: &mut dyn FnMut(&mut Vec<Statement>, usize)) -> bool {
    let mut left = index;
    plan.functions.iter_mut().any(|function| change(&mut function.body, &mut left, with))
}

fn drop_statement(plan: &mut Plan, _: &mut Build, index: usize) -> bool {
    change_nth(plan, index, &mut |body, position| {
        body.remove(position);
    })
}

/// What a statement holds, instead of it.
fn unwrap(plan: &mut Plan, _: &mut Build, index: usize) -> bool {
    change_nth(plan, index, &mut |body, position| {
        let inner: Vec<Statement> = body[position].blocks().into_iter().flatten().cloned().collect();
        if !inner.is_empty() {
            body.splice(position..=position, inner);
        }
    })
}

/// Plainer choices: in functions first, then in statements.
fn plainer(plan: &mut Plan, _: &mut Build, index: usize) -> bool {
    const OF_FUNCTION: usize = 5;
    let functions = plan.functions.len();
    if index < functions * OF_FUNCTION {
        let function = &mut plan.functions[index / OF_FUNCTION];
        match index % OF_FUNCTION {
            0 => function.ending = Ending::Value,
            1 => function.convention = Convention::Plain,
            2 => function.attribute = Attribute::None,
            3 => function.is_visible = false,
            _ => {
                function.convention = match function.convention {
                    Convention::Many(more) => Convention::Many(more / 2),
                    Convention::Structure(words) => Convention::Structure((words / 2).max(1)),
                    other => other,
                }
            }
        }
        return true;
    }
    change_nth(plan, index - functions * OF_FUNCTION, &mut |body, position| {
        let statement = &mut body[position];
        match statement {
            Statement::Compute(number) | Statement::Float(number) => *number %= 5,
            Statement::Call { inner, .. } => *inner = None,
            Statement::Indirect(callees) => callees.truncate(1),
            Statement::Allocate(words) | Statement::VariableArray { words, .. } => *words = 1,
            Statement::Array { words, align, .. } => {
                if *words > 1 {
                    *words /= 2;
                } else {
                    *align = 4;
                }
            }
            Statement::If { hint, otherwise, .. } => {
                *hint = Hint::None;
                otherwise.clear();
            }
            Statement::Loop { turns, .. } => *turns = 1,
            Statement::Switch(cases) | Statement::Goto(cases) => {
                cases.pop();
            }
            Statement::Jump { levels } => *levels = 0,
            Statement::Registers(which) => *which = 0,
            _ => {}
        }
    })
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
