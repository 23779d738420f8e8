//! Programs on the host's own processor, which is the check on the emulator: both execute the same instructions, with the
//! same calls.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use sframe_isa::Disassembly;
use sframe_machine::native::{NativeError, survey};
use sframe_machine::{
    AARCH64, AMD64, Broken, End, Flow, Image, Images, Loaded, Machine, MachineError, Moment,
};
use sframe_machine::{Observer, Options, Outcome};
use tempfile::TempDir;

use crate::executable::{CODE, executable};

/// Why a test of amd64 programs is skipped here, if it is.
fn skips() -> bool {
    let elsewhere = !cfg!(target_arch = "x86_64");
    if elsewhere {
        eprintln!("skipped: the host does not execute programs for amd64");
    }
    elsewhere
}

/// A program in a file that the host executes.
struct Program {
    _folder: TempDir,
    path: PathBuf,
    bytes: Vec<u8>,
}

impl Program {
    fn new(bytes: Vec<u8>) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("program");
        std::fs::write(&path, &bytes).expect("a file");
        std::fs::set_permissions(&path, Permissions::from_mode(0o755)).expect("permissions");
        Self { _folder: folder, path, bytes }
    }

    fn of(code: &[u8]) -> Self {
        Self::new(executable(&AMD64, code))
    }

    /// Runs it on the host's processor. Shows also what was added to its addresses.
    fn run(
        &self,
        options: &Options,
        observe: impl FnOnce(u64) -> Box<dyn Observer>,
    ) -> Result<Outcome, MachineError> {
        let image = Image::parse(&self.bytes).expect("an image");
        let surveyed = survey(&self.path, &image, options, &|| false)?;
        let loaded = Loaded { name: "", bytes: &self.bytes, bias: surveyed.bias };
        let images = Images::mapped(&[loaded])?;
        let options = Options { native: Some(surveyed.native.into()), ..options.clone() };
        sframe_machine::run(&images, &options, &mut *observe(surveyed.bias))
    }

    fn end(&self, options: &Options) -> End {
        self.run(options, |_| Box::new(|_: &Moment<'_>| Flow::Continue)).expect("a run").end
    }
}

/// What is the same wherever a program is: the instructions, and who has called.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Seen {
    pc: u64,
    /// The return address and the callee of each call, and whether a signal has interrupted it.
    calls: Vec<(u64, u64, bool)>,
}

/// Sees a program at some addresses.
#[derive(Clone)]
struct Record {
    code: std::ops::Range<u64>,
    bias: u64,
    seen: std::rc::Rc<std::cell::RefCell<Vec<Seen>>>,
}

impl Record {
    fn new(image: &Image<'_>, bias: u64) -> Self {
        let range = image.range();
        let moved = |address: u64| address.wrapping_sub(image.bias).wrapping_add(bias);
        Self { code: moved(range.start)..moved(range.end), bias, seen: std::rc::Rc::default() }
    }
}

impl Observer for Record {
    fn instruction(&mut self, moment: &Moment<'_>) -> Flow {
        // The code of the kernel is elsewhere.
        let at = |address: u64| {
            if self.code.contains(&address) { address.wrapping_sub(self.bias) } else { u64::MAX }
        };
        let calls = moment.call_stack.records().iter();
        let calls = calls.map(|call| (at(call.return_address), at(call.callee), call.interrupted)).collect();
        self.seen.borrow_mut().push(Seen { pc: at(moment.pc), calls });
        Flow::Continue
    }
}

/// Removes what the emulator shows once more: a string instruction that repeats has a last iteration there, which does
/// nothing.
fn without_repetitions(image: &Image<'_>, bias: u64, mut seen: Vec<Seen>) -> Vec<Seen> {
    let repeats = |pc: u64| {
        let address = pc.wrapping_add(bias);
        let segment = image.segments.iter().find(|it| it.address <= address && address < it.address + it.len);
        let code = segment.and_then(|it| {
            let from = it.file.start + usize::try_from(address - it.address).ok()?;
            image.bytes().get(from..it.file.end)
        });
        code.and_then(|code| Disassembly::one(image.cpu.abi, pc, code)).is_some_and(|it| it.repeats)
    };
    seen.dedup_by(|one, other| one == other && repeats(one.pc));
    seen
}

