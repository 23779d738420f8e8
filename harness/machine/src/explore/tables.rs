//! Jump tables: where an indirect jump can lead to, from the instructions of the path before it.
//!
//! The jump's target is followed back to the element of a table that it was computed from, and the
//! element's number to what bounds it. Both ways lead through a few kinds of instructions, and each
//! that the path has executed is known exactly: what the paths of another program would do with
//! another number follows.

use sframe_engine::DwarfRegister;
use sframe_isa::{Comparand, Extension, Operation, Relation, Value, Width};
use unicorn_engine::Unicorn;

use super::code::{Decoded, Kind};
use super::paths::Paths;
use crate::address_space::Memory as _;
use crate::cpu::BranchTarget;
use crate::effect_cache::with_code;

/// The targets of an indirect jump.
#[derive(Debug, Default)]
pub(super) struct Targets {
    pub(super) targets: Vec<u64>,
    /// Whether the number of the table's elements is known.
    pub(super) is_bounded: bool,
    /// Whether it leads to another function, as far as its code shows.
    pub(super) leaves: bool,
}

/// An element that was loaded from what may be a table.
#[derive(Clone, Copy, Debug)]
pub(super) struct Load {
    /// The load's position in the trace.
    pub(super) position: usize,
    /// The element's address.
    address: u64,
    /// The parts of the address that registers gave it: base, and index as it was added.
    parts: [u64; 2],
}

/// Instructions before a jump, or a load, that are looked at.
const DISTANCE: usize = 32;
/// No table has more elements than this.
const MOST: u64 = 4096;
/// Tables without a known end are read up to this many elements.
const MOST_UNBOUNDED: u64 = 256;

/// A step from a value to what is computed from it.
#[derive(Clone, Copy, Debug)]
enum Step {
    Extend { low: u8, extension: Extension, shift: u8 },
    Add(u64),
    Write(Width),
}

impl Step {
    fn apply(self, value: u64) -> u64 {
        match self {
            Self::Extend { low, extension, shift } => {
                let read = extension.apply(value.checked_shr(low.into()).unwrap_or(0));
                read.checked_shl(shift.into()).unwrap_or(0)
            }
            Self::Add(amount) => value.wrapping_add(amount),
            // What the register keeps is not known, and nobody reads it.
            Self::Write(width) => width.write(0, value),
        }
    }
}

/// Steps were found from the last to the first.
fn apply(steps: &[Step], value: u64) -> u64 {
    steps.iter().rev().fold(value, |value, step| step.apply(value))
}

/// Returns the targets of the jump at `pc`, the last instruction of the path.
pub(super) fn targets(
    paths: &Paths<'_, '_>,
    unicorn: &Unicorn<'_, ()>,
    pc: u64,
    decoded: &Decoded,
) -> Targets {
    let register = |register: DwarfRegister| read(paths, unicorn, register);
    if paths.is_trampoline(pc) {
        let to = trampoline_target(paths, unicorn, pc, decoded);
        let is_followed = |to: &u64| paths.is_trampoline(*to) && *to != pc;
        let targets: Vec<u64> = to.filter(is_followed).into_iter().collect();
        return Targets { leaves: targets.is_empty(), is_bounded: true, targets };
    }
    let position = paths.trace.len() - 1;
    if let Operation::LoadEntry { to: None, size, signed, .. } = decoded.instruction.operation {
        let found = load_of(decoded, position, &register).and_then(|load| {
            // As for what was loaded, below.
            let target = element(paths, load.address, size, signed).unwrap_or_default();
            table(paths, pc, &Source { load, size, signed, steps: Vec::new() }, target)
        });
        return found.unwrap_or_default();
    }
    if let Operation::JumpToSum { left, right, offset } = decoded.instruction.operation {
        let target = || Some(register(left)?.wrapping_add(register(right)?).wrapping_add_signed(offset));
        let mut found = [right, left].into_iter().filter_map(|from| source(paths, position, from, DISTANCE));
        let found = found.next().zip(target());
        return found.and_then(|(source, target)| table(paths, pc, &source, target)).unwrap_or_default();
    }
    let Some(jump) = decoded.instruction.uses.iter().next() else {
        // Through a constant address: to another function.
        return Targets { leaves: true, ..Targets::default() };
    };
    let found = source(paths, position, jump, DISTANCE).zip(register(jump));
    found.and_then(|(source, target)| table(paths, pc, &source, target)).unwrap_or_default()
}

