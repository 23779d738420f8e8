//! `gimli` as an unwinder: `.eh_frame`, all registers, all ABIs.

use std::collections::BTreeMap;

use gimli::{
    BaseAddresses, CfaRule, EhFrame, EndianSlice, Evaluation, EvaluationResult, Expression, Location,
    Register, RegisterRule, RunTimeEndian, UnwindContext, UnwindSection as _, UnwindTableRow, Value,
};
use sframe_adapters::{Roles, frame, roles, sections, strip, unreadable};
use sframe_protocol::{
    Address, Backtrace, End, EndKind, Hello, MAX_FRAMES, Memory, Open, Stop, Unwinder, serve,
};
use sframe_vectors::{Abi, ByteOrder, Tracked};

type Slice<'d> = EndianSlice<'d, RunTimeEndian>;

struct Module {
    addresses: std::ops::Range<u64>,
    bias: u64,
    eh_frame: Vec<u8>,
    bases: BaseAddresses,
}

#[derive(Default)]
struct Gimli {
    open: Option<Open>,
    modules: Vec<Module>,
}

fn main() -> std::io::Result<()> {
    serve(Gimli::default())
}

/// What is known about a frame: the values of registers by their numbers.
type Registers = BTreeMap<u32, u64>;

/// A frame that is being left.
struct State<'s, 'm> {
    registers: &'s Registers,
    memory: &'s mut Memory<'m>,
    encoding: gimli::Encoding,
}

impl State<'_, '_> {
    fn register(&self, register: Register, what: Tracked) -> Result<u64, End> {
        let number = u32::from(register.0);
        let unknown =
            || End { what: Some(what), register: Some(number), ..End::of(EndKind::UnknownRegister) };
        self.registers.get(&number).copied().ok_or_else(unknown)
    }

    fn read(&mut self, address: u64, what: Tracked) -> Result<u64, End> {
        self.memory.read_u64(address).ok_or_else(|| unreadable(what, address))
    }

    /// Returns the value of an expression: an address, or the last value pushed.
    fn evaluate(
        &mut self,
        expression: Expression<Slice<'_>>,
        cfa: Option<u64>,
        what: Tracked,
    ) -> Result<u64, End> {
        let failed = |error: gimli::Error| End::with_message(EndKind::Malformed, error.to_string());
        let mut evaluation: Evaluation<Slice<'_>> = expression.evaluation(self.encoding);
        if let Some(cfa) = cfa {
            evaluation.set_initial_value(cfa);
        }
        let mut result = evaluation.evaluate().map_err(failed)?;
        loop {
            result = match result {
                EvaluationResult::Complete => break,
                EvaluationResult::RequiresRegister { register, .. } => {
                    let value = self.register(register, what)?;
                    evaluation.resume_with_register(Value::Generic(value)).map_err(failed)?
                }
                EvaluationResult::RequiresMemory { address, size: 8, .. } => {
                    let value = self.read(address, what)?;
                    evaluation.resume_with_memory(Value::Generic(value)).map_err(failed)?
                }
                EvaluationResult::RequiresCallFrameCfa => match cfa {
                    Some(cfa) => evaluation.resume_with_call_frame_cfa(cfa).map_err(failed)?,
                    None => return Err(End::of(EndKind::Failed)),
                },
                other => return Err(End::with_message(EndKind::Failed, format!("{other:?}"))),
            };
        }
        match evaluation.result().first().map(|piece| piece.location) {
            Some(Location::Address { address }) => Ok(address),
            Some(Location::Value { value: Value::Generic(value) }) => Ok(value),
            other => Err(End::with_message(EndKind::Failed, format!("{other:?}"))),
        }
    }
}

