//! How runs end, on programs of a few instructions.

#[path = "common/executable.rs"]
mod executable;

use executable::{CODE, executable};
use sframe_machine::{AARCH64, AARCH64_BE, AMD64, Broken, Cpu, End, Flow, Image, Machine, Moment};
use sframe_machine::{Options, Outcome, S390X};

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
fn execution_goes_on_behind_a_write() {
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
    // mov $57,%eax; syscall
    let fork = broken(&AMD64, &[0xb8, 57, 0, 0, 0, 0x0f, 0x05]);
    assert_eq!(fork, Broken::SystemCall { number: 57, pc: CODE + 5 });
    // mov 0,%eax
    let read = broken(&AMD64, &[0x8b, 0x04, 0x25, 0, 0, 0, 0]);
    assert_eq!(read, Broken::Fault { access: "read", address: 0, pc: CODE });
    // mov x1,0; str x0,[x1]
    let write = broken(&AARCH64, &words(&[0xd280_0001, 0xf900_0020]));
    assert_eq!(write, Broken::Fault { access: "write", address: 0, pc: CODE + 4 });
    for (cpu, code) in [
        (&AMD64, vec![0x0f, 0x0b]),        // ud2
        (&AMD64, vec![0xcc]),              // int3
        (&AARCH64, words(&[0])),           // udf
        (&AARCH64, words(&[0xd420_0000])), // brk
        (&S390X, vec![0, 0, 0, 0]),        // no instruction
    ] {
        let broken = broken(cpu, &code);
        assert!(matches!(broken, Broken::Exception { pc: CODE, .. }), "{}: {broken:?}", cpu.name);
        assert!(broken.to_string().contains("0x400078"), "{broken}");
    }
    assert!(matches!(broken(&AMD64, &[0xf4]), Broken::Halted { .. } | Broken::Exception { .. }));
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
        assert_eq!(outcome.end, End::Broken(Broken::Budget(1000)), "{}", cpu.name);
        assert_eq!((outcome.instructions, seen), (1000, 1000), "{}", cpu.name);
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
        assert_eq!(outcome.end, End::SelfJump(CODE + 16), "{}", cpu.name);
        let (key_a, key_b) = (links[2], links[4]);
        let mask = (1 << cpu.address_bits) - 1;
        assert_eq!((key_a & mask, key_b & mask), (0x1234, 0x1234), "{}", cpu.name);
        assert!(key_a != 0x1234 && key_b != 0x1234 && key_a != key_b, "{key_a:#x} {key_b:#x}");
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
        let (fp, link) = match cpu.name {
            "amd64" => (6, None),
            "s390x" => (11, Some(14)),
            _ => (29, Some(30)),
        };
        run_with(cpu, &code, &Options::default(), &mut |moment| {
            let mut values = vec![moment.register(fp).expect("FP")];
            values.extend(link.and_then(|link| moment.register(link)));
            values.extend((1..1000).map(|slot| moment.memory.read_u64(moment.sp - slot * 8).expect("stack")));
            for value in &values {
                assert_eq!(moment.memory.read_u64(*value), None, "{}: {value:#x}", cpu.name);
            }
            let mut distinct = values.clone();
            distinct.sort_unstable();
            distinct.dedup();
            assert_eq!(distinct.len(), values.len(), "{}", cpu.name);
            assert_eq!(moment.memory.read_u64(moment.sp), Some(1), "{}: argc", cpu.name);
            Flow::Continue
        });
    }
}
