//! Steps: from the registers of a frame to those of its caller.

use gimli::{CfaRule, RegisterRule};
use rustc_hash::{FxBuildHasher, FxHashMap};
use sframe_engine::{DwarfRegister, PauthMask};

use super::expression::value;
use super::read::{CallFrameInfo, CfiError, CfiRow, register_column};

/// The known registers of a frame, by DWARF number. Those without a caller's value
/// are left out.
pub type Registers = FxHashMap<u16, u64>;

/// The highest DWARF register number that rules cover: vector registers are above it.
pub const LAST_REGISTER: u16 = 66;

/// Why call frame information does not lead to a caller.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EvaluationError {
    /// The information itself is malformed.
    #[error(transparent)]
    Malformed(#[from] CfiError),
    /// No FDE covers the address.
    #[error("no FDE")]
    NoFde,
    /// The rules need an unknown register, or an expression can't be evaluated.
    #[error("{what} can't be computed")]
    Unknown {
        /// `CFA`, or a register.
        what: String,
    },
    /// Memory that can't be read.
    #[error("{what} lies at {address:#x}, which can't be read")]
    Unreadable {
        /// `CFA`, or a register.
        what: String,
        /// The address.
        address: u64,
    },
    /// The frame is marked as the outermost one.
    #[error("an outermost frame")]
    Outermost,
}

/// The result of call frame information for a frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Evaluated {
    /// The CFA.
    pub cfa: u64,
    /// The return address, without its signature, or why it is unknown.
    pub ra: Result<u64, EvaluationError>,
    /// The caller's registers: SP is the CFA unless a rule says otherwise.
    pub registers: Registers,
    /// Why registers are unknown that should be known, by DWARF number.
    pub unknown: Vec<(u16, EvaluationError)>,
    /// Whether the frame was pushed by a signal, so that the caller must be looked
    /// up at the interrupted address.
    pub is_signal: bool,
}

impl CallFrameInfo {
    /// Applies the rules at an address, without load bias, to the registers of
    /// a frame. `memory` reads 8 bytes as a number.
    ///
    /// # Errors
    /// There are no rules, or the CFA can't be computed.
    pub fn evaluate(
        &self,
        address: u64,
        registers: &Registers,
        memory: &dyn Fn(u64) -> Option<u64>,
        pauth: PauthMask,
    ) -> Result<Evaluated, EvaluationError> {
        let fde = self.fde_at(address).ok_or(EvaluationError::NoFde)?;
        let row = &self.row_at(address)?.ok_or(EvaluationError::NoFde)?;
        let known = |register: DwarfRegister| registers.get(&register_column(register)).copied();
        let cfa = self.cfa(row, &known, memory)?;
        let mut caller = Registers::with_capacity_and_hasher(registers.len() + 1, FxBuildHasher);
        let mut unknown = Vec::new();
        let sp = register_column(self.abi.sp());
        for (&register, &value) in registers {
            if row.register(register).is_none() {
                caller.insert(register, value);
            }
        }
        // By convention; on s390x a rule says otherwise, or SP is the CFA - 160.
        caller.insert(sp, self.abi.sp_from_cfa(cfa));
        for (register, rule) in &row.registers {
            match self.register(*register, rule, row, cfa, &known, memory) {
                Ok(Some(value)) => {
                    caller.insert(*register, value);
                }
                Ok(None) => {
                    caller.remove(register);
                }
                Err(error) => {
                    caller.remove(register);
                    unknown.push((*register, error));
                }
            }
        }
        let ra = match (&row.ra, caller.get(&row.ra_column)) {
            (Some(RegisterRule::Undefined), _) => Err(EvaluationError::Outermost),
            (_, Some(ra)) if row.signed => Ok(pauth.strip(*ra)),
            (_, Some(ra)) => Ok(*ra),
            (_, None) => {
                let why = unknown.iter().find(|(register, _)| *register == row.ra_column);
                let unknown = EvaluationError::Unknown { what: "RA".to_owned() };
                Err(why.map_or(unknown, |(_, error)| error.clone()))
            }
        };
        Ok(Evaluated { cfa, ra, registers: caller, unknown, is_signal: fde.is_signal })
    }

    fn cfa(
        &self,
        row: &CfiRow,
        known: &dyn Fn(DwarfRegister) -> Option<u64>,
        memory: &dyn Fn(u64) -> Option<u64>,
    ) -> Result<u64, EvaluationError> {
        match &row.cfa {
            _ if !row.has_cfa => Err(EvaluationError::Unknown { what: "CFA".to_owned() }),
            CfaRule::RegisterAndOffset { register, offset } => {
                let value = known(DwarfRegister(register.0.into()));
                let value = value.ok_or_else(|| EvaluationError::Unknown { what: "CFA".to_owned() })?;
                Ok(value.wrapping_add_signed(*offset))
            }
            CfaRule::Expression(expression) => self.value("CFA", expression, row, None, known, memory),
        }
    }

    /// Returns the caller's value of a register; `None` if it has none.
    fn register(
        &self,
        number: u16,
        rule: &RegisterRule<usize>,
        row: &CfiRow,
        cfa: u64,
        known: &dyn Fn(DwarfRegister) -> Option<u64>,
        memory: &dyn Fn(u64) -> Option<u64>,
    ) -> Result<Option<u64>, EvaluationError> {
        let what = || self.name(number, row);
        let load = |address: u64| {
            memory(address).map(Some).ok_or_else(|| EvaluationError::Unreadable { what: what(), address })
        };
        match rule {
            RegisterRule::SameValue => Ok(known(DwarfRegister(number.into()))),
            RegisterRule::Offset(offset) => load(cfa.wrapping_add_signed(*offset)),
            RegisterRule::ValOffset(offset) => Ok(Some(cfa.wrapping_add_signed(*offset))),
            RegisterRule::Register(from) => {
                let value = known(DwarfRegister(from.0.into()));
                value.map(Some).ok_or_else(|| EvaluationError::Unknown { what: what() })
            }
            RegisterRule::Expression(expression) => {
                load(self.value(&what(), expression, row, Some(cfa), known, memory)?)
            }
            RegisterRule::ValExpression(expression) => {
                self.value(&what(), expression, row, Some(cfa), known, memory).map(Some)
            }
            RegisterRule::Constant(value) => Ok(Some(*value)),
            _ => Ok(None),
        }
    }

    fn value(
        &self,
        what: &str,
        expression: &gimli::UnwindExpression<usize>,
        row: &CfiRow,
        start: Option<u64>,
        known: &dyn Fn(DwarfRegister) -> Option<u64>,
        memory: &dyn Fn(u64) -> Option<u64>,
    ) -> Result<u64, EvaluationError> {
        let unknown = || EvaluationError::Unknown { what: what.to_owned() };
        let expression = self.expression(row, expression).map_err(|_| unknown())?;
        value(expression, start, known, memory).map_err(|address| match address {
            Some(address) => EvaluationError::Unreadable { what: what.to_owned(), address },
            None => unknown(),
        })
    }

    fn name(&self, register: u16, row: &CfiRow) -> String {
        let number = DwarfRegister(register.into());
        if register == row.ra_column {
            "RA".to_owned()
        } else if number == self.abi.fp() {
            "FP".to_owned()
        } else if number == self.abi.sp() {
            "SP".to_owned()
        } else {
            number.to_string()
        }
    }
}
