//! `generate c`: what it writes is the same again, and what is wrong with a program is noticed.

use std::os::unix::fs::symlink;
use std::process::Command;

use object::{Object as _, ObjectSection as _};
use serde_json::Value;
use sframe_corpus::corpus::{Maker, Recipe};
use sframe_corpus::faults::{Observed, build_of, differences, is_current};
use sframe_corpus::spec::Faults;
use sframe_engine::Abi;
use sframe_kit::Blame;
use sframe_search::generate::c::{Build, Judged, Link, Plan, Section, Statement, draw, judge};

use crate::command::{bench, copy_repository};
use crate::common::repository;
use crate::generate::{HOST, host};

/// A program of one function that calls another one.
fn small() -> (Plan, Build) {
    let mut plan = draw(1, 0, 2);
    for function in &mut plan.functions {
        function.body = vec![Statement::Compute(7)];
        function.convention = sframe_search::generate::c::Convention::Plain;
        function.attribute = sframe_search::generate::c::Attribute::NoInline;
        function.ending = sframe_search::generate::c::Ending::Value;
        function.file = 0;
    }
    plan.files = 1;
    plan.functions[0].body.push(Statement::Call { callee: 1, inner: None });
    (plan, Build { flags: Vec::new(), link: Link::plain(1) })
}

fn made(maker: &Maker, recipe: &Recipe) -> Vec<u8> {
    maker.link(Abi::Amd64, recipe).expect("a program").bytes
}

/// Makes a program whose only file is changed.
fn changed(maker: &Maker, level: &'static str, change: &dyn Fn(&str) -> String) -> Judged {
    let (plan, build) = small();
    let mut recipe = build.recipe(&plan, level, false);
    let part = recipe.sources.iter_mut().find(|(name, _)| name == "part0.c").expect("a file");
    part.1 = change(&part.1);
    judge(&made(maker, &recipe)).expect("a judgement")
}

#[test]
fn a_seed_gives_the_same_source_again_and_others_give_others() {
    let source = |seed, abi| {
        let output = bench(&["generate", "c", "--source", "--abi", abi, "--seed", seed, "--functions", "4"]);
        assert_eq!(output.status.code(), Some(0));
        String::from_utf8(output.stdout).expect("text")
    };
    let first = source("5", "amd64");
    assert_eq!(first, source("5", "amd64"));
    assert_eq!(first, source("5", "s390x"));
    assert_ne!(first, source("6", "amd64"));
    assert_eq!(first.matches("u32 run(void)\n").count(), 1, "{first}");
    assert!(first.lines().any(|line| line.starts_with("u32 f3(")) || first.contains(" f3("), "{first}");
}

/// Compilers may be wrong, and may refuse a program; the bench may not contradict itself.
#[test]
fn run_exploration_and_sections_do_not_contradict_one_another() {
    if host().is_none() {
        return;
    }
    let path = repository().join(HOST).display().to_string();
    let options = ["--toolchain", &path, "--abi", "amd64", "--programs", "3", "--links", "--json"];
    let output = bench(&[&["generate", "c", "--no-reduce"], &options[..]].concat());
    let report: Value = serde_json::from_slice(&output.stdout).expect("a report");
    let found = &report["toolchains"]["host"]["amd64"];
    assert!(found["builds"].as_u64() > Some(5), "{report:#}");
    assert!(found["comparisons"].as_u64() > Some(10_000), "{report:#}");
    assert_eq!(found["contradictions"].as_array().map(Vec::len), Some(0), "{report:#}");
    assert_eq!(found["unjudged"].as_object().map(serde_json::Map::len), Some(0), "{report:#}");
    assert_eq!(found["differ"].as_array().map(Vec::len), Some(0), "{report:#}");
    assert!(matches!(output.status.code(), Some(0 | 1)), "{:?}", output.status);
}

