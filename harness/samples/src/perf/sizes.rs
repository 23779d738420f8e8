//! Whether the sizes that `perf.data` gives are those of what is in the file (`tools/perf/Documentation/perf.data-file-format.txt`
//! of Linux): the library that reads it believes them, and asks for that much memory.

use std::ops::Range;

/// The size of a whole header, and of that of a recording that was written to a pipe.
const HEADER: u64 = 104;
const PIPE_HEADER: u64 = 16;
/// Where the header has the size of an attribute, its sections, and the bits of features.
const ATTRIBUTE: u64 = 16;
const SECTIONS: [(u64, &str); 3] = [(24, "attributes"), (40, "data"), (56, "event types")];
const FEATURES: u64 = 72;
/// `HEADER_ARCH` and `HEADER_EVENT_DESC` of Linux, whose contents have sizes themselves.
const ARCH: u64 = 6;
const EVENTS: u64 = 12;

/// What is at an offset.
struct Bytes<'b> {
    all: &'b [u8],
    is_big: bool,
}

impl Bytes<'_> {
    fn number<const N: usize>(&self, at: u64) -> Option<u64> {
        let bytes: [u8; N] = *self.all.get(usize::try_from(at).ok()?..)?.first_chunk()?;
        let add = |number: u64, byte: &u8| number << 8 | u64::from(*byte);
        Some(if self.is_big { bytes.iter().fold(0, add) } else { bytes.iter().rev().fold(0, add) })
    }

    /// The part of the file that an offset and a size give.
    fn section(&self, at: u64) -> Option<Range<u64>> {
        let (start, size) = (self.number::<8>(at)?, self.number::<8>(at.checked_add(8)?)?);
        let end = start.checked_add(size).filter(|end| *end <= self.all.len() as u64)?;
        Some(start..end)
    }

    /// Where a text with its length ends.
    fn text(&self, at: u64) -> Option<u64> {
        at.checked_add(4)?.checked_add(self.number::<4>(at)?)
    }

    /// Where descriptions of events end.
    fn events(&self, section: &Range<u64>) -> Option<u64> {
        let (count, attribute) = (self.number::<4>(section.start)?, self.number::<4>(section.start + 4)?);
        (0..count).try_fold(section.start + 8, |at, _| {
            let ids = at.checked_add(attribute)?;
            let end = self.text(ids.checked_add(4)?)?.checked_add(8 * self.number::<4>(ids)?)?;
            (end <= section.end).then_some(end)
        })
    }
}

/// Says which size is wrong, or that it is a recording of another kind.
pub(super) fn check(bytes: &[u8]) -> Result<(), String> {
    let all = Bytes { all: bytes, is_big: bytes.starts_with(b"2ELIFREP") };
    let short = || "it ends within its header".to_owned();
    if all.number::<8>(8).ok_or_else(short)? == PIPE_HEADER {
        return Err("it was written to a pipe: perf record --output FILE".to_owned());
    }
    all.number::<8>(HEADER - 8).ok_or_else(short)?;
    if all.number::<8>(ATTRIBUTE) == Some(0) {
        return Err("its attributes have no size".to_owned());
    }
    let mut data = 0..0;
    for (at, what) in SECTIONS {
        let section = all.section(at).ok_or_else(|| format!("its {what} are not in the file"))?;
        match what {
            "data" => data = section,
            "event types" if !section.is_empty() => {
                return Err("its events are described in a form that perf does not write any more".to_owned());
            }
            _ => {}
        }
    }
    let bits = (0..256).filter(|bit| {
        let word = all.number::<8>(FEATURES + bit / 64 * 8).unwrap_or_default();
        word >> (bit % 64) & 1 == 1
    });
    let mut left = bytes.len() as u64;
    for (index, bit) in (0..).zip(bits) {
        let feature = || format!("what it says of feature {bit} is not in the file");
        let section = all.section(data.end + 16 * index).ok_or_else(feature)?;
        let end = match bit {
            ARCH => all.text(section.start),
            EVENTS => all.events(&section),
            _ => Some(section.end),
        };
        end.filter(|end| *end <= section.end).ok_or_else(feature)?;
        let overlaps = || "its features are larger than the file together".to_owned();
        left = left.checked_sub(section.end - section.start).ok_or_else(overlaps)?;
    }
    Ok(())
}
