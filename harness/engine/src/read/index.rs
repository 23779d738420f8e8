//! An index of a section, for many look-ups.
//!
//! The code is divided into buckets of equal length. A bucket leads to the places that start in
//! it, and a place to a few consecutive rows of one function, which are scanned.

use alloc::boxed::Box;
use alloc::vec::Vec;

use crate::abi::ByteOrder;
use crate::address::LookupAddress;
use crate::error::Error;
use crate::read::bytes::{Big, Little, Order};
use crate::read::cache::FindRow;
use crate::read::fde::{FreType, PcType};
use crate::read::fde_table::StoredFde;
use crate::read::lookup::Found;
use crate::read::row_table::{FoundRow, RowTable, ValidRows};
use crate::read::section::Section;

/// An index of a [`Section`], with which a look-up takes nearly the same time however many
/// functions there are and however many rows they have. It also serves sections whose FDEs are not
/// sorted.
///
/// What it finds is what [`Section::lookup`] finds, errors included. It costs:
///
/// - memory: at most as many bytes as the section has ([`Self::memory`]), and up to twice as many
///   more while it is made;
/// - time: that of reading all rows two or three times. It has paid after about as many look-ups as
///   there are functions.
///
/// Functions that do not lend themselves are looked up as without it: those whose rows repeat, are
/// malformed or not in order. So are all functions of a section in which functions overlap, which
/// calls itself sorted and is not, or whose code extends over more than 4 GiB.
///
/// ```
/// # use sframe_engine::{Index, InstructionPointer, Section};
/// # let bytes = [
/// #     0xe2, 0xde, 2, 1, 3, 0, 0xf8, 0, 1, 0, 0, 0, 1, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0, 20, 0, 0, 0,
/// #     0x00, 0xf0, 0xff, 0xff, 4, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0x03, 8,
/// # ];
/// # let section = Section::parse(&bytes, 0x2000)?;
/// let index = Index::new(&section);
/// let pc = InstructionPointer(0x1002);
/// assert_eq!(index.lookup(pc), section.lookup(pc));
/// # Ok::<(), sframe_engine::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Index<'a> {
    section: Section<'a>,
    table: Option<Table>,
}

impl<'a> Index<'a> {
    /// Makes the index of a section. A malformed section has one too: its look-ups fail as those
    /// of the section do.
    #[must_use]
    pub fn new(section: &Section<'a>) -> Self {
        Self { section: section.clone(), table: Table::of(section) }
    }

    /// The section.
    #[must_use]
    pub const fn section(&self) -> &Section<'a> {
        &self.section
    }

    /// The memory that it has allocated, in bytes: at most as many as the section has.
    #[must_use]
    pub fn memory(&self) -> usize {
        self.table.as_ref().map_or(0, |table| size_of_val(&*table.buckets) + size_of_val(&*table.places))
    }

    /// Returns the function and row that cover an address, as [`Section::lookup`] does.
    ///
    /// # Errors
    /// Those of [`Section::lookup`].
    #[inline]
    pub fn lookup(&self, address: impl Into<LookupAddress>) -> Result<Option<Found>, Error> {
        let address = address.into();
        let Some(table) = &self.table else { return self.section.lookup(address) };
        let Some(place) = table.last_up_to(address.get()) else { return Ok(None) };
        self.lookup_at(table, place, address)
    }

    fn lookup_at(
        &self,
        table: &Table,
        place: &Place,
        address: LookupAddress,
    ) -> Result<Option<Found>, Error> {
        let section = &self.section;
        // This needs no FDE, so that the processor can read both at once.
        let row = place.row(section, address.get().wrapping_sub(table.first));
        // An error of a function that does not cover the address does not count.
        let stored = section.stored_fde(place.fde)?;
        if !stored.contains(address.get()) {
            return Ok(None);
        }
        let fde = section.fde_of(place.fde, stored)?;
        match row {
            Some(FoundRow { index, at }) => section.found(fde, index, at),
            None => section.lookup_row(&fde, address),
        }
    }
}

