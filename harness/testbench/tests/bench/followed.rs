//! Unwinders that follow what comes and goes while a program runs.

use std::collections::BTreeSet;
use std::process::Command;

use rstest::rstest;
use serde_json::Value;

use crate::command::{bench, json};
use crate::common::repository;
use crate::unwinder::{ENGINE, build, check, has_verdicts, shell, verdicts, verdicts_of};

/// The file is the requests that an unwinder has had, one per line.
fn requests(log: &std::path::Path) -> Vec<Value> {
    let text = std::fs::read_to_string(log).expect("the requests");
    text.lines().map(|line| serde_json::from_str(line).expect("a request")).collect()
}

/// Code that is written at run time has no section, then one that the program registers, then that of other code. Tables
/// that are missing and tables that are stale are found; an unwinder that can't follow is asked while there are none.
#[rstest]
#[case("all", &[])]
#[case("gone", &["truncated"])]
#[case("come", &["wrong-cfa"])]
#[case("nothing", &[])]
fn sections_that_come_and_go_are_followed(
    #[case] follow: &str,
    #[case] verdicts: &[&str],
    #[values("gnu-2.47/amd64", "gnu-2.40/aarch64", "gnu-2.44/aarch64_be", "gnu-2.47/s390x")] abi: &str,
) {
    let command = format!("{ENGINE} --follow {follow}");
    let (_, report) = check(&format!("{abi}/generated_code.O2"), &command, &["--no-explore"]);
    let findings = report["findings"].as_array().expect("a list");
    let found = verdicts_of(&report);
    assert!(verdicts.iter().all(|verdict| found.contains(verdict)), "{findings:#?}");
    assert_eq!(found.is_empty(), verdicts.is_empty(), "{findings:#?}");
    assert!(findings.iter().all(|found| found["blame"] == "consumer"), "{findings:#?}");
    let not_followed = report["unwinder"]["not_followed"].as_u64().expect("a number");
    assert_eq!(not_followed > 200, follow == "nothing", "{not_followed}");
}

/// A row of a section that the program registers is judged as any other, and quoted.
#[test]
fn a_wrong_row_of_a_registered_section_is_found() {
    let mut bytes =
        std::fs::read(repository().join(build("gnu-2.47/amd64/generated_code.O2"))).expect("a build");
    // Two rows of the same shape are in the file's own section, after those that are registered.
    let rows = [0, 3, 8, 1, 3, 16];
    let at = bytes.windows(rows.len()).position(|window| window == rows).expect("the rows");
    bytes[at + 5] = 24;
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("changed");
    std::fs::write(&file, bytes).expect("a file");
    let report = json(&bench(&["check", "--json", "--no-explore", &file.display().to_string()]));
    let findings = report["findings"].as_array().expect("a list");
    assert!(verdicts_of(&report).contains("wrong-cfa"), "{findings:#?}");
    let quotes = |found: &&Value| found.to_string().contains("row +0x1: CFA = SP+24");
    assert!(findings.iter().any(|found| quotes(&found)), "{findings:#?}");
}

