//! `export`: data for readers that are tested without the bench.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand, ValueEnum};
use sframe_corpus::failure::of_documents;
use sframe_corpus::spec::catalogue::Catalogue;
use sframe_elf::file;
use sframe_engine::Abi;
use sframe_inspect::command::{Failure, Status, detail, note, print, write_output};
use sframe_judge::examine::stop::StopRequest;
use sframe_judge::external::StopsPerCase;
use sframe_judge::moments::{Image, Program, Stacks};
use sframe_kit::text::{Text, counted};
use sframe_readers::export::{HeaderOptions, LARGEST, document, files, header as vectors_header};
use sframe_readers::stacks::{
    Choice, LICENCE, OwnProgram, StacksReport, ask_engine, ask_external, export, header, text,
};

use sframe_samples::perf;
use sframe_suite::case::Case;

use super::help;
use super::interrupt::requests_here;
use super::numbers;
use super::options::{Folders, parse_jobs, set_jobs};
use super::program::ProgramOptions;
use super::report;
use super::run::{Selection, progress_bar};
use super::unwinder::UnwinderCommand;
use super::vectors::{VectorSelection, load};

/// The largest document that is read.
const LIMIT: u64 = 256 << 20;

#[derive(Args)]
pub(crate) struct Export {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    /// Moments of runs, with what a walk of the stack needs and what it has to find.
    #[command(after_help = help::EXPORT_STACKS)]
    Stacks(Box<ExportStacks>),
    /// The vectors: sections, questions about them, and all answers that are accepted.
    #[command(after_help = help::EXPORT_VECTORS)]
    Vectors(ExportVectors),
}

#[derive(Args)]
struct ExportVectors {
    #[command(flatten)]
    selection: VectorSelection,
    /// Write into this file; with `--format bin`, into this folder, which must not exist or be empty.
    #[arg(long, short, value_name = "PATH")]
    output: PathBuf,
    /// JSON, a header in C99 with tables and a runner, or a folder of sections with their answers.
    #[arg(long, value_enum, default_value_t = VectorFormat::Json)]
    format: VectorFormat,
    /// With `--format c`, what all names begin with, instead of `vectors` or `vectors_PROFILE`: one program can have several headers.
    #[arg(long, value_name = "NAME", value_parser = name_in_c)]
    name: Option<String>,
    /// Also sections of more than 64 KiB, which recipes make: answers about these take a hundred times as much, and C
    /// compilers minutes for them.
    #[arg(long)]
    large: bool,
    #[command(flatten)]
    folders: Folders,
}

/// What a name in C may begin with.
fn name_in_c(name: &str) -> Result<String, String> {
    let is_name = name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
        && name.chars().all(|it| it.is_ascii_alphanumeric() || it == '_');
    match is_name {
        true => Ok(name.to_owned()),
        false => Err("a name in C has letters, digits and `_`, and begins with no digit".to_owned()),
    }
}

#[derive(Clone, Copy, ValueEnum)]
enum VectorFormat {
    Json,
    C,
    Bin,
}

#[derive(Args)]
struct ExportStacks {
    /// Also an executable, beside the corpus.
    file: Option<PathBuf>,
    /// Write into this file; with `--format perf`, into this folder.
    #[arg(long, short, value_name = "FILE")]
    output: PathBuf,
    /// JSON, a header in C99 with tables and a runner, or a folder with perf.data of each ABI and the same moments as JSON.
    #[arg(long, value_enum, default_value_t = Format::Json)]
    format: Format,
    /// With `--format c`, what all names begin with, instead of `stacks`: one program can have several headers.
    #[arg(long, value_name = "NAME", value_parser = name_in_c)]
    name: Option<String>,
    /// The most moments.
    #[arg(long, value_name = "N", default_value_t = Choice::default().moments,
          value_parser = numbers::count::<usize>(numbers::POSITIVE, "moments"))]
    moments: usize,
    /// Decides between moments that are equally good.
    #[arg(long, value_name = "N", default_value_t = Choice::default().seed,
          value_parser = numbers::seed)]
    seed: u64,
    /// How many cases to run at once; 0 for one per processor.
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = parse_jobs)]
    jobs: usize,
    #[command(flatten)]
    folders: Folders,
    #[command(flatten)]
    selection: Selection,
    #[command(flatten)]
    program: ProgramOptions,
}

