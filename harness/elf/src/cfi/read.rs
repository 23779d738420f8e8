//! Reads FDEs and their rows.

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use gimli::{
    BaseAddresses, CallFrameInstruction, CallFrameInstructionIter, CfaRule, CieOrFde, DebugFrame, EhFrame,
    FrameDescriptionEntry, RegisterRule, RunTimeEndian, UnwindContext, UnwindSection, Vendor,
};
use rustc_hash::{FxHashMap, FxHashSet};
use sframe_engine::{Abi, Base, ByteOrder, DwarfRegister};

use super::expression::{Formula, formula};
use super::landing_pads::LandingPads;
use super::sign_with_pc;
use super::table::{CfiSection, Slice, Table};

/// Why call frame information can't be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CfiError {
    /// The section's content can't be read.
    #[error("{section} can't be read: {message}")]
    Unreadable {
        /// The section.
        section: CfiSection,
        /// Why.
        message: String,
    },
    /// An entry is malformed, so that those after it can't be found.
    #[error("{section} can't be read past offset {offset:#x}: {source}")]
    Section {
        /// The section.
        section: CfiSection,
        /// Offset of the last entry that could be read.
        offset: usize,
        /// The fault.
        source: gimli::Error,
    },
    /// CIEs are too long for the number of FDEs to be intentional.
    #[error("the CIEs of {section} are too long for its number of FDEs, at offset {offset:#x}")]
    TooLong {
        /// The section.
        section: CfiSection,
        /// Offset of the first FDE that is not read.
        offset: usize,
    },
    /// A CIE gives a rule back, although there is none yet: GNU as makes a CIE of a function's first directives.
    #[error(
        "the CIE of the FDE at offset {offset:#x} of {section} has DW_CFA_restore, which only an FDE can have"
    )]
    RestoreInCie {
        /// The section.
        section: CfiSection,
        /// Offset of the FDE.
        offset: usize,
    },
    /// The instructions of an entry are malformed.
    #[error("the FDE at offset {offset:#x} of {section} can't be executed: {source}")]
    Instructions {
        /// The section.
        section: CfiSection,
        /// Offset of the FDE.
        offset: usize,
        /// The fault.
        source: gimli::Error,
    },
}

/// The sections to read, relocated, with the addresses of the loaded ones.
#[derive(Clone, Debug)]
pub struct CfiInput {
    /// The ABI.
    pub abi: Abi,
    /// `.eh_frame` and its address.
    pub eh_frame: Option<(Vec<u8>, u64)>,
    /// `.debug_frame`.
    pub debug_frame: Option<Vec<u8>>,
    /// Why sections are missing here, although the file has them.
    pub errors: Vec<CfiError>,
    /// The address of `.text`, for pointers that are relative to it.
    pub text: u64,
    /// The address of `.got`, likewise.
    pub got: u64,
}

/// The call frame information of an image.
#[derive(Clone, Debug)]
pub struct CallFrameInfo {
    pub(super) abi: Abi,
    tables: Vec<Table>,
    /// Sorted by start; at the same address, `.eh_frame` first.
    fdes: Vec<CfiFde>,
    /// The addresses where another FDE begins to apply, and which.
    changes: Vec<(u64, Option<usize>)>,
    errors: Vec<CfiError>,
    executed: Arc<Mutex<ExecutedRows>>,
}

/// The rows of recently requested FDEs: finding one row requires executing all of
/// its FDE's.
#[derive(Debug, Default)]
struct ExecutedRows {
    by_fde: FxHashMap<(CfiSection, usize), RowsOfFde>,
    rows: usize,
}

/// The rows of an FDE, or why they can't be executed.
pub type RowsOfFde = Result<Arc<[CfiRow]>, CfiError>;

/// The maximum number of rows kept, not counting those of one FDE more.
const MAX_EXECUTED_ROWS: usize = 1 << 18;

