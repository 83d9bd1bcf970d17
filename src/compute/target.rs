//! What forwarding rules lead to, and which instances that sends traffic to.

use super::error::ApiError;
use super::resources::{Home, Resources};
use super::{Assumptions, BackendService, ForwardingRule, Reference, TargetPool};
use crate::lb::Settings;
use crate::lb::backend::Role;

/// What a forwarding rule leads to.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Target {
    /// The backend service of this name.
    Service(String),
    /// The target pool of this name, with its backup.
    Pool(String),
}

impl Target {
    /// The name of the resource.
    pub fn name(&self) -> &str {
        let (Self::Service(name) | Self::Pool(name)) = self;
        name
    }
}

/// An instance that a target sends traffic to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TargetMember<'a> {
    /// The instance.
    pub instance: &'a Reference,
    /// What it is for.
    pub role: Role,
    /// The health check that judges it, and the resource that it judges it for (REG-1).
    pub check: Option<ResourceCheck<'a>>,
}

/// A health check of one resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ResourceCheck<'a> {
    /// The backend service or target pool.
    pub resource: &'a str,
    /// The health check.
    pub check: &'a str,
}

impl Resources {
    /// Whether the resource that `target` is exists.
    pub fn has_target(&self, target: &Target) -> bool {
        match target {
            Target::Service(name) => self.backend_services.iter().any(|service| service.name == *name),
            Target::Pool(name) => self.target_pools.iter().any(|pool| pool.name == *name),
        }
    }

    /// What an instance of `home` would be to `target`, for which nobody has it now, and who would judge it. Nothing if the
    /// home does not exist.
    pub(super) fn standing(
        &self,
        target: &Target,
        home: Option<&Home>,
    ) -> Option<(Role, Option<ResourceCheck<'_>>)> {
        match (target, home) {
            (Target::Service(name), home) => {
                let service = self.backend_services.iter().find(|service| service.name == *name)?;
                let backend = |group: &str| service.backends.iter().find(|own| own.is_of(group));
                let role = match home {
                    Some(Home::Group(group)) => backend(group).map(super::ServiceBackend::role),
                    _ => None,
                };
                Some((role.unwrap_or(Role::Failover), service.resource_check()))
            }
            (Target::Pool(name), Some(Home::Pool(home))) => {
                let home = self.target_pools.iter().find(|pool| pool.name == *home)?;
                let role = if home.name == *name { Role::Primary } else { Role::Failover };
                Some((role, home.resource_check()))
            }
            (Target::Pool(name), _) => {
                let pool = self.target_pools.iter().find(|pool| pool.name == *name)?;
                Some((Role::Primary, pool.resource_check()))
            }
        }
    }

    /// The instances that `home` has; nothing if it does not exist.
    pub fn instances_at(&self, home: &Home) -> Option<&[Reference]> {
        match home {
            Home::Group(name) => self.group_members(&Reference::new(name)),
            Home::Pool(name) => {
                let pool = self.target_pools.iter().find(|pool| pool.name == *name);
                pool.map(|pool| pool.instances.as_slice())
            }
        }
    }

    /// Where the forwarding rule called `rule` leads, if there are such a rule and such a resource.
    pub fn target_of(&self, rule: &str) -> Option<Target> {
        let rule = self.forwarding_rules.iter().find(|own| own.name == rule)?;
        rule.leads_to().filter(|target| self.has_target(target))
    }

    /// How `target` configures its load balancer, if the API accepts it with the rules that lead to it.
    ///
    /// # Errors
    /// If one of the resources is refused, or does not exist.
    pub fn settings_of(&self, target: &Target, assumptions: &Assumptions) -> Result<Settings, ApiError> {
        match target {
            Target::Pool(name) => self.pool(name, &["target"])?.settings(assumptions),
            Target::Service(name) => {
                let service = self.backend_service(name)?;
                service.check_size(self.size(service), assumptions)?;
                let rules = self.forwarding_rules.iter();
                let mut rules = rules.filter(|rule| rule.leads_to().as_ref() == Some(target));
                let unused = ForwardingRule {
                    load_balancing_scheme: service.load_balancing_scheme,
                    ..ForwardingRule::default()
                };
                let settings = service.settings(rules.next().unwrap_or(&unused), assumptions)?;
                rules.try_fold(settings, |settings, rule| {
                    // A rule without global access drops what comes from elsewhere before it gets here.
                    let own = service.settings(rule, assumptions)?;
                    Ok(if rule.allow_global_access == Some(true) { own } else { settings })
                })
            }
        }
    }

    /// The instances that `target` sends traffic to, by role and group in the order of configuration; an instance that several
    /// of its groups have stands there once, with the first.
    pub fn members_of(&self, target: &Target) -> Vec<TargetMember<'_>> {
        match target {
            Target::Service(name) => self.members_of_service(name),
            Target::Pool(name) => {
                let Some(pool) = self.target_pools.iter().find(|pool| pool.name == *name) else {
                    return Vec::new();
                };
                let mut members = self.members_of_pool(&pool.name, Role::Primary);
                // One level only: the backup's own backup does not count (TPF-4).
                if let Some(backup) = &pool.backup_pool {
                    members.extend(self.members_of_pool(backup.name(), Role::Failover));
                }
                members
            }
        }
    }

    fn members_of_service(&self, name: &str) -> Vec<TargetMember<'_>> {
        let Some(service) = self.backend_services.iter().find(|service| service.name == *name) else {
            return Vec::new();
        };
        let check = service.resource_check();
        let of_backend = |backend: &super::ServiceBackend| {
            let role = backend.role();
            let instances = backend.group.as_ref().and_then(|group| self.group_members(group));
            instances
                .unwrap_or_default()
                .iter()
                .map(move |instance| TargetMember { instance, role, check })
                .collect::<Vec<_>>()
        };
        service.backends.iter().flat_map(of_backend).collect()
    }

    fn members_of_pool(&self, name: &str, role: Role) -> Vec<TargetMember<'_>> {
        let Some(pool) = self.target_pools.iter().find(|pool| pool.name == name) else {
            return Vec::new();
        };
        let check = pool.resource_check();
        pool.instances.iter().map(|instance| TargetMember { instance, role, check }).collect()
    }
}

impl ForwardingRule {
    /// Where it leads, whether that exists or not.
    pub fn leads_to(&self) -> Option<Target> {
        let service = self.backend_service.as_ref().map(|service| Target::Service(service.name().to_owned()));
        service.or_else(|| self.target.as_ref().map(|pool| Target::Pool(pool.name().to_owned())))
    }
}

impl BackendService {
    fn resource_check(&self) -> Option<ResourceCheck<'_>> {
        let check = self.health_checks.first()?;
        Some(ResourceCheck { resource: &self.name, check: check.name() })
    }
}

impl TargetPool {
    fn resource_check(&self) -> Option<ResourceCheck<'_>> {
        let check = self.health_checks.first()?;
        Some(ResourceCheck { resource: &self.name, check: check.name() })
    }
}
