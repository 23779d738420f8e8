//! Usual mistakes of unwinders, as hints for their authors.
//!
//! Where the section is right and the unwinder is not, the rules are applied
//! again, each time with one mistake. The mistake that gives the unwinder's answer
//! is a hint. It is no evidence: nothing is judged by it.

use sframe_engine::{DwarfRegister, PauthMask, StepError};
use sframe_machine::Record;

use crate::compare::{Disagreement, Value};
use crate::target::sections::Sections;
use crate::unwind::{End, Mistake, State, Stepped, Unreadable};
use crate::vocabulary::{Prose, Verdict};

/// A frame, as an unwinder without mistakes so far knows it.
pub(crate) struct FrameView<'v, 'a> {
    /// The sections of the process.
    pub(crate) sections: &'v Sections<'a>,
    /// The frame's state.
    pub(crate) state: State,
    /// The call that the frame belongs to.
    pub(crate) call: Option<&'v Record>,
    /// Whether the unwinder has given the frame's CFA.
    pub(crate) gives_cfa: bool,
    /// The PC of the caller that the unwinder has given.
    pub(crate) caller: Option<u64>,
    /// The registers of the CPU, for the topmost frame.
    pub(crate) registers: Option<&'v dyn Fn(DwarfRegister) -> Option<u64>>,
    /// Memory at that moment.
    pub(crate) memory: &'v dyn Fn(u64) -> Option<u64>,
    /// The bits of an authentication code.
    pub(crate) pauth: PauthMask,
}

/// A set of mistakes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Mistakes(u16);

impl Mistakes {
    /// Returns those that give the answer of a disagreement.
    pub(crate) fn of(found: &Disagreement, frame: &FrameView<'_, '_>) -> Self {
        let gives_it = |mistake: &Mistake| {
            let rules = mistake.rules(frame.sections, frame.state.pc);
            rules.is_some_and(|rules| {
                let registers = frame.registers.as_ref();
                let stepped = Stepped::by(rules, &frame.state, registers, frame.memory, frame.pauth);
                is_answer(found, &stepped, frame)
            })
        };
        let given = Mistake::ALL.into_iter().filter(gives_it);
        Self(given.fold(0, |set, mistake| set | 1 << mistake as u8))
    }

    /// Those that are in both.
    pub(crate) const fn and(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    pub(crate) fn iter(self) -> impl Iterator<Item = Mistake> {
        Mistake::ALL.into_iter().filter(move |mistake| self.0 & 1 << *mistake as u8 != 0)
    }
}

/// Whether a step gives what an unwinder got, and also what it got right before.
fn is_answer(found: &Disagreement, stepped: &Stepped, frame: &FrameView<'_, '_>) -> bool {
    let is_later = matches!(found.verdict, Verdict::WrongRa | Verdict::WrongFp);
    if let Some(call) = frame.call.filter(|_| is_later) {
        let is_ra = |caller: State| caller.pc.get() == call.return_address;
        if frame.gives_cfa && stepped.cfa != Some(call.cfa)
            || found.verdict == Verdict::WrongFp && !stepped.caller.is_ok_and(is_ra)
        {
            return false;
        }
    }
    match (found.verdict, found.got) {
        (Verdict::WrongCfa, Value::Word(cfa)) => stepped.cfa == Some(cfa),
        (Verdict::WrongRa, Value::Word(ra)) => stepped.caller.is_ok_and(|caller| caller.pc.get() == ra),
        (Verdict::WrongRa, Value::Signed(_, key)) => stepped.mangled.map(|mangled| mangled.key) == key,
        (Verdict::WrongFp, Value::Word(fp)) => stepped.caller.is_ok_and(|caller| caller.fp == Ok(fp)),
        (_, Value::Unreadable(at)) => match stepped.caller {
            Ok(caller) => found.verdict == Verdict::WrongFp && caller.fp == Err(Unreadable(at)),
            Err(End::Failed(StepError::Unreadable { address, .. })) => address == at,
            Err(_) => false,
        },
        (Verdict::WrongEnd | Verdict::ExtraFrames, _) if frame.caller.is_some() => {
            stepped.caller.ok().map(|caller| caller.pc.get()) == frame.caller
        }
        (_, Value::End(end)) => stepped.caller == Err(end),
        _ => false,
    }
}

/// A hint for each finding, from the mistakes that give all of its answers: of
/// several the one that explains most findings, and of these the most particular. One that explains less than half of
/// the findings with the same verdict gives their answers by chance.
pub(super) fn hints(findings: &[(Verdict, Mistakes)]) -> Vec<Option<Prose>> {
    let explains = |mistake: Mistake, those: &Mistakes| those.iter().any(|it| it == mistake);
    let explained = |mistake: Mistake| findings.iter().filter(|(_, those)| explains(mistake, those)).count();
    let hint = |(verdict, those): &(Verdict, Mistakes)| {
        let best = those.iter().min_by_key(|mistake| std::cmp::Reverse(explained(*mistake)))?;
        let count = explained(best);
        let mut alike = findings.iter().filter(|(other, _)| other == verdict);
        let all_alike = alike.clone().count();
        if alike.by_ref().filter(|(_, those)| explains(best, those)).count() * 2 < all_alike {
            return None;
        }
        let extent = match (count, findings.len()) {
            (_, 1) | (1, _) => String::new(),
            (count, all) if count == all => "; the same holds for all findings here".to_owned(),
            (count, all) => format!("; the same holds for {count} of {all} places with findings here"),
        };
        Some(format!("{}{extent}", best.says()).into())
    };
    findings.iter().map(hint).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A look-up in the wrong place gives some of the answers of an unwinder that always ends there, by chance.
    #[test]
    fn a_hint_explains_most_findings_of_a_verdict() {
        let (one, none) = (Mistakes(1), Mistakes(0));
        let hints =
            |findings: &[(Verdict, Mistakes)]| hints(findings).iter().filter(|hint| hint.is_some()).count();
        let ended = Verdict::Truncated;
        assert_eq!(hints(&[(ended, one), (ended, none), (ended, none)]), 0);
        assert_eq!(hints(&[(ended, one), (ended, one), (ended, none)]), 2);
        // Others are wrong in another way.
        assert_eq!(hints(&[(ended, one), (Verdict::WrongCfa, none), (Verdict::WrongCfa, none)]), 1);
    }
}