/// The stops right before a change and right after it are asked, at the system call and the instruction behind it, and an
/// unwinder that does not follow is told nothing.
#[test]
fn stops_on_both_sides_of_a_change_are_asked() {
    let folder = tempfile::tempdir().expect("a folder");
    let log = folder.path().join("log");
    let id = "gnu-2.47/amd64/generated_code.O2";
    let command = shell(&format!("tee '{}' | {ENGINE}", log.display()));
    let (status, _) = check(id, &command, &["--no-explore", "--stops-per-case", "0"]);
    assert_eq!(status, 0);
    // The unwinder is started twice: `hello` alone comes first.
    let requests = requests(&log);
    let stops = |request: &Value| request["unwind"].as_array().cloned().unwrap_or_default();
    let pc = |stop: &Value| {
        u64::from_str_radix(stop["pc"].as_str().expect("an address").trim_start_matches("0x"), 16)
            .expect("an address")
    };
    let mut changes = Vec::new();
    for (index, request) in requests.iter().enumerate() {
        let is_map = !request["map"].is_null();
        if !is_map && request["unmap"].is_null() {
            continue;
        }
        let before = stops(&requests[index - 1]).last().map(&pc).expect("a stop");
        let after = stops(&requests[index + 1]).first().map(&pc).expect("a stop");
        // syscall
        assert_eq!(before + 2, after, "{before:#x} {after:#x}");
        changes.push(is_map);
    }
    assert_eq!(changes, [true, true, false, false].repeat(3));

    let command = shell(&format!("tee '{}' | {ENGINE} --follow nothing", log.display()));
    assert_eq!(check(id, &command, &["--no-explore"]).0, 0);
    assert!(
        self::requests(&log).iter().all(|request| request["map"].is_null() && request["unmap"].is_null())
    );
}

/// Its function calls the one that it gets.
const LIBRARY: &str = r#"
    unsigned scale(unsigned (*function)(unsigned), unsigned x)
    {
        unsigned y = function(x + 1);
        __asm__ volatile("" ::: "memory");
        return y * 3;
    }
"#;

/// The same with a large frame.
const OTHER_LIBRARY: &str = r#"
    unsigned scale(unsigned (*function)(unsigned), unsigned x)
    {
        unsigned frame[40];
        frame[x & 7] = 3;
        __asm__ volatile("" :: "r"(frame) : "memory");
        unsigned y = function(x + 1);
        __asm__ volatile("" ::: "memory");
        return y * frame[x & 7];
    }
"#;

/// `load` maps a library, at an address or anywhere, and calls its function; `unload` unmaps it.
const LOADER: &str = r#"
    static long call(long number, long a, long b, long c, long d, long e)
    {
        register long r10 __asm__("r10") = d;
        register long r8 __asm__("r8") = e;
        register long r9 __asm__("r9") = 0;
        long result;
        __asm__ volatile("syscall" : "=a"(result)
                         : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                         : "rcx", "r11", "memory");
        return result;
    }
    __attribute__((noinline)) unsigned back(unsigned x) { return x * 7; }
    static long base;
    __attribute__((noinline)) static unsigned load(const char *name, long at, unsigned x)
    {
        long file = call(2, (long)name, 0, 0, 0, 0);
        base = call(9, at, 4096, 5, at ? 0x12 : 2, file);
        unsigned (*function)(unsigned (*)(unsigned), unsigned) = (void *)(base + *(long *)(base + 24));
        unsigned y = function(back, x);
        call(3, file, 0, 0, 0, 0);
        return y;
    }
    static void unload(void) { call(11, base, 4096, 0, 0, 0); }
    static void finish(int failed) { call(231, failed, 0, 0, 0, 0); }
"#;

/// Makes a program that loads libraries. `None` without a compiler.
fn loading(program: &str) -> Option<tempfile::TempDir> {
    let linked = ["-fPIC", "-shared", "-Wl,-e,scale", "-Wl,-z,noseparate-code", "-Wl,-z,max-page-size=4096"];
    let program = format!("{LOADER}{program}");
    compiled(&[
        ("library.so", LIBRARY, &linked),
        ("other.so", OTHER_LIBRARY, &linked),
        ("program", &program, &AT_FIXED_ADDRESSES),
    ])
}

const AT_FIXED_ADDRESSES: [&str; 3] = ["-static", "-fno-pie", "-no-pie"];

