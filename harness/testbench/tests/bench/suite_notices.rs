//! The suite tests itself: unwinders, sections and specs with deliberate faults
//! must fail, and with the matching verdict.

use std::collections::BTreeSet;
use std::path::Path;

use sframe_corpus::corpus::Manifest;
use sframe_elf::object_file::ObjectFile;
use sframe_engine::{
    Abi, Base, DwarfRegister, Fde, InstructionPointer, LookupAddress, Mangled, PauthKey, PauthMask, Pc,
    PcType, Recovery, RecoveryRule,
};
use sframe_engine::{ReturnAddress, Step, StepError};
use sframe_judge::examine::counts::Counts;
use sframe_judge::examine::{Examination, ExamineOptions, broken_reason, examine};
use sframe_judge::finding::Finding;
use sframe_judge::target::Target;
use sframe_judge::target::files::Files;
use sframe_judge::truth::cross_check::Traces;
use sframe_judge::unwind::{Backtrace, End, Frame, Unwinder, Viewpoint, sframe_unwinder};
use sframe_judge::vocabulary::{Trace, Verdict};
use sframe_machine::{Options, Pattern, WitnessFaults};
use sframe_suite::case::{CaseReport, Outcome};
use sframe_suite::suite::{Filter, Suite, SuiteError};
use sha2::{Digest, Sha256};

use crate::command::link_origins;
use crate::common;
use crate::doctor::{
    Changed, adds_8_to_the_cfa, build, check, patch_first_row, rows_of, section_offset, stride,
};

fn verdicts(examination: &Examination) -> BTreeSet<String> {
    examination.findings.iter().map(|finding| finding.verdict.to_string()).collect()
}

fn skips_the_last_frame<'a>(target: &Target<'a>) -> Box<dyn Unwinder + 'a> {
    let change = |backtrace: &mut Backtrace| {
        if backtrace.frames.len() > 1 {
            backtrace.frames.pop();
        }
    };
    Box::new(Changed { inner: sframe_unwinder(target), change })
}

fn claims_no_fde<'a>(target: &Target<'a>) -> Box<dyn Unwinder + 'a> {
    let change = |backtrace: &mut Backtrace| {
        if backtrace.frames.len() > 3 {
            backtrace.frames.truncate(2);
            backtrace.end = End::Failed(StepError::NoFde);
        }
    };
    Box::new(Changed { inner: sframe_unwinder(target), change })
}

fn answers_nothing<'a>(target: &Target<'a>) -> Box<dyn Unwinder + 'a> {
    let change = |backtrace: &mut Backtrace| backtrace.frames.clear();
    Box::new(Changed { inner: sframe_unwinder(target), change })
}

fn invents_a_frame<'a>(target: &Target<'a>) -> Box<dyn Unwinder + 'a> {
    let change = |backtrace: &mut Backtrace| {
        for _ in 0..2 {
            backtrace.frames.push(Frame {
                pc: 0x1234,
                cfa: Some(8),
                fp: Ok(0),
                mangled: None,
                interrupted: None,
            });
        }
        backtrace.end = End::Outermost;
    };
    Box::new(Changed { inner: sframe_unwinder(target), change })
}

/// A walk with the engine's parts, wrongly combined.
struct Wrong<'a> {
    section: sframe_engine::Section<'a>,
    address: fn(Pc) -> LookupAddress,
    fde: fn(Fde) -> Fde,
}

impl Unwinder for Wrong<'_> {
    fn unwind(&mut self, viewpoint: &Viewpoint<'_>, backtrace: &mut Backtrace) {
        let abi = self.section.header().abi;
        let registers = |register: DwarfRegister| viewpoint.register(register.0);
        let memory = |address: u64| viewpoint.memory.read_u64(address);
        let (pc, sp, fp) = (InstructionPointer(viewpoint.pc), viewpoint.sp, viewpoint.fp);
        let mut frame = sframe_engine::Frame::topmost(pc, sp, fp);
        let mut topmost = Some(&registers);
        backtrace.end = loop {
            let address = (self.address)(frame.pc);
            let step = || {
                let fde = self.section.lookup_fde(address)?.ok_or(StepError::NoFde)?;
                let fde = (self.fde)(fde);
                let found = self.section.lookup_row(&fde, address)?.ok_or(StepError::NoRow)?;
                found.apply(abi, &frame, topmost, &memory, PauthMask::for_address_bits(39))
            };
            let step = step();
            topmost = None;
            let cfa = match &step {
                Ok(Step::Caller(caller)) => Some(caller.cfa),
                _ => None,
            };
            backtrace.frames.push(Frame {
                pc: frame.pc.get(),
                cfa,
                fp: Ok(frame.fp),
                mangled: None,
                interrupted: None,
            });
            match step.and_then(|step| match step {
                Step::Caller(caller) => caller.frame().map(Some),
                Step::Outermost => Ok(None),
            }) {
                Ok(Some(caller)) => frame = caller,
                Ok(None) => break End::Outermost,
                Err(error) => break End::Failed(error),
            }
        };
    }
}

fn section_of<'a>(target: &Target<'a>) -> sframe_engine::Section<'a> {
    target.executable().section.clone().expect("a section")
}

fn put_together_rightly<'a>(target: &Target<'a>) -> Box<dyn Unwinder + 'a> {
    Box::new(Wrong { section: section_of(target), address: Into::into, fde: |fde| fde })
}

