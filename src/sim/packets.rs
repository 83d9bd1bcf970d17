//! Connections packet by packet, as plain data.

use crate::ids::{BackendId, ClientId};
use crate::lb::packet::Endpoint;
use crate::lb::policy::PlacementOutcome;
use crate::time::SimTime;

/// One packet of a connection that is followed, or what its client takes note of without one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TracedPacket {
    /// When its client sends or receives it.
    pub at: SimTime,
    /// The number of its connection, from 1.
    pub connection: usize,
    /// The client group.
    pub client: ClientId,
    /// The client's address and port.
    pub source: Endpoint,
    /// What it is: `syn`, `syn-ack`, `request`, `response`, `ack`, `fin`, `rst`, `resend`; `unreachable` and `rejection` by
    /// a backend that does not serve; `timeout` where nothing came.
    pub packet: &'static str,
    /// Which request of the connection it belongs to, from 1; 0 before the first.
    pub request: u32,
    /// The backend that it goes to or comes from, if one is known.
    pub backend: Option<BackendId>,
    /// What the load balancer does with it: `new`, `tracked`, `diverted`, `dropped`; empty for answers, which pass it by.
    pub verdict: &'static str,
    /// The outcome of the decision behind that.
    pub outcome: Option<PlacementOutcome>,
    /// How its connection ends with it: `completed`, `replaced` by another of its client's, or the cause of failure; empty
    /// if it does not.
    pub ended: &'static str,
}
