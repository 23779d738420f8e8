//! What a run, an exploration and a comparison say of a program, and where they contradict one another.

use std::collections::{BTreeMap, BTreeSet};

use rustc_hash::FxHashMap;
use serde::Serialize;
use sframe_engine::InstructionPointer;
use sframe_inspect::diff::{DiffReport, Field, diff_file};
use sframe_inspect::{Blame, Confidence};
use sframe_machine::{End, Options};

use super::shape::{Cause, Section, operation_before, without_numbers};
use crate::examine::coverage::Explored;
use crate::examine::observed::TrueFrame;
use crate::examine::{ExamineOptions, examine};
use crate::explore::{Certainty, ExploreOptions, Roots, by_row, explore, row_of};
use crate::finding::Finding;
use crate::spec::Verdict;
use crate::target::files::Files;
use crate::target::{Linked, MadeSections, SectionSource, Target, TargetError};
use crate::truth::cross_check::Traces;
use crate::unwind::sframe_unwinder;

/// Who says that something is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Witness {
    /// A run.
    Run,
    /// An exploration, with a proof.
    Exploration,
    /// A comparison of the two sections, only.
    Comparison,
}

/// Something that is wrong in a section: the first place in a function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// What seems to be its cause.
    pub cause: Cause,
    /// Who says so.
    pub witness: Witness,
    /// The function.
    pub function: String,
    /// What is wrong, in a sentence.
    pub message: String,
    /// The instructions there.
    pub listing: Vec<String>,
    /// What other witnesses say.
    pub evidence: Vec<String>,
}

/// Where the bench contradicts itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Contradiction {
    /// What contradicts what.
    pub kind: String,
    /// What is said of the place.
    pub says: String,
}

/// What is known of a program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Judged {
    /// What it has computed.
    pub checksum: Option<u64>,
    /// What is wrong.
    pub faults: Vec<Fault>,
    /// Where the bench contradicts itself.
    pub contradictions: Vec<Contradiction>,
    /// Rows of `.sframe`.
    pub rows: u64,
    /// Those that the run has used.
    pub exercised: u64,
    /// Those that exploring judges.
    pub explored: u64,
    /// Functions that `.sframe` leaves out, by reason.
    pub left_out: BTreeMap<String, u64>,
    /// Instructions at which the run compared.
    pub comparisons: u64,
}

/// What a run and an exploration say of a section.
struct Seen {
    items: Vec<Item>,
    /// What exploring says of rows.
    rows: FxHashMap<u64, (Explored, Option<String>)>,
    /// The instructions at which the run compared a frame that has a caller.
    compared: BTreeSet<u64>,
    checksum: Option<u64>,
    total: u64,
    exercised: u64,
    explored: u64,
    comparisons: u64,
}

/// Something that is wrong.
struct Item {
    witness: Witness,
    finding: Finding,
    /// The first instruction of the row.
    row: Option<u64>,
    is_entry: bool,
}

impl Item {
    fn pc(&self) -> u64 {
        self.finding.pc.map_or(0, |pc| pc.0)
    }

    fn function(&self) -> &str {
        self.finding.function.as_deref().unwrap_or("?")
    }

    fn is_run(&self) -> bool {
        self.witness == Witness::Run
    }
}

