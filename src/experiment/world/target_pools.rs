//! `[forwarding_rule]`, of either kind of load balancer, and `[[target_pools]]`: an external one by target pool.

use schemars::JsonSchema;
use serde::de::value::MapAccessDeserializer;
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer};

use super::autoscaling::AutoscalingKeys;
use super::groups::{GroupPlan, NumberedGroup, ServerKeys, Weight, members, zones_of};
use super::health_check::HealthCheckTable;
use super::operator::{Verb, name_the_table};
use crate::compute::{
    ApiError, Assumptions, ControlPlane, ForwardingRule, Home, Reason, Reference, Resources, RuleProtocol,
    Scheme, Target, TargetPool, session_affinity,
};
use crate::experiment::bounded::{ResourceName, Whole};
use crate::experiment::path::KeyPath;
use crate::experiment::problem::{Problem, distinct, refuse};
use crate::ids::{IdVec, ZoneId};
use crate::lb::MAX_BACKENDS;
use crate::lb::affinity::SessionAffinity;
use crate::lb::ratio::Ratio;
use crate::lb::selection::TableSize;
use crate::sim::scenario::{ServedPorts, Server};

/// `[forwarding_rule]`: where traffic comes from. Beside `[backend_service]` it leads there.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct RuleTable {
    /// Its name. Default: forwarding-rule.
    name: Option<ResourceName>,
    /// Which packets it takes (REG-2). Default: the protocol of the backend service; TCP where that is UNSPECIFIED, and for
    /// target pools.
    pub(super) ip_protocol: Option<RuleProtocol>,
    /// The target pool that it points to. Default: none, target pools need it.
    #[schemars(example = &"www")]
    target: Option<String>,
    /// Entries of Maglev's table, where it points to a target pool.
    #[serde(default)]
    pub(super) maglev_table_size: TableSize,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct PoolTable {
    /// Its name.
    #[schemars(extend("examples" = ["www"]))]
    name: ResourceName,
    /// NONE, CLIENT_IP or CLIENT_IP_PROTO. Default: NONE.
    #[serde(default, deserialize_with = "session_affinity")]
    session_affinity: Option<SessionAffinity>,
    /// The share of healthy instances below which the backup pool serves; it needs `backup_pool`. Default: none.
    failover_ratio: Option<Ratio>,
    /// The pool that takes over; it needs `failover_ratio`. "" is none, and a ratio beside it has no effect. Default: none.
    #[schemars(example = &"backup")]
    backup_pool: Option<String>,
    /// At most one, "default", which is `[health_check]`.
    #[schemars(example = ["default"])]
    #[serde(default)]
    health_checks: Vec<String>,
    /// Its instances, each a table; beside `forwarding_rules` the names of instances or of groups.
    #[schemars(extend("examples" = [[{ "name": "ig-a", "zone": "us-central1-a" }]]))]
    #[serde(default)]
    instances: Vec<PoolMember>,
}

/// Instances of a pool: their name alone where they stand by themselves.
#[derive(Debug, JsonSchema)]
#[schemars(with = "PoolInstances")]
enum PoolMember {
    Here(Box<PoolInstances>),
    ByName(String),
}

impl<'de> Deserialize<'de> for PoolMember {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Written;
        impl<'de> Visitor<'de> for Written {
            type Value = PoolMember;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a table with name and zone, or beside forwarding_rules the name of an instance or a group")
            }
            fn visit_str<E>(self, name: &str) -> Result<PoolMember, E> {
                Ok(PoolMember::ByName(name.to_owned()))
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<PoolMember, A::Error> {
                PoolInstances::deserialize(MapAccessDeserializer::new(map))
                    .map(|here| PoolMember::Here(Box::new(here)))
            }
        }
        deserializer.deserialize_any(Written)
    }
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct PoolInstances {
    /// What they are called: `<name>-1` to `<name>-<size>`.
    name: ResourceName,
    /// The zone of all of them. Default: none; either it or `zones` is needed.
    #[schemars(example = &"us-central1-a")]
    zone: Option<String>,
    /// The zones that they are dealt out to in turn. Default: none.
    #[schemars(example = ["us-central1-a", "us-central1-b"])]
    zones: Option<Vec<String>>,
    /// How many there are.
    #[schemars(extend("x-unit" = "backends"))]
    #[serde(default)]
    size: Whole<0, { MAX_BACKENDS as u32 }, 4>,
    /// Keys that differ from `[server]`.
    #[schemars(extend("x-over" = "server"))]
    #[serde(default)]
    server: ServerKeys,
    /// How their number follows their utilization. Default: not at all.
    autoscaling_policy: Option<AutoscalingKeys>,
}

pub(super) fn list() -> KeyPath {
    KeyPath::to("target_pools")
}