/// Returns the targets of a return to an address that the path has put at SP itself, from a register.
pub(super) fn targets_of_return(paths: &Paths<'_, '_>, unicorn: &Unicorn<'_, ()>, sp: u64) -> Targets {
    let find = || {
        let (store, _) = paths.journal.last(&paths.space, sp)?;
        let decoded = paths.code.at(&paths.space, store);
        let Operation::Store { values, .. } = &decoded.instruction.operation else { return None };
        let [Value::Register(register)] = **values else { return None };
        let position = paths.trace.iter().rposition(|pc| *pc == store)?;
        let source = source(paths, position, register, DISTANCE)?;
        table(paths, store, &source, read(paths, unicorn, register)?)
    };
    find().unwrap_or_default()
}

/// Reads a table, given how one of its elements was used for a jump to a target.
fn table(paths: &Paths<'_, '_>, pc: u64, source: &Source, target: u64) -> Option<Targets> {
    let Source { ref load, size, signed, ref steps } = *source;
    // What was added besides is the same for each element. What was loaded is in the image, or zero.
    let loaded = element(paths, load.address, size, signed).unwrap_or_default();
    let rest = target.wrapping_sub(apply(steps, loaded));
    let target_of = |value: u64| apply(steps, value).wrapping_add(rest);
    let at_load = paths.code.at(&paths.space, paths.trace[load.position]);
    let is_valid = |to: &u64| is_code(paths, *to);
    let mut found = Targets::default();
    let bound = bound_of(paths, load, &at_load.instruction.operation);
    if let Some(Bound { count: Count::Compared(count), steps, value }) = &bound {
        let offset = |number| apply(steps, number);
        // Numbers that wrap are those that the program has excluded elsewhere.
        let last = offset(count - 1);
        for offset in (0..*count).map(offset).filter(|offset| *offset <= last) {
            let address = load.address.wrapping_sub(*value).wrapping_add(offset);
            found.targets.push(element(paths, address, size, signed).map(target_of).filter(is_valid)?);
        }
        found.is_bounded = true;
    } else {
        let body = &paths.binary.bodies[paths.body(pc)?];
        // Whatever element was loaded, the table begins where the registers that don't vary point to.
        let image = paths.binary.image.range();
        let starts = [1, 0].map(|varying| load.address.wrapping_sub(load.parts[varying]));
        let start = starts.into_iter().find(|start| image.contains(start)).unwrap_or(load.address);
        let most = match bound {
            Some(Bound { count: Count::Masked(count), .. }) => count,
            _ => MOST_UNBOUNDED,
        };
        for number in 0..most {
            let address = start.wrapping_add(number * u64::from(size));
            let to = element(paths, address, size, signed).map(target_of);
            let Some(to) = to.filter(is_valid).filter(|to| body.contains(to)) else { break };
            found.targets.push(to);
        }
    }
    found.targets.sort_unstable();
    found.targets.dedup();
    Some(found)
}

fn read(paths: &Paths<'_, '_>, unicorn: &Unicorn<'_, ()>, register: DwarfRegister) -> Option<u64> {
    unicorn.reg_read(paths.register(register)?).ok()
}

/// Reads an element of a table.
fn element(paths: &Paths<'_, '_>, address: u64, size: u8, signed: bool) -> Option<u64> {
    let mut bytes = [0; 8];
    let len = usize::from(size);
    let is_big = paths.cpu.abi.is_big_endian();
    let range = if is_big { 8_usize.checked_sub(len)?..8 } else { 0..len };
    if !paths.binary.image.range().contains(&address) || !paths.space.read(address, bytes.get_mut(range)?) {
        return None;
    }
    let value = paths.space.number(bytes);
    Some(Extension { bits: size.checked_mul(8)?, signed }.apply(value))
}

/// Whether an instruction can be at an address.
fn is_code(paths: &Paths<'_, '_>, address: u64) -> bool {
    paths.space.is_constant_code(address)
        && address.is_multiple_of(paths.cpu.instruction_alignment)
        && paths.code.at(&paths.space, address).len != 0
}

