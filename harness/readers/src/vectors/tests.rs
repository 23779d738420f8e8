//! Readers with mistakes: whether these are noticed, and named rightly. The readers are the engine, asked about a section
//! that is written otherwise, or with answers that are changed: nothing here comes from the model, by which mistakes are
//! recognised.

use std::path::Path;
use std::sync::LazyLock;

use serde_json::Value;
use sframe_inspect::command::Volume;
use sframe_judge::external::SectionReply;
use sframe_vectors::{
    Abi, Address, Answer, BaseRegister, Catalogue, End, Fde, FdeType, FreType, Hex, PauthKey, PcKind, PcType,
    Reject, RejectKind, Row, RowSource, SectionAnswer, SectionPart, SectionQuestion, SectionSource,
    StepAnswer, Suite, Vector, engine, model,
};

use super::{ALL, VectorsReport, Way, Ways, ask, ask_about, ask_model};

static SUITE: LazyLock<Suite> = LazyLock::new(|| {
    let clauses = Path::new("../../specs/clauses.yaml");
    Suite::load(Path::new("../../corpus/vectors"), clauses).unwrap_or_else(|errors| panic!("{errors:?}"))
});

/// A reader: how it sees the section, the questions, and the answers.
#[derive(Clone, Copy)]
struct Reader {
    section: fn(&mut SectionSource),
    question: fn(&mut SectionQuestion),
    answer: fn(&mut SectionAnswer, &Vector),
}

/// The engine as it is.
const SOUND: Reader = Reader { section: |_| {}, question: |_| {}, answer: |_, _| {} };

fn reads(section: fn(&mut SectionSource)) -> Reader {
    Reader { section, ..SOUND }
}

fn asks(question: fn(&mut SectionQuestion)) -> Reader {
    Reader { question, ..SOUND }
}

fn answers(answer: fn(&mut SectionAnswer, &Vector)) -> Reader {
    Reader { answer, ..SOUND }
}

impl Reader {
    fn answer(self, vector: &Vector) -> SectionAnswer {
        let mut question = vector.question();
        if let Some(section) = &vector.section {
            let mut section = section.clone();
            (self.section)(&mut section);
            if let Ok(bytes) = section.encode(vector.address) {
                question.bytes = Hex(bytes);
            }
        }
        (self.question)(&mut question);
        let mut answer = engine::answer(&question);
        // It was asked about this section, at this place.
        if let (Some(header), Some(own)) = (&mut answer.header, &vector.header) {
            *header = own.clone();
        }
        // The width of its row starts is what it has in the section.
        for (fde, own) in answer.fdes.iter_mut().flatten().zip(&vector.fdes) {
            fde.fre_type = own.fre_type;
        }
        for (lookup, own) in answer.lookups.iter_mut().flatten().zip(&vector.lookups) {
            (lookup.pc, lookup.return_address) = (own.pc, own.return_address);
        }
        (self.answer)(&mut answer, vector);
        answer
    }
}

fn report(reader: Reader) -> VectorsReport {
    report_about(reader, &ALL)
}

fn report_about(reader: Reader, parts: &[SectionPart]) -> VectorsReport {
    report_by(reader, parts, SectionReply::Answer)
}

fn report_by(
    reader: Reader,
    parts: &[SectionPart],
    reply: fn(SectionAnswer) -> SectionReply,
) -> VectorsReport {
    // Small ones, so that the test is quick; each of them by its name.
    let vectors: Vec<&Vector> = SUITE.vectors.iter().filter(|vector| vector.bytes.len() < 20_000).collect();
    let of_bytes = |question: &SectionQuestion| {
        let is_it = |vector: &&&Vector| {
            vector.bytes == question.bytes.0
                && vector.address == question.address.0
                && vector.question().lookups == question.lookups
                && vector.question().steps == question.steps
        };
        reply(reader.answer(vectors.iter().find(is_it).expect("a vector")))
    };
    ask_about("a reader", &vectors, catalogue(), parts, &of_bytes)
}

