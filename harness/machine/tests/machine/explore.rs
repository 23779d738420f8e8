//! Functions executed by themselves: where their paths lead, and what they assume.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ops::Range;

use rustc_hash::{FxHashMap, FxHashSet};
use sframe_engine::DwarfRegister;
use sframe_machine::explore::{
    Assumption, Binary, Callee, Class, Content, Departure, Explored, Function, Leaving, Observer, Point,
    Returns, Seed, explore,
};
use sframe_machine::{AMD64, Cpu, Images, S390X};

use crate::executable::{CODE, executable};

/// What was shown of one function.
#[derive(Default)]
struct Seen {
    next: Option<Function>,
    /// Where paths led, with what one of them assumed.
    reached: BTreeMap<u64, Vec<Assumption>>,
    /// RDI, the word above the return address, and the word that RDI points to, at the entry.
    given: Option<[Option<u64>; 3]>,
    /// What RBP and RBX hold, by instruction.
    contents: BTreeMap<u64, [Content; 2]>,
    /// The instruction of the last store to the word below the return address, at each instruction.
    stored: BTreeMap<u64, Option<(u64, bool)>>,
    leaves: BTreeSet<(u64, Departure, bool)>,
    /// What returns remove from the stack.
    removed: BTreeSet<u64>,
    result: Explored,
}

impl Observer for Seen {
    fn next(&mut self) -> Option<Function> {
        self.next.take()
    }

    fn instruction(&mut self, point: &Point<'_>) -> Class {
        let moment = &point.moment;
        let pc = moment.pc - CODE;
        self.reached.entry(pc).or_insert_with(|| point.assumptions.to_vec());
        let cfa = moment.call_stack.records()[0].cfa;
        if pc == 0 && self.given.is_none() {
            let rdi = moment.register(5);
            let pointed = rdi.and_then(|rdi| moment.memory.read_u64(rdi));
            self.given = Some([rdi, moment.memory.read_u64(cfa), pointed]);
        }
        let store = point.last_store(cfa - 16).map(|store| (store.pc - CODE, store.is_in_frame));
        self.stored.insert(pc, store);
        self.contents.insert(pc, [6, 3].map(|number| point.content(DwarfRegister(number))));
        0
    }

    fn leaves(&mut self, point: &Point<'_>, leaving: Leaving) {
        let Leaving { departure, is_regular, removed } = leaving;
        self.leaves.insert((point.moment.pc.wrapping_sub(CODE), departure, is_regular));
        self.removed.extend(removed);
    }

    fn explored(&mut self, _: &Function, result: &Explored) {
        self.result = *result;
    }
}

/// What is known of the code, by offsets.
#[derive(Clone, Default)]
struct Known {
    entries: Vec<u64>,
    stubs: Range<u64>,
    never_return: Vec<u64>,
}

fn explored(code: &[u8], known: &Known, seed: Seed, budget: u64) -> Seen {
    let mut seen = Seen {
        next: Some(Function {
            entry: CODE,
            seed,
            budget,
            is_entry_point: false,
            link: None,
            is_signal: false,
        }),
        ..Seen::default()
    };
    explored_on(&AMD64, code, known, &mut seen);
    seen
}

fn explored_on(cpu: &'static Cpu, code: &[u8], known: &Known, observer: &mut dyn Observer) {
    let mut bytes = executable(cpu, code);
    // Its segment: readable and executable. What can be written is no table's target.
    bytes[if cpu.abi.is_big_endian() { 71 } else { 68 }] = 5;
    let images = Images::alone(&bytes).expect("a sound file");
    let at = |offset: u64| CODE + offset;
    let body = CODE..CODE + code.len() as u64;
    let set = |offsets: &[u64]| offsets.iter().copied().map(at).collect::<FxHashSet<u64>>();
    let binary = Binary {
        image: images.executable(),
        words: Vec::new(),
        entries: set(&known.entries),
        called: set(&known.entries),
        trampolines: Vec::new(),
        stubs: at(known.stubs.start)..at(known.stubs.end),
        aliases: FxHashMap::default(),
        returns: known.never_return.iter().map(|entry| (at(*entry), Returns::Never)).collect(),
        bodies: vec![body],
        landing_pads: Vec::new(),
        pushed_arguments: Vec::new(),
        is_kernel: false,
        detours: FxHashMap::default(),
        traced: FxHashSet::default(),
    };
    explore(&binary, observer).expect("a machine");
}

