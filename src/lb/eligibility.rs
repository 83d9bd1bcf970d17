//! The original eligible backends of a backend service (rules ELIG-1 to ELIG-11).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::backend::{BackendSet, Role, Roster};
use super::ratio::Ratio;
use super::target_pool::eligible_instances;

/// When primaries give way to failover backends, and what happens when nothing is healthy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
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

/// What the original eligible backends are (ELIG-7), or the eligible instances of a target pool (TPF-2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EligibleKind {
    /// The healthy primaries.
    HealthyPrimary,
    /// The healthy failover backends.
    HealthyFailover,
    /// All primaries, none of them healthy: the last resort.
    UnhealthyPrimary,
    /// The healthy instances of the target pool.
    HealthyTarget,
    /// The healthy instances of its backup pool.
    HealthyBackup,
    /// All instances of the target pool, none of them healthy: the last resort.
    UnhealthyTarget,
    /// All instances of the backup pool of an empty target pool, none of them healthy: the last resort.
    UnhealthyBackup,
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
            Self::HealthyTarget => "healthy_target",
            Self::HealthyBackup => "healthy_backup",
            Self::UnhealthyTarget => "unhealthy_target",
            Self::UnhealthyBackup => "unhealthy_backup",
            Self::None => "none",
        }
    }

    /// The role that serves, if any does.
    pub fn role(self) -> Option<Role> {
        self.set().map(|set| set.role)
    }

    /// The eligible backends.
    pub fn set(self) -> Option<BackendSet> {
        match self {
            Self::HealthyPrimary | Self::HealthyTarget => Some(BackendSet::healthy(Role::Primary)),
            Self::HealthyFailover | Self::HealthyBackup => Some(BackendSet::healthy(Role::Failover)),
            Self::UnhealthyPrimary | Self::UnhealthyTarget => Some(BackendSet::configured(Role::Primary)),
            Self::UnhealthyBackup => Some(BackendSet::configured(Role::Failover)),
            Self::None => None,
        }
    }

    /// Whether no backend of the set is healthy.
    pub fn is_last_resort(self) -> bool {
        matches!(self, Self::UnhealthyPrimary | Self::UnhealthyTarget | Self::UnhealthyBackup)
    }
}

/// Which backends may serve: what a load balancer's kind and policy make of health.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Eligibility {
    /// A backend service with its failover policy.
    BackendService(FailoverPolicy),
    /// A target pool.
    TargetPool {
        /// The share of healthy instances below which the backup pool serves; absent where there is no backup pool or
        /// no ratio (TPF-1).
        failover_ratio: Option<Ratio>,
    },
}

impl Default for Eligibility {
    fn default() -> Self {
        Self::BackendService(FailoverPolicy::default())
    }
}

impl Eligibility {
    /// The backends that may serve now.
    pub fn eligible(&self, roster: &Roster) -> EligibleKind {
        match self {
            Self::BackendService(policy) => original_eligible(roster, policy),
            Self::TargetPool { failover_ratio } => eligible_instances(roster, *failover_ratio),
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
