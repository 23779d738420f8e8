//! Where exceptions go that leave calls.

use std::ops::Range;

use rustc_hash::FxHashMap;
use sframe_elf::cfi::{CallFrameInfo, CallSite, CfiFde, CfiRow};
use sframe_engine::Abi;

use crate::target::{Linked, Module};

/// Calls that exceptions may leave, by loaded addresses.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Exceptions {
    /// Their landing pads, sorted by the calls.
    pub landing_pads: Vec<(Range<u64>, u64)>,
    /// The sizes in bytes of the arguments that are on the stack, which a landing pad finds popped.
    pub pushed_arguments: Vec<(Range<u64>, u64)>,
}

impl Exceptions {
    /// Reads the exception tables of a file.
    pub(super) fn of(module: &Module<'_>) -> Self {
        let mut found = Self::default();
        let (Some(cfi), Some(abi)) = (module.cfi(), module.subject.abi()) else { return found };
        let pads = module.subject.landing_pads(cfi);
        let sites = pads.call_sites();
        for fde in cfi.fdes().iter().filter(|fde| fde.lsda.is_some()) {
            let start = sites.partition_point(|site| site.range.end <= fde.range.start);
            let sites = sites[start..].iter().take_while(|site| site.range.start < fde.range.end);
            found.add(cfi, abi, fde, &sites.collect::<Vec<_>>());
        }
        let loaded = |address| module.loaded(Linked(address)).0;
        for (range, _) in found.landing_pads.iter_mut().chain(&mut found.pushed_arguments) {
            *range = loaded(range.start)..loaded(range.end);
        }
        found.landing_pads.iter_mut().for_each(|(_, pad)| *pad = loaded(*pad));
        found.landing_pads.sort_by_key(|(range, _)| range.start);
        found.pushed_arguments.sort_by_key(|(range, _)| range.start);
        found
    }

    /// Adds the calls of a function, by addresses of the file.
    fn add(&mut self, cfi: &CallFrameInfo, abi: Abi, fde: &CfiFde, sites: &[&CallSite]) {
        let rows = if sites.is_empty() { Vec::new() } else { cfi.rows(fde).unwrap_or_default() };
        if cfi.tells_args_size(fde) {
            let pushed = rows.iter().filter(|row| row.args_size > 0);
            self.pushed_arguments.extend(pushed.map(|row| (row.range.clone(), row.args_size)));
            self.landing_pads.extend(sites.iter().map(|site| (site.range.clone(), site.landing_pad)));
            return;
        }
        // Compilers don't tell the size where no exception is possible, although the range of a call site
        // goes on there. All calls with the same landing pad have the same SP otherwise.
        let parts: Vec<(Range<u64>, u64, Option<i64>)> =
            sites.iter().flat_map(|site| parts(site, &rows, abi)).collect();
        let mut least: FxHashMap<u64, i64> = FxHashMap::default();
        for (_, pad, depth) in &parts {
            let Some(depth) = *depth else { continue };
            least.entry(*pad).and_modify(|least| *least = depth.min(*least)).or_insert(depth);
        }
        let is_possible = |depth: Option<i64>, pad: &u64| {
            depth.is_none_or(|depth| least.get(pad).is_none_or(|least| depth <= *least))
        };
        let possible = parts.into_iter().filter(|(_, pad, depth)| is_possible(*depth, pad));
        self.landing_pads.extend(possible.map(|(range, pad, _)| (range, pad)));
    }
}

/// A call site by the rows that it covers, each with its landing pad and how far SP is below the CFA.
fn parts(site: &CallSite, rows: &[CfiRow], abi: Abi) -> Vec<(Range<u64>, u64, Option<i64>)> {
    let first = rows.partition_point(|row| row.range.end <= site.range.start);
    let rows = rows[first..].iter().take_while(|row| row.range.start < site.range.end);
    let part = |row: &CfiRow| {
        let range = row.range.start.max(site.range.start)..row.range.end.min(site.range.end);
        (range, site.landing_pad, row.cfa_above(abi.sp()))
    };
    rows.map(part).collect()
}
