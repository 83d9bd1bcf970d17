//! When TCP sends again what was not acknowledged: what the network lost, what a load balancer dropped, and what met a
//! silent machine look the same to who sent it.

use crate::time::SimDuration;

/// How long a sender waits for an acknowledgement: a time for the first packet, twice as long for each copy of it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Retransmission {
    first: SimDuration,
}

impl Retransmission {
    /// Of a SYN (RFC 6298).
    pub(super) const SYN: Self = Self { first: SimDuration::from_secs(1) };
    /// Of other packets: the least timeout of Linux, which round trips here are too short to lengthen.
    pub(super) const DATA: Self = Self { first: SimDuration::from_millis(200) };

    /// How long it waits for an acknowledgement of the copy with this number; 0 is the packet itself.
    pub(super) fn wait(self, copy: u8) -> SimDuration {
        self.first * (1 << copy.min(20))
    }
}
