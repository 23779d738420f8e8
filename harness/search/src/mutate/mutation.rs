//! One change to a section, and the section that it makes.

use std::fmt;

use sframe_engine::write::{Function, Section};
use sframe_engine::{
    Abi, Base, CfaOffsetScaling, DwarfRegister, FdeType, PauthKey, PcType, Recovery, RecoveryRule, Row,
    Version,
};
use sframe_isa::Disassembly;

use super::operator::Operator;

/// A change to a section.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Mutation {
    pub(super) operator: Operator,
    /// The function, by its position in the section. `None` for the header.
    pub(super) function: Option<usize>,
    /// The row, by its position in the function.
    pub(super) row: Option<usize>,
    edit: Edit,
}

/// Which of a row's values is changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Tracked {
    Cfa,
    Ra,
    Fp,
}

impl fmt::Display for Tracked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Cfa => "CFA",
            Self::Ra => "RA",
            Self::Fp => "FP",
        })
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Edit {
    /// The value gets this rule.
    Rule(Tracked, RecoveryRule),
    /// The value is marked as unchanged.
    Unchanged(Tracked),
    RowStart(u32),
    RemoveRow,
    SwapRows,
    Mangle(bool),
    /// In all rows of the function, the value is this many bytes more; for RA and FP, the address
    /// of its slot.
    Shift(Tracked, i64),
    /// FP is unchanged in all rows of the function.
    KeepFp,
    Size(u32),
    RemoveFde,
    Start(u64),
    PcType(PcType, Option<u8>),
    RepSize(u8),
    PauthKey(PauthKey),
    Outermost,
    /// The function gets the rule of one that has just been called.
    NotOutermost,
    Signal(bool),
    /// Bytes of the header are replaced by others.
    Header(Field),
}

/// A field that no writer would get wrong: only its bytes are changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Field {
    Version(u8),
    /// The two bytes of the magic number are swapped.
    Magic,
    /// The ABI is the one with the other byte order.
    Abi(u8),
    /// The flag that makes starts relative to their field.
    Pcrel,
    /// The fixed offset of FP; 0 for none.
    FixedFp(i8),
    /// The fixed offset of RA; 0 for none.
    FixedRa(i8),
}

impl fmt::Display for Mutation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.edit {
            Edit::Rule(Tracked::Cfa, rule) => write!(f, "CFA = {rule}"),
            Edit::Rule(tracked, rule) => write!(f, "{tracked} = {rule}"),
            Edit::Unchanged(tracked) => write!(f, "{tracked} unchanged"),
            Edit::RowStart(start) => write!(f, "the row starts at +{start:#x}"),
            Edit::RemoveRow => f.write_str("the row is not there"),
            Edit::SwapRows => f.write_str("the row and the next one have each other's rules"),
            Edit::Mangle(true) => f.write_str("RA is signed"),
            Edit::Mangle(false) => f.write_str("RA is not signed"),
            Edit::Shift(Tracked::Cfa, by) => write!(f, "CFA {by:+} in all rows"),
            Edit::Shift(tracked, by) => write!(f, "slot of {tracked} {by:+} in all rows"),
            Edit::KeepFp => f.write_str("FP unchanged in all rows"),
            Edit::Size(size) => write!(f, "{size:#x} bytes long"),
            Edit::RemoveFde => f.write_str("the FDE is not there"),
            Edit::Start(start) => write!(f, "the function starts at {start:#x}"),
            Edit::PcType(PcType::Inc, _) => f.write_str("rows do not repeat"),
            Edit::PcType(PcType::Mask, _) => f.write_str("rows repeat"),
            Edit::RepSize(size) => write!(f, "blocks of {size} bytes"),
            Edit::PauthKey(PauthKey::A) => f.write_str("key A"),
            Edit::PauthKey(PauthKey::B) => f.write_str("key B"),
            Edit::Outermost => f.write_str("marked as outermost"),
            Edit::NotOutermost => f.write_str("not marked as outermost"),
            Edit::Signal(true) => f.write_str("a signal frame"),
            Edit::Signal(false) => f.write_str("no signal frame"),
            Edit::Header(Field::Version(version)) => write!(f, "version {version}"),
            Edit::Header(Field::Magic) => f.write_str("the magic number in the other byte order"),
            Edit::Header(Field::Abi(abi)) => write!(f, "ABI {abi}"),
            Edit::Header(Field::FixedFp(offset)) => write!(f, "fixed FP offset {offset}"),
            Edit::Header(Field::FixedRa(offset)) => write!(f, "fixed RA offset {offset}"),
            Edit::Header(Field::Pcrel) => f.write_str("the other flag for starts relative to their field"),
        }
    }
}

