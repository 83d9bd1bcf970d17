//! A region with any number of load balancers: resources stand by themselves there, and name each other.
//!
//! Machines are made first, then what groups them, then what balances over them, then the rules that lead there, each as the
//! API's `insert` makes it.

mod machines;
mod routes;

use std::collections::BTreeMap;

use super::backend_service::{AttachedGroup, ServiceTable};
use super::clients::{BalancerKind, Front};
use super::health_check::HealthCheckTable;
use super::operations::WrittenOperation;
use super::operator::Operator;
use super::{LoadBalancers, WorldTables, operations};
use crate::compute::{
    ApiError, Assumptions, ControlPlane, ForwardingRule, ForwardingRuleArguments, Judges, ProbeType,
    Resources, Scheme, TakenPorts, Target,
};
use crate::experiment::path::KeyPath;
use crate::experiment::problem::{Problem, distinct, refuse};
use crate::ids::{Id, IdVec, JudgeId, RuleId};
use crate::lb::health::HealthChecking;
use crate::sim::builder::{RegionParts, ScenarioBuilder};
use crate::sim::scenario::{BalancerSpec, Judge, Membership, RuleSpec, Server};
pub(super) use machines::{EndpointGroupTable, InstanceGroupTable, InstanceTable};
pub(super) use routes::RouteTable;

/// The most load balancers, and health checks of resources, of a region.
const MOST: usize = 250;
/// How far apart the addresses of rules are that the file does not give: a rule that is a next hop has as many destinations.
const ADDRESSES_APART: u32 = 1000;

impl WorldTables {
    /// Whether resources stand by themselves.
    pub(super) fn is_region(&self) -> bool {
        !self.forwarding_rules.is_empty()
            || !self.backend_services.is_empty()
            || !self.instance_groups.is_empty()
            || !self.instances.is_empty()
            || !self.network_endpoint_groups.is_empty()
            || !self.health_checks.is_empty()
            || !self.routes.is_empty()
    }

