//! The backends of a backend service: the original eligible ones, by health and failover policy (rules ELIG-1 to
//! ELIG-11), and the modified ones, by zonal affinity (ZON-1 to ZON-13).

use super::roles::{configured, healthy, in_zone, role_sets};
use super::{
    Placement, PlacementOutcome, PolicyState, PolicyStep, RoleSwitch, TrafficOrigin, Trail, ZonePolicy,
};
use crate::ids::SetId;
use crate::lb::backend::Role;
use crate::lb::ratio::Ratio;
use crate::lb::roster::Roster;
use crate::lb::sets::{Choice, SetSpec};
use crate::lb::zonal_affinity::{SpecVersion, ZonalAffinity};

/// When primaries give way to failover backends, and what happens when nothing is healthy.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct FailoverPolicy {
    /// The share of healthy primaries below which the failover backends serve.
    pub failover_ratio: Ratio,
    /// Whether new connections are dropped when no backend is healthy; only with failover backends (ELIG-10).
    pub drop_traffic_if_unhealthy: bool,
    /// Whether a switch between the roles ends existing connections at once.
    pub disable_connection_drain_on_failover: bool,
}

/// How a backend service chooses.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct BackendServicePolicy {
    /// When the failover backends serve.
    pub failover: FailoverPolicy,
    /// Zonal affinity; never on in an external load balancer.
    pub zonal_affinity: ZonalAffinity,
    /// Whether the load balancer is an external one, which everybody reaches.
    pub is_external: bool,
    /// Whether clients of other regions reach an internal one.
    pub allow_global_access: bool,
    /// Which text decides where the documents differ.
    pub spec_version: SpecVersion,
    /// Whether a Network Security Integration inspects the traffic. With zonal affinity on it drops every packet (ZON-2).
    pub inspected: bool,
}

/// The names of the steps, after the sets of the rules.
pub const ORIGINAL_ELIGIBLE: &str = "A    original eligible";
/// The configured backends in which a zonal match is sought (ZON-6).
pub const ZONAL_MATCH_TEST: &str = "B    zonal match test";
/// Those of them in the client's zone, healthy or not (ZON-7).
pub const ZONAL_MATCHED: &str = "C    zonal matched";
/// Those that are original eligible ones too.
pub const INTERSECTION: &str = "A∩C  intersection";

/// What the original eligible backends are (ELIG-7).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::lb) enum OriginalEligible {
    HealthyPrimary,
    HealthyFailover,
    /// All primaries, none of them healthy: the last resort.
    UnhealthyPrimary,
    /// Nothing: new connections are dropped.
    None,
}

impl OriginalEligible {
    /// A function of current health only, without hysteresis (ELIG-6).
    pub(in crate::lb) fn of(roster: &Roster, policy: &FailoverPolicy) -> Self {
        let primaries = roster.size(configured(Role::Primary));
        let failovers = roster.size(configured(Role::Failover));
        let healthy_primaries = roster.size(healthy(Role::Primary));
        let healthy_failovers = roster.size(healthy(Role::Failover));

        if healthy_primaries == 0 && healthy_failovers == 0 {
            let dropped = policy.drop_traffic_if_unhealthy && failovers > 0;
            return if dropped || primaries == 0 { Self::None } else { Self::UnhealthyPrimary };
        }
        if healthy_primaries == 0 {
            return Self::HealthyFailover;
        }
        if healthy_failovers == 0 || policy.failover_ratio.is_reached_by(healthy_primaries, primaries) {
            return Self::HealthyPrimary;
        }
        Self::HealthyFailover
    }

    pub(in crate::lb) fn name(self) -> &'static str {
        // In the order of the variants.
        ["healthy_primary", "healthy_failover", "unhealthy_primary", "none"][self as usize]
    }

    fn set(self) -> Option<(SetId, Role)> {
        match self {
            Self::HealthyPrimary => Some((healthy(Role::Primary), Role::Primary)),
            Self::HealthyFailover => Some((healthy(Role::Failover), Role::Failover)),
            Self::UnhealthyPrimary => Some((configured(Role::Primary), Role::Primary)),
            Self::None => None,
        }
    }
}

#[derive(Clone, Copy, Debug)]
struct Reading {
    eligible: OriginalEligible,
    origin: TrafficOrigin,
    zonal: Option<ZonalMatch>,
    modified: Option<SetId>,
    outcome: PlacementOutcome,
}

/// The sets in which a zonal match is sought, with their sizes: there is one if any backend is matched.
#[derive(Clone, Copy, Debug)]
struct ZonalMatch {
    test: SetId,
    matched: SetId,
    matched_count: usize,
    intersection: SetId,
    eligible_count: usize,
}

impl ZonePolicy for BackendServicePolicy {
    fn sets(&mut self, state: PolicyState<'_>) -> Vec<SetSpec> {
        role_sets(state.roster.zones())
    }

    fn decide(&self, state: PolicyState<'_>, origin: TrafficOrigin, trail: &mut Trail) -> Placement {
        let reading = self.read(state.roster, origin);
        trail.note(|| self.steps(state.roster, &reading));
        Placement {
            choice: choice(reading.modified),
            outcome: reading.outcome,
            serving: reading.eligible.set().map(|(_, role)| role),
        }
    }

