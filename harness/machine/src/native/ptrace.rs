//! What is asked of `ptrace`.

use std::ffi::{c_long, c_ulong};
use std::io;
use std::mem::MaybeUninit;
use std::os::unix::process::CommandExt as _;
use std::process::Command;
use std::ptr;

use rustix::process::{Pid, Resource, Rlimit, WaitOptions, WaitStatus, setrlimit, waitpid};

/// The longest `NT_PRSTATUS` that is read, in words.
pub(super) const MOST_WORDS: usize = 64;

/// What a signal brings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SignalInfo {
    /// `si_code`: above 0, the kernel has sent it.
    pub(super) code: i32,
    /// `si_addr`, of a fault.
    pub(super) address: u64,
}

/// The type of requests.
#[cfg(target_env = "musl")]
type Request = std::ffi::c_int;
#[cfg(not(target_env = "musl"))]
type Request = std::ffi::c_uint;

/// The largest file that a traced program can write, in bytes.
const LARGEST_FILE: u64 = 1 << 30;

/// What a child fails with that may not be traced: starting a program does not.
const NOT_ALLOWED: i32 = libc::EOPNOTSUPP;

/// Whether the error of [`start`] says that the host does not allow tracing.
pub(super) fn is_not_allowed(error: &io::Error) -> bool {
    error.raw_os_error() == Some(NOT_ALLOWED)
}

/// Starts a program that this thread traces, at addresses that are not left to chance. It stops before its first
/// instruction.
pub(super) fn start(mut command: Command, stack_size: u64) -> io::Result<Pid> {
    let limit = |resource, bytes| {
        let limit = Rlimit { current: Some(bytes), ..rustix::process::getrlimit(resource) };
        // What the host does not allow more of is less.
        let _ = setrlimit(resource, limit);
    };
    let prepare = move || {
        // An interrupt from the terminal is the bench's; and what the program leaves behind is known by its session.
        let _ = rustix::process::setsid();
        limit(Resource::Stack, stack_size);
        limit(Resource::Fsize, LARGEST_FILE);
        let allow = |result: c_long| {
            if result == -1 { Err(io::Error::from_raw_os_error(NOT_ALLOWED)) } else { Ok(()) }
        };
        // SAFETY: it changes how the next program's addresses are chosen, and no memory.
        #[expect(unsafe_code, reason = "a system call without memory")]
        let persona = unsafe { libc::personality(libc::ADDR_NO_RANDOMIZE as c_ulong) };
        allow(persona.into())?;
        allow(request(libc::PTRACE_TRACEME, None, 0).map_or(-1, |()| 0))
    };
    // SAFETY: the closure makes system calls only: it allocates nothing, and takes no lock.
    #[expect(unsafe_code, reason = "what a child does before the program starts")]
    let command = unsafe { command.pre_exec(prepare) };
    let child = command.spawn()?;
    Pid::from_raw(i32::try_from(child.id()).unwrap_or(0)).ok_or_else(|| io::ErrorKind::NotFound.into())
}

/// Makes a request that reads and writes no memory of this process.
fn request(request: Request, thread: Option<Pid>, data: usize) -> io::Result<()> {
    let thread = thread.map_or(0, |thread| thread.as_raw_nonzero().get());
    // SAFETY: this is called for requests that take `data` as a number.
    #[expect(unsafe_code, reason = "a system call without memory")]
    let result = unsafe { libc::ptrace(request, thread, ptr::null_mut::<u8>(), data) };
    if result == -1 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

fn signal_number(signal: i32) -> usize {
    usize::try_from(signal).unwrap_or(0)
}

/// Lets a thread execute one instruction, or its handler begin, with a signal if that is not 0.
#[inline]
pub(super) fn step(thread: Pid, signal: i32) -> io::Result<()> {
    request(libc::PTRACE_SINGLESTEP, Some(thread), signal_number(signal))
}

/// Lets a thread go on until a system call begins or ends.
pub(super) fn go_to_call(thread: Pid, signal: i32) -> io::Result<()> {
    request(libc::PTRACE_SYSCALL, Some(thread), signal_number(signal))
}

/// Lets a thread go on, untraced.
pub(super) fn detach(thread: Pid) -> io::Result<()> {
    request(libc::PTRACE_DETACH, Some(thread), 0)
}

/// Has new threads traced, and programs that are executed seen, and nobody survive this process.
pub(super) fn follow_threads(process: Pid) -> io::Result<()> {
    let options = libc::PTRACE_O_EXITKILL
        | libc::PTRACE_O_TRACECLONE
        | libc::PTRACE_O_TRACEEXEC
        | libc::PTRACE_O_TRACESYSGOOD;
    request(libc::PTRACE_SETOPTIONS, Some(process), usize::try_from(options).unwrap_or(0))
}

/// Returns the thread that another one has made.
pub(super) fn new_thread(parent: Pid) -> io::Result<Option<Pid>> {
    let mut message: c_ulong = 0;
    // SAFETY: the request stores one number of this type, which lives until then.
    #[expect(unsafe_code, reason = "a system call that stores a number")]
    let result = unsafe {
        libc::ptrace(
            libc::PTRACE_GETEVENTMSG,
            parent.as_raw_nonzero().get(),
            ptr::null_mut::<u8>(),
            &raw mut message,
        )
    };
    if result == -1 {
        return Err(io::Error::last_os_error());
    }
    Ok(i32::try_from(message).ok().and_then(Pid::from_raw))
}

/// Reads `NT_PRSTATUS` of a thread.
#[inline]
pub(super) fn registers(thread: Pid, words: &mut [u64; MOST_WORDS]) -> io::Result<()> {
    let mut vector = libc::iovec { iov_base: words.as_mut_ptr().cast(), iov_len: size_of_val(words) };
    let kind = ptr::without_provenance_mut::<u8>(signal_number(libc::NT_PRSTATUS));
    // SAFETY: the request stores at most as many bytes as the vector says, to words of which any content is one.
    #[expect(unsafe_code, reason = "a system call that stores registers")]
    let result =
        unsafe { libc::ptrace(libc::PTRACE_GETREGSET, thread.as_raw_nonzero().get(), kind, &raw mut vector) };
    if result == -1 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Returns what the signal brings at which a thread has stopped; `None` if it has stopped for none.
pub(super) fn signal_info(thread: Pid) -> Option<SignalInfo> {
    let mut info = MaybeUninit::<libc::siginfo_t>::zeroed();
    let null = ptr::null_mut::<u8>();
    // SAFETY: the request stores one such structure, for which zeroes are as good as any content, and whose address field
    // is read as a number.
    #[expect(unsafe_code, reason = "a system call that stores a structure")]
    unsafe {
        let result =
            libc::ptrace(libc::PTRACE_GETSIGINFO, thread.as_raw_nonzero().get(), null, info.as_mut_ptr());
        let info = info.assume_init();
        (result != -1).then(|| SignalInfo { code: info.si_code, address: info.si_addr().addr() as u64 })
    }
}

/// Waits for a thread, or asks whether it has stopped.
#[inline]
pub(super) fn wait(thread: Pid, blocks: bool) -> io::Result<Option<WaitStatus>> {
    let mut options = WaitOptions::from_bits_retain(libc::__WALL.cast_unsigned());
    if !blocks {
        options |= WaitOptions::NOHANG;
    }
    loop {
        match waitpid(Some(thread), options) {
            Err(rustix::io::Errno::INTR) => {}
            result => return Ok(result?.map(|(_, status)| status)),
        }
    }
}
