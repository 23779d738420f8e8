//! The mutants of a build.

use std::path::Path;

use sframe_engine::write::{self, Function, Section as Owned};
use sframe_isa::Disassembly;
use sframe_judge::calls::Readings;
use sframe_judge::compare::Truth;
use sframe_judge::examine::Probe;
use sframe_judge::finding::{Address, FindingRow};
use sframe_judge::target::files::Files;
use sframe_judge::target::{Loaded, Target};
use sframe_judge::unwind::{Viewpoint, sframe_unwinder};
use sframe_judge::vocabulary::Verdict;
use sframe_kit::text::with_causes;
use sframe_machine::{Moment, Options};
use sframe_suite::case::{Case, Outcome, RunScope};

use super::equivalence::Reason;
use super::equivalence::{give_the_same_values, mean_the_same};
use super::explored;
use super::mutation::{Mutation, mutations};
use super::plan::{MutateError, Plan, rank, specs};
use super::report::{Fate, Killer, MutationReport, Origin, Survivor};
use super::returns::Returns;
use super::trial::{Trial, Trials};

/// The section of one of a build's files, and the possible changes to it.
pub(super) struct MutatedSection<'t> {
    /// The position of the file among the target's modules.
    pub(super) module: usize,
    pub(super) section: Owned,
    original: &'t [u8],
    pub(super) code: &'t Disassembly,
    mutations: Vec<Mutation>,
}

impl<'t> MutatedSection<'t> {
    fn all_of(target: &'t Target<'_>) -> Result<Vec<Self>, sframe_engine::Error> {
        let mut subjects = Vec::new();
        for (module, of) in target.modules.iter().enumerate() {
            let (Some(section), Some(sframe)) = (&of.section, of.subject.sframe) else { continue };
            let owned = write::Section::from_read(section)?;
            let code = of.code();
            let mutations = mutations(&owned, code);
            subjects.push(Self { module, section: owned, original: sframe.data, code, mutations });
        }
        Ok(subjects)
    }

    /// The changes made by a plan's operators, by position.
    fn chosen<'s>(&'s self, plan: &'s Plan) -> impl Iterator<Item = (usize, &'s Mutation)> {
        let is_explored = self.module == EXECUTABLE;
        let is_chosen = move |mutation: &Mutation| {
            (plan.operators.is_empty() || plan.operators.contains(&mutation.operator))
                && (!plan.explores || is_explored && mutation.is_of_rows())
        };
        self.mutations.iter().enumerate().filter(move |(_, mutation)| is_chosen(mutation))
    }
}

/// The executable's position among the modules: only its functions are explored.
const EXECUTABLE: usize = 0;

/// A change that makes a different section.
pub(super) struct Mutant<'s> {
    pub(super) subject: &'s MutatedSection<'s>,
    pub(super) mutation: Mutation,
    pub(super) bytes: Vec<u8>,
}

impl Mutant<'_> {
    /// The function, as the section had it.
    fn function(&self) -> Option<&Function> {
        self.subject.section.functions.get(self.mutation.function?)
    }

    pub(super) fn survivor(&self, target: &Target<'_>, build: String) -> Survivor {
        let Mutant { subject, mutation, .. } = self;
        let function = self.function();
        let row = function.and_then(|function| function.rows.get(mutation.row?));
        let place = function.map(|function| target.place(Loaded(function.start)));
        let name = place
            .map(|place| place.function.map_or_else(|| Address(place.address.0).to_string(), str::to_owned));
        let range = function.map(|function| {
            let (start, end) = row.map_or((0, function.size), |row| (row.start, row.end));
            function.start + u64::from(start)..function.start + u64::from(end)
        });
        Survivor {
            operator: mutation.operator,
            build,
            image: target.modules[subject.module].name.clone(),
            function: name,
            row: row.map(FindingRow::new),
            message: mutation.to_string(),
            disassembly: range.map(|range| target.listing(range, LINES)).unwrap_or_default(),
            doubts: Vec::new(),
        }
    }
}

/// The mutants of a build.
pub(super) struct Mutants;

impl Mutants {
    /// Ranks all changes to a build, including those that the format can't
    /// express, or that change nothing.
    pub(super) fn ranks(cases: &[Case<'_>], corpus: &Path, plan: &Plan) -> Result<Vec<u64>, MutateError> {
        let (build, files) = read(cases, corpus)?;
        let target = open(build, &files)?;
        let subjects = subjects(build, &target)?;
        let ranks = |subject: &MutatedSection<'_>| {
            let module = subject.module;
            let chosen = subject.chosen(plan).map(|(index, _)| index).collect::<Vec<_>>();
            chosen.into_iter().map(move |index| rank(plan.seed, build, module, index))
        };
        Ok(subjects.iter().flat_map(ranks).collect())
    }

