//! Tests of the corpus without a compiler.

use std::fs;
use std::path::Path;

use tempfile::TempDir;

use super::manifest::sha256;
use super::program::runtime_functions;
use super::{Error, Manifest, Program, Toolchain, VARIANTS};

/// A corpus with one program and its runtime.
fn corpus() -> TempDir {
    let corpus = tempfile::tempdir().unwrap();
    let programs = corpus.path().join("programs");

    fs::create_dir_all(programs.join("runtime")).unwrap();
    for source in ["leaf.c", "runtime/start.S", "runtime/memcpy.c"] {
        fs::write(programs.join(source), "").unwrap();
    }
    corpus
}

fn write(corpus: &Path, file: &str, text: &str) {
    let path = corpus.join(file);

    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

fn manifest(corpus: &Path, sha256: &str) -> Manifest {
    write(
        corpus,
        "manifest.yaml",
        &format!(
            "schema: 1\nbuilds:\n- {{id: t/amd64/leaf.O2, program: leaf, abi: amd64, toolchain: t, \
             variant: O2, sframe_version: 3, sources: [leaf.c], compiler: gcc, binutils: as, \
             command: gcc leaf.c, sha256: {sha256}}}\n"
        ),
    );
    Manifest::load(corpus).unwrap()
}

#[test]
fn a_program_needs_nothing_but_a_source() {
    let corpus = corpus();
    let programs = Program::load_all(corpus.path()).unwrap();

    assert_eq!(programs.len(), 1);
    assert_eq!(programs[0].name, "leaf");
    assert_eq!(programs[0].sources, ["leaf.c"]);
    assert_eq!(programs[0].targets.len(), 4);
    assert!(programs[0].variants.len() < VARIANTS.len());
}

#[test]
fn a_function_of_the_runtime_has_the_name_of_its_file() {
    let corpus = corpus();
    write(corpus.path(), "programs/runtime/runtime.h", "");

    let functions = runtime_functions(&corpus.path().join("programs")).unwrap();
    assert_eq!(functions["memcpy"], "runtime/memcpy.c");
    assert!(!functions.contains_key("runtime"));
}

#[test]
fn an_unknown_key_of_a_program_is_an_error() {
    let corpus = corpus();
    write(corpus.path(), "programs/leaf.yaml", "cflag: [-O3]\n");

    let error = Program::load_all(corpus.path()).unwrap_err().to_string();
    assert!(error.contains("cflag"), "{error}");
}

#[test]
fn settings_that_name_nothing_are_errors() {
    for (settings, named) in [
        ("variants: [O9]\n", "unknown variant `O9`"),
        ("targets: [vax]\n", "unknown target `vax`"),
        ("sources: [leav.c]\n", "no source `leav.c`"),
    ] {
        let corpus = corpus();
        write(corpus.path(), "programs/leaf.yaml", settings);

        let error = Program::load_all(corpus.path()).unwrap_err().to_string();
        assert!(error.contains(named), "{error}");
    }
}

#[test]
fn settings_without_a_source_are_an_error() {
    let corpus = corpus();
    write(corpus.path(), "programs/lost.yaml", "variants: [O2]\n");

    let error = Program::load_all(corpus.path()).unwrap_err().to_string();
    assert!(error.contains("no source"), "{error}");
}

#[test]
fn a_stray_file_among_the_programs_is_an_error() {
    let corpus = corpus();
    write(corpus.path(), "programs/leaf.c.orig", "");

    assert!(matches!(Program::load_all(corpus.path()), Err(Error::Invalid { .. })));
}

#[test]
fn a_toolchain_has_the_name_of_its_file() {
    let corpus = corpus();
    write(
        corpus.path(),
        "toolchains/gnu-1.yaml",
        "name: gnu-2\nsummary: x\nsframe_version: 3\nabis: {amd64: {compiler: gcc}}\n",
    );

    let error = Toolchain::load_all(corpus.path()).unwrap_err().to_string();
    assert!(error.contains("gnu-2"), "{error}");
}

#[test]
fn a_build_is_read_if_its_checksum_is_the_manifests() {
    let corpus = corpus();
    write(corpus.path(), "builds/t/amd64/leaf.O2", "bytes");
    let manifest = manifest(corpus.path(), &sha256(b"bytes"));

    let build = manifest.get("t/amd64/leaf.O2").unwrap();
    assert_eq!(build.read(corpus.path()).unwrap(), b"bytes");
}

#[test]
fn a_build_with_another_checksum_is_an_error() {
    let corpus = corpus();
    write(corpus.path(), "builds/t/amd64/leaf.O2", "other bytes");
    let manifest = manifest(corpus.path(), &sha256(b"bytes"));

    let error = manifest.builds[0].read(corpus.path()).unwrap_err();
    assert!(matches!(error, Error::Checksum { .. }), "{error}");
}

/// A manifest with one build and one library.
fn with_library(corpus: &Path, library: &str) -> Manifest {
    let sha = sha256(b"bytes");
    write(
        corpus,
        "manifest.yaml",
        &format!(
            "schema: 1\nbuilds:\n- {{id: t/amd64/leaf.O2, program: leaf, abi: amd64, toolchain: t, \
             variant: O2, sframe_version: 3, sources: [leaf.c], compiler: gcc, binutils: as, \
             command: gcc leaf.c, sha256: {sha}, libraries: [{{name: leaf.O2.a.so, sources: [a.c], \
             command: gcc a.c, sha256: {library}}}]}}\n"
        ),
    );
    write(corpus, "builds/t/amd64/leaf.O2", "bytes");
    write(corpus, "builds/t/amd64/leaf.O2.a.so", "library");
    Manifest::load(corpus).unwrap()
}

#[test]
fn a_build_is_read_with_its_libraries_if_all_checksums_are_the_manifests() {
    let corpus = corpus();
    let manifest = with_library(corpus.path(), &sha256(b"library"));

    let files = manifest.builds[0].files(corpus.path()).unwrap();
    assert_eq!(files.executable, b"bytes");
    assert_eq!(files.libraries, [("leaf.O2.a.so".to_owned(), b"library".to_vec())]);

    let text = manifest.to_text(corpus.path()).unwrap();
    write(corpus.path(), "manifest.yaml", &text);
    assert_eq!(Manifest::load(corpus.path()).unwrap(), manifest);
}

#[test]
fn a_library_with_another_checksum_is_an_error() {
    let corpus = corpus();
    let manifest = with_library(corpus.path(), &sha256(b"another library"));

    let error = manifest.builds[0].read(corpus.path()).unwrap_err();
    assert!(matches!(&error, Error::Checksum { path, .. } if path.ends_with("leaf.O2.a.so")), "{error}");
}

#[test]
fn libraries_come_behind_those_that_they_need() {
    let corpus = corpus();
    for source in ["leaf/a.c", "leaf/b.c"] {
        write(corpus.path(), &format!("programs/{source}"), "");
    }
    let settings = "variants: [O2-dynamic]\nlibraries:\n  \
                    a: {sources: [leaf/a.c], needed: [b]}\n  b: {sources: [leaf/b.c], cflags: [-g]}\n";
    write(corpus.path(), "programs/leaf.yaml", settings);

    let programs = Program::load_all(corpus.path()).unwrap();
    let names: Vec<_> = programs[0].libraries.iter().map(|library| library.name.as_str()).collect();
    assert_eq!(names, ["b", "a"]);
    assert_eq!(programs[0].libraries[0].cflags, ["-g"]);
    assert_eq!(programs[0].libraries[1].needed, ["b"]);
}

#[test]
fn libraries_that_cannot_be_built_are_errors() {
    for (settings, named) in [
        ("a: {sources: [leaf/b.c]}", "no source `leaf/b.c`"),
        ("a: {sources: []}", "the library `a` has no source"),
        ("a: {sources: [leaf/a.c], needed: [b]}", "needs `b`, which is none of the program's"),
        ("a: {sources: [leaf/a.c], needed: [a]}", "need each other in a circle"),
        ("a/b: {sources: [leaf/a.c]}", "`a/b` is no name of a library"),
        ("a: {sources: [leaf/a.c], flags: []}", "flags"),
        ("a: {cflags: []}", "sources"),
    ] {
        let corpus = corpus();
        write(corpus.path(), "programs/leaf/a.c", "");
        let settings = format!("variants: [O2-dynamic]\nlibraries: {{{settings}}}\n");
        write(corpus.path(), "programs/leaf.yaml", &settings);

        let error = Program::load_all(corpus.path()).unwrap_err().to_string();
        assert!(error.contains(named), "{error}");
    }
    let corpus = corpus();
    write(corpus.path(), "programs/leaf/a.c", "");
    write(corpus.path(), "programs/leaf.yaml", "libraries: {a: {sources: [leaf/a.c]}}\n");
    let error = Program::load_all(corpus.path()).unwrap_err().to_string();
    assert!(error.contains("the variant `O0` has no libraries"), "{error}");
}

#[test]
fn a_manifest_of_another_schema_is_an_error() {
    let corpus = corpus();
    write(corpus.path(), "manifest.yaml", "schema: 2\nbuilds: []\n");

    let error = Manifest::load(corpus.path()).unwrap_err().to_string();
    assert!(error.contains("schema 2"), "{error}");
}

#[test]
fn a_written_manifest_reads_back_as_it_was() {
    let corpus = corpus();
    let manifest = manifest(corpus.path(), &sha256(b"bytes"));
    let text = manifest.to_text(corpus.path()).unwrap();

    write(corpus.path(), "manifest.yaml", &text);
    assert_eq!(Manifest::load(corpus.path()).unwrap(), manifest);
}
