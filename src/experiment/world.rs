//! What one cell simulates: the tables of the file, and the [`CellWorld`] that they describe.
//!
//! A table stands as it is written, with its defaults, in the file that also resolves its names. Each default
//! stands there, or with the type of its field, and nowhere else.

mod autoscaling;
mod backend_service;
mod clients;
mod faults;
mod findings;
mod groups;
mod health_check;
mod operations;
mod operator;
mod region;
mod routed;
mod semantics;
mod target_pools;
mod timing;

use std::sync::LazyLock;

use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::IgnoredAny;
use toml_edit::Table;

use super::bounded::{Name, Span};
use super::files::{DataFiles, inline_files};
use super::keys::KeyTable;
use super::node::Node;
use super::path::KeyPath;
use super::problem::{Problem, distinct, refuse};
use super::reader::read;
use super::worlds::{CellWorld, WorldWords};
use crate::compute::{Assumptions, ControlPlane, ForwardingRuleArguments, ProbeType, Resources, Scheme};
use crate::ids::{BalancerId, GroupId, Id, IdVec, RuleId, ZoneId};
use crate::sim::builder::{RoundTrips, ScenarioBuilder, ZoneLink};
use crate::sim::scenario::{Prices, Scenario, Server, Timing};
use crate::time::{SimDuration, SimTime};
use crate::workload::Load;
use backend_service::{AttachedGroup, ServiceTable};
use clients::{BalancerKind, Client, Front};
use faults::WrittenFault;
pub(super) use findings::findings;
use groups::{GroupPlan, ServerKeys};
use health_check::HealthCheckTable;
use operations::{Call, History, OperationKeys, WrittenOperation};
use operator::Operator;
use region::{EndpointGroupTable, InstanceGroupTable, InstanceTable, RouteTable};
use semantics::Semantics;
use target_pools::{PoolTable, RuleTable};
pub(super) use timing::{SimulationTable, Warmup};

pub(super) static KEYS: LazyLock<KeyTable> = LazyLock::new(KeyTable::of::<WorldTables>);

/// The tables of the file that a cell depends on. Its plan holds the others.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct WorldTables {
    /// When the world is measured, and how often.
    #[serde(default)]
    simulation: SimulationTable,
    /// The region that everything is in.
    region: Region,
    /// Round-trip times between places.
    #[serde(default)]
    network: RoundTrips<String>,
    /// What traffic costs.
    #[serde(default)]
    prices: Prices,
    /// The load balancer, if it is one by backend service. Default: none; it or `target_pools` is needed.
    backend_service: Option<ServiceTable>,
    /// Where traffic comes from. Default: none; target pools need it, a backend service has one without a word.
    #[schemars(extend("examples" = [{ "target": "www" }]))]
    forwarding_rule: Option<RuleTable>,
    /// The load balancer, if it is one by target pool; beside `forwarding_rules` any number of them.
    #[serde(default)]
    target_pools: Vec<PoolTable>,
    /// Health checks of a region in which resources stand by themselves.
    #[serde(default)]
    #[schemars(extend("examples" = [[{ "name": "http-80", "type": "HTTP" }, { "name": "legacy-80", "type": "LEGACY_HTTP" }]]))]
    health_checks: Vec<HealthCheckTable>,
    /// Its single machines.
    #[serde(default)]
    #[schemars(extend("examples" = [[{ "name": "vm-7", "zone": "us-central1-b" }, { "name": "vm-8", "zone": "us-central1-a" }]]))]
    instances: Vec<InstanceTable>,
    /// Its groups of machines.
    #[serde(default)]
    #[schemars(extend("examples" = [[{ "name": "ig-a", "zone": "us-central1-a" }]]))]
    instance_groups: Vec<InstanceGroupTable>,
    /// Its network endpoint groups, of type GCE_VM_IP.
    #[serde(default)]
    #[schemars(extend("examples" = [[{ "name": "neg-a", "zone": "us-central1-b" }]]))]
    network_endpoint_groups: Vec<EndpointGroupTable>,
    /// Its backend services.
    #[serde(default)]
    #[schemars(extend("examples" = [[{ "name": "web", "health_check": "http-80", "backends": [{ "group": "ig-a" }] }]]))]
    backend_services: Vec<ServiceTable<AttachedGroup>>,
    /// Its forwarding rules: each leads to a backend service or to a target pool.
    #[serde(default)]
    #[schemars(extend("examples" = [[{ "name": "web-tcp", "backend_service": "web" }]]))]
    forwarding_rules: Vec<ForwardingRuleArguments>,
    /// Its routes whose next hops are load balancers.
    #[serde(default)]
    routes: Vec<RouteTable>,
    /// How the load balancer learns of health.
    #[serde(default)]
    health_check: HealthCheckTable,
    /// How backends serve.
    #[serde(default)]
    server: ServerKeys,
    /// Who opens connections, and from where.
    #[schemars(extend("examples" = [[{
        "name": "web-a", "kind": "vm", "zone": "us-central1-a", "arrivals": { "poisson": { "rate": 200.0 } }
    }]]))]
    clients: Vec<Client>,
    /// How many times the traffic of every client group is what is written there: it multiplies the rates of poisson,
    /// deterministic and mmpp, the mean_rate of diurnal, and the population of closed. Traces have no other load than 1.0.
    #[serde(default)]
    load: Load,
    /// What the world does to backends and to the network between zones.
    #[schemars(extend("examples" = [[{ "at": "10m", "target": { "zone": "us-central1-a" } }]]))]
    #[serde(default)]
    faults: Vec<WrittenFault>,
    /// What an operator does, when; read on their own, because their keys depend on what they do.
    #[serde(default, rename = "operations")]
    #[schemars(with = "Vec<OperationKeys>", extend("examples" = [[{ "at": "10m", "do": "drain", "zone": "us-central1-a" }]]))]
    _operations: IgnoredAny,
    /// What holds where the documents are silent, or contradict each other.
    #[serde(default)]
    semantics: Semantics,
}

