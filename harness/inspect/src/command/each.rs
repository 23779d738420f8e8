//! One command on any number of files, one after another.

use std::borrow::Borrow;
use std::cell::RefCell;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde::ser::{Error as _, SerializeMap as _, SerializeSeq};
use serde::{Serialize, Serializer};
use walkdir::WalkDir;

use super::exit::{Failure, Status};
use super::interrupt::at_interrupt;
use super::subject::{Archive, Given, Kind, Subject, SubjectError, Unusable, thin_members};
use super::volume::{Volume, volume};
use super::{detail, print, print_json, print_parts, tell_line};
use sframe_elf::link::{LoadedModule, Module, ModuleError, load_module};
use sframe_kit::conclusion::{Conclusion, Ending};
use sframe_kit::json::SCHEMA;
use sframe_kit::text::{Text, counted, grouped};

/// A command that inspects files one by one.
pub trait Inspect {
    /// The section that files need.
    fn section(&self) -> &'static str {
        ".sframe"
    }

    /// Whether files are judged, and not only shown.
    fn judges(&self) -> bool {
        true
    }

    /// Whether files are loaded as modules of a kernel first.
    fn loads_modules(&self) -> bool {
        false
    }

    /// Inspects a file and shows what it has found.
    ///
    /// # Errors
    /// The file can't be used, or what was found can't be written.
    fn inspect(&mut self, file: &Subject, show: &mut impl Show) -> Result<Status, Stop>;

    /// Whether the last file had no section, and was judged for that.
    fn lacked_section(&self) -> bool {
        false
    }

    /// Takes notice of what can't be used.
    fn refused(&mut self, _file: &str, _error: &str) {}

    /// Whether somebody has asked for the end: the files that are left are only counted. Without an answer, an interrupt
    /// is such a request.
    fn is_over(&self) -> Option<bool> {
        None
    }

    /// How all of it ends, if not as the files have ended.
    fn end(&self) -> Option<(Status, Ending)> {
        None
    }

    /// What else there is to say of all files together.
    fn facts(&self) -> Vec<String> {
        Vec::new()
    }

    /// Why a file without a section that nobody has named should have one, if it should.
    fn should_have_section(&self, _: &Subject) -> Option<String> {
        None
    }
}

/// Why a file was not inspected.
pub enum Stop {
    /// It can't be used.
    File(Unusable),
    /// What was found can't be written.
    Output(Failure),
}

impl From<Unusable> for Stop {
    fn from(unusable: Unusable) -> Self {
        Self::File(unusable)
    }
}

impl From<Failure> for Stop {
    fn from(failure: Failure) -> Self {
        Self::Output(failure)
    }
}

/// Where the results go.
pub trait Show {
    /// Shows what was found in a file: the document, or the text in parts.
    ///
    /// # Errors
    /// It can't be written.
    fn show<T>(&mut self, document: &impl Serialize, text: impl FnOnce() -> T) -> Result<(), Failure>
    where
        T: IntoIterator<Item: Borrow<Text>>;

    /// Counts a file that can't be used, before its error is printed.
    ///
    /// # Errors
    /// It can't be written.
    fn refuse(&mut self, file: &str, error: &str) -> Result<(), Failure>;
}

/// Inspects all files that arguments name. A single file is shown as it is; of several, and of those in a
/// folder or an archive, one that can't be used is an error among the results.
///
/// # Errors
/// The only file can't be used, or what was found can't be written.
pub fn execute<C: Inspect>(command: &mut C, arguments: &[PathBuf], json: bool) -> Result<Status, Failure> {
    if let [path] = arguments {
        let name = path.display().to_string();
        if let Given::File(file) = Given::open(path).map_err(|unusable| unusable.failure(&name))? {
            return inspect(command, &file, &mut One { json }).map_err(|stop| match stop {
                Stop::File(unusable) => unusable.failure(&name),
                Stop::Output(failure) => failure,
            });
        }
    }
    let over = Arc::new(AtomicBool::new(false));
    if command.is_over().is_none() {
        let over = Arc::clone(&over);
        at_interrupt(move || over.store(true, Ordering::Relaxed));
    }
    if json {
        let (command, tally) = (RefCell::new(command), RefCell::default());
        let documents = Documents { command, arguments, tally, over: &over };
        print_json(&documents)?;
        return Ok(documents.tally.into_inner().status());
    }
    let mut show = Blocks { is_first: true };
    let mut tour = Tour { command, show: &mut show, tally: Tally::default(), over: &over };
    tour.visit_all(arguments)?;
    let Tour { command, mut tally, .. } = tour;
    let ending = tally.end(command);
    if tally.inspected + tally.without_found + tally.left > 0 && volume() != Volume::Quiet {
        print(&tally.text(command, ending))?;
    }
    Ok(tally.status())
}

