//! Requests and answers, even if the process dies in between.

use std::ops::Range;

use serde_json::Value;
use sframe_protocol::{
    Answer, Backtrace, Hello, Hex, Image, MAX_LINE, MAX_READ, Open, Read, Reply, Request, RequestHello,
    SectionAnswer, SectionQuestion, Stop, Unmapped, VERSION,
};
use sframe_vectors::Unreadable;
use sframe_vectors::words::of_json_message;

use super::command::{CommandLine, ExternalError, RESTARTS};
use super::process::{Fault, Process, read_at};
use crate::examine::stop::StopRequest;
use crate::vocabulary::Verdict;
use crate::vocabulary::suggest::quoted_list;

/// What has come or gone.
pub(super) enum Came {
    /// An image, or code with a section of its own.
    In(Image),
    /// What came with these addresses last.
    Out(Unmapped),
}

/// The result of a question about a section.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SectionReply {
    /// The answer.
    Answer(SectionAnswer),
    /// An answer of which some pieces can't be read.
    Partly(SectionAnswer, Unreadable),
    /// Why the unwinder can't read such a section.
    Unsupported(String),
    /// The unwinder's failure.
    Fault(Fault),
}

/// Reads the program's memory at each of the requested stops.
pub(super) type ReadMemory<'r> = dyn Fn(usize, u64, u32) -> Option<Vec<u8>> + 'r;

/// An unwinder that is restarted whenever it fails.
pub(super) struct Session<'s> {
    command: &'s CommandLine,
    open: Option<Open>,
    process: Option<Process>,
    next_id: u64,
    pub(super) hello: Hello,
    pub(super) restarts: u32,
    /// The maximum number of restarts.
    limit: u32,
    silences: u32,
    /// How the last answer was malformed, and how many in a row were so.
    malformed: (String, u32),
    /// Faults that did not reappear when each stop was requested alone.
    pub(super) unplaced: Vec<Fault>,
    /// Asks not to wait any longer.
    stop: StopRequest,
}

impl<'s> Session<'s> {
    /// Starts an unwinder: with a program, or otherwise for sections only.
    pub(super) fn start(
        command: &'s CommandLine,
        open: Option<Open>,
        stop: StopRequest,
    ) -> Result<Self, ExternalError> {
        let hello = Hello::new("", "", "");
        let mut session = Self {
            command,
            open,
            process: None,
            next_id: 1,
            hello,
            restarts: 0,
            limit: RESTARTS,
            silences: 0,
            malformed: (String::new(), 0),
            unplaced: Vec::new(),
            stop,
        };
        session.begin()?;
        Ok(session)
    }

    fn begin(&mut self) -> Result<(), ExternalError> {
        let CommandLine { words, timeout, .. } = self.command;
        self.process = None;
        let mut start = Process::start("the unwinder", words, *timeout, MAX_LINE).map_err(|error| {
            ExternalError::Start { program: words.first().cloned().unwrap_or_default(), error }
        })?;
        start.stop = self.stop.clone();
        self.process = Some(start);
        let bench = concat!("sframe-testbench ", env!("CARGO_PKG_VERSION")).to_owned();
        let request = RequestHello { protocol: VERSION, bench };
        let (id, line) = self.send_hello(request).map_err(|fault| self.failure(fault))?;
        // Another version may have other keys.
        let theirs = serde_json::from_slice::<Value>(&line).ok();
        let theirs = theirs.and_then(|answer| answer.pointer("/hello/protocol")?.as_u64());
        if let Some(theirs) = theirs.filter(|theirs| *theirs != u64::from(VERSION)) {
            return Err(ExternalError::Version { theirs });
        }
        let answer = self.process().and_then(|process| process.read::<Answer>(&line));
        let answer = answer.and_then(|answer| is_for(id, &answer).map(|()| answer));
        let answer = answer.map_err(|fault| self.failure(fault))?;
        let hello = answer.hello.ok_or_else(|| Fault::bad_answer("no `hello` in the answer to `hello`"))?;
        if hello.name.trim().is_empty() {
            return Err(Fault::bad_answer("`name` is empty in the answer to `hello`").into());
        }
        self.hello = hello;
        if let Some(open) = self.open.clone() {
            let answer = self.request(Request { open: Some(open), ..Request::default() });
            let answer = answer.map_err(|fault| match self.failure(fault) {
                ExternalError::Fault(fault) => ExternalError::NotOpened(fault),
                error => error,
            })?;
            if let Some(reason) = answer.unsupported {
                return Err(ExternalError::Unsupported(refusal(reason)));
            }
        }
        Ok(())
    }