#[derive(Clone, Copy, ValueEnum)]
enum Format {
    Json,
    C,
    Perf,
}

impl Export {
    pub(crate) fn execute(&self) -> Result<Status, Failure> {
        match &self.what {
            What::Stacks(stacks) => stacks.execute(),
            What::Vectors(vectors) => vectors.execute(),
        }
    }
}

/// Names begin with something in C only.
fn no_name() -> Failure {
    Failure::unusable("error: --name is for --format c")
}

impl ExportVectors {
    fn execute(&self) -> Result<Status, Failure> {
        if self.name.is_some() && !matches!(self.format, VectorFormat::C) {
            return Err(no_name());
        }
        let suite = load(&self.folders)?;
        let mut vectors = self.selection.of(&suite, &self.folders)?;
        if vectors.is_empty() {
            return Err(Failure::unusable("error: no vector is selected: nothing is written"));
        }
        let mut left_out = Vec::new();
        if !self.large {
            (vectors, left_out) = vectors.into_iter().partition(|vector| vector.bytes.len() <= LARGEST);
            if !left_out.is_empty() {
                let left_out = counted(left_out.len() as u64, "vector");
                note(format_args!("warning: left out: {left_out} of more than {LARGEST} bytes (--large)"));
            }
            if vectors.is_empty() {
                return Err(Failure::unusable("error: nothing else is selected: nothing is written"));
            }
        }
        match self.format {
            VectorFormat::Json => {
                write_output(&self.output, document(&vectors, &left_out, LICENCE).as_bytes())?;
            }
            VectorFormat::C => {
                let profile = self.selection.profile.iter().map(|profile| format!(" --profile {profile}"));
                let only = self.selection.only.iter().map(|pattern| format!(" --only '{pattern}'"));
                let how: String = profile.chain(only).collect();
                let profile = self.selection.profile_of(&suite, &self.folders)?.map(|profile| profile.name);
                let options = HeaderOptions {
                    profile: profile.as_deref(),
                    name: self.name.as_deref(),
                    how: &format!("export vectors{how}"),
                };
                write_output(&self.output, vectors_header(&vectors, &left_out, &options).as_bytes())?;
            }
            VectorFormat::Bin => {
                let is_free = match std::fs::read_dir(&self.output) {
                    Ok(mut entries) => entries.next().is_none(),
                    Err(error) => error.kind() == std::io::ErrorKind::NotFound,
                };
                if !is_free {
                    let path = self.output.display();
                    return Err(Failure::unusable(format!("error: {path}: there is something else already")));
                }
                for (name, bytes) in files(&vectors, LICENCE) {
                    let path = self.output.join(name);
                    if let Some(folder) = path.parent() {
                        report::create(folder)?;
                    }
                    write_output(&path, &bytes)?;
                }
            }
        }
        let mut text = Text::default();
        text.line(format_args!(
            "{} with {}",
            counted(vectors.len() as u64, "vector"),
            counted(vectors.iter().map(|vector| vector.asked().len() as u64).sum(), "question")
        ));
        print(&text)?;
        Ok(Status::AsExpected)
    }
}

