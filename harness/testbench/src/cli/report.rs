//! The files of a report folder.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::de::IgnoredAny;
use sframe_elf::file;
use sframe_inspect::command::{Failure, detail, write_file};
use sframe_suite::report::{Document, FORMATS, Report, UnreadReport};
use sframe_vectors::words::of_json;

/// Makes the folder. This is done before the work, so that a failure does not
/// lose the results.
pub(super) fn create(folder: &Path) -> Result<(), Failure> {
    if folder.is_file() {
        let message = format!("error: {}: this is a file, and a folder is needed", folder.display());
        return Err(Failure::unusable(message));
    }
    std::fs::create_dir_all(folder)
        .map_err(|error| Failure::unusable(format!("error: {}: {error}", folder.display())))
}

/// Writes a document in all its formats.
pub(super) fn write(folder: &Path, document: &Document<'_>) -> Result<(), Failure> {
    for (name, text) in FORMATS.iter().filter_map(|format| (format.write)(document)) {
        let text = text.map_err(|error| Failure::broken(format!("error: {name}: {error}")))?;
        let path = folder.join(name);
        replace(&path, &text)?;
        detail(|| format!("written: {}", path.display()));
    }
    Ok(())
}

/// Writes a file atomically.
pub(super) fn replace(path: &Path, text: &str) -> Result<(), Failure> {
    write_file(path, text)
}

/// Makes the folder of `--report`.
pub(super) fn create_reports(folder: &Path) -> Result<(), Failure> {
    create(folder).map_err(|failure| failure.of_option(OPTION))
}

const OPTION: &str = "--report";

/// Makes the folder, without reports in it.
pub(super) fn begin(folder: &Path) -> Result<(), Failure> {
    create_reports(folder)?;
    clear(folder).map_err(|failure| failure.of_option(OPTION))
}

/// Removes reports of an earlier run or check: if this one does not finish,
/// they must not be mistaken for its own.
pub(super) fn clear(folder: &Path) -> Result<(), Failure> {
    for name in FORMATS.iter().flat_map(|format| format.files) {
        let path = folder.join(name);
        removed(&path, std::fs::remove_file(&path))?;
    }
    Ok(())
}

/// What came of removing something: that it is not there is no error.
pub(super) fn removed(path: &Path, result: std::io::Result<()>) -> Result<(), Failure> {
    match result {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(Failure::unusable(format!("error: {}: {error}", path.display())))
        }
        _ => Ok(()),
    }
}

/// The size of the largest report that is read, in bytes.
pub(super) const MAX_REPORT_BYTES: u64 = 256 << 20;

/// The report in a folder, or the file itself.
pub(super) fn file_of(path: &Path) -> PathBuf {
    if path.is_dir() { path.join("report.json") } else { path.to_owned() }
}

/// Whether a document is an object with a key, by which reports of other commands are known.
pub(super) fn has_key(document: &[u8], key: &str) -> bool {
    let keys = serde_json::from_slice::<BTreeMap<String, IgnoredAny>>(document);
    keys.is_ok_and(|keys| keys.contains_key(key))
}

/// Reads `report.json`.
pub(super) fn read_report(path: &Path) -> Result<Report, Failure> {
    let unusable =
        |error: &dyn std::fmt::Display| Failure::unusable(format!("error: {}: {error}", path.display()));
    let bytes = file::read(path, MAX_REPORT_BYTES).map_err(|error| unusable(&error))?;
    let report: Report = serde_json::from_slice(&bytes).map_err(|error| {
        let other = match has_key(&bytes, "file") {
            true => "this is a report of `check` or `explore`, and not of `run`".to_owned(),
            false => format!("this is not a report of a run: {}", of_json(&error)),
        };
        unusable(&other)
    })?;
    if report.interrupted {
        return Err(unusable(&UnreadReport::Interrupted));
    }
    Ok(report)
}
