//! `try`, and a program that is added with one toolchain at hand; specs of which others are wrong.

use std::path::Path;
use std::process::{Command, Output};
use std::time::Instant;

use object::{Object as _, ObjectSection as _};
use rstest::rstest;
use serde_json::Value;
use sframe_judge::target::Target;
use sframe_judge::unwind::sframe_unwinder;
use sframe_machine::Options;
use sframe_suite::case::{Outcome, RunScope};
use sframe_suite::suite::Filter;

use crate::command::{bench, copy_repository, has_gcc_with_sframe, json, status};
use crate::common::suite;
use crate::doctor::build;
use crate::reproduce::reproduce_in;

/// A build whose `main` jumps to itself.
fn endless(id: &str, jump: &[u8]) -> Vec<u8> {
    let mut bytes = build(id);
    let target = Target::open(&bytes).expect("a target");
    let address = target.executable().subject.symbols.addresses_of("main")[0];
    let object = object::File::parse(&*bytes).expect("an object");
    let sections = object.sections().filter(|section| section.kind() == object::SectionKind::Text);
    let at = sections.filter_map(|section| {
        let offset = address.checked_sub(section.address()).filter(|offset| *offset < section.size())?;
        usize::try_from(section.file_range()?.0 + offset).ok()
    });
    let at = at.last().expect("its code");
    bytes[at..at + jump.len()].copy_from_slice(jump);
    bytes
}

/// A program that never exits has not ended with the status that was demanded, whatever demands it.
#[rstest]
#[case("amd64", &[0xeb, 0xfe])]
#[case("aarch64", &[0x00, 0x00, 0x00, 0x14])]
#[case("s390x", &[0xa7, 0xf4, 0x00, 0x00])]
fn a_program_that_never_exits_has_no_exit_status(#[case] abi: &str, #[case] jump: &[u8]) {
    let bytes = endless(&format!("gnu-2.47/{abi}/recursion.O2"), jump);
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("endless").display().to_string();
    std::fs::write(&file, &bytes).expect("a file");
    for command in ["check", "study"] {
        let output = bench(&[command, &file]);
        assert!(matches!(status(&output), 0 | 3), "{output:?}");
        for expected in ["0", "3"] {
            let output = bench(&[command, &file, "--exit-status", expected]);
            assert_eq!(status(&output), 4, "{output:?}");
            let says = format!(" jumps to itself; status {expected} was expected");
            assert!((text(&output.stdout) + &text(&output.stderr)).contains(&says), "{says}: {output:?}");
        }
    }
    // Specs demand status 0 unless they say otherwise.
    let filter = Filter { cases: vec![format!("recursion/gnu-2.47/{abi}/O2")], ..Filter::default() };
    let cases = suite().cases(&filter).expect("a case");
    let target = Target::open(&bytes).expect("a target");
    let report = cases[0].run_on(&target, &Options::default(), &sframe_unwinder, RunScope::default());
    let reason = report.reason.expect("a reason");
    assert!(report.outcome == Outcome::Broken && reason.contains("jumps to itself; status 0"), "{reason}");
}

/// As in the guide, with a place for the value that it should compute.
const PROGRAM: &str = r#"#include "runtime/runtime.h"

NOIPA unsigned top(unsigned x)
{
    return x * 7 + 3;
}

NOIPA unsigned climb(unsigned steps, unsigned x)
{
    unsigned above = steps == 0 ? top(x) : climb(steps - 1, x + steps);

    BARRIER();
    return above ^ steps;
}

int main(void)
{
    return bench_check(climb(12, 5), WANTED);
}
"#;

/// 5, and the numbers to 12, are 83; 83 * 7 + 3 is 0x248; 0 to 12, each combined with it, are 12.
const RIGHT: &str = "0x244";

const SPEC: &str = "program: stairs
summary: Each step appears once.
stops:
  - at: top
sweep:
  min_depth: 16
";

struct Contributor(tempfile::TempDir);

