//! Original and modified eligible backends: worked cases, decision tables, and an independent reading of the rules.

use proptest::prelude::*;

use super::rows;
use crate::ids::{BackendId, Id, IdVec, SetId, ZoneId};
use crate::lb::backend::{Member, Role};
use crate::lb::policy::any::AnyPolicy;
use crate::lb::policy::backend_service::{BackendServicePolicy, FailoverPolicy, OriginalEligible};
use crate::lb::policy::{PlacementOutcome, PolicyState, PolicyStep, TrafficOrigin};
use crate::lb::ratio::Ratio;
use crate::lb::roster::Roster;
use crate::lb::sets::Choice;
use crate::lb::zonal_affinity::{SpecVersion, ZonalAffinity};
use crate::time::SimTime;

const ZONES: [char; 4] = ['a', 'b', 'c', 'd'];

/// Columns: id | primaries | failovers | failover ratio | drop | kind | original eligible backends. A backend is
/// named by its zone and a number; `+` is healthy, `-` is not.
const ORIGINAL_ELIGIBLE: &str = "
E1 | a1+ a2+ b1- |  | 0 | n | HP | {a1 a2}
E2 | a1- a2- b1- |  | 0 | n | UP | {a1 a2 b1}
E3 |  |  | 0 | n | EMPTY | {}
E4 | a1+ a2- | c1+ c2+ | 0 | n | HP | {a1}
E5 | a1- a2- | c1+ c2- | 0 | n | HF | {c1}
E6 | a1+ a2+ a3- a4- | c1+ | 0.5 | n | HP | {a1 a2}
E7 | a1+ a2+ a3- a4- | c1+ | 0.75 | n | HF | {c1}
E8 | a1+ a2+ a3- a4- | c1- c2- | 0.75 | n | HP | {a1 a2}
E9 | a1- b1- | c1- | 0 | n | UP | {a1 b1}
E10 | a1- b1- | c1- | 0 | y | EMPTY | {}
E11 | a1+ a2+ | c1+ | 1 | n | HP | {a1 a2}
E12 | a1+ a2- | c1+ | 1 | n | HF | {c1}
E13 | a1+ a2- a3- a4- a5- b1- b2- b3- b4- b5- | c1+ | 0.1 | n | HP | {a1}
E14 | a1+ a2- b1+ | c1+ c2+ | 0.7 | n | HF | {c1 c2}
E15 | a1- b1- | c1+ | 1 | y | HF | {c1}";

