//! Searches with generated programs in C.

use std::collections::BTreeMap;

use sframe_corpus::corpus::{Error, Maker};
use sframe_corpus::signs::without_addresses;
use sframe_corpus::spec::Faults;
use sframe_engine::Abi;

use super::build::{Build, LEVELS, Level, build};
use super::draw::draw;
use super::flags::known_flags;
use super::found::{C, Counts, Example, Shows};
use super::judge::{Judged, judge};
use super::known::{KnownCauses, Place};
use super::oracle::NotJudged;
use super::plan::{Plan, each};
use super::reduce::{Reduced, Symptom, reduce};
use super::shape::Cause;
use super::writer::write;
use crate::generate::campaign::{Finding, Search, Shown, Subject};
use crate::generate::outcome::{Outcome, complaint, not_made};
use crate::generate::{Found, Kind};

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
) -> Result<Found<C>, Error> {
    let causes = KnownCauses::of(faults, &maker.producer(abi)?, abi);
    let flags = known_flags(maker, abi)?;
    let mut found = options.search.run(&InC { maker, abi, options, causes, flags: &flags }, done)?;
    found.counts.flags = flags.len();
    Ok(found)
}

struct InC<'c> {
    maker: &'c Maker,
    abi: Abi,
    options: &'c CampaignOptions,
    causes: KnownCauses<'c>,
    /// Those that the compiler knows.
    flags: &'c [Vec<String>],
}

/// One program at all levels.
struct Trial {
    number: u64,
    plan: Plan,
    build: Build,
    levels: Vec<(Level, Outcome<Judged, NotJudged>)>,
}

/// A program that shows something.
struct Case {
    plan: Plan,
    build: Build,
    symptom: Symptom,
    example: Example,
}

impl Trial {
    /// What is shown of this program.
    fn example(&self, level: Level, shows: Shows) -> Example {
        let (program, flags) = (self.number, self.build.words(level));
        let elsewhere = BTreeMap::new();
        Example { program, level, shows, flags, source: Vec::new(), elsewhere, reduced: None }
    }

    /// What was found in it, which can be reduced.
    fn finding<'c>(&self, kind: Kind<Cause>, symptom: Symptom, example: Example) -> Finding<InC<'c>> {
        let (plan, build) = (self.plan.clone(), self.build.clone());
        let case = Case { plan, build, symptom, example: example.clone() };
        Finding { case: Some(case), example: Some(example), ..Finding::of(kind, 1) }
    }
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

impl Trial {
    /// Counts the program, and returns what was found.
    fn findings<'c>(&self, causes: &KnownCauses<'_>, counts: &mut Counts) -> Vec<Finding<InC<'c>>> {
        let mut all = Vec::new();
        let (mut checksums, mut stops) = (BTreeMap::new(), BTreeMap::new());
        let mut is_judged = false;
        let ends = self.levels.iter().any(|(_, outcome)| matches!(outcome, Outcome::Judged(_)));
        for (level, outcome) in &self.levels {
            let says = |says: String| self.example(level, Shows::Says { says });
            let judged = match outcome {
                Outcome::Judged(judged) => judged,
                // It computes nothing there, though it has no undefined behaviour.
                Outcome::Unjudged(NotJudged::Stops(why)) if ends => {
                    stops.insert(*level, without_addresses(why));
                    continue;
                }
                Outcome::Unjudged(why) => {
                    let why = without_addresses(why.why());
                    let symptom = Symptom::Unjudged(why.clone());
                    all.push(self.finding(Kind::Unjudged(why.clone()), symptom, says(why)));
                    continue;
                }
                // A crash that a page is about is known.
                Outcome::Refused(stderr) => {
                    all.push(match causes.page_of_crash(stderr) {
                        Some(page) => Finding::of(Kind::Known(page.to_owned()), 1),
                        None => {
                            let example = Some(says(complaint(stderr)));
                            Finding { example, ..Finding::of(not_made(stderr), 1) }
                        }
                    });
                    continue;
                }
            };
            is_judged = true;
            counts.add(judged);
            checksums.extend(judged.checksum.map(|checksum| (*level, checksum)));
            for (page, fault) in causes.causes_of(&judged.faults, &self.build.words(level)) {
                if let Some(page) = page {
                    all.push(Finding::of(Kind::Known(page.to_owned()), 1));
                    continue;
                }
                counts.places.entry(fault.cause.clone()).or_default().extend(Place::of(fault));
                let example = self.example(level, Shows::Fault(Box::new(fault.clone())));
                let (kind, symptom) = (Kind::Cause(fault.cause.clone()), Symptom::Fault(fault.cause.clone()));
                all.push(self.finding(kind, symptom, example));
            }
            for found in &judged.contradictions {
                let symptom = Symptom::Contradiction(found.kind.clone());
                all.push(self.finding(
                    Kind::Contradiction(found.kind.clone()),
                    symptom,
                    says(found.says.clone()),
                ));
            }
        }
        counts.programs += u64::from(is_judged);
        for function in &self.plan.functions {
            each(&function.body, &mut |statement| {
                *counts.statements.entry(statement.name()).or_default() += 1
            });
        }
        let first = checksums.iter().next().map(|(level, checksum)| (*level, *checksum));
        let symptom = match (differing(&checksums), stops.iter().next(), first) {
            (Some((first, other)), ..) => Some((other, Symptom::Differs(first))),
            (None, Some((level, why)), Some((first, _))) => {
                Some((*level, Symptom::Stops(why.clone(), first)))
            }
            _ => None,
        };
        if let Some((level, symptom)) = symptom {
            let example = self.example(level, Shows::Differs { checksums, stops });
            all.push(self.finding(Kind::Differs(self.number), symptom, example));
        } else if let Some((_, checksum)) = first {
            counts.checksums.insert(self.number, checksum);
        }
        all
    }
}

