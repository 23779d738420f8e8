//! Generates programs and sections, and judges what toolchains, unwinders and the bench itself say of them.

pub mod assembly;
pub mod c;
mod draft;
mod other_toolchains;
mod random;
pub mod sections;

pub use other_toolchains::{Elsewhere, ask_others};
pub use random::Random;
