//! Which cells are the same policy by the rules, whatever happens: spillover ratios between two thresholds.
//!
//! With n backends of a zone only the thresholds k/n matter. A client's connections stay while the share of eligible
//! backends is at least the ratio (ZON-8; equality counts), so that all ratios in ((k-1)/n, k/n] keep them with the same
//! numbers of backends, and ratio 0 acts as 1/n. The numbers come from [`AnyPolicy::decide`], which the engine asks too.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::experiment::{Cell, Experiment, PerCell};
use crate::ids::{BackendId, BalancerId, Id, IdVec, ZoneId};
use crate::lb::backend::{Member, Role};
use crate::lb::policy::any::AnyPolicy;
use crate::lb::policy::backend_service::BackendServicePolicy;
use crate::lb::policy::{PlacementOutcome, PolicyState, TrafficOrigin};
use crate::lb::ratio::Ratio;
use crate::lb::zonal_affinity::ZonalAffinity;
use crate::random::hash_bytes;
use crate::sim::scenario::Scenario;
use crate::time::SimTime;

const RATIO: &str = "backend_service.zonal_affinity.spillover_ratio";

/// Cells that differ in nothing but a ratio, and that no state of health tells apart.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SamePolicy {
    /// The numbers of the cells; at least two.
    pub cells: Vec<usize>,
    /// How many of how many backends of a zone or role must be eligible for connections to stay, each pair once.
    pub thresholds: Vec<(usize, usize)>,
}

/// What the rules say of the policies of an experiment's cells.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Policies {
    /// All groups of cells that are the same policy.
    pub same: Vec<SamePolicy>,
    /// Where policies change along the ratio; absent if that is no axis.
    pub cliffs: Option<Cliffs>,
}

impl Policies {
    /// The policies of the cells of `experiment`.
    pub fn of(experiment: &Experiment) -> Self {
        Self { same: same_policies(experiment), cliffs: Cliffs::of(experiment) }
    }
}

/// All groups of cells of `experiment` that are the same policy.
fn same_policies(experiment: &Experiment) -> Vec<SamePolicy> {
    let mut found: Vec<SamePolicy> = Vec::new();
    // Worlds are many and large: one of a policy is put together anew where its hash has come before.
    let mut alike: BTreeMap<u64, Vec<usize>> = BTreeMap::new();
    for cell in experiment.cells() {
        let Some(spilling) = spilling(experiment, cell) else { continue };
        let alike = alike.entry(hash_bytes(0, format!("{spilling:?}").as_bytes())).or_default();
        let first = |index: usize| &experiment.cells()[found[index].cells[0]];
        let is_same = |index: usize| self::spilling(experiment, first(index)).as_ref() == Some(&spilling);
        match alike.iter().find(|index| is_same(**index)) {
            Some(index) => found[*index].cells.push(cell.index),
            None => {
                alike.push(found.len());
                found.push(SamePolicy { cells: vec![cell.index], thresholds: spilling.1 });
            }
        }
    }
    found.retain(|same| same.cells.len() > 1);
    found
}

/// Where the policies of cells change along their spillover ratio.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Cliffs {
    /// The position of the ratio among the experiment's axes.
    pub axis: usize,
    /// How many backends of one role a zone with clients may have, in cells that spill; none in others.
    pub sizes: PerCell<Vec<usize>>,
}

impl Cliffs {
    /// Where the cells of `experiment` change along the ratio; nothing if it is no axis.
    fn of(experiment: &Experiment) -> Option<Self> {
        let axis = experiment.axes().iter().position(|axis| axis.path == RATIO)?;
        let mut of_cells = PerCell::default();
        for cell in experiment.cells() {
            let scenario = experiment.scenario(cell);
            let spills =
                scenario.first_balancer().settings.policy.get().zonal_affinity().spillover_ratio().is_some();
            let is_swept = spills && cell.values[axis].is_some();
            of_cells.put(cell.index, if is_swept { sizes(&scenario) } else { Vec::new() });
        }
        Some(Self { axis, sizes: of_cells })
    }

