//! Where functions begin, from what the file says of its code.

use std::collections::BTreeSet;
use std::ops::Range;

use rustc_hash::{FxHashMap, FxHashSet};
use sframe_elf::kernel::{Detour, Why};
use sframe_engine::{Abi, DwarfRegister, Fde, PcType, Section};
use sframe_inspect::diff::Gaps;
use sframe_isa::{Destination, Disassembly, Flow, Instruction};
use sframe_kit::ranges::position;
use sframe_machine::explore::Returns;

use super::exceptions::Exceptions;
use super::known_returns::returns;
use super::rows::{block_of, blocks_of, is_outermost};
use crate::target::{Linked, Loaded, Module, Target, is_entry as describes_entry};

/// No instruction leads to more places than this by a kernel's tables.
const MOST_DETOURS: usize = 16;

/// A first instruction from which a function is explored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Root {
    /// Its address.
    pub entry: u64,
    /// Whether callers enter there: it is called, or its first row says so.
    pub is_certain: bool,
    /// The register that callers leave the return address in, if all that are seen name another one than the ABI's.
    pub link: Option<DwarfRegister>,
}

/// The functions of a file, by loaded addresses.
#[derive(Clone, Debug, Default)]
pub struct Roots {
    /// Those to explore, sorted.
    pub roots: Vec<Root>,
    /// First instructions of functions, also of those without rows.
    pub entries: FxHashSet<u64>,
    /// Those that are called.
    pub called: FxHashSet<u64>,
    /// Those that symbols name.
    named: FxHashSet<u64>,
    /// Code that others jump to, by FDE: its first row says that it is a function. It is explored from
    /// there only if no path leads into it.
    spare: Vec<(u32, u64)>,
    /// Procedure PLTs.
    pub trampolines: Vec<Range<u64>>,
    /// Entries of these that lead to functions of the file.
    pub aliases: FxHashMap<u64, u64>,
    /// Code that stands for functions of other files.
    pub stubs: Range<u64>,
    /// Whether functions return, by their addresses and those of words that hold these, if their names
    /// say so.
    pub returns: FxHashMap<u64, Returns>,
    /// The addresses of FDEs, with those of their functions that they should cover, and don't.
    pub bodies: Vec<Range<u64>>,
    /// Code that has no FDE, and should be covered by one, by addresses of the file.
    pub(super) gaps: Gaps,
    /// Where exceptions go.
    pub exceptions: Exceptions,
    /// Whether it is code of a kernel.
    pub is_kernel: bool,
    /// Where control goes besides what instructions say, as a kernel's tables have it.
    pub detours: FxHashMap<u64, Vec<(u64, Why)>>,
    /// The calls of a kernel's tracer.
    pub traced: FxHashSet<u64>,
    /// The functions that calls skip speculation traps for: parts of those that make the calls.
    behind_traps: FxHashSet<u64>,
    /// The starts of code that is no function, and of which it is not certain whose it is.
    uncertain: FxHashSet<u64>,
}

