//! The initial state of a program: stack, thread storage and registers, as Linux and the System
//! V ABIs lay them out.

use unicorn_engine::{Unicorn, uc_error};

use crate::address_space::{AddressSpace, MapError, PAGE, Permissions};
use crate::cpu::{Cpu, Link};
use crate::image::Image;
use crate::images::Images;
use crate::places::Places;

/// Where amd64 and s390x keep the stack guard, in bytes from the thread pointer.
const STACK_GUARD: u64 = 0x28;
const CANARY: u64 = 0x00c0_ffee_0bad_f00d;

/// The content of uninitialised registers and stack.
///
/// Zeroes would let wrong rows agree by accident: 0 equals 0. Each pattern gives every register
/// and every stack slot a distinct value that is not an address. Verdicts must not depend on
/// the pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Pattern {
    /// The usual one.
    #[default]
    First,
    /// Another, to compare with.
    Second,
}

impl Pattern {
    const fn register(self, number: u64) -> u64 {
        match self {
            Self::First => 0xa5a5_0000_dead_0001 + (number << 32),
            Self::Second => 0x5b5b_0000_beef_0003 + (number << 36),
        }
    }

    const fn stack(self, address: u64) -> u64 {
        match self {
            Self::First => 0xe1e1_0000_0000_0000 ^ (address << 3) ^ 5,
            Self::Second => 0x7272_0000_0000_0000 ^ (address << 2) ^ 3,
        }
    }
}

/// A process could not be set up.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ProcessError {
    #[error(transparent)]
    Map(#[from] MapError),
    #[error("arguments and auxiliary vector need more than the stack of {0:#x} bytes")]
    StackTooSmall(u64),
}

/// Maps images with stack and thread storage, and links them. Returns the
/// memory and the first SP.
pub(crate) fn create(
    images: &Images<'_>,
    arguments: &[String],
    stack_size: u64,
    pattern: Pattern,
) -> Result<(AddressSpace, u64), ProcessError> {
    let image = images.executable();
    let mut space = AddressSpace::new(image.cpu.abi.is_big_endian());
    for (_, image) in images.iter() {
        map_image(&mut space, image)?;
    }

    let stack_size = stack_size.next_multiple_of(PAGE).max(PAGE);
    let places = images.plan.places;
    let (bottom, thread_pointer) = (places.stack_top() - stack_size, places.thread_pointer());
    space.map(bottom, stack_size, Permissions::READ_WRITE)?;
    let thread_storage = images.plan.thread_storage.len.next_multiple_of(PAGE);
    let start = places.thread_storage() - thread_storage;
    space.map(start, PAGE + 2 * thread_storage, Permissions::READ_WRITE)?;
    images.plan.install(image.cpu, &mut space)?;
    // The regions were just mapped, and these addresses are within them.
    let mut stored = space.fill(bottom, stack_size / PAGE, |address| pattern.stack(address));
    stored &= space.write_u64(thread_pointer, thread_pointer);
    stored &= space.write_u64(thread_pointer + STACK_GUARD, CANARY);
    let sp = initial_stack(&space, image, arguments, places.stack_top()).filter(|sp| *sp >= bottom && stored);
    sp.map(|sp| (space, sp)).ok_or(ProcessError::StackTooSmall(stack_size))
}

/// Maps the segments. Segments that share a page form one region with the permissions of both.
fn map_image(space: &mut AddressSpace, image: &Image<'_>) -> Result<(), MapError> {
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

/// Stores argc, argv, envp and auxv with the strings they point to, and returns SP, or `None`
/// if they do not fit.
fn initial_stack(
    space: &AddressSpace,
    image: &Image<'_>,
    arguments: &[String],
    stack_top: u64,
) -> Option<u64> {
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

    let mut top = stack_top - 16;
    let mut push = |bytes: &[u8]| {
        top = top.checked_sub(bytes.len() as u64 + 1)?;
        (space.write(top, bytes) && space.write(top + bytes.len() as u64, &[0])).then_some(top)
    };
    let name = push(b"program")?;
    let argv = std::iter::once(Some(name))
        .chain(arguments.iter().map(|argument| push(argument.as_bytes())))
        .collect::<Option<Vec<_>>>()?;
    let environment = push(b"LC_ALL=C")?;
    let random = push(&[0x42; 16])?;

    let mut words = vec![argv.len() as u64];
    words.extend(argv);
    words.extend([0, environment, 0]);
    for (key, value) in [
        (AT_PHDR, image.phdr.unwrap_or_default()),
        (AT_PHENT, 56),
        (AT_PHNUM, u64::from(image.phnum)),
        (AT_PAGESZ, PAGE),
        (AT_BASE, 0),
        (AT_FLAGS, 0),
        (AT_ENTRY, image.entry),
        (AT_UID, 1000),
        (AT_EUID, 1000),
        (AT_GID, 1000),
        (AT_EGID, 1000),
        (AT_HWCAP, 0),
        (AT_CLKTCK, 100),
        (AT_SECURE, 0),
        (AT_RANDOM, random),
        (AT_EXECFN, name),
        (AT_NULL, 0),
    ] {
        words.extend([key, value]);
    }
    let sp = top.checked_sub(words.len() as u64 * 8)? & !15;
    let stored = (0..).zip(&words).all(|(index, word)| space.write_u64(sp + index * 8, *word));
    stored.then_some(sp)
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
        unicorn.reg_write(link, pattern.register(0xf1))?;
    }
    (cpu.set_thread_pointer)(unicorn, places.thread_pointer())?;
    unicorn.reg_write(cpu.sp, sp)
}
