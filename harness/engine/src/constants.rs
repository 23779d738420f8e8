//! Names and values of the format, as in the specification.
//!
//! The section numbers are those of the specification of version 3 unless a
//! version is named.

/// Magic number of a section, in the section's byte order (2.1).
pub const SFRAME_MAGIC: u16 = 0xdee2;

/// First version; obsolete (2.1.2).
pub const SFRAME_VERSION_1: u8 = 1;
/// Second version (2.1.2).
pub const SFRAME_VERSION_2: u8 = 2;
/// Third version (2.1.2).
pub const SFRAME_VERSION_3: u8 = 3;

/// The FDEs are sorted by start address (2.1.3).
pub const SFRAME_F_FDE_SORTED: u8 = 0x1;
/// All functions keep a frame pointer; versions 1 and 2 (2.1.3).
pub const SFRAME_F_FRAME_POINTER: u8 = 0x2;
/// Start addresses are relative to their own field; version 2 errata 1 and version 3 (2.1.3).
pub const SFRAME_F_FDE_FUNC_START_PCREL: u8 = 0x4;

/// AArch64, big endian (2.2.1).
pub const SFRAME_ABI_AARCH64_ENDIAN_BIG: u8 = 1;
/// AArch64, little endian (2.2.1).
pub const SFRAME_ABI_AARCH64_ENDIAN_LITTLE: u8 = 2;
/// AMD64, little endian (2.2.1).
pub const SFRAME_ABI_AMD64_ENDIAN_LITTLE: u8 = 3;
/// s390x, big endian; version 2 errata 1 and version 3 (2.2.1).
pub const SFRAME_ABI_S390X_ENDIAN_BIG: u8 = 4;

/// A fixed FP offset of 0 in the header: FP is tracked in the rows (2.2).
pub const SFRAME_CFA_FIXED_FP_INVALID: i8 = 0;
/// A fixed RA offset of 0 in the header: RA is tracked in the rows (2.2).
pub const SFRAME_CFA_FIXED_RA_INVALID: i8 = 0;

/// Row starts are 8 bits wide (2.3.3.3).
pub const SFRAME_FRE_TYPE_ADDR1: u8 = 0;
/// Row starts are 16 bits wide (2.3.3.3).
pub const SFRAME_FRE_TYPE_ADDR2: u8 = 1;
/// Row starts are 32 bits wide (2.3.3.3).
pub const SFRAME_FRE_TYPE_ADDR4: u8 = 2;

/// Row starts are increments from the start of the function (2.3.3.1).
pub const SFRAME_FDE_PCTYPE_INC: u8 = 0;
/// Row starts repeat with each block of `rep_size` bytes (2.3.3.1).
pub const SFRAME_FDE_PCTYPE_MASK: u8 = 1;

/// Data words are stack offsets, as the ABI interprets them (2.3.3.2).
pub const SFRAME_FDE_TYPE_DEFAULT: u8 = 0;
/// Data words are pairs of control and offset (2.3.3.2).
pub const SFRAME_FDE_TYPE_FLEX: u8 = 1;

/// Return addresses are signed with key A (2.3.3).
pub const SFRAME_AARCH64_PAUTH_KEY_A: u8 = 0;
/// Return addresses are signed with key B (2.3.3).
pub const SFRAME_AARCH64_PAUTH_KEY_B: u8 = 1;

/// Data words are 1 byte wide (2.4.1).
pub const SFRAME_FRE_DATAWORD_1B: u8 = 0;
/// Data words are 2 bytes wide (2.4.1).
pub const SFRAME_FRE_DATAWORD_2B: u8 = 1;
/// Data words are 4 bytes wide (2.4.1).
pub const SFRAME_FRE_DATAWORD_4B: u8 = 2;

/// The CFA is based on FP (2.4.1, `fre_cfa_base_reg_id`).
pub const SFRAME_BASE_REG_FP: u8 = 0;
/// The CFA is based on SP (2.4.1, `fre_cfa_base_reg_id`).
pub const SFRAME_BASE_REG_SP: u8 = 1;

/// A data word of 0 where an RA offset belongs: RA is not saved on the stack
/// (3.1.3), or takes its default place (3.2).
pub const SFRAME_FRE_RA_OFFSET_INVALID: i32 = 0;

/// s390x: SP at the call is the CFA plus this (3.1.3).
pub const SFRAME_S390X_SP_VAL_OFFSET: i64 = -160;
/// s390x: added to a CFA offset before it is scaled down (3.1.3).
pub const SFRAME_S390X_CFA_OFFSET_ADJUSTMENT: i64 = SFRAME_S390X_SP_VAL_OFFSET;
/// s390x: CFA offsets are stored divided by this (3.1.3).
pub const SFRAME_S390X_CFA_OFFSET_ALIGNMENT_FACTOR: i64 = 8;

/// Size of the header without the auxiliary header, in bytes (2.2).
pub const HEADER_SIZE: usize = 28;
/// Size of an FDE of version 1, in bytes (version 1, 1.3).
pub const V1_FDE_SIZE: usize = 17;
/// Size of an FDE of version 2, in bytes (version 2, 2.3).
pub const V2_FDE_SIZE: usize = 20;
/// Size of an FDE index entry of version 3, in bytes (2.3.1).
pub const V3_FDE_INDEX_SIZE: usize = 16;
/// Size of an FDE attribute of version 3, in bytes (2.3.2).
pub const V3_FDE_ATTR_SIZE: usize = 5;
