//! Tests of the corpus without a compiler.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use sframe_engine::Abi;
use sframe_judge::examine::stop::StopRequest;
use tempfile::TempDir;

use super::build::{build_id, sha256};
use super::derive::{derivations, derive};
use super::order::Order;
use super::program::runtime_functions;
use super::rebuild::{ids, make_build};
use super::steps::{Part, Place, Steps, shell};
use super::workshop::Workshop;
use super::{Build, Error, Manifest, Program, Toolchain, VARIANTS, Variant};
use crate::spec::Ability;

/// Returns a corpus with one program and its runtime.
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

/// Writes the definition of the toolchain `t`, with these properties.
fn write_toolchain(corpus: &Path, properties: &str) {
    let text =
        "name: t\nsummary: x\nsframe_flags: ['-Wa,x']\nsframe_version: 3\nabis: {amd64: {compiler: gcc}}\n";
    write(corpus, "toolchains/t.yaml", &format!("{text}properties: {properties}\n"));
}

const PROPERTIES: &str =
    "{compiler: gcc 14.2, assembler: gas 2.47.50, linker: ld 2.47, can: [flex, outermost]}";

/// Writes a manifest with these files, and reads it.
fn manifest_of(corpus: &Path, files: &str) -> Result<Manifest, Error> {
    write_toolchain(corpus, PROPERTIES);
    let group = "made:\n- toolchain: t\n  abi: amd64\n  compiler: gcc\n  binutils: as\n  files:";
    write(corpus, "manifest.yaml", &format!("schema: 2\n{group}\n{files}"));
    Manifest::load(corpus)
}

fn manifest(corpus: &Path, sha256: &str) -> Manifest {
    manifest_of(corpus, &format!("    leaf.O2: {sha256}\n")).unwrap()
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
fn a_source_that_another_program_names_is_a_program_only_with_settings() {
    let corpus = corpus();
    for (file, text) in [("whole.c", ""), ("part.S", ""), ("whole.yaml", "sources: [whole.c, part.S]")] {
        write(corpus.path(), &format!("programs/{file}"), text);
    }
    let names = || -> Vec<String> {
        Program::load_all(corpus.path()).unwrap().into_iter().map(|program| program.name).collect()
    };
    assert_eq!(names(), ["leaf", "whole"]);
    write(corpus.path(), "programs/part.yaml", "summary: It is a program, too.");
    assert_eq!(names(), ["leaf", "part", "whole"]);
}

#[test]
fn each_program_of_the_corpus_has_a_build() {
    let built: BTreeSet<String> =
        Manifest::load(&committed()).unwrap().builds.into_iter().map(|build| build.program).collect();
    let programs = Program::load_all(&committed()).unwrap().into_iter().map(|program| program.name);
    assert_eq!(programs.collect::<BTreeSet<_>>(), built);
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
        ("sources: [/dev/null]\n", "`/dev/null` is not a path below corpus/programs"),
        ("sources: [../programs/leaf.c]\n", "`../programs/leaf.c` is not a path below corpus/programs"),
        ("[leaf.c]\n", "invalid type: list, expected the settings of a program"),
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
        "name: gnu-2\nsummary: x\nsframe_version: 3\nsframe_flags: []\nabis: {amd64: {compiler: gcc}}\n",
    );

    let error = Toolchain::load_all(corpus.path()).unwrap_err().to_string();
    assert!(error.contains("gnu-2"), "{error}");
}