    fn drops_everything(&self) -> bool {
        self.inspected && self.zonal_affinity != ZonalAffinity::Disabled
    }

    fn on_role_switch(&self) -> RoleSwitch {
        match self.failover.disable_connection_drain_on_failover {
            true => RoleSwitch::End,
            false => RoleSwitch::Drain,
        }
    }

    fn zonal_affinity(&self) -> ZonalAffinity {
        self.zonal_affinity
    }
}

fn choice(set: Option<SetId>) -> Choice {
    set.map_or(Choice::Nothing, Choice::One)
}

impl BackendServicePolicy {
    /// The backends that a new connection from `origin` may go to (ZON-5, steps 1 and 2).
    fn read(&self, roster: &Roster, origin: TrafficOrigin) -> Reading {
        let eligible = OriginalEligible::of(roster, &self.failover);
        let reading = |zonal, modified, outcome| Reading { eligible, origin, zonal, modified, outcome };
        let unreached =
            origin == TrafficOrigin::OtherRegion && !self.is_external && !self.allow_global_access;
        let Some((set, role)) = eligible.set().filter(|_| !unreached && !self.drops_everything()) else {
            return reading(None, None, PlacementOutcome::Dropped);
        };
        if self.zonal_affinity == ZonalAffinity::Disabled {
            return reading(None, Some(set), PlacementOutcome::AffinityDisabled);
        }
        let TrafficOrigin::Zone(zone) = origin else {
            return reading(None, Some(set), PlacementOutcome::IncompatibleClient);
        };
        let test = configured(role);
        let (matched, intersection) = (in_zone(test, zone), in_zone(set, zone));
        let [matched_count, eligible_count] = [matched, intersection].map(|set| roster.size(set));
        let zonal = ZonalMatch { test, matched, matched_count, intersection, eligible_count };
        let (modified, outcome) = self.modified(eligible, set, &zonal);
        reading(Some(zonal), Some(modified), outcome)
    }

    /// ZON-7 to ZON-9.
    fn modified(
        &self,
        eligible: OriginalEligible,
        set: SetId,
        zonal: &ZonalMatch,
    ) -> (SetId, PlacementOutcome) {
        let ZonalMatch { matched, matched_count, intersection, eligible_count, .. } = *zonal;
        if matched_count == 0 {
            return (set, PlacementOutcome::NoZonalMatch);
        }
        let all_unhealthy = eligible == OriginalEligible::UnhealthyPrimary;
        let stays = match self.zonal_affinity {
            ZonalAffinity::Disabled => false,
            ZonalAffinity::StayWithinZone => true,
            ZonalAffinity::SpillCrossZone(_)
                if all_unhealthy && self.spec_version == SpecVersion::Preview2025 =>
            {
                false
            }
            // With ratio 0 an empty intersection would reach the ratio (0 >= 0), but it spills.
            ZonalAffinity::SpillCrossZone(ratio) => {
                eligible_count > 0 && ratio.is_reached_by(eligible_count, matched_count)
            }
        };
        match (stays, eligible_count) {
            (false, _) => (set, PlacementOutcome::Spilled),
            (true, 0) => (matched, PlacementOutcome::InZoneUnhealthy),
            (true, _) if all_unhealthy => (intersection, PlacementOutcome::InZoneUnhealthy),
            (true, _) => (intersection, PlacementOutcome::InZone),
        }
    }

    /// The rules' sets in their order; an external load balancer knows only the eligible ones.
    fn steps(&self, roster: &Roster, reading: &Reading) -> Vec<PolicyStep> {
        let eligible = |name| PolicyStep {
            kind: Some(reading.eligible.name()),
            because: self.serving_because(roster, reading.eligible).unwrap_or_default(),
            ..PolicyStep::new(name, Some(choice(reading.eligible.set().map(|(set, _)| set))))
        };
        let because = self.because(roster, reading);
        if self.is_external {
            return vec![PolicyStep { because, ..eligible("eligible") }];
        }
        let test = reading.zonal.map(|zonal| Choice::One(zonal.test));
        let matched = reading.zonal.map(|zonal| Choice::One(zonal.matched));
        let found = reading.zonal.filter(|zonal| zonal.matched_count > 0);
        let intersection = found.map(|zonal| Choice::One(zonal.intersection));
        let modified = PolicyStep::new("modified eligible", Some(choice(reading.modified)));
        vec![
            eligible(ORIGINAL_ELIGIBLE),
            PolicyStep::new(ZONAL_MATCH_TEST, test),
            PolicyStep::new(ZONAL_MATCHED, matched),
            PolicyStep::new(INTERSECTION, intersection),
            PolicyStep { because, ..modified },
        ]
    }

