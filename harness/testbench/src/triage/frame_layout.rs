//! What the instructions of a function do to its frame: the distances of SP and
//! FP from the CFA, and where RA and the caller's FP are saved.
//!
//! It is derived from the code alone, without unwind data and without running
//! it. What cannot be determined is unknown.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;

use rustc_hash::FxHashMap;
use sframe_engine::{Abi, Base, DwarfRegister, Recovery, Row};

use super::inquiry::Values;
use crate::target::Module;
use crate::unwind::State;
use sframe_inspect::instructions::{Disassembly, Instruction, Operation, Place, Value};

/// A function with more instructions than this is not analysed.
const MAX_INSTRUCTIONS: usize = 1 << 15;

/// Where a value of the caller is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SavedLocation {
    /// In its own register.
    InRegister,
    /// On the stack, at an offset in bytes from the CFA.
    OnStack(i64),
    /// Unknown.
    Unknown,
}

/// The frame before an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FrameLayout {
    /// CFA - SP.
    sp: Option<i64>,
    /// CFA - FP.
    fp: Option<i64>,
    ra: SavedLocation,
    caller_fp: SavedLocation,
}

impl FrameLayout {
    fn at_entry(abi: Abi) -> Self {
        let on_stack = |offset: i8| SavedLocation::OnStack(offset.into());
        let ra = abi.fixed_ra_offset().map_or(SavedLocation::InRegister, on_stack);
        Self { sp: Some(abi.cfa_offset_at_entry()), fp: None, ra, caller_fp: SavedLocation::InRegister }
    }

    /// The distance of a register below the CFA.
    fn distance(self, abi: Abi, register: DwarfRegister) -> Option<i64> {
        if register == abi.sp() {
            self.sp
        } else if register == abi.fp() {
            self.fp
        } else {
            None
        }
    }

    /// The offset of a place from the CFA.
    fn offset_from_cfa(self, abi: Abi, place: &Place) -> Option<i64> {
        Some(place.offset - self.distance(abi, place.base)?)
    }

    /// Sets SP or FP, to a distance below the CFA if that is known.
    fn set(&mut self, abi: Abi, register: DwarfRegister, distance: Option<i64>) {
        if register == abi.sp() {
            self.sp = distance;
        } else if register == abi.fp() {
            self.fp = distance;
            if self.caller_fp == SavedLocation::InRegister {
                self.caller_fp = SavedLocation::Unknown;
            }
        }
    }

    /// Stores a value at an offset from the CFA.
    fn store(&mut self, abi: Abi, value: Value, offset: Option<i64>) {
        let (Value::Register(register), Some(offset)) = (value, offset) else { return };
        let saved = if register == abi.fp() {
            &mut self.caller_fp
        } else if abi.ra() == Some(register) {
            &mut self.ra
        } else {
            return;
        };
        if *saved == SavedLocation::InRegister {
            *saved = SavedLocation::OnStack(offset);
        }
    }

    /// Loads a register from an offset from the CFA.
    fn load(&mut self, abi: Abi, register: DwarfRegister, offset: Option<i64>) {
        let loaded = |saved: SavedLocation| match (saved, offset) {
            (SavedLocation::OnStack(at), Some(offset)) if at == offset => SavedLocation::InRegister,
            (SavedLocation::InRegister, _) => SavedLocation::Unknown,
            (saved, _) => saved,
        };
        if register == abi.fp() {
            self.fp = None;
            self.caller_fp = loaded(self.caller_fp);
        } else if abi.ra() == Some(register) {
            self.ra = loaded(self.ra);
        }
    }

    /// What two paths to an instruction have in common.
    fn join(self, other: Self) -> Self {
        let either =
            |one: SavedLocation, two: SavedLocation| if one == two { one } else { SavedLocation::Unknown };
        Self {
            sp: self.sp.filter(|_| self.sp == other.sp),
            fp: self.fp.filter(|_| self.fp == other.fp),
            ra: either(self.ra, other.ra),
            caller_fp: either(self.caller_fp, other.caller_fp),
        }
    }

    /// Which side it agrees with about the places that a row reads from. `None`
    /// if it does not show that.
    pub(super) fn side_of(&self, row: &Row) -> Option<crate::finding::Side> {
        use crate::finding::Side;
        let same = |kept: SavedLocation, recovery: &Recovery| match (kept, recovery) {
            (SavedLocation::InRegister, Recovery::Unchanged) => Some(true),
            (SavedLocation::OnStack(offset), Recovery::Rule(rule))
                if rule.base == Base::Cfa && rule.dereference =>
            {
                Some(rule.offset == offset)
            }
            (SavedLocation::OnStack(_), Recovery::Unchanged) => Some(false),
            (SavedLocation::InRegister, Recovery::Rule(rule)) if rule.base == Base::Cfa => Some(false),
            _ => None,
        };
        match (same(self.ra, &row.ra), same(self.caller_fp, &row.fp)) {
            (Some(false), _) | (_, Some(false)) => Some(Side::CallStack),
            (Some(true), Some(true)) => Some(Side::Section),
            _ => None,
        }
    }
}

