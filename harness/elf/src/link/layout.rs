//! Addresses and file offsets of what is loaded.

use object::elf::{PF_R, PF_W, PF_X, ProgramFlags};

/// The page size of the image.
pub(super) const PAGE: u64 = 0x1000;
/// The addresses that an image can have, in bytes.
const SPACE: u64 = 1 << 30;

/// Where sections are put.
#[derive(Clone, Copy, Debug)]
pub(super) struct Placement {
    /// The address of the first one.
    pub(super) base: u64,
    /// The distance between them.
    pub(super) gap: u64,
    /// Whether what only initialises has a place of its own, after the rest.
    pub(super) frees_init: bool,
}

impl Placement {
    /// From here, a gigabyte of code and data can be named in 31 bits, as code that is not position-independent does;
    /// it is far from small numbers, which could be mistaken for addresses. Functions of different sections never meet.
    pub(super) const PROGRAM: Self = Self { base: 1 << 30, gap: 16, frees_init: false };
}

/// A section that is loaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Part {
    pub(super) size: u64,
    pub(super) alignment: u64,
    /// Whether it has bytes in the file; else it is zeros.
    pub(super) has_content: bool,
    pub(super) is_code: bool,
    pub(super) is_writable: bool,
    /// Whether it is for initialising only.
    pub(super) is_init: bool,
}

/// Where the parts are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Layout {
    /// The address of each part and its offset in the file, by index; `None` if it is
    /// not loaded.
    pub(super) places: Vec<Option<Place>>,
    pub(super) segments: Vec<Segment>,
    /// The offset of the end of the last segment.
    pub(super) end: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) address: u64,
    pub(super) offset: u64,
}

/// Parts with the same permissions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Segment {
    pub(super) flags: ProgramFlags,
    pub(super) place: Place,
    pub(super) file_len: u64,
    pub(super) memory_len: u64,
}

/// Lays out the parts that are not `None`, after one page of headers, in a file of at
/// most `limit` bytes. Returns `None` if they do not fit.
pub(super) fn lay_out(parts: &[Option<Part>], placement: Placement, limit: u64) -> Option<Layout> {
    let Placement { base, gap, frees_init } = placement;
    let mut layout = Layout { places: vec![None; parts.len()], segments: Vec::new(), end: PAGE };
    let mut next = base;
    let kinds = [(true, false), (false, false), (false, true), (true, true)];
    let groups = [false, true].into_iter().flat_map(|is_init| kinds.map(|kind| (is_init, kind)));
    for (is_init, (is_code, is_writable)) in groups {
        let members: Vec<(usize, Part)> = parts
            .iter()
            .enumerate()
            .filter_map(|(index, part)| Some((index, (*part)?)))
            .filter(|(_, part)| (part.is_code, part.is_writable) == (is_code, is_writable))
            .filter(|(_, part)| (part.is_init && frees_init) == is_init)
            .collect();
        if members.is_empty() {
            continue;
        }
        let start = Place {
            address: next.checked_next_multiple_of(PAGE)?,
            offset: layout.end.checked_next_multiple_of(PAGE)?,
        };
        let (mut len, mut file_len) = (0_u64, 0);
        // The zeros of a segment come last.
        let by_content = |content| members.iter().filter(move |(_, part)| part.has_content == content);
        for (index, part) in by_content(true).chain(by_content(false)) {
            let unaligned = start.address.checked_add(len)?;
            let address = unaligned.checked_next_multiple_of(part.alignment.max(1))?;
            let distance = address - start.address;
            len = distance.checked_add(part.size)?;
            if part.has_content {
                file_len = len;
            }
            let offset = start.offset.checked_add(if part.has_content { distance } else { file_len })?;
            layout.places[*index] = Some(Place { address, offset });
            len = len.checked_add(gap)?;
        }
        layout.end = start.offset.checked_add(file_len)?;
        next = start.address.checked_add(len)?;
        if next - base > SPACE || layout.end > limit {
            return None;
        }
        let code = if is_code { PF_X } else { ProgramFlags(0) };
        let writable = if is_writable { PF_W } else { ProgramFlags(0) };
        let flags = PF_R | code | writable;
        layout.segments.push(Segment { flags, place: start, file_len, memory_len: len - gap });
    }
    Some(layout)
}
