//! The kit in C, `harness/adapters/c`, with its example, and with mistakes in that.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use rstest::rstest;
use serde_json::Value;

use crate::command::{bench, conclusion, json, program, status};
use crate::common::repository;

/// Compiles the kit with its example, of which `change` makes another text; `None` without a compiler.
fn reader(folder: &Path, change: impl Fn(String) -> String, flags: &[&str]) -> Option<String> {
    let compiler = program(&["cc", "gcc", "clang"])?;
    let kit = repository().join("harness/adapters/c");
    let text = std::fs::read_to_string(kit.join("example.c")).expect("the example");
    let (source, made): (PathBuf, PathBuf) = (folder.join("reader.c"), folder.join("reader"));
    std::fs::write(&source, change(text)).expect("a file");
    let output = Command::new(compiler)
        .args(["-std=c11", "-O1", "-Wall", "-Wextra", "-Wconversion", "-Wpedantic", "-Werror"])
        .args(flags)
        .arg("-I")
        .arg(&kit)
        .args([&source, &kit.join("sframe-kit.c")])
        .arg("-o")
        .arg(&made)
        .output()
        .expect("the compiler runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Some(made.display().to_string())
}

fn replaced(text: &str, old: &str, new: &str) -> String {
    assert!(text.contains(old), "the example has no `{old}`");
    text.replace(old, new)
}

fn vectors(reader: &str, only: &[&str]) -> (i32, Value) {
    let only = only.iter().flat_map(|only| ["--only", only]);
    let arguments: Vec<&str> = ["vectors", "--json", "--unwinder", reader].into_iter().chain(only).collect();
    let output = bench(&arguments);
    (status(&output), json(&output))
}

/// The example reads version 3: of a profile of version 2, it only refuses, which is too little to have passed.
#[test]
fn a_reader_that_answers_little_of_a_profile_has_not_passed() {
    let folder = tempfile::tempdir().expect("a folder");
    let Some(reader) = reader(folder.path(), |text| text, &[]) else { return };
    let output = bench(&["vectors", "--profile", "v2-glibc", "--unwinder", &reader]);
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(status(&output), 3, "{said}");
    assert!(conclusion(&said).contains("too little was compared: "), "{said}");
}

/// What a reader prints is no answer, and is seen with what it says on standard error.
#[test]
fn a_reader_that_prints_is_read_all_the_same() {
    let folder = tempfile::tempdir().expect("a folder");
    let prints = |text: String| {
        let text = replaced(&text, "#include <stdlib.h>", "#include <stdio.h>\n#include <stdlib.h>");
        replaced(
            &text,
            "  opened->section = *section;",
            "  printf (\"it opens\\n\");\n  opened->section = *section;",
        )
    };
    let Some(reader) = reader(folder.path(), prints, &[]) else { return };
    let (status, report) = vectors(&reader, &["step/v3-amd64", "default/v3-amd64"]);
    assert_eq!((status, &report["partly"], &report["restarts"]), (0, &2.into(), &0.into()), "{report}");
    // One that ends is quoted.
    let ends = |text: String| {
        let exits =
            "  printf (\"no memory\\n\");\n  fflush (stdout);\n  abort ();\n  opened->section = *section;";
        let text = replaced(&text, "#include <stdlib.h>", "#include <stdio.h>\n#include <stdlib.h>");
        replaced(&text, "  opened->section = *section;", exits)
    };
    let Some(reader) = self::reader(folder.path(), ends, &[]) else { return };
    let (_, report) = vectors(&reader, &["step/v3-amd64"]);
    let difference = &report["differences"][0];
    assert_eq!(difference["fault"], "crashed", "{report}");
    assert!(difference["message"].as_str().is_some_and(|it| it.contains("no memory")), "{report}");
}

/// What the kit and its example are compiled by, without a warning.
#[rstest]
#[case::c(&["cc", "gcc", "clang"], &["-x", "c", "-std=c99", "-D_POSIX_C_SOURCE=200809L"])]
#[case::cxx(&["c++", "g++", "clang++"], &["-x", "c++", "-std=c++17"])]
fn the_kit_is_c_and_cxx(#[case] compilers: &[&str], #[case] language: &[&str]) {
    let Some(compiler) = program(compilers) else {
        eprintln!("skipped: there is none of {compilers:?}");
        return;
    };
    let kit = repository().join("harness/adapters/c");
    for source in ["sframe-kit.c", "example.c"] {
        let output = Command::new(&compiler)
            .args(language)
            .args(["-Wall", "-Wextra", "-Wconversion", "-pedantic", "-Werror", "-fsyntax-only"])
            .arg(kit.join(source))
            .output()
            .expect("the compiler runs");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
}

/// With its own steps, and with those of the kit.
#[rstest]
#[case::steps(&[])]
#[case::rules(&["-DWITHOUT_STEP"])]
fn the_example_walks_as_the_engine_does(#[case] flags: &[&str]) {
    let folder = tempfile::tempdir().expect("a folder");
    let Some(reader) = reader(folder.path(), |text| text, flags) else { return };
    for build in ["recursion.O0", "signals.O2", "plt.O0-shared", "deep_recursion.O2"] {
        let file = format!("corpus/builds/gnu-2.47/amd64/{build}");
        let output = bench(&["check", "--json", "--unwinder", &reader, &file]);
        let unwinder = &json(&output)["unwinder"];
        assert_eq!((status(&output), &unwinder["agree"]), (0, &unwinder["stops"]), "{build}");
        assert_eq!((&unwinder["restarts"], unwinder["stops"].as_u64() > Some(100)), (&0.into(), true));
    }
}

/// What a reader says about its walks, and what it does with sections that come and go, is judged through the kit as well:
/// that of the example, and of one that relies on each walk, or keeps rows of sections that have gone.
#[rstest]
#[case::marks("recursion.O2", ("", ""), None)]
#[case::no_marks("mixed_objects.O2", ("", ""), None)]
#[case::always("mixed_objects.O2", ("end->kind == KIT_OUTERMOST", "end->kind >= KIT_CALLER"), Some("silent"))]
#[case::follows("generated_code.O2", ("", ""), None)]
#[case::stale(
    "generated_code.O2",
    ("look_up (of, frame->pc, frame->is_return, &place);", "
      static struct { uint64_t pc; struct kit_place place; } cache[65536], *kept;
      kept = &cache[frame->pc % 65536];
      if (kept->pc != frame->pc)
        look_up (of, frame->pc, frame->is_return, &kept->place);
      kept->pc = frame->pc;
      place = kept->place;"),
    Some("truncated")
)]
fn what_a_reader_says_of_walks_is_judged(
    #[case] build: &str,
    #[case] (right, wrong): (&str, &str),
    #[case] verdict: Option<&str>,
) {
    let folder = tempfile::tempdir().expect("a folder");
    let change = |text: String| if right.is_empty() { text } else { replaced(&text, right, wrong) };
    let Some(reader) = reader(folder.path(), change, &[]) else { return };
    let file = format!("corpus/builds/gnu-2.47/amd64/{build}");
    let output =
        bench(&["check", "--json", "--no-explore", "--coverage", "10%", "--unwinder", &reader, &file]);
    let report = json(&output);
    let verdicts: BTreeSet<&str> = report["findings"]
        .as_array()
        .expect("findings")
        .iter()
        .filter(|it| it["blame"] == "consumer")
        .map(|it| it["verdict"].as_str().expect("a verdict"))
        .collect();
    assert_eq!(verdicts, verdict.into_iter().collect(), "{report}");
    let unwinder = &report["unwinder"];
    assert!(unwinder["not_followed"] == 0 && unwinder["called_reliable"].is_u64(), "{unwinder}");
}

/// It has look-ups and steps, of one version and ABI, and no mistakes but those that tests put into it.
#[test]
fn the_example_answers_vectors() {
    let folder = tempfile::tempdir().expect("a folder");
    let Some(reader) = reader(folder.path(), |text| text, &[]) else { return };
    let (status, report) = vectors(&reader, &["*/v3-amd64*", "flex/amd64*", "fde/*", "row/*"]);
    assert_eq!((status, report["differences"].as_array().map(Vec::len)), (0, Some(0)), "{report}");
    for part in ["lookups", "steps"] {
        assert!(report["parts"][part]["answered"].as_u64() > Some(300), "{report}");
    }
}

#[test]
fn what_a_reader_does_not_support_is_skipped_and_said() {
    let folder = tempfile::tempdir().expect("a folder");
    let Some(reader) = reader(folder.path(), |text| text, &[]) else { return };
    let (status, report) = vectors(&reader, &["step/v2-amd64"]);
    assert_eq!((status, &report["skipped"][0]["reason"]), (3, &"an older version than 3".into()));
}

#[test]
fn a_reader_that_looks_return_addresses_up_is_found() {
    let folder = tempfile::tempdir().expect("a folder");
    let wrong = |text: String| replaced(&text, "pc - is_return", "pc");
    let Some(reader) = reader(folder.path(), wrong, &["-Wno-unused-parameter"]) else { return };
    let (status, _) = vectors(&reader, &["lookup/v3-amd64*"]);
    assert_eq!(status, 1);
}

/// What it answers after a fault is accepted one by one, since the whole section may be refused.
#[test]
fn a_reader_that_finds_nothing_after_a_fault_is_found() {
    let folder = tempfile::tempdir().expect("a folder");
    let damaged = |text: String| {
        let start = "struct kit_place *place)\n{\n";
        let refuses = "  static bool damaged;\n  place->found = KIT_FAULTY;\n  if (damaged)\n    return;\n  place->found = KIT_NO_FDE;\n";
        let text = replaced(&text, start, &format!("{start}{refuses}"));
        text.replace("      place->found = KIT_FAULTY;\n", "      damaged = place->found = KIT_FAULTY;\n")
    };
    let Some(reader) = reader(folder.path(), damaged, &["-w"]) else { return };
    let (status, report) = vectors(&reader, &["hostile/v3-amd64-fre-type-then-sound"]);
    let message = report["differences"][0]["message"].as_str().unwrap_or_default();
    assert!(status == 1 && message.contains(" as well: "), "{report}");
}

/// The names of a reader's mistakes, and the number of wrong answers, of an example with a mistake.
fn mistakes(right: &str, wrong: &str) -> Option<(Vec<String>, usize)> {
    let folder = tempfile::tempdir().expect("a folder");
    let reader = reader(folder.path(), |text| replaced(&text, right, wrong), &["-w"])?;
    let (status, report) = vectors(&reader, &[]);
    assert_eq!(status, 1);
    let mistakes = report["mistakes"].as_array().expect("mistakes").iter();
    let names = mistakes.flat_map(|it| it["names"].as_array().expect("names"));
    let names = names.map(|name| name.as_str().expect("a name").to_owned());
    Some((names.collect(), report["differences"].as_array().expect("differences").len()))
}

/// The naming of mistakes was written beside the model of another reader: what it says of this one is nothing that it was
/// made for.
#[rstest]
#[case("pc - is_return", "pc", &["return-address-as-pc"])]
#[case("pc - is_return", "pc + is_return", &["byte-after-return-address"])]
#[case("pc - is_return", "pc - 1", &["pc-as-return-address"])]
#[case("pc - f->start >= f->size", "pc - f->start > f->size", &["end-included"])]
#[case("pc - f->start >= f->size", "pc - f->start - 1 >= f->size - 1", &["start-excluded"])]
#[case("f->size = at (opened, fde + 8, 4)", "f->size = at (opened, fde + 8, 2)", &["size-of-16-bits"])]
#[case("HEADER + at (opened, 7, 1)", "HEADER", &["aux-header-ignored"])]
#[case("first + at (opened, 20, 4)", "first", &["fdeoff-ignored"])]
#[case("first + at (opened, 24, 4)", "opened->fdes + index", &["freoff-ignored"])]
#[case("signed_at (opened, fde, 8)", "signed_at (opened, fde, 4)", &["start-of-32-bits"])]
#[case("at (opened, 3, 1) & 4 ? fde : 0", "0", &["pcrel-ignored"])]
#[case("at (opened, 3, 1) & 4 ? fde : 0", "fde", &["pcrel-always"])]
#[case("& 4 ? fde : 0", "& 4 ? opened->fdes : 0", &["pcrel-of-first-entry"])]
#[case("& 4 ? fde : 0", "& 4 ? HEADER + 16 * i : 0", &["pcrel-without-header"])]
#[case("i < opened->count", "i + 1 < opened->count", &["last-fde-never-found"])]
#[case("info >> 4 & 1", "false", &["pc-type-ignored"])]
#[case("info >> 7 & 1", "false", &["signal-ignored", "signal-is-bit-6", "signal-caller-as-return"])]
#[case("info >> 7 & 1", "info >> 6 & 1", &["signal-ignored", "signal-is-bit-6", "signal-caller-as-return"])]
#[case("at (opened, attributes + 3, 1) & 31", "0", &["fde-type-ignored"])]
#[case("at (opened, attributes + 4, 1)", "16", &["block-of-16"])]
#[case("f->start_size = 1u << (info & 15)", "f->start_size = 1", &["fre-type-ignored"])]
#[case("at (opened, row, f.start_size)", "(uint64_t) signed_at (opened, row, f.start_size)", &["row-starts-sign-extended"])]
#[case("info & 1 ? KIT_SP : KIT_FP", "info & 1 ? KIT_FP : KIT_SP", &["base-bit-inverted"])]
#[case("info & 1 ? KIT_SP : KIT_FP", "KIT_SP", &["base-bit-ignored"])]
#[case("signed_at (opened, words", "(int64_t) at (opened, words", &["words-unsigned"])]
#[case("if (opened->fixed_fp)", "if (false)", &["fixed-fp-ignored"])]
#[case("if (place.rules.fp.is_there)", "if (false)", &["fp-lost"])]
#[case("if (at (opened, row, f.start_size) > offset)", "if (i > 0)", &["first-row-always"])]
#[case("at (opened, attributes, 2)", "at (opened, attributes, 1)", &["num-rows-of-8-bits"])]
#[case("caller->is_return = !place.is_signal", "caller->is_return = true", &["signal-caller-as-return"])]
fn a_mistake_of_a_reader_in_c_is_named(#[case] right: &str, #[case] wrong: &str, #[case] names: &[&str]) {
    if let Some((named, _)) = mistakes(right, wrong) {
        assert_eq!(named, names);
    }
}

/// Binary searches that compare addresses as signed numbers, as readers write them.
#[rstest]
#[case::half_open("from < to", "to = count", "to = middle", "from - 1", "starts-compared-signed")]
#[case::inclusive(
    "from <= to",
    "to = count - 1",
    "to = middle - 1",
    "from - 1",
    "starts-compared-signed-up-to-the-last"
)]
fn signed_searches_are_named(
    #[case] goes_on: &str,
    #[case] end: &str,
    #[case] back: &str,
    #[case] found: &str,
    #[case] name: &str,
) {
    let right = "  for (uint64_t i = 0; i < opened->count; i++)\n    {\n";
    let search = format!(
        "  int64_t count = (int64_t) opened->count, from = 0, {end}, first = 0, last = count - 1;
  while ((at (opened, 3, 1) & 1) && {goes_on})
    {{
      int64_t middle = from + (to - from) / 2;
      uint64_t fde = opened->fdes + 16 * (uint64_t) middle;
      uint64_t start = opened->section.address + (at (opened, 3, 1) & 4 ? fde : 0) + (uint64_t) signed_at (opened, fde, 8);
      if ((int64_t) start <= (int64_t) pc)
        from = middle + 1;
      else
        {back};
    }}
  if (at (opened, 3, 1) & 1)
    first = last = {found};
  while ((at (opened, 3, 1) & 1) && first > 0 && at (opened, opened->fdes + 16 * (uint64_t) first + 8, 4) == 0)
    last = --first;
  for (int64_t i = first < 0 ? 0 : first; i <= last; i++)
    {{
"
    );
    let search = search.replace("16 * i;", "16 * (uint64_t) i;");
    if let Some((named, _)) = mistakes(right, &search) {
        assert_eq!(named, [name]);
    }
}

/// Bits that are looked for in other places, and a base that is inverted beside them.
#[rstest]
#[case("size = 1u << (info >> 5 & 3)", "size = 1u << (info >> 4 & 3)", &["word-size-from-bit-4"])]
#[case(
    "uint64_t info = at (opened, attributes + 2, 1);",
    "uint64_t info = at (opened, attributes + 2, 1); info = (info >> 4 | (info >> 3 & 1) << 4 | (info & 1) << 7) & 255;",
    &["fde-info-from-top"]
)]
fn misplaced_bits_are_named(#[case] right: &str, #[case] wrong: &str, #[case] names: &[&str]) {
    if let Some((named, _)) = mistakes(right, wrong) {
        assert_eq!(named, names);
    }
}

