//! Writes a plan in assembly, and follows what registers and the frame hold at each instruction.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use sframe_engine::{Abi, DwarfRegister};

use super::dialect::{Dialect, Move};
use super::directive::{Declared, Directive, Operation, Saved, indirect, noise, plain, remember, restore};
use super::plan::{Action, FunctionPlan, Part, Plan, Setup};
use super::state::{Kind, State, Value, return_column};
use crate::generate::random::Random;

/// The section with the addresses of the instructions.
pub const SITES: &str = ".bench_sites";

/// A program in assembly.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// The source.
    pub source: String,
    /// Its instructions, in the order of the addresses in [`SITES`].
    pub sites: Vec<Site>,
    /// How often each form of a directive is used.
    pub forms: BTreeMap<&'static str, u32>,
    /// The ABI.
    pub abi: Abi,
}

/// An instruction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Site {
    /// The function, by its number in the plan.
    pub function: u32,
    /// In assembly.
    pub code: String,
    /// The directives between the instruction before and this one.
    pub declared: Vec<Directive>,
    /// What is true before it.
    pub state: State,
}

/// Writes a plan.
#[must_use]
pub fn write(plan: &Plan) -> Program {
    let dialect = Dialect::of(plan.abi);
    let mut source =
        format!("\t.text\n\t.type leaf, %function\nleaf:\n\t.cfi_startproc\n\t{}\n", dialect.nop);
    let _ = writeln!(source, "\t{}\n\t.cfi_endproc\n\t.size leaf, . - leaf", dialect.ret);
    let mut program = Program { source, sites: Vec::new(), forms: BTreeMap::new(), abi: plan.abi };
    let mut names = Vec::new();
    for function in &plan.functions {
        names.push(format!("f{}", function.number));
        Writer::new(&dialect, function, &mut program).function();
    }
    program.source.push_str(&dialect.start(&names, &[0, 1]));
    let _ = writeln!(program.source, "\t.section {SITES},\"\",%progbits");
    for site in 0..program.sites.len() {
        let _ = writeln!(program.source, "\t.8byte .Lsite{site}");
    }
    program.source.push_str("\t.section .note.GNU-stack,\"\",%progbits\n");
    program
}

/// What is allocated between two states that are remembered, in bytes.
const NESTED: i64 = 16;

/// A part of the frame that was set up.
#[derive(Clone, Copy)]
enum Done {
    Setup(Setup),
    /// A register is in another one.
    Moved(DwarfRegister, &'static Move),
    /// Registers from this one up to SP are in the caller's frame (s390x).
    Stored(u32),
    /// FP and the return address, in this many bytes.
    Pair(i64),
    /// In a word of its own, with this many bytes.
    Word(DwarfRegister, i64),
    Allocated(i64),
}

/// A part of a function that is elsewhere.
struct Elsewhere {
    label: String,
    state: State,
    done: Vec<Done>,
    /// Where it jumps to in the end, if it does not return.
    back: Option<String>,
    seed: u64,
}

struct Writer<'w> {
    dialect: &'w Dialect,
    plan: &'w FunctionPlan,
    program: &'w mut Program,
    state: State,
    declared: Declared,
    done: Vec<Done>,
    random: Random,
    labels: u32,
    /// The parts of the function that are elsewhere, and not written yet.
    parts: Vec<Elsewhere>,
    /// A register that is the CFA's base where it holds an address in the frame.
    base: Option<DwarfRegister>,
    /// The directives since the last instruction.
    pending: Vec<Directive>,
    /// The registers that were restored since the frame is being left.
    restored: Vec<DwarfRegister>,
}

