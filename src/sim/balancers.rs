//! The region's load balancers while they run, and the forwarding rules that lead to them.

use super::scenario::Scenario;
use crate::ids::{BackendId, BalancerId, Id, IdVec, JudgeId, RuleId};
use crate::lb::change::{Change, RegionChange};
use crate::lb::policy::TrafficOrigin;
use crate::lb::{Counters, LoadBalancer};
use crate::random::{Purpose, RunSeed};
use crate::time::SimTime;

#[derive(Debug)]
pub(super) struct Balancers {
    /// Apart from the others: most worlds have it alone, and every packet asks for it.
    first: LoadBalancer,
    others: Vec<LoadBalancer>,
    /// Where each rule leads now.
    targets: IdVec<RuleId, Option<BalancerId>>,
    /// Whether clients of other regions reach each rule.
    reach: IdVec<RuleId, bool>,
    /// Which health check judges each backend for each load balancer, while that has it.
    judges: IdVec<BalancerId, IdVec<BackendId, Option<JudgeId>>>,
    /// How often a rule was led elsewhere.
    retargeted: u64,
}

impl Balancers {
    pub(super) fn new(scenario: &Scenario, seed: RunSeed) -> Self {
        // One hash function in the whole region, as the data plane has it: both directions of a connection meet the same
        // machine where their fields hash alike (AFF-8).
        let hash_key = seed.stream(Purpose::Selection, "load-balancer").word();
        let balancer = |(id, spec): (BalancerId, &super::scenario::BalancerSpec)| {
            let begins_healthy = |backend: BackendId| {
                let judge = spec.members[backend].judge;
                judge.is_none_or(|judge| scenario.judges[judge].check.initially_healthy)
            };
            let members = scenario.members(id, begins_healthy);
            LoadBalancer::new(spec.settings.clone(), scenario.zones.len(), members).with_hash_key(hash_key)
        };
        let judges = |spec: &super::scenario::BalancerSpec| spec.members.iter().map(|it| it.judge).collect();
        let mut all = scenario.balancers.pairs().map(balancer);
        Self {
            first: all.next().expect("a world has one at least"),
            others: all.collect(),
            targets: scenario.rules.iter().map(|rule| rule.balancer).collect(),
            reach: scenario.rules.iter().map(|rule| rule.is_reached_from_elsewhere).collect(),
            judges: scenario.balancers.iter().map(judges).collect(),
            retargeted: 0,
        }
    }

    /// The load balancer of a world that has one alone.
    #[inline(always)]
    pub(super) fn sole(&self) -> &LoadBalancer {
        &self.first
    }

    #[inline(always)]
    pub(super) fn sole_mut(&mut self) -> &mut LoadBalancer {
        &mut self.first
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (BalancerId, &LoadBalancer)> {
        self.ids().zip([&self.first].into_iter().chain(&self.others))
    }

    pub(super) fn ids(&self) -> impl Iterator<Item = BalancerId> + use<> {
        (0..=self.others.len()).map(BalancerId::from_index)
    }

    pub(super) fn get(&self, balancer: BalancerId) -> &LoadBalancer {
        balancer.index().checked_sub(1).map_or(&self.first, |later| &self.others[later])
    }

    pub(super) fn get_mut(&mut self, balancer: BalancerId) -> &mut LoadBalancer {
        match balancer.index().checked_sub(1) {
            None => &mut self.first,
            Some(later) => &mut self.others[later],
        }
    }

    pub(super) fn retarget(&mut self, rule: RuleId, balancer: Option<BalancerId>) {
        self.retargeted += u64::from(self.targets[rule] != balancer);
        self.targets[rule] = balancer;
    }

    pub(super) fn set_reach(&mut self, rule: RuleId, so: bool) {
        self.retargeted += u64::from(self.reach[rule] != so);
        self.reach[rule] = so;
    }

    /// Where connections from `origin` to `rule` are led, if they get anywhere.
    pub(super) fn target_from(&self, rule: RuleId, origin: TrafficOrigin) -> Option<BalancerId> {
        self.targets[rule].filter(|_| origin != TrafficOrigin::OtherRegion || self.reach[rule])
    }

    /// What judges `backend` for `balancer`.
    pub(super) fn judge(&self, balancer: BalancerId, backend: BackendId) -> Option<JudgeId> {
        self.judges[balancer][backend]
    }

    pub(super) fn set_judge(&mut self, balancer: BalancerId, backend: BackendId, judge: Option<JudgeId>) {
        self.judges[balancer][backend] = judge;
    }

    /// The load balancers that have `backend`, and learn of its health from `judge`.
    pub(super) fn judged_by(&self, judge: JudgeId, backend: BackendId) -> Vec<BalancerId> {
        let learns =
            |id: &BalancerId| self.judges[*id][backend] == Some(judge) && self.is_member(*id, backend);
        self.ids().filter(learns).collect()
    }

    pub(super) fn is_member(&self, balancer: BalancerId, backend: BackendId) -> bool {
        self.get(balancer).roster().member(backend).configured
    }

    /// Whether any of them has `backend`.
    pub(super) fn have(&self, backend: BackendId) -> bool {
        self.ids().any(|balancer| self.is_member(balancer, backend))
    }

    /// Every load balancer that has one of `backends` loses it.
    pub(super) fn without(&self, backends: &[BackendId]) -> Vec<RegionChange> {
        let mut changes = Vec::new();
        for balancer in self.ids() {
            let gone = backends.iter().filter(|backend| self.is_member(balancer, **backend));
            changes.extend(gone.map(|backend| RegionChange::Balancer(balancer, Change::Remove(*backend))));
        }
        changes
    }

    /// Every load balancer that has a member of the group of `backend` gets it too.
    pub(super) fn with(&self, backend: BackendId, scenario: &Scenario) -> Vec<RegionChange> {
        let group = scenario.backends[backend].group;
        let of_group: Vec<BackendId> =
            scenario.backends.pairs().filter(|(_, spec)| spec.group == group).map(|(id, _)| id).collect();
        let takes = |balancer: &BalancerId| of_group.iter().any(|other| self.is_member(*balancer, *other));
        let takers = self.ids().filter(takes);
        takers.map(|balancer| RegionChange::Balancer(balancer, Change::Add(backend))).collect()
    }

    /// How often they have decided anew, and rules were led elsewhere.
    pub(super) fn decided(&self) -> u64 {
        self.iter().map(|(_, balancer)| balancer.decided()).sum::<u64>() + self.retargeted
    }

    pub(super) fn is_large(&self) -> bool {
        self.iter().any(|(_, balancer)| balancer.is_large())
    }

    pub(super) fn restart_counters(&mut self, now: SimTime) {
        self.first.restart_counters(now);
        self.others.iter_mut().for_each(|balancer| balancer.restart_counters(now));
    }

    /// What all of them have counted.
    pub(super) fn counters(&self) -> Counters {
        let counters = self.iter().map(|(_, balancer)| balancer.counters());
        counters.fold(Counters::default(), |sum, one| Counters {
            lookups: sum.lookups + one.lookups,
            hits: sum.hits + one.hits,
            health_transitions: sum.health_transitions + one.health_transitions,
            failover_switches: sum.failover_switches + one.failover_switches,
        })
    }

    /// The most entries that each of them had at one time, added up.
    pub(super) fn peak_entries(&self) -> u64 {
        self.iter().map(|(_, balancer)| balancer.peak_entries()).sum()
    }
}
