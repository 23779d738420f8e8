//! `check --native`: programs on the host's own processor, judged as in the emulator.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::command::{bench, json, program, status};
use crate::common::repository;

/// Says why a test of programs for amd64 is skipped here, if it is.
fn skips() -> bool {
    let elsewhere = !cfg!(target_arch = "x86_64");
    if elsewhere {
        eprintln!("skipped: the host does not execute programs for amd64");
    }
    elsewhere
}

fn build(name: &str) -> PathBuf {
    repository().join("corpus/builds/gnu-2.47").join(name)
}

/// Copies a build of the corpus to where it can be executed.
fn executable(name: &str) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("program");
    std::fs::copy(build(name), &path).expect("a build");
    std::fs::set_permissions(&path, Permissions::from_mode(0o755)).expect("permissions");
    (folder, path)
}

/// Compiles a program in C. `None` without a compiler.
fn compiled(source: &str, options: &[&str]) -> Option<(TempDir, PathBuf)> {
    let compiler = program(&["gcc", "cc"])?;
    let folder = tempfile::tempdir().expect("a folder");
    let (file, path) = (folder.path().join("program.c"), folder.path().join("program"));
    std::fs::write(&file, source).expect("a file");
    let status = Command::new(compiler).args(options).arg("-o").arg(&path).arg(&file).status();
    assert!(status.expect("a compiler").success());
    Some((folder, path))
}

fn check(path: &Path, options: &[&str]) -> std::process::Output {
    bench(&[&["check", path.to_str().expect("text")], options].concat())
}

#[test]
fn wrong_rows_are_found_as_in_the_emulator() {
    if skips() {
        return;
    }
    for name in ["amd64/realign.O2", "amd64/undefined_ra.O2", "amd64/overwritten.O2"] {
        let (_folder, path) = executable(name);
        let native = check(&path, &["--native", "--no-explore", "--json"]);
        let emulated = check(&build(name), &["--no-explore", "--json"]);
        assert_eq!(status(&native), status(&emulated), "{name}");
        let (native, emulated) = (json(&native), json(&emulated));
        let found = |report: &Value| {
            let findings = report["findings"].as_array().expect("findings").iter();
            let known = |finding: &Value| {
                ["verdict", "function", "row", "hits", "blame"].map(|key| finding[key].clone())
            };
            findings.map(known).collect::<Vec<_>>()
        };
        assert_eq!(found(&native), found(&emulated), "{name}");
        assert_eq!(native["summary"]["instructions"], emulated["summary"]["instructions"], "{name}");
        assert_eq!(native["native"]["runs_differ"], json!(false), "{name}");
        assert_eq!(emulated["native"], Value::Null, "{name}");
    }
}

/// Signals, threads, processes, and a library that it loads while it runs.
const USES_THE_SYSTEM: &str = r#"
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
static volatile int signals;
static void handler(int number) { signals += number; }
static void *work(void *from) { long sum = (long)from; for (int i = 0; i < 200; i++) sum += i; return (void *)sum; }
int main(void) {
    pthread_t threads[3];
    signal(SIGUSR1, handler);
    raise(SIGUSR1);
    for (long i = 0; i < 3; i++) pthread_create(&threads[i], 0, work, (void *)i);
    for (int i = 0; i < 3; i++) pthread_join(threads[i], 0);
    pid_t child = fork();
    if (!child) _exit(3);
    int status;
    waitpid(child, &status, 0);
    if (system("true") != 0) return 9;
    void *library = dlopen("libm.so.6", RTLD_NOW);
    double (*cosine)(double) = library ? (double (*)(double))dlsym(library, "cos") : 0;
    printf("%d %d %.0f\n", signals, WEXITSTATUS(status), cosine ? cosine(0) : 0);
    return 0;
}
"#;

