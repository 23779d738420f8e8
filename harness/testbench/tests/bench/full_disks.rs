//! Standard output or standard error may be full, closed, or a pipe without a
//! reader. No command panics because of it, and results are not lost.

use std::fs::File;
use std::path::Path;
use std::process::{Command, Stdio};

use rstest::rstest;

fn bench(arguments: &str, folder: &Path) -> Command {
    let mut bench = Command::new(env!("CARGO_BIN_EXE_sframe-testbench"));
    let folder = folder.display().to_string();
    let words = shlex::split(arguments).expect("words").into_iter();
    bench.args(words.map(|word| word.replace("DIR", &folder)));
    bench.current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../.."));
    bench.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    bench
}

fn status(command: &mut Command) -> i32 {
    command.status().expect("the bench").code().expect("a status")
}

fn full() -> Stdio {
    File::options().write(true).open("/dev/full").expect("a device").into()
}

/// A pipe whose reader has gone.
fn closed() -> Stdio {
    let (reader, writer) = std::io::pipe().expect("a pipe");
    drop(reader);
    writer.into()
}

const LEAF: &str = "--spec leaf --toolchain gnu-2.47 --abi amd64";

/// A command, its status if everything can be written, and whether it prints
/// anything.
#[rstest]
#[case::run("run LEAF", 0)]
#[case::run_document("run LEAF --json", 0)]
#[case::run_without_specs("run --specs nowhere", 2)]
#[case::check("check corpus/builds/gnu-2.47/amd64/realign.O2", 1)]
#[case::check_broken("check corpus/builds/gnu-2.47/amd64/leaf.O2 --budget 10", 4)]
#[case::check_nothing("check README.md", 2)]
#[case::dump("dump corpus/builds/gnu-2.47/amd64/leaf.O2", 0)]
#[case::lint("lint corpus/builds/gnu-2.40/amd64/leaf.O2", 0)]
#[case::diff("diff corpus/builds/gnu-2.47/amd64/realign.O2", 0)]
#[case::vectors("vectors --only 'step/*'", 0)]
#[case::clauses("clauses --version 3", 0)]
#[case::convert("convert corpus/builds/gnu-2.47/amd64/leaf.O2 --to 1 --output /dev/null", 1)]
#[case::mutate("mutate LEAF --sample 3", 0)]
#[case::merge("merge nowhere", 2)]
#[case::baseline("baseline create DIR/new nowhere", 2)]
#[case::bless("bless leaf --dry-run --specs nowhere", 2)]
#[case::rebuild("rebuild --check --only no-such-build", 2)]
#[case::matrix("matrix nowhere.yaml", 2)]
#[case::man("man check", 0)]
#[case::completions("completions bash", 0)]
#[case::help("--help", 0)]
#[case::help_of_a_command("run --help", 0)]
#[case::version("--version", 0)]
#[case::arguments("run --no-such-option", 2)]
#[case::worker("worker", 0)]
fn no_command_panics_where_nothing_can_be_written(#[case] arguments: &str, #[case] expected: i32) {
    let folder = tempfile::tempdir().expect("a folder");
    let arguments = arguments.replace("LEAF", LEAF);
    let bench = || bench(&arguments, folder.path());
    let piped = bench().stdout(Stdio::piped()).output().expect("the bench");
    assert_eq!(piped.status.code(), Some(expected), "{arguments}");
    // A message that can't be printed changes nothing.
    assert_eq!(status(bench().stderr(full())), expected, "{arguments} 2>/dev/full");
    assert_eq!(status(bench().stderr(closed())), expected, "{arguments} 2>&-");
    // A reader may have closed the pipe.
    assert_eq!(status(bench().stdout(closed())), expected, "{arguments} | true");
    let in_full = if piped.stdout.is_empty() { expected } else { 4 };
    assert_eq!(status(bench().stdout(full())), in_full, "{arguments} >/dev/full");
    assert_eq!(status(bench().stdout(full()).stderr(full())), in_full, "{arguments} >/dev/full 2>&1");
}

#[test]
fn reports_are_written_though_standard_output_is_full() {
    let folder = tempfile::tempdir().expect("a folder");
    let run = format!("run {LEAF} --report DIR/run");
    assert_eq!(status(bench(&run, folder.path()).stdout(full())), 4);
    let check = "check corpus/builds/gnu-2.47/amd64/realign.O2 --report DIR/check";
    assert_eq!(status(bench(check, folder.path()).stdout(full())), 4);
    assert_eq!(
        status(bench(&format!("run {LEAF} --shard 1/1 --report DIR/1"), folder.path()).stdout(closed())),
        0
    );
    assert_eq!(status(bench("merge DIR/1 --report DIR/merged", folder.path()).stdout(full())), 4);
    for (part, names) in [
        ("run", &["report.json", "report.html", "report.sarif", "junit.xml", "summary.md"][..]),
        ("check", &["report.json", "report.html", "report.sarif", "summary.md"]),
        ("merged", &["report.json", "report.html", "report.sarif", "junit.xml", "summary.md"]),
    ] {
        for name in names {
            assert!(folder.path().join(part).join(name).is_file(), "{part}/{name}");
        }
    }
}

/// The signal of the limit would kill the bench without a word.
#[test]
fn a_file_that_may_not_become_larger_is_an_error_with_its_reason() {
    let folder = tempfile::tempdir().expect("a folder");
    let report = folder.path().join("report");
    let bench = env!("CARGO_BIN_EXE_sframe-testbench");
    let command = format!(
        "ulimit -f 1; exec {bench} check --no-explore corpus/builds/gnu-2.47/amd64/leaf.O2 --report {}",
        report.display()
    );
    let output = Command::new("sh")
        .args(["-c", &command])
        .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../.."))
        .output()
        .expect("the bench");
    assert_eq!(output.status.code(), Some(4), "{output:?}");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("File too large"), "{said}");
}

/// A file is written as a whole or not at all: where it does not fit, what was there before stays.
#[rstest]
#[case::convert("convert corpus/builds/gnu-2.47/amd64/offset_limits.O2 --to 2 --output DIR/out", true)]
#[case::convert_elf("convert corpus/builds/gnu-2.47/amd64/offset_limits.O2 --to 2 --elf DIR/out", true)]
#[case::baseline("baseline create DIR/out DIR/run/report.json", false)]
#[case::sarif("lint corpus/builds/gnu-2.47/amd64/offset_limits.O2 --sarif DIR/out", true)]
fn a_file_that_does_not_fit_is_not_left_in_part(#[case] arguments: &str, #[case] is_there: bool) {
    let folder = tempfile::tempdir().expect("a folder");
    let run = format!("run {LEAF} --report DIR/run");
    assert_eq!(status(&mut bench(&run, folder.path())), 0);
    let out = folder.path().join("out");
    if is_there {
        std::fs::write(&out, "before").expect("a file");
    }
    let command = bench(arguments, folder.path());
    // No file may be larger than half a kilobyte, and that is an error of writing.
    let mut limited = Command::new("sh");
    limited.args(["-c", "trap '' XFSZ; ulimit -f 1; exec \"$@\"", "sh"]).arg(command.get_program());
    limited.args(command.get_args()).current_dir(command.get_current_dir().expect("a folder"));
    let output = limited.output().expect("a shell");
    assert_eq!(output.status.code(), Some(4), "{output:?}");
    assert_eq!(std::fs::read_to_string(&out).ok().as_deref(), is_there.then_some("before"));
    let left = std::fs::read_dir(folder.path()).expect("a folder").count();
    assert_eq!(left, 1 + usize::from(is_there), "nothing but the run, and the file");
}
