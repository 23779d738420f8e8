//! How far a fault goes that begins at one place of a row: as long as nothing changes what is wrong there.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;

use sframe_engine::{Abi, Base, DwarfRegister, InstructionPointer, Recovery, RecoveryRule, RowRules};
use sframe_isa::{Destination, Disassembly, Flow, Instruction, Operation, Place};
use sframe_judge::finding::Finding;
use sframe_judge::target::{Linked, Module};
use sframe_judge::vocabulary::Verdict;

use super::{PagesOfSigns, is_instruction, without_numbers};
use crate::spec::Sign;

/// A row that is wrong.
#[derive(Clone, Copy, Debug)]
pub struct WrongRow<'r> {
    /// The ABI.
    pub abi: Abi,
    /// Where the function starts, in the process.
    pub function: u64,
    /// Where it ends, what its first row says, and whether a later one says the same, if an FDE is known.
    pub fde: Option<(u64, RowRules, bool)>,
    /// What the row says.
    pub rules: &'r RowRules,
    /// What of it is wrong.
    pub verdict: Verdict,
}

impl<'r> WrongRow<'r> {
    /// That of a finding, if it is about a row.
    #[must_use]
    pub fn of(finding: &'r Finding, abi: Abi, module: &Module<'_>) -> Option<Self> {
        let row = finding.row.as_ref()?;
        let start = finding.row_pc?.0.wrapping_sub(row.start.0);
        let function = module.loaded(Linked(start)).0;
        let fde = || {
            let section = module.section.as_ref()?;
            let fde = section.lookup_fde(InstructionPointer(function)).ok().flatten()?;
            let mut rows = section.rows(&fde).flatten().map(|row| row.rules());
            let first = rows.next()?;
            Some((fde.start.saturating_add(fde.size.into()), first, rows.any(|later| later == first)))
        };
        Some(Self { abi, function, fde: fde(), rules: &row.rules, verdict: finding.verdict })
    }
}

/// What is known beside the places at which a row is wrong, by addresses of the process.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct SeenBeside<'r> {
    /// What has run, and whether it was compared, if there was a run.
    pub(super) ran: Option<&'r BTreeMap<u64, bool>>,
    /// All places at which something is wrong, if they are known.
    pub(super) wrong: Option<&'r BTreeSet<u64>>,
}

impl SeenBeside<'_> {
    /// Whether what comes before a place by its sign, and leads there, has run, and the first of it was compared: it is
    /// not known to be right where a sample has left it out.
    fn has_run(self, code: &Disassembly, pc: u64, sign: &Sign) -> bool {
        let Some(ran) = self.ran else { return true };
        let before: Vec<_> = code.within(0..pc).rev().take(sign.after.len()).collect();
        let ran = |(pc, _): &(u64, &Instruction)| ran.get(pc).copied();
        before.iter().any(|(_, instruction)| !instruction.falls_through())
            || before.iter().all(|at| ran(at).is_some())
                && before.last().is_none_or(|first| ran(first) == Some(true))
    }

    /// Whether something is wrong before a place already, if its sign says so: wherever control comes from, unless that is
    /// not in the text.
    fn is_wrong_before(self, code: &Disassembly, pc: u64, sign: &Sign) -> bool {
        let Some(wrong) = self.wrong.filter(|_| sign.continues) else { return true };
        let before = code.within(0..pc).next_back().filter(|(_, before)| before.falls_through());
        let jumps = code.iter().filter(|(_, instruction)| instruction.target() == Some(pc));
        let mut before = before.into_iter().chain(jumps).map(|(before, _)| before).peekable();
        before.peek().is_some() && before.all(|before| wrong.contains(&before))
    }
}

/// The registers that decide what the rule gives of which a verdict says that it is wrong.
fn read(abi: Abi, rules: &RowRules, verdict: Verdict) -> Vec<DwarfRegister> {
    let register = |rule: RecoveryRule| match rule.base {
        Base::Cfa => None,
        Base::Sp => Some(abi.sp()),
        Base::Fp => Some(abi.fp()),
        Base::Register(register) => Some(register),
    };
    let cfa = rules.cfa.and_then(register);
    let (recovery, own) = match verdict {
        Verdict::WrongCfa => return cfa.into_iter().collect(),
        Verdict::WrongFp => (rules.fp, Some(abi.fp())),
        Verdict::WrongRa => (rules.ra, abi.ra()),
        // Whatever it reads.
        _ => {
            let rule = |recovery| if let Recovery::Rule(rule) = recovery { register(rule) } else { None };
            return [cfa, rule(rules.ra), rule(rules.fp)].into_iter().flatten().collect();
        }
    };
    match recovery {
        Recovery::Rule(RecoveryRule { base: Base::Cfa, .. }) => cfa.into_iter().collect(),
        Recovery::Rule(rule) => register(rule).into_iter().collect(),
        Recovery::Unchanged => own.into_iter().collect(),
        Recovery::Undefined => Vec::new(),
    }
}

