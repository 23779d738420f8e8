//! What a program loads, and where.

use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::process::Pid;
use sframe_elf::file::{MAX_BYTES, read};

use super::abi::{self, executes};
use super::error::NativeError;
use super::maps::{self, Mapping, VDSO};
use super::memory::ProcessMemory;
use super::process::{Patience, Process};
use super::ptrace;
use super::registers::Words;
use super::threads::{Call, Stop, is_of};
use crate::address_space::{Memory as _, overlap};
use crate::image::Image;
use crate::images::Mapped;
use crate::options::{Native, Options};

/// What a run without an observer has shown.
#[derive(Clone, Debug)]
pub struct Surveyed {
    /// What is added to the addresses of the executable's file.
    pub bias: u64,
    /// The other images, in their order.
    pub images: Vec<Mapped>,
    /// What another run has to know.
    pub native: Native,
}

/// How long the program runs until it is asked whether to stop.
const ASKED_EVERY: Duration = Duration::from_millis(50);

/// Collects what is mapped.
struct Collected {
    bias: Option<u64>,
    images: Vec<(Mapped, Range<u64>)>,
    code: Vec<(PathBuf, Range<u64>)>,
    executable: PathBuf,
}

/// Runs a program, if it loads libraries, to see which, and where: without `is_stopped`, to its end. Runs with the same
/// options map the same files to the same addresses, mostly.
///
/// # Errors
/// The program is for another processor, or can't be started and traced.
pub fn survey(
    executable: &Path,
    image: &Image<'_>,
    options: &Options,
    is_stopped: &dyn Fn() -> bool,
) -> Result<Surveyed, NativeError> {
    executes(image.cpu)?;
    let mut process = Process::start(executable, options)?;
    let (images, code) = (Vec::new(), Vec::new());
    let path = executable.canonicalize().map_err(NativeError::Start)?;
    let mut collected = Collected { bias: None, images, code, executable: path };
    let of_maps = NativeError::of("what is mapped");
    let failed = NativeError::of("ptrace");
    collected.add(&process, image.bytes()).map_err(&of_maps)?;
    if image.interpreter.is_some() {
        let mut run = Running { process: &mut process, collected: &mut collected, image };
        run.finish(is_stopped).map_err(failed)?;
    }
    drop(process);
    let Collected { bias, images, code, .. } = collected;
    Ok(Surveyed {
        bias: bias.unwrap_or(image.bias),
        images: images.into_iter().map(|(image, _)| image).collect(),
        native: Native { executable: executable.to_owned(), code },
    })
}

impl Collected {
    /// Adds what is mapped to be executed, and is not known. Where two files have had the same addresses, the first counts.
    fn add(&mut self, process: &Process, executable: &[u8]) -> io::Result<()> {
        for Mapping { range, offset, name, .. } in
            maps::read(process.id)?.into_iter().filter(Mapping::is_code)
        {
            if self.code.iter().any(|(path, known)| (path, known) == (&name, &range)) {
                continue;
            }
            if name == self.executable {
                self.bias = self.bias.or_else(|| Image::bias_of(executable, range.start, offset));
                self.code.push((name, range));
                continue;
            }
            let bytes = match name == Path::new(VDSO) {
                true => {
                    let mut bytes = vec![0; usize::try_from(range.end - range.start).unwrap_or(0)];
                    let is_read = ProcessMemory::open(process.id)?.read(range.start, &mut bytes);
                    is_read.then_some(bytes)
                }
                // It may have been deleted since.
                false => read(&name, MAX_BYTES).ok(),
            };
            let Some(bytes) = bytes else { continue };
            let Some(bias) = Image::bias_of(&bytes, range.start, offset) else { continue };
            let Ok(all) = Image::parse_at(&bytes, bias).map(|image| image.range()) else { continue };
            let known = self.images.iter().find(|(_, known)| overlap(known, &all));
            match known {
                Some((known, _)) if (known.path.as_path(), known.bias) != (name.as_path(), bias) => continue,
                Some(_) => {}
                None => {
                    let mapped = Mapped { path: name.clone(), bytes: Arc::from(bytes), bias };
                    self.images.push((mapped, all));
                }
            }
            self.code.push((name, range));
        }
        Ok(())
    }
}

/// A program that stops at its system calls only.
struct Running<'r> {
    process: &'r mut Process,
    collected: &'r mut Collected,
    image: &'r Image<'r>,
}

impl Running<'_> {
    fn finish(&mut self, is_stopped: &dyn Fn() -> bool) -> io::Result<()> {
        ptrace::go_to_call(self.process.id, 0)?;
        let mut patience = Patience::default();
        let mut asked = Instant::now();
        while !self.process.threads.is_empty() {
            let mut has_stopped = false;
            if asked.elapsed() > ASKED_EVERY {
                asked = Instant::now();
                if is_stopped() {
                    return Ok(());
                }
            }
            for thread in self.process.threads.clone() {
                match ptrace::wait(thread, false) {
                    Ok(None) => {}
                    Ok(Some(status)) => {
                        has_stopped = true;
                        if !self.handle(thread, Stop::of(thread, status)?)? {
                            return Ok(());
                        }
                    }
                    // It is gone.
                    Err(_) => self.process.threads.retain(|known| *known != thread),
                }
            }
            if has_stopped {
                patience = Patience::default();
            } else {
                patience.wait();
            }
        }
        Ok(())
    }

    /// Lets a thread go on from where it has stopped. Returns whether the program goes on.
    fn handle(&mut self, thread: Pid, stop: Stop) -> io::Result<bool> {
        let mut signal = 0;
        match stop {
            Stop::Call => {
                if self.may_map(thread)? {
                    self.collected.add(self.process, self.image.bytes())?;
                }
            }
            Stop::Signal(number, _) => signal = number,
            Stop::Cloned(made) => {
                ptrace::wait(made, true)?;
                if is_of(self.process.id, made) {
                    self.process.threads.push(made);
                    ptrace::go_to_call(made, 0)?;
                } else {
                    ptrace::detach(made)?;
                }
            }
            Stop::Executed | Stop::Killed(_) => return Ok(false),
            Stop::Exited(_) => {
                self.process.threads.retain(|known| *known != thread);
                return Ok(thread != self.process.id);
            }
            Stop::Step | Stop::Held => {}
        }
        match ptrace::go_to_call(thread, signal) {
            // The process is ending.
            Err(error) if error.raw_os_error() == Some(libc::ESRCH) => Ok(true),
            result => result.map(|()| true),
        }
    }

    /// Whether the system call of a thread may map a file.
    fn may_map(&self, thread: Pid) -> io::Result<bool> {
        let Some(position) = abi::call_number(self.image.cpu.abi) else { return Ok(true) };
        let mut words = Words::new();
        words.read(thread)?;
        let name = words.at(position).and_then(|number| self.image.cpu.system_calls.name(number));
        Ok(name.is_none_or(|name| Call { name }.maps()))
    }
}
