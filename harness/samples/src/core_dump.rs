//! Core dumps, as Linux and user-mode emulators write them.

use std::collections::BTreeMap;
use std::sync::Arc;

use object::elf::{
    EM_AARCH64, EM_S390, EM_X86_64, ET_CORE, FileHeader64, NT_AUXV, NT_FILE, NT_FPREGSET, NT_GNU_BUILD_ID,
    NT_PRSTATUS, NoteType, PF_X, PT_DYNAMIC, PT_LOAD, PT_NOTE, PT_PHDR, ProgramFlags, ProgramHeader64,
    ProgramType,
};
use object::read::elf::{FileHeader as _, ProgramHeader as _};
use object::{Endianness, pod};
use sframe_engine::{Abi, ByteOrder};
use sframe_machine::{Memory as _, of_prstatus};

use crate::recording::{Mapping, OpenFile, Piece, Process, Recording, RecordingError, Sample};
use crate::registers::of_fpregset;

/// Where `NT_PRSTATUS` has the thread's number, and its registers (`elf_prstatus` of Linux, 64 bits).
const PR_PID: usize = 32;
const PR_REG: usize = 112;
/// Entries of the auxiliary vector (Linux, `auxvec.h`).
const AT_PHDR: u64 = 3;
const AT_PHNUM: u64 = 5;
const AT_EXECFN: u64 = 31;
/// `DT_DEBUG`: the address of what the dynamic linker tells debuggers.
const DT_DEBUG: u64 = 21;
/// The sizes of an ELF header and of a program header.
const EHDR: usize = 64;
const PHDR: usize = 56;
/// More are not read of a list in memory: it may be damaged, and lead around.
const MOST: usize = 4096;

fn malformed(what: impl ToString) -> RecordingError {
    RecordingError::Malformed(format!("core dump: {}", what.to_string()))
}

/// Reads a file. `open` returns the files that it names: some dumps have no file's own pages.
///
/// # Errors
/// It contradicts itself, or is of another machine.
pub fn read(bytes: Vec<u8>, open: &OpenFile<'_>) -> Result<Recording, RecordingError> {
    let buffer = Arc::new(bytes);
    let data = &buffer[..];
    let header = FileHeader64::<Endianness>::parse(data).map_err(malformed)?;
    let endian = header.endian().map_err(malformed)?;
    if header.e_type(endian) != ET_CORE {
        return Err(RecordingError::UnknownFormat);
    }
    let abi = match (header.e_machine(endian), endian) {
        (EM_X86_64, Endianness::Little) => Abi::Amd64,
        (EM_AARCH64, Endianness::Little) => Abi::Aarch64,
        (EM_AARCH64, Endianness::Big) => Abi::Aarch64Be,
        (EM_S390, Endianness::Big) => Abi::S390x,
        (machine, _) => return Err(RecordingError::UnknownMachine(format!("ELF machine {}", machine.0))),
    };
    let segments = header.program_headers(endian, data).map_err(malformed)?;
    let (mut memory, mut is_cut_short) = (Vec::new(), false);
    for segment in segments.iter().filter(|segment| segment.p_type(endian) == PT_LOAD) {
        let (offset, len) = segment.file_range(endian);
        let part = usize::try_from(offset).ok().zip(usize::try_from(len).ok());
        // A dump that was cut short has less than it says.
        is_cut_short |= offset.saturating_add(len) > data.len() as u64;
        let part =
            part.map(|(offset, len)| offset.min(data.len())..offset.saturating_add(len).min(data.len()));
        let Some(part) = part.filter(|part| !part.is_empty()) else { continue };
        memory.push(Piece { address: segment.p_vaddr(endian), buffer: Arc::clone(&buffer), part });
    }
    let mut notes = Notes::default();
    for segment in segments {
        let Some(mut all) = segment.notes(endian, data).map_err(malformed)? else { continue };
        while let Some(note) = all.next().map_err(malformed)? {
            notes.add(abi, note.n_type(endian), note.desc());
        }
    }
    let executed = |file: &Mapping| {
        let is_it = |it: &&ProgramHeader64<Endianness>| it.p_vaddr(endian) == file.range.start;
        let segment = segments.iter().filter(|it| it.p_type(endian) == PT_LOAD).find(is_it);
        match segment {
            Some(segment) => segment.p_flags(endian).0 & PF_X.0 != 0,
            // Debuggers leave out what the file has.
            None => open(&file.path).is_none_or(|bytes| {
                Headers::of_file(&bytes).is_some_and(|headers| headers.executes(file.offset))
            }),
        }
    };
    let of_thread = |(thread, registers): (i32, Registers)| Sample {
        process: 0,
        thread,
        in_kernel: false,
        pc: registers.pc,
        registers: registers.known,
        byte_order: abi.byte_order(),
        memory: Arc::from(&memory[..]),
    };
    let samples: Vec<Sample> = notes.threads.into_iter().map(of_thread).collect();
    let first = samples.first().ok_or_else(|| malformed("no thread's registers"))?;
    let mut process = Process { id: first.thread, mappings: Vec::new() };
    let mapped = match notes.files.is_empty() {
        false => with_build_ids(notes.files, first, executed),
        true => loaded(&notes.auxiliary, first, open),
    };
    mapped.into_iter().for_each(|mapping| process.map(mapping));
    Ok(Recording {
        processes: vec![process],
        samples,
        is_core_dump: true,
        is_cut_short,
        ..Recording::new(abi)
    })
}

