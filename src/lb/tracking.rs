//! What is tracked, by which fields, and when an entry keeps pointing at its backend (rules CTE-1 to CTE-7).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::affinity::{Fields, SessionAffinity};
use super::packet::{PacketClass, Protocol};
use crate::time::SimDuration;

/// What one tracking entry stands for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum TrackingMode {
    /// A connection.
    #[default]
    PerConnection,
    /// Everything that session affinity keeps together.
    PerSession,
}

/// Whether an entry keeps pointing at a backend that has become unhealthy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Persistence {
    /// Protocols with connections persist, others do not.
    #[default]
    DefaultForProtocol,
    /// Never.
    NeverPersist,
    /// Always.
    AlwaysPersist,
}

/// Which kind of load balancer tracks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Tracker {
    /// An internal passthrough load balancer: every protocol is tracked.
    #[default]
    Internal,
    /// An external one by backend service: with affinity NONE only TCP is tracked (CTE-4).
    External,
    /// An external one by target pool: as by backend service, but an instance that becomes unhealthy loses its entries
    /// (TPA-5, O10).
    TargetPool,
}

/// How connections are tracked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TrackingPolicy {
    /// Whose table it is.
    pub tracker: Tracker,
    /// What an entry stands for.
    pub mode: TrackingMode,
    /// When an entry outlives its backend's health.
    pub persistence: Persistence,
    /// How long an entry lives without packets.
    pub idle_timeout: SimDuration,
}

impl TrackingPolicy {
    /// The idle timeout of an internal load balancer, unless configured (CTE-7).
    pub const INTERNAL_IDLE_TIMEOUT: SimDuration = SimDuration::from_secs(600);
    /// The idle timeout of an external load balancer, which is fixed (CTE-7).
    pub const EXTERNAL_IDLE_TIMEOUT: SimDuration = SimDuration::from_secs(60);

    /// The defaults of a kind of load balancer.
    pub fn new(tracker: Tracker) -> Self {
        let (idle_timeout, persistence) = match tracker {
            Tracker::Internal => (Self::INTERNAL_IDLE_TIMEOUT, Persistence::DefaultForProtocol),
            Tracker::External => (Self::EXTERNAL_IDLE_TIMEOUT, Persistence::DefaultForProtocol),
            Tracker::TargetPool => (Self::EXTERNAL_IDLE_TIMEOUT, Persistence::NeverPersist),
        };
        Self { tracker, mode: TrackingMode::PerConnection, persistence, idle_timeout }
    }

    /// Whether entries end as soon as their backend is unhealthy or removed (TPA-5).
    pub fn ends_with_health(&self) -> bool {
        self.tracker == Tracker::TargetPool
    }

    /// Whether packets of `protocol` have entries (CTE-4).
    #[inline]
    pub fn tracks(&self, protocol: Protocol, affinity: SessionAffinity) -> bool {
        self.tracker == Tracker::Internal || protocol == Protocol::Tcp || affinity != SessionAffinity::None
    }

    /// The fields that find an entry (CTE-3, CTE-4).
    #[inline]
    pub fn fields(&self, affinity: SessionAffinity, class: PacketClass) -> Fields {
        match self.mode {
            TrackingMode::PerConnection => SessionAffinity::ClientIpPortProto.fields(class),
            TrackingMode::PerSession => affinity.fields(class),
        }
    }

    /// Whether a SYN opens a new connection whatever the table holds (CTE-2).
    #[inline]
    pub fn syn_is_new(&self, affinity: SessionAffinity) -> bool {
        self.mode == TrackingMode::PerConnection || affinity.is_five_tuple()
    }

    /// Whether an entry keeps pointing at a backend that has become unhealthy and is still configured (CTE-5).
    pub fn persists(&self, protocol: Protocol, affinity: SessionAffinity) -> bool {
        match self.persistence {
            Persistence::NeverPersist => false,
            Persistence::AlwaysPersist => true,
            Persistence::DefaultForProtocol => {
                matches!(protocol, Protocol::Tcp | Protocol::Sctp)
                    && (self.mode == TrackingMode::PerConnection || affinity.is_five_tuple())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn policy(tracker: Tracker, mode: TrackingMode, persistence: Persistence) -> TrackingPolicy {
        TrackingPolicy { mode, persistence, ..TrackingPolicy::new(tracker) }
    }

    #[test]
    fn cte_3_fields_of_an_entry() {
        use Fields::{Five, Source, Three, Two};
        let per_session =
            policy(Tracker::Internal, TrackingMode::PerSession, Persistence::DefaultForProtocol);
        let per_connection = TrackingPolicy::new(Tracker::Internal);
        for (affinity, ports, none) in [
            (SessionAffinity::None, Five, Three),
            (SessionAffinity::ClientIpPortProto, Five, Three),
            (SessionAffinity::ClientIpProto, Three, Three),
            (SessionAffinity::ClientIp, Two, Two),
            (SessionAffinity::ClientIpNoDestination, Source, Source),
        ] {
            assert_eq!(per_session.fields(affinity, PacketClass::Ports), ports, "{affinity:?}");
            assert_eq!(per_session.fields(affinity, PacketClass::NoPorts), none, "{affinity:?}");
            assert_eq!(per_connection.fields(affinity, PacketClass::Ports), Five, "{affinity:?}");
            assert_eq!(per_connection.fields(affinity, PacketClass::NoPorts), Three, "{affinity:?}");
        }
    }

    #[test]
    fn cte_4_external_load_balancers_track_only_tcp_without_affinity() {
        for tracker in [Tracker::External, Tracker::TargetPool] {
            let policy = TrackingPolicy::new(tracker);
            assert_eq!(policy.idle_timeout, SimDuration::from_secs(60));
            for protocol in Protocol::ALL {
                assert_eq!(policy.tracks(protocol, SessionAffinity::None), protocol == Protocol::Tcp);
                assert!(policy.tracks(protocol, SessionAffinity::ClientIp));
            }
        }
        let internal = TrackingPolicy::new(Tracker::Internal);
        assert!(Protocol::ALL.iter().all(|protocol| internal.tracks(*protocol, SessionAffinity::None)));
    }

    #[test]
    fn cte_5_persistence() {
        use Persistence::{AlwaysPersist, DefaultForProtocol, NeverPersist};
        use TrackingMode::{PerConnection, PerSession};
        for protocol in Protocol::ALL {
            let connected = matches!(protocol, Protocol::Tcp | Protocol::Sctp);
            for affinity in SessionAffinity::ALL {
                let found = |mode, persistence| {
                    policy(Tracker::Internal, mode, persistence).persists(protocol, affinity)
                };
                assert_eq!(found(PerConnection, DefaultForProtocol), connected, "{protocol:?} {affinity:?}");
                assert_eq!(found(PerSession, DefaultForProtocol), connected && affinity.is_five_tuple());
                assert!(!found(PerConnection, NeverPersist) && !found(PerSession, NeverPersist));
                assert!(found(PerConnection, AlwaysPersist));
            }
        }
    }
}
