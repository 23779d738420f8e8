//! The loop of an unwinder.

use std::io::{self, BufRead, BufReader, BufWriter, Read as _, StdinLock, StdoutLock, Write};

use serde::Serialize;

use crate::message::{Answer, Backtrace, Hello, Image, MAX_READ, Open, Read, Reply, Request, Stop, Unmapped};
use sframe_vectors::{Address, ByteOrder, SectionAnswer, SectionQuestion};

/// An unwinder under test.
pub trait Unwinder {
    /// Returns its identity.
    fn hello(&self) -> Hello;

    /// Receives the images of the process whose stacks will be walked. They replace those of an
    /// earlier call.
    ///
    /// # Errors
    /// Returns why it can't walk the stacks of such a process: the case is skipped.
    fn open(&mut self, open: &Open) -> Result<(), String>;

    /// Receives an image that the program has loaded, or code for which it has registered a section, if
    /// [`Hello::follows`] says so. Where it covers addresses of others, it counts until it is not there any more.
    ///
    /// # Errors
    /// Returns why it can't follow that: it is asked nothing until it is not there any more.
    fn map(&mut self, image: &Image) -> Result<(), String> {
        let _ = image;
        Err("images that come and go are not followed".to_owned())
    }

    /// Learns what is not there any more: the last image that came with these addresses.
    ///
    /// # Errors
    /// Returns why it can't follow that.
    fn unmap(&mut self, unmapped: Unmapped) -> Result<(), String> {
        let _ = unmapped;
        Err("images that come and go are not followed".to_owned())
    }

    /// Walks a stack.
    fn unwind(&mut self, stop: &Stop, memory: &mut Memory<'_>) -> Backtrace;

    /// Answers questions about a section, if [`Hello::section`] says so.
    ///
    /// # Errors
    /// Returns why it can't read such a section: the vector is skipped.
    fn section(&mut self, question: &SectionQuestion) -> Result<SectionAnswer, String> {
        let _ = question;
        Err("no answers about sections".to_owned())
    }
}

type Input<'s> = BufReader<StdinLock<'s>>;
type Output<'s> = BufWriter<StdoutLock<'s>>;

/// The memory of the program at a stop: the snapshot, and what is requested in addition.
pub struct Memory<'m> {
    id: u64,
    index: usize,
    stop: &'m Stop,
    big_endian: bool,
    channel: Option<(&'m mut Input<'static>, &'m mut Output<'static>)>,
    /// The last piece that was requested, and its address.
    piece: (u64, Vec<u8>),
    error: Option<io::Error>,
}

/// The number of bytes to request at once, if they exist.
const PIECES: [u32; 2] = [MAX_READ, 4096];

impl Memory<'_> {
    /// Returns the 8 bytes at an address as a number, or `None` if they can't be read.
    pub fn read_u64(&mut self, address: u64) -> Option<u64> {
        let mut bytes = [0; 8];
        self.read(address, &mut bytes)
            .then(|| if self.big_endian { u64::from_be_bytes(bytes) } else { u64::from_le_bytes(bytes) })
    }

    /// Fills a buffer from an address on. Returns false if it can't be read.
    pub fn read(&mut self, address: u64, buffer: &mut [u8]) -> bool {
        let snapshot = &self.stop.stack;
        if copy(snapshot.address.0, &snapshot.bytes.0, address, buffer)
            || copy(self.piece.0, &self.piece.1, address, buffer)
        {
            return true;
        }
        let Ok(size) = u32::try_from(buffer.len()) else { return false };
        // A full piece, or only what is needed if the region ends before that.
        for size in PIECES.into_iter().filter(|piece| *piece > size).chain([size]) {
            if let Some(bytes) = self.ask(address, size) {
                self.piece = (address, bytes);
                return copy(self.piece.0, &self.piece.1, address, buffer);
            }
        }
        false
    }

    fn ask(&mut self, address: u64, size: u32) -> Option<Vec<u8>> {
        if size > MAX_READ || self.error.is_some() {
            return None;
        }
        let (input, output) = self.channel.as_mut()?;
        let read = Read { stop: self.index, address: Address(address), size };
        let answer = Answer { id: self.id, read: Some(read), ..Answer::default() };
        let reply = send(output, &answer).and_then(|()| {
            output.flush()?;
            let mut line = String::new();
            input.read_line(&mut line)?;
            Ok(serde_json::from_str::<Reply>(&line)?)
        });
        match reply {
            Ok(Reply { memory }) => memory.map(|bytes| bytes.0),
            Err(error) => {
                self.error = Some(error);
                None
            }
        }
    }
}

fn copy(start: u64, bytes: &[u8], address: u64, buffer: &mut [u8]) -> bool {
    let offset = address.checked_sub(start).and_then(|offset| usize::try_from(offset).ok());
    let range = offset.and_then(|offset| Some(offset..offset.checked_add(buffer.len())?));
    match range.and_then(|range| bytes.get(range)) {
        Some(found) => {
            buffer.copy_from_slice(found);
            true
        }
        None => false,
    }
}

fn send(output: &mut Output<'_>, message: &impl Serialize) -> io::Result<()> {
    serde_json::to_writer(&mut *output, message)?;
    output.write_all(b"\n")
}

/// Answers requests on standard input, until it ends.
///
/// # Errors
/// A stream is broken, or a request can't be read.
pub fn serve(mut unwinder: impl Unwinder) -> io::Result<()> {
    let mut input = BufReader::with_capacity(1 << 16, io::stdin().lock());
    let mut output = BufWriter::with_capacity(1 << 16, io::stdout().lock());
    let mut big_endian = false;
    let mut line = Vec::new();
    loop {
        line.clear();
        if input.by_ref().take(1 << 32).read_until(b'\n', &mut line)? == 0 {
            return Ok(());
        }
        let Request { id, hello, open, unwind, section, map, unmap } = serde_json::from_slice(&line)?;
        let answer = Answer { id, ..Answer::default() };
        if hello.is_some() {
            send(&mut output, &Answer { hello: Some(unwinder.hello()), ..answer })?;
        } else if let Some(open) = open {
            big_endian = open.endian == ByteOrder::Big;
            send(&mut output, &Answer { unsupported: unwinder.open(&open).err(), ..answer })?;
        } else if let Some(image) = map {
            send(&mut output, &Answer { unsupported: unwinder.map(&image).err(), ..answer })?;
        } else if let Some(unmapped) = unmap {
            send(&mut output, &Answer { unsupported: unwinder.unmap(unmapped).err(), ..answer })?;
        } else if let Some(stops) = unwind {
            for (index, stop) in stops.iter().enumerate() {
                let channel = Some((&mut input, &mut output));
                let piece = (0, Vec::new());
                let mut memory = Memory { id, index, stop, big_endian, channel, piece, error: None };
                let Backtrace { frames, end, reliable } = unwinder.unwind(stop, &mut memory);
                if let Some(error) = memory.error {
                    return Err(error);
                }
                let (frames, end) = (Some(frames), Some(end));
                send(&mut output, &Answer { stop: Some(index), frames, end, reliable, ..answer.clone() })?;
            }
        } else if let Some(question) = section {
            let (section, unsupported) = match unwinder.section(&question) {
                Ok(section) => (Some(section), None),
                Err(reason) => (None, Some(reason)),
            };
            send(&mut output, &Answer { section, unsupported, ..answer })?;
        } else {
            return Err(io::Error::other(format!("request {id} is of no known kind")));
        }
        output.flush()?;
    }
}
