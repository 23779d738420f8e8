//! Timers, and descriptors that report them and signals.

use rustix::io::Errno;

use super::Caller;
use crate::linux::answer::Answer;
use crate::linux::objects::signals::bit;
use crate::linux::objects::tasks::Wake;

const ALRM: u64 = 14;
const PROF: u64 = 27;
/// A real-time signal.
const QUEUED: u64 = 40;
const MICROSECOND: u64 = 1000;
const SECOND: u64 = 1_000_000_000;
const REAL: u64 = 0;
const PROFILE: u64 = 2;
const MONOTONIC: u64 = 1;
const PROCESSOR: u64 = 2;
const ABSOLUTE: u64 = 1;
const NONBLOCK: u64 = 0o4000;
const AGAIN: Result<Vec<u8>, Errno> = Err(Errno::AGAIN);

impl Caller {
    fn ignore(&mut self, signal: u64) {
        let action = self.words(&[1, 0, 0, 0]);
        assert_eq!(self.call("rt_sigaction", &[signal, action, 0, 8]), Ok(0));
    }

    fn catch(&mut self, signal: u64) {
        let action = self.words(&[0x1234, 0, 0, 0]);
        assert_eq!(self.call("rt_sigaction", &[signal, action, 0, 8]), Ok(0));
    }

    fn block(&mut self, signals: &[u64]) -> u64 {
        let set = self.words(&[signals.iter().fold(0, |set, signal| set | bit(*signal))]);
        assert_eq!(self.call("rt_sigprocmask", &[0, set, 0, 8]), Ok(0));
        set
    }

    /// Sets an interval timer, in microseconds.
    fn set(&mut self, which: u64, interval: u64, time: u64) -> Result<[u64; 4], Errno> {
        let new = self.words(&[0, interval, 0, time, 9, 9, 9, 9]);
        self.call("setitimer", &[which, new, new + 32])?;
        Ok([4, 5, 6, 7].map(|word| self.word(new + word * 8)))
    }

    fn left(&mut self, name: &str, of: u64) -> Result<[u64; 4], Errno> {
        let to = self.words(&[9; 4]);
        self.call(name, &[of, to])?;
        Ok([0, 1, 2, 3].map(|word| self.word(to + word * 8)))
    }

    /// Makes a timer whose signal has the value 77.
    fn timer(&mut self, clock: u64, signal: u64, kind: u64, task: u64) -> Result<u64, Errno> {
        let event = self.words(&[77, kind << 32 | signal, task, 0]);
        self.call("timer_create", &[clock, event, event + 24])?;
        Ok(self.word(event + 24) & 0xffff_ffff)
    }

    /// Sets a timer, in nanoseconds.
    fn set_time(&mut self, name: &str, of: u64, flags: u64, interval: u64, time: u64) -> Result<u64, Errno> {
        let new = self.words(&[interval / SECOND, interval % SECOND, time / SECOND, time % SECOND]);
        self.call(name, &[of, flags, new, 0])
    }

    fn taken(&mut self) -> Option<(u64, i32, u64, u64)> {
        self.linux.clock.instructions(self.now);
        self.linux.expire_timers();
        self.linux.take_signal().map(|(signal, info)| (signal, info.code, info.word, info.value))
    }
}

