//! The eligible instances of a target pool with its backup pool (rules TPF-1 to TPF-5).
//!
//! The target pool's instances have the role of primaries, those of its backup pool that of failover backends. A
//! pool without a health check counts as all healthy (TPA-4): its instances are never held unhealthy.

use super::backend::{BackendSet, Role, Roster};
use super::eligibility::EligibleKind;
use super::ratio::Ratio;

/// Where new connections go. `failover_ratio` is absent where the backup behaviour is off: it needs both a backup pool
/// and a ratio (TPF-1).
pub fn eligible_instances(roster: &Roster, failover_ratio: Option<Ratio>) -> EligibleKind {
    let all = |role| roster.size(BackendSet::configured(role));
    let healthy = |role| roster.size(BackendSet::healthy(role));
    let (target, healthy_target) = (all(Role::Primary), healthy(Role::Primary));
    let Some(ratio) = failover_ratio else {
        return match (target, healthy_target) {
            (0, _) => EligibleKind::None,
            (_, 0) => EligibleKind::UnhealthyTarget,
            _ => EligibleKind::HealthyTarget,
        };
    };
    // The share of healthy instances of an empty pool counts as 0 (O16).
    let enough = healthy_target > 0 && ratio.is_reached_by(healthy_target, target);
    if enough {
        EligibleKind::HealthyTarget
    } else if healthy(Role::Failover) > 0 {
        EligibleKind::HealthyBackup
    } else if healthy_target > 0 {
        EligibleKind::HealthyTarget
    } else if target > 0 {
        EligibleKind::UnhealthyTarget
    } else if all(Role::Failover) > 0 {
        EligibleKind::UnhealthyBackup
    } else {
        EligibleKind::None
    }
}