/// What was shown of several functions: FP and the assumptions, by instruction.
#[derive(Default)]
struct InOrder {
    next: VecDeque<Function>,
    shown: BTreeMap<u64, (u64, Vec<Assumption>)>,
}

impl Observer for InOrder {
    fn next(&mut self) -> Option<Function> {
        self.next.pop_front()
    }

    fn instruction(&mut self, point: &Point<'_>) -> Class {
        self.shown.insert(point.moment.pc - CODE, (point.moment.fp, point.assumptions.to_vec()));
        0
    }

    fn leaves(&mut self, _: &Point<'_>, _: Leaving) {}

    fn explored(&mut self, _: &Function, _: &Explored) {}
}

/// Explores the functions at some offsets, one after another.
fn in_order(cpu: &'static Cpu, code: &[u8], entries: &[u64]) -> BTreeMap<u64, (u64, Vec<Assumption>)> {
    let function = |entry: &u64| Function {
        entry: CODE + entry,
        seed: Seed::Pointers,
        budget: 1000,
        is_entry_point: false,
        link: None,
        is_signal: false,
    };
    let mut seen = InOrder { next: entries.iter().map(function).collect(), ..InOrder::default() };
    let known = Known { entries: entries.to_vec(), ..Known::default() };
    explored_on(cpu, code, &known, &mut seen);
    seen.shown
}

/// Nothing that one function stores is there for the next one, whether the emulator reports it or not.
#[test]
fn what_a_function_stores_is_not_left_to_the_next_one() {
    // mvc 0(8,%r2),0(%r15); br %r14; lg %r11,0(%r2); br %r14.
    let code = [0xd2, 7, 0x20, 0, 0xf0, 0, 0x07, 0xfe, 0xe3, 0xb0, 0x20, 0, 0, 4, 0x07, 0xfe];
    for order in [&[0, 8][..], &[8]] {
        assert_eq!(in_order(&S390X, &code, order)[&14].0, 0, "{order:?}");
    }
}

/// What is known of a function does not depend on which one was asked for first: of two that call each other, and of more
/// than are looked at together.
#[test]
fn whether_callees_return_is_the_same_in_any_order() {
    // test %edi,%edi; je 1f; call 2f; 1: ret; 2: call 0; ret; call 2b; ret.
    let code = [
        0x85, 0xff, 0x74, 5, 0xe8, 1, 0, 0, 0, 0xc3, 0xe8, 0xf1, 0xff, 0xff, 0xff, 0xc3, 0xe8, 0xf5, 0xff,
        0xff, 0xff, 0xc3,
    ];
    let returns = |shown: &BTreeMap<u64, (u64, Vec<Assumption>)>, at: u64| {
        shown[&at].1.iter().find_map(|assumption| match assumption {
            Assumption::Call { returns, .. } => Some(*returns),
            _ => None,
        })
    };
    for order in [&[0, 10, 16][..], &[10, 16, 0], &[16, 0, 10]] {
        assert_eq!(returns(&in_order(&AMD64, &code, order), 21), Some(Returns::Sometimes), "{order:?}");
    }
    // Each function calls the next one; the last one is ud2. Nothing comes after the first call.
    let mut chain: Vec<u8> = [0xe8, 1, 0, 0, 0, 0xc3].repeat(40);
    chain.extend([0x0f, 0x0b]);
    let entries: Vec<u64> = (0..=40).map(|number| 6 * number).collect();
    let backwards: Vec<u64> = entries.iter().rev().copied().collect();
    for order in [&entries, &backwards] {
        assert_eq!(in_order(&AMD64, &chain, order).get(&5), None, "{order:?}");
    }
}

fn of(code: &[u8]) -> Seen {
    explored(code, &Known::default(), Seed::Pointers, 10_000)
}

fn reached(seen: &Seen) -> Vec<u64> {
    seen.reached.keys().copied().collect()
}

#[test]
fn both_ways_of_a_branch_are_followed_and_joined() {
    // test %edi,%edi; je 1f; nop; 1: nop; ret.
    let seen = of(&[0x85, 0xff, 0x74, 0x01, 0x90, 0x90, 0xc3]);
    assert_eq!(reached(&seen), [0, 2, 4, 5, 6]);
    assert_eq!(seen.leaves, BTreeSet::from([(6, Departure::Return, true)]));
    assert_eq!((seen.result.paths, seen.result.is_cut), (2, false));
    // One that depends on SP: cmp %rax,%rsp; ja 1f; nop; 1: ret.
    let seen = of(&[0x48, 0x39, 0xc4, 0x77, 0x01, 0x90, 0xc3]);
    assert_eq!(seen.result.paths, 1);
}

#[test]
fn a_return_is_regular_if_everything_is_as_callees_leave_it() {
    for (code, is_regular) in [
        (&[0xc3][..], true),
        // push %rbx; pop %rbx; ret.
        (&[0x53, 0x5b, 0xc3], true),
        // push %rbx; pop %rbp; ret.
        (&[0x53, 0x5d, 0xc3], false),
        // xor %ebx,%ebx; ret.
        (&[0x31, 0xdb, 0xc3], false),
        // ret $8.
        (&[0xc2, 8, 0], true),
    ] {
        let leaves: Vec<bool> = of(code).leaves.into_iter().map(|(.., is_regular)| is_regular).collect();
        assert_eq!(leaves, [is_regular], "{code:02x?}");
    }
}

/// A table of absolute addresses behind the code, and its index in EDI.
fn with_table(code: &[u8], targets: &[u64]) -> Vec<u8> {
    let mut bytes = code.to_vec();
    bytes.resize(bytes.len().next_multiple_of(8), 0xcc);
    let table = u32::try_from(CODE + bytes.len() as u64).expect("a small address");
    // jmp *table(,%rax,8).
    let at = code.windows(3).position(|bytes| bytes == [0xff, 0x24, 0xc5]).expect("a jump");
    bytes[at + 3..at + 7].copy_from_slice(&table.to_le_bytes());
    targets.iter().for_each(|target| bytes.extend((CODE + target).to_le_bytes()));
    bytes.extend([0; 8]);
    bytes
}

#[test]
fn all_elements_of_a_table_are_followed_up_to_its_bound() {
    // cmp $3,%edi; ja 5f; mov %edi,%eax; jmp *table(,%rax,8); four of nop, ret; 5: ret.
    let code = [
        0x83, 0xff, 0x03, 0x77, 0x11, 0x89, 0xf8, 0xff, 0x24, 0xc5, 0, 0, 0, 0, 0x90, 0xc3, 0x90, 0xc3, 0x90,
        0xc3, 0x90, 0xc3, 0xc3,
    ];
    // The element behind the bound would lead to the entry.
    let code = with_table(&code, &[14, 16, 18, 20, 0]);
    for seed in [Seed::Pointers, Seed::Numbers] {
        let seen = explored(&code, &Known::default(), seed, 10_000);
        assert_eq!(reached(&seen), [0, 3, 5, 7, 14, 15, 16, 17, 18, 19, 20, 21, 22], "{seed:?}");
        let table = Assumption::Table { at: CODE + 7, to: CODE + 18, is_bounded: true };
        assert!(seen.reached[&18].contains(&table), "{:?}", seen.reached[&18]);
        assert_eq!(seen.result.unresolved_jumps, 0);
    }
}

#[test]
fn a_table_without_a_bound_ends_where_its_elements_lead_elsewhere() {
    // mov %edi,%eax; jmp *table(,%rax,8); two of nop, ret.
    let code = [0x89, 0xf8, 0xff, 0x24, 0xc5, 0, 0, 0, 0, 0x90, 0xc3, 0x90, 0xc3];
    let seen = of(&with_table(&code, &[9, 11]));
    assert_eq!(reached(&seen), [0, 2, 9, 10, 11, 12]);
    assert_eq!(seen.reached[&11], [Assumption::Table { at: CODE + 2, to: CODE + 11, is_bounded: false }]);
    // push %rcx; jmp *%rax: not from a table, and not a tail call.
    let seen = of(&[0x51, 0xff, 0xe0]);
    assert_eq!((seen.result.unresolved_jumps, seen.leaves.len()), (1, 0));
    // jmp *%rax.
    assert_eq!(of(&[0xff, 0xe0]).leaves, BTreeSet::from([(0, Departure::Otherwise, true)]));
}

#[test]
fn a_jump_to_a_named_function_is_recognised() {
    // The code, and what is at 16: a function, or a function's name for one of another file.
    let known = Known { entries: vec![0, 16], ..Known::default() };
    for (code, departure) in [
        // jmp 16.
        (&[0xeb, 14][..], Departure::DirectJump),
        // lea 16(%rip),%rax; jmp *%rax.
        (&[0x48, 0x8d, 0x05, 9, 0, 0, 0, 0xff, 0xe0], Departure::Otherwise),
    ] {
        let mut code = code.to_vec();
        code.resize(16, 0xcc);
        code.push(0xc3);
        let leaves = explored(&code, &known, Seed::Pointers, 100).leaves;
        let ways: Vec<_> =
            leaves.into_iter().map(|(_, departure, is_regular)| (departure, is_regular)).collect();
        assert_eq!(ways, [(departure, true)], "{code:02x?}");
    }
}

#[test]
fn numbers_are_distinguished_from_possible_addresses() {
    use Content::{Number, OfCaller, Other};
    // The code, and what RBP and RBX hold behind it.
    for (code, contents) in [
        // nop.
        (&[0x90][..], [Other, OfCaller]),
        // mov %edi,%ebp.
        (&[0x89, 0xfd], [Number, OfCaller]),
        // mov %edi,%ebp; mov %rdi,%rbp.
        (&[0x89, 0xfd, 0x48, 0x89, 0xfd], [Other, OfCaller]),
        // mov $5,%ebx, and an address: mov $0x404000,%ebp.
        (&[0xbb, 5, 0, 0, 0, 0xbd, 0, 0x40, 0x40, 0], [Other, Number]),
        // mov (%rdi),%ebp; call *%rax, which preserves both.
        (&[0x8b, 0x2f, 0xff, 0xd0], [Number, OfCaller]),
        // The low half of RBX changes alone: mov $1,%bx.
        (&[0x66, 0xbb, 1, 0], [Other, Other]),
    ] {
        let seen = of(&[code, &[0xc3]].concat());
        assert_eq!(seen.contents[&(code.len() as u64)], contents, "{code:02x?}");
    }
}

/// call 16; nop; ret; and a callee.
fn with_callee(callee: &[u8]) -> Vec<u8> {
    let mut code = vec![0xe8, 11, 0, 0, 0, 0x90, 0xc3];
    code.resize(16, 0xcc);
    code.extend(callee);
    code
}

#[test]
fn what_comes_after_a_call_depends_on_whether_the_callee_returns() {
    let known = Known { entries: vec![0, 16, 32], ..Known::default() };
    let after = |callee: &[u8], known: &Known| {
        let seen = explored(&with_callee(callee), known, Seed::Pointers, 10_000);
        seen.reached.get(&5).map(|assumptions| match assumptions[..] {
            [Assumption::Call { at: CODE, callee: Callee::Function(_), returns, .. }] => returns,
            _ => panic!("{assumptions:?}"),
        })
    };
    for (callee, returns) in [
        // test %edi,%edi; je 1f; ud2; 1: ret.
        (&[0x85, 0xff, 0x74, 0x02, 0x0f, 0x0b, 0xc3][..], Some(Returns::Sometimes)),
        // ud2.
        (&[0x0f, 0x0b], None),
        // 1: jmp 1b.
        (&[0xeb, 0xfe], None),
        // jmp *%rax.
        (&[0xff, 0xe0], Some(Returns::Unknown)),
        // call *%rax; ret.
        (&[0xff, 0xd0, 0xc3], Some(Returns::Unknown)),
        // It calls itself, and returns if that returns.
        (&[0xe8, 0xfb, 0xff, 0xff, 0xff, 0xc3], Some(Returns::Unknown)),
        // test %edi,%edi; je 1f; call itself; 1: ret.
        (&[0x85, 0xff, 0x74, 0x05, 0xe8, 0xf7, 0xff, 0xff, 0xff, 0xc3], Some(Returns::Sometimes)),
    ] {
        assert_eq!(after(callee, &known), returns, "{callee:02x?}");
    }
    let never = Known { never_return: vec![16], ..known.clone() };
    assert_eq!(after(&[0xc3], &never), None);
    // A function of another file, or a jump to one.
    let stub = Known { stubs: 16..32, ..known.clone() };
    assert_eq!(after(&[0x0f, 0x0b], &stub), Some(Returns::Unknown));
    let mut jump = vec![0xeb, 14];
    jump.resize(16, 0xcc);
    jump.extend([0x0f, 0x0b]);
    assert_eq!(after(&jump, &known), None);
    assert_eq!(after(&jump, &Known { stubs: 32..48, ..known }), Some(Returns::Unknown));
}

#[test]
fn what_a_function_is_given_depends_on_the_seed() {
    let given = |seed| explored(&[0xc3], &Known::default(), seed, 100).given.expect("an entry");
    let [rdi, on_stack, pointed] = given(Seed::Pointers);
    assert!(rdi > Some(1 << 32) && on_stack > rdi, "{rdi:x?}, {on_stack:x?}");
    // Nothing is there until the function looks.
    assert_eq!(pointed, None);
    let [rdi, on_stack, _] = given(Seed::Numbers);
    assert!(rdi < Some(16) && on_stack < Some(32) && rdi.is_some(), "{rdi:x?}, {on_stack:x?}");
    // mov (%rdi),%rax; test %rax,%rax; je 1f; nop; 1: ret: memory is zero, or small numbers.
    for seed in [Seed::Pointers, Seed::Numbers] {
        let code = [0x48, 0x8b, 0x07, 0x48, 0x85, 0xc0, 0x74, 0x01, 0x90, 0xc3];
        let seen = explored(&code, &Known::default(), seed, 100);
        let (natural, forced) = if seed == Seed::Pointers { (9, 8) } else { (8, 9) };
        assert!(seen.reached[&natural].is_empty(), "{seed:?}");
        if seed == Seed::Pointers {
            assert!(matches!(seen.reached[&forced][..], [Assumption::Forced { .. }]), "{seed:?}");
        }
    }
}

#[test]
fn stores_to_the_frame_are_recognised() {
    // push %rbx; lea (%rsp),%rax; mov %rcx,(%rax); nop; pop %rbx; ret.
    let seen = of(&[0x53, 0x48, 0x8d, 0x04, 0x24, 0x48, 0x89, 0x08, 0x90, 0x5b, 0xc3]);
    assert_eq!(seen.stored[&0], None);
    assert_eq!(seen.stored[&1], Some((0, true)));
    assert_eq!(seen.stored[&8], Some((5, false)));
}

/// The emulator would move SP: the rest of the instruction is that of `cmovnp %edx,%esp`.
#[test]
fn what_the_emulator_takes_for_another_instruction_is_skipped() {
    // kunpckbw %k2,%k3,%k4; ret.
    let seen = of(&[0xc5, 0xe5, 0x4b, 0xe2, 0xc3]);
    // Its result is in a register that is not followed, and it does nothing else.
    let skipped = Assumption::Skipped { at: CODE, is_system: false, may_store: false };
    assert_eq!(seen.reached[&4], [skipped]);
    assert_eq!(seen.leaves, BTreeSet::from([(4, Departure::Return, true)]));
}

/// What it stores is not known, and where it does is.
#[test]
fn a_vector_that_is_not_executed_is_stored_where_the_instruction_says() {
    // push %rbx; vmovdqa %ymm0,-32(%rsp); pop %rbx; ret, and with (%rsp) instead.
    for (offset, is_lost) in [(0xe0, false), (0, true)] {
        let seen = of(&[0x53, 0xc5, 0xfd, 0x7f, 0x44, 0x24, offset, 0x5b, 0xc3]);
        let skipped = Assumption::Skipped { at: CODE + 1, is_system: false, may_store: false };
        assert_eq!(seen.reached[&7], [skipped]);
        assert_eq!(seen.stored[&7], Some((if is_lost { 1 } else { 0 }, true)), "{offset}");
    }
}

#[test]
fn budgets_and_stacks_are_limited() {
    // 1: push %rax; jmp 1b.
    let endless = [0x50, 0xeb, 0xfd];
    let seen = explored(&endless, &Known::default(), Seed::Pointers, 1000);
    assert!(seen.result.is_cut && !seen.result.lost_stack && seen.result.instructions <= 1001);
    // add $0x2000,%rsp; nop; ret: above whatever arguments there may be.
    let seen = of(&[0x48, 0x81, 0xc4, 0, 0x20, 0, 0, 0x90, 0xc3]);
    assert!(seen.result.lost_stack && !seen.result.is_cut);
    assert_eq!(reached(&seen), [0]);
}

#[test]
fn a_callee_may_remove_its_arguments() {
    for (code, removed) in
        [(&[0xc3][..], 0), (&[0xc2, 8, 0], 8), (&[0x59, 0x48, 0x83, 0xc4, 8, 0x51, 0xc3], 8)]
    {
        let seen = of(code);
        assert_eq!((seen.removed, seen.result.lost_stack), (BTreeSet::from([removed]), false), "{code:02x?}");
    }
}