#[test]
fn a_program_of_this_system_runs_with_its_threads_signals_processes_and_libraries() {
    if skips() {
        return;
    }
    let Some((_folder, path)) = compiled(USES_THE_SYSTEM, &["-O1", "-pthread"]) else {
        return eprintln!("skipped: there is no compiler");
    };
    let expected = path.with_extension("expected");
    std::fs::write(&expected, "10 3 1\n").expect("a file");
    let expected = expected.to_str().expect("text");
    let options = ["--native", "--from", "eh-frame", "--no-explore", "--expect-stdout", expected, "--json"];
    let report = json(&check(&path, &options));
    assert_eq!((&report["broken"], &report["exit_status"]), (&Value::Null, &json!(0)));
    assert_eq!(report["findings"], json!([]));
    let libraries = report["libraries"].as_array().expect("libraries");
    let has = |name: &str| libraries.iter().any(|it| it.as_str().is_some_and(|it| it.starts_with(name)));
    assert!(["libc.so", "libm.so", "ld-linux"].into_iter().all(has), "{libraries:?}");
    assert!(report["summary"]["comparisons"].as_u64() > Some(10_000), "{}", report["summary"]);
    let flow = &report["summary"]["control_flow"];
    assert_eq!((&flow["signals"], &flow["signal-returns"]), (&json!(1), &json!(1)), "{flow}");
}

/// Handlers on a stack of their own, jumps out of them, and signals that come at any time and interrupt system calls: no
/// two runs execute the same instructions.
const IS_INTERRUPTED: &str = r#"
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>
static sigjmp_buf back;
static volatile int ticks, faults, traps;
static char stack[65536];
static void on_fault(int number) { faults++; siglongjmp(back, number); }
static void on_tick(int number) { ticks += number > 0; }
static void on_trap(int number) { traps += number > 0; }
int main(void) {
    stack_t other = {.ss_sp = stack, .ss_size = sizeof stack};
    struct sigaction action;
    struct itimerval often = {{0, 100000}, {0, 100000}};
    int ends[2], interrupted, restarted;
    char byte;
    memset(&action, 0, sizeof action);
    sigaltstack(&other, 0);
    action.sa_handler = on_fault;
    action.sa_flags = SA_ONSTACK;
    sigaction(SIGSEGV, &action, 0);
    for (int i = 0; i < 3; i++)
        if (!sigsetjmp(back, 1)) *(volatile int *)8 = 1;
    signal(SIGTRAP, on_trap);
    __asm__ volatile("int3");
    action.sa_handler = on_tick;
    action.sa_flags = 0;
    sigaction(SIGALRM, &action, 0);
    setitimer(ITIMER_REAL, &often, 0);
    while (ticks < 1) {}
    if (pipe(ends)) return 9;
    interrupted = read(ends[0], &byte, 1) < 0 && errno == EINTR;
    action.sa_flags = SA_RESTART;
    sigaction(SIGALRM, &action, 0);
    if (!fork()) {
        usleep(350000);
        return write(ends[1], "x", 1) != 1;
    }
    restarted = read(ends[0], &byte, 1) == 1;
    printf("%d %d %d %d\n", faults, traps, interrupted, restarted);
    return 0;
}
"#;

#[test]
fn a_program_that_is_interrupted_at_any_time_is_followed_and_its_runs_differ() {
    if skips() {
        return;
    }
    let Some((_folder, path)) = compiled(IS_INTERRUPTED, &["-O1"]) else {
        return eprintln!("skipped: there is no compiler");
    };
    let expected = path.with_extension("expected");
    std::fs::write(&expected, "3 1 1 1\n").expect("a file");
    let expected = expected.to_str().expect("text");
    let options = ["--native", "--from", "eh-frame", "--no-explore", "--expect-stdout", expected, "--json"];
    let report = json(&check(&path, &options));
    assert_eq!((&report["broken"], &report["exit_status"]), (&Value::Null, &json!(0)));
    assert_eq!((&report["findings"], &report["native"]["runs_differ"]), (&json!([]), &json!(true)));
    let flow = &report["summary"]["control_flow"];
    assert_eq!((&flow["alternate-stacks"], &flow["nonlocal-exits"]), (&json!(3), &json!(3)), "{flow}");
}

