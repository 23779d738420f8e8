//! What all parts of the test bench share: text for people, last lines with a verdict, JSON and SARIF documents, shares,
//! ranges, and who may be to blame.

mod address;
mod blame;
pub mod conclusion;
pub mod de;
pub mod json;
pub mod percent;
pub mod ranges;
pub mod sarif;
pub mod table;
pub mod text;

pub use address::{Address, FindingRow, ParseAddressError};
pub use blame::{Blame, Confidence, Witness};