fn forgets_the_minus_one<'a>(target: &Target<'a>) -> Box<dyn Unwinder + 'a> {
    let address = |pc: Pc| InstructionPointer(pc.get()).into();
    Box::new(Wrong { section: section_of(target), address, fde: |fde| fde })
}

fn always_subtracts_one<'a>(target: &Target<'a>) -> Box<dyn Unwinder + 'a> {
    let address = |pc: Pc| ReturnAddress(pc.get()).into();
    Box::new(Wrong { section: section_of(target), address, fde: |fde| fde })
}

fn ignores_the_mask<'a>(target: &Target<'a>) -> Box<dyn Unwinder + 'a> {
    let fde = |fde: Fde| Fde { pc_type: PcType::Inc, ..fde };
    Box::new(Wrong { section: section_of(target), address: Into::into, fde })
}

#[test]
fn the_walk_that_the_wrong_ones_are_made_of_is_right() {
    for name in
        ["gnu-2.40/aarch64/noreturn_call.O2", "gnu-2.47/amd64/plt.O2-shared", "gnu-2.44/amd64/recursion.O0"]
    {
        let examination = check(&build(name), &put_together_rightly);
        assert!(examination.findings.is_empty(), "{name}: {:?}", verdicts(&examination));
        assert!(examination.agree > 1000, "{name}");
    }
}

#[test]
fn an_engine_that_adds_8_to_the_cfa_is_wrong_about_the_cfa() {
    for abi in Abi::ALL {
        let examination = check(&build(&format!("gnu-2.47/{abi}/recursion.O2")), &adds_8_to_the_cfa);
        assert_eq!(verdicts(&examination), BTreeSet::from(["wrong-cfa".to_owned()]), "{abi}");
        assert!(examination.findings.iter().all(|finding| finding.frame == Some(0)), "{abi}");
    }
}

#[test]
fn an_engine_that_skips_the_last_frame_truncates() {
    let examination = check(&build("gnu-2.47/amd64/recursion.O2"), &skips_the_last_frame);
    assert_eq!(verdicts(&examination), BTreeSet::from(["truncated".to_owned()]));
    assert!(examination.agree < examination.counts.comparisons / 10);
}

/// Claiming that there is no FDE does not help: the bench looks for itself.
#[test]
fn an_engine_that_stops_early_and_claims_that_an_fde_is_missing_truncates() {
    let examination = check(&build("gnu-2.44/amd64/recursion.O2"), &claims_no_fde);
    assert_eq!(verdicts(&examination), BTreeSet::from(["truncated".to_owned()]));
}

#[test]
fn an_engine_that_answers_nothing_truncates() {
    let examination = check(&build("gnu-2.44/amd64/leaf.O2"), &answers_nothing);
    assert_eq!(verdicts(&examination), BTreeSet::from(["truncated".to_owned()]));
    assert_eq!(examination.agree, 0);
}

#[test]
fn an_engine_that_goes_on_beyond_the_entry_function_has_extra_frames() {
    let examination = check(&build("gnu-2.47/amd64/leaf.O2"), &invents_a_frame);
    assert_eq!(verdicts(&examination), BTreeSet::from(["extra-frames".to_owned()]));
}

/// The return address of a call that never returns is in the next function.
#[test]
fn an_engine_that_forgets_ra_minus_1_finds_the_wrong_row_for_a_call_at_the_end() {
    for abi in Abi::ALL {
        let bytes = build(&format!("gnu-2.47/{abi}/noreturn_call.O2"));
        let examination = check(&bytes, &forgets_the_minus_one);
        let callers: Vec<_> = examination.findings.iter().filter(|finding| finding.frame > Some(0)).collect();
        assert!(!callers.is_empty(), "{abi}: only whole-stack walks can notice, and they must");
        assert_eq!(callers.len(), examination.findings.len(), "{abi}: topmost frames are looked up rightly");
    }
}

#[test]
fn an_engine_that_subtracts_1_in_the_topmost_frame_too_is_wrong_where_rows_start() {
    let examination = check(&build("gnu-2.47/amd64/recursion.O2"), &always_subtracts_one);
    assert!(verdicts(&examination).contains("wrong-cfa"), "{:?}", verdicts(&examination));
}

#[test]
fn an_engine_that_ignores_the_mask_type_is_wrong_within_the_plt() {
    for name in
        ["gnu-2.40/amd64/plt.O2-shared", "gnu-2.44/amd64/plt.O2-shared", "gnu-2.47/amd64/plt.O2-shared"]
    {
        let examination = check(&build(name), &ignores_the_mask);
        assert!(verdicts(&examination).contains("wrong-cfa"), "{name}: {:?}", verdicts(&examination));
    }
}

#[test]
fn a_section_with_one_row_patched_is_found_with_function_pc_row_expected_and_got() {
    let mut bytes = build("gnu-2.44/amd64/recursion.O2");
    patch_first_row(&mut bytes, "leaf");
    let examination = check(&bytes, &sframe_unwinder);
    assert_eq!(verdicts(&examination), BTreeSet::from(["wrong-cfa".to_owned()]));
    let target = Target::open(&bytes).expect("a target");
    let address = target.executable().subject.symbols.addresses_of("leaf")[0];
    for finding in &examination.findings {
        assert_eq!(finding.function.as_deref(), Some("leaf"));
        let row = finding.row.as_ref().expect("the row");
        assert_eq!(row.start.0, 0);
        assert!(row.rules.to_string().contains("CFA = SP+16"), "{}", row.rules);
        let number = |text: &str| u64::from_str_radix(text.trim_start_matches("0x"), 16).expect("a number");
        assert_eq!(number(&finding.got.to_string()), number(&finding.expected.to_string()) + 8);
        assert!(finding.hits > 0);
    }
    assert_eq!(examination.findings[0].pc.expect("the pc").0, address);
}