/// What is known of a file's code besides its FDEs.
struct KnownCode<'k> {
    code: &'k References,
    named: &'k FxHashSet<u64>,
    /// Parts of functions, by their names, that are never called.
    cold: &'k FxHashSet<u64>,
    /// Landing pads.
    pads: &'k FxHashSet<u64>,
    /// FDEs that start too late, and where their functions do.
    late: &'k FxHashMap<u64, u64>,
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
        let mut found = Self { trampolines: trampolines.clone(), stubs, ..Self::default() };
        found.read_kernel(module);
        let Some(section) = &module.section else { return found };
        let is_trampoline = |address: u64| trampolines.iter().any(|range| range.contains(&address));
        // What a linker has moved says nothing about where functions begin.
        let is_moved = |fde: &Fde| {
            let start = Loaded(fde.start);
            fde.pc_type == PcType::Inc && !is_trampoline(fde.start) && module.is_moved(start, start)
        };
        let (fdes, empty): (Vec<Fde>, Vec<Fde>) = section.fdes().flatten().partition(|fde| fde.size > 0);
        let mut fdes: Vec<Fde> = fdes.into_iter().filter(|fde| !is_moved(fde)).collect();
        fdes.sort_by_key(|fde| fde.start);
        let code = References::of(module, &fdes);
        let exceptions = Exceptions::of(module);
        let pads: FxHashSet<u64> = exceptions.landing_pads.iter().map(|(_, pad)| *pad).collect();
        let functions = module.subject.symbols.functions();
        let functions: Vec<(u64, &str)> = functions.map(|(address, name)| (loaded(address), name)).collect();
        let is_cold = |address: u64, name: &str| name.contains(".cold") && !code.called.contains(&address);
        let named: FxHashSet<u64> = functions
            .iter()
            .filter(|(address, name)| !is_cold(*address, name) && !code.behind_traps.contains(address))
            .map(|(address, _)| *address)
            .collect();
        let cold: FxHashSet<u64> = functions
            .iter()
            .filter(|(address, name)| is_cold(*address, name))
            .map(|(address, _)| *address)
            .collect();
        let gaps = module.gaps();
        // FDEs that start too late, and where their functions do.
        let late: FxHashMap<u64, u64> = gaps
            .iter()
            .filter(|gap| !gap.is_behind() && gap.range.end == gap.fde.start)
            .map(|gap| (loaded(gap.fde.start), loaded(gap.function.start)))
            .collect();
        found.entries = named.iter().chain(&code.called).copied().collect();
        let mut roots = BTreeSet::new();
        let mut add = |entry, is_certain| {
            let link = code.linked.get(&entry).copied().flatten();
            roots.insert(Root { entry, is_certain, link });
        };
        let known = KnownCode { code: &code, named: &named, cold: &cold, pads: &pads, late: &late };
        found.add_fdes(module, section, &fdes, &known, &mut add);
        let of_late: FxHashSet<u64> = late.values().copied().collect();
        for function in &of_late {
            found.entries.insert(*function);
            add(*function, true);
        }
        // In the middle of an FDE, or without one: callers enter where they call, and what the function
        // preserves is known afterwards. A symbol there may be anything.
        for entry in &code.called {
            let covering = fde_at(&fdes, *entry);
            let is_within_block = |fde: &Fde| {
                fde.pc_type == PcType::Mask
                    && !entry.wrapping_sub(fde.start).is_multiple_of(block_of(fde).into())
            };
            if covering.is_some_and(is_within_block) {
                // The FDE says that no block begins there, and it is called: so one does.
                add(*entry, true);
            } else if covering.is_none_or(|fde| fde.start != *entry && fde.pc_type == PcType::Inc)
                && !found.trampolines.iter().any(|range| range.contains(entry))
                && !found.stubs.contains(entry)
                && !of_late.contains(entry)
            {
                // What seems to call may be data.
                add(*entry, false);
            }
        }
        let is_part = |part: &u64| !found.entries.contains(part) && !code.called.contains(part);
        // A jump to a part of a function without any code leads to what comes next, had anybody taken it.
        let shared = empty.iter().map(|fde| fde.start).filter(|start| fde_at(&fdes, *start).is_some());
        let parts = code.of_several().chain(code.behind_tables.iter().copied()).chain(shared);
        let uncertain = parts.filter(is_part).collect();
        found.uncertain = uncertain;
        let symbols: FxHashSet<u64> = functions.iter().map(|(address, _)| *address).collect();
        let starts_fde = |entry: u64| fde_at(&fdes, entry).is_some_and(|fde| fde.start == entry);
        let is_function = |entry: &u64| symbols.contains(entry) || starts_fde(*entry);
        found.behind_traps = code.behind_traps.iter().copied().filter(is_function).collect();
        found.called = code.called;
        found.named = named;
        found.roots = roots.into_iter().collect();
        found.bodies = bodies(&fdes, gaps.iter().map(|gap| loaded(gap.range.start)..loaded(gap.range.end)));
        found.gaps = gaps;
        found.aliases = aliases(module, &functions);
        found.returns = returns_by_name(module, &functions);
        found.exceptions = exceptions;
        found
    }
}