impl Mutation {
    /// Writes the section with the change, for an address. `None` if the format
    /// can't express it, or if nothing is changed.
    pub(super) fn write(&self, section: &Section, address: u64, original: &[u8]) -> Option<Vec<u8>> {
        let bytes = if let Edit::Header(field) = self.edit {
            let mut bytes = original.to_vec();
            field.change(&mut bytes)?;
            bytes
        } else {
            let mut section = section.clone();
            self.apply(&mut section)?;
            section.write(address).ok()?
        };
        (bytes != original).then_some(bytes)
    }

    /// The addresses that the change may affect: those of the function, and an
    /// instruction on either side. `None` if they are unknown.
    pub(super) fn scope(&self, section: &Section) -> Option<std::ops::Range<u64>> {
        let function = section.functions.get(self.function?)?;
        if matches!(self.edit, Edit::Start(_)) {
            return None;
        }
        let (start, end) = (function.start, function.start.checked_add(function.size.into())?);
        Some(start.saturating_sub(16)..end.saturating_add(16))
    }

    /// Whether all rows of a function are wrong, up to its return.
    pub(super) const fn is_throughout(&self) -> bool {
        matches!(self.edit, Edit::Shift(..) | Edit::KeepFp)
    }

    /// Whether it changes rules and nothing else, of a row or of all rows of a function.
    pub(super) const fn is_of_rows(&self) -> bool {
        self.row.is_some() || self.is_throughout()
    }

    /// Whether it may change the rules of the row with which a function begins.
    pub(super) fn is_of_first_row(&self) -> bool {
        self.row.is_none_or(|row| row == 0) && self.is_of_rows()
    }

    fn apply(&self, section: &mut Section) -> Option<()> {
        let abi = section.abi;
        match self.edit {
            Edit::RemoveFde => remove_function(section, self.function?)?,
            edit => {
                let version = section.version;
                let function = section.functions.get_mut(self.function?)?;
                match self.row {
                    Some(row) => edit_row(function, row, edit)?,
                    None => edit_function(function, edit, version, abi)?,
                }
            }
        }
        Some(())
    }
}

fn remove_function(section: &mut Section, index: usize) -> Option<()> {
    if index >= section.functions.len() {
        return None;
    }
    let removed = section.functions.remove(index);
    for function in &mut section.functions {
        if function.rows_position > removed.rows_position {
            function.rows_position -= 1;
        }
    }
    Some(())
}

fn edit_row(function: &mut Function, index: usize, edit: Edit) -> Option<()> {
    match edit {
        Edit::RemoveRow => {
            function.rows.remove(index);
        }
        Edit::SwapRows => {
            let starts = (function.rows.get(index)?.start, function.rows.get(index + 1)?.start);
            function.rows.swap(index, index + 1);
            (function.rows[index].start, function.rows[index + 1].start) = starts;
        }
        edit => {
            let row = function.rows.get_mut(index)?;
            match edit {
                Edit::Rule(Tracked::Cfa, rule) => row.cfa = Some(rule),
                Edit::Rule(Tracked::Ra, rule) => row.ra = Recovery::Rule(rule),
                Edit::Rule(Tracked::Fp, rule) => row.fp = Recovery::Rule(rule),
                Edit::Unchanged(Tracked::Ra) => row.ra = Recovery::Unchanged,
                Edit::Unchanged(Tracked::Fp) => row.fp = Recovery::Unchanged,
                Edit::RowStart(start) => row.start = start,
                Edit::Mangle(mangled) => row.mangled_ra = mangled,
                _ => return None,
            }
        }
    }
    Some(())
}