/// Checks a build in which one row is changed for FP. That is right only by
/// luck, if it is read as `luck` describes.
fn assert_luck_with_fp(id: &str, function: &str, start: u32, fp: Recovery, luck: &str) {
    let mut bytes = build(id);
    let written = {
        let target = Target::open(&bytes).expect("a target");
        let section = section_of(&target);
        let at = target.addresses_of(function)[0].0;
        let mut owned = sframe_engine::write::Section::from_read(&section).expect("a sound section");
        let mut functions = owned.functions.iter_mut();
        let of = functions.find(|of| of.start == at).expect("an FDE");
        let row = of.rows.iter_mut().find(|row| row.start == start).expect("a row");
        assert_ne!(row.fp, fp);
        row.fp = fp;
        owned.write(section.address()).expect("a section")
    };
    let is_noticed = |bytes: &[u8]| {
        check(bytes, &sframe_unwinder).findings.iter().any(|finding| {
            finding.verdict == Verdict::ByLuck
                && finding.function.as_deref() == Some(function)
                && finding.got.to_string().contains(luck)
        })
    };
    assert!(!is_noticed(&bytes), "{id}");
    let offset = section_offset(&bytes);
    bytes[offset..offset + written.len()].copy_from_slice(&written);
    assert!(is_noticed(&bytes), "{id}");
}

#[test]
fn fp_where_another_register_of_the_same_value_was_saved_is_luck() {
    let fp = Recovery::Rule(RecoveryRule { base: Base::Cfa, offset: -40, dereference: true });
    let id = "gnu-2.47/amd64/many_epilogues.O2";
    assert_luck_with_fp(id, "out_of_loops", 0xd8, fp, "where not FP but something else was stored");
}

/// In between, the function calls others, which save and restore FP.
#[test]
fn fp_that_was_overwritten_before_a_call_is_luck_after_it() {
    let id = "gnu-2.47/amd64/large_frames.O2";
    assert_luck_with_fp(id, "frame_2m", 0x3f, Recovery::Unchanged, "FP, which the function has overwritten");
}

#[test]
fn fp_in_memory_off_the_stack_that_nobody_has_saved_it_to_is_luck() {
    let register = Base::Register(DwarfRegister(1));
    let fp = Recovery::Rule(RecoveryRule { base: register, offset: 24, dereference: true });
    let id = "gnu-2.47/s390x/flex_rows.O2-pie";
    assert_luck_with_fp(id, "saved_elsewhere", 0x1c, fp, "where nothing was stored");
}

#[test]
fn a_section_whose_fdes_are_gone_leaves_nothing_compared() {
    let mut bytes = build("gnu-2.44/amd64/leaf.O2");
    let offset = section_offset(&bytes);
    bytes[offset + 8..offset + 12].fill(0); // sfh_num_fdes
    let examination = check(&bytes, &sframe_unwinder);
    assert_eq!(examination.coverage.instructions_covered, 0);
    let Counts { instructions, comparisons, nothing_compared, frames, walk_ends, .. } = examination.counts;
    assert_eq!((comparisons, examination.agree, frames), (0, 0, 0));
    assert_eq!((walk_ends.no_fde, nothing_compared), (instructions, instructions));
}

/// A frame is derived once, and again if something has changed.
#[test]
fn frames_that_stand_unchanged_are_not_derived() {
    let examination = check(&build("gnu-2.47/amd64/recursion.O2"), &sframe_unwinder);
    let Counts { comparisons, frames, frames_derived, .. } = examination.counts;
    assert!(comparisons <= frames_derived && frames_derived < 2 * comparisons, "{frames_derived}");
    assert!(frames > 4 * frames_derived, "{frames}, {frames_derived}");
}

/// A wrong row is one finding, at however many depths it is seen.
#[test]
fn a_wrong_row_is_one_finding_for_each_place_at_any_depth() {
    let bytes = build("gnu-2.44/amd64/recursion.O0");
    let mut most = 0;
    for at in rows_of(&bytes, "main") {
        let mut bytes = bytes.clone();
        bytes[at] ^= 8;
        if Target::open(&bytes).is_err() {
            continue;
        }
        let examination = check(&bytes, &sframe_unwinder);
        let places = examination.findings.iter().map(|finding| (finding.verdict, finding.pc));
        assert_eq!(places.collect::<BTreeSet<_>>().len(), examination.findings.len());
        for finding in &examination.findings {
            let frame = finding.frame.unwrap_or(0);
            assert!(
                frame == 0 || finding.message.to_string().contains(&format!("(frame {frame})")),
                "{}",
                finding.message
            );
            most = most.max(finding.hits);
        }
    }
    // It was seen at each level of the recursion.
    assert!(most > 1000, "{most}");
}

/// A build with its libraries.
fn files(id: &str) -> Files {
    let corpus = common::repository().join("corpus");
    let manifest = Manifest::load(&corpus).expect("the manifest");
    let build = manifest.get(id).expect("the build");
    assert!(!build.libraries.is_empty(), "{id}");
    build.files(&corpus).expect("its files")
}

/// The library whose name ends in `end`.
fn library<'f>(files: &'f mut Files, end: &str) -> &'f mut Vec<u8> {
    let found = files.libraries.iter_mut().find(|(name, _)| name.ends_with(end));
    &mut found.expect("a library").1
}

