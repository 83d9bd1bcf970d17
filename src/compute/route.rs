//! Routes whose next hop is a load balancer (NHOP-1, NHOP-2, REG-4): static ones, and those by policy.

use super::Reference;
use super::fields::fields;

fields! {
    /// A static route.
    Route {
        /// Its name.
        name: String,
        /// The addresses that it leads on.
        dest_range: Option<String>,
        /// The forwarding rule that is its next hop, or its address.
        next_hop_ilb: Option<Reference>,
        /// The lowest wins. Default: 1000.
        #[serde(deserialize_with = "super::number::number")]
        priority: Option<i64>,
    }
}

fields! {
    /// A policy-based route, of the Network Connectivity API.
    PolicyBasedRoute {
        /// Its name.
        name: String,
        /// Which packets it leads on.
        filter: Option<RouteFilter>,
        /// The address of the forwarding rule that is its next hop, or its name.
        next_hop_ilb_ip: Option<Reference>,
    }
}

fields! {
    /// Which packets a policy-based route leads on. What is absent matches all.
    RouteFilter {
        /// Where they come from.
        src_range: Option<String>,
        /// Where they go to.
        dest_range: Option<String>,
        /// TCP, UDP, or ALL, which is the default.
        ip_protocol: Option<String>,
    }
}
