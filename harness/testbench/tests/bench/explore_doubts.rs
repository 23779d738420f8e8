//! Each reason why a wrong row is not proved, or a row not judged, is seen somewhere: in the corpus or
//! in a few instructions.

use std::collections::BTreeSet;

use rstest::rstest;
use serde_json::Value;
use sframe_engine::{Abi, Base, Recovery, RecoveryRule, Row};
use sframe_judge::explore::{Doubt, Undecided};

use crate::command::{bench, json, status};
use crate::common::repository;
use crate::explore::{path, with_changed};
use crate::explore_objects::written;
use crate::guide::first_cells;
use crate::made_objects::{Code, object, row, row_of_leaf};

fn name(value: impl serde::Serialize) -> String {
    serde_json::to_value(value).expect("JSON").as_str().expect("a name").to_owned()
}

/// Explores functions of amd64.
fn explored(functions: &[Code], more: &[&str]) -> Value {
    explored_for(Abi::Amd64, functions, more)
}

fn explored_for(abi: Abi, functions: &[Code], more: &[&str]) -> Value {
    let folder = tempfile::tempdir().expect("a folder");
    let file = written(folder.path(), "made.o", &object(abi, functions));
    let output = bench(&[&["explore", "--json", &file], more].concat());
    assert!(status(&output) < 4, "{output:?}");
    json(&output)
}

fn findings(report: &Value) -> &Vec<Value> {
    report["findings"].as_array().expect("a list")
}

/// Functions in the corpus about which explore doubts.
const DOUBTS: [(Doubt, &str, &str); 12] = [
    (Doubt::RightElsewhere, "gnu-2.47/aarch64/clash.O2-clash", "with_alloca"),
    (Doubt::UncertainEntry, "gnu-2.40/aarch64/contexts.O2", "context_exit"),
    (Doubt::AfterCall, "gnu-2.47/amd64/long_jump.O2-fp", "finish"),
    (Doubt::PassesReturnAddress, "../constructed/callee-skips-data/amd64", "with_raised"),
    (Doubt::IrregularCallee, "gnu-2.40/aarch64/outlined_frames.O0", "outlined_nested"),
    (Doubt::UnknownTable, "gnu-2.40/amd64/thunks_inline.O2", "to_labels"),
    (Doubt::JumpWithFrame, "gnu-2.40/aarch64/outlined_frames.O2", "outlined_epilogue_tail"),
    (Doubt::BaseOffStack, "gnu-2.47/amd64/eh_return.O2", "leave"),
    (Doubt::OverwrittenRa, "gnu-2.44/amd64/undefined_ra.O2", "forgets_caller"),
    (Doubt::UnseenStore, "../constructed/frame-filled-by-callee/amd64", "copies_right"),
    (Doubt::EntryCode, "../constructed/kernel-privileged/amd64", "enters_wrong"),
    (Doubt::FpNotKept, "gnu-2.47/aarch64/flex_rows.O2", "fp_from_sp"),
];

/// Doubts that instructions below show.
const MADE: [Doubt; 7] = [
    Doubt::OneSeed,
    Doubt::InternalCall,
    Doubt::ImpossibleJump,
    Doubt::WildStore,
    Doubt::ComputedSp,
    Doubt::SystemCall,
    Doubt::RunsInto,
];

#[test]
fn each_doubt_is_shown_by_a_program() {
    for (doubt, id, function) in DOUBTS {
        let output = bench(&["explore", "--json", "--functions", "*", &path(id)]);
        let report = json(&output);
        let found = findings(&report).iter().find(|found| {
            let doubts = found["doubts"].as_array().expect("a list");
            found["function"] == function && doubts.contains(&Value::from(name(doubt)))
        });
        let found = found.unwrap_or_else(|| panic!("{doubt:?}: {:#?}", findings(&report)));
        assert_eq!(found["certainty"], "possible", "{doubt:?}");
        assert!(report["summary"]["possible"][name(doubt)].as_u64() > Some(0), "{doubt:?}");
        let text = String::from_utf8_lossy(&bench(&["explore", "--possible", &path(id)]).stdout).into_owned();
        assert!(text.contains(doubt.says()), "{doubt:?}: {text}");
    }
    let told = DOUBTS.iter().map(|(doubt, ..)| *doubt).chain(MADE);
    assert_eq!(told.collect::<BTreeSet<_>>(), Doubt::ALL.into_iter().collect());
}

