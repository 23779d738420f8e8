//! Steps that follow from a plan: a state of the program is made up for a row, and the caller's state
//! computed from the row's rules.

use std::collections::BTreeMap;

use sframe_vectors::{
    Address, Answer, Base, Caller, End, Equation, Frame, PcKind, Question, Recovery, Step, Tracked,
};

use super::dialect::Dialect;
use super::plan::{FunctionPlan, RowPlan, RowRules, SectionPlan};
use crate::generate::random::Random;

/// Rows of a function from which steps are asked for, at most.
const ROWS: usize = 4;
/// Stacks: ordinary ones, and one of a kernel.
const STACKS: &[u64] = &[0x7fff_ffff_0000, 0x7000, 0xffff_c900_0001_0000];
/// Places of code to return to.
const CODE: &[u64] = &[0x40_1234, 0x2222, 0x7f12_3456_7890, 0xffff_ffff_8100_0010];

/// What is done to a state that has a caller.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Change {
    None,
    /// The frame is not the topmost.
    Outer,
    /// Nothing can be read at the place of a value, counted from 0.
    Unreadable(usize),
    /// No register but SP and FP is known.
    Unknown,
    /// SP is further towards the base of the stack than the caller's.
    Behind,
    /// The CFA is no multiple of 8.
    Misaligned,
}

impl SectionPlan {
    /// Returns steps from rows of all functions that break no rule, with their results. `open` adds those
    /// whose result the specification leaves to the reader.
    #[must_use]
    pub fn steps(&self, open: bool) -> Vec<Step> {
        let mut steps = Vec::new();
        for function in self.functions.iter().filter(|function| !function.is_broken()) {
            if function.rows.is_empty() && function.size > 0 {
                steps.extend(self.step_without_rules(function, 0));
            }
            let rows = function.rows.len();
            let chosen = (0..rows).filter(|index| *index < ROWS - 1 || index + 1 == rows);
            for index in chosen {
                self.add_steps(function, index, open, &mut steps);
            }
        }
        steps.extend(self.functions.first().and_then(|function| {
            // Just before the first function.
            self.step_without_rules(function, u64::MAX)
        }));
        if !open {
            steps.retain(|step| {
                !matches!(
                    step.end,
                    Some(End::RaNotSaved {} | End::Misaligned { .. } | End::NoProgress { .. })
                )
            });
        }
        steps
    }

    /// A step that ends before any rule counts.
    fn step_without_rules(&self, function: &FunctionPlan, offset: u64) -> Option<Step> {
        let pc = Address(function.start.wrapping_add(offset));
        let frame = Frame { pc, kind: PcKind::Instruction, sp: Address(0x7000), fp: Address(0x7800) };
        let step = self.result(frame, Some(BTreeMap::new()), BTreeMap::new(), None);
        step.filter(|step| matches!(step.end, Some(End::NoFde {} | End::NoRow {} | End::Outermost {})))
    }

    fn add_steps(&self, function: &FunctionPlan, index: usize, open: bool, steps: &mut Vec<Step>) {
        let row = &function.rows[index];
        // An address that has this row: later rows may hide it.
        let at = function.start.wrapping_add(row.start.into());
        let has_row = |address| function.covers(address) && function.row_at(address) == Some(index);
        if !has_row(at) {
            return;
        }
        let mut random = Random::new(row.seed, 0);
        let mut changes = vec![Change::None];
        let mut others =
            vec![Change::Outer, Change::Unreadable(0), Change::Unreadable(1), Change::Unknown, Change::Outer];
        if open {
            others.extend([Change::Behind, Change::Misaligned]);
        }
        changes.push(*random.pick(&others));
        changes.push(*random.pick(&others));
        for change in changes {
            steps.extend(self.step(row, at, change, &mut random));
        }
    }

    fn step(&self, row: &RowPlan, at: u64, change: Change, random: &mut Random) -> Option<Step> {
        let kind = if change == Change::Outer { PcKind::Return } else { PcKind::Instruction };
        let pc = Address(if change == Change::Outer { at.wrapping_add(1) } else { at });
        let stack = *random.pick(STACKS) + random.below(256) * 8;
        let Some(rules) = row.rules else {
            let frame = Frame { pc, kind, sp: Address(stack), fp: Address(stack + 64) };
            let registers = (kind == PcKind::Instruction).then(BTreeMap::new);
            return self.result(frame, registers, BTreeMap::new(), None);
        };
        let mut state = State::new(self, stack, random);
        state.place_cfa(&rules, change, random)?;
        let address_bits = row.mangled.then(|| *random.pick(&[39_u32, 48, 52]));
        state.place_ra(self, &rules, address_bits, random);
        state.place_fp(&rules, random);
        if state.overlaps() {
            return None;
        }
        match change {
            Change::Unreadable(which) => {
                let place = *state.loads.get(which)?;
                state.memory.remove(&place);
            }
            Change::Unknown => state.registers.clear(),
            _ => {}
        }
        let memory = state.memory.into_iter().map(|(at, value)| (Address(at), Address(value))).collect();
        let registers = state.registers.into_iter().map(|(number, value)| (number, Address(value)));
        let registers = (kind == PcKind::Instruction).then(|| registers.collect());
        let frame = Frame { pc, kind, sp: Address(state.sp), fp: Address(state.fp) };
        self.result(frame, registers, memory, address_bits)
    }

