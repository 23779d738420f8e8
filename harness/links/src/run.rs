//! Runs cases.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use glob::Pattern;
use rayon::prelude::*;
use sframe_corpus::corpus::is_crash;
use sframe_corpus::shard::Shard;
use sframe_elf::file::read;
use sframe_elf::find_sframe::find_sframe;
use sframe_engine::Abi;
use sframe_judge::examine::stop::StopRequest;
use sframe_judge::examine::{ExamineOptions, broken_reason, examine};
use sframe_judge::target::files::{Files, LibraryFolders};
use sframe_judge::target::{MadeSections, SectionSource, Target};
use sframe_judge::unwind::sframe_unwinder;
use sframe_machine::Options;

use crate::case::{Expected, Folder, Input, LinkCase, LinkCases};
use crate::functions::Functions;
use crate::judge::{LinkFault, LinkFinding, is_relocatable, judge, lint_rules, rules_of};
use crate::known::KnownLink;
use crate::result::{LinkOutcome, LinkResult, Tried};
use crate::tools::{Command, Ran, Tools};
use crate::unable::Unable;
use crate::wanted::{Inputs, Placement};

/// Which cases are tried, and how.
#[derive(Clone, Debug, Default)]
pub struct Selection {
    /// Patterns of their names; all if there is none.
    pub only: Vec<Pattern>,
    /// The ABIs; all if there is none.
    pub abis: Vec<Abi>,
    /// The version of the objects' sections.
    pub sframe_version: u8,
    /// Which part of the cases, of several.
    pub shard: Option<Shard>,
    /// Where the files of each case are kept, so that its commands can be repeated.
    pub keep: Option<PathBuf>,
    /// Asks for an end.
    pub stop: StopRequest,
}

impl Selection {
    fn has(&self, case: &LinkCase, abi: Abi) -> bool {
        case.has(abi, self.sframe_version)
            && (self.abis.is_empty() || self.abis.contains(&abi))
            && (self.only.is_empty() || self.only.iter().any(|pattern| pattern.matches(&case.name)))
    }
}

/// Tries cases with tools.
///
/// # Errors
/// The system's error, or that of a tool that can't be started: why.
pub fn run(
    cases: &LinkCases,
    tools: &dyn Tools,
    known: &[KnownLink],
    selection: &Selection,
) -> Result<Tried, String> {
    let pairs = cases.cases.iter().flat_map(|case| Abi::ALL.into_iter().map(move |abi| (case, abi)));
    let pairs: Vec<(&LinkCase, Abi)> = pairs
        .filter(|(case, abi)| selection.has(case, *abi))
        .filter(|(_, abi)| cases.has_objects(*abi, selection.sframe_version))
        .filter(|(case, abi)| case.steps.iter().all(|step| tools.has(step.tool, *abi)))
        .collect();
    let pairs = selection.shard.map_or(pairs.clone(), |shard| shard.take(pairs));
    let one = |(case, abi): &(&LinkCase, Abi)| {
        if selection.stop.reason().is_some() {
            return Ok(None);
        }
        let keep = selection.keep.as_ref().map(|folder| folder.join(format!("{}.{abi}", case.name)));
        let version = selection.sframe_version;
        let attempt = Attempt { cases, case, tools, abi: *abi, version, keep };
        let result = attempt.result(known);
        // Its commands may have been ended.
        if selection.stop.reason().is_some() { Ok(None) } else { result.map(Some) }
    };
    let results = pairs.par_iter().map(one).collect::<Result<Vec<_>, String>>()?;
    let left = results.iter().filter(|result| result.is_none()).count() as u64;
    let (pairs, mut results): (Vec<_>, Vec<LinkResult>) =
        pairs.iter().zip(results).filter_map(|(pair, result)| Some((*pair, result?))).unzip();
    let refusals = || pairs.iter().map(|(case, _)| case.expected == Expected::Refused);
    let others =
        || results.iter().zip(refusals()).filter(|(_, is_refusal)| !is_refusal).map(|(result, _)| result);
    // To refuse what must be refused is nothing for a tool that refuses everything.
    if others().next().is_some() && others().all(|result| result.outcome == LinkOutcome::Unsupported) {
        for (result, _) in results.iter_mut().zip(refusals()).filter(|(_, is_refusal)| *is_refusal) {
            result.outcome = LinkOutcome::Unsupported;
            result.reason = Some("every other case is refused, with or without .sframe".to_owned());
        }
    }
    Ok(Tried { results, left })
}