#[test]
fn the_report_says_what_executed_and_that_runs_may_differ() {
    if skips() {
        return;
    }
    let (_folder, path) = executable("amd64/leaf.O2");
    let output = check(&path, &["--native"]);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let line = text.lines().find(|line| line.starts_with("native "));
    let line = line.expect("a line on the processor");
    assert!(line.contains("executed by this host: "), "{line}");
    assert!(line.ends_with("unlike in the emulator, another run may execute other instructions"), "{line}");
    assert_eq!(status(&output), 0, "{text}");
}

#[test]
fn options_of_the_emulator_are_refused_with_native() {
    for option in ["--root=/", "--library-path=/", "--trust-runpath", "--pattern=second", "--unwinder=x"] {
        let output = check(&build("amd64/leaf.O2"), &["--native", option]);
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(status(&output), 2, "{option}: {error}");
        assert!(error.contains("cannot be used with"), "{option}: {error}");
    }
}

#[test]
fn what_the_host_does_not_execute_is_one_error() {
    if skips() {
        return;
    }
    let (_folder, other) = executable("s390x/leaf.O2");
    let (_folder, plain) = executable("amd64/leaf.O2");
    std::fs::set_permissions(&plain, Permissions::from_mode(0o644)).expect("permissions");
    for (path, expected) in [
        (other, "--native: it is for s390x, and this host executes amd64\n"),
        (plain, "--native: it can't be started: Permission denied (os error 13)\n"),
        (PathBuf::from("/nowhere/program"), "No such file or directory (os error 2)\n"),
    ] {
        let output = check(&path, &["--native"]);
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!((status(&output), error.lines().count()), (2, 1), "{error}");
        assert!(error.starts_with("error: ") && error.ends_with(expected), "{error}");
    }
}

#[test]
fn a_program_that_waits_ends_with_its_time() {
    if skips() {
        return;
    }
    let source = "#include <unistd.h>\nint main(void) { pause(); return 0; }\n";
    let Some((_folder, path)) = compiled(source, &["-static"]) else {
        return eprintln!("skipped: there is no compiler");
    };
    let begun = Instant::now();
    let output = check(&path, &["--native", "--no-explore", "--from=eh-frame", "--timeout=2"]);
    assert!(begun.elapsed() < Duration::from_secs(30));
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(status(&output), 4, "{text}");
    assert!(text.contains("the time limit (--timeout) is over"), "{text}");
}

/// A process that has left the program's group and session, and whose parent is gone, does not survive it.
#[test]
fn nothing_of_a_program_survives_it() {
    if skips() {
        return;
    }
    let source = r#"
#include <stdio.h>
#include <unistd.h>
int main(void)
{
    int ends[2];
    if (pipe(ends)) return 1;
    if (fork() == 0) {
        setsid();
        if (fork() == 0) {
            int own = getpid();
            write(ends[1], &own, sizeof own);
            for (;;) pause();
        }
        _exit(0);
    }
    int other = 0;
    read(ends[0], &other, sizeof other);
    printf("process %d\n", other);
    return 3;
}
"#;
    let Some((_folder, path)) = compiled(source, &["-static"]) else {
        return eprintln!("skipped: there is no compiler");
    };
    let output = check(&path, &["--native", "--no-explore", "--from=eh-frame"]);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let process = text.split("process ").nth(1).and_then(|rest| rest.split_whitespace().next());
    let process = process.unwrap_or_else(|| panic!("{text}"));
    assert!(process.parse::<u32>().is_ok_and(|process| process > 0), "{text}");
    assert!(!Path::new("/proc").join(process).exists(), "{text}");
}
