//! Tests that no known failure hides another: each byte of the rows of a
//! function that has one is changed.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use rayon::prelude::*;
use sframe_engine::InstructionPointer;
use sframe_judge::calls::Readings;
use sframe_judge::compare::Truth;
use sframe_judge::examine::Probe;
use sframe_judge::target::Target;
use sframe_judge::unwind::{Viewpoint, sframe_unwinder};
use sframe_machine::Options;
use sframe_suite::case::{Case, Outcome, RunScope};
use sframe_suite::suite::{Filter, Suite};

use super::equivalence::{give_the_same_values, mean_the_same};
use super::plan::rank;
use super::trial::Trials;

/// A byte of a module's section.
type Byte = (usize, usize);

/// The bytes of the rows of all functions with a known failure.
fn bytes(case: &Case<'_>, target: &Target<'_>) -> BTreeSet<Byte> {
    let mut bytes = BTreeSet::new();
    for (_, known) in case.spec.known_for(&case.facts()) {
        for address in known.function.iter().flat_map(|name| target.addresses_of(name)) {
            let Some(module) =
                target.modules.iter().position(|module| module.image.range().contains(&address.0))
            else {
                continue;
            };
            let Some(section) = &target.modules[module].section else { continue };
            let Ok(Some(fde)) = section.lookup_fde(InstructionPointer::from(address)) else { continue };
            let starts = section.fdes().flatten().map(|other| other.rows_offset);
            let len = target.modules[module].subject.sframe.map_or(0, |sframe| sframe.data.len());
            let end = starts.filter(|start| *start > fde.rows_offset).min().unwrap_or(len);
            bytes.extend((fde.rows_offset..end).map(|byte| (module, byte)));
        }
    }
    bytes
}

struct Watch<'a>(Trials<'a>);

impl Probe for Watch<'_> {
    fn compared(&mut self, truth: &Truth<'_>, viewpoint: &Viewpoint<'_>, readings: &dyn Fn() -> Readings) {
        self.0.compared(truth, viewpoint, readings);
    }
}

/// Returns what happens to a changed byte; an error if nothing notices it although the
/// meaning differs.
fn fate(
    case: &Case<'_>,
    target: &Target<'_>,
    (module, byte): Byte,
    bit: u32,
) -> Result<&'static str, String> {
    let Some(sframe) = target.modules[module].subject.sframe else { return Ok("no section") };
    let mut data = sframe.data.to_vec();
    data[byte] ^= 1 << bit;
    let Ok(changed) = target.with_section(module, &data) else { return Ok("refused") };
    let options = Options::default();
    let report = case.run_on(&changed, &options, &sframe_unwinder, RunScope::default());
    match report.outcome {
        Outcome::Unexpected => return Ok("unexpected"),
        Outcome::Broken => return Ok("broken"),
        Outcome::Agree | Outcome::Known | Outcome::Skipped => {}
    }
    let sections = (&target.modules[module].section, &changed.modules[module].section);
    let (Some(one), Some(other)) = sections else { return Ok("no section") };
    let code = target.modules[module].code();
    if mean_the_same(one, other, code, None) {
        return Ok("same meaning");
    }
    let bits = target.executable().image.cpu.address_bits;
    let image = target.modules[module].image.range();
    let mut watch = Watch(Trials::new(one.clone(), image, target.sections.clone(), bits));
    watch.0.add(changed.sections.clone(), other.clone(), None);
    let extent = RunScope { probe: Some(&mut watch), ..RunScope::default() };
    let _ = case.run_on(target, &options, &sframe_unwinder, extent);
    let trial = watch.0.results().remove(0);
    if trial.killed.is_none() {
        if !trial.exercised {
            return Ok("not exercised");
        }
        if trial.uses.is_empty() {
            return Ok("no caller");
        }
        if give_the_same_values(one, other, code, &trial.uses) {
            return Ok("same value");
        }
    }
    Err(format!("{}: byte {byte:#x} of module {module}, bit {bit}: {:?}", case.id(), trial.killed))
}

/// A sample; all of them, some 11,000 in ten minutes, with `KNOWN_FLIPS=all`.
#[test]
fn a_changed_byte_in_a_function_with_a_known_failure_is_noticed() {
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let suite = Suite::open(&repository.join("corpus"), &repository.join("specs")).expect("a suite");
    let cases = suite.cases(&Filter::default()).expect("cases");
    let share = if std::env::var_os("KNOWN_FLIPS").is_some() { 1 } else { 200 };
    let fates: Vec<(&'static str, Option<String>)> = cases
        .par_iter()
        .filter(|case| case.spec.known_for(&case.facts()).next().is_some())
        .flat_map_iter(|case| {
            let files = case.build.files(suite.corpus()).expect("files");
            let target = Target::open_files(&files).expect("a target");
            let ranked = |(module, byte): &Byte| rank(0, &case.id(), *module, *byte);
            let chosen = bytes(case, &target).into_iter().filter(|byte| ranked(byte) % share == 0);
            let chosen: Vec<Byte> = chosen.collect();
            if !chosen.is_empty() {
                let report = case.run_on(&target, &Options::default(), &sframe_unwinder, RunScope::default());
                assert_eq!(report.outcome, Outcome::Known, "{}: {:?}", case.id(), report.reason);
            }
            let fates = chosen.into_iter().map(|byte| {
                let bit = u32::try_from(ranked(&byte) / share % 8).unwrap_or(0);
                match fate(case, &target, byte, bit) {
                    Ok(fate) => (fate, None),
                    Err(survivor) => ("survived", Some(survivor)),
                }
            });
            fates.collect::<Vec<_>>()
        })
        .collect();
    let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
    for (fate, _) in &fates {
        *counts.entry(fate).or_default() += 1;
    }
    eprintln!("{} changed bytes: {counts:?}", fates.len());
    let survivors: Vec<&String> = fates.iter().filter_map(|(_, survivor)| survivor.as_ref()).collect();
    assert!(survivors.is_empty(), "{counts:?}: {survivors:#?}");
    assert!(counts.get("unexpected").is_some_and(|count| *count > 20), "{counts:?}");
}
