//! What leads traffic to a load balancer: forwarding rules (RES-5), and routes whose next hop is one (NHOP).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Reference;
use super::fields::fields;

fields! {
    /// A forwarding rule. It points to a backend service, or to a target pool.
    ForwardingRule {
        /// Its name.
        name: String,
        /// Whose rule it is. Default: EXTERNAL.
        load_balancing_scheme: Option<Scheme>,
        /// Which packets it takes. Default: those of its backend service; TCP for one of protocol UNSPECIFIED, and for a pool.
        #[serde(rename = "IPProtocol")]
        ip_protocol: Option<RuleProtocol>,
        /// The backend service that it points to.
        backend_service: Option<Reference>,
        /// The target pool that it points to.
        target: Option<Reference>,
        /// Whether VMs of other regions reach it; an external one is always reached. Default: false.
        allow_global_access: Option<bool>,
        /// Whether it collects packets of Packet Mirroring. Default: false.
        is_mirroring_collector: Option<bool>,
    }
}

/// Which packets a forwarding rule takes, if its load balancer is no next hop (REG-2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum RuleProtocol {
    /// TCP.
    Tcp,
    /// UDP.
    Udp,
    /// All. A next hop of this protocol drops everything (NHOP-2).
    #[serde(rename = "L3_DEFAULT")]
    L3Default,
}

impl RuleProtocol {
    /// As it is written.
    pub fn name(self) -> &'static str {
        ["TCP", "UDP", "L3_DEFAULT"][self as usize]
    }
}

/// Which kind of load balancer a resource belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Scheme {
    /// An internal passthrough load balancer.
    Internal,
    /// An external one.
    External,
}

fields! {
    /// A static route.
    Route {
        /// Its name.
        name: String,
        /// The addresses that it leads on.
        dest_range: Option<String>,
        /// The forwarding rule that is its next hop, or its address.
        next_hop_ilb: Option<Reference>,
    }
}
