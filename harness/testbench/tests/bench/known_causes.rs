//! What a known bug explains, and what it does not: another mistake beside it, or in its place.

use std::collections::BTreeSet;
use std::path::Path;

use rstest::rstest;
use serde_json::Value;

use crate::command::{bench_in, json, status};
use crate::known::{REASON, check, text};

/// A program whose functions push constants as GCC does, and some make another mistake in the same row: `body` is one
/// function's code. `None` without a compiler.
pub(crate) fn pushing(folder: &Path, name: &str, bodies: &[&str]) -> Option<String> {
    let functions: Vec<String> = bodies
        .iter()
        .enumerate()
        .map(|(index, body)| {
            format!("__attribute__((naked, noinline)) void f{index}(void) {{ __asm__(\"{body}; ret\"); }}\n")
        })
        .collect();
    let calls: String = (0..bodies.len()).map(|index| format!("f{index}();")).collect();
    let exit = r#"__asm__ volatile("syscall" :: "a"(231), "D"(0));"#;
    let source = folder.join("source.c");
    let program = format!("{}void _start(void) {{ {calls} {exit} for (;;); }}\n", functions.concat());
    std::fs::write(&source, program).expect("a file");
    std::fs::create_dir_all(folder.join(name)).expect("a folder");
    let file = folder.join(name).join("program");
    let flags =
        ["-O1", "-m64", "-nostdlib", "-static", "-fno-pie", "-no-pie", "-fasynchronous-unwind-tables"];
    let compiled = std::process::Command::new("gcc").args(flags).arg(&source).arg("-o").arg(&file).output();
    if !compiled.is_ok_and(|output| output.status.success()) {
        eprintln!("not run: there is no GCC for amd64");
        return None;
    }
    Some(file.display().to_string())
}

const PUSHED: &str = "push $7; pop %rax";

/// A known bug is that of the place where its sign is, and not of what is wrong for another reason there, before it or after
/// it in the row.
#[rstest]
#[case::itself(PUSHED, 0, 0)]
#[case::with_others_between("push $7; xor %ecx, %ecx; mov %rbx, %rdi; pop %rax", 0, 0)]
#[case::a_call_between("push $7; call f0; pop %rax", 1, 8)]
#[case::a_jump_between("push $7; jmp 1f; 1: pop %rax", 1, 8)]
#[case::before_it("sub $16, %rsp; push $7; pop %rax; add $16, %rsp", 1, 16)]
#[case::after_it("push $7; pop %rax; push %rcx; nop; pop %rcx", 1, 8)]
#[case::around_it("push $8; push $7; pop %rax; pop %rax", 1, 8)]
#[case::to_the_other_side("push $7; .cfi_adjust_cfa_offset 40; pop %rax; .cfi_adjust_cfa_offset -40", 1, -32)]
#[case::by_more(
    "sub $16, %rsp; .cfi_adjust_cfa_offset 16; push $7; .cfi_adjust_cfa_offset -16; pop %rax; \
     .cfi_adjust_cfa_offset 16; add $16, %rsp; .cfi_adjust_cfa_offset -16",
    1,
    24
)]
fn a_known_fault_excuses_only_itself(#[case] body: &str, #[case] expected: i32, #[case] new: i64) {
    let folder = tempfile::tempdir().expect("a folder");
    let Some(file) = pushing(folder.path(), "one", &[PUSHED, body]) else { return };
    let from = ["--from", "eh-frame", "--known-faults"];
    let output = check(folder.path(), &file, &[&from[..], &["--json", "--no-explore"]].concat());
    let report = json(&output);
    assert_eq!(status(&output), expected, "{report:#}");
    let known = report["known"].as_array().expect("a list");
    assert!(
        !known.is_empty() && known.iter().all(|seen| seen["fault"] == "gcc-pushed-constant"),
        "{known:#?}"
    );
    // What is wrong by another amount is not this fault.
    let value = |finding: &Value, key: &str| {
        let said = finding[key].as_str().expect("a value");
        i64::from_str_radix(said.trim_start_matches("0x"), 16).expect("a number")
    };
    for seen in known {
        assert_eq!(value(&seen["finding"], "expected") - value(&seen["finding"], "got"), 8, "{seen:#}");
    }
    // Exploring says the same: what is new has a finding of its own, at a place that the known one has not.
    let explored = bench_in(folder.path(), &[&["explore", &file, "--json"], &from[..]].concat());
    let report = json(&explored);
    assert_eq!(status(&explored), expected, "{report:#}");
    let amounts = |findings: &Value, at: &str| -> BTreeSet<i64> {
        let findings =
            findings.as_array().expect("a list").iter().map(|seen| seen.pointer(at).expect("a finding"));
        findings.map(|finding| value(finding, "expected") - value(finding, "got")).collect()
    };
    assert_eq!(amounts(&report["known"], "/finding"), [8].into(), "{report:#}");
    let new: BTreeSet<i64> = if expected == 0 { [].into() } else { [new].into() };
    assert_eq!(amounts(&report["findings"], ""), new, "{report:#}");
    let faults: BTreeSet<&str> =
        report["known"].as_array().into_iter().flatten().filter_map(|seen| seen["fault"].as_str()).collect();
    assert_eq!(faults, ["gcc-pushed-constant"].into());
}

