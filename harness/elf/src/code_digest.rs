//! What distinguishes a function from others of its name: its code, wherever it is linked to.

use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use object::elf::PT_LOAD;
use object::read::elf::ProgramHeader as _;
use rustc_hash::FxHashMap;
use sframe_engine::Abi;
use sframe_isa::starts;
use sha2::{Digest as _, Sha256};

use crate::abi::abi_of;
use crate::bounded::File;
use crate::function_code::FunctionCode;
use crate::object_file::code;
use crate::symbols::Symbols;

/// The digests of the functions of a file.
#[derive(Debug)]
pub struct FunctionCodes<'a> {
    abi: Option<Abi>,
    /// All code, with its addresses.
    code: Vec<(u64, &'a [u8])>,
    /// The addresses that its segments are loaded at, from the first to the last; empty in a relocatable file.
    image: Range<u64>,
    seen: Mutex<Seen>,
}

/// Digests by the start of the function, and how many bytes may still be digested.
#[derive(Debug)]
struct Seen(FxHashMap<u64, String>, usize);

impl<'a> FunctionCodes<'a> {
    /// Those of a file.
    #[must_use]
    pub fn of(file: &File<'a>) -> Self {
        let code: Vec<(u64, &[u8])> = code(file).collect();
        let endian = file.endian();
        let loaded = file.elf_program_headers().iter().filter(|header| header.p_type(endian) == PT_LOAD);
        let image = loaded
            .map(|header| {
                let start = header.p_vaddr(endian);
                start..start.saturating_add(header.p_memsz(endian))
            })
            .reduce(|all, one| all.start.min(one.start)..all.end.max(one.end))
            .unwrap_or_default();
        // Functions of a sound file don't overlap, but for some bytes; malformed ones may name all code each.
        let most = code.iter().fold(0, |sum: usize, (_, code)| sum.saturating_add(2 * code.len()));
        Self { abi: abi_of(file), code, image, seen: Mutex::new(Seen(FxHashMap::default(), most)) }
    }

    /// The code of the function at an address. Without a symbol it is at `extent`. The digest is empty where there is no
    /// such code, or too much of it.
    #[must_use]
    pub fn of_function(&self, symbols: &Symbols<'_>, address: u64, extent: Range<u64>) -> FunctionCode {
        let symbol = symbols.at(address);
        let is_only = symbol.is_some_and(|(name, _)| symbols.count_of(name) == 1);
        FunctionCode {
            digest: self.digest(symbols, symbol.map(|(_, offset)| address - offset), extent),
            is_only,
        }
    }

    fn digest(&self, symbols: &Symbols<'_>, start: Option<u64>, extent: Range<u64>) -> String {
        let start = start.unwrap_or(extent.start);
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let Seen(known, left) = &mut *seen;
        if let Some(known) = known.get(&start) {
            return known.clone();
        }
        let end = symbols.extent(start).map_or(extent.end, |extent| extent.end);
        let digest = self.bytes(start..end).zip(self.abi).and_then(|(code, abi)| {
            *left = left.checked_sub(code.len())?;
            Some(code_digest(abi, start, code, &self.image))
        });
        let digest = digest.unwrap_or_default();
        known.insert(start, digest.clone());
        digest
    }

    fn bytes(&self, range: Range<u64>) -> Option<&'a [u8]> {
        let is_in = |(start, code): &&(u64, &[u8])| range.start.wrapping_sub(*start) < code.len() as u64;
        let (start, code) = self.code.iter().find(is_in)?;
        let offset = |address: u64| usize::try_from(address.checked_sub(*start)?).ok();
        code.get(offset(range.start)?..offset(range.end)?.min(code.len()))
    }
}

/// Digests the code of a function, apart from what changes where it, or what it refers to, is placed elsewhere. `image`
/// are the addresses of its file, some of which it may contain. 16 hexadecimal digits.
fn code_digest(abi: Abi, address: u64, code: &[u8], image: &Range<u64>) -> String {
    let offset = |at: u64| usize::try_from(at.wrapping_sub(address)).unwrap_or(usize::MAX).min(code.len());
    let mut instructions = Vec::new();
    let end = starts(abi, address, code, address.saturating_add(code.len() as u64), |at| {
        instructions.push(offset(at));
    });
    instructions.push(offset(end));
    let mut digest = Sha256::new();
    for bounds in instructions.windows(2) {
        let mut instruction = code[bounds[0]..bounds[1]].to_vec();
        match abi {
            Abi::Amd64 => mask_amd64(&mut instruction, image),
            Abi::Aarch64 | Abi::Aarch64Be => mask_aarch64(&mut instruction),
            Abi::S390x => mask_s390x(&mut instruction),
        }
        digest.update([u8::try_from(instruction.len()).unwrap_or(u8::MAX)]);
        digest.update(&instruction);
    }
    digest.finalize().iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}

/// Clears a displacement from the instruction pointer; in a file that has a fixed place, an address in it.
fn mask_amd64(instruction: &mut [u8], image: &Range<u64>) {
    // Below are the numbers that programs use.
    const LEAST: u64 = 1 << 16;
    let address = || {
        let number = |at: usize| Some(u32::from_le_bytes(instruction.get(at..at + 4)?.try_into().ok()?));
        let is_in = |at: &usize| number(*at).is_some_and(|number| image.contains(&number.into()));
        (1..instruction.len()).filter(|_| image.start >= LEAST).find(is_in)
    };
    if let Some(at) = relative_amd64(instruction).or_else(address)
        && let Some(field) = instruction.get_mut(at..at + 4)
    {
        field.fill(0);
    }
}

