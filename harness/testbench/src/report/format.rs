//! What reports are written as: one file for each format.
//!
//! A new format is a file with a [`Format`], and its line in [`FORMATS`].

use std::error::Error;
use std::path::Path;

use super::{CheckReport, Report, html, json, junit, markdown, sarif};
use crate::examine::listings::Listings;
use crate::matrix::MatrixReport;

/// What reports are about.
#[derive(Clone, Copy)]
pub enum Document<'r> {
    /// A run of specs, or several that were merged.
    Run {
        /// What it has shown.
        report: &'r Report,
        /// The code of its cases.
        listings: &'r Listings,
        /// The folder that its builds lie in.
        corpus: &'r Path,
    },
    /// A check of one program.
    Check {
        /// What it has shown.
        report: &'r CheckReport,
        /// The program's code.
        listings: &'r Listings,
    },
    /// Toolchains beside their references.
    Matrix {
        /// What it has shown.
        report: &'r MatrixReport,
    },
}

/// A file of a report: its name, and what is in it or why it can't be written.
pub type Written = (&'static str, Result<String, Box<dyn Error + Send + Sync>>);

/// A form of reports.
#[derive(Clone, Copy)]
pub struct Format {
    /// The names of all files that it may write.
    pub files: &'static [&'static str],
    /// Writes a document. None where it has no form of it.
    pub write: fn(&Document<'_>) -> Option<Written>,
}

/// All formats, in the order in which they are written.
pub const FORMATS: &[Format] = &[json::FORMAT, sarif::FORMAT, html::FORMAT, junit::FORMAT, markdown::FORMAT];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_write_the_files_that_they_name_and_no_other_ones() {
        let (report, listings) = (Report::new(Vec::new()), Listings::default());
        let documents = [
            Document::Run { report: &report, listings: &listings, corpus: Path::new("corpus") },
            Document::Matrix { report: &MatrixReport::new(Vec::new()) },
        ];
        let mut names = Vec::new();
        for document in &documents {
            for format in FORMATS {
                let Some((name, text)) = (format.write)(document) else { continue };
                assert!(format.files.contains(&name) && !text.expect("a text").is_empty(), "{name}");
                names.push(name);
            }
        }
        let mut all: Vec<&str> = FORMATS.iter().flat_map(|format| format.files).copied().collect();
        names.sort_unstable();
        all.sort_unstable();
        assert_eq!(names, all);
    }
}
