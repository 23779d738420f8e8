//! Faults of compilers, assemblers, linkers and libraries: their pages, with how far each reaches.
//!
//! ```text
//! page YAML -> sframe_corpus::spec::Faults --+-> report -> text, bug reports, JSON
//! specs that name it -> reach ---------------+
//! ```

mod reach;
mod report;
mod text;
mod upstream;

pub use reach::{Reach, reaches};
pub use report::{FaultReport, FaultsReport};
pub(crate) use text::{known_upstream, reached};
pub use text::{link_page, list, page, reproductions, tried};
pub use upstream::{Form, link_upstream, upstream};
