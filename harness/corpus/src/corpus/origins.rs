//! What follows for a build from its program, its toolchain and its variant: sources, commands, and of
//! which other build it is made.

use std::collections::BTreeMap;
use std::path::Path;

use sframe_engine::Version;
use sframe_judge::truth::cross_check::FrameFlags;

use super::build::build_id;
use super::conversion::command;
use super::order::{Order, Parts};
use super::records::{Record, Recorded, Records};
use super::steps::{Part, Place, Steps, shell};
use super::toolchain::AbiTools;
use super::{Build, Derive, Error, LibraryBuild, Program, Toolchain, Variant};

/// The programs and the toolchains of builds.
pub(super) struct Origins {
    toolchains: BTreeMap<String, Toolchain>,
    programs: BTreeMap<String, Program>,
    /// Where the manifest is, for errors.
    path: std::path::PathBuf,
}

impl Origins {
    /// Reads the programs of a corpus, and the toolchains that made builds.
    pub(super) fn load(corpus_dir: &Path, records: &Records) -> Result<Self, Error> {
        let path = Records::path(corpus_dir);
        let mut origins = Self { toolchains: BTreeMap::new(), programs: BTreeMap::new(), path };
        for (_, record) in records.iter() {
            let name = &record.made_by.toolchain;
            if !origins.toolchains.contains_key(name) {
                let definition = Toolchain::path_in(corpus_dir, name);
                if !definition.is_file() {
                    return Err(Records::unknown_toolchain(corpus_dir, name));
                }
                let toolchain = Toolchain::load_of_corpus(&definition)?;
                origins.toolchains.insert(name.clone(), toolchain);
            }
        }
        if !origins.toolchains.is_empty() {
            let programs = Program::load_all(corpus_dir)?.into_iter();
            origins.programs = programs.map(|program| (program.name.clone(), program)).collect();
        }
        Ok(origins)
    }

    /// Returns all that is known of a build.
    pub(super) fn build(&self, id: &str, records: &Records) -> Result<Build, Error> {
        let build = self.try_build(id, records);
        build.map_err(|message| Error::Invalid {
            path: self.path.clone(),
            message: format!("build `{id}`: {message}"),
        })
    }

    fn try_build(&self, id: &str, records: &Records) -> Result<Build, String> {
        let record = records.get(id).ok_or_else(|| format!("`{id}` is not listed"))?;
        let name = &record.made_by.toolchain;
        let toolchain = self.toolchains.get(name).ok_or_else(|| format!("there is no toolchain `{name}`"))?;
        match &toolchain.derive {
            Some(derive) => self.derived(id, record, toolchain, derive, records),
            None => self.compiled(id, record, toolchain),
        }
    }

    fn compiled(&self, id: &str, record: &Record, toolchain: &Toolchain) -> Result<Build, String> {
        let (made_by, name) = (&record.made_by, &record.program);
        let program = self.programs.get(name).ok_or_else(|| format!("there is no program `{name}`"))?;
        let variant = Variant::named(&record.variant);
        let variant = variant.ok_or_else(|| format!("unknown variant `{}`", record.variant))?;
        let abi = made_by.abi;
        let tools = toolchain.abis.get(&abi);
        let tools = tools.ok_or_else(|| format!("`{}` does not compile for {abi}", toolchain.name))?;
        let (Some(compiler), Some(binutils)) = (&made_by.compiler, &made_by.binutils) else {
            return Err("its group needs `compiler` and `binutils`".to_owned());
        };
        let order = Order { id, abi, tools, program, variant };
        let Parts { libraries: parts, program: part } = order.parts();
        let (sources, command) = from_sources(toolchain, tools, &part, &record.file)?;
        let parts = parts.into_iter().zip(&program.libraries);
        let parts = parts.map(|(part, library)| (library.name.as_str(), part.name.clone(), part));
        let libraries = libraries(record, name, parts, |part, recorded| {
            let (sources, command) = from_sources(toolchain, tools, &part, recorded)?;
            Ok(LibraryBuild { sources, command, sha256: recorded.sha256.clone(), name: part.name })
        })?;
        Ok(Build {
            id: id.to_owned(),
            program: name.clone(),
            abi,
            toolchain: toolchain.name.clone(),
            variant: variant.name.to_owned(),
            sframe_version: toolchain.sframe_version.unwrap_or_default(),
            sources,
            compiler: compiler.clone(),
            binutils: binutils.clone(),
            rust: made_by.rust.clone(),
            command,
            derived_from: None,
            sha256: record.file.sha256.clone(),
            frames: order.frame_flags(toolchain),
            libraries,
        })
    }

