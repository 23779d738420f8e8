//! `study`: its documents, pages and exit statuses.

use std::process::Command;

use rstest::rstest;
use serde_json::Value;
use sframe_judge::study::Walks;
use sframe_judge::vocabulary::Topmost;
use sframe_kit::text::grouped;
use sframe_suite::report::StudyReport;

use crate::command::{bench, bench_in, json, status};
use crate::common::repository;
use crate::doctor::{self, patch_first_row};

fn study_json(arguments: &[&str]) -> Value {
    let output = bench(&[&["study", "--json"], arguments].concat());
    let report = json(&output);
    let wrong = serde_json::from_value::<StudyReport>(report.clone()).expect("a study").wrong();
    assert_eq!(status(&output), i32::from(wrong > 0), "{output:?}");
    report
}

/// Where FP has been popped and the row reads it from the slot is counted: after `leave` of amd64, and nowhere where FP is
/// loaded last, or is not saved.
#[rstest]
#[case("amd64/recursion.O0", true)]
#[case("amd64/leaf.O2-fp", true)]
#[case("s390x/recursion.O0", false)]
#[case("aarch64/recursion.O0", false)]
fn walks_from_popped_slots_are_counted(#[case] id: &str, #[case] expected: bool) {
    let path = format!("corpus/builds/gnu-2.47/{id}");
    let popped = study_json(&[&path])["images"][0]["executed"]["popped_slots"].as_u64().expect("a number");
    let page = String::from_utf8(bench(&["study", &path]).stdout).expect("text");
    assert_eq!(
        (popped > 0, page.contains("\n    FP below SP in the topmost row, ")),
        (expected, expected),
        "{page}"
    );
    assert_eq!(page.contains("\n    by who has made the code: "), expected, "{page}");
    assert_eq!(page.contains(" % of GNU C"), expected, "{page}");
}

/// All ways are asked at the same places, and each of these is where it is, wherever the walk from there goes wrong.
#[rstest]
#[case("amd64/contexts.O0", Topmost::NoRow)]
#[case("aarch64/noreturn_call.O2", Topmost::AfterNoreturnCall)]
#[case("amd64/crossing.O2-dynamic", Topmost::LinkageTable)]
#[case("s390x/recursion.O0", Topmost::Epilogue)]
fn walks_are_counted_by_what_the_topmost_frame_was_in(#[case] id: &str, #[case] rare: Topmost) {
    let path = format!("corpus/builds/gnu-2.47/{id}");
    let report: StudyReport = serde_json::from_value(study_json(&[&path])).expect("a study");
    let executed = &report.images[0].executed;
    let asked = |walks: &Walks| {
        let of = walks.by_topmost.0.iter().filter(|(_, worth)| worth.total() > 0);
        of.map(|(topmost, worth)| (*topmost, worth.total())).collect::<Vec<_>>()
    };
    let sframe = asked(&executed.sframe);
    for topmost in [Topmost::Prologue, Topmost::Body, rare] {
        assert!(sframe.iter().any(|(at, _)| *at == topmost), "{topmost}: {sframe:?}");
    }
    for walks in [&executed.cfi, &executed.frame_pointers, &executed.with_code] {
        assert_eq!(asked(walks), sframe);
    }
    // Without a look at the code, a caller is left out where its callee has no record yet.
    let of = |walks: &Walks| walks.by_topmost.0[&Topmost::Prologue].complete;
    assert!(20 * of(&executed.frame_pointers) < of(&executed.sframe), "{executed:?}");
    let page = String::from_utf8(bench(&["study", "--verbose", &path]).stdout).expect("text");
    assert!(page.contains(&format!("topmost frame in {rare}: ")), "{page}");
    // Whoever decides by them need not ask for more.
    let brief = String::from_utf8(bench(&["study", &path]).stdout).expect("text");
    let line =
        brief.lines().find(|line| line.trim_start().starts_with(&rare.to_string())).unwrap_or_default();
    let all = report.images.iter().map(|image| &image.executed).chain([&report.elsewhere]);
    let walks = all.filter_map(|of| of.sframe.by_topmost.0.get(&rare)).map(|of| of.total()).sum::<u64>();
    let words: Vec<&str> = line.split_whitespace().collect();
    assert!(words.get(1) == Some(&&*grouped(walks)) && line.matches('%').count() == 4, "{brief}");
}

