//! What the rules of a wrong row should be, as far as a finding tells.

use sframe_judge::finding::{Address, Finding};
use sframe_judge::vocabulary::Verdict;

/// The rules that may be right, the surest first. Each has to be held against the call stack.
pub(super) fn rights(finding: &Finding) -> Vec<String> {
    let mut all = Vec::new();
    for evidence in &finding.evidence {
        let agrees = evidence.side().is_some_and(|side| side.ends_with("with the call stack"));
        if let Some(at) = evidence.says.find("CFA = ").filter(|_| agrees) {
            all.push(evidence.says[at..].to_owned());
        }
    }
    let Some(wrong) = finding.row.as_ref().map(|row| row.rules.as_str()) else { return all };
    let rules: Vec<&str> = wrong.split(", ").collect();
    let [cfa, ra, fp] = rules[..] else { return all };
    let Some(stack) = &finding.stack else { return all };
    let expected = number(&finding.expected);
    let slot = |cfa: u64| {
        let slot = stack.slots.iter().find(|slot| slot.value == expected.map(Address))?;
        cfa.checked_sub(slot.address.0).map(|below| format!("*(CFA-{below})"))
    };
    match finding.verdict {
        // A number of bytes above SP may be that of this call alone.
        Verdict::WrongCfa if !finding.evidence.iter().any(|witness| witness.says.contains("CFA unknown")) => {
            if let Some(above) = expected.and_then(|cfa| cfa.checked_sub(stack.sp.0)) {
                let sum = if above == 0 { "SP".to_owned() } else { format!("SP+{above}") };
                all.push(format!("CFA = {sum}, {ra}, {fp}"));
            }
        }
        Verdict::WrongFp => {
            all.push(format!("{cfa}, {ra}, FP unchanged"));
            let slot = value(cfa, stack.sp.0, stack.fp.0).and_then(slot);
            all.extend(slot.map(|slot| format!("{cfa}, {ra}, FP = {slot}")));
        }
        Verdict::WrongRa => {
            let slot = value(cfa, stack.sp.0, stack.fp.0).and_then(slot);
            all.extend(slot.map(|slot| format!("{cfa}, RA = {slot}, {fp}")));
        }
        _ => {}
    }
    all
}

fn number(text: &str) -> Option<u64> {
    u64::from_str_radix(text.strip_prefix("0x")?, 16).ok()
}

/// The CFA that a rule with SP or FP gives.
fn value(rule: &str, sp: u64, fp: u64) -> Option<u64> {
    let sum = rule.strip_prefix("CFA = ")?;
    let (base, offset) = sum.split_once('+').unwrap_or((sum, "0"));
    let base = match base {
        "SP" => sp,
        "FP" => fp,
        _ => return None,
    };
    Some(base.wrapping_add(offset.parse::<u64>().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_is_read_as_findings_print_it() {
        assert_eq!(value("CFA = SP+16", 0x100, 0x200), Some(0x110));
        assert_eq!(value("CFA = FP", 0x100, 0x200), Some(0x200));
        assert_eq!(value("CFA = r10", 0x100, 0x200), None);
        assert_eq!(value("CFA = *(FP-8)", 0x100, 0x200), None);
        assert_eq!((number("0x10"), number("16")), (Some(16), None));
    }
}
