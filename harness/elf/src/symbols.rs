//! Function symbols, for naming addresses.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::OnceLock;

use object::elf::{SHN_UNDEF, STB_LOCAL, STT_FUNC, STT_GNU_IFUNC, STT_NOTYPE};
use object::read::elf::Sym;
use object::{Object, ObjectSection, ObjectSymbol, SectionIndex, SectionKind};
use rustc_hash::FxHashMap;

use crate::bounded::{File, FileSection};
use crate::debug_file::DebugFile;
use crate::plt;

#[derive(Clone, Debug, PartialEq, Eq)]
struct Symbol<'a> {
    address: u64,
    /// Address past the end of the function.
    end: u64,
    name: Cow<'a, str>,
    /// Whether it is that of a function, and not of a label.
    is_function: bool,
    /// Whether it says where the function ends.
    is_sized: bool,
}

/// Function symbols, for naming addresses.
#[derive(Clone, Debug, Default)]
pub struct Symbols<'a> {
    /// Sorted by address, with one symbol for each address.
    symbols: Vec<Symbol<'a>>,
    /// Other names of these addresses.
    aliases: Vec<(Cow<'a, str>, u64)>,
    /// How many have each name, once that is asked for.
    counts: OnceLock<FxHashMap<String, usize>>,
}

impl<'a> Symbols<'a> {
    /// Reads those of a file.
    pub fn read(elf: &File<'a>) -> Self {
        Self::read_with(elf, None)
    }

