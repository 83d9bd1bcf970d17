//! Why a decision came out as it did, in words.

use crate::lb::backend::{BackendSet, Role, Roster};
use crate::lb::eligibility::{Eligibility, EligibleKind};
use crate::lb::zonal_affinity::{Decision, Origin, Outcome, ZonalAffinity, ZonalMatch};
use crate::sim::scenario::Scenario;

/// Why `decision` came out as it did.
pub(super) fn because(scenario: &Scenario, roster: &Roster, origin: Origin, decision: &Decision) -> String {
    let affinity = scenario.balancer.policy.zonal_affinity;
    match (decision.outcome, decision.zonal_match) {
        (Outcome::Dropped, _) => dropped(roster, decision),
        (Outcome::AffinityDisabled, _) => "zonal affinity is disabled".to_owned(),
        (Outcome::IncompatibleClient, _) => match origin {
            Origin::OtherRegion => "a VM of another region never has zonal affinity".to_owned(),
            Origin::PrivateServiceConnect => {
                "a consumer of a Private Service Connect published service never has zonal affinity"
                    .to_owned()
            }
            Origin::Hybrid | Origin::Zone(_) | Origin::Internet => {
                "a client behind Cloud VPN or Interconnect never has zonal affinity".to_owned()
            }
        },
        (Outcome::TargetPool | Outcome::BackupPool | Outcome::LastResort, _) => {
            pool(scenario, roster, decision)
        }
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

fn matched(affinity: ZonalAffinity, kind: EligibleKind, outcome: Outcome, found: ZonalMatch) -> String {
    let ZonalMatch { eligible_count, matched_count, .. } = found;
    let share = eligible_count as f64 / matched_count as f64;
    let count = format!("{eligible_count} of {matched_count} zonal matched backends eligible ({share:.3})");
    if kind == EligibleKind::UnhealthyPrimary {
        return match outcome {
            Outcome::Spilled => format!("{count}, but all are unhealthy, and the preview's text spills then"),
            _ => format!("{count}: all primaries are unhealthy, and the zone's own are the last resort"),
        };
    }
    match (affinity, outcome) {
        (ZonalAffinity::StayWithinZone, Outcome::InZone) => format!("{count}: staying within the zone"),
        (ZonalAffinity::StayWithinZone, _) => {
            format!("{count}: staying within the zone, on its unhealthy backends")
        }
        (ZonalAffinity::SpillCrossZone(ratio), _) if ratio.is_zero() => match outcome {
            Outcome::InZone => format!("{count}: spillover ratio 0.0 needs only one"),
            _ => format!("{count}: spillover ratio 0.0 spills when there is none"),
        },
        (ZonalAffinity::SpillCrossZone(ratio), Outcome::InZone) => {
            format!("{count} >= spillover ratio {:?}", ratio.value())
        }
        (ZonalAffinity::SpillCrossZone(ratio), _) => format!("{count} < spillover ratio {:?}", ratio.value()),
        (ZonalAffinity::Disabled, _) => "zonal affinity is disabled".to_owned(),
    }
}

/// The failover condition that applied (TPF-2).
fn pool(scenario: &Scenario, roster: &Roster, decision: &Decision) -> String {
    let all = roster.size(BackendSet::configured(Role::Primary));
    let healthy = roster.size(BackendSet::healthy(Role::Primary));
    let backup = roster.size(BackendSet::healthy(Role::Failover));
    let count = format!("{healthy} of {all} instances of the target pool healthy");
    let Eligibility::TargetPool { failover_ratio: Some(ratio) } = scenario.balancer.policy.eligibility else {
        return match healthy {
            0 => format!("{count}, and there is no backup pool in use: all of them are the last resort"),
            _ => format!("{count}, and there is no backup pool in use"),
        };
    };
    let share = if all == 0 { 0.0 } else { healthy as f64 / all as f64 };
    let enough = healthy > 0 && share >= ratio.value();
    let sign = if share >= ratio.value() { ">=" } else { "<" };
    let compared = format!("{count} ({share:.3}) {sign} failover ratio {:?}", ratio.value());
    match decision.kind {
        EligibleKind::HealthyTarget if enough => compared,
        EligibleKind::HealthyTarget => format!("{compared}, but no instance of the backup pool is healthy"),
        EligibleKind::HealthyBackup if ratio.is_zero() => {
            format!("{count}, and {backup} of the backup pool: failover ratio 0.0 needs one")
        }
        EligibleKind::HealthyBackup => format!("{compared}, and {backup} instances of the backup pool healthy"),
        EligibleKind::UnhealthyBackup => {
            "the target pool is empty and no instance of the backup pool is healthy: all of the backup pool are the last resort".to_owned()
        }
        _ => format!("{count}, and none of the backup pool: all of the target pool are the last resort"),
    }
}

pub(super) fn role_name(role: Role) -> &'static str {
    match role {
        Role::Primary => "primary",
        Role::Failover => "failover",
    }
}
