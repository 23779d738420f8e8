//! The engine against the conformance vectors in `corpus/vectors`, and the
//! proof that a wrong answer would be noticed.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::path::Path;
use std::sync::LazyLock;

use rstest::rstest;
use sframe_engine as engine;
use sframe_engine::{InstructionPointer, PauthMask, ReturnAddress, Section, StepError};
use sframe_vectors::{
    Abi, Address, Answer, Base, Caller, End, Equation, Fde, FdeType, FreType, Header, PauthKey, PcKind,
    PcType, Recovery, Reject, RejectKind, Row, Rules, Step, Suite, Tracked, Vector,
};

static SUITE: LazyLock<Suite> = LazyLock::new(|| {
    let clauses = Path::new("../../specs/clauses.yaml");
    Suite::load(Path::new("../../corpus/vectors"), clauses).unwrap_or_else(|errors| {
        let errors: Vec<_> = errors.iter().map(ToString::to_string).collect();
        panic!("{}", errors.join("\n"))
    })
});

/// The folders of `corpus/vectors`.
const GROUPS: [&str; 13] = [
    "address",
    "default",
    "fde",
    "flex",
    "header",
    "info",
    "lookup",
    "mask",
    "opening",
    "outermost",
    "row",
    "step",
    "width",
];

#[rstest]
#[case::address("address")]
#[case::default("default")]
#[case::fde("fde")]
#[case::flex("flex")]
#[case::header("header")]
#[case::info("info")]
#[case::lookup("lookup")]
#[case::mask("mask")]
#[case::opening("opening")]
#[case::outermost("outermost")]
#[case::row("row")]
#[case::step("step")]
#[case::width("width")]
fn the_engine_answers_as_the_vectors_say(#[case] group: &str) {
    let vectors: Vec<_> = SUITE.vectors.iter().filter(|vector| group_of(vector) == group).collect();
    assert!(!vectors.is_empty(), "no vectors in {group}");
    let failures: Vec<_> = vectors.iter().filter_map(|vector| check(vector).err()).collect();
    assert!(failures.is_empty(), "{} of {} vectors:\n{}", failures.len(), vectors.len(), failures.join("\n"));
}

fn group_of(vector: &Vector) -> &str {
    vector.id.split('/').next().unwrap_or_default()
}

/// Compares the engine's answers with a vector's. The first difference is the error.
fn check(vector: &Vector) -> Result<(), String> {
    compare(vector).map_err(|difference| format!("{}: {difference}", vector.id))
}

fn compare(vector: &Vector) -> Result<(), String> {
    let section = match (Section::parse(&vector.bytes, vector.address), &vector.reject) {
        (Err(error), expected) => return same("opening", &Err(error), &expected.clone().map_or(Ok(()), Err)),
        (Ok(_), Some(expected)) => return Err(format!("opening: {expected:?} expected, got no error")),
        (Ok(section), None) => section,
    };
    let header = vector.header.as_ref().ok_or("has no header to compare with")?;
    equal("header", &header_of(section.header()), header)?;

    let fdes: Vec<_> = section.fdes().collect();
    equal("number of FDEs", &fdes.len(), &vector.fdes.len())?;
    for (index, (got, expected)) in fdes.into_iter().zip(&vector.fdes).enumerate() {
        let what = format!("FDE {index}");
        match (got, &expected.reject) {
            (got, Some(reject)) => same(&what, &got.map(drop), &Err(reject.clone()))?,
            (Err(error), None) => return Err(format!("{what}: {error}")),
            (Ok(fde), None) => compare_fde(&what, &section, &fde, expected)?,
        }
    }
    for lookup in &vector.lookups {
        let kind = if lookup.return_address { " as a return address" } else { "" };
        compare_lookup(&format!("look-up of {}{kind}", lookup.pc), &section, lookup)?;
    }
    for (index, step) in vector.steps.iter().enumerate() {
        let expected = match (&step.caller, &step.end) {
            (Some(caller), None) => Ok(*caller),
            (_, Some(end)) => Err(Some(*end)),
            _ => return Err("a step has either caller or end".into()),
        };
        equal(&format!("step {index}"), &take_step(&section, step), &expected)?;
    }
    Ok(())
}