    pub(crate) fn read_with(elf: &File<'a>, debug: Option<&'a DebugFile>) -> Self {
        let endian = elf.endian();
        let debug = debug.and_then(DebugFile::open).filter(|debug| debug.endian() == endian);
        let in_code = |section: Option<SectionIndex>| {
            section
                .and_then(|index| elf.section_by_index(index).ok())
                .is_some_and(|section| section.kind() == SectionKind::Text)
        };
        // The sections of a debug file have no contents, and may have other indices.
        let code = |section: FileSection<'a, '_>| {
            let is_code = section.kind() == SectionKind::Text;
            is_code.then(|| section.address()..section.address().saturating_add(section.size()))
        };
        let code: Vec<_> = elf.sections().filter_map(code).collect();
        let is_code_at = |address: u64| code.iter().any(|code| code.contains(&address));
        let mut found: Vec<(u64, u8, u64, Cow<'a, str>)> = Vec::new();
        // A stripped library still has the dynamic ones.
        let own = elf.symbols().chain(elf.dynamic_symbols());
        let own = own.map(|symbol| (in_code(symbol.section_index()), symbol));
        let of_debug = debug.iter().flat_map(|debug| debug.symbols());
        let of_debug = of_debug.map(|symbol| (is_code_at(symbol.address()), symbol));
        for (is_in_code, symbol) in own.chain(of_debug) {
            let raw = symbol.elf_symbol();
            let kind = raw.st_type();
            let is_code = matches!(kind, STT_FUNC | STT_GNU_IFUNC | STT_NOTYPE);
            if !is_code || raw.st_shndx(endian) == SHN_UNDEF || !is_in_code {
                continue;
            }
            let Ok(name) = symbol.name() else { continue };
            // Mapping symbols ($x, $d) mark kinds of content, not functions.
            if name.is_empty() || name.starts_with('$') {
                continue;
            }
            // Of several symbols at one address, the most informative comes first. The resolver
            // is at the address of an indirect function, and a symbol without a size may be
            // that of an empty one, or mark a place.
            let rank = u8::from(kind == STT_GNU_IFUNC) * 8
                + u8::from(kind == STT_NOTYPE) * LABEL
                + u8::from(symbol.size() == 0) * 2
                + u8::from(raw.st_bind() == STB_LOCAL);
            found.push((symbol.address(), rank, symbol.size(), Cow::Borrowed(name)));
        }
        let entries = plt::entries(elf).into_iter();
        found.extend(entries.map(|entry| (entry.address, u8::MAX, entry.size, Cow::Owned(entry.name))));
        found.sort_unstable();
        let mut aliases = Vec::new();
        found.dedup_by(|(address, _, _, name), first| {
            let is_alias = *address == first.0;
            if is_alias && *name != first.3 {
                aliases.push((cut(std::mem::take(name)), *address));
            }
            is_alias
        });
        // A symbol without a size extends to the next one.
        let nexts = found.iter().skip(1).map(|(next, ..)| *next).chain([u64::MAX]).collect::<Vec<_>>();
        let symbol = |((address, rank, size, name), next): ((u64, u8, u64, Cow<'a, str>), u64)| {
            let end = if size == 0 { next } else { address.saturating_add(size) };
            Symbol { address, end, name: cut(name), is_function: rank & LABEL == 0, is_sized: size > 0 }
        };
        let mut symbols: Vec<_> = found.into_iter().zip(nexts).map(symbol).collect();
        symbols.shrink_to_fit();
        Self { symbols, aliases, counts: OnceLock::new() }
    }

    /// Returns the function that contains an address, and the offset into it in bytes.
    #[must_use]
    pub fn at(&self, address: u64) -> Option<(&str, u64)> {
        let next = self.symbols.partition_point(|symbol| symbol.address <= address);
        let symbol = self.symbols.get(next.checked_sub(1)?)?;
        (address < symbol.end).then(|| (plain(&symbol.name), address - symbol.address))
    }

    /// Returns the addresses of the function that starts at `start`; `None` if it
    /// has no end.
    #[must_use]
    pub fn extent(&self, start: u64) -> Option<Range<u64>> {
        let index = self.symbols.binary_search_by_key(&start, |symbol| symbol.address).ok()?;
        let end = self.symbols[index].end;
        (end != u64::MAX).then_some(start..end)
    }

    /// Whether an address is the last byte of a function whose symbol has a size.
    #[must_use]
    pub fn is_last_byte(&self, address: u64) -> bool {
        let next = self.symbols.partition_point(|symbol| symbol.address <= address);
        let symbol = next.checked_sub(1).and_then(|index| self.symbols.get(index));
        symbol.is_some_and(|symbol| symbol.is_sized && Some(symbol.end) == address.checked_add(1))
    }

    /// Returns the addresses of the functions with this name: exactly this one, or
    /// else the clones that a compiler has made of it.
    #[must_use]
    pub fn addresses_of(&self, name: &str) -> Vec<u64> {
        let exact = self.named_exactly(name);
        if exact.is_empty() { self.all(|symbol| plain(&symbol.name) == name) } else { exact }
    }

    /// Returns the addresses of the functions with exactly this name, which may have others as well.
    #[must_use]
    pub fn named_exactly(&self, name: &str) -> Vec<u64> {
        let aliases = self.aliases.iter().filter(|(alias, _)| *alias == name).map(|(_, address)| *address);
        let mut addresses = self.all(|symbol| *symbol.name == *name);
        addresses.extend(aliases);
        addresses
    }

    /// How many functions have this name, apart from what compilers append to clones.
    #[must_use]
    pub fn count_of(&self, name: &str) -> usize {
        let count = || {
            let mut counts = FxHashMap::default();
            for name in self.names() {
                *counts.entry(name.to_owned()).or_default() += 1;
            }
            counts
        };
        self.counts.get_or_init(count).get(name).copied().unwrap_or_default()
    }

    fn all(&self, is_it: impl Fn(&Symbol<'_>) -> bool) -> Vec<u64> {
        self.symbols.iter().filter(|symbol| is_it(symbol)).map(|symbol| symbol.address).collect()
    }

    /// Returns all addresses.
    pub fn addresses(&self) -> impl Iterator<Item = u64> {
        self.symbols.iter().map(|symbol| symbol.address)
    }

    /// Returns the addresses of functions, with their names as they are in the file. Labels and entries
    /// of PLTs are not among them.
    pub fn functions(&self) -> impl Iterator<Item = (u64, &str)> {
        let functions = self.symbols.iter().filter(|symbol| symbol.is_function);
        functions.map(|symbol| (symbol.address, &*symbol.name))
    }

    /// Returns the addresses of each function whose symbol says where it ends, sorted by start.
    pub fn sized_functions(&self) -> impl Iterator<Item = Range<u64>> {
        let sized = self.symbols.iter().filter(|symbol| symbol.is_function && symbol.is_sized);
        sized.map(|symbol| symbol.address..symbol.end)
    }

    /// Returns all names.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.symbols.iter().map(|symbol| plain(&symbol.name))
    }
}

/// The part of a symbol's rank that labels have.
const LABEL: u8 = 4;

/// The maximum length of names in characters; longer ones are truncated, since
/// findings repeat them.
const LONGEST_NAME: usize = 1 << 12;

fn cut(name: Cow<'_, str>) -> Cow<'_, str> {
    let end = name.char_indices().nth(LONGEST_NAME).map_or(name.len(), |(end, _)| end);
    match name {
        Cow::Borrowed(name) => Cow::Borrowed(&name[..end]),
        Cow::Owned(name) => Cow::Owned(name[..end].to_owned()),
    }
}

/// What compilers append to the names of clones and parts, after a dot; and the name that assembly gives the padding before a
/// function, to which the address before its first instruction belongs.
const CLONES: [&str; 15] = [
    "__part",
    "cfi",
    "cold",
    "clone",
    "constprop",
    "isra",
    "kcfi",
    "llvm",
    "localalias",
    "lto_priv",
    "nop",
    "part",
    "resolver",
    "simdclone",
    "warm",
];

/// Returns the name without what compilers append to clones: `f.constprop.0` is `f`. Other dots are of the name, as of Go's.
fn plain(name: &str) -> &str {
    let is_number = |word: &str| !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit());
    let of_clone = |rest: &str| {
        let first = rest.split('.').next().unwrap_or_default();
        CLONES.contains(&first) || rest.split('.').all(is_number)
    };
    let mut dots = name.match_indices('.').filter(|(dot, _)| *dot > 0);
    let clone = dots.find(|(dot, _)| of_clone(&name[dot + 1..]));
    clone.map_or(name, |(dot, _)| &name[..dot])
}

#[cfg(test)]
mod tests {
    use super::plain;

    #[test]
    fn only_what_compilers_append_is_left_out_of_names() {
        for (name, expected) in [
            ("f", "f"),
            (".L5", ".L5"),
            ("f.constprop.0", "f"),
            ("f.part.0.cold", "f"),
            ("f.cold", "f"),
            ("f.1", "f"),
            ("f.1234.5", "f"),
            ("f.llvm.17294", "f"),
            ("runtime.memmove", "runtime.memmove"),
            ("main.f.func1", "main.f.func1"),
            ("main.f.func1.2", "main.f.func1"),
            ("main.(*T).cold", "main.(*T)"),
            (
                "_ZN42_$LT$A$u20$as$u20$core..convert..From$GT$4from17h0E",
                "_ZN42_$LT$A$u20$as$u20$core..convert..From$GT$4from17h0E",
            ),
        ] {
            assert_eq!(plain(name), expected);
        }
    }
}
