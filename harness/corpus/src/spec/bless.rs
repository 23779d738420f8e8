//! New frames, and the rules of known failures, into the text of a spec, and
//! not a byte elsewhere.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::ops::Range;
use std::path::Path;

use sframe_kit::text::Text;
use similar::TextDiff;

use super::{Frames, OneOrMany, Spec, Stop};
use crate::yaml::{Error, Source};

/// Lines are wrapped so that none is longer, where names allow it.
const WIDTH: usize = 100;

/// Puts new `frames` into stops, each given by its index in `stops`.
///
/// A list in parentheses stays one, a list with dashes stays one; where a stop has
/// no frames yet, they go below its `at` and `hit`, or where what it has of its
/// own in `each` begins. All else is kept, byte for byte; frames that are as given
/// already are not touched.
///
/// # Errors
///
/// A source that is no spec; no such stop; a list that cannot be replaced
/// without loss: with comments inside, shared through an alias, or shared with a
/// stop that has other frames.
pub fn set_frames(source: &Source, edits: &[(usize, Vec<String>)]) -> Result<String, Error> {
    let mut wanted = Spec::from_source(source)?;
    let mut changes: Vec<Change> = Vec::new();
    for (number, (index, frames)) in edits.iter().enumerate() {
        let frames: Frames = frames.iter().collect();
        let Some(stop) = wanted.stops.get_mut(*index) else {
            let message = format!("there is no stop {index} to put frames into");
            return Err(source.error_at(source.key_span(&["stops"]), message, None::<&str>));
        };
        if edits[..number].iter().any(|(earlier, _)| earlier == index) {
            let message = "two edits are about this stop";
            return Err(source.error_at(source.span(&stop.place.path()), message, None::<&str>));
        }
        if stop.frames.as_ref() == Some(&frames) {
            continue;
        }
        let editor = Editor { source, stop };
        let change = if stop.frames.is_some() { editor.replace(&frames)? } else { editor.insert(&frames)? };
        // Stops that share their frames are edited at one place, in one way.
        match changes.iter().find(|other| other.range == change.range) {
            None => changes.push(change),
            Some(other) if other.text == change.text && !change.range.is_empty() => {}
            Some(_) => return Err(cannot(source, editor.key_span("at"))),
        }
        if stop.frames.replace(frames).is_none() && stop.place.each.is_some() {
            stop.place.gain("frames");
        }
    }
    let blessed = apply(source.text(), changes);
    verify(source, &blessed, &wanted)?;
    Ok(blessed)
}

/// Puts new `rules` into known failures, each given by its index in `known`:
/// before the `reason` or the `fault`, or in the place of those that are there.
///
/// # Errors
///
/// A source that is no spec; no such entry; an entry in braces.
pub fn set_rules(source: &Source, edits: &[(usize, Vec<BTreeMap<String, u64>>)]) -> Result<String, Error> {
    let mut wanted = Spec::from_source(source)?;
    let mut changes = Vec::new();
    for (index, rules) in edits {
        let at = index.to_string();
        let Some(known) = wanted.known.get_mut(*index) else {
            let message = format!("there is no known failure {index} to put rules into");
            return Err(source.error_at(source.key_span(&["known"]), message, None::<&str>));
        };
        let rules = Some(OneOrMany::from(rules.clone()));
        if known.rules == rules {
            continue;
        }
        changes.push(rules_change(source, &at, rules.as_ref().map(OneOrMany::iter).unwrap_or_default())?);
        known.rules = rules;
    }
    let blessed = apply(source.text(), changes);
    let read = Spec::from_source(&Source::new(source.path(), &blessed))?;
    if read == wanted {
        return Ok(blessed);
    }
    let first = read.known.iter().zip(&wanted.known).position(|(read, wanted)| read != wanted);
    let at = first.unwrap_or_default().to_string();
    Err(cannot(source, source.span(&["known", &at])))
}

fn rules_change<'r>(
    source: &Source,
    at: &str,
    rules: impl ExactSizeIterator<Item = &'r BTreeMap<String, u64>>,
) -> Result<Change, Error> {
    let text = source.text();
    let keys = ["where", "verdict", "blame", "function", "row", "rules", "reason", "fault"];
    let starts = keys.iter().filter(|key| source.has(&["known", at, key]));
    let starts: Vec<usize> = starts.map(|key| source.key_span(&["known", at, key]).start).collect();
    let explained = if source.has(&["known", at, "reason"]) { "reason" } else { "fault" };
    let reason = source.key_span(&["known", at, explained]).start;
    let start = if source.has(&["known", at, "rules"]) {
        source.key_span(&["known", at, "rules"]).start
    } else {
        reason
    };
    let next = starts.into_iter().filter(|next| *next > start).min();
    let end = if start == reason { Some(start) } else { next };
    let line = text[..start].rfind('\n').map_or(0, |newline| newline + 1);
    let indent = " ".repeat(text[line..start].chars().count());
    let is_block = text[line..start].chars().all(|c| c == ' ');
    let (true, Some(end)) = (is_block, end) else { return Err(cannot(source, source.span(&["known", at]))) };
    let is_one = rules.len() == 1;
    let mut new = String::from("rules:\n");
    for rules in rules {
        for (position, (rules, count)) in rules.iter().enumerate() {
            let dash = if is_one {
                ""
            } else if position == 0 {
                "- "
            } else {
                "  "
            };
            let _ = writeln!(new, "{indent}  {dash}{}: {count}", equations(rules));
        }
    }
    Ok(Change { range: start..end, text: new + &indent })
}

