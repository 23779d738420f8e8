//! `simple-frame-rs` as an unwinder. The crate finds functions and rows, and
//! decodes their data words; this file uses that as the crate's example and
//! documentation say, for all ABIs.

use fallible_iterator::FallibleIterator as _;
use sframe_adapters::{Roles, frame, register, roles, strip, unreadable};
use sframe_protocol::{
    Address, Backtrace, End, EndKind, Hello, MAX_FRAMES, Mangled, Memory, Open, SectionAnswer, SectionPart,
    SectionQuestion, Stop, Unwinder, serve,
};
use sframe_vectors::{
    Abi, Address as Number, Answer, Base as EquationBase, Equation, Fde, FdeType, FreType, Lookup, PauthKey,
    PcType, Recovery as RowRecovery, Reject, RejectKind, Row, Rules as RowRules, Tracked,
};
use simple_frame_rs::{SFrameError, SFrameFDE, SFrameFRE, SFrameSection, v3};

#[derive(Default)]
struct SimpleFrame {
    open: Option<Open>,
    sections: Vec<Option<Vec<u8>>>,
}

fn main() -> std::io::Result<()> {
    serve(SimpleFrame::default())
}

/// What the crate says about a row.
enum Meaning {
    /// A row without data words of version 3: the crate prints it as "RA
    /// undefined".
    RaUndefined,
    Rules(Rules),
}

/// A row's rules, as the crate reports them.
struct Rules {
    cfa: Rule,
    ra: Recovery,
    fp: Recovery,
}

#[derive(Clone, Copy)]
enum Base {
    Cfa,
    Register(u32),
}

#[derive(Clone, Copy)]
struct Rule {
    base: Base,
    offset: i64,
    dereference: bool,
}

#[derive(Clone, Copy)]
enum Recovery {
    /// It is still in the register.
    Unchanged,
    Rule(Rule),
}

/// The result of a look-up.
enum Found {
    NoFde,
    NoRow,
    Row(Meaning, Option<PauthKey>, bool),
}

fn find(section: &SFrameSection<'_>, abi: Abi, pc: u64) -> Result<Found, SFrameError> {
    let Some(fde) = section.find_fde(pc)? else { return Ok(Found::NoFde) };
    let Some(fre) = fde.find_fre(section, pc)? else { return Ok(Found::NoRow) };
    let key = if is_mangled(&fre) { Some(key(&fde)?) } else { None };
    Ok(Found::Row(meaning(section, abi, &fde, &fre)?, key, is_signal(&fde)?))
}

/// The common interface of the crate's types for each version.
macro_rules! each {
    ($of:expr, $type:ident, $it:ident => $what:expr) => {
        match $of {
            $type::V1($it) => $what,
            $type::V2($it) => $what,
            $type::V3($it) => $what,
        }
    };
}

/// Evaluates an expression for a section and a function in it, whatever their version.
macro_rules! both {
    ($section:expr, $fde:expr, ($a:ident, $b:ident) => $what:expr) => {
        match ($section, $fde) {
            (SFrameSection::V1($a), SFrameFDE::V1($b)) => $what,
            (SFrameSection::V2($a), SFrameFDE::V2($b)) => $what,
            (SFrameSection::V3($a), SFrameFDE::V3($b)) => $what,
            _ => return Err(SFrameError::UnsupportedVersion),
        }
    };
}

fn key(fde: &SFrameFDE) -> Result<PauthKey, SFrameError> {
    let key = each!(fde, SFrameFDE, it => it.func_info.get_aarch64_pauth_key()? as u8);
    Ok(if key == 0 { PauthKey::A } else { PauthKey::B })
}

fn is_mangled(fre: &SFrameFRE) -> bool {
    each!(fre, SFrameFRE, it => it.info.get_mangled_ra_p())
}

fn is_signal(fde: &SFrameFDE) -> Result<bool, SFrameError> {
    match fde {
        SFrameFDE::V3(fde) => fde.func_info.is_signal_frame(),
        _ => Ok(false),
    }
}

