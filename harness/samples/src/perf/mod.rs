//! `perf.data`, as `perf record --call-graph dwarf` writes it.

mod moments;
mod sizes;
mod write;

use std::collections::BTreeMap;
use std::io::{Cursor, ErrorKind};
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook};
use std::sync::Arc;

use linux_perf_data::linux_perf_event_reader::{
    CpuMode, Endianness, EventRecord, Mmap2FileId, Mmap2Record, MmapRecord, RawData, SampleRecord,
};
use linux_perf_data::{Error, PerfFile, PerfFileReader, PerfFileRecord};
use sframe_engine::Abi;

use crate::recording::{Mapping, Piece, Process, Recording, RecordingError, Sample};
use crate::registers::of_perf;

pub use moments::{FileOf, LARGEST, recording_of};
pub use write::write;

/// `PROT_EXEC` of Linux.
const EXECUTE: u32 = 4;

/// Reads a file.
///
/// # Errors
/// It contradicts itself, or is of another machine.
pub fn read(bytes: &[u8]) -> Result<Recording, RecordingError> {
    sizes::check(bytes).map_err(malformed)?;
    // The library has assertions about what it reads: their messages are for its authors.
    let hook = take_hook();
    set_hook(Box::new(|_| ()));
    let read = catch_unwind(AssertUnwindSafe(|| read_all(bytes)));
    set_hook(hook);
    read.unwrap_or_else(|_| Err(malformed("a record contradicts itself")))
}

fn malformed(what: impl ToString) -> RecordingError {
    RecordingError::Malformed(format!("perf.data: {}", what.to_string()))
}

fn read_all(bytes: &[u8]) -> Result<Recording, RecordingError> {
    let PerfFileReader { mut perf_file, mut record_iter } =
        PerfFileReader::parse_file(Cursor::new(bytes)).map_err(malformed)?;
    let abi = abi_of(&perf_file)?;
    let build_ids = perf_file.build_ids().map_err(malformed)?;
    let build_ids = build_ids.into_values().map(|found| (path_of(&found.path), found.build_id)).collect();
    let mut reader = Reader { abi, build_ids, current: BTreeMap::new(), recording: Recording::new(abi) };
    let failed = |error: Error| match error {
        Error::IoError(error) if error.kind() == ErrorKind::Unsupported => {
            malformed("it is compressed: perf record without --compression-level (-z)")
        }
        error => malformed(error),
    };
    while let Some(record) = record_iter.next_record(&mut perf_file).map_err(failed)? {
        // What perf adds itself is about the recording.
        let PerfFileRecord::EventRecord { record, .. } = record else { continue };
        reader.add(record.parse().map_err(malformed)?);
    }
    Ok(reader.recording)
}

/// The ABI, by the machine's name and the order of bytes.
fn abi_of(file: &PerfFile) -> Result<Abi, RecordingError> {
    let name = file.arch().map_err(malformed)?.unwrap_or_default().to_owned();
    let is_big = file.endian() == Endianness::BigEndian;
    match (&*name, is_big) {
        ("x86_64", false) => Ok(Abi::Amd64),
        ("aarch64" | "arm64", false) => Ok(Abi::Aarch64),
        ("aarch64" | "aarch64_be" | "arm64", true) => Ok(Abi::Aarch64Be),
        ("s390x", true) => Ok(Abi::S390x),
        _ => Err(RecordingError::UnknownMachine(if name.is_empty() {
            "an unnamed machine".into()
        } else {
            name
        })),
    }
}

fn path_of(path: &[u8]) -> String {
    let end = path.iter().position(|byte| *byte == 0).unwrap_or(path.len());
    String::from_utf8_lossy(&path[..end]).into_owned()
}

struct Reader {
    abi: Abi,
    build_ids: BTreeMap<String, Vec<u8>>,
    /// The position of each process that there is.
    current: BTreeMap<i32, usize>,
    recording: Recording,
}

