//! The reader vectors in `corpus/vectors`, and how a reader answers them.

mod report;

use sframe_judge::external::{External, ExternalError, SectionReply};
use sframe_vectors::engine::answer;
use sframe_vectors::{SectionPart, Vector};

pub use report::{Counts, Difference, Skipped, VectorsReport};
pub use sframe_vectors::model::{Way, Ways};

/// All parts of an answer.
const ALL: [SectionPart; 4] =
    [SectionPart::Header, SectionPart::Fdes, SectionPart::Lookups, SectionPart::Steps];

/// Asks the engine of this project.
#[must_use]
pub fn ask_engine(vectors: &[&Vector]) -> VectorsReport {
    let mut report = VectorsReport::new("sframe-engine", env!("CARGO_PKG_VERSION"));
    for vector in vectors {
        report.add(vector, &SectionReply::Answer(answer(&vector.question())), &ALL);
    }
    report
}

/// Asks a reader that reads the text as chosen, where it is open.
#[must_use]
pub fn ask_model(vectors: &[&Vector], ways: &Ways) -> VectorsReport {
    let mut report = VectorsReport::new("sframe-model", env!("CARGO_PKG_VERSION"));
    for vector in vectors {
        let answer = sframe_vectors::model::answer(&vector.question(), ways);
        report.add(vector, &SectionReply::Answer(answer), &ALL);
    }
    report
}

/// Asks an unwinder in a separate process.
///
/// # Errors
/// It can't be asked, or stops answering.
pub fn ask_external(vectors: &[&Vector], external: &External) -> Result<VectorsReport, ExternalError> {
    let hello = external.hello();
    let mut report = VectorsReport::new(&hello.name, &hello.version);
    let mut sections = external.sections()?;
    for vector in vectors {
        report.add(vector, &sections.ask(vector.question())?, &hello.section);
    }
    report.restarts = sections.restarts();
    Ok(report)
}
