//! Compares every instruction, function by function.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use gimli::{CfaRule, RegisterRule};
use rustc_hash::FxHashMap;
use sframe_engine::{Abi, Error, Fde, PcType, Recovery, Row, Section};

use super::blame::{Blamed, Dispute, blame_for_gap, blame_for_missing, blame_for_moved, evidence_of_merging};
use super::gaps::{Gap, GapCode, Gaps};
use super::pieces::{Functions, Piece};
use super::reason::{Maker, Reason, reason};
use super::report::{CfiPlace, DiffReport, Difference, Extent, FdePlace, Line, Missing, Uncovered};
use super::rules::{Disagreement, Field, compare};
use crate::dump::{FunctionRow, FunctionRows};
use crate::hazard::{self, HazardKind, Tally};
use sframe_elf::cfi::{CallFrameInfo, CfiError, CfiFde, CfiRow, CfiSection, Inexpressible, Rules};
use sframe_elf::code_digest::FunctionCodes;
use sframe_elf::merge_faults::MergeFault;
use sframe_elf::object_file::{CodeRange, ObjectFile};
use sframe_elf::source::Source;
use sframe_isa::{Destination, Disassembly, Flow, Instruction, starts};
use sframe_kit::json::SCHEMA;
use sframe_kit::text::counted;
use sframe_kit::{Address, Blame, FindingRow};

/// What is compared, and the names for it.
pub(super) struct Sweep<'s> {
    pub(super) abi: Abi,
    pub(super) section: &'s Section<'s>,
    pub(super) functions: &'s Functions,
    /// The parts of the section that can't be read.
    pub(super) errors: Vec<Error>,
    pub(super) cfi: &'s CallFrameInfo,
    pub(super) subject: &'s ObjectFile<'s>,
    pub(super) codes: FunctionCodes<'s>,
    /// Faults of the section as a whole.
    pub(super) faults: Vec<MergeFault>,
    /// Code without an FDE in functions that have one.
    pub(super) gaps: Gaps,
    /// The source of the code.
    pub(super) source: Source<'s>,
    /// Code, sorted by address.
    pub(super) code: Vec<CodeRange>,
    /// The sections of a relocatable file, sorted by address.
    pub(super) code_names: Vec<(Range<u64>, String)>,
    /// The symbols that a linker puts into the code of a relocatable file, by address.
    pub(super) relocated: OnceLock<BTreeMap<u64, String>>,
    /// The number of rows that may still be decoded.
    pub(super) rows_left: AtomicUsize,
}

/// The results for some functions.
#[derive(Default)]
pub(super) struct Part<'s> {
    functions: u64,
    pcs: u64,
    compared: u64,
    agree: u64,
    lost_fp: u64,
    groups: Vec<Group<'s>>,
    uncovered: Vec<(&'s CfiFde, u64, Because)>,
    only_sframe: Vec<(Fde, u64)>,
    hazards: Tally,
}

/// A reason, and the first place in the function that has it.
type Because = Option<(Reason, Option<u64>)>;

/// Instructions of a function with the same differing rules on both sides.
struct Group<'s> {
    fde: Fde,
    row: Option<Row>,
    /// Whether the row can't be read.
    malformed: bool,
    cfi: &'s CfiFde,
    rules: String,
    disagreements: Vec<Disagreement>,
    pcs: u64,
    /// Its first contiguous run of instructions: the first and the last.
    run: (u64, u64),
    last: u64,
    /// The instruction before them, if the function has one.
    before: Option<u64>,
    /// The last byte of the instruction, if only that differs: it is a call, and its callee's caller is looked up
    /// there.
    looked_up: Option<u64>,
}

/// The current function's rules in the section.
struct SframeRows {
    fde: Fde,
    rows: Vec<SframeRow>,
    /// The error that ends them early, and where: the start of the row that can't
    /// be read, or of the one before it if even the start can't be.
    end: Option<(u32, String)>,
    /// The row for each offset into a repeated block.
    block: Option<Vec<Option<usize>>>,
    /// The row of the last address.
    at: usize,
}

/// A row, or why it is meaningless.
struct SframeRow {
    start: u32,
    row: Result<Row, Error>,
}

/// The section's entry for an address.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Found {
    Row(usize),
    NoRow,
    /// The row can't be read, or is meaningless; its index, `None` if it can't be
    /// found.
    Malformed(Option<usize>),
}

/// A mask FDE of version 1 has no block size, and its rows are tried one by one; no
/// block has more rows than this.
const MASK_ROWS: usize = 256;