/// Copies the files of a folder to another one.
fn keep_files(from: &Path, to: &Path) -> std::io::Result<()> {
    std::fs::create_dir_all(to)?;
    for entry in std::fs::read_dir(from)? {
        let entry = entry?;
        if entry.file_type()?.is_file() {
            std::fs::copy(entry.path(), to.join(entry.file_name()))?;
        }
    }
    Ok(())
}

/// A case with one ABI, tried with some tools.
struct Attempt<'a> {
    cases: &'a LinkCases,
    case: &'a LinkCase,
    tools: &'a dyn Tools,
    abi: Abi,
    version: u8,
    keep: Option<PathBuf>,
}

/// What the commands of a case are repeated with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Objects {
    /// As the case has it.
    Own,
    /// Objects that have no `.sframe`.
    Plain,
    /// Those of the case, as they are before they are patched.
    Sound,
    /// Sound ones, all of the ABI that is tried.
    OneAbi,
}

/// What the commands of a case have made.
struct Made {
    /// The output of the last one, if there is one.
    output: Option<Vec<u8>>,
    /// The objects, before they are patched.
    inputs: Vec<(Input, Vec<u8>)>,
    commands: Vec<String>,
    /// How the last one has ended.
    ran: Ran,
    said: String,
    /// What is found by running the output.
    run: Vec<LinkFinding>,
}

/// The version of the section in an output (2.1).
fn version_of(output: &[u8]) -> Option<u8> {
    let files = Functions::read_all(output).ok()?;
    files.iter().find_map(|file| file.header).map(|header| header.version.number())
}

