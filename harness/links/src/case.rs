//! Cases: `corpus/links/*.yaml`.

use std::collections::{BTreeMap, BTreeSet};
use std::mem::offset_of;
use std::path::{Path, PathBuf};

use object::elf::SectionHeader64;
use object::read::archive::ArchiveFile;
use object::read::elf::{ElfFile64, FileHeader as _};
use object::{Endianness, Object as _, ObjectSection as _};
use schemars::JsonSchema;
use serde::Deserialize;
use sframe_corpus::corpus::Toolchain;
use sframe_corpus::spec::text;
use sframe_corpus::yaml::{Error, Source};
use sframe_engine::Abi;
use sframe_inspect::command::Failure;
use sframe_judge::vocabulary::named;
use sframe_judge::vocabulary::suggest::closest;

use crate::functions::Functions;
use crate::options;
use crate::page::{LinkPage, LinkPages};

named! {
    /// A kind of tool that handles `.sframe`.
    pub enum Tool, "tool" {
        /// A linker.
        Ld = "ld",
        /// Removes symbols and sections.
        Strip = "strip",
        /// Copies and changes files.
        Objcopy = "objcopy",
        /// Changes what the dynamic linker reads.
        Patchelf = "patchelf",
        /// Moves the code of a linked file.
        Bolt = "bolt",
    }
}

named! {
    /// What may come out of a case.
    pub enum Expected, "outcome" {
        /// A file, with all rows.
        Linked = "linked",
        /// A file with all rows, or an error with a status that is not 0.
        LinkedOrRefused = "linked-or-refused",
        /// An error with a status that is not 0: no output can be right.
        Refused = "refused",
        /// Some of the input is garbage. What comes out describes no function falsely, and where rows are lost, a message
        /// names the object or its section. All rows may come out right without a word.
        NoHarm = "no-harm",
        /// A file without `.sframe`, or with one that describes nothing.
        NoRows = "no-rows",
    }
}

/// A case.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LinkCase {
    /// Its name: that of its file.
    #[serde(skip)]
    pub name: String,
    /// What it is about, and why the output must be so.
    pub summary: String,
    /// The ABIs; all if left out.
    #[serde(default = "all_abis")]
    pub abis: Vec<Abi>,
    /// The versions of the objects' sections; all if left out.
    #[serde(default = "all_versions")]
    pub versions: Vec<u8>,
    /// Objects with changed sections, by their names.
    #[serde(default)]
    pub patched: BTreeMap<String, Patch>,
    /// Objects that are generated for each try, by their names.
    #[serde(default)]
    pub generated: BTreeMap<String, Generated>,
    /// The commands. The last one's output is judged.
    pub steps: Vec<Step>,
    /// Functions of the objects that the commands remove.
    #[serde(default)]
    pub dead: BTreeSet<String>,
    /// Functions without rows, although an object that also defines them has some.
    #[serde(default)]
    pub without_rows: BTreeSet<String>,
    /// What may come out.
    #[serde(default = "linked")]
    pub expected: Expected,
    /// Whether the segment of the output is to end where the section does.
    #[serde(default)]
    pub exact_segment: bool,
    /// Whether the output is a program that can be run.
    #[serde(default)]
    pub runs: bool,
}

fn all_abis() -> Vec<Abi> {
    Abi::ALL.to_vec()
}

fn all_versions() -> Vec<u8> {
    vec![1, 2, 3]
}

const fn linked() -> Expected {
    Expected::Linked
}

/// An object whose `.sframe` is changed.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Patch {
    /// The object.
    pub of: String,
    /// How many bytes of the section are left; all if left out.
    pub size: Option<u64>,
    /// Bytes by their offsets in the section.
    #[serde(default)]
    pub bytes: BTreeMap<u64, u8>,
}

impl Patch {
    /// Changes the `.sframe` section of an object. `None` if it has none, or it ends before what is changed.
    pub(super) fn apply(&self, object: &mut [u8]) -> Option<()> {
        let elf = ElfFile64::<Endianness>::parse(&*object).ok()?;
        let section = elf.section_by_name(".sframe")?;
        let (start, size) = section.file_range()?;
        let start = usize::try_from(start).ok()?;
        let table = usize::try_from(elf.elf_header().e_shoff(elf.endian())).ok()?;
        let header = table + section.index().0 * size_of::<SectionHeader64<Endianness>>();
        let size_at = header + offset_of!(SectionHeader64<Endianness>, sh_size);
        let is_little = elf.is_little_endian();
        if self.size.is_some_and(|left| left > size) {
            return None;
        }
        for (offset, byte) in &self.bytes {
            let offset = (*offset < size).then_some(*offset)?;
            *object.get_mut(start + usize::try_from(offset).ok()?)? = *byte;
        }
        if let Some(size) = self.size {
            let bytes = if is_little { size.to_le_bytes() } else { size.to_be_bytes() };
            object.get_mut(size_at..size_at + 8)?.copy_from_slice(&bytes);
        }
        Some(())
    }
}

