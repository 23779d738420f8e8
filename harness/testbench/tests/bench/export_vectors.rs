//! `export vectors`: the vectors for readers that are tested without the bench.

use std::path::Path;
use std::process::Command;

use rstest::rstest;
use serde_json::Value;

use crate::command::{bench, json, program, status};
use crate::common::repository;

const LICENCE: &str = "MIT OR Apache-2.0 OR GPL-2.0-only";

fn export(output: &Path, more: &[&str]) {
    let output = output.display().to_string();
    let exported = bench(&[&["export", "vectors", "--output", &output], more].concat());
    assert_eq!(status(&exported), 0, "{exported:?}");
}

#[test]
fn each_question_has_its_accepted_answers() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("vectors.json");
    export(&file, &["--only", "header/v2-fixed-fp-lowest", "--only", "opening/*"]);
    let document: Value = serde_json::from_slice(&std::fs::read(&file).expect("a file")).expect("JSON");
    assert_eq!((&document["schema"], &document["licence"]), (&1.into(), &LICENCE.into()));
    for vector in document["vectors"].as_array().expect("vectors") {
        assert!(vector["question"]["bytes"].is_string(), "{vector}");
        for asked in vector["asked"].as_array().expect("questions") {
            assert_eq!(asked["accepted"][0]["class"], "must", "{vector}");
        }
    }
    let text = document.to_string();
    // A reading that the text leaves open.
    assert!(text.contains("fixed-fp-beside-word"), "{text}");
}

/// The guide says what each kind of query and pattern means.
#[test]
fn the_guide_has_each_query_and_pattern() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("vectors.json");
    export(&file, &["--only", "[!lw]*/*"]);
    let document: Value = serde_json::from_slice(&std::fs::read(&file).expect("a file")).expect("JSON");
    let guide = std::fs::read_to_string(repository().join("harness/guide/unwinder.md")).expect("the guide");
    let name = |value: &Value| match value {
        Value::Object(fields) => fields.keys().next().expect("a name").clone(),
        value => value.as_str().expect("a name").to_owned(),
    };
    let asked = document["vectors"]
        .as_array()
        .expect("vectors")
        .iter()
        .flat_map(|vector| vector["asked"].as_array().expect("questions"));
    let mut names = std::collections::BTreeSet::new();
    for asked in asked {
        names.insert(name(&asked["query"]));
        for accepted in asked["accepted"].as_array().expect("answers") {
            names.extend([name(&accepted["pattern"]), name(&accepted["class"])]);
        }
    }
    assert!(names.len() >= 14, "{names:?}");
    let missing: Vec<_> = names.iter().filter(|name| !guide.contains(&format!("\"{name}\""))).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

#[test]
fn sections_and_answers_are_files() {
    let folder = tempfile::tempdir().expect("a folder");
    let output = folder.path().join("vectors");
    export(&output, &["--format", "bin", "--only", "step/v3-*"]);
    let read = |name: &str| std::fs::read(output.join(name)).expect("a file");
    assert_eq!(read("LICENSE"), format!("SPDX-License-Identifier: {LICENCE}\n").into_bytes());
    let answers: Value = serde_json::from_slice(&read("step/v3-amd64.json")).expect("JSON");
    for vector in ["step/v3-amd64", "step/v3-s390x-entry"] {
        let answers: Value = serde_json::from_slice(&read(&format!("{vector}.json"))).expect("JSON");
        assert_eq!((&answers["licence"], &answers["schema"]), (&LICENCE.into(), &1.into()), "{vector}");
    }
    let digits: String = read("step/v3-amd64.sframe").iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(answers["question"]["bytes"], Value::from(digits));
    let again = bench(&["export", "vectors", "--format", "bin", "--output", &output.display().to_string()]);
    assert_eq!(status(&again), 2, "{again:?}");
}

