//! Function descriptor entries (2.3).

use core::ops::Range;

use crate::constants::{
    SFRAME_AARCH64_PAUTH_KEY_B, SFRAME_FDE_PCTYPE_MASK, SFRAME_FDE_TYPE_DEFAULT, SFRAME_FDE_TYPE_FLEX,
    SFRAME_FRE_TYPE_ADDR1, SFRAME_FRE_TYPE_ADDR2, SFRAME_FRE_TYPE_ADDR4, V3_FDE_ATTR_SIZE,
};
use crate::error::Clause;
use crate::lint::catalogue as rules;
use crate::lint::finding::Value;
use crate::lint::fre::{self, Fre};
use crate::lint::layout::Layout;
use crate::lint::reporter::{Place, Reporter};
use crate::read::{FdeType, FreType, PcType};
use crate::version::Version;

/// The part of an FDE that is in the FDE sub-section.
#[derive(Clone, Copy)]
pub(super) struct IndexEntry {
    pub(super) index: u32,
    /// Where it is, in bytes from the start of the section.
    pub(super) offset: usize,
    pub(super) start: u64,
    pub(super) size: u32,
    /// As stored: from the start of the FRE sub-section.
    pub(super) rows_offset: u32,
}

impl IndexEntry {
    pub(super) fn end(&self) -> u64 {
        self.start.wrapping_add(self.size.into())
    }

    /// The start as its distance from the section. That keeps the order even if the address of
    /// the section is unknown and earlier starts wrap.
    pub(super) const fn relative_to(&self, address: u64) -> i64 {
        self.start.wrapping_sub(address).cast_signed()
    }

    pub(super) const fn place(&self) -> Place {
        Place { offset: self.offset, fde: Some(self.index), row: None }
    }

    /// Returns the start of the row data, or `None` if it is outside the FRE sub-section.
    fn rows_at(&self, layout: &Layout<'_>) -> Option<usize> {
        let at = layout.fres.start.checked_add(usize::try_from(self.rows_offset).ok()?)?;
        (at <= layout.fres.end).then_some(at)
    }
}

/// Reads an entry. Returns `None` only for an index that does not exist.
pub(super) fn read_index(layout: &Layout<'_>, address: u64, index: u32) -> Option<IndexEntry> {
    if index >= layout.num_fdes {
        return None;
    }
    let offset = layout.fdes_at.checked_add((index as usize).checked_mul(layout.version.fde_size())?)?;
    let clause = Clause::FdeIndex;
    let bytes = layout.bytes;
    let (relative, behind) = match layout.version {
        Version::V1 | Version::V2 => (i64::from(bytes.u32(offset, clause).ok()?.cast_signed()), offset + 4),
        Version::V3 => (bytes.u64(offset, clause).ok()?.cast_signed(), offset + 8),
    };
    let origin = if layout.start_is_pcrel() { address.wrapping_add(offset as u64) } else { address };
    Some(IndexEntry {
        index,
        offset,
        start: origin.wrapping_add_signed(relative),
        size: bytes.u32(behind, clause).ok()?,
        rows_offset: bytes.u32(behind + 4, clause).ok()?,
    })
}

/// The rest of an FDE: from the FDE itself, or from its attribute (version 3).
#[derive(Clone, Copy)]
pub(super) struct Attributes {
    pub(super) num_rows: u32,
    info: u8,
    /// The offset of the info byte.
    info_at: usize,
    info2: u8,
    /// Size of the repeated block, and its offset; version 1 has none.
    rep_size: Option<(u8, usize)>,
    /// The offset of two bytes that mean nothing, which only version 2 has.
    padding_at: Option<usize>,
    /// The offset of the first row.
    pub(super) rows_at: usize,
}

impl Attributes {
    fn fre_type(&self) -> Option<FreType> {
        match self.info & 0xf {
            SFRAME_FRE_TYPE_ADDR1 => Some(FreType::Addr1),
            SFRAME_FRE_TYPE_ADDR2 => Some(FreType::Addr2),
            SFRAME_FRE_TYPE_ADDR4 => Some(FreType::Addr4),
            _ => None,
        }
    }

    fn fde_type(&self) -> Option<FdeType> {
        match self.info2 & 0x1f {
            SFRAME_FDE_TYPE_DEFAULT => Some(FdeType::Default),
            SFRAME_FDE_TYPE_FLEX => Some(FdeType::Flex),
            _ => None,
        }
    }

