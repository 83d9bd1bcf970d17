//! What the control plane tells a running load balancer.

use super::Settings;
use super::backend::Role;
use crate::ids::BackendId;

/// One change of configuration.
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
    /// A backend is judged by the health check from now on, or no more.
    SetChecked(BackendId, bool),
}

impl Change {
    /// The backend that comes, goes or changes its role.
    pub fn member(&self) -> Option<BackendId> {
        match *self {
            Self::Add(backend) | Self::Remove(backend) | Self::SetRole(backend, _) => Some(backend),
            Self::SetChecked(..) | Self::Configure(_) => None,
        }
    }
}
