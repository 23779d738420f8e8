//! `explore`: what it says of the corpus and of changed rows, and its options.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Output;

use object::elf::SHT_GNU_SFRAME;
use rayon::prelude::*;
use rstest::rstest;
use serde_json::Value;
use sframe_elf::replace_section::embed;
use sframe_engine::Abi;
use sframe_engine::write::{Function, Section};
use sframe_judge::target::Target;

use crate::command::{bench, bench_in, conclusion, json, status};
use crate::common::{repository, suite};
use crate::doctor::build;
use crate::explore_objects::written;
use crate::made_objects::{Code, object, row};

pub(crate) fn path(id: &str) -> String {
    repository().join("corpus/builds").join(id).display().to_string()
}

fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// A row: its function, and where it starts there.
type RowName = (String, String);

fn row_of(finding: &Value) -> Option<RowName> {
    let text = |value: &Value| value.as_str().map(str::to_owned);
    Some((text(&finding["function"])?, text(&finding["row"]["start"])?))
}

/// What `check` finds in the function that runs, and `explore` does not say of the row: by program,
/// the beginning of the function's name, and the reason.
const NOT_FOUND: &[(&str, &str, &str)] = &[
    ("undefined_ra", "", "the row says that there is no caller, which only running shows"),
    ("discarded_return", "drop_", "the value is right: by luck, since the function has saved none"),
    ("outlined_frames", "outlined_epilogue_tail", "the same"),
    ("thunks", "__s390_indirect_jump", "functions jump to it from within their frames"),
];

/// Compares the findings of `explore` with those of `check`. Returns how many of these were proved,
/// and what is wrong.
fn compared(id: &str) -> (usize, Vec<String>) {
    let explored = json(&bench(&["explore", "--json", "--jobs=1", &path(id)]));
    let checked = json(&bench(&["check", "--json", &path(id)]));
    let findings = |report: &Value| report["findings"].as_array().expect("a list").clone();
    let of_certainty = |certainty: &str| -> BTreeSet<RowName> {
        let all = findings(&explored);
        all.iter().filter(|found| found["certainty"] == certainty).filter_map(row_of).collect()
    };
    let (proved, possible) = (of_certainty("proved"), of_certainty("possible"));
    let own: Vec<Value> = findings(&checked).into_iter().filter(|found| found["image"].is_null()).collect();
    let wrong: BTreeSet<RowName> = own.iter().filter_map(row_of).collect();
    let unexercised = checked["unexercised"].as_array().expect("a list").iter();
    let unexercised: BTreeSet<RowName> = unexercised
        .map(|row| [&row["function"], &row["start"]].map(|text| text.as_str().expect("text").to_owned()))
        .map(|[function, start]| (function, start))
        .collect();
    let refuted = proved.difference(&wrong).filter(|row| !unexercised.contains(*row));
    let mut problems: Vec<String> = refuted
        .map(|row| format!("{id}: {row:?} is proved to be wrong, and ran without a finding"))
        .collect();
    let program = Path::new(id).file_name().expect("a name").to_string_lossy();
    let is_excused = |(function, _): &RowName| {
        NOT_FOUND
            .iter()
            .any(|(of, name, _)| program.split('.').next() == Some(of) && function.starts_with(name))
    };
    let in_callers =
        |row: &RowName| !own.iter().any(|found| row_of(found).as_ref() == Some(row) && found["frame"] == 0);
    let missed = wrong.iter().filter(|row| !proved.contains(*row) && !possible.contains(*row));
    problems.extend(
        missed
            .filter(|row| !is_excused(row) && !in_callers(row))
            .map(|row| format!("{id}: {row:?} was found by running only")),
    );
    (wrong.intersection(&proved).count(), problems)
}

/// One program after the other, on all ABIs and toolchains.
#[test]
fn what_is_proved_is_never_refuted_by_running() {
    const PROGRAMS: [&str; 11] = [
        "crossing",
        "discarded_return",
        "flex_rows",
        "handwritten",
        "leaf",
        "outlined_frames",
        "realign",
        "recursion",
        "thunks",
        "undefined_ra",
        "void_rows",
    ];
    let builds = suite().manifest().builds.iter();
    let chosen: Vec<&str> = builds
        .filter(|build| build.derived_from.is_none() && PROGRAMS.contains(&build.program.as_str()))
        .filter(|build| build.variant == "O2" || build.variant == "O2-dynamic")
        .map(|build| build.id.as_str())
        .collect();
    assert!(chosen.len() > 60, "{chosen:?}");
    let results: Vec<(usize, Vec<String>)> = chosen.par_iter().map(|id| compared(id)).collect();
    let problems: Vec<String> = results.iter().flat_map(|(_, problems)| problems.clone()).collect();
    assert!(problems.is_empty(), "{problems:#?}");
    let proved: usize = results.iter().map(|(proved, _)| proved).sum();
    assert!(proved > 8, "{proved}");
}

