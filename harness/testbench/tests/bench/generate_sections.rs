//! `generate sections`: the engine reads what is generated; mistakes of readers are noticed, each in a
//! section that has little else; and what the specification leaves open is not judged.

use std::collections::BTreeSet;
use std::path::Path;

use rstest::rstest;
use serde_json::Value;
use sframe_engine::{Abi, Version};
use sframe_judge::examine::stop::StopRequest;
use sframe_judge::external::{ExternalError, SectionReply};
use sframe_search::generate::sections::{
    ALL_PARTS, CampaignOptions, Case, Cause, Demands, EngineReader, Example, Part, Reader, SectionPlan,
    Sections, Strictness, campaign, features, vector_file,
};
use sframe_search::generate::{Found, Search};
use sframe_vectors::{
    Address, Answer, Base, Equation, Fde, PcType, Recovery, Reject, RejectKind, Row, SectionAnswer,
    SectionPart, SectionQuestion, Suite, Vector,
};

use crate::command::bench;
use crate::common::repository;

const ENGINE: &str = env!("CARGO_BIN_EXE_sframe-engine-unwinder");

fn options(sections: u64, open: bool) -> CampaignOptions {
    CampaignOptions {
        search: Search { seed: 0, numbers: 0..sections, stop: StopRequest::default() },
        versions: Vec::new(),
        abis: Vec::new(),
        demands: Demands { open, parts: ALL_PARTS.to_vec(), strictness: Strictness::Exact },
    }
}

/// The engine, with a mistake.
struct Wrong(fn(&SectionQuestion, &mut SectionAnswer));

impl Reader for Wrong {
    fn ask(&mut self, question: &SectionQuestion) -> Result<SectionReply, ExternalError> {
        let SectionReply::Answer(mut answer) = EngineReader.ask(question)? else {
            panic!("the engine answers");
        };
        (self.0)(question, &mut answer);
        Ok(SectionReply::Answer(answer))
    }
}

fn found(mistake: fn(&SectionQuestion, &mut SectionAnswer), options: &CampaignOptions) -> Found<Sections> {
    campaign(&|| Ok(Box::new(Wrong(mistake)) as Box<dyn Reader>), options, &|| ()).expect("answers")
}

/// The causes of what was found, each with its smallest section.
fn causes(found: &Found<Sections>) -> Vec<(&Cause, &Example)> {
    found.causes().filter_map(|(cause, group)| Some((cause, group.first.as_ref()?))).collect()
}

/// A fixed sample has all versions and ABIs, and all that the plans can have; the engine reads it as it is
/// planned.
#[rstest]
#[case(false)]
#[case(true)]
fn the_engine_reads_what_is_planned(#[case] open: bool) {
    let found = found(|_, _| (), &options(800, open));
    assert!(found.groups.is_empty(), "{:#?}", found.groups);
    let counts = found.counts;
    assert_eq!((counts.sections, counts.agree), (800, 800));
    assert!((100..400).contains(&counts.broken), "{}", counts.broken);
    assert!(counts.compared > 20_000, "{}", counts.compared);

    let plans: Vec<SectionPlan> = (0..800).map(|number| SectionPlan::random(0, number, open)).collect();
    let kinds: BTreeSet<_> = plans.iter().map(|plan| (plan.version, plan.abi)).collect();
    let all = Version::ALL.iter().flat_map(|version| Abi::ALL.map(|abi| (*version, abi)));
    assert_eq!(kinds, all.filter(|(version, abi)| version.has_abi(*abi)).collect());
    let seen: BTreeSet<&str> = plans.iter().flat_map(|plan| features(plan, None, None)).collect();
    let always = [
        "mask FDE",
        "flex FDE",
        "key B",
        "mangled RA",
        "signal frame",
        "RA undefined",
        "no rows",
        "late first row",
        "ADDR2",
        "ADDR4",
        "offset size 2",
        "offset size 4",
        "offsets wider than needed",
        "auxiliary header",
        "gap before the FDEs",
        "gap before the rows",
        "rows in another order",
        "unsorted",
        "starts relative to the section",
        "fixed FP",
        "ends at 2^64",
        "starts at 0",
        "high addresses",
        "further than 2 GiB",
        "more than 255 rows",
        "register 16 or more",
        "CFA loaded",
        "adjacent functions",
        "no functions",
        "CFA offset beyond 32 bits",
        "FP in a register",
        "RA loaded from a register",
        "block no power of 2",
    ];
    for feature in always {
        assert!(seen.contains(feature), "{feature}");
    }
    let left_open = ["size 0", "row past the end", "equal row starts", "trailing bytes", "unaligned block"];
    for feature in left_open {
        assert_eq!(seen.contains(feature), open, "{feature}");
    }
}

