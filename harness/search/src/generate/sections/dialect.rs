//! What the format says otherwise for some ABIs. It is said here once more, beside the engine's tables: the engine
//! is among the readers that are judged.

use sframe_engine::{Abi, Version};

/// What an odd word for RA or FP says in a row of default type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OddWord {
    /// An offset from the CFA, as any word.
    Offset,
    /// The register that has the value.
    Register,
    /// Readers disagree.
    Disputed,
}

/// What is different for an ABI.
#[derive(Clone, Copy, Debug)]
pub(super) struct Dialect {
    /// What is taken from the CFA's offset before it is divided (3.3.2), in bytes.
    pub(super) cfa_bias: i64,
    /// What it is divided by.
    pub(super) cfa_unit: i64,
    /// How far the caller's SP is below the CFA, in bytes.
    pub(super) sp_below_cfa: u64,
    /// Whether the return address may stay in its register in a row that has a word for it, which is 0 then.
    pub(super) zero_is_unsaved: bool,
    /// Whether functions save RA and FP in other registers.
    saves_in_registers: bool,
    /// Whether calls move SP, so that a caller's is never the same.
    pub(super) calls_move_sp: bool,
    /// Registers that rules of flex type name, by their DWARF numbers.
    pub(super) registers: &'static [u32],
    /// A CFA's offset as any function has it.
    pub(super) ordinary_cfa: i64,
}

impl Dialect {
    pub(super) const fn of(abi: Abi) -> Self {
        let usual = Self {
            cfa_bias: 0,
            cfa_unit: 1,
            sp_below_cfa: 0,
            zero_is_unsaved: false,
            saves_in_registers: false,
            calls_move_sp: false,
            registers: &[],
            ordinary_cfa: 16,
        };
        match abi {
            Abi::Amd64 => Self { calls_move_sp: true, registers: &[0, 1, 3, 8, 10, 12, 15, 16, 31], ..usual },
            Abi::Aarch64 | Abi::Aarch64Be => {
                Self { registers: &[0, 1, 9, 15, 16, 17, 19, 28, 30, 64, 72, 95], ..usual }
            }
            Abi::S390x => Self {
                cfa_bias: 160,
                cfa_unit: 8,
                sp_below_cfa: 160,
                zero_is_unsaved: true,
                saves_in_registers: true,
                registers: &[0, 1, 6, 10, 12, 14, 16, 17, 24, 31],
                ordinary_cfa: 320,
                ..usual
            },
        }
    }

    /// What odd words say in a version (version 2 erratum 1).
    pub(super) const fn odd_word(&self, version: Version) -> OddWord {
        if !self.saves_in_registers {
            return OddWord::Offset;
        }
        match version {
            Version::V1 => OddWord::Offset,
            Version::V2 => OddWord::Register,
            Version::V3 => OddWord::Disputed,
        }
    }

    /// Whether the CFA's offset is scaled.
    pub(super) const fn scales_cfa(&self) -> bool {
        self.cfa_unit != 1
    }
}

/// Whether a version takes the frames of a default FDE without rows for outermost ones (2.3.3.2).
pub(super) const fn outermost_without_rows(version: Version) -> bool {
    match version {
        Version::V1 | Version::V2 => false,
        Version::V3 => true,
    }
}
