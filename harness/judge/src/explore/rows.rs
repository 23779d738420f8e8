//! What has become of each row.

use std::collections::BTreeMap;
use std::ops::Range;

use rustc_hash::FxHashMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sframe_engine::{Fde, PcType, Row, Section};
use sframe_isa::{Flow, Operation};

use crate::finding::Address;
use crate::target::{Loaded, Module, Target};

/// A row, by its FDE and its position there.
pub(super) type RowId = (u32, u32);

/// What exploring says of a row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Judgement {
    /// Nothing was compared.
    #[default]
    Undecided,
    /// It agrees wherever it was compared.
    Agrees,
    /// It may be wrong.
    Possible,
    /// It is.
    Proved,
}

/// Why nothing was compared with a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Undecided {
    /// It says that there is no caller, which only running can show.
    Outermost,
    /// It is for the frame of a signal, and recovers the caller from elsewhere than where a call leaves it.
    SignalFrame,
    /// SP is above the caller's frame there, which the function has given up.
    LeftCaller,
    /// No path begins in its function, or leads into it.
    NoEntry,
    /// An indirect jump in its function may lead there.
    IndirectJump,
    /// The function was given up.
    GivenUp,
    /// Its function has an instruction that was neither executed nor stepped over.
    UnknownInstruction,
    /// No path leads there.
    NotReached,
    /// Its function returns from an exception, or switches stacks.
    EntryCode,
    /// The emulator has crashed in its function, or did not come to an end.
    Failed,
    /// It can't be decoded.
    Malformed,
}

impl Undecided {
    /// All of them.
    pub const ALL: [Self; 11] = [
        Self::Outermost,
        Self::SignalFrame,
        Self::LeftCaller,
        Self::NoEntry,
        Self::IndirectJump,
        Self::GivenUp,
        Self::UnknownInstruction,
        Self::NotReached,
        Self::EntryCode,
        Self::Failed,
        Self::Malformed,
    ];

    /// Says it in words.
    #[must_use]
    pub const fn says(self) -> &'static str {
        match self {
            Self::Outermost => "the row says that there is no caller, which only running shows",
            Self::SignalFrame => "for the frame of a signal, whose caller no call can stand for",
            Self::LeftCaller => "the function has given up its caller's frame there",
            Self::NoEntry => "no path begins in the function, or leads into it",
            Self::IndirectJump => "an indirect jump of the function may lead there",
            Self::GivenUp => "the function was given up",
            Self::UnknownInstruction => "after an instruction that can't be executed or stepped over",
            Self::NotReached => "no path leads there",
            Self::EntryCode => {
                "the function returns from an exception, or switches stacks, and no path leads there"
            }
            Self::Failed => "the emulator failed in the function",
            Self::Malformed => "the row can't be decoded",
        }
    }
}

/// How many rows there are, and what has become of them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
pub struct RowCounts {
    /// Rows that cover something.
    pub total: u64,
    /// Those with which something was compared.
    pub checked: u64,
    /// Those that agree at all their instructions.
    pub agree: u64,
    /// Those that agree wherever they were compared, which is not at all their instructions.
    pub partly: u64,
    /// Those that are proved to be wrong.
    pub wrong: u64,
    /// Those that may be.
    pub possible: u64,
    /// The others, by reason.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub undecided: BTreeMap<Undecided, u64>,
}

/// What is known of the way that a function was explored.
#[derive(Clone, Copy, Debug, Default, Deserialize, Serialize)]
pub(super) struct Reach {
    pub(super) is_explored: bool,
    pub(super) is_given_up: bool,
    pub(super) has_unresolved_jump: bool,
    /// Whether the emulator has crashed, or did not come to an end.
    pub(super) has_failed: bool,
    /// Whether a kernel's function returns from an exception, or has left the stack.
    pub(super) is_entry_code: bool,
    /// Whether it returns from an exception.
    pub(super) returns_from_exception: bool,
    /// The first instruction that was neither executed nor stepped over.
    pub(super) unknown: Option<u64>,
}

impl Reach {
    /// Adds what is known from elsewhere.
    pub(super) const fn add(&mut self, other: Self) {
        self.is_explored |= other.is_explored;
        self.is_given_up |= other.is_given_up;
        self.has_unresolved_jump |= other.has_unresolved_jump;
        self.has_failed |= other.has_failed;
        self.is_entry_code |= other.is_entry_code;
        self.returns_from_exception |= other.returns_from_exception;
        if self.unknown.is_none() {
            self.unknown = other.unknown;
        }
    }
}

