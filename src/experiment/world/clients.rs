//! `[[clients]]`: who opens connections, and from where.

use std::num::{NonZeroU16, NonZeroU32};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{WorldTables, group_id, zone_id};
use crate::compute::{ControlPlane, RuleProtocol};
use crate::experiment::bounded::{Name, OneOrMore, Span, Whole};
use crate::experiment::files::DataFiles;
use crate::experiment::keys::word;
use crate::experiment::path::KeyPath;
use crate::experiment::problem::{Problem, distinct, refuse};
use crate::experiment::trace::WrittenArrivals;
use crate::ids::{BackendId, Id, IdVec, MAX_CLIENT_GROUPS, RuleId, ZoneId};
use crate::lb::packet::Protocol;
use crate::lb::policy::TrafficOrigin;
use crate::lb::ratio::Ratio;
use crate::sim::builder::ScenarioBuilder;
use crate::sim::retransmission::SynRetransmission;
use crate::sim::scenario::{ClientGroup, Lanes, NextHop};
use crate::time::SimDuration;
use crate::unfit::Unfit;
use crate::workload::{ArrivalSpec, Backoff, ConnectionProfile, Load};

/// The most client addresses: a sixteenth of all that IPv4 has.
const ADDRESSES_MAX: u64 = 1 << 28;

/// The most addresses that routes lead to: a tracking table numbers them.
const DESTINATIONS_MAX: u32 = 1000;

/// The most clients of a closed loop on an address, which has a port for each of them.
const CLIENTS_MAX: u32 = 4096;

/// The most requests of a connection, and the longest time between them and between its first and last, on average.
const REQUESTS_MAX: f64 = 1e6;
const THINK_TIME_MAX: SimDuration = SimDuration::from_secs(30 * 86_400);
const IDLE_TIME_MAX: SimDuration = THINK_TIME_MAX;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Client {
    /// Its name.
    name: Name,
    /// What it is.
    kind: ClientKind,
    /// The zone of a VM in the region. Default: none; a VM needs it or `region`.
    #[schemars(example = &"us-central1-a")]
    zone: Option<String>,
    /// The region of a VM elsewhere, or in which a tunnel or an attachment elsewhere ends. Default: none.
    #[schemars(extend("examples" = ["europe-west1"]))]
    region: Option<Name>,
    /// The group whose members call their own load balancer. Default: none; kind backend needs it.
    #[schemars(example = &"ig-a")]
    group: Option<String>,
    /// The forwarding rules that it connects to, each as often as any other. Default: the only one.
    #[schemars(extend("examples" = ["web-tcp"]))]
    to: Option<OneOrMore<String>>,
    /// The addresses that it sends to, through the route that leads there. Default: none; it sends to forwarding rules.
    #[schemars(example = &"10.1.0.0/16")]
    destination_range: Option<String>,
    /// The protocols that it speaks, from the same addresses; each of its connections goes to one rule by one protocol that
    /// the rule takes. Default: TCP, or UDP where the forwarding rule takes nothing else.
    protocol: Option<OneOrMore<Protocol>>,
    /// The share of its UDP requests that are sent in fragments.
    #[serde(default)]
    fragmented: Ratio,
    /// Distinct addresses that it sends to: of its `destination_range`, or without one those after its rule's, where more than one
    /// mean that the load balancer is its next hop.
    #[serde(default)]
    destinations: Whole<1, 1000>,
    /// Distinct client IPs. Default: 200; of kind backend as many as there are members.
    addresses: Option<Whole<1, 16_777_216>>,
    /// When it opens connections.
    arrivals: WrittenArrivals,
    /// What a connection carries.
    #[serde(default)]
    connection: ConnectionProfile,
    /// From the first SYN to giving up.
    #[serde(default = "Client::connect_timeout")]
    connect_timeout: Span,
    /// When it sends a SYN again that nobody answers: by RFC 6298 after 1 s, 2 s, 4 s …, as Linux since 6.5 after 1 s five
    /// times, then 2 s, 4 s …, or after the waits of a list, one after the other, and no more after the last.
    #[serde(default)]
    syn_retransmission: SynRetransmission,
    /// From a request to giving up.
    #[serde(default = "Client::request_timeout")]
    request_timeout: Span,
    /// How often a failed connection is tried anew.
    #[serde(default)]
    retries: Whole<0, 100>,
    /// How long it waits before each of them.
    #[serde(default)]
    retry_backoff: Backoff,
    /// From a connection's first SYN to when a new one takes its place. Default: none.
    max_age: Option<Span>,
}

