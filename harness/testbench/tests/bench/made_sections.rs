//! `check --from`: programs judged by sections that the bench makes from `.eh_frame`.

use std::path::Path;
use std::process::Output;

use rstest::rstest;
use serde_json::Value;
use sframe_corpus::spec::Blame;
use sframe_elf::object_file::ObjectFile;
use sframe_judge::target::files::Files;
use sframe_judge::target::{MadeSections, SectionSource, Target};
use sframe_judge::unwind::sframe_unwinder;
use sframe_judge::vocabulary::Verdict;

use crate::command::{bench, bench_in, json, status};
use crate::common::{repository, suite};
use crate::doctor::patch_first_row;
use crate::from_eh_frame::{doctored, eh_frame, sound, without_section};

fn path(id: &str) -> String {
    repository().join("corpus/builds").join(id).display().to_string()
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// The summary of a report, without figures about rows: assemblers sometimes write
/// the same row twice.
fn summary(output: &Output) -> Value {
    let mut summary = json(output)["summary"].clone();
    for figure in ["rows_total", "rows_exercised", "rows_exercised_as_caller", "rows_explored"] {
        assert!(summary.as_object_mut().expect("an object").remove(figure).is_some());
    }
    summary
}

/// Where the sections of a report come from.
fn origins(report: &Value) -> Vec<&str> {
    let images = report["images"].as_array().expect("a list");
    images.iter().map(|image| image["section"].as_str().expect("a name")).collect()
}

/// Writes the files of a build into a folder, each changed. Returns the path of the
/// executable.
fn write_changed(folder: &Path, id: &str, change: impl Fn(&str, &[u8]) -> Vec<u8>) -> String {
    let build = suite().manifest().get(id).expect("a build");
    let files = build.files(suite().corpus()).expect("files");
    let name = Path::new(id).file_name().expect("a name").to_string_lossy().into_owned();
    for (library, bytes) in &files.libraries {
        std::fs::write(folder.join(library), change(library, bytes)).expect("a file");
    }
    std::fs::write(folder.join(&name), change("", &files.executable)).expect("a file");
    folder.join(name).display().to_string()
}

/// The same file, whose `.eh_frame` says nothing.
fn without_cfi(file: &[u8]) -> Vec<u8> {
    let mut new = file.to_vec();
    new[eh_frame(file)].fill(0);
    new
}

/// Right CFI gives the verdicts of right rows, whether or not the file has rows.
#[rstest]
#[case("gnu-2.47/amd64/recursion.O2-pie")]
#[case("gnu-2.47/amd64/realign.O2")]
#[case("gnu-2.47/amd64/plt.O2-shared")]
#[case("gnu-2.47/aarch64/bti_code_key_b.O2")]
#[case("gnu-2.47/aarch64_be/crossing.O2-dynamic")]
#[case("gnu-2.47/s390x/saved_fprs.O2")]
#[case("gnu-2.47/s390x/crossing.O2-dynamic-now")]
fn a_program_is_judged_by_its_eh_frame_as_by_its_section(#[case] id: &str) {
    let own = bench(&["check", "--json", &path(id)]);
    assert!(origins(&json(&own)).iter().all(|origin| *origin == "sframe"));
    let folder = tempfile::tempdir().expect("a folder");
    let stripped = write_changed(folder.path(), id, |_, bytes| without_section(bytes));
    for (file, from) in [(path(id), "eh-frame"), (stripped.clone(), "eh-frame"), (stripped, "either")] {
        let made = bench(&["check", "--json", "--from", from, &file]);
        assert!(origins(&json(&made)).iter().all(|origin| *origin == "eh-frame"), "{from}");
        assert_eq!((status(&made), summary(&made)), (status(&own), summary(&own)), "{id}: {from}");
    }
}

/// Where the linker wrote wrong rows, and right CFI.
#[test]
fn faults_that_only_the_section_has_are_gone() {
    let id = "gnu-2.44/amd64/crossing.O2-dynamic";
    assert_eq!(status(&bench(&["check", &path(id)])), 1);
    let made = bench(&["check", "--from=eh-frame", "--json", &path(id)]);
    assert_eq!(status(&made), 0, "{}", json(&made)["summary"]);
    assert!(json(&made)["summary"]["comparisons"].as_u64() > Some(1000));
    // It has sections of its own, and so they are judged.
    assert_eq!(status(&bench(&["check", "--from=either", &path(id)])), 1);
}

#[test]
fn without_a_section_the_error_names_the_option() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = write_changed(folder.path(), "gnu-2.47/s390x/leaf.O2", |_, bytes| without_section(bytes));
    let output = bench(&["check", &file]);
    let error = stderr(&output);
    assert_eq!((status(&output), error.lines().count()), (2, 1), "{error}");
    assert!(error.contains("there is no .sframe section: ") && error.contains(" --from eh-frame"), "{error}");

    let nothing = |_: &str, bytes: &[u8]| without_cfi(&without_section(bytes));
    let file = write_changed(folder.path(), "gnu-2.47/s390x/leaf.O2", nothing);
    for from in ["eh-frame", "either"] {
        let output = bench(&["check", "--from", from, &file]);
        let error = stderr(&output);
        assert_eq!((status(&output), error.lines().count()), (2, 1), "{error}");
        assert!(
            error.contains("no section can be synthesized from .eh_frame: there is no call frame"),
            "{error}"
        );
    }
}

