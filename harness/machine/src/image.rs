//! What the loader maps: the program headers of an ELF executable.

use std::ops::Range;

use goblin::container::{Container, Ctx, Endian};
use goblin::elf::Header;
use goblin::elf::header::{EI_CLASS, EI_DATA, ELFCLASS64, ELFDATA2LSB, ELFDATA2MSB, ET_DYN, ET_EXEC};
use goblin::elf::program_header::{PF_R, PF_W, PF_X, PT_INTERP, PT_LOAD, PT_PHDR, ProgramHeader};

use crate::address_space::{PAGE, Permissions};
use crate::cpu::{self, Cpu};

/// Images end below this address; stack and thread storage lie above it.
pub(crate) const IMAGE_LIMIT: u64 = 1 << 37;
/// Where position-independent executables are loaded.
const PIE_BASE: u64 = 1 << 36;
/// No image needs more memory than this, in bytes.
const MEMORY_LIMIT: u64 = 1 << 30;

/// Why a file can't be loaded.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// It does not start with an ELF header.
    #[error("not an ELF file: {0}")]
    NotElf(String),
    /// It is ELF, but not for a machine we have.
    #[error("{0}")]
    Unsupported(String),
    /// Its program headers contradict themselves or the file.
    #[error("{0}")]
    Malformed(String),
}

/// A part of the file that is mapped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Segment {
    /// First address, with the load bias.
    pub address: u64,
    /// Length in memory, in bytes. Behind the file's bytes lie zeroes.
    pub len: u64,
    /// The bytes' place in the file.
    pub file: Range<usize>,
    /// What the program may do with it.
    pub permissions: Permissions,
}

/// An executable, ready to be mapped.
#[derive(Clone, Debug)]
pub struct Image<'a> {
    /// The CPU it is for.
    pub cpu: &'static Cpu,
    /// First instruction, with the load bias.
    pub entry: u64,
    /// What is added to the file's addresses; 0 but for position-independent executables.
    pub bias: u64,
    /// What is mapped, in the order of addresses.
    pub segments: Vec<Segment>,
    /// Address of the program headers in memory, where they are mapped.
    pub(crate) phdr: Option<u64>,
    pub(crate) phnum: u16,
    pub(crate) bytes: &'a [u8],
}

fn malformed(message: impl Into<String>) -> LoadError {
    LoadError::Malformed(message.into())
}

impl<'a> Image<'a> {
    /// Reads the ELF header and the program headers.
    ///
    /// # Errors
    /// Not ELF, not a static or static-PIE executable for one of the four
    /// ABIs, or program headers that no loader should follow.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, LoadError> {
        let header = elf_header(bytes)?;
        let cpu = cpu_of(&header)?;
        if !matches!(header.e_type, ET_EXEC | ET_DYN) {
            return Err(LoadError::Unsupported(format!(
                "ELF type {} is not an executable (relocatable objects can't be run)",
                goblin::elf::header::et_to_str(header.e_type)
            )));
        }
        let headers = program_headers(bytes, &header, cpu)?;
        if let Some(interpreter) = headers.iter().find(|header| header.p_type == PT_INTERP) {
            let name = file_range(bytes, interpreter)?;
            return Err(LoadError::Unsupported(format!(
                "the executable is dynamic: it asks for the interpreter {}",
                String::from_utf8_lossy(&bytes[name]).trim_end_matches('\0')
            )));
        }
        let bias = if header.e_type == ET_DYN { PIE_BASE } else { 0 };
        let segments = segments(bytes, &headers, bias)?;
        let entry = header
            .e_entry
            .checked_add(bias)
            .filter(|entry| {
                segments.iter().any(|s| s.permissions.execute && entry.wrapping_sub(s.address) < s.len)
            })
            .ok_or_else(|| {
                malformed(format!("the entry point {:#x} lies in no executable segment", header.e_entry))
            })?;
        let phdr = headers
            .iter()
            .find(|header| header.p_type == PT_PHDR)
            .and_then(|header| header.p_vaddr.checked_add(bias))
            .or_else(|| {
                let offset = usize::try_from(header.e_phoff).ok()?;
                let segment = segments.iter().find(|segment| segment.file.contains(&offset))?;
                Some(segment.address + (offset - segment.file.start) as u64)
            });
        Ok(Self { cpu, entry, bias, segments, phdr, phnum: header.e_phnum, bytes })
    }
}

/// Reads the ELF header. What goblin would refuse or misread is told apart
/// first, with a message that names it.
fn elf_header(bytes: &[u8]) -> Result<Header, LoadError> {
    if bytes.len() < 4 || bytes[..4] != *b"\x7fELF" {
        return Err(LoadError::NotElf("the file does not start with the ELF magic number".into()));
    }
    if bytes.get(EI_CLASS) != Some(&ELFCLASS64) {
        return Err(LoadError::Unsupported("the file is not of ELF class 64".into()));
    }
    if !matches!(bytes.get(EI_DATA), Some(&(ELFDATA2LSB | ELFDATA2MSB))) {
        return Err(LoadError::NotElf("the header names no byte order".into()));
    }
    goblin::elf::Elf::parse_header(bytes).map_err(|error| LoadError::NotElf(error.to_string()))
}

