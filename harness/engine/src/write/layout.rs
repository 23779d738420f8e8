//! How a section is laid out.

use crate::read::DataWordSize;

/// What of a section's bytes its content leaves open.
///
/// The order of functions, that of their rows, the width of row starts and the
/// auxiliary header are the [`Section`](super::Section)'s own. The FRE
/// sub-section is always the last one: the format gives the length of that one
/// only (2.2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Layout {
    /// Bytes between the header, with its auxiliary part, and the FDE
    /// sub-section (2.2, `sfh_fdeoff`). In versions 2 and 3 a multiple of 4
    /// keeps the fields of FDEs at their natural boundaries.
    pub header_gap: u16,
    /// Bytes between the FDE sub-section and the FRE sub-section (2.2, `sfh_freoff`).
    pub sub_section_gap: u16,
    /// Bytes behind the FRE sub-section (2.2, `sfh_fre_len`). The header does
    /// not account for them.
    pub trailing: u16,
    /// What those bytes hold.
    pub filler: u8,
    /// Data words are at least as wide (2.4.1). None for the smallest width
    /// that holds all of a row's.
    pub data_words: Option<DataWordSize>,
}