fn equal<T: PartialEq + Debug>(what: &str, got: &T, expected: &T) -> Result<(), String> {
    if got == expected { Ok(()) } else { Err(format!("{what}: expected {expected:?}, got {got:?}")) }
}

/// Compares rejections; the offset only where the vector gives one.
fn same(what: &str, got: &Result<(), engine::Error>, expected: &Result<(), Reject>) -> Result<(), String> {
    let agree = match (got, expected) {
        (Ok(()), Ok(())) => true,
        (Err(error), Err(reject)) => {
            kind_of(error) == Some(reject.kind) && reject.offset.is_none_or(|offset| offset == error.offset)
        }
        _ => false,
    };
    if agree { Ok(()) } else { Err(format!("{what}: expected {expected:?}, got {got:?}")) }
}

fn kind_of(error: &engine::Error) -> Option<RejectKind> {
    use engine::ErrorKind as Kind;
    Some(match error.kind {
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
        _ => return None,
    })
}

fn header_of(header: &engine::Header) -> Header {
    Header {
        version: header.version.number(),
        abi: match header.abi {
            engine::Abi::Amd64 => Abi::Amd64,
            engine::Abi::Aarch64 => Abi::Aarch64,
            engine::Abi::Aarch64Be => Abi::Aarch64Be,
            engine::Abi::S390x => Abi::S390x,
        },
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

fn compare_fde(what: &str, section: &Section<'_>, fde: &engine::Fde, expected: &Fde) -> Result<(), String> {
    let got = Fde {
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
        rows: expected.rows.clone(),
    };
    equal(what, &got, expected)?;
    let rows: Vec<_> = section.rows(fde).collect();
    equal(&format!("{what}: number of rows"), &rows.len(), &expected.rows.len())?;
    for (index, (got, expected)) in rows.into_iter().zip(&expected.rows).enumerate() {
        let what = format!("{what}, row {index}");
        match (got, expected) {
            (got, Row::Reject(reject)) => same(&what, &got.map(drop), &Err(reject.clone()))?,
            (Ok(row), Row::Rules(expected)) => equal(&what, &rules_of(section, &row), expected)?,
            (Err(error), Row::Rules(_)) => return Err(format!("{what}: {error}")),
        }
    }
    Ok(())
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

fn compare_lookup(what: &str, section: &Section<'_>, lookup: &sframe_vectors::Lookup) -> Result<(), String> {
    let pc: engine::LookupAddress = if lookup.return_address {
        ReturnAddress(lookup.pc.0).into()
    } else {
        InstructionPointer(lookup.pc.0).into()
    };
    let got = section.lookup_fde(pc).and_then(|fde| match fde {
        None => Ok(Answer::NoFde),
        Some(fde) => {
            let index = fde.index as usize;
            Ok(match section.lookup_row(&fde, pc)? {
                None => Answer::NoRow(index),
                Some(found) => match found.row_index {
                    None => Answer::Outermost(index),
                    Some(row) => Answer::Row(index, row as usize),
                },
            })
        }
    });
    match (got, &lookup.answer) {
        (got, Answer::Reject(reject)) => same(what, &got.map(drop), &Err(reject.clone())),
        (Ok(got), expected) => equal(what, &got, expected),
        (Err(error), expected) => Err(format!("{what}: expected {expected:?}, got {error}")),
    }
}

/// What the engine makes of a step; no reason where the format has no word for it.
fn take_step(section: &Section<'_>, step: &Step) -> Result<Caller, Option<End>> {
    let pc = match step.frame.kind {
        PcKind::Instruction => engine::Pc::Instruction(InstructionPointer(step.frame.pc.0)),
        PcKind::Return => engine::Pc::Return(ReturnAddress(step.frame.pc.0)),
    };
    let frame = engine::Frame { pc, sp: step.frame.sp.0, fp: step.frame.fp.0 };
    let registers = step
        .registers
        .as_ref()
        .map(|known| |register: engine::DwarfRegister| known.get(&register.0).map(|value| value.0));
    let memory = |address| step.memory.get(&Address(address)).map(|value| value.0);
    let pauth = step.address_bits.map_or(PauthMask::NONE, PauthMask::for_address_bits);
    let caller =
        match section.step(&frame, registers.as_ref(), &memory, pauth).map_err(|error| end_of(&error))? {
            engine::Step::Outermost => return Err(Some(End::Outermost {})),
            engine::Step::Caller(caller) => caller,
        };
    let next = caller.frame().map_err(|error| end_of(&error))?;
    Ok(Caller {
        pc: Address(next.pc.get()),
        kind: match next.pc {
            engine::Pc::Instruction(_) => PcKind::Instruction,
            engine::Pc::Return(_) => PcKind::Return,
        },
        cfa: Address(caller.cfa),
        sp: Address(next.sp),
        fp: Address(next.fp),
    })
}

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
        StepError::RaNotSaved => End::RaNotSaved {},
        StepError::MisalignedCfa { cfa } => End::Misaligned { cfa: Address(cfa) },
        StepError::NoProgress { cfa, .. } => End::NoProgress { cfa: Address(cfa) },
        _ => return None,
    })
}

