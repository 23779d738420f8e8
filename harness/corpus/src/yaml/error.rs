//! An error in a YAML file, with its position.

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use annotate_snippets::{AnnotationKind, Level, Renderer, Snippet};
use sframe_kit::text::{Text, neutral};

/// What is wrong with a YAML file, and where.
///
/// `Display` gives everything on one line, `path:line:column: message (help)`,
/// as compilers do. [`Error::render`] shows the line itself as well.
#[derive(Debug, thiserror::Error)]
#[error("{}", .0.one_line())]
pub struct Error(Box<Inner>);

/// Boxed, so that a `Result` stays small.
#[derive(Debug)]
struct Inner {
    path: PathBuf,
    message: String,
    help: Option<String>,
    place: Option<Place>,
}

/// Where in the text the error is. Absent if there is no text to point at.
#[derive(Debug)]
struct Place {
    text: Arc<str>,
    span: Range<usize>,
    line: usize,
    column: usize,
}

/// A line that is longer than this, in bytes, is not shown, since no place could be found in it.
const WIDEST: usize = 1000;

impl Place {
    /// The line, and the span within it.
    fn line(&self) -> (&str, Range<usize>) {
        let Range { start, end } = self.span;
        let first = self.text[..start].rfind('\n').map_or(0, |newline| newline + 1);
        let line = &self.text[first..];
        let line = &line[..line.find('\n').unwrap_or(line.len())];
        (line.strip_suffix('\r').unwrap_or(line), start - first..end - first)
    }
}

impl Inner {
    fn one_line(&self) -> String {
        let mut out = self.path.display().to_string();
        if let Some(place) = &self.place {
            out += &format!(":{}:{}", place.line, place.column);
        }
        out += &format!(": {}", self.message);
        if let Some(help) = &self.help {
            out += &format!(" ({help})");
        }
        out
    }
}

impl Error {
    /// An error about the file as a whole.
    #[must_use]
    pub fn of_file(path: &Path, message: String, help: Option<String>) -> Self {
        Self(Box::new(Inner { path: path.to_path_buf(), message, help, place: None }))
    }

    /// An error at `span`, a byte range of `text`.
    pub(super) fn at(
        path: &Path,
        text: Arc<str>,
        span: Range<usize>,
        message: String,
        help: Option<String>,
    ) -> Self {
        let span = clamp(&text, span);
        let (line, column) = line_and_column(&text, span.start);
        let place = Some(Place { text, span, line, column });
        Self(Box::new(Inner { path: path.to_path_buf(), message, help, place }))
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.0.path
    }

    /// What is wrong, without position and help.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// How to fix it, or what would have been allowed.
    pub fn help(&self) -> Option<&str> {
        self.0.help.as_deref()
    }

    /// Line and column, both counted from 1; the column in characters. `None`
    /// if the file could not be read as text.
    pub fn position(&self) -> Option<(usize, usize)> {
        self.0.place.as_ref().map(|place| (place.line, place.column))
    }

    /// Renders the error with the line it points at and a marker below it.
    ///
    /// Without `colour` it is independent of the terminal and the environment; with it, it is
    /// for a terminal.
    pub fn render(&self, colour: bool) -> Text {
        let Inner { path, message, help, place } = &*self.0;
        // The renderer prints these unchanged.
        let path = neutral(&path.display().to_string()).into_owned();
        let message = neutral(message);
        let help = help.as_ref().map(|help| neutral(help));
        let Some((place, (line, span))) =
            place.as_ref().map(|place| (place, place.line())).filter(|(_, (line, _))| line.len() <= WIDEST)
        else {
            return Text::of(format_args!("error: {self}"));
        };
        let parts = [&line[..span.start], &line[span.start..span.end], &line[span.end..]].map(neutral);
        let marked = parts[0].len()..parts[0].len() + parts[1].len();
        let snippet = Snippet::source(parts.concat())
            .path(path)
            .line_start(place.line)
            .annotation(AnnotationKind::Primary.span(marked));
        let report = Level::ERROR.primary_title(message).element(snippet);
        let report = report.elements(help.map(|help| Level::HELP.message(help)));
        let renderer = if colour { Renderer::styled() } else { Renderer::plain() };
        Text::made_neutral(format!("{}\n", renderer.render(&[report])))
    }
}

/// Moves a span into the text, onto character boundaries, and onto one line:
/// the mistake is in the first line, the rest would only push it away.
fn clamp(text: &str, span: Range<usize>) -> Range<usize> {
    let start = floor_char_boundary(text, span.start);
    let line_end = text[start..].find(['\n', '\r']).map_or(text.len(), |at| start + at);
    let end = floor_char_boundary(text, span.end.min(line_end)).max(start);
    start..end
}

fn floor_char_boundary(text: &str, index: usize) -> usize {
    let mut index = index.min(text.len());
    while !text.is_char_boundary(index) {
        index -= 1;
    }
    index
}

fn line_and_column(text: &str, at: usize) -> (usize, usize) {
    let before = &text[..at];
    let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
    let line = before.bytes().filter(|&byte| byte == b'\n').count() + 1;
    (line, before[line_start..].chars().count() + 1)
}
