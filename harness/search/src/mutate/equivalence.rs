//! Mutants that are right after all.

use std::collections::{BTreeMap, BTreeSet};

use sframe_engine::{
    Abi, Base, DwarfRegister, InstructionPointer, LookupAddress, PauthKey, Recovery, RecoveryRule, Section,
};
use sframe_isa::{Disassembly, Instruction, Registers};
use sframe_judge::vocabulary::named;

use super::trial::{Meaning, Use};

named! {
    /// Why a mutant is as right as the section that it was made from.
    pub enum Reason, "reason" {
        /// Its rules do not differ in meaning at any instruction, nor at any
        /// call's return address.
        SameMeaning = "same-meaning",
        /// What differs was used only for the frames of functions that were
        /// never called. These have no caller to find.
        NoCaller = "no-caller",
        /// Wherever what differs was used, it gave the right values, and each
        /// from a place that is bound to hold it: SP or FP while neither changes,
        /// a register that still or again holds the value, or the place where the
        /// function has saved it; or the true section says the same at an
        /// instruction before or after, and nothing in between changes it.
        SameValue = "same-value",
        /// All rows of a function are wrong in the same way, and the function was never seen to
        /// return to its caller. Nothing is wrong by what a whole run shows: it left for where
        /// its rows say.
        NoReturn = "no-return",
    }
}

/// Whether two sections mean the same wherever an unwinder may ask: before an
/// instruction, and in the last byte of a call. `scope` is the range in which
/// they may differ.
pub(super) fn mean_the_same(
    one: &Section<'_>,
    other: &Section<'_>,
    code: &Disassembly,
    scope: Option<std::ops::Range<u64>>,
) -> bool {
    let scope = scope.unwrap_or(0..u64::MAX);
    code.within(scope).all(|(address, instruction)| {
        let same = |address: LookupAddress| Meaning::of(one, address) == Meaning::of(other, address);
        let behind = address.wrapping_add(instruction.len);
        same(sframe_engine::InstructionPointer(address).into())
            && (!instruction.is_call() || same(sframe_engine::ReturnAddress(behind).into()))
    })
}

/// Whether rules that gave the right values at each use were bound to. The
/// comparison has already ensured that they read nothing stale.
pub(super) fn give_the_same_values(
    one: &Section<'_>,
    other: &Section<'_>,
    code: &Disassembly,
    uses: &BTreeSet<Use>,
) -> bool {
    let abi = one.header().abi;
    let places: BTreeSet<u64> = uses.iter().filter_map(|of| instruction_at(code, of.address)).collect();
    uses.iter().all(|of| {
        let address = LookupAddress::from(InstructionPointer(of.address));
        let (old, new) = (Meaning::of(one, address), Meaning::of(other, address));
        let Meaning::Row { cfa, ra, fp, mangled: key, signal } = new else { return false };
        // Without an FDE in the old section, all of the row is new.
        let (old_cfa, old_ra, old_fp) = match old {
            Meaning::Row { cfa, ra, fp, mangled, signal: was_signal } => {
                if was_signal != signal {
                    return false;
                }
                (Some(cfa), Some((ra, mangled)), Some(fp))
            }
            Meaning::NoFde if key.is_none() && !signal => (None, None, None),
            _ => return false,
        };
        let Ok(Some(fde)) = other.lookup_fde(address) else { return false };
        let function = fde.start..fde.start + u64::from(fde.size);
        let before = |range_end| code.within(fde.start..range_end).map(|(_, instruction)| instruction);
        let Some(at) = instruction_at(code, of.address) else { return false };
        // A call has not returned yet: it counts as executed if its caller is asked.
        let end = if of.topmost { at } else { at + 1 };
        let home = |recovery, register: Option<DwarfRegister>, is_ra: bool| match recovery {
            Recovery::Unchanged => Ways::of(code, function.clone()).keep(at, !of.topmost, register),
            Recovery::Rule(RecoveryRule {
                dereference: true, base: Base::Cfa | Base::Sp | Base::Fp, ..
            }) => {
                // No function has its return address by chance.
                let saves = |pc: &u64| code.at(*pc).is_some_and(|store| holds(store.uses, register));
                is_ra || of.stored_by.iter().any(saves)
            }
            Recovery::Rule(RecoveryRule { dereference: false, base: Base::Register(_), .. }) => {
                before(end).any(|instruction| holds(instruction.uses, register))
            }
            // If every caller keeps FP at SP, it can be derived from SP.
            Recovery::Rule(RecoveryRule {
                dereference: false,
                base: Base::Sp | Base::Cfa | Base::Fp,
                ..
            }) => of.callers_fp_is_sp,
            _ => false,
        };
        let held = Neighbours { section: one, code, abi, of, at, function: function.clone() };
        let cfa_is_right = match old_cfa {
            Some(old) => {
                old == cfa
                    || held.hold(RowPart::Cfa(cfa))
                    || is_fixed(abi, old, cfa, code, &places, of, fde.start..at)
            }
            None => cfa.is_some_and(|rule| rule.base == Base::Sp && !rule.dereference),
        };
        let signed_the_same = old_ra.is_none_or(|(_, old_key)| old_key == key);
        let ra_is_right = old_ra == Some((ra, key))
            || (signed_the_same && home(ra, abi.ra(), true))
            || held.hold(RowPart::Ra(ra, key));
        let fp_is_right = old_fp == Some(fp) || home(fp, Some(abi.fp()), false) || held.hold(RowPart::Fp(fp));
        cfa_is_right && ra_is_right && fp_is_right
    })
}

