//! `links`: tries linkers, and what rewrites files, with the cases of `corpus/links`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use clap::Args;
use sframe_corpus::shard::Shard;
use sframe_corpus::spec::{Faults, parse_abi};
use sframe_engine::Abi;
use sframe_inspect::command::{Failure, Status, Volume, detail_since, print, print_json, tell_line, volume};
use sframe_judge::examine::stop::StopRequest;
use sframe_judge::vocabulary::suggest::hint;
use sframe_kit::text::counted;
use sframe_links::{LinkCases, LinksReport, LinksTable, Selection, Subject, Tool};
use sframe_suite::report::Document;

use super::interrupt::requests_here;
use super::numbers;
use super::options::{at_home, demand, pages};
use super::report;

#[derive(Args)]
pub(crate) struct Links {
    /// Linkers and sets of rewriters: descriptions, or names of those in corpus/links/linkers.
    #[arg(value_name = "FILE|NAME")]
    subjects: Vec<PathBuf>,
    /// Instead, the command of a linker with GNU's command line; the same for all ABIs, which -m names.
    #[arg(long, value_name = "COMMAND", conflicts_with = "subjects")]
    linker: Option<String>,
    /// What the report calls it [default: the command].
    #[arg(long, value_name = "NAME", conflicts_with = "subjects")]
    linker_version: Option<String>,
    /// Instead or as well, the command of objcopy.
    #[arg(long, value_name = "COMMAND", conflicts_with = "subjects")]
    objcopy: Option<String>,
    /// Instead or as well, the command of strip.
    #[arg(long, value_name = "COMMAND", conflicts_with = "subjects")]
    strip: Option<String>,
    /// Instead or as well, the command of patchelf.
    #[arg(long, value_name = "COMMAND", conflicts_with = "subjects")]
    patchelf: Option<String>,
    /// Instead or as well, the command of llvm-bolt.
    #[arg(long, value_name = "COMMAND", conflicts_with = "subjects")]
    bolt: Option<String>,
    /// The version of the objects' sections [default: that of the description, or 3].
    #[arg(long, value_name = "VERSION", allow_hyphen_values = true, value_parser = numbers::small(1..=3))]
    sframe_version: Option<u8>,
    /// Only cases whose name matches this pattern (repeatable).
    #[arg(long, value_name = "GLOB")]
    only: Vec<glob::Pattern>,
    /// Only this ABI (repeatable).
    #[arg(long, value_name = "ABI", value_parser = parse_abi)]
    abi: Vec<Abi>,
    /// Only the Kth of N parts, for several machines at once.
    #[arg(long, value_name = "K/N", allow_hyphen_values = true)]
    shard: Option<Shard>,
    /// Time limit for each command.
    #[arg(long, value_name = "SECONDS", default_value_t = 120, value_parser = numbers::seconds::<u32>(numbers::SECONDS))]
    timeout: u32,
    /// The folder of the corpus [default: corpus, here or in the bench's home].
    #[arg(long, value_name = "DIR", default_value_os_t = at_home("corpus"), hide_default_value = true)]
    corpus: PathBuf,
    /// The folder of the specs, with the pages of faults [default: specs, here or in the bench's home].
    #[arg(long, value_name = "DIR", default_value_os_t = at_home("specs"), hide_default_value = true)]
    specs: PathBuf,
    /// What is known of the linker, or of a set of rewriters, whose commands are given: a description, or the name of one in
    /// corpus/links/linkers, whose `known` has to be found, and fails nothing.
    #[arg(long, value_name = "FILE|NAME", conflicts_with = "subjects")]
    known: Option<PathBuf>,
    /// Keep the files of each case in a folder below this one, so that its commands can be repeated.
    #[arg(long, value_name = "DIR")]
    keep: Option<PathBuf>,
    /// Folder with one root folder for each toolchain, as made by ci/toolchains.
    #[arg(long, value_name = "DIR", default_value = "target/toolchains")]
    toolchains: PathBuf,
    /// Write links.md and links.json into this folder, and the report's other formats.
    #[arg(long, value_name = "DIR")]
    report: Option<PathBuf>,
    /// Print the reports as JSON instead of the summary.
    #[arg(long)]
    json: bool,
}

