//! The preamble and the header (2.1, 2.2).

use core::ops::Range;

use crate::abi::{Abi, ByteOrder};
use crate::constants::{
    HEADER_SIZE, SFRAME_CFA_FIXED_RA_INVALID, SFRAME_F_FDE_FUNC_START_PCREL, SFRAME_F_FDE_SORTED,
    SFRAME_F_FRAME_POINTER, SFRAME_MAGIC,
};
use crate::error::{Clause, Error};
use crate::lint::catalogue as rules;
use crate::lint::finding::Value;
use crate::lint::layout::Layout;
use crate::lint::reporter::{Place, Reporter};
use crate::read::{Bytes, Flags, Header, Section};
use crate::version::Version;

/// Checks the header. Returns `None` if nothing after it can be found.
pub(super) fn check<'a>(data: &'a [u8], out: &mut Reporter<'_>) -> Option<Layout<'a>> {
    match read(data, out) {
        Ok(layout) => layout,
        Err(_) => {
            out.report(&rules::HEADER_TRUNCATED, Place::at(0), [number(HEADER_SIZE), number(data.len())]);
            None
        }
    }
}

fn read<'a>(data: &'a [u8], out: &mut Reporter<'_>) -> Result<Option<Layout<'a>>, Error> {
    let magic = Bytes::new(data, ByteOrder::Little).u16(0, Clause::Preamble)?;
    let order = if magic == SFRAME_MAGIC {
        ByteOrder::Little
    } else if magic.swap_bytes() == SFRAME_MAGIC {
        ByteOrder::Big
    } else {
        out.report(&rules::MAGIC, Place::at(0), [Value::Hex(magic.into())]);
        return Ok(None);
    };
    let bytes = Bytes::new(data, order);
    let version = bytes.u8(2, Clause::Preamble)?;
    let Some(version) = Version::from_number(version) else {
        out.report(&rules::VERSION, Place::at(2), [version]);
        return Ok(None);
    };
    // The complete header has to be present before parts of it are judged.
    bytes.u32(HEADER_SIZE - 4, Clause::Header)?;
    if version.is_obsolete() {
        out.say(&rules::OBSOLETE, Place::at(2));
    }
    let flags = bytes.u8(3, Clause::Preamble)?;
    check_flags(flags, version, out);
    let abi = bytes.u8(4, Clause::Header)?;
    let abi = check_abi(abi, version, order, out);
    check_fixed_offsets(bytes, abi, out)?;

    let auxhdr_len = bytes.u8(7, Clause::Header)?;
    let header_end = HEADER_SIZE + usize::from(auxhdr_len);
    if auxhdr_len != 0 {
        out.report(&rules::AUXILIARY_HEADER, Place::at(7), [auxhdr_len]);
        if header_end > data.len() {
            let values = [number(header_end), number(data.len())];
            out.report(&rules::HEADER_TRUNCATED, Place::at(7), values);
        }
    }
    let word = |offset: usize| bytes.u32(offset, Clause::Header);
    let (num_fdes, num_fres, fre_len, fdeoff, freoff) =
        (word(8)?, word(12)?, word(16)?, word(20)?, word(24)?);
    if num_fdes == 0 {
        out.say(&rules::NO_FDES, Place::at(8));
    }

    let header_end = header_end as u64;
    let fdes_start = header_end + u64::from(fdeoff);
    let fdes = fdes_start..fdes_start + u64::from(num_fdes) * version.fde_size() as u64;
    let fres_start = header_end + u64::from(freoff);
    let fres = fres_start..fres_start + u64::from(fre_len);
    check_tiles(header_end, &fdes, &fres, data.len() as u64, out);
    check_rest(data, fdes.end.max(fres.end), out);
    if version.fde_size().is_multiple_of(4) && num_fdes > 0 && fdes.start % 4 != 0 {
        out.report(&rules::FDE_ALIGNMENT, Place::at(20), [Value::Hex(fdes.start)]);
    }

    let within = |offset: u64| usize::try_from(offset).map_or(data.len(), |offset| offset.min(data.len()));
    let fdes_at = within(fdes.start);
    let fitting = (data.len() - fdes_at) / version.fde_size();
    Ok(Some(Layout {
        bytes,
        version,
        flags: Flags(flags),
        abi,
        num_fres,
        num_fdes: u32::try_from(fitting).map_or(num_fdes, |fitting| fitting.min(num_fdes)),
        fdes_at,
        fres: within(fres.start)..within(fres.end),
    }))
}

fn check_flags(flags: u8, version: Version, out: &mut Reporter<'_>) {
    let place = Place::at(3);
    let known = SFRAME_F_FDE_SORTED | SFRAME_F_FRAME_POINTER | SFRAME_F_FDE_FUNC_START_PCREL;
    if flags & !known != 0 {
        out.report(&rules::UNKNOWN_FLAGS, place, [Value::Hex((flags & !known).into())]);
    }
    let unused = flags & !version.flags();
    if unused & SFRAME_F_FRAME_POINTER != 0 {
        out.say(&rules::FRAME_POINTER_FLAG, place);
    }
    if unused & SFRAME_F_FDE_FUNC_START_PCREL != 0 {
        out.say(&rules::PCREL_FLAG, place);
    }
}

