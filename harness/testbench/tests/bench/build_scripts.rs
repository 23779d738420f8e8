//! What is built stays built: build scripts watch nothing that Cargo would hold for changed each time. And what the
//! scripts in `ci` read without the bench, they read as it does. What only a script builds compiles.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::SystemTime;

use rstest::rstest;
use serde::Deserialize;
use sframe_corpus::corpus::Root;
use sframe_corpus::yaml;

use crate::common::repository;

/// The build script of a package, as it was compiled last for the profile of this test.
fn script(package: &str) -> PathBuf {
    let test = std::env::current_exe().expect("this test");
    let builds = test.parent().and_then(Path::parent).expect("a profile").join("build");
    let of_package = |entry: std::io::Result<std::fs::DirEntry>| {
        let folder = entry.expect("an entry").path();
        let name = folder.file_name()?.to_str()?.rsplit_once('-')?.0.to_owned();
        let script = folder.join("build-script-build");
        let made = script.metadata().and_then(|made| made.modified()).ok()?;
        (name == package).then_some((made, script))
    };
    let scripts = std::fs::read_dir(builds).expect("a folder").filter_map(of_package);
    scripts.max_by_key(|(made, _): &(SystemTime, _)| *made).expect("a build script").1
}

/// A file that is watched and does not exist counts as changed at each build: then the package, and all that needs it,
/// is compiled again.
#[rstest]
fn build_scripts_watch_what_exists(
    #[values("inspect")] package: &str,
    #[values("debug", "release")] profile: &str,
) {
    let folder = repository().join("harness").join(package);
    let script = script(&format!("sframe-{package}"));
    let output =
        Command::new(script).env("PROFILE", profile).current_dir(&folder).output().expect("it executes");
    assert!(output.status.success());
    let printed = String::from_utf8(output.stdout).expect("text");
    let watched: Vec<_> =
        printed.lines().filter_map(|line| line.strip_prefix("cargo::rerun-if-changed=")).collect();
    assert!(!watched.is_empty(), "Cargo would watch the whole package");
    let missing: Vec<_> = watched.iter().filter(|path| !folder.join(path).exists()).collect();
    assert!(missing.is_empty(), "{missing:?} do not exist");
}

/// What builds the emulator's C code, with its features: a package's, or all packages'.
fn builds_the_emulator(selected: &[&str]) -> Vec<String> {
    let options = ["tree", "--locked", "--offline", "--edges", "normal,build,dev", "--no-dedupe"];
    let output = Command::new(env!("CARGO"))
        .current_dir(repository())
        .args(options)
        .args(["--prefix", "depth", "--format", " {p} {f}"])
        .args(selected)
        .output()
        .expect("cargo runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let printed = String::from_utf8(output.stdout).expect("text");
    let packages = printed.lines().filter_map(|line| {
        let (depth, package) = line.split_once(' ')?;
        Some((depth.parse::<usize>().ok()?, package.to_owned()))
    });
    let mut packages = packages.skip_while(|(_, package)| !package.starts_with("unicorn-engine-sys "));
    let (depth, emulator) = packages.next().expect("the emulator");
    let below = packages.take_while(|(below, _)| *below > depth);
    let mut below: Vec<_> = std::iter::once(emulator).chain(below.map(|(_, package)| package)).collect();
    below.sort();
    below.dedup();
    below
}

/// `cargo test --package` takes seconds: with other features, the emulator would be built again, for minutes.
#[test]
fn the_emulator_is_built_once_for_whatever_is_tested() {
    let all = builds_the_emulator(&["--workspace"]);
    assert!(all.len() > 5, "{all:?}");
    for package in ["corpus", "judge", "links", "machine", "readers", "samples", "search", "suite"] {
        let one = builds_the_emulator(&["--package", &format!("sframe-{package}")]);
        assert_eq!(one, all, "{package}: see [build-dependencies] of sframe-machine");
    }
}

/// Calls cargo for the adapters, which are a workspace of their own.
fn cargo_for_adapters(command: &str, options: &[&str]) -> Output {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("adapters").join("cargo");
    Command::new(env!("CARGO"))
        .current_dir(repository())
        .args([command, "--quiet", "--locked", "--manifest-path", "harness/adapters/Cargo.toml"])
        .args(options)
        .env("CARGO_TARGET_DIR", target)
        .env("CARGO_NET_RETRY", "0")
        .output()
        .expect("cargo runs")
}

/// They use crates of this workspace, but are built by ci/adapters only. What they depend on is downloaded by ci/test alone.
#[test]
fn the_adapters_compile() {
    let check = || {
        let checked = cargo_for_adapters("check", &["--offline", "--all-targets"]);
        (checked.status.success(), String::from_utf8_lossy(&checked.stderr).into_owned())
    };
    // There are several messages of what is missing; all of them speak of the option.
    let is_missing = |said: &str| said.contains("--offline");
    let (mut is_sound, mut said) = check();
    let is_ci = std::env::var_os("SFRAME_NEEDS_PROGRAMS").is_some();
    if is_missing(&said) && is_ci && cargo_for_adapters("fetch", &[]).status.success() {
        (is_sound, said) = check();
    }
    if is_missing(&said) {
        eprintln!("not run: what the adapters depend on is not there: {said}");
        return;
    }
    assert!(is_sound, "{said}");
}

/// The part of a toolchain's description that `ci/toolchains` reads.
#[derive(Deserialize)]
struct Description {
    root: Option<Root>,
}

#[test]
fn ci_toolchains_reads_what_the_bench_reads() {
    let mut files: Vec<PathBuf> = std::fs::read_dir(repository().join("corpus/toolchains"))
        .expect("a folder")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "yaml"))
        .collect();
    files.sort();
    files.push(repository().join("ci/real/toolchain.yaml"));
    let mut expected = String::new();
    for file in &files {
        let description: Description = yaml::read(file).expect("a description");
        let Some(Root { suite: Some(suite), packages, .. }) = description.root else { continue };
        let name = if file.ends_with("ci/real/toolchain.yaml") { file.parent() } else { Some(&**file) };
        let name = name.and_then(Path::file_stem).and_then(|name| name.to_str()).expect("a name");
        expected += &format!("{name}\t{suite}\t{}\n", packages.join(","));
    }
    let list = |of: &[&str]| {
        let mut list = Command::new("bash");
        list.args(["ci/toolchains", "--list"]).args(of).current_dir(repository());
        let output = list.output().expect("bash");
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).expect("text")
    };
    let listed = list(&[]) + &list(&["ci/real/toolchain.yaml"]);
    assert!(listed.lines().count() > 3, "{listed}");
    assert_eq!(listed, expected);
}
