//! The witness on made-up instructions.

use super::*;
use crate::cpu::{AARCH64, AMD64, S390X};

use Control::{Call, Indirect, Other, Return};
use Movement::{Foreign, Frame, Relative};

const MAIN: Range<u64> = 0x1_0000..0x2_0000;

/// An instruction: its address, SP before it, and its effects.
type Step = (u64, u64, Control, Movement);

struct Runner {
    witness: Witness,
    last: Option<Step>,
}

impl Runner {
    fn new(cpu: &Cpu, sp: u64) -> Self {
        Self { witness: Witness::new(cpu, MAIN, sp, WitnessFaults::default()), last: None }
    }

    /// A call's return address is its PC + 4. Gives the callees on the call stack.
    fn step(&mut self, step: Step) -> Vec<u64> {
        let (pc, sp, control, movement) = step;
        if let Some((last, ..)) = self.last.replace(step)
            && self.witness.was_call()
        {
            let fetches_pc = pc == last + 4 && control == Other;
            self.witness.enter(pc, last + 4, if fetches_pc { Callee::PcFetch } else { Callee::Function });
        }
        self.follow(pc, sp, Action { control, movement, fall_through: None }, None);
        self.callees()
    }

    /// `target` is where the instruction returns to.
    fn follow(&mut self, pc: u64, sp: u64, action: Action, target: Option<u64>) {
        let branch = || target.map(|to| Branch { to, is_certain: action.fall_through.is_none() });
        self.witness.follow(Place { pc, sp, fp: 0 }, 0, action, branch);
    }

    fn callees(&self) -> Vec<u64> {
        self.witness.call_stack().records().iter().map(|record| record.callee).collect()
    }

    fn steps(&mut self, steps: &[Step]) -> Vec<Vec<u64>> {
        steps.iter().map(|step| self.step(*step)).collect()
    }
}

fn run(cpu: &Cpu, steps: &[Step]) -> Vec<Vec<u64>> {
    Runner::new(cpu, steps[0].1).steps(steps)
}

const NONE: Vec<u64> = Vec::new();

#[test]
fn a_call_is_on_the_stack_until_its_return_has_executed() {
    let stacks = run(
        &AMD64,
        &[
            (0x10, 0x1080, Call, Relative),
            (0x100, 0x1078, Other, Relative),
            (0x104, 0x1078, Return, Relative),
            (0x14, 0x1080, Other, Relative),
        ],
    );
    assert_eq!(stacks, [vec![], vec![0x100], vec![0x100], vec![]]);
}

#[test]
fn a_callee_that_pops_its_return_address_is_still_running() {
    let stacks = run(
        &AMD64,
        &[
            (0x10, 0x1080, Call, Relative),
            (0x100, 0x1078, Other, Relative),    // pop %rcx
            (0x101, 0x1080, Indirect, Relative), // jmp *%rcx
            (0x14, 0x1080, Other, Relative),
        ],
    );
    assert_eq!(stacks, [vec![], vec![0x100], vec![0x100], vec![]]);
}

#[test]
fn a_tail_call_leaves_the_stack_as_it_is_and_its_return_ends_the_first_call() {
    let stacks = run(
        &AARCH64,
        &[
            (0x10, 0x1080, Call, Relative),
            (0x100, 0x1080, Other, Relative),    // b 0x200
            (0x200, 0x1080, Indirect, Relative), // br x16: a tail call by register
            (0x300, 0x1080, Return, Relative),
            (0x14, 0x1080, Other, Relative),
        ],
    );
    assert_eq!(stacks, [vec![], vec![0x100], vec![0x100], vec![0x100], vec![]]);
}

#[test]
fn a_jump_past_several_frames_ends_all_of_them() {
    let stacks = run(
        &S390X,
        &[
            (0x10, 0x1800, Call, Relative),
            (0x100, 0x1640, Call, Relative),
            (0x200, 0x1480, Call, Relative),
            (0x300, 0x1320, Other, Foreign), // lmg %r6,%r15,0(%r2)
            (0x304, 0x1800, Indirect, Relative),
            (0x500, 0x1800, Other, Relative),
        ],
    );
    assert_eq!(stacks[3].len(), 3);
    assert_eq!(stacks[4], [0x100], "until the branch SP is not past the first call");
    assert_eq!(stacks[5], NONE);
}