/// A build in which one row of a function says something else: its second one.
pub(crate) fn with_wrong_row(id: &str, function: &str) -> (Vec<u8>, u32) {
    let mut start = 0;
    let bytes = with_changed(id, function, |function| {
        start = function.rows[1].start;
        function.rows[1].cfa.as_mut().expect("a CFA").offset += 16;
    });
    (bytes, start)
}

/// A build in which the section says something else of a function.
pub(crate) fn with_changed(id: &str, function: &str, mut change: impl FnMut(&mut Function)) -> Vec<u8> {
    let bytes = build(id);
    let target = Target::open(&bytes).expect("a target");
    let module = target.executable();
    let address = module.subject.symbols.addresses_of(function)[0] + module.image.bias;
    let mut section = Section::from_read(module.section.as_ref().expect("a section")).expect("sound rows");
    let bias = module.image.bias;
    section.functions.iter_mut().filter(|function| function.start == address).for_each(&mut change);
    section.functions.iter_mut().for_each(|function| function.start -= bias);
    embed(&bytes, SHT_GNU_SFRAME, |address| section.write(address)).expect("a file")
}

#[rstest]
#[case("gnu-2.40/amd64/recursion.O2")]
#[case("gnu-2.44/aarch64/recursion.O2")]
#[case("gnu-2.44/aarch64_be/recursion.O2-pie")]
#[case("gnu-2.47/amd64/recursion.O2-pie")]
#[case("gnu-2.47/s390x/recursion.O2")]
#[case("llvm-22/amd64/recursion.O2")]
fn a_row_that_was_changed_is_proved_to_be_wrong(#[case] id: &str) {
    let sound = bench(&["explore", "--json", &path(id)]);
    assert_eq!((status(&sound), &json(&sound)["findings"]), (0, &Value::Array(Vec::new())), "{id}");
    let folder = tempfile::tempdir().expect("a folder");
    let (bytes, start) = with_wrong_row(id, "descend");
    let file = written(folder.path(), "changed", &bytes);
    let output = bench(&["explore", "--json", &file]);
    let report = json(&output);
    assert_eq!((status(&output), &report["summary"]["rows_wrong"]), (1, &1.into()), "{report}");
    let findings = report["findings"].as_array().expect("a list");
    let [finding] = &findings[..] else { panic!("{findings:#?}") };
    assert_eq!(row_of(finding), Some(("descend".to_owned(), format!("{start:#x}"))));
    assert_eq!((&finding["certainty"], &finding["verdict"]), (&"proved".into(), &"wrong-cfa".into()));
    assert_eq!(finding["blame"], "producer-assembler", "{finding}");
    let text = stdout(&bench(&["explore", &file]));
    assert!(text.starts_with(&format!("{file}: ")) && text.contains("\nwrong-cfa in descend: "), "{text}");
    assert!(conclusion(&text).starts_with("FAIL: 1 proved finding; "), "{text}");
    // What .eh_frame says has not changed.
    assert_eq!(status(&bench(&["explore", "--from=eh-frame", &file])), 0);
}

/// Linkers' rows, in the library that has them.
#[test]
fn a_wrong_row_of_a_linkage_table_is_proved() {
    let report = json(&bench(&["explore", "--json", &path("gnu-2.44/amd64/crossing.O2-dynamic.first.so")]));
    let finding = &report["findings"][0];
    assert_eq!(row_of(finding), Some(("first_leaf@plt".to_owned(), "0x0".to_owned())), "{report}");
    assert_eq!((&finding["certainty"], &finding["blame"]), (&"proved".into(), &"producer-linker".into()));
}

#[test]
fn runs_and_numbers_of_processes_make_no_difference() {
    // More functions than one process is given at a time: some right, some wrong, some doubtful.
    let kinds: [&[u8]; 3] = [&[0x90, 0xc3], &[0x50, 0x58, 0xc3], &[0x85, 0xff, 0x74, 0x01, 0x50, 0x90, 0xc3]];
    let code = |number: usize| {
        let name: &'static str = Box::leak(format!("function_{number}").into_boxed_str());
        Code::new(name, kinds[number % 3], vec![row(0, 8)])
    };
    let functions: Vec<Code> = (0..100).map(code).collect();
    let folder = tempfile::tempdir().expect("a folder");
    let file = written(folder.path(), "many.o", &object(Abi::Amd64, &functions));
    let explore = |jobs: &str| {
        let mut report = json(&bench(&["explore", "--json", "--jobs", jobs, &file]));
        assert!(report["provenance"].take().is_object());
        report
    };
    let report = explore("1");
    let first = report.clone();
    let figures = ["functions", "rows_agree", "rows_wrong", "rows_possible"];
    assert_eq!(figures.map(|figure| report["summary"][figure].as_u64()), [100, 34, 33, 33].map(Some));
    assert!(first == explore("1") && first == explore("4"));
}

