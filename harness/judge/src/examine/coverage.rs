//! Which rows a run has exercised: agreement proves nothing about the others.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use rustc_hash::{FxHashMap, FxHashSet};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sframe_engine::{InstructionPointer, LookupAddress, PcType, ReturnAddress, Section};
use sframe_kit::text::grouped;
use sframe_machine::PcMap;

use crate::finding::{Address, Finding, FindingRow};
use crate::target::{Loaded, Target};

/// What a run executed.
#[derive(Clone, Debug, Default)]
pub(crate) struct Executed {
    /// How often each instruction ran, and how its row was used.
    instructions: PcMap<(u64, RowUse)>,
    /// Return addresses of calls.
    calls: FxHashSet<u64>,
}

/// How a run has used a row, from the least to the most.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RowUse {
    /// It did not run, or only where a sample has left it out.
    #[default]
    Never,
    /// It ran, and nothing was compared.
    NotCompared,
    /// It ran in the first of all functions, which has no caller to compare.
    WithoutCaller,
    /// It was compared.
    Compared,
}

impl RowUse {
    /// Whether the row did not run.
    #[must_use]
    pub const fn is_never(&self) -> bool {
        matches!(self, Self::Never)
    }
}

/// How many rows there are, and how many of them a run has used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
pub struct RowCounts {
    /// Rows that cover at least one byte of their function.
    #[serde(rename = "rows_total")]
    pub total: u64,
    /// Rows that the topmost frame has used.
    #[serde(rename = "rows_exercised")]
    pub exercised: u64,
    /// Rows that a caller's frame has used.
    #[serde(rename = "rows_exercised_as_caller")]
    pub exercised_as_caller: u64,
    /// Rows that only ran in the first of all functions, which has no caller to compare.
    #[serde(default, rename = "rows_without_caller", skip_serializing_if = "sframe_kit::json::is_zero")]
    pub without_caller: u64,
}

impl RowCounts {
    /// The number of rows that were not exercised, and could have been.
    #[must_use]
    pub const fn left(&self) -> u64 {
        self.total.saturating_sub(self.exercised).saturating_sub(self.without_caller)
    }
}

/// Which parts of the section a run exercised.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Coverage {
    /// How many rows there are, and how many were used.
    pub rows: RowCounts,
    /// Executed instructions whose PC has an FDE.
    pub instructions_covered: u64,
    /// Which instructions ran, and whether something was compared there, by their addresses in the process.
    pub ran: BTreeMap<u64, bool>,
    /// Executed instructions of the stand-in for the dynamic linker, which is not part of the program.
    pub stand_in: u64,
    /// Executed instructions without an FDE, by function or address, or by library
    /// if it has no section.
    pub uncovered: BTreeMap<String, u64>,
    /// Those of them, by function, that an FDE is missing for: in an image with a section, with call frame information
    /// that the section's version can express.
    pub missing: BTreeMap<String, u64>,
    /// Those of these functions of which the ones before and after them have one.
    pub missing_alone: BTreeSet<String>,
    /// Those without an FDE that have call frame information: in images without a section, and in others.
    pub with_cfi: [u64; 2],
    /// Those without an FDE in images with a section, but without call frame information that can be read: nothing says
    /// whether one is missing.
    pub without_cfi: u64,
    /// The number of different such instructions.
    pub uncovered_places: BTreeMap<String, u64>,
    /// Rows that no topmost frame has used: agreement proves nothing about them.
    pub unexercised: Vec<UnexercisedRow>,
}

