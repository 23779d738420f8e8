//! The SFrame engine as an unwinder.

use rustc_hash::FxHashMap;
use sframe_engine::{
    DwarfRegister, Found, InstructionPointer, LookupAddress, PauthMask, Pc, Section, Step, StepError,
};

use super::{Backtrace, End, Frame, Unwinder, Viewpoint};

/// More frames than this are taken for an endless walk.
const DEPTH_LIMIT: usize = 1 << 20;

/// Walks stacks with an SFrame section and the engine of this project.
pub struct SframeUnwinder<'a> {
    section: Section<'a>,
    pauth: PauthMask,
    /// Look-ups depend on the address alone, and a sweep repeats them often.
    rules: FxHashMap<LookupAddress, Result<Found, StepError>>,
}

impl<'a> SframeUnwinder<'a> {
    /// An unwinder for a section. `address_bits` is the width of the
    /// program's virtual addresses; pointer authentication uses bits above.
    #[must_use]
    pub fn new(section: Section<'a>, address_bits: u32) -> Self {
        Self { section, pauth: PauthMask::for_address_bits(address_bits), rules: FxHashMap::default() }
    }

    fn rules(&mut self, address: LookupAddress) -> Result<Found, StepError> {
        *self.rules.entry(address).or_insert_with(|| {
            let fde = self.section.lookup_fde(address)?.ok_or(StepError::NoFde)?;
            self.section.lookup_row(&fde, address)?.ok_or(StepError::NoRow)
        })
    }
}

impl Unwinder for SframeUnwinder<'_> {
    fn unwind(&mut self, viewpoint: &Viewpoint<'_>, backtrace: &mut Backtrace) {
        let abi = self.section.header().abi;
        let registers = |register: DwarfRegister| viewpoint.register(register.0);
        let memory = |address: u64| viewpoint.memory.read_u64(address);
        let mut topmost = Some(&registers);
        let mut frame =
            sframe_engine::Frame::topmost(InstructionPointer(viewpoint.pc), viewpoint.sp, viewpoint.fp);
        let mut fp = Ok(viewpoint.fp);
        backtrace.end = loop {
            if backtrace.frames.len() == DEPTH_LIMIT {
                break End::TooDeep;
            }
            let step = self
                .rules(frame.pc.into())
                .and_then(|found| found.apply(abi, &frame, topmost.take(), &memory, self.pauth));
            let cfa = match &step {
                Ok(Step::Caller(caller)) => Some(caller.cfa),
                Err(StepError::MisalignedCfa { cfa } | StepError::NoProgress { cfa, .. }) => Some(*cfa),
                _ => None,
            };
            backtrace.frames.push(Frame { pc: frame.pc.get(), cfa, fp });
            let caller = match step {
                Ok(Step::Caller(caller)) => caller,
                Ok(Step::Outermost) => break End::Outermost,
                Err(error) => break End::Failed(error),
            };
            let ra = match caller.ra {
                Ok(ra) => ra,
                Err(error) => break End::Failed(error),
            };
            // A frame pointer that can't be read does not end the walk: most
            // callers never use it. It counts as wrong.
            fp = caller.fp.map_err(|error| match error {
                StepError::Unreadable { address, .. } => address,
                _ => 0,
            });
            frame = sframe_engine::Frame {
                pc: if caller.interrupted {
                    Pc::Instruction(InstructionPointer(ra))
                } else {
                    Pc::Return(sframe_engine::ReturnAddress(ra))
                },
                sp: caller.sp,
                fp: fp.unwrap_or_default(),
            };
        };
    }
}
