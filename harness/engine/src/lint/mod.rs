//! Rules of the format, and findings about sections that break them.
//!
//! [`lint`] reads a section's bytes and reports a [`Finding`] for each place
//! that breaks a [`Rule`]. Unlike the reader it does not stop at the first
//! fault: a function that can't be read doesn't hide the others. It reads the
//! raw fields itself, so a finding can name bits that the reader does not use.
//!
//! Whatever the reader refuses is an error here too; a test enforces that for
//! every value of every byte.
//!
//! ```
//! use sframe_engine::lint::{self, Linkage, Severity};
//!
//! let bytes = [0xe2, 0xde, 2, 0x81, 3, 0, 0xf8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
//! let mut errors = 0;
//! let linkage = Linkage::Linked { executable: None };
//! lint::lint(&bytes, 0x2000, linkage, &mut [], &mut |finding| {
//!     if finding.rule.severity == Severity::Error {
//!         assert_eq!(finding.rule.id, "SF108");
//!         assert_eq!(finding.to_string(), "flag bits 0x80 have no meaning");
//!         errors += 1;
//!     }
//! });
//! assert_eq!(errors, 1);
//! ```

pub mod catalogue;
mod fde;
mod finding;
mod flex;
mod fre;
mod header;
mod layout;
mod recovery;
mod reporter;
mod row;
mod rule;
mod section;

pub use catalogue::RULES;
pub use finding::{Finding, Value};
pub use rule::{Rule, Sentence, Severity, Versions};
pub use section::{Linkage, lint};