fn edit_function(function: &mut Function, edit: Edit, version: Version, abi: Abi) -> Option<()> {
    match edit {
        Edit::Shift(tracked, by) => function.rows.iter_mut().for_each(|row| shift(row, tracked, by, abi)),
        Edit::KeepFp => function.rows.iter_mut().filter(|row| row.cfa.is_some()).for_each(|row| {
            row.fp = Recovery::Unchanged;
        }),
        Edit::Size(size) => function.size = size,
        Edit::Start(start) => {
            // The end does not move.
            let end = function.start.checked_add(function.size.into())?;
            function.start = start;
            function.size = u32::try_from(end.checked_sub(start)?).ok()?;
        }
        Edit::PcType(pc_type, rep_size) => {
            function.pc_type = pc_type;
            function.rep_size = rep_size;
        }
        Edit::RepSize(size) => function.rep_size = Some(size),
        Edit::PauthKey(key) => function.pauth_key = key,
        Edit::Signal(signal) => function.signal = signal,
        Edit::Outermost if version.marks_outermost_functions() && function.fde_type == FdeType::Default => {
            function.rows.clear();
        }
        Edit::Outermost => {
            let undefined = Row {
                start: 0,
                end: function.size,
                cfa: None,
                ra: Recovery::Undefined,
                fp: Recovery::Undefined,
                mangled_ra: false,
            };
            function.rows = vec![undefined];
        }
        Edit::NotOutermost => function.rows = vec![at_entry(function.size, abi)],
        _ => return None,
    }
    Some(())
}

/// Moves a value of a row, or the slot that it is loaded from, by some bytes.
fn shift(row: &mut Row, tracked: Tracked, by: i64, abi: Abi) {
    let of_slot = |recovery: &mut Recovery, by: i64| {
        if let Recovery::Rule(rule @ RecoveryRule { base: Base::Cfa, dereference: true, .. }) = recovery {
            rule.offset += by;
        }
    };
    match tracked {
        Tracked::Cfa => {
            let Some(cfa) = &mut row.cfa else { return };
            cfa.offset += by;
            if abi.fixed_ra_offset().is_none() {
                of_slot(&mut row.ra, -by);
            }
            of_slot(&mut row.fp, -by);
        }
        Tracked::Ra => of_slot(&mut row.ra, by),
        Tracked::Fp => of_slot(&mut row.fp, by),
    }
}

/// The row of a function that has just been called.
fn at_entry(size: u32, abi: Abi) -> Row {
    let ra = match abi.fixed_ra_offset() {
        Some(offset) => Recovery::Rule(slot(offset.into())),
        None => Recovery::Unchanged,
    };
    let cfa = RecoveryRule { base: Base::Sp, offset: abi.cfa_offset_at_entry(), dereference: false };
    Row { start: 0, end: size, cfa: Some(cfa), ra, fp: Recovery::Unchanged, mangled_ra: false }
}

const fn slot(offset: i64) -> RecoveryRule {
    RecoveryRule { base: Base::Cfa, offset, dereference: true }
}

impl Field {
    fn change(self, bytes: &mut [u8]) -> Option<()> {
        match self {
            Self::Version(version) => *bytes.get_mut(2)? = version,
            Self::Magic => bytes.get_mut(..2)?.reverse(),
            Self::Abi(abi) => *bytes.get_mut(4)? = abi,
            Self::Pcrel => *bytes.get_mut(3)? ^= 4,
            Self::FixedFp(offset) => *bytes.get_mut(5)? = offset.cast_unsigned(),
            Self::FixedRa(offset) => *bytes.get_mut(6)? = offset.cast_unsigned(),
        }
        Some(())
    }
}

/// Returns all changes to a section that an operator can make.
pub(super) fn mutations(section: &Section, code: &Disassembly) -> Vec<Mutation> {
    let mut list = List { section, code, mutations: Vec::new() };
    list.header();
    for function in 0..section.functions.len() {
        list.function(function);
        for row in 0..section.functions[function].rows.len() {
            list.row(function, row);
        }
    }
    list.mutations
}

struct List<'s> {
    section: &'s Section,
    code: &'s Disassembly,
    mutations: Vec<Mutation>,
}