    /// What a fault means for the session: it is not the unwinder's fault if the run was ended.
    fn failure(&self, fault: Fault) -> ExternalError {
        if self.stop.reason().is_some() { ExternalError::Stopped } else { ExternalError::Fault(fault) }
    }

    /// Ends the process, and starts another.
    ///
    /// # Errors
    /// It has been started too often, or can't be started again.
    fn restart(&mut self, after: &Fault) -> Result<(), ExternalError> {
        loop {
            if let Some(process) = &mut self.process {
                process.kill();
            }
            self.process = None;
            if self.restarts >= self.limit {
                return Err(ExternalError::GivenUp(after.clone()));
            }
            self.restarts += 1;
            match self.begin() {
                // It may die in the handshake, too; the limit on restarts ends that.
                Err(ExternalError::Fault(_) | ExternalError::NotOpened(_)) => {}
                other => return other,
            }
        }
    }

    fn process(&mut self) -> Result<&mut Process, Fault> {
        self.process.as_mut().ok_or_else(|| Fault::bad_answer("no process"))
    }

    /// Introduces the bench. Returns the line that answers, and the number that it has to have.
    fn send_hello(&mut self, hello: RequestHello) -> Result<(u64, Vec<u8>), Fault> {
        let id = self.next_id;
        self.next_id += 1;
        let process = self.process()?;
        process.send(&Request { id, hello: Some(hello), ..Request::default() })?;
        let deadline = process.deadline();
        Ok((id, process.receive_line(deadline)?))
    }

    /// Sends a request that has one answer.
    fn request(&mut self, request: Request) -> Result<Answer, Fault> {
        let id = self.next_id;
        self.next_id += 1;
        let process = self.process()?;
        process.send(&Request { id, ..request })?;
        let deadline = process.deadline();
        let answer = process.receive(deadline)?;
        is_for(id, &answer)?;
        Ok(answer)
    }

    /// Tells the unwinder what has come, or what is not there any more. Returns why it can't follow that.
    ///
    /// # Errors
    /// It has failed, and can't be restarted. Otherwise one that is restarted is given what there is now.
    pub(super) fn change(&mut self, change: Came) -> Result<Option<String>, ExternalError> {
        let images = self.open.iter_mut().flat_map(|open| &mut open.images);
        let request = match change {
            Came::In(image) => {
                self.open.iter_mut().for_each(|open| open.images.push(image.clone()));
                Request { map: Some(image), ..Request::default() }
            }
            Came::Out(gone) => {
                let is_gone = |image: &Image| (image.start, image.end) == (gone.start, gone.end);
                let last = images.enumerate().filter(|(_, image)| is_gone(image)).map(|(at, _)| at).last();
                if let (Some(open), Some(last)) = (&mut self.open, last) {
                    open.images.remove(last);
                }
                Request { unmap: Some(gone), ..Request::default() }
            }
        };
        let has_come = request.map.is_some();
        match self.request(request) {
            Ok(answer) => {
                if answer.unsupported.is_some() && has_come {
                    self.open.iter_mut().for_each(|open| drop(open.images.pop()));
                }
                Ok(answer.unsupported.map(refusal))
            }
            Err(_) if self.stop.reason().is_some() => Err(ExternalError::Stopped),
            Err(fault) => {
                let what = if has_come { "map" } else { "unmap" };
                let message = format!("{}, where `{what}` was to be answered", fault.message);
                self.unplaced.push(Fault { message, ..fault.clone() });
                self.restart(&fault)?;
                Ok(None)
            }
        }
    }

    /// Asks about a section. Each question may cost a restart, so that only
    /// timeouts are counted: they take long.
    ///
    /// # Errors
    /// The unwinder can't be restarted, or timed out too often.
    pub(super) fn section(&mut self, question: SectionQuestion) -> Result<SectionReply, ExternalError> {
        self.limit = self.restarts + RESTARTS;
        let exchanged = self.exchange_section(question);
        // Its process may have been ended, too.
        if self.stop.reason().is_some() {
            return Err(ExternalError::Stopped);
        }
        let fault = match exchanged {
            Ok((id, answer)) => match read_section(id, answer) {
                Ok(reply) => {
                    self.malformed.1 = 0;
                    return Ok(reply);
                }
                Err(why) => {
                    self.count_malformed(&why, &why)?;
                    let message = format!("not an answer of the protocol: {why}");
                    return Ok(SectionReply::Fault(Fault::bad_answer(message)));
                }
            },
            Err(fault) => fault,
        };
        if fault.verdict == Verdict::BadAnswer {
            self.count_malformed(NO_LINE, &fault.message)?;
        }
        self.silences += u32::from(fault.verdict == Verdict::TimedOut);
        if self.silences > RESTARTS {
            return Err(ExternalError::GivenUp(fault));
        }
        self.restart(&fault)?;
        Ok(SectionReply::Fault(fault))
    }