#[test]
fn a_jump_into_the_caller_from_its_own_frameless_callee_ends_the_call() {
    let (call, branch) = ((0x10, 0x1080, Call, Relative), (0x104, 0x1080, Indirect, Relative));
    let restored = (0x100, 0x1080, Other, Foreign); // mov sp, x9
    assert_eq!(run(&AARCH64, &[call, restored, branch, (0x50, 0x1080, Other, Relative)])[3], NONE);
    let tail_call = (0x100, 0x1080, Other, Relative);
    assert_eq!(run(&AARCH64, &[call, tail_call, branch, (0x500, 0x1080, Other, Relative)])[3], [0x100]);
    // On amd64 the return address is gone from the stack.
    let pop = (0x100, 0x1078, Other, Relative);
    assert_eq!(run(&AMD64, &[call, pop, branch, (0x50, 0x1080, Other, Relative)])[3], NONE);
}

#[test]
fn a_jump_into_the_middle_of_a_frame_ends_the_calls_that_it_has_made() {
    let frame = |pc, sp, control, movement| (pc, sp, control, movement);
    let stacks = run(
        &AARCH64,
        &[
            frame(0x10, 0x1080, Call, Relative),
            frame(0x100, 0x1040, Call, Relative), // the frame with the pad
            frame(0x200, 0x1020, Call, Relative),
            frame(0x300, 0x1000, Other, Foreign), // mov sp, x9
            frame(0x304, 0x1030, Indirect, Relative),
            frame(0x140, 0x1030, Other, Relative), // the pad
        ],
    );
    assert_eq!(stacks[4], [0x100, 0x200], "SP is lower than at the call");
    assert_eq!(stacks[5], [0x100]);
}

#[test]
fn an_epilogue_by_the_frame_pointer_does_not_restore_a_context() {
    let stacks = run(
        &AARCH64,
        &[
            (0x10, 0x1080, Call, Relative),
            (0x100, 0x1060, Other, Frame),       // mov sp, x29
            (0x104, 0x1060, Other, Relative),    // ldp x29, x30, [sp], #32
            (0x108, 0x1080, Indirect, Relative), // br x16
            (0x500, 0x1080, Other, Relative),
        ],
    );
    assert_eq!(stacks[4], [0x100]);
}

#[test]
fn a_dropped_return_address_ends_two_calls() {
    let stacks = run(
        &AMD64,
        &[
            (0x10, 0x1080, Call, Relative),
            (0x100, 0x1078, Call, Relative),
            (0x200, 0x1070, Other, Relative),  // add $8,%rsp
            (0x204, 0x1078, Return, Relative), // to 0x14
            (0x14, 0x1080, Other, Relative),
        ],
    );
    assert_eq!(stacks[3], [0x100, 0x200]);
    assert_eq!(stacks[4], NONE);
}

#[test]
fn a_callee_that_removes_its_arguments_returns() {
    // By `ret $16`; and by `pop %rcx; add $16,%rsp; jmp *%rcx`.
    let at_once: &[_] = &[(0x100, 0x1078, Return, Relative), (0x14, 0x1090, Other, Relative)];
    let in_steps: &[_] = &[
        (0x100, 0x1078, Other, Relative),
        (0x101, 0x1080, Other, Relative),
        (0x105, 0x1090, Indirect, Relative),
        (0x14, 0x1090, Other, Relative),
    ];
    for (cpu, steps) in [(&AMD64, at_once), (&AMD64, in_steps)] {
        let mut runner = Runner::new(cpu, 0x1080);
        runner.steps(&[(0x10, 0x1080, Call, Relative)]);
        let stacks = runner.steps(steps);
        assert_eq!(stacks.last(), Some(&vec![]));
        let call_stack = runner.witness.call_stack();
        assert_eq!(call_stack.exit(), Some(Exit::Return), "{steps:x?}");
        let flow = runner.witness.control_flow();
        assert_eq!((flow.returns, flow.discarded_frames, flow.nonlocal_exits), (1, 0, 0), "{steps:x?}");
    }
}

/// The frame that SP is past is still there for whoever looks, until control has left it.
#[test]
fn a_frame_that_sp_has_passed_is_kept_until_control_leaves() {
    let mut runner = Runner::new(&AMD64, 0x1080);
    runner.steps(&[(0x10, 0x1080, Call, Relative), (0x100, 0x1078, Other, Relative)]);
    assert_eq!(runner.witness.call_stack().departed(), None);
    runner.steps(&[(0x101, 0x1090, Other, Relative)]);
    let departed = runner.witness.call_stack().departed().map(|departed| departed.records().len());
    assert_eq!((departed, runner.callees()), (Some(1), vec![]));
    runner.steps(&[(0x105, 0x1090, Indirect, Relative), (0x400, 0x1090, Other, Relative)]);
    assert_eq!(runner.witness.call_stack().departed(), None);
}

