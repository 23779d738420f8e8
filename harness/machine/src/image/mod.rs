//! What the loader maps: the program headers of an ELF executable or library.

pub(crate) mod dynamic;

use std::ops::Range;

use goblin::elf::Header;
use goblin::elf::header::{EI_CLASS, EI_DATA, ELFCLASS64, ELFDATA2LSB, ELFDATA2MSB, ET_DYN, ET_EXEC};
use goblin::elf::program_header::{
    PF_R, PF_W, PF_X, PT_GNU_STACK, PT_INTERP, PT_LOAD, PT_PHDR, PT_TLS, ProgramHeader,
};
use goblin::elf::section_header::{SHF_ALLOC, SHF_EXECINSTR, SHF_WRITE, SHT_NOBITS, SectionHeader};
use sframe_engine::Abi;

use crate::address_space::{PAGE, Permissions};
use crate::cpu::Cpu;
use dynamic::Dynamic;

/// Where position-independent executables are loaded.
const PIE_BASE: u64 = 1 << 36;
/// The limit for the memory of an image, in bytes.
const MEMORY_LIMIT: u64 = 1 << 30;
/// From here on, addresses are those of a kernel: the upper half.
const UPPER_HALF: u64 = 1 << 63;
/// They end before the last addresses, which stand for errors.
const KERNEL_END: u64 = 0u64.wrapping_sub(1 << 16);
/// Linux's limit for program headers, in bytes.
const PROGRAM_HEADERS_LIMIT: usize = 1 << 16;

/// Why a file can't be loaded.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// It does not start with an ELF header.
    #[error("not an ELF file: {0}")]
    NotElf(String),
    /// It is ELF, but not for a supported machine.
    #[error("{0}")]
    Unsupported(String),
    /// It is a file that can't be run, such as a relocatable object.
    #[error("ELF type {0} is not an executable (relocatable objects can't be run)")]
    NotExecutable(&'static str),
    /// It is a kernel, or a part of one, which no process can contain.
    #[error(
        "the segment at {address:#x} is in the upper half of the address space, as a kernel is: nothing here runs \
         kernels, but `explore` judges their rows"
    )]
    Kernel {
        /// The address of its first segment.
        address: u64,
    },
    /// It is a library that nothing enters by itself.
    #[error("a library without an entry point can't be run by itself")]
    NoEntry,
    /// Its program headers or dynamic section contradict themselves or the file.
    #[error("{0}")]
    Malformed(String),
    /// A library can't be loaded.
    #[error("{name}: {source}")]
    Library {
        /// The library.
        name: String,
        /// What is wrong with it.
        source: Box<LoadError>,
    },
    /// A library that is needed was not given.
    #[error("{needed_by} needs the library {name}, which is missing")]
    MissingLibrary {
        /// The library's name.
        name: String,
        /// The image that needs it.
        needed_by: String,
    },
    /// No image defines a symbol.
    #[error("{needed_by} needs the symbol {name}, which no image defines")]
    MissingSymbol {
        /// The symbol's name.
        name: String,
        /// The image that needs it.
        needed_by: String,
    },
    /// Two images would be at the same addresses.
    #[error("{first} and {second} overlap at {address:#x}")]
    Overlap {
        /// An image.
        first: String,
        /// Another.
        second: String,
        /// The first address that both would use.
        address: u64,
    },
    /// The machine can't apply a relocation.
    #[error("{image}: the relocation at {address:#x} is of type {name}, which the machine does not support")]
    Relocation {
        /// The image.
        image: String,
        /// The place that it changes, without load bias.
        address: u64,
        /// Its type: name and number.
        name: String,
    },
}

/// A part of the file that is mapped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Segment {
    /// First address, with the load bias.
    pub address: u64,
    /// Length in memory, in bytes. Zeroes follow the file's bytes.
    pub len: u64,
    /// The bytes' place in the file.
    pub file: Range<usize>,
    /// The permissions of the program.
    pub permissions: Permissions,
}

/// An executable or a library, ready to be mapped.
#[derive(Clone, Debug)]
pub struct Image<'a> {
    /// The CPU it is for.
    pub cpu: &'static Cpu,
    /// First instruction, with the load bias; meaningless in most libraries.
    pub entry: u64,
    /// What is added to the file's addresses; 0 for executables that are not
    /// position-independent.
    pub bias: u64,
    /// The mapped segments, ordered by address.
    pub segments: Vec<Segment>,
    /// What it requires of a dynamic linker, if it has a dynamic section.
    pub dynamic: Option<Dynamic>,
    /// The path of the interpreter that it names.
    pub(crate) interpreter: Option<Vec<u8>>,
    /// Whether it wants to execute code on its stack (`PT_GNU_STACK`).
    pub(crate) executable_stack: bool,
    /// The initial values of its per-thread variables, if it has any.
    pub(crate) thread_storage: Option<ThreadStorage>,
    /// Address of the program headers in memory, where they are mapped.
    pub(crate) phdr: Option<u64>,
    pub(crate) phnum: u16,
    pub(crate) bytes: &'a [u8],
}