/// Compiles files with a name, a text and flags into a folder. `None` without a compiler.
fn compiled(files: &[(&str, &str, &[&str])]) -> Option<tempfile::TempDir> {
    let folder = tempfile::tempdir().expect("a folder");
    let compile = |(name, text, flags): &(&str, &str, &[&str])| {
        let source = folder.path().join("source.c");
        std::fs::write(&source, text).expect("a file");
        let flags_of_all = [
            "-O1",
            "-m64",
            "-ffreestanding",
            "-fno-stack-protector",
            "-fasynchronous-unwind-tables",
            "-nostdlib",
        ];
        let mut compiler = Command::new("gcc");
        compiler.args(flags_of_all).args(*flags).arg(&source).arg("-o").arg(folder.path().join(name));
        compiler.output().is_ok_and(|output| output.status.success())
    };
    let has_all = files.iter().all(compile);
    if !has_all {
        eprintln!("not run: there is no GCC for amd64");
    }
    has_all.then_some(folder)
}

/// Checks it by its call frame information, with an unwinder that follows something. Returns the report, and how often the
/// unwinder was told of what has come and gone.
fn check_loading(folder: &tempfile::TempDir, follow: &str) -> (Value, [usize; 2]) {
    let log = folder.path().join("log");
    let command = shell(&format!("tee '{}' | {ENGINE} --follow {follow}", log.display()));
    let (root, file) = (folder.path().display().to_string(), folder.path().join("program"));
    let file = file.display().to_string();
    let arguments = ["check", "--json", "--no-explore", "--from", "eh-frame", "--root", &root, &file];
    let report = json(&bench(&[&arguments[..], &["--unwinder", &command]].concat()));
    let requests = requests(&log);
    let count = |kind: &str| requests.iter().filter(|request| !request[kind].is_null()).count();
    (report, [count("map"), count("unmap")])
}

/// A program loads a library, calls it, and unloads it again, twice: one that can't follow knows it from the beginning.
#[rstest]
#[case("all", &[], 2)]
#[case("gone", &["truncated"], 2)]
#[case("nothing", &[], 0)]
fn libraries_that_a_program_loads_are_followed(
    #[case] follow: &str,
    #[case] verdicts: &[&str],
    #[case] maps: usize,
) {
    const PROGRAM: &str = r#"
        void _start(void)
        {
            unsigned sum = load("/library.so", 0, 1);
            unload();
            sum += load("/library.so", 0, 2);
            unload();
            finish(sum != (2 * 7 + 3 * 7) * 3);
        }
    "#;
    let Some(folder) = loading(PROGRAM) else { return };
    let (report, told) = check_loading(&folder, follow);
    assert_eq!(verdicts_of(&report), BTreeSet::from_iter(verdicts.iter().copied()), "{report:#}");
    assert_eq!(report["unwinder"]["not_followed"], 0, "{}", report["unwinder"]);
    assert_eq!(told, [maps, maps]);
}

/// A library is unmapped, and another one mapped where it was, which one that follows must not unwind by the first one's table.
/// When the first one is back, it is asked as before.
#[rstest]
#[case("all", &[])]
#[case("come", &["wrong-cfa"])]
#[case("nothing", &[])]
fn a_library_in_the_place_of_one_that_has_gone_is_not_unwound_by_its_table(
    #[case] follow: &str,
    #[case] verdicts: &[&str],
) {
    const PROGRAM: &str = r#"
        void _start(void)
        {
            unsigned sum = load("/library.so", 0x10000000, 1);
            unload();
            sum += load("/other.so", 0x10000000, 2);
            unload();
            sum += load("/library.so", 0x10000000, 3);
            unload();
            finish(sum != (2 * 7 + 3 * 7 + 4 * 7) * 3);
        }
    "#;
    let Some(folder) = loading(PROGRAM) else { return };
    let (report, told) = check_loading(&folder, follow);
    has_verdicts(&report, verdicts);
    let unwinder = &report["unwinder"];
    let (stops, left) = (unwinder["stops"].as_u64(), unwinder["not_followed"].as_u64());
    // While the other one is there, a third of the run.
    assert_eq!(left > Some(0), follow == "nothing", "{unwinder}");
    assert!(stops > left.map(|left| left * 3 / 2), "{unwinder}");
    assert_eq!(told, if follow == "nothing" { [0, 0] } else { [2, 2] });
}

