//! What is known of files and linkers, and what an installed program has in it.

use std::collections::BTreeSet;

use object::{Object as _, ObjectSection as _, ObjectSymbol as _};
use rstest::rstest;
use serde_json::Value;

use crate::command::{bench_in, copy_specs, json, program, status};
use crate::common::repository;
use crate::known::{REASON, path, realign, text};

/// What the lists of `lint` and `diff` say is known, at as many places; anything else is not.
#[rstest]
#[case::lint("lint", "llvm-22/amd64/mixed_objects.O2", "rule: concatenated-sections", 1)]
#[case::lint_by_id("lint", "llvm-22/amd64/mixed_objects.O2", "rule: SF121", 1)]
#[case::of_a_file("lint", "llvm-22/amd64/mixed_objects.O2", "rule: SF121\n    file: amd64/*.O2", 1)]
#[case::diff("diff", "gnu-2.47/amd64/remember_restore.O2", "rule: cfa", 6)]
#[case::of_a_bug(
    "diff",
    "gnu-2.47/amd64/crossing.O2-dynamic.first.so",
    "rule: cfa\n    fault: ld-plt-got",
    2
)]
fn lists_explain_findings_that_need_no_run(
    #[case] command: &str,
    #[case] build: &str,
    #[case] entry: &str,
    #[case] places: u64,
) {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    let judged = |entry: &str, places: u64| {
        let reason = if entry.contains("fault") { String::new() } else { format!("    reason: {REASON}\n") };
        let list = format!("{command}:\n  - {entry}\n    places: {places}\n{reason}");
        std::fs::write(folder.join("known.yaml"), list).expect("a file");
        bench_in(folder, &[command, &path(build), "--known", "known.yaml", "--json"])
    };
    assert_eq!(status(&bench_in(folder, &[command, &path(build)])), 1);
    for enough in [places, places + 1] {
        let output = judged(entry, enough);
        assert_eq!(status(&output), 0, "{output:?}");
        let report = json(&output);
        let known = report["known"].as_array().expect("known findings");
        let places_of = |known: &Value| known["places"].as_u64();
        assert_eq!(known.iter().map(places_of).sum::<Option<u64>>(), Some(places), "{report}");
        let is_named = |known: &Value| {
            known["reason"] == REASON
                || known["reason"].as_str().is_some_and(|why| why.starts_with("ld-plt-got: "))
        };
        assert!(known.iter().all(is_named), "{report}");
    }
    if places > 1 {
        let output = judged(entry, places - 1);
        assert_eq!(status(&output), 1);
        assert_eq!(json(&output)["known"][0]["exceeds"][1], places - 1);
    }
    assert_eq!(status(&judged(&format!("{entry}\n    function: another"), places)), 1);
    if !entry.contains("file") {
        assert_eq!(status(&judged(&format!("{entry}\n    file: another"), places)), 1);
    }
}

#[rstest]
#[case("lint", "rule: SF12", "places: 1", "unknown rule `SF12`")]
#[case("diff", "rule: cfi", "places: 1", "unknown field `cfi`; did you mean `cfa`?")]
#[case("diff", "rule: cfa", "places: 0", "nothing is at no place")]
#[case("diff", "rule: cfa\n    file: '['", "places: 1", "this is no pattern of a path")]
#[case("diff", "rule: cfa\n    fault: gcc-popped", "places: 1", "one of `fault` and `reason` is needed")]
fn mistakes_in_lists_of_places_are_told(
    #[case] command: &str,
    #[case] entry: &str,
    #[case] places: &str,
    #[case] says: &str,
) {
    let folder = tempfile::tempdir().expect("a folder");
    let list = format!("{command}:\n  - {entry}\n    {places}\n    reason: {REASON}\n");
    std::fs::write(folder.path().join("known.yaml"), list).expect("a file");
    let output = bench_in(folder.path(), &[command, &realign(), "--known", "known.yaml"]);
    let error = text(&output.stderr);
    assert_eq!(status(&output), 2, "{error}");
    assert!(error.contains(says), "{error}");
}