/// The rows of a function.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
pub struct FunctionRows {
    /// Its first instruction.
    pub pc: Address,
    /// Its name, if a symbol has one.
    pub function: Option<String>,
    /// The instruction that was neither executed nor stepped over, if rows come after it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unknown_instruction: Option<UnknownInstruction>,
    /// The rows.
    #[serde(flatten)]
    pub rows: RowCounts,
}

/// An instruction that exploring can't execute.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
pub struct UnknownInstruction {
    /// Its address.
    pub pc: Address,
    /// What it is; bytes of which the decoder knows no instruction, as many as one may have.
    pub instruction: String,
}

impl UnknownInstruction {
    /// The most bytes that an instruction has.
    const LONGEST: usize = 15;

    /// That at an address, if there is code.
    fn at(pc: u64, module: &Module<'_>) -> Option<Self> {
        let linked = module.linked(Loaded(pc)).0;
        let known = module.instruction(Loaded(pc)).filter(|known| known.flow != Flow::Unknown);
        let instruction = known.map(|known| known.text.clone()).or_else(|| {
            module.subject.code().find_map(|(start, code)| {
                let at = usize::try_from(linked.checked_sub(start)?).ok()?;
                let bytes = code.get(at..).filter(|bytes| !bytes.is_empty())?.iter().take(Self::LONGEST);
                Some(bytes.map(|byte| format!("{byte:02x}")).collect())
            })
        })?;
        Some(Self { pc: Address(linked), instruction })
    }
}

/// What exploring says of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RowState {
    /// It agrees at all its instructions.
    Agrees,
    /// It agrees wherever it was compared, which is not at all its instructions.
    Partly,
    /// It may be wrong.
    Possible,
    /// It is.
    Proved,
    /// Nothing was compared.
    Undecided(Undecided),
}

/// Counts rows: all, and those of each function. Returns also what is known of each. `agreed` has the instructions at
/// which rows have agreed, sorted.
pub(super) fn count(
    target: &Target<'_>,
    judged: &FxHashMap<RowId, Judgement>,
    agreed: &[u64],
    not_judged: &FxHashMap<RowId, Undecided>,
    reach: &FxHashMap<u32, Reach>,
) -> (RowCounts, Vec<FunctionRows>, FxHashMap<RowId, RowState>) {
    let (mut all, mut functions, mut states) = (RowCounts::default(), Vec::new(), FxHashMap::default());
    let module = target.executable();
    let Some(section) = &module.section else { return (all, functions, states) };
    for fde in section.fdes() {
        let Ok(fde) = fde else {
            all.leave(Undecided::Malformed);
            continue;
        };
        let mut reach = reach.get(&fde.index).copied().unwrap_or_default();
        let unknown = reach.unknown.and_then(|pc| UnknownInstruction::at(pc, module));
        reach.unknown = reach.unknown.filter(|_| unknown.is_some());
        let mut rows = RowCounts::default();
        if is_outermost(section, &fde) {
            rows.add(match judged.get(&(fde.index, 0)) {
                Some(Judgement::Possible) => RowState::Possible,
                Some(Judgement::Proved) => RowState::Proved,
                _ => RowState::Undecided(Undecided::Outermost),
            });
        }
        for (index, row) in (0..).zip(section.rows(&fde)) {
            let Ok(row) = row else {
                rows.leave(Undecided::Malformed);
                break;
            };
            if row.is_empty() || fde.pc_type == PcType::Inc && row.start >= fde.size {
                continue;
            }
            let id = (fde.index, index);
            let state = match judged.get(&id).copied().unwrap_or_default() {
                Judgement::Undecided if row.is_outermost() => RowState::Undecided(Undecided::Outermost),
                Judgement::Undecided if fde.signal && !reach.is_explored => {
                    RowState::Undecided(Undecided::SignalFrame)
                }
                Judgement::Undecided => {
                    RowState::Undecided(not_judged.get(&id).copied().unwrap_or(reach.undecided()))
                }
                Judgement::Agrees if agrees_everywhere(module, &fde, &row, agreed) => RowState::Agrees,
                Judgement::Agrees => RowState::Partly,
                Judgement::Possible => RowState::Possible,
                Judgement::Proved => RowState::Proved,
            };
            rows.add(state);
            states.insert(id, state);
        }
        all.add_all(&rows);
        let place = target.place(Loaded(fde.start));
        let function = place.function.map(str::to_owned);
        let unknown_instruction =
            unknown.filter(|_| rows.undecided.contains_key(&Undecided::UnknownInstruction));
        functions.push(FunctionRows { pc: Address(place.address.0), function, unknown_instruction, rows });
    }
    (all, functions, states)
}

