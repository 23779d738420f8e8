//! A report format: which files it writes, for which documents.

use std::error::Error;
use std::path::Path;

use sframe_judge::examine::listings::Listings;
use sframe_kit::conclusion::Ending;
use sframe_links::LinksTable;
use sframe_samples::report::SamplesReport;

use super::{CheckReport, ExploreReport, ExploredFiles, Report};
use crate::matrix::MatrixReport;
use crate::provenance::Provenance;

/// The subject of a report.
#[derive(Clone, Copy)]
pub enum Document<'r> {
    /// A run of specs, or several that were merged.
    Run {
        /// Its results.
        report: &'r Report,
        /// The code of its cases.
        listings: &'r Listings,
        /// The folder of its builds.
        corpus: &'r Path,
    },
    /// A check of one program.
    Check {
        /// Its results.
        report: &'r CheckReport,
        /// The program's code.
        listings: &'r Listings,
    },
    /// A file that was explored.
    Explore {
        /// The result.
        report: &'r ExploreReport,
    },
    /// Files that were explored together.
    Files {
        /// The results.
        files: &'r ExploredFiles,
    },
    /// Toolchains compared with their references.
    Matrix {
        /// Its results.
        report: &'r MatrixReport,
        /// How the command ends, which demands more or less.
        ending: Ending,
    },
    /// Stacks that were recorded on real machines.
    Samples {
        /// What they show.
        report: &'r SamplesReport,
    },
    /// Linkers, and what they have done with all cases.
    Links {
        /// The results.
        table: &'r LinksTable,
    },
}

impl<'r> Document<'r> {
    /// How the command ends, as its last lines begin.
    #[must_use]
    pub fn ending(&self) -> Ending {
        match *self {
            Document::Run { report, .. } => report.ending(),
            Document::Check { report, .. } => report.ending(),
            Document::Explore { report } => report.ending(),
            Document::Files { files } => files.ending,
            Document::Matrix { ending, .. } => ending,
            Document::Samples { report } => report.conclusion().ending,
            Document::Links { table } => table.ending(),
        }
    }

    /// Where the report comes from.
    #[must_use]
    pub const fn provenance(&self) -> Option<&'r Provenance> {
        match *self {
            Document::Run { report, .. } => report.provenance.as_ref(),
            Document::Check { report, .. } => report.provenance.as_ref(),
            Document::Explore { report } => report.provenance.as_ref(),
            Document::Matrix { report, .. } => report.provenance.as_ref(),
            Document::Files { .. } | Document::Links { .. } | Document::Samples { .. } => None,
        }
    }
}

/// A file of a report: its name, and its content or why it can't be written.
pub type Written = (&'static str, Result<String, Box<dyn Error + Send + Sync>>);

/// A format of reports.
#[derive(Clone, Copy)]
pub struct Format {
    /// The names of all files that it may write.
    pub files: &'static [&'static str],
    /// Writes a document. `None` if the format does not cover it.
    pub write: fn(&Document<'_>) -> Option<Written>,
}
