//! Walks that are kept from one instruction to the next give the same results
//! as walks done in full at each.

mod handmade;
mod loops;

use std::path::PathBuf;

use rayon::prelude::*;
use sframe_judge::examine::{Breakpoint, Examination, ExamineOptions, examine};
use sframe_judge::target::files::{Files, LibraryFolders};
use sframe_judge::target::{Loaded, Target};
use sframe_judge::unwind::{BlackBox, SframeUnwinder};
use sframe_judge::vocabulary::Verdict;
use sframe_machine::{AMD64, Broken, Cpu, End, Flow, Image, Machine, Moment, Options, S390X};

use crate::common;
use crate::doctor::{build, stride};

/// Runs a program with kept walks, and again with full ones, at each instruction. All results,
/// including hits and order of the findings, have to be the same, except for
/// the number of frames that had to be derived, and of instructions that have passed.
fn examine_both_ways(name: &str, target: &Target<'_>, options: &Options) -> Examination {
    // Also by block, from the beginning on.
    let options = &Options { blocks_after: 8, ..options.clone() };
    let names = target.executable().subject.symbols.names();
    let functions = names.flat_map(|name| target.addresses_of(name));
    let breakpoints = functions.map(|Loaded(pc)| Breakpoint { pc, hit: 2 }).collect();
    let look = ExamineOptions { breakpoints, ..ExamineOptions::default() };
    let unwinder =
        || SframeUnwinder::new(target.sections.clone(), target.executable().image.cpu.address_bits);
    let kept = examine(target, &mut unwinder(), &look, options).expect("a machine");
    let mut whole = examine(target, &mut BlackBox(unwinder()), &look, options).expect("a machine");
    assert!(kept.counts.frames_derived <= whole.counts.frames_derived, "{name}");
    assert_eq!(whole.passed, 0, "{name}");
    (whole.counts.frames_derived, whole.passed) = (kept.counts.frames_derived, kept.passed);
    assert!(kept == whole, "{name}: kept walks\n{kept:#?}\nwhole walks\n{whole:#?}");
    kept
}

/// All builds of the corpus. Each is beside its libraries.
fn builds() -> Vec<PathBuf> {
    let within = |folder: PathBuf| {
        std::fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path())
    };
    let toolchains = within(common::repository().join("corpus/builds"));
    let builds = toolchains.flat_map(within).flat_map(within);
    builds.filter(|path| path.extension().is_none_or(|extension| extension != "so")).collect()
}

#[test]
fn every_build_of_the_corpus_shows_the_same_both_ways() {
    // Enough for programs whose stacks are not deep. Only the beginning of the others is run, since
    // full walks would take hours.
    const BUDGET: u64 = 12_000;
    let disagree: usize = builds()
        .par_iter()
        .map(|path| {
            let files = Files::find(path, LibraryFolders::default()).expect("a build");
            let target = Target::open_files(&files).expect("a target");
            let mut options = Options { budget: BUDGET, ..Options::default() };
            if path.file_stem().is_some_and(|program| program == "offset_limits") {
                options.stack_size = 64 << 20;
            }
            let examination = examine_both_ways(&path.display().to_string(), &target, &options);
            let spent = End::Broken(Broken::Budget(BUDGET));
            // `protector` correctly ends with a status other than 0.
            let is_end = matches!(examination.end, End::Exit(_)) || examination.end == spent;
            assert!(is_end, "{}: {:?}", path.display(), examination.end);
            usize::from(examination.agree < examination.counts.comparisons)
        })
        .sum();
    assert!(disagree > 3, "{disagree} builds in which something disagrees");
}

