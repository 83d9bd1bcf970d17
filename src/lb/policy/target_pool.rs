//! The eligible instances of a target pool with its backup pool (rules TPF-1 to TPF-5).
//!
//! The target pool's instances have the role of primaries, those of its backup pool that of failover backends. A
//! pool without a health check counts as all healthy (TPA-4): its instances are never held unhealthy.

use super::roles::{configured, healthy, role_sets};
use super::{Placement, PlacementOutcome, PolicyState, PolicyStep, TrafficOrigin, Trail, ZonePolicy};
use crate::ids::SetId;
use crate::lb::backend::Role;
use crate::lb::ratio::Ratio;
use crate::lb::roster::Roster;
use crate::lb::sets::{Choice, SetSpec};

/// How a target pool and its backup pool share out connections.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct TargetPoolPolicy {
    /// The share of healthy instances below which the backup pool serves; absent without a pool or a ratio (TPF-1).
    pub failover_ratio: Option<Ratio>,
}

/// What the eligible instances are (TPF-2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum EligibleInstances {
    HealthyTarget,
    HealthyBackup,
    /// All instances of the target pool, none of them healthy: the last resort.
    UnhealthyTarget,
    /// All instances of the backup pool of an empty target pool, none of them healthy: the last resort.
    UnhealthyBackup,
    /// Nothing: new connections are dropped.
    None,
}

impl EligibleInstances {
    fn name(self) -> &'static str {
        // In the order of the variants.
        ["healthy_target", "healthy_backup", "unhealthy_target", "unhealthy_backup", "none"][self as usize]
    }

    fn set(self) -> Option<(SetId, Role, PlacementOutcome)> {
        use PlacementOutcome::{BackupPool, LastResort, TargetPool};
        match self {
            Self::HealthyTarget => Some((healthy(Role::Primary), Role::Primary, TargetPool)),
            Self::HealthyBackup => Some((healthy(Role::Failover), Role::Failover, BackupPool)),
            Self::UnhealthyTarget => Some((configured(Role::Primary), Role::Primary, LastResort)),
            Self::UnhealthyBackup => Some((configured(Role::Failover), Role::Failover, LastResort)),
            Self::None => None,
        }
    }
}

#[derive(Clone, Copy)]
struct PoolSizes {
    target: usize,
    healthy_target: usize,
    backup: usize,
    healthy_backup: usize,
}

impl PoolSizes {
    fn of(roster: &Roster) -> Self {
        Self {
            target: roster.size(configured(Role::Primary)),
            healthy_target: roster.size(healthy(Role::Primary)),
            backup: roster.size(configured(Role::Failover)),
            healthy_backup: roster.size(healthy(Role::Failover)),
        }
    }

    /// Whether enough of the target pool is healthy. The share of healthy instances of an empty pool counts as 0 (O16).
    fn reach(self, ratio: Ratio) -> bool {
        self.healthy_target > 0 && ratio.is_reached_by(self.healthy_target, self.target)
    }
}

impl ZonePolicy for TargetPoolPolicy {
    fn sets(&mut self, _state: PolicyState<'_>) -> Vec<SetSpec> {
        role_sets(0)
    }

    fn decide(&self, state: PolicyState<'_>, _origin: TrafficOrigin, trail: &mut Trail) -> Placement {
        let sizes = PoolSizes::of(state.roster);
        let eligible = self.eligible(sizes);
        let set = eligible.set();
        let choice = set.map_or(Choice::Nothing, |(set, ..)| Choice::One(set));
        trail.note(|| {
            let (kind, because) = (Some(eligible.name()), self.because(sizes, eligible));
            vec![PolicyStep { name: "eligible", kind, to: Some(choice.clone()), because }]
        });
        let outcome = set.map_or(PlacementOutcome::Dropped, |(.., outcome)| outcome);
        Placement { choice, outcome, serving: set.map(|(_, role, _)| role) }
    }

    fn role_labels(&self) -> [&'static str; 2] {
        ["target pool", "backup pool"]
    }
}

impl TargetPoolPolicy {
    fn eligible(self, sizes: PoolSizes) -> EligibleInstances {
        use EligibleInstances::{HealthyBackup, HealthyTarget, None, UnhealthyBackup, UnhealthyTarget};
        let has_backup = self.failover_ratio.is_some();
        if self.failover_ratio.is_some_and(|ratio| sizes.reach(ratio)) {
            HealthyTarget
        } else if has_backup && sizes.healthy_backup > 0 {
            HealthyBackup
        } else if sizes.healthy_target > 0 {
            HealthyTarget
        } else if sizes.target > 0 {
            UnhealthyTarget
        } else if has_backup && sizes.backup > 0 {
            UnhealthyBackup
        } else {
            None
        }
    }

    /// The failover condition that applied: the row of table TPF-2, or TPF-3 without a backup in use.
    fn because(self, sizes: PoolSizes, eligible: EligibleInstances) -> String {
        use EligibleInstances::{HealthyBackup, HealthyTarget, None, UnhealthyBackup, UnhealthyTarget};
        let PoolSizes { target, healthy_target, backup, healthy_backup } = sizes;
        let found = if target == 0 {
            "the target pool is empty".to_owned()
        } else {
            format!("{healthy_target} of {target} instances of the target pool healthy")
        };
        let Some(ratio) = self.failover_ratio else {
            let end = if eligible == UnhealthyTarget { ": all of them are the last resort" } else { "" };
            return format!("{found}, and no backup pool is in use{end}");
        };
        let against_ratio = if target == 0 || ratio.is_zero() {
            found.clone()
        } else {
            let sign = if ratio.is_reached_by(healthy_target, target) { ">=" } else { "<" };
            let share = healthy_target as f64 / target as f64;
            format!("{found} ({share:.3}) {sign} failover ratio {:?}", ratio.value())
        };
        let other = format!("{healthy_backup} of {backup} instances of the backup pool healthy");
        match eligible {
            HealthyTarget if ratio.is_zero() => format!("{found}: failover ratio 0.0 needs only one"),
            HealthyTarget if sizes.reach(ratio) => against_ratio,
            HealthyTarget => format!("{against_ratio}, but {other}: the remaining ones serve"),
            HealthyBackup if ratio.is_zero() && target > 0 => {
                format!("{found}: failover ratio 0.0 needs one; {other}")
            }
            HealthyBackup => format!("{against_ratio}, and {other}"),
            UnhealthyTarget => format!("{found}, and {other}: all of the target pool are the last resort"),
            UnhealthyBackup => format!("{found}, and {other}: all of the backup pool are the last resort"),
            None => format!("{found}, and so is its backup pool"),
        }
    }
}
