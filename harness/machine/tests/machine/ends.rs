//! How runs end, on programs of a few instructions.

use crate::executable::{CODE, executable};
use sframe_machine::{AARCH64, AARCH64_BE, AMD64, Broken, Cpu, End, Flow, Image, Machine, Moment};
use sframe_machine::{Options, Outcome, Pattern, S390X};

fn run_with(
    cpu: &Cpu,
    code: &[u8],
    options: &Options,
    observer: &mut dyn FnMut(&Moment<'_>) -> Flow,
) -> Outcome {
    let bytes = executable(cpu, code);
    let image = Image::parse(&bytes).expect("a loadable image");
    let mut each = |moment: &Moment<'_>| observer(moment);
    Machine::new(&image, options).expect("a machine").run(&mut each).expect("an emulator")
}

fn run(cpu: &Cpu, code: &[u8]) -> Outcome {
    run_with(cpu, code, &Options::default(), &mut |_| Flow::Continue)
}

/// Instructions of aarch64 are little endian in either mode.
fn words(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

#[test]
fn exit_ends_with_its_status() {
    let amd64 = [0xbf, 7, 0, 0, 0, 0xb8, 60, 0, 0, 0, 0x0f, 0x05]; // mov $7,%edi; mov $60,%eax; syscall
    assert_eq!(run(&AMD64, &amd64).end, End::Exit(7));
    let aarch64 = words(&[0xd280_0ba8, 0xd280_00e0, 0xd400_0001]); // mov x8,93; mov x0,7; svc 0
    assert_eq!(run(&AARCH64, &aarch64).end, End::Exit(7));
    assert_eq!(run(&AARCH64_BE, &aarch64).end, End::Exit(7));
    let immediate = [0xa7, 0x29, 0, 7, 0x0a, 1]; // lghi %r2,7; svc 1
    assert_eq!(run(&S390X, &immediate).end, End::Exit(7));
    let register = [0xa7, 0x29, 0, 7, 0xa7, 0x19, 0, 248, 0x0a, 0]; // lghi %r1,248; svc 0
    assert_eq!(run(&S390X, &register).end, End::Exit(7));
}

#[test]
fn execution_goes_on_after_a_write() {
    // lghi %r2,1; larl %r3,<the headers>; lghi %r4,4; svc 4; lghi %r2,0; svc 1
    let s390x = [
        0xa7, 0x29, 0, 1, 0xc0, 0x30, 0xff, 0xff, 0xff, 0xc2, 0xa7, 0x49, 0, 4, 0x0a, 4, 0xa7, 0x29, 0, 0,
        0x0a, 1,
    ];
    let outcome = run(&S390X, &s390x);
    assert_eq!(outcome.end, End::Exit(0));
    assert_eq!(outcome.output, b"\x7fELF");
    assert_eq!(outcome.instructions, 6);
    // mov x0,1; adr x1,<the headers>; mov x2,4; mov x8,64; svc 0; mov x0,0; mov x8,93; svc 0
    let aarch64 = words(&[
        0xd280_0020,
        0x10ff_fc21,
        0xd280_0082,
        0xd280_0808,
        0xd400_0001,
        0xd280_0000,
        0xd280_0ba8,
        0xd400_0001,
    ]);
    let outcome = run(&AARCH64, &aarch64);
    assert_eq!((outcome.end, outcome.output.as_slice()), (End::Exit(0), &b"\x7fELF"[..]));
}

#[test]
fn a_jump_to_itself_is_an_end() {
    assert_eq!(run(&AMD64, &[0x90, 0xeb, 0xfe]).end, End::SelfJump(CODE + 1));
    assert_eq!(run(&AARCH64, &words(&[0xd503_201f, 0x1400_0000])).end, End::SelfJump(CODE + 4));
    assert_eq!(run(&S390X, &[0xa7, 0xf4, 0, 0]).end, End::SelfJump(CODE));
}

#[test]
fn whatever_else_stops_a_program_is_broken_and_says_where() {
    let broken = |cpu, code: &[u8]| match run(cpu, code).end {
        End::Broken(broken) => broken,
        end => panic!("{end:?}"),
    };
    // mov $29,%eax; syscall
    let memory = broken(&AMD64, &[0xb8, 29, 0, 0, 0, 0x0f, 0x05]);
    assert_eq!(memory, Broken::SystemCall { number: 29, name: "shmget", pc: CODE + 5 });
    // mov 0,%eax
    let read = broken(&AMD64, &[0x8b, 0x04, 0x25, 0, 0, 0, 0]);
    assert_eq!(read, Broken::Fault { access: "read", address: 0, pc: CODE });
    // mov x1,0; str x0,[x1]
    let write = broken(&AARCH64, &words(&[0xd280_0001, 0xf900_0020]));
    assert_eq!(write, Broken::Fault { access: "write", address: 0, pc: CODE + 4 });
    // sub $0x1000000,%rsp; mov %rax,(%rsp)
    let deep = [0x48, 0x81, 0xec, 0, 0, 0, 1];
    let stack = broken(&AMD64, &[&deep[..], &[0x48, 0x89, 0x04, 0x24]].concat());
    assert!(matches!(stack, Broken::Stack { pc, size: 0x80_0000, .. } if pc == CODE + 7), "{stack:?}");
    assert!(stack.to_string().contains("below the stack of 8,388,608 bytes (--stack-size)"), "{stack}");
    // sub $0x1000000,%rsp; mov 0,%eax
    let null = broken(&AMD64, &[&deep[..], &[0x8b, 0x04, 0x25, 0, 0, 0, 0]].concat());
    assert_eq!(null, Broken::Fault { access: "read", address: 0, pc: CODE + 7 });
    for (cpu, code) in [
        (&AMD64, vec![0x0f, 0x0b]),        // ud2
        (&AMD64, vec![0xcc]),              // int3
        (&AARCH64, words(&[0])),           // udf
        (&AARCH64, words(&[0xd420_0000])), // brk
        (&S390X, vec![0, 0, 0, 0]),        // no instruction
    ] {
        let broken = broken(cpu, &code);
        assert!(matches!(broken, Broken::Exception { pc: CODE, .. }), "{}: {broken:?}", cpu.abi);
        assert!(broken.to_string().contains("0x400078"), "{broken}");
    }
}

/// Linux would end the program by SIGILL or SIGSEGV.
#[test]
fn instructions_that_only_a_kernel_may_execute_break_the_run() {
    let amd64: [(&[u8], &str); 30] = [
        (&[0x0f, 0x30], "wrmsr"),
        (&[0x0f, 0x32], "rdmsr"),
        (&[0x0f, 0x33], "rdpmc"),
        (&[0xe4, 0x60], "in $0x60,%al"),
        (&[0xed], "in (%dx),%eax"),
        (&[0xe6, 0x60], "out %al,$0x60"),
        (&[0xef], "out %eax,(%dx)"),
        (&[0xf3, 0x6c], "rep insb"),
        (&[0x66, 0x6f], "outsw"),
        (&[0x0f, 0x20, 0xc0], "mov %cr0,%rax"),
        (&[0x0f, 0x22, 0xc0], "mov %rax,%cr0"),
        (&[0x44, 0x0f, 0x20, 0xc0], "mov %cr8,%rax"),
        (&[0x0f, 0x21, 0xc0], "mov %db0,%rax"),
        (&[0x0f, 0x23, 0xc0], "mov %rax,%db0"),
        (&[0x0f, 0x01, 0x14, 0x24], "lgdt (%rsp)"),
        (&[0x0f, 0x01, 0x1c, 0x24], "lidt (%rsp)"),
        (&[0x0f, 0x01, 0xf0], "lmsw %ax"),
        (&[0x0f, 0x01, 0x3c, 0x24], "invlpg (%rsp)"),
        (&[0x0f, 0x01, 0xf8], "swapgs"),
        (&[0x0f, 0x01, 0xd1], "xsetbv"),
        (&[0x0f, 0x00, 0xd0], "lldt %ax"),
        (&[0x0f, 0x00, 0xd8], "ltr %ax"),
        (&[0x0f, 0x06], "clts"),
        (&[0x0f, 0x08], "invd"),
        (&[0x0f, 0x09], "wbinvd"),
        (&[0x0f, 0x07], "sysret"),
        (&[0x0f, 0x35], "sysexit"),
        (&[0xfa], "cli"),
        (&[0xfb], "sti"),
        (&[0xf4], "hlt"),
    ];
    let aarch64 = [
        (0xd518_1000_u32, "msr sctlr_el1, x0"),
        (0xd538_1000, "mrs x0, sctlr_el1"),
        (0xd518_c000, "msr vbar_el1, x0"),
        (0xd508_871f, "tlbi vmalle1"),
        (0xd508_751f, "ic iallu"),
        (0xd503_47df, "msr daifset, #7"),
        (0xd400_0002, "hvc #0"),
        (0xd69f_03e0, "eret"),
    ];
    let s390x: [(&[u8], &str); 16] = [
        (&[0x83, 0, 0, 0], "diag"),
        (&[0xeb, 0, 0xf0, 0xa0, 0, 0x2f], "lctlg"),
        (&[0xb7, 0, 0xf0, 0xa0], "lctl"),
        (&[0xeb, 0, 0xf0, 0xa0, 0, 0x25], "stctg"),
        (&[0x80, 0, 0xf0, 0xa0], "ssm"),
        (&[0xac, 0, 0xf0, 0xa0], "stnsm"),
        (&[0xad, 0, 0xf0, 0xa0], "stosm"),
        (&[0x82, 0, 0xf0, 0xa0], "lpsw"),
        (&[0xb2, 0xb2, 0xf0, 0xa0], "lpswe"),
        (&[0xb2, 0x04, 0xf0, 0xa0], "sck"),
        (&[0xb2, 0x06, 0xf0, 0xa0], "sckc"),
        (&[0xb2, 0x08, 0xf0, 0xa0], "spt"),
        (&[0xb2, 0x10, 0xf0, 0xa0], "spx"),
        (&[0xb2, 0x0d, 0, 0], "ptlb"),
        (&[0xb2, 0x2b, 0, 0x12], "sske"),
        (&[0xae, 0, 0xf0, 0], "sigp"),
    ];
    // With a jump to itself, which would be a good end.
    let mut cases: Vec<(&Cpu, Vec<u8>, Vec<u8>, &str)> = Vec::new();
    cases.extend(amd64.map(|(code, name)| (&AMD64, code.to_vec(), vec![0xeb, 0xfe], name)));
    for cpu in [&AARCH64, &AARCH64_BE] {
        cases.extend(aarch64.map(|(word, name)| (cpu, words(&[word]), words(&[0x1400_0000]), name)));
    }
    cases.extend(s390x.map(|(code, name)| (&S390X, code.to_vec(), vec![0xa7, 0xf4, 0, 0], name)));
    for (cpu, code, stop, name) in cases {
        let end_at = |code: &[u8]| {
            let code = [code, &stop].concat();
            run(cpu, &code).end
        };
        match end_at(&code) {
            End::Broken(
                broken @ (Broken::Privileged { pc: CODE, .. } | Broken::Exception { pc: CODE, .. }),
            ) => {
                assert!(broken.to_string().contains("0x400078"), "{name}: {broken}");
            }
            end => panic!("{}: {name}: {end:?}", cpu.abi),
        }
    }
}

/// The emulator would move SP: it takes it for `cmovnp %edx,%esp`, and the next byte for another one.
#[test]
fn what_the_emulator_takes_for_another_instruction_is_not_executed() {
    // kunpckbw %k2,%k3,%k4.
    let end = run(&AMD64, &[0xc5, 0xe5, 0x4b, 0xe2, 0xeb, 0xfe]).end;
    let End::Broken(broken @ Broken::Exception { pc: CODE, .. }) = end else { panic!("{end:?}") };
    assert!(broken.to_string().contains("c5e54be2"), "{broken}");
}

/// Linux lets user code do these.
#[test]
fn user_instructions_that_resemble_privileged_ones_run() {
    for (cpu, code) in [
        (&AMD64, vec![0x0f, 0xa2, 0xeb, 0xfe]),                      // cpuid
        (&AMD64, vec![0x0f, 0x31, 0xeb, 0xfe]),                      // rdtsc
        (&AMD64, vec![0x8c, 0xd8, 0xeb, 0xfe]),                      // mov %ds,%eax
        (&AARCH64, words(&[0xd53b_d040, 0x1400_0000])),              // mrs x0, tpidr_el0
        (&AARCH64, words(&[0xd51b_d040, 0x1400_0000])),              // msr tpidr_el0, x0
        (&AARCH64, words(&[0xd53b_0020, 0x1400_0000])),              // mrs x0, ctr_el0
        (&AARCH64, words(&[0xd53b_00e0, 0x1400_0000])),              // mrs x0, dczid_el0
        (&AARCH64, words(&[0xd53b_4400, 0x1400_0000])),              // mrs x0, fpcr
        (&AARCH64, words(&[0x9100_03e0, 0xd50b_7420, 0x1400_0000])), // mov x0, sp; dc zva, x0
        (&AARCH64, words(&[0x9100_03e0, 0xd50b_7b20, 0x1400_0000])), // dc cvau, x0
        (&AARCH64, words(&[0x9100_03e0, 0xd50b_7520, 0x1400_0000])), // ic ivau, x0
        (&AARCH64, words(&[0xd503_203f, 0x1400_0000])),              // yield
        (&S390X, vec![0xb2, 0x05, 0xf0, 0xa0, 0xa7, 0xf4, 0, 0]),    // stck
        (&S390X, vec![0xb2, 0x22, 0, 0x10, 0xa7, 0xf4, 0, 0]),       // ipm
        (&S390X, vec![0xb2, 0x4f, 0, 0x10, 0xa7, 0xf4, 0, 0]),       // ear
    ] {
        let end = run(cpu, &code).end;
        let is_self_jump = matches!(end, End::SelfJump(_));
        assert!(is_self_jump, "{}: {code:02x?}: {end:?}", cpu.abi);
    }
}

#[test]
fn a_program_that_calls_for_ever_is_broken_before_its_stack_is_too_large_to_keep() {
    // 1: bl 2f; nop; 2: bl 1b, and brasl %r14 in their places.
    let s390x = [0xc0, 0xe5, 0, 0, 0, 5, 7, 7, 7, 7, 0xc0, 0xe5, 0xff, 0xff, 0xff, 0xfb];
    let aarch64 = words(&[0x9400_0002, 0xd503_201f, 0x97ff_fffe]);
    for (cpu, code) in [(&AARCH64, aarch64), (&S390X, s390x.to_vec())] {
        let end = run(cpu, &code).end;
        let End::Broken(Broken::Depth(limit)) = end else { panic!("{}: {end:?}", cpu.abi) };
        assert!(limit >= 1_000_000, "{limit}");
    }
}

#[test]
fn a_program_that_runs_for_ever_spends_its_budget() {
    for (cpu, code) in [
        (&AMD64, vec![0x90, 0xeb, 0xfd]),
        (&AARCH64, words(&[0xd503_201f, 0x17ff_ffff])),
        (&S390X, vec![0x07, 0x07, 0xa7, 0xf4, 0xff, 0xff]),
    ] {
        let options = Options { budget: 1000, ..Options::default() };
        let mut seen = 0;
        let outcome = run_with(cpu, &code, &options, &mut |_| {
            seen += 1;
            Flow::Continue
        });
        assert_eq!(outcome.end, End::Broken(Broken::Budget(1000)), "{}", cpu.abi);
        assert_eq!((outcome.instructions, seen), (1000, 1000), "{}", cpu.abi);
    }
}

#[test]
fn an_observer_that_panics_breaks_the_run_and_nothing_else() {
    let outcome = run_with(&AMD64, &[0x90, 0xeb, 0xfd], &Options::default(), &mut |_| panic!("on purpose"));
    assert_eq!(outcome.end, End::Broken(Broken::Harness("on purpose".into())));
    assert_eq!(run(&AMD64, &[0xeb, 0xfe]).end, End::SelfJump(CODE));
}

#[test]
fn an_observer_can_end_the_run_before_an_instruction() {
    let outcome = run_with(&AMD64, &[0x90, 0x90, 0xf4], &Options::default(), &mut |moment| {
        if moment.pc == CODE + 2 { Flow::Stop } else { Flow::Continue }
    });
    assert_eq!((outcome.end, outcome.instructions), (End::Stopped, 3));
}

/// Real keys: the authentication code changes with the stack pointer, and
/// differs between the keys.
#[test]
fn return_addresses_are_signed_in_the_bits_above_the_address() {
    for cpu in [&AARCH64, &AARCH64_BE] {
        // mov x30,#0x1234; paciasp; mov x30,#0x1234; pacibsp; b .
        let code = words(&[0xd282_469e, 0xd503_233f, 0xd282_469e, 0xd503_237f, 0x1400_0000]);
        let mut links = Vec::new();
        let outcome = run_with(cpu, &code, &Options::default(), &mut |moment| {
            links.push(moment.register(30).expect("x30"));
            Flow::Continue
        });
        assert_eq!(outcome.end, End::SelfJump(CODE + 16), "{}", cpu.abi);
        let (key_a, key_b) = (links[2], links[4]);
        let mask = (1 << cpu.address_bits) - 1;
        assert_eq!((key_a & mask, key_b & mask), (0x1234, 0x1234), "{}", cpu.abi);
        assert!(key_a != 0x1234 && key_b != 0x1234 && key_a != key_b, "{key_a:#x} {key_b:#x}");
    }
}

/// C libraries begin `_start` with a landing pad, before they say that it has no caller.
#[test]
fn the_link_register_starts_as_on_linux_but_with_the_second_pattern() {
    for cpu in [&AARCH64, &AARCH64_BE] {
        let link = |pattern| {
            let mut link = None;
            let options = Options { pattern, ..Options::default() };
            run_with(cpu, &words(&[0x1400_0000]), &options, &mut |moment| {
                link = moment.register(30);
                Flow::Continue
            });
            link.expect("x30")
        };
        assert_eq!(link(Pattern::First), 0, "{}", cpu.abi);
        assert_ne!(link(Pattern::Second), 0, "{}", cpu.abi);
    }
}

/// Nothing that a program starts with may look like an address, or repeat.
#[test]
fn registers_and_stack_start_with_values_that_are_no_addresses() {
    for (cpu, code) in [
        (&AMD64, vec![0xeb, 0xfe]),
        (&AARCH64, words(&[0x1400_0000])),
        (&AARCH64_BE, words(&[0x1400_0000])),
        (&S390X, vec![0xa7, 0xf4, 0, 0]),
    ] {
        let (fp, link) = (cpu.abi.fp().0, cpu.abi.ra().map(|link| link.0));
        run_with(cpu, &code, &Options::default(), &mut |moment| {
            let mut values = vec![moment.register(fp).expect("FP")];
            values.extend(link.and_then(|link| moment.register(link)));
            values.extend((1..1000).map(|slot| moment.memory.read_u64(moment.sp - slot * 8).expect("stack")));
            for value in &values {
                assert_eq!(moment.memory.read_u64(*value), None, "{}: {value:#x}", cpu.abi);
            }
            let mut distinct = values.clone();
            distinct.sort_unstable();
            distinct.dedup();
            assert_eq!(distinct.len(), values.len(), "{}", cpu.abi);
            assert_eq!(moment.memory.read_u64(moment.sp), Some(1), "{}: argc", cpu.abi);
            Flow::Continue
        });
    }
}
