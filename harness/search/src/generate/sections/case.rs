//! A section with all questions and answers.

use sframe_vectors::Vector;

use super::fault::SectionFault;
use super::feature::readings;
use super::plan::SectionPlan;

/// A generated section.
#[derive(Clone, Debug)]
pub struct Case {
    /// The plan.
    pub plan: SectionPlan,
    /// The section, the questions and their answers.
    pub vector: Vector,
}

impl Case {
    /// Makes a section of a plan. `open` adds questions whose answers the specification leaves to the reader.
    ///
    /// # Errors
    /// The plan can't be written; or the engine's writer and the encoder of the vectors disagree.
    pub fn new(plan: SectionPlan, id: &str, open: bool) -> Result<Self, CaseError> {
        let source = plan.source().ok_or(CaseError::NotExpressible)?;
        let bytes = source.encode(plan.address).map_err(|_| CaseError::NotExpressible)?;
        if !plan.is_broken() {
            let written = plan.written().map_err(CaseError::Writer)?;
            if written != bytes {
                let same = written.iter().zip(&bytes).take_while(|(one, other)| one == other).count();
                let message = format!(
                    "the writer of the engine and the encoder of the vectors differ from offset {same} on: {} \
                     and {} bytes",
                    written.len(),
                    bytes.len()
                );
                return Err(CaseError::Writer(message));
            }
        }
        let reject = plan.broken.map(SectionFault::reject);
        let (mut header, mut fdes, mut lookups, mut steps) = (None, Vec::new(), Vec::new(), Vec::new());
        if reject.is_none() {
            header = Some(plan.header(&source));
            fdes = plan.fdes();
            lookups = plan.lookups(&fdes);
            steps = plan.steps(open);
        }
        let vector = Vector {
            id: id.to_owned(),
            summary: String::new(),
            clauses: super::feature::clauses(&plan),
            readings: readings(&plan).into_iter().map(str::to_owned).collect(),
            address: plan.address,
            bytes,
            section: Some(source),
            reject,
            header,
            fdes,
            lookups,
            steps,
            only_answered: false,
            alternatives: Vec::new(),
        };
        Ok(Self { plan, vector })
    }
}

/// Why there is no section.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CaseError {
    /// The format can't express the plan.
    #[error("the format can't express the plan")]
    NotExpressible,
    /// The engine's writer is wrong, or the encoder.
    #[error("{0}")]
    Writer(String),
}