/// The only finding about a function, whose doubts are these.
#[track_caller]
fn assert_doubts(report: &Value, doubts: &[Doubt]) {
    let [found] = &findings(report)[..] else { panic!("{report:#}") };
    let doubts: Vec<Value> = doubts.iter().map(|doubt| name(doubt).into()).collect();
    assert_eq!(found["doubts"], Value::Array(doubts.clone()), "{report:#}");
    assert_eq!(found["certainty"], if doubts.is_empty() { "proved" } else { "possible" });
}

#[test]
fn a_row_that_is_right_on_another_path_may_be_right() {
    // test %edi,%edi; je 1f; push %rax; 1: nop; ret.
    let joined = [0x85, 0xff, 0x74, 0x01, 0x50, 0x90, 0xc3];
    assert_doubts(&explored(&[Code::new("joined", &joined, vec![row(0, 8)])], &[]), &[Doubt::RightElsewhere]);
    // Both ways: push %rax.
    let pushed = [0x50, 0x85, 0xff, 0x74, 0x01, 0x90, 0x58, 0xc3];
    let rows = |last| vec![row(0, 8), row(1, last), row(7, 8)];
    assert_doubts(&explored(&[Code::new("pushed", &pushed, rows(8))], &[]), &[]);
    assert!(findings(&explored(&[Code::new("pushed", &pushed, rows(16))], &[])).is_empty());
}

#[test]
fn a_call_within_the_function_is_doubted() {
    // call 1f; ret; nop; 1: nop; ret.
    let code = [0xe8, 0x02, 0, 0, 0, 0xc3, 0x90, 0x90, 0xc3];
    assert_doubts(&explored(&[Code::new("internal", &code, vec![row(0, 8)])], &[]), &[Doubt::InternalCall]);
}

/// Where a label only gives up the return address, as behind data, the call is a jump.
#[test]
fn a_call_within_the_function_that_never_returns_is_not_doubted() {
    // call 1f; .byte 0x90; 1: pop %rax; ret.
    let jumps = [0xe8, 1, 0, 0, 0, 0x90, 0x58, 0xc3];
    assert_doubts(&explored(&[Code::new("jumps", &jumps, vec![row(0, 8)])], &[]), &[]);
    let rows = vec![row(0, 8), row(6, 16), row(7, 8)];
    assert!(findings(&explored(&[Code::new("jumps", &jumps, rows)], &[])).is_empty());
    // call 1f; ret; 1: test %edi,%edi; je 2f; ret; 2: pop %rax; ret.
    let both = [0xe8, 1, 0, 0, 0, 0xc3, 0x85, 0xff, 0x74, 1, 0xc3, 0x58, 0xc3];
    assert_doubts(&explored(&[Code::new("both", &both, vec![row(0, 8)])], &[]), &[Doubt::InternalCall]);
    // call 1f; ret; 1: pop %rax; jmp *%rax, which may be a return.
    let unknown = [0xe8, 1, 0, 0, 0, 0xc3, 0x58, 0xff, 0xe0];
    assert_doubts(&explored(&[Code::new("unknown", &unknown, vec![row(0, 8)])], &[]), &[Doubt::InternalCall]);
    // call 1f; push %rdi; pop %rax; ret; 1: nop; ret. What comes after the return is the function's.
    let after = [0xe8, 3, 0, 0, 0, 0x57, 0x58, 0xc3, 0x90, 0xc3];
    let rows = vec![row(0, 8), row(8, 16)];
    assert_doubts(&explored(&[Code::new("after", &after, rows)], &[]), &[]);
}