/// The caller's caller was called from the same place: control that comes back there with its SP has left two
/// frames.
#[test]
fn a_recursive_caller_that_is_dropped_has_not_been_returned_to() {
    let mut runner = Runner::new(&AMD64, 0x1080);
    let stacks = runner.steps(&[
        (0x10, 0x1080, Call, Relative),
        (0x10, 0x1060, Call, Relative),
        (0x200, 0x1058, Other, Relative),  // add $0x20,%rsp
        (0x204, 0x1078, Return, Relative), // to 0x14
        (0x14, 0x1080, Other, Relative),
    ]);
    assert_eq!(stacks.last(), Some(&vec![]));
}

/// As a loop does that calls over data, where calls leave their return address in a register.
#[test]
fn a_call_that_is_made_again_without_a_return_has_ended() {
    let mut runner = Runner::new(&AARCH64, 0x1080);
    let round = [(0x10, 0x1080, Call, Relative), (0x18, 0x1080, Other, Relative)];
    runner.steps(&round);
    let stacks = runner.steps(&round);
    assert_eq!(stacks.last(), Some(&vec![0x18]));
}

#[test]
fn a_call_that_fetches_the_pc_makes_no_frame() {
    let stacks = run(
        &AMD64,
        &[
            (0x10, 0x1080, Call, Relative),
            (0x14, 0x1078, Other, Relative), // pop %rbx
            (0x18, 0x1080, Other, Relative),
        ],
    );
    assert_eq!(stacks, [NONE, NONE, NONE]);
}

#[test]
fn a_call_over_a_speculation_trap_makes_no_frame() {
    let mut runner = Runner::new(&AMD64, 0x1080);
    runner.steps(&[(0x10, 0x1080, Call, Relative), (0x100, 0x1078, Call, Relative)]);
    runner.witness.enter(0x110, 0x104, Callee::SpeculationTrap);
    runner.last = None;
    let stacks = runner.steps(&[
        (0x110, 0x1070, Other, Relative),  // mov %rax,(%rsp)
        (0x114, 0x1070, Return, Relative), // to what was stored
        (0x200, 0x1078, Return, Relative),
        (0x14, 0x1080, Other, Relative),
    ]);
    assert_eq!(stacks, [vec![0x100], vec![0x100], vec![0x100], vec![]]);
    assert_eq!(runner.witness.control_flow().speculation_traps, 1);
}

#[test]
fn a_branch_that_is_not_taken_arrives_nowhere() {
    let mut runner = Runner::new(&S390X, 0x1800);
    runner.steps(&[(0x10, 0x1800, Call, Relative), (0x100, 0x1800, Other, Foreign)]);
    // cgibe %r2,0,0(%r14), in a function that was jumped to with a loaded SP.
    let action = Action { control: Indirect, movement: Relative, fall_through: Some(0x10a) };
    runner.follow(0x104, 0x1800, action, None);
    runner.follow(0x10a, 0x1800, action, None);
    assert_eq!(runner.callees(), [0x100], "not taken");
    runner.follow(0x14, 0x1800, Action::NOTHING, None);
    assert_eq!(runner.callees(), NONE, "taken");
}

/// `exrl` is seen once more when the branch executes that it names.
#[test]
fn a_branch_that_another_instruction_executes_arrives_once() {
    let mut runner = Runner::new(&S390X, 0x1800);
    runner.steps(&[
        (0x10, 0x1800, Call, Relative),
        (0x100, 0x1700, Call, Relative),
        (0x200, 0x1600, Other, Frame), // lmg %r6,%r15,...: past both frames
    ]);
    let exrl = Action { control: Indirect, movement: Relative, fall_through: Some(0x20a) };
    runner.follow(0x204, 0x1800, exrl, None);
    assert_eq!(runner.callees(), [0x100]);
    runner.follow(0x204, 0x1800, exrl, None);
    assert_eq!(runner.callees(), [0x100]);
    runner.follow(0x30, 0x1800, Action::NOTHING, None);
    assert_eq!(runner.callees(), NONE);
}

