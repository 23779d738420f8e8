//! Programs made without a toolchain: many frames of one function, and an
//! innermost function given by the caller.

use std::collections::BTreeMap;

use sframe_engine::write::{Function, Section};
use sframe_engine::{Abi, Base, FdeType, Flags, PauthKey, PcType, Recovery, RecoveryRule, Row, Version};
use sframe_machine::Cpu;

const ADDRESS: u64 = 0x40_0000;
const HEADERS: usize = 64 + 2 * 56;

/// The entry function, which passes the number of recursive calls to the next
/// function.
fn entry(cpu: &Cpu, levels: u32) -> Vec<u8> {
    match cpu.abi {
        Abi::Amd64 => [
            &[0xb9][..], // mov $levels,%ecx
            &levels.to_le_bytes(),
            &[0xe8, 9, 0, 0, 0],  // call descend
            &[0x31, 0xff],        // xor %edi,%edi
            &[0xb8, 60, 0, 0, 0], // mov $60,%eax
            &[0x0f, 0x05],        // syscall
        ]
        .concat(),
        Abi::S390x => [
            &[0xa7, 0xfb, 0xff, 0x60][..], // aghi %r15,-160
            &[0xc0, 0x11],                 // lgfi %r1,levels
            &levels.to_be_bytes(),
            &[0xc0, 0xe5, 0, 0, 0, 6], // brasl %r14,descend
            &[0xa7, 0x29, 0, 0],       // lghi %r2,0
            &[0x0a, 1],                // svc 1
        ]
        .concat(),
        Abi::Aarch64 | Abi::Aarch64Be => unreachable!("no program for {}", cpu.abi),
    }
}

/// The function that calls itself, and finally the code after it.
const AMD64: &[u8] = &[
    0x55, // push %rbp
    0x48, 0x89, 0xe5, // mov %rsp,%rbp
    0xff, 0xc9, // dec %ecx
    0x74, 7, // je 1f
    0xe8, 0xf3, 0xff, 0xff, 0xff, // call descend
    0xeb, 5, // jmp 2f
    0xe8, 2, 0, 0, 0,    // 1: call innermost
    0x5d, // 2: pop %rbp
    0xc3, // ret
];

const S390X: &[u8] = &[
    0xeb, 0xbf, 0xf0, 0x58, 0, 0x24, // stmg %r11,%r15,88(%r15)
    0xa7, 0xfb, 0xff, 0x60, // aghi %r15,-160
    0xb9, 0x04, 0, 0xbf, // lgr %r11,%r15
    0xa7, 0x16, 0, 7, // brct %r1,1f
    0xc0, 0xe5, 0, 0, 0, 12, // brasl %r14,innermost
    0xa7, 0xf4, 0, 5, // j 2f
    0xc0, 0xe5, 0xff, 0xff, 0xff, 0xf2, // 1: brasl %r14,descend
    0xeb, 0xbf, 0xf0, 0xf8, 0, 0x04, // 2: lmg %r11,%r15,248(%r15)
    0x07, 0xfe, // br %r14
];

fn row(start: u32, cfa: i64, ra: Option<i64>, fp: Option<i64>) -> Row {
    let at_cfa = |offset: Option<i64>| match offset {
        Some(offset) => Recovery::Rule(RecoveryRule { base: Base::Cfa, offset, dereference: true }),
        None => Recovery::Unchanged,
    };
    Row {
        start,
        end: 0,
        cfa: Some(RecoveryRule { base: Base::Sp, offset: cfa, dereference: false }),
        ra: at_cfa(ra),
        fp: at_cfa(fp),
        mangled_ra: false,
    }
}

fn function(position: usize, start: u64, size: usize, rows: &[Row]) -> Function {
    Function {
        start,
        size: u32::try_from(size).expect("a small function"),
        fre_type: None,
        pc_type: PcType::Inc,
        fde_type: FdeType::Default,
        pauth_key: PauthKey::A,
        signal: false,
        rep_size: Some(0),
        rows_position: u32::try_from(position).expect("few functions"),
        rows: rows.to_vec(),
        wide_rows: BTreeMap::new(),
    }
}

