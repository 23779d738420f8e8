//! The ABI of a file.

use object::Object;
use object::elf::{EM_AARCH64, EM_S390, EM_X86_64, Machine};
use object::read::elf::FileHeader;
use sframe_engine::Abi;

use crate::elf::bounded::File;
use crate::source::Source;

/// Returns the ABI of a file, if SFrame knows it.
pub(crate) fn abi_of(elf: &File<'_>) -> Option<Abi> {
    let machine = elf.elf_header().e_machine(elf.endian());
    let is_big_endian = !elf.is_little_endian();
    Abi::ALL.into_iter().find(|abi| machine_of(*abi) == machine && abi.is_big_endian() == is_big_endian)
}

/// Returns the ABI of a file's bytes, if they are an ELF file and SFrame knows the ABI.
#[must_use]
pub fn abi_of_bytes(bytes: &[u8]) -> Option<Abi> {
    abi_of(&File::parse(Source::from(bytes)).ok()?)
}

/// Whether SFrame knows a machine, by its `e_machine`.
#[cfg(feature = "cli")]
pub(crate) fn is_known_machine(machine: u16) -> bool {
    Abi::ALL.into_iter().any(|abi| machine_of(abi).0 == machine)
}

/// `e_machine` of the file header.
const fn machine_of(abi: Abi) -> Machine {
    match abi {
        Abi::Amd64 => EM_X86_64,
        Abi::Aarch64 | Abi::Aarch64Be => EM_AARCH64,
        Abi::S390x => EM_S390,
    }
}
