//! The names that specs, findings and reports share.
//!
//! | file | what |
//! |---|---|
//! | `end.rs`, `feature.rs`, `layout.rs`, `trace.rs`, `verdict.rs` | enumerations: what happens, and what is said of it |
//! | `qualified_name.rs` | functions of one image among several |
//! | `prose.rs` | sentences for people, which nothing reads back |
//! | `named.rs` | how such an enumeration is declared |

mod end;
mod feature;
mod layout;
mod named;
mod prose;
mod qualified_name;
mod trace;
mod verdict;

pub use end::End;
pub use feature::Feature;
pub use layout::LayoutFact;
pub use named::{UnknownName, named};
pub use prose::Prose;
pub use qualified_name::QualifiedName;
pub use sframe_vectors::suggest;
pub use trace::Trace;
pub use verdict::Verdict;