/// Inspects what an argument names, and shows nothing.
///
/// # Errors
/// One of the files can't be used.
pub(super) fn visit<C: Inspect>(command: &mut C, argument: &Path) -> Result<(), Failure> {
    let over = AtomicBool::new(false);
    Tour { command, show: &mut Nothing, tally: Tally::default(), over: &over }.visit(argument)
}

/// What can't be used ends the command.
struct Nothing;

impl Show for Nothing {
    fn show<T>(&mut self, _: &impl Serialize, _: impl FnOnce() -> T) -> Result<(), Failure>
    where
        T: IntoIterator<Item: Borrow<Text>>,
    {
        Ok(())
    }

    fn refuse(&mut self, file: &str, error: &str) -> Result<(), Failure> {
        Err(Failure::unusable(format!("error: {file}: {error}")))
    }
}

/// Inspects a file, or what a kernel makes of it.
fn inspect<C: Inspect>(command: &mut C, file: &Subject, show: &mut impl Show) -> Result<Status, Stop> {
    if !command.loads_modules() {
        return command.inspect(file, show);
    }
    let LoadedModule { file: bytes, module } = file.checked(load_module(file.source()))?;
    let judges = command.judges();
    command.inspect(&file.made_into(bytes)?, &mut AsModule { show, module: &module, judges })
}

impl SubjectError for ModuleError {
    fn lacks_section(&self) -> bool {
        false
    }
}

/// What is found in a loaded module, and what loading it has done.
struct AsModule<'s, S> {
    show: &'s mut S,
    module: &'s Module,
    /// Whether the text ends with a verdict.
    judges: bool,
}

#[derive(Serialize)]
struct OfModule<'d, D> {
    #[serde(flatten)]
    document: &'d D,
    module: &'d Module,
}

/// A part of a text about a module.
enum Part<T> {
    Found(T),
    Module(Text),
}

impl<T: Borrow<Text>> Borrow<Text> for Part<T> {
    fn borrow(&self) -> &Text {
        match self {
            Self::Found(text) => text.borrow(),
            Self::Module(text) => text,
        }
    }
}

impl<S: Show> Show for AsModule<'_, S> {
    fn show<T>(&mut self, document: &impl Serialize, text: impl FnOnce() -> T) -> Result<(), Failure>
    where
        T: IntoIterator<Item: Borrow<Text>>,
    {
        let module = self.module;
        let judges = self.judges;
        self.show.show(&OfModule { document, module }, || {
            let of_module = (volume() != Volume::Quiet).then(|| module.text());
            // A verdict comes last.
            let (before, after) = if judges { (of_module, None) } else { (None, of_module) };
            let found = text().into_iter().map(Part::Found);
            before.map(Part::Module).into_iter().chain(found).chain(after.map(Part::Module))
        })
    }

    fn refuse(&mut self, file: &str, error: &str) -> Result<(), Failure> {
        self.show.refuse(file, error)
    }
}

/// A file by itself.
struct One {
    json: bool,
}

impl Show for One {
    fn show<T>(&mut self, document: &impl Serialize, text: impl FnOnce() -> T) -> Result<(), Failure>
    where
        T: IntoIterator<Item: Borrow<Text>>,
    {
        if self.json { print_json(document) } else { print_parts(text()) }
    }

    fn refuse(&mut self, _: &str, _: &str) -> Result<(), Failure> {
        Ok(())
    }
}

/// Texts with a line between them.
struct Blocks {
    is_first: bool,
}

impl Show for Blocks {
    fn show<T>(&mut self, _: &impl Serialize, text: impl FnOnce() -> T) -> Result<(), Failure>
    where
        T: IntoIterator<Item: Borrow<Text>>,
    {
        let mut parts = text().into_iter().peekable();
        let begins_blank = parts.peek().is_some_and(|part| part.borrow().starts_with('\n'));
        let is_empty = parts.peek().is_none_or(|part| part.borrow().is_empty());
        if !is_empty && !std::mem::take(&mut self.is_first) && !begins_blank {
            let mut blank = Text::default();
            blank.blank();
            print(&blank)?;
        }
        print_parts(parts)
    }

