//! The functions of a file, and the rows that its `.sframe` has for them.

use std::collections::BTreeMap;

use object::elf::{SHN_UNDEF, STT_FUNC, STT_NOTYPE};
use object::read::archive::ArchiveFile;
use object::read::elf::{ElfFile64, Sym as _};
use object::{Endianness, Object as _, ObjectSection as _, ObjectSymbol as _, SectionKind};
use sframe_engine::write::{self, Function};
use sframe_engine::{Header, Row, Section};
use sframe_inspect::elf::object_file::ObjectFile;
use sframe_inspect::elf::relocatable::lay_out;
use sframe_inspect::source::Source;

use super::code::Text;

/// What a section says of one function, wherever that is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Rows(Function);

impl Rows {
    fn of(function: &Function) -> Self {
        // Places, and how it is encoded.
        let (wide_rows, fre_type) = (BTreeMap::new(), None);
        Self(Function { start: 0, rows_position: 0, wide_rows, fre_type, ..function.clone() })
    }

    /// Whether it describes any code.
    pub(super) const fn is_empty(&self) -> bool {
        self.0.size == 0
    }

    /// How many bytes of code it describes.
    pub(super) const fn size(&self) -> u64 {
        self.0.size as u64
    }

    /// Says what is different from another.
    pub(super) fn difference(&self, other: &Self) -> String {
        let (Self(own), Self(other)) = (self, other);
        if own.size != other.size {
            return format!("it has {} bytes, not {}", own.size, other.size);
        }
        let text = |row: Option<&Row>| match row {
            Some(row) => format!("+{:#x}: {row}", row.start),
            None => "no row".to_owned(),
        };
        let rows = own.rows.len().max(other.rows.len());
        let different = (0..rows)
            .map(|index| (own.rows.get(index), other.rows.get(index)))
            .find(|(own, other)| own != other);
        match different {
            Some((own, other)) => format!("it has {}, not {}", text(own), text(other)),
            None if own.signal != other.signal => "the mark of signal frames is different".to_owned(),
            None if own.pauth_key != other.pauth_key => "the key of return addresses is different".to_owned(),
            None => "its FDE is of another type".to_owned(),
        }
    }
}

/// What was read of a file.
#[derive(Clone, Debug, Default)]
pub(super) struct Functions {
    /// The header of the section, if it has one that can be read.
    pub(super) header: Option<Header>,
    /// What the section says, by the addresses of functions.
    pub(super) rows: BTreeMap<u64, Vec<Rows>>,
    /// The addresses of functions, by their names, in the order of symbols. What is written by hand may have no type.
    pub(super) symbols: Vec<(String, u64)>,
    /// The sections with code.
    pub(super) texts: Vec<Text>,
    by_name: BTreeMap<String, Vec<u64>>,
    /// Why the section can't be read.
    pub(super) unreadable: Option<String>,
}

impl Functions {
    /// Reads a file. A relocatable one is laid out, which gives its functions addresses of their own.
    ///
    /// # Errors
    /// It is no ELF file, or its tables can't be read: why.
    pub(super) fn read(bytes: &[u8]) -> Result<Self, String> {
        let laid_out = lay_out(Source::from(bytes)).map_err(|error| error.to_string())?;
        let bytes = laid_out.as_deref().unwrap_or(bytes);
        let elf = ElfFile64::<Endianness>::parse(bytes).map_err(|error| error.to_string())?;
        let endian = elf.endian();
        let is_code =
            |section| elf.section_by_index(section).is_ok_and(|section| section.kind() == SectionKind::Text);
        let symbols = elf.symbols().filter(|symbol| {
            let raw = symbol.elf_symbol();
            let is_function = match raw.st_type() {
                STT_FUNC => true,
                STT_NOTYPE => symbol.section_index().is_some_and(is_code),
                _ => false,
            };
            is_function && raw.st_shndx(endian) != SHN_UNDEF
        });
        let symbols = symbols.filter_map(|symbol| Some((symbol.name().ok()?.to_owned(), symbol.address())));
        // Mapping symbols ($x, $d) mark kinds of content, not functions.
        let symbols = symbols.filter(|(name, _)| !name.is_empty() && !name.starts_with('$'));
        let mut functions = Self { symbols: symbols.collect(), texts: Text::all(&elf), ..Self::default() };
        for (name, address) in &functions.symbols {
            functions.by_name.entry(name.clone()).or_default().push(*address);
        }
        let file = ObjectFile::parse(bytes).map_err(|error| error.to_string())?;
        let Some(section) = file.sframe else { return Ok(functions) };
        if let Err(error) = functions.read_section(section.data, section.address) {
            functions.unreadable = Some(error.to_string());
        }
        Ok(functions)
    }

    fn read_section(&mut self, data: &[u8], address: u64) -> Result<(), sframe_engine::Error> {
        let section = Section::parse(data, address)?;
        self.header = Some(*section.header());
        for function in write::Section::from_read(&section)?.functions {
            self.rows.entry(function.start).or_default().push(Rows::of(&function));
        }
        Ok(())
    }

    /// Reads the files of an archive, or a file.
    pub(super) fn read_all(bytes: &[u8]) -> Result<Vec<Self>, String> {
        if !bytes.starts_with(b"!<arch>\n") {
            return Self::read(bytes).map(|functions| vec![functions]);
        }
        let archive = ArchiveFile::parse(bytes).map_err(|error| error.to_string())?;
        let members = archive.members().map(|member| {
            let data = member.and_then(|member| member.data(bytes)).map_err(|error| error.to_string())?;
            Self::read(data)
        });
        members.collect()
    }

    /// The addresses of the functions with a name.
    pub(super) fn addresses(&self, name: &str) -> impl Iterator<Item = u64> {
        self.by_name.get(name).into_iter().flatten().copied()
    }
}
