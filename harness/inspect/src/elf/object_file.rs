//! The file under test, as a linker sees it: its `.sframe` section and its
//! function symbols.
//!
//! The machine loads the same file by its program headers alone. Names are for
//! people; the only verdicts that depend on them are those of stops, which name
//! functions.

use std::borrow::Cow;
#[cfg(feature = "disassembly")]
use std::collections::BTreeMap;
use std::ops::Range;

use object::elf::{
    ET_REL, PF_X, PT_LOAD, SHF_EXECINSTR, SHN_UNDEF, STB_LOCAL, STT_FUNC, STT_GNU_IFUNC, STT_NOTYPE,
    STT_OBJECT,
};
use object::read::elf::{ElfSymbol64, FileHeader, ProgramHeader, SectionHeader, Sym};
use object::{
    Endianness, Object, ObjectSection, ObjectSymbol, ObjectSymbolTable as _, SectionIndex, SectionKind,
};

use sframe_engine::{Abi, Section};

use crate::cfi::{CallFrameInfo, LandingPads};
use crate::elf::abi::abi_of;
use crate::elf::bounded::{self, File, FileSection, SharedBytes, Tables};
use crate::elf::call_frame_info::call_frame_info;
use crate::elf::debug_file::DebugFile;
use crate::elf::dynamic_relocations;
use crate::elf::find_sframe::OutsideFile;
pub use crate::elf::find_sframe::{MissingSection, SectionBytes, SectionError};
use crate::elf::line_table::{Lines, LinesError};
use crate::elf::merge_faults::{self, MergeFault, merge_faults};
use crate::elf::plt;
use crate::elf::unknown_symbol::UnknownSymbol;
use crate::source::Source;

/// Why a file can't be tested.
#[derive(Debug, thiserror::Error)]
pub enum ObjectFileError {
    /// `object` rejects it.
    #[error("the section and symbol tables can't be read: {0}")]
    Object(#[from] object::Error),
    /// They would take too long to read.
    #[error(transparent)]
    SharedBytes(#[from] SharedBytes),
    /// The section's header contradicts the file.
    #[error(transparent)]
    OutsideFile(#[from] OutsideFile),
    /// A relocation names a symbol that is not there.
    #[error(transparent)]
    Symbol(#[from] UnknownSymbol),
}

/// The section with code that stands for what a relocatable file only refers to.
pub(super) const STUBS: &str = ".undefined";

/// The position of some code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CodeRange {
    /// The address at which it is loaded.
    pub address: u64,
    /// Its position in the file. The file contains all of it.
    pub offset: u64,
    /// Its length in bytes.
    pub len: u64,
}

/// The file under test.
#[derive(Debug)]
pub struct ObjectFile<'a> {
    /// The `.sframe` section, if there is one.
    pub sframe: Option<SectionBytes<'a>>,
    /// Function symbols.
    pub symbols: Symbols<'a>,
    /// The section's index in the section table, if it is there.
    sframe_index: Option<SectionIndex>,
    /// Why the file has no section, if it has none.
    missing: MissingSection,
    elf: File<'a>,
    debug: Option<&'a DebugFile>,
}

impl<'a> ObjectFile<'a> {
    /// Reads sections and symbols.
    ///
    /// # Errors
    /// The tables are malformed. Missing symbols or a missing `.sframe` is not an
    /// error here.
    pub fn parse(source: impl Into<Source<'a>>) -> Result<Self, ObjectFileError> {
        Self::parse_with(source, None)
    }

    /// Reads a file whose functions a separate debug file may name.
    ///
    /// # Errors
    /// As for [`Self::parse`].
    pub fn parse_with(
        source: impl Into<Source<'a>>,
        debug: Option<&'a DebugFile>,
    ) -> Result<Self, ObjectFileError> {
        let elf = bounded::open::<ObjectFileError>(source.into())?;
        let tables = Tables::of(&elf);
        UnknownSymbol::check(&elf)?;
        let (sframe, sframe_index) = tables.sframe()?.unzip();
        let (symbols, missing) = (Symbols::read_with(&elf, debug), tables.missing_sframe());
        Ok(Self { sframe, symbols, sframe_index: sframe_index.flatten(), missing, elf, debug })
    }

    /// The file itself.
    #[cfg(feature = "disassembly")]
    pub(crate) const fn elf(&self) -> &File<'a> {
        &self.elf
    }

    /// Returns the `.sframe` section.
    ///
    /// # Errors
    /// It does not exist, or not in this file.
    pub fn section(&self) -> Result<SectionBytes<'a>, MissingSection> {
        self.sframe.ok_or(self.missing)
    }

