//! Linkers and rewriters, and how they are run.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command as Process;
use std::time::Duration;

use glob::Pattern;
use schemars::JsonSchema;
use serde::Deserialize;
use sframe_corpus::corpus::{
    SEARCH_PATH, in_root, is_crash, run_command_until, scratch_inside, scratch_parent,
};
use sframe_corpus::spec::Faults;
use sframe_corpus::yaml::{self, Source};
use sframe_engine::{Abi, Version};
use sframe_inspect::lint::all_rules;
use sframe_judge::examine::stop::StopRequest;
use sframe_judge::vocabulary::suggest::{closest, unknown};
use sframe_kit::text::with_causes;
use tempfile::TempDir;

use crate::case::{LinkCases, Tool};
use crate::judge::LinkFault;
use crate::known::KnownLink;
use crate::options;
use crate::unable::Unable;

/// What stands for all ABIs that have no command of their own.
const ALL_ABIS: &str = "all";

/// A command for a tool.
#[derive(Clone, Debug)]
pub struct Command {
    /// The tool.
    pub tool: Tool,
    /// The ABI.
    pub abi: Abi,
    /// Its options: see [`super::Step::options`].
    pub options: Vec<String>,
    /// The names of its inputs, in the folder that it runs in.
    pub inputs: Vec<String>,
    /// The name of its output there.
    pub output: String,
}

impl Command {
    /// The arguments, as GNU's tools and all others take them.
    #[must_use]
    pub fn arguments(&self) -> Vec<String> {
        let own = || self.options.iter().cloned();
        let (inputs, output) = (self.inputs.clone(), self.output.clone());
        match self.tool {
            Tool::Ld => {
                let named = ["-m", options::emulation(self.abi), "-o", &self.output].map(str::to_owned);
                let options =
                    self.options.iter().filter_map(|option| options::of_linker(option, self.abi)).flatten();
                named.into_iter().chain(options).chain(inputs).collect()
            }
            Tool::Strip => own().chain(["-o".to_owned(), output]).chain(inputs).collect(),
            Tool::Objcopy => own().chain(inputs).chain([output]).collect(),
            Tool::Patchelf => own().chain(["--output".to_owned(), output]).chain(inputs).collect(),
            Tool::Bolt => inputs.into_iter().chain(["-o".to_owned(), output]).chain(own()).collect(),
        }
    }
}

/// How a command has ended.
#[derive(Clone, Debug, Default)]
pub struct Ran {
    /// Whether it has ended with status 0.
    pub succeeded: bool,
    /// Whether it was ended by a signal, has failed a check of its own, or did not end.
    pub crashed: bool,
    /// How it has ended, in words.
    pub ended: String,
    /// What it has said.
    pub said: String,
}

/// Linkers and rewriters, whatever runs them.
pub trait Tools: Sync {
    /// Whether there is a tool for an ABI.
    fn has(&self, tool: Tool, abi: Abi) -> bool;

    /// Makes a folder that the tools see.
    ///
    /// # Errors
    /// The system's error.
    fn folder(&self) -> std::io::Result<TempDir>;

    /// The command as it can be repeated.
    fn line(&self, command: &Command) -> String;

    /// What they are described to be unable to do; `None` if nothing is known about that.
    fn unable(&self) -> Option<&[Unable]> {
        None
    }

    /// Runs a command in such a folder.
    ///
    /// # Errors
    /// It can't be started: why.
    fn run(&self, folder: &Path, command: &Command) -> Result<Ran, String>;
}

/// The words of a command, by ABI; `all` stands for those without words of their own.
pub type Commands = BTreeMap<Tool, BTreeMap<String, String>>;

