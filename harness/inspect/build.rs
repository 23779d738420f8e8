//! Finds out which commit a release is built of.

use std::path::Path;
use std::process::Command;

fn main() {
    // Development builds would be compiled again after each commit.
    let is_release = std::env::var("PROFILE").is_ok_and(|profile| profile == "release");
    // What is built on several machines has to be known as the same.
    let is_wanted = std::env::var_os("SFRAME_NAMES_COMMIT").is_some();
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=SFRAME_NAMES_COMMIT");
    let commit = if is_release || is_wanted { packaged().or_else(checked_out) } else { None };
    println!("cargo::rustc-env=SFRAME_COMMIT={}", commit.unwrap_or_default());
}

/// The commit of a package, which Cargo writes into it.
fn packaged() -> Option<String> {
    // A file that is watched and does not exist counts as changed at each build.
    let text = std::fs::read_to_string(".cargo_vcs_info.json").ok()?;
    println!("cargo::rerun-if-changed=.cargo_vcs_info.json");
    let (_, rest) = text.split_once("\"sha1\":")?;
    let commit = rest.split('"').nth(1)?;
    Some(commit.to_owned())
}

/// The commit of the repository that this is in.
fn checked_out() -> Option<String> {
    let git = |arguments: &[&str]| {
        let output =
            Command::new("git").args(arguments).output().ok().filter(|output| output.status.success())?;
        String::from_utf8(output.stdout).ok().map(|text| text.trim().to_owned())
    };
    // A branch's name does not change with its commit, but the log of HEAD does.
    let folder = git(&["rev-parse", "--absolute-git-dir"])?;
    for name in ["HEAD", "logs/HEAD"] {
        let path = Path::new(&folder).join(name);
        if path.exists() {
            println!("cargo::rerun-if-changed={}", path.display());
        }
    }
    let commit = git(&["rev-parse", "HEAD"])?;
    let is_changed =
        git(&["status", "--porcelain", "--untracked-files=no"]).is_some_and(|text| !text.is_empty());
    Some(if is_changed { format!("{commit}+changes") } else { commit })
}
