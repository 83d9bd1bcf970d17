//! What leads traffic to a load balancer: forwarding rules (RES-5), and routes whose next hop is one (NHOP).

use serde::{Deserialize, Serialize};

use super::{OtherFields, Reference};

/// A forwarding rule. It points to a backend service, or to a target pool.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ForwardingRule {
    /// Its name.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// Whose rule it is. Default: EXTERNAL.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub load_balancing_scheme: Option<Scheme>,
    /// The backend service that it points to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backend_service: Option<Reference>,
    /// The target pool that it points to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target: Option<Reference>,
    /// Whether VMs of other regions reach it; an external one is always reached. Default: false.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allow_global_access: Option<bool>,
    /// Whether it collects packets of Packet Mirroring. Default: false.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub is_mirroring_collector: Option<bool>,
    /// The fields that nothing here depends on, among them address, protocol and ports.
    #[serde(flatten)]
    pub other: OtherFields,
}

/// Which kind of load balancer a resource belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Scheme {
    /// An internal passthrough load balancer.
    Internal,
    /// An external one.
    External,
}

/// A static route.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Route {
    /// Its name.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// The addresses that it leads on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dest_range: Option<String>,
    /// The forwarding rule that is its next hop, or its address.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_hop_ilb: Option<Reference>,
    /// The other fields.
    #[serde(flatten)]
    pub other: OtherFields,
}