impl Client {
    fn connect_timeout() -> Span {
        Span::known(ClientGroup::CONNECT_TIMEOUT)
    }

    fn request_timeout() -> Span {
        Span::known(ClientGroup::REQUEST_TIMEOUT)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum ClientKind {
    /// A virtual machine in the region or in another one.
    Vm,
    /// A host behind a Cloud VPN tunnel.
    Vpn,
    /// A host behind an Interconnect VLAN attachment.
    Interconnect,
    /// A host of the internet.
    Internet,
    /// A consumer of the published service that the load balancer produces.
    PrivateServiceConnect,
    /// The members of a group of backends: what they send to their own load balancer never leaves them (ELIG-14).
    Backend,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BalancerKind {
    Internal(RuleProtocol),
    External(RuleProtocol),
    TargetPool(RuleProtocol),
}

impl BalancerKind {
    /// The protocols that its rule takes, the default of clients first (REG-2, XBS-3, TPA-2).
    fn protocols(self) -> &'static [Protocol] {
        let (Self::Internal(rule) | Self::External(rule) | Self::TargetPool(rule)) = self;
        match rule {
            RuleProtocol::Tcp => &[Protocol::Tcp],
            RuleProtocol::Udp => &[Protocol::Udp],
            RuleProtocol::L3Default => self.all_protocols(),
        }
    }

    /// The protocols that any rule of such a load balancer takes.
    fn all_protocols(self) -> &'static [Protocol] {
        use Protocol::{Esp, Gre, Icmp, Tcp, Udp};
        match self {
            Self::Internal(_) => &Protocol::ALL,
            Self::External(_) => &[Tcp, Udp, Esp, Gre, Icmp],
            Self::TargetPool(_) => &[Tcp, Udp],
        }
    }

    /// What to write instead of a client of `protocol`, which its rule does not take.
    fn help(self, protocol: Protocol) -> String {
        let names: Vec<&str> = self.protocols().iter().map(|protocol| protocol.name()).collect();
        let mut help = format!("write {}", names.join(", "));
        if self.all_protocols().contains(&protocol) {
            let rule = match protocol {
                Protocol::Tcp | Protocol::Udp => protocol.name(),
                _ => RuleProtocol::L3Default.name(),
            };
            help += &format!(", or forwarding_rule.ip_protocol = {rule:?}");
        }
        help
    }
}

/// What clients send to: a forwarding rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Front {
    pub(super) rule: RuleId,
    pub(super) name: String,
    pub(super) kind: BalancerKind,
}

