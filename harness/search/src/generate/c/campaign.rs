//! Generates, makes and judges many programs, and groups what is found.

use std::collections::BTreeMap;

use sframe_corpus::corpus::{Error, Maker, is_crash};
use sframe_corpus::signs::without_addresses;
use sframe_corpus::spec::Faults;
use sframe_engine::Abi;

use super::build::{Build, LEVELS, Level, build};
use super::contradictions::Contradiction;
use super::draw::draw;
use super::flags::known_flags;
use super::found::{Contradicts, Differs, Example, Found, Group, Refused, Unjudged};
use super::judge::{Fault, Judged, judge};
use super::known::{KnownCauses, Place};
use super::oracle::NotJudged;
use super::plan::{Plan, each};
use super::reduce::{Reduced, Symptom, reduce};
use super::shape::complaint;
use super::writer::write;
use crate::generate::Search;
use crate::generate::outcome::Outcome;

/// Which programs.
#[derive(Clone, Debug)]
pub struct CampaignOptions {
    /// Which of a seed.
    pub search: Search,
    /// How many functions each has.
    pub functions: u32,
    /// Whether they are linked in random ways.
    pub links: bool,
    /// Whether what is found is reduced.
    pub reduces: bool,
}

/// Makes and judges the programs of one toolchain and ABI.
///
/// # Errors
/// The toolchain does not compile for the ABI, or can't be started.
pub fn campaign(
    maker: &Maker,
    abi: Abi,
    options: &CampaignOptions,
    faults: &Faults,
    done: &(dyn Fn() + Sync),
) -> Result<Found, Error> {
    let causes = KnownCauses::of(faults, &maker.producer(abi)?, abi);
    let known = known_flags(maker, abi)?;
    let CampaignOptions { search, functions, links, reduces } = options;
    let mut found = Found { flags: known.len(), ..Found::default() };
    let mut tasks: Vec<Task> = Vec::new();
    let attempt = |number| {
        let plan = draw(search.seed, number, *functions);
        let how = Build::draw(maker, abi, search.seed, number, &plan, &known, *links);
        let outcome = |level| Ok((level, Outcome::of(build(maker, abi, &plan, &how, level), judge)?));
        let levels = LEVELS.into_iter().map(outcome).collect::<Result<_, Error>>()?;
        Ok(Trial { number, plan, build: how, levels })
    };
    let interrupted = search.programs(attempt, |trial| tasks.extend(found.add(&trial, &causes)), done)?;
    found.interrupted = interrupted;
    if !reduces {
        return Ok(found);
    }
    let reduced = search.reduced(tasks, |Task { plan, build, level, symptom, .. }| {
        reduce(maker, abi, plan, build, level, symptom, &causes)
    })?;
    for (task, reduced) in reduced {
        if let Some(reduced) = reduced {
            found.show(&task, &reduced);
        }
    }
    Ok(found)
}

/// One program at all levels.
struct Trial {
    number: u64,
    plan: Plan,
    build: Build,
    levels: Vec<(Level, Outcome<Judged, NotJudged>)>,
}

impl Trial {
    /// Has this program reduced.
    fn task(&self, level: Level, symptom: Symptom) -> Task {
        Task { number: self.number, plan: self.plan.clone(), build: self.build.clone(), level, symptom }
    }
}

/// What is to be reduced: the first program with something.
struct Task {
    number: u64,
    plan: Plan,
    build: Build,
    level: Level,
    symptom: Symptom,
}

/// The files of a program, without what all programs have.
fn sources(plan: &Plan) -> Vec<String> {
    let parts = write(plan).into_iter().filter(|source| source.name.starts_with("part"));
    parts.map(|source| source.text).collect()
}

/// The first level, and one at which a program computes something else.
fn differing(checksums: &BTreeMap<Level, u64>) -> Option<(Level, Level)> {
    let (first, checksum) = checksums.iter().next()?;
    let (other, _) = checksums.iter().find(|(_, other)| *other != checksum)?;
    Some((first, other))
}

