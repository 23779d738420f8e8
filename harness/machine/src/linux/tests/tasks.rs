//! Tasks: whose turn it is, and what they wait for.

use rustix::io::Errno;

use super::{Caller, SCRATCH};
use crate::linux::answer::Answer;
use crate::linux::ids::{ProcessId, SpaceId, TaskId};
use crate::linux::objects::clock::{Clock, SECOND};
use crate::linux::objects::tasks::{On, Task, Tasks, Wait, Wake};

const SPACE: SpaceId = SpaceId(1);
const WORD: u64 = 0x1000;
const ALL: u32 = u32::MAX;

fn tasks(count: u32) -> Tasks {
    let task = |id| Task::new(TaskId(id), ProcessId(1), SPACE);
    let mut tasks = Tasks::new(task(1));
    (2..=count).for_each(|id| tasks.add(task(id)));
    tasks
}

fn futex(address: u64, mask: u32, deadline: Option<u64>) -> Wait {
    Wait::on(On::Futex { space: SPACE, address, mask }, deadline, false)
}

/// Gives the turn to the next task, after the current one if that yields.
fn schedule(tasks: &mut Tasks, clock: &mut Clock, yields: bool) {
    if let Err(deadline) = tasks.turn(clock.now(), yields) {
        clock.sleep_until(deadline.expect("a deadline"));
        tasks.turn(clock.now(), false).expect("a task that is ready");
    }
}

/// Gives the turn to the next task, and returns its number.
fn next(tasks: &mut Tasks, clock: &mut Clock) -> u32 {
    schedule(tasks, clock, true);
    tasks.current().id.0
}

/// Lets the first tasks wait for a word, one after the other.
fn all_wait(tasks: &mut Tasks, masks: &[u32]) {
    for mask in masks {
        tasks.wait(futex(WORD, *mask, None));
        next(tasks, &mut Clock::default());
    }
}

#[test]
fn tasks_take_turns_in_the_order_of_their_creation() {
    let (mut tasks, mut clock) = (tasks(3), Clock::default());
    let turns: Vec<u32> = (0..7).map(|_| next(&mut tasks, &mut clock)).collect();
    assert_eq!(turns, [2, 3, 1, 2, 3, 1, 2]);
    // The turn passes to the one after it.
    tasks.remove(|task| task.id.0 == 2);
    assert_eq!(tasks.current().id.0, 3);
    tasks.remove(|task| task.id.0 == 1);
    assert_eq!(tasks.current().id.0, 3);
    assert!(!tasks.are_several());
}

#[test]
fn as_many_tasks_are_woken_as_are_asked_for() {
    let (mut tasks, mut clock) = (tasks(5), Clock::default());
    all_wait(&mut tasks, &[1, 2, 1, 1]);
    assert_eq!(tasks.wake_futex(SPACE, WORD + 4, 9, ALL), 0);
    assert_eq!(tasks.wake_futex(SpaceId(2), WORD, 9, ALL), 0);
    assert_eq!(tasks.wake_futex(SPACE, WORD, 0, ALL), 0);
    assert_eq!(tasks.wake_futex(SPACE, WORD, 1, ALL), 1);
    assert_eq!(next(&mut tasks, &mut clock), 1, "who has waited longest");
    assert_eq!(tasks.current_mut().take_wake(), Some(Wake::Done(Ok(0))));
    assert_eq!(next(&mut tasks, &mut clock), 5);
    assert_eq!(tasks.wake_futex(SPACE, WORD, 9, 1), 2);
    assert_eq!([next(&mut tasks, &mut clock), next(&mut tasks, &mut clock)], [1, 3]);
    assert_eq!(tasks.wake_futex(SPACE, WORD, 9, 2), 1);
    assert_eq!(tasks.wake_futex(SPACE, WORD, 9, ALL), 0);
}

#[test]
fn requeued_tasks_wait_for_the_other_word() {
    let mut tasks = tasks(4);
    all_wait(&mut tasks, &[ALL; 3]);
    assert_eq!(tasks.requeue(SPACE, WORD, WORD + 8, 2), 2);
    assert_eq!(tasks.wake_futex(SPACE, WORD, 9, ALL), 1);
    assert_eq!(tasks.wake_futex(SPACE, WORD + 8, 9, ALL), 2);
}

