//! System calls, made without a program.

mod files;
mod memory;
mod signals;
mod tasks;
mod timers;

use std::cell::Cell;
use std::ops::Range;
use std::path::Path;
use std::rc::Rc;

use rustix::io::Errno;
use unicorn_engine::Unicorn;

use super::answer::Answer;
use super::kernel::{Layout, Linux};
use super::system::System;
use super::user::User;
use crate::address_space::{AddressSpace, Permissions};
use crate::cpu::{AMD64, Cpu};

/// Where the arguments in memory are.
const SCRATCH: u64 = 0x1_0000;
const SCRATCH_LEN: u64 = 0x1_0000;
const BRK: u64 = 0x40_0000;
const MAPPINGS: u64 = 0x1000_0000;
/// `AT_FDCWD`.
const HERE: u64 = -100_i64 as u64;

/// A process whose system calls are made by a test.
struct Caller {
    // Before the memory that it has pointers into.
    unicorn: Unicorn<'static, ()>,
    space: AddressSpace,
    linux: Linux,
    cpu: &'static Cpu,
    /// Where the next argument is put.
    next: u64,
    /// How many instructions were executed.
    now: u64,
}

impl Caller {
    fn new() -> Self {
        Self::with_system(System::default())
    }

    /// With the files below a folder.
    fn below(root: &Path) -> Self {
        Self::with_system(System { root: Some(root.to_owned()), ..System::default() })
    }

    fn with_system(system: System) -> Self {
        Self::with_mappings(system, MAPPINGS..0x7000_0000)
    }

    fn with_mappings(system: System, mappings: Range<u64>) -> Self {
        let cpu = &AMD64;
        let unicorn = Unicorn::new(cpu.arch, cpu.mode).expect("an emulator");
        let stack = 0x7fff_0000..0x8000_0000;
        let mut space = AddressSpace::new(cpu.abi.is_big_endian());
        space.map(SCRATCH, SCRATCH_LEN, Permissions::READ_WRITE).expect("memory");
        space.map(stack.start, stack.end - stack.start, Permissions::READ_WRITE).expect("memory");
        let layout = Layout { brk: BRK, mappings, stack };
        let linux = Linux::new(cpu, Rc::new(system), layout, None);
        let mut caller = Self { unicorn, space, linux, cpu, next: SCRATCH, now: 0 };
        caller.space.install(&mut caller.unicorn).expect("an emulator");
        caller
    }

    fn answer(&mut self, name: &str, arguments: &[u64]) -> Answer {
        let number = (0..600).find(|number| self.cpu.system_calls.name(*number) == Some(name));
        let mut all = [0; 6];
        all[..arguments.len()].copy_from_slice(arguments);
        let mut user = User {
            cpu: self.cpu,
            space: &mut self.space,
            unicorn: &mut self.unicorn,
            stores: Vec::new(),
            changes_code: false,
            fault: None,
            moved: Cell::new(0),
        };
        let answer = self.linux.call(&mut user, number.expect("a system call"), all, self.now);
        assert!(user.fault.is_none(), "{name}: {:?}", user.fault);
        answer
    }

    /// Makes a call that does not wait.
    fn call(&mut self, name: &str, arguments: &[u64]) -> Result<u64, Errno> {
        match self.answer(name, arguments) {
            Answer::Done(result) => result,
            answer => panic!("{name}: {answer:?}"),
        }
    }

    /// Puts bytes into memory, and returns their address.
    fn put(&mut self, bytes: &[u8]) -> u64 {
        let at = self.next;
        self.next = (at + bytes.len() as u64).next_multiple_of(8);
        assert!(self.next < SCRATCH + SCRATCH_LEN && self.space.write(at, bytes), "too many arguments");
        at
    }

    /// Lets the current task wait, and gives the turn to the next one.
    fn wait(&mut self, answer: Answer) {
        let Answer::Wait(wait) = answer else { panic!("{answer:?}") };
        self.linux.tasks.wait(wait);
        self.linux.schedule(self.now, true).expect("a task that is ready");
    }

    fn words(&mut self, words: &[u64]) -> u64 {
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        self.put(&bytes)
    }

    /// Puts a path into memory.
    fn path(&mut self, path: &str) -> u64 {
        self.put(&[path.as_bytes(), b"\0"].concat())
    }

    fn bytes(&self, address: u64, len: usize) -> Vec<u8> {
        let mut bytes = vec![0; len];
        assert!(self.space.read(address, &mut bytes), "{address:#x}");
        bytes
    }

    fn word(&self, address: u64) -> u64 {
        self.space.read_u64(address).expect("memory")
    }

    /// Makes a call whose first argument is a path.
    fn at_path(&mut self, name: &str, path: &str, rest: &[u64]) -> Result<u64, Errno> {
        let path = self.path(path);
        self.call(name, &[&[path], rest].concat())
    }

    fn open(&mut self, path: &str, flags: u64) -> Result<u64, Errno> {
        self.at_path("open", path, &[flags, 0o644])
    }

    /// Returns the first bytes of what a descriptor refers to.
    fn read(&mut self, descriptor: u64) -> Result<Vec<u8>, Errno> {
        let buffer = self.put(&[0; 64]);
        let len = self.call("read", &[descriptor, buffer, 64])?;
        Ok(self.bytes(buffer, usize::try_from(len).expect("a length")))
    }

    fn write(&mut self, descriptor: u64, bytes: &[u8]) -> Result<u64, Errno> {
        let buffer = self.put(bytes);
        self.call("write", &[descriptor, buffer, bytes.len() as u64])
    }

    /// Returns the first bytes of a file.
    fn content(&mut self, path: &str) -> Result<Vec<u8>, Errno> {
        let descriptor = self.open(path, 0)?;
        let content = self.read(descriptor);
        self.call("close", &[descriptor])?;
        content
    }

    /// Returns all bytes of a file, which may be long.
    fn text(&mut self, path: &str) -> String {
        let descriptor = self.open(path, 0).expect("a file");
        let mut text = Vec::new();
        loop {
            match self.read(descriptor).expect("a file") {
                part if part.is_empty() => return String::from_utf8(text).expect("text"),
                part => text.extend(part),
            }
        }
    }
}
