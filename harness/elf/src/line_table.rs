//! Line tables: from `file.c:42` to an address.

use std::collections::hash_map::Entry;
use std::sync::Arc;

use gimli::{DebugLineOffset, Dwarf, Section as _};
use rustc_hash::FxHashMap;

use crate::bounded::File;
use crate::dwarf::{self, Slice};

/// Why line tables can't be used.
#[derive(Debug, thiserror::Error)]
pub enum LinesError {
    /// The file has no line information.
    #[error("the file has no line table (compile it with -g1)")]
    None,
    /// The debug sections are malformed.
    #[error("the line table can't be read: {0}")]
    Malformed(#[from] gimli::Error),
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Row {
    address: u64,
    line: u64,
    file: Arc<str>,
}

/// The start addresses of lines.
#[derive(Clone, Debug, Default)]
pub struct Lines {
    /// Sorted by address.
    rows: Vec<Row>,
}

impl Lines {
    pub(crate) fn read(elf: &File<'_>) -> Result<Self, LinesError> {
        let sections = dwarf::sections(elf)?;
        let dwarf = sections.borrow(|data| dwarf::slice(elf, data));
        let mut rows = Vec::new();
        // One after another, as linkers place them: any number of units may refer to the same
        // program.
        let mut offset = 0;
        while offset < dwarf.debug_line.reader().len() {
            let program = dwarf.debug_line.program(DebugLineOffset(offset), 8, None, None)?;
            let header = program.header();
            let length = header.format().initial_length_size();
            offset = offset.saturating_add(length.into()).saturating_add(header.unit_length());
            read_program(&dwarf, program, &mut rows)?;
        }
        rows.sort();
        if rows.is_empty() { Err(LinesError::None) } else { Ok(Self { rows }) }
    }

    /// Returns the first instruction of a line, by the file name without its folder.
    #[must_use]
    pub fn address_of(&self, file: &str, line: u32) -> Option<u64> {
        let is_it = |row: &&Row| row.line == u64::from(line) && *row.file == *file;
        self.rows.iter().find(is_it).map(|row| row.address)
    }
}

impl Lines {
    /// Returns file and line of the last statement that starts at or before an
    /// address, and the address where it starts.
    #[must_use]
    pub fn at(&self, address: u64) -> Option<(&str, u64, u64)> {
        let behind = self.rows.partition_point(|row| row.address <= address);
        let row = self.rows.get(behind.checked_sub(1)?)?;
        Some((&row.file, row.line, row.address))
    }
}

/// Longer paths are truncated: any number of files may have the same path.
const LONGEST_PATH: usize = 1 << 12;

fn read_program<'a>(
    dwarf: &Dwarf<Slice<'a>>,
    program: gimli::IncompleteLineProgram<Slice<'a>>,
    rows: &mut Vec<Row>,
) -> Result<(), gimli::Error> {
    let mut program = program.rows();
    let mut names: FxHashMap<u64, Arc<str>> = FxHashMap::default();
    while let Some((header, row)) = program.next_row()? {
        let (Some(line), true, false) = (row.line(), row.is_stmt(), row.end_sequence()) else {
            continue;
        };
        let file = match names.entry(row.file_index()) {
            Entry::Occupied(known) => Arc::clone(known.get()),
            Entry::Vacant(new) => {
                let Some(file) = row.file(header) else { continue };
                let path = dwarf.attr_line_string(file.path_name())?;
                let path = path.slice().get(..LONGEST_PATH).unwrap_or(path.slice());
                let path = String::from_utf8_lossy(path);
                Arc::clone(new.insert(path.rsplit('/').next().unwrap_or_default().into()))
            }
        };
        rows.push(Row { address: row.address(), line: line.get(), file });
    }
    Ok(())
}