pub(super) fn resources(
    rule: &RuleTable,
    written: &[PoolTable],
    region: &str,
    check: &HealthCheckTable,
    assumptions: &Assumptions,
) -> Result<Resources, Problem> {
    let names: Vec<&str> = written.iter().map(|pool| pool.name.as_str()).collect();
    distinct(&names, |index| list().member(index).key("name"))
        .map_err(|problem| problem.refused(Reason::AlreadyExists))?;
    let mut resources = Resources {
        region: region.to_owned(),
        target_pools: written.iter().map(PoolTable::resource).collect(),
        forwarding_rules: vec![rule.resource(&names)?],
        ..Resources::default()
    };
    check.create(&mut resources);
    let of_rule = |error| Problem::of_resource(error, &KeyPath::to("forwarding_rule"));
    resources.check_rule(rule.name()).map_err(of_rule)?;
    let at = |index| move |error: ApiError| Problem::of_resource(error, &list().member(index));
    for (index, pool) in resources.target_pools.iter().enumerate() {
        pool.settings(assumptions).map_err(at(index))?;
        let first_check = written[index].health_checks.first().map_or("", String::as_str);
        let with_table = |error| name_the_table(error, &resources, first_check);
        resources.check_pool(index).map_err(with_table).map_err(at(index))?;
    }
    Ok(resources)
}

impl PoolTable {
    pub(super) fn name(&self) -> &str {
        self.name.as_str()
    }

    /// The groups of instances that stand in it.
    fn groups(&self) -> impl Iterator<Item = &PoolInstances> {
        self.instances.iter().filter_map(|member| match member {
            PoolMember::Here(group) => Some(&**group),
            PoolMember::ByName(_) => None,
        })
    }

    /// The pool at `path` over instances that stand by themselves.
    pub(super) fn apart(
        &self,
        named: impl Fn(&[String], &KeyPath) -> Result<Vec<Reference>, Problem>,
        path: &KeyPath,
    ) -> Result<TargetPool, Problem> {
        let mut names = Vec::new();
        for (index, member) in self.instances.iter().enumerate() {
            match member {
                PoolMember::ByName(name) => names.push(name.clone()),
                PoolMember::Here(group) => {
                    let help = format!(
                        "write instances = [{:?}], and the group itself as one of [[instance_groups]]",
                        group.name.as_str()
                    );
                    let path = path.key("instances").member(index);
                    return refuse(path, "is a table, but resources stand by themselves here", help);
                }
            }
        }
        let instances = named(&names, &path.key("instances"))?;
        Ok(TargetPool { instances, ..self.resource() })
    }

    fn resource(&self) -> TargetPool {
        // An empty name is none, and a ratio beside it has no effect.
        let backup = self.backup_pool.as_deref();
        let members = self.groups().flat_map(|group| members(group.name.as_str(), group.size.get()));
        TargetPool {
            name: self.name.as_str().to_owned(),
            session_affinity: self.session_affinity,
            failover_ratio: self.failover_ratio.filter(|_| backup != Some("")),
            backup_pool: backup.filter(|name| !name.is_empty()).map(Reference::new),
            health_checks: self.health_checks.iter().map(Reference::new).collect(),
            instances: members.collect(),
            ..TargetPool::default()
        }
    }
}

impl RuleTable {
    pub(super) fn name(&self) -> &str {
        self.name.as_ref().map_or(Self::NAME, ResourceName::as_str)
    }

    pub(super) const NAME: &str = "forwarding-rule";

    fn resource(&self, pools: &[&str]) -> Result<ForwardingRule, Problem> {
        let Some(target) = &self.target else {
            let example = pools.first().copied().unwrap_or("www");
            let help = format!("add target = {example:?}, a target pool");
            return refuse(KeyPath::to("forwarding_rule"), "has no `target`", help);
        };
        Ok(ForwardingRule {
            name: self.name().to_owned(),
            load_balancing_scheme: Some(Scheme::External),
            ip_protocol: self.ip_protocol,
            target: Some(Reference::new(target)),
            ..ForwardingRule::default()
        })
    }
}

/// The groups of all pools, which serve like `server` where they are silent. Those of pools that neither the file nor an
/// operation of `verbs` makes the backup are never served.
pub(super) fn groups(
    written: &[PoolTable],
    plane: &ControlPlane,
    verbs: &[&Verb],
    server: Server,
    zones: &IdVec<ZoneId, String>,
) -> Result<Vec<GroupPlan>, Problem> {
    let target = plane.balancers.iter().next().map_or("", Target::name);
    let pool = plane.resources.target_pools.iter().find(|pool| pool.name == target);
    let backup = pool.and_then(|pool| pool.backup_pool.as_ref()).map(Reference::name);
    let becomes_backup = |name: &str| {
        verbs.iter().any(|verb| {
            matches!(verb, Verb::SetBackup { pool, backup_pool: Some(backup), failover_ratio: Some(_) }
                if pool == target && backup == name)
        })
    };
    let mut plans = Vec::new();
    for (index, pool) in written.iter().enumerate() {
        let name = pool.name.as_str();
        let home = Home::Pool(name.to_owned());
        let is_ever_served = name == target || Some(name) == backup || becomes_backup(name);
        for (number, group) in pool.groups().enumerate() {
            let path = list().member(index).key("instances").member(number);
            let server = group.server.of_group(&server, &path)?;
            let policy = group.autoscaling_policy.as_ref();
            let policy = policy.map(|keys| keys.policy(group.size.get(), server.workers, &path));
            let numbered = NumberedGroup {
                name: group.name.as_str().to_owned(),
                home: home.clone(),
                zones: zones_of(group.zone.as_deref(), group.zones.as_deref(), zones, &path)?,
                highest: group.size.get(),
            };
            plans.push(GroupPlan {
                group: numbered,
                place: path.key("name"),
                added: 0,
                server,
                weight: Weight::ONE,
                autoscaling: policy.transpose()?,
                is_ever_served,
                serves: ServedPorts::All,
            });
        }
    }
    Ok(plans)
}
