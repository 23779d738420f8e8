//! What is known of a block before it executes: where SP and FP are at each of its instructions, and where these store.
//!
//! A block is what the emulator translates at once: it has one way in, and only its last instruction moves control. The values
//! of registers are read where it begins and where it has ended. Between, a register is what it was, or will be, plus a
//! constant; where it isn't, its value is not known.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::ops::Range;
use std::rc::Rc;
use std::sync::Arc;

use sframe_engine::{Abi, DwarfRegister};
use sframe_isa::{Destination, Disassembly, Flow, Instruction, Operation, Place, Registers, Stored, Value};

use crate::address_space::{AddressSpace, Memory, overlap};
use crate::cpu::{Control, Cpu, Link, Unreported};
use crate::effect_cache::{decode, with_code};
use crate::pc_map::PcMap;
use crate::places::Places;

/// How many registers are read where a block begins.
const MOST_READ: usize = 6;

/// The values of registers where a block begins.
pub(crate) type Entry = [u64; MOST_READ];

/// A register's value within a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// What one of the registers had at the block's beginning, by its position in [`Block::reads`], and a constant.
    Entry(usize, i64),
    /// What a register has at the block's end, and a constant.
    End(DwarfRegister, i64),
}

/// Where an instruction stores.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Target {
    /// The number of the instruction.
    pub(crate) step: usize,
    pub(crate) stored: Stored,
    base: Option<Form>,
    index: Option<Form>,
    /// Whether the emulator does not say so: then the run does, where the instruction is followed.
    pub(crate) is_unreported: bool,
}

/// An instruction of a block.
#[derive(Clone, Debug)]
pub(crate) struct Step {
    pub(crate) pc: u64,
    pub(crate) size: u32,
    pub(crate) sp: Form,
    pub(crate) fp: Form,
    /// Where calls leave their return address, if that is a register whose value is known.
    link: Option<Form>,
    /// The register by which it loads FP.
    loads_by: Option<(DwarfRegister, Form)>,
    /// The registers that this instruction and those after it write.
    written: Registers,
}

/// A block.
#[derive(Clone, Debug)]
pub(crate) struct Block {
    pub(crate) steps: Box<[Step]>,
    /// What they store, in their order.
    pub(crate) targets: Box<[Target]>,
    /// Its size in bytes.
    pub(crate) size: u64,
    /// The registers that are read at its beginning: SP, FP, and others.
    pub(crate) reads: Vec<DwarfRegister>,
    /// What SP and FP have at its end.
    ends: [Option<Form>; 2],
}

/// How an instruction changes a register.
#[derive(Clone, Copy)]
enum Change {
    Nothing,
    Add(i64),
    Copy(DwarfRegister, i64),
    Other,
}

/// A register's value: what another one has at one end of a block, and a constant; `None` if it is unknown.
type Sum = Option<(DwarfRegister, i64)>;

/// The values of all registers, by their numbers.
type Values = [Sum; 64];

impl Block {
    /// Reads the block at an address; `None` if an instruction does what has to be seen before or while it executes, or if it
    /// is not known where it stores, or where SP and FP are.
    pub(crate) fn read(
        cpu: &Cpu,
        space: &AddressSpace,
        places: Places,
        Range { start: pc, end }: Range<u64>,
    ) -> Option<Self> {
        let size = end.checked_sub(pc)?;
        let is_own = |range: Range<u64>| overlap(&range, &(pc..end));
        let is_constant = space.is_constant_code(pc) && space.is_constant_code(end.checked_sub(1)?);
        if !is_constant || is_own(places.linker()) || is_own(places.kernel()) {
            return None;
        }
        let mut bytes = vec![0; usize::try_from(size).ok()?];
        let instructions =
            space.read(pc, &mut bytes).then(|| Disassembly::first(cpu.abi, pc, &bytes, usize::MAX))?;
        let is_last = |index: usize| index + 1 == instructions.len();
        let are_plain = instructions.iter().enumerate().all(|(index, (pc, instruction))| {
            is_plain(cpu, space, *pc, instruction)
                && (is_last(index) || matches!(instruction.flow, Flow::Next))
        });
        let len: u64 = instructions.iter().map(|(_, instruction)| instruction.len).sum();
        if !are_plain || len != size {
            return None;
        }
        Reading::new(cpu, &instructions).block(space, size)
    }

    /// Whether SP and FP have become what they had to, as far as that is known.
    pub(crate) fn has_ended(&self, ends: &Ends<'_>) -> bool {
        let is = |form: Option<Form>, value| form.is_none_or(|form| ends.value(form) == value);
        is(self.ends[0], ends.sp) && is(self.ends[1], ends.fp)
    }
}