/// Columns: id | primaries | failovers | failover ratio | drop | option | spillover ratio | client | kind |
/// original eligible | matched | intersection | modified | modified by the preview's text. `n/a` is a set that is
/// not computed, or a match that there is not.
const MODIFIED_ELIGIBLE: &str = "
Z1 | a1+ a2+ a3+ b1+ b2+ |  | 0 | n | DIS | - | A | HP | {a1 a2 a3 b1 b2} | n/a | n/a | {a1 a2 a3 b1 b2} | {a1 a2 a3 b1 b2}
Z2 | a1+ a2+ a3+ b1+ b2+ |  | 0 | n | STAY | - | A | HP | {a1 a2 a3 b1 b2} | {a1 a2 a3} | {a1 a2 a3} | {a1 a2 a3} | {a1 a2 a3}
Z3 | a1+ a2- a3- b1+ b2+ |  | 0 | n | STAY | - | A | HP | {a1 b1 b2} | {a1 a2 a3} | {a1} | {a1} | {a1}
Z4 | a1- a2- a3- b1+ b2+ |  | 0 | n | STAY | - | A | HP | {b1 b2} | {a1 a2 a3} | {} | {a1 a2 a3} | {a1 a2 a3}
Z5 | a1+ a2+ a3+ b1+ b2+ |  | 0 | n | STAY | - | C | HP | {a1 a2 a3 b1 b2} | {} | n/a | {a1 a2 a3 b1 b2} | {a1 a2 a3 b1 b2}
Z6 | a1+ a2+ a3+ b1+ b2+ |  | 0 | n | STAY | - | VPN | HP | {a1 a2 a3 b1 b2} | n/a | n/a | {a1 a2 a3 b1 b2} | {a1 a2 a3 b1 b2}
Z7 | a1+ a2+ a3+ b1+ b2+ |  | 0 | n | STAY | - | REMOTE | HP | {a1 a2 a3 b1 b2} | n/a | n/a | {a1 a2 a3 b1 b2} | {a1 a2 a3 b1 b2}
Z8 | a1+ a2- a3- b1+ b2+ |  | 0 | n | SPILL | 0 | A | HP | {a1 b1 b2} | {a1 a2 a3} | {a1} | {a1} | {a1}
Z9 | a1- a2- a3- b1+ b2+ |  | 0 | n | SPILL | 0 | A | HP | {b1 b2} | {a1 a2 a3} | {} | {b1 b2} | {b1 b2}
Z10 | a1+ a2+ a3- b1+ b2+ |  | 0 | n | SPILL | 0.5 | A | HP | {a1 a2 b1 b2} | {a1 a2 a3} | {a1 a2} | {a1 a2} | {a1 a2}
Z11 | a1+ a2+ a3- b1+ b2+ |  | 0 | n | SPILL | 0.7 | A | HP | {a1 a2 b1 b2} | {a1 a2 a3} | {a1 a2} | {a1 a2 b1 b2} | {a1 a2 b1 b2}
Z12 | a1+ a2+ a3+ b1+ b2+ |  | 0 | n | SPILL | 1 | A | HP | {a1 a2 a3 b1 b2} | {a1 a2 a3} | {a1 a2 a3} | {a1 a2 a3} | {a1 a2 a3}
Z13 | a1+ a2+ a3- b1+ b2+ |  | 0 | n | SPILL | 1 | A | HP | {a1 a2 b1 b2} | {a1 a2 a3} | {a1 a2} | {a1 a2 b1 b2} | {a1 a2 b1 b2}
Z14 | a1+ a2+ a3+ a4+ a5- b1+ |  | 0 | n | SPILL | 0.8 | A | HP | {a1 a2 a3 a4 b1} | {a1 a2 a3 a4 a5} | {a1 a2 a3 a4} | {a1 a2 a3 a4} | {a1 a2 a3 a4}
Z15 | a1+ a2+ a3+ a4+ a5+ b1+ b2+ b3+ b4- b5- |  | 0 | n | SPILL | 0.8 | A | HP | {a1 a2 a3 a4 a5 b1 b2 b3} | {a1 a2 a3 a4 a5} | {a1 a2 a3 a4 a5} | {a1 a2 a3 a4 a5} | {a1 a2 a3 a4 a5}
Z16 | a1+ a2+ a3+ a4+ a5+ b1+ b2+ b3+ b4- b5- |  | 0 | n | SPILL | 0.8 | B | HP | {a1 a2 a3 a4 a5 b1 b2 b3} | {b1 b2 b3 b4 b5} | {b1 b2 b3} | {a1 a2 a3 a4 a5 b1 b2 b3} | {a1 a2 a3 a4 a5 b1 b2 b3}
Z17 | a1- a2- a3- b1+ b2+ |  | 0 | n | SPILL | 0.001 | A | HP | {b1 b2} | {a1 a2 a3} | {} | {b1 b2} | {b1 b2}
Z18 | a1- a2- a3- b1- b2- |  | 0 | n | STAY | - | A | UP | {a1 a2 a3 b1 b2} | {a1 a2 a3} | {a1 a2 a3} | {a1 a2 a3} | {a1 a2 a3}
Z19 | a1- a2- a3- b1- b2- |  | 0 | n | SPILL | 0 | A | UP | {a1 a2 a3 b1 b2} | {a1 a2 a3} | {a1 a2 a3} | {a1 a2 a3} | {a1 a2 a3 b1 b2}
Z20 | a1- a2- a3- b1- b2- |  | 0 | n | SPILL | 1 | B | UP | {a1 a2 a3 b1 b2} | {b1 b2} | {b1 b2} | {b1 b2} | {a1 a2 a3 b1 b2}
Z21 | a1- a2- a3- b1- b2- |  | 0 | n | SPILL | 0.5 | C | UP | {a1 a2 a3 b1 b2} | {} | n/a | {a1 a2 a3 b1 b2} | {a1 a2 a3 b1 b2}
Z22 | a1- a2- a3- b1- b2- |  | 0 | n | DIS | - | A | UP | {a1 a2 a3 b1 b2} | n/a | n/a | {a1 a2 a3 b1 b2} | {a1 a2 a3 b1 b2}
Z23 | a1- a2- a3- b1- b2- |  | 0 | n | STAY | - | VPN | UP | {a1 a2 a3 b1 b2} | n/a | n/a | {a1 a2 a3 b1 b2} | {a1 a2 a3 b1 b2}
Z24 | a1+ b1+ b2+ b3+ |  | 0 | n | STAY | - | A | HP | {a1 b1 b2 b3} | {a1} | {a1} | {a1} | {a1}
F1 | a1+ a2+ b1+ | c1+ c2+ d1+ | 0 | n | STAY | - | A | HP | {a1 a2 b1} | {a1 a2} | {a1 a2} | {a1 a2} | {a1 a2}
F2 | a1- a2- b1- | c1+ c2+ d1+ | 0 | n | STAY | - | A | HF | {c1 c2 d1} | {} | n/a | {c1 c2 d1} | {c1 c2 d1}
F3 | a1- a2- b1- | c1- c2+ d1+ | 0 | n | STAY | - | C | HF | {c2 d1} | {c1 c2} | {c2} | {c2} | {c2}
F4 | a1- a2- b1- | c1- c2- d1+ | 0 | n | STAY | - | C | HF | {d1} | {c1 c2} | {} | {c1 c2} | {c1 c2}
F5 | a1- a2- b1- | c1- c2- d1+ | 0 | n | SPILL | 0 | C | HF | {d1} | {c1 c2} | {} | {d1} | {d1}
F6 | a1- a2- b1- | c1+ c2- d1+ | 0 | n | SPILL | 0.5 | C | HF | {c1 d1} | {c1 c2} | {c1} | {c1} | {c1}
F7 | a1- a2- b1- | c1+ c2- d1+ | 0 | n | SPILL | 0.6 | C | HF | {c1 d1} | {c1 c2} | {c1} | {c1 d1} | {c1 d1}
F8 | a1+ a2+ b1+ | c1+ c2+ d1+ | 0 | n | STAY | - | C | HP | {a1 a2 b1} | {} | n/a | {a1 a2 b1} | {a1 a2 b1}
F9 | a1+ a2+ b1- | c1+ c2+ d1+ | 0.75 | n | SPILL | 0 | A | HF | {c1 c2 d1} | {} | n/a | {c1 c2 d1} | {c1 c2 d1}
F10 | a1+ a2+ b1- | c1- c2- d1- | 0.75 | n | STAY | - | B | HP | {a1 a2} | {b1} | {} | {b1} | {b1}
F11 | a1+ a2+ b1- | c1- c2- d1- | 0.75 | n | SPILL | 0 | B | HP | {a1 a2} | {b1} | {} | {a1 a2} | {a1 a2}
F12 | a1- a2- b1- | c1- c2- d1- | 0 | n | STAY | - | A | UP | {a1 a2 b1} | {a1 a2} | {a1 a2} | {a1 a2} | {a1 a2}
F13 | a1- a2- b1- | c1- c2- d1- | 0 | y | STAY | - | A | EMPTY | {} | n/a | n/a | {} | {}
F14 | a1- a2- b1- | c1- c2- d1- | 0 | n | STAY | - | C | UP | {a1 a2 b1} | {} | n/a | {a1 a2 b1} | {a1 a2 b1}
F15 | a1- a2- b1+ | a9+ | 0 | n | STAY | - | A | HP | {b1} | {a1 a2} | {} | {a1 a2} | {a1 a2}
F16 | a1- a2- b1+ | a9+ | 0 | n | SPILL | 0 | A | HP | {b1} | {a1 a2} | {} | {b1} | {b1}
F17 | a1- b1- | a9+ c1+ | 0 | n | STAY | - | A | HF | {a9 c1} | {a9} | {a9} | {a9} | {a9}
F18 | a1- a2- b1- | c1- c2- d1- | 0 | n | SPILL | 0.4 | A | UP | {a1 a2 b1} | {a1 a2} | {a1 a2} | {a1 a2} | {a1 a2 b1}
F19 | a1+ a2+ b1- | c1+ c2+ d1+ | 0.75 | n | STAY | - | C | HF | {c1 c2 d1} | {c1 c2} | {c1 c2} | {c1 c2} | {c1 c2}";