impl<'w> Writer<'w> {
    fn new(dialect: &'w Dialect, plan: &'w FunctionPlan, program: &'w mut Program) -> Self {
        let mut state = State::at_entry(dialect.abi);
        state.set_kind(plan.kind);
        let cfa = (dialect.abi.sp(), -state.sp());
        Self {
            dialect,
            plan,
            program,
            state,
            declared: Declared {
                cfa,
                saved: BTreeMap::new(),
                is_signed: false,
                told: cfa.1,
                escapes: plan.escapes,
                cie_has: (dialect.abi == Abi::Amd64).then(|| return_column(dialect.abi)),
            },
            done: Vec::new(),
            random: Random::new(0, plan.number.into()),
            labels: 0,
            parts: Vec::new(),
            base: None,
            pending: Vec::new(),
            restored: Vec::new(),
        }
    }

    fn line(&mut self, text: &str) {
        self.program.source.push('\t');
        self.program.source.push_str(text);
        self.program.source.push('\n');
    }

    fn directive(&mut self, directive: Directive) {
        *self.program.forms.entry(directive.form).or_default() += 1;
        self.line(&directive.text);
        self.pending.push(directive);
    }

    /// Writes a directive without operands that changes nothing.
    fn form(&mut self, form: &'static str) {
        self.directive(plain(form, "", Operation::Nothing));
    }

    /// Writes an instruction, and declares what has changed after it.
    fn instruction(&mut self, code: &str, effect: impl FnOnce(&mut State)) {
        self.last(code);
        effect(&mut self.state);
        self.declare();
    }

    /// Writes an instruction after which control is elsewhere.
    fn last(&mut self, code: &str) {
        let site = self.program.sites.len();
        let _ = writeln!(self.program.source, ".Lsite{site}:");
        self.line(code);
        let (function, state) = (self.plan.number, self.state.clone());
        let declared = std::mem::take(&mut self.pending);
        self.program.sites.push(Site { function, code: code.to_owned(), declared, state });
    }

    fn abi(&self) -> Abi {
        self.dialect.abi
    }

    fn is_aarch64(&self) -> bool {
        matches!(self.abi(), Abi::Aarch64 | Abi::Aarch64Be)
    }

    fn fp(&self) -> DwarfRegister {
        self.abi().fp()
    }

    fn fp_offset(&self) -> Option<i64> {
        match self.state.register(self.fp()) {
            Value::Cfa(offset) => Some(offset),
            _ => None,
        }
    }

    /// Declares what is true and not declared.
    fn declare(&mut self) {
        let in_frame = |register: DwarfRegister| match self.state.register(register) {
            Value::Cfa(offset) => Some((register, -offset)),
            _ => None,
        };
        let cfa = self.base.and_then(in_frame).or_else(|| in_frame(self.fp()));
        let cfa = cfa.unwrap_or((self.abi().sp(), -self.state.sp()));
        let mut directives = self.declared.declare_cfa(cfa, &mut self.random);
        for register in self.followed() {
            let place = self.place(register);
            directives.extend(self.declared.declare_saved(register, place, &mut self.random));
        }
        let is_signed = self.abi().ra().is_some_and(|ra| {
            self.state.register(ra) == Value::Signed || self.state.word_with(Value::Signed).is_some()
        });
        directives.extend(self.declared.declare_signed(is_signed, &mut self.random));
        directives.into_iter().for_each(|directive| self.directive(directive));
    }

    /// The registers that the CFI is to speak of.
    fn followed(&self) -> Vec<DwarfRegister> {
        let preserved = self.dialect.preserved.iter().map(|(number, _)| DwarfRegister(*number));
        // Where there is no caller, nothing is said of the return address again.
        let ra = Some(return_column(self.abi())).filter(|_| !self.plan.kind.outermost);
        preserved.chain([self.fp()]).chain(ra).collect()
    }

    fn moved_ra(&self) -> bool {
        self.done.iter().any(|done| matches!(done, Done::Setup(Setup::MoveRa)))
            && !self.restored.contains(&return_column(self.abi()))
    }

