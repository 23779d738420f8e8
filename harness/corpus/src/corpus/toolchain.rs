//! Toolchains: how each is obtained and invoked.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use sframe_engine::{Abi, Version};
use sframe_judge::vocabulary::suggest::{closest, hint, unknown};

use super::program::{files_of, stem};
use super::{Derive, Error, Program, Properties, VARIANTS, Variant};
use crate::yaml::{self, Source};

/// What is wrong with a definition: where, by keys and indices, and what.
type Mistake = (Vec<String>, String);

/// A place in a definition.
fn at(keys: &[&str]) -> Vec<String> {
    keys.iter().map(|key| (*key).to_owned()).collect()
}

/// The minimum length of a reason, in characters.
const SHORTEST_REASON: usize = 20;

/// One release of compiler, assembler and linker: a file of `corpus/toolchains`, or
/// one that is given to `matrix`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, expecting = "the definition of a toolchain, which is a mapping")]
#[non_exhaustive]
pub struct Toolchain {
    /// Its name, which is also the name of the file: `gnu-2.44`.
    pub name: String,
    /// A one-line description.
    pub summary: String,
    /// The version of SFrame that it writes. Required for toolchains of the corpus;
    /// otherwise the default is the version in their files.
    pub sframe_version: Option<u8>,
    /// Its declared properties, by which specs select its builds.
    #[serde(default)]
    pub properties: Properties,
    /// The toolchain of the corpus that it is compared with. By default, the first
    /// one that compiles and writes the same version.
    pub reference: Option<String>,
    /// Where its programs are. Without a root, those of this machine are used.
    pub root: Option<Root>,
    /// Folders to search first for programs. Relative paths start at the folder of
    /// the definition.
    #[serde(default)]
    pub path: Vec<PathBuf>,
    /// Words before each command, such as `[docker, run, ...]`. `{sources}` is the
    /// folder to run it in, `{work}` its parent folder, where output goes;
    /// `{command}` is the whole command for a shell. Without it, the command comes
    /// last.
    #[serde(default)]
    pub wrapper: Vec<String>,
    /// Flags that make the assembler write SFrame.
    #[serde(default)]
    pub sframe_flags: Vec<String>,
    /// Flags for assembly sources alone.
    #[serde(default)]
    pub assembly_flags: Vec<String>,
    /// Flags of every command, for all ABIs.
    #[serde(default)]
    pub flags: Vec<String>,
    /// Flags of programs that its compiler neither knows nor needs.
    #[serde(default)]
    pub needless_flags: Vec<String>,
    /// Whether all C and assembly sources of a file are compiled as one
    /// translation unit, because the linker does not merge `.sframe` sections.
    #[serde(default)]
    pub one_unit: bool,
    /// How to compile for each ABI.
    #[serde(default)]
    pub abis: BTreeMap<Abi, AbiTools>,
    /// Builds that it does not make.
    #[serde(default)]
    pub excluded: Vec<Excluded>,
    /// How to derive builds from those of another toolchain, instead of compiling.
    pub derive: Option<Derive>,
}

/// Builds that a toolchain does not make: those that match all given keys.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Excluded {
    /// The program; any if `None`.
    pub program: Option<String>,
    /// The variant; any if `None`.
    pub variant: Option<String>,
    /// The ABI; any if `None`.
    pub abi: Option<Abi>,
    /// The reason.
    pub reason: String,
}

impl Excluded {
    fn names(&self, program: &str, variant: &str, abi: Abi) -> bool {
        let is = |key: &Option<String>, value: &str| key.as_ref().is_none_or(|key| key == value);
        is(&self.program, program) && is(&self.variant, variant) && self.abi.is_none_or(|key| key == abi)
    }

    /// Returns what is wrong with it, except for the program's name, and the key that is.
    fn mistake(&self) -> Option<(&'static str, String)> {
        let is_unknown = |name: &String| Variant::named(name).is_none();
        if (&self.program, &self.variant, &self.abi) == (&None, &None, &None) {
            return Some(("reason", "an exclusion names no program, variant or ABI".to_owned()));
        }
        if let Some(name) = self.variant.as_ref().filter(|name| is_unknown(name)) {
            let names = VARIANTS.iter().map(|variant| variant.name);
            return Some(("variant", unknown("variant", name, names)));
        }
        (self.reason.trim().len() < SHORTEST_REASON).then(|| {
            ("reason", format!("an exclusion needs a reason of {SHORTEST_REASON} characters or more"))
        })
    }
}

