//! Whether functions return, and what they remove from the stack then, from their code alone.

use std::collections::hash_map::Entry;

use rustc_hash::{FxHashMap, FxHashSet};
use sframe_isa::{self, Instruction, Removals};

use super::Binary;
use super::assumption::{Callee, Returns};
use super::code::{Code, Kind};
use crate::address_space::AddressSpace;

/// More instructions than this are not read to find out whether a function returns.
const MOST: usize = 20_000;

/// What is known of functions.
#[derive(Debug, Default)]
pub(super) struct Known {
    returns: FxHashMap<u64, Returns>,
    removals: Removals,
}

/// What is found out of functions that call each other.
#[derive(Default)]
struct Found {
    returns: FxHashMap<u64, Returns>,
    /// Who has to be searched again when more is known of a function.
    callers: FxHashMap<u64, FxHashSet<u64>>,
}

/// The code of a binary, for [`Removals`].
struct InSpace<'c> {
    code: &'c Code,
    space: &'c AddressSpace,
    binary: &'c Binary<'c>,
}

impl sframe_isa::Code for InSpace<'_> {
    fn look<T>(&self, address: u64, look: impl FnOnce(&Instruction) -> T) -> Option<T> {
        let decoded = self.code.at(self.space, address);
        (decoded.len > 0).then(|| look(&decoded.instruction))
    }

    fn callee(&self, called: u64) -> Option<u64> {
        let entry = entry_of(self.binary, called);
        (!self.binary.stubs.contains(&entry)).then_some(entry)
    }

    fn is_entry(&self, address: u64) -> bool {
        self.binary.entries.contains(&address)
    }

    fn never_returns(&self, entry: u64) -> bool {
        self.binary.returns.get(&entry) == Some(&Returns::Never)
    }
}

/// Whether the function returns whose address a word holds.
fn slot_returns(binary: &Binary<'_>, slot: u64) -> Returns {
    binary.returns.get(&slot).copied().unwrap_or(Returns::Unknown)
}

fn entry_of(binary: &Binary<'_>, entry: u64) -> u64 {
    binary.aliases.get(&entry).copied().unwrap_or(entry)
}

impl Known {
    /// Returns whether a callee returns.
    pub(super) fn returns(
        &mut self,
        code: &Code,
        space: &AddressSpace,
        binary: &Binary<'_>,
        callee: Callee,
    ) -> Returns {
        match callee {
            Callee::Function(entry) => self.function(code, space, binary, entry),
            Callee::Slot(slot) => slot_returns(binary, slot),
            Callee::Unknown => Returns::Unknown,
        }
    }

    /// Returns how many bytes of arguments a callee removes from the stack, as far as its code shows.
    pub(super) fn removes(
        &mut self,
        code: &Code,
        space: &AddressSpace,
        binary: &Binary<'_>,
        callee: Callee,
    ) -> Option<u64> {
        let Callee::Function(entry) = callee else { return None };
        self.removals.of(code.cpu.abi, &InSpace { code, space, binary }, entry)
    }

    /// Whether a callee's code shows that it may go on elsewhere than right after its call.
    pub(super) fn passes(
        &mut self,
        code: &Code,
        space: &AddressSpace,
        binary: &Binary<'_>,
        callee: Callee,
    ) -> bool {
        let Callee::Function(entry) = callee else { return false };
        self.removals.passes_return_address(code.cpu.abi, &InSpace { code, space, binary }, entry)
    }

    /// Finds it out for a function and for those that it depends on: first nothing is known of any of them, then each
    /// search is repeated when more is known of a callee. So it is the same whichever function is asked for first.
    fn function(&mut self, code: &Code, space: &AddressSpace, binary: &Binary<'_>, entry: u64) -> Returns {
        if let Some(known) = self.settled(binary, entry) {
            return known;
        }
        let entry = entry_of(binary, entry);
        let mut found = Found::default();
        found.returns.insert(entry, Returns::Unknown);
        let mut open = vec![entry];
        while let Some(function) = open.pop() {
            if found.returns[&function] != Returns::Unknown {
                continue;
            }
            let (returns, needed) = self.search(code, space, binary, function, &found);
            if returns != Returns::Unknown {
                found.returns.insert(function, returns);
                open.extend(found.callers.remove(&function).unwrap_or_default());
                continue;
            }
            for callee in needed {
                found.callers.entry(callee).or_default().insert(function);
                if let Entry::Vacant(unseen) = found.returns.entry(callee) {
                    unseen.insert(Returns::Unknown);
                    open.push(callee);
                }
            }
        }
        let returns = found.returns[&entry];
        self.returns.extend(found.returns);
        returns
    }