/// A linker or a set of rewriters of one release: `corpus/links/linkers/*.yaml`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Subject {
    /// Its name.
    #[serde(skip)]
    pub name: String,
    /// What it is.
    pub summary: String,
    /// The toolchain whose root has it, as `ci/toolchains` installs it; that of this machine if left out.
    pub toolchain: Option<String>,
    /// The version of the objects' sections that it is tried with.
    pub sframe_version: u8,
    /// The commands of its tools by ABI, or for `all`. `{toolchains}` is the folder that toolchains are installed in.
    pub tools: Commands,
    /// What is known to be wrong, by cause.
    #[serde(default)]
    pub known: Vec<KnownLink>,
    /// What they can't do, with or without `.sframe`. Tools without a description can do anything or nothing.
    #[serde(default)]
    pub unable: Vec<Unable>,
    /// Whether there is a description.
    #[serde(skip)]
    pub(super) is_described: bool,
    /// The folder that [`Self::toolchain`] is in.
    #[serde(skip)]
    toolchains: PathBuf,
    /// How long a command may take.
    #[serde(skip)]
    limit: Option<Duration>,
    #[serde(skip)]
    stop: StopRequest,
}

/// What is wrong with a pattern of what the linter says.
fn wrong_rule(pattern: &str) -> Option<String> {
    let rules = || all_rules().map(|rule| rule.name);
    let is_rule = |text: &str| Pattern::new(text).is_ok_and(|it| rules().any(|rule| it.matches(rule)));
    match pattern.split_once(": ") {
        Some((rule, _)) if is_rule(rule) => None,
        Some((rule, _)) => Some(unknown("rule of the linter", rule, rules())),
        None if is_rule(pattern) => {
            Some(format!("missing message: `{pattern}: TEXT`, or `{pattern}: *` for any"))
        }
        None => Some(unknown("rule of the linter", pattern, rules())),
    }
}

impl Subject {
    /// Reads a description.
    ///
    /// # Errors
    /// It can't be read, is malformed, or names an ABI, a case or a fault that does not exist.
    pub fn parse(path: &Path, cases: &LinkCases, faults: &Faults) -> Result<Self, yaml::Error> {
        let source = Source::read(path)?;
        let mut subject: Self = source.parse()?;
        let wrong = |path: &[&str], message| Err(source.error_at(source.span(path), message, None::<String>));
        let abis = || Abi::ALL.iter().map(|abi| abi.name()).chain([ALL_ABIS]);
        if subject.tools.values().all(BTreeMap::is_empty) {
            return wrong(&["tools"], "at least one command is needed".to_owned());
        }
        if subject.summary.trim().is_empty() {
            return wrong(&["summary"], "`summary` is empty".to_owned());
        }
        if Version::from_number(subject.sframe_version).is_none() {
            let message = format!("SFrame has no version {}; it has 1, 2 and 3", subject.sframe_version);
            return wrong(&["sframe_version"], message);
        }
        for (tool, commands) in &subject.tools {
            if let Some(abi) = commands.keys().find(|abi| !abis().any(|known| known == **abi)) {
                let span = source.key_span(&["tools", &tool.to_string(), abi]);
                return Err(source.error_at(span, unknown("ABI", abi, abis()), None::<String>));
            }
            let is_no_command = |words: &&String| shlex::split(words).is_none_or(|words| words.is_empty());
            if let Some((abi, words)) = commands.iter().find(|(_, words)| is_no_command(words)) {
                return wrong(&["tools", &tool.to_string(), abi], format!("`{words}` is no command"));
            }
        }
        for (number, known) in subject.known.iter_mut().enumerate() {
            let number = number.to_string();
            for (index, pattern) in known.cases.iter().enumerate() {
                if !cases.cases.iter().any(|case| pattern.matches(&case.name)) {
                    let names = cases.cases.iter().map(|case| case.name.as_str());
                    let message = unknown("case", pattern.as_str(), names);
                    return wrong(&["known", &number, "cases", &index.to_string()], message);
                }
            }
            for (key, is_empty) in
                [("cases", known.cases.is_empty()), ("findings", known.findings.is_empty())]
            {
                if is_empty {
                    return wrong(&["known", &number, key], "at least one is needed".to_owned());
                }
            }
            for (kind, patterns) in &known.findings {
                let path = ["known", &number, "findings", &kind.to_string()];
                if patterns.is_empty() == kind.names() {
                    let message = match kind.names() {
                        true => "name what is known: functions, sections or rules of the linter, by patterns",
                        false => "such a finding names nothing",
                    };
                    return wrong(&path, message.to_owned());
                }
                if *kind == LinkFault::Unable {
                    return wrong(&path, "what it can't do is no fault: `unable` lists it".to_owned());
                }
                if *kind == LinkFault::Lint
                    && let Some(message) = patterns.iter().find_map(|pattern| wrong_rule(pattern.as_str()))
                {
                    return wrong(&path, message);
                }
            }
            let title = cases.pages.get(&known.fault).map(|page| &page.title);
            let Some(title) = title.or_else(|| faults.get(&known.fault).map(|fault| &fault.title)) else {
                let names =
                    || faults.iter().map(|(name, ..)| name).chain(cases.pages.keys().map(String::as_str));
                let message = match closest(&known.fault, names()) {
                    Some(_) => unknown("fault", &known.fault, names()),
                    None => faults.unknown(&known.fault),
                };
                return wrong(&["known", &number, "fault"], message);
            };
            known.why = format!("{title} ({})", known.fault);
        }
        let names = || cases.cases.iter().map(|case| case.name.as_str());
        for (index, unable) in subject.unable.iter().enumerate() {
            let is_of_none = |pattern: &&Pattern| !names().any(|name| pattern.matches(name));
            if let Some(at) = unable.cases.iter().position(|pattern| is_of_none(&pattern)) {
                let path = ["unable", &index.to_string(), "cases", &at.to_string()];
                return wrong(&path, unknown("case", unable.cases[at].as_str(), names()));
            }
        }
        subject.is_described = true;
        subject.name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        Ok(subject)
    }