/// The vectors are many, of every version and ABI, and ask for everything.
#[test]
fn the_suite_is_not_vacuous() {
    assert!(SUITE.vectors.len() >= 600, "{} vectors", SUITE.vectors.len());
    for vector in &SUITE.vectors {
        assert!(GROUPS.contains(&group_of(vector)), "{} is in no group that runs", vector.id);
    }
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for header in SUITE.vectors.iter().filter_map(|vector| vector.header.as_ref()) {
        *counts.entry(format!("version {} on {:?}", header.version, header.abi)).or_default() += 1;
    }
    assert_eq!(counts.len(), 11, "3 ABIs in version 1, 4 in the others: {counts:?}");
    assert!(counts.values().all(|count| *count >= 20), "{counts:?}");
    let lookups: usize = SUITE.vectors.iter().map(|vector| vector.lookups.len()).sum();
    let steps: usize = SUITE.vectors.iter().map(|vector| vector.steps.len()).sum();
    assert!(lookups >= 5_000 && steps >= 500, "{lookups} look-ups, {steps} steps");
}

/// Every reading is one that a vector depends on.
#[test]
fn every_reading_has_a_vector() {
    for reading in &SUITE.catalogue.readings {
        assert!(
            SUITE.vectors.iter().any(|vector| vector.readings.contains(&reading.name)),
            "no vector depends on the reading {}",
            reading.name
        );
    }
}

/// Every rejection there is occurs, in each version that can have it.
#[test]
fn every_rejection_has_a_vector_in_each_version() {
    for version in 1..=3 {
        for kind in RejectKind::ALL {
            let exists = match kind {
                RejectKind::UnknownVersion => false, // of no version
                RejectKind::ZeroRepSize => version > 1,
                RejectKind::UnknownFdeType
                | RejectKind::BadFlexWordCount
                | RejectKind::FlexCfaWithoutRegister => version == 3,
                _ => true,
            };
            let prefix = format!("v{version}-");
            let found =
                rejects(kind).any(|vector| vector.clauses.iter().any(|clause| clause.starts_with(&prefix)));
            assert!(!exists || found, "{kind:?} in version {version}");
        }
    }
    assert!(rejects(RejectKind::UnknownVersion).next().is_some());
}

fn rejects(kind: RejectKind) -> impl Iterator<Item = &'static Vector> {
    SUITE.vectors.iter().filter(move |vector| {
        let rows = vector.fdes.iter().flat_map(|fde| &fde.rows).filter_map(|row| match row {
            Row::Reject(reject) => Some(reject),
            Row::Rules(_) => None,
        });
        let fdes = vector.fdes.iter().filter_map(|fde| fde.reject.as_ref());
        vector.reject.iter().chain(fdes).chain(rows).any(|reject| reject.kind == kind)
    })
}

