//! What observing and comparing cost, as ratios to the same program run without
//! looking at it; what it costs far down the stack; and what small programs and the
//! whole corpus cost. All figures of a line are from one run.

#[path = "../../inspect/benches/cost/mod.rs"]
mod cost;
#[path = "../../judge/tests/judge/kept_walks/handmade.rs"]
mod handmade;

use std::num::{NonZeroU32, NonZeroU64};
use std::path::{Path, PathBuf};
use std::time::Instant;

use cost::{measure, spread};
use sframe_judge::examine::sampling::Sampling;
use sframe_judge::examine::{ExamineOptions, examine};
use sframe_judge::target::Target;
use sframe_judge::unwind::{BlackBox, SframeUnwinder, sframe_unwinder};
use sframe_machine::{AMD64, End, Flow, Hook, Machine, Moment, Options};

const BENCH: &str = env!("CARGO_BIN_EXE_sframe-testbench");
const ROUNDS: usize = 7;

fn main() {
    // `cargo test --all-targets` calls it without.
    if !std::env::args().any(|argument| argument == "--bench") {
        return;
    }
    layers();
    samples();
    depths();
    programs();
    corpus();
}

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn build(id: &str) -> PathBuf {
    repository().join("corpus/builds").join(id)
}

fn timed(work: impl FnOnce()) -> f64 {
    let start = Instant::now();
    work();
    start.elapsed().as_secs_f64()
}

/// A build of `busy` that computes everything this many times.
fn busy(abi: &str, rounds: u32) -> Vec<u8> {
    let mut bytes = std::fs::read(build(&format!("gnu-2.47/{abi}/busy.O2"))).expect("a build");
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

/// What each layer costs.
fn layers() {
    const ROUNDS_OF_BUSY: u32 = 2000;
    println!("times the emulator alone: median (lowest to highest) of {ROUNDS} rounds");
    println!(
        "{:<12}{:>13}{:>22}{:>22}{:>24}{:>7}{:>25}{:>6}",
        "busy", "instructions", "empty hook", "call stack", "compare", "aim", "/ empty hook", "aim"
    );
    for (abi, aim) in [("amd64", 12), ("aarch64", 15), ("aarch64_be", 15), ("s390x", 15)] {
        let bytes = busy(abi, ROUNDS_OF_BUSY);
        let target = Target::open(&bytes).expect("a target");
        let image = &target.executable().image;
        let mut instructions = 0;
        let mut run = |each: Hook| {
            timed(|| {
                let machine = Machine::new(image, &Options::default()).expect("a machine");
                let mut observer = |_: &Moment<'_>| Flow::Continue;
                let outcome = machine.run_with(&mut observer, each).expect("an emulator");
                assert_eq!(outcome.end, End::Exit(0));
                instructions = outcome.instructions;
            })
        };
        let mut ratios: [Vec<f64>; 4] = Default::default();
        for _ in 0..ROUNDS {
            let (bare, empty, call_stack) = (run(Hook::None), run(Hook::Empty), run(Hook::Observer));
            let compare = timed(|| {
                let mut unwinder = sframe_unwinder(&target);
                let look = ExamineOptions::default();
                let examination = examine(&target, &mut *unwinder, &look, &Options::default());
                assert_eq!(examination.expect("a machine").findings.len(), 0);
            });
            let round = [empty / bare, call_stack / bare, compare / bare, compare / empty];
            ratios.iter_mut().zip(round).for_each(|(ratios, ratio)| ratios.push(ratio));
        }
        let [empty, call_stack, compare, to_empty] = ratios.map(spread);
        println!(
            "{abi:<12}{instructions:>13}{empty:>22}{call_stack:>22}{compare:>24}{:>7}{to_empty:>25}{:>6}",
            format!("<= {aim}"),
            "<= 6"
        );
    }
}

/// What comparing a part of the instructions costs.
fn samples() {
    const ROUNDS_OF_BUSY: u32 = 2000;
    println!();
    println!("times comparing everything: median (lowest to highest) of {ROUNDS} rounds");
    println!("{:<12}{:>24}{:>24}{:>24}", "busy", "--per-place 3", "--every 100", "--every 1000000");
    for abi in ["amd64", "aarch64", "s390x"] {
        let bytes = busy(abi, ROUNDS_OF_BUSY);
        let target = Target::open(&bytes).expect("a target");
        let run = |sampling: Sampling| {
            let look = ExamineOptions { sampling, ..ExamineOptions::default() };
            timed(|| {
                let seen = examine(&target, &mut *sframe_unwinder(&target), &look, &Options::default());
                assert_eq!(seen.expect("a machine").end, End::Exit(0));
            })
        };
        let every = |every| Sampling { every: NonZeroU64::new(every), ..Sampling::default() };
        let per_place = Sampling { per_place: NonZeroU32::new(3), ..Sampling::default() };
        let mut ratios: [Vec<f64>; 3] = Default::default();
        for _ in 0..ROUNDS {
            let all = run(Sampling::default());
            let some = [per_place.clone(), every(100), every(1_000_000)].map(&run);
            ratios.iter_mut().zip(some).for_each(|(ratios, time)| ratios.push(time / all));
        }
        let [per_place, every_100, every_million] = ratios.map(spread);
        println!("{abi:<12}{per_place:>24}{every_100:>24}{every_million:>24}");
    }
}

/// Seconds for an instruction at a depth: those of a run with many calls there,
/// less those of a run with none. The fastest of some rounds.
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
        let rounds = (0..ROUNDS).map(|_| {
            timed(|| {
                let unwinder = SframeUnwinder::new(target.sections.clone(), AMD64.address_bits);
                let examination = if kept {
                    examine(&target, &mut { unwinder }, &ExamineOptions::default(), &options)
                } else {
                    examine(&target, &mut BlackBox(unwinder), &ExamineOptions::default(), &options)
                };
                let examination = examination.expect("a machine");
                assert_eq!((examination.end, examination.findings.len()), (End::Exit(0), 0));
                instructions = examination.counts.instructions;
            })
        });
        (rounds.fold(f64::MAX, f64::min), instructions)
    };
    let ((without, fewer), (with, more)) = (run(1), run(calls));
    (with - without) / (more - fewer) as f64
}