    fn refuse(&mut self, _: &str, _: &str) -> Result<(), Failure> {
        Ok(())
    }
}

/// Elements of a list, written as they come.
struct Elements<'s, S: SerializeSeq> {
    list: &'s mut S,
    error: Option<S::Error>,
}

impl<S: SerializeSeq> Elements<'_, S> {
    fn add(&mut self, document: &impl Serialize) -> Result<(), Failure> {
        self.list.serialize_element(document).map_err(|error| {
            let failure = Failure::broken(format!("error: {error}"));
            self.error = Some(error);
            failure
        })
    }
}

impl<S: SerializeSeq> Show for Elements<'_, S> {
    fn show<T>(&mut self, document: &impl Serialize, _: impl FnOnce() -> T) -> Result<(), Failure>
    where
        T: IntoIterator<Item: Borrow<Text>>,
    {
        self.add(document)
    }

    fn refuse(&mut self, file: &str, error: &str) -> Result<(), Failure> {
        #[derive(Serialize)]
        struct Refused<'r> {
            file: &'r str,
            error: &'r str,
        }
        self.add(&Refused { file, error })
    }
}

/// The document about several files, which are inspected while it is written.
struct Documents<'d, C> {
    command: RefCell<&'d mut C>,
    arguments: &'d [PathBuf],
    tally: RefCell<Tally>,
    over: &'d AtomicBool,
}

impl<C: Inspect> Serialize for Documents<'_, C> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut document = serializer.serialize_map(None)?;
        document.serialize_entry("schema", &SCHEMA)?;
        document.serialize_entry("files", &Files(self))?;
        let (mut tally, command) = (self.tally.borrow_mut(), self.command.borrow());
        document.serialize_entry("without_section", &tally.without)?;
        let verdict = tally.end(&**command);
        if tally.left > 0 {
            document.serialize_entry("left", &tally.left)?;
        }
        // What is written as it comes has it last.
        document.serialize_entry("verdict", &verdict)?;
        document.end()
    }
}

struct Files<'f, 'd, C>(&'f Documents<'d, C>);

impl<C: Inspect> Serialize for Files<'_, '_, C> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Documents { command, arguments, tally, over } = self.0;
        let mut list = serializer.serialize_seq(None)?;
        let mut show = Elements { list: &mut list, error: None };
        let mut command = command.borrow_mut();
        let mut tour = Tour { command: &mut **command, show: &mut show, tally: Tally::default(), over };
        let visited = tour.visit_all(arguments);
        tally.replace(tour.tally);
        if visited.is_err() {
            return Err(show.error.unwrap_or_else(|| S::Error::custom("the results can't be written")));
        }
        list.end()
    }
}

/// How many files there were, and what became of them.
#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    inspected: u64,
    /// Those with findings.
    found: u64,
    /// Those of which nothing was judged, or too little.
    open: u64,
    /// Those of which not all was looked at.
    unfinished: u64,
    /// ELF files without a section, in folders and archives.
    without: u64,
    /// Those of them that should have one.
    without_found: u64,
    /// Files, folders and archives that can't be used.
    refused: u64,
    /// Those that nobody waits for any more.
    left: u64,
    worst: Option<Status>,
}

impl Tally {
    fn add(&mut self, status: Status) {
        self.found += u64::from(status == Status::Finding);
        self.open += u64::from(status == Status::NothingCompared);
        self.unfinished += u64::from(status == Status::Broken);
        self.worsen(status);
    }

    fn worsen(&mut self, status: Status) {
        let worse = self.worst.is_none_or(|worst| worst.weight() < status.weight());
        self.worst = if worse { Some(status) } else { self.worst };
    }

    fn status(self) -> Status {
        self.worst.unwrap_or(Status::AsExpected)
    }

    /// Takes in what the command says of all files together. Returns how they have ended.
    fn end(&mut self, command: &impl Inspect) -> Ending {
        let interrupted = (self.left > 0).then_some((Status::Broken, Ending::Interrupted));
        let end = command.end().or(interrupted);
        end.iter().for_each(|(status, _)| self.worsen(*status));
        end.map_or_else(|| self.status().into(), |(_, ending)| ending)
    }