pub(super) fn clients(
    world: &WorldTables,
    (fronts, plane): (&[Front], &ControlPlane),
    files: &DataFiles,
    builder: &mut ScenarioBuilder,
) -> Result<(), Problem> {
    let (written, region) = (&world.clients, world.region.name.as_str());
    let list = KeyPath::to("clients");
    if written.is_empty() {
        return refuse(list, "is empty", "write at least one client group");
    }
    if written.len() > MAX_CLIENT_GROUPS {
        let what = format!("has {} client groups", written.len());
        return refuse(list, what, format!("write at most {MAX_CLIENT_GROUPS}"));
    }
    let own = written.iter().enumerate();
    let own = own.map(|(index, client)| client.own_backends(builder, &list.member(index)));
    let own: Vec<Vec<BackendId>> = own.collect::<Result<_, _>>()?;
    let total: u64 =
        written.iter().zip(&own).map(|(client, own)| u64::from(client.addresses(own).get())).sum();
    if total > ADDRESSES_MAX {
        let help = format!("write at most {ADDRESSES_MAX}");
        return refuse(list, format!("has {total} addresses in all"), help);
    }
    let led = written.iter().filter(|client| client.destination_range.is_some());
    let destinations: u32 = led.map(|client| client.destinations.get()).sum();
    if destinations > DESTINATIONS_MAX {
        let what = format!("has {destinations} addresses that routes lead to");
        return refuse(list, what, format!("write fewer destinations: at most {DESTINATIONS_MAX} in all"));
    }
    let names: Vec<&str> = written.iter().map(|client| client.name.as_str()).collect();
    distinct(&names, |index| list.member(index).key("name"))?;
    for ((index, client), own) in written.iter().enumerate().zip(own) {
        let path = list.member(index);
        let (fronts, next_hop) = client.destination(world, (fronts, plane), builder.zones(), &path)?;
        let (origin, outside) = match own.first() {
            Some(member) => (TrafficOrigin::Zone(builder.backends()[*member].zone), String::new()),
            None => {
                let mut found = fronts.iter();
                let first =
                    found.next().map_or(BalancerKind::Internal(RuleProtocol::Tcp), |front| front.kind);
                let whereabouts = client.whereabouts(region, builder.zones(), first, &path)?;
                for other in found {
                    client.whereabouts(region, builder.zones(), other.kind, &path)?;
                }
                whereabouts
            }
        };
        let lanes = client.lanes(&fronts, &path)?;
        client.check_connections(&path)?;
        let addresses = client.addresses(&own);
        let arrivals = client.arrivals(addresses, world.load, files, path.key("arrivals"))?;
        let group = builder.clients(client.name.as_str(), (origin, &outside), arrivals);
        *group = ClientGroup { lanes, next_hop, addresses, own_backends: own, ..client.over(group) };
    }
    Ok(())
}

impl Client {
    fn over(&self, base: &ClientGroup) -> ClientGroup {
        ClientGroup {
            fragmented: self.fragmented,
            destinations: NonZeroU16::new(self.destinations.get() as u16).unwrap_or(NonZeroU16::MIN),
            connection: self.connection.clone(),
            connect_timeout: self.connect_timeout.get(),
            syn_retransmission: self.syn_retransmission.clone(),
            request_timeout: self.request_timeout.get(),
            retries: self.retries.get() as u8,
            retry_backoff: self.retry_backoff,
            max_age: self.max_age.map(Span::get),
            ..base.clone()
        }
    }

    /// Checks that its connections come to an end, and that nothing stands there for nothing.
    fn check_connections(&self, path: &KeyPath) -> Result<(), Problem> {
        let key = |key| path.key("connection").key(key);
        let requests = self.connection.requests.mean();
        if !(1.0..=REQUESTS_MAX).contains(&requests) {
            let help = format!("write 1 to {REQUESTS_MAX} requests; connections of more have a max_age");
            return refuse(key("requests"), format!("is {requests} on average"), help);
        }
        let think = SimDuration::from_nanos_f64(self.connection.think_time.mean());
        if think > THINK_TIME_MAX {
            let what = format!("is {think} on average, and a run follows its connections to their end");
            return refuse(key("think_time"), what, format!("write at most {THINK_TIME_MAX}"));
        }
        let idle = SimDuration::from_nanos_f64(self.connection.think_time.mean() * (requests - 1.0));
        let idle = self.max_age.map_or(idle, |max_age| idle.min(max_age.get()));
        if idle > IDLE_TIME_MAX {
            let what = format!(
                "is {requests} on average, {think} apart: a run would follow its connections for {idle}"
            );
            let help = format!("write fewer, a shorter think_time, or a max_age of at most {IDLE_TIME_MAX}");
            return refuse(key("requests"), what, help);
        }
        if self.retries.get() == 0 && self.retry_backoff != Backoff::default() {
            let what = "says when to try again, but there are no retries";
            return refuse(path.key("retry_backoff"), what, "add retries = 1 or more");
        }
        Ok(())
    }

    /// The range of the addresses that it sends to through a route, and how many these are.
    pub(super) fn destination_range(&self) -> Option<(&str, u32)> {
        Some((self.destination_range.as_deref()?, self.destinations.get()))
    }

