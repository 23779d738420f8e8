//! How mistakes in documents end a command.

use std::io::IsTerminal as _;

use sframe_inspect::command::Failure;
use sframe_kit::text::Text;

use crate::yaml::{self, Source};

/// The failure of a command that can't read some documents. Each error is shown
/// with the line that it points at.
#[must_use]
pub fn of_documents(errors: &[yaml::Error]) -> Failure {
    let colour = std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none();
    let mut text = Text::default();
    for (index, error) in errors.iter().enumerate() {
        if index > 0 {
            text.blank();
        }
        text.append(&error.render(colour));
    }
    Failure::unusable_text(text)
}

/// The failure of a command that can't read vectors. As of other documents, each error is shown with the line that it
/// points at, if there is one.
#[must_use]
pub fn of_vectors(errors: &[sframe_vectors::Error]) -> Failure {
    let shown = errors.iter().map(|error| {
        let sframe_vectors::Error { path, at, message, help } = error;
        let place = at.and_then(|at| Source::read(path).ok().map(|source| (source, at)));
        match place {
            Some((source, (line, column))) => {
                source.error_at(source.span_of(line, column), message, help.as_ref())
            }
            None => yaml::Error::of_file(path, message.clone(), help.clone()),
        }
    });
    of_documents(&shown.collect::<Vec<_>>())
}

impl From<yaml::Error> for Failure {
    fn from(error: yaml::Error) -> Self {
        of_documents(&[error])
    }
}
