//! `[[routes]]`: load balancers that are next hops, and what that makes of clients' packets and their answers (REG-4).

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::super::clients::{BalancerKind, Front};
use super::super::routed::{Routed, choices};
use super::super::{WorldTables, zone_id};
use crate::compute::{
    ApiError, ControlPlane, PolicyBasedRoute, Reference, Resources, Route, RouteFilter, RuleProtocol,
    addresses_of,
};
use crate::experiment::bounded::ResourceName;
use crate::experiment::path::KeyPath;
use crate::experiment::problem::{Problem, refuse};
use crate::ids::{Id, IdVec, RuleId, ZoneId};
use crate::lb::policy::TrafficOrigin;
use crate::sim::scenario::{AnswerHop, NextHop, RuleSpec};

/// `[[routes]]`
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in super::super) struct RouteTable {
    /// Its name.
    #[schemars(extend("examples" = ["firewalls"]))]
    name: ResourceName,
    /// The addresses that it leads on: those of clients with such a `destination_range`.
    #[schemars(example = &"10.1.0.0/16")]
    destination: String,
    /// The forwarding rule that is its next hop, one of an internal load balancer.
    #[schemars(example = &"fw-in")]
    next_hop: String,
    /// What kind of route it is.
    #[serde(default)]
    kind: RouteKind,
    /// The forwarding rule that is the next hop of answers. Default: none; they come back through the machine that let their
    /// connection through.
    #[schemars(extend("examples" = ["fw-out"]))]
    return_next_hop: Option<String>,
    /// Whether a machine lets answers pass to connections that another one let through; if not, it drops them.
    #[serde(default)]
    session_sync: bool,
    /// The zone that answers come from. Default: none of the region, as behind a tunnel.
    #[schemars(example = &"us-central1-a")]
    destination_zone: Option<String>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum RouteKind {
    /// A static route.
    #[default]
    Static,
    /// A policy-based route, which goes before all static ones.
    PolicyBased,
}

impl RouteTable {
    fn insert(&self, resources: &mut Resources, path: &KeyPath) -> Result<(), Problem> {
        let (name, range) = (self.name.as_str().to_owned(), Some(self.destination.clone()));
        let next_hop = Some(Reference::new(&self.next_hop));
        let inserted = match self.kind {
            RouteKind::Static => resources.insert_route(Route {
                name,
                dest_range: range,
                next_hop_ilb: next_hop,
                ..Route::default()
            }),
            RouteKind::PolicyBased => resources.insert_policy_based_route(PolicyBasedRoute {
                name,
                filter: Some(RouteFilter { dest_range: range, ..RouteFilter::default() }),
                next_hop_ilb_ip: next_hop,
                ..PolicyBasedRoute::default()
            }),
        };
        inserted.map_err(|error| Problem::of_resource(in_words_of_the_file(error), path))?;
        let Some(answers) = &self.return_next_hop else {
            let strays =
                [("session_sync", self.session_sync), ("destination_zone", self.destination_zone.is_some())];
            return match strays.into_iter().find(|(_, is_there)| *is_there) {
                None => Ok(()),
                Some((key, _)) => {
                    let what = "has no effect without `return_next_hop`: answers come back through the \
                                machine that let their connection through";
                    refuse(path.key(key), what, "leave it out, or add return_next_hop = \"…\"")
                }
            };
        };
        let is_hop = resources.check_next_hop(Some(&Reference::new(answers)), &["return_next_hop"]);
        is_hop.map_err(|error| Problem::of_resource(error, path))
    }
}

/// Routes have keys of their own for fields of both kinds.
fn in_words_of_the_file(error: ApiError) -> ApiError {
    let fields: &'static [&'static str] = match error.fields.first().copied() {
        Some("destRange" | "filter.destRange") => &["destination"],
        Some("nextHopIlb" | "nextHopIlbIp") => &["next_hop"],
        _ => error.fields,
    };
    ApiError { fields, ..error }
}

impl WorldTables {
    /// Creates the routes.
    pub(super) fn route(
        &self,
        resources: &mut Resources,
        zones: &IdVec<ZoneId, String>,
    ) -> Result<(), Problem> {
        let list = KeyPath::to("routes");
        for (index, route) in self.routes.iter().enumerate() {
            let path = list.member(index);
            route.insert(resources, &path)?;
            if let Some(zone) = &route.destination_zone {
                zone_id(zones, zone, &path.key("destination_zone"))?;
            }
        }
        Ok(())
    }

