//! Timers: setitimer(2), alarm(2), timer_create(2), timerfd_create(2) and their relatives.

use rustix::io::Errno;

use super::time::timespec;
use crate::linux::answer::{Call, Refused};
use crate::linux::ids::{ProcessId, TaskId};
use crate::linux::kernel::Linux;
use crate::linux::objects::clock::SECOND;
use crate::linux::objects::descriptions::{DescriptionId, Object};
use crate::linux::objects::signals::{SI_KERNEL, SI_TIMER, SIGALRM, SIGNALS, SignalInfo};
use crate::linux::objects::timers::{Measure, Next, Notice, OwnTimer, Timer, TimerId};
use crate::linux::user::{User, int, low};

/// `TIMER_ABSTIME`, and that of timerfd.
const ABSOLUTE: u64 = 1;
const ITIMER_REAL: usize = 0;
/// `CLOCK_REALTIME_ALARM` and `CLOCK_BOOTTIME_ALARM`, which only a privileged process may use.
const ALARMS: [i32; 2] = [8, 9];

/// What a timer is to be set to: the time and the interval of an `itimerspec`.
struct Setting {
    time: u64,
    interval: u64,
}

impl Setting {
    fn of(user: &User<'_, '_>, address: u64) -> Result<Self, Errno> {
        let (interval, time) = (timespec(user, address)?, timespec(user, address.wrapping_add(16))?);
        Ok(Self { time, interval })
    }

    /// An `itimerval`, which has microseconds.
    fn of_interval_timer(user: &User<'_, '_>, address: u64) -> Result<Self, Errno> {
        if address == 0 {
            return Ok(Self { time: 0, interval: 0 });
        }
        let time = |[seconds, microseconds]: [u64; 2]| {
            let is_valid = seconds.cast_signed() >= 0 && microseconds < 1_000_000;
            is_valid.then(|| seconds.saturating_mul(SECOND).saturating_add(microseconds * 1000))
        };
        let [interval, next] = [user.words(address)?, user.words(address.wrapping_add(16))?].map(time);
        Ok(Self { time: next.ok_or(Errno::INVAL)?, interval: interval.ok_or(Errno::INVAL)? })
    }
}

impl Linux {
    pub(crate) fn call_timers(&mut self, user: &mut User<'_, '_>, name: &str, a: [u64; 6]) -> Option<Call> {
        Some(match name {
            "setitimer" => self.set_interval_timer(user, a),
            "getitimer" => self.get_interval_timer(user, a[0], a[1]),
            "alarm" => self.alarm(a[0]),
            "timer_create" => self.timer_create(user, a),
            "timer_settime" => self.timer_settime(user, a),
            "timer_gettime" => self.timer_gettime(user, a[0], a[1]),
            "timer_getoverrun" => self.own_timer(a[0]).map(|own| own.last_overrun).map_err(Refused::from),
            "timer_delete" => self.own_timer(a[0]).map(|_| ()).map_err(Refused::from).map(|()| {
                self.process_mut().timers.own.remove(&low(a[0]));
                0
            }),
            "timerfd_create" => self.timer_descriptor(int(a[0]), a[1]),
            "timerfd_settime" => self.set_timer_descriptor(user, a),
            "timerfd_gettime" => self.get_timer_descriptor(user, a[0], a[1]),
            _ => return None,
        })
    }

    fn interval_timer(&mut self, which: u64) -> Result<&mut Timer, Errno> {
        let which = usize::try_from(int(which)).map_err(|_| Errno::INVAL)?;
        self.process_mut().timers.get_mut(TimerId::Interval(which)).ok_or(Errno::INVAL)
    }

    fn get_interval_timer(&mut self, user: &mut User<'_, '_>, which: u64, to: u64) -> Call {
        let timer = *self.interval_timer(which)?;
        let rest = timer.rest(&self.clock).div_ceil(1000) * 1000;
        let parts = [timer.interval(), rest].map(|time| [time / SECOND, time % SECOND / 1000]);
        let record = user.record().words(parts.into_iter().flatten());
        user.write(to, &record.bytes)?;
        Ok(0)
    }

    fn set_interval_timer(&mut self, user: &mut User<'_, '_>, [which, new, old, ..]: [u64; 6]) -> Call {
        let setting = Setting::of_interval_timer(user, new)?;
        if old != 0 {
            self.get_interval_timer(user, which, old)?;
        }
        let mut timer = *self.interval_timer(which)?;
        timer.set(&self.clock, (setting.time > 0).then_some(setting.time), setting.interval);
        *self.interval_timer(which)? = timer;
        Ok(0)
    }

    /// Returns the seconds that the last alarm had to go.
    fn alarm(&mut self, seconds: u64) -> Call {
        let after = u64::from(low(seconds)) * SECOND;
        let timer = &mut self.processes.get_mut(&self.tasks.current().process).ok_or(Errno::SRCH)?.timers;
        let timer = &mut timer.interval[ITIMER_REAL];
        let rest = timer.rest(&self.clock).div_ceil(SECOND);
        timer.set(&self.clock, (after > 0).then_some(after), 0);
        Ok(rest)
    }