impl SframeRows {
    fn read(sweep: &Sweep<'_>, fde: Fde) -> Self {
        let mut this = Self { fde, rows: Vec::new(), end: None, block: None, at: 0 };
        if fde.outermost {
            let undefined = Recovery::Undefined;
            let end = fde.rows_end();
            let row = Row { start: 0, end, cfa: None, ra: undefined, fp: undefined, mangled_ra: false };
            this.rows.push(SframeRow { start: 0, row: Ok(row) });
            return this;
        }
        let is_plain_mask = fde.pc_type == PcType::Mask && fde.rep_size.is_none();
        let mut count = 0;
        let mut too_many = false;
        let found = FunctionRows::read(sweep.section, &fde, || {
            count += 1;
            let take = |left: usize| left.checked_sub(1);
            let has_room = !(is_plain_mask && count > MASK_ROWS)
                && sweep.rows_left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take).is_ok();
            too_many |= !has_room;
            has_room
        });
        let last = found.rows.last().map_or(0, |row| row.fre.start());
        this.end = match found.end {
            Some(error) => {
                let next = found.rows.last().map_or(0, |row| row.end).max(last);
                let is_known = next < fde.rows_end();
                Some((if is_known { next } else { last }, error.to_string()))
            }
            None if too_many => Some((last, "there are more rows than a section can describe".to_owned())),
            None => None,
        };
        let row = |row: &FunctionRow<'_>| SframeRow { start: row.fre.start(), row: row.row };
        this.rows = found.rows.iter().map(row).collect();
        if let (PcType::Mask, Some(size)) = (fde.pc_type, fde.rep_size) {
            let row = |offset: u8| {
                let covers =
                    |row: &&SframeRow| fde.row_covers(row.start, fde.start.wrapping_add(offset.into()));
                this.rows.iter().take_while(covers).count().checked_sub(1)
            };
            this.block = Some((0..size).map(row).collect());
        }
        this
    }

    /// Returns the row by the engine's rule, without rereading all rows for each
    /// address, and even if some are malformed. Addresses must be ascending.
    fn at(&mut self, pc: u64) -> Found {
        let mut offset = pc.wrapping_sub(self.fde.start);
        let found = match (&self.block, self.fde.pc_type) {
            (Some(block), _) => {
                offset = offset.checked_rem(block.len() as u64).unwrap_or(0);
                usize::try_from(offset).ok().and_then(|offset| block.get(offset).copied().flatten())
            }
            (None, PcType::Mask) => self.rows.iter().rposition(|row| self.fde.row_covers(row.start, pc)),
            (None, PcType::Inc) => {
                let fde = self.fde;
                let covers = |row: Option<&SframeRow>| row.is_some_and(|row| fde.row_covers(row.start, pc));
                while covers(self.rows.get(self.at + 1)) {
                    self.at += 1;
                }
                covers(self.rows.get(self.at)).then_some(self.at)
            }
        };
        let is_past = self.end.as_ref().is_some_and(|(start, _)| u64::from(*start) <= offset);
        match found {
            Some(row) if self.rows.get(row).is_some_and(|row| row.row.is_err()) => {
                Found::Malformed(Some(row))
            }
            Some(row) if is_past && row + 1 == self.rows.len() => Found::Malformed(None),
            Some(row) => Found::Row(row),
            None if is_past && self.rows.is_empty() => Found::Malformed(None),
            None => Found::NoRow,
        }
    }

    /// Returns the next address for which [`Self::at`] may find something else than
    /// for the one that was looked up last.
    fn until(&self, pc: u64) -> u64 {
        if self.fde.pc_type == PcType::Mask {
            return pc.saturating_add(1);
        }
        let offset = pc.wrapping_sub(self.fde.start);
        let rows = self.rows.iter().skip(self.at).take(2).map(|row| row.start);
        let changes = rows.chain(self.end.as_ref().map(|(start, _)| *start)).map(u64::from);
        let next = changes.filter(|change| *change > offset).min();
        next.map_or(u64::MAX, |next| pc.saturating_add(next - offset))
    }

    fn row(&self, found: Found) -> Option<&Row> {
        let Found::Row(index) = found else { return None };
        self.rows.get(index)?.row.as_ref().ok()
    }

    /// Returns why an address has no readable row.
    fn fault(&self, found: Found) -> Option<String> {
        match found {
            Found::Malformed(Some(index)) => self.rows.get(index)?.row.err().map(|error| error.to_string()),
            Found::Malformed(None) => self.end.as_ref().map(|(_, error)| error.clone()),
            Found::Row(_) | Found::NoRow => None,
        }
    }
}

/// The current function's rules in the call frame information.
struct CfiRows<'s> {
    fde: &'s CfiFde,
    rows: Result<Vec<CfiRow>, CfiError>,
    at: usize,
}

impl CfiRows<'_> {
    /// Returns the rules for an address, and the next address for which they may be
    /// others. Addresses must come in their order.
    fn at(&mut self, info: &CallFrameInfo, pc: u64) -> (Option<Rules>, u64) {
        let rows = self.rows.as_deref().unwrap_or_default();
        while rows.get(self.at).is_some_and(|row| row.range.end <= pc) {
            self.at += 1;
        }
        match rows.get(self.at) {
            None => (None, u64::MAX),
            Some(row) if pc < row.range.start => (None, row.range.start),
            Some(row) if depends_on_pc(row) => (Some(info.rules(row, pc)), pc.saturating_add(1)),
            Some(row) => (Some(info.rules(row, pc)), row.range.end),
        }
    }
}

