//! How far a fault goes that begins at one place of a row: as long as nothing changes what is wrong there.

use std::collections::BTreeSet;
use std::sync::Arc;

use sframe_engine::{Abi, Base, DwarfRegister, Recovery, RecoveryRule, RowRules};
use sframe_inspect::instructions::{Disassembly, Instruction};
use sframe_judge::vocabulary::Verdict;

use super::{is_instruction, without_numbers};
use crate::spec::Sign;

/// The registers that the rules of a row read, and the one of which a verdict says that its rule is wrong.
fn read(abi: Abi, rules: &RowRules, verdict: Verdict) -> Vec<DwarfRegister> {
    let register = |rule: RecoveryRule| match rule.base {
        Base::Cfa => None,
        Base::Sp => Some(abi.sp()),
        Base::Fp => Some(abi.fp()),
        Base::Register(register) => Some(register),
    };
    let rule = |recovery: Recovery| match recovery {
        Recovery::Rule(rule) => Some(rule),
        Recovery::Undefined | Recovery::Unchanged => None,
    };
    let mut read: Vec<DwarfRegister> =
        [rules.cfa, rule(rules.ra), rule(rules.fp)].into_iter().flatten().filter_map(register).collect();
    match verdict {
        Verdict::WrongFp if rules.fp == Recovery::Unchanged => read.push(abi.fp()),
        Verdict::WrongRa if rules.ra == Recovery::Unchanged => read.extend(abi.ra()),
        _ => {}
    }
    read
}

/// The page of each of the places at which a row is wrong, by ascending addresses of the process: that of its own sign, or
/// of another place from which the fault goes on to it. A row may be wrong for several reasons, and the first of them is
/// not that of the others.
pub(super) fn pages<'f>(
    places: &[(u64, Option<(&'f str, &'f Sign)>)],
    code: impl Fn(u64) -> Arc<Disassembly>,
    row: Option<(Abi, &RowRules, Verdict)>,
) -> Vec<Option<&'f str>> {
    let mut pages: Vec<Option<&str>> = places.iter().map(|(_, sign)| sign.map(|(page, _)| page)).collect();
    let is_without_sign = |pc: u64| places.contains(&(pc, None));
    for (seed, (pc, sign)) in places.iter().enumerate() {
        let Some((page, sign)) = *sign else { continue };
        let around = code(*pc);
        if origin(&around, *pc, sign).is_some_and(is_without_sign) {
            pages[seed] = None;
            continue;
        }
        // The code of a library's function is known, and a fault of it is all that is wrong with the row from there on.
        let is_of_library = sign.library.is_some();
        let reached = row.filter(|_| !is_of_library).map(|row| reached(&around, *pc, sign, row));
        let goes_to = |place: u64| match &reached {
            Some(reached) => reached.contains(&place),
            None => is_of_library && *pc <= place,
        };
        for (page_of, _) in pages.iter_mut().zip(places).filter(|(_, (place, _))| goes_to(*place)) {
            page_of.get_or_insert(page);
        }
    }
    pages
}

/// Where what a sign says that a fault comes from begins. A row that is wrong there already is wrong for another reason.
fn origin(code: &Disassembly, pc: u64, sign: &Sign) -> Option<u64> {
    let (first, _) = code.within(0..pc).rev().nth(sign.after.len().checked_sub(1)?)?;
    Some(first)
}