/// An answer as a reader in C writes it that has numbers of 32 bits in signed variables.
fn with_signs(answer: SectionAnswer) -> SectionReply {
    fn signed(value: &mut Value) {
        match value {
            Value::Object(fields) => fields.values_mut().for_each(signed),
            Value::Array(items) => items.iter_mut().for_each(signed),
            Value::Number(number) => {
                if let Some(number) = number.as_u64().and_then(|number| u32::try_from(number).ok()) {
                    *value = number.cast_signed().into();
                }
            }
            Value::String(text) => {
                let digits = text.split_once('r').map(|(_, rest)| rest);
                let digits = digits.map(|rest| rest.split(|it: char| !it.is_ascii_digit()).next());
                let Some(digits) = digits.flatten() else { return };
                if let Ok(number) = digits.parse::<u32>() {
                    *text = text.replace(digits, &number.cast_signed().to_string());
                }
            }
            Value::Null | Value::Bool(_) => {}
        }
    }
    let mut value = serde_json::to_value(answer).expect("an answer");
    signed(&mut value);
    let (answer, unreadable) = SectionAnswer::read(value).expect("an answer");
    match unreadable.is_empty() {
        true => SectionReply::Answer(answer),
        false => SectionReply::Partly(answer, unreadable),
    }
}

/// A few answers that are those of a mistake do not name it where many sections are refused, for another reason.
#[test]
fn a_name_does_not_rest_on_less_than_is_refused() {
    let refuses = |answer: &mut SectionAnswer, vector: &Vector| {
        *answer = model::answer(&vector.question(), &Ways::from([Way::ScalingIn32Bits]));
        if vector.id.starts_with("default/") && vector.reject.is_none() {
            let reject = Some(Reject { kind: RejectKind::Unspecified, offset: None });
            *answer = SectionAnswer { reject, ..SectionAnswer::default() };
        }
    };
    let names = |report: VectorsReport| -> Vec<String> {
        report.mistakes.into_iter().flat_map(|mistake| mistake.names).collect()
    };
    assert_eq!(names(report(answers(refuses))), [""; 0]);
    let alone = |answer: &mut SectionAnswer, vector: &Vector| {
        *answer = model::answer(&vector.question(), &Ways::from([Way::ScalingIn32Bits]));
    };
    assert!(names(report(answers(alone))).contains(&"scaling-in-32-bits".to_owned()));
}

/// What is out of range is what a mistake has made of it.
#[test]
fn mistakes_that_make_numbers_negative_are_named() {
    for name in ["row-starts-signed", "control-words-sign-extended"] {
        let (_, reader) = mutants().into_iter().find(|(it, _)| *it == name).expect("a mutant");
        let report = report_by(reader, &ALL, with_signs);
        let unreadable = report.differences.iter().filter(|it| it.message.contains("a whole number"));
        assert!(unreadable.count() > 0 || name != "row-starts-signed", "{name}");
        let names = report.mistakes.first().map(|mistake| &mistake.names[..]).unwrap_or_default();
        assert!(names.iter().any(|it| it == name), "{name}: {names:?}");
    }
    // What is no such mistake gets no name.
    for (name, reader) in oddities() {
        let report = report_by(reader, &ALL, with_signs);
        assert!(report.mistakes.is_empty(), "{name}: {:?}", report.mistakes[0].names);
    }
}

fn catalogue() -> &'static Catalogue {
    &SUITE.catalogue
}

fn rows(section: &mut SectionSource) -> impl Iterator<Item = &mut RowSource> {
    section.fdes.iter_mut().flat_map(|fde| &mut fde.rows)
}

/// The words of flex rows.
fn flex(section: &mut SectionSource) -> impl Iterator<Item = &mut RowSource> {
    section.fdes.iter_mut().filter(|fde| fde.fde_type == FdeType::Flex).flat_map(|fde| &mut fde.rows)
}

/// Changes the control words of a flex row; those of RA and FP alone, unless `cfa`.
fn controls(row: &mut RowSource, cfa: bool, change: impl Fn(i64) -> i64) {
    let mut at = 0;
    while at < row.words.len() {
        if row.words[at] == 0 {
            at += 1;
            continue;
        }
        if cfa || at > 0 {
            row.words[at] = change(row.words[at]);
        }
        at += 2;
    }
}

