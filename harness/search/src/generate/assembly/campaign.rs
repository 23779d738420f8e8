//! Generates, makes and judges many programs, and groups what is found.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use sframe_corpus::corpus::{Error, Maker, is_crash};
use sframe_corpus::spec::Faults;
use sframe_engine::Abi;

use super::crash::Crash;
use super::found::{Cause, Example, Found, Group, cause, declared};
use super::judge::{Fault, Judged, judge};
use super::known::Known;
use super::plan::Plan;
use super::quirk::Quirk;
use super::reduce::{Reduced, Symptom, complaint, is_alone, reduce};
use super::writer::{Program, write};
use crate::generate::Search;
use crate::generate::outcome::Outcome;

/// Which programs.
#[derive(Clone, Debug)]
pub struct CampaignOptions {
    /// Which of a seed.
    pub search: Search,
    /// How many functions each has.
    pub functions: u32,
    /// Whether their CFI is wrong on purpose: see [`Plan::misdeclared`].
    pub misdeclares: bool,
    /// Whether programs with what is known are also reduced.
    pub reduces_known: bool,
}

/// Makes and judges the programs of one toolchain and ABI. The mistakes that its assembler is known to make
/// are those of which a page says so.
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
    let known = Known::of(faults, &maker.producer(abi)?);
    let CampaignOptions { search, functions, misdeclares, reduces_known } = options;
    let draw = if *misdeclares { Plan::misdeclared } else { Plan::random };
    let mut found = Found::default();
    let mut cases: BTreeMap<Raw, Case> = BTreeMap::new();
    let interrupted = search.programs(
        |number| trial(maker, &known, number, draw(abi, search.seed, number, *functions)),
        |trial| {
            for (raw, case) in found.add(&known, &trial) {
                match cases.entry(raw) {
                    Entry::Vacant(vacant) => _ = vacant.insert(case),
                    Entry::Occupied(first) => first.into_mut().join(case),
                }
            }
        },
        done,
    )?;
    found.interrupted = interrupted;
    let reduced = search.reduced(cases, |(raw, case)| {
        let is_wanted = *reduces_known || matches!(raw, Raw::Unknown(_) | Raw::Refused(..));
        match &case.symptom {
            Some(symptom) if is_wanted => reduce(maker, &known, &case.plan, &case.functions, symptom),
            _ => Ok(None),
        }
    })?;
    for ((raw, case), reduced) in reduced {
        // A tool that does not do the same twice leaves the program as it was found.
        let reduced = reduced.or_else(|| case.first.clone());
        found.add_case(raw, &case, reduced);
    }
    Ok(found)
}

/// A cause as it looks before it is reduced.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Raw {
    Known(Quirk),
    Crash(Crash),
    Unknown(Cause),
    Refused(String, bool),
}

/// Functions with one cause: in one program, or in all, of which it has the first then.
struct Case {
    number: u64,
    plan: Plan,
    functions: Vec<u32>,
    /// By what it is known while the program is reduced, if it shows the cause alone.
    symptom: Option<Symptom>,
    /// The program as it was found.
    first: Option<Reduced>,
    /// How many; of programs that are refused, how many of these.
    count: u64,
}

impl Case {
    /// Counts what another program has. The first one that shows the cause alone stands for all.
    fn join(&mut self, other: Self) {
        let count = self.count + other.count;
        if self.symptom.is_none() && other.symptom.is_some() {
            *self = other;
        }
        self.count = count;
    }
}

/// One program.
struct Trial {
    number: u64,
    /// What was drawn.
    plan: Plan,
    /// What the assembler has crashed on in a known way: its functions are left out of what follows.
    crashes: Vec<(Crash, String, Vec<u32>)>,
    /// What is left, and what came of it. `None` if nothing is.
    left: Option<(Plan, Program, Outcome<Judged, String>)>,
}

/// Makes and judges a program; without the functions that the assembler is known to crash on, if it does.
fn trial(maker: &Maker, known: &Known, number: u64, plan: Plan) -> Result<Trial, Error> {
    let mut trial = Trial { number, plan: plan.clone(), crashes: Vec::new(), left: None };
    let mut left = plan;
    while !left.functions.is_empty() {
        let program = write(&left);
        let outcome = Outcome::of(program.make(maker), |bytes| judge(&program, bytes))?;
        if let Outcome::Refused(stderr) = &outcome {
            let said = complaint(stderr);
            if let Some((crash, functions)) = known.crash(&said, &program) {
                left.functions.retain(|function| !functions.contains(&function.number));
                trial.crashes.push((crash, said, functions));
                continue;
            }
        }
        trial.left = Some((left, program, outcome));
        break;
    }
    Ok(trial)
}

