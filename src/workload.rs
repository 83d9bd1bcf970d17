//! What clients do: when they open connections, and what a connection carries.

mod arrivals;
mod backoff;
mod connection;

pub use arrivals::{
    Arrival, ArrivalSpec, Arrivals, ClosedLoop, Diurnal, Load, Modulation, PeakToMean, Population, Rate,
    TraceError, TraceRow, TraceRows, TraceSource,
};
pub use backoff::{Backoff, BackoffFactor, Jitter};
pub use connection::ConnectionProfile;
