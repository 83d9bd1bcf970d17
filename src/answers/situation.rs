//! A moment of a world, from the rules alone: who is configured where, who is held healthy, and who serves.
//!
//! Health follows at once. What `expect`, `explain` and the loads before and during faults say stands on this.

use crate::ids::{BackendId, BalancerId, IdVec, JudgeId, RuleId};
use crate::lb::backend::{Member, Role};
use crate::lb::change::{Change, RegionChange};
use crate::lb::policy::TrafficOrigin;
use crate::lb::policy::any::AnyPolicy;
use crate::sim::scenario::{
    BackendFault, BalancerSpec, FailureMode, Fault, FaultEffect, FaultSchedule, Scenario, struck,
};
use crate::time::SimTime;

/// A moment of the world of `scenario`.
#[derive(Clone, Debug)]
pub(super) struct Situation<'a> {
    pub(super) scenario: &'a Scenario,
    pub(super) balancers: IdVec<BalancerId, BalancerView>,
    targets: IdVec<RuleId, Option<BalancerId>>,
    /// Whether clients of other regions reach each rule.
    reach: IdVec<RuleId, bool>,
    /// The probability that each backend serves.
    pub(super) serves: IdVec<BackendId, f64>,
    /// How many times longer than alone each takes for a request.
    pub(super) slowness: IdVec<BackendId, f64>,
}

/// What one load balancer knows then.
#[derive(Clone, Debug)]
pub(super) struct BalancerView {
    pub(super) policy: AnyPolicy,
    pub(super) weighted: bool,
    pub(super) members: IdVec<BackendId, Member>,
    pub(super) judges: IdVec<BackendId, Option<JudgeId>>,
}

impl<'a> Situation<'a> {
    /// As the scenario begins, with all well.
    pub(super) fn new(scenario: &'a Scenario) -> Self {
        let view = |(id, spec): (BalancerId, &BalancerSpec)| BalancerView {
            policy: spec.settings.policy.clone(),
            weighted: spec.settings.weighted,
            members: scenario.members(id, |_| true),
            judges: spec.members.iter().map(|member| member.judge).collect(),
        };
        Self {
            scenario,
            balancers: scenario.balancers.pairs().map(view).collect(),
            targets: scenario.rules.iter().map(|rule| rule.balancer).collect(),
            reach: scenario.rules.iter().map(|rule| rule.is_reached_from_elsewhere).collect(),
            serves: scenario.backends.iter().map(|_| 1.0).collect(),
            slowness: scenario.backends.iter().map(|_| 1.0).collect(),
        }
    }

    /// At time `at`, after the operations until then and with the faults that last then, of which the file gives the times.
    pub(super) fn at(scenario: &'a Scenario, at: SimTime) -> Self {
        let mut situation = Self::new(scenario);
        situation.operate_until(at);
        for fault in scenario.faults.iter().filter(|fault| is_on(fault, at, scenario)) {
            situation.strike(fault);
        }
        situation
    }

    /// Applies what operators do until `at`, and then.
    pub(super) fn operate_until(&mut self, at: SimTime) {
        let done = self.scenario.operations.iter().filter(|operation| operation.at <= at);
        done.flat_map(|operation| &operation.changes).for_each(|change| self.change(change));
    }

    /// Where new connections from `origin` to `rule` are led, if they get anywhere.
    pub(super) fn target(&self, rule: RuleId, origin: TrafficOrigin) -> Option<BalancerId> {
        // The only load balancer of a region says itself who reaches it.
        let is_reached = self.reach[rule] || origin != TrafficOrigin::OtherRegion || self.scenario.is_plain();
        self.targets[rule].filter(|_| is_reached)
    }

    /// Whether `rule` exists, and leads to a load balancer.
    pub(super) fn leads_anywhere(&self, rule: RuleId) -> bool {
        self.targets[rule].is_some()
    }

    /// Whether some load balancer has `backend`.
    pub(super) fn is_configured(&self, backend: BackendId) -> bool {
        self.balancers.iter().any(|view| view.members[backend].configured)
    }

    /// Failover if `backend` is that to every load balancer that has it, and primary otherwise.
    pub(super) fn role(&self, backend: BackendId) -> Role {
        let members = self.balancers.iter().map(|view| &view.members[backend]);
        let mut primary = members.filter(|member| member.configured && member.role == Role::Primary);
        if primary.next().is_some() { Role::Primary } else { Role::Failover }
    }

    /// Holds `backend` healthy or not, wherever a health check judges it.
    pub(super) fn set_health(&mut self, backend: BackendId, healthy: bool) {
        for view in self.balancers.iter_mut().filter(|view| view.judges[backend].is_some()) {
            view.members[backend].healthy = healthy;
        }
    }

    fn change(&mut self, change: &RegionChange) {
        match change {
            RegionChange::Balancer(balancer, change) => self.balancers[*balancer].change(change),
            RegionChange::Retarget(rule, balancer) => self.targets[*rule] = *balancer,
            RegionChange::Reach(rule, so) => self.reach[*rule] = *so,
        }
    }

    pub(super) fn strike(&mut self, fault: &Fault) {
        let FaultEffect::Backends { targets, fraction, kind } = &fault.effect else { return };
        let hit: Vec<BackendId> = match &fault.schedule {
            FaultSchedule::Rolling { batch, .. } => {
                targets.iter().copied().take(batch.get() as usize).collect()
            }
            _ => {
                let there: Vec<BackendId> =
                    targets.iter().copied().filter(|backend| self.is_configured(*backend)).collect();
                let count = struck(*fraction, there.len());
                there.into_iter().take(count).collect()
            }
        };
        for backend in hit {
            match kind {
                BackendFault::Slow(factor) => self.slowness[backend] *= factor.value(),
                BackendFault::Fails(mode) => self.fail(backend, *mode),
                BackendFault::Drains => {
                    // A handshake doesn't tell that a server drains.
                    let judges = &self.scenario.judges;
                    for view in self.balancers.iter_mut() {
                        if view.judges[backend].is_some_and(|judge| judges[judge].check.wants_reply) {
                            view.members[backend].healthy = false;
                        }
                    }
                }
                BackendFault::BlocksProbes => self.fail(backend, FailureMode::UnhealthyOnly),
            }
        }
    }

    fn fail(&mut self, backend: BackendId, mode: FailureMode) {
        if mode != FailureMode::UnhealthyOnly {
            self.serves[backend] = 0.0;
        }
        if mode != FailureMode::ServingOnly {
            self.set_health(backend, false);
        }
    }
}

impl BalancerView {
    fn change(&mut self, change: &Change) {
        match change {
            Change::Configure(settings) => {
                self.policy = settings.policy.clone();
                self.weighted = settings.weighted;
            }
            Change::Add(backend) => self.members[*backend].configured = true,
            Change::Remove(backend) => self.members[*backend].configured = false,
            Change::SetRole(backend, role) => self.members[*backend].role = *role,
            Change::SetJudge(backend, judge) => {
                self.judges[*backend] = *judge;
                // Without a check it counts as healthy (TPA-4).
                self.members[*backend].healthy |= judge.is_none();
            }
        }
    }
}

/// Whether a fault of which the file gives the times is on at time `at`.
fn is_on(fault: &Fault, at: SimTime, scenario: &Scenario) -> bool {
    let spans = fault.schedule.fixed_spans(scenario.timing.window_end());
    spans.iter().any(|(begin, end)| *begin <= at && end.is_none_or(|end| at < end))
}