/// The code that one frame description entry covers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CfiFde {
    /// Addresses of the code.
    pub range: Range<u64>,
    /// The section with the entry.
    pub section: CfiSection,
    /// Offset of the entry in its section.
    pub offset: usize,
    /// Whether the frame was pushed by a signal (augmentation `S`).
    pub is_signal: bool,
    /// Whether return addresses are signed with key B (AArch64, augmentation `B`).
    pub key_b: bool,
    /// The address of the language-specific data area, which has its landing pads.
    pub lsda: Option<u64>,
    table: usize,
}

impl CfiFde {
    /// Whether the frame was pushed by a signal. `None` in a `.debug_frame` that does not say so:
    /// LLVM writes no augmentation there.
    #[must_use]
    pub fn says_signal(&self) -> Option<bool> {
        self.says(self.is_signal)
    }

    /// Whether return addresses are signed with key B. `None` in a `.debug_frame` that does not say
    /// so: neither GNU as nor LLVM can.
    #[must_use]
    pub fn says_key_b(&self) -> Option<bool> {
        self.says(self.key_b)
    }

    fn says(&self, augmented: bool) -> Option<bool> {
        (augmented || self.section == CfiSection::EhFrame).then_some(augmented)
    }
}

/// The rules for a range of addresses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CfiRow {
    /// The addresses.
    pub range: Range<u64>,
    /// The CFA. Meaningless unless `has_cfa`.
    pub cfa: CfaRule<usize>,
    /// Whether an instruction of the FDE or its CIE has defined the CFA.
    pub has_cfa: bool,
    /// The return address; `None` if there is no rule, so that it is in its register.
    pub ra: Option<RegisterRule<usize>>,
    /// All registers with rules, by DWARF number.
    pub registers: Vec<(u16, RegisterRule<usize>)>,
    /// The column of the return address.
    pub ra_column: u16,
    /// Whether the return address is signed (AArch64).
    pub signed: bool,
    /// The size in bytes of the arguments that have been pushed, which a landing pad finds popped.
    pub args_size: u64,
    pub(super) table: usize,
}

impl CfiRow {
    /// Returns how far the CFA is above the value of a register, in bytes, if that gives it.
    #[must_use]
    pub fn cfa_above(&self, register: DwarfRegister) -> Option<i64> {
        match self.cfa {
            CfaRule::RegisterAndOffset { register: base, offset } if self.has_cfa => {
                (base.0 == register_column(register)).then_some(offset)
            }
            _ => None,
        }
    }

    /// Returns the rule of a register.
    #[must_use]
    pub fn register(&self, register: u16) -> Option<&RegisterRule<usize>> {
        self.registers.iter().find(|(number, _)| *number == register).map(|(_, rule)| rule)
    }
}

/// CIEs, counted once for each of their FDEs, may together have this many times the
/// section's length: in real files they have about the length of the section.
const CIE_SHARE: usize = 64;
/// And this many bytes more.
const SPARE_CIE_BYTES: usize = 1 << 24;

/// The maximum number of rows of one FDE, with the rules for registers in each of
/// them: every byte of an FDE can repeat all rules of the row before.
const MAX_ROWS_AND_RULES: usize = 1 << 21;

/// The pseudo-register that indicates whether a return address is signed.
const RA_SIGN_STATE: u16 = 34;

impl CallFrameInfo {
    /// Finds all FDEs. Malformed ones are left out, and reported in [`Self::errors`].
    #[must_use]
    pub fn read(input: CfiInput) -> Self {
        let mut info = Self {
            abi: input.abi,
            tables: Vec::new(),
            fdes: Vec::new(),
            changes: Vec::new(),
            errors: input.errors,
            executed: Arc::default(),
        };
        let bases = BaseAddresses::default().set_text(input.text).set_got(input.got);
        if let Some((data, address)) = input.eh_frame {
            info.add(CfiSection::EhFrame, data, bases.clone().set_eh_frame(address));
        }
        if let Some(data) = input.debug_frame {
            info.add(CfiSection::DebugFrame, data, bases);
        }
        info.fdes.sort_by_key(|fde| (fde.range.start, fde.section));
        info.changes = changes(&info.fdes);
        info
    }

