//! Programs that use the kernel: threads, processes, signals, and what hostile ones try. For
//! amd64.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use crate::executable::{CODE, executable};
use sframe_machine::{
    AMD64, Broken, End, Flow, Image, Machine, Moment, Observer, Options, Outcome, S390X, System,
};

/// Where a program has its data, from the start of its code.
const DATA: usize = 1024;
/// The address of its data.
const AT: u64 = CODE + DATA as u64;
const SIGSEGV: u64 = 11;

/// The code of a program.
#[derive(Clone, Default)]
struct Code(Vec<u8>);

impl Code {
    /// Adds instructions.
    fn raw(mut self, code: &[u8]) -> Self {
        self.0.extend(code);
        self
    }

    fn at(&self) -> u64 {
        CODE + self.0.len() as u64
    }

    /// Makes a system call: `movabs` of its arguments, `mov` of its number to `eax`, `syscall`.
    fn call(mut self, number: u32, arguments: &[u64]) -> Self {
        let registers = [[0x48, 0xbf], [0x48, 0xbe], [0x48, 0xba], [0x49, 0xba], [0x49, 0xb8], [0x49, 0xb9]];
        for (register, argument) in registers.into_iter().zip(arguments) {
            self = self.raw(&register).raw(&argument.to_le_bytes());
        }
        self.raw(&[0xb8]).raw(&number.to_le_bytes()).raw(&[0x0f, 0x05])
    }

    /// Jumps to an address: `jmp`.
    fn jump(self, to: u64) -> Self {
        let distance = relative(to, self.at() + 5);
        self.raw(&[0xe9]).raw(&distance)
    }

    /// Jumps if the last result was not zero: `test %rax,%rax; jne`.
    fn unless_zero(self, to: u64) -> Self {
        let distance = relative(to, self.at() + 9);
        self.raw(&[0x48, 0x85, 0xc0, 0x0f, 0x85]).raw(&distance)
    }

    /// Exits with the low byte of the last result: `mov %eax,%edi`.
    fn exit_with_result(self) -> Self {
        self.raw(&[0x89, 0xc7, 0xb8, 231, 0, 0, 0, 0x0f, 0x05])
    }

    fn exit(self, status: u64) -> Self {
        self.call(231, &[status])
    }

    /// Adds a part, for which the code before it is filled up to an offset.
    fn offset(mut self, offset: usize) -> Self {
        assert!(self.0.len() <= offset, "{} bytes of code", self.0.len());
        self.0.resize(offset, 0x90);
        self
    }

    fn data(self, words: &[u64]) -> Vec<u8> {
        let data: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        let mut code = self.offset(DATA).raw(&data).0;
        code.resize(DATA + 4096, 0);
        executable(&AMD64, &code)
    }
}

fn relative(to: u64, from: u64) -> [u8; 4] {
    i32::try_from(to.wrapping_sub(from).cast_signed()).expect("near").to_le_bytes()
}

fn options(budget: u64) -> Options {
    Options { budget, stack_size: 64 << 10, ..Options::default() }
}

fn machine(bytes: &[u8], options: &Options) -> Machine {
    Machine::new(&Image::parse(bytes).expect("a loadable image"), options).expect("a machine")
}

fn run_with(bytes: &[u8], options: &Options) -> Outcome {
    let mut each = |_: &Moment<'_>| Flow::Continue;
    machine(bytes, options).run(&mut each).expect("an emulator")
}

fn run(bytes: &[u8]) -> Outcome {
    run_with(bytes, &options(100_000))
}

/// The offset of a part of a program: a handler, or what another task does.
const PART: usize = 512;
const PART_AT: u64 = CODE + PART as u64;

/// Handles a signal at [`PART_AT`].
fn handle(code: Code, signal: u64, flags: u64, handler: u64) -> (Code, [u64; 4]) {
    const RESTORER: u64 = 0x0400_0000;
    // The machine's restorer would do, but programs bring their own: mov $15,%eax; syscall.
    let restorer = CODE + 900;
    (code.call(13, &[signal, AT, 0, 8]), [handler, flags | RESTORER, restorer, 0])
}

