//! The engine of this project as a reader.

use std::collections::BTreeMap;

use sframe_engine::{
    self as engine, InstructionPointer, LookupAddress, PauthMask, ReturnAddress, Section, StepError,
};

use crate::{
    Address, Answer, Base, Caller, End, Equation, Fde, FdeType, FreType, Header, Lookup, PauthKey, PcKind,
    PcType, Question, Recovery, Reject, RejectKind, Row, Rules, SectionAnswer, SectionQuestion, StepAnswer,
    StepQuestion, Tracked,
};

/// Returns the engine's answers to questions about a section.
#[must_use]
pub fn answer(question: &SectionQuestion) -> SectionAnswer {
    let section = match Section::parse(&question.bytes.0, question.address.0) {
        Ok(section) => section,
        Err(error) => return SectionAnswer { reject: Some(reject(&error)), ..SectionAnswer::default() },
    };
    let fdes = section.fdes().map(|fde| match fde {
        Ok(fde) => describe(&section, &fde),
        Err(error) => Fde::rejected(reject(&error)),
    });
    SectionAnswer {
        reject: None,
        header: Some(header_of(section.header())),
        fdes: Some(fdes.collect()),
        lookups: Some(question.lookups.iter().map(|lookup| look_up(&section, *lookup)).collect()),
        steps: Some(question.steps.iter().map(|step| take_step(&section, step)).collect()),
        said: BTreeMap::new(),
    }
}

fn reject(error: &engine::Error) -> Reject {
    Reject { kind: kind_of(error), offset: Some(error.offset) }
}

fn kind_of(error: &engine::Error) -> RejectKind {
    use engine::ErrorKind as Kind;
    match error.kind {
        Kind::Truncated { .. } => RejectKind::Truncated,
        Kind::BadMagic(_) => RejectKind::BadMagic,
        Kind::UnknownVersion(_) => RejectKind::UnknownVersion,
        Kind::UnknownAbi(_) => RejectKind::UnknownAbi,
        Kind::WrongByteOrder(_) => RejectKind::WrongByteOrder,
        Kind::SubSectionOutOfBounds { .. } => RejectKind::SubSectionOutOfBounds,
        Kind::FreOffsetOutOfBounds(_) => RejectKind::FreOffsetOutOfBounds,
        Kind::UnknownFreType(_) => RejectKind::UnknownFreType,
        Kind::UnknownFdeType(_) => RejectKind::UnknownFdeType,
        Kind::ZeroRepSize => RejectKind::ZeroRepSize,
        Kind::UnknownDataWordSize => RejectKind::UnknownDataWordSize,
        Kind::BadDataWordCount(_) => RejectKind::BadDataWordCount,
        Kind::BadFlexWordCount(_) => RejectKind::BadFlexWordCount,
        Kind::FlexCfaWithoutRegister => RejectKind::FlexCfaWithoutRegister,
        _ => RejectKind::Unspecified,
    }
}

fn header_of(header: &engine::Header) -> Header {
    Header {
        version: header.version.number(),
        abi: header.abi,
        flags: header.flags.0,
        fixed_fp: header.fixed_fp_offset.unwrap_or(0),
        fixed_ra: header.fixed_ra_offset.unwrap_or(0),
        aux_len: header.auxhdr_len,
        num_fdes: header.num_fdes,
        num_fres: header.num_fres,
        fre_len: header.fre_len,
        fdeoff: header.fdeoff,
        freoff: header.freoff,
    }
}

fn describe(section: &Section<'_>, fde: &engine::Fde) -> Fde {
    let row = |row: Result<engine::Row, engine::Error>| match row {
        Ok(row) => Row::Rules(rules_of(section, &row)),
        Err(error) => Row::Reject(reject(&error)),
    };
    Fde {
        reject: None,
        start: Some(Address(fde.start)),
        size: Some(fde.size),
        fre_type: match fde.fre_type {
            engine::FreType::Addr1 => FreType::Addr1,
            engine::FreType::Addr2 => FreType::Addr2,
            engine::FreType::Addr4 => FreType::Addr4,
        },
        pc_type: match fde.pc_type {
            engine::PcType::Inc => PcType::Inc,
            engine::PcType::Mask => PcType::Mask,
        },
        fde_type: match fde.fde_type {
            engine::FdeType::Default => FdeType::Default,
            engine::FdeType::Flex => FdeType::Flex,
        },
        pauth_key: match fde.pauth_key {
            engine::PauthKey::A => PauthKey::A,
            engine::PauthKey::B => PauthKey::B,
        },
        signal: fde.signal,
        rep_size: fde.rep_size.unwrap_or(0),
        outermost: fde.outermost,
        rows: section.rows(fde).map(row).collect(),
    }
}

