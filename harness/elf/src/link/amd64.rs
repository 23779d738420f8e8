//! The relocations of amd64 (System V psABI, 4.4.1).

use object::elf::*;

use super::howto::Howto::{self, Distance, Nothing};
use super::howto::Range::{Either, Signed, Unsigned};
use super::howto::{Content, Origin, Target, data};

pub(super) const fn howto(r_type: RelocationType) -> Option<Howto> {
    use Content::{Address, ThreadLocal};
    use Origin::{Place, Zero};
    use Target::{Entry, Size, Symbol};
    Some(match r_type {
        R_X86_64_64 => Distance(Symbol, Zero, data(8, Either)),
        R_X86_64_32 => Distance(Symbol, Zero, data(4, Unsigned)),
        R_X86_64_32S => Distance(Symbol, Zero, data(4, Signed)),
        R_X86_64_16 => Distance(Symbol, Zero, data(2, Either)),
        R_X86_64_8 => Distance(Symbol, Zero, data(1, Either)),
        R_X86_64_PC64 => Distance(Symbol, Place, data(8, Either)),
        R_X86_64_PC32 | R_X86_64_PLT32 => Distance(Symbol, Place, data(4, Signed)),
        R_X86_64_PC16 => Distance(Symbol, Place, data(2, Signed)),
        R_X86_64_PC8 => Distance(Symbol, Place, data(1, Signed)),
        R_X86_64_GOTPCREL
        | R_X86_64_GOTPCRELX
        | R_X86_64_REX_GOTPCRELX
        | R_X86_64_CODE_4_GOTPCRELX
        | R_X86_64_CODE_5_GOTPCRELX
        | R_X86_64_CODE_6_GOTPCRELX => Distance(Entry(Address), Place, data(4, Signed)),
        R_X86_64_GOTPCREL64 => Distance(Entry(Address), Place, data(8, Either)),
        R_X86_64_GOT32 => Distance(Entry(Address), Origin::Got, data(4, Signed)),
        R_X86_64_GOT64 | R_X86_64_GOTPLT64 => Distance(Entry(Address), Origin::Got, data(8, Either)),
        R_X86_64_GOTOFF64 | R_X86_64_PLTOFF64 => Distance(Symbol, Origin::Got, data(8, Either)),
        R_X86_64_GOTPC32 => Distance(Target::Got, Place, data(4, Signed)),
        R_X86_64_GOTPC64 => Distance(Target::Got, Place, data(8, Either)),
        R_X86_64_SIZE32 => Distance(Size, Zero, data(4, Unsigned)),
        R_X86_64_SIZE64 => Distance(Size, Zero, data(8, Either)),
        R_X86_64_TLSGD
        | R_X86_64_TLSLD
        | R_X86_64_GOTTPOFF
        | R_X86_64_CODE_4_GOTTPOFF
        | R_X86_64_CODE_5_GOTTPOFF
        | R_X86_64_CODE_6_GOTTPOFF
        | R_X86_64_GOTPC32_TLSDESC
        | R_X86_64_CODE_4_GOTPC32_TLSDESC
        | R_X86_64_CODE_5_GOTPC32_TLSDESC
        | R_X86_64_CODE_6_GOTPC32_TLSDESC => Distance(Entry(ThreadLocal), Place, data(4, Signed)),
        R_X86_64_NONE
        | R_X86_64_TLSDESC_CALL
        | R_X86_64_TPOFF32
        | R_X86_64_TPOFF64
        | R_X86_64_DTPOFF32
        | R_X86_64_DTPOFF64
        | R_X86_64_DTPMOD64 => Nothing,
        _ => return None,
    })
}