/// Call frame information that is wrong is a bug of both sections, and of whoever wrote it.
#[test]
fn a_wrong_directive_is_noticed() {
    let Some(maker) = host() else { return };
    let right = changed(&maker, "-O2", &str::to_owned);
    assert_eq!((right.faults.as_slice(), right.contradictions.as_slice()), ([].as_slice(), [].as_slice()));
    let wrong = changed(&maker, "-O2", &|source| {
        let directive =
            "__asm__ volatile(\".cfi_adjust_cfa_offset 8\\n\\tnop\\n\\t.cfi_adjust_cfa_offset -8\");";
        source.replace("    return x + y;", &format!("    {directive}\n    return x + y;"))
    });
    let causes: Vec<_> = wrong.faults.iter().map(|fault| &fault.cause).collect();
    assert!(!causes.is_empty());
    for cause in causes {
        assert_eq!((cause.wrong.as_str(), cause.section), ("wrong-cfa", Section::Both), "{cause}");
        assert_eq!(cause.blame, Blame::CompilerOrCfi, "{cause}");
    }
    assert_eq!(wrong.contradictions, []);
}

/// Rows that are changed after the linker are not the compiler's fault.
#[test]
fn a_wrong_row_is_noticed() {
    let Some(maker) = host() else { return };
    let (plan, build) = small();
    let right = made(&maker, &build.recipe(&plan, "-O0", false));
    let file = object::File::parse(right.as_slice()).expect("a file");
    let (start, size) =
        file.section_by_name(".sframe").and_then(|section| section.file_range()).expect("a section");
    let at = |offset: u64| usize::try_from(offset).expect("a small file");
    let (start, end) = (at(start), at(start + size));
    let mut found = 0;
    // The last bytes are of rows.
    for at in (start..end).rev().take(40) {
        let mut wrong = right.clone();
        wrong[at] = wrong[at].wrapping_add(8);
        let Ok(judged) = judge(&wrong) else { continue };
        assert_eq!(judged.contradictions, [], "byte {at:#x}");
        let of_value = judged.faults.iter().filter(|fault| fault.cause.wrong.starts_with("wrong-"));
        for fault in of_value {
            assert_eq!(fault.cause.section, Section::Sframe, "byte {at:#x}: {}", fault.message);
            assert_ne!(fault.cause.blame, Blame::CompilerOrCfi, "byte {at:#x}: {}", fault.message);
            found += 1;
        }
    }
    assert!(found > 5, "{found}");
}

/// What a program computes is read from what it writes.
#[test]
fn a_program_that_depends_on_its_level_is_noticed() {
    let Some(maker) = host() else { return };
    let checksum = |level, change: &dyn Fn(&str) -> String| changed(&maker, level, change).checksum;
    let same = |source: &str| source.to_owned();
    let depends = |source: &str| {
        source.replace("    return x;", "#ifdef __OPTIMIZE__\n    x++;\n#endif\n    return x;")
    };
    let plain = checksum("-O0", &same);
    assert!(plain.is_some());
    assert_eq!(plain, checksum("-O2", &same));
    assert_eq!(plain, checksum("-O0", &depends));
    assert_ne!(plain, checksum("-O2", &depends));
}