/// Whose linker has a known bug is green by its name, in each command, and loses nothing else.
#[test]
fn known_bugs_are_accepted_by_name_in_files_and_folders() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    let name = "crossing.O2-dynamic.first.so";
    std::fs::create_dir(folder.join("build")).expect("a folder");
    std::fs::copy(path(&format!("gnu-2.47/amd64/{name}")), folder.join("build").join(name)).expect("a copy");
    let list = format!(
        "known:\n  - verdict: wrong-cfa\n    function: {name}!first_leaf@plt\n    rules: {{'CFA = SP+16, RA = \
         *(CFA-8), FP unchanged': 1}}\n    blame: producer-linker\n    fault: ld-plt-got\n"
    );
    std::fs::write(folder.join("known.yaml"), &list).expect("a file");
    std::fs::write(folder.join("other.yaml"), list.replace(name, "other.so")).expect("a file");
    // What is known of a file that is gone is not known any more.
    let gone = list.replacen("known:\n", "", 1).replace(name, "gone.so");
    std::fs::write(folder.join("gone.yaml"), list.clone() + &gone).expect("a file");
    let alone = format!("build/{name}");
    let output = bench_in(folder, &["explore", &alone, "--known=known.yaml"]);
    assert_eq!(status(&output), 0, "one list is for the file and its folder: {output:?}");
    for (command, options, expected) in [
        ("explore", &[][..], 1),
        ("explore", &["--known-faults"], 0),
        ("explore", &["--known=known.yaml"], 0),
        ("explore", &["--known=other.yaml"], 1),
        ("explore", &["--known=gone.yaml"], 1),
        ("diff", &[], 1),
        ("diff", &["--known-faults"], 0),
    ] {
        let output = bench_in(folder, &[&[command], options, &["build"]].concat());
        assert_eq!(status(&output), expected, "{command} {options:?}: {output:?}");
    }
    for (options, expected) in [(&[][..], 1), (&["--known-faults"], 0)] {
        let output = std::process::Command::new(repository().join("ci/gate"))
            .current_dir(folder)
            .env("SFRAME_TESTBENCH", env!("CARGO_BIN_EXE_sframe-testbench"))
            .env_remove("GITHUB_STEP_SUMMARY")
            .arg("files")
            .args(options)
            .arg("build")
            .output()
            .expect("the gate runs");
        assert_eq!(status(&output), expected, "{options:?}: {}", text(&output.stdout));
    }
}

/// Code without an FDE is excused by a bug that the file alone shows, and not by one that depends on how it was linked.
#[test]
fn lint_accepts_a_missing_fde_by_the_bug_that_it_comes_from() {
    let folder = tempfile::tempdir().expect("a folder");
    let specs = folder.path().join("specs");
    copy_specs(&specs);
    let page = specs.join("faults/ld-gc-sections-plt.yaml");
    let text_of_page = std::fs::read_to_string(&page).expect("a page");
    let file = repository().join("corpus/faults/ld-gc-sections-plt/plt").display().to_string();
    let lint = |more: &[&str]| {
        let options = ["lint", "--coverage", "all", "--specs", "specs", &file];
        let output = bench_in(folder.path(), &[&options, more].concat());
        (status(&output), text(&output.stdout))
    };
    assert_eq!(lint(&["--known-faults"]).0, 1);
    let with = "    with: ['-Wl,--gc-sections']\n";
    assert!(text_of_page.contains(with));
    std::fs::write(&page, text_of_page.replace(with, "")).expect("a page");
    let (failed, said) = lint(&[]);
    assert!(failed == 1 && said.contains("      = matches known bug ld-gc-sections-plt"), "{said}");
    let (failed, said) = lint(&["--known-faults"]);
    assert!(failed == 0 && said.contains("known: SF416, 1 place: ld-gc-sections-plt"), "{said}");
}

/// An installed program has all pages in it.
#[test]
fn without_a_clone_the_pages_are_there() {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::create_dir(folder.path().join("home")).expect("a folder");
    let bench = |arguments: &[&str]| {
        let output = std::process::Command::new(env!("CARGO_BIN_EXE_sframe-testbench"))
            .current_dir(folder.path())
            .env("SFRAME_TESTBENCH_HOME", folder.path().join("home"))
            .args(arguments)
            .output()
            .expect("the bench runs");
        (status(&output), text(&output.stdout))
    };
    let (status, page) = bench(&["faults", "ld-plt-got"]);
    assert!(status == 0 && page.contains("ld-plt-got"), "{page}");
    let (status, all) = bench(&["faults", "--json"]);
    let all: Value = serde_json::from_str(&all).expect("JSON");
    let pages = std::fs::read_dir(repository().join("specs/faults")).expect("pages");
    let pages =
        pages.filter(|page| page.as_ref().is_ok_and(|page| page.path().extension() == Some("yaml".as_ref())));
    assert_eq!((status, all["faults"].as_array().map(Vec::len)), (0, Some(pages.count())));
    let links = std::fs::read_dir(repository().join("corpus/links/faults")).expect("pages").count();
    assert_eq!(all["links"].as_array().map(Vec::len), Some(links));
    assert!(!page.contains("reach"), "nothing is known of that: {page}");
    // What is under test may have a folder of this name.
    std::fs::create_dir_all(folder.path().join("specs/faults")).expect("a folder");
    let (status, meaning) = bench(&["explain", "ld-plt-got"]);
    assert!(status == 0 && meaning.contains("ld-plt-got"), "{meaning}");
    let library = path("gnu-2.47/amd64/crossing.O2-dynamic.first.so");
    assert_eq!(bench(&["explore", &library, "--known-faults"]).0, 0);
}