/// Where the instructions of an FDE's code begin, one after the other from its start on.
fn instructions_of(module: &Module<'_>, fde: &Fde) -> FxHashSet<u64> {
    let code = module.code_of_fde(fde);
    let next = |at: &u64| {
        let len = module.instruction(Loaded(*at)).map_or(1, |instruction| instruction.len.max(1));
        at.checked_add(len)
    };
    std::iter::successors(Some(fde.start), next).take_while(|at| code.contains(at)).collect()
}

impl Roots {
    /// Adds the functions that FDEs are of, as far as they say so.
    fn add_fdes(
        &mut self,
        module: &Module<'_>,
        section: &Section<'_>,
        fdes: &[Fde],
        known: &KnownCode<'_>,
        add: &mut dyn FnMut(u64, bool),
    ) {
        let KnownCode { code, named, cold, pads, late } = known;
        let trampolines = self.trampolines.clone();
        let is_trampoline = |address: u64| trampolines.iter().any(|range| range.contains(&address));
        for fde in fdes {
            if fde.pc_type == PcType::Mask {
                let instructions = instructions_of(module, fde);
                // The size of a table, and that of its blocks, may be wrong: nobody enters beyond its end, nor within an
                // instruction.
                let is_entry = |entry: &u64| {
                    (instructions.contains(entry) || code.called.contains(entry))
                        && fde_at(fdes, *entry).is_some_and(|covering| covering.start == fde.start)
                        && (!is_trampoline(fde.start) || is_trampoline(*entry))
                };
                blocks_of(module, fde).filter(is_entry).for_each(|entry| {
                    self.entries.insert(entry);
                    add(entry, true);
                });
                continue;
            }
            let first = || section.rows(fde).flatten().next();
            let is_entry = || match first() {
                Some(row) => describes_entry(&row, section.header().abi),
                None => !fde.signal && is_outermost(section, fde),
            };
            if is_trampoline(fde.start) && !code.called.contains(&fde.start) || fde.signal && !is_entry() {
                // Nobody calls the common part of a PLT, or a signal's restorer, whose caller is elsewhere.
                continue;
            }
            if late.contains_key(&fde.start) && !code.called.contains(&fde.start)
                || code.behind_traps.contains(&fde.start)
            {
                continue;
            }
            if code.called.contains(&fde.start) {
                add(fde.start, true);
            } else if named.contains(&fde.start) {
                // Code that contexts begin with has names, too.
                add(fde.start, is_entry());
            } else if !cold.contains(&fde.start)
                && !code.jumped_to.contains(&fde.start)
                && !pads.contains(&fde.start)
            {
                self.entries.insert(fde.start);
                add(fde.start, is_entry());
            } else if is_entry() {
                self.spare.push((fde.index, fde.start));
            }
        }
    }

    /// Reads what a kernel's tables say of its code.
    fn read_kernel(&mut self, module: &Module<'_>) {
        let loaded = |address| module.loaded(Linked(address)).0;
        let kernel = module.kernel_code();
        self.is_kernel = kernel.is_kernel || module.image.is_kernel();
        self.traced = kernel.traced.iter().map(|call| loaded(*call)).collect();
        for &Detour { at, to, why } in &kernel.detours {
            let known = self.detours.entry(loaded(at)).or_default();
            if known.len() < MOST_DETOURS {
                known.push((loaded(to), why));
            }
        }
    }

    /// Keeps the functions with code at some addresses, of which one part may be far from the others.
    pub(super) fn retain_with(&mut self, target: &Target<'_>, addresses: &[u64]) {
        let name = |address: u64| {
            let name = target.place(Loaded(address)).function?;
            Some(name.split(".cold").next().unwrap_or(name))
        };
        let bodies: FxHashSet<u64> =
            addresses.iter().filter_map(|at| Some(position(&self.bodies, *at)?.start)).collect();
        let names: FxHashSet<&str> = bodies.iter().filter_map(|start| name(*start)).collect();
        let is_one = |entry: u64| {
            position(&self.bodies, entry).is_some_and(|body| bodies.contains(&body.start))
                || name(entry).is_some_and(|name| names.contains(name))
        };
        let wanted: FxHashSet<u64> = self
            .roots
            .iter()
            .map(|root| root.entry)
            .chain(self.spare.iter().map(|(_, entry)| *entry))
            .filter(|entry| is_one(*entry))
            .collect();
        self.retain(|entry| wanted.contains(&entry));
    }

