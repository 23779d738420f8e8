//! Programs of a few instructions.

use sframe_machine::Cpu;

const ADDRESS: u64 = 0x40_0000;
/// Where its code starts.
pub(crate) const CODE: u64 = ADDRESS + 120;

/// An executable of one segment that holds its headers and the code.
pub(crate) fn executable(cpu: &Cpu, code: &[u8]) -> Vec<u8> {
    let (big, machine) = (cpu.abi.is_big_endian(), cpu.elf_machine);
    let order = if big { 2 } else { 1 };
    let mut bytes = vec![0x7f, b'E', b'L', b'F', 2, order, 1];
    bytes.resize(16, 0);
    let mut put = |size: usize, value: u64| {
        let all = value.to_be_bytes();
        let part = &all[8 - size..];
        if big {
            bytes.extend(part);
        } else {
            bytes.extend(part.iter().rev());
        }
    };
    for (size, value) in [
        (2, 2), // ET_EXEC
        (2, u64::from(machine)),
        (4, 1),
        (8, CODE),
        (8, 64), // program headers
        (8, 0),
        (4, 0),
        (2, 64),
        (2, 56),
        (2, 1),
        (2, 0),
        (2, 0),
        (2, 0),
        // The segment.
        (4, 1),
        (4, 7), // readable, writable, executable
        (8, 0),
        (8, ADDRESS),
        (8, ADDRESS),
        (8, 120 + code.len() as u64),
        (8, 120 + code.len() as u64),
        (8, 4096),
    ] {
        put(size, value);
    }
    bytes.extend(code);
    bytes
}
