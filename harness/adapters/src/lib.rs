//! Code shared by the adapters.

use std::ops::Range;

use object::{Object, ObjectSection};
use sframe_protocol::{Address, End, EndKind, Fp, Frame, Image, Open, Stop};
use sframe_vectors::{Abi, Tracked};

/// The registers by their roles, as DWARF numbers them.
#[derive(Clone, Copy, Debug)]
pub struct Roles {
    /// The stack pointer.
    pub sp: u32,
    /// The frame pointer.
    pub fp: u32,
    /// The return address, or the column that represents it.
    pub ra: u32,
}

/// The roles of an ABI's registers.
#[must_use]
pub fn roles(abi: Abi) -> Roles {
    Roles { sp: abi.sp().0, fp: abi.fp().0, ra: abi.ra_column().0 }
}

/// A register at a stop.
#[must_use]
pub fn register(stop: &Stop, number: u32) -> u64 {
    stop.registers.get(&number).map_or(0, |value| value.0)
}

/// An address without its authentication code (AArch64).
#[must_use]
pub fn strip(open: &Open, address: u64) -> u64 {
    if !open.abi.signs_return_addresses() || open.address_bits >= 64 {
        return address;
    }
    let mask = u64::MAX << open.address_bits;
    if address & (1 << 55) == 0 { address & !mask } else { address | mask }
}

/// A frame with known PC, CFA and FP.
#[must_use]
pub fn frame(pc: u64, cfa: Option<u64>, fp: Result<u64, u64>) -> Frame {
    let fp = match fp {
        Ok(fp) => Fp::Value(Address(fp)),
        Err(address) => Fp::Unreadable { unreadable: Address(address) },
    };
    Frame { pc: Address(pc), cfa: cfa.map(Address), fp: Some(fp), ..Frame::default() }
}

/// The end of a walk at memory that can't be read.
#[must_use]
pub fn unreadable(what: Tracked, address: u64) -> End {
    End { what: Some(what), address: Some(Address(address)), ..End::of(EndKind::Unreadable) }
}

/// A section of an image: its bytes and its addresses.
#[derive(Clone, Debug)]
pub struct Section {
    /// The bytes.
    pub data: Vec<u8>,
    /// Its addresses, without load bias.
    pub range: Range<u64>,
}

/// A file's sections by their names.
///
/// # Errors
/// The file can't be read.
pub fn sections(image: &Image, names: &[&str]) -> Result<Vec<Option<Section>>, String> {
    let bytes = std::fs::read(&image.path).map_err(|error| error.to_string())?;
    let file = object::File::parse(&*bytes).map_err(|error| error.to_string())?;
    let section = |name: &&str| {
        let section = file.section_by_name(name)?;
        let range = section.address()..section.address() + section.size();
        Some(Section { data: section.data().ok()?.to_vec(), range })
    };
    Ok(names.iter().map(section).collect())
}
