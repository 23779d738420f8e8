//! Sockets: there is no network, and no other process to talk to.

use rustix::io::Errno;

use crate::linux::answer::Call;
use crate::linux::kernel::Linux;

impl Linux {
    pub(crate) fn call_sockets(&self, name: &str) -> Option<Call> {
        Some(match name {
            "socket" | "socketpair" => Err(Errno::AFNOSUPPORT.into()),
            "connect" | "bind" | "listen" | "accept" | "accept4" | "sendto" | "recvfrom" | "sendmsg"
            | "recvmsg" | "sendmmsg" | "recvmmsg" | "shutdown" | "getsockname" | "getpeername"
            | "setsockopt" | "getsockopt" => Err(Errno::NOTSOCK.into()),
            _ => return None,
        })
    }
}