/// A library is mapped over another one, and that one over it again. While the other is there, nothing is known of its code:
/// one that follows is told that the table has gone, and must not use it; one that can't is not asked.
#[rstest]
#[case("all", &[], 2)]
#[case("come", &["wrong-cfa"], 2)]
#[case("nothing", &[], 0)]
fn a_library_that_takes_the_place_of_another_is_not_unwound_by_its_table(
    #[case] follow: &str,
    #[case] verdicts: &[&str],
    #[case] maps: usize,
) {
    const PROGRAM: &str = r#"
        void _start(void)
        {
            unsigned sum = load("/library.so", 0x10000000, 1);
            sum += load("/other.so", 0x10000000, 2);
            sum += load("/library.so", 0x10000000, 3);
            finish(sum != (2 * 7 + 3 * 7 + 4 * 7) * 3);
        }
    "#;
    let Some(folder) = loading(PROGRAM) else { return };
    let (report, told) = check_loading(&folder, follow);
    has_verdicts(&report, verdicts);
    let unwinder = &report["unwinder"];
    assert_eq!(unwinder["not_followed"].as_u64() > Some(0), follow == "nothing", "{unwinder}");
    assert!(unwinder["stops"].as_u64() > Some(0), "{unwinder}");
    assert_eq!(told, [maps, maps.min(1)]);
    // Nor does the engine of the bench take one for the other.
    let file = folder.path().join("program").display().to_string();
    let root = folder.path().display().to_string();
    let arguments = ["check", "--json", "--no-explore", "--from", "eh-frame", "--root", &root, &file];
    let report = json(&bench(&arguments));
    assert_eq!(report["findings"], serde_json::json!([]), "{report:#}");
    assert!(report["summary"]["nothing_compared"].as_u64() > Some(0), "{}", report["summary"]);
}

/// What a program executes takes its place: `become` executes a program, unless that was executed by another one.
const EXECUTING: &str = r#"
    __asm__(".globl _start\n_start: .cfi_startproc\n .cfi_undefined rip\n mov %rsp, %rdi\n call begin\n hlt\n .cfi_endproc");
    __attribute__((noinline)) static void become(const char *name, const long *stack)
    {
        const char *const arguments[] = {name, "again", 0};
        if (stack[0] == 1)
            finish(call(59, (long)name, (long)arguments, (long)(arguments + 2), 0, 0) != 0);
        finish(0);
    }
    __attribute__((noinline)) static unsigned deep(unsigned x)
    {
        unsigned y = back(x + 1);
        WRONG
        return y + 1;
    }
    void begin(const long *stack)
    {
        unsigned sum = load("/library.so", 0, 1);
        if (deep(3) != 29 || sum != 2 * 7 * 3)
            finish(1);
        become("NEXT", stack);
    }
"#;

