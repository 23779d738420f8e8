//! Copies of the process, to which signals are delivered: the process does not notice them.

use std::hash::{DefaultHasher, Hash, Hasher};

use crate::builds::builds_of;
use sframe_machine::{End, Flow, Image, Machine, Moment, Observer, Options, Outcome};

const SIGUSR1: u8 = 10;

/// Makes a copy before each instruction from a time on, and digests what the process itself
/// looks like.
struct Forks {
    from: u64,
    wants_stores: bool,
    /// How many instructions a copy lives, at most.
    life: u64,
    /// The instructions that the copy has executed.
    copy: Option<u64>,
    /// The instruction before which the last copy was made.
    copied: Option<u64>,
    made: u64,
    ends: Vec<End>,
    digest: DefaultHasher,
}

impl Forks {
    fn new(from: u64, wants_stores: bool, life: u64) -> Self {
        let (copy, copied, digest) = (None, None, DefaultHasher::new());
        Self { from, wants_stores, life, copy, copied, made: 0, ends: Vec::new(), digest }
    }

    fn digest(&mut self, moment: &Moment<'_>) {
        let registers: Vec<_> = (0..64).map(|register| moment.register(register)).collect();
        let stack: Vec<_> = (0..64).map(|word| moment.memory.read_u64(moment.sp + word * 8)).collect();
        (moment.pc, moment.time, moment.call_stack.depth(), registers, stack).hash(&mut self.digest);
    }
}

impl Observer for Forks {
    fn instruction(&mut self, moment: &Moment<'_>) -> Flow {
        if let Some(age) = &mut self.copy {
            *age += 1;
            if *age < self.life {
                return Flow::Continue;
            }
            self.copy = None;
            return Flow::Rewind;
        }
        self.digest(moment);
        if moment.time < self.from || self.copied == Some(moment.time) {
            return Flow::Continue;
        }
        self.copied = Some(moment.time);
        self.copy = Some(0);
        self.made += 1;
        Flow::Fork(SIGUSR1)
    }

    fn wants_stores(&self) -> bool {
        self.wants_stores
    }

    fn fork_ended(&mut self, end: &End) {
        self.copy = None;
        self.ends.push(end.clone());
    }
}

fn machine(bytes: &[u8]) -> Machine {
    let image = Image::parse(bytes).expect("a loadable image");
    // Without reports of stores, each copy keeps all of memory.
    let options = Options { stack_size: 128 << 10, ..Options::default() };
    Machine::new(&image, &options).expect("a machine")
}

fn run(bytes: &[u8], forks: &mut Forks) -> Outcome {
    machine(bytes).run(forks).expect("an emulator")
}

/// The process's instructions are seen twice where a copy is made: once more after it.
fn twice(bytes: &[u8], from: u64) -> Forks {
    struct Twice(Forks);
    impl Observer for Twice {
        fn instruction(&mut self, moment: &Moment<'_>) -> Flow {
            self.0.digest(moment);
            if moment.time >= self.0.from {
                self.0.digest(moment);
            }
            Flow::Continue
        }
    }
    let mut observer = Twice(Forks::new(from, false, 0));
    assert_eq!(machine(bytes).run(&mut observer).expect("an emulator").end, End::Exit(0));
    observer.0
}

#[test]
fn copying_a_process_does_not_change_it() {
    let mut paths = builds_of("signals");
    paths.retain(|path| {
        path.to_string_lossy().contains("gnu-2.47") && path.extension().is_some_and(|variant| variant == "O2")
    });
    assert_eq!(paths.len(), 4, "{paths:?}");
    for path in paths {
        let name = path.display();
        let bytes = std::fs::read(&path).expect("a build");
        // Within the handler, from the handler through the restorer, and to the end of the program.
        for (from, life, wants_stores, ends) in [
            (300, 10, true, 0..1),
            (300, 300, true, 0..301),
            (2500, 20_000, true, 100..10_000),
            (3500, 20, false, 0..1),
        ] {
            let mut forks = Forks::new(from, wants_stores, life);
            let outcome = run(&bytes, &mut forks);
            assert_eq!(outcome.end, End::Exit(0), "{name}");
            assert_eq!(outcome.output, b"", "{name}");
            assert!(forks.made > 100, "{name}: {} copies", forks.made);
            assert_eq!(outcome.control_flow.signals, forks.made, "{name}");
            assert!(ends.contains(&forks.ends.len()), "{name}: {} of {}", forks.ends.len(), forks.made);
            assert!(forks.ends.iter().all(|end| *end == End::Exit(0)), "{name}: {:?}", forks.ends);
            assert_eq!(forks.digest.finish(), twice(&bytes, from).digest.finish(), "{name}, from {from}");
        }
    }
}

#[test]
fn a_copy_cannot_be_copied_and_only_a_copy_can_be_ended() {
    let path = builds_of("signals").into_iter().next().expect("a build");
    let bytes = std::fs::read(path).expect("a build");
    for flow in [Flow::Fork(SIGUSR1), Flow::Rewind] {
        let mut observer = |moment: &Moment<'_>| if moment.time < 300 { Flow::Continue } else { flow };
        let outcome = machine(&bytes).run(&mut observer).expect("an emulator");
        assert!(!matches!(outcome.end, End::Exit(_)), "{flow:?}: {:?}", outcome.end);
    }
}