#[test]
fn interval_timers_send_their_signals() {
    let mut caller = Caller::new();
    caller.catch(ALRM);
    caller.catch(PROF);
    assert_eq!(caller.left("getitimer", REAL), Ok([0; 4]));
    assert_eq!(caller.set(REAL, 10, 30), Ok([0; 4]));
    assert_eq!(caller.linux.next_timer().instructions, Some(30 * MICROSECOND));
    caller.now = 29 * MICROSECOND;
    assert_eq!(caller.left("getitimer", REAL), Ok([0, 10, 0, 1]));
    assert!(!caller.linux.has_signal());
    caller.now = 30 * MICROSECOND;
    assert_eq!(caller.set(PROFILE, 0, 50), Ok([0; 4]));
    assert_eq!(
        caller.linux.next_timer().instructions,
        Some(50 * MICROSECOND),
        "the other one's signal waits"
    );
    assert_eq!(caller.taken(), Some((ALRM, 0x80, 0, 0)));
    assert_eq!(caller.linux.next_timer().instructions, Some(10 * MICROSECOND));
    caller.now = 80 * MICROSECOND;
    assert_eq!(caller.left("getitimer", PROFILE), Ok([0; 4]), "once");
    assert_eq!(
        [caller.taken(), caller.taken()].map(|taken| taken.map(|taken| taken.0)),
        [Some(ALRM), Some(PROF)]
    );
    assert_eq!(caller.set(REAL, 0, 0), Ok([0, 10, 0, 10]));
    assert_eq!(caller.linux.next_timer().instructions, None);
    assert_eq!(caller.set(3, 0, 0), Err(Errno::INVAL));
    assert_eq!(caller.set(REAL, 1_000_000, 0), Err(Errno::INVAL));
    assert_eq!(caller.call("setitimer", &[REAL, 8, 0]), Err(Errno::FAULT));
}

#[test]
fn an_alarm_says_how_long_the_last_one_had_to_go() {
    let mut caller = Caller::new();
    caller.catch(ALRM);
    assert_eq!(caller.call("alarm", &[3]), Ok(0));
    caller.now = SECOND / 2;
    assert_eq!(caller.call("alarm", &[2]), Ok(3));
    assert_eq!(caller.call("alarm", &[0]), Ok(2));
    caller.now = 9 * SECOND;
    assert_eq!(caller.taken(), None);
}

#[test]
fn a_sleep_that_a_timer_ends_says_how_much_was_left() {
    let mut caller = Caller::new();
    caller.catch(ALRM);
    assert_eq!(caller.set(REAL, 0, 300), Ok([0; 4]));
    let request = caller.words(&[1, 500, 9, 9]);
    let answer = caller.answer("nanosleep", &[request, request + 16]);
    caller.wait(answer);
    assert_eq!(caller.linux.tasks.current_mut().take_wake(), Some(Wake::Again));
    assert_eq!(caller.call("nanosleep", &[request, request + 16]), Err(Errno::INTR));
    assert_eq!([caller.word(request + 16), caller.word(request + 24)], [0, SECOND + 500 - 300 * MICROSECOND]);
    assert_eq!(caller.taken().map(|taken| taken.0), Some(ALRM));
}

#[test]
fn a_timer_whose_signal_is_ignored_wakes_nobody() {
    let mut caller = Caller::new();
    caller.ignore(ALRM);
    assert_eq!(caller.set(REAL, 10, 10), Ok([0; 4]));
    let Answer::Wait(wait) = caller.answer("pause", &[]) else { panic!("a wait") };
    caller.linux.tasks.wait(wait);
    assert!(caller.linux.schedule(0, true).is_err(), "a deadlock");
    assert_eq!(caller.linux.next_timer().instructions, None);
}

#[test]
fn timers_count_how_often_they_expire_before_their_signal_is_taken() {
    let mut caller = Caller::new();
    caller.catch(QUEUED);
    let timers = [0, 1].map(|_| caller.timer(MONOTONIC, QUEUED, 0, 0).expect("a timer"));
    assert_eq!(timers, [0, 1]);
    for timer in timers {
        assert_eq!(caller.set_time("timer_settime", timer, 0, 10 * MICROSECOND, 20 * MICROSECOND), Ok(0));
    }
    caller.now = 19 * MICROSECOND;
    assert_eq!(caller.left("timer_gettime", 1), Ok([0, 10 * MICROSECOND, 0, MICROSECOND]));
    caller.now = 25 * MICROSECOND;
    assert_eq!(caller.left("timer_gettime", 1), Ok([0, 10 * MICROSECOND, 0, 5 * MICROSECOND]));
    caller.now = 55 * MICROSECOND;
    assert_eq!(caller.call("timer_getoverrun", &[0]), Ok(0), "none was taken");
    // SI_TIMER, the timer with its overrun, and the value.
    assert_eq!(caller.taken(), Some((QUEUED, -2, 3 << 32, 77)));
    assert_eq!(caller.taken(), Some((QUEUED, -2, 3 << 32 | 1, 77)), "real-time signals queue");
    assert_eq!(caller.taken(), None);
    assert_eq!(
        [0, 1, 2].map(|timer| caller.call("timer_getoverrun", &[timer])),
        [Ok(3), Ok(3), Err(Errno::INVAL)]
    );
    assert_eq!(caller.call("timer_delete", &[0]), Ok(0));
    assert_eq!(caller.call("timer_delete", &[0]), Err(Errno::INVAL));
    assert_eq!(caller.set_time("timer_settime", 1, 0, 0, 0), Ok(0));
    assert_eq!(caller.linux.next_timer().instructions, None);
}

