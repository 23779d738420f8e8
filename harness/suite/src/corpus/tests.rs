//! Tests of the corpus without a compiler.

use std::fs;
use std::path::Path;

use sframe_engine::Abi;
use tempfile::TempDir;

use super::manifest::sha256;
use super::program::runtime_functions;
use super::steps::{Part, Place, Steps, shell};
use super::{Error, Manifest, Program, Toolchain, VARIANTS, Variant};
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
fn properties_that_can_not_be_are_errors() {
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
    let mut manifest = manifest(path, "");
    let properties = "{compiler: gcc 14.2, assembler: gas 2.47.50, linker: ld 2.47, can: [flex, outermost]}";
    let compiles = "summary: x\nsframe_flags: ['-Wa,x']\nsframe_version: 3\nabis: {amd64: {compiler: gcc}}\n";
    write(path, "toolchains/t.yaml", &format!("name: t\n{compiles}properties: {properties}\n"));
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
    write(path, "toolchains/t.yaml", &format!("name: t\n{compiles}properties: {{compiler: gcc 14}}\n"));
    let error = manifest.producers(path).unwrap_err().to_string();
    assert!(error.contains("needs `assembler` among its `properties`"), "{error}");
}

#[test]
fn exclusions_that_name_nothing_or_no_reason_are_errors() {
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