fn check_files(files: &Files) -> Examination {
    let target = Target::open_files(files).expect("a target");
    let mut unwinder = sframe_unwinder(&target);
    examine(&target, &mut *unwinder, &ExamineOptions::default(), &Options::default()).expect("a machine")
}

/// Adds 8 to the CFA offset of the row that covers a function's start, in an
/// image of any kind. Returns the function's address.
fn patch_image(bytes: &mut [u8], function: &str) -> u64 {
    let (at, address) = {
        let subject = ObjectFile::parse(&*bytes).expect("an ELF file");
        let sframe = subject.sframe.expect("a section");
        let section = sframe_engine::Section::parse(sframe.data, sframe.address).expect("a section");
        let address = subject.symbols.addresses_of(function)[0];
        let fde = section.lookup_fde(InstructionPointer(address)).expect("sound").expect("an FDE");
        let start = sframe.data.as_ptr() as usize - bytes.as_ptr() as usize;
        (start + fde.rows_offset + fde.fre_type.width() + 1, address)
    };
    // On s390x it is stored in eighths.
    let is_s390x = bytes[18..20] == [0, 22];
    bytes[at] += if is_s390x { 1 } else { 8 };
    address
}

#[test]
fn a_wrong_row_is_blamed_on_its_image() {
    for (build, variant) in [
        ("gnu-2.40/aarch64/crossing", "O2-dynamic"),
        ("gnu-2.44/aarch64_be/crossing", "O2-dynamic-pie"),
        ("gnu-2.47/amd64/crossing_no_plt", "O2-dynamic-pie"),
        ("gnu-2.47/s390x/crossing", "O2-dynamic-now"),
    ] {
        let id = format!("{build}.{variant}");
        let (_, stem) = id.rsplit_once('/').expect("an id");
        assert!(check_files(&files(&id)).findings.is_empty(), "{id}");
        for (image, function) in
            [("first.so", "first_leaf"), ("second.so", "second_leaf"), ("", "program_leaf")]
        {
            let mut files = files(&id);
            let bytes = if image.is_empty() { &mut files.executable } else { library(&mut files, image) };
            let address = patch_image(bytes, function);
            let name = (!image.is_empty()).then(|| format!("{stem}.{image}"));
            let examination = check_files(&files);
            assert_eq!(verdicts(&examination), BTreeSet::from(["wrong-cfa".to_owned()]), "{id} {image}");
            let first = &examination.findings[0];
            assert_eq!((&first.image, first.function.as_deref()), (&name, Some(function)), "{id}");
            assert_eq!(first.pc.expect("a PC").0, address, "{id}: without the image's bias");
            let place = format!("{function}+0x0 ({address:#x})");
            let place = name.as_ref().map_or_else(|| place.clone(), |name| format!("{name}: {place}"));
            assert!(first.message.to_string().starts_with(&place), "{}", first.message);
            assert!(examination.findings.iter().all(|finding| finding.image == name), "{id} {image}");
        }
    }
}

/// Removes the section's name, and the segment that leads to it.
fn hide_section(bytes: &mut [u8]) {
    let name = b"\0.sframe\0";
    let at = bytes.windows(name.len()).rposition(|window| window == name).expect("the name");
    bytes[at + 2] = b'x';
    const PT_GNU_SFRAME: [u8; 4] = 0x6474_e554_u32.to_le_bytes();
    let headers = 64..64 + 56 * usize::from(bytes[56]);
    let header = headers.step_by(56).find(|at| bytes[*at..at + 4] == PT_GNU_SFRAME).expect("the segment");
    bytes[header..header + 4].fill(0);
}

#[test]
fn an_image_without_a_section_is_code_without_fde() {
    let id = "gnu-2.44/aarch64/crossing.O2-dynamic";
    let whole = check_files(&files(id));
    let mut files = files(id);
    hide_section(library(&mut files, "first.so"));
    let examination = check_files(&files);
    assert!(examination.findings.is_empty());
    assert!(examination.counts.walk_ends.no_fde > whole.counts.walk_ends.no_fde + 500);
    assert!(examination.coverage.uncovered["crossing.O2-dynamic.first.so"] > 500);
    assert!(examination.coverage.rows.total < whole.coverage.rows.total);
    assert_eq!(examination.counts.instructions, whole.counts.instructions);

    hide_section(library(&mut files, "second.so"));
    Target::open_files(&files).expect("the executable has a section");
    hide_section(&mut files.executable);
    let error = Target::open_files(&files).map(|_| ()).expect_err("nothing to test");
    assert_eq!(error.to_string(), "there is no .sframe section");
}

/// Entries in another image's section are ignored, and reported.
#[test]
fn a_section_that_reaches_outside_its_image_is_found() {
    let mut files = files("gnu-2.44/aarch64/crossing.O2-dynamic");
    let bytes = library(&mut files, "second.so");
    let sframe = ObjectFile::parse(&*bytes).expect("an ELF file").sframe.expect("a section").data;
    let section = sframe.as_ptr() as usize - bytes.as_ptr() as usize;
    // The size of the first function.
    bytes[section + 28 + 4..section + 28 + 8].copy_from_slice(&0x10_0000_u32.to_le_bytes());
    let examination = check_files(&files);
    let finding = examination.findings.first().expect("a finding");
    assert_eq!(finding.verdict, Verdict::DecodeError);
    assert_eq!(finding.image.as_deref(), Some("crossing.O2-dynamic.second.so"));
    assert!(finding.message.to_string().contains("FDE 0 (1048576 bytes at 0x"), "{}", finding.message);
    assert!(finding.message.to_string().contains("reaches outside the image"), "{}", finding.message);
}

