//! Runs programs, and keeps chosen moments of them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use rayon::prelude::*;
use sframe_judge::examine::{ExamineOptions, examine_with};
use sframe_judge::moments::{Recorder, SCHEMA, Stacks};
use sframe_judge::target::Target;
use sframe_judge::target::files::Files;
use sframe_judge::unwind::sframe_unwinder;
use sframe_machine::Options;

use super::LICENCE;
use super::choose::{Candidates, Choice, choose};
use super::coverage::Coverage;
use sframe_suite::case::{BrokenReason, Case, Outcome, RunScope};

/// A program that is not of the corpus.
pub struct OwnProgram {
    /// Its name.
    pub name: String,
    /// Its files.
    pub files: Files,
    /// How it is run.
    pub options: Options,
}

/// What was exported.
#[derive(Debug)]
pub struct Exported {
    /// The document.
    pub stacks: Stacks,
    /// What it covers.
    pub coverage: Coverage,
    /// Programs without moments, and why.
    pub broken: Vec<(String, String)>,
}

/// A program to run.
enum Source<'s> {
    Case(&'s Case<'s>),
    Own(&'s OwnProgram),
}

impl Source<'_> {
    fn name(&self) -> String {
        match self {
            Self::Case(case) => case.id(),
            Self::Own(program) => program.name.clone(),
        }
    }

    /// Runs it with a recorder, which `take` gets afterwards.
    fn record<T>(
        &self,
        corpus: &Path,
        options: &Options,
        copies: u32,
        wanted: Option<BTreeSet<usize>>,
        take: impl FnOnce(Recorder<'_, '_>, &Target<'_>) -> T,
    ) -> Result<Option<T>, BrokenReason> {
        match self {
            Self::Case(case) => {
                let files = case.build.files(corpus)?;
                let target = Target::open_files(&files)?;
                let mut recorder = Recorder::new(&target, copies, wanted);
                let scope = RunScope { probe: Some(&mut recorder), ..RunScope::default() };
                let report = case.run_on(&target, options, &sframe_unwinder, scope);
                Ok(match report.outcome {
                    Outcome::Skipped | Outcome::Broken => None,
                    _ => Some(take(recorder, &target)),
                })
            }
            Self::Own(program) => {
                let target = Target::open_files(&program.files)?;
                let mut recorder = Recorder::new(&target, copies, wanted);
                let mut engine = sframe_unwinder(&target);
                let look = ExamineOptions::default();
                examine_with(&target, &mut *engine, &look, &program.options, Some(&mut recorder))?;
                Ok(Some(take(recorder, &target)))
            }
        }
    }
}

/// Runs the cases and a program of the user's, and chooses moments. `done` is called after each run.
///
/// # Errors
/// A program of the user's can't be run. Cases that can't be run are left out, and named.
pub fn export(
    cases: &[Case<'_>],
    own: Option<&OwnProgram>,
    (corpus, options): (&Path, &Options),
    choice: &Choice,
    clauses: &BTreeSet<String>,
    done: &(dyn Fn() + Sync),
) -> Result<Exported, BrokenReason> {
    let mut builds = BTreeSet::new();
    let mut sources: Vec<Source<'_>> =
        cases.iter().filter(|case| builds.insert(case.build.id.as_str())).map(Source::Case).collect();
    sources.extend(own.map(Source::Own));
    sources.sort_by_cached_key(Source::name);
    let found: Vec<Result<Candidates, BrokenReason>> = sources
        .par_iter()
        .map(|source| {
            let taken = source.record(corpus, options, choice.copies, None, |recorder, target| Candidates {
                size: target.sections.iter().map(|section| section.data().len()).sum(),
                candidates: recorder.candidates,
            });
            done();
            Ok(taken?.unwrap_or(Candidates { size: 0, candidates: Vec::new() }))
        })
        .collect();
    let mut broken = Vec::new();
    let mut programs = Vec::new();
    for (source, found) in sources.iter().zip(found) {
        match (found, source) {
            (Err(error), Source::Own(_)) => return Err(error),
            (Err(error), Source::Case(_)) => {
                broken.push((source.name(), error.text()));
                programs.push(Candidates { size: 0, candidates: Vec::new() });
            }
            (Ok(candidates), _) => programs.push(candidates),
        }
    }
    let shown: BTreeSet<String> = programs
        .iter()
        .flat_map(|program| &program.candidates)
        .flat_map(|candidate| candidate.covers.iter().cloned())
        .collect();
    let chosen: Vec<(usize, BTreeSet<usize>)> = choose(&programs, choice).into_iter().collect();
    let mut made = chosen
        .par_iter()
        .map(|(index, wanted)| {
            let source = &sources[*index];
            let name = source.name();
            source.record(corpus, options, choice.copies, Some(wanted.clone()), |recorder, target| {
                let mut program = Recorder::program(target, &name);
                program.moments = recorder.moments.into_values().collect();
                program
            })
        })
        .collect::<Result<Vec<_>, _>>()?
        .into_iter()
        .flatten()
        .collect::<Vec<_>>();
    // What was shown before need not be said again.
    let mut said = BTreeSet::new();
    for moment in made.iter_mut().flat_map(|program| &mut program.moments) {
        moment.covers.retain(|it| said.insert(it.clone()));
    }
    let bench = format!("sframe-testbench {}", env!("CARGO_PKG_VERSION"));
    let stacks =
        Stacks { schema: SCHEMA, licence: LICENCE.to_owned(), bench, seed: choice.seed, programs: made };
    let coverage = Coverage::new(&stacks, sources.len() as u64, &shown, clauses, &text(&stacks));
    Ok(Exported { stacks, coverage, broken })
}

/// The document as text: a line for each program, and one for each moment.
#[must_use]
pub fn text(stacks: &Stacks) -> String {
    // All of it is text and numbers, which can always be written.
    let json = |value: &dyn Fn() -> serde_json::Result<String>| value().unwrap_or_default();
    let Stacks { programs, .. } = stacks;
    let mut text = json(&|| serde_json::to_string(&Stacks { programs: Vec::new(), ..stacks.clone() }));
    // Without `]}`.
    text.truncate(text.len().saturating_sub(2));
    for (index, program) in programs.iter().enumerate() {
        let mut without = program.clone();
        without.moments = Vec::new();
        let mut line = json(&|| serde_json::to_string(&without));
        line.truncate(line.len().saturating_sub(2));
        text += if index > 0 { ",\n" } else { "\n" };
        text += &line;
        for (index, moment) in program.moments.iter().enumerate() {
            text += if index > 0 { ",\n " } else { "\n " };
            text += &json(&|| serde_json::to_string(moment));
        }
        text += "]}";
    }
    text += "]}\n";
    text
}

impl Exported {
    /// The number of moments of each program, by its name.
    #[must_use]
    pub fn by_program(&self) -> BTreeMap<&str, usize> {
        self.stacks.programs.iter().map(|program| (program.name.as_str(), program.moments.len())).collect()
    }
}
