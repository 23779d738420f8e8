//! Draws a plan.

use super::plan::{Attribute, Convention, Ending, FunctionPlan, Hint, Plan, Statement, any};
use crate::generate::Random;

/// How long a function may run, in statements, with all that it calls.
const LONGEST: u64 = 1500;
/// How deep blocks are within one another.
const DEEPEST: u32 = 3;
/// How often a recursive function calls itself at most.
pub(super) const RECURSIONS: u32 = 4;

/// Draws the plan of one program of a seed.
#[must_use]
pub fn draw(seed: u64, program: u64, functions: u32) -> Plan {
    let mut random = Random::new(seed, program);
    let files = 1 + small(&mut random, 3);
    let mut drawing = Drawing { random, files, known: Vec::new() };
    // Callees first: what they cost is known then.
    for number in (0..functions).rev() {
        drawing.function(number);
    }
    let mut all: Vec<FunctionPlan> = drawing.known.into_iter().map(|known| known.plan).collect();
    all.reverse();
    let called: Vec<u32> = all.iter().flat_map(FunctionPlan::callees).collect();
    let is_root = |number: &u32| *number < 2 || !called.contains(number);
    let roots = (0..functions).filter(is_root).collect();
    Plan { functions: all, roots, files }
}

fn small(random: &mut Random, bound: u64) -> u32 {
    u32::try_from(random.below(bound)).unwrap_or_default()
}

struct Known {
    plan: FunctionPlan,
    cost: u64,
}

struct Drawing {
    random: Random,
    files: u32,
    /// The functions that are drawn.
    known: Vec<Known>,
}

/// What is known of the place of a statement.
#[derive(Clone, Copy)]
struct Place {
    depth: u32,
    /// How long the statement may run.
    left: u64,
    /// Whether the function may call itself here.
    recurses: bool,
    /// Whether the function may be called again while it runs.
    is_recursive: bool,
}

impl Drawing {
    fn function(&mut self, number: u32) {
        let convention = match self.random.below(20) {
            0..=9 => Convention::Plain,
            10 | 11 => Convention::Variable,
            12 | 13 => Convention::Many(3 + small(&mut self.random, 9)),
            14 | 15 => Convention::Structure(*self.random.pick(&[1, 2, 3, 4, 5, 8, 17])),
            16 => Convention::Double,
            _ => Convention::Recursive,
        };
        let attribute = match self.random.below(20) {
            0..=8 => Attribute::None,
            9..=14 => Attribute::NoInline,
            15 => Attribute::Cold,
            16 | 17 => Attribute::Inline,
            18 => Attribute::Realigned,
            _ => Attribute::OtherSystem,
        };
        let is_recursive = convention == Convention::Recursive;
        // What compilers do with variable arguments of another system differs.
        let attribute = match (convention, attribute) {
            (Convention::Variable, Attribute::OtherSystem) => Attribute::NoInline,
            (_, attribute) => attribute,
        };
        let left = if is_recursive { LONGEST / u64::from(RECURSIONS + 2) } else { LONGEST };
        let place = Place { depth: 0, left, recurses: is_recursive, is_recursive };
        let (mut body, cost) = self.block(place, 6);
        if is_recursive && !any(&body, |statement| *statement == Statement::Recurse) {
            body.push(Statement::Recurse);
        }
        let cost = cost * if is_recursive { u64::from(RECURSIONS + 1) } else { 1 } + 3;
        let ending = match self.callee(LONGEST, false) {
            Some((callee, _)) if self.random.percent(25) => Ending::Tail(callee),
            _ => Ending::Value,
        };
        let cost = match ending {
            Ending::Tail(callee) => cost + self.cost(callee) * if is_recursive { 5 } else { 1 },
            Ending::Value => cost,
        };
        let file = small(&mut self.random, self.files.into());
        let is_visible = self.random.percent(30);
        let plan = FunctionPlan { number, file, convention, attribute, is_visible, body, ending };
        self.known.push(Known { plan, cost });
    }

    fn cost(&self, number: u32) -> u64 {
        let known = self.known.iter().find(|known| known.plan.number == number);
        known.map_or(0, |known| known.cost)
    }

    /// A function that may be called, and what that costs.
    fn callee(&mut self, left: u64, is_plain: bool) -> Option<(u32, u64)> {
        let may = |known: &&Known| {
            let is_simple =
                known.plan.convention == Convention::Plain && known.plan.attribute != Attribute::OtherSystem;
            known.cost < left && (is_simple || !is_plain)
        };
        let all: Vec<(u32, u64)> =
            self.known.iter().filter(may).map(|known| (known.plan.number, known.cost)).collect();
        if all.is_empty() { None } else { Some(*self.random.pick(&all)) }
    }

    fn number(&mut self) -> u32 {
        1 + small(&mut self.random, 0xffff)
    }

