//! The relocations of AArch64 (ELF for the Arm 64-bit Architecture, 5.7).

use object::elf::*;

use super::howto::Howto::{self, Distance, Nothing};
use super::howto::Range::{Any, Either, Signed, Unsigned};
use super::howto::{Content, Field, Origin, Part, Range, Target, data};

/// Bits of an instruction.
const fn instruction(low: u8, parts: &'static [Part], range: Range) -> Field {
    Field { size: 4, low, parts, range, is_code: true }
}

/// The distance of B and BL, in words.
const BRANCH: Field = instruction(2, &[Part { len: 26, at: 0 }], Signed);
/// The distance of conditional branches and of loads of literals.
const NEAR: Field = instruction(2, &[Part { len: 19, at: 5 }], Signed);
/// The distance of TBZ and TBNZ.
const NEAREST: Field = instruction(2, &[Part { len: 14, at: 5 }], Signed);
/// That of ADR, with the lowest bits apart.
const ADR: Field = instruction(0, &[Part { len: 2, at: 29 }, Part { len: 19, at: 5 }], Signed);
/// That of ADRP, in pages.
const ADRP: Field = Field { low: 12, ..ADR };
/// An offset in a scaled table of the GOT.
const GOT_OFFSET: Field = instruction(3, &[Part { len: 12, at: 10 }], Unsigned);

/// An offset in a page, of units of some power of two.
const fn page_offset(low: u8) -> Field {
    // Those above the page are in ADRP.
    let parts: &[Part] = match low {
        0 => &[Part { len: 12, at: 10 }],
        1 => &[Part { len: 11, at: 10 }],
        2 => &[Part { len: 10, at: 10 }],
        3 => &[Part { len: 9, at: 10 }],
        _ => &[Part { len: 8, at: 10 }],
    };
    instruction(low, parts, Any)
}

/// A group of 16 bits of a MOVZ or MOVK.
const fn group(low: u8, range: Range) -> Field {
    instruction(low, &[Part { len: 16, at: 5 }], range)
}

pub(super) const fn howto(r_type: RelocationType) -> Option<Howto> {
    use Content::{Address, ThreadLocal};
    use Origin::{Page, PageOfGot, Place, Zero};
    use Target::{Entry, Symbol};
    Some(match r_type {
        R_AARCH64_ABS64 => Distance(Symbol, Zero, data(8, Either)),
        R_AARCH64_ABS32 => Distance(Symbol, Zero, data(4, Either)),
        R_AARCH64_ABS16 => Distance(Symbol, Zero, data(2, Either)),
        R_AARCH64_PREL64 => Distance(Symbol, Place, data(8, Either)),
        R_AARCH64_PREL32 => Distance(Symbol, Place, data(4, Either)),
        R_AARCH64_PREL16 => Distance(Symbol, Place, data(2, Either)),
        R_AARCH64_PLT32 => Distance(Symbol, Place, data(4, Signed)),
        R_AARCH64_GOTPCREL32 => Distance(Entry(Address), Place, data(4, Signed)),
        R_AARCH64_CALL26 | R_AARCH64_JUMP26 => Distance(Symbol, Place, BRANCH),
        R_AARCH64_CONDBR19 | R_AARCH64_LD_PREL_LO19 => Distance(Symbol, Place, NEAR),
        R_AARCH64_TSTBR14 => Distance(Symbol, Place, NEAREST),
        R_AARCH64_ADR_PREL_LO21 => Distance(Symbol, Place, ADR),
        R_AARCH64_ADR_PREL_PG_HI21 | R_AARCH64_ADR_PREL_PG_HI21_NC => Distance(Symbol, Page, ADRP),
        R_AARCH64_ADD_ABS_LO12_NC | R_AARCH64_LDST8_ABS_LO12_NC => Distance(Symbol, Zero, page_offset(0)),
        R_AARCH64_LDST16_ABS_LO12_NC => Distance(Symbol, Zero, page_offset(1)),
        R_AARCH64_LDST32_ABS_LO12_NC => Distance(Symbol, Zero, page_offset(2)),
        R_AARCH64_LDST64_ABS_LO12_NC => Distance(Symbol, Zero, page_offset(3)),
        R_AARCH64_LDST128_ABS_LO12_NC => Distance(Symbol, Zero, page_offset(4)),
        R_AARCH64_MOVW_UABS_G0 => Distance(Symbol, Zero, group(0, Unsigned)),
        R_AARCH64_MOVW_UABS_G0_NC => Distance(Symbol, Zero, group(0, Any)),
        // Lower groups are in other instructions.
        R_AARCH64_MOVW_UABS_G1 | R_AARCH64_MOVW_UABS_G1_NC => Distance(Symbol, Zero, group(16, Any)),
        R_AARCH64_MOVW_UABS_G2 | R_AARCH64_MOVW_UABS_G2_NC => Distance(Symbol, Zero, group(32, Any)),
        R_AARCH64_MOVW_UABS_G3 => Distance(Symbol, Zero, group(48, Any)),
        R_AARCH64_GOT_LD_PREL19 => Distance(Entry(Address), Place, NEAR),
        R_AARCH64_ADR_GOT_PAGE => Distance(Entry(Address), Page, ADRP),
        R_AARCH64_LD64_GOT_LO12_NC => Distance(Entry(Address), Zero, page_offset(3)),
        R_AARCH64_LD64_GOTPAGE_LO15 => Distance(Entry(Address), PageOfGot, GOT_OFFSET),
        R_AARCH64_LD64_GOTOFF_LO15 => Distance(Entry(Address), Origin::Got, GOT_OFFSET),
        R_AARCH64_TLSGD_ADR_PAGE21
        | R_AARCH64_TLSLD_ADR_PAGE21
        | R_AARCH64_TLSIE_ADR_GOTTPREL_PAGE21
        | R_AARCH64_TLSDESC_ADR_PAGE21 => Distance(Entry(ThreadLocal), Page, ADRP),
        R_AARCH64_TLSGD_ADD_LO12_NC | R_AARCH64_TLSLD_ADD_LO12_NC | R_AARCH64_TLSDESC_ADD_LO12 => {
            Distance(Entry(ThreadLocal), Zero, page_offset(0))
        }
        R_AARCH64_TLSIE_LD64_GOTTPREL_LO12_NC | R_AARCH64_TLSDESC_LD64_LO12 => {
            Distance(Entry(ThreadLocal), Zero, page_offset(3))
        }
        R_AARCH64_TLSGD_ADR_PREL21 | R_AARCH64_TLSLD_ADR_PREL21 | R_AARCH64_TLSDESC_ADR_PREL21 => {
            Distance(Entry(ThreadLocal), Place, ADR)
        }
        R_AARCH64_TLSIE_LD_GOTTPREL_PREL19 | R_AARCH64_TLSDESC_LD_PREL19 => {
            Distance(Entry(ThreadLocal), Place, NEAR)
        }
        R_AARCH64_NONE
        | RelocationType(256)
        | R_AARCH64_TLSDESC_CALL
        | R_AARCH64_TLSDESC_LDR
        | R_AARCH64_TLSDESC_ADD
        | R_AARCH64_TLS_DTPREL
        | R_AARCH64_TLS_DTPMOD
        | R_AARCH64_TLS_TPREL => Nothing,
        // Offsets in thread-local storage.
        RelocationType(523..=538 | 544..=559 | 570..=573) => Nothing,
        _ => return None,
    })
}
