//! The layout that the header gives.

use core::ops::Range;

use crate::abi::Abi;
use crate::read::{Bytes, Flags};
use crate::version::Version;

/// The content of the header, as far as it is meaningful.
pub(super) struct Layout<'a> {
    pub(super) bytes: Bytes<'a>,
    pub(super) version: Version,
    pub(super) flags: Flags,
    /// `None` if the identifier is unknown; what depends on it is not checked.
    pub(super) abi: Option<Abi>,
    pub(super) num_fres: u32,
    /// The FDEs that are within the section.
    pub(super) num_fdes: u32,
    /// Their offset in the section.
    pub(super) fdes_at: usize,
    /// The part of the FRE sub-section that is within the section.
    pub(super) fres: Range<usize>,
}

impl Layout<'_> {
    /// Whether start addresses are relative to their own field.
    pub(super) fn start_is_pcrel(&self) -> bool {
        self.version.has_pcrel_starts() && self.flags.func_start_pcrel()
    }

    pub(super) fn signs_return_addresses(&self) -> bool {
        self.abi.is_some_and(Abi::signs_return_addresses)
    }
}