#[derive(Default)]
struct Registers {
    known: Vec<(u32, u64)>,
    pc: u64,
}

/// What the notes say.
#[derive(Default)]
struct Notes {
    threads: Vec<(i32, Registers)>,
    files: Vec<Mapping>,
    auxiliary: BTreeMap<u64, u64>,
}

impl Notes {
    fn add(&mut self, abi: Abi, kind: NoteType, bytes: &[u8]) {
        let words = Words { abi, bytes };
        match kind {
            NT_PRSTATUS => {
                let (numbers, pc) = of_prstatus(abi);
                let at = |word: usize| words.at(PR_REG + 8 * word);
                let known = numbers.into_iter().filter_map(|(word, dwarf)| Some((dwarf, at(word)?)));
                let known: Vec<(u32, u64)> = known.collect();
                let thread = words.half(PR_PID);
                let has_sp = known.iter().any(|(number, _)| *number == abi.sp().0);
                if let (Some(thread), Some(pc), true) = (thread, at(pc), has_sp) {
                    self.threads.push((thread, Registers { known, pc }));
                }
            }
            // It follows the status of its thread.
            NT_FPREGSET => {
                if let Some((_, registers)) = self.threads.last_mut() {
                    let of = of_fpregset(abi).into_iter();
                    registers.known.extend(of.filter_map(|(word, dwarf)| Some((dwarf, words.at(8 * word)?))));
                }
            }
            NT_AUXV => {
                let pairs =
                    (0..bytes.len() / 16).map_while(|pair| words.at(16 * pair).zip(words.at(16 * pair + 8)));
                self.auxiliary.extend(pairs);
            }
            NT_FILE => self.files = words.files().unwrap_or_default(),
            _ => {}
        }
    }
}

/// Numbers in the dump's order of bytes.
struct Words<'n> {
    abi: Abi,
    bytes: &'n [u8],
}

impl Words<'_> {
    fn at(&self, offset: usize) -> Option<u64> {
        let bytes = self.bytes.get(offset..offset.checked_add(8)?)?.try_into().ok()?;
        Some(if self.abi.is_big_endian() { u64::from_be_bytes(bytes) } else { u64::from_le_bytes(bytes) })
    }

    fn half(&self, offset: usize) -> Option<i32> {
        let bytes = self.bytes.get(offset..offset.checked_add(4)?)?.try_into().ok()?;
        Some(if self.abi.is_big_endian() { i32::from_be_bytes(bytes) } else { i32::from_le_bytes(bytes) })
    }

    /// `NT_FILE`: how many, and in which unit offsets are; then start, end and offset of each; then the names.
    fn files(&self) -> Option<Vec<Mapping>> {
        let (count, unit) = (usize::try_from(self.at(0)?).ok()?, self.at(8)?);
        let names = self.bytes.get(16_usize.checked_add(count.checked_mul(24)?)?..)?;
        let mut names = names.split(|byte| *byte == 0);
        let mut all = Vec::new();
        for index in 0..count {
            let at = |word: usize| self.at(16 + 24 * index + 8 * word);
            let (start, end, offset) = (at(0)?, at(1)?, at(2)?.checked_mul(unit)?);
            let path = String::from_utf8_lossy(names.next()?).into_owned();
            all.push(Mapping { path, range: start..end, offset, build_id: None });
        }
        Some(all)
    }
}