/// Makes a program with `levels` frames between the entry function and
/// `innermost`, and returns the address of the latter.
pub(crate) fn program(cpu: &Cpu, levels: u32, innermost: &[&[u8]]) -> (Vec<u8>, u64) {
    let innermost = innermost.concat();
    let (machine, descend) = match cpu.abi {
        Abi::Amd64 => (62_u16, AMD64),
        Abi::S390x => (22, S390X),
        Abi::Aarch64 | Abi::Aarch64Be => unreachable!("no program for {}", cpu.abi),
    };
    let (first, rows) = match cpu.abi {
        Abi::Amd64 => {
            let first = row(0, 8, Some(-8), None);
            (first, vec![first, row(1, 16, Some(-8), Some(-16)), row(21, 8, Some(-8), None)])
        }
        Abi::S390x => {
            let first = row(0, 160, None, None);
            let saved = |start, cfa| row(start, cfa, Some(-48), Some(-72));
            (first, vec![first, saved(6, 160), saved(10, 320), row(40, 160, None, None)])
        }
        Abi::Aarch64 | Abi::Aarch64Be => unreachable!("no rows for {}", cpu.abi),
    };
    let mut functions = Vec::new();
    let mut code = Vec::new();
    let mut add = |bytes: &[u8], rows: &[Row]| {
        let start = ADDRESS + (HEADERS + code.len()) as u64;
        functions.push(function(functions.len(), start, bytes.len(), rows));
        code.extend(bytes);
        start
    };
    add(&entry(cpu, levels), &[]);
    add(descend, &rows);
    let innermost = add(&innermost, &[first]);
    code.resize(code.len().next_multiple_of(8), 0);
    let section_address = ADDRESS + (HEADERS + code.len()) as u64;
    let section = Section {
        version: Version::V3,
        // Sorted, and starts relative to their own fields.
        flags: Flags(1 | 4),
        abi: cpu.abi,
        fixed_fp_offset: None,
        fixed_ra_offset: cpu.abi.fixed_ra_offset(),
        auxiliary: Vec::new(),
        functions,
    };
    let section = section.write(section_address).expect("a section");

    let mut bytes = vec![0x7f, b'E', b'L', b'F', 2, 1 + u8::from(cpu.abi.is_big_endian()), 1];
    bytes.resize(16, 0);
    let mut put = |size: usize, value: u64| {
        let all = value.to_be_bytes();
        let part = &all[8 - size..];
        if cpu.abi.is_big_endian() {
            bytes.extend(part);
        } else {
            bytes.extend(part.iter().rev());
        }
    };
    let len = (HEADERS + code.len() + section.len()) as u64;
    for (size, value) in [
        (2, 2), // ET_EXEC
        (2, u64::from(machine)),
        (4, 1),
        (8, ADDRESS + HEADERS as u64),
        (8, 64), // program headers
        (8, 0),
        (4, 0),
        (2, 64),
        (2, 56),
        (2, 2),
        (2, 0),
        (2, 0),
        (2, 0),
    ] {
        put(size, value);
    }
    let mut segment = |kind, flags, offset: u64, len| {
        for (size, value) in [
            (4, kind),
            (4, flags),
            (8, offset),
            (8, ADDRESS + offset),
            (8, ADDRESS + offset),
            (8, len),
            (8, len),
            (8, 4096),
        ] {
            put(size, value);
        }
    };
    segment(1, 5, 0, len); // PT_LOAD, readable and executable
    segment(0x6474_e554, 4, section_address - ADDRESS, section.len() as u64); // PT_GNU_SFRAME
    bytes.extend(code);
    bytes.extend(section);
    (bytes, innermost)
}
