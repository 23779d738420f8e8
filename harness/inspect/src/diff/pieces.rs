//! Which FDE of each kind applies where.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::Range;

use sframe_engine::{Fde, InstructionPointer, Section};

use sframe_elf::cfi::CallFrameInfo;
use sframe_elf::merge_faults::MergeFault;

/// A range of addresses to which the same FDEs apply, by index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Piece {
    pub(super) range: Range<u64>,
    /// Index into [`Functions::fdes`].
    pub(super) sframe: Option<usize>,
    /// Index into the FDEs of the call frame information.
    pub(super) cfi: Option<usize>,
}

/// The functions of a section.
#[derive(Debug, Default)]
pub(super) struct Functions {
    /// Sorted by address. Unreadable ones are left out.
    pub(super) fdes: Vec<Fde>,
}

impl Functions {
    /// Reads those that a linker has not spoilt.
    pub(super) fn sound(section: &Section<'_>, faults: &[MergeFault]) -> Self {
        let is_sound = |fde: &Fde| faults.iter().all(|fault| !fault.spoilt.contains(&fde.index));
        let mut fdes: Vec<Fde> = section.fdes().flatten().filter(is_sound).collect();
        fdes.sort_by_key(|fde| (fde.start, fde.index));
        Self { fdes }
    }
}

/// Returns everything that either kind covers, sorted by address.
///
/// If FDEs overlap, the one that look-ups find applies. `is_linked` is whether the
/// order of the section's FDEs is already meaningful.
pub(super) fn pieces(
    section: &Section<'_>,
    functions: &Functions,
    cfi: &CallFrameInfo,
    is_linked: bool,
) -> Vec<Piece> {
    let end = |fde: &Fde| fde.start.saturating_add(fde.size.into());
    let ranges = functions.fdes.iter().map(|fde| fde.start..end(fde));
    let sframe = if is_linked && section.header().flags.sorted() {
        looked_up(section, functions, ranges)
    } else {
        // Look-ups try them in order, and take the first.
        let rank = |position: usize| Reverse(functions.fdes.get(position).map_or(0, |fde| fde.index));
        flatten(ranges, rank)
    };
    // The FDE that starts last, and among several the first.
    let fdes = cfi.fdes();
    let rank = |position: usize| (fdes.get(position).map_or(0, |fde| fde.range.start), Reverse(position));
    let cfi = flatten(fdes.iter().map(|fde| fde.range.clone()), rank);
    merge(&sframe, &cfi)
}

type Segment = (Range<u64>, usize);

/// Returns what the engine finds between adjacent boundaries.
fn looked_up(
    section: &Section<'_>,
    functions: &Functions,
    ranges: impl Iterator<Item = Range<u64>>,
) -> Vec<Segment> {
    let mut boundaries: Vec<u64> = ranges.flat_map(|range| [range.start, range.end]).collect();
    boundaries.sort_unstable();
    boundaries.dedup();
    let mut segments = Vec::new();
    for (start, end) in boundaries.iter().zip(boundaries.iter().skip(1)) {
        let Ok(Some(fde)) = section.lookup_fde(InstructionPointer(*start)) else { continue };
        let position =
            functions.fdes.binary_search_by_key(&(fde.start, fde.index), |fde| (fde.start, fde.index));
        segments.extend(position.ok().map(|position| (*start..*end, position)));
    }
    segments
}

/// Makes ranges, which are sorted by start, disjoint: where several overlap, the
/// one with the highest rank applies.
fn flatten<R: Ord>(ranges: impl Iterator<Item = Range<u64>>, rank: impl Fn(usize) -> R) -> Vec<Segment> {
    let mut segments: Vec<Segment> = Vec::new();
    let mut open: BinaryHeap<(R, u64, usize)> = BinaryHeap::new();
    let mut at = 0;
    // Emits the parts of open ranges before an address.
    let mut advance = |open: &mut BinaryHeap<(R, u64, usize)>, to: u64| {
        while at < to {
            let Some((_, end, position)) = open.peek() else { break };
            let (end, position) = (*end, *position);
            if end <= at {
                open.pop();
                continue;
            }
            let stop = end.min(to);
            match segments.last_mut() {
                Some((last, same)) if *same == position && last.end == at => last.end = stop,
                _ => segments.push((at..stop, position)),
            }
            at = stop;
        }
        at = at.max(to);
    };
    for (position, range) in ranges.enumerate() {
        if range.is_empty() {
            continue;
        }
        advance(&mut open, range.start);
        open.push((rank(position), range.end, position));
    }
    advance(&mut open, u64::MAX);
    segments
}

fn merge(sframe: &[Segment], cfi: &[Segment]) -> Vec<Piece> {
    let mut boundaries: Vec<u64> =
        sframe.iter().chain(cfi).flat_map(|(range, _)| [range.start, range.end]).collect();
    boundaries.sort_unstable();
    boundaries.dedup();
    let (mut sframe, mut cfi) = (sframe.iter().peekable(), cfi.iter().peekable());
    let mut pieces = Vec::new();
    for (start, end) in boundaries.iter().zip(boundaries.iter().skip(1)) {
        while sframe.next_if(|(range, _)| range.end <= *start).is_some() {}
        while cfi.next_if(|(range, _)| range.end <= *start).is_some() {}
        let at = |segment: Option<&&Segment>| {
            segment.filter(|(range, _)| range.contains(start)).map(|(_, position)| *position)
        };
        let piece = Piece { range: *start..*end, sframe: at(sframe.peek()), cfi: at(cfi.peek()) };
        if piece.sframe.is_some() || piece.cfi.is_some() {
            pieces.push(piece);
        }
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_highest_rank_of_overlapping_ranges_counts() {
        let ranges = [0..100, 10..20, 10..30, 40..200, 60..70];
        let last = flatten(ranges.clone().into_iter(), |position| position);
        let expected = [(0..10, 0), (10..30, 2), (30..40, 0), (40..60, 3), (60..70, 4), (70..200, 3)];
        assert_eq!(last, expected);
        let first = flatten(ranges.into_iter(), Reverse);
        assert_eq!(first, [(0..100, 0), (100..200, 3)]);
    }

    #[test]
    fn each_piece_has_one_fde_on_either_side() {
        let pieces = merge(&[(0..10, 0), (20..40, 1)], &[(5..30, 7)]);
        let expected = [
            (0..5, Some(0), None),
            (5..10, Some(0), Some(7)),
            (10..20, None, Some(7)),
            (20..30, Some(1), Some(7)),
            (30..40, Some(1), None),
        ];
        assert_eq!(pieces, expected.map(|(range, sframe, cfi)| Piece { range, sframe, cfi }));
    }
}