/// The child of a clone has another stack.
#[test]
fn what_comes_after_a_system_call_is_doubted() {
    // push %rdi; syscall, or nop; pop %rax; ret.
    let with = |call: [u8; 2]| {
        let code = [&[0x57][..], &call, &[0x58, 0xc3]].concat();
        let rows = vec![row(0, 8), row(1, 16), row(3, 24), row(4, 8)];
        explored(&[Code::new("calls", &code, rows)], &[])
    };
    assert_doubts(&with([0x0f, 0x05]), &[Doubt::SystemCall]);
    assert_doubts(&with([0x66, 0x90]), &[]);
}

#[test]
fn a_path_that_runs_past_the_end_of_a_function_is_doubted() {
    // push %rdi, as long as functions are aligned; and in a part of its own: pop %rax; ret.
    let start = [&[0x57][..], &[0x90; 15]].concat();
    let parts = [
        Code::new("whole", &start, vec![row(0, 8), row(1, 16)]),
        Code::new("whole.cold", &[0x58, 0xc3], vec![row(0, 24), row(1, 8)]),
    ];
    assert_doubts(&explored(&parts, &[]), &[Doubt::RunsInto]);
}

/// Where compilers know that nothing comes behind, a function ends, and a jump that is never taken leads
/// into a part of the next one.
#[test]
fn a_jump_into_another_functions_part_is_doubted() {
    // push %rax; test %edi,%edi; jne part; and then: pop %rax; ret.
    let one = |last: [u8; 2]| {
        let code = [&[0x50, 0x85, 0xff, 0x0f, 0x85, 23, 0, 0, 0][..], &last].concat();
        Code::new("one", &code, vec![row(0, 8), row(1, 16), row(10, 8)])
    };
    // test %edi,%edi; jne part, or nop; ret.
    let other =
        |jump: [u8; 6]| Code::new("other", &[&[0x85, 0xff][..], &jump, &[0xc3]].concat(), vec![row(0, 8)]);
    let part = || Code::new("other.cold", &[0x90, 0xc3], vec![row(0, 8)]);
    let (jumps, falls) = ([0x0f, 0x85, 8, 0, 0, 0], [0x66, 0x0f, 0x1f, 0x44, 0, 0]);
    let of_two = explored(&[one([0x58, 0xc3]), other(jumps), part()], &[]);
    assert_doubts(&of_two, &[Doubt::RightElsewhere, Doubt::ImpossibleJump]);
    let of_one = explored(&[one([0x58, 0xc3]), other(falls), part()], &[]);
    assert_doubts(&of_one, &[]);
    // The jump is taken if there is no entry in a table, through which it goes on: jmp *%rax.
    let behind_table = explored(&[one([0xff, 0xe0]), other(falls), part()], &[]);
    assert_doubts(&behind_table, &[Doubt::ImpossibleJump]);
}

/// Where memory of less than no size is allocated on the stack, what the frame has saved is below it.
#[test]
fn a_computed_stack_pointer_is_doubted() {
    // stp x29, x30, [sp, #-48]!; mov x29, sp; add sp, x29, #32; nop; mov sp, x29; ldp x29, x30, [sp], #48; ret.
    let words: [u32; 7] =
        [0xa9bd_7bfd, 0x9100_03fd, 0x9100_83bf, 0xd503_201f, 0x9100_03bf, 0xa8c3_7bfd, 0xd65f_03c0];
    let code: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    let rule = |base, offset, dereference| RecoveryRule { base, offset, dereference };
    let saved = |start, base| Row {
        cfa: Some(rule(base, 48, false)),
        ra: Recovery::Rule(rule(Base::Cfa, -40, true)),
        fp: Recovery::Rule(rule(Base::Cfa, -48, true)),
        ..row_of_leaf(Abi::Aarch64, start, 0)
    };
    let leaf = |start| row_of_leaf(Abi::Aarch64, start, 0);
    let rows = vec![leaf(0), saved(4, Base::Sp), saved(8, Base::Fp), leaf(24)];
    let report = explored_for(Abi::Aarch64, &[Code::new("allocates", &code, rows)], &[]);
    assert_doubts(&report, &[Doubt::ComputedSp]);
}

