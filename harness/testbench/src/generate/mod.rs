//! Generates programs whose true unwind state is known by construction, and judges what toolchains,
//! witnesses and the bench itself say of them.
//!
//! | file | what |
//! |---|---|
//! | `random.rs` | seeded choices |
//! | `state.rs` | what registers and the frame hold at an instruction, in symbols |
//! | `assembly/` | random functions in assembly, with the CFI directives that match them |
//! | `judge.rs` | compares a program's sections, a run and an exploration with the constructed state |
//! | `group.rs` | findings with one cause |
//! | `reduce.rs` | the smallest program with a finding |
//! | `report.rs` | the document |

pub mod assembly;
pub mod campaign;
pub mod judge;
mod random;
pub mod reduce;
mod state;

pub use random::Random;
pub use state::{State, Value};
