//! What is different in an answer, without where it is: differences of one cause
//! have the same changes.

use std::collections::BTreeSet;
use std::fmt;

use serde::Serialize;
use serde_json::{Map, Value};

/// The key of an answer that has nothing else.
const REJECT: &str = "reject";

/// A field of an answer that differs.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Change {
    /// The field, with those that contain it: `rows.cfa`. Empty for the whole answer.
    pub field: String,
    /// What is expected there, with `N` for numbers: `SP+N`.
    pub expected: String,
    /// What the reader has.
    pub got: String,
    /// What the one number in it is too much, if nothing else differs.
    pub excess: Option<i128>,
}

impl Change {
    /// Whether two changes may have one cause: they differ in the excess alone.
    #[must_use]
    pub fn is_like(&self, other: &Self) -> bool {
        (&self.field, &self.expected, &self.got) == (&other.field, &other.expected, &other.got)
    }
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { field, expected, got, excess } = self;
        if !field.is_empty() {
            write!(f, "{field} ")?;
        }
        match excess {
            Some(excess) if *excess < 0 => write!(f, "{expected} is {} too low", -excess),
            Some(excess) => write!(f, "{expected} is {excess} too high"),
            None if expected == got => write!(f, "{expected} has another N"),
            None => write!(f, "{got} instead of {expected}"),
        }
    }
}

/// Returns the fields that differ, each once.
pub(crate) fn changes<T: Serialize + ?Sized, U: Serialize + ?Sized>(expected: &T, got: &U) -> Vec<Change> {
    let mut found = Vec::new();
    // What can't be written differs as a whole.
    let expected = serde_json::to_value(expected).unwrap_or_default();
    let got = serde_json::to_value(got).unwrap_or_default();
    collect("", &expected, &got, &mut found);
    found.sort();
    found.dedup();
    found
}

fn collect(field: &str, expected: &Value, got: &Value, found: &mut Vec<Change>) {
    if expected == got {
        return;
    }
    if let (Value::Object(expected), Value::Object(got)) = (expected, got)
        && expected.contains_key(REJECT) == got.contains_key(REJECT)
    {
        let names: BTreeSet<&String> = expected.keys().chain(got.keys()).collect();
        for name in names {
            let inner = if field.is_empty() { name.clone() } else { format!("{field}.{name}") };
            let value = |fields: &Map<String, Value>| fields.get(name).cloned().unwrap_or_default();
            collect(&inner, &value(expected), &value(got), found);
        }
        return;
    }
    let (expected, got) = (Shape::of(expected), Shape::of(got));
    let numbers = expected.numbers.iter().zip(&got.numbers);
    let mut excesses = numbers.map(|(expected, got)| got.wrapping_sub(*expected)).filter(|it| *it != 0);
    let excess = excesses.next().filter(|_| expected.text == got.text && excesses.next().is_none());
    found.push(Change { field: field.to_owned(), expected: expected.text, got: got.text, excess });
}

/// The reason of an end, and what could not be had; none of anything else.
fn end(fields: &Map<String, Value>) -> Option<String> {
    let word = |key: &str| fields.get(key).and_then(Value::as_str);
    let kind = word("kind").filter(|_| !fields.contains_key("pc"))?;
    Some(word("what").map_or_else(|| kind.to_owned(), |what| format!("{kind} ({what})")))
}

/// A text with `N` for each of its numbers: those of one cause are the same.
#[must_use]
pub fn without_numbers(text: &str) -> String {
    Shape::of_text(text).text
}

/// A value with `N` for each of its numbers.
#[derive(Debug, Default, PartialEq, Eq)]
struct Shape {
    text: String,
    numbers: Vec<i128>,
}

