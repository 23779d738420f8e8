//! Generates the section that call frame information implies.
//!
//! Everything that the version can express is written, whether assemblers do so or
//! not: rows and information agree at every PC. A function with a row that can't be
//! expressed is left out as a whole, with every reason: without that row, the one
//! before it would cover code that it does not describe.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::ops::Range;

use gimli::{CfaRule, RegisterRule};
use sframe_engine::constants::{SFRAME_F_FDE_FUNC_START_PCREL, SFRAME_F_FDE_SORTED};
use sframe_engine::write::{Function, Section, Target, WriteError, WriteErrorKind};
use sframe_engine::{
    Abi, Base, ByteOrder, FdeType, Flags, FreType, PauthKey, PcType, Recovery, RecoveryRule, Row, Version,
};

use sframe_elf::cfi::{
    CallFrameInfo, CfiError, CfiFde, CfiRow, CfiSection, Inexpressible, Rules, register_column,
};
use sframe_kit::ranges::{merge, overlap};

/// The section that call frame information implies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Synthesized {
    /// The section, with sorted functions.
    pub section: Section,
    /// The number of FDEs in the information.
    pub fdes: usize,
    /// The code that the information describes, but the section does not.
    pub left_out: Vec<Skipped>,
    /// The parts of the information that can't be read.
    pub errors: Vec<CfiError>,
}

/// A function, or a part of one, that is not in the section.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skipped {
    /// Its addresses.
    pub range: Range<u64>,
    /// All reasons. Never empty.
    pub refusals: Vec<Unsupported>,
}

/// Why a function was left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unsupported {
    /// The row that can't be expressed; `None` if it is the function itself.
    pub row: Option<RefusedRow>,
    /// The reason.
    pub reason: Reason,
}

/// A row that can't be expressed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefusedRow {
    /// Its index among the rows that the function would have.
    pub index: usize,
    /// Address of its first instruction.
    pub address: u64,
    /// Its rules as equations.
    pub rules: String,
}

/// Why something can't be expressed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Reason {
    /// The instructions of the FDE are malformed.
    #[error(transparent)]
    Malformed(CfiError),
    /// FDEs that start later cover all of the code.
    #[error("other FDEs cover the code")]
    Covered,
    /// The code is not in an executable segment.
    #[error("the code is in no executable segment")]
    NotExecutable,
    /// The function is longer than a 32-bit field can hold (2.3.1).
    #[error("{0} bytes of code don't fit in 32 bits")]
    TooLong(u64),
    /// Its return address is signed, with either key: `.debug_frame` does not say with which.
    #[error(".debug_frame does not say which key signs the return address")]
    UnknownKey,
    /// Expressions would have to be evaluated at more addresses than the limit allows.
    #[error("expressions would have to be evaluated at too many addresses")]
    TooManyAddresses,
    /// A rule that no version can express.
    #[error("{register} = {rule}")]
    Rule {
        /// `CFA`, `RA` or `FP`.
        register: &'static str,
        /// The rule.
        rule: Inexpressible,
    },
    /// The caller's FP is lost, which no row can express.
    #[error("no version can express an undefined FP")]
    FpUndefined,
    /// The caller's SP differs from the one that readers compute from the CFA (3.1).
    #[error("the caller's SP is not the one that the CFA implies")]
    Sp,
    /// The version can't express it.
    #[error("{0}")]
    Version(WriteErrorKind),
}

/// What to generate from call frame information.
#[derive(Clone, Debug)]
pub struct Synthesis<'a> {
    /// The information: that in `.eh_frame`, and that in `.debug_frame` of code that the other says nothing of.
    pub cfi: &'a CallFrameInfo,
    /// The ABI.
    pub abi: Abi,
    /// Addresses of the executable segments.
    pub executable: &'a [Range<u64>],
    /// The version to write.
    pub version: Version,
    /// The byte order.
    pub byte_order: ByteOrder,
}

/// The limit of addresses at which expressions that may depend on the PC are evaluated.
const MAX_EVALUATIONS: u64 = 1 << 25;
/// The cost of an address with other rules than the one before, in evaluations:
/// rows take memory.
const CHANGE: u64 = 1 << 6;

