//! Tables that programs register for code that they have written, and contexts, as an observer sees them.

use sframe_machine::{
    AMD64, Bottom, Broken, Change, End, Flow, Image, Machine, Moment, Observer, Options, Pattern,
};

use crate::builds::builds_of;
use crate::executable::executable;

/// What was seen.
#[derive(Default)]
struct Seen {
    /// The instruction that was seen last.
    last: (u64, u64),
    /// What has changed, by the size of the table: larger than 0 if it has come.
    changes: Vec<i64>,
    /// What was in the register of results after each change.
    results: Vec<u64>,
    /// Whether a result is to be looked at.
    is_due: bool,
    /// Whether the next instruction is to be executed by a copy, when a table is there.
    forks: bool,
    ends: Vec<End>,
}

impl Observer for Seen {
    fn instruction(&mut self, moment: &Moment<'_>) -> Flow {
        self.last = (moment.time, moment.pc);
        if std::mem::take(&mut self.is_due) {
            self.results.extend(moment.register(0));
        }
        if self.forks && self.changes.len() == 1 {
            self.forks = false;
            return Flow::Fork(10);
        }
        Flow::Continue
    }

    fn changed(&mut self, moment: &Moment<'_>, change: &Change) {
        // The call is the instruction that was seen last.
        assert_eq!((moment.time, moment.pc), self.last);
        assert!(moment.call_stack.depth() > 1);
        let (table, sign) = match change {
            Change::Registered(table) => (table, 1),
            Change::Withdrawn(table) => (table, -1),
            Change::Mapped(_) | Change::Unmapped(_) | Change::Replaced(_) | Change::Executed(_) => {
                panic!("no file is mapped")
            }
        };
        assert!([[0xe2, 0xde], [0xde, 0xe2]].contains(&[table.bytes[0], table.bytes[1]]));
        assert_eq!(table.code.end - table.code.start, 4096);
        self.changes.push(sign * i64::try_from(table.bytes.len()).expect("a small table"));
        self.is_due = true;
    }

    fn fork_ended(&mut self, end: &End) {
        self.ends.push(end.clone());
    }
}

#[test]
fn tables_come_and_go_with_the_calls_that_say_so() {
    let builds = builds_of("generated_code");
    assert!(builds.len() >= 22, "{builds:?}");
    for build in builds {
        let bytes = std::fs::read(&build).expect("a build");
        let image = Image::parse(&bytes).expect("a loadable image");
        let mut seen = Seen::default();
        let outcome = Machine::new(&image, &Options::default()).expect("a machine").run(&mut seen);
        assert_eq!(outcome.expect("an emulator").end, End::Exit(0), "{}", build.display());
        let [small, large, ..] = seen.changes[..] else { panic!("{:?}", seen.changes) };
        assert!(small > 0 && large > 0);
        let once = [small, large, -large, -small];
        assert_eq!(seen.changes, [once, once, once].concat(), "{}", build.display());
    }
}

/// A program that makes calls with these arguments, and exits with the last result, negated.
fn calls(calls: &[[u64; 5]]) -> Vec<u8> {
    let mut code = Vec::new();
    for arguments in calls {
        // eax, rdi, rsi, rdx, r10
        for (register, argument) in
            [[0x48, 0xb8], [0x48, 0xbf], [0x48, 0xbe], [0x48, 0xba], [0x49, 0xba]].into_iter().zip(arguments)
        {
            code.extend(register);
            code.extend(argument.to_le_bytes());
        }
        code.extend([0x0f, 0x05]);
    }
    // neg %eax; mov %eax,%edi; mov $60,%eax; syscall
    code.extend([0xf7, 0xd8, 0x89, 0xc7, 0xb8, 60, 0, 0, 0, 0x0f, 0x05]);
    executable(&AMD64, &code)
}

