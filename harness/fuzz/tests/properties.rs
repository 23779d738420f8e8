//! The properties on generated input: sound sections with some bytes changed,
//! cut, or put together at random.

mod kept;

use proptest::collection::vec;
use proptest::prelude::*;

/// A section that is sound enough for changes to reach all of the reader:
/// functions share one size and have rows of every width.
fn section(version: u8, abi: u8, functions: usize, rows: &[(u8, u8, Vec<u8>)], flags: u8) -> Vec<u8> {
    let is_big = matches!(abi, 1 | 4);
    let number = |width: usize, value: u64| {
        let mut bytes = value.to_le_bytes()[..width].to_vec();
        if is_big {
            bytes.reverse();
        }
        bytes
    };
    let mut body = Vec::new();
    for (start, info, words) in rows {
        body.extend([*start, *info]);
        let size = match info >> 5 & 3 {
            0 => 1,
            1 => 2,
            _ => 4,
        };
        let len = usize::from(info >> 1 & 0xf) * size;
        body.extend(words.iter().copied().chain(std::iter::repeat(0)).take(len));
    }
    let (mut table, mut fres) = (Vec::new(), Vec::new());
    for index in 0..functions {
        let start = 0x1000 + 0x40 * index as u64;
        let offset = fres.len() as u64;
        if version == 3 {
            table.extend(number(8, start));
            table.extend(number(4, 0x40));
            table.extend(number(4, offset));
            fres.extend(number(2, rows.len() as u64));
            fres.extend([flags & 0xb0, u8::from(index % 2 == 1), 16]);
        } else {
            for value in [start, 0x40, offset, rows.len() as u64] {
                table.extend(number(4, value));
            }
            table.push(flags & 0x30);
            if version == 2 {
                table.extend([16, 0, 0]);
            }
        }
        fres.extend(&body);
    }
    let fixed_ra = if abi == 3 { 0xf8 } else { 0 };
    let mut bytes = number(2, 0xdee2);
    bytes.extend([version, flags & 5, abi, 0, fixed_ra, 0]);
    for value in [functions, functions * rows.len(), fres.len(), 0, table.len()] {
        bytes.extend(number(4, value as u64));
    }
    bytes.extend(table);
    bytes.extend(fres);
    bytes
}

fn sections() -> impl Strategy<Value = Vec<u8>> {
    let row = (0..0x48_u8, any::<u8>(), vec(any::<u8>(), 0..24));
    (1..=3_u8, 1..=4_u8, 0..6_usize, vec(row, 0..6), any::<u8>())
        .prop_map(|(version, abi, functions, rows, flags)| section(version, abi, functions, &rows, flags))
}

/// Sections with some bytes changed and some of the end cut off.
fn inputs() -> impl Strategy<Value = Vec<u8>> {
    let changes = vec((any::<prop::sample::Index>(), any::<u8>()), 0..5);
    (sections(), changes, 0..8_usize).prop_map(|(mut bytes, changes, cut)| {
        for (index, value) in changes {
            if !bytes.is_empty() {
                let index = index.index(bytes.len());
                bytes[index] = value;
            }
        }
        let len = bytes.len().saturating_sub(cut.saturating_sub(4));
        bytes.truncate(len);
        bytes
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4096, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn anything_can_be_read(data in inputs()) {
        sframe_fuzz::read(&data);
    }

    #[test]
    fn what_is_found_covers_the_address(data in inputs()) {
        sframe_fuzz::look_up(&data);
    }

    #[test]
    fn a_step_goes_outwards_or_says_why_not(state in vec(any::<u8>(), 32), data in inputs()) {
        sframe_fuzz::step(&[state, data].concat());
    }

    #[test]
    fn what_was_read_can_be_written_and_read_again(data in inputs()) {
        sframe_fuzz::write(&data);
    }

    #[test]
    fn conversions_keep_or_list_every_function(data in inputs()) {
        sframe_fuzz::convert(&data);
    }
}

/// The generator must serve its purpose: most of its sections are sound.
#[test]
fn generated_sections_are_mostly_sound() {
    use proptest::strategy::ValueTree;
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let mut written = 0;
    for _ in 0..500 {
        let data = sections().new_tree(&mut runner).expect("a section").current();
        if let Ok(section) = sframe_engine::Section::parse(&data, 0) {
            written += u32::from(sframe_engine::write::Section::from_read(&section).is_ok());
        }
    }
    assert!(written > 100, "{written} of 500");
}

/// Inputs that once broke a property, and what libFuzzer has kept for the code
/// that it reaches.
#[test]
fn regressions_stay_fixed_and_kept_inputs_pass() {
    let package = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let inputs = |folder: &str| {
        let entries = std::fs::read_dir(package.join(folder)).expect("the folder");
        entries
            .map(|entry| entry.expect("an entry").path())
            .filter(|path| path.is_file() && path.extension().is_none_or(|extension| extension != "md"))
            .map(|path| std::fs::read(path).expect("a file"))
            .collect::<Vec<_>>()
    };
    for (target, property) in sframe_fuzz::PROPERTIES {
        let kept = kept::inputs(target);
        assert!(kept.len() >= 20, "{} inputs kept for {target}", kept.len());
        kept.iter().chain(&inputs("regressions")).for_each(|data| property(data));
    }
}