/// A row with which nothing was compared in the topmost frame.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
pub struct UnexercisedRow {
    /// The library; `None` for the executable.
    pub image: Option<String>,
    /// The function, or its address if no symbol names it.
    pub function: String,
    /// The row.
    #[serde(flatten)]
    pub row: FindingRow,
    /// Its first instructions, in its first block if it repeats; none if they were not asked for.
    pub instructions: Vec<String>,
    /// How it was used all the same.
    #[serde(default, skip_serializing_if = "RowUse::is_never")]
    pub used: RowUse,
    /// Why it was not used, if the spec says so.
    pub reason: Option<String>,
    /// The address of its first instruction, in the file.
    #[serde(default)]
    pub pc: Address,
    /// What exploring says of it, if it was explored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub explored: Option<Explored>,
    /// What is wrong with it, or why that is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub explored_reason: Option<String>,
    /// What proves it to be wrong, at each place, with the known bug that is its cause there.
    #[serde(skip)]
    #[schemars(skip)]
    pub proof: Vec<Finding>,
}

impl UnexercisedRow {
    /// What exploring says is wrong with it, or why that is not known, and which page describes it.
    #[must_use]
    pub fn says(&self) -> Option<String> {
        let reason = self.explored_reason.as_ref()?;
        // What no page describes comes first: a known bug excuses nothing else.
        let proof = self.proof.iter().find(|proof| proof.fault.is_none()).or_else(|| self.proof.first());
        let Some(proof) = proof else { return Some(reason.clone()) };
        Some(match &proof.fault {
            Some(fault) => format!("{reason}; matches known bug {}", fault.brief()),
            None => match &proof.hint {
                Some(hint) => format!("{}; {hint}", proof.message),
                None => proof.message.to_string(),
            },
        })
    }

    /// Where and why it is wrong, in a line, if exploring proves that.
    #[must_use]
    pub fn wrong_line(&self) -> Option<String> {
        (self.explored == Some(Explored::Wrong) && self.used.is_never()).then(|| {
            let image = self.image.as_ref().map_or_else(String::new, |image| format!("{image}: "));
            format!("{image}{}", self.says().unwrap_or_else(|| self.function.clone()))
        })
    }

    /// Says what exploring says of it, in words.
    pub fn explored_text(&self) -> Option<String> {
        let says = match self.explored? {
            Explored::Agrees => "agrees",
            Explored::Wrong => "wrong",
            Explored::Undecided => "undecided",
        };
        let reason = self.says();
        Some(reason.map_or_else(|| says.to_owned(), |reason| format!("{says}: {reason}")))
    }
}

/// What exploring says of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Explored {
    /// It agrees wherever a path leads there.
    Agrees,
    /// It is proved to be wrong.
    Wrong,
    /// Exploring can neither prove it to be wrong nor see it to agree.
    Undecided,
}

/// How many rows that no run has used agree when they are explored, and how many don't.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
pub struct ExploredRows {
    /// Those that agree.
    pub agree: u64,
    /// Those that are proved to be wrong.
    pub wrong: u64,
    /// The others.
    pub undecided: u64,
}

impl ExploredRows {
    /// Counts the rows that did not run.
    #[must_use]
    pub fn of<'r>(rows: impl IntoIterator<Item = &'r UnexercisedRow>) -> Self {
        let mut counts = Self::default();
        rows.into_iter().for_each(|row| counts.add(row));
        counts
    }

    /// Counts a row, if it did not run.
    pub const fn add(&mut self, row: &UnexercisedRow) {
        if !row.used.is_never() {
            return;
        }
        match row.explored {
            Some(Explored::Agrees) => self.agree += 1,
            Some(Explored::Wrong) => self.wrong += 1,
            Some(Explored::Undecided) => self.undecided += 1,
            None => {}
        }
    }

    /// All of them.
    #[must_use]
    pub const fn total(self) -> u64 {
        self.agree + self.wrong + self.undecided
    }
}

impl std::fmt::Display for ExploredRows {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { agree, wrong, undecided } = *self;
        let parts = [(agree, "right by exploring"), (wrong, "wrong"), (undecided, "undecided")];
        let parts = parts.into_iter().filter(|(count, _)| *count > 0);
        let parts: Vec<String> = parts.map(|(count, what)| format!("{} {what}", grouped(count))).collect();
        f.write_str(&parts.join(", "))
    }
}

/// The maximum number of a row's instructions to show.
const INSTRUCTIONS: usize = 8;