/// Each rule that a section can break is broken in some.
#[test]
fn each_rule_is_broken() {
    let plans: Vec<SectionPlan> = (0..4000).map(|number| SectionPlan::random(0, number, false)).collect();
    let headers: BTreeSet<_> =
        plans.iter().filter_map(|plan| plan.broken).map(|fault| fault.rule().name).collect();
    let functions = || plans.iter().flat_map(|plan| &plan.functions);
    let fdes: BTreeSet<_> =
        functions().filter_map(|function| function.broken).map(|fault| fault.rule().name).collect();
    let rows = functions().flat_map(|function| &function.rows);
    let rows: BTreeSet<_> = rows.filter_map(|row| row.broken).map(|fault| fault.rule().name).collect();
    assert_eq!((headers.len(), fdes.len(), rows.len()), (10, 5, 6), "{headers:?} {fdes:?} {rows:?}");
}

fn fdes(answer: &mut SectionAnswer) -> &mut [Fde] {
    answer.fdes.as_deref_mut().unwrap_or_default()
}

fn change_rules(answer: &mut SectionAnswer, change: fn(&mut sframe_vectors::Rules)) {
    for row in fdes(answer).iter_mut().flat_map(|fde| &mut fde.rows) {
        if let Row::Rules(rules) = row {
            change(rules);
        }
    }
}

fn widest(byte: i64) -> i64 {
    i64::from(u8::try_from(byte & 0xff).unwrap_or_default())
}

/// Mistakes that readers make, with the part, the field and what the smallest section must have.
#[rstest]
#[case::flags(|_: &SectionQuestion, it: &mut SectionAnswer| {
    if let Some(header) = &mut it.header { header.flags &= 1; }
}, Part::Header, "flags", &[], true)]
#[case::auxiliary(|_: &SectionQuestion, it: &mut SectionAnswer| {
    if let Some(header) = &mut it.header { header.aux_len = header.aux_len.min(254); }
}, Part::Header, "aux_len", &["auxiliary header"], false)]
#[case::one_byte_offsets_are_unsigned(|_: &SectionQuestion, it: &mut SectionAnswer| change_rules(it, |rules| {
    if let Some(cfa) = &mut rules.cfa && (-128..0).contains(&cfa.offset) { cfa.offset = widest(cfa.offset); }
}), Part::Fde, "cfa", &["negative CFA offset"], true)]
#[case::far_offsets_are_cut(|_: &SectionQuestion, it: &mut SectionAnswer| change_rules(it, |rules| {
    if let Some(cfa) = &mut rules.cfa && cfa.offset > 1_000_000 { cfa.offset &= 0xffff; }
}), Part::Fde, "cfa", &["offset size 4"], true)]
#[case::fp_is_never_saved(|_: &SectionQuestion, it: &mut SectionAnswer| change_rules(it, |rules| {
    rules.fp = rules.fp.map(|_| Recovery::Unchanged);
}), Part::Fde, "fp", &["FP saved"], true)]
#[case::registers_above_15(|_: &SectionQuestion, it: &mut SectionAnswer| change_rules(it, |rules| {
    if let Recovery::Rule(Equation { base: Base::Register(number @ 16..), .. }) = &mut rules.ra { *number -= 16; }
}), Part::Fde, "ra", &["register 16 or more"], true)]
#[case::mangled(|_: &SectionQuestion, it: &mut SectionAnswer| change_rules(it, |rules| rules.mangled = false), Part::Fde, "mangled", &["mangled RA"], true)]
#[case::keys(|_: &SectionQuestion, it: &mut SectionAnswer| fdes(it).iter_mut().for_each(|fde| fde.pauth_key = sframe_vectors::PauthKey::A),
    Part::Fde, "pauth_key", &["key B"], true)]
#[case::signals(|_: &SectionQuestion, it: &mut SectionAnswer| fdes(it).iter_mut().for_each(|fde| fde.signal = false), Part::Fde, "signal",
    &["signal frame"], true)]
#[case::outermost(|_: &SectionQuestion, it: &mut SectionAnswer| fdes(it).iter_mut().for_each(|fde| fde.outermost = false), Part::Fde, "outermost",
    &["no rows"], true)]
