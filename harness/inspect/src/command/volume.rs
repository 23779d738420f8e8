//! How much a command says.

use std::fmt::Display;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Instant;

use super::tell_line;

/// How much a command says besides its results.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Volume {
    /// Errors, what is wrong, and how it ended.
    Quiet,
    /// Also progress and notes.
    #[default]
    Normal,
    /// Also what it is doing.
    Verbose,
}

/// Of this process: [`Volume`] as a number.
static VOLUME: AtomicU8 = AtomicU8::new(Volume::Normal as u8);

/// The options of every command that say how much it says.
#[derive(Clone, Copy, Debug, clap::Args)]
pub struct VolumeOptions {
    /// Only what is wrong: no progress, and no notes.
    #[arg(short, long, global = true, conflicts_with = "verbose", display_order = 1000)]
    quiet: bool,
    /// Print all figures, and say on standard error what is being done.
    #[arg(short, long, global = true, display_order = 1000)]
    verbose: bool,
}

impl VolumeOptions {
    /// Sets it for this process.
    pub fn set(self) {
        let volume = match self {
            Self { quiet: true, .. } => Volume::Quiet,
            Self { verbose: true, .. } => Volume::Verbose,
            Self { .. } => Volume::Normal,
        };
        VOLUME.store(volume as u8, Ordering::Relaxed);
    }
}

/// How much this process says.
#[must_use]
pub fn volume() -> Volume {
    match VOLUME.load(Ordering::Relaxed) {
        number if number == Volume::Quiet as u8 => Volume::Quiet,
        number if number == Volume::Verbose as u8 => Volume::Verbose,
        _ => Volume::Normal,
    }
}

/// Writes a note to standard error: something that is neither a result nor an error.
pub fn note(line: impl Display) {
    if volume() != Volume::Quiet {
        tell_line(line);
    }
}

/// Says what is being done, if somebody wants to know.
pub fn detail<L: Display>(line: impl FnOnce() -> L) {
    if volume() == Volume::Verbose {
        tell_line(format_args!("- {}", line()));
    }
}

/// Says what has been done and how long it took, if somebody wants to know.
pub fn detail_since<L: Display>(start: Instant, line: impl FnOnce() -> L) {
    detail(|| format!("{}, {:.1} s", line(), start.elapsed().as_secs_f64()));
}