impl Reader {
    fn add(&mut self, record: EventRecord<'_>) {
        match record {
            EventRecord::Sample(sample) => self.sample(&sample),
            EventRecord::Mmap2(mapped)
                if mapped.cpu_mode == CpuMode::User && mapped.protection & EXECUTE != 0 =>
            {
                let build_id = match mapped.file_id {
                    Mmap2FileId::BuildId(id) => Some(id),
                    Mmap2FileId::InodeAndVersion(_) => None,
                };
                let Mmap2Record { pid, address, length, page_offset, path, .. } = mapped;
                self.map(pid, [address, length, page_offset], &path, build_id);
            }
            EventRecord::Mmap(mapped) if mapped.is_executable && mapped.cpu_mode == CpuMode::User => {
                let MmapRecord { pid, address, length, page_offset, path, .. } = mapped;
                self.map(pid, [address, length, page_offset], &path, None);
            }
            EventRecord::Comm(comm) if comm.is_execve => drop(self.current.remove(&comm.pid)),
            EventRecord::Fork(fork) if fork.pid != fork.ppid => {
                let parent = self.process(fork.ppid);
                let child = Process { id: fork.pid, ..self.recording.processes[parent].clone() };
                self.current.insert(fork.pid, self.recording.processes.len());
                self.recording.processes.push(child);
            }
            EventRecord::Lost(lost) => self.recording.lost = self.recording.lost.saturating_add(lost.count),
            _ => {}
        }
    }

    fn process(&mut self, id: i32) -> usize {
        let processes = &mut self.recording.processes;
        *self.current.entry(id).or_insert_with(|| {
            processes.push(Process { id, mappings: Vec::new() });
            processes.len() - 1
        })
    }

    fn map(
        &mut self,
        process: i32,
        [address, len, offset]: [u64; 3],
        path: &RawData<'_>,
        build_id: Option<Vec<u8>>,
    ) {
        let path = path_of(&path.as_slice());
        let build_id = build_id.or_else(|| self.build_ids.get(&path).cloned()).filter(|id| !id.is_empty());
        let range = address..address.saturating_add(len);
        let process = self.process(process);
        self.recording.processes[process].map(Mapping { path, range, offset, build_id });
    }

    fn sample(&mut self, sample: &SampleRecord<'_>) {
        let in_kernel = sample.cpu_mode != CpuMode::User;
        let found = self.registers(sample).zip(sample.user_stack.as_ref());
        let (Some(((registers, pc), (stack, valid))), Some(id)) = (found, sample.pid) else {
            self.recording.without_stack += 1;
            return;
        };
        let sp = registers.iter().find(|(number, _)| *number == self.abi.sp().0).map(|(_, value)| *value);
        // The copy has its whole size whatever the depth: what is beyond the valid part is not the program's.
        let mut bytes = stack.as_slice().into_owned();
        bytes.truncate(usize::try_from(*valid).unwrap_or(usize::MAX));
        bytes.shrink_to_fit();
        let part = 0..bytes.len();
        let piece = Piece { address: sp.unwrap_or_default(), buffer: Arc::new(bytes), part };
        let process = self.process(id);
        self.recording.samples.push(Sample {
            process,
            thread: sample.tid.unwrap_or(id),
            in_kernel,
            registers,
            pc,
            byte_order: self.abi.byte_order(),
            memory: Arc::from([piece]),
        });
    }

    /// The registers that the sample has, and the PC. SP and PC are needed.
    fn registers(&self, sample: &SampleRecord<'_>) -> Option<(Vec<(u32, u64)>, u64)> {
        let regs = sample.user_regs.as_ref()?;
        let (numbers, pc) = of_perf(self.abi);
        let value = |(perf, dwarf): (u32, u32)| Some((dwarf, regs.get(perf.into())?));
        let registers: Vec<(u32, u64)> = numbers.into_iter().filter_map(value).collect();
        let has_sp = registers.iter().any(|(number, _)| *number == self.abi.sp().0);
        Some((registers, regs.get(pc.into())?)).filter(|_| has_sp)
    }
}