/// A folder tree with a complete toolchain, into which its commands change their
/// root: an existing one, or one that is made from Debian packages.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Root {
    /// The folder. A relative path starts at the folder of the definition.
    pub folder: Option<PathBuf>,
    /// The Debian release.
    pub suite: Option<String>,
    /// The packages in addition to a minimal system.
    #[serde(default)]
    pub packages: Vec<String>,
}

/// How a toolchain compiles for one ABI.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct AbiTools {
    /// The compiler driver, which also assembles and links.
    pub compiler: String,
    /// The Rust compiler.
    pub rust: Option<String>,
    /// The assembler. If it is a path, the compiler is made to call it (`-B`); a
    /// name is only asked for its version.
    pub assembler: Option<String>,
    /// The linker, likewise. It is asked for its version if no assembler is named,
    /// since the compiler may have an integrated one.
    pub linker: Option<String>,
    /// Flags that select the ABI.
    #[serde(default)]
    pub flags: Vec<String>,
}

impl AbiTools {
    /// Returns the tools that the compiler is made to call, with the names that it
    /// uses for them.
    pub(super) fn chosen(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let tools = [("as", self.assembler.as_deref()), ("ld", self.linker.as_deref())];
        tools.into_iter().filter_map(|(name, tool)| Some((name, tool.filter(|tool| tool.contains('/'))?)))
    }
}

/// What may be in braces in a word of a wrapper.
const PLACEHOLDERS: [&str; 3] = ["sources", "work", "command"];

/// Returns what is wrong with a word in braces that is not one of these, or with text in braces that resembles one. Other
/// text may be for the shell or a tool, such as `${HOME}` and `{{.ID}}`.
fn mistaken_placeholder(word: &str) -> Option<String> {
    let is_name = |name: &&str| !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric());
    let whole = word.strip_prefix('{').and_then(|word| word.strip_suffix('}')).filter(is_name);
    if let Some(name) = whole.filter(|name| !PLACEHOLDERS.contains(name)) {
        let meant = closest(name, PLACEHOLDERS).map_or_else(
            || format!("there are {}", PLACEHOLDERS.map(|name| format!("`{{{name}}}`")).join(", ")),
            |meant| format!("did you mean `{{{meant}}}`?"),
        );
        return Some(format!("`{word}` in `wrapper` is unknown; {meant}"));
    }
    let opened = word.match_indices('{').filter(|(at, _)| !word[..*at].ends_with(['$', '{']));
    let names = opened.filter_map(|(at, _)| word[at + 1..].split_once('}')).map(|(name, _)| name);
    names.filter(|name| name.chars().all(|c| c.is_ascii_alphanumeric())).find_map(|name| {
        let meant = closest(name, PLACEHOLDERS).filter(|meant| *meant != name)?;
        Some(format!("`{{{name}}}` in `wrapper` is unknown; did you mean `{{{meant}}}`?"))
    })
}

impl Toolchain {
    /// Reads one toolchain.
    ///
    /// # Errors
    ///
    /// The file cannot be read, has unknown keys, or names things that do not exist.
    pub fn load(path: &Path) -> Result<Self, Error> {
        let source = Source::read(path)?;
        let mut toolchain: Self = source.parse()?;
        let invalid =
            |(at, message): Mistake| Error::Yaml(source.error_at(source.span(&at), message, None::<&str>));
        let of_key = |key: &str, message: String| invalid((vec![key.to_owned()], message));

        if Some(toolchain.name.as_str()) != stem(path) {
            let message =
                format!("the toolchain's name is `{}`, which is not the name of the file", toolchain.name);
            return Err(of_key("name", message));
        }
        if !toolchain.name.chars().all(|c| c.is_ascii_alphanumeric() || "_.+-".contains(c)) {
            let message = "a toolchain's name has letters, digits, and `_.+-` only";
            return Err(of_key("name", message.to_owned()));
        }
        if let Some(version) =
            toolchain.sframe_version.filter(|version| Version::from_number(*version).is_none())
        {
            let message = format!("SFrame has no version {version}; it has 1, 2 and 3");
            return Err(of_key("sframe_version", message));
        }
        let compiles = toolchain.root.is_some() || !toolchain.flags.is_empty() || !toolchain.abis.is_empty();
        if compiles == toolchain.derive.is_some() {
            let message = "a toolchain has either `abis` to compile for, or `derive`";
            return Err(of_key("derive", message.to_owned()));
        }
        if compiles && toolchain.abis.is_empty() {
            return Err(of_key("abis", "a toolchain that compiles needs `abis`".to_owned()));
        }
        if toolchain.derive.is_some() && toolchain.properties != Properties::default() {
            let message = "a derived toolchain has the `properties` of the one that it is made of";
            return Err(of_key("properties", message.to_owned()));
        }
        if toolchain.one_unit && !toolchain.assembly_flags.is_empty() {
            let message = "with `one_unit`, assembly is no source of its own that could have flags";
            return Err(of_key("assembly_flags", message.to_owned()));
        }
        if let Some(message) = toolchain.properties.mistake(toolchain.sframe_version) {
            return Err(invalid((at(&["properties", "can"]), message)));
        }
        for (index, excluded) in toolchain.excluded.iter().enumerate() {
            if let Some((key, message)) = excluded.mistake() {
                return Err(invalid((at(&["excluded", &index.to_string(), key]), message)));
            }
        }
        toolchain.locate(path.parent().unwrap_or(Path::new(""))).map_err(invalid)?;
        Ok(toolchain)
    }

