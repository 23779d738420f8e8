//! How mistakes in documents end a command.

use std::io::IsTerminal as _;

use sframe_inspect::command::Failure;
use sframe_kit::text::Text;

use crate::yaml;

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

impl From<yaml::Error> for Failure {
    fn from(error: yaml::Error) -> Self {
        of_documents(&[error])
    }
}
