//! Loops of made-up instructions that store through a register, to another word of the stack in each round: sooner or
//! later to what a frame further out has saved, when nothing has changed for a while.

use rayon::prelude::*;
use sframe_judge::target::Target;
use sframe_machine::{AMD64, Cpu, End, Options, S390X};

use super::{examine_both_ways, handmade};

/// The instructions of a loop on one processor.
struct Language {
    cpu: &'static Cpu,
    /// Before the loop: the number of rounds, and the first word.
    start: &'static [&'static [u8]],
    /// Takes the address of the word, and its value.
    load: &'static [&'static [u8]],
    /// What the body is made of.
    words: &'static [&'static [u8]],
    /// Puts the value back, goes to the next word, and counts a round.
    next: &'static [&'static [u8]],
    /// Jumps back over a number of bytes, from its end.
    back: fn(usize) -> Vec<u8>,
    end: &'static [u8],
}

const LANGUAGES: [Language; 2] = [
    Language {
        cpu: &AMD64,
        start: &[
            &[0x31, 0xd2],              // xor %edx,%edx
            &[0x41, 0xb8, 40, 0, 0, 0], // mov $40,%r8d
        ],
        load: &[
            &[0x48, 0x8d, 0x3c, 0x14], // lea (%rsp,%rdx,1),%rdi
            &[0x48, 0x8b, 0x07],       // mov (%rdi),%rax
        ],
        words: &[
            &[0x90],                                       // nop
            &[0x48, 0x89, 0x27],                           // mov %rsp,(%rdi)
            &[0xc6, 0x47, 3, 0x55],                        // movb $0x55,3(%rdi)
            &[0x48, 0x89, 0x07],                           // mov %rax,(%rdi)
            &[0x31, 0xf6],                                 // xor %esi,%esi
            &[0x4c, 0x01, 0xc6],                           // add %r8,%rsi
            &[0x41, 0xf6, 0xc0, 1],                        // test $1,%r8b
            &[0x75, 0],                                    // jne to the next one
            &[0xeb, 0],                                    // jmp to the next one
            &[0x74, 1, 0x90],                              // je over a nop
            &[0x55, 0x5d],                                 // push %rbp; pop %rbp
            &[0x48, 0x89, 0xee],                           // mov %rbp,%rsi
            &[0x48, 0x89, 0xf5],                           // mov %rsi,%rbp
            &[0x48, 0x83, 0xec, 16, 0x48, 0x83, 0xc4, 16], // sub $16,%rsp; add $16,%rsp
        ],
        next: &[
            &[0x48, 0x89, 0x07], // mov %rax,(%rdi)
            &[0x83, 0xc2, 8],    // add $8,%edx
            &[0x41, 0xff, 0xc8], // dec %r8d
        ],
        // jne
        back: |distance| {
            let distance = i32::try_from(distance + 6).expect("a short loop");
            [&[0x0f, 0x85][..], &(-distance).to_le_bytes()].concat()
        },
        end: &[0xc3],
    },
    Language {
        cpu: &S390X,
        start: &[
            &[0xa7, 0x59, 0, 0x60], // lghi %r5,96
            &[0xa7, 0x39, 0, 60],   // lghi %r3,60
        ],
        load: &[
            &[0x41, 0x45, 0xf0, 0],          // la %r4,0(%r5,%r15)
            &[0xe3, 0x20, 0x40, 0, 0, 0x04], // lg %r2,0(%r4)
        ],
        words: &[
            &[0x07, 0x07],                                // nopr
            &[0xe3, 0xf0, 0x40, 0, 0, 0x24],              // stg %r15,0(%r4)
            &[0x92, 0x55, 0x40, 3],                       // mvi 3(%r4),0x55
            &[0xe3, 0x20, 0x40, 0, 0, 0x24],              // stg %r2,0(%r4)
            &[0xb9, 0x04, 0, 0x6b],                       // lgr %r6,%r11
            &[0xb9, 0x04, 0, 0xb6],                       // lgr %r11,%r6
            &[0xa7, 0xa4, 0, 2],                          // jhe to the next one
            &[0xa7, 0xf4, 0, 2],                          // j to the next one
            &[0xd7, 0x02, 0x40, 5, 0x40, 5],              // xc 5(3,%r4),5(%r4)
            &[0xa7, 0xfb, 0xff, 0xf0, 0xa7, 0xfb, 0, 16], // aghi %r15,-16; aghi %r15,16
        ],
        next: &[
            &[0xe3, 0x20, 0x40, 0, 0, 0x24], // stg %r2,0(%r4)
            &[0xa7, 0x5b, 0, 8],             // aghi %r5,8
        ],
        // brct %r3
        back: |distance| {
            let halfwords = i16::try_from(distance / 2).expect("a short loop");
            [&[0xa7, 0x36][..], &(-halfwords).to_be_bytes()].concat()
        },
        end: &[0x07, 0xfe],
    },
];