/// Bytes that were stored.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bytes {
    pub(crate) address: u64,
    len: u64,
}

impl Target {
    /// Returns which bytes it is, given where the registers are at both ends.
    #[inline]
    pub(crate) fn bytes(&self, ends: &Ends<'_>) -> Bytes {
        let value = |form: Option<Form>| form.map_or(0, |form| ends.value(form));
        let address = self.stored.address_of(value(self.base), value(self.index));
        Bytes { address, len: self.stored.bytes_in_all() }
    }
}

/// The values of registers where a block has begun and where it has ended.
pub(crate) struct Ends<'e> {
    pub(crate) abi: Abi,
    pub(crate) entry: &'e Entry,
    pub(crate) sp: u64,
    pub(crate) fp: u64,
    /// Those of other registers where it has ended.
    pub(crate) others: &'e dyn Fn(DwarfRegister) -> u64,
}

impl Ends<'_> {
    /// The value that a form has.
    #[inline]
    pub(crate) fn value(&self, form: Form) -> u64 {
        match form {
            Form::Entry(index, offset) => self.entry[index].wrapping_add_signed(offset),
            Form::End(register, offset) => self.end(register).wrapping_add_signed(offset),
        }
    }

    fn end(&self, register: DwarfRegister) -> u64 {
        match register {
            _ if register == self.abi.sp() => self.sp,
            _ if register == self.abi.fp() => self.fp,
            _ => (self.others)(register),
        }
    }
}

/// A moment within a block that has executed: what was not stored or written since is what it was.
pub(crate) struct Instant<'i> {
    pub(crate) step: &'i Step,
    pub(crate) ends: &'i Ends<'i>,
    /// What is stored from this instruction on.
    pub(crate) later: &'i [Bytes],
    /// Whether something was asked for that is not what it was.
    pub(crate) is_lost: &'i Cell<bool>,
}

impl Instant<'_> {
    /// Returns the value of a register, by its DWARF number.
    pub(crate) fn register(&self, register: DwarfRegister) -> u64 {
        let Step { sp, fp, link, loads_by, written, .. } = self.step;
        let abi = self.ends.abi;
        let known = match register {
            _ if register == abi.sp() => Some(*sp),
            _ if register == abi.fp() => Some(*fp),
            _ if Some(register) == abi.ra() => *link,
            _ if register.0 < 64 && !written.contains(register) => Some(Form::End(register, 0)),
            _ => loads_by.filter(|(by, _)| *by == register).map(|(_, form)| form),
        };
        self.is_lost.set(self.is_lost.get() || known.is_none());
        known.map_or(0, |form| self.ends.value(form))
    }

    /// Takes note that some bytes are read.
    #[inline]
    pub(crate) fn reads(&self, address: u64, len: u64) {
        let end = address.saturating_add(len);
        let is_stored =
            |later: &Bytes| later.address < end && address < later.address.saturating_add(later.len);
        if self.later.iter().any(is_stored) {
            self.is_lost.set(true);
        }
    }
}

/// The program's memory, as it was at a moment.
#[derive(Clone, Copy)]
pub(crate) struct Seen<'s> {
    pub(crate) space: &'s AddressSpace,
    pub(crate) instant: Option<&'s Instant<'s>>,
}

impl Seen<'_> {
    #[inline]
    fn reads(&self, address: u64, len: u64) {
        if let Some(instant) = self.instant {
            instant.reads(address, len);
        }
    }
}

impl Memory for Seen<'_> {
    fn read(&self, address: u64, buffer: &mut [u8]) -> bool {
        self.reads(address, buffer.len() as u64);
        self.space.read(address, buffer)
    }

    #[inline]
    fn read_u64(&self, address: u64) -> Option<u64> {
        self.reads(address, 8);
        self.space.read_u64(address)
    }

    fn regions(&self) -> Vec<Range<u64>> {
        self.space.regions().collect()
    }

    fn is_constant_code(&self, address: u64) -> bool {
        self.space.is_constant_code(address)
    }
}

/// What is known of a block.
#[derive(Debug, Default)]
pub(crate) struct Known {
    /// How often it was come to, until it is read.
    pub(crate) seen: u32,
    pub(crate) block: Option<Rc<Block>>,
}

