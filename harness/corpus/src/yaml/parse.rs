//! Parsing, and translating the library's errors.

use std::ops::Range;

use serde::de::DeserializeOwned;
use sframe_judge::vocabulary::suggest::{hint, quoted_list};
use sframe_vectors::words::{Reworded, Unknown, reword};

use super::walk::{self, Fault};
use super::{Error, Source};

pub(super) fn parse<T: DeserializeOwned>(source: &Source) -> Result<T, Error> {
    let body = source.body();
    check_text(source)?;
    if let Some((span, fault)) = walk::fault(body) {
        return Err(match fault {
            Fault::Duplicate(key) => error(
                source,
                span,
                format!("duplicate key `{key}`"),
                Some("this mapping already has that key".into()),
            ),
            Fault::TooMuch => too_many_aliases(source, span),
        });
    }
    serde_yaml::from_str(body).map_err(|cause| translate(source, &cause))
}

/// An error at a range of the body.
fn error(source: &Source, span: Range<usize>, message: String, help: Option<String>) -> Error {
    let bom = source.bom();
    source.error_at(span.start + bom..span.end + bom, message, help)
}

/// Checks for what the library would refuse without a position, or not
/// understand.
fn check_text(source: &Source) -> Result<(), Error> {
    let body = source.body();
    if body.len() > Source::MAX_BYTES {
        let message = format!("larger than {} bytes, too large to be read", Source::MAX_BYTES);
        return Err(error(source, 0..0, message, None));
    }
    if let Some((at, bad)) = body.char_indices().find(|&(_, character)| !is_yaml(character)) {
        let message = format!("character U+{:04X} is not allowed in YAML", u32::from(bad));
        return Err(error(source, at..at + bad.len_utf8(), message, None));
    }
    if !body.lines().any(is_content) {
        return Err(error(source, 0..0, "the file is empty".into(), None));
    }
    if let Some(at) = too_deep(body) {
        let message = format!("more than {MAX_BRACKETS} brackets are open here");
        return Err(error(source, at..at + 1, message, None));
    }
    Ok(())
}

/// Whether YAML 1.1 allows the character in a file.
fn is_yaml(character: char) -> bool {
    match character {
        '\t' | '\n' | '\r' | '\u{85}' => true,
        '\u{feff}' => false,
        _ => !character.is_control() && !matches!(character, '\u{fffe}' | '\u{ffff}'),
    }
}

/// Whether a line holds anything but a comment or a document marker.
fn is_content(line: &str) -> bool {
    let line = line.trim();
    !(line.is_empty() || line.starts_with('#') || line == "---" || line == "...")
}

/// The most brackets that may be open at once. The parser's time grows with the
/// square of their number, so a file of nothing but brackets would hang it.
const MAX_BRACKETS: usize = 1000;

/// The position at which more than [`MAX_BRACKETS`] brackets are open. Brackets
/// in strings and comments are counted too: no sensible file has that many.
fn too_deep(text: &str) -> Option<usize> {
    let mut open = 0_usize;
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'[' | b'{' => open += 1,
            b']' | b'}' => open = open.saturating_sub(1),
            _ => {}
        }
        if open > MAX_BRACKETS {
            return Some(at);
        }
    }
    None
}

/// Translates the library's error into our words and with our pointer.
fn translate(source: &Source, cause: &serde_yaml::Error) -> Error {
    let body = source.body();
    let text = cause.to_string();
    let Some(location) = cause.location() else {
        return without_location(source, &text);
    };
    let start = location.index().min(body.len());
    let here = format!(" at line {} column {}", location.line(), location.column());
    let (message, help) = reworded(&text.replacen(&here, "", 1));
    let help = help.or_else(|| help_with_tab(body, start));
    error(source, start..token_end(body, start), message, help)
}

/// Handles errors for which the library has no position.
fn without_location(source: &Source, text: &str) -> Error {
    let body = source.body();
    if text.contains("more than one document") {
        let at = second_document(body);
        let help = Some("a file holds one document; remove the `---` line".into());
        return error(source, at..at + 3, "a second document begins here".into(), help);
    }
    if text == "repetition limit exceeded" {
        return too_many_aliases(source, 0..0);
    }
    let (message, help) = reworded(text);
    error(source, 0..0, message, help)
}

fn too_many_aliases(source: &Source, span: Range<usize>) -> Error {
    let help = Some("write the values out".into());
    error(source, span, "aliases repeat too much of the file".into(), help)
}

/// The start of the marker line of the second document.
fn second_document(text: &str) -> usize {
    let mut content = false;
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        if content && line.starts_with("---") {
            return at;
        }
        content |= is_content(line) && !line.starts_with('%');
        at += line.len();
    }
    0
}

/// Returns help if there is a tab, which looks like the spaces it should be.
fn help_with_tab(text: &str, at: usize) -> Option<String> {
    let line_start = text[..at].rfind('\n').map_or(0, |newline| newline + 1);
    let line = text[line_start..].lines().next().unwrap_or_default();
    let indentation = &line[..line.len() - line.trim_start().len()];
    indentation.contains('\t').then(|| "YAML is indented with spaces, and this line begins with a tab".into())
}

/// The end of the word that begins at `start`: what the marker underlines.
fn token_end(text: &str, start: usize) -> usize {
    let rest = &text[start..];
    let ends = |character: char| character.is_whitespace() || ",[]{}".contains(character);
    let word = rest.find(ends).unwrap_or(rest.len());
    let word = rest[..word].strip_suffix(':').unwrap_or(&rest[..word]);
    start + word.len().max(1)
}

/// Rewords Serde's message for somebody who writes YAML. Returns the message
/// and the help.
fn reworded(text: &str) -> (String, Option<String>) {
    let text = shortened(text);
    let Reworded { message, unknown } = reword(&text);
    match unknown {
        Some(Unknown { given, allowed }) => {
            let message = message + &hint(given, allowed.iter().copied());
            (message, Some(format!("allowed here: {}", quoted_list(allowed))))
        }
        None => {
            const IN_WORDS: [(&str, &str); 2] = [
                ("expected a boolean", "expected `true` or `false`"),
                ("expected a whole number", "expected a whole number that is not negative"),
            ];
            let is_negative = message.contains("integer `-");
            let in_words = IN_WORDS.iter().enumerate().find_map(|(index, (ours, words))| {
                let start = message.strip_suffix(ours).filter(|_| index == 0 || is_negative)?;
                Some(format!("{start}{words}"))
            });
            (in_words.unwrap_or(message), None)
        }
    }
}

/// Cuts out the middle of a message that quotes a long value.
fn shortened(text: &str) -> String {
    const KEEP: usize = 200;
    let boundary = |count: usize| text.char_indices().nth(count).map_or(text.len(), |(at, _)| at);
    let length = text.chars().count();
    if length <= 5 * KEEP {
        return text.to_owned();
    }
    format!("{} ... {}", &text[..boundary(KEEP)], &text[boundary(length - KEEP)..])
}