/// As `__builtin_eh_return` does: the return address was replaced, and SP moved
/// past frames.
#[test]
fn a_branch_to_a_landing_pad_is_unsettled_and_one_to_the_return_address_is_not() {
    for (target, settled) in [(Some(0x14), true), (None, true), (Some(0x30), false)] {
        let mut runner = Runner::new(&AARCH64, 0x1080);
        runner.steps(&[
            (0x10, 0x1080, Call, Relative),
            (0x100, 0x1040, Call, Relative),
            (0x200, 0x1000, Other, Relative), // add sp, sp, x5
        ]);
        let branch = Action { control: Indirect, movement: Relative, fall_through: None };
        runner.follow(0x204, 0x1080, branch, target);
        assert_eq!(runner.witness.call_stack().is_settled(), settled, "{target:x?}");
    }
}

/// `bl` to an outlined prologue, which returns with the frame made, and to an outlined
/// epilogue, which removes it.
#[test]
fn outlined_prologues_and_epilogues_return_with_another_sp() {
    let mut runner = Runner::new(&AARCH64, 0x1080);
    let stacks = runner.steps(&[
        (0x10, 0x1080, Call, Relative),
        (0x100, 0x1080, Call, Relative),
        (0x200, 0x1080, Other, Relative), // stp x20,x19,[sp,#-32]!
        (0x204, 0x1060, Return, Relative),
        (0x104, 0x1060, Call, Relative),
        (0x300, 0x1060, Other, Relative), // mov x16,x30
        (0x304, 0x1060, Other, Relative), // ldp x20,x19,[sp],#32
    ]);
    let frame = vec![0x100];
    assert_eq!(stacks[3..], [vec![0x100, 0x200], frame.clone(), vec![0x100, 0x300], vec![0x100, 0x300]]);
    let ret = Action { control: Return, ..Action::NOTHING };
    runner.follow(0x308, 0x1080, ret, Some(0x108)); // ret x16
    assert_eq!(runner.callees(), [0x100, 0x300], "it is about to return");
    runner.follow(0x108, 0x1080, ret, Some(0x14));
    assert_eq!(runner.callees(), frame);
    runner.follow(0x14, 0x1080, Action::NOTHING, None);
    assert_eq!(runner.callees(), NONE);
    assert_eq!(runner.witness.control_flow().outlined_frames, 2);
}

/// A jump to the label after a call, in a deeper frame of the same function.
#[test]
fn a_jump_to_the_return_address_of_a_frame_does_not_return_from_it() {
    let stacks = run(
        &AARCH64,
        &[
            (0x10, 0x1080, Call, Relative),
            (0x100, 0x1080, Other, Relative),
            (0x104, 0x1060, Call, Relative),
            (0x100, 0x1060, Other, Relative),
            (0x180, 0x1040, Indirect, Relative), // br x16: case 2
            (0x108, 0x1040, Other, Relative),
        ],
    );
    assert_eq!(stacks[5], [0x100, 0x100]);
}

/// main calls `enter`, which jumps to `work`, and that saves its context. Nobody
/// has called `work`: it has to be distinguished from the function before it,
/// which is on the stack too.
#[test]
fn a_jump_into_a_function_that_nobody_has_called_ends_no_other_frames() {
    let mut runner = Runner::new(&AMD64, 0x1_1080);
    let stacks = runner.steps(&[
        (0x10, 0x1_1080, Call, Relative),
        (0x800, 0x1_1078, Call, Relative),  // `outer`
        (0x500, 0x1_1070, Other, Relative), // `enter`: jmp work
        (0x900, 0x1_1070, Other, Relative), // `work`
        (0x904, 0x1_1060, Call, Relative),  // setjmp
        (0x200, 0x1_1058, Return, Relative),
        (0x908, 0x1_1060, Call, Relative),
        (0x700, 0x1_1058, Call, Relative),
        (0x300, 0x1_1050, Other, Foreign), // longjmp: mov 48(%rdi),%rsp
        (0x304, 0x1_1060, Indirect, Relative),
        (0x908, 0x1_1060, Other, Relative),
    ]);
    assert_eq!(stacks[8], [0x800, 0x500, 0x700, 0x300]);
    assert_eq!(stacks[10], [0x800, 0x500]);
}

#[test]
fn a_call_to_the_function_after_it_is_a_frame() {
    let mut runner = Runner::new(&AMD64, 0x1080);
    runner.step((0x10, 0x1080, Call, Relative));
    runner.witness.enter(0x14, 0x14, Callee::Function);
    assert_eq!(runner.callees(), [0x14]);
}

