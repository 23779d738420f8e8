//! What is followed after its block has executed is shown as it was before each instruction.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::builds::newest_builds;
use crate::executable::{CODE, executable};
use proptest::prelude::*;
use sframe_machine::{AMD64, Flow, Image, Machine, Moment, Observer, Options, Outcome};

/// What is seen before an instruction: when, PC, SP, FP, the depth of the call stack, and a word of the stack.
type Instruction = (u64, u64, u64, u64, usize, Option<u64>);

/// What is seen of a run.
#[derive(Debug, Default, PartialEq, Eq)]
struct Seen {
    instructions: Vec<Instruction>,
    /// How many of them had been shown before each store, its address and length.
    stores: Vec<(usize, u64, u64)>,
}

/// Sees a run by block or by instruction.
struct Recording {
    by_block: bool,
    /// In how many bytes from SP on the words are that it looks at; 0 for none.
    span: u64,
    /// The register that it looks at.
    register: Option<u32>,
    seen: Seen,
}

impl Observer for Recording {
    fn instruction(&mut self, moment: &Moment<'_>) -> Flow {
        // Another one each time.
        let word = |time: u64| moment.sp.wrapping_add(time.wrapping_mul(56) % self.span);
        let word = (self.span > 0).then(|| moment.memory.read_u64(word(moment.time))).flatten();
        let register = self.register.and_then(|register| moment.register(register));
        let depth = moment.call_stack.depth();
        let seen = (moment.time, moment.pc, moment.sp, moment.fp, depth, word.or(register));
        self.seen.instructions.push(seen);
        Flow::Continue
    }

    fn goes_by_block(&self) -> bool {
        self.by_block
    }

    fn wants_stores(&self) -> bool {
        true
    }

    fn store(&mut self, address: u64, len: u64) {
        self.seen.stores.push((self.seen.instructions.len(), address, len));
    }
}

/// Runs a program, again and again until nothing of it is lost. Returns what was seen, and how often something was lost.
fn run(image: &Image<'_>, span: u64, by_block: bool) -> (Seen, Outcome, usize) {
    let mut stepped: Arc<BTreeSet<u64>> = Arc::default();
    loop {
        let options = Options {
            stack_size: 64 << 20,
            stepped: Arc::clone(&stepped),
            blocks_after: 8,
            ..Options::default()
        };
        let mut recording = Recording { by_block, span, register: None, seen: Seen::default() };
        let outcome =
            Machine::new(image, &options).expect("a machine").run(&mut recording).expect("an emulator");
        match outcome.lost {
            Some(block) => assert!(Arc::make_mut(&mut stepped).insert(block), "{block:#x} was to be stepped"),
            None => {
                // A wide vector's words are stored in an order that depends on that of bytes.
                recording.seen.stores.sort_unstable();
                return (recording.seen, outcome, stepped.len());
            }
        }
    }
}

/// Runs a program both ways. Returns how many instructions were followed after their block, and how often something was lost.
fn assert_same(name: &str, image: &Image<'_>, span: u64) -> (u64, usize) {
    let (one_by_one, by_instruction, _) = run(image, span, false);
    let (blocks, by_block, lost) = run(image, span, true);
    assert_eq!(by_instruction.by_block, 0, "{name}");
    assert_eq!(
        (by_block.end, by_block.instructions),
        (by_instruction.end, by_instruction.instructions),
        "{name}"
    );
    let differs = blocks.instructions.iter().zip(&one_by_one.instructions).find(|(one, other)| one != other);
    assert_eq!(differs, None, "{name}");
    let differs = blocks.stores.iter().zip(&one_by_one.stores).find(|(one, other)| one != other);
    assert_eq!(differs, None, "{name}");
    assert!(blocks == one_by_one, "{name}: one has more");
    (by_block.by_block, lost)
}

/// A program whose code does not change: it executes `body` again and again, after it has set up a stack.
fn program(body: &[u8]) -> Vec<u8> {
    let mut code = vec![
        0x48, 0x81, 0xec, 0, 4, 0, 0, // sub $1024,%rsp
        0x48, 0x8d, 0x7c, 0x24, 64, // lea 64(%rsp),%rdi
        0x31, 0xc9, // xor %ecx,%ecx
        0x41, 0xbc, 60, 0, 0, 0, // mov $60,%r12d
    ];
    let start = code.len();
    code.extend(body);
    code.extend([0x48, 0x8d, 0x7c, 0x24, 64]); // lea 64(%rsp),%rdi
    code.extend([0x41, 0xff, 0xcc, 0x0f, 0x85]); // dec %r12d; jne
    let back =
        i32::try_from(start).expect("a small program") - i32::try_from(code.len() + 4).expect("the same");
    code.extend(back.to_le_bytes());
    code.extend([0x31, 0xff, 0xb8, 60, 0, 0, 0, 0x0f, 0x05]); // exit(0)
    let mut bytes = executable(&AMD64, &code);
    let flags = 64 + 4;
    bytes[flags] &= !2;
    bytes
}