/// Where an entry of a PLT leads.
fn trampoline_target(
    paths: &Paths<'_, '_>,
    unicorn: &Unicorn<'_, ()>,
    pc: u64,
    decoded: &Decoded,
) -> Option<u64> {
    if let Some(slot) = decoded.instruction.slot() {
        return paths.space.read_u64(slot);
    }
    match with_code(paths.cpu, &paths.space, pc, |code| (paths.cpu.branch_target)(code))? {
        BranchTarget::Register(register) => unicorn.reg_read(register).ok(),
        BranchTarget::Stack | BranchTarget::Instruction(_) => None,
    }
}

/// Returns what a load that may be from a table reads, if it is one.
pub(super) fn load_of(
    decoded: &Decoded,
    position: usize,
    register: &dyn Fn(DwarfRegister) -> Option<u64>,
) -> Option<Load> {
    let Operation::LoadEntry { base, index, extension, shift, displacement, .. } =
        decoded.instruction.operation
    else {
        return None;
    };
    let base = base.map_or(Some(0), register)?;
    let index = match index {
        Some(index) => extension.apply(register(index)?).checked_shl(shift.into())?,
        None => return None,
    };
    let address = base.wrapping_add(index).wrapping_add_signed(displacement);
    Some(Load { position, address, parts: [base, index] })
}

/// The element that a value was computed from.
struct Source {
    load: Load,
    size: u8,
    signed: bool,
    /// From the element to the value, the last first; sums with the same value each time are left out.
    steps: Vec<Step>,
}

/// Returns what an instruction computes of a register from another one, the last step first.
fn computed(operation: &Operation, register: DwarfRegister) -> Option<(DwarfRegister, Vec<Step>)> {
    match *operation {
        Operation::Add { to, from, offset } if to == register => {
            Some((from, vec![Step::Add(offset.cast_unsigned())]))
        }
        Operation::AddNarrow { to, from, offset, width } if to == register => {
            Some((from, vec![Step::Write(width), Step::Add(offset.cast_unsigned())]))
        }
        Operation::Extend { to, from, low, extension, shift, width } if to == register => {
            Some((from, vec![Step::Write(width), Step::Extend { low, extension, shift }]))
        }
        _ => None,
    }
}

/// Follows the value of a register before a position back to the load of an element.
fn source(
    paths: &Paths<'_, '_>,
    position: usize,
    register: DwarfRegister,
    distance: usize,
) -> Option<Source> {
    let mut wanted = register;
    let mut steps = Vec::new();
    for back in 1..=distance.min(position) {
        let at = position - back;
        let decoded = paths.code.at(&paths.space, paths.trace[at]);
        if is_stepped_over(paths, at, &decoded) {
            return None;
        }
        if !decoded.instruction.defs.contains(wanted) {
            continue;
        }
        match decoded.instruction.operation {
            Operation::LoadEntry { to: Some(to), size, signed, width, .. } if to == wanted => {
                let load = *paths.loads.iter().rev().find(|load| load.position == at)?;
                steps.push(Step::Write(width));
                return Some(Source { load, size, signed, steps });
            }
            Operation::Sum { to, left, right, extension, shift, .. } if to == wanted => {
                let rest = distance - back;
                let of_right = source(paths, at, right, rest).map(|found| (found, true));
                let (mut found, is_right) =
                    of_right.or_else(|| Some((source(paths, at, left, rest)?, false)))?;
                if is_right {
                    steps.push(Step::Extend { low: 0, extension, shift });
                }
                steps.append(&mut found.steps);
                return Some(Source { steps, ..found });
            }
            ref operation => {
                let (from, more) = computed(operation, wanted)?;
                steps.extend(more);
                wanted = from;
            }
        }
    }
    None
}

/// Whether an instruction of the path was a call that was stepped over: what registers hold after it has
/// nothing to do with what they held before.
fn is_stepped_over(paths: &Paths<'_, '_>, position: usize, decoded: &Decoded) -> bool {
    let next = paths.trace[position].wrapping_add(decoded.len);
    match decoded.kind {
        Kind::Call(_) => paths.trace.get(position + 1) == Some(&next),
        Kind::SystemCall => true,
        _ => false,
    }
}

/// How many elements a table has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Count {
    /// This many: others are excluded by a compare.
    Compared(u64),
    /// At most this many, since the number has no more bits. Not all of them may occur.
    Masked(u64),
}

