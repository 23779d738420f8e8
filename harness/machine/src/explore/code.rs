//! The instructions of a binary, decoded when they are first met.

use std::cell::RefCell;
use std::ops::Range;
use std::rc::Rc;

use sframe_engine::DwarfRegister;
use sframe_isa::{Destination, Disassembly, Flow, Instruction, Operation};

use super::assumption::Callee;
use crate::address_space::AddressSpace;
use crate::cpu::{AuthenticationKey, BranchTarget, Cpu};
use crate::effect_cache::with_code;
use crate::pc_map::PcMap;

/// The DWARF numbers of s390x's floating-point registers, to which functions without calls save others.
const FPRS: Range<u32> = 16..32;

/// More instructions than this are not kept from one function to the next.
const MOST: usize = 100_000;

/// What has to be done about an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Nothing: the emulator executes it.
    Plain,
    /// It may jump to this address.
    Branch(u64),
    /// It jumps there.
    Jump(u64),
    /// It jumps somewhere, if at all.
    IndirectJump {
        is_conditional: bool,
    },
    Call(Callee),
    Return {
        is_conditional: bool,
    },
    /// Nothing comes after it.
    Trap,
    SystemCall,
    /// The emulator would do something else than a program would see.
    Privileged,
}

#[derive(Debug)]
pub(super) struct Decoded {
    pub(super) kind: Kind,
    /// In bytes; 0 if the decoder does not know the instruction.
    pub(super) len: u64,
    pub(super) signs: Option<AuthenticationKey>,
    pub(super) stores_unreported: bool,
    /// Whether it returns from an exception, if it is a kernel's.
    pub(super) returns_from_exception: bool,
    pub(super) instruction: Instruction,
}

impl Decoded {
    /// Whether it does nothing.
    pub(super) fn is_padding(&self) -> bool {
        let Instruction { defs, may_store, sets_flags, .. } = &self.instruction;
        self.kind == Kind::Plain && defs.is_empty() && !may_store && !sets_flags
    }
}

#[derive(Debug)]
pub(super) struct Code {
    pub(super) cpu: &'static Cpu,
    known: RefCell<PcMap<Rc<Decoded>>>,
}

impl Code {
    pub(super) fn new(cpu: &'static Cpu) -> Self {
        Self { cpu, known: RefCell::default() }
    }

    /// Forgets what is known if that is much: functions have little code in common. Returns whether it
    /// did.
    pub(super) fn trim(&self) -> bool {
        let mut known = self.known.borrow_mut();
        let is_full = known.len() > MOST;
        if is_full {
            *known = PcMap::default();
        }
        is_full
    }

    /// Returns the instruction at an address. What is not code is nothing that the decoder knows.
    #[inline]
    pub(super) fn at(&self, space: &AddressSpace, pc: u64) -> Rc<Decoded> {
        let mut known = self.known.borrow_mut();
        Rc::clone(known.get_or_insert_with(pc, || Rc::new(self.decode(space, pc))))
    }

    fn decode(&self, space: &AddressSpace, pc: u64) -> Decoded {
        with_code(self.cpu, space, pc, |code| {
            let effect = self.cpu.effect(code);
            let decoded = Disassembly::one(self.cpu.abi, pc, code);
            let mut instruction = decoded.unwrap_or_default();
            if let Some(executed) = self.executed_jump(space, pc, code) {
                instruction = Instruction { len: instruction.len, ..executed };
            }
            // Only people need it, and not here.
            instruction.text = String::new();
            let is_other = effect.is_privileged || effect.is_mistaken;
            let kind = if is_other { Kind::Privileged } else { kind(&instruction) };
            Decoded {
                kind,
                len: instruction.len,
                signs: effect.signs,
                stores_unreported: effect.stores_unreported,
                returns_from_exception: (self.cpu.returns_from_exception)(code),
                instruction,
            }
        })
    }

    /// Returns the jump that an instruction executes in its place, as returns through thunks of s390x do.
    fn executed_jump(&self, space: &AddressSpace, pc: u64, code: &[u8]) -> Option<Instruction> {
        let Some(BranchTarget::Instruction(distance)) = (self.cpu.branch_target)(code) else { return None };
        let executed = with_code(self.cpu, space, pc.wrapping_add_signed(distance), |code| {
            Disassembly::one(self.cpu.abi, pc, code)
        });
        executed.filter(|executed| {
            matches!(executed.flow, Flow::Jump { to: Destination::Caller | Destination::Indirect, .. })
        })
    }

