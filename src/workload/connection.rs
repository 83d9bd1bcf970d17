//! What one connection carries.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::random::{Bytes, Count, Distribution};
use crate::time::SimDuration;

/// Requests, pauses and sizes of a client group's connections.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ConnectionProfile {
    /// How many requests a connection makes, one after the other.
    pub requests: Distribution<Count>,
    /// From a response to the next request.
    pub think_time: Distribution<SimDuration>,
    /// Bytes from client to backend, a request.
    pub request_bytes: Distribution<Bytes>,
    /// Bytes from backend to client, a request.
    pub response_bytes: Distribution<Bytes>,
}

impl Default for ConnectionProfile {
    fn default() -> Self {
        Self {
            requests: Distribution::geometric(3.0).expect("a mean above 1"),
            think_time: Distribution::exponential(SimDuration::from_millis(200)).expect("a positive mean"),
            request_bytes: Distribution::constant(2048.0),
            response_bytes: Distribution::lognormal(16_384.0, 1.0).expect("a positive median"),
        }
    }
}
