//! FDEs that do not cover all of their function: put into real builds, all of them are found, and none elsewhere.

use object::elf::SHT_GNU_SFRAME;
use rayon::prelude::*;
use rstest::rstest;
use sframe_elf::object_file::ObjectFile;
use sframe_elf::replace_section::embed;
use sframe_engine::write::{Function, Section};
use sframe_inspect::diff::{DiffReport, Field, Gaps, diff_file};
use sframe_isa::{Disassembly, Operation};
use sframe_kit::{Blame, Confidence};

use crate::common::{build, inspect};

/// A build with another section.
fn with_section(bytes: &[u8], change: impl Fn(&mut Section)) -> Vec<u8> {
    let subject = ObjectFile::parse(bytes).expect("a build");
    let sframe = subject.sframe.expect("a section");
    let read = sframe_engine::Section::parse(sframe.data, sframe.address).expect("a sound section");
    let mut section = Section::from_read(&read).expect("a sound section");
    change(&mut section);
    embed(bytes, SHT_GNU_SFRAME, |address| section.write(address)).expect("room for the section")
}

fn diff(bytes: &[u8]) -> DiffReport {
    diff_file(bytes, "file").expect("a file that can be compared")
}

/// What is without an FDE: the function, the offset, and the number of instructions.
fn gaps(report: &DiffReport) -> Vec<(&str, u64, u64)> {
    let gaps = report.findings.iter().filter(|found| found.field == Field::NoFde);
    gaps.map(|found| (found.function.as_str(), found.offset.0, found.pcs)).collect()
}

/// How an FDE is made too short.
#[derive(Clone, Copy, Debug)]
enum Cut {
    /// It ends before its last instruction.
    Last,
    /// It ends one byte early.
    LastByte,
    /// It ends where its last row starts.
    LastRow,
    /// It starts behind its first instruction.
    First,
}

impl Cut {
    /// Cuts a function that has these instructions. Returns whether that leaves some out that walks meet.
    fn apply(self, function: &mut Function, code: &[(u64, Operation, bool)]) -> bool {
        let end = function.start + u64::from(function.size);
        let met = |from: u64, to: u64| {
            code.iter().any(|(pc, operation, _)| (from..to).contains(pc) && *operation != Operation::Nop)
        };
        let offset = |address: u64| u32::try_from(address - function.start).expect("small");
        let is_long = code.len() > 1;
        match self {
            Self::Last if is_long => {
                let last = code.last().expect("code").0;
                function.size = offset(last);
                met(last, end)
            }
            Self::LastByte if is_long => {
                function.size -= 1;
                let (last, _, is_call) = *code.last().expect("code");
                is_call || met(last.max(end - 1), end)
            }
            Self::LastRow => match function.rows.last() {
                Some(row) if row.start > 0 => {
                    let from = function.start + u64::from(row.start);
                    function.size = row.start;
                    met(from, end)
                }
                _ => false,
            },
            Self::First if is_long => {
                let (second, by) = (code[1].0, offset(code[1].0));
                let start = function.start;
                function.start += u64::from(by);
                function.size -= by;
                for row in &mut function.rows {
                    row.start = row.start.saturating_sub(by);
                }
                met(start, second)
            }
            _ => false,
        }
    }
}

/// Every function of real builds, one after the other.
#[rstest]
fn every_fde_that_is_too_short_is_found(
    #[values(Cut::Last, Cut::LastByte, Cut::LastRow, Cut::First)] cut: Cut,
    #[values(
        "gnu-2.47/amd64/recursion.O2",
        "gnu-2.47/amd64/noreturn_call.O2",
        "gnu-2.44/amd64/crossing.O2-dynamic",
        "gnu-2.40/amd64/cold_paths.O2",
        "llvm-22/amd64/recursion.O2",
        "gnu-2.47/aarch64/pauth.O2",
        "gnu-2.44/aarch64/recursion.O0",
        "gnu-2.40/aarch64_be/recursion.O2",
        "gnu-2.47/s390x/recursion.O2",
        "gnu-2.47/s390x/cold_paths.O2"
    )]
    id: &str,
) {
    let bytes = build(id);
    let subject = ObjectFile::parse(&bytes[..]).expect("a build");
    let abi = subject.abi().expect("an ABI");
    let all = Disassembly::of(abi, subject.code());
    let cfi = subject.call_frame_info().expect("information");
    let (sframe, mut cuts) = (subject.sframe.expect("a section"), Vec::new());
    let read = sframe_engine::Section::parse(sframe.data, sframe.address).expect("a sound section");
    let section = Section::from_read(&read).expect("a sound section");
    for (index, function) in section.functions.iter().enumerate() {
        let range = function.start..function.start + u64::from(function.size);
        let has_cfi = cfi.fdes().iter().any(|fde| fde.range == range);
        let code: Vec<_> =
            all.within(range).map(|(pc, it)| (pc, it.operation.clone(), it.is_call())).collect();
        let mut changed = function.clone();
        if has_cfi && subject.linker_made(function.start).is_none() && cut.apply(&mut changed, &code) {
            cuts.push((index, changed));
        }
    }
    // Few functions end in a call, and some have one row.
    let least = match cut {
        Cut::LastByte => 0,
        Cut::LastRow => 2,
        Cut::Last | Cut::First => 4,
    };
    assert!(cuts.len() >= least, "{id}: only {} of {cut:?}", cuts.len());
    let before = diff(&bytes);
    assert_eq!(gaps(&before), [], "{id}");
    cuts.par_iter().for_each(|(index, changed)| {
        let report = diff(&with_section(&bytes, |section| section.functions[*index] = changed.clone()));
        let found = gaps(&report);
        assert!(matches!(found[..], [(_, _, 1..)]), "{id}, {cut:?} of {index}: {found:?}");
        assert_eq!(report.uncovered.len(), before.uncovered.len(), "it is no function without an FDE");
    });
}

