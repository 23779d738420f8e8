//! From a frame to its caller's (appendix A, with what real tracers need in addition).

use core::fmt;

use crate::abi::{Abi, DwarfRegister};
use crate::address::{InstructionPointer, Pc, ReturnAddress};
use crate::error::Error;
use crate::read::{Found, PauthKey, Section};
use crate::rule::{Base, Recovery, RecoveryRule};

/// The registers of the topmost frame.
pub trait Registers {
    /// Returns the value of a register, or `None` if it is not known.
    fn register(&self, register: DwarfRegister) -> Option<u64>;
}

impl<F: Fn(DwarfRegister) -> Option<u64>> Registers for F {
    fn register(&self, register: DwarfRegister) -> Option<u64> {
        self(register)
    }
}

/// The memory of the traced program.
pub trait Memory {
    /// Returns the 8 bytes at an address as a number in the program's byte order, or `None` if
    /// they can't be read.
    fn read_u64(&self, address: u64) -> Option<u64>;
}

impl<F: Fn(u64) -> Option<u64>> Memory for F {
    fn read_u64(&self, address: u64) -> Option<u64> {
        self(address)
    }
}

/// The bits of a code address that pointer authentication may use (AArch64; 3.1.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PauthMask(u64);

impl PauthMask {
    /// No bits: nothing is stripped.
    pub const NONE: Self = Self(0);

    /// Returns the mask for virtual addresses with this number of bits, without top-byte
    /// ignore.
    #[must_use]
    pub const fn for_address_bits(bits: u32) -> Self {
        Self(if bits >= 64 { 0 } else { u64::MAX << bits })
    }

    /// Returns the address without its authentication code. Bit 55 selects the half of the
    /// address space; the mangled bits take its value.
    #[must_use]
    pub const fn strip(self, address: u64) -> u64 {
        if address & (1 << 55) == 0 { address & !self.0 } else { address | self.0 }
    }
}

/// A frame of the call stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame {
    /// Where the frame executes, or will continue.
    pub pc: Pc,
    /// The stack pointer in this frame.
    pub sp: u64,
    /// The frame pointer register in this frame.
    pub fp: u64,
    /// The number of consecutive steps, up to this frame, in which SP has not moved:
    /// [`Caller::same_sp`] of the step that found it. See [`Self::SAME_SP_LIMIT`].
    pub same_sp: u8,
}

impl Frame {
    /// Where calls leave the return address in a register, a function may call before it has
    /// made its own frame, as s390x code does for `_mcount`: it has saved RA in its caller's
    /// frame, and its SP is its caller's. So the CFA of a frame further out than the topmost
    /// need not move, for at most this number of consecutive steps: a walk with rules that
    /// lead back to an earlier frame would never end.
    ///
    /// Each such function needs its own word for RA in the same frame of a caller; chains
    /// longer than one have not been seen.
    pub const SAME_SP_LIMIT: u8 = 8;

    /// The topmost frame, from the registers of the CPU.
    #[must_use]
    pub const fn topmost(pc: InstructionPointer, sp: u64, fp: u64) -> Self {
        Self { pc: Pc::Instruction(pc), sp, fp, same_sp: 0 }
    }
}

/// The three values that SFrame tracks (1.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Tracked {
    /// Canonical frame address.
    Cfa,
    /// Return address.
    Ra,
    /// Frame pointer.
    Fp,
}

impl fmt::Display for Tracked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Cfa => "CFA",
            Self::Ra => "RA",
            Self::Fp => "FP",
        })
    }
}

/// Why a walk can't continue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum StepError {
    /// No FDE covers the PC.
    NoFde,
    /// The PC's FDE has no row for it.
    NoRow,
    /// The part of the section with the PC's rules is malformed.
    Malformed(Error),
    /// A rule loads from memory that can't be read.
    Unreadable {
        /// What was to be recovered.
        tracked: Tracked,
        /// The address.
        address: u64,
    },
    /// A rule needs a register other than SP and FP, and the frame is not the
    /// topmost: its callee may have changed that register (appendix A).
    UnsafeRegister {
        /// What was to be recovered.
        tracked: Tracked,
        /// The register that the rule names.
        register: DwarfRegister,
    },
    /// A rule needs a register of the topmost frame whose value is not known.
    UnknownRegister {
        /// What was to be recovered.
        tracked: Tracked,
        /// The register that the rule names.
        register: DwarfRegister,
    },
    /// RA is still in its register, which is possible only in the topmost frame (3.1.3 says so
    /// for s390x; it is also true for AArch64).
    RaNotSaved,
    /// The CFA is not a multiple of 8.
    MisalignedCfa {
        /// The CFA.
        cfa: u64,
    },
    /// The caller's stack pointer would not be further towards the base of the stack, where it
    /// has to be.
    NoProgress {
        /// The CFA.
        cfa: u64,
        /// The stack pointer of the frame.
        sp: u64,
    },
}

