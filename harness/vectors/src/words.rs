//! Serde's words, for people who write the documents that it reads.

use crate::suggest::{hint, quoted_list};

/// What is wrong with a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reworded<'t> {
    /// In a sentence.
    pub message: String,
    /// The key, or the name, if it is one that does not exist.
    pub unknown: Option<Unknown<'t>>,
}

/// A key or a name that does not exist.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unknown<'t> {
    /// It.
    pub given: &'t str,
    /// What could be there.
    pub allowed: Vec<&'t str>,
}

/// The most characters of a text that are repeated.
const LONGEST: usize = 60;

/// Rewords what Serde says, without the place in the text.
#[must_use]
pub fn reword(said: &str) -> Reworded<'_> {
    for (theirs, ours) in [("unknown field `", "unknown key"), ("unknown variant `", "unknown name")] {
        if let Some((place, rest)) = said.split_once(theirs)
            && let Some((given, allowed)) = rest.split_once("`, ")
        {
            // Every second piece between backquotes is a name.
            let allowed = allowed.split('`').skip(1).step_by(2).collect();
            let message = format!("{place}{ours} `{given}`");
            return Reworded { message, unknown: Some(Unknown { given, allowed }) };
        }
    }
    let mut message = said
        .replace("missing field `", "missing key `")
        .replace("duplicate field `", "duplicate key `")
        .replace("invalid type: unit value", "invalid type: nothing")
        .replace("invalid type: null", "invalid type: nothing")
        .replace("invalid type: map", "invalid type: mapping")
        .replace("invalid type: sequence", "invalid type: list");
    if let Some((start, _)) = message.split_once("expected struct ") {
        message = format!("{start}expected a mapping");
    }
    // A text that has been taken for a document may be long.
    if let Some((before, rest)) = message.split_once("string \"")
        && let Some((text, after)) = rest.rsplit_once('"')
        && text.chars().count() > LONGEST
    {
        let start: String = text.chars().take(LONGEST).collect();
        message = format!("{before}string \"{start}...\"{after}");
    }
    // What is beyond 64 bits has the name of its Rust type.
    for theirs in ["` as u128, ", "` as i128, "] {
        message = message.replace(theirs, "`, which has more than 64 bits, ");
    }
    let number = ["u64", "usize", "i64"];
    let number = number.map(|number| (number, "a whole number"));
    let others = [
        ("a nonzero u32", "a whole number, 1 or more"),
        ("u8", "a whole number, 0 to 255"),
        ("u16", "a whole number, 0 to 65,535"),
        ("u32", "a whole number, 0 to 4,294,967,295"),
        ("i8", "a whole number, -128 to 127"),
        ("i16", "a whole number, -32,768 to 32,767"),
        ("i32", "a whole number, -2,147,483,648 to 2,147,483,647"),
        ("a sequence", "a list"),
        ("a map", "a mapping"),
    ];
    for (theirs, ours) in number.into_iter().chain(others) {
        if let Some(start) = message.strip_suffix(theirs).and_then(|start| start.strip_suffix("expected ")) {
            message = format!("{start}expected {ours}");
            break;
        }
    }
    Reworded { message, unknown: None }
}

/// What is wrong with a JSON document, in a sentence: where, and for a key or name that does not exist, what was probably
/// meant, and what is allowed.
#[must_use]
pub fn of_json(error: &serde_json::Error) -> String {
    let place = match error.line() {
        0 => String::new(),
        1 if error.is_eof() && error.column() == 0 => return "it is empty".to_owned(),
        line => format!(" (line {line}, column {})", error.column()),
    };
    told(error, &place)
}

/// Rewords the error of a message, which is one line of many: without the place, so that what is wrong in one way has one
/// wording.
#[must_use]
pub fn of_json_message(error: &serde_json::Error) -> String {
    told(error, "")
}

fn told(error: &serde_json::Error, place: &str) -> String {
    let text = error.to_string();
    let said = text.split_once(" at line ").map_or(&*text, |(said, _)| said);
    let Reworded { message, unknown } = reword(said);
    match unknown {
        Some(Unknown { given, allowed }) => {
            let hint = hint(given, allowed.iter().copied());
            format!("{message}{place}{hint} (allowed here: {})", quoted_list(allowed))
        }
        None => message + place,
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Document {
        #[expect(dead_code, reason = "only errors are looked at")]
        count: u8,
    }

    #[test]
    fn json_is_told_of_without_names_of_types() {
        let text = format!("\"{}\"", "x".repeat(1000));
        let told = |text| of_json(&serde_json::from_str::<Document>(text).expect_err(text));
        assert_eq!(told("3"), "invalid type: integer `3`, expected a mapping (line 1, column 1)");
        assert_eq!(told("null"), "invalid type: nothing, expected a mapping (line 1, column 4)");
        let long = told(&text);
        assert_eq!(
            long,
            format!(
                "invalid type: string \"{}...\", expected a mapping (line 1, column 1002)",
                "x".repeat(60)
            )
        );
        assert_eq!(told("{}"), "missing key `count` (line 1, column 2)");
        let hint = "; did you mean `count`? (allowed here: `count`)";
        assert_eq!(told("{\n \"cuont\": 1}"), format!("unknown key `cuont` (line 2, column 8){hint}"));
        let error =
            serde_json::from_str::<Document>("{\"cuont\": 1}").expect_err("a key that does not exist");
        assert_eq!(of_json_message(&error), format!("unknown key `cuont`{hint}"));
        let too_large = "invalid value: integer `256`, expected a whole number, 0 to 255 (line 1, column 13)";
        assert_eq!(told("{\"count\": 256}"), too_large);
    }
}
