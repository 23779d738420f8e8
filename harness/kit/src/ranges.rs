//! Sets of addresses, as sorted ranges.

use std::ops::Range;

/// Returns the ranges sorted, without empty ones, merged if they overlap or meet.
pub fn merge(mut ranges: Vec<Range<u64>>) -> Vec<Range<u64>> {
    ranges.retain(|range| !range.is_empty());
    ranges.sort_unstable_by_key(|range| range.start);
    ranges.dedup_by(|range, last| {
        let meets = range.start <= last.end;
        if meets {
            last.end = last.end.max(range.end);
        }
        meets
    });
    ranges
}

/// Whether one of these sorted ranges has an address of another range.
pub fn overlap(ranges: &[Range<u64>], other: &Range<u64>) -> bool {
    let next = ranges.partition_point(|range| range.end <= other.start);
    ranges.get(next).is_some_and(|range| range.start < other.end)
}

/// Returns the one of these sorted ranges that contains an address.
pub fn position(ranges: &[Range<u64>], address: u64) -> Option<&Range<u64>> {
    let after = ranges.partition_point(|range| range.start <= address);
    ranges.get(after.checked_sub(1)?).filter(|range| address < range.end)
}
