//! Objects that are generated.

use object::elf::{
    R_390_PC32, R_390_PC64, R_AARCH64_PREL32, R_AARCH64_PREL64, R_X86_64_PC32, R_X86_64_PC64, SHF_ALLOC,
    SHT_GNU_SFRAME,
};
use object::write::{Object, Relocation, Symbol, SymbolSection};
use object::{
    Architecture, BinaryFormat, Endianness, RelocationFlags, SectionFlags, SectionKind, SymbolFlags,
    SymbolKind, SymbolScope,
};
use sframe_elf::object_file::ObjectFile;
use sframe_elf::relocatable::lay_out;
use sframe_elf::source::Source;
use sframe_engine::write::{Function, Section};
use sframe_engine::{Abi, ByteOrder};

use crate::case::Generated;

impl Generated {
    /// Makes the object. Header and first row are those of another one, with other CFAs; `plain` leaves the section out.
    ///
    /// # Errors
    /// The other is no object, or the section can't be written: why.
    pub(super) fn object(self, like: &[u8], plain: bool) -> Result<Vec<u8>, String> {
        let laid_out = lay_out(Source::from(like)).map_err(|error| error.to_string())?;
        let laid_out = laid_out.ok_or("what it is made like is no object")?;
        let file = ObjectFile::parse(&laid_out).map_err(|error| error.to_string())?;
        let section = file.section().map_err(|error| error.to_string())?;
        let read = sframe_engine::Section::parse(section.data, 0).map_err(|error| error.to_string())?;
        let mut section = Section::from_read(&read).map_err(|error| error.to_string())?;
        let abi = read.header().abi;
        let code = leaf(abi);
        let mut template = section.functions.swap_remove(0);
        template.rows.truncate(1);
        template.size = u32::try_from(code.len()).unwrap_or(u32::MAX);
        // Rows that differ show where they are exchanged.
        let function = |number: u32| {
            let mut function = Function { start: 0, rows_position: number, ..template.clone() };
            let cfa = function.rows.iter_mut().find_map(|row| row.cfa.as_mut());
            cfa.into_iter().for_each(|cfa| cfa.offset += 8 * i64::from(number % DIFFERENT));
            function
        };
        section.functions = (0..self.functions).map(function).collect();

        let order = match abi.byte_order() {
            ByteOrder::Little => Endianness::Little,
            ByteOrder::Big => Endianness::Big,
        };
        let machine = match abi {
            Abi::Amd64 => Architecture::X86_64,
            Abi::Aarch64 | Abi::Aarch64Be => Architecture::Aarch64,
            Abi::S390x => Architecture::S390x,
        };
        let mut object = Object::new(BinaryFormat::Elf, machine, order);
        let text = object.add_section(Vec::new(), b".text".to_vec(), SectionKind::Text);
        for number in 0..self.functions {
            let value = object.append_section_data(text, code, 4);
            object.add_symbol(Symbol {
                name: format!("many_functions_{number}").into_bytes(),
                value,
                size: code.len() as u64,
                kind: SymbolKind::Text,
                scope: SymbolScope::Linkage,
                weak: false,
                section: SymbolSection::Section(text),
                flags: SymbolFlags::None,
            });
        }
        if !plain {
            let bytes = section.write(0).map_err(|error| error.to_string())?;
            let id = object.add_section(Vec::new(), b".sframe".to_vec(), SectionKind::Other);
            object.section_mut(id).flags = SectionFlags::Elf { sh_type: SHT_GNU_SFRAME, sh_flags: SHF_ALLOC };
            object.append_section_data(id, &bytes, 8);
            let symbol = object.section_symbol(text);
            let version = read.header().version;
            let [four, eight] = match abi {
                Abi::Amd64 => [R_X86_64_PC32, R_X86_64_PC64],
                Abi::Aarch64 | Abi::Aarch64Be => [R_AARCH64_PREL32, R_AARCH64_PREL64],
                Abi::S390x => [R_390_PC32, R_390_PC64],
            };
            let r_type = if version.start_size() == 8 { eight } else { four };
            let first = read.header().end() as u64;
            for number in 0..u64::from(self.functions) {
                let relocation = Relocation {
                    offset: first + version.fde_size() as u64 * number,
                    symbol,
                    addend: (code.len() as u64 * number).cast_signed(),
                    flags: RelocationFlags::Elf { r_type },
                };
                object.add_relocation(id, relocation).map_err(|error| error.to_string())?;
            }
        }
        object.write().map_err(|error| error.to_string())
    }
}

/// So many functions, one after another, have different rows. Their offsets fit one byte.
const DIFFERENT: u32 = 13;

/// A function that only returns, of 4 bytes.
const fn leaf(abi: Abi) -> &'static [u8] {
    match abi {
        Abi::Amd64 => &[0x90, 0x90, 0x90, 0xc3],
        Abi::Aarch64 | Abi::Aarch64Be => &[0xc0, 0x03, 0x5f, 0xd6],
        Abi::S390x => &[0x07, 0xfe, 0x07, 0x00],
    }
}
