//! What the load balancer sees of a packet, and the keys that it makes of it.

use super::zonal_affinity::Origin;
use crate::random::mix;

/// An address and a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Endpoint {
    /// An IPv4 address as a number.
    pub ip: u32,
    /// A port.
    pub port: u16,
}

impl Endpoint {
    fn word(self) -> u64 {
        u64::from(self.ip) << 16 | u64::from(self.port)
    }
}

/// The protocol of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// TCP, IP protocol 6.
    Tcp,
}

impl Protocol {
    /// The number of the protocol in the IP header.
    pub fn number(self) -> u8 {
        match self {
            Self::Tcp => 6,
        }
    }

    /// A number below 15 for tracking keys.
    pub(super) fn tracking_number(self) -> u8 {
        self as u8
    }
}

/// The five fields that name a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FiveTuple {
    /// Where the packet comes from.
    pub source: Endpoint,
    /// Where it is sent: the address of the forwarding rule.
    pub destination: Endpoint,
    /// Its protocol.
    pub protocol: Protocol,
}

/// A packet from a client. (The load balancer never sees the answers: backends send them directly, CTE-13.)
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet {
    /// The connection it belongs to.
    pub tuple: FiveTuple,
    /// Whether it opens a connection.
    pub syn: bool,
    /// Where it enters the network.
    pub origin: Origin,
}

impl FiveTuple {
    /// The hash that selects a backend, over all five fields (AFF-4), equal in both directions (AFF-8).
    #[inline]
    pub fn selection_hash(&self) -> u64 {
        let (a, b) = (self.source.word(), self.destination.word());
        mix(mix(a.min(b) | u64::from(self.protocol.number()) << 48) ^ a.max(b))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_directions_hash_alike_and_every_field_counts() {
        let client = Endpoint { ip: 0x0A00_0001, port: 40_000 };
        let service = Endpoint { ip: 0x0A80_0001, port: 80 };
        let tuple = FiveTuple { source: client, destination: service, protocol: Protocol::Tcp };
        let back = FiveTuple { source: service, destination: client, ..tuple };
        assert_eq!(tuple.selection_hash(), back.selection_hash());
        for other in [
            FiveTuple { source: Endpoint { ip: client.ip + 1, ..client }, ..tuple },
            FiveTuple { source: Endpoint { port: client.port + 1, ..client }, ..tuple },
            FiveTuple { destination: Endpoint { ip: service.ip + 1, ..service }, ..tuple },
            FiveTuple { destination: Endpoint { port: 81, ..service }, ..tuple },
        ] {
            assert_ne!(tuple.selection_hash(), other.selection_hash());
        }
    }
}
