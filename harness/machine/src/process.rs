//! The initial state of a program: stack, thread storage and registers, as Linux and the System
//! V ABIs lay them out.

use unicorn_engine::{Unicorn, uc_error};

use crate::address_space::{AddressSpace, MapError, PAGE, Permissions};
use crate::cpu::{Cpu, Link};
use crate::image::{Image, LoadError};
use crate::images::{Images, first_base, same_cpu};
use crate::linux::kernel::Layout;
use crate::places::Places;

/// Where amd64 and s390x keep the stack guard, in bytes from the thread pointer.
const STACK_GUARD: u64 = 0x28;
const CANARY: u64 = 0x00c0_ffee_0bad_f00d;

/// The content of uninitialised registers and stack.
///
/// Zeroes would let wrong rows agree by accident: 0 equals 0. Each pattern gives every register
/// and every stack slot a distinct value that is not an address, but that the link register is 0
/// at the first instruction with the first one, as on Linux. Verdicts must not depend on the
/// pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Pattern {
    /// The usual one.
    #[default]
    First,
    /// Another, to compare with.
    Second,
    /// Registers as with the first, and zeroes on the stack, as programs find them on Linux: for
    /// programs that read what they have not written.
    Zeroes,
}

impl Pattern {
    const fn register(self, number: u64) -> u64 {
        match self {
            Self::First | Self::Zeroes => 0xa5a5_0000_dead_0001 + (number << 32),
            Self::Second => 0x5b5b_0000_beef_0003 + (number << 36),
        }
    }

    /// The link register at the first instruction. Linux leaves it 0, which is no address
    /// either.
    const fn link(self) -> u64 {
        match self {
            Self::First | Self::Zeroes => 0,
            Self::Second => self.register(0xf1),
        }
    }

    /// Returns what the stack holds, by address. All of it is filled before each run: which pattern it is, is asked
    /// once.
    fn stack(self) -> impl Fn(u64) -> u64 {
        let (word, shift, used) = match self {
            Self::First => (0xe1e1_0000_0000_0005, 3, u64::MAX),
            Self::Zeroes => (0, 0, 0),
            Self::Second => (0x7272_0000_0000_0003, 2, u64::MAX),
        };
        move |address| (word ^ (address << shift)) & used
    }
}

