//! The resources of a region by name, and the methods that change them (MTH).

use super::backend_service::{BackendService, ServiceBackend};
use super::error::{ApiError, FieldPaths, Reason, quoted};
use super::forwarding_rule::ForwardingRule;
use super::health_check::{HealthCheck, HttpHealthCheck};
use super::instance::InstanceGroup;
use super::target_pool::TargetPool;
use super::{Assumptions, Reference};
use crate::lb::Settings;
use crate::lb::backend::Role;
use crate::lb::ratio::Ratio;

/// The resources of a region, each kind in the order of its creation.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Resources {
    /// The name of the region.
    pub region: String,
    /// Health checks.
    pub health_checks: Vec<HealthCheck>,
    /// Legacy HTTP health checks.
    pub http_health_checks: Vec<HttpHealthCheck>,
    /// Instance groups.
    pub instance_groups: Vec<InstanceGroup>,
    /// Backend services.
    pub backend_services: Vec<BackendService>,
    /// Target pools.
    pub target_pools: Vec<TargetPool>,
    /// Forwarding rules.
    pub forwarding_rules: Vec<ForwardingRule>,
}

/// Where load balancers find an instance.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Home {
    /// In the instance group of this name.
    Group(String),
    /// In the target pool of this name.
    Pool(String),
}

/// What a home is to a forwarding rule.
#[derive(Clone, Copy, Debug)]
pub struct Standing<'a> {
    /// The role of its instances, if the rule sends them traffic at all.
    pub role: Option<Role>,
    /// Whether a health check judges them.
    pub checked: bool,
    /// Its instances.
    pub instances: &'a [Reference],
}

const POOL: &[&str] = &["pool"];
const GROUP: &[&str] = &["group"];
const BACKUP: &[&str] = &["backupPool"];
const CHECKS: &[&str] = &["healthChecks", "healthCheck"];

impl Resources {
    /// How the forwarding rule called `rule` configures its load balancer, if the API accepts what it leads to.
    ///
    /// # Errors
    /// If one of the resources is refused, or does not exist.
    pub fn settings(&self, rule: &str, assumptions: &Assumptions) -> Result<Settings, ApiError> {
        let rule = self.rule(rule)?;
        match &rule.backend_service {
            Some(service) => {
                let service = self.backend_service(service.name())?;
                let settings = service.settings(rule, assumptions)?;
                service.check_size(self.size(service), assumptions)?;
                Ok(settings)
            }
            None => self.pool(rule.target_name(), &["target"])?.settings(assumptions),
        }
    }

    /// How many instances the groups of `service` have.
    fn size(&self, service: &BackendService) -> usize {
        let has = |group: &&InstanceGroup| service.backends.iter().any(|backend| backend.is_of(&group.name));
        self.instance_groups.iter().filter(has).map(|group| group.instances.len()).sum()
    }