fn mask(width: u8) -> i64 {
    (1 << (8 * width)) - 1
}

fn each_caller(
    answer: &mut SectionAnswer,
    vector: &Vector,
    change: fn(&mut sframe_vectors::Caller, &sframe_vectors::Step),
) {
    for (step, own) in answer.steps.iter_mut().flatten().zip(&vector.steps) {
        if let Some(caller) = &mut step.caller {
            change(caller, own);
        }
    }
}

fn set_byte(question: &mut SectionQuestion, at: usize, change: impl Fn(u8) -> u8) {
    if let Some(byte) = question.bytes.0.get_mut(at) {
        *byte = change(*byte);
    }
}

/// Steps from an outermost frame, of a function without rows or of a row without words, end otherwise.
fn outermost_is_no_end(answer: &mut SectionAnswer, vector: &Vector, without_rows: bool) {
    for (step, own) in answer.steps.iter_mut().flatten().zip(&vector.steps) {
        let pc = own.frame.pc.0.wrapping_sub(u64::from(own.frame.kind == PcKind::Return));
        let covers = |fde: &&Fde| {
            let offset = fde.start.map(|start| pc.wrapping_sub(start.0));
            offset.zip(fde.size).is_some_and(|(offset, size)| offset < size.into())
        };
        let is_of = vector.fdes.iter().find(covers).is_some_and(|fde| fde.rows.is_empty() == without_rows);
        if is_of && step.end == Some(End::Outermost {}) {
            *step = StepAnswer { caller: None, end: Some(End::RaNotSaved {}) };
        }
    }
}