/// Compiles a program against the kit.
fn compile(compiler: &Path, folder: &Path, arguments: &[&str], made: &str) -> String {
    let made = folder.join(made);
    let output = Command::new(compiler)
        .args([
            "-std=c99",
            "-Wall",
            "-Wextra",
            "-Wconversion",
            "-pedantic",
            "-Werror",
            "-D_POSIX_C_SOURCE=200809L",
            "-I",
        ])
        .arg(repository().join("harness/adapters/c"))
        .args(arguments)
        .arg("-o")
        .arg(&made)
        .output()
        .expect("the compiler runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    made.display().to_string()
}

/// A row that is refused is an answer, unless its function is.
#[test]
fn a_reader_in_c_that_refuses_each_row_is_wrong() {
    const READER: &str = "
        static uint32_t fdes (void *opened) { return opened != NULL; }
        static void fde (void *opened, uint32_t index, struct kit_fde *fde)
        { fde->size = opened ? index : 0; fde->rows = 99; }
        static void row (void *opened, uint32_t fde, uint32_t index, struct kit_row *row)
        { row->is_faulty = opened || fde || index || true; }
        int main (void)
        {
          struct kit_reader reader = example_reader;
          reader.fdes = fdes;
          reader.fde = fde;
          reader.row = row;
          return run_exported_vectors (&reader) < 0;
        }\n";
    let Some(compiler) = program(&["cc", "gcc", "clang"]) else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let header = folder.path().join("vectors.h");
    export(&header, &["--format", "c", "--only", "default/v3-*"]);
    let written = std::fs::read_to_string(&header).expect("the header");
    assert!(written.contains("export vectors --only 'default/v3-*'"), "it says what it has");
    let source = folder.path().join("test.c");
    let text = format!("#include \"{}\"\n#include \"example.c\"\n{READER}", header.display());
    std::fs::write(&source, text).expect("a file");
    let test = compile(&compiler, folder.path(), &["-DWITHOUT_MAIN", &source.display().to_string()], "test");
    let ran = Command::new(test).output().expect("the test runs");
    let said = String::from_utf8_lossy(&ran.stdout).into_owned();
    assert!(
        said.lines().filter(|line| line.contains(": row ") && line.ends_with(" is wrong")).count() > 5,
        "{said}"
    );
}

/// From nothing to the first table: one header, one reader, one compiler. The runner in C counts the answers as the
/// bench does.
#[test]
fn a_reader_in_c_has_the_same_table() {
    let Some(compiler) = program(&["cc", "gcc", "clang"]) else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let header = folder.path().join("vectors.h");
    let only =
        ["--only", "*/v3-amd64*", "--only", "fde/v3-*", "--only", "opening/*", "--only", "flex/amd64-*"];
    export(&header, &[&["--format", "c"], &only[..]].concat());
    let text = std::fs::read_to_string(&header).expect("a file");
    assert!(text.starts_with(&format!("/* SPDX-License-Identifier: {LICENCE}\n")), "{}", &text[..200]);

    let kit = repository().join("harness/adapters/c");
    let compile = |arguments: &[&str], made: &str| compile(&compiler, folder.path(), arguments, made);
    let [example, kit_source] =
        ["example.c", "sframe-kit.c"].map(|name| kit.join(name).display().to_string());
    // One that ignores how the block of a function is repeated.
    let text = std::fs::read_to_string(example).expect("the example");
    let block = "    offset %= f.rep_size;\n";
    assert!(text.contains(block), "{text}");
    let example = folder.path().join("example.c").display().to_string();
    std::fs::write(&example, text.replace(block, "    offset += 0;\n")).expect("a file");
    let adapter = compile(&[&example, &kit_source], "adapter");
    let main = "int main (void) { return run_exported_vectors (&example_reader) < 0; }";
    let source = folder.path().join("test.c");
    std::fs::write(&source, format!("#include \"{}\"\n#include \"example.c\"\n{main}\n", header.display()))
        .expect("a file");
    let test = compile(&["-DWITHOUT_MAIN", &source.display().to_string()], "test");

    let ran = Command::new(test).output().expect("the test runs");
    let said = String::from_utf8_lossy(&ran.stdout).into_owned();
    let report = json(&bench(&[&["vectors", "--json", "--unwinder", &adapter], &only[..]].concat()));
    let mut wrong: Vec<&str> = said.lines().filter_map(|line| line.strip_suffix(" is wrong")).collect();
    let mut differences: Vec<&str> = report["differences"]
        .as_array()
        .expect("differences")
        .iter()
        .map(|it| it["vector"].as_str().expect("a name"))
        .collect();
    wrong.iter_mut().for_each(|line| *line = line.split(':').next().unwrap_or_default());
    wrong.sort_unstable();
    differences.sort_unstable();
    assert!(ran.status.success() && wrong.len() > 20, "{said}");
    assert_eq!(wrong, differences);
}

/// What the runner says of the example with a change, by the lines that it prints, and how it ends.
fn run_changed(
    export_as: &[&str],
    change: (&str, &str),
    flags: &[&str],
) -> Option<(Vec<String>, Option<i32>)> {
    call_changed("run_exported_chosen (&example_reader)", export_as, change, flags)
}

/// The same by another call.
fn call_changed(
    call: &str,
    export_as: &[&str],
    (right, wrong): (&str, &str),
    flags: &[&str],
) -> Option<(Vec<String>, Option<i32>)> {
    let compiler = program(&["cc", "gcc", "clang"])?;
    let folder = tempfile::tempdir().expect("a folder");
    let header = folder.path().join("exported.h");
    let output = header.display().to_string();
    let exported = bench(
        &[&["export"], export_as, &["--format", "c", "--name", "chosen", "--output", &output]].concat(),
    );
    assert_eq!(status(&exported), 0, "{exported:?}");
    let text =
        std::fs::read_to_string(repository().join("harness/adapters/c/example.c")).expect("the example");
    assert!(text.contains(right), "{right}");
    std::fs::write(folder.path().join("example.c"), text.replace(right, wrong)).expect("a file");
    let main = format!("int main (void) {{ return run_status ({call}); }}");
    let source = folder.path().join("test.c");
    std::fs::write(&source, format!("#include \"{output}\"\n#include \"example.c\"\n{main}\n"))
        .expect("a file");
    let source = source.display().to_string();
    let arguments = [&["-DWITHOUT_MAIN", &*source], flags].concat();
    let ran =
        Command::new(compile(&compiler, folder.path(), &arguments, "test")).output().expect("the test runs");
    let said = String::from_utf8_lossy(&ran.stdout).lines().map(str::to_owned).collect();
    Some((said, ran.status.code()))
}

/// One that divides by the size of a block, whatever that is.
const DIVIDES: (&str, &str) = (" || (f->is_mask && f->rep_size == 0)", "");

/// A crash costs one answer, which has a name, and so does silence; what is asked after it is asked all the same.
#[rstest]
#[case::crash(DIVIDES, "crashed: signal 8")]
#[case::exit((DIVIDES.0, "; if (f->is_mask && f->rep_size == 0) exit (7)"), "has ended: status 7")]
#[case::silence((DIVIDES.0, "; while (f->is_mask && f->rep_size == 0)"), "has no answer in time: signal 14")]
fn a_crash_in_c_costs_one_answer(#[case] change: (&str, &str), #[case] end: &str) {
    let vectors = ["vectors", "--only", "fde/v3-amd64-rep*", "--only", "step/v3-amd64"];
    let Some((said, status)) = run_changed(&vectors, change, &["-DRUN_SECONDS=1"]) else { return };
    let wrong: Vec<&String> = said.iter().filter(|line| line.ends_with(end)).collect();
    assert!(!wrong.is_empty() && wrong.iter().all(|line| line.starts_with("fde/v3-amd64-rep")), "{said:?}");
    assert!(
        status == Some(1) && said.len() == wrong.len() + 1 && wrong[0].contains(": look-up 0x"),
        "{said:?}"
    );
    assert!(said.last().is_some_and(|line| line.contains(&format!(" {} wrongly", wrong.len()))), "{said:?}");
}

/// Without positions, look-ups are compared by rules.
#[test]
fn a_reader_in_c_without_positions_is_compared_by_rules() {
    let vectors = ["vectors", "--only", "lookup/v3*", "--only", "mask/v3*", "--only", "outermost/v3*"];
    let flat = ("place->fde = (uint32_t) index;", "place->fde = 1234;\n  place->is_flat = true;");
    let Some((said, status)) = run_changed(&vectors, flat, &[]) else { return };
    assert_eq!((status, said.len()), (Some(0), 1), "{said:?}");
    let wrong = (flat.0, "place->fde = 1234; place->is_flat = true; pc += f.start_size;");
    let Some((said, status)) = run_changed(&vectors, wrong, &[]) else { return };
    assert!(status == Some(1) && said.len() > 20, "{said:?}");
}

/// Sections with changed bytes, of which any answer is right: a reader that crashes is told by the section's number.
#[test]
fn sections_with_changed_bytes_are_for_readers_in_c() {
    let call = "run_flipped_chosen (&example_reader, 3000, 1)";
    let vectors =
        ["vectors", "--only", "fde/v3-amd64-rep*", "--only", "step/v3-amd64", "--only", "mask/v3-amd64*"];
    for (change, is_sound) in [(("free", "free"), true), (DIVIDES, false)] {
        let Some((said, status)) = call_changed(call, &vectors, change, &[]) else { return };
        let stopped =
            said.iter().filter(|line| line.starts_with("section ") && line.ends_with("crashed: signal 8"));
        let stopped = stopped.count();
        assert_eq!((stopped == 0, status), (is_sound, Some(i32::from(!is_sound))), "{said:?}");
        let end = format!("example: 3000 sections with changed bytes, {stopped} stopped it");
        assert_eq!(said.last(), Some(&end), "{said:?}");
    }
}

/// What a release has for those who test a reader needs a compiler, and no bench; with the bench, no clone.
#[test]
fn an_archive_has_what_a_reader_needs() {
    let Some(compiler) = program(&["cc", "gcc", "clang"]) else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let stacks = ["--spec", "leaf", "--toolchain", "gnu-2.47"];
    let made = Command::new(repository().join("ci/readers"))
        .arg(folder.path())
        .args(stacks)
        .env("SFRAME_TESTBENCH", env!("CARGO_BIN_EXE_sframe-testbench"))
        .output()
        .expect("the script runs");
    assert!(made.status.success(), "{made:?}");
    let archive = String::from_utf8_lossy(&made.stdout).trim().to_owned();
    let unpacked =
        Command::new("tar").args(["xf", &archive, "--strip-components", "1"]).current_dir(&folder).status();
    assert!(unpacked.is_ok_and(|status| status.success()));
    let has = |name: &str| folder.path().join(name).exists();
    for profile in ["all", "v3-kernel-user", "v3-kernel-arm64", "v2-glibc"] {
        assert!(["", ".h", ".json"].iter().all(|end| has(&format!("{profile}{end}"))), "{profile}");
    }
    let files =
        ["stacks.h", "stacks.json", "schemas/vectors.json", "LICENSE-MIT", "VECTORS.md", "v2-glibc/LICENSE"];
    assert!(files.iter().all(|name| has(name)));
    // The first commands of its manual, with the kit's example as the reader.
    let manual = std::fs::read_to_string(folder.path().join("README.md")).expect("a manual");
    let commands =
        manual.split("```sh\n").nth(1).and_then(|rest| rest.split("```").next()).expect("commands");
    let commands = commands.replace("cc -D", &format!("{} -Wall -Wextra -Werror -D", compiler.display()));
    let ran = Command::new("sh").args(["-ec", &commands]).current_dir(&folder).output().expect("a shell");
    assert!(ran.status.success() && ran.stdout.ends_with(b"not read\n"), "{ran:?}");
    assert!(
        !manual.contains("](../")
            && !std::fs::read_to_string(folder.path().join("VECTORS.md")).expect("a file").contains("](../"),
        "links lead out"
    );
    let asked = Command::new(env!("CARGO_BIN_EXE_sframe-testbench"))
        .args(["vectors", "--only", "step/*"])
        .env("SFRAME_TESTBENCH_HOME", folder.path())
        .current_dir("/")
        .output()
        .expect("the bench runs");
    assert!(asked.status.success(), "{asked:?}");
}

/// Where nothing can fork, as in a kernel, what crashed is named before it does.
#[rstest]
#[case::vectors(&["vectors", "--only", "fde/v3-amd64-rep*"], DIVIDES, "fde/v3-amd64-rep")]
#[case::stacks(
    &["stacks", "--spec", "leaf", "--abi", "amd64", "--toolchain", "gnu-2.47"],
    ("step->has_cfa = true;", "step->has_cfa = true; if (step->cfa % 8 == 0) abort ();"),
    "leaf/gnu-2.47/amd64/"
)]
fn what_crashes_is_named_before_it_does(
    #[case] what: &[&str],
    #[case] change: (&str, &str),
    #[case] name: &str,
) {
    let Some((said, status)) = run_changed(what, change, &["-DRUN_HERE"]) else { return };
    assert!(status.is_none() && said.last().is_some_and(|line| line.starts_with(name)), "{said:?}");
    let Some((said, status)) = run_changed(what, change, &[]) else { return };
    assert!(
        status == Some(1) && said.iter().filter(|line| line.contains("crashed: signal ")).count() > 1,
        "{said:?}"
    );
}