/// Each image is judged by what it has.
#[test]
fn the_report_says_which_section_each_image_has() {
    let id = "gnu-2.47/amd64/crossing.O2-dynamic";
    let folder = tempfile::tempdir().expect("a folder");
    let change = |name: &str, bytes: &[u8]| match name.split('.').rev().nth(1) {
        None => without_section(bytes),
        Some("first") => without_cfi(&without_section(bytes)),
        Some(_) => bytes.to_vec(),
    };
    let file = write_changed(folder.path(), id, change);
    for (from, expected) in [
        ("sframe", ["none", "sframe", "none"]),
        ("either", ["eh-frame", "sframe", "none"]),
        ("eh-frame", ["eh-frame", "eh-frame", "none"]),
    ] {
        let report = json(&bench(&["check", "--json", "--from", from, &file]));
        assert_eq!(origins(&report), expected, "{from}");
        let [executable, second, first] = [0, 1, 2].map(|index| &report["images"][index]);
        assert_eq!(executable["name"], Value::Null);
        assert!(second["functions"].as_u64() > Some(2) && first["functions"] == 0, "{report}");
        assert_eq!(first["reason"].is_string(), from != "sframe");
        assert!(report["summary"]["uncovered"]["crossing.O2-dynamic.first.so"].as_u64() > Some(10));
    }
    let output = bench_in(folder.path(), &["check", &file, "--from=either", "--report=report", "-v"]);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let page = std::fs::read_to_string(folder.path().join("report/summary.md")).expect("a summary");
    for line in [
        "crossing.O2-dynamic: synthesized from .eh_frame, 8 functions",
        "crossing.O2-dynamic.second.so: .sframe, 6 functions",
        "crossing.O2-dynamic.first.so: none: there is no call frame information in .eh_frame or .debug_frame",
    ] {
        assert!(text.contains(&format!("\nsection     {line}\n")), "{text}");
        assert!(page.contains(&format!("\n{line}\n")), "{page}");
    }
}

/// Wrong CFI is found, and nobody is blamed who has not written it.
#[rstest]
// DW_CFA_def_cfa_offset 16 becomes 24.
#[case("gnu-2.47/amd64/recursion.O2", &[0x0e, 16], &[0x0e, 24], "wrong-cfa")]
// DW_CFA_offset of x30 to another slot.
#[case("gnu-2.47/aarch64/recursion.O2", &[0x9e, 2], &[0x9e, 4], "wrong-ra")]
#[case("gnu-2.47/s390x/recursion.O2", &[0x8e, 6], &[0x8e, 8], "wrong-ra")]
fn wrong_cfi_is_found_and_is_the_compilers_fault(
    #[case] id: &str,
    #[case] from: &[u8],
    #[case] to: &[u8],
    #[case] verdict: &str,
) {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("file").display().to_string();
    std::fs::write(&file, doctored(id, from, to).1).expect("a file");
    assert_eq!(status(&bench(&["check", &file])), 0, "the section is as it was");
    let output = bench(&["check", "--json", "--from=eh-frame", &file]);
    assert_eq!(status(&output), 1);
    let report = json(&output);
    let findings = report["findings"].as_array().expect("a list");
    assert!(findings.iter().any(|finding| finding["verdict"] == verdict), "{report}");
    for finding in findings {
        assert_eq!(finding["blame"], "compiler-or-cfi", "{finding}");
        assert!(
            finding["message"].as_str().is_some_and(|text| text.contains(" (synthesized from .eh_frame): "))
        );
    }
    let text = String::from_utf8_lossy(&bench(&["check", "--from=eh-frame", &file]).stdout).into_owned();
    assert!(text.contains(&format!("check {file} --from eh-frame --report DIR")), "{text}");
}

/// A row that says something else than its CFI has been changed by the conversion.
#[test]
fn a_wrong_conversion_is_the_fault_of_the_bench() {
    let bytes = sound("gnu-2.47/amd64/recursion.O2").1;
    let mut patched = bytes.clone();
    patch_first_row(&mut patched, "descend");
    let wrong = ObjectFile::parse(&patched).expect("an ELF file").sframe.expect("a section").data;
    let files = Files { executable: bytes, ..Files::default() };
    for (source, expected) in
        [(SectionSource::Sframe, Blame::ProducerAssembler), (SectionSource::EhFrame, Blame::Bench)]
    {
        let made = MadeSections::of(&files, source);
        let target = Target::open_made(&files, &made).expect("a target");
        let target = target.with_section(0, wrong).expect("a section");
        let examination = sframe_judge::examine::examine(
            &target,
            &mut *sframe_unwinder(&target),
            &sframe_judge::examine::ExamineOptions::default(),
            &sframe_machine::Options::default(),
        );
        let findings = examination.expect("a run").findings;
        let wrong: Vec<_> = findings.iter().filter(|finding| finding.verdict == Verdict::WrongCfa).collect();
        assert!(!wrong.is_empty() && wrong.iter().all(|finding| finding.blame == expected), "{findings:?}");
    }
}