fn cpu_of(header: &Header) -> Result<&'static Cpu, LoadError> {
    let big_endian = header.e_ident[EI_DATA] == ELFDATA2MSB;
    cpu::ALL
        .into_iter()
        .find(|cpu| cpu.elf_machine == header.e_machine && cpu.big_endian == big_endian)
        .ok_or_else(|| {
            let order = if big_endian { "big" } else { "little" };
            LoadError::Unsupported(format!(
                "machine {} ({order} endian) is none of amd64, aarch64, aarch64_be and s390x",
                goblin::elf::header::machine_to_str(header.e_machine)
            ))
        })
}

fn program_headers(bytes: &[u8], header: &Header, cpu: &Cpu) -> Result<Vec<ProgramHeader>, LoadError> {
    const ENTRY: usize = 56;
    if header.e_phnum == 0 {
        return Err(malformed("there are no program headers"));
    }
    if usize::from(header.e_phentsize) != ENTRY {
        return Err(malformed(format!("program headers are {} bytes each, not 56", header.e_phentsize)));
    }
    let count = usize::from(header.e_phnum);
    let offset = usize::try_from(header.e_phoff)
        .ok()
        .filter(|offset| offset.checked_add(count * ENTRY).is_some_and(|end| end <= bytes.len()))
        .ok_or_else(|| malformed("the program headers reach past the end of the file"))?;
    let endian = if cpu.big_endian { Endian::Big } else { Endian::Little };
    ProgramHeader::parse(bytes, offset, count, Ctx::new(Container::Big, endian))
        .map_err(|error| malformed(error.to_string()))
}

/// The bytes of a segment in the file. One without any may name an offset
/// behind the end: GNU ld does so for segments that hold .bss only.
fn file_range(bytes: &[u8], header: &ProgramHeader) -> Result<Range<usize>, LoadError> {
    if header.p_filesz == 0 {
        return Ok(0..0);
    }
    let start = usize::try_from(header.p_offset).ok();
    let end = header.p_offset.checked_add(header.p_filesz).and_then(|end| usize::try_from(end).ok());
    match (start, end) {
        (Some(start), Some(end)) if end <= bytes.len() => Ok(start..end),
        _ => Err(malformed(format!(
            "the segment at {:#x} reaches past the end of the file ({:#x} bytes at {:#x}, file of {:#x})",
            header.p_vaddr,
            header.p_filesz,
            header.p_offset,
            bytes.len()
        ))),
    }
}

fn segments(bytes: &[u8], headers: &[ProgramHeader], bias: u64) -> Result<Vec<Segment>, LoadError> {
    let mut segments = Vec::new();
    for header in headers.iter().filter(|header| header.p_type == PT_LOAD && header.p_memsz > 0) {
        if header.p_filesz > header.p_memsz {
            return Err(malformed(format!(
                "the segment at {:#x} has more bytes in the file than in memory",
                header.p_vaddr
            )));
        }
        let address = header.p_vaddr.checked_add(bias);
        let end = address.and_then(|address| address.checked_add(header.p_memsz));
        let (Some(address), Some(_)) = (address, end.filter(|end| *end <= IMAGE_LIMIT)) else {
            return Err(malformed(format!(
                "the segment at {:#x} ({:#x} bytes) reaches past {IMAGE_LIMIT:#x}, the end of the machine's image space",
                header.p_vaddr, header.p_memsz
            )));
        };
        if address < PAGE {
            return Err(malformed("a segment is mapped at address 0"));
        }
        segments.push(Segment {
            address,
            len: header.p_memsz,
            file: file_range(bytes, header)?,
            permissions: Permissions {
                read: header.p_flags & PF_R != 0,
                write: header.p_flags & PF_W != 0,
                execute: header.p_flags & PF_X != 0,
            },
        });
    }
    segments.sort_by_key(|segment| segment.address);
    if segments.is_empty() {
        return Err(malformed("nothing is to be loaded: there is no PT_LOAD segment"));
    }
    for pair in segments.windows(2) {
        if pair[0].address + pair[0].len > pair[1].address {
            return Err(malformed(format!(
                "the segments at {:#x} and {:#x} overlap",
                pair[0].address - bias,
                pair[1].address - bias
            )));
        }
    }
    let total: u64 = segments.iter().map(|segment| segment.len).sum();
    if total > MEMORY_LIMIT {
        return Err(malformed(format!("the segments need {total:#x} bytes, more than {MEMORY_LIMIT:#x}")));
    }
    Ok(segments)
}