impl Attempt<'_> {
    fn result(&self, known: &[KnownLink]) -> Result<LinkResult, String> {
        let made = self.make(Objects::Own)?;
        let object = |(input, _): &(Input, Vec<u8>)| match input {
            Input::Object { folder, file, .. } => {
                Some(LinkCases::name_of(folder, file, self.abi, self.version))
            }
            Input::Made(_) | Input::Generated(..) => None,
        };
        let objects = made.inputs.iter().filter_map(object);
        let mut result = LinkResult {
            case: self.case.name.clone(),
            abi: self.abi,
            sframe_version: self.version,
            output_version: None,
            outcome: LinkOutcome::Right,
            findings: Vec::new(),
            known: Vec::new(),
            reason: None,
            objects: objects.collect(),
            commands: made.commands.clone(),
            said: shortened(&made.said),
        };
        match self.findings(&made)? {
            Ok(findings) => result.findings = findings,
            Err(reason) => {
                let is_listed = |unable: &Unable| unable.has(&result.case, result.abi, &reason);
                if self.tools.unable().is_none_or(|unable| unable.iter().any(is_listed)) {
                    result.outcome = LinkOutcome::Unsupported;
                } else {
                    let message =
                        format!("with or without .sframe, which its description does not have: {reason}");
                    result.outcome = LinkOutcome::Wrong;
                    result.findings = vec![LinkFinding::of_file(LinkFault::Unable, reason.clone(), message)];
                }
                result.reason = Some(reason);
                return Ok(result);
            }
        }
        let cause = |finding| KnownLink::of(known, &result, finding);
        let causes: Vec<Option<&KnownLink>> = result.findings.iter().map(cause).collect();
        result.outcome = match &causes[..] {
            [] => LinkOutcome::Right,
            causes if causes.iter().all(Option::is_some) => LinkOutcome::Known,
            _ => LinkOutcome::Wrong,
        };
        if result.outcome == LinkOutcome::Wrong {
            result.output_version = made.output.as_deref().and_then(version_of);
        }
        let whys: Vec<Option<String>> =
            causes.into_iter().map(|cause| cause.map(|cause| cause.why.clone())).collect();
        for (finding, why) in result.findings.iter_mut().zip(whys) {
            if let Some(why) = why.as_ref().filter(|why| !result.known.contains(why)) {
                result.known.push(why.clone());
            }
            finding.known = why;
        }
        Ok(result)
    }

    /// What is wrong, or why that is not known.
    fn findings(&self, made: &Made) -> Result<Result<Vec<LinkFinding>, String>, String> {
        let Made { output, ran, .. } = made;
        let expected = self.case.expected;
        let lines = || ran.said.lines().map(str::trim).filter(|line| !line.is_empty());
        let first = lines().find(|line| !line.contains("warning:")).or_else(|| lines().next());
        let said = || first.unwrap_or(&ran.ended).to_owned();
        let ended = || first.map_or_else(|| ran.ended.clone(), |first| format!("{}: {first}", ran.ended));
        let one = |kind, message: String| Ok(Ok(vec![LinkFinding::new(kind, Vec::new(), message)]));
        if ran.crashed {
            // As of a refusal: what it does without .sframe says nothing of that.
            if self.make(Objects::Plain)?.ran.crashed {
                return Ok(Err(crash(ran)));
            }
            let with_sound = !self.case.patched.is_empty() && self.make(Objects::Sound)?.ran.crashed;
            let first = if with_sound { "also with sound objects: " } else { "" };
            let says = format!("{first}{}", crash(ran));
            return Ok(Ok(vec![LinkFinding::of_file(LinkFault::Crashed, says, ended())]));
        }
        if ran.succeeded && output.is_none() {
            return one(
                LinkFault::NoOutput,
                "the status is 0, and there is no output of a size to be read".to_owned(),
            );
        }
        let Some(output) = output.as_ref().filter(|_| ran.succeeded) else {
            // A tool that refuses this without .sframe, too, says nothing of SFrame; nor does one that refuses what is sound.
            let with = if expected == Expected::Refused { Objects::OneAbi } else { Objects::Plain };
            let control = self.make(with)?;
            if !control.ran.succeeded || control.output.is_none() {
                return Ok(Err(said()));
            }
            return match expected {
                Expected::Refused | Expected::LinkedOrRefused | Expected::NoHarm if first.is_none() => {
                    one(LinkFault::Silent, format!("{}, and not a word of why", ran.ended))
                }
                Expected::Refused | Expected::LinkedOrRefused | Expected::NoHarm => Ok(Ok(Vec::new())),
                Expected::Linked | Expected::NoRows => {
                    Ok(Ok(vec![LinkFinding::of_file(LinkFault::Refused, said(), ended())]))
                }
            };
        };
        if expected == Expected::Refused {
            return one(LinkFault::Accepted, "no output can be right, and the status is 0".to_owned());
        }
        let mut files = Vec::new();
        let (mut garbage, mut broken) = (BTreeSet::new(), BTreeSet::new());
        let bytes_of = |part: &Input| made.inputs.iter().find(|(input, _)| input == part);
        for (input, bytes) in self.case.parts().iter().filter_map(bytes_of) {
            match Functions::read_all(bytes) {
                Ok(all) => {
                    if matches!(input, Input::Object { patch: Some(_), .. }) {
                        garbage.extend(
                            all.iter().flat_map(|file| &file.symbols).map(|symbol| symbol.name.clone()),
                        );
                    }
                    files.extend(all);
                    broken.extend(lint_rules(bytes, "input").into_keys());
                }
                Err(error) => return Err(format!("{}: {input:?}: {error}", self.case.name)),
            }
        }
        let inputs =
            Inputs { files: &files, broken: &broken, placement: Placement::of(self.case.last_tool()) };
        let mut findings = match judge(self.case, inputs, output) {
            Ok(findings) => findings,
            Err(error) => {
                let message = format!("the output can't be read: {error}");
                return Ok(Ok(vec![LinkFinding::of_file(LinkFault::Unreadable, error, message)]));
            }
        };
        if expected == Expected::NoHarm {
            // What is lost with garbage misleads nobody who has been told.
            let is_of_garbage = |function: &String| function.split(" = ").all(|name| garbage.contains(name));
            let is_lost = |finding: &mut LinkFinding| {
                finding.kind == LinkFault::MissingFde && finding.functions.iter().all(is_of_garbage)
            };
            let lost = findings.extract_if(.., is_lost).next();
            if let Some(lost) = lost
                && !self.is_told(&made.said)?
            {
                let message = format!("no message names the object or its section: {}", lost.message);
                findings.push(LinkFinding::new(LinkFault::Silent, lost.functions, message));
            }
        }
        if !findings.iter().any(|finding| finding.kind.is_total()) {
            findings.extend(made.run.iter().cloned());
        }
        Ok(Ok(findings))
    }

    /// Whether a message names an object with garbage, or the section: one that is not also said of sound objects.
    fn is_told(&self, said: &str) -> Result<bool, String> {
        let without_numbers =
            |said: &str| said.to_ascii_lowercase().replace(|digit: char| digit.is_ascii_digit(), "");
        let usual = without_numbers(&self.make(Objects::Sound)?.said);
        let usual: BTreeSet<&str> = usual.lines().collect();
        let names: Vec<String> =
            self.case.patched.keys().map(|name| without_numbers(&format!("{name}.o"))).collect();
        let said = without_numbers(said);
        let mut news = said.lines().filter(|line| !usual.contains(line));
        // What is said of the section and of other objects says nothing of these.
        let is_of_others = |line: &str| line.contains(".o");
        let names_it = |line: &str| names.iter().any(|name| line.contains(name));
        Ok(news.any(|line| names_it(line) || line.contains("sframe") && !is_of_others(line)))
    }

    /// Runs the commands.
    fn make(&self, objects: Objects) -> Result<Made, String> {
        let folder = self.tools.folder().map_err(|error| format!("a folder for the tools: {error}"))?;
        let mut made = Made {
            output: None,
            inputs: Vec::new(),
            commands: Vec::new(),
            ran: Ran::default(),
            said: String::new(),
            run: Vec::new(),
        };
        self.copy_scripts(folder.path())?;
        for step in &self.case.steps {
            let mut inputs = Vec::new();
            for (name, input) in step.of.iter().zip(step.inputs(self.case)) {
                inputs.push(self.file(name, &input, objects, folder.path(), &mut made)?);
            }
            let command = Command {
                tool: step.tool,
                abi: self.abi,
                options: step.options.clone(),
                inputs,
                output: step.to.clone(),
            };
            made.commands.push(self.tools.line(&command));
            made.ran = self.tools.run(folder.path(), &command)?;
            made.said.push_str(&made.ran.said);
            if !made.ran.succeeded {
                break;
            }
        }
        if let Some(keep) = self.keep.as_ref().filter(|_| objects == Objects::Own) {
            keep_files(folder.path(), keep).map_err(|error| format!("{}: {error}", keep.display()))?;
            let words = ["cd".to_owned(), keep.display().to_string()];
            made.commands.insert(0, shlex::try_join(words.iter().map(String::as_str)).unwrap_or_default());
        }
        if !made.ran.succeeded {
            return Ok(made);
        }
        let output = self.case.steps.last().map_or("", |step| step.to.as_str());
        let path = folder.path().join(output);
        made.output = read(&path, MOST).ok();
        let is_judged = |output: &[u8]| !is_relocatable(output) && has_section(output);
        if self.case.runs && objects == Objects::Own && made.output.as_deref().is_some_and(is_judged) {
            made.run = executed(&path);
        }
        Ok(made)
    }

    /// The name of an input in the folder, where it is made unless it is there.
    fn file(
        &self,
        name: &str,
        input: &Input,
        objects: Objects,
        folder: &Path,
        made: &mut Made,
    ) -> Result<String, String> {
        let (file, patch, from) = match input {
            Input::Made(name) => return Ok(name.clone()),
            Input::Generated(generated, name) => {
                let like = LinkCases::name_of(&Folder::Own, "two.o", self.abi, self.version);
                let object = generated.object(self.cases.object(&like)?, objects == Objects::Plain)?;
                let file = format!("{name}.o");
                std::fs::write(folder.join(&file), &object).map_err(|error| format!("{file}: {error}"))?;
                made.inputs.push((input.clone(), object));
                return Ok(file);
            }
            Input::Object { file, patch, folder } => (file, patch, folder),
        };
        let (from, patch) = match objects {
            Objects::Plain => (&Folder::Plain, None),
            Objects::Sound => (from, None),
            Objects::OneAbi if matches!(from, Folder::Abi(_)) => (&Folder::Own, None),
            Objects::OneAbi => (from, None),
            Objects::Own => (from, patch.as_ref().and_then(|name| self.case.patched.get(name))),
        };
        let object = LinkCases::name_of(from, file, self.abi, self.version);
        let bytes = self.cases.object(&object)?.to_vec();
        let mut given = bytes.clone();
        if let Some(patch) = patch {
            patch.apply(&mut given).ok_or_else(|| format!("{object}: its .sframe can't be changed so"))?;
        }
        let stem = name.replace(':', "-");
        let file = if file.contains('.') && !stem.contains('.') { format!("{stem}.o") } else { stem };
        std::fs::write(folder.join(&file), &given).map_err(|error| format!("{file}: {error}"))?;
        if !made.inputs.iter().any(|(other, _)| other == input) {
            made.inputs.push((input.clone(), bytes));
        }
        Ok(file)
    }

    fn copy_scripts(&self, folder: &Path) -> Result<(), String> {
        let options = self.case.steps.iter().flat_map(|step| &step.options);
        for script in options.filter_map(|option| option.strip_prefix("script=")) {
            let from = self.cases.folder.join("sources").join(script);
            std::fs::copy(&from, folder.join(script))
                .map_err(|error| format!("{}: {error}", from.display()))?;
        }
        Ok(())
    }
}