#[test]
fn a_toolchain_of_the_corpus_says_its_version_and_others_need_not() {
    let corpus = corpus();
    let text = "name: gnu-2\nsummary: x\nsframe_flags: ['-Wa,x']\nabis: {amd64: {compiler: gcc}}\n";
    write(corpus.path(), "toolchains/gnu-2.yaml", text);

    assert_eq!(Toolchain::load(&Toolchain::path_in(corpus.path(), "gnu-2")).unwrap().sframe_version, None);
    let error = Toolchain::load_all(corpus.path()).unwrap_err().to_string();
    assert!(error.contains("needs `sframe_version`"), "{error}");
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

/// Returns a manifest with one build and one library.
fn with_library(corpus: &Path, library: &str) -> Manifest {
    write(corpus, "programs/leaf/a.c", "");
    let settings = "variants: [O2-dynamic]\nlibraries: {a: {sources: [leaf/a.c]}}\n";
    write(corpus, "programs/leaf.yaml", settings);
    write(corpus, "builds/t/amd64/leaf.O2-dynamic", "bytes");
    write(corpus, "builds/t/amd64/leaf.O2-dynamic.a.so", "library");
    let sha = sha256(b"bytes");
    let files = format!("    leaf.O2-dynamic: {sha}\n    leaf.O2-dynamic.a.so: {library}\n");
    manifest_of(corpus, &files).unwrap()
}

#[test]
fn a_build_is_read_with_its_libraries_if_all_checksums_are_the_manifests() {
    let corpus = corpus();
    let manifest = with_library(corpus.path(), &sha256(b"library"));

    let files = manifest.builds[0].files(corpus.path()).unwrap();
    assert_eq!(files.executable, b"bytes");
    assert_eq!(files.libraries, [("leaf.O2-dynamic.a.so".to_owned(), b"library".to_vec())]);

    manifest.write(corpus.path()).unwrap();
    assert_eq!(Manifest::load(corpus.path()).unwrap(), manifest);
}

#[test]
fn a_library_with_another_checksum_is_an_error() {
    let corpus = corpus();
    let manifest = with_library(corpus.path(), &sha256(b"another library"));

    let error = manifest.builds[0].read(corpus.path()).unwrap_err();
    assert!(
        matches!(&error, Error::Checksum { path, .. } if path.ends_with("leaf.O2-dynamic.a.so")),
        "{error}"
    );
}

#[test]
fn libraries_come_after_those_that_they_need() {
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
        ("a: {sources: [leaf/a.c], needed: [b]}", "needs `b`, which the program does not have"),
        ("a: {sources: [leaf/a.c], needed: [a]}", "need each other in a circle"),
        ("a/b: {sources: [leaf/a.c]}", "`a/b` is not a name for a library"),
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
    write(corpus.path(), "manifest.yaml", "schema: 1\nbuilds: []\n");

    let error = Manifest::load(corpus.path()).unwrap_err().to_string();
    assert!(
        error.contains("manifest.yaml:1:9: ") && error.contains("schema 1 is unknown; this bench reads 2")
    );
}

/// In all builds but few, a variant of the program has the same functions of the runtime.
#[test]
fn a_written_manifest_reads_back_as_it_was() {
    let corpus = corpus();
    write(corpus.path(), "programs/other.c", "");
    let (one, other) = (sha256(b"one"), sha256(b"other"));
    let mut manifest =
        manifest_of(corpus.path(), &format!("    leaf.O0: {one}\n    leaf.O2: {other}\n")).unwrap();
    let with = |build: &Build, functions: &[&str]| {
        let mut build = build.clone();
        build.sources.truncate(2);
        build.sources.extend(functions.iter().map(|function| format!("runtime/{function}")));
        build
    };
    let [unoptimised, optimised] = manifest.builds.as_slice() else { panic!("{manifest:?}") };
    let builds = [with(unoptimised, &["memcpy.c"]), with(optimised, &["a.c", "memcpy.c"])];
    manifest.builds = builds.into();
    // The command has the sources too, and is not written.
    manifest.write(corpus.path()).unwrap();
    let read = Manifest::load(corpus.path()).unwrap();
    let sources =
        |manifest: &Manifest| manifest.builds.iter().map(|build| build.sources.clone()).collect::<Vec<_>>();
    assert_eq!(sources(&read), sources(&manifest));
    assert!(read.builds[1].command.ends_with(" leaf.c runtime/start.S runtime/a.c runtime/memcpy.c"));
    let text = fs::read_to_string(Manifest::path(corpus.path())).unwrap();
    assert!(
        text.contains("runtime:\n  leaf:\n  - memcpy.c\n  leaf.O2:\n  - a.c\n  - memcpy.c\nmade:\n"),
        "{text}"
    );
    assert!(text.contains(&format!("\n    leaf.O0: {one}\n    leaf.O2: {other}\n")), "{text}");
    read.write(corpus.path()).unwrap();
    assert_eq!(Manifest::load(corpus.path()).unwrap(), read);
}

#[test]
fn an_impossible_manifest_is_an_error() {
    let sha = sha256(b"");
    let leaf = format!("    leaf.O2: {sha}\n");
    let other = |abi: &str| format!("{leaf}- toolchain: t\n  abi: {abi}\n  files:\n{leaf}");
    for (files, place, named) in [
        (format!("{leaf}    leaf.O0: abc\n"), "9:14", "`abc` is not a SHA-256, which has 64"),
        (format!("{leaf}    leaf: {sha}\n"), "9:5", "`leaf` is neither PROGRAM.VARIANT nor"),
        (format!("{leaf}    leaf.O2.a: {sha}\n"), "9:5", "`leaf.O2.a` is neither PROGRAM.VARIANT nor"),
        (format!("{leaf}{leaf}"), "9:5", "duplicate key `leaf.O2`"),
        (format!("{leaf}  command: gcc\n"), "9:3", "unknown key `command`"),
        (other("vax"), "10:8", "unknown name `vax`"),
        (
            other("amd64").replace("toolchain: t", "toolchain: tt"),
            "9:14",
            "unknown toolchain `tt`; did you mean `t`?",
        ),
        (other("amd64"), " ", "build `t/amd64/leaf.O2` is listed twice"),
        (other("s390x"), " ", "build `t/s390x/leaf.O2`: `t` does not compile for s390x"),
        (format!("    leaf.O2.a.so: {sha}\n"), " ", "`a` is listed without its build `t/amd64/leaf.O2`"),
        (format!("{leaf}    leaf.O2.a.so: {sha}\n"), " ", "it has more libraries than `leaf`"),
        (format!("    leav.O2: {sha}\n"), " ", "build `t/amd64/leav.O2`: there is no program `leav`"),
        (format!("    leaf.O9: {sha}\n"), " ", "build `t/amd64/leaf.O9`: unknown variant `O9`"),
    ] {
        let corpus = corpus();
        let error = manifest_of(corpus.path(), &files).unwrap_err().to_string();
        assert!(
            error.contains(&format!("manifest.yaml:{place}")) && error.contains(named),
            "{files}: {error}"
        );
    }
    let corpus = corpus();
    write_toolchain(corpus.path(), PROPERTIES);
    let text = format!("schema: 2\nmade:\n- toolchain: t\n  abi: amd64\n  files:\n{leaf}");
    write(corpus.path(), "manifest.yaml", &text);
    let error = Manifest::load(corpus.path()).unwrap_err().to_string();
    assert!(error.contains("its group needs `compiler` and `binutils`"), "{error}");
}

#[test]
fn sources_are_of_four_languages() {
    let corpus = corpus();
    for source in ["leaf.S", "leaf.cc", "leaf.rs"] {
        write(corpus.path(), &format!("programs/{source}"), "");
    }

    let programs = Program::load_all(corpus.path()).unwrap();
    assert_eq!(programs[0].sources, ["leaf.S", "leaf.c", "leaf.cc", "leaf.rs"]);
}

#[test]
fn an_object_has_sources_and_flags_of_its_own() {
    let corpus = corpus();
    for source in ["leaf/a.c", "leaf/b.c"] {
        write(corpus.path(), &format!("programs/{source}"), "");
    }
    let settings = "objects:\n  bare: {sources: [leaf/a.c], cflags: [-O1], sframe: false}\n  \
                    parts: {sources: [leaf/a.c, leaf/b.c]}\n";
    write(corpus.path(), "programs/leaf.yaml", settings);

    let objects = Program::load_all(corpus.path()).unwrap().remove(0).objects;
    assert_eq!((objects[0].name.as_str(), objects[0].sframe), ("bare", false));
    assert_eq!(objects[0].cflags, ["-O1"]);
    assert_eq!((objects[1].sources.len(), objects[1].sframe), (2, true));
}

#[test]
fn objects_that_cannot_be_built_are_errors() {
    for (settings, named) in [
        ("a: {sources: [leaf/b.c]}", "no source `leaf/b.c`"),
        ("a: {sources: []}", "the object `a` has no source"),
        ("a/b: {sources: [leaf/a.c]}", "`a/b` is not a name for an object"),
        ("a: {sources: [leaf/a.c], ldflags: []}", "ldflags"),
    ] {
        let corpus = corpus();
        write(corpus.path(), "programs/leaf/a.c", "");
        write(corpus.path(), "programs/leaf.yaml", &format!("objects: {{{settings}}}\n"));

        let error = Program::load_all(corpus.path()).unwrap_err().to_string();
        assert!(error.contains(named), "{error}");
    }
}

/// Returns a toolchain for two ABIs.
fn toolchain(corpus: &Path, settings: &str) -> Result<Toolchain, Error> {
    let start = "name: gnu-1\nsummary: x\nsframe_version: 3\nsframe_flags: ['-Wa,x']\n\
                 abis: {amd64: {compiler: gcc, rust: rustc}, s390x: {compiler: cross-gcc}}\n";
    write(corpus, "toolchains/gnu-1.yaml", &format!("{start}{settings}"));
    Toolchain::load(&corpus.join("toolchains/gnu-1.yaml"))
}

#[test]
fn a_build_needs_an_abi_that_has_its_variant_and_is_not_excluded() {
    let corpus = corpus();
    write(corpus.path(), "programs/leaf.yaml", "variants: [O2, O2-cet, O2-packed]\n");
    let programs = Program::load_all(corpus.path()).unwrap();
    let builds = |settings: &str| -> Vec<String> {
        let toolchain = toolchain(corpus.path(), settings).unwrap();
        let builds = toolchain.builds_of(&programs[0]);
        builds.map(|(abi, variant)| format!("{abi} {}", variant.name)).collect()
    };

    assert_eq!(builds(""), ["amd64 O2", "amd64 O2-cet", "s390x O2", "s390x O2-packed"]);
    let reason = "reason: It cannot be linked there.";
    assert_eq!(
        builds(&format!("excluded: [{{variant: O2, abi: s390x, {reason}}}]\n")),
        ["amd64 O2", "amd64 O2-cet", "s390x O2-packed"]
    );
    assert_eq!(builds(&format!("excluded: [{{program: leaf, {reason}}}]\n")), [""; 0]);
    assert_eq!(builds(&format!("excluded: [{{program: other, {reason}}}]\n")).len(), 4);
}

#[test]
fn impossible_properties_are_errors() {
    for (properties, named) in [
        ("{compiler: acme 7.1}", "unknown compiler `acme`"),
        ("{assembler: gas}", "`gas` has no version"),
        ("{linker: ld 2.x}", "`2.x` is not a version"),
        ("{can: [flexible]}", "flexible"),
        ("{can: [flex, flex]}", "`can` lists `flex` twice"),
        ("{rust: rustc 1.85}", "rust"),
    ] {
        let error = toolchain(corpus().path(), &format!("properties: {properties}\n")).unwrap_err();
        assert!(error.to_string().contains(named), "{error}");
    }
    let corpus = corpus();
    let old = "name: old\nsummary: x\nsframe_version: 2\nproperties: {can: [flex]}\nabis: {amd64: {compiler: gcc}}\n";
    write(corpus.path(), "toolchains/old.yaml", old);
    let error = Toolchain::load(&Toolchain::path_in(corpus.path(), "old")).unwrap_err().to_string();
    assert!(error.contains("`flex`, which SFrame version 2 can't express"), "{error}");
}

/// For a toolchain of the corpus, and for one that is derived from it.
#[test]
fn who_made_a_build_is_what_its_toolchain_says_of_itself() {
    let corpus = corpus();
    let path = corpus.path();
    let mut manifest = manifest(path, &sha256(b""));
    let derived =
        "name: d\nsummary: x\nsframe_version: 2\nderive: {from: t, programs: [leaf], variants: {O2: {}}}\n";
    write(path, "toolchains/d.yaml", derived);
    let mut build = manifest.builds[0].clone();
    "d".clone_into(&mut build.toolchain);
    manifest.builds.push(build);

    let producers = manifest.producers(path).unwrap();
    let (one, other) = (&producers["t"], &producers["d"]);
    assert_eq!(one.assembler.as_ref().unwrap().to_string(), "gas 2.47.50");
    assert_eq!((one.is_derived, one.can.len()), (false, 2));
    assert_eq!((&other.compiler, &other.linker), (&one.compiler, &one.linker));
    assert_eq!((other.is_derived, other.toolchain.as_deref()), (true, Some("d")));
    assert_eq!(other.can, [Ability::Outermost].into(), "version 2 has no flexible FDEs");

    write(path, "toolchains/d.yaml", &format!("{derived}properties: {{can: [outermost]}}\n"));
    let error = manifest.producers(path).unwrap_err().to_string();
    assert!(error.contains("the one that it is made of"), "{error}");
    write(path, "toolchains/d.yaml", &derived.replace("from: t", "from: d"));
    let error = manifest.producers(path).unwrap_err().to_string();
    assert!(error.contains("`d`, which it is made of, does not compile"), "{error}");
    write_toolchain(path, "{compiler: gcc 14}");
    let error = manifest.producers(path).unwrap_err().to_string();
    assert!(error.contains("needs `assembler` among its `properties`"), "{error}");
}

#[test]
fn exclusions_without_a_target_or_a_reason_are_errors() {
    let reason = "reason: It cannot be linked there.";
    for (excluded, named) in [
        (format!("{{{reason}}}"), "names no program, variant or ABI"),
        (format!("{{variant: O9, {reason}}}"), "unknown variant `O9`"),
        (format!("{{abi: vax, {reason}}}"), "unknown name `vax`"),
        ("{program: leaf, reason: because}".to_owned(), "needs a reason"),
        (format!("{{toolchain: gnu-1, {reason}}}"), "toolchain"),
    ] {
        let corpus = corpus();
        let error = toolchain(corpus.path(), &format!("excluded: [{excluded}]\n")).unwrap_err().to_string();
        assert!(error.contains(named), "{error}");
    }
    let corpus = corpus();
    let programs = Program::load_all(corpus.path()).unwrap();
    let toolchain = toolchain(corpus.path(), &format!("excluded: [{{program: gone, {reason}}}]\n")).unwrap();
    let error = toolchain.check_excluded(Path::new("gnu-1.yaml"), &programs).unwrap_err().to_string();
    assert!(error.contains("`gone`, which is no program"), "{error}");
}

/// Returns the commands of a program, as in the manifest.
fn commands(corpus: &Path, settings: &str, variant: &str) -> Result<Vec<String>, Error> {
    let toolchain = toolchain(corpus, settings)?;
    let program = Program::load_all(corpus)?.remove(0);
    let variant = Variant::named(variant).unwrap();
    let part = Part {
        id: "gnu-1/amd64/leaf.O2",
        name: "leaf.O2".to_owned(),
        sources: &program.sources,
        start: None,
        objects: &program.objects,
        variant,
        flags: variant.flags,
        cflags: &program.cflags,
        ldflags: program.ldflags.clone(),
        libraries: Vec::new(),
    };
    let place = Place::of_manifest();
    let steps = Steps::new(&toolchain, &toolchain.abis[&Abi::Amd64], &part, &place).link(&program.sources)?;
    Ok(shell(&steps).split(" && ").map(str::to_owned).collect())
}

#[test]
fn c_and_assembly_are_compiled_and_linked_by_one_command() {
    let corpus = corpus();
    write(corpus.path(), "programs/leaf.S", "");
    write(corpus.path(), "programs/leaf.yaml", "cflags: [-DA]\nldflags: [-s]\n");

    let commands = commands(corpus.path(), "", "O2").unwrap();
    assert_eq!(commands.len(), 1);
    assert!(commands[0].starts_with("gcc -std=gnu11 "), "{commands:?}");
    assert!(commands[0].ends_with(" -Wa,x -DA -s -o leaf.O2 leaf.S leaf.c"), "{commands:?}");
}

#[test]
fn other_languages_and_objects_have_commands_of_their_own() {
    let corpus = corpus();
    for source in ["leaf.cc", "leaf.rs", "leaf/a.c", "leaf/b.c"] {
        write(corpus.path(), &format!("programs/{source}"), "");
    }
    let settings = "objects:\n  bare: {sources: [leaf/a.c], sframe: false}\n  \
                    parts: {sources: [leaf/a.c, leaf/b.c], cflags: [-DB]}\n";
    write(corpus.path(), "programs/leaf.yaml", settings);

    let made = commands(corpus.path(), "", "O2").unwrap();
    let [cxx, rust, bare, first, second, partial, last] = made.as_slice() else { panic!("{made:?}") };
    assert!(
        cxx.starts_with("gcc -std=gnu++17 ") && cxx.ends_with(" -c -o leaf.O2.leaf.cc.o leaf.cc"),
        "{cxx}"
    );
    assert!(rust.starts_with("rustc ") && rust.ends_with(" -o leaf.O2.leaf.rs.s leaf.rs"), "{rust}");
    assert!(!bare.contains("-Wa,x") && bare.ends_with(" -c -o leaf.O2.bare.leaf-a.c.o leaf/a.c"), "{bare}");
    assert!(first.contains(" -Wa,x -DB -c -o leaf.O2.parts.leaf-a.c.o "), "{first}");
    assert!(second.contains(" -Wa,x -DB -c -o leaf.O2.parts.leaf-b.c.o "), "{second}");
    assert_eq!(
        partial,
        "gcc -nostdlib -r -o leaf.O2.parts.o leaf.O2.parts.leaf-a.c.o leaf.O2.parts.leaf-b.c.o"
    );
    let inputs = "leaf.c leaf.O2.leaf.cc.o leaf.O2.leaf.rs.s leaf.O2.bare.leaf-a.c.o leaf.O2.parts.o";
    assert!(last.ends_with(&format!(" -o leaf.O2 {inputs}")), "{last}");

    let error = commands(corpus.path(), "", "O2-lto").unwrap_err().to_string();
    assert!(error.contains("compiles no Rust"), "{error}");
}

#[test]
fn assembly_can_have_flags_of_its_own() {
    let corpus = corpus();
    write(corpus.path(), "programs/leaf.S", "");
    let settings = "assembly_flags: [\"-Wa,--scfi=experimental\"]\n";
    let made = commands(corpus.path(), settings, "O2").unwrap();
    let [assembly, link] = made.as_slice() else { panic!("{made:?}") };
    assert!(assembly.ends_with(" -Wa,--scfi=experimental -c -o leaf.O2.leaf.S.o leaf.S"), "{assembly}");
    assert!(!link.contains("scfi") && link.ends_with(" -o leaf.O2 leaf.O2.leaf.S.o leaf.c"), "{link}");
    let [all] = &commands(corpus.path(), "", "O2").unwrap()[..] else { panic!("one command is enough") };
    assert!(all.ends_with(" -o leaf.O2 leaf.S leaf.c"), "{all}");

    let error =
        commands(corpus.path(), &format!("{settings}one_unit: true\n"), "O2").unwrap_err().to_string();
    assert!(error.contains("with `one_unit`, assembly is no source of its own"), "{error}");
}

#[test]
fn a_toolchain_that_merges_nothing_compiles_one_unit() {
    let corpus = corpus();
    write(corpus.path(), "programs/leaf.S", "");
    write(corpus.path(), "programs/leaf.yaml", "cflags: [-fa, -fb]\n");

    let settings = "one_unit: true\nneedless_flags: [-fb]\n";
    let made = commands(corpus.path(), settings, "O2").unwrap();
    let [preprocess, unit] = made.as_slice() else { panic!("{made:?}") };
    assert!(preprocess.ends_with(" -fa -E -P -o leaf.O2.leaf.S.s leaf.S"), "{preprocess}");
    let input = r#"printf '%s\n' '__asm__(".include \"leaf.O2.leaf.S.s\"");' '#include "leaf.c"' | gcc "#;
    assert!(unit.starts_with(input) && unit.ends_with(" -fa -o leaf.O2 -x c -"), "{unit}");

    write(corpus.path(), "programs/leaf.cc", "");
    let made = commands(corpus.path(), settings, "O2").unwrap();
    assert!(
        made[1]
            .contains(r#" 'extern "C" {' '#include "leaf.c"' '}' '#include "leaf.cc"' | gcc -std=gnu++17 "#)
    );
    assert!(made[1].ends_with(" -x c++ -"), "{made:?}");
}

/// The corpus of this repository.
fn committed() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus")
}

/// Returns a folder with tools that have the names of those of `toolchain`. Each writes the same
/// file whatever its options are, in which `memcpy` is undefined.
fn fake_tools(toolchain: &Toolchain) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let mut made = fs::read(committed().join("builds/gnu-2.47/amd64/crossing.O2-dynamic.first.so")).unwrap();
    let name = b"\0second_leaf\0";
    let at = made.windows(name.len()).rposition(|bytes| bytes == name).unwrap();
    made[at..at + 8].copy_from_slice(b"\0memcpy\0");
    fs::write(folder.path().join("made"), made).unwrap();
    let script = "#!/bin/sh\nhere=$(dirname \"$0\")\n\
                  case $1 in --version) echo \"$0 1\"; exit;; -print-prog-name=as) echo \"$0\"; exit;; esac\n\
                  while [ \"$1\" != -o ]; do shift; done\ncp \"$here/made\" \"$2\"\n";
    let named = toolchain.abis.values().flat_map(|tools| {
        [Some(&tools.compiler), tools.rust.as_ref(), tools.assembler.as_ref(), tools.linker.as_ref()]
    });
    for name in named.flatten() {
        let path = folder.path().join(name);
        fs::write(&path, script).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }
    folder
}

