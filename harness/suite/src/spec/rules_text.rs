//! The rules of a row as findings print them.

use sframe_vectors::{Equation, Recovery};

/// Whether a text is what a finding can print as the rules of a row: `no row`, `RA undefined`, or
/// `CFA = SP+16, RA = *(CFA-8), FP unchanged`.
pub(super) fn is_rules(text: &str) -> bool {
    if matches!(text, "no row" | "RA undefined") {
        return true;
    }
    let [cfa, ra, fp] = text.split(", ").collect::<Vec<_>>()[..] else { return false };
    let is_recovered = |text: &str, value: &str| {
        let rule = text.strip_prefix(value);
        rule.is_some_and(|rule| match rule.strip_prefix(" = ") {
            Some(equation) => equation.parse::<Equation>().is_ok(),
            None => matches!(rule.trim_start().parse(), Ok(Recovery::Unchanged | Recovery::Undefined)),
        })
    };
    let equation = cfa.strip_prefix("CFA = ");
    equation.is_some_and(|cfa| cfa.parse::<Equation>().is_ok())
        && is_recovered(ra.strip_suffix(" (mangled)").unwrap_or(ra), "RA")
        && is_recovered(fp, "FP")
}

#[cfg(test)]
mod tests {
    use super::is_rules;

    #[test]
    fn rules_are_what_findings_print() {
        for rules in [
            "no row",
            "RA undefined",
            "CFA = SP+16, RA = *(CFA-8), FP unchanged",
            "CFA = *(FP-24), RA = *(CFA-8), FP = *(FP)",
            "CFA = r10, RA unchanged (mangled), FP = r14",
            "CFA = SP-8, RA undefined, FP unchanged",
        ] {
            assert!(is_rules(rules), "{rules}");
        }
        for text in [
            "",
            "no rows",
            "CFA is SP+16, RA = *(CFA-8), FP unchanged",
            "CFA = SP+16, RA = *(CFA-8)",
            "CFA = SP+16, RA = *(CFA-8), FP same",
            "CFA = SP+16, FP unchanged, RA = *(CFA-8)",
            "CFA = unchanged, RA = *(CFA-8), FP unchanged",
            "CFA=SP+16, RA=*(CFA-8), FP unchanged",
            "CFA = SP+N, RA = *(CFA-8), FP unchanged",
        ] {
            assert!(!is_rules(text), "{text}");
        }
    }
}
