//! Rows as equations: how SFrame could describe the same frames.

use std::fmt;

use gimli::{CfaRule, RegisterRule};
use sframe_engine::{Base, DwarfRegister, Recovery, RecoveryRule, RowRules};

use super::expression::{Formula, formula};
use super::read::{CallFrameInfo, CfiRow, register_column};

/// The column of CIEs that is no register, on ABIs whose calls push the return address.
const PC: DwarfRegister = DwarfRegister(16);

/// A rule that no recovery rule of SFrame can express, whatever the version.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Inexpressible {
    /// A DWARF expression that is neither a register plus an offset, nor the word
    /// stored there.
    Expression,
    /// A rule that is defined by the vendor.
    Architectural,
    /// A CFA that does not depend on the stack.
    Constant,
    /// The CFA is not defined.
    Nothing,
}

impl fmt::Display for Inexpressible {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Expression => "a DWARF expression other than a register plus an offset",
            Self::Architectural => "an architectural rule",
            Self::Constant => "a constant",
            Self::Nothing => "nothing",
        })
    }
}

/// The rules at an address in terms of SFrame.
///
/// Displays in the same form as SFrame's rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Rules {
    /// The CFA.
    pub cfa: Result<RecoveryRule, Inexpressible>,
    /// The return address.
    pub ra: Result<Recovery, Inexpressible>,
    /// The caller's frame pointer.
    pub fp: Result<Recovery, Inexpressible>,
    /// Whether the return address is signed (AArch64).
    pub signed: bool,
}

impl Rules {
    /// Whether the rules lead to a caller: they define the CFA, and do not make the
    /// return address undefined.
    #[must_use]
    pub fn has_caller(&self) -> bool {
        self.cfa != Err(Inexpressible::Nothing) && self.ra != Ok(Recovery::Undefined)
    }

    /// Returns the rules as those of a row; `None` if no row can express them.
    #[must_use]
    pub fn row_rules(&self) -> Option<RowRules> {
        if self.ra == Ok(Recovery::Undefined) {
            return Some(RowRules::OUTERMOST);
        }
        let (cfa, ra, fp) = (self.cfa.ok()?, self.ra.ok()?, self.fp.ok()?);
        Some(RowRules { cfa: Some(cfa), ra, fp, mangled_ra: self.signed })
    }
}

impl fmt::Display for Rules {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.ra == Ok(Recovery::Undefined) {
            return f.write_str("RA undefined");
        }
        match &self.cfa {
            Ok(cfa) => write!(f, "CFA = {cfa}")?,
            Err(Inexpressible::Nothing) => f.write_str("no CFA")?,
            Err(why) => write!(f, "CFA = {why}")?,
        }
        for (name, rule) in [("RA", &self.ra), ("FP", &self.fp)] {
            match rule {
                Ok(rule) => write!(f, ", {name} {rule}")?,
                Err(why) => write!(f, ", {name} = {why}")?,
            }
            if name == "RA" && self.signed {
                f.write_str(" (mangled)")?;
            }
        }
        Ok(())
    }
}

impl CallFrameInfo {
    /// Returns a row as equations. `pc` is one of its addresses: expressions may
    /// depend on it.
    #[must_use]
    pub fn rules(&self, row: &CfiRow, pc: u64) -> Rules {
        let cfa = match &row.cfa {
            _ if !row.has_cfa => Err(Inexpressible::Nothing),
            CfaRule::RegisterAndOffset { register, offset } => match self.base(register.0) {
                Some(base) => Ok(RecoveryRule { base, offset: *offset, dereference: false }),
                None => Err(Inexpressible::Constant),
            },
            CfaRule::Expression(expression) => match self.formula(row, expression, None, pc) {
                Some(Formula::Sum(base, offset)) => Ok(RecoveryRule { base, offset, dereference: false }),
                Some(Formula::Load(base, offset)) => Ok(RecoveryRule { base, offset, dereference: true }),
                Some(Formula::Constant(_)) => Err(Inexpressible::Constant),
                None => Err(Inexpressible::Expression),
            },
        };
        let fp = register_column(self.abi.fp());
        Rules {
            cfa,
            ra: self.recovery(row, row.ra.as_ref(), row.ra_column, pc).map(|ra| self.in_column(ra, row)),
            fp: self.recovery(row, row.register(fp), fp, pc),
            signed: row.signed,
        }
    }

    /// Adjusts a rule that leaves the return address in its column: where the CIE
    /// names another register than the ABI's, it is in that one.
    fn in_column(&self, ra: Recovery, row: &CfiRow) -> Recovery {
        let column = DwarfRegister(row.ra_column.into());
        match ra {
            Recovery::Unchanged if self.abi.ra().unwrap_or(PC) != column => {
                Recovery::Rule(RecoveryRule { base: Base::Register(column), offset: 0, dereference: false })
            }
            _ => ra,
        }
    }

    /// Returns a register as the base of a rule; `None` for a column that is not a
    /// register but the PC.
    fn base(&self, register: u16) -> Option<Base> {
        let number = DwarfRegister(register.into());
        if number == self.abi.sp() {
            Some(Base::Sp)
        } else if number == self.abi.fp() {
            Some(Base::Fp)
        } else if number == PC && self.abi.ra().is_none() {
            None
        } else {
            Some(Base::Register(number))
        }
    }

    fn formula(
        &self,
        row: &CfiRow,
        expression: &gimli::UnwindExpression<usize>,
        start: Option<Formula>,
        pc: u64,
    ) -> Option<Formula> {
        let expression = self.expression(row, expression).ok()?;
        formula(expression, start, pc, |register| self.base(register))
    }

    fn recovery(
        &self,
        row: &CfiRow,
        rule: Option<&RegisterRule<usize>>,
        own: u16,
        pc: u64,
    ) -> Result<Recovery, Inexpressible> {
        let of = |base, offset, dereference| Ok(Recovery::Rule(RecoveryRule { base, offset, dereference }));
        let cfa = Some(Formula::Sum(Base::Cfa, 0));
        match rule {
            None | Some(RegisterRule::SameValue) => Ok(Recovery::Unchanged),
            Some(RegisterRule::Undefined) => Ok(Recovery::Undefined),
            Some(RegisterRule::Register(register)) if register.0 == own => Ok(Recovery::Unchanged),
            Some(RegisterRule::Register(register)) => match self.base(register.0) {
                Some(base) => of(base, 0, false),
                None => Err(Inexpressible::Constant),
            },
            Some(RegisterRule::Offset(offset)) => of(Base::Cfa, *offset, true),
            Some(RegisterRule::ValOffset(offset)) => of(Base::Cfa, *offset, false),
            Some(RegisterRule::Expression(expression)) => match self.formula(row, expression, cfa, pc) {
                Some(Formula::Sum(base, offset)) => of(base, offset, true),
                _ => Err(Inexpressible::Expression),
            },
            Some(RegisterRule::ValExpression(expression)) => match self.formula(row, expression, cfa, pc) {
                Some(Formula::Sum(base, offset)) => of(base, offset, false),
                Some(Formula::Load(base, offset)) => of(base, offset, true),
                _ => Err(Inexpressible::Expression),
            },
            Some(RegisterRule::Constant(_)) => Err(Inexpressible::Constant),
            Some(_) => Err(Inexpressible::Architectural),
        }
    }
}
