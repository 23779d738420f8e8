//! Applies relocations.

use std::collections::BTreeMap;
use std::fmt;

use object::elf::{Machine, SHF_COMPRESSED, machine_names};
use object::pod::bytes_of;
use object::read::elf::SectionHeader;
use object::{Endianness, ObjectSection, RelocationFlags, RelocationTarget, U64};
use serde::Serialize;

use super::howto::{Content, Howto, Orders, Origin, Target};
use super::psabi::Psabi;
use crate::bounded::{File, FileSection};
use sframe_kit::text::counted;

/// Relocations that were not applied.
///
/// Displays as a sentence.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Unapplied {
    /// The name of their type.
    pub relocation: String,
    /// Why.
    pub reason: Reason,
    /// Their number.
    pub count: u64,
}

impl fmt::Display for Unapplied {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let why = match self.reason {
            Reason::Unknown => "is not known",
            Reason::Overflow => "does not fit in its field",
            Reason::Compressed => "is in a compressed section",
            Reason::ImplicitAddend => "has no addend of its own",
        };
        write!(f, "{} {why} ({})", self.relocation, counted(self.count, "time"))
    }
}

/// Why a relocation is not applied.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Reason {
    /// Its type is unknown here.
    Unknown,
    /// Its value does not fit in its field.
    Overflow,
    /// Its section is compressed.
    Compressed,
    /// It has no addend of its own.
    ImplicitAddend,
}

/// A relocation whose type is known.
#[derive(Clone, Copy, Debug)]
pub(super) struct Relocation {
    /// Where it is in its section.
    pub(super) offset: u64,
    pub(super) howto: Howto,
    /// The index of its symbol; 0 stands for no symbol.
    pub(super) symbol: usize,
    pub(super) addend: i64,
    number: u32,
}

/// The relocations that could not be applied, counted.
#[derive(Debug)]
pub(super) struct Counted {
    machine: Machine,
    counts: BTreeMap<(u32, Reason), u64>,
}

impl Counted {
    pub(super) const fn new(machine: Machine) -> Self {
        Self { machine, counts: BTreeMap::new() }
    }

    pub(super) fn add(&mut self, number: u32, reason: Reason) {
        *self.counts.entry((number, reason)).or_default() += 1;
    }

    /// Returns them by type.
    pub(super) fn finish(self) -> Vec<Unapplied> {
        let names = machine_names(self.machine).r;
        let unapplied = |((number, reason), count): ((u32, Reason), u64)| {
            let name = names.name(object::elf::RelocationType(number));
            let relocation = name.map_or_else(|| format!("relocation type {number}"), str::to_owned);
            Unapplied { relocation, reason, count }
        };
        self.counts.into_iter().map(unapplied).collect()
    }
}

/// Returns the relocations of a section.
pub(super) fn of_section<'f>(
    elf: &'f File<'_>,
    section: &'f FileSection<'_, 'f>,
    psabi: Psabi,
) -> impl Iterator<Item = Result<Relocation, (u32, Reason)>> {
    let is_compressed = section.elf_section_header().sh_flags(elf.endian()).contains(SHF_COMPRESSED);
    section.relocations().filter_map(move |(offset, relocation)| {
        let RelocationFlags::Elf { r_type } = relocation.flags() else { return None };
        let number = r_type.0;
        Some(match (psabi.howto)(r_type) {
            None => Err((number, Reason::Unknown)),
            Some(_) if is_compressed => Err((number, Reason::Compressed)),
            Some(_) if relocation.has_implicit_addend() => Err((number, Reason::ImplicitAddend)),
            Some(howto) => {
                let symbol = match relocation.target() {
                    RelocationTarget::Symbol(index) => index.0,
                    _ => 0,
                };
                Ok(Relocation { offset, howto, symbol, addend: relocation.addend(), number })
            }
        })
    })
}

/// The global offset table: entries by symbol.
#[derive(Debug, Default)]
pub(super) struct Got {
    /// Offsets of entries.
    pub(super) entries: BTreeMap<(usize, Content), u64>,
    /// Whether there must be a table, even if it has no entries.
    pub(super) is_needed: bool,
}

impl Got {
    /// The number of bytes of an entry: what a loader says of thread-local symbols has
    /// two words.
    const ENTRY: u64 = 16;

    /// Adds what a relocation needs.
    pub(super) fn add(&mut self, relocation: &Relocation) {
        let Howto::Distance(target, origin, _) = relocation.howto else { return };
        if let Target::Entry(content) = target {
            let next = self.entries.len() as u64 * Self::ENTRY;
            self.entries.entry((relocation.symbol, content)).or_insert(next);
        }
        self.is_needed |= target == Target::Got || matches!(origin, Origin::Got | Origin::PageOfGot);
    }

    /// Returns its content, given the addresses of symbols.
    pub(super) fn content(&self, symbols: &[(u64, u64)], endian: Endianness) -> Vec<u8> {
        let mut content = vec![0; usize::try_from(self.len()).unwrap_or(0)];
        let entries = self.entries.iter().filter(|((_, content), _)| *content == Content::Address);
        for ((symbol, _), offset) in entries {
            let (address, _) = symbols.get(*symbol).copied().unwrap_or_default();
            let word = usize::try_from(*offset).ok().and_then(|offset| content.get_mut(offset..offset + 8));
            word.into_iter().for_each(|word| word.copy_from_slice(bytes_of(&U64::new(endian, address))));
        }
        content
    }

    /// Its length in bytes.
    pub(super) fn len(&self) -> u64 {
        let entries = self.entries.len().max(self.is_needed.into());
        entries as u64 * Self::ENTRY
    }
}

/// What relocations refer to.
#[derive(Clone, Copy, Debug)]
pub(super) struct Addresses<'l> {
    /// Those of symbols, by index, with their sizes.
    pub(super) symbols: &'l [(u64, u64)],
    /// That of the GOT.
    pub(super) got: u64,
    pub(super) entries: &'l BTreeMap<(usize, Content), u64>,
}

impl Relocation {
    /// Applies it to the bytes that begin at its place, which has an address. Returns
    /// `None` if there are too few.
    pub(super) fn apply(
        &self,
        orders: Orders,
        addresses: &Addresses<'_>,
        place: u64,
        bytes: &mut [u8],
    ) -> Option<Result<(), (u32, Reason)>> {
        let Howto::Distance(target, origin, field) = self.howto else { return Some(Ok(())) };
        let (symbol, size) = addresses.symbols.get(self.symbol).copied().unwrap_or((0, 0));
        let target = match target {
            Target::Symbol => symbol,
            Target::Size => size,
            Target::Got => addresses.got,
            Target::Entry(content) => {
                let offset = addresses.entries.get(&(self.symbol, content)).copied().unwrap_or(0);
                addresses.got.wrapping_add(offset)
            }
        };
        let target = target.wrapping_add_signed(self.addend);
        let page = |address: u64| address & !0xfff;
        let value = match origin {
            Origin::Zero => target,
            Origin::Place => target.wrapping_sub(place),
            Origin::Page => page(target).wrapping_sub(page(place)),
            Origin::Got => target.wrapping_sub(addresses.got),
            Origin::PageOfGot => target.wrapping_sub(page(addresses.got)),
        };
        let bytes = bytes.get_mut(..field.size.into())?;
        Some(if field.put(orders, bytes, value) { Ok(()) } else { Err((self.number, Reason::Overflow)) })
    }
}