/// The same of a CFA that the function has saved: a loop that is forced to go on writes over it.
#[test]
fn a_store_over_a_saved_cfa_may_be_elsewhere() {
    let wrong = |store: &[u8]| {
        // lea 8(%rsp),%r10; push %rbp; mov %rsp,%rbp; push %r10; lea (%rsp),%rax; the store of 0.
        let begin = [0x4c, 0x8d, 0x54, 0x24, 8, 0x55, 0x48, 0x89, 0xe5, 0x41, 0x52, 0x48, 0x8d, 0x04, 0x24];
        // nop; pop %rax; pop %rbp; ret.
        let code = [&begin[..], store, &[0x90, 0x58, 0x5d, 0xc3]].concat();
        let end = u32::try_from(code.len()).expect("few bytes");
        let saved = Row {
            cfa: Some(RecoveryRule { base: Base::Fp, offset: -8, dereference: true }),
            ..crate::made_objects::saves_fp(row(11, 16), Base::Cfa, -16)
        };
        let popped = |start| crate::made_objects::saves_fp(row(start, 16), Base::Cfa, -16);
        let rows = vec![row(0, 8), popped(6), saved, popped(end - 2), row(end - 1, 8)];
        explored(&[Code::new("realigns", &code, rows)], &[])
    };
    let certainties = |report: &Value| -> Vec<(String, bool)> {
        let all = findings(report).iter().filter(|found| found["verdict"] == "wrong-cfa");
        all.map(|found| {
            let doubts = found["doubts"].as_array().expect("a list");
            (name(&found["certainty"]), doubts.iter().any(|doubt| doubt == "wild-store"))
        })
        .collect()
    };
    // movq $0,(%rax), and movq $0,-8(%rbp).
    assert_eq!(certainties(&wrong(&[0x48, 0xc7, 0x00, 0, 0, 0, 0])), [("possible".to_owned(), true)]);
    assert_eq!(certainties(&wrong(&[0x48, 0xc7, 0x45, 0xf8, 0, 0, 0, 0])), [("proved".to_owned(), false)]);
}

/// A store whose place was computed may be to another one in a program that runs.
#[test]
fn a_store_through_another_register_may_be_elsewhere() {
    let wrong = |store: &[u8]| {
        // push %rbp; lea (%rsp),%rax; the store of 0; pop %rbp; ret.
        let code = [&[0x55, 0x48, 0x8d, 0x04, 0x24], store, &[0x48, 0x8b, 0x2c, 0x24, 0x58, 0xc3]].concat();
        let end = u32::try_from(code.len()).expect("few bytes");
        let saved =
            |start, offset| crate::made_objects::saves_fp(row(start, offset), sframe_engine::Base::Cfa, -16);
        let rows = vec![row(0, 8), saved(1, 16), row(end - 1, 8)];
        // A second way out keeps FP.
        explored(&[Code::new("stores", &code, rows)], &[])
    };
    let doubts = |report: &Value| -> BTreeSet<String> {
        let all = findings(report).iter().flat_map(|found| found["doubts"].as_array().expect("a list"));
        all.map(|doubt| doubt.as_str().expect("a name").to_owned()).collect()
    };
    // movq $0,(%rax), and movq $0,(%rsp).
    assert!(doubts(&wrong(&[0x48, 0xc7, 0x00, 0, 0, 0, 0])).contains("wild-store"));
    assert!(!doubts(&wrong(&[0x48, 0xc7, 0x04, 0x24, 0, 0, 0, 0])).contains("wild-store"));
}

/// A counter that is too large is reduced, and the finding says so.
#[test]
fn a_string_instruction_is_not_repeated_forever() {
    // or $-1,%rcx; rep stosb; push %rax; ret-less: pop %rax; ret.
    let code = [0x48, 0x83, 0xc9, 0xff, 0xf3, 0xaa, 0x50, 0x58, 0xc3];
    let report = explored(&[Code::new("clears", &code, vec![row(0, 8)])], &[]);
    assert_doubts(&report, &[]);
    let assumed = &findings(&report)[0]["assumptions"];
    assert!(
        assumed[0].as_str().is_some_and(|text| text.ends_with(" may be repeated fewer times")),
        "{assumed}"
    );
    assert!(report["summary"]["instructions"].as_u64() < Some(1000));
}

