//! What it takes to call a row wrong.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sframe_engine::{Base, Recovery, RecoveryRule, Row};
use sframe_machine::Record;
use sframe_machine::explore::{Assumption, Content, Point, Returns};

use crate::compare::Disagreement;
use crate::unwind::Bases;
use crate::vocabulary::Verdict;

/// How sure it is that a row is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Certainty {
    /// The row is wrong on every path that leads to some instruction, if callees keep the ABI.
    Proved,
    /// The row may be wrong; doubts say why that is not proved.
    Possible,
}

/// Why a disagreement does not prove that a row is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Doubt {
    /// On another path to the same instruction the row is right.
    RightElsewhere,
    /// With other arguments, results and memory, the instruction was not reached.
    OneSeed,
    /// Perhaps nobody enters the function where the path begins.
    UncertainEntry,
    /// The disagreement begins right after a call that may not return.
    AfterCall,
    /// A function that was called there computes where it goes on from its return address: data may follow the call.
    PassesReturnAddress,
    /// A function that was called there does not keep the ABI, or is not known to, and its caller is not seen to find SP
    /// where it was.
    IrregularCallee,
    /// A jump through a table whose length is unknown led there.
    UnknownTable,
    /// A call within the function led there, which may return: then the frame is that of a callee.
    InternalCall,
    /// A jump led there that may be impossible: compilers end a function where it is known that nothing
    /// comes behind, and jumps that can't be taken then lead to whatever comes next.
    ImpossibleJump,
    /// A jump to another function's entry led there, from within a frame.
    JumpWithFrame,
    /// The path has run past the end of a function.
    RunsInto,
    /// A system call led there, after which the stack may be another one, or an instruction of systems, which may not go
    /// on.
    SystemCall,
    /// The function returns from an exception, and was not seen to return to a caller.
    EntryCode,
    /// The CFA is computed from a register that does not point into the stack.
    BaseOffStack,
    /// The function has set SP to a place above its frame pointer: it allocates memory of a size that it
    /// computes, which may be impossible.
    ComputedSp,
    /// What the rule reads was stored there by an instruction that may not mean that place.
    WildStore,
    /// What the rule reads may have been stored there by a callee, by a loop that was not followed to its end, or by an
    /// instruction that was not executed.
    UnseenStore,
    /// The function has overwritten the return address that it was called with.
    OverwrittenRa,
    /// After FP was wrong, the function was not seen to return with its caller's: it may have a convention
    /// of its own.
    FpNotKept,
}

impl Doubt {
    /// All of them.
    pub const ALL: [Self; 19] = [
        Self::RightElsewhere,
        Self::OneSeed,
        Self::UncertainEntry,
        Self::AfterCall,
        Self::PassesReturnAddress,
        Self::IrregularCallee,
        Self::UnknownTable,
        Self::InternalCall,
        Self::ImpossibleJump,
        Self::JumpWithFrame,
        Self::RunsInto,
        Self::SystemCall,
        Self::EntryCode,
        Self::BaseOffStack,
        Self::ComputedSp,
        Self::WildStore,
        Self::UnseenStore,
        Self::OverwrittenRa,
        Self::FpNotKept,
    ];

