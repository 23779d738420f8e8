//! What other toolchains make of the smallest program with a fault.

use std::collections::BTreeMap;

use serde::Serialize;
use sframe_corpus::corpus::{Error, Maker, Toolchain};
use sframe_engine::Abi;

/// What a toolchain makes of an example.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "result")]
pub enum Elsewhere {
    /// The same: the section says the same of the same instruction, or the tools the same of the program.
    Same,
    /// The section is wrong, and says something else.
    Other {
        /// What it says.
        says: String,
    },
    /// The section is right; or the program is made, which the other toolchain does not make.
    Right,
    /// `.sframe` leaves the function out.
    LeftOut,
    /// The tools do not make the program.
    Refused {
        /// What they say.
        says: String,
    },
    /// The bench can't judge the program.
    Unjudged {
        /// Why.
        why: String,
    },
}

impl std::fmt::Display for Elsewhere {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Same => f.write_str("the same"),
            Self::Other { says } => write!(f, "also wrong: {says}"),
            Self::Right => f.write_str("right"),
            Self::LeftOut => f.write_str("left out of .sframe"),
            Self::Refused { says } => write!(f, "not made: {says}"),
            Self::Unjudged { why } => write!(f, "not judged: {why}"),
        }
    }
}

/// Asks each toolchain but one that compiles for an ABI. The answers are by name.
///
/// # Errors
/// The first of `ask`.
pub fn ask_others<T>(
    makers: &[Maker],
    own: &str,
    abi: Abi,
    ask: impl Fn(&Maker) -> Result<T, Error>,
) -> Result<BTreeMap<String, T>, Error> {
    let mut all = BTreeMap::new();
    for maker in makers {
        let Toolchain { name, abis, .. } = maker.toolchain();
        if name != own && abis.contains_key(&abi) {
            all.insert(name.clone(), ask(maker)?);
        }
    }
    Ok(all)
}