#[test]
fn functions_are_chosen_by_name_and_address() {
    let file = path("gnu-2.47/amd64/recursion.O2");
    let functions = |options: &[&str]| {
        let report = json(&bench(&[&["explore", "--json", &file], options].concat()));
        let all = report["functions"].as_array().expect("a list").clone();
        let judged = all.iter().filter(|function| function["judged"] != 0);
        let name = |function: &Value| function["function"].as_str().expect("a name").to_owned();
        let pc = all.iter().find(|function| function["function"] == "descend").expect("it")["pc"].clone();
        (judged.map(name).collect::<Vec<_>>(), pc.as_str().expect("an address").to_owned())
    };
    let (all, pc) = functions(&[]);
    assert!(all.len() > 3, "{all:?}");
    assert_eq!(functions(&["--functions", "desc*"]).0, ["descend"]);
    assert_eq!(functions(&["--functions", &pc]).0, ["descend"]);
    assert_eq!(functions(&["--functions", "descend", "--functions", "main"]).0.len(), 2);
}

/// What none of the files has is wrong, beside what is there.
#[rstest]
#[case::alone(&["recursion.O2"], &["descent"], "it has no function `descent`; did you mean `descend`?")]
#[case::beside_another(&["recursion.O2"], &["main", "descent"], "it has no function `descent`; did you mean `descend`?")]
#[case::two(&["recursion.O2"], &["main", "no", "none"], "it has no function `no`, `none`")]
#[case::of_two_files(
    &["recursion.O2", "leaf.O2"],
    &["main", "descent"],
    "error: no file has a function `descent`; did you mean `descend`?"
)]
#[case::each_in_one_file(&["recursion.O2", "leaf.O2"], &["descend", "leaf"], "")]
fn functions_that_no_file_has_are_wrong(
    #[case] files: &[&str],
    #[case] functions: &[&str],
    #[case] says: &str,
) {
    let files: Vec<String> = files.iter().map(|file| path(&format!("gnu-2.47/amd64/{file}"))).collect();
    let mut arguments: Vec<&str> =
        std::iter::once("explore").chain(files.iter().map(String::as_str)).collect();
    arguments.extend(functions.iter().flat_map(|function| ["--functions", function]));
    let output = bench(&arguments);
    let error = String::from_utf8_lossy(&output.stderr);
    assert_eq!(status(&output), if says.is_empty() { 0 } else { 2 }, "{output:?}");
    assert!(error.trim_end().ends_with(says) && error.is_empty() == says.is_empty(), "{error}");
}

/// The last line agrees with the number of rows, also where there is none.
#[test]
fn the_last_line_is_of_the_rows_that_there_are() {
    let folder = tempfile::tempdir().expect("a folder");
    let last = |rows: Vec<_>| {
        let code = Code::new("leaf", &[0x90, 0xc3], rows);
        let file = written(folder.path(), "leaf.o", &object(Abi::Amd64, &[code]));
        let output = bench(&["explore", &file]);
        (status(&output), conclusion(&stdout(&output)))
    };
    assert_eq!(last(vec![row(0, 8)]), (0, "PASS: 1 row checked, all correct".to_owned()));
    assert_eq!(last(Vec::new()), (3, "INCONCLUSIVE: nothing was checked: the file has no row".to_owned()));
}

#[test]
fn what_a_made_section_is_of_is_no_open_question() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = path("gnu-2.47/amd64/recursion.O2");
    bench_in(folder.path(), &["explore", &file, "--from=eh-frame", "--report=report"]);
    let markdown = std::fs::read_to_string(folder.path().join("report/summary.md")).expect("a file");
    let (_, sections) = markdown.split_once("\n## Sections\n").expect("the sections");
    assert!(sections.contains("synthesized from .eh_frame"), "{markdown}");
    let open = markdown.split_once("\n## Not decided\n").map_or("", |(_, open)| open);
    assert!(!open.contains("synthesized from .eh_frame"), "{markdown}");
}

