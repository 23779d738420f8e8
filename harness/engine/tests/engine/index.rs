//! Index and cache: what they find is what the section finds, for sections of every kind.

use crate::builder::{ADDRESS, Builder, Fre, Function, PCREL, SORTED, fre, function};
use sframe_engine::{Abi, Cache, ErrorKind, FindRow, Index, InstructionPointer, Section, Version};

const VERSIONS: [Version; 3] = [Version::V1, Version::V2, Version::V3];

/// Where the functions are that the sections here have.
const CODE: std::ops::Range<u64> = 0x1000..0x1400;

fn parse<'a>(bytes: &'a [u8]) -> Section<'a> {
    Section::parse(bytes, ADDRESS).expect("a section")
}

/// Compares all answers about the code and what is around it. Returns whether the index has a
/// table, and does not just ask the section.
fn is_indexed(section: &Section<'_>) -> bool {
    let index = Index::new(section);
    assert!(index.memory() <= section.data().len());
    let mut cache = Cache::<_, 16>::new(&index);
    let around = CODE.start - 8..CODE.end + 8;
    for address in around.chain([0, u64::MAX, 0x1_0000_1000]).map(InstructionPointer) {
        let found = section.lookup(address);
        assert_eq!(index.lookup(address), found, "{address:x?}");
        for _ in 0..2 {
            assert_eq!(cache.lookup(address).map(Option::<&_>::copied), found, "{address:x?}");
        }
    }
    index.memory() > 0
}

/// Rows at every second byte.
fn rows(count: u32) -> Vec<Fre> {
    (0..count).map(|index| fre(2 * index, index % 3 != 0, 1, &[8 + index.cast_signed()])).collect()
}

/// Functions with gaps between them, of which one is long.
fn functions() -> Vec<Function> {
    let small = |index: u32| function(0x1000 + 0x20 * u64::from(index), 0x1c, &rows(1 + index % 7));
    (0..8).map(small).chain([function(0x1200, 0xf0, &rows(100))]).collect()
}

#[test]
fn every_version_and_byte_order_can_be_indexed() {
    for version in VERSIONS {
        for abi in [Abi::Amd64, Abi::Aarch64, Abi::Aarch64Be] {
            let bytes = Builder::new(version, abi, &functions()).bytes();
            assert!(is_indexed(&parse(&bytes)), "{version} {abi}");
        }
    }
}

#[test]
fn sections_that_are_not_sorted_can_be_indexed() {
    let mut shuffled = functions();
    shuffled.reverse();
    shuffled.swap(2, 5);
    let bytes = Builder::new(Version::V3, Abi::Amd64, &shuffled).flags(PCREL).bytes();
    assert!(is_indexed(&parse(&bytes)));
}

/// A binary search finds some of the functions only; the index must not find more.
#[test]
fn a_section_that_is_not_sorted_as_it_says_is_searched_as_it_says() {
    let mut shuffled = functions();
    shuffled.swap(0, 7);
    let bytes = Builder::new(Version::V3, Abi::Amd64, &shuffled).flags(PCREL | SORTED).bytes();
    assert!(!is_indexed(&parse(&bytes)));
}

#[test]
fn functions_that_overlap_are_looked_up_in_the_section() {
    let mut overlapping = functions();
    overlapping[3].size = 0x30;
    for flags in [PCREL, PCREL | SORTED] {
        let bytes = Builder::new(Version::V3, Abi::Amd64, &overlapping).flags(flags).bytes();
        assert!(!is_indexed(&parse(&bytes)));
    }
}

/// Each change is one that only the function itself is affected by.
#[test]
fn functions_that_cannot_be_indexed_do_not_affect_the_others() {
    let changes: [fn(&mut Function); 9] = [
        |function| function.size = 0,
        |function| function.rows.clear(),
        |function| function.rows[0].start = 4,
        |function| function.rows.reverse(),
        |function| function.rows.swap(1, 2),
        |function| function.rows.extend(vec![fre(0x40, true, 1, &[8]); 100]),
        |function| function.rows[1].info |= 0x60,
        |function| function.info = 3,
        |function| (function.info, function.rep_size) = (0x10, 8),
    ];
    for change in changes {
        for version in VERSIONS {
            let mut functions = functions();
            change(&mut functions[5]);
            let bytes = Builder::new(version, Abi::Amd64, &functions).bytes();
            assert!(is_indexed(&parse(&bytes)), "{version}");
        }
    }
}

#[test]
fn code_of_more_than_4_gib_is_looked_up_in_the_section() {
    let mut functions = functions();
    functions.push(function(0x1_0000_1000, 0x10, &rows(2)));
    let bytes = Builder::new(Version::V3, Abi::Amd64, &functions).bytes();
    assert!(!is_indexed(&parse(&bytes)));
}

#[test]
fn a_section_without_functions_has_an_index() {
    let bytes = Builder::new(Version::V3, Abi::Amd64, &[]).bytes();
    assert!(!is_indexed(&parse(&bytes)));
}

/// A source that counts how often it is asked.
struct Counting<'a> {
    section: Section<'a>,
    asked: std::cell::Cell<u32>,
}

impl FindRow for Counting<'_> {
    fn find_row(
        &self,
        address: sframe_engine::LookupAddress,
    ) -> Result<Option<sframe_engine::Found>, sframe_engine::Error> {
        self.asked.set(self.asked.get() + 1);
        self.section.find_row(address)
    }
}

#[test]
fn a_cache_keeps_rows_and_their_absence_but_no_errors() {
    let mut functions = functions();
    functions[1].info = 3;
    let bytes = Builder::new(Version::V3, Abi::Amd64, &functions).bytes();
    let mut cache = Cache::<_, 64>::new(Counting { section: parse(&bytes), asked: 0.into() });
    let mut asked_after = |address: u64, times: u32| {
        for _ in 0..times {
            let _ = cache.lookup(InstructionPointer(address));
        }
        cache.source().asked.get()
    };
    assert_eq!(asked_after(0x1000, 3), 1);
    assert_eq!(asked_after(0x101d, 3), 2);
    assert_eq!(asked_after(0x1020, 3), 5);
    // Another address with the same remainder takes the place.
    assert_eq!(asked_after(0x1040, 3), 6);
    assert_eq!(asked_after(0x1000, 1), 7);
    let error = cache.lookup(InstructionPointer(0x1020)).expect_err("an unknown FRE type");
    assert_eq!(error.kind, ErrorKind::UnknownFreType(3));
}
