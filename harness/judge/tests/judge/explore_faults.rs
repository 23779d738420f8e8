//! Faults put into the sections of real builds: exploring finds each that changes a walk.

use std::collections::BTreeMap;
use std::ops::Range;

use object::elf::SHT_GNU_SFRAME;
use rayon::prelude::*;
use sframe_elf::replace_section::embed;
use sframe_engine::write::{Function, Section};
use sframe_engine::{InstructionPointer, PcType, Recovery, RecoveryRule, Row};
use sframe_judge::explore::{Certainty, Exploration, ExploreOptions, ExploredFinding, Roots, explore};
use sframe_judge::target::{Linked, Target};

use crate::doctor::build;

/// What is wrong with a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Fault {
    EndsEarly,
    StartsLate,
    RowMissing,
    RowEarly,
    RowLate,
    WrongCfa,
    WrongRa,
    WrongFp,
}

const FAULTS: [Fault; 8] = [
    Fault::EndsEarly,
    Fault::StartsLate,
    Fault::RowMissing,
    Fault::RowEarly,
    Fault::RowLate,
    Fault::WrongCfa,
    Fault::WrongRa,
    Fault::WrongFp,
];

fn moved(recovery: &mut Recovery) -> Option<()> {
    let Recovery::Rule(rule) = recovery else { return None };
    rule.offset += 8;
    Some(())
}

/// Puts a fault into a row of a function, whose instructions start at some offsets. `None` if there can be none.
fn with_fault(function: &Function, fault: Fault, row: usize, starts: &[u32]) -> Option<Function> {
    let mut changed = function.clone();
    let neighbour = |start: u32, step: isize| {
        let at = starts.iter().position(|offset| *offset == start)?;
        starts.get(at.checked_add_signed(step)?).copied()
    };
    match fault {
        Fault::EndsEarly if row == 0 => {
            changed.size = *starts.last()?;
            changed.rows.retain(|row| row.start < changed.size);
        }
        Fault::StartsLate if row == 0 => {
            let len = *starts.get(1)?;
            changed.start += u64::from(len);
            changed.size -= len;
            let first = changed.rows.iter().rposition(|row| row.start <= len)?;
            changed.rows.drain(..first);
            changed.rows.iter_mut().for_each(|row| row.start = row.start.saturating_sub(len));
        }
        Fault::EndsEarly | Fault::StartsLate => return None,
        Fault::RowMissing | Fault::RowEarly | Fault::RowLate if row == 0 => return None,
        Fault::RowMissing => {
            changed.rows.remove(row);
        }
        Fault::RowEarly => {
            let start = neighbour(changed.rows[row].start, -1)?;
            (start > changed.rows[row - 1].start).then_some(())?;
            changed.rows[row].start = start;
        }
        Fault::RowLate => {
            let start = neighbour(changed.rows[row].start, 1)?;
            let end = changed.rows.get(row + 1).map_or(changed.size, |next| next.start);
            (start < end).then_some(())?;
            changed.rows[row].start = start;
        }
        Fault::WrongCfa => changed.rows[row].cfa.as_mut()?.offset += 16,
        Fault::WrongRa => moved(&mut changed.rows[row].ra)?,
        Fault::WrongFp => moved(&mut changed.rows[row].fp)?,
    }
    (changed.size > 0 && !changed.rows.is_empty()).then_some(changed)
}

fn row_at(target: &Target<'_>, pc: u64) -> Option<Row> {
    Some(target.sections.lookup(InstructionPointer(pc)).ok()??.row)
}

/// Whether two rows give different values, whatever the registers hold.
fn differ(one: &Row, other: &Row) -> bool {
    let differ = |one: RecoveryRule, other: RecoveryRule| {
        (one.base, one.dereference) == (other.base, other.dereference) && one.offset != other.offset
    };
    let cfa = one.cfa.zip(other.cfa).is_some_and(|(one, other)| differ(one, other));
    let same_cfa = one.cfa == other.cfa;
    let recovered = [(one.ra, other.ra), (one.fp, other.fp)];
    cfa || same_cfa
        && recovered.into_iter().any(|pair| match pair {
            (Recovery::Rule(one), Recovery::Rule(other)) => differ(one, other),
            _ => false,
        })
}

