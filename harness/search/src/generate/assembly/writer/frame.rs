//! Sets a frame up.

use sframe_engine::{Abi, DwarfRegister};

use super::super::directive::Saved;
use super::super::expression::indirect;
use super::super::plan::Setup;
use super::super::state::Value;
use super::{Done, Loads, Writer};

/// How often FP is saved and restored by other instructions than those that compilers use for it, in
/// percent.
pub(super) const RARE: u64 = 20;

impl Writer<'_> {
    pub(super) fn set_up(&mut self, setup: Setup) {
        let (fp, ra, sp) = (self.fp(), self.abi().ra_column(), self.state.sp());
        let has_fp = self.state.register(fp) == Value::Initial(fp);
        match setup {
            Setup::Sign => {
                let code = if self.plan.kind.key_b { "pacibsp" } else { "paciasp" };
                self.instruction(code, |state| state.set(ra, Value::Signed));
                self.done.push(Done::Setup(setup));
            }
            Setup::SaveFp => match self.abi() {
                Abi::Amd64 if has_fp && self.random.percent(RARE) => self.enter(),
                Abi::Amd64 => {
                    let name = self.copy_of_fp("%rbp", "%rax", &["xorl %eax, %eax", "orq %rbp, %rax"]);
                    self.save(fp, name, 8);
                }
                Abi::Aarch64 | Abi::Aarch64Be => {
                    let size = *self.random.pick(&[16, 32, 48, 64, 96, 128, 256, 272, 496]);
                    let held = self.state.register(ra);
                    let name = self.copy_of_fp("x29", "x9", &["orr x9, x29, x29"]);
                    self.instruction(&format!("stp {name}, x30, [sp, #-{size}]!"), |state| {
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
                let way = &self.dialect.move_ra.0;
                self.done.push(Done::Setup(setup));
                self.instruction(way.there, |state| state.set(way.to, Value::Initial(ra)));
                self.lose_ra();
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
                    let directive = indirect(fp, fp, word - sp, &mut self.random);
                    self.directive(directive);
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
                    Abi::Aarch64 | Abi::Aarch64Be | Abi::S390x => format!("mov {name}, sp"),
                };
                self.base = Some(saved);
                self.instruction(&code, |state| state.set(saved, Value::Cfa(sp)));
            }
            Setup::StoreCfa => self.store_cfa(),
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

    /// Writes instructions that copy FP to a register that is nobody's, now and then. Returns the
    /// name of the register to save.
    fn copy_of_fp(&mut self, fp: &'static str, copy: &'static str, code: &[&str]) -> &'static str {
        if !self.random.percent(RARE) {
            return fp;
        }
        code.iter().for_each(|code| self.instruction(code, |_| {}));
        copy
    }

    /// Saves FP, sets it, and allocates some bytes, by one instruction (amd64).
    fn enter(&mut self) {
        let (fp, at) = (self.fp(), self.state.sp() - 8);
        let size = *self.random.pick(&[0, 16, 128, 4080]);
        self.instruction(&format!("enter ${size}, $0"), |state| {
            state.set_sp(at - size);
            state.store(at, Value::Initial(fp));
            state.set(fp, Value::Cfa(at));
        });
        self.done.extend([Done::Word(fp, 8), Done::Setup(Setup::SetFp), Done::Allocated(size)]);
    }

    /// Loses the return address where it was.
    pub(super) fn lose_ra(&mut self) {
        let ra = self.abi().ra_column();
        let word = self.abi().fixed_ra_offset();
        self.instruction(self.dialect.move_ra.1, |state| match word {
            Some(offset) => state.store(offset.into(), Value::Other),
            None => state.set(ra, Value::Other),
        });
    }

    /// Stores the CFA, as functions do that align their stack.
    fn store_cfa(&mut self) {
        let sp = self.state.sp();
        let above = -sp;
        let (size, at) = match self.abi() {
            Abi::Amd64 => (8, 0),
            Abi::Aarch64 | Abi::Aarch64Be => (16, 0),
            // The first words are for what it calls.
            Abi::S390x => (168, 160),
        };
        if self.is_aarch64() && above > 0xfff {
            return;
        }
        self.loads = if self.random.percent(70) { Loads::ByFp } else { Loads::Always };
        let (compute, store) = match self.abi() {
            Abi::Amd64 => (format!("leaq {above}(%rsp), %rax"), "pushq %rax".to_owned()),
            Abi::Aarch64 | Abi::Aarch64Be => {
                (format!("add x9, sp, #{above}"), format!("str x9, [sp, #-{size}]!"))
            }
            Abi::S390x => {
                self.move_sp(-size);
                (format!("lay %r1, {}(%r15)", above + size), format!("stg %r1, {at}(%r15)"))
            }
        };
        self.instruction(&compute, |_| {});
        self.instruction(&store, |state| {
            state.set_sp(sp - size);
            state.store(sp - size + at, Value::Cfa(0));
        });
        self.done.push(Done::Allocated(size));
    }

    /// Saves a register in a word of its own.
    fn save(&mut self, register: DwarfRegister, name: &str, size: i64) {
        let to = self.state.sp() - size;
        let code = match self.abi() {
            Abi::Amd64 => format!("pushq {name}"),
            Abi::Aarch64 | Abi::Aarch64Be | Abi::S390x => format!("str {name}, [sp, #-{size}]!"),
        };
        self.instruction(&code, |state| {
            state.set_sp(to);
            state.store(to, Value::Initial(register));
        });
        self.done.push(Done::Word(register, size));
    }

    /// Adds a number to SP.
    pub(super) fn move_sp(&mut self, by: i64) {
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
}
