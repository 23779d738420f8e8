//! Names for the entries of PLTs, which have no symbols: calls
//! of `leaf` go through `leaf@plt`.

use std::collections::HashMap;
use std::ops::RangeInclusive;

use object::{Object, ObjectSection, ObjectSymbol, ObjectSymbolTable};
use sframe_engine::Abi;

use crate::abi::abi_of;
use crate::bounded::{Allowance, File};
use crate::dynamic_relocations;

/// An entry: its address and size in bytes, and the name of its target.
pub(crate) struct Entry {
    pub(crate) address: u64,
    pub(crate) size: u64,
    pub(crate) name: String,
}

/// Returns the entries of a file, found by the slots that their code loads from.
///
/// Code in a table that does not lead to a named slot gets the name of its section:
/// the first entry, and entries that lead back to it.
pub(crate) fn entries(elf: &File<'_>) -> Vec<Entry> {
    let Some(abi) = abi_of(elf) else { return Vec::new() };
    let decode = match abi {
        Abi::Amd64 => amd64,
        Abi::Aarch64 | Abi::Aarch64Be => aarch64,
        Abi::S390x => s390x,
    };
    let tables = || {
        [".plt", ".plt.sec", ".plt.got", ".iplt"].into_iter().filter_map(|name| {
            let section = elf.section_by_name(name)?;
            Some((name, section.address(), section.data().ok()?))
        })
    };
    let slots = tables().flat_map(|(_, address, code)| {
        (0..code.len()).filter_map(move |offset| decode(code, offset, address))
    });
    let (first, last) = slots.fold((u64::MAX, 0), |(first, last), slot| (first.min(slot), last.max(slot)));
    let names = names_of(elf, &(first..=last));
    let mut entries = Vec::new();
    let mut names_left = Allowance::new("names of entries", elf.data().len());
    for (section_name, section_address, code) in tables() {
        let mut starts = vec![(0, section_name.to_owned())];
        for offset in 0..code.len() {
            let slot = decode(code, offset, section_address);
            if let Some(name) = slot.and_then(|slot| names.get(&slot)) {
                if names_left.take(name.len() as u64).is_err() {
                    return entries;
                }
                // The first entry may lead to a slot, too.
                starts.pop_if(|(start, _)| *start == offset);
                starts.push((offset, format!("{name}@plt")));
            }
        }
        let ends = starts.iter().skip(1).map(|(start, _)| *start).chain([code.len()]).collect::<Vec<_>>();
        for ((start, name), end) in starts.into_iter().zip(ends) {
            let address = section_address.wrapping_add(start as u64);
            entries.push(Entry { address, size: (end - start) as u64, name });
        }
    }
    entries
}

/// Returns the symbols of slots, by the slots' addresses. A library has far more
/// relocations elsewhere.
fn names_of<'a>(elf: &File<'a>, slots: &RangeInclusive<u64>) -> HashMap<u64, &'a str> {
    let mut names = HashMap::new();
    let symbols = elf.dynamic_symbol_table();
    dynamic_relocations::each(elf, |address, symbol| {
        let symbol = symbol.filter(|_| slots.contains(&address));
        let symbol = symbol.and_then(|index| symbols.as_ref()?.symbol_by_index(index).ok());
        let name = symbol.and_then(|symbol| symbol.name().ok()).filter(|name| !name.is_empty());
        if let Some(name) = name {
            names.insert(address, name);
        }
    });
    names
}

/// Returns the slot of an entry at an offset: `jmp *slot(%rip)`, optionally after
/// `endbr64` and with a `bnd` prefix.
fn amd64(code: &[u8], offset: usize, address: u64) -> Option<u64> {
    if !offset.is_multiple_of(8) {
        return None;
    }
    let rest = &code[offset..];
    let behind_mark = rest.strip_prefix(&[0xf3, 0x0f, 0x1e, 0xfa]).unwrap_or(rest);
    let jump = behind_mark.strip_prefix(&[0xf2]).unwrap_or(behind_mark).strip_prefix(&[0xff, 0x25])?;
    let (displacement, next) = jump.split_first_chunk::<4>()?;
    let next = address.wrapping_add((code.len() - next.len()) as u64);
    Some(next.wrapping_add_signed(i32::from_le_bytes(*displacement).into()))
}

/// `adrp x16, page; ldr x17, [x16, #offset]`, optionally after `bti c`.
fn aarch64(code: &[u8], offset: usize, address: u64) -> Option<u64> {
    const BTI_C: u32 = 0xd503_245f;
    let word = |offset: usize| Some(u32::from_le_bytes(*code.get(offset..)?.first_chunk()?));
    if !offset.is_multiple_of(4) || (offset >= 4 && word(offset - 4) == Some(BTI_C)) {
        return None;
    }
    let at = if word(offset) == Some(BTI_C) { offset + 4 } else { offset };
    let (adrp, ldr) = (word(at)?, word(at + 4)?);
    if adrp & 0x9f00_001f != 0x9000_0010 || ldr & 0xffc0_03ff != 0xf940_0211 {
        return None;
    }
    // 21 bits, with the lowest two elsewhere.
    let pages = (adrp >> 5 & 0x7_ffff) << 2 | (adrp >> 29 & 3);
    let pages = i64::from(pages.cast_signed() << 11 >> 11);
    let page = address.wrapping_add(at as u64) & !0xfff;
    Some(page.wrapping_add_signed(pages << 12).wrapping_add(u64::from(ldr >> 10 & 0xfff) * 8))
}

/// `larl %r1, slot`.
fn s390x(code: &[u8], offset: usize, address: u64) -> Option<u64> {
    if !offset.is_multiple_of(2) {
        return None;
    }
    let halfwords = code[offset..].strip_prefix(&[0xc0, 0x10])?.first_chunk()?;
    let distance = i64::from(i32::from_be_bytes(*halfwords)) * 2;
    Some(address.wrapping_add(offset as u64).wrapping_add_signed(distance))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_form_of_an_entry_leads_to_its_slot() {
        let lazy = [0xff, 0x25, 0x10, 0, 0, 0, 0x68, 0, 0, 0, 0, 0xe9, 0, 0, 0, 0];
        assert_eq!(amd64(&lazy, 0, 0x1000), Some(0x1016));
        let marked = [0xf3, 0x0f, 0x1e, 0xfa, 0xf2, 0xff, 0x25, 0xf0, 0xff, 0xff, 0xff];
        assert_eq!(amd64(&marked, 0, 0x1000), Some(0xffb));
        assert_eq!(amd64(&[0xf3, 0x0f, 0x1e, 0xfa, 0x68, 0, 0, 0, 0], 0, 0x1000), None, "push");
        let words = |words: &[u32]| words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<_>>();
        // adrp x16, .+0x1f000; ldr x17, [x16, #0xfa0]
        let plain = words(&[0xf000_00f0, 0xf947_d211]);
        assert_eq!(aarch64(&plain, 0, 0x1234), Some(0x1000 + 0x1f000 + 0xfa0));
        let marked = words(&[0xd503_245f, 0xf0ff_fff0, 0xf940_0211]);
        assert_eq!(aarch64(&marked, 0, 0x5000), Some(0x4000));
        assert_eq!(aarch64(&marked, 4, 0x5000), None, "the entry starts before");
        assert_eq!(s390x(&[0xc0, 0x10, 0xff, 0xff, 0xff, 0xfe], 0, 0x1000), Some(0xffc));
        for decode in [amd64, aarch64, s390x] {
            assert_eq!(decode(&[], 0, 0), None);
        }
    }
}
