//! The complete contents of a section, decoded.

use sframe_engine::constants::{HEADER_SIZE, V3_FDE_ATTR_SIZE};
use sframe_engine::{Error, Fde, Fre, Header, Row, Section};

/// The maximum number of rows in a dump beyond one for each byte of the section.
/// Malformed sections can name the same rows in many functions.
const SPARE_ROWS: usize = 1 << 16;

/// A section that is decoded function by function, as far as possible.
#[derive(Clone, Debug)]
pub struct Dump<'a> {
    /// The header.
    pub header: Header,
    /// The section's bytes.
    pub data: &'a [u8],
    /// The address at which they are loaded.
    pub address: u64,
    section: Result<Section<'a>, Error>,
}

/// The faults of a section.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Faults {
    /// In the order of the section's FDEs.
    pub errors: Vec<Error>,
    /// Whether rows are left out, because so many functions share rows that there
    /// are far more of them than the section has bytes.
    pub too_many_rows: bool,
}

/// A function.
#[derive(Clone, Debug)]
pub struct Function<'a> {
    /// Its index in the FDE sub-section.
    pub index: u32,
    /// Offset of its FDE, or FDE index entry, from the start of the section.
    pub offset: usize,
    /// The bytes of its FDE, or FDE index entry.
    pub bytes: &'a [u8],
    /// The offset and bytes of its FDE attribute (version 3).
    pub attribute: Option<(usize, &'a [u8])>,
    /// The FDE, or why it can't be read.
    pub fde: Result<Fde, Error>,
    /// Its rows, as far as they can be found.
    pub rows: Vec<FunctionRow<'a>>,
    /// Why not all rows can be found.
    pub end: Option<Error>,
}

/// A row of a function.
#[derive(Clone, Copy, Debug)]
pub struct FunctionRow<'a> {
    /// The row as stored.
    pub fre: Fre<'a>,
    /// Offset past the end of the row: the start of the next one, or the end of the
    /// function or of the repeated block.
    pub end: u32,
    /// Its meaning, or why it has none.
    pub row: Result<Row, Error>,
}

impl<'a> Dump<'a> {
    /// Decodes the header of a section.
    ///
    /// # Errors
    /// The preamble or the header can't be read, so nothing can be.
    pub fn decode(data: &'a [u8], address: u64) -> Result<Self, Error> {
        let header = Header::parse(data)?;
        Ok(Self { header, data, address, section: Section::parse(data, address) })
    }

    /// Returns the auxiliary header.
    #[must_use]
    pub fn auxiliary_header(&self) -> &'a [u8] {
        slice(self.data, HEADER_SIZE, self.header.auxhdr_len.into())
    }

    /// Returns the functions, in the order of the section; `None` if the
    /// sub-sections are not within the section.
    pub fn functions(&self) -> Option<impl Iterator<Item = Function<'a>>> {
        Some(self.functions_of(self.section.as_ref().ok()?))
    }

    /// Returns the faults.
    #[must_use]
    pub fn faults(&self) -> Faults {
        let mut faults = Faults::default();
        let section = match &self.section {
            Ok(section) => section,
            Err(error) => return Faults { errors: vec![*error], ..faults },
        };
        let mut functions = self.functions_of(section);
        for function in functions.by_ref() {
            faults.errors.extend(function.errors());
        }
        faults.too_many_rows = functions.rows_left == 0;
        faults
    }

    fn functions_of<'s>(&'s self, section: &'s Section<'a>) -> Functions<'s, 'a> {
        Functions { dump: self, section, next: 0, rows_left: self.data.len().saturating_add(SPARE_ROWS) }
    }
}

/// Decodes the functions of a section.
struct Functions<'s, 'a> {
    dump: &'s Dump<'a>,
    section: &'s Section<'a>,
    next: u32,
    /// The number of rows that may still be decoded.
    rows_left: usize,
}