#[test]
fn recursion_returns_one_level_at_a_time() {
    let stacks = run(
        &AMD64,
        &[
            (0x10, 0x1080, Call, Relative),
            (0x100, 0x1078, Call, Relative),
            (0x100, 0x1070, Return, Relative),
            (0x104, 0x1078, Return, Relative),
            (0x14, 0x1080, Other, Relative),
        ],
    );
    assert_eq!(stacks.iter().map(Vec::len).collect::<Vec<_>>(), [0, 1, 2, 1, 0]);
}

#[test]
fn the_cfa_of_s390x_lies_160_bytes_above_sp_at_the_call() {
    let mut witness = Witness::new(&S390X, MAIN, 800, WitnessFaults::default());
    let call = Action { control: Call, ..Action::NOTHING };
    witness.follow(Place { pc: 0x10, sp: 800, fp: 7 }, 5, call, || None);
    witness.enter(0x100, 0x16, Callee::Function);
    let expected = Record {
        return_address: 0x16,
        cfa: 960,
        caller_sp: 800,
        caller_fp: 7,
        callee: 0x100,
        since: 5,
        event: 0,
        interrupted: false,
        signature: None,
    };
    assert_eq!(witness.call_stack().records(), [expected]);
}

#[test]
fn calls_are_kept_as_long_as_they_are_the_same_since_the_moment_before() {
    let mut runner = Runner::new(&AMD64, 0x1_1080);
    let kept = |runner: &mut Runner, step| {
        runner.step(step);
        let call_stack = runner.witness.call_stack();
        let result = (call_stack.kept(), call_stack.records().len());
        runner.witness.seen();
        result
    };
    assert_eq!(kept(&mut runner, (0x10, 0x1_1080, Call, Relative)), (0, 0));
    assert_eq!(kept(&mut runner, (0x100, 0x1_1078, Call, Relative)), (0, 1));
    assert_eq!(kept(&mut runner, (0x200, 0x1_1070, Return, Relative)), (1, 2));
    assert_eq!(kept(&mut runner, (0x104, 0x1_1078, Call, Relative)), (1, 1));
    // A call ends and another one begins before the observer looks.
    runner.steps(&[(0x200, 0x1_1070, Return, Relative), (0x104, 0x1_1078, Call, Relative)]);
    assert_eq!(kept(&mut runner, (0x200, 0x1_1070, Return, Relative)), (1, 2));
    let mut runner = Runner::new(&AMD64, 0x1_1080);
    start_coroutine(&mut runner);
    runner.witness.seen();
    runner.step((0x800, 0x4ff0, Other, Foreign));
    runner.witness.seen();
    assert_eq!(kept(&mut runner, (0x804, 0x1_1078, Return, Relative)), (0, 1), "main's, resumed");
}

/// main calls a switch at 0x100, which loads SP and returns into a
/// coroutine at 0x900 with a stack that ends at 0x5000.
fn start_coroutine(runner: &mut Runner) {
    runner.steps(&[
        (0x10, 0x1_1080, Call, Relative),
        (0x100, 0x1_1078, Other, Foreign), // mov %rsi,%rsp
        (0x104, 0x4ff0, Return, Relative),
    ]);
    assert!(!runner.witness.call_stack().is_settled());
    assert_eq!(runner.step((0x900, 0x4ff8, Call, Relative)), NONE);
    assert!(runner.witness.call_stack().is_settled());
    assert_eq!(runner.witness.call_stack().bottom(), Bottom::Context);
}

#[test]
fn contexts_have_call_stacks_of_their_own() {
    let mut runner = Runner::new(&AMD64, 0x1_1080);
    start_coroutine(&mut runner);
    let stacks = runner.steps(&[
        (0x800, 0x4ff0, Call, Relative),
        (0x100, 0x4fe8, Other, Foreign), // back to main, in the middle of the switch
        (0x104, 0x1_1078, Return, Relative),
        (0x14, 0x1_1080, Call, Relative), // and to the coroutine again
        (0x100, 0x1_1078, Other, Foreign),
        (0x104, 0x4fe8, Return, Relative),
        (0x804, 0x4ff0, Return, Relative),
        (0x904, 0x4ff8, Other, Relative),
    ]);
    let expected: [&[u64]; 8] =
        [&[0x800], &[0x800, 0x100], &[0x100], &[], &[0x100], &[0x800, 0x100], &[0x800], &[]];
    assert_eq!(stacks, expected);
    assert_eq!(runner.witness.control_flow().contexts_begun, 1);
    assert_eq!(runner.witness.control_flow().contexts_resumed, 2);
}

