//! The functions of a file, and the rows that its `.sframe` has for them.

use std::collections::BTreeMap;
use std::ops::Range;

use object::elf::{SHN_UNDEF, STT_FUNC, STT_NOTYPE};
use object::read::archive::ArchiveFile;
use object::read::elf::{ElfFile64, Sym as _};
use object::{Endianness, Object as _, ObjectSection as _, ObjectSymbol as _, SectionKind};
use sframe_elf::object_file::ObjectFile;
use sframe_elf::relocatable::lay_out;
use sframe_elf::source::Source;
use sframe_engine::write::{self, Function};
use sframe_engine::{Header, Row, Section};
use sframe_kit::ranges::merge;
use sframe_kit::text::counted;

use crate::code::Text;

/// What a section says of one function, wherever that is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Rows(Function);

impl Rows {
    fn of(function: &Function) -> Self {
        // Places, and how it is encoded.
        let (wide_rows, fre_type) = (BTreeMap::new(), None);
        // A row with the rules of the one before it changes nothing.
        let mut rows: Vec<Row> = Vec::new();
        for row in &function.rows {
            match rows.last_mut().filter(|last| last.rules() == row.rules()) {
                Some(last) => last.end = row.end,
                None => rows.push(*row),
            }
        }
        Self(Function { start: 0, rows_position: 0, wide_rows, fre_type, rows, ..function.clone() })
    }

    /// Whether it describes any code.
    pub(super) const fn is_empty(&self) -> bool {
        self.0.size == 0
    }

    /// How many bytes of code it describes.
    pub(super) const fn size(&self) -> u64 {
        self.0.size as u64
    }

    /// Says what it has, and what another has instead.
    pub(super) fn difference(&self, other: &Self) -> (String, String) {
        let (Self(own), Self(other)) = (self, other);
        let both = |text: &dyn Fn(&Function) -> String| (text(own), text(other));
        if own.size != other.size {
            return both(&|function| counted(function.size.into(), "byte"));
        }
        // Where a row ends is where the next one starts.
        let row =
            |function: &Function, index: usize| function.rows.get(index).map(|row| (row.start, row.rules()));
        let rows = own.rows.len().max(other.rows.len());
        match (0..rows).find(|index| row(own, *index) != row(other, *index)) {
            Some(index) => both(&|function| match row(function, index) {
                Some((start, rules)) => format!("+{start:#x}: {rules}"),
                None => "no row".to_owned(),
            }),
            None if own.signal != other.signal => both(&|function| {
                if function.signal { "the mark of signal frames" } else { "no mark of signal frames" }
                    .to_owned()
            }),
            None if own.pauth_key != other.pauth_key => {
                both(&|function| format!("key {:?} of return addresses", function.pauth_key))
            }
            None => both(&|function| {
                let Function { fde_type, pc_type, rep_size, .. } = function;
                format!("FDE type {fde_type:?}, PC type {pc_type:?}, block size {}", rep_size.unwrap_or(0))
            }),
        }
    }
}

/// How a file with LLVM's bitcode begins.
const BITCODE: &[u8] = b"BC\xc0\xde";

/// A symbol of a function. What is written by hand may have no type.
#[derive(Clone, Debug)]
pub(super) struct Symbol {
    pub(super) name: String,
    pub(super) address: u64,
    pub(super) is_local: bool,
}

/// A section with code that linkers make.
#[derive(Clone, Debug)]
pub(super) struct Table {
    pub(super) name: String,
    pub(super) range: Range<u64>,
}

impl Table {
    fn all(elf: &ElfFile64<'_, Endianness>, file: &ObjectFile<'_>) -> Vec<Self> {
        let sections = elf.sections().filter(|section| section.size() > 0);
        let made = sections.filter_map(|section| {
            let (name, start) = (section.name().ok()?.to_owned(), section.address());
            file.linker_made(start).map(|_| Self { name, range: start..start.saturating_add(section.size()) })
        });
        made.collect()
    }
}

