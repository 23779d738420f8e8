//! Sockets: there is no network, and no other process to talk to.

use rustix::io::Errno;

use crate::linux::answer::Call;
use crate::linux::kernel::Linux;

impl Linux {
    pub(crate) fn call_sockets(&self, name: &str, a: [u64; 6]) -> Option<Call> {
        const SOCKET: u64 = 1;
        const SOCKETPAIR: u64 = 8;
        Some(match name {
            // One call for all of them, on s390x.
            "socketcall" if matches!(a[0], SOCKET | SOCKETPAIR) => Err(Errno::AFNOSUPPORT.into()),
            "socketcall" => Err(Errno::NOTSOCK.into()),
            "socket" | "socketpair" => Err(Errno::AFNOSUPPORT.into()),
            "connect" | "bind" | "listen" | "accept" | "accept4" | "sendto" | "recvfrom" | "sendmsg"
            | "recvmsg" | "sendmmsg" | "recvmmsg" | "shutdown" | "getsockname" | "getpeername"
            | "setsockopt" | "getsockopt" => Err(Errno::NOTSOCK.into()),
            _ => return None,
        })
    }
}