/// A roster of the backends that two cells list, with the health that they show.
fn roster(primaries: &str, failovers: &str) -> Roster {
    let mut members: IdVec<BackendId, Member> = IdVec::default();
    for (cell, role) in [(primaries, Role::Primary), (failovers, Role::Failover)] {
        for text in cell.split_whitespace() {
            let (name, health) = text.split_at(text.len() - 1);
            let zone = ZONES.iter().position(|zone| name.starts_with(*zone)).expect("a zone's letter");
            let (name, zone, healthy) = (name.to_owned(), ZoneId::from_index(zone), health == "+");
            members.push(Member { name, zone, role, configured: true, healthy });
        }
    }
    AnyPolicy::default().roster(ZONES.len(), members)
}

/// A decision with the sets that its steps lead to.
struct Decided {
    kind: &'static str,
    eligible: Option<SetId>,
    test: Option<SetId>,
    matched: Option<SetId>,
    intersection: Option<SetId>,
    modified: Option<SetId>,
    outcome: PlacementOutcome,
}

/// The set that a step leads to; absent if it is not taken, or leads nowhere.
fn set(step: &PolicyStep) -> Option<SetId> {
    match step.to {
        Some(Choice::One(set)) => Some(set),
        None | Some(Choice::Nothing) => None,
        Some(Choice::Split(_)) => panic!("a backend service splits nothing"),
    }
}

