//! A small model of the Compute API: the resources as the operations so far have left them.
//!
//! Each operation is checked against that state (MTH, RES-9), as a resource is at its creation, and becomes the changes
//! that the load balancer sees. What is refused changes nothing.

mod affinity;
mod instances;
mod pools;
mod refusal;
mod service;
#[cfg(test)]
mod tests;
mod verb;

use super::bounded::Whole;
use super::problem::{choice, quoted};
use super::reason::Reason;
use crate::ids::{BackendId, Id, IdVec, ZoneId};
use crate::lb::backend::Role;
use crate::lb::change::Change;
pub(super) use affinity::Affinity;
pub(super) use instances::Instances;
pub(super) use pools::{Pool, Pools};
pub(super) use refusal::Refusal;
pub(super) use service::{
    FailoverKeys, LocalityPolicy, Scheme, Service, Tracking, TrackingKeys, ZonalAffinityKeys,
};
pub(super) use verb::{Count, Verb};

/// The resources of one experiment.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ControlPlane {
    pub(super) zones: IdVec<ZoneId, String>,
    /// In configuration order.
    pub(super) groups: Vec<Instances>,
    pub(super) balancer: Balancer,
}

/// What distributes traffic.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Balancer {
    /// A backend service, and the role of each group.
    Service { service: Box<Service>, roles: Vec<Role> },
    /// Target pools.
    Pools(Pools),
}

/// Why a call came to nothing, or what it changes.
type Answer = Result<Vec<Change>, Refusal>;

const GROUP: &[&str] = &["group"];
const POOL: &[&str] = &["pool"];
const VERB: &[&str] = &["do"];

impl ControlPlane {
    /// Does what `verb` says.
    pub(super) fn apply(&mut self, verb: &Verb) -> Answer {
        match verb {
            Verb::SetZonalAffinity(keys) => {
                something(*keys, "spillover = \"ZONAL_AFFINITY_STAY_WITHIN_ZONE\"")?;
                self.patch(|service| service.zonal_affinity = keys.over(service.zonal_affinity))
            }
            Verb::SetFailoverPolicy(keys) => {
                something(*keys, "failover_ratio = 0.5")?;
                self.patch(|service| service.failover_policy = keys.over(service.failover_policy))
            }
            Verb::SetConnectionTrackingPolicy(keys) => {
                something(*keys, "tracking_mode = \"PER_SESSION\"")?;
                self.patch(|service| service.tracking = keys.over(service.tracking))
            }
            Verb::SetSessionAffinity { session_affinity } => {
                if let Balancer::Pools(_) = self.balancer {
                    let what = "a target pool keeps the session affinity that it was created with: \
                                there is no method to change it";
                    let help = "set it in [[target_pools]], and compare arms";
                    return Err(Refusal::because(Reason::NotFound, VERB, what, help));
                }
                self.patch(|service| service.session_affinity = session_affinity.get())
            }
            Verb::AddInstances { group, count } => self.add_instances(group, *count),
            Verb::RemoveInstances { group, count, backends } => {
                let found = self.to_remove(group.as_deref(), *count, backends.as_deref())?;
                Ok(self.remove(&found))
            }
            Verb::SetBackendFailover { group, failover } => self.set_role(group, *failover),
            Verb::AddHealthCheck { pool, health_check } => self.set_check(pool.as_deref(), |pools, pool| {
                pools.attach(pool, std::slice::from_ref(health_check))
            }),
            Verb::RemoveHealthCheck { pool, health_check } => {
                self.set_check(pool.as_deref(), |pools, pool| pools.detach(pool, health_check))
            }
            Verb::SetBackup { pool, backup_pool, failover_ratio } => self.configure_pools(|pools| {
                let pool = pools.find(pool, POOL)?;
                pools.set_backup(pool, backup_pool.as_deref(), *failover_ratio)
            }),
            Verb::Drain { zone } => {
                let found = self.in_zone(zone)?;
                Ok(self.remove(&found))
            }
            Verb::DeleteTargetPool { pool } => self.configure_pools(|pools| {
                let pool = pools.find(pool, POOL)?;
                pools.delete(pool)
            }),
        }
    }

    /// The backends that exist.
    pub(super) fn backends(&self) -> impl Iterator<Item = BackendId> {
        self.members().filter_map(|(group, number)| self.groups[group].backend(number))
    }

