//! Backends as the load balancer knows them.

use serde::{Deserialize, Serialize};

use crate::ids::ZoneId;

/// What a backend is for in the failover policy (ELIG-1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Serves while the failover policy allows.
    Primary,
    /// Takes over from the primaries.
    Failover,
}

impl Role {
    /// Its name in results.
    pub fn name(self) -> &'static str {
        match self {
            Self::Primary => "primary",
            Self::Failover => "failover",
        }
    }
}

/// One instance or endpoint, with what the load balancer holds of it now.
#[derive(Clone, Debug, PartialEq)]
pub struct Member {
    /// Its name; selection hashes it, so that results do not depend on the order of backends.
    pub name: String,
    /// The zone it runs in.
    pub zone: ZoneId,
    /// Primary or failover.
    pub role: Role,
    /// Whether it is a member of its group now: backends may be added and removed.
    pub configured: bool,
    /// Whether it is held healthy.
    pub healthy: bool,
}