#[test]
fn a_stack_that_is_entered_like_the_first_time_begins_a_new_context() {
    let mut runner = Runner::new(&AMD64, 0x1_1080);
    start_coroutine(&mut runner);
    runner.steps(&[
        (0x800, 0x4ff0, Call, Relative),
        (0x100, 0x4fe8, Other, Foreign), // for the last time
        (0x104, 0x1_1078, Return, Relative),
        (0x14, 0x1_1080, Other, Relative),
    ]);
    start_coroutine(&mut runner);
    assert_eq!(runner.witness.control_flow().contexts_begun, 2);
}

#[test]
fn frames_whose_memory_is_used_again_have_ended() {
    let mut runner = Runner::new(&AMD64, 0x1_1080);
    start_coroutine(&mut runner);
    runner.steps(&[
        (0x800, 0x4ff0, Other, Foreign), // to a stack right above
        (0x804, 0x6000, Return, Relative),
        (0xa00, 0x6008, Other, Relative), // sub $0x1800,%rsp
        (0xa04, 0x4808, Other, Relative),
    ]);
    assert_eq!(runner.witness.parked.len(), 1, "main");
}

#[test]
fn a_frame_that_calls_on_another_stack_stays_where_it_is() {
    let mut runner = Runner::new(&AMD64, 0x1_1080);
    let stacks = runner.steps(&[
        (0x10, 0x1_1080, Call, Relative),
        (0x100, 0x1_1078, Other, Foreign), // mov %rsi,%rsp
        (0x104, 0x5000, Call, Relative),
        (0x200, 0x4ff8, Call, Relative),
        (0x300, 0x4ff0, Return, Relative),
        (0x204, 0x4ff8, Return, Relative),
        (0x108, 0x5000, Other, Frame), // leave
        (0x10c, 0x1_1078, Return, Relative),
        (0x14, 0x1_1080, Other, Relative),
    ]);
    let expected: [&[u64]; 9] = [
        &[],
        &[0x100],
        &[0x100],
        &[0x100, 0x200],
        &[0x100, 0x200, 0x300],
        &[0x100, 0x200],
        &[0x100],
        &[0x100],
        &[],
    ];
    assert_eq!(stacks, expected);
    assert_eq!(runner.witness.control_flow().stack_moves, 1);
}

fn deliver(runner: &mut Runner, interrupted_sp: u64, handler_sp: u64, alternate: Option<Range<u64>>) {
    runner.witness.signal(&Delivery {
        interrupted: Place { pc: 0x204, sp: interrupted_sp, fp: 7 },
        restorer: 0x700,
        handler: Place { pc: 0x600, sp: handler_sp, fp: 8 },
        alternate,
        observed: u64::MAX,
    });
}

#[test]
fn a_signal_puts_its_frame_and_the_handlers_on_the_stack() {
    let mut runner = Runner::new(&AMD64, 0x1_1080);
    runner.steps(&[(0x10, 0x1_1080, Call, Relative), (0x200, 0x1_1078, Other, Relative)]);
    runner.step((0x204, 0x1_1078, Call, Relative));
    deliver(&mut runner, 0x1_1078, 0x1_0c08, None);
    assert_eq!(runner.callees(), [0x200, 0x700, 0x600]);
    let [_, signal, handler] = runner.witness.call_stack().records() else { panic!() };
    assert_eq!((signal.return_address, signal.cfa, signal.caller_fp), (0x204, 0x1_1078, 7));
    assert!(signal.interrupted && !handler.interrupted);
    assert_eq!((handler.return_address, handler.cfa), (0x700, 0x1_0c10));
    let stacks = runner.steps(&[
        (0x600, 0x1_0c08, Call, Relative),
        (0x800, 0x1_0c00, Return, Relative),
        (0x604, 0x1_0c08, Return, Relative),
        (0x700, 0x1_0c10, Other, Relative),
    ]);
    assert_eq!(
        stacks[1..],
        [vec![0x200, 0x700, 0x600, 0x800], vec![0x200, 0x700, 0x600], vec![0x200, 0x700]]
    );
    runner.witness.signal_return(&Place { pc: 0x204, sp: 0x1_1078, fp: 7 });
    assert_eq!(runner.step((0x204, 0x1_1078, Call, Relative)), [0x200]);
    assert_eq!(runner.step((0x300, 0x1_1070, Other, Relative)), [0x200, 0x300]);
}

