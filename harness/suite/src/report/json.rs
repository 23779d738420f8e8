//! `report.json` and `matrix.json`: all that is known.

use serde::Serialize;
use sframe_kit::conclusion::{Concluded, Ending};
use sframe_kit::json::pretty;

use super::format::{Document, Format, Written};

pub(super) const FORMAT: Format = Format { files: &["report.json", "matrix.json", "links.json"], write };

fn write(document: &Document<'_>) -> Option<Written> {
    Some(match document {
        Document::Run { report, .. } => ("report.json", concluded(report.ending(), report)),
        Document::Check { report, .. } => ("report.json", concluded(report.ending(), report)),
        Document::Explore { report } => ("report.json", concluded(report.ending(), report)),
        Document::Files { files } => ("report.json", concluded(files.ending, files)),
        Document::Matrix { report, ending } => ("matrix.json", concluded(*ending, report)),
        Document::Samples { report } => ("report.json", concluded(report.conclusion().ending, report)),
        Document::Links { table } => ("links.json", text(&table.concluded())),
    })
}

fn concluded(
    verdict: Ending,
    document: &impl Serialize,
) -> Result<String, Box<dyn std::error::Error + Send + Sync>> {
    text(&Concluded { verdict, document })
}

/// A document as the text of a file.
pub(super) fn text(document: &impl Serialize) -> Result<String, Box<dyn std::error::Error + Send + Sync>> {
    Ok(pretty(document).map(|text| (*text).to_owned())?)
}