/// A part of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RowPart {
    Cfa(Option<RecoveryRule>),
    Ra(Recovery, Option<PauthKey>),
    Fp(Recovery),
}

impl RowPart {
    /// Whether a section has this at an address.
    fn is_said(self, section: &Section<'_>, address: u64) -> bool {
        let Meaning::Row { cfa, ra, fp, mangled, .. } =
            Meaning::of(section, InstructionPointer(address).into())
        else {
            return false;
        };
        self == match self {
            Self::Cfa(_) => Self::Cfa(cfa),
            Self::Ra(..) => Self::Ra(ra, mangled),
            Self::Fp(_) => Self::Fp(fp),
        }
    }

    const fn rule(self) -> Option<RecoveryRule> {
        match self {
            Self::Cfa(rule) => rule,
            Self::Ra(Recovery::Rule(rule), _) | Self::Fp(Recovery::Rule(rule)) => Some(rule),
            Self::Ra(..) | Self::Fp(_) => None,
        }
    }

    /// Whether it gives the same after an instruction as before it, provided
    /// that the instruction stores to nothing that it reads. The CFA, RA and FP
    /// to be found are the same throughout a function.
    fn survives(self, abi: Abi, instruction: &Instruction) -> bool {
        let keeps = |register| !instruction.defs.contains(register);
        match (self, self.rule().map(|rule| rule.base)) {
            (Self::Ra(Recovery::Unchanged, _), _) => abi.ra().is_none_or(keeps),
            (Self::Fp(Recovery::Unchanged), _) => keeps(abi.fp()),
            (_, None) => false,
            (_, Some(Base::Cfa)) => true,
            (_, Some(Base::Sp)) => keeps(abi.sp()),
            (_, Some(Base::Fp)) => keeps(abi.fp()),
            (_, Some(Base::Register(register))) => {
                !instruction.is_call() && register.0 < 64 && keeps(register)
            }
        }
    }
}

/// The true section's rules around a use.
struct Neighbours<'n> {
    section: &'n Section<'n>,
    code: &'n Disassembly,
    abi: Abi,
    of: &'n Use,
    at: u64,
    function: std::ops::Range<u64>,
}

