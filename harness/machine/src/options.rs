//! How programs are started.

use std::collections::BTreeSet;
use std::ops::{Range, RangeInclusive};
use std::path::PathBuf;
use std::sync::Arc;

use crate::answers::Answers;
use crate::linux::System;
use crate::process::Pattern;
use crate::witness::WitnessFaults;

/// How a program is started.
#[derive(Clone, Debug)]
pub struct Options {
    /// What surrounds it: files, arguments, environment, input.
    pub system: System,
    /// The content of uninitialised registers and stack.
    pub pattern: Pattern,
    /// The program is broken if it executes more instructions than this. Each KiB that its system
    /// calls move counts as one, so that the budget also bounds the time.
    pub budget: u64,
    /// Size of the stack, in bytes.
    pub stack_size: u64,
    /// The program, if the host's own processor is to execute it in place of the emulator.
    pub native: Option<Arc<Native>>,
    /// Faults of the witness, to test that they are noticed.
    #[doc(hidden)]
    pub witness_faults: WitnessFaults,
    /// What an earlier run has shown of the calls.
    pub answers: Arc<Answers>,
    /// Blocks whose instructions are followed one by one: see [`Outcome::lost`](crate::Outcome::lost).
    pub stepped: Arc<BTreeSet<u64>>,
    /// How many instructions are followed one by one until blocks are tried: in short runs, that takes longer than it saves.
    #[doc(hidden)]
    pub blocks_after: u64,
}

impl Options {
    /// The allowed sizes of the stack, in bytes.
    pub const STACK_SIZES: RangeInclusive<u64> = 64 << 10..=1 << 30;
}

impl Default for Options {
    fn default() -> Self {
        Self {
            system: System::default(),
            pattern: Pattern::First,
            budget: 50_000_000,
            stack_size: 8 << 20,
            native: None,
            witness_faults: WitnessFaults::default(),
            answers: Arc::default(),
            stepped: Arc::default(),
            blocks_after: 1 << 14,
        }
    }
}

/// A program that the host's own processor executes.
#[derive(Clone, Debug)]
pub struct Native {
    /// The file of the executable.
    pub executable: PathBuf,
    /// The code of the files that are known, where an earlier run had it: each file, and its addresses.
    pub code: Vec<(PathBuf, Range<u64>)>,
}
