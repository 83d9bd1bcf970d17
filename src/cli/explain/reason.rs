//! Why a decision came out as it did, in words.

use crate::lb::backend::{BackendSet, Role, Roster};
use crate::lb::eligibility::EligibleKind;
use crate::lb::zonal_affinity::{Decision, Origin, Outcome, ZonalAffinity, ZonalMatch};
use crate::sim::scenario::Scenario;

/// Why `decision` came out as it did.
pub(super) fn because(scenario: &Scenario, roster: &Roster, origin: Origin, decision: &Decision) -> String {
    let affinity = scenario.policy.zonal_affinity;
    match (decision.outcome, decision.zonal_match) {
        (Outcome::Dropped, _) => dropped(roster, decision),
        (Outcome::AffinityDisabled, _) => "zonal affinity is disabled".to_owned(),
        (Outcome::IncompatibleClient, _) => match origin {
            Origin::OtherRegion => "a VM of another region never has zonal affinity".to_owned(),
            Origin::Hybrid | Origin::Zone(_) => {
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

pub(super) fn role_name(role: Role) -> &'static str {
    match role {
        Role::Primary => "primary",
        Role::Failover => "failover",
    }
}