impl Neighbours<'_> {
    /// Whether the true section has a part of a row at another place as well,
    /// if control flows straight from or to that place and nothing on the way
    /// changes what the part gives.
    fn hold(&self, part: RowPart) -> bool {
        let jumps_anywhere =
            || self.code.within(self.function.clone()).any(|(_, other)| other.is_indirect_branch());
        (self.held_before(part) || self.will_hold(part)) && !jumps_anywhere()
    }

    fn held_before(&self, part: RowPart) -> bool {
        let mut at = self.at;
        loop {
            let Some(before) = self.code.before(at).filter(|before| self.function.contains(before)) else {
                return false;
            };
            let Some(instruction) = self.code.at(before) else { return false };
            let comes_here = before + instruction.len == at && !instruction.is_terminator();
            if !comes_here || !part.survives(self.abi, instruction) || self.of.stored_by.contains(&before) {
                return false;
            }
            let is_target =
                || self.code.within(self.function.clone()).any(|(_, other)| other.target() == Some(at));
            if is_target() {
                return false;
            }
            if part.is_said(self.section, before) {
                return true;
            }
            at = before;
        }
    }

    fn will_hold(&self, part: RowPart) -> bool {
        let mut at = self.at;
        loop {
            let Some(instruction) = self.code.at(at) else { return false };
            // If a caller is asked, its call executes.
            let is_asked = at == self.at && !self.of.topmost;
            let may_store =
                !is_asked && part.rule().is_some_and(|rule| rule.dereference) && instruction.may_store;
            if instruction.is_terminator() || !part.survives(self.abi, instruction) || may_store {
                return false;
            }
            at += instruction.len;
            if !self.function.contains(&at) {
                return false;
            }
            if part.is_said(self.section, at) {
                return true;
            }
        }
    }
}

/// Whether a register is in a set. AMD64's RA has no register, and is in no
/// set.
fn holds(registers: Registers, register: Option<DwarfRegister>) -> bool {
    register.is_some_and(|register| registers.contains(register))
}

/// The start of the instruction that contains an address.
fn instruction_at(code: &Disassembly, address: u64) -> Option<u64> {
    let start = code.before(address.checked_add(1)?)?;
    code.at(start).filter(|instruction| address - start < instruction.len).map(|_| start)
}

/// The instructions of a function, and how control flows between them.
struct Ways<'w> {
    code: &'w Disassembly,
    function: std::ops::Range<u64>,
    /// The jumps to an instruction.
    jumps: BTreeMap<u64, Vec<u64>>,
    /// The jumps through tables and registers.
    anywhere: Vec<u64>,
    /// All calls, jumps and returns.
    exits: Vec<u64>,
}

impl<'w> Ways<'w> {
    fn of(code: &'w Disassembly, function: std::ops::Range<u64>) -> Self {
        let mut jumps: BTreeMap<u64, Vec<u64>> = BTreeMap::new();
        let (mut anywhere, mut exits) = (Vec::new(), Vec::new());
        let leaves = |exit: &Instruction| exit.is_call() || exit.is_terminator();
        for (from, exit) in code.within(function.clone()).filter(|(_, exit)| leaves(exit)) {
            exits.push(from);
            if let Some(target) = exit.target() {
                jumps.entry(target).or_default().push(from);
            }
            if exit.is_indirect_branch() {
                anywhere.push(from);
            }
        }
        Self { code, function, jumps, anywhere, exits }
    }

