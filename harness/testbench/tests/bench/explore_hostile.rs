//! `explore` on files that are malformed or made to be expensive, and workers that end.

use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use sframe_engine::Abi;
use sframe_judge::explore::{ExploreOptions, Roots, explore};
use sframe_judge::target::Target;

use crate::command::{bench, json, status};
use crate::doctor::build;
use crate::explore_objects::written;
use crate::isolate::children;
use crate::made_objects::{Code, object, row};

/// A function that would be executed for minutes, among others.
struct Endless {
    _folder: tempfile::TempDir,
    file: String,
}

impl Endless {
    fn new() -> Self {
        // clc; 1: lea -1(%rsp),%rsp; jae 1b; ret: loops that move SP are followed as the CPU goes.
        let code = [0xf8, 0x48, 0x8d, 0x64, 0x24, 0xff, 0x73, 0xf9, 0xc3];
        let endless = Code::new("endless", &code, vec![row(0, 8)]);
        let leaf = |name| Code::new(name, &[0x90, 0xc3], vec![row(0, 8)]);
        let folder = tempfile::tempdir().expect("a folder");
        let file = object(Abi::Amd64, &[leaf("before"), endless, leaf("after")]);
        let file = written(folder.path(), "endless.o", &file);
        Self { _folder: folder, file }
    }

    fn start(&self, more: &[&str]) -> Child {
        let mut command = Command::new(env!("CARGO_BIN_EXE_sframe-testbench"));
        command.args(["explore", "--json", &self.file, "--budget=4000000000", "--jobs=1"]).args(more);
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the bench")
    }
}

/// What became of the rows of three functions.
fn assert_only_one_failed(report: &Value) {
    let functions = report["functions"].as_array().expect("a list");
    let told: Vec<_> = functions.iter().map(|function| (&function["function"], &function["agree"])).collect();
    assert_eq!(
        told,
        [(&"before".into(), &1.into()), (&"endless".into(), &0.into()), (&"after".into(), &1.into())]
    );
    assert_eq!(functions[1]["undecided"], serde_json::json!({ "failed": 1 }));
}

#[test]
fn a_function_without_an_end_costs_only_itself() {
    let output = Endless::new().start(&["--timeout=1"]).wait_with_output().expect("the bench");
    assert_eq!(status(&output), 3, "{output:?}");
    assert_only_one_failed(&json(&output));
}

#[test]
fn a_worker_that_is_killed_costs_only_its_function() {
    let endless = Endless::new();
    let mut child = endless.start(&[]);
    let deadline = Instant::now() + Duration::from_secs(60);
    let mut killed = 0;
    while child.try_wait().expect("the bench").is_none() {
        assert!(Instant::now() < deadline, "{killed} workers were killed");
        // The others have been explored by then.
        let workers = children(child.id());
        std::thread::sleep(Duration::from_millis(400));
        for worker in workers {
            killed +=
                u32::from(kill_process(Pid::from_raw(worker).expect("a process"), Signal::KILL).is_ok());
        }
    }
    let output = child.wait_with_output().expect("the bench");
    assert_eq!(status(&output), 3, "{output:?}");
    assert!(killed >= 2, "{killed}");
    assert_only_one_failed(&json(&output));
}

#[test]
fn an_interrupted_exploration_reports_what_it_knows() {
    let endless = Endless::new();
    let child = endless.start(&[]);
    std::thread::sleep(Duration::from_millis(700));
    let begun = Instant::now();
    kill_process(Pid::from_child(&child), Signal::INT).expect("it is there");
    let output = child.wait_with_output().expect("the bench");
    assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
    let report = json(&output);
    assert_eq!((status(&output), &report["interrupted"]), (4, &true.into()), "{report}");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains(": interrupted\n"), "{said}");
    assert_eq!(report["summary"]["undecided"], serde_json::json!({ "no-entry": 3 }));
}

/// Loops whose states repeat themselves end at once.
#[test]
fn a_loop_is_followed_once() {
    // 1: jmp 1b.
    let code = Code::new("spins", &[0xeb, 0xfe], vec![row(0, 8)]);
    let folder = tempfile::tempdir().expect("a folder");
    let file = written(folder.path(), "spins.o", &object(Abi::Amd64, &[code]));
    let output = bench(&["explore", "--json", &file]);
    let report = json(&output);
    assert_eq!((status(&output), &report["summary"]["rows_agree"]), (0, &1.into()), "{report}");
    assert!(report["summary"]["instructions"].as_u64() < Some(10), "{report}");
}

#[test]
fn a_file_that_is_cut_is_explored_or_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let bytes = build("gnu-2.47/amd64/recursion.O2");
    let made = object(
        Abi::S390x,
        &[Code::new("leaf", &[0x07, 0xfe], vec![crate::made_objects::row_of_leaf(Abi::S390x, 0, 0)])],
    );
    let mut refused = 0;
    for bytes in [bytes, made] {
        for part in 0..20 {
            let file = written(folder.path(), "cut", &bytes[..bytes.len() * part / 20]);
            let output = bench(&["explore", &file]);
            let error = String::from_utf8_lossy(&output.stderr).into_owned();
            assert!(
                [0, 1, 2, 3].contains(&status(&output)) && !error.contains("panicked"),
                "{part}: {error}"
            );
            if status(&output) == 2 {
                assert_eq!(error.lines().count(), 1, "{part}: {error}");
                refused += 1;
            }
        }
    }
    assert!(refused > 20, "{refused}");
}