/// Whether a file has a section.
pub(super) fn has_section(file: &[u8]) -> bool {
    find_sframe(file).is_ok_and(|section| section.is_some())
}

/// How a tool has crashed: the line that shows it, or how it has ended.
fn crash(ran: &Ran) -> String {
    let shows = ran.said.lines().map(str::trim).find(|line| is_crash(line));
    shows.unwrap_or(&ran.ended).to_owned()
}

/// The largest output that is judged, in bytes.
const MOST: u64 = 256 << 20;

/// What has been said, if it is not much.
fn shortened(said: &str) -> String {
    const MOST: usize = 2000;
    said.chars().take(MOST).collect()
}

/// The most instructions that a program of a case executes.
const BUDGET: u64 = 100_000;

/// What is wrong where a program is executed.
fn executed(path: &Path) -> Vec<LinkFinding> {
    examined(path).unwrap_or_else(|error| {
        vec![LinkFinding::new(
            LinkFault::Run,
            Vec::new(),
            format!("the program can't be checked by running it: {error}"),
        )]
    })
}

fn examined(path: &Path) -> Result<Vec<LinkFinding>, String> {
    let files = Files::find(path, LibraryFolders::default()).map_err(|error| error.to_string())?;
    let made = MadeSections::of(&files, SectionSource::Sframe);
    let target = Target::open_made(&files, &made).map_err(|error| error.to_string())?;
    let mut unwinder = sframe_unwinder(&target);
    let look = ExamineOptions::default();
    let examination =
        examine(&target, &mut *unwinder, &look, &Options { budget: BUDGET, ..Options::default() })
            .map_err(|error| error.to_string())?;
    if let Some(reason) = broken_reason(&examination, &target, Some(0)) {
        return Err(reason.to_string());
    }
    let mut all = BTreeMap::new();
    for finding in &examination.findings {
        let function = finding.function.clone().unwrap_or_default();
        let says = rules_of(finding.row.as_ref());
        let message = || finding.message.to_string();
        all.entry((finding.verdict, function, says)).or_insert_with(message);
    }
    let finding =
        |((_, function, says), message)| LinkFinding::of_rows(LinkFault::Run, function, says, message);
    Ok(all.into_iter().map(finding).collect())
}