    /// Returns the information of a file that has none.
    #[must_use]
    pub fn none(abi: Abi) -> Self {
        Self::read(CfiInput { abi, eh_frame: None, debug_frame: None, errors: Vec::new(), text: 0, got: 0 })
    }

    fn add(&mut self, section: CfiSection, data: Vec<u8>, bases: BaseAddresses) {
        if data.starts_with(&[0; 4]) && data.iter().any(|byte| *byte != 0) {
            let message = "it begins with its terminator".to_owned();
            self.errors.push(CfiError::Unreadable { section, message });
        }
        let (data, key_b, signal) = augmentations(section, data, endian(self.abi));
        let mut table = Table { section, data, bases, key_b, signal };
        if self.abi.signs_return_addresses() {
            let places = match section {
                CfiSection::EhFrame => sign_with_pc::places(&table, &eh_frame(&table, self.abi)),
                CfiSection::DebugFrame => sign_with_pc::places(&table, &debug_frame(&table, self.abi)),
            };
            sign_with_pc::replace(&mut table.data, &places);
        }
        let index = self.tables.len();
        let (fdes, error) = match section {
            CfiSection::EhFrame => fdes(&table, index, &eh_frame(&table, self.abi)),
            CfiSection::DebugFrame => fdes(&table, index, &debug_frame(&table, self.abi)),
        };
        self.errors.extend(error);
        self.fdes.extend(fdes);
        self.tables.push(table);
    }

    /// Whether there is no table.
    #[must_use]
    pub fn is_absent(&self) -> bool {
        self.tables.is_empty() && self.errors.is_empty()
    }

    /// Returns the parts that could not be read.
    #[must_use]
    pub fn errors(&self) -> &[CfiError] {
        &self.errors
    }

    /// Returns all FDEs, sorted by address.
    #[must_use]
    pub fn fdes(&self) -> &[CfiFde] {
        &self.fdes
    }

    /// Returns the FDE for an address: if several overlap, the one that starts
    /// last; of several with the same start, the first of `.eh_frame`.
    #[must_use]
    pub fn fde_at(&self, address: u64) -> Option<&CfiFde> {
        let behind = self.changes.partition_point(|(start, _)| *start <= address);
        let (_, fde) = self.changes.get(behind.checked_sub(1)?)?;
        self.fdes.get((*fde)?)
    }

    /// Returns the rows of an FDE, sorted by address.
    ///
    /// # Errors
    /// Its instructions are malformed.
    pub fn rows(&self, fde: &CfiFde) -> Result<Vec<CfiRow>, CfiError> {
        let Some(table) = self.tables.get(fde.table) else { return Ok(Vec::new()) };
        match fde.section {
            CfiSection::EhFrame => rows(fde, table, &eh_frame(table, self.abi)),
            CfiSection::DebugFrame => rows(fde, table, &debug_frame(table, self.abi)),
        }
    }