fn with_restorer(code: Code) -> Code {
    code.offset(900).raw(&[0xb8, 15, 0, 0, 0, 0x0f, 0x05])
}

#[test]
fn hostile_programs_spend_their_budget() {
    let endless = |number, arguments: &[u64]| {
        let code = Code::default().call(number, arguments);
        code.jump(CODE).data(&[])
    };
    let budget = 30_000;
    let map = [0, 1 << 30, 3, 0x22, u64::MAX, 0];
    // Threads that make threads, and processes that make processes.
    let threads = [0x1_0900, AT + 4000, 0, 0, 0];
    for (name, bytes) in [
        ("fork", endless(57, &[])),
        ("threads", endless(56, &threads)),
        ("mmap", endless(9, &map)),
        ("brk", endless(12, &[1 << 40])),
        ("write", endless(1, &[1, CODE, 4096])),
        ("pipe", endless(22, &[AT])),
        ("getpid", endless(39, &[])),
    ] {
        let outcome = run_with(&bytes, &options(budget));
        assert_eq!(outcome.end, End::Broken(Broken::Budget(budget)), "{name}");
        assert!(outcome.instructions <= budget, "{name}");
    }
    let written = run_with(&endless(1, &[1, CODE, 4096]), &options(budget));
    assert!(!written.output.is_empty() && written.output == written.standard_output);
}

/// What a call transfers takes time, too.
#[test]
fn bytes_that_system_calls_move_count_against_the_budget() {
    let len = 1 << 24;
    let map = Code::default().call(9, &[0x1000_0000, len, 3, 0x32, u64::MAX, 0]);
    let open = map.call(257, &[u64::MAX - 99, AT, 0, 0]);
    let read = open.at();
    let code = open.call(0, &[3, 0x1000_0000, len]).jump(read);
    let path = u64::from_le_bytes(*b"/dev/zer");
    let outcome = run_with(&code.data(&[path, u64::from(b'o')]), &options(100_000));
    assert_eq!(outcome.end, End::Broken(Broken::Budget(100_000)));
    let reads = outcome.system_calls.calls["read"];
    assert!((5..=7).contains(&reads), "{reads} reads of 16 MiB");
}

#[test]
fn a_thread_that_nobody_can_wake_is_a_deadlock() {
    let outcome = run(&Code::default().call(202, &[AT, 0, 0, 0]).exit(0).data(&[]));
    assert!(matches!(outcome.end, End::Broken(Broken::Deadlock { .. })), "{:?}", outcome.end);
    // A pipe whose only writer reads.
    let code = Code::default().call(22, &[AT]).call(0, &[3, AT, 8]).exit(0);
    let outcome = run(&code.data(&[]));
    assert!(matches!(outcome.end, End::Broken(Broken::Deadlock { .. })), "{:?}", outcome.end);
    assert!(outcome.instructions < 20);
}