    /// Returns the root at an entry.
    pub(super) fn root(&self, entry: u64) -> Root {
        let next = self.roots.partition_point(|root| root.entry < entry);
        let found = self.roots.get(next).filter(|root| root.entry == entry);
        found.copied().unwrap_or(Root { entry, is_certain: false, link: None })
    }

    /// Whether an address is in code of which it is not certain whose it is.
    pub(super) fn is_uncertain(&self, address: u64) -> bool {
        position(&self.bodies, address).is_some_and(|body| self.uncertain.contains(&body.start))
    }

    /// Returns the entries of what may be functions, of all FDEs except those that paths have been in.
    pub(super) fn unreached(&self, reached: &FxHashSet<u32>) -> Vec<u64> {
        self.spare.iter().filter(|(fde, _)| !reached.contains(fde)).map(|(_, entry)| *entry).collect()
    }

    /// Whether a call that skips a speculation trap leads to the function that begins at an address.
    pub(super) fn is_behind_trap(&self, entry: u64) -> bool {
        self.behind_traps.contains(&entry)
    }

    /// Whether a symbol names a function.
    pub(super) fn is_named(&self, entry: u64) -> bool {
        self.named.contains(&entry)
    }

    /// Whether there is a call of a function.
    pub(super) fn is_called(&self, entry: u64) -> bool {
        self.called.contains(&entry)
    }

    /// Keeps the functions that are to be explored.
    pub fn retain(&mut self, is_wanted: impl Fn(u64) -> bool) {
        self.roots.retain(|root| is_wanted(root.entry));
        self.spare.retain(|(_, entry)| is_wanted(*entry));
    }
}

/// Where the code jumps to and calls.
#[derive(Default)]
struct References {
    /// By calls, except within the same FDE to somewhere other than its start.
    called: FxHashSet<u64>,
    /// By calls that skip a speculation trap: a part of the function that makes them.
    behind_traps: FxHashSet<u64>,
    /// Of those, what is called with another register than the ABI's for the return address, and that register, if
    /// nothing calls it otherwise.
    linked: FxHashMap<u64, Option<DwarfRegister>>,
    /// By jumps out of another FDE.
    jumped_to: FxHashSet<u64>,
    /// By the starts of FDEs that are jumped into: that of the one that does it, and whether others
    /// also do.
    jumping: FxHashMap<u64, (u64, bool)>,
    /// The starts of FDEs that a jump leads to if there is no entry in a table for a case. It may have
    /// none because the case is impossible.
    behind_tables: FxHashSet<u64>,
    /// The last jump out of an FDE to the start of another, on a condition: to where, and how many
    /// instructions ago.
    last_branch: Option<(u64, u32)>,
}

/// At most this many instructions are between the comparison and a jump through a table.
const BEFORE_TABLE: u32 = 10;

impl References {
    fn of(module: &Module<'_>, fdes: &[Fde]) -> Self {
        let mut found = Self::default();
        let Some(abi) = module.subject.abi() else { return found };
        // All of it at once would take many times the memory of the file.
        let code = module.subject.code().map(|(address, code)| (module.loaded(Linked(address)).0, code));
        let code = code.flat_map(|(address, code)| pieces(address, code, fdes));
        Disassembly::each(abi, code, |address, instruction| {
            if let Flow::Call(Some(to)) = instruction.flow
                && module.skips_trap(Loaded(address.wrapping_add(instruction.len)), Loaded(to))
            {
                found.behind_traps.insert(to);
            } else {
                found.add(abi, fdes, address, instruction);
            }
        });
        found.behind_traps.retain(|to| !found.called.contains(to));
        found
    }

    /// The starts of FDEs that several others jump into.
    fn of_several(&self) -> impl Iterator<Item = u64> {
        let shared = self.jumping.iter().filter(|(_, (_, has_others))| *has_others);
        shared.map(|(part, _)| *part)
    }

