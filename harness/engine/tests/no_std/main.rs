//! The default features are suitable for embedding: a program without std,
//! allocator and C library links with them, runs, and contains nothing of
//! these.
//!
//! The program is in `consumer/`, a separate package. It needs no target
//! without std: it is built for this machine and linked with `-nostdlib`.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

use std::path::{Path, PathBuf};
use std::process::Command;

/// Builds the program as its users would, outside this workspace.
fn build() -> PathBuf {
    let package = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/no_std/consumer");
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("no_std");
    let output = Command::new(env!("CARGO"))
        .args(["build", "--quiet", "--release", "--locked", "--offline", "--manifest-path"])
        .arg(package.join("Cargo.toml"))
        .arg("--target-dir")
        .arg(&target)
        // Settings of this run, such as instrumentation, need std.
        .env_remove("RUSTFLAGS")
        .env_remove("CARGO_ENCODED_RUSTFLAGS")
        .env_remove("CARGO_BUILD_TARGET")
        .output()
        .expect("cargo runs");
    assert!(
        output.status.success(),
        "a program without std and allocator can't use the default features:\n{}",
        String::from_utf8_lossy(&output.stderr)
    );
    target.join("release/no-std-consumer")
}

#[test]
fn the_default_features_need_no_std_no_allocator_and_no_c_library() {
    let program = build();
    let status = Command::new(&program).status().expect("the program runs");
    assert_eq!(status.code(), Some(0), "the number of the first wrong answer");

    // The file contains the names of symbols verbatim, in either mangling.
    let bytes = std::fs::read(&program).expect("the program");
    let names = |name: &str| bytes.windows(name.len()).any(|window| window == name.as_bytes());
    assert!(names("_start") && names("sframe_engine"), "the program has no symbols");
    for name in
        ["__rust_alloc", "__rg_alloc", "malloc", "_ZN5alloc", "_5alloc", "_ZN3std", "_3std", "ld-linux"]
    {
        assert!(!names(name), "the program has {name} in it");
    }
    // Parsing, look-up and step can't panic either: the program would contain code for it.
    assert!(!names("panicking"), "the program can panic");
}
