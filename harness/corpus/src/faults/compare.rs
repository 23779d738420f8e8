//! A page beside what its build shows.

use sframe_engine::{Recovery, RowRules};
use sframe_judge::finding::{Address, Answer, Evidence, Finding, StackView};
use sframe_judge::vocabulary::Verdict;

use super::observe::{Observed, witnesses};
use crate::spec::{Example, Fault, NO_ROW};

/// Returns how a page differs from what its build shows; empty if it is as written.
#[must_use]
pub fn differences(fault: &Fault, observed: &Observed) -> Vec<String> {
    let example = &fault.example;
    let Example { function, verdict, wrong, row, .. } = example;
    let Some(finding) = observed.finding(example) else {
        let place = row.map_or_else(|| function.clone(), |row| format!("{function}, row +{row}"));
        let mut lines = vec![format!("{verdict} in {place}, with {wrong}: not seen")];
        lines.extend(observed.lines(example).into_iter().map(|line| format!("seen: {line}")));
        return lines;
    };
    let mut lines = Vec::new();
    let blame = fault.blame();
    if !finding.may_be_blamed_on(blame) {
        lines.push(format!("triage blames {} instead of {blame}", finding.blame));
    }
    let said = witnesses(observed, finding);
    let all = said.keys().chain(fault.witnesses.keys().filter(|witness| !said.contains_key(*witness)));
    for witness in all {
        let (now, page) = (said.get(witness), fault.witnesses.get(witness));
        if now != page {
            let text = |says: Option<&String>| says.map_or("nothing", String::as_str).to_owned();
            lines.push(format!("{witness} says: {}; on the page: {}", text(now), text(page)));
        }
    }
    lines.extend(doubt(example, finding, observed));
    lines
}

/// Says what speaks against the rules that a page calls right.
fn doubt(example: &Example, finding: &Finding, observed: &Observed) -> Option<String> {
    let Example { right, wrong, .. } = example;
    if right == NO_ROW {
        return None;
    }
    if wrong == NO_ROW {
        let said = observed.first_of_cfi().map(|row| row.rules.to_string());
        return (said.as_deref() != Some(right))
            .then(|| format!("{right} is not what the CFI says at its start"));
    }
    let Ok(rules) = right.parse::<RowRules>() else {
        return Some(format!("{right} is not what a row can say"));
    };
    // A walk that ends too early has no value to compare with what a witness says.
    let is_open = example.verdict == Verdict::Truncated;
    let says_so = |evidence: &Evidence| {
        evidence.right_rules() == Some(rules)
            || (is_open && evidence.agrees_with.is_none() && evidence.answer == Some(Answer::Rules(rules)))
    };
    if finding.evidence.iter().any(says_so) {
        return None;
    }
    let Some(value) = finding.stack.as_ref().and_then(|stack| value(example.verdict, &rules, stack)) else {
        return Some(format!("no witness says {right}, and its value can't be computed from the stack"));
    };
    let is_expected = finding.expected.address() == Some(value);
    (!is_expected).then(|| format!("{right} gives {}, and not {}", Address(value), finding.expected))
}

/// What the right rules give for what is wrong.
fn value(verdict: Verdict, right: &RowRules, stack: &StackView) -> Option<u64> {
    let cfa = right.cfa.and_then(|cfa| stack.evaluate(cfa, None));
    let tracked = match verdict {
        Verdict::WrongCfa => return cfa,
        Verdict::WrongFp => right.fp,
        Verdict::WrongRa => right.ra,
        _ => return None,
    };
    match tracked {
        Recovery::Unchanged if verdict == Verdict::WrongFp => Some(stack.fp.0),
        Recovery::Rule(rule) => stack.evaluate(rule, cfa),
        Recovery::Unchanged | Recovery::Undefined => None,
    }
}