#[test]
fn a_handler_may_jump_from_its_alternate_stack_to_a_frame_below_the_signal() {
    let mut runner = Runner::new(&AMD64, 0x1_1080);
    runner.steps(&[(0x10, 0x1_1080, Call, Relative), (0x200, 0x1_1078, Other, Relative)]);
    runner.step((0x204, 0x1_1070, Other, Relative));
    for _ in 0..2 {
        deliver(&mut runner, 0x1_1070, 0x5c08, Some(0x5000..0x6000));
        let stacks = runner.steps(&[
            (0x600, 0x5c08, Call, Relative),
            (0x800, 0x5c00, Other, Foreign), // mov 48(%rdi),%rsp
            (0x804, 0x1_1080, Indirect, Relative),
            (0x50, 0x1_1080, Other, Relative),
        ]);
        assert_eq!(stacks[1], [0x200, 0x700, 0x600, 0x800]);
        assert_eq!(stacks[3], NONE);
        runner.steps(&[(0x10, 0x1_1080, Call, Relative), (0x200, 0x1_1070, Other, Relative)]);
    }
}

#[test]
fn a_signal_before_a_new_context_has_begun_interrupts_the_frame_that_is_about_to_be_left() {
    let mut runner = Runner::new(&AMD64, 0x1_1080);
    runner.steps(&[
        (0x10, 0x1_1080, Call, Relative),
        (0x100, 0x1_1078, Other, Foreign),
        (0x104, 0x4ff0, Return, Relative),
    ]);
    deliver(&mut runner, 0x4ff0, 0x4a08, None);
    assert_eq!(runner.callees(), [0x100, 0x700, 0x600]);
    assert_eq!(runner.witness.call_stack().bottom(), Bottom::Entry);
    runner.steps(&[(0x600, 0x4a08, Return, Relative), (0x700, 0x4a10, Other, Relative)]);
    runner.witness.signal_return(&Place { pc: 0x104, sp: 0x4ff0, fp: 0 });
    let stacks = runner.steps(&[(0x104, 0x4ff0, Return, Relative), (0x900, 0x4ff8, Other, Relative)]);
    assert_eq!(stacks, [NONE, NONE]);
    assert_eq!(runner.witness.call_stack().bottom(), Bottom::Context);
}

/// Three calls with one SP: no function has made a frame.
const SAME_SP: [Step; 4] = [
    (0x10, 0x1_1080, Call, Relative),
    (0x100, 0x1_1080, Call, Relative),
    (0x200, 0x1_1080, Call, Relative),
    (0x300, 0x1_1080, Other, Relative),
];

#[test]
fn a_return_instruction_to_an_outer_call_with_its_sp_ends_those_after_it_too() {
    let arrive = |control| {
        let mut runner = Runner::new(&AARCH64, 0x1_1080);
        runner.steps(&SAME_SP);
        runner.step((0x304, 0x1_1080, control, Relative));
        runner.step((0x104, 0x1_1080, Other, Relative))
    };
    assert_eq!(arrive(Return), [0x100]);
    assert_eq!(arrive(Indirect), [0x100, 0x200, 0x300], "a jump within the function");
}

#[test]
fn the_function_decides_which_of_several_frames_with_one_sp_is_landed_in() {
    let land = |pc| {
        let mut runner = Runner::new(&AARCH64, 0x1_1080);
        runner.steps(&SAME_SP);
        runner.step((0x304, 0x1_1080, Other, Foreign)); // mov sp, x9
        runner.step((0x308, 0x1_1080, Indirect, Relative));
        runner.step((pc, 0x1_1080, Other, Relative))
    };
    assert_eq!(land(0x340), [0x100, 0x200, 0x300], "it stays where it is");
    assert_eq!(land(0x240), [0x100, 0x200]);
    assert_eq!(land(0x140), [0x100]);
    assert_eq!(land(0x40), NONE, "the function that nobody has called");
}

#[test]
fn a_call_with_a_restored_sp_shows_that_the_frame_goes_on() {
    let mut runner = Runner::new(&AARCH64, 0x1_1080);
    runner.steps(&[
        (0x10, 0x1_1080, Call, Relative),
        (0x100, 0x1_1000, Call, Relative),
        (0x200, 0x1_1000, Return, Relative),
        (0x104, 0x1_0f00, Other, Foreign), // mov sp, x9
        (0x108, 0x1_1000, Call, Relative),
        (0x200, 0x1_1000, Indirect, Relative), // a computed jump
    ]);
    assert_eq!(runner.step((0x240, 0x1_1000, Other, Relative)), [0x100, 0x200]);
}