/// A part of a program, which leaves SP where it was.
fn part() -> impl Strategy<Value = Vec<u8>> {
    // Within what was set up, also where calls leave their return addresses.
    let offset = || (-6_i8..16).prop_map(|word| (word * 8).cast_unsigned());
    let one = prop_oneof![
        offset().prop_map(|at| vec![0x48, 0x89, 0x44, 0x24, at]), // mov %rax,at(%rsp)
        offset().prop_map(|at| vec![0x48, 0x89, 0x57, at]),       // mov %rdx,at(%rdi)
        offset().prop_map(|at| vec![0x88, 0x57, at]),             // mov %dl,at(%rdi)
        offset().prop_map(|at| vec![0x48, 0x89, 0x44, 0xcf, at]), // mov %rax,at(%rdi,%rcx,8)
        offset().prop_map(|at| vec![0x48, 0x01, 0x47, at]),       // add %rax,at(%rdi)
        offset().prop_map(|at| vec![0x48, 0x8b, 0x44, 0x24, at]), // mov at(%rsp),%rax
        offset().prop_map(|at| vec![0x48, 0x8d, 0x7c, 0x24, at]), // lea at(%rsp),%rdi
        Just(vec![0x48, 0x83, 0xc7, 8]),                          // add $8,%rdi
        Just(vec![0x48, 0x83, 0xc1, 1, 0x48, 0x83, 0xe1, 3]),     // add $1,%rcx; and $3,%rcx
        Just(vec![0x48, 0x83, 0xc0, 5]),                          // add $5,%rax
        Just(vec![0x48, 0x89, 0xc2]),                             // mov %rax,%rdx
        Just(vec![0xeb, 0]),                                      // jmp to the next one
    ];
    let plain = prop::collection::vec(one, 1..5).prop_map(|parts| parts.concat());
    let around = |before: &'static [u8], after: &'static [u8]| {
        move |inner: Vec<u8>| [before, &inner[..], after].concat()
    };
    plain.prop_recursive(3, 24, 3, move |inner| {
        let inner = prop::collection::vec(inner, 1..3).prop_map(|parts| parts.concat());
        prop_oneof![
            inner.clone(),
            inner.clone().prop_map(around(&[0x50], &[0x58])), // push %rax, pop %rax
            inner.clone().prop_map(around(&[0x48, 0x83, 0xec, 0x10], &[0x48, 0x83, 0xc4, 0x10])), // sub, add $16,%rsp
            // push %rbp; mov %rsp,%rbp; leave
            inner.clone().prop_map(around(&[0x55, 0x48, 0x89, 0xe5], &[0xc9])),
            // call over a jump to a function; jmp over the function; the function: ... ret
            inner.prop_map(|inner| {
                let len = u8::try_from(inner.len() + 1).unwrap_or(u8::MAX);
                if len > 120 { inner } else { [&[0xe8, 2, 0, 0, 0, 0xeb, len][..], &inner, &[0xc3]].concat() }
            }),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// Return addresses are among what is overwritten: such a program breaks, at the same instruction.
    #[test]
    fn stores_to_what_others_look_at_are_never_missed(body in part(), span in 8_u64..200) {
        let bytes = program(&body);
        let image = Image::parse(&bytes).expect("a loadable image");
        assert_same("generated", &image, span);
    }
}

#[test]
fn generated_programs_go_by_block_and_lose_something() {
    // mov %rax,(%rsp); add $5,%rax
    let bytes = program(&[0x48, 0x89, 0x04, 0x24, 0x48, 0x83, 0xc0, 5]);
    let image = Image::parse(&bytes).expect("a loadable image");
    let (by_block, lost) = assert_same("nobody looks", &image, 0);
    assert!(by_block > 250 && lost == 0, "{by_block} by block, {lost} lost");
    let (by_block, lost) = assert_same("what is overwritten is looked at", &image, 8);
    assert!(by_block < 20 && lost == 1, "{by_block} by block, {lost} lost");
}

#[test]
fn a_register_that_has_been_written_since_is_not_what_it_was() {
    // add $5,%rax
    let bytes = program(&[0x48, 0x83, 0xc0, 5]);
    let image = Image::parse(&bytes).expect("a loadable image");
    let lost = |register| {
        let mut recording =
            Recording { by_block: true, span: 0, register: Some(register), seen: Seen::default() };
        let machine =
            Machine::new(&image, &Options { blocks_after: 8, ..Options::default() }).expect("a machine");
        machine.run(&mut recording).expect("an emulator").lost
    };
    const RAX: u32 = 0;
    const RBX: u32 = 3;
    assert_eq!((lost(RAX), lost(RBX)), (Some(CODE + 20), None));
}

#[test]
fn builds_of_the_corpus_are_seen_the_same_both_ways() {
    let (mut by_block, mut lost, mut programs) = (0, 0, 0);
    for path in newest_builds() {
        let bytes = std::fs::read(&path).expect("a build");
        let Ok(image) = Image::parse(&bytes) else { continue };
        // Those that need a library are linked by others; those that are not optimised store most.
        let is_long = path.file_stem().is_some_and(|program| program == "deep_recursion")
            || path.extension().is_none_or(|variant| variant != "O0");
        if is_long || Machine::new(&image, &Options::default()).is_err() {
            continue;
        }
        let (own, own_lost) = assert_same(&path.display().to_string(), &image, 64);
        by_block += own;
        lost += own_lost;
        programs += 1;
    }
    assert!(programs > 100 && by_block > 200_000, "{programs} programs, {by_block} by block, {lost} lost");
}
