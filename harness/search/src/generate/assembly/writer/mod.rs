//! Writes a plan in assembly, and follows what registers and the frame hold at each instruction.

mod body;
mod frame;
mod function;
mod leave;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::ops::Range;

use sframe_corpus::corpus::{Error, MadeProgram, Maker};
use sframe_engine::{Abi, DwarfRegister};

use super::dialect::{Dialect, Move};
use super::directive::{Cfa, Declared, Directive, Operation, Saved, plain};
use super::plan::{Column, FunctionPlan, Misdeclared, Plan, Sections, Setup};
use super::state::{State, Value};
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
    /// What it asks for.
    pub sections: Sections,
    /// The greatest argument that its functions are called with. They have a path for each up to it.
    pub last_argument: u8,
    /// The functions whose CFI is wrong on purpose.
    pub misdeclared: BTreeSet<u32>,
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

/// The parts of functions, each with an FDE of its own, by the positions of their instructions.
pub(super) fn parts(program: &Program) -> Vec<Range<usize>> {
    let mut parts: Vec<Range<usize>> = Vec::new();
    for (index, site) in program.sites.iter().enumerate() {
        let begins = site.declared.iter().any(|directive| directive.operation == Operation::Begin);
        match parts.last_mut() {
            Some(part) if !begins => part.end = index + 1,
            _ => parts.push(index..index + 1),
        }
    }
    parts
}

impl Program {
    /// Has a toolchain make it.
    ///
    /// # Errors
    /// The toolchain refuses it, does not compile for the ABI, or can't be started.
    pub fn make(&self, maker: &Maker) -> Result<MadeProgram, Error> {
        maker.make(self.abi, &[("generated.s".to_owned(), self.source.clone())], &[])
    }
}

/// Writes a plan.
#[must_use]
pub fn write(plan: &Plan) -> Program {
    let dialect = Dialect::of(plan.abi);
    let mut source = String::new();
    let mut forms = BTreeMap::new();
    let sections = plan.sections;
    if sections != Sections::USUAL {
        let _ = writeln!(source, "\t{}", sections.directive);
        forms.insert(sections.directive, 1);
    }
    let _ = writeln!(source, "\t.text\n\t.type leaf, %function\nleaf:\n\t.cfi_startproc\n\t{}", dialect.nop);
    let _ = writeln!(source, "\t{}\n\t.cfi_endproc\n\t.size leaf, . - leaf", dialect.ret);
    let misdeclared = plan.functions.iter().filter(|function| function.misdeclares.is_some());
    let misdeclared = misdeclared.map(|function| function.number).collect();
    let (abi, sites) = (plan.abi, Vec::new());
    let mut program = Program { source, sites, forms, abi, sections, last_argument: 0, misdeclared };
    let mut calls = Vec::new();
    for function in &plan.functions {
        calls.push((format!("f{}", function.number), removed_by(function)));
        Writer::new(&dialect, function, &mut program).function();
    }
    let arguments: Vec<u8> = (0..=program.last_argument).collect();
    program.source.push_str(&dialect.start(&calls, &arguments));
    let _ = writeln!(program.source, "\t.section {SITES},\"\",%progbits");
    for site in 0..program.sites.len() {
        let _ = writeln!(program.source, "\t.8byte .Lsite{site}");
    }
    program.source.push_str("\t.section .note.GNU-stack,\"\",%progbits\n");
    program
}

/// How many bytes a function removes from the stack when it returns.
const fn removed_by(function: &FunctionPlan) -> i64 {
    match function.misdeclares {
        Some(Misdeclared::Removed(bytes)) => bytes,
        _ => 0,
    }
}

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

/// Whether the CFA is declared by the word in which it is, if there is one.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Loads {
    Never,
    /// Where FP holds an address in the frame.
    ByFp,
    Always,
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
    /// Whether the CFA is declared by the word in which it is.
    loads: Loads,
    /// The directives since the last instruction.
    pending: Vec<Directive>,
    /// The registers that were restored since the frame is being left.
    restored: Vec<DwarfRegister>,
    /// The least argument with which control is here.
    argument: u8,
}

