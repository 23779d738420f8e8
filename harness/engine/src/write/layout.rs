//! How a section is laid out.

use crate::read::DataWordSize;

/// The layout choices that a section's content leaves open.
///
/// The order of functions and of their rows, the width of row starts and the auxiliary header
/// are fields of [`Section`](super::Section). The FRE sub-section is always the last one: it is
/// the only one whose length the format gives (2.2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Layout {
    /// Bytes between the header, with its auxiliary part, and the FDE sub-section (2.2,
    /// `sfh_fdeoff`). In versions 2 and 3, a multiple of 4 keeps the fields of FDEs naturally
    /// aligned.
    pub header_gap: u16,
    /// Bytes between the FDE sub-section and the FRE sub-section (2.2, `sfh_freoff`).
    pub sub_section_gap: u16,
    /// Bytes after the FRE sub-section (2.2, `sfh_fre_len`). The header does not account for
    /// them.
    pub trailing: u16,
    /// The value of those bytes.
    pub filler: u8,
    /// The minimum width of data words (2.4.1); `None` for the smallest width that holds all
    /// words of a row.
    pub data_words: Option<DataWordSize>,
}