impl Found {
    /// Adds a program, and returns what is to be reduced: what was not seen before.
    fn add(&mut self, trial: &Trial, causes: &KnownCauses<'_>) -> Vec<Task> {
        let mut tasks = Vec::new();
        let mut checksums: BTreeMap<Level, u64> = BTreeMap::new();
        let mut is_judged = false;
        let mut stops: BTreeMap<Level, String> = BTreeMap::new();
        let ends = trial.levels.iter().any(|(_, outcome)| matches!(outcome, Outcome::Judged(_)));
        for (level, outcome) in &trial.levels {
            let judged = match outcome {
                Outcome::Judged(judged) => judged,
                // It computes nothing there, though it has no undefined behaviour.
                Outcome::Unjudged(NotJudged::Stops(why)) if ends => {
                    stops.insert(level, without_addresses(why));
                    continue;
                }
                Outcome::Unjudged(why) => {
                    let why = without_addresses(why.why());
                    if let Some(known) = self.unjudged.get_mut(&why) {
                        known.builds += 1;
                        continue;
                    }
                    let (program, flags) = (trial.number, trial.build.words(level));
                    let first = Unjudged { builds: 1, program, level, flags, source: Vec::new() };
                    self.unjudged.insert(why.clone(), first);
                    tasks.push(trial.task(level, Symptom::Unjudged(why)));
                    continue;
                }
                Outcome::Refused(stderr) => {
                    self.add_refused(trial, level, stderr, causes);
                    continue;
                }
            };
            is_judged = true;
            self.count(judged);
            checksums.extend(judged.checksum.map(|checksum| (*level, checksum)));
            let flags = trial.build.words(level);
            for (page, fault) in causes.causes_of(&judged.faults, &flags) {
                if let Some(page) = page {
                    *self.known.entry(page.to_owned()).or_default() += 1;
                } else if self.add_fault(trial, level, fault) {
                    tasks.push(trial.task(level, Symptom::Fault(fault.cause.clone())));
                }
            }
            for found in &judged.contradictions {
                if self.add_contradiction(trial, level, found) {
                    tasks.push(trial.task(level, Symptom::Contradiction(found.kind.clone())));
                }
            }
        }
        self.programs += u64::from(is_judged);
        for function in &trial.plan.functions {
            each(&function.body, &mut |statement| *self.statements.entry(statement.name()).or_default() += 1);
        }
        let first = checksums.keys().next().copied();
        let symptom = match (differing(&checksums), stops.iter().next(), first) {
            (Some((first, other)), ..) => Some((other, Symptom::Differs(first))),
            (None, Some((level, why)), Some(first)) => Some((*level, Symptom::Stops(why.clone(), first))),
            _ => None,
        };
        match (symptom, checksums.values().next()) {
            (Some((level, symptom)), _) => {
                tasks.push(trial.task(level, symptom));
                let flags = trial.build.words(level).split_off(1);
                let source = Vec::new();
                self.differ.push(Differs { program: trial.number, flags, checksums, stops, source });
            }
            (None, Some(checksum)) => {
                self.checksums.insert(trial.number, *checksum);
            }
            (None, None) => {}
        }
        tasks
    }

    /// Adds a build that was not made. A crash that a page is about is known.
    fn add_refused(&mut self, trial: &Trial, level: Level, stderr: &str, causes: &KnownCauses<'_>) {
        if let Some(page) = causes.page_of_crash(stderr) {
            *self.known.entry(page.to_owned()).or_default() += 1;
            return;
        }
        let first = || Refused {
            builds: 0,
            crash: is_crash(stderr),
            program: trial.number,
            level,
            flags: trial.build.words(level),
        };
        self.refused.entry(complaint(stderr)).or_insert_with(first).builds += 1;
    }

    fn count(&mut self, judged: &Judged) {
        self.builds += 1;
        self.rows += judged.rows;
        self.exercised += judged.exercised;
        self.explored += judged.explored;
        self.comparisons += judged.comparisons;
        for (reason, count) in &judged.left_out {
            *self.left_out.entry(reason.clone()).or_default() += count;
        }
    }