impl List<'_> {
    fn header(&mut self) {
        let mut add = |operator, edit| {
            self.mutations.push(Mutation { operator, function: None, row: None, edit });
        };
        // The known versions, and one that does not exist.
        let unknown = Version::LATEST.number() + 1;
        let versions = Version::ALL.into_iter().map(Version::number).chain([unknown]);
        for version in versions.filter(|version| *version != self.section.version.number()) {
            add(Operator::Version, Edit::Header(Field::Version(version)));
        }
        add(Operator::ByteOrder, Edit::Header(Field::Magic));
        let id = self.section.abi.id();
        // ABIs of the same architecture, and of others.
        let mut abis = Abi::ALL.map(Abi::id);
        abis.sort_unstable();
        for abi in abis.into_iter().filter(|abi| *abi != id) {
            add(Operator::ByteOrder, Edit::Header(Field::Abi(abi)));
        }
        if self.section.version.has_pcrel_starts() {
            add(Operator::StartReference, Edit::Header(Field::Pcrel));
        }
        let others = |offset: Option<i8>| {
            let offset = offset.unwrap_or(0);
            let near = if offset == 0 { [-8, -16] } else { [offset.wrapping_sub(8), offset.wrapping_add(8)] };
            near.into_iter().chain([0]).filter(move |other| *other != offset)
        };
        for offset in others(self.section.fixed_fp_offset) {
            add(Operator::FixedFp, Edit::Header(Field::FixedFp(offset)));
        }
        for offset in others(self.section.fixed_ra_offset) {
            add(Operator::FixedRa, Edit::Header(Field::FixedRa(offset)));
        }
    }

    fn function(&mut self, index: usize) {
        let function = &self.section.functions[index];
        let (code, version, abi) = (self.code, self.section.version, self.section.abi);
        let mut add = |operator, edit| {
            self.mutations.push(Mutation { operator, function: Some(index), row: None, edit });
        };
        let end = function.start.wrapping_add(function.size.into());
        let size = |end: u64| u32::try_from(end.wrapping_sub(function.start)).ok();
        let sizes = [code.before(end), code.at(end).and(code.after(end))];
        for size in sizes.into_iter().flatten().filter_map(size) {
            add(Operator::FunctionSize, Edit::Size(size));
        }
        add(Operator::FdeRemoved, Edit::RemoveFde);
        for start in [code.before(function.start), code.after(function.start)].into_iter().flatten() {
            add(Operator::FdeStart, Edit::Start(start));
        }
        let (other, rep_size) = match function.pc_type {
            PcType::Mask => (PcType::Inc, 0),
            PcType::Inc => (PcType::Mask, 16),
        };
        let rep_size = version.has_rep_size().then_some(rep_size);
        add(Operator::PcType, Edit::PcType(other, rep_size));
        if let (PcType::Mask, Some(size)) = (function.pc_type, function.rep_size) {
            for size in [Some(size / 2), size.checked_mul(2)].into_iter().flatten() {
                add(Operator::RepSize, Edit::RepSize(size));
            }
        }
        if abi.signs_return_addresses() {
            let other = if function.pauth_key == PauthKey::A { PauthKey::B } else { PauthKey::A };
            add(Operator::PauthKey, Edit::PauthKey(other));
        }
        let is_outermost = match &function.rows[..] {
            [] => version.marks_outermost_functions() && function.fde_type == FdeType::Default,
            rows => rows.iter().any(Row::is_outermost),
        };
        if is_outermost {
            add(Operator::OutermostRemoved, Edit::NotOutermost);
        } else if version.marks_outermost_rows() {
            add(Operator::OutermostAdded, Edit::Outermost);
        }
        for by in [8, -8] {
            add(Operator::CfaThroughout, Edit::Shift(Tracked::Cfa, by));
            add(Operator::RaThroughout, Edit::Shift(Tracked::Ra, by));
            add(Operator::FpThroughout, Edit::Shift(Tracked::Fp, by));
        }
        add(Operator::FpThroughout, Edit::KeepFp);
        if version.marks_signal_frames() {
            add(Operator::Signal, Edit::Signal(!function.signal));
        }
    }

    fn row(&mut self, function: usize, index: usize) {
        let (section, code) = (self.section, self.code);
        let of = &section.functions[function];
        let row = &of.rows[index];
        let mut add = |operator, edit| {
            self.mutations.push(Mutation { operator, function: Some(function), row: Some(index), edit });
        };
        add(Operator::RowRemoved, Edit::RemoveRow);
        if let Some(next) = of.rows.get(index + 1)
            && !same_rules(row, next)
        {
            add(Operator::RowsSwapped, Edit::SwapRows);
        }
        let at = of.start.wrapping_add(row.start.into());
        let starts = [code.before(at).filter(|start| *start >= of.start), code.after(at)];
        for start in starts.into_iter().flatten().filter_map(|start| u32::try_from(start - of.start).ok()) {
            add(Operator::RowStart, Edit::RowStart(start));
        }
        let Some(cfa) = row.cfa else { return };
        for offset in [cfa.offset + 8, cfa.offset - 8] {
            add(Operator::CfaOffset, Edit::Rule(Tracked::Cfa, RecoveryRule { offset, ..cfa }));
        }
        let neighbours = [index.checked_sub(1), Some(index + 1)];
        for other in neighbours.into_iter().flatten().filter_map(|index| of.rows.get(index)?.cfa) {
            if other.offset != cfa.offset {
                let rule = RecoveryRule { offset: other.offset, ..cfa };
                add(Operator::CfaNeighbour, Edit::Rule(Tracked::Cfa, rule));
            }
        }
        let other_base = match cfa.base {
            Base::Sp => Some(Base::Fp),
            Base::Fp => Some(Base::Sp),
            Base::Cfa | Base::Register(_) => None,
        };
        if let Some(base) = other_base {
            add(Operator::CfaBase, Edit::Rule(Tracked::Cfa, RecoveryRule { base, ..cfa }));
        }
        if let Some(CfaOffsetScaling { adjustment, factor }) = section.abi.cfa_offset_scaling() {
            // The value that a reader computes from an offset stored without adjustment.
            let rule = RecoveryRule { offset: cfa.offset * factor - adjustment, ..cfa };
            add(Operator::Scaling, Edit::Rule(Tracked::Cfa, rule));
        }
        if section.abi.signs_return_addresses() {
            add(Operator::Mangled, Edit::Mangle(!row.mangled_ra));
        }
        let saved = [
            (Tracked::Ra, row.ra, [Operator::RaOffset, Operator::RaDropped, Operator::RaAdded]),
            (Tracked::Fp, row.fp, [Operator::FpOffset, Operator::FpDropped, Operator::FpAdded]),
        ];
        for (tracked, recovery, [moved, dropped, added]) in saved {
            match recovery {
                Recovery::Rule(rule) => {
                    for offset in [rule.offset + 8, rule.offset - 8] {
                        add(moved, Edit::Rule(tracked, RecoveryRule { offset, ..rule }));
                    }
                    add(dropped, Edit::Unchanged(tracked));
                }
                Recovery::Unchanged => {
                    for offset in [-8, -16] {
                        add(added, Edit::Rule(tracked, slot(offset)));
                    }
                }
                Recovery::Undefined => {}
            }
        }
        if of.fde_type == FdeType::Flex {
            self.flex(function, index, cfa);
        }
    }

    fn flex(&mut self, function: usize, index: usize, cfa: RecoveryRule) {
        let row = &self.section.functions[function].rows[index];
        let rule = |recovery| match recovery {
            Recovery::Rule(rule) => Some(rule),
            Recovery::Unchanged | Recovery::Undefined => None,
        };
        let abi = self.section.abi;
        let number = |base| match base {
            Base::Cfa => None,
            Base::Sp => Some(abi.sp()),
            Base::Fp => Some(abi.fp()),
            Base::Register(register) => Some(register),
        };
        let mut add = |operator, edit| {
            self.mutations.push(Mutation { operator, function: Some(function), row: Some(index), edit });
        };
        for (tracked, rule) in
            [(Tracked::Cfa, Some(cfa)), (Tracked::Ra, rule(row.ra)), (Tracked::Fp, rule(row.fp))]
        {
            let Some(rule) = rule else { continue };
            let other = RecoveryRule { dereference: !rule.dereference, ..rule };
            add(Operator::FlexDereference, Edit::Rule(tracked, other));
            if let Some(register) = number(rule.base) {
                for number in [register.0.checked_sub(1), Some(register.0 + 1)].into_iter().flatten() {
                    let base = base(abi, DwarfRegister(number));
                    add(Operator::FlexRegister, Edit::Rule(tracked, RecoveryRule { base, ..rule }));
                }
            }
            let base = if rule.base == Base::Cfa || tracked == Tracked::Cfa { Base::Sp } else { Base::Cfa };
            if base != rule.base {
                add(Operator::FlexBase, Edit::Rule(tracked, RecoveryRule { base, ..rule }));
            }
        }
    }
}

fn base(abi: Abi, register: DwarfRegister) -> Base {
    if register == abi.sp() {
        Base::Sp
    } else if register == abi.fp() {
        Base::Fp
    } else {
        Base::Register(register)
    }
}

fn same_rules(one: &Row, other: &Row) -> bool {
    (one.cfa, one.ra, one.fp, one.mangled_ra) == (other.cfa, other.ra, other.fp, other.mangled_ra)
}
