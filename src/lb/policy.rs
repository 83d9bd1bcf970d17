//! Where new connections of an origin go in a state of health.
//!
//! A policy is a file in `policy/` that implements [`ZonePolicy`], and a variant of [`any::AnyPolicy`]. It lists the
//! sets of backends that it needs, and answers for an origin with one of them, a weighted split over several, or
//! nothing. It is asked when something changes, never for a packet.

pub mod any;
pub mod backend_service;
mod roles;
pub mod target_pool;

use serde::{Deserialize, Serialize};

use super::backend::Role;
use super::roster::Roster;
use super::sets::{Choice, SetSpec};
use super::zonal_affinity::ZonalAffinity;
use crate::ids::ZoneId;
use crate::time::SimTime;

/// What decides where connections go: who is configured and healthy, and when.
#[derive(Clone, Copy, Debug)]
pub struct PolicyState<'a> {
    /// The time, for policies that change by themselves.
    pub now: SimTime,
    /// The backends with the sizes of the policy's sets.
    pub roster: &'a Roster,
}

/// What becomes of new connections from one origin.
#[derive(Clone, Debug, PartialEq)]
pub struct Placement {
    /// Where they go.
    pub choice: Choice,
    /// What that is called in results.
    pub outcome: PlacementOutcome,
    /// The role that serves, if the policy knows roles and any does. It is the same for every origin.
    pub serving: Option<Role>,
}

/// One step on the way to a placement, for people.
#[derive(Clone, Debug, PartialEq)]
pub struct PolicyStep {
    /// Its name.
    pub name: &'static str,
    /// What kind of set it leads to, where it tells kinds apart: words with `_` between them.
    pub kind: Option<&'static str>,
    /// Where connections could go after it; absent if it is not taken.
    pub to: Option<Choice>,
    /// Why, with numbers; empty if the name says all.
    pub because: String,
}

impl PolicyStep {
    /// A step that says all by its name.
    pub fn new(name: &'static str, to: Option<Choice>) -> Self {
        Self { name, kind: None, to, because: String::new() }
    }
}

/// Takes down the steps of a decision, if anybody wants to read them.
#[derive(Debug)]
pub struct Trail(Option<Vec<PolicyStep>>);

impl Trail {
    /// Takes down `steps`: from the backends that may serve at all to the choice, whose reason is that of the whole.
    pub fn note(&mut self, steps: impl FnOnce() -> Vec<PolicyStep>) {
        if let Some(noted) = &mut self.0 {
            noted.extend(steps());
        }
    }
}

/// What becomes of open connections of the old role when the other one serves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RoleSwitch {
    /// They stay where they are.
    Keep,
    /// They end when the failover drain is over.
    Drain,
    /// They end at once.
    End,
}

/// Which backends new connections go to.
pub trait ZonePolicy {
    /// Its name in `explain`; absent for the policies of Google Cloud's own load balancers.
    fn name(&self) -> Option<&'static str> {
        None
    }

    /// The sets that it needs now, each once; their places are their ids. Asked after every change, before it decides.
    fn sets(&mut self, state: PolicyState<'_>) -> Vec<SetSpec>;

    /// Where new connections from `origin` go.
    fn decide(&self, state: PolicyState<'_>, origin: TrafficOrigin, trail: &mut Trail) -> Placement;

    /// Where traffic from `origin` enters, such as the zone of the node that DNS answers with.
    fn enter(&self, _state: PolicyState<'_>, origin: TrafficOrigin) -> TrafficOrigin {
        origin
    }

    /// When it decides otherwise although nothing else changes: the first such moment after `now`.
    fn next_change(&self, _now: SimTime) -> Option<SimTime> {
        None
    }

    /// Whether every packet is dropped, those of open connections too.
    fn drops_everything(&self) -> bool {
        false
    }

    /// What a switch of the serving role means for open connections.
    fn on_role_switch(&self) -> RoleSwitch {
        RoleSwitch::Keep
    }

    /// Zonal affinity as the Compute API has it.
    fn zonal_affinity(&self) -> ZonalAffinity {
        ZonalAffinity::Disabled
    }

    /// What `explain` calls the configured backends of each role, primaries first.
    fn role_labels(&self) -> [&'static str; 2] {
        ["configured: primary", "configured: failover"]
    }
}

/// Where a packet enters the load balancer's network, which decides its compatibility (ZON-4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TrafficOrigin {
    /// A VM in this zone of the region: the only compatible origin.
    Zone(ZoneId),
    /// A Cloud VPN tunnel or an Interconnect VLAN attachment of the region.
    Hybrid,
    /// A VM, a tunnel or an attachment of another region; it gets through to an internal load balancer with global access
    /// only.
    OtherRegion,
    /// A consumer of a Private Service Connect published service.
    PrivateServiceConnect,
    /// The internet. It reaches external load balancers only.
    Internet,
}

/// What became of a new connection's choice of backends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
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
