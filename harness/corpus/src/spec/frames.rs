//! The functions on a stack, as specs write them.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};

/// The functions on a stack, from the topmost to the outermost frame. Where one
/// has several frames in a row, it is kept once, with their number.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Frames(Vec<(String, u32)>);

/// A number of frames that is not as it should be.
#[derive(Debug, thiserror::Error)]
#[error("`{0}`: there can be 2 to {MAX} frames of a function in a row; one is written without a number")]
struct InvalidCount(String);

/// A number of frames with another sign.
#[derive(Debug, thiserror::Error)]
#[error("`{text}`: frames of a function in a row are written `{name} x {number}`")]
struct OtherSign {
    text: String,
    name: String,
    number: String,
}

/// More frames of a function in a row are a slip of the pen.
const MAX: u32 = 1_000_000;

impl Frames {
    /// From this many frames of a function on, `bless` writes them once.
    const WORTH_COUNTING: u32 = 3;

    /// Adds frames of a function to the outer end.
    fn push(&mut self, name: &str, count: u32) {
        match self.0.last_mut() {
            Some((last, so_far)) if last == name && so_far.checked_add(count).is_some() => *so_far += count,
            _ => self.0.push((name.to_owned(), count)),
        }
    }

    /// The functions, one for each frame.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        self.0.iter().flat_map(|(name, count)| (0..*count).map(move |_| name.as_str()))
    }

    /// Whether the list is empty.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The functions with a separator between them.
    pub fn join(&self, separator: &str) -> String {
        self.iter().collect::<Vec<_>>().join(separator)
    }

    /// As a spec writes them, with a separator between them.
    pub fn text(&self) -> String {
        self.written().join(", ")
    }

    /// As a spec writes them: `f x 3` for three frames of `f` in a row.
    pub(super) fn written(&self) -> Vec<Cow<'_, str>> {
        let mut written = Vec::new();
        for (name, count) in &self.0 {
            if *count >= Self::WORTH_COUNTING {
                written.push(format!("{name} x {count}").into());
            } else {
                written.extend((0..*count).map(|_| Cow::from(name)));
            }
        }
        written
    }
}

impl<S: AsRef<str>> FromIterator<S> for Frames {
    fn from_iter<I: IntoIterator<Item = S>>(names: I) -> Self {
        let mut frames = Self::default();
        names.into_iter().for_each(|name| frames.push(name.as_ref(), 1));
        frames
    }
}

impl<S: AsRef<str>> PartialEq<[S]> for Frames {
    fn eq(&self, names: &[S]) -> bool {
        self.iter().eq(names.iter().map(AsRef::as_ref))
    }
}

/// A function and how many frames of it there are. Names of functions may have spaces, but no ` x `.
fn counted(text: &str) -> Result<(&str, u32), Box<dyn std::error::Error>> {
    let Some((name, number)) = text.split_once(" x ") else {
        // Another letter than x, or a sign.
        return match text.split_whitespace().collect::<Vec<_>>()[..] {
            [name, sign, number]
                if sign.chars().count() == 1 && number.chars().all(|digit| digit.is_ascii_digit()) =>
            {
                let [text, name, number] = [text, name, number].map(str::to_owned);
                Err(OtherSign { text, name, number }.into())
            }
            _ => Ok((text, 1)),
        };
    };
    match number.parse() {
        // `parse` takes a sign.
        Ok(count) if !number.starts_with('+') && (2..=MAX).contains(&count) && !name.trim().is_empty() => {
            Ok((name.trim_end(), count))
        }
        _ => Err(InvalidCount(text.to_owned()).into()),
    }
}

impl<'de> Deserialize<'de> for Frames {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(FramesVisitor)
    }
}

struct FramesVisitor;

impl<'de> Visitor<'de> for FramesVisitor {
    type Value = Frames;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Frames, A::Error> {
        let mut frames = Frames::default();
        while let Some(Counted(name, count)) = seq.next_element()? {
            frames.push(&name, count);
        }
        Ok(frames)
    }
}

/// One element of the list. It is read by itself, so that a mistake is at its place.
struct Counted(String, u32);

impl<'de> Deserialize<'de> for Counted {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(CountedVisitor)
    }
}

struct CountedVisitor;

impl Visitor<'_> for CountedVisitor {
    type Value = Counted;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string")
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Counted, E> {
        if text.trim().is_empty() {
            return Err(E::custom("this name is empty; name the function"));
        }
        let (name, count) = counted(text).map_err(E::custom)?;
        Ok(Counted(name.to_owned(), count))
    }
}

impl JsonSchema for Frames {
    fn schema_name() -> Cow<'static, str> {
        "Frames".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "The functions on a stack, the topmost first. `f x 24` are 24 frames of `f`.",
            "type": "array",
            "items": { "type": "string", "minLength": 1, "not": { "pattern": " x (0+|0*1|.*[^0-9].*)?$" } },
            "minItems": 1,
        })
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn frames(text: &str) -> Frames {
        crate::yaml::from_str(Path::new("f"), text).expect("frames")
    }

    #[test]
    fn a_repeat_count_stands_for_that_many_frames() {
        assert_eq!(frames("[leaf, f x 3, main]"), frames("[leaf, f, f, f, main]"));
        assert_eq!(frames("[f, f x 2]"), frames("[f x 3]"));
        assert_ne!(frames("[f x 2]"), frames("[f x 3]"));
        assert_eq!(frames("[f x 2, g]"), *["f", "f", "g"].as_slice());
        assert_ne!(frames("[f x 2, g]"), *["f", "g"].as_slice());
        assert_eq!(frames("[f x 2, g]").join(" < "), "f < f < g");
    }

    #[test]
    fn three_frames_in_a_row_are_written_once() {
        assert_eq!(frames("[a, a, b, b, b, a]").written(), ["a", "a", "b x 3", "a"]);
    }

    #[test]
    fn names_may_contain_spaces() {
        for name in ["operator new(unsigned long)", "f x", "fx3", "f x3", "x 3"] {
            assert_eq!(frames(&format!("['{name}']")), *[name].as_slice());
        }
    }

    #[test]
    fn a_number_that_counts_nothing_is_refused() {
        let numbers =
            ["f x 0", "f x 1", "f x -1", "f x +2", "f x 1.5", "f x 1000001", "f x 4294967296", " x 2"];
        for text in numbers.into_iter().chain(["f x many", "f x 2 x 3", "f x "]) {
            let error = crate::yaml::from_str::<Frames>(Path::new("f"), &format!("[a, '{text}']"));
            let error = error.expect_err(text);
            assert!(error.message().contains("there can be 2 to 1000000 frames"), "{error}");
            assert_eq!(error.position(), Some((1, 5)), "{error}");
        }
    }
}