impl Executed {
    /// Counts an instruction. Returns whether the stacks are compared there for the
    /// first time.
    #[inline]
    pub(crate) fn instruction(&mut self, pc: u64, used: RowUse) -> bool {
        let (count, before) = self.instructions.get_or_insert_with(pc, Default::default);
        let is_first = used == RowUse::Compared && *before != used;
        *count += 1;
        *before = used.max(*before);
        is_first
    }

    /// Counts an instruction at which the stacks have been compared before, and are again.
    pub(super) fn compared(&mut self, pc: u64, times: u64) {
        self.instructions.get_or_insert_with(pc, Default::default).0 += times;
    }

    /// Whether the stacks have been compared at an instruction.
    pub(super) fn is_compared(&mut self, pc: u64) -> bool {
        self.instructions.get(pc).is_some_and(|(_, used)| *used == RowUse::Compared)
    }

    /// Returns all instructions that ran, with their counts.
    pub(crate) fn hits(&self) -> impl Iterator<Item = (u64, u64)> {
        self.instructions.iter().map(|(pc, (count, _))| (pc, *count))
    }

    /// Records a use in another run than the one whose instructions are counted.
    pub(crate) fn used(&mut self, pc: u64, used: RowUse) {
        let (_, before) = self.instructions.get_or_insert_with(pc, Default::default);
        *before = used.max(*before);
    }

    /// Returns the instructions in a range that ran, with their counts.
    pub(crate) fn within(&self, range: &Range<u64>) -> BTreeMap<u64, u64> {
        self.hits().filter(|(pc, _)| range.contains(pc)).collect()
    }

    /// Returns all instructions that ran, with their counts.
    pub(crate) fn counts(&self) -> BTreeMap<u64, u64> {
        self.within(&(0..u64::MAX))
    }

    /// Returns where the callees have returned to, or will.
    pub(crate) fn return_addresses(&self) -> impl Iterator<Item = u64> {
        self.calls.iter().copied()
    }

    /// Whether a callee has returned to an address, or will.
    pub(super) fn is_return_address(&self, address: u64) -> bool {
        self.calls.contains(&address)
    }

    pub(crate) fn call(&mut self, return_address: u64) {
        self.calls.insert(return_address);
    }

    /// Returns a row by the section's address, the function and its index.
    fn row(target: &Target<'_>, address: LookupAddress) -> Option<(u64, u32, u32)> {
        let section = target.sections.at(address)?;
        let found = section.lookup(address).ok().flatten()?;
        Some((section.address(), found.fde.index, found.row_index?))
    }

    /// Returns what was exercised. `lists` is whether to show the instructions of rows that were not.
    pub(crate) fn coverage(&self, target: &Target<'_>, lists: bool) -> Coverage {
        let mut coverage = Coverage::default();
        let mut rows: FxHashMap<_, RowUse> = FxHashMap::default();
        let mut missing: BTreeMap<String, bool> = BTreeMap::new();
        for (pc, &(count, used)) in self.instructions.iter() {
            coverage.ran.insert(pc, used == RowUse::Compared);
            let pc = InstructionPointer(pc);
            if let Some(row) = Self::row(target, pc.into()) {
                let before = rows.entry(row).or_default();
                *before = used.max(*before);
            }
            if target.images.is_linker(pc.0) {
                coverage.stand_in += count;
                continue;
            }
            if count == 0 {
                continue;
            }
            if target.sections.lookup_fde(pc).ok().flatten().is_some() {
                coverage.instructions_covered += count;
            } else {
                let name = uncovered_name(target, pc.0);
                let is_missing = missing.entry(name.clone()).or_insert_with(|| {
                    let lacks = is_missing(target, pc.0);
                    if lacks && lacks_fde_alone(target, pc.0) {
                        coverage.missing_alone.insert(name.clone());
                    }
                    lacks
                });
                if *is_missing {
                    *coverage.missing.entry(name.clone()).or_default() += count;
                }
                if let Some(module) =
                    target.module_at(Loaded(pc.0)).filter(|module| !module.has_made_section())
                {
                    match module.has_cfi_at(target.linked(Loaded(pc.0))) {
                        Some(true) => coverage.with_cfi[usize::from(module.section.is_some())] += count,
                        None if module.section.is_some() => coverage.without_cfi += count,
                        Some(false) | None => {}
                    }
                }
                *coverage.uncovered_places.entry(name.clone()).or_default() += 1;
                *coverage.uncovered.entry(name).or_default() += count;
            }
        }
        coverage.count_rows(target, &rows, lists);
        let calls = self.calls.iter().filter_map(|&ra| Self::row(target, ReturnAddress(ra).into()));
        coverage.rows.exercised_as_caller = calls.collect::<FxHashSet<_>>().len() as u64;
        coverage
    }
}