/// The blocks of a run.
#[derive(Debug, Default)]
pub(crate) struct Blocks {
    pub(crate) is_allowed: bool,
    /// Those that are executed by instruction.
    pub(crate) stepped: Arc<BTreeSet<u64>>,
    pub(crate) known: PcMap<Known>,
    /// Of which code they are.
    pub(crate) code: u32,
    /// The block that executes, and the registers where it began.
    pub(crate) executing: Option<(Rc<Block>, Entry)>,
    /// What that stores.
    pub(crate) stored: Vec<Bytes>,
    /// The number of instructions at which blocks are tried next, and how many come before the one after that.
    pub(crate) next: u64,
    pub(crate) wait: u64,
    /// Where control goes from one emulator to the other.
    pub(crate) at: u64,
    pub(crate) lost: Option<u64>,
    /// How many instructions were executed by block.
    pub(crate) executed: u64,
}

impl Blocks {
    /// How many instructions are executed one by one at least until blocks are tried again.
    pub(crate) const SHORTEST_WAIT: u64 = 1 << 3;

    pub(crate) fn new(is_allowed: bool, stepped: Arc<BTreeSet<u64>>) -> Self {
        Self { is_allowed, stepped, next: u64::MAX, wait: Self::SHORTEST_WAIT, ..Self::default() }
    }
}

/// Whether an instruction can be followed after it has executed.
fn is_plain(cpu: &Cpu, space: &AddressSpace, pc: u64, instruction: &Instruction) -> bool {
    let effect = decode(cpu, space, pc);
    let Instruction { flow, is_system_call, repeats, operation, .. } = instruction;
    let is_unknown = matches!(flow, Flow::Trap | Flow::Unknown) || *operation == Operation::Execute;
    if is_unknown || *is_system_call || *repeats {
        return false;
    }
    !(effect.is_privileged || effect.is_mistaken || effect.control == Control::SelfJump)
}

/// Reads a block.
struct Reading<'r> {
    cpu: &'r Cpu,
    instructions: &'r [(u64, Instruction)],
    /// What the registers are before each instruction and at the end, from the beginning; and from the end.
    forward: Vec<Values>,
    backward: Vec<Values>,
    reads: Vec<DwarfRegister>,
}

fn index_of(register: DwarfRegister) -> Option<usize> {
    usize::try_from(register.0).ok().filter(|index| *index < 64)
}

impl<'r> Reading<'r> {
    fn new(cpu: &'r Cpu, instructions: &'r [(u64, Instruction)]) -> Self {
        let own: Values = std::array::from_fn(|index| Some((numbered(index), 0)));
        let follow = |instruction: &Instruction, before: &Values, is_back: bool| -> Values {
            std::array::from_fn(|index| match change(cpu.abi, instruction, numbered(index)) {
                Change::Nothing => before[index],
                Change::Add(by) => moved(before[index], if is_back { by.wrapping_neg() } else { by }),
                Change::Copy(from, by) if !is_back => index_of(from).and_then(|from| moved(before[from], by)),
                Change::Copy(..) | Change::Other => None,
            })
        };
        let mut forward = vec![own];
        for (_, instruction) in instructions {
            forward.push(follow(instruction, &forward[forward.len() - 1], false));
        }
        let mut backward = vec![own];
        for (_, instruction) in instructions.iter().rev() {
            backward.push(follow(instruction, &backward[backward.len() - 1], true));
        }
        backward.reverse();
        Self { cpu, instructions, forward, backward, reads: vec![cpu.abi.sp(), cpu.abi.fp()] }
    }

    /// The register's value before an instruction.
    fn value(&mut self, step: usize, register: DwarfRegister) -> Option<Form> {
        let index = index_of(register)?;
        let later = self.backward[step][index].map(|(register, offset)| Form::End(register, offset));
        // SP and FP are read at the beginning anyway.
        match later {
            Some(later) if !self.reads[..2].contains(&register) => Some(later),
            later => self.since_entry(self.forward[step][index]).or(later),
        }
    }

    /// The value of a register that is read at the beginning, and a constant.
    fn since_entry(&mut self, sum: Sum) -> Option<Form> {
        let (register, offset) = sum?;
        let known = self.reads.iter().position(|read| *read == register);
        if known.is_none() {
            if self.reads.len() == MOST_READ {
                return None;
            }
            self.reads.push(register);
        }
        Some(Form::Entry(known.unwrap_or(self.reads.len() - 1), offset))
    }

    /// The register by which an instruction loads FP, and its value.
    fn loads_by(&mut self, step: usize) -> Option<(DwarfRegister, Form)> {
        let (_, instruction) = &self.instructions[step];
        let Operation::Load { place: Some(Place { base, .. }), .. } = instruction.operation else {
            return None;
        };
        let loads_fp = instruction.defs.contains(self.cpu.abi.fp());
        if loads_fp { Some((base, self.value(step, base)?)) } else { None }
    }