#[case::far_functions(|_: &SectionQuestion, it: &mut SectionAnswer| for fde in fdes(it) {
    if let Some(start) = &mut fde.start { start.0 &= 0xffff_ffff_ffff; }
}, Part::Fde, "start", &["high addresses"], true)]
#[case::many_rows(|_: &SectionQuestion, it: &mut SectionAnswer| fdes(it).iter_mut().for_each(|fde| fde.rows.truncate(255)), Part::Fde, "the number of rows, N, has another N",
    &["more than 255 rows"], false)]
#[case::blocks(|_: &SectionQuestion, it: &mut SectionAnswer| {
    let masks: Vec<bool> = fdes(it).iter().map(|fde| fde.pc_type == PcType::Mask).collect();
    for lookup in it.lookups.iter_mut().flatten() {
        if let Answer::Row(fde, row) = &mut lookup.answer && masks[*fde] { *row = 0; }
    }
}, Part::Lookup, "row", &["mask FDE", "several rows"], true)]
#[case::return_addresses(|_: &SectionQuestion, it: &mut SectionAnswer| for lookup in it.lookups.iter_mut().flatten() {
    if lookup.return_address && lookup.answer == Answer::NoFde { lookup.answer = Answer::NoRow(0); }
}, Part::Lookup, "fde, row", &[], true)]
#[case::gaps(|_: &SectionQuestion, it: &mut SectionAnswer| for lookup in it.lookups.iter_mut().flatten() {
    if let Answer::NoRow(_) = lookup.answer { lookup.answer = Answer::NoFde; }
}, Part::Lookup, "fde, row", &["late first row"], true)]
#[case::codes_stay(|question: &SectionQuestion, it: &mut SectionAnswer| for (step, asked) in it.steps.iter_mut().flatten().zip(&question.steps) {
    if let (Some(caller), Some(_)) = (&mut step.caller, asked.address_bits) { caller.pc.0 |= 1 << 63; }
}, Part::Step, "caller.pc", &["mangled RA"], true)]
#[case::interrupted(|_: &SectionQuestion, it: &mut SectionAnswer| for caller in it.steps.iter_mut().flatten().filter_map(|step| step.caller.as_mut()) {
    caller.kind = sframe_vectors::PcKind::Return;
}, Part::Step, "caller.kind", &["signal frame"], true)]
#[case::ends(|_: &SectionQuestion, it: &mut SectionAnswer| for step in it.steps.iter_mut().flatten() {
    if step.end == Some(sframe_vectors::End::Outermost {}) { step.end = Some(sframe_vectors::End::NoRow {}); }
}, Part::Step, "end", &[], true)]
#[case::no_steps(|_: &SectionQuestion, it: &mut SectionAnswer| it.steps = None, Part::Step, "none instead of an answer", &[], true)]
#[case::auxiliary_is_refused(|_: &SectionQuestion, it: &mut SectionAnswer| if it.header.as_ref().is_some_and(|header| header.aux_len > 0) {
    let reject = Some(Reject { kind: RejectKind::Unspecified, offset: None });
    *it = SectionAnswer { reject, ..SectionAnswer::default() };
}, Part::Opening, "a rejection (unspecified) instead of an answer", &["auxiliary header"], true)]
#[case::reasons(|_: &SectionQuestion, it: &mut SectionAnswer| if let Some(reject) = &mut it.reject && reject.kind == RejectKind::UnknownAbi { reject.kind = RejectKind::BadMagic; }, Part::Opening, "reject.kind", &["unknown ABI"], true)]
#[case::nothing_is_checked(|_: &SectionQuestion, it: &mut SectionAnswer| for fde in fdes(it) {
    fde.rows.retain(|row| !matches!(row, Row::Reject(_)));
}, Part::Fde, "no such row instead of a rejection (", &[], false)]
fn a_mistake_is_noticed(
    #[case] mistake: fn(&SectionQuestion, &mut SectionAnswer),
    #[case] part: Part,
    #[case] field: &str,
    #[case] with: &[&'static str],
    #[case] alone: bool,
) {
    let found = found(mistake, &options(400, false));
    let causes = causes(&found);
    let (cause, example) = causes
        .iter()
        .find(|(cause, _)| cause.part == part && cause.field.starts_with(field))
        .expect("the mistake");
    assert!(with.iter().all(|feature| cause.features.contains(feature)), "{cause}");
    assert!(found.counts.agree < found.counts.sections);
    if alone {
        // Few causes for one mistake, and nothing that has not to do with it.
        assert!(
            causes.len() <= 5,
            "{:#?}",
            causes.iter().map(|(cause, _)| cause.to_string()).collect::<Vec<_>>()
        );
        assert!(example.bytes <= 100, "{} bytes: {cause}", example.bytes);
        assert!(cause.features.len() <= with.len() + 3, "{cause}");
    }
}

