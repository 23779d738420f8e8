//! Programs: sources, and how to compile them.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::path::{Component, Path, PathBuf};

use serde::Deserialize;
use sframe_engine::Abi;
use sframe_judge::vocabulary::suggest::unknown;

use super::{Error, VARIANTS, Variant};
use crate::yaml::Source;

/// The folder of the runtime's functions.
pub(super) const RUNTIME: &str = "runtime/";

/// The entry point, which is linked into every program.
pub(super) const START: &str = "runtime/start.S";

/// One program of the corpus.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Program {
    /// Its name: its sources' file name, without the extension.
    pub name: String,
    /// Its purpose, if the settings give one.
    pub summary: Option<String>,
    /// Its own sources, relative to `corpus/programs`.
    pub sources: Vec<String>,
    /// Compiler flags beyond those of the variant.
    pub cflags: Vec<String>,
    /// Linker flags beyond those of the variant.
    pub ldflags: Vec<String>,
    /// The ABIs that it is compiled for.
    pub targets: Vec<Abi>,
    /// The variants that it is compiled in.
    pub variants: Vec<&'static Variant>,
    /// Objects that are compiled separately.
    pub objects: Vec<ProgramObject>,
    /// The shared libraries that it is linked with, each after those that it needs
    /// itself.
    pub libraries: Vec<ProgramLibrary>,
}

/// An object of a program: its sources are compiled one by one, and linked
/// partially (`ld -r`) if there are several.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ProgramObject {
    /// Its name among the program's objects.
    pub name: String,
    /// Its sources, relative to `corpus/programs`.
    pub sources: Vec<String>,
    /// Compiler flags beyond those of the program.
    pub cflags: Vec<String>,
    /// Whether the assembler writes SFrame for it.
    pub sframe: bool,
}

/// A shared library of a program.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ProgramLibrary {
    /// Its name among the program's libraries.
    pub name: String,
    /// Its sources, relative to `corpus/programs`.
    pub sources: Vec<String>,
    /// Compiler flags beyond those of the variant.
    pub cflags: Vec<String>,
    /// Linker flags beyond those of the variant.
    pub ldflags: Vec<String>,
    /// Libraries of the program that it is linked with.
    pub needed: Vec<String>,
}

/// The optional `<program>.yaml`.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields, expecting = "the settings of a program, which are a mapping")]
struct Settings {
    summary: Option<String>,
    sources: Option<Vec<String>>,
    cflags: Vec<String>,
    ldflags: Vec<String>,
    targets: Option<Vec<String>>,
    variants: Option<Vec<String>>,
    objects: BTreeMap<String, ObjectSettings>,
    libraries: BTreeMap<String, LibrarySettings>,
}

/// An object in `<program>.yaml`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ObjectSettings {
    sources: Vec<String>,
    #[serde(default)]
    cflags: Vec<String>,
    #[serde(default = "yes")]
    sframe: bool,
}

fn yes() -> bool {
    true
}

/// A library in `<program>.yaml`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct LibrarySettings {
    sources: Vec<String>,
    #[serde(default)]
    cflags: Vec<String>,
    #[serde(default)]
    ldflags: Vec<String>,
    #[serde(default)]
    needed: Vec<String>,
}

/// The files that have the name of a program.
struct Files {
    name: String,
    /// Sources.
    sources: Vec<String>,
    /// Where the settings are.
    path: Option<PathBuf>,
    settings: Option<(Settings, Source)>,
}

/// What is wrong with the settings, and with which value of theirs.
struct Mistake {
    at: Vec<String>,
    message: String,
}

impl Mistake {
    fn at(path: &[&str], message: String) -> Self {
        Self { at: path.iter().map(|&part| part.to_owned()).collect(), message }
    }
}