/// What bounds the number of an element.
struct Bound {
    count: Count,
    /// From the number to the part of the address that depends on it, the last first.
    steps: Vec<Step>,
    /// That part, for the element that was loaded.
    value: u64,
}

/// Follows the index of a load back to what bounds it.
fn bound_of(paths: &Paths<'_, '_>, load: &Load, operation: &Operation) -> Option<Bound> {
    let Operation::LoadEntry { base, index: Some(index), extension, shift, .. } = *operation else {
        return None;
    };
    let of_index = bound(paths, load.position, index, vec![Step::Extend { low: 0, extension, shift }]);
    if let Some((count, steps)) = of_index {
        return Some(Bound { count, steps, value: load.parts[1] });
    }
    // Where neither register is shifted, either may be the index.
    let is_plain = shift == 0 && extension == Extension::NONE;
    let (count, steps) = bound(paths, load.position, base.filter(|_| is_plain)?, Vec::new())?;
    Some(Bound { count, steps, value: load.parts[0] })
}

/// Follows the value of a register back to what bounds it. Returns the bound, and the steps to the
/// value.
fn bound(
    paths: &Paths<'_, '_>,
    position: usize,
    register: DwarfRegister,
    mut steps: Vec<Step>,
) -> Option<(Count, Vec<Step>)> {
    let mut wanted = Comparand::Register(register);
    // Bounds of others, of which the value may be a copy.
    let mut others: Vec<(Comparand, u64)> = Vec::new();
    for back in 1..=DISTANCE.min(position) {
        let at = position - back;
        let decoded = paths.code.at(&paths.space, paths.trace[at]);
        let instruction = &decoded.instruction;
        if is_stepped_over(paths, at, &decoded) {
            return None;
        }
        if let Some((compared, count)) = compared(paths, at, &instruction.operation) {
            if compared == wanted {
                return Some((Count::Compared(count), steps));
            }
            others.push((compared, count));
        }
        let writes = |comparand: &Comparand| match comparand {
            Comparand::Register(register) => instruction.defs.contains(*register),
            Comparand::Memory(place) => instruction.may_store || instruction.defs.contains(place.base),
            Comparand::Constant(_) => false,
        };
        if writes(&wanted) {
            let Comparand::Register(register) = wanted else { return None };
            match &instruction.operation {
                Operation::Mask { to, mask, .. } if *to == register => {
                    let count =
                        mask.checked_add(1).filter(|count| count.is_power_of_two() && *count <= MOST)?;
                    return Some((Count::Masked(count), steps));
                }
                Operation::Load { values, place: Some(place), size }
                    if *values == [Value::Register(register)] =>
                {
                    steps.push(Step::Extend {
                        low: 0,
                        extension: Extension::zero(size.checked_mul(8)?),
                        shift: 0,
                    });
                    wanted = Comparand::Memory(*place);
                }
                operation => {
                    let (from, more) = computed(operation, register)?;
                    steps.extend(more);
                    wanted = Comparand::Register(from);
                }
            }
            if let Some((_, count)) = others.iter().find(|(comparand, _)| *comparand == wanted) {
                return Some((Count::Compared(*count), steps));
            }
        }
        others.retain(|(comparand, _)| !writes(comparand));
    }
    None
}

/// Returns what a compare with a constant bounds, and below which number it is: if the branch after
/// it says so.
fn compared(paths: &Paths<'_, '_>, position: usize, operation: &Operation) -> Option<(Comparand, u64)> {
    let Operation::Compare { left, right: Comparand::Constant(constant), bits, .. } = *operation else {
        return None;
    };
    let constant = Extension::zero(bits).apply(constant.cast_unsigned());
    let branch = (position..paths.trace.len()).take(4).find_map(|position| {
        let decoded = paths.code.at(&paths.space, paths.trace[position]);
        matches!(decoded.kind, Kind::Branch(_)).then_some((position, decoded))
    });
    let (position, decoded) = branch?;
    let next = *paths.trace.get(position + 1)?;
    let is_taken = next != paths.trace[position].wrapping_add(decoded.len);
    let relation = decoded.instruction.condition?.relation;
    let count = match if is_taken { relation } else { relation.negated() } {
        Relation::Less => constant,
        Relation::LessOrEqual => constant.checked_add(1)?,
        _ => return None,
    };
    (1..=MOST).contains(&count).then_some((left, count))
}