/// A vector that passes, to be broken.
fn sound(id: &str) -> Vector {
    let vector = SUITE.vectors.iter().find(|vector| vector.id == id).cloned();
    let vector = vector.unwrap_or_else(|| panic!("no vector {id}"));
    assert_eq!(check(&vector), Ok(()));
    vector
}

/// The difference that is reported, which names the vector.
fn difference(vector: &Vector) -> String {
    let difference = check(vector).expect_err("a wrong expectation must fail");
    assert!(difference.starts_with(&format!("{}: ", vector.id)), "{difference}");
    difference
}

#[test]
fn a_wrong_header_is_noticed() {
    let mut vector = sound("header/v3-amd64");
    vector.header.as_mut().expect("a header").fixed_fp += 1;
    assert!(difference(&vector).contains("header: "));
}

#[test]
fn a_wrong_row_is_noticed() {
    for change in 0..4 {
        let mut vector = sound("default/v3-aarch64");
        let Row::Rules(rules) = &mut vector.fdes[0].rows[1] else { panic!("a sound row") };
        match change {
            0 => rules.cfa.as_mut().expect("a CFA").offset += 8,
            1 => rules.ra = Recovery::Unchanged,
            2 => rules.fp = Some(Recovery::Unchanged),
            _ => rules.mangled = true,
        }
        assert!(difference(&vector).contains("FDE 0, row 1: "));
    }
    let mut vector = sound("default/v3-aarch64");
    vector.fdes[0].rows.pop();
    assert!(difference(&vector).contains("number of rows"));
}

#[test]
fn a_wrong_function_is_noticed() {
    let mut vector = sound("info/v3-amd64-signal");
    vector.fdes[0].signal = false;
    assert!(difference(&vector).contains("FDE 0: "));
}

#[test]
fn a_wrong_lookup_is_noticed() {
    let mut vector = sound("lookup/v2-amd64-sorted");
    let first = vector.lookups.iter_mut().find(|lookup| lookup.pc.0 == 0x1000);
    first.expect("a look-up").answer = Answer::NoFde;
    assert!(difference(&vector).contains("look-up of "));
    let mut vector = sound("lookup/v3-s390x-call-at-the-end");
    let call = vector.lookups.iter_mut().find(|lookup| lookup.return_address && lookup.pc.0 == 0x1010);
    call.expect("a return address").return_address = false;
    assert!(difference(&vector).contains("look-up of 0x1010"));
}

#[test]
fn a_wrong_step_is_noticed() {
    let mut vector = sound("step/v1-aarch64");
    vector.steps[0].caller.as_mut().expect("a caller").fp.0 += 1;
    assert!(difference(&vector).contains("step 0: "));
    let mut vector = sound("outermost/v3-amd64-no-rows");
    vector.steps[0].end = Some(End::NoFde {});
    assert!(difference(&vector).contains("step 0: "));
}

#[test]
fn a_wrong_rejection_is_noticed() {
    let mut vector = sound("opening/v2-bad-magic");
    vector.reject.as_mut().expect("a rejection").kind = RejectKind::UnknownVersion;
    assert!(difference(&vector).contains("opening: "));
    let mut vector = sound("opening/v2-bad-magic");
    vector.reject.as_mut().expect("a rejection").offset = Some(2);
    assert!(difference(&vector).contains("opening: "));
    let mut vector = sound("opening/v2-bad-magic");
    vector.reject = None;
    assert!(difference(&vector).contains("opening: "));
    let mut vector = sound("header/v2-amd64");
    vector.reject = Some(Reject { kind: RejectKind::BadMagic, offset: None });
    assert!(difference(&vector).contains("opening: "));
    let mut vector = sound("fde/v3-amd64-fre-type-3");
    vector.fdes[1].reject.as_mut().expect("a rejection").kind = RejectKind::ZeroRepSize;
    assert!(difference(&vector).contains("FDE 1: "));
    let mut vector = sound("row/v1-amd64-word-size-3");
    let Row::Reject(reject) = &mut vector.fdes[0].rows[1] else { panic!("a faulty row") };
    reject.kind = RejectKind::Truncated;
    assert!(difference(&vector).contains("FDE 0, row 1: "));
}