/// Those that are executed, with the build IDs that memory has.
fn with_build_ids(files: Vec<Mapping>, memory: &Sample, executed: impl Fn(&Mapping) -> bool) -> Vec<Mapping> {
    let first = files.iter().filter(|file| file.offset == 0);
    let build_ids: BTreeMap<String, Vec<u8>> = first
        .filter_map(|file| {
            Some((file.path.clone(), Headers::at(memory, file.range.start)?.build_id(memory)?))
        })
        .collect();
    let executed = files.into_iter().filter(executed);
    executed.map(|file| Mapping { build_id: build_ids.get(&file.path).cloned(), ..file }).collect()
}

/// The files of a process whose dump does not name them: what the auxiliary vector and the dynamic linker's list in memory
/// say.
fn loaded(auxiliary: &BTreeMap<u64, u64>, memory: &Sample, open: &OpenFile<'_>) -> Vec<Mapping> {
    let known = |entry: u64| auxiliary.get(&entry).copied();
    let path = known(AT_EXECFN).and_then(|at| text(memory, at)).unwrap_or_default();
    let Some((at, count)) = known(AT_PHDR).zip(known(AT_PHNUM)) else { return Vec::new() };
    let mut headers = Headers::read(memory, at, count);
    if headers.all.is_empty()
        && let Some(of_file) = open(&path).as_deref().and_then(Headers::of_file)
    {
        headers = of_file;
    }
    let own = headers.all.iter().find(|header| header.kind == PT_PHDR).map(|header| header.address);
    let first = headers.all.iter().find(|header| header.kind == PT_LOAD && header.offset == 0);
    let linked = own.or_else(|| first.map(|header| header.address.wrapping_add(EHDR as u64)));
    headers.bias = at.wrapping_sub(linked.unwrap_or(at));
    let mut all = headers.mappings(&path, memory);
    // r_debug has its version, and then the first of a list of: bias, name, dynamic section, next.
    let list = headers.dynamic(memory, DT_DEBUG).and_then(|debug| memory.read_u64(debug.wrapping_add(8)));
    let mut next = list.unwrap_or_default();
    for _ in 0..MOST {
        let word = |index: u64| memory.read_u64(next.wrapping_add(8 * index));
        let (Some(bias), Some(name), Some(following)) = (word(0), word(1), word(3)) else { break };
        // The executable's is empty, and the vDSO is in no file.
        let name = text(memory, name).filter(|name| name.starts_with('/'));
        if let Some(name) = name {
            let of_file = || Headers::of_file(&open(&name)?).map(|headers| Headers { bias, ..headers });
            let headers = Headers::at(memory, bias).or_else(of_file);
            all.extend(headers.iter().flat_map(|headers| headers.mappings(&name, memory)));
        }
        if following == 0 {
            break;
        }
        next = following;
    }
    all
}

fn text(memory: &Sample, address: u64) -> Option<String> {
    let byte = |at: u64| {
        let mut byte = [0];
        memory.read(address.wrapping_add(at), &mut byte).then_some(byte[0])
    };
    let bytes: Option<Vec<u8>> = (0..MOST as u64).map(byte).take_while(|byte| *byte != Some(0)).collect();
    Some(String::from_utf8_lossy(&bytes?).into_owned())
}

/// The program headers of an image in memory.
struct Headers {
    bias: u64,
    all: Vec<Header>,
}

struct Header {
    kind: ProgramType,
    flags: ProgramFlags,
    offset: u64,
    address: u64,
    len: u64,
}

impl Header {
    fn of(header: &ProgramHeader64<Endianness>, endian: Endianness) -> Self {
        Self {
            kind: header.p_type(endian),
            flags: header.p_flags(endian),
            offset: header.p_offset(endian),
            address: header.p_vaddr(endian),
            len: header.p_memsz(endian),
        }
    }
}

impl Headers {
    /// Those of an image that begins at an address, with its ELF header.
    fn at(memory: &Sample, address: u64) -> Option<Self> {
        let mut header = [0; EHDR];
        if !memory.read(address, &mut header) || !header.starts_with(b"\x7fELF") {
            return None;
        }
        let parsed = pod::from_bytes::<FileHeader64<Endianness>>(&header).ok()?.0;
        let endian = parsed.endian().ok()?;
        let at = address.wrapping_add(parsed.e_phoff(endian));
        let mut headers = Self::read(memory, at, parsed.e_phnum(endian).into());
        let first = headers.all.iter().find(|header| header.kind == PT_LOAD && header.offset == 0)?;
        headers.bias = address.wrapping_sub(first.address);
        Some(headers)
    }