/// An error with the name of the linker, once.
fn of_subject(name: &str, error: &str) -> String {
    if error.starts_with(&format!("{name}: ")) {
        format!("error: {error}")
    } else {
        format!("error: {name}: {error}")
    }
}

impl Links {
    pub(crate) fn execute(&self) -> Result<Status, Failure> {
        demand("corpus", &self.corpus)?;
        let folder = self.corpus.join("links");
        let cases = LinkCases::load(&folder)?;
        for pattern in &self.only {
            if !cases.cases.iter().any(|case| pattern.matches(&case.name)) {
                let help = hint(pattern.as_str(), cases.cases.iter().map(|case| &*case.name));
                return Err(Failure::unusable(format!("error: no case matches `{pattern}`{help}")));
            }
        }
        let stop = requests_here();
        let subjects = self.subjects(&folder, &cases, &stop)?;
        self.report.as_deref().map_or(Ok(()), report::begin)?;
        self.keep.as_deref().map_or(Ok(()), begin_keeping)?;
        let mut table = LinksTable::default();
        for subject in &subjects {
            let start = Instant::now();
            let selection = Selection {
                only: self.only.clone(),
                abis: self.abi.clone(),
                sframe_version: self.sframe_version.unwrap_or(subject.sframe_version),
                shard: self.shard,
                keep: self.keep.clone(),
                stop: stop.clone(),
            };
            let tried = sframe_links::run(&cases, subject, &subject.known, &selection)
                .map_err(|error| self.failure(&subject.name, &error))?;
            let is_all = self.shard.is_none() && self.sframe_version.is_none();
            let is_whole = self.only.is_empty() && self.abi.is_empty() && is_all;
            let report =
                LinksReport { versions: subject.versions(), ..LinksReport::new(subject, tried, is_whole) };
            detail_since(start, || {
                format!("{}: tried {}", subject.name, counted(report.results.len() as u64, "case"))
            });
            if !self.json {
                print(&report.text(volume()))?;
            }
            table.reports.push(report);
        }
        table.pages = cases.pages.clone();
        table.cases = cases.cases.iter().map(|case| (case.name.clone(), case.summary.clone())).collect();
        if self.json {
            print_json(&table.concluded())?;
        }
        if let Some(folder) = &self.report {
            report::write(folder, &Document::Links { table: &table })?;
        }
        if volume() == Volume::Quiet {
            let too_little = |report: &LinksReport| Some((report.linker.clone(), report.too_little.clone()?));
            let open = table.reports.iter().filter_map(too_little);
            open.for_each(|(linker, why)| tell_line(format_args!("{linker}: {why}")));
        }
        Ok(table.ending().into())
    }

    /// Why a linker can't be tried: a command of the command line is one that can't be used.
    fn failure(&self, name: &str, error: &str) -> Failure {
        let commands = [
            ("--linker", &self.linker),
            ("--objcopy", &self.objcopy),
            ("--strip", &self.strip),
            ("--patchelf", &self.patchelf),
            ("--bolt", &self.bolt),
        ];
        let given: Vec<&str> =
            commands.into_iter().filter_map(|(option, command)| command.as_ref().map(|_| option)).collect();
        match given.is_empty() {
            true => Failure::broken(of_subject(name, error)),
            false => Failure::unusable(format!("error: {}: {error}", given.join(", "))),
        }
    }