/// Whether a function has no rows, and so is the outermost frame (2.3.3.2).
pub(super) fn is_outermost(section: &Section<'_>, fde: &Fde) -> bool {
    fde.num_rows == 0 && fde.size > 0 && section.header().version.marks_outermost_functions()
}

/// After how many bytes the rows of an FDE start again: never, or with each block of a table.
pub(super) fn block_of(fde: &Fde) -> u32 {
    let block = match fde.pc_type {
        PcType::Inc => fde.size,
        PcType::Mask => fde.rep_size.unwrap_or(16).into(),
    };
    block.max(1)
}

/// Where the rows of an FDE start, or start again, in code that is there: its size may be anything.
pub(super) fn blocks_of(module: &Module<'_>, fde: &Fde) -> impl Iterator<Item = u64> {
    module.code_of_fde(fde).step_by(usize::try_from(block_of(fde)).unwrap_or(usize::MAX))
}

/// Whether a row has agreed at all its instructions. What is between those that were reached is no instruction if it
/// can't be decoded to its end, and none that anybody executes if it does nothing but fill the space, or trap.
fn agrees_everywhere(module: &Module<'_>, fde: &Fde, row: &Row, agreed: &[u64]) -> bool {
    blocks_of(module, fde).all(|start| {
        let range = start.saturating_add(row.start.into())..start.saturating_add(row.end.into());
        let first = agreed.partition_point(|pc| *pc < range.start);
        let reached = agreed[first..].iter().copied().take_while(|pc| *pc < range.end);
        let mut at = range.start;
        for pc in reached.chain([range.end]) {
            if at < pc && is_code(module, at..pc) {
                return false;
            }
            let len = module.instruction(Loaded(pc)).map_or(1, |instruction| instruction.len);
            at = pc.saturating_add(len);
        }
        true
    })
}

/// Whether bytes are instructions to their end, and do anything.
fn is_code(module: &Module<'_>, range: Range<u64>) -> bool {
    let (mut at, mut does_anything) = (range.start, false);
    while at < range.end {
        let Some(instruction) = module.instruction(Loaded(at)).filter(|found| found.len > 0) else {
            return false;
        };
        does_anything |= !(instruction.operation == Operation::Nop || instruction.flow == Flow::Trap);
        at = at.saturating_add(instruction.len);
    }
    at == range.end && does_anything
}

impl Reach {
    /// Whether every path of the function was followed to its end.
    pub(super) const fn is_whole(self) -> bool {
        self.is_explored
            && !(self.is_given_up || self.has_unresolved_jump || self.has_failed || self.unknown.is_some())
    }

    /// Why a row of the function was not reached.
    const fn undecided(self) -> Undecided {
        if self.has_failed {
            Undecided::Failed
        } else if self.is_given_up {
            Undecided::GivenUp
        } else if self.unknown.is_some() {
            Undecided::UnknownInstruction
        } else if self.has_unresolved_jump {
            Undecided::IndirectJump
        } else if self.is_entry_code {
            Undecided::EntryCode
        } else if self.is_explored {
            Undecided::NotReached
        } else {
            Undecided::NoEntry
        }
    }
}

impl RowCounts {
    fn add(&mut self, state: RowState) {
        match state {
            RowState::Agrees => self.agree += 1,
            RowState::Partly => self.partly += 1,
            RowState::Possible => self.possible += 1,
            RowState::Proved => self.wrong += 1,
            RowState::Undecided(why) => return self.leave(why),
        }
        self.total += 1;
        self.checked += 1;
    }

    fn leave(&mut self, why: Undecided) {
        self.total += 1;
        *self.undecided.entry(why).or_default() += 1;
    }

    fn add_all(&mut self, other: &Self) {
        self.total += other.total;
        self.checked += other.checked;
        self.agree += other.agree;
        self.partly += other.partly;
        self.wrong += other.wrong;
        self.possible += other.possible;
        for (why, count) in &other.undecided {
            *self.undecided.entry(*why).or_default() += count;
        }
    }
}
