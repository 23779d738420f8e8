//! Searches with generated assembly.

use std::collections::BTreeMap;

use sframe_corpus::corpus::{Error, Maker};
use sframe_corpus::spec::Faults;
use sframe_engine::Abi;

use super::crash::Crash;
use super::found::{Assembly, Cause, Counts, Example, cause, declared};
use super::judge::{Fault, Judged, judge};
use super::known::Known;
use super::plan::Plan;
use super::reduce::{Reduced, Symptom, is_alone, reduce};
use super::writer::{Program, write};
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
) -> Result<Found<Assembly>, Error> {
    let known = Known::of(faults, &maker.producer(abi)?);
    options.search.run(&Functions { maker, abi, options, known }, done)
}

struct Functions<'c> {
    maker: &'c Maker,
    abi: Abi,
    options: &'c CampaignOptions,
    known: Known,
}

/// What shows something: in one program, or in all, of which it is the first then.
struct Case {
    number: u64,
    plan: Plan,
    functions: Vec<u32>,
    /// By what it is known while the program is reduced.
    symptom: Symptom,
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

/// Makes and judges a program: without the functions that the assembler is known to crash on, if it does.
fn trial(maker: &Maker, known: &Known, number: u64, plan: Plan) -> Result<Trial, Error> {
    let mut trial = Trial { number, plan: plan.clone(), crashes: Vec::new(), left: None };
    let mut left = plan;
    while !left.functions.is_empty() {
        let program = write(&left);
        let outcome = Outcome::of(program.make(maker), |bytes| judge(&program, bytes))?;
        if let Outcome::Refused(stderr) = &outcome
            && let Some((crash, functions)) = known.crash(stderr, &program)
        {
            left.functions.retain(|function| !functions.contains(&function.number));
            trial.crashes.push((crash, complaint(stderr), functions));
            continue;
        }
        trial.left = Some((left, program, outcome));
        break;
    }
    Ok(trial)
}

impl Subject for Functions<'_> {
    type Terms = Assembly;
    type Judge = ();
    type Trial = Trial;
    type Case = Case;

    const KEEPS_JUDGES: bool = false;

    fn start(&self) -> Result<(), Error> {
        Ok(())
    }

    fn attempt(&self, (): &mut (), number: u64) -> Result<Trial, Error> {
        let draw = if self.options.misdeclares { Plan::misdeclared } else { Plan::random };
        let plan = draw(self.abi, self.options.search.seed, number, self.options.functions);
        trial(self.maker, &self.known, number, plan)
    }

    fn add(&self, (): &mut (), trial: Trial, counts: &mut Counts) -> Result<Vec<Finding<Self>>, Error> {
        let number = trial.number;
        let case = |functions, symptom| Some(Case { number, plan: trial.plan.clone(), functions, symptom });
        let mut all = Vec::new();
        for (crash, said, functions) in &trial.crashes {
            let case = case(functions.clone(), Symptom::Refused(said.clone()));
            let known = Finding::of(Kind::Known(crash.page().to_owned()), functions.len() as u64);
            all.push(Finding { case, ..known });
        }
        let Some((plan, program, outcome)) = &trial.left else { return Ok(all) };
        let as_found = |fault: Option<&Fault>, says: Option<String>| {
            let (program, plan) = (program.clone(), plan.clone());
            Some(example(number, Reduced { program, plan, fault: fault.cloned() }, says))
        };
        let judged = match outcome {
            Outcome::Judged(judged) => judged,
            Outcome::Unjudged(why) => {
                all.push(Finding {
                    example: as_found(None, None),
                    ..Finding::of(Kind::Unjudged(why.clone()), 1)
                });
                return Ok(all);
            }
            Outcome::Refused(stderr) => {
                let said = complaint(stderr);
                let functions = plan.functions.iter().map(|function| function.number).collect();
                let (case, example) =
                    (case(functions, Symptom::Refused(said.clone())), as_found(None, Some(said)));
                all.push(Finding { case, example, ..Finding::of(not_made(stderr), 1) });
                return Ok(all);
            }
        };
        counts.add(plan, program, judged);
        for message in &judged.contradictions {
            let contradiction = Finding::of(Kind::Contradiction(message.clone()), 1);
            all.push(Finding { example: as_found(None, None), ..contradiction });
        }
        let mut seen = Vec::new();
        for fault in &judged.faults {
            let Some(site) = program.sites.get(fault.site) else { continue };
            // What follows from an earlier instruction of the function has no cause of its own.
            if seen.contains(&(fault.source, fault.function)) {
                continue;
            }
            seen.push((fault.source, fault.function));
            let functions = vec![fault.function];
            match self.known.explain(program, judged, fault) {
                Some(quirks) => {
                    let is_alone = quirks.len() == 1;
                    all.extend(quirks.into_iter().map(|quirk| {
                        let explained = || case(functions.clone(), Symptom::Explained(fault.source, quirk));
                        let known = Finding::of(Kind::Known(quirk.page().to_owned()), 1);
                        Finding { case: is_alone.then(explained).flatten(), ..known }
                    }));
                }
                None => {
                    let (source, wrong, is_alone) = (fault.source, fault.wrong, is_alone(judged, fault));
                    let case = case(functions, Symptom::Unexplained { source, wrong, is_alone });
                    let kind = Kind::Cause(cause(fault, &site.declared));
                    all.push(Finding { case, example: as_found(Some(fault), None), ..Finding::of(kind, 1) });
                }
            }
        }
        Ok(all)
    }

    fn reduce(&self, kind: &Kind<Cause>, case: &Case) -> Result<Option<Shown<Self>>, Error> {
        if matches!(kind, Kind::Known(_)) && !self.options.reduces_known {
            return Ok(None);
        }
        let Case { number, plan, functions, symptom } = case;
        // A tool that does not do the same twice leaves the program as it was found.
        let reduced = reduce(self.maker, &self.known, plan, functions, symptom)?;
        Ok(reduced.map(|reduced| {
            let kind = match (kind, &reduced.fault) {
                (Kind::Cause(_), Some(fault)) => {
                    Kind::Cause(cause(fault, &declared(&reduced.program, fault)))
                }
                (kind, _) => kind.clone(),
            };
            (kind, example(*number, reduced, symptom.refused()))
        }))
    }
}

/// What is shown of a program with a fault, or that the tools do not make, and say what.
fn example(program: u64, reduced: Reduced, said: Option<String>) -> Example {
    let Reduced { program: written, fault, .. } = &reduced;
    let site = fault.as_ref().and_then(|fault| written.sites.get(fault.site));
    let function = site.or_else(|| written.sites.first()).map_or(0, |site| site.function);
    Example {
        program,
        function,
        code: site.map_or_else(String::new, |site| site.code.clone()),
        refused: said.is_some(),
        says: said.or_else(|| Some(fault.as_ref()?.says.clone())).unwrap_or_default(),
        truth: site.map_or_else(String::new, |site| site.state.to_string()),
        source: written.source.clone(),
        instructions: written.sites.len(),
        elsewhere: BTreeMap::new(),
        reduced,
    }
}

impl Counts {
    fn add(&mut self, plan: &Plan, program: &Program, judged: &Judged) {
        self.programs += 1;
        self.functions += plan.functions.len() as u64;
        self.left_out += judged.left_out.len() as u64;
        self.noticed += judged.noticed.len() as u64;
        self.compared += judged.compared;
        for (form, count) in &program.forms {
            *self.forms.entry(form).or_default() += u64::from(*count);
        }
    }
}
