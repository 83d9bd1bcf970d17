//! Which fields of a packet select its backend, and which find its tracking entry (rules AFF-1 to AFF-8, CTE-3).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::packet::{Endpoint, FiveTuple, PacketClass, Protocol};
use crate::random::mix;

/// Session affinity as configured (AFF-1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum SessionAffinity {
    /// No explicit choice: hashes like `ClientIpPortProto` (AFF-2).
    #[default]
    None,
    /// All five fields.
    ClientIpPortProto,
    /// Addresses and protocol.
    ClientIpProto,
    /// Addresses.
    ClientIp,
    /// The client's address alone. Internal load balancers only.
    ClientIpNoDestination,
}

impl SessionAffinity {
    /// Every session affinity.
    pub const ALL: [Self; 5] = [
        Self::None,
        Self::ClientIpPortProto,
        Self::ClientIpProto,
        Self::ClientIp,
        Self::ClientIpNoDestination,
    ];

    /// Its name in the Compute API.
    pub fn name(self) -> &'static str {
        // In the order of the variants.
        ["NONE", "CLIENT_IP_PORT_PROTO", "CLIENT_IP_PROTO", "CLIENT_IP", "CLIENT_IP_NO_DESTINATION"]
            [self as usize]
    }

    /// Whether ports count where there are any: connections of one client may part.
    pub fn is_five_tuple(self) -> bool {
        matches!(self, Self::None | Self::ClientIpPortProto)
    }

    /// The fields that select a backend for a packet of this class (AFF-4).
    #[inline]
    pub fn fields(self, class: PacketClass) -> Fields {
        match (self, class) {
            (Self::None | Self::ClientIpPortProto, PacketClass::Ports) => Fields::Five,
            (Self::None | Self::ClientIpPortProto | Self::ClientIpProto, _) => Fields::Three,
            (Self::ClientIp, _) => Fields::Two,
            (Self::ClientIpNoDestination, _) => Fields::Source,
        }
    }
}

/// Which fields of a packet count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fields {
    /// Addresses, ports, protocol.
    Five,
    /// Addresses and protocol.
    Three,
    /// Addresses.
    Two,
    /// The source address.
    Source,
}

/// The protocol of fields that do not tell protocols apart.
const ANY_PROTOCOL: u8 = 0xFF;

impl Fields {
    /// A packet's five-tuple, with what does not count set to nothing. `None` stands for any protocol.
    #[inline]
    pub fn of(self, tuple: &FiveTuple) -> (Endpoint, Endpoint, Option<Protocol>) {
        let FiveTuple { source, destination, protocol } = *tuple;
        let without_port = |endpoint: Endpoint| Endpoint { port: 0, ..endpoint };
        match self {
            Self::Five => (source, destination, Some(protocol)),
            Self::Three => (without_port(source), without_port(destination), Some(protocol)),
            Self::Two => (without_port(source), without_port(destination), None),
            Self::Source => (without_port(source), Endpoint { ip: 0, port: 0 }, None),
        }
    }

    /// The hash that selects a backend: equal in both directions of a connection (AFF-8), except over the source alone.
    #[inline]
    pub fn selection_hash(self, tuple: &FiveTuple) -> u64 {
        let (source, destination, protocol) = self.of(tuple);
        let word = |endpoint: Endpoint| u64::from(endpoint.ip) << 16 | u64::from(endpoint.port);
        let (a, b) = (word(source), word(destination));
        let protocol = u64::from(protocol.map_or(ANY_PROTOCOL, Protocol::number));
        mix(mix(a.min(b) | protocol << 48) ^ a.max(b))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CLIENT: Endpoint = Endpoint { ip: 0x0A00_0001, port: 40_000 };
    const SERVICE: Endpoint = Endpoint { ip: 0x0A80_0001, port: 80 };
    const TUPLE: FiveTuple = FiveTuple { source: CLIENT, destination: SERVICE, protocol: Protocol::Tcp };

    /// What changes the hash: source address, source port, destination address, destination port, protocol.
    fn sensitivity(fields: Fields) -> [bool; 5] {
        let base = fields.selection_hash(&TUPLE);
        [
            FiveTuple { source: Endpoint { ip: CLIENT.ip + 1, ..CLIENT }, ..TUPLE },
            FiveTuple { source: Endpoint { port: CLIENT.port + 1, ..CLIENT }, ..TUPLE },
            FiveTuple { destination: Endpoint { ip: SERVICE.ip + 1, ..SERVICE }, ..TUPLE },
            FiveTuple { destination: Endpoint { port: 81, ..SERVICE }, ..TUPLE },
            FiveTuple { protocol: Protocol::Udp, ..TUPLE },
        ]
        .map(|other| fields.selection_hash(&other) != base)
    }

    #[test]
    fn aff_4_only_the_fields_of_the_affinity_count() {
        const FIVE: [bool; 5] = [true; 5];
        const THREE: [bool; 5] = [true, false, true, false, true];
        const TWO: [bool; 5] = [true, false, true, false, false];
        const SOURCE: [bool; 5] = [true, false, false, false, false];
        for (affinity, with_ports, without) in [
            (SessionAffinity::None, FIVE, THREE),
            (SessionAffinity::ClientIpPortProto, FIVE, THREE),
            (SessionAffinity::ClientIpProto, THREE, THREE),
            (SessionAffinity::ClientIp, TWO, TWO),
            (SessionAffinity::ClientIpNoDestination, SOURCE, SOURCE),
        ] {
            assert_eq!(sensitivity(affinity.fields(PacketClass::Ports)), with_ports, "{affinity:?}");
            assert_eq!(sensitivity(affinity.fields(PacketClass::NoPorts)), without, "{affinity:?}");
        }
    }

    #[test]
    fn aff_8_both_directions_hash_alike() {
        let back = FiveTuple { source: SERVICE, destination: CLIENT, ..TUPLE };
        for fields in [Fields::Five, Fields::Three, Fields::Two] {
            assert_eq!(fields.selection_hash(&TUPLE), fields.selection_hash(&back), "{fields:?}");
        }
        assert_ne!(Fields::Source.selection_hash(&TUPLE), Fields::Source.selection_hash(&back));
    }

    #[test]
    fn aff_5_as_next_hop_only_the_source_keeps_a_client_together() {
        let to = |ip| FiveTuple { destination: Endpoint { ip, port: 443 }, ..TUPLE };
        assert_ne!(Fields::Two.selection_hash(&to(1)), Fields::Two.selection_hash(&to(2)));
        assert_eq!(Fields::Source.selection_hash(&to(1)), Fields::Source.selection_hash(&to(2)));
    }
}
