//! The ABI of a file.

use object::elf::{
    EM_AARCH64, EM_S390, EM_X86_64, Machine, R_390_NONE, R_390_PC32, R_390_PC64, R_AARCH64_NONE,
    R_AARCH64_PREL32, R_AARCH64_PREL64, R_X86_64_NONE, R_X86_64_PC32, R_X86_64_PC64, RelocationType,
};
use object::read::elf::FileHeader;
use object::{Endianness, Object};
use sframe_engine::Abi;

use crate::bounded::File;
use crate::source::Source;

/// Returns the ABI of a file, if SFrame knows it.
pub fn abi_of(elf: &File<'_>) -> Option<Abi> {
    let machine = elf.elf_header().e_machine(elf.endian());
    let is_big_endian = !elf.is_little_endian();
    Abi::ALL.into_iter().find(|abi| in_elf(*abi).machine == machine && abi.is_big_endian() == is_big_endian)
}

/// Returns the ABI of a file's bytes, if they are an ELF file and SFrame knows the ABI.
#[must_use]
pub fn abi_of_bytes(bytes: &[u8]) -> Option<Abi> {
    abi_of(&File::parse(Source::from(bytes)).ok()?)
}

/// Whether SFrame knows a machine, by its `e_machine`.
pub fn is_known_machine(machine: u16) -> bool {
    Abi::ALL.into_iter().any(|abi| in_elf(abi).machine.0 == machine)
}

/// How ELF files express an ABI.
pub struct InElf {
    /// `e_machine` of the file header.
    pub machine: Machine,
    /// The format, as BFD names it.
    pub format: &'static str,
    /// The relocation that does nothing.
    none: RelocationType,
    /// Those that set 4 and 8 bytes to a distance from their place.
    distances: [RelocationType; 2],
}

/// Returns how ELF files express an ABI.
pub(crate) const fn in_elf(abi: Abi) -> InElf {
    match abi {
        Abi::Amd64 => InElf {
            machine: EM_X86_64,
            format: "elf64-x86-64",
            none: R_X86_64_NONE,
            distances: [R_X86_64_PC32, R_X86_64_PC64],
        },
        Abi::Aarch64 | Abi::Aarch64Be => InElf {
            machine: EM_AARCH64,
            format: if abi.is_big_endian() { "elf64-bigaarch64" } else { "elf64-littleaarch64" },
            none: R_AARCH64_NONE,
            distances: [R_AARCH64_PREL32, R_AARCH64_PREL64],
        },
        Abi::S390x => InElf {
            machine: EM_S390,
            format: "elf64-s390",
            none: R_390_NONE,
            distances: [R_390_PC32, R_390_PC64],
        },
    }
}

fn of_machine(machine: Machine) -> impl Iterator<Item = (Abi, InElf)> {
    let all = Abi::ALL.into_iter().map(|abi| (abi, in_elf(abi)));
    all.filter(move |(_, of)| of.machine == machine)
}

/// Returns the format of files of a machine and a byte order, as BFD names it. Machines that have one order
/// have one format.
pub fn format_of(machine: Machine, endian: Endianness) -> Option<&'static str> {
    let is_big = endian == Endianness::Big;
    let found = of_machine(machine).find(|(abi, _)| abi.is_big_endian() == is_big);
    found.or_else(|| of_machine(machine).next()).map(|(_, of)| of.format)
}

/// Whether a relocation does nothing.
pub fn is_nothing(machine: Machine, r_type: RelocationType) -> bool {
    of_machine(machine).any(|(_, of)| of.none == r_type)
}

/// Returns the width in bytes of a field that a relocation sets relative to its place.
pub fn pc_relative_width(machine: Machine, r_type: RelocationType) -> Option<usize> {
    let [four, eight] = of_machine(machine).next()?.1.distances;
    match r_type {
        other if other == four => Some(4),
        other if other == eight => Some(8),
        _ => None,
    }
}
