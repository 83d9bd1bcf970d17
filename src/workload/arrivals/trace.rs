//! Recorded connections.

use std::fmt;
use std::sync::Arc;

use crate::time::{SimDuration, SimTime};

/// What is recorded of a connection, but for its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceRow {
    /// Who opened it: equal numbers are the same client.
    pub client_id: u64,
    /// Bytes from client to backend.
    pub request_bytes: u64,
    /// Bytes from backend to client, if that was recorded.
    pub response_bytes: Option<u64>,
    /// From its beginning to its end, if that was recorded.
    pub duration: Option<SimDuration>,
}

/// The connections of a trace, in the order of their times; nothing follows an error.
pub type TraceRows = Box<dyn Iterator<Item = Result<(SimTime, TraceRow), TraceError>> + Send>;

/// A trace that is not what it was when it was checked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0} (the trace changed after the experiment was read: run it again)")]
pub struct TraceError(pub String);

/// Where the connections of a trace come from. Every run reads them anew, one after the other.
#[derive(Clone)]
pub struct TraceSource {
    /// What it is called.
    pub name: String,
    /// A number that depends on everything in it.
    pub fingerprint: u64,
    /// How many connections it has.
    pub connections: u64,
    /// When the last of them begins.
    pub last: SimTime,
    /// Reads it from its beginning.
    pub rows: Arc<dyn Fn() -> TraceRows + Send + Sync>,
}

impl TraceSource {
    pub(super) fn open(&self) -> TraceRows {
        (self.rows)()
    }

    /// Connections per second up to the last one; unknown if all of them come at time 0.
    pub(super) fn mean_rate(&self) -> Option<f64> {
        let seconds = self.last.as_secs_f64();
        (seconds > 0.0).then(|| self.connections as f64 / seconds)
    }

    /// How many of its connections begin before `end`, if they were spread evenly.
    pub(super) fn expected_before(&self, end: SimTime) -> f64 {
        let share = if self.last < end { 1.0 } else { end.as_secs_f64() / self.last.as_secs_f64() };
        self.connections as f64 * share
    }
}

/// Equal names and contents.
impl PartialEq for TraceSource {
    fn eq(&self, other: &Self) -> bool {
        (&self.name, self.fingerprint) == (&other.name, other.fingerprint)
    }
}

impl fmt::Debug for TraceSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({} connections, {:016x})", self.name, self.connections, self.fingerprint)
    }
}