    /// The instructions that may have executed last before one. Targets of jumps
    /// through a table or register are not known: they are taken to be blocks
    /// that nothing else leads to, and landing pads. If such a jump goes
    /// elsewhere as well, only the observed values show the effect. In a function
    /// without such jumps, control enters these blocks after it has left the
    /// function, by a call that ends elsewhere or a computed return.
    fn to(&self, at: u64) -> Vec<u64> {
        let comes_here = |(before, instruction): &(u64, &Instruction)| {
            before + instruction.len == at && instruction.falls_through()
        };
        let in_front = self.code.within(self.function.start..at).next_back().filter(comes_here);
        let mut before = self.jumps.get(&at).cloned().unwrap_or_default();
        before.extend(in_front.map(|(before, _)| before));
        let is_landing_pad = || self.code.at(at).is_some_and(Instruction::is_landing_pad);
        // A jump to the function itself is a call of it.
        if at != self.function.start && (before.is_empty() || is_landing_pad()) {
            before.extend(&self.anywhere);
            if before.is_empty() {
                before.extend(&self.exits);
            }
        }
        before
    }

    /// Whether a register holds what it held when the function was called, on
    /// every way to an instruction, or through it if it has executed: nothing
    /// has written it, or the last write loaded it again. Each way has to be
    /// known back to such a load, or to the function's start.
    fn keep(&self, at: u64, executed: bool, register: Option<DwarfRegister>) -> bool {
        // The instructions whose predecessors are still to be examined.
        let mut open = Vec::new();
        let mut seen = BTreeSet::new();
        let keeps = |last: u64, open: &mut Vec<u64>| match self.code.at(last) {
            Some(writer) if holds(writer.defs, register) => writer.reloads(),
            _ => {
                open.push(last);
                true
            }
        };
        if !executed {
            open.push(at);
        } else if !keeps(at, &mut open) {
            return false;
        }
        while let Some(next) = open.pop() {
            if !seen.insert(next) {
                continue;
            }
            let before = self.to(next);
            let is_known = next == self.function.start || !before.is_empty();
            if !is_known || !before.iter().all(|last| keeps(*last, &mut open)) {
                return false;
            }
        }
        true
    }
}

