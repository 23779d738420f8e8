//! A process that uses the protocol, and everything that can go wrong with it.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, channel, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{Builder, sleep};
use std::time::{Duration, Instant};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::error::Category;
use sframe_vectors::words::of_json_message;
use wait_timeout::ChildExt as _;

use crate::examine::stop::StopRequest;
use crate::process::address_space;
use crate::process::child;
use crate::vocabulary::Verdict;

/// The number of bytes of its latest standard error that are kept.
const STANDARD_ERROR: usize = 4096;
/// The number of characters of it, or of a bad answer, that are shown.
const SHOWN: usize = 300;
/// While more bytes than these wait to be read by the process, nothing more is sent.
const MAX_WAITING: usize = 64 << 20;
/// How long a request to end the run may go unnoticed.
const ATTENTION: Duration = Duration::from_millis(100);
/// The time that a process has to end when asked to.
const FAREWELL: Duration = Duration::from_millis(500);

/// A failure of an unwinder.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Fault {
    /// [`Verdict::Crashed`], [`Verdict::TimedOut`] or [`Verdict::BadAnswer`].
    pub verdict: Verdict,
    /// The failure, and what the unwinder wrote to standard error.
    pub message: String,
    /// Whether its last words indicate that it ran out of memory.
    pub out_of_memory: bool,
    /// Why an answer is none of the protocol, without the answer itself.
    pub malformed: Option<String>,
}

impl Fault {
    pub(super) fn bad_answer(message: impl Into<String>) -> Self {
        Self { verdict: Verdict::BadAnswer, message: message.into(), out_of_memory: false, malformed: None }
    }
}

/// Reads an answer.
///
/// # Errors
/// It is none: the key that is wrong, as text for before the message, and what is wrong.
fn answer_in<T: DeserializeOwned>(line: &[u8]) -> Result<T, (String, serde_json::Error)> {
    let mut json = serde_json::Deserializer::from_slice(line);
    let answer = read_at(&mut json)?;
    json.end().map(|()| answer).map_err(|error| (String::new(), error))
}

/// Reads a part of an answer, likewise.
pub(super) fn read_at<'d, T: Deserialize<'d>, D: Deserializer<'d>>(
    answer: D,
) -> Result<T, (String, D::Error)> {
    serde_path_to_error::deserialize(answer).map_err(|error| {
        let path = error.path().to_string();
        let said = error.inner().to_string();
        // Such a message names the key itself.
        let unknown = said.strip_prefix("unknown field `").and_then(|said| said.split('`').next());
        let path = unknown.and_then(|key| path.strip_suffix(key)).unwrap_or(&path).trim_end_matches('.');
        // What is wrong with the whole answer has no key.
        let key = if path.is_empty() { String::new() } else { format!("`{path}`: ") };
        (key, error.into_inner())
    })
}

/// A line that the process wrote, without its line end.
enum Line {
    Whole(Vec<u8>),
    TooLong,
}

/// The end of what was written to standard error.
#[derive(Default)]
struct Tail {
    bytes: Vec<u8>,
    complete: bool,
}

/// An unwinder's process, or a worker's. Dropping it ends the process.
pub struct Process {
    /// Its name in messages.
    what: &'static str,
    child: Child,
    /// Data for standard input. A thread writes it, so that a process that does not
    /// read can't block the bench.
    requests: Option<Sender<Vec<u8>>>,
    /// The number of bytes that are not yet written.
    waiting: Arc<AtomicUsize>,
    lines: Receiver<Line>,
    tail: Arc<Mutex<Tail>>,
    timeout: Duration,
    longest: usize,
    /// Asks not to wait for it any longer.
    pub stop: StopRequest,
}

/// Says which program could not be started, if it is the bench itself: its user has not named it.
fn of(program: &str, error: std::io::Error) -> std::io::Error {
    match program.starts_with("/proc/") {
        true => std::io::Error::new(error.kind(), format!("{program}: {error}; /proc has to be mounted")),
        false => error,
    }
}