    /// Reads a description of tools that are installed below a folder.
    ///
    /// # Errors
    /// As for [`Self::parse`]; or they are not installed.
    pub fn read(
        path: &Path,
        toolchains: &Path,
        cases: &LinkCases,
        faults: &Faults,
    ) -> Result<Self, yaml::Error> {
        let subject = Self { toolchains: toolchains.to_owned(), ..Self::parse(path, cases, faults)? };
        match subject.root() {
            Some(root) if !root.is_dir() => {
                let source = yaml::Source::read(path)?;
                let name = subject.toolchain.as_deref().unwrap_or_default();
                let of_corpus = cases.toolchains();
                let (message, help) = match of_corpus.iter().any(|known| known == name) {
                    true => (
                        format!("this toolchain is not installed: there is no folder {}", root.display()),
                        "ci/toolchains installs those of the corpus; --toolchains names the folder",
                    ),
                    false => (
                        unknown("toolchain", name, of_corpus.iter().map(String::as_str)),
                        "the corpus has none of this name; --toolchains names the folder of others",
                    ),
                };
                Err(source.error_at(source.span(&["toolchain"]), message, Some(help)))
            }
            _ => Ok(subject),
        }
    }

    /// Tools of this machine, with the same commands for all ABIs.
    #[must_use]
    pub fn of_commands(name: String, sframe_version: u8, tools: BTreeMap<Tool, String>) -> Self {
        let tools = tools.into_iter().map(|(tool, command)| (tool, [(ALL_ABIS.to_owned(), command)].into()));
        Self {
            name,
            summary: String::new(),
            toolchain: None,
            sframe_version,
            tools: tools.collect(),
            known: Vec::new(),
            unable: Vec::new(),
            is_described: false,
            toolchains: PathBuf::new(),
            limit: None,
            stop: StopRequest::default(),
        }
    }

    /// Ends commands that take longer, or if an end is asked for.
    #[must_use]
    pub fn limited(self, limit: Duration, stop: StopRequest) -> Self {
        Self { limit: Some(limit), stop, ..self }
    }

    /// Returns the subject, of which this is known to be wrong.
    #[must_use]
    pub fn knowing(self, known: Vec<KnownLink>) -> Self {
        Self { known, ..self }
    }