/// Usual mistakes, made without the model, with the name that they have: a table, of which each line is one.
fn mutants() -> Vec<(&'static str, Reader)> {
    vec![
        ("mangled-ignored", reads(|section| rows(section).for_each(|row| row.mangled = false))),
        (
            "key-ignored",
            reads(|section| {
                section.fdes.iter_mut().for_each(|fde| {
                    fde.pauth_key = PauthKey::A;
                    fde.raw.info = fde.raw.info.map(|info| info & !0x20);
                })
            }),
        ),
        ("signal-ignored", reads(|section| section.fdes.iter_mut().for_each(|fde| fde.signal = false))),
        (
            "fde-type-ignored",
            reads(|section| {
                section.fdes.iter_mut().for_each(|fde| {
                    fde.fde_type = FdeType::Default;
                    fde.raw.info2 = None;
                })
            }),
        ),
        (
            "pc-type-ignored",
            reads(|section| {
                section.fdes.iter_mut().for_each(|fde| {
                    fde.pc_type = PcType::Inc;
                })
            }),
        ),
        (
            "base-bit-inverted",
            reads(|section| {
                section
                    .fdes
                    .iter_mut()
                    .filter(|fde| fde.fde_type == FdeType::Default)
                    .flat_map(|fde| &mut fde.rows)
                    .for_each(|row| {
                        row.base =
                            if row.base == BaseRegister::Sp { BaseRegister::Fp } else { BaseRegister::Sp };
                    })
            }),
        ),
        ("base-bit-ignored", reads(|section| rows(section).for_each(|row| row.base = BaseRegister::Sp))),
        (
            "narrow-words-unsigned",
            reads(|section| {
                rows(section).filter(|row| row.width < 4).for_each(|row| {
                    let mask = mask(row.width);
                    row.words.iter_mut().for_each(|word| *word &= mask);
                    row.width = 4;
                })
            }),
        ),
        (
            "control-words-sign-extended",
            reads(|section| {
                flex(section).filter(|row| row.width < 4).for_each(|row| {
                    let unused = 64 - 8 * u32::from(row.width);
                    controls(row, true, |word| word << unused >> unused);
                    row.words.iter_mut().for_each(|word| *word = *word << unused >> unused);
                    row.width = 4;
                })
            }),
        ),
        (
            "row-starts-signed",
            reads(|section| {
                section.fdes.iter_mut().for_each(|fde| {
                    for row in &mut fde.rows {
                        row.start = match fde.fre_type {
                            FreType::Addr1 if row.start > 0x7f => row.start | 0xffff_ff00,
                            FreType::Addr2 if row.start > 0x7fff => row.start | 0xffff_0000,
                            _ => row.start,
                        };
                    }
                    let wide = fde.rows.iter().any(|row| row.start > 0xffff);
                    if wide {
                        fde.fre_type = FreType::Addr4;
                    }
                })
            }),
        ),
        (
            "padding-is-pair",
            reads(|section| {
                flex(section).for_each(|row| {
                    if row.words.len() > 3 && row.words[2] == 0 {
                        row.words.remove(3);
                    }
                })
            }),
        ),
        (
            "deref-ignored",
            // A control word of 0 would be padding; the number of a register that is not used makes it another.
            reads(|section| {
                flex(section)
                    .for_each(|row| controls(row, true, |word| if word == 2 { 40 } else { word & !2 }))
            }),
        ),
        ("deref-always", reads(|section| flex(section).for_each(|row| controls(row, true, |word| word | 2)))),
        (
            "reg-p-ignored",
            reads(|section| flex(section).for_each(|row| controls(row, false, |word| word & !1))),
        ),
        ("fixed-ra-ignored", reads(|section| section.fixed_ra = 0)),
        ("fixed-fp-ignored", reads(|section| section.fixed_fp = 0)),
        ("size-of-16-bits", reads(|section| section.fdes.iter_mut().for_each(|fde| fde.size &= 0xffff))),
        ("aux-header-ignored", asks(|question| set_byte(question, 7, |_| 0))),
        ("fdeoff-ignored", asks(|question| (20..24).for_each(|at| set_byte(question, at, |_| 0)))),
        ("pcrel-ignored", asks(|question| set_byte(question, 3, |flags| flags & !4))),
        (
            "num-fdes-of-8-bits",
            asks(|question| {
                let big = question.bytes.0.first() == Some(&0xde);
                let high = if big { 8..11 } else { 9..12 };
                high.for_each(|at| set_byte(question, at, |_| 0));
            }),
        ),
        (
            "little-endian-only",
            answers(|answer, vector| {
                if vector.bytes.starts_with(&[0xde, 0xe2]) {
                    let reject = Some(Reject { kind: RejectKind::BadMagic, offset: None });
                    *answer = SectionAnswer { reject, ..SectionAnswer::default() };
                }
            }),
        ),
        (
            "return-address-as-pc",
            asks(|question| {
                question.lookups.iter_mut().for_each(|lookup| lookup.return_address = false);
                for step in question.steps.iter_mut().filter(|step| step.frame.kind == PcKind::Return) {
                    step.frame.pc = Address(step.frame.pc.0.wrapping_add(1));
                }
            }),
        ),
        (
            "byte-after-return-address",
            asks(|question| {
                for lookup in question.lookups.iter_mut().filter(|lookup| lookup.return_address) {
                    (lookup.pc, lookup.return_address) = (Address(lookup.pc.0.wrapping_add(1)), false);
                }
                for step in question.steps.iter_mut().filter(|step| step.frame.kind == PcKind::Return) {
                    step.frame.pc = Address(step.frame.pc.0.wrapping_add(2));
                }
            }),
        ),
        (
            "pc-as-return-address",
            asks(|question| {
                question.lookups.iter_mut().for_each(|lookup| lookup.return_address = true);
                for step in question.steps.iter_mut().filter(|step| step.frame.kind == PcKind::Instruction) {
                    step.frame.pc = Address(step.frame.pc.0.wrapping_sub(1));
                }
            }),
        ),
        (
            "codes-never-stripped",
            asks(|question| {
                question.steps.iter_mut().for_each(|step| step.address_bits = None);
            }),
        ),
        (
            "fp-lost",
            answers(|answer, vector| {
                each_caller(answer, vector, |caller, step| caller.fp = step.frame.fp);
            }),
        ),
        (
            "sp-unchanged",
            answers(|answer, vector| {
                each_caller(answer, vector, |caller, step| caller.sp = step.frame.sp);
            }),
        ),
        (
            "signal-caller-as-return",
            answers(|answer, vector| {
                each_caller(answer, vector, |caller, _| caller.kind = PcKind::Return);
            }),
        ),
        (
            "sp-is-cfa",
            answers(|answer, vector| each_caller(answer, vector, |caller, _| caller.sp = caller.cfa)),
        ),
        (
            "pc-type-ignored-in-look-ups",
            Reader {
                section: |section| section.fdes.iter_mut().for_each(|fde| fde.pc_type = PcType::Inc),
                answer: |answer, vector| {
                    for (fde, own) in answer.fdes.iter_mut().flatten().zip(&vector.fdes) {
                        (fde.pc_type, fde.rep_size) = (own.pc_type, own.rep_size);
                    }
                },
                ..SOUND
            },
        ),
        (
            "fixed-offsets-ignored-in-flex-rows",
            answers(|answer, vector| {
                let Some(section) = &vector.section else { return };
                // As a section without them has it.
                let mut section = section.clone();
                (section.fixed_ra, section.fixed_fp) = (0, 0);
                let mut question = vector.question();
                let Ok(bytes) = section.encode(vector.address) else { return };
                question.bytes = Hex(bytes);
                let without = engine::answer(&question);
                let is_flex =
                    |index: usize| vector.fdes.get(index).is_some_and(|fde| fde.fde_type == FdeType::Flex);
                let others = without.fdes.iter().flatten();
                for (index, (fde, other)) in answer.fdes.iter_mut().flatten().zip(others).enumerate() {
                    if is_flex(index) {
                        fde.rows.clone_from(&other.rows);
                    }
                }
                let in_flex = |pc: u64| {
                    let of =
                        |fde: &Fde| fde.start.zip(fde.size).map(|(start, size)| (start.0, u64::from(size)));
                    let covers = |(start, size): (u64, u64)| pc.wrapping_sub(start) < size;
                    vector
                        .fdes
                        .iter()
                        .enumerate()
                        .any(|(index, fde)| is_flex(index) && of(fde).is_some_and(covers))
                };
                let steps = answer.steps.iter_mut().flatten().zip(without.steps.iter().flatten());
                for ((step, other), own) in steps.zip(&vector.steps) {
                    let pc = own.frame.pc.0 - u64::from(own.frame.kind == PcKind::Return);
                    if in_flex(pc) {
                        *step = *other;
                    }
                }
            }),
        ),
        (
            "row-start-never-included",
            Reader {
                section: |section| rows(section).for_each(|row| row.start = row.start.saturating_add(1)),
                answer: |answer, vector| answer.fdes = engine::answer(&vector.question()).fdes,
                ..SOUND
            },
        ),
        ("no-words-is-not-outermost", answers(|answer, vector| outermost_is_no_end(answer, vector, false))),
        ("no-rows-is-not-outermost", answers(|answer, vector| outermost_is_no_end(answer, vector, true))),
        (
            "no-rows-is-no-row",
            answers(|answer, vector| {
                let fdes: Vec<Fde> = answer.fdes.clone().unwrap_or_default();
                answer.fdes.iter_mut().flatten().for_each(|fde| fde.outermost = false);
                for lookup in answer.lookups.iter_mut().flatten() {
                    if let Answer::Outermost(fde) = lookup.answer {
                        lookup.answer = Answer::NoRow(fde);
                    }
                }
                for (step, own) in answer.steps.iter_mut().flatten().zip(&vector.steps) {
                    let pc = own.frame.pc.0 - u64::from(own.frame.kind == PcKind::Return);
                    let covers = |fde: &&Fde| {
                        let offset = fde.start.map(|start| pc.wrapping_sub(start.0));
                        offset.zip(fde.size).is_some_and(|(offset, size)| offset < size.into())
                    };
                    if fdes.iter().find(covers).is_some_and(|fde| fde.outermost) {
                        *step = StepAnswer { caller: None, end: Some(End::NoRow {}) };
                    }
                }
            }),
        ),
    ]
}