    /// Tries the mutants of a build up to the highest rank.
    pub(super) fn try_all(
        cases: &[Case<'_>],
        corpus: &Path,
        options: &Options,
        plan: &Plan,
        highest: u64,
    ) -> Result<MutationReport, MutateError> {
        let mut report = MutationReport::new(plan);
        let (build, files) = read(cases, corpus)?;
        let target = open(build, &files)?;
        let subjects = subjects(build, &target)?;
        let mut mutants = Vec::new();
        for subject in &subjects {
            let address = target.modules[subject.module].section_address();
            for (index, mutation) in subject.chosen(plan) {
                if rank(plan.seed, build, subject.module, index) > highest {
                    continue;
                }
                if let Some(bytes) = mutation.write(&subject.section, address, subject.original) {
                    mutants.push(Mutant { subject, mutation: *mutation, bytes });
                }
            }
        }
        if mutants.is_empty() {
            return Ok(report);
        }
        let Some(Case { build: facts, .. }) = cases.first() else { return Ok(report) };
        let all = mutants.len();
        let fates = if plan.explores {
            explored::fates(&target, build, &mutants, &plan.stop)
                .map_err(|error| MutateError::Machine { build: build.to_owned(), error })?
        } else {
            Attempt { cases, plan, options, target: &target }.fates(&mutants)?
        };
        report.left_builds = u64::from(fates.len() < all);
        for (mutant, fate) in fates {
            let origin = Origin {
                operator: mutant.mutation.operator,
                abi: facts.abi,
                version: facts.sframe_version,
                toolchain: &facts.toolchain,
                program: &facts.program,
            };
            report.count(&origin, fate);
        }
        Ok(report)
    }
}

fn read<'c>(cases: &[Case<'c>], corpus: &Path) -> Result<(&'c str, Files), MutateError> {
    let Some(Case { build, .. }) = cases.first() else {
        return Err(MutateError::Build { build: String::new(), reason: "no case".to_owned() });
    };
    let failed = |reason| MutateError::Build { build: build.id.clone(), reason };
    let files = build.files(corpus).map_err(|error| failed(with_causes(&error)))?;
    Ok((&build.id, files))
}

fn open<'a>(build: &str, files: &'a Files) -> Result<Target<'a>, MutateError> {
    Target::open_files(files)
        .map_err(|error| MutateError::Build { build: build.to_owned(), reason: with_causes(&error) })
}

fn subjects<'t>(build: &str, target: &'t Target<'_>) -> Result<Vec<MutatedSection<'t>>, MutateError> {
    MutatedSection::all_of(target)
        .map_err(|error| MutateError::Build { build: build.to_owned(), reason: error.to_string() })
}

/// The cases of a build, tried on its mutants.
struct Attempt<'t> {
    cases: &'t [Case<'t>],
    plan: &'t Plan,
    options: &'t Options,
    target: &'t Target<'t>,
}

impl<'t> Attempt<'t> {
    fn fates<'m>(&self, mutants: &'m [Mutant<'m>]) -> Result<Vec<(&'m Mutant<'m>, Fate)>, MutateError> {
        let mut fates = Vec::new();
        let mut open = Vec::new();
        for mutant in mutants {
            match self.target.with_section(mutant.subject.module, &mutant.bytes) {
                Ok(target) => open.push((mutant, target)),
                Err(_) => fates.push((mutant, Fate::Killed(Killer::Reader))),
            }
        }
        let (trials, returns) = self.run_once(&open)?;
        let is_stopped = || self.plan.stop.reason().is_some();
        for ((mutant, target), trial) in open.into_iter().zip(trials).take_while(|_| !is_stopped()) {
            fates.push((mutant, self.fate(mutant, &target, &trial, &returns)));
        }
        Ok(fates)
    }

    /// Runs each case once, evaluating all mutants alongside.
    fn run_once(
        &self,
        mutants: &[(&Mutant<'_>, Target<'_>)],
    ) -> Result<(Vec<Trial>, Returns<'t>), MutateError> {
        let bits = self.target.executable().image.cpu.address_bits;
        let mut all = All { trials: Vec::new(), returns: Returns::new(self.target) };
        // The trials that a mutant is in, and where.
        let mut places = Vec::new();
        for (mutant, target) in mutants {
            let module = mutant.subject.module;
            let index = match all.trials.iter().position(|(of, _)| *of == module) {
                Some(index) => index,
                None => {
                    let of = &self.target.modules[module];
                    let Some(section) = of.section.clone() else { continue };
                    let sections = self.target.sections.clone();
                    all.trials.push((module, Trials::new(section, of.image.range(), sections, bits)));
                    all.trials.len() - 1
                }
            };
            let Some(section) = target.modules[module].section.clone() else { continue };
            let scope = mutant.mutation.scope(&mutant.subject.section);
            all.trials[index].1.add(target.sections.clone(), section, scope);
            places.push(index);
        }
        for case in self.cases {
            let report = case.run_on(
                self.target,
                self.options,
                &sframe_unwinder,
                RunScope {
                    without_signals: false,
                    probe: Some(&mut all),
                    ignores_fp: self.plan.ignores_fp,
                    requires_reliable: false,
                    settles_late: false,
                    listing: None,
                },
            );
            if !matches!(report.outcome, Outcome::Agree | Outcome::Known | Outcome::Skipped) {
                let finding = report.findings.first().map(|finding| finding.message.to_string());
                let reason = report.reason.or(finding).unwrap_or_default();
                return Err(MutateError::Case { case: case.id(), reason });
            }
        }
        let All { trials, returns } = all;
        let mut results: Vec<_> =
            trials.into_iter().map(|(_, trials)| trials.results().into_iter()).collect();
        Ok((places.into_iter().filter_map(|index| results[index].next()).collect(), returns))
    }

