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
    /// Vectors that were selected and are too large to be here by themselves: `--large` has them.
    pub left_out: Vec<&'v str>,
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

/// The vectors as a document, each on a line of its own.
#[must_use]
pub fn document(vectors: &[&Vector], left_out: &[&Vector], licence: &'static str) -> String {
    let left_out = left_out.iter().map(|vector| &*vector.id).collect();
    let empty = ExportedVectors { schema: SCHEMA, licence, bench: bench(), left_out, vectors: Vec::new() };
    // All of it is text and numbers, which can always be written.
    let mut text = serde_json::to_string(&empty).unwrap_or_default();
    // Without `]}`.
    text.truncate(text.len().saturating_sub(2));
    for (index, vector) in vectors.iter().enumerate() {
        text += if index > 0 { ",\n" } else { "\n" };
        text += &serde_json::to_string(&ExportedVector::of(vector)).unwrap_or_default();
    }
    text += "]}\n";
    text
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