impl Shape {
    fn of(value: &Value) -> Self {
        match value {
            Value::Null => Self { text: "none".to_owned(), ..Self::default() },
            Value::Bool(is_so) => Self { text: is_so.to_string(), ..Self::default() },
            Value::Number(number) => Self::of_text(&number.to_string()),
            Value::String(text) => Self::of_text(text),
            Value::Object(fields) => match fields.get(REJECT) {
                Some(reject) => {
                    let kind = reject.get("kind").and_then(Value::as_str).unwrap_or("unspecified");
                    Self { text: format!("a rejection ({kind})"), ..Self::default() }
                }
                None => {
                    Self { text: end(fields).unwrap_or_else(|| "an answer".to_owned()), ..Self::default() }
                }
            },
            Value::Array(_) => Self { text: "a list".to_owned(), ..Self::default() },
        }
    }

    fn of_text(text: &str) -> Self {
        let mut shape = Self::default();
        let mut rest = text;
        while let Some(first) = rest.chars().next() {
            let is_signed = rest.starts_with(['+', '-']);
            let follows_name = shape.text.ends_with(char::is_alphanumeric);
            // Digits in a name are part of it.
            match number(rest).filter(|_| is_signed || !follows_name) {
                Some((value, len)) => {
                    // `SP-8` and `SP+8` differ in a number.
                    shape.text.push_str(if is_signed && follows_name { "+N" } else { "N" });
                    shape.numbers.push(value);
                    rest = &rest[len..];
                }
                None => {
                    shape.text.push(first);
                    rest = &rest[first.len_utf8()..];
                }
            }
        }
        shape
    }
}

/// Reads the number that a text begins with. Returns also its length in bytes.
fn number(text: &str) -> Option<(i128, usize)> {
    let digits = text.trim_start_matches(['+', '-']);
    let sign = text.len() - digits.len();
    if sign > 1 {
        return None;
    }
    let (digits, prefix, radix) = match digits.strip_prefix("0x") {
        Some(digits) => (digits, 2, 16),
        None => (digits, 0, 10),
    };
    let len = digits.find(|c: char| !c.is_digit(radix)).unwrap_or(digits.len());
    let value = i128::from_str_radix(&digits[..len], radix).ok()?;
    let value = if text.starts_with('-') { -value } else { value };
    Some((value, sign + prefix + len))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn shown(expected: &Value, got: &Value) -> Vec<String> {
        changes(expected, got).iter().map(Change::to_string).collect()
    }

    #[test]
    fn differences_are_told_without_their_place() {
        let row = |start: u32, cfa: &str, fp: &str| json!({ "start": start, "cfa": cfa, "fp": fp });
        let right = row(4, "SP+16", "*(CFA-16)");
        assert_eq!(shown(&right, &row(4, "SP+24", "*(CFA-16)")), ["cfa SP+N is 8 too high"]);
        assert_eq!(shown(&right, &row(4, "SP-8", "*(CFA-16)")), ["cfa SP+N is 24 too low"]);
        assert_eq!(shown(&right, &row(4, "FP+16", "*(CFA-16)")), ["cfa FP+N instead of SP+N"]);
        let several = ["fp unchanged instead of *(CFA+N)", "start N is 4 too low"];
        assert_eq!(shown(&right, &row(0, "SP+16", "unchanged")), several);
        assert_eq!(shown(&right, &right), [""; 0]);
        // A register's number is its name.
        assert_eq!(shown(&json!("R11+8"), &json!("R12+8")), ["R12+N instead of R11+N"]);
        assert_eq!(shown(&json!("0x1004"), &json!("0x1000")), ["N is 4 too low"]);
        assert_eq!(shown(&json!("1 2"), &json!("3 4")), ["N N has another N"]);
    }

    #[test]
    fn a_rejection_is_one_difference() {
        let reject = json!({ "reject": { "kind": "bad-magic", "offset": 0 } });
        let answer = json!({ "start": 1, "size": 2 });
        assert_eq!(shown(&answer, &reject), ["a rejection (bad-magic) instead of an answer"]);
        assert_eq!(shown(&reject, &answer), ["an answer instead of a rejection (bad-magic)"]);
        let other = json!({ "reject": { "kind": "truncated", "offset": 0 } });
        assert_eq!(shown(&reject, &other), ["reject.kind truncated instead of bad-magic"]);
    }
}