impl Subject for InC<'_> {
    type Terms = C;
    type Judge = ();
    type Trial = Trial;
    type Case = Case;

    const KEEPS_JUDGES: bool = false;

    fn start(&self) -> Result<(), Error> {
        Ok(())
    }

    fn attempt(&self, (): &mut (), number: u64) -> Result<Trial, Error> {
        let (maker, abi, options) = (self.maker, self.abi, self.options);
        let plan = draw(options.search.seed, number, options.functions);
        let how = Build::draw(maker, abi, options.search.seed, number, &plan, self.flags, options.links);
        let outcome = |level| Ok((level, Outcome::of(build(maker, abi, &plan, &how, level), judge)?));
        let levels = LEVELS.into_iter().map(outcome).collect::<Result<_, Error>>()?;
        Ok(Trial { number, plan, build: how, levels })
    }

    fn add(&self, (): &mut (), trial: Trial, counts: &mut Counts) -> Result<Vec<Finding<Self>>, Error> {
        Ok(trial.findings(&self.causes, counts))
    }

    /// Shows the smallest program.
    fn reduce(&self, kind: &Kind<Cause>, case: &Case) -> Result<Option<Shown<Self>>, Error> {
        let Case { plan, build, symptom, example } = case;
        let level = example.level;
        if !self.options.reduces {
            return Ok(None);
        }
        let reduced = reduce(self.maker, self.abi, plan, build, level, symptom, &self.causes)?;
        Ok(reduced.map(|reduced| (kind.clone(), shown(example.clone(), symptom, reduced))))
    }
}

fn shown(example: Example, symptom: &Symptom, reduced: Reduced) -> Example {
    let fault = |cause| reduced.fault(cause).cloned().map(|fault| Shows::Fault(Box::new(fault)));
    let contradiction = |kind: &String| {
        let found = reduced.judged.contradictions.iter().find(|found| found.kind == *kind)?;
        Some(Shows::Says { says: found.says.clone() })
    };
    let shows = match symptom {
        Symptom::Fault(cause) => fault(cause),
        Symptom::Contradiction(kind) => contradiction(kind),
        Symptom::Unjudged(_) | Symptom::Differs(_) | Symptom::Stops(..) => None,
    };
    let (flags, source) = (reduced.build.words(example.level), sources(&reduced.plan));
    Example { shows: shows.unwrap_or(example.shows), flags, source, reduced: Some(reduced), ..example }
}

#[cfg(test)]
mod tests {
    use super::super::links::Link;
    use super::super::shape::Section;
    use super::*;
    use crate::generate::c::judge::{Fault, Line};
    use sframe_corpus::signs::SeenPlace;
    use sframe_corpus::spec::{Producer, Sign};
    use sframe_judge::finding::Address;

    fn trial(levels: Vec<(Level, Outcome<Judged, NotJudged>)>) -> Trial {
        let build = Build { flags: Vec::new(), link: Link::plain(1) };
        Trial { number: 4, plan: draw(0, 0, 3), build, levels }
    }

