//! Builds that no toolchain writes: those of a toolchain, with their sections
//! converted and laid out differently.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use rayon::prelude::*;
use sframe_engine::{Abi, Version};
use sframe_inspect::convert::layout::Layout;
use sframe_inspect::convert::{ConvertError, Request};
use sframe_judge::target::files::Files;
use sframe_judge::truth::cross_check::FrameFlags;

use super::build::{build_id, sha256};
use super::conversion::command;
use super::made::Made;
use super::origins::Origins;
use super::records::Records;
use super::{Build, Derive, Error, LibraryBuild, Program, Toolchain};

/// One build to derive.
pub(super) struct Derivation<'a> {
    pub(super) id: String,
    from: String,
    toolchain: &'a Toolchain,
    version: Version,
    layout: &'a Layout,
}

/// Returns all builds that toolchains derive from those of others.
pub(super) fn derivations<'a>(
    corpus_dir: &Path,
    toolchains: &'a [Toolchain],
    programs: &[Program],
) -> Result<Vec<Derivation<'a>>, Error> {
    let mut found = Vec::new();
    for toolchain in toolchains {
        if let Some(derive) = &toolchain.derive {
            let list = of_toolchain(toolchain, derive, toolchains, programs);
            let path = corpus_dir.join("toolchains").join(format!("{}.yaml", toolchain.name));
            found.extend(list.map_err(|message| Error::Invalid { path, message })?);
        }
    }
    Ok(found)
}

fn of_toolchain<'a>(
    toolchain: &'a Toolchain,
    derive: &'a Derive,
    toolchains: &[Toolchain],
    programs: &[Program],
) -> Result<Vec<Derivation<'a>>, String> {
    let from = toolchains
        .iter()
        .find(|from| from.name == derive.from && from.derive.is_none())
        .ok_or_else(|| format!("there is no toolchain `{}` that compiles", derive.from))?;
    let version = toolchain
        .sframe_version
        .and_then(Version::from_number)
        .ok_or_else(|| "a derived toolchain needs `sframe_version`".to_owned())?;
    let all = || from.abis.keys().copied().collect();
    let abis: Vec<Abi> = derive.abis.clone().unwrap_or_else(all);
    if let Some(abi) = abis.iter().find(|abi| !from.abis.contains_key(*abi)) {
        return Err(format!("`{}` has no builds for `{abi}`", from.name));
    }
    let mut found = Vec::new();
    let mut used = BTreeSet::new();
    for name in &derive.programs {
        let program = programs.iter().find(|program| program.name == *name);
        let program = program.ok_or_else(|| format!("there is no program `{name}`"))?;
        let before = found.len();
        for abi in abis.iter().filter(|abi| program.targets.contains(abi)) {
            for (variant, layout) in &derive.variants {
                if program.variants.iter().any(|known| known.name == variant) {
                    used.insert(variant);
                    let id = |toolchain: &str| build_id(toolchain, *abi, name, variant);
                    let (from, id) = (id(&from.name), id(&toolchain.name));
                    found.push(Derivation { id, from, toolchain, version, layout });
                }
            }
        }
        if found.len() == before {
            return Err(format!("`{}` has no build of `{name}` for these ABIs in these variants", from.name));
        }
    }
    match derive.variants.keys().find(|variant| !used.contains(variant)) {
        Some(variant) => Err(format!("none of these programs is built in the variant `{variant}`")),
        None => Ok(found),
    }
}

