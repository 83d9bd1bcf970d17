//! The modified eligible backends: what zonal affinity makes of the original ones (rules ZON-1 to ZON-13).
//!
//! [`decide`] returns every set on the way, so that `explain` prints what the engine used.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::backend::{BackendSet, Roster};
use super::eligibility::{Eligibility, EligibleKind};
use super::ratio::Ratio;
use crate::ids::ZoneId;

/// Whether, and how firmly, new connections stay in their client's zone (ZON-1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(from = "WrittenZonalAffinity", into = "WrittenZonalAffinity")]
pub enum ZonalAffinity {
    /// The original eligible backends are used as they are.
    #[default]
    Disabled,
    /// Connections stay in the zone, even on unhealthy backends.
    StayWithinZone,
    /// Connections stay while at least this share of the zone's backends is eligible.
    SpillCrossZone(Ratio),
}

impl ZonalAffinity {
    /// Its name in the Compute API.
    pub fn spillover(self) -> &'static str {
        match self {
            Self::Disabled => "ZONAL_AFFINITY_DISABLED",
            Self::StayWithinZone => "ZONAL_AFFINITY_STAY_WITHIN_ZONE",
            Self::SpillCrossZone(_) => "ZONAL_AFFINITY_SPILL_CROSS_ZONE",
        }
    }

    /// The spillover ratio, where one has an effect.
    pub fn spillover_ratio(self) -> Option<Ratio> {
        match self {
            Self::SpillCrossZone(ratio) => Some(ratio),
            Self::Disabled | Self::StayWithinZone => None,
        }
    }
}

/// The two fields as the API has them. A ratio without spilling is accepted and ignored (ZON-1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct WrittenZonalAffinity {
    /// Which of the three.
    pub spillover: Spillover,
    /// The ratio of spilling.
    pub spillover_ratio: Ratio,
}

/// Zonal affinity without a ratio, as the API spells it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Spillover {
    /// Off.
    #[default]
    #[serde(rename = "ZONAL_AFFINITY_DISABLED", alias = "DISABLED")]
    Disabled,
    /// Connections stay.
    #[serde(rename = "ZONAL_AFFINITY_STAY_WITHIN_ZONE", alias = "STAY_WITHIN_ZONE")]
    StayWithinZone,
    /// Connections spill.
    #[serde(rename = "ZONAL_AFFINITY_SPILL_CROSS_ZONE", alias = "SPILL_CROSS_ZONE")]
    SpillCrossZone,
}

impl From<WrittenZonalAffinity> for ZonalAffinity {
    fn from(written: WrittenZonalAffinity) -> Self {
        match written.spillover {
            Spillover::Disabled => Self::Disabled,
            Spillover::StayWithinZone => Self::StayWithinZone,
            Spillover::SpillCrossZone => Self::SpillCrossZone(written.spillover_ratio),
        }
    }
}

impl From<ZonalAffinity> for WrittenZonalAffinity {
    fn from(affinity: ZonalAffinity) -> Self {
        let spillover = match affinity {
            ZonalAffinity::Disabled => Spillover::Disabled,
            ZonalAffinity::StayWithinZone => Spillover::StayWithinZone,
            ZonalAffinity::SpillCrossZone(_) => Spillover::SpillCrossZone,
        };
        Self { spillover, spillover_ratio: affinity.spillover_ratio().unwrap_or_default() }
    }
}

/// Which text of the documentation decides when all primaries are unhealthy and spilling is on (ZON-9).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum SpecVersion {
    /// General availability (2026): the zone's own unhealthy backends.
    #[default]
    #[serde(rename = "GA_2026")]
    Ga2026,
    /// Preview (2025): all unhealthy primaries.
    #[serde(rename = "PREVIEW_2025")]
    Preview2025,
}

/// Where a packet enters the load balancer's network, which decides its compatibility (ZON-4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
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
pub enum Outcome {
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

impl Outcome {
    /// Every outcome, in the order of results.
    pub const ALL: [Self; 11] = [
        Self::AffinityDisabled,
        Self::IncompatibleClient,
        Self::NoZonalMatch,
        Self::InZone,
        Self::InZoneUnhealthy,
        Self::Spilled,
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
            Self::TargetPool => "target_pool",
            Self::BackupPool => "backup_pool",
            Self::LastResort => "last_resort",
            Self::OwnBackend => "own_backend",
            Self::Dropped => "dropped",
        }
    }
}

/// The zonal match: the sets on the way and how many of the matched backends are eligible.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ZonalMatch {
    /// Zonal matched backends: those of the test set in the client's zone, healthy or not.
    pub matched: BackendSet,
    /// Matched backends that are original eligible ones too.
    pub intersection: BackendSet,
    /// Size of the intersection.
    pub eligible_count: usize,
    /// Size of the matched set, never 0.
    pub matched_count: usize,
}

