//! How a run can end badly through what it was asked to simulate.

use crate::workload::TraceError;

/// Why a run could not go on to its end.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RunError {
    /// A trace of connections is not what it was.
    #[error(transparent)]
    Trace(#[from] TraceError),
    /// Connections that are measured wait for what comes later than simulated time can say.
    #[error(
        "connections of client group {client:?} last longer than a simulation can (292 years): think times, service times or \
         round trips are that long; shorten them, or give them a max"
    )]
    NeverEnds {
        /// The client group of one of them.
        client: String,
    },
}

pub(super) type RunResult<T> = Result<T, Box<RunError>>;