/// Sections with one wrong bit: one for each third byte after the header; with `SWEEPS=all`, for each byte.
#[test]
fn sections_with_a_wrong_bit_show_the_same_both_ways() {
    let stride = stride(3);
    let options = Options { budget: 1500, stack_size: 256 << 10, ..Options::default() };
    for id in [
        "gnu-2.40/aarch64/recursion.O2",
        "gnu-2.44/aarch64_be/mutual_recursion.O2-fp",
        "gnu-2.47/amd64/mutual_recursion.O0",
        "gnu-2.47/amd64/realign.O2",
        "gnu-2.47/s390x/recursion.O0",
    ] {
        let bytes = build(id);
        let section = {
            let target = Target::open(&bytes).expect("a target");
            let data = target.executable().subject.sframe.expect("a section").data;
            let start = data.as_ptr() as usize - bytes.as_ptr() as usize;
            start + 28..start + data.len()
        };
        let wrong: usize = section
            .into_par_iter()
            .filter(|at| at.is_multiple_of(stride))
            .map(|at| {
                let mut bytes = bytes.clone();
                bytes[at] ^= 1 << (at % 8);
                let Ok(target) = Target::open(&bytes) else { return 0 };
                let examination = examine_both_ways(&format!("{id}, byte {at:#x}"), &target, &options);
                usize::from(!examination.findings.is_empty())
            })
            .sum();
        assert!(wrong > 20 / stride, "{id}: {wrong} sections of which something came");
    }
}

/// A program whose innermost function stores to the words saved by frames much
/// further out.
struct Attack {
    name: &'static str,
    cpu: &'static Cpu,
    /// The innermost function.
    code: &'static [&'static [u8]],
    /// The first instruction at which the stack is wrong, and the number of all such
    /// instructions.
    wrong: Option<(usize, u64)>,
    verdict: Verdict,
}

/// Instructions of amd64. `0x200(%rsp)` is the return address of the 32nd frame
/// further out, and `0x1f8(%rsp)` is its saved FP.
mod amd64 {
    pub(super) const LOAD_RA: &[u8] = &[0x48, 0x8b, 0x84, 0x24, 0, 2, 0, 0]; // mov 0x200(%rsp),%rax
    pub(super) const LOAD_FP: &[u8] = &[0x48, 0x8b, 0x94, 0x24, 0xf8, 1, 0, 0]; // mov 0x1f8(%rsp),%rdx
    pub(super) const RESTORE_RA: &[u8] = &[0x48, 0x89, 0x84, 0x24, 0, 2, 0, 0]; // mov %rax,0x200(%rsp)
    pub(super) const RESTORE_FP: &[u8] = &[0x48, 0x89, 0x94, 0x24, 0xf8, 1, 0, 0]; // mov %rdx,0x1f8(%rsp)
    pub(super) const STORE_RA: &[u8] = &[0x48, 0x89, 0xa4, 0x24, 0, 2, 0, 0]; // mov %rsp,0x200(%rsp)
    pub(super) const STORE_FP: &[u8] = &[0x48, 0x89, 0xa4, 0x24, 0xf8, 1, 0, 0]; // mov %rsp,0x1f8(%rsp)
    pub(super) const STORE_BOTH: &[u8] = &[0x48, 0x89, 0xa4, 0x24, 0xfc, 1, 0, 0]; // mov %rsp,0x1fc(%rsp)
    pub(super) const STORE_RA_BYTE: &[u8] = &[0xc6, 0x84, 0x24, 3, 2, 0, 0, 0x55]; // movb $0x55,0x203(%rsp)
    pub(super) const STORE_FP_BYTE: &[u8] = &[0xc6, 0x84, 0x24, 0xff, 1, 0, 0, 0x55]; // movb $0x55,0x1ff(%rsp)
    pub(super) const NOP: &[u8] = &[0x90];
    pub(super) const RET: &[u8] = &[0xc3];
}

