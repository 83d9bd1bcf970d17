//! Target pools: worked cases, the failover table, and an independent reading of it.

use proptest::prelude::*;

use super::rows;
use crate::ids::{BackendId, Id, IdVec, ZoneId};
use crate::lb::backend::{Member, Role};
use crate::lb::policy::any::AnyPolicy;
use crate::lb::policy::target_pool::TargetPoolPolicy;
use crate::lb::policy::{Placement, PlacementOutcome, PolicyState, TrafficOrigin};
use crate::lb::ratio::Ratio;
use crate::lb::roster::Roster;
use crate::time::SimTime;

/// Columns: id | target pool | backup pool | failover ratio | health check on target / backup | destination | expected.
const TARGET_POOLS: &str = "
P1 | t1+ t2+ t3- t4- | b1+ b2+ | 0.5 | yes / yes | T | {t1 t2}
P2 | t1+ t2- t3- t4- | b1+ b2- | 0.5 | yes / yes | B | {b1}
P3 | t1+ t2- t3- t4- | b1- b2- | 0.5 | yes / yes | T | {t1}
P4 | t1+ t2- t3- t4- | b1+ b2+ | 0 | yes / yes | T | {t1}
P5 | t1- t2- t3- t4- | b1+ b2- | 0 | yes / yes | B | {b1}
P6 | t1- t2- t3- t4- | b1- b2- | 0.5 | yes / yes | T-last | {t1 t2 t3 t4}
P7 |  | b1- b2- | 0.5 | yes / yes | B-last | {b1 b2}
P8 |  |  | 0.5 | yes / yes | DROP | {}
P9 |  | b1+ b2- | 0.5 | yes / yes | B | {b1}
P10 | t1+ t2+ t3+ t4+ | b1+ | 1 | yes / yes | T | {t1 t2 t3 t4}
P11 | t1+ t2+ t3+ t4- | b1+ | 1 | yes / yes | B | {b1}
P12 | t1- t2- | b1+ | 0.5 | no / yes | T | {t1 t2}
P13 | t1- t2- | b1- b2- | 0.5 | yes / no | B | {b1 b2}
P14 | t1- t2- | b1- | 0 | yes / yes | T-last | {t1 t2}
P15 | t1- t2- t3- | not set | unset | yes / yes | T-last | {t1 t2 t3}
P16 | t1+ t2- t3- | not set | unset | yes / yes | T | {t1}
P17 | t1- t2- | b1+ | unset | yes / yes | T-last | {t1 t2}
P18 | t1- t2- |  | 0.5 | yes / yes | T-last | {t1 t2}
P19 | t1+ t2- t3- t4- t5- t6- t7- t8- t9- t0- | b1+ | 0.1 | yes / yes | T | {t1}
";

/// A roster of two pools, and how it is. An instance of a pool without a health check counts as healthy.
fn roster(target: &str, backup: &str, checked: [bool; 2]) -> Roster {
    let mut members: IdVec<BackendId, Member> = IdVec::default();
    for (cell, role, checked) in [(target, Role::Primary, checked[0]), (backup, Role::Failover, checked[1])] {
        for text in cell.split_whitespace().filter(|text| text.ends_with(['+', '-'])) {
            let (name, health) = text.split_at(text.len() - 1);
            let (name, zone, healthy) = (name.to_owned(), ZoneId::from_index(0), health == "+" || !checked);
            members.push(Member { name, zone, role, configured: true, healthy });
        }
    }
    AnyPolicy::TargetPool(TargetPoolPolicy::default()).roster(1, members)
}

/// Where new connections go, and the kind of set that `explain` shows.
fn decide(roster: &Roster, failover_ratio: Option<Ratio>) -> (Placement, &'static str) {
    let state = PolicyState { now: SimTime::ZERO, roster };
    let policy = AnyPolicy::TargetPool(TargetPoolPolicy { failover_ratio });
    let (placement, steps) = policy.explain(state, TrafficOrigin::Internet);
    let [step] = &steps[..] else { panic!("{steps:?}") };
    assert_eq!(step.to.as_ref(), Some(&placement.choice));
    let (destination, outcome, role) = match step.kind {
        Some("healthy_target") => ("T", PlacementOutcome::TargetPool, Some(Role::Primary)),
        Some("healthy_backup") => ("B", PlacementOutcome::BackupPool, Some(Role::Failover)),
        Some("unhealthy_target") => ("T-last", PlacementOutcome::LastResort, Some(Role::Primary)),
        Some("unhealthy_backup") => ("B-last", PlacementOutcome::LastResort, Some(Role::Failover)),
        Some("none") => ("DROP", PlacementOutcome::Dropped, None),
        other => panic!("{other:?} is no kind"),
    };
    assert_eq!((placement.outcome, placement.serving), (outcome, role));
    (placement, destination)
}

