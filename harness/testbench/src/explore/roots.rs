//! Where functions begin, from what the file says of its code.

use std::collections::BTreeSet;
use std::ops::Range;

use rustc_hash::{FxHashMap, FxHashSet};
use sframe_engine::{Abi, Base, Fde, PcType, Recovery, Row};
use sframe_inspect::instructions::{Disassembly, Flow, Instruction};

use super::never_return::never_returns;
use crate::target::{Linked, Module, Target};

/// A first instruction from which a function is explored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Root {
    /// Its address.
    pub entry: u64,
    /// Whether callers enter there: it is called, or its first row says so.
    pub is_certain: bool,
}

/// The functions of a file, by loaded addresses.
#[derive(Clone, Debug, Default)]
pub struct Roots {
    /// Those to explore, sorted.
    pub roots: Vec<Root>,
    /// First instructions of functions, also of those without rows.
    pub entries: FxHashSet<u64>,
    /// Those that are called.
    called: FxHashSet<u64>,
    /// Procedure linkage tables.
    pub trampolines: Vec<Range<u64>>,
    /// Entries of these that lead to functions of the file.
    pub aliases: FxHashMap<u64, u64>,
    /// Code that stands for functions of other files.
    pub stubs: Range<u64>,
    /// Functions that never return, and words with their addresses.
    pub never_return: FxHashSet<u64>,
    /// The addresses of FDEs.
    pub bodies: Vec<Range<u64>>,
    /// Calls with their landing pads.
    pub landing_pads: Vec<(Range<u64>, u64)>,
}

impl Roots {
    /// Finds the functions of a file.
    #[must_use]
    pub fn of(target: &Target<'_>) -> Self {
        let module = target.executable();
        let loaded = |address| module.loaded(Linked(address)).0;
        let tables = module.subject.linkage_tables();
        let trampolines: Vec<Range<u64>> =
            tables.map(|range| loaded(range.start)..loaded(range.end)).collect();
        let stubs = module.subject.stubs().unwrap_or_default();
        let stubs = loaded(stubs.start)..loaded(stubs.end);
        let mut found = Self { trampolines, stubs, ..Self::default() };
        let Some(section) = &module.section else { return found };
        let mut fdes: Vec<Fde> = section.fdes().flatten().filter(|fde| fde.size > 0).collect();
        fdes.sort_by_key(|fde| fde.start);
        let code = References::of(module, &fdes);
        let landing_pads = landing_pads(module);
        let pads: FxHashSet<u64> = landing_pads.iter().map(|(_, pad)| *pad).collect();
        let functions = module.subject.symbols.functions();
        let functions: Vec<(u64, &str)> = functions.map(|(address, name)| (loaded(address), name)).collect();
        let is_cold = |address: u64, name: &str| name.contains(".cold") && !code.called.contains(&address);
        let named: FxHashSet<u64> = functions
            .iter()
            .filter(|(address, name)| !is_cold(*address, name))
            .map(|(address, _)| *address)
            .collect();
        let cold: FxHashSet<u64> = functions
            .iter()
            .filter(|(address, name)| is_cold(*address, name))
            .map(|(address, _)| *address)
            .collect();
        let is_trampoline = |address: u64| found.trampolines.iter().any(|range| range.contains(&address));
        let mut roots = BTreeSet::new();
        let mut add = |entry, is_certain| roots.insert(Root { entry, is_certain });
        let mut entries: FxHashSet<u64> = named.iter().chain(&code.called).copied().collect();
        for fde in &fdes {
            if fde.pc_type == PcType::Mask {
                let block = usize::from(fde.rep_size.unwrap_or(16).max(1));
                (fde.start..fde.start.saturating_add(fde.size.into())).step_by(block).for_each(|entry| {
                    entries.insert(entry);
                    add(entry, true);
                });
                continue;
            }
            if fde.signal || is_trampoline(fde.start) && !code.called.contains(&fde.start) {
                // Nobody calls a signal's restorer, or the common part of a linkage table.
                continue;
            }
            let is_entry = || {
                let first = section.rows(fde).flatten().next();
                first.is_some_and(|row| is_entry(&row, section.header().abi))
            };
            if code.called.contains(&fde.start) {
                add(fde.start, true);
            } else if named.contains(&fde.start) {
                // Code that contexts begin with has names, too.
                add(fde.start, is_entry());
            } else if !cold.contains(&fde.start)
                && !code.jumped_to.contains(&fde.start)
                && !pads.contains(&fde.start)
            {
                entries.insert(fde.start);
                add(fde.start, is_entry());
            }
        }
        // In the middle of an FDE, or without one: callers enter where they call, and what the function
        // preserves is known afterwards. A symbol there may be anything.
        for entry in &code.called {
            if fde_at(&fdes, *entry).is_none_or(|fde| fde.start != *entry && fde.pc_type == PcType::Inc)
                && !found.trampolines.iter().any(|range| range.contains(entry))
                && !found.stubs.contains(entry)
            {
                add(*entry, true);
            }
        }
        found.called = code.called;
        found.roots = roots.into_iter().collect();
        found.bodies = fdes.iter().map(|fde| fde.start..fde.start.saturating_add(fde.size.into())).collect();
        found.aliases = aliases(module, &functions);
        found.never_return = never_return(module, &functions);
        found.entries = entries;
        found.landing_pads = landing_pads;
        found
    }
}