impl Synthesis<'_> {
    /// Returns the section. Starts are relative to what the version's assemblers
    /// and linkers use: to themselves in version 3, otherwise to the section.
    ///
    /// # Errors
    /// The version does not know the ABI, or the ABI does not have that byte order.
    pub fn synthesize(&self) -> Result<Synthesized, WriteError> {
        let fdes = self.fdes();
        let (mut parts, mut left_out) = (Vec::new(), Vec::new());
        let mut evaluations = MAX_EVALUATIONS;
        for (fde, ranges) in fdes.iter().zip(visible(&fdes)) {
            match self.parts(fde, &ranges, &mut evaluations) {
                Ok(found) => parts.extend(found),
                Err(reason) => {
                    let refusals = vec![Unsupported { row: None, reason }];
                    left_out.push(Skipped { range: fde.range.clone(), refusals });
                }
            }
        }
        parts.sort_by_key(|part| part.range.start);
        let section = self.section(&parts, &mut left_out)?;
        left_out.sort_by_key(|left_out| left_out.range.start);
        Ok(Synthesized { section, fdes: fdes.len(), left_out, errors: self.cfi.errors().to_vec() })
    }

    /// The FDEs that count. Compilers may write both sections, and `.eh_frame` is the one that is used at run time.
    fn fdes(&self) -> Vec<&CfiFde> {
        let is_loaded = |fde: &CfiFde| fde.section == CfiSection::EhFrame;
        let all = self.cfi.fdes();
        let loaded = merge(all.iter().filter(|fde| is_loaded(fde)).map(|fde| fde.range.clone()).collect());
        all.iter().filter(|fde| is_loaded(fde) || !overlap(&loaded, &fde.range)).collect()
    }

    /// Returns what an FDE says about the ranges in which it applies.
    fn parts(
        &self,
        fde: &CfiFde,
        ranges: &[Range<u64>],
        evaluations: &mut u64,
    ) -> Result<Vec<FunctionPart>, Reason> {
        let is_code = |segment: &Range<u64>| segment.start <= fde.range.start && fde.range.end <= segment.end;
        if !self.executable.iter().any(is_code) {
            return Err(Reason::NotExecutable);
        }
        if ranges.is_empty() {
            return Err(Reason::Covered);
        }
        let len = fde.range.end - fde.range.start;
        u32::try_from(len).map_err(|_| Reason::TooLong(len))?;
        let rows = self.cfi.rows(fde).map_err(Reason::Malformed)?;
        if fde.says_key_b().is_none() && rows.iter().any(|row| row.signed) {
            return Err(Reason::UnknownKey);
        }
        let mut parts = Vec::new();
        for range in ranges {
            let mut part = FunctionPart::new(fde, range.start);
            let first = rows.partition_point(|row| row.range.end <= range.start);
            for row in rows[first..].iter().take_while(|row| row.range.start < range.end) {
                let within = row.range.start.max(range.start)..row.range.end.min(range.end);
                let spans = self.spans(row, within.clone(), evaluations)?;
                let block = if self.version.has_rep_size() { block(&spans, &within) } else { None };
                match block {
                    Some((count, size)) => {
                        parts.extend(part.until(within.start));
                        let repeated =
                            FunctionPart { block: Some(size), ..FunctionPart::new(fde, within.start) };
                        parts.extend(
                            FunctionPart { spans: spans[..count].to_vec(), ..repeated }.until(within.end),
                        );
                        part = FunctionPart::new(fde, within.end);
                    }
                    None => part.spans.extend(spans),
                }
            }
            parts.extend(part.until(range.end));
        }
        Ok(parts)
    }

    /// Returns the rules in a range within a row; there are several if they depend
    /// on the PC.
    fn spans(&self, row: &CfiRow, range: Range<u64>, evaluations: &mut u64) -> Result<Vec<Span>, Reason> {
        let mut spans = vec![self.span(row, range.start)];
        // On other ABIs the return address column is a register, and never the PC.
        if !self.abi.has_link_register() && has_expression(row, self.abi) {
            let others = range.end - range.start - 1;
            *evaluations = evaluations.checked_sub(others).ok_or(Reason::TooManyAddresses)?;
            for pc in range.skip(1) {
                let span = self.span(row, pc);
                if spans.last().is_some_and(|last| last.says != span.says) {
                    *evaluations = evaluations.checked_sub(CHANGE).ok_or(Reason::TooManyAddresses)?;
                    spans.push(span);
                }
            }
        }
        Ok(spans)
    }

    fn span(&self, row: &CfiRow, pc: u64) -> Span {
        let rules = self.cfi.rules(row, pc);
        Span { start: pc, says: SpanRules { rules, sp_follows: self.sp_follows(row, &rules, pc) } }
    }

    /// Whether the caller's SP is what readers assume: the CFA, or 160 bytes below
    /// it on s390x (3.1.3).
    fn sp_follows(&self, row: &CfiRow, rules: &Rules, pc: u64) -> bool {
        let sp = row.register(register_column(self.abi.sp()));
        let Some(rule) = sp else { return true };
        // The ABI requires callees to preserve it, so the slot or register holds it in any
        // case.
        let is_saved = matches!(rule, RegisterRule::Offset(_) | RegisterRule::Register(_));
        if self.abi.saves_in_registers() && is_saved {
            return true;
        }
        // `rules` does not evaluate SP, so its rule takes the place of RA's.
        let mut of_sp = row.clone();
        of_sp.ra = Some(rule.clone());
        let found = match (rule, self.cfi.rules(&of_sp, pc).ra) {
            (RegisterRule::SameValue, _) => RecoveryRule { base: Base::Sp, offset: 0, dereference: false },
            (_, Ok(Recovery::Rule(found))) => found,
            _ => return false,
        };
        let offset = self.abi.sp_offset_from_cfa();
        let is_known = |cfa: RecoveryRule| {
            let sum = RecoveryRule { offset: cfa.offset.wrapping_add(offset), ..cfa };
            found == sum && (offset == 0 || !cfa.dereference)
        };
        found == RecoveryRule { base: Base::Cfa, offset, dereference: false } || rules.cfa.is_ok_and(is_known)
    }

    /// Returns the section with the parts that the version can express: as default
    /// FDEs if possible, otherwise as flex FDEs.
    fn section(&self, parts: &[FunctionPart], left_out: &mut Vec<Skipped>) -> Result<Section, WriteError> {
        let mut flags = SFRAME_F_FDE_SORTED;
        // Assemblers wrote versions 1 and 2 without it.
        if self.version.has_erratum_1() == Some(true) {
            flags |= SFRAME_F_FDE_FUNC_START_PCREL;
        }
        let empty = Section {
            version: self.version,
            flags: Flags(flags),
            abi: self.abi,
            fixed_fp_offset: None,
            fixed_ra_offset: self.abi.fixed_ra_offset(),
            auxiliary: Vec::new(),
            functions: Vec::new(),
        };
        let target = Target { version: self.version, byte_order: self.byte_order };
        let (mut tried, mut functions) = (Vec::new(), Vec::new());
        for part in parts {
            match part.function(FdeType::Default, self) {
                Ok(function) => {
                    functions.push(Function { rows_position: position(tried.len()), ..function });
                    tried.push(part);
                }
                Err(refusals) => left_out.push(Skipped { range: part.range.clone(), refusals }),
            }
        }
        let mut done = Section { functions, ..empty.clone() }.convert(target)?;
        let mut refused = std::mem::take(&mut done.left_out);
        if self.version.has_flex_fdes() {
            let again: Vec<&FunctionPart> = refused.iter().map(|gone| tried[gone.function]).collect();
            let functions = (0..).zip(&again).filter_map(|(index, part)| {
                let function = part.function(FdeType::Flex, self).ok()?;
                Some(Function { rows_position: index, ..function })
            });
            let flex = Section { functions: functions.collect(), ..empty }.convert(target)?;
            done.section.functions.extend(flex.section.functions);
            (tried, refused) = (again, flex.left_out);
        }
        for gone in refused {
            let part = tried[gone.function];
            let refusals = gone.errors.iter().map(|error| part.refusal(error, self)).collect();
            left_out.push(Skipped { range: part.range.clone(), refusals });
        }
        let mut section = done.section;
        section.functions.sort_by_key(|function| function.start);
        for (index, function) in section.functions.iter_mut().enumerate() {
            function.rows_position = position(index);
        }
        Ok(section)
    }
}