    /// Where a register's value at the call is, other than in the register.
    fn place(&self, register: DwarfRegister) -> Option<Saved> {
        if self.restored.contains(&register) {
            return None;
        }
        let is_ra = self.abi().ra() == Some(register);
        let initial = Value::Initial(register);
        let signed = is_ra.then(|| self.state.word_with(Value::Signed)).flatten();
        let word = self.state.word_with(initial).or(signed);
        let moves = self.dialect.move_fp.iter().chain([&self.dialect.move_ra.0]).map(|moved| moved.to);
        let holds = |to: &DwarfRegister| *to != register && self.state.register(*to) == initial;
        // The word in which amd64 has the return address is not declared: the CIE does that.
        if register == return_column(Abi::Amd64) && self.abi() == Abi::Amd64 {
            return moves.into_iter().find(holds).filter(|_| self.moved_ra()).map(Saved::Register);
        }
        word.map(Saved::Word).or_else(|| moves.into_iter().find(holds).map(Saved::Register))
    }

    fn function(&mut self) {
        let name = format!("f{}", self.plan.number);
        self.line(&format!(".type {name}, %function"));
        let _ = writeln!(self.program.source, "{name}:");
        if self.plan.is_simple {
            self.directive(plain(".cfi_startproc simple", "", Operation::Begin));
            let (register, offset) = self.declared.cfa;
            let define = Operation::DefineCfa(register, offset);
            self.directive(plain(".cfi_def_cfa", &format!("{}, {offset}", register.0), define));
            if self.abi() == Abi::Amd64 {
                let column = return_column(self.abi());
                let saved = Operation::Offset(column, -8);
                self.directive(plain(".cfi_offset", &format!("{}, -8", column.0), saved));
            }
        } else {
            self.directive(plain(".cfi_startproc", "", Operation::Begin));
        }
        self.declare_kind();
        for part in self.plan.frame.clone() {
            self.random = Random::new(part.seed, 0);
            self.set_up(part.what);
        }
        for part in self.plan.body.clone() {
            self.random = Random::new(part.seed, 0);
            self.act(part);
        }
        self.random = Random::new(self.plan.exit, 1);
        self.leave();
        self.form(".cfi_endproc");
        self.line(&format!(".size {name}, . - {name}"));
        for (number, part) in std::mem::take(&mut self.parts).into_iter().enumerate() {
            self.part(&format!("{name}.cold.{number}"), part);
        }
    }

    /// Declares what all of a function is, or a part of it.
    fn declare_kind(&mut self) {
        let Kind { outermost, signal, key_b } = self.plan.kind;
        if key_b {
            self.directive(plain(".cfi_b_key_frame", "", Operation::KeyB));
        }
        if signal {
            self.directive(plain(".cfi_signal_frame", "", Operation::SignalFrame));
        }
        let column = return_column(self.abi());
        if outermost {
            self.directive(plain(".cfi_undefined", &column.0.to_string(), Operation::Undefined(column)));
        }
    }

    /// Writes a part that is elsewhere. Its CFI begins anew, with the frame as it is.
    fn part(&mut self, name: &str, part: Elsewhere) {
        let entry = State::at_entry(self.abi());
        self.random = Random::new(part.seed, 1);
        self.line(".section .text.unlikely,\"ax\",%progbits");
        self.line(&format!(".type {name}, %function"));
        let _ = writeln!(self.program.source, "{name}:\n{}:", part.label);
        self.directive(plain(".cfi_startproc", "", Operation::Begin));
        self.declare_kind();
        self.declared = Declared {
            cfa: (self.abi().sp(), -entry.sp()),
            saved: BTreeMap::new(),
            is_signed: false,
            told: -entry.sp(),
            ..self.declared
        };
        (self.state, self.done) = (part.state, part.done);
        self.declare();
        self.instruction(self.dialect.nop, |_| {});
        // What it changes besides would be unknown where it jumps back to.
        if part.back.is_none() && self.can_call() && self.random.percent(50) {
            self.call();
        }
        match part.back {
            Some(label) => self.last(&format!("{} {label}", self.dialect.jump)),
            None => self.leave(),
        }
        self.form(".cfi_endproc");
        self.line(&format!(".size {name}, . - {name}"));
        self.line(".text");
    }

