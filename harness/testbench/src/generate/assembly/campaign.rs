//! Generates, makes and judges many programs, and groups what is found.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;

use rayon::prelude::*;
use serde::Serialize;
use sframe_engine::Abi;

use super::SOURCE;
use super::crash::known_crash;
use super::directive::Directive;
use super::judge::{Fault, Judged, Source, judge};
use super::plan::Plan;
use super::quirk::Quirk;
use super::reduce::{Reduced, Symptom, assembler, complaint, explained, is_alone, reduce};
use super::state::Wrong;
use super::writer::{Program, write};
use crate::corpus::{Error, Maker};
use crate::generate::Elsewhere;
use crate::spec::Assembler;

/// Which programs.
#[derive(Clone, Debug)]
pub struct CampaignOptions {
    /// The seed.
    pub seed: u64,
    /// The numbers of the programs.
    pub programs: Range<u64>,
    /// How many functions each has.
    pub functions: u32,
}

/// What seems to be one cause.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Cause {
    /// The section that is wrong.
    pub source: Source,
    /// What is wrong.
    pub wrong: &'static str,
    /// The directives in front of the first instruction that is affected.
    pub after: Vec<&'static str>,
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let source = match self.source {
            Source::Sframe => ".sframe",
            Source::Cfi => ".eh_frame",
            Source::DebugFrame => ".debug_frame",
        };
        let after = if self.after.is_empty() { "no directive".to_owned() } else { self.after.join(" ") };
        write!(f, "{} in {source} after {after}", self.wrong)
    }
}

/// One case of a cause.
#[derive(Clone, Debug, Serialize)]
pub struct Example {
    /// The program, by its number.
    pub program: u64,
    /// The function.
    pub function: u32,
    /// The instruction.
    pub code: String,
    /// What the section says.
    pub says: String,
    /// What is true.
    pub truth: String,
    /// The smallest program with it, in assembly.
    pub source: String,
    /// How many instructions that has, without those that call it.
    pub instructions: usize,
    /// What other toolchains make of it, by name, if they were asked.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub elsewhere: BTreeMap<String, Elsewhere>,
    /// What the tools say of it, if they do not make it.
    #[serde(skip)]
    pub refused: Option<String>,
    /// The program itself, and its fault.
    #[serde(skip)]
    pub reduced: Reduced,
}

/// What a campaign has found of one toolchain and ABI.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Found {
    /// Programs that were made.
    pub programs: u64,
    /// Functions in them.
    pub functions: u64,
    /// Functions that `.sframe` leaves out.
    pub left_out: u64,
    /// Instructions that were compared.
    pub compared: u64,
    /// What known mistakes explain, by their pages: in how many functions, and the smallest of them that has
    /// no other. Known crashes: in how many programs.
    pub known: BTreeMap<&'static str, Group>,
    /// What is wrong besides, by cause: how many functions have it, and the first of them.
    #[serde(serialize_with = "causes")]
    pub causes: BTreeMap<Cause, Group>,
    /// Programs that were not made, by what the tools said.
    pub refused: BTreeMap<String, Group>,
    /// Where the bench contradicts itself, and what it could not judge, by program.
    pub contradictions: Vec<(u64, String)>,
    /// How often each form of a directive was used.
    pub forms: BTreeMap<&'static str, u64>,
}

/// Cases with one cause.
#[derive(Clone, Debug, Serialize)]
pub struct Group {
    /// In how many functions; of what was not made, in how many programs.
    pub count: u64,
    /// One of them, if it was looked for.
    pub first: Option<Example>,
}

fn causes<S: serde::Serializer>(causes: &BTreeMap<Cause, Group>, serializer: S) -> Result<S::Ok, S::Error> {
    #[derive(Serialize)]
    struct Entry<'e> {
        #[serde(flatten)]
        cause: &'e Cause,
        #[serde(flatten)]
        group: &'e Group,
    }
    serializer.collect_seq(causes.iter().map(|(cause, group)| Entry { cause, group }))
}

