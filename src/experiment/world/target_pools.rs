//! `[forwarding_rule]` and `[[target_pools]]`: an external load balancer by target pool.

use schemars::JsonSchema;
use serde::Deserialize;

use super::autoscaling::AutoscalingKeys;
use super::groups::{GroupPlan, ServerKeys, Standing, Weight, zones_of};
use super::semantics::{PortlessFragments, Semantics};
use crate::experiment::bounded::{ResourceName, Whole};
use crate::experiment::control_plane::{Affinity, Pool, Pools, Refusal, Verb};
use crate::experiment::path::KeyPath;
use crate::experiment::problem::{Problem, choice, distinct, quoted};
use crate::experiment::reason::Reason;
use crate::ids::{IdVec, ZoneId};
use crate::lb::MAX_BACKENDS;
use crate::lb::health::ProbeType;
use crate::lb::ratio::Ratio;
use crate::lb::selection::TableSize;
use crate::sim::scenario::Server;

/// `[forwarding_rule]`: where traffic comes from.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ForwardingRule {
    /// Its name. Default: forwarding-rule.
    name: Option<ResourceName>,
    /// The target pool that it points to. Default: none, it is needed.
    #[schemars(example = &"www")]
    target: Option<String>,
    /// Entries of Maglev's table.
    #[serde(default)]
    maglev_table_size: TableSize,
}

/// `[[target_pools]]`
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct TargetPool {
    /// Its name.
    #[schemars(extend("examples" = ["www"]))]
    name: ResourceName,
    /// NONE, CLIENT_IP or CLIENT_IP_PROTO.
    #[serde(default)]
    session_affinity: Affinity,
    /// The share of healthy instances below which the backup pool serves. Default: none.
    failover_ratio: Option<Ratio>,
    /// The pool that takes over. Without a ratio it never does. Default: none.
    #[schemars(example = &"backup")]
    backup_pool: Option<String>,
    /// At most one, "default", which is `[health_check]`.
    #[schemars(example = ["default"])]
    #[serde(default)]
    health_checks: Vec<String>,
    /// Its instances.
    #[schemars(extend("examples" = [[{ "name": "ig-a", "zone": "us-central1-a" }]]))]
    #[serde(default)]
    instances: Vec<PoolInstances>,
}

/// `[[target_pools.instances]]`
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
    #[serde(default = "size")]
    size: Whole<0, { MAX_BACKENDS as u32 }>,
    /// Keys that differ from `[server]`.
    #[schemars(extend("x-over" = "server"))]
    #[serde(default)]
    server: ServerKeys,
    /// How their number follows their utilization. Default: not at all.
    autoscaling_policy: Option<AutoscalingKeys>,
}

fn size() -> Whole<0, { MAX_BACKENDS as u32 }> {
    Whole::new(4)
}

/// Where the pools stand.
pub(super) fn list() -> KeyPath {
    KeyPath::to("target_pools")
}

/// The resources that are created, of which those at `list` come first.
pub(super) fn pools(
    rule: &ForwardingRule,
    written: &[TargetPool],
    region: &str,
    check: ProbeType,
    semantics: &Semantics,
) -> Result<Pools, Problem> {
    let names: Vec<&str> = written.iter().map(|pool| pool.name.as_str()).collect();
    distinct(&names, |index| list().member(index).key("name"))
        .map_err(|problem| problem.refused(Reason::AlreadyExists))?;
    let at = |index| move |refusal: Refusal| refusal.of_resource(&list().member(index));
    let new = |(index, pool): (usize, &TargetPool)| {
        Pool::new(pool.name.as_str(), pool.session_affinity.get()).map_err(at(index))
    };
    let mut pools = Pools {
        region: region.to_owned(),
        rule: rule.name.as_ref().map_or("forwarding-rule", ResourceName::as_str).to_owned(),
        target: rule.target(&names)?,
        table_size: rule.maglev_table_size,
        drop_portless_fragments: semantics.portless_fragments == PortlessFragments::Drop,
        check,
        all: written.iter().enumerate().map(new).collect::<Result<_, _>>()?,
    };
    for (index, pool) in written.iter().enumerate() {
        if pool.failover_ratio.is_some() && pool.backup_pool.is_none() {
            let path = list().member(index).key("failover_ratio");
            let help = "add backup_pool = \"…\", or leave the ratio out";
            return Err(Problem::that(path, "has no backup pool", help).refused(Reason::Invalid));
        }
        pools.set_backup(index, pool.backup_pool.as_deref(), pool.failover_ratio).map_err(at(index))?;
        pools.attach(index, &pool.health_checks).map_err(at(index))?;
    }
    Ok(pools)
}

impl ForwardingRule {
    /// The position of its target among the pools called `names`.
    fn target(&self, names: &[&str]) -> Result<usize, Problem> {
        let place = KeyPath::to("forwarding_rule");
        let Some(target) = &self.target else {
            let example = names.first().copied().unwrap_or("www");
            return Err(Problem::that(
                place,
                "has no `target`",
                format!("add target = {example:?}, a target pool"),
            ));
        };
        names.iter().position(|name| name == target).ok_or_else(|| {
            let what = format!("names {}, which does not exist", quoted(target));
            let problem = Problem::that(place.key("target"), what, choice(target, "target pools", names));
            problem.refused(Reason::NotFound)
        })
    }
}

/// The groups of all pools, which serve like `server` where they are silent. Those of pools that neither the file nor an
/// operation of `verbs` makes the backup are never served.
pub(super) fn groups<'a>(
    written: &'a [TargetPool],
    pools: &Pools,
    verbs: &[&Verb],
    server: Server,
    zones: &IdVec<ZoneId, String>,
) -> Result<Vec<GroupPlan<'a>>, Problem> {
    let target = written[pools.target].name.as_str();
    let becomes_backup = |name: &str| {
        verbs.iter().any(|verb| {
            matches!(verb, Verb::SetBackup { pool, backup_pool: Some(backup), .. } if pool == target && backup == name)
        })
    };
    let mut plans = Vec::new();
    for (index, pool) in written.iter().enumerate() {
        let role = pools.role(index);
        let standing = Standing {
            pool: Some(index),
            is_ever_served: role.is_some() || becomes_backup(pool.name.as_str()),
            role,
            checked: pools.is_checked(index),
        };
        for (number, group) in pool.instances.iter().enumerate() {
            let path = list().member(index).key("instances").member(number);
            let server = group.server.of_group(&server, &path)?;
            let policy = group.autoscaling_policy.as_ref();
            let policy = policy.map(|keys| keys.policy(group.size.get(), server.workers, &path));
            plans.push(GroupPlan {
                name: group.name.as_str(),
                place: path.clone().key("name"),
                zones: zones_of(group.zone.as_deref(), group.zones.as_deref(), zones, &path)?,
                size: group.size.get(),
                added: 0,
                server,
                weight: Weight::ONE,
                autoscaling: policy.transpose()?,
                standing,
            });
        }
    }
    Ok(plans)
}