/// Mistakes that nobody makes: whatever they are called would be wrong.
fn oddities() -> Vec<(&'static str, Reader)> {
    fn each_rule(answer: &mut SectionAnswer, change: fn(&mut sframe_vectors::Rules)) {
        for row in answer.fdes.iter_mut().flatten().flat_map(|fde| &mut fde.rows) {
            if let Row::Rules(rules) = row {
                change(rules);
            }
        }
    }
    vec![
        (
            "the CFA is 8 too high",
            answers(|answer, _| {
                each_rule(answer, |rules| {
                    if let Some(cfa) = &mut rules.cfa {
                        cfa.offset += 8;
                    }
                })
            }),
        ),
        ("every row is mangled", answers(|answer, _| each_rule(answer, |rules| rules.mangled = true))),
        (
            "rows start 1 too late",
            answers(|answer, _| each_rule(answer, |rules| rules.start = rules.start.wrapping_add(1))),
        ),
        (
            "another number of rows in the header",
            answers(|answer, _| {
                answer.header.iter_mut().for_each(|header| header.num_fres += 1);
            }),
        ),
        (
            "the size is 1 too large",
            answers(|answer, _| {
                answer
                    .fdes
                    .iter_mut()
                    .flatten()
                    .filter_map(|fde| fde.size.as_mut())
                    .for_each(|size| *size = size.wrapping_add(1));
            }),
        ),
        (
            "a row further",
            answers(|answer, _| {
                for lookup in answer.lookups.iter_mut().flatten() {
                    if let Answer::Row(_, row) = &mut lookup.answer {
                        *row += 1;
                    }
                }
            }),
        ),
        (
            "callers are 16 bytes away",
            answers(|answer, vector| {
                each_caller(answer, vector, |caller, _| caller.pc = Address(caller.pc.0.wrapping_add(16)));
            }),
        ),
        (
            "no version 2",
            answers(|answer, vector| {
                if vector.bytes.get(2) == Some(&2) {
                    let reject = Some(Reject { kind: RejectKind::UnknownVersion, offset: None });
                    *answer = SectionAnswer { reject, ..SectionAnswer::default() };
                }
            }),
        ),
    ]
}