/// What can't be read or expressed is counted, and the rest is judged.
#[test]
fn what_a_made_section_lacks_is_counted() {
    let id = "gnu-2.47/amd64/recursion.O2";
    let folder = tempfile::tempdir().expect("a folder");
    let judge = |bytes: &[u8]| {
        let file = folder.path().join("file").display().to_string();
        std::fs::write(&file, bytes).expect("a file");
        let output = bench(&["check", "--json", "--from=eh-frame", &file]);
        (output.status.code(), json(&output)["images"][0].clone())
    };
    let (status, whole) = judge(&sound(id).1);
    let lacks = |left_out: u64| serde_json::json!({ "left_out": left_out, "reasons": {}, "unread": [], "unread_functions": 0 });
    assert_eq!((status, &whole["lacks"]), (Some(0), &lacks(0)));
    let functions = whole["functions"].as_u64().expect("a number");

    // No vendor uses DW_CFA_hi_user.
    let (_, image) = judge(&doctored(id, &[0x0e, 16], &[0x3f, 16]).1);
    assert_eq!(image["functions"], functions - 1);
    assert_eq!(image["lacks"]["left_out"], 1);
    let reasons = image["lacks"]["reasons"].as_object().expect("reasons");
    assert!(reasons.iter().all(|(reason, count)| reason.contains("can't be executed") && *count == 1));

    // The third entry is longer than the section.
    let (_, mut file) = sound(id);
    let start = eh_frame(&file).start;
    let length = |at: usize| u32::from_le_bytes(file[at..at + 4].try_into().expect("4 bytes")) as usize;
    let second = start + 4 + length(start);
    let third = second + 4 + length(second);
    file[third..third + 4].copy_from_slice(&0x7fff_0000_u32.to_le_bytes());
    let (_, image) = judge(&file);
    assert_eq!((&image["functions"], &image["lacks"]["left_out"]), (&1.into(), &0.into()));
    let unread = image["lacks"]["unread"].as_array().expect("a list");
    assert!(matches!(&unread[..], [one] if one.as_str().is_some_and(|text| text.contains("past offset"))));
}

/// Whatever the information is, the result is a target or an error.
#[test]
fn any_information_gives_a_target_or_an_error() {
    let (_, file) = sound("gnu-2.47/aarch64/leaf.O2");
    let (mut opened, mut refused) = (0, 0);
    for at in eh_frame(&file) {
        let mut executable = file.clone();
        executable[at] = 0xff;
        let files = Files { executable, ..Files::default() };
        let made = MadeSections::of(&files, SectionSource::EhFrame);
        *(if Target::open_made(&files, &made).is_ok() { &mut opened } else { &mut refused }) += 1;
    }
    assert!(opened > 50 && refused > 0, "{opened}, {refused}");
}

/// An unwinder in another process gets the section behind the file's bytes.
#[rstest]
#[case("gnu-2.47/s390x/crossing.O2-dynamic-now")]
#[case("gnu-2.47/amd64/recursion.O2-pie")]
fn an_unwinder_in_another_process_reads_the_made_section(#[case] id: &str) {
    let folder = tempfile::tempdir().expect("a folder");
    let file = write_changed(folder.path(), id, |_, bytes| without_section(bytes));
    let unwinder = env!("CARGO_BIN_EXE_sframe-engine-unwinder");
    let check = |file: &str, more: &[&str]| {
        let output = bench(&[&["check", "--json", "--unwinder", unwinder, file], more].concat());
        assert_eq!(status(&output), 0, "{}", stderr(&output));
        summary(&output)
    };
    let made = check(&file, &["--from=eh-frame"]);
    assert!(made["walk_ends"]["outermost"].as_u64() > Some(100), "{made}");
    assert_eq!(made, check(&path(id), &[]));
}

/// What another section would say nothing of either is not commended.
#[rstest]
#[case::as_it_is([0x0c, 7, 8, 0x90, 1], true)]
// CFA = ~(SP+8), which no row says.
#[case::inexpressible([0x0f, 3, 0x77, 8, 0x20], false)]
fn what_has_no_rule_is_not_said_to_be_checked_by_eh_frame(#[case] rules: [u8; 5], #[case] is_said: bool) {
    let mut file =
        std::fs::read(repository().join("corpus/faults/clang-expression-forgotten/late")).expect("it");
    let places: Vec<usize> =
        (0..file.len()).filter(|at| file[*at..].starts_with(&[0x0c, 7, 8, 0x90, 1])).collect();
    assert!(!places.is_empty());
    places.iter().for_each(|at| file[*at..at + 5].copy_from_slice(&rules));
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("program");
    std::fs::write(&path, file).expect("a file");
    let output = bench(&["check", "--no-explore", path.to_str().expect("text")]);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(text.contains("checks by .eh_frame"), is_said, "{text}");
}
