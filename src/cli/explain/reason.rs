//! Why a decision came out as it did, in words.

use crate::lb::backend::{BackendSet, Role, Roster};
use crate::lb::eligibility::{Eligibility, EligibleKind};
use crate::lb::policy::{PlacementOutcome, TrafficOrigin};
use crate::lb::ratio::Ratio;
use crate::lb::tracking::Tracker;
use crate::lb::zonal_affinity::{Decision, ZonalAffinity, ZonalMatch};
use crate::sim::scenario::Scenario;

/// Why `decision` came out as it did.
pub(super) fn because(
    scenario: &Scenario,
    roster: &Roster,
    origin: TrafficOrigin,
    decision: &Decision,
) -> String {
    let affinity = scenario.balancer.policy.zonal_affinity;
    if let Eligibility::TargetPool { failover_ratio } = scenario.balancer.policy.eligibility {
        return pool(roster, failover_ratio, decision.kind);
    }
    match (decision.outcome, decision.zonal_match) {
        (PlacementOutcome::Dropped, _) if scenario.balancer.policy.drops_everything() => {
            "a Network Security Integration drops every packet while zonal affinity is on".to_owned()
        }
        (PlacementOutcome::Dropped, _) => dropped(roster, decision),
        (PlacementOutcome::AffinityDisabled, _)
            if scenario.balancer.tracking.tracker == Tracker::External =>
        {
            "an external load balancer has no zonal affinity".to_owned()
        }
        (PlacementOutcome::AffinityDisabled, _) => "zonal affinity is disabled".to_owned(),
        (PlacementOutcome::IncompatibleClient, _) => match origin {
            TrafficOrigin::OtherRegion => "a VM of another region never has zonal affinity".to_owned(),
            TrafficOrigin::PrivateServiceConnect => {
                "a consumer of a Private Service Connect published service never has zonal affinity"
                    .to_owned()
            }
            TrafficOrigin::Hybrid | TrafficOrigin::Zone(_) | TrafficOrigin::Internet => {
                "a client behind Cloud VPN or Interconnect never has zonal affinity".to_owned()
            }
        },
        (_, None) => {
            let role = decision.kind.role().map_or("serving", role_name);
            format!("no {role} backend is configured in the client's zone")
        }
        (outcome, Some(found)) => matched(affinity, decision.kind, outcome, found),
    }
}

fn dropped(roster: &Roster, decision: &Decision) -> String {
    let primaries = roster.size(BackendSet::configured(Role::Primary));
    if decision.kind != EligibleKind::None {
        "a VM of another region reaches the load balancer only with allow_global_access".to_owned()
    } else if primaries == 0 {
        "no primary backend is configured, and no failover backend is healthy".to_owned()
    } else {
        "no backend is healthy, and drop_traffic_if_unhealthy is on".to_owned()
    }
}

fn matched(
    affinity: ZonalAffinity,
    kind: EligibleKind,
    outcome: PlacementOutcome,
    found: ZonalMatch,
) -> String {
    let ZonalMatch { eligible_count, matched_count, .. } = found;
    let share = eligible_count as f64 / matched_count as f64;
    let count = format!("{eligible_count} of {matched_count} zonal matched backends eligible ({share:.3})");
    if kind == EligibleKind::UnhealthyPrimary {
        return match outcome {
            PlacementOutcome::Spilled => {
                format!("{count}, but all are unhealthy, and the preview's text spills then")
            }
            _ => format!("{count}: all primaries are unhealthy, and the zone's own are the last resort"),
        };
    }
    match (affinity, outcome) {
        (ZonalAffinity::StayWithinZone, PlacementOutcome::InZone) => {
            format!("{count}: staying within the zone")
        }
        (ZonalAffinity::StayWithinZone, _) => {
            format!("{count}: staying within the zone, on its unhealthy backends")
        }
        (ZonalAffinity::SpillCrossZone(ratio), _) if ratio.is_zero() => match outcome {
            PlacementOutcome::InZone => format!("{count}: spillover ratio 0.0 needs only one"),
            _ => format!("{count}: spillover ratio 0.0 spills when there is none"),
        },
        (ZonalAffinity::SpillCrossZone(ratio), PlacementOutcome::InZone) => {
            format!("{count} >= spillover ratio {:?}", ratio.value())
        }
        (ZonalAffinity::SpillCrossZone(ratio), _) => format!("{count} < spillover ratio {:?}", ratio.value()),
        (ZonalAffinity::Disabled, _) => "zonal affinity is disabled".to_owned(),
    }
}

/// The failover condition of target pools that applied: the row of table TPF-2, or TPF-3 without a backup in use.
fn pool(roster: &Roster, failover_ratio: Option<Ratio>, kind: EligibleKind) -> String {
    let size = |role| roster.size(BackendSet::configured(role));
    let healthy = |role| roster.size(BackendSet::healthy(role));
    let (target, healthy_target) = (size(Role::Primary), healthy(Role::Primary));
    let (backup, healthy_backup) = (size(Role::Failover), healthy(Role::Failover));
    let found = if target == 0 {
        "the target pool is empty".to_owned()
    } else {
        format!("{healthy_target} of {target} instances of the target pool healthy")
    };
    let Some(ratio) = failover_ratio else {
        let end = if kind.is_last_resort() { ": all of them are the last resort" } else { "" };
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
    match kind {
        EligibleKind::HealthyTarget if ratio.is_zero() => {
            format!("{found}: failover ratio 0.0 needs only one")
        }
        EligibleKind::HealthyTarget if ratio.is_reached_by(healthy_target, target) => against_ratio,
        EligibleKind::HealthyTarget => format!("{against_ratio}, but {other}: the remaining ones serve"),
        EligibleKind::HealthyBackup if ratio.is_zero() && target > 0 => {
            format!("{found}: failover ratio 0.0 needs one; {other}")
        }
        EligibleKind::HealthyBackup => format!("{against_ratio}, and {other}"),
        EligibleKind::UnhealthyTarget => {
            format!("{found}, and {other}: all of the target pool are the last resort")
        }
        EligibleKind::UnhealthyBackup => {
            format!("{found}, and {other}: all of the backup pool are the last resort")
        }
        _ => format!("{found}, and so is its backup pool"),
    }
}

pub(super) fn role_name(role: Role) -> &'static str {
    match role {
        Role::Primary => "primary",
        Role::Failover => "failover",
    }
}