/// Builds of the corpus that don't execute the same instructions, and why.
const DIFFERENT: [(&str, &str); 3] = [
    (
        "protector",
        "reads the stack guard at the thread pointer, which the emulator sets up and Linux does not",
    ),
    ("generated_code", "registers a section by the bench's own system calls, which Linux does not have"),
    ("threads", "its threads wait for one another, in an order that the kernel decides"),
];

#[test]
fn the_host_executes_the_same_instructions_with_the_same_calls_as_the_emulator() {
    if skips() {
        return;
    }
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus/builds/gnu-2.47/amd64");
    let mut builds: Vec<PathBuf> = std::fs::read_dir(folder)
        .expect("a folder")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| {
            path.extension().is_some_and(|variant| ["O2", "O2-pie"].iter().any(|it| variant == *it))
        })
        .collect();
    builds.sort();
    let options = Options { budget: 5_000, ..Options::default() };
    let (mut compared, mut instructions, begun) = (0, 0, Instant::now());
    for path in builds {
        let name = path.file_stem().expect("a name").to_string_lossy().into_owned();
        if DIFFERENT.iter().any(|(program, _)| name == *program) {
            continue;
        }
        let program = Program::new(std::fs::read(&path).expect("a build"));
        let image = Image::parse(&program.bytes).expect("an image");
        let emulated = Record::new(&image, image.bias);
        let machine = Machine::new(&image, &options).expect("a machine");
        let expected = machine.run(&mut emulated.clone()).expect("an emulator");
        let mut native = None;
        let outcome = program.run(&options, |bias| {
            let record = native.insert(Record::new(&image, bias));
            Box::new(record.clone())
        });
        let outcome = outcome.expect("a run");
        let seen = native.expect("a record").seen.take();
        let seen = without_repetitions(&image, image.bias, seen);
        let emulated = without_repetitions(&image, image.bias, emulated.seen.take());
        let len = seen.len().min(emulated.len());
        let differs = (0..len).find(|at| seen[*at] != emulated[*at]);
        if let Some(at) = differs {
            panic!("{}: instruction {at}: {:x?}, not {:x?}", path.display(), seen[at], emulated[at]);
        }
        if let (End::Exit(status), End::Exit(found)) = (&expected.end, &outcome.end) {
            assert_eq!((seen.len(), found), (emulated.len(), status), "{}", path.display());
        }
        assert!(len > 10, "{}: {:?}", path.display(), outcome.end);
        compared += 1;
        instructions += len;
    }
    println!("{compared} builds, {instructions} instructions, {:.1} s", begun.elapsed().as_secs_f64());
    assert!(compared > 60, "{compared} builds");
}

/// `exit(STATUS)`.
const EXIT_7: [u8; 12] = [0xbf, 7, 0, 0, 0, 0xb8, 60, 0, 0, 0, 0x0f, 0x05];

