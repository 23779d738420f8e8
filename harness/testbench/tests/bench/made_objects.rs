//! Object files of a few instructions, as an assembler writes them.

use std::collections::BTreeMap;

use object::elf::{
    R_390_PC64, R_AARCH64_PREL64, R_X86_64_PC64, SHT_GNU_SFRAME, SHT_NULL, SHT_PROGBITS, SHT_RELA,
    SHT_STRTAB, SHT_SYMTAB, SectionType,
};
use sframe_engine::constants::{SFRAME_F_FDE_FUNC_START_PCREL, SFRAME_F_FDE_SORTED};
use sframe_engine::write::{Function, Section};
use sframe_engine::{Abi, Base, FdeType, Flags, PauthKey, PcType, Recovery, RecoveryRule, Row, Version};

/// A function.
#[derive(Clone, Debug)]
pub(crate) struct Code {
    pub(crate) name: &'static str,
    pub(crate) bytes: Vec<u8>,
    /// Its rows; without any, it has no FDE.
    pub(crate) rows: Vec<Row>,
    pub(crate) signal: bool,
    /// Offsets of words that get the distance to a symbol, less a number.
    pub(crate) relocations: Vec<(u64, &'static str)>,
}

impl Code {
    pub(crate) fn new(name: &'static str, bytes: &[u8], rows: Vec<Row>) -> Self {
        Self { name, bytes: bytes.to_vec(), rows, signal: false, relocations: Vec::new() }
    }
}

/// A row of amd64: CFA = SP plus an offset, RA below it, FP where it was.
pub(crate) fn row(start: u32, offset: i64) -> Row {
    let rule = |base, offset, dereference| RecoveryRule { base, offset, dereference };
    Row {
        start,
        end: 0,
        cfa: Some(rule(Base::Sp, offset, false)),
        ra: Recovery::Rule(rule(Base::Cfa, -8, true)),
        fp: Recovery::Unchanged,
        mangled_ra: false,
    }
}

/// A row of an ABI whose calls leave the return address in a register.
pub(crate) fn row_of_leaf(abi: Abi, start: u32, offset: i64) -> Row {
    let above = 0_i64.wrapping_sub(abi.sp_from_cfa(0).cast_signed());
    let cfa = RecoveryRule { base: Base::Sp, offset: above + offset, dereference: false };
    Row { cfa: Some(cfa), ra: Recovery::Unchanged, ..row(start, 0) }
}

/// The same row, with the caller's FP in memory.
pub(crate) fn saves_fp(row: Row, base: Base, offset: i64) -> Row {
    Row { fp: Recovery::Rule(RecoveryRule { base, offset, dereference: true }), ..row }
}

/// Returns an object file with these functions, one after the other.
pub(crate) fn object(abi: Abi, functions: &[Code]) -> Vec<u8> {
    let mut text = Vec::new();
    let mut starts = BTreeMap::new();
    for function in functions {
        text.resize(text.len().next_multiple_of(16), 0);
        starts.insert(function.name, text.len() as u64);
        text.extend(&function.bytes);
    }
    Writer { abi, functions, text, starts }.file()
}

struct Writer<'f> {
    abi: Abi,
    functions: &'f [Code],
    text: Vec<u8>,
    /// Where functions start in the text.
    starts: BTreeMap<&'static str, u64>,
}

/// A section of the file.
struct Part {
    name: &'static str,
    kind: SectionType,
    flags: u64,
    links: [u64; 2],
    entry: u64,
    data: Vec<u8>,
}

impl Part {
    fn new(name: &'static str, kind: SectionType, flags: u64, data: Vec<u8>) -> Self {
        Self { name, kind, flags, links: [0, 0], entry: 0, data }
    }

    fn table(mut self, links: [u64; 2]) -> Self {
        (self.links, self.entry) = (links, 24);
        self
    }
}

/// The lengths of a header and of an FDE of version 3.
const HEADER: u64 = 28;
const FDE: u64 = 16;