/// A sequence of numbers that looks random, and is the same each time.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).expect("31 bits") % limit
    }
}

#[test]
fn stores_through_a_register_are_noticed_when_nothing_has_changed_for_a_while() {
    const PROGRAMS: u64 = 120;
    for language in &LANGUAGES {
        let results: Vec<(bool, bool, u64)> = (0..PROGRAMS)
            .into_par_iter()
            .map(|seed| {
                let mut numbers = Numbers(seed);
                let len = 1 + numbers.below(12);
                let body = (0..len).map(|_| language.words[numbers.below(language.words.len())]);
                let body: Vec<&[u8]> = [language.load, &body.collect::<Vec<_>>(), language.next].concat();
                let back = (language.back)(body.iter().map(|word| word.len()).sum());
                let code = [language.start, &body, &[&back, language.end]].concat();
                let (bytes, _) = handmade::program(language.cpu, 12, &code);
                let name = format!("{}, program {seed}: {body:x?}", language.cpu.abi);
                let target = Target::open(&bytes).expect("a target");
                let options = Options { budget: 3_000, ..Options::default() };
                let seen = examine_both_ways(&name, &target, &options);
                (seen.end == End::Exit(0), seen.counts.walk_ends.disagreed > 0, seen.passed)
            })
            .collect();
        let ended = results.iter().filter(|(ended, ..)| *ended).count();
        let wrong = results.iter().filter(|(_, wrong, _)| *wrong).count();
        let passed = results.iter().map(|(.., passed)| passed).sum::<u64>() / PROGRAMS;
        assert!(passed > 100, "{}: {passed} instructions of a program have passed", language.cpu.abi);
        assert!(ended > 60, "{}: {ended} programs came to their end", language.cpu.abi);
        assert!((30..115).contains(&wrong), "{}: {wrong} programs were wrong somewhere", language.cpu.abi);
    }
}

/// As many instructions pass at once as may, and the last of them moves SP: the row does not hold after it any more, where
/// it has held for as long as that was jumped over.
#[test]
fn what_comes_after_the_longest_passage_is_compared_where_its_last_instruction_moves_sp() {
    const START: &[u8] = &[
        0xb8, 40, 0, 0, 0, // mov $40,%eax
        0x83, 0xf8, 20, // 1: cmp $20,%eax
        0x77, 64, // ja 2f
    ];
    const END: &[u8] = &[
        0x83, 0xf8, 20, // cmp $20,%eax
        0x77, 1,    // ja 3f
        0x59, // pop %rcx
        0xff, 0xc8, // 3: dec %eax
        0x75, 0xa7, // jnz 1b
        0xc3, // ret
    ];
    let (push, nop) = (&[0x51][..], &[0x90][..]);
    let code = [&[START][..], &[nop; 63], &[push], &[nop; 10], &[END]].concat();
    let (bytes, _) = handmade::program(&AMD64, 3, &code);
    let target = Target::open(&bytes).expect("a target");
    let seen = examine_both_ways("63 nops and a push", &target, &Options::default());
    assert_eq!(seen.end, End::Exit(0));
    assert!(seen.passed > 1_000, "{}", seen.passed);
    assert_eq!(seen.counts.walk_ends.disagreed, 20 * 13, "from the push until the pop");
}