/// The per-thread variables (`PT_TLS`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ThreadStorage {
    /// The first bytes' place in the file; zeroes follow.
    pub(crate) file: Range<usize>,
    pub(crate) len: u64,
    pub(crate) align: u64,
}

/// Returns the bias of a program, given the address of its first segment: one that was linked to a higher address stays there.
fn bias_of_program(bias: u64) -> impl Fn(u64) -> u64 {
    move |first| if first < PIE_BASE { bias } else { 0 }
}

pub(crate) fn malformed(message: impl Into<String>) -> LoadError {
    LoadError::Malformed(message.into())
}

impl<'a> Image<'a> {
    /// Reads the headers and the dynamic section of an executable.
    ///
    /// # Errors
    /// Not ELF, not an executable for one of the four ABIs, or headers that
    /// no loader should follow.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, LoadError> {
        Self::parse_with(bytes, PIE_BASE)
    }

    /// Like [`Self::parse`], with another bias for an executable that can be anywhere.
    pub(crate) fn parse_with(bytes: &'a [u8], bias: u64) -> Result<Self, LoadError> {
        let mut image = Self::read(bytes, bias_of_program(bias))?.of_process()?;
        // At address 0 there is the file's own header.
        if image.entry == 0 && image.bias > 0 {
            return Err(LoadError::NoEntry);
        }
        let entry = image.entry.checked_add(image.bias).filter(|entry| {
            image.segments.iter().any(|s| s.permissions.execute && entry.wrapping_sub(s.address) < s.len)
        });
        image.entry = entry.ok_or_else(|| {
            malformed(format!("the entry point {:#x} is not in an executable segment", image.entry))
        })?;
        Ok(image)
    }

    /// Like [`Self::parse`], without checking the entry point, and for kernels too.
    pub(crate) fn parse_headers(bytes: &'a [u8]) -> Result<Self, LoadError> {
        Self::read(bytes, bias_of_program(PIE_BASE))
    }

    /// Reads the headers and the dynamic section of a library that will be loaded at `base` or
    /// above.
    pub(crate) fn parse_library(bytes: &'a [u8], base: u64) -> Result<Self, LoadError> {
        // The bias is the distance from the first segment's address to `base`.
        let image = Self::read(bytes, |first| base.saturating_sub(first & !(PAGE - 1)))?.of_process()?;
        if image.bias == 0 {
            return Err(LoadError::Unsupported("this is an executable, not a shared library".into()));
        }
        Ok(Self { entry: image.entry.wrapping_add(image.bias), ..image })
    }

    /// Like [`Self::parse_library`], for an image that is loaded with a known bias.
    pub(crate) fn parse_at(bytes: &'a [u8], bias: u64) -> Result<Self, LoadError> {
        let image = Self::read(bytes, |_| bias)?.of_process()?;
        Ok(Self { entry: image.entry.wrapping_add(image.bias), ..image })
    }

    /// Returns the bias with which a page of a file's code was mapped to an address, if the file is an image that has such
    /// a segment.
    #[must_use]
    pub fn bias_of(bytes: &'a [u8], address: u64, offset: u64) -> Option<u64> {
        // Nothing can be loaded to address 0.
        let image = Self::parse_at(bytes, PIE_BASE).ok()?;
        let page = |address: u64| address & !(PAGE - 1);
        let segment = image.segments.iter().find(|segment| {
            let file = page(segment.file.start as u64)..segment.file.end as u64;
            segment.permissions.execute && file.contains(&offset)
        })?;
        let into = offset - page(segment.file.start as u64);
        Some(address.wrapping_sub(page(segment.address).wrapping_add(into)).wrapping_add(image.bias))
    }

    /// `bias_of` returns the bias of a position-independent image, given the address of its
    /// first segment. The entry point is left without bias.
    fn read(bytes: &'a [u8], bias_of: impl Fn(u64) -> u64) -> Result<Self, LoadError> {
        let header = elf_header(bytes)?;
        let cpu = cpu_of(&header)?;
        if !matches!(header.e_type, ET_EXEC | ET_DYN) {
            return Err(LoadError::NotExecutable(goblin::elf::header::et_to_str(header.e_type)));
        }
        let headers = match program_headers(bytes, &header, cpu) {
            Ok(headers) if !is_kernel(&headers) && headers.iter().any(is_loaded) => headers,
            headers => {
                let of_kernel = kernel_sections(bytes, &header, cpu);
                if of_kernel.is_empty() { headers? } else { of_kernel }
            }
        };
        let first = headers.iter().filter(|header| is_loaded(header)).map(|header| header.p_vaddr).min();
        let bias = if header.e_type == ET_DYN { bias_of(first.unwrap_or(0)) } else { 0 };
        let segments = segments(bytes, &headers, bias, cpu)?;
        let phdr = headers
            .iter()
            .find(|header| header.p_type == PT_PHDR)
            .and_then(|header| header.p_vaddr.checked_add(bias))
            .or_else(|| {
                let offset = usize::try_from(header.e_phoff).ok()?;
                let segment = segments.iter().find(|segment| segment.file.contains(&offset))?;
                Some(segment.address + (offset - segment.file.start) as u64)
            });
        let dynamic = Dynamic::parse(bytes, &headers, &segments, bias, cpu)?;
        let thread_storage = match headers.iter().find(|header| header.p_type == PT_TLS) {
            None => None,
            Some(header) if header.p_memsz > MEMORY_LIMIT || header.p_filesz > header.p_memsz => {
                return Err(malformed("the thread storage is larger than it can be"));
            }
            Some(header) => Some(ThreadStorage {
                file: file_range(bytes, header)?,
                len: header.p_memsz,
                align: header.p_align.clamp(1, PAGE),
            }),
        };
        Ok(Self {
            cpu,
            entry: header.e_entry,
            bias,
            segments,
            dynamic,
            interpreter: interpreter(bytes, &headers),
            executable_stack: headers
                .iter()
                .any(|header| header.p_type == PT_GNU_STACK && header.p_flags & PF_X != 0),
            thread_storage,
            phdr,
            phnum: header.e_phnum,
            bytes,
        })
    }

    /// Whether it is a kernel, or a part of one, by its addresses.
    #[must_use]
    pub fn is_kernel(&self) -> bool {
        self.segments.first().is_some_and(|segment| segment.address >= UPPER_HALF)
    }

    /// Refuses what no process can contain.
    fn of_process(self) -> Result<Self, LoadError> {
        match self.segments.first() {
            Some(first) if self.is_kernel() => Err(LoadError::Kernel { address: first.address }),
            _ => Ok(self),
        }
    }

    /// Returns the addresses of the segments with code.
    pub(crate) fn code(&self) -> impl Iterator<Item = Range<u64>> {
        let code = self.segments.iter().filter(|segment| segment.permissions.execute);
        code.map(|segment| segment.address..segment.address + segment.len)
    }

    /// Returns the addresses from the start of the first segment to the end of the last.
    #[must_use]
    pub fn range(&self) -> Range<u64> {
        let start = self.segments.first().map_or(0, |segment| segment.address);
        let end = self.segments.last().map_or(0, |segment| segment.address + segment.len);
        start..end
    }

    /// Returns the file.
    #[must_use]
    pub const fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// Returns whether the machine has to do the work of its interpreter. Static executables
    /// relocate themselves.
    pub(crate) fn is_dynamic(&self) -> bool {
        self.interpreter.is_some() || self.dynamic.as_ref().is_some_and(|dynamic| !dynamic.needed.is_empty())
    }

    /// Returns the path of the interpreter that it names.
    #[must_use]
    pub fn interpreter(&self) -> Option<&[u8]> {
        self.interpreter.as_deref()
    }

    /// Returns the address at which a linked address is loaded.
    pub(crate) const fn loaded(&self, linked: u64) -> u64 {
        linked.wrapping_add(self.bias)
    }

    /// Returns whether bytes at an address without load bias are in one segment.
    pub(crate) fn holds(&self, address: u64, len: u64) -> bool {
        let address = self.loaded(address);
        self.segments.iter().any(|segment| {
            let offset = address.wrapping_sub(segment.address);
            offset < segment.len && len <= segment.len - offset
        })
    }
}

