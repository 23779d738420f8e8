//! `ci/findings`: what reports have found, against the findings that were read.

use std::path::Path;
use std::process::{Command, Output};

use rstest::rstest;
use serde_json::json;

use crate::common::repository;

/// A table whose lines also say at which instruction a finding is.
#[rstest]
#[case::the_same("pushfq; pop *", 0)]
#[case::another("pushq *; pop *", 1)]
#[case::alone("pop *", 1)]
fn findings_may_be_known_by_their_instructions(#[case] code: &str, #[case] status: i32) {
    if !has_python() {
        return;
    }
    let folder = census(&[]);
    let table = format!("amd64\t*\t*\twrong-cfa\t*\t{code}\t-\tw\n");
    std::fs::write(folder.path().join("findings.tsv"), table).expect("a table");
    let line = |pc: &str, text: &str| json!({"pc": pc, "text": text, "row": null});
    let listing = [line("0x0", "pushfq"), line("0x1", "pop rbx"), line("0x2", "ret")];
    let finding = json!({"certainty": "proved", "verdict": "wrong-cfa", "function": "f", "row": null, "pc": "0x1",
        "message": "m", "listing": listing});
    let document = json!({"file": "vmlinux", "findings": [finding]});
    let reports = folder.path().join("reports");
    std::fs::remove_dir_all(&reports).expect("no reports");
    std::fs::create_dir_all(&reports).expect("a folder");
    std::fs::write(reports.join("amd64-vmlinux.json"), document.to_string()).expect("a document");
    assert_eq!(tell(folder.path(), "new findings.tsv reports amd64").0, Some(status));
    assert_eq!(
        tell(folder.path(), "faults findings.tsv reports amd64").0,
        Some(status),
        "the line is stale otherwise"
    );
}

/// A row may be wrong for several reasons, of which a finding shows one place: each has to be known.
#[test]
fn each_place_of_a_finding_is_known_by_its_instructions() {
    if !has_python() {
        return;
    }
    let folder = census(&[]);
    let line = |pc: &str, text: &str| json!({"pc": pc, "text": text, "row": null});
    let finding = json!({"certainty": "proved", "verdict": "wrong-cfa", "function": "f", "row": null, "pc": "0x1",
        "message": "m", "listing": [line("0x0", "pushfq"), line("0x1", "pop rbx")],
        "codes": {"pushfq; pop rbx": 1, "push rsp; push rax": 7}});
    let document = json!({"file": "vmlinux", "findings": [finding]});
    std::fs::write(folder.path().join("reports/aarch64-vmlinux.json"), document.to_string())
        .expect("a document");
    let with = |codes: &[&str]| {
        let lines = codes.iter().map(|code| format!("aarch64\t*\t*\twrong-cfa\t*\t{code}\t-\tw\n"));
        let table: String = lines.collect();
        std::fs::write(folder.path().join("findings.tsv"), table).expect("a table");
        let new = tell(folder.path(), "new findings.tsv reports aarch64");
        (new.0, new.1, tell(folder.path(), "faults findings.tsv reports aarch64"))
    };
    let (status, new, _) = with(&["pushfq; pop *"]);
    assert_eq!(status, Some(1));
    assert!(new.ends_with("\t0x1\tm; elsewhere in this row: push rsp; push rax\n"), "{new}");
    let (status, new, (of_faults, sums, _)) = with(&["pushfq; pop *", "push *; push *"]);
    assert_eq!((status, &*new, of_faults, &*sums), (Some(0), "", Some(0), "fault\taarch64\n-\t1\n"));
}

/// A line of `findings.tsv`, whose fields are separated by `|` here.
const PUSHES: &str =
    "amd64|libc.so.*|-|wrong-cfa|CFA = SP+8, RA = *(CFA-8), FP unchanged|*|glibc-addmul-pushes|within them";
const KEPT: &str = "s390x|*|-|truncated|CFA = r13+*, *|*|-|a limit of the format";

/// A census of two libraries: one for amd64 with a proved finding and one that is doubted, and
/// one for s390x with two.
fn census(lines: &[&str]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name);
    for name in ["ci", "specs/faults", "reports"] {
        std::fs::create_dir_all(path(name)).expect("a folder");
    }
    std::fs::copy(repository().join("ci/findings"), path("ci/findings")).expect("the script");
    std::fs::write(path("specs/faults/glibc-addmul-pushes.yaml"), "").expect("a page");
    let table = format!("# ABI\n{}\n", lines.join("\n").replace('|', "\t"));
    std::fs::write(path("findings.tsv"), table).expect("a table");
    let finding = |certainty: &str, verdict: &str, rules: &str| {
        let row = json!({"start": "0x0", "rules": rules});
        json!({"certainty": certainty, "verdict": verdict, "function": null, "row": row, "pc": "0x1", "message": "m"})
    };
    let pushes = |certainty| {
        let mut pushes = finding(certainty, "wrong-cfa", "CFA = SP+8, RA = *(CFA-8), FP unchanged");
        pushes["fault"] = json!({"name": "glibc-addmul-pushes"});
        pushes
    };
    let kept = |cfa| finding("proved", "truncated", &format!("CFA = {cfa}, RA unchanged, FP unchanged"));
    for (name, file, findings) in [
        ("amd64-libc6-libc.so.6", "root/libc.so.6", [pushes("proved"), pushes("possible")]),
        ("s390x-libffi8-libffi.so.8", "root/libffi.so.8", [kept("r13+160"), kept("r13+32")]),
    ] {
        let document = json!({"file": file, "findings": findings});
        std::fs::write(path(&format!("reports/{name}.json")), document.to_string()).expect("a document");
    }
    folder
}