    fn timer_create(&mut self, user: &mut User<'_, '_>, [clock, event, to, ..]: [u64; 6]) -> Call {
        const CLOCKS_WITHOUT_TIMERS: [i32; 3] = [4, 5, 6];
        let clock = int(clock);
        if ALARMS.contains(&clock) {
            return Err(Errno::PERM.into());
        }
        self.clock.read(clock)?;
        if CLOCKS_WITHOUT_TIMERS.contains(&clock) {
            return Err(Errno::OPNOTSUPP.into());
        }
        let notice = if event == 0 { None } else { Some(self.notice(user, event)?) };
        if !user.space.allows(to, 4, |allowed| allowed.write) {
            return Err(Errno::FAULT.into());
        }
        let alarm = |number: u32| Notice::Signal { signal: SIGALRM, value: number.into(), task: None };
        let number =
            self.process_mut().timers.add(clock, |number| notice.unwrap_or_else(|| alarm(number)))?;
        user.write_half(to, number)?;
        Ok(0)
    }

    /// Reads a `sigevent`: its value, its signal, and whom to notify.
    fn notice(&self, user: &User<'_, '_>, event: u64) -> Result<Notice, Errno> {
        const SIGEV_SIGNAL: u32 = 0;
        const SIGEV_NONE: u32 = 1;
        const SIGEV_THREAD: u32 = 2;
        const SIGEV_THREAD_ID: u32 = 4;
        let value = user.word(event)?;
        let [signal, kind, task] = [
            user.half(event.wrapping_add(8))?,
            user.half(event.wrapping_add(12))?,
            user.half(event.wrapping_add(16))?,
        ];
        let signal = u64::from(signal);
        let task = match kind {
            SIGEV_NONE => return Ok(Notice::Nobody),
            // A C library makes the thread itself, and says which one it is.
            SIGEV_SIGNAL | SIGEV_THREAD => None,
            SIGEV_THREAD_ID => Some(TaskId(task)),
            _ => return Err(Errno::INVAL),
        };
        let process = self.tasks.current().process;
        let is_own = |id: TaskId| self.tasks.iter().any(|task| task.id == id && task.process == process);
        if !(1..=SIGNALS).contains(&signal) || task.is_some_and(|task| !is_own(task)) {
            return Err(Errno::INVAL);
        }
        Ok(Notice::Signal { signal, value, task })
    }

    fn own_timer(&mut self, number: u64) -> Result<&mut OwnTimer, Errno> {
        self.process_mut().timers.own.get_mut(&low(number)).ok_or(Errno::INVAL)
    }

    fn timer_settime(&mut self, user: &mut User<'_, '_>, a: [u64; 6]) -> Call {
        let [number, flags, new, old, ..] = a;
        let setting = Setting::of(user, new)?;
        if old != 0 {
            self.timer_gettime(user, number, old)?;
        }
        let own = self.own_timer(number)?.clone();
        let after = self.after(own.clock, &setting, flags)?;
        let mut timer = own.timer;
        timer.set(&self.clock, after, setting.interval);
        *self.own_timer(number)? = OwnTimer { timer, overrun: 0, ..own };
        Ok(0)
    }

    fn timer_gettime(&mut self, user: &mut User<'_, '_>, number: u64, to: u64) -> Call {
        let timer = self.own_timer(number)?.timer;
        self.write_setting(user, &timer, to)
    }

    /// Returns after how long a timer is to expire, if it is.
    fn after(&self, clock: i32, setting: &Setting, flags: u64) -> Result<Option<u64>, Errno> {
        if setting.time == 0 {
            return Ok(None);
        }
        let is_absolute = flags & ABSOLUTE != 0;
        let passed = if is_absolute { self.clock.read(clock)? } else { 0 };
        Ok(Some(setting.time.saturating_sub(passed)))
    }

    fn write_setting(&self, user: &mut User<'_, '_>, timer: &Timer, to: u64) -> Call {
        let parts = [timer.interval(), timer.rest(&self.clock)].map(|time| [time / SECOND, time % SECOND]);
        let record = user.record().words(parts.into_iter().flatten());
        user.write(to, &record.bytes)?;
        Ok(0)
    }

    fn timer_descriptor(&mut self, clock: i32, flags: u64) -> Call {
        const CLOCKS: [i32; 3] = [0, 1, 7];
        if ALARMS.contains(&clock) {
            return Err(Errno::PERM.into());
        }
        if !CLOCKS.contains(&clock) {
            return Err(Errno::INVAL.into());
        }
        self.install(Object::Timer { clock, timer: Timer::new(Measure::of(clock)), count: 0 }, flags)
    }

    fn described_timer(&mut self, descriptor: u64) -> Result<(DescriptionId, i32, Timer), Errno> {
        let id = self.described(descriptor)?;
        match &self.descriptions.get(id)?.object {
            Object::Timer { clock, timer, .. } => Ok((id, *clock, *timer)),
            _ => Err(Errno::INVAL),
        }
    }