    fn pc_type(&self) -> PcType {
        if (self.info >> 4) & 1 == SFRAME_FDE_PCTYPE_MASK { PcType::Mask } else { PcType::Inc }
    }
}

/// Returns `None` if they do not fit the FRE sub-section, or if the row data does not start
/// there.
fn read_attributes(layout: &Layout<'_>, entry: &IndexEntry) -> Option<Attributes> {
    let data = entry.rows_at(layout)?;
    match layout.version {
        Version::V1 | Version::V2 => {
            let (bytes, offset, clause) = (layout.bytes, entry.offset, Clause::FdeIndex);
            let rep_size = if layout.version.has_rep_size() {
                Some((bytes.u8(offset + 17, clause).ok()?, offset + 17))
            } else {
                None
            };
            Some(Attributes {
                num_rows: bytes.u32(offset + 12, clause).ok()?,
                info: bytes.u8(offset + 16, clause).ok()?,
                info_at: offset + 16,
                info2: SFRAME_FDE_TYPE_DEFAULT,
                rep_size,
                padding_at: rep_size.map(|(_, at)| at + 1),
                rows_at: data,
            })
        }
        Version::V3 => {
            let (bytes, clause) = (layout.bytes.until(layout.fres.end), Clause::FdeAttribute);
            Some(Attributes {
                num_rows: u32::from(bytes.u16(data, clause).ok()?),
                info: bytes.u8(data + 2, clause).ok()?,
                info_at: data + 2,
                info2: bytes.u8(data + 3, clause).ok()?,
                rep_size: Some((bytes.u8(data + 4, clause).ok()?, data + 4)),
                padding_at: None,
                rows_at: data + V3_FDE_ATTR_SIZE,
            })
        }
    }
}

/// What is known about a function's rows.
pub(super) enum Rows {
    /// Not even their number.
    Unknown,
    Some {
        count: u32,
        /// All of them could be read.
        complete: bool,
    },
}

/// Checks one FDE with its rows. `budget` is the amount of row data that may still be read, in
/// bytes.
pub(super) fn check(
    layout: &Layout<'_>,
    entry: &IndexEntry,
    linked: bool,
    budget: &mut usize,
    out: &mut Reporter<'_>,
) -> Rows {
    if entry.size == 0 {
        let start = if linked { Value::Hex(entry.start) } else { Value::Text("an address not yet known") };
        out.report(&rules::FDE_EMPTY, entry.place(), [start]);
    }
    let place = entry.place();
    check_code(layout, entry, linked, out);
    let Some(data) = entry.rows_at(layout) else {
        let field = entry.offset + layout.version.start_size() + 4;
        let len = Value::Number(i64::try_from(layout.fres.len()).unwrap_or(i64::MAX));
        out.report(
            &rules::ROWS_OFFSET,
            place.with_offset(field),
            [Value::Hex(entry.rows_offset.into()), len],
        );
        return Rows::Unknown;
    };
    let Some(attributes) = read_attributes(layout, entry) else {
        let left = Value::Number(i64::try_from(layout.fres.end - data).unwrap_or(i64::MAX));
        out.report(&rules::ATTRIBUTE_TRUNCATED, place.with_offset(data), [left]);
        return Rows::Unknown;
    };
    check_info(layout, &attributes, place, out);
    check_block(entry, &attributes, linked, out);
    check_no_rows(layout, &attributes, place, out);
    if let Some(at) = attributes.padding_at
        && let Ok(padding @ 1..) = layout.bytes.u16(at, Clause::FdeIndex)
    {
        out.report(&rules::PADDING, place.with_offset(at), [Value::Hex(padding.into())]);
    }
    let count = attributes.num_rows;
    let (Some(fre_type), Some(fde_type)) = (attributes.fre_type(), attributes.fde_type()) else {
        // The boundaries of the rows are unknown.
        return Rows::Some { count, complete: false };
    };
    if *budget == 0 {
        return Rows::Some { count, complete: false };
    }
    let function = Function { entry, attributes, fre_type, fde_type };
    let (end, complete) = function.check_rows(layout, out);
    *budget = budget.saturating_sub(end - attributes.rows_at);
    if *budget == 0 {
        // Reported only once: the budget stays spent.
        out.say(&rules::ROWS_UNCHECKED, place);
    }
    Rows::Some { count, complete }
}

