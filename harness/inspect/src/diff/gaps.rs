//! Code of a function that no FDE covers, although one covers other code of the function.
//!
//! A look-up there finds nothing, and the walk ends as if the code were unknown to the section. A function
//! that has no FDE at all is something else: assemblers leave out what they can't express.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;

use sframe_engine::{Abi, Fde, Section};

use super::pieces::{Functions, Piece, pieces};
use super::reason::{Maker, reason_to_leave_out};
use sframe_elf::cfi::{CallFrameInfo, CfiFde, CfiSection};
use sframe_elf::merge_faults::MergeFault;
use sframe_elf::object_file::ObjectFile;
use sframe_isa::{Disassembly, Instruction, Operation};

/// Addresses without an FDE, in a function that has one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gap {
    /// The addresses.
    pub range: Range<u64>,
    /// The whole function, by [`Self::cfi`] or by its symbol.
    pub function: Range<u64>,
    /// The FDE that should cover them: the one that ends too early, or else the one that starts too late.
    pub fde: Fde,
    /// The FDE of call frame information that covers them. `None` if no FDE covers any of the function, and
    /// its symbol says how far it extends.
    pub cfi: Option<(CfiSection, usize)>,
    /// Who has written the code.
    pub maker: Maker,
    /// Where instructions can be read from: at the start of one, before the gap.
    origin: u64,
}

/// The instructions of a gap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GapCode {
    /// The first one.
    pub first: u64,
    /// The last one.
    pub last: u64,
    /// Their number.
    pub count: u64,
    /// The instruction before the first one, if the function has one.
    pub before: Option<u64>,
    /// Whether it is known that they are the function's. A symbol also covers data, and code whose author
    /// ended its CFI before it. So where only a symbol says that the code belongs to the function, control
    /// must come from its entry, or from the code before the gap: from there on, or by a jump.
    pub is_entered: bool,
}

/// The maximum length of an instruction, in bytes.
const MAX_INSTRUCTION: u64 = 16;

impl Gap {
    /// Whether the FDE ends too early. Otherwise it starts too late.
    #[must_use]
    pub const fn is_behind(&self) -> bool {
        self.fde.start < self.range.end
    }

    /// Returns what the function's extent is known from.
    #[must_use]
    pub fn known_from(&self) -> &'static str {
        self.cfi.map_or("its symbol", |(section, _)| section.name())
    }

    /// Returns the addresses of the bytes that [`Self::code`] needs. Those that do not exist may be left out
    /// at the end.
    #[must_use]
    pub const fn needs(&self) -> Range<u64> {
        self.origin..self.range.end.saturating_add(MAX_INSTRUCTION)
    }

    /// Returns the instructions of the gap that a walk can meet: those that are more than padding, and calls
    /// that end there, whose return addresses are looked up at their last byte. `bytes` are those of
    /// [`Self::needs`]. `None` if there are no instructions, or if it is not known that they are the
    /// function's.
    #[must_use]
    pub fn code(&self, abi: Abi, bytes: &[u8]) -> Option<GapCode> {
        self.code_of_any(abi, bytes).filter(|code| code.is_entered)
    }

    /// Returns the same, also if it is not known that they are the function's.
    #[must_use]
    pub fn code_of_any(&self, abi: Abi, bytes: &[u8]) -> Option<GapCode> {
        self.instructions(abi, bytes, |instruction| instruction.operation != Operation::Nop)
    }

    /// Returns the same where code has executed: that is no padding, whatever it does.
    #[must_use]
    pub fn executed_code(&self, abi: Abi, bytes: &[u8]) -> Option<GapCode> {
        self.instructions(abi, bytes, |_| true)
    }

    fn instructions(
        &self,
        abi: Abi,
        bytes: &[u8],
        is_code: impl Fn(&Instruction) -> bool,
    ) -> Option<GapCode> {
        let mut found: Option<GapCode> = None;
        let mut before = None;
        let mut is_entered = self.cfi.is_some() || self.range.start == self.function.start;
        Disassembly::each(abi, [(self.origin, bytes)], |pc, instruction| {
            let last_byte = pc.saturating_add(instruction.len.max(1) - 1);
            let is_cut = pc < self.range.start && self.range.contains(&last_byte);
            let is_met = match self.range.contains(&pc) {
                true => is_code(instruction),
                false => instruction.is_call() && is_cut,
            };
            if is_met {
                let code = found.get_or_insert(GapCode { first: pc, last: pc, count: 0, before, is_entered });
                code.last = pc;
                code.count += 1;
            }
            is_entered |= is_cut || pc < self.range.start && self.is_led_to(instruction, last_byte);
            before = Some(pc);
        });
        found.map(|code| GapCode { is_entered, ..code })
    }

    /// Whether an instruction before the gap leads to it. A call may never return.
    fn is_led_to(&self, instruction: &Instruction, last_byte: u64) -> bool {
        let goes_on = last_byte.saturating_add(1) == self.range.start && instruction.falls_through();
        goes_on && !instruction.is_call()
            || instruction.target().is_some_and(|target| self.range.contains(&target))
    }
}

