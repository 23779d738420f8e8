//! What distinguishes a function from others of its name.

use serde::{Deserialize, Serialize};

/// The code of a function.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct FunctionCode {
    /// A digest of it, apart from what changes where the function, or what it refers to, is placed elsewhere.
    pub digest: String,
    /// Whether no other function of the file has its name.
    pub is_only: bool,
}

impl FunctionCode {
    /// Whether this is the function that a list means which gives the digest of its code, or none. `has_its_name` is
    /// whether the function has the name that is given; `None` if it has no name at all, as one of a stripped file.
    #[must_use]
    pub fn is_meant(&self, digest: Option<&str>, has_its_name: Option<bool>) -> bool {
        let is_its_code = digest == Some(&*self.digest);
        match has_its_name {
            Some(has_its_name) => has_its_name && (is_its_code || self.is_only),
            None => is_its_code,
        }
    }
}