fn decide(roster: &Roster, policy: &BackendServicePolicy, origin: TrafficOrigin) -> Decided {
    let state = PolicyState { now: SimTime::ZERO, roster };
    let (placement, steps) = AnyPolicy::BackendService(*policy).explain(state, origin);
    assert_eq!(placement, AnyPolicy::BackendService(*policy).decide(state, origin));
    let [eligible, test, matched, intersection, modified] = &steps[..] else { panic!("{steps:?}") };
    assert_eq!(modified.to, Some(placement.choice));
    Decided {
        kind: eligible.kind.expect("there are kinds of them"),
        eligible: set(eligible),
        test: set(test),
        matched: set(matched),
        intersection: set(intersection),
        modified: set(modified),
        outcome: placement.outcome,
    }
}

fn shown(roster: &Roster, set: Option<SetId>) -> String {
    let names: Vec<&str> =
        set.iter().flat_map(|set| roster.members(*set)).map(|id| roster.name(id)).collect();
    format!("{{{}}}", names.join(" "))
}

fn kind_code(kind: &str) -> &'static str {
    match kind {
        "healthy_primary" => "HP",
        "healthy_failover" => "HF",
        "unhealthy_primary" => "UP",
        "none" => "EMPTY",
        _ => panic!("{kind} is no kind"),
    }
}

fn failover_policy(ratio: &str, drop: &str) -> FailoverPolicy {
    FailoverPolicy {
        failover_ratio: Ratio::new(ratio.parse().unwrap()).unwrap(),
        drop_traffic_if_unhealthy: drop == "y",
        ..FailoverPolicy::default()
    }
}

#[test]
fn e1_to_e15_original_eligible_backends() {
    let mut count = 0;
    for row in rows(ORIGINAL_ELIGIBLE) {
        let [id, primaries, failovers, ratio, drop, kind, expected] = row[..] else { panic!("{row:?}") };
        let roster = roster(primaries, failovers);
        let failover = failover_policy(ratio, drop);
        let policy = BackendServicePolicy { failover, ..BackendServicePolicy::default() };
        let found = decide(&roster, &policy, origin("A"));
        assert_eq!(kind_code(found.kind), kind, "{id}");
        assert_eq!(kind_code(OriginalEligible::of(&roster, &failover).name()), kind, "{id}");
        assert_eq!(shown(&roster, found.eligible), expected, "{id}");
        count += 1;
    }
    assert_eq!(count, 15);
}

fn affinity(option: &str, ratio: &str) -> ZonalAffinity {
    match option {
        "DIS" => ZonalAffinity::Disabled,
        "STAY" => ZonalAffinity::StayWithinZone,
        "SPILL" => ZonalAffinity::SpillCrossZone(Ratio::new(ratio.parse().unwrap()).unwrap()),
        _ => panic!("{option} is no option"),
    }
}

fn origin(client: &str) -> TrafficOrigin {
    match client {
        "VPN" => TrafficOrigin::Hybrid,
        "REMOTE" => TrafficOrigin::OtherRegion,
        letter => {
            let zone = ZONES.iter().position(|zone| zone.to_uppercase().to_string() == letter);
            TrafficOrigin::Zone(ZoneId::from_index(zone.expect("a zone's letter")))
        }
    }
}

#[test]
fn z1_to_z24_and_f1_to_f19_modified_eligible_backends() {
    let mut count = 0;
    for row in rows(MODIFIED_ELIGIBLE) {
        let [
            id,
            primaries,
            failovers,
            failover_ratio,
            drop,
            option,
            ratio,
            client,
            kind,
            a,
            c,
            i,
            m,
            preview,
        ] = row[..]
        else {
            panic!("{row:?}")
        };
        let roster = roster(primaries, failovers);
        let policy = BackendServicePolicy {
            failover: failover_policy(failover_ratio, drop),
            zonal_affinity: affinity(option, ratio),
            allow_global_access: true,
            ..BackendServicePolicy::default()
        };
        let decision = decide(&roster, &policy, origin(client));
        assert_eq!(kind_code(decision.kind), kind, "{id}");
        assert_eq!(shown(&roster, decision.eligible), a, "{id}");
        assert_eq!(shown(&roster, decision.modified), m, "{id}");
        // Without a match the matched set is empty where one was sought, and absent elsewhere.
        let shown_if = |set: Option<SetId>| set.map_or("n/a".to_owned(), |set| shown(&roster, Some(set)));
        assert_eq!(
            (shown_if(decision.matched), shown_if(decision.intersection)),
            (c.into(), i.into()),
            "{id}"
        );
        assert_eq!(decision.test.is_some(), decision.matched.is_some(), "{id}");
        let old = BackendServicePolicy { spec_version: SpecVersion::Preview2025, ..policy };
        assert_eq!(shown(&roster, decide(&roster, &old, origin(client)).modified), preview, "{id}");
        count += 1;
    }
    assert_eq!(count, 43);
}