/// Mistakes that have the instructions of a known bug, and are another one: wrong by another amount, for longer than the
/// fault, from elsewhere in the row, or come to by a jump.
#[rstest]
#[case::epilogue_without_cfi("push %rbx; .cfi_adjust_cfa_offset 8; call f0; pop %rbx")]
#[case::two_pops_without_cfi(
    "push %rbx; .cfi_adjust_cfa_offset 8; push %r12; .cfi_adjust_cfa_offset 8; call f0; pop %r12; pop %rbx"
)]
#[case::push_without_cfi(
    "push %rbp; .cfi_adjust_cfa_offset 8; .cfi_offset %rbp, -16; push %rbx; xor %eax, %eax; nop; pop %rbx; pop %rbp; \
     .cfi_adjust_cfa_offset -8; .cfi_restore %rbp"
)]
#[case::another_offset(
    "sub $24, %rsp; .cfi_adjust_cfa_offset 24; nop; add $24, %rsp; .cfi_def_cfa_offset 1000; test $4, %edi; \
     .cfi_def_cfa_offset 8"
)]
#[case::no_end("sub $24, %rsp; .cfi_adjust_cfa_offset 24; nop; add $24, %rsp; test $4, %edi")]
#[case::inline_thunk("call 1f; 2: pause; lfence; jmp 2b; 1: lea 8(%rsp), %rsp; .cfi_def_cfa_offset 808")]
#[case::too_small_a_frame(
    "sub $32, %rsp; .cfi_adjust_cfa_offset 24; movaps %xmm15, 16(%rsp); movaps %xmm14, (%rsp); \
     .cfi_adjust_cfa_offset 8; add $32, %rsp; .cfi_adjust_cfa_offset -32"
)]
#[case::frame_that_was_wrong_before_the_saves(
    "sub $16, %rsp; sub $40, %rsp; movaps %xmm8, 16(%rsp); movaps %xmm6, (%rsp); .cfi_adjust_cfa_offset 56; \
     add $56, %rsp; .cfi_adjust_cfa_offset -56"
)]
#[case::saves_that_are_jumped_to(
    "mov %rsp, %rax; lea -40(%rsp), %rsp; jmp 1f; sub $8, %rsp; 1: movaps %xmm8, 16(%rsp); movaps %xmm6, (%rsp); \
     .cfi_adjust_cfa_offset 40; mov %rax, %rsp; .cfi_adjust_cfa_offset -40"
)]
#[case::other_code_before_the_cfi_of_saves(
    "sub $40, %rsp; movaps %xmm8, 16(%rsp); movaps %xmm6, (%rsp); call f0; .cfi_adjust_cfa_offset 40; add $40, %rsp; \
     .cfi_adjust_cfa_offset -40"
)]
#[case::other_saves(
    "sub $40, %rsp; mov %rbx, 16(%rsp); .cfi_adjust_cfa_offset 40; add $40, %rsp; \
     .cfi_adjust_cfa_offset -40"
)]
#[case::branch_after_a_call(
    "sub $24, %rsp; .cfi_adjust_cfa_offset 24; add $24, %rsp; call f0; test $4, %edi; jne 1f; .cfi_def_cfa_offset 8; nop; \
     1: .cfi_def_cfa_offset 8"
)]
#[case::branch_after_a_frame_that_was_wrong(
    "sub $24, %rsp; .cfi_adjust_cfa_offset 32; nop; add $24, %rsp; test $4, %edi; jne 1f; .cfi_def_cfa_offset 8; nop; \
     1: .cfi_def_cfa_offset 8"
)]
#[case::branch_that_does_not_end_it(
    "sub $24, %rsp; .cfi_adjust_cfa_offset 24; add $24, %rsp; test $4, %edi; jne 1f; nop; 1: nop; .cfi_def_cfa_offset 8"
)]
#[case::come_to_by_a_jump(
    "push %rcx; .cfi_adjust_cfa_offset 8; push %rdx; .cfi_adjust_cfa_offset 8; jmp 2f; .cfi_adjust_cfa_offset -8; \
     push $5; .cfi_def_cfa_offset 16; 2: pop %rax; .cfi_def_cfa_offset 16; pop %rcx; .cfi_def_cfa_offset 8"
)]
#[case::allocation(
    "push %rbp; .cfi_def_cfa_offset 16; .cfi_offset %rbp, -16; mov $5, %ebp; lea -16(%rsp), %rsp; \
     .cfi_def_cfa_offset 32; .cfi_escape 0x10,6,2,0x76,0; call f0; nop; lea 16(%rsp), %rsp; .cfi_def_cfa_offset 16; \
     .cfi_offset %rbp, -16; pop %rbp; .cfi_def_cfa_offset 8; .cfi_restore %rbp"
)]
#[case::another_value_of_fp(
    "lea 8(%rsp), %r10; .cfi_def_cfa %r10, 0; push -8(%r10); push %rbp; mov %rsp, %rbp; .cfi_escape 0x10,6,2,0x76,0; \
     push $77; pop %rbp; call f0; nop; .cfi_offset %rbp, -24; mov (%rsp), %rbp; .cfi_restore %rbp; \
     lea -8(%r10), %rsp; .cfi_def_cfa %rsp, 8"
)]
#[case::a_register_that_never_had_the_cfa(
    "push %rbp; .cfi_def_cfa_offset 16; .cfi_offset %rbp, -16; mov %rsp, %rbp; .cfi_def_cfa %rbp, 16; \
     .cfi_escape 0x10,6,2,0x76,0; lea 64(%rsp), %rcx; push %r12; pop %r12; .cfi_def_cfa %rcx, 0; nop; nop; \
     .cfi_def_cfa %rsp, 16; .cfi_offset %rbp, -16; pop %rbp; .cfi_def_cfa_offset 8; .cfi_restore %rbp"
)]
#[case::callee_saved_pops(
    "push %rbx; .cfi_def_cfa_offset 16; push %r12; .cfi_def_cfa_offset 24; call f0; pop %r12; pop %rbx; \
     .cfi_def_cfa_offset 8"
)]
#[case::late_cfi_of_a_push(
    "push %rbp; .cfi_def_cfa_offset 16; .cfi_offset %rbp, -16; push %rbx; xor %eax, %eax; .cfi_def_cfa_offset 24; nop; \
     pop %rbx; .cfi_def_cfa_offset 16; pop %rbp; .cfi_def_cfa_offset 8; .cfi_restore %rbp"
)]
#[case::late_cfi_of_a_saved_register(
    "push %rbp; .cfi_def_cfa_offset 16; .cfi_offset %rbp, -16; push %rbx; xor %ebx, %ebx; .cfi_def_cfa_offset 24; \
     call f0; pop %rbx; .cfi_def_cfa_offset 16; pop %rbp; .cfi_def_cfa_offset 8; .cfi_restore %rbp"
)]
#[case::late_cfi_of_an_alignment(
    "push %rbp; .cfi_def_cfa_offset 16; .cfi_offset %rbp, -16; push %rbx; .cfi_def_cfa_offset 24; .cfi_offset %rbx, -24; \
     push %rax; xor %eax, %eax; .cfi_def_cfa_offset 32; call f0; add $8, %rsp; .cfi_def_cfa_offset 24; pop %rbx; \
     .cfi_def_cfa_offset 16; pop %rbp; .cfi_def_cfa_offset 8; .cfi_restore %rbp"
)]
#[case::epilogue_like_a_longjmp(
    "push %rbp; .cfi_def_cfa_offset 16; .cfi_offset %rbp, -16; push %rbx; .cfi_def_cfa_offset 24; .cfi_offset %rbx, -24; \
     lea 8(%rsp), %rbp; .cfi_def_cfa %rbp, 16; sub $32, %rsp; call f0; lea 32(%rsp), %rsi; mov 8(%rsi), %rbp; \
     mov 16(%rsi), %rcx; lea 16(%rsi), %rsp"
)]
#[case::another_value_in_an_aligned_frame(
    "lea 8(%rsp), %r10; .cfi_def_cfa %r10, 0; and $-16, %rsp; push -8(%r10); push %rbp; mov %rsp, %rbp; \
     .cfi_escape 0x10,6,2,0x76,0; push $77; pop %rbp; nop; nop; mov (%rsp), %rbp; .cfi_restore %rbp; \
     lea -8(%r10), %rsp; .cfi_def_cfa %rsp, 8"
)]
#[case::no_expression(
    "lea 8(%rsp), %r10; .cfi_def_cfa %r10, 0; push %rbp; mov %rsp, %rbp; .cfi_escape 0x10,6,2,0x76,0; \
     lea 100(%rsp), %rcx; xor %eax, %eax; jz 2f; mov (%rsp), %rbp; .cfi_restore %rbp; lea -8(%r10), %rsp; \
     .cfi_def_cfa %rsp, 8; ret; 2: .cfi_def_cfa %rcx, 0; .cfi_escape 0x10,6,2,0x76,0; nop; nop; .cfi_def_cfa %r10, 0; \
     mov (%rsp), %rbp; .cfi_restore %rbp; lea -8(%r10), %rsp; .cfi_def_cfa %rsp, 8"
)]
fn what_looks_like_a_fault_is_not_excused(#[case] body: &str) {
    let folder = tempfile::tempdir().expect("a folder");
    // Compilers are named by a section.
    let clang =
        r#".pushsection .comment, \"MS\", @progbits, 1; .asciz \"clang version 22.1.0\"; .popsection; "#;
    let Some(file) = pushing(folder.path(), "one", &["nop", &format!("{clang}{body}")]) else { return };
    let from = ["--from", "eh-frame", "--known-faults"];
    let checked = check(folder.path(), &file, &[&from[..], &["--json", "--no-explore"]].concat());
    assert_eq!(status(&checked), 1, "{:#}", json(&checked));
    let explored = bench_in(folder.path(), &[&["explore", &file, "--json"], &from[..]].concat());
    assert_eq!(status(&explored), 1, "{:#}", json(&explored));
}