/// Whether the rules may depend on the PC: only expressions can.
fn depends_on_pc(row: &CfiRow) -> bool {
    let is_expression = |rule: &RegisterRule<usize>| {
        matches!(rule, RegisterRule::Expression(_) | RegisterRule::ValExpression(_))
    };
    matches!(row.cfa, CfaRule::Expression(_)) || row.registers.iter().any(|(_, rule)| is_expression(rule))
}

impl<'s> Part<'s> {
    fn add(&mut self, other: Self) {
        self.functions += other.functions;
        self.pcs += other.pcs;
        self.compared += other.compared;
        self.agree += other.agree;
        self.lost_fp += other.lost_fp;
        self.groups.extend(other.groups);
        self.uncovered.extend(other.uncovered);
        self.only_sframe.extend(other.only_sframe);
        for (key, (row, count)) in other.hazards {
            self.hazards.entry(key).or_insert((row, 0)).1 += count;
        }
    }
}

impl<'s> Sweep<'s> {
    /// Compares the instructions of several functions.
    pub(super) fn units(&self, units: &[&[Piece]]) -> Part<'s> {
        units.iter().fold(Part::default(), |mut part, unit| {
            part.add(self.unit(unit));
            part
        })
    }

    /// Compares the instructions of pieces that belong together.
    fn unit(&self, pieces: &[Piece]) -> Part<'s> {
        let mut unit = Unit::new(self);
        // Functions that contain others continue after them.
        let mut sframes: FxHashMap<usize, SframeRows> = FxHashMap::default();
        let mut cfis: FxHashMap<usize, CfiRows<'s>> = FxHashMap::default();
        let mut counts: BTreeMap<(Option<usize>, Option<usize>), u64> = BTreeMap::new();
        for piece in pieces {
            let mut sframe = piece.sframe.and_then(|position| {
                let fde = *self.functions.fdes.get(position)?;
                Some(sframes.remove(&position).unwrap_or_else(|| SframeRows::read(self, fde)))
            });
            let mut cfi = piece.cfi.and_then(|position| {
                let fde = self.cfi.fdes().get(position)?;
                let rows = || CfiRows { fde, rows: self.cfi.rows(fde), at: 0 };
                Some(cfis.remove(&position).unwrap_or_else(rows))
            });
            let pcs = unit.piece(&piece.range, &mut Sides { sframe: sframe.as_mut(), cfi: cfi.as_mut() });
            if pcs > 0 {
                *counts.entry((piece.sframe, piece.cfi)).or_default() += pcs;
            }
            let goes_on = |fde: &Fde| fde.start.saturating_add(fde.size.into()) > piece.range.end;
            sframes.extend(piece.sframe.zip(sframe.filter(|rows| goes_on(&rows.fde))));
            cfis.extend(piece.cfi.zip(cfi.filter(|rows| rows.fde.range.end > piece.range.end)));
        }
        let Unit { mut part, .. } = unit;
        self.count(&counts, &mut part);
        part
    }

    fn count(&self, counts: &BTreeMap<(Option<usize>, Option<usize>), u64>, part: &mut Part<'s>) {
        let (mut seen, mut uncovered, mut only) = (BTreeSet::new(), BTreeMap::new(), BTreeMap::new());
        for (&(sframe, cfi), &pcs) in counts {
            part.pcs += pcs;
            // A function is identified by the section's FDE, or by the information's if there
            // is none.
            seen.insert((sframe, cfi.filter(|_| sframe.is_none())));
            match (sframe, cfi) {
                (None, Some(cfi)) => *uncovered.entry(cfi).or_default() += pcs,
                (Some(sframe), None) => *only.entry(sframe).or_default() += pcs,
                _ => part.compared += pcs,
            }
        }
        part.functions = seen.len() as u64;
        for (position, pcs) in uncovered {
            let Some(fde) = self.cfi.fdes().get(position) else { continue };
            // That it lacks code is said of each part.
            if self.gaps.iter().any(|gap| gap.cfi == Some((fde.section, fde.offset))) {
                continue;
            }
            let is_lost = self.faults.iter().any(|fault| fault.has_lost(fde.range.start));
            let reason = match self.cfi.rows(fde) {
                _ if is_lost => Some((Reason::NotMerged, None)),
                Ok(rows) => self.reason(fde, &rows),
                Err(_) => Some((Reason::Malformed, None)),
            };
            part.uncovered.push((fde, pcs, reason));
        }
        let fdes = &self.functions.fdes;
        part.only_sframe = only.into_iter().filter_map(|(at, pcs)| Some((*fdes.get(at)?, pcs))).collect();
    }

    fn reason(&self, fde: &CfiFde, rows: &[CfiRow]) -> Because {
        let maker = Maker::of(self.subject, fde.range.start);
        reason(self.cfi, fde, rows, self.section.header().version, self.abi, maker)
    }

    /// Returns the code in a range, with its addresses. It is read on demand.
    fn code_in(&self, range: &Range<u64>) -> impl Iterator<Item = (u64, Cow<'s, [u8]>)> {
        let range = range.clone();
        let source = self.source;
        let first = self.code.partition_point(|code| code.address.saturating_add(code.len) <= range.start);
        let rest = self.code.get(first..).unwrap_or_default();
        let end = range.end;
        rest.iter().take_while(move |code| code.address < end).filter_map(move |code| {
            let from = range.start.saturating_sub(code.address);
            let to = (range.end - code.address).min(code.len);
            let bytes = source.copy(code.offset + from..code.offset + to)?;
            Some((code.address + from, bytes))
        })
    }

    /// Joins the parts.
    pub(super) fn report(&self, name: &str, parts: Vec<Part<'s>>) -> DiffReport {
        let header = self.section.header();
        let mut report = DiffReport {
            schema: SCHEMA,
            file: name.to_owned(),
            abi: self.abi.name(),
            sframe_version: header.version.number(),
            errors: self.errors.iter().map(ToString::to_string).collect(),
            ..DiffReport::default()
        };
        let mut all = Part::default();
        for part in parts {
            all.add(part);
        }
        let Part { functions, pcs, compared, agree, lost_fp, mut groups, uncovered, only_sframe, hazards } =
            all;
        report = DiffReport { functions, pcs, compared, agree, lost_fp, ..report };
        // Functions and instructions that have lost their rules.
        let mut lost = vec![(0, 0); self.faults.len()];
        // What was moved has lost its FDE by that.
        let moved = self.faults.iter().find(|fault| fault.blame().0 == Blame::Rewriter);
        let is_moved = |start: u64| {
            moved.is_some() && self.subject.section_at(start).is_some_and(|name| name.starts_with(".text"))
        };
        // Those of a linker's tables have one cause, and so have, as far as the file shows, all others.
        let mut missing: BTreeMap<(bool, bool), Vec<Extent>> = BTreeMap::new();
        let mut tables = BTreeSet::new();
        for (fde, pcs, reason) in uncovered {
            let cause = self.faults.iter().position(|fault| fault.has_lost(fde.range.start));
            if let Some((functions, instructions)) = cause.and_then(|cause| lost.get_mut(cause)) {
                *functions += 1;
                *instructions += pcs;
            }
            let uncovered = self.uncovered(fde, pcs, reason);
            if uncovered.reason.is_none() {
                let section = self.subject.linker_made(fde.range.start);
                let key = (section.is_some(), is_moved(fde.range.start));
                missing.entry(key).or_default().push(uncovered.extent.clone());
                tables.extend(section);
            }
            report.uncovered.push(uncovered);
        }
        let is_assembled = self.subject.is_assembled();
        report.missing = missing
            .into_iter()
            .map(|((is_of_table, is_moved), functions)| {
                let tables = if is_of_table { tables.clone() } else { BTreeSet::new() };
                let blamed = match moved.filter(|_| is_moved) {
                    Some(fault) => blame_for_moved(fault),
                    None => blame_for_missing(&tables, is_assembled),
                };
                Missing::by(functions, blamed)
            })
            .collect();
        for (fde, pcs) in only_sframe {
            let end = fde.start.saturating_add(fde.size.into());
            report.only_sframe.push(self.extent(fde.start..end, pcs));
        }
        for (number, (fault, lost)) in self.faults.iter().zip(lost).enumerate() {
            report.findings.push(self.difference_of_section(number, fault, lost));
        }
        groups.sort_by_key(|group| group.run.0);
        for (number, group) in (self.faults.len()..).zip(&groups) {
            let from = group.before.unwrap_or(group.run.0);
            let instructions = if number < LISTED { self.listing(from, group.run) } else { Vec::new() };
            self.describe(number, group, &instructions, &mut report.findings);
        }
        let number = self.faults.len() + groups.len();
        report.findings.extend(self.gaps.iter().filter_map(|gap| self.gap(number, gap)));
        for (gap, number) in report.findings.iter_mut().filter(|found| found.fde.is_some()).zip(number..) {
            gap.group = number;
        }
        report.hazards = hazard::list(&hazards, |start| self.name(start));
        report
    }

    /// Returns a fault of the section as a whole as one finding. The code that it
    /// leaves without rules counts as uncovered.
    fn difference_of_section(&self, number: usize, fault: &MergeFault, lost: (u64, u64)) -> Difference {
        let (functions, pcs) = lost;
        let (blame, confidence) = fault.blame();
        let at = self.section.address().wrapping_add(fault.offset);
        let (section, pc) =
            if self.code_names.is_empty() { (None, at) } else { (Some(".sframe".to_owned()), fault.offset) };
        Difference {
            pc: Address(pc),
            section,
            function: ".sframe".to_owned(),
            code: None,
            offset: Address(fault.offset),
            field: Field::Section,
            sframe: fault.to_string(),
            eh_frame: format!("rules for {}", counted(functions, "function")),
            pcs,
            last_pc: Address(pc),
            looked_up: None,
            fde: None,
            row: None,
            cfi: None,
            instructions: Vec::new(),
            blame,
            confidence,
            evidence: evidence_of_merging(fault),
            fault: None,
            message: fault.to_string(),
            group: number,
        }
    }

    /// Returns code without an FDE as a finding, if it is more than padding.
    fn gap(&self, group: usize, gap: &Gap) -> Option<Difference> {
        let (_, bytes) = self.code_in(&gap.needs()).next()?;
        let GapCode { first, last, count, before, .. } = gap.code(self.abi, &bytes)?;
        let (section, pc) = self.place(first);
        let (function, offset) = self.place_in_function(first, gap.function.start);
        let code = Some(self.codes.of_function(&self.subject.symbols, first, gap.function.clone()));
        let Blamed { blame, confidence, evidence } = self.blame_for(gap);
        let mut message = format!("{function}+{offset:#x} ({pc}): there is no FDE in .sframe: {gap}");
        if count > 1 {
            message += &format!("; {count} instructions");
        }
        let cfi = gap.cfi.and_then(|(section, offset)| self.rules_at(first, section, offset));
        Some(Difference {
            pc,
            section,
            function,
            code,
            offset: Address(offset),
            field: Field::NoFde,
            sframe: "no FDE".to_owned(),
            eh_frame: gap.to_string(),
            pcs: count,
            last_pc: self.place(last).1,
            looked_up: None,
            row: None,
            fde: Some(FdePlace {
                index: gap.fde.index,
                start: self.place(gap.fde.start).1,
                size: gap.fde.size.into(),
            }),
            cfi,
            instructions: self.listing(before.unwrap_or(first), (first, last)),
            blame,
            confidence,
            evidence,
            fault: None,
            message,
            group,
        })
    }

    /// Returns the call frame information's rules for an address.
    fn rules_at(&self, address: u64, section: CfiSection, offset: usize) -> Option<CfiPlace> {
        let row = self.cfi.row_at(address);
        let rules = match row {
            Ok(row) => {
                row.map_or_else(|| "no row".to_owned(), |row| self.cfi.rules(&row, address).to_string())
            }
            Err(error) => error.to_string(),
        };
        Some(CfiPlace {
            cfi_section: section.to_string(),
            cfi_offset: Address(offset as u64),
            cfi_rules: rules,
        })
    }

    fn blame_for(&self, gap: &Gap) -> Blamed {
        blame_for_gap(gap, self.subject.is_assembled())
    }

    /// Returns the function's name, and the offset of an address in it; `start` is for functions without a symbol.
    fn place_in_function(&self, address: u64, start: u64) -> (String, u64) {
        match self.subject.symbols.at(address) {
            Some((name, offset)) => (name.to_owned(), offset),
            None => (self.name(start), address.wrapping_sub(start)),
        }
    }

    /// Whether an instruction is a call.
    fn is_call(&self, span: &Range<u64>) -> bool {
        let Some((_, code)) = self.code_in(span).next() else { return false };
        Disassembly::one(self.abi, span.start, &code).is_some_and(|instruction| instruction.is_call())
    }

    /// Returns one finding for each field.
    fn describe(&self, number: usize, group: &Group<'_>, listing: &[Line], findings: &mut Vec<Difference>) {
        let Group { fde, row, cfi, rules, disagreements, pcs, run, last, looked_up, .. } = group;
        let first = run.0;
        let (section, pc) = self.place(first);
        let (function, offset) = self.place_in_function(first, fde.start);
        let extent = fde.start..fde.start.saturating_add(fde.size.into());
        let code = Some(self.codes.of_function(&self.subject.symbols, first, extent));
        let Blamed { blame, confidence, evidence } = self.blame(group);
        for Disagreement { field, sframe, cfi: other } in disagreements {
            let of = cfi.section;
            let mut message =
                format!("{function}+{offset:#x} ({pc}): {field} is {sframe} in .sframe, {other} in {of}");
            if *pcs > 1 {
                message += &format!("; {pcs} instructions");
            }
            if let Some(looked_up) = looked_up {
                let behind = looked_up.wrapping_sub(first);
                message += &format!(
                    "; its callee's caller is looked up {behind} bytes later, at the call's last byte"
                );
            }
            if let Some(row) = row {
                message += &format!("; row +{:#x}: {row}; {of}: {rules}", row.start);
            }
            if let Some(code) = code.as_ref().filter(|code| !code.is_only) {
                message += &format!("; code {}", code.digest);
            }
            findings.push(Difference {
                pc,
                section: section.clone(),
                function: function.clone(),
                code: code.clone(),
                offset: Address(offset),
                field: *field,
                sframe: sframe.clone(),
                eh_frame: other.clone(),
                pcs: *pcs,
                last_pc: self.place(*last).1,
                looked_up: looked_up.map(|address| self.place(address).1),
                fde: None,
                row: row.as_ref().map(FindingRow::new),
                cfi: Some(CfiPlace {
                    cfi_section: of.to_string(),
                    cfi_offset: Address(cfi.offset as u64),
                    cfi_rules: rules.clone(),
                }),
                instructions: listing.to_vec(),
                blame,
                confidence,
                evidence: evidence.clone(),
                fault: None,
                message,
                group: number,
            });
        }
    }

    fn blame(&self, group: &Group<'_>) -> Blamed {
        let rows = self.cfi.rows(group.cfi);
        let inexpressible = rows.as_ref().ok().and_then(|rows| self.reason(group.cfi, rows));
        Dispute {
            fde: &group.fde,
            row: group.row.as_ref(),
            cfi: group.cfi,
            starts: [group.fde.start, group.cfi.range.start].map(|start| self.located(start)),
            malformed_cfi: rows.err(),
            malformed_row: group.malformed,
            inexpressible: inexpressible.map(|(reason, _)| reason),
            linker_section: self.subject.linker_made(group.run.0),
            is_assembled: self.subject.is_assembled(),
            is_rewritten: self.subject.is_rewritten(),
        }
        .blame()
    }

    fn uncovered(&self, fde: &CfiFde, pcs: u64, reason: Because) -> Uncovered {
        let extent = self.extent(fde.range.clone(), pcs);
        let cfi_section = fde.section.to_string();
        let (kind, offset) = reason.unzip();
        let message = match (kind, offset.flatten()) {
            (None, _) => "nothing in its CFI prevents an FDE".to_owned(),
            (Some(kind), None) => kind.text().to_owned(),
            (Some(kind), Some(offset)) => format!("{}, at +{offset:#x}", kind.text()),
        };
        let offset = offset.flatten().map(Address);
        Uncovered { extent, cfi_section, reason: kind, offset, message }
    }

    fn extent(&self, range: Range<u64>, pcs: u64) -> Extent {
        let (section, start) = self.place(range.start);
        let size = range.end.saturating_sub(range.start);
        let function = self.name(range.start);
        let code = Some(self.codes.of_function(&self.subject.symbols, range.start, range));
        Extent { function, code, section, start, size, pcs }
    }

    /// Returns the function at an address, or the address if no symbol names it.
    fn name(&self, address: u64) -> String {
        match self.subject.symbols.at(address) {
            Some((name, 0)) => name.to_owned(),
            Some((name, offset)) => format!("{name}+{offset:#x}"),
            None => self.located(address),
        }
    }

    /// Returns an address as in the file, in words.
    fn located(&self, address: u64) -> String {
        let (section, address) = self.place(address);
        section.map_or_else(|| address.to_string(), |section| format!("{section}+{address}"))
    }

    /// Returns an address as in the file: in a relocatable file, with its section.
    fn place(&self, address: u64) -> (Option<String>, Address) {
        let behind = self.code_names.partition_point(|(range, _)| range.start <= address);
        let section = behind.checked_sub(1).and_then(|index| self.code_names.get(index));
        match section {
            Some((range, name)) => (Some(name.clone()), Address(address - range.start)),
            None => (None, Address(address)),
        }
    }

    /// Returns the first of some instructions, with those before them from an address on.
    fn listing(&self, from: u64, (first, last): (u64, u64)) -> Vec<Line> {
        // Enough bytes for the instructions that are shown.
        let len =
            last.saturating_sub(from).saturating_add(MAX_INSTRUCTION).min(LINES as u64 * MAX_INSTRUCTION);
        let code = self.code_in(&(from..from.saturating_add(len))).next();
        let Some((address, code)) = code else { return Vec::new() };
        // In a relocatable file, addresses are those in the section, also where an instruction names one.
        let made_up = address.wrapping_sub(self.place(address).1.0);
        let lines = Disassembly::first(self.abi, address.wrapping_sub(made_up), &code, LINES);
        let lines = lines.into_iter().map(|(pc, instruction)| (pc.wrapping_add(made_up), pc, instruction));
        let line = |(address, pc, instruction): (u64, u64, Instruction)| Line {
            pc: Address(pc),
            text: self.with_symbol(address, instruction),
            differs: (first..=last).contains(&address),
        };
        lines.filter(|(address, ..)| *address <= last).map(line).collect()
    }

    /// Returns an instruction of a relocatable file with the symbol that a linker would put into it: in place of the
    /// address that a call or jump has until then, or after that.
    fn with_symbol(&self, address: u64, Instruction { text, len, flow, .. }: Instruction) -> String {
        let end = address.saturating_add(len);
        let relocated = self.relocated.get_or_init(|| self.subject.relocated_code());
        let Some((_, symbol)) = relocated.range(address..end).next() else { return text };
        let target = match flow {
            Flow::Call(Some(target)) | Flow::Jump { to: Destination::Address(target), .. } => Some(target),
            _ => None,
        };
        let before = target.and_then(|target| text.strip_suffix(&format!("{target:#x}")));
        before.map_or_else(|| format!("{text} ({symbol})"), |before| format!("{before}{symbol}"))
    }
}

