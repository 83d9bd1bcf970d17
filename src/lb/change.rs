//! What the control plane tells running load balancers.

use super::Settings;
use super::backend::Role;
use crate::ids::{BackendId, BalancerId, JudgeId, RuleId};

/// One change of a load balancer's configuration.
#[derive(Clone, Debug, PartialEq)]
pub enum Change {
    /// The load balancer is configured like this from now on.
    Configure(Settings),
    /// A backend is added.
    Add(BackendId),
    /// A backend is removed.
    Remove(BackendId),
    /// A backend changes its role.
    SetRole(BackendId, Role),
    /// A backend is judged by this health check from now on, or by none.
    SetJudge(BackendId, Option<JudgeId>),
}

impl Change {
    /// The backend that comes, goes or changes its role.
    pub fn member(&self) -> Option<BackendId> {
        match *self {
            Self::Add(backend) | Self::Remove(backend) | Self::SetRole(backend, _) => Some(backend),
            Self::SetJudge(..) | Self::Configure(_) => None,
        }
    }
}

/// One change in a region.
#[derive(Clone, Debug, PartialEq)]
pub enum RegionChange {
    /// Of a load balancer.
    Balancer(BalancerId, Change),
    /// A forwarding rule leads there from now on, or nowhere.
    Retarget(RuleId, Option<BalancerId>),
    /// Clients of other regions reach a forwarding rule from now on, or do not (ZON-4).
    Reach(RuleId, bool),
}

impl RegionChange {
    /// What `changes` are to the only load balancer of a region.
    #[cfg(test)]
    pub(crate) fn of_only(changes: Vec<Self>) -> Vec<Change> {
        let change = |change| match change {
            Self::Balancer(balancer, change) => {
                assert_eq!(crate::ids::Id::index(balancer), 0, "it is the only one");
                change
            }
            Self::Retarget(..) | Self::Reach(..) => panic!("its rule stays"),
        };
        changes.into_iter().map(change).collect()
    }

    /// The backend that comes, goes or changes its role.
    pub fn member(&self) -> Option<BackendId> {
        match self {
            Self::Balancer(_, change) => change.member(),
            Self::Retarget(..) | Self::Reach(..) => None,
        }
    }

    /// What it changes of `balancer`, if it is one of its changes.
    pub fn of(&self, balancer: BalancerId) -> Option<&Change> {
        match self {
            Self::Balancer(other, change) if *other == balancer => Some(change),
            Self::Balancer(..) | Self::Retarget(..) | Self::Reach(..) => None,
        }
    }
}
