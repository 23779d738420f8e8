//! Generates, makes and judges many programs, and groups what is found.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;

use rayon::prelude::*;
use serde::Serialize;
use sframe_engine::Abi;

use super::SOURCE;
use super::judge::{Fault, Judged, Source, judge};
use super::plan::Plan;
use super::reduce::{Reduced, reduce};
use super::state::Wrong;
use super::writer::{Program, write};
use crate::corpus::{Error, Maker};

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
    /// The smallest program with it, in assembly; `None` if it is gone when the function is alone.
    pub source: Option<String>,
    /// How many instructions that has, without those that call it.
    pub instructions: usize,
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
    /// What is wrong, by cause: how many functions have it, and the first of them.
    #[serde(serialize_with = "causes")]
    pub causes: BTreeMap<Cause, (u64, Example)>,
    /// Programs that were not made, by what the tools said.
    pub refused: BTreeMap<String, u64>,
    /// Where the bench contradicts itself, and what it could not judge, by program.
    pub contradictions: Vec<(u64, String)>,
    /// How often each form of a directive was used.
    pub forms: BTreeMap<&'static str, u64>,
}

fn causes<S: serde::Serializer>(
    causes: &BTreeMap<Cause, (u64, Example)>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    #[derive(Serialize)]
    struct Entry<'e> {
        #[serde(flatten)]
        cause: &'e Cause,
        functions: u64,
        first: &'e Example,
    }
    let entries =
        causes.iter().map(|(cause, (functions, first))| Entry { cause, functions: *functions, first });
    serializer.collect_seq(entries)
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
    let mut first: BTreeMap<Cause, Case> = BTreeMap::new();
    for (number, program, result) in judged {
        match result {
            Ok(Outcome::Judged(judged)) => {
                let faults = found.add(number, options.functions, &program, &judged);
                for (cause, fault) in faults {
                    let case = Case { number, fault, judged: judged.clone(), functions: 0 };
                    first.entry(cause).or_insert(case).functions += 1;
                }
            }
            Ok(Outcome::Unjudged(message)) => found.contradictions.push((number, message)),
            Err(Error::Compiler { stderr, .. }) => *found.refused.entry(complaint(&stderr)).or_default() += 1,
            Err(error) => return Err(error),
        }
    }
    let reduced: Vec<_> = first
        .into_par_iter()
        .map(|(cause, case)| {
            let plan = Plan::random(abi, options.seed, case.number, options.functions);
            let reduced = reduce(maker, &plan, &case.fault, &case.judged)?;
            Ok((cause, case, reduced))
        })
        .collect::<Result<_, Error>>()?;
    for (cause, case, reduced) in reduced {
        found.add_cause(cause, &case, reduced);
    }
    Ok(found)
}

/// The first fault with some directives in front of it.
struct Case {
    number: u64,
    fault: Fault,
    judged: Judged,
    functions: u64,
}

enum Outcome {
    Judged(Judged),
    Unjudged(String),
}

fn judged(maker: &Maker, abi: Abi, program: &Program) -> Result<Outcome, Error> {
    let made = maker.make(abi, &[(SOURCE.to_owned(), program.source.clone())], &[])?;
    Ok(judge(program, &made.bytes).map_or_else(Outcome::Unjudged, Outcome::Judged))
}

/// The first complaint of an assembler or linker, without the place.
fn complaint(said: &str) -> String {
    let line = said.lines().find(|line| line.contains("rror: ") || line.contains("Internal error"));
    let line = line.or_else(|| said.lines().next());
    let line = line.unwrap_or_default();
    line.rsplit_once("rror: ").map_or(line, |(_, message)| message).trim().to_owned()
}

impl Found {
    fn add(
        &mut self,
        number: u64,
        functions: u32,
        program: &Program,
        judged: &Judged,
    ) -> Vec<(Cause, Fault)> {
        self.programs += 1;
        self.functions += u64::from(functions);
        self.left_out += judged.left_out.len() as u64;
        self.compared += judged.compared;
        for (form, count) in &program.forms {
            *self.forms.entry(form).or_default() += u64::from(*count);
        }
        self.contradictions.extend(judged.contradictions.iter().map(|message| (number, message.clone())));
        // What follows from an earlier instruction of the function has no cause of its own.
        let (mut seen, mut faults) = (Vec::new(), Vec::new());
        for fault in &judged.faults {
            let Some(site) = program.sites.get(fault.site) else { continue };
            if seen.contains(&(fault.source, fault.function)) {
                continue;
            }
            seen.push((fault.source, fault.function));
            faults.push((cause(fault, &site.declared), fault.clone()));
        }
        faults
    }

    /// Adds a cause, by what is left of its first program.
    fn add_cause(&mut self, raw: Cause, case: &Case, reduced: Option<Reduced>) {
        let (cause, example) = match &reduced {
            Some(Reduced { program, fault, .. }) => {
                let site = &program.sites[fault.site];
                let example = Example {
                    program: case.number,
                    function: case.fault.function,
                    code: site.code.clone(),
                    says: fault.says.clone(),
                    truth: site.state.to_string(),
                    source: Some(program.source.clone()),
                    instructions: program.sites.len(),
                };
                (self::cause(fault, &site.declared), example)
            }
            None => {
                let example = Example {
                    program: case.number,
                    function: case.fault.function,
                    code: String::new(),
                    says: case.fault.says.clone(),
                    truth: String::new(),
                    source: None,
                    instructions: 0,
                };
                (raw, example)
            }
        };
        let known = self.causes.entry(cause).or_insert_with(|| (0, example.clone()));
        known.0 += case.functions;
        // The smallest of all.
        if example.source.is_some() && example.instructions < known.1.instructions {
            known.1 = example;
        }
    }
}

fn cause(fault: &Fault, declared: &[&'static str]) -> Cause {
    let wrong = match fault.wrong {
        None => "no row",
        Some(Wrong::Cfa) => "wrong CFA",
        Some(Wrong::Ra) => "wrong RA",
        Some(Wrong::Fp) => "wrong FP",
    };
    // For the CFA, those of registers do not matter, however many.
    let matters = |form: &&str| {
        fault.wrong != Some(Wrong::Cfa)
            || form.contains("cfa")
            || form.contains("CFA_def")
            || form.contains("state")
    };
    let mut after: Vec<_> = declared.iter().copied().filter(matters).collect();
    after.dedup();
    Cause { source: fault.source, wrong, after }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn complaints_have_no_place() {
        let said = "generated.s: Assembler messages:\ngenerated.s:12: Error: no such instruction: `x'\n";
        assert_eq!(complaint(said), "no such instruction: `x'");
        assert_eq!(complaint("killed"), "killed");
        let crash = "x.s: Assembler messages:\nx.s: Internal error (Segmentation fault).\n";
        assert_eq!(complaint(crash), "x.s: Internal error (Segmentation fault).");
    }
}