impl Writer<'_> {
    /// Appends numbers, each with a width in bytes.
    fn put(&self, bytes: &mut Vec<u8>, fields: &[(usize, u64)]) {
        for (width, value) in fields {
            if self.abi.is_big_endian() {
                bytes.extend(&value.to_be_bytes()[8 - width..]);
            } else {
                bytes.extend(&value.to_le_bytes()[..*width]);
            }
        }
    }

    fn sframe(&self) -> Vec<u8> {
        let with_rows = self.functions.iter().filter(|function| !function.rows.is_empty());
        // Only these can say that the CFA is in memory.
        let kind = |function: &Code| {
            let is_flex = function.rows.iter().any(|row| row.cfa.is_some_and(|rule| rule.dereference));
            if is_flex { FdeType::Flex } else { FdeType::Default }
        };
        let function = |(position, function): (u32, &Code)| Function {
            start: self.starts[function.name],
            size: u32::try_from(function.bytes.len()).expect("few bytes"),
            fre_type: None,
            pc_type: PcType::Inc,
            fde_type: kind(function),
            pauth_key: PauthKey::A,
            signal: function.signal,
            rep_size: Some(0),
            rows_position: position,
            rows: function.rows.clone(),
            wide_rows: BTreeMap::new(),
        };
        let section = Section {
            version: Version::V3,
            flags: Flags(SFRAME_F_FDE_SORTED | SFRAME_F_FDE_FUNC_START_PCREL),
            abi: self.abi,
            fixed_fp_offset: None,
            fixed_ra_offset: (self.abi == Abi::Amd64).then_some(-8),
            auxiliary: Vec::new(),
            functions: (0..).zip(with_rows).map(function).collect(),
        };
        section.write(0).expect("rows that can be written")
    }

    fn file(&self) -> Vec<u8> {
        let mut strings = vec![0];
        let mut named = |name: &str| {
            let at = strings.len() as u64;
            strings.extend(name.bytes().chain([0]));
            at
        };
        // The first symbol is the section's.
        let mut symbols = vec![0; 24];
        self.put(&mut symbols, &[(4, 0), (1, 3), (1, 0), (2, 1), (8, 0), (8, 0)]);
        for function in self.functions {
            let (start, len) = (self.starts[function.name], function.bytes.len() as u64);
            self.put(
                &mut symbols,
                &[(4, named(function.name)), (1, 0x12), (1, 0), (2, 1), (8, start), (8, len)],
            );
        }
        let mut undefined: Vec<&str> = Vec::new();
        let mut of_text = Vec::new();
        for function in self.functions {
            for (offset, symbol) in &function.relocations {
                let index = undefined.iter().position(|known| known == symbol).unwrap_or_else(|| {
                    undefined.push(symbol);
                    undefined.len() - 1
                });
                let symbol = (2 + self.functions.len() + index) as u64;
                let at = self.starts[function.name] + offset;
                // R_X86_64_PLT32.
                self.put(&mut of_text, &[(8, at), (8, symbol << 32 | 4), (8, (-4_i64).cast_unsigned())]);
            }
        }
        for name in &undefined {
            self.put(&mut symbols, &[(4, named(name)), (1, 0x10), (1, 0), (2, 0), (8, 0), (8, 0)]);
        }
        let distance = match self.abi {
            Abi::Amd64 => R_X86_64_PC64,
            Abi::Aarch64 | Abi::Aarch64Be => R_AARCH64_PREL64,
            Abi::S390x => R_390_PC64,
        };
        let mut of_sframe = Vec::new();
        let with_rows = self.functions.iter().filter(|function| !function.rows.is_empty());
        for (index, function) in (0..).zip(with_rows) {
            let start = self.starts[function.name];
            self.put(
                &mut of_sframe,
                &[(8, HEADER + index * FDE), (8, 1 << 32 | u64::from(distance.0)), (8, start)],
            );
        }
        let mut parts = [
            Part::new("", SHT_NULL, 0, Vec::new()),
            Part::new(".text", SHT_PROGBITS, 6, self.text.clone()),
            Part::new(".sframe", SHT_GNU_SFRAME, 2, self.sframe()),
            Part::new(".rela.text", SHT_RELA, 0x40, of_text).table([5, 1]),
            Part::new(".rela.sframe", SHT_RELA, 0x40, of_sframe).table([5, 2]),
            Part::new(".symtab", SHT_SYMTAB, 0, symbols).table([6, 2]),
            Part::new(".strtab", SHT_STRTAB, 0, Vec::new()),
        ];
        let names: Vec<u64> = parts.iter().map(|part| named(part.name)).collect();
        parts[6].data = strings;
        let (mut body, mut headers) = (Vec::new(), Vec::new());
        for (part, name) in parts.iter().zip(names) {
            body.resize(body.len().next_multiple_of(16), 0);
            let fields = [(8, part.flags), (8, 0), (8, 64 + body.len() as u64), (8, part.data.len() as u64)];
            self.put(&mut headers, &[(4, name), (4, part.kind.0.into())]);
            self.put(&mut headers, &fields);
            self.put(&mut headers, &[(4, part.links[0]), (4, part.links[1]), (8, 16), (8, part.entry)]);
            body.extend(&part.data);
        }
        body.resize(body.len().next_multiple_of(16), 0);
        let machine = match self.abi {
            Abi::Amd64 => 62,
            Abi::Aarch64 | Abi::Aarch64Be => 183,
            Abi::S390x => 22,
        };
        let order = if self.abi.is_big_endian() { 2 } else { 1 };
        let mut file = [&b"\x7fELF"[..], &[2, order, 1], &[0; 9]].concat();
        let fields = [(2, 1), (2, machine), (4, 1), (8, 0), (8, 0), (8, 64 + body.len() as u64), (4, 0)];
        self.put(&mut file, &fields);
        self.put(&mut file, &[(2, 64), (2, 0), (2, 0), (2, 64), (2, parts.len() as u64), (2, 6)]);
        [file, body, headers].concat()
    }
}
