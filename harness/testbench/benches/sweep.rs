//! What observing and comparing cost, as ratios to the same program run
//! without looking at it. All figures of a line are from one run.

use std::path::Path;
use std::time::{Duration, Instant};

use sframe_machine::{Flow, Image, Machine, Moment, Options};
use sframe_testbench::case::sframe_unwinder;
use sframe_testbench::examine::examine;
use sframe_testbench::target::Target;

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
    println!("program           abi         instructions   set-up  witness  compare   (witness = 1)");
    let builds = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus/builds/gnu-2.47");
    for program in ["recursion", "mutual_recursion", "function_pointers"] {
        for abi in ["amd64", "aarch64", "aarch64_be", "s390x"] {
            let path = builds.join(abi).join(format!("{program}.O2"));
            let bytes = std::fs::read(&path).expect("a build");
            let target = Target::open(&bytes).expect("a target");
            let mut instructions = 0;
            let set_up = fastest(|| {
                run(&target.image, &mut |_| Flow::Stop);
            });
            let witness = fastest(|| instructions = run(&target.image, &mut |_| Flow::Continue));
            let compare = fastest(|| {
                let mut unwinder = sframe_unwinder(&target);
                let options = Options::default();
                examine(&target, &mut *unwinder, &[], &options).expect("a machine");
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