/// Everything that led to the backends that a new connection may go to. A set that is not computed is absent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Decision {
    /// What the original eligible backends are.
    pub kind: EligibleKind,
    /// The configured backends in which a zonal match is sought (ZON-6).
    pub test: Option<BackendSet>,
    /// The zonal match, if there is one (ZON-7).
    pub zonal_match: Option<ZonalMatch>,
    /// The modified eligible backends; absent if the connection is dropped.
    pub modified: Option<BackendSet>,
    /// What became of it.
    pub outcome: Outcome,
}

/// What the decision depends on beside the backends.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Policy {
    /// Which backends may serve.
    pub eligibility: Eligibility,
    /// Zonal affinity.
    pub zonal_affinity: ZonalAffinity,
    /// Whether VMs of other regions reach the load balancer. They always reach an external one.
    pub allow_global_access: bool,
    /// Which text decides where the documents differ.
    pub spec_version: SpecVersion,
    /// Whether a Network Security Integration inspects the traffic. With zonal affinity on it drops every packet (ZON-2).
    pub inspected: bool,
}

impl Policy {
    /// Whether every packet is dropped, those of open connections too.
    pub fn drops_everything(&self) -> bool {
        self.inspected && self.zonal_affinity != ZonalAffinity::Disabled
    }
}

/// The backends that a new connection from `origin` may go to (ZON-5, steps 1 and 2).
pub fn decide(roster: &Roster, policy: &Policy, origin: Origin) -> Decision {
    let kind = policy.eligibility.eligible(roster);
    let without_zone =
        |modified, outcome| Decision { kind, test: None, zonal_match: None, modified, outcome };

    let (Some(role), Some(eligible)) = (kind.role(), kind.set()) else {
        return without_zone(None, Outcome::Dropped);
    };
    if policy.drops_everything() {
        return without_zone(None, Outcome::Dropped);
    }
    match kind {
        EligibleKind::HealthyTarget => return without_zone(Some(eligible), Outcome::TargetPool),
        EligibleKind::HealthyBackup => return without_zone(Some(eligible), Outcome::BackupPool),
        EligibleKind::UnhealthyTarget | EligibleKind::UnhealthyBackup => {
            return without_zone(Some(eligible), Outcome::LastResort);
        }
        EligibleKind::HealthyPrimary
        | EligibleKind::HealthyFailover
        | EligibleKind::UnhealthyPrimary
        | EligibleKind::None => {}
    }
    if origin == Origin::OtherRegion && !policy.allow_global_access {
        return without_zone(None, Outcome::Dropped);
    }
    if policy.zonal_affinity == ZonalAffinity::Disabled {
        return without_zone(Some(eligible), Outcome::AffinityDisabled);
    }
    let Origin::Zone(zone) = origin else {
        return without_zone(Some(eligible), Outcome::IncompatibleClient);
    };
    let test = BackendSet::configured(role);
    let matched = test.in_zone(zone);
    let intersection = eligible.in_zone(zone);
    let zonal_match = ZonalMatch {
        matched,
        intersection,
        eligible_count: roster.size(intersection),
        matched_count: roster.size(matched),
    };
    if zonal_match.matched_count == 0 {
        let modified = Some(eligible);
        return Decision {
            kind,
            test: Some(test),
            zonal_match: None,
            modified,
            outcome: Outcome::NoZonalMatch,
        };
    }
    let modified = modified_eligible(policy, kind, eligible, &zonal_match);
    let outcome = if modified.zone.is_none() {
        Outcome::Spilled
    } else if modified.healthy_only {
        Outcome::InZone
    } else {
        Outcome::InZoneUnhealthy
    };
    Decision { kind, test: Some(test), zonal_match: Some(zonal_match), modified: Some(modified), outcome }
}

/// ZON-8 and ZON-9.
fn modified_eligible(
    policy: &Policy,
    kind: EligibleKind,
    eligible: BackendSet,
    zonal_match: &ZonalMatch,
) -> BackendSet {
    let ZonalMatch { matched, intersection, eligible_count, matched_count } = *zonal_match;
    let ratio = match policy.zonal_affinity {
        ZonalAffinity::Disabled => return eligible,
        ZonalAffinity::StayWithinZone if eligible_count > 0 => return intersection,
        ZonalAffinity::StayWithinZone => return matched,
        ZonalAffinity::SpillCrossZone(ratio) => ratio,
    };
    if kind == EligibleKind::UnhealthyPrimary && policy.spec_version == SpecVersion::Preview2025 {
        return eligible;
    }
    // With ratio 0 an empty intersection would reach the ratio (0 >= 0), but it spills.
    if eligible_count > 0 && ratio.is_reached_by(eligible_count, matched_count) {
        intersection
    } else {
        eligible
    }
}
