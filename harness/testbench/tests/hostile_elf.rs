//! Malformed ELF files: each field of the headers and tables that are read, set
//! to wild values. The result is always a report or an error, in bounded time
//! and memory.

mod common;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use rayon::prelude::*;
use sframe_elf::sframe_section::Input;
use sframe_engine::Version;
use sframe_inspect::convert::Request;
use sframe_inspect::convert::layout::Layout;
use sframe_inspect::diff::diff_file;
use sframe_inspect::dump::{self, Document};
use sframe_inspect::lint::lint_file;
use sframe_judge::examine::listings::{Listing, Listings};
use sframe_judge::examine::{ExamineOptions, broken_reason, examine};
use sframe_judge::target::Target;
use sframe_judge::target::files::Files;
use sframe_judge::truth::cross_check::Traces;
use sframe_judge::unwind::sframe_unwinder;
use sframe_kit::conclusion::Ending;
use sframe_machine::Options;
use sframe_suite::case::BrokenReason;
use sframe_suite::report::{
    CheckReport, Style, check_summary, html_of_check, markdown_of_check, sarif_of_check,
};

/// No file here takes a thousandth of it; the host may be slow, and busy.
const TIME_LIMIT: Duration = Duration::from_secs(60);
/// For the whole process, with all its threads. An emulated machine takes some
/// 50 MB.
const MEMORY_LIMIT: u64 = 3 << 30;

/// A field: its offset in the file, its width, and its name.
#[derive(Clone, Debug)]
struct Field {
    offset: usize,
    width: usize,
    name: String,
}

/// A file whose fields are changed, and the other files of its process.
struct Sample {
    id: String,
    /// The changed file: the executable, or one of its libraries.
    file: usize,
    files: Vec<(String, Vec<u8>)>,
}

/// Reads and writes numbers of a file.
struct Numbers {
    is_big: bool,
}

impl Numbers {
    fn of(bytes: &[u8]) -> Self {
        Self { is_big: bytes[5] == 2 }
    }

    fn get(&self, bytes: &[u8], offset: usize, width: usize) -> u64 {
        let join = |value: u64, byte: &u8| value << 8 | u64::from(*byte);
        let bytes = &bytes[offset..offset + width];
        if self.is_big { bytes.iter().fold(0, join) } else { bytes.iter().rev().fold(0, join) }
    }

    fn put(&self, bytes: &mut [u8], offset: usize, width: usize, value: u64) {
        let field = &mut bytes[offset..offset + width];
        if self.is_big {
            field.copy_from_slice(&value.to_be_bytes()[8 - width..]);
        } else {
            field.copy_from_slice(&value.to_le_bytes()[..width]);
        }
    }
}

const HEADER: [(&str, usize); 14] = [
    ("e_type", 2),
    ("e_machine", 2),
    ("e_version", 4),
    ("e_entry", 8),
    ("e_phoff", 8),
    ("e_shoff", 8),
    ("e_flags", 4),
    ("e_ehsize", 2),
    ("e_phentsize", 2),
    ("e_phnum", 2),
    ("e_shentsize", 2),
    ("e_shnum", 2),
    ("e_shstrndx", 2),
    ("", 0),
];
const SEGMENT: [(&str, usize); 8] = [
    ("p_type", 4),
    ("p_flags", 4),
    ("p_offset", 8),
    ("p_vaddr", 8),
    ("p_paddr", 8),
    ("p_filesz", 8),
    ("p_memsz", 8),
    ("p_align", 8),
];
const SECTION: [(&str, usize); 10] = [
    ("sh_name", 4),
    ("sh_type", 4),
    ("sh_flags", 8),
    ("sh_addr", 8),
    ("sh_offset", 8),
    ("sh_size", 8),
    ("sh_link", 4),
    ("sh_info", 4),
    ("sh_addralign", 8),
    ("sh_entsize", 8),
];
const SYMBOL: [(&str, usize); 6] =
    [("st_name", 4), ("st_info", 1), ("st_other", 1), ("st_shndx", 2), ("st_value", 8), ("st_size", 8)];
const RELOCATION: [(&str, usize); 4] = [("r_offset", 8), ("r_info", 4), ("r_info", 4), ("r_addend", 8)];
const DYNAMIC: [(&str, usize); 2] = [("d_tag", 8), ("d_val", 8)];
const WORD: [(&str, usize); 1] = [("word", 4)];
const HALF: [(&str, usize); 1] = [("half", 2)];

/// The fields of a table of `count` entries at an offset, as far as the file has them.
fn table(
    fields: &mut Vec<Field>,
    len: usize,
    name: &str,
    mut at: usize,
    count: usize,
    entry: &[(&str, usize)],
) {
    for index in 0..count {
        for (field, width) in entry {
            if *width > 0 && at + width <= len {
                fields.push(Field { offset: at, width: *width, name: format!("{name}[{index}].{field}") });
            }
            at += width;
        }
    }
}

