//! `lint`, `dump` and `diff` agree on what of a section can't be read: any byte of
//! its FDEs and rows changed, the same FDEs and the same rows are malformed to each.

use std::collections::BTreeSet;

use object::{Object as _, ObjectSection as _};
use rayon::prelude::*;
use rstest::rstest;
use sframe_elf::object_file::ObjectFile;
use sframe_inspect::diff::{Field, diff_file};
use sframe_inspect::dump::Dump;
use sframe_inspect::lint::lint_file;

use crate::common::build;

/// Rules about FDEs, and about rows, that say that one can't be read.
const FDES: [&str; 5] = ["SF207", "SF208", "SF209", "SF210", "SF216"];
const ROWS: [&str; 5] = ["SF301", "SF302", "SF308", "SF323", "SF324"];
/// Rows that were not checked for the time that it would take.
const UNCHECKED: &str = "SF226";

/// How many FDEs and rows of a file are malformed, if all three agree.
fn malformed(bytes: &[u8]) -> [usize; 2] {
    let sframe = ObjectFile::parse(bytes).expect("a build").sframe.expect("a section");
    let dump = Dump::decode(sframe.data, sframe.address).expect("a sound header");
    let functions: Vec<_> = dump.functions().into_iter().flatten().collect();
    let faults = dump.faults();
    let fdes: BTreeSet<u32> = functions.iter().filter(|one| one.fde.is_err()).map(|one| one.index).collect();
    let rows: BTreeSet<(u32, u32)> = functions
        .iter()
        .flat_map(|one| {
            let meaningless = one.rows.iter().enumerate().filter(|(_, row)| row.row.is_err());
            let last = one.end.map(|_| one.rows.len());
            let positions = meaningless.map(|(position, _)| position).chain(last);
            positions.map(|position| (one.index, u32::try_from(position).expect("few rows")))
        })
        .collect();

    let lint = lint_file(bytes, "file").expect("a file that can be linted");
    if lint.findings.iter().any(|finding| finding.rule == UNCHECKED) {
        return [0, 0];
    }
    let of = |rules: &'static [&'static str]| {
        lint.findings.iter().filter(move |finding| rules.contains(&finding.rule))
    };
    let refused: BTreeSet<u32> = of(&FDES).filter_map(|finding| finding.fde).collect();
    assert_eq!(refused, fdes, "{:?}", faults.errors);
    // Of an FDE that can't be read, the rows are looked at by nobody else.
    let of_rows = of(&ROWS).filter_map(|finding| finding.fde.zip(finding.row));
    let refused: BTreeSet<(u32, u32)> = of_rows.filter(|(fde, _)| !fdes.contains(fde)).collect();
    assert_eq!(refused, rows, "{:?}", faults.errors);

    let errors: Vec<String> = faults.errors.iter().map(ToString::to_string).collect();
    let diff = diff_file(bytes, "file").expect("a file that can be compared");
    assert_eq!(diff.errors, errors);
    for finding in diff.findings.iter().filter(|finding| finding.field == Field::Row) {
        assert!(
            finding.row.is_some() || finding.sframe == "no row" || errors.contains(&finding.sframe),
            "{finding:?}"
        );
    }
    [fdes.len(), rows.len()]
}

#[rstest]
fn lint_dump_and_diff_agree_on_what_is_malformed(
    #[values(
        "gnu-2.40/amd64/leaf.O2",
        "gnu-2.44/aarch64/leaf.O0",
        "gnu-2.47/amd64/leaf.O2",
        "gnu-2.47/s390x/leaf.O2"
    )]
    id: &str,
) {
    let sound = build(id);
    assert_eq!(malformed(&sound), [0, 0]);
    let file = object::File::parse(&*sound).expect("ELF");
    let (start, len) = file.section_by_name(".sframe").expect("it").file_range().expect("bytes");
    let (start, len) = (usize::try_from(start).expect("small"), usize::try_from(len).expect("small"));
    let [fdes, rows] = (start + 28..start + len)
        .into_par_iter()
        .flat_map_iter(|at| [0x60, 0x1e, 0x05, 0xff].map(|bits| (at, bits)))
        .map(|(at, bits)| {
            let mut bytes = sound.clone();
            bytes[at] ^= bits;
            malformed(&bytes)
        })
        .reduce(|| [0, 0], |one, other| [one[0] + other[0], one[1] + other[1]]);
    assert!(fdes > 10 && rows > 10, "{fdes} FDEs, {rows} rows");
}

/// A row whose words make no rules says nothing of those around it.
#[test]
fn rows_around_one_that_means_nothing_are_compared() {
    let mut bytes = build("gnu-2.47/s390x/recursion.O0");
    let sound = diff_file(&bytes, "file").expect("a file that can be compared");
    assert_eq!(sound.compared, sound.agree);
    let subject = ObjectFile::parse(&bytes).expect("a build");
    let sframe = subject.sframe.expect("a section");
    let section = sframe_engine::Section::parse(sframe.data, sframe.address).expect("a sound section");
    let is_flex = |fde: &sframe_engine::Fde| fde.fde_type == sframe_engine::FdeType::Flex && fde.num_rows > 2;
    let fde = section.fdes().flatten().find(is_flex).expect("an FDE");
    let row = section.fres(&fde).nth(1).expect("a row").expect("a sound row");
    let next = section.fres(&fde).nth(2).expect("a row").expect("a sound row").start();
    let (start, end) = (fde.start + u64::from(row.start()), fde.start + u64::from(next));
    // The last byte of the control word for the CFA: without its register.
    let word = row.offset() + fde.fre_type.width() + row.data_word_size().width();
    let file = object::File::parse(&*bytes).expect("ELF");
    let at = file.section_by_name(".sframe").expect("it").file_range().expect("bytes").0;
    let at = usize::try_from(at).expect("small") + word;
    assert_eq!(bytes[at] & 1, 1);
    bytes[at] &= !1;
    assert_eq!(malformed(&bytes), [0, 1]);
    let report = diff_file(&bytes, "file").expect("a file that can be compared");
    let [finding] = &report.findings[..] else { panic!("{:?}", report.findings) };
    assert_eq!((finding.field, &finding.sframe), (Field::Row, &report.errors[0]));
    assert!(finding.pc.0 == start && finding.last_pc.0 < end, "{finding:?}");
    assert_eq!((report.compared, report.agree), (sound.compared, sound.agree - finding.pcs));
}
