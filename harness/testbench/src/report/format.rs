//! What a format of reports is: which files it writes, of which documents.

use std::error::Error;
use std::path::Path;

use super::{CheckReport, Report};
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
