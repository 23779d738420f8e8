//! Moments of runs under emulation, as samples: what their call stacks are is known.

use std::sync::Arc;

use object::Endianness;
use object::elf::{FileHeader64, PF_X, PT_LOAD};
use object::read::elf::{FileHeader as _, ProgramHeader as _};
use sframe_engine::Abi;
use sframe_judge::moments::{Image, Moment, Program};

use crate::recording::{Mapping, Piece, Process, Recording, Sample};

/// The largest copy of a stack that `perf record` makes, in bytes.
pub const LARGEST: u16 = 65_528;

/// What is between the pieces of memory of a moment.
const UNKNOWN: u8 = 0xa5;

/// Processes have numbers from here on.
const FIRST: i32 = 1000;

/// The path and the bytes of a file of a program.
pub type FileOf<'f> = dyn Fn(&Program, &Image) -> Option<(String, Vec<u8>)> + 'f;

/// Makes a recording of the programs of an ABI, in their order: each is a process, and each of its moments a sample.
#[must_use]
pub fn recording_of(abi: Abi, programs: &[&Program], file: &FileOf<'_>) -> Recording {
    let mut recording = Recording::new(abi);
    for (index, program) in programs.iter().enumerate() {
        let id = FIRST + i32::try_from(index).unwrap_or_default();
        let mut process = Process { id, mappings: Vec::new() };
        for image in &program.images {
            let Some((path, bytes)) = file(program, image) else { continue };
            mappings(image, &path, &bytes).into_iter().flatten().for_each(|mapping| process.map(mapping));
        }
        recording.processes.push(process);
        let samples = program.moments.iter().filter_map(|moment| sample(abi, index, id, moment));
        recording.samples.extend(samples);
    }
    recording
}

/// The code of an image, as the kernel maps it.
fn mappings(image: &Image, path: &str, bytes: &[u8]) -> Option<Vec<Mapping>> {
    let header = FileHeader64::<Endianness>::parse(bytes).ok()?;
    let endian = header.endian().ok()?;
    let segments = header.program_headers(endian, bytes).ok()?.iter();
    let executed =
        segments.filter(|it| it.p_type(endian) == PT_LOAD && it.p_flags(endian).0 & PF_X.0 != 0).map(|it| {
            let start = it.p_vaddr(endian).wrapping_add(image.bias.0);
            Mapping::of_segment(path, start..start.saturating_add(it.p_memsz(endian)), it.p_offset(endian))
        });
    Some(executed.collect())
}

fn sample(abi: Abi, process: usize, thread: i32, moment: &Moment) -> Option<Sample> {
    let sp = moment.registers.get(&abi.sp().0)?.0;
    let mut stack = Vec::new();
    for piece in &moment.memory {
        let bytes = &piece.bytes.0;
        let Some(at) = piece.address.0.wrapping_add(bytes.len() as u64).checked_sub(sp) else { continue };
        let Some(end) = usize::try_from(at).ok().filter(|end| *end <= LARGEST.into()) else { continue };
        // What is below SP is not copied.
        let bytes = &bytes[bytes.len().saturating_sub(end)..];
        stack.resize(stack.len().max(end), UNKNOWN);
        stack[end - bytes.len()..end].copy_from_slice(bytes);
    }
    let part = 0..stack.len();
    Some(Sample {
        process,
        thread,
        in_kernel: false,
        registers: moment.registers.iter().map(|(number, value)| (*number, value.0)).collect(),
        pc: moment.frames.first()?.pc.0,
        byte_order: abi.byte_order(),
        memory: Arc::from([Piece { address: sp, buffer: Arc::new(stack), part }]),
    })
}