#[test]
fn an_unusable_section_of_a_library_is_told_by_its_name() {
    let mut files = files("gnu-2.44/aarch64/crossing.O2-dynamic");
    let bytes = library(&mut files, "second.so");
    let sframe = ObjectFile::parse(&*bytes).expect("an ELF file").sframe.expect("a section").data;
    let section = sframe.as_ptr() as usize - bytes.as_ptr() as usize;
    bytes[section + 2] = 9;
    let error = Target::open_files(&files).map(|_| ()).expect_err("version 9").to_string();
    assert!(error.starts_with("crossing.O2-dynamic.second.so: ") && error.contains("version 9"), "{error}");
}

/// Several images may use the same name: a spec has to say which it means.
#[test]
fn a_name_that_several_images_have_is_broken_until_one_is_named() {
    let spec = |at: &str| {
        format!(
            "program: crossing\nsummary: A spec that a test has written.\ntoolchains: [gnu-2.44]\n\
             targets: [aarch64]\nstops: [{{at: \"{at}\", end: no-fde}}]\n\
             uncovered: [{{functions: '*plt', reason: The table has no FDE on AArch64.}}]\n\
             ends: [{{ends: [unmarked, context]}}]\n"
        )
    };
    for report in run_spec("s.yaml", &spec("second_leaf@plt")) {
        assert_eq!(report.outcome, Outcome::Broken);
        let reason = report.reason.as_deref().unwrap_or("");
        assert!(reason.contains("there are 2 functions `second_leaf@plt`"), "{reason}");
    }
    for at in ["!second_leaf@plt", "first.so!second_leaf@plt"] {
        let reports = run_spec("s.yaml", &spec(at));
        assert!(reports.iter().any(|report| report.outcome == Outcome::Agree && report.stops == 1), "{at}");
    }
    for report in run_spec("s.yaml", &spec("third.so!second_leaf@plt")) {
        assert_eq!(report.outcome, Outcome::Broken);
        assert!(report.reason.is_some_and(|reason| reason.contains("there is no symbol")));
    }
}

/// Runs a test's own spec on builds of the corpus.
fn run_spec(name: &str, text: &str) -> Vec<CaseReport> {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join(name), text).expect("a file");
    let suite = Suite::open(&common::repository().join("corpus"), folder.path()).expect("a suite");
    let cases = suite.cases(&Filter::default()).expect("cases");
    suite.run(&cases, &Options::default(), &sframe_unwinder, &|_| ())
}

fn spec(rest: &str) -> String {
    format!(
        "program: recursion\nsummary: A spec that a test has written.\n\
         toolchains: [gnu-2.44]\ntargets: [amd64]\n{rest}\n"
    )
}

fn only_verdict(reports: &[CaseReport]) -> Verdict {
    let verdicts: BTreeSet<_> =
        reports.iter().flat_map(|report| &report.findings).map(|finding| finding.verdict).collect();
    assert!(reports.iter().all(|report| report.outcome == Outcome::Unexpected));
    assert_eq!(verdicts.len(), 1, "{verdicts:?}");
    verdicts.into_iter().next().expect("a verdict")
}

#[test]
fn a_spec_with_a_wrong_frame_has_unexpected_frames() {
    let reports = run_spec("s.yaml", &spec("stops: [{at: leaf, frames: [leaf, descend, main, _start]}]"));
    assert_eq!(only_verdict(&reports), Verdict::UnexpectedFrames);
}

#[test]
fn a_spec_with_a_wrong_end_is_a_finding() {
    let reports = run_spec("s.yaml", &spec("stops: [{at: leaf, end: outermost}]"));
    assert_eq!(only_verdict(&reports), Verdict::WrongEnd);
}

#[test]
fn a_stop_that_is_never_reached_is_a_finding() {
    let reports = run_spec("s.yaml", &spec("stops: [{at: leaf, hit: 1000000}]"));
    assert_eq!(only_verdict(&reports), Verdict::NotReached);
}

#[test]
fn a_sweep_below_its_floors_is_a_finding() {
    for (program, floor) in [
        ("recursion", "min_instructions: 100000000"),
        ("recursion", "min_depth: 5000"),
        // Rows for lazy binding exist and never run.
        ("plt", "rows: 100%"),
    ] {
        let text = spec(&format!("sweep: {{{floor}}}")).replace("recursion", program);
        let reports = run_spec("s.yaml", &text);
        assert_eq!(only_verdict(&reports), Verdict::NotReached, "{floor}");
    }
}

#[test]
fn a_spec_that_names_no_symbol_is_broken_and_told_the_line_and_what_was_meant() {
    let reports = run_spec("s.yaml", &spec("stops:\n  - at: laef"));
    for report in &reports {
        assert_eq!(report.outcome, Outcome::Broken);
        let reason = report.reason.as_deref().unwrap_or("");
        assert!(reason.contains("s.yaml:6:9") && reason.contains("did you mean `leaf`"), "{reason}");
    }
    assert!(!reports.is_empty());
}

#[test]
fn a_known_entry_that_matches_nothing_is_an_unexpected_pass() {
    let known = "known: [{where: {abi: amd64}, verdict: wrong-ra, blame: unknown, function: leaf, reason: this row is said to be wrong}]";
    let reports = run_spec("s.yaml", &spec(&format!("stops: [{{at: leaf}}]\n{known}")));
    assert_eq!(only_verdict(&reports), Verdict::UnexpectedPass);
}