/// An object with many functions, too large to be committed. They are called `many_functions_0` and so on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Generated {
    /// How many.
    pub functions: u32,
}

/// A command.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Step {
    /// What it is of; a linker if left out.
    #[serde(default = "ld")]
    pub tool: Tool,
    /// For a linker, options in their neutral form; for others, their own.
    #[serde(default)]
    pub options: Vec<String>,
    /// Objects, by the names of their sources, or outputs of earlier commands. `plain:NAME` is the object without
    /// `.sframe`, `v2:NAME` that of version 2, `aarch64:NAME` that of another ABI.
    pub of: Vec<String>,
    /// The name of its output.
    #[serde(default = "output", deserialize_with = "text")]
    pub to: String,
}

const fn ld() -> Tool {
    Tool::Ld
}

fn output() -> String {
    "output".to_owned()
}

/// An input of a command.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Input {
    /// What an earlier command made.
    Made(String),
    /// An object: the folder below `objects` that it is in, its name there, and the patch.
    Object { folder: Folder, file: String, patch: Option<String> },
    /// An object that is generated, and its name.
    Generated(Generated, String),
}

/// A folder of objects.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Folder {
    /// Of the version and the ABI that are tried.
    Own,
    /// Without `.sframe`.
    Plain,
    /// Of another version.
    Version(u8),
    /// Of another ABI.
    Abi(Abi),
}

impl Step {
    /// Its inputs.
    pub(super) fn inputs(&self, case: &LinkCase) -> Vec<Input> {
        self.of.iter().map(|name| case.input(name)).collect()
    }
}

impl LinkCase {
    /// The tool whose output is judged.
    pub(super) fn last_tool(&self) -> Tool {
        self.steps.last().map_or(Tool::Ld, |step| step.tool)
    }

    fn input(&self, name: &str) -> Input {
        if self.steps.iter().any(|step| step.to == name) {
            return Input::Made(name.to_owned());
        }
        if let Some(generated) = self.generated.get(name) {
            return Input::Generated(*generated, name.to_owned());
        }
        let whole = name;
        let (folder, name) = match name.split_once(':') {
            Some(("plain", name)) => (Folder::Plain, name),
            Some((folder, name)) => match folder.strip_prefix('v').and_then(|version| version.parse().ok()) {
                Some(version) => (Folder::Version(version), name),
                None => folder.parse().map_or((Folder::Own, whole), |abi| (Folder::Abi(abi), name)),
            },
            None => (Folder::Own, name),
        };
        let patch = self.patched.get(name).map(|patch| (name.to_owned(), patch.of.clone()));
        let (patch, name) = patch.map_or((None, name.to_owned()), |(patch, of)| (Some(patch), of));
        let has_ending = ["linked", "merged.o", "archive.a", "library.so"].contains(&&*name);
        let file = if has_ending { name } else { format!("{name}.o") };
        Input::Object { folder, file, patch }
    }

    /// The inputs whose functions the last command's output has, in the order in which they are linked: libraries stay
    /// beside what is linked with them.
    pub(super) fn parts(&self) -> Vec<Input> {
        let mut parts = Vec::new();
        if let Some(last) = self.steps.last() {
            self.add_parts(last, &mut parts);
        }
        parts
    }

    fn add_parts(&self, step: &Step, parts: &mut Vec<Input>) {
        for input in step.inputs(self) {
            let Input::Made(name) = &input else {
                if !parts.contains(&input) {
                    parts.push(input);
                }
                continue;
            };
            let is_merged =
                |from: &&Step| from.to == *name && !from.options.iter().any(|option| option == "shared");
            let earlier = self.steps.iter().take_while(|other| !std::ptr::eq(*other, step));
            if let Some(from) = earlier.into_iter().find(is_merged) {
                self.add_parts(from, parts);
            }
        }
    }

    /// Whether it is tried with such objects.
    #[must_use]
    pub fn has(&self, abi: Abi, version: u8) -> bool {
        self.abis.contains(&abi) && self.versions.contains(&version)
    }
}