/// All fields that give the position, length or kind of something.
fn fields(bytes: &[u8]) -> Vec<Field> {
    const MOST: usize = 12;
    let numbers = Numbers::of(bytes);
    let get = |offset, width| usize::try_from(numbers.get(bytes, offset, width)).expect("a sound file");
    let len = bytes.len();
    let mut fields = Vec::new();
    for index in 4..10 {
        fields.push(Field { offset: index, width: 1, name: format!("e_ident[{index}]") });
    }
    table(&mut fields, len, "header", 16, 1, &HEADER);
    table(&mut fields, len, "segment", get(32, 8), get(56, 2), &SEGMENT);
    let (sections, count) = (get(40, 8), get(60, 2));
    table(&mut fields, len, "section", sections, count, &SECTION);
    for index in 0..count {
        let header = sections + index * 64;
        let (kind, offset, size) = (get(header + 4, 4), get(header + 24, 8), get(header + 32, 8));
        let name = format!("{index}:{kind:#x}");
        let mut entries = |width: usize, entry: &[(&str, usize)], most: usize| {
            table(&mut fields, len, &name, offset, (size / width).min(most), entry);
        };
        match kind {
            2 | 11 => entries(24, &SYMBOL, MOST),
            4 => entries(24, &RELOCATION, MOST),
            6 => entries(16, &DYNAMIC, 64),
            // Hash tables, versions, notes.
            5 | 7 | 0x6fff_fff6 | 0x6fff_fffd | 0x6fff_fffe => entries(4, &WORD, MOST),
            0x6fff_ffff => entries(2, &HALF, MOST),
            // Code or data, including call frame information.
            1 if size > 0 && get(header + 8, 8) & 4 == 0 => entries(4, &WORD, MOST),
            _ => {}
        }
    }
    fields
}

/// The values for a field: some that are always wrong, and some that are nearly
/// right.
fn values(bytes: &[u8], field: &Field) -> Vec<u64> {
    let was = Numbers::of(bytes).get(bytes, field.offset, field.width);
    let all = u64::MAX >> (64 - 8 * field.width);
    let (sign, len) = (all / 2 + 1, bytes.len() as u64);
    let mut values = vec![
        0,
        1,
        7,
        all,
        all - 7,
        sign,
        sign - 1,
        len,
        len + 1,
        len - 1,
        was.wrapping_add(1),
        was.wrapping_sub(1),
        was ^ 0x40,
        was.wrapping_mul(2),
        was.wrapping_add(0x1000),
        1 << 32,
        1 << 36,
        1 << 30,
        0x8000,
        0xff00,
    ];
    values.iter_mut().for_each(|value| *value &= all);
    values.retain(|value| *value != was);
    values.sort_unstable();
    values.dedup();
    values
}

/// The results of a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Tally {
    files: usize,
    /// For each command: how often it gave a report, and how often an error.
    reports: usize,
    errors: usize,
}

/// Does what the commands do with a process's files, except for printing.
fn commands(files: &[(String, Vec<u8>)], file: usize, tally: &mut Tally) {
    let bytes = &files[file].1;
    tally.files += 1;
    let mut count = |outcome: Result<(), String>| match outcome {
        Ok(()) => tally.reports += 1,
        Err(error) => {
            assert!(!error.trim().is_empty() && error.lines().count() == 1, "{error:?}");
            assert!(error.len() < 1000, "{error}");
            tally.errors += 1;
        }
    };
    count(dump(bytes));
    count(lint_file(bytes, "file").map_err(|error| error.to_string()).map(|report| {
        assert!(!report.text().is_empty());
        drop(serde_json::to_string(&report).expect("JSON"));
        let mut log = sframe_inspect::lint::Log::default();
        log.add(&report);
        drop(serde_json::to_string(&log.document("sframe-testbench", Ending::Fail)).expect("JSON"));
    }));
    count(diff_file(bytes, "file").map_err(|error| error.to_string()).map(|report| {
        assert!(!report.text().is_empty());
        drop(serde_json::to_string(&report).expect("JSON"));
    }));
    count(convert(bytes, false));
    count(convert(bytes, true));
    // Files of a library alone are not run.
    let executable = files[0].1.clone();
    let libraries = files[1..].to_vec();
    count(check(&Files { executable, libraries, ..Files::default() }));
}

fn dump(bytes: &[u8]) -> Result<(), String> {
    let input = Input::open(bytes, None).map_err(|error| error.to_string())?;
    let content = dump::Dump::decode(&input.data, input.address).map_err(|error| error.to_string())?;
    drop(serde_json::to_string(&Document::new("file", &input, &content)).expect("JSON"));
    assert!(dump::text("file", input.format, &content).all(|part| !part.is_empty()));
    Ok(())
}

