//! The smallest section that shows a difference: parts of a plan are dropped, or made plainer, while the
//! difference stays.

use sframe_judge::external::ExternalError;
use sframe_vectors::{Base, Equation, FreType, PcType, Recovery};

use super::case::Case;
use super::choose::least_width;
use super::dialect::Dialect;
use super::difference::{Demands, Difference, Part, TIMED_OUT, ask};
use super::feature::open_readings;
use super::plan::{FunctionPlan, RowPlan, SectionPlan};
use super::reader::Reader;
use crate::generate::reduction::{self, Smaller};

/// Sections that are tried for one difference, at most.
const TRIES: u32 = 300;
/// The same where each may take as long as a reader has time for.
const SLOW_TRIES: u32 = 12;
/// The same where each may end the reader, which then has to be started again.
const ENDING_TRIES: u32 = 80;

/// Reduces a plan as long as the same field differs. Returns the smallest section with its difference, or
/// `None` if the difference does not appear again.
///
/// # Errors
/// The reader can't be asked any more.
pub fn reduce(
    reader: &mut dyn Reader,
    plan: &SectionPlan,
    difference: &Difference,
    demands: &Demands,
) -> Result<Option<(Case, Difference)>, ExternalError> {
    let tries = match difference.part {
        Part::Process if difference.field == TIMED_OUT => SLOW_TRIES,
        Part::Process => ENDING_TRIES,
        _ => TRIES,
    };
    let shows = |plan: &SectionPlan| -> Result<_, ExternalError> {
        let Ok((case, differences)) = ask(reader, plan.clone(), demands)? else { return Ok(None) };
        let found = differences.found.into_iter().find(|found| found.is_like(difference));
        Ok(found.map(|found| (case, found)))
    };
    // What the specification leaves open, and the plan does not depend on, stays out of it.
    let readings = open_readings(plan);
    let is_open = |plan: &SectionPlan| open_readings(plan).is_subset(&readings);
    let smaller = |plan: &SectionPlan| {
        let mut all = smaller(plan);
        all.retain(is_open);
        all
    };
    Ok(reduction::reduce([plan.clone()], tries, smaller, shows)?.map(|(_, known)| known))
}