    /// Returns the linker's faults in the file's section as a whole. `section` is
    /// the parsed section, at any address.
    #[must_use]
    pub fn merge_faults(&self, section: &Section<'_>) -> Vec<MergeFault> {
        merge_faults(&self.elf, section, self.sframe_index, &self.symbols)
    }

    /// Returns the address of a variable.
    #[must_use]
    pub fn address_of_object(&self, name: &str) -> Option<u64> {
        let is_it = |symbol: &ElfSymbol64<'_, '_, Endianness, Source<'_>>| {
            symbol.elf_symbol().st_type() == STT_OBJECT && symbol.name() == Ok(name)
        };
        Some(self.elf.symbols().find(is_it)?.address())
    }

    /// Returns the words that a dynamic linker stores the addresses of symbols into, with the symbols'
    /// names.
    #[must_use]
    pub fn slots(&self) -> Vec<(u64, &'a str)> {
        let symbols = self.elf.dynamic_symbol_table();
        let mut slots = Vec::new();
        dynamic_relocations::each(&self.elf, |address, symbol| {
            let symbol = symbol.and_then(|index| symbols.as_ref()?.symbol_by_index(index).ok());
            let name = symbol.and_then(|symbol| symbol.name().ok()).filter(|name| !name.is_empty());
            slots.extend(name.map(|name| (address, name)));
        });
        slots
    }

    /// Returns the sections of procedure linkage tables: their addresses.
    pub fn linkage_tables(&self) -> impl Iterator<Item = Range<u64>> {
        self.elf
            .sections()
            .filter(|section| section.name().is_ok_and(is_linkage_table))
            .map(|section| section.address()..section.address().saturating_add(section.size()))
    }

    /// Returns the code that stands for what other files define, if the file was
    /// [made of a relocatable one](crate::elf::link).
    #[must_use]
    pub fn stubs(&self) -> Option<Range<u64>> {
        let section = self.elf.section_by_name(STUBS)?;
        Some(section.address()..section.address().saturating_add(section.size()))
    }

    /// Returns the sections with code, or segments if the section table is stripped.
    pub fn code_ranges(&self) -> impl Iterator<Item = CodeRange> {
        let endian = self.elf.endian();
        let sections = self.elf.elf_section_table();
        let code = sections.iter().skip(1).filter_map(move |header| {
            let (offset, len) = header.file_range(endian)?;
            let is_code = header.sh_flags(endian).contains(SHF_EXECINSTR);
            is_code.then_some(CodeRange { address: header.sh_addr(endian), offset, len })
        });
        let headers = if sections.is_empty() { self.elf.elf_program_headers() } else { &[] };
        let segments = headers.iter().filter_map(move |header| {
            let (offset, len) = header.file_range(endian);
            let is_code = header.p_type(endian) == PT_LOAD && header.p_flags(endian).contains(PF_X);
            is_code.then_some(CodeRange { address: header.p_vaddr(endian), offset, len })
        });
        let file = self.elf.data().len();
        let has = move |code: &CodeRange| code.offset.checked_add(code.len).is_some_and(|end| end <= file);
        code.chain(segments).filter(move |code| code.len > 0 && has(code))
    }

    /// Returns all of the code with its addresses.
    pub fn code(&self) -> impl Iterator<Item = (u64, &'a [u8])> {
        let bytes = |code: CodeRange| {
            let data = self.elf.data().bytes(code.offset..code.offset + code.len)?;
            Some((code.address, data))
        };
        self.code_ranges().filter_map(bytes)
    }

    /// Returns the ABI, if SFrame knows it.
    #[must_use]
    pub fn abi(&self) -> Option<Abi> {
        abi_of(&self.elf)
    }

    /// Returns the call frame information of a linked file, if SFrame knows the
    /// machine. It is read at each call.
    #[must_use]
    pub fn call_frame_info(&self) -> Option<CallFrameInfo> {
        call_frame_info(&self.elf)
    }

    /// Returns the landing pads that call frame information of this file leads to.
    #[must_use]
    pub fn landing_pads(&self, cfi: &CallFrameInfo) -> LandingPads {
        let endian = self.elf.endian();
        let segments = self.elf.elf_program_headers().iter();
        let mut loaded: Vec<(u64, &[u8])> = segments
            .filter(|header| header.p_type(endian) == PT_LOAD)
            .filter_map(|header| Some((header.p_vaddr(endian), header.data(endian, self.elf.data()).ok()?)))
            .collect();
        loaded.sort_by_key(|(start, _)| *start);
        cfi.landing_pads(|address| {
            let next = loaded.partition_point(|(start, _)| *start <= address);
            let (start, data) = loaded.get(next.checked_sub(1)?)?;
            data.get(usize::try_from(address - start).ok()?..)
        })
    }

    /// Returns the size of a section in bytes.
    #[must_use]
    pub fn section_size(&self, name: &str) -> Option<u64> {
        Some(self.elf.section_by_name(name)?.size())
    }

    /// Whether an address is the entry point of a program, where the system starts it.
    #[must_use]
    pub fn is_entry_point(&self, address: u64) -> bool {
        let header = self.elf.elf_header();
        header.e_type(self.elf.endian()) != ET_REL
            && header.e_entry(self.elf.endian()) == address
            && address != 0
    }

    /// Returns what compilers and linkers say of themselves in `.comment`, and gold in a note.
    #[must_use]
    pub fn comments(&self) -> Vec<String> {
        let own = comments(&self.elf);
        // Distributions strip it, too.
        if !own.is_empty() {
            return own;
        }
        self.debug.and_then(DebugFile::open).map(|debug| comments(&debug)).unwrap_or_default()
    }

    /// The version of the GNU C library, if the file is a part of it that says so: `libc.so.6`, or the dynamic linker.
    #[must_use]
    pub fn c_library(&self) -> Option<&'a str> {
        /// As in `ld.so (Debian GLIBC 2.43-3) stable release version 2.43.`
        const NAMES: [&[u8]; 2] = [b"GNU C Library (", b"ld.so ("];
        const BEFORE_VERSION: &str = " release version ";
        let text = self.elf.section_by_name(".rodata")?.data().ok()?;
        let mut lines = text.split(|byte| matches!(byte, 0 | b'\n'));
        let line = lines.find(|line| NAMES.iter().any(|name| line.starts_with(name)))?;
        let (_, version) = std::str::from_utf8(line).ok()?.split_once(BEFORE_VERSION)?;
        Some(version.trim_end_matches('.'))
    }

    /// Returns the name of the section that contains an address.
    #[must_use]
    pub fn section_at(&self, address: u64) -> Option<&str> {
        let holds = |section: &FileSection<'_, '_>| {
            address.wrapping_sub(section.address()) < section.size() && section.address() != 0
        };
        self.elf.sections().find(holds)?.name().ok().map(|name| name as &str)
    }

    /// Returns the name of the section that contains an address, if linkers
    /// generate its code: tables of jumps to definitions in other files, which no
    /// object file has.
    #[must_use]
    pub fn linker_made(&self, address: u64) -> Option<&str> {
        self.section_at(address).filter(|name| is_linkage_table(name))
    }

    /// Whether a program has rewritten its code after the linker, and says so.
    #[must_use]
    pub fn is_rewritten(&self) -> bool {
        merge_faults::is_rewritten(&self.elf)
    }

    /// Whether it is relocatable. Its addresses are then made up.
    #[cfg(feature = "disassembly")]
    pub(crate) fn is_relocatable(&self) -> bool {
        self.elf.elf_header().e_type(self.elf.endian()) == ET_REL
    }

    /// Returns the names of the code sections of a relocatable file, with their
    /// addresses. In a linked file, addresses are enough.
    #[cfg(feature = "disassembly")]
    pub(crate) fn relocatable_code(&self) -> Vec<(Range<u64>, String)> {
        let endian = self.elf.endian();
        if !self.is_relocatable() {
            return Vec::new();
        }
        let code = self.elf.sections().filter_map(|section| {
            let is_code = section.elf_section_header().sh_flags(endian).contains(SHF_EXECINSTR);
            let end = section.address().saturating_add(section.size());
            is_code.then(|| (section.address()..end, section.name().unwrap_or_default().to_owned()))
        });
        let mut code: Vec<_> = code.collect();
        code.sort_by_key(|(range, _)| range.start);
        code
    }

    /// Returns the symbols that a linker puts into the code of a relocatable file, by address.
    #[cfg(feature = "disassembly")]
    pub(crate) fn relocated_code(&self) -> BTreeMap<u64, String> {
        let endian = self.elf.endian();
        let is_code = |section: &FileSection<'_, '_>| {
            section.elf_section_header().sh_flags(endian).contains(SHF_EXECINSTR)
        };
        let sections = self.elf.sections().filter(|section| self.is_relocatable() && is_code(section));
        let entries = sections.flat_map(|section| {
            let address = section.address();
            section.relocations().map(move |(offset, entry)| (address.wrapping_add(offset), entry.target()))
        });
        let name = |target: object::RelocationTarget| {
            let object::RelocationTarget::Symbol(index) = target else { return None };
            let symbol = self.elf.symbol_by_index(index).ok()?;
            let name = symbol.name().ok().filter(|name| !name.is_empty());
            let of_section = || self.elf.section_by_index(symbol.section_index()?).ok()?.name().ok();
            name.or_else(of_section).map(str::to_owned)
        };
        entries.filter_map(|(address, target)| Some((address, name(target)?))).collect()
    }

    /// Returns the line tables. They are read at each call: few specs need them.
    ///
    /// # Errors
    /// The tables are missing or malformed.
    pub fn lines(&self) -> Result<Lines, LinesError> {
        Lines::read(&self.elf)
    }
}

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

