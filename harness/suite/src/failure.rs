//! How errors of this crate end a command.

use sframe_corpus::corpus;
use sframe_corpus::failure::of_documents;
use sframe_corpus::yaml::{self, Source};
use sframe_inspect::command::Failure;

use crate::suite::SuiteError;

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

impl From<SuiteError> for Failure {
    fn from(error: SuiteError) -> Self {
        match &error {
            SuiteError::Specs(errors) => of_documents(errors),
            SuiteError::Corpus(corpus::Error::Yaml(error)) => of_documents(std::slice::from_ref(error)),
            _ => Self::unusable(format!("error: {error}")),
        }
    }
}
