//! Tasks that wait for their turn.

use std::rc::Rc;

use rustix::io::Errno;
use unicorn_engine::Context;

use super::signals::Interrupted;
use crate::control_flow::ControlFlow;
use crate::cpu::AuthenticationKey;
use crate::follow::Trail;
use crate::witness::Witness;

/// A system call that a task has made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Request {
    pub(super) number: u64,
    pub(super) arguments: [u64; 6],
    /// The instruction, and the one after it.
    pub(super) at: u64,
    pub(super) next: u64,
}

/// A task that does not have its turn.
#[derive(Clone)]
pub(super) struct Parked {
    pub(super) registers: Rc<Context>,
    pub(super) pc: u64,
    /// The call that it waits in.
    pub(super) request: Option<Request>,
    pub(super) witness: Witness,
    pub(super) trail: Trail,
    pub(super) signing: Option<AuthenticationKey>,
    pub(super) interrupted: Vec<Interrupted>,
}

impl Parked {
    pub(super) const fn control_flow(&self) -> &ControlFlow {
        self.witness.control_flow()
    }
}

/// What a failed call returns.
pub(super) fn failure(errno: Errno) -> u64 {
    i64::from(-errno.raw_os_error()).cast_unsigned()
}