#[test]
fn the_engine_makes_no_mistake() {
    let report = report(SOUND);
    assert!(report.differences.is_empty() && report.mistakes.is_empty(), "{:#?}", report.mistakes);
}

/// Those that have no name.
const UNNAMED: [&str; 0] = [];

/// All are noticed, most are named, and none wrongly.
#[test]
fn usual_mistakes_are_noticed_and_named() {
    let (mut named, mut all, mut unnamed) = (0, 0, Vec::new());
    for (name, reader) in mutants() {
        let report = report(reader);
        all += 1;
        assert!(!report.differences.is_empty(), "{name} is not noticed");
        let names: Vec<&[String]> = report.mistakes.iter().map(|mistake| &mistake.names[..]).collect();
        match names.first() {
            Some(names) if names.iter().any(|it| it == name) => named += 1,
            None => unnamed.push(name),
            Some(other) => panic!("{name} is named {other:?}"),
        }
    }
    assert!(all >= 36, "{named} of {all}");
    assert_eq!(unnamed, UNNAMED, "{named} of {all} are named");
}

#[test]
fn what_is_no_usual_mistake_has_no_name() {
    for (name, reader) in oddities() {
        let report = report(reader);
        assert!(!report.differences.is_empty(), "{name} is not noticed");
        assert!(report.mistakes.is_empty(), "{name}: {:?}", report.mistakes[0].names);
    }
}