/// Makes and judges the programs of one toolchain and ABI.
///
/// # Errors
/// The toolchain does not compile for the ABI, or can't be started.
pub fn campaign(
    maker: &Maker,
    abi: Abi,
    options: &CampaignOptions,
    done: &(dyn Fn() + Sync),
) -> Result<Found, Error> {
    maker.command(abi, &[])?;
    let programs: Vec<u64> = options.programs.clone().collect();
    let judged: Vec<_> = programs
        .par_iter()
        .map(|number| {
            let program = write(&Plan::random(abi, options.seed, *number, options.functions));
            let result = judged(maker, abi, &program);
            done();
            (*number, program, result)
        })
        .collect();
    let mut found = Found::default();
    let mut cases: BTreeMap<Raw, Case> = BTreeMap::new();
    for (number, program, result) in judged {
        let raws = match result {
            Ok(Outcome::Judged(judged)) => found.add(maker, number, options.functions, &program, &judged),
            Ok(Outcome::Unjudged(message)) => {
                found.contradictions.push((number, message));
                continue;
            }
            Err(Error::Compiler { stderr, .. }) => {
                let said = complaint(&stderr);
                let functions = (0..options.functions).collect();
                vec![(Raw::Refused(said.clone()), functions, Some(Symptom::Refused(said)))]
            }
            Err(error) => return Err(error),
        };
        for (raw, functions, symptom) in raws {
            let case = cases.entry(raw).or_insert(Case { number, functions, symptom: None, count: 0 });
            case.count += 1;
            if case.symptom.is_none() && symptom.is_some() {
                (case.number, case.symptom) = (number, symptom);
            }
        }
    }
    let reduced: Vec<_> = cases
        .into_par_iter()
        .map(|(raw, case)| {
            let plan = Plan::random(abi, options.seed, case.number, options.functions);
            let reduced = match &case.symptom {
                Some(symptom) => reduce(maker, &plan, &case.functions, symptom)?,
                None => None,
            };
            Ok((raw, case, reduced))
        })
        .collect::<Result<_, Error>>()?;
    for (raw, case, reduced) in reduced {
        found.add_case(assembler(maker), raw, &case, reduced);
    }
    Ok(found)
}

/// A cause as it looks before it is reduced.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Raw {
    Known(Quirk),
    Unknown(Cause),
    Refused(String),
}

/// The first program with something, and how many functions have it.
struct Case {
    number: u64,
    functions: Vec<u32>,
    symptom: Option<Symptom>,
    count: u64,
}

enum Outcome {
    Judged(Judged),
    Unjudged(String),
}

fn judged(maker: &Maker, abi: Abi, program: &Program) -> Result<Outcome, Error> {
    let made = maker.make(abi, &[(SOURCE.to_owned(), program.source.clone())], &[])?;
    Ok(judge(program, &made.bytes).map_or_else(Outcome::Unjudged, Outcome::Judged))
}

impl Found {
    /// Whether a section is wrong in a way that no known mistake explains.
    #[must_use]
    pub fn has_unknown(&self) -> bool {
        !self.causes.is_empty()
    }

    /// The examples of what is found; of what is known, too, if that is wanted.
    pub fn examples(&mut self, with_known: bool) -> impl Iterator<Item = &mut Example> {
        let known = self.known.values_mut().filter(move |_| with_known);
        let groups = known.chain(self.causes.values_mut()).chain(self.refused.values_mut());
        groups.filter_map(|group| group.first.as_mut())
    }