    /// The last lines: how many files came out how.
    fn text(self, command: &impl Inspect, ending: Ending) -> Text {
        let mut files = format!("{} with {}", counted(self.inspected, "file"), command.section());
        let right = self.inspected.saturating_sub(self.found + self.open + self.unfinished);
        let all = |count: u64| count == self.inspected && count > 1;
        let parts = [
            (self.found, "with findings"),
            (self.unfinished, "not finished"),
            (self.open, "inconclusive"),
            (right, "passed"),
        ];
        let parts = parts.into_iter().filter(|(count, _)| *count > 0).map(|(count, how)| {
            if all(count) { format!("all {how}") } else { format!("{} {how}", grouped(count)) }
        });
        // Whoever only shows files says which could not be shown.
        let is_counted = command.judges() || self.found > 0;
        if is_counted && self.inspected > 0 {
            files += &format!(": {}", parts.collect::<Vec<_>>().join(", "));
        }
        let without = match self.without_found {
            0 => String::new(),
            found => format!(", of which {} should have it", grouped(found)),
        };
        let without = (self.without > 0).then(|| format!("{} without it{without}", grouped(self.without)));
        let refused = (self.refused > 0).then(|| counted(self.refused, "error"));
        let left = (self.left > 0).then(|| format!("{} left", counted(self.left, "file")));
        let facts =
            std::iter::once(files).chain(without).chain(refused).chain(left).chain(command.facts()).collect();
        let mut text = Text::default();
        text.blank();
        Conclusion { ending, facts }.show(&mut text);
        text
    }
}

/// Goes through files.
struct Tour<'t, C, S> {
    command: &'t mut C,
    show: &'t mut S,
    tally: Tally,
    /// Whether somebody has interrupted it.
    over: &'t AtomicBool,
}

