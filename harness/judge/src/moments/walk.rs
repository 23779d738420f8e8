//! The walk of this project's engine over a moment that is data.

use sframe_engine::{DwarfRegister, InstructionPointer, Pc};

use super::data::{Moment, Program};
use crate::compare::{Disagreement, WalkEnd, disagreements};
use crate::target::sections::Sections;
use crate::unwind::{Backtrace, DEPTH_LIMIT, End, State, Stepped};

impl Program {
    /// Walks with the engine of this project.
    #[must_use]
    pub fn walk(&self, sections: &Sections<'_>, moment: &Moment) -> Backtrace {
        let registers = |register: DwarfRegister| moment.registers.get(&register.0).map(|value| value.0);
        let memory = |address: u64| self.read_u64(moment, address);
        let register = |register: DwarfRegister| registers(register).unwrap_or_default();
        let mut state = State {
            pc: Pc::Instruction(InstructionPointer(moment.pc())),
            sp: register(self.abi.sp()),
            fp: Ok(register(self.abi.fp())),
            same_sp: 0,
        };
        let mut backtrace = Backtrace::default();
        let mut topmost = Some(&registers);
        backtrace.end = loop {
            if backtrace.frames.len() == DEPTH_LIMIT {
                break End::TooDeep;
            }
            let rules = sections.rules(state.pc);
            let stepped = Stepped::by(rules, &state, topmost.take(), &memory, self.pauth());
            backtrace.frames.push(state.frame(stepped.cfa, stepped.mangled));
            state = match stepped.caller {
                Ok(caller) => caller,
                Err(end) => break end,
            };
        };
        backtrace
    }

    /// Compares the engine's walk with the frames of a moment.
    #[must_use]
    pub fn compare_engine(&self, sections: &Sections<'_>, moment: &Moment) -> (WalkEnd, Vec<Disagreement>) {
        let call_stack = moment.call_stack();
        disagreements(&moment.truth(&call_stack), &self.walk(sections, moment), sections)
    }
}
