//! Programs reach nothing of the host, whatever system call they make. The
//! only test of its process: no other one may change what it looks at.

#[path = "common/executable.rs"]
mod executable;

use std::collections::BTreeMap;
use std::io::Write as _;
use std::os::fd::AsRawFd as _;
use std::path::Path;
use std::process::Command;

use executable::{CODE, executable};
use sframe_engine::Abi;
use sframe_machine::{
    AARCH64, AARCH64_BE, AMD64, Broken, Cpu, End, Image, Machine, Options, Outcome, S390X, System,
};

/// The output of a program. It must not leave this process.
const MARK: &str = "written by a program under test";
/// Set in the process that runs programs.
const INNER: &str = "SYSTEM_CALLS_OF_PROGRAMS";

/// `write`.
fn write_call(cpu: &Cpu) -> u32 {
    match cpu.abi {
        Abi::Amd64 => 1,
        Abi::S390x => 4,
        Abi::Aarch64 | Abi::Aarch64Be => 64,
    }
}

/// The numbers of all system calls, and some more.
fn numbers() -> impl Iterator<Item = u32> {
    (0..480).chain([0xffff, 0x4000_0001, u32::MAX])
}

/// A program that makes a system call with six arguments, and exits with status 7, followed by
/// a text.
fn program(cpu: &Cpu, number: u32, arguments: [u64; 6], text: &[u8]) -> Vec<u8> {
    let mut code = Vec::new();
    match cpu.abi {
        Abi::Amd64 => {
            let registers =
                [[0x48, 0xbf], [0x48, 0xbe], [0x48, 0xba], [0x49, 0xba], [0x49, 0xb8], [0x49, 0xb9]];
            for (register, argument) in registers.into_iter().zip(arguments) {
                code.extend(register); // movabs
                code.extend(argument.to_le_bytes());
            }
            code.push(0xb8); // mov to eax
            code.extend(number.to_le_bytes());
            code.extend([0x0f, 0x05, 0xbf, 7, 0, 0, 0, 0xb8, 60, 0, 0, 0, 0x0f, 0x05]);
        }
        Abi::S390x => {
            for (register, argument) in (2..).zip(arguments) {
                code.extend([0xc0, (register << 4) | 0xf]); // llilf
                code.extend(u32::try_from(argument).expect("four bytes").to_be_bytes());
            }
            code.extend([0xc0, 0x1f]);
            code.extend(number.to_be_bytes());
            code.extend([0x0a, 0, 0xa7, 0x29, 0, 7, 0x0a, 1]);
        }
        Abi::Aarch64 | Abi::Aarch64Be => {
            let mut set = |register: u32, value: u64| {
                for half in 0..2 {
                    let operation: u32 = if half == 0 { 0xd280_0000 } else { 0xf280_0000 }; // movz, movk
                    let part = u32::try_from((value >> (16 * half)) & 0xffff).expect("two bytes");
                    code.extend((operation | half << 21 | part << 5 | register).to_le_bytes());
                }
            };
            for (register, argument) in (0..).zip(arguments) {
                set(register, argument);
            }
            set(8, number.into());
            for word in [0xd400_0001_u32, 0xd280_0ba8, 0xd280_00e0, 0xd400_0001] {
                code.extend(word.to_le_bytes());
            }
        }
    }
    code.resize(TEXT_OFFSET, 0);
    code.extend(text);
    code.push(0);
    executable(cpu, &code)
}

/// Where the text is, from the start of the code.
const TEXT_OFFSET: usize = 128;
const TEXT: u64 = CODE + TEXT_OFFSET as u64;

fn run(cpu: &Cpu, number: u32, arguments: [u64; 6], text: &[u8], root: Option<&Path>) -> Outcome {
    let bytes = program(cpu, number, arguments, text);
    let image = Image::parse(&bytes).expect("a loadable image");
    let mut each = |_: &sframe_machine::Moment<'_>| sframe_machine::Flow::Continue;
    let system = System { root: root.map(Path::to_owned), ..System::default() };
    let options = Options { system, budget: 10_000, ..Options::default() };
    Machine::new(&image, &options).expect("a machine").run(&mut each).expect("an emulator")
}

/// What of this process and its files a system call could have changed.
fn host(folder: &Path) -> BTreeMap<String, String> {
    let mut state = BTreeMap::new();
    for entry in std::fs::read_dir("/proc/self/fd").expect("/proc") {
        let path = entry.expect("an entry").path();
        // That of the folder that is being read is gone.
        if let Ok(target) = std::fs::read_link(&path) {
            state.insert(path.display().to_string(), target.display().to_string());
        }
    }
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        let content = std::fs::read(&path).expect("a file");
        let changed = path.metadata().expect("a file");
        state.insert(path.display().to_string(), format!("{:?} {content:?}", changed.permissions()));
    }
    let maps = std::fs::read_to_string("/proc/self/maps").expect("/proc");
    state.insert("mapped".to_owned(), maps.contains(folder.to_str().expect("a name")).to_string());
    // Of the thread that makes the calls: signals of the main thread are blocked while it starts this one.
    let status = std::fs::read_to_string("/proc/thread-self/status").expect("/proc");
    for key in [
        "Umask",
        "TracerPid",
        "Uid",
        "Groups",
        "Threads",
        "SigBlk",
        "SigIgn",
        "SigCgt",
        "NoNewPrivs",
        "Seccomp",
    ] {
        let line = status.lines().find(|line| line.starts_with(&format!("{key}:"))).unwrap_or_default();
        state.insert(key.to_owned(), line.to_owned());
    }
    let task = format!("/proc/self/task/{}/children", std::process::id());
    state.insert("children".to_owned(), std::fs::read_to_string(task).unwrap_or_default());
    state.insert("folder".to_owned(), std::env::current_dir().expect("a folder").display().to_string());
    state.insert("limits".to_owned(), std::fs::read_to_string("/proc/self/limits").expect("/proc"));
    state.insert("name".to_owned(), std::fs::read_to_string("/proc/self/comm").expect("/proc"));
    state
}

