//! `simple-frame-rs` as an unwinder. The crate finds functions and rows, and
//! says what their data words mean; this file does what its example does with
//! them, for all ABIs.

use fallible_iterator::FallibleIterator as _;
use sframe_adapters::{Roles, frame, register, roles, strip, unreadable};
use sframe_protocol::{
    Address, Backtrace, End, EndKind, Hello, MAX_FRAMES, Mangled, Memory, Open, SectionAnswer, SectionPart,
    SectionQuestion, Stop, Unwinder, serve,
};
use sframe_vectors::{Abi, Answer, Lookup, PauthKey, Reject, RejectKind, Tracked};
use simple_frame_rs::{SFrameError, SFrameFDE, SFrameFRE, SFrameSection, v1, v2, v3};

#[derive(Default)]
struct SimpleFrame {
    open: Option<Open>,
    sections: Vec<Option<Vec<u8>>>,
}

fn main() -> std::io::Result<()> {
    serve(SimpleFrame::default())
}

/// A row's rules, as the crate tells them.
struct Rules {
    cfa: Rule,
    ra: Recovery,
    fp: Recovery,
    mangled: Option<PauthKey>,
    signal: bool,
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

enum Recovery {
    /// The register has it still.
    Unchanged,
    Rule(Rule),
}

/// What a look-up comes to.
enum Found {
    NoFde,
    NoRow,
    Outermost,
    Rules(Rules),
}

fn find(section: &SFrameSection<'_>, abi: Abi, pc: u64) -> Result<Found, SFrameError> {
    let Some(fde) = section.find_fde(pc)? else { return Ok(Found::NoFde) };
    if is_outermost(&fde)? {
        return Ok(Found::Outermost);
    }
    let Some(fre) = fde.find_fre(section, pc)? else { return Ok(Found::NoRow) };
    rules(section, abi, &fde, &fre)
}

/// Whether a function without rows is an outermost frame: only in version 3,
/// and if it is of default type.
fn is_outermost(fde: &SFrameFDE) -> Result<bool, SFrameError> {
    let SFrameFDE::V3(fde) = fde else { return Ok(false) };
    Ok(fde.func_num_fres == 0 && matches!(fde.get_fde_type()?, v3::SFrameFDEType::Default))
}

fn key(is_b: bool) -> PauthKey {
    if is_b { PauthKey::B } else { PauthKey::A }
}

fn rules(
    section: &SFrameSection<'_>,
    abi: Abi,
    fde: &SFrameFDE,
    fre: &SFrameFRE,
) -> Result<Found, SFrameError> {
    let Roles { sp, fp, .. } = roles(abi);
    let (words, mangled, signal, is_flex) = match (fde, fre) {
        (SFrameFDE::V1(fde), SFrameFRE::V1(fre)) => {
            let is_b = matches!(fde.func_info.get_aarch64_pauth_key()?, v1::SFrameAArch64PAuthKey::KeyB);
            (fre.stack_offsets.len(), fre.info.get_mangled_ra_p().then(|| key(is_b)), false, false)
        }
        (SFrameFDE::V2(fde), SFrameFRE::V2(fre)) => {
            let is_b = matches!(fde.func_info.get_aarch64_pauth_key()?, v2::SFrameAArch64PAuthKey::KeyB);
            (fre.stack_offsets.len(), fre.info.get_mangled_ra_p().then(|| key(is_b)), false, false)
        }
        (SFrameFDE::V3(fde), SFrameFRE::V3(fre)) => {
            let is_b = matches!(fde.func_info.get_aarch64_pauth_key()?, v3::SFrameAArch64PAuthKey::KeyB);
            let is_flex = matches!(fde.get_fde_type()?, v3::SFrameFDEType::Flex);
            let signal = fde.func_info.is_signal_frame()?;
            (fre.stack_offsets.len(), fre.info.get_mangled_ra_p().then(|| key(is_b)), signal, is_flex)
        }
        _ => return Err(SFrameError::UnsupportedVersion),
    };
    // A row without data words says that RA is undefined.
    if words == 0 {
        return Ok(Found::Outermost);
    }
    if is_flex && let SFrameFRE::V3(fre) = fre {
        let flex = fre.get_flex_recovery_rules().ok_or(SFrameError::UnexpectedEndOfData)?;
        let rule = |rule: &v3::SFrameFlexRecoveryRule| Rule {
            base: match rule.control.reg_p() {
                true => Base::Register(rule.control.regnum().cast_unsigned()),
                false => Base::Cfa,
            },
            offset: rule.offset.into(),
            dereference: rule.control.deref_p(),
        };
        let recovery = |found: &Option<v3::SFrameFlexRecoveryRule>| match found {
            Some(found) if !found.control.is_padding() => Recovery::Rule(rule(found)),
            _ => Recovery::Unchanged,
        };
        let ra = match recovery(&flex.ra) {
            Recovery::Unchanged if abi == Abi::Amd64 => at_cfa(-8),
            other => other,
        };
        let cfa = rule(&flex.cfa);
        // The crate decodes s390x's CFA offsets of default rows only.
        let scale = abi == Abi::S390x;
        let cfa = Rule { offset: if scale { cfa.offset * 8 + 160 } else { cfa.offset }, ..cfa };
        return Ok(Found::Rules(Rules { cfa, ra, fp: recovery(&flex.fp), mangled, signal }));
    }
    let offset = fre.get_cfa_offset(section)?.ok_or(SFrameError::UnexpectedEndOfData)?;
    let base = Base::Register(if fre.get_cfa_base_reg_id() == 0 { fp } else { sp });
    let saved = |offset: Option<i32>| match offset {
        None => Recovery::Unchanged,
        // s390x: a register, or nowhere.
        Some(0) if abi == Abi::S390x => Recovery::Unchanged,
        Some(offset) if abi == Abi::S390x && offset & 1 == 1 => Recovery::Rule(Rule {
            base: Base::Register((offset >> 1).cast_unsigned()),
            offset: 0,
            dereference: false,
        }),
        Some(offset) => at_cfa(offset.into()),
    };
    Ok(Found::Rules(Rules {
        cfa: Rule { base, offset: offset.into(), dereference: false },
        ra: saved(fre.get_ra_offset(section)?),
        fp: saved(fre.get_fp_offset(section)?),
        mangled,
        signal,
    }))
}

const fn at_cfa(offset: i64) -> Recovery {
    Recovery::Rule(Rule { base: Base::Cfa, offset, dereference: true })
}

fn malformed(error: &SFrameError) -> End {
    End::with_message(EndKind::Malformed, error.to_string())
}

impl SimpleFrame {
    fn walk(&self, open: &Open, stop: &Stop, memory: &mut Memory<'_>) -> Backtrace {
        let Roles { sp: sp_number, fp: fp_number, ra: ra_number } = roles(open.abi);
        let mut sp = register(stop, sp_number);
        let mut fp = Ok(register(stop, fp_number));
        let (mut pc, mut is_return) = (stop.pc.0, false);
        let mut frames = Vec::new();
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
            let rules = match found {
                Ok(Found::Rules(rules)) => rules,
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
            let caller_sp = if open.abi == Abi::S390x { cfa.wrapping_sub(160) } else { cfa };
            let progress = if is_return { caller_sp > sp } else { caller_sp >= sp };
            if !progress && !rules.signal {
                frames.push(this);
                break End { cfa: this.cfa, ..End::of(EndKind::NoProgress) };
            }
            let ra = match rules.ra {
                Recovery::Rule(rule) => value(rule, cfa, Tracked::Ra),
                Recovery::Unchanged if is_topmost && open.abi != Abi::Amd64 => Ok(register(stop, ra_number)),
                Recovery::Unchanged => Err(End::of(EndKind::RaNotSaved)),
            };
            let caller_fp = match rules.fp {
                Recovery::Rule(rule) => {
                    value(rule, cfa, Tracked::Fp).map_err(|end| end.address.map_or(0, |address| address.0))
                }
                Recovery::Unchanged => fp,
            };
            if let (Some(key), Ok(ra)) = (rules.mangled, &ra) {
                this.mangled = Some(Mangled { value: Address(*ra), key });
            }
            frames.push(this);
            match ra {
                Ok(ra) => pc = if rules.mangled.is_some() { strip(open, ra) } else { ra },
                Err(end) => break end,
            }
            (is_return, sp, fp) = (!rules.signal, caller_sp, caller_fp);
        };
        Backtrace { frames, end }
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
        Hello { section: vec![SectionPart::Lookups], ..Hello::new("simple-frame-rs", "0.3.0", "sframe") }
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
        let reject = Reject { kind: RejectKind::Unspecified, offset: None };
        let section = match SFrameSection::from(&question.bytes.0, question.address.0) {
            Ok(section) => section,
            Err(_) => return Ok(SectionAnswer { reject: Some(reject), ..SectionAnswer::default() }),
        };
        let lookups = question.lookups.iter().map(|asked| {
            let pc = if asked.return_address { asked.pc.0.wrapping_sub(1) } else { asked.pc.0 };
            let answer = look_up(&section, pc).unwrap_or(Answer::Reject(reject.clone()));
            Lookup { pc: asked.pc, return_address: asked.return_address, answer }
        });
        Ok(SectionAnswer { lookups: Some(lookups.collect()), ..SectionAnswer::default() })
    }
}

/// The positions of function and row, which the crate does not tell: those
/// that are the same as what it has found.
fn look_up(section: &SFrameSection<'_>, pc: u64) -> Result<Answer, SFrameError> {
    let Some(fde) = section.find_fde(pc)? else { return Ok(Answer::NoFde) };
    macro_rules! position {
        ($section:expr, $fde:expr, $start:ident) => {{
            let mut index = 0;
            loop {
                let Some(other) = $section.get_fde(index)? else {
                    return Err(SFrameError::UnexpectedEndOfData);
                };
                let same = other.get_pc($section) == $fde.get_pc($section)
                    && other.func_size == $fde.func_size
                    && other.$start == $fde.$start;
                if same {
                    break index as usize;
                }
                index += 1;
            }
        }};
    }
    // It finds rows of functions of any type; whoever applies them has to ask for it.
    let is_flex = match &fde {
        SFrameFDE::V3(fde) => matches!(fde.get_fde_type()?, v3::SFrameFDEType::Flex),
        _ => false,
    };
    let index = match (section, &fde) {
        (SFrameSection::V1(section), SFrameFDE::V1(fde)) => position!(section, fde, func_start_fre_off),
        (SFrameSection::V2(section), SFrameFDE::V2(fde)) => position!(section, fde, func_start_fre_off),
        (SFrameSection::V3(section), SFrameFDE::V3(fde)) => position!(section, fde, func_start_fre_off),
        _ => return Err(SFrameError::UnsupportedVersion),
    };
    if is_outermost(&fde)? {
        return Ok(Answer::Outermost(index));
    }
    let Some(fre) = fde.find_fre(section, pc)? else { return Ok(Answer::NoRow(index)) };
    if is_flex
        && let SFrameFRE::V3(fre) = &fre
        && !fre.stack_offsets.is_empty()
        && fre.get_flex_recovery_rules().is_none()
    {
        return Err(SFrameError::UnexpectedEndOfData);
    }
    macro_rules! row {
        ($section:expr, $fde:expr, $fre:expr) => {{
            let mut rows = $fde.iter_fre($section);
            let (mut row, mut found) = (0, None);
            while let Some(other) = rows.next()? {
                if other.start_address.get() == $fre.start_address.get() {
                    // Of several that start there, look-ups take the last one.
                    found = Some(row);
                }
                row += 1;
            }
            found.ok_or(SFrameError::UnexpectedEndOfData)?
        }};
    }
    let row = match (section, &fde, &fre) {
        (SFrameSection::V1(section), SFrameFDE::V1(fde), SFrameFRE::V1(fre)) => row!(section, fde, fre),
        (SFrameSection::V2(section), SFrameFDE::V2(fde), SFrameFRE::V2(fre)) => row!(section, fde, fre),
        (SFrameSection::V3(section), SFrameFDE::V3(fde), SFrameFRE::V3(fre)) => row!(section, fde, fre),
        _ => return Err(SFrameError::UnsupportedVersion),
    };
    Ok(Answer::Row(index, row))
}
