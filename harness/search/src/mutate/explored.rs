//! The mutants of a build, judged by exploring its functions instead of running it.

use std::collections::BTreeSet;
use std::ops::Range;

use rustc_hash::FxHashMap;
use sframe_engine::{InstructionPointer, Section};
use sframe_judge::compare::Truth;
use sframe_judge::examine::stop::StopRequest;
use sframe_judge::explore::{Baseline, Certainty, ExploreOptions, ExploredFinding, Roots, Variant, Watch};
use sframe_judge::finding::{Address, Said};
use sframe_judge::target::{Linked, Target};
use sframe_judge::unwind::{SframeUnwinder, Viewpoint};
use sframe_judge::vocabulary::Verdict;
use sframe_machine::MachineError;
use sframe_machine::explore::Point;

use super::build::Mutant;
use super::equivalence::{Reason, give_the_same_values, mean_the_same};
use super::report::{Fate, Killer};
use super::trial::{Meaning, Step, USES, Use};

/// What tells one finding of a file from another.
type Key = (Verdict, Option<Address>, Said);

fn key(found: &ExploredFinding) -> Key {
    (found.finding.verdict, found.finding.pc, found.finding.got.clone())
}

/// A mutant that can be opened.
struct Opened<'m, 'a> {
    mutant: &'m Mutant<'m>,
    target: Target<'a>,
    /// Its functions, if they may differ: the first row of one says whether callers enter there.
    roots: Option<Roots>,
    fde: Option<u32>,
}

/// The functions from which paths lead to an FDE, and what is found there without a change.
#[derive(Default)]
struct Original {
    entries: Vec<u64>,
    proved: BTreeSet<Key>,
    found: BTreeSet<Key>,
}

impl Original {
    fn of(baseline: &Baseline<'_, '_>, fde: u32) -> Self {
        let entries = baseline.leading_to(fde);
        let findings = baseline.findings(&entries);
        let proved = findings.iter().filter(|found| found.certainty == Certainty::Proved).map(key).collect();
        Self { entries, proved, found: findings.iter().map(key).collect() }
    }

    /// Whether something was found in a range of loaded addresses; everywhere without one.
    fn is_wrong_within(&self, target: &Target<'_>, range: Option<Range<u64>>) -> bool {
        let is_in = |pc: u64| range.as_ref().is_none_or(|range| range.contains(&pc));
        let loaded = |pc: Address| target.executable().loaded(Linked(pc.0)).0;
        self.found.iter().any(|(_, pc, _)| pc.is_some_and(|pc| is_in(loaded(pc))))
    }
}

/// Explores the functions of each mutated row. If an end is asked for before all are explored, it returns nothing.
///
/// # Errors
/// The machine can't be set up.
pub(super) fn fates<'m>(
    target: &Target<'_>,
    build: &str,
    mutants: &'m [Mutant<'m>],
    stop: &StopRequest,
) -> Result<Vec<(&'m Mutant<'m>, Fate)>, MachineError> {
    let roots = Roots::of(target);
    let baseline = Baseline::of(target, &roots, ExploreOptions::default())?;
    let (mut fates, mut opened) = (Vec::new(), Vec::new());
    let mut originals: FxHashMap<u32, Original> = FxHashMap::default();
    for mutant in mutants {
        let Ok(changed) = target.with_section(mutant.subject.module, &mutant.bytes) else {
            fates.push((mutant, Fate::Killed(Killer::Reader)));
            continue;
        };
        let function = mutant.mutation.function.and_then(|index| mutant.subject.section.functions.get(index));
        let fde = function.and_then(|of| target.sections.lookup_fde(InstructionPointer(of.start)).ok()?);
        let fde = fde.map(|fde| fde.index);
        if let Some(fde) = fde {
            originals.entry(fde).or_insert_with(|| Original::of(&baseline, fde));
        }
        let roots = mutant.mutation.is_of_first_row().then(|| Roots::of(&changed));
        opened.push(Opened { mutant, target: changed, roots, fde });
    }
    let nothing = Original::default();
    let original = |of: &Opened<'_, '_>| of.fde.and_then(|fde| originals.get(&fde)).unwrap_or(&nothing);
    let mut visits: Vec<_> = opened.iter().map(|of| Visits::new(target, of)).collect();
    let mut variants = Vec::new();
    for (of, watch) in opened.iter().zip(&mut visits) {
        let entries = original(of).entries.clone();
        variants.push(Variant {
            target: &of.target,
            roots: of.roots.as_ref().unwrap_or(&roots),
            entries,
            watch,
        });
    }
    let found = baseline.try_variants(variants, stop)?;
    if stop.reason().is_some() {
        return Ok(Vec::new());
    }
    for ((of, visits), found) in opened.iter().zip(&visits).zip(found) {
        fates.push((of.mutant, fate(target, build, of, visits, original(of), &found)));
    }
    Ok(fates)
}

