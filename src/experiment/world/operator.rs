//! What an operator can do: the verbs of `[[operations]]`, and the calls of the Compute API that they are.

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::Deserialize;

use super::backend_service::{FailoverKeys, TrackingKeys, ZonalAffinityKeys};
use super::groups::{MemberCount, NumberedGroup};
use super::health_check::HealthCheckTable;
use super::routed::Routed;
use crate::compute::{
    ApiError, BackendService, ControlPlane, Method, Reason, Reference, Resources, quoted, session_affinity,
};
use crate::experiment::bounded::Whole;
use crate::ids::{IdVec, ZoneId};
use crate::lb::affinity::SessionAffinity;
use crate::lb::change::RegionChange;
use crate::lb::ratio::Ratio;

/// What `do` says. Settings that an operation leaves out stay as they are.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
#[schemars(tag = "do")]
pub(super) enum Verb {
    /// `regionBackendServices.patch`
    SetZonalAffinity(ZonalAffinityKeys),
    /// `regionBackendServices.patch`
    SetFailoverPolicy(FailoverKeys),
    /// `regionBackendServices.patch`
    SetSessionAffinity {
        /// What keeps connections together from then on (AFF-1).
        #[serde(deserialize_with = "session_affinity")]
        #[schemars(with = "SessionAffinity", extend("examples" = ["CLIENT_IP"]))]
        session_affinity: Option<SessionAffinity>,
    },
    /// `regionBackendServices.patch`
    SetConnectionTrackingPolicy(TrackingKeys),
    /// `instanceGroups.addInstances`, `targetPools.addInstance`: instances that did not exist before.
    AddInstances {
        /// The group of backends.
        group: String,
        /// How many; of those that are removed the newest. Default: all of them.
        #[schemars(extend("examples" = [2]))]
        count: MemberCount,
    },
    /// `instanceGroups.removeInstances`, `targetPools.removeInstance`: these, or the newest of a group, all of them
    /// without a count.
    RemoveInstances {
        group: Option<String>,
        count: Option<MemberCount>,
        /// These instances, by their names. Default: those of `group`.
        backends: Option<Vec<String>>,
    },
    /// `regionBackendServices.patch` of a group's `failover`.
    SetBackendFailover {
        group: String,
        /// Whether its members are failover backends from then on.
        failover: bool,
    },
    /// `targetPools.addHealthCheck`, by default to the pool of the forwarding rule.
    AddHealthCheck {
        /// The target pool. Default: that of the forwarding rule, where that is enough.
        #[schemars(example = &"www")]
        pool: Option<String>,
        /// The health check of the pool.
        #[serde(default = "health_check")]
        health_check: String,
    },
    /// `targetPools.removeHealthCheck`
    RemoveHealthCheck {
        #[schemars(example = &"www")]
        pool: Option<String>,
        #[serde(default = "health_check")]
        health_check: String,
    },
    /// `targetPools.setBackup`: without a pool or a ratio there is no backup.
    SetBackup {
        #[schemars(example = &"www")]
        pool: String,
        /// The pool that takes over. Default: none.
        backup_pool: Option<String>,
        /// The share of healthy instances below which it does. Default: none.
        failover_ratio: Option<Ratio>,
    },
    /// Every instance of a zone is removed.
    Drain {
        #[schemars(example = &"us-central1-a")]
        /// The zone whose instances go.
        zone: String,
    },
    /// `targetPools.delete`
    DeleteTargetPool {
        #[schemars(example = &"www")]
        pool: String,
    },
}

fn health_check() -> String {
    HealthCheckTable::NAME.to_owned()
}

/// Who calls the API: resources, and the file's groups of instances, each with a home among them.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Operator {
    pub(super) zones: IdVec<ZoneId, String>,
    pub(super) groups: Vec<NumberedGroup>,
    pub(super) plane: ControlPlane,
    /// What clients go to through routes.
    pub(super) routed: Vec<Routed>,
}

type Answer = Result<Vec<RegionChange>, ApiError>;
/// An instance: the position of its group, and its number.
type Member = (usize, u32);

const VERB: &[&str] = &["do"];
const GROUP: &[&str] = &["group"];
const BACKENDS: &[&str] = &["backends"];

impl Operator {
    /// Calls a method of the API by its own name.
    pub(super) fn call(&mut self, method: &Method) -> Answer {
        if matches!(method, Method::PatchHealthCheck(_) | Method::PatchHttpHealthCheck(_)) {
            let what = "a health check that judges can't change here while it does";
            let help = "write another health check, and lead the service or the pool to it";
            return Err(ApiError::own(VERB, what, help));
        }
        self.plane.call(|resources| resources.call(method))
    }

    /// What the packets and answers meet that routes lead.
    pub(super) fn ways(&self) -> Vec<impl PartialEq + use<>> {
        self.routed.iter().map(|routed| routed.way(&self.plane.resources)).collect()
    }

