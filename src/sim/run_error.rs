//! How a run can end badly through what it was asked to simulate.

use crate::workload::TraceError;

/// Why a run could not go on to its end.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RunError {
    /// A trace of connections is not what it was.
    #[error(transparent)]
    Trace(#[from] TraceError),
}

pub(super) type RunResult<T> = Result<T, Box<RunError>>;