    /// Changes settings of the backend service.
    fn patch(&mut self, change: impl FnOnce(&mut Service)) -> Answer {
        let (service, _) = self.service()?;
        let mut changed = service.clone();
        change(&mut changed);
        let settings = changed.settings()?;
        let same = settings == service.settings()?;
        *service = changed;
        Ok(if same { Vec::new() } else { vec![Change::Configure(settings)] })
    }

    /// Changes the target pools, and what the load balancer sees of that: new instances come before old ones go, so
    /// that it is never left without both.
    fn configure_pools(&mut self, change: impl FnOnce(&mut Pools) -> Result<(), Refusal>) -> Answer {
        let pools = self.pools()?;
        let before = pools.clone();
        let mut after = pools.clone();
        change(&mut after)?;
        *pools = after.clone();
        let serving_only = |these: &Pools, others: &Pools| {
            let groups = self.groups.iter().filter(|group| {
                group.pool().is_some_and(|pool| these.role(pool).is_some() && others.role(pool).is_none())
            });
            let backends =
                groups.flat_map(|group| group.present().iter().map(|number| group.backend(*number)));
            backends.flatten().collect::<Vec<_>>()
        };
        let added = serving_only(&after, &before).into_iter().map(Change::Add);
        let removed = serving_only(&before, &after).into_iter().map(Change::Remove);
        let settings = after.settings();
        let configured = (settings != before.settings()).then_some(Change::Configure(settings));
        Ok(added.chain(configured).chain(removed).collect())
    }

    /// Changes which health check a pool has.
    fn set_check(
        &mut self,
        pool: Option<&str>,
        change: impl FnOnce(&mut Pools, usize) -> Result<(), Refusal>,
    ) -> Answer {
        let pools = self.pools()?;
        let pool = pool.map_or(Ok(pools.target), |name| pools.find(name, POOL))?;
        let mut changed = pools.clone();
        change(&mut changed, pool)?;
        *pools = changed;
        let checked = pools.is_checked(pool);
        let groups = self.groups.iter().filter(|group| group.pool() == Some(pool));
        let backends = groups.flat_map(Instances::backends);
        Ok(backends.map(|backend| Change::SetChecked(*backend, checked)).collect())
    }

    fn add_instances(&mut self, group: &str, count: Count) -> Answer {
        let index = self.find_group(group)?;
        let numbers = self.groups[index].add(count.get());
        if !self.serves(index) {
            return Ok(Vec::new());
        }
        let backends = numbers.into_iter().filter_map(|number| self.groups[index].backend(number));
        Ok(backends.map(Change::Add).collect())
    }

    /// Removes members, each by its group and number.
    fn remove(&mut self, members: &[(usize, u32)]) -> Vec<Change> {
        let mut changes = Vec::new();
        for (group, number) in members {
            self.groups[*group].remove(*number);
            if self.serves(*group) {
                changes.extend(self.groups[*group].backend(*number).map(Change::Remove));
            }
        }
        changes
    }

    /// The members that `remove_instances` means.
    fn to_remove(
        &self,
        group: Option<&str>,
        count: Option<Count>,
        backends: Option<&[String]>,
    ) -> Result<Vec<(usize, u32)>, Refusal> {
        let names = match (group, backends) {
            (Some(group), None) => return self.newest(group, count.map(Whole::get)),
            (None, Some(names)) if count.is_none() => names,
            (None, None) => {
                let help = "add group = \"…\" or backends = [\"…\"]";
                return Err(Refusal::own(&[], "no instances are named", help));
            }
            _ => {
                let help = "keep `group`, with `count` if not all of it goes, or `backends`";
                return Err(Refusal::own(&["backends"], "instances are named in several ways", help));
            }
        };
        if names.is_empty() {
            return Err(Refusal::own(&["backends"], "the list is empty", "name at least one instance"));
        }
        let mut found = Vec::new();
        for name in names {
            let member = self.members().find(|(group, number)| self.groups[*group].member(*number) == *name);
            let Some(member) = member.filter(|member| !found.contains(member)) else {
                let what = format!("{} is not an instance of the load balancer now", quoted(name));
                let known: Vec<String> =
                    self.members().map(|(group, number)| self.groups[group].member(number)).collect();
                let known: Vec<&str> = known.iter().map(String::as_str).collect();
                let help = choice(name, "instances", &known);
                return Err(Refusal::because(Reason::Invalid, &["backends"], what, help));
            };
            found.push(member);
        }
        Ok(found)
    }