/// Why the cases can't be used.
#[derive(Debug, thiserror::Error)]
pub enum CaseError {
    /// The folder can't be read.
    #[error("{}: {source}", path.display())]
    Folder {
        /// The folder.
        path: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
    /// A file is malformed, or what it says is not so.
    #[error(transparent)]
    File(#[from] Error),
}

impl From<CaseError> for Failure {
    fn from(error: CaseError) -> Self {
        match error {
            CaseError::File(error) => error.into(),
            folder @ CaseError::Folder { .. } => Self::unusable(format!("error: {folder}")),
        }
    }
}

/// All cases, and where their objects are.
#[derive(Clone, Debug)]
pub struct LinkCases {
    /// By their names.
    pub cases: Vec<LinkCase>,
    /// The pages of faults that they show.
    pub pages: LinkPages,
    /// `corpus/links`.
    pub(super) folder: PathBuf,
    /// The objects, by the names of their archives without an ending, and their own: `v3/amd64/two.o`.
    objects: BTreeMap<String, Vec<u8>>,
}

/// Reads all objects: each `objects/VERSION/ABI.a` has some.
fn read_objects(folder: &Path) -> Result<BTreeMap<String, Vec<u8>>, CaseError> {
    let below = |folder: &Path| {
        let unread = |source| CaseError::Folder { path: folder.to_owned(), source };
        let entries = std::fs::read_dir(folder).map_err(unread)?;
        entries.map(|entry| Ok(entry.map_err(unread)?.path())).collect::<Result<Vec<_>, CaseError>>()
    };
    let mut objects = BTreeMap::new();
    for version in below(&folder.join("objects"))? {
        for path in below(&version)? {
            let unread = |source| CaseError::Folder { path: path.clone(), source };
            let malformed = |error: object::Error| unread(std::io::Error::other(error));
            let bytes = std::fs::read(&path).map_err(unread)?;
            let [version, abi] =
                [&version, &path].map(|path| path.file_stem().unwrap_or_default().to_string_lossy());
            let archive = ArchiveFile::parse(&*bytes).map_err(malformed)?;
            for member in archive.members() {
                let member = member.map_err(malformed)?;
                let name = format!("{version}/{abi}/{}", String::from_utf8_lossy(member.name()));
                objects.insert(name, member.data(&*bytes).map_err(malformed)?.to_vec());
            }
        }
    }
    Ok(objects)
}

impl LinkCases {
    /// Reads all cases of a folder.
    ///
    /// # Errors
    /// A file can't be read, is malformed, or names what does not exist.
    pub fn load(folder: &Path) -> Result<Self, CaseError> {
        let unread = |source| CaseError::Folder { path: folder.to_owned(), source };
        let (mut cases, mut sources, objects) = (Vec::new(), Vec::new(), read_objects(folder)?);
        for entry in std::fs::read_dir(folder).map_err(unread)? {
            let path = entry.map_err(unread)?.path();
            if path.extension().is_some_and(|extension| extension == "yaml") {
                let (case, source) = read(&path, folder, &objects)?;
                cases.push(case);
                sources.push(source);
            }
        }
        let all = Self { cases, pages: LinkPage::load(folder)?, folder: folder.to_owned(), objects };
        for (case, source) in all.cases.iter().zip(&sources) {
            all.hold_objects(case, source)?;
            all.hold_patches(case, source)?;
            all.hold_functions(case, source)?;
        }
        let mut all = all;
        all.cases.sort_by(|one, other| one.name.cmp(&other.name));
        Ok(all)
    }

    /// Demands that there are the objects that a case names, for each ABI and version that it is tried with.
    fn hold_objects(&self, case: &LinkCase, source: &Source) -> Result<(), Error> {
        let tried =
            case.abis.iter().flat_map(|abi| case.versions.iter().map(move |version| (*abi, *version)));
        for (abi, version) in tried.filter(|(abi, version)| self.has_objects(*abi, *version)) {
            for (number, step) in case.steps.iter().enumerate() {
                for (index, (name, input)) in step.of.iter().zip(step.inputs(case)).enumerate() {
                    let Input::Object { folder, file, .. } = input else { continue };
                    if self.object(&Self::name_of(&folder, &file, abi, version)).is_err() {
                        let span = source.span(&["steps", &number.to_string(), "of", &index.to_string()]);
                        let message = format!("there is no object `{name}` for {abi}, version {version}");
                        let help = "name the ABIs and versions that have it: `abis`, `versions`";
                        return Err(source.error_at(span, message, Some(help.to_owned())));
                    }
                }
            }
        }
        Ok(())
    }

    /// Demands that sections have the bytes that a case changes.
    fn hold_patches(&self, case: &LinkCase, source: &Source) -> Result<(), Error> {
        for (name, patch) in &case.patched {
            let objects =
                case.abis.iter().flat_map(|abi| case.versions.iter().map(move |version| (*abi, *version)));
            for (abi, version) in objects {
                let object = Self::name_of(&Folder::Own, &format!("{}.o", patch.of), abi, version);
                // Not all assemblers write all versions for all ABIs.
                let Ok(bytes) = self.object(&object) else { continue };
                if patch.apply(&mut bytes.to_vec()).is_none() {
                    let message = format!("{object}: its .sframe has no such bytes");
                    return Err(source.error_at(source.span(&["patched", name]), message, None::<String>));
                }
            }
        }
        Ok(())
    }

    /// Demands that objects have the functions that a case names.
    fn hold_functions(&self, case: &LinkCase, source: &Source) -> Result<(), Error> {
        let named = [("dead", &case.dead), ("without_rows", &case.without_rows)];
        if named.iter().all(|(_, names)| names.is_empty()) {
            return Ok(());
        }
        let (Some(abi), Some(version)) = (case.abis.first(), case.versions.last()) else { return Ok(()) };
        let mut defined = BTreeSet::new();
        for input in case.steps.iter().flat_map(|step| step.inputs(case)) {
            let Input::Object { folder, file, .. } = input else { continue };
            let object = self.object(&Self::name_of(&folder, &file, *abi, *version));
            // What is not there is told where it is used.
            let functions = object.ok().and_then(|bytes| Functions::read_all(bytes).ok());
            let symbols = functions.into_iter().flatten().flat_map(|file| file.symbols);
            defined.extend(symbols.map(|symbol| symbol.name));
        }
        for (key, names) in named {
            if let Some(unknown) = names.iter().find(|name| !defined.contains(*name)) {
                let message = format!("no object has the function `{unknown}`");
                let near = closest(unknown, defined.iter().map(String::as_str));
                let help = near.map(|near| format!("did you mean `{near}`?"));
                return Err(source.error_at(source.span(&[key]), message, help));
            }
        }
        Ok(())
    }

    /// The names of the toolchains of the corpus that they are in.
    pub(super) fn toolchains(&self) -> Vec<String> {
        self.folder.parent().map(Toolchain::names_in).unwrap_or_default()
    }

    /// Whether there are objects: not all assemblers write all versions for all ABIs.
    pub(super) fn has_objects(&self, abi: Abi, version: u8) -> bool {
        let set = format!("v{version}/{abi}/");
        self.objects.keys().any(|name| name.starts_with(&set))
    }

    /// The names of all objects.
    pub fn objects(&self) -> impl Iterator<Item = &str> {
        self.objects.keys().map(String::as_str)
    }

    /// An object; an error if it does not exist.
    pub(super) fn object(&self, name: &str) -> Result<&[u8], String> {
        let object = self.objects.get(name).map(Vec::as_slice);
        object.ok_or_else(|| format!("there is no object {name}"))
    }

    /// The name of an object.
    pub(super) fn name_of(folder: &Folder, file: &str, abi: Abi, version: u8) -> String {
        let folder = match folder {
            Folder::Own => format!("v{version}/{abi}"),
            Folder::Plain => format!("plain/{abi}"),
            Folder::Version(version) => format!("v{version}/{abi}"),
            Folder::Abi(abi) => format!("v{version}/{abi}"),
        };
        format!("{folder}/{file}")
    }
}

/// Checks the commands of a case, and what they name.
fn check_steps(
    case: &LinkCase,
    source: &Source,
    folder: &Path,
    objects: &BTreeMap<String, Vec<u8>>,
) -> Result<(), Error> {
    for (index, step) in case.steps.iter().enumerate() {
        let number = index.to_string();
        let at = |key| source.span(&["steps", &number, key]);
        let item = |key, index: usize| source.span(&["steps", &number, key, &index.to_string()]);
        if step.to.is_empty() || step.to.contains('/') {
            return Err(source.error_at(
                at("to"),
                "a name of a file without folders is expected",
                None::<String>,
            ));
        }
        if step.of.is_empty() {
            return Err(source.error_at(
                at("of"),
                "the command is of nothing: name an object",
                None::<String>,
            ));
        }
        if case.steps[..index].iter().any(|other| other.to == step.to) {
            let message =
                format!("an earlier command makes `{}`: give this one's output another name", step.to);
            return Err(source.error_at(at("to"), message, None::<String>));
        }
        let is_made = |name: &String| case.steps[..index].iter().any(|other| other.to == *name);
        let is_later = |name: &&String| matches!(case.input(name), Input::Made(_)) && !is_made(name);
        if let Some((later, name)) = step.of.iter().enumerate().find(|(_, name)| is_later(name)) {
            let message = format!("no earlier command makes `{name}`");
            return Err(source.error_at(item("of", later), message, None::<String>));
        }
        for (index, option) in step.options.iter().enumerate() {
            let Some(script) = option.strip_prefix("script=") else { continue };
            if script.contains('/') || !folder.join("sources").join(script).is_file() {
                let message = format!("there is no script `{script}` in sources");
                return Err(source.error_at(item("options", index), message, None::<String>));
            }
        }
        let is_unknown = |option: &String| options::of_linker(option, Abi::Amd64).is_none();
        if step.tool == Tool::Ld
            && let Some(unknown) = step.options.iter().position(is_unknown)
        {
            let message = format!("there is no option `{}`", step.options[unknown]);
            let help = format!("the options of linkers are {}", options::NAMES.join(", "));
            return Err(source.error_at(item("options", unknown), message, Some(help)));
        }
        for (index, (name, input)) in step.of.iter().zip(step.inputs(case)).enumerate() {
            let Input::Object { file, folder: from, .. } = &input else { continue };
            if matches!(from, Folder::Version(version) if !(1..=3).contains(version)) {
                let message = format!("`{name}` is of a version that there is not: 1, 2 and 3 are");
                return Err(source.error_at(item("of", index), message, None::<String>));
            }
            if !objects.contains_key(&format!("v3/amd64/{file}")) {
                return Err(source.error_at(
                    item("of", index),
                    format!("there is no object `{name}`"),
                    None::<String>,
                ));
            }
        }
    }
    Ok(())
}

/// Reads a case, and checks what it names.
fn read(
    path: &Path,
    folder: &Path,
    objects: &BTreeMap<String, Vec<u8>>,
) -> Result<(LinkCase, Source), Error> {
    let source = Source::read(path)?;
    let mut case: LinkCase = source.parse()?;
    case.name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let empty = [
        ("summary", case.summary.trim().is_empty()),
        ("steps", case.steps.is_empty()),
        ("abis", case.abis.is_empty()),
        ("versions", case.versions.is_empty()),
    ];
    if let Some((key, _)) = empty.iter().find(|(_, is_empty)| *is_empty) {
        return Err(source.error_at(source.span(&[key]), format!("`{key}` is empty"), None::<String>));
    }
    if let Some(unknown) = case.versions.iter().position(|version| !(1..=3).contains(version)) {
        let message = format!("unknown version {} (1 to 3 exist)", case.versions[unknown]);
        let span = source.span(&["versions", &unknown.to_string()]);
        return Err(source.error_at(span, message, None::<String>));
    }
    let all = || case.steps.iter().flat_map(|step| &step.of);
    let made =
        [("patched", Vec::from_iter(case.patched.keys())), ("generated", case.generated.keys().collect())];
    for (key, names) in made {
        if let Some(unused) =
            names.into_iter().find(|name| !all().any(|of| of.rsplit(':').next() == Some(name)))
        {
            let span = source.key_span(&[key, unused]);
            return Err(source.error_at(span, format!("no command is of `{unused}`"), None::<String>));
        }
    }
    if let Some((name, _)) = case.generated.iter().find(|(_, generated)| generated.functions == 0) {
        let span = source.span(&["generated", name, "functions"]);
        return Err(source.error_at(span, "an object has at least one function", None::<String>));
    }
    let is_program = |step: &Step| !step.options.iter().any(|it| it == "relocatable" || it == "shared");
    if case.runs && !case.steps.last().is_some_and(is_program) {
        let message = "the last command makes no program that can be run";
        return Err(source.error_at(source.span(&["runs"]), message, None::<String>));
    }
    for (name, patch) in &case.patched {
        if !folder.join("sources").join(format!("{}.S", patch.of)).is_file() {
            let span = source.span(&["patched", name, "of"]);
            return Err(source.error_at(span, format!("there is no object `{}`", patch.of), None::<String>));
        }
    }
    check_steps(&case, &source, folder, objects)?;
    Ok((case, source))
}