    /// Returns the landing pads of all functions. `loaded` returns what is loaded at an
    /// address, to the end of its segment.
    #[must_use]
    pub fn landing_pads<'d>(&self, loaded: impl Fn(u64) -> Option<&'d [u8]>) -> LandingPads {
        let lsdas = self.fdes.iter().filter_map(|fde| Some((fde.lsda?, fde.range.start)));
        LandingPads::read(endian(self.abi), lsdas, loaded)
    }

    /// Whether an FDE gives the size of pushed arguments.
    #[must_use]
    pub fn tells_args_size(&self, fde: &CfiFde) -> bool {
        let Some(table) = self.tables.get(fde.table) else { return false };
        match fde.section {
            CfiSection::EhFrame => tells_args_size(fde, table, &eh_frame(table, self.abi)),
            CfiSection::DebugFrame => tells_args_size(fde, table, &debug_frame(table, self.abi)),
        }
    }

    /// Returns the row for an address; `None` if no FDE covers it.
    ///
    /// # Errors
    /// The instructions of its FDE are malformed.
    pub fn row_at(&self, address: u64) -> Result<Option<CfiRow>, CfiError> {
        let Some(fde) = self.fde_at(address) else { return Ok(None) };
        let rows = self.executed_rows(fde)?;
        let next = rows.partition_point(|row| row.range.end <= address);
        Ok(rows.get(next).filter(|row| row.range.contains(&address)).cloned())
    }

    /// Returns the rows as [`Self::rows`] does, executed once for many addresses.
    ///
    /// # Errors
    /// The instructions are malformed.
    pub fn executed_rows(&self, fde: &CfiFde) -> RowsOfFde {
        let mut executed = self.executed.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (fde.section, fde.offset);
        if let Some(rows) = executed.by_fde.get(&key) {
            return rows.clone();
        }
        let rows: RowsOfFde = self.rows(fde).map(Arc::from);
        if executed.rows > MAX_EXECUTED_ROWS {
            *executed = ExecutedRows::default();
        }
        executed.rows += rows.as_ref().map_or(1, |rows| rows.len());
        executed.by_fde.insert(key, rows.clone());
        rows
    }

    /// Returns the bytes of an expression of a row.
    pub(super) fn expression(
        &self,
        row: &CfiRow,
        expression: &gimli::UnwindExpression<usize>,
    ) -> Result<gimli::Expression<Slice<'_>>, gimli::Error> {
        let table = self.tables.get(row.table).ok_or(gimli::Error::NoUnwindInfoForAddress)?;
        match table.section {
            CfiSection::EhFrame => expression.get(&eh_frame(table, self.abi)),
            CfiSection::DebugFrame => expression.get(&debug_frame(table, self.abi)),
        }
    }
}

/// Returns the addresses where another FDE begins to apply, from FDEs sorted by
/// start. They may overlap, and many may be nested in one.
fn changes(fdes: &[CfiFde]) -> Vec<(u64, Option<usize>)> {
    let is_empty = |fde: &CfiFde| fde.range.start >= fde.range.end;
    let mut edges: Vec<(u64, usize)> = fdes
        .iter()
        .enumerate()
        .filter(|(_, fde)| !is_empty(fde))
        .flat_map(|(index, fde)| [(fde.range.start, index), (fde.range.end, index)])
        .collect();
    edges.sort_unstable();
    // Those that cover the address, with the one that applies first.
    let mut open: BTreeSet<(Reverse<u64>, usize)> = BTreeSet::new();
    let mut changes: Vec<(u64, Option<usize>)> = Vec::new();
    for at_one_address in edges.chunk_by(|one, other| one.0 == other.0) {
        for (address, index) in at_one_address {
            let start = fdes[*index].range.start;
            if *address == start {
                open.insert((Reverse(start), *index));
            } else {
                open.remove(&(Reverse(start), *index));
            }
        }
        let now = open.first().map(|(_, index)| *index);
        if changes.last().is_none_or(|(_, before)| *before != now) {
            changes.push((at_one_address[0].0, now));
        }
    }
    changes
}

/// Returns the number of a register in tables. These ABIs have no larger numbers.
#[must_use]
pub fn register_column(register: DwarfRegister) -> u16 {
    u16::try_from(register.0).unwrap_or(u16::MAX)
}

pub(crate) const fn endian(abi: Abi) -> RunTimeEndian {
    match abi.byte_order() {
        ByteOrder::Little => RunTimeEndian::Little,
        ByteOrder::Big => RunTimeEndian::Big,
    }
}

const fn vendor(abi: Abi) -> Vendor {
    if abi.signs_return_addresses() { Vendor::AArch64 } else { Vendor::Default }
}

fn eh_frame<'t>(table: &'t Table, abi: Abi) -> EhFrame<Slice<'t>> {
    let mut section = EhFrame::new(&table.data, endian(abi));
    section.set_address_size(8);
    section.set_vendor(vendor(abi));
    section
}

fn debug_frame<'t>(table: &'t Table, abi: Abi) -> DebugFrame<Slice<'t>> {
    let mut section = DebugFrame::new(&table.data, endian(abi));
    section.set_address_size(8);
    section.set_vendor(vendor(abi));
    section
}

