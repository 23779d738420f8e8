//! Undoes a frame, and returns.

use sframe_engine::{Abi, DwarfRegister};

use super::super::dialect::Habits;
use super::super::directive::Saved;
use super::super::plan::Setup;
use super::super::state::Value;
use super::frame::RARE;
use super::{Done, Writer, removed_by};

impl Writer<'_> {
    /// Undoes the frame, and returns.
    pub(super) fn leave(&mut self) {
        let mut left = self.done.clone();
        if let (Some(offset), true) =
            (self.fp_offset(), self.plan.leaves_by_fp && !Habits::of(self.abi()).saves_above_sp)
        {
            self.leave_by_fp(offset, &mut left);
        }
        while let Some(done) = left.pop() {
            self.undo(done, &left);
        }
        match (removed_by(self.plan), self.dialect.ret_and_remove) {
            (0, _) => self.last(self.dialect.ret),
            (removed, Some(ret)) => self.last(&ret.replace("{}", &removed.to_string())),
            (removed, None) => {
                self.move_sp(removed);
                self.last(self.dialect.ret);
            }
        }
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
                Abi::Aarch64 | Abi::Aarch64Be | Abi::S390x => {
                    format!("ldur {name}, [x29, #{}]", word - offset)
                }
            };
            self.restored.push(register);
            self.instruction(&code, |state| state.set(register, Value::Initial(register)));
        }
        match self.abi() {
            Abi::Amd64 => {}
            Abi::Aarch64 | Abi::Aarch64Be | Abi::S390x => {
                return self.instruction("mov sp, x29", |state| state.set_sp(offset));
            }
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
        let (fp, ra, sp) = (self.fp(), self.abi().ra_column(), self.state.sp());
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
                let word = self.abi().fixed_ra_offset();
                self.instruction(self.dialect.move_ra.0.back, |state| match word {
                    Some(offset) => state.store(offset.into(), Value::Initial(ra)),
                    None => state.set(ra, Value::Initial(ra)),
                });
            }
            Done::Setup(_) => {}
            Done::Word(register, size) if register == fp && self.random.percent(RARE) => {
                self.restore_fp("movq (%rsp), %rax", "xchgq %rax, %rbp");
                self.move_sp(size);
            }
            Done::Word(register, size) => {
                let names = self.dialect.preserved.iter().chain([&self.dialect.fp]);
                let name = names.into_iter().find(|(number, _)| *number == register.0);
                let name = name.map_or("", |(_, name)| name);
                let code = match self.abi() {
                    Abi::Amd64 => format!("popq {name}"),
                    Abi::Aarch64 | Abi::Aarch64Be | Abi::S390x => format!("ldr {name}, [sp], #{size}"),
                };
                self.restored.push(register);
                self.instruction(&code, |state| {
                    state.set_sp(sp + size);
                    state.set(register, Value::Initial(register));
                });
            }
            Done::Pair(size) if self.random.percent(RARE) => {
                let held = self.state.word(sp + 8);
                self.restore_fp("ldr x9, [sp]", "orr x29, x9, x9");
                self.restored.push(ra);
                self.instruction("ldr x30, [sp, #8]", |state| state.set(ra, held));
                self.move_sp(size);
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
            Done::Allocated(_) if self.has_stored(left) => {}
            Done::Allocated(size) => self.move_sp(size),
            Done::Stored(first) => {
                let from = 8 * i64::from(first) - 160 - sp;
                if self.random.percent(RARE) {
                    let fp_at = 8 * i64::from(fp.0) - 160 - sp;
                    self.restore_fp(&format!("lg %r1, {fp_at}(%r15)"), "lgr %r11, %r1");
                }
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

    /// Restores FP from its word by way of a register that is nobody's.
    fn restore_fp(&mut self, load: &str, copy: &str) {
        let fp = self.fp();
        self.instruction(load, |_| {});
        self.restored.push(fp);
        self.instruction(copy, |state| state.set(fp, Value::Initial(fp)));
    }

    fn has_stored(&self, left: &[Done]) -> bool {
        left.iter().any(|done| matches!(done, Done::Stored(_)))
    }
}