/// Makes derived builds, from builds that were just made or else from committed ones.
pub(super) fn derive(
    corpus_dir: &Path,
    derivations: &[Derivation<'_>],
    made: &[Made],
) -> Result<Vec<Made>, Error> {
    if derivations.is_empty() {
        return Ok(Vec::new());
    }
    let committed = Records::load_if_any(corpus_dir)?;
    let origins = Origins::load(corpus_dir, &committed)?;
    let derive = |derivation: &Derivation<'_>| match made.iter().find(|made| made.build.id == derivation.from)
    {
        Some(made) => derivation.make(&made.build, &made.to_files()),
        None => {
            if committed.get(&derivation.from).is_none() {
                return Err(Error::NothingToDerive {
                    build: derivation.id.clone(),
                    from: derivation.from.clone(),
                });
            }
            let build = origins.build(&derivation.from, &committed)?;
            derivation.make(&build, &build.files(corpus_dir)?)
        }
    };
    derivations.par_iter().map(derive).collect()
}

impl Derivation<'_> {
    fn make(&self, from: &Build, files: &Files) -> Result<Made, Error> {
        let (bytes, command) = self.convert(&from.id, &files.executable)?;
        let (mut entries, mut libraries) = (Vec::new(), Vec::new());
        for (old, (name, bytes)) in from.libraries.iter().zip(&files.libraries) {
            let path = PathBuf::from(&from.id).with_file_name(name);
            let (bytes, command) = self.convert(&path.display().to_string(), bytes)?;
            entries.push(LibraryBuild { command, sha256: sha256(&bytes), ..old.clone() });
            libraries.push(bytes);
        }
        let build = Build {
            id: self.id.clone(),
            toolchain: self.toolchain.name.clone(),
            sframe_version: self.version.number(),
            derived_from: Some(from.id.clone()),
            frames: FrameFlags::default(),
            command,
            sha256: sha256(&bytes),
            libraries: entries,
            ..from.clone()
        };
        Ok(Made { build, bytes, libraries, warnings: Vec::new() })
    }

    /// Returns a file with another section, and the command that makes it.
    fn convert(&self, from: &str, file: &[u8]) -> Result<(Vec<u8>, String), Error> {
        let request = Request { version: self.version, byte_order: None, layout: self.layout.clone() };
        let bytes = request.convert(file).and_then(|converted| converted.file());
        let bytes = bytes.map_err(|source: ConvertError| Error::Derive {
            build: self.id.clone(),
            from: from.to_owned(),
            source: Box::new(source),
        })?;
        Ok((bytes, command(self.version, self.layout, from)))
    }
}

#[cfg(test)]
mod tests {
    use std::error::Error as _;
    use std::fs;

    use sframe_judge::examine::stop::StopRequest;
    use tempfile::TempDir;

    use super::super::{Change, Manifest, Rebuild, RebuildReport, rebuild};
    use super::*;

    const SOURCE: &str = "gnu-2.44/amd64/leaf.O2";
    const DERIVED: &str = "name: d\nsummary: x\nsframe_version: 2\nderive:\n  from: gnu-2.44\n  \
                           programs: [leaf]\n  variants: {O2: {functions: reversed, trailing: 9}}\n";

