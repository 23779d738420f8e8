//! The frames of functions at their instructions, as their code makes them.

use std::collections::BTreeMap;
use std::ops::Range;

use rustc_hash::FxHashMap;
use sframe_engine::{Abi, InstructionPointer};
use sframe_isa::{Code, Destination, Disassembly, Flow, FrameLayout, Instruction, Removals, SavedLocation};

use super::{Loaded, Module};

/// A function with more instructions than this is not analysed.
const MAX_INSTRUCTIONS: usize = 1 << 15;

/// The frames of functions, each analysed once: to know one instruction, the
/// whole function has to be followed.
#[derive(Debug, Default)]
pub(crate) struct FrameLayouts {
    by_function: FxHashMap<u64, Layouts>,
    removals: Removals,
}

/// A frame as the instructions before it make it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Followed {
    pub(crate) layout: FrameLayout,
    /// Whether that assumes that calls leave SP as it was: their callees are not known, or they lead to code of the
    /// function itself.
    pub(crate) assumes_calls: bool,
}

impl Followed {
    /// What is known where two paths meet.
    fn join(self, other: Self) -> Self {
        Self {
            layout: self.layout.join(other.layout),
            assumes_calls: self.assumes_calls || other.assumes_calls,
        }
    }
}

/// The frame before each instruction of a function; `None` if control is not known to reach it.
type Layouts = BTreeMap<u64, Option<Followed>>;

impl FrameLayouts {
    /// Returns the frame before the instruction of a function that contains an
    /// address. `None` if control can't be followed there.
    pub(crate) fn at(&mut self, module: &Module<'_>, function: Range<u64>, address: u64) -> Option<Followed> {
        let abi = module.subject.abi()?;
        let Self { by_function, removals } = self;
        let start = function.start;
        let known = by_function.entry(start).or_insert_with(|| {
            let code = module.code_in(function.clone());
            layouts(abi, &code, function, |callee| removals.of(abi, module, callee))
        });
        let (_, layout) = known.range(..=address).next_back()?;
        // A frame that would end above its SP is impossible, unless the function removes its arguments: what was
        // taken for the entry is the middle of a function.
        let is_possible = |sp: i64| sp >= 0 || removals.of(abi, module, start) >= Some(sp.unsigned_abs());
        layout.filter(|followed| followed.layout.sp.is_none_or(is_possible))
    }
}

impl Code for Module<'_> {
    fn look<T>(&self, address: u64, look: impl FnOnce(&Instruction) -> T) -> Option<T> {
        self.instruction(Loaded(address)).as_ref().map(look)
    }

    fn callee(&self, called: u64) -> Option<u64> {
        Some(called)
    }

    fn is_entry(&self, address: u64) -> bool {
        let fde = self.section.as_ref().map(|section| section.lookup_fde(InstructionPointer(address)));
        matches!(fde, Some(Ok(Some(fde))) if fde.start == address)
    }

    fn never_returns(&self, _: u64) -> bool {
        false
    }
}

/// Follows a function, given what its callees remove from the stack, if that is known.
fn layouts(
    abi: Abi,
    code: &Disassembly,
    function: Range<u64>,
    mut removed_by: impl FnMut(u64) -> Option<u64>,
) -> Layouts {
    if code.iter().nth(MAX_INSTRUCTIONS).is_some() {
        return Layouts::new();
    }
    let mut calls: FxHashMap<u64, Option<u64>> = FxHashMap::default();
    let mut removed = |callee: u64| *calls.entry(callee).or_insert_with(|| removed_by(callee));
    let calls_next = |(at, instruction): (u64, &Instruction)| {
        let next = at + instruction.len;
        instruction.flow == Flow::Call(Some(next)) && next != function.start && function.contains(&next)
    };
    let ways: &[bool] = if code.iter().any(calls_next) { &[true, false] } else { &[false] };
    // Those of which nothing is known keep the ABI, and calls to the next instruction fetch the PC, unless returns then
    // don't find what they need.
    let mut assumed = |callee: Option<u64>| {
        let known = callee.and_then(&mut removed);
        Some((known.unwrap_or(0), known.is_none()))
    };
    for &fetches_pc in ways {
        let found = followed(abi, code, &function, fetches_pc, &mut assumed);
        if !is_unbalanced(abi, code, &found) {
            return found;
        }
    }
    followed(abi, code, &function, false, &mut |callee| Some((callee.and_then(&mut removed)?, false)))
}

