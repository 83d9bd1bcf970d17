//! The resources of a region by name, and the methods that change them (MTH).

use std::collections::BTreeSet;

use super::Reference;
use super::backend_service::BackendService;
use super::error::{ApiError, FieldPaths, Reason, quoted};
use super::fields::patched;
use super::forwarding_rule::ForwardingRule;
use super::health_check::{HealthCheck, HttpHealthCheck};
use super::instance::{Instance, InstanceGroup, NetworkEndpointGroup};
use super::route::{PolicyBasedRoute, Route};
use super::target_pool::TargetPool;

/// The resources of a region, each kind in the order of its creation.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Resources {
    /// The name of the region.
    pub region: String,
    /// The names of its zones. Without any, every zone counts as one of them.
    pub zones: Vec<String>,
    /// Health checks.
    pub health_checks: Vec<HealthCheck>,
    /// Legacy HTTP health checks.
    pub http_health_checks: Vec<HttpHealthCheck>,
    /// Instances.
    pub instances: Vec<Instance>,
    /// Instance groups.
    pub instance_groups: Vec<InstanceGroup>,
    /// Network endpoint groups.
    pub network_endpoint_groups: Vec<NetworkEndpointGroup>,
    /// Backend services.
    pub backend_services: Vec<BackendService>,
    /// Target pools.
    pub target_pools: Vec<TargetPool>,
    /// Forwarding rules.
    pub forwarding_rules: Vec<ForwardingRule>,
    /// Static routes.
    pub routes: Vec<Route>,
    /// Policy-based routes.
    pub policy_based_routes: Vec<PolicyBasedRoute>,
}

/// Where load balancers find an instance.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Home {
    /// In the instance group of this name.
    Group(String),
    /// In the target pool of this name.
    Pool(String),
}

pub(super) const POOL: &[&str] = &["targetPool", "pool"];
const GROUP: &[&str] = &["group"];

impl Resources {
    /// How many instances the groups of `service` have.
    pub(super) fn size(&self, service: &BackendService) -> usize {
        let groups = service.backends.iter().filter_map(|backend| backend.group.as_ref());
        groups.filter_map(|group| self.group_members(group)).map(<[_]>::len).sum()
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

    /// `regionBackendServices.patch`: fields that `change` leaves out stay as they are.
    ///
    /// # Errors
    /// If there is no such service. What the service then is, is checked by [`Resources::settings_of`].
    pub fn patch_backend_service(&mut self, name: &str, change: &BackendService) -> Result<(), ApiError> {
        let patched = patched(self.backend_service(name)?, change);
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
        let there: BTreeSet<&str> = present.iter().map(Reference::name).collect();
        let going: BTreeSet<&str> = names.iter().map(String::as_str).collect();
        if let Some(absent) = going.difference(&there).next() {
            let what = format!("{} is not one of the instances", quoted(absent));
            return Err(ApiError::invalid(&["instances"], what, "name instances that are there"));
        }
        present.retain(|instance| !going.contains(instance.name()));
        Ok(())
    }

    fn rule(&self, name: &str) -> Result<&ForwardingRule, ApiError> {
        let known = || self.forwarding_rules.iter().map(|rule| rule.name.as_str());
        let found = self.forwarding_rules.iter().find(|rule| rule.name == name);
        found.ok_or_else(|| ApiError::not_found(&["forwardingRule"], name, "forwarding rules", known()))
    }

    pub(super) fn backend_service(&self, name: &str) -> Result<&BackendService, ApiError> {
        let known = || self.backend_services.iter().map(|service| service.name.as_str());
        let found = self.backend_services.iter().find(|service| service.name == name);
        found.ok_or_else(|| ApiError::not_found(&["backendService"], name, "backend services", known()))
    }

    pub(super) fn pool(&self, name: &str, fields: FieldPaths) -> Result<&TargetPool, ApiError> {
        let found = self.target_pools.iter().find(|pool| pool.name == name);
        found.ok_or_else(|| ApiError::not_found(fields, name, "target pools", self.pool_names()))
    }

    pub(super) fn pool_mut(&mut self, name: &str) -> Result<&mut TargetPool, ApiError> {
        self.pool(name, POOL)?;
        Ok(self.target_pools.iter_mut().find(|pool| pool.name == name).expect("it was found just now"))
    }

    pub(super) fn pool_names(&self) -> impl Iterator<Item = &str> {
        self.target_pools.iter().map(|pool| pool.name.as_str())
    }

    pub(super) fn instances_mut(&mut self, home: &Home) -> Result<&mut Vec<Reference>, ApiError> {
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