    /// Puts the machines of the region into `builder`, with room for what `written` operations add.
    pub(super) fn by_region(
        &self,
        builder: &mut ScenarioBuilder,
        written: &[WrittenOperation<'_>],
    ) -> Result<LoadBalancers, Problem> {
        let assumptions = self.semantics.assumptions();
        let mut resources = Resources {
            region: self.region.name.as_str().to_owned(),
            zones: builder.zones().iter().cloned().collect(),
            ..Resources::default()
        };
        self.health_checks_of(&mut resources)?;
        let server = self.server.clone().over(Server::default());
        let mut plans = machines::plans(self, &server, builder)?;
        operations::count_added(written, &mut plans);
        let mut plane = ControlPlane {
            resources,
            assumptions,
            special: self.special(),
            balancers: IdVec::default(),
            rules: IdVec::default(),
            judges: Judges::Each(IdVec::default()),
            machines: IdVec::default(),
        };
        let groups = super::groups::establish(plans, &mut plane, KeyPath::to("instance_groups"), builder)?;
        machines::create(self, &server, &mut plane, (builder, written))?;
        self.balance(&mut plane.resources, &assumptions)?;
        self.lead(&mut plane, written)?;
        self.route(&mut plane.resources, builder.zones())?;
        let fronts = self.fronts(&plane);
        Ok((fronts, Operator { zones: builder.zones().clone(), groups, plane, routed: Vec::new() }))
    }

    /// What holds of each backend service that no resource says.
    fn special(&self) -> BTreeMap<Target, Assumptions> {
        let of_service = |service: &ServiceTable<AttachedGroup>| {
            (Target::Service(service.name().to_owned()), service.assumes(&self.semantics))
        };
        self.backend_services.iter().map(of_service).collect()
    }

    fn health_checks_of(&self, resources: &mut Resources) -> Result<(), Problem> {
        let list = KeyPath::to("health_checks");
        for (index, check) in self.health_checks.iter().enumerate() {
            let path = list.member(index);
            if !check.is_named() {
                return Err(Problem::missing_key(path, "name"));
            }
            check.checking(ProbeType::Tcp, &path)?;
            let created = match check.is_legacy() {
                true => resources.insert_http_health_check(check.legacy()),
                false => resources.insert_health_check(check.modern(check.asks().unwrap_or(ProbeType::Tcp))),
            };
            created.map_err(|error| of_check(error, &path))?;
        }
        Ok(())
    }

    /// Creates backend services and target pools.
    fn balance(&self, resources: &mut Resources, assumptions: &Assumptions) -> Result<(), Problem> {
        let list = KeyPath::to("backend_services");
        for (index, service) in self.backend_services.iter().enumerate() {
            let path = list.member(index);
            let resource = service.apart(&path)?;
            let of_service = |error| of_service(error, &path);
            resources.insert_backend_service(resource).map_err(of_service)?;
            let target = Target::Service(service.name().to_owned());
            resources.settings_of(&target, &service.assumes(&self.semantics)).map_err(of_service)?;
        }
        let list = super::target_pools::list();
        let names: Vec<&str> = self.target_pools.iter().map(super::PoolTable::name).collect();
        distinct(&names, |index| list.member(index).key("name"))?;
        // A pool may be the backup of one that stands before it.
        for (index, pool) in self.target_pools.iter().enumerate() {
            let pool = pool.apart(|names, path| machines::named(self, names, path), &list.member(index))?;
            resources.target_pools.push(pool);
        }
        for index in 0..resources.target_pools.len() {
            let of_pool = |error| Problem::of_resource(error, &list.member(index));
            resources.target_pools[index].settings(assumptions).map_err(of_pool)?;
            resources.check_pool(index).map_err(of_pool)?;
        }
        Ok(())
    }

    /// Creates the rules, and a load balancer for everything that a rule ever leads to.
    fn lead(&self, plane: &mut ControlPlane, written: &[WrittenOperation<'_>]) -> Result<(), Problem> {
        let list = KeyPath::to("forwarding_rules");
        if self.forwarding_rules.is_empty() {
            let help = "add [[forwarding_rules]] with name = \"…\" and backend_service or target";
            return refuse(KeyPath::default(), "has no `forwarding_rules`", help);
        }
        for (index, rule) in self.forwarding_rules.iter().enumerate() {
            let of_rule = |error| Problem::of_resource(error, &list.member(index));
            plane.resources.insert_forwarding_rule(led(rule)).map_err(of_rule)?;
        }
        let later = written.iter().flat_map(WrittenOperation::rules).map(str::to_owned);
        let rules = plane.resources.forwarding_rules.iter().map(|rule| rule.name.clone());
        let mut names: Vec<String> = rules.collect();
        names.extend(later);
        let mut known = std::collections::BTreeSet::new();
        names.retain(|name| known.insert(name.clone()));
        let mut targets: Vec<Target> =
            plane.resources.forwarding_rules.iter().filter_map(ForwardingRule::leads_to).collect();
        let led_to: Vec<&str> = written.iter().flat_map(WrittenOperation::targets).collect();
        let services = plane.resources.names(crate::compute::ResourceKind::BackendService);
        let services = services.into_iter().map(|name| Target::Service(name.to_owned()));
        let pools = plane.resources.names(crate::compute::ResourceKind::TargetPool);
        let pools = pools.into_iter().map(|name| Target::Pool(name.to_owned()));
        let inserted = written.iter().filter_map(WrittenOperation::inserts);
        let others = services.chain(pools).chain(inserted);
        targets.extend(others.filter(|target| led_to.contains(&target.name())));
        let mut known = std::collections::BTreeSet::new();
        targets.retain(|target| known.insert(target.clone()));
        if targets.len() > MOST {
            let what = format!("lead to {} services and pools", targets.len());
            return refuse(list, what, format!("write at most {MOST}"));
        }
        plane.balancers = targets.into_iter().collect();
        plane.rules = names.into_iter().collect();
        Ok(())
    }

    /// What clients send to.
    fn fronts(&self, plane: &ControlPlane) -> Vec<Front> {
        let front = |(id, name): (RuleId, &String)| {
            let rule = plane.resources.forwarding_rules.iter().find(|rule| rule.name == *name)?;
            let protocol = plane.resources.protocol_of(rule);
            let kind = match (&rule.backend_service, rule.load_balancing_scheme) {
                (Some(_), Some(Scheme::Internal)) => BalancerKind::Internal(protocol),
                (Some(_), _) => BalancerKind::External(protocol),
                (None, _) => BalancerKind::TargetPool(protocol),
            };
            Some(Front { rule: id, name: name.clone(), kind })
        };
        plane.rules.pairs().filter_map(front).collect()
    }

    /// What the region is when its world begins, with a judge for everything that ever judges in `plane`.
    pub(super) fn region_parts(
        &self,
        plane: &mut ControlPlane,
        last: &ControlPlane,
    ) -> Result<RegionParts, Problem> {
        let mut balancers = IdVec::default();
        for balancer in plane.balancers.ids() {
            let root = KeyPath::default();
            let settings = plane.settings(balancer).map_err(|error| Problem::of_resource(error, &root))?;
            let seen = plane.seen(balancer);
            let member = |id| seen.get(&id).map(|it| (it.role, it.configured, it.judge));
            let nobody = (crate::lb::backend::Role::Failover, false, None);
            let members = plane.machines.ids().map(|id| {
                let (role, configured, judge) = member(id).unwrap_or(nobody);
                Membership { role, configured, judge }
            });
            balancers.push(BalancerSpec {
                name: plane.balancers[balancer].name().to_owned(),
                settings: settings.unwrap_or_default(),
                members: members.collect(),
            });
        }
        let Judges::Each(known) = &last.judges else { return Ok(RegionParts::default()) };
        let checks = self.checks(last)?;
        let usual = HealthCheckTable::default().checking(ProbeType::Tcp, &KeyPath::default())?;
        let judge = |(resource, check): &(String, String)| {
            let (checking, port) = checks.get(check.as_str()).copied().unwrap_or((usual, RuleSpec::PORT));
            Judge { name: format!("{resource}/{check}"), check: checking, port }
        };
        if known.len() > MOST {
            let what = format!("has {} health checks of resources", known.len());
            return refuse(KeyPath::default(), what, format!("write at most {MOST}"));
        }
        let mut judges: IdVec<JudgeId, Judge> = known.iter().map(judge).collect();
        if judges.is_empty() {
            // Nobody judges anybody, and a world has a health check nevertheless.
            judges.push(Judge { name: String::new(), check: usual, port: RuleSpec::PORT });
        }
        let rules = rules(plane).into_iter().chain(self.dropping_rules(&plane.resources)).collect();
        Ok(RegionParts { balancers, rules, judges })
    }

    /// How each health check of the file, or of an operation, probes, and which port.
    fn checks<'a>(
        &'a self,
        plane: &'a ControlPlane,
    ) -> Result<BTreeMap<&'a str, (HealthChecking, u16)>, Problem> {
        let mut checks = BTreeMap::new();
        let written: BTreeMap<&str, (usize, &HealthCheckTable)> =
            self.health_checks.iter().enumerate().map(|(index, it)| (it.name(), (index, it))).collect();
        let usual = HealthCheckTable::default();
        let modern = plane.resources.health_checks.iter().map(|it| (it.name.as_str(), it.probe(), it.timing));
        let legacy =
            plane.resources.http_health_checks.iter().map(|it| (it.name.as_str(), it.probe(), it.timing));
        for (name, probe, timing) in modern.chain(legacy) {
            let root = KeyPath::to("health_checks");
            let (path, table) = match written.get(name) {
                Some((index, table)) => (root.member(*index), *table),
                None => (root, &usual),
            };
            let of_check = |error| of_check(error, &path);
            let probe = probe.map_err(of_check)?;
            let checking = table.checking(probe.r#type, &path)?;
            let timed = timing.checking().map_err(of_check)?;
            let checking = HealthChecking {
                wants_reply: probe.r#type.wants_reply(),
                check_interval: timed.check_interval,
                timeout: timed.timeout,
                thresholds: timed.thresholds,
                ..checking
            };
            checks.insert(name, (checking, probe.port));
        }
        Ok(checks)
    }
}

/// A rule in which an empty name leads nowhere, so that an arm can lead it elsewhere.
fn led(rule: &ForwardingRuleArguments) -> ForwardingRule {
    let mut rule = rule.resource();
    rule.backend_service = rule.backend_service.filter(|service| !service.name().is_empty());
    rule.target = rule.target.filter(|pool| !pool.name().is_empty());
    rule
}

fn rules(plane: &ControlPlane) -> IdVec<RuleId, RuleSpec> {
    let rule = |(id, name): (RuleId, &String)| {
        let resource = plane.resources.forwarding_rules.iter().find(|rule| rule.name == *name);
        let ports = resource.and_then(|rule| rule.taken_ports().ok());
        let port = match ports {
            Some(TakenPorts::Ranges(ranges)) => ranges.first().map(|(first, _)| *first),
            Some(TakenPorts::All) | None => None,
        };
        let written = resource.and_then(|rule| rule.ip_address.as_ref());
        let written = written.and_then(|address| address.parse::<std::net::Ipv4Addr>().ok()).map(u32::from);
        RuleSpec {
            name: name.clone(),
            balancer: plane.target(id),
            address: written.unwrap_or(RuleSpec::FIRST_ADDRESS + id.index() as u32 * ADDRESSES_APART),
            port: port.unwrap_or(RuleSpec::PORT),
            is_reached_from_elsewhere: plane.is_reached(id),
        }
    };
    plane.rules.pairs().map(rule).collect()
}

/// A service has a list of one health check in the API, and names it here.
fn of_service(error: ApiError, path: &KeyPath) -> Problem {
    let is_of_check = error.fields.first() == Some(&"healthChecks");
    let problem = Problem::of_resource(error, path);
    if is_of_check { Problem { path: path.key("health_check"), ..problem } } else { problem }
}

/// The API's objects of what a check asks are keys of the check itself here.
fn of_check(error: ApiError, path: &KeyPath) -> Problem {
    let mut problem = Problem::of_resource(error, path);
    let is_object = |step: &crate::experiment::path::Step| matches!(step, crate::experiment::path::Step::Key(key) if key.ends_with("_health_check"));
    if problem.path.steps().iter().any(is_object) {
        let kept = problem.path.steps().iter().filter(|step| !is_object(step)).cloned();
        problem.path = kept.rev().fold(KeyPath::default(), KeyPath::under);
    }
    problem
}