impl Program {
    /// Finds all programs of a corpus, sorted by name.
    ///
    /// Files with the same name belong to one program: `x.c`, `x.S`, `x.cc` and
    /// `x.rs` are its sources, unless `x.yaml` names others. Without `x.yaml`, files that the settings of other
    /// programs name are no more than parts of those.
    ///
    /// # Errors
    ///
    /// A folder cannot be read, a file is neither source nor settings, or settings
    /// are invalid.
    pub fn load_all(corpus_dir: &Path) -> Result<Vec<Self>, Error> {
        let folder = corpus_dir.join("programs");
        let mut found: BTreeMap<String, (Vec<String>, Option<PathBuf>)> = BTreeMap::new();

        for path in files_of(&folder)? {
            let extension = path.extension().and_then(OsStr::to_str);
            let (Some(name), Some(file)) = (stem(&path), path.file_name().and_then(OsStr::to_str)) else {
                continue;
            };
            let entry = found.entry(name.to_owned()).or_default();
            match extension {
                Some("c" | "S" | "cc" | "rs") => entry.0.push(file.to_owned()),
                Some("yaml") => entry.1 = Some(path),
                _ => {
                    return Err(Error::Invalid {
                        path,
                        message: "neither a source (.c, .S, .cc, .rs) nor settings (.yaml)".to_owned(),
                    });
                }
            }
        }
        let read = |(name, (sources, path)): (String, (Vec<String>, Option<PathBuf>))| {
            let source = path.as_deref().map(Source::read).transpose()?;
            let settings =
                source.map(|source| source.parse().map(|settings| (settings, source))).transpose()?;
            Ok(Files { name, sources, path, settings })
        };
        let found: Vec<Files> = found.into_iter().map(read).collect::<Result<_, Error>>()?;
        let settings = found.iter().filter_map(|files| files.settings.as_ref());
        let sources = settings.flat_map(|(settings, _)| settings.sources.iter().flatten());
        let parts: BTreeSet<String> = sources.cloned().collect();
        let is_part = |files: &Files| {
            files.settings.is_none() && files.sources.iter().all(|source| parts.contains(source))
        };
        found.into_iter().filter(|files| !is_part(files)).map(|files| Self::new(&folder, files)).collect()
    }

    fn new(folder: &Path, files: Files) -> Result<Self, Error> {
        let Files { name, sources: own_sources, path, settings } = files;
        let (settings, text) =
            settings.map_or_else(Default::default, |(settings, text)| (settings, Some(text)));
        let invalid = |Mistake { at, message }: Mistake| match &text {
            Some(text) if !at.is_empty() => text.error_at(text.span(&at), message, None::<&str>).into(),
            _ => Error::Invalid { path: path.clone().unwrap_or_else(|| folder.join(&name)), message },
        };

        let sources = settings.sources.unwrap_or(own_sources);
        if sources.is_empty() {
            return Err(invalid(Mistake::at(&[], "the program has no source".to_owned())));
        }
        check_sources(&["sources"], &sources, folder).map_err(invalid)?;

        let target = |(index, name): (usize, &String)| {
            name.parse().map_err(|_| {
                let message = unknown("target", name, Abi::ALL.map(Abi::name));
                invalid(Mistake::at(&["targets", &index.to_string()], message))
            })
        };
        let targets = match settings.targets {
            None => Abi::ALL.to_vec(),
            Some(names) => names.iter().enumerate().map(target).collect::<Result<_, _>>()?,
        };

        let objects = objects(settings.objects, folder).map_err(invalid)?;
        let libraries = sorted(settings.libraries, folder).map_err(invalid)?;
        let variant = |(index, name): (usize, &String)| {
            Variant::named(name).ok_or_else(|| {
                let message = unknown("variant", name, VARIANTS.iter().map(|variant| variant.name));
                invalid(Mistake::at(&["variants", &index.to_string()], message))
            })
        };
        let variants: Vec<&'static Variant> = match settings.variants {
            None => VARIANTS.iter().filter(|variant| variant.by_default).collect(),
            Some(names) => names.iter().enumerate().map(variant).collect::<Result<_, _>>()?,
        };
        let fits = |variant: &&Variant| libraries.is_empty() || variant.library_flags.is_some();
        if let Some(index) = variants.iter().position(|variant| !fits(variant)) {
            let message = format!("the variant `{}` has no libraries", variants[index].name);
            return Err(invalid(Mistake::at(&["variants", &index.to_string()], message)));
        }

        Ok(Self {
            name,
            summary: settings.summary,
            sources,
            cflags: settings.cflags,
            ldflags: settings.ldflags,
            targets,
            variants,
            objects,
            libraries,
        })
    }
}

/// Returns the objects of a program, sorted by name.
fn objects(settings: BTreeMap<String, ObjectSettings>, folder: &Path) -> Result<Vec<ProgramObject>, Mistake> {
    let object = |(name, ObjectSettings { sources, cflags, sframe }): (String, ObjectSettings)| {
        check_part("object", &name, &sources, folder)?;
        Ok(ProgramObject { name, sources, cflags, sframe })
    };
    settings.into_iter().map(object).collect()
}

