//! The bench as its users call it.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

use crate::common::repository;

/// Returns the first of some programs that is installed. Without any, the test that needs it says so and proves nothing;
/// with `SFRAME_NEEDS_PROGRAMS`, which ci/test sets after it has installed them, it fails.
pub(crate) fn program(names: &[&str]) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
    let candidates = names.iter().flat_map(|name| folders.iter().map(move |folder| folder.join(name)));
    let found = candidates.into_iter().find(|path| path.is_file());
    if found.is_none() {
        let why = format!("no {} is installed (ci/setup test does that)", names.join(" or "));
        assert!(std::env::var_os("SFRAME_NEEDS_PROGRAMS").is_none(), "{why}");
        eprintln!("not run: {why}");
    }
    found
}

/// Runs the bench at the top of the repository.
pub(crate) fn bench(arguments: &[&str]) -> Output {
    bench_in(&repository(), arguments)
}

/// Runs the bench in a folder: where its last lines, or its document, have a verdict, it is that of the exit status.
pub(crate) fn bench_in(folder: &Path, arguments: &[&str]) -> Output {
    let output = Command::new(env!("CARGO_BIN_EXE_sframe-testbench"))
        .current_dir(folder)
        .args(arguments)
        .output()
        .expect("the bench runs");
    let text = String::from_utf8_lossy(&output.stdout);
    let in_words = text.lines().rfind(|line| has_verdict(line)).and_then(|line| line.split(':').next());
    let in_document =
        || text.lines().nth(1)?.strip_prefix("  \"verdict\": \"")?.strip_suffix("\",").map(str::to_owned);
    if let Some(word) = in_words.map(str::to_owned).or_else(in_document) {
        let words: &[&str] = match output.status.code() {
            Some(0) => &["PASS"],
            Some(1) => &["FAIL"],
            Some(3) => &["INCONCLUSIVE"],
            Some(4) => &["INTERRUPTED", "ERROR"],
            _ => &["ERROR"],
        };
        assert!(words.contains(&&*word), "{word}: {arguments:?}: {output:?}");
    }
    output
}

fn has_verdict(line: &str) -> bool {
    ["PASS: ", "FAIL: ", "INCONCLUSIVE: ", "INTERRUPTED: ", "ERROR: "]
        .iter()
        .any(|word| line.starts_with(word))
}

/// The exit status of a run that no signal ended.
pub(crate) fn status(output: &Output) -> i32 {
    output.status.code().expect("no signal")
}

/// The one JSON document on standard output.
pub(crate) fn json(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {output:?}"))
}

/// Makes a folder that looks like the repository, and whose programs and specs may be changed.
pub(crate) fn copy_repository(folder: &Path) {
    let repository = repository().canonicalize().expect("the repository");
    for name in ["Cargo.toml", "README.md", "ci", "harness"] {
        symlink(repository.join(name), folder.join(name)).expect("a link");
    }
    let link_all = |from: &str, but: &str| {
        std::fs::create_dir(folder.join(from)).expect("a folder");
        for entry in std::fs::read_dir(repository.join(from)).expect("a folder") {
            let path = entry.expect("an entry").path();
            let name = path.file_name().expect("a name");
            if name != but {
                symlink(&path, folder.join(from).join(name)).expect("a link");
            }
        }
    };
    link_all("corpus", "programs");
    link_all("corpus/programs", "");
    copy_specs(&folder.join("specs"));
}

/// The last lines of a command's output, from the verdict on, in one.
pub(crate) fn conclusion(text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let begin =
        lines.iter().rposition(|line| has_verdict(line)).unwrap_or_else(|| panic!("no verdict: {text}"));
    let joined = lines[begin..].iter().map(|line| match line.strip_prefix("      ") {
        Some(rest) => format!(" {rest}"),
        None => format!("; {}", line.trim()),
    });
    joined.collect::<String>().split_off(2)
}

/// Whether this machine's GCC makes programs with SFrame for amd64. If it does not, says why.
pub(crate) fn has_gcc_with_sframe() -> bool {
    let folder = tempfile::tempdir().expect("a folder");
    let (source, object) = (folder.path().join("f.c"), folder.path().join("f.o"));
    std::fs::write(&source, "void f(void) {}\n").expect("a file");
    let flags = ["-fasynchronous-unwind-tables", "-Wa,--gsframe", "-c", "-o"];
    let made = Command::new("gcc").args(flags).arg(&object).arg(&source).output();
    let bytes = std::fs::read(&object).unwrap_or_default();
    let is_amd64 = bytes.get(18..20) == Some(&[62, 0]);
    let why = match made {
        Err(error) => format!("gcc can't be started: {error}"),
        Ok(output) if !output.status.success() => String::from_utf8_lossy(&output.stderr).into_owned(),
        Ok(_) if !is_amd64 => "gcc is for another machine than amd64".to_owned(),
        Ok(_) if !bytes.windows(8).any(|name| name == b".sframe\0") => "gcc writes no .sframe".to_owned(),
        Ok(_) => return true,
    };
    eprintln!("not run: a gcc for amd64 whose assembler writes SFrame is needed: {why}");
    false
}

/// Where `ci/toolchains` installs toolchains.
pub(crate) fn toolchains() -> PathBuf {
    let folder =
        std::env::var_os("SFRAME_TOOLCHAINS").map_or_else(|| "target/toolchains".into(), PathBuf::from);
    repository().join(folder)
}

/// Whether toolchains are there, each by its name: one that is not is told of, and must not be missing where
/// `SFRAME_NEEDS_TOOLCHAINS` says so.
pub(crate) fn are_installed<'n>(names: impl IntoIterator<Item = &'n str>) -> Vec<bool> {
    let (folder, mut missing) = (toolchains(), Vec::new());
    let is_there = |name: &'n str| {
        let is_there = folder.join(name).join("usr/bin").is_dir();
        missing.extend((!is_there).then_some(name));
        is_there
    };
    let there = names.into_iter().map(is_there).collect();
    if !missing.is_empty() {
        println!("not there, and not tried: {} (ci/toolchains installs them)", missing.join(", "));
        let needed = std::env::var_os("SFRAME_NEEDS_TOOLCHAINS").is_some_and(|value| value == "1");
        assert!(!needed, "not there: {}", missing.join(", "));
    }
    there
}

/// Copies the committed specs and pages of faults into a new folder.
pub(crate) fn copy_specs(to: &Path) {
    for (from, to) in [("specs", to.to_owned()), ("specs/faults", to.join("faults"))] {
        std::fs::create_dir(&to).expect("a folder");
        for entry in std::fs::read_dir(repository().join(from)).expect("specs") {
            let path = entry.expect("an entry").path();
            if path.is_file() {
                std::fs::copy(&path, to.join(path.file_name().expect("a name"))).expect("a copy");
            }
        }
    }
}

/// Gives another corpus the programs and the toolchains of this one.
pub(crate) fn link_origins(corpus: &Path) {
    for folder in ["programs", "toolchains"] {
        let from = repository().join("corpus").join(folder).canonicalize().expect("a folder");
        std::os::unix::fs::symlink(from, corpus.join(folder)).expect("a link");
    }
}