    /// What it sends to: rules, or what a route leads to.
    fn destination(
        &self,
        world: &WorldTables,
        (fronts, plane): (&[Front], &ControlPlane),
        zones: &IdVec<ZoneId, String>,
        path: &KeyPath,
    ) -> Result<(Vec<Front>, Option<NextHop>), Problem> {
        let Some(destinations) = self.destination_range() else {
            return Ok((self.fronts(fronts, path)?.into_iter().cloned().collect(), None));
        };
        let place = path.key("destination_range");
        if self.to.is_some() {
            let help = "keep one of the two: the route names the rule";
            return refuse(place, "stands beside `to`", help);
        }
        if matches!(self.kind, ClientKind::Backend | ClientKind::PrivateServiceConnect) {
            let what = format!("has no meaning for a client of kind {}", word(&self.kind));
            return refuse(place, what, "leave it out, or write kind = \"vm\", \"vpn\" or \"interconnect\"");
        }
        let (front, next_hop) = world.led(destinations, plane, zones, path)?;
        Ok((vec![front], Some(next_hop)))
    }

    /// The rules that it sends to.
    fn fronts<'a>(&self, fronts: &'a [Front], path: &KeyPath) -> Result<Vec<&'a Front>, Problem> {
        let names = || fronts.iter().map(|front| front.name.as_str());
        let Some(to) = &self.to else {
            return match fronts {
                [only] => Ok(vec![only]),
                _ => {
                    let example = names().next().unwrap_or("web");
                    let help = format!("add to = {example:?}, or a list of rules");
                    refuse(path.clone(), "has no `to`, and there are several forwarding rules", help)
                }
            };
        };
        let path = path.key("to");
        distinct(to.values(), |index| if to.is_list() { path.member(index) } else { path.clone() })?;
        let find = |(index, name): (usize, &String)| {
            let place = if to.is_list() { path.member(index) } else { path.clone() };
            let found = fronts.iter().find(|front| front.name == *name);
            found.ok_or_else(|| Problem::unknown_name(place, name, "forwarding rules", names()))
        };
        to.values().iter().enumerate().map(find).collect()
    }

    /// What it sends to, and by which protocols, if the rules take those, and its packets are possible.
    fn lanes(&self, fronts: &[Front], path: &KeyPath) -> Result<Lanes, Problem> {
        for front in fronts {
            self.check_next_hop(front.kind, path)?;
        }
        let spoken = match &self.protocol {
            Some(protocols) => {
                let place = path.key("protocol");
                let names: Vec<&str> = protocols.values().iter().map(|protocol| protocol.name()).collect();
                distinct(&names, |index| place.member(index))?;
                protocols.values().to_vec()
            }
            None => {
                let mut usual: Vec<Protocol> = fronts.iter().map(|front| front.kind.protocols()[0]).collect();
                usual.sort_unstable();
                usual.dedup();
                usual
            }
        };
        let is_next_hop = self.destinations.get() > 1 || self.destination_range.is_some();
        // A next hop forwards everything (NHOP-1).
        let taken = |front: &Front| if is_next_hop { &Protocol::ALL } else { front.kind.protocols() };
        for protocol in &spoken {
            if !fronts.iter().any(|front| taken(front).contains(protocol)) {
                let what = format!("is {}, which the forwarding rule does not take", protocol.name());
                let help = fronts.first().map_or_else(String::new, |front| front.kind.help(*protocol));
                return refuse(path.key("protocol"), what, help);
            }
        }
        for front in fronts {
            if !spoken.iter().any(|protocol| taken(front).contains(protocol)) {
                let what = format!("leads to {:?}, which takes none of its protocols", front.name);
                return refuse(path.key("to"), what, front.kind.help(spoken[0]));
            }
        }
        self.check_protocols(&spoken, path)?;
        let rules: Vec<RuleId> = fronts.iter().map(|front| front.rule).collect();
        let takes = |rule, protocol| {
            fronts.iter().any(|front| front.rule == rule && taken(front).contains(&protocol))
        };
        let lanes = Lanes::all(&rules, &spoken, takes).filter(|lanes| lanes.count() <= Lanes::MOST);
        lanes.ok_or_else(|| {
            let what = format!("names {} rules", rules.len());
            let help = format!("write at most {} rules and protocols together", Lanes::MOST);
            Problem::new(path.key("to"), format!(" {what}"), Some(help))
        })
    }

    /// Checks that nothing stands there that none of the protocols it `spoken` has.
    fn check_protocols(&self, spoken: &[Protocol], path: &KeyPath) -> Result<(), Problem> {
        let name = spoken[0].name();
        if !self.fragmented.is_zero() && !spoken.contains(&Protocol::Udp) {
            let what = format!("has no meaning for {name}");
            return refuse(path.key("fragmented"), what, "leave it out, or write protocol = \"UDP\"");
        }
        if self.syn_retransmission != SynRetransmission::default() && !spoken.contains(&Protocol::Tcp) {
            let what = format!("has no meaning for {name}, which has no SYN");
            return refuse(path.key("syn_retransmission"), what, "leave it out, or write protocol = \"TCP\"");
        }
        Ok(())
    }

    /// Checks that a load balancer of this `kind` can be a next hop, if it is to be one.
    fn check_next_hop(&self, kind: BalancerKind, path: &KeyPath) -> Result<(), Problem> {
        // One that a route leads to may drop everything, as the API accepts it.
        let is_next_hop = self.destinations.get() > 1 && self.destination_range.is_none();
        match kind {
            BalancerKind::External(_) | BalancerKind::TargetPool(_) if is_next_hop => {
                let help = "only internal load balancers are next hops; leave it out";
                refuse(path.key("destinations"), "needs a next hop", help)
            }
            BalancerKind::Internal(RuleProtocol::L3Default) if is_next_hop => {
                let what = "makes the load balancer a next hop, and a rule of protocol L3_DEFAULT drops everything then";
                let help = "write forwarding_rule.ip_protocol = \"TCP\" or \"UDP\": a next hop forwards all protocols";
                refuse(path.key("destinations"), what, help)
            }
            _ => Ok(()),
        }
    }

    /// The members that it is, if it is a group of backends: those that the group has at first, which are in one zone.
    fn own_backends(&self, builder: &ScenarioBuilder, path: &KeyPath) -> Result<Vec<BackendId>, Problem> {
        let strays = [
            ("zone", self.zone.is_some()),
            ("region", self.region.is_some()),
            ("addresses", self.addresses.is_some()),
        ];
        let stray = strays.into_iter().find(|(_, is_there)| *is_there);
        let name = match (self.kind, &self.group, stray) {
            (ClientKind::Backend, None, _) => return Err(Problem::missing_key(path.clone(), "group")),
            (ClientKind::Backend, Some(_), Some((key, _))) => {
                let what = "has no meaning for a client of kind backend";
                return refuse(path.key(key), what, format!("leave `{key}` out"));
            }
            (ClientKind::Backend, Some(name), None) => name,
            (kind, Some(_), _) => {
                let what = format!("has no meaning for a client of kind {}", word(&kind));
                return refuse(path.key("group"), what, "leave `group` out, or write kind = \"backend\"");
            }
            (_, None, _) => return Ok(Vec::new()),
        };
        let group = group_id(builder, name, path.key("group"))?;
        let members = builder.backends().pairs().filter(|(_, spec)| spec.group == group);
        let members = members.filter(|(id, _)| builder.is_configured(*id));
        let members: Vec<(BackendId, ZoneId)> = members.map(|(id, spec)| (id, spec.zone)).collect();
        let Some((_, zone)) = members.first() else {
            let what = format!("is {name:?}, which serves nobody");
            return refuse(path.key("group"), what, "name a group of backends that serve");
        };
        if members.iter().any(|(_, other)| other != zone) {
            let help = "name a group in one zone, and write a client group for each zone";
            return refuse(path.key("group"), format!("is {name:?}, which is in several zones"), help);
        }
        Ok(members.into_iter().map(|(id, _)| id).collect())
    }

    fn addresses(&self, own_backends: &[BackendId]) -> NonZeroU32 {
        let written = self.addresses.and_then(|count| NonZeroU32::new(count.get()));
        NonZeroU32::new(own_backends.len() as u32).or(written).unwrap_or(ClientGroup::ADDRESSES)
    }

    /// When it opens connections from that many `addresses` under `load`, with its trace, if it has one, in `files`.
    fn arrivals(
        &self,
        addresses: NonZeroU32,
        load: Load,
        files: &DataFiles,
        path: KeyPath,
    ) -> Result<ArrivalSpec, Problem> {
        let scaled = self.arrivals.at_load(load);
        let arrivals = scaled.map_err(|error| self.unfit_load(load, &error))?;
        if let ArrivalSpec::Closed(closed) = &arrivals {
            let population = closed.population.get();
            let least = population.div_ceil(CLIENTS_MAX);
            if least > addresses.get() {
                let what = format!("is {population}, too many for {addresses} addresses");
                let help = format!("write addresses = {least} or more: {CLIENTS_MAX} clients can share one");
                return refuse(path.key("closed").key("population"), what, help);
            }
        }
        arrivals.with_trace(|trace| files.trace(&trace.file, &path.key("trace").key("file")))
    }

    /// Its arrivals can't be multiplied by `load`.
    fn unfit_load(&self, load: Load, error: &Unfit) -> Problem {
        let message = format!("{} {error} (client group `{}`)", load.factor(), self.name.as_str());
        Problem::because(KeyPath::to("load"), &message)
    }

    /// How the load balancer sees its packets, and the name of its place.
    fn whereabouts(
        &self,
        region: &str,
        zones: &IdVec<ZoneId, String>,
        front: BalancerKind,
        path: &KeyPath,
    ) -> Result<(TrafficOrigin, String), Problem> {
        let (kind, is_internal) = (word(&self.kind), matches!(front, BalancerKind::Internal(_)));
        match (self.kind, &self.zone, &self.region) {
            (ClientKind::Internet, _, _) if is_internal => {
                let what = "can't be \"internet\": the internet does not reach an internal load balancer";
                refuse(path.key("kind"), what, "write vm, vpn or interconnect")
            }
            (ClientKind::PrivateServiceConnect, _, _) if !is_internal => {
                let what =
                    "can't be \"private_service_connect\": only internal load balancers are published so";
                refuse(path.key("kind"), what, "write vm, vpn, interconnect or internet")
            }
            (ClientKind::Vm, Some(zone), None) => {
                Ok((TrafficOrigin::Zone(zone_id(zones, zone, &path.key("zone"))?), String::new()))
            }
            (ClientKind::Vm | ClientKind::Vpn | ClientKind::Interconnect, None, Some(other)) => {
                elsewhere(other.as_str(), region, zones, path.key("region"))
            }
            (ClientKind::Vm, Some(_), Some(_)) => {
                let help = "keep `zone` for a VM of the region, `region` for a VM of another one";
                refuse(path.key("region"), "stands beside `zone`", help)
            }
            (ClientKind::Vm, None, None) => {
                let zone = &zones[ZoneId::from_index(0)];
                let help = format!("add zone = {zone:?}, or region = \"…\" for a VM of another region");
                refuse(path.clone(), "has no `zone`", help)
            }
            (ClientKind::Vpn | ClientKind::Interconnect, None, None) => Ok((TrafficOrigin::Hybrid, kind)),
            (ClientKind::Internet, None, None) => Ok((TrafficOrigin::Internet, kind)),
            (ClientKind::PrivateServiceConnect, None, None) => {
                Ok((TrafficOrigin::PrivateServiceConnect, kind))
            }
            (_, zone, _) => {
                let key = if zone.is_some() { "zone" } else { "region" };
                let help = format!("leave `{key}` out, or write kind = \"vm\"");
                refuse(path.key(key), format_args!("has no meaning for a client of kind {kind}"), help)
            }
        }
    }
}

fn elsewhere(
    other: &str,
    region: &str,
    zones: &IdVec<ZoneId, String>,
    path: KeyPath,
) -> Result<(TrafficOrigin, String), Problem> {
    let (what, help) = if other == region {
        let help = format!("say which zone it is in instead: zone = {:?}", zones[ZoneId::from_index(0)]);
        (format!("is {other:?}, the load balancer's own region"), help)
    } else if zones.iter().any(|zone| zone == other) {
        let what = format!("is {other:?}, a zone of the load balancer's region");
        (what, format!("write zone = {other:?} instead"))
    } else if super::RESERVED.contains(&other) {
        (format!("can't be {other:?}"), "name a region, such as \"europe-west1\"".to_owned())
    } else {
        return Ok((TrafficOrigin::OtherRegion, other.to_owned()));
    };
    refuse(path, what, help)
}