impl fmt::Display for FrameLayout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.sp, self.fp) {
            (Some(sp), _) => write!(f, "CFA = SP{sp:+}")?,
            (None, Some(fp)) => write!(f, "CFA = FP{fp:+}")?,
            (None, None) => write!(f, "CFA unknown")?,
        }
        for (name, kept) in [("RA", self.ra), ("FP", self.caller_fp)] {
            match kept {
                SavedLocation::InRegister => write!(f, ", {name} unchanged")?,
                SavedLocation::OnStack(offset) => write!(f, ", {name} = *(CFA{offset:+})")?,
                SavedLocation::Unknown => write!(f, ", {name} unknown")?,
            }
        }
        Ok(())
    }
}

/// The values that a layout gives.
pub(super) fn values(
    layout: &FrameLayout,
    abi: Abi,
    state: &State,
    memory: &dyn Fn(u64) -> Option<u64>,
) -> Values {
    let from = |base: Option<u64>, offset: Option<i64>| Some(base?.wrapping_add_signed(offset?));
    let cfa = from(Some(state.sp), layout.sp).or_else(|| from(state.fp.ok(), layout.fp));
    let load = |kept| match (kept, cfa) {
        (SavedLocation::OnStack(offset), Some(cfa)) => memory(cfa.wrapping_add_signed(offset)),
        _ => None,
    };
    let fp =
        if layout.caller_fp == SavedLocation::InRegister { state.fp.ok() } else { load(layout.caller_fp) };
    // What is loaded may be signed.
    let ra = load(layout.ra).filter(|_| !abi.signs_return_addresses()).map(Some);
    Values { cfa, ra, fp, ..Values::default() }
}

/// The frames of functions, each analysed once: to know one instruction, the
/// whole function has to be followed.
#[derive(Debug, Default)]
pub(crate) struct FrameLayouts {
    by_function: FxHashMap<u64, Layouts>,
}

/// The frame before each instruction of a function; `None` if control is not known to reach it.
type Layouts = BTreeMap<u64, Option<FrameLayout>>;

impl FrameLayouts {
    /// Returns the frame before the instruction of a function that contains an
    /// address. `None` if control can't be followed there.
    pub(super) fn at(
        &mut self,
        module: &Module<'_>,
        function: Range<u64>,
        address: u64,
    ) -> Option<FrameLayout> {
        let abi = module.subject.abi()?;
        let analyse = || layouts(abi, &module.code_in(function.clone()), function.clone());
        let known = self.by_function.entry(function.start).or_insert_with(analyse);
        let (_, layout) = known.range(..=address).next_back()?;
        // A frame that would end above its SP is impossible: what was taken for the entry is the
        // middle of a function.
        layout.filter(|layout| layout.sp.is_none_or(|sp| sp >= 0))
    }
}

fn layouts(abi: Abi, code: &Disassembly, function: Range<u64>) -> Layouts {
    let mut before: Layouts = code.iter().map(|(address, _)| (address, None)).collect();
    if before.len() > MAX_INSTRUCTIONS {
        return Layouts::new();
    }
    let mut open = vec![(function.start, FrameLayout::at_entry(abi))];
    while let Some((at, coming)) = open.pop() {
        let known = before.get(&at).copied().flatten();
        let joined = known.map_or(coming, |known| known.join(coming));
        if before.insert(at, Some(joined)) == Some(Some(joined)) {
            continue;
        }
        let Some(instruction) = code.at(at) else { continue };
        let next = at + instruction.len;
        let after = step(abi, instruction, joined);
        if let Some(target) = instruction.target().filter(|target| function.contains(target)) {
            open.push((target, after));
        }
        if instruction.falls_through() && function.contains(&next) {
            open.push((next, after));
        }
    }
    before
}