fn has_python() -> bool {
    crate::command::program(&["python3"]).is_some()
}

fn tell(folder: &Path, command: &str) -> (Option<i32>, String, String) {
    let Output { status, stdout, stderr } = Command::new("python3")
        .arg("ci/findings")
        .args(command.split_whitespace())
        .current_dir(folder)
        .output()
        .expect("Python");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("UTF-8");
    (status.code(), text(stdout), text(stderr))
}

#[test]
fn findings_that_were_read_are_not_new_and_are_counted_by_fault() {
    if !has_python() {
        return;
    }
    let folder = census(&[PUSHES, KEPT]);
    assert_eq!(
        tell(folder.path(), "new findings.tsv reports amd64 s390x"),
        (Some(0), String::new(), String::new())
    );
    let (status, sums, _) = tell(folder.path(), "faults findings.tsv reports amd64 s390x");
    assert_eq!((status, &*sums), (Some(0), "fault\tamd64\ts390x\n-\t0\t2\nglibc-addmul-pushes\t1\t0\n"));
}

#[rstest]
#[case::no_line(&[KEPT], "CFA = SP+8, RA = *(CFA-8), FP unchanged\t0x1\tm\n")]
#[case::other_rules(&[PUSHES, "s390x|*|-|truncated|CFA = r13+160, *|*|-|a limit"], "CFA = r13+32, RA unchanged")]
#[case::another_verdict(&[PUSHES, &KEPT.replace("truncated", "wrong-cfa")], "CFA = r13+160, RA unchanged")]
#[case::another_library(&[&PUSHES.replace("libc.", "libm."), KEPT], "new\tamd64\tlibc.so.6\t-\twrong-cfa\t")]
fn a_finding_that_no_line_explains_is_new(#[case] lines: &[&str], #[case] part: &str) {
    if !has_python() {
        return;
    }
    let folder = census(lines);
    let (status, new, _) = tell(folder.path(), "new findings.tsv reports amd64 s390x");
    assert_eq!(status, Some(1), "{new}");
    assert!(new.contains(part), "{new}");
}

#[test]
fn a_finding_that_the_bench_names_by_another_page_is_told() {
    if !has_python() {
        return;
    }
    let of_no_page = PUSHES.replace("|glibc-addmul-pushes|", "|-|");
    let folder = census(&[&of_no_page, KEPT]);
    let (status, said, _) = tell(folder.path(), "new findings.tsv reports amd64 s390x");
    assert_eq!(status, Some(1), "{said}");
    assert!(
        said.starts_with("named otherwise\tamd64\tlibc.so.6\t")
            && said.ends_with("\tglibc-addmul-pushes\t-\n"),
        "{said}"
    );
}

/// A line that another one above hides explains nothing either.
#[rstest]
#[case::of_another_function("amd64|libc.so.*|f|wrong-cfa|*|*|-|gone")]
#[case::that_is_hidden(PUSHES)]
fn a_line_that_explains_no_finding_is_stale(#[case] line: &str) {
    if !has_python() {
        return;
    }
    let folder = census(&[PUSHES, KEPT, line]);
    let (status, said, _) = tell(folder.path(), "faults findings.tsv reports amd64 s390x");
    assert_eq!(status, Some(1), "{said}");
    assert!(said.ends_with(&format!("stale\t{}\n", line.replace('|', "\t"))), "{said}");
    assert_eq!(
        tell(folder.path(), "faults findings.tsv reports s390x").0,
        Some(0),
        "it is about another ABI"
    );
    assert_eq!(tell(folder.path(), "new findings.tsv reports amd64 s390x").0, Some(0));
}