    /// What an instruction that was met writes to a register, if it does: one that the decoder does not
    /// know may, and callees do as the ABI lets them.
    pub(super) fn write(&self, pc: u64, register: DwarfRegister) -> Option<Write> {
        let mut known = self.known.borrow_mut();
        let Some(decoded) = known.get(pc).filter(|decoded| decoded.len > 0) else {
            return Some(Write::Other);
        };
        let instruction = &decoded.instruction;
        if instruction.defs.contains(register) {
            let is_number = instruction.narrow.contains(register);
            return Some(if is_number { Write::Number } else { Write::Other });
        }
        let is_elsewhere = instruction.is_call() || instruction.is_system_call;
        (is_elsewhere && !self.is_kept(register)).then_some(Write::Other)
    }

    /// Whether callees keep a register's value, or may return no address in it.
    fn is_kept(&self, register: DwarfRegister) -> bool {
        register == self.cpu.abi.fp() || self.is_preserved(register) || self.is_floating_point(register)
    }

    /// Whether a register is another one than FP that callees preserve.
    pub(super) fn is_preserved(&self, register: DwarfRegister) -> bool {
        self.cpu.convention.preserved.contains(&(register.0 as usize))
    }

    /// Whether a register holds floating-point numbers, unless a function saves another one there.
    pub(super) fn is_floating_point(&self, register: DwarfRegister) -> bool {
        self.cpu.abi.saves_in_registers() && FPRS.contains(&register.0)
    }

    /// How an instruction that was met names the place that it stores to.
    pub(super) fn stores(&self, pc: u64) -> Naming {
        let abi = self.cpu.abi;
        let mut known = self.known.borrow_mut();
        let Some(decoded) = known.get(pc) else { return Naming::Otherwise };
        match &decoded.instruction.operation {
            Operation::Store { place: Some(place), .. } if place.base == abi.sp() => Naming::BySp,
            Operation::Store { place: Some(place), .. } if place.base == abi.fp() => Naming::ByFp,
            _ if decoded.instruction.is_call() => Naming::BySp,
            _ => Naming::Otherwise,
        }
    }

    /// Whether an instruction that writes a register loads it; `None` if it does not write it.
    pub(super) fn loads(&self, pc: u64, register: DwarfRegister) -> Option<bool> {
        let mut known = self.known.borrow_mut();
        let instruction = known.get(pc).map(|decoded| &decoded.instruction);
        let writes = instruction.filter(|instruction| instruction.defs.contains(register))?;
        Some(matches!(writes.operation, Operation::Load { .. } | Operation::Leave))
    }

    /// Whether an instruction stores to a place that is neither SP's nor FP's.
    pub(super) fn stores_to_computed(&self, pc: u64) -> bool {
        let stores = |decoded: &Decoded| matches!(decoded.instruction.operation, Operation::Store { .. });
        self.known.borrow_mut().get(pc).is_some_and(|decoded| stores(decoded))
            && matches!(self.stores(pc), Naming::Otherwise)
    }
}

/// What an instruction writes to a register.
pub(super) enum Write {
    /// A number that is no address: see [`Instruction::narrow`].
    Number,
    Other,
}

/// How an instruction names the place that it stores to.
pub(super) enum Naming {
    /// By the stack pointer alone.
    BySp,
    /// By the frame pointer alone, which may have another use.
    ByFp,
    Otherwise,
}

fn kind(instruction: &Instruction) -> Kind {
    if instruction.is_system_call {
        return Kind::SystemCall;
    }
    match instruction.flow {
        Flow::Next | Flow::Unknown => Kind::Plain,
        Flow::Call(Some(to)) => Kind::Call(Callee::Function(to)),
        Flow::Call(None) => Kind::Call(instruction.slot().map_or(Callee::Unknown, Callee::Slot)),
        Flow::Jump { to: Destination::Address(to), is_conditional: true } => Kind::Branch(to),
        Flow::Jump { to: Destination::Address(to), is_conditional: false } => Kind::Jump(to),
        Flow::Jump { to: Destination::Caller, is_conditional } => Kind::Return { is_conditional },
        Flow::Jump { to: Destination::Indirect, is_conditional } => Kind::IndirectJump { is_conditional },
        Flow::Trap => Kind::Trap,
    }
}