impl FindRow for Index<'_> {
    fn find_row(&self, address: LookupAddress) -> Result<Option<Found>, Error> {
        self.lookup(address)
    }
}

/// A few consecutive rows of a function, or a whole function that is looked up without the index.
#[derive(Clone, Copy, Debug)]
struct Place {
    /// Where it starts, in bytes from the start of the first function.
    start: u32,
    /// The function.
    fde: u32,
    /// Where the first of the rows is, in bytes from the start of the FRE sub-section.
    rows_offset: u32,
    /// Its position among the function's rows.
    row: u16,
    /// The number of rows; 0 for a whole function.
    count: u8,
    fre_type: FreType,
}

impl Place {
    /// Returns the last row that starts at or before an offset from the first function; where it
    /// is, is in bytes from the start of the section. `None` for a whole function, and for rows so
    /// close to the end of the section that they can't be searched in this way.
    #[inline(always)]
    fn row(&self, section: &Section<'_>, offset: u64) -> Option<FoundRow> {
        let first = section.fre_range().start + self.rows_offset as usize;
        let rows = RowTable {
            order: section.header().abi.byte_order(),
            fre_type: self.fre_type,
            bytes: section.bytes.slice(first..section.fre_range().end),
            count: self.count.into(),
            // All of them are.
            valid: ValidRows::with_words(0, 15),
        };
        let (start, bits) = (*rows.bytes.first_chunk()?, self.fre_type.bits());
        let start = match rows.order {
            ByteOrder::Little => Little::leading(start, bits),
            ByteOrder::Big => Big::leading(start, bits),
        };
        let offset = u64::from(start) + offset.wrapping_sub(self.start.into());
        let FoundRow { index, at } = rows.last_up_to(offset).ok().flatten()?;
        Some(FoundRow { index: u32::from(self.row) + index, at: first + at })
    }
}

/// All places of a section in the order of their starts, and how to find them.
#[derive(Clone, Debug)]
struct Table {
    /// Address of the first function.
    first: u64,
    /// Length of a bucket, as a power of two.
    shift: u32,
    /// For each bucket and once more at the end, how many places start before it.
    buckets: Box<[u32]>,
    places: Box<[Place]>,
}

impl Table {
    /// Returns the last place that starts at or before an address.
    #[inline(always)]
    fn last_up_to(&self, address: u64) -> Option<&Place> {
        let offset = address.wrapping_sub(self.first);
        let bucket = usize::try_from(offset >> self.shift).ok()?;
        let (before, within) = (*self.buckets.get(bucket)?, *self.buckets.get(bucket + 1)?);
        let places = self.places.get(before as usize..within as usize)?;
        let count = places.partition_point(|place| u64::from(place.start) <= offset);
        self.places.get((before as usize + count).checked_sub(1)?)
    }

    /// Makes the table of a section. `None` if the order of the functions alone does not show
    /// which one covers an address, or if a table would be larger than the section.
    fn of(section: &Section<'_>) -> Option<Self> {
        let (first, functions) = functions(section)?;
        let memory = section.data().len();
        let rows = rows_of_a_place(section, &functions, memory)?;
        let places = places(section, &functions, rows);
        let end = functions.last()?.end()?;
        let most_buckets = memory.checked_sub(size_of_val(&*places))? / size_of::<u32>();
        let shift = (0..u32::BITS).find(|shift| (end >> shift) as usize + 2 <= most_buckets)?;
        let starting_before = |bucket: u32| places.partition_point(|place| place.start < bucket << shift);
        let buckets = (0..=end >> shift).map(starting_before).chain([places.len()]);
        let buckets = buckets.map(u32::try_from).collect::<Result<_, _>>().ok()?;
        Some(Self { first, shift, buckets, places })
    }
}

/// A function that covers an address.
#[derive(Clone, Copy)]
struct Function {
    /// Where it starts, in bytes from the start of the first function.
    start: u32,
    size: u32,
    fde: u32,
}

impl Function {
    /// Where it ends, unless that is 4 GiB or more from the first function.
    fn end(self) -> Option<u32> {
        self.start.checked_add(self.size)
    }
}

