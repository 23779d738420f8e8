//! The witness against programs whose call stack is known by construction.
//!
//! Generated programs call, return, jump and switch stacks in every way that
//! compilers and run-time libraries have; at each instruction the witness's call
//! stack must be the one that the generator knows.

mod aarch64;
mod amd64;
mod code;
mod s390x;
mod shapes;

use self::code::{Isa, Label};
use self::shapes::{Action, Address, Area, Call, Expected, Program, Window};
use crate::executable::{CODE, executable};
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestError, TestRng, TestRunner};
use sframe_machine::{Bottom, End, Flow, Image, Machine, Moment, Options, WitnessFaults};

/// Cases of each ABI, unless `PROPTEST_CASES` says another number.
const CASES: u32 = 200;

/// The layout of a program.
struct Layout {
    /// The address of each chunk.
    chunks: Vec<u64>,
    data: u64,
    bytes: Vec<u8>,
}

impl Layout {
    fn new(program: &Program) -> Self {
        let mut chunks = vec![0; program.chunks.len()];
        let mut at = CODE;
        for function in &program.functions {
            for chunk in function {
                chunks[*chunk] = at;
                at += program.chunks[*chunk].len as u64;
                // Code after a call that never returns is not a place to jump to:
                // where calls leave SP alone, that would be a return.
                if !program.isa.links_on_stack {
                    at += program.isa.trap.len() as u64;
                }
            }
            // Not the next function: a limit of the witness, which would take a
            // call to it at the end of this one for fetching the PC.
            at = (at + program.isa.trap.len() as u64).next_multiple_of(16);
        }
        let data = at.next_multiple_of(4096);
        let mut layout = Self { chunks, data, bytes: Vec::new() };
        let trap = program.isa.trap;
        let mut bytes: Vec<u8> = trap.iter().copied().cycle().take(length(data - CODE)).collect();
        for (chunk, start) in program.chunks.iter().zip(&layout.chunks) {
            for (offset, instruction) in &chunk.instructions {
                let pc = start + *offset as u64;
                let code = (program.isa.encode)(*instruction, pc, &|label| layout.address(label));
                let from = length(pc - CODE);
                bytes[from..from + code.len()].copy_from_slice(&code);
            }
        }
        for label in &program.script {
            let target = layout.address(*label);
            bytes.extend(if program.isa.cpu.abi.is_big_endian() {
                target.to_be_bytes()
            } else {
                target.to_le_bytes()
            });
        }
        bytes.resize(length(data - CODE) + shapes::DATA_SIZE, 0);
        layout.bytes = bytes;
        layout
    }

    fn address(&self, label: Label) -> u64 {
        if label.is_data() {
            return self.data + label.offset as u64;
        }
        // While the code is measured, some labels have no place yet.
        self.chunks[label.chunk] + label.offset as u64
    }
}

fn length(bytes: u64) -> usize {
    usize::try_from(bytes).expect("a small program")
}

/// SP and FP at the first instruction.
#[derive(Clone, Copy)]
struct Start {
    sp: u64,
    fp: u64,
}

fn resolve(address: Address, layout: &Layout, start: Start) -> u64 {
    let base = match address.area {
        Area::Stack => start.sp,
        Area::Data => layout.data,
        Area::FramePointer => start.fp,
    };
    base.wrapping_add_signed(address.offset)
}

