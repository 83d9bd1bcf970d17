//! Every policy there is, behind one type. Nothing else names them all.

use super::backend_service::BackendServicePolicy;
use super::target_pool::TargetPoolPolicy;
use super::{Placement, PolicyState, PolicyStep, TrafficOrigin, Trail, ZonePolicy};
use crate::ids::{BackendId, IdVec};
use crate::lb::backend::Member;
use crate::lb::roster::Roster;
#[cfg(test)]
use crate::tests::toy_policy::ToyPolicy;
use crate::time::SimTime;

/// A policy.
#[derive(Clone, Debug, PartialEq)]
pub enum AnyPolicy {
    /// That of a backend service.
    BackendService(BackendServicePolicy),
    /// That of a target pool.
    TargetPool(TargetPoolPolicy),
    /// One that a test brings along.
    #[cfg(test)]
    Toy(ToyPolicy),
}

impl Default for AnyPolicy {
    fn default() -> Self {
        Self::BackendService(BackendServicePolicy::default())
    }
}

impl AnyPolicy {
    /// What it can be asked.
    pub fn get(&self) -> &dyn ZonePolicy {
        match self {
            Self::BackendService(policy) => policy,
            Self::TargetPool(policy) => policy,
            #[cfg(test)]
            Self::Toy(policy) => policy,
        }
    }

    fn get_mut(&mut self) -> &mut dyn ZonePolicy {
        match self {
            Self::BackendService(policy) => policy,
            Self::TargetPool(policy) => policy,
            #[cfg(test)]
            Self::Toy(policy) => policy,
        }
    }

    /// Has `roster` keep the sets that it needs now; tells whether they are others than before.
    pub(in crate::lb) fn prepare(&mut self, now: SimTime, roster: &mut Roster) -> bool {
        roster.keep_sets(self.get_mut().sets(PolicyState { now, roster }))
    }

    /// `members` in a region of `zones` zones with its sets, as at the beginning.
    pub fn roster(&self, zones: usize, members: IdVec<BackendId, Member>) -> Roster {
        let mut roster = Roster::new(zones, members);
        self.clone().prepare(SimTime::ZERO, &mut roster);
        roster
    }

    /// Where new connections from `origin` go. The load balancer, `explain` and `expect` all ask here.
    pub fn decide(&self, state: PolicyState<'_>, origin: TrafficOrigin) -> Placement {
        self.take_down(state, origin, &mut Trail(None))
    }

    /// The same, with the steps on the way.
    pub fn explain(&self, state: PolicyState<'_>, origin: TrafficOrigin) -> (Placement, Vec<PolicyStep>) {
        let mut trail = Trail(Some(Vec::new()));
        let placement = self.take_down(state, origin, &mut trail);
        (placement, trail.0.unwrap_or_default())
    }

    fn take_down(&self, state: PolicyState<'_>, origin: TrafficOrigin, trail: &mut Trail) -> Placement {
        let policy = self.get();
        policy.decide(state, policy.enter(state, origin), trail)
    }
}
