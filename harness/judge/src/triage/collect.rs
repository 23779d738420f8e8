//! Disagreements, gathered by place and made readable.

use std::collections::BTreeMap;
use std::fmt::Display;

use rustc_hash::{FxHashMap, FxHashSet};
use sframe_engine::{
    Base, DwarfRegister, InstructionPointer, LookupAddress, PauthKey, Recovery, RecoveryRule, ReturnAddress,
    Row, StepError,
};
use sframe_isa::Instruction;
use sframe_kit::Address;

use super::mistake::{self, FrameView, Mistakes};
use super::{Circumstances, Triage, triage, triage_place};
use crate::compare::{Disagreement, Value};
use crate::finding::{Blame, Finding, FindingRow, ListedInstruction, Message, Said};
use crate::target::{Linked, Loaded, Module, Target};
use crate::unwind::End;
use crate::vocabulary::Verdict;

impl Finding {
    /// The message with the place that it is about.
    #[must_use]
    pub fn at(mut self, address: Loaded, target: &Target<'_>) -> Self {
        let place = target.place(address);
        self.pc = Some(Address(place.address.0));
        self.image = place.image.map(str::to_owned);
        self.function = place.function.map(str::to_owned);
        let address = InstructionPointer::from(address).into();
        (self.row, self.row_pc) = row_at(address, target).unzip();
        (self.instruction, self.listing) = listing(address, target);
        (self.blame, self.confidence, self.evidence) = triage_place(self.verdict, address, target);
        self
    }

    /// The message with the place of the function or row that it already names.
    #[must_use]
    pub fn located(self, target: &Target<'_>) -> Self {
        let Some(name) = self.function.clone().filter(|_| self.pc.is_none()) else { return self };
        let qualified = self.image.as_ref().map_or_else(|| name.clone(), |image| format!("{image}!{name}"));
        let Some(start) = target.addresses_of(&qualified).first().copied() else { return self };
        let row = self.row.as_ref().map_or(0, |row| row.start.0);
        Self { function: Some(name), ..self.at(Loaded(start.0.wrapping_add(row)), target) }
    }
}

/// The row at an address, and the address in its file of the row's first instruction.
fn row_at(address: LookupAddress, target: &Target<'_>) -> Option<(FindingRow, Address)> {
    let found = target.sections.lookup(address).ok().flatten()?;
    let start = row_start(&found);
    let start = target.module_at(address).map_or(start.0, |module| module.linked(start).0);
    Some((FindingRow::new(&found.row), Address(start)))
}

/// The PC from which a row is valid.
fn row_start(found: &sframe_engine::Found) -> Loaded {
    Loaded(found.fde.start.wrapping_add(found.row.start.into()))
}

/// How many instructions are listed before, and after, the one that a finding is
/// about.
const LISTED: usize = 4;

/// The instruction at an address, or the one that contains it, and those around
/// it.
pub(crate) fn listing(
    address: LookupAddress,
    target: &Target<'_>,
) -> (Option<String>, Vec<ListedInstruction>) {
    let Some(module) = target.module_at(address) else { return (None, Vec::new()) };
    let code = module.code_around(address);
    let Some(here) = code.before(address.get().saturating_add(1)) else { return (None, Vec::new()) };
    let mut start = here;
    for _ in 0..LISTED {
        // Not across a gap between functions' sections.
        start = code.before(start).filter(|before| start - before <= 16).unwrap_or(start);
    }
    let text = |loaded: u64, instruction: &Instruction| {
        module.text(Loaded(loaded)).unwrap_or_else(|| instruction.text.clone())
    };
    let line = |(loaded, instruction): (u64, &Instruction)| {
        let row = target.sections.lookup(InstructionPointer(loaded)).ok().flatten();
        ListedInstruction {
            pc: Address(module.linked(Loaded(loaded)).0),
            text: text(loaded, instruction),
            row: row.map(|found| Address(found.row.start.into())),
        }
    };
    let instruction = code.at(here).map(|instruction| text(here, instruction));
    let behind = code.within(here..u64::MAX).take(LISTED + 1);
    (instruction, code.within(start..here).chain(behind).map(line).collect())
}

/// The stack is kept for at most this many findings.
const STACKS: usize = 64;

/// At most this many findings of a run are described; others are counted. If a
/// program has more, most have the same cause.
pub const MOST_FINDINGS: usize = 10_000;