/// Returns the differences from the expected state before an instruction.
fn difference(
    isa: &Isa,
    layout: &Layout,
    start: Start,
    expected: &Expected,
    next: Option<&Expected>,
    moment: &Moment<'_>,
) -> Option<String> {
    let at = layout.address(expected.at);
    let (sp, fp) = (resolve(expected.sp, layout, start), resolve(expected.fp, layout, start));
    if (moment.pc, moment.sp, moment.fp) != (at, sp, fp) {
        let Moment { pc, sp: real_sp, fp: real_fp, .. } = moment;
        return Some(format!(
            "the generator is wrong: at {pc:#x} {real_sp:#x} {real_fp:#x}, not {at:#x} {sp:#x} {fp:#x}"
        ));
    }
    if !moment.call_stack.is_settled() {
        return (expected.window == Window::Exact).then(|| "unsettled".to_owned());
    }
    let bottom_of = |expected: &Expected| {
        if expected.in_coroutine { Bottom::Context } else { Bottom::Entry }
    };
    let bottom = bottom_of(expected);
    let real: Vec<_> = moment
        .call_stack
        .records()
        .iter()
        .map(|record| (record.return_address, record.caller_sp, record.cfa, record.caller_fp, record.callee))
        .collect();
    let wanted = |calls: &[Call]| -> Vec<_> {
        calls
            .iter()
            .map(|call| {
                let sp = resolve(call.sp, layout, start);
                let cfa = sp.wrapping_add_signed(isa.cfa_above_sp);
                let fp = resolve(call.fp, layout, start);
                (layout.address(call.return_address), sp, cfa, fp, layout.address(call.callee))
            })
            .collect()
    };
    let is = |calls: &[Call], bottom| real == wanted(calls) && moment.call_stack.bottom() == bottom;
    let mut matches = is(&expected.calls, bottom);
    if expected.window != Window::Exact {
        let sp = expected.sp;
        let passed = |call: &&Call| call.sp.stack() == sp.stack() && call.sp.offset < sp.offset;
        let lost = expected.calls.iter().rev().take_while(passed).count();
        let left = &expected.calls[..expected.calls.len() - lost];
        // Control that goes to where the innermost of these returns to does return.
        let returns = |next: &Expected| {
            left.last().is_some_and(|call| layout.address(call.return_address) == layout.address(next.at))
        };
        matches |= is(left, bottom) && (expected.window != Window::Landing || next.is_some_and(returns));
    }
    if matches!(expected.window, Window::Landing | Window::Loaded) {
        // Or where control is about to go.
        matches |= next.is_some_and(|next| is(&next.calls, bottom_of(next)));
    }
    (!matches).then(|| {
        let show = |calls: &[(u64, u64, u64, u64, u64)]| {
            calls
                .iter()
                .map(|(ra, sp, _, fp, callee)| format!("\n    {callee:#x} ra {ra:#x} sp {sp:#x} fp {fp:#x}"))
                .collect::<String>()
        };
        let found = moment.call_stack.bottom();
        format!("{found:?}, not {bottom:?}; is{}\n  not{}", show(&real), show(&wanted(&expected.calls)))
    })
}

/// Runs the program of the actions; the error says where the call stack is wrong.
fn check(isa: &'static Isa, actions: &[Action], witness_faults: WitnessFaults) -> Result<usize, String> {
    let program = shapes::program(isa, actions);
    let layout = Layout::new(&program);
    let bytes = executable(isa.cpu, &layout.bytes);
    let image = Image::parse(&bytes).map_err(|error| error.to_string())?;
    let options = Options { stack_size: *Options::STACK_SIZES.start(), witness_faults, ..Options::default() };
    let machine = Machine::new(&image, &options).map_err(|error| error.to_string())?;
    let mut wrong = None;
    let mut start = None;
    let mut time = 0;
    let mut observer = |moment: &Moment<'_>| {
        let start = *start.get_or_insert(Start { sp: moment.sp, fp: moment.fp });
        wrong = match program.trace.get(time) {
            Some(expected) => {
                let next = program.trace[time..]
                    .iter()
                    .find(|next| !matches!(next.window, Window::Landing | Window::Loaded));
                difference(isa, &layout, start, expected, next, moment)
            }
            None => Some("there are more instructions than the generator knows".to_owned()),
        };
        time += 1;
        if wrong.is_some() { Flow::Stop } else { Flow::Continue }
    };
    let outcome = machine.run(&mut observer).map_err(|error| error.to_string())?;
    if let Some(wrong) = wrong {
        let from = time.saturating_sub(40);
        let last: String = program.trace[from..time.min(program.trace.len())]
            .iter()
            .map(|expected| {
                let Expected { at, instruction, sp, window, .. } = expected;
                let (pc, sp) = (layout.address(*at), resolve(*sp, &layout, start.expect("it ran")));
                format!("  {pc:#x} sp {sp:#x} {instruction:?} {window:?}\n")
            })
            .collect();
        return Err(format!("{}:\n{last}{wrong}", isa.cpu.abi));
    }
    if outcome.end != End::Exit(0) || time != program.trace.len() {
        return Err(format!("{:?} after {time} of {} instructions", outcome.end, program.trace.len()));
    }
    Ok(time)
}

fn action() -> impl Strategy<Value = Action> {
    let byte = any::<u8>;
    prop_oneof![
        1 => Just(Action::Nop),
        12 => (byte(), byte(), any::<bool>()).prop_map(|(how, callee, comes_back_by_jump)| Action::Call {
            how,
            callee,
            comes_back_by_jump
        }),
        10 => (byte(), byte()).prop_map(|(how, size)| Action::Frame { how, size }),
        3 => byte().prop_map(|size| Action::Grow { size }),
        8 => byte().prop_map(|how| Action::Return { how }),
        4 => (byte(), byte()).prop_map(|(how, callee)| Action::TailCall { how, callee }),
        2 => byte().prop_map(|how| Action::Jump { how }),
        3 => (byte(), byte()).prop_map(|(which, how)| Action::JumpAfterCall { which, how }),
        1 => Just(Action::FetchPc),
        1 => Just(Action::FarPart),
        3 => (byte(), byte()).prop_map(|(frames, how)| Action::Discard { frames, how }),
        3 => (byte(), byte()).prop_map(|(buffer, how)| Action::Save { buffer, how }),
        4 => (byte(), byte()).prop_map(|(buffer, how)| Action::Restore { buffer, how }),
        3 => (byte(), byte(), byte()).prop_map(|(frame, adjust, how)| Action::Land { frame, adjust, how }),
        2 => byte().prop_map(|how| Action::Outlined { how }),
        2 => (byte(), byte()).prop_map(|(area, how)| Action::SwitchStack { area, how }),
        2 => byte().prop_map(|how| Action::SwitchBack { how }),
        2 => (byte(), byte(), byte()).prop_map(|(area, callee, how)| Action::Begin { area, callee, how }),
        3 => (byte(), byte(), prop::bool::weighted(0.2)).prop_map(|(which, how, abandon)| Action::Resume {
            which,
            how,
            abandon
        }),
    ]
}