    /// Says it in words.
    #[must_use]
    pub const fn says(self) -> &'static str {
        match self {
            Self::RightElsewhere => "on another path to the same instruction the row is right",
            Self::OneSeed => "with other arguments and memory the instruction was not reached",
            Self::UncertainEntry => "perhaps nobody enters the function where the path begins",
            Self::AfterCall => "it begins right after a call that may not return",
            Self::PassesReturnAddress => {
                "a function that was called may go on past data that follows the call"
            }
            Self::IrregularCallee => "a function that was called does not keep the ABI, or is not seen to",
            Self::UnknownTable => "a jump through a table of unknown length led there",
            Self::InternalCall => "a call within the function led there, and may return",
            Self::ImpossibleJump => "a jump led there into a part of the code that may be another function's",
            Self::JumpWithFrame => "a jump to another function's entry led there, from within a frame",
            Self::RunsInto => "the path has run past the end of a function",
            Self::SystemCall => "a system call led there, or an instruction that may not go on",
            Self::EntryCode => {
                "the function returns from an exception, and is not seen to return to a caller"
            }
            Self::BaseOffStack => "the CFA's register does not point into the stack",
            Self::ComputedSp => "the function allocates memory on the stack, perhaps of an impossible size",
            Self::WildStore => "what the rule reads may have been overwritten by chance",
            Self::UnseenStore => {
                "what the rule reads may have been stored by a callee, a loop, or what is not emulated"
            }
            Self::OverwrittenRa => "the function has overwritten its return address",
            Self::FpNotKept => "the function was not seen to return with its caller's FP after that",
        }
    }
}

/// A path's state since it began to disagree.
pub(super) mod class {
    use sframe_machine::explore::Class;

    /// The row agrees.
    pub(crate) const AGREES: Class = 0;
    /// It does not.
    pub(crate) const DISAGREES: Class = 1;
    /// It did not right after a call that may not return. What comes after it may be anything, and its
    /// rows may agree by chance.
    pub(crate) const AFTER_CALL: Class = 2;
    /// A row has said that there is no caller. If that is right, there is nothing to compare with.
    pub(crate) const NO_CALLER: Class = 3;
    /// The bits of these.
    pub(crate) const STATE: Class = 3;
    /// FP was wrong somewhere on the path.
    pub(crate) const WRONG_FP: Class = 4;
    /// The path has been in code that may be another function's.
    pub(crate) const ELSEWHERE: Class = 8;
}

/// Returns what keeps one disagreement from being a proof.
pub(super) fn doubts(found: &Disagreement, row: Option<&Row>, point: &Point<'_>) -> Vec<Doubt> {
    let mut doubts = Vec::new();
    for assumption in point.assumptions {
        match assumption {
            Assumption::Table { is_bounded: false, .. } => doubts.push(Doubt::UnknownTable),
            Assumption::Call { passes: true, .. } => doubts.push(Doubt::PassesReturnAddress),
            Assumption::JumpWithFrame { .. } => doubts.push(Doubt::JumpWithFrame),
            Assumption::RunsInto { .. } => doubts.push(Doubt::RunsInto),
            Assumption::SystemCall { .. } | Assumption::Skipped { is_system: true, .. } => {
                doubts.push(Doubt::SystemCall);
            }
            Assumption::Skipped { may_store: true, .. } if reads_memory(found.verdict) => {
                doubts.push(Doubt::UnseenStore);
            }
            _ => {}
        }
    }
    doubts.extend((!point.labels.is_empty()).then_some(Doubt::InternalCall));
    if let (Some(row), Some(call)) = (row, point.moment.call_stack.records().last()) {
        let cfa = call.cfa;
        doubts.extend(is_base_off_stack(row, point, call).then_some(Doubt::BaseOffStack));
        doubts.extend(is_sp_computed(found.verdict, row, point, cfa).then_some(Doubt::ComputedSp));
        doubts.extend(of_slot(found.verdict, row, point, cfa));
    }
    if found.verdict == Verdict::WrongRa && point.has_overwritten_return_address() {
        doubts.push(Doubt::OverwrittenRa);
    }
    doubts.sort_unstable();
    doubts.dedup();
    doubts
}

/// Whether a disagreement may be about what a rule reads from memory.
const fn reads_memory(verdict: Verdict) -> bool {
    matches!(verdict, Verdict::WrongRa | Verdict::WrongFp | Verdict::ByLuck)
}

/// Whether the path comes from a call that may not return.
pub(super) fn is_after_uncertain_call(point: &Point<'_>) -> bool {
    point.is_after_call
        && matches!(point.assumptions.last(), Some(Assumption::Call { returns, .. }) if *returns != Returns::Sometimes)
}