    fn add(&mut self, abi: Abi, fdes: &[Fde], address: u64, instruction: &Instruction) {
        self.last_branch =
            self.last_branch.map(|(to, ago)| (to, ago + 1)).filter(|(_, ago)| *ago <= BEFORE_TABLE);
        let is_within = |to: u64| fde_at(fdes, address).is_some_and(|fde| fde.contains(to));
        match instruction.flow {
            Flow::Call(Some(to)) => {
                let starts = fde_at(fdes, to).is_none_or(|fde| fde.start == to);
                if to == address.wrapping_add(instruction.len) || !starts && is_within(to) {
                    return;
                }
                let is_first = self.called.insert(to);
                if let Some(link) = instruction.other_link(abi) {
                    self.linked.entry(to).or_insert(is_first.then_some(link));
                } else if let Some(link) = self.linked.get_mut(&to) {
                    *link = None;
                }
            }
            Flow::Jump { to: Destination::Indirect, .. } => {
                self.behind_tables.extend(self.last_branch.take().map(|(to, _)| to));
            }
            Flow::Jump { is_conditional, .. } => {
                let Some(to) = instruction.target().filter(|to| !is_within(*to)) else { return };
                self.jumped_to.insert(to);
                if let (Some(from), Some(to)) = (fde_at(fdes, address), fde_at(fdes, to)) {
                    let (first, has_others) = self.jumping.entry(to.start).or_insert((from.start, false));
                    *has_others |= *first != from.start;
                    if is_conditional && instruction.target() == Some(to.start) {
                        self.last_branch = Some((to.start, 0));
                    }
                }
            }
            _ => {}
        }
    }
}

/// Cuts code at the starts of FDEs: what is between functions need not be instructions.
fn pieces<'c>(address: u64, code: &'c [u8], fdes: &[Fde]) -> Vec<(u64, &'c [u8])> {
    let end = address.saturating_add(code.len() as u64);
    let first = fdes.partition_point(|fde| fde.start <= address);
    let cuts = fdes[first..].iter().map(|fde| fde.start).take_while(|start| *start < end);
    let mut pieces = Vec::new();
    let mut rest = (address, code);
    for cut in cuts {
        let Some((piece, behind)) =
            usize::try_from(cut - rest.0).ok().and_then(|len| rest.1.split_at_checked(len))
        else {
            break;
        };
        pieces.push((rest.0, piece));
        rest = (cut, behind);
    }
    pieces.push(rest);
    pieces
}

/// Returns the addresses of FDEs, joined with those of gaps that touch them.
fn bodies(fdes: &[Fde], gaps: impl Iterator<Item = Range<u64>>) -> Vec<Range<u64>> {
    let mut bodies: Vec<Range<u64>> =
        fdes.iter().map(|fde| fde.start..fde.start.saturating_add(fde.size.into())).collect();
    for gap in gaps {
        let next = bodies.partition_point(|body| body.start < gap.end);
        if let Some(before) = next.checked_sub(1).map(|last| &mut bodies[last])
            && before.end == gap.start
        {
            before.end = gap.end;
        } else if let Some(behind) = bodies.get_mut(next).filter(|body| body.start == gap.end) {
            behind.start = gap.start;
        }
    }
    bodies
}

/// Returns the FDE that covers an address, of some that are sorted.
fn fde_at(fdes: &[Fde], address: u64) -> Option<&Fde> {
    let next = fdes.partition_point(|fde| fde.start <= address);
    fdes.get(next.checked_sub(1)?).filter(|fde| fde.contains(address))
}

/// Returns the entries of PLTs that lead to functions of the file, by name.
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

fn returns_by_name(module: &Module<'_>, functions: &[(u64, &str)]) -> FxHashMap<u64, Returns> {
    let loaded = |address| module.loaded(Linked(address)).0;
    let by_symbol = functions.iter().filter_map(|(address, name)| Some((*address, returns(name)?)));
    let slots = module.subject.slots();
    let by_slot = slots.iter().filter_map(|(address, name)| Some((loaded(*address), returns(name)?)));
    let symbols = &module.subject.symbols;
    let by_entry = symbols.addresses().filter_map(|address| {
        let (name, _) = symbols.at(address)?;
        Some((loaded(address), returns(name.strip_suffix("@plt")?)?))
    });
    by_symbol.chain(by_slot).chain(by_entry).collect()
}