fn run(isa: &'static Isa, faults: WitnessFaults, runner: &mut TestRunner) -> Result<(), String> {
    runner
        .run(&prop::collection::vec(action(), 1..60), |actions| {
            check(isa, &actions, faults).map(|_| ()).map_err(TestCaseError::fail)
        })
        .map_err(|error| match error {
            TestError::Fail(reason, actions) => format!("{actions:?}\n{reason}"),
            abort @ TestError::Abort(_) => abort.to_string(),
        })
}

/// Cases are the same in each run, unless their number is given.
fn holds(isa: &'static Isa) {
    let given = std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok());
    let cases = given.unwrap_or(CASES);
    let config = Config { cases, failure_persistence: None, max_shrink_iters: 4096, ..Config::default() };
    let mut runner = if given.is_some() {
        TestRunner::new(config)
    } else {
        TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::ChaCha))
    };
    if let Err(error) = run(isa, WitnessFaults::default(), &mut runner) {
        panic!("{error}");
    }
}

#[test]
fn every_call_shape_of_amd64_has_the_call_stack_that_it_was_built_with() {
    holds(&amd64::ISA);
}

#[test]
fn every_call_shape_of_aarch64_has_the_call_stack_that_it_was_built_with() {
    holds(&aarch64::ISA);
}

#[test]
fn every_call_shape_of_aarch64_be_has_the_call_stack_that_it_was_built_with() {
    holds(&aarch64::ISA_BE);
}

#[test]
fn every_call_shape_of_s390x_has_the_call_stack_that_it_was_built_with() {
    holds(&s390x::ISA);
}

static ALL: [&Isa; 4] = [&amd64::ISA, &aarch64::ISA, &aarch64::ISA_BE, &s390x::ISA];

/// Returns whether a fault of the witness shows in one of a few hundred cases.
fn is_noticed(isa: &'static Isa, faults: WitnessFaults) -> bool {
    let config = Config { cases: 400, failure_persistence: None, max_shrink_iters: 0, ..Config::default() };
    let rng = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    run(isa, faults, &mut TestRunner::new_with_rng(config, rng)).is_err()
}

#[test]
fn faults_of_the_witness_are_noticed_on_every_abi() {
    let none = WitnessFaults::default();
    for (name, faults) in [
        ("tail calls", WitnessFaults { misses_tail_calls: true, ..none }),
        ("nonlocal exits", WitnessFaults { misses_nonlocal_exits: true, ..none }),
        ("stack switches", WitnessFaults { misses_stack_switches: true, ..none }),
        ("PC fetches", WitnessFaults { misses_pc_fetches: true, ..none }),
        ("landings", WitnessFaults { misses_landings: true, ..none }),
    ] {
        for isa in ALL {
            assert!(is_noticed(isa, faults), "{name} on {}", isa.cpu.abi);
        }
    }
}

/// Signals are not among the shapes; the program of signals.rs has them.
#[test]
fn faults_of_the_witness_are_noticed_where_an_abi_has_what_they_miss() {
    let none = WitnessFaults::default();
    for (isa, faults) in [
        (&amd64::ISA, WitnessFaults { misses_speculation_traps: true, ..none }),
        (&s390x::ISA, WitnessFaults { misses_conditions: true, ..none }),
        (&aarch64::ISA, WitnessFaults { misses_outlined_frames: true, ..none }),
        (&aarch64::ISA_BE, WitnessFaults { misses_outlined_frames: true, ..none }),
        (&s390x::ISA, WitnessFaults { misses_outlined_frames: true, ..none }),
    ] {
        assert!(is_noticed(isa, faults), "{faults:?} on {}", isa.cpu.abi);
    }
}

/// Cases that the witness once got wrong, on one of the ABIs, as proptest has
/// reduced them.
mod kept {
    use super::{ALL, Action, WitnessFaults, check};
    use Action::{
        Begin, Call, Discard, FarPart, Frame, Land, Restore, Resume, Return, Save, SwitchBack, SwitchStack,
        TailCall,
    };

