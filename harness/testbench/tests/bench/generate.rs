//! `generate`: what it writes is the same again, and what it says of toolchains is noticed to be wrong.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

use object::{Object as _, ObjectSection as _};
use serde_json::Value;
use sframe_corpus::corpus::{Maker, Toolchain};
use sframe_corpus::faults::{Observed, build_of, differences, is_current};
use sframe_corpus::spec::Faults;
use sframe_engine::Abi;
use sframe_judge::examine::stop::StopRequest;
use sframe_judge::examine::{ExamineOptions, examine};
use sframe_judge::target::Target;
use sframe_judge::target::files::Files;
use sframe_judge::unwind::sframe_unwinder;
use sframe_machine::Options;
use sframe_search::generate::assembly::{
    Action, Fault, FunctionPlan, Judged, Misdeclared, Plan, Program, Source, Wrong, judge, judge_by, write,
};

use crate::command::{are_installed, bench, copy_repository, toolchains};
use crate::common::repository;

pub(crate) const HOST: &str = "corpus/matrix/host.yaml";

/// A toolchain for all ABIs that `ci/toolchains` makes.
const NEWEST: &str = "gnu-2.47";

/// This machine's own toolchain; `None`, with a reason, if it does not write SFrame.
pub(crate) fn host() -> Option<Maker> {
    let toolchain = Toolchain::load(&repository().join(HOST)).expect("a definition");
    let maker = Maker::open(toolchain, Path::new("none"), &StopRequest::default()).expect("a folder");
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
    let found = &report["toolchains"]["host"]["amd64"];
    assert!(found["programs"].as_u64() > Some(0), "{report:#}");
    assert!(found["compared"].as_u64() > Some(100), "{report:#}");
    assert_eq!(found["contradictions"].as_array().map(Vec::len), Some(0), "{report:#}");
    assert!(matches!(output.status.code(), Some(0 | 1)), "{:?}", output.status);
}

/// Searches among functions whose CFI is wrong on purpose, and returns what was found, by ABI.
fn search_wrong(toolchain: &str) -> Value {
    let toolchains = toolchains().display().to_string();
    let search = ["generate", "assembly", "--wrong", "--toolchain", toolchain, "--toolchains", &toolchains];
    let output = bench(&[&search[..], &["--programs", "3", "--seed", "1", "--json"]].concat());
    let report: Value = serde_json::from_slice(&output.stdout).expect("a report");
    assert!(matches!(output.status.code(), Some(0 | 1)), "{:?}: {report:#}", output.status);
    report["toolchains"].as_object().and_then(|all| all.values().next()).cloned().expect("a toolchain")
}

/// A run finds each function whose CFA, RA or FP is wrong throughout, though it returns as any other, and sets
/// nothing aside: with this machine's toolchain and, if it is there, with one for all ABIs.
#[test]
fn functions_that_are_wrong_on_purpose_are_noticed() {
    let host = host().map(|_| (repository().join(HOST).display().to_string(), &[Abi::Amd64][..]));
    let newest = are_installed([NEWEST])[0].then(|| (NEWEST.to_owned(), &Abi::ALL[..]));
    for (toolchain, abis) in host.into_iter().chain(newest) {
        let found = search_wrong(&toolchain);
        for abi in abis.iter().map(ToString::to_string) {
            let found = &found[&abi];
            let count = |key: &str| found[key].as_u64().unwrap_or_default();
            assert_eq!(found["contradictions"].as_array().map(Vec::len), Some(0), "{found:#}");
            // Others are left out, or could not be made.
            assert!(count("noticed") * 2 > count("functions"), "{toolchain}, {abi}: {found:#}");
        }
    }
}