#[test]
fn a_program_whose_budget_is_spent_is_broken_even_where_a_failure_is_known() {
    let folder = tempfile::tempdir().expect("a folder");
    let known = "known: [{where: {abi: amd64}, verdict: wrong-ra, blame: unknown, function: leaf, reason: this row is said to be wrong}]";
    std::fs::write(folder.path().join("s.yaml"), spec(&format!("stops: [{{at: leaf}}]\n{known}")))
        .expect("a file");
    let suite = Suite::open(&common::repository().join("corpus"), folder.path()).expect("a suite");
    let cases = suite.cases(&Filter::default()).expect("cases");
    let options = Options { budget: 100, ..Options::default() };
    for report in suite.run(&cases, &options, &sframe_unwinder, &|_| ()) {
        assert_eq!(report.outcome, Outcome::Broken);
        assert!(report.reason.is_some_and(|reason| reason.contains("budget of 100")));
        let looked_at = report.counts.comparisons + report.counts.nothing_compared;
        assert_eq!(looked_at, 100, "what was compared before stands");
    }
}

#[test]
fn a_build_that_differs_from_the_manifest_is_broken() {
    let folder = tempfile::tempdir().expect("a folder");
    let corpus = common::repository().join("corpus");
    let specs = folder.path().join("specs");
    std::fs::create_dir(&specs).expect("a folder");
    std::fs::write(specs.join("s.yaml"), spec("stops: [{at: leaf}]")).expect("a file");
    std::fs::copy(corpus.join("manifest.yaml"), folder.path().join("manifest.yaml")).expect("a copy");
    link_origins(folder.path());
    let suite = Suite::open(folder.path(), &specs).expect("a suite");
    let cases = suite.cases(&Filter::default()).expect("cases");
    for case in &cases {
        let path = case.build.path(folder.path());
        std::fs::create_dir_all(path.parent().unwrap_or(Path::new("/"))).expect("a folder");
        std::fs::write(path, "not the build").expect("a file");
    }
    for report in suite.run(&cases, &Options::default(), &sframe_unwinder, &|_| ()) {
        assert_eq!(report.outcome, Outcome::Broken);
        assert!(report.reason.is_some_and(|reason| reason.contains("sha256")));
    }
}

/// Makes an unwinder, or panics for one version of the format.
fn panics_on_version_2<'a>(target: &Target<'a>) -> Box<dyn Unwinder + 'a> {
    assert_ne!(target.sframe_version(), 2, "on purpose");
    sframe_unwinder(target)
}

#[test]
fn an_unwinder_that_panics_breaks_only_its_case() {
    let suite = common::suite();
    let filter = Filter { specs: vec!["leaf".parse().expect("a pattern")], ..Filter::default() };
    let cases = suite.cases(&filter).expect("cases");
    let reports = suite.run(&cases, &Options::default(), &panics_on_version_2, &|_| ());
    assert_eq!(reports.len(), cases.len());
    for report in reports {
        let is_broken = report.outcome == Outcome::Broken;
        assert_eq!(is_broken, report.sframe_version == 2, "{}", report.id);
        assert!(!is_broken || report.reason.is_some_and(|reason| reason.contains("on purpose")));
    }
}

/// Makes a corpus of one build, modified, with a matching manifest.
fn corpus_of_one(folder: &Path, id: &str, bytes: &[u8]) {
    let mut manifest = Manifest::load(&common::repository().join("corpus")).expect("the manifest");
    let mut one = manifest.get(id).expect("the build").clone();
    one.sha256 = Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect();
    let path = one.path(folder);
    std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
    std::fs::write(path, bytes).expect("a file");
    manifest.builds = vec![one];
    manifest.write(folder).expect("a manifest");
    link_origins(folder);
}

#[test]
fn a_sweep_that_ran_without_asking_the_section_anything_is_broken() {
    let folder = tempfile::tempdir().expect("a folder");
    let id = "gnu-2.44/amd64/recursion.O2";
    let mut bytes = build(id);
    let offset = section_offset(&bytes);
    bytes[offset + 8..offset + 12].fill(0); // sfh_num_fdes
    corpus_of_one(folder.path(), id, &bytes);
    let specs = folder.path().join("specs");
    std::fs::create_dir(&specs).expect("a folder");
    std::fs::write(specs.join("s.yaml"), spec("sweep: {min_instructions: 1}")).expect("a file");
    let suite = Suite::open(folder.path(), &specs).expect("a suite");
    let cases = suite.cases(&Filter::default()).expect("cases");
    let reports = suite.run(&cases, &Options::default(), &sframe_unwinder, &|_| ());
    assert_eq!(reports.len(), 1);
    assert_eq!(reports[0].outcome, Outcome::Broken);
    assert!(reports[0].reason.as_deref().is_some_and(|reason| reason.contains("nothing was compared")));
}

/// An entry that selects no build would never be evaluated.
#[test]
fn an_entry_that_selects_no_build_is_an_error_that_points_at_it() {
    let known = "known: [{where: {variant: O7}, verdict: wrong-ra, blame: unknown, function: leaf, reason: this row is said to be wrong}]";
    for (entries, line) in [
        (format!("stops:\n  - at: leaf\n{known}"), "s.yaml:7:"),
        ("stops:\n  - {at: leaf, where: {variant: O7}}".to_owned(), "s.yaml:6:"),
        ("sweep: {where: {variant: O7}, min_instructions: 1}".to_owned(), "s.yaml:5:"),
    ] {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::write(folder.path().join("s.yaml"), spec(&entries)).expect("a file");
        match Suite::open(&common::repository().join("corpus"), folder.path()) {
            Err(SuiteError::Specs(errors)) => {
                let error = errors[0].to_string();
                assert!(error.contains(line) && error.contains("no build"), "{error}");
            }
            other => panic!("{entries}: {:?}", other.map(|_| ())),
        }
    }
}