    /// The shares k of n at which the policy of cell number `cell` changes: above one, up to the next, ratios act alike.
    pub fn shares(&self, cell: usize) -> impl Iterator<Item = (usize, usize)> {
        // All of n is the last policy: no ratio lies beyond it.
        self.sizes.get(cell).into_iter().flatten().flat_map(|n| (1..*n).map(move |k| (k, *n)))
    }
}

/// A cell that spills: what it simulates but for its ratio, and its thresholds.
fn spilling(experiment: &Experiment, cell: &Cell) -> Option<(Scenario, Vec<(usize, usize)>)> {
    let scenario = experiment.scenario(cell);
    // What several load balancers over the same backends have in common is no question of one ratio.
    let [balancer] = scenario.balancers.iter().as_slice() else { return None };
    let AnyPolicy::BackendService(policy) = balancer.settings.policy else { return None };
    policy.zonal_affinity.spillover_ratio()?;
    let thresholds = sizes(&scenario).into_iter().map(|size| (needed(&policy, size), size)).collect();
    let mut scenario = (*scenario).clone();
    let zonal_affinity = ZonalAffinity::SpillCrossZone(Ratio::ZERO);
    scenario.balancers[BalancerId::from_index(0)].settings.policy =
        AnyPolicy::BackendService(BackendServicePolicy { zonal_affinity, ..policy });
    Some((scenario, thresholds))
}

/// How many backends of one role a zone with clients may have, each number once. Operations that change backends, and
/// autoscalers, may lead to any number.
fn sizes(scenario: &Scenario) -> Vec<usize> {
    let has_clients =
        |zone: ZoneId| scenario.clients.iter().any(|client| client.origin == TrafficOrigin::Zone(zone));
    let mut changes = scenario.operations.iter().flat_map(|operation| &operation.changes);
    let moves = scenario.groups.iter().any(|group| group.autoscaling.is_some())
        || changes.any(|change| change.member().is_some());
    let mut sizes = BTreeSet::new();
    for zone in scenario.zones.ids().filter(|zone| has_clients(*zone)) {
        let here = || scenario.backends.pairs().filter(move |(_, spec)| spec.zone == zone);
        if moves {
            sizes.extend(1..=here().count());
        } else {
            let members = || here().map(|(id, _)| scenario.membership(id)).filter(|member| member.configured);
            let of_role = |role| members().filter(|member| member.role == role).count();
            sizes.extend([Role::Primary, Role::Failover].map(of_role));
        }
    }
    sizes.into_iter().filter(|size| *size > 0).collect()
}