impl<'w> Writer<'w> {
    fn new(dialect: &'w Dialect, plan: &'w FunctionPlan, program: &'w mut Program) -> Self {
        let mut state = State::at_entry(dialect.abi);
        state.set_kind(plan.kind);
        let cfa = Cfa::sum(dialect.abi.sp(), -state.sp());
        Self {
            dialect,
            plan,
            program,
            state,
            declared: Declared {
                cfa,
                is_expression: false,
                saved: BTreeMap::new(),
                is_signed: false,
                told: cfa.offset,
                escapes: plan.escapes,
                in_word: (!dialect.abi.has_link_register()).then(|| dialect.abi.ra_column()),
                is_simple: plan.is_simple,
            },
            done: Vec::new(),
            random: Random::new(0, plan.number.into()),
            labels: 0,
            parts: Vec::new(),
            base: None,
            loads: Loads::Never,
            pending: Vec::new(),
            restored: Vec::new(),
            argument: 0,
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
        self.abi().signs_return_addresses()
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

    /// The register that is the CFA's base, and what it holds, as an offset from the CFA.
    fn base(&self) -> (DwarfRegister, i64) {
        let in_frame = |register: DwarfRegister| match self.state.register(register) {
            Value::Cfa(offset) => Some((register, offset)),
            _ => None,
        };
        let base = self.base.and_then(in_frame).or_else(|| in_frame(self.fp()));
        base.unwrap_or((self.abi().sp(), self.state.sp()))
    }

    /// Declares what is true and not declared.
    fn declare(&mut self) {
        let (register, at) = self.base();
        let is_loaded = match self.loads {
            Loads::Never => false,
            Loads::ByFp => register == self.fp(),
            Loads::Always => true,
        };
        let word = self.state.word_with(Value::Cfa(0)).filter(|_| is_loaded);
        let cfa = match word {
            Some(word) => Cfa { register, offset: word - at, is_loaded: true },
            None => Cfa::sum(register, self.wrong_cfa() - at),
        };
        let mut directives = self.declared.declare_cfa(cfa, &mut self.random);
        for register in self.followed() {
            let place = self.declared_place(register);
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
        let is_said = !self.plan.kind.outermost && self.plan.column != Column::Moved;
        let ra = Some(self.abi().ra_column()).filter(|_| is_said);
        preserved.chain([self.fp()]).chain(ra).collect()
    }

    /// The column of the return address.
    fn column(&self) -> DwarfRegister {
        match self.plan.column {
            Column::Moved => self.dialect.move_ra.0.to,
            Column::Usual | Column::Named => self.abi().ra_column(),
        }
    }

    /// How much higher the CFA is said to be than it is.
    fn wrong_cfa(&self) -> i64 {
        match self.plan.misdeclares {
            Some(Misdeclared::Cfa(by) | Misdeclared::Removed(by)) => by,
            _ => 0,
        }
    }

    /// Where a register is said to be, other than in the register.
    fn declared_place(&self, register: DwarfRegister) -> Option<Saved> {
        let is_fp = register == self.fp();
        let by = match self.plan.misdeclares {
            Some(Misdeclared::Cfa(by) | Misdeclared::Removed(by)) => -by,
            Some(Misdeclared::FpSlot(by)) if is_fp => by,
            Some(Misdeclared::RaSlot(by)) if self.abi().ra() == Some(register) => by,
            Some(Misdeclared::FpKept) if is_fp => return None,
            _ => 0,
        };
        match self.place(register)? {
            Saved::Word(offset) => Some(Saved::Word(offset + by)),
            place @ Saved::Register(_) => Some(place),
        }
    }

    fn moved_ra(&self) -> bool {
        self.done.iter().any(|done| matches!(done, Done::Setup(Setup::MoveRa)))
            && !self.restored.contains(&self.abi().ra_column())
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
        if register == self.abi().ra_column() && !self.abi().has_link_register() {
            return moves.into_iter().find(holds).filter(|_| self.moved_ra()).map(Saved::Register);
        }
        word.map(Saved::Word).or_else(|| moves.into_iter().find(holds).map(Saved::Register))
    }
}
