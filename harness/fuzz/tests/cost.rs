//! The cost of the engine on hostile input: look-ups and steps allocate
//! nothing, and whatever is kept, written or converted stays a small multiple
//! of the input, however the input is made.
//!
//! Nothing here uses a clock. Work that grows with the square of the input
//! shows in the counts: rows read, bytes allocated in total, bytes written.

mod kept;

use allocation_counter::{AllocationInfo, measure};
use sframe_engine::lint::{self, Linkage};
use sframe_engine::write::{self, Target};
use sframe_engine::{ByteOrder, Cache, Frame, Index, InstructionPointer, PauthMask, Section, Version};

const ADDRESS: u64 = 0x10_0000;

/// Bytes that may be in use at once for a section that is taken over, for each of its bytes. A
/// row is kept in about 90 bytes and stored in as few as 2; a growing vector has up to twice
/// the space it needs, and the old one exists beside it while it moves.
const KEPT_PER_BYTE: usize = 160;

/// Bytes that may be allocated in total, for each byte of the section.
const ALLOCATED_PER_BYTE: usize = 400;

/// Returns a section for AMD64 with functions given by size, offset of rows and number of rows,
/// and a FRE sub-section as it is. Sorted, without pcrel.
fn section(version: Version, functions: &[(u32, u32, u32)], fres: &[u8]) -> Vec<u8> {
    let mut table = Vec::new();
    let mut start: u32 = 0x1000;
    for (size, offset, count) in functions {
        if version == Version::V3 {
            table.extend(u64::from(start).to_le_bytes());
            table.extend([size.to_le_bytes(), offset.to_le_bytes()].concat());
        } else {
            let words = [start, *size, *offset, *count];
            words.iter().for_each(|word| table.extend(word.to_le_bytes()));
            table.push(0);
            table.resize(table.len() + version.fde_size() - 17, 0);
        }
        start += size;
    }
    let len = |len: usize| u32::try_from(len).expect("small").to_le_bytes();
    let mut bytes = vec![0xe2, 0xde, version.number(), 1, 3, 0, 0xf8, 0];
    bytes.extend([len(functions.len()), len(0), len(fres.len()), len(0), len(table.len())].concat());
    bytes.extend(table);
    bytes.extend(fres);
    bytes
}

/// Families of hostile sections, each of about `size` bytes.
fn hostile(size: usize) -> Vec<(&'static str, Vec<u8>)> {
    let small = |value: usize| u32::try_from(value).expect("small");
    let row = [0, 0x03, 8];
    let empty_row = [0, 0];
    let functions = size / 40;
    let mut attributes = Vec::new();
    for _ in 0..functions {
        attributes.extend([1, 0, 0, 0, 0]);
        attributes.extend(row);
    }
    // One attribute that claims the most rows, and these rows.
    let shared = [&[0xff, 0xff, 0, 0, 0][..], &row.repeat(size / 6)].concat();
    vec![
        ("small rows", section(Version::V2, &[(0x40, 0, small(size / 2))], &empty_row.repeat(size / 2))),
        ("a false count of rows", section(Version::V2, &[(0x40, 0, u32::MAX)], &row.repeat(size / 3))),
        (
            "many functions with a row each",
            section(
                Version::V2,
                &(0..functions).map(|index| (0x40, small(index * 3), 1)).collect::<Vec<_>>(),
                &row.repeat(functions),
            ),
        ),
        (
            "version 3 with a row each",
            section(
                Version::V3,
                &(0..functions).map(|index| (0x40, small(index * 8), 1)).collect::<Vec<_>>(),
                &attributes,
            ),
        ),
        (
            "all functions share all rows",
            section(Version::V1, &vec![(0x40, 0, small(size / 6)); functions], &row.repeat(size / 6)),
        ),
        ("version 3 shares all rows", section(Version::V3, &vec![(0x40, 0, 0); functions], &shared)),
        ("no function has a size", section(Version::V2, &vec![(0, 0, 1); functions * 2], &row)),
        ("functions without rows", section(Version::V3, &vec![(0x40, 0, 0); functions * 2], &[0; 5])),
    ]
}

fn inputs() -> Vec<(&'static str, Vec<u8>)> {
    let mut inputs: Vec<_> = kept::inputs("write").into_iter().map(|data| ("a kept input", data)).collect();
    for size in [200, 4_000, 200_000] {
        inputs.extend(hostile(size));
    }
    inputs
}

/// Everything that an unwinder asks for, at a few PCs.
fn unwind(data: &[u8]) {
    let Ok(section) = Section::parse(data, ADDRESS) else { return };
    let mut rows_left = data.len();
    for fde in section.fdes().flatten() {
        rows_left -= section.rows(&fde).take(rows_left).count();
        rows_left -= section.fres(&fde).take(rows_left).count();
    }
    let registers = |_| Some(0x7000);
    let memory = |address: u64| address.is_multiple_of(16).then_some(address);
    for pc in [0, ADDRESS + 0x1001, ADDRESS + 0x1041, ADDRESS + 0x10_0000, u64::MAX].map(InstructionPointer) {
        let frame = Frame::topmost(pc, 0x7000, 0x7100);
        let _ = section.lookup(pc);
        let _ = section.step(&frame, Some(&registers), &memory, PauthMask::NONE);
    }
}

