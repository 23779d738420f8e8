//! Recordings of programs that run under emulation: what a sample shows is compared with what a walk has found in the whole
//! memory at that moment, which the bench has compared with the call stack.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rstest::rstest;
use sframe_engine::Abi;
use sframe_judge::examine::{ExamineOptions, examine};
use sframe_judge::explore::{Explorer, Progress};
use sframe_judge::external::isolation::Isolation;
use sframe_judge::target::{SectionSource, Target};
use sframe_judge::unwind::{Backtrace, Unwinder, Viewpoint, sframe_unwinder};
use sframe_machine::{Options, of_prstatus};
use sframe_samples::perf;
use sframe_samples::process::Files;
use sframe_samples::read::recording_of;
use sframe_samples::recording::{Mapping, Piece, Process, Recording, RecordingError, Sample};
use sframe_samples::report::SamplesReport;
use sframe_samples::walks::{Stop, Walker};

const BUILDS: &str = "../../corpus/builds";

/// Takes a sample at some of the moments at which it is asked.
struct Profiler<'p> {
    abi: Abi,
    engine: Box<dyn Unwinder + 'p>,
    asked: usize,
    every: usize,
    taken: &'p mut Vec<(Sample, Vec<u64>)>,
}

impl Unwinder for Profiler<'_> {
    fn unwind(&mut self, viewpoint: &Viewpoint<'_>, backtrace: &mut Backtrace) {
        self.engine.unwind(viewpoint, backtrace);
        self.asked += 1;
        if !self.asked.is_multiple_of(self.every) {
            return;
        }
        let region = viewpoint.memory.regions().into_iter().find(|region| region.contains(&viewpoint.sp));
        let len = region.map_or(0, |region| region.end - viewpoint.sp).min(65_528);
        let mut bytes = vec![0; usize::try_from(len).expect("a length")];
        assert!(viewpoint.memory.read(viewpoint.sp, &mut bytes));
        let part = 0..bytes.len();
        let registers = (0..32).filter_map(|number| Some((number, viewpoint.register(number)?))).collect();
        let sample = Sample {
            process: 0,
            thread: 7,
            in_kernel: false,
            registers,
            pc: viewpoint.pc,
            byte_order: self.abi.byte_order(),
            memory: Arc::from([Piece { address: viewpoint.sp, buffer: Arc::new(bytes), part }]),
        };
        self.taken.push((sample, backtrace.frames.iter().map(|frame| frame.pc).collect()));
    }
}

/// A recording of a build of the corpus, and the walks at the same moments in the whole memory.
fn record(build: &str, every: usize) -> (Recording, Vec<Vec<u64>>) {
    let bytes = std::fs::read(Path::new(BUILDS).join(build)).expect("a build");
    let target = Target::open(&bytes).expect("a build");
    let image = &target.executable().image;
    let abi = image.cpu.abi;
    let mut taken = Vec::new();
    let mut profiler = Profiler { abi, engine: sframe_unwinder(&target), asked: 0, every, taken: &mut taken };
    let seen = examine(&target, &mut profiler, &ExamineOptions::default(), &Options::default());
    drop(profiler);
    assert!(seen.expect("a run").findings.is_empty(), "{build}");
    let executed = image.segments.iter().filter(|segment| segment.permissions.execute);
    let mapping = executed.map(|segment| {
        let before = segment.address % 4096;
        Mapping {
            path: format!("/{build}"),
            range: segment.address - before..segment.address + segment.len,
            offset: segment.file.start as u64 - before,
            build_id: None,
        }
    });
    let processes = vec![Process { id: 7, mappings: mapping.collect() }];
    let (samples, walks) = taken.into_iter().unzip();
    let recording = Recording { abi, processes, samples, ..Recording::new(abi) };
    (recording, walks)
}

fn explorer() -> Explorer {
    let isolation = Isolation { worker: Vec::new(), memory: 1 << 30, timeout: std::time::Duration::ZERO };
    Explorer { isolation, jobs: 1, cache: None }
}

fn report(recording: &Recording, root: &Path) -> SamplesReport {
    let files = Files::read(recording, root, root).expect("the files that were recorded");
    let made = files.make(SectionSource::Sframe);
    SamplesReport::of("perf.data", recording, &files, &made, &explorer(), &Progress::default(), &mut |_| ())
}

