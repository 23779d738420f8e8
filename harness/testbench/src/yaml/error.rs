//! An error in a YAML file, with its position.

use std::fmt;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use miette::{Diagnostic, GraphicalReportHandler, GraphicalTheme, LabeledSpan, NamedSource};

use sframe_inspect::text::{Text, neutral};

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

/// Where in the text the error is. Absent if there is no text to point at.
#[derive(Debug)]
struct Place {
    source: NamedSource<Arc<str>>,
    span: Range<usize>,
    line: usize,
    column: usize,
}

/// If a line or one of its neighbours is longer than this, the lines are not
/// shown: nobody would find a place in them.
const WIDEST: usize = 1000;

impl Place {
    fn is_wide(&self) -> bool {
        let text: &str = self.source.inner();
        let (before, behind) = (&text[..self.span.start], &text[self.span.start..]);
        let lines: usize = before.lines().rev().take(2).chain(behind.lines().take(2)).map(str::len).sum();
        lines > WIDEST
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
    pub(crate) fn of_file(path: &Path, message: String, help: Option<String>) -> Self {
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
        let source = NamedSource::new(path.display().to_string(), text);
        let place = Some(Place { source, span, line, column });
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
    /// Without `colour` it is plain ASCII and independent of the terminal and
    /// the environment; with it, it is for a terminal.
    pub fn render(&self, colour: bool) -> Text {
        if self.0.place.as_ref().is_some_and(Place::is_wide) {
            return Text::of(self);
        }
        let theme = if colour { GraphicalTheme::unicode() } else { GraphicalTheme::none() };
        let handler = GraphicalReportHandler::new_themed(theme)
            .with_links(false)
            .with_wrap_lines(false)
            .with_width(100)
            .with_context_lines(1);
        let mut out = String::new();
        match handler.render_report(&mut out, &self.0.pictured()) {
            Ok(()) => Text::made_neutral(out),
            // The renderer refuses only spans outside the text, and ours are clamped; should it
            // refuse one anyway, the words remain.
            Err(fmt::Error) => Text::of(self),
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

/// The error for a renderer that prints position and help itself, so that they
/// are not printed twice. It is neutralised, since the renderer prints it
/// unchanged.
#[derive(Debug)]
struct Pictured {
    message: String,
    help: Option<String>,
    place: Option<(NamedSource<String>, Range<usize>)>,
}

impl Inner {
    fn pictured(&self) -> Pictured {
        let path = neutral(&self.path.display().to_string()).into_owned();
        let message = neutral(&self.message);
        let message = if self.place.is_none() { format!("{path}: {message}") } else { message.into_owned() };
        let help = self.help.as_ref().map(|help| neutral(help).into_owned());
        let place = self.place.as_ref().map(|place| {
            let text: &str = place.source.inner();
            let Range { start, end } = place.span;
            // The lines are kept separate, for their numbers.
            let [before, marked, after] =
                [&text[..start], &text[start..end], &text[end..]].map(neutral_lines);
            let span = before.len()..before.len() + marked.len();
            (NamedSource::new(path, before + &marked + &after), span)
        });
        Pictured { message, help, place }
    }
}

fn neutral_lines(text: &str) -> String {
    text.split('\n')
        .map(|line| neutral(line.strip_suffix('\r').unwrap_or(line)))
        .collect::<Vec<_>>()
        .join("\n")
}

impl fmt::Display for Pictured {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Pictured {}

impl Diagnostic for Pictured {
    fn help<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        self.help.as_ref().map(|help| Box::new(help) as Box<dyn fmt::Display>)
    }

    fn source_code(&self) -> Option<&dyn miette::SourceCode> {
        self.place.as_ref().map(|(source, _)| source as &dyn miette::SourceCode)
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        let (_, span) = self.place.as_ref()?;
        let label = LabeledSpan::new(None, span.start, span.len());
        Some(Box::new(std::iter::once(label)))
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