/// Shortens the FDE of a function by some bytes.
fn shortened(bytes: &[u8], name: &str, by: u32) -> Vec<u8> {
    let start = ObjectFile::parse(bytes).expect("a build").symbols.addresses_of(name)[0];
    with_section(bytes, |section| {
        let function = section.functions.iter_mut().find(|function| function.start == start);
        function.expect("an FDE").size -= by;
    })
}

#[test]
fn a_gap_is_told_with_its_fde_and_its_culprit() {
    let bytes = shortened(&build("gnu-2.47/amd64/recursion.O2"), "leaf", 1);
    let report = diff(&bytes);
    let [found] = &report.findings[..] else { panic!("{:?}", report.findings) };
    assert_eq!(
        (found.field, found.blame, found.confidence),
        (Field::NoFde, Blame::ProducerAssembler, Confidence::Medium)
    );
    let fde = found.fde.expect("an FDE");
    assert_eq!((fde.start.0 + fde.size, found.pcs), (found.pc.0, 1));
    assert!(
        found.message.contains("there is no FDE in .sframe: the function's FDE ends at +0x"),
        "{}",
        found.message
    );
    assert!(found.cfi.as_ref().is_some_and(|cfi| cfi.cfi_rules.starts_with("CFA = SP+8")), "{found:?}");
    assert!(found.instructions.iter().any(|line| line.differs && line.text == "ret"), "{found:?}");
    let text = report.text().to_string();
    assert!(
        text.contains("difference: no-fde of leaf+0x") && text.contains(".sframe    no-fde: no FDE"),
        "{text}"
    );
    // What a check asks.
    let subject = ObjectFile::parse(&bytes[..]).expect("a build");
    let section =
        subject.section().expect("a section").open(0, subject.abi().expect("an ABI")).expect("a section");
    let gaps = Gaps::of(&subject, &section, subject.call_frame_info().as_ref());
    let gap = gaps.at(found.pc.0).expect("a gap");
    assert_eq!((gap.fde.index, gap.is_behind()), (fde.index, true));
    assert_eq!((gaps.iter().count(), gaps.at(found.pc.0 - 1), gaps.at(found.pc.0 + 1)), (1, None, None));
}

#[test]
fn the_command_ends_with_1_and_a_sound_file_with_0() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("file");
    for (by, status) in [(1, 1), (0, 0)] {
        std::fs::write(&path, shortened(&build("gnu-2.47/amd64/recursion.O2"), "leaf", by)).expect("a file");
        let output = inspect(&["diff", &path.display().to_string()]);
        assert_eq!(output.status.code(), Some(status), "{output:?}");
    }
}

/// A build whose `.eh_frame` ends before its first FDE, so that all that is known of functions is their symbols.
fn without_cfi(id: &str) -> Vec<u8> {
    let mut bytes = build(id);
    let file = object::File::parse(&*bytes).expect("ELF");
    let section = object::Object::section_by_name(&file, ".eh_frame").expect("a section");
    let (start, len) = object::ObjectSection::file_range(&section).expect("bytes");
    let (start, len) = (usize::try_from(start).expect("small"), usize::try_from(len).expect("small"));
    // Each entry is a CIE then: those that follow it are none.
    bytes[start..start + len].fill(0);
    bytes
}