fn make_every_system_call() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut file = std::fs::File::create(folder.path().join("file")).expect("a file");
    file.write_all(b"what it has").expect("a file");
    let descriptor = u64::try_from(file.as_raw_fd()).expect("a descriptor");
    let path = folder.path().join("new");
    let path = path.to_str().expect("a name").as_bytes();
    let here = u64::from(std::process::id());
    let parent = u64::from(std::os::unix::process::parent_id());
    // Unicorn's own threads and files are there from the first run on.
    run(&AMD64, 39, [0; 6], b"", None);
    let before = host(folder.path());

    let shapes = [
        [TEXT, 0o102, 0o600, TEXT, TEXT, TEXT],  // open, mkdir, execve
        [0xffff_ff9c, TEXT, 0o102, 0o600, 0, 0], // openat, unlinkat
        [here, 9, 9, 0, 0, 0],                   // kill, tkill, tgkill
        [parent, parent, 15, 0, 0, 0],
        [16, here, TEXT, TEXT, 0, 0],      // ptrace, prctl, process_vm_writev
        [0, 4096, 3, 1, descriptor, 0],    // mmap
        [descriptor, TEXT, 8, TEXT, 8, 0], // write, pwrite64, ioctl, ftruncate
        [2, 1, 0, TEXT, 16, 0],            // socket, bind
    ];
    for (index, cpu) in [&AMD64, &AARCH64, &AARCH64_BE, &S390X].into_iter().enumerate() {
        for number in numbers() {
            // Each call with another one on each CPU, and what changes files with two.
            let turn = usize::try_from(number).expect("a number") + index * 3;
            for arguments in [shapes[turn % shapes.len()], shapes[(number % 2) as usize]] {
                let outcome = run(cpu, number, arguments, path, Some(folder.path()));
                let failed = matches!(outcome.end, End::Broken(Broken::Harness(_) | Broken::Unicorn(_)));
                assert!(!failed, "{} {number}: {:?}", cpu.abi, outcome.end);
                assert!(!outcome.output.starts_with(MARK.as_bytes()), "{} {number}", cpu.abi);
            }
        }
        assert_eq!(host(folder.path()), before, "{}", cpu.abi);

        let write = write_call(cpu);
        for stream in [1, 2] {
            let text = [stream, TEXT, MARK.len() as u64, 0, 0, 0];
            let outcome = run(cpu, write, text, MARK.as_bytes(), None);
            assert_eq!(
                (outcome.end, outcome.output),
                (End::Exit(7), MARK.as_bytes().to_vec()),
                "{}",
                cpu.abi
            );
        }
        for stream in [0, 3, 4, 5, descriptor, 0xffff_ffff] {
            let outcome = run(cpu, write, [stream, TEXT, 8, 0, 0, 0], MARK.as_bytes(), None);
            assert_eq!((outcome.end, outcome.output.len()), (End::Exit(7), 0), "{}", cpu.abi);
        }
        assert_eq!(host(folder.path()), before, "{}", cpu.abi);
    }
}

#[test]
fn calls_that_the_machine_lacks_are_refused_or_named() {
    let text = |number| run(&AMD64, number, [0; 6], b"", None);
    // io_uring_setup, of which programs know that a kernel may lack it.
    let optional = text(425);
    assert_eq!(optional.end, End::Exit(7));
    assert_eq!(optional.system_calls.refused.get("io_uring_setup"), Some(&1));
    let unknown = text(4000);
    assert_eq!((unknown.end, unknown.system_calls.refused.get("4000")), (End::Exit(7), Some(&1)));
    let End::Broken(broken) = text(68).end else { panic!("msgget") };
    assert!(broken.to_string().contains("msgget (68)"), "{broken}");
}

#[test]
fn no_system_call_reaches_the_host() {
    if std::env::var_os(INNER).is_some() {
        return make_every_system_call();
    }
    // In a separate process, whose output is inspected.
    let inner = Command::new(std::env::current_exe().expect("this test"))
        .args(["--nocapture", "--test-threads=1", "no_system_call_reaches_the_host"])
        .env(INNER, "1")
        .output()
        .expect("this test");
    let text = [inner.stdout, inner.stderr].concat();
    let text = String::from_utf8_lossy(&text);
    assert!(inner.status.success(), "{}: {text}", inner.status);
    assert!(text.contains("1 passed") && !text.contains(MARK), "{text}");
}