impl Contributor {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        copy_repository(folder.path());
        Self(folder)
    }

    fn write(&self, name: &str, text: &str) {
        std::fs::write(self.0.path().join(name), text).expect("a file");
    }

    fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.0.path().join(name)).expect("a file")
    }

    fn program(&self, wanted: &str) {
        self.write("corpus/programs/stairs.c", &PROGRAM.replace("WANTED", wanted));
    }

    fn run(&self, arguments: &[&str]) -> (i32, String, String) {
        let output = Command::new(env!("CARGO_BIN_EXE_sframe-testbench"))
            .current_dir(self.0.path())
            .env_remove("CI")
            .args(arguments)
            .output()
            .expect("the bench runs");
        (status(&output), text(&output.stdout), text(&output.stderr))
    }

    fn json(&self, arguments: &[&str]) -> (i32, Value) {
        let (status, stdout, stderr) = self.run(&[arguments, &["--json"]].concat());
        (status, serde_json::from_str(&stdout).unwrap_or_else(|error| panic!("{error}: {stdout}{stderr}")))
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn a_program_is_added_with_the_gcc_of_this_machine_alone() {
    if !has_gcc_with_sframe() {
        return;
    }
    let start = Instant::now();
    let here = Contributor::new();
    // The result is not known yet.
    here.program("0xabcd");
    let (ended, shown, said) = here.run(&["try", "stairs"]);
    assert_eq!(ended, 4, "{shown}{said}");
    let message = "exit status is 1, not 0: bench_check got 0x00000244 and wanted 0x0000abcd";
    assert!(shown.contains(message), "{shown}");
    assert!(shown.contains("there is no spec of `stairs`"), "{shown}");
    // Without a spec, everything is compared.
    here.program(RIGHT);
    let (ended, report) = here.json(&["try", "stairs"]);
    assert_eq!(ended, 0, "{report:#}");
    let checks = report["checks"].as_array().expect("checks");
    assert!(checks.len() >= 3, "one for each variant: {report:#}");
    assert!(checks.iter().all(|check| check["summary"]["comparisons"].as_u64() > Some(100)), "{report:#}");

    // With a spec: frames are written, and then hold.
    here.write("specs/stairs.yaml", SPEC);
    let (ended, shown, said) = here.run(&["try", "-v", "stairs", "--bless"]);
    assert_eq!(ended, 0, "{shown}{said}");
    assert!(shown.contains("+    frames: [top, climb x 13, main, _start]"), "{shown}");
    assert!(here.read("specs/stairs.yaml").contains("frames: [top, climb x 13, main, _start]"));
    assert!(shown.contains("agree       stairs/host/amd64/O2: "), "{shown}");

    // The spec is held in full.
    for (from, to, verdict) in
        [("climb x 13", "climb x 12", "unexpected-frames"), ("min_depth: 16", "min_depth: 17", "not-reached")]
    {
        let spec = here.read("specs/stairs.yaml");
        here.write("specs/stairs.yaml", &spec.replace(from, to));
        let (ended, report) = here.json(&["try", "stairs"]);
        assert_eq!(ended, 1, "{report:#}");
        let case = &report["run"]["cases"][0];
        assert_eq!(case["findings"][0]["verdict"], verdict, "{case:#}");
        let command = case["reproduce"].as_str().expect("a command");
        assert!(
            command.starts_with("sframe-testbench try stairs --toolchain corpus/matrix/host.yaml "),
            "{command}"
        );
        let again = reproduce_in(here.0.path(), command, "--json");
        let again = json(&again);
        assert_eq!(again["run"]["cases"].as_array().map(Vec::len), Some(1));
        assert_eq!(again["run"]["cases"][0]["findings"], case["findings"]);
        here.write("specs/stairs.yaml", &spec);
    }

    // A wrong result with a spec is broken, and says both values too.
    here.program("7");
    let (ended, shown, _) = here.run(&["try", "stairs"]);
    assert_eq!(ended, 4, "{shown}");
    let message = "the program's exit status is 1, not 0: bench_check got 0x00000244 and wanted 0x00000007";
    assert!(shown.contains(message), "{shown}");
    // What the compiler says is shown, once.
    here.program("nothing_of_this_name");
    let (ended, shown, said) = here.run(&["try", "stairs"]);
    assert_eq!(ended, 4, "{shown}{said}");
    assert_eq!(shown.matches("undeclared (first use in this function)").count(), 1, "{shown}");
    here.program(RIGHT);

    // Others are not held up by a program without builds.
    let (ended, shown, said) = here.run(&["run", "--spec", "leaf", "--variant", "O2", "--no-explore"]);
    assert_eq!(ended, 0, "{shown}{said}");
    let warnings: Vec<&str> = said.lines().filter(|line| line.starts_with("warning: ")).collect();
    let [warning] = warnings[..] else { panic!("{said}") };
    assert!(warning.contains("specs/stairs.yaml:1:10: the corpus has no build of `stairs`"), "{warning}");
    assert!(warning.contains("`sframe-testbench try stairs`"), "{warning}");
    let (ended, _, said) = here.run(&["run"]);
    assert!(ended == 2 && said.contains("the corpus has no build of `stairs`"), "{ended}: {said}");
    let seconds = start.elapsed().as_secs();
    assert!(seconds < 120, "it takes a contributor's time: {seconds} s");
}

#[test]
fn a_program_of_the_corpus_is_held_to_what_any_compiler_can_fulfil() {
    if !has_gcc_with_sframe() {
        return;
    }
    let here = Contributor::new();
    let (ended, shown, said) = here.run(&["try", "-v", "recursion", "--variant", "O2"]);
    assert!(ended < 2, "{shown}{said}");
    assert!(shown.contains("not held    host: minimums, counts and rows"), "{shown}");
    assert!(shown.contains(" recursion/host/amd64/O2"), "{shown}");
    let before = here.read("specs/recursion.yaml");
    let (ended, _, said) = here.run(&["try", "recursion", "--bless"]);
    assert!(ended == 2 && said.contains("`sframe-testbench bless`"), "{said}");
    assert_eq!(here.read("specs/recursion.yaml"), before);
}

/// The value that the program should compute, in an instruction or a pool of constants, is changed.
#[rstest]
#[case("amd64", [0x32, 0x43, 0xd6, 0x09], [0x33, 0x43, 0xd6, 0x09], "0x09d64333")]
#[case("s390x", [0x09, 0xd6, 0x43, 0x32], [0x09, 0xd6, 0x43, 0x33], "0x09d64333")]
#[case("aarch64", [0xc1, 0x3a, 0xa1, 0x72], [0xe1, 0x3a, 0xa1, 0x72], "0x09d74332")]
#[case("aarch64_be", [0xc1, 0x3a, 0xa1, 0x72], [0xe1, 0x3a, 0xa1, 0x72], "0x09d74332")]
fn a_wrong_result_shows_what_the_programs_own_check_compared(
    #[case] abi: &str,
    #[case] from: [u8; 4],
    #[case] to: [u8; 4],
    #[case] wanted: &str,
    #[values("O0", "O2")] variant: &str,
) {
    let mut bytes = build(&format!("gnu-2.47/{abi}/recursion.{variant}"));
    let at = bytes.windows(4).position(|word| word == from).expect("the value");
    bytes[at..at + 4].copy_from_slice(&to);
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("changed").display().to_string();
    std::fs::write(&file, bytes).expect("a file");
    let checked = |more: &[&str]| -> Output { bench(&[&["check", "--no-explore", &file], more].concat()) };
    let values = format!("bench_check got 0x09d64332 and wanted {wanted}");
    let broken = checked(&["--exit-status", "0"]);
    assert_eq!(status(&broken), 4);
    let shown = text(&broken.stdout);
    assert!(shown.contains(&format!("the program's exit status is 1, not 0: {values}")), "{shown}");
    let judged = checked(&[]);
    assert_eq!(status(&judged), 0, "its frames are right all the same");
    assert!(text(&judged.stdout).contains(&format!("ended with status 1: {values}")));
    assert_eq!(json(&checked(&["--json"]))["failed_check"]["got"], 0x09d6_4332);
    // A program whose result is right has none.
    let sound = bench(&[
        "check",
        "--json",
        "--no-explore",
        &format!("corpus/builds/gnu-2.47/{abi}/recursion.{variant}"),
    ]);
    assert_eq!(json(&sound)["failed_check"], Value::Null);
    assert!(Path::new(&file).is_file());
}