fn convert(bytes: &[u8], implied: bool) -> Result<(), String> {
    let request = Request { version: Version::V3, byte_order: None, layout: Layout::default() };
    let converted = if implied { request.synthesize(bytes) } else { request.convert(bytes) };
    let converted = converted.map_err(|error| error.to_string())?;
    converted.section().map_err(|error| error.to_string())?;
    converted.file().map(drop).map_err(|error| error.to_string())
}

fn check(files: &Files) -> Result<(), String> {
    let target = Target::open_files(files).map_err(|error| error.to_string())?;
    let traces = Traces::of_abi(target.executable().image.cpu.abi);
    let look = ExamineOptions { traces, hazards: true, observes: true, ..ExamineOptions::default() };
    let options = Options { budget: 1000, stack_size: 64 << 10, ..Options::default() };
    let mut unwinder = sframe_unwinder(&target);
    let examination = examine(&target, &mut *unwinder, &look, &options).map_err(|error| error.to_string())?;
    drop(unwinder);
    let broken = broken_reason(&examination, &target, 0);
    let mut listings = Listings::default();
    let listing = Listing::of(&target, &examination).map_err(|error| error.to_string())?;
    listings.add("file", &listing).map_err(|error| error.to_string())?;
    let report = CheckReport::new("file".into(), &target, examination, broken.map(BrokenReason::from));
    assert!(!check_summary(&report, Style::default()).is_empty());
    drop(serde_json::to_string(&report).expect("JSON"));
    drop(serde_json::to_string(&sarif_of_check(&report, &listings)).expect("JSON"));
    drop(html_of_check(&report, &listings));
    drop(markdown_of_check(&report));
    Ok(())
}

thread_local! {
    /// What this thread is doing.
    static CURRENT: RefCell<String> = const { RefCell::new(String::new()) };
}
/// What has panicked, and where. The machine catches the panics of its observers.
static PANICS: Mutex<Vec<String>> = Mutex::new(Vec::new());

fn note_panics() {
    std::panic::set_hook(Box::new(|panic| {
        let what = CURRENT.with_borrow(String::clone);
        PANICS.lock().expect("no panic").push(format!("{what}: {panic}"));
        eprintln!("{what}: {panic}");
    }));
}

/// Ends the process, and prints what it is doing, if one file takes too long:
/// there is no other way to end a loop.
struct Watch {
    running: Arc<Mutex<BTreeMap<usize, (Instant, String)>>>,
    next: AtomicUsize,
}

impl Watch {
    fn new() -> Self {
        let running = Arc::new(Mutex::new(BTreeMap::<usize, (Instant, String)>::new()));
        let watched = Arc::downgrade(&running);
        std::thread::spawn(move || {
            while let Some(running) = watched.upgrade() {
                for (since, what) in running.lock().expect("no panic").values() {
                    if since.elapsed() > TIME_LIMIT {
                        eprintln!("this takes more than {TIME_LIMIT:?}: {what}");
                        std::process::abort();
                    }
                }
                drop(running);
                std::thread::sleep(Duration::from_millis(200));
            }
        });
        Self { running, next: AtomicUsize::new(0) }
    }

    /// Does something that may panic.
    fn during(&self, what: &str, work: impl FnOnce()) {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        CURRENT.set(what.to_owned());
        self.running.lock().expect("no panic").insert(id, (Instant::now(), what.to_owned()));
        drop(catch_unwind(AssertUnwindSafe(work)));
        let (since, _) = self.running.lock().expect("no panic").remove(&id).expect("it was put there");
        if since.elapsed() > Duration::from_secs(2) {
            eprintln!("{:?}: {what}", since.elapsed());
        }
    }
}

/// The peak memory use of this process, in bytes.
fn peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("/proc");
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).expect("a peak");
    line.split_whitespace().nth(1).and_then(|size| size.parse::<u64>().ok()).expect("a number") << 10
}

/// One executable of each ABI and kind; of those with libraries, one file each.
fn samples() -> Vec<Sample> {
    let suite = common::suite();
    let mut samples = Vec::new();
    let mut add = |id: &str, file: usize| {
        let files = suite.manifest().get(id).expect("the build").files(suite.corpus()).expect("its files");
        let mut all = vec![(String::new(), files.executable)];
        all.extend(files.libraries);
        assert!(file < all.len(), "{id}");
        samples.push(Sample { id: id.to_owned(), file, files: all });
    };
    add("gnu-2.47/amd64/leaf.O2", 0);
    add("gnu-2.44/aarch64/recursion.O2-pie", 0);
    add("gnu-2.47/s390x/saved_fprs.O2", 0);
    add("gnu-2.40/aarch64_be/leaf.O2", 0);
    for (index, abi) in ["amd64", "aarch64", "aarch64_be", "s390x"].into_iter().enumerate() {
        let id = format!("gnu-2.47/{abi}/crossing.O2-dynamic-pie");
        add(&id, 0);
        add(&id, 1 + index % 2);
    }
    for abi in ["amd64", "aarch64_be", "s390x"] {
        let path = common::repository().join(format!("corpus/dumps/odd/gnu-2.47/{abi}.o"));
        let bytes = std::fs::read(path).expect("an object");
        samples.push(Sample { id: format!("odd {abi}.o"), file: 0, files: vec![(String::new(), bytes)] });
    }
    samples
}