/// The maximum number of groups whose instructions are disassembled.
const LISTED: usize = 500;
/// The maximum number of instructions for each.
const LINES: usize = 6;
/// The maximum length of an instruction, in bytes.
const MAX_INSTRUCTION: u64 = 16;

/// Identifies a group: the function's address and FDE, its row, and the FDE and
/// rules of the information.
type Key = (u64, u32, Found, (CfiSection, usize), Option<Rules>);

/// Consecutive instructions for which both sides have the same rules as for the
/// first.
struct Stretch {
    found: Option<Found>,
    rules: Option<Rules>,
    /// The next address for which either may be another one.
    until: u64,
    first: u64,
    last: u64,
    pcs: u64,
    /// The instruction before them, if the function has one.
    before: Option<u64>,
}

impl Stretch {
    /// Begins one with an instruction.
    fn new(info: &CallFrameInfo, pc: u64, before: Option<u64>, sides: &mut Sides<'_, '_>) -> Self {
        let cfi = sides.cfi.as_deref_mut();
        let (rules, cfi_until) = cfi.map_or((None, u64::MAX), |cfi| cfi.at(info, pc));
        let sframe = sides.sframe.as_deref_mut();
        let (found, sframe_until) =
            sframe.map_or((None, u64::MAX), |sframe| (Some(sframe.at(pc)), sframe.until(pc)));
        Self { found, rules, until: cfi_until.min(sframe_until), first: pc, last: pc, pcs: 1, before }
    }