/// The fewest of `size` backends of a zone that keep its connections, while a backend elsewhere is healthy.
fn needed(policy: &BackendServicePolicy, size: usize) -> usize {
    let zonal = AnyPolicy::BackendService(BackendServicePolicy {
        zonal_affinity: policy.zonal_affinity,
        spec_version: policy.spec_version,
        ..BackendServicePolicy::default()
    });
    let (home, elsewhere) = (ZoneId::from_index(0), ZoneId::from_index(1));
    let member =
        |zone, healthy| Member { name: String::new(), zone, role: Role::Primary, configured: true, healthy };
    let stays = |eligible: &usize| {
        let here = (0..size).map(|index| member(home, index < *eligible));
        let members: IdVec<BackendId, Member> = here.chain([member(elsewhere, true)]).collect();
        let roster = zonal.roster(2, members);
        let state = PolicyState { now: SimTime::ZERO, roster: &roster };
        zonal.decide(state, TrafficOrigin::Zone(home)).outcome == PlacementOutcome::InZone
    };
    (0..=size).find(stays).unwrap_or(size)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::{Overrides, Source};

    fn classes(sizes: [usize; 2], arms: &str) -> Vec<SamePolicy> {
        same_policies(&experiment(sizes, arms))
    }

    fn experiment(sizes: [usize; 2], arms: &str) -> Experiment {
        let text = format!(
            r#"
            name = "n"
            region = {{ name = "r", zones = ["a", "b"] }}
            [[backend_service.backends]]
            group = "a"
            zone = "a"
            size = {}
            [[backend_service.backends]]
            group = "b"
            zone = "b"
            size = {}
            [[clients]]
            name = "web"
            kind = "vm"
            zone = "a"
            arrivals = {{ poisson = {{ rate = 1.0 }} }}
            {arms}
            "#,
            sizes[0], sizes[1]
        );
        Experiment::parse(Source { name: "n".to_owned(), text }, &Overrides::default()).unwrap()
    }

    const SPILL: &str = r#"
        [[arms]]
        name = "spill"
        set = { "backend_service.zonal_affinity.spillover" = "SPILL_CROSS_ZONE" }
        sweep = { "backend_service.zonal_affinity.spillover_ratio" = { from = 0.0, to = 1.0, step = 0.05 } }
    "#;

    #[test]
    fn ratios_between_two_thresholds_are_one_policy_and_the_upper_end_belongs_to_it() {
        let classes = classes([4, 4], SPILL);
        let cells: Vec<Vec<usize>> = classes.iter().map(|same| same.cells.clone()).collect();
        // 0.25 is cell 5, 0.5 cell 10, 0.75 cell 15.
        assert_eq!(
            cells,
            [(0..=5).collect::<Vec<_>>(), (6..=10).collect(), (11..=15).collect(), (16..=20).collect()]
        );
        let thresholds: Vec<_> = classes.iter().map(|same| same.thresholds[0]).collect();
        assert_eq!(thresholds, [(1, 4), (2, 4), (3, 4), (4, 4)]);
    }

    #[test]
    fn zones_without_clients_do_not_matter() {
        assert_eq!(classes([4, 3], SPILL), classes([4, 4], SPILL));
    }

    #[test]
    fn what_differs_otherwise_is_not_the_same() {
        let arms = SPILL.replace("sweep", "unused").split("unused").next().unwrap().to_owned()
            + "[[arms]]\nname = \"other\"\n"
            + "set = { \"backend_service.zonal_affinity\" = { spillover = \"SPILL_CROSS_ZONE\", spillover_ratio = 0.1 }, \
               \"server.workers\" = 3 }\n";
        assert_eq!(classes([4, 4], &arms), []);
        let same = arms.replace(", \"server.workers\" = 3", "");
        assert_eq!(classes([4, 4], &same)[0].cells, [0, 1], "arms may be the same policy too");
    }

    #[test]
    fn a_group_that_grows_by_itself_may_have_any_number_of_backends() {
        let growing = "[backend_service.backends.autoscaling_policy]\nmax_num_replicas = 6\n[[clients]]";
        let text = experiment([4, 4], SPILL).document().replacen("[[clients]]", growing, 1);
        // It is the last group, of zone b, that grows: its zone needs clients.
        let text = text.replace("zone = \"a\"\n            arrivals", "zone = \"b\"\n            arrivals");
        let source = Source { name: "n".to_owned(), text };
        let classes = same_policies(&Experiment::parse(source, &Overrides::default()).unwrap());
        // With five of them, 0.8 and 0.85 part at 4/5.
        assert!(
            classes.iter().all(|same| !(same.cells.contains(&16) && same.cells.contains(&17))),
            "{classes:?}"
        );
    }

    #[test]
    fn policies_change_at_every_share_of_the_zones_backends() {
        let arms = format!("[[arms]]\nname = \"disabled\"\n{SPILL}");
        let cliffs = Cliffs::of(&experiment([4, 3], &arms)).unwrap();
        assert_eq!(cliffs.axis, 0);
        assert_eq!(cliffs.shares(0).count(), 0, "an arm that does not spill has no thresholds");
        assert!((1..=21).all(|cell| cliffs.shares(cell).eq([(1, 4), (2, 4), (3, 4)])));
        assert!(Cliffs::of(&experiment([4, 4], "[sweep]\n\"server.workers\" = [1, 2]\n")).is_none());
    }

    #[test]
    fn operations_that_change_the_number_of_backends_count() {
        let operation = "[[operations]]\nat = \"1s\"\ndo = \"remove_instances\"\nbackends = [\"a-1\"]\n";
        let classes = classes([4, 4], &format!("{operation}{SPILL}"));
        // With three left, 0.3 and 0.35 part at 1/3.
        assert!(classes.iter().all(|same| !(same.cells.contains(&6) && same.cells.contains(&7))));
    }
}
