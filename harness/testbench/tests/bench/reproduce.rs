//! Every finding of every output has a command that gives the same finding.

use std::path::Path;
use std::process::{Command, Output};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use crate::command::{bench, json, status};
use crate::common::repository;
use crate::explore::with_wrong_row;

const ENGINE: &str = env!("CARGO_BIN_EXE_sframe-engine-unwinder");

/// Runs a command of a report as a user does who copies it, with more options.
pub(crate) fn reproduce(command: &str, more: &str) -> Output {
    reproduce_in(&repository(), command, more)
}

/// The same in a folder.
pub(crate) fn reproduce_in(folder: &Path, command: &str, more: &str) -> Output {
    let programs = Path::new(ENGINE).parent().expect("a folder").to_owned();
    let path = std::env::var_os("PATH").unwrap_or_default();
    let paths = std::iter::once(programs).chain(std::env::split_paths(&path));
    assert!(command.starts_with("sframe-testbench "), "{command}");
    // Options come before the arguments of the program.
    let (start, arguments) = command.split_once(" -- ").unwrap_or((command, ""));
    let end = if arguments.is_empty() { String::new() } else { format!(" -- {arguments}") };
    Command::new("bash")
        .args(["-c", &format!("{start} {more}{end}")])
        .current_dir(folder)
        .env("PATH", std::env::join_paths(paths).expect("paths"))
        .output()
        .expect("bash")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn read(folder: &Path, name: &str) -> String {
    std::fs::read_to_string(folder.join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// The data of a page's overview.
fn page(folder: &Path) -> Value {
    let page = read(folder, "report.html");
    let (_, data) = page.split_once(r#"id="index">"#).expect("the data");
    let data = STANDARD.decode(data.split('<').next().unwrap_or_default()).expect("base64");
    let data = miniz_oxide::inflate::decompress_to_vec_zlib(&data).expect("deflated");
    serde_json::from_slice(&data).expect("JSON")
}

/// Two specs; one is wrong at one stop.
fn write_specs(folder: &Path) -> String {
    let head =
        "program: recursion\nsummary: A test's.\ntargets: [amd64, s390x]\ntoolchains: [gnu-2.44, gnu-2.47]\n";
    let right = format!("{head}stops: [{{at: leaf}}]\n");
    let wrong =
        format!("{head}stops: [{{at: leaf, frames: [leaf, main], where: {{variant: [O0, O2-pie]}}}}]\n");
    std::fs::write(folder.join("right.yaml"), right).expect("a file");
    std::fs::write(folder.join("wrong one.yaml"), wrong).expect("a file");
    folder.display().to_string()
}

#[test]
fn each_case_of_a_run_with_findings_is_reproduced_alone_with_what_the_run_was_told() {
    let folder = tempfile::tempdir().expect("a folder");
    let specs = write_specs(folder.path());
    let report_folder = folder.path().join("report");
    let report_name = report_folder.display().to_string();
    let options = ["--specs", &specs, "--pattern", "second", "--budget", "50000", "--no-explore"];
    let output = bench(&[&["run", "--report", &report_name, "--jobs", "2"], &options[..]].concat());
    assert_eq!(status(&output), 1, "{}", text(&output.stderr));
    let report: Value = serde_json::from_str(&read(&report_folder, "report.json")).expect("JSON");
    let cases = report["cases"].as_array().expect("cases");
    let page = page(&report_folder);
    let (mut found, mut tried) = (0, 0);
    for (case, shown) in cases.iter().zip(page["cases"].as_array().expect("cases")) {
        assert_eq!(case["id"], shown["id"]);
        let findings = case["findings"].as_array().expect("findings");
        if findings.is_empty() {
            assert_eq!(case["reproduce"], Value::Null, "there is nothing to reproduce");
            continue;
        }
        found += 1;
        let command = case["reproduce"].as_str().expect("a command");
        assert!(command.contains("--pattern second") && command.contains("--budget 50000"), "{command}");
        assert_eq!(shown["command"], command);
        let summary = read(&report_folder, "summary.md");
        assert!(summary.contains(&format!("Reproduce with `{command}`")), "{summary}");
        let sarif: Value = serde_json::from_str(&read(&report_folder, "report.sarif")).expect("JSON");
        let results = sarif["runs"][0]["results"].as_array().expect("results");
        let of_case: Vec<&Value> =
            results.iter().filter(|result| result["properties"]["case"] == case["id"]).collect();
        assert!(!of_case.is_empty());
        assert!(of_case.iter().all(|result| result["properties"]["reproduce"] == command), "{of_case:?}");
        let junit = read(&report_folder, "junit.xml").replace("&apos;", "'");
        assert!(junit.contains(&format!("reproduce with: {command}")), "{junit}");
        // Cases that are alike are listed with the first one's command.
        let printed = text(&output.stdout);
        let id = case["id"].as_str().expect("an id");
        let is_listed = || printed.lines().any(|line| line.contains("; alike: ") && line.contains(id));
        assert!(printed.contains(&format!("help: {command}\n")) || is_listed(), "{printed}");
        if tried < 2 {
            tried += 1;
            let again = reproduce(command, "--json");
            assert_eq!(status(&again), 1, "{command}: {}", text(&again.stderr));
            let again = json(&again);
            assert_eq!(again["cases"].as_array().map(Vec::len), Some(1), "{command}");
            assert_eq!(
                (&again["cases"][0]["id"], &again["cases"][0]["findings"]),
                (&case["id"], &case["findings"])
            );
            assert_eq!(again["cases"][0]["reproduce"], command, "it is its own command");
        }
    }
    // Two variants of amd64 by both toolchains, and of s390x by one.
    assert_eq!((found, tried), (6, 2));
}

/// What was really used matters: with a smaller budget the case is broken.
#[test]
fn a_broken_case_is_reproduced_with_its_budget() {
    let output = bench(&["run", "--case", "recursion/gnu-2.47/amd64/O2", "--budget", "100", "--json"]);
    assert_eq!(status(&output), 4);
    let report = json(&output);
    let command = report["cases"][0]["reproduce"].as_str().expect("a command");
    let again = json(&reproduce(command, "--json"));
    assert_eq!(again["cases"][0]["reason"], report["cases"][0]["reason"]);
    assert!(again["cases"][0]["reason"].as_str().is_some_and(|reason| reason.contains("budget of 100")));
}

#[test]
fn a_finding_about_an_unwinder_is_reproduced_with_that_unwinder() {
    // Its CFAs are wrong, and its command needs quotes.
    let change = r#"s/"cfa":"0x3ffff/"cfa":"0x3fffe/"#;
    let script = format!("'{ENGINE}' | sed -u '{change}'");
    let unwinder = shlex::try_join(["sh", "-c", &script]).expect("no zeroes");
    let id = "leaf/gnu-2.47/amd64/O2";
    let output = bench(&["run", "--case", id, "--unwinder", &unwinder, "--stops-per-case", "7", "--json"]);
    let report = json(&output);
    let case = &report["cases"][0];
    assert_eq!(status(&output), 1, "{report:#}");
    assert!(case["findings"].as_array().is_some_and(|findings| !findings.is_empty()));
    let command = case["reproduce"].as_str().expect("a command");
    assert!(command.contains("--stops-per-case 7"), "{command}");
    let again = reproduce(command, "--json");
    assert_eq!(status(&again), status(&output), "{command}");
    let again = &json(&again)["cases"][0];
    assert_eq!((&again["findings"], &again["outcome"]), (&case["findings"], &case["outcome"]));
    // Without it, there is nothing to find.
    assert_eq!(status(&bench(&["run", "--case", id])), 0);
}

#[test]
fn the_findings_of_a_check_are_reproduced_with_all_its_options() {
    let folder = tempfile::tempdir().expect("a folder");
    let report_name = folder.path().display().to_string();
    let arguments = [
        "check",
        "corpus/builds/gnu-2.47/amd64/realign.O2",
        "--every",
        "3",
        "--pattern",
        "second",
        "--no-explore",
        "--report",
        &report_name,
        "--",
        "a 'b",
    ];
    let output = bench(&arguments);
    assert_eq!(status(&output), 1, "{}", text(&output.stderr));
    let report: Value = serde_json::from_str(&read(folder.path(), "report.json")).expect("JSON");
    let command = report["reproduce"].as_str().expect("a command");
    let expected = r"sframe-testbench check corpus/builds/gnu-2.47/amd64/realign.O2 --every 3 --no-explore --pattern second -- 'a '\''b'";
    assert_eq!(command, expected);
    let sarif: Value = serde_json::from_str(&read(folder.path(), "report.sarif")).expect("JSON");
    assert_eq!(sarif["runs"][0]["results"][0]["properties"]["reproduce"], command);
    assert_eq!(page(folder.path())["cases"][0]["command"], command);
    assert!(read(folder.path(), "summary.md").contains(&format!("Reproduce with `{command}`")));
    let again = json(&reproduce(command, "--json"));
    assert!(report["findings"].as_array().is_some_and(|findings| !findings.is_empty()));
    assert_eq!((&again["findings"], &again["sampling"]), (&report["findings"], &report["sampling"]));
}

#[test]
fn the_findings_of_an_exploration_are_reproduced_with_its_options() {
    let folder = tempfile::tempdir().expect("a folder");
    let (bytes, _) = with_wrong_row("gnu-2.47/amd64/recursion.O2", "descend");
    let file = folder.path().join("wrong row");
    std::fs::write(&file, bytes).expect("a file");
    let report_folder = folder.path().join("report");
    let (file, report_name) = (file.display().to_string(), report_folder.display().to_string());
    let arguments = [
        "explore",
        &file,
        "--report",
        &report_name,
        "--functions",
        "desc*",
        "--budget",
        "5000",
        "--jobs",
        "1",
    ];
    assert_eq!(status(&bench(&arguments)), 1);
    let report: Value = serde_json::from_str(&read(&report_folder, "report.json")).expect("JSON");
    let command = report["reproduce"].as_str().expect("a command");
    assert_eq!(command, format!("sframe-testbench explore '{file}' --functions 'desc*' --budget 5000"));
    assert_eq!(page(&report_folder)["cases"][0]["command"], command);
    assert!(read(&report_folder, "summary.md").contains(&format!("Reproduce with `{command}`")));
    let again = json(&reproduce(command, "--json"));
    assert!(report["findings"].as_array().is_some_and(|findings| !findings.is_empty()));
    assert_eq!(again["findings"], report["findings"]);
}

#[test]
fn cases_and_variants_are_selected_exactly() {
    let ids = |arguments: &[&str]| -> Vec<String> {
        let output = bench(&[&["run", "--json", "--no-explore"], arguments].concat());
        assert_eq!(status(&output), 0, "{}", text(&output.stderr));
        let report = json(&output);
        let cases = report["cases"].as_array().expect("cases").iter();
        cases.map(|case| case["id"].as_str().expect("an id").to_owned()).collect()
    };
    let (one, other) = ("leaf/gnu-2.47/amd64/O2", "recursion/gnu-2.44/aarch64/O0");
    assert_eq!(ids(&["--case", one, "--case", other]), [one, other]);
    assert_eq!(
        ids(&[
            "--spec",
            "leaf",
            "--toolchain",
            "gnu-2.47",
            "--abi",
            "amd64",
            "--variant",
            "O0",
            "--variant",
            "O2"
        ]),
        ["leaf/gnu-2.47/amd64/O0", one]
    );
    for (arguments, message) in [
        (["--case", "leaf/gnu-2.47/amd64/02"], "there is no case `leaf/gnu-2.47/amd64/02`"),
        (["--case", "leaf/gnu-2.47/amd64/02"], "did you mean `leaf/gnu-2.47/amd64/O2`?"),
        (["--variant", "O2-pi"], "no build is of the variant `O2-pi`; did you mean `O2-pie`?"),
    ] {
        let output = bench(&[&["run"], &arguments[..]].concat());
        assert_eq!(status(&output), 2);
        assert!(text(&output.stderr).contains(message), "{}", text(&output.stderr));
    }
}
