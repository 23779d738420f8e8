//! The formats of reports: one file for each.
//!
//! To add a format, add a file with a [`Format`], and its line here.

use super::format::Format;
use super::{html, json, junit, markdown, sarif};

/// All formats, in the order in which they are written.
pub const FORMATS: &[Format] = &[json::FORMAT, sarif::FORMAT, html::FORMAT, junit::FORMAT, markdown::FORMAT];

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::matrix::MatrixReport;
    use crate::report::{Document, Report};
    use sframe_judge::examine::listings::Listings;
    use sframe_kit::conclusion::Ending;
    use sframe_links::LinksTable;

    #[test]
    fn formats_write_exactly_the_files_that_they_name() {
        let (report, listings) = (Report::new(Vec::new()), Listings::default());
        let documents = [
            Document::Run { report: &report, listings: &listings, corpus: Path::new("corpus") },
            Document::Matrix { report: &MatrixReport::new(Vec::new()), ending: Ending::Inconclusive },
            Document::Links { table: &LinksTable::default() },
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
        names.dedup();
        all.sort_unstable();
        assert_eq!(names, all);
    }
}