    fn set_up(&mut self, setup: Setup) {
        let (fp, ra, sp) = (self.fp(), return_column(self.abi()), self.state.sp());
        let has_fp = self.state.register(fp) == Value::Initial(fp);
        match setup {
            Setup::Sign => {
                let code = if self.plan.kind.key_b { "pacibsp" } else { "paciasp" };
                self.instruction(code, |state| state.set(ra, Value::Signed));
                self.done.push(Done::Setup(setup));
            }
            Setup::SaveFp => match self.abi() {
                Abi::Amd64 => {
                    self.save(fp, "%rbp", 8);
                }
                Abi::Aarch64 | Abi::Aarch64Be => {
                    let size = *self.random.pick(&[16, 32, 48, 64, 96, 128, 256, 272, 496]);
                    let held = self.state.register(ra);
                    self.instruction(&format!("stp x29, x30, [sp, #-{size}]!"), |state| {
                        state.set_sp(sp - size);
                        state.store(sp - size, Value::Initial(fp));
                        state.store(sp - size + 8, held);
                    });
                    self.done.push(Done::Pair(size));
                }
                Abi::S390x => {
                    let first = u32::try_from(self.random.within(6..=11)).unwrap_or(11);
                    let from = 8 * i64::from(first);
                    self.instruction(&format!("stmg %r{first}, %r15, {from}(%r15)"), |state| {
                        for number in first..=15 {
                            let value = state.register(DwarfRegister(number));
                            state.store(sp + 8 * i64::from(number), value);
                        }
                    });
                    self.done.push(Done::Stored(first));
                }
            },
            Setup::MoveFp => {
                let way = self.random.pick(self.dialect.move_fp);
                self.instruction(way.there, |state| state.set(way.to, Value::Initial(fp)));
                self.done.push(Done::Moved(fp, way));
            }
            Setup::MoveRa => {
                let (way, lose) = &self.dialect.move_ra;
                self.done.push(Done::Setup(setup));
                self.instruction(way.there, |state| state.set(way.to, Value::Initial(ra)));
                let is_amd64 = self.abi() == Abi::Amd64;
                self.instruction(lose, |state| {
                    if is_amd64 {
                        state.store(-8, Value::Other);
                    } else {
                        state.set(ra, Value::Other);
                    }
                });
            }
            // Without a copy of its own the caller's would be lost.
            Setup::SetFp if has_fp && self.place(fp).is_some() => {
                let code = match self.abi() {
                    Abi::Amd64 => "movq %rsp, %rbp",
                    Abi::Aarch64 | Abi::Aarch64Be => "mov x29, sp",
                    Abi::S390x => "lgr %r11, %r15",
                };
                self.instruction(code, |state| state.set(fp, Value::Cfa(sp)));
                self.done.push(Done::Setup(setup));
                if let (Some(Saved::Word(word)), true) =
                    (self.place(fp), self.declared.may_escape(&mut self.random))
                {
                    self.directive(indirect(fp, fp, word - sp));
                }
            }
            Setup::SetFp => {}
            Setup::SetBase => {
                let saved = self.done.iter().rev().find_map(|done| match done {
                    Done::Word(register, _) if *register != fp => Some(*register),
                    _ => None,
                });
                let name = saved
                    .and_then(|saved| self.dialect.preserved.iter().find(|(number, _)| *number == saved.0));
                let (Some(saved), Some((_, name))) = (saved, name) else { return };
                let code = match self.abi() {
                    Abi::Amd64 => format!("movq %rsp, {name}"),
                    _ => format!("mov {name}, sp"),
                };
                self.base = Some(saved);
                self.instruction(&code, |state| state.set(saved, Value::Cfa(sp)));
            }
            Setup::Save(index) => {
                let Some((number, name)) = self.dialect.preserved.get(usize::from(index)) else { return };
                self.save(DwarfRegister(*number), name, if self.is_aarch64() { 16 } else { 8 });
            }
            Setup::Allocate(size) => {
                self.move_sp(-i64::from(size));
                self.done.push(Done::Allocated(size.into()));
            }
        }
    }

