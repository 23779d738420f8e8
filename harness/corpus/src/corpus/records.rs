//! `corpus/manifest.yaml`: what is recorded of builds, because it follows from nothing else.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::marker::PhantomData;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use serde::de::Visitor;
use serde::{Deserialize, Deserializer, Serialize};
use sframe_engine::Abi;
use sframe_judge::vocabulary::suggest::unknown;

use super::build::build_id;
use super::program::{RUNTIME, START};
use super::scratch::write_error;
use super::{Build, Error, Toolchain};
use crate::yaml::{self, Source};

/// The version of the format that this code reads and writes.
const SCHEMA: u32 = 2;

/// What is recorded of all builds, by id.
#[derive(Clone, Default)]
pub(super) struct Records(BTreeMap<String, Record>);

/// What is recorded of one build.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Record {
    pub(super) made_by: MadeBy,
    pub(super) program: String,
    pub(super) variant: String,
    pub(super) file: Recorded,
    /// Its libraries, by their names among those of the program.
    pub(super) libraries: BTreeMap<String, Recorded>,
}

/// What made a build. The versions are those of the toolchain that compiled it;
/// builds that were derived have none.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct MadeBy {
    pub(super) toolchain: String,
    pub(super) abi: Abi,
    pub(super) compiler: Option<String>,
    pub(super) binutils: Option<String>,
    pub(super) rust: Option<String>,
}

/// What is recorded of one file.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Recorded {
    pub(super) sha256: String,
    /// The files in `runtime` with the functions that its compiler called for.
    pub(super) runtime: Vec<String>,
}

/// The file as written.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields, expecting = "the manifest, which is a mapping")]
struct Document {
    schema: Schema,
    #[serde(default)]
    runtime: Runtime,
    made: Vec<Group>,
}

/// The functions of the runtime in files: by the file's path under `builds`, else by
/// its name, else by its name without the variant. A file that has none of these
/// keys has no functions.
#[derive(Default, Serialize, Deserialize)]
#[serde(transparent)]
struct Runtime(BTreeMap<String, Vec<String>>);

/// Files that the same tools made.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Group {
    toolchain: String,
    abi: Abi,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    compiler: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    binutils: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    rust: Option<String>,
    files: BTreeMap<FileName, Checksum>,
}

#[derive(Clone, Copy, Serialize)]
#[serde(into = "u32")]
struct Schema;

impl FromStr for Schema {
    type Err = String;

    fn from_str(schema: &str) -> Result<Self, String> {
        if schema == SCHEMA.to_string() {
            return Ok(Self);
        }
        Err(format!("schema {schema} is unknown; this bench reads {SCHEMA}"))
    }
}

impl From<Schema> for u32 {
    fn from(_: Schema) -> Self {
        SCHEMA
    }
}

/// `<program>.<variant>`, or `<program>.<variant>.<library>.so`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(into = "String")]
struct FileName {
    program: String,
    variant: String,
    library: Option<String>,
}

impl FromStr for FileName {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let parts: Vec<&str> = name.split('.').collect();
        let (program, variant, library) = match parts.as_slice() {
            [program, variant] => (program, variant, None),
            [program, variant, library, "so"] => (program, variant, Some((*library).to_owned())),
            _ => return Err(format!("`{name}` is neither PROGRAM.VARIANT nor PROGRAM.VARIANT.LIBRARY.so")),
        };
        Ok(Self { program: (*program).to_owned(), variant: (*variant).to_owned(), library })
    }
}

impl From<FileName> for String {
    fn from(name: FileName) -> Self {
        name.to_string()
    }
}

impl fmt::Display for FileName {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { program, variant, library } = self;
        write!(out, "{program}.{variant}")?;
        library.iter().try_for_each(|library| write!(out, ".{library}.so"))
    }
}

/// A SHA-256, in hexadecimal.
#[derive(Clone, Serialize)]
#[serde(transparent)]
struct Checksum(String);

impl FromStr for Checksum {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let is_hexadecimal = |byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
        if text.len() == 64 && text.bytes().all(is_hexadecimal) {
            return Ok(Self(text.to_owned()));
        }
        Err(format!("`{text}` is not a SHA-256, which has 64 hexadecimal digits in lower case"))
    }
}

/// Reads a value that is written as text, so that errors point at it.
struct TextVisitor<T>(PhantomData<T>);

