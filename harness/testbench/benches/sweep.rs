//! What observing and comparing cost, as ratios to the same program run
//! without looking at it, and what it costs far down the stack. All figures of
//! a line are from one run.

#[path = "../tests/bench/kept_walks/handmade.rs"]
mod handmade;

use std::path::Path;
use std::time::{Duration, Instant};

use sframe_machine::{AMD64, End, Flow, Image, Machine, Moment, Options};
use sframe_testbench::examine::{ExamineOptions, examine};
use sframe_testbench::target::Target;
use sframe_testbench::unwind::{BlackBox, SframeUnwinder, sframe_unwinder};

const ROUNDS: usize = 15;

/// The fastest of some rounds.
fn fastest(mut work: impl FnMut()) -> Duration {
    let time = |work: &mut dyn FnMut()| {
        let start = Instant::now();
        work();
        start.elapsed()
    };
    (0..ROUNDS).map(|_| time(&mut work)).min().unwrap_or_default()
}

fn run(image: &Image<'_>, observer: &mut dyn FnMut(&Moment<'_>) -> Flow) -> u64 {
    let machine = Machine::new(image, &Options::default()).expect("a machine");
    let mut each = |moment: &Moment<'_>| observer(moment);
    machine.run(&mut each).expect("an emulator").instructions
}

fn main() {
    programs();
    depths();
}

fn programs() {
    println!("program           abi         instructions   set-up  witness  compare   (witness = 1)");
    let builds = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus/builds/gnu-2.47");
    for program in ["recursion", "mutual_recursion", "function_pointers"] {
        for abi in ["amd64", "aarch64", "aarch64_be", "s390x"] {
            let path = builds.join(abi).join(format!("{program}.O2"));
            let bytes = std::fs::read(&path).expect("a build");
            let target = Target::open(&bytes).expect("a target");
            let mut instructions = 0;
            let set_up = fastest(|| {
                run(&target.executable().image, &mut |_| Flow::Stop);
            });
            let witness = fastest(|| instructions = run(&target.executable().image, &mut |_| Flow::Continue));
            let compare = fastest(|| {
                let mut unwinder = sframe_unwinder(&target);
                let options = Options::default();
                examine(&target, &mut *unwinder, &ExamineOptions::default(), &options).expect("a machine");
            });
            let ratio = |time: Duration| time.as_secs_f64() / witness.as_secs_f64();
            println!(
                "{program:<18}{abi:<12}{instructions:>12}{:>9.2}{:>9.2}{:>9.2}",
                ratio(set_up),
                1.0,
                ratio(compare)
            );
        }
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