impl<'a> Iterator for Functions<'_, 'a> {
    type Item = Function<'a>;

    fn next(&mut self) -> Option<Function<'a>> {
        let index = self.next;
        if self.rows_left == 0 || index >= self.dump.header.num_fdes {
            return None;
        }
        self.next += 1;
        let header = &self.dump.header;
        let first = header.end().saturating_add(header.fdeoff as usize);
        let offset = (index as usize).saturating_mul(header.version.fde_size()).saturating_add(first);
        Some(self.function(index, offset, self.section.fde(index)))
    }
}

impl<'a> Functions<'_, 'a> {
    fn function(&mut self, index: u32, offset: usize, fde: Result<Fde, Error>) -> Function<'a> {
        let (data, version) = (self.dump.data, self.dump.header.version);
        let mut function = Function {
            index,
            offset,
            bytes: slice(data, offset, version.fde_size()),
            attribute: None,
            fde,
            rows: Vec::new(),
            end: None,
        };
        let Ok(fde) = fde else { return function };
        if version.has_fde_attributes() {
            let at = fde.rows_offset.saturating_sub(V3_FDE_ATTR_SIZE);
            function.attribute = Some((at, slice(data, at, V3_FDE_ATTR_SIZE)));
        }
        let rows = FunctionRows::read(self.section, &fde, || {
            let has_room = self.rows_left > 0;
            self.rows_left = self.rows_left.saturating_sub(1);
            has_room
        });
        (function.rows, function.end) = (rows.rows, rows.end);
        function
    }
}

/// The rows of a function, as far as they can be found.
#[derive(Clone, Debug)]
pub(crate) struct FunctionRows<'a> {
    pub(crate) rows: Vec<FunctionRow<'a>>,
    /// Why not all rows can be found.
    pub(crate) end: Option<Error>,
}

impl<'a> FunctionRows<'a> {
    /// Reads rows as long as there is room for another one.
    ///
    /// A malformed row stays isolated if only its words make no rules: the rows
    /// around it are unaffected. After a row that can't be read, no more can be
    /// found.
    pub(crate) fn read(section: &Section<'a>, fde: &Fde, mut has_room: impl FnMut() -> bool) -> Self {
        let mut fres: Vec<Fre<'a>> = Vec::new();
        let mut end = None;
        let mut reader = section.fres(fde);
        for fre in reader.by_ref() {
            match fre {
                Ok(fre) if has_room() => fres.push(fre),
                Ok(_) => break,
                Err(error) => end = Some(error),
            }
        }
        let last = reader.next_start().filter(|_| end.is_some()).unwrap_or_else(|| fde.rows_end());
        let row = |(index, fre): (usize, &Fre<'a>)| {
            let end = fres.get(index + 1).map_or(last, Fre::start);
            FunctionRow { fre: *fre, end, row: section.row(fde, fre, end) }
        };
        let rows = fres.iter().enumerate().map(row).collect();
        Self { rows, end }
    }
}

impl Function<'_> {
    /// Returns the info byte: FRE type, PC type, pauth key, signal bit (2.3.3).
    #[must_use]
    pub fn info(&self) -> u8 {
        match self.attribute {
            Some((_, bytes)) => bytes.get(2),
            None => self.bytes.get(16),
        }
        .copied()
        .unwrap_or_default()
    }

    /// Returns the faults: of the FDE, of meaningless rows, and the one that ends
    /// the rows.
    pub fn errors(&self) -> impl Iterator<Item = Error> {
        let rows = self.rows.iter().filter_map(|row| row.row.err());
        self.fde.err().into_iter().chain(rows).chain(self.end)
    }

    /// Returns the second info byte: FDE type (version 3).
    #[must_use]
    pub fn info2(&self) -> Option<u8> {
        self.attribute.and_then(|(_, bytes)| bytes.get(3).copied())
    }
}

/// Returns `len` bytes from an offset; fewer if there are no more.
fn slice(data: &[u8], offset: usize, len: usize) -> &[u8] {
    let rest = data.get(offset..).unwrap_or_default();
    rest.get(..len).unwrap_or(rest)
}
