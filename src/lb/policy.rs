//! What a policy is asked, and what it answers.

use crate::ids::ZoneId;

/// Where a packet enters the load balancer's network, which decides its compatibility (ZON-4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TrafficOrigin {
    /// A VM in this zone of the region: the only compatible origin.
    Zone(ZoneId),
    /// A Cloud VPN tunnel or an Interconnect VLAN attachment.
    Hybrid,
    /// A VM of another region; it gets through to an internal load balancer with global access only.
    OtherRegion,
    /// A consumer of a Private Service Connect published service.
    PrivateServiceConnect,
    /// The internet. It reaches external load balancers only.
    Internet,
}

/// What became of a new connection's choice of backends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PlacementOutcome {
    /// Zonal affinity is off.
    AffinityDisabled,
    /// The client can have no zonal affinity.
    IncompatibleClient,
    /// No backend of the serving role is configured in the client's zone.
    NoZonalMatch,
    /// The zone's eligible backends.
    InZone,
    /// The zone's backends, none of them healthy.
    InZoneUnhealthy,
    /// All eligible backends, because too few of the zone's are.
    Spilled,
    /// Several sets with a weight each, as policies of other systems share traffic out.
    Split,
    /// The healthy instances of the target pool.
    TargetPool,
    /// The healthy instances of its backup pool.
    BackupPool,
    /// All instances of a pool, none of them healthy.
    LastResort,
    /// The client itself, a backend that sends to its own load balancer (ELIG-14).
    OwnBackend,
    /// No backend: the packet is dropped.
    Dropped,
}

impl PlacementOutcome {
    /// Every outcome, in the order of results.
    pub const ALL: [Self; 12] = [
        Self::AffinityDisabled,
        Self::IncompatibleClient,
        Self::NoZonalMatch,
        Self::InZone,
        Self::InZoneUnhealthy,
        Self::Spilled,
        Self::Split,
        Self::TargetPool,
        Self::BackupPool,
        Self::LastResort,
        Self::OwnBackend,
        Self::Dropped,
    ];

    /// Its name in results.
    pub fn name(self) -> &'static str {
        match self {
            Self::AffinityDisabled => "affinity_disabled",
            Self::IncompatibleClient => "incompatible_client",
            Self::NoZonalMatch => "no_zonal_match",
            Self::InZone => "in_zone",
            Self::InZoneUnhealthy => "in_zone_unhealthy",
            Self::Spilled => "spilled",
            Self::Split => "split",
            Self::TargetPool => "target_pool",
            Self::BackupPool => "backup_pool",
            Self::LastResort => "last_resort",
            Self::OwnBackend => "own_backend",
            Self::Dropped => "dropped",
        }
    }
}