/// Where there is no call frame information, a symbol says what belongs to a function.
#[test]
fn the_extent_of_a_symbol_counts_where_there_is_nothing_else() {
    let gaps_of = |bytes: &[u8]| {
        let subject = ObjectFile::parse(bytes).expect("a build");
        let abi = subject.abi().expect("an ABI");
        let section = subject.section().expect("a section").open(0, abi).expect("a section");
        let gaps = Gaps::of(&subject, &section, subject.call_frame_info().as_ref());
        let code = |gap: &sframe_inspect::diff::Gap| {
            let needed = gap.needs();
            let (start, bytes) = subject
                .code()
                .find(|(start, code)| (*start..start + code.len() as u64).contains(&needed.start))?;
            gap.code(abi, &bytes[usize::try_from(needed.start - start).ok()?..])
        };
        gaps.iter().map(|gap| (gap.cfi, code(gap).map(|code| code.count))).collect::<Vec<_>>()
    };
    let bare = without_cfi("gnu-2.47/amd64/recursion.O2");
    assert_eq!(gaps_of(&bare), []);
    assert_eq!(gaps_of(&shortened(&bare, "leaf", 1)), [(None, Some(1))]);
    // What follows a return may be data, or have no CFI either.
    let behind_return = with_section(&bare, |section| {
        for function in &mut section.functions {
            function.size = function.size.min(1);
        }
    });
    assert!(!gaps_of(&behind_return).is_empty());
}

/// A row that starts at the last byte of a call is that of its callee's caller.
#[rstest]
fn a_row_within_a_call_is_wrong_for_its_callee(
    #[values("gnu-2.47/amd64/recursion.O2", "gnu-2.44/aarch64/recursion.O2", "gnu-2.47/s390x/recursion.O2")]
    id: &str,
) {
    let bytes = build(id);
    let subject = ObjectFile::parse(&bytes[..]).expect("a build");
    let code = Disassembly::of(subject.abi().expect("an ABI"), subject.code());
    let descend = subject.symbols.addresses_of("descend")[0];
    let extent = subject.symbols.extent(descend).expect("its end");
    let (call, len) =
        code.within(extent).find(|(_, it)| it.is_call()).map(|(pc, it)| (pc, it.len)).expect("a call");
    let changed = with_section(&bytes, |section| {
        let function =
            section.functions.iter_mut().find(|function| function.start == descend).expect("an FDE");
        let last_byte = u32::try_from(call + len - 1 - descend).expect("small");
        let position = function.rows.iter().rposition(|row| row.start < last_byte).expect("a row");
        let mut wrong = function.rows[position];
        wrong.start = last_byte;
        wrong.cfa.as_mut().expect("a CFA").offset += 16;
        // As it was, from the next instruction on.
        let right = sframe_engine::Row { start: last_byte + 1, ..function.rows[position] };
        function.rows.insert(position + 1, wrong);
        if function.rows.get(position + 2).is_none_or(|next| next.start > right.start) {
            function.rows.insert(position + 2, right);
        }
    });
    let (sound, report) = (diff(&bytes), diff(&changed));
    let [found] = &report.findings[..] else { panic!("{:?}", report.findings) };
    assert_eq!((found.field, found.pc.0, found.pcs), (Field::Cfa, call, 1));
    assert_eq!(found.looked_up.map(|address| address.0), Some(call + len - 1));
    assert_eq!((report.compared, report.agree), (sound.compared, sound.agree - 1));
    assert!(report.text().to_string().contains("at the call's last byte"), "{}", report.text());
}

/// No look-up is at the last byte of anything but calls.
#[test]
fn a_row_within_another_instruction_is_not_a_difference() {
    let bytes = build("gnu-2.47/amd64/recursion.O2");
    let subject = ObjectFile::parse(&bytes[..]).expect("a build");
    let code = Disassembly::of(subject.abi().expect("an ABI"), subject.code());
    let descend = subject.symbols.addresses_of("descend")[0];
    let changed = with_section(&bytes, |section| {
        let function =
            section.functions.iter_mut().find(|function| function.start == descend).expect("an FDE");
        let end = descend + u64::from(function.size);
        let is_before_row =
            |address: u64| function.rows.iter().any(|row| descend + u64::from(row.start) == address);
        let longer = code
            .within(descend..end)
            .find(|(pc, it)| it.len > 1 && !it.is_call() && is_before_row(pc + it.len));
        let (pc, it) = longer.expect("an instruction before a row");
        let start = u32::try_from(pc + it.len - descend).expect("small");
        let row = function.rows.iter_mut().find(|row| row.start == start).expect("the row");
        row.start -= 1;
    });
    assert_eq!(diff(&changed).findings, []);
}