fn fdes<'t, S: UnwindSection<Slice<'t>>>(
    table: &'t Table,
    index: usize,
    section: &S,
) -> (Vec<CfiFde>, Option<CfiError>) {
    let mut found = Vec::new();
    let mut last = 0;
    // Each FDE executes its CIE's instructions before its own.
    let mut bytes_left = table.data.len().saturating_mul(CIE_SHARE).saturating_add(SPARE_CIE_BYTES);
    let mut entries = section.entries(&table.bases);
    loop {
        let fde = match entries.next() {
            Ok(Some(CieOrFde::Cie(cie))) => {
                last = cie.offset();
                continue;
            }
            Ok(Some(CieOrFde::Fde(fde))) => fde.parse(S::cie_from_offset),
            Ok(None) => return (found, None),
            Err(source) => {
                return (found, Some(CfiError::Section { section: table.section, offset: last, source }));
            }
        };
        let fde = match fde {
            Ok(fde) => fde,
            Err(source) => {
                return (found, Some(CfiError::Section { section: table.section, offset: last, source }));
            }
        };
        last = fde.offset();
        match bytes_left.checked_sub(fde.cie().entry_len()) {
            Some(left) => bytes_left = left,
            None => return (found, Some(CfiError::TooLong { section: table.section, offset: last })),
        }
        let range = fde.initial_address()..fde.initial_address().saturating_add(fde.len());
        // Discarded code leaves entries without code, or at 0.
        let is_gone = range.is_empty() || (table.section == CfiSection::DebugFrame && range.start == 0);
        if !is_gone {
            let cie = fde.cie().offset();
            found.push(CfiFde {
                range,
                section: table.section,
                offset: fde.offset(),
                is_signal: table.signal.contains(&cie),
                key_b: table.key_b.contains(&cie),
                lsda: fde.lsda().and_then(|pointer| table.outside(pointer)),
                table: index,
            });
        }
    }
}

fn rows<'t, S: UnwindSection<Slice<'t>>>(
    fde: &CfiFde,
    table: &'t Table,
    section: &S,
) -> Result<Vec<CfiRow>, CfiError>
where
    S::Offset: From<usize>,
{
    let failed = |source| CfiError::Instructions { section: fde.section, offset: fde.offset, source };
    let entry = section.fde_from_offset(&table.bases, S::Offset::from(fde.offset), S::cie_from_offset);
    let entry = entry.map_err(failed)?;
    // DWARF 5, 6.4.2.3: to the rule of the CIE's initial instructions, which a CIE does not have yet.
    let restores = || {
        has(entry.cie().instructions(section, &table.bases), |instruction| {
            matches!(instruction, CallFrameInstruction::Restore { .. })
        })
    };
    let failed = |source| match source {
        gimli::Error::CfiInstructionInInvalidContext if restores() => {
            CfiError::RestoreInCie { section: fde.section, offset: fde.offset }
        }
        source => failed(source),
    };
    let ra_column = entry.cie().return_address_register();
    let in_cie = has(entry.cie().instructions(section, &table.bases), defines_cfa);
    let definitions = definitions(in_cie, &entry, entry.instructions(section, &table.bases));
    let mut context = UnwindContext::new();
    let mut table_rows = entry.rows(section, &table.bases, &mut context).map_err(failed)?;
    let mut rows = Vec::new();
    let mut left = MAX_ROWS_AND_RULES;
    while let Some(row) = table_rows.next_row().map_err(failed)? {
        let range = row.start_address()..row.end_address();
        if range.is_empty() {
            continue;
        }
        let rules = row.registers().count();
        left = left.checked_sub(1 + rules).ok_or_else(|| failed(gimli::Error::TooManyRegisterRules))?;
        let state = row.register(gimli::Register(RA_SIGN_STATE));
        let signed = state.is_some_and(|rule| is_signed(&rule, section, range.start));
        let change = definitions.partition_point(|(start, _)| *start <= range.start).checked_sub(1);
        let has_cfa = change.and_then(|change| definitions.get(change)).is_some_and(|(_, defined)| *defined);
        rows.push(CfiRow {
            range,
            cfa: row.cfa().clone(),
            has_cfa,
            ra: row.register(ra_column),
            registers: row.registers().map(|(register, rule)| (register.0, rule.clone())).collect(),
            ra_column: ra_column.0,
            signed,
            args_size: row.saved_args_size(),
            table: fde.table,
        });
    }
    Ok(rows)
}

