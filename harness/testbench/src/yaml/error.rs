//! One error of one YAML file, with the place it points at.

use std::fmt;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use miette::{Diagnostic, GraphicalReportHandler, GraphicalTheme, LabeledSpan, NamedSource};

/// What is wrong with a YAML file, and where.
///
/// `Display` gives everything on one line, `path:line:column: message (help)`,
/// as compilers do. [`Error::render`] and miette's report handlers show the
/// line itself as well.
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

/// Where in the text the error is. Absent when there is no text to point at.
#[derive(Debug)]
struct Place {
    source: NamedSource<Arc<str>>,
    span: Range<usize>,
    line: usize,
    column: usize,
}

/// Lines that are longer, with those before and behind, are not shown: nobody
/// finds a place in them.
const WIDEST: usize = 1000;

impl Place {
    fn is_wide(&self) -> bool {
        let text: &str = self.source.inner();
        let (before, behind) = (&text[..self.span.start], &text[self.span.start..]);
        let lines: usize = before.lines().rev().take(2).chain(behind.lines().take(2)).map(str::len).sum();
        lines > WIDEST
    }
}

/// A message may quote the file, and what a terminal would obey is not shown as it is.
fn printable(message: &str) -> String {
    let escape = |c: char| if c.is_control() { c.escape_default().to_string() } else { c.to_string() };
    message.chars().map(escape).collect()
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
    pub(crate) fn of_file(path: &Path, message: String, help: Option<String>) -> Self {
        Self(Box::new(Inner { path: path.to_path_buf(), message: printable(&message), help, place: None }))
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
        let source = NamedSource::new(path.display().to_string(), text);
        let place = Some(Place { source, span, line, column });
        Self(Box::new(Inner { path: path.to_path_buf(), message: printable(&message), help, place }))
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.0.path
    }

    /// What is wrong, without position and help.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// What to do about it, or what would have been allowed.
    pub fn help(&self) -> Option<&str> {
        self.0.help.as_deref()
    }

    /// Line and column, both counted from 1; the column in characters.
    /// `None` when the file could not be read as text.
    pub fn position(&self) -> Option<(usize, usize)> {
        self.0.place.as_ref().map(|place| (place.line, place.column))
    }

    /// The error with the line it points at and a marker below it.
    ///
    /// Without `colour` it is plain ASCII and the same everywhere, whatever the
    /// terminal or the environment; with it, it is for a terminal.
    pub fn render(&self, colour: bool) -> String {
        if self.0.place.as_ref().is_some_and(Place::is_wide) {
            return format!("{self}\n");
        }
        let theme = if colour { GraphicalTheme::unicode() } else { GraphicalTheme::none() };
        let handler = GraphicalReportHandler::new_themed(theme)
            .with_links(false)
            .with_wrap_lines(false)
            .with_width(100)
            .with_context_lines(1);
        let mut out = String::new();
        match handler.render_report(&mut out, &Pictured(&self.0)) {
            Ok(()) => out,
            // The renderer refuses only spans outside the text, and ours are
            // clamped; should it refuse one anyway, the words remain.
            Err(fmt::Error) => format!("{self}\n"),
        }
    }
}

impl Diagnostic for Error {
    fn help<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        self.0.help()
    }

    fn source_code(&self) -> Option<&dyn miette::SourceCode> {
        self.0.source_code()
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        self.0.labels()
    }
}

impl Inner {
    fn help<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        self.help.as_ref().map(|help| Box::new(help) as Box<dyn fmt::Display>)
    }

    fn source_code(&self) -> Option<&dyn miette::SourceCode> {
        self.place.as_ref().map(|place| &place.source as &dyn miette::SourceCode)
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        let place = self.place.as_ref()?;
        let label = LabeledSpan::new(None, place.span.start, place.span.len());
        Some(Box::new(std::iter::once(label)))
    }
}

/// The error for a renderer that prints position and help by itself, so that
/// they are not printed twice.
#[derive(Debug)]
struct Pictured<'a>(&'a Inner);

impl fmt::Display for Pictured<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.place.is_none() {
            write!(f, "{}: ", self.0.path.display())?;
        }
        f.write_str(&self.0.message)
    }
}

impl std::error::Error for Pictured<'_> {}

impl Diagnostic for Pictured<'_> {
    fn help<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        self.0.help()
    }

    fn source_code(&self) -> Option<&dyn miette::SourceCode> {
        self.0.source_code()
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        self.0.labels()
    }
}

/// Brings a span into the text, onto character boundaries, and onto one line:
/// the first line is where the mistake is, the rest would only push it away.
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