#[test]
fn a_wrong_row_is_listed() {
    let mut bytes = doctor::build("gnu-2.47/amd64/mutual_recursion.O2");
    patch_first_row(&mut bytes, "main");
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("mutual_recursion.O2");
    std::fs::write(&file, bytes).expect("a file");
    let report = study_json(&[file.to_str().expect("text")]);
    let report: StudyReport = serde_json::from_value(report).expect("a study");
    let rows: Vec<&str> = report.images[0].wrong_rows.iter().map(|row| row.function.as_str()).collect();
    assert!(rows.contains(&"main"), "{rows:?}");
    assert_eq!(report.images[0].name, "mutual_recursion.O2");
}

/// What can't be decoded is wrong, however the walks that meet it end.
#[test]
fn an_fde_that_can_not_be_decoded_is_a_finding() {
    let mut bytes = doctor::build("gnu-2.47/amd64/mutual_recursion.O2");
    // The FRE type, in the first info byte of the attributes that precede the rows (version 3, 2.3.2).
    let rows = doctor::rows_of(&bytes, "main").start;
    bytes[rows - 3] |= 0xf;
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("mutual_recursion.O2");
    std::fs::write(&file, bytes).expect("a file");
    let file = file.to_str().expect("text");
    let report: StudyReport = serde_json::from_value(study_json(&[file])).expect("a study");
    assert!(report.wrong() > 0 && report.images[0].wrong_rows.is_empty());
    let page = String::from_utf8(bench(&["study", file]).stdout).expect("text");
    assert!(page.contains("\nFAIL: ") && page.contains(" without a row: decode-error\n"), "{page}");
}

/// Each instruction belongs to the image that it is in.
#[test]
fn images_are_counted_and_measured_each_for_itself() {
    let report = study_json(&["corpus/builds/gnu-2.47/amd64/crossing.O2-dynamic"]);
    let images = report["images"].as_array().expect("images");
    let names: Vec<&str> = images.iter().filter_map(|image| image["name"].as_str()).collect();
    assert_eq!(
        names,
        ["crossing.O2-dynamic", "crossing.O2-dynamic.second.so", "crossing.O2-dynamic.first.so"]
    );
    let executed = |image: &Value| image["executed"]["instructions"].as_u64().expect("a number");
    assert!(images.iter().all(|image| executed(image) > 100), "{images:#?}");
    let elsewhere = report["elsewhere"]["instructions"].as_u64().expect("a number");
    let sum = images.iter().map(executed).sum::<u64>() + elsewhere;
    assert_eq!(Some(sum), report["instructions"].as_u64());
    for image in images {
        let sizes = &image["sizes"];
        for size in ["code", "sframe", "sframe_functions", "sframe_rows", "eh_frame", "cfi_functions"] {
            assert!(sizes[size].as_u64().is_some_and(|size| size > 0), "{size}: {image:#?}");
        }
        assert_eq!(image["section"], "sframe");
    }
}

/// What a section lacks is what `diff` says.
#[rstest]
#[case("gnu-2.44/amd64/realign.O2")]
#[case("gnu-2.47/amd64/flex_rows.O2")]
#[case("gnu-2.40/s390x/saved_fprs.O2")]
fn functions_without_an_fde_are_those_of_diff(#[case] id: &str) {
    let path = format!("corpus/builds/{id}");
    if !repository().join(&path).exists() {
        return;
    }
    let skipped = &study_json(&[&path])["images"][0]["skipped"];
    let uncovered = json(&bench(&["diff", "--json", &path]))["uncovered"].as_array().expect("a list").clone();
    let size = |function: &Value| function["size"].as_u64().expect("a size");
    assert_eq!(skipped["functions"].as_u64(), Some(uncovered.len() as u64));
    assert_eq!(skipped["bytes"].as_u64(), Some(uncovered.iter().map(size).sum()));
    let reasons = skipped["reasons"].as_object().expect("reasons");
    assert_eq!(reasons.values().filter_map(Value::as_u64).sum::<u64>(), uncovered.len() as u64);
}

