//! The bytes of a section with call frame information.

use gimli::{BaseAddresses, EndianSlice, Pointer, RunTimeEndian};
use rustc_hash::FxHashSet;

pub(super) type Slice<'d> = EndianSlice<'d, RunTimeEndian>;

/// A section with call frame information.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum CfiSection {
    /// `.eh_frame`, which is loaded.
    EhFrame,
    /// `.debug_frame`, which is not.
    DebugFrame,
}

impl CfiSection {
    /// Returns its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::EhFrame => ".eh_frame",
            Self::DebugFrame => ".debug_frame",
        }
    }
}

impl std::fmt::Display for CfiSection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

#[derive(Clone, Debug)]
pub(super) struct Table {
    pub(super) section: CfiSection,
    pub(super) data: Vec<u8>,
    pub(super) bases: BaseAddresses,
    /// Offsets of CIEs whose return addresses are signed with key B.
    pub(super) key_b: FxHashSet<usize>,
    /// Offsets of CIEs for signal frames.
    pub(super) signal: FxHashSet<usize>,
}

impl Table {
    /// Returns the address that a pointer of the section has. One that is relative to
    /// its own place, and 0, stands for none.
    pub(super) fn outside(&self, pointer: Pointer) -> Option<u64> {
        let Pointer::Direct(address) = pointer else { return None };
        let start = self.bases.eh_frame.section.unwrap_or(0);
        (address != 0 && address.wrapping_sub(start) >= self.data.len() as u64).then_some(address)
    }
}
