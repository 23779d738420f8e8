//! Files that no machine should run get one clear error before Unicorn sees them.

use std::path::Path;

use sframe_machine::{Image, LoadError, Machine, Options};

fn build(id: &str) -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus/builds").join(id);
    std::fs::read(path).expect("a build")
}

fn error(bytes: &[u8]) -> String {
    match Image::parse(bytes) {
        Ok(_) => panic!("loaded"),
        Err(error) => error.to_string(),
    }
}

/// Changes a field of the ELF header or of program header 0 of a little-endian file.
fn changed(offset: usize, bytes: &[u8]) -> Vec<u8> {
    let mut file = build("gnu-2.44/amd64/callpath.O2");
    file[offset..offset + bytes.len()].copy_from_slice(bytes);
    file
}

/// Offset of a field of the first PT_LOAD header.
fn load_field(field: usize) -> usize {
    let file = build("gnu-2.44/amd64/callpath.O2");
    (64..).step_by(56).find(|offset| file[*offset..offset + 4] == [1, 0, 0, 0]).expect("PT_LOAD") + field
}

/// Linkers give libraries the entry point 0. An executable that has it is malformed.
#[test]
fn a_library_is_no_malformed_executable() {
    let mut library = changed(16, &[3, 0]);
    library[24..32].fill(0);
    // Linked to address 0, as libraries are.
    let mut address = load_field(16);
    while library[address - 16] == 1 {
        library[address + 2] = 0;
        address += 56;
    }
    assert_eq!(error(&library), "a library without an entry point can't be run by itself");
}

#[test]
fn each_fault_has_its_message() {
    const P_OFFSET: usize = 8;
    const P_VADDR: usize = 16;
    const P_FILESZ: usize = 32;
    const P_MEMSZ: usize = 40;
    let huge = &u64::MAX.to_le_bytes();
    for (file, message) in [
        (b"#!/bin/sh\n".to_vec(), "does not start with the ELF magic number"),
        (Vec::new(), "the file is empty"),
        (changed(4, &[1]), "not of ELF class 64"),
        (changed(5, &[9]), "names no byte order"),
        (changed(5, &[2]), "big endian) is not one of"),
        (changed(16, &[1, 0]), "relocatable objects can't be run"),
        (changed(18, &[40, 0]), "is not one of amd64, aarch64, aarch64_be and s390x"),
        (changed(24, huge), "entry point 0xffffffffffffffff is not in an executable segment"),
        (changed(24, &[0; 8]), "entry point 0x0 is not in an executable segment"),
        (changed(32, huge), "program headers reach past the end of the file"),
        (changed(54, &[55, 0]), "program headers are 55 bytes each"),
        (changed(56, &[0, 0]), "there are no program headers"),
        (changed(56, &[0xe8, 3]), "program headers reach past the end of the file"),
        (changed(56, &[0xff, 0xff]), "65535 program headers are more than a loader reads"),
        (changed(load_field(P_OFFSET), huge), "reaches past the end of the file"),
        (changed(load_field(P_VADDR), huge), "the end of a kernel's addresses"),
        (changed(load_field(P_VADDR), &[0; 8]), "is mapped at address 0"),
        (changed(load_field(P_FILESZ), &[0, 0, 0, 0, 1]), "more bytes in the file than in memory"),
        (changed(load_field(P_MEMSZ), huge), "the end of a process's addresses"),
        (changed(load_field(P_MEMSZ), &[0, 0, 0x10]), "overlap"),
    ] {
        let error = error(&file);
        assert!(error.contains(message), "{error:?} is not about {message:?}");
    }
}

/// GNU ld 2.47 writes such headers for segments that hold .bss only.
#[test]
fn a_segment_without_bytes_may_name_any_place_in_the_file() {
    let mut file = changed(load_field(8), &u64::MAX.to_le_bytes());
    assert!(error(&file).contains("reaches past the end of the file"));
    let size = load_field(32);
    file[size..size + 8].fill(0);
    Image::parse(&file).expect("a loadable image");
}

#[test]
fn a_single_endless_segment_is_too_large() {
    let mut file = changed(load_field(40), &(1_u64 << 33).to_le_bytes());
    // The other PT_LOAD headers go, or they would overlap first.
    let first = load_field(0);
    for offset in (64..64 + 56 * usize::from(file[56])).step_by(56) {
        if offset != first && file[offset] == 1 {
            file[offset] = 0;
        }
    }
    let error = error(&file);
    assert!(error.contains("the segments need 0x200000000 bytes"), "{error}");
}

#[test]
fn a_file_cut_anywhere_is_an_error_or_loads() {
    let file = build("gnu-2.47/s390x/leaf.O2");
    for len in 0..file.len() {
        let result = Image::parse(&file[..len]);
        if len < 64 {
            assert!(matches!(result, Err(LoadError::NotElf(_) | LoadError::Unsupported(_))), "{len}");
        }
    }
}

/// Every byte of the headers, with several values. Files that still load also map.
#[test]
fn no_header_makes_the_loader_panic_or_take_all_memory() {
    for id in ["gnu-2.44/amd64/leaf.O2", "gnu-2.47/aarch64_be/leaf.O2-pie", "gnu-2.47/s390x/leaf.O2"] {
        let original = build(id);
        let headers = 64 + 56 * usize::from(original[56].max(original[57]));
        let (mut refused, mut loaded) = (0, 0);
        for offset in 0..headers {
            for value in [0, 1, 0x7f, 0x80, 0xff, original[offset] ^ 1, original[offset] ^ 0x10] {
                let mut file = original.clone();
                file[offset] = value;
                match Image::parse(&file) {
                    Err(error) => {
                        refused += 1;
                        assert!(!error.to_string().is_empty());
                    }
                    Ok(image) => {
                        loaded += 1;
                        let options = Options { stack_size: 1 << 14, ..Options::default() };
                        let _ = Machine::new(&image, &options);
                    }
                }
            }
        }
        assert!(refused > 100 && loaded > 100, "{id}: {refused} refused, {loaded} loaded");
    }
}
