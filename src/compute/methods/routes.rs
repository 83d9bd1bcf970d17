//! `routes`, and `policyBasedRoutes` of the Network Connectivity API: those whose next hop is a rule (NHOP-1, NHOP-2).

use std::cmp::Reverse;
use std::net::Ipv4Addr;

use schemars::JsonSchema;
use serde::Deserialize;

use crate::compute::error::{ApiError, FieldPaths};
use crate::compute::forwarding_rule::{ForwardingRule, RuleProtocol, Scheme};
use crate::compute::kind::ResourceKind;
use crate::compute::reference::Reference;
use crate::compute::resources::Resources;
use crate::compute::route::{PolicyBasedRoute, Route, RouteFilter};

/// What `routes.insert` creates.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RouteArguments {
    /// Its name.
    #[schemars(example = &"through-the-firewalls")]
    name: String,
    /// The addresses that it leads on.
    #[schemars(example = &"10.1.0.0/16")]
    dest_range: String,
    /// The forwarding rule that is its next hop.
    #[schemars(example = &"fw-in")]
    next_hop_ilb: Reference,
    /// The lowest wins. Default: 1000.
    priority: Option<i64>,
}

/// What `policyBasedRoutes.create` creates.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PolicyBasedRouteArguments {
    /// Its name.
    #[schemars(example = &"through-the-firewalls")]
    name: String,
    /// Which packets it leads on. Default: all.
    filter: Option<RouteFilterArguments>,
    /// The forwarding rule that is its next hop, or its address.
    #[schemars(example = &"fw-in")]
    next_hop_ilb_ip: Reference,
}

/// Which packets a policy-based route leads on.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RouteFilterArguments {
    /// Where they come from. Default: anywhere.
    #[schemars(example = &"10.0.0.0/16")]
    src_range: Option<String>,
    /// Where they go to. Default: anywhere.
    #[schemars(example = &"10.1.0.0/16")]
    dest_range: Option<String>,
    /// TCP, UDP or ALL. Default: ALL.
    #[schemars(example = &"TCP")]
    ip_protocol: Option<String>,
}

impl RouteArguments {
    /// The route.
    pub fn resource(&self) -> Route {
        Route {
            name: self.name.clone(),
            dest_range: Some(self.dest_range.clone()),
            next_hop_ilb: Some(self.next_hop_ilb.clone()),
            priority: self.priority,
            ..Route::default()
        }
    }
}

impl PolicyBasedRouteArguments {
    /// The route.
    pub fn resource(&self) -> PolicyBasedRoute {
        let filter = self.filter.as_ref().map(|keys| RouteFilter {
            src_range: keys.src_range.clone(),
            dest_range: keys.dest_range.clone(),
            ip_protocol: keys.ip_protocol.clone(),
            ..RouteFilter::default()
        });
        let next_hop_ilb_ip = Some(self.next_hop_ilb_ip.clone());
        PolicyBasedRoute { name: self.name.clone(), filter, next_hop_ilb_ip, ..PolicyBasedRoute::default() }
    }
}

/// What a route leads packets to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RouteChoice {
    /// The name of the route.
    pub route: String,
    /// The name of the forwarding rule that is its next hop.
    pub rule: String,
    /// Why the next hop drops them, if it does.
    pub drops: Option<NextHopDrop>,
}

/// Why a next hop drops every packet without a word (NHOP-2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NextHopDrop {
    /// The rule is of protocol L3_DEFAULT.
    L3Default,
    /// Another rule has the same address.
    SharedAddress,
}

const PROTOCOLS: [&str; 3] = ["TCP", "UDP", "ALL"];
const NEXT_HOP: FieldPaths = &["nextHopIlb", "nextHop"];
const NEXT_HOP_IP: FieldPaths = &["nextHopIlbIp", "nextHop"];
const DESTINATION: FieldPaths = &["destRange", "destination"];

impl Resources {
    /// `routes.insert`
    ///
    /// # Errors
    /// If its name can't be or is taken, its destination is no range, or its next hop does not exist or can't be one.
    pub fn insert_route(&mut self, route: Route) -> Result<(), ApiError> {
        Self::check_named(&route.name)?;
        let Some(range) = &route.dest_range else {
            return Err(ApiError::required(
                DESTINATION,
                "add destRange = \"10.1.0.0/16\", or the one that you mean",
            ));
        };
        check_range(DESTINATION, range)?;
        if let Some(priority) = route.priority.filter(|priority| !(0..=65_535).contains(priority)) {
            let why = "Must be from 0 to 65535";
            return Err(ApiError::bad_value(&["priority"], priority, why, "write a number from 0 to 65535"));
        }
        self.check_next_hop(route.next_hop_ilb.as_ref(), NEXT_HOP)?;
        self.check_new(ResourceKind::Route, &route.name)?;
        self.routes.push(route);
        Ok(())
    }

    /// `policyBasedRoutes.create`
    ///
    /// # Errors
    /// As of [`Resources::insert_route`].
    pub fn insert_policy_based_route(&mut self, route: PolicyBasedRoute) -> Result<(), ApiError> {
        Self::check_named(&route.name)?;
        let filter = route.filter.clone().unwrap_or_default();
        filter.src_range.iter().try_for_each(|range| check_range(&["filter.srcRange", "filter"], range))?;
        filter.dest_range.iter().try_for_each(|range| check_range(&["filter.destRange", "filter"], range))?;
        if let Some(other) = filter.ip_protocol.filter(|own| !PROTOCOLS.contains(&own.as_str())) {
            let why = "Must be TCP, UDP or ALL";
            return Err(ApiError::bad_value(
                &["filter.ipProtocol", "filter"],
                other,
                why,
                "write one of them",
            ));
        }
        self.check_next_hop(route.next_hop_ilb_ip.as_ref(), NEXT_HOP_IP)?;
        self.check_new(ResourceKind::PolicyBasedRoute, &route.name)?;
        self.policy_based_routes.push(route);
        Ok(())
    }

