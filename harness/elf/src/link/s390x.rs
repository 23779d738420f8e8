//! The relocations of s390x (ELF ABI s390x Supplement, 2.3).

use object::elf::*;

use super::howto::Howto::{self, Distance, Nothing};
use super::howto::Range::{Either, Signed, Unsigned};
use super::howto::{Content, Field, Origin, Part, Target, data};

/// A distance in halfwords.
const fn halfwords(size: u8) -> Field {
    Field { low: 1, ..data(size, Signed) }
}

/// A displacement of 12 bits.
const SHORT: Field =
    Field { size: 2, low: 0, parts: &[Part { len: 12, at: 0 }], range: Unsigned, is_code: true };
/// One of 20 bits, whose lower 12 come first.
const LONG: Field = Field {
    size: 4,
    low: 0,
    parts: &[Part { len: 12, at: 16 }, Part { len: 8, at: 8 }],
    range: Signed,
    is_code: true,
};

pub(super) const fn howto(r_type: RelocationType) -> Option<Howto> {
    use Content::{Address, ThreadLocal};
    use Origin::{Got, Place, Zero};
    use Target::{Entry, Symbol};
    Some(match r_type {
        R_390_8 => Distance(Symbol, Zero, data(1, Either)),
        R_390_12 => Distance(Symbol, Zero, SHORT),
        R_390_16 => Distance(Symbol, Zero, data(2, Either)),
        R_390_20 => Distance(Symbol, Zero, LONG),
        R_390_32 => Distance(Symbol, Zero, data(4, Either)),
        R_390_64 => Distance(Symbol, Zero, data(8, Either)),
        R_390_PC16 => Distance(Symbol, Place, data(2, Signed)),
        R_390_PC32 | R_390_PLT32 => Distance(Symbol, Place, data(4, Signed)),
        R_390_PC64 | R_390_PLT64 => Distance(Symbol, Place, data(8, Either)),
        R_390_PC16DBL | R_390_PLT16DBL => Distance(Symbol, Place, halfwords(2)),
        R_390_PC32DBL | R_390_PLT32DBL => Distance(Symbol, Place, halfwords(4)),
        R_390_GOTENT | R_390_GOTPLTENT => Distance(Entry(Address), Place, halfwords(4)),
        R_390_GOT12 | R_390_GOTPLT12 => Distance(Entry(Address), Got, SHORT),
        R_390_GOT16 | R_390_GOTPLT16 => Distance(Entry(Address), Got, data(2, Signed)),
        R_390_GOT20 | R_390_GOTPLT20 => Distance(Entry(Address), Got, LONG),
        R_390_GOT32 | R_390_GOTPLT32 => Distance(Entry(Address), Got, data(4, Signed)),
        R_390_GOT64 | R_390_GOTPLT64 => Distance(Entry(Address), Got, data(8, Either)),
        R_390_GOTOFF16 | R_390_PLTOFF16 => Distance(Symbol, Got, data(2, Signed)),
        R_390_GOTOFF32 | R_390_PLTOFF32 => Distance(Symbol, Got, data(4, Signed)),
        R_390_GOTOFF64 | R_390_PLTOFF64 => Distance(Symbol, Got, data(8, Either)),
        R_390_GOTPC => Distance(Target::Got, Place, data(8, Either)),
        R_390_GOTPCDBL => Distance(Target::Got, Place, halfwords(4)),
        R_390_TLS_IEENT => Distance(Entry(ThreadLocal), Place, halfwords(4)),
        R_390_TLS_GD64 | R_390_TLS_LDM64 | R_390_TLS_GOTIE64 => {
            Distance(Entry(ThreadLocal), Got, data(8, Either))
        }
        R_390_TLS_IE64 => Distance(Entry(ThreadLocal), Zero, data(8, Either)),
        R_390_TLS_GOTIE12 => Distance(Entry(ThreadLocal), Got, SHORT),
        R_390_TLS_GOTIE20 => Distance(Entry(ThreadLocal), Got, LONG),
        R_390_NONE | R_390_TLS_LOAD | R_390_TLS_GDCALL | R_390_TLS_LDCALL | R_390_TLS_LE64
        | R_390_TLS_LDO64 | R_390_TLS_DTPMOD | R_390_TLS_DTPOFF | R_390_TLS_TPOFF => Nothing,
        _ => return None,
    })
}
