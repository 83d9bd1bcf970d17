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