#[test]
fn a_function_is_given_up_when_its_budget_is_spent() {
    let explore = |budget: &str| {
        json(&bench(&["explore", "--json", "--budget", budget, &path("gnu-2.47/amd64/recursion.O2")]))
    };
    let undecided = |report: &Value| report["summary"]["undecided"]["given-up"].clone();
    let little = explore("2");
    assert!(undecided(&little).as_u64() > Some(3), "{little}");
    assert_eq!(undecided(&explore("10000")), Value::Null);
}

#[test]
fn known_findings_are_written_explained_and_missed() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = written(folder.path(), "wrong", &with_wrong_row("gnu-2.47/amd64/recursion.O2", "descend").0);
    let explore = |options: &[&str]| bench_in(folder.path(), &[&["explore", &file], options].concat());
    assert_eq!(status(&explore(&["--write-known=known.yaml"])), 1);
    let known = std::fs::read_to_string(folder.path().join("known.yaml")).expect("a file");
    assert_eq!(known.matches("verdict: wrong-cfa").count(), 1, "{known}");
    let unexplained = explore(&["--known=known.yaml"]);
    assert_eq!(status(&unexplained), 2, "{unexplained:?}");
    let reason = "A test has changed the row.";
    std::fs::write(folder.path().join("known.yaml"), known.replace("''", reason)).expect("a file");
    let output = explore(&["--known=known.yaml", "--verbose"]);
    assert_eq!(status(&output), 0, "{output:?}");
    assert!(stdout(&output).contains(&format!("\nknown       1 finding: {reason}\n")), "{}", stdout(&output));
    let last = "; no finding but 1 known finding";
    assert!(conclusion(&stdout(&output)).ends_with(last), "{}", stdout(&output));

    // The fault is gone.
    written(folder.path(), "wrong", &build("gnu-2.47/amd64/recursion.O2"));
    let output = explore(&["--known=known.yaml", "--json"]);
    assert_eq!((status(&output), &json(&output)["findings"][0]["verdict"]), (1, &"unexpected-pass".into()));
}

#[rstest]
#[case("gnu-2.47/amd64/recursion.O2-pie")]
#[case("gnu-2.47/s390x/saved_fprs.O2")]
fn what_eh_frame_says_is_judged_as_the_section_is(#[case] id: &str) {
    let explore = |from: &str| {
        let report = json(&bench(&["explore", "--json", "--from", from, &path(id)]));
        assert_eq!(report["section"]["section"], from);
        let findings = report["findings"].as_array().expect("a list").iter();
        let wrong: Vec<_> = findings.map(|found| (row_of(found), found["verdict"].clone())).collect();
        (wrong, report["summary"]["functions"].clone())
    };
    assert_eq!(explore("sframe"), explore("eh-frame"));
}

/// What explore says of a build with each byte of its section changed for which `is_wanted`.
fn explored_with_changes(
    id: &str,
    change: u8,
    is_wanted: impl Fn(&sframe_engine::Section<'_>) -> bool,
) -> Vec<i32> {
    let mut bytes = std::fs::read(path(id)).expect("a build");
    let file = object::File::parse(&bytes[..]).expect("a build");
    let section = object::Object::section_by_name(&file, ".sframe").expect("a section");
    let (start, len) = object::ObjectSection::file_range(&section).expect("bytes");
    let folder = tempfile::tempdir().expect("a folder");
    let mut said = Vec::new();
    for at in (start..start + len).map(|at| usize::try_from(at).expect("an offset")) {
        bytes[at] ^= change;
        let subject = sframe_elf::object_file::ObjectFile::parse(&bytes).expect("a build");
        let section = subject.section().expect("a section");
        if section.open(0, Abi::Amd64).is_ok_and(|section| is_wanted(&section)) {
            std::fs::write(folder.path().join("file"), &bytes).expect("a file");
            said.push(status(&bench_in(folder.path(), &["explore", "file"])));
        }
        bytes[at] ^= change;
    }
    said
}

/// How many rows an FDE has that can't be decoded is not known: that they were all checked isn't, either.
#[test]
fn what_can_not_be_decoded_is_no_pass() {
    let said = explored_with_changes("gnu-2.47/amd64/shrink_wrap.O2", 0x07, |section| {
        section.fdes().any(|fde| fde.map_or(true, |fde| section.rows(&fde).any(|row| row.is_err())))
    });
    assert!(said.len() > 10 && !said.contains(&0), "{said:?}");
}

/// A linkage table whose blocks have another size has wrong rows where it is called.
#[test]
fn blocks_of_another_size_are_wrong_where_they_are_called() {
    let said = explored_with_changes("gnu-2.47/amd64/crossing.O2-dynamic", 0x30, |section| {
        section.fdes().flatten().any(|fde| fde.rep_size == Some(32))
    });
    assert!(!said.is_empty() && said.iter().all(|status| *status == 1), "{said:?}");
}