/// Whether rows repeat.
fn is_mask(fde: &SFrameFDE) -> Result<bool, SFrameError> {
    let pc_type = match fde {
        SFrameFDE::V1(fde) => fde.func_info.get_fde_type()? as u8,
        SFrameFDE::V2(fde) => fde.func_info.get_fde_type()? as u8,
        SFrameFDE::V3(fde) => fde.func_info.get_fde_pctype()? as u8,
    };
    Ok(pc_type != 0)
}

fn meaning(
    section: &SFrameSection<'_>,
    abi: Abi,
    fde: &SFrameFDE,
    fre: &SFrameFRE,
) -> Result<Meaning, SFrameError> {
    if let (SFrameSection::V3(section), SFrameFDE::V3(fde), SFrameFRE::V3(fre)) = (section, fde, fre) {
        let fde_type = fde.get_fde_type()?;
        if fre.stack_offsets.is_empty() {
            return Ok(Meaning::RaUndefined);
        }
        if matches!(fde_type, v3::SFrameFDEType::Flex) {
            let rules = fre.get_flex_recovery_rules().ok_or(SFrameError::UnexpectedEndOfData)?;
            return Ok(Meaning::Rules(Rules {
                cfa: flexible(&rules.cfa),
                ra: recovery(rules.ra.as_ref(), section.get_cfa_fixed_ra_offset()),
                fp: recovery(rules.fp.as_ref(), section.get_cfa_fixed_fp_offset()),
            }));
        }
    }
    let Roles { sp, fp, .. } = roles(abi);
    // A row of versions 1 and 2 without data words has no CFA: the crate says nothing else
    // about it, and can't print it.
    let offset = fre.get_cfa_offset(section)?.ok_or(SFrameError::UnexpectedEndOfData)?;
    let base = Base::Register(if fre.get_cfa_base_reg_id() == 0 { fp } else { sp });
    // The crate's documentation about the offsets of s390x.
    let saved = |offset: i32| match offset {
        offset if abi.saves_in_registers() && v3::s390x::offset_is_regnum(offset) => Recovery::Rule(Rule {
            base: Base::Register(v3::s390x::offset_decode_regnum(offset).cast_unsigned()),
            offset: 0,
            dereference: false,
        }),
        offset => at_cfa(offset.into()),
    };
    let ra = match fre.get_ra_offset(section)? {
        None => Recovery::Unchanged,
        Some(v3::s390x::SFRAME_FRE_RA_OFFSET_INVALID) if abi.saves_in_registers() => Recovery::Unchanged,
        Some(offset) => saved(offset),
    };
    Ok(Meaning::Rules(Rules {
        cfa: Rule { base, offset: offset.into(), dereference: false },
        ra,
        fp: fre.get_fp_offset(section)?.map_or(Recovery::Unchanged, saved),
    }))
}

/// A flexible rule as the crate documents it: base register or CFA, an offset
/// that is added to it, and whether the value is loaded from there.
fn flexible(rule: &v3::SFrameFlexRecoveryRule) -> Rule {
    Rule {
        base: match rule.control.reg_p() {
            true => Base::Register(rule.control.regnum().cast_unsigned()),
            false => Base::Cfa,
        },
        offset: rule.offset.into(),
        dereference: rule.control.deref_p(),
    }
}

/// No rule, or padding: "the fixed offsets apply or the entity is absent".
fn recovery(rule: Option<&v3::SFrameFlexRecoveryRule>, fixed: i8) -> Recovery {
    match rule {
        Some(rule) if !rule.control.is_padding() => Recovery::Rule(flexible(rule)),
        _ if fixed != 0 => at_cfa(fixed.into()),
        _ => Recovery::Unchanged,
    }
}

const fn at_cfa(offset: i64) -> Recovery {
    Recovery::Rule(Rule { base: Base::Cfa, offset, dereference: true })
}

fn malformed(error: &SFrameError) -> End {
    End::with_message(EndKind::Malformed, error.to_string())
}

/// The number of consecutive frames in which calls may have left SP alone, where the return
/// address is in a register.
const SAME_SP: u32 = 8;