/// Uninitialised memory must not affect results: verdicts with the second
/// pattern are those with the first.
#[test]
fn verdicts_do_not_depend_on_what_uninitialised_memory_holds() {
    let suite = common::suite();
    let cases = suite.cases(&Filter::default()).expect("cases");
    let cases: Vec<_> = cases.into_iter().step_by(stride(7)).collect();
    // With the default pattern, the conformance tests require the same of each.
    let options = Options { pattern: Pattern::Second, ..Options::default() };
    for report in suite.run(&cases, &options, &sframe_unwinder, &|_| ()) {
        let as_expected = matches!(report.outcome, Outcome::Agree | Outcome::Known);
        assert!(as_expected, "{}: {:?} {:?}", report.id, report.reason, report.findings);
    }
}

/// The witness is wrong, and the sections are right. Nearly every case of the
/// programs affected has to fail; the other programs are not affected.
fn assert_faults_are_noticed(faults: WitnessFaults, specs: &[&str]) {
    let options = Options { witness_faults: faults, ..Options::default() };
    let suite = common::suite();
    for spec in specs {
        let pattern = glob::Pattern::new(spec).expect("a pattern");
        let toolchains = vec!["gnu-2.47".to_owned()];
        let filter = Filter { specs: vec![pattern], toolchains, ..Filter::default() };
        let cases = suite.cases(&filter).expect("cases");
        let reports = suite.run(&cases, &options, &sframe_unwinder, &|_| ());
        let noticed = |report: &&CaseReport| matches!(report.outcome, Outcome::Unexpected | Outcome::Broken);
        let abis: BTreeSet<Abi> = reports.iter().filter(noticed).map(|report| report.abi).collect();
        let all: BTreeSet<Abi> = reports.iter().map(|report| report.abi).collect();
        assert_eq!(abis, all, "{faults:?} is not noticed by {spec}");
        let count = reports.iter().filter(noticed).count();
        assert!(count * 4 >= reports.len() * 3, "{faults:?}, {spec}: {count} of {} cases", reports.len());
    }
}

#[test]
fn a_witness_that_misses_tail_calls_is_noticed() {
    let faults = WitnessFaults { misses_tail_calls: true, ..WitnessFaults::default() };
    assert_faults_are_noticed(faults, &["crossing", "plt"]);
}

#[test]
fn a_witness_that_misses_nonlocal_exits_is_noticed() {
    let faults = WitnessFaults { misses_nonlocal_exits: true, ..WitnessFaults::default() };
    assert_faults_are_noticed(faults, &["long_jump", "landing_pads", "discarded_return"]);
}

#[test]
fn a_witness_that_misses_stack_switches_is_noticed() {
    let faults = WitnessFaults { misses_stack_switches: true, ..WitnessFaults::default() };
    assert_faults_are_noticed(faults, &["coroutines", "contexts", "call_on_stack"]);
}

#[test]
fn a_witness_that_takes_pc_fetches_for_calls_is_noticed() {
    let faults = WitnessFaults { misses_pc_fetches: true, ..WitnessFaults::default() };
    assert_faults_are_noticed(faults, &["pc_fetch"]);
}

#[test]
fn a_witness_that_takes_calls_over_speculation_traps_for_frames_is_noticed() {
    let faults = WitnessFaults { misses_speculation_traps: true, ..WitnessFaults::default() };
    assert_faults_are_noticed(faults, &["thunks_inline"]);
}

#[test]
fn a_witness_that_wants_sp_unchanged_at_each_return_is_noticed() {
    let faults = WitnessFaults { misses_outlined_frames: true, ..WitnessFaults::default() };
    assert_faults_are_noticed(faults, &["outlined_frames"]);
}

#[test]
fn a_witness_that_misses_signal_frames_is_noticed() {
    let faults = WitnessFaults { misses_signal_frames: true, ..WitnessFaults::default() };
    assert_faults_are_noticed(faults, &["signals"]);
}

/// Each trace that programs leave of their calls was compared, on each ABI that
/// has it.
#[test]
fn the_call_stack_is_compared_with_every_trace_that_there_is() {
    let suite = common::suite();
    let names = ["callpath", "backchain", "long_jump"];
    let specs = names.iter().map(|name| glob::Pattern::new(name).expect("a pattern")).collect();
    let filter = Filter { specs, toolchains: vec!["gnu-2.47".to_owned()], ..Filter::default() };
    let cases = suite.cases(&filter).expect("cases");
    let mut seen = BTreeSet::new();
    for report in suite.run(&cases, &Options::default(), &sframe_unwinder, &|_| ()) {
        for &trace in Trace::ALL {
            if report.counts.traces.of(trace) > 100 {
                seen.insert((trace, report.abi));
            }
        }
    }
    let expected = [
        (Trace::ReturnAddresses, &[Abi::Amd64][..]),
        (Trace::FramePointers, &[Abi::Aarch64, Abi::Aarch64Be, Abi::Amd64]),
        (Trace::Backchain, &[Abi::S390x]),
        (Trace::RecordedPath, &Abi::ALL),
    ];
    let expected = expected.iter().flat_map(|(trace, abis)| abis.iter().map(|abi| (*trace, *abi)));
    assert_eq!(seen, expected.collect());
}