/// What follows from something that has no name, or is only part of it, is not taken for a usual mistake.
#[test]
fn what_follows_from_another_mistake_has_no_name() {
    // Where no function is found, the first one is not found either.
    let far = answers(|answer, _| {
        for fde in answer.fdes.iter_mut().flatten() {
            fde.start = fde.start.map(|start| Address(start.0.wrapping_add(1 << 32)));
        }
        answer.lookups.iter_mut().flatten().for_each(|lookup| lookup.answer = Answer::NoFde);
        for step in answer.steps.iter_mut().flatten() {
            *step = StepAnswer { caller: None, end: Some(End::NoFde {}) };
        }
    });
    // Who looks for the bit elsewhere does not find it where it is, but does not ignore it.
    let elsewhere = reads(|section| rows(section).for_each(|row| row.mangled = row.width == 4));
    for (name, reader) in [("far", far), ("elsewhere", elsewhere)] {
        let report = report(reader);
        assert!(!report.differences.is_empty(), "{name} is not noticed");
        assert!(
            report.mistakes.iter().all(|it| it.names.is_empty()),
            "{name}: {:?}",
            report.mistakes[0].names
        );
    }
}

/// Rows of one ABI that are read wrongly in whatever way end walks there.
#[test]
fn where_only_walks_end_on_one_abi_no_mistake_is_named() {
    // The CFA's offset is adjusted before it is scaled.
    let far = reads(|section| {
        if section.abi != Abi::S390x {
            return;
        }
        for fde in &mut section.fdes {
            let offset = usize::from(fde.fde_type == FdeType::Flex);
            for row in &mut fde.rows {
                if let Some(word) = row.words.get_mut(offset) {
                    *word += 140;
                    row.width = 4;
                }
            }
        }
    });
    let report = report_about(far, &[SectionPart::Lookups, SectionPart::Steps]);
    assert!(!report.differences.is_empty());
    assert!(report.mistakes.iter().all(|it| it.names.is_empty()), "{:?}", report.mistakes[0].names);
}

/// What follows from a mistake has no line of its own, unless all differences are asked for.
#[test]
fn what_follows_from_a_mistake_is_told_with_it() {
    let report = report(answers(|answer, _| {
        for row in answer.fdes.iter_mut().flatten().flat_map(|fde| &mut fde.rows) {
            if let Row::Rules(rules) = row {
                rules.start ^= 0x40;
            }
        }
        for lookup in answer.lookups.iter_mut().flatten() {
            if let Answer::Row(fde, _) = lookup.answer {
                lookup.answer = Answer::NoRow(fde);
            }
        }
        for step in answer.steps.iter_mut().flatten().filter(|step| step.caller.is_some()) {
            *step = StepAnswer { caller: None, end: Some(End::NoRow {}) };
        }
    }));
    let lines = |volume| {
        let text = report.text(volume).to_string();
        text.lines().filter(|line| line.starts_with("differs")).map(str::to_owned).collect::<Vec<_>>()
    };
    let (short, full) = (lines(Volume::Normal), lines(Volume::Verbose));
    let parts = |lines: &[String], part: &str| lines.iter().filter(|line| line.contains(part)).count();
    assert!(parts(&short, " rows: ") > 0 && parts(&full, " steps: ") > 0, "{full:#?}");
    assert_eq!((parts(&short, " lookups: "), parts(&short, " steps: ")), (0, 0), "{short:#?}");
    assert!(report.text(Volume::Normal).to_string().contains("with it, about the same vectors: "));
}

/// Sections may be read in different ways; that they are is told.
#[test]
fn a_reading_that_is_taken_in_some_sections_only_is_told() {
    let vectors: Vec<&Vector> =
        SUITE.vectors.iter().filter(|vector| vector.id.ends_with("-trailing")).collect();
    let way = || Way::of_name("trailing-bytes/refused").expect("an alternative");
    let some = |question: &SectionQuestion| {
        let ways = if question.bytes.0.get(2) == Some(&3) { Ways::from([way()]) } else { Ways::new() };
        model::answer(question, &ways)
    };
    let all = |question: &SectionQuestion| model::answer(question, &Ways::from([way()]));
    let text = |reader: &dyn Fn(&SectionQuestion) -> SectionAnswer| {
        ask("a reader", &vectors, catalogue(), reader).text(Volume::Normal).to_string()
    };
    assert!(text(&some).contains(" as the vectors read it"), "{}", text(&some));
    assert!(!text(&all).contains(" as the vectors read it"), "{}", text(&all));
}