    const fn add(&mut self, pc: u64) {
        self.last = pc;
        self.pcs += 1;
    }
}

/// The rules of the function that both kinds have, as far as they do.
struct Sides<'r, 's> {
    sframe: Option<&'r mut SframeRows>,
    cfi: Option<&'r mut CfiRows<'s>>,
}

impl Sides<'_, '_> {
    /// Whether a function starts at an address, by the call frame information if there is some.
    fn start_at(&self, address: u64) -> bool {
        let of_cfi = self.cfi.as_ref().map(|cfi| cfi.fde.range.start);
        of_cfi.or(self.sframe.as_ref().map(|sframe| sframe.fde.start)) == Some(address)
    }
}

/// An instruction: its start, and the address after it.
type Span = Range<u64>;

struct Unit<'w, 's> {
    sweep: &'w Sweep<'s>,
    part: Part<'s>,
    /// The results of comparing, with the group if they differ.
    known: FxHashMap<Key, (Option<usize>, bool)>,
    /// The last instruction's group.
    last: Option<usize>,
    /// Whether the last instruction counts as one at which both agree.
    agreed: bool,
    /// The last instruction of the piece before, which may end in the next one.
    cut: Option<Span>,
}

impl<'w, 's> Unit<'w, 's> {
    fn new(sweep: &'w Sweep<'s>) -> Self {
        let (part, known) = (Part::default(), FxHashMap::default());
        Self { sweep, part, known, last: None, agreed: false, cut: None }
    }