impl Gimli {
    fn walk(&self, open: &Open, stop: &Stop, memory: &mut Memory<'_>) -> Backtrace {
        let Roles { sp, fp, .. } = roles(open.abi);
        let mut registers: Registers =
            stop.registers.iter().map(|(number, value)| (*number, value.0)).collect();
        let endian = match open.endian {
            ByteOrder::Little => RunTimeEndian::Little,
            ByteOrder::Big => RunTimeEndian::Big,
        };
        let (mut pc, mut is_return) = (stop.pc.0, false);
        let mut context = UnwindContext::new();
        let mut frames = Vec::new();
        // The address from which FP could not be read, if it was not known last.
        let mut unread_fp = 0;
        let end = loop {
            let mut this = frame(pc, None, registers.get(&fp).copied().ok_or(unread_fp));
            this.interrupted = Some(!is_return);
            if frames.len() == MAX_FRAMES - 1 {
                frames.push(this);
                break End::of(EndKind::TooDeep);
            }
            let address = if is_return { pc.wrapping_sub(1) } else { pc };
            let mut step = || {
                let module = self.modules.iter().find(|module| module.addresses.contains(&address));
                let module = module.ok_or_else(|| End::of(EndKind::NoFde))?;
                let mut section = EhFrame::new(&module.eh_frame, endian);
                section.set_address_size(8);
                if open.abi.signs_return_addresses() {
                    section.set_vendor(gimli::Vendor::AArch64);
                }
                let at = address.wrapping_sub(module.bias);
                let fde = section.fde_for_address(&module.bases, at, EhFrame::cie_from_offset);
                let failed = |error| match error {
                    gimli::Error::NoUnwindInfoForAddress => End::of(EndKind::NoFde),
                    error => End::with_message(EndKind::Malformed, error.to_string()),
                };
                let fde = fde.map_err(failed)?;
                let row =
                    fde.unwind_info_for_address(&section, &module.bases, &mut context, at).map_err(failed)?;
                let mut state =
                    State { registers: &registers, memory: &mut *memory, encoding: fde.cie().encoding() };
                let cfa = match row.cfa() {
                    CfaRule::RegisterAndOffset { register, offset } => {
                        state.register(*register, Tracked::Cfa)?.wrapping_add_signed(*offset)
                    }
                    CfaRule::Expression(expression) => {
                        let expression = expression.get(&section).map_err(failed)?;
                        state.evaluate(expression, None, Tracked::Cfa)?
                    }
                };
                this.cfa = Some(Address(cfa));
                let column = fde.cie().return_address_register();
                if row.register(column) == Some(RegisterRule::Undefined) {
                    return Err(End::of(EndKind::Outermost));
                }
                let (caller, unread) = callers(&mut state, &section, row, cfa, sp, open.abi)?;
                unread_fp = unread.get(&fp).copied().unwrap_or(unread_fp);
                let found = *caller
                    .get(&u32::from(column.0))
                    .ok_or_else(|| End { what: Some(Tracked::Ra), ..End::of(EndKind::RaNotSaved) })?;
                Ok((caller, u32::from(column.0), found, fde.is_signal_trampoline()))
            };
            match step() {
                Ok((caller, column, found, signal)) => {
                    let (cfa, return_address) = (this.cfa, strip(open, found));
                    frames.push(this);
                    // A frame that is its own caller: nothing marks the first function of a stack.
                    if (return_address, !signal, caller.get(&sp)) == (pc, is_return, registers.get(&sp)) {
                        break End { cfa, ..End::of(EndKind::NoProgress) };
                    }
                    (registers, pc, is_return) = (caller, return_address, !signal);
                    // The call has put its return address there.
                    if !signal && open.abi.has_link_register() {
                        registers.insert(column, pc);
                    }
                }
                Err(end) => {
                    frames.push(this);
                    break end;
                }
            }
        };
        Backtrace::new(frames, end)
    }
}

/// The registers of a caller, and the addresses of those that could not be read.
fn callers(
    state: &mut State<'_, '_>,
    section: &EhFrame<Slice<'_>>,
    row: &UnwindTableRow<usize>,
    cfa: u64,
    sp: u32,
    abi: Abi,
) -> Result<(Registers, BTreeMap<u32, u64>), End> {
    let failed = |error: gimli::Error| End::with_message(EndKind::Malformed, error.to_string());
    let (mut caller, mut unread) = (state.registers.clone(), BTreeMap::new());
    // The stack pointer of a caller is where the CFA says, unless a rule says otherwise.
    caller.insert(sp, abi.sp_from_cfa(cfa));
    for (register, rule) in row.registers() {
        let number = u32::from(register.0);
        let value = match rule {
            RegisterRule::Undefined => None,
            RegisterRule::SameValue => state.registers.get(&number).copied(),
            RegisterRule::Offset(offset) => {
                let address = cfa.wrapping_add_signed(*offset);
                unread.insert(number, address);
                state.memory.read_u64(address)
            }
            RegisterRule::ValOffset(offset) => Some(cfa.wrapping_add_signed(*offset)),
            RegisterRule::Register(other) => state.registers.get(&u32::from(other.0)).copied(),
            RegisterRule::Expression(expression) => {
                let expression = expression.get(section).map_err(failed)?;
                let address = state.evaluate(expression, Some(cfa), Tracked::Fp).ok();
                unread.insert(number, address.unwrap_or(0));
                address.and_then(|address| state.memory.read_u64(address))
            }
            RegisterRule::ValExpression(expression) => {
                let expression = expression.get(section).map_err(failed)?;
                state.evaluate(expression, Some(cfa), Tracked::Fp).ok()
            }
            // Whether a return address is signed; it is stripped in any case.
            _ => continue,
        };
        match value {
            Some(value) => caller.insert(number, value),
            None => caller.remove(&number),
        };
    }
    Ok((caller, unread))
}

impl Unwinder for Gimli {
    fn hello(&self) -> Hello {
        Hello::new("gimli", "0.33.0", "eh_frame")
    }

    fn open(&mut self, open: &Open) -> Result<(), String> {
        self.modules.clear();
        for image in &open.images {
            let [text, got, eh_frame] = <[_; 3]>::try_from(sections(image, &[".text", ".got", ".eh_frame"])?)
                .map_err(|_| "sections are missing")?;
            let Some(eh_frame) = eh_frame else { continue };
            let start =
                |section: &Option<sframe_adapters::Section>| section.as_ref().map_or(0, |it| it.range.start);
            let bases = BaseAddresses::default()
                .set_text(start(&text))
                .set_got(start(&got))
                .set_eh_frame(eh_frame.range.start);
            let addresses = image.start.0..image.end.0;
            self.modules.push(Module { addresses, bias: image.bias.0, eh_frame: eh_frame.data, bases });
        }
        self.open = Some(open.clone());
        Ok(())
    }

    fn unwind(&mut self, stop: &Stop, memory: &mut Memory<'_>) -> Backtrace {
        let open = self.open.as_ref().expect("opened before");
        self.walk(open, stop, memory)
    }
}
