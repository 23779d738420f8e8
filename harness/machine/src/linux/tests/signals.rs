//! Signals: masks, what is pending, and the alternate stack.

use rustix::io::Errno;

use super::{Caller, SCRATCH};
use crate::linux::answer::Answer;
use crate::linux::objects::signals::{Disposition, bit};

const KILL: u64 = 9;
const USR1: u64 = 10;
const USR2: u64 = 12;
const CHLD: u64 = 17;
const THREAD: u64 = 0x1_0900;
const BLOCK: u64 = 0;
const UNBLOCK: u64 = 1;
const SET: u64 = 2;
const PROCESS: u64 = 1000;

impl Caller {
    /// Changes the mask, and returns the old one.
    fn mask(&mut self, how: u64, signals: &[u64]) -> u64 {
        let set = self.words(&[signals.iter().fold(0, |set, signal| set | bit(*signal)), 0]);
        assert_eq!(self.call("rt_sigprocmask", &[how, set, set + 8, 8]), Ok(0));
        self.word(set + 8)
    }

    fn pending(&mut self) -> u64 {
        let set = self.words(&[0]);
        assert_eq!(self.call("rt_sigpending", &[set, 8]), Ok(0));
        self.word(set)
    }

    fn handle(&mut self, signal: u64, handler: u64, mask: u64) -> Result<[u64; 4], Errno> {
        let action = self.words(&[handler, 0, 0, mask, 9, 9, 9, 9]);
        self.call("rt_sigaction", &[signal, action, action + 32, 8])?;
        Ok([0, 1, 2, 3].map(|word| self.word(action + 32 + word * 8)))
    }

    /// Makes a task, and passes the turn to it.
    fn enter(&mut self, flags: u64) -> u64 {
        let Answer::Clone(task) = self.answer("clone", &[flags, SCRATCH]) else { panic!("a task") };
        while self.linux.tasks.current().id != task.id {
            self.linux.schedule(0, true).expect("a task");
        }
        task.id.0.into()
    }
}

#[test]
fn blocked_signals_wait_once_each_and_come_in_order() {
    let mut caller = Caller::new();
    assert_eq!(caller.mask(BLOCK, &[USR1, USR2, KILL]), 0);
    assert_eq!(caller.mask(BLOCK, &[]), bit(USR1) | bit(USR2), "SIGKILL can't be blocked");
    for signal in [USR2, USR1, USR2] {
        assert_eq!(caller.call("kill", &[PROCESS, signal]), Ok(0));
    }
    assert_eq!(caller.pending(), bit(USR1) | bit(USR2));
    assert!(!caller.linux.has_signal());
    caller.mask(UNBLOCK, &[USR2]);
    assert_eq!(caller.linux.take_signal().map(|(signal, _)| signal), Some(USR2));
    assert_eq!(caller.linux.take_signal(), None);
    caller.mask(SET, &[]);
    assert_eq!(caller.linux.take_signal().map(|(signal, _)| signal), Some(USR1));
    assert_eq!(caller.pending(), 0);
    let set = caller.words(&[0]);
    assert_eq!(caller.call("rt_sigprocmask", &[7, set, 0, 8]), Err(Errno::INVAL));
    assert_eq!(caller.call("rt_sigprocmask", &[7, 0, set, 8]), Ok(0));
}

#[test]
fn each_thread_has_its_own_mask_and_pending_signals() {
    let mut caller = Caller::new();
    caller.mask(BLOCK, &[USR1]);
    assert_eq!(caller.call("tgkill", &[PROCESS, PROCESS, USR1]), Ok(0));
    let thread = caller.enter(THREAD);
    assert_eq!(caller.pending(), 0, "that of the other one");
    assert_eq!(caller.mask(SET, &[USR2]), bit(USR1), "inherited");
    // To the process: the first thread that takes it.
    assert_eq!(caller.call("kill", &[PROCESS, USR2]), Ok(0));
    assert_eq!(caller.pending(), 0);
    assert_eq!(caller.call("tgkill", &[PROCESS, thread, USR2]), Ok(0));
    assert_eq!(caller.pending(), bit(USR2));
    caller.linux.schedule(0, true).expect("a task");
    assert_eq!(caller.pending(), bit(USR1) | bit(USR2));
    assert_eq!(caller.mask(BLOCK, &[]), bit(USR1));
    assert_eq!(caller.linux.take_signal().map(|(signal, _)| signal), Some(USR2));
}

#[test]
fn actions_belong_to_the_process() {
    let mut caller = Caller::new();
    assert_eq!(caller.handle(USR1, 0x1234, bit(KILL) | bit(USR2)), Ok([0; 4]));
    assert_eq!(caller.handle(USR1, 0x1234, 0), Ok([0x1234, 0, 0, bit(USR2)]), "SIGKILL can't be blocked");
    assert_eq!(caller.handle(KILL, 0x1234, 0), Err(Errno::INVAL));
    assert_eq!(caller.handle(0, 0x1234, 0), Err(Errno::INVAL));
    assert_eq!(caller.handle(65, 0x1234, 0), Err(Errno::INVAL));
    assert_eq!(caller.call("rt_sigaction", &[USR1, 8, 0, 8]), Err(Errno::FAULT));
    caller.enter(THREAD);
    assert!(matches!(caller.linux.disposition(USR1), Disposition::Handle(_)));
    caller.enter(0);
    assert!(matches!(caller.linux.disposition(USR1), Disposition::Handle(_)), "a copy of them");
    caller.handle(USR1, 0, 0).expect("an action");
    caller.linux.schedule(0, true).expect("a task");
    assert!(matches!(caller.linux.disposition(USR1), Disposition::Handle(_)));
    assert_eq!(caller.linux.disposition(USR2), Disposition::Terminate);
    assert_eq!(caller.linux.disposition(CHLD), Disposition::Ignore);
}