    /// Why primaries or failover backends serve, with numbers; nothing where there are no failover backends (ELIG-3, ELIG-4).
    fn serving_because(&self, roster: &Roster, eligible: OriginalEligible) -> Option<String> {
        let [primaries, failovers] =
            [Role::Primary, Role::Failover].map(|role| roster.size(configured(role)));
        if primaries == 0 || failovers == 0 {
            return None;
        }
        let [healthy_primaries, healthy_failovers] =
            [Role::Primary, Role::Failover].map(|role| roster.size(healthy(role)));
        let share = healthy_primaries as f64 / primaries as f64;
        let count = format!("{healthy_primaries} of {primaries} primaries healthy ({share:.3})");
        let ratio = self.failover.failover_ratio;
        Some(match eligible {
            OriginalEligible::None => {
                format!("{count} and no failover backend: drop_traffic_if_unhealthy is on")
            }
            OriginalEligible::UnhealthyPrimary => {
                format!("{count} and no failover backend: all primaries are the last resort")
            }
            OriginalEligible::HealthyFailover if ratio.is_zero() => {
                format!("{count}: failover ratio 0.0 fails over when there is none")
            }
            OriginalEligible::HealthyFailover => format!("{count} < failover ratio {:?}", ratio.value()),
            OriginalEligible::HealthyPrimary if healthy_failovers == 0 => {
                format!("{count}, and no failover backend is healthy")
            }
            OriginalEligible::HealthyPrimary if ratio.is_zero() => {
                format!("{count}: failover ratio 0.0 needs only one")
            }
            OriginalEligible::HealthyPrimary => format!("{count} >= failover ratio {:?}", ratio.value()),
        })
    }

    fn because(&self, roster: &Roster, reading: &Reading) -> String {
        let own = self.zonal_because(roster, reading);
        let is_told = matches!(
            reading.outcome,
            PlacementOutcome::AffinityDisabled | PlacementOutcome::IncompatibleClient
        );
        match self.serving_because(roster, reading.eligible).filter(|_| is_told) {
            Some(serving) => format!("{serving}; {own}"),
            None => own,
        }
    }

    fn zonal_because(&self, roster: &Roster, reading: &Reading) -> String {
        if self.drops_everything() {
            return "a Network Security Integration drops every packet while zonal affinity is on".to_owned();
        }
        let text = match (reading.outcome, reading.zonal) {
            (PlacementOutcome::Dropped, _) => match reading.eligible {
                OriginalEligible::None if roster.size(configured(Role::Primary)) == 0 => {
                    "no primary backend is configured, and no failover backend is healthy"
                }
                OriginalEligible::None => "no backend is healthy, and drop_traffic_if_unhealthy is on",
                _ => "a client of another region reaches the load balancer only with allow_global_access",
            },
            (PlacementOutcome::AffinityDisabled, _) if self.is_external => {
                "an external load balancer has no zonal affinity"
            }
            (PlacementOutcome::AffinityDisabled, _) => "zonal affinity is disabled",
            (PlacementOutcome::IncompatibleClient, _) => match reading.origin {
                TrafficOrigin::OtherRegion => "a client of another region never has zonal affinity",
                TrafficOrigin::PrivateServiceConnect => {
                    "a consumer of a Private Service Connect published service never has zonal affinity"
                }
                TrafficOrigin::Hybrid | TrafficOrigin::Zone(_) | TrafficOrigin::Internet => {
                    "a client behind Cloud VPN or Interconnect never has zonal affinity"
                }
            },
            (outcome, Some(zonal)) if zonal.matched_count > 0 => {
                return self.weighed(reading.eligible, outcome, &zonal);
            }
            _ => match reading.eligible {
                OriginalEligible::HealthyFailover => "no failover backend is configured in the client's zone",
                _ => "no primary backend is configured in the client's zone",
            },
        };
        text.to_owned()
    }

    fn weighed(&self, eligible: OriginalEligible, outcome: PlacementOutcome, zonal: &ZonalMatch) -> String {
        let ZonalMatch { eligible_count, matched_count, .. } = *zonal;
        let share = eligible_count as f64 / matched_count as f64;
        let count =
            format!("{eligible_count} of {matched_count} zonal matched backends eligible ({share:.3})");
        let spilled = outcome == PlacementOutcome::Spilled;
        if eligible == OriginalEligible::UnhealthyPrimary {
            return if spilled {
                format!("{count}, but all are unhealthy, and the preview's text spills then")
            } else {
                format!("{count}: all primaries are unhealthy, and the zone's own are the last resort")
            };
        }
        let because = match (self.zonal_affinity, spilled) {
            (ZonalAffinity::SpillCrossZone(ratio), false) if ratio.is_zero() => {
                ": spillover ratio 0.0 needs only one".to_owned()
            }
            (ZonalAffinity::SpillCrossZone(ratio), true) if ratio.is_zero() => {
                ": spillover ratio 0.0 spills when there is none".to_owned()
            }
            (ZonalAffinity::SpillCrossZone(ratio), _) => {
                format!(" {} spillover ratio {:?}", if spilled { "<" } else { ">=" }, ratio.value())
            }
            _ if eligible_count > 0 => ": staying within the zone".to_owned(),
            _ => ": staying within the zone, on its unhealthy backends".to_owned(),
        };
        count + &because
    }
}
