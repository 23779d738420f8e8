//! The standard streams of a process: files in memory.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, Write as _};
use std::process::Stdio;

use rustix::fs::{MemfdFlags, memfd_create};

/// The most that is kept of what a program writes to each, in bytes.
const LIMIT: u64 = 64 << 20;

/// What a program writes to standard output and to standard error.
pub(super) struct Output {
    files: [File; 2],
}

/// What it has written.
pub(super) struct Written {
    pub(super) standard: Vec<u8>,
    /// Standard output, and then standard error.
    pub(super) all: Vec<u8>,
    pub(super) is_cut: bool,
}

fn in_memory() -> io::Result<File> {
    Ok(File::from(memfd_create("sframe-testbench", MemfdFlags::CLOEXEC)?))
}

/// Returns a program's standard input: nothing, unless it has some content.
pub(super) fn input(content: Option<&[u8]>) -> io::Result<Stdio> {
    let Some(content) = content else { return Ok(Stdio::null()) };
    let mut file = in_memory()?;
    file.write_all(content)?;
    file.rewind()?;
    Ok(file.into())
}

impl Output {
    pub(super) fn new() -> io::Result<Self> {
        Ok(Self { files: [in_memory()?, in_memory()?] })
    }

    /// Returns the streams for the program.
    pub(super) fn streams(&self) -> io::Result<[Stdio; 2]> {
        let [output, error] = &self.files;
        Ok([output.try_clone()?.into(), error.try_clone()?.into()])
    }

    /// Reads what the program has written.
    pub(super) fn written(&mut self) -> io::Result<Written> {
        let mut is_cut = false;
        let mut read = |file: &mut File| {
            let mut bytes = Vec::new();
            file.rewind()?;
            is_cut |= file.metadata()?.len() > LIMIT;
            (&*file).take(LIMIT).read_to_end(&mut bytes)?;
            io::Result::Ok(bytes)
        };
        let [output, error] = &mut self.files;
        let (standard, error) = (read(output)?, read(error)?);
        let all = [&standard[..], &error[..]].concat();
        Ok(Written { standard, all, is_cut })
    }
}