    pub(super) fn apply(&mut self, verb: &Verb) -> Answer {
        match verb {
            Verb::SetZonalAffinity(keys) => {
                something(keys, "spillover = \"ZONAL_AFFINITY_STAY_WITHIN_ZONE\"")?;
                let network_pass_through_lb_traffic_policy = keys.fields();
                self.patch(BackendService { network_pass_through_lb_traffic_policy, ..Default::default() })
            }
            Verb::SetFailoverPolicy(keys) => {
                something(keys, "failover_ratio = 0.5")?;
                self.patch(BackendService { failover_policy: Some(keys.fields()), ..Default::default() })
            }
            Verb::SetConnectionTrackingPolicy(keys) => {
                something(keys, "tracking_mode = \"PER_SESSION\"")?;
                let connection_tracking_policy = Some(keys.fields());
                self.patch(BackendService { connection_tracking_policy, ..Default::default() })
            }
            Verb::SetSessionAffinity { .. } if self.target_pool().is_ok() => {
                let what = "a target pool keeps the session affinity that it was created with: \
                            there is no method to change it";
                let help = "set it in [[target_pools]], and compare arms";
                Err(ApiError::because(Reason::NotFound, VERB, what, help))
            }
            Verb::SetSessionAffinity { session_affinity } => {
                self.patch(BackendService { session_affinity: *session_affinity, ..Default::default() })
            }
            Verb::AddInstances { group, count } => self.add_instances(group, *count),
            Verb::RemoveInstances { group, count, backends } => {
                let found = self.to_remove(group.as_deref(), *count, backends.as_deref())?;
                self.remove(&found)
            }
            Verb::SetBackendFailover { group, failover } => {
                let service = self.service()?;
                self.plane.call(|resources| resources.set_failover(&service, group, *failover))
            }
            Verb::AddHealthCheck { pool, health_check } => {
                self.set_check(pool.as_deref(), health_check, Resources::add_health_check)
            }
            Verb::RemoveHealthCheck { pool, health_check } => {
                self.set_check(pool.as_deref(), health_check, Resources::remove_health_check)
            }
            Verb::SetBackup { pool, backup_pool, failover_ratio: ratio } => {
                self.target_pool()?;
                self.plane.call(|resources| resources.set_backup(pool, backup_pool.as_deref(), *ratio))
            }
            Verb::Drain { zone } => {
                let found = self.in_zone(zone)?;
                self.remove(&found)
            }
            Verb::DeleteTargetPool { pool } => {
                self.target_pool()?;
                self.plane.call(|resources| resources.delete_target_pool(pool))
            }
        }
    }

    fn patch(&mut self, change: BackendService) -> Answer {
        let service = self.service()?;
        self.plane.call(|resources| resources.patch_backend_service(&service, &change))
    }

    fn set_check(
        &mut self,
        pool: Option<&str>,
        check: &str,
        method: impl FnOnce(&mut Resources, &str, &str) -> Result<(), ApiError>,
    ) -> Answer {
        let target = self.target_pool()?;
        let changed = self.plane.call(|resources| method(resources, pool.unwrap_or(&target), check));
        changed.map_err(|error| name_the_table(error, &self.plane.resources, check))
    }

    fn add_instances(&mut self, group: &str, count: MemberCount) -> Answer {
        let index = self.find_group(group)?;
        let group = &mut self.groups[index];
        let numbers = group.highest + 1..=group.highest + count.get();
        group.highest += count.get();
        let instances = numbers.map(|number| Reference::new(group.member(number)));
        self.plane.call(|resources| resources.add_instances(&group.home, instances))
    }

    fn remove(&mut self, members: &[Member]) -> Answer {
        let mut names: BTreeMap<usize, Vec<String>> = BTreeMap::new();
        for (group, number) in members {
            names.entry(*group).or_default().push(self.groups[*group].member(*number));
        }
        let groups = &self.groups;
        let mut names = names.iter();
        self.plane.call(|resources| {
            names.try_for_each(|(group, names)| resources.remove_instances(&groups[*group].home, names))
        })
    }

    fn to_remove(
        &self,
        group: Option<&str>,
        count: Option<MemberCount>,
        backends: Option<&[String]>,
    ) -> Result<Vec<Member>, ApiError> {
        let names = match (group, backends) {
            (Some(group), None) => return self.newest(group, count.map(Whole::get)),
            (None, Some(names)) if count.is_none() => names,
            (None, None) => {
                let help = "add group = \"…\" or backends = [\"…\"]";
                return Err(ApiError::own(&[], "no instances are named", help));
            }
            _ => {
                let help = "keep `group`, with `count` if not all of it goes, or `backends`";
                return Err(ApiError::own(BACKENDS, "instances are named in several ways", help));
            }
        };
        if names.is_empty() {
            return Err(ApiError::own(BACKENDS, "the list is empty", "name at least one instance"));
        }
        let mut left: BTreeMap<String, Member> = self.named_members().collect();
        let find = |name: &String| {
            left.remove(name).ok_or_else(|| {
                let what = format!("{} is not an instance of the load balancer now", quoted(name));
                let known: Vec<String> = self.named_members().map(|(name, _)| name).collect();
                let known = known.iter().map(String::as_str);
                ApiError::invalid(BACKENDS, what, "").choosing(name, "instances", known)
            })
        };
        names.iter().map(find).collect()
    }