/// Mistakes that have a fault's code before them, and another cause; and a fault's code where another compiler may have made
/// it. A sample excuses no more than the whole run does.
#[rstest]
// The row is wrong from elsewhere on.
#[case::in_a_sample(
    "sub $24, %rsp; .cfi_adjust_cfa_offset 48; add $24, %rsp; test $1, %edi; .cfi_adjust_cfa_offset -48",
    "clang version 22.1.0"
)]
// It is as much too low as by the fault on one path only.
#[case::by_several_amounts(
    "push %rbp; .cfi_def_cfa_offset 16; .cfi_offset %rbp, -16; mov %rsp, %rbp; .cfi_def_cfa_register %rbp; xor %edx, %edx; \
     4: test %edx, %edx; jne 3f; nop; .cfi_def_cfa %rsp, 16; push $5; 1: pop %rcx; .cfi_def_cfa %rbp, 16; mov %rbp, %rsp; \
     inc %edx; cmp $2, %edx; jne 4b; .cfi_def_cfa %rsp, 16; pop %rbp; .cfi_def_cfa_offset 8; .cfi_restore %rbp; ret; \
     .cfi_def_cfa %rbp, 16; .cfi_offset %rbp, -16; 3: sub $32, %rsp; lea 1b(%rip), %rax; jmp *%rax",
    "GCC: (GNU) 14.2.0"
)]
#[case::after_code_that_does_not_run(
    "sub $8, %rsp; .cfi_adjust_cfa_offset 8; lea 1f(%rip), %rax; jmp *%rax; .cfi_adjust_cfa_offset -8; nop; push $5; \
     1: pop %rcx",
    "GCC: (GNU) 14.2.0"
)]
// FP is overwritten, and not popped.
#[case::come_to_by_a_jump(
    "push %rbp; .cfi_def_cfa_offset 16; .cfi_offset %rbp, -16; lea 16(%rsp), %r10; .cfi_def_cfa %r10, 0; and $-64, %rsp; \
     push -8(%r10); push %rbp; mov %rsp, %rbp; xor %ebp, %ebp; jmp 1f; leave; .cfi_escape 0x10,6,2,0x76,0; \
     1: lea -8(%r10), %rsp; .cfi_def_cfa %rsp, 8; .cfi_offset %rbp, -16; mov -8(%rsp), %rbp; .cfi_restore %rbp",
    "GCC: (GNU) 14.2.0"
)]
// The CFI is right after the pop, and wrong again later.
#[case::after_a_right_place(
    "lea 8(%rsp), %r10; .cfi_def_cfa %r10, 0; and $-64, %rsp; push -8(%r10); push %rbp; mov %rsp, %rbp; \
     .cfi_escape 0x10,6,2,0x76,0; leave; .cfi_restore %rbp; lea -8(%r10), %rsp; .cfi_def_cfa %rsp, 8; \
     .cfi_escape 0x10,6,2,0x76,0; nop",
    "GCC: (GNU) 14.2.0"
)]
#[case::return_by_a_jump(
    "push %rbp; .cfi_def_cfa_offset 16; .cfi_offset %rbp, -16; mov %rsp, %rbp; .cfi_def_cfa_register %rbp; mov 8(%rbp), %rax; \
     mov (%rbp), %rdx; lea 16(%rbp), %rsp; mov %rdx, %rbp; jmp *%rax",
    "GCC: (GNU) 14.2.0"
)]
#[case::long_jump_out_of_a_wrong_frame(
    "push %rbp; .cfi_def_cfa_offset 16; .cfi_offset %rbp, -16; mov %rsp, %rbp; .cfi_def_cfa %rbp, 32; mov 8(%rbp), %rax; \
     mov (%rbp), %rdx; lea 16(%rbp), %rcx; mov %rcx, -16(%rbp); mov -16(%rbp), %rsp; mov %rdx, %rbp; jmp *%rax",
    "GCC: (GNU) 14.2.0"
)]
#[case::of_another_compiler(PUSHED, "clang version 22.1.0")]
fn code_of_a_fault_excuses_no_other_mistake(#[case] body: &str, #[case] compiler: &str) {
    let folder = tempfile::tempdir().expect("a folder");
    let comment =
        format!(r#".pushsection .comment, \"MS\", @progbits, 1; .asciz \"{compiler}\"; .popsection; "#);
    let Some(file) = pushing(folder.path(), "one", &["nop", &format!("{comment}{body}")]) else { return };
    let options = ["--from", "eh-frame", "--known-faults", "--no-explore"];
    // Of several amounts, a sample may show that of the fault alone.
    let samples = if body.contains("cmp $2") { 1 } else { 5 };
    let all = [&[][..], &["--every=2"], &["--every=3"], &["--every=5"], &["--per-place=1"]];
    for sample in all.into_iter().take(samples) {
        let output = check(folder.path(), &file, &[&options[..], &["--json"], sample].concat());
        let report = json(&output);
        assert_eq!(report["known"], serde_json::json!([]), "{sample:?}: {report:#}");
        assert!(status(&output) == 1 || !sample.is_empty(), "{report:#}");
    }
}

/// A list names each cause of a row: what is known, and what a person has to explain.
#[rstest]
#[case::check(&["--no-explore"])]
#[case::explore(&[])]
fn a_list_has_an_entry_for_each_cause_of_a_row(#[case] more: &[&str]) {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    let after = "push $7; pop %rax; push %rcx; nop; pop %rcx";
    let (Some(both), Some(known)) = (pushing(folder, "both", &[after]), pushing(folder, "known", &[PUSHED]))
    else {
        return;
    };
    let command = if more.is_empty() { "explore" } else { "check" };
    let bench = |file: &str, options: &[&str]| {
        bench_in(folder, &[&[command, file, "--from", "eh-frame"], more, options].concat())
    };
    let written = bench(&both, &["--write-known=known.yaml"]);
    assert!(text(&written.stderr).contains(" a reason: what is wrong"), "{written:?}");
    let list = std::fs::read_to_string(folder.join("known.yaml")).expect("a file");
    let count = |of: &str| list.matches(of).count();
    assert!(count("function: f0") >= 2 && count("reason: ''") >= 1, "{list}");
    assert_eq!(count("function: f0"), count("fault: gcc-pushed-constant") + count("reason: ''"), "{list}");
    assert!(count("fault: gcc-pushed-constant") >= 1, "{list}");
    let list = list.replace("reason: ''", &format!("reason: {REASON}"));
    std::fs::write(folder.join("known.yaml"), &list).expect("a file");
    let again = bench(&both, &["--known=known.yaml", "--write-known=known.yaml"]);
    assert_eq!(status(&again), 0, "{}", text(&again.stdout));
    assert_eq!(std::fs::read_to_string(folder.join("known.yaml")).expect("a file"), list);
    // Each entry is seen, or is gone.
    let gone = bench(&known, &["--known=known.yaml"]);
    assert_eq!(status(&gone), 1);
    let said = text(&gone.stdout);
    assert!(said.contains("unexpected-pass") || said.contains("changed-failure"), "{said}");
    // The entry of the fault excuses nothing else.
    let mut only: Value = serde_yaml::from_str(&list).expect("YAML");
    only["known"].as_array_mut().expect("entries").retain(|entry| entry["reason"].is_null());
    std::fs::write(folder.join("known.yaml"), serde_yaml::to_string(&only).expect("YAML")).expect("a file");
    assert_eq!(status(&bench(&both, &["--known=known.yaml"])), 1);
}

/// What is known stays known beside what is new in the same row.
#[test]
fn a_new_mistake_beside_a_known_one_is_compared_as_new() {
    let folder = tempfile::tempdir().expect("a folder");
    let bodies = [("before", PUSHED), ("after", "push $7; pop %rax; push %rcx; nop; pop %rcx")];
    for (name, body) in bodies {
        let Some(file) = pushing(folder.path(), name, &[body]) else { return };
        let report = folder.path().join(name).join("report").display().to_string();
        let more = ["--from", "eh-frame", "--known-faults", "--no-explore", "--report", &report];
        assert!(status(&check(folder.path(), &file, &more)) < 2);
    }
    let compared = bench_in(folder.path(), &["compare", "--json", "before/report", "after/report"]);
    let changes = json(&compared);
    let case = &changes["cases"][0];
    assert_eq!((status(&compared), &case["change"]), (1, &"worse".into()), "{changes:#}");
    assert_eq!(case["gone"].as_array().map_or(0, Vec::len), 0, "{changes:#}");
    let new = case["new"].as_array().expect("a list").iter().filter_map(Value::as_str);
    assert_eq!(new.filter(|new| new.starts_with("wrong-cfa")).count(), 1, "{changes:#}");
    let causes = changes["causes"].as_array().expect("a list");
    assert!(causes.iter().all(|cause| cause["known"] == false), "{causes:#?}");
}

/// What is wrong beside a pushed constant, in the same row.
const ANOTHER_SIZE: &str = "push $7; pop %rax; sub $24, %rsp; nop; add $24, %rsp";
const ONLY_ANOTHER: &str = "sub $24, %rsp; nop; add $24, %rsp";

/// Runs a command on a file, and returns its status and its report.
fn judged(folder: &Path, command: &str, file: &str, more: &[&str]) -> (i32, Value) {
    let output = bench_in(folder, &[&[command, file, "--from", "eh-frame", "--json"], more].concat());
    assert!(status(&output) < 2, "{output:?}");
    (status(&output), json(&output))
}

/// A list's entry of a fault excuses what has the fault's signs, with `--known-faults` or without, however often its rules
/// occur.
#[rstest]
fn an_entry_of_a_fault_excuses_only_the_fault(
    #[values("check", "explore")] command: &str,
    #[values(&[], &["--known-faults"])] more: &[&str],
    #[values(1, 2, 3)] count: u64,
) {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    let bodies = [PUSHED, ANOTHER_SIZE, ONLY_ANOTHER, "pushfq; pop %rax; nop"];
    let names = ["known", "beside", "instead", "like"];
    let mut files = Vec::new();
    for (name, body) in names.into_iter().zip(bodies) {
        let Some(file) = pushing(folder, name, &[body]) else { return };
        files.push(file);
    }
    assert_eq!(judged(folder, command, &files[0], &["--write-known=known.yaml"]).0, 1);
    let list = std::fs::read_to_string(folder.join("known.yaml")).expect("a file");
    assert!(list.contains("FP unchanged: 1\n") && list.contains("fault: gcc-pushed-constant"), "{list}");
    let counted = list.replace("FP unchanged: 1\n", &format!("FP unchanged: {count}\n"));
    std::fs::write(folder.join("known.yaml"), counted).expect("a file");
    let options = [&["--known=known.yaml"], more].concat();
    let is_excused = count == 1 || !more.is_empty();
    assert_eq!(judged(folder, command, &files[0], &options).0, i32::from(!is_excused));
    for file in &files[1..] {
        let (status, report) = judged(folder, command, file, &options);
        let mut findings = report["findings"].as_array().expect("a list").iter();
        let is_new = |finding: &Value| {
            finding["verdict"] == "wrong-cfa"
                && finding["fault"].is_null()
                && finding.get("certainty").is_none_or(|sure| sure == "proved")
        };
        assert!(status == 1 && findings.any(is_new), "{file}: {report:#}");
    }
    let (_, report) = judged(folder, command, &files[3], &options);
    let says = "is there, but not as the page of gcc-pushed-constant says: it has another cause";
    assert!(report["findings"].to_string().contains(says), "{report:#}");
    // Whoever writes the list again has to explain what is new.
    let again = ["--known=known.yaml", "--write-known=known.yaml"];
    judged(folder, command, &files[2], &again);
    let list = std::fs::read_to_string(folder.join("known.yaml")).expect("a file");
    assert!(list.contains("reason: ''") && !list.contains("fault:"), "{list}");
}

/// What is wrong by another amount is not what a list explains.
#[test]
fn a_list_says_how_wrong_a_cfa_is() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    let file = |name: &str, size: u32| {
        // Neither is what a page of a fault is about.
        pushing(folder, name, &[&format!("sub ${size}, %rsp; nop; nop; add ${size}, %rsp")])
    };
    let (Some(first), Some(other)) = (file("first", 16), file("other", 32)) else { return };
    let explore = ["--no-explore"];
    assert_eq!(judged(folder, "check", &first, &["--write-known=known.yaml", explore[0]]).0, 1);
    let list = std::fs::read_to_string(folder.join("known.yaml")).expect("a file");
    assert!(list.contains("cfa: 16 too low"), "{list}");
    std::fs::write(folder.join("known.yaml"), list.replace("reason: ''", &format!("reason: {REASON}")))
        .expect("a file");
    let known = ["--known=known.yaml", explore[0]];
    assert_eq!(judged(folder, "check", &first, &known).0, 0);
    let (status, report) = judged(folder, "check", &other, &known);
    assert!(status == 1 && report["known"] == serde_json::json!([]), "{report:#}");
}

