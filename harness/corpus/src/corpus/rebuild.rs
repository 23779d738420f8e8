//! Rebuilds all builds.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::{Path, PathBuf};

use rayon::prelude::*;
use sframe_elf::find_sframe::find_sframe;
use sframe_engine::Abi;
use sframe_judge::examine::stop::StopRequest;
use sframe_judge::target::files::Files;

use super::build::{build_id, sha256};
use super::derive::{Derivation, derivations, derive};
use super::made::{Made, Warning};
use super::order::Order;
use super::records::{Record, Records};
use super::scratch::write_error;
use super::steps::is_rust;
use super::workshop::{Versions, Workshop};
use super::{Build, Error, LibraryBuild, Program, Toolchain, Variant};

/// What to rebuild, and where.
#[derive(Debug, Clone)]
pub struct Rebuild {
    /// The corpus: `programs`, `toolchains`, `builds` and `manifest.yaml`.
    pub corpus_dir: PathBuf,
    /// Contains one root per toolchain, with its name.
    pub toolchains_dir: PathBuf,
    /// Only the builds with this text in their ids.
    pub only: Option<String>,
    /// Write nothing, only compare.
    pub check: bool,
    /// How many compilers to run at once; 0 for one per processor.
    pub jobs: usize,
    /// Ends the compilers.
    pub stop: StopRequest,
}

/// The result of [`rebuild`].
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct RebuildReport {
    /// The number of builds that were made.
    pub built: usize,
    /// The size of all of them together, in bytes.
    pub bytes: u64,
    /// What has changed, sorted by id. If only comparing: what is not as it should be.
    pub differences: Vec<Difference>,
    /// Complaints of compilers, assemblers and linkers, sorted by id.
    pub warnings: Vec<Warning>,
}

/// A build that has changed.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub struct Difference {
    /// The build's id.
    pub id: String,
    /// What happened to it.
    pub change: Change,
}

/// What happened to a build.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Change {
    /// It did not exist.
    Added,
    /// Its bytes are different.
    Bytes,
    /// Its bytes are the same, but its manifest entry is not.
    Entry,
    /// Nothing makes it any more.
    Removed,
}

impl fmt::Display for Difference {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let change = match self.change {
            Change::Added => "was not there",
            Change::Bytes => "has other bytes",
            Change::Entry => "has another entry in the manifest",
            Change::Removed => "is no longer made by anything",
        };

        write!(out, "{} {change}", self.id)
    }
}

impl fmt::Display for Warning {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}: {}", self.id, self.message)
    }
}

/// One build to make.
struct Job<'a> {
    id: String,
    workshop: &'a Workshop,
    abi: Abi,
    program: &'a Program,
    variant: &'static Variant,
}

/// Compiles every program with every toolchain, derives the builds that are made
/// from others, and writes builds and manifest, or compares them with the existing
/// ones.
///
/// Files under `builds` that nothing makes any more are removed, unless the filter
/// excludes them or this only compares.
///
/// # Errors
///
/// The corpus is invalid, a toolchain is not installed, or a build does not
/// compile, has no `.sframe` or can't be derived. The first such build is reported.
pub fn rebuild(options: &Rebuild) -> Result<RebuildReport, Error> {
    let corpus_dir = &options.corpus_dir;
    let programs = Program::load_all(corpus_dir)?;
    let wanted = |id: &str| options.only.as_ref().is_none_or(|only| id.contains(only));

    let toolchains = Toolchain::load_all(corpus_dir)?;
    let mut derivations: Vec<Derivation<'_>> = derivations(corpus_dir, &toolchains, &programs)?;
    derivations.retain(|derivation| wanted(&derivation.id));

    let mut workshops = Vec::new();
    for toolchain in toolchains.iter().cloned() {
        toolchain.check_excluded(&Toolchain::path_in(corpus_dir, &toolchain.name), &programs)?;
        if ids(&toolchain, &programs).any(|(id, ..)| wanted(&id)) {
            workshops.push(Workshop::open(toolchain, corpus_dir, &options.toolchains_dir, &options.stop)?);
        }
    }
    let jobs: Vec<Job<'_>> = workshops
        .iter()
        .flat_map(|workshop| {
            ids(workshop.toolchain(), &programs).map(move |(id, abi, program, variant)| Job {
                id,
                workshop,
                abi,
                program,
                variant,
            })
        })
        .filter(|job| wanted(&job.id))
        .collect();
    if jobs.is_empty() && derivations.is_empty() {
        return Err(Error::NothingToBuild { only: options.only.clone().unwrap_or_default() });
    }

    let versions = versions(&jobs)?;
    let threads = rayon::ThreadPoolBuilder::new()
        .num_threads(options.jobs)
        .build()
        .map_err(|error| Error::Threads { message: error.to_string() })?;
    let mut made: Vec<Made> =
        threads.install(|| jobs.par_iter().map(|job| make(job, &versions)).collect::<Result<_, _>>())?;
    made.extend(threads.install(|| derive(corpus_dir, &derivations, &made))?);
    made.sort_by(|a, b| a.build.id.cmp(&b.build.id));

    finish(options, made, &wanted)
}