impl<T: FromStr<Err = String>> Visitor<'_> for TextVisitor<T> {
    type Value = T;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("text")
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<T, E> {
        text.parse().map_err(E::custom)
    }
}

macro_rules! written_as_text {
    ($($type:ty),*) => {
        $(impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                deserializer.deserialize_str(TextVisitor(PhantomData))
            }
        })*
    };
}

written_as_text!(Schema, FileName, Checksum);

impl Runtime {
    /// Returns the keys under which a file may be, the most general one first.
    fn keys(made_by: &MadeBy, name: &FileName) -> [String; 3] {
        let library = name.library.iter().map(|library| format!(".{library}.so"));
        let general = name.program.clone() + &library.collect::<String>();
        [general, name.to_string(), format!("{}/{}/{name}", made_by.toolchain, made_by.abi)]
    }

    fn of(&self, keys: &[String; 3]) -> &[String] {
        keys.iter().rev().find_map(|key| self.0.get(key)).map_or(&[], Vec::as_slice)
    }

    /// Collects what files have. The first file to which a key applies decides what
    /// it says.
    fn collect<'r>(files: impl Iterator<Item = (&'r MadeBy, FileName, &'r Recorded)>) -> Self {
        let (mut runtime, mut decided) = (Self::default(), BTreeSet::new());
        for (made_by, name, file) in files {
            let keys = Self::keys(made_by, &name);
            for key in &keys {
                if decided.insert(key.clone()) && runtime.of(&keys) != file.runtime {
                    runtime.0.insert(key.clone(), file.runtime.clone());
                }
            }
        }
        runtime
    }
}

impl Records {
    /// Returns where a corpus keeps its manifest.
    pub(super) fn path(corpus_dir: &Path) -> PathBuf {
        corpus_dir.join("manifest.yaml")
    }

    /// Reads the manifest of a corpus.
    pub(super) fn load(corpus_dir: &Path) -> Result<Self, Error> {
        let path = Self::path(corpus_dir);
        let document: Document = crate::yaml::read(&path)?;
        document.records().map_err(|message| Error::Invalid { path, message })
    }

    /// Loads the manifest as [`Self::load`] does, but a corpus without a manifest has no builds.
    pub(super) fn load_if_any(corpus_dir: &Path) -> Result<Self, Error> {
        if Self::path(corpus_dir).exists() { Self::load(corpus_dir) } else { Ok(Self::default()) }
    }

    /// Writes the manifest of a corpus.
    pub(super) fn write(&self, corpus_dir: &Path) -> Result<(), Error> {
        let path = Self::path(corpus_dir);
        let text = crate::yaml::to_string(&self.document())
            .map_err(|message| Error::Encode { path: path.clone(), message })?;
        let text = format!("# Written by ci/corpus. Do not edit.\n{text}");
        std::fs::write(&path, text).map_err(write_error(&path))
    }

    pub(super) fn get(&self, id: &str) -> Option<&Record> {
        self.0.get(id)
    }

    /// Returns the ids, sorted.
    pub(super) fn ids(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, &Record)> {
        self.0.iter().map(|(id, record)| (id.as_str(), record))
    }

    /// The error about a toolchain that has no definition, where the manifest first names it.
    pub(super) fn unknown_toolchain(corpus_dir: &Path, name: &str) -> Error {
        let names = Toolchain::names_in(corpus_dir);
        let path = Self::path(corpus_dir);
        let groups: Option<Document> = Source::read(&path).and_then(|source| source.parse()).ok();
        let index = groups.and_then(|all| all.made.iter().position(|group| group.toolchain == name));
        let index = index.unwrap_or_default().to_string();
        let message = unknown("toolchain", name, names.iter().map(String::as_str));
        yaml::mistake_in(&path, &["made", &index, "toolchain"], message).into()
    }

    pub(super) fn insert(&mut self, build: &Build) {
        self.0.insert(build.id.clone(), Record::of(build));
    }

    pub(super) fn retain(&mut self, is_kept: impl Fn(&str) -> bool) {
        self.0.retain(|id, _| is_kept(id));
    }