/// What was read of a file.
#[derive(Clone, Debug, Default)]
pub(super) struct Functions {
    /// The header of the section, if it has one that can be read.
    pub(super) header: Option<Header>,
    /// What the section says, by the addresses of functions.
    pub(super) rows: BTreeMap<u64, Vec<Rows>>,
    /// Its functions, in the order of symbols.
    pub(super) symbols: Vec<Symbol>,
    /// The sections with code; if there is no section table, the segments.
    pub(super) texts: Vec<Text>,
    /// Whether there is a section table.
    pub(super) has_sections: bool,
    /// The sections with code that linkers make, in a linked file.
    pub(super) tables: Vec<Table>,
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
        let symbols = symbols.filter_map(|symbol| {
            let (name, address, is_local) =
                (symbol.name().ok()?.to_owned(), symbol.address(), symbol.is_local());
            Some(Symbol { name, address, is_local })
        });
        // Mapping symbols ($x, $d) mark kinds of content, not functions.
        let symbols = symbols.filter(|symbol| !symbol.name.is_empty() && !symbol.name.starts_with('$'));
        let mut functions = Self { symbols: symbols.collect(), texts: Text::all(&elf), ..Self::default() };
        functions.has_sections = elf.sections().next().is_some();
        for Symbol { name, address, .. } in &functions.symbols {
            functions.by_name.entry(name.clone()).or_default().push(*address);
        }
        let file = ObjectFile::parse(bytes).map_err(|error| error.to_string())?;
        if laid_out.is_none() {
            functions.tables = Table::all(&elf, &file);
        }
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
        // What the linker compiles has no rows.
        if bytes.starts_with(BITCODE) {
            return Ok(Vec::new());
        }
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

    /// The parts of a table that no row describes.
    pub(super) fn bare_parts(&self, table: &Table) -> Vec<Range<u64>> {
        let of_start = |(start, all): (&u64, &Vec<Rows>)| {
            all.iter().map(|rows| *start..start.saturating_add(rows.size())).collect()
        };
        let (mut bare, mut at) = (Vec::new(), table.range.start);
        for described in merge(self.rows.iter().flat_map::<Vec<_>, _>(of_start).collect()) {
            bare.push(at..described.start.min(table.range.end));
            at = at.max(described.end);
        }
        bare.push(at..table.range.end);
        bare.retain(|part| part.start < part.end);
        bare
    }

    /// The addresses of the functions with a name.
    pub(super) fn addresses(&self, name: &str) -> impl Iterator<Item = u64> {
        self.by_name.get(name).into_iter().flatten().copied()
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::case::LinkCases;

    /// What is said to be different is, also where rows say the same at other places.
    #[test]
    fn a_difference_shows_what_differs() {
        let cases = LinkCases::load(Path::new("../../corpus/links")).expect("the cases");
        let functions =
            Functions::read(cases.object("v3/amd64/two.o").expect("an object")).expect("functions");
        let rows =
            functions.rows.values().flatten().find(|rows| rows.0.rows.len() > 2).expect("several rows");
        let changed = |change: &dyn Fn(&mut Function)| {
            let mut other = rows.clone();
            change(&mut other.0);
            let (has, needs) = other.difference(rows);
            assert_ne!(has, needs);
            has
        };
        let start = changed(&|function| {
            function.rows[1].start += 1;
            function.rows[0].end += 1;
        });
        let expected = format!("+{:#x}: ", rows.0.rows[1].start + 1);
        assert!(start.starts_with(&expected), "{start}, not {expected}");
        assert_eq!(changed(&|function| function.rows.truncate(1)), "no row");
        let mut repeated = rows.0.clone();
        let first = repeated.rows[0];
        repeated.rows.insert(1, sframe_engine::Row { start: first.start + 1, ..first });
        repeated.rows[0].end = first.start + 1;
        assert_eq!(Rows::of(&repeated), *rows, "a repeated row says the same");
        assert_eq!(changed(&|function| function.size += 1), format!("{} bytes", rows.size() + 1));
        assert_eq!(changed(&|function| function.signal = true), "the mark of signal frames");
        assert!(changed(&|function| function.rep_size = Some(8)).ends_with("block size 8"));
    }
}