    /// Makes paths that are relative to the folder of the definition absolute, and
    /// checks that they exist.
    fn locate(&mut self, folder: &Path) -> Result<(), Mistake> {
        let absolute = |path: &Path, is_there: fn(&Path) -> bool| {
            let joined = std::path::absolute(folder.join(path)).unwrap_or_else(|_| folder.join(path));
            if is_there(&joined) { Ok(joined) } else { Err(format!("{} is not there", joined.display())) }
        };
        let relative = |word: &str| word.contains('/') && Path::new(word).is_relative();
        if self.root.is_some() && !self.wrapper.is_empty() {
            return Err((at(&["wrapper"]), "a toolchain has either `root` or `wrapper`".to_owned()));
        }
        match &mut self.root {
            Some(Root { folder: Some(_), suite: Some(_), .. } | Root { folder: None, suite: None, .. }) => {
                let message = "`root` has either `folder`, or `suite` and `packages`";
                return Err((at(&["root"]), message.to_owned()));
            }
            Some(Root { folder: Some(root), .. }) => {
                let wrong = |message: String| (at(&["root", "folder"]), message);
                *root = absolute(root, Path::is_dir).map_err(wrong)?;
                if !root.join("usr/bin").is_dir() {
                    return Err(wrong(format!("there is no `usr/bin` in {}", root.display())));
                }
            }
            Some(_) | None => {}
        }
        for (index, word) in self.wrapper.iter().enumerate() {
            if let Some(message) = mistaken_placeholder(word) {
                return Err((at(&["wrapper", &index.to_string()]), message));
            }
        }
        if let Some(first) = self.wrapper.first_mut().filter(|first| relative(first)) {
            let found = absolute(Path::new(first), Path::is_file);
            *first = found.map_err(|message| (at(&["wrapper", "0"]), message))?.display().to_string();
        }
        // What is visible inside a root or wrapper may not be visible here.
        let is_hidden = self.root.is_some() || !self.wrapper.is_empty();
        for (index, path) in self.path.iter_mut().enumerate() {
            let wrong = |message: String| (at(&["path", &index.to_string()]), message);
            match (is_hidden, path.is_relative()) {
                (true, true) => {
                    return Err(wrong(format!("{} is not absolute, as in a root", path.display())));
                }
                (true, false) => {}
                (false, _) => *path = absolute(path, Path::is_dir).map_err(wrong)?,
            }
        }
        for (abi, tools) in &mut self.abis {
            let AbiTools { compiler, rust, assembler, linker, .. } = tools;
            let optional = [("rust", rust), ("assembler", assembler), ("linker", linker)];
            let optional = optional.into_iter().filter_map(|(key, tool)| Some((key, tool.as_mut()?)));
            let all = std::iter::once(("compiler", compiler)).chain(optional);
            let all: Vec<_> = all.collect();
            if let Some((key, _)) = all.iter().find(|(_, tool)| tool.trim().is_empty()) {
                let message = format!("this `{key}` has no name");
                return Err((at(&["abis", abi.name(), key]), message));
            }
            let all = all.into_iter();
            for (key, tool) in all.filter(|(_, tool)| tool.contains('/')) {
                let wrong = |message: String| (at(&["abis", abi.name(), key]), message);
                if is_hidden && relative(tool) {
                    return Err(wrong(format!("{tool} is neither a name nor an absolute path")));
                }
                if is_hidden {
                    continue;
                }
                *tool = absolute(Path::new(tool), Path::is_file).map_err(wrong)?.display().to_string();
            }
        }
        Ok(())
    }

