//! What observing and comparing cost, as ratios to the same program run
//! without looking at it, and what it costs far down the stack. All figures of
//! a line are from one run.

#[path = "../tests/bench/kept_walks/handmade.rs"]
mod handmade;

use std::path::Path;
use std::time::{Duration, Instant};

use sframe_machine::{AMD64, End, Flow, Hook, Machine, Moment, Options};
use sframe_testbench::examine::{ExamineOptions, examine};
use sframe_testbench::target::Target;
use sframe_testbench::unwind::{BlackBox, SframeUnwinder, sframe_unwinder};

const ROUNDS: usize = 5;

/// The fastest of some rounds.
fn fastest(mut work: impl FnMut()) -> Duration {
    let time = |work: &mut dyn FnMut()| {
        let start = Instant::now();
        work();
        start.elapsed()
    };
    (0..ROUNDS).map(|_| time(&mut work)).min().unwrap_or_default()
}

fn main() {
    layers();
    depths();
}

/// A build of `busy` that computes everything this many times.
fn busy(abi: &str, rounds: u32) -> Vec<u8> {
    let builds = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus/builds/gnu-2.47");
    let mut bytes = std::fs::read(builds.join(abi).join("busy.O2")).expect("a build");
    let at = {
        let target = Target::open(&bytes).expect("a target");
        let address = target.address_of_object("rounds").expect("an object").0;
        let segments = &target.executable().image.segments;
        let segment = segments.iter().rfind(|segment| segment.address <= address).expect("data");
        segment.file.start + usize::try_from(address - segment.address).expect("a small file")
    };
    let big_endian = bytes[5] == 2;
    let rounds = if big_endian { rounds.to_be_bytes() } else { rounds.to_le_bytes() };
    bytes[at..at + 4].copy_from_slice(&rounds);
    bytes
}

/// What each layer costs, where the emulator alone is 1.
fn layers() {
    const ROUNDS_OF_BUSY: u32 = 2000;
    println!("busy         instructions  empty hook  call stack    compare   / empty hook");
    for abi in ["amd64", "aarch64", "aarch64_be", "s390x"] {
        let bytes = busy(abi, ROUNDS_OF_BUSY);
        let target = Target::open(&bytes).expect("a target");
        let image = &target.executable().image;
        let mut instructions = 0;
        let mut run = |each: Hook| {
            fastest(|| {
                let machine = Machine::new(image, &Options::default()).expect("a machine");
                let mut observer = |_: &Moment<'_>| Flow::Continue;
                let outcome = machine.run_with(&mut observer, each).expect("an emulator");
                assert_eq!(outcome.end, End::Exit(0));
                instructions = outcome.instructions;
            })
        };
        let (bare, empty, call_stack) = (run(Hook::None), run(Hook::Empty), run(Hook::Observer));
        let compare = fastest(|| {
            let mut unwinder = sframe_unwinder(&target);
            let examination =
                examine(&target, &mut *unwinder, &ExamineOptions::default(), &Options::default());
            assert_eq!(examination.expect("a machine").findings.len(), 0);
        });
        let ratio = |time: Duration, to: Duration| time.as_secs_f64() / to.as_secs_f64();
        println!(
            "{abi:<12}{instructions:>13}{:>12.2}{:>12.2}{:>11.2}{:>15.2}",
            ratio(empty, bare),
            ratio(call_stack, bare),
            ratio(compare, bare),
            ratio(compare, empty),
        );
    }
}

/// Seconds for an instruction at a depth: those of a run with many calls there,
/// less those of a run with none.
fn per_instruction(levels: u32, calls: u32, kept: bool) -> f64 {
    let run = |calls: u32| {
        let code: [&[u8]; 6] = [
            &[&[0xb8][..], &calls.to_le_bytes()].concat(), // mov $calls,%eax
            &[0xe8, 5, 0, 0, 0],                           // 1: call 2f
            &[0xff, 0xc8],                                 // dec %eax
            &[0x75, 0xf7],                                 // jne 1b
            &[0xc3],                                       // ret
            &[0xc3],                                       // 2: ret
        ];
        let (bytes, _) = handmade::program(&AMD64, levels, &code);
        let target = Target::open(&bytes).expect("a target");
        let options = Options { stack_size: 64 << 20, ..Options::default() };
        let mut instructions = 0;
        let time = fastest(|| {
            let unwinder = SframeUnwinder::new(target.sections.clone(), AMD64.address_bits);
            let examination = if kept {
                examine(&target, &mut { unwinder }, &ExamineOptions::default(), &options)
            } else {
                examine(&target, &mut BlackBox(unwinder), &ExamineOptions::default(), &options)
            };
            let examination = examination.expect("a machine");
            assert_eq!((examination.end, examination.findings.len()), (End::Exit(0), 0));
            instructions = examination.instructions;
        });
        (time.as_secs_f64(), instructions)
    };
    let ((without, fewer), (with, more)) = (run(1), run(calls));
    (with - without) / (more - fewer) as f64
}

fn depths() {
    println!();
    println!("frames    per instruction   the same with whole walks   (kept walks, 10 frames = 1)");
    let first = per_instruction(8, 100_000, true);
    for levels in [8, 998, 99_998] {
        let kept = per_instruction(levels, 100_000, true) / first;
        // With more frames, whole walks take hours.
        let whole = (levels < 1000).then(|| per_instruction(levels, 2000, false) / first);
        let whole = whole.map_or_else(|| "-".to_owned(), |whole| format!("{whole:.2}"));
        println!("{:<10}{kept:>15.2}{whole:>28}", levels + 2);
    }
}