/// A test for each vector, as KTAP has it.
#[test]
fn each_vector_is_a_test_of_ktap() {
    let vectors = ["vectors", "--only", "step/v?-amd64", "--only", "fde/v3-amd64-rep*"];
    let Some((said, _)) = run_changed(&vectors, DIVIDES, &["-DRUN_KTAP"]) else { return };
    let tests: Vec<&String> = said[2..].iter().filter(|line| !line.starts_with("# ")).collect();
    assert_eq!((&*said[0], &*said[1]), ("KTAP version 1", &*format!("1..{}", tests.len())));
    assert!(
        tests.iter().any(|line| line.starts_with("not ok ") && line.contains(" fde/v3-amd64-rep")),
        "{said:?}"
    );
    assert!(tests.iter().any(|line| line.starts_with("ok ") && line.ends_with(" step/v3-amd64")), "{said:?}");
    assert!(tests.iter().any(|line| line.ends_with(" step/v2-amd64 # SKIP not read")), "{said:?}");
}

/// In a kernel, nothing of the host is included.
#[test]
fn tables_need_no_header_of_the_host() {
    let Some(compiler) = program(&["cc", "gcc", "clang"]) else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let linux = folder.path().join("linux");
    std::fs::create_dir(&linux).expect("a folder");
    let types = "typedef unsigned char uint8_t; typedef signed char int8_t; typedef unsigned int uint32_t;\n\
                 typedef unsigned long long uint64_t; typedef long long int64_t; typedef _Bool bool;\n\
                 typedef __SIZE_TYPE__ size_t;\nenum { false, true };\n#define NULL ((void *) 0)\n\
                 int pr_info (const char *, ...);\n";
    let string = "int strcmp (const char *, const char *); int memcmp (const void *, const void *, size_t);\n\
                  void *memcpy (void *, const void *, size_t); void *memset (void *, int, size_t);\n";
    std::fs::write(linux.join("types.h"), types).expect("a file");
    std::fs::write(linux.join("string.h"), string).expect("a file");
    let header = folder.path().join("tables.h");
    let stacks = ["export", "stacks", "--format", "c", "--spec", "leaf", "--abi", "s390x", "--output"];
    let exports: [(&str, &dyn Fn()); 2] = [
        ("vectors", &|| export(&header, &["--format", "c", "--only", "step/*", "--only", "address/*"])),
        ("stacks", &|| {
            let output = bench(&[&stacks[..], &[&header.display().to_string()]].concat());
            assert_eq!(status(&output), 0, "{output:?}");
        }),
    ];
    for (what, export) in exports {
        export();
        let source = folder.path().join("test.c");
        // Of vectors, each one may be a test.
        let one = if what == "vectors" { "r->name ? run_vector (r, &vectors_table[0]) : " } else { "" };
        let call = format!(
            "long run (const struct kit_reader *);\nlong run (const struct kit_reader *r) {{ return {one}run_exported_{what} (r); }}"
        );
        std::fs::write(&source, format!("#include \"{}\"\n{call}\n", header.display())).expect("a file");
        let output = Command::new(&compiler)
            .args(["-std=gnu11", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", "-nostdinc", "-D__KERNEL__"])
            .args(["-DKIT_SAY=pr_info", "-I"])
            .arg(folder.path())
            .arg(&source)
            .output()
            .expect("the compiler runs");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
}

/// One program, compiled without a warning, asks for each profile that its reader claims.
#[test]
fn tables_of_two_profiles_are_for_one_program() {
    let Some(compiler) = program(&["cc", "gcc", "clang"]) else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let own = folder.path().join("own.yaml");
    let text = "profiles:\n- {name: my-reader 2.0, summary: Mine., versions: [3], abis: [amd64]}\n";
    std::fs::write(&own, text).expect("a file");
    let own = own.display().to_string();
    // Without a profile, with one of the list, and with one of a file.
    let profiles: [(&str, &[&str]); 3] =
        [("all.h", &[]), ("kernel.h", &["--profile", "v3-kernel-user"]), ("own.h", &["--profile", &own])];
    for (name, profile) in profiles {
        let more = [&["--format", "c", "--only", "step/v3-amd64*"], profile].concat();
        export(&folder.path().join(name), &more);
    }
    let source = folder.path().join("test.c");
    let text = "#include \"all.h\"\n#include \"kernel.h\"\n#include \"own.h\"\n#include \"example.c\"\n\
                int main (void)\n{\n  return run_exported_vectors (&example_reader) \
                || run_exported_vectors_v3_kernel_user (&example_reader) \
                || run_exported_vectors_my_reader_2_0 (&example_reader);\n}\n";
    std::fs::write(&source, text).expect("a file");
    let test = compile(&compiler, folder.path(), &["-DWITHOUT_MAIN", &source.display().to_string()], "test");
    let ran = Command::new(test).output().expect("the test runs");
    assert!(ran.status.success(), "{ran:?}");
    let said = String::from_utf8_lossy(&ran.stdout).into_owned();
    let asked: Vec<&str> =
        said.lines().filter_map(|line| line.rsplit_once(" of ")).map(|(_, of)| of).collect();
    assert_eq!(asked, ["10 vectors not read"; 3], "{said}");
}

/// A test suite has one file for both.
#[test]
fn tables_of_vectors_and_of_stacks_are_for_one_file() {
    let Some(compiler) = program(&["cc", "gcc", "clang"]) else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let [vectors, stacks] = ["vectors.h", "stacks.h"].map(|name| folder.path().join(name));
    export(&vectors, &["--format", "c", "--only", "step/v3-amd64", "--only", "mask/v3-amd64-*"]);
    let path = stacks.display().to_string();
    let of_amd64 = ["--spec", "leaf", "--abi", "amd64", "--toolchain", "gnu-2.47", "--output", &path];
    let output = bench(&[&["export", "stacks", "--format", "c"], &of_amd64[..]].concat());
    assert_eq!(status(&output), 0, "{output:?}");
    let source = folder.path().join("test.c");
    let text = "#include \"vectors.h\"\n#include \"stacks.h\"\n#include \"example.c\"\n\
                int main (void)\n{\n  return run_exported_vectors (&example_reader) || run_exported_stacks (&example_reader);\n}\n";
    std::fs::write(&source, text).expect("a file");
    let test = compile(&compiler, folder.path(), &["-DWITHOUT_MAIN", &source.display().to_string()], "test");
    let ran = Command::new(test).output().expect("the test runs");
    assert!(ran.status.success(), "{ran:?}");
    assert_eq!(String::from_utf8_lossy(&ran.stdout).lines().count(), 2, "{ran:?}");
}

/// Headers with names of their own, in C and in C++, without a warning: two of vectors, and two of stacks.
#[rstest]
#[case::c(&["cc", "gcc", "clang"], &["-x", "c", "-std=c99", "-D_POSIX_C_SOURCE=200809L"])]
#[case::cxx(&["c++", "g++", "clang++"], &["-x", "c++", "-std=c++17"])]
fn headers_with_names_are_for_one_program(#[case] compilers: &[&str], #[case] language: &[&str]) {
    let Some(compiler) = program(compilers) else {
        eprintln!("skipped: there is none of {compilers:?}");
        return;
    };
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(format!("{name}.h"));
    for (name, only) in [("steps", "step/v3-amd64*"), ("flex_rows", "flex/amd64-*")] {
        export(&path(name), &["--format", "c", "--only", only, "--name", name]);
    }
    for (name, spec) in [("leaf", "leaf"), ("walks", "recursion")] {
        let output = path(name).display().to_string();
        let of_amd64 = ["--spec", spec, "--abi", "amd64", "--toolchain", "gnu-2.47", "--moments", "5"];
        let exported = ["export", "stacks", "--format", "c", "--name", name, "--output", &output];
        let exported = bench(&[&exported[..], &of_amd64].concat());
        assert_eq!(status(&exported), 0, "{exported:?}");
    }
    let source = folder.path().join("test.c");
    let names = ["steps", "flex_rows", "leaf", "walks"];
    let includes: String = names.iter().map(|name| format!("#include \"{name}.h\"\n")).collect();
    let calls: Vec<String> =
        names.iter().map(|name| format!("run_status (run_exported_{name} (&example_reader))")).collect();
    let main = format!("int main (void) {{ return {}; }}\n", calls.join(" | "));
    std::fs::write(&source, format!("{includes}#include \"example.c\"\n{main}")).expect("a file");
    let made = folder.path().join("test");
    let output = Command::new(compiler)
        .args(language)
        .args(["-Wall", "-Wextra", "-Wconversion", "-pedantic", "-Werror", "-DWITHOUT_MAIN", "-I"])
        .arg(repository().join("harness/adapters/c"))
        .arg(&source)
        .arg("-o")
        .arg(&made)
        .output()
        .expect("the compiler runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let ran = Command::new(made).output().expect("the test runs");
    assert_eq!((ran.status.code(), ran.stdout.is_empty()), (Some(0), false), "{ran:?}");
}

#[test]
fn a_name_is_one_in_c() {
    for (arguments, error) in [
        (["--format", "c", "--name", "3d"], "begins with no digit"),
        (["--format", "c", "--name", "my-reader"], "a name in C has letters, digits and `_`"),
        (["--format", "json", "--name", "mine"], "--name is for --format c"),
    ] {
        let asked = ["export", "vectors", "--output", "/nonexistent/file"];
        let output = bench(&[&asked[..], &arguments].concat());
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(status(&output) == 2 && said.contains(error), "{said}");
    }
}

/// All vectors are a few megabytes, a line each; what recipes make is there if it is asked for.
#[test]
fn what_is_large_is_left_out_unless_it_is_asked_for() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("vectors.json");
    export(&file, &[]);
    let text = std::fs::read_to_string(&file).expect("a file");
    let document: Value = serde_json::from_str(&text).expect("JSON");
    let count = |key: &str| document[key].as_array().expect("a list").len();
    assert!(text.len() < 10 << 20, "{}", text.len());
    assert_eq!((text.lines().count(), count("left_out")), (1 + count("vectors"), 5));
    let large = ["--only", "fde/v3-*-rows-beyond-64-kib"];
    let output = file.display().to_string();
    let nothing = bench(&[&["export", "vectors", "--output", &output][..], &large].concat());
    assert_eq!(status(&nothing), 2, "{nothing:?}");
    export(&file, &[&large[..], &["--large"]].concat());
    let document: Value = serde_json::from_slice(&std::fs::read(&file).expect("a file")).expect("JSON");
    assert_eq!(document["vectors"].as_array().map(Vec::len), Some(2));
    assert_eq!(document["left_out"], Value::Array(Vec::new()));
}

/// Leaves a reader its headers.
const ONLY_HEADERS: &str = "reader.look_up = NULL; reader.step = NULL; reader.header = header";

/// The status of the runner in C is that of the bench, also of a reader that answers next to nothing.
#[rstest]
#[case::as_it_is("reader.header = NULL", &["--only", "step/v3-amd64*"], 0)]
#[case::other_sections("reader.header = NULL", &["--only", "step/v2-amd64*"], 3)]
#[case::headers(ONLY_HEADERS, &["--only", "step/v3-amd64*"], 3)]
#[case::nothing("reader.look_up = NULL; reader.step = NULL", &["--only", "step/v3-amd64*"], 3)]
#[case::openings("reader.step = NULL", &["--only", "opening/v3-cut*"], 0)]
#[case::another_profile("reader.step = NULL", &["--profile", "v2-glibc"], 3)]
#[case::wrong("reader.look_up = look_up_late", &["--only", "flex/amd64-*"], 1)]
fn the_runner_in_c_has_the_status_of_the_bench(
    #[case] change: &str,
    #[case] which: &[&str],
    #[case] expected: i32,
) {
    const HEADER: &str = "
        static bool header (void *of, struct kit_header *h)
        {
          const struct opened *o = (const struct opened *) of;
          h->version = (uint8_t) at (o, 2, 1); h->flags = (uint8_t) at (o, 3, 1); h->abi = KIT_AMD64;
          h->fixed_fp = o->fixed_fp; h->fixed_ra = o->fixed_ra; h->aux_len = (uint8_t) at (o, 7, 1);
          h->num_fdes = (uint32_t) at (o, 8, 4); h->num_fres = (uint32_t) at (o, 12, 4);
          h->fre_len = (uint32_t) at (o, 16, 4); h->fdeoff = (uint32_t) at (o, 20, 4);
          h->freoff = (uint32_t) at (o, 24, 4);
          return true;
        }
        static void look_up_late (void *of, uint64_t pc, bool is_return, struct kit_place *place)
        {
          look_up (of, pc + 1, is_return, place);
        }
        static struct kit_reader changed (void)
        {
          struct kit_reader reader = example_reader;
          (void) header; (void) look_up_late;
          CHANGE;
          return reader;
        }\n";
    let Some(compiler) = program(&["cc", "gcc", "clang"]) else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let tables = folder.path().join("vectors.h");
    export(&tables, &[&["--format", "c", "--name", "chosen"][..], which].concat());

    let reader = format!("#include \"example.c\"\n{}", HEADER.replace("CHANGE", change));
    let write = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).expect("a file");
        path.display().to_string()
    };
    let main = "int main (void) { struct kit_reader r = changed (); return run_status (run_exported_chosen (&r)); }\n";
    let test = write("test.c", &format!("#include \"{}\"\n{reader}{main}", tables.display()));
    let main = "int main (void) { static struct kit_reader r; r = changed (); return kit_main (&r); }\n";
    let adapter = write("adapter.c", &format!("{reader}{main}"));
    let kit = repository().join("harness/adapters/c/sframe-kit.c").display().to_string();
    let test = compile(&compiler, folder.path(), &["-DWITHOUT_MAIN", &test], "test");
    let adapter = compile(&compiler, folder.path(), &["-DWITHOUT_MAIN", &adapter, &kit], "adapter");
    let ran = Command::new(test).output().expect("the test runs");
    let asked = bench(&[&["vectors", "--unwinder", &adapter][..], which].concat());
    assert_eq!((ran.status.code(), status(&asked)), (Some(expected), expected), "{ran:?} {asked:?}");
}