impl Roots {
    /// Returns the root at an entry.
    pub(super) fn root(&self, entry: u64) -> Root {
        let next = self.roots.partition_point(|root| root.entry < entry);
        let found = self.roots.get(next).filter(|root| root.entry == entry);
        found.copied().unwrap_or(Root { entry, is_certain: false })
    }

    /// Whether there is a call of a function.
    pub(super) fn is_called(&self, entry: u64) -> bool {
        self.called.contains(&entry)
    }

    /// Keeps the functions that are to be explored.
    pub fn retain(&mut self, is_wanted: impl Fn(u64) -> bool) {
        self.roots.retain(|root| is_wanted(root.entry));
    }
}

/// Where the code jumps to and calls.
#[derive(Default)]
struct References {
    /// By calls, except within the same FDE to somewhere other than its start.
    called: FxHashSet<u64>,
    /// By jumps out of another FDE.
    jumped_to: FxHashSet<u64>,
}

impl References {
    fn of(module: &Module<'_>, fdes: &[Fde]) -> Self {
        let mut found = Self::default();
        let Some(abi) = module.subject.abi() else { return found };
        // All of it at once would take many times the memory of the file.
        let code = module.subject.code().map(|(address, code)| (module.loaded(Linked(address)).0, code));
        Disassembly::each(abi, code, |address, instruction| found.add(fdes, address, instruction));
        found
    }

    fn add(&mut self, fdes: &[Fde], address: u64, instruction: &Instruction) {
        let is_within = |to: u64| fde_at(fdes, address).is_some_and(|fde| fde.contains(to));
        match instruction.flow {
            Flow::Call(Some(to)) => {
                let starts = fde_at(fdes, to).is_none_or(|fde| fde.start == to);
                if to != address.wrapping_add(instruction.len) && (starts || !is_within(to)) {
                    self.called.insert(to);
                }
            }
            Flow::Jump { .. } => {
                self.jumped_to.extend(instruction.target().filter(|to| !is_within(*to)));
            }
            _ => {}
        }
    }
}

/// Returns the FDE that covers an address, of some that are sorted.
fn fde_at(fdes: &[Fde], address: u64) -> Option<&Fde> {
    let next = fdes.partition_point(|fde| fde.start <= address);
    fdes.get(next.checked_sub(1)?).filter(|fde| fde.contains(address))
}

/// Whether a row describes the state at a function's entry.
fn is_entry(row: &Row, abi: Abi) -> bool {
    let Some(cfa) = row.cfa else { return false };
    // A call on amd64 leaves the return address below the caller's frame.
    let below = if abi.ra().is_none() { 8 } else { 0 };
    let at_entry = 0_u64.wrapping_sub(abi.sp_from_cfa(0)).wrapping_add(below).cast_signed();
    let ra = match (row.ra, abi.ra()) {
        (Recovery::Rule(rule), None) => rule.base == Base::Cfa && rule.offset == -8 && rule.dereference,
        (Recovery::Unchanged, _) => true,
        _ => false,
    };
    cfa.base == Base::Sp && !cfa.dereference && cfa.offset == at_entry && ra && row.fp == Recovery::Unchanged
}

/// Returns the entries of procedure linkage tables that lead to functions of the file, by name.
fn aliases(module: &Module<'_>, functions: &[(u64, &str)]) -> FxHashMap<u64, u64> {
    let by_name: FxHashMap<&str, u64> = functions.iter().map(|(address, name)| (*name, *address)).collect();
    let symbols = &module.subject.symbols;
    let entry = |address: u64| {
        let (name, _) = symbols.at(address)?;
        let target = by_name.get(name.strip_suffix("@plt")?)?;
        Some((module.loaded(Linked(address)).0, *target))
    };
    symbols.addresses().filter_map(entry).collect()
}

fn never_return(module: &Module<'_>, functions: &[(u64, &str)]) -> FxHashSet<u64> {
    let loaded = |address| module.loaded(Linked(address)).0;
    let by_symbol = functions.iter().filter(|(_, name)| never_returns(name)).map(|(address, _)| *address);
    let slots = module.subject.slots();
    let by_slot = slots.iter().filter(|(_, name)| never_returns(name)).map(|(address, _)| loaded(*address));
    let symbols = &module.subject.symbols;
    let by_entry = symbols.addresses().filter(|address| {
        let name = symbols.at(*address).map(|(name, _)| name);
        name.and_then(|name| name.strip_suffix("@plt")).is_some_and(never_returns)
    });
    by_symbol.chain(by_slot).chain(by_entry.map(loaded)).collect()
}

/// The calls with landing pads, sorted.
fn landing_pads(module: &Module<'_>) -> Vec<(Range<u64>, u64)> {
    let loaded = |address| module.loaded(Linked(address)).0;
    let Some(cfi) = module.cfi() else { return Vec::new() };
    let pads = module.subject.landing_pads(cfi);
    let sites = pads.call_sites().iter();
    sites.map(|site| (loaded(site.range.start)..loaded(site.range.end), loaded(site.landing_pad))).collect()
}