    /// What is tried.
    fn subjects(
        &self,
        folder: &Path,
        cases: &LinkCases,
        stop: &StopRequest,
    ) -> Result<Vec<Subject>, Failure> {
        let given = [
            (Tool::Ld, &self.linker),
            (Tool::Objcopy, &self.objcopy),
            (Tool::Strip, &self.strip),
            (Tool::Patchelf, &self.patchelf),
            (Tool::Bolt, &self.bolt),
        ];
        let given = given.into_iter().filter_map(|(tool, command)| Some((tool, command.clone()?)));
        let commands: BTreeMap<Tool, String> = given.collect();
        if let Some(command) =
            commands.values().find(|command| shlex::split(command).is_none_or(|words| words.is_empty()))
        {
            return Err(Failure::unusable(format!(
                "error: `{command}` is no command: it is empty, or a quote is not closed"
            )));
        }
        let own = folder.join("linkers");
        let limit = Duration::from_secs(self.timeout.into());
        let subjects: Result<Vec<Subject>, Failure> = match &self.subjects[..] {
            [] if !commands.is_empty() => {
                let all: Vec<&str> = commands.values().map(String::as_str).collect();
                let name = self.linker_version.clone().unwrap_or_else(|| all.join(" and "));
                Ok(vec![match self.described_as(&own, cases)? {
                    Some(described) => Subject::of_commands(name, described.sframe_version, commands)
                        .knowing(described.known),
                    None => Subject::of_commands(name, 3, commands),
                }])
            }
            [] => Err(Failure::unusable(format!(
                "error: name a linker with --linker, or one of {}: {}",
                own.display(),
                names(&own).join(", ")
            ))),
            given => {
                let faults = pages(Some(&self.specs))?;
                given.iter().map(|given| self.described(given, &own, cases, &faults)).collect()
            }
        };
        Ok(subjects?.into_iter().map(|subject| subject.limited(limit, stop.clone())).collect())
    }

    /// The description of which something is known that the commands have as well.
    fn described_as(&self, own: &Path, cases: &LinkCases) -> Result<Option<Subject>, Failure> {
        let Some(given) = &self.known else { return Ok(None) };
        let path = Self::path_of(given, own)?;
        Ok(Some(Subject::parse(&path, cases, &pages(Some(&self.specs))?)?))
    }

    /// A description: a file, or the name of one in the corpus.
    fn described(
        &self,
        given: &Path,
        own: &Path,
        cases: &LinkCases,
        faults: &Faults,
    ) -> Result<Subject, Failure> {
        Ok(Subject::read(&Self::path_of(given, own)?, &self.toolchains, cases, faults)?)
    }

    /// The path of a description.
    fn path_of(given: &Path, own: &Path) -> Result<PathBuf, Failure> {
        let name = given.to_str().filter(|name| !name.contains('/') && !given.exists());
        match name {
            Some(name) => {
                let path = own.join(format!("{name}.yaml"));
                if !path.is_file() {
                    let all = names(own);
                    let help = hint(name, all.iter().map(String::as_str));
                    let message = format!("error: {name} is neither a file nor a linker of the corpus{help}");
                    return Err(Failure::unusable(message));
                }
                Ok(path)
            }
            None => Ok(given.to_owned()),
        }
    }
}

/// Makes the folder that files are kept in: one that is not there yet, or is empty, so that nothing is overwritten.
fn begin_keeping(folder: &Path) -> Result<(), Failure> {
    let unusable = |why: String| Failure::unusable(format!("error: --keep {}: {why}", folder.display()));
    std::fs::create_dir_all(folder).map_err(|error| unusable(error.to_string()))?;
    let mut entries = std::fs::read_dir(folder).map_err(|error| unusable(error.to_string()))?;
    match entries.next() {
        None => Ok(()),
        Some(_) => Err(unusable("the folder is not empty".to_owned())),
    }
}

/// The names of the descriptions in a folder.
fn names(folder: &Path) -> Vec<String> {
    let files = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut names: Vec<String> = files
        .filter_map(|file| Some(file.file_name().to_str()?.strip_suffix(".yaml")?.to_owned()))
        .filter(|name| name != "toolchain")
        .collect();
    names.sort();
    names
}