    /// Saves a register in a word of its own.
    fn save(&mut self, register: DwarfRegister, name: &str, size: i64) {
        let to = self.state.sp() - size;
        let code = match self.abi() {
            Abi::Amd64 => format!("pushq {name}"),
            _ => format!("str {name}, [sp, #-{size}]!"),
        };
        self.instruction(&code, |state| {
            state.set_sp(to);
            state.store(to, Value::Initial(register));
        });
        self.done.push(Done::Word(register, size));
    }

    /// Adds a number to SP.
    fn move_sp(&mut self, by: i64) {
        let mut steps = Vec::new();
        let size = by.unsigned_abs();
        match self.abi() {
            Abi::Amd64 if by < 0 => steps.push((format!("subq ${size}, %rsp"), by)),
            Abi::Amd64 => steps.push((format!("addq ${size}, %rsp"), by)),
            Abi::Aarch64 | Abi::Aarch64Be => {
                let (name, sign) = if by < 0 { ("sub", -1) } else { ("add", 1) };
                for (part, suffix) in [(size & !0xfff, ", lsl #12"), (size & 0xfff, "")] {
                    let field = if suffix.is_empty() { part } else { part >> 12 };
                    if part > 0 {
                        steps.push((format!("{name} sp, sp, #{field}{suffix}"), sign * part.cast_signed()));
                    }
                }
            }
            Abi::S390x if size <= 32_767 && self.random.percent(60) => {
                steps.push((format!("aghi %r15, {by}"), by));
            }
            Abi::S390x => steps.push((format!("lay %r15, {by}(%r15)"), by)),
        }
        for (code, by) in steps {
            let to = self.state.sp() + by;
            self.instruction(&code, |state| state.set_sp(to));
        }
    }

    fn label(&mut self) -> String {
        self.labels += 1;
        format!(".Lf{}_{}", self.plan.number, self.labels)
    }

    fn call(&mut self) {
        let ra = self.abi().ra();
        self.instruction(&format!("{} leaf", self.dialect.call), |state| {
            state.call();
            ra.into_iter().for_each(|ra| state.set(ra, Value::Other));
        });
    }

    /// Whether the return address is somewhere that calls do not change.
    fn can_call(&self) -> bool {
        // A callee may use the registers that others were moved into.
        let moved = |done: &Done| matches!(done, Done::Moved(..) | Done::Setup(Setup::MoveRa));
        self.abi().ra().is_none_or(|ra| self.place(ra).is_some()) && !self.done.iter().any(moved)
    }

    fn act(&mut self, part: Part<Action>) {
        match part.what {
            Action::Compute => {
                let code = *self.random.pick(self.dialect.compute);
                self.instruction(code, |_| {});
            }
            Action::Clobber => self.clobber(),
            Action::Call if self.can_call() => self.call(),
            Action::CallWith(size) if self.can_call() => {
                self.move_sp(-i64::from(size));
                self.call();
                self.move_sp(size.into());
            }
            Action::Call | Action::CallWith(_) => {}
            Action::Return { remembers, depth } => self.return_early(remembers, depth),
            Action::Part { jumps_back } => self.go_elsewhere(part.seed, jumps_back),
            Action::Skip(length) => {
                let label = self.label();
                self.instruction(&format!("{} {label}", self.dialect.jump), |_| {});
                let length = if self.abi() == Abi::Amd64 { length } else { length.next_multiple_of(4) };
                self.line(&format!(".skip {length}"));
                let _ = writeln!(self.program.source, "{label}:");
            }
            Action::Unreached if !self.plan.kind.outermost => self.unreached(),
            Action::Unreached => {}
            Action::Noise => {
                let directive = noise(self.abi(), self.dialect.volatile, self.plan.escapes, &mut self.random);
                self.directive(directive);
                self.instruction(self.dialect.nop, |_| {});
            }
        }
    }

