//! What a run and an exploration say of a program with one section.

use std::collections::BTreeSet;
use std::sync::Arc;

use rustc_hash::FxHashMap;
use serde::Serialize;
use sframe_engine::{Abi, Base, InstructionPointer, RowRules};
use sframe_isa::Disassembly;
use sframe_judge::examine::coverage::Explored;
use sframe_judge::examine::observed::TrueFrame;
use sframe_judge::examine::{ExamineOptions, examine};
use sframe_judge::explore::{Certainty, ExploreOptions, ExploredFinding, Roots, by_row, explore};
use sframe_judge::finding::Finding;
use sframe_judge::target::{Linked, Loaded, Module, Target};
use sframe_judge::truth::cross_check::Traces;
use sframe_judge::unwind::sframe_unwinder;
use sframe_judge::vocabulary::Verdict;
use sframe_machine::{End, Options};

/// What stands for the function of a finding about a section as a whole.
pub(super) const OF_FILE: &str = "?";

/// Why a program is not judged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotJudged {
    /// It does not end as all programs do. If it does so at other levels, it has been miscompiled.
    Stops(String),
    /// The bench can't judge it.
    Bench(String),
}

impl NotJudged {
    /// The reason, in a sentence.
    #[must_use]
    pub fn why(&self) -> &str {
        match self {
            Self::Stops(why) | Self::Bench(why) => why,
        }
    }
}

/// A program that executes more instructions than this is not right.
const BUDGET: u64 = 20_000_000;

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

/// What a run and an exploration say of a section.
pub(super) struct Seen {
    pub(super) items: Vec<Item>,
    /// What exploring proves at each place.
    pub(super) proved: Vec<Item>,
    /// What exploring says of rows.
    pub(super) rows: FxHashMap<u64, (Explored, Option<String>)>,
    /// The instructions at which exploring has seen a row to agree.
    pub(super) agreed: BTreeSet<u64>,
    /// The instructions at which the run compared a frame that has a caller.
    pub(super) compared: BTreeSet<u64>,
    pub(super) checksum: Option<u64>,
    pub(super) total: u64,
    pub(super) exercised: u64,
    pub(super) explored: u64,
    pub(super) comparisons: u64,
}

/// Something that is wrong.
pub(super) struct Item {
    pub(super) witness: Witness,
    pub(super) finding: Finding,
    /// The first instruction of the row.
    pub(super) row: Option<u64>,
    /// The instruction before that, in the text.
    pub(super) before_row: Option<String>,
    /// The section of the code, if linkers make it.
    pub(super) code_in: Option<String>,
    /// Where it is, and in which row.
    pub(super) spot: Option<Spot>,
    pub(super) is_entry: bool,
    /// Whether the row needs another register than SP and FP.
    pub(super) needs_register: bool,
}

impl Item {
    pub(super) fn pc(&self) -> u64 {
        self.finding.pc.map_or(0, |pc| pc.0)
    }

    pub(super) fn function(&self) -> &str {
        self.finding.function.as_deref().unwrap_or(OF_FILE)
    }

    pub(super) fn is_run(&self) -> bool {
        self.witness == Witness::Run
    }
}

/// A place at which a row is wrong. Addresses are those of the process.
#[derive(Clone, Debug)]
pub struct Spot {
    /// The instruction.
    pub(super) pc: u64,
    /// The row's first instruction.
    pub(super) row_pc: u64,
    /// Where the function starts.
    pub(super) function: u64,
    /// What the row says, and what of it is wrong.
    pub(super) row: (Abi, RowRules, Verdict),
    /// The code around it.
    pub(super) code: Arc<Disassembly>,
}

impl Spot {
    /// That of a finding about a row.
    pub(super) fn of(finding: &Finding, module: &Module<'_>) -> Option<Self> {
        let pc = module.loaded(Linked(finding.pc?.0)).0;
        let row_pc = module.loaded(Linked(finding.row_pc?.0)).0;
        let found = finding.row.as_ref()?;
        let row = (module.subject.abi()?, found.rules, finding.verdict);
        let function = row_pc.wrapping_sub(found.start.0);
        Some(Self { pc, row_pc, function, row, code: module.code_around(Loaded(pc)) })
    }
}

/// The code is that of the program.
impl PartialEq for Spot {
    fn eq(&self, other: &Self) -> bool {
        (self.pc, self.row_pc, self.row) == (other.pc, other.row_pc, other.row)
    }
}