/// Judges a program.
///
/// # Errors
/// What can't be judged, in a sentence: it is the bench's fault, or the program does not run.
pub fn judge(bytes: &[u8]) -> Result<Judged, String> {
    let files = Files { executable: bytes.to_vec(), ..Files::default() };
    let mut judged = Judged::default();
    let target = match Target::open_files(&files) {
        Err(TargetError::NoSection(_)) => None,
        opened => Some(opened.map_err(|error| format!("the program can't be opened: {error}"))?),
    };
    let made = MadeSections::of(&files, SectionSource::EhFrame);
    let of_cfi = match Target::open_made(&files, &made) {
        Err(TargetError::NoSection(_) | TargetError::NotMade(_)) => None,
        opened => Some(opened.map_err(|error| format!("its .eh_frame can't be used: {error}"))?),
    };
    let sframe = target.as_ref().map(see).transpose()?;
    let cfi = of_cfi.as_ref().map(see).transpose()?;
    let difference = target.is_some().then(|| diff_file(bytes, "program").ok()).flatten();
    if let Some(seen) = &sframe {
        judged.checksum = seen.checksum;
        (judged.rows, judged.exercised) = (seen.total, seen.exercised);
        (judged.explored, judged.comparisons) = (seen.explored, seen.comparisons);
        judged.contradictions.extend(seen.contradictions(".sframe"));
    }
    if let Some(seen) = &cfi {
        judged.checksum = judged.checksum.or(seen.checksum);
        judged.contradictions.extend(seen.contradictions(".eh_frame"));
    }
    if let (Some(sframe), Some(cfi), Some(of_cfi)) = (&sframe, &cfi, &of_cfi) {
        judged.contradictions.extend(blames(sframe, cfi, of_cfi));
        if let Some(difference) = &difference {
            judged.contradictions.extend(differs_for_nobody(difference, sframe, cfi));
        }
    }
    judged.faults = faults(sframe.as_ref(), cfi.as_ref(), difference.as_ref());
    for left_out in difference.iter().flat_map(|difference| &difference.uncovered) {
        let reason = left_out.reason.map_or("nothing in its CFI says why", |reason| reason.text());
        *judged.left_out.entry(reason.to_owned()).or_default() += 1;
    }
    Ok(judged)
}

/// Runs and explores a program with one section.
fn see(target: &Target<'_>) -> Result<Seen, String> {
    let module = target.executable();
    let look = ExamineOptions {
        traces: Traces::of_build(module.image.cpu.abi, &[], ""),
        observes: true,
        ..ExamineOptions::default()
    };
    let mut unwinder = sframe_unwinder(target);
    let examination = examine(target, &mut *unwinder, &look, &Options::default())
        .map_err(|error| format!("the program can't be run: {error}"))?;
    drop(unwinder);
    if let Some(doubt) = &examination.doubt {
        return Err(format!("the call stack is uncertain: {doubt}"));
    }
    match &examination.end {
        End::Exit(0) => {}
        End::Broken(broken) => return Err(format!("the program does not end: {broken}")),
        end => return Err(format!("the program ends otherwise than it should: {end:?}")),
    }
    let explored = explore(target, &Roots::of(target), &ExploreOptions::default())
        .map_err(|error| format!("the program can't be explored: {error}"))?;
    let rows = by_row(target, &explored);
    let row = |finding: &Finding| row_of(finding, module, module.section.as_ref()?);
    let item = |witness, finding: Finding| {
        let pc = finding.pc.map(|pc| module.loaded(Linked(pc.0)));
        let is_entry = pc.is_some_and(|pc| target.place(pc).offset == 0);
        Item { witness, row: row(&finding), finding, is_entry }
    };
    let proved = explored.findings.into_iter().filter(|found| found.certainty == Certainty::Proved);
    let mut items: Vec<Item> =
        examination.findings.into_iter().map(|finding| item(Witness::Run, finding)).collect();
    items.extend(proved.map(|found| item(Witness::Exploration, found.finding)));
    let called = |frame: &Option<TrueFrame>| matches!(frame, Some(TrueFrame::Called { .. }));
    let is_little = sframe_engine_is_little(target);
    let checksum = <[u8; 8]>::try_from(examination.standard_output.as_slice())
        .ok()
        .map(|word| if is_little { u64::from_le_bytes(word) } else { u64::from_be_bytes(word) });
    Ok(Seen {
        items,
        rows,
        compared: examination
            .observed
            .iter()
            .filter(|observed| called(&observed.frame))
            .map(|observed| target.linked(crate::target::Loaded(observed.pc)).0)
            .collect(),
        checksum,
        total: examination.coverage.rows_total,
        exercised: examination.coverage.rows_exercised,
        explored: explored.rows.judged,
        comparisons: examination.comparisons,
    })
}