    /// The first line of what each tool says of its version.
    #[must_use]
    pub fn versions(&self) -> Vec<String> {
        let version = |words: &[String]| {
            let mut process = self.process(words, None);
            process.arg("--version");
            let ran = run_command_until(process, None, Some(Duration::from_secs(10)), &self.stop).ok()?;
            let first = ran.stdout.lines().map(str::trim).find(|line| !line.is_empty())?;
            ran.ended.is_success().then(|| first.chars().take(100).collect())
        };
        let one = |tool: &Tool| {
            let words = Abi::ALL.into_iter().find_map(|abi| self.words(*tool, abi))?;
            let name = || shlex::try_join(words.iter().map(String::as_str)).unwrap_or_default();
            Some(version(&words).unwrap_or_else(|| format!("`{}`, which names no version", name())))
        };
        // Whoever is stopped asks no more.
        self.tools.keys().take_while(|_| self.stop.reason().is_none()).filter_map(one).collect()
    }

    /// A process with a command, in the tools' root if they have one.
    fn process(&self, words: &[String], folder: Option<&Path>) -> Process {
        match self.root() {
            None => {
                let mut process = Process::new(words.first().map_or("", String::as_str));
                if let Some(folder) = folder {
                    process.current_dir(folder);
                }
                process.args(words.iter().skip(1));
                process
            }
            Some(root) => {
                let inside = folder.map_or_else(|| "/".into(), scratch_inside);
                let mut process = in_root(&root, &inside, OsStr::new(SEARCH_PATH));
                process.args(words);
                process
            }
        }
    }

    fn root(&self) -> Option<PathBuf> {
        self.toolchain.as_ref().map(|toolchain| self.toolchains.join(toolchain))
    }

    /// The words of a tool's command.
    fn words(&self, tool: Tool, abi: Abi) -> Option<Vec<String>> {
        let commands = self.tools.get(&tool)?;
        let command = commands.get(abi.name()).or_else(|| commands.get(ALL_ABIS))?;
        let toolchains = std::path::absolute(&self.toolchains).unwrap_or_else(|_| self.toolchains.clone());
        let command = command.replace("{toolchains}", &toolchains.display().to_string());
        let mut words = shlex::split(&command).filter(|words| !words.is_empty())?;
        // Commands run in another folder.
        if let Some(first) = words.first_mut().filter(|first| self.toolchain.is_none() && first.contains('/'))
            && let Ok(path) = std::path::absolute(&*first)
        {
            *first = path.display().to_string();
        }
        Some(words)
    }

    fn all_words(&self, command: &Command) -> Vec<String> {
        let mut words = self.words(command.tool, command.abi).unwrap_or_default();
        words.extend(command.arguments());
        words
    }
}

impl Tools for Subject {
    fn has(&self, tool: Tool, abi: Abi) -> bool {
        self.words(tool, abi).is_some()
    }

    fn folder(&self) -> std::io::Result<TempDir> {
        let parent = scratch_parent(self.root().as_deref(), &std::env::temp_dir());
        std::fs::create_dir_all(&parent)?;
        tempfile::Builder::new().prefix("links-").tempdir_in(parent)
    }

    fn line(&self, command: &Command) -> String {
        let words = self.all_words(command);
        shlex::try_join(words.iter().map(String::as_str)).unwrap_or_else(|_| words.join(" "))
    }

    fn unable(&self) -> Option<&[Unable]> {
        Some(&*self.unable).filter(|_| self.is_described)
    }

    fn run(&self, folder: &Path, command: &Command) -> Result<Ran, String> {
        let words = self.all_words(command);
        let mut process = self.process(&words, Some(folder));
        process.env("LC_ALL", "C");
        let ran = run_command_until(process, None, self.limit, &self.stop);
        let ran = ran.map_err(|error| {
            format!("{}: {}", words.first().map_or("", String::as_str), with_causes(&error))
        })?;
        let (ended, said) = (ran.ended, ran.stdout + &ran.stderr);
        let crashed = ended.is_crash() || is_crash(&said);
        Ok(Ran { succeeded: ended.is_success(), crashed, ended: ended.to_string(), said })
    }
}