/// A program that executes another one, or itself, is followed: the code of both is judged, an unwinder that follows gets
/// what goes and what comes, and must not do without, and one that can't follow knows all of them. Where a program is linked
/// to the addresses of the one before, nobody is asked any more.
#[rstest]
#[case::all("/next", &["-static-pie", "-fPIE"], "all", &[], [3, 2])]
#[case::stale("/next", &["-static-pie", "-fPIE"], "come", &[], [3, 2])]
#[case::missing("/next", &["-static-pie", "-fPIE"], "gone", &["truncated", "wrong-end"], [3, 2])]
#[case::without("/next", &["-static-pie", "-fPIE"], "nothing", &[], [0, 0])]
#[case::itself("/program", &AT_FIXED_ADDRESSES, "all", &[], [3, 2])]
#[case::itself_without("/program", &AT_FIXED_ADDRESSES, "nothing", &[], [0, 0])]
#[case::same_addresses("/next", &AT_FIXED_ADDRESSES, "all", &[], [1, 2])]
fn a_program_that_takes_the_place_of_another_is_followed(
    #[case] executed: &str,
    #[case] flags: &[&str],
    #[case] follow: &str,
    #[case] verdicts: &[&str],
    #[case] told: [usize; 2],
) {
    let source = |name: &str, wrong: &str| {
        let executing = EXECUTING.replace("NEXT", executed).replace("WRONG", wrong);
        // Files that are equal are one program.
        format!("{LOADER}{executing} const char name[] = \"{name}\";")
    };
    let shared = ["-fPIC", "-shared", "-Wl,-e,scale", "-Wl,-z,noseparate-code", "-Wl,-z,max-page-size=4096"];
    let make = |wrong: &str| {
        compiled(&[
            ("library.so", LIBRARY, &shared),
            ("next", &source("next", wrong), flags),
            (
                "program",
                &source("program", if executed == "/program" { wrong } else { "" }),
                &AT_FIXED_ADDRESSES,
            ),
        ])
    };
    let Some(folder) = make("") else { return };
    let (report, count) = check_loading(&folder, follow);
    has_verdicts(&report, verdicts);
    let summary = &report["summary"];
    assert_eq!(report["unwinder"]["not_followed"], 0, "{}", report["unwinder"]);
    let is_last = flags == AT_FIXED_ADDRESSES && executed == "/next";
    assert_eq!(summary["unobserved"].as_u64() > Some(0), is_last, "{summary}");
    // The library and the program before go, and the one after comes with another library.
    assert_eq!(count, told, "{report:#}");

    // What is wrong in the second program is found there.
    let Some(folder) = make(
        r#"__asm__ volatile(".cfi_adjust_cfa_offset 8\n nop\n .cfi_adjust_cfa_offset -8" ::: "memory");"#,
    ) else {
        return;
    };
    let (root, file) = (folder.path().display().to_string(), folder.path().join("program"));
    let file = file.display().to_string();
    let arguments = ["check", "--json", "--no-explore", "--from", "eh-frame", "--root", &root, &file];
    let report = json(&bench(&arguments));
    let image = if executed == "/next" { Value::from("next") } else { Value::Null };
    let findings = report["findings"].as_array().expect("a list");
    let found = findings.iter().filter(|found| {
        (&found["image"], &found["function"], &found["verdict"])
            == (&image, &"deep".into(), &"wrong-cfa".into())
    });
    assert_eq!((found.count(), findings.len()), if is_last { (0, 0) } else { (1, 1) }, "{report:#}");
}

/// An unwinder that says that it can't follow a section is asked nothing while that is there. One that fails when it is
/// told is restarted with what there is.
#[test]
fn what_can_not_be_followed_is_not_asked_about() {
    let id = "gnu-2.47/amd64/generated_code.O2";
    let refusing = shell(&format!(r#"sed -u '/"map"/s|/registered[0-9]*"|/gone"|' | {ENGINE}"#));
    let (status, report) = check(id, &refusing, &["--no-explore"]);
    assert_eq!((status, verdicts(&report).len()), (0, 0), "{report:#}");
    assert!(report["unwinder"]["not_followed"].as_u64() > Some(200), "{}", report["unwinder"]);

    let dying = shell(&format!(r#"sed -u '/"map"/q' | grep --line-buffered -v '"map"' | {ENGINE}"#));
    let (status, report) = check(id, &dying, &["--no-explore"]);
    assert_eq!((status, verdicts(&report)), (1, vec!["crashed"]), "{report:#}");
    let unwinder = &report["unwinder"];
    assert_eq!((&unwinder["restarts"], &unwinder["not_followed"]), (&6.into(), &0.into()), "{unwinder}");
    let message = report["findings"][0]["message"].as_str().expect("a message");
    assert!(message.contains("where `map` was to be answered"), "{message}");
}