impl Process {
    /// Starts a process. `timeout` is the time limit for each line, and `longest`
    /// the maximum length of a line in bytes.
    pub fn start(
        what: &'static str,
        words: &[String],
        timeout: Duration,
        longest: usize,
    ) -> std::io::Result<Self> {
        let (program, arguments) = words.split_first().ok_or(std::io::ErrorKind::InvalidInput)?;
        let mut command = Command::new(program);
        command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        // A separate group, so that its children end with it.
        command.process_group(0);
        // AddressSanitizer maps terabytes, but touches little of them.
        let mut child = address_space::unlimited(|| command.spawn()).map_err(|error| of(program, error))?;
        let (requests, to_write) = channel();
        let waiting = Arc::new(AtomicUsize::new(0));
        // A process that writes unprompted is blocked until the bench reads.
        let (read, lines) = sync_channel(1);
        let tail = Arc::new(Mutex::new(Tail::default()));
        if let Some(stdin) = child.stdin.take() {
            let waiting = waiting.clone();
            Builder::new()
                .name("requests".into())
                .spawn(move || write_requests(stdin, &to_write, &waiting))?;
        }
        if let Some(stdout) = child.stdout.take() {
            Builder::new().name("answers".into()).spawn(move || read_lines(stdout, longest, &read))?;
        }
        if let Some(stderr) = child.stderr.take() {
            let tail = tail.clone();
            Builder::new().name("diagnostics".into()).spawn(move || read_tail(stderr, &tail))?;
        }
        Ok(Self {
            what,
            child,
            requests: Some(requests),
            waiting,
            lines,
            tail,
            timeout,
            longest,
            stop: StopRequest::default(),
        })
    }

    /// Sends a message.
    pub fn send(&self, message: &impl Serialize) -> Result<(), Fault> {
        let mut line = serde_json::to_vec(message)
            .map_err(|error| Fault::bad_answer(format!("the request can't be written: {error}")))?;
        line.push(b'\n');
        if self.waiting.fetch_add(line.len(), Ordering::Relaxed) > MAX_WAITING {
            return Err(
                self.fault(Verdict::BadAnswer, "it sends requests, but does not read the answers".to_owned())
            );
        }
        // If the process is gone, that shows when its answer is read.
        if let Some(requests) = &self.requests {
            let _ = requests.send(line);
        }
        Ok(())
    }

    /// Returns when the next line is due.
    pub fn deadline(&self) -> Instant {
        Instant::now() + self.timeout
    }

    /// Returns the next answer.
    pub fn receive<T: DeserializeOwned>(&mut self, deadline: Instant) -> Result<T, Fault> {
        let line = self.receive_line(deadline)?;
        self.read(&line)
    }

    /// Reads the answer in a line.
    ///
    /// # Errors
    /// It is none.
    pub fn read<T: DeserializeOwned>(&self, line: &[u8]) -> Result<T, Fault> {
        answer_in(line).map_err(|(key, error)| {
            let start = shown(&line[..line.len().min(SHOWN)]);
            let why = key + &of_json_message(&error);
            // What the unwinder prints among its answers is no JSON at all.
            let (what, malformed) = match error.classify() {
                Category::Data => (format!("not an answer of the protocol ({why}): {start}"), why.clone()),
                Category::Io | Category::Syntax | Category::Eof => {
                    let what = format!("this line is no answer: `{}` ({why})", start.replace('`', "'"));
                    (what.clone(), what)
                }
            };
            Fault { malformed: Some(malformed), ..self.fault(Verdict::BadAnswer, what) }
        })
    }

    /// Receives a line, whatever is in it.
    ///
    /// # Errors
    /// There is none, or it is too long.
    pub fn receive_line(&mut self, deadline: Instant) -> Result<Vec<u8>, Fault> {
        match self.next_line(deadline) {
            Ok(Line::Whole(line)) => Ok(line),
            Ok(Line::TooLong) => {
                Err(self.fault(Verdict::BadAnswer, format!("a line of more than {} bytes", self.longest)))
            }
            Err(RecvTimeoutError::Timeout) if self.stop.reason().is_some() => {
                Err(self.fault(Verdict::TimedOut, "it was silent when the run was ended".to_owned()))
            }
            Err(RecvTimeoutError::Timeout) => {
                let seconds = self.timeout.as_secs_f64();
                Err(self.fault(Verdict::TimedOut, format!("no answer within {seconds} s")))
            }
            Err(RecvTimeoutError::Disconnected) => {
                let how = match self.wait(FAREWELL) {
                    Some(status) => format!("{} has ended: {status}", self.what),
                    None => format!("{} has closed its standard output", self.what),
                };
                Err(self.fault(Verdict::Crashed, how))
            }
        }
    }