impl SimpleFrame {
    fn walk(&self, open: &Open, stop: &Stop, memory: &mut Memory<'_>) -> Backtrace {
        let Roles { sp: sp_number, fp: fp_number, ra: ra_number } = roles(open.abi);
        let mut sp = register(stop, sp_number);
        let mut fp = Ok(register(stop, fp_number));
        let (mut pc, mut is_return) = (stop.pc.0, false);
        let mut frames = Vec::new();
        let mut same_sp = 0;
        let end = loop {
            let is_topmost = frames.is_empty();
            let mut this = frame(pc, None, fp);
            this.interrupted = Some(!is_return);
            if frames.len() == MAX_FRAMES - 1 {
                frames.push(this);
                break End::of(EndKind::TooDeep);
            }
            let address = if is_return { pc.wrapping_sub(1) } else { pc };
            let found = self.find(open, address);
            let (rules, mangled, signal) = match found {
                Ok(Found::Row(Meaning::Rules(rules), mangled, signal)) => (rules, mangled, signal),
                other => {
                    frames.push(this);
                    break match other {
                        Ok(Found::NoFde) => End::of(EndKind::NoFde),
                        Ok(Found::NoRow) => End::of(EndKind::NoRow),
                        Ok(_) => End::of(EndKind::Outermost),
                        Err(error) => malformed(&error),
                    };
                }
            };
            let base = |base: Base, cfa: u64| match base {
                Base::Cfa => Ok(cfa),
                Base::Register(number) if number == sp_number => Ok(sp),
                Base::Register(number) if number == fp_number => Ok(fp.unwrap_or_default()),
                Base::Register(number) if is_topmost => {
                    stop.registers.get(&number).map(|value| value.0).ok_or((EndKind::UnknownRegister, number))
                }
                Base::Register(number) => Err((EndKind::UnsafeRegister, number)),
            };
            let mut value = |rule: Rule, cfa: u64, what: Tracked| {
                let sum = base(rule.base, cfa).map_err(|(kind, number)| End {
                    what: Some(what),
                    register: Some(number),
                    ..End::of(kind)
                })?;
                let sum = sum.wrapping_add_signed(rule.offset);
                if rule.dereference {
                    memory.read_u64(sum).ok_or_else(|| unreadable(what, sum))
                } else {
                    Ok(sum)
                }
            };
            let cfa = match value(rules.cfa, 0, Tracked::Cfa) {
                Ok(cfa) => cfa,
                Err(end) => {
                    frames.push(this);
                    break end;
                }
            };
            this.cfa = Some(Address(cfa));
            let caller_sp = open.abi.sp_from_cfa(cfa);
            same_sp = if is_return && caller_sp == sp { same_sp + 1 } else { 0 };
            let at_most = if open.abi.has_link_register() { SAME_SP } else { 0 };
            if (caller_sp < sp || same_sp > at_most) && !signal {
                frames.push(this);
                break End { cfa: this.cfa, ..End::of(EndKind::NoProgress) };
            }
            let ra = match rules.ra {
                Recovery::Rule(rule) => value(rule, cfa, Tracked::Ra),
                Recovery::Unchanged if is_topmost && open.abi.has_link_register() => {
                    Ok(register(stop, ra_number))
                }
                Recovery::Unchanged => Err(End::of(EndKind::RaNotSaved)),
            };
            let caller_fp = match rules.fp {
                Recovery::Rule(rule) => {
                    value(rule, cfa, Tracked::Fp).map_err(|end| end.address.map_or(0, |address| address.0))
                }
                Recovery::Unchanged => fp,
            };
            if let (Some(key), Ok(ra)) = (mangled, &ra) {
                this.mangled = Some(Mangled { value: Address(*ra), key });
            }
            frames.push(this);
            match ra {
                Ok(ra) => pc = if mangled.is_some() { strip(open, ra) } else { ra },
                Err(end) => break end,
            }
            (is_return, sp, fp) = (!signal, caller_sp, caller_fp);
        };
        Backtrace::new(frames, end)
    }

    fn find(&self, open: &Open, address: u64) -> Result<Found, SFrameError> {
        for (image, bytes) in open.images.iter().zip(&self.sections) {
            if let (Some(bytes), Some(section)) = (bytes, image.sframe)
                && (image.start.0..image.end.0).contains(&address)
            {
                let section = SFrameSection::from(bytes, section.address.0)?;
                return find(&section, open.abi, address);
            }
        }
        Ok(Found::NoFde)
    }
}