    /// What is found, with its symptom, and what else is counted.
    fn found(trial: &Trial, causes: &KnownCauses<'_>) -> (Vec<Finding<InC<'static>>>, Counts) {
        let mut counts = Counts::default();
        (trial.findings(causes, &mut counts), counts)
    }

    fn computes(checksum: u64) -> Outcome<Judged, NotJudged> {
        Outcome::Judged(Judged { checksum: Some(checksum), ..Judged::default() })
    }

    #[test]
    fn a_program_that_depends_on_its_level_is_found() {
        let trial = |other| trial(vec![("-O0", computes(7)), ("-O1", computes(7)), ("-O2", computes(other))]);
        let (all, counts) = found(&trial(7), &KnownCauses::default());
        assert_eq!((all.len(), counts.checksums.get(&4)), (0, Some(&7)));
        let (all, _) = found(&trial(8), &KnownCauses::default());
        let [Finding { kind: Kind::Differs(4), case: Some(Case { symptom, example, .. }), .. }] = &all[..]
        else {
            panic!("{} findings", all.len());
        };
        assert_eq!((symptom, example.level), (&Symptom::Differs("-O0"), "-O2"));
        let Shows::Differs { checksums, .. } = &example.shows else { panic!("{:?}", example.shows) };
        assert_eq!(*checksums, [("-O0", 7), ("-O1", 7), ("-O2", 8)].into());
    }

    /// What stops at all levels is our mistake, and what stops at some is the compiler's.
    #[test]
    fn a_program_that_stops_at_one_level_is_found() {
        let stops = || Outcome::Unjudged(NotJudged::Stops("it ends otherwise: Exit(0x3)".to_owned()));
        let (all, _) = found(&trial(vec![("-O0", computes(7)), ("-O1", stops())]), &KnownCauses::default());
        let [Finding { kind: Kind::Differs(4), case: Some(Case { symptom, example, .. }), .. }] = &all[..]
        else {
            panic!("{} findings", all.len());
        };
        let Symptom::Stops(why, "-O0") = symptom else { panic!("{symptom:?}") };
        let Shows::Differs { stops: ended, .. } = &example.shows else { panic!("{:?}", example.shows) };
        assert_eq!(*ended, [("-O1", why.clone())].into());
        let (all, _) = found(&trial(vec![("-O0", stops()), ("-O1", stops())]), &KnownCauses::default());
        assert!(all.iter().all(|finding| matches!(finding.kind, Kind::Unjudged(_))) && all.len() == 2);
    }

    /// A fault that has a page is counted, and is no cause.
    #[test]
    fn causes_that_have_a_page_are_known() {
        let specs = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../specs");
        let faults = Faults::load(&specs).expect("pages");
        let all = faults
            .iter()
            .flat_map(|(name, fault, _)| fault.signs.iter().map(move |it| (name, fault, it)))
            .flat_map(|(name, fault, sign)| sign.each().into_iter().map(move |it| (name, fault, it, sign)))
            // Generated programs are no libraries. What is said of a function's other code needs a function.
            .filter(|(.., sign)| sign.library.is_none() && !sign.needs_code());
        for (name, page, (abi, section, row, at), known) in all {
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
            // Of several instructions, one is there.
            let one = |text: &str| text.split(" | ").next().unwrap_or_default().to_owned();
            let mut listing: Vec<Line> = known.after.iter().map(|text| line(false, &one(text))).collect();
            listing.push(line(true, &one(at.unwrap_or("nop"))));
            let sections = [Section::Sframe, Section::EhFrame, Section::Both];
            let section = sections.into_iter().find(|it| it.to_string() == section);
            let fault = Fault::of("f0", &known.wrong);
            let cause = Cause {
                section: section.expect("a section"),
                blame: page.blame(),
                row: row.to_owned(),
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
            let build = Build { flags: vec![known.with.clone()], link: Link::plain(1) };
            let trial = Trial { build, ..trial(vec![("-O0", Outcome::Judged(judged))]) };
            let kinds = |producer| -> Vec<Kind<Cause>> {
                let (all, _) = found(&trial, &KnownCauses::of(&faults, producer, abi));
                all.into_iter().map(|finding| finding.kind).collect()
            };
            let page = Kind::Known(name.to_owned());
            assert_eq!(kinds(has), std::slice::from_ref(&page), "{name}");
            // The other compiler may have the same fault; it is not this page's.
            assert!(!kinds(other).contains(&page), "{name}");
        }
    }
}