/// What a plan becomes without one part, or with a plainer one: the greatest steps first.
fn smaller(plan: &SectionPlan) -> Vec<SectionPlan> {
    let mut all = Smaller::than(plan);
    let mut with = |change: &dyn Fn(&mut SectionPlan)| all.with(change);
    let count = plan.functions.len();
    for half in halves(count) {
        with(&|plan| drop(plan.functions.drain(half.clone())));
    }
    // A plain section has a function with a row.
    let row = plain_row(plan);
    with(&|plan| {
        if plan.functions.is_empty() {
            plan.functions.push(plain_function(row.clone()));
        }
    });
    for index in 0..count {
        with(&|plan| {
            let function = &mut plan.functions[index];
            if function.rows.is_empty() {
                function.rows.push(row.clone());
            }
        });
    }
    for index in 0..count {
        let rows = plan.functions[index].rows.len();
        for half in halves(rows) {
            with(&|plan| drop(plan.functions[index].rows.drain(half.clone())));
        }
    }
    with(&|plan| {
        plan.broken = None;
        plan.functions.iter_mut().for_each(mend);
    });
    let plain = |function: &mut FunctionPlan| {
        function.flex = false;
        for row in function.rows.iter_mut().filter(|row| row.broken.is_none()) {
            *row = RowPlan { start: row.start, seed: row.seed, ..plain_row(plan) };
        }
    };
    with(&|plan| plan.functions.iter_mut().for_each(plain));
    for index in 0..count {
        with(&|plan| plain(&mut plan.functions[index]));
    }
    with(&|plan| plan.frame_pointer = false);
    with(&|plan| plan.auxiliary.clear());
    with(&|plan| plan.auxiliary.truncate(1));
    with(&|plan| plan.header_gap = 0);
    with(&|plan| plan.sub_section_gap = 0);
    with(&|plan| plan.trailing = 0);
    with(&|plan| plan.header_gap = plan.header_gap.min(4));
    with(&|plan| plan.sub_section_gap = plan.sub_section_gap.min(1));
    with(&|plan| plan.trailing = plan.trailing.min(1));
    with(&|plan| plan.filler = 0);
    with(&|plan| plan.fixed_fp = None);
    with(&|plan| plan.fixed_ra = plan.abi.fixed_ra_offset());
    with(&|plan| {
        plan.sorted = true;
        plan.functions.sort_by_key(|function| function.start);
    });
    with(&|plan| {
        for (place, function) in (0..).zip(&mut plan.functions) {
            function.place = place;
        }
    });
    with(&|plan| {
        // One after the other, with room between them.
        plan.address = 0x8000;
        let mut order: Vec<usize> = (0..plan.functions.len()).collect();
        order.sort_by_key(|index| plan.functions[*index].start);
        let mut at = 0x1000_u64;
        for index in order {
            let block = u64::from(plan.functions[index].rep_size.max(1));
            at = at.next_multiple_of(block);
            plan.functions[index].start = at;
            at = (at + u64::from(plan.functions[index].size) + 1).next_multiple_of(16);
        }
        if at > plan.address {
            plan.address = at.next_multiple_of(0x1000);
        }
    });
    // With the flag, where the version has it.
    with(&|plan| plan.pcrel = plan.version.has_pcrel_starts());
    for index in 0..count {
        smaller_function(plan, index, &mut |change| with(&|plan| change(&mut plan.functions[index])));
        for row in 0..plan.functions[index].rows.len().min(8) {
            smaller_row(plan, &mut |change| with(&|plan| change(&mut plan.functions[index].rows[row])));
        }
    }
    all.plans()
}

/// Tries a change.
type Try<'t, T> = dyn FnMut(&dyn Fn(&mut T)) + 't;

/// A row as any section has it.
fn plain_row(plan: &SectionPlan) -> RowPlan {
    let offset = Dialect::of(plan.abi).ordinary_cfa;
    let cfa = Equation { base: Base::Sp, offset, dereference: false };
    let rules = super::plan::RowRules { cfa, ra: plan.usual_ra(), fp: plan.usual_fp() };
    RowPlan { start: 0, width: 1, mangled: false, rules: Some(rules), seed: 0, broken: None }
}

fn plain_function(row: RowPlan) -> FunctionPlan {
    FunctionPlan {
        start: 0x1000,
        size: 16,
        fre_type: FreType::Addr1,
        pc_type: PcType::Inc,
        rep_size: 0,
        flex: false,
        key_b: false,
        signal: false,
        place: 0,
        rows: vec![row],
        broken: None,
    }
}

fn mend(function: &mut FunctionPlan) {
    function.broken = None;
    function.rows.iter_mut().for_each(|row| row.broken = None);
}

fn smaller_function(plan: &SectionPlan, index: usize, with: &mut Try<'_, FunctionPlan>) {
    let function = &plan.functions[index];
    with(&mend);
    with(&|function| function.signal = false);
    with(&|function| function.key_b = false);
    with(&|function| {
        function.pc_type = PcType::Inc;
        function.rep_size = 0;
    });
    with(&|function| {
        if function.pc_type == PcType::Inc {
            function.rep_size = 0;
        } else if function.rep_size > 0 {
            function.rep_size = 16;
        }
    });
    with(&|function| function.flex = false);
    with(&|function| {
        // Rows four bytes apart.
        for (start, row) in (0..).zip(&mut function.rows) {
            row.start = 4 * start;
        }
        function.size = u32::try_from(16.max(4 * function.rows.len())).unwrap_or(function.size);
        function.fre_type = least_width(last_start(function));
    });
    let last = last_start(function);
    with(&|function| function.size = function.size.min(last.saturating_add(4).max(16)));
    with(&|function| function.fre_type = least_width(last));
}