    /// Computes the result of a step; `None` if it depends on a function that breaks a rule.
    fn result(
        &self,
        frame: Frame,
        registers: Option<BTreeMap<u32, Address>>,
        memory: BTreeMap<Address, Address>,
        address_bits: Option<u32>,
    ) -> Option<Step> {
        let question = Question { pc: frame.pc, return_address: frame.kind == PcKind::Return };
        let rules = match self.look_up(question)? {
            Answer::Reject(_) => return None,
            Answer::NoFde | Answer::Rules(_) => Err(End::NoFde {}),
            Answer::NoRow(_) => Err(End::NoRow {}),
            Answer::Outermost(_) => Err(End::Outermost {}),
            Answer::Row(function, row) => {
                let function = &self.functions[function];
                let row = &function.rows[row];
                row.rules.map(|rules| (function, row, rules)).ok_or(End::Outermost {})
            }
        };
        let caller = rules.and_then(|(function, row, rules)| {
            let evaluation = Evaluation { frame, registers: registers.as_ref(), memory: &memory };
            self.caller(function, row, &rules, &evaluation, address_bits)
        });
        let (caller, end) = match caller {
            Ok(caller) => (Some(caller), None),
            Err(end) => (None, Some(end)),
        };
        Some(Step { frame, registers, memory, address_bits, caller, end })
    }

    fn caller(
        &self,
        function: &FunctionPlan,
        row: &RowPlan,
        rules: &RowRules,
        evaluation: &Evaluation<'_>,
        address_bits: Option<u32>,
    ) -> Result<Caller, End> {
        let frame = evaluation.frame;
        let cfa = evaluation.value(&rules.cfa, 0, Tracked::Cfa)?;
        if !cfa.is_multiple_of(8) {
            return Err(End::Misaligned { cfa: Address(cfa) });
        }
        let dialect = Dialect::of(self.abi);
        let sp = cfa.wrapping_sub(dialect.sp_below_cfa);
        let stays = sp == frame.sp.0 && frame.kind == PcKind::Return && dialect.calls_move_sp;
        if !function.signal && (sp < frame.sp.0 || stays) {
            return Err(End::NoProgress { cfa: Address(cfa) });
        }
        let ra = match rules.ra {
            Recovery::Rule(rule) => evaluation.value(&rule, cfa, Tracked::Ra)?,
            Recovery::Unchanged | Recovery::Undefined => {
                let register = self.abi.ra().filter(|_| evaluation.registers.is_some());
                let register = register.ok_or(End::RaNotSaved {})?.0;
                evaluation.register(register, Tracked::Ra)?
            }
        };
        let fp = match rules.fp {
            Recovery::Rule(rule) => evaluation.value(&rule, cfa, Tracked::Fp)?,
            Recovery::Unchanged | Recovery::Undefined => frame.fp.0,
        };
        let pc = match address_bits {
            Some(bits) if row.mangled => without_code(ra, bits),
            _ => ra,
        };
        let kind = if function.signal { PcKind::Instruction } else { PcKind::Return };
        Ok(Caller { pc: Address(pc), kind, cfa: Address(cfa), sp: Address(sp), fp: Address(fp) })
    }
}

/// A code address without its authentication code, which is in all bits but the lowest ones. Bit 55 says
/// which half of the address space it is in.
const fn without_code(address: u64, bits: u32) -> u64 {
    let low = (1 << bits) - 1;
    if address >> 55 & 1 == 1 { address | !low } else { address & low }
}

/// The inputs of rules.
struct Evaluation<'e> {
    frame: Frame,
    registers: Option<&'e BTreeMap<u32, Address>>,
    memory: &'e BTreeMap<Address, Address>,
}

impl Evaluation<'_> {
    fn register(&self, register: u32, what: Tracked) -> Result<u64, End> {
        let known = self.registers.ok_or(End::UnsafeRegister { what, register })?;
        known.get(&register).map(|value| value.0).ok_or(End::UnknownRegister { what, register })
    }

    fn value(&self, rule: &Equation, cfa: u64, what: Tracked) -> Result<u64, End> {
        let base = match rule.base {
            Base::Cfa => cfa,
            Base::Sp => self.frame.sp.0,
            Base::Fp => self.frame.fp.0,
            Base::Register(register) => self.register(register, what)?,
        };
        let address = Address(base.wrapping_add_signed(rule.offset));
        if !rule.dereference {
            return Ok(address.0);
        }
        self.memory.get(&address).map(|value| value.0).ok_or(End::Unreadable { what, address })
    }
}