#[test]
fn a_frame_that_was_not_made_yet_when_its_context_was_saved_is_landed_in() {
    let mut runner = Runner::new(&AARCH64, 0x1_1080);
    runner.steps(&[
        (0x10, 0x1_1080, Call, Relative),
        (0x100, 0x1_1080, Other, Relative), // sub sp, sp, #48
        (0x104, 0x1_1050, Call, Relative),
        (0x200, 0x1_1050, Other, Foreign), // mov sp, x9
        (0x204, 0x1_1080, Indirect, Relative),
    ]);
    assert_eq!(runner.step((0x140, 0x1_1080, Other, Relative)), [0x100]);
}

/// As the jump of `__builtin_longjmp` does, which a thunk behind an outer function executes.
#[test]
fn a_jump_to_a_thunk_lands_in_no_frame_with_another_sp() {
    let mut runner = Runner::new(&AMD64, 0x1_1080);
    runner.steps(&[
        (0x800, 0x1_1080, Call, Relative),
        (0x100, 0x1_1078, Call, Relative),
        (0x200, 0x1_1070, Other, Relative), // push %rbx
        (0x204, 0x1_1068, Call, Relative),
        (0x300, 0x1_1060, Other, Foreign),  // mov 16(%rdi),%rsp
        (0x304, 0x1_1068, Other, Relative), // jmp thunk
        (0x900, 0x1_1068, Indirect, Relative),
    ]);
    assert_eq!(runner.step((0x240, 0x1_1068, Other, Relative)), [0x100, 0x200]);
}

/// A function without a frame begins a coroutine, which resumes it.
#[test]
fn a_context_goes_on_in_the_function_that_has_left_it() {
    let mut runner = Runner::new(&AARCH64, 0x1_1080);
    runner.steps(&[
        (0x10, 0x1_1080, Call, Relative),
        (0x100, 0x1_1080, Other, Foreign), // mov sp, x9
        (0x104, 0x5000, Indirect, Relative),
        (0x200, 0x5000, Other, Foreign),
        (0x204, 0x1_1080, Indirect, Relative),
    ]);
    assert_eq!(runner.step((0x120, 0x1_1080, Other, Relative)), [0x100]);
}

/// Until control shows it, it is not known whether a stack continues or begins anew where it began.
#[test]
fn a_context_whose_sp_is_that_of_its_beginning_is_unsettled_until_control_arrives() {
    let mut runner = Runner::new(&AARCH64, 0x1_1080);
    runner.steps(&[
        (0x10, 0x1_1080, Call, Relative),
        (0x100, 0x1_1080, Other, Foreign), // mov sp, x9
        (0x104, 0x5000, Indirect, Relative),
        (0x200, 0x5000, Other, Foreign),
        (0x204, 0x1_1080, Indirect, Relative),
        (0x14, 0x1_1080, Call, Relative),
        (0x100, 0x1_1080, Other, Foreign),
        (0x104, 0x5000, Indirect, Relative),
    ]);
    assert!(!runner.witness.call_stack().is_settled());
    runner.step((0x200, 0x5000, Other, Relative));
    assert!(runner.witness.call_stack().is_settled());
}

/// A function without a frame saves its context, leaves by a tail call for one that loads
/// another context, and is continued when the first one is restored. It may have been called by
/// way of a PLT.
#[test]
fn a_context_goes_on_in_a_function_that_has_left_by_a_tail_call() {
    const STUB: u64 = 0x2000_0000;
    for stub in [&[][..], &[(STUB, 0x1_1080, Indirect, Relative)]] {
        let mut runner = Runner::new(&AARCH64, 0x1_1080);
        runner.steps(&[
            (0x10, 0x1_1080, Call, Relative),
            (0x300, 0x1_1080, Other, Relative), // loads contexts: called directly, once
            (0x304, 0x1_1080, Return, Relative),
            (0x14, 0x1_1080, Call, Relative),
        ]);
        runner.steps(stub);
        runner.steps(&[
            (0x100, 0x1_1080, Other, Relative), // b 0x300
            (0x300, 0x1_1080, Other, Foreign),  // mov sp, x2
            (0x304, 0x5000, Indirect, Relative),
            (0x800, 0x5000, Other, Foreign), // the other context loads the first
            (0x804, 0x1_1080, Indirect, Relative),
        ]);
        let callee = if stub.is_empty() { 0x100 } else { STUB };
        assert_eq!(runner.step((0x110, 0x1_1080, Return, Relative)), [callee]);
        assert_eq!(runner.step((0x18, 0x1_1080, Other, Relative)), NONE);
    }
}