impl ExportStacks {
    fn execute(&self) -> Result<Status, Failure> {
        if self.name.is_some() && !matches!(self.format, Format::C) {
            return Err(no_name());
        }
        set_jobs(self.jobs)?;
        let options = self.program.machine.options();
        let own = self
            .file
            .as_deref()
            .map(|file| self.program.open(file, options.clone(), &StopRequest::default()))
            .transpose()?;
        let own = own.map(|program| OwnProgram {
            name: program.name,
            files: program.files,
            options: program.options,
        });
        let suite = self.folders.open(&self.selection.filter())?;
        let cases = suite.cases(&self.selection.filter())?;
        let catalogue = Catalogue::load(&self.folders.specs.join("clauses.yaml"));
        let catalogue = catalogue.map_err(|errors| of_documents(&errors))?;
        let clauses: BTreeSet<String> = catalogue.clauses.into_iter().map(|clause| clause.id).collect();
        let choice = Choice { moments: self.moments, seed: self.seed, ..Choice::default() };
        let bar = progress_bar(cases.len() as u64, "cases");
        let done = || bar.inc(1);
        let place = (suite.corpus(), &options);
        let exported = export(&cases, own.as_ref(), place, &choice, &clauses, &done)
            .map_err(|reason| Failure::broken(format!("error: {}", reason.text())))?;
        bar.finish_and_clear();
        for (name, why) in &exported.broken {
            note(format_args!("warning: left out: {name}: {why}"));
        }
        for (name, moments) in exported.by_program() {
            detail(|| format!("{name}: {moments}"));
        }
        if exported.stacks.programs.is_empty() {
            return Ok(Status::NothingCompared);
        }
        match self.format {
            Format::Json => write_output(&self.output, text(&exported.stacks).as_bytes())?,
            Format::C => {
                write_output(&self.output, header(&exported.stacks, self.name.as_deref()).as_bytes())?;
            }
            Format::Perf => self.write_perf(&exported.stacks, &cases, suite.corpus())?,
        }
        print(&exported.coverage.text())?;
        Ok(Status::AsExpected)
    }
}

impl ExportStacks {
    /// Writes perf.data of each ABI. Files of the corpus have their paths below its builds, and others their own.
    fn write_perf(&self, stacks: &Stacks, cases: &[Case<'_>], corpus: &Path) -> Result<(), Failure> {
        report::create(&self.output)?;
        let builds: BTreeMap<String, &str> = cases.iter().map(|case| (case.id(), &*case.build.id)).collect();
        let file = |program: &Program, image: &Image| {
            let (root, path) = match builds.get(&program.name) {
                Some(build) => (corpus.join("builds"), PathBuf::from(build)),
                None => (PathBuf::from("/"), self.file.as_ref()?.canonicalize().ok()?),
            };
            // Libraries are beside the executable.
            let is_library = image.name != program.name;
            let path = if is_library { path.with_file_name(&image.name) } else { path };
            let recorded = Path::new("/").join(&path).display().to_string();
            Some((recorded, file::read(&root.join(path), file::MAX_BYTES).ok()?))
        };
        for abi in Abi::ALL {
            let programs: Vec<&Program> = stacks.programs.iter().filter(|it| it.abi == abi).collect();
            if !programs.is_empty() {
                let recording = perf::recording_of(abi, &programs, &file);
                let path = self.output.join(format!("{abi}.data"));
                write_output(&path, &perf::write(&recording, perf::LARGEST))?;
            }
        }
        write_output(&self.output.join("stacks.json"), text(stacks).as_bytes())
    }
}

/// Asks about the moments of a document of `export stacks`.
pub(super) fn ask_stacks(path: &Path, unwinder: &UnwinderCommand) -> Result<StacksReport, Failure> {
    let unusable = |error: &dyn std::fmt::Display| {
        let mut text = Text::default();
        text.line(format_args!("error: {}: {error}", path.display()));
        Failure::unusable_text(text)
    };
    let bytes = file::read(path, LIMIT).map_err(|error| unusable(&error))?;
    let stacks = Stacks::read(&bytes).map_err(|error| unusable(&error))?;
    let external = unwinder.start(StopsPerCase::DEFAULT, requests_here())?;
    match external {
        None => ask_engine(&stacks).map_err(|error| unusable(&error)),
        Some(external) => ask_external(&stacks, &external)
            .map_err(|error| Failure::broken(format!("error: --unwinder: {error}"))),
    }
}
