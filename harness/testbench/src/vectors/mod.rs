//! The vectors for readers, `corpus/vectors`, and what a reader makes of them.

mod compare;
mod engine;
mod report;

use sframe_protocol::{Question, SectionPart, SectionQuestion, StepQuestion};
use sframe_vectors::{Hex, Vector};

use crate::unwind::external::{Asked, External, ExternalError};

pub use compare::Part;
pub use engine::answer;
pub use report::{Counts, Difference, Skipped, VectorsReport};

/// What a reader is asked about a vector.
#[must_use]
pub fn question(vector: &Vector) -> SectionQuestion {
    let abi = vector.header.as_ref().map(|header| header.abi);
    let step = |step: &sframe_vectors::Step| StepQuestion {
        frame: step.frame,
        registers: step.registers.clone(),
        memory: step.memory.clone(),
        address_bits: step.address_bits,
    };
    SectionQuestion {
        address: sframe_vectors::Address(vector.address),
        bytes: Hex(vector.bytes.clone()),
        abi,
        endian: abi.map(sframe_vectors::Abi::byte_order),
        lookups: vector
            .lookups
            .iter()
            .map(|lookup| Question { pc: lookup.pc, return_address: lookup.return_address })
            .collect(),
        steps: vector.steps.iter().map(step).collect(),
    }
}

/// Asks the engine of this project.
#[must_use]
pub fn ask_engine(vectors: &[&Vector]) -> VectorsReport {
    let all = [SectionPart::Header, SectionPart::Fdes, SectionPart::Lookups, SectionPart::Steps];
    let mut report = VectorsReport::new("sframe-engine", env!("CARGO_PKG_VERSION"));
    for vector in vectors {
        report.add(vector, &Asked::Answer(answer(&question(vector))), &all);
    }
    report
}

/// Asks an unwinder in a process of its own.
///
/// # Errors
/// It can't be asked, or no longer.
pub fn ask_external(vectors: &[&Vector], external: &External) -> Result<VectorsReport, ExternalError> {
    let hello = external.hello();
    let mut report = VectorsReport::new(&hello.name, &hello.version);
    let mut sections = external.sections()?;
    for vector in vectors {
        report.add(vector, &sections.ask(question(vector))?, &hello.section);
    }
    report.restarts = sections.restarts();
    Ok(report)
}