fn check_abi(id: u8, version: Version, order: ByteOrder, out: &mut Reporter<'_>) -> Option<Abi> {
    let abi = Abi::from_id(id);
    match abi {
        None => out.report(&rules::ABI, Place::at(4), [id]),
        Some(abi) => {
            if abi.byte_order() != order {
                out.report(&rules::BYTE_ORDER, Place::at(0), [abi.name()]);
            }
            if !version.has_abi(abi) {
                out.report(&rules::ABI_TOO_NEW, Place::at(4), [abi.name()]);
            }
        }
    }
    abi
}

fn check_fixed_offsets(bytes: Bytes<'_>, abi: Option<Abi>, out: &mut Reporter<'_>) -> Result<(), Error> {
    let fixed_fp = bytes.u8(5, Clause::Header)?.cast_signed();
    if fixed_fp != 0 {
        out.report(&rules::FIXED_FP, Place::at(5), [i64::from(fixed_fp)]);
    }
    let fixed_ra = bytes.u8(6, Clause::Header)?.cast_signed();
    if let Some(abi) = abi {
        let expected = abi.fixed_ra_offset().unwrap_or(SFRAME_CFA_FIXED_RA_INVALID);
        if fixed_ra != expected {
            let values =
                [Value::Number(fixed_ra.into()), Value::Text(abi.name()), Value::Number(expected.into())];
            out.report(&rules::FIXED_RA, Place::at(6), values);
        }
    }
    Ok(())
}

/// Checks that header, FDEs and FREs follow one another and fill the section.
fn check_tiles(header_end: u64, fdes: &Range<u64>, fres: &Range<u64>, len: u64, out: &mut Reporter<'_>) {
    for (name, range, field) in [("FDE", fdes, 20), ("FRE", fres, 24)] {
        if range.end > len {
            let values = [Value::Text(name), Value::Hex(range.end), Value::Hex(len)];
            out.report(&rules::OUT_OF_BOUNDS, Place::at(field), values);
        }
    }
    if fdes.start > header_end {
        let gap = Value::Number((fdes.start - header_end).cast_signed());
        out.report(&rules::SUB_SECTION_GAP, Place::at(20), [gap, Value::Text("FDE")]);
    }
    if fres.start < fdes.end {
        let values = [Value::Hex(fres.start), Value::Hex(fdes.end)];
        out.report(&rules::SUB_SECTIONS_OVERLAP, Place::at(24), values);
    } else if fres.start > fdes.end {
        let gap = Value::Number((fres.start - fdes.end).cast_signed());
        out.report(&rules::SUB_SECTION_GAP, Place::at(24), [gap, Value::Text("FRE")]);
    }
}

/// Checks the bytes after the last sub-section, which ends at `end`.
fn check_rest(data: &[u8], end: u64, out: &mut Reporter<'_>) {
    let Some(rest) = usize::try_from(end).ok().filter(|end| *end < data.len()) else { return };
    let first = Header::parse(data).ok();
    let mut at = rest;
    // The offset of the first header, how many there are, and the FDEs that they count.
    let mut further: Option<(usize, i64, i64)> = None;
    while let Some(offset) = first.and_then(|first| header_after(data, at, &first)) {
        let fdes = Header::parse(&data[offset..]).map_or(0, |header| i64::from(header.num_fdes));
        let (start, headers, all) = further.unwrap_or((offset, 0, 0));
        further = Some((start, headers + 1, all + fdes));
        let whole = Section::parse(&data[offset..], 0).map_or(0, |section| section.end());
        at = offset + whole.max(1);
    }
    match further {
        Some((start, headers, fdes)) => {
            let values = [Value::Number(headers), Value::Number(fdes)];
            out.report(&rules::CONCATENATED, Place::at(start), values);
        }
        None => {
            out.report(&rules::TRAILING_BYTES, Place::at(rest), [number(data.len() - rest)]);
        }
    }
}

/// The offset of the next header, from `at` on, of a section for the same ABI: its preamble, and its ABI if it has not been
/// cut before that.
fn header_after(data: &[u8], at: usize, first: &Header) -> Option<usize> {
    let order = first.abi.byte_order();
    (at..data.len()).find(|start| {
        let bytes = Bytes::new(&data[*start..], order);
        let is_preamble = bytes.u16(0, Clause::Preamble) == Ok(SFRAME_MAGIC)
            && bytes.u8(2, Clause::Preamble).is_ok_and(|version| Version::from_number(version).is_some());
        is_preamble && bytes.u8(4, Clause::Header).map_or(true, |abi| Abi::from_id(abi) == Some(first.abi))
    })
}

fn number(value: usize) -> Value {
    Value::Number(i64::try_from(value).unwrap_or(i64::MAX))
}
