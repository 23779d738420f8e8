//! The SFrame engine as an unwinder.

use std::cell::RefCell;

use rustc_hash::FxHashMap;
use sframe_engine::{
    Abi, Base, Caller, DwarfRegister, Found, InstructionPointer, LookupAddress, PauthMask, Pc, Recovery,
    RecoveryRule, Registers, ReturnAddress, Row, Step, StepError,
};
use sframe_machine::Change;

use super::{
    Backtrace, End, FpUse, PlainRow, Saved, State, Stepped, Stepper, Unreadable, Unwinder, Viewpoint,
};
use crate::target::Target;
use crate::target::sections::Sections;
use crate::truth::stores::words;

/// A walk with more frames than this is taken as endless.
pub const DEPTH_LIMIT: usize = 1 << 20;

/// The engine of this project, as the unwinder under test.
#[must_use]
pub fn sframe_unwinder<'a>(target: &Target<'a>) -> Box<dyn Unwinder + 'a> {
    Box::new(SframeUnwinder::new(target.sections.clone(), target.executable().image.cpu.address_bits))
}

/// Walks stacks with SFrame sections and the engine of this project.
pub struct SframeUnwinder<'a> {
    sections: Sections<'a>,
    pauth: PauthMask,
    /// Look-ups depend on the address alone, and a sweep repeats them often.
    rules: FxHashMap<LookupAddress, Result<(Abi, Found), StepError>>,
}

impl<'a> SframeUnwinder<'a> {
    /// Makes an unwinder for the sections of a process. `address_bits` is the width
    /// of the program's virtual addresses; pointer authentication uses bits above.
    #[must_use]
    pub fn new(sections: Sections<'a>, address_bits: u32) -> Self {
        Self { sections, pauth: PauthMask::for_address_bits(address_bits), rules: FxHashMap::default() }
    }

    fn rules(&mut self, address: LookupAddress) -> Result<(Abi, Found), StepError> {
        *self.rules.entry(address).or_insert_with(|| self.sections.rules(address))
    }
}

impl Unwinder for SframeUnwinder<'_> {
    fn unwind(&mut self, viewpoint: &Viewpoint<'_>, backtrace: &mut Backtrace) {
        let read = RefCell::new(Vec::new());
        let memory = |address: u64| {
            read.borrow_mut().extend(words(address, 8));
            viewpoint.memory.read_u64(address)
        };
        let mut topmost = Some(viewpoint);
        let mut state = State::topmost(viewpoint);
        backtrace.end = loop {
            if backtrace.frames.len() == DEPTH_LIMIT {
                break End::TooDeep;
            }
            let stepped = self.step(&state, topmost.take(), &memory);
            backtrace.frames.push(state.frame(stepped.cfa, stepped.mangled));
            backtrace.words.push(read.take());
            state = match stepped.caller {
                Ok(caller) => caller,
                Err(end) => break end,
            };
        };
    }

    fn changed(&mut self, change: &Change) {
        if self.sections.change(change) {
            self.rules.clear();
        }
    }

    fn restart(&mut self) {
        self.sections.start_again();
        self.rules.clear();
    }

    fn stepper(&mut self) -> Option<&mut dyn Stepper> {
        Some(self)
    }
}

impl Stepper for SframeUnwinder<'_> {
    fn step(
        &mut self,
        state: &State,
        topmost: Option<&Viewpoint<'_>>,
        memory: &dyn Fn(u64) -> Option<u64>,
    ) -> Stepped {
        let registers = topmost.map(|viewpoint| |register: DwarfRegister| viewpoint.register(register.0));
        let rules = self.rules(state.pc.into());
        Stepped::by(rules, state, registers.as_ref(), memory, self.pauth)
    }

    fn plain_row(&mut self, address: LookupAddress) -> Option<PlainRow> {
        let (abi, found) = self.rules(address).ok()?;
        let Row { cfa: Some(cfa), ra, fp, mangled_ra: false, .. } = found.row else { return None };
        if found.fde.signal || cfa.dereference || !matches!(cfa.base, Base::Sp | Base::Fp) {
            return None;
        }
        let saved = |recovery| match recovery {
            Recovery::Unchanged => Some(Saved::Unchanged),
            Recovery::Rule(RecoveryRule { base: Base::Cfa, offset, dereference: true }) => {
                Some(Saved::At(offset))
            }
            Recovery::Rule(RecoveryRule {
                base: Base::Register(register),
                offset: 0,
                dereference: false,
            }) => Some(Saved::In(register)),
            _ => None,
        };
        Some(PlainRow {
            fp: abi.fp(),
            cfa_from_fp: cfa.base == Base::Fp,
            cfa_offset: cfa.offset,
            sp_below_cfa: 0_u64.wrapping_sub(abi.sp_from_cfa(0)),
            ra_register: abi.ra(),
            ra: saved(ra)?,
            saved_fp: saved(fp)?,
        })
    }
}

