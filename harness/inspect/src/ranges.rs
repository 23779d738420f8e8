//! Sets of addresses, as sorted ranges.

use std::ops::Range;

/// Returns the ranges sorted, without empty ones, merged if they overlap or meet.
pub fn merge(mut ranges: Vec<Range<u64>>) -> Vec<Range<u64>> {
    ranges.retain(|range| !range.is_empty());
    ranges.sort_by_key(|range| range.start);
    let mut merged: Vec<Range<u64>> = Vec::with_capacity(ranges.len());
    for range in ranges {
        match merged.last_mut() {
            Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
            _ => merged.push(range),
        }
    }
    merged
}

/// Returns the one of these sorted ranges that contains an address.
pub fn position(ranges: &[Range<u64>], address: u64) -> Option<&Range<u64>> {
    let after = ranges.partition_point(|range| range.start <= address);
    ranges.get(after.checked_sub(1)?).filter(|range| address < range.end)
}