    const CALL: Action = Call { how: 0, callee: 0, comes_back_by_jump: false };
    /// Of a function that can be entered again.
    const CALL_REENTERING: Action = Call { how: 0, callee: 1, comes_back_by_jump: false };
    /// Of the last such function.
    const CALL_AGAIN: Action = Call { how: 0, callee: 128, comes_back_by_jump: false };
    const FRAME: Action = Frame { how: 0, size: 0 };
    const SWITCH: Action = SwitchStack { area: 0, how: 0 };
    const BEGIN: Action = Begin { area: 0, callee: 0, how: 0 };
    const RESUME: Action = Resume { which: 0, how: 0, abandon: false };
    const TAIL_CALL: Action = TailCall { how: 0, callee: 1 };

    const fn land(frame: u8) -> Action {
        Land { frame, adjust: 0, how: 0 }
    }

    const fn land_below(frame: u8) -> Action {
        Land { frame, adjust: 2, how: 0 }
    }

    fn right(actions: &[Action]) {
        for isa in ALL {
            if let Err(error) = check(isa, actions, WitnessFaults::default()) {
                panic!("{error}");
            }
        }
    }

    /// What generated cases rarely have: two frames of one function, of which the
    /// inner one has saved a context and makes its call in another part of memory.
    #[test]
    fn a_second_return_to_a_frame_that_called_from_a_far_part_of_its_function_is_followed() {
        let actions = [
            CALL_REENTERING,
            FRAME,
            CALL_AGAIN,
            FRAME,
            Save { buffer: 0, how: 1 },
            FarPart,
            CALL,
            Restore { buffer: 0, how: 0 },
        ];
        right(&actions);
        for isa in ALL {
            let faults = WitnessFaults { misses_second_returns: true, ..WitnessFaults::default() };
            assert!(check(isa, &actions, faults).is_err(), "{}", isa.cpu.abi);
        }
    }

    #[test]
    fn a_coroutine_on_a_stack_whose_address_is_computed_is_followed() {
        right(&[BEGIN]);
    }

    #[test]
    fn a_return_by_a_function_without_a_frame_for_its_caller_is_followed() {
        right(&[CALL, CALL, CALL, Discard { frames: 0, how: 0 }]);
    }

    #[test]
    fn a_jump_to_the_return_address_of_an_outer_call_is_followed() {
        let discard = Discard { frames: 1, how: 5 };
        right(&[CALL_REENTERING, CALL, CALL_AGAIN, FRAME, CALL, discard]);
    }

    #[test]
    fn a_landing_in_one_of_several_frames_with_the_same_sp_is_followed() {
        right(&[CALL, CALL, land(0)]);
        right(&[CALL, CALL, CALL, land(0)]);
    }

    #[test]
    fn a_landing_in_the_first_function_is_followed() {
        right(&[FRAME, CALL, land_below(0)]);
    }

    #[test]
    fn a_landing_is_followed_in_a_frame_whose_function_was_called_again() {
        let tail_call = TailCall { how: 0, callee: 129 };
        right(&[CALL_REENTERING, CALL, CALL_AGAIN, CALL_REENTERING, Return { how: 0 }, tail_call, land(1)]);
    }

    #[test]
    fn a_call_by_a_frame_that_has_come_back_from_another_stack_is_followed() {
        right(&[TAIL_CALL, FRAME, SWITCH, Return { how: 0 }, SwitchBack { how: 0 }, CALL_AGAIN]);
    }

    #[test]
    fn a_coroutine_can_go_on_in_a_function_without_a_frame() {
        right(&[CALL, BEGIN, RESUME]);
        right(&[CALL_REENTERING, CALL_AGAIN, BEGIN, RESUME]);
    }

    #[test]
    fn a_context_can_be_saved_before_the_frame_is_made() {
        right(&[CALL, Save { buffer: 0, how: 0 }, FRAME, CALL, Restore { buffer: 0, how: 3 }]);
    }

    #[test]
    fn a_thunk_within_the_function_that_calls_it_is_followed() {
        let call = Call { how: 7, callee: 128, comes_back_by_jump: false };
        right(&[
            Begin { area: 0, callee: 1, how: 0 },
            RESUME,
            FRAME,
            RESUME,
            RESUME,
            call,
            CALL,
            CALL,
            Discard { frames: 0, how: 0 },
            land_below(0),
        ]);
    }

    #[test]
    fn a_landing_in_a_coroutine_that_has_moved_to_other_stacks_is_followed() {
        right(&[
            Begin { area: 0, callee: 1, how: 0 },
            CALL,
            CALL,
            FRAME,
            SWITCH,
            FRAME,
            SwitchStack { area: 0, how: 129 },
            land(0),
        ]);
    }
}
