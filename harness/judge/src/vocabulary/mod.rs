//! The names that specs, findings and reports share.
//!
//! | file | what |
//! |---|---|
//! | `end.rs`, `feature.rs`, `trace.rs`, `verdict.rs` | enumerations: what happens, and what is said of it |
//! | `qualified_name.rs` | functions of one image among several |
//! | `named.rs` | how such an enumeration is declared |
//! | `suggest.rs` | which name was probably meant |

mod end;
mod feature;
mod named;
mod qualified_name;
pub mod suggest;
mod trace;
mod verdict;

pub use end::End;
pub use feature::Feature;
pub use named::{UnknownName, named};
pub use qualified_name::QualifiedName;
pub use trace::Trace;
pub use verdict::Verdict;
