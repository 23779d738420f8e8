//! The files of a report folder.

use std::path::Path;

use serde::Serialize;

use super::exit::Failure;
use super::write_file;

/// Makes the folder. Before the work, so that its result is not lost for this.
pub(super) fn create(folder: &Path) -> Result<(), Failure> {
    std::fs::create_dir_all(folder)
        .map_err(|error| Failure::unusable(format!("error: {}: {error}", folder.display())))
}

/// Writes a document as JSON.
pub(super) fn write_json(folder: &Path, name: &str, document: &impl Serialize) -> Result<(), Failure> {
    let text = serde_json::to_string_pretty(document)
        .map_err(|error| Failure::broken(format!("{name}: {error}")))?;
    write_file(&folder.join(name), &(text + "\n"))
}

/// Writes the page.
pub(super) fn write_html(folder: &Path, page: Result<String, serde_json::Error>) -> Result<(), Failure> {
    let page = page.map_err(|error| Failure::broken(format!("report.html: {error}")))?;
    write_file(&folder.join("report.html"), &page)
}