/// The traces that overwritten.O0 leaves of its calls, compared with its call
/// stack.
fn overwritten_with(traces: Traces) -> (Examination, Option<String>) {
    let bytes = build("gnu-2.47/amd64/overwritten.O0");
    let target = Target::open(&bytes).expect("a target");
    let look = ExamineOptions { traces, ..ExamineOptions::default() };
    let mut unwinder = sframe_unwinder(&target);
    let examination = examine(&target, &mut *unwinder, &look, &Options::default()).expect("a machine");
    let reason = broken_reason(&examination, &target, 0).map(|reason| reason.to_string());
    (examination, reason)
}

/// A program that overwrites a saved frame pointer without declaring it.
#[test]
fn a_trace_that_disagrees_with_the_call_stack_breaks_the_case() {
    let (_, reason) = overwritten_with(Traces { frame_pointers: true, ..Traces::default() });
    let doubt = reason.expect("a reason");
    assert!(doubt.contains("frame-pointers"), "{doubt}");
}

/// Like code that makes exceptions land elsewhere. The call stack is not
/// doubted, and the section is judged by it.
#[test]
fn a_return_address_that_the_program_replaces_breaks_nothing() {
    let (examination, reason) = overwritten_with(Traces { return_addresses: true, ..Traces::default() });
    assert_eq!(reason, None);
    assert_eq!(verdicts(&examination), BTreeSet::from(["wrong-fp".to_owned(), "wrong-ra".to_owned()]));
}

/// The unwinder reports the section's information on signatures; here it
/// reports something wrong.
#[test]
fn claims_of_signatures_that_are_not_there_are_found() {
    fn lies<'a>(target: &Target<'a>) -> Box<dyn Unwinder + 'a> {
        let change = |backtrace: &mut Backtrace| {
            let pcs: Vec<u64> = backtrace.frames.iter().map(|frame| frame.pc).collect();
            for (frame, ra) in backtrace.frames.iter_mut().zip(pcs.into_iter().skip(1)) {
                frame.mangled.get_or_insert(Mangled { value: ra, key: PauthKey::A });
            }
        };
        Box::new(Changed { inner: sframe_unwinder(target), change })
    }
    fn takes_the_other_key<'a>(target: &Target<'a>) -> Box<dyn Unwinder + 'a> {
        let change = |backtrace: &mut Backtrace| {
            for mangled in backtrace.frames.iter_mut().filter_map(|frame| frame.mangled.as_mut()) {
                mangled.key = if mangled.key == PauthKey::A { PauthKey::B } else { PauthKey::A };
            }
        };
        Box::new(Changed { inner: sframe_unwinder(target), change })
    }
    for abi in ["aarch64", "aarch64_be"] {
        let bytes = build(&format!("gnu-2.47/{abi}/pauth.O2"));
        assert!(check(&bytes, &sframe_unwinder).findings.is_empty());
        let unsigned = check(&bytes, &lies);
        assert_eq!(verdicts(&unsigned), BTreeSet::from(["wrong-ra".to_owned()]));
        assert!(unsigned.findings.iter().all(|finding| finding.expected.to_string().ends_with("not signed")));
        let other = check(&bytes, &takes_the_other_key);
        let key = |finding: &Finding| {
            Some(finding.expected.to_string().rsplit_once(", signed with key ")?.1.to_owned())
        };
        let keys: BTreeSet<String> = other.findings.iter().filter_map(key).collect();
        assert_eq!(keys, BTreeSet::from(["A".to_owned(), "B".to_owned()]));
    }
}

/// The same with sections: the bit of a row that says that RA is mangled.
#[test]
fn rows_that_are_wrong_about_the_signature_are_found() {
    for id in ["gnu-2.40/aarch64/pauth.O2", "gnu-2.44/aarch64_be/pauth.O2", "gnu-2.47/aarch64/pauth.O2"] {
        let (rows, start) = {
            let bytes = build(id);
            let target = Target::open(&bytes).expect("a target");
            let start = target.addresses_of("descend")[0].0;
            let fde = target.sections.lookup_fde(InstructionPointer(start));
            let fde = fde.expect("a sound section").expect("an FDE");
            assert_eq!(fde.fre_type.width(), 1);
            let data = target.executable().subject.sframe.expect("a section").data;
            (data.as_ptr() as usize - bytes.as_ptr() as usize + fde.rows_offset, start)
        };
        // Before and after the instruction that signs.
        for (signed, expected) in [(false, "not signed"), (true, "")] {
            let mut bytes = build(id);
            let mut info = rows + 1;
            while bytes[info] & 0x80 == 0 && signed {
                let (words, size) = (usize::from(bytes[info] >> 1 & 0xf), 1 << (bytes[info] >> 5 & 3));
                info += 2 + words * size;
            }
            bytes[info] ^= 0x80;
            let examination = check(&bytes, &sframe_unwinder);
            assert_eq!(verdicts(&examination), BTreeSet::from(["wrong-ra".to_owned()]), "{id} {start:#x}");
            let findings = &examination.findings;
            assert!(findings.iter().all(|finding| finding.function.as_deref() == Some("descend")), "{id}");
            assert!(findings.iter().all(|finding| finding.expected.to_string().ends_with(expected)), "{id}");
        }
    }
}