/// One finding for each verdict and place, at whatever depth of the stack. A
/// place is a PC and the row that was looked up for it: a frame that has made a
/// call is looked up a byte before its PC. The finding shows the disagreement
/// in the frame nearest to the top.
#[derive(Clone, Debug)]
pub(crate) struct Findings {
    /// The maximum number described.
    most: usize,
    /// By verdict, PC and look-up address.
    seen: FxHashMap<(Verdict, u64, LookupAddress), Entry>,
    found: Vec<Found>,
    /// The rows that are wrong, by verdict: each is one finding, at however many places. Where there is no row, the place.
    wrong: FxHashSet<(Verdict, Loaded)>,
    /// How many more there are, by verdict.
    omitted: BTreeMap<Verdict, u64>,
    /// The last wrong FP, for what follows from it in the same walk.
    last_wrong_fp: Option<Entry>,
}

/// Where a finding is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Entry {
    /// Described, at this position.
    SavedLocations(usize),
    /// Only counted.
    Omitted,
}

impl Default for Findings {
    fn default() -> Self {
        Self {
            most: MOST_FINDINGS,
            seen: FxHashMap::default(),
            found: Vec::new(),
            wrong: FxHashSet::default(),
            omitted: BTreeMap::new(),
            last_wrong_fp: None,
        }
    }
}

#[derive(Clone, Debug)]
struct Found {
    disagreement: Disagreement,
    triage: Triage,
    /// Those that give all answers; `None` if nobody was asked.
    mistakes: Option<Mistakes>,
    hits: u64,
    /// Whether the CFA was wrong by another amount as well.
    varies: bool,
    /// The first disagreement that a wrong FP led to.
    consequence: Option<Disagreement>,
}

impl Findings {
    /// Records a disagreement. One that follows from a wrong FP is not a
    /// separate finding: the row that reads the FP is right.
    pub(crate) fn add(&mut self, disagreement: Disagreement, scene: &Circumstances<'_, '_>) {
        let entry = self
            .add_triaged(disagreement, scene.target, |with_stack| triage(&disagreement, scene, with_stack));
        if let Some(Entry::SavedLocations(finding)) = entry
            && self.found[finding].triage.blame == Blame::Consumer
        {
            self.explain(entry, mistakes(&disagreement, scene));
        }
    }

    /// Records which mistakes give the answer of a disagreement. A finding is
    /// explained by those that give all of its answers.
    pub(crate) fn explain(&mut self, entry: Option<Entry>, mistakes: Mistakes) {
        if let Some(Entry::SavedLocations(finding)) = entry {
            let known = &mut self.found[finding].mistakes;
            *known = Some(known.map_or(mistakes, |known| known.and(mistakes)));
        }
    }

    /// Records a disagreement after its moment has passed. `triage` is called
    /// for the first disagreement of each place, and for each one nearer to the
    /// top.
    pub(crate) fn add_triaged(
        &mut self,
        disagreement: Disagreement,
        target: &Target<'_>,
        triage: impl FnOnce(bool) -> Triage,
    ) -> Option<Entry> {
        let Disagreement { verdict, frame, after_wrong_fp, .. } = disagreement;
        if after_wrong_fp.is_some()
            && reads_fp(&disagreement, target)
            && let Some(cause) = self.last_wrong_fp
        {
            if let Entry::SavedLocations(cause) = cause {
                self.found[cause].consequence.get_or_insert(disagreement);
            }
            return None;
        }
        let entry = match self.entry(&disagreement, target) {
            Some(Entry::Omitted) => Entry::Omitted,
            Some(Entry::SavedLocations(index)) => {
                let found = &mut self.found[index];
                found.varies |= found.disagreement.cfa_error() != disagreement.cfa_error();
                if frame < self.found[index].disagreement.frame {
                    let triage = triage(self.found[index].triage.stack.is_some());
                    let found = &mut self.found[index];
                    (found.disagreement, found.triage) = (disagreement, triage);
                }
                Entry::SavedLocations(index)
            }
            None => {
                let row = target.sections.lookup(disagreement.address).ok().flatten();
                let row = row.map_or(Loaded(disagreement.pc), |found| row_start(&found));
                self.wrong.insert((verdict, row));
                let entry = if self.found.len() < self.most {
                    let triage = triage(self.found.len() < STACKS);
                    self.found.push(Found {
                        disagreement,
                        triage,
                        mistakes: None,
                        hits: 0,
                        varies: false,
                        consequence: None,
                    });
                    Entry::SavedLocations(self.found.len() - 1)
                } else {
                    *self.omitted.entry(verdict).or_default() += 1;
                    Entry::Omitted
                };
                self.seen.insert((verdict, disagreement.pc, disagreement.address), entry);
                entry
            }
        };
        if let Entry::SavedLocations(index) = entry {
            self.found[index].hits += 1;
        }
        if verdict == Verdict::WrongFp {
            self.last_wrong_fp = Some(entry);
        }
        Some(entry)
    }