/// A run that misses what is wrong on purpose contradicts construction: one that takes each FP for right.
#[test]
fn a_run_that_misses_what_is_wrong_on_purpose_fails() {
    let Some(maker) = host() else { return };
    let is_of_fp = |function: &FunctionPlan| {
        matches!(function.misdeclares, Some(Misdeclared::FpSlot(_) | Misdeclared::FpKept))
    };
    let made = |number| {
        let mut plan = Plan::misdeclared(Abi::Amd64, 1, number, 20);
        plan.functions.retain(is_of_fp);
        let program = write(&plan);
        let made = maker.make(Abi::Amd64, &[("generated.s".to_owned(), program.source.clone())], &[]);
        // Some assemblers crash on some programs.
        Some((program, made.ok()?.bytes))
    };
    let (program, bytes) = (0..20).find_map(made).expect("a program");
    let sees = judge(&program, &bytes).expect("a judgement");
    assert_eq!((sees.contradictions, sees.noticed.is_empty()), (vec![], false));
    let blind = ExamineOptions { ignores_fp: true, ..ExamineOptions::default() };
    let missed = judge_by(&program, &bytes, &blind).expect("a judgement").contradictions;
    // What is left of it is found by where values come from.
    let says = |message: &String| message.starts_with("a run finds nothing in a wrong row");
    assert!(missed.iter().any(says), "{missed:#?}");
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
fn a_missing_directive_is_noticed() {
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
fn a_missing_section_is_noticed() {
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

/// The number of FDEs in a header (2.2 of the specification).
const NUM_FDES: std::ops::Range<usize> = 8..12;

/// A function that the section loses, though it can express it.
#[test]
fn a_function_that_is_left_out_is_noticed() {
    let Some(maker) = host() else { return };
    let mut noticed = 0;
    for number in 0..20 {
        let program = write(&Plan::random(Abi::Amd64, 7, number, 1));
        let Ok(made) = maker.make(Abi::Amd64, &[("generated.s".to_owned(), program.source.clone())], &[])
        else {
            continue;
        };
        let before = judge(&program, &made.bytes).expect("a judgement");
        let mut bytes = made.bytes;
        let range = sframe_range(&bytes);
        let fdes = &mut bytes[range][NUM_FDES];
        let last = u32::from_le_bytes(fdes.try_into().expect("4 bytes")) - 1;
        fdes.copy_from_slice(&last.to_le_bytes());
        let after = judge(&program, &bytes).expect("a judgement");
        let is_lost = |fault: &&Fault| fault.source == Source::Sframe && fault.wrong == Wrong::LeftOut;
        // It may have been left out before.
        let lost = |judged: &Judged| judged.faults.iter().filter(is_lost).count();
        assert!(after.left_out.len() >= before.left_out.len());
        noticed += usize::from(lost(&after) > lost(&before));
    }
    assert!(noticed > 5, "{noticed}");
}

fn sframe_range(bytes: &[u8]) -> std::ops::Range<usize> {
    let file = object::File::parse(bytes).expect("an ELF file");
    let section = file.section_by_name(".sframe").expect("a section");
    let (start, len) = section.file_range().expect("bytes");
    let start = usize::try_from(start).expect("an offset");
    start..start + usize::try_from(len).expect("a length")
}

/// Writes the definition of this machine's toolchain with something changed, and runs a search with it.
fn search_with(change: &dyn Fn(String) -> String, more: &[&str]) -> (Option<i32>, String) {
    let folder = tempfile::tempdir().expect("a folder");
    let host = std::fs::read_to_string(repository().join(HOST)).expect("a definition");
    let path = folder.path().join("host.yaml");
    std::fs::write(&path, change(host)).expect("a definition");
    let path = path.display().to_string();
    let search = ["generate", "assembly", "--abi", "amd64", "--toolchain", &path, "--toolchains", "none"];
    let output = bench(&[&search[..], more].concat());
    (output.status.code(), String::from_utf8_lossy(&output.stdout).into_owned())
}

/// A toolchain that writes no section is at fault, and not the bench.
#[test]
fn a_toolchain_without_sframe_is_reported() {
    if host().is_none() {
        return;
    }
    let silent = |host: String| host.replace("-Wa,--gsframe", "-O1");
    let (status, shown) = search_with(&silent, &["--programs", "2"]);
    assert_eq!(status, Some(1), "{shown}");
    assert!(shown.contains("no section in .sframe after"), "{shown}");
    assert!(!shown.contains("CONTRADICTION"), "{shown}");
}

/// A mistake that was mended is new if it comes back.
#[test]
fn a_mistake_is_known_in_its_versions_only() {
    if host().is_none() {
        return;
    }
    let version = |version: &'static str| {
        move |host: String| {
            host.replace(
                "name: host\n",
                &format!("name: host\nproperties: {{compiler: gcc 12.2, assembler: gas {version}}}\n"),
            )
        }
    };
    let programs = ["--programs", "4", "--seed", "11"];
    let (status, shown) = search_with(&version("2.40"), &programs);
    assert!(shown.contains("known, gas-ignores-same-value"), "{status:?} {shown}");
    let (status, shown) = search_with(&version("2.99"), &programs);
    assert_eq!(status, Some(1), "{shown}");
    assert!(!shown.contains("known, gas-ignores-same-value"), "{shown}");
}

/// What two functions show only together is found, and both are shown.
#[test]
fn a_cause_may_need_two_functions() {
    if host().is_none() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let compiler = folder.path().join("gcc");
    // Where f1 is there, too, f0 loses what it says of the CFA.
    let script = "#!/bin/sh\nfor file; do case $file in *.s) source=$file;; esac; done\n\
                  if grep -q '^f1:' $source\n\
                  then sed -i '/^f0:/,/^f1:/{/cfi_def_cfa_offset\\|cfi_adjust\\|cfi_def_cfa /d}' $source\nfi\n\
                  exec gcc \"$@\"\n";
    std::fs::write(&compiler, script).expect("a script");
    std::fs::set_permissions(&compiler, std::fs::Permissions::from_mode(0o755)).expect("a mode");
    let wrapped = |host: String| {
        host.replace("compiler: gcc", &format!("compiler: {}", compiler.display()))
            .replace("name: host\n", "name: host\nproperties: {compiler: gcc 12.2, assembler: gas 2.40}\n")
    };
    let (status, shown) =
        search_with(&wrapped, &["--programs", "6", "--functions", "2", "--seed", "1", "--json"]);
    assert_eq!(status, Some(1), "{shown}");
    let report: Value = serde_json::from_str(&shown).expect("a report");
    let causes = report["toolchains"]["host"]["amd64"]["causes"].as_array().expect("causes");
    assert!(!causes.is_empty(), "{report:#}");
    for cause in causes {
        let source = cause["first"]["source"].as_str().expect("an example");
        assert!(source.contains("f0:") && source.contains("f1:"), "{cause:#}");
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

/// `try --bless` completes the spec that is written for a program, also where it has rows that nothing reaches.
#[test]
fn the_specs_of_causes_need_no_editing_by_hand() {
    if host().is_none() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    copy_repository(folder.path());
    let run = |arguments: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_sframe-testbench"))
            .current_dir(folder.path())
            .env_remove("CI")
            .args(arguments)
            .output()
            .expect("the bench runs");
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (output.status.code(), text(&output.stdout), text(&output.stderr))
    };
    // A spec is about the assembler's builds, so it has to be known.
    let host = std::fs::read_to_string(repository().join(HOST)).expect("a definition");
    let properties = "properties: {compiler: gcc 12.2, assembler: gas 2.40, linker: ld 2.40}\n";
    let this = host.replace("name: host\n", &format!("name: this\n{properties}"));
    std::fs::write(folder.path().join("this.yaml"), this).expect("a definition");
    let search =
        "generate assembly --toolchain this.yaml --abi amd64 --programs 30 --seed 9 --toolchains none";
    let words: Vec<&str> = search.split(' ').chain(["--pages", "new", "--known"]).collect();
    let (_, _, said) = run(&words);
    let written: Vec<&str> = said.lines().filter_map(|line| line.strip_suffix(": written")).collect();
    assert!(written.len() > 1, "{said}");
    for name in written {
        let program = name.replace(['-', '.'], "_");
        for folder_of in ["corpus/programs", "specs"] {
            for end in ["c", "S", "yaml"] {
                let file = format!("{folder_of}/{program}.{end}");
                let from = folder.path().join("new").join(&file);
                if from.exists() {
                    std::fs::copy(from, folder.path().join(&file)).expect("a file");
                }
            }
        }
        let (status, shown, said) = run(&["try", &program, "--toolchain", "this.yaml", "--bless"]);
        assert_eq!(status, Some(0), "{name}: {shown}{said}");
        assert!(shown.contains("1 case: 1 known failure"), "{name}: {shown}");
    }
}

/// With each of its arguments, a generated function takes another path, and together they leave nothing out
/// but what nothing can reach.
#[test]
fn arguments_reach_all_that_can_be_reached() {
    let Some(maker) = host() else { return };
    let (mut paths, mut seen) = (0, 0);
    for number in 0..40 {
        let plan = Plan::random(Abi::Amd64, 3, number, 1);
        let is_dead =
            |function: &FunctionPlan| function.body.iter().any(|part| matches!(part.what, Action::Unreached));
        if plan.functions.iter().any(is_dead) {
            continue;
        }
        let program = write(&plan);
        let Ok(made) = maker.make(Abi::Amd64, &[("generated.s".to_owned(), program.source.clone())], &[])
        else {
            continue;
        };
        let files = Files { executable: made.bytes, ..Files::default() };
        let Ok(target) = Target::open_files(&files) else { continue };
        let mut unwinder = sframe_unwinder(&target);
        let found = examine(&target, &mut *unwinder, &ExamineOptions::default(), &Options::default());
        let mut unexercised = found.expect("a run").coverage.unexercised;
        // Not all functions call it.
        unexercised.retain(|row| row.function != "leaf");
        assert_eq!(unexercised, [], "program {number}: {}", program.source);
        seen += 1;
        paths = paths.max(program.last_argument);
    }
    assert!(seen > 15 && paths > 1, "{seen} programs, {paths} paths");
}