/// The three tables of Google's page on zonal affinity, row by row: the original eligible backends, the option,
/// and the modified ones where the intersection is not empty and where it is.
#[test]
fn every_row_of_the_three_zonal_tables() {
    // Primaries in zones a and b, failovers in zones c and d. Health decides which row applies; the client sits in
    // a zone of the serving role.
    let healthy_primary = ["a1+ a2- b1+", "a1- a2- b1+"];
    let healthy_failover = ["c1+ c2- d1+", "c1- c2- d1+"];
    let half = "0.5";
    for (option, ratio, empty_gives_zone) in
        [("STAY", "-", true), ("SPILL", "0", false), ("SPILL", half, false), ("SPILL", "1", false)]
    {
        let policy = BackendServicePolicy {
            zonal_affinity: affinity(option, ratio),
            ..BackendServicePolicy::default()
        };
        let modified = |primaries: &str, failovers: &str, client: &str| {
            let roster = roster(primaries, failovers);
            let decision = decide(&roster, &policy, origin(client));
            (kind_code(decision.kind), shown(&roster, decision.modified))
        };
        // 1 of 2 is eligible in the client's zone: it reaches ratios up to 0.5 and misses 1.
        let reached = ratio != "1";

        // Row 1: all healthy primaries.
        let kept = if reached { "{a1}" } else { "{a1 b1}" };
        assert_eq!(modified(healthy_primary[0], "c1+", "A"), ("HP", kept.to_owned()), "{option} {ratio}");
        let emptied = if empty_gives_zone { "{a1 a2}" } else { "{b1}" };
        assert_eq!(modified(healthy_primary[1], "c1+", "A"), ("HP", emptied.to_owned()), "{option} {ratio}");

        // Row 2: all healthy failover backends.
        let kept = if reached { "{c1}" } else { "{c1 d1}" };
        assert_eq!(
            modified("a1- b1-", healthy_failover[0], "C"),
            ("HF", kept.to_owned()),
            "{option} {ratio}"
        );
        let emptied = if empty_gives_zone { "{c1 c2}" } else { "{d1}" };
        assert_eq!(
            modified("a1- b1-", healthy_failover[1], "C"),
            ("HF", emptied.to_owned()),
            "{option} {ratio}"
        );

        // Row 3: all primaries unhealthy. The intersection is never empty and its share is always 1.
        let all_down = modified("a1- a2- b1-", "c1- d1-", "A");
        assert_eq!(all_down, ("UP", "{a1 a2}".to_owned()), "{option} {ratio}");
    }
}

/// The page's example of a match: primaries in zones a and b, failovers in c and d, a client in zone a.
#[test]
fn the_pages_example_of_a_zonal_match() {
    let policy = BackendServicePolicy {
        zonal_affinity: ZonalAffinity::StayWithinZone,
        ..BackendServicePolicy::default()
    };
    let scenario_1 = decide(&roster("a1+ b1+", "c1+ d1+"), &policy, origin("A"));
    assert!(scenario_1.intersection.is_some());
    let scenario_2 = decide(&roster("a1- b1-", "c1+ d1+"), &policy, origin("A"));
    assert_eq!((scenario_2.kind, scenario_2.outcome), ("healthy_failover", PlacementOutcome::NoZonalMatch));
    assert!(scenario_2.intersection.is_none());
}