    /// Returns the finding that a disagreement belongs to, if any.
    fn entry(&mut self, disagreement: &Disagreement, target: &Target<'_>) -> Option<Entry> {
        let Disagreement { verdict, pc, address, .. } = *disagreement;
        if let Some(entry) = self.seen.get(&(verdict, pc, address)) {
            return Some(*entry);
        }
        // The same PC in a frame that has, or has not, made a call.
        let others = [LookupAddress::from(InstructionPointer(pc)), ReturnAddress(pc).into()];
        let other = others.into_iter().find(|other| *other != address)?;
        let entry = *self.seen.get(&(verdict, pc, other))?;
        let row = |address| {
            let found = target.sections.lookup(address).ok().flatten();
            found.map(|found| (found.fde.start, found.row_index))
        };
        (row(address) == row(other)).then(|| {
            self.seen.insert((verdict, pc, address), entry);
            entry
        })
    }

    /// How many there are, described or only counted, as far as they are known before anybody is blamed.
    pub(crate) fn count(&self) -> u64 {
        self.wrong.len() as u64
    }

    /// How many findings are only counted, by verdict.
    #[must_use]
    pub(crate) const fn omitted(&self) -> &BTreeMap<Verdict, u64> {
        &self.omitted
    }

    /// The findings in the order in which they were first seen.
    #[must_use]
    pub(crate) fn into_findings(self, target: &Target<'_>) -> Vec<Finding> {
        self.described_until(target, || false).0
    }

    /// The findings in the order in which they were first seen, and the numbers of those that are not described, by
    /// verdict: those beyond the limit, and those that are left when the time is over.
    #[must_use]
    pub(crate) fn described_until(
        self,
        target: &Target<'_>,
        mut is_over: impl FnMut() -> bool,
    ) -> (Vec<Finding>, BTreeMap<Verdict, u64>) {
        let mistakes: Vec<(Verdict, Mistakes)> = self
            .found
            .iter()
            .map(|found| (found.disagreement.verdict, found.mistakes.unwrap_or_default()))
            .collect();
        let mut omitted = self.omitted.clone();
        let mut described = Vec::new();
        for (found, hint) in self.found.iter().zip(mistake::hints(&mistakes)) {
            if is_over() {
                *omitted.entry(found.disagreement.verdict).or_default() += 1;
            } else {
                described.push(Finding { hint, ..describe(found, target) });
            }
        }
        (described, omitted)
    }
}

/// The usual mistakes that give an unwinder's answer.
fn mistakes(found: &Disagreement, scene: &Circumstances<'_, '_>) -> Mistakes {
    let viewpoint = scene.viewpoint;
    let registers = |register: DwarfRegister| viewpoint.register(register.0);
    let frame = FrameView {
        sections: scene.sections,
        state: scene.truth.state(found.frame),
        call: scene.truth.call_of(found.frame),
        gives_cfa: true,
        caller: None,
        registers: (found.frame == 0).then_some(&registers),
        memory: &|address| viewpoint.memory.read_u64(address),
        pauth: scene.target.pauth(),
    };
    Mistakes::of(found, &frame)
}

/// Whether the row of a disagreement computes the CFA or RA from FP.
fn reads_fp(disagreement: &Disagreement, target: &Target<'_>) -> bool {
    let Ok(Some(found)) = target.sections.lookup(disagreement.address) else {
        return false;
    };
    let is_fp = |rule: &RecoveryRule| rule.base == Base::Fp;
    let of_ra = match &found.row.ra {
        Recovery::Rule(rule) => is_fp(rule),
        Recovery::Unchanged | Recovery::Undefined => false,
    };
    found.row.cfa.as_ref().is_some_and(is_fp) || of_ra
}

/// The PC of a disagreement in its image. A return address may belong to another image than the call.
fn linked_pc(found: &Disagreement, target: &Target<'_>) -> Linked {
    match target.module_at(found.address) {
        Some(module) => module.linked(Loaded(found.pc)),
        None => Linked(found.pc),
    }
}