/// A thread that stores 7, and ends; the first one joins it by the word that the kernel clears.
#[test]
fn a_thread_is_joined_by_its_futex() {
    // CLONE_VM, _FS, _FILES, _SIGHAND, _THREAD, _SYSVSEM, _PARENT_SETTID, _CHILD_CLEARTID.
    const FLAGS: u64 = 0x35_0f00;
    let word = AT + 64;
    let code = Code::default().call(56, &[FLAGS, AT + 4000, word, word, 0]);
    // test %rax,%rax; je the part.
    let distance = relative(PART_AT, code.at() + 9);
    let code = code.raw(&[0x48, 0x85, 0xc0, 0x0f, 0x84]).raw(&distance);
    // mov word,%edx; test %edx,%edx; je over the wait: the thread may have ended already.
    let code = code.raw(&[0x8b, 0x14, 0x25]).raw(&u32::try_from(word).expect("four bytes").to_le_bytes());
    let code = code.raw(&[0xbf]).raw(&u32::try_from(word).expect("four bytes").to_le_bytes());
    // xor %esi,%esi; xor %r10d,%r10d; mov $202,%eax; syscall
    let code = code.raw(&[0x31, 0xf6, 0x45, 0x31, 0xd2, 0xb8, 202, 0, 0, 0, 0x0f, 0x05]);
    // mov AT,%eax
    let code = code.raw(&[0x8b, 0x04, 0x25]).raw(&u32::try_from(AT).expect("four bytes").to_le_bytes());
    let code = code.exit_with_result().offset(PART);
    // push $7; pop AT; exit(3)
    let code =
        code.raw(&[0x6a, 7, 0x8f, 0x04, 0x25]).raw(&u32::try_from(AT).expect("four bytes").to_le_bytes());
    let bytes = code.call(60, &[3]).data(&[]);
    let mut threads = Vec::new();
    let mut each = |moment: &Moment<'_>| {
        threads.push(moment.thread);
        Flow::Continue
    };
    let outcome = machine(&bytes, &options(1000)).run(&mut each).expect("an emulator");
    assert_eq!(outcome.end, End::Exit(7));
    threads.dedup();
    assert_eq!(threads, [1000, 1001, 1000]);
    // The same again, with and without an observer.
    assert_eq!(run(&bytes).instructions, outcome.instructions);
    let survey = machine(&bytes, &options(1000)).survey(&|| false).expect("an emulator").outcome;
    assert_eq!((survey.end, survey.instructions), (outcome.end, outcome.instructions));
}

#[test]
fn a_handler_can_move_the_program_past_the_fault() {
    const UC_RIP: u8 = 0xa8;
    let (code, action) = handle(Code::default(), SIGSEGV, 4, PART_AT);
    // mov 0,%eax, of 7 bytes.
    let code = code.raw(&[0x8b, 0x04, 0x25, 0, 0, 0, 0]).exit(5).offset(PART);
    // addq $7,0xa8(%rdx); ret
    let code = code.raw(&[0x48, 0x83, 0x82, UC_RIP, 0, 0, 0, 7, 0xc3]);
    let outcome = run(&with_restorer(code).data(&action));
    assert_eq!(outcome.end, End::Exit(5));
    assert_eq!((outcome.control_flow.signals, outcome.control_flow.signal_returns), (1, 1));
}

/// In a child, since for the first process the fault itself is the better reason.
#[test]
fn a_fault_whose_signal_is_blocked_or_ignored_kills_the_program() {
    const IGNORE: u64 = 1;
    for (name, handler, blocks) in [("blocked", PART_AT, true), ("ignored", IGNORE, false)] {
        let (code, action) = handle(Code::default(), SIGSEGV, 4, handler);
        let code = if blocks { code.call(14, &[0, AT + 32, 0, 8]) } else { code };
        let fork = code.call(57, &[]);
        // test %rax,%rax; jne over the fault.
        let over = fork.at() + 9 + 7;
        let code = fork.unless_zero(over).raw(&[0x8b, 0x04, 0x25, 0, 0, 0, 0]);
        let code = code.call(61, &[u64::MAX, AT + 64, 0, 0]);
        let code = code.raw(&[0x8b, 0x04, 0x25]).raw(&u32::try_from(AT + 64).expect("small").to_le_bytes());
        let code = code.exit_with_result().offset(PART).raw(&[0xc3]);
        let mut data = action.to_vec();
        data.push(1 << (SIGSEGV - 1));
        let outcome = run(&with_restorer(code).data(&data));
        assert_eq!(outcome.end, End::Exit(11), "{name}");
    }
    // mov 0,%eax in the first process.
    let outcome = run(&Code::default().raw(&[0x8b, 0x04, 0x25, 0, 0, 0, 0]).data(&[]));
    assert_eq!(outcome.end, End::Broken(Broken::Fault { access: "read", address: 0, pc: CODE }));
}

