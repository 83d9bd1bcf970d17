//! The load balancers of a region, over the same machines: forwarding rules lead to them, health checks judge for them.

use crate::ids::{BackendId, BalancerId, IdVec, JudgeId};
use crate::lb::Settings;
use crate::lb::backend::Role;
use crate::lb::health::HealthChecking;

/// A load balancer: a backend service, or a target pool with its backup (REG-3). It has a tracking table of its own.
#[derive(Clone, Debug, PartialEq)]
pub struct BalancerSpec {
    /// The name of the backend service or target pool.
    pub name: String,
    /// How it is configured.
    pub settings: Settings,
    /// What each machine of the region is to it at first.
    pub members: IdVec<BackendId, Membership>,
}

/// What a machine is to one load balancer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Membership {
    /// Primary or failover, or of the target pool or its backup pool.
    pub role: Role,
    /// Whether it is configured from the beginning.
    pub configured: bool,
    /// The health check that judges it. Without one it counts as healthy (TPA-4).
    pub judge: Option<JudgeId>,
}

/// A health check of one resource: it judges machines apart from all others (REG-1).
#[derive(Clone, Debug, PartialEq)]
pub struct Judge {
    /// The resource and the check; empty where a world has one alone.
    pub name: String,
    /// How it probes, and what follows.
    pub check: HealthChecking,
    /// Which port it asks.
    pub port: u16,
}

/// Which ports of a machine answer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ServedPorts {
    /// All.
    #[default]
    All,
    /// These alone: on others nobody listens, and its system refuses.
    Some(Vec<u16>),
}

impl ServedPorts {
    /// Whether `port` answers.
    pub fn has(&self, port: u16) -> bool {
        match self {
            Self::All => true,
            Self::Some(ports) => ports.contains(&port),
        }
    }
}

/// A forwarding rule: what clients send to.
#[derive(Clone, Debug, PartialEq)]
pub struct RuleSpec {
    /// Its name.
    pub name: String,
    /// Where it leads at first; nowhere while it does not exist.
    pub balancer: Option<BalancerId>,
    /// Its IPv4 address as a number.
    pub address: u32,
    /// The port that its clients send to.
    pub port: u16,
    /// Whether clients of other regions reach it (ZON-4).
    pub is_reached_from_elsewhere: bool,
}

impl RuleSpec {
    /// The address of a region's first rule, 192.168.0.10, above all client addresses.
    pub const FIRST_ADDRESS: u32 = 0xC0A8_000A;
    /// The port of a rule that says nothing.
    pub const PORT: u16 = 80;
}