    fn target(&mut self, space: &AddressSpace, step: usize) -> Option<Option<Target>> {
        let (pc, instruction) = &self.instructions[step];
        let effect = decode(self.cpu, space, *pc);
        let stored = match instruction.stored {
            _ if effect.stores_unreported => self.unreported(space, *pc)?,
            Some(stored) => stored,
            None if !instruction.may_store => return Some(None),
            // Where a call leaves its return address in a register, nothing is stored.
            None if instruction.is_call() && matches!(self.cpu.link, Link::Register(_)) => return Some(None),
            None => return None,
        };
        let base = match stored.base {
            Some(base) => Some(self.value(step, base)?),
            None => None,
        };
        let index = match stored.index {
            Some(index) => Some(self.value(step, index)?),
            None => None,
        };
        Some(Some(Target { step, stored, base, index, is_unreported: effect.stores_unreported }))
    }

    /// Where an instruction stores what the emulator does not report.
    fn unreported(&self, space: &AddressSpace, pc: u64) -> Option<Stored> {
        let unreported = with_code(self.cpu, space, pc, |code| (self.cpu.unreported)(code));
        let Unreported::Bytes { base, alignment: 1, displacement, len } = unreported else { return None };
        let register = |number| self.cpu.registers.iter().position(|known| *known == number);
        let base = match base {
            Some(number) => Some(DwarfRegister(u32::try_from(register(number)?).ok()?)),
            None => None,
        };
        Some(Stored::bytes(base, displacement.cast_signed(), u16::try_from(len).ok()?))
    }

    fn block(mut self, space: &AddressSpace, size: u64) -> Option<Block> {
        let (sp, fp) = (self.cpu.abi.sp(), self.cpu.abi.fp());
        let count = self.instructions.len();
        let mut written = vec![Registers::default(); count + 1];
        for (step, (_, instruction)) in self.instructions.iter().enumerate().rev() {
            let mut own = instruction.defs;
            if instruction.operation == Operation::Authenticate {
                own.extend(self.cpu.abi.ra());
            }
            written[step] = written[step + 1].or(own);
        }
        let (mut steps, mut targets) = (Vec::with_capacity(count), Vec::new());
        let instructions = self.instructions;
        for (step, ((pc, instruction), written)) in instructions.iter().zip(&written).enumerate() {
            targets.extend(self.target(space, step)?);
            steps.push(Step {
                pc: *pc,
                size: u32::try_from(instruction.len).ok()?,
                sp: self.value(step, sp)?,
                fp: self.value(step, fp)?,
                link: self.cpu.abi.ra().and_then(|ra| self.value(step, ra)),
                loads_by: self.loads_by(step),
                written: *written,
            });
        }
        let ends = [sp, fp].map(|register| self.since_entry(self.forward[count][index_of(register)?]));
        Some(Block { steps: steps.into(), targets: targets.into(), size, reads: self.reads, ends })
    }
}

fn numbered(index: usize) -> DwarfRegister {
    DwarfRegister(u32::try_from(index).unwrap_or(u32::MAX))
}

fn moved(sum: Sum, by: i64) -> Sum {
    sum.map(|(register, offset)| (register, offset.wrapping_add(by)))
}

/// How an instruction changes a register.
fn change(abi: Abi, instruction: &Instruction, register: DwarfRegister) -> Change {
    if register == abi.sp() {
        let pushed = abi.pushed_by_calls().cast_signed();
        match instruction.flow {
            Flow::Call(_) => return Change::Add(-pushed),
            Flow::Jump { to: Destination::Caller, .. } => {
                return Change::Add(pushed + i64::from(instruction.removes));
            }
            _ => {}
        }
    }
    let is_loaded = |values: &[Value]| values.contains(&Value::Register(register));
    match &instruction.operation {
        Operation::Add { to, from, offset } if *to == register => match from {
            from if *from == register => Change::Add(*offset),
            from => Change::Copy(*from, *offset),
        },
        Operation::Leave if register == abi.sp() => Change::Copy(abi.fp(), 8),
        Operation::Store { place: Some(Place { base, writeback, .. }), .. } if *base == register => {
            Change::Add(*writeback)
        }
        Operation::Load { place: Some(Place { base, writeback, .. }), values, .. }
            if *base == register && !is_loaded(values) =>
        {
            Change::Add(*writeback)
        }
        Operation::Authenticate if Some(register) == abi.ra() => Change::Other,
        _ if instruction.defs.contains(register) => Change::Other,
        _ => Change::Nothing,
    }
}