    /// Sends a question about a section. Returns the answer with the number that it has to have.
    fn exchange_section(&mut self, question: SectionQuestion) -> Result<(u64, Value), Fault> {
        let id = self.next_id;
        self.next_id += 1;
        let process = self.process()?;
        process.send(&Request { id, section: Some(question), ..Request::default() })?;
        let deadline = process.deadline();
        Ok((id, process.receive(deadline)?))
    }

    /// Counts answers in a row that are malformed in the same way. After one that is JSON, but not of the protocol, the
    /// process can go on: the next answer has its own line.
    ///
    /// # Errors
    /// There are so many that no others are to be expected.
    fn count_malformed(&mut self, how: &str, why: &str) -> Result<(), ExternalError> {
        let count = count_alike(&mut self.malformed, how);
        if count >= SAME_MALFORMED { Err(ExternalError::Malformed(why.to_owned())) } else { Ok(()) }
    }

    /// Asks for walks. `got` is called for each stop in order, with the answer or
    /// the failure at this stop.
    ///
    /// If a process dies or stops answering, any of the unanswered stops may be the
    /// cause: each of them is requested again, alone.
    ///
    /// # Errors
    /// The unwinder had to be restarted too often, or its answers are malformed again and again.
    pub(super) fn unwind(
        &mut self,
        stops: &[Stop],
        read: &ReadMemory<'_>,
        got: &mut dyn FnMut(usize, Result<Backtrace, Fault>),
    ) -> Result<(), ExternalError> {
        let mut next = 0;
        // Up to here each stop is requested alone, to find the cause.
        let mut alone_until = 0;
        let mut suspect = None;
        while next < stops.len() {
            let range = next..if next < alone_until { next + 1 } else { stops.len() };
            let answered = self.exchange(range.clone(), stops, read, &mut |answer| {
                got(next, answer);
                next += 1;
            });
            if self.malformed.1 >= SAME_MALFORMED {
                return Err(ExternalError::Malformed(self.malformed.0.clone()));
            }
            if let Err(fault) = answered {
                if self.stop.reason().is_some() {
                    return Err(ExternalError::Stopped);
                }
                if let Some(why) = &fault.malformed {
                    self.count_malformed(why, why)?;
                }
                let is_certain = range.len() == 1 || fault.verdict == Verdict::BadAnswer;
                let restarted = self.restart(&fault);
                if is_certain {
                    got(next, Err(fault));
                    next += 1;
                    (alone_until, suspect) = (0, None);
                } else {
                    (alone_until, suspect) = (range.end, Some(fault));
                }
                restarted?;
            }
            if next >= alone_until {
                self.unplaced.extend(suspect.take());
            }
        }
        Ok(())
    }

    /// Asks about some stops. `got` is called for each that is answered. Answers in a row that are malformed in the same
    /// way are counted, and the rest is not waited for once there are enough.
    fn exchange(
        &mut self,
        range: Range<usize>,
        stops: &[Stop],
        read: &ReadMemory<'_>,
        got: &mut dyn FnMut(Result<Backtrace, Fault>),
    ) -> Result<(), Fault> {
        let mut malformed = std::mem::take(&mut self.malformed);
        let answered = self.exchange_counting(range, stops, read, &mut malformed, got);
        self.malformed = malformed;
        answered
    }