struct Mutant<'s> {
    sample: &'s Sample,
    changes: Vec<(Field, u64)>,
}

impl Mutant<'_> {
    fn name(&self) -> String {
        let changes: Vec<String> =
            self.changes.iter().map(|(field, value)| format!("{} = {value:#x}", field.name)).collect();
        format!("{}, file {}: {}", self.sample.id, self.sample.file, changes.join(", "))
    }

    fn files(&self) -> Vec<(String, Vec<u8>)> {
        let mut files = self.sample.files.clone();
        let bytes = &mut files[self.sample.file].1;
        let numbers = Numbers::of(bytes);
        for (field, value) in &self.changes {
            numbers.put(bytes, field.offset, field.width, *value);
        }
        files
    }
}

/// A pseudo-random sequence of numbers (Steele, Lea, Flood: SplitMix64).
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((z ^ z >> 31) % limit as u64).expect("a small number")
    }
}

/// Every `step`th change of one field, and some of several at once.
fn try_all(step: usize, seed: u64, pairs: usize) -> Tally {
    let samples = samples();
    let mut mutants = Vec::new();
    let mut random = Random(seed);
    for sample in &samples {
        let bytes = &sample.files[sample.file].1;
        let fields = fields(bytes);
        assert!(fields.len() > 150, "{}: {}", sample.id, fields.len());
        let single = fields.iter().flat_map(|field| {
            values(bytes, field).into_iter().map(move |value| vec![(field.clone(), value)])
        });
        mutants.extend(single.map(|changes| Mutant { sample, changes }));
        for _ in 0..pairs {
            let change = |random: &mut Random| {
                let field = fields[random.below(fields.len())].clone();
                let values = values(bytes, &field);
                let value = values[random.below(values.len())];
                (field, value)
            };
            let changes = (0..2 + random.below(3)).map(|_| change(&mut random)).collect();
            mutants.push(Mutant { sample, changes });
        }
    }
    let first = usize::try_from(seed).unwrap_or(0) % step;
    let mutants: Vec<Mutant<'_>> = mutants.into_iter().skip(first).step_by(step).collect();
    let watch = Watch::new();
    note_panics();
    let tallies: Vec<Tally> = mutants
        .par_iter()
        .map(|mutant| {
            let mut tally = Tally::default();
            let name = mutant.name();
            watch.during(&name, || commands(&mutant.files(), mutant.sample.file, &mut tally));
            tally
        })
        .collect();
    let panics = PANICS.lock().expect("no panic").clone();
    assert!(panics.is_empty(), "{} of {} panic:\n{}", panics.len(), mutants.len(), panics.join("\n"));
    assert!(peak() < MEMORY_LIMIT, "{} MB of memory", peak() >> 20);
    tallies.into_iter().fold(Tally::default(), |sum, tally| Tally {
        files: sum.files + tally.files,
        reports: sum.reports + tally.reports,
        errors: sum.errors + tally.errors,
    })
}

#[test]
fn sound_files_are_reports() {
    for sample in samples() {
        let mut tally = Tally::default();
        commands(&sample.files, sample.file, &mut tally);
        // An object can be neither run nor replaced; libraries are also examined alone.
        assert!(tally.reports >= 3, "{}: {tally:?}", sample.id);
    }
}

#[test]
fn a_file_with_wild_fields_is_a_report_or_an_error() {
    let tally = try_all(37, 1, 200);
    assert!(tally.files > 2000 && tally.errors > 1000 && tally.reports > 1000, "{tally:?}");
}

/// The full test, which takes several minutes:
/// `SEED=7 cargo test --test hostile_elf -- --ignored`.
#[test]
#[ignore = "it takes some minutes; another test tries a part of the same files"]
fn all_files_with_wild_fields() {
    let number = |name: &str| std::env::var(name).ok().and_then(|value| value.parse().ok());
    let tally = try_all(
        number("STEP").and_then(|step| usize::try_from(step).ok()).unwrap_or(1),
        number("SEED").unwrap_or(0),
        2000,
    );
    println!("{tally:?}, {} MB", peak() >> 20);
}