#[rstest]
#[case::a_fault_without_a_page(&PUSHES.replace("|glibc-addmul-pushes|", "|pulls|"), "new findings.tsv reports amd64", "`pulls` has no page")]
#[case::a_field_too_few(
    "amd64|*|-|wrong-cfa|*|pushes",
    "new findings.tsv reports amd64",
    "8 fields are needed"
)]
#[case::an_empty_field(
    "amd64|*|-|wrong-cfa|*|*||why",
    "faults findings.tsv reports amd64",
    "8 fields are needed"
)]
#[case::an_unknown_abi(&PUSHES.replace("amd64", "arm64"), "faults findings.tsv reports amd64", "unknown ABI `arm64`")]
#[case::no_reports(PUSHES, "new findings.tsv reports aarch64", "there are no reports for aarch64")]
#[case::no_command(PUSHES, "old findings.tsv reports amd64", "ci/findings new TABLE REPORTS [WHERE...]")]
fn what_cannot_be_read_is_an_error(#[case] line: &str, #[case] command: &str, #[case] part: &str) {
    if !has_python() {
        return;
    }
    let folder = census(&[line]);
    let (status, said, error) = tell(folder.path(), command);
    assert_eq!((status, &*said), (Some(2), ""), "{error}");
    assert!(error.contains(part), "{error}");
}

/// What an interrupted census leaves behind is no census.
#[test]
fn a_report_that_was_not_finished_is_an_error() {
    if !has_python() {
        return;
    }
    let folder = census(&[PUSHES, KEPT]);
    std::fs::write(folder.path().join("reports/amd64-zlib1g-libz.so.1.json"), "").expect("a report");
    for command in ["new", "faults"] {
        let (status, _, error) = tell(folder.path(), &format!("{command} findings.tsv reports amd64 s390x"));
        assert_eq!(status, Some(2), "{error}");
        assert!(error.starts_with("ci/findings: reports/amd64-zlib1g-libz.so.1.json: "), "{error}");
    }
}

/// Reports of cases lie deeper, and say which image it was; what they do not describe is new as well.
#[test]
fn reports_of_cases_are_from_a_folder_and_an_abi() {
    if !has_python() {
        return;
    }
    let folder = census(&[
        &PUSHES.replace("amd64|libc.so.*", "*/amd64|-"),
        &KEPT.replace("s390x|*", "glibc/s390x|l*"),
    ]);
    let finding = |image: Option<&str>, verdict: &str, rules: &str| json!({"verdict": verdict, "image": image, "function": null, "row": {"rules": rules}, "pc": "0x1", "message": "m"});
    let pushes = finding(None, "wrong-cfa", "CFA = SP+8, RA = *(CFA-8), FP unchanged");
    let kept = finding(Some("libffi.so.8"), "truncated", "CFA = r13+160, RA unchanged, FP unchanged");
    let write = |place: &str, document: serde_json::Value| {
        let path = folder.path().join(place);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        std::fs::write(path, document.to_string()).expect("a document");
    };
    write("cases/musl/amd64/awk/report.json", json!({"file": "awk", "findings": [pushes]}));
    write("cases/glibc/s390x/awk/report.json", json!({"file": "awk", "findings": [kept]}));
    assert_eq!(tell(folder.path(), "new findings.tsv cases"), (Some(0), String::new(), String::new()));
    let (status, sums, _) = tell(folder.path(), "faults findings.tsv cases");
    let expected = "fault\tglibc/s390x\tmusl/amd64\n-\t1\t0\nglibc-addmul-pushes\t0\t1\n";
    assert_eq!((status, &*sums), (Some(0), expected));
    let one = "cases/musl/s390x/awk/report.json";
    write(one, json!({"file": "awk", "findings": [kept], "findings_omitted": {"wrong-ra": 3}}));
    let (status, new, _) = tell(folder.path(), &format!("new findings.tsv {one}"));
    let lines: Vec<_> = new.lines().collect();
    assert_eq!((status, lines.len()), (Some(1), 2), "{new}");
    assert!(lines[0].starts_with("new\tmusl/s390x\tlibffi.so.8\t-\ttruncated\t"), "{new}");
    assert_eq!(lines[1], "new\tmusl/s390x\t-\t-\twrong-ra\t-\t-\tnot described in the report");
}

/// The committed tables, whose faults have pages; that of the census explains one of the libraries.
#[rstest]
#[case::of_libraries("census", [0, 2])]
#[case::of_kernels("kernel", [1, 2])]
#[case::of_programs("real", [1, 2])]
fn the_committed_findings_can_be_read(#[case] name: &str, #[case] new: [usize; 2]) {
    if !has_python() {
        return;
    }
    let folder = census(&[]);
    let table = repository().join("ci").join(name).join("findings.tsv");
    for (abi, new) in ["amd64", "s390x"].into_iter().zip(new) {
        let mut command = Command::new(repository().join("ci/findings"));
        command.arg("new").arg(&table).args(["reports", abi]).current_dir(folder.path());
        let output = command.output().expect("the script");
        let lines = String::from_utf8_lossy(&output.stdout).lines().count();
        assert_eq!((output.status.code(), lines), (Some(i32::from(new > 0)), new), "{output:?}");
    }
}
