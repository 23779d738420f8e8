//! What is in a section, before it is written. Parts of it can be dropped, and the rest still makes a
//! section.

use sframe_engine::{Abi, Version};
use sframe_vectors::{Equation, FreType, PcType, Recovery};

use super::fault::{FdeFault, RowFault, SectionFault};

/// A section.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SectionPlan {
    /// The version of the format.
    pub version: Version,
    /// The ABI.
    pub abi: Abi,
    /// Where the section is loaded.
    pub address: u64,
    /// Whether the flag says that the functions are in the order of their addresses; they are then.
    pub sorted: bool,
    /// The flag that says that all functions keep a frame pointer (versions 1 and 2).
    pub frame_pointer: bool,
    /// Whether starts are relative to their own field (versions 2 and 3), and not to the section.
    pub pcrel: bool,
    /// The fixed FP offset of the header, which is not 0.
    pub fixed_fp: Option<i8>,
    /// The fixed RA offset of the header, which is not 0.
    pub fixed_ra: Option<i8>,
    /// The auxiliary header.
    pub auxiliary: Vec<u8>,
    /// Bytes between the header and the FDE sub-section.
    pub header_gap: u8,
    /// Bytes between the sub-sections.
    pub sub_section_gap: u8,
    /// Bytes after the FRE sub-section.
    pub trailing: u8,
    /// The value of those bytes.
    pub filler: u8,
    /// The functions, in the order of the FDE sub-section.
    pub functions: Vec<FunctionPlan>,
    /// The rule of the header that is broken.
    pub broken: Option<SectionFault>,
}

/// A function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FunctionPlan {
    /// Its address.
    pub start: u64,
    /// Its size in bytes.
    pub size: u32,
    /// Width of row starts.
    pub fre_type: FreType,
    /// How PCs are compared with row starts.
    pub pc_type: PcType,
    /// Size of the block that repeats; it means nothing unless the PC type is mask. 0 in version 1.
    pub rep_size: u8,
    /// Whether it is of flex type (version 3).
    pub flex: bool,
    /// Whether return addresses are signed with key B (AArch64).
    pub key_b: bool,
    /// Whether it is a signal frame (version 3).
    pub signal: bool,
    /// Its rows are stored in the order of these numbers.
    pub place: u32,
    /// The rows, in the order of their starts.
    pub rows: Vec<RowPlan>,
    /// The rule of the FDE that is broken.
    pub broken: Option<FdeFault>,
}

/// A row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowPlan {
    /// Its start, in bytes from the start of the function or block.
    pub start: u32,
    /// The least width of its data words in bytes: 1, 2 or 4.
    pub width: u8,
    /// Whether RA carries an authentication code (AArch64).
    pub mangled: bool,
    /// What is recovered; `None` for a row that says that RA is undefined.
    pub rules: Option<RowRules>,
    /// The seed of the steps from it.
    pub seed: u64,
    /// The rule of the row that is broken.
    pub broken: Option<RowFault>,
}

/// What a row recovers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowRules {
    /// The CFA.
    pub cfa: Equation,
    /// RA.
    pub ra: Recovery,
    /// FP.
    pub fp: Recovery,
}

impl SectionPlan {
    /// Returns the functions, by index, in the order in which their rows are stored.
    #[must_use]
    pub fn row_order(&self) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.functions.len()).collect();
        order.sort_by_key(|index| (self.functions[*index].place, *index));
        order
    }

    /// Returns whether the plan breaks a rule.
    #[must_use]
    pub fn is_broken(&self) -> bool {
        self.broken.is_some() || self.functions.iter().any(FunctionPlan::is_broken)
    }

    /// Returns the index of the function that covers an address. No two cover the same.
    #[must_use]
    pub fn function_at(&self, address: u64) -> Option<usize> {
        self.functions.iter().position(|function| function.covers(address))
    }

    /// Returns what RA is where no row says anything else.
    #[must_use]
    pub fn usual_ra(&self) -> Recovery {
        saved_at(self.fixed_ra)
    }

    /// Returns what FP is where no row says anything else.
    #[must_use]
    pub fn usual_fp(&self) -> Recovery {
        saved_at(self.fixed_fp)
    }
}

/// A value at a fixed offset from the CFA, or still in its register.
fn saved_at(fixed: Option<i8>) -> Recovery {
    fixed.map_or(Recovery::Unchanged, |offset| {
        Recovery::Rule(Equation { base: sframe_vectors::Base::Cfa, offset: offset.into(), dereference: true })
    })
}

impl FunctionPlan {
    /// Returns whether the function covers an address.
    #[must_use]
    pub const fn covers(&self, address: u64) -> bool {
        address.wrapping_sub(self.start) < self.size as u64
    }

    /// Returns whether the function or a row of it breaks a rule.
    #[must_use]
    pub fn is_broken(&self) -> bool {
        self.broken.is_some() || self.rows.iter().any(|row| row.broken.is_some())
    }

    /// Returns the index of the row for an address that the function covers.
    #[must_use]
    pub fn row_at(&self, address: u64) -> Option<usize> {
        let offset = address.wrapping_sub(self.start);
        let up_to =
            |offset: u64| self.rows.partition_point(|row| u64::from(row.start) <= offset).checked_sub(1);
        match (self.pc_type, self.rep_size) {
            (PcType::Inc, _) => up_to(offset),
            // Version 1: the row's start is the mask.
            (PcType::Mask, 0) => self.rows.iter().rposition(|row| {
                let mask = u64::from(row.start);
                address & mask == mask
            }),
            (PcType::Mask, rep_size) => up_to(offset % u64::from(rep_size)),
        }
    }

    /// Returns the number of bytes of the function that rows distinguish: those of a block, or all.
    #[must_use]
    pub fn extent(&self) -> u32 {
        match (self.pc_type, self.rep_size) {
            (PcType::Mask, rep_size @ 1..) => self.size.min(rep_size.into()),
            _ => self.size,
        }
    }
}