/// Where the last row starts.
fn last_start(function: &FunctionPlan) -> u32 {
    function.rows.iter().map(|row| row.start).max().unwrap_or(0)
}

fn smaller_row(plan: &SectionPlan, with: &mut Try<'_, RowPlan>) {
    let (usual_ra, usual_fp) = (plan.usual_ra(), plan.usual_fp());
    let ordinary = Dialect::of(plan.abi).ordinary_cfa;
    let rules = |row: &mut RowPlan, change: &dyn Fn(&mut super::plan::RowRules)| {
        if let Some(rules) = &mut row.rules {
            change(rules);
        }
    };
    with(&|row| row.width = 1);
    with(&|row| row.mangled = false);
    let plain = plain_row(plan).rules;
    with(&|row| row.rules = row.rules.or(plain));
    with(&|row| rules(row, &|rules| rules.fp = usual_fp));
    with(&|row| rules(row, &|rules| rules.ra = usual_ra));
    with(&|row| rules(row, &|rules| (rules.ra, rules.fp) = (usual_ra, usual_fp)));
    with(&|row| rules(row, &|rules| rules.cfa.dereference = false));
    with(&|row| rules(row, &|rules| rules.cfa.base = Base::Sp));
    with(&|row| {
        rules(row, &|rules| {
            if rules.cfa.base != Base::Sp {
                rules.cfa.base = Base::Fp;
            }
        });
    });
    with(&|row| rules(row, &|rules| rules.cfa.offset = ordinary));
    let slot = |offset: i64| Recovery::Rule(Equation { base: Base::Cfa, offset, dereference: true });
    let plainer = move |recovery: &mut Recovery, usual: Recovery, offset: i64| {
        if *recovery != usual {
            *recovery = slot(offset);
        }
    };
    with(&|row| rules(row, &|rules| plainer(&mut rules.ra, usual_ra, -8)));
    with(&|row| rules(row, &|rules| plainer(&mut rules.fp, usual_fp, -16)));
    // The least of the registers whose number does not fit into four bits.
    let least = |base: &mut Base| {
        if let Base::Register(number @ 17..) = base {
            *number = 16;
        }
    };
    with(&|row| {
        rules(row, &|rules| {
            least(&mut rules.cfa.base);
            for recovery in [&mut rules.ra, &mut rules.fp] {
                if let Recovery::Rule(rule) = recovery {
                    least(&mut rule.base);
                }
            }
        });
    });
    // Of one width at a time, so that what differs with the width stays.
    for (from, to) in [(32_768_i64, 40_000_i64), (128, 200)] {
        let nearer = move |offset: &mut i64| {
            let is_far =
                offset.unsigned_abs() > to.unsigned_abs() && offset.unsigned_abs() >= from.unsigned_abs();
            if is_far && *offset != ordinary {
                *offset = if *offset < 0 { -to } else { to };
            }
        };
        with(&|row| rules(row, &|rules| nearer(&mut rules.cfa.offset)));
        let of = move |recovery: &mut Recovery| {
            if let Recovery::Rule(rule) = recovery {
                nearer(&mut rule.offset);
            }
        };
        with(&|row| rules(row, &|rules| of(&mut rules.ra)));
        with(&|row| rules(row, &|rules| of(&mut rules.fp)));
    }
}

/// Ranges of a list that can be dropped: halves, quarters and so on, and each of a few.
fn halves(count: usize) -> Vec<std::ops::Range<usize>> {
    let mut ranges = Vec::new();
    let mut len = count.div_ceil(2);
    while len > 0 && ranges.len() < 64 {
        ranges.extend((0..count).step_by(len).map(|start| start..(start + len).min(count)));
        len /= 2;
    }
    // One is left.
    ranges.retain(|range| range.len() < count);
    ranges
}
