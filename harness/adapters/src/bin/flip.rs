//! Sends sections with changed bytes to an unwinder that answers `section`, and
//! lists where it was stopped: `flip COMMAND COUNT SEED FILE...`. Each section
//! is that of one of the files, with one to three bytes changed; the questions
//! are about its original functions. The same seed makes the same sections.
//!
//! The exit status is 1 if the unwinder was ever stopped or silent.

use std::collections::BTreeMap;
use std::error::Error;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::process::{Child, Command, ExitCode, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use object::{Object, ObjectSection};
use sframe_protocol::{Request, RequestHello, VERSION};
use sframe_vectors::{Address, Hex, Question, SectionQuestion, engine};

/// The time limit for an answer.
const PATIENCE: Duration = Duration::from_secs(10);
/// The number of functions of a section for which look-ups are requested.
const FUNCTIONS: usize = 16;

/// Pseudo-random numbers: `SplitMix64`.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, bound: usize) -> usize {
        usize::try_from(self.next() % bound.max(1) as u64).unwrap_or(0)
    }
}

struct Unwinder {
    child: Child,
    lines: Receiver<String>,
}

impl Unwinder {
    fn start(command: &str) -> Result<Self, Box<dyn Error>> {
        let mut words = command.split_whitespace();
        let mut child = Command::new(words.next().ok_or("no command")?)
            .args(words)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()?;
        let stdout = child.stdout.take().ok_or("no standard output")?;
        let (send, lines) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                if send.send(line).is_err() {
                    break;
                }
            }
        });
        let mut unwinder = Self { child, lines };
        let hello = RequestHello { protocol: VERSION, bench: "flip".into() };
        unwinder.ask(&Request { id: 0, hello: Some(hello), ..Request::default() }).ok_or("no hello")?;
        Ok(unwinder)
    }

    /// Returns `None` if it doesn't answer.
    fn ask(&mut self, request: &Request) -> Option<String> {
        let mut line = serde_json::to_vec(request).ok()?;
        line.push(b'\n');
        let stdin = self.child.stdin.as_mut()?;
        stdin.write_all(&line).and_then(|()| stdin.flush()).ok()?;
        self.lines.recv_timeout(PATIENCE).ok()
    }

    /// Returns why it doesn't answer: the line on standard error that names a place.
    fn end(mut self) -> Result<String, Box<dyn Error>> {
        // A process that has closed its output ends soon; any other is silent.
        for _ in 0..100 {
            if self.child.try_wait()?.is_some() {
                break;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        if self.child.try_wait()?.is_none() {
            self.child.kill()?;
            self.child.wait()?;
            return Ok(format!("no answer within {} s", PATIENCE.as_secs()));
        }
        let mut errors = Vec::new();
        if let Some(stderr) = self.child.stderr.as_mut() {
            stderr.read_to_end(&mut errors)?;
        }
        let errors = String::from_utf8_lossy(&errors);
        let line = |with: &str| errors.lines().rev().find(|line| line.contains(with));
        let what = line("SUMMARY:").and_then(|line| line.split_whitespace().nth(2));
        let access = line(" of size ").and_then(|line| line.split_whitespace().next());
        let place = errors.lines().rev().find(|line| line.starts_with("in "));
        Ok(match (what, access, place) {
            (Some(what), access, Some(place)) => {
                format!("{what}{} {place}", access.map(|access| format!(" ({access})")).unwrap_or_default())
            }
            _ => line("runtime error")
                .or_else(|| line("Assertion"))
                .or_else(|| line("panicked"))
                .or_else(|| errors.lines().next_back())
                .unwrap_or("ended without a message")
                .to_owned(),
        })
    }
}

/// A section: its load address, its bytes, and look-ups in it.
fn section(file: &str) -> Option<SectionQuestion> {
    let bytes = std::fs::read(file).ok()?;
    let file = object::File::parse(&*bytes).ok()?;
    let section = file.section_by_name(".sframe")?;
    let data = section.data().ok().filter(|data| !data.is_empty())?;
    let address = Address(section.address());
    let mut question = SectionQuestion { address, bytes: Hex(data.to_vec()), ..SectionQuestion::default() };
    for fde in engine::answer(&question).fdes?.iter().take(FUNCTIONS) {
        let (Some(start), Some(size)) = (fde.start, fde.size) else { continue };
        for offset in [0, size / 2, size.saturating_sub(1)] {
            let pc = Address(start.0.wrapping_add(offset.into()));
            question.lookups.push(Question { pc, return_address: false });
        }
    }
    Some(question)
}

fn main() -> Result<ExitCode, Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [command, count, seed, files @ ..] = &arguments[..] else {
        return Err("flip COMMAND COUNT SEED FILE...".into());
    };
    let (count, mut random) = (count.parse::<u64>()?, Random(seed.parse()?));
    let mut unwinder = Unwinder::start(command)?;
    // The places where it was stopped: how often, and the first time.
    let mut stopped: BTreeMap<String, (u64, String)> = BTreeMap::new();
    let (mut id, mut rejected, mut without) = (0, 0, 0);
    while id < count {
        let file = files.get(random.below(files.len())).ok_or("no files")?;
        let Some(mut question) = section(file) else {
            without += 1;
            if without > 1000 + 10 * id {
                return Err("too few files have a section".into());
            }
            continue;
        };
        let mut changes = Vec::new();
        for _ in 0..=random.below(3) {
            // The header is a small part, but gets a third of the changes.
            let bytes = &mut question.bytes.0;
            let length = if random.below(3) == 0 { 28.min(bytes.len()) } else { bytes.len() };
            let (at, value) = (random.below(length), random.next().to_le_bytes()[0]);
            bytes[at] = value;
            changes.push(format!("[{at}]={value:#04x}"));
        }
        id += 1;
        let request = Request { id, section: Some(question), ..Request::default() };
        match unwinder.ask(&request) {
            Some(answer) => rejected += u64::from(answer.contains(r#""section":{"reject""#)),
            None => {
                let place = unwinder.end()?;
                let first = || (0, format!("{file} {}", changes.join(" ")));
                stopped.entry(place).or_insert_with(first).0 += 1;
                unwinder = Unwinder::start(command)?;
            }
        }
    }
    let times: u64 = stopped.values().map(|(times, _)| times).sum();
    println!("{count} sections: {rejected} rejected, {times} stopped it");
    for (place, (times, first)) in &stopped {
        println!("{times:6}  {place}\n        first: {first}");
    }
    Ok(if stopped.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