/// How far from the CFA a register may point and still be said to point into the stack, in bytes.
const NEAR: u64 = 1 << 24;

/// Whether the CFA's register holds something else than an address in the stack, which may be one of
/// another stack.
fn is_base_off_stack(row: &Row, point: &Point<'_>, call: &Record) -> bool {
    let Some(rule) = row.cfa else { return false };
    let (register, base) = match rule.base {
        Base::Fp => (point.moment.abi().fp(), Some(point.moment.fp)),
        Base::Register(register) => (register, point.moment.register(register.0)),
        Base::Sp | Base::Cfa => return false,
    };
    // Where the return address is, no stack is.
    base.is_none_or(|base| base != call.return_address && base.abs_diff(call.cfa) > NEAR)
        && match point.content(register) {
            Content::Number => false,
            // The function knows nothing of it, unless it points to what it shares with the caller.
            Content::OfCaller => rule.dereference,
            Content::Other => true,
        }
}

/// Whether a slot is below SP because SP is within the frame, but above the frame pointer.
fn is_sp_computed(verdict: Verdict, row: &Row, point: &Point<'_>, cfa: u64) -> bool {
    let is_by_fp = row.cfa.is_some_and(|rule| rule.base == Base::Fp);
    let (sp, fp) = (point.moment.sp, point.moment.fp);
    verdict == Verdict::ByLuck && is_by_fp && fp < sp && sp < cfa
}

/// Doubts about the words that a row's rules read.
fn of_slot(verdict: Verdict, row: &Row, point: &Point<'_>, cfa: u64) -> Option<Doubt> {
    let slot = |recovery| match recovery {
        Recovery::Rule(rule @ RecoveryRule { dereference: true, .. }) => slot_of(rule, point, cfa),
        _ => None,
    };
    let call = point.moment.call_stack.records().last()?;
    let saved_cfa = row.cfa.and_then(|rule| slot(Recovery::Rule(rule)));
    let [ra, fp, saved_cfa] = match verdict {
        Verdict::WrongRa => [slot(row.ra), None, None],
        Verdict::WrongFp => [None, slot(row.fp), None],
        Verdict::ByLuck => [slot(row.ra), slot(row.fp), None],
        Verdict::WrongCfa | Verdict::BadMemory => [None, None, saved_cfa],
        _ => return None,
    };
    // What was saved there is lost, by a loop that was forced to go on, or by chance.
    let lost = |slot: Option<u64>, value| point.overwriting(slot?, value);
    if verdict == Verdict::WrongRa && call.return_addresses().any(|value| lost(ra, value).is_some()) {
        return Some(Doubt::OverwrittenRa);
    }
    let mut lost = call
        .return_addresses()
        .filter_map(|value| lost(ra, value))
        .chain(lost(fp, call.caller_fp))
        .chain(lost(saved_cfa, cfa));
    if lost.any(|store| !store.is_in_frame) {
        return Some(Doubt::WildStore);
    }
    // Elsewhere than in the frame, nobody stores what the function has saved.
    let frame = point.moment.sp..cfa;
    let is_unseen =
        |slot| frame.contains(&slot) && !point.last_store(slot).is_some_and(|store| store.is_in_frame);
    let read = match verdict {
        Verdict::WrongRa => ra,
        Verdict::WrongFp => fp,
        _ => None,
    };
    let is_loaded = verdict == Verdict::WrongFp && row.fp == Recovery::Unchanged;
    (read.is_some_and(is_unseen) && point.may_have_stored_more()
        || is_loaded && point.may_have_loaded_more(point.moment.abi().fp()))
    .then_some(Doubt::UnseenStore)
}

/// The address of the word that a rule reads.
pub(super) fn slot_of(rule: RecoveryRule, point: &Point<'_>, cfa: u64) -> Option<u64> {
    let bases = Bases { cfa: Some(cfa), sp: Some(point.moment.sp), fp: Some(point.moment.fp) };
    bases.address(&rule, |register| point.moment.register(register.0))
}