    /// Compares the instructions that start in a piece, and returns their number.
    fn piece(&mut self, range: &Range<u64>, sides: &mut Sides<'_, 's>) -> u64 {
        let cut = self.cut.take().filter(|cut| cut.contains(&range.start) && !sides.start_at(range.start));
        if let Some(cut) = cut.clone().filter(|cut| cut.end <= range.end) {
            self.end_of_call(&cut, sides);
        }
        let from = cut.as_ref().map_or(range.start, |cut| cut.end);
        if from >= range.end {
            self.cut = cut;
            return 0;
        }
        let mut before = cut.map(|cut| cut.start);
        let mut pcs = 0;
        let sweep = self.sweep;
        // The last instruction may end beyond.
        for (address, code) in sweep.code_in(&(from..range.end.saturating_add(MAX_INSTRUCTION))) {
            let mut stretch: Option<Stretch> = None;
            let after = starts(sweep.abi, address, &code, range.end, |pc| {
                pcs += 1;
                match &mut stretch {
                    Some(stretch) if pc < stretch.until => stretch.add(pc),
                    _ => {
                        self.finish(stretch.take(), pc, sides);
                        stretch = Some(Stretch::new(sweep.cfi, pc, before, sides));
                    }
                }
                before = Some(pc);
            });
            if let Some(stretch) = stretch {
                self.cut = Some(stretch.last..after);
                self.finish(Some(stretch), after.min(range.end), sides);
            }
        }
        pcs
    }