impl fmt::Display for Gap {
    /// Says how the FDE and the function differ, in bytes from the start of the function.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let offset = |address: u64| Offset(address.wrapping_sub(self.function.start).cast_signed());
        let known = self.known_from();
        if self.is_behind() {
            let (end, of_function) = (end(&self.fde), self.function.end);
            write!(
                f,
                "the function's FDE ends at {}, by {known} it ends at {}",
                offset(end),
                offset(of_function)
            )
        } else {
            write!(f, "the function's FDE starts at {}, by {known} it starts at +0x0", offset(self.fde.start))
        }
    }
}

/// A signed number of bytes.
struct Offset(i64);

impl fmt::Display for Offset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{:#x}", if self.0 < 0 { '-' } else { '+' }, self.0.unsigned_abs())
    }
}

/// All gaps of a section.
#[derive(Clone, Debug, Default)]
pub struct Gaps(Vec<Gap>);

impl Gaps {
    /// Finds the gaps of a file's section, whose addresses are to be those of the file. `cfi` is the file's
    /// call frame information, where there is any.
    #[must_use]
    pub fn of(subject: &ObjectFile<'_>, section: &Section<'_>, cfi: Option<&CallFrameInfo>) -> Self {
        let faults = subject.merge_faults(section);
        let functions = Functions::sound(section, &faults);
        let nothing = CallFrameInfo::none(section.header().abi);
        let cfi = cfi.unwrap_or(&nothing);
        let pieces = pieces(section, &functions, cfi, !subject.is_relocatable());
        Search { subject, section, functions: &functions, faults: &faults, cfi, pieces: &pieces }.gaps()
    }

    /// Returns the gap that contains an address: that of an instruction, or the last byte of a call.
    #[must_use]
    pub fn at(&self, address: u64) -> Option<&Gap> {
        let behind = self.0.partition_point(|gap| gap.range.start <= address);
        self.0.get(behind.checked_sub(1)?).filter(|gap| gap.range.contains(&address))
    }

    /// Returns all of them, sorted by address.
    pub fn iter(&self) -> impl Iterator<Item = &Gap> {
        self.0.iter()
    }
}

/// What gaps are found from.
pub(super) struct Search<'s> {
    pub(super) subject: &'s ObjectFile<'s>,
    pub(super) section: &'s Section<'s>,
    pub(super) functions: &'s Functions,
    pub(super) faults: &'s [MergeFault],
    pub(super) cfi: &'s CallFrameInfo,
    pub(super) pieces: &'s [Piece],
}

