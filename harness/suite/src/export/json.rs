//! Vectors as a document.

use schemars::JsonSchema;
use serde::Serialize;
use sframe_vectors::{Asked, SectionQuestion, Vector};

/// The version of the document.
const SCHEMA: u32 = 1;

/// Vectors.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ExportedVectors<'v> {
    /// The version of this document.
    pub schema: u32,
    /// Its licence.
    pub licence: &'static str,
    /// The bench that has made it.
    pub bench: String,
    /// The vectors.
    pub vectors: Vec<ExportedVector<'v>>,
}

/// A vector in a file of its own.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct VectorFile<'v> {
    /// The version of this document.
    pub schema: u32,
    /// Its licence.
    pub licence: &'static str,
    /// The bench that has made it.
    pub bench: String,
    /// The vector.
    #[serde(flatten)]
    pub vector: ExportedVector<'v>,
}

impl<'v> VectorFile<'v> {
    /// The vector as a document.
    #[must_use]
    pub fn of(vector: &'v Vector, licence: &'static str) -> Self {
        Self { schema: SCHEMA, licence, bench: bench(), vector: ExportedVector::of(vector) }
    }
}

fn bench() -> String {
    format!("sframe-testbench {}", env!("CARGO_PKG_VERSION"))
}

/// A section, the questions about it, and the answers that are accepted.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ExportedVector<'v> {
    /// Its name.
    pub name: &'v str,
    /// What it shows.
    pub summary: &'v str,
    /// The clauses that it proves.
    pub clauses: &'v [String],
    /// The readings that its answers depend on.
    pub readings: &'v [String],
    /// The section, and the questions about it, as in the protocol.
    pub question: SectionQuestion,
    /// Each question, with the answers that are accepted: the first is the best one.
    pub asked: Vec<Asked>,
}

impl<'v> ExportedVectors<'v> {
    /// The vectors as a document.
    #[must_use]
    pub fn of(vectors: &[&'v Vector], licence: &'static str) -> Self {
        Self {
            schema: SCHEMA,
            licence,
            bench: bench(),
            vectors: vectors.iter().map(|vector| ExportedVector::of(vector)).collect(),
        }
    }
}

impl<'v> ExportedVector<'v> {
    /// One of them.
    #[must_use]
    pub fn of(vector: &'v Vector) -> Self {
        Self {
            name: &vector.id,
            summary: &vector.summary,
            clauses: &vector.clauses,
            readings: &vector.readings,
            question: vector.question(),
            asked: vector.asked(),
        }
    }
}