fn explored(target: &Target<'_>) -> Exploration {
    explore(target, &Roots::of(target), &ExploreOptions::default()).expect("a machine")
}

/// What was made of faults of a kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Counts {
    /// Those that change a walk.
    changing: u32,
    proved: u32,
    possible: u32,
}

/// Puts each fault into each function of a build. Returns what was found of those that change a walk, and the others.
fn tried(id: &str) -> (BTreeMap<Fault, Counts>, Vec<String>) {
    let bytes = build(id);
    let target = Target::open(&bytes).expect("a target");
    let module = target.executable();
    let before = explored(&target);
    let is_within = |range: &Range<u64>, found: &ExploredFinding| {
        found.finding.pc.is_some_and(|pc| range.contains(&module.loaded(Linked(pc.0)).0))
    };
    let agreed: Vec<u64> = before.agreed().collect();
    let section = Section::from_read(module.section.as_ref().expect("a section")).expect("sound rows");
    let (mut counts, mut missed) = (BTreeMap::<Fault, Counts>::new(), Vec::new());
    for (position, function) in section.functions.iter().enumerate() {
        let range = function.start..function.start + u64::from(function.size);
        let is_sound = !before.findings().iter().any(|found| is_within(&range, found));
        if function.pc_type == PcType::Mask || function.signal || range.is_empty() || !is_sound {
            continue;
        }
        let code = module.code_in(range.clone());
        let starts = code.iter().map(|(pc, _)| u32::try_from(pc - function.start).expect("an offset"));
        let starts: Vec<u32> = starts.collect();
        for (fault, row) in
            FAULTS.into_iter().flat_map(|fault| (0..function.rows.len()).map(move |row| (fault, row)))
        {
            let Some(changed) = with_fault(function, fault, row, &starts) else { continue };
            let mut section = section.clone();
            section.functions[position] = changed;
            section.functions.iter_mut().for_each(|function| function.start -= module.image.bias);
            // Not every version can say everything.
            let Ok(file) = embed(&bytes, SHT_GNU_SFRAME, |address| section.write(address)) else { continue };
            let wrong = Target::open(&file).expect("a target");
            let changes = |pc: &u64| match (row_at(&target, *pc), row_at(&wrong, *pc)) {
                (Some(one), Some(other)) => differ(&one, &other),
                (one, other) => one.is_some() != other.is_some(),
            };
            if !agreed.iter().any(changes) {
                continue;
            }
            let found = explored(&wrong).findings();
            let mut here = found.iter().filter(|found| is_within(&range, found));
            let of_kind = counts.entry(fault).or_default();
            of_kind.changing += 1;
            // The proved ones come first.
            match here.next().map(|found| found.certainty) {
                Some(Certainty::Proved) => of_kind.proved += 1,
                Some(Certainty::Possible) => of_kind.possible += 1,
                None => missed.push(format!("{id}: {fault:?} in row {row} of {:#x}", function.start)),
            }
        }
    }
    (counts, missed)
}

#[test]
fn each_fault_that_changes_a_walk_is_found() {
    let abis = ["amd64", "aarch64", "aarch64_be", "s390x"];
    let programs = ["recursion.O2", "cold_paths.O2", "call_shapes.O2", "function_pointers.O2-pie"];
    let of_gnu = abis.iter().flat_map(|abi| programs.map(|program| format!("gnu-2.47/{abi}/{program}")));
    let builds: Vec<String> = of_gnu.chain(["llvm-22/amd64/recursion.O2".to_owned()]).collect();
    let results: Vec<_> = builds.par_iter().map(|id| tried(id)).collect();
    let missed: Vec<&String> = results.iter().flat_map(|(_, missed)| missed).collect();
    let mut all: BTreeMap<Fault, Counts> = BTreeMap::new();
    for (fault, counts) in results.iter().flat_map(|(counts, _)| counts) {
        let sum = all.entry(*fault).or_default();
        sum.changing += counts.changing;
        sum.proved += counts.proved;
        sum.possible += counts.possible;
    }
    println!("{all:#?}");
    assert!(missed.is_empty(), "{missed:#?}");
    assert!(FAULTS.iter().all(|fault| all.get(fault).is_some_and(|counts| counts.proved > 10)), "{all:#?}");
}