impl fmt::Display for StepError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoFde => f.write_str("no FDE covers the PC"),
            Self::NoRow => f.write_str("the FDE has no row for the PC"),
            Self::Malformed(error) => error.fmt(f),
            Self::Unreadable { tracked, address } => {
                write!(f, "{tracked} can't be read at {address:#x}")
            }
            Self::UnsafeRegister { tracked, register } => {
                write!(f, "{tracked} depends on {register}, which is known in the topmost frame only")
            }
            Self::UnknownRegister { tracked, register } => {
                write!(f, "{tracked} depends on {register}, whose value is not known")
            }
            Self::RaNotSaved => f.write_str("RA is not saved in a frame that is not the topmost"),
            Self::MisalignedCfa { cfa } => write!(f, "the CFA {cfa:#x} is not a multiple of 8"),
            Self::NoProgress { cfa, sp } => {
                write!(f, "the CFA {cfa:#x} makes no progress from SP {sp:#x}")
            }
        }
    }
}

impl core::error::Error for StepError {}

impl From<Error> for StepError {
    fn from(error: Error) -> Self {
        Self::Malformed(error)
    }
}

/// What the rules of a frame say about its caller (appendix A).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Caller {
    /// The CFA of the frame.
    pub cfa: u64,
    /// The caller's stack pointer.
    pub sp: u64,
    /// The number of consecutive steps, up to this one, in which SP has not moved, although the
    /// frame is not the topmost: see [`Frame::SAME_SP_LIMIT`].
    pub same_sp: u8,
    /// Where the caller continues, without authentication code.
    pub ra: Result<u64, StepError>,
    /// The caller's frame pointer register.
    pub fp: Result<u64, StepError>,
    /// What the section says about the authentication code that `ra` had where it was found;
    /// `None` if the section says that it has none.
    pub mangled: Option<Mangled>,
    /// Whether the frame was a signal frame, so the caller was interrupted at `ra`.
    pub interrupted: bool,
}

/// A return address that the section says is mangled (AArch64; 2.4.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mangled {
    /// The value as found, with its authentication code.
    pub value: u64,
    /// The key that it is signed with (2.3.2).
    pub key: PauthKey,
}

impl Caller {
    /// Returns the caller's frame.
    ///
    /// # Errors
    /// RA or FP could not be recovered.
    pub fn frame(&self) -> Result<Frame, StepError> {
        let ra = self.ra?;
        let pc = if self.interrupted {
            Pc::Instruction(InstructionPointer(ra))
        } else {
            Pc::Return(ReturnAddress(ra))
        };
        Ok(Frame { pc, sp: self.sp, fp: self.fp?, same_sp: self.same_sp })
    }
}

/// The outcome of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// The frame has this caller.
    Caller(Caller),
    /// The section says that the frame has no caller (2.3.3.2, 2.4.1).
    Outermost,
}

/// The inputs of rule evaluation.
struct Evaluation<'e, R, M> {
    abi: Abi,
    frame: &'e Frame,
    registers: Option<&'e R>,
    memory: &'e M,
}

impl<R: Registers, M: Memory> Evaluation<'_, R, M> {
    fn register(&self, register: DwarfRegister, tracked: Tracked) -> Result<u64, StepError> {
        if register == self.abi.sp() {
            return Ok(self.frame.sp);
        }
        if register == self.abi.fp() {
            return Ok(self.frame.fp);
        }
        match self.registers {
            Some(registers) => {
                registers.register(register).ok_or(StepError::UnknownRegister { tracked, register })
            }
            None => Err(StepError::UnsafeRegister { tracked, register }),
        }
    }

    #[inline]
    fn rule(&self, rule: &RecoveryRule, cfa: u64, tracked: Tracked) -> Result<u64, StepError> {
        let base = match rule.base {
            Base::Cfa => cfa,
            Base::Sp => self.frame.sp,
            Base::Fp => self.frame.fp,
            Base::Register(register) => self.register(register, tracked)?,
        };
        let value = base.wrapping_add_signed(rule.offset);
        if rule.dereference {
            self.memory.read_u64(value).ok_or(StepError::Unreadable { tracked, address: value })
        } else {
            Ok(value)
        }
    }

    #[inline]
    fn ra(&self, recovery: Recovery, cfa: u64) -> Result<u64, StepError> {
        match (recovery, self.abi.ra()) {
            (Recovery::Rule(rule), _) => self.rule(&rule, cfa, Tracked::Ra),
            (Recovery::Unchanged, Some(register)) if self.registers.is_some() => {
                self.register(register, Tracked::Ra)
            }
            (Recovery::Unchanged | Recovery::Undefined, _) => Err(StepError::RaNotSaved),
        }
    }

    #[inline]
    fn fp(&self, recovery: Recovery, cfa: u64) -> Result<u64, StepError> {
        match recovery {
            Recovery::Rule(rule) => self.rule(&rule, cfa, Tracked::Fp),
            Recovery::Unchanged | Recovery::Undefined => Ok(self.frame.fp),
        }
    }
}

