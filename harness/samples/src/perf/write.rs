//! Writes `perf.data`, as the kernel and `perf record --call-graph dwarf` would.

use std::collections::BTreeMap;

use sframe_engine::{Abi, ByteOrder};

use crate::recording::{Mapping, Recording, Sample};
use crate::registers::of_perf;

/// The sizes of the file's header, and of `perf_event_attr` (`PERF_ATTR_SIZE_VER7`) with the place of its IDs.
const HEADER: u64 = 104;
const ATTR: u64 = 128 + 16;
/// Records: `PERF_RECORD_COMM`, `_SAMPLE` and `_MMAP2`.
const COMM: u32 = 3;
const SAMPLE: u32 = 9;
const MMAP2: u32 = 10;
/// What they are of: `PERF_RECORD_MISC_KERNEL`, `_USER`, `_COMM_EXEC` and `_MMAP_BUILD_ID`.
const KERNEL: u16 = 1;
const USER: u16 = 2;
const EXEC: u16 = 1 << 13;
const WITH_BUILD_ID: u16 = 1 << 14;
/// `PERF_SAMPLE_IP`, `_TID`, `_TIME`, `_REGS_USER` and `_STACK_USER`.
const FORMAT: u64 = 1 | 1 << 1 | 1 << 2 | 1 << 12 | 1 << 13;
/// `comm`, `mmap2` and `comm_exec` of the attribute.
const FLAGS: [u32; 3] = [9, 23, 24];
/// The feature that is the machine's name, `HEADER_ARCH`.
const ARCH: u32 = 6;
/// `PROT_READ | PROT_EXEC`, and `MAP_PRIVATE`.
const CODE: u32 = 5;
const PRIVATE: u32 = 2;

/// The machine's name, as `uname -m` says it.
const fn machine(abi: Abi) -> &'static str {
    match abi {
        Abi::Amd64 => "x86_64",
        Abi::Aarch64 => "aarch64",
        Abi::Aarch64Be => "aarch64_be",
        Abi::S390x => "s390x",
    }
}

/// Numbers in an order of bytes.
struct Bytes {
    is_big: bool,
    bytes: Vec<u8>,
}

impl Bytes {
    fn new(order: ByteOrder) -> Self {
        Self { is_big: order == ByteOrder::Big, bytes: Vec::new() }
    }

    fn add(&mut self, number: u64, len: usize) {
        let bytes = if self.is_big { number.to_be_bytes() } else { number.to_le_bytes() };
        self.bytes.extend(if self.is_big { &bytes[8 - len..] } else { &bytes[..len] });
    }

    fn words(&mut self, numbers: impl IntoIterator<Item = u64>) {
        numbers.into_iter().for_each(|number| self.add(number, 8));
    }

    fn halves(&mut self, numbers: impl IntoIterator<Item = u32>) {
        numbers.into_iter().for_each(|number| self.add(number.into(), 4));
    }

    /// Text with its end, filled up to whole words.
    fn text(&mut self, text: &str) {
        self.bytes.extend(text.bytes().chain([0]));
        self.bytes.resize(self.bytes.len().next_multiple_of(8), 0);
    }

    fn record(&mut self, kind: u32, misc: u16, content: &Self) {
        self.add(kind.into(), 4);
        self.add(misc.into(), 2);
        self.add(content.bytes.len() as u64 + 8, 2);
        self.bytes.extend(&content.bytes);
    }
}

