//! The reader vectors in `corpus/vectors`, and how a reader answers them.

mod mistake;
mod report;
#[cfg(test)]
mod tests;

use sframe_judge::external::{External, ExternalError, SectionReply};
use sframe_vectors::engine::answer;
use sframe_vectors::{Catalogue, SectionAnswer, SectionPart, SectionQuestion, Vector, model};

use mistake::Heard;

pub use mistake::{About, Mistake};
pub use report::{Counts, Difference, Skipped, VectorsReport};
pub use sframe_vectors::model::{Way, Ways};

/// All parts of an answer.
const ALL: [SectionPart; 4] =
    [SectionPart::Header, SectionPart::Fdes, SectionPart::Lookups, SectionPart::Steps];

/// Asks the engine of this project.
#[must_use]
pub fn ask_engine(vectors: &[&Vector], catalogue: &Catalogue) -> VectorsReport {
    ask("sframe-engine", vectors, catalogue, &|question| answer(question))
}

/// Asks a reader that differs in known ways.
#[must_use]
pub fn ask_model(vectors: &[&Vector], catalogue: &Catalogue, ways: &Ways) -> VectorsReport {
    ask("sframe-model", vectors, catalogue, &|question| model::answer(question, ways))
}

/// Asks a reader in this process.
pub fn ask(
    name: &str,
    vectors: &[&Vector],
    catalogue: &Catalogue,
    reader: &dyn Fn(&SectionQuestion) -> SectionAnswer,
) -> VectorsReport {
    ask_about(name, vectors, catalogue, &ALL, &|question| SectionReply::Answer(reader(question)))
}

/// Asks a reader in this process that answers some parts.
fn ask_about(
    name: &str,
    vectors: &[&Vector],
    catalogue: &Catalogue,
    parts: &[SectionPart],
    reader: &dyn Fn(&SectionQuestion) -> SectionReply,
) -> VectorsReport {
    let mut report = VectorsReport::new(name, env!("CARGO_PKG_VERSION"));
    let mut heard = Heard::default();
    for vector in vectors {
        let reply = reader(&vector.question());
        report.add(vector, &reply, parts);
        heard.add(vector, reply);
    }
    report.explain(&heard, parts, catalogue);
    report
}

/// Asks an unwinder in a separate process. If an end is asked for, the report has the vectors so far.
///
/// # Errors
/// It can't be asked, or stops answering.
pub fn ask_external(
    vectors: &[&Vector],
    catalogue: &Catalogue,
    external: &External,
) -> Result<VectorsReport, ExternalError> {
    let hello = external.hello();
    let mut report = VectorsReport::new(&hello.name, &hello.version);
    let mut sections = external.sections()?;
    let mut heard = Heard::default();
    for vector in vectors {
        let reply = match sections.ask(vector.question()) {
            Err(ExternalError::Stopped) => break,
            reply => reply?,
        };
        report.add(vector, &reply, &hello.section);
        heard.add(vector, reply);
    }
    report.left_over = vectors.len() as u64 - report.vectors;
    report.restarts = sections.restarts();
    report.explain(&heard, &hello.section, catalogue);
    Ok(report)
}
