//! A relocatable file, written field by field.

use object::elf::{SHT_NOBITS, SHT_PROGBITS, SHT_RELA, SHT_STRTAB, SHT_SYMTAB, SectionType};
use sframe_engine::Abi;

use crate::abi::in_elf;

/// A relocatable file: `.text`, `.data` and one more section, `.rela.text`, symbols.
#[derive(Clone, Debug)]
pub(super) struct Relocatable {
    pub(super) abi: Abi,
    pub(super) text: Vec<u8>,
    /// The flags of `.text`.
    pub(super) flags: u64,
    /// Offset in `.text`, type, index of the symbol, addend.
    pub(super) relocations: Vec<(u64, u32, u32, i64)>,
    /// The type of `.rela.text`: SHT_RELA or SHT_REL.
    pub(super) kind: SectionType,
    /// Name, binding and type, section, value, size. The first one has the index 1.
    pub(super) symbols: Vec<(&'static str, u8, u16, u64, u64)>,
    /// The section with the index 3.
    pub(super) other: Other,
}

/// A section.
#[derive(Clone, Debug, Default)]
pub(super) struct Other {
    pub(super) name: &'static str,
    pub(super) kind: SectionType,
    pub(super) flags: u64,
    pub(super) alignment: u64,
    pub(super) content: Vec<u8>,
    /// Its size, if it has no content.
    pub(super) size: u64,
    /// Link and info.
    links: [u64; 2],
    /// The size of an entry.
    entry: u64,
}

impl Other {
    pub(super) fn new(name: &'static str, kind: SectionType, flags: u64, content: Vec<u8>) -> Self {
        Self { name, kind, flags, alignment: 8, content, ..Self::default() }
    }

    /// One of zeros.
    pub(super) fn zeros(alignment: u64, size: u64) -> Self {
        Self { alignment, size, ..Self::new(".bss", SHT_NOBITS, 3, Vec::new()) }
    }
}

impl Relocatable {
    /// One of 64 zero bytes of code, 16 of data, and these symbols:
    ///
    /// 1. `there`, of 8 bytes, 4 bytes after the start of `.data`;
    /// 2. `outside`, undefined.
    pub(super) fn new(abi: Abi) -> Self {
        Self {
            abi,
            text: vec![0; 64],
            flags: 6,
            relocations: Vec::new(),
            kind: SHT_RELA,
            symbols: vec![("there", 0x11, 2, 4, 8), ("outside", 0x10, 0, 0, 0)],
            other: Other::new(".rodata", SHT_PROGBITS, 2, vec![0x5a; 16]),
        }
    }

    /// Returns the file.
    pub(super) fn bytes(&self) -> Vec<u8> {
        let mut strings = vec![0];
        let mut name = |name: &str| {
            let offset = strings.len() as u64;
            strings.extend(name.bytes().chain([0]));
            offset
        };
        let mut symbols = vec![0; 24];
        for (symbol, info, section, value, size) in &self.symbols {
            self.put(&mut symbols, &[(4, name(symbol)), (1, (*info).into()), (1, 0), (2, (*section).into())]);
            self.put(&mut symbols, &[(8, *value), (8, *size)]);
        }
        let mut relocations = Vec::new();
        let has_addends = self.kind == SHT_RELA;
        for (offset, r_type, symbol, addend) in &self.relocations {
            let info = u64::from(*symbol) << 32 | u64::from(*r_type);
            let fields = [(8, *offset), (8, info), (8, addend.cast_unsigned())];
            self.put(&mut relocations, if has_addends { &fields } else { &fields[..2] });
        }
        let entry = if has_addends { 24 } else { 16 };
        let sections = [
            Other::default(),
            Other::new(".text", SHT_PROGBITS, self.flags, self.text.clone()),
            Other::new(".data", SHT_PROGBITS, 3, vec![0; 16]),
            self.other.clone(),
            Other { links: [5, 1], entry, ..Other::new(".rela.text", self.kind, 0x40, relocations) },
            Other { links: [6, 1], entry: 24, ..Other::new(".symtab", SHT_SYMTAB, 0, symbols) },
            Other::new(".strtab", SHT_STRTAB, 0, Vec::new()),
        ];
        let names = sections.each_ref().map(|section| name(section.name));
        let mut file = vec![0; 64];
        let mut headers = Vec::new();
        for (section, name) in sections.iter().zip(names) {
            let content = if section.kind == SHT_STRTAB { &strings } else { &section.content };
            let size = if content.is_empty() { section.size } else { content.len() as u64 };
            self.put(&mut headers, &[(4, name), (4, section.kind.0.into()), (8, section.flags), (8, 0)]);
            self.put(&mut headers, &[(8, file.len() as u64), (8, size)]);
            self.put(&mut headers, &section.links.map(|link| (4, link)));
            self.put(&mut headers, &[(8, section.alignment), (8, section.entry)]);
            file.extend(content);
            file.resize(file.len().next_multiple_of(8), 0);
        }
        let machine = in_elf(self.abi).machine.0.into();
        let order = if self.abi.is_big_endian() { 2 } else { 1 };
        let mut head = [&b"\x7fELF"[..], &[2, order, 1], &[0; 9]].concat();
        self.put(&mut head, &[(2, 1), (2, machine), (4, 1), (8, 0), (8, 0), (8, file.len() as u64), (4, 0)]);
        self.put(&mut head, &[(2, 64), (2, 0), (2, 0), (2, 64), (2, 7), (2, 6)]);
        file.splice(..64, head);
        file.extend(headers);
        file
    }

    /// Appends numbers of this many bytes.
    fn put(&self, out: &mut Vec<u8>, fields: &[(usize, u64)]) {
        for (width, value) in fields {
            let bytes = value.to_be_bytes();
            let bytes = &bytes[8 - width..];
            if self.abi.is_big_endian() { out.extend(bytes) } else { out.extend(bytes.iter().rev()) }
        }
    }
}