    /// Adds a program. What is wrong with it is returned, by function and section.
    fn add(
        &mut self,
        maker: &Maker,
        number: u64,
        functions: u32,
        program: &Program,
        judged: &Judged,
    ) -> Vec<(Raw, Vec<u32>, Option<Symptom>)> {
        self.programs += 1;
        self.functions += u64::from(functions);
        self.left_out += judged.left_out.len() as u64;
        self.compared += judged.compared;
        for (form, count) in &program.forms {
            *self.forms.entry(form).or_default() += u64::from(*count);
        }
        self.contradictions.extend(judged.contradictions.iter().map(|message| (number, message.clone())));
        let (mut seen, mut raws) = (Vec::new(), Vec::new());
        for fault in &judged.faults {
            let Some(site) = program.sites.get(fault.site) else { continue };
            // What follows from an earlier instruction of the function has no cause of its own.
            if seen.contains(&(fault.source, fault.function)) {
                continue;
            }
            seen.push((fault.source, fault.function));
            let function = vec![fault.function];
            match explained(maker, program, judged, fault) {
                Some(quirks) => {
                    let is_alone = quirks.len() == 1;
                    raws.extend(quirks.into_iter().map(|quirk| {
                        let symptom = is_alone.then_some(Symptom::Explained(fault.source, quirk));
                        (Raw::Known(quirk), function.clone(), symptom)
                    }));
                }
                None => {
                    let symptom = Symptom::Unexplained {
                        source: fault.source,
                        wrong: fault.wrong,
                        is_alone: is_alone(judged, fault),
                    };
                    raws.push((Raw::Unknown(cause(fault, &site.declared)), function, Some(symptom)));
                }
            }
        }
        raws
    }

    /// Adds what is left of the first program of a case.
    fn add_case(&mut self, assembler: Assembler, raw: Raw, case: &Case, reduced: Option<Reduced>) {
        let example = reduced.as_ref().map(|reduced| {
            let Reduced { program, fault, .. } = reduced;
            let site = fault.as_ref().and_then(|fault| program.sites.get(fault.site));
            Example {
                program: case.number,
                function: program.sites.first().map_or(0, |site| site.function),
                code: site.map_or_else(String::new, |site| site.code.clone()),
                says: fault.as_ref().map_or_else(String::new, |fault| fault.says.clone()),
                truth: site.map_or_else(String::new, |site| site.state.to_string()),
                source: program.source.clone(),
                instructions: program.sites.len(),
                elsewhere: BTreeMap::new(),
                refused: match &raw {
                    Raw::Refused(says) => Some(says.clone()),
                    Raw::Known(_) | Raw::Unknown(_) => None,
                },
                reduced: reduced.clone(),
            }
        });
        let group = Group { count: case.count, first: example };
        let known = match raw {
            Raw::Known(quirk) => self.known.entry(quirk.page()).or_insert_with(Group::none),
            Raw::Refused(said) => {
                let program = reduced.as_ref().map(|reduced| &reduced.program);
                match program.and_then(|program| known_crash(assembler, &said, program)) {
                    Some(crash) => self.known.entry(crash.page()).or_insert_with(Group::none),
                    None => self.refused.entry(said).or_insert_with(Group::none),
                }
            }
            Raw::Unknown(cause) => {
                let left = reduced.as_ref().and_then(|Reduced { program, fault, .. }| {
                    let fault = fault.as_ref()?;
                    Some(self::cause(fault, &program.sites.get(fault.site)?.declared))
                });
                self.causes.entry(left.unwrap_or(cause)).or_insert_with(Group::none)
            }
        };
        known.join(group);
    }
}

impl Group {
    const fn none() -> Self {
        Self { count: 0, first: None }
    }

    /// Joins two groups. The smaller example is kept.
    fn join(&mut self, other: Self) {
        self.count += other.count;
        let size = |example: &Option<Example>| example.as_ref().map_or(usize::MAX, |one| one.instructions);
        if size(&other.first) < size(&self.first) {
            self.first = other.first;
        }
    }
}

fn cause(fault: &Fault, declared: &[Directive]) -> Cause {
    // For the CFA, those of registers do not matter, however many.
    let matters = |form: &&str| {
        fault.wrong != Some(Wrong::Cfa)
            || form.contains("cfa")
            || form.contains("CFA_def")
            || form.contains("state")
    };
    let mut after: Vec<_> = declared.iter().map(|directive| directive.form).filter(matters).collect();
    after.dedup();
    Cause { source: fault.source, wrong: fault.wrong.map_or("no row", Wrong::name), after }
}