/// The number of walks in all, and of those that are complete.
fn walks(walks: &Value) -> [f64; 2] {
    let walks: Walks = serde_json::from_value(walks.clone()).expect("walks");
    [walks.worth().total(), walks.worth().complete].map(|count| count as f64)
}

#[test]
fn a_page_joins_the_reports_of_a_group() {
    let folder = tempfile::tempdir().expect("a folder");
    let group = folder.path().join("studies/libc/amd64");
    std::fs::create_dir_all(&group).expect("a folder");
    let page = || bench_in(folder.path(), &["study", "--page", "studies"]);
    let none = page();
    assert_eq!(status(&none), 2);
    assert!(String::from_utf8_lossy(&none.stderr).contains("no reports in it"), "{none:?}");

    let mut report = study_json(&["corpus/builds/gnu-2.47/amd64/crossing.O2-dynamic"]);
    let write = |name: &str, report: &Value| {
        std::fs::write(group.join(name), report.to_string()).expect("a report");
    };
    // Large enough to be listed, but only in both programs together.
    report["images"][1]["executed"]["instructions"] = 60_000.into();
    write("one.json", &report);
    let once = walks(&report["images"][1]["executed"]["sframe"]);
    // The walks of a longer run may be further apart, and then stand for more instructions.
    report["every"] = 4.into();
    let worth = serde_json::json!({ "complete": 0, "incomplete": 20, "silent": 5, "wrong": 75 });
    for way in ["sframe", "cfi", "frame_pointers", "with_code"] {
        report["images"][1]["executed"][way] = serde_json::json!({ "by_topmost": { "prologue": worth } });
    }
    report["images"][1]["executed"]["unsettled"] = 5.into();
    write("two.json", &report);
    report["broken"] = "a reason | with a bar".into();
    write("three.json", &report);
    let output = page();
    assert_eq!(status(&output), 0, "{output:?}");
    let page_text = String::from_utf8(output.stdout).expect("text");
    let instructions = report["instructions"].as_u64().expect("a number");
    let twice = grouped(2 * instructions);
    assert!(page_text.contains(&format!("| `libc/amd64` | 2 | {twice} |")), "{page_text}");
    assert!(
        page_text.contains("| wrong-cfa | 1 | producer-linker (high) | `first_leaf@plt+0x0` |"),
        "{page_text}"
    );
    let joined = 100.0 * once[1] / (once[0] + 400.0);
    let row = format!("| `crossing.O2-dynamic.second.so` | 120,000 | {joined:.2} % |");
    assert!(page_text.contains(&row), "{row}\n{page_text}");
    let sum = |of: fn(&Value) -> &Value| {
        let [first, last] = [0, 2].map(|image| of(&report["images"][image]).as_u64().expect("a number"));
        first + last
    };
    let executed = grouped(2 * sum(|image| &image["executed"]["instructions"]));
    let code = grouped(sum(|image| &image["sizes"]["code"]));
    for row in
        [format!("| 2 smaller images | {executed} |"), format!("| 2 smaller images | {code} | its own |")]
    {
        assert!(page_text.contains(&row), "{row}\n{page_text}");
    }
    assert!(!page_text.contains("| `crossing.O2-dynamic` |"), "{page_text}");
    let unsettled =
        "Not counted, by the same estimate: 20 instructions where the correct answer was undecidable";
    assert!(page_text.contains(unsettled), "{page_text}");
    assert!(page_text.contains(r"Not counted: `three`: `a reason \| with a bar`."), "{page_text}");

    std::fs::write(group.join("four.json"), "{}").expect("a report");
    let refused = page();
    assert_eq!(status(&refused), 2);
    assert!(String::from_utf8_lossy(&refused.stderr).contains("four.json: not the output"), "{refused:?}");
}

/// The exit status says whether the study is one; findings are the business of `check`.
#[rstest]
#[case(&["corpus/builds/gnu-2.47/amd64/recursion.O2"], 0)]
#[case(&["corpus/builds/gnu-2.47/amd64/realign.O2"], 1)]
#[case(&["corpus/builds/gnu-2.47/amd64/leaf.O2", "--exit-status", "77"], 4)]
#[case(&["corpus/builds/gnu-2.47/amd64/leaf.O2", "--budget", "50"], 4)]
#[case(&["corpus/builds/gnu-2.47/amd64/no-such-build"], 2)]
#[case(&["README.md"], 2)]
#[case(&[], 2)]
#[case(&["--page", "corpus", "--json"], 2)]
fn a_study_has_an_exit_status(#[case] arguments: &[&str], #[case] expected: i32) {
    let output = bench(&[&["study"], arguments].concat());
    assert_eq!(status(&output), expected, "{output:?}");
}