/// Whether a return finds SP below where the function's caller has left it, or not the return address that was saved:
/// then a callee has left SP elsewhere than was assumed.
fn is_unbalanced(abi: Abi, code: &Disassembly, layouts: &Layouts) -> bool {
    let returns = code
        .iter()
        .filter(|(_, instruction)| matches!(instruction.flow, Flow::Jump { to: Destination::Caller, .. }));
    returns.filter_map(|(at, instruction)| Some((layouts.get(&at)?.as_ref()?.layout, instruction))).any(
        |(layout, instruction)| {
            let at_entry = abi.cfa_offset_at_entry() + i64::from(instruction.removes);
            layout.sp.is_some_and(|sp| sp > at_entry)
                || abi.ra().is_some() && matches!(layout.ra, SavedLocation::OnStack(_))
        },
    )
}

/// Follows a function both ways at each branch. `removed` says what is removed by a callee, whose address is `None` if
/// it is not part of the call, and whether that is assumed; where it says nothing, SP is unknown from there on.
/// `fetches_pc` says what calls to the next instruction do: otherwise that may return.
fn followed(
    abi: Abi,
    code: &Disassembly,
    function: &Range<u64>,
    fetches_pc: bool,
    removed: &mut dyn FnMut(Option<u64>) -> Option<(u64, bool)>,
) -> Layouts {
    let mut before: Layouts = code.iter().map(|(address, _)| (address, None)).collect();
    let at_entry = Followed { layout: FrameLayout::at_entry(abi), assumes_calls: false };
    let mut open = vec![(function.start, at_entry)];
    while let Some((at, coming)) = open.pop() {
        let known = before.get(&at).copied().flatten();
        let joined = known.map_or(coming, |known| known.join(coming));
        if before.insert(at, Some(joined)) == Some(Some(joined)) {
            continue;
        }
        let Some(instruction) = code.at(at) else { continue };
        let next = at + instruction.len;
        let Followed { layout, mut assumes_calls } = joined;
        let mut after = layout.after(abi, instruction);
        if let Flow::Call(callee) = instruction.flow {
            let pushed = after.without_arguments(abi.fixed_ra_offset().unwrap_or(0).into());
            after = match callee.filter(|to| *to != function.start && function.contains(to)) {
                // It reads the PC.
                Some(label) if label == next && fetches_pc => pushed,
                // It skips data, or is a jump through a thunk. If it returns, that has removed what it has pushed.
                Some(label) => {
                    open.push((label, Followed { layout: pushed, assumes_calls: true }));
                    assumes_calls = true;
                    after
                }
                None => match removed(callee) {
                    Some((bytes, is_assumed)) => {
                        assumes_calls |= is_assumed;
                        after.without_arguments(bytes.cast_signed())
                    }
                    None => FrameLayout { sp: None, ..after },
                },
            };
        }
        let after = Followed { layout: after, assumes_calls };
        if let Some(target) = instruction.target().filter(|target| function.contains(target)) {
            open.push((target, after));
        }
        if instruction.falls_through() && function.contains(&next) {
            open.push((next, after));
        }
    }
    before
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The frame after some code that executes from its first instruction.
    fn after(abi: Abi, code: &[u8]) -> String {
        let instructions = Disassembly::of(abi, [(0, code)]);
        let end = code.len() as u64;
        let known = layouts(abi, &instructions, 0..end, |_| None);
        let (at, last) = instructions.iter().last().expect("an instruction");
        known[&at].expect("control reaches it").layout.after(abi, last).to_string()
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
    // call to the next instruction, and over four bytes: pop rdx
    #[case(Abi::Amd64, &[0xe8, 0, 0, 0, 0, 0x90], "CFA = SP+16, RA = *(CFA-8), FP unchanged")]
    #[case(Abi::Amd64, &[0xe8, 0, 0, 0, 0, 0x90, 0xc3], "CFA unknown, RA = *(CFA-8), FP unchanged")]
    #[case(Abi::Amd64, &[0xe8, 0, 0, 0, 0, 0x5a], "CFA = SP+8, RA = *(CFA-8), FP unchanged")]
    #[case(Abi::Amd64, &[0xe8, 4, 0, 0, 0, 0xeb, 0xfe, 0, 0, 0x90], "CFA = SP+16, RA = *(CFA-8), FP unchanged")]
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