/// The page of a place, the sign of it there, where it ends if that is known, and the code.
type Seed<'f> = (&'f str, &'f Sign, Option<u64>, Arc<Disassembly>);

/// The page of each of the places at which a row is wrong, by ascending addresses of the process: that of its own sign, or
/// of another place from which the fault goes on to it. A row may be wrong for several reasons, and the first of them is
/// not that of the others.
pub(super) fn pages<'f>(
    places: &[(u64, PagesOfSigns<'f>)],
    code: impl Fn(u64) -> Arc<Disassembly>,
    row: Option<WrongRow<'_>>,
    beside: &SeenBeside<'_>,
) -> Vec<Option<&'f str>> {
    let mut own: Vec<Option<Seed<'f>>> = Vec::new();
    for (pc, signs) in places {
        let around = (!signs.is_empty()).then(|| code(*pc));
        // Of a place before, it is known by now.
        let is_of_another_cause =
            |pc: u64| places.iter().zip(&own).any(|((place, _), seed)| *place == pc && seed.is_none());
        let seed = around.and_then(|around| {
            signs.iter().find_map(|(page, sign)| {
                let is_of_another = origin(&around, *pc, sign).is_some_and(is_of_another_cause)
                    || is_come_to_otherwise(&around, *pc, sign)
                    || !beside.has_run(&around, *pc, sign)
                    || !beside.is_wrong_before(&around, *pc, sign)
                    || !is_in_such_a_function(&around, *pc, sign, row);
                let end = end(&around, *pc, sign, row).filter(|_| !is_of_another)?;
                Some((*page, *sign, end, Arc::clone(&around)))
            })
        });
        own.push(seed);
    }
    let mut pages: Vec<_> = own.iter().map(|seed| seed.as_ref().map(|(page, ..)| *page)).collect();
    for ((pc, _), seed) in places.iter().zip(&own) {
        let Some((page, sign, end, around)) = seed else { continue };
        // The code of a library's function is known, and a fault of it is all that is wrong with the row from there on.
        let is_of_library = sign.library.is_some();
        // A sign that says where in the row it is, and not how far it goes, is about that place.
        let is_of_place = sign.row_ends || sign.row_begins.is_some() && end.is_none();
        if is_of_place && !is_of_library {
            continue;
        }
        let reached = row.filter(|_| !is_of_library).map(|row| reached(around, *pc, row));
        let goes_to = |place: u64| match &reached {
            Some(reached) => reached.contains(&place),
            None => is_of_library && *pc <= place,
        };
        let is_of_it = |place: u64| goes_to(place) && end.is_none_or(|end| place <= end);
        for (page_of, _) in pages.iter_mut().zip(places).filter(|(_, (place, _))| is_of_it(*place)) {
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

/// Whether a function has before a place what a sign says that it has there, and nothing that it says not to be in it.
fn is_in_such_a_function(code: &Disassembly, pc: u64, sign: &Sign, row: Option<WrongRow<'_>>) -> bool {
    if let Some(WrongRow { abi, function, fde: Some((end, first, is_restored)), rules, verdict }) = row {
        if sign.without_epilogue && is_restored || comes_to(code, pc, function..end, abi, &sign.lacks) {
            return false;
        }
        let (own, of_first) =
            if verdict == Verdict::WrongFp { (rules.fp, first.fp) } else { (rules.ra, first.ra) };
        let is_in_memory = matches!(of_first, Recovery::Rule(rule) if rule.dereference);
        if sign.as_first_row && !(is_in_memory && own == of_first) {
            return false;
        }
    }
    let mut earlier = sign.earlier.iter().peekable();
    for (_, instruction) in row.into_iter().flat_map(|row| code.within(row.function..pc)) {
        let shape = || without_numbers(&instruction.text);
        earlier.next_if(|known| is_instruction(known, &shape()));
    }
    earlier.peek().is_none()
}

/// Whether control comes from a place of a function to one of these instructions in it. A jump to an address in a register
/// leads to any, unless SP has been replaced before: then it leaves the frame.
fn comes_to(code: &Disassembly, pc: u64, function: Range<u64>, abi: Abi, known: &[String]) -> bool {
    let is_known = |instruction: &Instruction| {
        let shape = without_numbers(&instruction.text);
        known.iter().any(|known| is_instruction(known, &shape))
    };
    let mut seen = BTreeSet::new();
    let mut open = vec![(pc, false)];
    while let Some((pc, has_left)) = open.pop() {
        let Some(instruction) = code.at(pc).filter(|_| function.contains(&pc)) else { continue };
        if is_known(instruction) {
            return true;
        }
        if matches!(instruction.flow, Flow::Jump { to: Destination::Indirect, .. }) && !has_left {
            return code.within(function).any(|(_, instruction)| is_known(instruction));
        }
        let moves_sp = matches!(instruction.operation, Operation::Add { from, .. } if from == abi.sp());
        let has_left = has_left || instruction.defs.contains(abi.sp()) && !moves_sp;
        let next = instruction.falls_through().then(|| pc.wrapping_add(instruction.len));
        let next = next.into_iter().chain(instruction.target()).map(|next| (next, has_left));
        open.extend(next.filter(|next| seen.insert(*next)));
    }
    false
}

/// Where the last instruction is that executes from a place on as a sign says; the inner `None` if it says nothing of that.
/// `None` if control goes elsewhere before, or an instruction takes more of the stack that is not for a call among them.
fn end(code: &Disassembly, pc: u64, sign: &Sign, row: Option<WrongRow<'_>>) -> Option<Option<u64>> {
    let mut later = sign.later.iter().peekable();
    let (mut next, mut end) = (pc, None);
    while later.peek().is_some() {
        let instruction = code.at(next)?;
        if later.next_if(|known| is_instruction(known, &without_numbers(&instruction.text))).is_some() {
            end = Some(next);
        } else if !instruction.falls_through()
            || matches!(instruction.flow, Flow::Call(_))
            || row.is_some_and(|row| takes_stack(instruction, row.abi))
                && !later.clone().any(|known| is_call(known))
        {
            return None;
        }
        next = next.wrapping_add(instruction.len);
    }
    Some(end)
}

/// Whether a sign names a call, for which arguments may be pushed.
fn is_call(known: &str) -> bool {
    known.starts_with("call ")
}

/// Whether an instruction lowers SP by a constant.
fn takes_stack(instruction: &Instruction, abi: Abi) -> bool {
    match instruction.operation {
        Operation::Add { to, from, offset } => to == abi.sp() && from == abi.sp() && offset < 0,
        Operation::Store { place: Some(Place { base, writeback, .. }), .. } => {
            base == abi.sp() && writeback < 0
        }
        _ => false,
    }
}

/// Whether control may come to a place with a fault's sign by another way than through the instructions before it, which
/// the sign names. Padding after a jump leads nowhere.
fn is_come_to_otherwise(code: &Disassembly, pc: u64, sign: &Sign) -> bool {
    let is_padding = |instruction: &Instruction| instruction.text.starts_with("nop");
    let mut before = code.within(0..pc).rev().skip_while(|(_, before)| is_padding(before));
    let before = before.next().filter(|_| !sign.after.is_empty());
    before.is_some_and(|(_, before)| before.falls_through())
        && code.iter().any(|(_, instruction)| instruction.target() == Some(pc))
}

/// The places that control comes to from one with a fault's sign, as long as the row is wrong in the same way: through
/// instructions that write no register that decides that. The first place is not among them, unless it is come to again.
fn reached(code: &Disassembly, from: u64, row: WrongRow<'_>) -> BTreeSet<u64> {
    let read = read(row.abi, row.rules, row.verdict);
    let keeps = |instruction: &Instruction| !read.iter().any(|register| instruction.defs.contains(*register));
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
    use crate::spec::RowBegins;

    const SP: &str = "CFA = SP+8, RA = *(CFA-8), FP unchanged";
    const R10: &str = "CFA = r10, RA = *(CFA-8), FP = *(FP)";

    /// A pushed constant, which is wrong at its `pop`, goes on to nothing; the caller's FP, which has been popped, stays
    /// as long as nothing writes it; and each `pop` of arguments is one more.
    #[rstest]
    // push $7; pop %rax; sub $24,%rsp; nop; add $24,%rsp; ret
    #[case::another_size(
        &[0x6a, 7, 0x58, 0x48, 0x83, 0xec, 24, 0x90, 0x48, 0x83, 0xc4, 24, 0xc3],
        SP, Verdict::WrongCfa, 2, &[])]
    // push $7; pop %rax; push %rbx; nop; pop %rbx; ret: as much too low, and of another cause
    #[case::another_push(&[0x6a, 7, 0x58, 0x53, 0x90, 0x5b, 0xc3], SP, Verdict::WrongCfa, 2, &[])]
    // push $7; pop %rax; push %rbp; nop; pop %rbp; ret
    #[case::pushed_fp(&[0x6a, 7, 0x58, 0x55, 0x90, 0x5d, 0xc3], SP, Verdict::WrongCfa, 2, &[])]
    // push $7; nop; pop %rax; ret
    #[case::later_pop(&[0x6a, 7, 0x90, 0x58, 0xc3], SP, Verdict::WrongCfa, 2, &[3])]
    // leave; lea -8(%r10),%rsp; ret
    #[case::popped_fp(&[0xc9, 0x49, 0x8d, 0x62, 0xf8, 0xc3], R10, Verdict::WrongFp, 1, &[5])]
    // leave; mov %rbp,%rcx; mov $5,%ebp; nop; ret: not after another FP
    #[case::another_fp(
        &[0xc9, 0x48, 0x89, 0xe9, 0xbd, 5, 0, 0, 0, 0x90, 0xc3],
        R10, Verdict::WrongFp, 1, &[4])]
    // leave; lea -8(%r10),%rsp; ret: the CFA is r10, whatever FP is
    #[case::wrong_cfa_register(&[0x90, 0xc9, 0x49, 0x8d, 0x62, 0xf8, 0xc3], R10, Verdict::WrongCfa, 1, &[2, 6])]
    // nop; jne +1; ret; nop; ret: both ways
    #[case::branches(&[0x90, 0x75, 1, 0xc3, 0x90, 0xc3], SP, Verdict::WrongCfa, 1, &[3, 4, 5])]
    fn a_fault_goes_on_until_something_else_changes_what_is_wrong(
        #[case] code: &[u8],
        #[case] row: &str,
        #[case] verdict: Verdict,
        #[case] from: u64,
        #[case] expected: &[u64],
    ) {
        let abi = Abi::Amd64;
        let code = Disassembly::of(abi, [(0x1000, code)]);
        let rules = row.parse().expect("rules");
        let row = WrongRow { abi, function: 0x1000, fde: None, rules: &rules, verdict };
        let reached = reached(&code, 0x1000 + from, row);
        assert_eq!(reached.into_iter().map(|pc| pc - 0x1000).collect::<Vec<_>>(), expected);
    }

    /// What is before an instruction in the text has not executed before it where a jump leads to it.
    #[rstest]
    // push $7; pop %rax; ret
    #[case(&[0x6a, 7, 0x58, 0xc3], true)]
    // push $7; pop %rax; jmp to the pop
    #[case(&[0x6a, 7, 0x58, 0xeb, 0xfd], false)]
    fn a_place_is_after_what_has_led_to_it(#[case] code: &[u8], #[case] is_page: bool) {
        let code = Arc::new(Disassembly::of(Abi::Amd64, [(0x1000, code)]));
        let sign = Sign {
            after: vec!["push N".to_owned()],
            cfa: Some("8 too low".parse().expect("an error")),
            row_begins: Some(RowBegins::Before),
            ..Sign::of_row(Abi::Amd64, "wrong-cfa", "both sections", SP)
        };
        let places = [(0x1002, vec![("page", &sign)]), (0x1003, vec![])];
        let rules = SP.parse().expect("rules");
        let row = WrongRow {
            abi: Abi::Amd64,
            function: 0x1000,
            fde: None,
            rules: &rules,
            verdict: Verdict::WrongCfa,
        };
        let pages = pages(&places, |_| Arc::clone(&code), Some(row), &SeenBeside::default());
        assert_eq!(pages, [is_page.then_some("page"), None]);
    }

    /// What a fault needs to follow does, without a jump, and the fault ends there.
    #[rstest]
    // leave; nop; lea -8(%r10),%rsp; ret
    #[case(&[0xc9, 0x90, 0x49, 0x8d, 0x62, 0xf8, 0xc3], [true, true, false])]
    // leave; ret; nop; lea -8(%r10),%rsp
    #[case(&[0xc9, 0xc3, 0x90, 0x49, 0x8d, 0x62, 0xf8], [false; 3])]
    // leave; nop; lea -8(%rax),%rsp; ret: another register
    #[case(&[0xc9, 0x90, 0x48, 0x8d, 0x60, 0xf8, 0xc3], [false; 3])]
    fn what_follows_is_what_a_fault_needs(#[case] code: &[u8], #[case] expected: [bool; 3]) {
        let code = Arc::new(Disassembly::of(Abi::Amd64, [(0x1000, code)]));
        let sign = Sign {
            after: vec!["leave".to_owned()],
            later: vec!["lea rsp, [r10 - N]".to_owned()],
            ..Sign::of_row(Abi::Amd64, "wrong-fp", "both sections", R10)
        };
        let rules = R10.parse().expect("rules");
        let row = WrongRow {
            abi: Abi::Amd64,
            function: 0x1000,
            fde: None,
            rules: &rules,
            verdict: Verdict::WrongFp,
        };
        let places = [(0x1001, vec![("page", &sign)]), (0x1002, vec![]), (0x1006, vec![])];
        let pages = pages(&places, |_| Arc::clone(&code), Some(row), &SeenBeside::default());
        assert_eq!(pages, expected.map(|is_page| is_page.then_some("page")));
    }

    /// What a fault needs of the function is in the function, and before it.
    #[rstest]
    // and $-64,%rsp; push %rbp; leave; ret
    #[case(&[0x48, 0x83, 0xe4, 0xc0, 0x55, 0xc9, 0xc3], 0x1000, 6, true)]
    // The same, where the function starts after the `and`.
    #[case(&[0x48, 0x83, 0xe4, 0xc0, 0x55, 0xc9, 0xc3], 0x1004, 6, false)]
    // push %rbp; leave; ret; and $-64,%rsp
    #[case(&[0x55, 0xc9, 0xc3, 0x48, 0x83, 0xe4, 0xc0], 0x1000, 2, false)]
    // push %rbp; and $-64,%rax; leave; ret
    #[case(&[0x55, 0x48, 0x83, 0xe0, 0xc0, 0xc9, 0xc3], 0x1000, 6, false)]
    fn a_function_has_what_a_fault_needs(
        #[case] code: &[u8],
        #[case] function: u64,
        #[case] pc: u64,
        #[case] is_page: bool,
    ) {
        let code = Arc::new(Disassembly::of(Abi::Amd64, [(0x1000, code)]));
        let sign = Sign {
            after: vec!["leave".to_owned()],
            earlier: vec!["and rsp, N".to_owned()],
            ..Sign::of_row(Abi::Amd64, "wrong-fp", "both sections", R10)
        };
        let rules = R10.parse().expect("rules");
        let row = WrongRow { abi: Abi::Amd64, function, fde: None, rules: &rules, verdict: Verdict::WrongFp };
        let places = [(0x1000 + pc, vec![("page", &sign)])];
        assert_eq!(
            pages(&places, |_| Arc::clone(&code), Some(row), &SeenBeside::default()),
            [is_page.then_some("page")]
        );
    }
    /// Signs that differ only in what the function has, or in what follows, do not hide one another.
    #[rstest]
    // leave; nop; lea -8(%r10),%rsp; ret
    #[case(&[0xc9, 0x90, 0x49, 0x8d, 0x62, 0xf8, 0xc3], Some("first"))]
    // leave; pop %rbp; ret
    #[case(&[0xc9, 0x5d, 0xc3], Some("second"))]
    // leave; jmp to it
    #[case(&[0xc9, 0xeb, 0xfe], None)]
    // leave; call f, or push %rax; lea -8(%r10),%rsp; ret
    #[case(&[0xc9, 0xe8, 0, 0, 0, 0, 0x49, 0x8d, 0x62, 0xf8, 0xc3], None)]
    #[case(&[0xc9, 0x50, 0x49, 0x8d, 0x62, 0xf8, 0xc3], None)]
    fn of_several_signs_that_counts_which_the_code_has(#[case] code: &[u8], #[case] expected: Option<&str>) {
        let code = Arc::new(Disassembly::of(Abi::Amd64, [(0x1000, code)]));
        let with_later = |later: &str| Sign {
            after: vec!["leave".to_owned()],
            later: vec![later.to_owned()],
            ..Sign::of_row(Abi::Amd64, "wrong-fp", "both sections", R10)
        };
        let (first, second) = (with_later("lea rsp, [r10 - N]"), with_later("pop rbp"));
        let rules = R10.parse().expect("rules");
        let row = WrongRow {
            abi: Abi::Amd64,
            function: 0x1000,
            fde: None,
            rules: &rules,
            verdict: Verdict::WrongFp,
        };
        let (first, second) = (("first", &first), ("second", &second));
        for signs in [vec![first, second], vec![second, first]] {
            let page = pages(&[(0x1001, signs)], |_| Arc::clone(&code), Some(row), &SeenBeside::default());
            assert_eq!(page, [expected]);
        }
    }
}
