//! What a function does with its frame.

use std::fmt::Write as _;

use sframe_engine::DwarfRegister;

use super::super::directive::{Declared, Operation, Saved, noise, plain, remember, restore};
use super::super::expression::indirect;
use super::super::plan::{Action, Part, Setup};
use super::super::state::{Kind, Value};
use super::{Done, Elsewhere, Writer};

/// What is allocated between two states that are remembered, in bytes.
const NESTED: i64 = 16;

impl Writer<'_> {
    fn label(&mut self) -> String {
        self.labels += 1;
        format!(".Lf{}_{}", self.plan.number, self.labels)
    }

    pub(super) fn call(&mut self) {
        let ra = self.abi().ra();
        self.instruction(&format!("{} leaf", self.dialect.call), |state| {
            state.call();
            ra.into_iter().for_each(|ra| state.set(ra, Value::Other));
        });
    }

    /// Whether the return address is somewhere that calls do not change.
    pub(super) fn can_call(&self) -> bool {
        // A callee may use the registers that others were moved into.
        let moved = |done: &Done| matches!(done, Done::Moved(..) | Done::Setup(Setup::MoveRa));
        self.abi().ra().is_none_or(|ra| self.place(ra).is_some()) && !self.done.iter().any(moved)
    }

    pub(super) fn act(&mut self, part: Part<Action>) {
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
            Action::Return { remembers, depth } => {
                self.return_early(remembers, depth);
                self.goes_on_from(self.argument + depth + 1);
            }
            Action::Part { jumps_back } => self.go_elsewhere(part.seed, jumps_back),
            Action::Skip(length) => {
                let label = self.label();
                self.instruction(&format!("{} {label}", self.dialect.jump), |_| {});
                let length = length.next_multiple_of(self.dialect.code_unit);
                self.line(&format!(".skip {length}"));
                let _ = writeln!(self.program.source, "{label}:");
            }
            Action::Indirect => self.indirect(),
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
        let (label, column) = (self.label(), self.column());
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

    /// Declares a register by what SP holds, which stays so for an instruction.
    fn indirect(&mut self) {
        let ra = self.abi().ra().filter(|_| !self.plan.kind.outermost && self.random.percent(30));
        let register = ra.unwrap_or(self.fp());
        let place = self.place(register);
        let Some(Saved::Word(word)) = place else { return };
        let (sp, offset) = (self.abi().sp(), word - self.state.sp());
        let directive = indirect(register, sp, offset, &mut self.random);
        self.directive(directive);
        self.instruction(self.dialect.nop, |_| {});
        let again = self.declared.declare_again(register, place, &mut self.random);
        self.directive(again);
        self.instruction(self.dialect.nop, |_| {});
    }

    fn clobber(&mut self) {
        let mut candidates: Vec<_> = self.dialect.preserved.to_vec();
        if self.fp_offset().is_none() {
            candidates.push(self.dialect.fp);
        }
        candidates.retain(|(number, _)| {
            let register = DwarfRegister(*number);
            self.place(register).is_some() && Some(register) != self.base
        });
        if candidates.is_empty() {
            return;
        }
        let (number, name) = *self.random.pick(&candidates);
        let code = self.dialect.clobber.replace("{}", name);
        self.instruction(&code, |state| state.set(DwarfRegister(number), Value::Other));
    }

    /// Jumps to a label if the argument is greater than a number.
    fn branch_above(&mut self, number: u8, label: &str) {
        if number > 0 {
            return self.compare(number, self.dialect.if_above, label);
        }
        let (branch, tests) = self.dialect.unless_zero.split_last().unwrap_or((&"", &[]));
        tests.iter().for_each(|test| self.instruction(test, |_| {}));
        self.instruction(&format!("{branch} {label}"), |_| {});
    }

    fn compare(&mut self, number: u8, branch: &str, label: &str) {
        let (compare, register_last) = self.dialect.compare;
        let code =
            if register_last { format!("{compare} ${number}, %edi") } else { format!("{compare}{number}") };
        self.instruction(&code, |_| {});
        self.instruction(&format!("{branch} {label}"), |_| {});
    }

    /// Control comes on from here with this argument, and greater ones.
    fn goes_on_from(&mut self, argument: u8) {
        self.argument = argument;
        self.needs_argument(argument);
    }

    fn needs_argument(&mut self, argument: u8) {
        self.program.last_argument = self.program.last_argument.max(argument);
    }

    fn go_elsewhere(&mut self, seed: u64, jumps_back: bool) {
        let label = self.label();
        let back = jumps_back.then(|| self.label());
        match &back {
            Some(back) => {
                self.branch_above(self.argument, &label);
                self.needs_argument(self.argument + 1);
                let _ = writeln!(self.program.source, "{back}:");
            }
            // The others must go on.
            None => {
                self.compare(self.argument, self.dialect.unless_above, &label);
                self.goes_on_from(self.argument + 1);
            }
        }
        let (state, done) = (self.state.clone(), self.done.clone());
        self.parts.push(Elsewhere { label, state, done, back, seed });
    }

    fn return_early(&mut self, remembers: bool, depth: u8) {
        let label = self.label();
        // Some assemblers mistake what is remembered where something has just changed.
        let is_before = self.random.percent(40);
        let above = self.argument + depth;
        if !is_before {
            self.branch_above(above, &label);
        }
        let before = (self.state.clone(), self.declared.clone(), self.done.clone());
        let is_escaped = self.declared.may_escape(&mut self.random);
        if remembers {
            self.directive(remember(is_escaped));
        }
        if is_before {
            self.branch_above(above, &label);
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
}