/// Of a file that does not name its compiler, the person who writes the list decides.
#[test]
fn an_entry_of_a_fault_explains_what_may_be_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    let Some(file) = pushing(folder, "known", &[PUSHED]) else { return };
    judged(folder, "check", &file, &["--write-known=known.yaml"]);
    let mut bytes = std::fs::read(&file).expect("a file");
    let name = b"GCC: (";
    while let Some(at) = bytes.windows(name.len()).position(|window| window == name) {
        bytes[at..at + 3].copy_from_slice(b"XYZ");
    }
    std::fs::write(folder.join("unnamed"), bytes).expect("a file");
    for command in ["check", "explore"] {
        assert_eq!(judged(folder, command, "unnamed", &["--known-faults"]).0, 1);
        let (status, report) = judged(folder, command, "unnamed", &["--known=known.yaml"]);
        assert_eq!(status, 0, "{report:#}");
    }
}

/// What differs from an entry comes from a fault only if all of it does.
#[rstest]
fn a_change_is_of_a_fault_only_if_all_of_it_is(#[values("check", "explore")] command: &str) {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    let (Some(known), Some(beside)) =
        (pushing(folder, "known", &[PUSHED]), pushing(folder, "beside", &[ANOTHER_SIZE]))
    else {
        return;
    };
    judged(folder, command, &known, &["--write-known=known.yaml"]);
    let list = std::fs::read_to_string(folder.join("known.yaml")).expect("a file");
    let list = list.replace("fault: gcc-pushed-constant", &format!("reason: {REASON}"));
    std::fs::write(folder.join("known.yaml"), list).expect("a file");
    for more in [&[][..], &["--known-faults"]] {
        let (status, report) = judged(folder, command, &beside, &[&["--known=known.yaml"], more].concat());
        let finding = &report["findings"][0];
        assert_eq!((status, &finding["verdict"]), (1, &"changed-failure".into()), "{report:#}");
        let message = finding["message"].as_str().expect("a message");
        assert!(finding["fault"].is_null() && message.contains(" at 3 places; "), "{report:#}");
    }
}