#[test]
fn timers_are_made_for_clocks_and_signals_that_exist() {
    let mut caller = Caller::new();
    for (clock, signal, kind, task, errno) in [
        (99, ALRM, 0, 0, Errno::INVAL),
        (4, ALRM, 0, 0, Errno::OPNOTSUPP),
        (8, ALRM, 0, 0, Errno::PERM),
        (MONOTONIC, 0, 0, 0, Errno::INVAL),
        (MONOTONIC, 65, 0, 0, Errno::INVAL),
        (MONOTONIC, ALRM, 3, 0, Errno::INVAL),
        (MONOTONIC, ALRM, 4, 4242, Errno::INVAL),
    ] {
        assert_eq!(caller.timer(clock, signal, kind, task), Err(errno), "{clock} {signal} {kind} {task}");
    }
    assert_eq!(caller.timer(MONOTONIC, 0, 1, 0), Ok(0), "it tells nobody");
    assert_eq!(caller.timer(PROCESSOR, ALRM, 4, 1000), Ok(1));
    assert_eq!(caller.set_time("timer_settime", 0, 0, 0, 10), Ok(0));
    caller.now = 100;
    assert_eq!(caller.taken(), None);
    // By default SIGALRM, with the timer's number.
    caller.catch(ALRM);
    let to = caller.words(&[0]);
    assert_eq!(caller.call("timer_create", &[MONOTONIC, 0, to]), Ok(0));
    assert_eq!(caller.word(to) & 0xffff_ffff, 2);
    let uptime = 1000 * SECOND;
    assert_eq!(caller.set_time("timer_settime", 2, ABSOLUTE, 0, uptime + 300), Ok(0));
    assert_eq!(caller.linux.next_timer().instructions, Some(200));
    caller.now = 300;
    assert_eq!(caller.taken(), Some((ALRM, -2, 2, 2)));
    // A date in the past has come.
    assert_eq!(caller.set_time("timer_settime", 2, ABSOLUTE, 0, 1), Ok(0));
    assert_eq!(caller.taken().map(|taken| taken.0), Some(ALRM));
    // A child has none; another program has the interval timers only.
    let Answer::Clone(child) = caller.answer("fork", &[]) else { panic!("a child") };
    while caller.linux.tasks.current().id != child.id {
        caller.linux.schedule(0, true).expect("a task");
    }
    assert_eq!(caller.call("timer_delete", &[0]), Err(Errno::INVAL));
}

