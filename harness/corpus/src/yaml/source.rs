//! The text of a YAML file, and errors that point into it.

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::de::DeserializeOwned;
use sframe_elf::file;

use super::locate::{self, Aim};
use super::{Error, parse};

/// The byte-order mark that some editors write first. It belongs to the file,
/// not to its YAML.
const BOM: char = '\u{feff}';

/// A YAML file as it was read. Cheap to clone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    path: PathBuf,
    text: Arc<str>,
}

impl Source {
    /// The size of the largest file that is read, in bytes. Specs have a few
    /// hundred lines; anything larger is the wrong file, and YAML parsers take
    /// quadratic time on some inputs.
    pub const MAX_BYTES: usize = 4 << 20;

    /// Makes a source with this text; `path` is only used in errors.
    pub fn new(path: &Path, text: &str) -> Self {
        Self { path: path.to_path_buf(), text: text.into() }
    }

    /// Reads a file.
    ///
    /// # Errors
    ///
    /// A file that cannot be read, is larger than [`Source::MAX_BYTES`] or is
    /// not UTF-8.
    pub fn read(path: &Path) -> Result<Self, Error> {
        let bytes = file::read(path, Self::MAX_BYTES as u64)
            .map_err(|error| Error::of_file(path, format!("cannot be read: {error}"), None))?;
        match String::from_utf8(bytes) {
            Ok(text) => Ok(Self { path: path.to_path_buf(), text: text.into() }),
            Err(error) => {
                let at = error.utf8_error().valid_up_to();
                let message = format!("is not UTF-8 text: byte {at} begins no character");
                Err(Error::of_file(path, message, Some("save the file as UTF-8".into())))
            }
        }
    }

    /// The path, as given.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The text, byte for byte.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Parses the text.
    ///
    /// # Errors
    ///
    /// Anything that is not one YAML document of the shape of `T`.
    pub fn parse<T: DeserializeOwned>(&self) -> Result<T, Error> {
        parse::parse(self)
    }

    /// The byte range of the value at a path of keys and indices, say
    /// `["stops", "0", "at"]`.
    ///
    /// A scalar's range is all of it, with its quotes; a list's or mapping's is
    /// its first line from where it begins. If there is no such value, it is
    /// the range of the nearest enclosing one, at worst the beginning of the
    /// file.
    pub fn span<S: AsRef<str>>(&self, path: &[S]) -> Range<usize> {
        self.locate(path, Aim::Value)
    }

    /// Like [`Source::span`], but returns the range of the key at the end of
    /// the path.
    pub fn key_span<S: AsRef<str>>(&self, path: &[S]) -> Range<usize> {
        self.locate(path, Aim::Key)
    }

    /// Where the value at a path of keys and indices is: `path:line:column`.
    #[must_use]
    pub fn place<S: AsRef<str>>(&self, path: &[S]) -> String {
        let error = self.error_at(self.span(path), "", None::<&str>);
        let at = error.position().map_or_else(String::new, |(line, column)| format!(":{line}:{column}"));
        format!("{}{at}", self.path.display())
    }

    /// The byte range of the word at a line and a column, both from 1; the column in characters.
    #[must_use]
    pub fn span_of(&self, line: usize, column: usize) -> Range<usize> {
        let before: usize = self.text.split_inclusive('\n').take(line.saturating_sub(1)).map(str::len).sum();
        let text = self.text[before..].lines().next().unwrap_or_default();
        let start = text.char_indices().nth(column.saturating_sub(1)).map_or(text.len(), |(at, _)| at);
        let word = &text[start..];
        let end = word.find([' ', ',', ':', '}', ']']).filter(|&end| end > 0).unwrap_or(word.len());
        before + start..before + start + end
    }

    /// Whether there is a value at exactly this path.
    pub fn has<S: AsRef<str>>(&self, path: &[S]) -> bool {
        locate::locate(self.body(), &borrowed(path), Aim::Value).is_some()
    }

    /// Makes an error at a byte range of the text, for checks that run after
    /// parsing. Pass `None::<&str>` for no help.
    pub fn error_at(
        &self,
        span: Range<usize>,
        message: impl Into<String>,
        help: Option<impl Into<String>>,
    ) -> Error {
        let bom = self.bom();
        // The text shown has no mark either: it would shift the caret.
        let text = if bom == 0 { Arc::clone(&self.text) } else { self.body().into() };
        let span = span.start.saturating_sub(bom)..span.end.saturating_sub(bom);
        Error::at(&self.path, text, span, message.into(), help.map(Into::into))
    }

    fn locate<S: AsRef<str>>(&self, path: &[S], aim: Aim) -> Range<usize> {
        let bom = self.bom();
        let found = locate::locate_nearest(self.body(), &borrowed(path), aim);
        found.start + bom..found.end + bom
    }

    /// The YAML text: all except the byte-order mark.
    pub(super) fn body(&self) -> &str {
        self.text.strip_prefix(BOM).unwrap_or(&self.text)
    }

    /// Length of the byte-order mark, to be added to positions in the body.
    pub(super) fn bom(&self) -> usize {
        self.text.len() - self.body().len()
    }
}

fn borrowed<S: AsRef<str>>(path: &[S]) -> Vec<&str> {
    path.iter().map(AsRef::as_ref).collect()
}
