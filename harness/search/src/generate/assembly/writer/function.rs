//! A function with its parts: where its CFI begins, and what holds in all of it.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::super::directive::{Cfa, Declared, Operation, SIMPLE, plain};
use super::super::plan::{Column, Misdeclared, Setup};
use super::super::state::{Kind, State, Value};
use super::{Done, Elsewhere, Writer};
use crate::generate::random::Random;

impl Writer<'_> {
    pub(super) fn function(&mut self) {
        let name = format!("f{}", self.plan.number);
        self.line(&format!(".type {name}, %function"));
        let _ = writeln!(self.program.source, "{name}:");
        if self.plan.column == Column::Moved {
            self.move_ra_first();
        }
        self.begin();
        self.declare_kind();
        if self.plan.column == Column::Moved {
            self.lose_ra();
        }
        if self.plan.misdeclares.is_some() {
            self.declare();
        }
        if self.plan.misdeclares == Some(Misdeclared::FpLost) {
            let fp = self.fp();
            self.instruction(self.dialect.alter_fp, |state| state.set(fp, Value::Other));
        }
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

    /// Begins the CFI: if the CIE declares nothing, with what holds.
    fn begin(&mut self) {
        if !self.plan.is_simple {
            return self.directive(plain(".cfi_startproc", "", Operation::Begin));
        }
        self.directive(plain(SIMPLE, "", Operation::Begin));
        let (register, at) = self.base();
        self.declared.cfa = Cfa::sum(register, -at);
        self.declared.told = -at;
        let define = Operation::DefineCfa(register, -at);
        let cfa = plain(".cfi_def_cfa", &format!("{}, {}", register.0, -at), define);
        if self.abi().has_link_register() {
            return self.directive(cfa);
        }
        let column = self.abi().ra_column();
        let saved = plain(".cfi_offset", &format!("{}, -8", column.0), Operation::Offset(column, -8));
        let in_order = if self.random.percent(10) { [saved, cfa] } else { [cfa, saved] };
        in_order.into_iter().for_each(|directive| self.directive(directive));
    }

    /// Moves the return address into the register that is its column. The CFI begins behind.
    fn move_ra_first(&mut self) {
        let way = &self.dialect.move_ra.0;
        self.line(way.there);
        self.state.set(way.to, Value::Initial(self.abi().ra_column()));
        self.done.push(Done::Setup(Setup::MoveRa));
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
        let column = self.column();
        if self.plan.column != Column::Usual {
            let operation = Operation::ReturnColumn(column);
            self.directive(plain(".cfi_return_column", &column.0.to_string(), operation));
        }
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
        self.declared = Declared {
            cfa: Cfa::sum(self.abi().sp(), -entry.sp()),
            is_expression: false,
            saved: BTreeMap::new(),
            is_signed: false,
            told: -entry.sp(),
            ..self.declared
        };
        (self.state, self.done) = (part.state, part.done);
        self.begin();
        self.declare_kind();
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
}