impl Unwinder for SimpleFrame {
    fn hello(&self) -> Hello {
        let section = vec![SectionPart::Fdes, SectionPart::Lookups];
        Hello { section, ..Hello::new("simple-frame-rs", "0.3.0", "sframe") }
    }

    fn open(&mut self, open: &Open) -> Result<(), String> {
        let sections = open.images.iter().map(|image| image.read_sframe().map_err(|error| error.to_string()));
        self.sections = sections.collect::<Result<_, _>>()?;
        self.open = Some(open.clone());
        Ok(())
    }

    fn unwind(&mut self, stop: &Stop, memory: &mut Memory<'_>) -> Backtrace {
        let open = self.open.as_ref().expect("opened before");
        self.walk(open, stop, memory)
    }

    fn section(&mut self, question: &SectionQuestion) -> Result<SectionAnswer, String> {
        let section = match SFrameSection::from(&question.bytes.0, question.address.0) {
            Ok(section) => section,
            Err(_) => return Ok(SectionAnswer { reject: Some(REJECT), ..SectionAnswer::default() }),
        };
        let abi = abi_of(&section);
        let count = each!(&section, SFrameSection, it => it.get_fde_count());
        let fdes = (0..count).map(|index| describe(&section, abi, index).unwrap_or_else(|_| rejected()));
        let lookups = question.lookups.iter().map(|asked| {
            let pc = if asked.return_address { asked.pc.0.wrapping_sub(1) } else { asked.pc.0 };
            let answer = look_up(&section, abi, pc).unwrap_or(Answer::Reject(REJECT));
            Lookup { pc: asked.pc, return_address: asked.return_address, answer }
        });
        let (fdes, lookups) = (Some(fdes.collect()), Some(lookups.collect()));
        Ok(SectionAnswer { fdes, lookups, ..SectionAnswer::default() })
    }
}

/// The crate's kinds of errors differ.
const REJECT: Reject = Reject { kind: RejectKind::Unspecified, offset: None };

fn abi_of(section: &SFrameSection<'_>) -> Abi {
    // The crate counts from 0 in the order of the identifiers.
    let index = each!(section, SFrameSection, it => it.get_abi() as u8);
    Abi::from_id(index + 1).expect("the crate knows the same ABIs")
}

fn get_fde(section: &SFrameSection<'_>, index: u32) -> Result<SFrameFDE, SFrameError> {
    let fde = match section {
        SFrameSection::V1(section) => section.get_fde(index)?.map(SFrameFDE::V1),
        SFrameSection::V2(section) => section.get_fde(index)?.map(SFrameFDE::V2),
        SFrameSection::V3(section) => section.get_fde(index)?.map(SFrameFDE::V3),
    };
    fde.ok_or(SFrameError::UnexpectedEndOfData)
}

/// Returns a function's rows, as far as the crate reads them, and why it stops.
fn rows_of(section: &SFrameSection<'_>, fde: &SFrameFDE) -> (Vec<SFrameFRE>, Option<SFrameError>) {
    let mut rows = Vec::new();
    let mut row = |fre| {
        rows.push(fre);
        Ok(())
    };
    let read = match (section, fde) {
        (SFrameSection::V1(section), SFrameFDE::V1(fde)) => {
            fde.iter_fre(section).for_each(|fre| row(SFrameFRE::V1(fre)))
        }
        (SFrameSection::V2(section), SFrameFDE::V2(fde)) => {
            fde.iter_fre(section).for_each(|fre| row(SFrameFRE::V2(fre)))
        }
        (SFrameSection::V3(section), SFrameFDE::V3(fde)) => {
            fde.iter_fre(section).for_each(|fre| row(SFrameFRE::V3(fre)))
        }
        _ => Err(SFrameError::UnsupportedVersion),
    };
    (rows, read.err())
}

const fn rejected() -> Fde {
    Fde {
        reject: Some(REJECT),
        start: None,
        size: None,
        fre_type: FreType::Addr1,
        pc_type: PcType::Inc,
        fde_type: FdeType::Default,
        pauth_key: PauthKey::A,
        signal: false,
        rep_size: 0,
        outermost: false,
        rows: Vec::new(),
    }
}