/// Its context has the PC where there is no instruction, and the return address on its stack.
#[test]
fn a_handler_can_return_from_a_call_to_address_zero() {
    let (code, action) = handle(Code::default(), SIGSEGV, 4, PART_AT);
    // xor %eax,%eax; call *%rax
    let code = code.raw(&[0x31, 0xc0, 0xff, 0xd0]).exit(6).offset(PART);
    // mov 0xa0(%rdx),%rax; mov (%rax),%rcx; add 0xa8(%rdx),%rcx
    let code =
        code.raw(&[0x48, 0x8b, 0x82, 0xa0, 0, 0, 0, 0x48, 0x8b, 0x08, 0x48, 0x03, 0x8a, 0xa8, 0, 0, 0]);
    // mov %rcx,0xa8(%rdx); addq $8,0xa0(%rdx); ret
    let code = code.raw(&[0x48, 0x89, 0x8a, 0xa8, 0, 0, 0, 0x48, 0x83, 0x82, 0xa0, 0, 0, 0, 8, 0xc3]);
    let bytes = with_restorer(code).data(&action);
    let mut depths = Vec::new();
    let mut each = |moment: &Moment<'_>| {
        depths.push(moment.call_stack.depth());
        Flow::Continue
    };
    let outcome = machine(&bytes, &options(1000)).run(&mut each).expect("an emulator");
    assert_eq!(outcome.end, End::Exit(6));
    assert_eq!(outcome.instructions, depths.len() as u64);
    // The call of nothing, the signal's frame, and the handler.
    let (first, last) = (depths[0], depths[depths.len() - 1]);
    assert_eq!((depths.iter().max(), last), (Some(&(first + 3)), first), "{depths:?}");
}

#[test]
fn a_handler_at_an_unmapped_address_ends_the_run() {
    const NODEFER: u64 = 0x4000_0000;
    for flags in [0, NODEFER] {
        let (code, action) = handle(Code::default(), SIGSEGV, flags, 0x10);
        let code = code.raw(&[0x8b, 0x04, 0x25, 0, 0, 0, 0]);
        let outcome = run(&with_restorer(code).data(&action));
        let is_named = matches!(outcome.end, End::Broken(Broken::Fault { .. } | Broken::Signal { .. }));
        assert!(is_named, "{flags:#x}: {:?}", outcome.end);
    }
}

#[test]
fn a_handler_runs_on_the_alternate_stack() {
    const ONSTACK: u64 = 0x0800_0000;
    let (code, action) = handle(Code::default(), SIGSEGV, ONSTACK, PART_AT);
    // xor %esp,%esp: there is no other stack.
    let code = code.call(131, &[AT + 32, 0]).raw(&[0x31, 0xe4, 0x8b, 0x04, 0x25, 0, 0, 0, 0]);
    let code = code.offset(PART).exit(9);
    let mut data = action.to_vec();
    data.extend([AT + 64, 0, 3900]);
    let bytes = with_restorer(code).data(&data);
    let mut highest = 0;
    let mut each = |moment: &Moment<'_>| {
        if moment.pc >= PART_AT {
            highest = moment.sp;
        }
        Flow::Continue
    };
    let outcome = machine(&bytes, &options(1000)).run(&mut each).expect("an emulator");
    assert_eq!(outcome.end, End::Exit(9));
    assert!((AT + 64..AT + 64 + 3900).contains(&highest), "{highest:#x}");
    // Without it, there is no room.
    let mut elsewhere = data;
    elsewhere[1] = 0x0400_0000;
    let code = handle(Code::default(), SIGSEGV, 0, PART_AT).0;
    let code = code.raw(&[0x31, 0xe4, 0x8b, 0x04, 0x25, 0, 0, 0, 0]).offset(PART).exit(9);
    let outcome = run(&with_restorer(code).data(&elsewhere));
    assert!(matches!(outcome.end, End::Broken(Broken::Signal { .. })), "{:?}", outcome.end);
}

#[test]
fn signals_that_are_not_handled_end_the_program() {
    let pid = Code::default();
    for signal in [1, 2, 9, 15, 64] {
        let outcome = run(&pid.clone().call(62, &[1000, signal]).exit(0).data(&[]));
        assert_eq!(outcome.end, End::Killed(u8::try_from(signal).expect("a signal")));
    }
    // SIGCHLD is ignored.
    assert_eq!(run(&pid.clone().call(62, &[1000, 17]).exit(4).data(&[])).end, End::Exit(4));
    // A pipe that nobody reads.
    let code = pid.call(22, &[AT]).call(3, &[3]).call(1, &[4, AT, 8]).exit(0);
    assert_eq!(run(&code.data(&[])).end, End::Killed(13));
}