    fn derived(
        &self,
        id: &str,
        record: &Record,
        toolchain: &Toolchain,
        derive: &Derive,
        records: &Records,
    ) -> Result<Build, String> {
        let Record { made_by, program, variant, .. } = record;
        let from_id = build_id(&derive.from, made_by.abi, program, variant);
        let from = self.toolchains.get(&derive.from).filter(|from| from.derive.is_none());
        let (Some(from), Some(original)) = (from, records.get(&from_id)) else {
            return Err(format!("there is no compiled build `{from_id}`, of which it is made"));
        };
        let from = self.compiled(&from_id, original, from)?;
        let layout = derive.variants.get(variant);
        let layout = layout.ok_or_else(|| format!("`{}` has no layout for `{variant}`", toolchain.name))?;
        let version = toolchain.sframe_version.and_then(Version::from_number);
        let version = version.ok_or_else(|| format!("`{}` has no `sframe_version`", toolchain.name))?;
        let parts = from.libraries.iter().map(|library| {
            let short = library.name.strip_prefix(&format!("{program}.{variant}.")).unwrap_or_default();
            (short.strip_suffix(".so").unwrap_or_default(), library.name.clone(), library)
        });
        let libraries = libraries(record, &from_id, parts, |library, recorded| {
            let path = format!("{}/{}/{}", derive.from, made_by.abi, library.name);
            let command = command(version, layout, &path);
            Ok(LibraryBuild { command, sha256: recorded.sha256.clone(), ..library.clone() })
        })?;
        Ok(Build {
            id: id.to_owned(),
            toolchain: toolchain.name.clone(),
            sframe_version: version.number(),
            command: command(version, layout, &from_id),
            derived_from: Some(from_id),
            sha256: record.file.sha256.clone(),
            frames: FrameFlags::default(),
            libraries,
            ..from
        })
    }
}

/// Returns the libraries of a build: of each its name among the program's libraries, its file, and of what it is made.
/// The record lists all of them, and no others.
fn libraries<'n, P>(
    record: &Record,
    origin: &str,
    parts: impl Iterator<Item = (&'n str, String, P)>,
    build: impl Fn(P, &Recorded) -> Result<LibraryBuild, String>,
) -> Result<Vec<LibraryBuild>, String> {
    let library = |(name, file, part): (&str, String, P)| {
        let recorded = record.libraries.get(name);
        build(part, recorded.ok_or_else(|| format!("its library `{file}` is not listed"))?)
    };
    let libraries: Vec<LibraryBuild> = parts.map(library).collect::<Result<_, _>>()?;
    if libraries.len() < record.libraries.len() {
        return Err(format!("it has more libraries than `{origin}`"));
    }
    Ok(libraries)
}

/// Returns the sources of one file, and the command that makes it.
fn from_sources(
    toolchain: &Toolchain,
    tools: &AbiTools,
    part: &Part<'_>,
    recorded: &Recorded,
) -> Result<(Vec<String>, String), String> {
    let sources = part.sources_with(&recorded.runtime);
    let place = Place::of_manifest();
    let steps = Steps::new(toolchain, tools, part, &place).link(&sources);
    let command = shell(&steps.map_err(|error| error.to_string())?);
    Ok((part.with_objects(sources), command))
}