/// What is written passes as a fault of the repository, and is known to the next search.
#[test]
fn a_page_that_was_written_makes_the_same_seed_quiet() {
    if host().is_none() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    copy_repository(folder.path());
    let here = |name: &str| folder.path().join(name);
    // The builds of pages are those of the repository, but for new ones.
    std::fs::remove_file(here("corpus/faults")).expect("a link");
    std::fs::create_dir(here("corpus/faults")).expect("a folder");
    for build in std::fs::read_dir(repository().join("corpus/faults")).expect("builds") {
        let build = build.expect("a build");
        let path = build.path().canonicalize().expect("a folder");
        symlink(path, here("corpus/faults").join(build.file_name())).expect("a link");
    }
    let host = std::fs::read_to_string(repository().join(HOST)).expect("a definition");
    // A toolchain whose versions are not known can have no fault that has a page.
    let properties = "properties: {compiler: gcc 12.2, assembler: gas 2.40, linker: ld 2.40}\n";
    for name in ["this", "same"] {
        let text = host.replace("name: host\n", &format!("name: {name}\n{properties}"));
        std::fs::write(here(&format!("{name}.yaml")), text).expect("a definition");
    }
    std::fs::create_dir(here("none")).expect("a folder");
    let run = |arguments: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_sframe-testbench"))
            .current_dir(folder.path())
            .env_remove("CI")
            .args(arguments)
            .output()
            .expect("the bench runs");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        (output.status.code(), String::from_utf8_lossy(&output.stdout).into_owned(), said)
    };
    let search =
        "generate c --toolchains none --abi amd64 --seed 207 --first 16 --programs 1 --functions 6 --json";
    let search = |more: &[&str]| {
        let words: Vec<&str> = search.split(' ').chain(more.iter().copied()).collect();
        let (status, report, said) = run(&words);
        let report: Value = serde_json::from_str(&report).unwrap_or_else(|error| panic!("{error}: {said}"));
        (status, report, said)
    };
    // Nothing is known, and another toolchain makes the same of it.
    let both = ["--toolchain", "this.yaml", "--toolchain", "same.yaml"];
    let (status, report, said) = search(&[&both[..], &["--specs", "none", "--pages", "new"]].concat());
    assert_eq!(status, Some(1), "{report:#}");
    let causes = report["toolchains"]["this"]["amd64"]["causes"].as_array().expect("causes").clone();
    assert!(!causes.is_empty());
    for cause in &causes {
        let others = &cause["first"]["elsewhere"];
        assert_eq!(others["same"]["result"], "same", "{cause:#}");
        assert!(others.get("this").is_none(), "{cause:#}");
    }
    let faults = Faults::load(&here("new/specs")).expect("pages");
    assert!(faults.iter().next().is_some(), "{said}");
    for (name, fault, _) in faults.iter() {
        assert!(said.contains(&format!("{name}: written")), "{said}");
        let corpus = here("new/corpus");
        assert!(is_current(&corpus, name, &fault.example), "{name}");
        let observed = Observed::of(&build_of(&corpus, name, &fault.example), &fault.example, fault.section);
        assert_eq!(differences(fault, &observed.expect("a judgement")), Vec::<String>::new(), "{name}");
    }
    // Each of them that has a page is known now.
    let (_, report, _) = search(&["--toolchain", "this.yaml", "--specs", "new/specs"]);
    let found = &report["toolchains"]["this"]["amd64"];
    let known = found["known"].as_object().expect("pages");
    for (name, ..) in faults.iter() {
        assert!(known[name]["count"].as_u64() > Some(0), "{report:#}");
    }
    let left = found["causes"].as_array().expect("causes").len();
    assert_eq!(left + known.len(), causes.len(), "{report:#}");
    // The corpus takes its program.
    for (name, ..) in faults.iter() {
        let program = name.replace(['-', '.'], "_");
        for (from, to) in [("corpus/programs", "c"), ("corpus/programs", "yaml"), ("specs", "yaml")] {
            let file = format!("{from}/{program}.{to}");
            std::fs::copy(here("new").join(&file), here(&file)).expect("a file");
        }
        let page = format!("specs/faults/{name}.yaml");
        std::fs::copy(here("new").join(&page), here(&page)).expect("a page");
        let folder = format!("corpus/faults/{name}");
        std::fs::create_dir(here(&folder)).expect("a folder");
        for file in std::fs::read_dir(here("new").join(&folder)).expect("a build") {
            let file = file.expect("a file");
            std::fs::copy(file.path(), here(&folder).join(file.file_name())).expect("a file");
        }
        let (status, shown, said) = run(&["try", &program, "--toolchain", "this.yaml", "--bless"]);
        assert_eq!(status, Some(0), "{name}: {shown}{said}");
        assert!(shown.contains("1 case: "), "{name}: {shown}");
    }
}