    /// Waits for a line, until it is due or nobody wants it any longer.
    fn next_line(&self, deadline: Instant) -> Result<Line, RecvTimeoutError> {
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let line = self.lines.recv_timeout(left.min(ATTENTION));
            let is_over = left <= ATTENTION || self.stop.reason().is_some();
            match line {
                Err(RecvTimeoutError::Timeout) if !is_over => {}
                line => return line,
            }
        }
    }

    fn fault(&self, verdict: Verdict, what: String) -> Fault {
        // Its last output may not have arrived yet.
        let mut message = what;
        for _ in 0..20 {
            let tail = self.tail.lock().unwrap_or_else(PoisonError::into_inner);
            if tail.complete || verdict != Verdict::Crashed {
                break;
            }
            drop(tail);
            sleep(Duration::from_millis(5));
        }
        let tail = self.tail.lock().unwrap_or_else(PoisonError::into_inner);
        let mut out_of_memory = false;
        if !tail.bytes.is_empty() {
            let start = tail.bytes.len().saturating_sub(SHOWN);
            let words = shown(&tail.bytes[start..]);
            out_of_memory = says_no_memory(&words);
            message += &format!("; standard error: {words}");
        }
        Fault { verdict, message, out_of_memory, malformed: None }
    }

    fn wait(&mut self, at_most: Duration) -> Option<ExitStatus> {
        self.child.wait_timeout(at_most).ok().flatten()
    }

    /// Whether it has ended on its own.
    pub fn has_ended(&mut self) -> bool {
        !matches!(self.child.try_wait(), Ok(None))
    }

    /// Ends the process, whatever it is doing.
    pub fn kill(&mut self) {
        self.requests = None;
        child::end(&mut self.child);
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.requests = None;
        self.wait(FAREWELL);
        self.kill();
    }
}

/// Whether a process wrote that it is out of memory. Rust's runtime and Unicorn end
/// it without any other sign.
fn says_no_memory(standard_error: &str) -> bool {
    standard_error.contains("allocat")
}

/// Returns text for a message, with its lines joined.
pub(super) fn shown(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(&bytes[..bytes.len().min(SHOWN)]);
    let lines: Vec<&str> = text.lines().map(str::trim_end).filter(|line| !line.is_empty()).collect();
    lines.join(" | ")
}

fn write_requests(mut stdin: ChildStdin, requests: &Receiver<Vec<u8>>, waiting: &AtomicUsize) {
    for request in requests {
        waiting.fetch_sub(request.len(), Ordering::Relaxed);
        if stdin.write_all(&request).and_then(|()| stdin.flush()).is_err() {
            break;
        }
    }
}

/// Passes on lines as they arrive, until one is too long or has no end.
fn read_lines(stdout: impl Read, longest: usize, lines: &SyncSender<Line>) {
    let mut stdout = BufReader::with_capacity(1 << 16, stdout);
    loop {
        let mut line = Vec::new();
        let limit = longest as u64 + 1;
        if (&mut stdout).take(limit).read_until(b'\n', &mut line).is_err() {
            return;
        }
        let too_long = line.len() > longest;
        if line.last() != Some(&b'\n') && !too_long {
            return;
        }
        line.pop();
        let line = if too_long { Line::TooLong } else { Line::Whole(line) };
        if lines.send(line).is_err() || too_long {
            return;
        }
    }
}

fn read_tail(mut stderr: impl Read, tail: &Mutex<Tail>) {
    let mut buffer = [0; STANDARD_ERROR];
    while let Ok(count @ 1..) = stderr.read(&mut buffer) {
        let mut tail = tail.lock().unwrap_or_else(PoisonError::into_inner);
        tail.bytes.extend_from_slice(&buffer[..count]);
        let excess = tail.bytes.len().saturating_sub(STANDARD_ERROR);
        tail.bytes.drain(..excess);
    }
    tail.lock().unwrap_or_else(PoisonError::into_inner).complete = true;
}