    fn fate(&self, mutant: &Mutant<'_>, target: &Target<'_>, trial: &Trial, returns: &Returns<'_>) -> Fate {
        let Mutant { subject, mutation, .. } = mutant;
        if let Some(verdict) = trial.killed {
            if !mutation.is_throughout() {
                return Fate::Killed(Killer::Comparison(verdict));
            }
            // How a function leaves may excuse what its rows say all along: only a whole run shows whether
            // there is a finding. That much was excluded is none of its rows.
            let is_of_rows = |killer: &Killer| *killer != Killer::Spec(Verdict::NotReached);
            let killer = self.run_whole(target, false).filter(is_of_rows);
            return match killer.or_else(|| self.run_with_signals(target).filter(is_of_rows)) {
                Some(killer) => Fate::Killed(killer),
                None if mutant.function().is_some_and(|function| returns.has_returned(function.start)) => {
                    self.survived(mutant)
                }
                None => Fate::Equivalent(Reason::NoReturn),
            };
        }
        let module = subject.module;
        let sections = (&self.target.modules[module].section, &target.modules[module].section);
        let (Some(one), Some(other)) = sections else { return Fate::NotExercised };
        if !trial.exercised {
            let scope = mutation.scope(&subject.section);
            return if mean_the_same(one, other, subject.code, scope) {
                Fate::Equivalent(Reason::SameMeaning)
            } else {
                Fate::NotExercised
            };
        }
        if let Some(killer) = self.run_whole(target, false) {
            return Fate::Killed(killer);
        }
        if trial.uses.is_empty() {
            return Fate::Equivalent(Reason::NoCaller);
        }
        if give_the_same_values(one, other, subject.code, &trial.uses) {
            return Fate::Equivalent(Reason::SameValue);
        }
        if let Some(killer) = self.run_with_signals(target) {
            return Fate::Killed(killer);
        }
        self.survived(mutant)
    }

    /// Runs the cases on one mutant with the signals of their specs. `None` as well if there are none.
    fn run_with_signals(&self, target: &Target<'_>) -> Option<Killer> {
        let has_signals = self.cases.iter().any(|case| !case.spec.signals.is_empty());
        if has_signals { self.run_whole(target, true) } else { None }
    }

    fn survived(&self, mutant: &Mutant<'_>) -> Fate {
        let build = self.cases.first().map_or_else(|| specs(self.cases), |case| case.build.id.clone());
        Fate::Survived(Box::new(mutant.survivor(self.target, build)))
    }

    /// Runs the cases on one mutant, with all requirements of their specs.
    fn run_whole(&self, target: &Target<'_>, with_signals: bool) -> Option<Killer> {
        self.cases.iter().find_map(|case| {
            let report = case.run_on(
                target,
                self.options,
                &sframe_unwinder,
                RunScope {
                    without_signals: !with_signals,
                    probe: None,
                    ignores_fp: self.plan.ignores_fp,
                    requires_reliable: false,
                    settles_late: false,
                    listing: None,
                },
            );
            match report.outcome {
                Outcome::Broken => Some(Killer::Broken),
                Outcome::Unexpected => {
                    let verdict = report.findings.first().map_or(Verdict::Broken, |finding| finding.verdict);
                    Some(Killer::Spec(verdict))
                }
                Outcome::Agree | Outcome::Known | Outcome::Skipped => None,
            }
        })
    }
}

/// The most instructions listed for a survivor.
const LINES: usize = 16;

/// What is followed in the run of a case.
struct All<'a, 't> {
    /// The trials of all sections, by the module.
    trials: Vec<(usize, Trials<'a>)>,
    returns: Returns<'t>,
}

impl Probe for All<'_, '_> {
    fn start(&mut self) {
        self.returns.start();
    }

    fn executes(&mut self, moment: &Moment<'_>, _: &dyn Fn() -> Readings) {
        self.returns.follow(moment);
    }

    fn compared(&mut self, truth: &Truth<'_>, viewpoint: &Viewpoint<'_>, readings: &dyn Fn() -> Readings) {
        for (_, trials) in &mut self.trials {
            trials.compared(truth, viewpoint, readings);
        }
    }
}