#[test]
fn unwinding_allocates_nothing() {
    let inputs = inputs();
    for (name, data) in &inputs {
        let used = measure(|| unwind(data));
        assert_eq!(used, AllocationInfo::default(), "{name}, {} bytes", data.len());
    }
    assert!(inputs.len() > 40, "{} inputs", inputs.len());
}

/// The lint reads rows that functions share at most a few times, and reports at most a few
/// faults for each byte.
#[test]
fn lint_allocates_nothing_and_its_findings_are_a_small_multiple_of_the_input() {
    let mut most = 0;
    for (name, data) in inputs() {
        let mut scratch = vec![0; data.len()];
        let mut findings = 0;
        let linkage = Linkage::Linked { executable: None };
        let used = measure(|| lint::lint(&data, ADDRESS, linkage, &mut scratch, &mut |_| findings += 1));
        assert_eq!(used, AllocationInfo::default(), "{name}, {} bytes", data.len());
        assert!(findings <= 4 * data.len() + 64, "{name}: {findings} findings in {} bytes", data.len());
        most = most.max(findings);
    }
    assert!(most > 100, "{most}");
}

/// A function has no more rows than its bytes can hold, whatever it claims.
#[test]
fn no_function_has_more_rows_than_fit_into_the_section() {
    for (name, data) in inputs() {
        let Ok(section) = Section::parse(&data, ADDRESS) else { continue };
        for fde in section.fdes().flatten().take(8) {
            let rows = section.rows(&fde).count();
            assert!(rows <= data.len() / 2 + 1, "{name}: {rows} rows in {} bytes", data.len());
        }
    }
}

fn bounded(name: &str, what: &str, len: usize, used: &AllocationInfo) {
    let most = usize::try_from(used.bytes_max).expect("fits");
    let all = usize::try_from(used.bytes_total).expect("fits");
    let text = format!("{what} of {name}, {len} bytes: {most} at once, {all} in all");
    assert!(most <= KEPT_PER_BYTE * len + 4096, "{text}");
    assert!(all <= ALLOCATED_PER_BYTE * len + 8192, "{text}");
}

#[test]
fn copying_and_writing_a_section_need_a_small_multiple_of_the_input() {
    let (mut taken, mut refused) = (0, 0);
    for (name, data) in inputs() {
        let Ok(section) = Section::parse(&data, ADDRESS) else { continue };
        let mut owned = None;
        let used = measure(|| owned = write::Section::from_read(&section).ok());
        bounded(name, "taking over", data.len(), &used);
        let Some(owned) = owned else {
            refused += 1;
            continue;
        };
        taken += 1;
        let mut written = 0;
        let used = measure(|| written = owned.write(ADDRESS).map_or(0, |bytes| bytes.len()));
        bounded(name, "writing", data.len(), &used);
        assert!(written <= 3 * data.len(), "{name}: {written} bytes from {}", data.len());
    }
    assert!(taken > 20 && refused >= 6, "{taken} taken over, {refused} refused");
}

#[test]
fn an_index_is_no_larger_than_its_section_and_looks_up_without_allocating() {
    let mut made = 0;
    for (name, data) in inputs() {
        let Ok(section) = Section::parse(&data, ADDRESS) else { continue };
        let mut index = None;
        let used = measure(|| index = Some(Index::new(&section)));
        let index = index.expect("every section has one");
        let kept = usize::try_from(used.bytes_current).expect("fits");
        let most = usize::try_from(used.bytes_max).expect("fits");
        assert_eq!(kept, index.memory(), "{name}");
        assert!(kept <= data.len() && most <= 3 * data.len(), "{name}: {kept}, {most} of {}", data.len());
        let mut cache = Cache::<_, 61>::new(&index);
        let used = measure(|| {
            (0..5000).for_each(|offset| {
                let _ = cache.lookup(InstructionPointer(ADDRESS + offset));
            })
        });
        assert_eq!(used, AllocationInfo::default(), "{name}");
        made += u32::from(kept > 0);
    }
    assert!(made > 10, "{made} indexes");
}

#[test]
fn converting_needs_a_small_multiple_of_the_input() {
    let mut conversions = 0;
    for (name, data) in inputs() {
        let Ok(section) = Section::parse(&data, ADDRESS) else { continue };
        let Ok(owned) = write::Section::from_read(&section) else { continue };
        for version in [Version::V1, Version::V2, Version::V3] {
            let target = Target { version, byte_order: ByteOrder::Little };
            let mut conversion = None;
            let used = measure(|| conversion = owned.convert(target).ok());
            bounded(name, &format!("converting to {version}"), data.len(), &used);
            conversions += u32::from(conversion.is_some());
        }
    }
    assert!(conversions > 60, "{conversions}");
}