/// Whether a section has tables of jumps to definitions in other files.
pub(crate) fn is_linkage_table(name: &str) -> bool {
    [".plt", ".iplt"].iter().any(|table| name.starts_with(table))
}

/// The texts in `.comment`, and in the note of gold, which writes no comment.
fn comments(elf: &File<'_>) -> Vec<String> {
    /// Bytes of a note before its text: three numbers, and the name `GNU`.
    const BEFORE_TEXT: usize = 16;
    let bytes_of = |name| {
        let section = elf.section_by_name(name);
        section.and_then(|section| section.data().ok()).unwrap_or_default()
    };
    let of_gold = bytes_of(".note.gnu.gold-version").get(BEFORE_TEXT..).unwrap_or_default();
    let texts = [bytes_of(".comment"), of_gold].into_iter().flat_map(|bytes| bytes.split(|byte| *byte == 0));
    let texts = texts.filter(|text| !text.is_empty());
    texts.map(|text| String::from_utf8_lossy(text).into_owned()).collect()
}

/// Function symbols, for naming addresses.
#[derive(Clone, Debug, Default)]
pub struct Symbols<'a> {
    /// Sorted by address, with one symbol for each address.
    symbols: Vec<Symbol<'a>>,
    /// Other names of these addresses.
    aliases: Vec<(Cow<'a, str>, u64)>,
}

impl<'a> Symbols<'a> {
    pub(crate) fn read(elf: &File<'a>) -> Self {
        Self::read_with(elf, None)
    }

    fn read_with(elf: &File<'a>, debug: Option<&'a DebugFile>) -> Self {
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
        Self { symbols, aliases }
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
        self.symbols.iter().filter(|symbol| plain(&symbol.name) == name).count()
    }

    fn all(&self, is_it: impl Fn(&Symbol<'_>) -> bool) -> Vec<u64> {
        self.symbols.iter().filter(|symbol| is_it(symbol)).map(|symbol| symbol.address).collect()
    }

    /// Returns all addresses.
    pub fn addresses(&self) -> impl Iterator<Item = u64> {
        self.symbols.iter().map(|symbol| symbol.address)
    }

    /// Returns the addresses of functions, with their names as they are in the file. Labels and entries
    /// of procedure linkage tables are not among them.
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

/// Returns the name without what compilers append to clones: `f.constprop.0` is `f`.
fn plain(name: &str) -> &str {
    match name.find('.') {
        None | Some(0) => name,
        Some(dot) => &name[..dot],
    }
}