/// Arguments that a function gets on the stack are small in one of two versions.
#[test]
fn arguments_on_the_stack_may_be_small_numbers() {
    // mov 8(%rsp),%rax; mov %rsp,%rcx; sub %rax,%rsp; nop; mov %rcx,%rsp; ret.
    let code =
        [0x48, 0x8b, 0x44, 0x24, 0x08, 0x48, 0x89, 0xe1, 0x48, 0x29, 0xc4, 0x90, 0x48, 0x89, 0xcc, 0xc3];
    let report = explored(&[Code::new("variable", &code, vec![row(0, 8)])], &[]);
    assert_doubts(&report, &[Doubt::OneSeed]);
}

/// Of a long path the last assumptions are told: with all of them, findings would take memory by the square of calls.
#[test]
fn what_a_long_path_assumes_is_told_in_part() {
    // 150 times: call callee. Then push %rax; pop %rax; ret.
    let calls = (1..=150_i32).flat_map(|number| {
        let [a, b, c, d] = (768 - 5 * number).to_le_bytes();
        [0xe8, a, b, c, d]
    });
    let caller: Vec<u8> = calls.chain([0x50, 0x58, 0xc3]).collect();
    let functions =
        [Code::new("caller", &caller, vec![row(0, 8)]), Code::new("callee", &[0xc3], vec![row(0, 8)])];
    let report = explored(&functions, &[]);
    assert_doubts(&report, &[]);
    let assumed = findings(&report)[0]["assumptions"].as_array().expect("a list");
    assert_eq!((assumed.len(), &assumed[0]), (101, &"50 more, earlier on the path".into()));
}

/// Unless it does so on some paths only, its code shows it.
#[test]
fn a_callee_that_removes_its_arguments_is_followed() {
    let rows = vec![row(0, 8), row(1, 16), row(6, 8)];
    // push %rdi; call 1f; ret; and `ret $8`, or `add $8,%rsp; ret`.
    let caller = [0x57, 0xe8, 10, 0, 0, 0, 0xc3];
    let with = |callee: &[u8]| {
        explored(
            &[Code::new("caller", &caller, rows.clone()), Code::new("callee", callee, vec![row(0, 8)])],
            &[],
        )
    };
    assert!(findings(&with(&[0xc2, 8, 0])).is_empty());
    assert_doubts(&with(&[0xc3]), &[]);
    // test %edi,%edi; je 1f; ret; 1: ret $8.
    assert_doubts(&with(&[0x85, 0xff, 0x74, 1, 0xc3, 0xc2, 8, 0]), &[Doubt::IrregularCallee]);
}

#[rstest]
#[case(Undecided::Outermost, "gnu-2.47/aarch64/leaf.O2", "_start")]
#[case(Undecided::LeftCaller, "gnu-2.47/amd64/discarded_return.O2", "drop_two")]
#[case(Undecided::SignalFrame, "gnu-2.47/aarch64/signal_stack.O2", "bench_restorer")]
#[case(Undecided::NoEntry, "gnu-2.40/amd64/plt.O2-shared", ".plt")]
#[case(Undecided::IndirectJump, "gnu-2.40/amd64/computed_return.O2", "frame_return")]
#[case(Undecided::NotReached, "gnu-2.40/amd64/discarded_return.O2", "")]
fn rows_are_left_undecided_for_a_reason(#[case] reason: Undecided, #[case] id: &str, #[case] function: &str) {
    let report = json(&bench(&["explore", "--json", &path(id)]));
    let functions = report["functions"].as_array().expect("a list");
    let found = functions.iter().find(|found| {
        let count = found["undecided"][name(reason)].as_u64();
        count > Some(0) && (function.is_empty() || found["function"] == function)
    });
    assert!(found.is_some(), "{functions:#?}");
    let summary = &report["summary"];
    let undecided: u64 =
        summary["undecided"].as_object().expect("counts").values().filter_map(Value::as_u64).sum();
    assert_eq!(
        summary["rows_total"].as_u64(),
        summary["rows_checked"].as_u64().map(|judged| judged + undecided)
    );
}