impl<C: Inspect, S: Show> Tour<'_, C, S> {
    fn is_over(&self) -> bool {
        self.command.is_over().unwrap_or_else(|| self.over.load(Ordering::Relaxed))
    }

    fn visit_all(&mut self, arguments: &[PathBuf]) -> Result<(), Failure> {
        arguments.iter().try_for_each(|path| self.visit(path))
    }

    fn visit(&mut self, path: &Path) -> Result<(), Failure> {
        let name = path.display().to_string();
        match Given::open(path) {
            Err(unusable) => self.refuse(&name, &unusable.message),
            Ok(Given::File(file)) => self.inspect(&file, false),
            Ok(Given::Archive(archive)) => {
                self.group(&name, "this archive has no ELF file", |tour| tour.archive(archive))
            }
            Ok(Given::Folder) => {
                self.group(&name, "there is no ELF file in this folder", |tour| tour.folder(path))
            }
        }
    }

    /// Visits what is in a folder or an archive: that there is nothing to inspect in all of it is an error.
    fn group(
        &mut self,
        name: &str,
        empty: &str,
        visit: impl FnOnce(&mut Self) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let before = self.tally;
        visit(self)?;
        let Tally { inspected, without, without_found, refused, .. } = self.tally;
        let is_empty =
            (inspected, without_found, refused) == (before.inspected, before.without_found, before.refused);
        if !is_empty || self.is_over() {
            return Ok(());
        }
        match without - before.without {
            0 => self.refuse(name, empty),
            1 => self
                .refuse(name, &format!("the only ELF file in it has no {} section", self.command.section())),
            count => {
                let (files, section) = (grouped(count), self.command.section());
                self.refuse(name, &format!("none of the {files} ELF files in it has an {section} section"))
            }
        }
    }

    fn folder(&mut self, folder: &Path) -> Result<(), Failure> {
        for entry in WalkDir::new(folder).sort_by_file_name() {
            let path = match &entry {
                Ok(entry) if entry.file_type().is_file() => entry.path(),
                Ok(_) => continue,
                Err(error) => {
                    let path = error.path().unwrap_or(folder).display().to_string();
                    let message = error.io_error().map_or_else(|| error.to_string(), ToString::to_string);
                    self.refuse(&path, &message)?;
                    continue;
                }
            };
            match kind_of(path) {
                Ok(Kind::Elf) => match Given::open(path) {
                    Ok(Given::File(file)) => self.inspect(&file, true)?,
                    // It is another one now.
                    Ok(_) => {}
                    Err(unusable) => self.refuse(&path.display().to_string(), &unusable.message)?,
                },
                Ok(Kind::OtherElf) => self.tally.without += 1,
                Ok(Kind::Archive) => match Archive::open(path) {
                    Ok(archive) => self.archive(archive)?,
                    Err(unusable) => self.refuse(&path.display().to_string(), &unusable.message)?,
                },
                Ok(Kind::ThinArchive) => self.thin_archive(path, folder)?,
                Ok(Kind::Section | Kind::Other) => {}
                Err(error) => self.refuse(&path.display().to_string(), &error.to_string())?,
            }
        }
        Ok(())
    }

    /// The members of a thin archive are files of their own: those outside the folder have not been seen there.
    fn thin_archive(&mut self, path: &Path, folder: &Path) -> Result<(), Failure> {
        let members = match thin_members(path) {
            Ok(members) => members,
            Err(unusable) => return self.refuse(&path.display().to_string(), &unusable.message),
        };
        let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
        for member in members.iter().filter(|member| !real(member).starts_with(real(folder))) {
            match (kind_of(member), Given::open(member)) {
                (Ok(Kind::Elf), Ok(Given::File(file))) => self.inspect(&file, true)?,
                (Ok(Kind::OtherElf), _) => self.tally.without += 1,
                (Ok(_), Ok(_)) => {}
                (Err(error), _) => self.refuse(&member.display().to_string(), &error.to_string())?,
                (_, Err(unusable)) => self.refuse(&member.display().to_string(), &unusable.message)?,
            }
        }
        Ok(())
    }

    fn archive(&mut self, mut archive: Archive) -> Result<(), Failure> {
        let (members, unusable) = archive.members();
        for member in members {
            match archive.kind(&member) {
                Ok(Kind::Elf) => match archive.member(&member) {
                    Ok(file) => self.inspect(&file, true)?,
                    Err(unusable) => self.refuse(&archive.name_of(&member), &unusable.message)?,
                },
                Ok(Kind::OtherElf) => self.tally.without += 1,
                Ok(Kind::Archive | Kind::ThinArchive | Kind::Section | Kind::Other) => {}
                Err(error) => self.refuse(&archive.name_of(&member), &error.to_string())?,
            }
        }
        match unusable {
            Some(unusable) => self.refuse(&archive.name, &unusable.message),
            None => Ok(()),
        }
    }

    /// Inspects a file. Nobody has named those that are found, which need not have a section.
    fn inspect(&mut self, file: &Subject, is_found: bool) -> Result<(), Failure> {
        if self.is_over() {
            self.tally.left += 1;
            return Ok(());
        }
        detail(|| &file.name);
        match inspect(self.command, file, self.show) {
            Ok(status) if self.command.lacked_section() => {
                self.tally.without += 1;
                self.tally.without_found += 1;
                self.tally.worsen(status);
                Ok(())
            }
            Ok(status) => {
                self.tally.inspected += 1;
                self.tally.add(status);
                Ok(())
            }
            Err(Stop::File(unusable)) if unusable.lacks_section && is_found => {
                self.tally.without += 1;
                let Some(why) = self.command.should_have_section(file) else { return Ok(()) };
                self.tally.without_found += 1;
                self.tally.worsen(Status::Finding);
                let message = format!("{}, although {why}", unusable.message);
                tell_line(format_args!("{}: {message}", file.name));
                self.show.refuse(&file.name, &message)
            }
            Err(Stop::File(unusable)) => self.refuse(&file.name, &unusable.message),
            Err(Stop::Output(failure)) => Err(failure),
        }
    }

    fn refuse(&mut self, name: &str, message: &str) -> Result<(), Failure> {
        self.command.refused(name, message);
        self.show.refuse(name, message)?;
        tell_line(format_args!("error: {name}: {message}"));
        self.tally.refused += 1;
        self.tally.add(Status::Unusable);
        Ok(())
    }
}

/// Returns what a file is.
fn kind_of(path: &Path) -> std::io::Result<Kind> {
    let mut start = Vec::new();
    std::fs::File::open(path)?.take(Kind::BYTES).read_to_end(&mut start)?;
    Ok(Kind::of(&start))
}