/// Returns the ids of everything that a toolchain builds.
pub(super) fn ids<'a>(
    toolchain: &'a Toolchain,
    programs: &'a [Program],
) -> impl Iterator<Item = (String, Abi, &'a Program, &'static Variant)> {
    programs.iter().flat_map(move |program| {
        toolchain.builds_of(program).map(move |(abi, variant)| {
            let id = build_id(&toolchain.name, abi, &program.name, variant.name);
            (id, abi, program, variant)
        })
    })
}

/// Asks each compiler once for its version.
fn versions(jobs: &[Job<'_>]) -> Result<BTreeMap<(String, Abi), Versions>, Error> {
    let mut versions = BTreeMap::new();

    for job in jobs {
        let toolchain = job.workshop.toolchain();
        let key = (toolchain.name.clone(), job.abi);
        if let (false, Some(tools)) = (versions.contains_key(&key), toolchain.abis.get(&job.abi)) {
            versions.insert(key, job.workshop.versions(tools)?);
        }
    }
    Ok(versions)
}

fn make(job: &Job<'_>, versions: &BTreeMap<(String, Abi), Versions>) -> Result<Made, Error> {
    let toolchain = job.workshop.toolchain();
    let key = (toolchain.name.clone(), job.abi);
    let (Some(tools), Some(versions)) = (toolchain.abis.get(&job.abi), versions.get(&key)) else {
        return Err(Error::NothingToBuild { only: job.id.clone() });
    };
    let Job { id, workshop, abi, program, variant } = job;
    make_build(workshop, &Order { id, abi: *abi, tools, program, variant }, versions)
}

/// Makes one build, with a section in each of its files.
pub(super) fn make_build(workshop: &Workshop, order: &Order<'_>, versions: &Versions) -> Result<Made, Error> {
    let (id, toolchain) = (order.id, workshop.toolchain());
    let product = workshop.compile(order)?;

    let version = demand_sframe(id, &product.bytes)?;
    let mut warnings = product.warnings;
    let (mut entries, mut libraries) = (Vec::new(), Vec::new());
    for (name, library) in product.libraries {
        demand_sframe(&format!("{id} ({name})"), &library.bytes)?;
        entries.push(LibraryBuild {
            name,
            sources: library.sources,
            command: library.command,
            sha256: sha256(&library.bytes),
        });
        libraries.push(library.bytes);
        warnings.extend(library.warnings);
    }
    Ok(Made {
        build: Build {
            id: id.to_owned(),
            program: order.program.name.clone(),
            abi: order.abi,
            toolchain: toolchain.name.clone(),
            variant: order.variant.name.to_owned(),
            sframe_version: toolchain.sframe_version.unwrap_or(version),
            rust: versions.rust.clone().filter(|_| is_rust(&product.sources)),
            sources: product.sources,
            compiler: versions.compiler.clone(),
            binutils: versions.binutils.clone(),
            command: product.command,
            derived_from: None,
            sha256: sha256(&product.bytes),
            frames: order.frame_flags(toolchain),
            libraries: entries,
        },
        bytes: product.bytes,
        libraries,
        warnings: warnings.into_iter().map(|message| Warning { id: id.to_owned(), message }).collect(),
    })
}

/// Rejects a build without unwind data: checking it would prove nothing. Returns
/// the section's version, or 0 if it is too short to have one.
fn demand_sframe(id: &str, bytes: &[u8]) -> Result<u8, Error> {
    let found = find_sframe(bytes);
    let found = found.map_err(|error| Error::NotElf { build: id.to_owned(), message: error.to_string() })?;
    match found {
        // One byte, after the magic number.
        Some(section) if !section.data.is_empty() => Ok(section.data.get(2).copied().unwrap_or_default()),
        _ => Err(Error::NoSframe { build: id.to_owned() }),
    }
}

/// Compares what was made with what exists, and writes it if requested.
fn finish(options: &Rebuild, made: Vec<Made>, wanted: &dyn Fn(&str) -> bool) -> Result<RebuildReport, Error> {
    let corpus_dir = &options.corpus_dir;
    let old = Records::load_if_any(corpus_dir)?;
    let mut report = RebuildReport { built: made.len(), ..RebuildReport::default() };
    let mut differ = |id: &str, change| {
        report.differences.push(Difference { id: id.to_owned(), change });
    };

    let new: BTreeSet<String> =
        made.iter().flat_map(|made| Record::of(&made.build).paths().collect::<Vec<_>>()).collect();
    let mut stale: BTreeSet<String> = ids_on_disk(&corpus_dir.join("builds"))?;
    stale.extend(old.iter().flat_map(|(_, record)| record.paths()));
    stale.retain(|id| wanted(id) && !new.contains(id.as_str()));
    for id in &stale {
        differ(id, Change::Removed);
    }
    for made in &made {
        let build = &made.build;
        let entry = old.get(&build.id);
        let files: Vec<(PathBuf, &Vec<u8>)> = made.files(corpus_dir).collect();
        if entry.is_none() || files.iter().any(|(path, _)| !path.exists()) {
            differ(&build.id, Change::Added);
        } else if !are_as(&files)? {
            differ(&build.id, Change::Bytes);
        } else if entry != Some(&Record::of(build)) {
            differ(&build.id, Change::Entry);
        }
    }
    report.differences.sort();

    if !options.check {
        write(corpus_dir, old, &made, &stale)?;
    }
    for made in made {
        report.bytes += made.files(corpus_dir).map(|(_, bytes)| bytes.len() as u64).sum::<u64>();
        report.warnings.extend(made.warnings);
    }
    Ok(report)
}

/// Writes builds and manifest; entries of other builds are unchanged.
fn write(
    corpus_dir: &Path,
    mut records: Records,
    made: &[Made],
    stale: &BTreeSet<String>,
) -> Result<(), Error> {
    records.retain(|id| !stale.contains(id));
    for id in stale {
        let path = corpus_dir.join("builds").join(id);
        if path.exists() {
            std::fs::remove_file(&path).map_err(write_error(&path))?;
        }
    }
    for made in made {
        for (path, bytes) in made.files(corpus_dir) {
            if let Some(folder) = path.parent() {
                std::fs::create_dir_all(folder).map_err(write_error(folder))?;
            }
            std::fs::write(&path, bytes).map_err(write_error(&path))?;
        }
        records.insert(&made.build);
    }
    records.write(corpus_dir)
}

impl Made {
    /// Returns the files with their names.
    pub(super) fn to_files(&self) -> Files {
        let names = self.build.libraries.iter().map(|library| library.name.clone());
        Files {
            executable: self.bytes.clone(),
            libraries: names.zip(self.libraries.iter().cloned()).collect(),
            ..Files::default()
        }
    }

    /// Returns all files of the build, with their bytes.
    pub(super) fn files<'m>(&'m self, corpus_dir: &'m Path) -> impl Iterator<Item = (PathBuf, &'m Vec<u8>)> {
        let paths = self.build.libraries.iter().map(|library| self.build.library_path(corpus_dir, library));
        std::iter::once((self.build.path(corpus_dir), &self.bytes)).chain(paths.zip(&self.libraries))
    }
}

