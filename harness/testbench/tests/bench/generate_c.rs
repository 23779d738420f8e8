//! `generate c`: what it writes is the same again, and what is wrong with a program is noticed.

use object::{Object as _, ObjectSection as _};
use serde_json::Value;
use sframe_engine::Abi;
use sframe_inspect::Blame;
use sframe_testbench::corpus::{Maker, Recipe};
use sframe_testbench::generate::c::{Build, Judged, Link, Plan, Section, Statement, draw, judge};

use crate::command::bench;
use crate::common::repository;
use crate::generate::{HOST, host};

/// A program of one function that calls another one.
fn small() -> (Plan, Build) {
    let mut plan = draw(1, 0, 2);
    for function in &mut plan.functions {
        function.body = vec![Statement::Compute(7)];
        function.convention = sframe_testbench::generate::c::Convention::Plain;
        function.attribute = sframe_testbench::generate::c::Attribute::NoInline;
        function.ending = sframe_testbench::generate::c::Ending::Value;
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

/// Call frame information that is wrong is a fault of both sections, and of whoever wrote it.
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