/// Equations as a key in YAML.
fn equations(text: &str) -> String {
    let is_plain = text.chars().all(|c| c.is_ascii_alphanumeric() || " =+-*(),_".contains(c));
    if is_plain && text.starts_with(|c: char| c.is_ascii_alphabetic()) {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', "''"))
}

/// The difference between two texts of a spec, as a unified diff; empty where
/// there is none.
pub fn diff(path: &Path, old: &str, new: &str) -> Text {
    let name = path.display().to_string();
    let diff = TextDiff::from_lines(old, new);
    let diff = diff.unified_diff().context_radius(3).header(&name, &format!("{name} (blessed)")).to_string();
    let mut text = Text::default();
    text.quote("", &diff);
    text
}

/// Text that takes the place of a range.
struct Change {
    range: Range<usize>,
    text: String,
}

fn apply(text: &str, mut changes: Vec<Change>) -> String {
    changes.sort_by_key(|change| change.range.start);
    let mut out = text.to_owned();
    for change in changes.iter().rev() {
        out.replace_range(change.range.clone(), &change.text);
    }
    out
}

/// Reads the result back: it must be the same spec except for the frames.
fn verify(source: &Source, blessed: &str, wanted: &Spec) -> Result<(), Error> {
    let read = Spec::from_source(&Source::new(source.path(), blessed))?;
    if read == *wanted {
        return Ok(());
    }
    let first = read.stops.iter().zip(&wanted.stops).find(|(read, wanted)| read != wanted);
    let path = first.map_or_else(|| vec!["stops".to_owned()], |(_, wanted)| wanted.place.path());
    Err(cannot(source, source.span(&path)))
}

fn cannot(source: &Source, span: Range<usize>) -> Error {
    let message = "this cannot be edited without changing something else";
    source.error_at(span, message, Some("edit them by hand"))
}

/// Edits one stop.
struct Editor<'a> {
    source: &'a Source,
    stop: &'a Stop,
}

