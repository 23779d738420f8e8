//! System calls that the machine does not have.

use rustix::io::Errno;

use crate::linux::answer::{Call, Refused};

/// Answers the calls of which C libraries and runtimes know that a kernel may lack them: they
/// do without. Others break the run, with their names.
pub(crate) fn call(name: &str) -> Option<Call> {
    let errno = match name {
        // Newer than what C libraries demand, or optional in a kernel's configuration.
        "rseq"
        | "membarrier"
        | "io_uring_setup"
        | "pidfd_open"
        | "pidfd_send_signal"
        | "memfd_create"
        | "copy_file_range"
        | "close_range"
        | "openat2"
        | "userfaultfd"
        | "landlock_create_ruleset"
        | "riscv_hwprobe"
        | "map_shadow_stack"
        | "futex_waitv"
        | "futex_wait"
        | "futex_wake"
        | "futex_requeue"
        | "process_madvise"
        | "cachestat"
        | "mseal"
        | "s390_guarded_storage"
        | "s390_sthyi"
        | "s390_pci_mmio_read"
        | "s390_pci_mmio_write"
        | "pkey_alloc"
        | "pkey_mprotect"
        | "pkey_free"
        | "fsopen"
        | "listmount"
        | "statmount"
        | "getxattrat"
        | "inotify_init"
        | "inotify_init1"
        | "fanotify_init"
        | "mincore"
        | "get_mempolicy"
        | "set_mempolicy"
        | "mbind"
        | "memfd_secret"
        | "seccomp"
        | "splice"
        | "tee"
        | "vmsplice"
        | "kcmp"
        | "readahead" => Errno::NOSYS,
        // What only a privileged process may do.
        "mount" | "umount2" | "reboot" | "ptrace" | "sethostname" | "setdomainname" | "swapon"
        | "swapoff" | "init_module" | "finit_module" | "delete_module" | "chroot" | "pivot_root" | "iopl"
        | "ioperm" | "acct" | "bpf" | "perf_event_open" | "kexec_load" | "process_vm_readv"
        | "process_vm_writev" | "quotactl" | "setns" | "unshare" | "mknod" | "mknodat" | "vhangup"
        | "syslog" | "open_by_handle_at" => Errno::PERM,
        _ => return None,
    };
    Some(Err(Refused::Errno(errno)))
}
