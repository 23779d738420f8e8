//! An unwinder for DWARF call frame information, to set beside SFrame.

use sframe_elf::cfi::{Evaluated, EvaluationError, LAST_REGISTER, Registers, register_column};
use sframe_engine::{InstructionPointer, LookupAddress, PauthMask, Pc, ReturnAddress, StepError};

use super::engine::DEPTH_LIMIT;
use super::{Backtrace, End, Frame, Unreadable, Unwinder, Viewpoint};
use crate::target::Target;

/// Walks stacks with `.eh_frame`, or `.debug_frame` where that is all there is.
///
/// It begins with all registers, and follows each of them from frame to frame as far as the rules
/// say. Registers without a rule keep their value, as in other unwinders.
pub struct CfiUnwinder<'t, 'a> {
    target: &'t Target<'a>,
    pauth: PauthMask,
}

impl<'t, 'a> CfiUnwinder<'t, 'a> {
    /// Makes an unwinder for the call frame information of all images.
    #[must_use]
    pub fn new(target: &'t Target<'a>) -> Self {
        Self { target, pauth: target.pauth() }
    }

    fn evaluate(
        &self,
        pc: Pc,
        registers: &Registers,
        memory: &dyn Fn(u64) -> Option<u64>,
    ) -> Result<Evaluated, EvaluationError> {
        let address = LookupAddress::from(pc);
        let module = self.target.module_at(address).ok_or(EvaluationError::NoFde)?;
        let cfi = module.cfi().ok_or(EvaluationError::NoFde)?;
        cfi.evaluate(module.linked(address).0, registers, memory, self.pauth)
    }
}

impl Unwinder for CfiUnwinder<'_, '_> {
    fn unwind(&mut self, viewpoint: &Viewpoint<'_>, backtrace: &mut Backtrace) {
        let abi = self.target.executable().image.cpu.abi;
        let memory = |address: u64| viewpoint.memory.read_u64(address);
        let value = |number: u16| Some((number, viewpoint.register(number.into())?));
        let mut registers: Registers = (0..=LAST_REGISTER).filter_map(value).collect();
        let mut pc = Pc::Instruction(InstructionPointer(viewpoint.pc));
        backtrace.end = loop {
            if backtrace.frames.len() == backtrace.limit.unwrap_or(DEPTH_LIMIT) {
                break End::TooDeep;
            }
            let evaluated = self.evaluate(pc, &registers, &memory);
            backtrace.frames.push(Frame {
                pc: pc.get(),
                cfa: evaluated.as_ref().ok().map(|evaluated| evaluated.cfa),
                fp: registers.get(&register_column(abi.fp())).copied().ok_or(Unreadable(0)),
                mangled: None,
                interrupted: Some(matches!(pc, Pc::Instruction(_))),
            });
            let caller = match evaluated.and_then(|caller| Ok((caller.ra.clone()?, caller))) {
                Ok((ra, caller)) if caller.is_signal => (Pc::Instruction(InstructionPointer(ra)), caller),
                Ok((ra, caller)) => (Pc::Return(ReturnAddress(ra)), caller),
                Err(EvaluationError::NoFde) => break End::Failed(StepError::NoFde),
                Err(EvaluationError::Outermost) => break End::Outermost,
                Err(_) => break End::Unspecified,
            };
            // It would be so for ever.
            if (caller.0, &caller.1.registers) == (pc, &registers) {
                break End::Unspecified;
            }
            (pc, registers) = (caller.0, caller.1.registers);
        };
    }
}
