//! The section as a whole, and the relations between its FDEs.

use core::ops::Range;

use crate::lint::catalogue as rules;
use crate::lint::fde::{self, IndexEntry, Rows};
use crate::lint::finding::{Finding, Value};
use crate::lint::header;
use crate::lint::layout::Layout;
use crate::lint::reporter::{Place, Reporter};

/// What is known about the addresses of a section.
#[derive(Clone, Copy, Debug)]
pub enum Linkage<'a> {
    /// The section is in a relocatable file. Start addresses are not final, so rules about them
    /// are not checked.
    Relocatable,
    /// Start addresses are final.
    Linked {
        /// The addresses of executable segments, ascending and disjoint; `None` if they are not
        /// known.
        executable: Option<&'a [Range<u64>]>,
    },
}

/// Lints a section that is loaded at `address`, and reports each finding: first about the
/// header, then about each FDE, then about relations between FDEs.
///
/// To find functions or row data that overlap, the FDEs need to be in another order than the
/// section's. For this, `scratch` should have one element for each FDE (`sfh_num_fdes`, or the
/// number that fits the section). If it is shorter, those rules are checked only if the section
/// has the required order.
///
/// Takes time proportional to the size of the section, except for sorting: row data that many
/// FDEs share is not read over and over again (see
/// [`ROWS_UNCHECKED`](crate::lint::catalogue::ROWS_UNCHECKED)). Never panics, whatever the
/// bytes.
pub fn lint(
    bytes: &[u8],
    address: u64,
    linkage: Linkage<'_>,
    scratch: &mut [u32],
    report: &mut dyn FnMut(Finding),
) {
    let mut out = Reporter { sink: report };
    let Some(layout) = header::check(bytes, &mut out) else { return };
    let mut scratch = scratch.get_mut(..layout.num_fdes as usize);
    let checked = check_fdes(&layout, address, linkage, &mut out);
    if checked.readable && checked.num_fres != u64::from(layout.num_fres) {
        let sum = Value::Number(i64::try_from(checked.num_fres).unwrap_or(i64::MAX));
        out.report(&rules::NUM_FRES, Place::at(12), [Value::from(layout.num_fres), sum]);
    }
    if let Linkage::Linked { .. } = linkage {
        let key = |index: u32| {
            let entry = fde::read_index(&layout, address, index);
            entry.map_or((0, 0), |entry| (entry.relative_to(address), entry.size))
        };
        if let Some(order) = Order::by(&mut scratch, layout.num_fdes, key) {
            check_functions_overlap(&layout, address, &order, &mut out);
        }
    }
    let key = |index: u32| fde::read_index(&layout, address, index).map_or(0, |entry| entry.rows_offset);
    if let Some(order) = Order::by(&mut scratch, layout.num_fdes, key) {
        check_row_data(&layout, address, &order, checked.complete, &mut out);
    }
}

/// The result of checking the FDEs.
struct Checked {
    /// The number of rows of every FDE could be read.
    readable: bool,
    /// The sum of these numbers.
    num_fres: u64,
    /// The extent of every FDE's row data is known.
    complete: bool,
}

fn check_fdes(layout: &Layout<'_>, address: u64, linkage: Linkage<'_>, out: &mut Reporter<'_>) -> Checked {
    let linked = matches!(linkage, Linkage::Linked { .. });
    if linked && layout.num_fdes > 1 && !layout.flags.sorted() {
        out.report(&rules::SORTED_FLAG, Place::at(3), [layout.num_fdes]);
    }
    let mut checked = Checked { readable: true, num_fres: 0, complete: true };
    let mut budget = row_budget(layout);
    let mut previous: Option<IndexEntry> = None;
    for index in 0..layout.num_fdes {
        let Some(entry) = fde::read_index(layout, address, index) else { break };
        if let Linkage::Linked { executable } = linkage {
            if let Some(previous) = previous.filter(|_| layout.flags.sorted())
                && entry.relative_to(address) < previous.relative_to(address)
            {
                let values = [Value::Hex(entry.start), Value::Hex(previous.start)];
                out.report(&rules::UNSORTED, entry.place(), values);
            }
            if let Some(executable) = executable {
                check_executable(&entry, executable, out);
            }
        }
        previous = Some(entry);
        match fde::check(layout, &entry, linked, &mut budget, out) {
            Rows::Unknown => (checked.readable, checked.complete) = (false, false),
            Rows::Some { count, complete } => {
                checked.num_fres += u64::from(count);
                checked.complete &= complete;
            }
        }
    }
    checked
}