pub(super) fn world(root: &Table, files: &DataFiles) -> Result<CellWorld, Problem> {
    world_at(root, files, None).map(|(world, _)| world)
}

/// The same, with the resources after the operations until `moment`, or as they begin.
pub(super) fn world_at(
    root: &Table,
    files: &DataFiles,
    moment: Option<SimTime>,
) -> Result<(CellWorld, Resources), Problem> {
    check_balancer(root)?;
    let mut root = root.clone();
    inline_files(&mut root, &KeyPath::default(), files)?;
    let root = Node::Table(&root);
    let world: WorldTables = read(root, &KeyPath::default()).map_err(Problem::with_reason)?;
    let operations = operations::operations(root)?;
    let timing = world.simulation.timing()?;
    let region = world.region.name.as_str();
    let mut builder = Scenario::builder(world.region.zones()?);
    (builder.timing, builder.prices) = (timing, world.prices);
    builder.initial_health = world.simulation.initial_health;
    let usual = if world.backend_service.is_some() { ProbeType::Tcp } else { ProbeType::Http };
    builder.health_check = world.health_check.checking(usual, &KeyPath::to("health_check"))?;
    let (fronts, mut operator) = world.load_balancers(&mut builder, &operations)?;
    let mut first = operator.plane.clone();
    if world.is_region() {
        builder.region = Some(world.region_parts(&mut operator.plane, &first)?);
        first = operator.plane.clone();
    }
    clients::clients(&world, (&fronts, &operator.plane), files, &mut builder)?;
    operator.routed = world.routed(&operator.plane.resources);
    builder.round_trips = round_trips(world.network.clone(), builder.zones())?;
    let history = History::of(&operations, operator, (&builder, moment))?;
    let faults = faults::faults(&world.faults, &history)?;
    let (last, then) = (history.last, history.then);
    (builder.operations, builder.faults) = (history.operations, faults);
    if world.is_region() {
        // Operations may bring in health checks that judge later.
        builder.region = Some(world.region_parts(&mut first, &last)?);
    }
    let words = WorldWords {
        region: region.to_owned(),
        faults: world.faults.iter().map(WrittenFault::words).collect(),
        operations: operations::words(&operations),
    };
    let scenario = builder.build().map_err(|error| Problem::because(KeyPath::default(), &error))?;
    timing::has_a_long_run(&scenario)?;
    Ok(((scenario, words), then))
}

/// What clients send to, how that is managed, its groups, and where they stand.
type LoadBalancer = (BalancerKind, ControlPlane, Vec<GroupPlan>, KeyPath);

/// What clients send to, and who manages that.
type LoadBalancers = (Vec<Front>, Operator);

