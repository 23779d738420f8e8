//! A section in the format of `corpus/vectors`, to be added there.

use std::fmt::Write as _;

use serde::Serialize;
use serde_yaml::Value;
use sframe_vectors::{Address, Fde, Header, Lookup, Reject, SectionSource, Step, Vector};

/// How many bytes of a section stand on a line.
const LINE: usize = 32;
/// How long lists and mappings are at most that stand on one line.
const WIDTH: usize = 110;
/// What functions usually are, which is left out.
const USUAL: [(&str, &str); 5] = [
    ("fre_type", "addr1"),
    ("pc_type", "inc"),
    ("fde_type", "default"),
    ("pauth_key", "a"),
    ("rep_size", "0"),
];

/// What stands before the bytes.
#[derive(Serialize)]
struct Before<'v> {
    name: &'v str,
    summary: &'v str,
    clauses: &'v [String],
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    readings: &'v [String],
    address: Address,
    section: Option<&'v SectionSource>,
}

/// The answers.
#[derive(Serialize)]
struct Answers<'v> {
    header: Option<&'v Header>,
    fdes: &'v [Fde],
    lookups: &'v [Lookup],
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    steps: &'v [Step],
}

#[derive(Serialize)]
struct Rejected<'v> {
    reject: &'v Reject,
}

/// Returns the file of a vector, which a name and a sentence are given to.
#[must_use]
pub fn vector_file(vector: &Vector, name: &str, summary: &str) -> String {
    let Vector { clauses, readings, address, section, bytes, reject, header, fdes, lookups, steps, .. } =
        vector;
    let (address, section) = (Address(*address), section.as_ref());
    let mut text = block_of(&Before { name, summary, clauses, readings, address, section });
    text.push_str(if bytes.is_empty() { "bytes: \"\"\n" } else { "bytes: >-\n" });
    for bytes in bytes.chunks(LINE) {
        let words = bytes.chunks(4).map(|word| word.iter().map(|byte| format!("{byte:02x}")).collect());
        let _ = writeln!(text, "  {}", words.collect::<Vec<String>>().join(" "));
    }
    text + &match reject {
        Some(reject) => block_of(&Rejected { reject }),
        None => block_of(&Answers { header: header.as_ref(), fdes, lookups, steps }),
    }
}

fn block_of(value: &impl Serialize) -> String {
    let lines = serde_yaml::to_value(value).map(|value| block(&value)).unwrap_or_default();
    lines.into_iter().map(|line| format!("{line}\n")).collect()
}

/// The lines of a list or mapping: one for each entry that fits on it.
fn block(value: &Value) -> Vec<String> {
    let lines = |value: &Value| flow(value).map_or_else(|| block(value), |line| vec![line]);
    match value {
        Value::Mapping(fields) => {
            let field = |(key, value): (&Value, &Value)| match flow(value) {
                Some(line) => vec![format!("{}: {line}", plain(key))],
                None => {
                    let inner = block(value).into_iter().map(|line| format!("  {line}"));
                    std::iter::once(format!("{}:", plain(key))).chain(inner).collect()
                }
            };
            fields.iter().filter(|(key, value)| is_said(key, value)).flat_map(field).collect()
        }
        Value::Sequence(items) => {
            let marked =
                |(index, line): (usize, String)| format!("{}{line}", if index == 0 { "- " } else { "  " });
            items.iter().flat_map(|item| lines(item).into_iter().enumerate().map(marked)).collect()
        }
        _ => Vec::new(),
    }
}

/// A value on one line, if it has no mappings in it and is not too long.
fn flow(value: &Value) -> Option<String> {
    let line = match value {
        Value::Sequence(items) => {
            let items = items.iter().map(|item| flow(item).filter(|_| !item.is_mapping()));
            format!("[{}]", items.collect::<Option<Vec<String>>>()?.join(", "))
        }
        Value::Mapping(fields) => {
            let fields = fields.iter().filter(|(key, value)| is_said(key, value));
            let field = |(key, value): (&Value, &Value)| {
                Some(format!("{}: {}", plain(key), flow(value).filter(|_| !value.is_mapping())?))
            };
            format!("{{{}}}", fields.map(field).collect::<Option<Vec<String>>>()?.join(", "))
        }
        value => return Some(plain(value)),
    };
    Some(line).filter(|line| line.len() <= WIDTH)
}

/// Whether a field is not what is taken for granted.
fn is_said(key: &Value, value: &Value) -> bool {
    let is_usual = |(usual, other): &(&str, &str)| key == usual && plain(value) == *other;
    !matches!(value, Value::Null | Value::Bool(false)) && !USUAL.iter().any(is_usual)
}

/// A value that has no others in it. What might be read as something else than a text is quoted.
fn plain(value: &Value) -> String {
    match value {
        Value::Bool(is) => is.to_string(),
        Value::Number(number) => number.to_string(),
        Value::String(text) => {
            let is_word = text.starts_with(|first: char| first.is_ascii_alphabetic())
                && text.chars().all(|letter| letter.is_ascii_alphanumeric() || "_-".contains(letter));
            if is_word {
                text.clone()
            } else {
                format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
            }
        }
        _ => String::new(),
    }
}