/// The number of bytes of row data to read before rows that FDEs share are left unchecked.
/// Sections without shared rows need at most their size.
fn row_budget(layout: &Layout<'_>) -> usize {
    layout.fres.len().saturating_mul(4).saturating_add(1)
}

fn check_executable(entry: &IndexEntry, executable: &[Range<u64>], out: &mut Reporter<'_>) {
    let behind = executable.partition_point(|range| range.start <= entry.start);
    let segment = behind.checked_sub(1).and_then(|index| executable.get(index));
    match segment.filter(|segment| entry.start < segment.end) {
        None => out.report(&rules::START_NOT_EXECUTABLE, entry.place(), [Value::Hex(entry.start)]),
        Some(segment) if entry.end() > segment.end => {
            let values = [Value::Hex(entry.end()), Value::Hex(segment.end)];
            out.report(&rules::END_NOT_EXECUTABLE, entry.place(), values);
        }
        Some(_) => {}
    }
}

/// The FDEs in ascending order of a key.
enum Order<'s> {
    /// In the order of the section.
    Same(u32),
    Sorted(&'s [u32]),
}

impl<'s> Order<'s> {
    /// Returns `None` if there is no space to sort.
    fn by<K: Ord>(scratch: &'s mut Option<&mut [u32]>, count: u32, key: impl Fn(u32) -> K) -> Option<Self> {
        if (1..count).all(|index| key(index - 1) <= key(index)) {
            return Some(Self::Same(count));
        }
        let scratch = scratch.as_deref_mut()?;
        for (index, element) in (0..).zip(scratch.iter_mut()) {
            *element = index;
        }
        scratch.sort_unstable_by_key(|index| (key(*index), *index));
        Some(Self::Sorted(scratch))
    }

    fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        let (range, sorted) = match self {
            Self::Same(count) => (0..*count, &[][..]),
            Self::Sorted(sorted) => (0..0, *sorted),
        };
        range.chain(sorted.iter().copied())
    }
}

fn check_functions_overlap(layout: &Layout<'_>, address: u64, order: &Order<'_>, out: &mut Reporter<'_>) {
    // The function that reaches furthest so far.
    let mut furthest: Option<IndexEntry> = None;
    let end = |entry: &IndexEntry| entry.relative_to(address).saturating_add(entry.size.into());
    for entry in order.iter().filter_map(|index| fde::read_index(layout, address, index)) {
        if entry.size == 0 {
            continue;
        }
        if let Some(other) = furthest.filter(|other| entry.relative_to(address) < end(other)) {
            let values = [Value::Hex(entry.start), Value::from(other.index), Value::Hex(other.end())];
            out.report(&rules::FDES_OVERLAP, entry.place(), values);
        }
        if furthest.is_none_or(|other| end(&other) < end(&entry)) {
            furthest = Some(entry);
        }
    }
}

/// Checks that the FDEs' row data fills the FRE sub-section, each byte once. Gaps can be
/// determined only if the extent of all row data is known.
fn check_row_data(
    layout: &Layout<'_>,
    address: u64,
    order: &Order<'_>,
    mut complete: bool,
    out: &mut Reporter<'_>,
) {
    let mut budget = row_budget(layout);
    let (mut covered, mut owner) = (layout.fres.start, None);
    // Whether the last row data starts there too: that is data which several FDEs share.
    let mut last_start = None;
    let gap = |range: Range<usize>, complete: bool, out: &mut Reporter<'_>| {
        if complete && !range.is_empty() {
            let len = Value::Number(i64::try_from(range.len()).unwrap_or(i64::MAX));
            out.report(&rules::ROWS_UNUSED, Place::at(range.start), [len, Value::Hex(range.start as u64)]);
        }
    };
    for entry in order.iter().filter_map(|index| fde::read_index(layout, address, index)) {
        let Some(extent) = fde::row_extent(layout, &entry, &mut budget) else {
            complete = false;
            continue;
        };
        if extent.is_empty() {
            continue;
        }
        match owner {
            Some(owner) if extent.start < covered => {
                let values = [
                    Value::Hex(extent.start as u64),
                    Value::Number(i64::from(owner)),
                    Value::Hex(covered as u64),
                ];
                let is_shared = last_start == Some(extent.start) || !layout.version.has_fde_attributes();
                let rule = if is_shared { &rules::ROWS_OVERLAP } else { &rules::ROWS_IN_ATTRIBUTE };
                out.report(rule, entry.place(), values);
            }
            _ => gap(covered..extent.start, complete, out),
        }
        last_start = Some(extent.start);
        if extent.end > covered {
            (covered, owner) = (extent.end, Some(entry.index));
        }
    }
    gap(covered..layout.fres.end, complete, out);
}