/// A state that is made up.
struct State {
    sp: u64,
    fp: u64,
    registers: BTreeMap<u32, u64>,
    memory: BTreeMap<u64, u64>,
    /// The addresses from which values are loaded.
    loads: Vec<u64>,
    cfa: u64,
}

impl State {
    fn new(plan: &SectionPlan, sp: u64, random: &mut Random) -> Self {
        let mut registers = BTreeMap::new();
        if let Some(register) = plan.abi.ra() {
            registers.insert(register.0, *random.pick(CODE));
        }
        let fp = sp + 0x800 + random.below(64) * 8;
        Self { sp, fp, registers, memory: BTreeMap::new(), loads: Vec::new(), cfa: 0 }
    }

    /// Makes up values for which the CFA is a multiple of 8 and towards the base of the stack, as far as
    /// the rule allows, unless the change says otherwise.
    fn place_cfa(&mut self, rules: &RowRules, change: Change, random: &mut Random) -> Option<()> {
        let Equation { base, offset, dereference } = rules.cfa;
        let misalign = if change == Change::Misaligned { 1 + random.below(7) } else { 0 };
        let distance = 160 + 8 * random.below(64);
        let aim = self.sp.wrapping_add(distance).wrapping_add(misalign);
        let aim = if change == Change::Behind { self.sp.wrapping_sub(8) } else { aim };
        match (base, dereference) {
            (Base::Sp, false) => {
                // SP follows from what the CFA has to be a multiple of.
                let cfa = self.sp.wrapping_add_signed(offset);
                self.sp = self.sp.wrapping_sub(cfa % 8).wrapping_add(misalign);
                self.cfa = self.sp.wrapping_add_signed(offset);
            }
            (Base::Sp | Base::Fp | Base::Register(_), true) => {
                self.cfa = aim;
                let is_register = matches!(base, Base::Register(_));
                let made = if is_register { self.sp + 0x2000 + 8 * random.below(64) } else { 0 };
                let from = self.holder(base, made);
                self.store(from.wrapping_add_signed(offset), aim);
            }
            (Base::Fp, false) => {
                self.fp = aim.wrapping_add_signed(offset.wrapping_neg());
                self.cfa = aim;
            }
            (Base::Register(number), false) => {
                self.registers.insert(number, aim.wrapping_add_signed(offset.wrapping_neg()));
                self.cfa = aim;
            }
            (Base::Cfa, _) => return None,
        }
        Some(())
    }

    /// The value of a base: one that is made up if it is a register that nothing else needs.
    fn holder(&mut self, base: Base, made: u64) -> u64 {
        match base {
            Base::Sp => self.sp,
            Base::Fp => self.fp,
            Base::Cfa => self.cfa,
            Base::Register(number) => *self.registers.entry(number).or_insert(made),
        }
    }

    fn place_ra(
        &mut self,
        plan: &SectionPlan,
        rules: &RowRules,
        address_bits: Option<u32>,
        random: &mut Random,
    ) {
        let plain = *random.pick(CODE);
        let value = match address_bits {
            Some(bits) => {
                let low = (1_u64 << bits) - 1;
                plain & low | random.below(u64::MAX) & !low
            }
            None => plain,
        };
        match rules.ra {
            Recovery::Rule(rule) => self.place(rule, value, random),
            Recovery::Unchanged | Recovery::Undefined => {
                if let Some(register) = plan.abi.ra() {
                    self.registers.entry(register.0).and_modify(|register| *register = value);
                }
            }
        }
    }

    fn place_fp(&mut self, rules: &RowRules, random: &mut Random) {
        if let Recovery::Rule(rule) = rules.fp {
            let value = *random.pick(STACKS) + 8 * random.below(0x1000);
            self.place(rule, value, random);
        }
    }

    /// Puts a value where a rule finds it, unless something is there already.
    fn place(&mut self, rule: Equation, value: u64, random: &mut Random) {
        let made = self.sp + 0x4000 + 8 * random.below(64);
        let base = self.holder(rule.base, if rule.dereference { made } else { value });
        if rule.dereference {
            self.store(base.wrapping_add_signed(rule.offset), value);
        }
    }

    fn store(&mut self, address: u64, value: u64) {
        self.memory.entry(address).or_insert(value);
        self.loads.push(address);
    }

    /// Whether two values share some of their bytes, but not all: only one could be there.
    fn overlaps(&self) -> bool {
        let mut places: Vec<u64> = self.memory.keys().copied().collect();
        places.sort_unstable();
        places.windows(2).any(|pair| pair[1] - pair[0] < 8)
            || places
                .first()
                .zip(places.last())
                .is_some_and(|(first, last)| places.len() > 1 && first.wrapping_sub(*last) < 8)
            || places.last().is_some_and(|last| last.checked_add(7).is_none())
    }
}