#[test]
fn a_row_that_cannot_be_decoded_is_not_judged() {
    let functions = [Code::new("leaf", &[0x90, 0xc3], vec![row(0, 8)])];
    let mut bytes = object(Abi::Amd64, &functions);
    let header = bytes.windows(4).position(|word| word == [0xe2, 0xde, 3, 5]).expect("a section");
    // The row: its start, then an info byte with the size of its data, which no version has.
    let row = header + 28 + 16 + 5 + 1;
    assert_ne!(bytes[row] & 0x60, 0x60);
    bytes[row] |= 0x60;
    let folder = tempfile::tempdir().expect("a folder");
    let output = bench(&["explore", "--json", &written(folder.path(), "odd.o", &bytes)]);
    assert_eq!(status(&output), 3, "{output:?}");
    assert_eq!(json(&output)["summary"]["undecided"]["malformed"], 1);
}

/// What lies behind an instruction that nobody knows, of which not even the length is known, is undecided for that, and it
/// is named; so is one that may change SP. Too little is judged then.
#[rstest]
// push %rax; push2 %rax, %rcx; pop %rax; ret.
#[case::unknown(&[0x50, 0x62, 0xf4, 0x7c, 0x18, 0xff, 0xf1, 0x58, 0xc3], "62f47c18fff158c3")]
fn rows_behind_an_unknown_instruction_are_undecided(#[case] code: &[u8], #[case] named: &str) {
    let last = u32::try_from(code.len()).expect("a size") - 1;
    let functions = [Code::new("f", code, vec![row(0, 8), row(1, 16), row(7, 32), row(last, 24)])];
    let folder = tempfile::tempdir().expect("a folder");
    let file = written(folder.path(), "unknown.o", &object(Abi::Amd64, &functions));
    let output = bench(&["explore", "--json", &file]);
    let report = json(&output);
    assert_eq!((status(&output), &report["verdict"]), (3, &"INCONCLUSIVE".into()), "{report:#}");
    assert_eq!(report["summary"]["undecided"], serde_json::json!({"unknown-instruction": 2}));
    let unknown = &report["functions"][0]["unknown_instruction"];
    assert_eq!(unknown["instruction"], named, "{report:#}");
    assert_eq!(report["too_little"][0], "2 of 4 rows that have a caller checked, less than 90% (--coverage)");
    for (share, expected) in [("50%", 0), ("50.01%", 3), ("all", 3)] {
        assert_eq!(status(&bench(&["explore", "--coverage", share, &file])), expected, "{share}");
    }
    let said = String::from_utf8_lossy(&bench(&["explore", "--verbose", &file]).stdout).into_owned();
    let words = said.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains(&format!("or stepped over: {named} at ")) && said.contains(" in f\n"), "{said}");
    assert!(said.contains("\n    not enough for a verdict: 2 of 4 rows"), "{said}");
}

/// A function that has no caller, as its row says, can only be checked by running, unless it returns to one: that is said,
/// and is no part of what was checked. One without rows says the same.
#[test]
fn functions_that_say_that_they_have_no_caller_are_not_checked() {
    let mark = || vec![Row { ra: Recovery::Undefined, cfa: None, fp: Recovery::Undefined, ..row(0, 8) }];
    let folder = tempfile::tempdir().expect("a folder");
    // push %rax; pop %rcx; ret. And a jump to itself.
    let right = Code::new("right", &[0x50, 0x59, 0xc3], vec![row(0, 8), row(1, 16), row(2, 8)]);
    let marked = Code::new("marked", &[0xeb, 0xfe], mark());
    let file = written(folder.path(), "marked.o", &object(Abi::Amd64, &[right, marked]));
    for (coverage, expected) in [("75%", 0), ("all", 3)] {
        let output = bench(&["explore", "--coverage", coverage, &file]);
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        assert_eq!(status(&output), expected, "{said}");
        assert!(said.contains("3 of 4 rows checked, all correct\n"), "{said}");
        assert!(said.contains("    1 function without a caller, as the section says"), "{said}");
        assert!(said.contains("only running can check: marked\n"), "{said}");
    }
    let returning = object(Abi::Amd64, &[Code::new("marked", &[0xc3], mark())]);
    assert_eq!(status(&bench(&["explore", &written(folder.path(), "returning.o", &returning)])), 1);
    let without_rows = with_changed("gnu-2.47/amd64/leaf.O2", "leaf", |leaf| leaf.rows.clear());
    let report = explored_file(&written(folder.path(), "without-rows", &without_rows));
    assert_eq!(report["findings"][0]["verdict"], "truncated", "{report:#}");
    assert_eq!(report["summary"]["rows_wrong"], 1, "{report:#}");
    // The system starts a program where there is no caller.
    for toolchain in ["gnu-2.47", "derived-v3-layout"] {
        let report = explored_file(&format!("corpus/builds/{toolchain}/amd64/leaf.O2"));
        assert_eq!(report["summary"]["undecided"]["outermost"], 1, "{report:#}");
    }
}