fn rules_of(section: &Section<'_>, row: &engine::Row) -> Rules {
    let abi = section.header().abi;
    let equation = |rule: engine::RecoveryRule| Equation {
        base: match rule.base {
            engine::Base::Cfa => Base::Cfa,
            engine::Base::Sp => Base::Sp,
            engine::Base::Fp => Base::Fp,
            engine::Base::Register(register) if register == abi.sp() => Base::Sp,
            engine::Base::Register(register) if register == abi.fp() => Base::Fp,
            engine::Base::Register(register) => Base::Register(register.0),
        },
        offset: rule.offset,
        dereference: rule.dereference,
    };
    let recovery = |recovery| match recovery {
        engine::Recovery::Undefined => Recovery::Undefined,
        engine::Recovery::Unchanged => Recovery::Unchanged,
        engine::Recovery::Rule(rule) => Recovery::Rule(equation(rule)),
    };
    Rules {
        start: row.start,
        cfa: row.cfa.map(equation),
        ra: recovery(row.ra),
        fp: (!row.is_outermost()).then(|| recovery(row.fp)),
        mangled: row.mangled_ra,
    }
}

fn look_up(section: &Section<'_>, question: Question) -> Lookup {
    let Question { pc, return_address } = question;
    let address: LookupAddress =
        if return_address { ReturnAddress(pc.0).into() } else { InstructionPointer(pc.0).into() };
    let answer = || {
        let Some(fde) = section.lookup_fde(address)? else { return Ok(Answer::NoFde) };
        let index = fde.index as usize;
        Ok(match section.lookup_row(&fde, address)? {
            None => Answer::NoRow(index),
            Some(found) => match found.row_index {
                None => Answer::Outermost(index),
                Some(row) => Answer::Row(index, row as usize),
            },
        })
    };
    Lookup { pc, return_address, answer: answer().unwrap_or_else(|error| Answer::Reject(reject(&error))) }
}

fn take_step(section: &Section<'_>, step: &StepQuestion) -> StepAnswer {
    let pc = match step.frame.kind {
        PcKind::Instruction => engine::Pc::Instruction(InstructionPointer(step.frame.pc.0)),
        PcKind::Return => engine::Pc::Return(ReturnAddress(step.frame.pc.0)),
    };
    let frame = engine::Frame { pc, sp: step.frame.sp.0, fp: step.frame.fp.0, same_sp: 0 };
    let registers = step
        .registers
        .as_ref()
        .map(|known| |register: engine::DwarfRegister| known.get(&register.0).map(|value| value.0));
    let memory = |address| step.memory.get(&Address(address)).map(|value| value.0);
    let pauth = step.address_bits.map_or(PauthMask::NONE, PauthMask::for_address_bits);
    let end = |end| StepAnswer { caller: None, end };
    let caller = match section.step(&frame, registers.as_ref(), &memory, pauth) {
        Ok(engine::Step::Outermost) => return end(Some(End::Outermost {})),
        Ok(engine::Step::Caller(caller)) => caller,
        Err(error) => return end(end_of(&error)),
    };
    let next = match caller.frame() {
        Ok(next) => next,
        Err(error) => return end(end_of(&error)),
    };
    let caller = Caller {
        pc: Address(next.pc.get()),
        kind: match next.pc {
            engine::Pc::Instruction(_) => PcKind::Instruction,
            engine::Pc::Return(_) => PcKind::Return,
        },
        cfa: Address(caller.cfa),
        sp: Address(next.sp),
        fp: Address(next.fp),
    };
    StepAnswer { caller: Some(caller), end: None }
}

/// Returns `None` if the vectors have no word for it.
fn end_of(error: &StepError) -> Option<End> {
    let tracked = |tracked| match tracked {
        engine::Tracked::Cfa => Tracked::Cfa,
        engine::Tracked::Ra => Tracked::Ra,
        engine::Tracked::Fp => Tracked::Fp,
    };
    Some(match *error {
        StepError::NoFde => End::NoFde {},
        StepError::NoRow => End::NoRow {},
        StepError::Unreadable { tracked: what, address } => {
            End::Unreadable { what: tracked(what), address: Address(address) }
        }
        StepError::UnsafeRegister { tracked: what, register } => {
            End::UnsafeRegister { what: tracked(what), register: register.0 }
        }
        StepError::UnknownRegister { tracked: what, register } => {
            End::UnknownRegister { what: tracked(what), register: register.0 }
        }
        StepError::Malformed(_) => End::Malformed {},
        StepError::RaNotSaved => End::RaNotSaved {},
        StepError::MisalignedCfa { cfa } => End::Misaligned { cfa: Address(cfa) },
        StepError::NoProgress { cfa, .. } => End::NoProgress { cfa: Address(cfa) },
        _ => return None,
    })
}
