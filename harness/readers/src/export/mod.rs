//! The vectors, written for readers that are tested without the bench: as JSON, as tables in C, and as files of bytes.

mod c;
mod json;

use std::collections::BTreeMap;

use sframe_vectors::Vector;

pub use c::{HeaderOptions, header};
pub use json::{ExportedVector, ExportedVectors, VectorFile, document};

/// Sections with more bytes are left out unless they are asked for: answers about what recipes make take hundreds of
/// megabytes as text, and compilers minutes for tables of them.
pub const LARGEST: usize = 64 << 10;

/// A file to write: its path in the folder, and its content.
pub type File = (String, Vec<u8>);

/// The sections, with the questions and answers of each beside it.
#[must_use]
pub fn files(vectors: &[&Vector], licence: &'static str) -> Vec<File> {
    let mut files: BTreeMap<String, Vec<u8>> = BTreeMap::new();
    for vector in vectors {
        let mut answers = serde_json::to_vec(&VectorFile::of(vector, licence)).unwrap_or_default();
        answers.push(b'\n');
        files.insert(format!("{}.sframe", vector.id), vector.bytes.clone());
        files.insert(format!("{}.json", vector.id), answers);
    }
    files.insert("LICENSE".into(), format!("SPDX-License-Identifier: {licence}\n").into_bytes());
    files.into_iter().collect()
}