#[test]
fn waits_end_at_their_deadlines_without_taking_instructions() {
    let (mut tasks, mut clock) = (tasks(3), Clock::default());
    for wait in [futex(WORD, ALL, Some(300)), Wait::until(100), Wait::event(Some(200))] {
        tasks.wait(wait);
        // The last one passes the turn to the one that is the first to go on.
        next(&mut tasks, &mut clock);
    }
    assert_eq!((tasks.current().id.0, clock.now()), (2, 100));
    assert_eq!(tasks.current_mut().take_wake(), Some(Wake::Again));
    assert!(tasks.current().has_expired());
    tasks.remove(|task| task.id.0 == 2);
    schedule(&mut tasks, &mut clock, false);
    assert_eq!((tasks.current().id.0, clock.now()), (3, 200));
    tasks.remove(|task| task.id.0 == 3);
    schedule(&mut tasks, &mut clock, false);
    assert_eq!((tasks.current().id.0, clock.now()), (1, 300));
    assert_eq!(tasks.current_mut().take_wake(), Some(Wake::Done(Err(Errno::TIMEDOUT))));
}

#[test]
fn a_deadlock_of_all_tasks_is_noticed() {
    let (mut tasks, mut clock) = (tasks(2), Clock::default());
    tasks.wait(futex(WORD, ALL, None));
    next(&mut tasks, &mut clock);
    tasks.wait(Wait::event(None));
    assert_eq!(tasks.turn(clock.now(), true), Err(None));
}

#[test]
fn a_parent_that_has_lent_its_memory_waits_for_the_child() {
    let (mut tasks, mut clock) = (tasks(2), Clock::default());
    tasks.wait(Wait::on(On::Child(TaskId(2)), None, false));
    assert_eq!(next(&mut tasks, &mut clock), 2);
    // Not for a signal.
    tasks.iter_mut().for_each(|task| task.interrupt(true));
    assert_eq!(next(&mut tasks, &mut clock), 2);
    tasks.remove(|task| task.id.0 == 2);
    schedule(&mut tasks, &mut clock, false);
    assert_eq!(tasks.current_mut().take_wake(), Some(Wake::Done(Ok(2))));
}

#[test]
fn the_longest_sleep_ends_and_clocks_go_on() {
    let mut caller = Caller::new();
    let forever = caller.words(&[i64::MAX.cast_unsigned(), SECOND - 1]);
    let buffer = caller.put(&[0; 32]);
    let Answer::Wait(wait) = caller.answer("nanosleep", &[forever, 0]) else { panic!("a wait") };
    caller.linux.tasks.wait(wait);
    assert!(caller.linux.schedule(0, true).is_ok());
    for clock in [0, 1, 2, 7, 11] {
        assert_eq!(caller.call("clock_gettime", &[clock, buffer]), Ok(0), "clock {clock}");
    }
    for (name, arguments) in [("gettimeofday", vec![buffer, 0]), ("times", vec![buffer]), ("time", vec![0])] {
        assert!(caller.call(name, &arguments).is_ok(), "{name}");
    }
    // Time stands still: what would end later has ended.
    let Answer::Wait(wait) = caller.answer("poll", &[0, 0, 0x7fff_ffff]) else { panic!("a wait") };
    caller.linux.tasks.wait(wait);
    assert!(caller.linux.schedule(0, true).is_ok());
    assert_eq!(caller.call("poll", &[0, 0, 0x7fff_ffff]), Ok(0));
}

