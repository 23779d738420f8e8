//! Documents in JSON, as they are written to files and printed.

use serde::Serialize;

use crate::text::{Text, is_shown};

/// Version of the form of all documents.
pub const SCHEMA: u32 = 1;

/// A document, with an indentation. Its values are what they are; characters
/// that a terminal obeys, or a reader does not see, are written as escapes.
///
/// # Errors
/// It can't be written as JSON.
pub fn pretty(document: &impl Serialize) -> serde_json::Result<Text> {
    // What CI systems obey in their logs is in strings only, too.
    let json = serde_json::to_string_pretty(document)?.replace("##", r"#\u0023");
    // Outside of strings there is nothing of the kind.
    let mut escaped = String::with_capacity(json.len() + 1);
    for c in json.chars() {
        if c == '\n' || is_shown(c) {
            escaped.push(c);
        } else {
            let mut units = [0; 2];
            let units = c.encode_utf16(&mut units);
            escaped.extend(units.iter().map(|unit| format!("\\u{unit:04x}")));
        }
    }
    escaped.push('\n');
    Ok(Text::made_neutral(escaped))
}

/// A document for a page, in which each text is shown as it is: what would not
/// be seen is in it as [`neutral`](crate::text::neutral) writes it.
///
/// # Errors
/// It can't be written as JSON.
pub fn for_page(document: &impl Serialize) -> serde_json::Result<String> {
    let json = serde_json::to_string(document)?;
    let mut shown = String::with_capacity(json.len());
    let mut rest = json.chars();
    while let Some(c) = rest.next() {
        match c {
            '\\' => match rest.next() {
                Some('n') => shown.push_str(r"\\n"),
                Some('t') => shown.push_str(r"\\t"),
                Some('r') => shown.push_str(r"\\r"),
                Some('b') => shown.push_str(r"\\u{8}"),
                Some('f') => shown.push_str(r"\\u{c}"),
                Some('u') => {
                    let digits: String = rest.by_ref().take(4).collect();
                    match digits.trim_start_matches('0') {
                        "" => shown.push_str(r"\\0"),
                        digits => shown.push_str(&format!(r"\\u{{{digits}}}")),
                    }
                }
                escaped => {
                    shown.push('\\');
                    shown.extend(escaped);
                }
            },
            c if is_shown(c) => shown.push(c),
            c => shown.push_str(&format!(r"\{}", c.escape_debug())),
        }
    }
    Ok(shown)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOSTILE: &str = "\"\\n\n\t\r\0\u{8}\u{c}\u{1b}\u{7f}\u{9b}\u{202e}\u{2028}\u{fffe}\u{e0041}é";

    #[test]
    fn a_document_has_its_values_and_nothing_that_a_terminal_obeys() {
        let json = pretty(&[HOSTILE]).expect("JSON");
        assert!(json.chars().all(|c| c == '\n' || is_shown(c)), "{json}");
        assert!(json.contains("\\u202e") && json.contains("\\udb40\\udc41") && json.contains('é'), "{json}");
        let back: Vec<String> = serde_json::from_str(&json).expect("JSON");
        assert_eq!(back, [HOSTILE]);
    }

    #[test]
    fn a_page_has_what_is_not_seen_as_text() {
        let json = for_page(&[HOSTILE]).expect("JSON");
        let back: Vec<String> = serde_json::from_str(&json).expect("JSON");
        assert_eq!(
            back[0],
            "\"\\n\\n\\t\\r\\0\\u{8}\\u{c}\\u{1b}\\u{7f}\\u{9b}\\u{202e}\\u{2028}\\u{fffe}\\u{e0041}é"
        );
    }
}
