//! Generates programs and sections, and judges what toolchains, unwinders and the bench itself say of them.

pub mod assembly;
pub mod c;
mod random;
pub mod sections;

pub use random::Random;