fn tells_args_size<'t, S: UnwindSection<Slice<'t>>>(fde: &CfiFde, table: &'t Table, section: &S) -> bool
where
    S::Offset: From<usize>,
{
    let entry = section.fde_from_offset(&table.bases, S::Offset::from(fde.offset), S::cie_from_offset);
    entry.is_ok_and(|entry| {
        has(entry.instructions(section, &table.bases), |instruction| {
            matches!(instruction, CallFrameInstruction::ArgsSize { .. })
        })
    })
}

/// Whether the state that a rule gives says that the return address is signed: whatever rule gives it, and
/// not only the instruction that is there for it.
fn is_signed<'t, S: UnwindSection<Slice<'t>>>(rule: &RegisterRule<usize>, section: &S, pc: u64) -> bool {
    let state = match rule {
        RegisterRule::Constant(state) => Some(*state),
        RegisterRule::ValExpression(expression) => expression.get(section).ok().and_then(|expression| {
            // A constant has no register in it.
            match formula(expression, None, pc, |_| Some(Base::Cfa)) {
                Some(Formula::Constant(state)) => Some(state),
                _ => None,
            }
        }),
        _ => None,
    };
    state.is_some_and(|state| state & 1 != 0)
}

/// Whether an instruction defines the CFA. Before the first one, `gimli` uses register 0.
const fn defines_cfa(instruction: &CallFrameInstruction<usize>) -> bool {
    matches!(
        instruction,
        CallFrameInstruction::DefCfa { .. }
            | CallFrameInstruction::DefCfaSf { .. }
            | CallFrameInstruction::DefCfaExpression { .. }
    )
}

/// Returns from which addresses on the CFA is defined, and is not, in an FDE. `in_cie` is whether its CIE
/// defines it.
fn definitions<'t>(
    in_cie: bool,
    entry: &FrameDescriptionEntry<Slice<'t>>,
    mut instructions: CallFrameInstructionIter<'_, Slice<'t>>,
) -> Vec<(u64, bool)> {
    let mut changes = vec![(entry.initial_address(), in_cie)];
    let (mut at, mut is_defined, mut remembered) = (entry.initial_address(), in_cie, Vec::new());
    while let Ok(Some(instruction)) = instructions.next() {
        let before = is_defined;
        match instruction {
            CallFrameInstruction::SetLoc { address } => at = address,
            CallFrameInstruction::AdvanceLoc { delta } => {
                at = at.wrapping_add(u64::from(delta).wrapping_mul(entry.cie().code_alignment_factor()));
            }
            CallFrameInstruction::RememberState => remembered.push(is_defined),
            CallFrameInstruction::RestoreState => is_defined = remembered.pop().unwrap_or(is_defined),
            instruction => is_defined |= defines_cfa(&instruction),
        }
        if is_defined != before {
            changes.push((at, is_defined));
        }
    }
    changes
}

fn has(
    mut instructions: CallFrameInstructionIter<'_, Slice<'_>>,
    is_it: impl Fn(&CallFrameInstruction<usize>) -> bool,
) -> bool {
    while let Ok(Some(instruction)) = instructions.next() {
        if is_it(&instruction) {
            return true;
        }
    }
    false
}