    /// Returns a corpus with one committed build, and a toolchain that derives from it.
    fn corpus(derived: &str) -> TempDir {
        let corpus = tempfile::tempdir().unwrap();
        let build = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus/builds").join(SOURCE);
        let bytes = fs::read(build).unwrap();
        let write = |file: &str, bytes: &[u8]| {
            let path = corpus.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, bytes).unwrap();
        };
        let manifest = format!(
            "schema: 2\nmade:\n- {{toolchain: gnu-2.44, abi: amd64, compiler: gcc, binutils: as, \
             files: {{leaf.O2: {}}}}}\n",
            sha256(&bytes)
        );
        write(&format!("builds/{SOURCE}"), &bytes);
        write("manifest.yaml", manifest.as_bytes());
        write("programs/leaf.c", b"");
        write("programs/other.c", b"");
        write("programs/arm.c", b"");
        write("programs/arm.yaml", b"targets: [aarch64]\n");
        write("programs/runtime/start.S", b"");
        let toolchain = "name: gnu-2.44\nsummary: x\nsframe_version: 2\nsframe_flags: [-g]\n\
             properties: {compiler: gcc 14, assembler: gas 2.44, linker: ld 2.44, can: []}\n\
             abis: {amd64: {compiler: gcc}}\n";
        write("toolchains/gnu-2.44.yaml", toolchain.as_bytes());
        write("toolchains/d.yaml", derived.as_bytes());
        corpus
    }

    fn run(corpus: &TempDir, check: bool) -> Result<RebuildReport, Error> {
        rebuild(&Rebuild {
            stop: StopRequest::default(),
            corpus_dir: corpus.path().to_owned(),
            toolchains_dir: PathBuf::new(),
            only: Some("d/".to_owned()),
            check,
            jobs: 1,
        })
    }

    fn changes(report: &RebuildReport) -> Vec<Change> {
        report.differences.iter().map(|difference| difference.change).collect()
    }

    #[test]
    fn a_derived_build_is_made_of_the_committed_one_and_the_manifest_says_so() {
        let corpus = corpus(DERIVED);
        assert_eq!(changes(&run(&corpus, false).unwrap()), [Change::Added]);
        assert_eq!(changes(&run(&corpus, true).unwrap()), []);

        let manifest = Manifest::load(corpus.path()).unwrap();
        let (build, from) = (manifest.get("d/amd64/leaf.O2").unwrap(), manifest.get(SOURCE).unwrap());
        assert_eq!(build.derived_from.as_deref(), Some(SOURCE));
        assert_eq!((&build.sources, &build.compiler), (&from.sources, &from.compiler));
        assert_eq!(
            build.command,
            format!(
                "sframe-testbench convert --to=2 --functions=reversed --trailing=9 --elf=leaf.O2 ../builds/{SOURCE}"
            )
        );
        assert_ne!(build.read(corpus.path()).unwrap(), from.read(corpus.path()).unwrap());

        // Independent of what made the other one.
        let path = corpus.path().join("builds/d/amd64/leaf.O2");
        fs::write(&path, "changed").unwrap();
        assert_eq!(changes(&run(&corpus, true).unwrap()), [Change::Bytes]);
        fs::write(corpus.path().join("toolchains/d.yaml"), DERIVED.replace("9", "8")).unwrap();
        assert_eq!(changes(&run(&corpus, false).unwrap()), [Change::Bytes]);
    }

    #[test]
    fn a_derivation_that_cannot_work_is_an_error() {
        for (old, new, message) in [
            ("from: gnu-2.44", "from: gnu-2.45", "there is no toolchain `gnu-2.45` that compiles"),
            ("from: gnu-2.44", "from: d", "there is no toolchain `d` that compiles"),
            (
                "from: gnu-2.44",
                "from: gnu-2.44\n  abis: [aarch64_be]",
                "`gnu-2.44` has no builds for `aarch64_be`",
            ),
            ("[leaf]", "[leav]", "there is no program `leav`"),
            ("[leaf]", "[leaf, arm]", "has no build of `arm` for these ABIs in these variants"),
            ("{O2:", "{O9: {}, O2:", "none of these programs is built in the variant `O9`"),
            ("{O2:", "{O2-shared: {}, O2:", "none of these programs is built in the variant `O2-shared`"),
            (
                "[leaf]",
                "[other]",
                "d/amd64/other.O2 is derived from gnu-2.44/amd64/other.O2, which is not in",
            ),
            ("trailing: 9", "trialing: 9", "trialing"),
            ("trailing: 9", "data_words: 3", "widths are 1, 2 and 4"),
            ("reversed", "sideways", "sideways"),
            ("trailing: 9", "header_gap: 65536", "65536"),
            ("derive:", "flags: [-g]\nderive:", "either `abis` to compile for, or `derive`"),
            ("  variants:", "  variant: O2\n  variants:", "variant"),
        ] {
            let text = DERIVED.replacen(old, new, 1);
            assert_ne!(text, DERIVED);
            let error = run(&corpus(&text), false).unwrap_err();
            assert!(error.to_string().contains(message), "{error}");
        }
        let neither = corpus("name: d\nsummary: x\nsframe_version: 2\n");
        assert!(run(&neither, false).unwrap_err().to_string().contains("either `abis`"));
    }

    #[test]
    fn a_section_that_the_version_has_no_form_for_is_an_error() {
        let text =
            DERIVED.replace("sframe_version: 2", "sframe_version: 1").replace("trailing: 9", "starts: field");
        let error = run(&corpus(&text), false).unwrap_err();
        assert!(matches!(&error, Error::Derive { build, .. } if build == "d/amd64/leaf.O2"), "{error}");
        let source = error.source().expect("a reason").to_string();
        assert_eq!(source, "version 1 does not know the flag 0x4");
    }

    #[test]
    fn a_build_is_not_derived_from_a_changed_file() {
        let corpus = corpus(DERIVED);
        fs::write(corpus.path().join("builds").join(SOURCE), "changed").unwrap();
        assert!(matches!(run(&corpus, false), Err(Error::Checksum { .. })));
    }
}