/// Whether two rules for the CFA remain equivalent: both add to SP, FP or a
/// copy of SP, and none of these changes there.
fn is_fixed(
    abi: Abi,
    one: Option<RecoveryRule>,
    other: Option<RecoveryRule>,
    code: &Disassembly,
    places: &BTreeSet<u64>,
    of: &Use,
    before: std::ops::Range<u64>,
) -> bool {
    let at = before.end;
    let (sp, fp) = (abi.sp(), abi.fp());
    let (Some(one), Some(other)) = (one, other) else { return false };
    if one.dereference || other.dereference {
        return false;
    }
    let is_copy = |rule: &RecoveryRule| match rule.base {
        Base::Sp | Base::Fp => true,
        Base::Cfa => false,
        Base::Register(_) => code.within(before.clone()).any(|(_, Instruction { uses, .. })| {
            uses.contains(sp) || (uses.contains(fp) && of.callers_fp_is_sp)
        }),
    };
    // The instructions around this one at which the rules differ. The last one may change
    // something, since its effect comes afterwards.
    let next = code.after(at).filter(|next| places.contains(next));
    // If SP and FP are the same, one may be set to the other.
    let are_same = one.offset == other.offset;
    let changes = code.at(at).is_some_and(|Instruction { defs, uses, .. }| {
        let sets = (defs.contains(sp) && uses.contains(fp)) || (defs.contains(fp) && uses.contains(sp));
        (defs.contains(sp) || defs.contains(fp)) && !(are_same && sets)
    });
    is_copy(&one) && is_copy(&other) && (next.is_none() || !changes)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use sframe_judge::target::Target;

    const fn above(base: Base, offset: i64) -> RowPart {
        RowPart::Cfa(Some(RecoveryRule { base, offset, dereference: false }))
    }

    /// The cases of a `switch`: some set FP, one ends in a tail call, and the
    /// last instruction loads FP.
    #[test]
    fn a_register_keeps_its_value_along_paths_and_not_by_address() {
        let build = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus/builds/llvm-22/amd64");
        let bytes = std::fs::read(build.join("cet_code.O2")).expect("a build");
        let target = Target::open(&bytes).expect("a target");
        let code = target.executable().code();
        let start = target.addresses_of("through_table")[0].0;
        let text = |at: u64| code.at(start + at).map(|instruction| instruction.text.as_str());
        assert_eq!(
            [0x11, 0x35, 0x63, 0x8b, 0x99].map(text).map(|text| text.and_then(|text| text.split(' ').next())),
            ["notrack", "mov", "pop", "mov", "pop"].map(Some)
        );
        let ways = Ways::of(code, start..start + 0x9b);
        let keeps = |at, executed| ways.keep(start + at, executed, Some(Abi::Amd64.fp()));
        // Instructions at lower addresses write FP, but none on the way here does.
        assert!(keeps(0x63, false) && text(0x35).is_some_and(|text| text.starts_with("mov ebp")));
        // One way to the end of all cases has written it.
        assert!(!keeps(0x8b, false) && !keeps(0x99, false));
        assert!(keeps(0x99, true) && keeps(0x35, false) && !keeps(0x35, true));
        // Without the jump through the table nothing leads to the cases.
        assert_eq!(ways.anywhere, [start + 0x11]);
        assert_eq!(ways.to(start + 0x5c), ways.anywhere);
        // It does not lead to instructions inside a block.
        assert_eq!(ways.to(start + 0x99), [start + 0x98]);
        // If no known way leads to a block, any exit may.
        let without_table = Ways { anywhere: Vec::new(), ..ways };
        assert_eq!(without_table.to(start + 0x5c), without_table.exits);
        assert!(!without_table.keep(start + 0x63, false, Some(Abi::Amd64.fp())));
        assert!(without_table.keep(start, false, Some(Abi::Amd64.fp())));
    }

    /// `mov [rsp + 8], edi; call leaf; add eax, [rsp + 8]; lea rsp, [rbp - 0x100]`,
    /// with the CFA at FP + 24. After it, the CFA is at SP + 280.
    #[test]
    fn a_part_of_a_row_holds_until_an_instruction_changes_what_it_reads() {
        let build = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus/builds/gnu-2.47/amd64");
        let bytes = std::fs::read(build.join("offset_limits.O2")).expect("a build");
        let target = Target::open(&bytes).expect("a target");
        let module = target.executable();
        let section = module.section.as_ref().expect("a section");
        let code = module.code();
        let start = target.addresses_of("saved_256")[0].0;
        let function = start..start + 0x37;
        let said = |at: u64| Meaning::of(section, InstructionPointer(at).into());
        let (before, by_fp, behind) = (start + 0xd, start + 0x15, start + 0x29);
        let cfa = |at| match said(at) {
            Meaning::Row { cfa, .. } => RowPart::Cfa(cfa),
            other => panic!("{other:?} at {at:#x}"),
        };
        let (sp_rule, fp_rule) = (above(Base::Sp, 280), above(Base::Fp, 24));
        assert_eq!((cfa(before), cfa(by_fp), cfa(behind)), (sp_rule, fp_rule, sp_rule));
        let holds = |part, at: u64, stored_by: &[u64]| {
            let address = at;
            let of = Use { address, topmost: true, callers_fp_is_sp: false, stored_by: stored_by.to_vec() };
            Neighbours { section, code, abi: Abi::Amd64, of: &of, at, function: function.clone() }.hold(part)
        };
        // From the previous row, past a store and a call.
        assert!(holds(sp_rule, by_fp, &[]) && holds(sp_rule, behind - 7, &[]));
        // The previous instruction sets SP: its old value is unknown.
        assert!(holds(fp_rule, behind, &[]));
        assert!(!holds(above(Base::Sp, 288), by_fp, &[]));
        assert!(!holds(above(Base::Sp, 288), behind, &[]));
        // A word that is read is stored to in between.
        let last = code.before(behind).expect("an instruction");
        assert!(!holds(fp_rule, behind, &[last]));
    }
}
