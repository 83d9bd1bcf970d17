//! What clients do: when they open connections, and what a connection carries.

mod arrivals;
mod connection;

pub use arrivals::{ArrivalSpec, Arrivals, Rate};
pub use connection::ConnectionProfile;