#[test]
fn tables_that_can_not_be_registered_are_refused() {
    const REGISTER: u64 = 0x5346_0001;
    const WITHDRAW: u64 = 0x5346_0002;
    const TABLE: u64 = 0x40_0000;
    let good = [REGISTER, TABLE, 64, 0x1000, 0x100];
    for (made, status) in [
        (vec![good], 0),
        (vec![good, [WITHDRAW, 0x1000, 0, 0, 0]], 0),
        (vec![good, [WITHDRAW, 0x1001, 0, 0, 0]], 2),
        (vec![good, [WITHDRAW, 0x1000, 0, 0, 0], [WITHDRAW, 0x1000, 0, 0, 0]], 2),
        (vec![[REGISTER, TABLE, 0, 0x1000, 0x100]], 22),
        (vec![[REGISTER, TABLE, u64::MAX, 0x1000, 0x100]], 22),
        (vec![[REGISTER, TABLE, 64, 0x1000, 0]], 22),
        (vec![[REGISTER, TABLE, 64, u64::MAX, 2]], 22),
        // Nothing is mapped there, or not all of it.
        (vec![[REGISTER, 0x1000, 64, 0x1000, 0x100]], 14),
        (vec![[REGISTER, TABLE, 1 << 20, 0x1000, 0x100]], 14),
        (vec![good; 1025], 12),
    ] {
        let bytes = calls(&made);
        let image = Image::parse(&bytes).expect("a loadable image");
        let mut each = |_: &Moment<'_>| Flow::Continue;
        let outcome = Machine::new(&image, &Options::default()).expect("a machine").run(&mut each);
        assert_eq!(outcome.expect("an emulator").end, End::Exit(status), "{:x?}", made.last());
    }
}

/// Nobody would notice them in a copy of the process, which ends at such a call.
#[test]
fn tables_are_not_registered_by_copies() {
    let build = builds_of("generated_code").into_iter().find(|build| {
        build.to_string_lossy().contains("gnu-2.47/amd64") && build.ends_with("generated_code.O2")
    });
    let bytes = std::fs::read(build.expect("a build")).expect("a file");
    let image = Image::parse(&bytes).expect("a loadable image");
    let mut seen = Seen { forks: true, ..Seen::default() };
    let options = Options { pattern: Pattern::Second, ..Options::default() };
    let outcome = Machine::new(&image, &options).expect("a machine").run(&mut seen).expect("an emulator");
    assert_eq!((outcome.end, seen.changes.len()), (End::Exit(0), 12));
    // The signal ends it, since nothing handles it.
    assert!(!seen.ends.is_empty(), "{:?}", seen.ends);
    assert!(seen.ends.iter().all(|end| !matches!(end, End::Broken(Broken::Harness(_)))), "{:?}", seen.ends);
}

/// The first function of a context has the return address that the program has put there, until control is at that.
#[test]
fn a_context_begins_with_what_its_first_function_finds() {
    for build in builds_of("contexts") {
        let bytes = std::fs::read(&build).expect("a build");
        let image = Image::parse(&bytes).expect("a loadable image");
        let mut addresses: Vec<u64> = Vec::new();
        let (mut begun, mut ended) = (0, 0);
        let mut each = |moment: &Moment<'_>| {
            if moment.call_stack.bottom() == Bottom::Context {
                match moment.call_stack.beginning() {
                    Some(beginning) => {
                        begun += u64::from(moment.pc == beginning.callee && moment.sp <= beginning.caller_sp);
                        addresses.push(beginning.return_address);
                    }
                    None => ended += 1,
                }
            }
            Flow::Continue
        };
        let outcome = Machine::new(&image, &Options::default()).expect("a machine").run(&mut each);
        assert_eq!(outcome.expect("an emulator").end, End::Exit(0));
        addresses.sort_unstable();
        addresses.dedup();
        // All of them return to context_exit.
        assert!(addresses.len() == 1 && begun >= 3 && ended > 0, "{addresses:x?} {begun} {ended}");
    }
}