/// Reduced sections can be added to the vectors: they load, and the engine answers as they say.
#[test]
fn what_is_printed_is_a_vector() {
    let root = repository();
    let suite = Suite::load(&root.join("corpus/vectors"), &root.join("specs/clauses.yaml")).expect("vectors");
    let mut files = Vec::new();
    for number in 0..300 {
        let plan = SectionPlan::random(3, number, true);
        if plan.functions.iter().any(|function| function.rows.len() > 64) {
            // A vector asks about all rows.
            continue;
        }
        let case = Case::new(plan, "generated/it", true).expect("a section");
        files.push(vector_file(&case.vector, "it", r#"A "generated" section."#));
    }
    let found = found(|_, it| change_rules(it, |rules| rules.start += 1), &options(100, false));
    let reduced: Vec<String> =
        causes(&found).into_iter().filter_map(|(_, example)| example.vector.clone()).collect();
    assert!(!reduced.is_empty());
    for file in &files {
        load(file, "it", &suite);
    }
    for file in &reduced {
        let name = file.lines().next().and_then(|line| line.strip_prefix("name: ")).expect("a name");
        let vector = load(file, name, &suite);
        assert!(vector.fdes.len() <= 2 && vector.bytes.len() < 100, "{file}");
    }
}

fn load(file: &str, name: &str, suite: &Suite) -> Vector {
    let path = format!("generated/{name}.yaml");
    let vector = Vector::parse(Path::new(&path), file, &suite.catalogue);
    let vector = vector.unwrap_or_else(|mistakes| panic!("{mistakes:?}\n{file}"));
    let answer = sframe_vectors::engine::answer(&vector.question());
    let compared = sframe_vectors::compare(&vector, &answer, &ALL_PARTS);
    assert!(compared.differences.is_empty(), "{:?}\n{file}", compared.differences);
    vector
}

/// A reader other than the engine need not notice what is broken; a wrong answer about the rest counts.
#[test]
fn only_the_engine_has_to_notice_what_is_broken() {
    let forgives: fn(&SectionQuestion, &mut SectionAnswer) = |_, it| {
        for fde in fdes(it) {
            fde.rows.retain(|row| !matches!(row, Row::Reject(_)));
        }
        for lookup in it.lookups.iter_mut().flatten() {
            if let Answer::Reject(_) = lookup.answer {
                lookup.answer = Answer::NoFde;
            }
        }
    };
    let mut answers = options(400, false);
    answers.demands.strictness = Strictness::Answers;
    let others = found(forgives, &answers);
    assert!(others.groups.is_empty(), "{:#?}", others.groups);
    assert!(!others.counts.unnoticed.is_empty());
    assert!(!causes(&found(forgives, &options(400, false))).is_empty());
    let refuses: fn(&SectionQuestion, &mut SectionAnswer) = |_, it| {
        let broken =
            |fde: &Fde| fde.reject.is_some() || fde.rows.iter().any(|row| matches!(row, Row::Reject(_)));
        if fdes(it).iter().any(broken) {
            let reject = Some(Reject { kind: RejectKind::Unspecified, offset: None });
            *it = SectionAnswer { reject, ..SectionAnswer::default() };
        }
    };
    assert!(found(refuses, &answers).groups.is_empty());
    let moves: fn(&SectionQuestion, &mut SectionAnswer) = |_, it| {
        if let Some(Fde { start: Some(Address(start)), .. }) = fdes(it).first_mut() {
            *start ^= 0x100;
        }
    };
    assert!(!causes(&found(moves, &answers)).is_empty());
}

/// Only the parts that a reader answers are compared.
#[test]
fn parts_that_are_not_answered_are_not_judged() {
    let silent: fn(&SectionQuestion, &mut SectionAnswer) = |_, it| (it.steps, it.header) = (None, None);
    let mut some = options(200, false);
    some.demands.parts = vec![SectionPart::Fdes, SectionPart::Lookups];
    let found = found(silent, &some);
    assert!(found.groups.is_empty(), "{:#?}", found.groups);
    assert_eq!(found.counts.parts_not_answered, ["header", "steps"]);
}

/// The writer of the engine is judged, too: it has no way to write two rows of one start in different
/// widths.
#[test]
fn what_the_writer_writes_is_compared() {
    let plan = (0..)
        .map(|number| SectionPlan::random(0, number, false))
        .find(|plan| !plan.is_broken() && plan.functions.iter().any(|function| function.rows.len() > 1))
        .expect("a plan");
    let mut wrong = plan.clone();
    assert!(Case::new(plan, "it", false).is_ok());
    let function = wrong.functions.iter_mut().find(|function| function.rows.len() > 1).expect("rows");
    let rules = function.rows.iter().find_map(|row| row.rules).expect("rules");
    for (row, width) in function.rows.iter_mut().zip([2, 4]) {
        (row.start, row.width, row.rules) = (0, width, Some(rules));
    }
    let error = Case::new(wrong, "it", false).expect_err("a contradiction");
    assert!(error.to_string().contains("differ from offset"), "{error}");
}

fn generate(more: &[&str]) -> (Option<i32>, String) {
    let output = bench(&[&["generate", "sections"], more].concat());
    let text = String::from_utf8(output.stdout).expect("text");
    (output.status.code(), text + &String::from_utf8_lossy(&output.stderr))
}

fn shell(script: &str) -> String {
    shlex::try_join(["sh", "-c", script]).expect("no zeroes")
}

/// What a script starts with: it says who it is, and gives `$id` of the next question.
fn hello(parts: &str) -> String {
    format!(
        r#"next() {{ read line || exit 0; rest=${{line#*:}}; id=${{rest%%,*}}; }}
           next; echo '{{"id":'$id',"hello":{{"protocol":1,"name":"shell","version":"1","data":"sframe","section":[{parts}]}}}}'"#
    )
}

#[test]
fn the_command_says_how_it_went() {
    let (status, text) = generate(&["--sections", "300"]);
    assert_eq!(status, Some(0), "{text}");
    let (status, text) = generate(&["--sections", "300", "--json", "--unwinder", ENGINE, "--abi", "s390x"]);
    assert_eq!(status, Some(0), "{text}");
    let report: Value = serde_json::from_str(&text).expect("a report");
    assert_eq!(report["name"], "sframe-engine");
    assert!(report["sections"].as_u64().is_some_and(|sections| (20..200).contains(&sections)), "{report:#}");
    assert_eq!(report["sections"], report["agree"]);

    // It ends with the first question.
    let fdes = hello(r#""fdes""#);
    let dies = shell(&format!("{fdes}; next; echo broken: main.c:7: assertion >&2; exit 3"));
    let (status, text) = generate(&["--sections", "10", "--format", "2", "--jobs", "1", "--unwinder", &dies]);
    assert_eq!(status, Some(1), "{text}");
    assert!(text.contains("process: crashed at main.c:7"), "{text}");
    // It can't read anything.
    let script =
        format!(r#"{fdes}; while true; do next; echo '{{"id":'$id',"unsupported":"nothing"}}'; done"#);
    let (status, text) = generate(&["--sections", "10", "--jobs", "1", "--unwinder", &shell(&script)]);
    assert_eq!(status, Some(3), "{text}");
    assert!(text.contains("10 sections skipped: nothing"), "{text}");
    // It answers nothing about sections, or is none.
    let (status, text) = generate(&["--unwinder", &shell(&format!("{}; cat >/dev/null", hello("")))]);
    assert_eq!(status, Some(3), "{text}");
    let (status, text) = generate(&["--unwinder", "/none"]);
    assert_eq!(status, Some(2), "{text}");
    let (status, text) = generate(&["--format", "4"]);
    assert_eq!(status, Some(2), "{text}");
    let (status, text) = generate(&["--sections", "0"]);
    assert_eq!(status, Some(3), "{text}");
}

#[test]
fn a_seed_gives_the_same_sections_again() {
    let first = generate(&["--print", "--seed", "4", "--first", "9"]);
    assert_eq!(first.0, Some(0));
    assert_eq!(first, generate(&["--print", "--seed", "4", "--first", "9"]));
    assert_ne!(first, generate(&["--print", "--seed", "5", "--first", "9"]));
    assert!(first.1.contains("name: generated-4-9\n"), "{}", first.1);
}