/// Instructions of s390x. `0xf70(%r15)` is the return address of the 24th frame
/// further out, and `0xf58(%r15)` is its saved FP.
mod s390x {
    pub(super) const LOAD_RA: &[u8] = &[0xe3, 0x20, 0xff, 0x70, 0, 0x04]; // lg %r2,0xf70(%r15)
    pub(super) const LOAD_FP: &[u8] = &[0xe3, 0x20, 0xff, 0x58, 0, 0x04]; // lg %r2,0xf58(%r15)
    pub(super) const RESTORE_RA: &[u8] = &[0xe3, 0x20, 0xff, 0x70, 0, 0x24]; // stg %r2,0xf70(%r15)
    pub(super) const RESTORE_FP: &[u8] = &[0xe3, 0x20, 0xff, 0x58, 0, 0x24]; // stg %r2,0xf58(%r15)
    pub(super) const STORE_RA: &[u8] = &[0xe3, 0xf0, 0xff, 0x70, 0, 0x24]; // stg %r15,0xf70(%r15)
    pub(super) const STORE_FP: &[u8] = &[0xe3, 0xf0, 0xff, 0x58, 0, 0x24]; // stg %r15,0xf58(%r15)
    pub(super) const STORE_BOTH: &[u8] = &[0xe3, 0xf0, 0xff, 0x6c, 0, 0x24]; // stg %r15,0xf6c(%r15)
    pub(super) const STORE_RA_BYTE: &[u8] = &[0x92, 0x55, 0xff, 0x75]; // mvi 0xf75(%r15),0x55
    pub(super) const MOVE_RA: &[u8] = &[0xd2, 0x07, 0xff, 0x70, 0xf0, 0]; // mvc 0xf70(8,%r15),0(%r15)
    pub(super) const MOVE_SAME: &[u8] = &[0xd2, 0x07, 0xff, 0x70, 0xff, 0x70]; // mvc 0xf70(8,%r15),0xf70(%r15)
    pub(super) const CLEAR_RA_PART: &[u8] = &[0xd7, 0x02, 0xff, 0x75, 0xff, 0x75]; // xc 0xf75(3,%r15),0xf75(%r15)
    pub(super) const LENGTH: &[u8] = &[0xa7, 0x39, 0, 2]; // lghi %r3,2
    pub(super) const EXECUTE_BEHIND: &[u8] = &[0xc6, 0x30, 0, 0, 0, 8]; // exrl %r3,.+16
    pub(super) const CLEAR_ONE: &[u8] = &[0xd7, 0, 0xff, 0x75, 0xff, 0x75]; // xc 0xf75(1,%r15),0xf75(%r15)
    pub(super) const NOP: &[u8] = &[0x07, 0x07];
    pub(super) const RET: &[u8] = &[0x07, 0xfe];
}

const ATTACKS: &[Attack] = &[
    attack_amd64("a return address, and back", RA, Some((2, 3)), &{
        use amd64::*;
        [LOAD_RA, STORE_RA, NOP, NOP, RESTORE_RA, NOP, RET]
    }),
    attack_amd64("a byte of a return address, and back", RA, Some((2, 2)), &{
        use amd64::*;
        [LOAD_RA, STORE_RA_BYTE, NOP, RESTORE_RA, NOP, RET]
    }),
    attack_amd64("two words at once, and back", FP, Some((3, 3)), &{
        use amd64::*;
        [LOAD_RA, LOAD_FP, STORE_BOTH, NOP, RESTORE_RA, RESTORE_FP, RET]
    }),
    attack_amd64("an FP, and back", FP, Some((2, 2)), &{
        use amd64::*;
        [LOAD_FP, STORE_FP, NOP, RESTORE_FP, NOP, RET]
    }),
    attack_amd64("a byte of an FP, and back", FP, Some((2, 2)), &{
        use amd64::*;
        [LOAD_FP, STORE_FP_BYTE, NOP, RESTORE_FP, NOP, RET]
    }),
    attack_amd64("again and again", RA, Some((3, 4)), &{
        use amd64::*;
        [LOAD_RA, LOAD_FP, STORE_RA, RESTORE_RA, NOP, STORE_FP, STORE_RA, RESTORE_FP, RESTORE_RA, RET]
    }),
    attack_amd64("what is there already", RA, None, &{
        use amd64::*;
        [LOAD_RA, LOAD_FP, RESTORE_RA, RESTORE_FP, NOP, RET]
    }),
    attack_s390x("a return address, and back", RA, Some((2, 2)), &{
        use s390x::*;
        [LOAD_RA, STORE_RA, NOP, RESTORE_RA, NOP, RET]
    }),
    attack_s390x("a byte of a return address, and back", RA, Some((2, 2)), &{
        use s390x::*;
        [LOAD_RA, STORE_RA_BYTE, NOP, RESTORE_RA, NOP, RET]
    }),
    attack_s390x("part of a return address and what lies before it, and back", RA, Some((2, 2)), &{
        use s390x::*;
        [LOAD_RA, STORE_BOTH, NOP, RESTORE_RA, NOP, RET]
    }),
    attack_s390x("an FP, and back", FP, Some((2, 2)), &{
        use s390x::*;
        [LOAD_FP, STORE_FP, NOP, RESTORE_FP, NOP, RET]
    }),
    attack_s390x("from memory to memory, and back", RA, Some((2, 2)), &{
        use s390x::*;
        [LOAD_RA, MOVE_RA, NOP, RESTORE_RA, NOP, RET]
    }),
    attack_s390x("zeroes in memory, and back", RA, Some((2, 2)), &{
        use s390x::*;
        [LOAD_RA, CLEAR_RA_PART, NOP, RESTORE_RA, NOP, RET]
    }),
    attack_s390x("by an instruction that another one executes, and back", RA, Some((3, 2)), &{
        use s390x::*;
        [LOAD_RA, LENGTH, EXECUTE_BEHIND, NOP, RESTORE_RA, RET, CLEAR_ONE]
    }),
    attack_s390x("what is there already", RA, None, &{
        use s390x::*;
        [LOAD_RA, RESTORE_RA, MOVE_SAME, NOP, RET]
    }),
];