/// A process could not be set up.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ProcessError {
    #[error(transparent)]
    Map(#[from] MapError),
    #[error("arguments, environment and auxiliary vector need more than the stack of {0:#x} bytes")]
    StackTooSmall(u64),
    #[error("the images leave no room in the address space for a stack")]
    NoRoom,
    #[error("the interpreter: {0}")]
    Interpreter(#[source] LoadError),
}

/// A program that is to be started.
pub(crate) struct Program<'p, 'a> {
    pub(crate) executable: &'p Image<'a>,
    /// All arguments.
    pub(crate) arguments: &'p [Vec<u8>],
    /// The environment.
    pub(crate) environment: &'p [Vec<u8>],
    /// In bytes.
    pub(crate) stack_size: u64,
    pub(crate) pattern: Pattern,
}

/// A program before its first instruction.
pub(crate) struct Started {
    pub(crate) space: AddressSpace,
    pub(crate) sp: u64,
    /// Its first instruction; that of its interpreter, if that loads it.
    pub(crate) entry: u64,
    pub(crate) places: Places,
    pub(crate) layout: Layout,
}

impl Program<'_, '_> {
    /// Maps the executable, and the interpreter that is to load what else it needs.
    pub(crate) fn start(&self, interpreter: Option<&Image<'_>>) -> Result<Started, ProcessError> {
        let executable = self.executable;
        let images = || std::iter::once(executable).chain(interpreter);
        let ranges: Vec<_> = images().map(Image::range).collect();
        let places = Places::among(&ranges, executable.cpu.user_end).ok_or(ProcessError::NoRoom)?;
        self.start_at(places, images(), interpreter, 0, |_| Ok(()))
    }

    /// Maps all images of a program that the machine has linked.
    pub(crate) fn start_linked(&self, images: &Images<'_>) -> Result<Started, ProcessError> {
        let plan = &images.plan;
        let install = |space: &mut AddressSpace| plan.install(self.executable.cpu, space);
        let len = plan.thread_storage.len;
        self.start_at(plan.places, images.iter().map(|(_, image)| image), None, len, install)
    }

    fn start_at<'i, 'b: 'i>(
        &self,
        places: Places,
        images: impl Iterator<Item = &'i Image<'b>>,
        interpreter: Option<&Image<'_>>,
        thread_storage: u64,
        install: impl FnOnce(&mut AddressSpace) -> Result<(), MapError>,
    ) -> Result<Started, ProcessError> {
        let executable = self.executable;
        let mut space = AddressSpace::new(executable.cpu.abi.is_big_endian());
        for image in images {
            map_image(&mut space, image)?;
        }
        let stack_size = self.stack_size.next_multiple_of(PAGE).max(PAGE);
        let (bottom, thread_pointer) = (places.stack_top() - stack_size, places.thread_pointer());
        let permissions = Permissions { execute: executable.executable_stack, ..Permissions::READ_WRITE };
        space.map(bottom, stack_size, permissions)?;
        let thread_storage = thread_storage.next_multiple_of(PAGE);
        let start = places.thread_storage() - thread_storage;
        space.map(start, PAGE + 2 * thread_storage, Permissions::READ_WRITE)?;
        let kernel = places.kernel();
        space.map(kernel.start, PAGE, Permissions { read: true, write: false, execute: true })?;
        install(&mut space)?;
        // The regions were just mapped, and these addresses are within them.
        let mut stored = space.fill(bottom, stack_size / PAGE, self.pattern.stack());
        stored &= space.write_u64(thread_pointer, thread_pointer);
        stored &= space.write_u64(thread_pointer + STACK_GUARD, CANARY);
        stored &= space.write(kernel.start, executable.cpu.system_calls.restorer);
        let base = interpreter.map_or(0, |image| image.bias);
        let sp = self.initial_stack(&space, base, places.stack_top());
        let sp = sp.filter(|sp| *sp >= bottom && stored).ok_or(ProcessError::StackTooSmall(stack_size))?;
        let layout = Layout {
            // Not right after the image: what lies beyond its end is not the heap's.
            brk: executable.range().end.next_multiple_of(PAGE) + PAGE,
            mappings: places.mappings(),
            stack: bottom..places.stack_top(),
        };
        let entry = interpreter.unwrap_or(executable).entry;
        Ok(Started { space, sp, entry, places, layout })
    }
}

/// Reads an interpreter, for a place where it is out of the program's way.
pub(crate) fn interpreter_image<'a>(
    executable: &Image<'_>,
    bytes: &'a [u8],
) -> Result<Image<'a>, ProcessError> {
    let base = first_base(&executable.range());
    Image::parse_library(bytes, base)
        .and_then(|image| same_cpu(image, executable.cpu))
        .map_err(ProcessError::Interpreter)
}

/// Maps the segments. Segments that share a page form one region with the permissions of both.
pub(crate) fn map_image(space: &mut AddressSpace, image: &Image<'_>) -> Result<(), MapError> {
    let mut regions: Vec<(u64, u64, Permissions)> = Vec::new();
    for segment in &image.segments {
        let start = segment.address & !(PAGE - 1);
        let end = (segment.address + segment.len).next_multiple_of(PAGE);
        match regions.last_mut() {
            Some((_, last_end, permissions)) if start < *last_end => {
                *last_end = (*last_end).max(end);
                *permissions = permissions.or(segment.permissions);
            }
            _ => regions.push((start, end, segment.permissions)),
        }
    }
    for (start, end, permissions) in regions {
        space.map(start, end - start, permissions)?;
    }
    for segment in &image.segments {
        let bytes = image.bytes.get(segment.file.clone()).unwrap_or_default();
        if !space.write(segment.address, bytes) {
            let (start, end) = (segment.address, segment.address + segment.len);
            return Err(MapError::Overlap { start, end });
        }
    }
    Ok(())
}