    fn newest(&self, group: &str, count: Option<u32>) -> Result<Vec<Member>, ApiError> {
        let index = self.find_group(group)?;
        let present: BTreeSet<u32> = self.present(&self.groups[index]).into_iter().flatten().collect();
        let count = count.map_or(present.len(), |count| count as usize);
        if present.is_empty() || count > present.len() {
            let what = format!("group {group:?} has {} instances at this time", present.len());
            let help = "name a group that has as many instances";
            return Err(ApiError::invalid(&["count", "group"], what, help));
        }
        Ok(present.into_iter().rev().take(count).map(|number| (index, number)).collect())
    }

    fn in_zone(&self, name: &str) -> Result<Vec<Member>, ApiError> {
        const ZONE: &[&str] = &["zone"];
        let Some((zone, _)) = self.zones.pairs().find(|(_, zone)| *zone == name) else {
            let what = format!("there is no zone {} in the region", quoted(name));
            let known = self.zones.iter().map(String::as_str);
            let error = ApiError::because(Reason::NotFound, ZONE, what, "");
            return Err(error.choosing(name, "zones of the region", known));
        };
        let found: Vec<Member> =
            self.members().filter(|(group, number)| self.groups[*group].zone(*number) == zone).collect();
        if found.is_empty() {
            let what = format!("there is no instance in {name} at this time");
            return Err(ApiError::invalid(ZONE, what, "name a zone that has instances"));
        }
        Ok(found)
    }

    fn members(&self) -> impl Iterator<Item = Member> {
        let numbers =
            |(index, group)| self.present(group).into_iter().flatten().map(move |number| (index, number));
        self.groups.iter().enumerate().flat_map(numbers)
    }

    fn named_members(&self) -> impl Iterator<Item = (String, Member)> {
        self.members().map(|member| (self.groups[member.0].member(member.1), member))
    }

    /// The numbers of a group's members; nothing if its home is gone, and it with that.
    fn present<'a>(&'a self, group: &'a NumberedGroup) -> Option<impl Iterator<Item = u32> + use<'a>> {
        let instances = self.plane.resources.instances_at(&group.home)?;
        Some(instances.iter().filter_map(|instance| group.number(instance.name())))
    }

    fn find_group(&self, name: &str) -> Result<usize, ApiError> {
        let has = |group: &&NumberedGroup| self.present(group).is_some();
        let found = self.groups.iter().position(|group| group.name == name && has(&group));
        let known = || self.groups.iter().filter(has).map(|group| group.name.as_str());
        found.ok_or_else(|| ApiError::not_found(GROUP, name, "groups", known()))
    }

    fn service(&self) -> Result<String, ApiError> {
        let services = &self.plane.resources.backend_services;
        if services.len() > 1 {
            let what = "there are several backend services";
            let help = "write do = \"backend_services.patch\" with backend_service = \"…\"";
            return Err(ApiError::own(VERB, what, help));
        }
        services.first().map(|service| service.name.clone()).ok_or_else(|| {
            let help = "use the verbs of target pools: add_instances, remove_instances, add_health_check, \
                        remove_health_check, set_backup, drain, delete_target_pool";
            let what = "there is no backend service: the load balancer has target pools";
            ApiError::because(Reason::NotFound, VERB, what, help)
        })
    }

    fn target_pool(&self) -> Result<String, ApiError> {
        let rules = &self.plane.resources.forwarding_rules;
        let target = rules.iter().find_map(|rule| rule.target.as_ref());
        target.map(|target| target.name().to_owned()).ok_or_else(|| {
            let what = "there are no target pools: the load balancer has a backend service";
            let help = "use the verbs of backend services, such as set_backend_failover";
            ApiError::because(Reason::NotFound, VERB, what, help)
        })
    }
}

fn something<T: Default + PartialEq>(keys: &T, example: &str) -> Result<(), ApiError> {
    if *keys == T::default() {
        return Err(ApiError::own(&[], "nothing is set", format!("add {example}")));
    }
    Ok(())
}

/// `error` with the remedy that a file has if it is that target pools can't have the health check called `name`.
pub(super) fn name_the_table(error: ApiError, resources: &Resources, name: &str) -> ApiError {
    if error.reason != Some(Reason::NotFound) || !error.fields.contains(&"healthCheck") {
        return error;
    }
    let help = match resources.health_checks.iter().any(|check| check.name == name) {
        true => "write health_check.type = \"HTTP\", or leave it out",
        false => "write \"default\": that is the table [health_check]",
    };
    ApiError::because(Reason::NotFound, error.fields, error.what, help)
}