/// Returns a function's position. At most 2^32 functions have one: the writer
/// refuses the rest.
fn position(index: usize) -> u32 {
    u32::try_from(index).unwrap_or(u32::MAX)
}

/// Code with the rules of one FDE, as one function of a section could hold them.
#[derive(Clone, Debug)]
struct FunctionPart {
    range: Range<u64>,
    is_signal: bool,
    key_b: bool,
    /// Size of the repeated block, if the spans are those of one.
    block: Option<u8>,
    spans: Vec<Span>,
}

/// Rules that apply from an address on.
#[derive(Clone, Copy, Debug)]
struct Span {
    start: u64,
    says: SpanRules,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct SpanRules {
    rules: Rules,
    sp_follows: bool,
}

impl FunctionPart {
    fn new(fde: &CfiFde, start: u64) -> Self {
        let (is_signal, key_b) = (fde.is_signal, fde.key_b);
        Self { range: start..start, is_signal, key_b, block: None, spans: Vec::new() }
    }

    /// Returns the part with its end, or `None` if it is empty.
    fn until(mut self, end: u64) -> Option<Self> {
        self.spans.dedup_by_key(|span| span.says);
        self.range = self.spans.first()?.start..end;
        Some(self)
    }

    /// Returns the function for a section, or why it can't be expressed.
    fn function(&self, fde_type: FdeType, to: &Synthesis<'_>) -> Result<Function, Vec<Unsupported>> {
        let (mut rows, mut refusals): (Vec<Row>, _) = (Vec::new(), Vec::new());
        let offset = |address: u64| u32::try_from(address - self.range.start).unwrap_or(u32::MAX);
        let size = offset(self.range.end);
        let end = self.block.map_or(size, u32::from);
        for span in &self.spans {
            match row(&span.says, fde_type, to.abi) {
                // Rules may differ in form only.
                Ok(row) if rows.last().is_some_and(|last| says_same(last, &row)) => {}
                Ok(row) => rows.push(Row { start: offset(span.start), end, ..row }),
                Err(reason) => refusals.push(self.refused(rows.len() + refusals.len(), span, reason)),
            }
        }
        if !refusals.is_empty() {
            return Err(refusals);
        }
        for index in 1..rows.len() {
            rows[index - 1].end = rows[index].start;
        }
        let fre_type = match rows.last().map_or(0, |row| row.start) {
            0..=0xff => FreType::Addr1,
            0x100..=0xffff => FreType::Addr2,
            _ => FreType::Addr4,
        };
        if to.version.marks_outermost_functions() && !self.is_signal && rows.iter().all(Row::is_outermost) {
            rows.clear();
        }
        Ok(Function {
            start: self.range.start,
            size,
            fre_type: Some(fre_type),
            pc_type: if self.block.is_some() { PcType::Mask } else { PcType::Inc },
            fde_type,
            pauth_key: if self.key_b { PauthKey::B } else { PauthKey::A },
            signal: self.is_signal,
            rep_size: to.version.has_rep_size().then(|| self.block.unwrap_or(0)),
            rows_position: 0,
            rows,
            wide_rows: BTreeMap::new(),
        })
    }