impl Program<'_, '_> {
    /// Stores argc, argv, envp and auxv with the strings they point to, and returns SP, or `None`
    /// if they do not fit.
    fn initial_stack(&self, space: &AddressSpace, base: u64, stack_top: u64) -> Option<u64> {
        // From <elf.h>.
        const AT_NULL: u64 = 0;
        const AT_PHDR: u64 = 3;
        const AT_PHENT: u64 = 4;
        const AT_PHNUM: u64 = 5;
        const AT_PAGESZ: u64 = 6;
        const AT_BASE: u64 = 7;
        const AT_FLAGS: u64 = 8;
        const AT_ENTRY: u64 = 9;
        const AT_UID: u64 = 11;
        const AT_EUID: u64 = 12;
        const AT_GID: u64 = 13;
        const AT_EGID: u64 = 14;
        const AT_HWCAP: u64 = 16;
        const AT_CLKTCK: u64 = 17;
        const AT_SECURE: u64 = 23;
        const AT_RANDOM: u64 = 25;
        const AT_EXECFN: u64 = 31;

        let image = self.executable;
        let mut top = stack_top - 16;
        let mut push = |bytes: &[u8]| {
            top = top.checked_sub(bytes.len() as u64 + 1)?;
            (space.write(top, bytes) && space.write(top + bytes.len() as u64, &[0])).then_some(top)
        };
        let argv = self.arguments.iter().map(|argument| push(argument)).collect::<Option<Vec<_>>>()?;
        let environment =
            self.environment.iter().map(|variable| push(variable)).collect::<Option<Vec<_>>>()?;
        let random = push(&[0x42; 16])?;

        let mut words = vec![argv.len() as u64];
        words.extend(&argv);
        words.push(0);
        words.extend(environment);
        words.push(0);
        for (key, value) in [
            (AT_PHDR, image.phdr.unwrap_or_default()),
            (AT_PHENT, 56),
            (AT_PHNUM, u64::from(image.phnum)),
            (AT_PAGESZ, PAGE),
            (AT_BASE, base),
            (AT_FLAGS, 0),
            (AT_ENTRY, image.entry),
            (AT_UID, 1000),
            (AT_EUID, 1000),
            (AT_GID, 1000),
            (AT_EGID, 1000),
            (AT_HWCAP, image.cpu.system_calls.hardware),
            (AT_CLKTCK, 100),
            (AT_SECURE, 0),
            (AT_RANDOM, random),
            (AT_EXECFN, argv.first().copied().unwrap_or_default()),
            (AT_NULL, 0),
        ] {
            words.extend([key, value]);
        }
        let sp = top.checked_sub(words.len() as u64 * 8)? & !15;
        let stored = (0..).zip(&words).all(|(index, word)| space.write_u64(sp + index * 8, *word));
        stored.then_some(sp)
    }
}

/// Sets the registers to what a program expects, or must not rely on.
pub(crate) fn set_registers(
    unicorn: &mut Unicorn<'_, ()>,
    cpu: &Cpu,
    sp: u64,
    pattern: Pattern,
    places: Places,
) -> Result<(), uc_error> {
    (cpu.prepare)(unicorn)?;
    for (number, register) in (0..).zip(cpu.poisoned) {
        unicorn.reg_write(*register, pattern.register(number))?;
    }
    unicorn.reg_write(cpu.fp, pattern.register(0xf0))?;
    if let Link::Register(link) = cpu.link {
        unicorn.reg_write(link, pattern.link())?;
    }
    // Start-up code registers it with atexit where it is not 0.
    if let Some(register) = cpu.termination {
        unicorn.reg_write(register, 0)?;
    }
    (cpu.set_thread_pointer)(unicorn, places.thread_pointer())?;
    unicorn.reg_write(cpu.sp, sp)
}