const RA: Verdict = Verdict::WrongRa;
const FP: Verdict = Verdict::WrongFp;

const fn attack_amd64(
    name: &'static str,
    verdict: Verdict,
    wrong: Option<(usize, u64)>,
    code: &'static [&'static [u8]],
) -> Attack {
    Attack { name, cpu: &AMD64, code, wrong, verdict }
}

const fn attack_s390x(
    name: &'static str,
    verdict: Verdict,
    wrong: Option<(usize, u64)>,
    code: &'static [&'static [u8]],
) -> Attack {
    Attack { name, cpu: &S390X, code, wrong, verdict }
}

/// The number of instructions executed before one is reached for the first
/// time.
fn instructions_before(image: &Image<'_>, pc: u64) -> u64 {
    let machine = Machine::new(image, &Options::default()).expect("a machine");
    let mut stop = |moment: &Moment<'_>| if moment.pc == pc { Flow::Stop } else { Flow::Continue };
    machine.run(&mut stop).expect("an emulator").instructions - 1
}

#[test]
fn a_store_to_what_a_frame_far_down_has_saved_is_noticed_at_the_next_instruction() {
    for Attack { name, cpu, code, wrong, verdict } in ATTACKS {
        let name = format!("{}: {name}", cpu.abi);
        let (bytes, innermost) = handmade::program(cpu, 50, code);
        let all = examine_both_ways(&name, &Target::open(&bytes).expect("a target"), &Options::default());
        assert_eq!(all.end, End::Exit(0), "{name}");
        assert!(all.max_depth > 50, "{name}");
        let Some((first, count)) = *wrong else {
            assert_eq!(all.findings, [], "{name}");
            continue;
        };
        assert_eq!(all.counts.walk_ends.disagreed, count, "{name}: {:#?}", all.findings);
        assert!(
            all.findings.iter().any(|finding| finding.verdict == *verdict),
            "{name}: {:#?}",
            all.findings
        );
        assert!(all.findings.iter().all(|finding| finding.frame > Some(20)), "{name}: {:#?}", all.findings);

        // The exact instruction: nothing before it, and something at it.
        let len: usize = code[..first].iter().map(|instruction| instruction.len()).sum();
        let image = Image::parse(&bytes).expect("a loadable image");
        let before = instructions_before(&image, innermost + len as u64);
        for (budget, disagreed) in [(before, 0), (before + 1, 1)] {
            let options = Options { budget, ..Options::default() };
            let part = examine_both_ways(&name, &Target::open(&bytes).expect("a target"), &options);
            assert_eq!(
                (part.counts.comparisons, part.counts.walk_ends.disagreed),
                (budget, disagreed),
                "{name}"
            );
        }
    }
}

/// In the end the program returns to an invalid address, and the findings are
/// those of all instructions until then.
#[test]
fn what_is_never_put_back_is_noticed_until_the_program_breaks() {
    for (cpu, code) in [
        (&AMD64, &[amd64::STORE_RA, amd64::NOP, amd64::RET]),
        (&S390X, &[s390x::MOVE_RA, s390x::NOP, s390x::RET]),
    ] {
        let (bytes, _) = handmade::program(cpu, 50, code);
        let all =
            examine_both_ways(cpu.abi.name(), &Target::open(&bytes).expect("a target"), &Options::default());
        assert!(matches!(all.end, End::Broken(_)), "{}: {:?}", cpu.abi, all.end);
        assert!(all.counts.walk_ends.disagreed > 20, "{}: {:?}", cpu.abi, all.counts.walk_ends);
    }
}