    /// Why the rule called `rule` drops what a route leads to it, if it does. The API accepts such a route (NHOP-2).
    pub fn drops_as_next_hop(&self, rule: &str) -> Option<NextHopDrop> {
        let rule = self.forwarding_rules.iter().find(|own| own.name == rule)?;
        if self.protocol_of(rule) == RuleProtocol::L3Default {
            return Some(NextHopDrop::L3Default);
        }
        let has_it = |other: &ForwardingRule| {
            other.name != rule.name && rule.ip_address.is_some() && other.ip_address == rule.ip_address
        };
        self.forwarding_rules.iter().any(has_it).then_some(NextHopDrop::SharedAddress)
    }

    /// The static route of packets to all of the range `destination`: the most specific one that holds it, of these the one
    /// with the lowest priority, of these the first by name. Equal ones do not share the packets (NHOP-2).
    pub fn route_to(&self, destination: &str) -> Option<&Route> {
        let (address, length) = range(destination)?;
        let routes = self.routes.iter().filter_map(|route| {
            let (own, shorter) = range(route.dest_range.as_deref()?)?;
            let holds = shorter <= length && masked(address, shorter) == masked(own, shorter);
            holds.then_some((shorter, route))
        });
        let order = |(length, route): &(u8, &Route)| {
            (Reverse(*length), route.priority.unwrap_or(USUAL_PRIORITY), route.name.clone())
        };
        routes.min_by_key(order).map(|(_, route)| route)
    }

    /// What packets to all of the range `destination` are led to: by a policy-based route, of several the first by name, or else
    /// by the static one of [`Resources::route_to`].
    pub fn choose_route(&self, destination: &str) -> Option<RouteChoice> {
        let (address, length) = range(destination)?;
        let leads = |route: &&PolicyBasedRoute| {
            let own = route.filter.as_ref().and_then(|filter| filter.dest_range.as_deref());
            own.is_none_or(|own| {
                range(own).is_some_and(|(own, shorter)| {
                    shorter <= length && masked(address, shorter) == masked(own, shorter)
                })
            })
        };
        let by_policy = self.policy_based_routes.iter().filter(leads).min_by_key(|route| route.name.clone());
        let by_policy = by_policy.map(|route| (&route.name, route.next_hop_ilb_ip.as_ref()));
        let fixed = || self.route_to(destination).map(|route| (&route.name, route.next_hop_ilb.as_ref()));
        let (route, next_hop) = by_policy.or_else(fixed)?;
        let rule = self.next_hop(next_hop?)?.name.clone();
        let drops = self.drops_as_next_hop(&rule);
        Some(RouteChoice { route: route.clone(), rule, drops })
    }

    /// Checks that `next_hop` is a rule that a route can have: one of an internal load balancer.
    ///
    /// # Errors
    /// If it is none, or does not exist.
    pub fn check_next_hop(&self, next_hop: Option<&Reference>, fields: FieldPaths) -> Result<(), ApiError> {
        let Some(next_hop) = next_hop else {
            return Err(ApiError::required(fields, "name the forwarding rule that is the next hop"));
        };
        self.check_region(next_hop, fields)?;
        let Some(rule) = self.next_hop(next_hop) else {
            return self.check_exists(ResourceKind::ForwardingRule, next_hop.name(), fields);
        };
        let is_internal = rule.load_balancing_scheme == Some(Scheme::Internal);
        if is_internal && rule.backend_service.is_some() {
            return Ok(());
        }
        let why = "The next hop must be the forwarding rule of an internal passthrough load balancer";
        Err(ApiError::bad_value(fields, next_hop.as_str(), why, "name a rule of scheme INTERNAL"))
    }
}

/// The priority of a route that says none.
const USUAL_PRIORITY: i64 = 1000;

/// Checks that `written` is a range of addresses.
fn check_range(fields: FieldPaths, written: &str) -> Result<(), ApiError> {
    if range(written).is_some() {
        return Ok(());
    }
    let help = "write an address and the length of its prefix, such as \"10.1.0.0/16\"";
    Err(ApiError::bad_value(fields, written, "Must be an IPv4 range", help))
}

/// The first address of the range `written`, such as `10.1.0.0/16`, and how many it has; nothing if it is no IPv4 range.
pub fn addresses_of(written: &str) -> Option<(Ipv4Addr, u64)> {
    let (address, length) = range(written)?;
    let shift = 32 - u32::from(length);
    let first = masked(address, length).checked_shl(shift).unwrap_or(0);
    Some((Ipv4Addr::from_bits(first), 1 << shift))
}

/// An address of the range `written`, and the length of its prefix.
fn range(written: &str) -> Option<(Ipv4Addr, u8)> {
    let (address, length) = written.split_once('/')?;
    Some((address.parse().ok()?, length.parse().ok().filter(|length| *length <= 32)?))
}

/// The first `length` bits of `address`.
fn masked(address: Ipv4Addr, length: u8) -> u32 {
    address.to_bits().checked_shr(32 - u32::from(length)).unwrap_or(0)
}
