//! Signals, without any unwind data: the program must not notice them.

use std::collections::BTreeSet;

use crate::builds::builds_of;
use sframe_machine::{End, Flow, Image, Machine, Moment, Options, Outcome};

const SIGUSR1: u8 = 10;

/// Runs a program and sends it a signal before the instructions that are chosen.
fn run(bytes: &[u8], mut choose: impl FnMut(&Moment<'_>) -> bool) -> Outcome {
    let image = Image::parse(bytes).expect("a loadable image");
    let machine = Machine::new(&image, &Options::default()).expect("a machine");
    let mut observer =
        |moment: &Moment<'_>| if choose(moment) { Flow::Signal(SIGUSR1) } else { Flow::Continue };
    machine.run(&mut observer).expect("an emulator")
}

/// Signals whose handlers have not returned.
fn interruptions(moment: &Moment<'_>) -> usize {
    moment.call_stack.records().iter().filter(|call| call.interrupted).count()
}

/// Of each ABI, one build by each toolchain.
fn builds() -> Vec<(std::path::PathBuf, Vec<u8>)> {
    let mut paths = builds_of("signals");
    paths.retain(|path| path.extension().is_some_and(|variant| variant == "O2"));
    assert!(paths.len() >= 10, "{} builds", paths.len());
    paths.into_iter().map(|path| (path.clone(), std::fs::read(&path).expect("a build"))).collect()
}

/// Every 17th instruction outside of the handler, from when it is installed;
/// over the length of the program each of its instructions meets some.
#[test]
fn a_program_comes_to_the_same_result_whatever_instruction_a_signal_interrupts() {
    let mut abis = BTreeSet::new();
    for (path, bytes) in builds() {
        let name = path.display();
        let undisturbed = run(&bytes, |_| false);
        assert_eq!(undisturbed.end, End::Exit(0), "{name}");
        assert_eq!(undisturbed.control_flow.signals, 0, "{name}");

        for offset in 0..5 {
            let (mut count, mut deepest) = (0, 0);
            let outcome = run(&bytes, |moment| {
                let depth = interruptions(moment);
                deepest = deepest.max(depth);
                count += u64::from(depth == 0);
                depth == 0 && count > 200 && count % 17 == offset
            });
            assert_eq!(outcome.end, End::Exit(0), "{name}");
            let control_flow = outcome.control_flow;
            assert!(control_flow.signals > 100, "{name}: {control_flow:?}");
            assert_eq!(control_flow.signals, control_flow.signal_returns, "{name}");
            assert_eq!(deepest, 1, "{name}");
        }
        abis.insert(path.components().rev().nth(1).expect("the ABI's folder").as_os_str().to_owned());
    }
    assert_eq!(abis.len(), 4);
}

/// A signal that is blocked waits: until the handler of another one returns.
#[test]
fn a_blocked_signal_is_delivered_after_the_handler_that_blocks_it() {
    for (path, bytes) in builds() {
        let (mut count, mut entries) = (0, Vec::new());
        let outcome = run(&bytes, |moment| {
            count += 1;
            if let [.., signal, handler] = moment.call_stack.records()
                && signal.interrupted
                && handler.callee == moment.pc
            {
                entries.push(signal.return_address);
            }
            count == 300 || count == 303
        });
        assert_eq!(outcome.end, End::Exit(0), "{}", path.display());
        assert_eq!(outcome.control_flow.signals, 2, "{}", path.display());
        let [first, second] = entries[..] else { panic!("{entries:x?}") };
        assert_eq!(first, second, "{}: before the same instruction", path.display());
    }
}

/// The caller of the handler, and the function that it interrupts.
#[test]
fn the_call_stack_has_the_signals_frame_with_the_interrupted_state() {
    for (path, bytes) in builds() {
        let name = path.display();
        let (mut count, mut checked, mut before) = (0, false, (0, 0, 0));
        run(&bytes, |moment| {
            count += 1;
            if count == 301 {
                let [.., signal, handler] = moment.call_stack.records() else { panic!("{name}") };
                assert!(signal.interrupted && !handler.interrupted, "{name}");
                assert_eq!((signal.return_address, signal.caller_sp, signal.caller_fp), before, "{name}");
                assert_eq!(handler.callee, moment.pc, "{name}");
                assert_eq!(handler.return_address, signal.callee, "{name}");
                assert!(moment.sp < before.1, "{name}");
                checked = true;
            }
            before = (moment.pc, moment.sp, moment.fp);
            count == 300
        });
        assert!(checked, "{name}");
    }
}