#[test]
fn ignoring_a_signal_forgets_it() {
    let mut caller = Caller::new();
    caller.mask(BLOCK, &[USR1, CHLD]);
    for signal in [USR1, CHLD] {
        assert_eq!(caller.call("kill", &[PROCESS, signal]), Ok(0));
    }
    assert_eq!(caller.pending(), bit(USR1) | bit(CHLD), "a handler may come");
    caller.handle(USR1, 1, 0).expect("an action");
    caller.handle(CHLD, 0, 0).expect("an action");
    assert_eq!(caller.pending(), 0);
    caller.mask(SET, &[]);
    assert_eq!(caller.call("kill", &[PROCESS, USR1]), Ok(0));
    assert!(!caller.linux.has_signal());
}

#[test]
fn an_awaited_signal_is_taken_without_its_handler() {
    let mut caller = Caller::new();
    caller.mask(BLOCK, &[USR1]);
    let set = caller.words(&[bit(USR1), 0, 0]);
    let information = caller.put(&[0; 128]);
    assert!(matches!(caller.answer("rt_sigtimedwait", &[set, information, 0, 8]), Answer::Wait(_)));
    assert_eq!(caller.call("kill", &[PROCESS, USR1]), Ok(0));
    assert_eq!(caller.call("rt_sigtimedwait", &[set, information, 0, 8]), Ok(USR1));
    assert_eq!(caller.word(information), USR1, "si_signo, and no si_errno");
    assert_eq!(caller.word(information + 16) & 0xffff_ffff, PROCESS, "si_pid");
    assert_eq!(caller.pending(), 0);
    // A wait that another signal has ended is over: the signal is nobody's.
    caller.handle(USR1, 1, 0).expect("an action");
    caller.mask(SET, &[]);
    let Answer::Wait(wait) = caller.answer("rt_sigtimedwait", &[set, 0, 0, 8]) else { panic!("a wait") };
    caller.linux.tasks.wait(wait);
    caller.linux.tasks.current_mut().interrupt(false);
    assert_eq!(caller.call("kill", &[PROCESS, USR1]), Ok(0));
    assert_eq!(caller.pending(), 0);
}

#[test]
fn the_alternate_stack_is_the_tasks_own() {
    const ON_STACK: u64 = 1;
    const DISABLED: u64 = 2;
    let mut caller = Caller::new();
    let stack = |caller: &mut Caller, start: u64, flags: u64, len: u64| {
        let words = caller.words(&[start, flags, len, 9, 9, 9]);
        caller.call("sigaltstack", &[words, words + 24])?;
        Ok([3, 4, 5].map(|word| caller.word(words + word * 8)))
    };
    assert_eq!(stack(&mut caller, 0x5000, 0, 0x2000), Ok([0, DISABLED, 0]));
    assert_eq!(stack(&mut caller, 0x6000, 0, 0x3000), Ok([0x5000, 0, 0x2000]));
    assert_eq!(stack(&mut caller, 0x5000, 0, 100), Err(Errno::NOMEM));
    assert_eq!(stack(&mut caller, 0x5000, 64, 0x2000), Err(Errno::INVAL));
    let sp = caller.cpu.sp;
    caller.unicorn.reg_write(sp, 0x7000).expect("a register");
    assert_eq!(stack(&mut caller, 0x5000, 0, 0x2000), Err(Errno::PERM), "it is in use");
    let old = caller.put(&[0; 24]);
    assert_eq!(caller.call("sigaltstack", &[0, old]), Ok(0));
    assert_eq!([0, 8, 16].map(|word| caller.word(old + word)), [0x6000, ON_STACK, 0x3000]);
    caller.unicorn.reg_write(sp, 0x9001).expect("a register");
    caller.enter(THREAD);
    assert_eq!(stack(&mut caller, 0, DISABLED, 0), Ok([0, DISABLED, 0]), "not that of its parent");
    caller.linux.schedule(0, true).expect("a task");
    caller.enter(0);
    assert_eq!(stack(&mut caller, 0, DISABLED, 0), Ok([0x6000, 0, 0x3000]), "at the same address");
}

#[test]
fn signals_to_nobody_fail() {
    let mut caller = Caller::new();
    for (name, arguments, errno) in [
        ("kill", [4242, USR1, 0], Errno::SRCH),
        ("kill", [1, USR1, 0], Errno::SRCH),
        ("kill", [PROCESS, 65, 0], Errno::INVAL),
        ("kill", [-4242_i64 as u64, USR1, 0], Errno::SRCH),
        ("tkill", [4242, USR1, 0], Errno::SRCH),
        ("tgkill", [PROCESS, 4242, USR1], Errno::SRCH),
        ("tgkill", [4242, PROCESS, USR1], Errno::SRCH),
        ("tgkill", [PROCESS, PROCESS, 65], Errno::INVAL),
    ] {
        assert_eq!(caller.call(name, &arguments), Err(errno), "{name} {arguments:?}");
    }
    assert_eq!(caller.call("kill", &[PROCESS, 0]), Ok(0));
    assert!(!caller.linux.has_signal());
    // The first process's number is that of its group, too.
    assert_eq!(caller.call("kill", &[-1000_i64 as u64, USR1]), Ok(0));
    assert!(caller.linux.has_signal());
}