impl Search<'_> {
    pub(super) fn gaps(&self) -> Gaps {
        let mut gaps = self.by_cfi();
        gaps.extend(self.by_symbols());
        gaps.sort_by_key(|gap| gap.range.start);
        Gaps(gaps)
    }

    /// Gaps of functions with call frame information.
    fn by_cfi(&self) -> Vec<Gap> {
        let owned = self.owned();
        let mut gaps: Vec<Gap> = Vec::new();
        let mut before: Option<&Piece> = None;
        for piece in self.pieces {
            let of = piece.cfi.filter(|_| piece.sframe.is_none());
            if let Some((position, own)) = of.and_then(|position| Some((position, owned.get(&position)?)))
                && let Some(function) = self.cfi.fdes().get(position)
                && let Some(fde) = nearest(own, &piece.range)
            {
                let is_next =
                    |before: &&Piece| before.cfi == piece.cfi && before.range.end == piece.range.start;
                gaps.push(Gap {
                    range: piece.range.clone(),
                    function: function.range.clone(),
                    fde,
                    cfi: Some((function.section, function.offset)),
                    maker: Maker::of(self.subject, piece.range.start),
                    origin: before.filter(is_next).map_or(piece.range.start, |before| before.range.start),
                });
            }
            before = Some(piece);
        }
        gaps
    }

    /// The section's FDEs of each function that has call frame information, by its position there.
    fn owned(&self) -> BTreeMap<usize, Vec<Fde>> {
        let mut owned: BTreeMap<usize, Vec<Fde>> = BTreeMap::new();
        let both = self.pieces.iter().filter_map(|piece| piece.sframe.zip(piece.cfi));
        for (sframe, position) in both {
            let fde = self.functions.fdes.get(sframe);
            let function = self.cfi.fdes().get(position);
            if let Some((fde, _)) = fde.zip(function).filter(|(fde, function)| self.is_of(fde, function)) {
                owned.entry(position).or_default().push(*fde);
            }
        }
        for fde in self.functions.fdes.iter().filter(|fde| fde.size == 0) {
            let position = self.cfi_starting_at(fde.start);
            let function = position.and_then(|position| self.cfi.fdes().get(position));
            if let Some((position, _)) = position.zip(function).filter(|(_, cfi)| self.is_expected(cfi)) {
                owned.entry(position).or_insert_with(|| vec![*fde]);
            }
        }
        owned.retain(|position, _| {
            let start = self.cfi.fdes().get(*position).map_or(0, |fde| fde.range.start);
            !self.faults.iter().any(|fault| fault.has_lost(start))
        });
        owned
    }

    /// Whether an FDE that overlaps a function was written for it: it starts with it, or with no function at
    /// all.
    fn is_of(&self, fde: &Fde, function: &CfiFde) -> bool {
        match self.cfi_starting_at(fde.start).and_then(|own| self.cfi.fdes().get(own)) {
            Some(own) => own.range.start == function.range.start,
            None => function.range.contains(&fde.start) || fde.contains(function.range.start),
        }
    }

    /// The first function with call frame information that starts at an address.
    fn cfi_starting_at(&self, start: u64) -> Option<usize> {
        let fdes = self.cfi.fdes();
        let first = fdes.partition_point(|fde| fde.range.start < start);
        fdes.get(first).filter(|fde| fde.range.start == start).map(|_| first)
    }

    /// Whether assemblers write an FDE for a function. An FDE of size 0 at the start of one that they leave
    /// out is that of an empty part of another.
    fn is_expected(&self, function: &CfiFde) -> bool {
        let header = self.section.header();
        let maker = Maker::of(self.subject, function.range.start);
        reason_to_leave_out(self.cfi, function, header.version, header.abi, maker).is_none()
    }

    /// Gaps of functions whose symbols have a size: of those without call frame information, and of others
    /// between two FDEs, where that information has the same gap.
    fn by_symbols(&self) -> Vec<Gap> {
        let symbols = self.subject.symbols.sized_functions();
        // Those of PLTs are made up.
        let symbols = symbols.filter(|range| Maker::of(self.subject, range.start) == Maker::Assembler);
        let symbols: Vec<_> = symbols.collect();
        let starts = |start: u64| symbols.binary_search_by_key(&start, |range| range.start).is_ok();
        let mut gaps = Vec::new();
        for (position, symbol) in symbols.iter().enumerate() {
            let next = symbols.get(position + 1).map_or(u64::MAX, |next| next.start);
            let function = symbol.start..symbol.end.min(next);
            let first = self.pieces.partition_point(|piece| piece.range.end <= function.start);
            let inside = self.pieces.get(first..).unwrap_or_default();
            let inside = inside.iter().take_while(|piece| piece.range.start < function.end);
            let is_lost = self.faults.iter().any(|fault| fault.has_lost(function.start));
            if is_lost {
                continue;
            }
            let has_cfi = inside.clone().any(|piece| piece.cfi.is_some());
            let own = inside.clone().filter_map(|piece| self.functions.fdes.get(piece.sframe?));
            let own = own.filter(|fde| fde.start == function.start || !starts(fde.start));
            let own: Vec<Fde> = own.copied().collect();
            let mut at = function.start;
            let mut origin = at;
            let ends =
                inside.map(|piece| piece.range.clone()).chain(std::iter::once(function.end..function.end));
            for covered in ends {
                let range = at..covered.start;
                let is_between = own.iter().any(|fde| fde.start < range.start)
                    && own.iter().any(|fde| range.end <= fde.start);
                if let Some(fde) =
                    nearest(&own, &range).filter(|_| at < covered.start && (is_between || !has_cfi))
                {
                    let function = function.clone();
                    gaps.push(Gap { range, function, fde, cfi: None, maker: Maker::Assembler, origin });
                }
                origin = covered.start.max(function.start);
                at = covered.end;
            }
        }
        gaps
    }
}

/// Returns the FDE that ends before a gap, or else the one that starts after it.
fn nearest(fdes: &[Fde], gap: &Range<u64>) -> Option<Fde> {
    let before = fdes.iter().filter(|fde| fde.start < gap.end).max_by_key(|fde| fde.start);
    before.or_else(|| fdes.iter().min_by_key(|fde| fde.start)).copied()
}

fn end(fde: &Fde) -> u64 {
    fde.start.saturating_add(fde.size.into())
}