    fn document(&self) -> Document {
        let mut made: Vec<Group> = Vec::new();
        for record in self.0.values() {
            let files = record.files().map(|(name, file)| (name, Checksum(file.sha256.clone())));
            match made.iter_mut().find(|group| group.made_by() == record.made_by) {
                Some(group) => group.files.extend(files),
                None => made.push(Group::new(record.made_by.clone(), files.collect())),
            }
        }
        let compiled = self.0.values().filter(|record| record.made_by.compiler.is_some());
        let files =
            compiled.flat_map(|record| record.files().map(|(name, file)| (&record.made_by, name, file)));
        Document { schema: Schema, runtime: Runtime::collect(files), made }
    }
}

impl<'b> FromIterator<&'b Build> for Records {
    fn from_iter<T: IntoIterator<Item = &'b Build>>(builds: T) -> Self {
        let mut records = Self::default();
        builds.into_iter().for_each(|build| records.insert(build));
        records
    }
}

impl Document {
    fn records(self) -> Result<Records, String> {
        let mut records = BTreeMap::new();
        for group in self.made {
            let made_by = group.made_by();
            // A build comes before its libraries.
            for (name, Checksum(sha256)) in group.files {
                let runtime = self.runtime.of(&Runtime::keys(&made_by, &name)).to_vec();
                let file = Recorded { sha256, runtime };
                let id = build_id(&made_by.toolchain, made_by.abi, &name.program, &name.variant);
                let FileName { program, variant, library } = name;
                match (library, records.get_mut(&id)) {
                    (None, None) => {
                        let made_by = made_by.clone();
                        let record = Record { made_by, program, variant, file, libraries: BTreeMap::new() };
                        records.insert(id, record);
                    }
                    (None, Some(_)) => return Err(format!("build `{id}` is listed twice")),
                    (Some(library), Some(record)) if record.made_by == made_by => {
                        record.libraries.insert(library, file);
                    }
                    (Some(library), _) => {
                        return Err(format!("the library `{library}` is listed without its build `{id}`"));
                    }
                }
            }
        }
        Ok(Records(records))
    }
}

impl Group {
    fn new(made_by: MadeBy, files: BTreeMap<FileName, Checksum>) -> Self {
        let MadeBy { toolchain, abi, compiler, binutils, rust } = made_by;
        Self { toolchain, abi, compiler, binutils, rust, files }
    }

    fn made_by(&self) -> MadeBy {
        MadeBy {
            toolchain: self.toolchain.clone(),
            abi: self.abi,
            compiler: self.compiler.clone(),
            binutils: self.binutils.clone(),
            rust: self.rust.clone(),
        }
    }
}

impl Record {
    /// Returns what is recorded of a build.
    pub(super) fn of(build: &Build) -> Self {
        let is_compiled = build.derived_from.is_none();
        let version = |line: &String| is_compiled.then(|| line.clone());
        let recorded = |sha256: &str, sources: &[String]| {
            let functions = sources.iter().filter(|source| is_compiled && *source != START);
            Recorded {
                sha256: sha256.to_owned(),
                runtime: functions
                    .filter_map(|source| source.strip_prefix(RUNTIME))
                    .map(str::to_owned)
                    .collect(),
            }
        };
        let name = format!("{}.{}.", build.program, build.variant);
        let libraries = build.libraries.iter().map(|library| {
            let short = library.name.strip_prefix(&name).and_then(|name| name.strip_suffix(".so"));
            (short.unwrap_or(&library.name).to_owned(), recorded(&library.sha256, &library.sources))
        });
        Self {
            made_by: MadeBy {
                toolchain: build.toolchain.clone(),
                abi: build.abi,
                compiler: version(&build.compiler),
                binutils: version(&build.binutils),
                rust: build.rust.as_ref().and_then(version),
            },
            program: build.program.clone(),
            variant: build.variant.clone(),
            file: recorded(&build.sha256, &build.sources),
            libraries: libraries.collect(),
        }
    }

    /// Returns its files, each with its name.
    fn files(&self) -> impl Iterator<Item = (FileName, &Recorded)> {
        let name = |library: Option<&String>| FileName {
            program: self.program.clone(),
            variant: self.variant.clone(),
            library: library.cloned(),
        };
        let libraries = self.libraries.iter().map(move |(library, file)| (name(Some(library)), file));
        std::iter::once((name(None), &self.file)).chain(libraries)
    }

    /// Returns the paths of its files under `builds`.
    pub(super) fn paths(&self) -> impl Iterator<Item = String> {
        let MadeBy { toolchain, abi, .. } = &self.made_by;
        self.files().map(move |(name, _)| format!("{toolchain}/{abi}/{name}"))
    }
}
