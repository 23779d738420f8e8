//! Finding where a value was written.
//!
//! The YAML library gives no positions with the values it returns, but it does
//! with errors. So the file is walked once more, and at the wanted value the
//! walk fails on purpose: the position of that error is the answer. Thus the
//! parser that read the spec also locates its parts, in every style that YAML
//! can be written in.

use std::cell::{Cell, RefCell};
use std::fmt;
use std::ops::Range;

use serde::de::{DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor};

/// What to find at the end of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Aim {
    /// The value.
    Value,
    /// The key of its entry.
    Key,
}

/// The range of the value or key at `path`, or of the nearest enclosing value.
pub(super) fn locate_nearest(text: &str, path: &[&str], aim: Aim) -> Range<usize> {
    if let Some(found) = locate(text, path, aim) {
        return found;
    }
    (0..path.len())
        .rev()
        .find_map(|depth| locate(text, &path[..depth], Aim::Value))
        .unwrap_or_else(|| first_line(text, 0))
}

/// The range of the value or key at exactly `path`.
pub(super) fn locate(text: &str, path: &[&str], aim: Aim) -> Option<Range<usize>> {
    let hit = Hit::default();
    let walk = Walk { path, aim, hit: &hit };
    let error = walk.deserialize(serde_yaml::Deserializer::from_str(text)).err()?;
    if !hit.reached.get() {
        return None;
    }
    let start = error.location()?.index();
    let scalar = hit.scalar.borrow();
    Some(start..end(text, start, scalar.as_deref()))
}

/// The result of the walk.
#[derive(Default)]
struct Hit {
    /// Whether it failed because it had arrived, not because something was
    /// missing.
    reached: Cell<bool>,
    /// The value, if it is a scalar.
    scalar: RefCell<Option<String>>,
}

/// Where the value that begins at `start` ends.
pub(super) fn end(text: &str, start: usize, scalar: Option<&str>) -> usize {
    let Some(rest) = text.get(start..) else {
        return text.len();
    };
    let Some(scalar) = scalar else {
        return first_line(text, start).end;
    };
    let length = match rest.as_bytes().first() {
        Some(b'\'') => single_quoted(rest),
        Some(b'"') => double_quoted(rest),
        // A plain scalar on one line is written as it reads.
        _ if rest.starts_with(scalar) => Some(scalar.len()),
        _ => None,
    };
    length.map_or_else(|| first_line(text, start).end, |length| start + length)
}

/// From `start` to the end of its line, without blanks.
fn first_line(text: &str, start: usize) -> Range<usize> {
    let line = text.get(start..).unwrap_or_default().lines().next().unwrap_or_default();
    start..start + line.trim_end().len()
}

/// Length of a single-quoted scalar; a doubled quote represents one.
fn single_quoted(text: &str) -> Option<usize> {
    let mut bytes = text.bytes().enumerate().skip(1).peekable();
    while let Some((at, byte)) = bytes.next() {
        if byte == b'\'' && bytes.next_if(|&(_, next)| next == b'\'').is_none() {
            return Some(at + 1);
        }
    }
    None
}

/// Length of a double-quoted scalar; a backslash escapes the next character.
fn double_quoted(text: &str) -> Option<usize> {
    let mut bytes = text.bytes().enumerate().skip(1);
    while let Some((at, byte)) = bytes.next() {
        match byte {
            b'\\' => drop(bytes.next()),
            b'"' => return Some(at + 1),
            _ => {}
        }
    }
    None
}

/// Walks down a path, and fails at its end.
struct Walk<'a> {
    path: &'a [&'a str],
    aim: Aim,
    hit: &'a Hit,
}

impl<'de> DeserializeSeed<'de> for Walk<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        if self.path.is_empty() {
            self.hit.reached.set(true);
            // Lists and mappings are not strings, so they fail here as well.
            deserializer.deserialize_str(Arrived(self.hit))
        } else {
            deserializer.deserialize_any(self)
        }
    }
}

impl<'de> Visitor<'de> for Walk<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list or a mapping")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let Some((&wanted, rest)) = self.path.split_first() else {
            return Ok(());
        };
        let aim_here = self.aim == Aim::Key && rest.is_empty();
        let stop_at = aim_here.then_some(wanted);
        while let Some(key) = map.next_key_seed(Key { stop_at, hit: self.hit })? {
            if key == wanted {
                return map.next_value_seed(Walk { path: rest, aim: self.aim, hit: self.hit });
            }
            map.next_value::<IgnoredAny>()?;
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        let Some((&index, rest)) = self.path.split_first() else {
            return Ok(());
        };
        let Ok(index) = index.parse::<usize>() else {
            return Err(A::Error::custom("no index"));
        };
        for _ in 0..index {
            if seq.next_element::<IgnoredAny>()?.is_none() {
                return Ok(());
            }
        }
        seq.next_element_seed(Walk { path: rest, aim: self.aim, hit: self.hit })?;
        Err(A::Error::custom("no such element"))
    }
}

/// The end of the path: notes a scalar's value, and always fails.
struct Arrived<'a>(&'a Hit);

impl Visitor<'_> for Arrived<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("to fail here")
    }

    fn visit_str<E: serde::de::Error>(self, value: &str) -> Result<(), E> {
        *self.0.scalar.borrow_mut() = Some(value.to_owned());
        Err(E::custom("arrived"))
    }
}

/// Reads a key, and fails if it is the wanted one.
struct Key<'a> {
    stop_at: Option<&'a str>,
    hit: &'a Hit,
}

impl<'de> DeserializeSeed<'de> for Key<'_> {
    type Value = String;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<String, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for Key<'_> {
    type Value = String;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }

    fn visit_str<E: serde::de::Error>(self, key: &str) -> Result<String, E> {
        if self.stop_at == Some(key) {
            self.hit.reached.set(true);
            *self.hit.scalar.borrow_mut() = Some(key.to_owned());
            return Err(E::custom("arrived"));
        }
        Ok(key.to_owned())
    }
}