fn fate(
    target: &Target<'_>,
    build: &str,
    of: &Opened<'_, '_>,
    visits: &Visits<'_>,
    original: &Original,
    found: &[ExploredFinding],
) -> Fate {
    let is_proof = |found: &&ExploredFinding| {
        found.certainty == Certainty::Proved && !original.proved.contains(&key(found))
    };
    if let Some(proof) = found.iter().find(is_proof) {
        return Fate::Killed(Killer::Comparison(proof.finding.verdict));
    }
    let mutant = of.mutant;
    // Nobody has called the function with which the process begins.
    if begins_process(target, of) {
        return Fate::Equivalent(Reason::NoCaller);
    }
    let is_new = |found: &&ExploredFinding| !original.found.contains(&key(found));
    if let Some(possible) = found.iter().filter(is_new).min_by_key(|found| found.doubts.len()) {
        let mut survivor = mutant.survivor(target, build.to_owned());
        survivor.doubts.clone_from(&possible.doubts);
        return Fate::Possible(Box::new(survivor));
    }
    let Some((one, other)) = visits.sections else { return Fate::NotExercised };
    let code = mutant.subject.code;
    if !visits.exercised {
        return if mean_the_same(one, other, code, mutant.mutation.scope(&mutant.subject.section)) {
            Fate::Equivalent(Reason::SameMeaning)
        } else {
            Fate::NotExercised
        };
    }
    if give_the_same_values(one, other, code, &visits.uses) {
        return Fate::Equivalent(Reason::SameValue);
    }
    // What is wrong with the row without the change comes first.
    if original.is_wrong_within(target, mutant.mutation.scope(&mutant.subject.section)) {
        return Fate::NotExercised;
    }
    Fate::Survived(Box::new(mutant.survivor(target, build.to_owned())))
}

/// Whether a mutant's function is the one with which the process begins.
fn begins_process(target: &Target<'_>, of: &Opened<'_, '_>) -> bool {
    let executable = target.executable();
    let fde = target.sections.lookup_fde(InstructionPointer(executable.image.entry)).ok().flatten();
    of.fde.is_some() && fde.map(|fde| fde.index) == of.fde
}

/// Where paths have come to instructions for which a mutant has another answer.
struct Visits<'v> {
    /// The section, and the changed one.
    sections: Option<(&'v Section<'v>, &'v Section<'v>)>,
    /// Outside these addresses they are the same.
    scope: Option<Range<u64>>,
    unwinder: SframeUnwinder<'v>,
    /// That of the section without the change.
    original: SframeUnwinder<'v>,
    /// Whether the answers differ, by address.
    differs: FxHashMap<u64, bool>,
    exercised: bool,
    uses: BTreeSet<Use>,
}

impl<'v> Visits<'v> {
    fn new(target: &'v Target<'_>, of: &'v Opened<'_, '_>) -> Self {
        let Opened { mutant, target: changed, .. } = of;
        let section = |of: &'v Target<'_>| of.modules.get(mutant.subject.module)?.section.as_ref();
        let bits = target.executable().image.cpu.address_bits;
        Self {
            sections: section(target).zip(section(changed)),
            scope: mutant.mutation.scope(&mutant.subject.section),
            unwinder: SframeUnwinder::new(changed.sections.clone(), bits),
            original: SframeUnwinder::new(target.sections.clone(), bits),
            differs: FxHashMap::default(),
            exercised: false,
            uses: BTreeSet::new(),
        }
    }
}

impl Watch for Visits<'_> {
    fn instruction(&mut self, point: &Point<'_>) {
        let pc = point.moment.pc;
        let Some((one, other)) = self.sections else { return };
        if self.scope.as_ref().is_some_and(|scope| !scope.contains(&pc)) {
            return;
        }
        let address = InstructionPointer(pc).into();
        let differs = || {
            // A row without a caller is not judged: only running shows whether there is none.
            let is_judged = !matches!(other.lookup(address), Ok(Some(found)) if found.row.is_outermost());
            is_judged && Meaning::of(one, address) != Meaning::of(other, address)
        };
        if !*self.differs.entry(pc).or_insert_with(differs) {
            return;
        }
        let (truth, viewpoint) = (Truth::of(&point.moment), Viewpoint::new(&point.moment));
        // Then the function has given up the caller's frame, unless it removes arguments.
        if point.above_caller() > 0
            && Step::of(&mut self.original, 0, &truth, &viewpoint).is_for_another_caller(&truth)
        {
            return;
        }
        self.exercised = true;
        if self.uses.len() < USES {
            let stored = |word: u64| Some(point.last_store(word * 8)?.pc);
            let step = Step::of(&mut self.unwinder, 0, &truth, &viewpoint);
            self.uses.insert(step.used(&truth, 0, stored));
        }
    }
}