/// Whatever the section says, each row is counted once.
#[test]
fn any_section_gives_a_result() {
    let bytes = build("gnu-2.47/amd64/recursion.O2");
    let target = Target::open(&bytes).expect("a target");
    let sound = target.executable().subject.sframe.expect("a section").data;
    let (mut opened, mut wrong, mut seed) = (0, 0, 0x2545_f491_u32);
    for _ in 0..400 {
        let mut section = sound.to_vec();
        for _ in 0..2 {
            // A generator of xorshift's family.
            seed ^= seed << 13;
            seed ^= seed >> 17;
            seed ^= seed << 5;
            let at = seed as usize % section.len();
            section[at] ^= 1 << (seed >> 29);
        }
        let Ok(target) = target.with_section(0, &section) else { continue };
        let options = ExploreOptions { budget: 2_000 };
        let explored = explore(&target, &Roots::of(&target), &options).expect("a machine");
        let rows = &explored.rows;
        assert_eq!(rows.total, rows.checked + rows.undecided.values().sum::<u64>());
        assert_eq!(rows.checked, rows.agree + rows.partly + rows.wrong + rows.possible);
        opened += 1;
        wrong += u32::from(rows.wrong > 0);
    }
    assert!(opened > 100 && wrong > 30, "{opened}, {wrong}");
}

/// A library whose dynamic section gives a tag this value.
fn with_dynamic(tag: u64, value: u64) -> Vec<u8> {
    let path = crate::common::repository().join("corpus/builds/gnu-2.47/amd64/crossing.O2-dynamic.first.so");
    let mut bytes = std::fs::read(path).expect("a build");
    let file = object::File::parse(&*bytes).expect("ELF");
    let section = object::Object::section_by_name(&file, ".dynamic").expect("a section");
    let (start, len) = object::ObjectSection::file_range(&section).expect("bytes");
    let (start, len) = (usize::try_from(start).expect("small"), usize::try_from(len).expect("small"));
    let entries = (start..start + len).step_by(16);
    let at = entries.into_iter().find(|at| bytes[*at..at + 8] == tag.to_le_bytes()).expect("the tag");
    bytes[at + 8..at + 16].copy_from_slice(&value.to_le_bytes());
    bytes
}

/// What is wrong with the file is not the bench's failure, wherever it is met.
#[test]
fn a_malformed_dynamic_section_is_unusable_input() {
    const SYMTAB: u64 = 6;
    const RELA: u64 = 7;
    const RELASZ: u64 = 8;
    const JMPREL: u64 = 23;
    const PLTRELSZ: u64 = 2;
    let folder = tempfile::tempdir().expect("a folder");
    for tag in [SYMTAB, RELA, RELASZ, JMPREL, PLTRELSZ] {
        let path = folder.path().join("file.so");
        std::fs::write(&path, with_dynamic(tag, 0xdead_beef_0001)).expect("a file");
        let output = bench(&["explore", path.to_str().expect("a path")]);
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!((status(&output), text.lines().count()), (2, 1), "tag {tag}: {text}");
        assert!(text.contains("lies outside the file"), "{text}");
    }
}

/// Its blocks and instructions are those that are there: a set of all that it claims would not fit.
#[test]
fn a_function_is_no_longer_than_the_code() {
    let mut bytes = build("gnu-2.44/amd64/crossing.O2-dynamic.first.so");
    // The size of the FDE of the PLT: 128 MiB more.
    assert_eq!(std::mem::replace(&mut bytes[1875], 8), 0);
    let folder = tempfile::tempdir().expect("a folder");
    let file = written(folder.path(), "long", &bytes);
    let script = "ulimit -v 3000000; exec \"$0\" explore --json \"$1\"";
    let output = Command::new("sh")
        .args(["-c", script, env!("CARGO_BIN_EXE_sframe-testbench"), &file])
        .output()
        .expect("the bench");
    let report = json(&output);
    assert_eq!((status(&output), &report["summary"]["rows_agree"]), (1, &20.into()), "{report}");
}

/// A section of code that claims to end behind the last address has nothing at the first ones.
#[test]
fn code_at_the_end_of_all_addresses_is_no_defect() {
    let mut bytes = build("derived-v2-pcrel/aarch64_be/noreturn_call.O2-pie");
    for (at, byte) in [(2142, 0o203), (2145, 0o272), (2351, 1)] {
        assert_ne!(std::mem::replace(&mut bytes[at], byte), byte);
    }
    let folder = tempfile::tempdir().expect("a folder");
    let file = written(folder.path(), "end", &bytes);
    for command in ["check", "study"] {
        let output = bench(&[command, &file]);
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(status(&output) < 4 && !error.contains("defect"), "{command}: {error}");
        assert!(!output.stdout.is_empty(), "{command}");
    }
}