impl Found {
    /// Evaluates the row's rules for a frame (appendix A).
    ///
    /// `registers` are those of the CPU, given only for the topmost frame: further out only SP
    /// and FP are known.
    ///
    /// # Errors
    /// The CFA can't be computed, is misaligned, or makes no progress. RA and FP have their own
    /// errors within the result.
    #[inline]
    pub fn apply<R: Registers, M: Memory>(
        &self,
        abi: Abi,
        frame: &Frame,
        registers: Option<&R>,
        memory: &M,
        pauth: PauthMask,
    ) -> Result<Step, StepError> {
        let evaluation = Evaluation { abi, frame, registers, memory };
        let Some(cfa) = self.cfa(&evaluation)? else {
            return Ok(Step::Outermost);
        };
        let sp = abi.sp_from_cfa(cfa);
        // A function that has not moved SP, or has not moved it yet, has its caller's SP. A
        // frame that executes, or was interrupted, can be in that state; one that has called
        // can be only where the call did not move SP either. A signal may have switched stacks.
        let same_sp = match frame.pc {
            Pc::Return(_) if sp == frame.sp => frame.same_sp.saturating_add(1),
            _ => 0,
        };
        let limit = if abi.ra().is_some() { Frame::SAME_SP_LIMIT } else { 0 };
        if (sp < frame.sp || same_sp > limit) && !self.fde.signal {
            return Err(StepError::NoProgress { cfa, sp: frame.sp });
        }
        Ok(Step::Caller(self.caller(&evaluation, cfa, same_sp, pauth)))
    }

    /// Evaluates them also where the caller's SP is not further towards the base of the stack: for who asks what a row
    /// says, and walks no further. The caller's [`same_sp`](Caller::same_sp) is 0.
    ///
    /// # Errors
    /// The CFA can't be computed, or is misaligned.
    pub fn apply_without_progress<R: Registers, M: Memory>(
        &self,
        abi: Abi,
        frame: &Frame,
        registers: Option<&R>,
        memory: &M,
        pauth: PauthMask,
    ) -> Result<Step, StepError> {
        let evaluation = Evaluation { abi, frame, registers, memory };
        let cfa = self.cfa(&evaluation)?;
        Ok(cfa.map_or(Step::Outermost, |cfa| Step::Caller(self.caller(&evaluation, cfa, 0, pauth))))
    }

    /// The CFA, unless the row says that there is no caller.
    #[inline]
    fn cfa<R: Registers, M: Memory>(
        &self,
        evaluation: &Evaluation<'_, R, M>,
    ) -> Result<Option<u64>, StepError> {
        let Some(rule) = self.row.cfa else { return Ok(None) };
        let cfa = evaluation.rule(&rule, 0, Tracked::Cfa)?;
        if cfa % 8 == 0 { Ok(Some(cfa)) } else { Err(StepError::MisalignedCfa { cfa }) }
    }

    #[inline]
    fn caller<R: Registers, M: Memory>(
        &self,
        evaluation: &Evaluation<'_, R, M>,
        cfa: u64,
        same_sp: u8,
        pauth: PauthMask,
    ) -> Caller {
        let found = evaluation.ra(self.row.ra, cfa);
        let mangled = found.ok().filter(|_| self.row.mangled_ra);
        let mangled = mangled.map(|value| Mangled { value, key: self.fde.pauth_key });
        let ra = found.map(|ra| if self.row.mangled_ra { pauth.strip(ra) } else { ra });
        let fp = evaluation.fp(self.row.fp, cfa);
        let sp = evaluation.abi.sp_from_cfa(cfa);
        Caller { cfa, sp, same_sp, ra, fp, mangled, interrupted: self.fde.signal }
    }
}

impl Section<'_> {
    /// One step of a walk: looks a frame's PC up and evaluates its rules (appendix A).
    ///
    /// `registers` are those of the CPU, given only for the topmost frame.
    ///
    /// # Errors
    /// No rules for the PC, malformed rules, or rules that can't be evaluated.
    pub fn step<R: Registers, M: Memory>(
        &self,
        frame: &Frame,
        registers: Option<&R>,
        memory: &M,
        pauth: PauthMask,
    ) -> Result<Step, StepError> {
        let fde = self.lookup_fde(frame.pc)?.ok_or(StepError::NoFde)?;
        let found = self.lookup_row(&fde, frame.pc)?.ok_or(StepError::NoRow)?;
        found.apply(self.header().abi, frame, registers, memory, pauth)
    }
}