/// A list says at how many places a row is wrong, whether it was run or explored.
#[rstest]
fn places_of_a_row_are_counted(#[values("check", "explore")] command: &str) {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    let more = "push $7; pop %rax; sub $24, %rsp; nop; nop; nop; add $24, %rsp";
    let (Some(fewer), Some(more)) =
        (pushing(folder, "fewer", &[ANOTHER_SIZE]), pushing(folder, "more", &[more]))
    else {
        return;
    };
    judged(folder, command, &fewer, &["--write-known=known.yaml"]);
    let list = std::fs::read_to_string(folder.join("known.yaml")).expect("a file");
    assert!(list.contains("FP unchanged: 2\n"), "{list}");
    let list = list.replace("reason: ''", &format!("reason: {REASON}"));
    std::fs::write(folder.join("known.yaml"), list).expect("a file");
    let (status, report) = judged(folder, command, &fewer, &["--known=known.yaml"]);
    assert_eq!(status, 0, "{report:#}");
    // A part shows no more than the whole.
    let part = if command == "check" { "--per-place=1" } else { "--functions=f0" };
    for part in [&[][..], &[part]] {
        let (status, report) = judged(folder, command, &more, &[&["--known=known.yaml"], part].concat());
        let verdict = &report["findings"][0]["verdict"];
        assert_eq!((status, verdict), (1, &"changed-failure".into()), "{report:#}");
    }
}

/// A row that is wrong for another reason too, or only for another, is worse, also where nothing is accepted.
#[rstest]
#[case::the_same(&[PUSHED], 0)]
#[case::beside_it(&[ANOTHER_SIZE], 1)]
#[case::instead_of_it(&[ONLY_ANOTHER], 1)]
fn another_cause_in_a_row_is_compared_as_new(
    #[values("check", "explore")] command: &str,
    #[case] bodies: &[&str],
    #[case] expected: i32,
) {
    let folder = tempfile::tempdir().expect("a folder");
    for (name, bodies) in [("before", &[PUSHED][..]), ("after", bodies)] {
        let Some(file) = pushing(folder.path(), name, bodies) else { return };
        let report = folder.path().join(name).join("report").display().to_string();
        assert_eq!(judged(folder.path(), command, &file, &["--report", &report]).0, 1);
    }
    let compared = bench_in(folder.path(), &["compare", "--json", "before/report", "after/report"]);
    let changes = json(&compared);
    let change = if expected == 0 { Value::Null } else { "worse".into() };
    assert_eq!((status(&compared), &changes["cases"][0]["change"]), (expected, &change), "{changes:#}");
}