/// Checks the code of a function: that it is whole instructions, and in the address space.
fn check_code(layout: &Layout<'_>, entry: &IndexEntry, linked: bool, out: &mut Reporter<'_>) {
    let place = entry.place();
    if linked && entry.start.checked_add(u64::from(entry.size.saturating_sub(1))).is_none() {
        out.report(&rules::FUNCTION_WRAPS, place, [Value::Hex(entry.start), Value::from(entry.size)]);
    }
    let Some(abi) = layout.abi else { return };
    let alignment = abi.instruction_alignment();
    if linked && !entry.start.is_multiple_of(alignment.into()) {
        out.report(&rules::START_ALIGNMENT, place, [Value::Hex(entry.start), Value::Text(abi.name())]);
    }
    if !entry.size.is_multiple_of(alignment) {
        out.report(&rules::SIZE_ALIGNMENT, place, [Value::from(entry.size), Value::Text(abi.name())]);
    }
}

fn check_info(layout: &Layout<'_>, attributes: &Attributes, place: Place, out: &mut Reporter<'_>) {
    let info = attributes.info;
    let place = place.with_offset(attributes.info_at);
    if attributes.fre_type().is_none() {
        out.report(&rules::FRE_TYPE, place, [info & 0xf]);
    }
    let unused = info & if layout.version.marks_signal_frames() { 0x40 } else { 0xc0 };
    if unused != 0 {
        out.report(&rules::INFO_BITS, place, [Value::Hex(unused.into())]);
    }
    if layout.version.marks_signal_frames() && info & 0x80 != 0 {
        out.say(&rules::SIGNAL, place);
    }
    if (info >> 5) & 1 == SFRAME_AARCH64_PAUTH_KEY_B {
        match layout.abi {
            Some(abi) if !layout.signs_return_addresses() => {
                out.report(&rules::PAUTH_KEY, place, [abi.name()])
            }
            Some(_) if !layout.version.has_pauth_key() => out.say(&rules::PAUTH_KEY_V1, place),
            _ => {}
        }
    }
    let place = place.with_offset(attributes.info_at + 1);
    if attributes.fde_type().is_none() {
        out.report(&rules::FDE_TYPE, place, [attributes.info2 & 0x1f]);
    }
    let unused = attributes.info2 & 0xe0;
    if unused != 0 {
        out.report(&rules::INFO2_BITS, place, [Value::Hex(unused.into())]);
    }
}

/// The repeated block of a mask FDE (2.3.3.1).
fn check_block(entry: &IndexEntry, attributes: &Attributes, linked: bool, out: &mut Reporter<'_>) {
    let Some((rep_size, at)) = attributes.rep_size else { return };
    let place = entry.place().with_offset(at);
    match (attributes.pc_type(), u64::from(rep_size)) {
        (PcType::Inc, 0) => {}
        (PcType::Inc, _) => out.report(&rules::REP_SIZE_UNUSED, place, [rep_size]),
        (PcType::Mask, 0) => out.say(&rules::REP_SIZE_ZERO, place),
        (PcType::Mask, block) => {
            if u64::from(entry.size) % block != 0 {
                let values = [Value::from(entry.size), Value::from(rep_size)];
                out.report(&rules::REP_SIZE_REMAINDER, place, values);
            }
            if linked && !entry.start.is_multiple_of(block) {
                let values = [Value::Hex(entry.start), Value::from(rep_size)];
                out.report(&rules::MASK_START, place, values);
            }
        }
    }
}

fn check_no_rows(layout: &Layout<'_>, attributes: &Attributes, place: Place, out: &mut Reporter<'_>) {
    if attributes.num_rows > 0 {
        return;
    }
    match (layout.version.marks_outermost_functions(), attributes.fde_type()) {
        (false, _) => out.say(&rules::NO_ROWS, place),
        (true, Some(FdeType::Default)) => out.say(&rules::OUTERMOST, place),
        (true, Some(FdeType::Flex)) => out.say(&rules::FLEX_NO_ROWS, place),
        (true, None) => {}
    }
}

/// A function whose rows can be read.
pub(super) struct Function<'f> {
    entry: &'f IndexEntry,
    attributes: Attributes,
    fre_type: FreType,
    pub(super) fde_type: FdeType,
}