/// `vfork`, `execve` and `wait4`: exits with the second byte of the status, or with the error.
fn spawning(path: &str) -> Vec<u8> {
    spawning_with(path, AT + 56)
}

/// The same, with the address of the lists of arguments and of the environment.
fn spawning_with(path: &str, lists: u64) -> Vec<u8> {
    let vfork = Code::default().call(58, &[]);
    let child = vfork.clone().unless_zero(0x40_0000).at();
    let exec = |code: Code| code.call(59, &[AT, lists, lists]);
    // neg %eax; exit with it.
    let fails = |code: Code| code.raw(&[0xf7, 0xd8, 0x89, 0xc7, 0xb8, 60, 0, 0, 0, 0x0f, 0x05]);
    let over = child + fails(exec(Code::default())).0.len() as u64;
    let code = fails(exec(vfork.unless_zero(over)));
    assert_eq!(code.at(), over);
    let code = code.call(61, &[u64::MAX, AT + 64, 0, 0]);
    let code = code.raw(&[0x0f, 0xb6, 0x04, 0x25]).raw(&u32::try_from(AT + 65).expect("small").to_le_bytes());
    let mut path = path.as_bytes().to_vec();
    path.resize(64, 0);
    let words: Vec<u64> =
        path.chunks(8).map(|word| u64::from_le_bytes(word.try_into().expect("8"))).collect();
    code.exit_with_result().data(&words)
}

fn run_below(root: &Path, bytes: &[u8]) -> Outcome {
    let system = System { root: Some(root.to_owned()), ..System::default() };
    run_with(bytes, &Options { system, ..options(10_000) })
}

#[test]
fn a_program_executes_others_below_its_root_only() {
    let folder = tempfile::tempdir().expect("a folder");
    let root = folder.path().join("root");
    std::fs::create_dir(&root).expect("a folder");
    let other = Code::default().call(1, &[1, AT, 6]).exit(42).data(&[u64::from_le_bytes(*b"other!\0\0")]);
    for (path, mode) in [("root/other", 0o755), ("root/data", 0o644), ("outside", 0o755)] {
        let path = folder.path().join(path);
        std::fs::write(&path, &other).expect("a file");
        std::fs::set_permissions(&path, Permissions::from_mode(mode)).expect("a file");
    }
    std::fs::write(root.join("text"), "no program").expect("a file");
    std::fs::set_permissions(root.join("text"), Permissions::from_mode(0o755)).expect("a file");
    std::os::unix::fs::symlink("../outside", root.join("link")).expect("a link");

    let outcome = run_below(&root, &spawning("/other"));
    assert_eq!((outcome.end, outcome.output.as_slice()), (End::Exit(42), &b"other!"[..]));
    assert!(outcome.unobserved > 0 && outcome.unobserved < outcome.instructions);
    const ENOENT: u8 = 2;
    const ENOEXEC: u8 = 8;
    const EACCES: u8 = 13;
    for (path, errno) in [
        ("/outside", ENOENT),
        ("../outside", ENOENT),
        ("/link", ENOENT),
        ("/none", ENOENT),
        ("/data", EACCES),
        ("/text", ENOEXEC),
        ("/tmp", EACCES),
    ] {
        let outcome = run_below(&root, &spawning(path));
        assert_eq!((outcome.end, outcome.output.len()), (End::Exit(errno), 0), "{path}");
    }
    // rdx, which has the environment's address at the call, is no function to call at the end of the next program.
    let status_of_rdx = Code::default().raw(&[0x89, 0xd7, 0xb8, 60, 0, 0, 0, 0x0f, 0x05]).data(&[]);
    std::fs::write(root.join("other"), status_of_rdx).expect("a file");
    assert_eq!(run_below(&root, &spawning("/other")).end, End::Exit(0));
    // No lists are empty ones, and the next program has one argument, without a name.
    let count = Code::default().raw(&[0x8b, 0x3c, 0x24, 0xb8, 60, 0, 0, 0, 0x0f, 0x05]).data(&[]);
    std::fs::write(root.join("other"), count).expect("a file");
    assert_eq!(run_below(&root, &spawning_with("/other", 0)).end, End::Exit(1));
    std::fs::write(root.join("other"), &other).expect("a file");
    assert_eq!(spawning("/other").len(), spawning("/none").len());
    let bytes = spawning("/other");
    let system = System { root: Some(root), ..System::default() };
    let options = Options { system, ..options(10_000) };
    let survey = machine(&bytes, &options).survey(&|| false).expect("an emulator").outcome;
    let observed = run_with(&bytes, &options);
    assert_eq!((survey.end, survey.instructions), (observed.end, observed.instructions));
}

