//! The structured form of a section: its fields by name.

use serde::{Deserialize, Serialize};
use sframe_engine::{Abi, ByteOrder};

use crate::names::{BaseRegister, FdeType, Flag, FreType, PauthKey, PcType};
use crate::number::{Address, Hex};

/// A section, field by field. A field that is left out is 0, or follows from the others.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct SectionSource {
    /// 1, 2 or 3: the layout.
    pub version: u8,
    /// The ABI, which also gives the byte order.
    pub abi: Abi,
    /// A different byte order from the ABI's, which makes the section wrong.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub byte_order: Option<ByteOrder>,
    /// The flags of the preamble.
    #[serde(default, skip_serializing_if = "is_default")]
    pub flags: Vec<Flag>,
    /// The fixed FP offset.
    #[serde(default, skip_serializing_if = "is_default")]
    pub fixed_fp: i8,
    /// The fixed RA offset.
    #[serde(default, skip_serializing_if = "is_default")]
    pub fixed_ra: i8,
    /// The auxiliary header.
    #[serde(default, skip_serializing_if = "is_default")]
    pub aux: Hex,
    /// Bytes between the header and the first FDE.
    #[serde(default, skip_serializing_if = "is_default")]
    pub fde_gap: Hex,
    /// Bytes between the last FDE and the FRE sub-section.
    #[serde(default, skip_serializing_if = "is_default")]
    pub fre_gap: Hex,
    /// The functions, in the order of the FDE sub-section.
    #[serde(default, skip_serializing_if = "is_default")]
    pub fdes: Vec<FdeSource>,
    /// The order in which the functions' rows are stored, by FDE index; by default, the order
    /// of the FDEs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub row_order: Option<Vec<usize>>,
    /// Header fields to override.
    #[serde(default, skip_serializing_if = "is_default")]
    pub header: RawHeader,
    /// Bytes after the FRE sub-section.
    #[serde(default, skip_serializing_if = "is_default")]
    pub trailing: Hex,
    /// Finally, cuts the section to this number of bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub keep: Option<usize>,
}

/// One function with its rows.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct FdeSource {
    /// Its address. The encoder stores it relative to the section, or to the
    /// field where the flag `pcrel` is set (not in version 1).
    pub start: Address,
    /// Its size in bytes.
    pub size: u32,
    /// Width of the row starts.
    #[serde(default, skip_serializing_if = "is_default")]
    pub fre_type: FreType,
    /// How PCs are compared with row starts.
    #[serde(default, skip_serializing_if = "is_default")]
    pub pc_type: PcType,
    /// How data words are read; stored in version 3.
    #[serde(default, skip_serializing_if = "is_default")]
    pub fde_type: FdeType,
    /// The pointer authentication key.
    #[serde(default, skip_serializing_if = "is_default")]
    pub pauth_key: PauthKey,
    /// The signal bit.
    #[serde(default, skip_serializing_if = "is_default")]
    pub signal: bool,
    /// Size of the repeated block; stored in versions 2 and 3.
    #[serde(default, skip_serializing_if = "is_default")]
    pub rep_size: u8,
    /// Fields to override.
    #[serde(default, skip_serializing_if = "is_default")]
    pub raw: RawFde,
    /// The rows.
    #[serde(default, skip_serializing_if = "is_default")]
    pub rows: Vec<RowSource>,
}

/// One row.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct RowSource {
    /// Its start.
    pub start: u32,
    /// The base register bit.
    pub base: BaseRegister,
    /// Width of the data words in bytes: 1, 2 or 4.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub width: u8,
    /// The data words as they are stored, signed or unsigned.
    pub words: Vec<i64>,
    /// The bit that says that RA is mangled.
    #[serde(default, skip_serializing_if = "is_default")]
    pub mangled: bool,
    /// Fields to override.
    #[serde(default, skip_serializing_if = "is_default")]
    pub raw: RawRow,
}

const fn one() -> u8 {
    1
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
const fn is_one(width: &u8) -> bool {
    *width == 1
}

/// What follows when a field is left out need not be written.
fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// Overrides of header fields.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct RawHeader {
    /// `sfp_magic`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub magic: Option<u16>,
    /// `sfp_version`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<u8>,
    /// `sfp_flags`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flags: Option<u8>,
    /// `sfh_abi_arch`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub abi: Option<u8>,
    /// `sfh_auxhdr_len`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub aux_len: Option<u8>,
    /// `sfh_num_fdes`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub num_fdes: Option<u32>,
    /// `sfh_num_fres`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub num_fres: Option<u32>,
    /// `sfh_fre_len`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fre_len: Option<u32>,
    /// `sfh_fdeoff`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fdeoff: Option<u32>,
    /// `sfh_freoff`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub freoff: Option<u32>,
}

/// Overrides of FDE fields.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct RawFde {
    /// The offset to the rows, from the start of the FRE sub-section.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fre_offset: Option<u32>,
    /// The number of rows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub num_fres: Option<u32>,
    /// The info byte; the first one in version 3.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub info: Option<u8>,
    /// The second info byte of version 3.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub info2: Option<u8>,
    /// The padding of version 2.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub padding: Option<u16>,
}

/// Overrides of row fields.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct RawRow {
    /// The info byte.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub info: Option<u8>,
}