    fn refused(&self, index: usize, span: &Span, reason: Reason) -> Unsupported {
        let rules = span.says.rules.to_string();
        Unsupported { row: Some(RefusedRow { index, address: span.start, rules }), reason }
    }

    /// Translates a refusal of the writer into terms of the information.
    fn refusal(&self, error: &WriteError, to: &Synthesis<'_>) -> Unsupported {
        let reason = Reason::Version(error.kind);
        let span = || {
            let function = self.function(FdeType::Default, to).ok()?;
            let start = self.range.start + u64::from(function.rows.get(error.row?)?.start);
            Some((error.row?, self.spans.iter().find(|span| span.start == start)?))
        };
        match span() {
            Some((index, span)) => self.refused(index, span, reason),
            None => Unsupported { row: None, reason },
        }
    }
}

fn says_same(one: &Row, other: &Row) -> bool {
    (one.cfa, one.ra, one.fp, one.mangled_ra) == (other.cfa, other.ra, other.fp, other.mangled_ra)
}

/// Returns a row with the start 0.
fn row(says: &SpanRules, fde_type: FdeType, abi: Abi) -> Result<Row, Reason> {
    let SpanRules { rules, sp_follows } = says;
    let undefined = Recovery::Undefined;
    if rules.ra == Ok(undefined) {
        return Ok(Row { start: 0, end: 0, cfa: None, ra: undefined, fp: undefined, mangled_ra: false });
    }
    let refuse = |register| move |rule| Reason::Rule { register, rule };
    let cfa = rules.cfa.map_err(refuse("CFA"))?;
    let ra = rules.ra.map_err(refuse("RA"))?;
    let fp = rules.fp.map_err(refuse("FP"))?;
    if fp == undefined {
        return Err(Reason::FpUndefined);
    }
    if !sp_follows {
        return Err(Reason::Sp);
    }
    let ra = plain(ra, &cfa, abi.ra().map(Base::Register), fde_type);
    let fp = plain(fp, &cfa, Some(Base::Fp), fde_type);
    Ok(Row { start: 0, end: 0, cfa: Some(cfa), ra, fp, mangled_ra: rules.signed })
}

/// Returns a rule in a form that the FDE type can express, if there is one with the
/// same value. `own` is the register that the rule is about.
fn plain(recovery: Recovery, cfa: &RecoveryRule, own: Option<Base>, fde_type: FdeType) -> Recovery {
    let Recovery::Rule(mut rule) = recovery else { return recovery };
    if !cfa.dereference && rule.base == Base::Cfa && !rule.dereference {
        // A control word would be 0, which is padding (3.2).
        rule = RecoveryRule { offset: rule.offset.wrapping_add(cfa.offset), ..*cfa };
    } else if !cfa.dereference && rule.base == cfa.base && rule.dereference && fde_type == FdeType::Default {
        // Slots are found from the CFA (3.1).
        rule = RecoveryRule { base: Base::Cfa, offset: rule.offset.wrapping_sub(cfa.offset), ..rule };
    }
    if Some(rule.base) == own && rule.offset == 0 && !rule.dereference {
        return Recovery::Unchanged;
    }
    Recovery::Rule(rule)
}

/// Returns where each FDE applies: if several overlap, the one that starts last,
/// and of those with the same start the first. They are sorted by start.
fn visible(fdes: &[&CfiFde]) -> Vec<Vec<Range<u64>>> {
    // What later FDEs cover: disjoint, the lowest one last.
    let mut covered: Vec<Range<u64>> = Vec::new();
    let mut all = vec![Vec::new(); fdes.len()];
    let mut behind = fdes.len();
    while let Some(last) = behind.checked_sub(1) {
        let start = fdes[last].range.start;
        let first = fdes[..last].partition_point(|fde| fde.range.start < start);
        for (fde, ranges) in fdes[first..behind].iter().zip(&mut all[first..behind]) {
            let mut at = start;
            while let Some(other) = covered.pop_if(|other| other.start <= fde.range.end) {
                if at < other.start {
                    ranges.push(at..other.start);
                }
                at = at.max(other.end);
            }
            if at < fde.range.end {
                ranges.push(at..fde.range.end);
            }
            covered.push(start..at.max(fde.range.end));
        }
        behind = first;
    }
    all
}

/// Returns the repeated block in the spans of a row: its number of spans and its
/// size. Only a block is returned that readers find whether they use the PC, as the
/// text says, or the offset (2.3.3.1).
fn block(spans: &[Span], range: &Range<u64>) -> Option<(usize, u8)> {
    // Two rows are as good as a block of two.
    (1..spans.len()).filter(|_| spans.len() > 2).find_map(|count| {
        let size = spans[count].start - range.start;
        let byte = u8::try_from(size).ok()?;
        let mut pairs = spans.iter().zip(&spans[count..]);
        let repeats = pairs.all(|(one, next)| one.says == next.says && next.start - one.start == size);
        let is_whole = spans.len().is_multiple_of(count) && (range.end - range.start).is_multiple_of(size);
        (repeats && is_whole && range.start.is_multiple_of(size)).then_some((count, byte))
    })
}

/// Whether any of a row's rules that SFrame has may depend on the PC.
fn has_expression(row: &CfiRow, abi: Abi) -> bool {
    let fp = row.register(register_column(abi.fp()));
    let is_expression = |rule: &RegisterRule<usize>| {
        matches!(rule, RegisterRule::Expression(_) | RegisterRule::ValExpression(_))
    };
    matches!(row.cfa, CfaRule::Expression(_))
        || [row.ra.as_ref(), fp].into_iter().flatten().any(is_expression)
}
