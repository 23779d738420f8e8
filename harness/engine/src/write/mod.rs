//! From functions and rows to bytes. Needs the feature `alloc`.
//!
//! [`Section`] owns the content of a section, in the same types as reading.
//! [`Section::from_read`] takes it from bytes, and [`Section::write`] generates bytes in any
//! version, laid out as GNU ld does. [`Section::convert`] converts to another version or byte
//! order as far as the target can express it. [`Section::write_with`] uses other layouts, which
//! readers must accept as well.
//!
//! ```
//! use sframe_engine::{Section, write};
//! # let bytes = [
//! #     0xe2, 0xde, 2, 1, 3, 0, 0xf8, 0, 1, 0, 0, 0, 1, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0, 20, 0, 0, 0,
//! #     0x00, 0xf0, 0xff, 0xff, 4, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0x03, 8,
//! # ];
//! let section = Section::parse(&bytes, 0x2000)?;
//! let mut owned = write::Section::from_read(&section)?;
//! assert_eq!(owned.write(0x2000).unwrap(), bytes);
//! owned.functions[0].size = 16;
//! assert_ne!(owned.write(0x2000).unwrap(), bytes);
//! # Ok::<(), sframe_engine::Error>(())
//! ```

mod convert;
mod encode;
mod error;
mod layout;
mod section;

pub use convert::{Conversion, Skipped, Target};
pub use error::{WriteError, WriteErrorKind};
pub use layout::Layout;
pub use section::{Function, Section, WideRow};
