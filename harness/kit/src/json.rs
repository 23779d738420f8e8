//! JSON documents, as written to files and printed.

use std::io::{self, Write};

use serde::Serialize;

use crate::text::{Text, is_shown};

/// Version of the format of all documents.
pub const SCHEMA: u32 = 1;

/// Whether a count is 0, for those that documents leave out then.
#[must_use]
pub const fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// Returns a document as indented JSON. The values are unchanged; characters that a
/// terminal interprets, or that are invisible, are written as escapes.
///
/// # Errors
/// It can't be written as JSON.
pub fn pretty(document: &impl Serialize) -> serde_json::Result<Text> {
    let mut json = Vec::new();
    write_pretty(&mut json, document)?;
    let json = String::from_utf8(json).map_err(io::Error::other).map_err(serde_json::Error::io)?;
    Ok(Text::made_neutral(json))
}

/// Writes what [`pretty`] returns, as it is produced.
///
/// # Errors
/// It can't be serialized as JSON, or the output can't be written.
pub fn write_pretty(out: &mut impl Write, document: &impl Serialize) -> serde_json::Result<()> {
    serde_json::to_writer_pretty(Escaped { out, after_hash: false }, document)?;
    out.write_all(b"\n").map_err(serde_json::Error::io)
}

/// Writes characters of JSON that must not appear literally as escapes. They occur
/// only in strings.
struct Escaped<'w, W> {
    out: &'w mut W,
    /// Whether the last character is a `#` that was written literally.
    after_hash: bool,
}

impl<W: Write> Escaped<'_, W> {
    fn write_char(&mut self, c: char) -> io::Result<()> {
        // CI systems interpret lines of their logs that start with two of them.
        let is_second = c == '#' && self.after_hash;
        self.after_hash = c == '#' && !is_second;
        if !is_second && (c == '\n' || is_shown(c)) {
            return self.out.write_all(c.encode_utf8(&mut [0; 4]).as_bytes());
        }
        let mut units = [0; 2];
        for unit in c.encode_utf16(&mut units) {
            write!(self.out, "\\u{unit:04x}")?;
        }
        Ok(())
    }
}

impl<W: Write> Write for Escaped<'_, W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if bytes.iter().all(|byte| matches!(byte, b'\n' | b' '..=b'~') && *byte != b'#') {
            self.out.write_all(bytes)?;
            self.after_hash &= bytes.is_empty();
            return Ok(bytes.len());
        }
        // Strings arrive in whole characters.
        for c in std::str::from_utf8(bytes).map_err(io::Error::other)?.chars() {
            self.write_char(c)?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// Returns a document for a page that shows each text literally: invisible
/// characters are written as by [`neutral`](crate::text::neutral).
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
    fn the_second_of_two_hashes_is_escaped() {
        let hashes: Vec<String> = (0..6).map(|count| "#".repeat(count)).collect();
        let json = pretty(&hashes).expect("JSON");
        assert!(!json.contains("##"), "{json}");
        let lines: Vec<&str> = json.lines().map(|line| line.trim_matches([' ', ',', '"'])).collect();
        assert_eq!(lines[1..6], ["", "#", r"#\u0023", r"#\u0023#", r"#\u0023#\u0023"]);
        assert_eq!(serde_json::from_str::<Vec<String>>(&json).expect("JSON"), hashes);
    }

    #[test]
    fn a_page_shows_invisible_characters_as_text() {
        let json = for_page(&[HOSTILE]).expect("JSON");
        let back: Vec<String> = serde_json::from_str(&json).expect("JSON");
        assert_eq!(
            back[0],
            "\"\\n\\n\\t\\r\\0\\u{8}\\u{c}\\u{1b}\\u{7f}\\u{9b}\\u{202e}\\u{2028}\\u{fffe}\\u{e0041}é"
        );
    }
}