    /// The rules that drop everything as next hops of these routes (NHOP-2).
    fn dropping<'a>(&self, resources: &'a Resources) -> Vec<&'a str> {
        let hops =
            self.routes.iter().flat_map(|route| [Some(&route.next_hop), route.return_next_hop.as_ref()]);
        let rules = hops.flatten().filter_map(|hop| resources.next_hop(&Reference::new(hop)));
        let names: BTreeSet<&str> = rules.map(|rule| rule.name.as_str()).collect();
        names.into_iter().filter(|rule| resources.drops_as_next_hop(rule).is_some()).collect()
    }

    /// As next hops they are other rules, which lead nowhere. Other clients reach their load balancers.
    pub(super) fn dropping_rules(&self, resources: &Resources) -> Vec<RuleSpec> {
        let nowhere = |name: &str| RuleSpec {
            name: name.to_owned(),
            balancer: None,
            address: RuleSpec::FIRST_ADDRESS,
            port: RuleSpec::PORT,
            is_reached_from_elsewhere: false,
        };
        self.dropping(resources).into_iter().map(nowhere).collect()
    }

    /// The rule that is the next hop called `hop`.
    fn hop(&self, plane: &ControlPlane, hop: &str) -> Option<RuleId> {
        let rule = &plane.resources.next_hop(&Reference::new(hop))?.name;
        match self.dropping(&plane.resources).iter().position(|name| name == rule) {
            Some(index) => Some(RuleId::from_index(plane.rules.len() + index)),
            None => plane.rules.pairs().find(|(_, name)| *name == rule).map(|(id, _)| id),
        }
    }

    /// What leads a client group's packets to `destinations` addresses of `range`, which stands in its table at `path`.
    pub(in super::super) fn led(
        &self,
        (range, destinations): (&str, u32),
        plane: &ControlPlane,
        zones: &IdVec<ZoneId, String>,
        path: &KeyPath,
    ) -> Result<(Front, NextHop), Problem> {
        let place = path.key("destination_range");
        let Some((first, count)) = addresses_of(range) else {
            let help = "write an address and the length of its prefix, such as \"10.1.0.0/16\"";
            return refuse(place, format!("is {range:?}, which is no IPv4 range"), help);
        };
        if u64::from(destinations) > count {
            let what = format!("is {destinations}, and {range:?} has {count} addresses");
            return refuse(
                path.key("destinations"),
                what,
                format!("write at most {count}, or a larger range"),
            );
        }
        let mut choices = choices(&plane.resources, (first, destinations));
        let (choice, other) = (choices.next().flatten(), choices.next());
        if let (Some(choice), Some(other)) = (&choice, &other) {
            let other = other.as_ref().map_or("none", |other| &other.route);
            let what =
                format!("is {range:?}, of which {:?} leads a part, and {other:?} another", choice.route);
            return refuse(place, what, "write a range that one route leads to, and a client group for each");
        }
        let route = choice.as_ref().and_then(|choice| {
            let route = self.routes.iter().find(|route| route.name.as_str() == choice.route)?;
            Some((route, self.hop(plane, &choice.rule)?, choice.rule.clone()))
        });
        let Some((route, rule, name)) = route else {
            let known: Vec<&str> = self.routes.iter().map(|route| route.destination.as_str()).collect();
            let help = match known.is_empty() {
                true => format!("add [[routes]] with destination = {range:?} and next_hop = \"…\""),
                false => format!("routes lead to {}", known.join(", ")),
            };
            return refuse(place, format!("is {range:?}, which no route leads to"), help);
        };
        let resource = plane.resources.next_hop(&Reference::new(&name));
        let protocol = resource.map_or(RuleProtocol::Tcp, |rule| plane.resources.protocol_of(rule));
        let answers = route.return_next_hop.as_ref().and_then(|hop| self.hop(plane, hop));
        let zone = route.destination_zone.as_ref().map(|zone| zone_id(zones, zone, path)).transpose()?;
        let answers = answers.map(|rule| AnswerHop {
            rule,
            origin: zone.map_or(TrafficOrigin::Hybrid, TrafficOrigin::Zone),
            is_session_synced: route.session_sync,
        });
        let front = Front { rule, name, kind: BalancerKind::Internal(protocol) };
        Ok((front, NextHop { destination: first.to_bits(), answers }))
    }

    /// The ranges that clients go to through routes, and the rules of their answers.
    pub(in super::super) fn routed(&self, resources: &Resources) -> Vec<Routed> {
        let routed = |(range, count): (&str, u32)| {
            let destinations = (addresses_of(range)?.0, count);
            let choice = choices(resources, destinations).next()??;
            let route = self.routes.iter().find(|route| route.name.as_str() == choice.route)?;
            Some(Routed { destinations, answers: route.return_next_hop.clone() })
        };
        self.clients.iter().filter_map(|client| routed(client.destination_range()?)).collect()
    }
}