/// The script asks for what the bench has, and its page has each program.
#[test]
fn the_script_makes_a_page_of_a_root() {
    let folder = tempfile::tempdir().expect("a folder");
    let real = folder.path().join("real");
    let (root, expected) = (real.join("musl-plain/amd64"), real.join("expected/musl-plain"));
    for new in [root.join("bin"), root.join("inputs"), expected.clone()] {
        std::fs::create_dir_all(new).expect("a folder");
    }
    let cases = std::fs::read_to_string(repository().join("ci/real/cases.tsv")).expect("the cases");
    let fields = cases.lines().filter(|line| !line.starts_with('#')).map(|line| line.split('\t').collect());
    let cases: Vec<Vec<&str>> =
        fields.filter(|case: &Vec<&str>| case[1].split(',').any(|scope| scope == "musl-plain")).collect();
    let build = doctor::build("gnu-2.47/amd64/leaf.O2");
    for case in &cases {
        std::fs::write(root.join(case[2]), &build).expect("a program");
        std::fs::write(expected.join(case[0]), "").expect("what it prints");
        if let Some(input) = case[6].strip_prefix('/') {
            std::fs::write(root.join(input), "").expect("an input");
        }
    }
    std::fs::write(real.join("musl-plain/amd64.expected"), "").expect("a mark");
    let script = |arguments: &[&str]| {
        let output = Command::new("bash")
            .arg(repository().join("ci/real/study"))
            .args(arguments)
            .env("SFRAME_REAL", &real)
            .env("SFRAME_STUDY", folder.path().join("study"))
            .env("SFRAME_TESTBENCH", env!("CARGO_BIN_EXE_sframe-testbench"))
            .output()
            .expect("bash");
        (status(&output), String::from_utf8(output.stdout).expect("text"))
    };
    let (status, page) = script(&[]);
    assert_eq!(status, 0);
    assert_eq!(script(&["--again"]), (0, page.clone()));
    assert_eq!(script(&["--unknown"]), (2, String::new()));
    // What people have written stands; the tables are these.
    let tables = |page: &str| {
        let (before, rest) =
            page.split_once("<!-- tables: written by ci/real/study -->\n").expect("the mark");
        let (tables, after) = rest.split_once("<!-- end of tables -->\n").expect("the other mark");
        (tables.to_owned(), [before, after].map(str::to_owned))
    };
    let committed = std::fs::read_to_string(repository().join("harness/results/study.md")).expect("the page");
    let ((old, stands), (new, written)) = (tables(&committed), tables(&page));
    assert_eq!(stands, written);
    assert!(new.starts_with("## All\n") && new != old, "{page}");
    assert!(
        new.contains("### FP below SP in the topmost row\n") && new.contains("| amd64 | `GNU C"),
        "{page}"
    );
    // What should end otherwise than this program does is not counted.
    let (sound, broken): (Vec<_>, Vec<_>) = cases.iter().partition(|case| case[3] == "0");
    assert!(sound.len() > 4 && broken.len() > 1);
    // In short ones, stacks are walked at every instruction.
    let long = sound.iter().filter(|case| matches!(case[2], "bin/bzip2" | "bin/lua")).count();
    for (group, cases) in [("", long), ("/short", sound.len() - long)] {
        assert!(page.contains(&format!("| `musl-plain/amd64{group}` | {cases} |")), "{page}");
    }
    for case in broken {
        assert!(page.contains(&format!("Not counted: `{}`", case[0])), "{page}");
    }
}