#[test]
fn p1_to_p19_target_pools() {
    let mut count = 0;
    for row in rows(TARGET_POOLS) {
        let [id, target, backup, ratio, checks, expected_destination, expected] = row[..] else {
            panic!("{row:?}")
        };
        let (on_target, on_backup) = checks.split_once(" / ").unwrap();
        let roster = roster(target, backup, [on_target == "yes", on_backup == "yes"]);
        // The backup behaviour needs both a backup pool and a ratio.
        let ratio =
            (ratio != "unset" && backup != "not set").then(|| Ratio::new(ratio.parse().unwrap()).unwrap());
        let (placement, destination) = decide(&roster, ratio);
        assert_eq!(destination, expected_destination, "{id}");
        let sets = placement.choice.shares();
        let names: Vec<&str> =
            sets.iter().flat_map(|(set, _)| roster.members(*set)).map(|id| roster.name(id)).collect();
        assert_eq!(format!("{{{}}}", names.join(" ")), expected, "{id}");
        count += 1;
    }
    assert_eq!(count, 19);
}

/// Columns: id | instances and healthy ones of the target pool | backup on | of the backup pool | ratio | destination.
/// `x` is a pool without health check, all of whose instances count.
const FAILOVER_TABLE: &str = "
B1  | 3 1 | off | 2 2 | 0.5 | T
B2  | 3 0 | off | 2 2 | 0.5 | T-last
B3  | 0 0 | off | 2 2 | 0.5 | DROP
B4  | 4 2 | on  | 2 2 | 0.5 | T
B5  | 4 1 | on  | 2 2 | 0   | T
B6  | 4 1 | on  | 3 2 | 0.5 | B
B7  | 4 0 | on  | 3 2 | 0   | B
B8  | 4 1 | on  | 2 0 | 0.5 | T
B8e | 4 1 | on  | 0 0 | 0.5 | T
B9  | 4 0 | on  | 2 0 | 0.5 | T-last
B9z | 4 0 | on  | 2 0 | 0   | T-last
B10 | 4 0 | on  | 0 0 | 0.5 | T-last
B11 | 0 0 | on  | 2 1 | 0.5 | B
B11z | 0 0 | on | 2 1 | 0   | B
B12 | 0 0 | on  | 2 0 | 0.5 | B-last
B13 | 0 0 | on  | 0 0 | 0.5 | DROP
B14 | 4 4 | on  | 2 2 | 1   | T
B15 | 4 1 | on  | 2 2 | 0.5 | B
";

#[test]
fn b1_to_b15_the_failover_table() {
    for row in rows(FAILOVER_TABLE) {
        let [id, target, on, backup, ratio, expected] = row[..] else { panic!("{row:?}") };
        let pool = |cell: &str, name: &str| -> String {
            let (all, healthy) = cell.split_once(' ').unwrap();
            let (all, healthy): (usize, usize) = (all.parse().unwrap(), healthy.parse().unwrap());
            (0..all)
                .map(|index| format!("{name}{index}{} ", if index < healthy { '+' } else { '-' }))
                .collect()
        };
        let roster = roster(&pool(target, "t"), &pool(backup, "b"), [true; 2]);
        let ratio = (on == "on").then(|| Ratio::new(ratio.parse().unwrap()).unwrap());
        assert_eq!(decide(&roster, ratio).1, expected, "{id}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(20_000))]

    /// The page's conditions, in its order, on whole numbers.
    #[test]
    fn pools_agree_with_the_page(
        target in prop::collection::vec(any::<bool>(), 0..11),
        backup in prop::collection::vec(any::<bool>(), 0..6),
        thousandths in prop::option::of(prop_oneof![
            prop::sample::select(vec![0_usize, 100, 200, 250, 300, 400, 500, 600, 700, 750, 900, 1000]),
            0_usize..=1000,
        ]),
    ) {
        let health = target.iter().chain(&backup).copied().enumerate();
        let members = health.map(|(index, healthy)| Member {
            name: format!("i{index}"),
            zone: ZoneId::from_index(0),
            role: if index < target.len() { Role::Primary } else { Role::Failover },
            configured: true,
            healthy,
        });
        let roster = AnyPolicy::TargetPool(TargetPoolPolicy::default()).roster(1, members.collect());
        let ratio = thousandths.map(|thousandths| {
            Ratio::new(format!("{}.{:03}", thousandths / 1000, thousandths % 1000).parse().unwrap()).unwrap()
        });
        let up = |pool: &[bool]| pool.iter().filter(|healthy| **healthy).count();
        let (all, healthy, spare) = (target.len(), up(&target), up(&backup));
        let expected = match thousandths {
            None if all == 0 => "DROP",
            None if healthy == 0 => "T-last",
            None => "T",
            Some(ratio) if ratio != 0 && all > 0 && healthy * 1000 >= ratio * all => "T",
            Some(0) if healthy > 0 => "T",
            Some(_) if spare > 0 => "B",
            Some(_) if healthy > 0 => "T",
            Some(_) if all > 0 => "T-last",
            Some(_) if !backup.is_empty() => "B-last",
            Some(_) => "DROP",
        };
        prop_assert_eq!(decide(&roster, ratio).1, expected);
    }
}