    /// Those of a file.
    fn of_file(bytes: &[u8]) -> Option<Self> {
        let header = FileHeader64::<Endianness>::parse(bytes).ok()?;
        let endian = header.endian().ok()?;
        let all = header.program_headers(endian, bytes).ok()?.iter();
        Some(Self { bias: 0, all: all.map(|header| Header::of(header, endian)).collect() })
    }

    fn read(memory: &Sample, at: u64, count: u64) -> Self {
        let read = |index: u64| {
            let mut bytes = [0; PHDR];
            memory.read(at.wrapping_add(index * PHDR as u64), &mut bytes).then_some(())?;
            let header = pod::from_bytes::<ProgramHeader64<Endianness>>(&bytes).ok()?.0;
            let endian = match memory.byte_order {
                ByteOrder::Little => Endianness::Little,
                ByteOrder::Big => Endianness::Big,
            };
            Some(Header::of(header, endian))
        };
        Self { bias: 0, all: (0..count.min(MOST as u64)).map_while(read).collect() }
    }

    fn mappings(&self, path: &str, memory: &Sample) -> Vec<Mapping> {
        let build_id = self.build_id(memory);
        let executed = self.all.iter().filter(|it| it.kind == PT_LOAD && it.flags.0 & PF_X.0 != 0);
        executed
            .map(|header| {
                let start = header.address.wrapping_add(self.bias);
                let range = start..start.saturating_add(header.len);
                Mapping { build_id: build_id.clone(), ..Mapping::of_segment(path, range, header.offset) }
            })
            .collect()
    }

    /// Whether what is at an offset of the file is executed, as far as it is mapped by pages.
    fn executes(&self, offset: u64) -> bool {
        self.all.iter().any(|it| {
            let page = it.offset - it.offset % 4096;
            it.kind == PT_LOAD
                && it.flags.0 & PF_X.0 != 0
                && (page..it.offset.saturating_add(it.len)).contains(&offset)
        })
    }

    /// The value of an entry of the dynamic section.
    fn dynamic(&self, memory: &Sample, tag: u64) -> Option<u64> {
        let header = self.all.iter().find(|header| header.kind == PT_DYNAMIC)?;
        let entry = |index: u64| {
            let at = header.address.wrapping_add(self.bias).wrapping_add(16 * index);
            memory.read_u64(at).zip(memory.read_u64(at.wrapping_add(8)))
        };
        let most = (header.len / 16).min(MOST as u64);
        (0..most).map_while(entry).find(|(found, _)| *found == tag).map(|(_, value)| value)
    }

    fn build_id(&self, memory: &Sample) -> Option<Vec<u8>> {
        let of_notes = self.all.iter().filter(|header| header.kind == PT_NOTE);
        of_notes.filter_map(|header| self.build_id_in(memory, header)).next()
    }

    fn build_id_in(&self, memory: &Sample, header: &Header) -> Option<Vec<u8>> {
        let mut bytes = vec![0; usize::try_from(header.len).ok().filter(|len| *len <= MOST)?];
        memory.read(header.address.wrapping_add(self.bias), &mut bytes).then_some(())?;
        let abi = if memory.byte_order == ByteOrder::Big { Abi::S390x } else { Abi::Amd64 };
        let words = Words { abi, bytes: &bytes };
        let mut at = 0_usize;
        loop {
            let size = |offset: usize| usize::try_from(words.half(offset)?).ok();
            let (name, len, kind) = (size(at)?, size(at + 4)?, words.half(at + 8)?);
            let name_at = at + 12;
            let desc_at = name_at.checked_add(name.checked_next_multiple_of(4)?)?;
            let is_it = kind.cast_unsigned() == NT_GNU_BUILD_ID.0;
            if is_it && bytes.get(name_at..name_at.checked_add(name)?)? == b"GNU\0" {
                return bytes.get(desc_at..desc_at.checked_add(len)?).map(<[u8]>::to_vec);
            }
            at = desc_at.checked_add(len.checked_next_multiple_of(4)?)?;
        }
    }
}
