//! The original eligible backends of a backend service (rules ELIG-1 to ELIG-11).

use serde::{Deserialize, Serialize};

use super::backend::{BackendSet, Role, Roster};
use super::ratio::Ratio;

/// When primaries give way to failover backends, and what happens when nothing is healthy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct FailoverPolicy {
    /// The share of healthy primaries below which the failover backends serve.
    pub failover_ratio: Ratio,
    /// Whether new connections are dropped when no backend of either role is healthy. Without failover
    /// backends it has no effect (ELIG-10).
    pub drop_traffic_if_unhealthy: bool,
    /// Whether a switch between the roles ends existing connections at once.
    pub disable_connection_drain_on_failover: bool,
}

/// What the original eligible backends are (ELIG-7).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EligibleKind {
    /// The healthy primaries.
    HealthyPrimary,
    /// The healthy failover backends.
    HealthyFailover,
    /// All primaries, none of them healthy: the last resort.
    UnhealthyPrimary,
    /// Nothing: new connections are dropped.
    None,
}

impl EligibleKind {
    /// Its name in results.
    pub fn name(self) -> &'static str {
        match self {
            Self::HealthyPrimary => "healthy_primary",
            Self::HealthyFailover => "healthy_failover",
            Self::UnhealthyPrimary => "unhealthy_primary",
            Self::None => "none",
        }
    }

    /// The role that serves, if any does.
    pub fn role(self) -> Option<Role> {
        match self {
            Self::HealthyPrimary | Self::UnhealthyPrimary => Some(Role::Primary),
            Self::HealthyFailover => Some(Role::Failover),
            Self::None => None,
        }
    }

    /// The eligible backends.
    pub fn set(self) -> Option<BackendSet> {
        match self {
            Self::HealthyPrimary => Some(BackendSet::healthy(Role::Primary)),
            Self::HealthyFailover => Some(BackendSet::healthy(Role::Failover)),
            Self::UnhealthyPrimary => Some(BackendSet::configured(Role::Primary)),
            Self::None => None,
        }
    }
}

/// The original eligible backends: a function of current health only, without hysteresis (ELIG-6).
pub fn original_eligible(roster: &Roster, policy: &FailoverPolicy) -> EligibleKind {
    let primaries = roster.size(BackendSet::configured(Role::Primary));
    let failovers = roster.size(BackendSet::configured(Role::Failover));
    let healthy_primaries = roster.size(BackendSet::healthy(Role::Primary));
    let healthy_failovers = roster.size(BackendSet::healthy(Role::Failover));

    if healthy_primaries == 0 && healthy_failovers == 0 {
        let dropped = policy.drop_traffic_if_unhealthy && failovers > 0;
        return if dropped || primaries == 0 { EligibleKind::None } else { EligibleKind::UnhealthyPrimary };
    }
    if healthy_primaries == 0 {
        return EligibleKind::HealthyFailover;
    }
    if healthy_failovers == 0 || policy.failover_ratio.is_reached_by(healthy_primaries, primaries) {
        return EligibleKind::HealthyPrimary;
    }
    EligibleKind::HealthyFailover
}