fn depths() {
    println!();
    println!("times 10 frames with kept walks");
    println!("{:<10}{:>18}{:>8}{:>24}", "frames", "per instruction", "aim", "with whole walks");
    let first = per_instruction(8, 400_000, true);
    for levels in [8, 998, 99_998] {
        let kept = per_instruction(levels, 400_000, true) / first;
        // With more frames, whole walks take hours.
        let whole = (levels < 1000).then(|| per_instruction(levels, 2000, false) / first);
        let whole = whole.map_or_else(|| "-".to_owned(), |whole| format!("{whole:.2}"));
        println!("{:<10}{kept:>18.2}{:>8}{whole:>24}", levels + 2, "<= 1.2");
    }
}

/// What `check` of programs of the corpus costs, with the start of the process.
fn programs() {
    const RUNS: u32 = 40;
    println!();
    println!("{:<34}{:>14}{:>10}{:>14}{:>10}", "check", "CPU, ms", "aim", "peak, MB", "aim");
    for (id, time, memory) in [
        ("gnu-2.47/amd64/mutual_recursion.O2", "<= 12", ""),
        ("gnu-2.47/amd64/large_function.O2", "", "<= 40"),
    ] {
        let file = build(id);
        let costs = (0..RUNS).map(|_| measure(BENCH, &["check", "--in-child"], &file).expect("the bench"));
        let costs: Vec<_> = costs.collect();
        let cpu = 1000.0 * costs.iter().map(|cost| cost.cpu).sum::<f64>() / f64::from(RUNS);
        let peak = costs.iter().map(|cost| cost.peak).fold(0.0, f64::max);
        println!("{id:<34}{cpu:>14.1}{time:>10}{peak:>14.1}{memory:>10}");
    }
}

/// What the whole corpus costs, on one core and on two.
fn corpus() {
    println!();
    println!("{:<10}{:>10}{:>10}{:>12}{:>8}", "run", "CPU, s", "wall, s", "speed-up", "aim");
    let folder = repository();
    let mut alone = None;
    for jobs in ["1", "2"] {
        let corpus = folder.join("corpus").display().to_string();
        let specs = folder.join("specs");
        let run = measure(BENCH, &["run", "--jobs", jobs, "--corpus", &corpus, "--specs"], &specs);
        let run = run.expect("the bench");
        let speed_up = *alone.get_or_insert(run.wall) / run.wall;
        let aim = if jobs == "2" { ">= 1.8" } else { "" };
        println!(
            "{:<10}{:>10.1}{:>10.1}{speed_up:>12.2}{aim:>8}",
            format!("--jobs {jobs}"),
            run.cpu,
            run.wall
        );
    }
}