    /// Counts instructions of which the last ends at an address. If that is beyond where another entry may apply, the
    /// instruction's end is looked up too.
    fn finish(&mut self, stretch: Option<Stretch>, end: u64, sides: &mut Sides<'_, 's>) {
        let Some(stretch) = stretch else { return };
        self.stretch(&stretch, sides.sframe.as_deref(), sides.cfi.as_deref());
        if stretch.until < end {
            self.end_of_call(&(stretch.last..end), sides);
        }
    }

    /// Compares what is found for the caller of an instruction, if that is a call: the look-up is at its last byte,
    /// which is the return address - 1 (A).
    fn end_of_call(&mut self, call: &Span, sides: &mut Sides<'_, 's>) {
        let last_byte = call.end.saturating_sub(1);
        if last_byte <= call.start || !self.sweep.is_call(call) {
            return;
        }
        let Stretch { found, rules, .. } = Stretch::new(self.sweep.cfi, last_byte, None, sides);
        let (Some(sframe), Some(found), Some(cfi)) = (sides.sframe.as_deref(), found, sides.cfi.as_deref())
        else {
            return;
        };
        if self.known.contains_key(&self.key(call.start, sframe, found, cfi, rules)) {
            return;
        }
        let entry = (found, sframe.row(found));
        let (group, _) = self.compare(call.start, None, sframe, entry, cfi, rules);
        if let Some(group) = group.and_then(|group| self.part.groups.get_mut(group)) {
            (group.pcs, group.looked_up) = (1, Some(last_byte));
            self.part.agree -= u64::from(std::mem::take(&mut self.agreed));
        }
    }