impl WorldTables {
    /// Puts the load balancers as they are created into `builder`, with room for what `operations` add.
    fn load_balancers(
        &self,
        builder: &mut ScenarioBuilder,
        operations: &[WrittenOperation<'_>],
    ) -> Result<LoadBalancers, Problem> {
        if self.is_region() {
            return self.by_region(builder, operations);
        }
        let root = KeyPath::default();
        let (front, mut plane, mut plans, list) = match (&self.backend_service, &self.forwarding_rule) {
            (Some(service), rule) => {
                self.by_service(service, rule.as_ref().unwrap_or(&RuleTable::default()), builder)?
            }
            (None, Some(rule)) if !self.target_pools.is_empty() => self.by_pool(rule, builder, operations)?,
            (None, Some(_)) => {
                return refuse(root, "has no `target_pools`", "add [[target_pools]] with name = \"…\"");
            }
            (None, None) if !self.target_pools.is_empty() => {
                let help = "add forwarding_rule = { target = \"…\" }, the pool that traffic goes to";
                return refuse(root, "has no `forwarding_rule`", help);
            }
            (None, None) => return Err(Problem::missing_key(root, "backend_service")),
        };
        operations::count_added(operations, &mut plans);
        let groups = groups::establish(plans, &mut plane, list, builder)?;
        let rule = RuleId::from_index(0);
        let front = Front { rule, name: plane.rules[rule].clone(), kind: front };
        Ok((vec![front], Operator { zones: builder.zones().clone(), groups, plane, routed: Vec::new() }))
    }

    fn by_service(
        &self,
        written: &ServiceTable,
        rule: &RuleTable,
        builder: &mut ScenarioBuilder,
    ) -> Result<LoadBalancer, Problem> {
        let (name, region) = (rule.name().to_owned(), self.region.name.as_str());
        written.check_health_check(&self.health_check)?;
        let resources = written.resources(region, (&name, rule.ip_protocol), &self.health_check);
        let of_rule = |error| Problem::of_resource(error, &KeyPath::to("forwarding_rule"));
        resources.check_rule(&name).map_err(of_rule)?;
        let protocol = resources.forwarding_rules[0].protocol(Some(written.protocol));
        let (rule, assumptions) = (name, written.assumptions(&self.semantics));
        let plane = ControlPlane::of_one(resources, rule, assumptions);
        let place = KeyPath::to("backend_service");
        let settings = plane.settings(BalancerId::from_index(0));
        let settings = settings.map_err(|error| Problem::of_resource(error, &place))?;
        builder.balancer = settings.unwrap_or_default();
        let check = self.health_check.asks().unwrap_or(ProbeType::Tcp);
        let plans = written.groups(self.server.clone().over(Server::default()), check, builder.zones())?;
        written.check_growth(&plans, &assumptions)?;
        let front = match written.load_balancing_scheme {
            Scheme::Internal => BalancerKind::Internal(protocol),
            Scheme::External => BalancerKind::External(protocol),
        };
        Ok((front, plane, plans, backend_service::list()))
    }

    fn by_pool(
        &self,
        rule: &RuleTable,
        builder: &mut ScenarioBuilder,
        operations: &[WrittenOperation<'_>],
    ) -> Result<LoadBalancer, Problem> {
        let (pools, region) = (&self.target_pools, self.region.name.as_str());
        let assumptions = Assumptions { table_size: rule.maglev_table_size, ..self.semantics.assumptions() };
        let resources = target_pools::resources(rule, pools, region, &self.health_check, &assumptions)?;
        let protocol = resources.forwarding_rules[0].protocol(None);
        let rule = rule.name().to_owned();
        let plane = ControlPlane::of_one(resources, rule, assumptions);
        let list = target_pools::list();
        let settings = plane.settings(BalancerId::from_index(0));
        let settings = settings.map_err(|error| Problem::of_resource(error, &list))?;
        builder.balancer = settings.unwrap_or_default();
        let verbs = operations.iter().filter_map(|operation| match &operation.call {
            Call::Short(verb) => Some(verb),
            Call::Method(_) => None,
        });
        let verbs: Vec<_> = verbs.collect();
        let server = self.server.clone().over(Server::default());
        let plans = target_pools::groups(pools, &plane, &verbs, server, builder.zones())?;
        Ok((BalancerKind::TargetPool(protocol), plane, plans, list))
    }
}

/// The tables of a region in which resources stand by themselves.
pub(super) const APART: [&str; 7] = [
    "forwarding_rules",
    "backend_services",
    "instance_groups",
    "instances",
    "network_endpoint_groups",
    "health_checks",
    "routes",
];

fn check_balancer(root: &Table) -> Result<(), Problem> {
    if let Some(apart) = APART.into_iter().find(|table| root.contains_key(table)) {
        let short = ["backend_service", "forwarding_rule", "health_check"];
        return match short.into_iter().find(|table| root.contains_key(table)) {
            None => Ok(()),
            Some(table) => {
                let what = format!("is a short form, and stands beside `{apart}`");
                let help = format!("write [[{table}s]] with a name");
                Err(Problem::that(KeyPath::to(table), what, help).of_key())
            }
        };
    }
    if !root.contains_key("backend_service") {
        return Ok(());
    }
    if root.contains_key("target_pools") {
        let what = "is a second load balancer beside `backend_service`";
        return Err(Problem::that(KeyPath::to("target_pools"), what, "keep one of the two").of_key());
    }
    let rule = Node::Table(root).get("forwarding_rule");
    let has = |key: &str| rule.is_some_and(|rule| rule.get(key).is_some());
    let strays = [
        ("target", "leave it out: the rule leads to the backend service"),
        ("maglev_table_size", "write backend_service.maglev_table_size"),
    ];
    match strays.into_iter().find(|(key, _)| has(key)) {
        None => Ok(()),
        Some((key, help)) => {
            let what = "is of target pools, and stands beside `backend_service`";
            Err(Problem::that(KeyPath::to("forwarding_rule").key(key), what, help).of_key())
        }
    }
}

/// The moment `at` after the start, for what stands at `path` and must come before the measured window ends.
fn before_the_end(at: SimDuration, timing: &Timing, path: &KeyPath) -> Result<SimTime, Problem> {
    let moment = SimTime::ZERO + at;
    if moment < timing.window_end() {
        return Ok(moment);
    }
    let end = timing.window_end() - SimTime::ZERO;
    let help = "write an earlier time, on the clock that starts with the warm-up";
    refuse(path.key("at"), format!("is {at}, but the measured window ends at {end}"), help)
}

/// Checks that `length`, which may be nothing, is not longer than any run.
fn not_forever(length: SimDuration, path: KeyPath) -> Result<(), Problem> {
    if length <= Span::LONGEST {
        return Ok(());
    }
    refuse(path, format!("is {length}, longer than any run"), format!("write at most {}", Span::LONGEST))
}

/// `[region]`
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Region {
    /// Its name.
    #[schemars(extend("examples" = ["us-central1"]))]
    name: Name,
    /// Its zones, at least one.
    #[schemars(extend("examples" = [["us-central1-a", "us-central1-b"]]))]
    zones: Vec<Name>,
}

impl Region {
    fn zones(&self) -> Result<Vec<&str>, Problem> {
        let path = KeyPath::to("region").key("zones");
        let names: Vec<&str> = self.zones.iter().map(Name::as_str).collect();
        if names.is_empty() {
            return refuse(path, "is empty", "name at least one zone");
        }
        distinct(&names, |index| path.member(index))?;
        if let Some(index) = names.iter().position(|name| RESERVED.contains(name)) {
            let help = "results use this word; choose another name";
            return refuse(path.member(index), format!("can't be {:?}", names[index]), help);
        }
        Ok(names)
    }
}

/// What results write where a zone can stand.
const RESERVED: [&str; 5] = ["all", "vpn", "interconnect", "internet", "private_service_connect"];

fn zone_id(zones: &IdVec<ZoneId, String>, name: &str, path: &KeyPath) -> Result<ZoneId, Problem> {
    let found = zones.pairs().find(|(_, zone)| *zone == name).map(|(id, _)| id);
    let known = || zones.iter().map(String::as_str);
    found.ok_or_else(|| Problem::unknown_name(path.clone(), name, "zones of the region", known()))
}

fn group_id(builder: &ScenarioBuilder, name: &str, path: KeyPath) -> Result<GroupId, Problem> {
    let found = builder.groups().pairs().find(|(_, group)| group.name == name).map(|(id, _)| id);
    let known = builder.groups().iter().map(|group| group.name.as_str());
    found.ok_or_else(|| Problem::unknown_name(path, name, "groups", known))
}

fn zone_pair(
    zones: &IdVec<ZoneId, String>,
    names: &[String; 2],
    path: &KeyPath,
) -> Result<[ZoneId; 2], Problem> {
    let end = |end: usize| zone_id(zones, &names[end], &path.member(end));
    Ok([end(0)?, end(1)?])
}

fn round_trips(written: RoundTrips<String>, zones: &IdVec<ZoneId, String>) -> Result<RoundTrips, Problem> {
    let RoundTrips { same_zone_rtt, cross_zone_rtt, other_region_rtt, hybrid_rtt, internet_rtt, links } =
        written;
    let mut found: Vec<ZoneLink> = Vec::new();
    for (index, ZoneLink { between, rtt }) in links.into_iter().enumerate() {
        let path = KeyPath::to("network").key("links").member(index).key("between");
        let [from, to] = zone_pair(zones, &between, &path)?;
        if from == to {
            let what = format!("names {:?} twice", between[0]);
            return refuse(path, what, "name two zones; within a zone same_zone_rtt holds");
        }
        if found.iter().any(|earlier| earlier.joins(from, to)) {
            return refuse(path, "names a pair that an earlier link names", "keep one of the two");
        }
        found.push(ZoneLink { between: [from, to], rtt });
    }
    Ok(RoundTrips { same_zone_rtt, cross_zone_rtt, other_region_rtt, hybrid_rtt, internet_rtt, links: found })
}