/// What is known of a linker by its description is known of a command; its cases can be repeated where they are kept.
#[test]
fn commands_know_what_a_description_knows() {
    if program(&["objcopy"]).is_none() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    let script = "#!/bin/sh\nfor last; do :; done\nobjcopy \"$@\" && objcopy -R .sframe \"$last\"\n";
    std::fs::write(folder.join("mine"), script).expect("a script");
    std::fs::set_permissions(folder.join("mine"), std::os::unix::fs::PermissionsExt::from_mode(0o755))
        .expect("permissions");
    let description = "summary: mine\nsframe_version: 3\ntools: {objcopy: {all: mine}}\nknown:\n  - cases: [objcopy_object]\n    \
                       findings: {no-section: []}\n    fault: mold-plt\n";
    std::fs::write(folder.join("mine.yaml"), description).expect("a file");
    let [corpus, specs] = ["corpus", "specs"].map(|name| repository().join(name).display().to_string());
    let abi = std::env::consts::ARCH.replace("x86_64", "amd64");
    let try_with = |more: &[&str]| {
        let own =
            ["links", "--objcopy", "./mine", "--only", "objcopy_object", "--abi", &abi, "--corpus", &corpus];
        bench_in(folder, &[&own[..], &["--specs", &specs], more].concat())
    };
    let output = try_with(&["--keep", "kept"]);
    let said = text(&output.stdout);
    assert_eq!(status(&output), 1, "{said}");
    let place = format!("kept/objcopy_object.{abi}");
    assert!(said.contains(&format!("\n    cd {place}\n")) && said.contains("ran: GNU objcopy"), "{said}");
    assert!(folder.join(place).join("output").is_file());
    let output = try_with(&["--keep", "kept"]);
    assert_eq!(status(&output), 2, "nothing is overwritten: {}", text(&output.stderr));
    let output = try_with(&["--known", "mine.yaml"]);
    assert_eq!(status(&output), 0, "{}", text(&output.stdout));
    let output = try_with(&["--known", "mold"]);
    assert_eq!(status(&output), 1, "mold is not known for this: {}", text(&output.stdout));
    let output = try_with(&["--known", "nobody"]);
    assert_eq!(status(&output), 2, "{}", text(&output.stdout));
}

/// Each function without an FDE is known by itself: an entry for one explains no other.
#[test]
fn lost_fdes_are_known_one_by_one() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    let build = path("llvm-22/amd64/mixed_objects.O2");
    let judged = |command: &[&str], list: &str| {
        std::fs::write(folder.join("known.yaml"), list).expect("a file");
        bench_in(folder, &[command, &[&build, "--known", "known.yaml", "--json"]].concat())
    };
    let missing = json(&bench_in(folder, &["diff", &build, "--json"]))["missing"][0]["functions"].clone();
    let names: Vec<String> = missing
        .as_array()
        .expect("functions")
        .iter()
        .map(|function| function["function"].as_str().expect("a name").to_owned())
        .collect();
    assert!(names.len() > 1, "{missing}");
    let entry =
        |name: &str| format!("  - {{rule: missing-fde, function: {name}, places: 9, reason: {REASON:?}}}\n");
    let others = "  - {rule: section, places: 99, reason: 'the section is not merged, by lld'}\n";
    let one = judged(&["diff"], &format!("diff:\n{others}{}", entry(&names[0])));
    assert_eq!(status(&one), 1, "{one:?}");
    assert_eq!(json(&one)["missing"][0]["functions"].as_array().map(Vec::len), Some(names.len() - 1));
    let all: String = names.iter().map(|name| entry(name)).collect();
    let all = judged(&["diff"], &format!("diff:\n{others}{all}"));
    assert_eq!(json(&all)["missing"], Value::Array(Vec::new()), "{all:?}");
}