    /// Identifies what is found for an instruction. Entries of a repeating table have individual names.
    fn key(
        &self,
        pc: u64,
        sframe: &SframeRows,
        found: Found,
        cfi: &CfiRows<'_>,
        rules: Option<Rules>,
    ) -> Key {
        let function = match sframe.fde.pc_type {
            PcType::Inc => sframe.fde.start,
            PcType::Mask => {
                self.sweep.subject.symbols.at(pc).map_or(sframe.fde.start, |(_, offset)| pc - offset)
            }
        };
        (function, sframe.fde.index, found, (cfi.fde.section, cfi.fde.offset), rules)
    }

    fn stretch(&mut self, stretch: &Stretch, sframe: Option<&SframeRows>, cfi: Option<&CfiRows<'s>>) {
        let Stretch { found, rules, first: pc, pcs, before, .. } = *stretch;
        let row = sframe.zip(found).and_then(|(sframe, found)| sframe.row(found));
        self.hazards(stretch, sframe, row, cfi);
        self.agreed = false;
        let (Some(sframe), Some(found), Some(cfi)) = (sframe, found, cfi) else {
            self.last = None;
            return;
        };
        let key = self.key(pc, sframe, found, cfi, rules);
        let known = self.known.get(&key).copied();
        let (group, fp_is_lost) = known.unwrap_or_else(|| {
            let new = self.compare(pc, before, sframe, (found, row), cfi, rules);
            self.known.insert(key, new);
            new
        });
        self.part.lost_fp += if fp_is_lost { pcs } else { 0 };
        match group.and_then(|group| self.part.groups.get_mut(group)) {
            Some(group) => {
                group.pcs += pcs;
                group.last = stretch.last;
            }
            None => {
                self.part.agree += pcs;
                self.agreed = true;
            }
        }
        if let Some(index) = group
            && (self.last == Some(index) || known.is_none())
            && let Some(group) = self.part.groups.get_mut(index)
            && (known.is_none() || before == Some(group.run.1))
        {
            group.run.1 = stretch.last;
        }
        self.last = group;
    }

    /// Compares a new pair of rules, and returns the group if they differ.
    fn compare(
        &mut self,
        pc: u64,
        before: Option<u64>,
        sframe: &SframeRows,
        (found, row): (Found, Option<&Row>),
        cfi: &CfiRows<'s>,
        rules: Option<Rules>,
    ) -> (Option<usize>, bool) {
        let told = || match (&cfi.rows, &rules) {
            (Err(error), _) => error.to_string(),
            (Ok(_), Some(rules)) => rules.to_string(),
            (Ok(_), None) => "no row".to_owned(),
        };
        let differ = |sframe: String| vec![Disagreement { field: Field::Row, sframe, cfi: told() }];
        let (disagreements, fp_is_lost) = match (row, rules) {
            (Some(row), Some(rules)) => {
                let comparison = compare(self.sweep.abi, &sframe.fde, row, cfi.fde, &rules);
                (comparison.disagreements, comparison.fp_is_lost)
            }
            (Some(row), None) => (differ(row.to_string()), false),
            // Neither says anything.
            (None, Some(rules)) if found == Found::NoRow && rules.cfa == Err(Inexpressible::Nothing) => {
                (Vec::new(), false)
            }
            (None, _) => (differ(sframe.fault(found).unwrap_or_else(|| "no row".to_owned())), false),
        };
        if disagreements.is_empty() {
            return (None, fp_is_lost);
        }
        self.part.groups.push(Group {
            fde: sframe.fde,
            row: row.copied(),
            malformed: matches!(found, Found::Malformed(_)),
            cfi: cfi.fde,
            rules: told(),
            disagreements,
            pcs: 0,
            run: (pc, pc),
            last: pc,
            before,
            looked_up: None,
        });
        (Some(self.part.groups.len() - 1), fp_is_lost)
    }

    fn hazards(
        &mut self,
        stretch: &Stretch,
        sframe: Option<&SframeRows>,
        row: Option<&Row>,
        cfi: Option<&CfiRows<'_>>,
    ) {
        let has_caller = stretch.rules.as_ref().is_some_and(Rules::has_caller);
        let hazards = &mut self.part.hazards;
        let mut add = |start: u64, kind| {
            let hazard = hazards.entry((start, row.map(|row| row.start), kind)).or_insert((row.copied(), 0));
            hazard.1 += stretch.pcs;
        };
        match (sframe, row) {
            (Some(sframe), Some(row)) => {
                for kind in hazard::of_row(self.sweep.abi, row) {
                    add(sframe.fde.start, kind);
                }
                if row.is_outermost() && has_caller {
                    add(sframe.fde.start, HazardKind::EndsEarly);
                }
            }
            _ if has_caller => {
                let start = cfi.map_or(stretch.first, |cfi| cfi.fde.range.start);
                add(start, HazardKind::EndsEarly);
            }
            _ => {}
        }
    }
}