/// What is written is read, in each ABI; and SFrame walks in a sample as it does in the whole memory.
#[rstest]
fn a_sample_is_walked_like_the_program(
    #[values("amd64", "aarch64", "aarch64_be", "s390x")] abi: &str,
    #[values("recursion.O2", "many_epilogues.O2", "signals.O2")] program: &str,
) {
    let (recording, walks) = record(&format!("gnu-2.47/{abi}/{program}"), 40);
    assert!(walks.len() > 4 && walks.iter().any(|walk| walk.len() > 2), "{} samples", walks.len());
    let read = recording_of(perf::write(&recording, 65_528), &|_| None).expect("what was written");
    assert_eq!((read.abi, &read.processes), (recording.abi, &recording.processes));
    assert_eq!(read.samples.len(), recording.samples.len());
    let files = Files::read(&read, Path::new(BUILDS), Path::new(BUILDS)).expect("the build");
    let made = files.make(SectionSource::Sframe);
    let (target, left_out) = files.open(&read.processes[0], &made);
    let target = target.expect("the build");
    assert_eq!(left_out, []);
    let mut walker = Walker::new(&target, &read.processes[0]);
    let mut complete = 0;
    for ((sample, own), expected) in read.samples.iter().zip(&recording.samples).zip(&walks) {
        assert_eq!((sample.pc, sample.thread), (own.pc, own.thread));
        assert!(own.stack().starts_with(sample.stack()) && !sample.stack().is_empty());
        for (number, value) in &own.registers {
            let read = sample.registers.iter().find(|(known, _)| known == number);
            // Sixteen of amd64 have a number in both.
            assert!(read.is_none_or(|(_, read)| read == value), "register {number}");
        }
        let [sframe, cfi, ..] = walker.walk(sample);
        assert_eq!(sframe.pcs().collect::<Vec<_>>(), *expected, "at {:#x}", sample.pc);
        assert_eq!(sframe.differs_from(&cfi), None);
        complete += usize::from(sframe.is_complete());
    }
    assert!(complete > 0, "none of {} samples is complete", walks.len());
}

/// Who writes a core dump.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Writer {
    Linux,
    /// Without the names of files.
    Emulator,
    /// Without what the files have.
    Debugger,
}

/// A core dump of the threads of a recording.
fn core_of(recording: &Recording, writer: Writer) -> Vec<u8> {
    let abi = recording.abi;
    let number = |value: u64, len: usize| match abi.is_big_endian() {
        true => value.to_be_bytes()[8 - len..].to_vec(),
        false => value.to_le_bytes()[..len].to_vec(),
    };
    let note = |kind: u64, content: &[u8]| {
        let header = [5, content.len() as u64, kind].map(|it| number(it, 4)).concat();
        let mut note = [&header[..], b"CORE\0\0\0\0", content].concat();
        note.resize(note.len().next_multiple_of(4), 0);
        note
    };
    let (numbers, pc) = of_prstatus(abi);
    let words = |words: &[u64]| words.iter().flat_map(|word| number(*word, 8)).collect::<Vec<u8>>();
    let mut notes = Vec::new();
    for sample in &recording.samples {
        let mut registers = vec![0; 40];
        registers[pc] = sample.pc;
        for (word, dwarf) in &numbers {
            let known = sample.registers.iter().find(|(number, _)| number == dwarf);
            registers[*word] = known.map_or(0, |(_, value)| *value);
        }
        let mut status = vec![0; 112];
        status.splice(32..36, number(sample.thread.cast_unsigned().into(), 4));
        status.extend(words(&registers));
        notes.extend(note(1, &status));
    }
    let mapping = &recording.processes[0].mappings[0];
    let sample = &recording.samples[0];
    let path = [mapping.path.as_bytes(), b"\0"].concat();
    // Where the emulated program has nothing.
    let (stack, text) = (sample.memory[0].address, 0x7000_0000_0000);
    if writer != Writer::Emulator {
        let mut files = words(&[1, 4096, mapping.range.start, mapping.range.end, mapping.offset / 4096]);
        files.extend(&path);
        notes.extend(note(0x4649_4c45, &files));
    } else {
        // AT_PHDR, AT_PHNUM and AT_EXECFN; the file's own pages are not dumped.
        let start = mapping.range.start - mapping.offset;
        notes.extend(note(6, &words(&[3, start + 64, 5, 8, 31, text, 0, 0])));
    }
    let machine = match abi {
        Abi::Amd64 => 62,
        Abi::Aarch64 | Abi::Aarch64Be => 183,
        Abi::S390x => 22,
    };
    let mut file = b"\x7fELF\x02".to_vec();
    file.extend([if abi.is_big_endian() { 2 } else { 1 }, 1]);
    file.resize(16, 0);
    file.extend([number(4, 2), number(machine, 2), number(1, 4), words(&[0, 64, 0])].concat());
    let mut content = Vec::new();
    let code: &[u8] = &[];
    let mut segments = vec![
        (4, 0, 0, &notes[..]),
        (1, 6, stack, sample.stack()),
        (1, 4, text, &path),
        (1, 5, mapping.range.start, code),
    ];
    segments.truncate(if writer == Writer::Debugger { 3 } else { 4 });
    let count = segments.len() as u64;
    file.extend([number(0, 4), number(64, 2), number(56, 2), number(count, 2), vec![0; 6]].concat());
    let mut at = 64 + count * 56;
    for (kind, flags, address, bytes) in segments {
        let len = bytes.len() as u64;
        file.extend([number(kind, 4), number(flags, 4), words(&[at, address, 0, len, len, 1])].concat());
        content.extend(bytes);
        at += len;
    }
    [file, content].concat()
}

