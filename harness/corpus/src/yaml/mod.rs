//! Reading YAML: the only module that knows which YAML library is used.
//!
//! What it adds to the library:
//!
//! * every error points into the file: path, line, column, the line itself;
//! * a misspelt key or name is answered with what was probably meant;
//! * a key that appears twice is an error wherever it appears, also where
//!   Serde would let the last one win;
//! * [`Source::span`] finds where a value was written, so that a check long
//!   after parsing can still point at the line that is wrong.
//!
//! ```
//! # use std::path::Path;
//! # use serde::Deserialize;
//! #[derive(Debug, Deserialize)]
//! #[serde(deny_unknown_fields)]
//! struct Item {
//!     #[expect(dead_code, reason = "an example")]
//!     name: String,
//! }
//!
//! let error = sframe_corpus::yaml::from_str::<Item>(Path::new("item.yaml"), "nam: x\n")
//!     .unwrap_err();
//! assert_eq!(
//!     error.to_string(),
//!     "item.yaml:1:1: unknown key `nam`; did you mean `name`? (allowed here: `name`)",
//! );
//! ```

mod error;
mod locate;
mod parse;
mod source;
#[cfg(test)]
mod tests;
mod walk;

use std::path::Path;

use serde::de::DeserializeOwned;

pub use error::Error;
/// For a field with an enum of which a variant is written as a mapping with one key.
pub use serde_yaml::with::singleton_map as one_key;
pub use source::Source;

/// The most mistakes reported for a file. To locate each, the file is read
/// again.
pub(crate) const MAX_ERRORS: usize = 50;

/// Parses `text`; `path` is only used in errors.
///
/// # Errors
///
/// Anything that is not one YAML document of the shape of `T`.
pub fn from_str<T: DeserializeOwned>(path: &Path, text: &str) -> Result<T, Error> {
    Source::new(path, text).parse()
}

/// Reads and parses one file.
///
/// # Errors
///
/// As for [`from_str`], or the file cannot be read, is larger than
/// [`Source::MAX_BYTES`] or is not UTF-8.
pub fn read<T: DeserializeOwned>(path: &Path) -> Result<T, Error> {
    Source::read(path)?.parse()
}

/// The error about a value of a file that was read before, at its line if it can be read again.
pub fn mistake_in(path: &Path, keys: &[&str], message: String) -> Error {
    match Source::read(path) {
        Ok(source) => source.error_at(source.span(keys), message, None::<&str>),
        Err(_) => Error::of_file(path, message, None),
    }
}

/// Formats the value as YAML.
///
/// # Errors
/// It can't be expressed; the message says why.
pub fn to_string<T: serde::Serialize>(value: &T) -> Result<String, String> {
    serde_yaml::to_string(value).map_err(|error| error.to_string())
}