impl Eq for Spot {}

/// Runs and explores a program with one section.
pub(super) fn ask(target: &Target<'_>) -> Result<Seen, NotJudged> {
    let module = target.executable();
    let look = ExamineOptions {
        traces: Traces::of_abi(module.image.cpu.abi),
        observes: true,
        ..ExamineOptions::default()
    };
    let mut unwinder = sframe_unwinder(target);
    let options = Options { budget: BUDGET, ..Options::default() };
    let examination = examine(target, &mut *unwinder, &look, &options)
        .map_err(|error| NotJudged::Bench(format!("the program can't be run: {error}")))?;
    drop(unwinder);
    if let Some(doubt) = &examination.doubt {
        return Err(NotJudged::Bench(format!("the call stack is uncertain: {doubt}")));
    }
    match &examination.end {
        End::Exit(0) => {}
        End::Broken(broken) => return Err(NotJudged::Stops(format!("the program does not end: {broken}"))),
        end => {
            return Err(NotJudged::Stops(format!("the program ends otherwise than it should: {end:?}")));
        }
    }
    let explored = explore(target, &Roots::of(target), &ExploreOptions::default())
        .map_err(|error| NotJudged::Bench(format!("the program can't be explored: {error}")))?;
    let rows = by_row(target, &explored);
    let agreed = explored.agreed().map(|pc| target.linked(Loaded(pc)).0).collect();
    let item = |witness, finding: Finding| {
        let pc = finding.pc.map(|pc| module.loaded(Linked(pc.0)));
        let is_entry = pc.is_some_and(|pc| target.place(pc).offset == 0);
        let row = finding.row_pc.map(|row| row.0);
        let needs_register = row.is_some_and(|row| needs_register(target, module.loaded(Linked(row))));
        let before_row = row.and_then(|row| instruction_before(module, row));
        let spot = Spot::of(&finding, module);
        let code_in = finding.pc.and_then(|pc| module.subject.linker_made(pc.0)).map(str::to_owned);
        Item { witness, row, before_row, code_in, spot, finding, is_entry, needs_register }
    };
    let is_consequence = target.consequences();
    let is_proved =
        |found: &ExploredFinding| found.certainty == Certainty::Proved && !is_consequence(&found.finding);
    let mut items: Vec<Item> =
        examination.findings.into_iter().map(|finding| item(Witness::Run, finding)).collect();
    let findings = explored.findings().into_iter().filter(is_proved);
    items.extend(findings.map(|found| item(Witness::Exploration, found.finding)));
    let places = explored.places().filter(|found| is_proved(found));
    let proved = places.map(|found| item(Witness::Exploration, found.finding.clone())).collect();
    let called = |frame: &Option<TrueFrame>| matches!(frame, Some(TrueFrame::Called { .. }));
    let is_little = is_little_endian(target);
    let checksum = <[u8; 8]>::try_from(examination.standard_output.as_slice())
        .ok()
        .map(|word| if is_little { u64::from_le_bytes(word) } else { u64::from_be_bytes(word) });
    Ok(Seen {
        items,
        proved,
        agreed,
        rows,
        compared: examination
            .observed
            .iter()
            .filter(|observed| called(&observed.frame))
            .map(|observed| target.linked(Loaded(observed.pc)).0)
            .collect(),
        checksum,
        total: examination.coverage.rows.total,
        exercised: examination.coverage.rows.exercised,
        explored: explored.rows.checked,
        comparisons: examination.counts.comparisons,
    })
}

/// The instruction that ends where another one begins.
fn instruction_before(module: &Module<'_>, address: u64) -> Option<String> {
    let address = module.loaded(Linked(address)).0;
    let before = module.code().before(address)?;
    Some(module.code().at(before)?.text.clone())
}

/// Whether the row at an address needs another register than SP and FP.
fn needs_register(target: &Target<'_>, at: Loaded) -> bool {
    let found = target.sections.lookup(InstructionPointer(at.0)).ok().flatten();
    found.and_then(|found| found.row.cfa).is_some_and(|cfa| matches!(cfa.base, Base::Register(_)))
}

/// Whether the program's words begin with their low bytes.
fn is_little_endian(target: &Target<'_>) -> bool {
    !target.executable().image.cpu.abi.is_big_endian()
}
