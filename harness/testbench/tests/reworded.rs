//! No verdict depends on words. Here every sentence that the judge makes is another one, and the outcomes are those
//! that specs expect.
//!
//! It is a program of its own, because it changes the sentences of its whole process.

mod common;

use sframe_judge::finding::Finding;
use sframe_judge::unwind::sframe_unwinder;
use sframe_judge::vocabulary::Prose;
use sframe_machine::Options;
use sframe_suite::case::{CaseReport, Outcome};
use sframe_suite::suite::Filter;

/// Other letters and digits, each by itself: different sentences stay different.
fn other_words(text: &str) -> String {
    let other = |letter: char| match letter {
        'a'..='y' | 'A'..='Y' | '0'..='8' => char::from_u32(u32::from(letter) + 1).unwrap_or(letter),
        'z' => 'a',
        'Z' => 'A',
        '9' => '0',
        ' ' => '_',
        ':' => ';',
        ',' => '/',
        _ => letter,
    };
    text.chars().map(other).collect()
}

#[test]
fn verdicts_are_the_same_in_other_words() {
    Prose::reword(other_words);
    let suite = common::suite();
    let cases = suite.cases(&Filter::default()).expect("cases");
    let reports = suite.run(&cases, &Options::default(), &sframe_unwinder, &|_| ());
    let is_good =
        |report: &&CaseReport| matches!(report.outcome, Outcome::Agree | Outcome::Known | Outcome::Skipped);
    let bad: Vec<&String> =
        reports.iter().filter(|report| !is_good(report)).map(|report| &report.id).collect();
    assert!(bad.is_empty(), "{bad:?}");
    let known: Vec<&Finding> =
        reports.iter().flat_map(|report| &report.known).map(|known| &known.finding).collect();
    assert!(known.len() > 300, "{} known findings", known.len());
    let says = |finding: &&Finding| finding.message.says.to_string();
    assert!(known.iter().all(|finding| !says(finding).contains("the call stack has")), "they were reworded");
}