    /// A few statements, and what they cost.
    fn block(&mut self, place: Place, most: u64) -> (Vec<Statement>, u64) {
        let count = 1 + self.random.below(most);
        let (mut body, mut cost, mut place) = (Vec::new(), 0, place);
        for _ in 0..count {
            let (statement, more) = self.statement(place);
            // Twice would be exponential.
            place.recurses &= !any(std::slice::from_ref(&statement), |of| *of == Statement::Recurse);
            place.left = place.left.saturating_sub(more);
            cost += more;
            body.push(statement);
        }
        (body, cost)
    }

    fn statement(&mut self, place: Place) -> (Statement, u64) {
        let inner = Place { depth: place.depth + 1, ..place };
        let is_deep = place.depth >= DEEPEST;
        match self.random.below(if is_deep { 13 } else { 24 }) {
            0 => (Statement::Float(self.number()), 2),
            1..=3 => self.call(place),
            4 => self.indirect(place),
            5 => match self.callee(place.left, true) {
                Some((callee, cost)) => (Statement::Callback(callee), cost + 4),
                None => self.compute(),
            },
            6 if place.recurses => (Statement::Recurse, 2),
            7 => {
                let words = 1 + small(&mut self.random, 40);
                (Statement::Allocate(words), u64::from(words))
            }
            // A function that is entered again would lose its place.
            8 if !place.is_recursive => {
                let levels = small(&mut self.random, 4);
                (Statement::Jump { levels }, u64::from(levels) * 4 + 8)
            }
            9 => (Statement::Leave { mask: *self.random.pick(&[1, 3, 7, 15]) }, 1),
            10 => (Statement::Abort, 1),
            11 => (Statement::Registers(small(&mut self.random, 4)), 1),
            13 => {
                let words = 1 + small(&mut self.random, 30);
                let (body, cost) = self.block(inner, 3);
                (Statement::VariableArray { words, body }, cost + u64::from(words))
            }
            14 | 15 => {
                let words = *self.random.pick(&[1, 2, 5, 16, 31, 32, 64, 127, 500, 1100, 3000]);
                let align = *self.random.pick(&[4, 4, 4, 16, 32, 64, 128, 256]);
                let (body, cost) = self.block(inner, 3);
                // Compilers may be told to fill it.
                (Statement::Array { words, align, body }, cost + 10 + u64::from(words) / 4)
            }
            16..=18 => {
                let hint = *self.random.pick(&[Hint::None, Hint::Likely, Hint::Unlikely]);
                let mask = *self.random.pick(&[1, 2, 4, 3]);
                let (then, one) = self.block(inner, 3);
                let (otherwise, other) =
                    if self.random.percent(40) { self.block(inner, 2) } else { (Vec::new(), 0) };
                (Statement::If { hint, mask, then, otherwise }, one.max(other) + 1)
            }
            19 => {
                let (body, _) = self.block(inner, 3);
                (Statement::Never(body), 1)
            }
            20 | 21 => {
                let turns = 1 + small(&mut self.random, 6);
                let place = Place { left: place.left / u64::from(turns), recurses: false, ..inner };
                let (body, cost) = self.block(place, 3);
                (Statement::Loop { turns, body }, (cost + 2) * u64::from(turns))
            }
            22 | 23 => {
                let is_switch = self.random.percent(65);
                let count = if is_switch { 3 + self.random.below(7) } else { 2 + self.random.below(3) };
                let cases: Vec<_> = (0..count).map(|_| self.block(inner, 1)).collect();
                let cost = cases.iter().map(|(_, cost)| *cost).max().unwrap_or_default();
                let cases = cases.into_iter().map(|(body, _)| body).collect();
                (if is_switch { Statement::Switch(cases) } else { Statement::Goto(cases) }, cost + 2)
            }
            _ => self.compute(),
        }
    }

    fn compute(&mut self) -> (Statement, u64) {
        (Statement::Compute(self.number()), 1)
    }

    fn call(&mut self, place: Place) -> (Statement, u64) {
        let Some((callee, cost)) = self.callee(place.left, false) else { return self.compute() };
        let inner = if self.random.percent(30) { self.callee(place.left - cost, false) } else { None };
        let (inner, more) = inner.map_or((None, 0), |(inner, cost)| (Some(inner), cost));
        (Statement::Call { callee, inner }, cost + more + 2)
    }

    fn indirect(&mut self, place: Place) -> (Statement, u64) {
        let some: Vec<_> = (0..3).filter_map(|_| self.callee(place.left, true)).collect();
        if some.is_empty() {
            return self.compute();
        }
        let cost = some.iter().map(|(_, cost)| *cost).max().unwrap_or_default();
        (Statement::Indirect(some.into_iter().map(|(callee, _)| callee).collect()), cost + 3)
    }
}