    /// What is known of a function once and for all.
    fn settled(&self, binary: &Binary<'_>, entry: u64) -> Option<Returns> {
        let of_entry = || self.returns.get(&entry_of(binary, entry));
        binary.returns.get(&entry).or_else(of_entry).copied()
    }

    /// Follows the code both ways at each branch until it finds a return. What comes after calls that
    /// may not return is followed last, and proves nothing. Returns also the callees of which more has to be known.
    fn search(
        &mut self,
        code: &Code,
        space: &AddressSpace,
        binary: &Binary<'_>,
        entry: u64,
        found: &Found,
    ) -> (Returns, Vec<u64>) {
        let (mut otherwise, mut needed) = (Returns::Never, Vec::new());
        let mut seen = FxHashSet::default();
        let (mut certain, mut uncertain) = (vec![entry], Vec::new());
        loop {
            let is_certain = !certain.is_empty();
            let Some(pc) = certain.pop().or_else(|| uncertain.pop()) else { return (otherwise, needed) };
            if !seen.insert(pc) {
                continue;
            }
            if binary.stubs.contains(&pc) {
                otherwise = Returns::Unknown;
                continue;
            }
            if seen.len() > MOST {
                return (Returns::Unknown, needed);
            }
            let decoded = code.at(space, pc);
            let next = pc.wrapping_add(decoded.len);
            if decoded.len == 0 {
                otherwise = Returns::Unknown;
                continue;
            }
            let mut go_on = |to| if is_certain { certain.push(to) } else { uncertain.push(to) };
            match decoded.kind {
                Kind::Return { .. } if is_certain => return (Returns::Sometimes, needed),
                // It is not known before more is known of the callees on the way.
                Kind::Return { .. } => return (Returns::Unknown, needed),
                Kind::Trap => {}
                Kind::IndirectJump { is_conditional } => {
                    let code_of = InSpace { code, space, binary };
                    if is_certain && self.removals.returns_by(code.cpu.abi, &code_of, entry, pc) {
                        return (Returns::Sometimes, needed);
                    }
                    otherwise = Returns::Unknown;
                    if is_conditional {
                        go_on(next);
                    }
                }
                Kind::Jump(to) if binary.returns.get(&to) == Some(&Returns::Never) => {}
                Kind::Jump(to) => go_on(to),
                Kind::Branch(to) => {
                    go_on(to);
                    go_on(next);
                }
                // Part of the function: its retpolines, and code that fetches the PC.
                Kind::Call(Callee::Function(to)) if !binary.entries.contains(&to) => {
                    go_on(to);
                    go_on(next);
                }
                Kind::Call(Callee::Function(callee)) => {
                    let settled = self.settled(binary, callee);
                    let callee = entry_of(binary, callee);
                    match settled.or_else(|| found.returns.get(&callee).copied()) {
                        Some(Returns::Never) => {}
                        Some(Returns::Sometimes) => go_on(next),
                        Some(Returns::Unknown) | None => {
                            if settled.is_none() {
                                needed.push(callee);
                            }
                            uncertain.push(next);
                        }
                    }
                }
                Kind::Call(Callee::Slot(slot)) => match slot_returns(binary, slot) {
                    Returns::Never => {}
                    Returns::Sometimes => go_on(next),
                    Returns::Unknown => uncertain.push(next),
                },
                Kind::Call(Callee::Unknown) => uncertain.push(next),
                Kind::Plain | Kind::Privileged | Kind::SystemCall => go_on(next),
            }
        }
    }
}
