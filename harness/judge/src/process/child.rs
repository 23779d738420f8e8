//! Ends processes started by others, and all their children.

use std::process::Child;

use rustix::process::{Pid, Signal, kill_process_group};

/// Ends whatever is left of a process that leads a group, and of its group.
pub fn end(child: &mut Child) {
    if let Some(group) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) {
        // Usually nothing is left.
        let _ = kill_process_group(group, Signal::KILL);
    }
    let _ = child.kill();
    let _ = child.wait();
}
