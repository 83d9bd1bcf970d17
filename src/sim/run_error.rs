//! How a run can end badly through what it was asked to simulate.

use crate::workload::TraceError;

/// Why a run could not go on to its end.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RunError {
    /// A client can open no further connection: its address has one open on every port.
    #[error(
        "an address of the client group {group:?} has a connection open on each of its {ports} ports; give the group \
         more addresses than {addresses}, or shorter connections"
    )]
    OutOfPorts {
        /// The client group's name.
        group: String,
        /// How many addresses it has.
        addresses: u32,
        /// How many ports an address has for such connections.
        ports: usize,
    },
    /// A trace of connections is not what it was.
    #[error(transparent)]
    Trace(#[from] TraceError),
}

pub(super) type RunResult<T> = Result<T, Box<RunError>>;