#[test]
fn calls_of_tasks_fail_as_on_linux() {
    let mut caller = Caller::new();
    let word = caller.words(&[7]);
    let odd = caller.words(&[0, SECOND]);
    let negative = caller.words(&[u64::MAX, 0]);
    let short = caller.words(&[0; 7]);
    let buffer = caller.put(&[0; 16]);
    for (name, arguments, errno) in [
        ("futex", vec![word, 0, 6, 0], Errno::AGAIN),
        ("futex", vec![word + 1, 0, 7, 0], Errno::INVAL),
        ("futex", vec![8, 0, 7, 0], Errno::FAULT),
        ("futex", vec![word, 0, 7, odd], Errno::INVAL),
        ("futex", vec![word, 9, 7, 0, 0, 0], Errno::INVAL),
        ("futex", vec![word, 10, 7, 0, 0, 0], Errno::INVAL),
        ("futex", vec![word, 4, 1, 1, word + 4, 6], Errno::AGAIN),
        ("futex", vec![word, 2, 7, 0], Errno::NOSYS),
        ("nanosleep", vec![odd, 0], Errno::INVAL),
        ("nanosleep", vec![negative, 0], Errno::INVAL),
        ("nanosleep", vec![8, 0], Errno::FAULT),
        ("clock_gettime", vec![99, buffer], Errno::INVAL),
        ("clock_gettime", vec![0, 8], Errno::FAULT),
        // CLONE_THREAD without CLONE_SIGHAND, that without CLONE_VM, and CLONE_NEWNS.
        ("clone", vec![0x1_0100, 0], Errno::INVAL),
        ("clone", vec![0x800, 0], Errno::INVAL),
        ("clone", vec![0x2_0000, 0], Errno::PERM),
        ("clone3", vec![short, 56], Errno::INVAL),
        ("clone3", vec![8, 88], Errno::FAULT),
        ("wait4", vec![u64::MAX, 0, 0, 0], Errno::CHILD),
        ("execve", vec![8, 0, 0], Errno::FAULT),
    ] {
        assert_eq!(caller.call(name, &arguments), Err(errno), "{name} {arguments:x?}");
    }
    assert!(matches!(caller.answer("futex", &[word, 0, 7, 0]), Answer::Wait(_)));
    assert_eq!(caller.call("futex", &[word, 1, 1]), Ok(0));
    let list = caller.words(&[0]);
    assert_eq!(caller.at_path("execve", "/none", &[8, list]), Err(Errno::FAULT), "no arguments to read");
    assert_eq!(caller.at_path("execve", "/none", &[0, 0]), Err(Errno::NOENT), "no lists are empty ones");
    assert_eq!(caller.at_path("execve", "/none", &[list, list]), Err(Errno::NOENT));
    assert_eq!(caller.at_path("execve", "/tmp", &[list, list]), Err(Errno::ACCESS));
}

#[test]
fn a_task_exists_whether_or_not_its_number_can_be_stored() {
    const THREAD: u64 = 0x1_0900;
    const SETTID: u64 = 0x110_0000;
    let mut caller = Caller::new();
    for flags in [THREAD | SETTID, SETTID] {
        let Answer::Clone(task) = caller.answer("clone", &[flags, SCRATCH, 8, 8]) else { panic!("a task") };
        assert_eq!(caller.linux.tasks.iter().last().map(|last| last.id), Some(task.id));
    }
    let word = caller.words(&[0]);
    let Answer::Clone(task) = caller.answer("clone", &[THREAD | SETTID, 0, word, word + 4]) else {
        panic!("a task")
    };
    assert_eq!(caller.word(word), u64::from(task.id.0) * 0x1_0000_0001);
}

#[test]
fn there_are_no_more_tasks_than_the_limit_allows() {
    let mut caller = Caller::new();
    let mut clone = |flags| caller.answer("clone", &[flags, 0]);
    let made = (0..1000).take_while(|_| matches!(clone(0x1_0900), Answer::Clone(_))).count();
    assert_eq!(made, 255);
    for flags in [0x1_0900, 0x4100, 0] {
        assert!(matches!(clone(flags), Answer::Done(Err(Errno::AGAIN))), "{flags:#x}");
    }
}

#[test]
fn an_epoll_object_cannot_watch_itself() {
    const ADD: u64 = 1;
    const DELETE: u64 = 2;
    let mut caller = Caller::new();
    let event = caller.put(&[1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    let [first, second, third] = [(); 3].map(|()| caller.call("epoll_create1", &[0]).expect("an object"));
    let mut add = |epoll: u64, what: u64| caller.call("epoll_ctl", &[epoll, ADD, what, event]);
    assert_eq!(add(first, first), Err(Errno::INVAL));
    assert_eq!(add(first, second), Ok(0));
    assert_eq!(add(first, second), Err(Errno::EXIST));
    assert_eq!(add(second, first), Err(Errno::LOOP));
    assert_eq!(add(second, third), Err(Errno::LOOP));
    assert_eq!(add(third, first), Err(Errno::LOOP));
    // A number that is used again is another descriptor.
    let event_fd = caller.call("eventfd2", &[1, 0]).expect("an object");
    assert_eq!(caller.call("epoll_ctl", &[second, ADD, event_fd, event]), Ok(0));
    assert_eq!(caller.call("close", &[event_fd]), Ok(0));
    assert_eq!(caller.call("eventfd2", &[1, 0]), Ok(event_fd));
    assert_eq!(caller.call("epoll_ctl", &[second, DELETE, event_fd, 0]), Err(Errno::NOENT));
    assert_eq!(caller.call("epoll_ctl", &[second, ADD, event_fd, event]), Ok(0));
    let events = caller.put(&[0; 24]);
    assert_eq!(caller.call("epoll_wait", &[second, events, 2, 0]), Ok(1));
    assert_eq!(caller.call("epoll_wait", &[first, events, 2, 0]), Ok(1));
}