fn describe(found: &Found, target: &Target<'_>) -> Finding {
    let Disagreement { verdict, frame, address: lookup, expected, got, .. } = found.disagreement;
    let place = target.place(lookup);
    let (row, row_pc) = row_at(lookup, target).unzip();
    let Linked(pc) = linked_pc(&found.disagreement, target);
    let (expected, got) = (value(expected, target), value(got, target));
    let at = if frame > 0 {
        format!("{} (frame {frame})", target.place(call(lookup, target)))
    } else {
        place.to_string()
    };
    let mut says = says(verdict, &expected, &got);
    if let Some(row) = &row {
        let is_made = target.module_at(lookup).is_some_and(Module::is_made);
        let made = if is_made { " (synthesized from .eh_frame)" } else { "" };
        says += &format!("; row +{}{made}: {}", row.start, row.rules);
    }
    if let Some(module) = target.module_at(lookup)
        && let Some(abi) = module.subject.abi()
    {
        let of_row = target.sections.lookup(lookup).ok().flatten().map(|found| registers(&found.row));
        for register in of_row.into_iter().flatten() {
            says += &abi
                .register_name(register)
                .map_or_else(String::new, |name| format!("; {register} is {name}"));
        }
    }
    says += &match (verdict, &found.consequence) {
        (Verdict::WrongFp, None) => "; no rule reads it further out".to_owned(),
        (Verdict::WrongFp, Some(later)) => {
            let reader = target.place(later.address);
            format!("; {reader} (frame {}) reads it, and the walk goes wrong there", later.frame)
        }
        _ => String::new(),
    };
    let (instruction, listing) = listing(lookup, target);
    let Triage { blame, confidence, ref evidence, ref stack } = found.triage;
    Finding {
        verdict,
        pc: Some(Address(pc)),
        image: place.image.map(str::to_owned),
        function: place.function.map(str::to_owned),
        code: None,
        frame: Some(frame),
        hits: found.hits,
        places: 1,
        row,
        row_pc,
        expected,
        got,
        varies: found.varies,
        instruction,
        blame,
        confidence,
        evidence: evidence.clone(),
        hint: None,
        fault: None,
        listing,
        stack: stack.clone(),
        message: Message::at(at, says),
    }
}

/// The instruction that contains the address by which a caller is looked up: its call.
fn call(lookup: LookupAddress, target: &Target<'_>) -> Loaded {
    let start = target.module_at(lookup).and_then(|module| {
        let code = module.code_around(lookup);
        code.before(lookup.get().saturating_add(1)).filter(|start| lookup.get() - start < 16)
    });
    Loaded(start.unwrap_or(lookup.get()))
}

/// The registers that a row's rules name by their numbers, each once.
fn registers(row: &Row) -> Vec<DwarfRegister> {
    let rules = [row.cfa, rule_of(row.ra), rule_of(row.fp)].into_iter().flatten();
    let mut registers: Vec<DwarfRegister> = rules
        .filter_map(|rule| match rule.base {
            Base::Register(register) => Some(register),
            _ => None,
        })
        .collect();
    registers.sort_unstable();
    registers.dedup();
    registers
}

const fn rule_of(recovery: Recovery) -> Option<RecoveryRule> {
    match recovery {
        Recovery::Rule(rule) => Some(rule),
        Recovery::Unchanged | Recovery::Undefined => None,
    }
}

/// Formats a value for people. Addresses within an image are given without its
/// bias, and with the name of a library; others, such as those of the stack, are
/// unchanged.
fn value(value: Value, target: &Target<'_>) -> Said {
    let address = |loaded: u64| {
        let place = target.place(Loaded(loaded));
        let image = place.image.map_or_else(String::new, |image| format!("{image}: "));
        format!("{image}{:#x}", place.address)
    };
    if let Value::Word(word) = value {
        let place = target.place(Loaded(word));
        if place.image.is_none() {
            return Said::Address(Address(place.address.0));
        }
    }
    Said::words(words(value, address))
}

/// Says what is wrong, given the values in words.
pub(crate) fn says(verdict: Verdict, expected: &impl Display, got: &impl Display) -> String {
    match verdict {
        Verdict::WrongCfa => format!("CFA is {got}, the call stack has {expected}"),
        Verdict::WrongRa => format!("RA is {got}, the call stack has {expected}"),
        Verdict::WrongFp => format!("the caller's FP is {got}, the call stack has {expected}"),
        Verdict::ByLuck => format!("a rule reads {got}, and not {expected}"),
        Verdict::BadMemory => format!("CFA depends on {got}; the call stack has {expected}"),
        Verdict::ExtraFrames => format!("the backtrace has {got}, the call stack {expected}"),
        _ => format!("{got}; the call stack has {expected}"),
    }
}