    /// Code that nothing reaches, and whose return address is undefined.
    fn unreached(&mut self) {
        let (label, column) = (self.label(), return_column(self.abi()));
        self.instruction(&format!("{} {label}", self.dialect.jump), |_| {});
        let kind = self.state.kind();
        self.state.set_kind(Kind { outermost: true, ..kind });
        self.directive(plain(".cfi_undefined", &column.0.to_string(), Operation::Undefined(column)));
        self.last(self.dialect.nop);
        self.state.set_kind(kind);
        let place = self.place(column);
        let again = self.declared.declare_again(column, place, &mut self.random);
        self.directive(again);
        let _ = writeln!(self.program.source, "{label}:");
    }

    fn clobber(&mut self) {
        let fp = (
            self.fp().0,
            match self.abi() {
                Abi::Amd64 => "%rbp",
                Abi::Aarch64 | Abi::Aarch64Be => "x29",
                Abi::S390x => "%r11",
            },
        );
        let mut candidates: Vec<_> = self.dialect.preserved.to_vec();
        if self.fp_offset().is_none() {
            candidates.push(fp);
        }
        candidates.retain(|(number, _)| {
            let register = DwarfRegister(*number);
            self.place(register).is_some() && Some(register) != self.base
        });
        if candidates.is_empty() {
            return;
        }
        let (number, name) = *self.random.pick(&candidates);
        let code = match self.abi() {
            Abi::Amd64 => format!("movq $7, {name}"),
            Abi::Aarch64 | Abi::Aarch64Be => format!("mov {name}, #7"),
            Abi::S390x => format!("lghi {name}, 7"),
        };
        self.instruction(&code, |state| state.set(DwarfRegister(number), Value::Other));
    }

    /// Jumps to a label unless the argument is 0.
    fn branch(&mut self, label: &str) {
        let (branch, tests) = self.dialect.unless_zero.split_last().unwrap_or((&"", &[]));
        tests.iter().for_each(|test| self.instruction(test, |_| {}));
        self.instruction(&format!("{branch} {label}"), |_| {});
    }

    fn go_elsewhere(&mut self, seed: u64, jumps_back: bool) {
        let label = self.label();
        let back = jumps_back.then(|| self.label());
        self.branch(&label);
        if let Some(back) = &back {
            let _ = writeln!(self.program.source, "{back}:");
        }
        let (state, done) = (self.state.clone(), self.done.clone());
        self.parts.push(Elsewhere { label, state, done, back, seed });
    }

    fn return_early(&mut self, remembers: bool, depth: u8) {
        let label = self.label();
        // Some assemblers mistake what is remembered where something has just changed.
        let is_before = self.random.percent(40);
        if !is_before {
            self.branch(&label);
        }
        let before = (self.state.clone(), self.declared.clone(), self.done.clone());
        let is_escaped = self.declared.may_escape(&mut self.random);
        if remembers {
            self.directive(remember(is_escaped));
        }
        if is_before {
            self.branch(&label);
        }
        if depth > 0 {
            // The inner state is another one than the outer.
            self.move_sp(-NESTED);
            self.done.push(Done::Allocated(NESTED));
            self.return_early(remembers, depth - 1);
        }
        self.leave();
        let declared = before.1;
        (self.state, self.done) = (before.0, before.2);
        let _ = writeln!(self.program.source, "{label}:");
        if remembers {
            self.directive(restore(is_escaped));
            // The assembler goes on from what it was told last.
            let told = if is_escaped { self.declared.told } else { declared.told };
            self.declared = Declared { told, ..declared };
        } else {
            self.declare();
        }
    }

    /// Undoes the frame, and returns.
    fn leave(&mut self) {
        let mut left = self.done.clone();
        if let (Some(offset), true) = (self.fp_offset(), self.plan.leaves_by_fp && self.abi() != Abi::S390x) {
            self.leave_by_fp(offset, &mut left);
        }
        while let Some(done) = left.pop() {
            self.undo(done, &left);
        }
        self.last(self.dialect.ret);
        self.restored.clear();
    }