/// Whether the program's words begin with their low bytes.
fn sframe_engine_is_little(target: &Target<'_>) -> bool {
    use sframe_engine::Abi;
    matches!(target.executable().image.cpu.abi, Abi::Amd64 | Abi::Aarch64)
}

impl Seen {
    /// Where the run and the exploration contradict each other, and what only the bench can be blamed for.
    fn contradictions(&self, section: &str) -> Vec<Contradiction> {
        let mut all = Vec::new();
        let mut add = |kind: &str, says: &String| {
            all.push(Contradiction { kind: format!("{section}: {kind}"), says: says.clone() });
        };
        for item in &self.items {
            let message = &item.finding.message;
            if item.finding.blame == Blame::Bench {
                add("the bench is to blame", message);
            }
            let Some(row) = item.row else { continue };
            if item.is_run() {
                if let Some((Explored::Agrees, _)) = self.rows.get(&row) {
                    add("a run finds what exploring does not", message);
                }
                continue;
            }
            let is_found = self.items.iter().any(|other| other.is_run() && other.row == Some(row));
            if self.compared.contains(&item.pc()) && !is_found {
                add("exploring proves what a run does not find", message);
            }
        }
        all
    }

    /// Whether the run finds something at an instruction, with some verdict or any.
    fn finds(&self, pc: u64, verdict: Option<Verdict>) -> bool {
        let is_it = |item: &&Item| {
            item.is_run() && item.pc() == pc && verdict.is_none_or(|verdict| item.finding.verdict == verdict)
        };
        self.items.iter().any(|item| is_it(&item))
    }
}

/// Where a finding's blame contradicts what the other section shows.
fn blames(sframe: &Seen, cfi: &Seen, of_cfi: &Target<'_>) -> Vec<Contradiction> {
    let mut all = Vec::new();
    let mut add = |kind: &str, says: &String| {
        all.push(Contradiction { kind: kind.to_owned(), says: says.clone() });
    };
    for item in sframe.items.iter().filter(|item| item.is_run() && is_of_value(item.finding.verdict)) {
        let Finding { blame, confidence, message, verdict, .. } = &item.finding;
        let pc = item.pc();
        let loaded = of_cfi.executable().loaded(Linked(pc)).0;
        let is_described =
            of_cfi.sections.lookup_fde(InstructionPointer(loaded)).is_ok_and(|fde| fde.is_some());
        if !is_described {
            continue;
        }
        if *blame == Blame::CompilerOrCfi && !cfi.finds(pc, None) {
            add("CFI is blamed, and a run finds nothing in it", message);
        }
        if (*blame, *confidence) == (Blame::ProducerAssembler, Confidence::High)
            && cfi.finds(pc, Some(*verdict))
        {
            add("the assembler is blamed, and CFI is as wrong", message);
        }
    }
    all
}

/// Where the sections differ at an instruction that ran, and the run finds nothing in either.
fn differs_for_nobody(difference: &DiffReport, sframe: &Seen, cfi: &Seen) -> Vec<Contradiction> {
    let of_value = difference.findings.iter().filter(|found| verdict_of(found.field).is_some());
    let is_unseen = |found: &&sframe_inspect::diff::Difference| {
        let range = found.pc.0..=found.last_pc.0;
        let has =
            |seen: &Seen| seen.items.iter().any(|item| range.contains(&item.pc()) || item.row == row(found));
        sframe.compared.contains(&found.pc.0)
            && cfi.compared.contains(&found.pc.0)
            && !has(sframe)
            && !has(cfi)
    };
    of_value
        .filter(is_unseen)
        .map(|found| Contradiction {
            kind: "the sections differ, and a run finds nothing in either".to_owned(),
            says: found.message.clone(),
        })
        .collect()
}