impl Found {
    /// Adds a program. What is wrong with it is returned.
    fn add(&mut self, known: &Known, trial: &Trial) -> Vec<(Raw, Case)> {
        let case = |functions, symptom, first| Case {
            number: trial.number,
            plan: trial.plan.clone(),
            functions,
            symptom,
            first,
            count: 1,
        };
        let mut all = Vec::new();
        for (crash, said, functions) in &trial.crashes {
            let count = functions.len() as u64;
            let case = case(functions.clone(), Some(Symptom::Refused(said.clone())), None);
            all.push((Raw::Crash(*crash), Case { count, ..case }));
        }
        let Some((plan, program, outcome)) = &trial.left else { return all };
        let as_found = |fault: Option<&Fault>| Reduced {
            program: program.clone(),
            plan: plan.clone(),
            fault: fault.cloned(),
        };
        let judged = match outcome {
            Outcome::Judged(judged) => judged,
            Outcome::Unjudged(message) => {
                self.contradictions.push((trial.number, message.clone()));
                return all;
            }
            Outcome::Refused(stderr) => {
                let said = complaint(stderr);
                let functions = plan.functions.iter().map(|function| function.number).collect();
                let symptom = Symptom::Refused(said.clone());
                let raw = Raw::Refused(said, is_crash(stderr));
                all.push((raw, case(functions, Some(symptom), Some(as_found(None)))));
                return all;
            }
        };
        self.programs += 1;
        self.functions += plan.functions.len() as u64;
        self.left_out += judged.left_out.len() as u64;
        self.noticed += judged.noticed.len() as u64;
        self.compared += judged.compared;
        for (form, count) in &program.forms {
            *self.forms.entry(form).or_default() += u64::from(*count);
        }
        let contradictions = judged.contradictions.iter().map(|message| (trial.number, message.clone()));
        self.contradictions.extend(contradictions);
        let mut seen = Vec::new();
        for fault in &judged.faults {
            let Some(site) = program.sites.get(fault.site) else { continue };
            // What follows from an earlier instruction of the function has no cause of its own.
            if seen.contains(&(fault.source, fault.function)) {
                continue;
            }
            seen.push((fault.source, fault.function));
            let functions = vec![fault.function];
            match known.explain(program, judged, fault) {
                Some(quirks) => {
                    let is_alone = quirks.len() == 1;
                    all.extend(quirks.into_iter().map(|quirk| {
                        let symptom = is_alone.then_some(Symptom::Explained(fault.source, quirk));
                        (Raw::Known(quirk), case(functions.clone(), symptom, None))
                    }));
                }
                None => {
                    let (source, wrong, is_alone) = (fault.source, fault.wrong, is_alone(judged, fault));
                    let symptom = Symptom::Unexplained { source, wrong, is_alone };
                    let raw = Raw::Unknown(cause(fault, &site.declared));
                    all.push((raw, case(functions, Some(symptom), Some(as_found(Some(fault))))));
                }
            }
        }
        all
    }

    /// Adds what is left of the first program of a case.
    fn add_case(&mut self, raw: Raw, case: &Case, reduced: Option<Reduced>) {
        let refused = match &raw {
            Raw::Refused(said, _) => Some(said.clone()),
            Raw::Crash(_) => case.symptom.as_ref().and_then(Symptom::refused),
            Raw::Known(_) | Raw::Unknown(_) => None,
        };
        let left = reduced.as_ref().and_then(|Reduced { program, fault, .. }| {
            let fault = fault.as_ref()?;
            Some(cause(fault, &declared(program, fault)))
        });
        let example = reduced.map(|reduced| {
            let Reduced { program, fault, .. } = &reduced;
            let site = fault.as_ref().and_then(|fault| program.sites.get(fault.site));
            let function = site.or_else(|| program.sites.first()).map_or(0, |site| site.function);
            Example {
                program: case.number,
                function,
                code: site.map_or_else(String::new, |site| site.code.clone()),
                says: fault.as_ref().map_or_else(String::new, |fault| fault.says.clone()),
                truth: site.map_or_else(String::new, |site| site.state.to_string()),
                source: program.source.clone(),
                instructions: program.sites.len(),
                elsewhere: BTreeMap::new(),
                refused,
                reduced,
            }
        });
        let crash = matches!(raw, Raw::Crash(_) | Raw::Refused(_, true));
        let group = Group { count: case.count, crash, first: example };
        let known = match raw {
            Raw::Known(quirk) => self.known.entry(quirk.page()).or_insert_with(Group::none),
            Raw::Crash(crash) => self.known.entry(crash.page()).or_insert_with(Group::none),
            Raw::Refused(said, _) => self.refused.entry(said).or_insert_with(Group::none),
            Raw::Unknown(cause) => self.causes.entry(left.unwrap_or(cause)).or_insert_with(Group::none),
        };
        known.join(group);
    }
}