/// Reads the ELF header. Files that goblin would refuse or misread are detected first, with a
/// specific message.
fn elf_header(bytes: &[u8]) -> Result<Header, LoadError> {
    if bytes.len() < 4 || bytes[..4] != *b"\x7fELF" {
        let why = match bytes {
            [] => "the file is empty",
            _ => "the file does not start with the ELF magic number",
        };
        return Err(LoadError::NotElf(why.into()));
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
    Abi::ALL
        .into_iter()
        .map(Cpu::of)
        .find(|cpu| cpu.elf_machine == header.e_machine && cpu.abi.is_big_endian() == big_endian)
        .ok_or_else(|| {
            let order = if big_endian { "big" } else { "little" };
            let machine = goblin::elf::header::machine_to_str(header.e_machine);
            let [others @ .., last] = Abi::ALL.map(Abi::name);
            let known = others.join(", ");
            LoadError::Unsupported(format!(
                "machine {machine} ({order} endian) is not one of {known} and {last}"
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
    if count * ENTRY > PROGRAM_HEADERS_LIMIT {
        return Err(malformed(format!("{count} program headers are more than a loader reads")));
    }
    let offset = usize::try_from(header.e_phoff)
        .ok()
        .filter(|offset| offset.checked_add(count * ENTRY).is_some_and(|end| end <= bytes.len()))
        .ok_or_else(|| malformed("the program headers reach past the end of the file"))?;
    ProgramHeader::parse(bytes, offset, count, dynamic::context(cpu))
        .map_err(|error| malformed(error.to_string()))
}

/// Whether a segment takes part of the address space.
const fn is_loaded(header: &ProgramHeader) -> bool {
    header.p_type == PT_LOAD && header.p_memsz > 0
}

/// Whether segments are those of a kernel. Their permissions mean nothing then: it sets its own.
fn is_kernel(headers: &[ProgramHeader]) -> bool {
    headers.iter().any(|header| is_loaded(header) && header.p_vaddr >= UPPER_HALF)
}

/// Returns the loaded sections of a kernel as segments: what loads it may need no program headers.
fn kernel_sections(bytes: &[u8], header: &Header, cpu: &Cpu) -> Vec<ProgramHeader> {
    const ENTRY: usize = 64;
    let count = usize::from(header.e_shnum);
    let offset = usize::try_from(header.e_shoff).ok().filter(|offset| {
        let end = offset.checked_add(count * ENTRY);
        count > 0 && usize::from(header.e_shentsize) == ENTRY && end.is_some_and(|end| end <= bytes.len())
    });
    let sections = offset.map(|offset| SectionHeader::parse(bytes, offset, count, dynamic::context(cpu)));
    let has = |section: &SectionHeader, flag: u32| section.sh_flags & u64::from(flag) != 0;
    let segment = |section: SectionHeader| ProgramHeader {
        p_type: PT_LOAD,
        p_flags: PF_R
            | if has(&section, SHF_WRITE) { PF_W } else { 0 }
            | if has(&section, SHF_EXECINSTR) { PF_X } else { 0 },
        p_offset: section.sh_offset,
        p_vaddr: section.sh_addr,
        p_paddr: section.sh_addr,
        p_filesz: if section.sh_type == SHT_NOBITS { 0 } else { section.sh_size },
        p_memsz: section.sh_size,
        p_align: section.sh_addralign,
    };
    let is_part = |section: &SectionHeader| {
        has(section, SHF_ALLOC) && section.sh_size > 0 && section.sh_addr >= UPPER_HALF
    };
    sections.and_then(Result::ok).unwrap_or_default().into_iter().filter(is_part).map(segment).collect()
}

/// Returns the bytes of a segment in the file. A segment without any may have an offset past
/// the end: GNU ld writes that for segments that hold only .bss.
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

/// Returns the path of the interpreter, which is empty if it is not in the file.
fn interpreter(bytes: &[u8], headers: &[ProgramHeader]) -> Option<Vec<u8>> {
    const PATH_MAX: usize = 4096;
    let header = headers.iter().find(|header| header.p_type == PT_INTERP)?;
    let path = file_range(bytes, header).ok().and_then(|range| bytes.get(range)).unwrap_or_default();
    Some(path.iter().copied().take_while(|byte| *byte != 0).take(PATH_MAX).collect())
}

fn segments(
    bytes: &[u8],
    headers: &[ProgramHeader],
    bias: u64,
    cpu: &Cpu,
) -> Result<Vec<Segment>, LoadError> {
    let mut segments = Vec::new();
    let is_upper =
        |header: &ProgramHeader| header.p_vaddr.checked_add(bias).is_some_and(|start| start >= UPPER_HALF);
    // A kernel's data of each processor may be linked to address 0, and is moved from there.
    let is_kernel = headers.iter().any(|header| is_loaded(header) && is_upper(header));
    let (limit, whose) = if is_kernel { (KERNEL_END, "a kernel's") } else { (cpu.user_end, "a process's") };
    for header in headers.iter().filter(|header| is_loaded(header) && (!is_kernel || is_upper(header))) {
        if header.p_filesz > header.p_memsz {
            return Err(malformed(format!(
                "the segment at {:#x} has more bytes in the file than in memory",
                header.p_vaddr
            )));
        }
        let address = header.p_vaddr.checked_add(bias);
        let end = address.and_then(|address| address.checked_add(header.p_memsz));
        let (Some(address), Some(_)) = (address, end.filter(|end| *end <= limit)) else {
            return Err(malformed(format!(
                "the segment at {:#x} ({:#x} bytes) reaches past {limit:#x}, the end of {whose} addresses on {}",
                header.p_vaddr, header.p_memsz, cpu.abi
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
        return Err(malformed("there is no PT_LOAD segment, so nothing can be loaded"));
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