    fn set_timer_descriptor(&mut self, user: &mut User<'_, '_>, a: [u64; 6]) -> Call {
        let [descriptor, flags, new, old, ..] = a;
        let setting = Setting::of(user, new)?;
        if old != 0 {
            self.get_timer_descriptor(user, descriptor, old)?;
        }
        let (id, clock, mut timer) = self.described_timer(descriptor)?;
        let after = self.after(clock, &setting, flags)?;
        timer.set(&self.clock, after, setting.interval);
        self.descriptions.get_mut(id)?.object = Object::Timer { clock, timer, count: 0 };
        Ok(0)
    }

    fn get_timer_descriptor(&mut self, user: &mut User<'_, '_>, descriptor: u64, to: u64) -> Call {
        let (_, _, timer) = self.described_timer(descriptor)?;
        self.write_setting(user, &timer, to)
    }

    /// Lets timers expire whose time has come.
    pub(crate) fn expire_timers(&mut self) {
        let is_set = |timer: &Timer| timer.rest(&self.clock) > 0;
        let set: Vec<(ProcessId, TimerId, Notice)> = self
            .process_timers()
            .filter(|(_, _, timer, _)| is_set(timer))
            .map(|(process, id, _, notice)| (process, id, notice))
            .collect();
        for (process, id, notice) in set {
            let timer = self.processes.get_mut(&process).and_then(|process| process.timers.get_mut(id));
            let count = timer.map_or(0, |timer| timer.take(&self.clock));
            if let (1.., Notice::Signal { signal, value, task }) = (count, notice) {
                self.tell(process, id, count, (signal, value, task));
            }
        }
        let mut is_readable = false;
        for object in self.descriptions.objects_mut() {
            if let Object::Timer { timer, count, .. } = object {
                let before = *count;
                *count = count.saturating_add(timer.take(&self.clock));
                is_readable |= before == 0 && *count > 0;
            }
        }
        if is_readable {
            self.tasks.retry();
        }
    }

    fn process_timers(&self) -> impl Iterator<Item = (ProcessId, TimerId, Timer, Notice)> {
        self.processes.iter().flat_map(|(process, state)| {
            state.timers.all().map(move |(id, timer, notice)| (*process, id, timer, notice))
        })
    }

    /// Sends the signal of a timer that has expired, unless the last one still waits.
    fn tell(
        &mut self,
        process: ProcessId,
        id: TimerId,
        count: u64,
        (signal, value, task): (u64, u64, Option<TaskId>),
    ) {
        let waits = self.waits_for(process, id, signal);
        let TimerId::Own(number) = id else {
            let info = SignalInfo { code: SI_KERNEL, ..SignalInfo::default() };
            return self.send_to_process(process, signal, info);
        };
        let timers = self.processes.get_mut(&process).map(|process| &mut process.timers.own);
        if let Some(own) = timers.and_then(|own| own.get_mut(&number)) {
            own.overrun = if waits { own.overrun.saturating_add(count) } else { count - 1 };
        }
        if waits {
            return;
        }
        let info = SignalInfo { code: SI_TIMER, word: self.pair(number, 0), value };
        match task {
            Some(task) => self.send(task, signal, info),
            None => self.send_to_process(process, signal, info),
        }
    }

    /// Returns whether the last signal of a timer has not been taken.
    fn waits_for(&self, process: ProcessId, id: TimerId, signal: u64) -> bool {
        let is_its = |info: &SignalInfo| match id {
            TimerId::Interval(_) => true,
            TimerId::Own(number) => info.code == SI_TIMER && info.word == self.pair(number, 0),
        };
        let tasks = self.tasks.iter().filter(|task| task.process == process);
        tasks.flat_map(|task| task.signals.pending.of(signal)).any(is_its)
    }

    /// Completes the information about a signal that a task takes: how often its timer has expired
    /// since it was sent.
    pub(crate) fn taken(&mut self, info: SignalInfo) -> SignalInfo {
        let own = self.tasks.current().process;
        let Some(process) = self.processes.get_mut(&own).filter(|_| info.code == SI_TIMER) else {
            return info;
        };
        let big_endian = self.cpu.abi.is_big_endian();
        let number = low(if big_endian { info.word >> 32 } else { info.word });
        let Some(timer) = process.timers.own.get_mut(&number) else { return info };
        timer.last_overrun = std::mem::take(&mut timer.overrun).min(i32::MAX.unsigned_abs().into());
        let overrun = low(timer.last_overrun);
        SignalInfo { word: self.pair(number, overrun), ..info }
    }

    /// Returns when the next timer expires that notifies somebody.
    pub(crate) fn next_timer(&self) -> Next {
        let mut next = Next::default();
        for (process, id, timer, notice) in self.process_timers() {
            if let Notice::Signal { signal, task, .. } = notice
                && !self.waits_for(process, id, signal)
                && self.takes(process, task, signal)
            {
                next.add(&timer, &self.clock);
            }
        }
        for object in self.descriptions.objects() {
            if let Object::Timer { timer, count: 0, .. } = object {
                next.add(timer, &self.clock);
            }
        }
        next
    }
}