/// The vectors have the version and the ABI that they are named for.
#[test]
fn names_of_vectors_are_true() {
    for vector in SUITE.vectors.iter().filter(|vector| vector.group() != "opening") {
        let (Some(header), Some((_, name))) = (&vector.header, vector.id.split_once('/')) else { continue };
        let words: Vec<&str> = name.split('-').collect();
        for abi in Abi::ALL {
            if words.contains(&abi.name()) {
                assert_eq!(header.abi, abi, "{}", vector.id);
            }
        }
        if let Some(version) = words[0].strip_prefix('v').and_then(|version| version.parse::<u8>().ok()) {
            assert_eq!(header.version, version, "{}", vector.id);
        }
    }
}

/// It reads neither one byte order only, nor in any way that the text allows.
#[test]
fn a_reader_that_refuses_everything_makes_no_usual_mistake() {
    let report = report(answers(|answer, _| {
        let reject = Some(Reject { kind: RejectKind::BadMagic, offset: None });
        *answer = SectionAnswer { reject, ..SectionAnswer::default() };
    }));
    assert!(!report.differences.is_empty() && report.mistakes.is_empty() && report.readings.is_empty());
}

/// Who is wrong about a vector reads the text in no way there, even if an answer is by chance that of another reading.
#[test]
fn readings_are_told_of_right_answers_only() {
    let readings = |reader| report(reader).readings;
    let ignored = readings(asks(|question| set_byte(question, 3, |flags| flags & !4)));
    assert!(ignored.is_empty(), "{ignored:?}");
    // The answers of such a reader to sections without the flag are right.
    let way = Way::of_name("progress/none").expect("an alternative");
    let vectors: Vec<&Vector> = SUITE.vectors.iter().filter(|vector| vector.group() == "step").collect();
    assert!(!ask_model(&vectors, catalogue(), &Ways::from([way])).readings.is_empty());
}

#[test]
fn a_step_from_a_row_that_cannot_be_read_has_a_malformed_end() {
    let mut found = 0;
    for vector in &SUITE.vectors {
        let answer = engine::answer(&vector.question());
        for (own, step) in vector.steps.iter().zip(answer.steps.iter().flatten()) {
            found += usize::from(own.caller.is_none() && step.end == Some(End::Malformed {}));
        }
    }
    assert!(found > 0);
}

/// A mistake of one ABI is named, with the ABI; so is one whose answers are those of none, by what it is about.
#[test]
fn mistakes_of_one_place_and_of_no_usual_kind_are_told() {
    let some = |ways: &'static [&'static str], only: fn(&SectionQuestion) -> bool| {
        let vectors: Vec<&Vector> =
            SUITE.vectors.iter().filter(|vector| vector.bytes.len() < 20_000).collect();
        let ways: Ways = ways.iter().filter_map(|name| Way::of_name(name)).collect();
        ask("a reader", &vectors, catalogue(), &|question| {
            model::answer(question, if only(question) { &ways } else { &NONE })
        })
    };
    static NONE: Ways = Ways::new();
    let report = some(&["words-unsigned"], |question| question.abi == Some(Abi::S390x));
    let told = report.mistakes.first().expect("a mistake");
    assert_eq!((&*told.names, told.only.as_deref()), (&["words-unsigned".to_owned()][..], Some("on s390x")));
    assert!(report.text(Volume::Normal).to_string().contains("words-unsigned, on s390x alone: "));
    let report = self::report(answers(|answer, vector| {
        if vector.bytes.get(3).is_some_and(|flags| flags & 4 != 0) && vector.bytes.get(2) == Some(&3) {
            for fde in answer.fdes.iter_mut().flatten() {
                fde.start = fde.start.map(|start| Address(start.0.wrapping_add(0x1000_0000)));
            }
        }
    }));
    let told = report.mistakes.first().expect("a mistake");
    assert!(
        told.names.is_empty() && told.clause.ends_with("-flag-pcrel"),
        "{:?} {}",
        told.names,
        told.clause
    );
}