impl Editor<'_> {
    fn span(&self, key: &str) -> Range<usize> {
        self.source.span(&self.stop.path_of(key))
    }

    fn key_span(&self, key: &str) -> Range<usize> {
        self.source.key_span(&self.stop.path_of(key))
    }

    /// The elements of `frames`, as they are written.
    fn items(&self) -> Vec<Range<usize>> {
        let mut items = Vec::new();
        loop {
            let mut path = self.stop.path_of("frames");
            path.push(items.len().to_string());
            if !self.source.has(&path) {
                return items;
            }
            items.push(self.source.span(&path));
        }
    }

    /// Replaces a list that is there.
    fn replace(&self, frames: &Frames) -> Result<Change, Error> {
        let text = self.source.text();
        let key = self.key_span("frames");
        let list = self.span("frames");
        let items = self.items();
        let last = items.last().cloned().unwrap_or_default();
        let between = text.get(key.end..list.start).unwrap_or("?");
        if !between.trim_start().starts_with(':') || last.start < list.start {
            return Err(cannot(self.source, key));
        }
        if between[between.find(':').map_or(0, |colon| colon + 1)..].contains(['&', '*', '!']) {
            return Err(cannot(self.source, key));
        }
        let end = match text.as_bytes().get(list.start) {
            Some(b'[') => self.closing_bracket(last.end)?,
            Some(b'-') => last.end,
            _ => return Err(cannot(self.source, key)),
        };
        let range = list.start..end;
        self.refuse_comments(&items, range.clone())?;
        let text = match text.as_bytes().get(list.start) {
            Some(b'[') => {
                flow(frames, self.column(list.start), self.column(key.start) + 2, self.newline(key.start))
            }
            _ => {
                let indent = " ".repeat(self.column(list.start));
                let separator = format!("{}{indent}- ", self.newline(key.start));
                let items: Vec<String> =
                    frames.written().iter().map(|frames| counted_scalar(frames)).collect();
                format!("- {}", items.join(&separator))
            }
        };
        Ok(Change { range, text })
    }

    /// Adds a list below `at` and `hit`, or after them in a stop in braces.
    fn insert(&self, frames: &Frames) -> Result<Change, Error> {
        if self.stop.place.each.is_some() {
            return self.insert_first(frames);
        }
        let text = self.source.text();
        let stop = self.source.span(&self.stop.place.path());
        let key = self.key_span("at");
        let value = ["at", "hit"]
            .into_iter()
            .filter(|key| self.source.has(&self.stop.path_of(key)))
            .map(|key| self.span(key))
            .max_by_key(|span| span.start)
            .unwrap_or_else(|| stop.clone());
        let newline = self.newline(key.start);
        if text.as_bytes().get(stop.start) == Some(&b'{') {
            let column = self.column(value.end) + ", frames: ".len();
            let list = flow(frames, column, self.column(stop.start) + 2, newline);
            return Ok(Change { range: value.end..value.end, text: format!(", frames: {list}") });
        }
        let indent = self.column(key.start);
        let list = flow(frames, indent + "frames: ".len(), indent + 2, newline);
        let line = format!("{}frames: {list}{newline}", " ".repeat(indent));
        let (at, line) = match text.get(value.end..).and_then(|rest| rest.find('\n')) {
            Some(length) => (value.end + length + 1, line),
            None => (text.len(), format!("{newline}{line}")),
        };
        Ok(Change { range: at..at, text: line })
    }

    /// Adds a list before the keys that a stop has of its own.
    fn insert_first(&self, frames: &Frames) -> Result<Change, Error> {
        let keys = self.stop.place.own.iter().map(|key| self.key_span(key).start);
        let own = self.source.span(&self.stop.place.path());
        let Some(first) = keys.min() else { return Err(cannot(self.source, own)) };
        let (newline, column) = (self.newline(first), self.column(first));
        let list = flow(frames, column + "frames: ".len(), column + 2, newline);
        let is_in_braces = self.source.text().as_bytes().get(own.start) == Some(&b'{');
        let separator =
            if is_in_braces { ", ".to_owned() } else { format!("{newline}{}", " ".repeat(column)) };
        Ok(Change { range: first..first, text: format!("frames: {list}{separator}") })
    }

    /// The end of a list in parentheses, from the end of its last element.
    fn closing_bracket(&self, mut at: usize) -> Result<usize, Error> {
        let text = self.source.text();
        while let Some(rest) = text.get(at..) {
            match rest.chars().next() {
                Some(']') => return Ok(at + 1),
                Some('#') => at += rest.find('\n').unwrap_or(rest.len()),
                Some(c) if c == ',' || c.is_whitespace() => at += c.len_utf8(),
                _ => break,
            }
        }
        Err(cannot(self.source, self.key_span("frames")))
    }

    /// A comment among the frames would be lost.
    fn refuse_comments(&self, items: &[Range<usize>], list: Range<usize>) -> Result<(), Error> {
        let text = self.source.text();
        let mut from = list.start;
        let ends = items.iter().map(|item| (item.start, item.end)).chain([(list.end, list.end)]);
        for (start, end) in ends {
            if let Some(comment) = text.get(from..start).and_then(|gap| gap.find('#')) {
                let message = "this comment would be lost with the frames around it";
                let help = Some("move it above `frames`");
                return Err(self.source.error_at(from + comment..start, message, help));
            }
            from = end.max(from);
        }
        Ok(())
    }

    /// How far from the beginning of its line a position is, in characters.
    fn column(&self, at: usize) -> usize {
        let before = &self.source.text()[..at];
        let line = before.rfind('\n').map_or(0, |newline| newline + 1);
        before[line..].trim_start_matches('\u{feff}').chars().count()
    }

    /// How the line at a position ends.
    fn newline(&self, at: usize) -> &'static str {
        let rest = &self.source.text()[at..];
        let line = rest.split_inclusive('\n').next().unwrap_or_default();
        if line.ends_with("\r\n") { "\r\n" } else { "\n" }
    }
}

/// `[a, b, c]`, on several lines if it would be too long for one. It begins in
/// `column`; further lines are indented by `indent`.
fn flow(frames: &Frames, column: usize, indent: usize, newline: &str) -> String {
    let mut out = String::from("[");
    let mut width = column + 1;
    let written = frames.written();
    for (index, name) in written.iter().enumerate() {
        let last = index + 1 == written.len();
        let name = counted_scalar(name) + if last { "]" } else { "," };
        let length = name.chars().count();
        if index > 0 && width + 1 + length > WIDTH {
            out += newline;
            out += &" ".repeat(indent);
            width = indent;
        } else if index > 0 {
            out.push(' ');
            width += 1;
        }
        out += &name;
        width += length;
    }
    out
}

/// A name, with or without a number of frames, as YAML.
fn counted_scalar(text: &str) -> String {
    match text.rsplit_once(" x ") {
        Some((name, _)) if scalar(name) == name => text.to_owned(),
        _ => scalar(text),
    }
}

/// A name as YAML: as it is, or in quotes if it could be read as anything else.
fn scalar(name: &str) -> String {
    let mut chars = name.chars();
    let plain = chars.next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_')
        && chars.all(|c| c.is_ascii_alphanumeric() || "_.$@+-".contains(c));
    let reserved = ["null", "true", "false", "yes", "no", "on", "off", "y", "n"];
    if plain && !reserved.contains(&name.to_ascii_lowercase().as_str()) {
        return name.to_owned();
    }
    if name.chars().any(char::is_control) {
        // Every string of JSON is one of YAML, and names all characters.
        return serde_json::Value::from(name).to_string();
    }
    format!("'{}'", name.replace('\'', "''"))
}

#[cfg(test)]
mod tests;