#[test]
fn a_descriptor_is_readable_when_its_timer_has_expired() {
    let mut caller = Caller::new();
    let timer = caller.call("timerfd_create", &[MONOTONIC, NONBLOCK]).expect("a descriptor");
    assert_eq!(caller.read(timer), AGAIN);
    assert_eq!(caller.set_time("timerfd_settime", timer, 0, 10 * MICROSECOND, 5 * MICROSECOND), Ok(0));
    assert_eq!(caller.linux.next_timer().instructions, Some(5 * MICROSECOND));
    let poll = caller.words(&[1 << 32 | timer]);
    let answer = caller.answer("poll", &[poll, 1, u64::MAX]);
    // Time passes while it waits.
    caller.wait(answer);
    assert_eq!(caller.call("poll", &[poll, 1, u64::MAX]), Ok(1));
    assert_eq!(caller.linux.next_timer().time, None, "it is readable already");
    caller.now = 32 * MICROSECOND;
    assert_eq!(caller.left("timerfd_gettime", timer), Ok([0, 10 * MICROSECOND, 0, 8 * MICROSECOND]));
    assert_eq!(caller.read(timer), Ok(4_u64.to_le_bytes().to_vec()));
    assert_eq!(caller.read(timer), AGAIN);
    let short = caller.put(&[0; 8]);
    assert_eq!(caller.call("read", &[timer, short, 7]), Err(Errno::INVAL));
    assert_eq!(caller.write(timer, &[0; 8]), Err(Errno::INVAL));
    assert_eq!(caller.call("lseek", &[timer, 0, 0]), Err(Errno::SPIPE));
    assert_eq!(caller.left("timerfd_gettime", 1), Err(Errno::INVAL));
    assert_eq!(caller.call("timerfd_create", &[4, 0]), Err(Errno::INVAL));
    assert_eq!(caller.call("close", &[timer]), Ok(0));
    assert_eq!(caller.linux.next_timer().time, None);
}

#[test]
fn a_descriptor_takes_signals_that_are_blocked() {
    let mut caller = Caller::new();
    let set = caller.block(&[ALRM, QUEUED]);
    let signals = caller.call("signalfd4", &[u64::MAX, set, 8, NONBLOCK]).expect("a descriptor");
    let buffer = caller.put(&[0xff; 400]);
    assert_eq!(caller.call("read", &[signals, buffer, 400]), Err(Errno::AGAIN));
    let poll = caller.words(&[1 << 32 | signals]);
    assert_eq!(caller.call("poll", &[poll, 1, 0]), Ok(0));
    for signal in [QUEUED, ALRM, ALRM, QUEUED] {
        assert_eq!(caller.call("kill", &[1000, signal]), Ok(0));
    }
    assert_eq!(caller.call("poll", &[poll, 1, 0]), Ok(1));
    assert_eq!(caller.call("read", &[signals, buffer, 127]), Err(Errno::INVAL));
    assert_eq!(caller.call("read", &[signals, buffer, 400]), Ok(384));
    let [alarm, queued, again] = [0, 128, 256].map(|at| caller.word(buffer + at) & 0xffff_ffff);
    assert_eq!([alarm, queued, again], [ALRM, QUEUED, QUEUED]);
    assert_eq!(caller.word(buffer + 12), 1000 << 32 | 1000, "the sender's process and user");
    assert_eq!(caller.call("read", &[signals, buffer, 400]), Err(Errno::AGAIN));
    // Of a timer: its number, its overrun, and the value.
    assert_eq!(caller.timer(MONOTONIC, QUEUED, 0, 0), Ok(0));
    assert_eq!(caller.timer(MONOTONIC, QUEUED, 0, 0), Ok(1));
    assert_eq!(caller.set_time("timer_settime", 1, 0, MICROSECOND, MICROSECOND), Ok(0));
    caller.now = 3 * MICROSECOND;
    assert_eq!(caller.call("read", &[signals, buffer, 400]), Ok(128));
    assert_eq!(
        (caller.word(buffer + 8) & 0xffff_ffff, caller.word(buffer + 24) & 0xffff_ffff),
        (-2_i32 as u32 as u64, 1)
    );
    assert_eq!((caller.word(buffer + 32) & 0xffff_ffff, caller.word(buffer + 48)), (2, 77));
    // Another set.
    let other = caller.words(&[bit(ALRM)]);
    assert_eq!(caller.call("signalfd", &[signals, other, 8]), Ok(signals));
    assert_eq!(caller.call("kill", &[1000, QUEUED]), Ok(0));
    assert_eq!(caller.call("read", &[signals, buffer, 400]), Err(Errno::AGAIN));
    assert_eq!(caller.call("signalfd", &[1, other, 8]), Err(Errno::INVAL));
}