/// Whether files have these contents.
fn are_as(files: &[(PathBuf, &Vec<u8>)]) -> Result<bool, Error> {
    for (path, bytes) in files {
        let found = std::fs::read(path).map_err(|source| Error::Read { path: path.clone(), source })?;
        if found != **bytes {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Returns the ids of all files under `builds`.
fn ids_on_disk(builds: &Path) -> Result<BTreeSet<String>, Error> {
    let mut ids = BTreeSet::new();
    let mut folders = vec![builds.to_path_buf()];

    while let Some(folder) = folders.pop() {
        if !folder.exists() {
            continue;
        }
        let read_error = |source| Error::Read { path: folder.clone(), source };
        for entry in std::fs::read_dir(&folder).map_err(read_error)? {
            let path = entry.map_err(read_error)?.path();
            if path.is_dir() {
                folders.push(path);
            } else if let Some(id) = path.strip_prefix(builds).ok().and_then(Path::to_str) {
                ids.insert(id.to_owned());
            }
        }
    }
    Ok(ids)
}

#[cfg(test)]
mod tests {
    use sframe_judge::truth::cross_check::FrameFlags;

    use super::*;

    /// Returns a build whose files contain their own names.
    fn made(libraries: &[&str]) -> Made {
        let entry = |name: &&str| LibraryBuild {
            name: format!("leaf.O2-dynamic.{name}.so"),
            sources: Vec::new(),
            command: String::new(),
            sha256: sha256(name.as_bytes()),
        };
        Made {
            build: Build {
                id: "t/amd64/leaf.O2-dynamic".to_owned(),
                program: "leaf".to_owned(),
                abi: Abi::Amd64,
                toolchain: "t".to_owned(),
                variant: "O2-dynamic".to_owned(),
                sframe_version: 3,
                sources: Vec::new(),
                compiler: String::new(),
                binutils: String::new(),
                rust: None,
                command: String::new(),
                derived_from: None,
                frames: FrameFlags::default(),
                sha256: sha256(b"leaf"),
                libraries: libraries.iter().map(entry).collect(),
            },
            bytes: b"leaf".to_vec(),
            libraries: libraries.iter().map(|name| name.as_bytes().to_vec()).collect(),
            warnings: Vec::new(),
        }
    }

    #[test]
    fn libraries_are_written_beside_their_build_and_removed_with_their_entry() {
        let corpus = tempfile::tempdir().unwrap();
        let options = |check| Rebuild {
            stop: StopRequest::default(),
            corpus_dir: corpus.path().to_owned(),
            toolchains_dir: PathBuf::new(),
            only: None,
            check,
            jobs: 1,
        };
        let changes = |check: bool, libraries: &[&str]| -> Vec<(String, Change)> {
            let report = finish(&options(check), vec![made(libraries)], &|_| true).unwrap();
            report.differences.into_iter().map(|difference| (difference.id, difference.change)).collect()
        };
        let id = "t/amd64/leaf.O2-dynamic".to_owned();
        assert_eq!(changes(false, &["a", "b"]), [(id.clone(), Change::Added)]);
        assert_eq!(changes(true, &["a", "b"]), []);
        let file = |name: &str| corpus.path().join(format!("builds/t/amd64/leaf.O2-dynamic.{name}.so"));
        assert_eq!(std::fs::read(file("b")).unwrap(), b"b");

        // One that is changed, missing, or no longer made.
        std::fs::write(file("a"), "changed").unwrap();
        assert_eq!(changes(true, &["a", "b"]), [(id.clone(), Change::Bytes)]);
        std::fs::remove_file(file("a")).unwrap();
        assert_eq!(changes(false, &["a", "b"]), [(id.clone(), Change::Added)]);
        let stale = "t/amd64/leaf.O2-dynamic.b.so".to_owned();
        assert_eq!(changes(false, &["a"]), [(id, Change::Entry), (stale, Change::Removed)]);
        assert!(file("a").exists() && !file("b").exists());
        assert_eq!(changes(true, &["a"]), []);
    }
}