/// Returns the CIEs that are for signal frames or for key B.
///
/// A terminator between entries ends nothing here, as for the linkers and debuggers that index a section: objects with one
/// may be linked before others.
///
/// `gimli` rejects CIEs with an unknown augmentation. `B` and `G` (tagged stacks)
/// have no data, like `S`, and so are replaced with `S`. Without `z`, as in
/// `.debug_frame`, it reads the length of data where no data follow: such an
/// augmentation is cut out, and the CIE filled up with `DW_CFA_nop`.
fn augmentations(
    section: CfiSection,
    mut data: Vec<u8>,
    endian: RunTimeEndian,
) -> (Vec<u8>, FxHashSet<usize>, FxHashSet<usize>) {
    let (mut key_b, mut signal) = (FxHashSet::default(), FxHashSet::default());
    let (mut unknown, mut without_data) = (Vec::new(), Vec::new());
    let (mut offset, mut last) = (0, None);
    let content = data.iter().rposition(|byte| *byte != 0).unwrap_or(0);
    loop {
        let Some(entry) = Entry::at(&data, offset, section, endian) else {
            // A terminator, which others follow: of an object that was linked before them.
            match last {
                Some(last) if offset + 4 <= content && data[offset..offset + 4] == [0; 4] => {
                    lengthen(&mut data, last, endian);
                    offset += 4;
                    continue;
                }
                _ => break,
            }
        };
        last = Some(offset);
        if let Some(augmentation) = entry.augmentation {
            let letters = data.get(augmentation.clone()).unwrap_or_default();
            if letters.iter().all(|letter| b"SBG".contains(letter)) {
                without_data.push((augmentation.clone(), entry.next));
            }
            for position in augmentation {
                match data.get(position) {
                    Some(b'S') => {
                        signal.insert(offset);
                    }
                    Some(b'B') => {
                        key_b.insert(offset);
                        unknown.push(position);
                    }
                    Some(b'G') => unknown.push(position),
                    _ => {}
                }
            }
        }
        offset = entry.next;
    }
    for position in unknown {
        if let Some(byte) = data.get_mut(position) {
            *byte = b'S';
        }
    }
    for (augmentation, end) in without_data {
        if let Some(rest) = data.get_mut(augmentation.start..end) {
            rest.rotate_left(augmentation.len());
            let kept = rest.len() - augmentation.len();
            rest[kept..].fill(0);
        }
    }
    (data, key_b, signal)
}

/// Makes an entry longer by what follows it, a terminator: by instructions without effect.
fn lengthen(data: &mut [u8], entry: usize, endian: RunTimeEndian) {
    use gimli::Endianity;
    let is_64 = data.get(entry..).and_then(|entry| entry.first_chunk()) == Some(&[0xff; 4]);
    let (at, len) = if is_64 { (entry + 4, 8) } else { (entry, 4) };
    match data.get_mut(at..at + len) {
        Some(length) if is_64 => endian.write_u64(length, endian.read_u64(length).wrapping_add(4)),
        Some(length) => endian.write_u32(length, endian.read_u32(length).wrapping_add(4)),
        None => {}
    }
}

/// The part of an entry that is needed to find the next one.
struct Entry {
    /// The position of the augmentation in the section, if this is a CIE.
    augmentation: Option<Range<usize>>,
    next: usize,
}

impl Entry {
    fn at(data: &[u8], offset: usize, section: CfiSection, endian: RunTimeEndian) -> Option<Self> {
        use gimli::Endianity;
        let word = |at: usize| Some(endian.read_u32(data.get(at..)?.first_chunk::<4>()?));
        let double = |at: usize| Some(endian.read_u64(data.get(at..)?.first_chunk::<8>()?));
        let length = word(offset)?;
        let is_64 = length == u32::MAX;
        let start = offset.checked_add(if is_64 { 12 } else { 4 })?;
        let length = if is_64 { usize::try_from(double(offset + 4)?).ok()? } else { length as usize };
        let next = start.checked_add(length)?;
        if length == 0 || next > data.len() {
            return None;
        }
        // In .debug_frame the width of an ID depends on the format.
        let is_wide = is_64 && section == CfiSection::DebugFrame;
        let is_cie = match section {
            CfiSection::EhFrame => word(start)? == 0,
            CfiSection::DebugFrame if is_64 => double(start)? == u64::MAX,
            CfiSection::DebugFrame => word(start)? == u32::MAX,
        };
        // After the ID and the version.
        let string = start + if is_wide { 9 } else { 5 };
        let augmentation = is_cie.then(|| {
            let len = data.get(string..next).and_then(|rest| rest.iter().position(|byte| *byte == 0));
            string..string + len.unwrap_or(0)
        });
        Some(Self { augmentation, next })
    }
}