/// The frame after an instruction.
fn step(abi: Abi, instruction: &Instruction, before: FrameLayout) -> FrameLayout {
    let (sp, fp) = (abi.sp(), abi.fp());
    let mut after = before;
    // Any instruction changes the registers that it writes.
    let mut defs = instruction.defs;
    match &instruction.operation {
        Operation::Add { to, from, offset } if *to == sp || *to == fp => {
            let cfa = before.distance(abi, *from).map(|distance| distance - offset);
            after.set(abi, *to, cfa);
            defs.remove(*to);
        }
        Operation::Store { values, place, size: 8 } => {
            let place = place.and_then(|place| before.offset_from_cfa(abi, &place));
            for (value, at) in values.iter().zip((0..).step_by(8)) {
                after.store(abi, *value, place.map(|place| place + at));
            }
        }
        Operation::Load { values, place, size: 8 } => {
            let place = place.and_then(|place| before.offset_from_cfa(abi, &place));
            for (value, at) in values.iter().zip((0..).step_by(8)) {
                let Value::Register(register) = *value else { continue };
                after.load(abi, register, place.map(|place| place + at));
                defs.remove(register);
                // One of several: as when all were saved, at the entry.
                if register == sp {
                    after.sp = FrameLayout::at_entry(abi).sp.filter(|_| values.len() > 1);
                }
            }
        }
        Operation::Leave => {
            after.load(abi, fp, before.fp.map(|fp| -fp));
            after.sp = before.fp.map(|fp| fp - 8);
            defs.remove(fp);
            defs.remove(sp);
        }
        _ => {}
    }
    if let Operation::Store { place: Some(place), .. } | Operation::Load { place: Some(place), .. } =
        instruction.operation
        && place.writeback != 0
        && defs.contains(place.base)
    {
        after.set(
            abi,
            place.base,
            before.distance(abi, place.base).map(|distance| distance - place.writeback),
        );
        defs.remove(place.base);
    }
    for register in [sp, fp].into_iter().filter(|register| defs.contains(*register)) {
        after.set(abi, register, None);
    }
    // A call leaves its own return address in the link register.
    if abi.ra().is_some_and(|ra| defs.contains(ra)) && after.ra == SavedLocation::InRegister {
        after.ra = SavedLocation::Unknown;
    }
    after
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The frame after some code that executes from its first instruction.
    fn after(abi: Abi, code: &[u8]) -> String {
        let instructions = Disassembly::of(abi, [(0, code)]);
        let end = code.len() as u64;
        let known = layouts(abi, &instructions, 0..end);
        let (at, last) = instructions.iter().last().expect("an instruction");
        step(abi, last, known[&at].expect("control reaches it")).to_string()
    }

    #[rstest::rstest]
    // push rbp; mov rbp, rsp; sub rsp, 0x20
    #[case(Abi::Amd64, &[0x55, 0x48, 0x89, 0xe5, 0x48, 0x83, 0xec, 0x20],
           "CFA = SP+48, RA = *(CFA-8), FP = *(CFA-16)")]
    // push rbp; mov rbp, rsp; and rsp, -16; lea rsp, [rbp - 8]
    #[case(Abi::Amd64, &[0x55, 0x48, 0x89, 0xe5, 0x48, 0x83, 0xe4, 0xf0, 0x48, 0x8d, 0x65, 0xf8],
           "CFA = SP+24, RA = *(CFA-8), FP = *(CFA-16)")]
    // push rbp; mov rbp, rsp; and rsp, -16
    #[case(Abi::Amd64, &[0x55, 0x48, 0x89, 0xe5, 0x48, 0x83, 0xe4, 0xf0],
           "CFA = FP+16, RA = *(CFA-8), FP = *(CFA-16)")]
    // push rbp; mov rbp, rsp; leave
    #[case(Abi::Amd64, &[0x55, 0x48, 0x89, 0xe5, 0xc9], "CFA = SP+8, RA = *(CFA-8), FP unchanged")]
    // sub rsp, 0x18; mov [rsp + 8], rbp; xor ebp, ebp
    #[case(Abi::Amd64, &[0x48, 0x83, 0xec, 0x18, 0x48, 0x89, 0x6c, 0x24, 8, 0x31, 0xed],
           "CFA = SP+32, RA = *(CFA-8), FP = *(CFA-24)")]
    // xor ebp, ebp
    #[case(Abi::Amd64, &[0x31, 0xed], "CFA = SP+8, RA = *(CFA-8), FP unknown")]
    // stp x29, x30, [sp, #-0x20]!; mov x29, sp
    #[case(Abi::Aarch64, &[0xfd, 0x7b, 0xbe, 0xa9, 0xfd, 3, 0, 0x91],
           "CFA = SP+32, RA = *(CFA-24), FP = *(CFA-32)")]
    // stp x29, x30, [sp, #-0x20]!; mov x29, sp; ldp x29, x30, [sp], #0x20
    #[case(Abi::Aarch64Be, &[0xfd, 0x7b, 0xbe, 0xa9, 0xfd, 3, 0, 0x91, 0xfd, 0x7b, 0xc2, 0xa8],
           "CFA = SP+0, RA unchanged, FP unchanged")]
    // paciasp; bl .
    #[case(Abi::Aarch64, &[0x3f, 0x23, 3, 0xd5], "CFA = SP+0, RA unchanged, FP unchanged")]
    #[case(Abi::Aarch64, &[0, 0, 0, 0x94], "CFA = SP+0, RA unknown, FP unchanged")]
    // stmg %r11, %r15, 0x58(%r15); lay %r15, -0xa0(%r15); lgr %r11, %r15
    #[case(Abi::S390x, &[0xeb, 0xbf, 0xf0, 0x58, 0, 0x24, 0xe3, 0xf0, 0xff, 0x60, 0xff, 0x71, 0xb9, 4, 0, 0xbf],
           "CFA = SP+320, RA = *(CFA-48), FP = *(CFA-72)")]
    // ... lmg %r11, %r15, 0xf8(%r15)
    #[case(Abi::S390x, &[0xeb, 0xbf, 0xf0, 0x58, 0, 0x24, 0xe3, 0xf0, 0xff, 0x60, 0xff, 0x71,
                         0xeb, 0xbf, 0xf0, 0xf8, 0, 4],
           "CFA = SP+160, RA unchanged, FP unchanged")]
    fn a_frame_is_followed_through_the_code(#[case] abi: Abi, #[case] code: &[u8], #[case] expected: &str) {
        assert_eq!(after(abi, code), expected);
    }
}