#[test]
fn the_host_executes_what_the_emulator_lacks() {
    if skips() {
        return;
    }
    if !std::fs::read_to_string("/proc/cpuinfo").is_ok_and(|text| text.contains(" avx2 ")) {
        return eprintln!("skipped: the processor has no AVX2");
    }
    // vpaddd %ymm1,%ymm2,%ymm3
    let code = [&[0xc5, 0xed, 0xfe, 0xd9], &EXIT_7[..]].concat();
    let program = Program::of(&code);
    let image = Image::parse(&program.bytes).expect("an image");
    let machine = Machine::new(&image, &Options::default()).expect("a machine");
    let emulated = machine.run(&mut |_: &Moment<'_>| Flow::Continue).expect("an emulator");
    assert!(matches!(emulated.end, End::Broken(Broken::Exception { .. })), "{:?}", emulated.end);
    assert_eq!(program.end(&Options::default()), End::Exit(7));
}

#[test]
fn runs_end_as_in_the_emulator() {
    if skips() {
        return;
    }
    let options = Options { budget: 1_000, ..Options::default() };
    let end = |code: &[u8]| Program::of(code).end(&options);
    assert_eq!(end(&EXIT_7), End::Exit(7));
    // jmp to itself
    assert_eq!(end(&[0xeb, 0xfe]), End::SelfJump(CODE));
    // jmp to the jmp before
    assert_eq!(end(&[0x90, 0xeb, 0xfd]), End::Broken(Broken::Budget(1_000)));
    // mov 8,%rax: what is not mapped
    let fault = end(&[0x48, 0x8b, 4, 0x25, 8, 0, 0, 0]);
    assert_eq!(fault, End::Broken(Broken::Fault { access: "access", address: 8, pc: CODE }));
    // mov $0x8,%eax; jmp *%rax
    let fetch = end(&[0xb8, 8, 0, 0, 0, 0xff, 0xe0]);
    assert!(matches!(fetch, End::Broken(Broken::Fault { access: "fetch", address: 8, .. })), "{fetch:?}");
    let trap = end(&[0x90, 0x0f, 0x0b]);
    assert!(matches!(trap, End::Broken(Broken::Exception { pc, .. }) if pc == CODE + 1), "{trap:?}");
    let breakpoint = end(&[0x90, 0xcc, 0x90]);
    assert!(
        matches!(breakpoint, End::Broken(Broken::Exception { pc, .. }) if pc == CODE + 1),
        "{breakpoint:?}"
    );
    // getpid(); kill(%rax, SIGTERM)
    let killed = end(&[
        0xb8, 39, 0, 0, 0, 0x0f, 0x05, 0x89, 0xc7, 0xbe, 15, 0, 0, 0, 0xb8, 62, 0, 0, 0, 0x0f, 0x05, 0x90,
    ]);
    assert_eq!(killed, End::Killed(15));
    // lea PATH(%rip),%rdi; xor %esi,%esi; xor %edx,%edx; mov $59,%eax; syscall: execve
    let mut code = vec![0x48, 0x8d, 0x3d, 11, 0, 0, 0, 0x31, 0xf6, 0x31, 0xd2, 0xb8, 59, 0, 0, 0, 0x0f, 0x05];
    code.extend(b"/bin/true\0");
    assert_eq!(end(&code), End::Broken(Broken::Executed { pc: CODE + 16 }));
}

/// Stops a run after some time.
struct Until(Instant);

impl Observer for Until {
    fn instruction(&mut self, _: &Moment<'_>) -> Flow {
        Flow::Continue
    }

    fn is_stopped(&mut self) -> bool {
        Instant::now() >= self.0
    }
}

#[test]
fn a_program_that_waits_for_ever_is_stopped_and_does_not_survive() {
    if skips() {
        return;
    }
    // mov $34,%eax; syscall: pause
    let program = Program::of(&[0xb8, 34, 0, 0, 0, 0x0f, 0x05, 0xeb, 0xf7]);
    let until = Instant::now() + Duration::from_millis(200);
    let outcome = program.run(&Options::default(), |_| Box::new(Until(until))).expect("a run");
    assert_eq!((outcome.end, outcome.instructions), (End::Stopped, 2));
    assert!(until.elapsed() < Duration::from_secs(5));
    assert_eq!(children_of_this(&program.path), 0);
}

/// The number of processes that execute a file.
fn children_of_this(file: &Path) -> usize {
    let processes = std::fs::read_dir("/proc").expect("processes").flatten();
    let executables = processes.filter_map(|it| std::fs::read_link(it.path().join("exe")).ok());
    executables.filter(|executable| executable == file).count()
}

#[test]
fn programs_that_the_host_does_not_execute_are_refused() {
    if skips() {
        return;
    }
    let refused = |program: &Program| {
        let image = Image::parse(&program.bytes).expect("an image");
        survey(&program.path, &image, &Options::default(), &|| false).expect_err("refused")
    };
    let other = refused(&Program::new(executable(&AARCH64, &[0; 4])));
    assert!(matches!(other, NativeError::OtherAbi { .. }), "{other}");
    assert_eq!(other.to_string(), "it is for aarch64, and this host executes amd64");
    let program = Program::of(&EXIT_7);
    std::fs::set_permissions(&program.path, Permissions::from_mode(0o644)).expect("permissions");
    assert!(refused(&program).to_string().starts_with("it can't be started: Permission denied"));
    std::fs::remove_file(&program.path).expect("a file");
    assert!(refused(&program).to_string().starts_with("it can't be started: No such file"));
}