/// Formats a value for people, and addresses as given.
pub(crate) fn words(value: Value, address: impl Fn(u64) -> String) -> String {
    match value {
        Value::Word(word) => address(word),
        Value::Unreadable(unreadable) => format!("unreadable memory at {}", address(unreadable)),
        Value::Signed(signed, None) => format!("{}, not signed", address(signed)),
        Value::Signed(signed, Some(key)) => {
            let key = if key == PauthKey::A { 'A' } else { 'B' };
            format!("{}, signed with key {key}", address(signed))
        }
        Value::Interrupted(at, true) => format!("{}, before which it was interrupted", address(at)),
        Value::Interrupted(at, false) => format!("{}, which a call returns to", address(at)),
        Value::Saved => "a value that this call of the function has saved".to_owned(),
        Value::BelowSp(at) => format!("the value at {}, below the stack pointer", address(at)),
        Value::Stale(at) => {
            format!("the value at {}, where nothing was stored since the function was called", address(at))
        }
        Value::NotFp(at) => {
            format!("the value at {}, where not FP but something else was stored", address(at))
        }
        Value::OverwrittenFp => "FP, which the function has overwritten".to_owned(),
        Value::StaleRegister(register) => {
            let register = register.0;
            format!("register {register}, which nothing has written since the function was called")
        }
        Value::Frames(1) => "1 frame".to_owned(),
        Value::Frames(count) => format!("{count} frames"),
        Value::End(End::Outermost) => "an outermost frame".to_owned(),
        Value::End(End::Failed(StepError::NoFde)) => "no FDE".to_owned(),
        Value::End(End::Failed(error)) => error.to_string(),
        Value::End(End::TooDeep) => "a walk without end".to_owned(),
        Value::End(End::Unspecified) => "an end of the walk".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::finding::count;

    fn build() -> Vec<u8> {
        let file =
            Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus/builds/gnu-2.47/amd64/recursion.O0");
        std::fs::read(file).expect("a build")
    }

    /// Wrong in the topmost frame.
    fn disagreement(verdict: Verdict, pc: u64) -> Disagreement {
        Disagreement {
            verdict,
            frame: 0,
            pc,
            address: InstructionPointer(pc).into(),
            expected: Value::Word(1),
            got: Value::Word(2),
            after_wrong_fp: None,
        }
    }

    /// When the time is over, as many as were described are, and the others are counted.
    #[test]
    fn findings_that_time_runs_out_for_are_counted() {
        let bytes = build();
        let target = Target::open(&bytes).expect("a target");
        let main = target.addresses_of("main")[0].0;
        let mut findings = Findings::default();
        for offset in 0..5 {
            let found = disagreement(Verdict::WrongCfa, main + 4 * offset);
            findings.add_triaged(found, &target, |_| Triage::UNKNOWN);
        }
        let mut asked = 0;
        let (described, omitted) = findings.described_until(&target, || {
            asked += 1;
            asked > 2
        });
        assert_eq!((described.len(), omitted), (2, BTreeMap::from([(Verdict::WrongCfa, 3)])));
    }

    /// While a program runs, its findings are counted as in its report: one for a row.
    #[test]
    fn findings_are_counted_by_row_as_they_come() {
        let bytes = build();
        let target = Target::open(&bytes).expect("a target");
        let main = target.addresses_of("main")[0].0;
        let mut findings = Findings::default();
        for (offset, rows) in (0..40).zip([1, 2, 2, 2, 3]) {
            let found = disagreement(Verdict::WrongCfa, main + offset);
            findings.add_triaged(found, &target, |_| Triage::UNKNOWN);
            assert_eq!(findings.count(), rows, "{offset}");
        }
        assert_eq!(findings.count(), count(&findings.into_findings(&target)));
    }

    #[test]
    fn findings_beyond_the_limit_are_counted_once_for_each_place() {
        let bytes = build();
        let target = Target::open(&bytes).expect("a target");
        let main = target.addresses_of("main")[0].0;
        let mut findings = Findings { most: 3, ..Findings::default() };
        let places = [(Verdict::WrongCfa, 0..5), (Verdict::WrongFp, 0..2)];
        for _ in 0..3 {
            for (verdict, offsets) in places.clone() {
                for offset in offsets {
                    let found = disagreement(verdict, main + 4 * offset);
                    findings.add_triaged(found, &target, |_| Triage::UNKNOWN);
                }
            }
        }
        let omitted = BTreeMap::from([(Verdict::WrongCfa, 2), (Verdict::WrongFp, 2)]);
        let (kept, omitted_by_limit) = findings.described_until(&target, || false);
        assert_eq!(omitted_by_limit, omitted);
        assert_eq!(kept.iter().map(|finding| finding.hits).collect::<Vec<_>>(), [3, 3, 3]);
    }
}