/// For each toolchain that compiles, with tools that only pretend to: sources, commands and all
/// else that the manifest does not have is what the builder has recorded.
#[test]
fn what_follows_for_builds_is_what_the_builder_did() {
    let programs = Program::load_all(&committed()).unwrap();
    let chosen = ["leaf", "backchain", "cplusplus", "crossing", "mixed_objects", "partial_link", "rust_code"];
    for mut toolchain in Toolchain::load_all(&committed()).unwrap() {
        if toolchain.derive.is_some() {
            continue;
        }
        let tools = fake_tools(&toolchain);
        toolchain.root = None;
        toolchain.path = vec![tools.path().to_owned()];
        let workshop =
            Workshop::open(toolchain, &committed(), Path::new(""), &StopRequest::default()).unwrap();
        let toolchain = workshop.toolchain();
        let mut builds = Vec::new();
        for program in programs.iter().filter(|program| chosen.contains(&program.name.as_str())) {
            let mut of_program: Vec<_> = toolchain.builds_of(program).collect();
            of_program.dedup_by_key(|(abi, variant)| (*abi, variant.flags[0]));
            for (abi, variant) in of_program {
                let id = build_id(&toolchain.name, abi, &program.name, variant.name);
                let tools = &toolchain.abis[&abi];
                let order = Order { id: &id, abi, tools, program, variant };
                let versions = workshop.versions(tools).unwrap();
                builds.push(make_build(&workshop, &order, &versions).unwrap().build);
            }
        }
        builds.sort_by(|one, other| one.id.cmp(&other.id));
        assert!(builds.len() >= 10, "{}: {}", toolchain.name, builds.len());
        assert!(builds.iter().all(|build| build.sources.iter().any(|source| source == "runtime/memcpy.c")));

        let corpus = tempfile::tempdir().unwrap();
        for folder in ["programs", "toolchains"] {
            std::os::unix::fs::symlink(
                committed().canonicalize().unwrap().join(folder),
                corpus.path().join(folder),
            )
            .unwrap();
        }
        Manifest { builds: builds.clone() }.write(corpus.path()).unwrap();
        let read = Manifest::load(corpus.path()).unwrap().builds;
        for (read, made) in read.iter().zip(&builds) {
            assert_eq!(read, made);
        }
        assert_eq!(read.len(), builds.len());
    }
}

