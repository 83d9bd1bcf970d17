//! What the load balancer sees of a packet.

use schemars::JsonSchema;
use serde::Deserialize;

use super::policy::TrafficOrigin;

/// An address and a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Endpoint {
    /// An IPv4 address as a number.
    pub ip: u32,
    /// A port.
    pub port: u16,
}

/// The protocol of a packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Deserialize, JsonSchema)]
#[serde(rename_all = "UPPERCASE")]
pub enum Protocol {
    /// TCP, IP protocol 6.
    #[default]
    Tcp,
    /// UDP, IP protocol 17.
    Udp,
    /// SCTP, IP protocol 132.
    Sctp,
    /// Encapsulating Security Payload, IP protocol 50.
    Esp,
    /// Authentication Header, IP protocol 51.
    Ah,
    /// Generic Routing Encapsulation, IP protocol 47.
    Gre,
    /// ICMP, IP protocol 1.
    Icmp,
}

impl Protocol {
    /// Every protocol.
    pub const ALL: [Self; 7] = [Self::Tcp, Self::Udp, Self::Sctp, Self::Esp, Self::Ah, Self::Gre, Self::Icmp];

    /// Its name in the Compute API and in results.
    pub fn name(self) -> &'static str {
        // In the order of the variants.
        ["TCP", "UDP", "SCTP", "ESP", "AH", "GRE", "ICMP"][self as usize]
    }

    /// The number of the protocol in the IP header.
    #[inline]
    pub fn number(self) -> u8 {
        // In the order of the variants: a table costs every packet less than branches do.
        const NUMBERS: [u8; Protocol::ALL.len()] = [6, 17, 132, 50, 51, 47, 1];
        NUMBERS[self as usize]
    }
}

/// The five fields that name a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FiveTuple {
    /// Where the packet comes from.
    pub source: Endpoint,
    /// Where it is sent: the address of the forwarding rule, or as next hop any destination.
    pub destination: Endpoint,
    /// Its protocol.
    pub protocol: Protocol,
}

impl FiveTuple {
    /// That of an answer.
    pub fn reversed(self) -> Self {
        Self { source: self.destination, destination: self.source, ..self }
    }
}

/// What a packet is within its connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PacketKind {
    /// It opens a TCP connection.
    Syn,
    /// Any other whole packet.
    Data,
    /// The first part of a datagram that was too large: it still carries the ports.
    FirstFragment,
    /// A later part of a datagram: it carries no ports.
    LaterFragment,
}

/// A packet from a client, or where routes lead answers through a load balancer, from a server. (Others never see answers:
/// backends send them directly, CTE-13.)
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet {
    /// The connection it belongs to.
    pub tuple: FiveTuple,
    /// What it is in it.
    pub kind: PacketKind,
    /// Where it enters the network.
    pub origin: TrafficOrigin,
}

/// Whether all five fields of a packet count, or only those that every packet has (AFF-3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PacketClass {
    /// Unfragmented, with ports: TCP, unfragmented UDP, SCTP.
    Ports,
    /// Everything else: any fragment, the first one included, and protocols without ports.
    NoPorts,
}

impl Packet {
    /// Its class.
    #[inline]
    pub fn class(&self) -> PacketClass {
        let whole = matches!(self.kind, PacketKind::Syn | PacketKind::Data);
        match self.tuple.protocol {
            Protocol::Tcp | Protocol::Udp | Protocol::Sctp if whole => PacketClass::Ports,
            _ => PacketClass::NoPorts,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn aff_3_classes() {
        let class = |protocol, kind| {
            let endpoint = Endpoint { ip: 1, port: 1 };
            let tuple = FiveTuple { source: endpoint, destination: endpoint, protocol };
            Packet { tuple, kind, origin: TrafficOrigin::Hybrid }.class()
        };
        for protocol in Protocol::ALL {
            let ported = matches!(protocol, Protocol::Tcp | Protocol::Udp | Protocol::Sctp);
            assert_eq!(class(protocol, PacketKind::Data) == PacketClass::Ports, ported, "{protocol:?}");
            assert_eq!(class(protocol, PacketKind::FirstFragment), PacketClass::NoPorts);
            assert_eq!(class(protocol, PacketKind::LaterFragment), PacketClass::NoPorts);
        }
    }
}