    /// The members of a group with the highest numbers, all of them without a count.
    fn newest(&self, group: &str, count: Option<u32>) -> Result<Vec<(usize, u32)>, Refusal> {
        let index = self.find_group(group)?;
        let present = self.groups[index].present();
        let count = count.map_or(present.len(), |count| count as usize);
        if present.is_empty() || count > present.len() {
            let what = format!("group {group:?} has {} instances at this time", present.len());
            let help = "name a group that has as many instances";
            return Err(Refusal::because(Reason::Invalid, &["count", "group"], what, help));
        }
        Ok(present.iter().rev().take(count).map(|number| (index, *number)).collect())
    }

    fn in_zone(&self, name: &str) -> Result<Vec<(usize, u32)>, Refusal> {
        const FIELDS: &[&str] = &["zone"];
        let Some(index) = self.zones.iter().position(|zone| zone == name) else {
            let known: Vec<&str> = self.zones.iter().map(String::as_str).collect();
            let what = format!("there is no zone {} in the region", quoted(name));
            let help = choice(name, "zones of the region", &known);
            return Err(Refusal::because(Reason::NotFound, FIELDS, what, help));
        };
        let zone = ZoneId::from_index(index);
        let found: Vec<(usize, u32)> =
            self.members().filter(|(group, number)| self.groups[*group].zone(*number) == zone).collect();
        if found.is_empty() {
            let what = format!("there is no instance in {name} at this time");
            return Err(Refusal::because(Reason::Invalid, FIELDS, what, "name a zone that has instances"));
        }
        Ok(found)
    }

    fn set_role(&mut self, group: &str, failover: bool) -> Answer {
        self.service()?;
        let index = self.find_group(group)?;
        let role = if failover { Role::Failover } else { Role::Primary };
        let (_, roles) = self.service()?;
        if std::mem::replace(&mut roles[index], role) == role {
            return Ok(Vec::new());
        }
        Ok(self.groups[index].backends().iter().map(|backend| Change::SetRole(*backend, role)).collect())
    }

    /// Every instance: its group and its number.
    fn members(&self) -> impl Iterator<Item = (usize, u32)> {
        let groups = self.groups.iter().enumerate().filter(|(_, group)| self.has(group));
        groups.flat_map(|(index, group)| group.present().iter().map(move |number| (index, *number)))
    }

    /// Whether a group is there: it goes with its pool.
    fn has(&self, group: &Instances) -> bool {
        match (&self.balancer, group.pool()) {
            (Balancer::Pools(pools), Some(pool)) => pools.exists(pool),
            _ => true,
        }
    }

    fn find_group(&self, name: &str) -> Result<usize, Refusal> {
        let found = self.groups.iter().position(|group| group.name() == name && self.has(group));
        found.ok_or_else(|| {
            let known: Vec<&str> =
                self.groups.iter().filter(|group| self.has(group)).map(Instances::name).collect();
            let what = format!("there is no group {}", quoted(name));
            Refusal::because(Reason::NotFound, GROUP, what, choice(name, "groups", &known))
        })
    }

    /// Whether the load balancer may send traffic to members of a group.
    fn serves(&self, group: usize) -> bool {
        match (&self.balancer, self.groups[group].pool()) {
            (Balancer::Pools(pools), Some(pool)) => pools.role(pool).is_some(),
            _ => true,
        }
    }

    fn service(&mut self) -> Result<(&mut Service, &mut Vec<Role>), Refusal> {
        match &mut self.balancer {
            Balancer::Service { service, roles } => Ok((service, roles)),
            Balancer::Pools(_) => {
                let help = "use the verbs of target pools: add_instances, remove_instances, add_health_check, \
                            remove_health_check, set_backup, drain, delete_target_pool";
                let what = "there is no backend service: the load balancer has target pools";
                Err(Refusal::because(Reason::NotFound, VERB, what, help))
            }
        }
    }

    fn pools(&mut self) -> Result<&mut Pools, Refusal> {
        match &mut self.balancer {
            Balancer::Pools(pools) => Ok(pools),
            Balancer::Service { .. } => {
                let what = "there are no target pools: the load balancer has a backend service";
                let help = "use the verbs of backend services, such as set_backend_failover";
                Err(Refusal::because(Reason::NotFound, VERB, what, help))
            }
        }
    }
}

/// Refuses a call that sets nothing.
fn something<T: Default + PartialEq>(keys: T, example: &str) -> Result<(), Refusal> {
    if keys == T::default() {
        return Err(Refusal::own(&[], "nothing is set", format!("add {example}")));
    }
    Ok(())
}