/// Collects stores to the program's data.
#[derive(Default)]
struct Stores(Vec<u64>);

impl Observer for Stores {
    fn instruction(&mut self, _: &Moment<'_>) -> Flow {
        Flow::Continue
    }

    fn wants_stores(&self) -> bool {
        true
    }

    fn store(&mut self, address: u64, _: u64) {
        self.0.extend((AT..AT + 64).contains(&address).then_some(address));
    }
}

/// The memory of a child of `fork` has the same addresses, and is another one.
#[test]
fn what_a_child_stores_in_its_own_memory_is_not_reported() {
    const FORK: u32 = 57;
    const VFORK: u32 = 58;
    const WAIT4: u32 = 61;
    // movabs $AT, %rdi; mov %eax, (%rdi), of the result 0; the parent waits.
    let store = [&[0x48, 0xbf][..], &AT.to_le_bytes(), &[0x89, 0x07]].concat();
    for (call, stored) in [(FORK, vec![]), (VFORK, vec![AT])] {
        let start = Code::default().call(call, &[]);
        let child = Code::default().raw(&store).exit(0);
        let parent = CODE + start.0.len() as u64 + 9 + child.0.len() as u64;
        let code = start.unless_zero(parent).raw(&child.0).call(WAIT4, &[u64::MAX, 0, 0, 0]).exit(7);
        let bytes = code.data(&[1; 8]);
        let mut stores = Stores::default();
        let outcome = machine(&bytes, &options(10_000)).run(&mut stores).expect("an emulator");
        assert_eq!((outcome.end, stores.0), (End::Exit(7), stored));
    }
}

/// A sanitizer sets that addresses are not random, and executes itself again until that is so.
#[test]
fn a_personality_is_what_was_set() {
    const ONLY_ASKED: u64 = 0xffff_ffff;
    const PERSONALITY: u32 = 135;
    let code = Code::default().call(PERSONALITY, &[0x4_0000]).call(PERSONALITY, &[ONLY_ASKED]);
    // The status is bits 16 to 23: `shr $16,%eax`.
    let bytes = code.raw(&[0xc1, 0xe8, 16]).exit_with_result().data(&[]);
    assert_eq!(run(&bytes).end, End::Exit(4));
}

/// Code whose pages are changed by `mprotect`, as dynamic linkers do for text relocations, and which more memory is mapped
/// beside.
#[test]
fn code_that_can_no_longer_be_written_executes() {
    let page = (CODE & !0xfff).to_be_bytes();
    let mut code = vec![0xc0, 0x2f]; // llilf %r2,page
    code.extend(&page[4..]);
    code.extend([0xa7, 0x39, 0x10, 0]); // lghi %r3,4096
    code.extend([0xa7, 0x49, 0, 5, 0x0a, 125]); // lghi %r4,PROT_READ | PROT_EXEC; svc mprotect
    code.extend([0xa7, 0x29, 0, 0, 0x0a, 45]); // lghi %r2,0; svc brk
    code.extend([0xa7, 0x2b, 0x10, 0, 0x0a, 45]); // aghi %r2,4096; svc brk
    code.extend([0xa7, 0x29, 0, 7, 0x0a, 1]); // lghi %r2,7; svc exit
    assert_eq!(run(&executable(&S390X, &code)).end, End::Exit(7));
}
