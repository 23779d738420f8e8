//! Why a program can't be executed by the host's own processor.

use sframe_engine::Abi;

/// A program can't be executed by the host's own processor.
#[derive(Debug, thiserror::Error)]
pub enum NativeError {
    /// It is for another one.
    #[error("it is for {program}, and this host executes {}", .host.map_or("none of the ABIs", Abi::name))]
    OtherAbi {
        /// The ABI of the program.
        program: Abi,
        /// The ABI that the host executes, if it is known.
        host: Option<Abi>,
    },
    /// The host lets nobody trace processes, or leaves their addresses to chance.
    #[error("the host does not allow it (ptrace and personality): {0}")]
    NotAllowed(#[source] std::io::Error),
    /// The program can't be started.
    #[error("it can't be started: {0}")]
    Start(#[source] std::io::Error),
    /// The program names an interpreter, such as the dynamic linker, that is not there.
    #[error("it can't be started: the interpreter that it names is not on this host")]
    NoInterpreter,
    /// The host does not say what it has to.
    #[error("{what}: {source}")]
    System {
        /// What was asked of it.
        what: &'static str,
        /// The host's error.
        source: std::io::Error,
    },
}

impl NativeError {
    /// Names what the host was asked for.
    pub(super) fn of(what: &'static str) -> impl Fn(std::io::Error) -> Self {
        move |source| Self::System { what, source }
    }
}