/// Writes a file with the samples of a recording. Each has at most `size` bytes of stack, a multiple of 8 below 64 KiB.
#[must_use]
pub fn write(recording: &Recording, size: u16) -> Vec<u8> {
    let order = recording.abi.byte_order();
    let mut data = Bytes::new(order);
    for (index, process) in recording.processes.iter().enumerate() {
        let mut comm = Bytes::new(order);
        comm.halves([process.id.cast_unsigned(); 2]);
        comm.text("program");
        data.record(COMM, USER | EXEC, &comm);
        process.mappings.iter().for_each(|mapping| map(&mut data, order, process.id, mapping));
        for (time, sample) in recording.samples.iter().enumerate() {
            if sample.process == index {
                write_sample(&mut data, recording.abi, sample, time as u64, (process.id, size));
            }
        }
    }
    let (_, pc) = of_perf(recording.abi);
    let mask = numbers(recording.abi).keys().chain([&pc]).fold(0, |mask, number| mask | 1_u64 << number);
    let flags = FLAGS.iter().fold(0_u64, |flags, bit| flags | 1 << bit);
    let mut attr = Bytes::new(order);
    // PERF_TYPE_SOFTWARE, its size, PERF_COUNT_SW_CPU_CLOCK, and the period.
    attr.halves([1, 128]);
    attr.words([0, 1, FORMAT, 0, if attr.is_big { flags.reverse_bits() } else { flags }]);
    attr.words([0, 0, 0, 0, mask]);
    attr.halves([size.into(), 0]);
    attr.bytes.resize(128, 0);
    attr.words([0, 0]);
    let mut file = Bytes::new(order);
    // The magic is a number: its bytes say in which order all others are.
    file.words([u64::from_le_bytes(*b"PERFILE2"), HEADER, ATTR]);
    file.words([HEADER, ATTR, HEADER + ATTR, data.bytes.len() as u64, 0, 0]);
    file.words([1 << ARCH, 0, 0, 0]);
    file.bytes.extend(attr.bytes);
    file.bytes.extend(data.bytes);
    let mut name = Bytes::new(order);
    let text = machine(recording.abi);
    name.add((text.len() as u64 + 1).next_multiple_of(8), 4);
    name.bytes.extend(text.bytes());
    name.bytes.resize(4 + (text.len() + 1).next_multiple_of(8), 0);
    file.words([file.bytes.len() as u64 + 16, name.bytes.len() as u64]);
    file.bytes.extend(name.bytes);
    file.bytes
}

/// The registers of a sample, in the order in which it has them, with their DWARF numbers.
fn numbers(abi: Abi) -> BTreeMap<u32, u32> {
    of_perf(abi).0.into_iter().collect()
}

fn map(data: &mut Bytes, order: ByteOrder, process: i32, mapping: &Mapping) {
    let mut record = Bytes::new(order);
    record.halves([process.cast_unsigned(); 2]);
    let Mapping { range, offset, build_id, path } = mapping;
    record.words([range.start, range.end - range.start, *offset]);
    let misc = match build_id {
        Some(id) => {
            let len = id.len().min(20);
            record.bytes.extend([u8::try_from(len).unwrap_or_default(), 0, 0, 0]);
            record.bytes.extend(&id[..len]);
            record.bytes.resize(record.bytes.len() + 20 - len, 0);
            USER | WITH_BUILD_ID
        }
        None => {
            record.words([0, 0, 0]);
            USER
        }
    };
    record.halves([CODE, PRIVATE]);
    record.text(path);
    data.record(MMAP2, misc, &record);
}

fn write_sample(data: &mut Bytes, abi: Abi, sample: &Sample, time: u64, (process, size): (i32, u16)) {
    let mut record = Bytes::new(abi.byte_order());
    record.words([sample.pc]);
    record.halves([process.cast_unsigned(), sample.thread.cast_unsigned()]);
    // PERF_SAMPLE_REGS_ABI_64.
    record.words([time, 2]);
    let (_, pc) = of_perf(abi);
    let mut numbers = numbers(abi);
    numbers.insert(pc, u32::MAX);
    record.words(numbers.into_values().map(|number| match number {
        u32::MAX => sample.pc,
        number => sample.registers.iter().find(|(known, _)| *known == number).map_or(0, |(_, value)| *value),
    }));
    let stack = sample.stack();
    // The length of a record has 16 bits: the kernel leaves out what does not fit.
    let room = usize::from(u16::MAX) - 8 - record.bytes.len() - 16;
    let size = usize::from(size).min(room / 8 * 8);
    let valid = stack.len().min(size);
    record.words([size as u64]);
    record.bytes.extend(&stack[..valid]);
    // What follows is not the program's.
    record.bytes.resize(record.bytes.len() + size - valid, 0xa5);
    record.words([valid as u64]);
    data.record(SAMPLE, if sample.in_kernel { KERNEL } else { USER }, &record);
}