/// What a core dump has of a thread is walked like a sample of it.
#[rstest]
fn a_core_dump_is_walked_like_the_program(
    #[values("amd64", "aarch64", "aarch64_be", "s390x")] abi: &str,
    #[values(Writer::Linux, Writer::Emulator, Writer::Debugger)] writer: Writer,
) {
    let (mut recording, walks) = record(&format!("gnu-2.47/{abi}/recursion.O2"), 50);
    let deepest = (0..walks.len()).max_by_key(|at| walks[*at].len()).expect("a walk");
    recording.samples = vec![recording.samples[deepest].clone()];
    let root = Path::new(BUILDS);
    let open = |name: &str| std::fs::read(root.join(name.trim_start_matches('/'))).ok();
    let read = recording_of(core_of(&recording, writer), &open).expect("what was written");
    assert!(read.is_core_dump && !read.is_cut_short && read.abi == recording.abi);
    let mut short = core_of(&recording, writer);
    short.truncate(short.len() - 1);
    assert!(recording_of(short, &open).is_ok_and(|read| read.is_cut_short));
    let of_code = |recording: &Recording| {
        let mapping = recording.processes[0].mappings[0].clone();
        (mapping.path, mapping.range.start.wrapping_sub(mapping.offset))
    };
    assert_eq!(of_code(&read), of_code(&recording));
    let files = Files::read(&read, root, root).expect("the build");
    let made = files.make(SectionSource::Sframe);
    let (target, _) = files.open(&read.processes[0], &made);
    let target = target.expect("the build");
    let [sframe, ..] = Walker::new(&target, &read.processes[0]).walk(&read.samples[0]);
    assert_eq!(sframe.pcs().collect::<Vec<_>>(), walks[deepest]);
    assert!(sframe.is_complete() && walks[deepest].len() > 3, "{} frames", walks[deepest].len());
}

/// A copy of the stack that is too short is the reason, and not the section.
#[test]
fn a_short_copy_is_told_from_a_wrong_row() {
    let (recording, _) = record("gnu-2.47/amd64/recursion.O2", 40);
    let whole = report(&recording, Path::new(BUILDS));
    let short = recording_of(perf::write(&recording, 64), &|_| None).expect("what was written");
    let short = report(&short, Path::new(BUILDS));
    let stopped = |report: &SamplesReport| {
        report.methods[0].stopped.get(&Stop::CopyTooShort).map_or(0, |places| places.total())
    };
    assert_eq!(stopped(&whole), 0, "{}", whole.text());
    assert!(stopped(&short) > 0 && short.methods[0].needs.is_some_and(|[half, _]| half > 64));
    assert!(short.methods[0].complete < whole.methods[0].complete);
    assert_eq!((short.samples, short.wrong()), (whole.samples, 0));
}

/// A chain that begins with a register that was not recorded leads nowhere, and not to the outermost frame.
#[test]
fn without_fp_nothing_is_said_of_frame_pointers() {
    let (mut recording, _) = record("gnu-2.47/amd64/recursion.O0", 40);
    let whole = report(&recording, Path::new(BUILDS));
    for sample in &mut recording.samples {
        sample.registers.retain(|(number, _)| *number != Abi::Amd64.fp().0);
    }
    let without = report(&recording, Path::new(BUILDS));
    let unknown = |report: &SamplesReport, method: usize| {
        report.methods[method].stopped.get(&Stop::NoRegister).map_or(0, |places| places.total())
    };
    assert!((0..4).all(|method| unknown(&whole, method) == 0), "{}", whole.text());
    assert_eq!([unknown(&without, 2), unknown(&without, 3)], [without.samples; 2], "{}", without.text());
    assert!(unknown(&without, 0) > 0 && unknown(&without, 1) > 0, "{}", without.text());
    assert_eq!(without.wrong(), 0);
}

/// Without the files, nothing is said of the section.
#[test]
fn without_its_files_a_recording_is_inconclusive() {
    let (recording, _) = record("gnu-2.47/amd64/recursion.O2", 200);
    let empty = tempfile::tempdir().expect("a folder");
    let report = report(&recording, empty.path());
    assert!(!report.is_enough() && report.comparable == 0, "{}", report.text());
    assert_eq!(report.unusable.len(), 1);
}

