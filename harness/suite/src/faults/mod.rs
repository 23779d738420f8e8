//! Faults of compilers, assemblers, linkers and libraries: their pages, with how far each reaches.
//!
//! ```text
//! page YAML -> sframe_corpus::spec::Faults --+-> report -> text, Markdown, JSON
//! specs that name it -> reach ---------------+
//! ```

mod markdown;
mod reach;
mod report;
mod text;

pub use markdown::{link_markdown, markdown};
pub use reach::{Reach, reaches};
pub use report::{FaultReport, FaultsReport};
pub use text::{link_page, list, page, reproductions};