    /// Returns whether it is the first of its cause.
    fn add_fault(&mut self, trial: &Trial, level: Level, fault: &Fault) -> bool {
        if let Some(known) = self.causes.get_mut(&fault.cause) {
            known.functions += 1;
            known.places.extend(Place::of(fault));
            return false;
        }
        let first = Example {
            program: trial.number,
            level,
            fault: fault.clone(),
            flags: trial.build.words(level),
            source: Vec::new(),
            elsewhere: BTreeMap::new(),
            reduced: None,
        };
        let group = Group { functions: 1, first, places: Place::of(fault).into_iter().collect() };
        self.causes.insert(fault.cause.clone(), group);
        true
    }

    /// Returns whether it is the first of its kind.
    fn add_contradiction(&mut self, trial: &Trial, level: Level, found: &Contradiction) -> bool {
        if let Some(known) = self.contradictions.iter_mut().find(|known| known.found.kind == found.kind) {
            known.places += 1;
            return false;
        }
        self.contradictions.push(Contradicts {
            program: trial.number,
            level,
            found: found.clone(),
            places: 1,
            flags: trial.build.words(level),
            source: Vec::new(),
        });
        true
    }

    /// Shows the smallest program.
    fn show(&mut self, task: &Task, reduced: &Reduced) {
        let (source, flags) = (sources(&reduced.plan), reduced.build.words(task.level));
        match &task.symptom {
            Symptom::Fault(cause) => {
                let known = self.causes.get_mut(cause).zip(reduced.fault(cause));
                if let Some((known, fault)) = known {
                    let first = &mut known.first;
                    (first.fault, first.reduced) = (fault.clone(), Some(reduced.clone()));
                    (first.flags, first.source) = (flags, source);
                    known.places.extend(Place::of(fault));
                }
            }
            Symptom::Contradiction(kind) => {
                let says = reduced.judged.contradictions.iter().find(|found| found.kind == *kind);
                let known = self.contradictions.iter_mut().find(|known| known.found.kind == *kind);
                if let Some((known, says)) = known.zip(says) {
                    (known.found, known.flags, known.source) = (says.clone(), flags, source);
                }
            }
            Symptom::Unjudged(why) => {
                if let Some(known) = self.unjudged.get_mut(why) {
                    (known.flags, known.source) = (flags, source);
                }
            }
            Symptom::Differs(_) | Symptom::Stops(..) => {
                if let Some(known) = self.differ.iter_mut().find(|known| known.program == task.number) {
                    (known.flags, known.source) = (flags, source);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::shape::{Cause, Section};
    use super::*;
    use crate::generate::c::judge::Line;
    use sframe_corpus::signs::SeenPlace;
    use sframe_corpus::spec::{Producer, Sign};
    use sframe_judge::finding::Address;

    #[test]
    fn a_program_that_depends_on_its_level_is_found() {
        let trial = |other| {
            let judged = |checksum| Outcome::Judged(Judged { checksum: Some(checksum), ..Judged::default() });
            let levels = vec![("-O0", judged(7)), ("-O1", judged(7)), ("-O2", judged(other))];
            let plan = draw(0, 0, 3);
            let build = Build { flags: Vec::new(), link: super::super::links::Link::plain(1) };
            Trial { number: 4, plan, build, levels }
        };
        let mut found = Found::default();
        let causes = KnownCauses::default();
        assert!(found.add(&trial(7), &causes).is_empty());
        assert_eq!((found.differ.len(), found.checksums.get(&4)), (0, Some(&7)));
        let tasks = found.add(&trial(8), &causes);
        assert!(matches!(tasks[..], [Task { level: "-O2", symptom: Symptom::Differs("-O0"), .. }]));
        assert_eq!(found.differ[0].checksums, [("-O0", 7), ("-O1", 7), ("-O2", 8)].into());
    }

    /// What stops at all levels is our mistake, and what stops at some is the compiler's.
    #[test]
    fn a_program_that_stops_at_one_level_is_found() {
        let trial = |first| {
            let stops = || Outcome::Unjudged(NotJudged::Stops("it ends otherwise: Exit(0x3)".to_owned()));
            let ends = Judged { checksum: Some(7), ..Judged::default() };
            let first = if first { stops() } else { Outcome::Judged(ends) };
            let build = Build { flags: Vec::new(), link: super::super::links::Link::plain(1) };
            Trial { number: 4, plan: draw(0, 0, 3), build, levels: vec![("-O0", first), ("-O1", stops())] }
        };
        let mut found = Found::default();
        let tasks = found.add(&trial(false), &KnownCauses::default());
        let [Task { level: "-O1", symptom: Symptom::Stops(why, "-O0"), .. }] = &tasks[..] else {
            panic!("another task");
        };
        assert_eq!(found.differ[0].stops, [("-O1", why.clone())].into());
        assert!(found.unjudged.is_empty());
        let tasks = found.add(&trial(true), &KnownCauses::default());
        assert!(matches!(tasks[..], [Task { symptom: Symptom::Unjudged(_), .. }]));
        assert_eq!((found.differ.len(), found.unjudged.len()), (1, 1));
    }

    /// A fault that has a page is counted, and is no cause.
    #[test]
    fn causes_that_have_a_page_are_known() {
        let specs = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../specs");
        let faults = Faults::load(&specs).expect("pages");
        let all = faults
            .iter()
            .flat_map(|(name, fault, _)| fault.signs.iter().map(move |it| (name, fault, it)))
            // Generated programs are no libraries. What is said of a function's other code needs a function.
            .filter(|(.., sign)| sign.library.is_none() && !sign.needs_code());
        for (name, page, known) in all {
            let producer = |compiler: &str, assembler: &str, linker: &str| Producer {
                compiler: Some(compiler.parse().expect("a compiler")),
                assembler: Some(assembler.parse().expect("an assembler")),
                linker: Some(linker.parse().expect("a linker")),
                ..Producer::default()
            };
            let all = [
                producer("gcc 16.0", "gas 2.47", "ld 2.47"),
                producer("gcc 12.2", "gas 2.40", "ld 2.40"),
                producer("clang 22.1", "llvm 22.1", "lld 22.1"),
            ];
            let (can, can_not): (Vec<_>, Vec<_>) =
                all.into_iter().partition(|producer| page.component.contains(producer));
            let (Some(has), Some(other)) = (can.first(), can_not.first()) else { panic!("{name}") };
            let line = |is_wrong, text: &str| Line { is_wrong, pc: Address(1), text: text.to_owned() };
            let mut listing: Vec<Line> = known.after.iter().map(|text| line(false, text)).collect();
            listing.push(line(true, known.at.as_deref().unwrap_or("nop")));
            let sections = [Section::Sframe, Section::EhFrame, Section::Both];
            let section = sections.into_iter().find(|section| section.to_string() == known.section);
            let fault = Fault::of("f0", &known.wrong);
            let cause = Cause {
                section: section.expect("a section"),
                blame: page.blame(),
                row: known.row.clone(),
                after: "mov".to_owned(),
                ..fault.cause.clone()
            };
            let before_row = known.begins_after.first().map(|operation| format!("{operation} 0x1"));
            let layout = known.layout.into_iter().collect();
            let code_in = known.code_in.clone();
            let function =
                known.function.as_ref().map_or(fault.function.clone(), |it| it.to_string().replace('*', "x"));
            let &Sign { cfa, row_begins, row_ends, .. } = known;
            let place = SeenPlace { cfa, row_begins, row_ends };
            let fault = Fault { cause, function, listing, before_row, place, layout, code_in, ..fault };
            let judged = Judged { faults: vec![fault], ..Judged::default() };
            let levels = vec![("-O0", Outcome::Judged(judged))];
            let build = Build { flags: vec![known.with.clone()], link: super::super::links::Link::plain(1) };
            let trial = Trial { number: 4, plan: draw(0, 0, 3), build, levels };
            let mut found = Found::default();
            assert!(found.add(&trial, &KnownCauses::of(&faults, has, known.abi)).is_empty(), "{name}");
            assert_eq!((found.known.get(name), found.causes.len()), (Some(&1), 0), "{name}");
            // The other compiler may have the same fault; it is not this page's.
            found.add(&trial, &KnownCauses::of(&faults, other, known.abi));
            assert_eq!(found.known.get(name), Some(&1), "{name}");
        }
    }
}