impl State {
    fn as_stepped(&self) -> sframe_engine::Frame {
        let Self { pc, sp, fp, same_sp } = *self;
        sframe_engine::Frame { pc, sp, fp: fp.unwrap_or_default(), same_sp }
    }
}

impl Stepped {
    /// Applies rules, or says why there are none. `registers` are those of the CPU,
    /// given only for the topmost frame.
    pub(crate) fn by<R: Registers>(
        rules: Result<(Abi, Found), StepError>,
        state: &State,
        registers: Option<&R>,
        memory: &dyn Fn(u64) -> Option<u64>,
        pauth: PauthMask,
    ) -> Self {
        let frame = state.as_stepped();
        let fp_use = rules.map_or(FpUse::Unused, |(_, found)| use_of_fp(&found.row));
        let step = rules.and_then(|(abi, found)| found.apply(abi, &frame, registers, &memory, pauth));
        Self::of(&step, state, fp_use)
    }

    /// What a row says of a frame at a moment, also where no walk goes on. Returns also the words of memory that it reads.
    pub(crate) fn without_progress(
        (abi, found): (Abi, Found),
        state: &State,
        is_topmost: bool,
        viewpoint: &Viewpoint<'_>,
    ) -> (Self, Vec<u64>) {
        let read = RefCell::new(Vec::new());
        let memory = |address: u64| {
            read.borrow_mut().extend(words(address, 8));
            viewpoint.memory.read_u64(address)
        };
        let registers = is_topmost.then_some(|register: DwarfRegister| viewpoint.register(register.0));
        let (frame, pauth) = (state.as_stepped(), viewpoint.pauth());
        let step = found.apply_without_progress(abi, &frame, registers.as_ref(), &memory, pauth);
        (Self::of(&step, state, use_of_fp(&found.row)), read.into_inner())
    }

    fn of(step: &Result<Step, StepError>, state: &State, fp_use: FpUse) -> Self {
        let cfa = match step {
            Ok(Step::Caller(caller)) => Some(caller.cfa),
            Err(StepError::MisalignedCfa { cfa } | StepError::NoProgress { cfa, .. }) => Some(*cfa),
            _ => None,
        };
        let mangled = match step {
            Ok(Step::Caller(caller)) => caller.mangled,
            _ => None,
        };
        let caller = match *step {
            Ok(Step::Caller(Caller { ra: Err(error), .. })) | Err(error) => Err(End::Failed(error)),
            Ok(Step::Outermost) => Err(End::Outermost),
            Ok(Step::Caller(Caller { sp, same_sp, ra: Ok(ra), fp, interrupted, .. })) => Ok(State {
                pc: if interrupted {
                    Pc::Instruction(InstructionPointer(ra))
                } else {
                    Pc::Return(ReturnAddress(ra))
                },
                sp,
                same_sp,
                // A frame pointer that can't be read does not end the walk: most callers never use
                // it. It counts as wrong.
                fp: match fp {
                    Ok(_) if fp_use == FpUse::Passed => state.fp,
                    Ok(fp) => Ok(fp),
                    Err(StepError::Unreadable { address, .. }) => Err(Unreadable(address)),
                    Err(_) => Err(Unreadable(0)),
                },
            }),
        };
        Self { cfa, mangled, caller, fp_use }
    }
}

/// How a row uses FP, except in the topmost frame.
fn use_of_fp(row: &Row) -> FpUse {
    let rule = |recovery| match recovery {
        Recovery::Rule(rule) => Some(rule),
        Recovery::Unchanged | Recovery::Undefined => None,
    };
    let rules = [row.cfa, rule(row.ra), rule(row.fp)];
    let uses = |rule: &RecoveryRule| matches!(rule.base, Base::Fp | Base::Register(_));
    if rules.iter().flatten().any(uses) {
        FpUse::Used
    } else if row.fp == Recovery::Unchanged {
        FpUse::Passed
    } else {
        FpUse::Unused
    }
}