/// Checks what objects and libraries must have: a name that is valid for files, and
/// sources.
fn check_part(kind: &str, name: &str, sources: &[String], folder: &Path) -> Result<(), Mistake> {
    let (article, parts) = if kind == "object" { ("an", "objects") } else { ("a", "libraries") };
    let wrong = |message| Err(Mistake::at(&[parts, name], message));
    if name.is_empty() || !name.chars().all(|c| c.is_ascii_alphanumeric() || "_-".contains(c)) {
        return wrong(format!("`{name}` is not a name for {article} {kind}"));
    }
    if sources.is_empty() {
        return wrong(format!("the {kind} `{name}` has no source"));
    }
    check_sources(&[parts, name, "sources"], sources, folder)
}

/// Checks that sources are files below the folder of the programs.
fn check_sources(at: &[&str], sources: &[String], folder: &Path) -> Result<(), Mistake> {
    for (index, source) in sources.iter().enumerate() {
        let index = index.to_string();
        let wrong = |message| Err(Mistake::at(&[at, &[&index]].concat(), message));
        let is_below = Path::new(source).components().all(|part| matches!(part, Component::Normal(_)));
        if !is_below {
            return wrong(format!("the source `{source}` is not a path below corpus/programs"));
        }
        if !folder.join(source).is_file() {
            return wrong(format!("there is no source `{source}`"));
        }
    }
    Ok(())
}

/// Returns the libraries of a program, each after those that it needs.
fn sorted(
    mut settings: BTreeMap<String, LibrarySettings>,
    folder: &Path,
) -> Result<Vec<ProgramLibrary>, Mistake> {
    let names: Vec<String> = settings.keys().cloned().collect();
    for (name, library) in &settings {
        check_part("library", name, &library.sources, folder)?;
        let is_missing = |(_, needed): &(usize, &String)| !names.contains(needed);
        if let Some((index, needed)) = library.needed.iter().enumerate().find(is_missing) {
            let message = format!("the library `{name}` needs `{needed}`, which the program does not have");
            return Err(Mistake::at(&["libraries", name, "needed", &index.to_string()], message));
        }
    }
    let mut sorted: Vec<ProgramLibrary> = Vec::new();
    while !settings.is_empty() {
        let is_made = |needed: &String| sorted.iter().any(|library| library.name == *needed);
        let next = settings.iter().find(|(_, library)| library.needed.iter().all(is_made));
        let Some(name) = next.map(|(name, _)| name.clone()) else {
            let message = "libraries need each other in a circle: leave out one `needed`".to_owned();
            return Err(Mistake::at(&["libraries"], message));
        };
        if let Some(LibrarySettings { sources, cflags, ldflags, needed }) = settings.remove(&name) {
            sorted.push(ProgramLibrary { name, sources, cflags, ldflags, needed });
        }
    }
    Ok(sorted)
}

/// Returns the functions of the runtime, and the source of each:
/// `runtime/<function>.c` or `.S`, relative to `programs_dir`.
pub(super) fn runtime_functions(programs_dir: &Path) -> Result<BTreeMap<String, String>, Error> {
    let mut functions = BTreeMap::new();

    for path in files_of(&programs_dir.join(RUNTIME))? {
        let Ok(source) = path.strip_prefix(programs_dir) else { continue };
        if let (Some("c" | "S"), Some(function), Some(source)) =
            (path.extension().and_then(OsStr::to_str), stem(&path), source.to_str())
        {
            functions.insert(function.to_owned(), source.to_owned());
        }
    }
    Ok(functions)
}

/// Returns the files directly inside a folder, sorted.
pub(super) fn files_of(folder: &Path) -> Result<Vec<PathBuf>, Error> {
    let read = |source| Error::Read { path: folder.to_path_buf(), source };
    let mut files = Vec::new();

    for entry in std::fs::read_dir(folder).map_err(read)? {
        let path = entry.map_err(read)?.path();
        if path.is_file() {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

/// Returns a file's name without the extension.
pub(super) fn stem(path: &Path) -> Option<&str> {
    path.file_stem().and_then(OsStr::to_str)
}