/// A list knows a function by one digest, whichever command has printed it.
#[rstest]
#[case("gnu-2.47/amd64/remember_restore.O2")]
#[case("gnu-2.47/amd64/crossing.O2-dynamic.first.so")]
fn all_commands_give_a_function_one_digest(#[case] build: &str) {
    let codes = |command: &[&str]| -> BTreeSet<(String, String)> {
        let report = json(&bench_in(&repository(), &[command, &[&*path(build), "--json"]].concat()));
        let code_of =
            |finding: &Value| (finding["function"].to_string(), finding["code"]["digest"].to_string());
        report["findings"].as_array().expect("findings").iter().map(code_of).collect()
    };
    let of_diff = codes(&["diff"]);
    assert!(of_diff.iter().all(|(_, digest)| digest.len() == 18) && !of_diff.is_empty(), "{of_diff:?}");
    assert_eq!(of_diff, codes(&["explore", "--no-cache"]));
}

/// Of functions with one name, a list says by their code which it means; of one without a name as well.
#[test]
fn functions_of_one_name_are_known_by_their_code() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    let mut elf = std::fs::read(path("gnu-2.47/amd64/remember_restore.O2")).expect("a build");
    let judged = |elf: &[u8], keys: &str| {
        std::fs::write(folder.join("program"), elf).expect("a file");
        let list = format!("diff:\n  - {{rule: cfa, places: 9, reason: {REASON:?}{keys}}}\n");
        std::fs::write(folder.join("known.yaml"), list).expect("a file");
        let report = json(&bench_in(folder, &["diff", "--known=known.yaml", "--json", "program"]));
        report["findings"].as_array().cloned().expect("findings")
    };
    let all = judged(&elf, ", function: none");
    let first = &all[0];
    let (name, code) =
        (first["function"].as_str().expect("a name"), first["code"]["digest"].as_str().expect("a code"));
    let left = |found: &[Value]| found.iter().filter(|finding| finding["code"]["digest"] == *code).count();
    let (by_name, by_code) = (format!(", function: {name}"), format!(", function: {name}, code: {code}"));
    let row = |start: &str| format!("{by_code}, row: {start}");
    let of_row = all
        .iter()
        .filter(|finding| finding["row"]["start"] == first["row"]["start"] && finding["function"] == name);
    assert_eq!([&by_name, &by_code].map(|keys| left(&judged(&elf, keys))), [0, 0]);
    assert_eq!(
        left(&judged(&elf, &row(first["row"]["start"].as_str().expect("a row")))),
        left(&all) - of_row.count()
    );
    assert_eq!(left(&judged(&elf, &row("0xfff"))), left(&all), "it is of another row");
    rename_another(&mut elf, name);
    let renamed = judged(&elf, &by_name);
    assert_eq!(left(&renamed), left(&all), "it is not said which one is meant: {renamed:?}");
    assert_eq!(left(&judged(&elf, &by_code)), 0);
    let other: String = code.chars().rev().collect();
    assert_eq!(left(&judged(&elf, &format!(", function: {name}, code: {other}"))), left(&all));
    let Some(strip) = program(&["strip"]) else { return };
    let stripped =
        std::process::Command::new(strip).arg(folder.join("program")).status().expect("strip runs");
    assert!(stripped.success());
    let stripped = std::fs::read(folder.join("program")).expect("a file");
    assert_eq!(left(&judged(&stripped, &by_code)), 0, "without a name, it has the same code");
    assert_eq!(left(&judged(&stripped, &by_name)), left(&all));
}

/// Gives the name of a function to `main`.
fn rename_another(elf: &mut [u8], function: &str) {
    const ENTRY: usize = 24;
    let (table, entries) = {
        let file = object::read::elf::ElfFile64::<object::Endianness>::parse(&*elf).expect("an ELF file");
        let entry =
            |name: &str| file.symbols().find(|symbol| symbol.name() == Ok(name)).expect("a symbol").index().0;
        let table = file.section_by_name(".symtab").expect("a table");
        let (start, _) = table.file_range().expect("in the file");
        (usize::try_from(start).expect("an offset"), [entry(function), entry("main")])
    };
    let [of, another] = entries.map(|entry| table + entry * ENTRY);
    elf.copy_within(of..of + 4, another);
}