/// These are like usual mistakes, or find nothing, as many readers with a mistake do.
#[rstest]
#[case("(uint64_t) signed_at (opened, fde, 8)", "at (opened, fde, 4)")]
#[case("& 4 ? fde : 0", "& 4 ? fde + 4 : 0")]
#[case("at (opened, fde + 8, 4)", "at (opened, fde + 8, 4) + 16")]
#[case("attributes + 5", "attributes + 6")]
#[case("offset %= f.rep_size", "offset = offset % f.rep_size + 1")]
#[case("place->row = i;", "place->row = i + 1;")]
#[case("signed_at (opened, words, size) };", "(int64_t) at (opened, words, size) };")]
#[case("words + size, size", "words, size")]
#[case("saved (opened->fixed_ra)", "saved (opened->fixed_ra - 8)")]
#[case("caller->sp = step->cfa", "caller->sp = step->cfa - 8")]
fn a_mistake_of_no_usual_kind_gets_no_name(#[case] right: &str, #[case] wrong: &str) {
    if let Some((named, count)) = mistakes(right, wrong) {
        assert!(count > 0, "it is not noticed");
        assert_eq!(named, [""; 0]);
    }
}

/// One that has no positions is compared by rules, and its mistakes have their names as those of others.
#[test]
fn a_reader_without_positions_is_compared_by_rules() {
    let flat = |text: String| {
        let text = replaced(&text, "place->row = i;", "place->row = 4321;");
        replaced(&text, "place->fde = (uint32_t) index;", "place->fde = 1234;\n  place->is_flat = true;")
    };
    let folder = tempfile::tempdir().expect("a folder");
    let Some(right) = reader(folder.path(), flat, &[]) else { return };
    let (status, report) =
        vectors(&right, &["lookup/v3-amd64*", "mask/v3-late*", "outermost/v3-amd64*", "fde/v3-amd64*"]);
    assert_eq!((status, report["differences"].as_array().map(Vec::len)), (0, Some(0)), "{report:.3000}");
    assert!(report["parts"]["lookups"]["answered"].as_u64() > Some(300), "{report:.3000}");
    let wrong = |text: String| replaced(&flat(text), "pc - is_return", "pc");
    let Some(reader) = reader(folder.path(), wrong, &["-w"]) else { return };
    let (_, report) = vectors(&reader, &[]);
    assert_eq!(report["mistakes"][0]["names"], serde_json::json!(["return-address-as-pc"]), "{report:.3000}");
    let message = report["differences"][0]["message"].as_str().unwrap_or_default();
    assert!(message.contains("expected") && message.contains("\"rules\":{"), "{message}");
}