/// The first instruction of the row of a difference.
fn row(found: &sframe_inspect::diff::Difference) -> Option<u64> {
    let function = found.pc.0.wrapping_sub(found.offset.0);
    found.row.as_ref().map(|row| function.wrapping_add(row.start.0))
}

const fn verdict_of(field: Field) -> Option<Verdict> {
    match field {
        Field::Cfa => Some(Verdict::WrongCfa),
        Field::Ra => Some(Verdict::WrongRa),
        Field::Fp => Some(Verdict::WrongFp),
        _ => None,
    }
}

/// Whether a verdict says that the values are wrong which a row gives.
const fn is_of_value(verdict: Verdict) -> bool {
    matches!(verdict, Verdict::WrongCfa | Verdict::WrongRa | Verdict::WrongFp)
}

/// What is wrong, once for each function, verdict and section.
fn faults(sframe: Option<&Seen>, cfi: Option<&Seen>, difference: Option<&DiffReport>) -> Vec<Fault> {
    let mut faults = Vec::new();
    let key = |item: &Item| (item.function().to_owned(), item.finding.verdict);
    let keys = |seen: Option<&Seen>| -> BTreeSet<_> {
        seen.iter().flat_map(|seen| &seen.items).map(|item| key(item)).collect()
    };
    let (of_sframe, of_cfi) = (keys(sframe), keys(cfi));
    let mut add = |seen: Option<&Seen>, is_cfi: bool| {
        let mut items: Vec<&Item> = seen.iter().flat_map(|seen| &seen.items).collect();
        // A run's are surer, and have the values.
        items.sort_by_key(|item| (item.pc(), item.witness));
        let mut known = BTreeSet::new();
        for item in items {
            let key = key(item);
            if is_cfi && of_sframe.contains(&key) || !known.insert(key.clone()) {
                continue;
            }
            let section = match (is_cfi, of_cfi.contains(&key)) {
                (true, _) => Section::EhFrame,
                (false, true) => Section::Both,
                (false, false) => Section::Sframe,
            };
            faults.push(fault(item, section));
        }
    };
    add(sframe, false);
    add(cfi, true);
    let mut known: BTreeSet<String> = of_sframe.into_iter().chain(of_cfi).map(|(name, _)| name).collect();
    for found in difference.iter().flat_map(|difference| &difference.findings) {
        if !known.insert(found.function.clone()) {
            continue;
        }
        let before = found.instructions.iter().rfind(|line| !line.differs);
        let after = before.and_then(|line| line.text.split_whitespace().next()).unwrap_or("the entry");
        let cause = Cause {
            wrong: format!("different {}", found.field),
            section: Section::Sframe,
            blame: found.blame,
            row: without_numbers(&found.sframe),
            after: after.to_owned(),
        };
        let evidence =
            found.evidence.iter().map(|evidence| format!("{}: {}", evidence.witness, evidence.says));
        faults.push(Fault {
            cause,
            witness: Witness::Comparison,
            function: found.function.clone(),
            message: found.message.clone(),
            listing: found.instructions.iter().map(|line| format!("{}: {}", line.pc, line.text)).collect(),
            evidence: evidence.collect(),
        });
    }
    faults
}

fn fault(item: &Item, section: Section) -> Fault {
    let Finding { verdict, blame, row, message, listing, evidence, .. } = &item.finding;
    let cause = Cause {
        wrong: verdict.as_str().to_owned(),
        section,
        blame: *blame,
        row: row.as_ref().map_or_else(|| "none".to_owned(), |row| without_numbers(&row.rules)),
        after: operation_before(&item.finding, item.is_entry),
    };
    let mark = |pc| if Some(pc) == item.finding.pc { "=> " } else { "   " };
    Fault {
        cause,
        witness: item.witness,
        function: item.function().to_owned(),
        message: message.clone(),
        listing: listing.iter().map(|line| format!("{}{}: {}", mark(line.pc), line.pc, line.text)).collect(),
        evidence: evidence
            .iter()
            .map(|evidence| format!("{}: {}", evidence.witness, evidence.says))
            .collect(),
    }
}