#[test]
fn zon_4_vms_of_other_regions_need_global_access() {
    let roster = roster("a1+ b1+", "");
    let mut policy = BackendServicePolicy {
        zonal_affinity: ZonalAffinity::StayWithinZone,
        ..BackendServicePolicy::default()
    };
    assert_eq!(decide(&roster, &policy, TrafficOrigin::OtherRegion).outcome, PlacementOutcome::Dropped);
    assert_eq!(decide(&roster, &policy, TrafficOrigin::OtherRegion).modified, None);
    policy.allow_global_access = true;
    let with_access = decide(&roster, &policy, TrafficOrigin::OtherRegion);
    assert_eq!(with_access.outcome, PlacementOutcome::IncompatibleClient);
    assert_eq!(shown(&roster, with_access.modified), "{a1 b1}");
    assert_eq!(decide(&roster, &policy, TrafficOrigin::Hybrid).outcome, PlacementOutcome::IncompatibleClient);
}

#[test]
fn zon_2_consumers_of_a_published_service_have_no_affinity() {
    let policy =
        BackendServicePolicy { zonal_affinity: affinity("STAY", "-"), ..BackendServicePolicy::default() };
    let roster = roster("a1+ b1+", "");
    let consumer = decide(&roster, &policy, TrafficOrigin::PrivateServiceConnect);
    assert_eq!(consumer.outcome, PlacementOutcome::IncompatibleClient);
    assert_eq!(shown(&roster, consumer.modified), "{a1 b1}");
}

/// Where the load balancers of both directions of a connection may pick the same machine: with equal hashes they do if
/// they choose from the same ones.
#[test]
fn zon_3_both_directions_choose_alike_with_affinity_on_both_or_on_neither() {
    let roster = roster("a1+ a2+ b1+", "");
    let from = |option: &str, zone: &str| {
        let policy =
            BackendServicePolicy { zonal_affinity: affinity(option, "-"), ..BackendServicePolicy::default() };
        shown(&roster, decide(&roster, &policy, origin(zone)).modified)
    };
    for (there, back, server, alike) in [
        ("STAY", "STAY", "A", true),
        ("STAY", "STAY", "B", false),
        ("STAY", "DIS", "A", false),
        ("DIS", "STAY", "A", false),
        ("DIS", "DIS", "B", true),
    ] {
        assert_eq!(
            from(there, "A") == from(back, server),
            alike,
            "{there} {back}, a server in zone {server}"
        );
    }
}

#[test]
fn elig_9_no_primaries_and_no_backends() {
    let policy = FailoverPolicy::default();
    assert_eq!(OriginalEligible::of(&roster("", "c1+"), &policy), OriginalEligible::HealthyFailover);
    assert_eq!(OriginalEligible::of(&roster("", "c1-"), &policy), OriginalEligible::None);
    assert_eq!(OriginalEligible::of(&roster("", ""), &policy), OriginalEligible::None);
}

#[test]
fn elig_10_dropping_needs_failover_backends() {
    let policy = FailoverPolicy { drop_traffic_if_unhealthy: true, ..FailoverPolicy::default() };
    assert_eq!(OriginalEligible::of(&roster("a1- b1-", ""), &policy), OriginalEligible::UnhealthyPrimary);
    assert_eq!(OriginalEligible::of(&roster("a1- b1-", "c1-"), &policy), OriginalEligible::None);
}

/// A random service: backends with zone, role and health; policy with ratios in thousandths.
#[derive(Clone, Debug)]
struct Case {
    backends: Vec<(usize, Role, bool)>,
    failover_thousandths: usize,
    drop: bool,
    option: usize,
    spill_thousandths: usize,
    client: usize,
    global_access: bool,
}

/// Ratios that equality is likely to meet, and any others.
fn thousandths() -> impl Strategy<Value = usize> {
    prop_oneof![
        prop::sample::select(vec![
            0_usize, 100, 125, 200, 250, 300, 400, 500, 600, 625, 700, 750, 800, 900, 1000
        ]),
        0_usize..=1000,
    ]
}

fn cases() -> impl Strategy<Value = Case> {
    let role = prop::sample::select(vec![Role::Primary, Role::Primary, Role::Failover]);
    let backends = prop::collection::vec((0_usize..3, role, any::<bool>()), 0..12);
    (backends, thousandths(), any::<bool>(), 0_usize..3, thousandths(), 0_usize..6, any::<bool>()).prop_map(
        |(backends, failover_thousandths, drop, option, spill_thousandths, client, global_access)| Case {
            backends,
            failover_thousandths,
            drop,
            option,
            spill_thousandths,
            client,
            global_access,
        },
    )
}

impl Case {
    fn roster(&self) -> Roster {
        let members = self.backends.iter().enumerate().map(|(index, (zone, role, healthy))| Member {
            name: format!("b{index}"),
            zone: ZoneId::from_index(*zone),
            role: *role,
            configured: true,
            healthy: *healthy,
        });
        AnyPolicy::default().roster(4, members.collect())
    }