/// A file that is another build is refused.
#[test]
fn a_file_with_another_build_id_is_refused() {
    let (mut recording, _) = record("gnu-2.47/amd64/recursion.O2", 400);
    let root = tempfile::tempdir().expect("a folder");
    let path: PathBuf = root.path().join("program");
    let libc = std::fs::read("/proc/self/exe").expect("this test");
    let id = object::Object::build_id(&object::File::parse(&libc[..]).expect("this test")).expect("notes");
    let Some(id) = id.map(<[u8]>::to_vec) else { return };
    std::fs::write(&path, &libc).expect("a file");
    let mapping = &mut recording.processes[0].mappings[0];
    mapping.path = "/program".to_owned();
    mapping.build_id = Some(id.clone());
    assert!(Files::read(&recording, root.path(), root.path()).is_ok());
    recording.processes[0].mappings[0].build_id = Some(id.iter().map(|byte| !byte).collect());
    let error = Files::read(&recording, root.path(), root.path()).expect_err("another build").to_string();
    assert!(error.contains("--root DIR"), "{error}");
}

/// Damaged recordings are one error, or fewer samples: nothing panics, and nothing is read beyond the file.
#[test]
fn damaged_recordings_do_no_harm() {
    let (recording, _) = record("gnu-2.47/s390x/many_epilogues.O2", 30);
    damage(&perf::write(&recording, 256));
}

/// Sizes that the file does not have are one error: nothing asks for that much memory.
#[test]
fn sizes_beyond_the_file_are_refused() {
    let (recording, _) = record("gnu-2.47/aarch64_be/recursion.O2", 200);
    let sound = perf::write(&recording, 64);
    let mut refused = 0;
    for at in (0..104).chain(sound.len() - 400..sound.len() - 8) {
        for size in [1_u64 << 40, 1 << 60, 0x7fff_ffff_7fff_ffff] {
            let mut bytes = sound.clone();
            bytes[at..at + 8].copy_from_slice(&size.to_be_bytes());
            refused +=
                usize::from(matches!(recording_of(bytes, &|_| None), Err(RecordingError::Malformed(_))));
        }
    }
    assert!(refused > 100, "{refused}");
}

/// Nor do core dumps, with and without the names of files.
#[test]
fn damaged_core_dumps_do_no_harm() {
    for writer in [Writer::Linux, Writer::Emulator] {
        let (mut recording, _) = record("gnu-2.47/s390x/many_epilogues.O2", 30);
        recording.samples.truncate(3);
        damage(&core_of(&recording, writer));
    }
}

/// Some damages in each change, and more at night.
fn damage(sound: &[u8]) {
    let times = if std::env::var_os("SWEEPS").is_some() { 10_000 } else { 300 };
    let (mut refused, mut read) = (0, 0);
    let mut state = 1_u64;
    let mut random = |below: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(state >> 33).expect("31 bits") % below
    };
    let root = Path::new(BUILDS);
    for _ in 0..times {
        let mut bytes = sound.to_vec();
        for _ in 0..1 + random(3) {
            let at = random(bytes.len());
            bytes[at] = u8::try_from(random(256)).expect("a byte");
        }
        if random(8) == 0 {
            bytes.truncate(random(bytes.len()));
        }
        match recording_of(bytes, &|_| None) {
            Ok(recording) => {
                read += 1;
                assert!(
                    recording.samples.iter().map(|sample| sample.stack().len()).sum::<usize>() < sound.len()
                );
                if let Ok(files) = Files::read(&recording, root, root) {
                    let made = files.make(SectionSource::Sframe);
                    let (progress, explorer) = (Progress::default(), explorer());
                    let report =
                        SamplesReport::of("", &recording, &files, &made, &explorer, &progress, &mut |_| ());
                    let stopped = |places: &sframe_samples::report::Places| places.total();
                    for method in &report.methods {
                        let all = method.complete + method.stopped.values().map(stopped).sum::<u64>();
                        assert_eq!(all, report.samples);
                    }
                }
            }
            Err(
                RecordingError::Malformed(_)
                | RecordingError::UnknownMachine(_)
                | RecordingError::UnknownFormat,
            ) => {
                refused += 1;
            }
            Err(RecordingError::Read(error)) => panic!("{error}"),
        }
    }
    assert!(refused > times / 20 && read > times / 20, "{refused} refused, {read} read");
}

/// What is counted is counted once: by method, a walk is complete, or stops for one reason.
#[test]
fn each_sample_counts_once() {
    let (recording, walks) = record("gnu-2.47/aarch64/recursion.O2", 60);
    let report = report(&recording, Path::new(BUILDS));
    for method in &report.methods {
        let stopped: BTreeMap<_, _> =
            method.stopped.iter().map(|(stop, places)| (*stop, places.total())).collect();
        assert_eq!(
            method.complete + stopped.values().sum::<u64>(),
            walks.len() as u64,
            "{}: {stopped:?}",
            method.name
        );
    }
    assert_eq!(report.samples, walks.len() as u64);
}