impl Function<'_> {
    /// First offset past what rows can cover, and the name of what ends there.
    fn end(&self) -> (u32, &'static str) {
        match (self.attributes.pc_type(), self.attributes.rep_size) {
            (PcType::Mask, Some((rep_size, _))) => (rep_size.into(), "repeated block"),
            _ => (self.entry.size, "function"),
        }
    }

    /// Checks the rows. Returns the end of the rows that could be read, and whether these are
    /// all.
    fn check_rows(&self, layout: &Layout<'_>, out: &mut Reporter<'_>) -> (usize, bool) {
        let bytes = layout.bytes.until(layout.fres.end);
        let (end, what) = self.end();
        let mut at = self.attributes.rows_at;
        let mut previous: Option<Fre> = None;
        let mut max_start = 0;
        let mut needless = self.fde_type == FdeType::Flex;
        for index in 0..self.attributes.num_rows {
            let place = Place { offset: at, row: Some(index), ..self.entry.place() };
            let row = match fre::read(bytes, at, self.fre_type) {
                Ok(row) => row,
                Err(fre::Fault::Truncated) => {
                    let left = self.attributes.num_rows - index;
                    out.report(&rules::ROW_TRUNCATED, place, [left]);
                    return (at, false);
                }
                Err(fre::Fault::WordSize { at: info_at }) => {
                    out.say(&rules::WORD_SIZE, place.with_offset(info_at));
                    return (at, false);
                }
            };
            let start = Value::Hex(row.start.into());
            match &previous {
                None if row.start != 0 => out.report(&rules::FIRST_ROW, place, [start]),
                Some(previous) if row.start < previous.start => {
                    out.report(&rules::ROWS_UNORDERED, place, [start, Value::Hex(previous.start.into())]);
                }
                Some(previous) if row.start == previous.start => {
                    out.report(&rules::ROWS_EQUAL_START, place, [start]);
                }
                Some(previous) if row.says_the_same_as(previous) => {
                    out.report(&rules::ROWS_EQUAL, place, [start]);
                }
                _ => {}
            }
            // In an empty function or block every row is outside, which is reported already.
            if row.start >= end && end > 0 && !self.start_is_mask() {
                let values = [start, Value::Text(what), Value::Hex(end.into())];
                out.report(&rules::ROW_OUTSIDE, place, values);
            }
            if let Some(abi) = layout.abi.filter(|abi| !row.start.is_multiple_of(abi.instruction_alignment()))
                && !self.start_is_mask()
            {
                out.report(&rules::ROW_ALIGNMENT, place, [start, Value::Text(abi.name())]);
            }
            needless &= row.check(layout, self.fde_type, place, out);
            max_start = row.start.max(max_start);
            at = row.end;
            previous = Some(row);
        }
        if previous.is_some() {
            self.check_fre_type(max_start, end, out);
        }
        if needless && previous.is_some() {
            out.report(&rules::FLEX_NEEDLESS, self.entry.place(), [self.attributes.num_rows]);
        }
        (at, true)
    }

    /// Returns whether row starts are masks themselves (version 1, 1.3.2).
    fn start_is_mask(&self) -> bool {
        self.attributes.pc_type() == PcType::Mask && self.attributes.rep_size.is_none()
    }

    /// Checks the width of row starts (2.3.3.3). GNU as chooses it by the function's size, LLVM
    /// by the last row; it is too wide only if neither would choose it.
    fn check_fre_type(&self, max_start: u32, end: u32, out: &mut Reporter<'_>) {
        let width = self.fre_type.width();
        let by_size = width_of(self.entry.size);
        let needed = by_size.max(width_of(max_start));
        let place = self.entry.place().with_offset(self.attributes.info_at);
        if needed < width {
            let values = [width, needed].map(|width| Value::Number(width as i64));
            out.report(&rules::FRE_TYPE_WIDE, place, values);
        }
        if width_of(end.saturating_sub(1)) > width {
            out.report(&rules::FRE_TYPE_NARROW, place, [Value::Number(width as i64), Value::from(end)]);
        }
    }
}

/// Returns the number of bytes of a row start.
const fn width_of(start: u32) -> usize {
    match start {
        0..=0xff => 1,
        0x100..=0xffff => 2,
        _ => 4,
    }
}

/// Returns the bytes of an FDE's row data, with the attribute of version 3, or `None` if they
/// are not known. `budget` is the number of bytes that may still be read.
pub(super) fn row_extent(
    layout: &Layout<'_>,
    entry: &IndexEntry,
    budget: &mut usize,
) -> Option<Range<usize>> {
    let attributes = read_attributes(layout, entry)?;
    let fre_type = attributes.fre_type()?;
    let bytes = layout.bytes.until(layout.fres.end);
    let mut at = attributes.rows_at;
    for _ in 0..attributes.num_rows {
        let end = fre::read(bytes, at, fre_type).ok()?.end;
        *budget = budget.checked_sub(end - at)?;
        at = end;
    }
    Some(entry.rows_at(layout)?..at)
}