/// Returns a function by the crate's getters. None of them says that a function without rows is
/// an outermost frame.
fn describe(section: &SFrameSection<'_>, abi: Abi, index: u32) -> Result<Fde, SFrameError> {
    let fde = get_fde(section, index)?;
    let fre_type = match each!(&fde, SFrameFDE, it => it.func_info.get_fre_type()? as u8) {
        0 => FreType::Addr1,
        1 => FreType::Addr2,
        _ => FreType::Addr4,
    };
    let (fde_type, rep_size) = match &fde {
        SFrameFDE::V1(_) => (FdeType::Default, 0),
        SFrameFDE::V2(fde) => (FdeType::Default, fde.func_rep_size),
        SFrameFDE::V3(fde) => match fde.get_fde_type()? {
            v3::SFrameFDEType::Default => (FdeType::Default, fde.func_rep_size),
            v3::SFrameFDEType::Flex => (FdeType::Flex, fde.func_rep_size),
        },
    };
    let (fres, error) = rows_of(section, &fde);
    let mut rows = Vec::new();
    for fre in &fres {
        match meaning(section, abi, &fde, fre) {
            Ok(meaning) => rows.push(Row::Rules(in_words(abi, fre, &meaning))),
            Err(_) => {
                rows.push(Row::Reject(REJECT));
                break;
            }
        }
    }
    if error.is_some() && rows.len() == fres.len() {
        rows.push(Row::Reject(REJECT));
    }
    Ok(Fde {
        reject: None,
        start: Some(Number(both!(section, &fde, (section, fde) => fde.get_pc(section)))),
        size: Some(each!(&fde, SFrameFDE, it => it.func_size)),
        fre_type,
        pc_type: if is_mask(&fde)? { PcType::Mask } else { PcType::Inc },
        fde_type,
        pauth_key: key(&fde)?,
        signal: is_signal(&fde)?,
        rep_size,
        outermost: false,
        rows,
    })
}

/// Returns a row in the terms of the vectors.
fn in_words(abi: Abi, fre: &SFrameFRE, meaning: &Meaning) -> RowRules {
    let Roles { sp, fp, .. } = roles(abi);
    let equation = |rule: Rule| Equation {
        base: match rule.base {
            Base::Cfa => EquationBase::Cfa,
            Base::Register(number) if number == sp => EquationBase::Sp,
            Base::Register(number) if number == fp => EquationBase::Fp,
            Base::Register(number) => EquationBase::Register(number),
        },
        offset: rule.offset,
        dereference: rule.dereference,
    };
    let recovery = |recovery| match recovery {
        Recovery::Unchanged => RowRecovery::Unchanged,
        Recovery::Rule(rule) => RowRecovery::Rule(equation(rule)),
    };
    let (cfa, ra, fp) = match meaning {
        Meaning::RaUndefined => (None, RowRecovery::Undefined, None),
        Meaning::Rules(rules) => (Some(equation(rules.cfa)), recovery(rules.ra), Some(recovery(rules.fp))),
    };
    let start = each!(fre, SFrameFRE, it => it.start_address.get());
    RowRules { start, cfa, ra, fp, mangled: is_mangled(fre) }
}

/// Returns the result of a look-up. The crate gives no positions: they are those of the entries
/// that are equal to what it has found.
fn look_up(section: &SFrameSection<'_>, abi: Abi, pc: u64) -> Result<Answer, SFrameError> {
    let Some(fde) = section.find_fde(pc)? else { return Ok(Answer::NoFde) };
    let same = |other: &SFrameFDE| format!("{other:?}") == format!("{fde:?}");
    let mut index = 0;
    while !same(&get_fde(section, index)?) {
        index += 1;
    }
    let index = index as usize;
    let Some(fre) = fde.find_fre(section, pc)? else { return Ok(Answer::NoRow(index)) };
    // Applying the row requires its rules.
    meaning(section, abi, &fde, &fre)?;
    let (rows, _) = rows_of(section, &fde);
    let same = |other: &SFrameFRE| format!("{other:?}") == format!("{fre:?}");
    // Of equal rows it takes the last one, and of repeating ones the first.
    let row = if is_mask(&fde)? { rows.iter().position(same) } else { rows.iter().rposition(same) };
    row.map(|row| Answer::Row(index, row)).ok_or(SFrameError::UnexpectedEndOfData)
}
