//! ABIs by the names that people type.

use sframe_engine::Abi;
use sframe_judge::vocabulary::UnknownName;

const NAMES: [&str; Abi::ALL.len()] = {
    let mut names = [""; Abi::ALL.len()];
    let mut index = 0;
    while index < names.len() {
        names[index] = Abi::ALL[index].name();
        index += 1;
    }
    names
};

/// The ABI of a name.
///
/// # Errors
/// There is no such ABI; the error lists all that exist.
pub fn parse_abi(name: &str) -> Result<Abi, UnknownName> {
    name.parse().map_err(|_| UnknownName { what: "ABI", given: name.to_owned(), allowed: &NAMES })
}
