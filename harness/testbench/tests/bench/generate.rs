//! `generate`: what it writes is the same again, and what it says of toolchains is noticed to be wrong.

use std::path::Path;

use serde_json::Value;
use sframe_engine::Abi;
use sframe_testbench::corpus::{Maker, Toolchain};
use sframe_testbench::faults::{Observed, build_of, differences, is_current};
use sframe_testbench::generate::assembly::{Judged, Plan, Program, Source, judge, write};
use sframe_testbench::spec::Faults;

use crate::command::bench;
use crate::common::repository;

pub(crate) const HOST: &str = "corpus/matrix/host.yaml";

/// This machine's own toolchain; `None`, with a reason, if it does not write SFrame.
pub(crate) fn host() -> Option<Maker> {
    let toolchain = Toolchain::load(&repository().join(HOST)).expect("a definition");
    let maker = Maker::open(toolchain, Path::new("none")).expect("a folder");
    let empty = [("empty.s".to_owned(), ".globl _start\n_start: jmp .\n".to_owned())];
    if !cfg!(target_arch = "x86_64") || maker.make(Abi::Amd64, &empty, &[]).is_err() {
        eprintln!("skipped: this machine has no gcc for amd64 whose assembler knows --gsframe");
        return None;
    }
    Some(maker)
}

fn judged(maker: &Maker, program: &Program, source: &str) -> Judged {
    let made = maker.make(Abi::Amd64, &[("generated.s".to_owned(), source.to_owned())], &[]);
    judge(program, &made.expect("a program").bytes).expect("a judgement")
}

#[test]
fn a_seed_gives_the_same_source_again_for_each_abi() {
    for abi in ["amd64", "aarch64", "aarch64_be", "s390x"] {
        let source = |seed| {
            let output = bench(&[
                "generate",
                "assembly",
                "--source",
                "--abi",
                abi,
                "--seed",
                seed,
                "--functions",
                "3",
            ]);
            assert_eq!(output.status.code(), Some(0), "{abi}");
            String::from_utf8(output.stdout).expect("text")
        };
        let first = source("5");
        assert_eq!(first, source("5"), "{abi}");
        assert_ne!(first, source("6"), "{abi}");
        assert_eq!(first.matches("_start:").count(), 1, "{abi}");
        for function in ["f0:", "f1:", "f2:"] {
            assert!(first.contains(function), "{abi}: {function}");
        }
    }
}

/// The assembler may be wrong, and may refuse a program; the bench may not contradict itself.
#[test]
fn construction_run_and_exploration_do_not_contradict_one_another() {
    if host().is_none() {
        return;
    }
    let path = repository().join(HOST).display().to_string();
    let output =
        bench(&["generate", "assembly", "--toolchain", &path, "--abi", "amd64", "--programs", "6", "--json"]);
    let report: Value = serde_json::from_slice(&output.stdout).expect("a report");
    let found = &report["host"]["amd64"];
    assert!(found["programs"].as_u64() > Some(0), "{report:#}");
    assert!(found["compared"].as_u64() > Some(100), "{report:#}");
    assert_eq!(found["contradictions"].as_array().map(Vec::len), Some(0), "{report:#}");
    assert!(matches!(output.status.code(), Some(0 | 1)), "{:?}", output.status);
}

/// Each of some directives is left out once: the CFI is wrong then, and it is said where.
#[test]
fn a_directive_that_is_missing_is_noticed() {
    let Some(maker) = host() else { return };
    // The first program whose CFI this assembler writes as it should.
    let program = (0..50)
        .map(|number| write(&Plan::random(Abi::Amd64, 1, number, 1)))
        .find(|program| {
            let is_plain = !program.source.contains(".cfi_escape") && !program.source.contains(".cold");
            is_plain && program.source.contains(".cfi_def_cfa_offset")
        })
        .expect("a program");
    let of_cfi = |judged: &Judged| judged.faults.iter().any(|fault| fault.source == Source::Cfi);
    assert!(!of_cfi(&judged(&maker, &program, &program.source)), "{}", program.source);
    let offsets: Vec<usize> = program
        .source
        .lines()
        .enumerate()
        .filter(|(_, line)| line.contains(".cfi_def_cfa_offset"))
        .map(|(number, _)| number)
        .collect();
    for left_out in offsets {
        let lines = program.source.lines().enumerate();
        let source: String =
            lines.filter(|(number, _)| *number != left_out).map(|(_, line)| format!("{line}\n")).collect();
        let judged = judged(&maker, &program, &source);
        assert!(of_cfi(&judged), "without line {left_out} of\n{}", program.source);
    }
}

/// What is written passes as a fault of the repository: it is read as one, and its build shows what it says.
#[test]
fn the_pages_of_causes_are_what_their_builds_show() {
    if host().is_none() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let pages = folder.path().to_str().expect("a path");
    let search = ["generate", "assembly", "--abi", "amd64", "--programs", "30", "--seed", "9"];
    let output = bench(&[&search[..], &["--toolchain", HOST, "--pages", pages, "--known"]].concat());
    assert!(matches!(output.status.code(), Some(0 | 1)), "{output:?}");
    let faults = Faults::load(&folder.path().join("specs")).expect("pages");
    assert!(faults.iter().next().is_some(), "{output:?}");
    let corpus = folder.path().join("corpus");
    for (name, fault, _) in faults.iter() {
        assert!(is_current(&corpus, name, &fault.example), "{name}");
        let build = build_of(&corpus, name, &fault.example);
        let observed = Observed::of(&build, &fault.example, fault.section).expect("a judgement");
        assert_eq!(differences(fault, &observed), Vec::<String>::new(), "{name}");
        // The corpus gets its program, too.
        let program = name.replace(['-', '.'], "_");
        let source = corpus.join(format!("programs/{program}.S"));
        assert!(std::fs::read_to_string(source).expect("a source").contains(".cfi_startproc"), "{name}");
    }
}
