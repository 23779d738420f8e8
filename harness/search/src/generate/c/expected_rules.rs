//! What the rules of a wrong row should be, as far as a finding tells.

use sframe_engine::{Base, Recovery, RecoveryRule, RowRules};
use sframe_judge::finding::{Answer, Evidence, Finding, StackView};
use sframe_judge::vocabulary::Verdict;

/// The rules that may be right, the surest first. Each has to be held against the call stack.
pub(super) fn expected_rules(finding: &Finding) -> Vec<RowRules> {
    let mut all: Vec<RowRules> = finding.evidence.iter().filter_map(Evidence::right_rules).collect();
    let (Some(wrong), Some(stack)) = (finding.row.map(|row| row.rules), &finding.stack) else { return all };
    let Some(cfa) = wrong.cfa else { return all };
    let expected = finding.expected.address();
    let slot = |cfa: u64| {
        let slot = stack.slots.iter().find(|slot| slot.value.map(|value| value.0) == expected)?;
        let below = i64::try_from(cfa.checked_sub(slot.address.0)?).ok()?;
        Some(Recovery::Rule(RecoveryRule { base: Base::Cfa, offset: -below, dereference: true }))
    };
    match finding.verdict {
        // A number of bytes above SP may be that of this call alone.
        Verdict::WrongCfa if !finding.evidence.iter().any(|said| said.answer == Some(Answer::NoCfa)) => {
            let above = expected.and_then(|cfa| i64::try_from(cfa.checked_sub(stack.sp.0)?).ok());
            let cfa = above.map(|offset| RecoveryRule { base: Base::Sp, offset, dereference: false });
            all.extend(cfa.map(|cfa| RowRules { cfa: Some(cfa), ..wrong }));
        }
        Verdict::WrongFp => {
            all.push(RowRules { fp: Recovery::Unchanged, ..wrong });
            let slot = value(cfa, stack).and_then(slot);
            all.extend(slot.map(|fp| RowRules { fp, ..wrong }));
        }
        Verdict::WrongRa => {
            let slot = value(cfa, stack).and_then(slot);
            all.extend(slot.map(|ra| RowRules { ra, ..wrong }));
        }
        _ => {}
    }
    all
}

/// The CFA that a rule with SP or FP gives, without memory.
fn value(rule: RecoveryRule, stack: &StackView) -> Option<u64> {
    stack.evaluate(rule, None).filter(|_| !rule.dereference)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_with_sp_or_fp_gives_a_cfa_without_memory() {
        let stack = StackView {
            sp: sframe_judge::finding::Address(0x100),
            fp: sframe_judge::finding::Address(0x200),
            slots: Vec::new(),
        };
        let value = |rule: &str| value(rule.parse().expect("a rule"), &stack);
        assert_eq!((value("SP+16"), value("FP")), (Some(0x110), Some(0x200)));
        assert_eq!((value("r10"), value("*(FP-8)")), (None, None));
    }
}
