//! Which ABI a file is for.

use object::elf::{EM_AARCH64, EM_S390, EM_X86_64, Machine};
use object::read::elf::{ElfFile64, FileHeader};
use object::{Endianness, Object};
use sframe_engine::Abi;

/// The ABI of a file, if it is one that SFrame knows.
pub(crate) fn abi_of(elf: &ElfFile64<'_, Endianness>) -> Option<Abi> {
    let machine = elf.elf_header().e_machine(elf.endian());
    let is_big_endian = !elf.is_little_endian();
    Abi::ALL.into_iter().find(|abi| machine_of(*abi) == machine && abi.is_big_endian() == is_big_endian)
}

/// The ABI of a file's bytes, if they are a file's and SFrame knows the ABI.
#[must_use]
pub fn abi_of_bytes(bytes: &[u8]) -> Option<Abi> {
    abi_of(&ElfFile64::parse(bytes).ok()?)
}

/// `e_machine` of the file header.
const fn machine_of(abi: Abi) -> Machine {
    match abi {
        Abi::Amd64 => EM_X86_64,
        Abi::Aarch64 | Abi::Aarch64Be => EM_AARCH64,
        Abi::S390x => EM_S390,
    }
}
