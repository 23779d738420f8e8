//! Instructions that an observer lets pass.

use std::rc::Rc;

use crate::executable::{CODE, executable};
use sframe_machine::{
    AMD64, Broken, End, Flow, Image, Machine, Moment, Observer, Options, Outcome, Straight,
};

/// A program that calls a function, and then exits.
const PROGRAM: &[u8] = &[
    0xe8, 12, 0, 0, 0, // call f
    0xbf, 7, 0, 0, 0, // mov $7,%edi
    0xb8, 60, 0, 0, 0, // mov $60,%eax
    0x0f, 0x05, // syscall
    0x90, // f: nop
    0x90, // nop
    0x50, // push %rax
    0x58, // pop %rax
    0xc3, // ret
];

/// The first instruction of the function.
const F: u64 = CODE + 17;

/// Lets instructions pass from the first one of the function on.
struct Letting {
    pcs: Vec<u64>,
    end: u64,
    is_last_free: bool,
    shown: Vec<u64>,
    passed: Vec<(u64, u64)>,
    stored: Vec<usize>,
}

impl Letting {
    fn run(pcs: &[u64], end: u64, is_last_free: bool) -> (Self, Outcome) {
        let mut letting = Self {
            pcs: pcs.to_vec(),
            end,
            is_last_free,
            shown: Vec::new(),
            passed: Vec::new(),
            stored: Vec::new(),
        };
        let mut bytes = executable(&AMD64, PROGRAM);
        // What can be written to may change, and nothing of it passes.
        let flags = 64 + 4;
        bytes[flags] &= !2;
        let image = Image::parse(&bytes).expect("a loadable image");
        let machine = Machine::new(&image, &Options::default()).expect("a machine");
        let outcome = machine.run(&mut letting).expect("an emulator");
        (letting, outcome)
    }
}

impl Observer for Letting {
    fn instruction(&mut self, moment: &Moment<'_>) -> Flow {
        assert_eq!(moment.time, (self.shown.len() + self.passed.len()) as u64);
        self.shown.push(moment.pc);
        Flow::Continue
    }

    fn lets_pass(&mut self, moment: &Moment<'_>) -> Option<Rc<Straight>> {
        (moment.pc == F).then(|| Rc::new(moment.straight(self.pcs.clone(), self.end, self.is_last_free)))
    }

    fn passed(&mut self, time: u64, pcs: &[u64]) {
        self.passed.extend((time..).zip(pcs.iter().copied()));
    }

    fn wants_stores(&self) -> bool {
        true
    }

    fn store(&mut self, _: u64, _: u64) {
        self.stored.push(self.shown.len() + self.passed.len());
    }
}

#[test]
fn what_passes_is_counted_and_its_stores_are_its_own() {
    let (_, all) = Letting::run(&[], F, false);
    let (letting, outcome) = Letting::run(&[F, F + 1, F + 2], F + 3, true);
    assert_eq!((outcome.end, outcome.instructions), (End::Exit(7), all.instructions));
    assert_eq!((all.passed, outcome.passed), (0, 2));
    assert_eq!(letting.passed, [(2, F + 1), (3, F + 2)]);
    assert_eq!(letting.shown[1..4], [F, F + 3, F + 4]);
    // By the call, and by the push that passes.
    assert_eq!(letting.stored, [1, 4]);
}

/// An observer that does not know what an instruction does makes the run worthless.
#[test]
fn sp_and_fp_are_compared_after_instructions_that_should_leave_them_alone() {
    for (pcs, end) in [(&[F, F + 1, F + 2][..], F + 3), (&[F, F + 1, F + 2, F + 3, F + 4], F + 5)] {
        let (_, outcome) = Letting::run(pcs, end, false);
        // Of the second, nothing is noticed: SP is what it was, and the return is followed.
        let is_noticed = matches!(outcome.end, End::Broken(Broken::Harness(_)));
        assert_eq!(is_noticed, pcs.len() == 3, "{:?}", outcome.end);
    }
    // Others than those from this one on can't pass.
    let (_, outcome) = Letting::run(&[F + 1], F + 2, false);
    assert_eq!((outcome.end, outcome.passed), (End::Exit(7), 0));
}
