//! DWARF expressions as formulas: what they compute from registers with unknown values.

use gimli::{EvaluationResult, Expression, Operation};
use sframe_engine::{Base, DwarfRegister};

use super::table::Slice;

/// A value that an expression computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Formula {
    /// A constant.
    Constant(u64),
    /// `base + offset`.
    Sum(Base, i64),
    /// `*(base + offset)`.
    Load(Base, i64),
}

/// Expressions with more operations are assumed to be loops.
const MAX_OPERATIONS: usize = 1 << 10;

/// Returns the formula that an expression computes at a PC; `None` if it can't be
/// expressed as one.
///
/// `start` is initially on the stack. `base` names registers; the return address
/// column represents the PC if code asks for it, as linkers' CFI for PLT entries
/// does.
pub(super) fn formula(
    expression: Expression<Slice<'_>>,
    start: Option<Formula>,
    pc: u64,
    base: impl Fn(u16) -> Option<Base>,
) -> Option<Formula> {
    let encoding = gimli::Encoding { address_size: 8, format: gimli::Format::Dwarf32, version: 4 };
    let mut stack: Vec<Formula> = start.into_iter().collect();
    let mut operations = expression.operations(encoding);
    for _ in 0..MAX_OPERATIONS {
        let Some(operation) = operations.next().ok()? else { return stack.pop() };
        let value = match operation {
            Operation::UnsignedConstant { value } => Formula::Constant(value),
            Operation::SignedConstant { value } => Formula::Constant(value.cast_unsigned()),
            Operation::CallFrameCFA => Formula::Sum(Base::Cfa, 0),
            Operation::RegisterOffset { register, offset, .. } => match base(register.0) {
                Some(base) => Formula::Sum(base, offset),
                None => Formula::Constant(pc.wrapping_add_signed(offset)),
            },
            Operation::Deref { size: 8, space: false, .. } => match stack.pop()? {
                Formula::Sum(base, offset) => Formula::Load(base, offset),
                Formula::Constant(_) | Formula::Load(..) => return None,
            },
            Operation::PlusConstant { value } => stack.pop()?.plus(Formula::Constant(value))?,
            Operation::Pick { index } => *stack.get(stack.len().checked_sub(usize::from(index) + 1)?)?,
            Operation::Drop => {
                stack.pop()?;
                continue;
            }
            Operation::Swap => {
                let (upper, lower) = (stack.pop()?, stack.pop()?);
                stack.push(upper);
                lower
            }
            Operation::Nop => continue,
            operation => {
                let (right, left) = (stack.pop()?, stack.pop()?);
                two(&operation, left, right)?
            }
        };
        stack.push(value);
    }
    None
}

fn two(operation: &Operation<Slice<'_>>, left: Formula, right: Formula) -> Option<Formula> {
    if let Operation::Plus = operation {
        return left.plus(right);
    }
    let (Formula::Constant(right), left) = (right, left) else { return None };
    if let Operation::Minus = operation {
        return left.plus(Formula::Constant(right.wrapping_neg()));
    }
    let Formula::Constant(left) = left else { return None };
    let (signed_left, signed_right) = (left.cast_signed(), right.cast_signed());
    Some(Formula::Constant(match operation {
        Operation::And => left & right,
        Operation::Or => left | right,
        Operation::Xor => left ^ right,
        Operation::Mul => left.wrapping_mul(right),
        Operation::Shl => u32::try_from(right).ok().and_then(|by| left.checked_shl(by)).unwrap_or(0),
        Operation::Shr => u32::try_from(right).ok().and_then(|by| left.checked_shr(by)).unwrap_or(0),
        Operation::Eq => u64::from(left == right),
        Operation::Ne => u64::from(left != right),
        Operation::Ge => u64::from(signed_left >= signed_right),
        Operation::Gt => u64::from(signed_left > signed_right),
        Operation::Le => u64::from(signed_left <= signed_right),
        Operation::Lt => u64::from(signed_left < signed_right),
        _ => return None,
    }))
}

impl Formula {
    fn plus(self, other: Self) -> Option<Self> {
        match (self, other) {
            (Self::Constant(left), Self::Constant(right)) => Some(Self::Constant(left.wrapping_add(right))),
            (Self::Sum(base, offset), Self::Constant(more))
            | (Self::Constant(more), Self::Sum(base, offset)) => {
                Some(Self::Sum(base, offset.wrapping_add(more.cast_signed())))
            }
            _ => None,
        }
    }
}

/// Returns the value of an expression with the given registers and memory; `None`
/// if it needs an unknown one.
pub(super) fn value(
    expression: Expression<Slice<'_>>,
    start: Option<u64>,
    register: &dyn Fn(DwarfRegister) -> Option<u64>,
    memory: &dyn Fn(u64) -> Option<u64>,
) -> Result<u64, Option<u64>> {
    let encoding = gimli::Encoding { address_size: 8, format: gimli::Format::Dwarf32, version: 4 };
    let mut evaluation = expression.evaluation(encoding);
    evaluation.set_max_iterations(u32::try_from(MAX_OPERATIONS).unwrap_or(u32::MAX));
    if let Some(start) = start {
        evaluation.set_initial_value(start);
    }
    let mut result = evaluation.evaluate().map_err(|_| None)?;
    loop {
        result = match result {
            EvaluationResult::Complete => {
                let pieces = evaluation.as_result();
                return match pieces.first().map(|piece| &piece.location) {
                    Some(gimli::Location::Address { address }) => Ok(*address),
                    _ => Err(None),
                };
            }
            EvaluationResult::RequiresMemory { address, size: 8, space: None, .. } => {
                let value = memory(address).ok_or(Some(address))?;
                evaluation.resume_with_memory(gimli::Value::Generic(value))
            }
            EvaluationResult::RequiresRegister { register: wanted, .. } => {
                let value = register(DwarfRegister(wanted.0.into())).ok_or(None)?;
                evaluation.resume_with_register(gimli::Value::Generic(value))
            }
            EvaluationResult::RequiresCallFrameCfa => {
                evaluation.resume_with_call_frame_cfa(start.ok_or(None)?)
            }
            _ => return Err(None),
        }
        .map_err(|_| None)?;
    }
}
