//! What linking a file depends on, for each ABI.

use object::elf::RelocationType;
use sframe_engine::{Abi, ByteOrder};

use super::howto::{Howto, Orders};
use super::symbols::STUB;
use super::{aarch64, amd64, s390x};

/// What an ABI's processor supplement says of object files.
#[derive(Clone, Copy, Debug)]
pub(super) struct Psabi {
    /// What relocations of a type do; `None` for types that are unknown here.
    pub(super) howto: fn(RelocationType) -> Option<Howto>,
    pub(super) orders: Orders,
    /// Code that traps, for an undefined symbol. Its last byte fills what lies between
    /// sections with code.
    pub(super) stub: [u8; STUB],
}

impl Psabi {
    pub(super) const fn of(abi: Abi) -> Self {
        let data = abi.byte_order();
        match abi {
            Abi::Amd64 => Self {
                howto: amd64::howto,
                orders: Orders { data, code: ByteOrder::Little },
                // UD2, and INT3.
                stub: [
                    0x0f, 0x0b, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc,
                    0xcc,
                ],
            },
            Abi::Aarch64 | Abi::Aarch64Be => Self {
                howto: aarch64::howto,
                orders: Orders { data, code: ByteOrder::Little },
                // UDF.
                stub: [0; STUB],
            },
            Abi::S390x => Self {
                howto: s390x::howto,
                orders: Orders { data, code: ByteOrder::Big },
                // TRAP2, and no instruction.
                stub: [0x01, 0xff, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
            },
        }
    }
}
