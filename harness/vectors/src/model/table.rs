//! What differs between versions and ABIs. It is said here once more, beside the engine's tables and those of the
//! encoder: neither may be wrong unnoticed.

use sframe_engine::{Abi, ByteOrder};

/// What a version has.
#[derive(Clone, Copy, Debug)]
pub(super) struct Format {
    /// Size of an entry of the FDE sub-section, in bytes.
    pub(super) entry: usize,
    /// Width of a start, in bytes.
    pub(super) start: usize,
    /// Whether a flag makes starts relative to their own fields.
    pub(super) pcrel: bool,
    /// Whether the flag of frame pointers is defined.
    pub(super) frame_pointer: bool,
    /// Whether the number of rows, the info bytes and the block size precede the rows.
    pub(super) attribute: bool,
    /// Whether there is a block size.
    pub(super) block: bool,
    /// Whether the bit of the key has a meaning.
    pub(super) key: bool,
    /// Whether there are signal frames, flex FDEs, and outermost FDEs.
    pub(super) kinds: bool,
    /// Whether a row without words says that RA is undefined.
    pub(super) undefined: bool,
    /// Whether odd offsets of s390x name registers.
    pub(super) odd_registers: bool,
    /// The most data words that the text allows in a row.
    pub(super) most_words: u8,
    /// The ABIs, by their identifiers.
    pub(super) abis: &'static [(u8, Abi)],
}

const ABIS: &[(u8, Abi)] = &[(1, Abi::Aarch64Be), (2, Abi::Aarch64), (3, Abi::Amd64), (4, Abi::S390x)];

impl Format {
    /// Returns `None` if there is no such version.
    pub(super) fn of(version: u8) -> Option<Self> {
        let first = Self {
            entry: 17,
            start: 4,
            pcrel: false,
            frame_pointer: true,
            attribute: false,
            block: false,
            key: false,
            kinds: false,
            undefined: false,
            odd_registers: false,
            most_words: 3,
            abis: &ABIS[..3],
        };
        let second = Self {
            entry: 20,
            pcrel: true,
            block: true,
            key: true,
            undefined: true,
            odd_registers: true,
            abis: ABIS,
            ..first
        };
        match version {
            1 => Some(first),
            2 => Some(second),
            3 => Some(Self {
                entry: 16,
                start: 8,
                frame_pointer: false,
                attribute: true,
                kinds: true,
                odd_registers: false,
                most_words: 15,
                ..second
            }),
            _ => None,
        }
    }
}

/// What is different for an ABI.
#[derive(Clone, Copy, Debug)]
pub(super) struct Machine {
    /// Its byte order.
    pub(super) order: ByteOrder,
    /// The DWARF numbers of SP and FP.
    pub(super) sp: u32,
    pub(super) fp: u32,
    /// That of the register that has the return address when a function is entered.
    pub(super) ra: Option<u32>,
    /// The last of the registers that a rule may name in any reading: the general ones and, on s390x, those for
    /// floating-point numbers, which come after them.
    pub(super) last_register: u32,
    /// The return address's usual place from the CFA; 0 if rows track it.
    pub(super) fixed_ra: i8,
    /// What a CFA offset is multiplied by, and what is added then.
    pub(super) factor: i64,
    pub(super) adjustment: i64,
    /// How far the caller's SP is below the CFA.
    pub(super) sp_below: u64,
    /// Whether an RA word of 0 says that RA is not saved.
    pub(super) ra_padding: bool,
    /// Whether return addresses are signed.
    pub(super) signs: bool,
    /// Whether registers are saved in registers, as odd offsets say.
    pub(super) odd_registers: bool,
    /// Whether the text counts the words of a row as one or three.
    pub(super) words_of_1_or_3: bool,
}

impl Machine {
    pub(super) const fn of(abi: Abi) -> Self {
        let arm = Self {
            order: ByteOrder::Little,
            sp: 31,
            fp: 29,
            ra: Some(30),
            last_register: 31,
            fixed_ra: 0,
            factor: 1,
            adjustment: 0,
            sp_below: 0,
            ra_padding: false,
            signs: true,
            odd_registers: false,
            words_of_1_or_3: true,
        };
        match abi {
            Abi::Aarch64 => arm,
            Abi::Aarch64Be => Self { order: ByteOrder::Big, ..arm },
            Abi::Amd64 => {
                let amd64 = Self { sp: 7, fp: 6, ra: None, last_register: 15, fixed_ra: -8, ..arm };
                Self { signs: false, words_of_1_or_3: false, ..amd64 }
            }
            Abi::S390x => Self {
                order: ByteOrder::Big,
                sp: 15,
                fp: 11,
                ra: Some(14),
                factor: 8,
                adjustment: 160,
                sp_below: 160,
                ra_padding: true,
                signs: false,
                odd_registers: true,
                words_of_1_or_3: false,
                ..arm
            },
        }
    }
}