/// The places that control comes to from one with a fault's sign, as long as the row is wrong in the same way: through
/// instructions that write no register that it reads, or that do again what the sign says the fault comes from, such as
/// the next `pop` of several. The first place is not among them, unless it is come to again.
fn reached(
    code: &Disassembly,
    from: u64,
    sign: &Sign,
    (abi, rules, verdict): (Abi, &RowRules, Verdict),
) -> BTreeSet<u64> {
    let read = read(abi, rules, verdict);
    let keeps = |instruction: &Instruction| {
        let is_same = |cause: &String| is_instruction(cause, &without_numbers(&instruction.text));
        !read.iter().any(|register| instruction.defs.contains(*register))
            || sign.after.last().is_some_and(is_same)
    };
    let mut reached = BTreeSet::new();
    let mut open = vec![from];
    while let Some(pc) = open.pop() {
        let Some(instruction) = code.at(pc).filter(|instruction| keeps(instruction)) else { continue };
        let next = instruction.falls_through().then(|| pc.wrapping_add(instruction.len));
        open.extend(next.into_iter().chain(instruction.target()).filter(|next| reached.insert(*next)));
    }
    reached
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    const SP: &str = "CFA = SP+8, RA = *(CFA-8), FP unchanged";
    const R10: &str = "CFA = r10, RA = *(CFA-8), FP = *(FP)";

    /// A pushed constant, which is wrong at its `pop`, goes on to nothing; the caller's FP, which has been popped, stays
    /// as long as nothing writes it; and each `pop` of arguments is one more.
    #[rstest]
    // push $7; pop %rax; sub $24,%rsp; nop; add $24,%rsp; ret
    #[case::another_size(
        &[0x6a, 7, 0x58, 0x48, 0x83, 0xec, 24, 0x90, 0x48, 0x83, 0xc4, 24, 0xc3],
        "push N", SP, Verdict::WrongCfa, 2, &[])]
    // push $7; pop %rax; push %rbx; nop; pop %rbx; ret: as much too low, and of another cause
    #[case::another_push(&[0x6a, 7, 0x58, 0x53, 0x90, 0x5b, 0xc3], "push N", SP, Verdict::WrongCfa, 2, &[])]
    // push $7; pop %rax; push %rbp; nop; pop %rbp; ret
    #[case::pushed_fp(&[0x6a, 7, 0x58, 0x55, 0x90, 0x5d, 0xc3], "push N", SP, Verdict::WrongCfa, 2, &[])]
    // push $7; nop; pop %rax; ret
    #[case::later_pop(&[0x6a, 7, 0x90, 0x58, 0xc3], "push N", SP, Verdict::WrongCfa, 2, &[3])]
    // leave; lea -8(%r10),%rsp; ret
    #[case::popped_fp(&[0xc9, 0x49, 0x8d, 0x62, 0xf8, 0xc3], "leave", R10, Verdict::WrongFp, 1, &[5])]
    // leave; mov %rbp,%rcx; mov $5,%ebp; nop; ret: not after another FP
    #[case::another_fp(
        &[0xc9, 0x48, 0x89, 0xe9, 0xbd, 5, 0, 0, 0, 0x90, 0xc3],
        "leave", R10, Verdict::WrongFp, 1, &[4])]
    // call; pop %rdx; pop %rcx; nop; push %rbx; nop; ret
    #[case::popped_arguments(
        &[0xe8, 0, 0, 0, 0, 0x5a, 0x59, 0x90, 0x53, 0x90, 0xc3],
        "pop R", SP, Verdict::WrongCfa, 6, &[7, 8])]
    // nop; jne +1; ret; nop; ret: both ways
    #[case::branches(&[0x90, 0x75, 1, 0xc3, 0x90, 0xc3], "nop", SP, Verdict::WrongCfa, 1, &[3, 4, 5])]
    fn a_fault_goes_on_until_something_else_changes_what_is_wrong(
        #[case] code: &[u8],
        #[case] after: &str,
        #[case] row: &str,
        #[case] verdict: Verdict,
        #[case] from: u64,
        #[case] expected: &[u64],
    ) {
        let abi = Abi::Amd64;
        let code = Disassembly::of(abi, [(0x1000, code)]);
        let sign = Sign {
            after: vec![after.to_owned()],
            ..Sign::of_row(abi, verdict.as_str(), "both sections", row)
        };
        let rules = row.parse().expect("rules");
        let reached = reached(&code, 0x1000 + from, &sign, (abi, &rules, verdict));
        assert_eq!(reached.into_iter().map(|pc| pc - 0x1000).collect::<Vec<_>>(), expected);
    }
}
