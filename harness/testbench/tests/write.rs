//! Writing and converting, on every section of the corpus.

mod common;

use std::collections::BTreeMap;

use sframe_engine::write::{self, Target};
use sframe_engine::{ByteOrder, InstructionPointer, Section, Version};
use sframe_testbench::subject::Subject;

/// Calls `each` with the name and the section of every build.
fn each_section(mut each: impl FnMut(&str, &[u8], &Section<'_>)) {
    let suite = common::suite();
    for build in &suite.manifest().builds {
        let bytes = build.read(suite.corpus()).expect("a build");
        let subject = Subject::parse(&bytes).expect("an ELF file");
        let sframe = subject.sframe.expect("a section");
        let section = Section::parse(sframe.data, sframe.address).expect("a sound section");
        each(&build.id, sframe.data, &section);
    }
}

#[test]
fn reading_and_writing_gives_the_same_bytes_for_every_section_that_gnu_ld_wrote() {
    let mut versions = BTreeMap::new();
    each_section(|name, data, section| {
        let owned = write::Section::from_read(section).expect("sound rows");
        let written = owned.write(section.address()).expect("what was read can be written");
        assert!(written == data, "{name}");
        *versions.entry(section.header().version).or_insert(0) += 1;
    });
    assert_eq!(versions.keys().copied().collect::<Vec<_>>(), [Version::V1, Version::V2, Version::V3]);
    assert!(versions.values().all(|count| *count > 100), "{versions:?}");
}

/// What a section says of each row's first and last PC, as text.
fn says(section: &Section<'_>) -> Vec<String> {
    let mut answers = Vec::new();
    for fde in section.fdes() {
        let fde = fde.expect("an FDE");
        for pc in (fde.start..fde.start + u64::from(fde.size)).step_by(2) {
            let found = section.lookup(InstructionPointer(pc)).expect("sound rows");
            let row = found.map_or_else(|| "none".into(), |found| found.row.to_string());
            answers.push(format!("{pc:#x} {row} {:?} {:?}", fde.pauth_key, fde.signal));
        }
    }
    answers.sort();
    answers
}

#[test]
fn a_conversion_says_the_same_but_of_the_functions_that_it_lists() {
    let mut left_out = BTreeMap::new();
    let (mut conversions, mut whole) = (0, 0);
    each_section(|name, _, section| {
        // The large functions take long, and add nothing here.
        if name.contains("large_function") {
            return;
        }
        let owned = write::Section::from_read(section).expect("sound rows");
        for version in [Version::V1, Version::V2, Version::V3] {
            for byte_order in [ByteOrder::Little, ByteOrder::Big] {
                let Ok(conversion) = owned.convert(Target { version, byte_order }) else { continue };
                conversions += 1;
                let bytes = conversion.section.write(section.address()).expect("a section in reach");
                let converted = Section::parse(&bytes, section.address()).expect("a sound section");
                assert_eq!(converted.header().version, version, "{name}");
                let gone = |answer: &String| {
                    conversion.left_out.iter().any(|gone| {
                        let function = &owned.functions[gone.function];
                        let end = function.start + u64::from(function.size);
                        let pc = answer.split(' ').next().expect("a PC").trim_start_matches("0x");
                        let pc = u64::from_str_radix(pc, 16).expect("a PC");
                        (function.start..end).contains(&pc)
                    })
                };
                let expected: Vec<_> = says(section).into_iter().filter(|answer| !gone(answer)).collect();
                assert_eq!(says(&converted), expected, "{name} to {version}");
                whole += u32::from(conversion.left_out.is_empty());
                for gone in conversion.left_out {
                    for error in gone.errors {
                        *left_out.entry(format!("{:?}", error.kind)).or_insert(0) += 1;
                    }
                }
            }
        }
    });
    assert!(conversions > 1500 && whole > 1000, "{conversions} conversions, {whole} whole: {left_out:?}");
    // Version 1 can't mark an outermost frame, and only version 3 has DRAP.
    for kind in ["UndefinedRaNotInVersion", "CfaNotInDefault", "RepSizeMismatch(V1)"] {
        assert!(left_out.contains_key(kind), "{left_out:?}");
    }
}