    fn exchange_counting(
        &mut self,
        range: Range<usize>,
        stops: &[Stop],
        read: &ReadMemory<'_>,
        malformed: &mut (String, u32),
        got: &mut dyn FnMut(Result<Backtrace, Fault>),
    ) -> Result<(), Fault> {
        let id = self.next_id;
        self.next_id += 1;
        let first = range.start;
        let declares = self.hello.reliable;
        let process = self.process()?;
        process.send(&Unwind { id, unwind: &stops[range.clone()] })?;
        for expected in range.clone() {
            // What it requests in between does not extend its time.
            let deadline = process.deadline();
            let answer = loop {
                let answer = process.receive(deadline)?;
                is_for(id, &answer)?;
                let Some(wanted) = answer.read else { break answer };
                let Read { stop, address, size } = wanted;
                let stop = first.checked_add(stop).filter(|stop| range.contains(stop));
                let (Some(stop), 1..=MAX_READ) = (stop, size) else {
                    return Err(Fault::bad_answer(format!(
                        "it wants to read {size} bytes at stop {}, of {} stops",
                        wanted.stop,
                        range.len()
                    )));
                };
                process.send(&Reply { memory: read(stop, address.0, size).map(Hex) })?;
            };
            match answer {
                Answer { stop: Some(stop), frames: Some(frames), end: Some(end), reliable, .. }
                    if first + stop == expected && reliable.is_some() == declares =>
                {
                    let backtrace = Backtrace { frames, end, reliable };
                    match backtrace.frames.is_empty() {
                        false => {
                            malformed.1 = 0;
                            got(Ok(backtrace));
                        }
                        // Its line is whole: the process can go on.
                        true => {
                            let count = count_alike(malformed, NO_FRAME);
                            let malformed = Some(NO_FRAME.to_owned());
                            got(Err(Fault { malformed, ..Fault::bad_answer(NO_FRAME) }));
                            if count >= SAME_MALFORMED {
                                return Ok(());
                            }
                        }
                    }
                }
                Answer { stop: Some(stop), frames: Some(_), end: Some(_), reliable, .. }
                    if first + stop == expected =>
                {
                    let why = match reliable {
                        None => "the answer to a stop has no `reliable`, which `hello` has promised",
                        Some(_) => "the answer to a stop has `reliable`, which `hello` has not promised",
                    };
                    return Err(Fault { malformed: Some(why.to_owned()), ..Fault::bad_answer(why) });
                }
                Answer { stop, frames, end, .. } if stop.is_none_or(|stop| first + stop == expected) => {
                    let missing =
                        [("stop", stop.is_none()), ("frames", frames.is_none()), ("end", end.is_none())];
                    let missing =
                        missing.into_iter().filter(|(_, is_missing)| *is_missing).map(|(key, _)| key);
                    let why = format!("the answer to a stop has no {}", quoted_list(missing));
                    return Err(Fault { malformed: Some(why.clone()), ..Fault::bad_answer(why) });
                }
                Answer { stop, frames, end, .. } => {
                    let present = |is: bool| if is { "is there" } else { "is missing" };
                    let why = format!(
                        "the answer to stop `{}` was expected, and it is to stop `{}`; `frames` {}, `end` {}",
                        expected - first,
                        stop.unwrap_or_default(),
                        present(frames.is_some()),
                        present(end.is_some())
                    );
                    return Err(Fault { malformed: Some(why.clone()), ..Fault::bad_answer(why) });
                }
            }
        }
        Ok(())
    }
}

/// [`Request::unwind`], without a copy of the stops.
#[derive(serde::Serialize)]
struct Unwind<'s> {
    id: u64,
    unwind: &'s [Stop],
}

/// After how many answers in a row that are malformed in the same way a reader is not asked any more.
const SAME_MALFORMED: u32 = 3;

/// How a backtrace is malformed that has not even the frame of its stop.
const NO_FRAME: &str = "`frames` is empty: the first frame is the one that executes at the PC of the stop";

/// How an answer is malformed that is no JSON, or has no end, whatever it says.
const NO_LINE: &str = "not a line of JSON";

/// Counts one more answer that is malformed, and returns how many in a row are so in the same way.
fn count_alike((last, count): &mut (String, u32), how: &str) -> u32 {
    if !is_same_way(last, how) {
        (*last, *count) = (how.to_owned(), 0);
    }
    *count += 1;
    *count
}

/// Whether two answers are malformed in the same way: what is quoted may be another value each time.
pub(super) fn is_same_way(one: &str, other: &str) -> bool {
    one.split('`').step_by(2).eq(other.split('`').step_by(2))
}

/// The answer to a question about a section.
#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct AboutSection {
    id: u64,
    unsupported: Option<String>,
    section: Option<Value>,
}

fn read_section(id: u64, answer: Value) -> Result<SectionReply, String> {
    let AboutSection { id: theirs, unsupported, section } =
        read_at(answer).map_err(|(key, error)| key + &of_json_message(&error))?;
    if theirs != id {
        return Err("an answer to another request".to_owned());
    }
    match (section, unsupported) {
        (Some(section), None) => {
            let (answer, unreadable) = SectionAnswer::read(section)?;
            Ok(match unreadable.is_empty() {
                true => SectionReply::Answer(answer),
                false => SectionReply::Partly(answer, unreadable),
            })
        }
        (None, Some(reason)) => Ok(SectionReply::Unsupported(refusal(reason))),
        _ => Err("neither `section` nor `unsupported` in the answer to `section`".to_owned()),
    }
}

/// Why the unwinder refuses, in its words, or that it has none.
fn refusal(reason: String) -> String {
    if reason.trim().is_empty() { "it gave no reason".to_owned() } else { reason }
}

fn is_for(id: u64, answer: &Answer) -> Result<(), Fault> {
    if answer.id == id {
        return Ok(());
    }
    Err(Fault::bad_answer(format!("an answer to request {}, where {id} was asked", answer.id)))
}