/// Where a displacement of four bytes from the instruction pointer is: of `call`, `jmp`, a conditional jump, or an operand in
/// memory.
fn relative_amd64(instruction: &[u8]) -> Option<usize> {
    let is_prefix = |byte: &u8| matches!(byte, 0x26 | 0x2e | 0x36 | 0x3e | 0x40..=0x4f | 0x64..=0x67 | 0xf0 | 0xf2 | 0xf3);
    let opcode = instruction.iter().take_while(|byte| is_prefix(byte)).count();
    // Where the byte is that says which operands there are.
    let operands = match instruction.get(opcode..)? {
        [0xe8 | 0xe9, ..] => return Some(opcode + 1),
        [0x0f, 0x80..=0x8f, ..] => return Some(opcode + 2),
        [0x0f, 0x38 | 0x3a, ..] | [0xc5, ..] => opcode + 3,
        [0x0f, ..] => opcode + 2,
        [0xc4, ..] => opcode + 4,
        [0x62, ..] => opcode + 5,
        _ => opcode + 1,
    };
    let is_relative = instruction.get(operands)? & 0xc7 == 0x05;
    (is_relative && operands + 5 <= instruction.len()).then_some(operands + 1)
}

/// Clears what is relative to the instruction, or the lower part of an address. Words are little endian in both orders.
fn mask_aarch64(instruction: &mut [u8]) {
    let Ok(word) = <[u8; 4]>::try_from(&*instruction).map(u32::from_le_bytes) else { return };
    let is = |mask: u32, bits: u32| word & mask == bits;
    let base = (word >> 5) & 31;
    let is_of_frame = base == 29 || base == 31;
    let kept = match () {
        // B, BL
        () if is(0x7c00_0000, 0x1400_0000) => 0xfc00_0000,
        // B.cond; CBZ, CBNZ; LDR of a literal
        () if is(0xff00_0000, 0x5400_0000)
            || is(0x7e00_0000, 0x3400_0000)
            || is(0x3b00_0000, 0x1800_0000) =>
        {
            0xff00_001f
        }
        // TBZ, TBNZ
        () if is(0x7e00_0000, 0x3600_0000) => 0xfff8_001f,
        // ADR, ADRP
        () if is(0x1f00_0000, 0x1000_0000) => 0x9f00_001f,
        // ADD, LDR and STR of what ADRP has begun
        () if !is_of_frame && (is(0x7f80_0000, 0x1100_0000) || is(0x3b00_0000, 0x3900_0000)) => 0xffc0_03ff,
        () => u32::MAX,
    };
    instruction.copy_from_slice(&(word & kept).to_le_bytes());
}

/// Clears what is relative to the instruction, of those whose reach is long.
fn mask_s390x(instruction: &mut [u8]) {
    if let [0xc0, opcode, rest @ ..] = instruction
        && matches!(*opcode & 0xf, 0 | 4 | 5)
    {
        rest.fill(0);
    } else if let [0xc4 | 0xc6, _, rest @ ..] = instruction {
        rest.fill(0);
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    /// The same function at another place, and one that is different.
    #[rstest]
    // call; lea with a displacement from RIP; jne; ret
    #[case(
        Abi::Amd64,
        "e810000000488d0510000000 0f8510000000c3",
        "e820000000488d0520000000 0f8520000000c3",
        "e810000000488d1510000000 0f8510000000c3"
    )]
    // mov $39,%eax; syscall
    #[case(Abi::Amd64, "b8270000000f05", "b8270000000f05", "b8280000000f05")]
    // mov $0x404020,%edi
    #[case(Abi::Amd64, "bf20404000", "bf60404000", "bf60400000")]
    // bl; adrp x0; add x0,x0,#lo12; sub sp,sp,#32
    #[case(
        Abi::Aarch64,
        "01000094 00000090 00400091 ff8300d1",
        "02000094 00000090 00800091 ff8300d1",
        "01000094 00000090 00400091 ff4300d1"
    )]
    // brasl %r14; larl %r1; aghi %r15,-160
    #[case(
        Abi::S390x,
        "c0e500000010c01000000010a7fbff60",
        "c0e500000020c01000000020a7fbff60",
        "c0e500000010c02000000010a7fbff60"
    )]
    fn a_place_makes_no_difference_and_code_does(
        #[case] abi: Abi,
        #[case] code: &str,
        #[case] moved: &str,
        #[case] other: &str,
    ) {
        let digest = |text: &str, address: u64| {
            let digits: Vec<u8> = text.bytes().filter(u8::is_ascii_hexdigit).collect();
            let byte = |pair: &[u8]| {
                let digits = std::str::from_utf8(pair).expect("digits");
                u8::from_str_radix(digits, 16).expect("a byte")
            };
            let code: Vec<u8> = digits.chunks(2).map(byte).collect();
            code_digest(abi, address, &code, &(0x40_0000..0x41_0000))
        };
        assert_eq!(digest(code, 0x40_1000), digest(moved, 0x40_2000));
        assert_ne!(digest(code, 0x40_1000), digest(other, 0x40_1000));
    }
}
