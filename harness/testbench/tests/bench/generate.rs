//! `generate`: what it writes is the same again, and what it says of toolchains is noticed to be wrong.

use std::path::Path;

use serde_json::Value;
use sframe_engine::Abi;
use sframe_testbench::corpus::{Maker, Toolchain};
use sframe_testbench::faults::{Observed, build_of, differences, is_current};
use sframe_testbench::generate::assembly::{Fault, Judged, Plan, Program, Source, judge, write};
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

/// Makes the first program of a seed whose CFI this assembler writes as it should, among those that have a
/// directive.
fn with(maker: &Maker, seed: u64, is_wanted: impl Fn(&Program) -> bool) -> Program {
    let programs = (0..3000).map(|number| write(&Plan::random(Abi::Amd64, seed, number, 1)));
    let program = programs.filter(|program| is_wanted(program)).find(|program| {
        let is_right = |judged: &Judged| !judged.faults.iter().any(|fault| fault.source != Source::Sframe);
        is_right(&judged(maker, program, &program.source))
    });
    program.expect("a program")
}

fn uses(program: &Program, form: &str) -> bool {
    program.forms.keys().any(|used| used.starts_with(form))
}

/// What is wrong with what is left without each line of a program with some text.
fn without(maker: &Maker, program: &Program, text: &str) -> Vec<Judged> {
    let lines = program.source.lines().enumerate();
    let left_out: Vec<usize> = lines.filter(|(_, line)| line.contains(text)).map(|(line, _)| line).collect();
    assert!(!left_out.is_empty(), "{text} in\n{}", program.source);
    let without = |left_out: &usize| {
        let lines = program.source.lines().enumerate();
        let source: String =
            lines.filter(|(number, _)| number != left_out).map(|(_, line)| format!("{line}\n")).collect();
        judged(maker, program, &source)
    };
    left_out.iter().map(without).collect()
}

/// Each of some directives is left out once, and an operation of an expression: the CFI is wrong then.
#[test]
fn a_directive_that_is_missing_is_noticed() {
    let Some(maker) = host() else { return };
    let is_plain =
        |program: &Program| !program.source.contains(".cfi_escape") && !program.source.contains(".cold");
    let load = ".cfi_escape DW_CFA_def_cfa_expression DW_OP_breg DW_OP_deref";
    let program = with(&maker, 1, |program| is_plain(program) && uses(program, ".cfi_def_cfa_offset"));
    let by_offset = without(&maker, &program, ".cfi_def_cfa_offset");
    let program = with(&maker, 1, |program| {
        let outermost = program.source.contains(".cfi_undefined 11");
        program.source.contains(".cfi_return_column 11") && !outermost
    });
    let by_column = without(&maker, &program, ".cfi_return_column 11");
    let program = with(&maker, 1, |program| uses(program, load) && !program.source.contains(".cold"));
    let loads = program.sites.iter().flat_map(|site| &site.declared).find(|used| used.form == load);
    let loads = &loads.expect("a directive").text;
    // The address of the word, and not what is there: DW_OP_nop in place of DW_OP_deref.
    let address = loads.strip_suffix(", 0x6").expect("DW_OP_deref").to_owned() + ", 0x96";
    let by_load = [judged(&maker, &program, &program.source.replace(loads, &address))];
    for judged in by_offset.iter().chain(&by_column).chain(&by_load) {
        assert!(judged.faults.iter().any(|fault| fault.source == Source::Cfi), "{judged:#?}");
    }
}

/// A section that a program asks for has to be there, and is compared.
#[test]
fn a_section_that_is_missing_is_noticed() {
    let Some(maker) = host() else { return };
    let program = with(&maker, 1, |program| program.sections.eh_frame && program.sections.debug_frame);
    let directive = program.sections.directive;
    let said = judged(&maker, &program, &program.source).said;
    for (left, missing) in
        [(".cfi_sections .eh_frame", Source::DebugFrame), (".cfi_sections .debug_frame", Source::Cfi)]
    {
        assert!(said.keys().any(|(source, _)| *source == missing), "{missing:?}");
        let source = program.source.replace(directive, left);
        let faults = judged(&maker, &program, &source).faults;
        let wrong: Vec<_> = faults.iter().filter(|fault| fault.source != Source::Sframe).collect();
        assert_ne!(wrong, Vec::<&Fault>::new(), "{left}");
        assert!(wrong.iter().all(|fault| fault.source == missing && fault.says == "no row"), "{wrong:#?}");
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