    /// What `home` is to the forwarding rule called `rule`; nothing if it does not exist.
    pub fn standing(&self, rule: &str, home: &Home) -> Option<Standing<'_>> {
        let rule = self.rule(rule).ok()?;
        match home {
            Home::Group(name) => {
                let group = self.instance_groups.iter().find(|group| group.name == *name)?;
                let service = rule.backend_service.as_ref();
                let service = service.and_then(|service| self.backend_service(service.name()).ok());
                let backend = service.and_then(|service| service.backends.iter().find(|own| own.is_of(name)));
                let role = backend.map(ServiceBackend::role);
                Some(Standing { role, checked: true, instances: &group.instances })
            }
            Home::Pool(name) => {
                let pool = self.pool(name, POOL).ok()?;
                let target = self.pool(rule.target_name(), POOL).ok()?;
                // One level only: the backup's own backup does not count (TPF-4).
                let is_backup = target.backup_pool.as_ref().is_some_and(|backup| backup.name() == name);
                let role = if target.name == *name {
                    Some(Role::Primary)
                } else {
                    is_backup.then_some(Role::Failover)
                };
                let checked = !pool.health_checks.is_empty();
                Some(Standing { role, checked, instances: &pool.instances })
            }
        }
    }

    /// Checks what the forwarding rule called `rule` names, as at its creation.
    ///
    /// # Errors
    /// If what it leads to does not exist, or takes no rule of its protocol.
    pub fn check_rule(&self, rule: &str) -> Result<(), ApiError> {
        let rule = self.rule(rule)?;
        if let Some(service) = &rule.backend_service {
            let service = self.backend_service(service.name())?;
            return rule.check_protocol(Some(service.protocol.unwrap_or_default()));
        }
        let target = rule.target_name();
        if self.target_pools.iter().any(|pool| pool.name == target) {
            return rule.check_protocol(None);
        }
        let what = format!("names {}, which does not exist", quoted(target));
        let error = ApiError::because(Reason::NotFound, &["target"], what, "").of_field();
        Err(error.choosing(target, "target pools", self.pool_names()))
    }

    /// Checks what the target pool at `index` names, as at its creation.
    ///
    /// # Errors
    /// If its backup or its health check does not exist, or is one too many.
    pub fn check_pool(&self, index: usize) -> Result<(), ApiError> {
        let pool = &self.target_pools[index];
        if let Some(backup) = &pool.backup_pool {
            self.check_backup(&pool.name, backup.name())?;
        }
        let mut checks = pool.health_checks.iter().enumerate();
        checks.try_for_each(|(number, check)| self.check_attachable(&pool.name, check.name(), number > 0))
    }

    /// `regionBackendServices.patch`: fields that `change` leaves out stay as they are.
    ///
    /// # Errors
    /// If there is no such service. What the service then is, is checked by [`Resources::settings`].
    pub fn patch_backend_service(&mut self, name: &str, change: &BackendService) -> Result<(), ApiError> {
        let patched = self.backend_service(name)?.patched(change);
        self.backend_services
            .iter_mut()
            .filter(|own| own.name == name)
            .for_each(|own| *own = patched.clone());
        Ok(())
    }

    /// `regionBackendServices.patch` of a group's `failover`.
    ///
    /// # Errors
    /// If the service, or its group, does not exist.
    pub fn set_failover(&mut self, service: &str, group: &str, failover: bool) -> Result<(), ApiError> {
        let mut backends = self.backend_service(service)?.backends.clone();
        let Some(backend) = backends.iter_mut().find(|backend| backend.is_of(group)) else {
            let known = self.instance_groups.iter().map(|own| own.name.as_str());
            return Err(ApiError::not_found(GROUP, group, "groups", known));
        };
        backend.failover = Some(failover);
        self.patch_backend_service(service, &BackendService { backends, ..BackendService::default() })
    }

    /// `instanceGroups.addInstances`, `targetPools.addInstance`
    ///
    /// # Errors
    /// If the group or the pool does not exist.
    pub fn add_instances(
        &mut self,
        home: &Home,
        instances: impl IntoIterator<Item = Reference>,
    ) -> Result<(), ApiError> {
        self.instances_mut(home)?.extend(instances);
        Ok(())
    }

    /// `instanceGroups.removeInstances`, `targetPools.removeInstance`
    ///
    /// # Errors
    /// If the group or the pool does not exist, or one of the instances is not in it.
    pub fn remove_instances(&mut self, home: &Home, names: &[String]) -> Result<(), ApiError> {
        let present = self.instances_mut(home)?;
        let mut going: std::collections::BTreeSet<&str> = names.iter().map(String::as_str).collect();
        present.retain(|instance| !going.remove(instance.name()));
        match going.first() {
            None => Ok(()),
            Some(absent) => Err(ApiError::invalid(
                &["instances"],
                format!("{} is not one of the instances", quoted(absent)),
                "name instances that are there",
            )),
        }
    }

    /// `targetPools.addHealthCheck`
    ///
    /// # Errors
    /// If the pool or the check does not exist, or the pool has one already.
    pub fn add_health_check(&mut self, pool: &str, check: &str) -> Result<(), ApiError> {
        let has_one = !self.pool(pool, POOL)?.health_checks.is_empty();
        self.check_attachable(pool, check, has_one)?;
        self.pool_mut(pool)?.health_checks.push(Reference::new(check));
        Ok(())
    }

    /// `targetPools.removeHealthCheck`
    ///
    /// # Errors
    /// If the pool or the check does not exist, or the pool does not have it.
    pub fn remove_health_check(&mut self, pool: &str, check: &str) -> Result<(), ApiError> {
        let has_one = !self.pool(pool, POOL)?.health_checks.is_empty();
        self.check_attachable(pool, check, false)?;
        if !has_one {
            let what = format!("target pool {pool:?} has no health check");
            return Err(ApiError::invalid(CHECKS, what, "name a pool that has one"));
        }
        self.pool_mut(pool)?.health_checks.clear();
        Ok(())
    }

    /// `targetPools.setBackup`: without a pool or a ratio there is no backup (TPF-1).
    ///
    /// # Errors
    /// If a pool does not exist, or is to be its own backup.
    pub fn set_backup(
        &mut self,
        pool: &str,
        backup: Option<&str>,
        failover_ratio: Option<Ratio>,
    ) -> Result<(), ApiError> {
        self.pool(pool, POOL)?;
        let backup = backup.filter(|name| !name.is_empty());
        backup.map_or(Ok(()), |backup| self.check_backup(pool, backup))?;
        let changed = self.pool_mut(pool)?;
        (changed.backup_pool, changed.failover_ratio) = match (backup, failover_ratio) {
            (Some(backup), Some(ratio)) => (Some(Reference::new(backup)), Some(ratio)),
            _ => (None, None),
        };
        Ok(())
    }

    /// `targetPools.delete`
    ///
    /// # Errors
    /// If the pool does not exist, or a forwarding rule or another pool uses it.
    pub fn delete_target_pool(&mut self, name: &str) -> Result<(), ApiError> {
        self.pool(name, POOL)?;
        let url = |kind: &str, name: &str| format!("projects/PROJECT/regions/{}/{kind}/{name}", self.region);
        let is_it = |reference: &Option<Reference>| reference.as_ref().is_some_and(|own| own.name() == name);
        let rule = self.forwarding_rules.iter().find(|rule| is_it(&rule.target));
        let pool = || self.target_pools.iter().find(|pool| is_it(&pool.backup_pool));
        let user = rule.map(|rule| url("forwardingRules", &rule.name));
        let user = user.or_else(|| pool().map(|pool| url("targetPools", &pool.name)));
        let Some(user) = user else {
            self.target_pools.retain(|pool| pool.name != name);
            return Ok(());
        };
        let pool = url("targetPools", name);
        let what = format!("The target_pool resource '{pool}' is already being used by '{user}'");
        let help = "delete a pool that neither the forwarding rule nor another pool uses";
        Err(ApiError::because(Reason::InUse, POOL, what, help))
    }

    /// Checks that the pool called `backup` can take over from `pool` (TPF-6).
    fn check_backup(&self, pool: &str, backup: &str) -> Result<(), ApiError> {
        if self.pool(backup, BACKUP)?.name != pool {
            return Ok(());
        }
        let help = "name another pool, or leave it out for none";
        Err(ApiError::invalid(BACKUP, "a pool can't be its own backup", help))
    }

    /// Checks that `check` is a health check that target pools can have, a legacy HTTP one (TPA-3), and that `pool` has none.
    fn check_attachable(&self, pool: &str, check: &str, has_one: bool) -> Result<(), ApiError> {
        if !self.http_health_checks.iter().any(|own| own.name == check) {
            let what = format!(
                "The resource 'projects/PROJECT/global/httpHealthChecks/{check}' was not found: \
                 target pools take legacy HTTP health checks only"
            );
            return Err(ApiError::because(Reason::NotFound, CHECKS, what, "name one that exists"));
        }
        if has_one {
            let what = format!("target pool {pool:?} has a health check already");
            return Err(ApiError::invalid(CHECKS, what, "a target pool has at most one health check"));
        }
        Ok(())
    }

    fn rule(&self, name: &str) -> Result<&ForwardingRule, ApiError> {
        let known = || self.forwarding_rules.iter().map(|rule| rule.name.as_str());
        let found = self.forwarding_rules.iter().find(|rule| rule.name == name);
        found.ok_or_else(|| ApiError::not_found(&["forwardingRule"], name, "forwarding rules", known()))
    }

    fn backend_service(&self, name: &str) -> Result<&BackendService, ApiError> {
        let known = || self.backend_services.iter().map(|service| service.name.as_str());
        let found = self.backend_services.iter().find(|service| service.name == name);
        found.ok_or_else(|| ApiError::not_found(&["backendService"], name, "backend services", known()))
    }

    fn pool(&self, name: &str, fields: FieldPaths) -> Result<&TargetPool, ApiError> {
        let found = self.target_pools.iter().find(|pool| pool.name == name);
        found.ok_or_else(|| ApiError::not_found(fields, name, "target pools", self.pool_names()))
    }

    fn pool_mut(&mut self, name: &str) -> Result<&mut TargetPool, ApiError> {
        self.pool(name, POOL)?;
        Ok(self.target_pools.iter_mut().find(|pool| pool.name == name).expect("it was found just now"))
    }

    fn pool_names(&self) -> impl Iterator<Item = &str> {
        self.target_pools.iter().map(|pool| pool.name.as_str())
    }

    fn instances_mut(&mut self, home: &Home) -> Result<&mut Vec<Reference>, ApiError> {
        match home {
            Home::Pool(name) => Ok(&mut self.pool_mut(name)?.instances),
            Home::Group(name) => {
                let known: Vec<String> = self.instance_groups.iter().map(|own| own.name.clone()).collect();
                let found = self.instance_groups.iter_mut().find(|own| own.name == *name);
                let missing = || ApiError::not_found(GROUP, name, "groups", known.iter().map(String::as_str));
                found.map(|group| &mut group.instances).ok_or_else(missing)
            }
        }
    }
}

impl ForwardingRule {
    /// The name of its target, empty if it has none.
    fn target_name(&self) -> &str {
        self.target.as_ref().map_or("", Reference::name)
    }
}