/// One build of each derived toolchain in each variant.
#[test]
fn what_follows_for_derived_builds_is_what_made_them() {
    let programs = Program::load_all(&committed()).unwrap();
    let toolchains = Toolchain::load_all(&committed()).unwrap();
    let mut derivations = derivations(&committed(), &toolchains, &programs).unwrap();
    derivations.retain(|derivation| {
        derivation.id.contains("/aarch64/leaf.") || derivation.id.contains("/amd64/crossing.")
    });
    let made = derive(&committed(), &derivations, &[]).unwrap();
    let manifest = Manifest::load(&committed()).unwrap();
    for made in &made {
        assert_eq!(manifest.get(&made.build.id), Some(&made.build));
    }
    assert!(made.len() > 15, "{}", made.len());
}

#[test]
fn the_manifest_has_no_build_that_nothing_makes() {
    let programs = Program::load_all(&committed()).unwrap();
    let toolchains = Toolchain::load_all(&committed()).unwrap();
    let compiled = toolchains.iter().flat_map(|toolchain| ids(toolchain, &programs)).map(|(id, ..)| id);
    let derived = derivations(&committed(), &toolchains, &programs).unwrap();
    let made: BTreeSet<String> =
        compiled.chain(derived.into_iter().map(|derivation| derivation.id)).collect();
    let listed = Manifest::load(&committed()).unwrap().builds;
    assert!(listed.len() > 2900, "{}", listed.len());
    for build in listed {
        assert!(made.contains(&build.id), "{}", build.id);
    }
}