/// What a reader says about a step is quoted, and separates causes.
#[test]
fn what_a_reader_says_is_quoted() {
    let folder = tempfile::tempdir().expect("a folder");
    let fails = |text: String| {
        let says = "step->message = place.rules.cfa.base == KIT_FP ? \"no FP\" : \"no SP\";\n  step->kind = KIT_FAILED;\n  return;\n  step->what = \"cfa\";";
        replaced(&text, "step->what = \"cfa\";", says)
    };
    let Some(reader) = reader(folder.path(), fails, &[]) else { return };
    let output = bench(&["vectors", "--only", "step/v3-amd64*", "--unwinder", &reader]);
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    for words in ["no FP", "no SP"] {
        let line = said.lines().find(|line| line.starts_with("differs ") && line.ends_with(words));
        assert!(line.is_some() && said.contains(&format!("; it says: {words}")), "{said}");
    }
}

/// Crashes of one place and kind are one line; what a sanitizer says of others is another one.
#[test]
fn crashes_are_sorted_by_place_and_kind() {
    let folder = tempfile::tempdir().expect("a folder");
    let crashes = |text: String| {
        let both = "{\n  if (section->size % 2)\n    fprintf (stderr, \"x.c:%d: runtime error: division by zero\\n\", 7);\n  \
                    else\n    fprintf (stderr, \"y.c:9: runtime error: index %zu out of bounds\\n\", section->size);\n  \
                    abort ();\n  struct opened *opened =";
        let text = replaced(&text, "#include <stdlib.h>", "#include <stdio.h>\n#include <stdlib.h>");
        replaced(&text, "{\n  struct opened *opened =", both)
    };
    let Some(reader) = reader(folder.path(), crashes, &[]) else { return };
    let output = bench(&["vectors", "--only", "default/v3*", "--unwinder", &reader]);
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let lines: Vec<&str> = said.lines().filter(|line| line.starts_with("crashed ")).collect();
    assert_eq!(lines.len(), 2, "{said}");
    for end in ["x.c:7: runtime error: division by zero", "y.c:9: runtime error: index N out of bounds"] {
        assert!(lines.iter().any(|line| line.ends_with(end)), "{lines:?}");
    }
}

/// The byte after a section can't be read, also without a sanitizer.
#[test]
fn a_reader_that_leaves_the_section_is_stopped() {
    let folder = tempfile::tempdir().expect("a folder");
    let careless = |text: String| {
        let text = replaced(&text, "opened->section.size - offset < size", "offset + size == 0");
        replaced(&text, "offset > opened->section.size || ", "")
    };
    let Some(reader) = reader(folder.path(), careless, &[]) else { return };
    let (status, report) = vectors(&reader, &["opening/v3-cut-at-4"]);
    assert_eq!((status, &report["differences"][0]["fault"]), (1, &"crashed".into()), "{report}");
}