/// Returns the functions of a section that cover an address, in the order of their starts, and
/// where the first one starts. `None` if one of them covers an address that another covers too, or
/// if a binary search can't find them although the section calls itself sorted.
fn functions(section: &Section<'_>) -> Option<(u64, Vec<Function>)> {
    let count = section.header().num_fdes;
    let stored = || (0..count).filter_map(|index| Some((index, section.stored_fde(index).ok()?)));
    if section.header().flags.sorted() && !stored().is_sorted_by_key(|(_, fde)| fde.start) {
        return None;
    }
    let covering = || stored().filter(|(_, fde)| fde.size > 0);
    let first = covering().map(|(_, fde)| fde.start).min()?;
    let mut functions = Vec::with_capacity(covering().count());
    for (fde, StoredFde { start, size, .. }) in covering() {
        functions.push(Function { start: u32::try_from(start.wrapping_sub(first)).ok()?, size, fde });
    }
    functions.sort_unstable_by_key(|function| function.start);
    let ends = functions.iter().map(|function| function.end());
    let is_apart =
        ends.zip(functions.iter().skip(1)).all(|(end, next)| end.is_some_and(|end| end <= next.start));
    // Addresses start again at 0 past the last one.
    let is_in_order = first.checked_add(functions.last()?.end()?.into()).is_some();
    (is_apart && is_in_order).then_some((first, functions))
}

/// The most rows of a place.
const MOST_ROWS: u8 = 128;

/// Returns how many rows a place should have: as few as leave a fifth of the memory for buckets.
fn rows_of_a_place(section: &Section<'_>, functions: &[Function], memory: usize) -> Option<u8> {
    let rows_of = |function: &Function| section.fde(function.fde).map_or(0, |fde| fde.num_rows);
    let counts: Vec<u32> = functions.iter().map(rows_of).collect();
    let most = (memory - memory / 5) / size_of::<Place>();
    let places = |rows: u8| counts.iter().map(move |count| u64::from(count.div_ceil(rows.into()).max(1)));
    (1..=MOST_ROWS).find(|rows| places(*rows).sum::<u64>() <= most as u64)
}

/// Makes the places of functions, each with up to a number of rows.
fn places(section: &Section<'_>, functions: &[Function], rows: u8) -> Box<[Place]> {
    let mut places = Vec::new();
    // Functions that share rows may have more rows than it would be reasonable to read.
    let mut bytes_left = section.fre_range().len();
    for function in functions {
        let before = places.len();
        if add_places(section, *function, rows, &mut bytes_left, &mut places).is_none() {
            places.truncate(before);
            let Function { start, fde, .. } = *function;
            places.push(Place { start, fde, rows_offset: 0, row: 0, count: 0, fre_type: FreType::Addr1 });
        }
    }
    places.into()
}

/// Adds the places of a function. `None` if it has to be looked up without the index.
fn add_places(
    section: &Section<'_>,
    function: Function,
    rows: u8,
    bytes_left: &mut usize,
    places: &mut Vec<Place>,
) -> Option<()> {
    let fde = section.fde(function.fde).ok()?;
    if fde.pc_type == PcType::Mask || fde.num_rows == 0 {
        return None;
    }
    let (mut reader, mut last_start) = (section.rows(&fde), 0);
    for index in 0..fde.num_rows {
        let offset = reader.offset();
        let row = reader.next()?.ok()?;
        *bytes_left = bytes_left.checked_sub(reader.offset() - offset)?;
        if row.start < last_start {
            return None;
        }
        last_start = row.start;
        if row.start >= function.size {
            // No address of the function is that far.
            continue;
        }
        if index.is_multiple_of(rows.into()) {
            places.push(Place {
                start: function.start.checked_add(row.start)?,
                fde: function.fde,
                rows_offset: u32::try_from(offset - section.fre_range().start).ok()?,
                row: u16::try_from(index).ok()?,
                count: 0,
                fre_type: fde.fre_type,
            });
        }
        places.last_mut()?.count += 1;
    }
    Some(())
}