    /// SP becomes FP, and all that is below is gone.
    fn leave_by_fp(&mut self, offset: i64, left: &mut Vec<Done>) {
        let set = left.iter().rposition(|done| matches!(done, Done::Setup(Setup::SetFp)));
        let below = left.split_off(set.unwrap_or(left.len()));
        for done in below.iter().rev() {
            let Done::Word(register, _) = *done else { continue };
            let Some(Saved::Word(word)) = self.place(register) else { continue };
            let name = self.dialect.preserved.iter().find(|(number, _)| *number == register.0);
            let Some((_, name)) = name else { continue };
            let code = match self.abi() {
                Abi::Amd64 => format!("movq {}(%rbp), {name}", word - offset),
                _ => format!("ldur {name}, [x29, #{}]", word - offset),
            };
            self.restored.push(register);
            self.instruction(&code, |state| state.set(register, Value::Initial(register)));
        }
        if self.abi() != Abi::Amd64 {
            return self.instruction("mov sp, x29", |state| state.set_sp(offset));
        }
        let fp = self.fp();
        match left.last() {
            Some(Done::Word(register, _)) if *register == fp && self.random.percent(70) => {
                left.pop();
                self.restored.push(fp);
                self.instruction("leave", |state| {
                    state.set_sp(offset + 8);
                    state.set(fp, Value::Initial(fp));
                });
            }
            _ => self.instruction("movq %rbp, %rsp", |state| state.set_sp(offset)),
        }
    }

    fn undo(&mut self, done: Done, left: &[Done]) {
        let (fp, ra, sp) = (self.fp(), return_column(self.abi()), self.state.sp());
        match done {
            Done::Setup(Setup::Sign) => {
                let code = if self.plan.kind.key_b { "autibsp" } else { "autiasp" };
                self.instruction(code, |state| state.set(ra, Value::Initial(ra)));
            }
            Done::Moved(register, way) => {
                self.restored.push(register);
                self.instruction(way.back, |state| state.set(register, Value::Initial(register)));
            }
            Done::Setup(Setup::MoveRa) => {
                self.restored.push(ra);
                let is_amd64 = self.abi() == Abi::Amd64;
                self.instruction(self.dialect.move_ra.0.back, |state| {
                    if is_amd64 {
                        state.store(-8, Value::Initial(ra));
                    } else {
                        state.set(ra, Value::Initial(ra));
                    }
                });
            }
            Done::Setup(_) => {}
            Done::Word(register, size) => {
                let names = [(6, "%rbp"), (29, "x29")];
                let name =
                    self.dialect.preserved.iter().chain(&names).find(|(number, _)| *number == register.0);
                let name = name.map_or("", |(_, name)| name);
                let code = match self.abi() {
                    Abi::Amd64 => format!("popq {name}"),
                    _ => format!("ldr {name}, [sp], #{size}"),
                };
                self.restored.push(register);
                self.instruction(&code, |state| {
                    state.set_sp(sp + size);
                    state.set(register, Value::Initial(register));
                });
            }
            Done::Pair(size) => {
                let held = self.state.word(sp + 8);
                self.restored.extend([fp, ra]);
                self.instruction(&format!("ldp x29, x30, [sp], #{size}"), |state| {
                    state.set_sp(sp + size);
                    state.set(fp, Value::Initial(fp));
                    state.set(ra, held);
                });
            }
            // SP is loaded with the other registers.
            Done::Allocated(_) if self.abi() == Abi::S390x && self.has_stored(left) => {}
            Done::Allocated(size) => self.move_sp(size),
            Done::Stored(first) => {
                let from = 8 * i64::from(first) - 160 - sp;
                self.restored.extend((first..=14).map(DwarfRegister));
                self.instruction(&format!("lmg %r{first}, %r15, {from}(%r15)"), |state| {
                    for number in first..=14 {
                        let register = DwarfRegister(number);
                        state.set(register, Value::Initial(register));
                    }
                    state.set_sp(-160);
                });
            }
        }
    }

    fn has_stored(&self, left: &[Done]) -> bool {
        left.iter().any(|done| matches!(done, Done::Stored(_)))
    }
}