    /// Reads a toolchain of a corpus.
    ///
    /// # Errors
    ///
    /// See [`Toolchain::load`]. It is also an error if the SFrame version, the
    /// flags for it, or a property is missing.
    pub(super) fn load_of_corpus(path: &Path) -> Result<Self, Error> {
        let toolchain = Self::load(path)?;
        let compiles = toolchain.derive.is_none();
        let missing = if toolchain.sframe_version.is_none() {
            "`sframe_version`".to_owned()
        } else if compiles && toolchain.sframe_flags.is_empty() {
            "`sframe_flags`".to_owned()
        } else if let Some(key) = toolchain.properties.missing().filter(|_| compiles) {
            format!("`{key}` among its `properties`")
        } else {
            return Ok(toolchain);
        };
        let message = format!("a toolchain of the corpus needs {missing}");
        Err(Error::Invalid { path: path.to_path_buf(), message })
    }

    /// Reads all toolchains of a corpus, sorted by name.
    ///
    /// # Errors
    ///
    /// A folder cannot be read, or a definition is invalid or incomplete.
    pub fn load_all(corpus_dir: &Path) -> Result<Vec<Self>, Error> {
        let files = files_of(&corpus_dir.join("toolchains"))?;
        let yaml = files.iter().filter(|path| path.extension().is_some_and(|ext| ext == "yaml"));
        yaml.map(|path| Self::load_of_corpus(path)).collect()
    }

    /// Returns where its root is, if it has one.
    pub(super) fn root_dir(&self, toolchains_dir: &Path) -> Result<Option<PathBuf>, Error> {
        let Some(root) = &self.root else { return Ok(None) };
        let path = root.folder.clone().unwrap_or_else(|| toolchains_dir.join(&self.name));
        if path.join("usr/bin").is_dir() {
            Ok(Some(path))
        } else {
            Err(Error::NoRoot { toolchain: self.name.clone(), path })
        }
    }

    /// Returns the ABIs and variants in which this toolchain compiles `program`.
    pub(super) fn builds_of<'a>(
        &'a self,
        program: &'a Program,
    ) -> impl Iterator<Item = (Abi, &'static Variant)> {
        self.candidates(program).filter(|(abi, variant)| self.exclusion(program, variant, *abi).is_none())
    }

    /// The ABIs and variants to build a program for, including those that the toolchain excludes.
    pub(super) fn candidates<'a>(
        &'a self,
        program: &'a Program,
    ) -> impl Iterator<Item = (Abi, &'static Variant)> {
        let abis = self.abis.keys().copied().filter(|abi| program.targets.contains(abi));
        abis.flat_map(|abi| program.variants.iter().map(move |&variant| (abi, variant)))
            .filter(|(abi, variant)| variant.abis.contains(abi))
    }

    /// Whether it makes no builds for an ABI at all: only pages of faults have programs for that.
    #[must_use]
    pub fn is_excluded(&self, abi: Abi) -> bool {
        let only_abi =
            |entry: &Excluded| (&entry.program, &entry.variant, entry.abi) == (&None, &None, Some(abi));
        self.excluded.iter().any(only_abi)
    }

    /// Returns why it does not make a build.
    pub(super) fn exclusion(&self, program: &Program, variant: &Variant, abi: Abi) -> Option<&str> {
        let excluded = self.excluded.iter().find(|entry| entry.names(&program.name, variant.name, abi));
        excluded.map(|excluded| excluded.reason.as_str())
    }

    /// Checks that everything excluded is among `programs`. `path` is the path of
    /// the definition.
    pub(super) fn check_excluded(&self, path: &Path, programs: &[Program]) -> Result<(), Error> {
        for (index, excluded) in self.excluded.iter().enumerate() {
            let Some(name) = &excluded.program else { continue };
            if programs.iter().any(|program| program.name == *name) {
                continue;
            }
            let names = programs.iter().map(|program| program.name.as_str());
            let message = format!("it excludes `{name}`, which is no program{}", hint(name, names));
            let keys = ["excluded", &index.to_string(), "program"];
            return Err(yaml::mistake_in(path, &keys, message).into());
        }
        Ok(())
    }

    /// Returns the names of the toolchains that a corpus has definitions of, right or wrong.
    #[must_use]
    pub fn names_in(corpus_dir: &Path) -> Vec<String> {
        let files = files_of(&corpus_dir.join("toolchains")).unwrap_or_default();
        let yaml = files.iter().filter(|path| path.extension().is_some_and(|ext| ext == "yaml"));
        yaml.filter_map(|path| stem(path).map(str::to_owned)).collect()
    }

    /// Returns where a corpus keeps the toolchain of that name.
    #[must_use]
    pub fn path_in(corpus_dir: &Path, name: &str) -> PathBuf {
        corpus_dir.join("toolchains").join(format!("{name}.yaml"))
    }
}