    fn policy(&self, option: usize, spill_thousandths: usize) -> BackendServicePolicy {
        let ratio = |thousandths: usize| Ratio::new(format!("0.{thousandths:03}").parse().unwrap());
        let ratio =
            |thousandths| if thousandths == 1000 { Ratio::new(1.0) } else { ratio(thousandths) }.unwrap();
        BackendServicePolicy {
            failover: FailoverPolicy {
                failover_ratio: ratio(self.failover_thousandths),
                drop_traffic_if_unhealthy: self.drop,
                ..FailoverPolicy::default()
            },
            zonal_affinity: match option {
                0 => ZonalAffinity::Disabled,
                1 => ZonalAffinity::StayWithinZone,
                _ => ZonalAffinity::SpillCrossZone(ratio(spill_thousandths)),
            },
            allow_global_access: self.global_access,
            ..BackendServicePolicy::default()
        }
    }

    fn origin(&self) -> TrafficOrigin {
        match self.client {
            4 => TrafficOrigin::Hybrid,
            5 => TrafficOrigin::OtherRegion,
            zone => TrafficOrigin::Zone(ZoneId::from_index(zone)),
        }
    }

    fn decide(&self, option: usize, spill_thousandths: usize) -> (Roster, Decided) {
        let roster = self.roster();
        let decision = decide(&roster, &self.policy(option, spill_thousandths), self.origin());
        (roster, decision)
    }

    /// The modified eligible backends by the rules' own words: lists, and ratios of whole numbers.
    fn by_the_book(&self) -> Vec<usize> {
        let all = |role| -> Vec<usize> {
            (0..self.backends.len()).filter(|index| self.backends[*index].1 == role).collect()
        };
        let healthy = |list: &[usize]| -> Vec<usize> {
            list.iter().copied().filter(|index| self.backends[*index].2).collect()
        };
        let (primaries, failovers) = (all(Role::Primary), all(Role::Failover));
        let (up_primaries, up_failovers) = (healthy(&primaries), healthy(&failovers));

        let (eligible, tested) = if up_primaries.is_empty() && up_failovers.is_empty() {
            if self.drop && !failovers.is_empty() { (vec![], vec![]) } else { (primaries.clone(), primaries) }
        } else if up_primaries.is_empty()
            || (!up_failovers.is_empty()
                && up_primaries.len() * 1000 < primaries.len() * self.failover_thousandths)
        {
            (up_failovers, failovers)
        } else {
            (up_primaries, primaries)
        };
        if self.client == 5 && !self.global_access {
            return vec![];
        }
        if self.option == 0 || self.client >= 4 {
            return eligible;
        }
        let matched: Vec<usize> =
            tested.into_iter().filter(|index| self.backends[*index].0 == self.client).collect();
        let shared: Vec<usize> = matched.iter().copied().filter(|index| eligible.contains(index)).collect();
        if eligible.is_empty() || matched.is_empty() {
            return eligible;
        }
        match self.option {
            1 if shared.is_empty() => matched,
            1 => shared,
            _ if shared.is_empty() => eligible,
            _ if shared.len() * 1000 >= matched.len() * self.spill_thousandths => shared,
            _ => eligible,
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(20_000))]

    #[test]
    fn decisions_agree_with_the_book(case in cases()) {
        let (roster, decision) = case.decide(case.option, case.spill_thousandths);
        let found: Vec<usize> =
            decision.modified.iter().flat_map(|set| roster.members(*set)).map(Id::index).collect();
        prop_assert_eq!(&found, &case.by_the_book());
        prop_assert_eq!(found.is_empty(), decision.outcome == PlacementOutcome::Dropped);
        let any_healthy = found.iter().any(|index| case.backends[*index].2);
        if decision.outcome == PlacementOutcome::InZone {
            prop_assert!(any_healthy);
        }
        if decision.outcome == PlacementOutcome::InZoneUnhealthy {
            prop_assert!(!any_healthy);
        }
    }

