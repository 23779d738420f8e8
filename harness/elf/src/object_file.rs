//! The file under test, as a linker sees it: its `.sframe` section and its
//! function symbols.
//!
//! The machine loads the same file by its program headers alone. Names are for
//! people; the only verdicts that depend on them are those of stops, which name
//! functions.

#[cfg(feature = "disassembly")]
use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::ops::Range;

use object::elf::{ET_REL, PF_X, PT_LOAD, SHF_EXECINSTR, STT_OBJECT};
use object::read::elf::{ElfSymbol64, FileHeader, ProgramHeader, SectionHeader};
use object::{Endianness, Object, ObjectSection, ObjectSymbol, ObjectSymbolTable as _, SectionIndex};

use sframe_engine::{Abi, Section};

use crate::abi::abi_of;
use crate::bounded::{self, File, FileSection, SharedBytes, Tables};
use crate::call_frame_info::call_frame_info;
use crate::cfi::{CallFrameInfo, LandingPads};
use crate::compile_units::CompileUnits;
use crate::debug_file::DebugFile;
use crate::dynamic_relocations;
pub use crate::find_sframe::{MissingSection, SectionBytes, SectionError};
use crate::find_sframe::{OutsideFile, Segments};
use crate::line_table::{Lines, LinesError};
use crate::merge_faults::{self, MergeFault, merge_faults};
use crate::source::Source;
use crate::symbols::Symbols;
use crate::unknown_symbol::UnknownSymbol;

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

    /// Reads a file whose functions a separate debug file may name, and whose `.debug_frame` it may have.
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
    pub const fn elf(&self) -> &File<'a> {
        &self.elf
    }

    /// Returns the `.sframe` section.
    ///
    /// # Errors
    /// It does not exist, or not in this file.
    pub fn section(&self) -> Result<SectionBytes<'a>, MissingSection> {
        self.sframe.ok_or(self.missing)
    }

    /// Whether a segment says where the section is: loaders don't look for sections.
    #[must_use]
    pub fn has_segment(&self) -> bool {
        Tables::of(&self.elf).sframe_segments(Segments::InFile).next().is_some()
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

    /// Returns the sections of PLTs: their addresses.
    pub fn linkage_tables(&self) -> impl Iterator<Item = Range<u64>> {
        self.elf
            .sections()
            .filter(|section| section.name().is_ok_and(is_linkage_table))
            .map(|section| section.address()..section.address().saturating_add(section.size()))
    }

    /// Returns the code that stands for what other files define, if the file was
    /// [made of a relocatable one](crate::link).
    #[must_use]
    pub fn stubs(&self) -> Option<Range<u64>> {
        stubs(&self.elf)
    }

    /// Returns the sections with code, or segments if the section table is stripped.
    pub fn code_ranges(&self) -> impl Iterator<Item = CodeRange> {
        code_ranges(&self.elf)
    }

    /// Returns all of the code with its addresses.
    pub fn code(&self) -> impl Iterator<Item = (u64, &'a [u8])> {
        code(&self.elf)
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
        call_frame_info(&self.elf, self.debug)
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

    /// The compilers that name themselves so, or else in debug information, each once.
    #[must_use]
    pub fn compilers(&self) -> BTreeSet<String> {
        let is_linker =
            |comment: &str| ["Linker: ", "mold ", "gold "].iter().any(|name| comment.starts_with(name));
        let named: BTreeSet<String> =
            self.comments().into_iter().filter(|comment| !is_linker(comment)).collect();
        if named.is_empty() { self.compile_units().compilers() } else { named }
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
    pub fn is_relocatable(&self) -> bool {
        self.elf.elf_header().e_type(self.elf.endian()) == ET_REL
    }

    /// Whether an assembler has written it: a relocatable file of one source. What a linker has joined (`ld -r`) names
    /// several.
    #[must_use]
    #[cfg(feature = "disassembly")]
    pub fn is_assembled(&self) -> bool {
        let is_source =
            |symbol: &ElfSymbol64<'_, '_, Endianness, Source<'_>>| symbol.kind() == object::SymbolKind::File;
        self.is_relocatable() && self.elf.symbols().filter(is_source).take(2).count() < 2
    }

    /// Returns the names of the code sections of a relocatable file, with their
    /// addresses. In a linked file, addresses are enough.
    #[cfg(feature = "disassembly")]
    pub fn relocatable_code(&self) -> Vec<(Range<u64>, String)> {
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
    pub fn relocated_code(&self) -> BTreeMap<u64, String> {
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

    /// Returns who has made which code, as the debug information says, which may be in a separate file. It is read at each
    /// call.
    #[must_use]
    pub fn compile_units(&self) -> CompileUnits {
        let own = self.elf.section_by_name(".debug_info").is_some();
        let debug = self.debug.filter(|_| !own).and_then(DebugFile::open);
        CompileUnits::read(debug.as_ref().unwrap_or(&self.elf))
    }

    /// Returns the line tables. They are read at each call: few specs need them.
    ///
    /// # Errors
    /// The tables are missing or malformed.
    pub fn lines(&self) -> Result<Lines, LinesError> {
        Lines::read(&self.elf)
    }
}

/// Returns the code that stands for what other files define, if a file was [made of a relocatable one](crate::link).
#[must_use]
pub fn stubs(elf: &File<'_>) -> Option<Range<u64>> {
    let section = elf.section_by_name(STUBS)?;
    Some(section.address()..section.address().saturating_add(section.size()))
}

/// Returns the sections with code, or segments if the section table is stripped.
fn code_ranges<'a>(elf: &File<'a>) -> impl Iterator<Item = CodeRange> + use<'a> {
    let endian = elf.endian();
    let sections = elf.elf_section_table();
    let code = sections.iter().skip(1).filter_map(move |header| {
        let (offset, len) = header.file_range(endian)?;
        let is_code = header.sh_flags(endian).contains(SHF_EXECINSTR);
        is_code.then_some(CodeRange { address: header.sh_addr(endian), offset, len })
    });
    let headers = if sections.is_empty() { elf.elf_program_headers() } else { &[] };
    let segments = headers.iter().filter_map(move |header| {
        let (offset, len) = header.file_range(endian);
        let is_code = header.p_type(endian) == PT_LOAD && header.p_flags(endian).contains(PF_X);
        is_code.then_some(CodeRange { address: header.p_vaddr(endian), offset, len })
    });
    let file = elf.data().len();
    let has = move |code: &CodeRange| code.offset.checked_add(code.len).is_some_and(|end| end <= file);
    code.chain(segments).filter(move |code| code.len > 0 && has(code))
}

/// Returns all of a file's code with its addresses.
pub(crate) fn code<'a>(elf: &File<'a>) -> impl Iterator<Item = (u64, &'a [u8])> + use<'a> {
    let data = elf.data();
    let bytes = move |code: CodeRange| Some((code.address, data.bytes(code.offset..code.offset + code.len)?));
    code_ranges(elf).filter_map(bytes)
}

/// Whether a section has tables of jumps to definitions in other files.
pub fn is_linkage_table(name: &str) -> bool {
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

#[cfg(all(test, feature = "disassembly"))]
mod tests {
    use object::write;
    use object::{Architecture, BinaryFormat};

    use super::*;

    #[test]
    fn what_a_linker_has_joined_is_not_as_an_assembler_wrote_it() {
        for (sources, expected) in [(&[][..], true), (&["a.c"], true), (&["a.c", "b.c"], false)] {
            let mut file =
                write::Object::new(BinaryFormat::Elf, Architecture::X86_64, object::Endianness::Little);
            for source in sources {
                file.add_file_symbol(source.as_bytes().to_vec());
            }
            let bytes = file.write().expect("a file");
            assert_eq!(ObjectFile::parse(&bytes).expect("a file").is_assembled(), expected, "{sources:?}");
        }
    }
}