fn explored_file(file: &str) -> Value {
    json(&bench(&["explore", "--json", file]))
}

/// A function that is marked as a signal's frame is one: its rows are judged as those of others are. Where a caller is
/// elsewhere than a call leaves it, nothing is.
#[rstest]
#[case::right([8, 16], 0, 3, None)]
#[case::wrong([8, 24], 1, 3, None)]
#[case::of_a_restorer([16, 24], 3, 0, Some(3))]
fn functions_of_signal_frames_are_explored(
    #[case] offsets: [i64; 2],
    #[case] expected: i32,
    #[case] checked: u64,
    #[case] undecided: Option<u64>,
) {
    // push %rax; pop %rcx; ret.
    let rows = vec![row(0, offsets[0]), row(1, offsets[1]), row(2, offsets[0])];
    let function = Code { signal: true, ..Code::new("f", &[0x50, 0x59, 0xc3], rows) };
    let folder = tempfile::tempdir().expect("a folder");
    let output =
        bench(&["explore", "--json", &written(folder.path(), "f.o", &object(Abi::Amd64, &[function]))]);
    let report = json(&output);
    let (summary, findings) = (&report["summary"], findings(&report));
    assert_eq!((status(&output), summary["rows_checked"].as_u64()), (expected, Some(checked)), "{report:#}");
    assert_eq!(summary["undecided"]["signal-frame"].as_u64(), undecided, "{report:#}");
    assert_eq!(findings.len(), usize::from(expected == 1), "{report:#}");
    assert!(findings.iter().all(|finding| finding["verdict"] == "wrong-cfa"), "{report:#}");
}

/// Entries that only one of the guide's page and the program has.
fn unexplained(page: &str, keys: &BTreeSet<String>) -> Vec<&'static str> {
    let expected = [
        ("doubt", Doubt::ALL.map(name).into_iter().collect()),
        ("undecided", Undecided::ALL.map(name).into_iter().collect()),
        ("key of explore", keys.clone()),
    ];
    let differ = expected.into_iter().filter(|(title, names): &(&str, BTreeSet<String>)| {
        let cells: Vec<String> = first_cells(page, title).into_values().flatten().collect();
        let there = cells.iter().flat_map(|cell| cell.split(", ")).map(str::to_owned);
        there.collect::<BTreeSet<_>>() != *names
    });
    differ.map(|(title, _)| title).collect()
}

#[test]
fn each_doubt_reason_and_key_is_explained() {
    let report = explored(&[Code::new("leaf", &[0xc3], vec![row(0, 8)])], &[]);
    let keys = report.as_object().expect("an object").keys().cloned().collect();
    let page = std::fs::read_to_string(repository().join("harness/guide/explore.md")).expect("the page");
    assert_eq!(unexplained(&page, &keys), Vec::<&str>::new());
    for (from, to, title) in [
        ("| `one-seed` |", "| `two-seeds` |", "doubt"),
        ("| `malformed` |", "| |", "undecided"),
        ("| `interrupted` |", "| `was_interrupted` |", "key of explore"),
    ] {
        assert!(page.contains(from), "{from}");
        assert_eq!(unexplained(&page.replace(from, to), &keys), [title]);
    }
}