    /// The invariants under the decision table of modified eligible backends.
    #[test]
    fn invariants_of_the_modified_set(case in cases(), other in thousandths()) {
        let (roster, decision) = case.decide(case.option, case.spill_thousandths);
        let list = |set: Option<SetId>| -> Vec<BackendId> {
            set.iter().flat_map(|set| roster.members(*set)).collect()
        };
        let modified = list(decision.modified);
        let eligible = list(decision.eligible);
        let matched = decision.intersection.and(decision.matched).map(|matched| list(Some(matched)));
        if decision.outcome != PlacementOutcome::Dropped {
            prop_assert!(eligible.is_empty() || !modified.is_empty());
        }
        if let Some(matched) = &matched {
            let in_zone = modified.iter().all(|id| matched.contains(id));
            prop_assert!(in_zone || modified == eligible);
            prop_assert!(in_zone || case.option != 1, "STAY never leaves the zone");
        }
        if case.option == 2 {
            prop_assert!(modified.iter().all(|id| eligible.contains(id)));
            if decision.kind != "unhealthy_primary" {
                prop_assert!(modified.iter().all(|id| roster.is_healthy(*id)));
            }
            let wider = case.spill_thousandths.max(other);
            let narrower = list(case.decide(2, case.spill_thousandths.min(other)).1.modified);
            let wide = list(case.decide(2, wider).1.modified);
            let shares_some = decision.intersection.is_some_and(|set| roster.size(set) > 0);
            prop_assert!(!shares_some || narrower.iter().all(|id| wide.contains(id)));
        }
    }
}

/// The complete decision table: kind of A, option, match, intersection, share against the ratio, and what becomes of it.
/// Each row is one service; clients are in zone a. `healthy` tells whether all of the modified set are.
const DECISION_TABLE: &str = "
D1a  | a1+ b1+       |         | DIS   | -   | A   | A      | healthy
D1b  | a1- b1-       |         | DIS   | -   | A   | A      | unhealthy
D2a  | b1+ b2+       |         | STAY  | -   | A   | A      | healthy
D2b  | b1+ b2+       |         | SPILL | 0.5 | A   | A      | healthy
D2c  | a1+ b1+       |         | STAY  | -   | VPN | A      | healthy
D2d  | b1- b2-       |         | STAY  | -   | A   | A      | unhealthy
D3   |               |         | STAY  | -   | A   | {}     | -
D4   | a1+ a2- b1+   |         | STAY  | -   | A   | {a1}   | healthy
D5   | a1- a2- b1+   |         | STAY  | -   | A   | {a1 a2} | unhealthy
D6   | b1-           | a8+ a9- | STAY  | -   | A   | {a8}   | healthy
D7   | b1-           | a9- c1+ | STAY  | -   | A   | {a9}   | unhealthy
D8   | a1- a2- b1-   | c1-     | STAY  | -   | A   | {a1 a2} | unhealthy
D10  | a1+ a2- b1+   |         | SPILL | 0   | A   | {a1}   | healthy
D11  | a1- a2- b1+   |         | SPILL | 0   | A   | A      | healthy
D12  | b1-           | a8+ a9- c1+ | SPILL | 0 | A | {a8}   | healthy
D13  | b1-           | a9- c1+ | SPILL | 0   | A   | A      | healthy
D14  | a1- b1-       |         | SPILL | 0   | A   | {a1}   | unhealthy
D15  | a1+ a2- b1+   |         | SPILL | 0.5 | A   | {a1}   | healthy
D16  | a1+ a2- b1+   |         | SPILL | 0.6 | A   | A      | healthy
D17  | a1- a2- b1+   |         | SPILL | 0.1 | A   | A      | healthy
D18  | b1-           | a8+ a9- c1+ | SPILL | 0.5 | A | {a8} | healthy
D19  | b1-           | a8+ a9- c1+ | SPILL | 0.6 | A | A    | healthy
D20  | b1-           | a9- c1+ | SPILL | 0.1 | A   | A      | healthy
D21  | a1- b1-       |         | SPILL | 1   | A   | {a1}   | unhealthy
";

/// Rows D9 and D22 of the table are impossible: with every primary unhealthy the intersection is all that matched.
#[test]
fn d1_to_d21_the_decision_table() {
    for row in rows(DECISION_TABLE) {
        let [id, primaries, failovers, option, ratio, client, expected, health] = row[..] else {
            panic!("{row:?}")
        };
        let roster = roster(primaries, failovers);
        let policy = BackendServicePolicy {
            zonal_affinity: affinity(option, ratio),
            ..BackendServicePolicy::default()
        };
        let decision = decide(&roster, &policy, origin(client));
        let expected = if expected == "A" { shown(&roster, decision.eligible) } else { expected.to_owned() };
        assert_eq!(shown(&roster, decision.modified), expected, "{id}");
        let members: Vec<BackendId> = decision.modified.iter().flat_map(|set| roster.members(*set)).collect();
        match health {
            "healthy" => assert!(members.iter().all(|member| roster.is_healthy(*member)), "{id}"),
            "unhealthy" => assert!(!members.iter().any(|member| roster.is_healthy(*member)), "{id}"),
            _ => assert!(members.is_empty(), "{id}"),
        }
    }
}