/// A word is pushed and jumped past, and is returned to: a call, for whom the rows describe it so. `None` without a compiler.
fn called_by_hand(folder: &std::path::Path, callee: &str, after_jump: &str) -> Option<String> {
    let source = folder.join("source.c");
    let text = r#"__asm__(".globl callee\ncallee: .cfi_startproc; nop; "CALLEE" nop; nop; nop; ret; .cfi_endproc\n"
        ".globl caller\ncaller: .cfi_startproc; lea 1f(%rip), %rax; push %rax; .cfi_adjust_cfa_offset 8; jmp callee\n"
        ".cfi_adjust_cfa_offset -8; "AFTER" 1: nop; ret; .cfi_endproc");
        void caller(void);
        void outer(void) { caller(); __asm__ volatile("nop"); }
        __asm__(".globl _start\n_start: .cfi_startproc; .cfi_undefined rip; call outer; call outer; mov $231, %eax; "
        "xor %edi, %edi; syscall; .cfi_endproc");"#;
    std::fs::write(&source, text).expect("a file");
    let file = folder.join("program");
    let flags =
        ["-O1", "-m64", "-nostdlib", "-static", "-fno-pie", "-no-pie", "-fasynchronous-unwind-tables"];
    let defined = [format!("-DCALLEE={callee:?}"), format!("-DAFTER={after_jump:?}")];
    let compiled = Command::new("gcc").args(flags).args(defined).arg(&source).arg("-o").arg(&file).output();
    if !compiled.is_ok_and(|output| output.status.success()) {
        eprintln!("not run: there is no GCC for amd64");
        return None;
    }
    Some(file.display().to_string())
}

/// Where a run has yet to show that a jump was a call, walks wait for that, and count as what they are then.
#[rstest]
#[case::right("", "nop;", 0, 0)]
#[case::as_if_it_was_none(".cfi_adjust_cfa_offset 8;", "nop;", 1, 8)]
#[case::wrong(".cfi_adjust_cfa_offset -8;", "nop;", 1, 8)]
#[case::without_a_caller(".cfi_undefined rip;", "nop;", 1, 8)]
// Beyond the jump that is looked up, what has pushed the return address is not the caller's any more.
#[case::looked_up_at_the_jump("", "", 0, 10)]
// A row of its own, and one that SP plays no part in, is not that of the jump.
#[case::another_row("", ".cfi_adjust_cfa_offset 8; nop; .cfi_adjust_cfa_offset -8;", 1, 10)]
#[case::another_caller("", ".cfi_offset %rbp, -24; nop; .cfi_restore %rbp;", 1, 10)]
fn walks_from_a_call_by_hand_are_worth_what_they_are(
    #[case] callee: &str,
    #[case] after_jump: &str,
    #[case] expected: i32,
    #[case] not_complete: u64,
) {
    let folder = tempfile::tempdir().expect("a folder");
    let Some(file) = called_by_hand(folder.path(), callee, after_jump) else { return };
    let check = ["check", "--json", "--no-explore", "--from", "eh-frame", &file];
    let checked = bench(&check);
    assert_eq!(status(&checked), expected, "{checked:?}");
    // What is not complete is not called so.
    let report: Value = serde_json::from_slice(&checked.stdout).expect("JSON");
    let worth = report["summary"]["reliability_by_topmost"].as_object().expect("a mapping").values();
    let complete: u64 = worth.filter_map(|worth| worth["complete"].as_u64()).sum();
    let is_all = complete == report["summary"]["instructions"];
    assert_eq!(is_all, expected == 0 && not_complete == 0, "{report:#}");
    let reliable = bench(&[&check[..], &["--require-reliable"]].concat());
    assert_eq!(status(&reliable), i32::from(!is_all), "{reliable:?}");
    let executed = &study_json(&[&file])["images"][0]["executed"];
    assert_eq!(executed["unsettled"], 0, "{executed:#}");
    for way in ["sframe", "cfi"] {
        let worth = executed[way]["by_topmost"].as_object().expect("a mapping").values();
        let of = |of: &str| worth.clone().filter_map(|worth| worth[of].as_u64()).sum::<u64>();
        assert!(of("complete") > 0, "{executed:#}");
        // Only walks by SFrame are held to FP, as `check` does.
        let is_fp_alone = way == "cfi" && after_jump.contains("%rbp");
        let not_complete = if is_fp_alone { 0 } else { not_complete };
        assert_eq!(of("wrong") + of("silent") + of("incomplete"), not_complete, "{way} {executed:#}");
    }
}