/// Returns the name of a library as a whole if it has no section, otherwise of a
/// function, or of the file's section if no symbol names one.
fn uncovered_name(target: &Target<'_>, pc: u64) -> String {
    let pc = Loaded(pc);
    let Some(module) = target.module_at(pc) else { return target.frame_name(pc) };
    let (image, place) = (module.name.as_deref(), target.place(pc));
    if let (None, Some(image)) = (&module.section, image) {
        return image.to_owned();
    }
    match (place.function, module.subject.section_at(place.address.0), image) {
        (None, Some(section), Some(image)) => format!("{image}: {section}"),
        (None, Some(section), None) => section.to_owned(),
        _ => target.frame_name(pc),
    }
}

/// Whether an FDE is missing for code without one, as far as call frame information tells. A section that was made from
/// it has what could be made.
fn is_missing(target: &Target<'_>, pc: u64) -> bool {
    let module = target.module_at(Loaded(pc)).filter(|module| !module.has_made_section());
    module.is_some_and(|module| module.has_expressible_cfi(target.linked(Loaded(pc))))
}

/// Whether that is so although an FDE is there for what surrounds it.
fn lacks_fde_alone(target: &Target<'_>, pc: u64) -> bool {
    let module = target.module_at(Loaded(pc));
    module.is_some_and(|module| module.lacks_fde_alone(target.linked(Loaded(pc))))
}

impl Coverage {
    /// Counts the rows that cover something, and how many of them were used.
    fn count_rows(&mut self, target: &Target<'_>, used: &FxHashMap<(u64, u32, u32), RowUse>, lists: bool) {
        for section in target.sections.iter() {
            self.count_rows_of(target, section, used, lists);
        }
    }

    fn count_rows_of(
        &mut self,
        target: &Target<'_>,
        section: &Section<'_>,
        used: &FxHashMap<(u64, u32, u32), RowUse>,
        lists: bool,
    ) {
        for fde in section.fdes().flatten() {
            for (index, row) in (0..).zip(section.rows(&fde).flatten()) {
                let is_behind_the_end = fde.pc_type == PcType::Inc && row.start >= fde.size;
                if row.is_empty() || is_behind_the_end {
                    continue;
                }
                self.rows.total += 1;
                let used = used.get(&(section.address(), fde.index, index)).copied().unwrap_or_default();
                if used == RowUse::Compared {
                    self.rows.exercised += 1;
                } else {
                    self.rows.without_caller += u64::from(used == RowUse::WithoutCaller);
                    let function = target.frame_name(Loaded(fde.start));
                    let image = target.place(Loaded(fde.start)).image.map(str::to_owned);
                    let start = fde.start.wrapping_add(row.start.into());
                    let end = fde.start.wrapping_add(row.end.into());
                    self.unexercised.push(UnexercisedRow {
                        image,
                        function,
                        row: FindingRow::new(&row),
                        instructions: if lists {
                            target.listing(start..end, INSTRUCTIONS)
                        } else {
                            Vec::new()
                        },
                        used,
                        reason: None,
                        pc: Address(target.linked(Loaded(start)).0),
                        explored: None,
                        explored_reason: None,
                        proof: Vec::new(),
                    });
                }
            }
        }
    }
}
